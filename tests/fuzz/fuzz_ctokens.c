/* SPDX-License-Identifier: Apache-2.0
 *
 * fuzz_ctokens.c - any bytes are tokens or an error with its place. Tokens, one behind the other, are the bytes again;
 * and the first mutants, written, are sources that differ from it, with as many lines. */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "mutate/mutants.h"

enum { TRIED = 50 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static size_t lines(const char *text, size_t n)
{
    size_t found = 0;
    for (size_t i = 0; i < n; i++)
        found += text[i] == '\n';
    return found;
}

static void assert_whole(const aphi_ctokens *tokens, const char *text, size_t size)
{
    size_t at = 0, line = 1;
    for (size_t i = 0; i < tokens->n; i++) {
        const aphi_ctoken *t = &tokens->items[i];
        assert(t->begin == at && t->end > at && t->line == line);
        line += lines(text + at, t->end - at);
        at = t->end;
    }
    assert(at == size);
}

static void try_mutants(const char *text, size_t size, const aphi_mutants *mutants)
{
    for (size_t i = 0; i < mutants->n && i < TRIED; i++) {
        const aphi_mutant *m = &mutants->items[i];
        aphi_buffer source = {0}, diff = {0};
        assert(m->number == i + 1 && m->begin < m->end && m->end <= size);
        aphi_mutant_write(&source, text, size, m);
        assert(lines(source.data, source.n) == lines(text, size));
        assert(source.n != size || memcmp(source.data, text, size) != 0);
        aphi_mutant_diff(&diff, text, size, "x.c", m);
        aphi_buffer_free(&source);
        aphi_buffer_free(&diff);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size ? size : 1); /* a copy that ends with the input, so that reading behind it is seen */
    aphi_ctokens tokens;
    aphi_mutants mutants;
    aphi_cerror error = {0};
    if (!text)
        return 0;
    if (size > 0)
        memcpy(text, data, size);
    if (aphi_ctokens_read(text, size, &tokens, &error)) {
        assert_whole(&tokens, text, size);
        aphi_ctokens_free(&tokens);
    } else {
        assert(error.line >= 1 && error.column >= 1 && error.message && !tokens.items);
    }
    if (aphi_mutants_find(text, size, &mutants, &error)) {
        try_mutants(text, size, &mutants);
        aphi_mutants_free(&mutants);
    }
    free(text);
    return 0;
}
