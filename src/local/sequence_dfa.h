/* SPDX-License-Identifier: Apache-2.0
 *
 * sequence_dfa.h - sets of sequences of numbers as nodes of one minimal acyclic automaton.
 *
 * A node has a flag for the empty sequence, and for each first number an edge to the set of continuations. Nodes are
 * interned: equal sets have the same number, and sets share all common nodes. */
#ifndef APHI_LOCAL_SEQUENCE_DFA_H
#define APHI_LOCAL_SEQUENCE_DFA_H

#include "base/intern.h"

#include <stdbool.h>

enum { APHI_SEQUENCE_DFA_NONE = 0, APHI_SEQUENCE_DFA_END = 1 }; /* the empty set; the set of the empty sequence */

typedef struct aphi_sequence_dfa_edge {
    uint32_t first, rest;    /* the first number, and the set of continuations */
} aphi_sequence_dfa_edge;

typedef struct aphi_sequence_dfa {
    aphi_intern nodes, unions;
    uint32_t *union_results;
    size_t union_capacity;
} aphi_sequence_dfa;

void aphi_sequence_dfa_init(aphi_sequence_dfa *s);
void aphi_sequence_dfa_free(aphi_sequence_dfa *s);
/* Prepends `first` to all sequences of `rest`. */
uint32_t aphi_sequence_dfa_prepend(aphi_sequence_dfa *s, uint32_t first, uint32_t rest);
uint32_t aphi_sequence_dfa_union(aphi_sequence_dfa *s, uint32_t a, uint32_t b);
/* Returns the number of sequences, or UINT64_MAX if there are at least that many. */
uint64_t aphi_sequence_dfa_count(const aphi_sequence_dfa *s, uint32_t set);
/* Returns the edges of a set, ordered by first number. Valid until the next set is made. */
const aphi_sequence_dfa_edge *aphi_sequence_dfa_edges(const aphi_sequence_dfa *s, uint32_t set, size_t *count,
                                                      bool *has_empty);

#endif
