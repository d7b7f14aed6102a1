/* SPDX-License-Identifier: Apache-2.0
 *
 * bindings.h - sets of symbols, and values of symbols. Both start as {0} or, faster, with _init, and allocate no memory
 * while they are small. */
#ifndef APHI_SOLVE_BINDINGS_H
#define APHI_SOLVE_BINDINGS_H

#include "value/heap.h"

enum { APHI_FEW_SYMBOLS = 12 };

/* Distinct symbols in the order of insertion. */
typedef struct aphi_symset {
    size_t count, capacity;
    uint64_t mask;           /* Bloom mask of all */
    aph_value *many;         /* if there are more than a few */
    uint32_t *index;         /* open addressing: position + 1 in many */
    size_t index_size;
    aph_value few[APHI_FEW_SYMBOLS];
} aphi_symset;

#define APHI_ABSENT ((size_t)-1)

static inline void aphi_symset_init(aphi_symset *s)
{
    s->count = s->capacity = s->index_size = 0;
    s->mask = 0;
    s->many = NULL;
    s->index = NULL;
}

static inline aph_value aphi_symset_at(const aphi_symset *s, size_t i)
{
    return s->many ? s->many[i] : s->few[i];
}

size_t aphi_symset_find(const aphi_symset *s, aph_value symbol); /* its position, or APHI_ABSENT */
size_t aphi_symset_add(aphi_symset *s, aph_value symbol);        /* its position */
void aphi_symset_collect(aphi_symset *s, aph_value v);           /* adds all symbols of v, in order of occurrence */
bool aphi_holds(aph_value v, aph_value symbol);                  /* true if v contains symbol */
void aphi_symset_deinit(aphi_symset *s);                         /* leaves it empty and usable */

/* A map from symbols to values. */
typedef struct aphi_bindings {
    aphi_symset symbols;
    size_t capacity;
    aph_value *many;
    aph_value few[APHI_FEW_SYMBOLS];
} aphi_bindings;

static inline void aphi_bindings_init(aphi_bindings *b)
{
    aphi_symset_init(&b->symbols);
    b->capacity = 0;
    b->many = NULL;
}
static inline size_t aphi_bindings_count(const aphi_bindings *b)
{
    return b->symbols.count;
}
static inline aph_value aphi_bindings_symbol(const aphi_bindings *b, size_t i)
{
    return aphi_symset_at(&b->symbols, i);
}
static inline aph_value *aphi_bindings_value(aphi_bindings *b, size_t i)
{
    return b->many ? &b->many[i] : &b->few[i];
}
/* Returns the value of a symbol, or APH_NIL if it has none. */
aph_value aphi_bindings_get(const aphi_bindings *b, aph_value symbol);
void aphi_bindings_set(aphi_bindings *b, aph_value symbol, aph_value value);
/* Gives each unbound symbol of v the default of its sort: false, 0 or "". */
void aphi_bindings_complete(aphi_bindings *b, aph_value v);
void aphi_bindings_deinit(aphi_bindings *b);                     /* leaves it empty and usable */

/* Returns v, simplified, with all bound symbols simultaneously replaced by their values. Visits only the parts of v
 * that may contain a bound symbol. */
aph_value aphi_substitute(aph_value v, const aphi_bindings *b);

#endif
