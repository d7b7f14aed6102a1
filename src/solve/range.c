/* SPDX-License-Identifier: Apache-2.0
 *
 * range.c - intervals of integers, and evaluation of terms over them.
 *
 * Idea:       an operation with one constant is monotone, so the preimage of an interval is an interval, computed by
 *             inverting the operation. Clipping to 64 bits at each level implements the rule that no intermediate
 *             result may leave 64 bits. Forward, intervals only bound the value of a term, which refutes or confirms
 *             many conditions between symbols without a solver.
 * Cost:       linear in the expanded term; forward evaluation gives up below MAX_DEPTH. */
#include "solve/range.h"

#include "solve/term.h"

__extension__ typedef __int128 wide;

enum { MAX_DEPTH = 12 };

static wide floor_div(wide a, wide b)
{
    return a / b - (a % b != 0 && (a < 0) != (b < 0));
}

static wide ceil_div(wide a, wide b)
{
    return -floor_div(-a, b);
}

static aphi_range clip(wide low, wide high)
{
    if (low > INT64_MAX || high < INT64_MIN || low > high)
        return (aphi_range){1, 0};
    return (aphi_range){low < INT64_MIN ? INT64_MIN : (int64_t)low, high > INT64_MAX ? INT64_MAX : (int64_t)high};
}

/* ---- backward ---------------------------------------------------------------------------------------------------- */

static aphi_range before_product(aphi_range to, wide c)
{
    if (c == 0)
        return to.low <= 0 && to.high >= 0 ? APHI_RANGE_ALL : (aphi_range){1, 0};
    return c > 0 ? clip(ceil_div(to.low, c), floor_div(to.high, c)) : clip(ceil_div(to.high, c), floor_div(to.low, c));
}

static aphi_range before_quotient(aphi_range to, wide c)
{
    if (c > 0)
        return clip(to.low * c, to.high * c + c - 1);
    return clip(-(to.high * -c - c - 1), -(to.low * -c));
}

/* Computes the operands x for which x op c (or c op x) is in `to`. */
static bool before_operation(aph_op op, bool constant_first, wide c, aphi_range to, aphi_range *from)
{
    switch (op) {
    case APH_ADD: *from = clip(to.low - c, to.high - c); return true;
    case APH_SUB: *from = constant_first ? clip(c - to.high, c - to.low) : clip(to.low + c, to.high + c); return true;
    case APH_MUL: *from = before_product(to, c); return true;
    case APH_DIV:
        if (constant_first)
            return false;
        *from = before_quotient(to, c);
        return true;
    default: return false;
    }
}

bool aphi_range_before(aph_value t, aphi_range to, aph_value *symbol, aphi_range *from)
{
    while (!aphi_is_symbol(t)) {
        if (!aphi_is_node(t) || t->shape != APHI_OPERATION || t->detail > APH_DIV)
            return false;
        aph_value a = aphi_node_arg(t, 0), b = aphi_node_arg(t, 1);
        bool first = aph_is_int(a);
        if (!first && !aph_is_int(b))
            return false;
        if (aphi_range_empty(to))
            to = (aphi_range){1, 0};
        else if (!before_operation((aph_op)t->detail, first, aph_int_of(first ? a : b), to, &to))
            return false;
        t = first ? b : a;
    }
    *symbol = t;
    *from = to;
    return true;
}

/* ---- forward, on intervals --------------------------------------------------------------------------------------- */

typedef struct reach {
    aphi_range range;
    bool can_be_wrong;
} reach;

static wide least(wide a, wide b, wide c, wide d)
{
    wide x = a < b ? a : b, y = c < d ? c : d;
    return x < y ? x : y;
}

static wide most(wide a, wide b, wide c, wide d)
{
    return -least(-a, -b, -c, -d);
}

static reach within(wide low, wide high, bool can_be_wrong)
{
    aphi_range r = clip(low, high);
    return (reach){r, can_be_wrong || low < INT64_MIN || high > INT64_MAX};
}

static reach quotient_reach(reach a, reach b, bool wrong)
{
    if (b.range.low <= 0 && b.range.high >= 0)
        return (reach){APHI_RANGE_ALL, true};
    wide p = floor_div(a.range.low, b.range.low), q = floor_div(a.range.low, b.range.high),
         r = floor_div(a.range.high, b.range.low), s = floor_div(a.range.high, b.range.high);
    return within(least(p, q, r, s), most(p, q, r, s), wrong);
}

static reach term_reach(aph_value t, aphi_range_of_symbol *of, const void *context, int depth);

static reach operation_reach(aph_value t, aphi_range_of_symbol *of, const void *context, int depth)
{
    reach a = term_reach(aphi_node_arg(t, 0), of, context, depth - 1);
    reach b = term_reach(aphi_node_arg(t, 1), of, context, depth - 1);
    bool wrong = a.can_be_wrong || b.can_be_wrong;
    if (aphi_range_empty(a.range) || aphi_range_empty(b.range))
        return (reach){{1, 0}, true};
    wide al = a.range.low, ah = a.range.high, bl = b.range.low, bh = b.range.high;
    switch (aphi_node_op(t)) {
    case APH_ADD: return within(al + bl, ah + bh, wrong);
    case APH_SUB: return within(al - bh, ah - bl, wrong);
    case APH_MUL:
        return within(least(al * bl, al * bh, ah * bl, ah * bh), most(al * bl, al * bh, ah * bl, ah * bh), wrong);
    default: return quotient_reach(a, b, wrong);
    }
}

static reach term_reach(aph_value t, aphi_range_of_symbol *of, const void *context, int depth)
{
    if (aph_is_int(t))
        return (reach){{aph_int_of(t), aph_int_of(t)}, false};
    if (aphi_is_symbol(t))
        return (reach){of(context, t), false};
    return depth ? operation_reach(t, of, context, depth) : (reach){APHI_RANGE_ALL, true};
}

static const aphi_outcome anything = {true, true, true};

static aphi_outcome outcome(aph_value c, aphi_range_of_symbol *of, const void *context, int depth);

static aphi_outcome compared(aph_value c, aphi_range_of_symbol *of, const void *context, int depth)
{
    aph_value x = aphi_node_arg(c, 0), y = aphi_node_arg(c, 1);
    if (aph_sort_of(x) != APH_INT)
        return (aphi_outcome){true, true, !aphi_is_total(x) || !aphi_is_total(y)};
    reach a = term_reach(x, of, context, depth), b = term_reach(y, of, context, depth);
    bool wrong = a.can_be_wrong || b.can_be_wrong;
    if (aphi_range_empty(a.range) || aphi_range_empty(b.range))
        return (aphi_outcome){false, false, true};
    switch (aphi_node_op(c)) {
    case APH_LT: return (aphi_outcome){a.range.low < b.range.high, a.range.high >= b.range.low, wrong};
    case APH_LE: return (aphi_outcome){a.range.low <= b.range.high, a.range.high > b.range.low, wrong};
    default: break;
    }
    if (x == y)
        return (aphi_outcome){true, false, wrong};
    bool meet = a.range.low <= b.range.high && b.range.low <= a.range.high;
    bool points = a.range.low == a.range.high && b.range.low == b.range.high;
    return (aphi_outcome){meet, !(meet && points), wrong};
}

static aphi_outcome combined(aph_value c, aphi_range_of_symbol *of, const void *context, int depth)
{
    aphi_outcome a = outcome(aphi_node_arg(c, 0), of, context, depth - 1);
    aphi_outcome b = outcome(aphi_node_arg(c, 1), of, context, depth - 1);
    bool wrong = a.can_be_wrong || b.can_be_wrong;
    /* Strict: neither holds nor fails if one side is always wrong. */
    if ((!a.can_hold && !a.can_fail) || (!b.can_hold && !b.can_fail))
        return (aphi_outcome){false, false, true};
    if (aphi_node_op(c) == APH_AND)
        return (aphi_outcome){a.can_hold && b.can_hold, a.can_fail || b.can_fail, wrong};
    return (aphi_outcome){a.can_hold || b.can_hold, a.can_fail && b.can_fail, wrong};
}

static aphi_outcome outcome(aph_value c, aphi_range_of_symbol *of, const void *context, int depth)
{
    if (aph_kind_of(c) == APH_BOOL)
        return (aphi_outcome){aph_truth(c), !aph_truth(c), false};
    if (aphi_is_symbol(c)) {
        aphi_range r = of(context, c);
        return (aphi_outcome){r.high >= 1, r.low <= 0, false};
    }
    if (!depth)
        return anything;
    switch (aphi_node_op(c)) {
    case APH_LT:
    case APH_LE:
    case APH_EQ: return compared(c, of, context, depth);
    case APH_AND:
    case APH_OR: return combined(c, of, context, depth);
    case APH_NOT: {
        aphi_outcome a = outcome(aphi_node_arg(c, 0), of, context, depth - 1);
        return (aphi_outcome){a.can_fail, a.can_hold, a.can_be_wrong};
    }
    default: return (aphi_outcome){false, false, true};
    }
}

aphi_outcome aphi_range_outcome(aph_value condition, aphi_range_of_symbol *of, const void *context)
{
    return outcome(condition, of, context, MAX_DEPTH);
}

/* ---- forward, on values ------------------------------------------------------------------------------------------ */

int64_t aphi_scalar(aph_value v)
{
    switch (aph_kind_of(v)) {
    case APH_INT: return aph_int_of(v);
    case APH_BOOL: return aph_truth(v);
    default: return (int64_t)(uintptr_t)v;
    }
}

aphi_result aphi_evaluate(aph_value t, aphi_value_of_symbol *of, const void *context)
{
    if (aphi_is_symbol(t))
        return (aphi_result){false, of(context, t)};
    if (!aphi_is_node(t) || t->shape != APHI_OPERATION)
        return (aphi_result){false, aphi_scalar(t)};
    if (t->detail == APH_WRONG)
        return (aphi_result){true, 0};
    aphi_result a = aphi_evaluate(t->slot[0].v, of, context);
    aphi_result b = t->count > 1 ? aphi_evaluate(t->slot[1].v, of, context) : a;
    aphi_result result = {a.wrong || b.wrong, 0};
    if (result.wrong)
        return result;
    switch ((aph_op)t->detail) {
    case APH_LT: result.i = a.i < b.i; break;
    case APH_LE: result.i = a.i <= b.i; break;
    case APH_EQ: result.i = a.i == b.i; break;
    case APH_AND: result.i = a.i && b.i; break;
    case APH_OR: result.i = a.i || b.i; break;
    case APH_NOT: result.i = !a.i; break;
    default: result.wrong = !aphi_compute((aph_op)t->detail, a.i, b.i, &result.i); break;
    }
    return result;
}
