/* SPDX-License-Identifier: Apache-2.0
 *
 * suffixes.h - sets of sequences of numbers, shared: equal sets are the same number.
 *
 * A set is a node of an acyclic automaton: whether the empty sequence is in it, and for each first number the set of
 * what may follow. Nodes are interned, so that a set costs only what it does not share with others. */
#ifndef APHI_REACH_SUFFIXES_H
#define APHI_REACH_SUFFIXES_H

#include "base/intern.h"

#include <stdbool.h>

enum { APHI_SUFFIXES_NONE = 0, APHI_SUFFIXES_END = 1 }; /* no sequence at all; only the empty one */

typedef struct aphi_suffixes_edge {
    uint32_t first, rest;    /* the number, and the set of what may follow */
} aphi_suffixes_edge;

typedef struct aphi_suffixes {
    aphi_intern nodes, unions;
    uint32_t *union_results;
    size_t union_capacity;
} aphi_suffixes;

void aphi_suffixes_init(aphi_suffixes *s);
void aphi_suffixes_free(aphi_suffixes *s);
/* The sequences of `rest`, each with `first` before it. */
uint32_t aphi_suffixes_prepend(aphi_suffixes *s, uint32_t first, uint32_t rest);
uint32_t aphi_suffixes_union(aphi_suffixes *s, uint32_t a, uint32_t b);
/* How many there are; UINT64_MAX stands for that many and more. */
uint64_t aphi_suffixes_count(const aphi_suffixes *s, uint32_t set);
/* The edges of a set, by rising first number. They are valid until a set is made. */
const aphi_suffixes_edge *aphi_suffixes_edges(const aphi_suffixes *s, uint32_t set, size_t *count, bool *has_empty);

#endif
