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
 * Reductions: a trace that a specification allows across the network remains allowed if a response is received later or
 *             a request is sent earlier, relative to events on other connections (Koh et al., section 4: "disordering"
 *             twice is disordering). So a network without delay produces the strictest traces. Only these are made:
 *             1. a response is received when it is sent: this event alone is a persistent set
 *             2. a chunk is sent when the model takes it
 *             3. adjacent entries of a trace that are both requests or both responses, on different connections, are
 *                sorted by client: no specification distinguishes them, and equal traces are merged
 *             options->unreduced disables all three: sending and receiving are separate events in each direction.
 * Invariants: 1. ANSWERS has the answers to all events so far of the current step
 *             2. ARRIVING is not nil while the model processes a chunk; no other chunk is taken meanwhile
 * Cost:       a step is run from its beginning for each of its events. */
#include "refine/refine_space.h"

#include "base/memory.h"
#include "tree/step.h"

#include <assert.h>
#include <stdarg.h>
#include <stdlib.h>

/* The fields of a client. */
enum {
    NEXT,    /* number of its next request */
    OFFSET,  /* bytes of that request sent so far */
    CHUNKS,  /* chunks of that request sent so far */
    TO,      /* chunks in transit to the model, an array; unreduced only */
    UNREAD,  /* arrived bytes of an incomplete message */
    FROM,    /* bytes in transit to the client, an array; unreduced only */
    PARTIAL, /* received bytes of an incomplete response */
    CLIENT_FIELDS
};

enum { QUIET_STEPS_MAX = 1000, ENUMERATED_MAX = 8 };

typedef struct state_fields {
    aph_value field[APHI_REFINE_FIELDS];
} state_fields;

static state_fields unpack_state(aph_value v)
{
    state_fields s;
    for (size_t i = 0; i < APHI_REFINE_FIELDS; i++)
        s.field[i] = aph_at(v, i);
    return s;
}

static void push_state(aphi_refine_space *g, const state_fields *s)
{
    if (g->flaw)
        return;
    APHI_PUSH(g->states, g->count, g->capacity, aph_array(APHI_REFINE_FIELDS, s->field));
}

static aph_value client_field(const state_fields *s, size_t client, size_t field)
{
    return aph_at(aph_at(s->field[APHI_REFINE_CLIENTS], client), field);
}

static size_t client_count(const state_fields *s, size_t client, size_t field)
{
    return (size_t)aph_int_of(client_field(s, client, field));
}

static void set_client(state_fields *s, size_t client, size_t field, aph_value v)
{
    aph_value all = s->field[APHI_REFINE_CLIENTS];
    s->field[APHI_REFINE_CLIENTS] = aph_replace(all, client, aph_replace(aph_at(all, client), field, v));
}

static void set_count(state_fields *s, size_t client, size_t field, size_t n)
{
    set_client(s, client, field, aph_int((int64_t)n));
}

__attribute__((format(printf, 5, 6))) static void report_flaw(aphi_refine_space *g, aphi_refine_flaw flaw,
                                                              aph_fault fault, aph_value trace, const char *format, ...)
{
    va_list args;
    if (g->flaw)
        return;
    g->flaw = flaw;
    g->fault = fault;
    g->trace = trace;
    va_start(args, format);
    vsnprintf(g->why, sizeof g->why, format, args);
    va_end(args);
}

/* ---- the trace --------------------------------------------------------------------------------------------------- */

static int64_t entry_kind(aph_value entry)
{
    return aph_int_of(aph_at(entry, 0));
}

static size_t entry_client(aph_value entry)
{
    return (size_t)aph_int_of(aph_at(entry, 1));
}

static bool is_complete(aph_value entry)
{
    return aph_count(entry) == 3;
}

static aph_value insert_entry(aph_value trace, size_t at, aph_value entry)
{
    size_t n = aph_count(trace);
    if (at == n)
        return aph_push(trace, entry);
    aph_value *items = aphi_alloc((n + 1) * sizeof *items);
    for (size_t i = 0; i <= n; i++)
        items[i] = i == at ? entry : aph_at(trace, i - (i > at));
    trace = aph_array(n + 1, items);
    free(items);
    return trace;
}

static void add_entry(const aphi_refine_space *g, state_fields *s, aph_value entry)
{
    aph_value trace = s->field[APHI_REFINE_TRACE];
    size_t at = aph_count(trace);
    while (!g->options->unreduced && at > 0 && entry_kind(aph_at(trace, at - 1)) == entry_kind(entry) &&
           entry_client(aph_at(trace, at - 1)) > entry_client(entry))
        at--;
    s->field[APHI_REFINE_TRACE] = insert_entry(trace, at, entry);
}

static aph_value make_entry(int64_t kind, size_t client, aph_value message)
{
    return APH_ARRAY_OF(aph_int(kind), aph_int((int64_t)client), message);
}

/* Finds the oldest request of the client without a response (`begun`: without the beginning of one). */
static bool find_request(const state_fields *s, size_t client, bool begun, aph_value *request)
{
    aph_value trace = s->field[APHI_REFINE_TRACE];
    size_t responses = 0;
    for (size_t i = 0; i < aph_count(trace); i++) {
        aph_value e = aph_at(trace, i);
        responses += entry_kind(e) == APHI_REFINE_RECEIVED && entry_client(e) == client && (begun || is_complete(e));
    }
    for (size_t i = 0; i < aph_count(trace); i++) {
        aph_value e = aph_at(trace, i);
        if (entry_kind(e) == APHI_REFINE_SENT && entry_client(e) == client && responses-- == 0) {
            *request = aph_at(e, 2);
            return true;
        }
    }
    *request = APH_NIL;
    return false;
}

aph_value aphi_refine_trace_lines(aph_value trace)
{
    aph_value lines = aph_array(0, NULL);
    for (size_t i = 0; i < aph_count(trace); i++) {
        aph_value e = aph_at(trace, i), connection = aph_int((int64_t)entry_client(e) + 1);
        if (is_complete(e))
            lines = aph_push(lines, aph_record("conn", connection,
                                               entry_kind(e) == APHI_REFINE_SENT ? "send" : "recv", aph_at(e, 2)));
    }
    return lines;
}

/* ---- to the client ----------------------------------------------------------------------------------------------- */

static void begin_response(aphi_refine_space *g, state_fields *s, size_t client, aph_value bytes)
{
    aph_value request;
    if (g->options->spec->rpc && !find_request(s, client, true, &request))
        report_flaw(g, APHI_REFINE_FLAW_UNREQUESTED, APH_FAULT_NONE,
                    aph_push(s->field[APHI_REFINE_TRACE], make_entry(APHI_REFINE_RECEIVED, client, bytes)),
              "a response begins on connection %zu without a request: %zu requests were sent and answered, and %zu "
                    "bytes of the next were sent", client + 1, client_count(s, client, NEXT),
                    client_count(s, client, OFFSET));
    add_entry(g, s, APH_ARRAY_OF(aph_int(APHI_REFINE_RECEIVED), aph_int((int64_t)client)));
}

static void end_response(state_fields *s, size_t client, aph_value message)
{
    aph_value trace = s->field[APHI_REFINE_TRACE];
    for (size_t i = aph_count(trace); i-- > 0;)
        if (!is_complete(aph_at(trace, i)) && entry_client(aph_at(trace, i)) == client) {
            s->field[APHI_REFINE_TRACE] =
                aph_replace(trace, i, make_entry(APHI_REFINE_RECEIVED, client, message));
            return;
        }
    assert(!"a response ends before it has begun");
}

/* Decodes bytes that reach the client, with the codec of the specification. */
static void deliver_bytes(aphi_refine_space *g, state_fields *s, size_t client, aph_value bytes)
{
    aph_value waiting = client_field(s, client, PARTIAL);
    bool begun = aph_count(waiting) > 0;
    waiting = aph_concat(waiting, bytes);
    while (aph_count(waiting) && !g->flaw) {
        size_t n;
        aph_wire wire = {.side = APH_FROM_SERVER};
        if (!begun)
            begin_response(g, s, client, waiting);
        begun = true;
        find_request(s, client, false, &wire.asked);
        wire.bytes = (const unsigned char *)aph_bytes_of(&waiting, &n);
        wire.count = n;
        aph_decoded decoded = aph_decode(g->options->spec->codec, &wire);
        if (decoded == APH_MORE)
            break;
        if (decoded == APH_MALFORMED) {
            end_response(s, client, waiting);
            report_flaw(g, APHI_REFINE_FLAW_MALFORMED, APH_FAULT_NONE, s->field[APHI_REFINE_TRACE],
                        "connection %zu: not a valid message of %s: byte %zu: %s", client + 1, g->options->spec->name,
                        wire.at + 1, wire.why);
            return;
        }
        end_response(s, client, wire.message);
        waiting = aph_substr(waiting, wire.used, n - wire.used);
        begun = false;
    }
    set_client(s, client, PARTIAL, waiting);
}

/* ---- to the model ------------------------------------------------------------------------------------------------ */

/* Sends the next n bytes of the client; returns them. */
static aph_value send_chunk(const aphi_refine_space *g, state_fields *s, size_t client, size_t n)
{
    size_t next = client_count(s, client, NEXT), offset = client_count(s, client, OFFSET);
    size_t which = client * g->options->stride + next;
    aph_value chunk = aph_substr(g->bytes[which], offset, n);
    if (offset + n < aph_count(g->bytes[which])) {
        set_count(s, client, OFFSET, offset + n);
        set_count(s, client, CHUNKS, client_count(s, client, CHUNKS) + 1);
        return chunk;
    }
    add_entry(g, s, make_entry(APHI_REFINE_SENT, client, g->options->requests[which]));
    set_count(s, client, NEXT, next + 1);
    set_count(s, client, OFFSET, 0);
    set_count(s, client, CHUNKS, 0);
    return chunk;
}

/* Sets the range of possible lengths of the next chunk; 0 and 0 if there is none. */
static void chunk_lengths(const aphi_refine_space *g, const state_fields *s, size_t client, size_t *min, size_t *max)
{
    size_t next = client_count(s, client, NEXT);
    *min = *max = 0;
    if (next == g->options->messages)
        return;
    *max = aph_count(g->bytes[client * g->options->stride + next]) - client_count(s, client, OFFSET);
    *min = client_count(s, client, CHUNKS) + 1 < g->chunks ? 1 : *max;
}

/* Decodes an arriving chunk; the model will receive the messages that it completes. */
static void take_chunk(aphi_refine_space *g, state_fields *s, size_t client, aph_value chunk)
{
    aph_value unread = aph_concat(client_field(s, client, UNREAD), chunk), arriving = APH_NIL;
    while (aph_count(unread)) {
        size_t n;
        aph_wire wire = {.side = APH_TO_SERVER};
        wire.bytes = (const unsigned char *)aph_bytes_of(&unread, &n);
        wire.count = n;
        aph_decoded decoded = aph_decode(g->options->model->codec, &wire);
        if (decoded == APH_MORE)
            break;
        if (decoded == APH_MALFORMED) {
            report_flaw(g, APHI_REFINE_FLAW_FAULT, APH_FAULT_REQUEST, s->field[APHI_REFINE_TRACE],
                        "a request of %s is not a valid message of %s: byte %zu: %s", g->options->spec->name,
                        g->options->model->name, wire.at + 1, wire.why);
            return;
        }
        arriving = aph_push(arriving ? arriving : APH_ARRAY_OF(aph_int((int64_t)client)), wire.message);
        unread = aph_substr(unread, wire.used, n - wire.used);
    }
    set_client(s, client, UNREAD, unread);
    s->field[APHI_REFINE_ARRIVING] = arriving;
    push_state(g, s);
}

/* ---- the model --------------------------------------------------------------------------------------------------- */

static bool report_model_fault(aphi_refine_space *g, const state_fields *s, aph_fault fault, const char *why)
{
    report_flaw(g, APHI_REFINE_FLAW_FAULT, fault, s->field[APHI_REFINE_TRACE], "model %s: %s", g->options->model->name,
                why);
    return false;
}

/* Runs the model, through any step ends, to its next event without an answer. */
static bool run_model(aphi_refine_space *g, state_fields *s, aph_event *event)
{
    aph_value *state = &s->field[APHI_REFINE_MODEL_STATE], *answers = &s->field[APHI_REFINE_ANSWERS];
    for (size_t steps = 0; steps < QUIET_STEPS_MAX; steps++) {
        aphi_answers r = {.answers = *answers};
        switch (aphi_step_replay(g->options->model, state, &r)) {
        case APHI_LEFT: *event = r.event; return true;
        case APHI_NEVER: *event = (aph_event){.kind = APH_EVENT_NEVER}; return true;
        case APHI_ENDED:
            if (r.at < aph_count(*answers))
                return report_model_fault(g, s, APH_FAULT_IMPURE,
                                          "a step is not a pure function of its state and answers");
            *answers = aph_array(0, NULL);
            break;
        case APHI_UNKNOWN_REQUEST: return report_model_fault(g, s, APH_FAULT_REQUEST, aphi_step_reason());
        case APHI_OUT_OF_TIME: return report_model_fault(g, s, APH_FAULT_STUCK, "a step does not end");
        default: return report_model_fault(g, s, APH_FAULT_CRASH, aphi_step_reason());
        }
    }
    return report_model_fault(g, s, APH_FAULT_STUCK, "its steps end repeatedly without an event");
}

static void answer_event(aphi_refine_space *g, const state_fields *s, aph_value value)
{
    state_fields next = *s;
    aph_event event;
    next.field[APHI_REFINE_ANSWERS] = aph_push(next.field[APHI_REFINE_ANSWERS], value);
    if (run_model(g, &next, &event)) /* replays the current step from its beginning */
        push_state(g, &next);
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
static void branch_on_choice(aphi_refine_space *g, const state_fields *s, const aph_event *e)
{
    state_fields next = *s;
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

static void send_response(aphi_refine_space *g, const state_fields *s, const aph_event *e)
{
    state_fields next = *s;
    size_t client = (size_t)(e->to - 1);
    aph_value bytes;
    if (!aph_encode(g->options->model->codec, APH_FROM_SERVER, e->value, &bytes)) {
        report_model_fault(g, s, APH_FAULT_ANSWER, "it sends a value that its codec cannot encode");
        return;
    }
    if (e->to < 1 || client >= g->options->clients) {
        answer_event(g, &next, APH_NIL); /* no such client */
        return;
    }
    if (g->options->unreduced)
        set_client(&next, client, FROM, aph_push(client_field(&next, client, FROM), bytes));
    else
        deliver_bytes(g, &next, client, bytes);
    answer_event(g, &next, APH_NIL);
}

static void receive_message(aphi_refine_space *g, const state_fields *s)
{
    aph_value arriving = s->field[APHI_REFINE_ARRIVING];
    state_fields next = *s;
    if (arriving) {
        aph_value from = aph_int(aph_int_of(aph_at(arriving, 0)) + 1), message = aph_at(arriving, 1);
        arriving = aph_replace(aph_slice(arriving, 1, aph_count(arriving) - 1), 0, aph_at(arriving, 0));
        next.field[APHI_REFINE_ARRIVING] = aph_count(arriving) > 1 ? arriving : APH_NIL;
        answer_event(g, &next, APH_ARRAY_OF(from, message));
        return;
    }
    for (size_t i = 0; i < g->options->clients; i++) {
        size_t min, max;
        if (g->options->unreduced) {
            aph_value to = client_field(s, i, TO);
            next = *s;
            set_client(&next, i, TO, aph_slice(to, 1, aph_count(to) - (aph_count(to) > 0)));
            if (aph_count(to))
                take_chunk(g, &next, i, aph_at(to, 0));
            continue;
        }
        chunk_lengths(g, s, i, &min, &max);
        for (size_t n = min; n && n <= max; n++) {
            next = *s;
            aph_value chunk = send_chunk(g, &next, i, n);
            take_chunk(g, &next, i, chunk);
        }
    }
}

static void step_model(aphi_refine_space *g, state_fields *s)
{
    aph_event e;
    if (!run_model(g, s, &e))
        return;
    switch (e.kind) {
    case APH_EVENT_RECV: receive_message(g, s); break;
    case APH_EVENT_SEND: send_response(g, s, &e); break;
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

/* ---- the network, unreduced only --------------------------------------------------------------------------------- */

static void step_network(aphi_refine_space *g, const state_fields *s)
{
    for (size_t i = 0; i < g->options->clients; i++) {
        size_t min, max;
        chunk_lengths(g, s, i, &min, &max);
        for (size_t n = min; n && n <= max; n++) {
            state_fields next = *s;
            aph_value chunk = send_chunk(g, &next, i, n);
            set_client(&next, i, TO, aph_push(client_field(&next, i, TO), chunk));
            push_state(g, &next);
        }
        aph_value from = client_field(s, i, FROM);
        if (aph_count(from)) {
            state_fields next = *s;
            set_client(&next, i, FROM, aph_slice(from, 1, aph_count(from) - 1));
            deliver_bytes(g, &next, i, aph_at(from, 0));
            push_state(g, &next);
        }
    }
}

void aphi_refine_space_expand(aphi_refine_space *g, aph_value v)
{
    state_fields s = unpack_state(v);
    step_model(g, &s);
    if (g->options->unreduced)
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
            if (aph_encode(o->spec->codec, APH_TO_SERVER, o->requests[which], &g->bytes[which]))
                continue;
            char *text = aph_json_text(o->requests[which], NULL);
            report_flaw(g, APHI_REFINE_FLAW_FAULT, APH_FAULT_REQUEST, APH_NIL, "%.100s is not a request of %s", text,
                        o->spec->name);
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
    aph_value empty_array = aph_array(0, NULL), empty_string = aph_str(""), zero = aph_int(0), clients = empty_array;
    aph_value client = APH_ARRAY_OF([NEXT] = zero, [OFFSET] = zero, [CHUNKS] = zero, [TO] = empty_array,
                                    [UNREAD] = empty_string, [FROM] = empty_array, [PARTIAL] = empty_string);
    for (size_t i = 0; i < options->clients; i++)
        clients = aph_push(clients, client);
    state_fields s = {{[APHI_REFINE_MODEL_STATE] = concretize(g, model->initial ? model->initial(model) : aph_object()),
                [APHI_REFINE_ANSWERS] = empty_array,
                [APHI_REFINE_CHOSEN] = zero,
                [APHI_REFINE_CLIENTS] = clients,
                [APHI_REFINE_TRACE] = empty_array}};
    aph_event event;
    if (!run_model(g, &s, &event))
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
