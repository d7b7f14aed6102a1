/* SPDX-License-Identifier: Apache-2.0
 *
 * refine_space.c - state space of a model, its clients, and the network between them.
 *
 * Idea:       a state is one immutable value, so a search stores, compares and restores states at no cost.
 *
 *                 client --chunks--> network --chunks--> decoder --messages--> model
 *                 trace <--messages-- decoder <--bytes-- network <--messages-- model
 *
 *             A request counts as sent with its last byte: no specification can have received it before. A response
 *             counts as received with its first byte: a specification that has sent one byte is committed to all.
 *
 *             If one of the models has connections, each client opens one, and may end it at any time, also within a
 *             message. The opening and the end of a connection travel like chunks. A reset overtakes chunks, which are
 *             then lost, and so does a close of both sides, because it causes a reset if data arrives after it.
 *
 * Reductions: a trace that a specification allows across the network remains allowed if a response is received later or
 *             a request is sent earlier, relative to events on other connections (Koh et al., section 4: "disordering"
 *             twice is disordering). So a network without delay produces the strictest traces. Only these are made:
 *             1. a response is received when it is sent: this event alone is a persistent set
 *             2. a chunk is sent when the model takes it; so is an opening or end of a connection
 *             3. adjacent entries of a trace that are both requests or both responses, on different connections, are
 *                sorted by client: no specification distinguishes them, and equal traces are merged
 *             4. a client half-closes or resets a connection, but does not close both sides: the model takes that as a
 *                half-close or a reset, and the client observes less. Nor does it end the connection to a model that
 *                does not receive the end
 *             options->unreduced disables all four: sending and receiving are separate events in each direction.
 * Invariants: 1. ANSWERS has the answers to all events so far of the current step
 *             2. ARRIVING is not nil while the model processes a chunk; no other chunk is taken meanwhile
 * Cost:       a step is run from its beginning for each of its events. */
#include "refine/refine_space.h"

#include "base/memory.h"
#include "codec/codec_internal.h"
#include "refine/refine_clients.h"
#include "refine/refine_network.h"
#include "refine/refine_trace.h"
#include "tree/model_calls.h"
#include "tree/step.h"
#include "value/heap.h"

#include <stdlib.h>

enum { QUIET_STEPS_MAX = 1000, ENUMERATED_MAX = 8 };

/* ---- to the model ------------------------------------------------------------------------------------------------ */

/* Decodes the bytes that have arrived; `ended`: no more will. Returns the messages that the model will receive, after
 * the number of the client; APH_NIL if there are none. */
static aph_value decode_arrived(aphi_refine_space *g, aphi_refine_state *s, size_t client, aph_value unread, bool ended)
{
    aph_value arriving = APH_NIL;
    while (aph_count(unread)) {
        size_t n;
        aph_wire wire = {.side = APH_TO_SERVER, .ended = ended};
        wire.bytes = (const unsigned char *)aph_bytes_of(&unread, &n);
        wire.count = n;
        aph_decoded decoded = aph_decode(g->options->model->codec, &wire);
        if (decoded == APH_MORE || (decoded == APH_MALFORMED && ended))
            break;
        if (decoded == APH_MALFORMED) {
            aphi_refine_fault_set(g, APH_FAULT_REQUEST, "a request of %s is not a valid message of %s: byte %zu: %s",
                                  g->options->spec->name, g->options->model->name, wire.at + 1, wire.why);
            return APH_NIL;
        }
        arriving = aph_push(arriving ? arriving : APH_ARRAY_OF(aph_int((int64_t)client)), wire.message);
        unread = aph_substr(unread, wire.used, n - wire.used);
    }
    aphi_refine_client_set(s, client, APHI_REFINE_UNREAD, ended ? aph_str("") : unread);
    return arriving;
}

void aphi_refine_take_chunk(aphi_refine_space *g, aphi_refine_state *s, size_t client, aph_value chunk)
{
    aph_value unread = aph_concat(aphi_refine_client(s, client, APHI_REFINE_UNREAD), chunk);
    s->field[APHI_REFINE_ARRIVING] = decode_arrived(g, s, client, unread, false);
    aphi_refine_state_push(g, s);
}

/* The model receives nothing more from the client, and its messages are lost. */
static void end_service(aphi_refine_state *s, size_t client)
{
    aphi_refine_client_set_count(s, client, APHI_REFINE_SERVED, APHI_REFINE_OVER);
    aphi_refine_client_set(s, client, APHI_REFINE_TO, aph_array(0, NULL));
    aphi_refine_client_set(s, client, APHI_REFINE_UNREAD, aph_str(""));
}

/* An opening or an end arrives. Bytes of an incomplete message before the end are discarded. */
void aphi_refine_take_signal(aphi_refine_space *g, aphi_refine_state *s, size_t client, aph_value signal)
{
    aph_value unread = aphi_refine_client(s, client, APHI_REFINE_UNREAD), arriving = APH_NIL;
    if (signal == APH_CLOSED)
        arriving = decode_arrived(g, s, client, unread, true);
    if (signal == APH_BROKEN)
        end_service(s, client);
    else
        aphi_refine_client_set_count(s, client, APHI_REFINE_SERVED,
                                     signal == APH_OPENED ? APHI_REFINE_OPEN : APHI_REFINE_SHUT);
    if (g->options->model->connections)
        arriving = aph_push(arriving ? arriving : APH_ARRAY_OF(aph_int((int64_t)client)), signal);
    s->field[APHI_REFINE_ARRIVING] = arriving;
    aphi_refine_state_push(g, s);
}

/* ---- the model --------------------------------------------------------------------------------------------------- */

static bool report_model_fault(aphi_refine_space *g, aph_fault fault, const char *why)
{
    aphi_refine_fault_set(g, fault, "model %s: %s", g->options->model->name, why);
    return false;
}

/* Returns the message that the model has received last in the current step; APH_NIL if there is none. */
static aph_value last_message(aph_value answers)
{
    for (size_t i = aph_count(answers); i-- > 0;)
        if (aph_kind_of(aph_at(answers, i)) == APH_ARRAY)
            return aph_at(aph_at(answers, i), 1);
    return APH_NIL;
}

static bool is_request(const aphi_refine_options *o, aph_value message)
{
    for (size_t i = 0; i < o->clients * o->stride; i++)
        if (o->requests[i] == message)
            return true;
    return false;
}

/* If no client has sent the request, this is the fault of the network. Equal codecs make equal messages. */
static bool report_unknown_request(aphi_refine_space *g, aph_value message)
{
    const aphi_refine_options *o = g->options;
    if (!o->network || o->model->codec != o->spec->codec || is_request(o, message))
        return report_model_fault(g, APH_FAULT_REQUEST, aphi_step_reason());
    char *text = aph_json_text(message, NULL);
    aphi_refine_fault_set(g, APH_FAULT_CALL, "network %s: it delivers the request %.200s, which no client has sent and "
                          "the model %s does not know", o->network->name, text, o->model->name);
    free(text);
    return false;
}

/* Runs the model, through any step ends, to its next event without an answer. */
static bool run_model(aphi_refine_space *g, aphi_refine_state *s, aph_event *event)
{
    aph_value *state = &s->field[APHI_REFINE_MODEL_STATE], *answers = &s->field[APHI_REFINE_ANSWERS];
    for (size_t steps = 0; steps < QUIET_STEPS_MAX; steps++) {
        aphi_answers r = {.answers = *answers};
        switch (aphi_step_replay(g->options->model, state, &r)) {
        case APHI_LEFT: *event = r.event; return true;
        case APHI_NEVER: *event = (aph_event){.kind = APH_EVENT_NEVER}; return true;
        case APHI_ENDED:
            if (r.at < aph_count(*answers))
                return report_model_fault(g, APH_FAULT_IMPURE,
                                          "a step is not a pure function of its state and answers");
            *answers = aph_array(0, NULL);
            break;
        case APHI_UNKNOWN_REQUEST: return report_unknown_request(g, last_message(*answers));
        case APHI_OUT_OF_TIME: return report_model_fault(g, APH_FAULT_STUCK, "a step does not end");
        default: return report_model_fault(g, APH_FAULT_CRASH, aphi_step_reason());
        }
    }
    return report_model_fault(g, APH_FAULT_STUCK, "its steps end repeatedly without an event");
}

static void answer_event(aphi_refine_space *g, const aphi_refine_state *s, aph_value value)
{
    aphi_refine_state next = *s;
    aph_event event;
    next.field[APHI_REFINE_ANSWERS] = aph_push(next.field[APHI_REFINE_ANSWERS], value);
    if (run_model(g, &next, &event)) /* replays the current step from its beginning */
        aphi_refine_state_push(g, &next);
}

static aph_value fresh_value(aph_kind sort, size_t number)
{
    switch (sort) {
    case APH_INT: return aph_int(1000003 + (int64_t)number);
    case APH_STR: return aph_strf("chosen-%zu", number);
    default: return aph_bool(number % 2);
    }
}

/* Tries all values if there are few; otherwise only a fresh value, or both ends of the range. */
static void branch_on_choice(aphi_refine_space *g, const aphi_refine_state *s, const aph_event *e)
{
    aphi_refine_state next = *s;
    size_t chosen = (size_t)aph_int_of(s->field[APHI_REFINE_CHOSEN]);
    if (e->sort == APH_BOOL) {
        answer_event(g, s, aph_bool(false));
        answer_event(g, s, aph_bool(true));
    } else if (e->bounded && e->high >= e->low && (uint64_t)e->high - (uint64_t)e->low < ENUMERATED_MAX) {
        for (int64_t i = e->low;; i++) {
            answer_event(g, s, aph_int(i));
            if (i == e->high)
                break;
        }
    } else if (e->bounded) {
        g->sampled = true;
        answer_event(g, s, aph_int(e->low));
        answer_event(g, s, aph_int(e->high));
    } else {
        g->sampled = true;
        next.field[APHI_REFINE_CHOSEN] = aph_int((int64_t)chosen + 1);
        answer_event(g, &next, fresh_value(e->sort, chosen));
    }
}

/* Returns true if a message of the model can be observed. A model without connections can send to any client. */
static bool reaches_client(const aphi_refine_space *g, const aphi_refine_state *s, int64_t to)
{
    if (to < 1 || (size_t)to > g->options->clients)
        return false;
    size_t client = (size_t)to - 1, served = aphi_refine_client_count(s, client, APHI_REFINE_SERVED);
    return (served == APHI_REFINE_OPEN || served == APHI_REFINE_SHUT) &&
           (g->options->network || aphi_refine_client_count(s, client, APHI_REFINE_PHASE) != APHI_REFINE_OVER);
}

/* Sends bytes, or APH_CLOSED, to the client. */
static void send_to_client(aphi_refine_space *g, aphi_refine_state *s, size_t client, aph_value bytes)
{
    if (g->options->network)
        aphi_refine_network_send(g, s, client, bytes);
    else if (g->options->unreduced)
        aphi_refine_client_set(s, client, APHI_REFINE_FROM,
                               aph_push(aphi_refine_client(s, client, APHI_REFINE_FROM), bytes));
    else
        aphi_refine_client_receive(g, s, client, bytes);
}

static void close_connection(aphi_refine_space *g, const aphi_refine_state *s, int64_t to)
{
    aphi_refine_state next = *s;
    if (to >= 1 && (size_t)to <= g->options->clients) {
        size_t client = (size_t)to - 1;
        aph_value arriving = s->field[APHI_REFINE_ARRIVING];
        if (reaches_client(g, s, to))
            send_to_client(g, &next, client, APH_CLOSED);
        if (aphi_refine_client_count(s, client, APHI_REFINE_SERVED) != APHI_REFINE_UNOPENED)
            end_service(&next, client);
        if (arriving && (size_t)aph_int_of(aph_at(arriving, 0)) == client)
            next.field[APHI_REFINE_ARRIVING] = APH_NIL;
    }
    answer_event(g, &next, APH_NIL);
}

static void send_response(aphi_refine_space *g, const aphi_refine_state *s, const aph_event *e)
{
    aphi_refine_state next = *s;
    aph_value bytes;
    char why[APHI_ENCODE_WHY], text[400], all[480];
    if (!aphi_encode_value(g->options->model->codec, APH_FROM_SERVER, e->value, &bytes, why)) {
        aphi_encode_describe(text, sizeof text, why, e->value);
        snprintf(all, sizeof all, "it sends a value that its codec cannot encode: %s", text);
        report_model_fault(g, APH_FAULT_CODEC, all);
        return;
    }
    if (reaches_client(g, s, e->to))
        send_to_client(g, &next, (size_t)e->to - 1, bytes);
    answer_event(g, &next, APH_NIL);
}

static void receive_arriving(aphi_refine_space *g, const aphi_refine_state *s)
{
    aph_value arriving = s->field[APHI_REFINE_ARRIVING];
    aphi_refine_state next = *s;
    aph_value from = aph_int(aph_int_of(aph_at(arriving, 0)) + 1), message = aph_at(arriving, 1);
    arriving = aph_replace(aph_slice(arriving, 1, aph_count(arriving) - 1), 0, aph_at(arriving, 0));
    next.field[APHI_REFINE_ARRIVING] = aph_count(arriving) > 1 ? arriving : APH_NIL;
    answer_event(g, &next, APH_ARRAY_OF(from, message));
}

/* ---- the network without delay ----------------------------------------------------------------------------------- */

static void pass_signal(aphi_refine_space *g, const aphi_refine_state *s, size_t client, aph_value signal)
{
    aphi_refine_state next = *s;
    aphi_refine_client_signal(g, &next, client, signal);
    aphi_refine_take_signal(g, &next, client, signal);
}

static void pass_ends(aphi_refine_space *g, const aphi_refine_state *s, size_t client)
{
    size_t phase = aphi_refine_client_count(s, client, APHI_REFINE_PHASE);
    if (!g->options->model->connections || phase == APHI_REFINE_UNOPENED || phase == APHI_REFINE_OVER)
        return;
    if (phase == APHI_REFINE_OPEN)
        pass_signal(g, s, client, APH_CLOSED);
    pass_signal(g, s, client, APH_BROKEN);
}

static void pass_chunks(aphi_refine_space *g, const aphi_refine_state *s, size_t client)
{
    size_t min, max;
    aphi_refine_client_lengths(g, s, client, &min, &max);
    for (size_t n = min; n && n <= max; n++) {
        aphi_refine_state next = *s;
        aph_value chunk = aphi_refine_client_send(g, &next, client, n);
        aphi_refine_take_chunk(g, &next, client, chunk);
    }
}

/* Ends are pushed last. */
static void pass_to_model(aphi_refine_space *g, const aphi_refine_state *s)
{
    for (size_t i = 0; i < g->options->clients; i++) {
        if (aphi_refine_client_count(s, i, APHI_REFINE_PHASE) == APHI_REFINE_UNOPENED)
            pass_signal(g, s, i, APH_OPENED);
        pass_chunks(g, s, i);
    }
    g->first_end = g->count;
    for (size_t i = 0; i < g->options->clients; i++)
        pass_ends(g, s, i);
}

/* ---- the network with delays: unreduced only --------------------------------------------------------------------- */

/* A departure arrives in its order, or overtakes the chunks before it. The model does not learn of a connection whose
 * opening is overtaken. */
static void take_departure(aphi_refine_space *g, const aphi_refine_state *s, size_t client, aph_value departure)
{
    aphi_refine_state next = *s;
    aph_value to = aphi_refine_client(s, client, APHI_REFINE_TO);
    bool has_earlier = aph_count(to) > 1, is_shut = aphi_refine_client_count(s, client, APHI_REFINE_SERVED) ==
                                                    APHI_REFINE_SHUT;
    if (departure == APH_LEFT && !has_earlier && !is_shut) {
        aphi_refine_client_set(&next, client, APHI_REFINE_TO, aph_array(0, NULL));
        aphi_refine_take_signal(g, &next, client, APH_CLOSED);
        next = *s;
    }
    if (aph_at(to, 0) != APH_OPENED) {
        aphi_refine_take_signal(g, &next, client, APH_BROKEN);
        return;
    }
    end_service(&next, client);
    aphi_refine_state_push(g, &next);
}

static void take_delayed(aphi_refine_space *g, const aphi_refine_state *s, size_t client)
{
    aph_value to = aphi_refine_client(s, client, APHI_REFINE_TO);
    size_t n = aph_count(to);
    aph_value first = n ? aph_at(to, 0) : APH_NIL, last = n ? aph_at(to, n - 1) : APH_NIL;
    aphi_refine_state next = *s;
    if (last == APH_LEFT || last == APH_BROKEN)
        take_departure(g, s, client, last);
    if (!n || first == APH_LEFT || first == APH_BROKEN)
        return;
    aphi_refine_client_set(&next, client, APHI_REFINE_TO, aph_slice(to, 1, n - 1));
    if (aphi_is_signal(first))
        aphi_refine_take_signal(g, &next, client, first);
    else
        aphi_refine_take_chunk(g, &next, client, first);
}

static void receive_message(aphi_refine_space *g, const aphi_refine_state *s)
{
    if (s->field[APHI_REFINE_ARRIVING]) {
        receive_arriving(g, s);
        return;
    }
    if (g->options->network) {
        aphi_refine_network_expand(g, s);
        return;
    }
    if (!g->options->unreduced) {
        pass_to_model(g, s);
        return;
    }
    for (size_t i = 0; i < g->options->clients; i++)
        take_delayed(g, s, i);
}

/* The client sends something that is in transit until the model takes it. */
static void send_delayed(aphi_refine_space *g, aphi_refine_state *s, size_t client, aph_value item)
{
    if (aphi_refine_client_count(s, client, APHI_REFINE_SERVED) != APHI_REFINE_OVER)
        aphi_refine_client_set(s, client, APHI_REFINE_TO,
                               aph_push(aphi_refine_client(s, client, APHI_REFINE_TO), item));
    aphi_refine_state_push(g, s);
}

static void signal_delayed(aphi_refine_space *g, const aphi_refine_state *s, size_t client, aph_value signal)
{
    aphi_refine_state next = *s;
    aphi_refine_client_signal(g, &next, client, signal);
    send_delayed(g, &next, client, signal);
}

static void signals_delayed(aphi_refine_space *g, const aphi_refine_state *s, size_t client)
{
    if (!g->options->model->connections && !g->options->spec->connections)
        return;
    switch (aphi_refine_client_count(s, client, APHI_REFINE_PHASE)) {
    case APHI_REFINE_UNOPENED: signal_delayed(g, s, client, APH_OPENED); break;
    case APHI_REFINE_OPEN: signal_delayed(g, s, client, APH_CLOSED); /* fall through */
    case APHI_REFINE_SHUT:
        signal_delayed(g, s, client, APH_LEFT);
        signal_delayed(g, s, client, APH_BROKEN);
        break;
    default: break;
    }
}

/* The close of the server arrives in its order, or as a reset, which loses the messages before it. */
static void receive_delayed(aphi_refine_space *g, const aphi_refine_state *s, size_t client)
{
    aph_value from = aphi_refine_client(s, client, APHI_REFINE_FROM);
    size_t n = aph_count(from);
    aphi_refine_state next = *s;
    if (!n)
        return;
    aphi_refine_client_set(&next, client, APHI_REFINE_FROM, aph_slice(from, 1, n - 1));
    aphi_refine_client_receive(g, &next, client, aph_at(from, 0));
    aphi_refine_state_push(g, &next);
    next = *s;
    if (aph_at(from, n - 1) == APH_CLOSED) {
        aphi_refine_client_receive(g, &next, client, APH_BROKEN);
        aphi_refine_state_push(g, &next);
    }
}

static void step_network(aphi_refine_space *g, const aphi_refine_state *s)
{
    for (size_t i = 0; i < g->options->clients; i++) {
        size_t min, max;
        aphi_refine_client_lengths(g, s, i, &min, &max);
        for (size_t n = min; n && n <= max; n++) {
            aphi_refine_state next = *s;
            aph_value chunk = aphi_refine_client_send(g, &next, i, n);
            send_delayed(g, &next, i, chunk);
        }
        signals_delayed(g, s, i);
        receive_delayed(g, s, i);
    }
}

/* ---- expansion --------------------------------------------------------------------------------------------------- */

static void step_model(aphi_refine_space *g, aphi_refine_state *s)
{
    aph_event e;
    if (!run_model(g, s, &e))
        return;
    switch (e.kind) {
    case APH_EVENT_RECV: receive_message(g, s); break;
    case APH_EVENT_SEND:
        if (e.value == APH_CLOSED)
            close_connection(g, s, e.to);
        else
            send_response(g, s, &e);
        break;
    case APH_EVENT_CHOOSE: branch_on_choice(g, s, &e); break;
    case APH_EVENT_DECIDE:
        if (aph_kind_of(e.value) == APH_BOOL)
            answer_event(g, s, e.value);
        break; /* otherwise the value is undefined, and this branch is impossible */
    case APH_EVENT_EITHER:
        for (size_t i = 0; i < e.count; i++)
            answer_event(g, s, aph_int((int64_t)i));
        break;
    default: break;
    }
}

void aphi_refine_space_expand(aphi_refine_space *g, aph_value v)
{
    aphi_refine_state s = aphi_refine_state_unpack(v);
    g->first_end = SIZE_MAX;
    step_model(g, &s);
    if (g->options->unreduced && !g->options->network)
        step_network(g, &s);
}

/* ---- setup ------------------------------------------------------------------------------------------------------- */

static bool is_same_codec(const aph_codec *a, const aph_codec *b)
{
    a = a ? a : &aph_codec_json;
    b = b ? b : &aph_codec_json;
    return a->decode == b->decode && a->encode == b->encode && a->size == b->size;
}

/* Replaces the unknowns of the initial state with fresh values. */
static aph_value concretize(aphi_refine_space *g, aph_value v)
{
    aph_value key, item;
    if (!aph_is_symbolic(v))
        return v;
    switch (aph_kind_of(v)) {
    case APH_SYMBOL:
        g->sampled = true;
        return fresh_value(aph_symbol_sort(v), 1000 + aph_symbol_number(v));
    case APH_ARRAY:
        for (size_t i = 0; i < aph_count(v); i++)
            v = aph_replace(v, i, concretize(g, aph_at(v, i)));
        return v;
    case APH_OBJECT:
        for (size_t i = 0; aph_pair_at(v, i, &key, &item); i++)
            v = aph_set(v, key, concretize(g, item));
        return v;
    case APH_TERM: {
        size_t n = aph_term_count(v);
        return aph_term(aph_term_op(v), n > 0 ? concretize(g, aph_term_arg(v, 0)) : APH_NIL,
                        n > 1 ? concretize(g, aph_term_arg(v, 1)) : APH_NIL);
    }
    default: return v;
    }
}

static bool encode_requests(aphi_refine_space *g)
{
    const aphi_refine_options *o = g->options;
    g->bytes = aphi_alloc_zero((o->clients * o->stride + 1) * sizeof *g->bytes);
    for (size_t i = 0; i < o->clients; i++)
        for (size_t k = 0; k < o->messages; k++) {
            size_t which = i * o->stride + k;
            char why[APHI_ENCODE_WHY];
            if (aphi_encode_value(o->spec->codec, APH_TO_SERVER, o->requests[which], &g->bytes[which], why))
                continue;
            char *text = aph_json_text(o->requests[which], NULL);
            aphi_refine_fault_set(g, APH_FAULT_REQUEST, "%.100s is not a request of %s%s%s", text, o->spec->name,
                                  *why ? ": " : "", why);
            free(text);
            return false;
        }
    return true;
}

bool aphi_refine_space_open(aphi_refine_space *g, const aphi_refine_options *options, aph_value *first)
{
    *g = (aphi_refine_space){.options = options};
    g->chunks = is_same_codec(options->model->codec, options->spec->codec) ? 1 : options->chunks;
    if (!encode_requests(g))
        return false;
    const aph_model *model = options->model;
    aph_value start = concretize(g, aphi_model_initial(model)), none = aph_array(0, NULL);
    aphi_refine_state s = {{[APHI_REFINE_MODEL_STATE] = start,
                            [APHI_REFINE_ANSWERS] = none,
                            [APHI_REFINE_CHOSEN] = aph_int(0),
                            [APHI_REFINE_CLIENTS] = aphi_refine_clients_open(g),
                            [APHI_REFINE_TRACE] = none}};
    aph_event event;
    if (!run_model(g, &s, &event) || (options->network && !aphi_refine_network_open(g, &s)))
        return false;
    *first = aph_array(APHI_REFINE_FIELDS, s.field);
    return true;
}

void aphi_refine_space_close(aphi_refine_space *g)
{
    free(g->bytes);
    free(g->states);
}

void aphi_refine_space_mark(const aphi_refine_space *g)
{
    for (size_t i = 0; g->bytes && i < g->options->clients * g->options->stride; i++)
        aph_mark(g->bytes[i]);
    for (size_t i = 0; i < g->count; i++)
        aph_mark(g->states[i]);
    aph_mark(g->trace);
}
