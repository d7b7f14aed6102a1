/* SPDX-License-Identifier: Apache-2.0
 *
 * generator.c - the next action of a run: its request, its connection, its wait.
 *
 * Idea:       requests come from the model's generator or its shape, and those that reached new branches become more
 *             likely. A run alternates between calm phases, in which each request waits for the previous response, and
 *             busy phases with many requests in flight. Most errors of servers are found in calm phases, because the
 *             order of processing is known. There, related requests (of the same partition, or with an equal field)
 *             often follow each other on different connections, like the GET after the PUT in figure 6.3 of Li,
 *             "Testing by dualization". Races are found in busy phases. Some phases use only a few connections, some
 *             write messages in chunks.
 * Picture:    connections form a list from the least to the most recently used; the next one is taken from near its
 *             head.
 *
 *                 oldest -> c4 -> c1 -> c7 -> ... -> c2 <- newest
 *
 * Invariants: (1) a connection with `depth` requests in flight gets another only with a wait for the oldest of them.
 *             (2) the head of the list is used after at most OVERDUE_TIMES * connections + OVERDUE_MORE actions: no
 *             connection starves. (3) Actions wait only for labels of sends of this generator. (4) The same seed and
 *             the same knowledge yield the same actions.
 * Cost:       a few hundred nanoseconds for an action; the search for a connection skips the full ones. */
#include "generate/generator.h"

#include <stdio.h>
#include <stdlib.h>
#include "base/memory.h"
#include "generate/generator_api.h"
#include "generate/request_shape.h"
#include "tree/model_calls.h"
#include "value/heap.h"

enum {
    DEPTH_MAX = 4096,
    FOCUS_MAX = 3,      /* connections of a phase that uses only a few */
    KINDS_MAX = 64,     /* with weights */
    TRIES = 16,         /* draws for a related request */
    FAULTS_MAX = 64,    /* successive draws that cannot be sent */
    KINDS_DRAWS = 1000, /* draws to list the kinds */
    VALUES_DRAWS = 5000, /* draws, enough to find the values that never occur together */
    FREQUENT = 90,      /* occurrences in VALUES_DRAWS of a value that may be substituted for others */
    OVERDUE_TIMES = 8,
    OVERDUE_MORE = 64,
    LONG_RUN = 1024,    /* actions */
    END_ONE_IN = 12,    /* actions on a connection that end it, if the model has connections */
    QUIET_ONE_IN = 4,   /* of the actions that open or end a connection */
    ENDS_FIRST = 4,     /* ends of connections before the first silence, at most */
    ENDS_BETWEEN = 8,   /* the same for later silences; with more, the runs become hard to judge */
    PAUSE_US_LOW = 50,
    PAUSE_US_HIGH = 2000,
};

typedef struct connection {
    uint32_t older, newer; /* in the list */
    bool is_usable;        /* it is in the list */
    uint64_t used_at;      /* action */
    uint64_t sent;         /* since it was opened */
    bool is_open, is_shut; /* opened by an action; half-closed. Only used if the model has connections */
    int64_t *labels;       /* of the last `depth` requests; the k-th sent is at k % depth */
    aph_value last;        /* request, if partitions are kept apart */
} connection;

typedef struct phase {
    bool calm;
    uint64_t left;        /* actions */
    size_t focus_count;   /* 0: all connections */
    uint32_t focus[FOCUS_MAX];
    unsigned chunked;     /* 1 / probability that a request is written in chunks */
} phase;

typedef struct kind_option {
    aph_value name;
    aphi_weighted option;
} kind_option;

struct aphi_generator {
    const aph_model *model;
    aphi_request_shape *shape;  /* NULL: the model has a generator */
    aph_gen gen;
    connection *connections;    /* has one more element, for the ends of the list */
    int64_t *labels;
    uint32_t count, usable;     /* usable: in the list */
    uint32_t begun;             /* connections from here on are spare */
    size_t depth;
    bool apart;                 /* partitions are kept apart */
    unsigned silences;          /* still to come */
    uint64_t ends_until;        /* the number of ends before the next one; 0: the next action waits for it */
    uint64_t actions;
    int64_t label;              /* the latest */
    phase now;
    /* The latest request. */
    int64_t last_label;         /* 0: none yet */
    uint32_t last_connection;
    aph_value last_send, last_kind;
    kind_option kinds[KINDS_MAX];
    size_t kinds_count;
    char error[300];
};

/* ---- kinds ------------------------------------------------------------------------------------------------------- */

aph_value aphi_request_kind(const aph_model *model, aph_value request)
{
    const char *kind = model->kind ? aphi_model_kind(model, request) : NULL;
    if (kind)
        return aph_str(kind);
    aph_value f = aph_field(request, "f");
    return aph_is_str(f) ? f : aph_str("message");
}

/* Returns NULL if there are too many kinds. */
static aphi_weighted *option_of_kind(aphi_generator *g, aph_value kind)
{
    for (size_t i = 0; i < g->kinds_count; i++)
        if (g->kinds[i].name == kind)
            return &g->kinds[i].option;
    if (g->kinds_count == KINDS_MAX)
        return NULL;
    kind_option *k = &g->kinds[g->kinds_count++];
    *k = (kind_option){.name = kind, .option = {.weight = 1}};
    return &k->option;
}

/* Accepts a request from a generator in C with a probability given by the weight of its kind. A shape has weights for
 * its own choices. */
static bool accept_kind(aphi_generator *g, aph_value kind)
{
    aphi_weighted *option = option_of_kind(g, kind);
    uint64_t most = 1;
    if (!option || g->shape)
        return true;
    aphi_weights_draw(&g->gen.weights, option);
    for (size_t i = 0; i < g->kinds_count; i++)
        if (aphi_weighted_now(&g->kinds[i].option) > most)
            most = aphi_weighted_now(&g->kinds[i].option);
    return option->uses == 0 || aphi_choice_below(&g->gen.choice, most) < aphi_weighted_now(option);
}

/* ---- requests ---------------------------------------------------------------------------------------------------- */

typedef struct comparison {
    aph_value other;
    bool common, equal;
} comparison;

static bool compare_field(void *context, aph_value key, aph_value item)
{
    comparison *c = context;
    if (aph_str_is(key, "f") || !aph_has(c->other, key))
        return true;
    c->common = true;
    c->equal = aph_get(c->other, key) == item;
    return !c->equal;
}

/* Returns true if both have the same partition; without partitions, if they have an equal field, or none in common. */
static bool are_related(const aph_model *model, aph_value a, aph_value b)
{
    if (model->part)
        return aphi_model_part(model, a) == aphi_model_part(model, b);
    if (aph_kind_of(a) != APH_OBJECT || aph_kind_of(b) != APH_OBJECT)
        return true;
    comparison c = {.other = b};
    aphi_pairs(a, compare_field, &c);
    return c.equal || !c.common;
}

/* Returns false if the partition depends on a hole. */
static bool is_same_part(const aph_model *model, aph_value a, aph_value b)
{
    aph_value part = aphi_model_part(model, a);
    return part == aphi_model_part(model, b) && aphi_expression_newest(part) == 0;
}

/* The first tries accept only a request of another kind, if there is one. */
static bool meets_wish(aphi_generator *g, aph_value request, aph_value kind, int tries)
{
    aph_value wish = g->gen.wish;
    if (!wish)
        return true;
    bool other_kind = g->kinds_count < 2 || kind != g->last_kind;
    return (other_kind || tries >= TRIES / 2) && are_related(g->model, request, wish);
}

/* Returns a request that can be sent, or sets g->error and returns APH_NIL. A shape yields sound requests or null. */
static aph_value draw_sound(aphi_generator *g)
{
    for (int faults = 0; faults < FAULTS_MAX; faults++) {
        aphi_weights_begin(&g->gen.weights);
        aph_value request =
            g->shape ? aphi_request_shape_draw(g->shape, &g->gen) : aphi_model_generate(g->model, &g->gen);
        char why[240] = "it returns null, which cannot be sent";
        if (request && (g->shape || aphi_expression_check(request, g->model->functions, why, sizeof why)))
            return request;
        snprintf(g->error, sizeof g->error, "%s of the model %s: %s", g->shape ? "shape" : "generator",
                 g->model->name, why);
    }
    return APH_NIL;
}

static aph_value draw_request(aphi_generator *g)
{
    aph_value request = APH_NIL, kind = APH_NIL;
    for (int tries = 0; tries < TRIES; tries++) {
        request = draw_sound(g);
        if (!request)
            break;
        kind = aphi_request_kind(g->model, request);
        bool accepted = accept_kind(g, kind);
        if ((accepted || tries >= TRIES / 2) && meets_wish(g, request, kind, tries))
            break;
    }
    aphi_weights_use(&g->gen.weights);
    g->last_kind = kind;
    return request;
}

/* ---- connections ------------------------------------------------------------------------------------------------- */

static void unlink_connection(aphi_generator *g, uint32_t c)
{
    connection *x = &g->connections[c];
    g->connections[x->older].newer = x->newer;
    g->connections[x->newer].older = x->older;
}

static void link_newest(aphi_generator *g, uint32_t c)
{
    uint32_t ends = g->count, newest = g->connections[ends].older;
    g->connections[c].older = newest;
    g->connections[c].newer = ends;
    g->connections[newest].newer = c;
    g->connections[ends].older = c;
}

static uint32_t oldest_connection(const aphi_generator *g) { return g->connections[g->count].newer; }

static size_t in_flight(const aphi_generator *g, uint32_t c)
{
    const aphi_knowledge *known = g->gen.known;
    return known->in_flight && c < known->connections ? known->in_flight[c] : 0;
}

static bool is_full(const aphi_generator *g, uint32_t c) { return in_flight(g, c) >= g->depth; }

static bool is_overdue(const aphi_generator *g, uint32_t c)
{
    return g->actions - g->connections[c].used_at > (uint64_t)OVERDUE_TIMES * g->usable + OVERDUE_MORE;
}

/* Skips the avoided connection and full ones, and with a probability of 1/4 any other. */
static uint32_t choose_by_age(aphi_generator *g, uint32_t avoided)
{
    uint32_t skipped = g->count;
    for (uint32_t c = oldest_connection(g); c != g->count; c = g->connections[c].newer) {
        if (c == avoided || is_full(g, c))
            continue;
        if (aphi_choice_chance(&g->gen.choice, 3, 4))
            return c;
        if (skipped == g->count)
            skipped = c;
    }
    return skipped != g->count ? skipped : oldest_connection(g);
}

static uint32_t choose_in_focus(aphi_generator *g, uint32_t avoided)
{
    const phase *s = &g->now;
    size_t first = aphi_choice_below(&g->gen.choice, s->focus_count);
    for (size_t i = 0; i < s->focus_count; i++) {
        uint32_t c = s->focus[(first + i) % s->focus_count];
        if (c != avoided && g->connections[c].is_usable && !is_full(g, c))
            return c;
    }
    return g->connections[s->focus[first]].is_usable ? s->focus[first] : choose_by_age(g, avoided);
}

static uint32_t choose_connection(aphi_generator *g, uint32_t avoided)
{
    uint32_t oldest = oldest_connection(g);
    if (g->usable == 1 || is_overdue(g, oldest))
        return oldest;
    return g->now.focus_count ? choose_in_focus(g, avoided) : choose_by_age(g, avoided);
}

/* ---- waits ------------------------------------------------------------------------------------------------------- */

/* A phase uses all connections a few times; a phase with a focus is shorter. Calm phases find their errors early, so in
 * a long run the busy phases become longer. */
static void begin_phase(aphi_generator *g)
{
    aphi_choice *c = &g->gen.choice;
    bool calm = g->actions == 0 || !g->now.calm;
    uint64_t all = (uint64_t)g->usable * (g->depth < 4 ? g->depth : 4);
    uint64_t times = 1 + (g->actions < 16 * LONG_RUN ? g->actions / LONG_RUN : 16);
    phase s = {.calm = calm, .left = 8 + aphi_choice_below(c, calm ? 57 : times * (57 + 2 * all))};

    s.chunked = aphi_choice_chance(c, 1, 8) ? 2 : 64;
    if (g->actions && g->usable > 1 && aphi_choice_chance(c, 1, 3)) {
        s.focus_count = 1 + aphi_choice_below(c, g->usable - 1 < FOCUS_MAX ? g->usable - 1 : FOCUS_MAX);
        s.left = 8 + s.left % 57;
        uint32_t next = oldest_connection(g);
        for (size_t i = 0; i < s.focus_count; i++, next = g->connections[next].newer)
            s.focus[i] = next;
    }
    g->now = s;
}

static void wait_for_answer(aphi_action *a, int64_t label)
{
    a->wait = APHI_WAIT_ANSWER;
    a->waits_for = label + 1;
}

/* Returns the oldest request in flight on the connection, or the oldest one stored. */
static int64_t oldest_in_flight(const aphi_generator *g, uint32_t c)
{
    const connection *x = &g->connections[c];
    uint64_t n = in_flight(g, c), most = x->sent < g->depth ? x->sent : g->depth;
    if (n > most)
        n = most;
    return n ? x->labels[(x->sent - n) % g->depth] : 0;
}

static int64_t latest_label(const aphi_generator *g, uint32_t c)
{
    const connection *x = &g->connections[c];
    return x->sent ? x->labels[(x->sent - 1) % g->depth] : 0;
}

static void wait_pause(aphi_generator *g, aphi_action *a)
{
    a->wait = APHI_WAIT_PAUSE;
    a->waits_for = aphi_choice_within(&g->gen.choice, PAUSE_US_LOW,
                                      aphi_choice_chance(&g->gen.choice, 1, 4) ? PAUSE_US_HIGH : 4 * PAUSE_US_LOW);
}

/* Returns the label of the request on the same connection whose response the action must wait for, or 0. */
static int64_t must_wait_for(const aphi_generator *g, const aphi_action *a)
{
    uint32_t c = (uint32_t)a->connection;
    if (g->apart && in_flight(g, c) && !is_same_part(g->model, a->send, g->connections[c].last))
        return latest_label(g, c);
    return is_full(g, c) ? oldest_in_flight(g, c) : 0;
}

/* follows: the action is related to the latest request, and waits for its response. A wait for quiet is rare, because
 * it takes as long as thousands of messages. */
static void choose_wait(aphi_generator *g, aphi_action *a, bool follows)
{
    aphi_choice *c = &g->gen.choice;
    int64_t own = must_wait_for(g, a), other = 0;
    uint64_t dice = aphi_choice_below(c, 1 << 14);

    if (own)
        wait_for_answer(a, own);
    else if (dice == 0)
        a->wait = APHI_WAIT_QUIET;
    else if (dice < 25)
        wait_pause(g, a);
    else if ((g->now.calm || follows) && g->last_label)
        wait_for_answer(a, g->last_label);
    else if (dice < 1024 && (other = latest_label(g, (uint32_t)aphi_choice_below(c, g->count))))
        wait_for_answer(a, other);
}

/* ---- actions ----------------------------------------------------------------------------------------------------- */

static void note_use(aphi_generator *g, uint32_t c)
{
    unlink_connection(g, c);
    link_newest(g, c);
    g->connections[c].used_at = g->actions;
}

static aphi_action next_close(aphi_generator *g, uint32_t c)
{
    g->connections[c].sent = 0;
    return (aphi_action){.label = g->label += 2, .connection = c};
}

/* A quiet moment shows whether the server sends all that it must after a connection was opened or ended. */
static void wait_quiet_sometimes(aphi_generator *g, aphi_action *a)
{
    if (aphi_choice_chance(&g->gen.choice, 1, QUIET_ONE_IN))
        a->wait = APHI_WAIT_QUIET;
}

/* Returns APH_NIL for a close of both sides. */
static aph_value draw_end(aphi_generator *g, bool is_shut)
{
    static const aph_value ends[] = {APH_BROKEN, APH_NIL, APH_NIL, APH_CLOSED, APH_CLOSED};
    if (g->silences && g->ends_until == 1 && aphi_choice_chance(&g->gen.choice, 3, 4))
        return APH_BROKEN; /* servers often handle it wrongly, and only the silence shows it */
    return ends[aphi_choice_below(&g->gen.choice, is_shut ? 3 : 5)];
}

/* Counts the ends after which the server may still serve the connection, because it does not notice them. */
static void count_end(aphi_generator *g, aph_value end)
{
    if (g->silences && end != APH_CLOSED)
        g->ends_until--;
}

static void wait_for_silence(aphi_generator *g, aphi_action *a)
{
    a->wait = APHI_WAIT_SILENCE;
    a->waits_for = 0;
    g->silences--;
    g->ends_until = 1 + aphi_choice_below(&g->gen.choice, ENDS_BETWEEN);
}

/* Opens or ends the connection, if the model has connections. Returns false if a request is to be sent on it. */
static bool next_signal(aphi_generator *g, uint32_t c, aphi_action *a)
{
    connection *x = &g->connections[c];
    aphi_choice *choice = &g->gen.choice;
    if (!g->model->connections)
        return false;
    bool opens = !x->is_open && aphi_choice_chance(choice, 1, 2);
    bool ends = x->is_open && (x->is_shut || aphi_choice_chance(choice, 1, END_ONE_IN));
    x->is_open = true;
    if (!opens && !ends)
        return false;
    *a = (aphi_action){.label = g->label += 2, .connection = c, .send = opens ? APH_OPENED : draw_end(g, x->is_shut)};
    if (ends && x->is_shut)
        wait_pause(g, a); /* the server may end it first */
    wait_quiet_sometimes(g, a);
    if (ends)
        count_end(g, a->send);
    if (ends && a->send == APH_CLOSED)
        x->is_shut = true;
    else if (ends)
        aphi_generator_note_end(g, c);
    return true;
}

void aphi_generator_note_end(aphi_generator *g, int64_t c)
{
    connection *x = &g->connections[c];
    x->is_open = x->is_shut = false;
    x->sent = 0;
}

static aphi_action next_send(aphi_generator *g, uint32_t c, bool follows)
{
    aphi_action a = {.connection = c};
    g->gen.connection = c;
    if (g->apart && in_flight(g, c))
        g->gen.wish = g->connections[c].last;
    else
        g->gen.wish = follows ? g->last_send : APH_NIL;
    a.send = draw_request(g);
    if (!a.send)
        return a;
    g->gen.number++;
    a.label = g->label += 2;
    choose_wait(g, &a, follows);
    if (g->model->connections && !g->connections[c].sent)
        wait_quiet_sometimes(g, &a);
    if (aphi_choice_chance(&g->gen.choice, 1, g->now.chunked))
        a.chunk = (uint32_t)(1 + aphi_choice_below(&g->gen.choice, 3));
    connection *x = &g->connections[c];
    x->labels[x->sent++ % g->depth] = a.label;
    x->last = g->apart ? a.send : APH_NIL;
    g->last_label = a.label;
    g->last_connection = c;
    g->last_send = a.send;
    return a;
}

aphi_action aphi_generator_next(aphi_generator *g, const aphi_knowledge *known)
{
    aphi_choice *choice = &g->gen.choice;
    g->gen.known = known;
    aphi_weights_learn(&g->gen.weights, known->branches);
    if (g->now.left == 0)
        begin_phase(g);
    g->now.left--;
    bool follows = g->last_label && aphi_choice_chance(choice, g->now.calm ? 4 : 1, 8);
    uint32_t c = choose_connection(g, follows ? g->last_connection : g->count);
    bool settled = in_flight(g, c) == 0 && g->connections[c].sent > 0;
    /* A connection is known to be idle only if the model responds to each request. */
    bool closes = settled && aphi_choice_chance(choice, 1, 512) && g->model->rpc;
    aphi_action a = {0};
    bool silent = g->silences && !g->ends_until;
    if (!next_signal(g, c, &a))
        a = closes ? next_close(g, c) : next_send(g, c, follows);
    if (silent && a.label)
        wait_for_silence(g, &a);
    g->actions++;
    note_use(g, c);
    g->gen.known = NULL;
    return a;
}

/* ---- blocked connections ----------------------------------------------------------------------------------------- */

void aphi_generator_unblock(aphi_generator *g, int64_t c)
{
    connection *x = &g->connections[c];
    if (x->is_usable)
        return;
    x->is_usable = true;
    x->used_at = g->actions;
    g->usable++;
    link_newest(g, (uint32_t)c);
}

void aphi_generator_block(aphi_generator *g, int64_t c)
{
    connection *x = &g->connections[c];
    if (!x->is_usable)
        return;
    x->is_usable = false;
    g->usable--;
    unlink_connection(g, (uint32_t)c);
    if (g->begun < g->count)
        aphi_generator_unblock(g, g->begun++);
}

size_t aphi_generator_usable(const aphi_generator *g) { return g->usable; }
void aphi_generator_end_phase(aphi_generator *g) { g->now.left = 0; }

void aphi_generator_withdraw(aphi_generator *g, const aphi_action *a)
{
    if (a->send && !aphi_is_signal(a->send) && g->connections[a->connection].sent)
        g->connections[a->connection].sent--;
    if (g->last_label == a->label)
        g->last_label = 0;
}

int64_t aphi_generator_rename(aphi_generator *g, int64_t connection_number, int64_t label)
{
    connection *x = &g->connections[connection_number];
    uint64_t most = x->sent < g->depth ? x->sent : g->depth;
    g->label += 2;
    for (uint64_t k = 1; k <= most; k++)
        if (x->labels[(x->sent - k) % g->depth] == label)
            x->labels[(x->sent - k) % g->depth] = g->label;
    if (g->last_label == label)
        g->last_label = g->label;
    return g->label;
}

void aphi_generator_add_silences(aphi_generator *g, unsigned n)
{
    g->silences = g->model->connections ? n : 0;
    g->ends_until = 1 + aphi_choice_below(&g->gen.choice, ENDS_FIRST);
}

void aphi_generator_keep_apart(aphi_generator *g) { g->apart = g->model->part != NULL; }
bool aphi_generator_is_calm(const aphi_generator *g) { return g->now.calm; }
const char *aphi_generator_error(const aphi_generator *g) { return g->error; }

/* ---- opening ----------------------------------------------------------------------------------------------------- */

static void mark_generator(void *context)
{
    const aphi_generator *g = context;
    aph_mark(g->last_send);
    aph_mark(g->last_kind);
    for (uint32_t c = 0; g->apart && c < g->count; c++)
        aph_mark(g->connections[c].last);
    aph_mark(g->gen.weights.branches);
    for (size_t i = 0; i < g->kinds_count; i++)
        aph_mark(g->kinds[i].name);
}

static void open_connections(aphi_generator *g)
{
    g->connections = aphi_alloc_zero(((size_t)g->count + 1) * sizeof *g->connections);
    g->labels = aphi_alloc_zero(g->count * g->depth * sizeof *g->labels);
    g->connections[g->count] = (connection){.older = g->count, .newer = g->count};
    g->usable = 0;
    for (uint32_t c = 0; c < g->count; c++) {
        g->connections[c].labels = g->labels + c * g->depth;
        if (c < g->begun)
            aphi_generator_unblock(g, c);
    }
}

void aphi_generator_add_spares(aphi_generator *g, size_t spares)
{
    free(g->connections);
    free(g->labels);
    g->count += (uint32_t)spares;
    open_connections(g);
}

aphi_generator *aphi_generator_open(const aph_model *model, uint64_t seed, size_t connections, size_t depth,
                                    char *error, size_t error_size)
{
    char why[300];
    if (!model->generate && !model->shape) {
        snprintf(error, error_size, "model %s: no requests to send; add a .shape or a .generate "
                 "(docs/writing-models.md)", model->name);
        return NULL;
    }
    aphi_request_shape *shape = NULL;
    if (!model->generate && !(shape = aphi_request_shape_open(model->shape, model->functions, seed, why, sizeof why))) {
        snprintf(error, error_size, "model %s: %s (docs/writing-models.md)", model->name, why);
        return NULL;
    }
    aphi_generator *g = aphi_alloc_zero(sizeof *g);
    g->model = model;
    g->shape = shape;
    g->gen.choice = aphi_choice_seed(seed);
    g->count = g->begun = (uint32_t)(connections ? connections : 1);
    g->depth = depth == 0 ? 1 : depth < DEPTH_MAX ? depth : DEPTH_MAX;
    g->label = -1;
    open_connections(g);
    aph_root_add(mark_generator, g);
    return g;
}

void aphi_generator_close(aphi_generator *g)
{
    if (!g)
        return;
    aph_root_remove(mark_generator, g);
    aphi_request_shape_close(g->shape);
    aphi_weights_deinit(&g->gen.weights);
    free(g->connections);
    free(g->labels);
    free(g);
}

typedef aph_value note_request(const aph_model *model, aph_value noted, aph_value request);

/* Collects data from requests that are drawn without known messages. */
static aph_value note_draws(const aph_model *model, uint64_t draws, note_request *note)
{
    char error[300];
    aph_value noted = aph_object();
    aphi_generator *g = aphi_generator_open(model, 0, 1, 1, error, sizeof error);
    if (!g)
        return noted;
    aphi_labelled *empty = aphi_labelled_open(1);
    g->gen.known = &(aphi_knowledge){.seen = empty};
    for (; g->gen.number < draws; g->gen.number++) {
        aph_value request = draw_sound(g);
        if (request)
            noted = note(model, noted, request);
    }
    aphi_generator_close(g);
    aphi_labelled_close(empty);
    return noted;
}

/* A kind that depends on a hole is unknown. */
static aph_value note_kind(const aph_model *model, aph_value kinds, aph_value request)
{
    if (!model->kind && aphi_expression_newest(aph_field(request, "f")) != 0)
        return kinds;
    return aph_set(kinds, aphi_request_kind(model, request), aph_bool(true));
}

aph_value aphi_generator_kinds(const aph_model *model) { return note_draws(model, KINDS_DRAWS, note_kind); }

/* Counts a value of a field: [value, occurrences, the fields of such requests]. */
static aph_value count_value(aph_value before, aph_value value, aph_value request)
{
    aph_value fields = before ? aph_at(before, 2) : aph_object(), field, ignored;
    for (size_t i = 0; aph_pair_at(request, i, &field, &ignored); i++)
        fields = aph_has(fields, field) ? fields : aph_set(fields, field, aph_bool(true));
    return APH_ARRAY_OF(value, aph_int(before ? aph_int_of(aph_at(before, 1)) + 1 : 1), fields);
}

/* Counts the values of the request by field, with the value as a key. */
static aph_value note_values(const aph_model *model, aph_value noted, aph_value request)
{
    aph_value field, value;
    (void)model;
    for (size_t i = 0; aph_kind_of(request) == APH_OBJECT && aph_pair_at(request, i, &field, &value); i++) {
        aph_value of_field = aph_get(noted, field);
        if (aphi_expression_newest(value) != 0)
            continue;
        of_field = of_field ? of_field : aph_object();
        noted = aph_set(noted, field, aph_set(of_field, value, count_value(aph_get(of_field, value), value, request)));
    }
    return noted;
}

aph_value aphi_generator_values(const aph_model *model)
{
    aph_value all = aph_object(), noted = note_draws(model, VALUES_DRAWS, note_values), field, of_field, key, item;
    for (size_t i = 0; aph_pair_at(noted, i, &field, &of_field); i++) {
        aph_value frequent = aph_array(0, NULL);
        for (size_t k = 0; aph_pair_at(of_field, k, &key, &item); k++)
            if (aph_int_of(aph_at(item, 1)) >= FREQUENT)
                frequent = aph_push(frequent, APH_ARRAY_OF(aph_at(item, 0), aph_at(item, 2)));
        all = aph_set(all, field, frequent);
    }
    return all;
}
