/* SPDX-License-Identifier: Apache-2.0
 *
 * conformance_local.c - conformance tests of single threads with the local sequences of their components.
 *
 * Idea:       one thread runs, and a driver stands in for all others: it supplies the messages of the local sequence,
 *             one at each receive, and accepts all sends. The local sequences are found in the model directly, without
 *             its global sequences (src/local/sequence_search.h).
 *
 *                 model     local sequences of D1:  send choose, receive num(1), ...
 *                 program   D1 alone                <--forced--        |
 *                                                   --OpenLists-->  race sets, compared with the model's
 *
 * Race sets:  a receive could have taken a message instead if it is open to the message and the message is available:
 *             the receive does not cause its send, it was not received before, and no message is ahead of it in its
 *             queue. Only openness depends on the thread. So each test stores the messages that are available at each
 *             receive. The model's race set has those that its state accepts; the thread's has those in its OpenList.
 * Payloads:   the model has none. They are captured, by port and label, in runs of the whole program: first with random
 *             sequences of the model in which needed messages are received, then with random choices. If a payload
 *             remains unknown, the prefix before its receive is tested: the thread must wait for that message. A crash
 *             or timeout of the whole program in such a run is reported if no single thread shows a violation.
 * Invariants: 1. `events` of a component has each of its event sequences once: EVENT_SIZE words for each event, then
 *                the end state
 *             2. `available` has, for an index of `events`, the messages that are available at its receives:
 *                AVAILABLE_SIZE words each, sorted and without duplicates
 * Cost:       one run for each event sequence of each component; memory for all of them.
 * After:      Carver and Lei, "Stateless techniques for generating global and local test oracles", figure 13. */
#include "execute/conformance.h"

#include "base/memory.h"
#include "base/intern.h"

#include <stdlib.h>
#include <string.h>

enum { OP, SYNC, PORT, LABEL, PEER, STATE, EVENT_SIZE };
enum { AT_RECEIVE, FROM_PORT, FROM_LABEL, SENDER, AVAILABLE_SIZE };

typedef struct words {
    uint32_t *items;
    size_t count, capacity;
} words;

typedef struct sample { /* payload of messages with this port and label */
    uint16_t port;
    uint32_t label;               /* in the program's layout */
    bool known;
    unsigned char payload[16];
    aphi_recorded_event *witness; /* a sequence of the model with such a receive */
    size_t witness_count;
} sample;

typedef struct component_tests {
    aphi_intern events, available, race_sets;
    uint32_t *first, *of_events; /* of_events[first[i]] ...: the numbers in `available` for number i in `events` */
} component_tests;

struct aphi_conformance_local {
    aphi_conformance *c;
    bool races;
    component_tests *tests;      /* by component */
    sample *samples;
    size_t sample_count, sample_capacity;
    aphi_violation failure;      /* first crash or timeout of the whole program */
    aphi_recording failed_run;
};

aphi_conformance_local *aphi_conformance_local_open(aphi_conformance *c, bool races)
{
    aphi_conformance_local *a = aphi_alloc_zero(sizeof *a);
    a->c = c;
    a->races = races;
    a->tests = aphi_alloc_zero((c->model->thread_count + 1) * sizeof *a->tests);
    return a;
}

void aphi_conformance_local_close(aphi_conformance_local *a)
{
    if (!a)
        return;
    for (size_t i = 0; i < a->c->model->thread_count; i++) {
        component_tests *t = &a->tests[i];
        aphi_intern_free(&t->events);
        aphi_intern_free(&t->available);
        aphi_intern_free(&t->race_sets);
        APHI_FREE_ALL(t->first, t->of_events);
    }
    for (size_t i = 0; i < a->sample_count; i++)
        free(a->samples[i].witness);
    aphi_recording_free(&a->failed_run);
    APHI_FREE_ALL(a->tests, a->samples, a);
}

static uint32_t *append_words(words *n, size_t count)
{
    APHI_RESERVE(n->items, n->capacity, n->count + count);
    n->count += count;
    return n->items + n->count - count;
}

/* ---- the local sequences of a component -------------------------------------------------------------------------- */

typedef struct collector {
    component_tests *tests;
    bool races;
    words key;
} collector;

static uint32_t add_events(collector *c, const aphi_local_event *events, size_t count)
{
    c->key.count = 0;
    for (size_t i = 0; i < count; i++) {
        const aphi_local_event *e = &events[i];
        bool local = e->op == APHI_ALTS_LOCAL;
        const uint32_t fields[EVENT_SIZE] = {e->op, !local && e->sync, local ? 0 : e->port, e->label,
                                             local ? 0 : e->peer, e->state};
        memcpy(append_words(&c->key, EVENT_SIZE), fields, sizeof fields);
    }
    *append_words(&c->key, 1) = events[count].state;
    return aphi_intern_number(&c->tests->events, c->key.items, c->key.count * sizeof *c->key.items);
}

/* The event after the last one has the messages that are available to a thread that waits at the end. */
static void add_available(collector *c, uint32_t number, const aphi_local_event *events, size_t count)
{
    c->key.count = 0;
    *append_words(&c->key, 1) = number;
    for (size_t i = 0; i <= count; i++)
        for (size_t k = 0; k < events[i].race_count; k++) {
            const aphi_race_candidate *m = &events[i].race[k];
            const uint32_t fields[AVAILABLE_SIZE] = {(uint32_t)i, m->port, m->label, m->sender};
            memcpy(append_words(&c->key, AVAILABLE_SIZE), fields, sizeof fields);
        }
    aphi_intern_number(&c->tests->available, c->key.items, c->key.count * sizeof *c->key.items);
}

static bool add_sequence(void *context, const aphi_local_event *events, size_t count)
{
    collector *c = context;
    uint32_t number = add_events(c, events, count);
    if (c->races)
        add_available(c, number, events, count);
    return true;
}

/* Groups the entries of `available` by their number in `events`. */
static void index_available(component_tests *t)
{
    size_t n = t->events.count, size;
    t->first = aphi_alloc_zero((n + 2) * sizeof *t->first);
    t->of_events = aphi_alloc((t->available.count + 1) * sizeof *t->of_events);
    for (uint32_t i = 0; i < t->available.count; i++)
        t->first[*(const uint32_t *)aphi_intern_key(&t->available, i, &size) + 2]++;
    for (size_t i = 2; i < n + 2; i++)
        t->first[i] += t->first[i - 1];
    for (uint32_t i = 0; i < t->available.count; i++)
        t->of_events[t->first[*(const uint32_t *)aphi_intern_key(&t->available, i, &size) + 1]++] = i;
}

aphi_sequence_search_status aphi_conformance_local_find(aphi_conformance_local *a, size_t component,
                                                        const volatile sig_atomic_t *stop)
{
    aphi_sequence_search *search = aphi_sequence_search_open(
        a->c->model->alts, component,
        (aphi_sequence_search_options){.races = a->races, .available = a->races, .stop = stop});
    aphi_sequence_search_status status = aphi_sequence_search_outcome(search);
    collector c = {.tests = &a->tests[component], .races = a->races};
    if (status == APHI_SEQUENCE_SEARCH_DONE) {
        aphi_sequence_search_each(search, add_sequence, &c);
        index_available(c.tests);
    }
    free(c.key.items);
    aphi_sequence_search_close(search);
    return status;
}

uint64_t aphi_conformance_local_count(const aphi_conformance_local *a, size_t component)
{
    return a->tests[component].events.count;
}

/* ---- messages that the threads receive --------------------------------------------------------------------------- */

static sample *find_sample(const aphi_conformance_local *a, uint16_t port, uint32_t label)
{
    for (size_t i = 0; i < a->sample_count; i++)
        if (a->samples[i].port == port && a->samples[i].label == label)
            return &a->samples[i];
    return NULL;
}

static void add_received(aphi_conformance_local *a, const uint32_t *events, size_t count)
{
    const aphi_conformance *c = a->c;
    for (size_t i = 0; i < count; i++) {
        const uint32_t *k = events + i * EVENT_SIZE;
        if (k[OP] == APHI_ALTS_RECEIVE && !find_sample(a, c->ports[k[PORT]], c->labels[k[LABEL]]))
            APHI_PUSH(a->samples, a->sample_count, a->sample_capacity,
                      (sample){.port = c->ports[k[PORT]], .label = c->labels[k[LABEL]]});
    }
}

void aphi_conformance_local_list_messages(aphi_conformance_local *a)
{
    for (size_t t = 0; t < a->c->model->thread_count; t++)
        for (uint32_t i = 0; i < a->tests[t].events.count; i++) {
            size_t size;
            const uint32_t *key = aphi_intern_key(&a->tests[t].events, i, &size);
            add_received(a, key, (size / sizeof *key - 1) / EVENT_SIZE);
        }
}

bool aphi_conformance_local_add_witness(aphi_conformance_local *a, const aphi_sequence *s)
{
    aphi_conformance *c = a->c;
    bool all = true;
    for (uint32_t i = 0; i < s->first[s->model->thread_count]; i++) {
        const aphi_event *e = &s->events[i];
        sample *m = e->op == APHI_ALTS_RECEIVE ? find_sample(a, c->ports[e->port], c->labels[e->label]) : NULL;
        if (!m || m->witness)
            continue;
        aphi_conformance_force(c, s);
        m->witness = aphi_copy(c->forced, c->forced_count * sizeof *c->forced);
        m->witness_count = c->forced_count;
    }
    for (size_t i = 0; i < a->sample_count; i++)
        all &= a->samples[i].witness != NULL;
    return all;
}

/* ---- payloads ---------------------------------------------------------------------------------------------------- */

/* Captures payloads in a run of the whole program. Returns false if the run did not end. */
static bool capture_run(aphi_conformance_local *a, uint64_t seed)
{
    aphi_recording *r = &a->c->recording;
    if (!aphi_conformance_run(a->c, false, seed))
        return false;
    for (size_t i = 0; i < r->event_count; i++) {
        const aphi_recorded_event *e = &r->events[i];
        sample *m = e->op == APHI_ALTS_SEND ? find_sample(a, e->port, e->label) : NULL;
        if (m && !m->known) {
            m->known = true;
            memcpy(m->payload, e->payload, sizeof m->payload);
        }
    }
    bool endless = r->end == APHI_RECORDING_ENDLESS;
    bool crashed = r->end == APHI_RECORDING_CRASHED || r->end == APHI_RECORDING_FAILED;
    if ((endless || crashed) && !a->failure) {
        a->failure = endless ? APHI_VIOLATION_ENDLESS : APHI_VIOLATION_CRASHED;
        a->failed_run = *r;
        *r = (aphi_recording){0};
    }
    return !endless;
}

static void force_witness(aphi_conformance *c, const sample *m)
{
    APHI_RESERVE(c->forced, c->forced_capacity, m->witness_count);
    memcpy(c->forced, m->witness, m->witness_count * sizeof *m->witness);
    c->forced_count = m->witness_count;
}

static bool all_captured(const aphi_conformance_local *a)
{
    for (size_t i = 0; i < a->sample_count; i++)
        if (!a->samples[i].known)
            return false;
    return true;
}

void aphi_conformance_local_capture(aphi_conformance_local *a, uint64_t random_runs)
{
    bool ends = true;
    for (size_t i = 0; i < a->sample_count && ends; i++)
        if (!a->samples[i].known && a->samples[i].witness) {
            force_witness(a->c, &a->samples[i]);
            ends = capture_run(a, 0);
        }
    a->c->forced_count = 0;
    for (uint64_t seed = 1; seed <= random_runs && ends && !all_captured(a); seed++)
        ends = capture_run(a, seed);
}

void aphi_conformance_local_report_crash(aphi_conformance_local *a)
{
    aphi_conformance *c = a->c;
    if (!a->failure || c->missing.violation || c->program_lost)
        return;
    aphi_recording_free(&c->recording);
    c->recording = a->failed_run;
    a->failed_run = (aphi_recording){0};
    c->sequence = 0;
    aphi_conformance_report(c, a->failure, -1, (aphi_event_id){0}, c->recording.detail);
}

/* ---- runs -------------------------------------------------------------------------------------------------------- */

typedef struct local_test { /* one event sequence of one component */
    aphi_conformance_local *a;
    aphi_conformance *c; /* has the tested program */
    words code;          /* scratch */
    unsigned component;
    uint32_t number;     /* of the event sequence */
    const uint32_t *key;
    size_t count;        /* of events */
    size_t known;        /* events before the first unknown payload */
    bool stuck_sending;  /* the component ends waiting in a send, which is forced, too */
} local_test;

static void force_event(local_test *t, const uint32_t *k)
{
    aphi_conformance *c = t->c;
    aphi_recorded_event e = {.op = (aphi_alts_op)k[OP],
                             .id = {c->threads[t->component], (uint32_t)c->forced_count + 1},
                             .label = c->labels[k[LABEL]]};
    if (k[OP] != APHI_ALTS_LOCAL) {
        e.sync = k[SYNC];
        e.port = c->ports[k[PORT]];
        e.peer.thread = c->threads[k[PEER]];
    }
    APHI_PUSH(c->forced, c->forced_count, c->forced_capacity, e);
}

static void force_test(local_test *t)
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

/* Finds the prefix with known payloads. */
static void find_known_prefix(local_test *t, aphi_conformance_local_result *result)
{
    const aphi_conformance *c = t->c;
    for (t->known = 0; t->known < t->count; t->known++) {
        const uint32_t *k = t->key + t->known * EVENT_SIZE;
        const sample *m = k[OP] == APHI_ALTS_RECEIVE
            ? find_sample(t->a, c->ports[k[PORT]], c->labels[k[LABEL]]) : NULL;
        if (m && !m->known) {
            result->untested++;
            snprintf(result->unknown, sizeof result->unknown, "%s %s", c->model->alts->ports[k[PORT]].name,
                     c->model->alts->labels[k[LABEL]]);
            return;
        }
    }
}

static bool run_test(local_test *t)
{
    aphi_conformance *c = t->c;
    aphi_program_run_options o = aphi_program_run_options_default(0, c->time_ms);
    aphi_run_payload *samples = aphi_alloc((t->a->sample_count + 1) * sizeof *samples);
    for (size_t i = 0; i < t->a->sample_count; i++) {
        const sample *m = &t->a->samples[i];
        if (m->known) {
            samples[o.sample_count] = (aphi_run_payload){.port = m->port, .label = m->label};
            memcpy(samples[o.sample_count++].payload, m->payload, sizeof m->payload);
        }
    }
    o.samples = samples;
    o.forced = c->forced;
    o.forced_count = c->forced_count;
    o.local_thread = c->threads[t->component];
    o.replay = !t->stuck_sending;
    o.events_max = t->stuck_sending ? c->forced_count : c->events_max;
    c->runs++;
    c->program_lost = !aphi_program_run(c->program, &o, &c->recording, c->error, sizeof c->error);
    free(samples);
    return !c->program_lost;
}

/* ---- results ----------------------------------------------------------------------------------------------------- */

static void report_violation(const local_test *t, aphi_violation b, size_t index)
{
    aphi_conformance *c = t->c;
    uint16_t thread = c->threads[t->component];
    aphi_conformance_report(c, b, thread, (aphi_event_id){thread, (uint32_t)index},
                            b == APHI_VIOLATION_ENDS ? "the model waits forever there" : c->recording.detail);
}

static bool is_open(const aphi_conformance *c, uint32_t open, uint32_t open_count, uint32_t port, uint32_t label)
{
    for (uint32_t i = open; i < open + open_count; i++) {
        const aphi_open_item *o = &c->recording.open_items[i];
        if (o->port == c->ports[port] && (o->label == APHI_LABEL_ANY || o->label == c->labels[label]))
            return true;
    }
    return false;
}

/* Returns true if the thread waits for the message of this event, whose payload is unknown. */
static bool is_waiting_for(const local_test *t, const uint32_t *k)
{
    const aphi_thread_end *s = &t->c->recording.thread_ends[t->c->threads[t->component]];
    return s->status == APHI_THREAD_RECEIVING && is_open(t->c, s->open, s->open_count, k[PORT], k[LABEL]);
}

static void check_prefix(local_test *t)
{
    aphi_conformance *c = t->c;
    size_t done = c->recording.event_count;
    if (c->recording.end == APHI_RECORDING_CRASHED || c->recording.end == APHI_RECORDING_FAILED) {
        report_violation(t, APHI_VIOLATION_CRASHED, 0);
    } else if (c->recording.end == APHI_RECORDING_ENDLESS) {
        report_violation(t, APHI_VIOLATION_ENDLESS, 0);
    } else if (done < t->known || !is_waiting_for(t, t->key + t->known * EVENT_SIZE)) {
        if (done >= t->known)
            force_event(t, t->key + t->known * EVENT_SIZE); /* expected by the model */
        report_violation(t, APHI_VIOLATION_MISSING, done + 1);
    }
}

/* Returns true if the thread followed the sequence to its end. */
static bool check_run(const local_test *t)
{
    aphi_conformance *c = t->c;
    const aphi_alts_component *l = &c->model->alts->components[t->component];
    uint32_t end = t->key[t->count * EVENT_SIZE];
    size_t done = c->recording.event_count;
    bool model_waits = l->first[end] < l->first[end + 1];
    if (t->stuck_sending && done + 1 >= c->forced_count) {
        if (done < c->forced_count)
            report_violation(t, c->recording.end == APHI_RECORDING_ENDED ? APHI_VIOLATION_ENDS : APHI_VIOLATION_WAITS,
                             done + 1);
        return done >= c->forced_count;
    }
    if (c->recording.end <= APHI_RECORDING_DEADLOCK && done != c->forced_count) {
        report_violation(t, APHI_VIOLATION_MISSING, done + 1);
        return false;
    }
    switch (c->recording.end) {
    case APHI_RECORDING_ENDED:
        if (model_waits)
            report_violation(t, APHI_VIOLATION_ENDS, 0);
        return !model_waits;
    case APHI_RECORDING_DEADLOCK:
        if (!model_waits)
            report_violation(t, APHI_VIOLATION_STUCK, 0);
        return model_waits;
    case APHI_RECORDING_DIVERGED:
        report_violation(t, done < c->forced_count ? APHI_VIOLATION_MISSING : APHI_VIOLATION_EXTRA, done + 1);
        return false;
    case APHI_RECORDING_ENDLESS: report_violation(t, APHI_VIOLATION_ENDLESS, 0); return false;
    default: report_violation(t, APHI_VIOLATION_CRASHED, 0); return false;
    }
}

/* ---- race sets --------------------------------------------------------------------------------------------------- */

static bool model_is_open(const local_test *t, uint32_t state, const uint32_t *message)
{
    const aphi_alts_component *l = &t->c->model->alts->components[t->component];
    for (uint32_t i = l->first[state]; i < l->first[state + 1]; i++)
        if (l->moves[i].port == message[FROM_PORT] && l->moves[i].label == message[FROM_LABEL])
            return true;
    return false;
}

/* Sets model_races and program_races of a receive. The index after the last event stands for the receive in which the
 * thread waits forever. */
static void find_race_sets(const local_test *t, const uint32_t *available, size_t count, uint32_t receive)
{
    aphi_conformance *c = t->c;
    const aphi_thread_end *s = &c->recording.thread_ends[c->threads[t->component]];
    const aphi_recorded_event *e = receive < t->count ? &c->recording.events[receive] : NULL;
    uint32_t open = e ? e->open : s->open, open_count = e ? e->open_count : s->open_count;
    uint32_t state = t->key[receive * EVENT_SIZE + (e ? STATE : 0)];
    c->model_races.count = c->program_races.count = 0;
    for (size_t i = 0; i < count; i++) {
        const uint32_t *o = available + i * AVAILABLE_SIZE;
        aphi_race_message message = {{c->threads[o[SENDER]], 0}, c->ports[o[FROM_PORT]], c->labels[o[FROM_LABEL]]};
        if (o[AT_RECEIVE] == receive && model_is_open(t, state, o))
            aphi_race_set_add(&c->model_races, message);
        if (o[AT_RECEIVE] == receive && is_open(c, open, open_count, o[FROM_PORT], o[FROM_LABEL]))
            aphi_race_set_add(&c->program_races, message);
    }
}

/* Appends a race set as words. */
static void encode_race_set(const aphi_race_set *set, words *code)
{
    *append_words(code, 1) = (uint32_t)set->count;
    for (size_t k = 0; k < set->count; k++) {
        const aphi_race_message *r = &set->items[k];
        uint32_t *to = append_words(code, 3);
        to[0] = r->send.thread;
        to[1] = r->port;
        to[2] = r->label;
    }
}

/* Compares all race sets; also collects the model's distinct combinations of race sets. */
static bool compare_race_sets(local_test *t, const uint32_t *available, size_t size)
{
    aphi_conformance *c = t->c;
    words *code = &t->code;
    size_t count = (size - 1) / AVAILABLE_SIZE;
    code->count = 0;
    *append_words(code, 1) = t->number;
    const aphi_thread_end *s = &c->recording.thread_ends[c->threads[t->component]];
    bool waits = s->status == APHI_THREAD_RECEIVING && !t->stuck_sending;
    for (uint32_t i = 0; i < t->count + waits; i++) {
        if (i < t->count && t->key[i * EVENT_SIZE] != APHI_ALTS_RECEIVE)
            continue;
        find_race_sets(t, available + 1, count, i);
        if (!aphi_conformance_compare_races(c, c->threads[t->component],
                                            (aphi_event_id){c->threads[t->component], i + 1}))
            return false;
        encode_race_set(&c->model_races, code);
    }
    aphi_intern_number(&t->a->tests[t->component].race_sets, code->items, code->count * sizeof *code->items);
    return true;
}

/* Compares the race sets for all sets of available messages that the model has for these events. */
static void compare_all_race_sets(local_test *t)
{
    const component_tests *all = &t->a->tests[t->component];
    for (uint32_t i = all->first[t->number]; i < all->first[t->number + 1]; i++) {
        size_t size;
        const uint32_t *available = aphi_intern_key(&all->available, all->of_events[i], &size);
        if (!compare_race_sets(t, available, size / sizeof *available))
            return;
    }
}

/* ---- threads ----------------------------------------------------------------------------------------------------- */

static void test_sequence(local_test *t, aphi_conformance_local_result *result)
{
    size_t size;
    t->key = aphi_intern_key(&t->a->tests[t->component].events, t->number, &size);
    t->count = (size / sizeof *t->key - 1) / EVENT_SIZE;
    find_known_prefix(t, result);
    t->c->tests++;
    t->c->sequence = t->number + 1;
    force_test(t);
    if (!run_test(t))
        return;
    if (t->known < t->count) {
        check_prefix(t);
        return;
    }
    result->by_events++;
    if (check_run(t))
        compare_all_race_sets(t);
}

aphi_conformance_local_result aphi_conformance_local_test(aphi_conformance_local *a, aphi_conformance *c,
                                                          size_t component, uint64_t limit)
{
    aphi_conformance_local_result result = {0};
    local_test t = {.a = a, .c = c, .component = (unsigned)component};
    uint32_t count = a->tests[component].events.count;
    count = limit && limit < count ? (uint32_t)limit : count;
    for (; t.number < count && !c->missing.violation && !c->program_lost; t.number++)
        test_sequence(&t, &result);
    result.by_races = a->tests[component].race_sets.count;
    free(t.code.items);
    return result;
}
