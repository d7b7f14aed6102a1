/* SPDX-License-Identifier: Apache-2.0
 *
 * derivation.c - a tester derived from a server and a network (Li, "Testing by dualization", chapter 4).
 *
 * Idea:       the arrows of the paper's figure 4.1, one after another:
 *                 compose    (figure 4.11)  the server's tree and the network's, with buffers between them (compose.c)
 *                 observe    (figure 4.6)   a receive is a request of the tester, a send an observation (compose.c)
 *                 unify      (figure 4.8)   guards and conditions are constraints that must be solvable (branch.c)
 *                 backtrack  (figure 4.12)  branches are tried one after another (here)
 *                 expect     (figure 4.13)  and each must match the observations
 * Differences: 1. GenPacket is the recorded request: a branch that wants to send where the history has a response is
 *                 dropped, as match_observe does with the branches that wait.
 *              2. `expect` instantiates each waiting branch with each observation. Here each branch has a place in the
 *                 history instead: the observations that it has not matched yet.
 *              3. A branch that reaches the end of the history waits there. It is tried again when there are more
 *                 observations, so nothing is postponed or retried.
 *              4. A branch with the name of an earlier one is dropped. Without this, the paper's list grows with all
 *                 the times at which the network may carry each packet.
 *              5. A branch that delivers many packets to the server after one observation is tried later. A network may
 *                 copy packets for ever, and the paper's backtracking would follow the copies.
 * Invariants:  1. every branch that is not refuted is in `others` or `later`, or is the current one
 *              2. a branch is visited only before an observation that is in the history
 * Cost:        exponential in the number of pending requests; docs/networks.md has figures.
 * Not done:    promises of models, partitions, lookahead: oracle/search.c has them. This is the slow decider that is
 *              obviously right. */
#include "derive/derive_internal.h"

#include "base/clock.h"
#include "base/memory.h"
#include "tree/step_guard.h"
#include "value/heap.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    LIMITS_EVERY = 64,   /* visited branches */
    DELIVERED_FIRST = 2, /* the first value of delivered_max */
};

static void mark_list(const aphi_branches *list)
{
    for (size_t i = 0; i < list->count; i++)
        aphi_branch_mark(&list->items[i]);
}

static void mark_branches(const aphi_derivation *d)
{
    mark_list(&d->others);
    mark_list(&d->later);
    if (d->current)
        aphi_branch_mark(d->current);
    for (size_t i = 0; i < d->names.size; i++)
        aph_mark(d->names.slots[i]);
}

static void mark_derivation(void *context)
{
    const aphi_derivation *d = context;
    mark_branches(d);
    aph_mark(d->allowed);
    if (d->outer)
        mark_branches(d->outer);
    for (size_t i = 0; i < d->seen_count; i++)
        aph_mark(d->seen[i].message);
}

aphi_derivation *aphi_derivation_open(const aph_model *model, const aph_network *network,
                                      const aphi_derivation_options *options)
{
    aphi_derivation *d = aphi_alloc_zero(sizeof *d);
    d->model = *model;
    d->network = network;
    d->network_model = aph_network_model(network);
    d->options = *options;
    d->solver.solver_ms = options->solver_ms ? options->solver_ms : 1000;
    aph_root_add(mark_derivation, d);
    return d;
}

static void drop_list(aphi_branches *list)
{
    while (list->count > 0)
        aphi_branch_drop(&list->items[--list->count]);
}

static void drop_branches(aphi_derivation *d)
{
    drop_list(&d->others);
    drop_list(&d->later);
}

void aphi_derivation_close(aphi_derivation *d)
{
    if (!d)
        return;
    if (d->armed)
        aphi_guard_disarm();
    aph_root_remove(mark_derivation, d);
    drop_branches(d);
    aphi_int_map_deinit(&d->opened);
    aphi_int_map_deinit(&d->used);
    aphi_int_map_deinit(&d->addressed);
    aphi_int_map_deinit(&d->shut);
    aphi_int_map_deinit(&d->gone);
    aphi_int_map_deinit(&d->ended);
    aphi_int_map_deinit(&d->deaf);
    free(d->others.items);
    free(d->later.items);
    free(d->seen);
    free(d->names.slots);
    free(d);
}

/* ---- observations ------------------------------------------------------------------------------------------------ */

static size_t add(aphi_derivation *d, aphi_seen seen)
{
    APHI_PUSH(d->seen, d->seen_count, d->seen_capacity, seen);
    return d->seen_count - 1;
}

static bool is_ignored(const aphi_derivation *d, aph_value message)
{
    return aphi_is_signal(message) && !d->model.connections;
}

static bool has_noted(const aphi_int_map *map, int64_t connection)
{
    return aphi_int_map_find(map, connection) != NULL;
}

/* Returns NULL, or the reason why no client can observe this after the earlier observations. */
static const char *find_misuse(const aphi_derivation *d, int64_t connection, aph_value message, bool sent)
{
    bool leaves = message == APH_LEFT || message == APH_BROKEN;
    if (!d->model.connections || connection < 0 || connection >= APH_ACCEPTED)
        return NULL;
    if (sent && message == APH_OPENED)
        return has_noted(&d->opened, connection) ? "opened twice; a connection that is opened again needs a new number"
                                                 : NULL;
    if (!has_noted(&d->opened, connection))
        return "used before it is opened";
    if (sent && (has_noted(&d->gone, connection) || (has_noted(&d->shut, connection) && !leaves)))
        return "used by the client after its end";
    if (!sent && has_noted(&d->gone, connection))
        return "a message is observed after the client has closed the connection";
    if (!sent && has_noted(&d->ended, connection))
        return "a message is observed after the server has closed the connection";
    return NULL;
}

/* Returns true, and ends the derivation, if no client can observe this. */
static bool is_misuse(aphi_derivation *d, uint64_t line, int64_t connection, aph_value message, bool sent)
{
    const char *why = find_misuse(d, connection, message, sent);
    if (why && !d->misuse_line) {
        d->misuse_line = line;
        aphi_derivation_fail(d, APH_FAULT_ANSWER, "connection %" PRId64 ": %s", connection, why);
    }
    return why;
}

size_t aphi_derivation_sent(aphi_derivation *d, uint64_t line, int64_t connection, aph_value message)
{
    if (is_ignored(d, message) || is_misuse(d, line, connection, message, true))
        return SIZE_MAX;
    size_t index = add(d, (aphi_seen){.kind = APHI_SEEN_SENT, .connection = connection, .message = message,
                                      .line = line});
    uint64_t *first = aphi_int_map_at(&d->used, connection);
    *first = *first ? *first : index + 1;
    if (message == APH_OPENED)
        *aphi_int_map_at(&d->opened, connection) = index + 1;
    if (message == APH_CLOSED)
        *aphi_int_map_at(&d->shut, connection) = index + 1;
    if (message == APH_LEFT || message == APH_BROKEN)
        *aphi_int_map_at(&d->gone, connection) = index + 1;
    return index;
}

void aphi_derivation_received(aphi_derivation *d, uint64_t line, int64_t connection, aph_value message)
{
    if (is_ignored(d, message) || is_misuse(d, line, connection, message, false))
        return;
    size_t index = add(d, (aphi_seen){.kind = APHI_SEEN_RECEIVED, .connection = connection, .message = message,
                                      .line = line});
    if (aphi_is_signal(message))
        *aphi_int_map_at(&d->ended, connection) = index + 1;
}

void aphi_derivation_quiet(aphi_derivation *d, uint64_t line)
{
    add(d, (aphi_seen){.kind = APHI_SEEN_QUIET, .line = line});
}

/* Starts again, because the branches did not know of the loss. */
static void restart(aphi_derivation *d)
{
    drop_branches(d);
    d->names.count = 0;
    if (d->names.size)
        memset(d->names.slots, 0, d->names.size * sizeof *d->names.slots);
    d->begun = false;
}

void aphi_derivation_lost(aphi_derivation *d, size_t request)
{
    if (request >= d->seen_count || d->seen[request].lost)
        return;
    d->seen[request].lost = true;
    if (d->verdict == APH_PASS)
        restart(d);
}

void aphi_derivation_lose_connection(aphi_derivation *d, uint64_t line, int64_t connection)
{
    if (d->model.connections) {
        if (!aphi_int_map_find(&d->gone, connection))
            aphi_derivation_sent(d, line, connection, APH_LEFT);
        return;
    }
    uint64_t *deaf = aphi_int_map_at(&d->deaf, connection);
    *deaf = *deaf ? *deaf : d->seen_count;
    for (size_t i = 0; i < d->seen_count; i++)
        d->seen[i].lost |= d->seen[i].kind == APHI_SEEN_SENT && d->seen[i].connection == connection;
    if (d->verdict == APH_PASS)
        restart(d);
}

/* ---- the list of branches ---------------------------------------------------------------------------------------- */

void aphi_derivation_push(aphi_derivation *d, aphi_branch b)
{
    APHI_PUSH(d->others.items, d->others.count, d->others.capacity, b);
}

void aphi_derivation_defer(aphi_derivation *d, aphi_branch b)
{
    APHI_PUSH(d->later.items, d->later.count, d->later.capacity, b);
}

static size_t find_slot(const aphi_names *names, aph_value name)
{
    size_t at = aphi_mix((uint64_t)(uintptr_t)name, 1) & (names->size - 1);
    while (names->slots[at] && names->slots[at] != name)
        at = (at + 1) & (names->size - 1);
    return at;
}

/* Returns false if the name is already there. */
static bool add_name(aphi_names *names, aph_value name)
{
    if (names->count * 2 >= names->size) {
        aphi_names larger = {.size = names->size ? names->size * 2 : 256, .count = names->count};
        larger.slots = aphi_alloc_zero(larger.size * sizeof *larger.slots);
        for (size_t i = 0; i < names->size; i++)
            if (names->slots[i])
                larger.slots[find_slot(&larger, names->slots[i])] = names->slots[i];
        free(names->slots);
        *names = larger;
    }
    size_t at = find_slot(names, name);
    if (names->slots[at])
        return false;
    names->slots[at] = name;
    names->count++;
    return true;
}

bool aphi_derivation_visit(aphi_derivation *d, aphi_branch *b)
{
    b->moved = false;
    if (!add_name(&d->names, aphi_branch_name(b)))
        return false;
    d->stats.branches++;
    return true;
}

/* ---- limits and faults ------------------------------------------------------------------------------------------- */

void aphi_derivation_fail(aphi_derivation *d, aph_fault fault, const char *format, ...)
{
    va_list args;
    if (d->fault || d->limit)
        return;
    d->fault = fault;
    va_start(args, format);
    vsnprintf(d->message, sizeof d->message, format, args);
    va_end(args);
}

static void note_model_fault(aphi_derivation *d)
{
    const aphi_tree_fault *f = &d->model_fault;
    bool network = f->model == &d->network_model;
    if (f->kind)
        aphi_derivation_fail(d, f->kind, "%s %s: %s", network ? "network" : "model", f->model->name, f->message);
    else
        d->limit = aphi_guard_overfull() ? APH_LIMIT_MEMORY : APH_LIMIT_TIME;
}

static bool is_sent(const aphi_derivation *d, aph_value message)
{
    for (size_t i = 0; i < d->seen_count; i++)
        if (d->seen[i].kind == APHI_SEEN_SENT && d->seen[i].message == message)
            return true;
    return false;
}

/* The model does not know a request. If no client has sent it, this is the fault of the network. */
static void blame_network(aphi_derivation *d, const aphi_branch *b)
{
    const aphi_tree_fault *f = &d->model_fault;
    if (f->model != &d->model || f->kind != APH_FAULT_REQUEST || is_sent(d, aph_at(b->received, 1)))
        return;
    char *text = aph_json_text(aph_at(b->received, 1), NULL);
    aphi_derivation_fail(d, APH_FAULT_CALL, "network %s: it delivers the request %.200s, which no client has sent "
                         "and the model %s does not know", d->network->name, text, f->model->name);
    free(text);
}

static size_t bytes_of(const aphi_derivation *d)
{
    return aphi_heap_size() + d->names.size * sizeof *d->names.slots +
           (d->others.capacity + d->later.capacity) * sizeof *d->others.items;
}

static void check_limits(aphi_derivation *d)
{
    bool large = d->options.memory && bytes_of(d) > d->options.memory;
    if (large || aphi_heap_is_full())
        aph_collect();
    if (aphi_guard_expired())
        d->limit = APH_LIMIT_TIME;
    else if (large && bytes_of(d) > d->options.memory)
        d->limit = APH_LIMIT_MEMORY;
}

/* Returns false if a limit was reached, or after a fault. */
static bool may_continue(aphi_derivation *d)
{
    if (d->model_fault.model)
        note_model_fault(d);
    else if (d->options.branches && d->stats.branches > d->options.branches) {
        d->limit = APH_LIMIT_BRANCHES;
        snprintf(d->message, sizeof d->message, "network %s: more than %" PRIu64 " branches%s", d->network->name,
                 d->options.branches, d->copies ? "; it may copy packets without bound" : "");
    } else if (d->stats.events % LIMITS_EVERY == 0)
        check_limits(d);
    return !d->fault && !d->limit;
}

static void arm_guard(aphi_derivation *d)
{
    if (d->armed || d->options.unguarded)
        return;
    d->armed = true;
    aphi_guard_arm(&d->model, d->options.time_ms ? aphi_clock_ns() + d->options.time_ms * 1000000 : 0,
                   d->options.memory);
    aphi_guard_include(&d->network_model);
}

/* ---- backtracking (figure 4.12) ---------------------------------------------------------------------------------- */

/* Returns true if the network cannot behave like this: it must not absorb the latest packet. */
static bool is_abandoned(const aphi_branch *b)
{
    return aph_tree_event(b->network).kind == APH_EVENT_NEVER;
}

/* Runs a branch until it throws, or until it waits for an observation after the last one. Returns true if it does. */
static bool run_next(aphi_derivation *d)
{
    aphi_branch current = d->others.items[d->others.count - 1];
    bool thrown = false;
    d->others.count--;
    d->current = &current;
    current.settled = false;
    while (!thrown && !current.settled && may_continue(d)) {
        d->stats.events++;
        thrown = !aphi_compose(d, &current) || is_abandoned(&current);
        blame_network(d, &current);
    }
    d->current = NULL;
    if (current.settled)
        current.idle = 0; /* it waits for an observation */
    if (thrown)
        aphi_branch_drop(&current);
    else
        aphi_derivation_push(d, current);
    return !thrown && current.settled;
}

/* Returns false if no branches are left. */
static bool find_others(aphi_derivation *d)
{
    if (!d->others.count && d->later.count) {
        aphi_branches none = d->others;
        d->others = d->later;
        d->later = none;
        d->delivered_max *= 2;
    }
    return d->others.count;
}

static bool backtrack(aphi_derivation *d)
{
    d->delivered_max = DELIVERED_FIRST;
    while (find_others(d) && may_continue(d))
        if (run_next(d))
            return true;
    return false;
}

/* A network that never absorbs, or never delivers, explains no observation: a mistake of its author. */
static void explain_failure(aphi_derivation *d)
{
    const aphi_seen *o = d->reached < d->seen_count ? &d->seen[d->reached] : NULL;
    if (!d->stats.absorbed && (d->unbounded || (o && o->kind == APHI_SEEN_SENT)))
        aphi_derivation_fail(d, APH_FAULT_STUCK, "network %s: it never absorbs a packet; call aph_absorb",
                             d->network->name);
    else if (!d->stats.emitted && d->stats.absorbed)
        snprintf(d->message, sizeof d->message, "network %s: it never delivers a packet; call aph_emit",
                 d->network->name);
}

static aph_verdict conclude(aphi_derivation *d, bool explained)
{
    d->stats.pending = d->others.count + d->later.count;
    if (explained)
        return APH_PASS;
    if (d->model_fault.model) /* the last branch may have been abandoned because of it */
        note_model_fault(d);
    if (!d->fault && !d->limit)
        explain_failure(d);
    if (!d->fault && !d->limit && d->unbounded) {
        d->limit = APH_LIMIT_BRANCHES;
        snprintf(d->message, sizeof d->message, "network %s: it copies packets without bound", d->network->name);
    }
    if (!d->fault && !d->limit && d->solver.undecided)
        d->limit = APH_LIMIT_SOLVER;
    return d->fault || d->limit ? APH_UNKNOWN : APH_FAIL;
}

/* Returns true if a branch has matched all observations, and waits: there were none since it was last tried. */
static bool is_decided(const aphi_derivation *d)
{
    const aphi_branch *latest = d->others.count ? &d->others.items[d->others.count - 1] : NULL;
    return latest && latest->settled && latest->at == d->seen_count;
}

aph_verdict aphi_derivation_decide(aphi_derivation *d)
{
    if (d->verdict != APH_PASS || is_decided(d))
        return d->verdict;
    arm_guard(d);
    if (!d->begun)
        aphi_derivation_push(d, aphi_branch_first(&d->model, &d->network_model, &d->model_fault));
    d->begun = true;
    return d->verdict = conclude(d, backtrack(d));
}

/* Decides on a copy of the branches, with a separate set of names. */
aph_verdict aphi_derivation_may_be_quiet(aphi_derivation *d)
{
    if (aphi_derivation_decide(d) != APH_PASS)
        return d->verdict;
    aphi_derivation before = *d;
    d->outer = &before;
    d->others = d->later = (aphi_branches){0};
    d->names = (aphi_names){0};
    for (size_t i = 0; i < before.others.count; i++)
        aphi_derivation_push(d, aphi_branch_fork(&before.others.items[i]));
    for (size_t i = 0; i < before.later.count; i++)
        aphi_derivation_defer(d, aphi_branch_fork(&before.later.items[i]));
    aphi_derivation_quiet(d, 0);
    aph_verdict verdict = conclude(d, backtrack(d));
    drop_branches(d);
    free(d->others.items);
    free(d->later.items);
    free(d->names.slots);
    before.seen = d->seen;
    before.seen_capacity = d->seen_capacity;
    before.addressed = d->addressed;
    before.stats = d->stats;
    *d = before;
    return verdict;
}

/* ---- results ----------------------------------------------------------------------------------------------------- */

size_t aphi_derivation_unexplained(const aphi_derivation *d)
{
    return d->reached;
}

aphi_derivation_observation aphi_derivation_observation_at(const aphi_derivation *d, size_t i)
{
    const aphi_seen *o = &d->seen[i];
    return (aphi_derivation_observation){o->kind == APHI_SEEN_SENT, o->connection, o->message, o->line};
}

aph_value aphi_derivation_allowed(const aphi_derivation *d)
{
    bool some = d->allowed && d->allowed_at == d->reached;
    size_t n = some ? aph_count(d->allowed) : 0;
    return n ? aph_slice(d->allowed, 0, n < APHI_ALLOWED_SHOWN ? n : APHI_ALLOWED_SHOWN) : aph_array(0, NULL);
}

bool aphi_derivation_all_allowed(const aphi_derivation *d)
{
    return !d->allowed || d->allowed_at != d->reached || aph_count(d->allowed) <= APHI_ALLOWED_SHOWN;
}

uint64_t aphi_derivation_line(const aphi_derivation *d)
{
    if (d->misuse_line)
        return d->misuse_line;
    return d->reached < d->seen_count ? d->seen[d->reached].line : 0;
}

aph_fault aphi_derivation_fault(const aphi_derivation *d, const char **message)
{
    if (message)
        *message = d->message;
    return d->fault;
}

aph_limit aphi_derivation_limit(const aphi_derivation *d)
{
    return d->limit;
}

aph_value aphi_derivation_state(const aphi_derivation *d)
{
    return d->others.count ? aph_tree_state(d->others.items[d->others.count - 1].server) : APH_NIL;
}

aphi_derivation_stats aphi_derivation_stats_of(const aphi_derivation *d)
{
    return d->stats;
}
