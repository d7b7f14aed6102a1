/* SPDX-License-Identifier: Apache-2.0
 *
 * refinement.c - explore what a model and its clients can do, and ask the oracle of the specification about what they
 * see.
 *
 * Idea:       depth-first over scenes (refine_state.h). A scene that was met before is not entered again. The oracle cannot go
 *             back, so it is asked about whole traces, from their beginning: each different one once, as soon as an
 *             answer in it is complete. All oracles share one machine, so a step of the specification is run once.
 *             What the machine knows and what traces are known is the memory of the search; scenes are the rest of it.
 * Invariants: 1. every scene in the table has been entered, and every trace in the other has been explained
 *             2. a scene's number of schedules is the sum of those of what it can become, 1 if it is an end; a scene
 *                that is being looked at counts 0, so a model that can go in circles does not count them
 * Cost:       two table entries and a few interned arrays a scene: about half a kilobyte.
 * Not done:   sleep sets: with equal scenes made one they would save edges, not scenes.
 * Read next:  refine_state.c, for the reductions; tests/property/test_refine.c, which does without. */
#include "refine/refinement.h"

#include "base/choice.h"
#include "base/clock.h"
#include "base/memory.h"
#include "oracle/evidence.h"
#include "oracle/search.h"
#include "refine/refine_state.h"
#include "tree/guard.h"

#include <stdlib.h>

enum { DEPTH_MAX = 20000, EVIDENCE_VISITS = 100000, LOOK_EVERY = 1024, COLLECT_BYTES = 64 << 20 };

/* Values to numbers: open addressing; APH_NIL is no key. */
typedef struct table {
    aph_value *keys;
    double *numbers;
    size_t size, count;
} table;

typedef struct search {
    const aphi_refine_options *options;
    aphi_refine_state stage;
    aphi_machine *machine;
    table entered;         /* scenes, with their schedules */
    table explained;       /* traces */
    aph_value here;        /* the scene of a random walk */
    bool answered;         /* somewhere, everything was */
    uint64_t steps;        /* until the next look at the limits */
    aphi_refinement result;
    bool over;
} search;

/* ---- tables ------------------------------------------------------------------------------------------------------ */

static size_t place_of(const table *t, aph_value key)
{
    size_t at = aph_hash(key) & (t->size - 1);
    while (t->keys[at] && t->keys[at] != key)
        at = (at + 1) & (t->size - 1);
    return at;
}

static void grow(table *t)
{
    table old = *t;
    t->size = old.size ? 2 * old.size : 1024;
    t->keys = aphi_alloc_zero(t->size * sizeof *t->keys);
    t->numbers = aphi_alloc(t->size * sizeof *t->numbers);
    for (size_t i = 0; i < old.size; i++)
        if (old.keys[i]) {
            size_t at = place_of(t, old.keys[i]);
            t->keys[at] = old.keys[i];
            t->numbers[at] = old.numbers[i];
        }
    free(old.keys);
    free(old.numbers);
}

/* The place of the number of the key; *fresh if it is new. Valid until the next call. */
static double *number_of(table *t, aph_value key, bool *fresh)
{
    if (2 * (t->count + 1) > t->size)
        grow(t);
    size_t at = place_of(t, key);
    *fresh = !t->keys[at];
    if (*fresh) {
        t->keys[at] = key;
        t->numbers[at] = 0;
        t->count++;
    }
    return &t->numbers[at];
}

static void mark_table(const table *t)
{
    for (size_t i = 0; i < t->size; i++)
        aph_mark(t->keys[i]);
}

static void free_table(table *t)
{
    free(t->keys);
    free(t->numbers);
}

static void mark_search(void *context)
{
    search *x = context;
    aphi_refine_state_mark(&x->stage);
    mark_table(&x->entered);
    mark_table(&x->explained);
    aph_mark(x->here);
    aph_mark(x->result.trace);
    aph_mark(x->result.allowed);
}

/* ---- ends -------------------------------------------------------------------------------------------------------- */

static void end(search *x, aphi_refined verdict, aph_fault fault, const char *why)
{
    if (x->over)
        return;
    x->over = true;
    x->result.verdict = verdict;
    x->result.fault = fault;
    snprintf(x->result.why, sizeof x->result.why, "%s", why);
}

static void look_at_limits(search *x)
{
    const aphi_refine_options *o = x->options;
    if (o->progress)
        o->progress(x->result.states);
    if (aph_heap_bytes() > 2 * aph_heap_bytes_kept() + COLLECT_BYTES)
        aph_collect();
    if (o->stop && *o->stop)
        end(x, APHI_REFINES_UNKNOWN, APH_FAULT_NONE, "it was stopped");
    else if (o->deadline_ns && aphi_clock_ns() >= o->deadline_ns)
        end(x, APHI_REFINES_UNKNOWN, APH_FAULT_NONE, "the time is over");
    else if (o->memory && aph_heap_bytes() > o->memory)
        end(x, APHI_REFINES_UNKNOWN, APH_FAULT_NONE, "the memory is used up");
}

/* ---- what the specification says --------------------------------------------------------------------------------- */

static size_t complete_before(aph_value trace, size_t at)
{
    size_t n = 0;
    for (size_t i = 0; i < at; i++)
        n += aph_count(aph_at(trace, i)) == 3;
    return n;
}

/* What would have been explained in place of the answer that is not. */
static void tell_allowed(search *x, const aph_oracle *oracle)
{
    aphi_evidence e = aphi_evidence_open(oracle, EVIDENCE_VISITS);
    x->result.allowed = aph_array(0, NULL);
    for (size_t i = 0; e.probe && i < e.probe->allowed_count; i++)
        x->result.allowed = aph_push(x->result.allowed, aph_record("answer", e.probe->allowed[i].answer));
    aphi_evidence_close(&e);
}

static void judge_failed(search *x, aph_oracle *oracle, aph_verdict verdict, aph_value trace, size_t at)
{
    const char *message;
    aph_fault fault = aph_oracle_fault(oracle, &message);
    char why[400];
    if (verdict == APH_FAIL) {
        tell_allowed(x, oracle);
        x->result.trace = aphi_refine_state_lines(trace);
        x->result.failing = complete_before(trace, at);
        end(x, APHI_REFINES_NOT, APH_FAULT_NONE, "nothing that it allows explains an answer");
    } else if (fault) {
        snprintf(why, sizeof why, "model %s: %s", x->options->spec->name, message);
        end(x, APHI_REFINES_FAULT, fault, why);
    } else {
        end(x, APHI_REFINES_UNKNOWN, APH_FAULT_NONE, "the solver could not decide in its time");
    }
}

/* Does the specification explain the trace? What is there only in part is left out. */
static void judge(search *x, aph_value trace)
{
    char error[200];
    aph_oracle_options options = {.environment = "tcp", .patient = true};
    aph_oracle *oracle = aphi_oracle_open_on(x->options->spec, &options, x->machine, false, error, sizeof error);
    if (!oracle) {
        end(x, APHI_REFINES_FAULT, APH_FAULT_CRASH, error);
        return;
    }
    x->result.traces++;
    for (size_t i = 0; i < aph_count(trace) && !x->over; i++) {
        aph_value e = aph_at(trace, i);
        if (aph_count(e) < 3)
            continue;
        int64_t client = aph_int_of(aph_at(e, 1)) + 1;
        aph_verdict verdict = aph_int_of(aph_at(e, 0)) == APHI_REFINE_STATE_SENT
                                  ? aph_oracle_sent(oracle, client, aph_at(e, 2), NULL, NULL)
                                  : aph_oracle_received(oracle, client, aph_at(e, 2));
        if (verdict != APH_PASS)
            judge_failed(x, oracle, verdict, trace, i);
    }
    aph_oracle_close(oracle);
}

static size_t answers_in(aph_value trace)
{
    size_t n = 0;
    for (size_t i = 0; i < aph_count(trace); i++)
        n += aph_int_of(aph_at(aph_at(trace, i), 0)) == APHI_REFINE_STATE_RECEIVED && aph_count(aph_at(trace, i)) == 3;
    return n;
}

/* Was all answered? A specification that does not answer each request once is content with one answer. */
static void look_at_answers(search *x, aph_value trace)
{
    size_t asked = x->options->spec->rpc ? x->options->clients * x->options->messages : 1;
    x->answered |= answers_in(trace) >= asked;
}

/* ---- one scene after the other ----------------------------------------------------------------------------------- */

static void see_blemish(search *x)
{
    const aphi_refine_state *g = &x->stage;
    if (!g->blemish)
        return;
    if (g->fault == APH_FAULT_STUCK && aphi_guard_expired() && !aphi_guard_stuck()) {
        end(x, APHI_REFINES_UNKNOWN, APH_FAULT_NONE,
            aphi_guard_overfull() ? "the memory is used up" : "the time is over");
        return;
    }
    if (g->blemish != APHI_REFINE_FLAW_FAULT)
        x->result.trace = aphi_refine_state_lines(g->trace);
    x->result.failing = aph_count(x->result.trace) - 1;
    end(x, g->blemish == APHI_REFINE_FLAW_FAULT ? APHI_REFINES_FAULT : APHI_REFINES_NOT, g->fault, g->why);
}

static void go_on(search *x, aph_value scene)
{
    if (++x->steps % LOOK_EVERY == 0)
        look_at_limits(x);
    aphi_refine_state_go_on(&x->stage, scene);
    see_blemish(x);
}

static void judge_once(search *x, aph_value trace)
{
    bool fresh;
    number_of(&x->explained, trace, &fresh);
    if (fresh && answers_in(trace))
        judge(x, trace);
}

/* How many schedules lead from this scene to an end? */
static double visit(search *x, aph_value scene, size_t depth)
{
    bool fresh;
    double known = *number_of(&x->entered, scene, &fresh), schedules = 0;
    if (!fresh || x->over)
        return known;
    if (depth == DEPTH_MAX) {
        end(x, APHI_REFINES_UNKNOWN, APH_FAULT_NONE, "a schedule does not come to an end");
        return 0;
    }
    x->result.states++;
    judge_once(x, aph_at(scene, APHI_REFINE_STATE_TRACE));
    size_t from = x->stage.count;
    go_on(x, scene);
    size_t to = x->stage.count;
    if (to == from) {
        look_at_answers(x, aph_at(scene, APHI_REFINE_STATE_TRACE));
        schedules = 1;
    }
    for (size_t i = from; i < to && !x->over; i++)
        schedules += visit(x, x->stage.scenes[i], depth + 1);
    x->stage.count = from;
    *number_of(&x->entered, scene, &fresh) = schedules;
    return schedules;
}

static void walk(search *x, aphi_choice *choice)
{
    for (size_t depth = 0; !x->over; depth++) {
        x->stage.count = 0;
        go_on(x, x->here);
        x->result.states++;
        if (!x->stage.count)
            break;
        if (depth == DEPTH_MAX)
            end(x, APHI_REFINES_UNKNOWN, APH_FAULT_NONE, "a schedule does not come to an end");
        x->here = x->stage.scenes[aphi_choice_below(choice, x->stage.count)];
    }
    if (x->over)
        return;
    look_at_answers(x, aph_at(x->here, APHI_REFINE_STATE_TRACE));
    judge(x, aph_at(x->here, APHI_REFINE_STATE_TRACE));
}

/* ---- all of it --------------------------------------------------------------------------------------------------- */

static aphi_refinement run(const aphi_refine_options *options, uint64_t walks, uint64_t seed)
{
    search x = {.options = options};
    aphi_choice choice = aphi_choice_seed(seed);
    aph_value first;
    x.machine = aphi_machine_open(options->spec, options->spec->rpc, false, 0);
    aph_root_add(mark_search, &x);
    aphi_guard_arm(options->model, options->deadline_ns, options->memory);
    if (aphi_refine_state_open(&x.stage, options, &first)) {
        if (!walks)
            x.result.schedules = visit(&x, first, 0);
        for (uint64_t i = 0; i < walks && !x.over; i++) {
            bool fresh;
            number_of(&x.entered, first, &fresh); /* keeps it alive */
            x.here = first;
            walk(&x, &choice);
        }
    } else {
        see_blemish(&x);
    }
    aphi_guard_disarm();
    if (!x.over && !x.answered)
        end(&x, APHI_REFINES_VACUOUS, APH_FAULT_NONE, "in no schedule was everything answered that was asked");
    x.result.sampled = x.stage.sampled;
    aph_root_remove(mark_search, &x);
    aphi_machine_close(x.machine);
    aphi_refine_state_close(&x.stage);
    free_table(&x.entered);
    free_table(&x.explained);
    return x.result;
}

aphi_refinement aphi_refine(const aphi_refine_options *options)
{
    return run(options, 0, 0);
}

aphi_refinement aphi_refine_randomly(const aphi_refine_options *options, uint64_t walks, uint64_t seed)
{
    return run(options, walks, seed);
}
