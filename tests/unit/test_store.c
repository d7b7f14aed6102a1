/* SPDX-License-Identifier: Apache-2.0
 *
 * test_store.c - the constraint store compared with brute force over small domains, and corner cases. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "solve/store.h"
#include "tests/support/brute.h"

enum { MS = 10000, STEPS = 6, ASSIGNMENTS_MOST = 125 };

static aph_value x, y, z, p, q, s, t;

static int setup(void **state)
{
    (void)state;
    x = aph_symbol(APH_INT, 0);
    y = aph_symbol(APH_INT, 1);
    z = aph_symbol(APH_INT, 2);
    p = aph_symbol(APH_BOOL, 3);
    q = aph_symbol(APH_BOOL, 4);
    s = aph_symbol(APH_STR, 5);
    t = aph_symbol(APH_STR, 6);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    aphi_z3_close();
    aph_heap_close();
    return 0;
}

static aph_value number(int64_t i)
{
    return aph_int(i);
}

/* Adds the conditions in order, substituting bindings in the later ones. */
#define ASSUME(store, ...) \
    assume_all(store, sizeof((aph_value[]){__VA_ARGS__}) / sizeof(aph_value), (aph_value[]){__VA_ARGS__})

static aphi_sat assume_all(aph_value *store, size_t n, const aph_value *conditions)
{
    aphi_bindings b = {0};
    aphi_sat sat = APHI_SAT;
    for (size_t i = 0; i < n && sat == APHI_SAT; i++)
        sat = aphi_store_assume(*store, aphi_substitute(conditions[i], &b), MS, store, &b);
    aphi_bindings_deinit(&b);
    return sat;
}

static void expect(aphi_sat want, size_t n, const aph_value *conditions)
{
    aph_value store = APH_NIL;
    assert_int_equal(assume_all(&store, n, conditions), want);
    aphi_bindings values = {0};
    assert_int_equal(aphi_store_solve(n, conditions, MS, &values), want);
    for (size_t i = 0; want == APHI_SAT && i < n; i++)
        assert_ptr_equal(aphi_substitute(conditions[i], &values), aph_bool(true));
    aphi_bindings_deinit(&values);
}

#define EXPECT(want, ...) \
    expect(want, sizeof((aph_value[]){__VA_ARGS__}) / sizeof(aph_value), (aph_value[]){__VA_ARGS__})

/* ---- single cases ------------------------------------------------------------------------------------------------ */

static void equations_are_solved_away(void **state)
{
    (void)state;
    aphi_bindings b = {0};
    aph_value store = APH_NIL;
    assert_int_equal(aphi_store_assume(store, aph_eq(x, number(3)), MS, &store, &b), APHI_SAT);
    assert_null(store);
    assert_ptr_equal(aphi_bindings_get(&b, x), number(3));
    assert_int_equal(aphi_store_assume(store, aph_eq(y, z), MS, &store, &b), APHI_SAT);
    assert_ptr_equal(aphi_bindings_get(&b, z), y);
    assert_int_equal(aphi_store_assume(store, aph_eq(y, number(4)), MS, &store, &b), APHI_SAT);
    assert_ptr_equal(aphi_bindings_get(&b, z), number(4));
    assert_int_equal(aphi_store_assume(store, aph_and(p, aph_ne(p, q)), MS, &store, &b), APHI_SAT);
    assert_ptr_equal(aphi_bindings_get(&b, p), aph_bool(true));
    assert_ptr_equal(aphi_bindings_get(&b, q), aph_bool(false));
    assert_null(store);
    aphi_bindings_deinit(&b);
}

static void nothing_changes_on_unsat(void **state)
{
    (void)state;
    aphi_bindings b = {0};
    aph_value store = APH_NIL, before;
    assert_int_equal(aphi_store_assume(store, aph_le(x, number(3)), MS, &store, &b), APHI_SAT);
    before = store;
    aph_value impossible = aph_and(aph_eq(y, number(1)), aph_lt(number(3), x));
    assert_int_equal(aphi_store_assume(store, impossible, MS, &store, &b), APHI_UNSAT);
    assert_int_equal(aphi_store_assume(store, aph_term(APH_WRONG, x, x), MS, &store, &b), APHI_UNSAT);
    assert_int_equal(aphi_store_assume(store, aph_bool(false), MS, &store, &b), APHI_UNSAT);
    assert_ptr_equal(store, before);
    assert_int_equal(aphi_bindings_count(&b), 0);
    aphi_bindings_deinit(&b);
}

static void bounds_and_points(void **state)
{
    (void)state;
    EXPECT(APHI_SAT, aph_le(number(1), x), aph_le(x, number(3)), aph_ne(x, number(2)), aph_ne(x, number(1)));
    EXPECT(APHI_UNSAT, aph_le(number(1), x), aph_le(x, number(3)), aph_ne(x, number(2)), aph_ne(x, number(1)),
           aph_ne(x, number(3)));
    EXPECT(APHI_UNSAT, aph_ne(x, number(2)), aph_ne(x, number(1)), aph_ne(x, number(3)), aph_le(number(1), x),
           aph_le(x, number(3)));
    EXPECT(APHI_UNSAT, aph_lt(x, number(2)), aph_lt(number(2), x));
    EXPECT(APHI_SAT, aph_le(x, number(INT64_MIN)));
    EXPECT(APHI_UNSAT, aph_le(x, number(INT64_MIN)), aph_ne(x, number(INT64_MIN)));
    EXPECT(APHI_UNSAT, aph_ne(x, number(INT64_MAX)), aph_le(number(INT64_MAX), x));
    aph_value store = APH_NIL, other = APH_NIL;
    assert_int_equal(ASSUME(&store, aph_ne(x, number(2)), aph_le(number(2), x)), APHI_SAT);
    assert_int_equal(ASSUME(&other, aph_le(number(3), x)), APHI_SAT);
    assert_ptr_equal(store, other);
}

static void overflow_is_unsatisfiable(void **state)
{
    (void)state;
    aph_value more = aph_add(x, number(1));
    EXPECT(APHI_UNSAT, aph_eq(x, number(INT64_MAX)), aph_le(more, number(5)));
    EXPECT(APHI_UNSAT, aph_eq(x, number(INT64_MAX)), aph_not(aph_le(more, number(5))));
    EXPECT(APHI_UNSAT, aph_le(number(INT64_MAX), x), aph_eq(more, more));
    EXPECT(APHI_UNSAT, aph_eq(aph_add(x, number(INT64_MAX)), number(INT64_MIN)));
    EXPECT(APHI_SAT, aph_eq(aph_add(x, number(INT64_MAX)), number(-1)));
    EXPECT(APHI_UNSAT, aph_eq(aph_mul(x, number(2)), number(7)));
    EXPECT(APHI_SAT, aph_ne(aph_mul(x, number(2)), number(7)));
    EXPECT(APHI_UNSAT, aph_ne(aph_mul(x, number(2)), number(7)), aph_le(number(INT64_MAX / 2 + 1), x));
    EXPECT(APHI_UNSAT, aph_lt(aph_sub(y, x), number(0)), aph_eq(y, number(INT64_MIN)), aph_lt(number(0), x));
    EXPECT(APHI_SAT, aph_lt(number(INT64_MAX - 1), aph_add(x, y)));
    EXPECT(APHI_UNSAT, aph_eq(x, aph_add(y, number(1))), aph_le(number(INT64_MAX), y));
    EXPECT(APHI_UNSAT, aph_eq(x, aph_mul(y, number(3))), aph_eq(y, number(INT64_MAX / 2)));
}

static void division_rounds_down(void **state)
{
    (void)state;
    EXPECT(APHI_UNSAT, aph_eq(x, number(INT64_MIN)), aph_eq(aph_div(x, number(-1)), aph_div(x, number(-1))));
    EXPECT(APHI_UNSAT, aph_le(x, number(INT64_MIN + 1)), aph_eq(aph_div(x, y), z), aph_eq(y, number(-1)),
           aph_lt(z, number(0)));
    EXPECT(APHI_SAT, aph_eq(aph_div(x, number(2)), number(-4)), aph_ne(x, number(-8)));
    EXPECT(APHI_UNSAT, aph_eq(aph_div(x, number(2)), number(-4)), aph_ne(x, number(-8)), aph_ne(x, number(-7)));
    EXPECT(APHI_SAT, aph_eq(aph_div(number(-7), y), number(-4)));
    EXPECT(APHI_UNSAT, aph_eq(aph_div(number(-7), y), number(-5)));
    EXPECT(APHI_UNSAT, aph_eq(y, number(0)), aph_le(aph_div(x, y), number(3)));
    EXPECT(APHI_UNSAT, aph_eq(y, number(0)), aph_not(aph_le(aph_div(x, y), number(3))));
    EXPECT(APHI_UNSAT, aph_ne(aph_div(x, number(4)), number(2)), aph_le(number(8), x), aph_le(x, number(11)));
    EXPECT(APHI_SAT, aph_ne(aph_div(x, number(4)), number(2)), aph_le(number(8), x), aph_le(x, number(12)));
}

/* n distinct symbols with m values. */
static aphi_sat pigeons(uint32_t n, int64_t m)
{
    aph_value store = APH_NIL;
    for (uint32_t i = 0; i < n; i++) {
        aph_value here = aph_symbol(APH_INT, i);
        if (ASSUME(&store, aph_le(number(1), here), aph_le(here, number(m))) != APHI_SAT)
            return APHI_UNSAT;
    }
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t k = 0; k < i; k++) {
            aphi_sat sat = ASSUME(&store, aph_ne(aph_symbol(APH_INT, i), aph_symbol(APH_INT, k)));
            if (sat != APHI_SAT)
                return sat;
        }
    return APHI_SAT;
}

static void pigeons_need_holes(void **state)
{
    (void)state;
    for (uint32_t n = 2; n <= 6; n++) {
        assert_int_equal(pigeons(n, n), APHI_SAT);
        assert_int_equal(pigeons(n + 1, n), APHI_UNSAT);
    }
    assert_int_equal(pigeons(30, 30), APHI_SAT);
    aph_value two[12], symbols[3] = {x, y, z};
    for (size_t i = 0; i < 3; i++) {
        two[4 * i] = aph_le(number(1), symbols[i]);
        two[4 * i + 1] = aph_le(symbols[i], number(3));
        two[4 * i + 2] = aph_ne(symbols[i], number(2));
        two[4 * i + 3] = aph_ne(symbols[i], symbols[(i + 1) % 3]);
    }
    expect(APHI_UNSAT, 12, two);
    expect(APHI_SAT, 11, two);
}

static void strings_differ_without_end(void **state)
{
    (void)state;
    EXPECT(APHI_SAT, aph_ne(s, t), aph_ne(s, aph_str("")), aph_ne(t, aph_str("0")), aph_ne(s, aph_str("1")));
    EXPECT(APHI_UNSAT, aph_ne(s, t), aph_eq(s, aph_str("a")), aph_eq(t, aph_str("a")));
    EXPECT(APHI_UNSAT, aph_or(aph_eq(s, aph_str("a")), aph_eq(s, aph_str("b"))), aph_ne(s, aph_str("a")),
           aph_ne(s, aph_str("b")));
    EXPECT(APHI_SAT, aph_or(aph_eq(s, aph_str("a")), aph_eq(s, aph_str("b"))), aph_ne(s, aph_str("a")), aph_ne(s, t));
}

static void booleans(void **state)
{
    (void)state;
    EXPECT(APHI_UNSAT, p, aph_not(p));
    EXPECT(APHI_SAT, aph_or(p, q), aph_not(p));
    EXPECT(APHI_UNSAT, aph_or(p, q), aph_not(p), aph_not(q));
    EXPECT(APHI_SAT, aph_eq(p, aph_lt(x, y)), p, aph_le(number(0), x), aph_le(y, number(5)));
    EXPECT(APHI_UNSAT, aph_eq(p, aph_lt(x, y)), aph_not(p), aph_le(x, number(0)), aph_le(number(1), y));
}

static void orders_between_symbols(void **state)
{
    (void)state;
    EXPECT(APHI_UNSAT, aph_lt(x, y), aph_lt(y, z), aph_lt(z, x));
    EXPECT(APHI_SAT, aph_lt(x, y), aph_lt(y, z), aph_le(number(0), x), aph_le(z, number(2)));
    EXPECT(APHI_UNSAT, aph_lt(x, y), aph_lt(y, z), aph_le(number(0), x), aph_le(z, number(1)));
    EXPECT(APHI_UNSAT, aph_lt(x, y), aph_le(number(INT64_MAX), x));
}

static void queries_are_cached(void **state)
{
    (void)state;
    aph_value store = APH_NIL, out;
    aphi_bindings b = {0};
    aph_value again = aph_lt(z, x);
    aphi_z3_close(); /* clears the cache that other tests filled */
    assert_int_equal(aphi_store_assume(store, aph_and(aph_lt(x, y), aph_lt(y, z)), MS, &store, &b), APHI_SAT);
    uint64_t before = aphi_z3_questions();
    assert_int_equal(aphi_store_assume(store, again, MS, &out, &b), APHI_UNSAT);
    assert_int_equal(aphi_z3_questions(), before + 1);
    assert_int_equal(aphi_store_assume(store, again, MS, &out, &b), APHI_UNSAT);
    assert_int_equal(aphi_z3_questions(), before + 1);
    aphi_bindings_deinit(&b);
}

/* ---- normal forms ------------------------------------------------------------------------------------------------ */

static void dead_symbols_are_forgotten(void **state)
{
    (void)state;
    aph_value store = APH_NIL, root = APH_ARRAY_OF(y, number(1));
    assert_int_equal(ASSUME(&store, aph_le(x, number(3)), aph_ne(s, t), aph_le(number(0), y), aph_ne(x, y)), APHI_SAT);
    aphi_store_normalize(1, &root, &store);
    assert_ptr_equal(root, APH_ARRAY_OF(aph_symbol(APH_INT, 0), number(1)));
    assert_ptr_equal(store, APH_ARRAY_OF(aph_le(number(0), aph_symbol(APH_INT, 0))));
}

static void names_do_not_matter(void **state)
{
    (void)state;
    aph_value one = APH_NIL, other = APH_NIL, root = APH_ARRAY_OF(x, s, y), same = APH_ARRAY_OF(z, t, x);
    assert_int_equal(ASSUME(&one, aph_lt(x, y), aph_ne(s, aph_str("a"))), APHI_SAT);
    assert_int_equal(ASSUME(&other, aph_ne(t, aph_str("a")), aph_lt(z, x)), APHI_SAT);
    aphi_store_normalize(1, &root, &one);
    aphi_store_normalize(1, &same, &other);
    assert_ptr_equal(root, same);
    assert_ptr_equal(one, other);
}

/* Old versions must not accumulate. */
static void chains_of_dead_symbols_do_not_grow(void **state)
{
    (void)state;
    aph_value store = APH_NIL, last = x, after_ten = APH_NIL;
    aphi_bindings b = {0};
    assert_int_equal(ASSUME(&store, aph_le(number(0), x)), APHI_SAT);
    for (int i = 0; i < 50; i++) {
        aph_value next = aph_symbol(APH_INT, 40);
        assert_int_equal(aphi_store_assume(store, aph_le(last, next), MS, &store, &b), APHI_SAT);
        last = next;
        aphi_store_normalize(1, &last, &store);
        assert_true(aph_count(store) <= 1);
        after_ten = i == 10 ? store : after_ten;
    }
    assert_ptr_equal(store, after_ten);
    assert_int_equal(aphi_bindings_count(&b), 0);
}

static void projection_keeps_what_is_implied(void **state)
{
    (void)state;
    aph_value store = APH_NIL, root = APH_ARRAY_OF(x, z);
    assert_int_equal(ASSUME(&store, aph_lt(x, y), aph_lt(y, z)), APHI_SAT);
    aphi_store_normalize(1, &root, &store);
    aphi_bindings b = {0};
    aph_value first = aph_at(root, 0), second = aph_at(root, 1), out;
    assert_int_equal(aphi_store_assume(store, aph_eq(second, aph_add(first, number(1))), MS, &out, &b), APHI_UNSAT);
    assert_int_equal(aphi_store_assume(store, aph_eq(second, aph_add(first, number(2))), MS, &out, &b), APHI_SAT);
    aphi_bindings_deinit(&b);
}

static void thousands_of_conditions_are_solved(void **state)
{
    (void)state;
    enum { N = 3000 };
    aph_value *conditions = malloc(3 * N * sizeof *conditions);
    size_t n = 0;
    for (uint32_t i = 0; i < N; i++) {
        aph_value here = aph_symbol(APH_INT, i), next = aph_symbol(APH_INT, i + 1);
        conditions[n++] = aph_ne(here, number(i));
        conditions[n++] = aph_le(number(-5), here);
        if (i % 10)
            conditions[n++] = i % 2 ? aph_lt(here, next) : aph_eq(next, aph_add(here, number(1)));
    }
    aphi_bindings values = {0};
    assert_int_equal(aphi_store_solve(n, conditions, MS, &values), APHI_SAT);
    for (size_t i = 0; i < n; i++)
        assert_ptr_equal(aphi_substitute(conditions[i], &values), aph_bool(true));
    aphi_bindings_deinit(&values);
    free(conditions);
}

static void symbols_of_no_condition_get_a_value(void **state)
{
    (void)state;
    aphi_bindings values = {0};
    aphi_bindings_set(&values, x, number(7));
    aphi_bindings_complete(&values, APH_ARRAY_OF(x, y, p, s));
    assert_ptr_equal(aphi_substitute(APH_ARRAY_OF(x, y, p, s), &values),
                     APH_ARRAY_OF(number(7), number(0), aph_bool(false), aph_str("")));
    aphi_bindings_deinit(&values);
}

/* ---- against brute force ----------------------------------------------------------------------------------------- */

/* Roots are tuples of symbols; the tests compare the possible values of the tuples. */
typedef struct tuples {
    size_t n;
    aph_value at[ASSIGNMENTS_MOST];
} tuples;

static int by_word(const void *a, const void *b)
{
    uintptr_t v = (uintptr_t)*(const aph_value *)a, w = (uintptr_t)*(const aph_value *)b;
    return (v > w) - (v < w);
}

static void add_tuple(tuples *set, aph_value tuple)
{
    for (size_t i = 0; i < set->n; i++)
        if (set->at[i] == tuple)
            return;
    assert_true(set->n < ASSIGNMENTS_MOST);
    set->at[set->n++] = tuple;
}

static void assert_same_tuples(tuples *a, tuples *b)
{
    qsort(a->at, a->n, sizeof *a->at, by_word);
    qsort(b->at, b->n, sizeof *b->at, by_word);
    assert_int_equal(a->n, b->n);
    assert_memory_equal(a->at, b->at, a->n * sizeof *a->at);
}

/* Strings that do not occur in terms are interchangeable. Each tuple represents all tuples that result from renaming
 * such strings. */
static aph_value anonymous(aph_value tuple)
{
    aph_value items[BRUTE_SYMBOLS], met[BRUTE_SYMBOLS];
    size_t n = aph_count(tuple), others = 0;
    for (size_t i = 0; i < n; i++) {
        items[i] = aph_at(tuple, i);
        if (!aph_is_str(items[i]) || aph_str_is(items[i], "a") || aph_str_is(items[i], "b"))
            continue;
        size_t k = 0;
        while (k < others && met[k] != items[i])
            k++;
        if (k == others)
            met[others++] = items[i];
        items[i] = aph_strf("other %zu", k);
    }
    return aph_array(n, items);
}

typedef struct trial {
    brute_world world;
    size_t roots;                      /* number of symbols in the root tuple */
    bool possible[ASSIGNMENTS_MOST];   /* by brute force */
    aph_value store, root;
    aph_value assumed[3 * BRUTE_SYMBOLS + STEPS];
    size_t assumptions;
    brute_expression expression[STEPS];
} trial;

static bool any_possible(const trial *r)
{
    for (size_t i = 0; i < brute_assignments(&r->world); i++)
        if (r->possible[i])
            return true;
    return false;
}

static aphi_sat assume(trial *r, aph_value condition)
{
    aphi_bindings b = {0};
    aphi_sat sat = aphi_store_assume(r->store, condition, MS, &r->store, &b);
    if (sat == APHI_SAT)
        r->root = aphi_substitute(r->root, &b);
    aphi_bindings_deinit(&b);
    return sat;
}

/* A root with all three symbols, through which bindings are substituted in conditions. */
static void begin(trial *r, aphi_choice *c)
{
    aph_value symbols[BRUTE_SYMBOLS];
    *r = (trial){.world = brute_random_world(c, 5), .store = APH_NIL};
    for (int i = 0; i < BRUTE_SYMBOLS; i++)
        symbols[i] = brute_symbol(&r->world, i);
    r->roots = 1 + aphi_choice_below(c, BRUTE_SYMBOLS);
    r->root = aph_array(BRUTE_SYMBOLS, symbols);
    for (size_t i = 0; i < brute_assignments(&r->world); i++)
        r->possible[i] = true;
    for (int i = 0; i < BRUTE_SYMBOLS; i++)
        if (r->world.sort[i] == APH_INT) {
            r->assumed[r->assumptions++] = aph_le(aph_int(r->world.low), symbols[i]);
            r->assumed[r->assumptions++] = aph_le(symbols[i], aph_int(r->world.high));
        }
    for (size_t i = 0; i < r->assumptions; i++)
        assert_int_equal(assume(r, r->assumed[i]), APHI_SAT);
}

/* The condition after substitution of the bindings so far. */
static aph_value up_to_date(const trial *r, aph_value condition)
{
    aphi_bindings b = {0};
    for (int i = 0; i < BRUTE_SYMBOLS; i++)
        aphi_bindings_set(&b, brute_symbol(&r->world, i), aph_at(r->root, (size_t)i));
    condition = aphi_substitute(condition, &b);
    aphi_bindings_deinit(&b);
    return condition;
}

static void step(trial *r, aphi_choice *c, brute_expression *e)
{
    bool possible[ASSIGNMENTS_MOST], any = false;
    *e = (brute_expression){.count = 0};
    e->root = brute_random(e, &r->world, c, APH_BOOL, 1 + (int)aphi_choice_below(c, 3));
    aph_value condition = brute_term(e, &r->world);
    for (size_t i = 0; i < brute_assignments(&r->world); i++) {
        brute_assignment a = brute_assignment_at(&r->world, i);
        possible[i] = r->possible[i] && brute_holds(e, &a);
        any |= possible[i];
    }
    aphi_sat sat = assume(r, up_to_date(r, condition));
    assert_int_equal(sat, any ? APHI_SAT : APHI_UNSAT);
    aphi_bindings values = {0};
    r->assumed[r->assumptions] = condition;
    assert_int_equal(aphi_store_solve(r->assumptions + 1, r->assumed, MS, &values), sat);
    for (size_t i = 0; any && i <= r->assumptions; i++)
        assert_ptr_equal(aphi_substitute(r->assumed[i], &values), aph_bool(true));
    aphi_bindings_deinit(&values);
    if (any) {
        memcpy(r->possible, possible, sizeof possible);
        r->assumptions++;
    }
}

/* The tuples of the root by brute force. */
static void possible_tuples(const trial *r, tuples *out)
{
    out->n = 0;
    for (size_t i = 0; i < brute_assignments(&r->world); i++)
        if (r->possible[i]) {
            brute_assignment a = brute_assignment_at(&r->world, i);
            add_tuple(out, anonymous(aph_array(r->roots, a.value)));
        }
}

static bool store_holds(aph_value store, const brute_world *w, const brute_assignment *a)
{
    for (size_t i = 0; i < aph_count(store); i++)
        if (!brute_value_holds(aph_at(store, i), w->first, BRUTE_SYMBOLS, a->value))
            return false;
    return true;
}

/* The tuples that the store allows for a root over symbols of world w. */
static void allowed_tuples(aph_value root, aph_value store, const brute_world *w, tuples *out)
{
    out->n = 0;
    for (size_t i = 0; i < brute_assignments(w); i++) {
        brute_assignment a = brute_assignment_at(w, i);
        aph_value items[BRUTE_SYMBOLS];
        bool fits = store_holds(store, w, &a);
        for (size_t k = 0; fits && k < aph_count(root); k++) {
            brute_meaning m = brute_meaning_of(aph_at(root, k), w->first, BRUTE_SYMBOLS, a.value);
            assert_true(m.kind != BRUTE_WRONG);
            items[k] = m.kind == BRUTE_INT ? aph_int(m.i) : m.kind == BRUTE_BOOL ? aph_bool(m.i) : m.s;
        }
        if (fits)
            add_tuple(out, anonymous(aph_array(aph_count(root), items)));
    }
}

/* The world of the symbols of a normal form, numbered from 0. */
static void read_sorts(aph_value v, brute_world *w)
{
    aphi_symset inside = {0};
    aphi_symset_collect(&inside, v);
    for (size_t i = 0; i < inside.count; i++) {
        aph_value symbol = aphi_symset_at(&inside, i);
        assert_true(aph_symbol_number(symbol) < BRUTE_SYMBOLS);
        w->sort[aph_symbol_number(symbol)] = aph_symbol_sort(symbol);
    }
    aphi_symset_deinit(&inside);
}

static void check_projections(trial *r)
{
    tuples want, got;
    aph_value root = aph_slice(r->root, 0, r->roots), store = r->store;
    possible_tuples(r, &want);
    allowed_tuples(root, store, &r->world, &got);
    assert_same_tuples(&want, &got);
    aphi_store_normalize(1, &root, &store);
    brute_world renamed = r->world;
    renamed.first = 0;
    for (int i = 0; i < BRUTE_SYMBOLS; i++)
        renamed.sort[i] = APH_BOOL;
    read_sorts(root, &renamed);
    read_sorts(store, &renamed);
    allowed_tuples(root, store, &renamed, &got);
    assert_same_tuples(&want, &got);
    aph_value root_again = root, store_again = store;
    aphi_store_normalize(1, &root_again, &store_again);
    assert_ptr_equal(root_again, root);
    assert_ptr_equal(store_again, store);
}

static void store_agrees_with_brute_force(void **state)
{
    (void)state;
    aphi_choice c = aphi_choice_seed(21);
    trial r;
    for (int n = 0; n < 20000; n++) {
        begin(&r, &c);
        for (int i = 0; i < STEPS && any_possible(&r); i++)
            step(&r, &c, &r.expression[i]);
        check_projections(&r);
        if (n % 500 == 0)
            aph_collect();
    }
    setup(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equations_are_solved_away),
        cmocka_unit_test(nothing_changes_on_unsat),
        cmocka_unit_test(bounds_and_points),
        cmocka_unit_test(overflow_is_unsatisfiable),
        cmocka_unit_test(division_rounds_down),
        cmocka_unit_test(pigeons_need_holes),
        cmocka_unit_test(strings_differ_without_end),
        cmocka_unit_test(booleans),
        cmocka_unit_test(orders_between_symbols),
        cmocka_unit_test(queries_are_cached),
        cmocka_unit_test(dead_symbols_are_forgotten),
        cmocka_unit_test(names_do_not_matter),
        cmocka_unit_test(chains_of_dead_symbols_do_not_grow),
        cmocka_unit_test(projection_keeps_what_is_implied),
        cmocka_unit_test(thousands_of_conditions_are_solved),
        cmocka_unit_test(symbols_of_no_condition_get_a_value),
        cmocka_unit_test(store_agrees_with_brute_force),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
