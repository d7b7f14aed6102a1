/* SPDX-License-Identifier: Apache-2.0
 *
 * term.c - construction and simplification of symbolic terms.
 *
 * Idea:       a term denotes a function from the values of its symbols to a value or to *wrong*: division by zero,
 *             overflow of 64 bits, or operands of a wrong kind. Every operation is strict: a wrong operand gives a
 *             wrong result, so `false and wrong` is wrong, and a condition and its negation are wrong for the same
 *             values. Each simplification preserves that function exactly. Operations that cannot go wrong are called
 *             total; only a total operand may be dropped (`false and p` is false only if p is total).
 * Invariants: 1. a term other than APH_WRONG contains at least one symbol
 *             2. NOT is applied only to symbols and to equalities that are not between booleans
 *             3. LT has only symbolic operands; in an equality, sum or product a constant is the second operand
 *             4. x + c1 + c2 ... has at most three constants, see add_constant
 * Cost:       one node for each operation; equality of structures visits their items.
 * Not done:   moving constants across a comparison (x + 1 <= k): this loses the values for which x + 1 is wrong. The
 *             store does it, and records that x + 1 must not be wrong. */
#include "solve/term.h"

#include <assert.h>

__extension__ typedef __int128 wide;

static aph_value make_term(aph_op op, aph_value a, aph_value b)
{
    return aphi_node_term(op, 2, (aph_value[]){a, b});
}

static aph_value wrong_term(void)
{
    return aphi_node_term(APH_WRONG, 0, NULL);
}

static bool is_arithmetic(aph_value v)
{
    return aphi_is_node(v) && v->shape == APHI_OPERATION && v->detail <= APH_DIV;
}

static bool is_unknown(aph_value v)
{
    return aphi_is_node(v) && (v->shape == APHI_SYM || v->shape == APHI_OPERATION);
}

aph_op aph_term_op(aph_value v)
{
    assert(aph_kind_of(v) == APH_TERM);
    return (aph_op)aphi_node_op(v);
}

size_t aph_term_count(aph_value v)
{
    assert(aph_kind_of(v) == APH_TERM);
    return aphi_node_count(v);
}

aph_value aph_term_arg(aph_value v, size_t i)
{
    assert(aph_kind_of(v) == APH_TERM && i < aphi_node_count(v));
    return aphi_node_arg(v, i);
}

aph_kind aph_sort_of(aph_value v)
{
    if (!is_unknown(v))
        return aph_kind_of(v);
    if (v->shape == APHI_SYM)
        return aph_symbol_sort(v);
    return is_arithmetic(v) ? APH_INT : v->detail == APH_WRONG ? APH_TERM : APH_BOOL;
}

/* ---- wrong terms ------------------------------------------------------------------------------------------------- */

bool aphi_is_total(aph_value v)
{
    if (aphi_is_term(v, APH_WRONG) || is_arithmetic(v))
        return false;
    if (!aphi_symbols(v))
        return true;
    for (size_t i = 0; i < aphi_slots_of(v); i++)
        if (!aphi_is_total(v->slot[i].v))
            return false;
    return true;
}

aph_value aphi_defined(aph_value v)
{
    if (aphi_is_total(v))
        return aph_bool(true);
    if (aphi_is_term(v, APH_WRONG))
        return v;
    if (is_unknown(v))
        return make_term(APH_EQ, v, v);
    aph_value all = aph_bool(true);
    for (size_t i = 0; i < aphi_slots_of(v); i++)
        all = aph_and(all, aphi_defined(v->slot[i].v));
    return all;
}

/* Returns `answer` if a and b are not wrong, else wrong. */
static aph_value answer_if_defined(bool answer, aph_value a, aph_value b)
{
    return aph_and(aph_bool(answer), aph_and(aphi_defined(a), aphi_defined(b)));
}

/* ---- integers ---------------------------------------------------------------------------------------------------- */

static bool floor_divide(int64_t a, int64_t b, int64_t *result)
{
    if (!b || (a == INT64_MIN && b == -1))
        return false;
    *result = a / b - (a % b != 0 && (a < 0) != (b < 0));
    return true;
}

bool aphi_compute(aph_op op, int64_t a, int64_t b, int64_t *result)
{
    switch (op) {
    case APH_ADD: return !__builtin_add_overflow(a, b, result);
    case APH_SUB: return !__builtin_sub_overflow(a, b, result);
    case APH_MUL: return !__builtin_mul_overflow(a, b, result);
    case APH_DIV: return floor_divide(a, b, result);
    default: assert(!"not arithmetic"); return false;
    }
}

static bool fits(wide w)
{
    return w >= INT64_MIN && w <= INT64_MAX;
}

/* t + c, where t may itself be x + c1 + c2 + c3. Of the partial sums only the highest, the lowest and the last matter:
 * x plus each must fit 64 bits. So the chain is rewritten as x + highest + (lowest - highest) + ..., without the parts
 * that the last one implies: a counter that went up and down a thousand times is still a small term. */
static aph_value add_constant(aph_value t, int64_t c)
{
    int64_t part[4];
    size_t n = 0;
    aph_value base = t;
    part[n++] = c;
    while (n < 4 && aphi_is_term(base, APH_ADD) && aph_is_int(aphi_node_arg(base, 1))) {
        part[n++] = aph_int_of(aphi_node_arg(base, 1));
        base = aphi_node_arg(base, 0);
    }
    wide sum = 0, high = 0, low = 0;
    while (n) {
        sum += part[--n];
        high = sum > high ? sum : high;
        low = sum < low ? sum : low;
    }
    wide stop[3] = {high, low, sum}, at = 0;
    if (sum == high) {
        stop[0] = low;
        stop[1] = sum;
    } else if (sum == low) {
        stop[1] = sum;
    }
    if (!fits(high) || !fits(low) || !fits(stop[1] - stop[0]) || !fits(stop[2] - stop[1]))
        return make_term(APH_ADD, t, aph_int(c));
    for (size_t i = 0; i < 3; at = stop[i++])
        if (stop[i] != at)
            base = make_term(APH_ADD, base, aph_int((int64_t)(stop[i] - at)));
    return base;
}

static aph_value sum(aph_value a, aph_value b)
{
    if (aph_is_int(b))
        return aph_int_of(b) ? add_constant(a, aph_int_of(b)) : a;
    return aph_compare(a, b) <= 0 ? make_term(APH_ADD, a, b) : make_term(APH_ADD, b, a);
}

static aph_value difference(aph_value a, aph_value b)
{
    if (aph_is_int(b) && aph_int_of(b) != INT64_MIN)
        return sum(a, aph_int(-aph_int_of(b)));
    return a == b && aphi_is_total(a) ? aph_int(0) : make_term(APH_SUB, a, b);
}

static aph_value product(aph_value a, aph_value b)
{
    if (b == aph_int(1))
        return a;
    if (aph_is_int(b))
        return b == aph_int(0) && aphi_is_total(a) ? b : make_term(APH_MUL, a, b);
    return aph_compare(a, b) <= 0 ? make_term(APH_MUL, a, b) : make_term(APH_MUL, b, a);
}

static aph_value quotient(aph_value a, aph_value b)
{
    return b == aph_int(0) ? wrong_term() : b == aph_int(1) ? a : make_term(APH_DIV, a, b);
}

static aph_value arithmetic(aph_op op, aph_value a, aph_value b)
{
    if (aph_sort_of(a) != APH_INT || aph_sort_of(b) != APH_INT)
        return wrong_term();
    if (aph_is_int(a) && aph_is_int(b)) {
        int64_t result;
        return aphi_compute(op, aph_int_of(a), aph_int_of(b), &result) ? aph_int(result) : wrong_term();
    }
    switch (op) {
    case APH_ADD: return aph_is_int(a) ? sum(b, a) : sum(a, b);
    case APH_SUB: return difference(a, b);
    case APH_MUL: return aph_is_int(a) ? product(b, a) : product(a, b);
    default: return quotient(a, b);
    }
}

static aph_value less(aph_op op, aph_value a, aph_value b)
{
    if (aph_sort_of(a) != APH_INT || aph_sort_of(b) != APH_INT)
        return wrong_term();
    if (a == b)
        return answer_if_defined(op == APH_LE, a, b);
    bool known_a = aph_is_int(a), known_b = aph_is_int(b);
    int64_t x = known_a ? aph_int_of(a) : 0, y = known_b ? aph_int_of(b) : 0;
    if (known_a && known_b)
        return aph_bool(op == APH_LT ? x < y : x <= y);
    if (op == APH_LT && known_b)
        return y == INT64_MIN ? answer_if_defined(false, a, b) : less(APH_LE, a, aph_int(y - 1));
    if (op == APH_LT && known_a)
        return x == INT64_MAX ? answer_if_defined(false, a, b) : less(APH_LE, aph_int(x + 1), b);
    if ((known_b && y == INT64_MAX) || (known_a && x == INT64_MIN))
        return answer_if_defined(true, a, b);
    return make_term(op, a, b);
}

/* ---- truth ------------------------------------------------------------------------------------------------------- */

static aph_value equal(aph_value a, aph_value b);

static aph_value both_or_either(aph_op op, aph_value a, aph_value b)
{
    if (aph_sort_of(a) != APH_BOOL || aph_sort_of(b) != APH_BOOL)
        return wrong_term();
    if (aph_kind_of(b) == APH_BOOL) {
        aph_value swapped = a;
        a = b;
        b = swapped;
    }
    if (a == b || a == aph_bool(op == APH_AND))
        return b;
    if (aph_kind_of(a) == APH_BOOL && aphi_is_total(b))
        return a;
    return aph_compare(a, b) <= 0 ? make_term(op, a, b) : make_term(op, b, a);
}

static aph_value negation(aph_value a)
{
    if (aph_sort_of(a) != APH_BOOL)
        return wrong_term();
    if (aph_kind_of(a) == APH_BOOL)
        return aph_bool(!aph_truth(a));
    if (a->shape == APHI_SYM)
        return aphi_node_term(APH_NOT, 1, &a);
    aph_value x = aphi_node_arg(a, 0), y = aphi_node_count(a) > 1 ? aphi_node_arg(a, 1) : APH_NIL;
    switch (aphi_node_op(a)) {
    case APH_NOT: return x;
    case APH_LT: return less(APH_LE, y, x);
    case APH_LE: return less(APH_LT, y, x);
    case APH_AND: return both_or_either(APH_OR, negation(x), negation(y));
    case APH_OR: return both_or_either(APH_AND, negation(x), negation(y));
    default: return aph_sort_of(x) == APH_BOOL && aph_sort_of(y) == APH_BOOL ? equal(x, negation(y))
                                                                            : aphi_node_term(APH_NOT, 1, &a);
    }
}

/* Returns true if the negation of the term is simpler. */
static bool is_negative(aph_value v)
{
    return aphi_is_term(v, APH_NOT) || aphi_is_term(v, APH_LT);
}

static aph_value equal_booleans(aph_value a, aph_value b)
{
    if (aph_kind_of(a) == APH_BOOL)
        return aph_truth(a) ? b : negation(b);
    if (aph_kind_of(b) == APH_BOOL)
        return aph_truth(b) ? a : negation(a);
    bool same = is_negative(a) == is_negative(b);
    a = is_negative(a) ? negation(a) : a;
    b = is_negative(b) ? negation(b) : b;
    if (a == b)
        return answer_if_defined(same, a, b);
    if (aph_compare(a, b) > 0) {
        aph_value swapped = a;
        a = b;
        b = swapped;
    }
    return make_term(APH_EQ, a, same ? b : negation(b));
}

static aph_value equal_items(aph_value a, aph_value b)
{
    aph_value all = aph_bool(true);
    for (size_t i = 0; i < a->count; i++)
        all = aph_and(all, equal(aph_at(a, i), aph_at(b, i)));
    return all;
}

static aph_value equal_pairs(aph_value a, aph_value b)
{
    aph_value all = aph_bool(true), key[2], item[2];
    for (size_t i = 0; i < a->count; i++) {
        aph_pair_at(a, i, &key[0], &item[0]);
        aph_pair_at(b, i, &key[1], &item[1]);
        if (key[0] != key[1])
            return answer_if_defined(false, a, b);
        if (item[0] != item[1] || aphi_symbols(item[0]))
            all = aph_and(all, equal(item[0], item[1]));
    }
    return all;
}

static aph_value equal(aph_value a, aph_value b)
{
    if (aphi_is_term(a, APH_WRONG) || aphi_is_term(b, APH_WRONG))
        return wrong_term();
    aph_kind sort = aph_sort_of(a);
    if (a == b || sort != aph_sort_of(b))
        return answer_if_defined(a == b, a, b);
    if (!aphi_symbols(a) && !aphi_symbols(b))
        return aph_bool(false);
    switch (sort) {
    case APH_ARRAY: return a->count == b->count ? equal_items(a, b) : answer_if_defined(false, a, b);
    case APH_OBJECT: return a->count == b->count ? equal_pairs(a, b) : answer_if_defined(false, a, b);
    case APH_BOOL: return equal_booleans(a, b);
    default: break;
    }
    bool swap = is_unknown(a) && is_unknown(b) ? aph_compare(a, b) > 0 : !is_unknown(a);
    return swap ? make_term(APH_EQ, b, a) : make_term(APH_EQ, a, b);
}

aph_value aph_term(aph_op op, aph_value a, aph_value b)
{
    switch (op) {
    case APH_ADD:
    case APH_SUB:
    case APH_MUL:
    case APH_DIV: return arithmetic(op, a, b);
    case APH_LT:
    case APH_LE: return less(op, a, b);
    case APH_EQ: return equal(a, b);
    case APH_AND:
    case APH_OR: return both_or_either(op, a, b);
    case APH_NOT: return negation(a);
    case APH_WRONG: break;
    }
    return wrong_term();
}
