/* SPDX-License-Identifier: Apache-2.0
 *
 * refine_state.c - what can happen next between a model and its clients.
 *
 * Idea:       a scene is one immutable value, so whoever explores keeps scenes, compares them and goes back for
 *             nothing.
 *
 *                 client --chunks--> network --chunks--> decoder --messages--> model
 *                 trace <--messages-- decoder <--bytes-- network <--messages-- model
 *
 *             A request counts as sent with its last byte: before that no specification may have taken it. An answer
 *             counts as received with its first: a specification that says a byte of it has decided on all of it.
 *
 * Reductions: what a specification allows across the network stays allowed if an answer is seen later or a request is
 *             sent earlier, past what happens on other connections (Koh et al., section 4: "disordering" twice is
 *             disordering). So the strictest traces are those of a network that takes no time, and only these are made:
 *             1. an answer is received as it is sent: alone it is a persistent set
 *             2. a chunk is sent when the model takes it
 *             3. neighbours in a trace that are both requests or both answers, on different connections, are put in the
 *                order of their clients: no specification can tell them apart, and equal traces are one
 *             options->unreduced does none of this: sending, taking, saying and receiving are four events.
 * Invariants: 1. no event of the model has been answered since the head of its step but those in ANSWERS
 *             2. FED is not empty while a chunk arrives; nothing else is taken meanwhile
 * Cost:       a step is run from its head for each of its events. */
#include "refine/refine_state.h"

#include "base/memory.h"
#include "tree/step.h"

#include <assert.h>
#include <stdarg.h>
#include <stdlib.h>

/* The fields of a client. */
enum {
    NEXT,    /* of its requests, by number */
    OFFSET,  /* bytes of it that were sent */
    CHUNKS,  /* that they were sent in */
    TO,      /* chunks on their way to the model, an array; unreduced only */
    UNREAD,  /* bytes that arrived and are no message of the model yet */
    FROM,    /* bytes on their way to the client, an array; unreduced only */
    PARTIAL, /* bytes of an answer of which more is to come */
    CLIENT_FIELDS
};

enum { QUIET_STEPS_MAX = 1000, ENUMERATED_MAX = 8 };

typedef struct scene {
    aph_value field[APHI_REFINE_STATE_FIELDS];
} scene;

static scene unpack(aph_value v)
{
    scene s;
    for (size_t i = 0; i < APHI_REFINE_STATE_FIELDS; i++)
        s.field[i] = aph_at(v, i);
    return s;
}

static void push(aphi_refine_state *g, const scene *s)
{
    if (g->blemish)
        return;
    APHI_RESERVE(g->scenes, g->capacity, g->count + 1);
    g->scenes[g->count++] = aph_array(APHI_REFINE_STATE_FIELDS, s->field);
}

static aph_value client_field(const scene *s, size_t client, size_t field)
{
    return aph_at(aph_at(s->field[APHI_REFINE_STATE_CLIENTS], client), field);
}

static size_t client_count(const scene *s, size_t client, size_t field)
{
    return (size_t)aph_int_of(client_field(s, client, field));
}

static void set_client(scene *s, size_t client, size_t field, aph_value v)
{
    aph_value all = s->field[APHI_REFINE_STATE_CLIENTS];
    s->field[APHI_REFINE_STATE_CLIENTS] = aph_replace(all, client, aph_replace(aph_at(all, client), field, v));
}

static void set_count(scene *s, size_t client, size_t field, size_t n)
{
    set_client(s, client, field, aph_int((int64_t)n));
}

__attribute__((format(printf, 5, 6))) static void blame(aphi_refine_state *g, aphi_refine_flaw blemish, aph_fault fault,
                                                        aph_value trace, const char *format, ...)
{
    va_list args;
    if (g->blemish)
        return;
    g->blemish = blemish;
    g->fault = fault;
    g->trace = trace;
    va_start(args, format);
    vsnprintf(g->why, sizeof g->why, format, args);
    va_end(args);
}

/* ---- the trace --------------------------------------------------------------------------------------------------- */

static int64_t kind_of(aph_value entry)
{
    return aph_int_of(aph_at(entry, 0));
}

static size_t client_of(aph_value entry)
{
    return (size_t)aph_int_of(aph_at(entry, 1));
}

static bool complete(aph_value entry)
{
    return aph_count(entry) == 3;
}

static aph_value inserted(aph_value trace, size_t at, aph_value entry)
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

static void note(const aphi_refine_state *g, scene *s, aph_value entry)
{
    aph_value trace = s->field[APHI_REFINE_STATE_TRACE];
    size_t at = aph_count(trace);
    while (!g->options->unreduced && at > 0 && kind_of(aph_at(trace, at - 1)) == kind_of(entry) &&
           client_of(aph_at(trace, at - 1)) > client_of(entry))
        at--;
    s->field[APHI_REFINE_STATE_TRACE] = inserted(trace, at, entry);
}

static aph_value entry_of(int64_t kind, size_t client, aph_value message)
{
    return APH_ARRAY_OF(aph_int(kind), aph_int((int64_t)client), message);
}

/* The oldest request of the client without an answer that began; APH_NIL, and false, if there is none. */
static bool asked(const scene *s, size_t client, bool begun, aph_value *request)
{
    aph_value trace = s->field[APHI_REFINE_STATE_TRACE];
    size_t answered = 0;
    for (size_t i = 0; i < aph_count(trace); i++) {
        aph_value e = aph_at(trace, i);
        answered += kind_of(e) == APHI_REFINE_STATE_RECEIVED && client_of(e) == client && (begun || complete(e));
    }
    for (size_t i = 0; i < aph_count(trace); i++) {
        aph_value e = aph_at(trace, i);
        if (kind_of(e) == APHI_REFINE_STATE_SENT && client_of(e) == client && answered-- == 0) {
            *request = aph_at(e, 2);
            return true;
        }
    }
    *request = APH_NIL;
    return false;
}

aph_value aphi_refine_state_lines(aph_value trace)
{
    aph_value lines = aph_array(0, NULL);
    for (size_t i = 0; i < aph_count(trace); i++) {
        aph_value e = aph_at(trace, i), connection = aph_int((int64_t)client_of(e) + 1);
        if (complete(e))
            lines = aph_push(lines, aph_record("conn", connection,
                                               kind_of(e) == APHI_REFINE_STATE_SENT ? "send" : "recv", aph_at(e, 2)));
    }
    return lines;
}

/* ---- to the client ----------------------------------------------------------------------------------------------- */

static void begin_answer(aphi_refine_state *g, scene *s, size_t client, aph_value bytes)
{
    aph_value request;
    if (g->options->spec->rpc && !asked(s, client, true, &request))
        blame(g, APHI_REFINE_FLAW_ORPHAN, APH_FAULT_NONE,
              aph_push(s->field[APHI_REFINE_STATE_TRACE], entry_of(APHI_REFINE_STATE_RECEIVED, client, bytes)),
              "an answer begins on connection %zu, where none is owed: %zu requests were sent in whole and "
              "answered, and "
              "%zu bytes of the next were sent", client + 1, client_count(s, client, NEXT),
              client_count(s, client, OFFSET));
    note(g, s, APH_ARRAY_OF(aph_int(APHI_REFINE_STATE_RECEIVED), aph_int((int64_t)client)));
}

static void end_answer(scene *s, size_t client, aph_value message)
{
    aph_value trace = s->field[APHI_REFINE_STATE_TRACE];
    for (size_t i = aph_count(trace); i-- > 0;)
        if (!complete(aph_at(trace, i)) && client_of(aph_at(trace, i)) == client) {
            s->field[APHI_REFINE_STATE_TRACE] =
                aph_replace(trace, i, entry_of(APHI_REFINE_STATE_RECEIVED, client, message));
            return;
        }
    assert(!"an answer ends that did not begin");
}

/* Bytes reach the client: messages of the specification, in whole or in part. */
static void deliver(aphi_refine_state *g, scene *s, size_t client, aph_value bytes)
{
    aph_value waiting = client_field(s, client, PARTIAL);
    bool begun = aph_count(waiting) > 0;
    waiting = aph_concat(waiting, bytes);
    while (aph_count(waiting) && !g->blemish) {
        size_t n;
        aph_wire wire = {.side = APH_FROM_SERVER};
        if (!begun)
            begin_answer(g, s, client, waiting);
        begun = true;
        asked(s, client, false, &wire.asked);
        wire.bytes = (const unsigned char *)aph_bytes_of(&waiting, &n);
        wire.count = n;
        aph_decoded decoded = aph_decode(g->options->spec->codec, &wire);
        if (decoded == APH_MORE)
            break;
        if (decoded == APH_MALFORMED) {
            end_answer(s, client, waiting);
            blame(g, APHI_REFINE_FLAW_MALFORMED, APH_FAULT_NONE, s->field[APHI_REFINE_STATE_TRACE],
                  "what comes on connection %zu is no message of %s: byte %zu: %s", client + 1, g->options->spec->name,
                  wire.at + 1, wire.why);
            return;
        }
        end_answer(s, client, wire.message);
        waiting = aph_substr(waiting, wire.used, n - wire.used);
        begun = false;
    }
    set_client(s, client, PARTIAL, waiting);
}

/* ---- to the model ------------------------------------------------------------------------------------------------ */

/* The bytes that client sends next, n of them, go out. */
static aph_value send_chunk(const aphi_refine_state *g, scene *s, size_t client, size_t n)
{
    size_t next = client_count(s, client, NEXT), offset = client_count(s, client, OFFSET);
    size_t which = client * g->options->stride + next;
    aph_value chunk = aph_substr(g->bytes[which], offset, n);
    if (offset + n < aph_count(g->bytes[which])) {
        set_count(s, client, OFFSET, offset + n);
        set_count(s, client, CHUNKS, client_count(s, client, CHUNKS) + 1);
        return chunk;
    }
    note(g, s, entry_of(APHI_REFINE_STATE_SENT, client, g->options->requests[which]));
    set_count(s, client, NEXT, next + 1);
    set_count(s, client, OFFSET, 0);
    set_count(s, client, CHUNKS, 0);
    return chunk;
}

/* How long may the next chunk be? 0 to 0: there is none. */
static void chunk_lengths(const aphi_refine_state *g, const scene *s, size_t client, size_t *least, size_t *most)
{
    size_t next = client_count(s, client, NEXT);
    *least = *most = 0;
    if (next == g->options->messages)
        return;
    *most = aph_count(g->bytes[client * g->options->stride + next]) - client_count(s, client, OFFSET);
    *least = client_count(s, client, CHUNKS) + 1 < g->chunks ? 1 : *most;
}

/* The chunk arrives: what of the model's messages it completes will be received. */
static void arrive(aphi_refine_state *g, scene *s, size_t client, aph_value chunk)
{
    aph_value unread = aph_concat(client_field(s, client, UNREAD), chunk), fed = APH_NIL;
    while (aph_count(unread)) {
        size_t n;
        aph_wire wire = {.side = APH_TO_SERVER};
        wire.bytes = (const unsigned char *)aph_bytes_of(&unread, &n);
        wire.count = n;
        aph_decoded decoded = aph_decode(g->options->model->codec, &wire);
        if (decoded == APH_MORE)
            break;
        if (decoded == APH_MALFORMED) {
            blame(g, APHI_REFINE_FLAW_FAULT, APH_FAULT_REQUEST, s->field[APHI_REFINE_STATE_TRACE],
                  "a request of %s is no message of %s: byte %zu: %s", g->options->spec->name, g->options->model->name,
                  wire.at + 1, wire.why);
            return;
        }
        fed = aph_push(fed ? fed : APH_ARRAY_OF(aph_int((int64_t)client)), wire.message);
        unread = aph_substr(unread, wire.used, n - wire.used);
    }
    set_client(s, client, UNREAD, unread);
    s->field[APHI_REFINE_STATE_FED] = fed;
    push(g, s);
}

/* ---- the model --------------------------------------------------------------------------------------------------- */

typedef struct replay {
    aph_value answers;
    size_t at;
    aph_event event; /* the first event without an answer */
} replay;

static bool replay_answer(void *context, const aph_event *event, aph_value *answer)
{
    replay *r = context;
    r->event = *event;
    if (r->at == aph_count(r->answers))
        return false;
    *answer = aph_at(r->answers, r->at++);
    return true;
}

static bool blame_model(aphi_refine_state *g, const scene *s, aph_fault fault, const char *why)
{
    blame(g, APHI_REFINE_FLAW_FAULT, fault, s->field[APHI_REFINE_STATE_TRACE], "model %s: %s", g->options->model->name,
          why);
    return false;
}

/* Runs the model on to the event that it waits on, through as many ends of steps as there are on the way. */
static bool run_model(aphi_refine_state *g, scene *s, aph_event *event)
{
    aph_value *state = &s->field[APHI_REFINE_STATE_STATE], *answers = &s->field[APHI_REFINE_STATE_ANSWERS];
    for (size_t steps = 0; steps < QUIET_STEPS_MAX; steps++) {
        replay r = {.answers = *answers};
        switch (aphi_step_run(g->options->model, state, replay_answer, &r)) {
        case APHI_LEFT: *event = r.event; return true;
        case APHI_NEVER: *event = (aph_event){.kind = APH_EVENT_NEVER}; return true;
        case APHI_ENDED:
            if (r.at < aph_count(*answers))
                return blame_model(g, s, APH_FAULT_IMPURE, "a step is not a pure function of its state and answers");
            *answers = aph_array(0, NULL);
            break;
        case APHI_UNKNOWN_REQUEST: return blame_model(g, s, APH_FAULT_REQUEST, aphi_step_reason());
        case APHI_OUT_OF_TIME: return blame_model(g, s, APH_FAULT_STUCK, "a step does not end");
        default: return blame_model(g, s, APH_FAULT_CRASH, aphi_step_reason());
        }
    }
    return blame_model(g, s, APH_FAULT_STUCK, "steps follow each other and nothing happens");
}

static void answer(aphi_refine_state *g, const scene *s, aph_value with)
{
    scene next = *s;
    aph_event event;
    next.field[APHI_REFINE_STATE_ANSWERS] = aph_push(next.field[APHI_REFINE_STATE_ANSWERS], with);
    if (run_model(g, &next, &event)) /* to the head of the step that it is in now */
        push(g, &next);
}

static aph_value made_up(aph_kind sort, size_t number)
{
    switch (sort) {
    case APH_INT: return aph_int(1000003 + (int64_t)number);
    case APH_STR: return aph_strf("chosen-%zu", number);
    default: return aph_bool(number % 2);
    }
}

/* Every value, if there are few; else one that was not there before, or the ends of the range. */
static void choose(aphi_refine_state *g, const scene *s, const aph_event *e)
{
    scene next = *s;
    size_t chosen = (size_t)aph_int_of(s->field[APHI_REFINE_STATE_CHOSEN]);
    if (e->sort == APH_BOOL) {
        answer(g, s, aph_bool(false));
        answer(g, s, aph_bool(true));
    } else if (e->bounded && e->high >= e->low && (uint64_t)e->high - (uint64_t)e->low < ENUMERATED_MAX) {
        for (int64_t i = e->low;; i++) {
            answer(g, s, aph_int(i));
            if (i == e->high)
                break;
        }
    } else if (e->bounded) {
        g->sampled = true;
        answer(g, s, aph_int(e->low));
        answer(g, s, aph_int(e->high));
    } else {
        g->sampled = true;
        next.field[APHI_REFINE_STATE_CHOSEN] = aph_int((int64_t)chosen + 1);
        answer(g, &next, made_up(e->sort, chosen));
    }
}

static void say(aphi_refine_state *g, const scene *s, const aph_event *e)
{
    scene next = *s;
    size_t client = (size_t)(e->to - 1);
    aph_value bytes;
    if (!aph_encode(g->options->model->codec, APH_FROM_SERVER, e->value, &bytes)) {
        blame_model(g, s, APH_FAULT_ANSWER, "what it sends is no message of its codec");
        return;
    }
    if (e->to < 1 || client >= g->options->clients) {
        answer(g, &next, APH_NIL); /* nobody is there to see it */
        return;
    }
    if (g->options->unreduced)
        set_client(&next, client, FROM, aph_push(client_field(&next, client, FROM), bytes));
    else
        deliver(g, &next, client, bytes);
    answer(g, &next, APH_NIL);
}

static void receive(aphi_refine_state *g, const scene *s)
{
    aph_value fed = s->field[APHI_REFINE_STATE_FED];
    scene next = *s;
    if (fed) {
        aph_value from = aph_int(aph_int_of(aph_at(fed, 0)) + 1), message = aph_at(fed, 1);
        fed = aph_replace(aph_slice(fed, 1, aph_count(fed) - 1), 0, aph_at(fed, 0));
        next.field[APHI_REFINE_STATE_FED] = aph_count(fed) > 1 ? fed : APH_NIL;
        answer(g, &next, APH_ARRAY_OF(from, message));
        return;
    }
    for (size_t i = 0; i < g->options->clients; i++) {
        size_t least, most;
        if (g->options->unreduced) {
            aph_value to = client_field(s, i, TO);
            next = *s;
            set_client(&next, i, TO, aph_slice(to, 1, aph_count(to) - (aph_count(to) > 0)));
            if (aph_count(to))
                arrive(g, &next, i, aph_at(to, 0));
            continue;
        }
        chunk_lengths(g, s, i, &least, &most);
        for (size_t n = least; n && n <= most; n++) {
            next = *s;
            aph_value chunk = send_chunk(g, &next, i, n);
            arrive(g, &next, i, chunk);
        }
    }
}

static void move_model(aphi_refine_state *g, scene *s)
{
    aph_event e;
    if (!run_model(g, s, &e))
        return;
    switch (e.kind) {
    case APH_EVENT_RECV: receive(g, s); break;
    case APH_EVENT_SEND: say(g, s, &e); break;
    case APH_EVENT_CHOOSE: choose(g, s, &e); break;
    case APH_EVENT_DECIDE:
        if (aph_kind_of(e.value) == APH_BOOL)
            answer(g, s, e.value);
        break; /* else an operation that cannot be taken, and so the branch cannot */
    case APH_EVENT_EITHER:
        for (size_t i = 0; i < e.count; i++)
            answer(g, s, aph_int((int64_t)i));
        break;
    default: break;
    }
}

/* ---- the network, where it takes its time ------------------------------------------------------------------------ */

static void move_network(aphi_refine_state *g, const scene *s)
{
    for (size_t i = 0; i < g->options->clients; i++) {
        size_t least, most;
        chunk_lengths(g, s, i, &least, &most);
        for (size_t n = least; n && n <= most; n++) {
            scene next = *s;
            aph_value chunk = send_chunk(g, &next, i, n);
            set_client(&next, i, TO, aph_push(client_field(&next, i, TO), chunk));
            push(g, &next);
        }
        aph_value from = client_field(s, i, FROM);
        if (aph_count(from)) {
            scene next = *s;
            set_client(&next, i, FROM, aph_slice(from, 1, aph_count(from) - 1));
            deliver(g, &next, i, aph_at(from, 0));
            push(g, &next);
        }
    }
}

void aphi_refine_state_go_on(aphi_refine_state *g, aph_value v)
{
    scene s = unpack(v);
    move_model(g, &s);
    if (g->options->unreduced)
        move_network(g, &s);
}

/* ---- the beginning ----------------------------------------------------------------------------------------------- */

static bool same_messages(const aph_codec *a, const aph_codec *b)
{
    a = a ? a : &aph_codec_json;
    b = b ? b : &aph_codec_json;
    return a->decode == b->decode && a->encode == b->encode && a->size == b->size;
}

/* Unknowns of the state with which the model begins are made up. */
static aph_value made_concrete(aphi_refine_state *g, aph_value v)
{
    aph_value key, item;
    if (!aph_is_symbolic(v))
        return v;
    switch (aph_kind_of(v)) {
    case APH_SYMBOL:
        g->sampled = true;
        return made_up(aph_symbol_sort(v), 1000 + aph_symbol_number(v));
    case APH_ARRAY:
        for (size_t i = 0; i < aph_count(v); i++)
            v = aph_replace(v, i, made_concrete(g, aph_at(v, i)));
        return v;
    case APH_OBJECT:
        for (size_t i = 0; aph_pair_at(v, i, &key, &item); i++)
            v = aph_set(v, key, made_concrete(g, item));
        return v;
    case APH_TERM: {
        size_t n = aph_term_count(v);
        return aph_term(aph_term_op(v), n > 0 ? made_concrete(g, aph_term_arg(v, 0)) : APH_NIL,
                        n > 1 ? made_concrete(g, aph_term_arg(v, 1)) : APH_NIL);
    }
    default: return v;
    }
}

static bool encode_requests(aphi_refine_state *g)
{
    const aphi_refine_options *o = g->options;
    g->bytes = aphi_alloc_zero((o->clients * o->stride + 1) * sizeof *g->bytes);
    for (size_t i = 0; i < o->clients; i++)
        for (size_t k = 0; k < o->messages; k++) {
            size_t which = i * o->stride + k;
            if (aph_encode(o->spec->codec, APH_TO_SERVER, o->requests[which], &g->bytes[which]))
                continue;
            char *text = aph_json_text(o->requests[which], NULL);
            blame(g, APHI_REFINE_FLAW_FAULT, APH_FAULT_REQUEST, APH_NIL, "%.100s is no request of %s", text, o->spec->name);
            free(text);
            return false;
        }
    return true;
}

bool aphi_refine_state_open(aphi_refine_state *g, const aphi_refine_options *options, aph_value *first)
{
    *g = (aphi_refine_state){.options = options};
    g->chunks = same_messages(options->model->codec, options->spec->codec) ? 1 : options->chunks;
    if (!encode_requests(g))
        return false;
    const aph_model *model = options->model;
    aph_value empty = aph_array(0, NULL), none = aph_str(""), zero = aph_int(0), clients = empty;
    aph_value client = APH_ARRAY_OF([NEXT] = zero, [OFFSET] = zero, [CHUNKS] = zero, [TO] = empty, [UNREAD] = none,
                                    [FROM] = empty, [PARTIAL] = none);
    for (size_t i = 0; i < options->clients; i++)
        clients = aph_push(clients, client);
    scene s = {{[APHI_REFINE_STATE_STATE] = made_concrete(g, model->initial ? model->initial(model) : aph_object()),
                [APHI_REFINE_STATE_ANSWERS] = empty,
                [APHI_REFINE_STATE_CHOSEN] = zero,
                [APHI_REFINE_STATE_CLIENTS] = clients,
                [APHI_REFINE_STATE_TRACE] = empty}};
    aph_event event;
    if (!run_model(g, &s, &event))
        return false;
    *first = aph_array(APHI_REFINE_STATE_FIELDS, s.field);
    return true;
}

void aphi_refine_state_close(aphi_refine_state *g)
{
    free(g->bytes);
    free(g->scenes);
}

void aphi_refine_state_mark(const aphi_refine_state *g)
{
    for (size_t i = 0; g->bytes && i < g->options->clients * g->options->stride; i++)
        aph_mark(g->bytes[i]);
    for (size_t i = 0; i < g->count; i++)
        aph_mark(g->scenes[i]);
    aph_mark(g->trace);
}
