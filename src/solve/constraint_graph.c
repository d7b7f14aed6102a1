/* SPDX-License-Identifier: Apache-2.0
 *
 * constraint_graph.c - a set of literals as a graph of symbols, and an exact decision of their satisfiability.
 *
 * Idea:       a symbol that is constrained only by bounds, excluded values and disequalities, and has more values than
 *             disequalities, can be assigned last. Repeated elimination of such symbols usually leaves nothing: then
 *             the set is satisfiable. The remaining literals, the core, are decided in this order: ranges may refute
 *             them; a guess, repaired a few times, may satisfy them; if few assignments exist, ranges are split until
 *             they refute the core or are single values; then Z3 decides.
 * Invariants: every result but APHI_UNDECIDED is exact; a guess is accepted only if every literal evaluates to true.
 * Cost:       linear in the literals for each round of elimination; there are few rounds unless domains are tight. */
#include "solve/constraint_graph.h"

#include "base/random_choice.h"
#include "base/memory.h"
#include "solve/term.h"

#include <stdlib.h>

enum { SPLITS_MOST = 2048, SPLIT_BITS_MOST = 20, REPAIRS_MOST = 24, EVALUATED_MOST = 1024 };

aphi_form aphi_form_of(aph_value literal, aph_value *x, aph_value *y)
{
    if (aphi_is_term(literal, APH_LE)) {
        aph_value a = aphi_node_arg(literal, 0), b = aphi_node_arg(literal, 1);
        bool upper = aphi_is_symbol(a) && aph_is_int(b), lower = aphi_is_symbol(b) && aph_is_int(a);
        *x = upper ? a : b;
        *y = upper ? b : a;
        return upper ? APHI_UPPER : lower ? APHI_LOWER : APHI_OTHER;
    }
    if (!aphi_is_term(literal, APH_NOT) || !aphi_is_term(aphi_node_arg(literal, 0), APH_EQ))
        return APHI_OTHER;
    aph_value equality = aphi_node_arg(literal, 0);
    *x = aphi_node_arg(equality, 0);
    *y = aphi_node_arg(equality, 1);
    if (!aphi_is_symbol(*x) || *x == *y)
        return APHI_OTHER;
    return aphi_is_symbol(*y) ? APHI_APART : aphi_symbols(*y) ? APHI_OTHER : APHI_POINT;
}

/* ---- the graph --------------------------------------------------------------------------------------------------- */

static aphi_cell *cell_of(const aphi_constraint_graph *w, aph_value symbol)
{
    return &w->cell[aphi_symset_find(&w->symbols, symbol)];
}

static void add_literal(aphi_constraint_graph *w, aph_value literal)
{
    aph_value x, y;
    aphi_form form = aphi_form_of(literal, &x, &y);
    if (form == APHI_OTHER) {
        aphi_symset inside = {0};
        aphi_symset_collect(&inside, literal);
        for (size_t i = 0; i < inside.count; i++)
            cell_of(w, aphi_symset_at(&inside, i))->pinned = true;
        aphi_symset_deinit(&inside);
        return;
    }
    aphi_cell *cell = cell_of(w, x);
    if (form == APHI_LOWER && aph_int_of(y) > cell->range.low)
        cell->range.low = aph_int_of(y);
    else if (form == APHI_UPPER && aph_int_of(y) < cell->range.high)
        cell->range.high = aph_int_of(y);
    else if (form == APHI_POINT)
        cell->points++;
}

static aphi_range range_of_sort(aph_kind sort)
{
    return sort == APH_BOOL ? (aphi_range){0, 1} : APHI_RANGE_ALL;
}

void aphi_constraint_graph_init(aphi_constraint_graph *w, size_t n, const aph_value *literals)
{
    w->n = n;
    w->literals = literals;
    w->rounds = 0;
    w->symbols = (aphi_symset){0};
    for (size_t i = 0; i < n; i++)
        aphi_symset_collect(&w->symbols, literals[i]);
    size_t count = w->symbols.count;
    w->cell = count <= APHI_FEW_SYMBOLS ? w->few : aphi_alloc(count * sizeof *w->cell);
    for (size_t i = 0; i < count; i++)
        w->cell[i] = (aphi_cell){.range = range_of_sort(aph_symbol_sort(aphi_symset_at(&w->symbols, i)))};
    for (size_t i = 0; i < n; i++)
        add_literal(w, literals[i]);
}

void aphi_constraint_graph_deinit(aphi_constraint_graph *w)
{
    if (w->cell != w->few)
        free(w->cell);
    aphi_symset_deinit(&w->symbols);
}

static void count_degrees(aphi_constraint_graph *w)
{
    aph_value x, y;
    for (size_t i = 0; i < w->symbols.count; i++)
        w->cell[i].degree = 0;
    for (size_t i = 0; i < w->n; i++)
        if (aphi_form_of(w->literals[i], &x, &y) == APHI_APART && !cell_of(w, x)->eliminated &&
            !cell_of(w, y)->eliminated) {
            cell_of(w, x)->degree++;
            cell_of(w, y)->degree++;
        }
}

/* Returns true if points and neighbours cannot exclude all values. */
static bool has_room(const aphi_cell *cell, aph_kind sort)
{
    if (sort == APH_STR)
        return true;
    if (sort == APH_BOOL || aphi_range_empty(cell->range))
        return false;
    uint64_t others = (uint64_t)cell->range.high - (uint64_t)cell->range.low; /* number of values minus one */
    return others >= (uint64_t)cell->points + cell->degree;
}

void aphi_constraint_graph_eliminate(aphi_constraint_graph *w)
{
    for (bool more = true; more;) {
        more = false;
        count_degrees(w);
        w->rounds++;
        for (size_t i = 0; i < w->symbols.count; i++) {
            aphi_cell *cell = &w->cell[i];
            if (!cell->eliminated && !cell->pinned && has_room(cell, aph_symbol_sort(aphi_symset_at(&w->symbols, i)))) {
                cell->eliminated = w->rounds;
                more = true;
            }
        }
    }
}

bool aphi_constraint_graph_remains(const aphi_constraint_graph *w, aph_value literal)
{
    aph_value x, y;
    aphi_form form = aphi_form_of(literal, &x, &y);
    if (form == APHI_OTHER)
        return true;
    return !cell_of(w, x)->eliminated && !(form == APHI_APART && cell_of(w, y)->eliminated);
}

/* ---- the core ---------------------------------------------------------------------------------------------------- */

typedef struct core {
    const aphi_constraint_graph *graph;
    size_t n;
    const aph_value *literals;
    int64_t *value;            /* of each symbol of the graph, as for aphi_evaluate */
    aphi_range *range;         /* search range of each symbol */
    unsigned splits_left;
    aphi_choice choice;
} core;

static aphi_range range_in_core(const void *context, aph_value symbol)
{
    const core *c = context;
    return c->range[aphi_symset_find(&c->graph->symbols, symbol)];
}

static int64_t value_in_core(const void *context, aph_value symbol)
{
    const core *c = context;
    return c->value[aphi_symset_find(&c->graph->symbols, symbol)];
}

static bool holds(const core *c, aph_value literal)
{
    aphi_result r = aphi_evaluate(literal, value_in_core, c);
    return !r.wrong && r.i;
}

/* Returns the first violated literal, or APH_NIL if there is none. */
static aph_value first_violated(const core *c)
{
    for (size_t i = 0; i < c->n; i++)
        if (!holds(c, c->literals[i]))
            return c->literals[i];
    return APH_NIL;
}

static bool ranges_refute(const core *c)
{
    for (size_t i = 0; i < c->n; i++)
        if (!aphi_range_outcome(c->literals[i], range_in_core, c).can_hold)
            return true;
    return false;
}

/* Returns `most` minus the number of nodes of the expanded term; stops at zero. */
static int count_nodes(aph_value t, int most)
{
    most--;
    if (most > 0 && aphi_is_node(t) && t->shape == APHI_OPERATION)
        for (size_t i = 0; i < t->count && most > 0; i++)
            most = count_nodes(t->slot[i].v, most);
    return most;
}

static bool cheap_to_evaluate(const core *c)
{
    int left = EVALUATED_MOST;
    for (size_t i = 0; i < c->n && left > 0; i++)
        left = count_nodes(c->literals[i], left);
    return left > 0;
}

/* ---- the core: splitting ranges ---------------------------------------------------------------------------------- */

static unsigned bits_of(aphi_range r)
{
    uint64_t others = (uint64_t)r.high - (uint64_t)r.low;
    return others ? 64 - (unsigned)__builtin_clzll(others) : 0;
}

/* Returns true if there are few enough assignments to search. */
static bool can_be_searched(const core *c)
{
    unsigned bits = 0;
    for (size_t i = 0; i < c->graph->symbols.count && bits <= SPLIT_BITS_MOST; i++)
        if (!c->graph->cell[i].eliminated)
            bits += aph_symbol_sort(aphi_symset_at(&c->graph->symbols, i)) == APH_STR ? 64 : bits_of(c->range[i]);
    return bits <= SPLIT_BITS_MOST;
}

/* The symbol with the smallest range of several values; APHI_ABSENT if all ranges are points. */
static size_t next_to_split(const core *c)
{
    size_t best = APHI_ABSENT;
    for (size_t i = 0; i < c->graph->symbols.count; i++)
        if (!c->graph->cell[i].eliminated && c->range[i].low < c->range[i].high &&
            (best == APHI_ABSENT || bits_of(c->range[i]) < bits_of(c->range[best])))
            best = i;
    return best;
}

static bool all_points_hold(core *c)
{
    for (size_t i = 0; i < c->graph->symbols.count; i++)
        c->value[i] = c->range[i].low;
    return !first_violated(c);
}

/* Halves ranges until they refute the core or are single values. */
static aphi_sat search(core *c)
{
    if (c->splits_left-- == 0)
        return APHI_UNDECIDED;
    if (ranges_refute(c))
        return APHI_UNSAT;
    size_t i = next_to_split(c);
    if (i == APHI_ABSENT)
        return all_points_hold(c) ? APHI_SAT : APHI_UNSAT;
    aphi_range whole = c->range[i];
    int64_t middle = whole.low + (whole.high - whole.low) / 2;
    c->range[i] = (aphi_range){whole.low, middle};
    aphi_sat sat = search(c);
    if (sat == APHI_UNSAT) {
        c->range[i] = (aphi_range){middle + 1, whole.high};
        sat = search(c);
    }
    c->range[i] = whole;
    return sat;
}

/* ---- the core: guessing ------------------------------------------------------------------------------------------ */

static int64_t nearest(int64_t i, aphi_range r)
{
    return i < r.low ? r.low : i > r.high ? r.high : i;
}

/* Moves the symbol of t by the smallest amount that brings t into `to`, if t has a suitable form. */
static bool move_towards(core *c, aph_value t, aphi_range to)
{
    aph_value symbol;
    aphi_range from;
    if (!aphi_range_before(t, to, &symbol, &from) || aphi_range_empty(from))
        return false;
    size_t i = aphi_symset_find(&c->graph->symbols, symbol);
    int64_t was = c->value[i];
    c->value[i] = nearest(nearest(was, from), c->graph->cell[i].range);
    return c->value[i] != was;
}

static void change_randomly(core *c, aph_value literal)
{
    aphi_symset inside = {0};
    aphi_symset_collect(&inside, literal);
    aph_value symbol = aphi_symset_at(&inside, aphi_choice_below(&c->choice, inside.count));
    size_t i = aphi_symset_find(&c->graph->symbols, symbol);
    switch (aph_symbol_sort(symbol)) {
    case APH_BOOL: c->value[i] = !c->value[i]; break;
    case APH_INT: c->value[i] = nearest(aphi_choice_within(&c->choice, -8, 8), c->graph->cell[i].range); break;
    default: c->value[i] = aphi_scalar(aph_strf("?%u", (unsigned)aphi_choice_below(&c->choice, 64))); break;
    }
    aphi_symset_deinit(&inside);
}

static bool repair_order(core *c, aph_value a, aph_value b, bool strict)
{
    aphi_result x = aphi_evaluate(a, value_in_core, c), y = aphi_evaluate(b, value_in_core, c);
    bool left_first = aphi_choice_chance(&c->choice, 1, 2);
    if (x.wrong || y.wrong || (strict && (y.i == INT64_MIN || x.i == INT64_MAX)))
        return false;
    aphi_range below = {INT64_MIN, y.i - strict}, above = {x.i + strict, INT64_MAX};
    if (left_first)
        return move_towards(c, a, below) || move_towards(c, b, above);
    return move_towards(c, b, above) || move_towards(c, a, below);
}

static bool repair_equality(core *c, aph_value a, aph_value b, bool equal)
{
    aphi_result x = aphi_evaluate(a, value_in_core, c), y = aphi_evaluate(b, value_in_core, c);
    if (x.wrong || y.wrong)
        return false;
    if (aph_sort_of(a) != APH_INT) {
        if (equal && aphi_is_symbol(a))
            c->value[aphi_symset_find(&c->graph->symbols, a)] = y.i;
        return equal && aphi_is_symbol(a);
    }
    if (equal)
        return move_towards(c, a, (aphi_range){y.i, y.i}) || move_towards(c, b, (aphi_range){x.i, x.i});
    return (y.i < INT64_MAX && move_towards(c, a, (aphi_range){y.i + 1, INT64_MAX})) ||
           (y.i > INT64_MIN && move_towards(c, a, (aphi_range){INT64_MIN, y.i - 1})) ||
           (x.i < INT64_MAX && move_towards(c, b, (aphi_range){x.i + 1, INT64_MAX}));
}

static void repair(core *c, aph_value l)
{
    bool done = false;
    aph_op op = aph_kind_of(l) == APH_TERM ? aph_term_op(l) : APH_WRONG;
    aph_value a = op < APH_WRONG ? aphi_node_arg(l, 0) : APH_NIL, b = op < APH_NOT ? aphi_node_arg(l, 1) : APH_NIL;
    if (op == APH_AND || op == APH_OR) {
        aph_value part = aphi_choice_chance(&c->choice, 1, 2) ? a : b;
        if (aphi_symbols(part))
            repair(c, part);
        return;
    }
    if (op == APH_LT || op == APH_LE)
        done = repair_order(c, a, b, op == APH_LT);
    else if (op == APH_EQ)
        done = repair_equality(c, a, b, true);
    else if (op == APH_NOT && aphi_is_term(a, APH_EQ))
        done = repair_equality(c, aphi_node_arg(a, 0), aphi_node_arg(a, 1), false);
    if (!done)
        change_randomly(c, l);
}

static bool guess(core *c)
{
    for (size_t i = 0; i < c->graph->symbols.count; i++)
        switch (aph_symbol_sort(aphi_symset_at(&c->graph->symbols, i))) {
        case APH_INT: c->value[i] = nearest(0, c->graph->cell[i].range); break;
        case APH_BOOL: c->value[i] = 0; break;
        default: c->value[i] = aphi_scalar(aph_str("")); break;
        }
    for (int tries = 0; tries < REPAIRS_MOST; tries++) {
        aph_value broken = first_violated(c);
        if (!broken)
            return true;
        repair(c, broken);
    }
    return false;
}

/* ---- values ------------------------------------------------------------------------------------------------------ */

static aph_value word_of(aph_kind sort, int64_t i)
{
    return sort == APH_INT ? aph_int(i) : sort == APH_BOOL ? aph_bool(i != 0) : (aph_value)(uintptr_t)i;
}

static void assign_core(const core *c, aphi_bindings *values)
{
    for (size_t i = 0; i < c->graph->symbols.count; i++) {
        aph_value symbol = aphi_symset_at(&c->graph->symbols, i);
        if (!c->graph->cell[i].eliminated)
            aphi_bindings_set(values, symbol, word_of(aph_symbol_sort(symbol), c->value[i]));
    }
}

/* Returns true if a literal excludes the value, or requires a difference from a symbol that already has it. */
static bool is_excluded(const aphi_constraint_graph *w, const aphi_bindings *values, aph_value symbol, aph_value value)
{
    aph_value x, y;
    for (size_t i = 0; i < w->n; i++) {
        if (!(aphi_symbols(w->literals[i]) & aphi_symbols(symbol)))
            continue;
        aphi_form form = aphi_form_of(w->literals[i], &x, &y);
        if (form == APHI_POINT && x == symbol && y == value)
            return true;
        if (form == APHI_APART && ((x == symbol && aphi_bindings_get(values, y) == value) ||
                                   (y == symbol && aphi_bindings_get(values, x) == value)))
            return true;
    }
    return false;
}

static aph_value free_value(const aphi_constraint_graph *w, const aphi_bindings *values, aph_value symbol)
{
    if (aph_symbol_sort(symbol) == APH_STR) {
        aph_value text = aph_str("");
        for (unsigned i = 0; is_excluded(w, values, symbol, text); i++)
            text = aph_strf("%u", i);
        return text;
    }
    aphi_range r = cell_of(w, symbol)->range;
    int64_t start = nearest(0, r), i = start;
    while (is_excluded(w, values, symbol, aph_int(i)))
        i = i == r.high ? r.low : i + 1;
    return aph_int(i);
}

/* Assigns the eliminated symbols in reverse order, so that each has a value left. */
static void assign_eliminated(const aphi_constraint_graph *w, aphi_bindings *values)
{
    for (uint32_t round = w->rounds; round > 0; round--)
        for (size_t i = 0; i < w->symbols.count; i++)
            if (w->cell[i].eliminated == round) {
                aph_value symbol = aphi_symset_at(&w->symbols, i);
                aphi_bindings_set(values, symbol, free_value(w, values, symbol));
            }
}

/* ---- the decision ------------------------------------------------------------------------------------------------ */

static aphi_sat decide_core(core *c, int64_t solver_ms, aphi_bindings *values)
{
    aphi_sat sat = APHI_UNDECIDED;
    if (!c->n)
        return APHI_SAT;
    if (ranges_refute(c))
        return APHI_UNSAT;
    if (cheap_to_evaluate(c))
        sat = guess(c) ? APHI_SAT : can_be_searched(c) ? search(c) : APHI_UNDECIDED;
    if (sat == APHI_UNDECIDED)
        return aphi_z3_ask(c->n, c->literals, solver_ms, values);
    if (sat == APHI_SAT && values)
        assign_core(c, values);
    return sat;
}

static aphi_sat decide_graph(const aphi_constraint_graph *w, int64_t solver_ms, aphi_bindings *values)
{
    size_t n = w->n, symbols = w->symbols.count, left = 0;
    bool small = n <= 32 && symbols <= APHI_FEW_SYMBOLS;
    aph_value few_literals[32], *literals = small ? few_literals : aphi_alloc(n * sizeof *literals);
    int64_t few_values[APHI_FEW_SYMBOLS], *value = small ? few_values : aphi_alloc(symbols * sizeof *value);
    aphi_range few_ranges[APHI_FEW_SYMBOLS], *range = small ? few_ranges : aphi_alloc(symbols * sizeof *range);
    for (size_t i = 0; i < n; i++)
        if (aphi_constraint_graph_remains(w, w->literals[i]))
            literals[left++] = w->literals[i];
    for (size_t i = 0; i < symbols; i++)
        range[i] = w->cell[i].range;
    core c = {w, left, literals, value, range, SPLITS_MOST, aphi_choice_seed(1)};
    aphi_sat sat = decide_core(&c, solver_ms, values);
    if (!small) {
        free(literals);
        free(value);
        free(range);
    }
    return sat;
}

aphi_sat aphi_decide(size_t n, const aph_value *literals, int64_t solver_ms, aphi_bindings *values)
{
    aphi_constraint_graph w;
    aphi_constraint_graph_init(&w, n, literals);
    aphi_constraint_graph_eliminate(&w);
    aphi_sat sat = decide_graph(&w, solver_ms, values);
    if (sat == APHI_SAT && values)
        assign_eliminated(&w, values);
    aphi_constraint_graph_deinit(&w);
    return sat;
}
