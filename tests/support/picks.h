/* SPDX-License-Identifier: Apache-2.0
 *
 * picks.h - all sequences of picks, one after another, for code that picks by calling a function.
 *
 * A sequence is a number whose digits have different bases; the next sequence is the next number. */
#ifndef TESTS_SUPPORT_PICKS_H
#define TESTS_SUPPORT_PICKS_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>

enum { PICKS_MOST = 16 };

typedef struct picks {
    size_t digit[PICKS_MOST], base[PICKS_MOST], count, at;
} picks;

/* A concrete_pick: returns the next digit. context: the picks. */
static inline size_t picks_next_digit(void *context, size_t n)
{
    picks *o = context;
    if (o->at == o->count) {
        assert(o->count < PICKS_MOST);
        o->digit[o->count++] = 0;
    }
    o->base[o->at] = n;
    return o->digit[o->at++];
}

/* Advances to the next number. Digits that the last run did not use are dropped. Returns false after the last one. */
static inline bool picks_advance(picks *o)
{
    for (o->count = o->at, o->at = 0; o->count > 0; o->count--)
        if (++o->digit[o->count - 1] < o->base[o->count - 1])
            return true;
    return false;
}

#endif
