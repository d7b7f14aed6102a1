/* SPDX-License-Identifier: Apache-2.0
 *
 * explanation.c - the values of all choices in an explanation.
 *
 * Idea:       the search drops symbols that are no longer used, so it has no values for them. But it has the order of
 *             the requests and the path through each step. So the model is run again along these paths, with all
 *             symbols and conditions kept, and they are solved once at the end.
 * Invariants: at the start of a step, symbols of the state that a condition has determined are replaced by their
 *             values, as in the search: a model may branch differently on a value than on a symbol. */
#include "oracle/explanation.h"

#include "base/memory.h"
#include "solve/literals.h"
#include "solve/store.h"
#include "tree/model_calls.h"
#include "tree/step.h"

#include <stdlib.h>

enum { IDLE_STEPS_MAX = 10000 }; /* steps in a row without a request */

typedef struct list {
    aph_value *items;
    size_t count, capacity;
} list;

/* Used without message order: a sent message, and the first event of the history at which it can be observed. */
typedef struct sent_message {
    int64_t to;
    aph_value message;
    size_t from;
} sent_message;

/* A free choice in the model, and how often each alternative was taken. */
typedef struct choice_count {
    const char *const *names; /* its address identifies the choice */
    const char *clause;
    size_t count;
    int64_t *taken;
} choice_count;

typedef struct builder {
    const aphi_history *history;
    size_t *requests;      /* events of the history that are requests */
    aphi_taken *order;
    size_t order_count, order_at;
    size_t current;        /* event of the request taken last */
    size_t path_of, path_at;
    bool *explained;           /* by event, if unpaired: responses explained so far */
    aph_value opened;      /* connection that the server opened -> number in the model */
    aph_value closed;      /* object: connections that the server has closed */
    int64_t *connections;  /* by event: its number in the model */
    size_t now;            /* first event of the history that can come after the run so far */
    sent_message *sent_messages;
    size_t sent_count, sent_capacity;
    uint32_t fresh;
    list conditions, choices, named, taken, lines;
    aphi_bindings determined;  /* symbols determined in this step */
    choice_count *choice_counts;
    size_t choice_counts_n, choice_counts_capacity;
} builder;

static void append(list *l, aph_value v)
{
    APHI_PUSH(l->items, l->count, l->capacity, v);
}

/* Adds the value of a choice for the replay, and its name for readers. */
static void add_choice(builder *t, const aph_event *event, const char *name, aph_value value)
{
    aph_value named = aph_record("choice", name ? aph_str(name) : APH_NIL, "value", value);
    append(&t->choices, value);
    append(&t->named, event->clause ? aph_put(named, "clause", aph_str(event->clause)) : named);
}

static choice_count *find_choice_count(builder *t, const aph_event *event)
{
    for (size_t i = 0; i < t->choice_counts_n; i++)
        if (t->choice_counts[i].names == event->names)
            return &t->choice_counts[i];
    APHI_RESERVE(t->choice_counts, t->choice_counts_capacity, t->choice_counts_n + 1);
    choice_count *c = &t->choice_counts[t->choice_counts_n++];
    *c = (choice_count){event->names, event->clause, event->count, aphi_alloc_zero(event->count * sizeof *c->taken)};
    return c;
}

static aph_value choice_counts_value(const builder *t)
{
    list all = {0};
    for (size_t i = 0; i < t->choice_counts_n; i++) {
        const choice_count *c = &t->choice_counts[i];
        aph_value alternatives = aph_array(0, NULL);
        for (size_t k = 0; k < c->count; k++)
            alternatives = aph_push(alternatives, APH_ARRAY_OF(aph_str(c->names[k]), aph_int(c->taken[k])));
        aph_value one = aph_record("ways", alternatives);
        append(&all, c->clause ? aph_put(one, "clause", aph_str(c->clause)) : one);
    }
    aph_value array = aph_array(all.count, all.items);
    free(all.items);
    return array;
}

/* Stores the symbols that the condition alone determines. */
static void store_determined(builder *t, aph_value condition)
{
    aphi_literals a;
    aphi_literals_init(&a, APH_NIL);
    bool possible = aphi_literals_assert(&a, condition);
    for (size_t i = 0; possible && i < aphi_bindings_count(&a.bindings); i++) {
        aph_value v = *aphi_bindings_value(&a.bindings, i);
        if (!aph_is_symbolic(v))
            aphi_bindings_set(&t->determined, aphi_bindings_symbol(&a.bindings, i), v);
    }
    aphi_literals_deinit(&a);
}

static void require(builder *t, aph_value condition)
{
    if (condition == aph_bool(true))
        return;
    append(&t->conditions, condition);
    store_determined(t, condition);
}

/* Returns the answer at the next branch. The paths of the requests are consecutive. */
static aph_value next_branch(builder *t)
{
    while (t->path_of < t->order_count && (t->order[t->path_of].id == APHI_ACCEPTED ||
                                           t->path_at >= aph_count(t->order[t->path_of].path))) {
        t->path_of++;
        t->path_at = 0;
    }
    return t->path_of < t->order_count ? aph_at(t->order[t->path_of].path, t->path_at++) : APH_NIL;
}

static bool take_request(builder *t, aph_value *answer)
{
    while (t->order_at < t->order_count && t->order[t->order_at].id >= APHI_ACCEPTED)
        t->order_at++;
    if (t->order_at == t->order_count)
        return false;
    uint64_t id = t->order[t->order_at++].id;
    bool breaks = id & APHI_TAKEN_BROKEN;
    t->current = t->requests[id & ~APHI_TAKEN_BROKEN];
    if (t->now <= t->current)
        t->now = t->current + 1;
    const aphi_history_event *e = &t->history->events[t->current];
    aph_value number = aph_int((int64_t)e->number);
    append(&t->taken, breaks ? APH_ARRAY_OF(number, aph_str("broken")) : number);
    append(&t->lines, aph_int((int64_t)e->line));
    *answer = APH_ARRAY_OF(aph_int(t->connections[t->current]), breaks ? APH_BROKEN
                                                              : e->message == APH_LEFT ? APH_CLOSED : e->message);
    return true;
}

/* Returns the index of the event that observes the message; SIZE_MAX if none does. */
static size_t find_response(builder *t, int64_t connection, aph_value message)
{
    const aphi_history_event *e = t->history->events;
    aph_value name = aph_int(connection);
    if (aph_has(t->closed, name))
        return SIZE_MAX;
    if (message == APH_CLOSED)
        t->closed = aph_set(t->closed, name, aph_bool(true));
    if (t->history->lossy)
        return SIZE_MAX;
    if (t->history->paired)
        return t->current == SIZE_MAX ? SIZE_MAX : e[t->current].other;
    for (size_t i = 0; i < t->history->count; i++)
        if (e[i].answer && t->connections[i] == connection && !t->explained[i]) {
            if (e[i].message == APH_BROKEN) /* the close, or a message before it that was lost */
                return SIZE_MAX;
            t->explained[i] = true;
            return i;
        }
    return SIZE_MAX;
}

/* Returns true if there was a silence in between: messages that were in flight are lost. */
static bool has_silence(const aphi_history *h, size_t from, size_t to)
{
    while (from < to && !h->events[from].quiet)
        from++;
    return from < to;
}

/* The observed message must equal one that was sent before, since the last silence. */
static void require_sent(builder *t, size_t event)
{
    const aphi_history_event *e = &t->history->events[event];
    aph_value any = aph_bool(false);
    for (size_t i = 0; i < t->sent_count && any != aph_bool(true); i++)
        if (t->sent_messages[i].to == e->connection && t->sent_messages[i].from <= event &&
            !has_silence(t->history, t->sent_messages[i].from, event))
            any = aph_or(any, aph_eq(t->sent_messages[i].message, e->message));
    require(t, any);
}

static bool answer_event(void *context, const aph_event *event, aph_value *answer)
{
    builder *t = context;
    size_t due;
    *answer = APH_NIL;
    switch (event->kind) {
    case APH_EVENT_RECV: return take_request(t, answer);
    case APH_EVENT_SEND:
        due = find_response(t, event->to, event->value);
        if (t->history->lossy)
            APHI_PUSH(t->sent_messages, t->sent_count, t->sent_capacity,
                      (sent_message){event->to, event->value, t->now});
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
        *answer = next_branch(t);
        if (*answer == APH_NIL)
            return false;
        add_choice(t, event, event->names[aph_int_of(*answer)], *answer);
        find_choice_count(t, event)->taken[aph_int_of(*answer)]++;
        return true;
    case APH_EVENT_DECIDE:
        *answer = next_branch(t);
        if (*answer == APH_NIL)
            return false;
        require(t, aph_truth(*answer) ? event->value : aph_not(event->value));
        return true;
    default: return false;
    }
}

static aphi_ending run_step(builder *t, const aph_model *model, aph_value *state)
{
    aphi_ending ending = aphi_step_run(model, state, answer_event, t);
    if (aphi_bindings_count(&t->determined))
        *state = aphi_substitute(*state, &t->determined);
    aphi_bindings_deinit(&t->determined);
    return ending;
}

static aph_value solve(builder *t, aph_value initial, int64_t solver_ms)
{
    aphi_bindings values = {0};
    aph_value explanation = APH_NIL;
    if (aphi_store_solve(t->conditions.count, t->conditions.items, solver_ms, &values) == APHI_SAT) {
        explanation = aph_record("initial", initial, "order", aph_array(t->taken.count, t->taken.items), "choices",
                                 aph_array(t->choices.count, t->choices.items), "lines",
                                 aph_array(t->lines.count, t->lines.items), "named",
                                 aph_array(t->named.count, t->named.items), "ways", choice_counts_value(t));
        if (aph_count(t->opened))
            explanation = aph_put(explanation, "opened", t->opened);
        aphi_bindings_complete(&values, explanation);
        explanation = aphi_substitute(explanation, &values);
    }
    aphi_bindings_deinit(&values);
    return explanation;
}

static void map_connections(builder *t)
{
    const aphi_history_event *e = t->history->events;
    t->opened = aph_object();
    for (size_t i = 0; i < t->order_count; i++)
        if (t->order[i].id == APHI_ACCEPTED)
            t->opened = aph_set(t->opened, aph_at(t->order[i].path, 0), aph_at(t->order[i].path, 1));
    t->connections = aphi_alloc((t->history->count + 1) * sizeof *t->connections);
    for (size_t i = 0; i < t->history->count; i++)
        t->connections[i] = aphi_model_connection(t->opened, e[i].connection);
}

aph_value aphi_explain(const aph_oracle *o, const aphi_history *history)
{
    builder t = {.history = history, .current = SIZE_MAX, .closed = aph_object()};
    t.order = aphi_oracle_order(o, &t.order_count);
    map_connections(&t);
    t.requests = aphi_alloc((history->count + 1) * sizeof *t.requests);
    t.explained = aphi_alloc_zero((history->count + 1) * sizeof *t.explained);
    for (size_t i = 0, n = 0; i < history->count; i++)
        if (aphi_history_is_request(&history->events[i]))
            t.requests[n++] = i;
    aph_value state = aphi_model_initial(o->model), store = APH_NIL;
    t.fresh = aphi_store_normalize(1, &state, &store);
    aph_value initial = state;
    aphi_ending ending;
    unsigned idle = 0;
    do
        ending = run_step(&t, o->model, &state);
    /* Without rpc a step may send before it receives, so the last step must end in a receive. */
    while (ending == APHI_ENDED && (t.order_at < t.order_count || (!o->model->rpc && idle++ < IDLE_STEPS_MAX)));
    for (size_t i = 0; history->lossy && i < history->count; i++)
        if (history->events[i].answer)
            require_sent(&t, i);
    aph_value explanation = solve(&t, initial, 10 * (o->options.solver_ms ? o->options.solver_ms : 1000));
    free(t.order);
    free(t.requests);
    free(t.explained);
    free(t.connections);
    free(t.sent_messages);
    free(t.conditions.items);
    free(t.choices.items);
    free(t.named.items);
    free(t.taken.items);
    free(t.lines.items);
    for (size_t i = 0; i < t.choice_counts_n; i++)
        free(t.choice_counts[i].taken);
    free(t.choice_counts);
    return explanation;
}
