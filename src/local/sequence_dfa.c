/* SPDX-License-Identifier: Apache-2.0
 *
 * sequence_dfa.c - sets of sequences of numbers as nodes of one minimal acyclic automaton.
 *
 * A node is an interned key: a flag for the empty sequence, stored as an edge {0 or 1, 0}, then its edges. Unions are
 * memoized by pair.
 * Invariants: 1. the edges of a node are ordered by first number. 2. no edge leads to the empty set. 3. a node is made
 *             after the nodes to which it leads. */
#include "local/sequence_dfa.h"

#include "base/memory.h"

#include <assert.h>
#include <stdlib.h>

static uint32_t intern_node(aphi_sequence_dfa *s, const aphi_sequence_dfa_edge *edges, size_t count)
{
    return aphi_intern_number(&s->nodes, edges, count * sizeof *edges);
}

void aphi_sequence_dfa_init(aphi_sequence_dfa *s)
{
    *s = (aphi_sequence_dfa){0};
    uint32_t none = intern_node(s, &(aphi_sequence_dfa_edge){0, 0}, 1),
             end = intern_node(s, &(aphi_sequence_dfa_edge){1, 0}, 1);
    assert(none == APHI_SEQUENCE_DFA_NONE && end == APHI_SEQUENCE_DFA_END);
}

void aphi_sequence_dfa_free(aphi_sequence_dfa *s)
{
    aphi_intern_free(&s->nodes);
    aphi_intern_free(&s->unions);
    free(s->union_results);
    *s = (aphi_sequence_dfa){0};
}

const aphi_sequence_dfa_edge *aphi_sequence_dfa_edges(const aphi_sequence_dfa *s, uint32_t set, size_t *count,
                                                      bool *has_empty)
{
    size_t size;
    const aphi_sequence_dfa_edge *e = aphi_intern_key(&s->nodes, set, &size);
    *count = size / sizeof *e - 1;
    *has_empty = e[0].first;
    return e + 1;
}

uint32_t aphi_sequence_dfa_prepend(aphi_sequence_dfa *s, uint32_t first, uint32_t rest)
{
    if (rest == APHI_SEQUENCE_DFA_NONE)
        return APHI_SEQUENCE_DFA_NONE;
    aphi_sequence_dfa_edge edges[2] = {{0, 0}, {first, rest}};
    return intern_node(s, edges, 2);
}

/* Merges the edges of a and b into out. A union may reallocate the nodes, so each edge is looked up again. */
static size_t merge_edges(aphi_sequence_dfa *s, uint32_t a, uint32_t b, aphi_sequence_dfa_edge *out)
{
    size_t na, nb, n = 1, i = 0, j = 0;
    bool ea, eb;
    aphi_sequence_dfa_edges(s, a, &na, &ea);
    aphi_sequence_dfa_edges(s, b, &nb, &eb);
    out[0] = (aphi_sequence_dfa_edge){ea || eb, 0};
    while (i < na || j < nb) {
        aphi_sequence_dfa_edge x = {0}, y = {0};
        if (i < na)
            x = aphi_sequence_dfa_edges(s, a, &na, &ea)[i];
        if (j < nb)
            y = aphi_sequence_dfa_edges(s, b, &nb, &eb)[j];
        if (j == nb || (i < na && x.first < y.first)) {
            out[n++] = x;
            i++;
        } else if (i == na || y.first < x.first) {
            out[n++] = y;
            j++;
        } else {
            out[n++] = (aphi_sequence_dfa_edge){x.first, aphi_sequence_dfa_union(s, x.rest, y.rest)};
            i++, j++;
        }
    }
    return n;
}

uint32_t aphi_sequence_dfa_union(aphi_sequence_dfa *s, uint32_t a, uint32_t b)
{
    if (a == b || b == APHI_SEQUENCE_DFA_NONE)
        return a;
    if (a == APHI_SEQUENCE_DFA_NONE)
        return b;
    uint32_t pair[2] = {a < b ? a : b, a < b ? b : a};
    size_t known = s->unions.count;
    uint32_t number = aphi_intern_number(&s->unions, pair, sizeof pair);
    if (number < known)
        return s->union_results[number];
    size_t na, nb;
    bool empty;
    aphi_sequence_dfa_edges(s, a, &na, &empty);
    aphi_sequence_dfa_edges(s, b, &nb, &empty);
    aphi_sequence_dfa_edge *out = aphi_alloc((na + nb + 1) * sizeof *out);
    size_t n = merge_edges(s, a, b, out);
    uint32_t result = intern_node(s, out, n);
    free(out);
    /* Unions computed in the meantime have higher numbers. */
    APHI_RESERVE(s->union_results, s->union_capacity, s->unions.count);
    s->union_results[number] = result;
    return result;
}

uint64_t aphi_sequence_dfa_count(const aphi_sequence_dfa *s, uint32_t set)
{
    uint64_t *counts = aphi_alloc(((size_t)set + 1) * sizeof *counts);
    for (uint32_t i = 0; i <= set; i++) {
        size_t n;
        bool empty;
        const aphi_sequence_dfa_edge *e = aphi_sequence_dfa_edges(s, i, &n, &empty);
        counts[i] = empty;
        for (size_t k = 0; k < n; k++)
            if (__builtin_add_overflow(counts[i], counts[e[k].rest], &counts[i]))
                counts[i] = UINT64_MAX;
    }
    uint64_t result = counts[set];
    free(counts);
    return result;
}
