/* SPDX-License-Identifier: Apache-2.0
 *
 * wordset.h - a set of values that are not roots: aph_collect must not be called while the set is in use. */
#ifndef TESTS_SUPPORT_WORDSET_H
#define TESTS_SUPPORT_WORDSET_H

#include <antiphon/value.h>

#include <stdlib.h>

typedef struct wordset {
    aph_value *slot;
    size_t size, count;    /* size is a power of two, at least twice count */
} wordset;

static inline size_t wordset_find(const wordset *s, aph_value v)
{
    size_t at = (size_t)((uint64_t)(uintptr_t)v * 0x9e3779b97f4a7c15u >> 20) & (s->size - 1);
    while (s->slot[at] && s->slot[at] != v)
        at = (at + 1) & (s->size - 1);
    return at;
}

/* Returns false if v is already in the set. v must not be null. */
static inline bool wordset_add(wordset *s, aph_value v)
{
    if (s->count * 2 >= s->size) {
        wordset bigger = {.size = s->size ? s->size * 4 : 64, .count = s->count};
        bigger.slot = calloc(bigger.size, sizeof *bigger.slot);
        if (!bigger.slot)
            abort();
        for (size_t i = 0; i < s->size; i++)
            if (s->slot[i])
                bigger.slot[wordset_find(&bigger, s->slot[i])] = s->slot[i];
        free(s->slot);
        *s = bigger;
    }
    size_t at = wordset_find(s, v);
    if (s->slot[at])
        return false;
    s->slot[at] = v;
    s->count++;
    return true;
}

static inline void wordset_deinit(wordset *s)
{
    free(s->slot);
    *s = (wordset){0};
}

#endif
