/* SPDX-License-Identifier: Apache-2.0
 *
 * simplify.h - simpler forms of an expression, and its leaves and holes one by one.
 *
 * None of these functions collects. */
#ifndef APHI_SCRIPT_SIMPLIFY_H
#define APHI_SCRIPT_SIMPLIFY_H

#include <antiphon/value.h>

/* The n-th, from 0, of the expressions that are one step simpler than v; false beyond the last. A step drops a field or
 * an item, or makes a leaf simpler; all that drop come first. Every chain of steps ends. */
bool aphi_simpler(aph_value v, size_t n, aph_value *simpler);
/* Only those that drop. */
bool aphi_smaller(aph_value v, size_t n, aph_value *smaller);
/* For a leaf: an integer nearer to 0, a string that is shorter or plainer, false for true, a constant for a hole. What
 * takes most away comes first. */
bool aphi_simpler_leaf(aph_value v, size_t n, aph_value *simpler);

/* Is a before b in the order in which every step above goes down? */
bool aphi_is_simpler(aph_value a, aph_value b);

/* The n-th string, integer or boolean that is not in a hole; false beyond the last. */
bool aphi_leaf_at(aph_value v, size_t n, aph_value *leaf);
/* v with every such leaf that equals `from` replaced. */
aph_value aphi_replace_leaves(aph_value v, aph_value from, aph_value to);

/* The label that the n-th hole refers to; false beyond the last. */
bool aphi_hole_at(aph_value v, size_t n, int64_t *label);
/* v with its n-th hole filled by that function. */
aph_value aphi_refill(aph_value v, size_t n, aph_value function);
/* v with every hole referring to another label. */
typedef int64_t aphi_new_label(const void *context, int64_t label);
aph_value aphi_relabel(aph_value v, aphi_new_label *to, const void *context);

#endif
