/* SPDX-License-Identifier: Apache-2.0
 *
 * replay.c - confirmation of an explanation, without symbols and without a search.
 *
 * Idea:       run the model on the requests in the given order, answer its choices from the list, and compare its
 *             messages with the observed ones. `now` is the earliest event of the history by which the run so far can
 *             have happened. It never decreases, is at or after the sending of each taken request, and must be before
 *             the observation of each response. With bounded buffers, it is also after the event that made room for the
 *             response, and before the sending of a request for which there would have been no room.
 * Silence:    divides the history into epochs. Each request is taken in the epoch in which it was sent, and each
 *             message of the model is observed in the epoch in which it was sent, or lost there.
 * Not done:   sharing code with the search, because the replay checks the search. Only step.h is used. */
#include "oracle/replay.h"

#include "base/memory.h"
#include "tree/model_calls.h"
#include "tree/step.h"
#include "value/heap.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { IDLE_STEPS_MAX = 10000 }; /* steps in a row without a request */

typedef struct replay {
    const aphi_history *history;
    aph_value order, choices;
    size_t order_at, choice_at;
    size_t now;             /* events of the history that have passed */
    size_t current;         /* the request taken last */
    uint8_t *done;          /* by event: how often a request was taken, or a response sent */
    int64_t *connections;   /* by event: its number in the model */
    aph_value closed;       /* object: connections that the server has closed */
    aph_value broken;       /* object: connections whose break the server has taken */
    size_t *silences;       /* by event: the number of silences before it, its epoch */
    aph_value ended_in;     /* object: by connection that the server has closed, the epoch in which it did */
    size_t *sent;           /* by sent message: the event that observes it, or SIZE_MAX */
    int64_t *sent_to;
    size_t sent_count, sent_capacity, sent_to_capacity;
    char *why;
    size_t why_size;
    bool wrong;
} replay;

static bool fail(replay *r, const char *what, uint64_t number)
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
    bool found = low < h->count && h->events[low].number == number && aphi_history_is_request(&h->events[low]);
    return found ? low : SIZE_MAX;
}

/* An earlier request of the same connection must have been taken, unless it is lost. */
static bool is_in_order(const replay *r, size_t request)
{
    const aphi_history_event *e = r->history->events;
    for (size_t i = request; i-- > 0;)
        if (aphi_history_is_request(&e[i]) && e[i].connection == e[request].connection && !e[i].lost)
            return r->done[i];
    return true;
}

/* Returns the event with which the client left the connection: it then discards what arrives; SIZE_MAX if there is
 * none. */
static size_t find_leaving(const replay *r, int64_t connection)
{
    const aphi_history_event *e = r->history->events;
    for (size_t i = 0; i < r->history->count; i++)
        if (aphi_history_is_request(&e[i]) && e[i].connection == connection &&
            (e[i].message == APH_LEFT || e[i].message == APH_BROKEN))
            return i;
    return SIZE_MAX;
}

/* With bounded buffers: moves `now` to the event after which there is room for one more response. */
static bool find_room(replay *r, size_t request)
{
    int64_t connection = r->history->events[request].connection;
    size_t held = 0;
    for (size_t i = r->sent_count; i-- > 0 && held < r->history->buffer;) {
        if (r->sent_to[i] != connection)
            continue;
        held++;
        size_t room = r->sent[i] != SIZE_MAX ? r->sent[i] : find_leaving(r, connection);
        if (held == r->history->buffer && room == SIZE_MAX)
            return false;
        if (held == r->history->buffer && r->now < room + 1)
            r->now = room + 1;
    }
    return true;
}

/* With bounded buffers: returns the request that could be sent only after this one was taken. */
static size_t find_blocked(const replay *r, size_t request)
{
    const aphi_history_event *e = r->history->events;
    size_t later = 0;
    for (size_t i = request + 1; i < r->history->count; i++) {
        later += aphi_history_is_request(&e[i]) && !e[i].lost && !aphi_is_signal(e[i].message) &&
                 e[i].connection == e[request].connection;
        if (later == r->history->buffer)
            return i;
    }
    return SIZE_MAX;
}

static bool violates_buffer(replay *r, size_t request)
{
    const aphi_history_event *e = &r->history->events[request];
    if (!r->history->buffer || e->lost || aphi_is_signal(e->message))
        return false;
    if (!find_room(r, request))
        return !fail(r, "a request is taken although there is never room for earlier responses", e->number);
    if (r->now > find_blocked(r, request))
        return !fail(r, "a request is taken after the sending of another for which there was no room", e->number);
    return false;
}

/* On a connection that the server opened, it must have sent a message before it receives one. */
static bool is_opened(const replay *r, size_t request)
{
    const aphi_history_event *e = r->history->events;
    for (size_t i = 0; e[request].connection >= APH_ACCEPTED && i < request; i++)
        if (e[i].answer && e[i].connection == e[request].connection)
            return r->done[i];
    return e[request].connection < APH_ACCEPTED;
}

/* Checks the order of a request on its connection. A break overtakes earlier requests, but not the opening. */
static bool follows_earlier(replay *r, size_t request, bool breaks)
{
    const aphi_history_event *e = r->history->events;
    aph_value name = aph_int(e[request].connection);
    if (aph_has(r->closed, name))
        return fail(r, "a request is taken from a connection that the server has closed", e[request].number);
    if (aph_has(r->broken, name))
        return fail(r, "a request is taken from a broken connection", e[request].number);
    if (!breaks)
        return is_in_order(r, request) ||
               fail(r, "a request is taken before an earlier one of its connection", e[request].number);
    if (e[request].message != APH_BROKEN && e[request].message != APH_LEFT)
        return fail(r, "a connection breaks that the client has not broken", e[request].number);
    r->broken = aph_set(r->broken, name, aph_bool(true));
    for (size_t i = 0; i < request; i++)
        if (e[i].message == APH_OPENED && e[i].connection == e[request].connection)
            return r->done[i] || fail(r, "a connection breaks before it is opened", e[request].number);
    return true;
}

/* ---- silence ----------------------------------------------------------------------------------------------------- */

static void count_silences(replay *r)
{
    size_t n = 0;
    r->silences = aphi_alloc((r->history->count + 1) * sizeof *r->silences);
    for (size_t i = 0; i < r->history->count; i++) {
        r->silences[i] = n;
        n += r->history->events[i].quiet;
    }
    r->silences[r->history->count] = n;
}

static size_t epoch_now(const replay *r) { return r->silences[r->now]; }

/* Returns true if the message, which is not observed, may be lost: no silence follows, or the client has left before
 * it. */
static bool may_be_lost(const replay *r, int64_t connection)
{
    size_t left = find_leaving(r, connection);
    return epoch_now(r) == r->silences[r->history->count] || (left != SIZE_MAX && r->silences[left] <= epoch_now(r));
}

/* Returns true if the server need not take this request: it has closed the connection by the next silence, or has
 * noticed by then that the client has left, or never learns of the connection. */
static bool may_be_missed(const replay *r, size_t request)
{
    const aphi_history_event *e = r->history->events, *q = &e[request];
    aph_value name = aph_int(q->connection), closed = aph_get(r->ended_in, name);
    size_t left = find_leaving(r, q->connection);
    bool opened = false, shut = false;
    if (closed && (size_t)aph_int_of(closed) <= r->silences[request])
        return true;
    for (size_t i = 0; i < r->history->count; i++) {
        bool taken = e[i].connection == q->connection && aphi_history_is_request(&e[i]) && r->done[i];
        opened |= taken && e[i].message == APH_OPENED;
        shut |= taken && e[i].message == APH_CLOSED;
    }
    if (left == SIZE_MAX || r->silences[left] != r->silences[request])
        return false;
    return aph_has(r->broken, name) || !opened || (left == request && e[left].message == APH_LEFT && shut);
}

static void check_missed_requests(replay *r)
{
    for (size_t i = 0; i < r->history->count; i++) {
        const aphi_history_event *e = &r->history->events[i];
        bool due = aphi_history_is_request(e) && !r->history->lossy && !r->done[i] && !e->lost &&
                   r->silences[i] < r->silences[r->history->count];
        if (due && !may_be_missed(r, i))
            fail(r, "a request is not taken before a silence", e->number);
    }
}

/* ---- requests ---------------------------------------------------------------------------------------------------- */

static bool take_request(replay *r, aph_value *answer)
{
    aph_value entry = aph_at(r->order, r->order_at);
    if (r->order_at >= aph_count(r->order))
        return false;
    r->order_at++;
    bool breaks = aph_kind_of(entry) == APH_ARRAY; /* [number, "broken"] */
    aph_value number = breaks ? aph_at(entry, 0) : entry;
    size_t i = aph_is_int(number) && aph_int_of(number) >= 0 ? find_request(r->history, (uint64_t)aph_int_of(number))
                                                             : SIZE_MAX;
    if (i == SIZE_MAX)
        return fail(r, "the order contains a number that is not a request", r->order_at - 1);
    if (r->done[i] > r->history->lossy)
        return fail(r, r->history->lossy ? "a request is taken three times" : "a request is taken twice",
                     r->history->events[i].number);
    if (!r->history->lossy && !follows_earlier(r, i, breaks))
        return false;
    if (!is_opened(r, i))
        return fail(r, "the server receives on a connection that it has not opened",
                     r->history->events[i].number);
    r->done[i]++;
    r->current = i;
    if (r->now < i + 1)
        r->now = i + 1;
    if (violates_buffer(r, i))
        return false;
    if (epoch_now(r) != r->silences[i])
        return fail(r, "a request is taken after a silence that came after it", r->history->events[i].number);
    aph_value message = r->history->events[i].message;
    *answer = APH_ARRAY_OF(aph_int(r->connections[i]), breaks ? APH_BROKEN
                                                       : message == APH_LEFT ? APH_CLOSED : message);
    return true;
}

/* The observation of this message: the response to the current request, or the first unexplained one on the connection.
 * */
static size_t find_response(const replay *r, int64_t connection)
{
    const aphi_history_event *e = r->history->events;
    if (r->history->paired)
        return r->current == SIZE_MAX || e[r->current].connection != connection ? SIZE_MAX : e[r->current].other;
    for (size_t i = 0; i < r->history->count; i++)
        if (e[i].answer && r->connections[i] == connection && !r->done[i])
            return i;
    return SIZE_MAX;
}

/* Without message order, the message explains each equal observation from now on. */
static bool explain_equal(replay *r, const aph_event *event)
{
    const aphi_history_event *e = r->history->events;
    for (size_t i = r->now; i < r->history->count && !e[i].quiet; i++)
        if (e[i].answer && e[i].connection == event->to && e[i].message == event->value)
            r->done[i] = 1;
    return true;
}

static void record_send(replay *r, int64_t to, size_t seen)
{
    if (r->history->paired && r->current != SIZE_MAX && r->history->events[r->current].lost)
        return;
    APHI_RESERVE(r->sent, r->sent_capacity, r->sent_count + 1);
    APHI_RESERVE(r->sent_to, r->sent_to_capacity, r->sent_count + 1);
    r->sent_to[r->sent_count] = to;
    r->sent[r->sent_count++] = seen;
}

/* Records the close of a connection. Returns true if the message is lost, because the connection was closed before. */
static bool is_lost_on_closed(replay *r, const aph_event *event)
{
    aph_value name = aph_int(event->to);
    bool lost = aph_has(r->closed, name);
    if (event->value == APH_CLOSED && !lost) {
        r->closed = aph_set(r->closed, name, aph_bool(true));
        r->ended_in = aph_set(r->ended_in, name, aph_int((int64_t)epoch_now(r)));
    }
    return lost;
}

static bool check_send(replay *r, const aph_event *event)
{
    if (aph_is_symbolic(event->value))
        return fail(r, "the model sends a message without a value", r->order_at);
    if (r->history->lossy)
        return explain_equal(r, event);
    if (is_lost_on_closed(r, event))
        return true;
    size_t i = find_response(r, event->to);
    bool reset = i != SIZE_MAX && r->history->events[i].message == APH_BROKEN;
    if (i == SIZE_MAX ? !may_be_lost(r, event->to) : r->now <= i && r->silences[i] != epoch_now(r))
        return fail(r, "a message is sent before a silence, and not observed before it", r->order_at);
    if (reset && event->value != APH_CLOSED)
        return true; /* lost before the reset */
    if (r->history->buffer)
        record_send(r, event->to, i);
    if (i == SIZE_MAX)
        return true; /* not observed */
    uint64_t number = r->history->events[i].number;
    if (!reset && event->value != r->history->events[i].message)
        return fail(r, "the response of the model differs from the observed one", number);
    if (r->now > i)
        return fail(r, "a response was observed before its request could have been taken", number);
    if (r->done[i])
        return fail(r, "a response is sent twice", number);
    r->done[i] = 1;
    return true;
}

static bool take_choice(replay *r, const aph_event *event, aph_value *answer)
{
    if (r->choice_at >= aph_count(r->choices))
        return fail(r, "the explanation has fewer choices than the model", r->order_at);
    *answer = aph_at(r->choices, r->choice_at++);
    aph_kind kind = event->kind == APH_EVENT_EITHER ? APH_INT : event->sort;
    if (aph_kind_of(*answer) != kind)
        return fail(r, "a choice has the wrong kind", r->choice_at - 1);
    int64_t low = event->kind == APH_EVENT_EITHER ? 0 : event->low;
    int64_t high = event->kind == APH_EVENT_EITHER ? (int64_t)event->count - 1 : event->high;
    if ((event->kind == APH_EVENT_EITHER || event->bounded) &&
        (aph_int_of(*answer) < low || aph_int_of(*answer) > high))
        return fail(r, "a choice is out of range", r->choice_at - 1);
    return true;
}

static bool answer_event(void *context, const aph_event *event, aph_value *answer)
{
    replay *r = context;
    *answer = APH_NIL;
    switch (event->kind) {
    case APH_EVENT_RECV: return take_request(r, answer);
    case APH_EVENT_SEND: return check_send(r, event);
    case APH_EVENT_CHOOSE:
    case APH_EVENT_EITHER: return take_choice(r, event, answer);
    case APH_EVENT_DECIDE:
        *answer = event->value;
        return aph_kind_of(*answer) == APH_BOOL || fail(r, "a condition is not decided", r->order_at);
    default: return fail(r, "not an event of a model", r->order_at);
    }
}

static void run_order(replay *r, const aph_model *model, aph_value state)
{
    aphi_ending ending;
    unsigned idle = 0;
    do {
        size_t before = r->order_at;
        ending = aphi_step_run(model, &state, answer_event, r);
        idle = r->order_at > before ? 0 : idle + 1;
    /* Without rpc a step may send before it receives, so the last step must end in a receive. */
    } while (ending == APHI_ENDED && idle < IDLE_STEPS_MAX && (r->order_at < aph_count(r->order) || !model->rpc));
    if (ending != APHI_ENDED && ending != APHI_LEFT)
        fail(r, "the model stops", r->order_at);
    if (r->order_at < aph_count(r->order))
        fail(r, "the model does not take all requests in the order", r->order_at);
    if (r->choice_at < aph_count(r->choices))
        fail(r, "the explanation has more choices than the model makes", r->choice_at);
    for (size_t i = 0; i < r->history->count; i++) {
        const aphi_history_event *e = &r->history->events[i];
        if (e->answer && !r->done[i])
            fail(r, "a response is not explained", e->number);
        bool ended = aph_has(r->closed, aph_int(e->connection)) || aph_has(r->broken, aph_int(e->connection));
        bool occupies = aphi_history_is_request(e) && !e->lost && !ended && !aphi_is_signal(e->message);
        if (occupies && !r->done[i] && r->history->buffer && find_blocked(r, i) != SIZE_MAX)
            fail(r, "a request is never taken, although the buffer of its connection was needed for later ones",
                 e->number);
    }
    check_missed_requests(r);
}

/* Returns true if v is the pattern with one value for each symbol. Terms are not solved, so they have no instances. */
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

static bool is_initial(const aph_model *model, aph_value state)
{
    aph_value values = aph_object();
    return is_instance(aphi_model_initial(model), state, &values);
}

static bool map_connections(replay *r, const aph_model *model, aph_value opened)
{
    aph_value name, own, used = aph_object();
    for (size_t i = 0; aph_pair_at(opened, i, &name, &own); i++) {
        if (!aph_is_int(own) || aph_int_of(own) >= 0)
            return fail(r, "a connection that the server opened has no number in the model", i);
        if (!model->calls_apart && aph_has(used, own))
            return fail(r, "two connections that the server opened have the same number in the model", i);
        used = aph_set(used, own, name);
    }
    for (size_t i = 0; i < r->history->count; i++) {
        const aphi_history_event *e = &r->history->events[i];
        r->connections[i] = aphi_model_connection(opened, e->connection);
        if (r->connections[i] < 0 && aph_origin_of(r->connections[i]) != aph_origin_of(e->connection))
            return fail(r, "a connection that the server opened has another origin in the model", e->number);
    }
    return true;
}

bool aphi_replay(const aph_model *model, const aphi_history *history, aph_value explanation, char *why, size_t why_size)
{
    replay r = {.history = history,
                .order = aph_field(explanation, "order"),
                .choices = aph_field(explanation, "choices"),
                .current = SIZE_MAX,
                .closed = aph_object(),
                .broken = aph_object(),
                .ended_in = aph_object(),
                .why = why,
                .why_size = why_size};
    r.done = aphi_alloc_zero((history->count + 1) * sizeof *r.done);
    r.connections = aphi_alloc((history->count + 1) * sizeof *r.connections);
    count_silences(&r);
    if (aph_is_symbolic(explanation))
        fail(&r, "the explanation contains symbols", 0);
    else if (!is_initial(model, aph_field(explanation, "initial")))
        fail(&r, "the initial state is not an initial state of the model", 0);
    else if (map_connections(&r, model, aph_field(explanation, "opened")))
        run_order(&r, model, aph_field(explanation, "initial"));
    free(r.done);
    free(r.silences);
    free(r.connections);
    free(r.sent);
    free(r.sent_to);
    return !r.wrong;
}
