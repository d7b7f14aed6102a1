/* SPDX-License-Identifier: Apache-2.0
 *
 * connection_histories.c - small recorded histories of a model with connections.
 *
 * Idea:       as in histories.c, a loop with random actions: a client opens, sends or ends, the server takes an item or
 *             a connection breaks, or a message is observed. */
#include "connection_histories.h"

#include "endpoints.h"

typedef struct world {
    const subject *subject;
    history_shape shape;
    history *history;
    aphi_choice *choice;
    endpoints ends;
    size_t sent;
    int64_t opened;                          /* connections so far */
    bool shut[HISTORY_CONNECTIONS], ended[HISTORY_CONNECTIONS]; /* by the client; as the client has observed */
    int64_t client[HISTORY_CONNECTIONS];     /* the connection of each client; 0: none */
} world;

static size_t pick_random(void *context, size_t n)
{
    return aphi_choice_below(context, n);
}

static bool server_takes(world *w, int64_t connection)
{
    if (aphi_choice_chance(w->choice, 1, 4) &&
        endpoints_break(&w->ends, w->subject, w->history, w->history->count, connection, pick_random, w->choice))
        return true;
    const history_seen *item = endpoints_next(&w->ends, w->history, w->history->count, connection);
    bool is_full = w->shape.buffer &&
                   aph_count(aph_get(w->ends.server.mail, aph_int(connection))) >= w->shape.buffer;
    if (!item || (is_full && item->message != APH_LEFT && item->message != APH_CLOSED))
        return false;
    return item->message == APH_BROKEN
               ? endpoints_break(&w->ends, w->subject, w->history, w->history->count, connection, pick_random,
                                 w->choice)
               : endpoints_take(&w->ends, w->subject, w->history, w->history->count, connection, pick_random,
                                w->choice);
}

/* Adds an observation of the client; with `sequential`, the server takes it. */
static void observe(world *w, bool sent, int64_t connection, aph_value message)
{
    history_add(w->history, sent, connection, message);
    endpoints_observe(&w->ends, &w->history->seen[w->history->count - 1]);
    if (sent && w->shape.sequential)
        server_takes(w, connection);
}

static size_t count_untaken(const world *w, int64_t connection)
{
    endpoints e = w->ends;
    size_t n = 0;
    for (; endpoints_next(&e, w->history, w->history->count, connection); e.taken[connection]++)
        n++;
    return n;
}

static void end_connection(world *w, size_t client)
{
    static const aph_value ends[] = {APH_LEFT, APH_BROKEN, APH_CLOSED};
    int64_t connection = w->client[client];
    aph_value end = ends[aphi_choice_below(w->choice, w->shut[connection] ? 2 : 3)];
    observe(w, true, connection, end);
    w->shut[connection] = true;
    if (end != APH_CLOSED)
        w->client[client] = 0;
}

static bool client_acts(world *w, size_t client)
{
    int64_t connection = w->client[client];
    if (w->sent == w->shape.requests || (!connection && w->opened + 1 == HISTORY_CONNECTIONS))
        return false;
    w->sent++;
    if (!connection) {
        w->client[client] = ++w->opened;
        observe(w, true, w->opened, APH_OPENED);
        return true;
    }
    if (w->shut[connection] || w->ended[connection] || aphi_choice_chance(w->choice, 1, 4)) {
        end_connection(w, client);
        return true;
    }
    if (w->shape.buffer && count_untaken(w, connection) >= w->shape.buffer)
        return false;
    observe(w, true, connection, w->subject->request(w->choice));
    return true;
}

static bool client_receives(world *w, int64_t connection)
{
    aph_value message, mail = aph_get(w->ends.server.mail, aph_int(connection));
    if (!concrete_mail(&w->ends.server, connection, &message))
        return false;
    if (aph_at(mail, aph_count(mail) - 1) == APH_CLOSED && aphi_choice_chance(w->choice, 1, 4))
        message = APH_BROKEN;
    observe(w, false, connection, message);
    w->ended[connection] |= message == APH_CLOSED || message == APH_BROKEN;
    return true;
}

static void act_on_any(world *w, bool clients)
{
    int64_t connection = 1 + (int64_t)aphi_choice_below(w->choice, HISTORY_CONNECTIONS - 1);
    switch (aphi_choice_below(w->choice, clients ? 3 : 2)) {
    case 0: server_takes(w, connection); break;
    case 1: client_receives(w, connection); break;
    default: client_acts(w, aphi_choice_below(w->choice, w->shape.connections)); break;
    }
}

static void become_quiet(world *w)
{
    for (size_t i = 0; i < 500 && !endpoints_are_quiet(&w->ends, w->history, w->history->count); i++)
        act_on_any(w, false);
    if (endpoints_are_quiet(&w->ends, w->history, w->history->count))
        history_add_quiet(w->history);
}

void connection_history_make(history *h, const subject *s, history_shape shape, aphi_choice *c)
{
    world w = {.subject = s, .shape = shape, .history = h, .choice = c};
    h->count = 0;
    while (!concrete_begin(&w.ends.server, s, pick_random, c))
        continue;
    for (size_t i = 0; i < 60 * shape.requests && w.sent < shape.requests; i++) {
        act_on_any(&w, true);
        if (shape.quiets && aphi_choice_chance(c, 1, 15))
            become_quiet(&w);
    }
    if (shape.whole || aphi_choice_chance(c, 1, 2))
        become_quiet(&w);
    else
        for (size_t i = aphi_choice_below(c, 40); i > 0; i--)
            act_on_any(&w, false);
}

void connection_history_change_end(history *h, aphi_choice *c)
{
    static const aph_value ends[] = {APH_LEFT, APH_BROKEN, APH_CLOSED};
    size_t start = h->count ? aphi_choice_below(c, h->count) : 0;
    for (size_t i = 0; i < h->count; i++) {
        history_seen *seen = &h->seen[(start + i) % h->count];
        bool is_end = seen->message == APH_LEFT || seen->message == APH_BROKEN || seen->message == APH_CLOSED;
        if (seen->quiet || !is_end)
            continue;
        seen->message = seen->sent ? ends[aphi_choice_below(c, 3)] : ends[1 + aphi_choice_below(c, 2)];
        return;
    }
}
