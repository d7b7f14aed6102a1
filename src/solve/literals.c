/* SPDX-License-Identifier: Apache-2.0
 *
 * literals.c - decomposition of conditions into the literals of a store and bindings of symbols.
 *
 * Idea:       a condition that holds also implies that no part of it is wrong. So x + 1 <= 5 becomes x <= 4, which here
 *             implies that x + 1 fits 64 bits; x + y = 3 becomes y = 3 - x. A symbol for which an equation is solved is
 *             substituted at once, and the literals that contained it are absorbed again.
 * Invariants: of the stored literals,
 *             1. an integer symbol has at most one lower and one upper bound, which leave at least two values
 *             2. points (x != c) are strictly between the bounds of x
 *             3. booleans occur only within APHI_OTHER literals
 *             4. no symbol in them is bound
 *             so a symbol with only bounds and points has at least one value.
 * Cost:       one pass over the literals for each condition, and one for each bound symbol; Bloom masks skip most of
 *             them. */
#include "solve/literals.h"

#include "base/memory.h"
#include "solve/term.h"

#include <stdlib.h>
#include <string.h>

static void list_add(aphi_list *l, aph_value v)
{
    if (!l->many && l->count < APHI_FEW_LITERALS) {
        l->few[l->count++] = v;
        return;
    }
    bool first = !l->many;
    APHI_RESERVE(l->many, l->capacity, l->count + 1);
    if (first)
        memcpy(l->many, l->few, sizeof l->few);
    l->many[l->count++] = v;
}

static void list_init(aphi_list *l)
{
    l->count = l->capacity = 0;
    l->many = NULL;
}

void aphi_literals_init(aphi_literals *a, aph_value store)
{
    list_init(&a->literals);
    list_init(&a->waiting);
    aphi_bindings_init(&a->bindings);
    a->touched = 0;
    a->failed = false;
    for (size_t i = 0; i < aph_count(store); i++)
        list_add(&a->literals, aph_at(store, i));
}

void aphi_literals_deinit(aphi_literals *a)
{
    free(a->literals.many);
    free(a->waiting.many);
    aphi_bindings_deinit(&a->bindings);
}

/* ---- changing the literals --------------------------------------------------------------------------------------- */

static void drop(aphi_literals *a, size_t i)
{
    aph_value *items = aphi_list_items(&a->literals);
    items[i] = items[--a->literals.count];
}

static void keep(aphi_literals *a, aph_value literal)
{
    const aph_value *items = aphi_list_read(&a->literals);
    for (size_t i = 0; i < a->literals.count; i++)
        if (items[i] == literal)
            return;
    a->touched |= aphi_symbols(literal);
    list_add(&a->literals, literal);
}

/* Binds symbol to value, which does not contain it. */
static void bind(aphi_literals *a, aph_value symbol, aph_value value)
{
    aphi_bindings one;
    aphi_bindings_init(&one);
    aphi_bindings_set(&one, symbol, value);
    for (size_t i = 0; i < aphi_bindings_count(&a->bindings); i++) {
        aph_value *other = aphi_bindings_value(&a->bindings, i);
        *other = aphi_substitute(*other, &one);
    }
    aphi_bindings_set(&a->bindings, symbol, value);
    for (size_t i = 0; i < a->literals.count;) {
        aph_value was = aphi_list_items(&a->literals)[i], now = aphi_substitute(was, &one);
        if (now == was) {
            i++;
        } else {
            drop(a, i);
            list_add(&a->waiting, now);
        }
    }
}

static aphi_range bounds_of(const aphi_literals *a, aph_value symbol)
{
    aphi_range r = APHI_RANGE_ALL;
    aph_value x, y;
    const aph_value *items = aphi_list_read(&a->literals);
    for (size_t i = 0; i < a->literals.count; i++) {
        if (!(aphi_symbols(items[i]) & aphi_symbols(symbol)))
            continue;
        aphi_form form = aphi_form_of(items[i], &x, &y);
        if (form == APHI_LOWER && x == symbol)
            r.low = aph_int_of(y);
        else if (form == APHI_UPPER && x == symbol)
            r.high = aph_int_of(y);
    }
    return r;
}

/* Narrows the bounds so that they are not excluded points. */
static aphi_range without_points(aphi_literals *a, aph_value symbol, aphi_range r)
{
    aph_value x, y;
    const aph_value *items = aphi_list_read(&a->literals);
    for (bool more = true; more && !aphi_range_empty(r);) {
        more = false;
        for (size_t i = 0; i < a->literals.count && !more; i++) {
            if (!(aphi_symbols(items[i]) & aphi_symbols(symbol)) ||
                aphi_form_of(items[i], &x, &y) != APHI_POINT || x != symbol)
                continue;
            bool at_low = aph_int_of(y) == r.low, at_high = aph_int_of(y) == r.high;
            if (r.low == r.high && at_low)
                return (aphi_range){1, 0};
            r.low += at_low;
            r.high -= at_high;
            more = at_low || at_high;
        }
    }
    return r;
}

/* Drops the bounds of symbol, and its points that are not strictly inside r. */
static void clear_bounds(aphi_literals *a, aph_value symbol, aphi_range r)
{
    aph_value x, y;
    for (size_t i = 0; i < a->literals.count;) {
        aph_value literal = aphi_list_items(&a->literals)[i];
        aphi_form form = aphi_symbols(literal) & aphi_symbols(symbol) ? aphi_form_of(literal, &x, &y) : APHI_OTHER;
        bool bound = (form == APHI_LOWER || form == APHI_UPPER) && x == symbol;
        bool point = form == APHI_POINT && x == symbol && (aph_int_of(y) <= r.low || aph_int_of(y) >= r.high);
        if (bound || point)
            drop(a, i);
        else
            i++;
    }
}

/* Restricts symbol to r. */
static void restrict_to(aphi_literals *a, aph_value symbol, aphi_range r)
{
    aphi_range was = bounds_of(a, symbol), now = was;
    if (r.low > now.low)
        now.low = r.low;
    if (r.high < now.high)
        now.high = r.high;
    if (now.low == was.low && now.high == was.high)
        return;
    now = without_points(a, symbol, now);
    if (aphi_range_empty(now)) {
        a->failed = true;
        return;
    }
    clear_bounds(a, symbol, now);
    a->touched |= aphi_symbols(symbol);
    if (now.low == now.high) {
        bind(a, symbol, aph_int(now.low));
        return;
    }
    if (now.low > INT64_MIN)
        list_add(&a->literals, aph_le(aph_int(now.low), symbol));
    if (now.high < INT64_MAX)
        list_add(&a->literals, aph_le(symbol, aph_int(now.high)));
}

static void exclude(aphi_literals *a, aph_value symbol, int64_t i)
{
    aphi_range r = bounds_of(a, symbol);
    if (i < r.low || i > r.high)
        return;
    if (i == r.low)
        restrict_to(a, symbol, (aphi_range){i + 1, INT64_MAX});
    else if (i == r.high)
        restrict_to(a, symbol, (aphi_range){INT64_MIN, i - 1});
    else
        keep(a, aph_ne(symbol, aph_int(i)));
}

/* ---- absorbing a condition --------------------------------------------------------------------------------------- */

/* Absorbs that t is not wrong and is in `to`. Returns false if the bounds of one symbol cannot express this. */
static bool absorb_range(aphi_literals *a, aph_value t, aphi_range to)
{
    aph_value symbol;
    aphi_range from;
    if (!aphi_range_before(t, to, &symbol, &from))
        return false;
    if (aphi_range_empty(from))
        a->failed = true;
    else
        restrict_to(a, symbol, from);
    return true;
}

static bool absorb_defined(aphi_literals *a, aph_value t)
{
    return aphi_is_total(t) || absorb_range(a, t, APHI_RANGE_ALL);
}

/* Absorbs symbol = t, if t does not contain the symbol and bounds can express that t is not wrong. */
static bool solve_for(aphi_literals *a, aph_value symbol, aph_value t)
{
    aph_value inner;
    aphi_range from;
    if (!aphi_is_symbol(symbol) || aphi_holds(t, symbol))
        return false;
    if (!aphi_is_total(t) && !aphi_range_before(t, APHI_RANGE_ALL, &inner, &from))
        return false;
    aph_value defined = aphi_defined(t);
    bind(a, symbol, t);
    list_add(&a->waiting, defined);
    return true;
}

/* Absorbs x = y: the newer symbol is replaced by the other. */
static bool absorb_same(aphi_literals *a, aph_value x, aph_value y)
{
    if (aphi_is_symbol(x) && aphi_is_symbol(y) && aph_compare(x, y) < 0)
        return solve_for(a, y, x);
    return solve_for(a, x, y) || solve_for(a, y, x);
}

/* x + y = k and x - y = k bind the newer symbol; the result fits 64 bits because it is the value of a symbol. */
static bool absorb_sum(aphi_literals *a, aph_value t, aph_value k)
{
    bool is_sum = aphi_is_term(t, APH_ADD), is_difference = aphi_is_term(t, APH_SUB);
    if (!is_sum && !is_difference)
        return false;
    aph_value x = aphi_node_arg(t, 0), y = aphi_node_arg(t, 1);
    if (!aphi_is_symbol(x) || !aphi_is_symbol(y) || x == y)
        return false;
    if (is_sum)
        return solve_for(a, y, aph_sub(k, x));
    return aph_compare(x, y) < 0 ? solve_for(a, y, aph_sub(x, k)) : solve_for(a, x, aph_add(y, k));
}

static void absorb_equality(aphi_literals *a, aph_value l)
{
    aph_value x = aphi_node_arg(l, 0), y = aphi_node_arg(l, 1);
    if (x == y) {
        if (!absorb_defined(a, x))
            keep(a, l);
        return;
    }
    if (aph_is_int(y)) {
        if (!absorb_range(a, x, (aphi_range){aph_int_of(y), aph_int_of(y)}) && !absorb_sum(a, x, y))
            keep(a, l);
    } else if (!absorb_same(a, x, y)) {
        keep(a, l);
    }
}

/* Absorbs that t is not wrong and t != k, if the bounds and one point of one symbol can express this. */
static bool absorb_not_in(aphi_literals *a, aph_value t, int64_t k)
{
    aph_value symbol;
    aphi_range defined, excluded;
    if (!aphi_range_before(t, APHI_RANGE_ALL, &symbol, &defined) ||
        !aphi_range_before(t, (aphi_range){k, k}, &symbol, &excluded))
        return false;
    if (aphi_range_empty(defined)) {
        a->failed = true;
        return true;
    }
    bool empty = aphi_range_empty(excluded), at_low = !empty && excluded.low <= defined.low,
         at_high = !empty && excluded.high >= defined.high;
    if (at_low && at_high) {
        a->failed = true;
        return true;
    }
    if (!empty && !at_low && !at_high && excluded.low != excluded.high)
        return false;
    if (at_low)
        defined.low = excluded.high + 1;
    if (at_high)
        defined.high = excluded.low - 1;
    restrict_to(a, symbol, defined);
    if (a->failed || empty || at_low || at_high)
        return true;
    aph_value bound = aphi_bindings_get(&a->bindings, symbol);
    if (bound)
        a->failed = bound == aph_int(excluded.low);
    else
        exclude(a, symbol, excluded.low);
    return true;
}

static void absorb_difference(aphi_literals *a, aph_value l)
{
    aph_value equality = aphi_node_arg(l, 0), x = aphi_node_arg(equality, 0), y = aphi_node_arg(equality, 1);
    if (x == y)
        a->failed = true;
    else if (!aph_is_int(y) || !absorb_not_in(a, x, aph_int_of(y)))
        keep(a, l);
}

static void absorb_order(aphi_literals *a, aph_value l)
{
    aph_value x = aphi_node_arg(l, 0), y = aphi_node_arg(l, 1);
    bool done = false;
    if (aph_is_int(y))
        done = absorb_range(a, x, (aphi_range){INT64_MIN, aph_int_of(y)});
    else if (aph_is_int(x))
        done = absorb_range(a, y, (aphi_range){aph_int_of(x), INT64_MAX});
    if (!done)
        keep(a, l);
}

static void absorb_one(aphi_literals *a, aph_value l)
{
    if (aph_kind_of(l) == APH_SYMBOL && aph_symbol_sort(l) == APH_BOOL) {
        bind(a, l, aph_bool(true));
        return;
    }
    if (aph_kind_of(l) != APH_TERM) {
        a->failed |= !aph_truth(l);
        return;
    }
    switch (aph_term_op(l)) {
    case APH_AND:
        list_add(&a->waiting, aphi_node_arg(l, 1));
        list_add(&a->waiting, aphi_node_arg(l, 0));
        break;
    case APH_EQ: absorb_equality(a, l); break;
    case APH_LT:
    case APH_LE: absorb_order(a, l); break;
    case APH_OR: keep(a, l); break;
    case APH_NOT:
        if (aphi_is_symbol(aphi_node_arg(l, 0)))
            bind(a, aphi_node_arg(l, 0), aph_bool(false));
        else
            absorb_difference(a, l);
        break;
    default: a->failed = true; break;
    }
}

bool aphi_literals_assert(aphi_literals *a, aph_value condition)
{
    list_add(&a->waiting, condition);
    while (a->waiting.count && !a->failed) {
        aph_value next = aphi_list_items(&a->waiting)[--a->waiting.count];
        absorb_one(a, aphi_substitute(next, &a->bindings));
    }
    return !a->failed;
}

/* ---- making a store ---------------------------------------------------------------------------------------------- */

static aphi_range range_of(const void *context, aph_value symbol)
{
    return bounds_of(context, symbol);
}

void aphi_literals_simplify(aphi_literals *a)
{
    aph_value x, y;
    for (size_t i = 0; i < a->literals.count;) {
        aph_value literal = aphi_list_items(&a->literals)[i];
        bool implied = false;
        if ((aphi_symbols(literal) & a->touched) && aphi_form_of(literal, &x, &y) >= APHI_APART) {
            aphi_outcome o = aphi_range_outcome(literal, range_of, a);
            implied = o.can_hold && !o.can_fail && !o.can_be_wrong;
        }
        if (implied)
            drop(a, i);
        else
            i++;
    }
}

static int by_content(const void *a, const void *b)
{
    return aph_compare(*(const aph_value *)a, *(const aph_value *)b);
}

static void sort(size_t n, aph_value *items)
{
    if (n > 32) {
        qsort(items, n, sizeof *items, by_content);
        return;
    }
    for (size_t i = 1; i < n; i++) {
        aph_value v = items[i];
        size_t at = i;
        for (; at > 0 && aph_compare(items[at - 1], v) > 0; at--)
            items[at] = items[at - 1];
        items[at] = v;
    }
}

aph_value aphi_literals_store(aphi_literals *a)
{
    aph_value *items = aphi_list_items(&a->literals);
    sort(a->literals.count, items);
    return a->literals.count ? aph_array(a->literals.count, items) : APH_NIL;
}
