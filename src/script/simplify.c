/* SPDX-License-Identifier: Apache-2.0
 *
 * simplify.c - simpler forms of an expression, by number.
 *
 * Idea:       The forms are numbered instead of listed: a walk counts down to the n-th form and rebuilds the path to
 *             it. So callers hold no values while a candidate runs, since a run may collect.
 * Invariants: A form is smaller in the lexicographic order of (nodes, bytes of strings, bytes that are not 'a',
 *             magnitude of integers, negative integers, trues), where a hole counts as two nodes. So every chain of
 *             forms ends.
 * Cost:       Linear in the expression for each form. */
#include "script/simplify.h"

#include <stdlib.h>
#include "base/memory.h"
#include "script/expression.h"

/* ---- leaves ------------------------------------------------------------------------------------------------------ */

static bool simpler_int(int64_t i, size_t n, aph_value *simpler)
{
    int64_t forms[4];
    size_t count = 0;
    if (i != 0)
        forms[count++] = 0;
    if (i < 0 && i != INT64_MIN)
        forms[count++] = -i;
    if (i / 2 != 0)
        forms[count++] = i / 2;
    if (i > 2 || i < -2)
        forms[count++] = i > 0 ? i - 1 : i + 1;
    if (n < count)
        *simpler = aph_int(forms[n]);
    return n < count;
}

/* Returns a string of n times 'a'. */
static aph_value plain_string(size_t n)
{
    char *bytes = aphi_alloc(n + 1);
    memset(bytes, 'a', n);
    aph_value s = aph_bytes(bytes, n);
    free(bytes);
    return s;
}

static bool simpler_string(aph_value s, size_t n, aph_value *simpler)
{
    aph_value forms[4];
    size_t count = 0, length = aph_count(s);
    if (length > 0)
        forms[count++] = aph_str("");
    if (length > 1)
        forms[count++] = aph_substr(s, 0, length / 2);
    if (length > 2)
        forms[count++] = aph_substr(s, 0, length - 1);
    aph_value plain = plain_string(length);
    if (plain != s)
        forms[count++] = plain;
    if (n < count)
        *simpler = forms[n];
    return n < count;
}

bool aphi_simpler_leaf(aph_value v, size_t n, aph_value *simpler)
{
    if (aphi_expression_is_hole(v)) {
        *simpler = n == 0 ? aph_int(0) : aph_str("");
        return n < 2;
    }
    switch (aph_kind_of(v)) {
    case APH_BOOL: *simpler = aph_bool(false); return n == 0 && aph_truth(v);
    case APH_INT: return simpler_int(aph_int_of(v), n, simpler);
    case APH_STR: return simpler_string(v, n, simpler);
    default: return false;
    }
}

/* ---- the order --------------------------------------------------------------------------------------------------- */

/* The order of the invariant. */
typedef struct size {
    uint64_t of[6];
} size;

static void add_size(aph_value v, size *sum)
{
    aph_value key, item;
    size_t n = aph_count(v);
    int64_t i;
    sum->of[0] += aphi_expression_is_hole(v) ? 2 : 1;
    switch (aphi_expression_is_hole(v) ? APH_NULL : aph_kind_of(v)) {
    case APH_ARRAY:
        for (size_t k = 0; k < n; k++)
            add_size(aph_at(v, k), sum);
        break;
    case APH_OBJECT:
        for (size_t k = 0; aph_pair_at(v, k, &key, &item); k++)
            add_size(item, sum);
        break;
    case APH_STR:
        sum->of[1] += n;
        for (const char *bytes = aph_bytes_of(&v, &n); n-- > 0;)
            sum->of[2] += bytes[n] != 'a';
        break;
    case APH_INT:
        i = aph_int_of(v);
        sum->of[3] += i < 0 ? -(uint64_t)i : (uint64_t)i;
        sum->of[4] += i < 0;
        break;
    case APH_BOOL: sum->of[5] += aph_truth(v); break;
    default: break;
    }
}

bool aphi_is_simpler(aph_value a, aph_value b)
{
    size of_a = {{0}}, of_b = {{0}};
    size_t i = 0;
    add_size(a, &of_a);
    add_size(b, &of_b);
    while (i < 5 && of_a.of[i] == of_b.of[i])
        i++;
    return of_a.of[i] < of_b.of[i];
}

/* ---- expressions ------------------------------------------------------------------------------------------------- */

static bool drop_part(aph_value v, size_t n, aph_value *smaller)
{
    aph_value key, item;
    aph_kind kind = aphi_expression_is_hole(v) ? APH_NULL : aph_kind_of(v);
    if (kind == APH_OBJECT && aph_pair_at(v, n, &key, &item)) {
        *smaller = aph_remove(v, key);
        return true;
    }
    if (kind != APH_ARRAY || n >= aph_count(v))
        return false;
    *smaller = aph_slice(v, 0, n);
    for (size_t i = n + 1; i < aph_count(v); i++)
        *smaller = aph_push(*smaller, aph_at(v, i));
    return true;
}

/* Reads the i-th part of an array or object that is not a hole into *part; or, with `put`, stores v with that part
 * replaced by *part in *put. */
static bool part_at(aph_value v, size_t i, aph_value *part, aph_value *put)
{
    aph_kind kind = aph_kind_of(v);
    if (aphi_expression_is_hole(v) || i >= aph_count(v) || (kind != APH_ARRAY && kind != APH_OBJECT))
        return false;
    aph_value key = APH_NIL, item;
    if (kind == APH_ARRAY)
        item = aph_at(v, i);
    else
        aph_pair_at(v, i, &key, &item);
    if (put)
        *put = kind == APH_ARRAY ? aph_replace(v, i, *part) : aph_set(v, key, *part);
    else
        *part = item;
    return true;
}

/* The n-th form of one node. */
typedef bool form_of(aph_value v, size_t n, aph_value *form);

/* Decrements *n by the number of skipped forms. Returns true if the n-th form is reached. */
static bool count_forms(aph_value v, form_of *form_at, size_t *n, aph_value *form)
{
    for (size_t i = 0; form_at(v, i, form); i++)
        if ((*n)-- == 0)
            return true;
    aph_value part;
    for (size_t i = 0; part_at(v, i, &part, NULL); i++) {
        aph_value form_of_part;
        if (count_forms(part, form_at, n, &form_of_part))
            return part_at(v, i, &form_of_part, form);
    }
    return false;
}

bool aphi_smaller(aph_value v, size_t n, aph_value *smaller) { return count_forms(v, drop_part, &n, smaller); }

bool aphi_simpler(aph_value v, size_t n, aph_value *simpler)
{
    return count_forms(v, drop_part, &n, simpler) || count_forms(v, aphi_simpler_leaf, &n, simpler);
}

static bool count_leaves(aph_value v, size_t *n, aph_value *leaf)
{
    aph_kind kind = aph_kind_of(v);
    if (kind == APH_BOOL || kind == APH_INT || kind == APH_STR) {
        *leaf = v;
        return (*n)-- == 0;
    }
    aph_value part;
    for (size_t i = 0; part_at(v, i, &part, NULL); i++)
        if (count_leaves(part, n, leaf))
            return true;
    return false;
}

bool aphi_leaf_at(aph_value v, size_t n, aph_value *leaf) { return count_leaves(v, &n, leaf); }

aph_value aphi_replace_leaves(aph_value v, aph_value from, aph_value to)
{
    if (v == from)
        return to;
    aph_value part;
    for (size_t i = 0; part_at(v, i, &part, NULL); i++) {
        aph_value replaced = aphi_replace_leaves(part, from, to);
        if (replaced != part)
            part_at(v, i, &replaced, &v);
    }
    return v;
}

/* ---- holes ------------------------------------------------------------------------------------------------------- */

static int64_t label_of_hole(aph_value hole)
{
    aph_value label = aph_at(aph_field(hole, "$"), 0);
    return aph_is_int(label) ? aph_int_of(label) : 0;
}

static bool count_holes(aph_value v, size_t *n, int64_t *label)
{
    if (aphi_expression_is_hole(v)) {
        *label = label_of_hole(v);
        return (*n)-- == 0;
    }
    aph_value part;
    for (size_t i = 0; part_at(v, i, &part, NULL); i++)
        if (count_holes(part, n, label))
            return true;
    return false;
}

bool aphi_hole_at(aph_value v, size_t n, int64_t *label) { return count_holes(v, &n, label); }

static aph_value refill(aph_value v, size_t *n, aph_value function)
{
    if (aphi_expression_is_hole(v))
        return (*n)-- == 0 ? aph_put(v, "$", aph_replace(aph_field(v, "$"), 2, function)) : v;
    aph_value part;
    for (size_t i = 0; *n != SIZE_MAX && part_at(v, i, &part, NULL); i++) {
        aph_value refilled = refill(part, n, function);
        if (refilled != part)
            part_at(v, i, &refilled, &v);
    }
    return v;
}

aph_value aphi_refill(aph_value v, size_t n, aph_value function) { return refill(v, &n, function); }

aph_value aphi_relabel(aph_value v, aphi_new_label *to, const void *context)
{
    if (aphi_expression_is_hole(v)) {
        int64_t label = label_of_hole(v), other = to(context, label);
        return other == label ? v : aph_put(v, "$", aph_replace(aph_field(v, "$"), 0, aph_int(other)));
    }
    aph_value part;
    for (size_t i = 0; part_at(v, i, &part, NULL); i++) {
        aph_value relabelled = aphi_relabel(part, to, context);
        if (relabelled != part)
            part_at(v, i, &relabelled, &v);
    }
    return v;
}
