/* SPDX-License-Identifier: Apache-2.0
 *
 * refinement.c - refinement check: search of all schedules of a model, with the oracle of the specification.
 *
 * Idea:       depth-first search over states (refine_space.h); a visited state is not entered again. The oracle cannot
 *             backtrack, so each distinct trace is checked once, from its beginning, when a response in it is complete.
 *             All oracles share one machine, so each step of the specification is run only once.
 * Invariants: 1. every state in `visited` has been entered, and every trace in `explained` has been checked
 *             2. the number of schedules from a state is the sum over its successors, or 1 at an end. A state that is
 *                being visited counts as 0, so cycles of a model are not counted
 * Cost:       two table entries and a few interned arrays per state: about half a kilobyte.
 * Not done:   sleep sets: with equal states merged they would save edges, not states.
 * Read next:  refine_space.c for the reductions; tests/property/test_refine.c for a search without them. */
#include "refine/refinement.h"

#include "base/random_choice.h"
#include "base/clock.h"
#include "base/memory.h"
#include "derive/derivation.h"
#include "oracle/evidence.h"
#include "oracle/search.h"
#include "refine/refine_space.h"
#include "refine/refine_trace.h"
#include "tree/step_guard.h"
#include "value/heap.h"

#include <stdlib.h>

enum {
    DEPTH_MAX = 20000,
    EVIDENCE_VISITS = 100000,
    STEPS_BETWEEN_CHECKS = 1024,
    COLLECT_BYTES = 64 << 20,
    BRANCHES_MAX = 1000000, /* of a derivation */
    END_ONE_IN = 12, /* draws of an end in random schedules */
};

/* A hash table from values to numbers, with open addressing; APH_NIL is not a key. */
typedef struct table {
    aph_value *keys;
    double *numbers;
    size_t size, count;
} table;

typedef struct search {
    const aphi_refine_options *options;
    aphi_refine_space space;
    aphi_machine *machine;
    table visited;     /* states, each with its number of schedules */
    table explained;   /* traces that were checked */
    aph_value current; /* state of a random schedule */
    bool answered;     /* in some schedule, all requests got their responses */
    uint64_t steps;    /* since the start */
    aphi_refinement result;
    bool over;
} search;

/* ---- tables ------------------------------------------------------------------------------------------------------ */

static size_t find_slot(const table *t, aph_value key)
{
    size_t at = aph_hash(key) & (t->size - 1);
    while (t->keys[at] && t->keys[at] != key)
        at = (at + 1) & (t->size - 1);
    return at;
}

static void grow_table(table *t)
{
    table old = *t;
    t->size = old.size ? 2 * old.size : 1024;
    t->keys = aphi_alloc_zero(t->size * sizeof *t->keys);
    t->numbers = aphi_alloc(t->size * sizeof *t->numbers);
    for (size_t i = 0; i < old.size; i++)
        if (old.keys[i]) {
            size_t at = find_slot(t, old.keys[i]);
            t->keys[at] = old.keys[i];
            t->numbers[at] = old.numbers[i];
        }
    free(old.keys);
    free(old.numbers);
}

/* Finds or adds a key; returns its number, valid until the next call. */
static double *lookup_key(table *t, aph_value key, bool *is_new)
{
    if (2 * (t->count + 1) > t->size)
        grow_table(t);
    size_t at = find_slot(t, key);
    *is_new = !t->keys[at];
    if (*is_new) {
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
    aphi_refine_space_mark(&x->space);
    mark_table(&x->visited);
    mark_table(&x->explained);
    aph_mark(x->current);
    aph_mark(x->result.trace);
    aph_mark(x->result.allowed);
}

/* ---- ends -------------------------------------------------------------------------------------------------------- */

static void finish_search(search *x, aphi_refine_verdict verdict, aph_fault fault, const char *why)
{
    if (x->over)
        return;
    x->over = true;
    x->result.verdict = verdict;
    x->result.fault = fault;
    snprintf(x->result.why, sizeof x->result.why, "%s", why);
}

static void give_up_schedule(search *x)
{
    char why[sizeof x->result.why];
    const aph_network *network = x->options->network;
    snprintf(why, sizeof why, "a schedule does not end%s%s%s", network ? "; the network " : "",
             network ? network->name : "", network ? " may emit packets without absorbing any" : "");
    finish_search(x, APHI_REFINES_UNKNOWN, APH_FAULT_NONE, why);
}

static void check_limits(search *x)
{
    const aphi_refine_options *o = x->options;
    if (o->progress)
        o->progress(x->result.states);
    if (aph_heap_bytes() > 2 * aph_heap_bytes_kept() + COLLECT_BYTES)
        aph_collect();
    if (o->stop && *o->stop)
        finish_search(x, APHI_REFINES_UNKNOWN, APH_FAULT_NONE, "stopped");
    else if (o->deadline_ns && aphi_clock_ns() >= o->deadline_ns)
        finish_search(x, APHI_REFINES_UNKNOWN, APH_FAULT_NONE, "the time limit was reached");
    else if (o->memory && aphi_heap_size() > o->memory)
        finish_search(x, APHI_REFINES_UNKNOWN, APH_FAULT_NONE, "the memory limit was reached");
}

/* ---- the specification ------------------------------------------------------------------------------------------- */

static size_t complete_entries_before(aph_value trace, size_t at)
{
    size_t n = 0;
    for (size_t i = 0; i < at; i++)
        n += aphi_refine_entry_complete(aph_at(trace, i));
    return n;
}

/* Collects the responses that the specification allows in place of the rejected one. */
static void collect_allowed(search *x, const aph_oracle *oracle)
{
    aphi_evidence e = aphi_evidence_open(oracle, EVIDENCE_VISITS);
    x->result.allowed = aph_array(0, NULL);
    for (size_t i = 0; e.probe && i < e.probe->allowed_count; i++)
        x->result.allowed = aph_push(x->result.allowed, aph_record("answer", e.probe->allowed[i].answer));
    aphi_evidence_close(&e);
}

static size_t last_received(aph_value trace, size_t client)
{
    size_t at = aph_count(trace);
    while (--at > 0 && (aphi_refine_entry_kind(aph_at(trace, at)) != APHI_REFINE_RECEIVED ||
                        aphi_refine_entry_client(aph_at(trace, at)) != client))
        continue;
    return at;
}

static void report_observed(search *x, aph_value trace, size_t at)
{
    x->result.trace = aphi_refine_trace_lines(trace);
    x->result.failing = complete_entries_before(trace, at);
}

static void report_failure(search *x, aph_oracle *oracle, aph_verdict verdict, aph_value trace, size_t at)
{
    const char *message;
    aph_fault fault = aph_oracle_fault(oracle, &message);
    char why[400];
    if (verdict == APH_FAIL) {
        collect_allowed(x, oracle);
        report_observed(x, trace, at);
        finish_search(x, APHI_REFINES_NOT, APH_FAULT_NONE,
                      aphi_is_signal(aphi_refine_entry_message(aph_at(trace, at)))
                          ? "the specification does not allow the close of a connection"
                          : "the specification does not allow a response");
    } else if (fault) {
        snprintf(why, sizeof why, "model %s: %s", x->options->spec->name, message);
        finish_search(x, APHI_REFINES_FAULT, fault, why);
    } else {
        check_limits(x);
        snprintf(why, sizeof why, "model %s: %s", x->options->spec->name, message);
        finish_search(x, APHI_REFINES_UNKNOWN, APH_FAULT_NONE,
                      aph_oracle_limit(oracle) == APH_LIMIT_BRANCHES ? why : "the solver reached its time limit");
    }
}

/* Openings and ends are observations only for a specification with connections. */
static aph_verdict observe(aph_oracle *oracle, const aph_model *spec, aph_value entry)
{
    int64_t client = (int64_t)aphi_refine_entry_client(entry) + 1;
    aph_value message = aphi_refine_entry_message(entry);
    if (aphi_is_signal(message) && !spec->connections)
        return APH_PASS;
    return aphi_refine_entry_kind(entry) == APHI_REFINE_SENT ? aph_oracle_sent(oracle, client, message, NULL, NULL)
                                                             : aph_oracle_received(oracle, client, message);
}

static void observe_network(aphi_derivation *d, size_t line, aph_value entry)
{
    int64_t client = (int64_t)aphi_refine_entry_client(entry) + 1;
    aph_value message = aphi_refine_entry_message(entry);
    if (aphi_refine_entry_kind(entry) == APHI_REFINE_SENT)
        aphi_derivation_sent(d, line, client, message);
    else
        aphi_derivation_received(d, line, client, message);
}

static void report_derivation(search *x, aphi_derivation *d, aph_verdict verdict, aph_value trace)
{
    const char *message;
    aph_fault fault = aphi_derivation_fault(d, &message);
    if (verdict == APH_FAIL) {
        x->result.allowed = aphi_derivation_allowed(d);
        report_observed(x, trace, aphi_derivation_line(d));
        finish_search(x, APHI_REFINES_NOT, APH_FAULT_NONE,
                      "the specification and the network do not allow an observation");
    } else {
        check_limits(x);
        finish_search(x, fault ? APHI_REFINES_FAULT : APHI_REFINES_UNKNOWN, fault, message);
    }
}

/* Checks a trace across the network of the user, by the derivation. */
static void check_network_trace(search *x, aph_value trace)
{
    aphi_derivation_options options = {.branches = BRANCHES_MAX, .unguarded = true};
    aphi_derivation *d = aphi_derivation_open(x->options->spec, x->options->network, &options);
    x->result.traces++;
    for (size_t i = 0; i < aph_count(trace); i++)
        if (aphi_refine_entry_complete(aph_at(trace, i)))
            observe_network(d, i, aph_at(trace, i));
    aph_verdict verdict = aphi_derivation_decide(d);
    if (verdict != APH_PASS)
        report_derivation(x, d, verdict, trace);
    aphi_derivation_close(d);
}

/* Checks a trace with the oracle of the specification; incomplete messages are left out. */
static void check_trace(search *x, aph_value trace)
{
    if (x->options->network) {
        check_network_trace(x, trace);
        return;
    }
    char error[200];
    aph_oracle_options options = {.environment = "tcp", .patient = true};
    aph_oracle *oracle = aphi_oracle_open_on(x->options->spec, &options, x->machine, false, error, sizeof error);
    if (!oracle) {
        finish_search(x, APHI_REFINES_FAULT, APH_FAULT_CRASH, error);
        return;
    }
    x->result.traces++;
    for (size_t i = 0; i < aph_count(trace) && !x->over; i++) {
        aph_value e = aph_at(trace, i);
        aph_verdict verdict = aphi_refine_entry_complete(e) ? observe(oracle, x->options->spec, e) : APH_PASS;
        if (verdict != APH_PASS)
            report_failure(x, oracle, verdict, trace, i);
    }
    aph_oracle_close(oracle);
}

/* Sets `answered` if all requests have a response. A specification without rpc needs only one response. */
static void note_responses(search *x, aph_value trace)
{
    size_t expected = x->options->spec->rpc ? x->options->clients * x->options->messages : 1;
    x->answered |= aphi_refine_trace_responses(trace, false) >= expected;
}

/* ---- the search -------------------------------------------------------------------------------------------------- */

static void report_flaw(search *x)
{
    const aphi_refine_space *g = &x->space;
    if (!g->flaw)
        return;
    if (g->fault == APH_FAULT_STUCK && aphi_guard_expired() && !aphi_guard_stuck()) {
        check_limits(x);
        finish_search(x, APHI_REFINES_UNKNOWN, APH_FAULT_NONE,
                      aphi_guard_overfull() ? "the memory limit was reached" : "the time limit was reached");
        return;
    }
    if (g->flaw != APHI_REFINE_FLAW_FAULT)
        report_observed(x, g->trace, last_received(g->trace, g->flawed));
    finish_search(x, g->flaw == APHI_REFINE_FLAW_FAULT ? APHI_REFINES_FAULT : APHI_REFINES_NOT, g->fault, g->why);
}

static void expand_state(search *x, aph_value state)
{
    if (++x->steps % STEPS_BETWEEN_CHECKS == 0)
        check_limits(x);
    aphi_refine_space_expand(&x->space, state);
    report_flaw(x);
}

static void check_new_trace(search *x, aph_value trace)
{
    bool is_new;
    lookup_key(&x->explained, trace, &is_new);
    if (is_new && aphi_refine_trace_responses(trace, x->options->spec->connections))
        check_trace(x, trace);
}

/* Visits a state and its successors; returns the number of schedules from it to an end. */
static double visit_state(search *x, aph_value state, size_t depth)
{
    bool is_new;
    double known = *lookup_key(&x->visited, state, &is_new), schedules = 0;
    if (!is_new || x->over)
        return known;
    if (depth == DEPTH_MAX) {
        give_up_schedule(x);
        return 0;
    }
    x->result.states++;
    check_new_trace(x, aph_at(state, APHI_REFINE_TRACE));
    size_t from = x->space.count;
    expand_state(x, state);
    size_t to = x->space.count;
    if (to == from) {
        note_responses(x, aph_at(state, APHI_REFINE_TRACE));
        schedules = 1;
    }
    for (size_t i = from; i < to && !x->over; i++)
        schedules += visit_state(x, x->space.states[i], depth + 1);
    x->space.count = from;
    *lookup_key(&x->visited, state, &is_new) = schedules;
    return schedules;
}

/* Ends of connections are drawn rarely, so that most schedules are long. */
static aph_value draw_successor(const aphi_refine_space *g, aphi_choice *choice)
{
    bool ends = g->first_end >= g->count || !g->first_end || aphi_choice_chance(choice, 1, END_ONE_IN);
    return g->states[aphi_choice_below(choice, ends ? g->count : g->first_end)];
}

static void run_random_schedule(search *x, aphi_choice *choice)
{
    for (size_t depth = 0; !x->over; depth++) {
        x->space.count = 0;
        expand_state(x, x->current);
        x->result.states++;
        if (!x->space.count)
            break;
        if (depth == DEPTH_MAX)
            give_up_schedule(x);
        x->current = draw_successor(&x->space, choice);
    }
    if (x->over)
        return;
    note_responses(x, aph_at(x->current, APHI_REFINE_TRACE));
    check_trace(x, aph_at(x->current, APHI_REFINE_TRACE));
}

/* ---- entry points ------------------------------------------------------------------------------------------------ */

static aphi_refinement search_schedules(const aphi_refine_options *options, uint64_t schedules, uint64_t seed)
{
    search x = {.options = options};
    aphi_choice choice = aphi_choice_seed(seed);
    aph_value first;
    x.machine = aphi_machine_open(options->spec, options->spec->rpc, false, 0);
    aph_root_add(mark_search, &x);
    aphi_guard_arm(options->model, options->deadline_ns, options->memory);
    if (aphi_refine_space_open(&x.space, options, &first)) {
        if (!schedules)
            x.result.schedules = visit_state(&x, first, 0);
        for (uint64_t i = 0; i < schedules && !x.over; i++) {
            bool is_new;
            lookup_key(&x.visited, first, &is_new); /* marks it */
            x.current = first;
            run_random_schedule(&x, &choice);
        }
    } else {
        report_flaw(&x);
    }
    aphi_guard_disarm();
    if (!x.over && !x.answered)
        finish_search(&x, APHI_REFINES_VACUOUS, APH_FAULT_NONE, "no schedule has a response to every request");
    x.result.sampled = x.space.sampled;
    aph_root_remove(mark_search, &x);
    aphi_machine_close(x.machine);
    aphi_refine_space_close(&x.space);
    free_table(&x.visited);
    free_table(&x.explained);
    return x.result;
}

aphi_refinement aphi_refine(const aphi_refine_options *options)
{
    return search_schedules(options, 0, 0);
}

aphi_refinement aphi_refine_random(const aphi_refine_options *options, uint64_t schedules, uint64_t seed)
{
    return search_schedules(options, schedules, seed);
}
