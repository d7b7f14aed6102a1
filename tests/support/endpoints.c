/* SPDX-License-Identifier: Apache-2.0
 *
 * endpoints.c - a concrete server and the ends of its connections; see endpoints.h. */
#include "endpoints.h"

#include <string.h>

static size_t count_items(const history *h, size_t at, int64_t connection)
{
    size_t n = 0;
    for (size_t i = 0; i < at; i++)
        n += h->seen[i].sent && h->seen[i].connection == connection;
    return n;
}

static const history_seen *item_at(const history *h, size_t at, int64_t connection, size_t skip)
{
    for (size_t i = 0; i < at; i++)
        if (h->seen[i].sent && h->seen[i].connection == connection && skip-- == 0)
            return &h->seen[i];
    return NULL;
}

const history_seen *endpoints_next(const endpoints *e, const history *h, size_t at, int64_t connection)
{
    return e->closed[connection] ? NULL : item_at(h, at, connection, e->taken[connection]);
}

/* The server takes nothing more from a connection that it has closed, and a client that has left receives nothing. */
static void settle(endpoints *e, const bool *closed_before)
{
    for (int64_t c = 1; c < HISTORY_CONNECTIONS; c++) {
        aph_value key = aph_int(c), mail = aph_get(e->server.mail, key);
        if (mail && (e->left[c] || closed_before[c]))
            e->server.mail = aph_remove(e->server.mail, key);
        e->closed[c] |= mail && aph_at(mail, aph_count(mail) - 1) == APH_CLOSED;
    }
}

static bool feed(endpoints *e, const subject *s, int64_t connection, aph_value message, concrete_pick *pick,
                 void *context)
{
    aph_value before = e->server.mail;
    bool over[HISTORY_CONNECTIONS]; /* the server's close was observed */
    for (int64_t c = 1; c < HISTORY_CONNECTIONS; c++)
        over[c] = e->closed[c] && !aph_get(before, aph_int(c));
    if (!concrete_feed(&e->server, s, connection, message, pick, context))
        return false;
    settle(e, over);
    return true;
}

/* A client that has closed its side closes the other one: the server does not notice. */
static bool repeats_close(const history *h, const history_seen *item)
{
    for (const history_seen *seen = h->seen; seen < item; seen++)
        if (seen->sent && seen->connection == item->connection && seen->message == APH_CLOSED)
            return item->message == APH_LEFT;
    return false;
}

bool endpoints_take(endpoints *e, const subject *s, const history *h, size_t at, int64_t connection,
                    concrete_pick *pick, void *context)
{
    const history_seen *item = endpoints_next(e, h, at, connection);
    if (!item || item->message == APH_BROKEN)
        return false;
    if (!repeats_close(h, item) &&
        !feed(e, s, connection, item->message == APH_LEFT ? APH_CLOSED : item->message, pick, context))
        return false;
    e->taken[connection]++;
    return true;
}

/* A client that closes both sides causes a break if data arrives for it. */
bool endpoints_break(endpoints *e, const subject *s, const history *h, size_t at, int64_t connection,
                     concrete_pick *pick, void *context)
{
    size_t n = count_items(h, at, connection);
    aph_value last = n ? item_at(h, at, connection, n - 1)->message : APH_NIL;
    bool is_known = e->taken[connection] > 0;
    if (e->closed[connection] || e->taken[connection] == n || (last != APH_LEFT && last != APH_BROKEN) ||
        (is_known && !feed(e, s, connection, APH_BROKEN, pick, context)))
        return false;
    e->taken[connection] = (uint8_t)n;
    return true;
}

/* A reset is the server's close; the messages before it may be lost. */
static bool observe_reset(endpoints *e, int64_t connection)
{
    aph_value mail = aph_get(e->server.mail, aph_int(connection));
    if (!mail || aph_at(mail, aph_count(mail) - 1) != APH_CLOSED)
        return false;
    e->server.mail = aph_remove(e->server.mail, aph_int(connection));
    return true;
}

bool endpoints_observe(endpoints *e, const history_seen *seen)
{
    aph_value message;
    int64_t c = seen->connection;
    if (seen->sent && (seen->message == APH_LEFT || seen->message == APH_BROKEN)) {
        e->left[c] = true;
        e->server.mail = aph_remove(e->server.mail, aph_int(c));
    }
    if (seen->sent)
        return true;
    if (seen->message == APH_BROKEN)
        return observe_reset(e, c);
    if (!concrete_mail(&e->server, c, &message) || message != seen->message)
        return false;
    concrete_take_mail(&e->server, c);
    return true;
}

bool endpoints_are_quiet(const endpoints *e, const history *h, size_t at)
{
    for (int64_t c = 1; c < HISTORY_CONNECTIONS; c++)
        if (endpoints_next(e, h, at, c))
            return false;
    return aph_count(e->server.mail) == 0;
}

/* ---- actions of a client ----------------------------------------------------------------------------------------- */

enum { UNOPENED, OPEN, SHUT, LEFT }; /* states of the client's side */

static bool allow_sent(int *side, aph_value message)
{
    bool leaves = message == APH_LEFT || message == APH_BROKEN;
    if (message == APH_OPENED ? *side != UNOPENED : *side != OPEN && !(*side == SHUT && leaves))
        return false;
    *side = leaves ? LEFT : message == APH_CLOSED ? SHUT : OPEN;
    return true;
}

bool endpoints_allow(const history *h)
{
    int side[HISTORY_CONNECTIONS] = {UNOPENED};
    bool ended[HISTORY_CONNECTIONS] = {false};
    for (size_t i = 0; i < h->count; i++) {
        const history_seen *seen = &h->seen[i];
        int64_t c = seen->connection;
        if (seen->quiet)
            continue;
        if (seen->sent ? !allow_sent(&side[c], seen->message) : side[c] == UNOPENED || side[c] == LEFT || ended[c])
            return false;
        ended[c] |= !seen->sent && (seen->message == APH_CLOSED || seen->message == APH_BROKEN);
    }
    return true;
}
