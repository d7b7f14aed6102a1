/* SPDX-License-Identifier: Apache-2.0
 *
 * refine_network.c - a user's network between the clients and the model.
 *
 * Idea:       the network is a part of the state. It runs when the model receives and nothing arrives. It absorbs a
 *             message of the model, or else the next message, opening or end of any client. A packet that it emits
 *             arrives at the model, or is observed by a client.
 * Invariants: 1. packets are whole messages of the specification, converted to and from the messages of the model
 *             2. TO of a client has the bytes of an incomplete response, which is not a packet yet
 * Not done:   reductions. A network may deliver messages of different connections in an order that clients notice. */
#include "refine/refine_network.h"

#include "refine/refine_trace.h"
#include "tree/network_step.h"
#include "tree/step.h"
#include "value/heap.h"

#include <inttypes.h>

/* The fields of APHI_REFINE_NETWORK. */
enum {
    STATE,   /* at the beginning of the current step */
    ANSWERS, /* answers to the events of the step so far */
    OUT,     /* packets of the model that were not absorbed */
    FIELDS
};

enum { QUIET_STEPS_MAX = 1000 };

static aph_value field_of(const aphi_refine_state *s, size_t field)
{
    return aph_at(s->field[APHI_REFINE_NETWORK], field);
}

static void set_field(aphi_refine_state *s, size_t field, aph_value v)
{
    s->field[APHI_REFINE_NETWORK] = aph_replace(s->field[APHI_REFINE_NETWORK], field, v);
}

static bool report_fault(aphi_refine_space *g, aph_fault fault, const char *why)
{
    aphi_refine_fault_set(g, fault, "network %s: %s", g->options->network->name, why);
    return false;
}

/* Runs the network, through any step ends, to its next event without an answer. */
static bool run_network(aphi_refine_space *g, aphi_refine_state *s, aph_event *event)
{
    for (size_t steps = 0; steps < QUIET_STEPS_MAX; steps++) {
        aph_value state = field_of(s, STATE);
        aphi_answers r = {.answers = field_of(s, ANSWERS)};
        switch (aphi_step_replay(&g->network, &state, &r)) {
        case APHI_LEFT: *event = r.event; return true;
        case APHI_NEVER: *event = (aph_event){.kind = APH_EVENT_NEVER}; return true;
        case APHI_ENDED:
            set_field(s, STATE, state);
            set_field(s, ANSWERS, aph_array(0, NULL));
            break;
        case APHI_OUT_OF_TIME: return report_fault(g, APH_FAULT_STUCK, "a step does not end");
        default: return report_fault(g, APH_FAULT_CRASH, aphi_step_reason());
        }
    }
    return report_fault(g, APH_FAULT_STUCK, "its steps end repeatedly without an event; call aph_absorb");
}

bool aphi_refine_network_open(aphi_refine_space *g, aphi_refine_state *s)
{
    aph_event unused;
    g->network = aph_network_model(g->options->network);
    s->field[APHI_REFINE_NETWORK] =
        APH_ARRAY_OF([STATE] = g->network.initial(&g->network), [ANSWERS] = aph_array(0, NULL),
                     [OUT] = aph_array(0, NULL));
    return run_network(g, s, &unused);
}

/* Returns false if the network has failed. */
static bool answer_network(aphi_refine_space *g, aphi_refine_state *s, aph_value answer)
{
    aph_event unused;
    set_field(s, ANSWERS, aph_push(field_of(s, ANSWERS), answer));
    return run_network(g, s, &unused);
}

static void push_answered(aphi_refine_space *g, const aphi_refine_state *s, aph_value answer)
{
    aphi_refine_state next = *s;
    if (answer_network(g, &next, answer))
        aphi_refine_state_push(g, &next);
}

/* ---- from the model ---------------------------------------------------------------------------------------------- */

static void add_outgoing(aphi_refine_state *s, size_t client, aph_value message)
{
    aph_packet p = {.to_server = false, .connection = (int64_t)client + 1, .message = message};
    set_field(s, OUT, aph_push(field_of(s, OUT), aph_packet_value(p)));
}

void aphi_refine_network_send(aphi_refine_space *g, aphi_refine_state *s, size_t client, aph_value bytes)
{
    aph_value kept = aphi_refine_client(s, client, APHI_REFINE_TO);
    bool closes = bytes == APH_CLOSED;
    aph_value before = aph_is_str(kept) ? kept : aph_str(""), waiting = closes ? before : aph_concat(before, bytes);
    while (aph_count(waiting)) {
        size_t n;
        aph_wire wire = {.side = APH_FROM_SERVER, .ended = closes};
        wire.bytes = (const unsigned char *)aph_bytes_of(&waiting, &n);
        wire.count = n;
        aph_decoded decoded = aph_decode(g->options->spec->codec, &wire);
        if (decoded == APH_MORE)
            break;
        if (decoded == APH_MALFORMED) {
            aphi_refine_malformed(g, s, client, waiting, &wire);
            return;
        }
        add_outgoing(s, client, wire.message);
        waiting = aph_substr(waiting, wire.used, n - wire.used);
    }
    aphi_refine_client_set(s, client, APHI_REFINE_TO, waiting);
    if (closes)
        add_outgoing(s, client, APH_CLOSED);
}

/* ---- absorbing --------------------------------------------------------------------------------------------------- */

static void absorb_request(aphi_refine_space *g, const aphi_refine_state *s, size_t client, aph_value message)
{
    aph_packet p = {.to_server = true, .connection = (int64_t)client + 1, .message = message};
    push_answered(g, s, aph_packet_value(p));
}

static void absorb_signal(aphi_refine_space *g, const aphi_refine_state *s, size_t client, aph_value signal)
{
    aphi_refine_state next = *s;
    aphi_refine_client_signal(g, &next, client, signal);
    absorb_request(g, &next, client, signal);
}

static void absorb_from(aphi_refine_space *g, const aphi_refine_state *s, size_t client)
{
    size_t phase = aphi_refine_client_count(s, client, APHI_REFINE_PHASE);
    size_t which = client * g->options->stride + aphi_refine_client_count(s, client, APHI_REFINE_NEXT), min, max;
    bool signals = g->options->model->connections || g->options->spec->connections;
    aphi_refine_client_lengths(g, s, client, &min, &max);
    if (max) {
        aphi_refine_state next = *s;
        aphi_refine_client_send(g, &next, client, max);
        absorb_request(g, &next, client, g->options->requests[which]);
    }
    if (phase == APHI_REFINE_UNOPENED)
        absorb_signal(g, s, client, APH_OPENED);
    if (signals && phase == APHI_REFINE_OPEN)
        absorb_signal(g, s, client, APH_CLOSED);
    if (signals && (phase == APHI_REFINE_OPEN || phase == APHI_REFINE_SHUT)) {
        absorb_signal(g, s, client, APH_LEFT);
        absorb_signal(g, s, client, APH_BROKEN);
    }
}

static void absorb(aphi_refine_space *g, const aphi_refine_state *s)
{
    aph_value out = field_of(s, OUT);
    aphi_refine_state next = *s;
    if (aph_count(out)) {
        set_field(&next, OUT, aph_slice(out, 1, aph_count(out) - 1));
        push_answered(g, &next, aph_at(out, 0));
        return;
    }
    for (size_t i = 0; i < g->options->clients; i++)
        absorb_from(g, s, i);
}

/* ---- emitting ---------------------------------------------------------------------------------------------------- */

static void observe(aphi_refine_space *g, aphi_refine_state *s, size_t client, aph_value message)
{
    if (aphi_refine_client_count(s, client, APHI_REFINE_PHASE) == APHI_REFINE_OVER)
        return;
    if (message == APH_CLOSED || message == APH_BROKEN) {
        aphi_refine_client_end(g, s, client, message);
        return;
    }
    aph_value *trace = &s->field[APHI_REFINE_TRACE];
    *trace = aphi_refine_trace_add(*trace, aphi_refine_entry(APHI_REFINE_RECEIVED, client, message), false);
}

/* A client that has closed both sides: the server receives a close, or a reset. */
static void deliver(aphi_refine_space *g, aphi_refine_state *s, size_t client, aph_value message)
{
    aphi_refine_state broken = *s;
    aph_value bytes;
    size_t served = aphi_refine_client_count(s, client, APHI_REFINE_SERVED);
    if (served == APHI_REFINE_OVER) {
        aphi_refine_state_push(g, s);
    } else if (message == APH_LEFT) {
        if (served == APHI_REFINE_SHUT)
            aphi_refine_state_push(g, s);
        else
            aphi_refine_take_signal(g, s, client, APH_CLOSED);
        aphi_refine_take_signal(g, &broken, client, APH_BROKEN);
    } else if (aphi_is_signal(message)) {
        aphi_refine_take_signal(g, s, client, message);
    } else if (aph_encode(g->options->spec->codec, APH_TO_SERVER, message, &bytes)) {
        aphi_refine_take_chunk(g, s, client, bytes);
    } else {
        aphi_refine_fault_set(g, APH_FAULT_REQUEST, "network %s: it delivers a value that is not a request of %s",
                              g->options->network->name, g->options->spec->name);
    }
}

static void emit(aphi_refine_space *g, const aphi_refine_state *s, aph_packet p)
{
    aphi_refine_state next = *s;
    if (!answer_network(g, &next, APH_NIL))
        return;
    if (p.connection < 1 || (uint64_t)p.connection > g->options->clients) {
        aphi_refine_fault_set(g, APH_FAULT_CALL, "network %s: it delivers a packet on connection %" PRId64
                              ", which does not exist", g->options->network->name, p.connection);
        return;
    }
    size_t client = (size_t)p.connection - 1;
    if (p.to_server) {
        deliver(g, &next, client, p.message);
        return;
    }
    observe(g, &next, client, p.message);
    aphi_refine_state_push(g, &next);
}

/* ---- events ------------------------------------------------------------------------------------------------------ */

void aphi_refine_network_expand(aphi_refine_space *g, const aphi_refine_state *s)
{
    aphi_refine_state at = *s;
    aph_event e;
    if (!run_network(g, &at, &e))
        return;
    switch (e.kind) {
    case APH_EVENT_RECV: absorb(g, &at); break;
    case APH_EVENT_SEND: emit(g, &at, aph_packet_of(e.value)); break;
    case APH_EVENT_EITHER:
        for (size_t i = 0; i < e.count; i++)
            push_answered(g, &at, aph_int((int64_t)i));
        break;
    case APH_EVENT_OTHER: push_answered(g, &at, aph_bool(aph_count(field_of(&at, OUT)) > 0)); break;
    case APH_EVENT_NEVER:
    case APH_EVENT_RETURN: break;
    case APH_EVENT_CHOOSE:
    case APH_EVENT_DECIDE:
        report_fault(g, APH_FAULT_CALL, "refine tries picks only; call aph_pick instead of aph_choose and aph_decide");
    }
}
