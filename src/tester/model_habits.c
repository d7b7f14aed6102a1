/* SPDX-License-Identifier: Apache-2.0
 *
 * model_habits.c - a model's treatment of requests that wait; see model_habits.h.
 *
 * Idea:       a random walk of the model: each generated request is taken at once, on any of a few connections,
 *             sometimes on one that waits. The numbers of requests and responses of each connection are compared. If
 *             all connections wait, the walk starts again. */
#include "tester/model_habits.h"

#include "base/clock.h"
#include "base/random_choice.h"
#include "generate/generator.h"
#include "oracle/transition.h"
#include "tree/model_calls.h"
#include "tree/step.h"
#include "tree/step_guard.h"

#include <string.h>

enum {
    CONNECTIONS = 3,
    REQUESTS = 400,
    LABELLED = 256,
};
static const int64_t WALK_NS = 200000000;
static const int64_t KNOWS_NS = 100000000; /* for two steps */

typedef struct walk {
    const aph_model *model;
    aphi_machine *machine;
    aphi_labelled *labelled;
    aphi_core core;
    aphi_choice choice;
    int64_t unanswered[CONNECTIONS];
    bool surplus;    /* a connection got more messages than it has requests */
    aphi_model_habits habits;
} walk;

static void mark_walk(void *context)
{
    const walk *w = context;
    aphi_core_mark(&w->core);
}

/* Counts the messages that the step of this request has sent. */
static void count_messages(walk *w, const aphi_action *a)
{
    bool waited = w->unanswered[a->connection] > 0;
    w->unanswered[a->connection]++;
    for (int64_t c = 0; c < CONNECTIONS; c++) {
        aph_value messages = w->core.outbox ? aph_get(w->core.outbox, aph_int(c)) : APH_NIL;
        int64_t n = messages ? (int64_t)aph_count(messages) : 0;
        if (n && c == a->connection)
            aphi_labelled_add(w->labelled, a->label + 1, aph_at(messages, 0));
        w->habits.overtakes |= n && c == a->connection && waited;
        w->habits.waits |= n && c != a->connection && w->unanswered[c] > 0;
        w->unanswered[c] -= n;
        w->surplus |= w->unanswered[c] < 0;
    }
    aphi_outbox_clear(&w->core);
}

/* Returns false if the model does not take the request. */
static bool take_step(walk *w, const aphi_action *a)
{
    size_t n;
    aph_value message = aphi_expression_fill(a->send, w->labelled, w->model->functions);
    aphi_labelled_add(w->labelled, a->label, message);
    const aphi_successor *results = aphi_machine_feed(w->machine, &w->core, a->connection, message, APHI_KEEP, APH_NIL,
                                                      &n);
    if (aphi_machine_fault(w->machine, NULL) || aphi_machine_out_of_time(w->machine) || !n)
        return false;
    w->core = results[aphi_choice_below(&w->choice, n)].core;
    count_messages(w, a);
    return true;
}

/* Returns false if the model fails before its first request. */
static bool start_walk(walk *w)
{
    size_t n;
    const aphi_successor *starts = aphi_machine_start(w->machine, &n);
    if (!n || aphi_machine_fault(w->machine, NULL))
        return false;
    w->core = starts[0].core;
    aphi_outbox_clear(&w->core);
    memset(w->unanswered, 0, sizeof w->unanswered);
    return true;
}

/* Returns this connection or, usually, another one if it waits; CONNECTIONS if all wait. */
static int64_t choose_connection(walk *w, int64_t connection)
{
    if (w->unanswered[connection] <= 0 || aphi_choice_chance(&w->choice, 1, 4))
        return connection;
    for (connection = 0; connection < CONNECTIONS && w->unanswered[connection] > 0;)
        connection++;
    return connection;
}

static void walk_model(walk *w, aphi_generator *g)
{
    aphi_knowledge known = {.seen = w->labelled};
    bool goes_on = start_walk(w);
    for (int i = 0; i < REQUESTS && goes_on; i++) {
        aphi_action a = aphi_generator_next(g, &known);
        a.connection = choose_connection(w, a.connection);
        if (a.connection == CONNECTIONS)
            goes_on = start_walk(w);
        else
            goes_on = a.label && (!a.send || take_step(w, &a));
    }
}

aphi_model_habits aphi_model_habits_find(const aph_model *model)
{
    char error[300];
    bool known = model->rpc || model->connections;
    aphi_generator *g = known ? NULL : aphi_generator_open(model, 1, CONNECTIONS, 1, error, sizeof error);
    if (!g)
        return (aphi_model_habits){0};
    walk w = {.model = model, .machine = aphi_machine_open(model, false, false, 0),
              .labelled = aphi_labelled_open(LABELLED), .choice = aphi_choice_seed(1)};
    aph_root_add(mark_walk, &w);
    aphi_guard_arm(model, aphi_clock_ns() + WALK_NS, 0);
    walk_model(&w, g);
    aphi_guard_disarm();
    aph_root_remove(mark_walk, &w);
    aphi_machine_close(w.machine);
    aphi_labelled_close(w.labelled);
    aphi_generator_close(g);
    w.habits.waits &= !w.surplus;
    return w.habits;
}

/* ---- known requests ---------------------------------------------------------------------------------------------- */

/* Takes the first alternative, and leaves the step at a choice of a value. */
static bool answer_simply(void *context, const aph_event *event, aph_value *answer)
{
    (void)context;
    *answer = event->kind == APH_EVENT_EITHER ? aph_int(0) : APH_NIL;
    return event->kind == APH_EVENT_SEND || event->kind == APH_EVENT_EITHER;
}

static aphi_ending take_message(const aph_model *model, aph_value *state, aph_value message)
{
    aph_request request = {0, message};
    bool waiting = true;
    return aphi_step_feed(model, state, &request, &waiting, APH_NIL, answer_simply, NULL);
}

bool aphi_model_habits_knows(const aph_model *model, aph_value request)
{
    aph_value state = aphi_model_initial(model);
    aphi_guard_arm(model, aphi_clock_ns() + KNOWS_NS, 0);
    bool begins = !model->connections || take_message(model, &state, APH_OPENED) == APHI_ENDED;
    bool knows = !begins || take_message(model, &state, request) != APHI_UNKNOWN_REQUEST;
    aphi_guard_disarm();
    return knows;
}
