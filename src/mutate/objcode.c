/* SPDX-License-Identifier: Apache-2.0
 *
 * objcode.c - the parts of a compiled file that affect its behaviour; see objcode.h.
 *
 * Two programs with the same parts behave alike ("trivial compiler equivalence", Papadakis et al., ICSE 2015). A
 * section is included in case of doubt: at worst, a mutant is tested needlessly. */
#include "mutate/objcode.h"

#include <elf.h>
#include <string.h>

/* Reads the header of a section. Returns false if it is outside the file. */
static bool read_section(const aphi_buffer *file, const Elf64_Ehdr *head, size_t i, Elf64_Shdr *s)
{
    if (i >= head->e_shnum || head->e_shoff > file->n || (file->n - head->e_shoff) / sizeof *s <= i)
        return false;
    memcpy(s, file->data + head->e_shoff + i * sizeof *s, sizeof *s);
    return s->sh_type == SHT_NOBITS || (s->sh_offset <= file->n && s->sh_size <= file->n - s->sh_offset);
}

static bool is_relevant(const aphi_buffer *file, const Elf64_Ehdr *head, const Elf64_Shdr *s)
{
    Elf64_Shdr target;
    if (s->sh_flags & SHF_ALLOC)
        return s->sh_type != SHT_NOTE;
    if (head->e_type != ET_REL)
        return false;
    if (s->sh_type == SHT_RELA || s->sh_type == SHT_REL)
        return !read_section(file, head, s->sh_info, &target) || (target.sh_flags & SHF_ALLOC);
    return s->sh_type == SHT_SYMTAB || s->sh_type == SHT_STRTAB;
}

static bool add_sections(const aphi_buffer *file, aphi_buffer *out)
{
    Elf64_Ehdr head;
    if (file->n < sizeof head)
        return false;
    memcpy(&head, file->data, sizeof head);
    if (memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 || head.e_ident[EI_CLASS] != ELFCLASS64 || head.e_shnum == 0 ||
        head.e_shentsize != sizeof(Elf64_Shdr))
        return false;
    aphi_buffer_add(out, &head.e_entry, sizeof head.e_entry);
    for (size_t i = 0; i < head.e_shnum; i++) {
        Elf64_Shdr s;
        if (!read_section(file, &head, i, &s))
            return false;
        if (!is_relevant(file, &head, &s))
            continue;
        aphi_buffer_format(out, "section %zu %x %llx %llx %llx ", i, s.sh_type, (unsigned long long)s.sh_flags,
                           (unsigned long long)s.sh_addr, (unsigned long long)s.sh_size);
        if (s.sh_type != SHT_NOBITS)
            aphi_buffer_add(out, file->data + s.sh_offset, s.sh_size);
    }
    return true;
}

bool aphi_objcode_read(const char *path, aphi_buffer *out)
{
    aphi_buffer file = {0};
    bool read = aphi_buffer_load(&file, path, SIZE_MAX);
    *out = (aphi_buffer){0};
    if (read && !add_sections(&file, out)) {
        aphi_buffer_free(out);
        *out = file;
        return true;
    }
    aphi_buffer_free(&file);
    return read;
}
