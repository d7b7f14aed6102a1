/* SPDX-License-Identifier: Apache-2.0
 *
 * refine_clients.c - the clients of a model: messages that they send and observe, both ends of their connections.
 *
 * Invariants: 1. if neither model has connections, the phases of all connections are OPEN
 *             2. after the end of a connection for a client, no bytes are in transit to it */
#include "refine/refine_clients.h"

#include "base/memory.h"
#include "refine/refine_trace.h"
#include "value/heap.h"

#include <stdarg.h>

aphi_refine_state aphi_refine_state_unpack(aph_value state)
{
    aphi_refine_state s;
    for (size_t i = 0; i < APHI_REFINE_FIELDS; i++)
        s.field[i] = aph_at(state, i);
    return s;
}

void aphi_refine_state_push(aphi_refine_space *g, const aphi_refine_state *s)
{
    if (g->flaw)
        return;
    APHI_PUSH(g->states, g->count, g->capacity, aph_array(APHI_REFINE_FIELDS, s->field));
}

aph_value aphi_refine_client(const aphi_refine_state *s, size_t client, size_t field)
{
    return aph_at(aph_at(s->field[APHI_REFINE_CLIENTS], client), field);
}

size_t aphi_refine_client_count(const aphi_refine_state *s, size_t client, size_t field)
{
    return (size_t)aph_int_of(aphi_refine_client(s, client, field));
}

void aphi_refine_client_set(aphi_refine_state *s, size_t client, size_t field, aph_value v)
{
    aph_value all = s->field[APHI_REFINE_CLIENTS];
    s->field[APHI_REFINE_CLIENTS] = aph_replace(all, client, aph_replace(aph_at(all, client), field, v));
}

void aphi_refine_client_set_count(aphi_refine_state *s, size_t client, size_t field, size_t n)
{
    aphi_refine_client_set(s, client, field, aph_int((int64_t)n));
}

aph_value aphi_refine_clients_open(const aphi_refine_space *g)
{
    bool signals = g->options->model->connections || g->options->spec->connections;
    aph_value none = aph_array(0, NULL), empty = aph_str(""), zero = aph_int(0), clients = none;
    aph_value phase = aph_int(signals ? APHI_REFINE_UNOPENED : APHI_REFINE_OPEN);
    aph_value client = APH_ARRAY_OF([APHI_REFINE_NEXT] = zero, [APHI_REFINE_OFFSET] = zero, [APHI_REFINE_CHUNKS] = zero,
                                    [APHI_REFINE_TO] = none, [APHI_REFINE_UNREAD] = empty, [APHI_REFINE_FROM] = none,
                                    [APHI_REFINE_PARTIAL] = empty, [APHI_REFINE_PHASE] = phase,
                                    [APHI_REFINE_SERVED] = phase);
    for (size_t i = 0; i < g->options->clients; i++)
        clients = aph_push(clients, client);
    return clients;
}

void aphi_refine_fault_set(aphi_refine_space *g, aph_fault fault, const char *format, ...)
{
    va_list args;
    if (g->flaw)
        return;
    g->flaw = APHI_REFINE_FLAW_FAULT;
    g->fault = fault;
    va_start(args, format);
    vsnprintf(g->why, sizeof g->why, format, args);
    va_end(args);
}

/* Records a flaw that the client observes. */
__attribute__((format(printf, 5, 6))) static void report_flaw(aphi_refine_space *g, aphi_refine_flaw flaw,
                                                              aph_value trace, size_t client, const char *format, ...)
{
    va_list args;
    if (g->flaw)
        return;
    g->flaw = flaw;
    g->fault = APH_FAULT_NONE;
    g->trace = trace;
    g->flawed = client;
    va_start(args, format);
    vsnprintf(g->why, sizeof g->why, format, args);
    va_end(args);
}

static void add_entry(const aphi_refine_space *g, aphi_refine_state *s, aph_value entry)
{
    aph_value *trace = &s->field[APHI_REFINE_TRACE];
    *trace = aphi_refine_trace_add(*trace, entry, !g->options->unreduced && !g->options->network);
}

/* ---- receiving --------------------------------------------------------------------------------------------------- */

static void begin_response(aphi_refine_space *g, aphi_refine_state *s, size_t client, aph_value bytes)
{
    aph_value request, trace = s->field[APHI_REFINE_TRACE];
    if (g->options->spec->rpc && !aphi_refine_trace_request(trace, client, true, &request))
        report_flaw(g, APHI_REFINE_FLAW_UNREQUESTED,
                    aph_push(trace, aphi_refine_entry(APHI_REFINE_RECEIVED, client, bytes)), client,
                    "a response begins on connection %zu without a request: %zu requests were sent and answered, and "
                    "%zu bytes of the next were sent", client + 1,
                    aphi_refine_client_count(s, client, APHI_REFINE_NEXT),
                    aphi_refine_client_count(s, client, APHI_REFINE_OFFSET));
    add_entry(g, s, APH_ARRAY_OF(aph_int(APHI_REFINE_RECEIVED), aph_int((int64_t)client)));
}

static void end_response(aphi_refine_state *s, size_t client, aph_value message)
{
    aph_value *trace = &s->field[APHI_REFINE_TRACE];
    *trace = aphi_refine_trace_complete(*trace, client, message);
}

/* The message is placed at its last byte, so that the earlier events are shown. */
void aphi_refine_malformed(aphi_refine_space *g, const aphi_refine_state *s, size_t client, aph_value bytes,
                           const aph_wire *wire)
{
    aph_value trace = aphi_refine_trace_drop_incomplete(s->field[APHI_REFINE_TRACE], client);
    report_flaw(g, APHI_REFINE_FLAW_MALFORMED,
                aph_push(trace, aphi_refine_entry(APHI_REFINE_RECEIVED, client, bytes)), client,
                "connection %zu: not a valid message of %s: byte %zu: %s", client + 1, g->options->spec->name,
                wire->at + 1, wire->why);
}

/* `ended`: the server sends nothing more. */
static void receive_bytes(aphi_refine_space *g, aphi_refine_state *s, size_t client, aph_value bytes, bool ended)
{
    aph_value waiting = aphi_refine_client(s, client, APHI_REFINE_PARTIAL);
    bool begun = aph_count(waiting) > 0;
    waiting = aph_concat(waiting, bytes);
    while (aph_count(waiting) && !g->flaw) {
        size_t n;
        aph_wire wire = {.side = APH_FROM_SERVER, .ended = ended};
        if (!begun)
            begin_response(g, s, client, waiting);
        begun = true;
        aphi_refine_trace_request(s->field[APHI_REFINE_TRACE], client, false, &wire.asked);
        wire.bytes = (const unsigned char *)aph_bytes_of(&waiting, &n);
        wire.count = n;
        aph_decoded decoded = aph_decode(g->options->spec->codec, &wire);
        if (decoded == APH_MORE)
            break;
        if (decoded == APH_MALFORMED) {
            aphi_refine_malformed(g, s, client, waiting, &wire);
            return;
        }
        end_response(s, client, wire.message);
        waiting = aph_substr(waiting, wire.used, n - wire.used);
        begun = false;
    }
    aphi_refine_client_set(s, client, APHI_REFINE_PARTIAL, waiting);
}

/* The client sends and receives nothing more. Its other fields are reset, so that equal states
 * are merged. */
static void end_connection(aphi_refine_state *s, size_t client)
{
    aph_value *trace = &s->field[APHI_REFINE_TRACE];
    *trace = aphi_refine_trace_drop_incomplete(*trace, client);
    aphi_refine_client_set_count(s, client, APHI_REFINE_PHASE, APHI_REFINE_OVER);
    aphi_refine_client_set(s, client, APHI_REFINE_PARTIAL, aph_str(""));
    aphi_refine_client_set(s, client, APHI_REFINE_FROM, aph_array(0, NULL));
}

static void forget_unsent(aphi_refine_state *s, size_t client)
{
    aphi_refine_client_set_count(s, client, APHI_REFINE_OFFSET, 0);
    aphi_refine_client_set_count(s, client, APHI_REFINE_CHUNKS, 0);
}

/* A specification without connections does not explain a close. The server may close a connection after its client, but
 * not before it has answered. */
static void check_close(aphi_refine_space *g, aphi_refine_state *s, size_t client, aph_value end)
{
    const aph_model *spec = g->options->spec;
    aph_value request, trace = s->field[APHI_REFINE_TRACE];
    bool open = aphi_refine_client_count(s, client, APHI_REFINE_PHASE) == APHI_REFINE_OPEN;
    bool missing = spec->rpc && end == APH_CLOSED && aphi_refine_trace_request(trace, client, false, &request);
    if (spec->connections || spec->closes != APH_CLOSES_NEVER)
        return;
    if (open || missing)
        report_flaw(g, APHI_REFINE_FLAW_CLOSED, trace, client,
                    open ? "the server closes connection %zu, which its client has not closed"
                         : "the server closes connection %zu without a response to a request", client + 1);
}

void aphi_refine_client_end(aphi_refine_space *g, aphi_refine_state *s, size_t client, aph_value end)
{
    add_entry(g, s, aphi_refine_entry(APHI_REFINE_RECEIVED, client, end));
    check_close(g, s, client, end);
    end_connection(s, client);
    forget_unsent(s, client);
}

void aphi_refine_client_receive(aphi_refine_space *g, aphi_refine_state *s, size_t client, aph_value bytes)
{
    if (!aphi_is_signal(bytes)) {
        receive_bytes(g, s, client, bytes, false);
        return;
    }
    if (bytes == APH_CLOSED)
        receive_bytes(g, s, client, aph_str(""), true);
    if (!g->flaw)
        aphi_refine_client_end(g, s, client, bytes);
}

/* ---- sending ----------------------------------------------------------------------------------------------------- */

void aphi_refine_client_lengths(const aphi_refine_space *g, const aphi_refine_state *s, size_t client, size_t *min,
                                size_t *max)
{
    size_t next = aphi_refine_client_count(s, client, APHI_REFINE_NEXT);
    *min = *max = 0;
    if (next == g->options->messages || aphi_refine_client_count(s, client, APHI_REFINE_PHASE) != APHI_REFINE_OPEN)
        return;
    *max = aph_count(g->bytes[client * g->options->stride + next]) -
           aphi_refine_client_count(s, client, APHI_REFINE_OFFSET);
    *min = aphi_refine_client_count(s, client, APHI_REFINE_CHUNKS) + 1 < g->chunks ? 1 : *max;
}

aph_value aphi_refine_client_send(const aphi_refine_space *g, aphi_refine_state *s, size_t client, size_t n)
{
    size_t next = aphi_refine_client_count(s, client, APHI_REFINE_NEXT);
    size_t offset = aphi_refine_client_count(s, client, APHI_REFINE_OFFSET);
    size_t chunks = aphi_refine_client_count(s, client, APHI_REFINE_CHUNKS);
    size_t which = client * g->options->stride + next;
    aph_value chunk = aph_substr(g->bytes[which], offset, n);
    if (offset + n < aph_count(g->bytes[which])) {
        aphi_refine_client_set_count(s, client, APHI_REFINE_OFFSET, offset + n);
        aphi_refine_client_set_count(s, client, APHI_REFINE_CHUNKS, chunks + 1);
        return chunk;
    }
    add_entry(g, s, aphi_refine_entry(APHI_REFINE_SENT, client, g->options->requests[which]));
    aphi_refine_client_set_count(s, client, APHI_REFINE_NEXT, next + 1);
    forget_unsent(s, client);
    return chunk;
}

void aphi_refine_client_signal(const aphi_refine_space *g, aphi_refine_state *s, size_t client, aph_value signal)
{
    size_t phase = signal == APH_OPENED ? APHI_REFINE_OPEN : APHI_REFINE_SHUT;
    if (signal == APH_LEFT || signal == APH_BROKEN)
        end_connection(s, client);
    else
        aphi_refine_client_set_count(s, client, APHI_REFINE_PHASE, phase);
    forget_unsent(s, client);
    add_entry(g, s, aphi_refine_entry(APHI_REFINE_SENT, client, signal));
}
