/* SPDX-License-Identifier: Apache-2.0
 *
 * simulator.c - run a model with nothing symbolic: whatever it leaves open is drawn at random.
 *
 * Idea:       a request is an attempt: the step is run from its head, with the answers that it has had, to the next
 *             receive for which there is no request, through as many step ends as there are on the way. Only then does
 *             it count. If the model says never on the way, nothing has happened, and other choices are drawn.
 * Invariants: 1. state, log: the model waits at the receive that follows these answers
 *             2. nothing of an attempt that failed is to be seen, but that random choice went on
 * Cost:       for a model that receives once a step, the step once, and the beginning of the next.
 * Read next:  ../tree/step.h, server.c */
#include "server/simulator.h"

#include "base/memory.h"
#include "codec/codec_internal.h"
#include "solve/bindings.h"
#include "tree/guard.h"
#include "tree/step.h"

#include <stdio.h>
#include <stdlib.h>

enum {
    DRAWS_MAX = 256,        /* attempts at a request */
    IDLE_STEPS_MAX = 10000, /* without a receive */
};
static const size_t memory_max = (size_t)4 << 30;

typedef struct answered {
    aph_event_kind kind;
    aph_value value;
} answered;

struct aphi_simulated_log {
    answered *answers;
    size_t count, capacity;
};

static void log_add(aphi_simulated_log *l, answered a)
{
    APHI_RESERVE(l->answers, l->capacity, l->count + 1);
    l->answers[l->count++] = a;
}

static void log_copy(aphi_simulated_log *to, const aphi_simulated_log *from)
{
    to->count = 0;
    for (size_t i = 0; i < from->count; i++)
        log_add(to, from->answers[i]);
}

/* ---- drawing ----------------------------------------------------------------------------------------------------- */

static int64_t draw_int(aphi_choice *c)
{
    static const int64_t edges[] = {INT64_MIN, INT64_MIN + 1, -1, 0, 1, INT64_MAX - 1, INT64_MAX};
    switch (aphi_choice_below(c, 16)) {
    case 0: return edges[aphi_choice_below(c, sizeof edges / sizeof *edges)];
    case 1: return (int64_t)aphi_choice_bits(c);
    case 2: case 3: case 4: return aphi_choice_within(c, -1000000, 1000000);
    default: return aphi_choice_within(c, -2, 9); /* often the same as before */
    }
}

static int64_t draw_within(aphi_choice *c, int64_t low, int64_t high)
{
    switch (aphi_choice_below(c, 16)) {
    case 0: return low;
    case 1: return high;
    default: return aphi_choice_within(c, low, high);
    }
}

/* Models name first what servers mostly do. */
static uint64_t draw_way(aphi_choice *c, uint64_t count)
{
    return aphi_choice_chance(c, 1, 2) ? 0 : aphi_choice_below(c, count);
}

/* Mostly short and plain, from few enough that they meet; sometimes long, empty, or bytes that need care. */
static aph_value draw_str(aphi_choice *c)
{
    char bytes[16];
    size_t n;
    switch (aphi_choice_below(c, 16)) {
    case 0: return aph_str("");
    case 1:
        n = 1 + aphi_choice_below(c, sizeof bytes);
        for (size_t i = 0; i < n; i++)
            bytes[i] = (char)aphi_choice_bits(c);
        return aph_bytes(bytes, n);
    case 2: case 3: case 4: case 5: return aph_strf("%016llx", (unsigned long long)aphi_choice_bits(c));
    default: return aph_strf("%llx", (unsigned long long)aphi_choice_below(c, 64));
    }
}

static aph_value draw_of_length(aphi_choice *c, size_t n)
{
    char *bytes = aphi_alloc(n);
    bool varied = aphi_choice_chance(c, 1, 2);
    for (size_t i = 0; i < n; i++)
        bytes[i] = (char)('0' + aphi_choice_below(c, varied ? 10 : 2));
    aph_value v = aph_bytes(bytes, n);
    free(bytes);
    return v;
}

/* name: of the choice, or NULL. */
static aph_value draw(aphi_simulator *a, aph_kind sort, const char *name)
{
    const aph_codec *codec = a->model->codec;
    aph_value drawn = name && a->model->draw ? a->model->draw(name, aphi_choice_bits(&a->choice)) : APH_NIL;
    if (drawn)
        return drawn;
    switch (sort) {
    case APH_BOOL: return aph_bool(aphi_choice_chance(&a->choice, 1, 2));
    case APH_INT: return aph_int(draw_int(&a->choice));
    default:
        return codec && codec->decode == aph_decode_fixed ? draw_of_length(&a->choice, codec->size)
                                                          : draw_str(&a->choice);
    }
}

/* The value with something drawn for each of its unknowns. */
static aph_value drawn(aphi_simulator *a, aph_value v)
{
    aphi_symset symbols;
    aphi_bindings values;
    aphi_symset_init(&symbols);
    aphi_bindings_init(&values);
    aphi_symset_collect(&symbols, v);
    for (size_t i = 0; i < symbols.count; i++) {
        aph_value symbol = aphi_symset_at(&symbols, i);
        aphi_bindings_set(&values, symbol, draw(a, aph_symbol_sort(symbol), NULL));
    }
    v = aphi_substitute(v, &values);
    aphi_symset_deinit(&symbols);
    aphi_bindings_deinit(&values);
    return v;
}

/* ---- an attempt -------------------------------------------------------------------------------------------------- */

typedef struct attempt {
    aphi_simulator *actor;
    aph_value request;     /* [connection, message] */
    bool waiting;          /* it was not taken yet */
    size_t replayed;       /* events of this run of the step */
    enum { AT_RECEIVE, AT_NEVER, AT_UNSENT, AT_IMPURE } left; /* where the step was left */
} attempt;

static bool leave(attempt *t, int where)
{
    t->left = where;
    return false;
}

static bool put(attempt *t, int64_t to, aph_value message)
{
    aphi_simulator *a = t->actor;
    aphi_simulated_sent sent = {.to = to, .at = a->bytes.n, .message = message};
    aph_side side = to < 0 ? APH_TO_SERVER : APH_FROM_SERVER; /* where it asks, it is a client */
    if (!aphi_encode_at(a->model->codec, a->here, side, message, &a->bytes)) {
        char *text = aph_json_text(message, NULL);
        snprintf(a->why, sizeof a->why, "it sends what is no message of its codec, %s: %.100s",
                 a->model->codec ? a->model->codec->name : aph_codec_json.name, text);
        free(text);
        return leave(t, AT_UNSENT);
    }
    sent.n = a->bytes.n - sent.at;
    APHI_RESERVE(a->sent, a->sent_capacity, a->sent_count + 1);
    a->sent[a->sent_count++] = sent;
    return true;
}

static bool answer_new(attempt *t, const aph_event *e, aph_value *answer)
{
    aphi_simulator *a = t->actor;
    switch (e->kind) {
    case APH_EVENT_RECV:
        if (!t->waiting)
            return leave(t, AT_RECEIVE);
        t->waiting = false;
        *answer = t->request;
        return true;
    case APH_EVENT_SEND: return put(t, e->to, e->value);
    case APH_EVENT_CHOOSE:
        if (e->bounded && e->low > e->high)
            return leave(t, AT_NEVER);
        *answer = e->bounded ? aph_int(draw_within(&a->choice, e->low, e->high)) : draw(a, e->sort, e->name);
        return true;
    case APH_EVENT_DECIDE: /* nothing is symbolic, so what is no boolean is an operation that cannot be taken */
        *answer = e->value;
        return aph_kind_of(e->value) == APH_BOOL || leave(t, AT_NEVER);
    case APH_EVENT_EITHER: *answer = aph_int((int64_t)draw_way(&a->choice, e->count)); return true;
    default: return leave(t, AT_NEVER);
    }
}

static bool answer_event(void *context, const aph_event *e, aph_value *answer)
{
    attempt *t = context;
    aphi_simulated_log *log = t->actor->work;
    if (t->replayed < log->count) {
        if (log->answers[t->replayed].kind != e->kind)
            return leave(t, AT_IMPURE);
        *answer = log->answers[t->replayed++].value;
        return true;
    }
    if (!answer_new(t, e, answer))
        return false;
    log_add(log, (answered){e->kind, *answer});
    t->replayed++;
    return true;
}

static aphi_simulated fault(aphi_simulator *a, aphi_simulated_fault kind, const char *why)
{
    a->fault = kind;
    if (why)
        snprintf(a->why, sizeof a->why, "%s", why);
    return APHI_SIMULATED_FAULT;
}

static void take_back(aphi_simulator *a)
{
    a->sent_count = 0;
    a->bytes.n = 0;
}

static aphi_simulated commit(aphi_simulator *a, aph_value state)
{
    aphi_simulated_log *log = a->log;
    a->log = a->work;
    a->work = log;
    a->state = state;
    return APHI_SIMULATED_TAKEN;
}

static aphi_simulated out_of_time(aphi_simulator *a)
{
    if (aphi_guard_overfull())
        return fault(a, APHI_SIMULATED_FULL, "its values take more than 4 GiB");
    return fault(a, APHI_SIMULATED_STUCK, "a step does not end");
}

static aphi_simulated ended_left(attempt *t, aph_value state)
{
    aphi_simulator *a = t->actor;
    switch (t->left) {
    case AT_RECEIVE: return commit(a, state);
    case AT_IMPURE:
        return fault(a, APHI_SIMULATED_IMPURE, "a step is not a pure function of its state and its answers");
    default: return APHI_SIMULATED_NOT_NOW;
    }
}

/* APHI_SIMULATED_NOT_NOW: with other choices it may do. */
static aphi_simulated try_once(attempt *t)
{
    aphi_simulator *a = t->actor;
    aph_value state = a->state;
    take_back(a);
    log_copy(a->work, a->log);
    t->waiting = t->request != APH_NIL;
    for (unsigned steps = 0; steps < IDLE_STEPS_MAX; steps++) {
        t->replayed = 0;
        switch (aphi_step_run(a->model, &state, answer_event, t)) {
        case APHI_ENDED:
            if (t->replayed < a->work->count)
                return fault(a, APHI_SIMULATED_IMPURE, "a step is not a pure function of its state and its answers");
            a->work->count = 0;
            break;
        case APHI_LEFT: return ended_left(t, state);
        case APHI_NEVER: t->left = AT_NEVER; return APHI_SIMULATED_NOT_NOW;
        case APHI_UNKNOWN_REQUEST:
            snprintf(a->why, sizeof a->why, "%s", aphi_step_reason());
            return APHI_SIMULATED_UNKNOWN;
        case APHI_MISCALLED:
        case APHI_CRASHED: return fault(a, APHI_SIMULATED_CRASHED, aphi_step_reason());
        case APHI_OUT_OF_TIME: return out_of_time(a);
        }
    }
    return fault(a, APHI_SIMULATED_STUCK, "it runs on and on without receiving");
}

static aphi_simulated try_often(attempt *t)
{
    aphi_simulated act = APHI_SIMULATED_NOT_NOW;
    for (unsigned i = 0; i < DRAWS_MAX && act == APHI_SIMULATED_NOT_NOW; i++)
        act = try_once(t);
    if (act != APHI_SIMULATED_TAKEN)
        take_back(t->actor);
    return act == APHI_SIMULATED_NOT_NOW && t->left == AT_UNSENT ? fault(t->actor, APHI_SIMULATED_UNSENT, NULL) : act;
}

/* ---- the actor --------------------------------------------------------------------------------------------------- */

static void mark(void *context)
{
    aphi_simulator *a = context;
    aph_mark(a->state);
    for (size_t i = 0; i < a->log->count; i++)
        aph_mark(a->log->answers[i].value);
}

void aphi_simulator_open(aphi_simulator *a, const aph_model *model, const char *here, uint64_t seed)
{
    *a = (aphi_simulator){.model = model, .here = here, .choice = aphi_choice_seed(seed)};
    a->log = aphi_alloc_zero(sizeof *a->log);
    a->work = aphi_alloc_zero(sizeof *a->work);
    a->state = drawn(a, model->initial ? model->initial(model) : aph_object());
    aph_root_add(mark, a);
    aphi_guard_arm(model, 0, memory_max);
}

void aphi_simulator_close(aphi_simulator *a)
{
    aphi_guard_disarm();
    aph_root_remove(mark, a);
    free(a->log->answers);
    free(a->work->answers);
    free(a->log);
    free(a->work);
    free(a->sent);
    aphi_buffer_free(&a->bytes);
}

aphi_simulated aphi_simulator_begin(aphi_simulator *a)
{
    aphi_simulated act = try_often(&(attempt){.actor = a});
    return act == APHI_SIMULATED_NOT_NOW || act == APHI_SIMULATED_UNKNOWN
               ? fault(a, APHI_SIMULATED_STUCK, "whatever it chooses, it does not come to its first receive") : act;
}

aphi_simulated aphi_simulator_take(aphi_simulator *a, int64_t from, aph_value message)
{
    return try_often(&(attempt){.actor = a, .request = APH_ARRAY_OF(aph_int(from), message)});
}

bool aphi_simulator_may_reconsider(const aphi_simulator *a)
{
    bool chose = false;
    for (size_t i = 0; i < a->log->count; i++) {
        aph_event_kind kind = a->log->answers[i].kind;
        if (kind == APH_EVENT_RECV || kind == APH_EVENT_SEND)
            return false;
        chose |= kind == APH_EVENT_EITHER || kind == APH_EVENT_CHOOSE;
    }
    return chose;
}

aphi_simulated aphi_simulator_reconsider(aphi_simulator *a)
{
    size_t chosen = a->log->count;
    a->log->count = 0;
    aphi_simulated act = try_often(&(attempt){.actor = a});
    if (act == APHI_SIMULATED_NOT_NOW)
        a->log->count = chosen;
    return act;
}
