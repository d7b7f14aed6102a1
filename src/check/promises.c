/* SPDX-License-Identifier: Apache-2.0
 *
 * promises.c - tests of the promises of a model.
 *
 * Idea:       a verdict that changes without a promise shows that the promise is false. To find two requests that show
 *             it, the model is run on requests of the history, one after another, and in each state pairs of them are
 *             run in both orders. Such a pair is a proof, for any verdict. States with unknowns are skipped:
 *             two descriptions of the same responses may differ. */
#include "check/promises.h"

#include "base/clock.h"
#include "env/env.h"
#include "oracle/partitions.h"
#include "tree/model_calls.h"
#include "tree/step_guard.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    AHEAD = 12,     /* requests after one that are paired with it */
    RESULTS_MAX = 16,
    SOLVER_MS = 50,
    JUDGE_MS = 100,
};

unsigned aphi_promises_in_use(const aph_model *model, const aph_oracle_options *options)
{
    aphi_env env;
    if (options->ignore_promises || !aphi_env_named(options->environment, &env) || env.lossy)
        return 0;
    if (!model->rpc)
        return model->eager && !env.buffer ? APHI_PROMISE_EAGER : 0;
    bool alike = !options->tell_apart && !model->ignores_connections;
    return APHI_PROMISE_RPC | (alike ? APHI_PROMISE_ALIKE : 0) | (model->part ? APHI_PROMISE_PART : 0) |
           (model->commute ? APHI_PROMISE_COMMUTE : 0) | (model->reads ? APHI_PROMISE_READS : 0);
}

aph_model aphi_promises_drop(const aph_model *model, unsigned promises)
{
    aph_model copy = *model;
    if (promises & APHI_PROMISE_PART)
        copy.part = NULL;
    if (promises & APHI_PROMISE_COMMUTE)
        copy.commute = NULL;
    if (promises & APHI_PROMISE_READS)
        copy.reads = NULL;
    if (promises & APHI_PROMISE_EAGER)
        copy.eager = false;
    if (promises & APHI_PROMISE_RPC) {
        copy.rpc = false;
        copy.answers |= model->rpc;
    }
    return copy;
}

const char *aphi_promise_name(unsigned promise)
{
    switch (promise) {
    case APHI_PROMISE_PART: return ".part";
    case APHI_PROMISE_COMMUTE: return ".commute";
    case APHI_PROMISE_READS: return ".reads";
    case APHI_PROMISE_EAGER: return ".eager";
    case APHI_PROMISE_RPC: return ".rpc";
    default: return ".part, .commute or .reads";
    }
}

/* ---- judging ----------------------------------------------------------------------------------------------------- */

static aph_verdict feed_event(aphi_partitions *p, const aphi_lookahead_event *o)
{
    const aphi_observation *seen = &o->seen;
    aph_lookahead known = {o->future, o->answer, o->order, o->alone, o->shown, o->sought};
    switch (seen->kind) {
    case APHI_SENT: return aphi_partitions_sent(p, seen->line, seen->connection, seen->message, &known);
    case APHI_RECEIVED: return aphi_partitions_received(p, seen->line, seen->connection, seen->message);
    case APHI_LOST: return aphi_partitions_lost(p, seen->line, seen->connection, o->foretold);
    case APHI_QUIET: return aphi_partitions_quiet(p, seen->line);
    default: return APH_PASS;
    }
}

aph_verdict aphi_promises_judge(const aph_model *model, const aph_oracle_options *options, unsigned dropped,
                                const aphi_lookahead_event *events, size_t n, uint64_t visits)
{
    char error[200];
    aph_model copy = aphi_promises_drop(model, dropped);
    aph_oracle_options how = {.environment = options->environment, .whole = options->whole, .memory = options->memory,
                              .time_ms = JUDGE_MS, .solver_ms = SOLVER_MS,
                              .tell_apart = options->tell_apart || (dropped & APHI_PROMISE_ALIKE)};
    aphi_partitions *p = aphi_partitions_open(&copy, &how, error, sizeof error);
    if (!p)
        return APH_UNKNOWN;
    size_t parts;
    const aphi_partition *first = aphi_partitions_all(p, &parts);
    if (parts)
        first->oracle->visit_max = visits;
    aph_verdict verdict = APH_PASS;
    for (size_t i = 0; i < n && verdict == APH_PASS; i++)
        verdict = feed_event(p, &events[i]);
    aphi_partitions_close(p);
    return verdict;
}

/* ---- pairs of requests ------------------------------------------------------------------------------------------- */

typedef struct pairing {
    const aph_model *model;
    aphi_machine *machine;
    const aphi_lookahead_event *events;
    size_t count;
    int64_t until;
    uint64_t runs_left; /* of the model */
} pairing;

static bool may_go_on(const pairing *p) { return p->runs_left > 0 && aphi_clock_ns() < p->until; }

typedef struct results {
    aphi_core cores[RESULTS_MAX];
    size_t count;
    bool known; /* all results, without unknowns */
} results;

static bool has_unknowns(const aphi_core *c)
{
    return c->store || c->fresh || aph_is_symbolic(c->state);
}

/* All results of the request in the core. The responses are added to the outbox of the connection. */
static results run_request(pairing *p, const aphi_core *core, const aphi_lookahead_event *request, int64_t connection)
{
    results all = {.known = true};
    size_t n;
    p->runs_left -= p->runs_left > 0;
    const aphi_successor *found =
        aphi_machine_feed(p->machine, core, connection, request->seen.message, APHI_KEEP, APH_NIL, &n);
    all.known = n > 0 && n <= RESULTS_MAX && !aphi_machine_fault(p->machine, NULL) &&
                !aphi_machine_out_of_time(p->machine) && !aphi_machine_undecided(p->machine);
    for (size_t i = 0; all.known && i < n; i++) {
        all.cores[all.count++] = found[i].core;
        all.known = !has_unknowns(&found[i].core);
    }
    return all;
}

static aph_value response_in(const aphi_core *c, int64_t connection)
{
    return aph_at(aph_get(c->outbox, aph_int(connection)), 0);
}

static bool has_response(const results *all, int64_t connection, aph_value response)
{
    for (size_t i = 0; i < all->count; i++)
        if (response_in(&all->cores[i], connection) == response)
            return true;
    return false;
}

/* Returns true if each response in `these`, on the connection, is one of `those`. */
static bool are_responses_of(const results *these, const results *those, int64_t connection)
{
    for (size_t i = 0; i < these->count; i++)
        if (!has_response(those, connection, response_in(&these->cores[i], connection)))
            return false;
    return true;
}

/* Returns true if b has other responses after a, or after the read a with its response. */
static bool shows_effect(pairing *p, const aphi_core *core, const aphi_lookahead_event *a,
                         const aphi_lookahead_event *b, bool read)
{
    results alone = run_request(p, core, b, 2), after = run_request(p, core, a, 1);
    bool shown = false;
    for (size_t i = 0; alone.known && after.known && i < after.count && !shown; i++) {
        if (read && response_in(&after.cores[i], 1) != a->answer)
            continue;
        results both = run_request(p, &after.cores[i], b, 2);
        if (!both.known)
            return false;
        shown = !are_responses_of(&both, &alone, 2) || (!read && !are_responses_of(&alone, &both, 2));
    }
    return shown;
}

/* The results of a and then b, in all states after a. */
static results run_both(pairing *p, const aphi_core *core, const aphi_lookahead_event *a, int64_t from_a,
                        const aphi_lookahead_event *b, int64_t from_b)
{
    results first = run_request(p, core, a, from_a), all = {.known = first.known};
    for (size_t i = 0; all.known && i < first.count; i++) {
        results second = run_request(p, &first.cores[i], b, from_b);
        all.known = second.known && all.count + second.count <= RESULTS_MAX;
        for (size_t k = 0; all.known && k < second.count; k++)
            all.cores[all.count++] = second.cores[k];
    }
    return all;
}

/* Returns true if a core of `these` has an outbox, or also a state, that no core of `those` has. */
static bool differ(const results *these, const results *those, bool states)
{
    for (size_t i = 0; i < these->count; i++) {
        bool found = false;
        for (size_t k = 0; k < those->count && !found; k++)
            found = these->cores[i].outbox == those->cores[k].outbox &&
                    (!states || these->cores[i].state == those->cores[k].state);
        if (!found)
            return true;
    }
    return false;
}

/* The results of the request in all of these cores. */
static results run_in_all(pairing *p, const results *cores, const aphi_lookahead_event *request)
{
    results all = {.known = true};
    for (size_t i = 0; all.known && i < cores->count; i++) {
        results one = run_request(p, &cores->cores[i], request, 3);
        all.known = one.known && all.count + one.count <= RESULTS_MAX;
        for (size_t k = 0; all.known && k < one.count; k++)
            all.cores[all.count++] = one.cores[k];
    }
    return all;
}

/* Returns true if the order of a and b changes their responses, or those of another request after both. A different
 * state alone may have no effect. */
static bool shows_order(pairing *p, const aphi_core *core, const aphi_lookahead_event *a, const aphi_lookahead_event *b)
{
    results one = run_both(p, core, a, 1, b, 2), other = run_both(p, core, b, 2, a, 1);
    if (!one.known || !other.known || differ(&one, &other, false) || differ(&other, &one, false))
        return one.known && other.known;
    bool shown = false, suspected = differ(&one, &other, true) || differ(&other, &one, true);
    for (size_t i = 0; suspected && !shown && i < p->count && may_go_on(p); i++) {
        if (p->events[i].seen.kind != APHI_SENT)
            continue;
        results these = run_in_all(p, &one, &p->events[i]), those = run_in_all(p, &other, &p->events[i]);
        shown = these.known && those.known && (differ(&these, &those, false) || differ(&those, &these, false));
    }
    return shown;
}

static bool shows_falsehood(pairing *p, unsigned promise, const aphi_core *core, const aphi_lookahead_event *a,
                            const aphi_lookahead_event *b)
{
    aph_value x = a->seen.message, y = b->seen.message;
    switch (promise) {
    case APHI_PROMISE_PART:
        return aphi_model_part(p->model, x) != aphi_model_part(p->model, y) && shows_effect(p, core, a, b, false);
    case APHI_PROMISE_COMMUTE: return a != b && aphi_model_commute(p->model, x, y) && shows_order(p, core, a, b);
    case APHI_PROMISE_READS:
        return a->future == APH_FUTURE_ANSWER && aphi_model_reads(p->model, x, a->answer) &&
               shows_effect(p, core, a, b, true);
    default: return false;
    }
}

static void describe_pair(unsigned promise, aph_value state, aph_value a, aph_value b, char *text, size_t size)
{
    static const char *const effects[] = {[APHI_PROMISE_PART] = "has other responses after", [APHI_PROMISE_COMMUTE] =
                                          "does not commute with", [APHI_PROMISE_READS] = "shows the effect of"};
    char *s = aph_json_text(state, NULL), *x = aph_json_text(a, NULL), *y = aph_json_text(b, NULL);
    snprintf(text, size, "in the state %.80s, the request %.80s %s %.80s", s, y, effects[promise], x);
    free(s);
    free(x);
    free(y);
}

/* Tests the request at i with those after it, in both orders. */
static bool find_partner(pairing *p, unsigned promise, const aphi_core *core, size_t i, char *text, size_t size)
{
    const aphi_lookahead_event *events = p->events;
    for (size_t k = i, seen = 0; k < p->count && seen <= AHEAD && may_go_on(p); k++) {
        if (events[k].seen.kind != APHI_SENT)
            continue;
        seen++;
        for (int turn = 0; turn < 2; turn++) {
            const aphi_lookahead_event *a = &events[turn ? k : i], *b = &events[turn ? i : k];
            if (!shows_falsehood(p, promise, core, a, b))
                continue;
            describe_pair(promise, core->state, a->seen.message, b->seen.message, text, size);
            return true;
        }
    }
    return false;
}

/* The core after the request, with its known response if possible. */
static aphi_core advance_core(pairing *p, const aphi_core *core, const aphi_lookahead_event *request)
{
    results all = run_request(p, core, request, 1);
    size_t best = 0;
    for (size_t i = 0; request->future == APH_FUTURE_ANSWER && i < all.count; i++)
        if (response_in(&all.cores[i], 1) == request->answer)
            best = i;
    aphi_core next = all.known ? all.cores[best] : *core;
    next.outbox = APH_NIL;
    return next;
}

bool aphi_promises_find_pair(const aph_model *model, unsigned promise, const aphi_lookahead_event *events, size_t n,
                             aph_value state, uint64_t runs, int64_t ns, char *text, size_t size)
{
    pairing p = {model, aphi_machine_open(model, model->rpc, false, SOLVER_MS), events, n, aphi_clock_ns() + ns, runs};
    aphi_core core = {.state = state};
    bool found = false;
    *text = 0;
    aphi_machine_tell_apart(p.machine);
    aphi_guard_arm(model, p.until, 0);
    for (size_t i = 0; i < n && !found && !has_unknowns(&core) && may_go_on(&p); i++) {
        if (events[i].seen.kind != APHI_SENT)
            continue;
        found = find_partner(&p, promise, &core, i, text, size);
        core = advance_core(&p, &core, &events[i]);
        if (aphi_machine_fault(p.machine, NULL) || aphi_machine_out_of_time(p.machine))
            break;
    }
    aphi_guard_disarm();
    aphi_machine_close(p.machine);
    return found;
}
