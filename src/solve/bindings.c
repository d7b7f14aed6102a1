/* SPDX-License-Identifier: Apache-2.0
 *
 * bindings.c - sets of symbols, values of symbols, and substitution.
 *
 * Idea:       small sets are searched linearly; larger ones have a hash index. Traversals skip each part whose Bloom
 *             mask excludes the symbols of interest. Terms share parts, so the expanded term can be exponentially
 *             larger; traversals remember the last few visited parts.
 * Invariants: 1. if `many` is not NULL, it contains the whole set; otherwise `few` does
 *             2. an index has at least twice as many entries as there are symbols */
#include "solve/bindings.h"

#include "base/memory.h"
#include "solve/term.h"

#include <stdlib.h>
#include <string.h>

enum { REMEMBERED = 64 };

static size_t place_of(aph_value v, size_t size)
{
    return (size_t)(v->hash ^ v->hash >> 32) & (size - 1);
}

/* ---- sets of symbols --------------------------------------------------------------------------------------------- */

static void index_put(aphi_symset *s, size_t position)
{
    size_t i = place_of(s->many[position], s->index_size);
    while (s->index[i])
        i = (i + 1) & (s->index_size - 1);
    s->index[i] = (uint32_t)position + 1;
}

static void index_grow(aphi_symset *s)
{
    s->index_size = s->index_size ? s->index_size * 2 : 4 * 16;
    free(s->index);
    s->index = aphi_alloc_zero(s->index_size * sizeof *s->index);
    for (size_t i = 0; i < s->count; i++)
        index_put(s, i);
}

size_t aphi_symset_find(const aphi_symset *s, aph_value symbol)
{
    if (!(s->mask & symbol->symbols))
        return APHI_ABSENT;
    if (!s->many) {
        for (size_t i = 0; i < s->count; i++)
            if (s->few[i] == symbol)
                return i;
        return APHI_ABSENT;
    }
    for (size_t i = place_of(symbol, s->index_size); s->index[i]; i = (i + 1) & (s->index_size - 1))
        if (s->many[s->index[i] - 1] == symbol)
            return s->index[i] - 1;
    return APHI_ABSENT;
}

size_t aphi_symset_add(aphi_symset *s, aph_value symbol)
{
    size_t found = aphi_symset_find(s, symbol);
    if (found != APHI_ABSENT)
        return found;
    s->mask |= symbol->symbols;
    if (!s->many && s->count < APHI_FEW_SYMBOLS) {
        s->few[s->count] = symbol;
        return s->count++;
    }
    bool first = !s->many;
    APHI_RESERVE(s->many, s->capacity, s->count + 1);
    if (first)
        memcpy(s->many, s->few, sizeof s->few);
    s->many[s->count++] = symbol;
    if (2 * s->count > s->index_size)
        index_grow(s);
    else
        index_put(s, s->count - 1);
    return s->count - 1;
}

void aphi_symset_deinit(aphi_symset *s)
{
    if (s->many) {
        free(s->many);
        free(s->index);
    }
    aphi_symset_init(s);
}

typedef struct visited {
    bool ready;
    aph_value term[REMEMBERED];
} visited;

/* Returns true if term was visited recently; marks it as visited. */
static bool was_visited(visited *seen, aph_value term)
{
    if (!seen->ready) {
        memset(seen->term, 0, sizeof seen->term);
        seen->ready = true;
    }
    aph_value *place = &seen->term[place_of(term, REMEMBERED)];
    if (*place == term)
        return true;
    *place = term;
    return false;
}

static void collect_symbols(aphi_symset *s, aph_value v, visited *seen)
{
    if (v->shape == APHI_SYM) {
        aphi_symset_add(s, v);
        return;
    }
    bool inner = v->shape == APHI_OPERATION;
    for (size_t i = 0; i < aphi_slots_of(v); i++) {
        aph_value part = v->slot[i].v;
        if (!aphi_symbols(part) || (inner && part->shape == APHI_OPERATION && was_visited(seen, part)))
            continue;
        collect_symbols(s, part, seen);
    }
}

void aphi_symset_collect(aphi_symset *s, aph_value v)
{
    visited seen;
    seen.ready = false;
    if (aphi_symbols(v))
        collect_symbols(s, v, &seen);
}

static bool contains_any(const aphi_symset *s, aph_value v, visited *seen)
{
    if (v->shape == APHI_SYM)
        return aphi_symset_find(s, v) != APHI_ABSENT;
    bool inner = v->shape == APHI_OPERATION;
    for (size_t i = 0; i < aphi_slots_of(v); i++) {
        aph_value part = v->slot[i].v;
        if (!(aphi_symbols(part) & s->mask) || (inner && part->shape == APHI_OPERATION && was_visited(seen, part)))
            continue;
        if (contains_any(s, part, seen))
            return true;
    }
    return false;
}

bool aphi_holds(aph_value v, aph_value symbol)
{
    if (!(aphi_symbols(v) & aphi_symbols(symbol)))
        return false;
    aphi_symset one;
    aphi_symset_init(&one);
    aphi_symset_add(&one, symbol);
    visited seen;
    seen.ready = false;
    return contains_any(&one, v, &seen);
}

/* ---- values of symbols ------------------------------------------------------------------------------------------- */

aph_value aphi_bindings_get(const aphi_bindings *b, aph_value symbol)
{
    size_t i = aphi_symset_find(&b->symbols, symbol);
    return i == APHI_ABSENT ? APH_NIL : b->many ? b->many[i] : b->few[i];
}

void aphi_bindings_set(aphi_bindings *b, aph_value symbol, aph_value value)
{
    size_t i = aphi_symset_add(&b->symbols, symbol);
    if (i >= APHI_FEW_SYMBOLS && !b->many) {
        APHI_RESERVE(b->many, b->capacity, i + 1);
        memcpy(b->many, b->few, sizeof b->few);
    } else if (b->many) {
        APHI_RESERVE(b->many, b->capacity, i + 1);
    }
    *aphi_bindings_value(b, i) = value;
}

static aph_value first_of(aph_kind sort)
{
    return sort == APH_INT ? aph_int(0) : sort == APH_BOOL ? aph_bool(false) : aph_str("");
}

void aphi_bindings_complete(aphi_bindings *b, aph_value v)
{
    aphi_symset inside;
    aphi_symset_init(&inside);
    aphi_symset_collect(&inside, v);
    for (size_t i = 0; i < inside.count; i++) {
        aph_value symbol = aphi_symset_at(&inside, i);
        if (aphi_symset_find(&b->symbols, symbol) == APHI_ABSENT)
            aphi_bindings_set(b, symbol, first_of(aph_symbol_sort(symbol)));
    }
    aphi_symset_deinit(&inside);
}

void aphi_bindings_deinit(aphi_bindings *b)
{
    aphi_symset_deinit(&b->symbols);
    free(b->many);
    aphi_bindings_init(b);
}

/* ---- substitution ------------------------------------------------------------------------------------------------ */

typedef struct rewrite {
    const aphi_bindings *b;
    bool ready;
    aph_value from[REMEMBERED], to[REMEMBERED];
} rewrite;

static aph_value rewritten(rewrite *r, aph_value v);

static aph_value rewritten_term(rewrite *r, aph_value v)
{
    aph_value a = v->count > 0 ? rewritten(r, v->slot[0].v) : APH_NIL;
    aph_value b = v->count > 1 ? rewritten(r, v->slot[1].v) : APH_NIL;
    if (a == (v->count > 0 ? v->slot[0].v : APH_NIL) && b == (v->count > 1 ? v->slot[1].v : APH_NIL))
        return v;
    return aph_term((aph_op)v->detail, a, b);
}

/* Rewrites a term of terms. Its parts may be shared, so their results are remembered. */
static aph_value rewritten_tower(rewrite *r, aph_value v)
{
    if (!r->ready) {
        memset(r->from, 0, sizeof r->from);
        r->ready = true;
    }
    size_t place = place_of(v, REMEMBERED);
    if (r->from[place] == v)
        return r->to[place];
    aph_value to = rewritten_term(r, v);
    r->from[place] = v;
    r->to[place] = to;
    return to;
}

static aph_value rewritten_slots(rewrite *r, aph_value v)
{
    size_t n = aphi_slots_of(v);
    union aphi_slot small[32], *slot = n <= 32 ? small : aphi_alloc(n * sizeof *slot);
    bool changed = false;
    for (size_t i = 0; i < n; i++) {
        slot[i].v = rewritten(r, v->slot[i].v);
        changed |= slot[i].v != v->slot[i].v;
    }
    aph_value to = changed ? aphi_node_intern((aphi_shape)v->shape, v->detail, v->count, n, slot) : v;
    if (slot != small)
        free(slot);
    return to;
}

static bool is_tower(aph_value v)
{
    for (size_t i = 0; i < v->count; i++)
        if (aphi_is_node(v->slot[i].v) && v->slot[i].v->shape == APHI_OPERATION)
            return true;
    return false;
}

static aph_value rewritten(rewrite *r, aph_value v)
{
    if (!(aphi_symbols(v) & r->b->symbols.mask))
        return v;
    if (v->shape == APHI_SYM) {
        aph_value value = aphi_bindings_get(r->b, v);
        return value ? value : v;
    }
    if (v->shape == APHI_OPERATION)
        return is_tower(v) ? rewritten_tower(r, v) : rewritten_term(r, v);
    return rewritten_slots(r, v);
}

aph_value aphi_substitute(aph_value v, const aphi_bindings *b)
{
    if (!(aphi_symbols(v) & b->symbols.mask))
        return v;
    rewrite r;
    r.b = b;
    r.ready = false;
    return rewritten(&r, v);
}
