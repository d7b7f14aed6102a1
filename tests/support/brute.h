/* SPDX-License-Identifier: Apache-2.0
 *
 * brute.h - random terms, and a second, slow and simple evaluator to compare the solver with.
 *
 * An expression is a separate tree, so that its evaluation does not depend on aph_term; brute_term converts it to a
 * term. brute_meaning_of evaluates any term by the same simple rules. */
#ifndef TESTS_SUPPORT_BRUTE_H
#define TESTS_SUPPORT_BRUTE_H

#include <antiphon/value.h>

#include "base/random_choice.h"

#include <assert.h>

__extension__ typedef __int128 brute_wide;

typedef enum brute_kind { BRUTE_WRONG, BRUTE_BOOL, BRUTE_INT, BRUTE_STR } brute_kind;

typedef struct brute_meaning {
    brute_kind kind;
    int64_t i;       /* a boolean or an integer */
    aph_value s;     /* a string */
} brute_meaning;

static inline brute_meaning brute_of_value(aph_value v)
{
    switch (aph_kind_of(v)) {
    case APH_BOOL: return (brute_meaning){BRUTE_BOOL, aph_truth(v), APH_NIL};
    case APH_INT: return (brute_meaning){BRUTE_INT, aph_int_of(v), APH_NIL};
    case APH_STR: return (brute_meaning){BRUTE_STR, 0, v};
    default: return (brute_meaning){BRUTE_WRONG, 0, APH_NIL};
    }
}

static inline bool brute_same(brute_meaning a, brute_meaning b)
{
    return a.kind == b.kind && a.i == b.i && a.s == b.s;
}

static inline brute_meaning brute_number(brute_wide w)
{
    if (w < INT64_MIN || w > INT64_MAX)
        return (brute_meaning){BRUTE_WRONG, 0, APH_NIL};
    return (brute_meaning){BRUTE_INT, (int64_t)w, APH_NIL};
}

static inline brute_meaning brute_quotient(brute_wide a, brute_wide b)
{
    if (b == 0)
        return (brute_meaning){BRUTE_WRONG, 0, APH_NIL};
    brute_wide q = a / b;
    while (b > 0 ? q * b > a : q * b < a)
        q--;
    return brute_number(q);
}

static inline brute_meaning brute_apply(aph_op op, brute_meaning a, brute_meaning b)
{
    static const brute_meaning wrong = {BRUTE_WRONG, 0, APH_NIL};
    brute_meaning truth = {BRUTE_BOOL, 0, APH_NIL};
    brute_kind wanted = op <= APH_LE ? BRUTE_INT : BRUTE_BOOL;
    if (op == APH_NOT)
        b = a;
    if (op == APH_WRONG || a.kind == BRUTE_WRONG || b.kind == BRUTE_WRONG)
        return wrong;
    if (op != APH_EQ && (a.kind != wanted || b.kind != wanted))
        return wrong;
    switch (op) {
    case APH_ADD: return brute_number((brute_wide)a.i + b.i);
    case APH_SUB: return brute_number((brute_wide)a.i - b.i);
    case APH_MUL: return brute_number((brute_wide)a.i * b.i);
    case APH_DIV: return brute_quotient(a.i, b.i);
    case APH_LT: truth.i = a.i < b.i; break;
    case APH_LE: truth.i = a.i <= b.i; break;
    case APH_EQ: truth.i = brute_same(a, b); break;
    case APH_AND: truth.i = a.i && b.i; break;
    case APH_OR: truth.i = a.i || b.i; break;
    default: truth.i = !a.i; break;
    }
    return truth;
}

/* ---- symbols and their values ------------------------------------------------------------------------------------ */

enum { BRUTE_SYMBOLS = 3, BRUTE_VALUES_MOST = 8, BRUTE_NODES_MOST = 64 };

/* Symbol i is aph_symbol(sort[i], first + i) and has one of `count[i]` values. */
typedef struct brute_world {
    aph_kind sort[BRUTE_SYMBOLS];
    uint32_t first;
    int64_t low, high;            /* bounds of the integers */
} brute_world;

typedef struct brute_assignment {
    aph_value value[BRUTE_SYMBOLS];
} brute_assignment;

static inline aph_value brute_symbol(const brute_world *w, int i)
{
    return aph_symbol(w->sort[i], w->first + (uint32_t)i);
}

/* The number of values of a sort. For strings: all strings that a term can contain, and one more for each symbol. */
static inline size_t brute_count(const brute_world *w, aph_kind sort)
{
    return sort == APH_BOOL ? 2 : sort == APH_STR ? 2 + BRUTE_SYMBOLS : (size_t)(w->high - w->low) + 1;
}

static inline aph_value brute_value(const brute_world *w, aph_kind sort, size_t i)
{
    static const char *const strings[] = {"a", "b", "other", "another", "something longer"};
    assert(i < brute_count(w, sort));
    return sort == APH_BOOL ? aph_bool(i != 0) : sort == APH_STR ? aph_str(strings[i]) : aph_int(w->low + (int64_t)i);
}

static inline size_t brute_assignments(const brute_world *w)
{
    size_t n = 1;
    for (int i = 0; i < BRUTE_SYMBOLS; i++)
        n *= brute_count(w, w->sort[i]);
    return n;
}

static inline brute_assignment brute_assignment_at(const brute_world *w, size_t n)
{
    brute_assignment a;
    for (int i = 0; i < BRUTE_SYMBOLS; i++) {
        a.value[i] = brute_value(w, w->sort[i], n % brute_count(w, w->sort[i]));
        n /= brute_count(w, w->sort[i]);
    }
    return a;
}

/* ---- expressions ------------------------------------------------------------------------------------------------- */

typedef struct brute_node {
    enum { BRUTE_CONSTANT, BRUTE_UNKNOWN, BRUTE_OPERATION } what;
    aph_value constant;
    int symbol;
    aph_op op;
    int a, b;
} brute_node;

typedef struct brute_expression {
    brute_node node[BRUTE_NODES_MOST];
    int count, root;
} brute_expression;

static inline int brute_add(brute_expression *e, brute_node node)
{
    assert(e->count < BRUTE_NODES_MOST);
    e->node[e->count] = node;
    return e->count++;
}

static inline aph_value brute_random_constant(const brute_world *w, aphi_choice *c, aph_kind sort)
{
    if (sort != APH_INT) {
        bool first = aphi_choice_chance(c, 1, 2);
        return sort == APH_BOOL ? aph_bool(first) : aph_str(first ? "a" : "b");
    }
    switch (aphi_choice_below(c, 12)) {
    case 0: return aph_int(INT64_MAX - (int64_t)aphi_choice_below(c, 3));
    case 1: return aph_int(INT64_MIN + (int64_t)aphi_choice_below(c, 3));
    case 2:
    case 3:
    case 4: return aph_int(aphi_choice_within(c, w->low, w->high));
    default: return aph_int(aphi_choice_within(c, -4, 4));
    }
}

static inline int brute_random_leaf(brute_expression *e, const brute_world *w, aphi_choice *c, aph_kind sort)
{
    int at = (int)aphi_choice_below(c, BRUTE_SYMBOLS);
    for (int i = 0; i < BRUTE_SYMBOLS && aphi_choice_chance(c, 9, 10); i++)
        if (w->sort[(at + i) % BRUTE_SYMBOLS] == sort)
            return brute_add(e, (brute_node){.what = BRUTE_UNKNOWN, .symbol = (at + i) % BRUTE_SYMBOLS});
    return brute_add(e, (brute_node){.what = BRUTE_CONSTANT, .constant = brute_random_constant(w, c, sort)});
}

/* A random expression of the given sort; a few of its operands have the wrong sort. */
static inline int brute_random(brute_expression *e, const brute_world *w, aphi_choice *c, aph_kind sort, int depth)
{
    aph_kind inner = sort;
    aph_op op = APH_ADD;
    if (sort == APH_STR || depth == 0 || aphi_choice_chance(c, 1, 6))
        return brute_random_leaf(e, w, c, sort);
    if (sort == APH_INT) {
        op = (aph_op)aphi_choice_below(c, APH_DIV + 1);
    } else {
        op = (aph_op)(APH_LT + aphi_choice_below(c, APH_NOT - APH_LT + 1));
        if (op == APH_LT || op == APH_LE)
            inner = APH_INT;
        if (op == APH_EQ)
            inner = w->sort[aphi_choice_below(c, BRUTE_SYMBOLS)];
    }
    int a = brute_random(e, w, c, inner, depth - 1);
    if (aphi_choice_chance(c, 1, 100))
        inner = w->sort[aphi_choice_below(c, BRUTE_SYMBOLS)];
    int b = op == APH_NOT ? a : brute_random(e, w, c, inner, depth - 1);
    return brute_add(e, (brute_node){.what = BRUTE_OPERATION, .op = op, .a = a, .b = b});
}

static inline aph_value brute_term_at(const brute_expression *e, const brute_world *w, int i)
{
    const brute_node *n = &e->node[i];
    if (n->what == BRUTE_CONSTANT)
        return n->constant;
    if (n->what == BRUTE_UNKNOWN)
        return brute_symbol(w, n->symbol);
    return aph_term(n->op, brute_term_at(e, w, n->a), n->op == APH_NOT ? APH_NIL : brute_term_at(e, w, n->b));
}

static inline aph_value brute_term(const brute_expression *e, const brute_world *w)
{
    return brute_term_at(e, w, e->root);
}

static inline brute_meaning brute_meaning_at(const brute_expression *e, const brute_assignment *a, int i)
{
    const brute_node *n = &e->node[i];
    if (n->what == BRUTE_CONSTANT)
        return brute_of_value(n->constant);
    if (n->what == BRUTE_UNKNOWN)
        return brute_of_value(a->value[n->symbol]);
    return brute_apply(n->op, brute_meaning_at(e, a, n->a), brute_meaning_at(e, a, n->b));
}

static inline bool brute_holds(const brute_expression *e, const brute_assignment *a)
{
    brute_meaning m = brute_meaning_at(e, a, e->root);
    return m.kind == BRUTE_BOOL && m.i;
}

/* The value of a term when symbol `first + i` has the i-th of n values. */
static inline brute_meaning brute_meaning_of(aph_value v, uint32_t first, size_t n, const aph_value *values)
{
    if (aph_kind_of(v) == APH_SYMBOL) {
        assert(aph_symbol_number(v) >= first && aph_symbol_number(v) - first < n);
        return brute_of_value(values[aph_symbol_number(v) - first]);
    }
    if (aph_kind_of(v) != APH_TERM)
        return brute_of_value(v);
    if (aph_term_op(v) == APH_WRONG)
        return (brute_meaning){BRUTE_WRONG, 0, APH_NIL};
    brute_meaning a = brute_meaning_of(aph_term_arg(v, 0), first, n, values);
    brute_meaning b = aph_term_count(v) > 1 ? brute_meaning_of(aph_term_arg(v, 1), first, n, values) : a;
    return brute_apply(aph_term_op(v), a, b);
}

static inline bool brute_value_holds(aph_value v, uint32_t first, size_t n, const aph_value *values)
{
    brute_meaning m = brute_meaning_of(v, first, n, values);
    return m.kind == BRUTE_BOOL && m.i;
}

/* Random sorts; integers are near zero or near a 64-bit limit. */
static inline brute_world brute_random_world(aphi_choice *c, int span)
{
    static const int64_t lows[] = {-2, 0, 97, INT64_MIN, INT64_MAX};
    brute_world w = {.first = (uint32_t)aphi_choice_below(c, 200)};
    for (int i = 0; i < BRUTE_SYMBOLS; i++) {
        uint64_t at = aphi_choice_below(c, 8);
        w.sort[i] = at == 0 ? APH_BOOL : at == 1 ? APH_STR : APH_INT;
    }
    int64_t low = lows[aphi_choice_chance(c, 1, 2) ? 0 : aphi_choice_below(c, 5)];
    w.low = low == INT64_MAX ? low - span + 1 : low;
    w.high = w.low + (span - 1);
    return w;
}

#endif
