/* SPDX-License-Identifier: Apache-2.0
 *
 * sequence_dfa.h - sets of sequences of numbers, shared: equal sets are the same number.
 *
 * A set is a node of an acyclic automaton: whether the empty sequence is in it, and for each first number the set of
 * what may follow. Nodes are interned, so that a set costs only what it does not share with others. */
#ifndef APHI_LOCAL_SEQUENCE_DFA_H
#define APHI_LOCAL_SEQUENCE_DFA_H

#include "base/intern.h"

#include <stdbool.h>

enum { APHI_SEQUENCE_DFA_NONE = 0, APHI_SEQUENCE_DFA_END = 1 }; /* no sequence at all; only the empty one */

typedef struct aphi_sequence_dfa_edge {
    uint32_t first, rest;    /* the number, and the set of what may follow */
} aphi_sequence_dfa_edge;

typedef struct aphi_sequence_dfa {
    aphi_intern nodes, unions;
    uint32_t *union_results;
    size_t union_capacity;
} aphi_sequence_dfa;

void aphi_sequence_dfa_init(aphi_sequence_dfa *s);
void aphi_sequence_dfa_free(aphi_sequence_dfa *s);
/* The sequences of `rest`, each with `first` before it. */
uint32_t aphi_sequence_dfa_prepend(aphi_sequence_dfa *s, uint32_t first, uint32_t rest);
uint32_t aphi_sequence_dfa_union(aphi_sequence_dfa *s, uint32_t a, uint32_t b);
/* How many there are; UINT64_MAX stands for that many and more. */
uint64_t aphi_sequence_dfa_count(const aphi_sequence_dfa *s, uint32_t set);
/* The edges of a set, by rising first number. They are valid until a set is made. */
const aphi_sequence_dfa_edge *aphi_sequence_dfa_edges(const aphi_sequence_dfa *s, uint32_t set, size_t *count,
                                                      bool *has_empty);

#endif
