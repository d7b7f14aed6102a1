/* SPDX-License-Identifier: Apache-2.0
 *
 * conformance_local.c - each thread of a program tested alone, with what its component does in sequences of the model.
 *
 * Idea:       The thread runs, and a driver plays all others: it gives it the messages that the sequence has, one at
 *             each receive, and takes what it sends. Sequences in which the component does the same are one test.
 *
 *                 model     ... sequences ...  --project-->  events of D1: send choose, receive num(1), ...
 *                 program   D1 alone           <--forced--        |
 *                                              --open lists-->  race sets, compared with the model's
 *
 * Race sets:  A receive could have taken a message instead if it is open to it, and the message may lie ready by then:
 *             its sending does not follow from the receive, it is not received before, and nothing is before it in its
 *             queue. All but the first are the model's to say. So each test keeps, for each receive, the messages that
 *             may lie ready; the first is asked of the model's state on one side, of the thread's own open list on the
 *             other.
 * Messages:   What a message carries is not in the model. It is captured, by port and label, from runs of the whole
 *             program: of one sequence of the model for each message that is needed, and if that does not do, by
 *             chance. What comes before a message that was never seen is tested all the same: the thread must come to
 *             wait for it. Should the whole program crash or not end in such a run, that is told if no thread shows
 *             anything wrong alone.
 * Invariants: 1. `events` of a component has each of its event sequences once: EVENT_SIZE numbers for each event, then
 *                the state in which it ends.
 *             2. `timings` has, for a number of `events`, the messages that may lie ready at its receives: OFFER_SIZE
 *                numbers each, sorted, and each once.
 * Cost:       a run for each event sequence of each component; memory for all of them.
 * After:      Carver and Lei, "Stateless techniques for generating global and local test oracles", figure 13. */
#include "execute/conformance.h"

#include "base/memory.h"
#include "base/intern.h"

#include <stdlib.h>
#include <string.h>

enum { OP, SYNC, PORT, LABEL, PEER, STATE, EVENT_SIZE };
enum { AT_RECEIVE, FROM_PORT, FROM_LABEL, SENDER, OFFER_SIZE };

typedef struct numbers {
    uint32_t *items;
    size_t count, capacity;
} numbers;

typedef struct carried { /* what a message with this port and label carries */
    uint16_t port;
    uint32_t label;      /* of the program's cast */
    bool known;
    unsigned char payload[16];
    aphi_recorded *way;  /* a sequence of the model in which it is received */
    size_t way_count;
} carried;

struct aphi_conformance_local {
    aphi_conformance *c;
    aphi_intern *events, *timings, *race_sets; /* of each component */
    carried *carried;
    size_t carried_count, carried_capacity;
    aphi_breach trouble;      /* of a run of the whole program, and what it did */
    aphi_recording troubled;
    numbers key, offers;
};

aphi_conformance_local *aphi_conformance_local_open(aphi_conformance *c)
{
    size_t n = c->model->thread_count + 1;
    aphi_conformance_local *a = aphi_alloc_zero(sizeof *a);
    a->c = c;
    a->events = aphi_alloc_zero(n * sizeof *a->events);
    a->timings = aphi_alloc_zero(n * sizeof *a->timings);
    a->race_sets = aphi_alloc_zero(n * sizeof *a->race_sets);
    return a;
}

void aphi_conformance_local_close(aphi_conformance_local *a)
{
    if (!a)
        return;
    for (size_t i = 0; i < a->c->model->thread_count; i++) {
        aphi_intern_free(&a->events[i]);
        aphi_intern_free(&a->timings[i]);
        aphi_intern_free(&a->race_sets[i]);
    }
    for (size_t i = 0; i < a->carried_count; i++)
        free(a->carried[i].way);
    aphi_recording_free(&a->troubled);
    free(a->events);
    free(a->timings);
    free(a->race_sets);
    free(a->carried);
    free(a->key.items);
    free(a->offers.items);
    free(a);
}

static uint32_t *more(numbers *n, size_t count)
{
    APHI_RESERVE(n->items, n->capacity, n->count + count);
    n->count += count;
    return n->items + n->count - count;
}

/* ---- tests from a sequence --------------------------------------------------------------------------------------- */

static int by_offer(const void *a, const void *b)
{
    const uint32_t *x = a, *y = b;
    size_t i = 0;
    while (i + 1 < OFFER_SIZE && x[i] == y[i])
        i++;
    return (x[i] > y[i]) - (x[i] < y[i]);
}

/* What may lie ready when the thread comes to that event, a receive. */
static void add_offers(aphi_conformance_local *a, aphi_sequence *s, unsigned thread, uint32_t index)
{
    aphi_sequence_find_concurrent_sends(s, thread, index);
    for (size_t i = 0; i < s->race_count; i++) {
        const aphi_compiled_state *from = aphi_sequence_race_state(s, s->races[i]);
        uint32_t *o = more(&a->offers, OFFER_SIZE);
        o[AT_RECEIVE] = index;
        o[FROM_PORT] = s->model->channels[from->channel].port;
        o[FROM_LABEL] = from->label;
        o[SENDER] = s->races[i] >> 16;
    }
}

static void find_offers(aphi_conformance_local *a, aphi_sequence *s, unsigned thread)
{
    uint32_t events = s->first[thread + 1] - s->first[thread];
    a->offers.count = 0;
    for (uint32_t i = 0; i < events; i++)
        if (s->events[s->first[thread] + i].op == APHI_ALTS_RECEIVE)
            add_offers(a, s, thread, i);
    if (s->model->states[s->end_states[thread]].kind == APHI_COMPILED_RECEIVE)
        add_offers(a, s, thread, events);
    size_t count = a->offers.count / OFFER_SIZE, kept = 0;
    uint32_t *items = a->offers.items;
    if (count)
        qsort(items, count, OFFER_SIZE * sizeof *items, by_offer);
    for (size_t i = 0; i < count; i++)
        if (kept == 0 || by_offer(&items[i * OFFER_SIZE], &items[(kept - 1) * OFFER_SIZE]))
            memmove(&items[kept++ * OFFER_SIZE], &items[i * OFFER_SIZE], OFFER_SIZE * sizeof *items);
    a->offers.count = kept * OFFER_SIZE;
}

static uint32_t add_events(aphi_conformance_local *a, const aphi_sequence *s, unsigned thread)
{
    uint32_t base = s->model->threads[thread].base;
    a->key.count = 0;
    for (uint32_t i = s->first[thread]; i < s->first[thread + 1]; i++) {
        const aphi_event *e = &s->events[i];
        bool local = e->op == APHI_ALTS_LOCAL;
        uint32_t *k = more(&a->key, EVENT_SIZE);
        k[OP] = e->op;
        k[SYNC] = !local && e->sync;
        k[PORT] = local ? 0 : e->port;
        k[LABEL] = e->label;
        k[PEER] = local ? 0 : e->peer;
        k[STATE] = e->state - base;
    }
    *more(&a->key, 1) = s->end_states[thread] - base;
    return aphi_intern_number(&a->events[thread], a->key.items, a->key.count * sizeof *a->key.items);
}

static carried *carried_as(const aphi_conformance_local *a, uint16_t port, uint32_t label)
{
    for (size_t i = 0; i < a->carried_count; i++)
        if (a->carried[i].port == port && a->carried[i].label == label)
            return &a->carried[i];
    return NULL;
}

/* Messages that were not received in any sequence before: this one leads to them. */
static void add_ways(aphi_conformance_local *a, const aphi_sequence *s)
{
    aphi_conformance *c = a->c;
    for (uint32_t i = 0; i < s->first[s->model->thread_count]; i++) {
        const aphi_event *e = &s->events[i];
        if (e->op != APHI_ALTS_RECEIVE || carried_as(a, c->ports[e->port], c->labels[e->label]))
            continue;
        aphi_conformance_force(c, s);
        APHI_RESERVE(a->carried, a->carried_capacity, a->carried_count + 1);
        a->carried[a->carried_count++] = (carried){
            .port = c->ports[e->port],
            .label = c->labels[e->label],
            .way = aphi_copy(c->forced, c->forced_count * sizeof *c->forced),
            .way_count = c->forced_count,
        };
    }
}

void aphi_conformance_local_add(aphi_conformance_local *a, aphi_sequence *s)
{
    const aphi_compiled_model *p = s->model;
    for (unsigned t = 0; t < p->thread_count; t++) {
        uint32_t number = add_events(a, s, t);
        find_offers(a, s, t);
        a->key.count = 0;
        *more(&a->key, 1) = number;
        if (a->offers.count)
            memcpy(more(&a->key, a->offers.count), a->offers.items, a->offers.count * sizeof *a->offers.items);
        aphi_intern_number(&a->timings[t], a->key.items, a->key.count * sizeof *a->key.items);
    }
    add_ways(a, s);
}

/* ---- what messages carry ----------------------------------------------------------------------------------------- */

/* One run of the whole program; true if it came to an end. */
static bool look(aphi_conformance_local *a, uint64_t seed)
{
    aphi_recording *r = &a->c->recording;
    if (!aphi_conformance_run(a->c, false, seed))
        return false;
    for (size_t i = 0; i < r->event_count; i++) {
        const aphi_recorded *e = &r->events[i];
        carried *m = e->did == APHI_DID_SEND ? carried_as(a, e->port, e->label) : NULL;
        if (m && !m->known) {
            m->known = true;
            memcpy(m->payload, e->payload, sizeof m->payload);
        }
    }
    bool endless = r->end == APHI_RECORDING_ENDLESS;
    bool crashed = r->end == APHI_RECORDING_CRASHED || r->end == APHI_RECORDING_FAILED;
    if ((endless || crashed) && !a->trouble) {
        a->trouble = endless ? APHI_BREACH_ENDLESS : APHI_BREACH_CRASHED;
        a->troubled = *r;
        *r = (aphi_recording){0};
    }
    return !endless;
}

static void force_way(aphi_conformance *c, const carried *m)
{
    APHI_RESERVE(c->forced, c->forced_capacity, m->way_count);
    memcpy(c->forced, m->way, m->way_count * sizeof *m->way);
    c->forced_count = m->way_count;
}

static bool is_done(const aphi_conformance_local *a)
{
    for (size_t i = 0; i < a->carried_count; i++)
        if (!a->carried[i].known)
            return false;
    return true;
}

void aphi_conformance_local_capture(aphi_conformance_local *a, uint64_t random_runs)
{
    bool ends = true;
    for (size_t i = 0; i < a->carried_count && ends; i++)
        if (!a->carried[i].known) {
            force_way(a->c, &a->carried[i]);
            ends = look(a, 0);
        }
    a->c->forced_count = 0;
    for (uint64_t seed = 1; seed <= random_runs && ends && !is_done(a); seed++)
        ends = look(a, seed);
}

void aphi_conformance_local_settle(aphi_conformance_local *a)
{
    aphi_conformance *c = a->c;
    if (!a->trouble || c->lack.breach || c->lost)
        return;
    aphi_recording_free(&c->recording);
    c->recording = a->troubled;
    a->troubled = (aphi_recording){0};
    c->sequence = 0;
    char detail[sizeof c->recording.detail];
    memcpy(detail, c->recording.detail, sizeof detail);
    aphi_conformance_differ(c, a->trouble, -1, (aphi_place){0}, detail);
}

/* ---- a run alone ------------------------------------------------------------------------------------------------- */

typedef struct trial { /* one event sequence of one component */
    aphi_conformance_local *a;
    aphi_conformance *c;    /* whose program is tested */
    numbers found;         /* scratch */
    unsigned component;
    uint32_t number;       /* among its event sequences */
    const uint32_t *key;
    size_t count;          /* events */
    size_t known;          /* of these, up to a receive of what nobody knows */
    bool stuck_sending;    /* at the end the component waits in a send, which is forced, too */
} trial;

static void force_event(trial *t, const uint32_t *k)
{
    aphi_conformance *c = t->c;
    aphi_recorded e = {.did = (aphi_did)k[OP], .at = {c->threads[t->component], (uint32_t)c->forced_count + 1},
                       .label = c->labels[k[LABEL]]};
    if (k[OP] != APHI_ALTS_LOCAL) {
        e.sync = k[SYNC];
        e.port = c->ports[k[PORT]];
        e.peer.thread = c->threads[k[PEER]];
    }
    APHI_RESERVE(c->forced, c->forced_capacity, c->forced_count + 1);
    c->forced[c->forced_count++] = e;
}

static void force_trial(trial *t)
{
    aphi_conformance *c = t->c;
    const aphi_alts *alts = c->model->alts;
    const aphi_alts_component *l = &alts->components[t->component];
    uint32_t end = t->key[t->count * EVENT_SIZE];
    c->forced_count = 0;
    for (size_t i = 0; i < t->known; i++)
        force_event(t, t->key + i * EVENT_SIZE);
    const aphi_alts_move *move = l->first[end] < l->first[end + 1] ? &l->moves[l->first[end]] : NULL;
    t->stuck_sending = t->known == t->count && move && move->op == APHI_ALTS_SEND;
    if (t->stuck_sending)
        force_event(t, (uint32_t[EVENT_SIZE]){move->op, move->sync, move->port, move->label,
                                              alts->ports[move->port].owner, end});
}

/* Finds how far the test can go. */
static void find_known(trial *t, aphi_conformance_local_told *told)
{
    const aphi_conformance *c = t->c;
    for (t->known = 0; t->known < t->count; t->known++) {
        const uint32_t *k = t->key + t->known * EVENT_SIZE;
        const carried *m = k[OP] == APHI_ALTS_RECEIVE
            ? carried_as(t->a, c->ports[k[PORT]], c->labels[k[LABEL]]) : NULL;
        if (m && !m->known) {
            told->untested++;
            snprintf(told->unknown, sizeof told->unknown, "%s %s", c->model->alts->ports[k[PORT]].name,
                     c->model->alts->labels[k[LABEL]]);
            return;
        }
    }
}

static bool run_trial(trial *t)
{
    aphi_conformance *c = t->c;
    aphi_program_order o = aphi_program_freely(0, c->time_ms);
    aphi_program_sample *samples = aphi_alloc((t->a->carried_count + 1) * sizeof *samples);
    for (size_t i = 0; i < t->a->carried_count; i++) {
        const carried *m = &t->a->carried[i];
        if (m->known) {
            samples[o.sample_count] = (aphi_program_sample){.port = m->port, .label = m->label};
            memcpy(samples[o.sample_count++].payload, m->payload, sizeof m->payload);
        }
    }
    o.samples = samples;
    o.forced = c->forced;
    o.forced_count = c->forced_count;
    o.alone = c->threads[t->component];
    o.whole = !t->stuck_sending;
    o.events_max = t->stuck_sending ? c->forced_count : c->events_max;
    c->runs++;
    c->lost = !aphi_program_run(c->program, &o, &c->recording, c->error, sizeof c->error);
    free(samples);
    return !c->lost;
}

/* ---- what came of it --------------------------------------------------------------------------------------------- */

static void breach(const trial *t, aphi_breach b, size_t index)
{
    aphi_conformance *c = t->c;
    uint16_t thread = c->threads[t->component];
    char detail[sizeof c->recording.detail];
    memcpy(detail, c->recording.detail, sizeof detail);
    if (b == APHI_BREACH_ENDS)
        snprintf(detail, sizeof detail, "the model waits for ever there");
    aphi_conformance_differ(c, b, thread, (aphi_place){thread, (uint32_t)index}, detail);
}

/* Where nobody knows what comes next, the thread must wait for it. */
static bool waits_for(const trial *t, const uint32_t *k)
{
    const aphi_conformance *c = t->c;
    const aphi_standing *s = &c->recording.standings[c->threads[t->component]];
    for (uint32_t i = s->open; s->stand == APHI_STANDS_RECEIVING && i < s->open + s->open_count; i++) {
        const aphi_opening *o = &c->recording.openings[i];
        if (o->port == c->ports[k[PORT]] && (o->label == APHI_LABEL_ANY || o->label == c->labels[k[LABEL]]))
            return true;
    }
    return false;
}

static void judge_begun(trial *t)
{
    aphi_conformance *c = t->c;
    size_t done = c->recording.event_count;
    if (c->recording.end == APHI_RECORDING_CRASHED || c->recording.end == APHI_RECORDING_FAILED) {
        breach(t, APHI_BREACH_CRASHED, 0);
    } else if (c->recording.end == APHI_RECORDING_ENDLESS) {
        breach(t, APHI_BREACH_ENDLESS, 0);
    } else if (done < t->known || !waits_for(t, t->key + t->known * EVENT_SIZE)) {
        if (done >= t->known)
            force_event(t, t->key + t->known * EVENT_SIZE); /* it is what the model expects */
        breach(t, APHI_BREACH_MISSING, done + 1);
    }
}

/* True if the thread did what the sequence says, and came to its end as it does. */
static bool judge(const trial *t)
{
    aphi_conformance *c = t->c;
    const aphi_alts_component *l = &c->model->alts->components[t->component];
    uint32_t end = t->key[t->count * EVENT_SIZE];
    size_t done = c->recording.event_count;
    bool stays = l->first[end] < l->first[end + 1];
    if (t->stuck_sending && done + 1 >= c->forced_count) {
        if (done < c->forced_count)
            breach(t, c->recording.end == APHI_RECORDING_ENDED ? APHI_BREACH_ENDS : APHI_BREACH_WAITS, done + 1);
        return done >= c->forced_count;
    }
    if (c->recording.end <= APHI_RECORDING_DEADLOCK && done != c->forced_count) {
        breach(t, APHI_BREACH_MISSING, done + 1);
        return false;
    }
    switch (c->recording.end) {
    case APHI_RECORDING_ENDED:
        if (stays)
            breach(t, APHI_BREACH_ENDS, 0);
        return !stays;
    case APHI_RECORDING_DEADLOCK:
        if (!stays)
            breach(t, APHI_BREACH_STUCK, 0);
        return stays;
    case APHI_RECORDING_DIVERGED:
        breach(t, done < c->forced_count ? APHI_BREACH_MISSING : APHI_BREACH_EXTRA, done + 1);
        return false;
    case APHI_RECORDING_ENDLESS: breach(t, APHI_BREACH_ENDLESS, 0); return false;
    default: breach(t, APHI_BREACH_CRASHED, 0); return false;
    }
}

/* ---- race sets --------------------------------------------------------------------------------------------------- */

static bool model_is_open(const trial *t, uint32_t state, const uint32_t *offer)
{
    const aphi_alts_component *l = &t->c->model->alts->components[t->component];
    for (uint32_t i = l->first[state]; i < l->first[state + 1]; i++)
        if (l->moves[i].port == offer[FROM_PORT] && l->moves[i].label == offer[FROM_LABEL])
            return true;
    return false;
}

static bool program_is_open(const aphi_conformance *c, uint32_t open, uint32_t open_count, const uint32_t *offer)
{
    for (uint32_t i = open; i < open + open_count; i++) {
        const aphi_opening *o = &c->recording.openings[i];
        if (o->port == c->ports[offer[FROM_PORT]]
            && (o->label == APHI_LABEL_ANY || o->label == c->labels[offer[FROM_LABEL]]))
            return true;
    }
    return false;
}

/* Puts both race sets of a receive (from 0) into of_model and of_program. After the last event it is the receive in
 * which the thread waits for ever. */
static void find_races(const trial *t, const uint32_t *offers, size_t count, uint32_t receive)
{
    aphi_conformance *c = t->c;
    const aphi_standing *s = &c->recording.standings[c->threads[t->component]];
    const aphi_recorded *e = receive < t->count ? &c->recording.events[receive] : NULL;
    uint32_t open = e ? e->open : s->open, open_count = e ? e->open_count : s->open_count;
    uint32_t state = t->key[receive * EVENT_SIZE + (e ? STATE : 0)];
    c->of_model.count = c->of_program.count = 0;
    for (size_t i = 0; i < count; i++) {
        const uint32_t *o = offers + i * OFFER_SIZE;
        aphi_rival rival = {{c->threads[o[SENDER]], 0}, c->ports[o[FROM_PORT]], c->labels[o[FROM_LABEL]]};
        if (o[AT_RECEIVE] == receive && model_is_open(t, state, o))
            aphi_rivals_add(&c->of_model, rival);
        if (o[AT_RECEIVE] == receive && program_is_open(c, open, open_count, o))
            aphi_rivals_add(&c->of_program, rival);
    }
}

/* The race set that the model has for a receive, as numbers. */
static void note_races(const aphi_rivals *rivals, numbers *found)
{
    *more(found, 1) = (uint32_t)rivals->count;
    for (size_t k = 0; k < rivals->count; k++) {
        const aphi_rival *r = &rivals->items[k];
        uint32_t *to = more(found, 3);
        to[0] = r->send.thread;
        to[1] = r->port;
        to[2] = r->label;
    }
}

/* Also counts the model's race sets, each combination once. */
static bool compare_timing(trial *t, const uint32_t *timing, size_t size)
{
    aphi_conformance *c = t->c;
    numbers *found = &t->found;
    size_t count = (size - 1) / OFFER_SIZE;
    found->count = 0;
    *more(found, 1) = t->number;
    const aphi_standing *s = &c->recording.standings[c->threads[t->component]];
    bool waits = s->stand == APHI_STANDS_RECEIVING && !t->stuck_sending;
    for (uint32_t i = 0; i < t->count + waits; i++) {
        if (i < t->count && t->key[i * EVENT_SIZE] != APHI_ALTS_RECEIVE)
            continue;
        find_races(t, timing + 1, count, i);
        if (!aphi_conformance_compare(c, c->threads[t->component], (aphi_place){c->threads[t->component], i + 1}))
            return false;
        note_races(&c->of_model, found);
    }
    aphi_intern_number(&t->a->race_sets[t->component], found->items, found->count * sizeof *found->items);
    return true;
}

/* Compares with each timing that the model has for these events. */
static void compare_all(trial *t)
{
    const aphi_intern *timings = &t->a->timings[t->component];
    for (uint32_t i = 0; i < timings->count; i++) {
        size_t size;
        const uint32_t *timing = aphi_intern_key(timings, i, &size);
        if (timing[0] == t->number && !compare_timing(t, timing, size / sizeof *timing))
            return;
    }
}

/* ---- a thread ---------------------------------------------------------------------------------------------------- */

static void try_one(trial *t, aphi_conformance_local_told *told)
{
    size_t size;
    t->key = aphi_intern_key(&t->a->events[t->component], t->number, &size);
    t->count = (size / sizeof *t->key - 1) / EVENT_SIZE;
    find_known(t, told);
    t->c->tests++;
    t->c->sequence = t->number + 1;
    force_trial(t);
    if (!run_trial(t))
        return;
    if (t->known < t->count) {
        judge_begun(t);
        return;
    }
    told->by_events++;
    if (judge(t))
        compare_all(t);
}

aphi_conformance_local_told aphi_conformance_local_try(aphi_conformance_local *a, aphi_conformance *c, size_t component)
{
    aphi_conformance_local_told told = {0};
    trial t = {.a = a, .c = c, .component = (unsigned)component};
    for (; t.number < a->events[component].count && !c->lack.breach && !c->lost; t.number++)
        try_one(&t, &told);
    told.by_races = a->race_sets[component].count;
    free(t.found.items);
    return told;
}
