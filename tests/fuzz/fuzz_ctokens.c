/* SPDX-License-Identifier: Apache-2.0
 *
 * fuzz_ctokens.c - any input yields tokens that cover it, or an error with a position; the first mutants
 * differ from the source and have the same number of lines. */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "mutate/mutants.h"

enum { MUTANTS_MAX = 50 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static size_t lines(const char *text, size_t n)
{
    size_t found = 0;
    for (size_t i = 0; i < n; i++)
        found += text[i] == '\n';
    return found;
}

static void assert_covers(const aphi_ctokens *tokens, const char *text, size_t size)
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

static void check_mutants(const char *text, size_t size, const aphi_mutants *mutants)
{
    for (size_t i = 0; i < mutants->n && i < MUTANTS_MAX; i++) {
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
    char *text = malloc(size ? size : 1); /* an exact copy, so that the sanitizer detects reads past the end */
    aphi_ctokens tokens;
    aphi_mutants mutants;
    aphi_cerror error = {0};
    if (!text)
        return 0;
    if (size > 0)
        memcpy(text, data, size);
    if (aphi_ctokens_read(text, size, &tokens, &error)) {
        assert_covers(&tokens, text, size);
        aphi_ctokens_free(&tokens);
    } else {
        assert(error.line >= 1 && error.column >= 1 && error.message && !tokens.items);
    }
    if (aphi_mutants_find(text, size, &mutants, &error)) {
        check_mutants(text, size, &mutants);
        aphi_mutants_free(&mutants);
    }
    free(text);
    return 0;
}
