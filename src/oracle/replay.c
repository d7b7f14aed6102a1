/* SPDX-License-Identifier: Apache-2.0
 *
 * replay.c - confirm an explanation, with nothing symbolic and nothing searched.
 *
 * Idea:       run the model on the requests in the order given, answer its choices from the list, and compare what it
 *             sends with what was seen. `now` is the earliest moment at which all this can have happened: it never goes
 *             back, is never before a request was sent, and must be before each answer that results. Where a connection
 *             holds only so much, it is also not before there was room for the answer, and must be before a request was
 *             sent for which there would have been no room.
 * Not done:   sharing anything with the search: this is what the search is checked by. Only step.h is used. */
#include "oracle/replay.h"

#include "base/memory.h"
#include "tree/step.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { IDLE_STEPS_MAX = 10000 }; /* steps without a request before a model is taken to run on for ever */

typedef struct replay {
    const aphi_history *history;
    aph_value order, choices;
    size_t order_at, choice_at;
    size_t now;             /* events of the history that have passed */
    size_t current;         /* the request taken last */
    uint8_t *done;          /* by event: how often a request was taken, an answer given */
    int64_t *connections;   /* by event: as the model has them */
    size_t *said;           /* what was said so far: by the observation that saw it, or SIZE_MAX */
    int64_t *said_to;
    size_t said_count, said_capacity, said_to_capacity;
    char *why;
    size_t why_size;
    bool wrong;
} replay;

static bool wrong(replay *r, const char *what, uint64_t number)
{
    if (!r->wrong)
        snprintf(r->why, r->why_size, "%s (observation %llu)", what, (unsigned long long)number);
    r->wrong = true;
    return false;
}

static size_t find_request(const aphi_history *h, uint64_t number)
{
    size_t low = 0, high = h->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (h->events[middle].number < number)
            low = middle + 1;
        else
            high = middle;
    }
    return low < h->count && h->events[low].number == number && !h->events[low].answer ? low : SIZE_MAX;
}

/* An earlier request of the same connection that may still be answered must have been taken. */
static bool in_turn(const replay *r, size_t request)
{
    const aphi_history_event *e = r->history->events;
    for (size_t i = request; i-- > 0;)
        if (!e[i].answer && e[i].connection == e[request].connection && !e[i].lost)
            return r->done[i];
    return true;
}

/* Where connections hold only so much: wait until there is room for one more answer. */
static bool find_room(replay *r, size_t request)
{
    int64_t connection = r->history->events[request].connection;
    size_t held = 0;
    for (size_t i = r->said_count; i-- > 0 && held < r->history->buffer;) {
        if (r->said_to[i] != connection)
            continue;
        held++;
        if (held == r->history->buffer && r->said[i] == SIZE_MAX)
            return false;
        if (held == r->history->buffer && r->now < r->said[i] + 1)
            r->now = r->said[i] + 1;
    }
    return true;
}

/* Where connections hold only so much: the request that could be sent only after this one was taken. */
static size_t waits_for_it(const replay *r, size_t request)
{
    const aphi_history_event *e = r->history->events;
    size_t later = 0;
    for (size_t i = request + 1; i < r->history->count; i++) {
        later += !e[i].answer && !e[i].lost && e[i].connection == e[request].connection;
        if (later == r->history->buffer)
            return i;
    }
    return SIZE_MAX;
}

static bool is_held_back(replay *r, size_t request)
{
    const aphi_history_event *e = &r->history->events[request];
    if (!r->history->buffer || e->lost)
        return false;
    if (!find_room(r, request))
        return !wrong(r, "a request is taken though there is never room for what was answered before", e->number);
    if (r->now > waits_for_it(r, request))
        return !wrong(r, "a request is taken after another was sent that it left no room for", e->number);
    return false;
}

/* The server opened the connection to say something on it, and only then can it hear something there. */
static bool is_open(const replay *r, size_t request)
{
    const aphi_history_event *e = r->history->events;
    for (size_t i = 0; e[request].connection >= APH_ACCEPTED && i < request; i++)
        if (e[i].answer && e[i].connection == e[request].connection)
            return r->done[i];
    return e[request].connection < APH_ACCEPTED;
}

static bool take_next(replay *r, aph_value *answer)
{
    aph_value number = aph_at(r->order, r->order_at);
    if (r->order_at >= aph_count(r->order))
        return false;
    r->order_at++;
    size_t i = aph_is_int(number) && aph_int_of(number) >= 0 ? find_request(r->history, (uint64_t)aph_int_of(number))
                                                             : SIZE_MAX;
    if (i == SIZE_MAX)
        return wrong(r, "the order names something that is not a request", r->order_at - 1);
    if (r->done[i] > r->history->lossy)
        return wrong(r, r->history->lossy ? "a request is taken three times" : "a request is taken twice",
                     r->history->events[i].number);
    if (!r->history->lossy && !in_turn(r, i))
        return wrong(r, "a request is taken before an earlier one of its connection", r->history->events[i].number);
    if (!is_open(r, i))
        return wrong(r, "the server hears something on a connection that it has not opened",
                     r->history->events[i].number);
    r->done[i]++;
    r->current = i;
    if (r->now < i + 1)
        r->now = i + 1;
    if (is_held_back(r, i))
        return false;
    *answer = APH_ARRAY_OF(aph_int(r->connections[i]), r->history->events[i].message);
    return true;
}

/* The answer that this message must be: that of the request at hand, or the connection's first that is not explained.
 * */
static size_t answer_due(const replay *r, int64_t connection)
{
    const aphi_history_event *e = r->history->events;
    if (r->history->paired)
        return r->current == SIZE_MAX || e[r->current].connection != connection ? SIZE_MAX : e[r->current].other;
    for (size_t i = 0; i < r->history->count; i++)
        if (e[i].answer && r->connections[i] == connection && !r->done[i])
            return i;
    return SIZE_MAX;
}

/* Where no order is kept, it is whatever looks like it and was seen from now on. */
static bool give_to_all(replay *r, const aph_event *event)
{
    const aphi_history_event *e = r->history->events;
    for (size_t i = r->now; i < r->history->count; i++)
        if (e[i].answer && e[i].connection == event->to && e[i].message == event->value)
            r->done[i] = 1;
    return true;
}

static void note_said(replay *r, int64_t to, size_t seen)
{
    if (r->history->paired && r->current != SIZE_MAX && r->history->events[r->current].lost)
        return;
    APHI_RESERVE(r->said, r->said_capacity, r->said_count + 1);
    APHI_RESERVE(r->said_to, r->said_to_capacity, r->said_count + 1);
    r->said_to[r->said_count] = to;
    r->said[r->said_count++] = seen;
}

static bool give(replay *r, const aph_event *event)
{
    if (aph_is_symbolic(event->value))
        return wrong(r, "the model sends something that does not exist", r->order_at);
    if (r->history->lossy)
        return give_to_all(r, event);
    size_t i = answer_due(r, event->to);
    if (r->history->buffer)
        note_said(r, event->to, i);
    if (i == SIZE_MAX)
        return true; /* nobody saw it */
    uint64_t number = r->history->events[i].number;
    if (event->value != r->history->events[i].message)
        return wrong(r, "the model gives another answer than was seen", number);
    if (r->now > i)
        return wrong(r, "an answer was seen before the request behind it can have been taken", number);
    if (r->done[i])
        return wrong(r, "an answer is given twice", number);
    r->done[i] = 1;
    return true;
}

static bool choose(replay *r, const aph_event *event, aph_value *answer)
{
    if (r->choice_at >= aph_count(r->choices))
        return wrong(r, "there are fewer choices than the model makes", r->order_at);
    *answer = aph_at(r->choices, r->choice_at++);
    aph_kind kind = event->kind == APH_EVENT_EITHER ? APH_INT : event->sort;
    if (aph_kind_of(*answer) != kind)
        return wrong(r, "a choice is of the wrong kind", r->choice_at - 1);
    int64_t low = event->kind == APH_EVENT_EITHER ? 0 : event->low;
    int64_t high = event->kind == APH_EVENT_EITHER ? (int64_t)event->count - 1 : event->high;
    if ((event->kind == APH_EVENT_EITHER || event->bounded) &&
        (aph_int_of(*answer) < low || aph_int_of(*answer) > high))
        return wrong(r, "a choice is out of its range", r->choice_at - 1);
    return true;
}

static bool answer_event(void *context, const aph_event *event, aph_value *answer)
{
    replay *r = context;
    *answer = APH_NIL;
    switch (event->kind) {
    case APH_EVENT_RECV: return take_next(r, answer);
    case APH_EVENT_SEND: return give(r, event);
    case APH_EVENT_CHOOSE:
    case APH_EVENT_EITHER: return choose(r, event, answer);
    case APH_EVENT_DECIDE:
        *answer = event->value;
        return aph_kind_of(*answer) == APH_BOOL || wrong(r, "a condition is not decided", r->order_at);
    default: return wrong(r, "an event that a model does not have", r->order_at);
    }
}

static void run(replay *r, const aph_model *model, aph_value state)
{
    aphi_ending ending;
    unsigned idle = 0;
    do
        ending = aphi_step_run(model, &state, answer_event, r);
    /* Without the promise of rpc a step may send before it receives, so the last must be left waiting. */
    while (ending == APHI_ENDED && (r->order_at < aph_count(r->order) || (!model->rpc && idle++ < IDLE_STEPS_MAX)));
    if (ending != APHI_ENDED && ending != APHI_LEFT)
        wrong(r, "the model does not go on", r->order_at);
    if (r->order_at < aph_count(r->order))
        wrong(r, "the model did not take all requests of the order", r->order_at);
    if (r->choice_at < aph_count(r->choices))
        wrong(r, "there are more choices than the model makes", r->choice_at);
    for (size_t i = 0; i < r->history->count; i++) {
        const aphi_history_event *e = &r->history->events[i];
        if (e->answer && !r->done[i])
            wrong(r, "an answer is not explained", e->number);
        if (!e->answer && !e->lost && !r->done[i] && r->history->buffer && waits_for_it(r, i) != SIZE_MAX)
            wrong(r, "a request is never taken, but more were sent than the connection holds", e->number);
    }
}

/* Is v the pattern with one value for each symbol? Terms have no instances here: they would have to be solved. */
static bool is_instance(aph_value pattern, aph_value v, aph_value *values)
{
    if (!aph_is_symbolic(pattern))
        return pattern == v;
    aph_kind kind = aph_kind_of(pattern);
    if (kind == APH_SYMBOL) {
        aph_value number = aph_int(aph_symbol_number(pattern));
        if (!aph_has(*values, number))
            *values = aph_set(*values, number, v);
        return aph_kind_of(v) == aph_symbol_sort(pattern) && aph_get(*values, number) == v;
    }
    bool same = kind != APH_TERM && kind == aph_kind_of(v) && aph_count(pattern) == aph_count(v);
    for (size_t i = 0; same && i < aph_count(pattern); i++) {
        aph_value key, other_key, item = aph_at(pattern, i), other = aph_at(v, i);
        if (kind == APH_OBJECT)
            same = aph_pair_at(pattern, i, &key, &item) && aph_pair_at(v, i, &other_key, &other) && key == other_key;
        same = same && is_instance(item, other, values);
    }
    return same;
}

static bool begins(const aph_model *model, aph_value state)
{
    aph_value values = aph_object();
    return is_instance(model->initial ? model->initial(model) : aph_object(), state, &values);
}

static bool find_connections(replay *r, const aph_model *model, aph_value opened)
{
    aph_value name, own, mine = aph_object();
    for (size_t i = 0; aph_pair_at(opened, i, &name, &own); i++) {
        if (!aph_is_int(own) || aph_int_of(own) >= 0)
            return wrong(r, "a connection that the server opened is none of the model's", i);
        if (!model->calls_apart && aph_has(mine, own))
            return wrong(r, "two connections that the server opened are one of the model's", i);
        mine = aph_set(mine, own, name);
    }
    for (size_t i = 0; i < r->history->count; i++)
        r->connections[i] = aphi_model_connection(opened, r->history->events[i].connection);
    return true;
}

bool aphi_replay(const aph_model *model, const aphi_history *history, aph_value explanation, char *why, size_t why_size)
{
    replay r = {.history = history,
                .order = aph_field(explanation, "order"),
                .choices = aph_field(explanation, "choices"),
                .current = SIZE_MAX,
                .why = why,
                .why_size = why_size};
    r.done = aphi_alloc_zero((history->count + 1) * sizeof *r.done);
    r.connections = aphi_alloc((history->count + 1) * sizeof *r.connections);
    if (aph_is_symbolic(explanation))
        wrong(&r, "the explanation has symbolic parts", 0);
    else if (!begins(model, aph_field(explanation, "initial")))
        wrong(&r, "the model does not begin with this initial state", 0);
    else if (find_connections(&r, model, aph_field(explanation, "opened")))
        run(&r, model, aph_field(explanation, "initial"));
    free(r.done);
    free(r.connections);
    free(r.said);
    free(r.said_to);
    return !r.wrong;
}
