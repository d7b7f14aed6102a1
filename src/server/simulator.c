/* SPDX-License-Identifier: Apache-2.0
 *
 * simulator.c - runs a model with concrete values; all choices are drawn at random.
 *
 * Idea:       A request is taken by an attempt: the step is run again from its head with the earlier answers, then
 *             takes the request and continues, through any number of step ends, to the next receive. Then the attempt
 *             is committed. If the model ends in never before that, the attempt has no effect, and other choices are
 *             drawn.
 * Invariants: 1. run from `state` with the answers in `log`, the model waits at a receive
 *             2. a failed attempt changes nothing but the state of the random generator
 * Cost:       a model that receives once per step runs one step, and the beginning of the next.
 * Read next:  ../tree/step.h, server.c */
#include "server/simulator.h"

#include "base/memory.h"
#include "codec/codec_internal.h"
#include "solve/bindings.h"
#include "tree/model_calls.h"
#include "tree/step_guard.h"
#include "tree/step.h"

#include <stdio.h>
#include <stdlib.h>

enum {
    DRAWS_MAX = 256,        /* attempts per request */
    IDLE_STEPS_MAX = 10000, /* without a receive */
};
static const size_t memory_max = (size_t)4 << 30;
static const char impure[] = "a step is not a pure function of its state and its answers";

typedef struct answered {
    aph_event_kind kind;
    aph_value value;
} answered;

struct aphi_simulated_log {
    answered *answers;
    size_t count, capacity;
};

static void log_copy(aphi_simulated_log *to, const aphi_simulated_log *from)
{
    to->count = 0;
    for (size_t i = 0; i < from->count; i++)
        APHI_PUSH(to->answers, to->count, to->capacity, from->answers[i]);
}

/* ---- drawing ----------------------------------------------------------------------------------------------------- */

static int64_t draw_int(aphi_choice *c)
{
    static const int64_t edges[] = {INT64_MIN, INT64_MIN + 1, -1, 0, 1, INT64_MAX - 1, INT64_MAX};
    switch (aphi_choice_below(c, 16)) {
    case 0: return edges[aphi_choice_below(c, sizeof edges / sizeof *edges)];
    case 1: return (int64_t)aphi_choice_bits(c);
    case 2: case 3: case 4: return aphi_choice_within(c, -1000000, 1000000);
    default: return aphi_choice_within(c, -2, 9); /* frequent repetitions */
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

/* The first way is drawn most often: models put the usual case first. */
static uint64_t draw_way(aphi_choice *c, uint64_t count)
{
    return aphi_choice_chance(c, 1, 2) ? 0 : aphi_choice_below(c, count);
}

/* Usually draws one of a few short strings, so that they repeat; sometimes a long, empty or arbitrary one. */
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

/* `name` is the name of the choice, or NULL. */
static aph_value draw_value(aphi_simulator *s, aph_kind sort, const char *name)
{
    const aph_codec *codec = s->model->codec;
    aph_value drawn = name && s->model->draw ? aphi_model_draw(s->model, name, aphi_choice_bits(&s->choice)) : APH_NIL;
    if (drawn)
        return drawn;
    switch (sort) {
    case APH_BOOL: return aph_bool(aphi_choice_chance(&s->choice, 1, 2));
    case APH_INT: return aph_int(draw_int(&s->choice));
    default:
        return codec && codec->decode == aph_decode_fixed ? draw_of_length(&s->choice, codec->size)
                                                          : draw_str(&s->choice);
    }
}

/* Replaces each unknown of the value with a drawn value. */
static aph_value draw_unknowns(aphi_simulator *s, aph_value v)
{
    aphi_symset symbols;
    aphi_bindings values;
    aphi_symset_init(&symbols);
    aphi_bindings_init(&values);
    aphi_symset_collect(&symbols, v);
    for (size_t i = 0; i < symbols.count; i++) {
        aph_value symbol = aphi_symset_at(&symbols, i);
        aphi_bindings_set(&values, symbol, draw_value(s, aph_symbol_sort(symbol), NULL));
    }
    v = aphi_substitute(v, &values);
    aphi_symset_deinit(&symbols);
    aphi_bindings_deinit(&values);
    return v;
}

bool aphi_simulator_draw(aphi_simulator *s, const aph_event *e, aph_value *answer)
{
    if (e->kind == APH_EVENT_DECIDE) { /* not a boolean: an operation on values of the wrong kind */
        *answer = e->value;
        return aph_kind_of(e->value) == APH_BOOL;
    }
    if (e->bounded && e->low > e->high)
        return false;
    *answer = e->bounded ? aph_int(draw_within(&s->choice, e->low, e->high)) : draw_value(s, e->sort, e->name);
    return true;
}

/* ---- an attempt -------------------------------------------------------------------------------------------------- */

typedef struct attempt {
    aphi_simulator *simulator;
    aph_value request;     /* [connection, message] */
    bool waiting;          /* the request was not received yet */
    size_t replayed;       /* events in this run of the step */
    enum { AT_RECEIVE, AT_NEVER, AT_UNSENT, AT_IMPURE } stop; /* why the step was left */
} attempt;

static bool leave_step(attempt *t, int stop)
{
    t->stop = stop;
    return false;
}

static bool send_message(attempt *t, int64_t to, aph_value message)
{
    aphi_simulator *s = t->simulator;
    aphi_simulated_sent sent = {.to = to, .at = s->bytes.n, .message = message};
    if (message == APH_CLOSED) {
        APHI_PUSH(s->sent, s->sent_count, s->sent_capacity, sent);
        return true;
    }
    aph_side side = to < 0 ? APH_TO_SERVER : APH_FROM_SERVER; /* the model is the client of its own connections */
    char why[APHI_ENCODE_WHY], text[400];
    if (!aphi_encode_why(s->model->codec, s->origins, side, message, &s->bytes, why)) {
        const aph_codec *codec = s->model->codec ? s->model->codec : &aph_codec_json;
        aphi_encode_describe(text, sizeof text, why, message);
        snprintf(s->why, sizeof s->why, "it sends a value that its codec, %s, cannot encode: %s", codec->name, text);
        return leave_step(t, AT_UNSENT);
    }
    sent.n = s->bytes.n - sent.at;
    APHI_PUSH(s->sent, s->sent_count, s->sent_capacity, sent);
    return true;
}

static bool answer_new(attempt *t, const aph_event *e, aph_value *answer)
{
    aphi_simulator *s = t->simulator;
    switch (e->kind) {
    case APH_EVENT_RECV:
        if (!t->waiting)
            return leave_step(t, AT_RECEIVE);
        t->waiting = false;
        *answer = t->request;
        return true;
    case APH_EVENT_SEND: return send_message(t, e->to, e->value);
    case APH_EVENT_CHOOSE:
    case APH_EVENT_DECIDE: return aphi_simulator_draw(s, e, answer) || leave_step(t, AT_NEVER);
    case APH_EVENT_EITHER: *answer = aph_int((int64_t)draw_way(&s->choice, e->count)); return true;
    default: return leave_step(t, AT_NEVER);
    }
}

static bool answer_event(void *context, const aph_event *e, aph_value *answer)
{
    attempt *t = context;
    aphi_simulated_log *log = t->simulator->work;
    if (t->replayed < log->count) {
        if (log->answers[t->replayed].kind != e->kind)
            return leave_step(t, AT_IMPURE);
        *answer = log->answers[t->replayed++].value;
        return true;
    }
    if (!answer_new(t, e, answer))
        return false;
    APHI_PUSH(log->answers, log->count, log->capacity, (answered){e->kind, *answer});
    t->replayed++;
    return true;
}

static aphi_simulated set_fault(aphi_simulator *s, aphi_simulated_fault kind, const char *why)
{
    s->fault = kind;
    if (why)
        snprintf(s->why, sizeof s->why, "%s", why);
    return APHI_SIMULATED_FAULT;
}

static void discard_sent(aphi_simulator *s)
{
    s->sent_count = 0;
    s->bytes.n = 0;
}

static aphi_simulated commit_attempt(aphi_simulator *s, aph_value state)
{
    aphi_simulated_log *log = s->log;
    s->log = s->work;
    s->work = log;
    s->state = state;
    return APHI_SIMULATED_TAKEN;
}

/* Returns APHI_SIMULATED_NOT_NOW if other choices may succeed. */
static aphi_simulated attempt_once(attempt *t)
{
    aphi_simulator *s = t->simulator;
    aph_value state = s->state;
    discard_sent(s);
    log_copy(s->work, s->log);
    t->waiting = t->request != APH_NIL;
    for (unsigned steps = 0; steps < IDLE_STEPS_MAX; steps++) {
        t->replayed = 0;
        switch (aphi_step_run(s->model, &state, answer_event, t)) {
        case APHI_ENDED:
            if (t->replayed < s->work->count)
                return set_fault(s, APHI_SIMULATED_IMPURE, impure);
            s->work->count = 0;
            break;
        case APHI_LEFT:
            if (t->stop == AT_IMPURE)
                return set_fault(s, APHI_SIMULATED_IMPURE, impure);
            return t->stop == AT_RECEIVE ? commit_attempt(s, state) : APHI_SIMULATED_NOT_NOW;
        case APHI_NEVER: t->stop = AT_NEVER; return APHI_SIMULATED_NOT_NOW;
        case APHI_UNKNOWN_REQUEST:
            snprintf(s->why, sizeof s->why, "%s", aphi_step_reason());
            return APHI_SIMULATED_UNKNOWN;
        case APHI_MISCALLED:
        case APHI_CRASHED: return set_fault(s, APHI_SIMULATED_CRASHED, aphi_step_reason());
        case APHI_OUT_OF_TIME:
            return aphi_guard_overfull() ? set_fault(s, APHI_SIMULATED_FULL, "its values need more than 4 GiB")
                                         : set_fault(s, APHI_SIMULATED_STUCK, "a step does not end");
        }
    }
    return set_fault(s, APHI_SIMULATED_STUCK, "the step never receives");
}

static aphi_simulated attempt_repeatedly(attempt *t)
{
    aphi_simulated result = APHI_SIMULATED_NOT_NOW;
    for (unsigned i = 0; i < DRAWS_MAX && result == APHI_SIMULATED_NOT_NOW; i++)
        result = attempt_once(t);
    if (result != APHI_SIMULATED_TAKEN)
        discard_sent(t->simulator);
    if (result == APHI_SIMULATED_NOT_NOW && t->stop == AT_UNSENT)
        return set_fault(t->simulator, APHI_SIMULATED_UNSENT, NULL);
    return result;
}

/* ---- the simulator ----------------------------------------------------------------------------------------------- */

static void mark(void *context)
{
    aphi_simulator *s = context;
    aph_mark(s->state);
    for (size_t i = 0; i < s->log->count; i++)
        aph_mark(s->log->answers[i].value);
}

void aphi_simulator_open(aphi_simulator *s, const aph_model *model, const char *const *origins, uint64_t seed)
{
    *s = (aphi_simulator){.model = model, .origins = origins, .choice = aphi_choice_seed(seed)};
    s->log = aphi_alloc_zero(sizeof *s->log);
    s->work = aphi_alloc_zero(sizeof *s->work);
    s->state = draw_unknowns(s, aphi_model_initial(model));
    aph_root_add(mark, s);
    aphi_guard_arm(model, 0, memory_max);
}

void aphi_simulator_close(aphi_simulator *s)
{
    aphi_guard_disarm();
    aph_root_remove(mark, s);
    free(s->log->answers);
    free(s->work->answers);
    free(s->log);
    free(s->work);
    free(s->sent);
    aphi_buffer_free(&s->bytes);
}

bool aphi_simulator_lost_call(aphi_simulator *s)
{
    const char *message;
    aph_fault fault = aphi_guard_call_fault(&message);
    if (fault)
        set_fault(s, fault == APH_FAULT_CRASH ? APHI_SIMULATED_CRASHED : APHI_SIMULATED_STUCK, message);
    return fault;
}

aphi_simulated aphi_simulator_begin(aphi_simulator *s)
{
    aphi_simulated result = attempt_repeatedly(&(attempt){.simulator = s});
    if (result == APHI_SIMULATED_NOT_NOW || result == APHI_SIMULATED_UNKNOWN)
        return set_fault(s, APHI_SIMULATED_STUCK, "none of the tried choices leads to its first receive");
    return result;
}

aphi_simulated aphi_simulator_take(aphi_simulator *s, int64_t from, aph_value message)
{
    return attempt_repeatedly(&(attempt){.simulator = s, .request = APH_ARRAY_OF(aph_int(from), message)});
}

/* Returns the number of answers up to the last message that was sent in the step. */
static size_t count_observable(const aphi_simulated_log *log)
{
    size_t n = log->count;
    while (n && log->answers[n - 1].kind != APH_EVENT_RECV && log->answers[n - 1].kind != APH_EVENT_SEND)
        n--;
    return n;
}

bool aphi_simulator_may_reconsider(const aphi_simulator *s)
{
    const aphi_simulated_log *log = s->log;
    bool chose = false;
    for (size_t i = 0; i < log->count; i++)
        if (log->answers[i].kind == APH_EVENT_RECV)
            return false;
    for (size_t i = count_observable(log); i < log->count; i++)
        chose |= log->answers[i].kind == APH_EVENT_EITHER || log->answers[i].kind == APH_EVENT_CHOOSE;
    return chose;
}

aphi_simulated aphi_simulator_reconsider(aphi_simulator *s)
{
    size_t chosen = s->log->count;
    s->log->count = count_observable(s->log);
    aphi_simulated result = attempt_repeatedly(&(attempt){.simulator = s});
    if (result == APHI_SIMULATED_NOT_NOW)
        s->log->count = chosen;
    return result;
}
