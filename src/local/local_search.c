/* SPDX-License-Identifier: Apache-2.0
 *
 * local_search.c - a search over situations that remembers what the target can still do in each.
 *
 * Idea:       what the target can still do depends only on the situation. So a situation is searched once, and what was
 *             found is a set of suffixes (sequence_dfa.h); the sets of the situations after it, each with the events of the
 *             step before it, are united.
 * Reductions: what is no choice is done at once and not remembered (local_state.c). Of the choices, only those of a set of
 *             agents are followed to which nobody else can add one before one of them moves (a persistent set), or one
 *             that may be taken alone (independence.c). What cannot influence the target is left out.
 *             docs/local-sequences.md says why nothing is lost.
 * Races:      runs are followed in the one order in which each receive of the target comes as late as it can. Then the
 *             race set of a receive is what lies ready when it is made. The order is kept by bits: after a receive of
 *             the target only that may happen which knows of it. Who could have acted before, did not, and never comes
 *             to know, makes the run one that is not complete: it is dropped. Where several components send to one
 *             queue there is no such order: situations carry the past, and race sets are found at the end (causal_history.h).
 * Cost:       the situations with a choice, which are kept; each some hundred bytes. */
#include "local/local_search.h"

#include "base/memory.h"
#include "local/independence.h"
#include "local/local_state.h"
#include "local/sequence_dfa.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { DEPTH_MAX = 20000 };

struct aphi_local_search {
    const aphi_alts *model;
    aphi_local_search_options options;
    aphi_local_state scenery;
    aphi_independence *commute;        /* NULL with races */
    aphi_sequence_dfa suffixes;
    aphi_intern events;            /* five numbers, and three for each rival */
    aphi_intern memo;
    uint32_t *found;              /* of each situation in memo: the suffixes */
    size_t found_capacity;
    uint32_t *trail;              /* events since the last choice */
    size_t trail_count, trail_capacity, depth;
    unsigned char *packed;
    uint32_t root;
    aphi_local_search_status status;
};

enum { EVENT_OP, EVENT_SYNC, EVENT_PORT, EVENT_LABEL, EVENT_PEER, EVENT_SIZE };

/* ---- events of the target ---------------------------------------------------------------------------------------- */

static void note(aphi_local_search *l, const uint32_t *event, size_t count)
{
    if (l->scenery.dated) /* the past has it */
        return;
    APHI_RESERVE(l->trail, l->trail_capacity, l->trail_count + 1);
    l->trail[l->trail_count++] = aphi_intern_number(&l->events, event, count * sizeof *event);
}

static void note_send(aphi_local_search *l, const aphi_reduced_move *m, bool sync)
{
    uint32_t event[EVENT_SIZE] = {APHI_ALTS_SEND, sync, m->port, m->label, l->scenery.ground.ports[m->port].owner};
    note(l, event, EVENT_SIZE);
}

static int by_rival(const void *a, const void *b)
{
    const uint32_t *x = a, *y = b;
    for (size_t i = 0; i < 3; i++)
        if (x[i] != y[i])
            return x[i] < y[i] ? -1 : 1;
    return 0;
}

/* Sorts the rivals of an event, from first to n, and keeps each once; returns where they end. */
static size_t sort_rivals(uint32_t *event, size_t first, size_t n)
{
    qsort(&event[first], (n - first) / 3, 3 * sizeof *event, by_rival);
    size_t kept = first;
    for (size_t i = first; i < n; i += 3)
        if (kept == first || by_rival(&event[i], &event[kept - 3])) {
            memmove(&event[kept], &event[i], 3 * sizeof *event);
            kept += 3;
        }
    return kept;
}

/* Adds the race set of a receive of the target: its other steps, each message once. The steps must be those of now. */
static size_t add_rivals(const aphi_local_search *l, const aphi_local_state_step *taken, uint32_t *event, size_t n)
{
    const aphi_local_state *y = &l->scenery;
    size_t target = y->ground.target, first = n;
    for (uint32_t i = y->first_step[target]; i < y->first_step[target + 1]; i++) {
        const aphi_local_state_step *s = &y->steps[i];
        bool same = s->move == taken->move && s->channel == taken->channel && s->sender == taken->sender &&
                    s->entry == taken->entry;
        if (same && !s->twin)
            continue;
        const aphi_reduced_move *m = &y->ground.parts[target].moves[s->move];
        uint32_t rival[3] = {m->port, m->label, s->sender};
        memcpy(&event[n], rival, sizeof rival);
        n += 3;
    }
    return sort_rivals(event, first, n);
}

static void note_receive(aphi_local_search *l, const aphi_local_state_step *step)
{
    const aphi_local_state *y = &l->scenery;
    const aphi_reduced_move *m = &y->ground.parts[y->ground.target].moves[step->move];
    uint32_t *event = aphi_alloc((EVENT_SIZE + 3 * y->step_count) * sizeof *event);
    event[EVENT_OP] = APHI_ALTS_RECEIVE;
    event[EVENT_SYNC] = step->sync;
    event[EVENT_PORT] = m->port;
    event[EVENT_LABEL] = m->label;
    event[EVENT_PEER] = step->sender;
    note(l, event, l->scenery.late ? add_rivals(l, step, event, EVENT_SIZE) : EVENT_SIZE);
    free(event);
}

static const aphi_reduced_move *target_move(const aphi_local_search *l, const uint32_t *v)
{
    const aphi_reduced_part *part = &l->scenery.ground.parts[l->scenery.ground.target];
    return &part->moves[part->first[v[l->scenery.ground.target]]];
}

static void take(aphi_local_search *l, uint32_t *v, const aphi_local_state_step *step)
{
    size_t target = l->scenery.ground.target;
    if (step->agent == target && !step->enters)
        note_receive(l, step);
    else if (step->sender == target && step->enters != step->sync)
        note_send(l, target_move(l, v), step->sync);
    aphi_local_state_take(&l->scenery, v, step);
}

/* ---- what is no choice ------------------------------------------------------------------------------------------- */

static bool advance(aphi_local_search *l, uint32_t *v, size_t c)
{
    const aphi_reduced_part *part = &l->scenery.ground.parts[c];
    const aphi_reduced_move *m = &part->moves[part->first[v[c]]];
    if (part->kind[v[c]] == APHI_REDUCED_LOCAL) {
        uint32_t event[EVENT_SIZE] = {APHI_ALTS_LOCAL, 0, 0, m->label, 0};
        note(l, event, EVENT_SIZE);
        aphi_local_state_local(&l->scenery, v);
        return true;
    }
    aphi_local_state_step step;
    if (!l->options.races && aphi_local_state_forced(&l->scenery, v, c, &step)) {
        take(l, v, &step);
        return true;
    }
    if (part->kind[v[c]] != APHI_REDUCED_SEND || !aphi_local_state_send(&l->scenery, v, c))
        return false;
    if (c == l->scenery.ground.target)
        note_send(l, m, false);
    return true;
}

static bool is_stopped(aphi_local_search *l)
{
    if (l->options.stop && *l->options.stop)
        l->status = APHI_LOCAL_SEARCH_STOPPED;
    return l->status == APHI_LOCAL_SEARCH_STOPPED;
}

static bool settle(aphi_local_search *l, uint32_t *v)
{
    bool any = false;
    for (bool again = true; again;) {
        again = false;
        for (size_t c = 0; c < l->scenery.ground.part_count; c++)
            while (!is_stopped(l) && advance(l, v, c))
                any = again = true;
    }
    return any;
}

/* ---- which choices to follow ------------------------------------------------------------------------------------- */

/* The smallest set of agents that holds `set` and to which nobody else can add a choice while none of it moves. Who is
 * about to send moves when the receiver does, so the receiver must be in it too. */
static uint64_t persistent(const aphi_local_state *y, uint64_t set, uint64_t moving)
{
    for (;;) {
        uint64_t others = aphi_local_state_movable(y, moving, set), more = set;
        for (size_t c = 0; c < y->ground.part_count; c++)
            if (set >> c & 1)
                more |= (y->fed_by[c] & others) | y->waits_for[c];
        if (more == set)
            return set;
        set = more;
    }
}

static size_t steps_of(const aphi_local_state *y, uint64_t agents)
{
    size_t n = 0;
    for (size_t c = 0; c < y->ground.part_count; c++)
        for (uint32_t i = y->first_step[c]; agents >> c & 1 && i < y->first_step[c + 1]; i++)
            n += y->steps[i].allowed;
    return n;
}

/* With races a receive of the target bears on everybody, so it is followed only where all others are too. */
static uint64_t choose_agents(const aphi_local_search *l)
{
    const aphi_local_state *y = &l->scenery;
    uint64_t best = UINT64_MAX, target = UINT64_C(1) << y->ground.target;
    size_t least = steps_of(y, best);
    for (size_t c = 0; c < y->ground.part_count && least > 1; c++) {
        if (!(y->allowed >> c & 1) || (y->late && c == y->ground.target))
            continue;
        uint64_t set = persistent(y, UINT64_C(1) << c, y->enabled);
        size_t n = steps_of(y, set);
        if (n < least && !(y->late && set & target)) {
            least = n;
            best = set;
        }
    }
    return best;
}

/* With races: agents that could act, but must learn of the target's last receive first. */
static uint64_t waiting(const aphi_local_search *l)
{
    return l->scenery.late ? l->scenery.enabled & ~l->scenery.allowed : 0;
}

/* Whether one of them can never learn of it. */
static bool hopeless(const aphi_local_search *l)
{
    const aphi_local_state *y = &l->scenery;
    uint64_t wait = waiting(l), movable = aphi_local_state_movable(y, y->allowed, 0);
    for (size_t c = 0; c < y->ground.part_count; c++)
        if (wait >> c & 1 && !(y->fed_by[c] & movable))
            return true;
    return false;
}

/* ---- the search -------------------------------------------------------------------------------------------------- */

static size_t pack(aphi_local_search *l, const uint32_t *v)
{
    unsigned char *p = l->packed;
    for (size_t i = 0; i < l->scenery.size; i++)
        if (v[i] < 255) {
            *p++ = (unsigned char)v[i];
        } else {
            *p++ = 255;
            memcpy(p, &v[i], sizeof v[i]);
            p += sizeof v[i];
        }
    return (size_t)(p - l->packed);
}

static uint32_t explore(aphi_local_search *l, uint32_t *v);

static uint32_t branch(aphi_local_search *l, const uint32_t *v, uint64_t agents)
{
    const aphi_local_state *y = &l->scenery;
    aphi_local_state_step *steps = aphi_copy(y->steps, y->step_count * sizeof *steps);
    size_t count = y->step_count, bytes = y->size * sizeof *v;
    uint32_t *next = aphi_alloc(bytes), set = APHI_SEQUENCE_DFA_NONE;
    for (size_t i = 0; i < count; i++) {
        if (!(agents >> steps[i].agent & 1) || !steps[i].allowed)
            continue;
        memcpy(next, v, bytes);
        if (y->late && steps[i].agent == y->ground.target)
            aphi_local_state_look(&l->scenery, next);
        size_t mark = l->trail_count;
        take(l, next, &steps[i]);
        uint32_t rest = explore(l, next);
        while (l->trail_count > mark)
            rest = aphi_sequence_dfa_prepend(&l->suffixes, l->trail[--l->trail_count], rest);
        set = aphi_sequence_dfa_union(&l->suffixes, set, rest);
    }
    free(next);
    free(steps);
    return set;
}

static uint32_t remember(aphi_local_search *l, const uint32_t *v, uint64_t agents)
{
    size_t before = l->memo.count, size = pack(l, v);
    uint32_t at = aphi_intern_number(&l->memo, l->packed, size);
    if (at < before)
        return l->found[at];
    APHI_RESERVE(l->found, l->found_capacity, l->memo.count);
    l->found[at] = APHI_SEQUENCE_DFA_NONE;
    if ((l->options.states_max && before >= l->options.states_max) || l->depth >= DEPTH_MAX)
        l->status = APHI_LOCAL_SEARCH_TOO_LARGE;
    if (is_stopped(l) || l->status != APHI_LOCAL_SEARCH_DONE)
        return APHI_SEQUENCE_DFA_NONE;
    l->depth++;
    uint32_t set = branch(l, v, agents);
    l->depth--;
    l->found[at] = set;
    return set;
}

static bool target_is_done(const aphi_local_search *l, const uint32_t *v)
{
    size_t target = l->scenery.ground.target;
    return l->scenery.ground.parts[target].kind[v[target]] == APHI_REDUCED_TERMINAL;
}

/* The first step of these agents that may be taken. */
static const aphi_local_state_step *only_step(const aphi_local_state *y, uint64_t agents)
{
    const aphi_local_state_step *s = y->steps;
    while (!(agents >> s->agent & 1) || !s->allowed)
        s++;
    return s;
}

/* Takes a step that may be taken alone, if there is one. */
static bool take_alone(aphi_local_search *l, uint32_t *v)
{
    if (!l->commute)
        return false;
    size_t count = l->scenery.step_count;
    aphi_local_state_step *steps = aphi_copy(l->scenery.steps, count * sizeof *steps);
    size_t i = 0;
    while (i < count && !aphi_independence_alone(l->commute, v, &steps[i]))
        i++;
    aphi_local_state_look(&l->scenery, v);
    if (i < count)
        take(l, v, &steps[i]);
    free(steps);
    return i < count;
}

/* A queue is no longer contended when its owner is gone, so there may be something to settle after that. */
static void settle_and_prune(aphi_local_search *l, uint32_t *v)
{
    settle(l, v);
    do {
        if (l->scenery.late)
            aphi_local_state_look(&l->scenery, v);
        aphi_local_state_prune(&l->scenery, v, waiting(l));
    } while (settle(l, v));
}

/* With the past: what the target did in a run that has come to its end. */
static uint32_t tell_past(aphi_local_search *l, uint32_t *v)
{
    aphi_local_state *y = &l->scenery;
    uint32_t *past = aphi_local_state_past(y, v), set = APHI_SEQUENCE_DFA_END;
    for (size_t i = aphi_causal_count(&y->past, past); i-- > 0;) {
        aphi_causal_rival *rivals;
        aphi_causal_event e = aphi_causal_told(&y->past, past, v, i, &rivals);
        uint32_t *event = aphi_alloc((EVENT_SIZE + 3 * e.rival_count) * sizeof *event);
        memcpy(event, &(uint32_t[EVENT_SIZE]){e.op, e.sync, e.port, e.label, e.peer}, EVENT_SIZE * sizeof *event);
        if (e.rival_count)
            memcpy(event + EVENT_SIZE, rivals, 3 * e.rival_count * sizeof *event);
        size_t size = sort_rivals(event, EVENT_SIZE, EVENT_SIZE + 3 * e.rival_count);
        set = aphi_sequence_dfa_prepend(&l->suffixes, aphi_intern_number(&l->events, event, size * sizeof *event), set);
        free(event);
        free(rivals);
    }
    return set;
}

/* The suffixes of the target from here on, but for the events that it leaves on the trail: they come before. */
static uint32_t explore(aphi_local_search *l, uint32_t *v)
{
    aphi_local_state *y = &l->scenery;
    for (;;) {
        settle_and_prune(l, v);
        if (is_stopped(l))
            return APHI_SEQUENCE_DFA_NONE;
        aphi_local_state_look(y, v);
        if (y->dated && !y->enabled)
            return tell_past(l, v);
        if (target_is_done(l, v) && !waiting(l) && !y->dated)
            return APHI_SEQUENCE_DFA_END;
        if (!y->allowed)
            return waiting(l) ? APHI_SEQUENCE_DFA_NONE : APHI_SEQUENCE_DFA_END;
        aphi_local_state_prospects(y, v);
        if (y->late && hopeless(l))
            return APHI_SEQUENCE_DFA_NONE;
        uint64_t agents = choose_agents(l);
        if (steps_of(y, agents) > 1) {
            if (take_alone(l, v))
                continue;
            return remember(l, v, agents);
        }
        aphi_local_state_step step = *only_step(y, agents);
        take(l, v, &step);
    }
}

static void search(aphi_local_search *l)
{
    uint32_t *v = aphi_alloc(l->scenery.size * sizeof *v);
    l->packed = aphi_alloc(l->scenery.size * (sizeof *v + 1));
    aphi_local_state_start(&l->scenery, v);
    l->commute = l->options.races ? NULL : aphi_independence_open(&l->scenery);
    l->root = explore(l, v);
    while (l->trail_count > 0)
        l->root = aphi_sequence_dfa_prepend(&l->suffixes, l->trail[--l->trail_count], l->root);
    if (l->scenery.dated && l->scenery.past.overflow)
        l->status = APHI_LOCAL_SEARCH_TOO_LARGE;
    if (l->status != APHI_LOCAL_SEARCH_DONE)
        l->root = APHI_SEQUENCE_DFA_NONE;
    free(v);
}

aphi_local_search *aphi_local_search_open(const aphi_alts *a, size_t component, aphi_local_search_options options)
{
    aphi_local_search *l = aphi_alloc_zero(sizeof *l);
    l->model = a;
    l->options = options;
    aphi_sequence_dfa_init(&l->suffixes);
    switch (aphi_local_state_init(&l->scenery, a, component, options.races)) {
    case APHI_REDUCED_READY:
        search(l);
        break;
    case APHI_REDUCED_TOO_LARGE:
        l->status = APHI_LOCAL_SEARCH_TOO_LARGE;
        break;
    }
    return l;
}

void aphi_local_search_close(aphi_local_search *l)
{
    if (l->commute)
        aphi_independence_close(l->commute);
    aphi_local_state_free(&l->scenery);
    aphi_sequence_dfa_free(&l->suffixes);
    aphi_intern_free(&l->events);
    aphi_intern_free(&l->memo);
    free(l->found);
    free(l->trail);
    free(l->packed);
    free(l);
}

/* ---- the answer -------------------------------------------------------------------------------------------------- */

aphi_local_search_status aphi_local_search_outcome(const aphi_local_search *l)
{
    return l->status;
}

uint64_t aphi_local_search_count(const aphi_local_search *l)
{
    return aphi_sequence_dfa_count(&l->suffixes, l->root);
}

size_t aphi_local_search_states(const aphi_local_search *l)
{
    return l->memo.count;
}

typedef struct walk {
    const aphi_local_search *l;
    aphi_local_search_visit *visit;
    void *context;
    aphi_local_event *events;
    size_t capacity;
} walk;

/* The state of the component in the model itself after an event: what the restrictions R1 and R2 leave no choice
 * about. */
static uint32_t state_after(const aphi_alts_component *c, uint32_t state, const uint32_t *event)
{
    for (uint32_t i = c->first[state]; i < c->first[state + 1]; i++) {
        const aphi_alts_move *m = &c->moves[i];
        if (m->op != APHI_ALTS_RECEIVE || (m->port == event[EVENT_PORT] && m->label == event[EVENT_LABEL]))
            return m->target;
    }
    assert(!"an event that the component does not have");
    return state;
}

static bool walk_set(walk *w, uint32_t set, size_t depth, uint32_t state)
{
    const aphi_local_search *l = w->l;
    size_t n;
    bool empty;
    const aphi_sequence_dfa_edge *edges = aphi_sequence_dfa_edges(&l->suffixes, set, &n, &empty);
    if (empty && !w->visit(w->context, w->events, depth))
        return false;
    APHI_RESERVE(w->events, w->capacity, depth + 1);
    for (size_t i = 0; i < n; i++) {
        size_t size;
        const uint32_t *e = aphi_intern_key(&l->events, edges[i].first, &size);
        w->events[depth] = (aphi_local_event){.op = (aphi_alts_op)e[EVENT_OP], .sync = e[EVENT_SYNC],
                                              .port = e[EVENT_PORT], .label = e[EVENT_LABEL],
                                              .peer = e[EVENT_PEER], .state = state,
                                              .race = (const aphi_local_rival *)(e + EVENT_SIZE),
                                              .race_count = (size / sizeof *e - EVENT_SIZE) / 3};
        const aphi_alts_component *c = &l->model->components[l->scenery.ground.target];
        if (!walk_set(w, edges[i].rest, depth + 1, state_after(c, state, e)))
            return false;
    }
    return true;
}

bool aphi_local_search_walk(const aphi_local_search *l, aphi_local_search_visit *visit, void *context)
{
    walk w = {.l = l, .visit = visit, .context = context};
    bool all = walk_set(&w, l->root, 0, l->model->components[l->scenery.ground.target].initial);
    free(w.events);
    return all;
}
