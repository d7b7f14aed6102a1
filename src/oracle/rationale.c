/* SPDX-License-Identifier: Apache-2.0
 *
 * rationale.c - the named choices, decisions and clauses that led a model to a response.
 *
 * Idea:       the search has the order of the requests and the path through each step, but no names. So the model is
 *             run again along these paths from the start of the window, and the events of the step that sends the
 *             response are recorded. No solver is needed, since the paths contain all decisions.
 * Invariants: 1. `recorded` belongs to the running step
 *             2. with rpc, the response belongs to the blamed request. Without rpc, it is the first unobserved message
 *                to the connection, from the outbox of the root or sent during the run. Without message order, it is
 *                any message equal to the allowed one.
 * Cost:       a run of the model over the requests of the window. */
#include "oracle/evidence.h"

#include "oracle/history.h"
#include "tree/step.h"

enum { IDLE_STEPS_MAX = 10000 }; /* steps in a row without a request */

typedef struct walk {
    const aph_oracle *probe;
    const aphi_allowed *allowed;
    const aphi_observed_event *blamed;
    aph_value begun;       /* answers to the events of the first step before the window */
    size_t begun_at;
    size_t order_at;
    uint32_t taken;        /* the current request */
    bool breaks;           /* it is the break of a connection */
    aph_value path;
    size_t path_at;
    aph_value opened;      /* connections that the server opened in the window -> numbers of the model */
    size_t before;         /* messages to the connection before the response */
    uint32_t fresh;
    unsigned idle;
    aph_value recorded;
    bool found;
} walk;

/* ---- recording --------------------------------------------------------------------------------------------------- */

static void record(walk *w, const aph_event *event, const char *kind, const char *name, aph_value value)
{
    aph_value item = aph_object();
    if (!name && !event->clause)
        return;
    if (name)
        item = aph_put(item, kind, aph_str(name));
    if (name && value)
        item = aph_put(item, "value", value);
    if (event->clause)
        item = aph_put(item, "clause", aph_str(event->clause));
    w->recorded = aph_push(w->recorded, item);
}

static void record_event(walk *w, const aph_event *event, aph_value answer)
{
    switch (event->kind) {
    case APH_EVENT_SEND:
        if (w->found) /* other messages do not belong to the rationale */
            record(w, event, NULL, NULL, APH_NIL);
        break;
    case APH_EVENT_CHOOSE: record(w, event, "choice", event->name, APH_NIL); break;
    case APH_EVENT_EITHER: record(w, event, "choice", event->names[aph_int_of(answer)], APH_NIL); break;
    case APH_EVENT_DECIDE: record(w, event, "decision", event->name, answer); break;
    default: break;
    }
}

/* ---- running ----------------------------------------------------------------------------------------------------- */

static uint32_t find_request(const aph_oracle *o, uint64_t id)
{
    for (uint32_t i = 0; i < o->op_count; i++)
        if (o->ops[i].id == id)
            return i;
    return APHI_NONE;
}

/* Returns false if the step of the explanation is not a request. */
static bool take_step(walk *w, const aphi_taken *t)
{
    if (t->id == APHI_ACCEPTED)
        w->opened = aph_set(w->opened, aph_at(t->path, 0), aph_at(t->path, 1));
    w->taken = t->id >= APHI_ACCEPTED ? APHI_NONE : find_request(w->probe, t->id & ~APHI_TAKEN_BROKEN);
    w->breaks = t->id & APHI_TAKEN_BROKEN;
    w->path = t->path;
    w->path_at = 0;
    return w->taken != APHI_NONE;
}

static int64_t connection_of(const walk *w, int64_t connection)
{
    int64_t own = aphi_model_connection(w->opened, connection);
    return own ? own : aphi_outbox_own_number(&w->probe->roots[w->allowed->root].core, connection);
}

static bool take_request(walk *w, aph_value *answer)
{
    do
        if (w->order_at == w->allowed->order_count)
            return false;
    while (!take_step(w, &w->allowed->order[w->order_at++]));
    const aphi_request *a = &w->probe->ops[w->taken];
    *answer = APH_ARRAY_OF(aph_int(connection_of(w, a->connection)), w->breaks ? APH_BROKEN
                                                                     : a->message == APH_LEFT ? APH_CLOSED
                                                                                              : a->message);
    w->idle = 0;
    return true;
}

/* Returns false if the model leaves the path of the search, because it inspects a symbol without aph_decide for which
 * the search had a value. */
static bool next_branch(walk *w, const aph_event *event, aph_value *answer)
{
    if (w->path_at == aph_count(w->path))
        return false;
    *answer = aph_at(w->path, w->path_at++);
    if (event->kind == APH_EVENT_DECIDE)
        return aph_kind_of(*answer) == APH_BOOL;
    return aph_is_int(*answer) && (uint64_t)aph_int_of(*answer) < event->count;
}

static bool is_blamed_response(walk *w, const aph_event *sent)
{
    if (w->probe->rpc)
        return w->taken == w->blamed->request;
    if (w->probe->env.lossy)
        return sent->to == w->blamed->connection && sent->value == w->allowed->answer;
    return sent->to == w->blamed->connection && w->before-- == 0;
}

static bool answer_event(void *context, const aph_event *event, aph_value *answer)
{
    walk *w = context;
    bool answered = true;
    *answer = APH_NIL;
    if (w->begun_at < aph_count(w->begun)) {
        *answer = aph_at(w->begun, w->begun_at++);
    } else {
        switch (event->kind) {
        case APH_EVENT_RECV: answered = take_request(w, answer); break;
        case APH_EVENT_SEND: w->found = is_blamed_response(w, event); break;
        case APH_EVENT_CHOOSE: *answer = aph_symbol(event->sort, w->fresh++); break;
        case APH_EVENT_EITHER:
        case APH_EVENT_DECIDE: answered = next_branch(w, event, answer); break;
        default: answered = false;
        }
    }
    if (answered)
        record_event(w, event, *answer);
    return answered && !w->found;
}

/* Counts the messages to the connection that were sent after the root and observed before the response. Returns false
 * if the response was sent before the root. */
static bool count_before(walk *w, const aphi_core *root)
{
    size_t seen = 0, undelivered = aph_count(aph_get(root->outbox, aph_int(w->blamed->connection)));
    for (const aphi_observed_event *e = w->probe->events; e < w->blamed; e++)
        seen += e->kind == APHI_OBSERVED_ANSWER && e->connection == w->blamed->connection;
    w->before = seen - undelivered;
    return w->probe->rpc || w->probe->env.lossy || seen >= undelivered;
}

aph_value aphi_rationale(const aph_oracle *probe, const aphi_allowed *allowed)
{
    const aphi_core *root = &probe->roots[allowed->root].core;
    walk w = {.probe = probe, .allowed = allowed, .blamed = &probe->events[probe->event_count - 1],
              .begun = root->answers, .taken = APHI_NONE, .opened = aph_object(), .fresh = root->fresh};
    aph_value state = root->state, nothing = aph_array(0, NULL);
    if (!count_before(&w, root))
        return nothing;
    aphi_ending ending;
    do {
        w.recorded = nothing;
        ending = aphi_step_run(probe->model, &state, answer_event, &w);
    } while (ending == APHI_ENDED && w.idle++ < IDLE_STEPS_MAX);
    return w.found ? w.recorded : nothing;
}
