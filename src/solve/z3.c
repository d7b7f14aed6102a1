/* SPDX-License-Identifier: Apache-2.0
 *
 * z3.c - the bridge to Z3.
 *
 * Idea:       integers are mathematical integers; every symbol and every result of an operation in a condition is
 *             asserted to fit 64 bits, and every divisor not to be zero. This implements strictness: a condition holds
 *             only if no part of it is wrong. Strings support only equality, so they are encoded as integers: known
 *             strings are numbered from 0, and an unknown string may be one of these or another integer. Z3's division
 *             has a remainder that is not negative; ours rounds down, so for a negative divisor both operands are
 *             negated.
 * Invariants: 1. each Z3 node is referenced by session.alive or session.required to the end of the query
 *             2. the cache of results contains values, so it is cleared before each collection
 * Cost:       a linear query takes about two hundred microseconds, a nonlinear one up to its time limit.
 * Not done:   bit vectors: 64-bit multiplication and division by circuits is slower than arithmetic for most queries;
 *             Z3's strings: only equality is needed. */
#include "solve/z3.h"

#include "base/intern.h"
#include "base/memory.h"
#include "solve/term.h"

#include <assert.h>
#include <signal.h>
#include <stdlib.h>
#include <z3.h>

enum { CACHE_MAX = 1 << 16 };

typedef struct answer {
    aphi_sat sat;
    int64_t solver_ms; /* 0: not queried yet */
} answer;

typedef struct bridge {
    Z3_context context;
    Z3_solver kept;         /* reused for linear queries */
    Z3_sort integers, booleans;
    volatile sig_atomic_t running;
    bool failed;            /* Z3 reported an error in this query */
    uint64_t questions;
    aphi_intern asked;      /* canonical queries */
    answer *answers; /* results of these queries */
    size_t answer_capacity;
} bridge;

static _Thread_local bridge the_bridge;

/* ---- the cache of results ---------------------------------------------------------------------------------------- */

static void clear_cache(void *context)
{
    bridge *z = context;
    aphi_intern_free(&z->asked);
}

static answer *cache_entry(bridge *z, aph_value query)
{
    if (z->asked.count >= CACHE_MAX)
        clear_cache(z);
    size_t known = z->asked.count;
    uint32_t number = aphi_intern_number(&z->asked, &query, sizeof query);
    APHI_RESERVE(z->answers, z->answer_capacity, z->asked.count);
    if (number == known)
        z->answers[number] = (answer){.sat = APHI_UNDECIDED};
    return &z->answers[number];
}

/* ---- opening and closing ----------------------------------------------------------------------------------------- */

static void note_error(Z3_context context, Z3_error_code code)
{
    (void)context;
    (void)code;
    the_bridge.failed = true;
}

static void open_bridge(bridge *z)
{
    if (z->context)
        return;
    Z3_config config = Z3_mk_config();
    z->context = Z3_mk_context_rc(config);
    Z3_del_config(config);
    Z3_set_error_handler(z->context, note_error);
    z->integers = Z3_mk_int_sort(z->context);
    Z3_inc_ref(z->context, Z3_sort_to_ast(z->context, z->integers));
    z->booleans = Z3_mk_bool_sort(z->context);
    Z3_inc_ref(z->context, Z3_sort_to_ast(z->context, z->booleans));
    z->kept = Z3_mk_simple_solver(z->context);
    Z3_solver_inc_ref(z->context, z->kept);
    aph_root_add(clear_cache, z);
}

void aphi_z3_close(void)
{
    bridge *z = &the_bridge;
    if (z->context) {
        aph_root_remove(clear_cache, z);
        Z3_solver_dec_ref(z->context, z->kept);
        Z3_dec_ref(z->context, Z3_sort_to_ast(z->context, z->integers));
        Z3_dec_ref(z->context, Z3_sort_to_ast(z->context, z->booleans));
        Z3_del_context(z->context);
    }
    clear_cache(z);
    free(z->answers);
    *z = (bridge){.questions = z->questions};
}

bool aphi_z3_is_running(void)
{
    return the_bridge.running;
}

uint64_t aphi_z3_questions(void)
{
    return the_bridge.questions;
}

/* ---- building a query -------------------------------------------------------------------------------------------- */

typedef struct session {
    bridge *z;
    Z3_context c;
    Z3_ast_vector alive, required;
    bool nonlinear;         /* a symbolic factor of a product, or divisor */
    aphi_intern written;    /* the symbols and terms that are already translated */
    Z3_ast *asts; /* their translations */
    size_t ast_capacity;
    aphi_symset *symbols;   /* symbol i is called i */
    aph_value *strings;     /* known string i is the integer i */
    size_t string_count, string_capacity;
} session;

static Z3_ast held(session *s, Z3_ast ast)
{
    if (ast)
        Z3_ast_vector_push(s->c, s->alive, ast);
    return ast;
}

static Z3_ast integer(session *s, int64_t i)
{
    return held(s, Z3_mk_int64(s->c, i, s->z->integers));
}

static void require(session *s, Z3_ast condition)
{
    if (condition)
        Z3_ast_vector_push(s->c, s->required, condition);
}

static Z3_ast in_64_bits(session *s, Z3_ast ast)
{
    require(s, Z3_mk_le(s->c, integer(s, INT64_MIN), ast));
    require(s, Z3_mk_le(s->c, ast, integer(s, INT64_MAX)));
    return ast;
}

static Z3_ast string(session *s, aph_value v)
{
    size_t i = 0;
    while (i < s->string_count && s->strings[i] != v)
        i++;
    if (i == s->string_count)
        APHI_PUSH(s->strings, s->string_count, s->string_capacity, v);
    return integer(s, (int64_t)i);
}

static Z3_ast unknown(session *s, aph_value symbol)
{
    aph_kind sort = aph_symbol_sort(symbol);
    Z3_symbol name = Z3_mk_int_symbol(s->c, (int)aphi_symset_add(s->symbols, symbol));
    Z3_ast ast = held(s, Z3_mk_const(s->c, name, sort == APH_BOOL ? s->z->booleans : s->z->integers));
    return sort == APH_INT ? in_64_bits(s, ast) : ast;
}

static Z3_ast quotient(session *s, Z3_ast a, Z3_ast b)
{
    Z3_ast zero = integer(s, 0);
    require(s, Z3_mk_not(s->c, held(s, Z3_mk_eq(s->c, b, zero))));
    Z3_ast down = held(s, Z3_mk_div(s->c, a, b));
    Z3_ast minus_a = held(s, Z3_mk_unary_minus(s->c, a)), minus_b = held(s, Z3_mk_unary_minus(s->c, b));
    Z3_ast up = held(s, Z3_mk_div(s->c, minus_a, minus_b));
    return held(s, Z3_mk_ite(s->c, held(s, Z3_mk_lt(s->c, zero, b)), down, up));
}

/* The second operand is the constant of a product or the divisor. */
static bool is_nonlinear(aph_value t)
{
    return (aphi_is_term(t, APH_MUL) || aphi_is_term(t, APH_DIV)) && aphi_symbols(aph_term_arg(t, 1));
}

static Z3_ast write_value(session *s, aph_value v);

static Z3_ast write_term(session *s, aph_value t)
{
    size_t n = aph_term_count(t);
    Z3_ast a[2] = {NULL, NULL};
    for (size_t i = 0; i < n; i++)
        a[i] = write_value(s, aph_term_arg(t, i));
    s->nonlinear |= is_nonlinear(t);
    switch (aph_term_op(t)) {
    case APH_ADD: return in_64_bits(s, held(s, Z3_mk_add(s->c, 2, a)));
    case APH_SUB: return in_64_bits(s, held(s, Z3_mk_sub(s->c, 2, a)));
    case APH_MUL: return in_64_bits(s, held(s, Z3_mk_mul(s->c, 2, a)));
    case APH_DIV: return in_64_bits(s, quotient(s, a[0], a[1]));
    case APH_LT: return held(s, Z3_mk_lt(s->c, a[0], a[1]));
    case APH_LE: return held(s, Z3_mk_le(s->c, a[0], a[1]));
    case APH_EQ: return held(s, Z3_mk_eq(s->c, a[0], a[1]));
    case APH_AND: return held(s, Z3_mk_and(s->c, 2, a));
    case APH_OR: return held(s, Z3_mk_or(s->c, 2, a));
    case APH_NOT: return held(s, Z3_mk_not(s->c, a[0]));
    case APH_WRONG: break;
    }
    Z3_ast no = held(s, Z3_mk_false(s->c));
    require(s, no);
    return no;
}

static Z3_ast write_value(session *s, aph_value v)
{
    switch (aph_kind_of(v)) {
    case APH_BOOL: return held(s, aph_truth(v) ? Z3_mk_true(s->c) : Z3_mk_false(s->c));
    case APH_INT: return integer(s, aph_int_of(v));
    case APH_STR: return string(s, v);
    default: break;
    }
    assert(aph_kind_of(v) == APH_SYMBOL || aph_kind_of(v) == APH_TERM);
    size_t known = s->written.count;
    uint32_t number = aphi_intern_number(&s->written, &v, sizeof v);
    if (number < known)
        return s->asts[number];
    Z3_ast ast = aph_kind_of(v) == APH_SYMBOL ? unknown(s, v) : write_term(s, v);
    APHI_RESERVE(s->asts, s->ast_capacity, s->written.count);
    return s->asts[number] = ast;
}

/* ---- reading a model --------------------------------------------------------------------------------------------- */

/* Returns the string for the integer i: a known string, or a new one. */
static aph_value string_of(session *s, int64_t i)
{
    if (i >= 0 && (size_t)i < s->string_count)
        return s->strings[i];
    for (unsigned attempt = 0;; attempt++) {
        aph_value fresh = attempt ? aph_strf("%ju-%u", (uintmax_t)(uint64_t)i, attempt)
                                  : aph_strf("%ju", (uintmax_t)(uint64_t)i);
        bool known = false;
        for (size_t k = 0; k < s->string_count; k++)
            known |= s->strings[k] == fresh;
        if (!known)
            return fresh;
    }
}

static aph_value value_in(session *s, Z3_model model, aph_value symbol)
{
    Z3_ast ast = NULL;
    int64_t i = 0;
    Z3_ast asked = s->asts[aphi_intern_number(&s->written, &symbol, sizeof symbol)];
    if (!Z3_model_eval(s->c, model, asked, true, &ast) || !held(s, ast))
        s->z->failed = true;
    else if (aph_symbol_sort(symbol) == APH_BOOL)
        return aph_bool(Z3_get_bool_value(s->c, ast) == Z3_L_TRUE);
    else if (!Z3_get_numeral_int64(s->c, ast, &i))
        s->z->failed = true;
    return aph_symbol_sort(symbol) == APH_STR ? string_of(s, i) : aph_int(i);
}

static void read_values(session *s, Z3_solver solver, aphi_bindings *values)
{
    Z3_model model = Z3_solver_get_model(s->c, solver);
    if (!model) {
        s->z->failed = true;
        return;
    }
    Z3_model_inc_ref(s->c, model);
    for (size_t i = 0; i < s->symbols->count; i++) {
        aph_value symbol = aphi_symset_at(s->symbols, i);
        aphi_bindings_set(values, symbol, value_in(s, model, symbol));
    }
    Z3_model_dec_ref(s->c, model);
}

/* ---- queries ----------------------------------------------------------------------------------------------------- */

/* A reused solver starts faster; a new one without push preprocesses the query, which makes hard ones easier. Both are
 * simple solvers: solvers built from tactics may exceed their time limit. */
static Z3_solver open_solver(session *s, int64_t solver_ms)
{
    Z3_solver solver = s->nonlinear ? Z3_mk_simple_solver(s->c) : s->z->kept;
    Z3_solver_inc_ref(s->c, solver);
    Z3_params params = Z3_mk_params(s->c);
    Z3_params_inc_ref(s->c, params);
    Z3_symbol name = Z3_mk_string_symbol(s->c, "timeout");
    Z3_params_set_uint(s->c, params, name, solver_ms < INT32_MAX ? (unsigned)solver_ms : (unsigned)INT32_MAX);
    Z3_solver_set_params(s->c, solver, params);
    Z3_params_dec_ref(s->c, params);
    if (solver == s->z->kept)
        Z3_solver_push(s->c, solver);
    return solver;
}

static void close_solver(session *s, Z3_solver solver)
{
    if (solver == s->z->kept)
        Z3_solver_pop(s->c, solver, 1);
    Z3_solver_dec_ref(s->c, solver);
}

static Z3_lbool check(session *s, int64_t solver_ms, aphi_bindings *values)
{
    Z3_solver solver = open_solver(s, solver_ms);
    for (unsigned i = 0; i < Z3_ast_vector_size(s->c, s->required); i++)
        Z3_solver_assert(s->c, solver, Z3_ast_vector_get(s->c, s->required, i));
    Z3_lbool sat = s->z->failed ? Z3_L_UNDEF : Z3_solver_check(s->c, solver);
    if (sat == Z3_L_TRUE && values)
        read_values(s, solver, values);
    close_solver(s, solver);
    return sat;
}

static aphi_sat question(size_t n, const aph_value *conditions, int64_t solver_ms, aphi_bindings *values)
{
    bridge *z = &the_bridge;
    aphi_symset symbols = {0};
    session s = {.z = z, .c = z->context, .symbols = &symbols};
    z->failed = false;
    z->running = 1;
    z->questions++;
    s.alive = Z3_mk_ast_vector(s.c);
    Z3_ast_vector_inc_ref(s.c, s.alive);
    s.required = Z3_mk_ast_vector(s.c);
    Z3_ast_vector_inc_ref(s.c, s.required);
    for (size_t i = 0; i < n; i++)
        require(&s, write_value(&s, conditions[i]));
    Z3_lbool sat = check(&s, solver_ms, values);
    Z3_ast_vector_dec_ref(s.c, s.required);
    Z3_ast_vector_dec_ref(s.c, s.alive);
    aphi_intern_free(&s.written);
    free(s.asts);
    free(s.strings);
    aphi_symset_deinit(&symbols);
    z->running = 0;
    return z->failed || sat == Z3_L_UNDEF ? APHI_UNDECIDED : sat == Z3_L_TRUE ? APHI_SAT : APHI_UNSAT;
}

/* Returns the conditions as one value, with symbols numbered in the order of occurrence. */
static aph_value canonical(size_t n, const aph_value *conditions)
{
    aph_value all = aph_array(n, conditions);
    aphi_symset symbols = {0};
    aphi_bindings names = {0};
    aphi_symset_collect(&symbols, all);
    for (size_t i = 0; i < symbols.count; i++) {
        aph_value symbol = aphi_symset_at(&symbols, i);
        aphi_bindings_set(&names, symbol, aph_symbol(aph_symbol_sort(symbol), (uint32_t)i));
    }
    all = aphi_substitute(all, &names);
    aphi_symset_deinit(&symbols);
    aphi_bindings_deinit(&names);
    return all;
}

aphi_sat aphi_z3_ask(size_t n, const aph_value *conditions, int64_t solver_ms, aphi_bindings *values)
{
    bridge *z = &the_bridge;
    if (solver_ms <= 0)
        solver_ms = APHI_Z3_DEFAULT_MS;
    z->running = 1;
    open_bridge(z);
    z->running = 0;
    if (values)
        return question(n, conditions, solver_ms, values);
    aph_value name = canonical(n, conditions);
    answer known = *cache_entry(z, name);
    if (known.sat != APHI_UNDECIDED || known.solver_ms >= solver_ms)
        return known.sat;
    aphi_sat sat = question(n, conditions, solver_ms, NULL);
    *cache_entry(z, name) = (answer){sat, solver_ms};
    return sat;
}
