/* SPDX-License-Identifier: Apache-2.0
 *
 * test_objcode.c - the object code that is compared: of this program, of files that are not ELF, and of broken
 * ELF files. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "mutate/objcode.h"

/* Returns the object code of a file with these bytes. The caller frees it. */
static aphi_buffer code_of(const char *bytes, size_t n)
{
    aphi_buffer code;
    char path[] = "/tmp/antiphon-objcode-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, bytes, n), n);
    close(fd);
    assert_true(aphi_objcode_read(path, &code));
    unlink(path);
    return code;
}

static aphi_buffer bytes_of(const char *path)
{
    aphi_buffer bytes = {0};
    char piece[4096];
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    for (size_t n; (n = fread(piece, 1, sizeof piece, file)) > 0;)
        aphi_buffer_add(&bytes, piece, n);
    fclose(file);
    return bytes;
}

static bool same(const aphi_buffer *a, const aphi_buffer *b)
{
    bool equal = a->n == b->n && !memcmp(a->data, b->data, a->n);
    assert_true(!equal || aphi_hash_bytes(a->data, a->n) == aphi_hash_bytes(b->data, b->n));
    return equal;
}

/* Returns true if a changed byte in the middle of this section changes the object code. */
static bool notices(const aphi_buffer *program, const Elf64_Shdr *section)
{
    aphi_buffer other = {0};
    aphi_buffer_add(&other, program->data, program->n);
    other.data[section->sh_offset + section->sh_size / 2] ^= 1;
    aphi_buffer before = code_of(program->data, program->n), after = code_of(other.data, other.n);
    bool differs = !same(&before, &after);
    aphi_buffer_free(&before);
    aphi_buffer_free(&after);
    aphi_buffer_free(&other);
    return differs;
}

/* Code and data are compared; the build id and debug information are not. */
static void sections(void **unused)
{
    (void)unused;
    aphi_buffer program = bytes_of("/proc/self/exe");
    const Elf64_Ehdr *head = (const Elf64_Ehdr *)program.data;
    const Elf64_Shdr *all = (const Elf64_Shdr *)(program.data + head->e_shoff);
    const char *names = program.data + all[head->e_shstrndx].sh_offset;
    unsigned seen = 0;
    for (size_t i = 0; i < head->e_shnum; i++) {
        const char *name = names + all[i].sh_name;
        bool counts = !strcmp(name, ".text") || !strcmp(name, ".rodata") || !strcmp(name, ".dynsym");
        bool idle = !strcmp(name, ".note.gnu.build-id") || !strcmp(name, ".comment") || !strcmp(name, ".symtab");
        if (counts || idle)
            assert_int_equal(notices(&program, &all[i]), counts);
        seen += counts;
    }
    assert_int_equal(seen, 3);
    aphi_buffer_free(&program);
}

/* A file that is not a valid ELF file is compared as a whole, without reading beyond its end. */
static void other_files(void **unused)
{
    (void)unused;
    aphi_buffer code = code_of("#!/bin/sh\n", 10);
    assert_int_equal(code.n, 10);
    aphi_buffer_free(&code);
    code = code_of("", 0);
    assert_int_equal(code.n, 0);
    aphi_buffer_free(&code);
    aphi_buffer program = bytes_of("/proc/self/exe");
    for (size_t n = 1; n < program.n; n += program.n / 40 + 1) {
        code = code_of(program.data, n);
        assert_int_equal(code.n, n);
        aphi_buffer_free(&code);
    }
    Elf64_Ehdr *head = (Elf64_Ehdr *)program.data;
    Elf64_Shdr *last = (Elf64_Shdr *)(program.data + head->e_shoff) + head->e_shnum - 1;
    last->sh_size = UINT64_MAX;
    code = code_of(program.data, program.n);
    assert_int_equal(code.n, program.n);
    aphi_buffer_free(&code);
    aphi_buffer_free(&program);
    assert_false(aphi_objcode_read("/no/such/file", &code));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(sections), cmocka_unit_test(other_files)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
