/* SPDX-License-Identifier: Apache-2.0
 *
 * store.c - adding conditions to a store, and finding values that satisfy conditions.
 *
 * Idea:       literals.c brings the condition into the form of a store. The store was satisfiable, so only literals
 *             connected to a symbol of the condition must be decided again; if none of them relates symbols to each
 *             other, absorbing the condition has already decided. Solving starts from scratch, one connected component
 *             at a time.
 * Invariants: every returned store is satisfiable.
 * Cost:       linear in the literals of the store, without allocation for up to 48 of them; solving is quadratic in the
 *             largest connected component.
 * Read next:  literals.c, constraint_graph.c, store_normalize.c */
#include "solve/store.h"

#include "base/memory.h"
#include "solve/literals.h"

#include <stdlib.h>
#include <string.h>

/* Moves the literals connected to the mask to the front, and returns their number. Bloom masks may include unconnected
 * literals, which does no harm. */
static size_t connected_first(size_t n, aph_value *literals, uint64_t mask)
{
    size_t connected = 0;
    for (size_t before = 1; connected != before;) {
        before = connected;
        for (size_t i = connected; i < n; i++)
            if (aphi_symbols(literals[i]) & mask) {
                aph_value literal = literals[i];
                mask |= aphi_symbols(literal);
                literals[i] = literals[connected];
                literals[connected++] = literal;
            }
    }
    return connected;
}

static bool any_relates(size_t n, const aph_value *literals)
{
    aph_value x, y;
    for (size_t i = 0; i < n; i++)
        if (aphi_form_of(literals[i], &x, &y) >= APHI_APART)
            return true;
    return false;
}

static aphi_sat decide_touched(aphi_literals *a, int64_t solver_ms)
{
    aph_value *literals = aphi_list_items(&a->literals);
    if (!any_relates(a->literals.count, literals))
        return APHI_SAT;
    aphi_literals_simplify(a);
    size_t connected = connected_first(a->literals.count, literals, a->touched);
    return any_relates(connected, literals) ? aphi_decide(connected, literals, solver_ms, NULL) : APHI_SAT;
}

static void hand_over(aphi_literals *a, aphi_bindings *b)
{
    for (size_t i = 0; i < aphi_bindings_count(b); i++)
        *aphi_bindings_value(b, i) = aphi_substitute(*aphi_bindings_value(b, i), &a->bindings);
    for (size_t i = 0; i < aphi_bindings_count(&a->bindings); i++)
        aphi_bindings_set(b, aphi_bindings_symbol(&a->bindings, i), *aphi_bindings_value(&a->bindings, i));
}

aphi_sat aphi_store_assume(aph_value store, aph_value condition, int64_t solver_ms, aph_value *out, aphi_bindings *b)
{
    if (aph_kind_of(condition) == APH_BOOL) {
        *out = aph_truth(condition) ? store : *out;
        return aph_truth(condition) ? APHI_SAT : APHI_UNSAT;
    }
    aphi_literals a;
    aphi_literals_init(&a, store);
    aphi_sat sat = aphi_literals_assert(&a, condition) ? decide_touched(&a, solver_ms) : APHI_UNSAT;
    if (sat == APHI_SAT) {
        *out = aphi_literals_store(&a);
        hand_over(&a, b);
    }
    aphi_literals_deinit(&a);
    return sat;
}

/* ---- solving ----------------------------------------------------------------------------------------------------- */

typedef struct parts {
    aphi_symset symbols;
    uint32_t *parent;   /* per symbol: union-find */
} parts;

static uint32_t part_of(parts *p, uint32_t i)
{
    while (p->parent[i] != i)
        i = p->parent[i] = p->parent[p->parent[i]];
    return i;
}

/* Unites the components of the symbols of v, which must contain one. Returns the component. */
static uint32_t unite(parts *p, aph_value v)
{
    aphi_symset inside = {0};
    aphi_symset_collect(&inside, v);
    uint32_t part = part_of(p, (uint32_t)aphi_symset_find(&p->symbols, aphi_symset_at(&inside, 0)));
    for (size_t i = 1; i < inside.count; i++) {
        uint32_t other = part_of(p, (uint32_t)aphi_symset_find(&p->symbols, aphi_symset_at(&inside, i)));
        p->parent[other] = part;
    }
    aphi_symset_deinit(&inside);
    return part;
}

/* Assigns the symbols of one component: first the free ones, then the bound ones. */
static aphi_sat solve_part(size_t n, const aph_value *conditions, int64_t solver_ms, aphi_bindings *values)
{
    aphi_literals a;
    aphi_sat sat = APHI_SAT;
    aphi_literals_init(&a, APH_NIL);
    for (size_t i = 0; i < n && sat == APHI_SAT; i++)
        if (!aphi_literals_assert(&a, conditions[i]))
            sat = APHI_UNSAT;
    if (sat == APHI_SAT)
        sat = aphi_decide(a.literals.count, aphi_list_items(&a.literals), solver_ms, values);
    for (size_t i = 0; sat == APHI_SAT && i < aphi_bindings_count(&a.bindings); i++) {
        aph_value value = *aphi_bindings_value(&a.bindings, i);
        aphi_bindings_complete(values, value);
        aphi_bindings_set(values, aphi_bindings_symbol(&a.bindings, i), aphi_substitute(value, values));
    }
    for (size_t i = 0; sat == APHI_SAT && i < n; i++)
        aphi_bindings_complete(values, conditions[i]);
    aphi_literals_deinit(&a);
    return sat;
}

typedef struct member {
    uint32_t part;
    size_t position;
} member;

static int by_part(const void *x, const void *y)
{
    const member *a = x, *b = y;
    if (a->part != b->part)
        return a->part < b->part ? -1 : 1;
    return (a->position > b->position) - (a->position < b->position);
}

/* Sorts the conditions, which all contain symbols, by component; end[i] is the end of the component of condition i. */
static void order_by_part(size_t n, aph_value *conditions, size_t *end)
{
    parts p = {0};
    for (size_t i = 0; i < n; i++)
        aphi_symset_collect(&p.symbols, conditions[i]);
    p.parent = aphi_alloc(p.symbols.count * sizeof *p.parent);
    for (size_t i = 0; i < p.symbols.count; i++)
        p.parent[i] = (uint32_t)i;
    member *members = aphi_alloc(n * sizeof *members);
    aph_value *ordered = aphi_alloc(n * sizeof *ordered);
    for (size_t i = 0; i < n; i++)
        members[i] = (member){unite(&p, conditions[i]), i};
    for (size_t i = 0; i < n; i++)
        members[i].part = part_of(&p, members[i].part);
    qsort(members, n, sizeof *members, by_part);
    for (size_t i = n; i-- > 0;) {
        ordered[i] = conditions[members[i].position];
        end[i] = i + 1 < n && members[i + 1].part == members[i].part ? end[i + 1] : i + 1;
    }
    memcpy(conditions, ordered, n * sizeof *ordered);
    APHI_FREE_ALL(ordered, members, p.parent);
    aphi_symset_deinit(&p.symbols);
}

aphi_sat aphi_store_solve(size_t n, const aph_value *conditions, int64_t solver_ms, aphi_bindings *values)
{
    aph_value *open = aphi_alloc((n + 1) * sizeof *open);
    size_t *end = aphi_alloc((n + 1) * sizeof *end), count = 0;
    aphi_sat sat = APHI_SAT;
    for (size_t i = 0; i < n; i++)
        if (aphi_symbols(conditions[i]))
            open[count++] = conditions[i];
        else if (!aph_truth(conditions[i]))
            sat = APHI_UNSAT;
    if (count && sat == APHI_SAT)
        order_by_part(count, open, end);
    for (size_t from = 0; from < count && sat != APHI_UNSAT; from = end[from]) {
        aphi_sat part = solve_part(end[from] - from, open + from, solver_ms, values);
        if (part != APHI_SAT)
            sat = part;
    }
    free(end);
    free(open);
    return sat;
}
