/* SPDX-License-Identifier: Apache-2.0
 *
 * histories.c - small recorded histories of a model; see histories.h.
 *
 * Idea:       clients, network and server are one loop with random actions: a client sends, the server takes a request
 *             that has arrived, or a response is observed. The history has an explanation: the run of the loop. Mutated
 *             histories may have none; the deciders find out. */
#include "histories.h"

#include "base/memory.h"
#include "concrete.h"
#include "connection_histories.h"
#include "endpoints.h"

#include <stdlib.h>
#include <string.h>

enum { LOSSY_MOST = 14 }; /* limit of observations if messages can be observed repeatedly */

void history_deinit(history *h)
{
    free(h->seen);
    *h = (history){0};
}

void history_add(history *h, bool sent, int64_t connection, aph_value message)
{
    APHI_RESERVE(h->seen, h->capacity, h->count + 1);
    h->seen[h->count++] = (history_seen){sent, connection, message, false};
}

void history_add_quiet(history *h)
{
    history_add(h, false, 0, APH_NIL);
    h->seen[h->count - 1].quiet = true;
}

void history_copy(history *to, const history *from)
{
    to->count = 0;
    for (size_t i = 0; i < from->count; i++) {
        history_add(to, from->seen[i].sent, from->seen[i].connection, from->seen[i].message);
        to->seen[i].quiet = from->seen[i].quiet;
    }
}

void history_remove(history *h, size_t i)
{
    memmove(h->seen + i, h->seen + i + 1, (--h->count - i) * sizeof *h->seen);
}

bool history_is_paired(const history *h)
{
    int open[HISTORY_CONNECTIONS] = {0};
    for (size_t i = 0; i < h->count; i++) {
        open[h->seen[i].connection] += h->seen[i].quiet ? 0 : h->seen[i].sent ? 1 : -1;
        if (open[h->seen[i].connection] < 0)
            return false;
    }
    return true;
}

bool history_is_sequential(const history *h)
{
    for (size_t i = 0; i < h->count; i++)
        if (h->seen[i].sent != (i % 2 == 0) || (i % 2 && h->seen[i].connection != h->seen[i - 1].connection))
            return false;
    return true;
}

void history_print(const history *h)
{
    for (size_t i = 0; i < h->count; i++) {
        if (h->seen[i].quiet) {
            printf("  quiet\n");
            continue;
        }
        printf("  {\"conn\": %lld, \"%s\": ", (long long)h->seen[i].connection, h->seen[i].sent ? "send" : "recv");
        aph_json_write(stdout, h->seen[i].message);
        printf("}\n");
    }
}

/* ---- making ------------------------------------------------------------------------------------------------------ */

history_shape history_random_shape(aphi_choice *c, const subject *s)
{
    return (history_shape){
        .requests = 2 + aphi_choice_below(c, (s->requests_most ? s->requests_most : 6) - 1),
        .connections = 1 + (unsigned)aphi_choice_below(c, 3),
        .pipelining = (unsigned)aphi_choice_below(c, 3),
        .sequential = aphi_choice_chance(c, 1, 10),
        .whole = aphi_choice_chance(c, 1, 2),
        .paired = s->model->rpc,
        .quiets = s->model->connections && aphi_choice_chance(c, 1, 2),
    };
}

static size_t pick_random(void *context, size_t n)
{
    return aphi_choice_below(context, n);
}

/* The state of the loop: the server, and the waiting requests on each connection as indices into the history. */
typedef struct world {
    const subject *subject;
    history_shape shape;
    history *history;
    aphi_choice *choice;
    concrete server;
    size_t sent, taken[HISTORY_CONNECTIONS], asked[HISTORY_CONNECTIONS], answered[HISTORY_CONNECTIONS];
    size_t next[HISTORY_CONNECTIONS]; /* index at which the search for the next request to take starts */
    size_t quiet_at;                  /* number of observations before the last quiet mark */
    uint8_t copies[64];               /* with duplicates: how often each request was taken, by its index */
} world;

static int64_t random_connection(world *w)
{
    return 1 + (int64_t)aphi_choice_below(w->choice, w->shape.connections);
}

static bool client_sends(world *w)
{
    int64_t connection = random_connection(w);
    bool waits = w->asked[connection] > w->answered[connection];
    if (w->sent == w->shape.requests)
        return false;
    if (w->shape.buffer && w->asked[connection] - w->taken[connection] >= w->shape.buffer)
        return false;
    if (waits && !w->shape.sequential && !aphi_choice_chance(w->choice, w->shape.pipelining, 4))
        return false;
    history_add(w->history, true, connection, w->subject->request(w->choice));
    w->asked[connection]++;
    w->sent++;
    return true;
}

/* Takes any request since the last quiet mark, up to twice. */
static bool server_takes_any(world *w)
{
    size_t n = w->history->count, i = n ? aphi_choice_below(w->choice, n) : 0;
    const history_seen *seen = &w->history->seen[i];
    if (i < w->quiet_at || i >= n || i >= sizeof w->copies || !seen->sent || w->copies[i] == 2)
        return false;
    if (!concrete_feed(&w->server, w->subject, seen->connection, seen->message, pick_random, w->choice))
        return false;
    w->copies[i]++;
    return true;
}

static bool server_takes(world *w)
{
    int64_t connection = random_connection(w);
    size_t i = w->next[connection];
    if (w->shape.lossy)
        return server_takes_any(w);
    if (w->shape.buffer && aph_count(aph_get(w->server.mail, aph_int(connection))) >= w->shape.buffer)
        return false;
    if (w->taken[connection] == w->asked[connection])
        return false;
    while (!w->history->seen[i].sent || w->history->seen[i].connection != connection)
        i++;
    w->next[connection] = i;
    if (!concrete_feed(&w->server, w->subject, connection, w->history->seen[i].message, pick_random, w->choice))
        return false;
    w->next[connection]++;
    w->taken[connection]++;
    return true;
}

static bool client_receives(world *w)
{
    int64_t connection = random_connection(w);
    aph_value message, said = aph_get(w->server.mail, aph_int(connection));
    if (!concrete_mail(&w->server, connection, &message))
        return false;
    if (w->shape.lossy && w->history->count >= LOSSY_MOST)
        return false;
    if (w->shape.lossy)
        message = aph_at(said, aphi_choice_below(w->choice, aph_count(said)));
    else
        concrete_take_mail(&w->server, connection);
    history_add(w->history, false, connection, message);
    w->answered[connection]++;
    return true;
}

static void deliver_all(world *w)
{
    for (int idle = 0, turns = 0; idle < 60 && turns < (w->shape.lossy ? 8 : 1000); idle++)
        if (server_takes(w) || client_receives(w)) {
            idle = 0;
            turns++;
        }
}

/* If the history is lossy, messages in flight are lost. Otherwise, all must have arrived. */
static void become_quiet(world *w)
{
    if (!w->shape.lossy) {
        deliver_all(w);
        for (int64_t c = 1; c <= w->shape.connections; c++)
            if (w->taken[c] < w->asked[c])
                return;
        if (aph_count(w->server.mail))
            return;
    }
    history_add_quiet(w->history);
    w->server.mail = aph_object();
    w->quiet_at = w->history->count;
}

static void run_sequentially(world *w)
{
    while (w->sent < w->shape.requests) {
        client_sends(w);
        if (w->sent < w->shape.requests || w->shape.whole)
            deliver_all(w);
    }
}

/* The number of rounds is bounded, because a client may wait forever for a response. */
static void run_concurrently(world *w)
{
    for (size_t i = 0; i < 100 * w->shape.requests && w->sent < w->shape.requests; i++) {
        switch (aphi_choice_below(w->choice, 3)) {
        case 0: client_sends(w); break;
        case 1: server_takes(w); break;
        default: client_receives(w); break;
        }
        if (w->shape.quiets && aphi_choice_chance(w->choice, 1, 20))
            become_quiet(w);
    }
    if (w->shape.quiets && aphi_choice_chance(w->choice, 1, 2))
        become_quiet(w);
    else if (w->shape.whole)
        deliver_all(w);
    else
        for (size_t i = aphi_choice_below(w->choice, 12); i > 0; i--)
            aphi_choice_chance(w->choice, 1, 2) ? server_takes(w) : client_receives(w);
}

void history_make(history *h, const subject *s, history_shape shape, aphi_choice *c)
{
    world w = {.subject = s, .shape = shape, .history = h, .choice = c};
    if (s->model->connections) {
        connection_history_make(h, s, shape, c);
        return;
    }
    h->count = 0;
    while (!concrete_begin(&w.server, s, pick_random, c))
        continue;
    if (shape.sequential)
        run_sequentially(&w);
    else
        run_concurrently(&w);
}

/* ---- making wrong ------------------------------------------------------------------------------------------------ */

/* The index of a random response; h->count if there is none. */
static size_t random_answer(const history *h, aphi_choice *c)
{
    size_t start = h->count ? aphi_choice_below(c, h->count) : 0;
    for (size_t i = 0; i < h->count; i++)
        if (!h->seen[(start + i) % h->count].sent && !h->seen[(start + i) % h->count].quiet)
            return (start + i) % h->count;
    return h->count;
}

static void change_answer(history *h, const subject *s, aphi_choice *c)
{
    size_t i = random_answer(h, c);
    if (i < h->count)
        h->seen[i].message = s->answer(c);
}

static void swap_answers(history *h, aphi_choice *c)
{
    size_t i = random_answer(h, c), k = random_answer(h, c);
    if (i == h->count)
        return;
    aph_value message = h->seen[i].message;
    h->seen[i].message = h->seen[k].message;
    h->seen[k].message = message;
}

static void move_event(history *h, size_t from, size_t to)
{
    history_seen seen = h->seen[from];
    history_remove(h, from);
    memmove(h->seen + to + 1, h->seen + to, (h->count++ - to) * sizeof *h->seen);
    h->seen[to] = seen;
}

/* Moves a response, or sometimes a request, to an earlier or later index. */
static void move_random_event(history *h, bool paired, aphi_choice *c)
{
    size_t from = aphi_choice_chance(c, 3, 4) ? random_answer(h, c) : h->count ? aphi_choice_below(c, h->count) : 0;
    if (from == h->count)
        return;
    size_t to = aphi_choice_below(c, h->count);
    move_event(h, from, to);
    if (paired && !history_is_paired(h))
        move_event(h, to, from);
}

static void insert_quiet(history *h, aphi_choice *c)
{
    history_add_quiet(h);
    move_event(h, h->count - 1, aphi_choice_below(c, h->count));
}

static void remove_answer(history *h, aphi_choice *c)
{
    size_t i = random_answer(h, c);
    if (i < h->count)
        history_remove(h, i);
}

static void cut_history(history *h, aphi_choice *c)
{
    if (h->count > 2)
        h->count -= 1 + aphi_choice_below(c, 2);
}

static void mutate_once(history *h, const subject *s, history_shape shape, aphi_choice *c)
{
    if (s->model->connections && shape.quiets && aphi_choice_chance(c, 1, 3)) {
        insert_quiet(h, c);
        return;
    }
    if (s->model->connections && aphi_choice_chance(c, 1, 2)) {
        aphi_choice_chance(c, 1, 3) ? connection_history_change_end(h, c) : remove_answer(h, c);
        return;
    }
    switch (aphi_choice_below(c, shape.sequential ? 2 : shape.quiets ? 8 : 7)) {
    case 0:
    case 2: change_answer(h, s, c); break;
    case 1:
    case 3: swap_answers(h, c); break;
    case 4:
    case 5: move_random_event(h, shape.paired, c); break;
    case 6: cut_history(h, c); break;
    default: insert_quiet(h, c); break;
    }
}

void history_mutate(history *h, const subject *s, history_shape shape, aphi_choice *c)
{
    history before = {0};
    for (size_t times = 1 + aphi_choice_below(c, 2); times > 0; times--) {
        history_copy(&before, h);
        mutate_once(h, s, shape, c);
        if (s->model->connections && !endpoints_allow(h))
            history_copy(h, &before);
    }
    history_deinit(&before);
}
