/* SPDX-License-Identifier: Apache-2.0
 *
 * refine_compare.h - refinement with reductions, without them, and by brute force. */
#ifndef TESTS_SUPPORT_REFINE_COMPARE_H
#define TESTS_SUPPORT_REFINE_COMPARE_H

#include "refine/refinement.h"

/* `requests` has an entry for each message of each client. */
aphi_refine_options refine_options(const aph_model *model, const aph_model *spec, size_t clients, size_t messages,
                                   size_t chunks, const aph_value *requests);
/* The search must have a verdict. Returns true if the model refines. */
bool refine_passes(const aphi_refinement *r);
/* Compares the results with and without reductions, and if `force`, by brute force: every schedule is visited without
 * memoization, and each complete trace is checked with a separate oracle. Returns true if the model refines. */
bool refine_compare(aphi_refine_options options, bool force);

#endif
