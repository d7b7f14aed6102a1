/* SPDX-License-Identifier: Apache-2.0
 *
 * store_normalize.c - removal of irrelevant symbols from a store, and canonical names of the others.
 *
 * Idea:       a symbol is dead if no root contains it. Forgetting it is a projection: the live symbols must have
 *             exactly the same solutions as before. These projections are exact and cheap:
 *             1. a symbol with more values than symbols to differ from is removed with its literals
 *                (constraint_graph.h);
 *             2. a symbol that is only compared, a <= x and x < b, is replaced by a < b for each such pair;
 *             3. literals that are not connected to a live symbol are removed, since they are satisfiable.
 *             Other dead symbols stay, which costs time but is correct.
 * Invariants: the roots have the same instances under the store before and after
 * Cost:       linear in the symbolic parts of the roots and in the literals.
 * Not done:   canonical names of symbols that occur in the store only, which is graph isomorphism. They are named by
 *             the shape of their literals, which resolves all but symmetric cases. */
#include "solve/store.h"

#include "base/memory.h"
#include "solve/literals.h"
#include "solve/term.h"

#include <assert.h>
#include <stdlib.h>

typedef struct projection {
    size_t n;
    aph_value *roots;
    aphi_symset live;        /* the symbols of the roots, in order */
    aphi_literals a;         /* its literals are the store; its bindings are substituted in the roots */
} projection;

static void find_live(projection *p)
{
    aphi_symset_deinit(&p->live);
    for (size_t i = 0; i < p->n; i++)
        aphi_symset_collect(&p->live, p->roots[i]);
}

static bool is_live(const projection *p, aph_value symbol)
{
    return aphi_symset_find(&p->live, symbol) != APHI_ABSENT;
}

/* ---- dead symbols with enough values ----------------------------------------------------------------------------- */

static void forget_free(projection *p)
{
    aphi_list *l = &p->a.literals;
    aph_value *items = aphi_list_items(l);
    aphi_constraint_graph w;
    aphi_constraint_graph_init(&w, l->count, items);
    for (size_t i = 0; i < w.symbols.count; i++)
        w.cell[i].pinned |= is_live(p, aphi_symset_at(&w.symbols, i));
    aphi_constraint_graph_eliminate(&w);
    size_t kept = 0;
    for (size_t i = 0; i < l->count; i++)
        if (aphi_constraint_graph_remains(&w, items[i]))
            items[kept++] = items[i];
    l->count = kept;
    aphi_constraint_graph_deinit(&w);
}

/* ---- dead symbols that are only compared ------------------------------------------------------------------------- */

enum { SIDES_MOST = 8 };

typedef struct side {
    aph_value term;
    int strict;
} side;

/* The terms below and above a symbol; the constant bounds are first. */
typedef struct compared {
    side below[SIDES_MOST], above[SIDES_MOST];
    size_t belows, aboves;
} compared;

static bool holds_symbol(aph_value v, aph_value symbol)
{
    if (!(aphi_symbols(v) & aphi_symbols(symbol)))
        return false;
    aphi_symset inside = {0};
    aphi_symset_collect(&inside, v);
    bool found = aphi_symset_find(&inside, symbol) != APHI_ABSENT;
    aphi_symset_deinit(&inside);
    return found;
}

/* Adds a literal that contains the symbol. Returns false if it is not a comparison. */
static bool enter_comparison(compared *c, aph_value literal, aph_value symbol)
{
    bool strict = aphi_is_term(literal, APH_LT);
    if (!strict && !aphi_is_term(literal, APH_LE))
        return false;
    aph_value a = aphi_node_arg(literal, 0), b = aphi_node_arg(literal, 1);
    if (a == symbol && aph_is_int(b))
        c->above[0].term = b;
    else if (b == symbol && aph_is_int(a))
        c->below[0].term = a;
    else if (a == symbol && c->aboves < SIDES_MOST && !holds_symbol(b, symbol))
        c->above[c->aboves++] = (side){b, strict};
    else if (b == symbol && c->belows < SIDES_MOST && !holds_symbol(a, symbol))
        c->below[c->belows++] = (side){a, strict};
    else
        return false;
    return true;
}

static bool find_comparisons(projection *p, aph_value symbol, compared *c)
{
    c->belows = c->aboves = 1;
    c->below[0] = (side){aph_int(INT64_MIN), 0};
    c->above[0] = (side){aph_int(INT64_MAX), 0};
    const aph_value *items = aphi_list_read(&p->a.literals);
    for (size_t i = 0; i < p->a.literals.count; i++)
        if (holds_symbol(items[i], symbol) && !enter_comparison(c, items[i], symbol))
            return false;
    /* Returns true if one side has at most one term, so that the number of literals does not grow. */
    return c->belows <= 2 || c->aboves <= 2;
}

static aph_value below_through(side low, side high)
{
    if (low.strict && high.strict)
        return aph_lt(aph_add(low.term, aph_int(1)), high.term);
    return low.strict || high.strict ? aph_lt(low.term, high.term) : aph_le(low.term, high.term);
}

static void forget_compared(projection *p, aph_value symbol, const compared *c)
{
    aphi_list *l = &p->a.literals;
    aph_value *items = aphi_list_items(l);
    size_t kept = 0;
    for (size_t i = 0; i < l->count; i++)
        if (!holds_symbol(items[i], symbol))
            items[kept++] = items[i];
    l->count = kept;
    for (size_t i = 0; i < c->belows; i++)
        for (size_t k = 0; k < c->aboves; k++) {
            bool possible = aphi_literals_assert(&p->a, below_through(c->below[i], c->above[k]));
            assert(possible);
            (void)possible;
        }
    for (size_t i = 0; i < p->n; i++)
        p->roots[i] = aphi_substitute(p->roots[i], &p->a.bindings);
    find_live(p);
}

static bool is_order(aph_value literal)
{
    aph_value x, y;
    return aphi_form_of(literal, &x, &y) == APHI_OTHER &&
           (aphi_is_term(literal, APH_LT) || aphi_is_term(literal, APH_LE));
}

/* Forgets one dead symbol that is only compared, if there is one. */
static bool forget_one_compared(projection *p)
{
    for (size_t i = 0; i < p->a.literals.count; i++) {
        aph_value literal = aphi_list_items(&p->a.literals)[i];
        if (!is_order(literal))
            continue;
        for (size_t k = 0; k < 2; k++) {
            aph_value symbol = aphi_node_arg(literal, k);
            compared c;
            if (aphi_is_symbol(symbol) && !is_live(p, symbol) && find_comparisons(p, symbol, &c)) {
                forget_compared(p, symbol, &c);
                return true;
            }
        }
    }
    return false;
}

/* ---- literals not connected to a live symbol --------------------------------------------------------------------- */

static bool joins(aphi_symset *known, aph_value literal)
{
    if (!(aphi_symbols(literal) & known->mask))
        return false;
    aphi_symset inside = {0};
    bool found = false;
    aphi_symset_collect(&inside, literal);
    for (size_t i = 0; i < inside.count && !found; i++)
        found = aphi_symset_find(known, aphi_symset_at(&inside, i)) != APHI_ABSENT;
    for (size_t i = 0; i < inside.count && found; i++)
        aphi_symset_add(known, aphi_symset_at(&inside, i));
    aphi_symset_deinit(&inside);
    return found;
}

static void forget_unconnected(projection *p)
{
    aphi_list *l = &p->a.literals;
    aph_value *items = aphi_list_items(l);
    aphi_symset known = {0};
    for (size_t i = 0; i < p->live.count; i++)
        aphi_symset_add(&known, aphi_symset_at(&p->live, i));
    size_t kept = 0;
    for (bool more = true; more;) {
        more = false;
        for (size_t i = kept; i < l->count; i++)
            if (joins(&known, items[i])) {
                aph_value literal = items[i];
                items[i] = items[kept];
                items[kept++] = literal;
                more = true;
            }
    }
    l->count = kept;
    aphi_symset_deinit(&known);
}

/* ---- names ------------------------------------------------------------------------------------------------------- */

typedef struct look {
    aph_value seen_as, literal;
} look;

static int by_look(const void *x, const void *y)
{
    const look *a = x, *b = y;
    int c = aph_compare(a->seen_as, b->seen_as);
    return c ? c : aph_compare(a->literal, b->literal);
}

static void name_live(const projection *p, aphi_bindings *names)
{
    for (size_t i = 0; i < p->live.count; i++) {
        aph_value symbol = aphi_symset_at(&p->live, i);
        aphi_bindings_set(names, symbol, aph_symbol(aph_symbol_sort(symbol), (uint32_t)i));
    }
}

/* Names the symbols that occur only in the store, in the order of their literals with all of these symbols replaced by
 * the same one. */
static void name_hidden(projection *p, const aphi_symset *all, aphi_bindings *names)
{
    size_t n = p->a.literals.count, known = p->live.count;
    look *looks = aphi_alloc(n * sizeof *looks);
    aphi_bindings alike = {0};
    aphi_symset order = {0};
    for (size_t i = 0; i < all->count; i++) {
        aph_value symbol = aphi_symset_at(all, i), name = aphi_bindings_get(names, symbol);
        aphi_bindings_set(&alike, symbol, name ? name : aph_symbol(aph_symbol_sort(symbol), (uint32_t)known));
    }
    for (size_t i = 0; i < n; i++) {
        aph_value literal = aphi_list_items(&p->a.literals)[i];
        looks[i] = (look){aphi_substitute(literal, &alike), literal};
    }
    qsort(looks, n, sizeof *looks, by_look);
    for (size_t i = 0; i < n; i++)
        aphi_symset_collect(&order, looks[i].literal);
    for (size_t i = 0; i < order.count; i++) {
        aph_value symbol = aphi_symset_at(&order, i);
        if (!aphi_bindings_get(names, symbol))
            aphi_bindings_set(names, symbol,
                              aph_symbol(aph_symbol_sort(symbol), (uint32_t)aphi_bindings_count(names)));
    }
    aphi_symset_deinit(&order);
    aphi_bindings_deinit(&alike);
    free(looks);
}

static bool changes_anything(aphi_bindings *names)
{
    for (size_t i = 0; i < aphi_bindings_count(names); i++)
        if (*aphi_bindings_value(names, i) != aphi_bindings_symbol(names, i))
            return true;
    return false;
}

static uint32_t rename_all(projection *p)
{
    aphi_bindings names = {0};
    aphi_symset all = {0};
    aph_value *items = aphi_list_items(&p->a.literals);
    name_live(p, &names);
    for (size_t i = 0; i < p->a.literals.count; i++)
        aphi_symset_collect(&all, items[i]);
    bool hidden = false;
    for (size_t i = 0; i < all.count && !hidden; i++)
        hidden = !is_live(p, aphi_symset_at(&all, i));
    if (hidden)
        name_hidden(p, &all, &names);
    if (changes_anything(&names)) {
        for (size_t i = 0; i < p->n; i++)
            p->roots[i] = aphi_substitute(p->roots[i], &names);
        for (size_t i = 0; i < p->a.literals.count; i++)
            items[i] = aphi_substitute(items[i], &names);
    }
    uint32_t count = (uint32_t)aphi_bindings_count(&names);
    aphi_symset_deinit(&all);
    aphi_bindings_deinit(&names);
    return count;
}

uint32_t aphi_store_normalize(size_t n, aph_value *roots, aph_value *store)
{
    uint64_t symbols = aphi_symbols(*store);
    for (size_t i = 0; i < n; i++)
        symbols |= aphi_symbols(roots[i]);
    if (!symbols)
        return 0;
    projection p = {.n = n, .roots = roots, .live = {0}};
    aphi_literals_init(&p.a, *store);
    find_live(&p);
    forget_unconnected(&p);
    do
        forget_free(&p);
    while (forget_one_compared(&p));
    forget_unconnected(&p);
    uint32_t count = rename_all(&p);
    *store = aphi_literals_store(&p.a);
    aphi_literals_deinit(&p.a);
    aphi_symset_deinit(&p.live);
    return count;
}
