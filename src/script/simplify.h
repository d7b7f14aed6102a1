/* SPDX-License-Identifier: Apache-2.0
 *
 * simplify.h - simpler forms of an expression, and enumeration of its leaves and holes.
 *
 * None of these functions collects. */
#ifndef APHI_SCRIPT_SIMPLIFY_H
#define APHI_SCRIPT_SIMPLIFY_H

#include <antiphon/value.h>

/* The n-th expression, from 0, that is one step simpler than v. Returns false if there are fewer. A step removes a
 * field or an item, or makes a leaf simpler; removals come first. Every chain of steps ends. */
bool aphi_simpler(aph_value v, size_t n, aph_value *simpler);
/* Like aphi_simpler, for removals only. */
bool aphi_smaller(aph_value v, size_t n, aph_value *smaller);
/* Like aphi_simpler, for a leaf: an integer nearer to 0, a shorter or plainer string, false for true, a constant for a
 * hole. The largest steps come first. */
bool aphi_simpler_leaf(aph_value v, size_t n, aph_value *simpler);

/* Returns true if a is smaller than b in the order in which every step descends. */
bool aphi_is_simpler(aph_value a, aph_value b);

/* The n-th string, integer or boolean outside holes. Returns false if there are fewer. */
bool aphi_leaf_at(aph_value v, size_t n, aph_value *leaf);
/* Returns v with `to` in place of every leaf outside holes that equals `from`. */
aph_value aphi_replace_leaves(aph_value v, aph_value from, aph_value to);

/* The label that the n-th hole refers to. Returns false if there are fewer. */
bool aphi_hole_at(aph_value v, size_t n, int64_t *label);
/* Returns v with another function in its n-th hole. */
aph_value aphi_refill(aph_value v, size_t n, aph_value function);
/* Returns v with new labels in its holes. */
typedef int64_t aphi_new_label(const void *context, int64_t label);
aph_value aphi_relabel(aph_value v, aphi_new_label *to, const void *context);

#endif
