/* SPDX-License-Identifier: Apache-2.0
 *
 * rationale.c - what led a model to an answer, in its own words.
 *
 * Idea:       the search has kept the order of the requests and the way taken at each branch, but no names: run the
 *             model along it once more, from where the window begins, and listen in the step that sends the answer.
 *             Nothing is solved: what each decision was is written in the path.
 * Invariants: 1. `heard` is of the step that runs
 *             2. of a model that is rpc, the answer is the one to the request to blame. Of others it is the first to
 *                its connection that nobody has seen: mail of the root comes first, then what is sent on the way.
 *                Where messages overtake each other it is any that is what was allowed.
 * Cost:       a run of the model over the requests of the window. */
#include "oracle/rationale.h"

#include "oracle/history.h"
#include "tree/step.h"

enum { IDLE_STEPS_MAX = 10000 }; /* steps without a request before a model is taken to run on for ever */

typedef struct walk {
    const aph_oracle *probe;
    const aphi_allowed *allowed;
    const aphi_observed_event *blamed;
    aph_value begun;       /* answers to what the first step did before the window began */
    size_t begun_at;
    size_t order_at;
    uint32_t taken;        /* the request at hand */
    aph_value path;
    size_t path_at;
    aph_value opened;      /* connections that the server opened on the way, as the model has them */
    size_t before;         /* messages to the connection that come before the answer */
    uint32_t fresh;
    unsigned idle;
    aph_value heard;
    bool found;
} walk;

/* ---- what is heard ----------------------------------------------------------------------------------------------- */

static void hear(walk *w, const aph_event *event, const char *kind, const char *name, aph_value value)
{
    aph_value said = aph_object();
    if (!name && !event->clause)
        return;
    if (name)
        said = aph_put(said, kind, aph_str(name));
    if (name && value)
        said = aph_put(said, "value", value);
    if (event->clause)
        said = aph_put(said, "clause", aph_str(event->clause));
    w->heard = aph_push(w->heard, said);
}

static void hear_event(walk *w, const aph_event *event, aph_value answer)
{
    switch (event->kind) {
    case APH_EVENT_SEND:
        if (w->found) /* other messages did not lead to this one */
            hear(w, event, NULL, NULL, APH_NIL);
        break;
    case APH_EVENT_CHOOSE: hear(w, event, "choice", event->name, APH_NIL); break;
    case APH_EVENT_EITHER: hear(w, event, "choice", event->names[aph_int_of(answer)], APH_NIL); break;
    case APH_EVENT_DECIDE: hear(w, event, "decision", event->name, answer); break;
    default: break;
    }
}

/* ---- the way ----------------------------------------------------------------------------------------------------- */

static uint32_t find_request(const aph_oracle *o, uint64_t id)
{
    for (uint32_t i = 0; i < o->op_count; i++)
        if (o->ops[i].id == id)
            return i;
    return APHI_NONE;
}

/* False: it is not a request. */
static bool take(walk *w, const aphi_taken *t)
{
    if (t->id == APHI_OPENED)
        w->opened = aph_set(w->opened, aph_at(t->path, 0), aph_at(t->path, 1));
    w->taken = t->id >= APHI_OPENED ? APHI_NONE : find_request(w->probe, t->id);
    w->path = t->path;
    w->path_at = 0;
    return w->taken != APHI_NONE;
}

static int64_t connection_of(const walk *w, int64_t connection)
{
    int64_t own = aphi_model_connection(w->opened, connection);
    return own ? own : aphi_mail_opened(&w->probe->roots[w->allowed->root].core, connection);
}

static bool take_next(walk *w, aph_value *answer)
{
    do
        if (w->order_at == w->allowed->order_count)
            return false;
    while (!take(w, &w->allowed->order[w->order_at++]));
    const aphi_request *a = &w->probe->ops[w->taken];
    *answer = APH_ARRAY_OF(aph_int(connection_of(w, a->connection)), a->message);
    w->idle = 0;
    return true;
}

/* False if the model goes another way than it did in the search, which had found values for some of its symbols: one
 * that looks at those other than by aph_decide. */
static bool next_way(walk *w, const aph_event *event, aph_value *answer)
{
    if (w->path_at == aph_count(w->path))
        return false;
    *answer = aph_at(w->path, w->path_at++);
    if (event->kind == APH_EVENT_DECIDE)
        return aph_kind_of(*answer) == APH_BOOL;
    return aph_is_int(*answer) && (uint64_t)aph_int_of(*answer) < event->count;
}

static bool is_the_answer(walk *w, const aph_event *sent)
{
    if (w->probe->rpc)
        return w->taken == w->blamed->asked;
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
        case APH_EVENT_RECV: answered = take_next(w, answer); break;
        case APH_EVENT_SEND: w->found = is_the_answer(w, event); break;
        case APH_EVENT_CHOOSE: *answer = aph_symbol(event->sort, w->fresh++); break;
        case APH_EVENT_EITHER:
        case APH_EVENT_DECIDE: answered = next_way(w, event, answer); break;
        default: answered = false;
        }
    }
    if (answered)
        hear_event(w, event, *answer);
    return answered && !w->found;
}

/* How many messages to the connection were sent after the root and seen before the answer. False if the answer had been
 * sent before. */
static bool count_before(walk *w, const aphi_core *root)
{
    size_t seen = 0, waiting = aph_count(aph_get(root->mail, aph_int(w->blamed->connection)));
    for (const aphi_observed_event *e = w->probe->events; e < w->blamed; e++)
        seen += e->kind == APHI_OBSERVED_ANSWER && e->connection == w->blamed->connection;
    w->before = seen - waiting;
    return w->probe->rpc || w->probe->env.lossy || seen >= waiting;
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
        w.heard = nothing;
        ending = aphi_step_run(probe->model, &state, answer_event, &w);
    } while (ending == APHI_ENDED && w.idle++ < IDLE_STEPS_MAX);
    return w.found ? w.heard : nothing;
}
