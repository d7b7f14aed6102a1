/* SPDX-License-Identifier: Apache-2.0
 *
 * step.c - one run of a model's step.
 *
 * Idea:       the step is called as a plain C function; each event calls the answerer. If there is no answer, a jump
 *             abandons the step. Once the caller has the answer, it runs the step again from its start with one more
 *             answer. Nothing of the step survives the jump, so no stack is copied.
 * Invariants: 1. the state is passed by copy: an abandoned step changes nothing
 *             2. a clause belongs to the next event only
 * Cost:       one sigsetjmp without mask per step, about ten nanoseconds.
 * Read next:  tree.c (one answer at a time), ../oracle/transition.c (all paths through a step). */
#include "tree/step.h"
#include "value/heap.h"

#include "base/compiler.h"
#include "tree/network_step.h"
#include "tree/step_guard.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct aph {
    const aph_model *model;
    aph_value state;
    aphi_answerer *answerer;
    void *context;
    const char *clause;
    const aph_request *request; /* for the first receive, while *waiting */
    bool *waiting;
    aph_value expected;         /* the response, if it is known */
    aphi_guarded guarded;
};

static _Thread_local char reason[280];

static APHI_COLD aphi_ending record_crash(const aphi_guarded *g)
{
    snprintf(reason, sizeof reason, "%s", g->crash);
    return APHI_CRASHED;
}

const char *aphi_step_reason(void)
{
    return reason;
}

const char *aphi_model_contradiction(const aph_model *model)
{
    if (model->connections && (model->rpc || model->part || model->commute || model->reads || model->eager ||
                               model->answers || model->calls_apart))
        return "a model with .connections cannot use the promises rpc, part, commute, reads, eager, answers and "
               "calls_apart; remove them, or .connections";
    return NULL;
}

aphi_ending aphi_step_run(const aph_model *model, aph_value *state, aphi_answerer *answerer, void *context)
{
    bool waiting = false;
    return aphi_step_feed(model, state, NULL, &waiting, APH_NIL, answerer, context);
}

aphi_ending aphi_step_feed(const aph_model *model, aph_value *state, const aph_request *request, bool *waiting,
                           aph_value expected, aphi_answerer *answerer, void *context)
{
    struct aph m;
    m.model = model;
    m.state = *state;
    m.answerer = answerer;
    m.context = context;
    m.clause = NULL;
    m.request = request;
    m.waiting = waiting;
    m.expected = expected;
    aphi_guard_enter(&m.guarded);
    int why = sigsetjmp(m.guarded.escape, 0);
    if (!why)
        model->step(&m, &m.state);
    aphi_guard_leave(&m.guarded);
    switch (why) {
    case 0: *state = m.state; return APHI_ENDED;
    case APHI_ESCAPE_TIME: return APHI_OUT_OF_TIME;
    case APHI_ESCAPE_CRASH: return record_crash(&m.guarded);
    default: return (aphi_ending)why;
    }
}

static _Noreturn void abandon_step(aph *m, aphi_ending ending)
{
    siglongjmp(m->guarded.escape, ending);
}

void aphi_step_miscalled(aph *m, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(reason, sizeof reason, format, args);
    va_end(args);
    abandon_step(m, APHI_MISCALLED);
}

aph_value aphi_step_perform(aph *m, aph_event *event)
{
    aph_value answer = APH_NIL;
    event->clause = m->clause;
    m->clause = NULL;
    if (aphi_guard_expired())
        abandon_step(m, APHI_OUT_OF_TIME);
    if (!m->answerer(m->context, event, &answer))
        abandon_step(m, APHI_LEFT);
    return answer;
}

bool aphi_step_is_of_network(const aph *m)
{
    return m->model->version == APHI_STEP_OF_NETWORK;
}

static void expect_server(aph *m, const char *call)
{
    if (aphi_step_is_of_network(m))
        aphi_step_miscalled(m, "%s: only for models of servers; a network calls aph_absorb and aph_emit", call);
}

aph_request aph_recv(aph *m)
{
    if (*m->waiting) {
        *m->waiting = false;
        m->clause = NULL;
        return *m->request;
    }
    expect_server(m, "aph_recv");
    aph_value packet = aphi_step_perform(m, &(aph_event){.kind = APH_EVENT_RECV});
    return (aph_request){aph_int_of(aph_at(packet, 0)), aph_at(packet, 1)};
}

void aph_send(aph *m, int64_t to, aph_value message)
{
    expect_server(m, "aph_send");
    if (aphi_is_signal(message) && !(message == APH_CLOSED && m->model->connections))
        aphi_step_miscalled(m, "aph_send(%" PRId64 "): the message is the opening or end of a connection; to close a "
                            "connection, set .connections and call aph_close", to);
    aphi_step_perform(m, &(aph_event){.kind = APH_EVENT_SEND, .to = to, .value = message});
}

void aph_close(aph *m, int64_t to)
{
    expect_server(m, "aph_close");
    if (!m->model->connections)
        aphi_step_miscalled(m, "aph_close(%" PRId64 "): the model does not set .connections; set it to true", to);
    aph_send(m, to, APH_CLOSED);
}

aph_value aph_choose_shown(aph *m, aph_kind sort, const char *field, const char *name)
{
    if (sort != APH_BOOL && sort != APH_INT && sort != APH_STR)
        aphi_step_miscalled(m, "aph_choose(\"%.60s\"): invalid sort; use APH_BOOL, APH_INT or APH_STR",
                            name ? name : "");
    return aphi_step_perform(m, &(aph_event){.kind = APH_EVENT_CHOOSE, .sort = sort, .name = name, .shown = field});
}

aph_value aph_choose(aph *m, aph_kind sort, const char *name)
{
    return aph_choose_shown(m, sort, NULL, name);
}

aph_value aph_choose_within_shown(aph *m, int64_t low, int64_t high, const char *field, const char *name)
{
    if (low > high)
        aphi_step_miscalled(m, "aph_choose_within(%" PRId64 ", %" PRId64 ", \"%.60s\"): no integer in the range; "
                            "pass the lower bound first, or abandon the branch with aph_never", low, high,
                            name ? name : "");
    return aphi_step_perform(m, &(aph_event){.kind = APH_EVENT_CHOOSE, .sort = APH_INT, .bounded = true, .low = low,
                                             .high = high, .name = name, .shown = field});
}

aph_value aph_choose_within(aph *m, int64_t low, int64_t high, const char *name)
{
    return aph_choose_within_shown(m, low, high, NULL, name);
}

/* A term without a value, such as 1 / 0 < 2, is a condition that no branch satisfies. */
static bool is_condition(aph_value v)
{
    aph_kind sort = aph_sort_of(v);
    return sort == APH_BOOL || sort == APH_TERM;
}

bool aph_decide(aph *m, aph_value condition, const char *name)
{
    if (!is_condition(condition)) {
        char *text = aph_json_text(condition, NULL), shown[64];
        snprintf(shown, sizeof shown, "%s", text);
        free(text);
        aphi_step_miscalled(m, "aph_decide(\"%.60s\"): %s is not a boolean; make a condition with aph_eq, aph_lt or "
                            "another comparison", name ? name : "", shown);
    }
    return aph_truth(aphi_step_perform(m, &(aph_event){.kind = APH_EVENT_DECIDE, .value = condition, .name = name}));
}

int aph_either_(aph *m, size_t n, const char *const *names)
{
    return (int)aph_int_of(aphi_step_perform(m, &(aph_event){.kind = APH_EVENT_EITHER, .count = n, .names = names}));
}

/* Returns the waiver if the user allows it, else NULL. */
static const aph_waiver *allowed_waiver(const aph *m, const char *name)
{
    const aph_waiver *w = m->model->waivers;
    for (size_t i = 0; m->model->waived && w && w[i].name; i++)
        if ((m->model->waived >> i & 1) && strcmp(w[i].name, name) == 0)
            return &w[i];
    return NULL;
}

bool aph_is_allowed(aph *m, const char *name)
{
    return allowed_waiver(m, name);
}

bool aph_waive(aph *m, const char *name)
{
    const aph_waiver *w = allowed_waiver(m, name);
    return w && aph_either_(m, 2, w->alternatives) == 1;
}

/* Returns true if v differs from the observed value for all values of its symbols. */
static bool differs(aph_value v, aph_value seen)
{
    aph_value key, item;
    if (v == seen || !aph_is_symbolic(v))
        return v != seen;
    if (aph_kind_of(v) != APH_OBJECT)
        return !seen;
    if (aph_kind_of(seen) != APH_OBJECT || aph_count(v) != aph_count(seen))
        return true;
    for (size_t i = 0; aph_pair_at(v, i, &key, &item); i++)
        if (differs(item, aph_get(seen, key)))
            return true;
    return false;
}

void aph_foretell(aph *m, const char *field, aph_value v)
{
    if (m->expected && differs(v, aph_field(m->expected, field)))
        abandon_step(m, APHI_LEFT);
}

static bool is_outside(uintptr_t within, aph_value seen)
{
    return !aph_is_int(seen) || aph_int_of(seen) < (int64_t)(within >> 32) ||
           aph_int_of(seen) > (int64_t)(within >> 16 & 0xffff);
}

static bool contradicts(aph_value foretold, aph_value seen)
{
    uintptr_t word = (uintptr_t)foretold;
    if ((word & 0xffff) == ((uintptr_t)APH_WITHIN(0, 0) & 0xffff))
        return is_outside(word, seen);
    return foretold == APH_SOME ? !seen : foretold != APH_ANY && differs(foretold, seen);
}

static bool is_one_of(aph_value v, const aph_value *values, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (values[i] == v)
            return true;
    return false;
}

int aph_either_foretold_(aph *m, const char *field, const aph_value *values, size_t n, const char *const *names)
{
    if (n > 64)
        aphi_step_miscalled(
            m, "aph_either_foretold(\"%.60s\"): more than 64 alternatives; split it into several choices", field);
    aph_event event = {.kind = APH_EVENT_EITHER, .count = n, .names = names};
    aph_value seen = m->expected ? aph_field(m->expected, field) : APH_NIL;
    for (size_t i = 0; m->expected && i < n; i++)
        if (values[i] == APH_ELSE ? is_one_of(seen, values, i) : contradicts(values[i], seen))
            event.ruled_out |= (uint64_t)1 << i;
    return (int)aph_int_of(aphi_step_perform(m, &event));
}

bool aph_waive_foretold(aph *m, const char *name, const char *field, aph_value without, aph_value waived)
{
    const aph_waiver *w = allowed_waiver(m, name);
    return w && aph_either_foretold_(m, field, APH_VALUES(without, waived), 2, w->alternatives) == 1;
}

void aph_clause(aph *m, const char *clause)
{
    m->clause = clause;
}

void aph_never(aph *m)
{
    abandon_step(m, APHI_NEVER);
}

void aph_unknown_request(aph *m, const char *why)
{
    snprintf(reason, sizeof reason, "%s", why);
    abandon_step(m, APHI_UNKNOWN_REQUEST);
}

const void *aph_data(aph *m)
{
    return aphi_step_is_of_network(m) ? ((const aph_network *)m->model->data)->data : m->model->data;
}

/* ---- replay ------------------------------------------------------------------------------------------------------ */

static bool replay_answer(void *context, const aph_event *event, aph_value *answer)
{
    aphi_answers *r = context;
    r->event = *event;
    if (r->at == aph_count(r->answers))
        return false;
    *answer = aph_at(r->answers, r->at++);
    return true;
}

aphi_ending aphi_step_replay(const aph_model *model, aph_value *state, aphi_answers *replay)
{
    return aphi_step_run(model, state, replay_answer, replay);
}
