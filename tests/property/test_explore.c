/* SPDX-License-Identifier: Apache-2.0
 *
 * test_explore.c - exploration, race sets and counting, compared with a naive enumeration on random models.
 *
 * The search must visit each partially ordered sequence exactly once. The naive enumeration shares only the model with
 * it: it takes all steps in every order, with real queues, and collects the complete runs. Two runs are equal if each
 * thread has the same events, and each receive takes the message of the same send. */
#include "base/memory.h"
#include "compare.h"
#include "explore/counting.h"
#include "explore/explore.h"
#include "explore/sequence.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { MODELS = 6000, THREADS = 5, EVENTS = 16, IN_TRANSIT = 32, STATES = 8, PREFIXES_MAX = 1500 };

/* ---- random numbers ---------------------------------------------------------------------------------------------- */

static uint64_t seed;

static unsigned draw_below(unsigned n)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return (unsigned)((seed * 0x2545f4914f6cdd1du) >> 33) % n;
}

/* ---- sets of strings --------------------------------------------------------------------------------------------- */

typedef struct set {
    char **items;
    size_t count, size;
} set;

static size_t find_slot(const set *s, const char *text, size_t n)
{
    uint64_t h = 14695981039346656037u;
    for (size_t i = 0; i < n; i++)
        h = (h ^ (unsigned char)text[i]) * 1099511628211u;
    size_t at = (h ^ h >> 32) & (s->size - 1);
    while (s->items[at] && (memcmp(s->items[at], &n, sizeof n) || memcmp(s->items[at] + sizeof n, text, n)))
        at = (at + 1) & (s->size - 1);
    return at;
}

static bool add_text(set *s, const char *text, size_t n)
{
    if (2 * (s->count + 1) > s->size) {
        set old = *s;
        s->size = old.size ? 2 * old.size : 64;
        s->items = aphi_alloc_zero(s->size * sizeof *s->items);
        for (size_t i = 0; i < old.size; i++)
            if (old.items[i]) {
                size_t length;
                memcpy(&length, old.items[i], sizeof length);
                s->items[find_slot(s, old.items[i] + sizeof length, length)] = old.items[i];
            }
        free(old.items);
    }
    size_t at = find_slot(s, text, n);
    if (s->items[at])
        return false;
    s->items[at] = aphi_alloc(sizeof n + n);
    memcpy(s->items[at], &n, sizeof n);
    memcpy(s->items[at] + sizeof n, text, n);
    s->count++;
    return true;
}

static void free_set(set *s)
{
    for (size_t i = 0; i < s->size; i++)
        free(s->items[i]);
    free(s->items);
    *s = (set){0};
}

/* ---- naive enumeration ------------------------------------------------------------------------------------------- */

typedef struct event_key {
    uint8_t op, sync, port, label, peer, index;
} event_key;

typedef struct message {
    uint8_t sender, index, port, label;
} message;

typedef struct global_state {
    uint8_t state[THREADS], done[THREADS];
    event_key events[THREADS][EVENTS];
    message transit[IN_TRANSIT]; /* in the order of sending */
    uint8_t in_transit;
} global_state;

typedef struct naive {
    const aphi_alts *a;
    set prefixes, complete;
    size_t deadlocks;
    bool too_many;
} naive;

static size_t encode_events(const naive *n, const global_state *w, char *out)
{
    size_t used = 0;
    for (size_t t = 0; t < n->a->component_count; t++) {
        out[used++] = (char)w->done[t];
        memcpy(out + used, w->events[t], w->done[t] * sizeof(event_key));
        used += w->done[t] * sizeof(event_key);
    }
    return used;
}

static const aphi_alts_move *moves_of(const naive *n, const global_state *w, size_t t, size_t *count)
{
    const aphi_alts_component *c = &n->a->components[t];
    *count = c->first[w->state[t] + 1] - c->first[w->state[t]];
    return c->moves + c->first[w->state[t]];
}

static void append_event(global_state *w, size_t t, const aphi_alts_move *m, event_key l)
{
    assert_true(w->done[t] < EVENTS);
    w->events[t][w->done[t]++] = l;
    w->state[t] = (uint8_t)m->target;
}

static bool has_room(const naive *n, const global_state *w, size_t t, size_t port)
{
    size_t used = 0;
    for (size_t i = 0; i < w->in_transit; i++)
        used += w->transit[i].sender == t && w->transit[i].port == port;
    return !n->a->ports[port].capacity || used < n->a->ports[port].capacity;
}

/* Returns true if transit[i] may be received before all earlier messages. */
static bool is_deliverable(const naive *n, const global_state *w, size_t i)
{
    aphi_medium medium = n->a->ports[w->transit[i].port].medium;
    for (size_t j = 0; j < i && medium != APHI_MEDIUM_UNORDERED; j++)
        if (w->transit[j].port == w->transit[i].port &&
            (medium == APHI_MEDIUM_PORT || w->transit[j].sender == w->transit[i].sender))
            return false;
    return true;
}

static void enumerate_from(naive *n, const global_state *w);

/* In a queue that all senders share, a synchronous message also has a position. So the message enters the queue first,
 * and its sender continues when the message is received. On other ports this makes no difference. */
static bool is_queued(const global_state *w, size_t t, size_t port)
{
    for (size_t i = 0; i < w->in_transit; i++)
        if (w->transit[i].sender == t && w->transit[i].port == port && w->transit[i].index == w->done[t])
            return true;
    return false;
}

static bool enumerate_send(naive *n, const global_state *w, size_t t, const aphi_alts_move *m)
{
    global_state next = *w;
    if (m->sync ? is_queued(w, t, m->port) : !has_room(n, w, t, m->port))
        return false;
    assert_true(w->in_transit < IN_TRANSIT);
    next.transit[next.in_transit++] = (message){(uint8_t)t, w->done[t], (uint8_t)m->port, (uint8_t)m->label};
    if (!m->sync)
        append_event(&next, t, m,
                     (event_key){.op = APHI_ALTS_SEND, .port = (uint8_t)m->port, .label = (uint8_t)m->label});
    enumerate_from(n, &next);
    return true;
}

static bool enumerate_receive(naive *n, const global_state *w, size_t t, const aphi_alts_move *m)
{
    bool could = false;
    for (size_t i = 0; i < w->in_transit; i++) {
        message x = w->transit[i];
        if (x.port != m->port || x.label != m->label || !is_deliverable(n, w, i))
            continue;
        global_state next = *w;
        bool sync = x.index == w->done[x.sender];
        memmove(next.transit + i, next.transit + i + 1, (w->in_transit - i - 1u) * sizeof *next.transit);
        next.in_transit--;
        append_event(&next, t, m, (event_key){.op = APHI_ALTS_RECEIVE, .sync = sync, .port = (uint8_t)m->port,
                                              .label = (uint8_t)m->label, .peer = x.sender, .index = x.index});
        if (sync) {
            size_t count;
            const aphi_alts_move *s = moves_of(n, w, x.sender, &count);
            append_event(&next, x.sender, s, (event_key){.op = APHI_ALTS_SEND, .sync = true, .port = (uint8_t)s->port,
                                                         .label = (uint8_t)s->label});
        }
        enumerate_from(n, &next);
        could = true;
    }
    return could;
}

static bool enumerate_step(naive *n, const global_state *w, size_t t, const aphi_alts_move *m)
{
    if (m->op == APHI_ALTS_SEND)
        return enumerate_send(n, w, t, m);
    if (m->op == APHI_ALTS_RECEIVE)
        return enumerate_receive(n, w, t, m);
    global_state next = *w;
    append_event(&next, t, m, (event_key){.op = APHI_ALTS_LOCAL, .label = (uint8_t)m->label});
    enumerate_from(n, &next);
    return true;
}

static void enumerate_from(naive *n, const global_state *w)
{
    char key[sizeof(global_state)];
    size_t length = encode_events(n, w, key), all = length;
    memcpy(key + all, w->transit, w->in_transit * sizeof *w->transit);
    all += w->in_transit * sizeof *w->transit;
    n->too_many |= n->prefixes.count > PREFIXES_MAX;
    if (n->too_many || !add_text(&n->prefixes, key, all))
        return;
    bool moved = false, ended = true;
    for (size_t t = 0; t < n->a->component_count; t++) {
        size_t count;
        const aphi_alts_move *m = moves_of(n, w, t, &count);
        ended &= count == 0;
        for (size_t i = 0; i < count; i++)
            moved |= enumerate_step(n, w, t, &m[i]);
    }
    if (!moved && add_text(&n->complete, key, length))
        n->deadlocks += !ended;
}

/* ---- the search -------------------------------------------------------------------------------------------------- */

typedef struct visited_set {
    const aphi_compiled_model *model;
    set complete;
    size_t duplicates;
} visited_set;

static event_key key_of_step(const aphi_compiled_model *p, size_t t, const aphi_step *s)
{
    const aphi_compiled_state *from = &p->states[s->state];
    if (from->kind == APHI_COMPILED_LOCAL)
        return (event_key){.op = APHI_ALTS_LOCAL, .label = (uint8_t)from->label};
    if (from->kind != APHI_COMPILED_RECEIVE)
        return (event_key){.op = APHI_ALTS_SEND, .sync = from->kind == APHI_COMPILED_PASS,
                           .port = (uint8_t)p->channels[from->channel].port, .label = (uint8_t)from->label};
    size_t input = p->threads[t].input_base + s->input;
    return (event_key){.op = APHI_ALTS_RECEIVE, .sync = s->sync, .port = (uint8_t)p->input_ports[input],
                  .label = (uint8_t)p->input_labels[input], .peer = (uint8_t)s->peer, .index = (uint8_t)s->peer_index};
}

static bool collect(void *context, aphi_explorer *e)
{
    visited_set *s = context;
    char key[sizeof(global_state)];
    size_t used = 0, count;
    for (size_t t = 0; t < s->model->thread_count; t++) {
        const aphi_step *steps = aphi_explorer_steps(e, t, &count);
        key[used++] = (char)count;
        for (size_t i = 0; i < count; i++) {
            event_key l = key_of_step(s->model, t, &steps[i]);
            memcpy(key + used, &l, sizeof l);
            used += sizeof l;
        }
    }
    s->duplicates += !add_text(&s->complete, key, used);
    return true;
}

/* ---- races ------------------------------------------------------------------------------------------------------- */

/* A send is in the race set of a receive if in some sequence the receive takes its message, and the events before both
 * are the same as in this sequence. */
enum { SEQUENCES_MAX = 40 };

typedef struct stored_sequence {
    uint8_t done[THREADS];
    event_key events[THREADS][EVENTS];
    uint16_t clocks[THREADS][EVENTS][THREADS];
    uint16_t room[THREADS][EVENTS][THREADS]; /* for a send that waited for room: clock of the receive that made room */
    uint32_t races[THREADS][EVENTS];         /* sets of sends as bits; see bit_of */
} stored_sequence;

typedef struct race_check {
    const aphi_compiled_model *model;
    aphi_sequence sequence;
    stored_sequence *all;
    size_t count;
} race_check;

static uint32_t bit_of(size_t thread, size_t index)
{
    return (uint32_t)1 << (thread * 6 + index);
}

static void store_event(race_check *r, stored_sequence *k, unsigned t, unsigned i)
{
    aphi_sequence *s = &r->sequence;
    size_t n = r->model->thread_count;
    const aphi_event *e = &s->events[s->first[t] + i];
    k->events[t][i] = (event_key){.op = e->op, .sync = e->sync, .port = (uint8_t)e->port, .label = (uint8_t)e->label,
                                  .peer = e->op == APHI_ALTS_RECEIVE ? (uint8_t)e->peer : 0,
                                  .index = e->op == APHI_ALTS_RECEIVE ? (uint8_t)e->peer_index : 0};
    memcpy(k->clocks[t][i], s->clocks + (s->first[t] + i) * n, n * sizeof(uint16_t));
    if (e->freed_by)
        memcpy(k->room[t][i], s->clocks + (s->first[e->peer] + e->freed_by - 1) * n, n * sizeof(uint16_t));
    if (e->op != APHI_ALTS_RECEIVE)
        return;
    aphi_sequence_find_race_set(s, t, i);
    for (size_t j = 0; j < s->race_count; j++)
        k->races[t][i] |= bit_of(s->races[j] >> 16, s->races[j] & 0xffff);
}

static bool store_sequence(void *context, aphi_explorer *e)
{
    race_check *r = context;
    stored_sequence *k = &r->all[r->count++];
    memset(k, 0, sizeof *k);
    aphi_sequence_load(&r->sequence, e);
    for (unsigned t = 0; t < r->model->thread_count; t++) {
        k->done[t] = (uint8_t)(r->sequence.first[t + 1] - r->sequence.first[t]);
        for (unsigned i = 0; i < k->done[t]; i++)
            store_event(r, k, t, i);
    }
    return true;
}

/* Joins the clocks of the causes of event i of thread t, which may not have happened yet, to `clock`. */
static void join_causes(const stored_sequence *k, size_t threads, size_t t, size_t i, uint16_t *clock)
{
    for (size_t u = 0; u < threads; u++) {
        uint16_t before = i ? k->clocks[t][i - 1][u] : 0;
        uint16_t room = i < k->done[t] && k->events[t][i].op == APHI_ALTS_SEND ? k->room[t][i][u] : 0;
        clock[u] = before > clock[u] ? before : clock[u];
        clock[u] = room > clock[u] ? room : clock[u];
    }
}

static bool has_same_prefix(const stored_sequence *a, const stored_sequence *b, size_t threads, const uint16_t *clock)
{
    for (size_t t = 0; t < threads; t++)
        if (b->done[t] < clock[t] || memcmp(a->events[t], b->events[t], clock[t] * sizeof(event_key)) != 0)
            return false;
    return true;
}

/* The race set of a receive, by definition. */
static uint32_t race_set_by_definition(const race_check *r, const stored_sequence *k, size_t t, size_t i)
{
    uint32_t found = 0;
    for (size_t other = 0; other < r->count; other++) {
        const stored_sequence *o = &r->all[other];
        uint16_t clock[THREADS] = {0};
        if (o->done[t] <= i || o->events[t][i].op != APHI_ALTS_RECEIVE)
            continue;
        size_t sender = o->events[t][i].peer, enumerate_send = o->events[t][i].index;
        if ((sender == k->events[t][i].peer && enumerate_send == k->events[t][i].index) ||
            enumerate_send > k->done[sender])
            continue;
        join_causes(k, r->model->thread_count, t, i, clock);
        join_causes(k, r->model->thread_count, sender, enumerate_send, clock);
        if (clock[t] <= i && has_same_prefix(k, o, r->model->thread_count, clock))
            found |= bit_of(sender, enumerate_send);
    }
    return found;
}

static size_t compare_races(const race_check *r)
{
    size_t races = 0;
    for (size_t q = 0; q < r->count; q++)
        for (size_t t = 0; t < r->model->thread_count; t++)
            for (size_t i = 0; i < r->all[q].done[t]; i++) {
                if (r->all[q].events[t][i].op != APHI_ALTS_RECEIVE)
                    continue;
                assert_int_equal(r->all[q].races[t][i], race_set_by_definition(r, &r->all[q], t, i));
                races += r->all[q].races[t][i] != 0;
            }
    return races;
}

/* Returns the number of receives with a race. */
static size_t check_races(const aphi_compiled_model *p, size_t sequences)
{
    race_check r = {.model = p};
    size_t races = 0;
    bool small = sequences <= SEQUENCES_MAX && p->thread_count <= 5;
    for (size_t t = 0; t < p->thread_count; t++)
        small &= p->threads[t].depth <= 6;
    if (!small)
        return 0;
    r.all = aphi_alloc(sequences * sizeof *r.all);
    aphi_sequence_open(&r.sequence, p);
    aphi_explorer *e = aphi_explorer_open(p, store_sequence, &r);
    aphi_explorer_begin(e, NULL);
    assert_true(aphi_explorer_run(e, UINT64_MAX / 2));
    races = compare_races(&r);
    aphi_explorer_close(e);
    aphi_sequence_close(&r.sequence);
    free(r.all);
    return races;
}

/* ---- random models ----------------------------------------------------------------------------------------------- */

/* A random port of the component, or of another one; SIZE_MAX if there is none. */
static size_t random_port(const aphi_alts *a, size_t t, bool own)
{
    size_t found = SIZE_MAX;
    unsigned count_seen = 0;
    for (size_t p = 0; p < a->port_count; p++)
        if ((a->ports[p].owner == t) == own && draw_below(++count_seen) == 0)
            found = p;
    return found;
}

static void random_state(aphi_alts *a, size_t t, uint32_t state, uint32_t states, uint32_t *from, aphi_alts_move *moves,
                         size_t *count)
{
    unsigned kind = draw_below(16), alternatives = kind < 8 ? 1 + draw_below(4) : 1;
    uint32_t left = states - state - 1;
    bool receives = kind < 8 && random_port(a, t, true) != SIZE_MAX, sends = !receives && kind < 15;
    for (unsigned i = 0; left && i < alternatives; i++) {
        size_t port = receives || sends ? random_port(a, t, receives) : 0;
        bool again = false;
        if (port == SIZE_MAX)
            return;
        aphi_alts_move m = {.op = receives ? APHI_ALTS_RECEIVE
                                  : sends  ? APHI_ALTS_SEND
                                           : APHI_ALTS_LOCAL,
                            .port = (uint16_t)port,
                            .label = (uint16_t)draw_below((unsigned)a->label_count),
                            .target = state + 1 + (draw_below(4) ? 0 : draw_below(left)),
                            .sync = sends && draw_below(3) == 0};
        for (size_t j = *count; j-- > 0 && from[j] == state;)
            again |= !receives || (moves[j].port == m.port && moves[j].label == m.label);
        if (again)
            continue;
        from[*count] = state;
        moves[(*count)++] = m;
    }
}

static void random_model(aphi_alts *a, unsigned mediums)
{
    static const char *const names[] = {"A", "B", "C", "D", "E", "F"};
    aphi_alts_init(a, "random");
    unsigned threads = 3 + draw_below(THREADS - 2), ports = 1 + draw_below(4), labels = 1 + draw_below(2);
    for (unsigned i = 0; i < threads; i++)
        aphi_alts_add_component(a, names[i]);
    for (unsigned i = 0; i < ports; i++) {
        aphi_medium medium = mediums == 3 ? (aphi_medium)draw_below(3) : (aphi_medium)mediums;
        aphi_alts_add_port(a, names[i], draw_below(threads), medium, draw_below(2) ? 1 + draw_below(2) : 0);
    }
    for (unsigned i = 0; i < labels; i++)
        aphi_alts_add_label(a, names[i]);
    for (unsigned t = 0; t < threads; t++) {
        uint32_t from[STATES * 4], states = 2 + draw_below(STATES - 2);
        aphi_alts_move moves[STATES * 4];
        size_t count = 0;
        for (uint32_t s = 0; s < states; s++)
            random_state(a, t, s, states, from, moves, &count);
        aphi_alts_fill(a, t, 0, states, count, from, moves);
    }
}

/* ---- the comparison ---------------------------------------------------------------------------------------------- */

typedef struct totals {
    size_t models, sequences, deadlocks, several, races, memoized;
    uint64_t blocked;
} totals;

static void assert_equal_sets(const set *a, const set *b)
{
    assert_int_equal(a->count, b->count);
    for (size_t i = 0; i < a->size; i++)
        if (a->items[i]) {
            size_t length;
            memcpy(&length, a->items[i], sizeof length);
            assert_non_null(b->items[find_slot(b, a->items[i] + sizeof length, length)]);
        }
}

static void search_and_compare(const aphi_compiled_model *p, const naive *n, totals *sum)
{
    visited_set s = {.model = p};
    aphi_explorer *e = aphi_explorer_open(p, collect, &s);
    assert_true(aphi_explorer_begin(e, NULL));
    assert_true(aphi_explorer_run(e, UINT64_MAX / 2));
    aphi_explore_stats stats = aphi_explorer_stats(e);
    assert_int_equal(s.duplicates, 0);
    assert_equal_sets(&s.complete, &n->complete);
    assert_int_equal(stats.sequences, n->complete.count);
    assert_int_equal(stats.deadlocks, n->deadlocks);
    aphi_sequence_count counted = aphi_count_sequences(p, SIZE_MAX, NULL, NULL);
    assert_false(counted.overflow || counted.stopped);
    assert_true(counted.sequences == n->complete.count);
    assert_true(counted.deadlocks == n->deadlocks);
    sum->models++;
    sum->memoized += counted.states;
    sum->sequences += stats.sequences;
    sum->deadlocks += stats.deadlocks;
    sum->several += stats.sequences > 1;
    sum->blocked += stats.blocked;
    sum->races += check_races(p, stats.sequences);
    aphi_explorer_close(e);
    free_set(&s.complete);
}

static void compare_random(totals *sum, unsigned mediums)
{
    char why[300] = "";
    aphi_alts a;
    aphi_compiled_model p;
    uint64_t at = seed;
    random_model(&a, mediums);
    naive n = {.a = &a};
    global_state w = {0};
    if (aphi_alts_check(&a, why, sizeof why) || !aphi_compiled_model_build(&p, &a, why, sizeof why))
        fail_msg("seed %llx: %s", (unsigned long long)at, why);
    enumerate_from(&n, &w);
    if (!n.too_many)
        search_and_compare(&p, &n, sum);
    aphi_compiled_model_free(&p);
    aphi_alts_free(&a);
    free_set(&n.prefixes);
    free_set(&n.complete);
}

static void compare(unsigned mediums)
{
    totals sum = {0};
    const size_t models = compare_cases(MODELS);
    seed = 0x9e3779b97f4a7c15u + mediums;
    while (sum.models < models)
        compare_random(&sum, mediums);
    print_message("%zu models, %zu with a choice, %zu sequences, %zu deadlocks, %llu blocked, "
                  "%zu receives with races\n", sum.models, sum.several, sum.sequences, sum.deadlocks,
                  (unsigned long long)sum.blocked, sum.races);
    /* Otherwise the test is meaningless. */
    assert_true(sum.several > models / 4 && sum.deadlocks > 0 && sum.races > models / 10);
    assert_true(sum.memoized > models / 4 || mediums == APHI_MEDIUM_PORT);
}

static void pairs(void **state)
{
    (void)state;
    compare(APHI_MEDIUM_PAIR);
}

static void queues(void **state)
{
    (void)state;
    compare(APHI_MEDIUM_PORT);
}

static void unordered(void **state)
{
    (void)state;
    compare(APHI_MEDIUM_UNORDERED);
}

static void mixed(void **state)
{
    (void)state;
    compare(3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(pairs), cmocka_unit_test(unordered), cmocka_unit_test(queues),
                                       cmocka_unit_test(mixed)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
