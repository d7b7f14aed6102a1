/* SPDX-License-Identifier: Apache-2.0
 *
 * sequence_search.c - local sequences of one component, the target, by a memoized search over states.
 *
 * Idea:       the possible continuations of the target depend only on the state. So each state is searched once. Its
 *             result is a set of suffixes (sequence_dfa.h): for each step, the suffixes of the next state with the
 *             target's events of the step prepended.
 * Reductions: events without a choice are done at once and not memoized (state_space.c). Only a single independent step
 *             is followed (independence.c), or only the choices of a persistent set of agents: no other agent can add a
 *             choice before a member moves. Components that cannot influence the target are removed.
 *             docs/message-passing.md has the proofs.
 * Races:      each run is followed in only one order, in which each receive of the target comes as late as possible.
 *             Then the race set of a receive is the set of messages ready at that time. The order is enforced by bits:
 *             after a receive of the target, only steps that causally depend on it are allowed. If an agent could have
 *             moved before the receive and never depends on it, the run is dropped. If several components send to one
 *             queue, there is no such order: states carry their causal history, and race sets are computed at the end
 *             (causal_history.h).
 * Cost:       all states with a choice are memoized, a few hundred bytes each. */
#include "local/sequence_search.h"

#include "base/memory.h"
#include "local/state_space.h"
#include "local/sequence_dfa.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { DEPTH_MAX = 20000 };

struct aphi_sequence_search {
    const aphi_alts *model;
    aphi_sequence_search_options options;
    aphi_state_space space;
    aphi_independence *independence; /* NULL with a causal history */
    aphi_sequence_dfa sequences;
    aphi_intern events;              /* five words, and three for each candidate of the race set */
    aphi_intern memo;
    uint32_t *results;               /* by state in memo: its set of suffixes */
    size_t result_capacity;
    uint32_t *event_stack;           /* events of the target since the last choice */
    size_t event_count, event_capacity, depth;
    unsigned char *packed;
    uint32_t root;
    aphi_sequence_search_status status;
};

enum { EVENT_OP, EVENT_SYNC, EVENT_PORT, EVENT_LABEL, EVENT_PEER, EVENT_SIZE };
enum { WAIT = 255 }; /* instead of EVENT_OP: the component waits forever */

/* ---- events of the target ---------------------------------------------------------------------------------------- */

static void record_event(aphi_sequence_search *l, const uint32_t *event, size_t count)
{
    if (l->space.has_history) /* the history has the event */
        return;
    APHI_RESERVE(l->event_stack, l->event_capacity, l->event_count + 1);
    l->event_stack[l->event_count++] = aphi_intern_number(&l->events, event, count * sizeof *event);
}

static void record_send(aphi_sequence_search *l, const aphi_reduced_move *m, bool sync)
{
    uint32_t event[EVENT_SIZE] = {APHI_ALTS_SEND, sync, m->port, m->label, l->space.model.ports[m->port].owner};
    record_event(l, event, EVENT_SIZE);
}

static int by_candidate(const void *a, const void *b)
{
    const aphi_race_candidate *x = a, *y = b;
    if (x->port != y->port)
        return x->port < y->port ? -1 : 1;
    if (x->label != y->label)
        return x->label < y->label ? -1 : 1;
    return x->sender < y->sender ? -1 : x->sender > y->sender;
}

size_t aphi_race_candidates_sort(aphi_race_candidate *candidates, size_t count)
{
    size_t kept = 0;
    qsort(candidates, count, sizeof *candidates, by_candidate);
    for (size_t i = 0; i < count; i++)
        if (kept == 0 || by_candidate(&candidates[i], &candidates[kept - 1]))
            candidates[kept++] = candidates[i];
    return kept;
}

/* Sorts the race set of an event, at words first .. n - 1; returns its new end. */
static size_t sort_candidates(uint32_t *event, size_t first, size_t n)
{
    return first + 3 * aphi_race_candidates_sort((aphi_race_candidate *)&event[first], (n - first) / 3);
}

/* Lists the race set of a receive of the target: its other steps. The steps must be listed. */
static size_t list_race_set(const aphi_sequence_search *l, const aphi_space_step *taken, aphi_race_candidate **found)
{
    const aphi_state_space *y = &l->space;
    size_t target = y->model.target, n = 0;
    aphi_race_candidate *candidates = aphi_alloc((y->step_count + 1) * sizeof *candidates);
    for (uint32_t i = y->first_step[target]; i < y->first_step[target + 1]; i++) {
        const aphi_space_step *s = &y->steps[i];
        bool same = s->move == taken->move && s->channel == taken->channel && s->sender == taken->sender &&
                    s->entry == taken->entry;
        if (same && !s->duplicate)
            continue;
        const aphi_reduced_move *m = &y->model.components[target].moves[s->move];
        candidates[n++] = (aphi_race_candidate){m->port, m->label, s->sender};
    }
    *found = candidates;
    return n;
}

/* Records an event with a race set. */
static void record_with_races(aphi_sequence_search *l, const uint32_t *event, const aphi_race_candidate *candidates,
                              size_t count)
{
    uint32_t *all = aphi_alloc((EVENT_SIZE + 3 * count) * sizeof *all);
    memcpy(all, event, EVENT_SIZE * sizeof *all);
    if (count)
        memcpy(all + EVENT_SIZE, candidates, 3 * count * sizeof *all);
    record_event(l, all, sort_candidates(all, EVENT_SIZE, EVENT_SIZE + 3 * count));
    free(all);
}

static void record_receive(aphi_sequence_search *l, const uint32_t *v, const aphi_space_step *step)
{
    const aphi_state_space *y = &l->space;
    const aphi_reduced_move *m = &y->model.components[y->model.target].moves[step->move];
    uint32_t event[EVENT_SIZE] = {APHI_ALTS_RECEIVE, step->sync, m->port, m->label, step->sender};
    aphi_race_candidate *candidates = NULL;
    size_t count = 0;
    if (y->latest_order)
        count = l->options.available ? aphi_state_space_available(y, v, step, &candidates)
                                     : list_race_set(l, step, &candidates);
    record_with_races(l, event, candidates, count);
    free(candidates);
}

/* Returns true if the target waits in a receive, and available messages are requested. */
static bool shows_wait(const aphi_sequence_search *l, const uint32_t *v)
{
    const aphi_state_space *y = &l->space;
    const aphi_reduced_component *target = &y->model.components[y->model.target];
    return l->options.available && target->kind[v[y->model.target]] == APHI_REDUCED_RECEIVE;
}

/* The target waits at the end of a run. */
static void record_wait(aphi_sequence_search *l, const uint32_t *v)
{
    const aphi_state_space *y = &l->space;
    aphi_race_candidate *candidates;
    size_t count = aphi_state_space_available(y, v, NULL, &candidates);
    record_with_races(l, (uint32_t[EVENT_SIZE]){WAIT}, candidates, count);
    free(candidates);
}

static const aphi_reduced_move *target_move(const aphi_sequence_search *l, const uint32_t *v)
{
    const aphi_reduced_component *component = &l->space.model.components[l->space.model.target];
    return &component->moves[component->first[v[l->space.model.target]]];
}

static void apply_step(aphi_sequence_search *l, uint32_t *v, const aphi_space_step *step)
{
    size_t target = l->space.model.target;
    if (step->agent == target && !step->enqueues)
        record_receive(l, v, step);
    else if (step->sender == target && step->enqueues != step->sync)
        record_send(l, target_move(l, v), step->sync);
    aphi_state_space_apply(&l->space, v, step);
}

/* ---- events without a choice ------------------------------------------------------------------------------------- */

static bool run_without_choice(aphi_sequence_search *l, uint32_t *v, size_t c)
{
    const aphi_reduced_component *component = &l->space.model.components[c];
    const aphi_reduced_move *m = &component->moves[component->first[v[c]]];
    if (component->kind[v[c]] == APHI_REDUCED_LOCAL) {
        uint32_t event[EVENT_SIZE] = {APHI_ALTS_LOCAL, 0, 0, m->label, 0};
        record_event(l, event, EVENT_SIZE);
        aphi_state_space_local_event(&l->space, v);
        return true;
    }
    aphi_space_step step;
    if (!l->options.races && aphi_state_space_forced_receive(&l->space, v, c, &step)) {
        apply_step(l, v, &step);
        return true;
    }
    if (component->kind[v[c]] != APHI_REDUCED_SEND || !aphi_state_space_send(&l->space, v, c))
        return false;
    if (c == l->space.model.target)
        record_send(l, m, false);
    return true;
}

static bool is_stopped(aphi_sequence_search *l)
{
    if (l->options.stop && *l->options.stop)
        l->status = APHI_SEQUENCE_SEARCH_STOPPED;
    return l->status == APHI_SEQUENCE_SEARCH_STOPPED;
}

static bool run_forced_events(aphi_sequence_search *l, uint32_t *v)
{
    bool any = false;
    for (bool again = true; again;) {
        again = false;
        for (size_t c = 0; c < l->space.model.component_count; c++)
            while (!is_stopped(l) && run_without_choice(l, v, c))
                any = again = true;
    }
    return any;
}

/* ---- choices ----------------------------------------------------------------------------------------------------- */

/* Returns the smallest superset of `set` to which no other agent can add a choice while no member moves. A waiting
 * sender moves with its receiver, so the receiver is a member, too. */
static uint64_t persistent_set(const aphi_state_space *y, uint64_t set, uint64_t moving)
{
    for (;;) {
        uint64_t others = aphi_state_space_movable(y, moving, set), more = set;
        for (size_t c = 0; c < y->model.component_count; c++)
            if (set >> c & 1)
                more |= (y->enablers[c] & others) | y->waits_for[c];
        if (more == set)
            return set;
        set = more;
    }
}

static size_t count_steps(const aphi_state_space *y, uint64_t agents)
{
    size_t n = 0;
    for (size_t c = 0; c < y->model.component_count; c++)
        for (uint32_t i = y->first_step[c]; agents >> c & 1 && i < y->first_step[c + 1]; i++)
            n += y->steps[i].allowed;
    return n;
}

/* With races, a receive of the target affects all agents, so it is followed only together with all others. */
static uint64_t choose_agents(const aphi_sequence_search *l)
{
    const aphi_state_space *y = &l->space;
    uint64_t best = UINT64_MAX, target = UINT64_C(1) << y->model.target;
    size_t fewest = count_steps(y, best);
    for (size_t c = 0; c < y->model.component_count && fewest > 1; c++) {
        if (!(y->allowed >> c & 1) || (y->latest_order && c == y->model.target))
            continue;
        uint64_t set = persistent_set(y, UINT64_C(1) << c, y->enabled);
        size_t n = count_steps(y, set);
        if (n < fewest && !(y->latest_order && set & target)) {
            fewest = n;
            best = set;
        }
    }
    return best;
}

/* With races: returns the agents that have steps, but no step that depends on the target's last receive. */
static uint64_t blocked_agents(const aphi_sequence_search *l)
{
    return l->space.latest_order ? l->space.enabled & ~l->space.allowed : 0;
}

/* Returns true if a blocked agent can never depend on that receive. */
static bool has_stuck_agent(const aphi_sequence_search *l)
{
    const aphi_state_space *y = &l->space;
    uint64_t wait = blocked_agents(l), movable = aphi_state_space_movable(y, y->allowed, 0);
    for (size_t c = 0; c < y->model.component_count; c++)
        if (wait >> c & 1 && !(y->enablers[c] & movable))
            return true;
    return false;
}

/* ---- the search -------------------------------------------------------------------------------------------------- */

static size_t pack_state(aphi_sequence_search *l, const uint32_t *v)
{
    unsigned char *p = l->packed;
    for (size_t i = 0; i < l->space.size; i++)
        if (v[i] < 255) {
            *p++ = (unsigned char)v[i];
        } else {
            *p++ = 255;
            memcpy(p, &v[i], sizeof v[i]);
            p += sizeof v[i];
        }
    return (size_t)(p - l->packed);
}

static uint32_t explore_from(aphi_sequence_search *l, uint32_t *v);

static uint32_t explore_choices(aphi_sequence_search *l, const uint32_t *v, uint64_t agents)
{
    const aphi_state_space *y = &l->space;
    aphi_space_step *steps = aphi_copy(y->steps, y->step_count * sizeof *steps);
    size_t count = y->step_count, bytes = y->size * sizeof *v;
    uint32_t *next = aphi_alloc(bytes), set = APHI_SEQUENCE_DFA_NONE;
    for (size_t i = 0; i < count; i++) {
        if (!(agents >> steps[i].agent & 1) || !steps[i].allowed)
            continue;
        memcpy(next, v, bytes);
        if (y->latest_order && steps[i].agent == y->model.target)
            aphi_state_space_list_steps(&l->space, next);
        size_t event_mark = l->event_count;
        apply_step(l, next, &steps[i]);
        uint32_t rest = explore_from(l, next);
        while (l->event_count > event_mark)
            rest = aphi_sequence_dfa_prepend(&l->sequences, l->event_stack[--l->event_count], rest);
        set = aphi_sequence_dfa_union(&l->sequences, set, rest);
    }
    free(next);
    free(steps);
    return set;
}

static uint32_t explore_memoized(aphi_sequence_search *l, const uint32_t *v, uint64_t agents)
{
    size_t before = l->memo.count, size = pack_state(l, v);
    uint32_t at = aphi_intern_number(&l->memo, l->packed, size);
    if (at < before)
        return l->results[at];
    APHI_RESERVE(l->results, l->result_capacity, l->memo.count);
    l->results[at] = APHI_SEQUENCE_DFA_NONE;
    if ((l->options.states_max && before >= l->options.states_max) || l->depth >= DEPTH_MAX)
        l->status = APHI_SEQUENCE_SEARCH_TOO_LARGE;
    if (is_stopped(l) || l->status != APHI_SEQUENCE_SEARCH_DONE)
        return APHI_SEQUENCE_DFA_NONE;
    l->depth++;
    uint32_t set = explore_choices(l, v, agents);
    l->depth--;
    l->results[at] = set;
    return set;
}

static bool target_is_done(const aphi_sequence_search *l, const uint32_t *v)
{
    size_t target = l->space.model.target;
    return l->space.model.components[target].kind[v[target]] == APHI_REDUCED_TERMINAL;
}

/* Returns the first allowed step of these agents. */
static const aphi_space_step *only_step(const aphi_state_space *y, uint64_t agents)
{
    const aphi_space_step *s = y->steps;
    while (!(agents >> s->agent & 1) || !s->allowed)
        s++;
    return s;
}

/* Takes an independent step, if there is one. */
static bool take_independent(aphi_sequence_search *l, uint32_t *v)
{
    if (!l->independence)
        return false;
    size_t count = l->space.step_count;
    aphi_space_step *steps = aphi_copy(l->space.steps, count * sizeof *steps);
    size_t i = 0;
    while (i < count && !(steps[i].allowed && aphi_independence_check(l->independence, v, &steps[i])))
        i++;
    aphi_state_space_list_steps(&l->space, v);
    if (i < count)
        apply_step(l, v, &steps[i]);
    free(steps);
    return i < count;
}

/* A queue is no longer contended once its owner is removed, so forced events may be possible after pruning. */
static void run_forced_and_prune(aphi_sequence_search *l, uint32_t *v)
{
    run_forced_events(l, v);
    do {
        if (l->space.latest_order)
            aphi_state_space_list_steps(&l->space, v);
        aphi_state_space_prune(&l->space, v, blocked_agents(l));
    } while (run_forced_events(l, v));
}

/* Returns the sequence of the target at the end of a run, from the causal history. */
static uint32_t sequence_of_history(aphi_sequence_search *l, uint32_t *v)
{
    aphi_state_space *y = &l->space;
    uint32_t *history = aphi_state_space_history(y, v), set = APHI_SEQUENCE_DFA_END;
    size_t count = aphi_causal_history_count(&y->history, history);
    for (size_t i = count + shows_wait(l, v); i-- > 0;) {
        aphi_race_candidate *candidates;
        aphi_causal_event e = aphi_causal_history_event(&y->history, history, v, i, &candidates);
        uint32_t *event = aphi_alloc((EVENT_SIZE + 3 * e.candidate_count) * sizeof *event);
        bool waits = i == count;
        memcpy(event, &(uint32_t[EVENT_SIZE]){waits ? WAIT : e.op, e.sync, e.port, e.label, waits ? 0 : e.peer},
               EVENT_SIZE * sizeof *event);
        if (e.candidate_count)
            memcpy(event + EVENT_SIZE, candidates, 3 * e.candidate_count * sizeof *event);
        size_t size = sort_candidates(event, EVENT_SIZE, EVENT_SIZE + 3 * e.candidate_count);
        set =
            aphi_sequence_dfa_prepend(&l->sequences, aphi_intern_number(&l->events, event, size * sizeof *event), set);
        free(event);
        free(candidates);
    }
    return set;
}

/* Returns the suffixes of the target from this state. Events before the first choice are left on the stack. */
static uint32_t explore_from(aphi_sequence_search *l, uint32_t *v)
{
    aphi_state_space *y = &l->space;
    for (;;) {
        run_forced_and_prune(l, v);
        if (is_stopped(l))
            return APHI_SEQUENCE_DFA_NONE;
        aphi_state_space_list_steps(y, v);
        if (y->has_history && !y->enabled)
            return sequence_of_history(l, v);
        if (target_is_done(l, v) && !blocked_agents(l) && !y->has_history)
            return APHI_SEQUENCE_DFA_END;
        if (!y->allowed && blocked_agents(l))
            return APHI_SEQUENCE_DFA_NONE;
        if (!y->allowed) {
            if (shows_wait(l, v))
                record_wait(l, v);
            return APHI_SEQUENCE_DFA_END;
        }
        aphi_state_space_find_enablers(y, v);
        if (y->latest_order && has_stuck_agent(l))
            return APHI_SEQUENCE_DFA_NONE;
        uint64_t agents = choose_agents(l);
        if (count_steps(y, agents) > 1) {
            if (take_independent(l, v))
                continue;
            return explore_memoized(l, v, agents);
        }
        aphi_space_step step = *only_step(y, agents);
        apply_step(l, v, &step);
    }
}

static void run_search(aphi_sequence_search *l)
{
    uint32_t *v = aphi_alloc(l->space.size * sizeof *v);
    l->packed = aphi_alloc(l->space.size * (sizeof *v + 1));
    aphi_state_space_initial(&l->space, v);
    l->space.history.available = l->options.available;
    l->independence = l->space.has_history ? NULL : aphi_independence_open(&l->space);
    l->root = explore_from(l, v);
    while (l->event_count > 0)
        l->root = aphi_sequence_dfa_prepend(&l->sequences, l->event_stack[--l->event_count], l->root);
    if (l->space.has_history && l->space.history.overflow)
        l->status = APHI_SEQUENCE_SEARCH_TOO_LARGE;
    if (l->status != APHI_SEQUENCE_SEARCH_DONE)
        l->root = APHI_SEQUENCE_DFA_NONE;
    free(v);
}

aphi_sequence_search *aphi_sequence_search_open(const aphi_alts *a, size_t component,
                                                aphi_sequence_search_options options)
{
    aphi_sequence_search *l = aphi_alloc_zero(sizeof *l);
    l->model = a;
    l->options = options;
    aphi_sequence_dfa_init(&l->sequences);
    switch (aphi_state_space_init(&l->space, a, component, options.races)) {
    case APHI_REDUCED_READY:
        run_search(l);
        break;
    case APHI_REDUCED_TOO_LARGE:
        l->status = APHI_SEQUENCE_SEARCH_TOO_LARGE;
        break;
    }
    return l;
}

void aphi_sequence_search_close(aphi_sequence_search *l)
{
    if (l->independence)
        aphi_independence_close(l->independence);
    aphi_state_space_free(&l->space);
    aphi_sequence_dfa_free(&l->sequences);
    aphi_intern_free(&l->events);
    aphi_intern_free(&l->memo);
    APHI_FREE_ALL(l->results, l->event_stack, l->packed, l);
}

/* ---- results ----------------------------------------------------------------------------------------------------- */

aphi_sequence_search_status aphi_sequence_search_outcome(const aphi_sequence_search *l)
{
    return l->status;
}

uint64_t aphi_sequence_search_count(const aphi_sequence_search *l)
{
    return aphi_sequence_dfa_count(&l->sequences, l->root);
}

typedef struct enumeration {
    const aphi_sequence_search *l;
    aphi_sequence_search_visit *visit;
    void *context;
    aphi_local_event *events;
    size_t capacity;
} enumeration;

/* Returns the state of the component after an event, in the original model. R1 and R2 make it unique. */
static uint32_t state_after(const aphi_alts_component *c, uint32_t state, const uint32_t *event)
{
    for (uint32_t i = c->first[state]; i < c->first[state + 1]; i++) {
        const aphi_alts_move *m = &c->moves[i];
        if (m->op != APHI_ALTS_RECEIVE || (m->port == event[EVENT_PORT] && m->label == event[EVENT_LABEL]))
            return m->target;
    }
    assert(!"the component does not have this event");
    return state;
}

static bool enumerate_set(enumeration *w, uint32_t set, size_t depth, uint32_t state)
{
    const aphi_sequence_search *l = w->l;
    size_t n;
    bool empty;
    const aphi_sequence_dfa_edge *edges = aphi_sequence_dfa_edges(&l->sequences, set, &n, &empty);
    APHI_RESERVE(w->events, w->capacity, depth + 1);
    w->events[depth] = (aphi_local_event){.state = state};
    if (empty && !w->visit(w->context, w->events, depth))
        return false;
    for (size_t i = 0; i < n; i++) {
        size_t size;
        const uint32_t *e = aphi_intern_key(&l->events, edges[i].first, &size);
        w->events[depth] = (aphi_local_event){.op = (aphi_alts_op)e[EVENT_OP], .sync = e[EVENT_SYNC],
                                              .port = e[EVENT_PORT], .label = e[EVENT_LABEL],
                                              .peer = e[EVENT_PEER], .state = state,
                                              .race = (const aphi_race_candidate *)(e + EVENT_SIZE),
                                              .race_count = (size / sizeof *e - EVENT_SIZE) / 3};
        if (e[EVENT_OP] == WAIT) {
            w->events[depth].op = APHI_ALTS_RECEIVE;
            if (!w->visit(w->context, w->events, depth))
                return false;
            continue;
        }
        const aphi_alts_component *c = &l->model->components[l->space.model.target];
        if (!enumerate_set(w, edges[i].rest, depth + 1, state_after(c, state, e)))
            return false;
    }
    return true;
}

bool aphi_sequence_search_each(const aphi_sequence_search *l, aphi_sequence_search_visit *visit, void *context)
{
    enumeration w = {.l = l, .visit = visit, .context = context};
    bool all = enumerate_set(&w, l->root, 0, l->model->components[l->space.model.target].initial);
    free(w.events);
    return all;
}
