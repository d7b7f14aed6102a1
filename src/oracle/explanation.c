/* SPDX-License-Identifier: Apache-2.0
 *
 * explanation.c - a value for every choice of an explanation.
 *
 * Idea:       the search throws symbols away as soon as they are dead, so it cannot say what they were. It has kept the
 *             order and the way taken at each branch: run the model along it once more, keep every symbol and every
 *             condition, and ask the solver once at the end.
 * Invariants: at the head of a step, symbols of the state that a condition so far has determined are replaced by their
 *             values, as in the search: a model may go another way where it sees a value and not a symbol. */
#include "oracle/explanation.h"

#include "base/memory.h"
#include "solve/literals.h"
#include "solve/store.h"
#include "tree/step.h"

#include <stdlib.h>

enum { IDLE_STEPS_MAX = 10000 }; /* steps without a request before a model is taken to run on for ever */

typedef struct list {
    aph_value *items;
    size_t count, capacity;
} list;

/* Where no order is kept: something that was said, and from which observation on it can be what was seen. */
typedef struct letter {
    int64_t to;
    aph_value message;
    size_t from;
} letter;

/* A place in the model where it chooses freely, and how often it went which way. */
typedef struct crossing {
    const char *const *names; /* the array tells places apart */
    const char *clause;
    size_t count;
    int64_t *taken;
} crossing;

typedef struct telling {
    const aphi_history *history;
    size_t *requests;      /* events of the history that are requests */
    aphi_taken *order;
    size_t order_count, order_at;
    size_t current;        /* event of the request taken last */
    size_t path_of, path_at;
    bool *given;           /* unpaired: answers explained so far, by event */
    aph_value opened;      /* for each connection that the server opened to us, which of the model's it is */
    int64_t *connections;  /* by event: as the model has them */
    size_t now;            /* the earliest moment at which all this can have happened */
    letter *letters;
    size_t letter_count, letter_capacity;
    uint32_t fresh;
    list conditions, choices, named, taken, lines;
    aphi_bindings learnt;  /* in this step */
    crossing *crossings;
    size_t crossing_count, crossing_capacity;
} telling;

static void add(list *l, aph_value v)
{
    APHI_RESERVE(l->items, l->capacity, l->count + 1);
    l->items[l->count++] = v;
}

/* A choice: its value for the replay, and for people what the model calls it. */
static void add_choice(telling *t, const aph_event *event, const char *name, aph_value value)
{
    aph_value named = aph_record("choice", name ? aph_str(name) : APH_NIL, "value", value);
    add(&t->choices, value);
    add(&t->named, event->clause ? aph_put(named, "clause", aph_str(event->clause)) : named);
}

static crossing *crossing_of(telling *t, const aph_event *event)
{
    for (size_t i = 0; i < t->crossing_count; i++)
        if (t->crossings[i].names == event->names)
            return &t->crossings[i];
    APHI_RESERVE(t->crossings, t->crossing_capacity, t->crossing_count + 1);
    crossing *c = &t->crossings[t->crossing_count++];
    *c = (crossing){event->names, event->clause, event->count, aphi_alloc_zero(event->count * sizeof *c->taken)};
    return c;
}

static aph_value ways_of(const telling *t)
{
    list all = {0};
    for (size_t i = 0; i < t->crossing_count; i++) {
        const crossing *c = &t->crossings[i];
        aph_value ways = aph_array(0, NULL);
        for (size_t k = 0; k < c->count; k++)
            ways = aph_push(ways, APH_ARRAY_OF(aph_str(c->names[k]), aph_int(c->taken[k])));
        aph_value one = aph_record("ways", ways);
        add(&all, c->clause ? aph_put(one, "clause", aph_str(c->clause)) : one);
    }
    aph_value array = aph_array(all.count, all.items);
    free(all.items);
    return array;
}

/* The symbols that the condition alone determines. */
static void learn(telling *t, aph_value condition)
{
    aphi_literals a;
    aphi_literals_init(&a, APH_NIL);
    bool possible = aphi_literals_assert(&a, condition);
    for (size_t i = 0; possible && i < aphi_bindings_count(&a.bindings); i++) {
        aph_value v = *aphi_bindings_value(&a.bindings, i);
        if (!aph_is_symbolic(v))
            aphi_bindings_set(&t->learnt, aphi_bindings_symbol(&a.bindings, i), v);
    }
    aphi_literals_deinit(&a);
}

static void require(telling *t, aph_value condition)
{
    if (condition == aph_bool(true))
        return;
    add(&t->conditions, condition);
    learn(t, condition);
}

/* The way taken at the next branch. Paths of the requests follow one another. */
static aph_value next_way(telling *t)
{
    while (t->path_of < t->order_count && (t->order[t->path_of].id == APHI_OPENED ||
                                           t->path_at >= aph_count(t->order[t->path_of].path))) {
        t->path_of++;
        t->path_at = 0;
    }
    return t->path_of < t->order_count ? aph_at(t->order[t->path_of].path, t->path_at++) : APH_NIL;
}

static bool take_next(telling *t, aph_value *answer)
{
    while (t->order_at < t->order_count && t->order[t->order_at].id >= APHI_OPENED)
        t->order_at++;
    if (t->order_at == t->order_count)
        return false;
    t->current = t->requests[t->order[t->order_at++].id];
    if (t->now <= t->current)
        t->now = t->current + 1;
    const aphi_history_event *e = &t->history->events[t->current];
    add(&t->taken, aph_int((int64_t)e->number));
    add(&t->lines, aph_int((int64_t)e->line));
    *answer = APH_ARRAY_OF(aph_int(t->connections[t->current]), e->message);
    return true;
}

static size_t answer_due(telling *t, int64_t connection)
{
    const aphi_history_event *e = t->history->events;
    if (t->history->lossy)
        return SIZE_MAX;
    if (t->history->paired)
        return t->current == SIZE_MAX ? SIZE_MAX : e[t->current].other;
    for (size_t i = 0; i < t->history->count; i++)
        if (e[i].answer && t->connections[i] == connection && !t->given[i]) {
            t->given[i] = true;
            return i;
        }
    return SIZE_MAX;
}

static void keep_letter(telling *t, int64_t to, aph_value message)
{
    APHI_RESERVE(t->letters, t->letter_capacity, t->letter_count + 1);
    t->letters[t->letter_count++] = (letter){to, message, t->now};
}

/* What was seen must be something that was said before. */
static void require_letter(telling *t, size_t event)
{
    const aphi_history_event *e = &t->history->events[event];
    aph_value any = aph_bool(false);
    for (size_t i = 0; i < t->letter_count && any != aph_bool(true); i++)
        if (t->letters[i].to == e->connection && t->letters[i].from <= event)
            any = aph_or(any, aph_eq(t->letters[i].message, e->message));
    require(t, any);
}

static bool answer_event(void *context, const aph_event *event, aph_value *answer)
{
    telling *t = context;
    size_t due;
    *answer = APH_NIL;
    switch (event->kind) {
    case APH_EVENT_RECV: return take_next(t, answer);
    case APH_EVENT_SEND:
        due = answer_due(t, event->to);
        if (t->history->lossy)
            keep_letter(t, event->to, event->value);
        require(t, aph_eq(event->value, due == SIZE_MAX ? event->value : t->history->events[due].message));
        return true;
    case APH_EVENT_CHOOSE:
        *answer = aph_symbol(event->sort, t->fresh++);
        add_choice(t, event, event->name, *answer);
        if (event->bounded) {
            require(t, aph_le(aph_int(event->low), *answer));
            require(t, aph_le(*answer, aph_int(event->high)));
        }
        return true;
    case APH_EVENT_EITHER:
        *answer = next_way(t);
        if (*answer == APH_NIL)
            return false;
        add_choice(t, event, event->names[aph_int_of(*answer)], *answer);
        crossing_of(t, event)->taken[aph_int_of(*answer)]++;
        return true;
    case APH_EVENT_DECIDE:
        *answer = next_way(t);
        if (*answer == APH_NIL)
            return false;
        require(t, aph_truth(*answer) ? event->value : aph_not(event->value));
        return true;
    default: return false;
    }
}

static aphi_ending run_step(telling *t, const aph_model *model, aph_value *state)
{
    aphi_ending ending = aphi_step_run(model, state, answer_event, t);
    if (aphi_bindings_count(&t->learnt))
        *state = aphi_substitute(*state, &t->learnt);
    aphi_bindings_deinit(&t->learnt);
    return ending;
}

static aph_value solved(telling *t, aph_value initial, int64_t solver_ms)
{
    aphi_bindings values = {0};
    aph_value explanation = APH_NIL;
    if (aphi_store_solve(t->conditions.count, t->conditions.items, solver_ms, &values) == APHI_SAT) {
        explanation = aph_record("initial", initial, "order", aph_array(t->taken.count, t->taken.items), "choices",
                                 aph_array(t->choices.count, t->choices.items), "lines",
                                 aph_array(t->lines.count, t->lines.items), "named",
                                 aph_array(t->named.count, t->named.items), "ways", ways_of(t));
        if (aph_count(t->opened))
            explanation = aph_put(explanation, "opened", t->opened);
        aphi_bindings_complete(&values, explanation);
        explanation = aphi_substitute(explanation, &values);
    }
    aphi_bindings_deinit(&values);
    return explanation;
}

static void find_connections(telling *t)
{
    const aphi_history_event *e = t->history->events;
    t->opened = aph_object();
    for (size_t i = 0; i < t->order_count; i++)
        if (t->order[i].id == APHI_OPENED)
            t->opened = aph_set(t->opened, aph_at(t->order[i].path, 0), aph_at(t->order[i].path, 1));
    t->connections = aphi_alloc((t->history->count + 1) * sizeof *t->connections);
    for (size_t i = 0; i < t->history->count; i++)
        t->connections[i] = aphi_model_connection(t->opened, e[i].connection);
}

aph_value aphi_explain(const aph_oracle *o, const aphi_history *history)
{
    telling t = {.history = history, .current = SIZE_MAX};
    t.order = aphi_oracle_order(o, &t.order_count);
    find_connections(&t);
    t.requests = aphi_alloc((history->count + 1) * sizeof *t.requests);
    t.given = aphi_alloc_zero((history->count + 1) * sizeof *t.given);
    for (size_t i = 0, n = 0; i < history->count; i++)
        if (!history->events[i].answer)
            t.requests[n++] = i;
    aph_value state = o->model->initial ? o->model->initial(o->model) : aph_object(), store = APH_NIL;
    t.fresh = aphi_store_normalize(1, &state, &store);
    aph_value initial = state;
    aphi_ending ending;
    unsigned idle = 0;
    do
        ending = run_step(&t, o->model, &state);
    /* Without the promise of rpc a step may send before it receives, so the last must be left waiting. */
    while (ending == APHI_ENDED && (t.order_at < t.order_count || (!o->model->rpc && idle++ < IDLE_STEPS_MAX)));
    for (size_t i = 0; history->lossy && i < history->count; i++)
        if (history->events[i].answer)
            require_letter(&t, i);
    aph_value explanation = solved(&t, initial, 10 * (o->options.solver_ms ? o->options.solver_ms : 1000));
    free(t.order);
    free(t.requests);
    free(t.given);
    free(t.connections);
    free(t.letters);
    free(t.conditions.items);
    free(t.choices.items);
    free(t.named.items);
    free(t.taken.items);
    free(t.lines.items);
    for (size_t i = 0; i < t.crossing_count; i++)
        free(t.crossings[i].taken);
    free(t.crossings);
    return explanation;
}
