/* SPDX-License-Identifier: Apache-2.0
 *
 * enumerate_connections.c - decision by exhaustive enumeration, for a model with connections.
 *
 * Idea:       before each observation, the server takes any number of items, in any order that the connections allow,
 *             with each path through the model; and each connection that the client has ended may break. With `sync`,
 *             an item is taken when it is observed.
 * Cost:       exponential. A configuration that failed is not tried again; there is no other optimization. */
#include "enumerate_connections.h"

#include "endpoints.h"
#include "picks.h"
#include "value/heap.h"
#include "wordset.h"

#include <assert.h>

typedef struct place {
    endpoints ends;
    size_t at;
} place;

typedef struct search {
    const subject *subject;
    const history *history;
    enumerate_env env;
    wordset failed;
    size_t reached;
} search;

typedef bool take_item(endpoints *e, const subject *s, const history *h, size_t at, int64_t connection,
                       concrete_pick *pick, void *context);

static bool explain(search *s, place p);

/* ---- bounded buffers; openings and ends occupy no place ---------------------------------------------------------- */

static size_t buffer_of(const search *s)
{
    return s->env >= ENUMERATE_TCP_1 ? (size_t)(s->env - ENUMERATE_TCP_1) + 1 : SIZE_MAX;
}

static size_t count_waiting_requests(const search *s, const place *p, int64_t connection)
{
    endpoints e = p->ends;
    const history_seen *item;
    size_t n = 0;
    for (; (item = endpoints_next(&e, s->history, p->at, connection)); e.taken[connection]++)
        n += !aphi_is_signal(item->message);
    return n;
}

static bool has_room(const search *s, const place *p, const history_seen *item)
{
    return aphi_is_signal(item->message) ||
           aph_count(aph_get(p->ends.server.mail, aph_int(item->connection))) < buffer_of(s);
}

/* ---- the search -------------------------------------------------------------------------------------------------- */

static bool explain_taken(search *s, const place *p, int64_t connection, take_item *take)
{
    picks o = {0};
    do {
        place next = *p;
        if (take(&next.ends, s->subject, s->history, p->at, connection, picks_next_digit, &o) && explain(s, next))
            return true;
    } while (picks_advance(&o));
    return false;
}

static bool explain_by_any(search *s, const place *p)
{
    for (int64_t c = 1; c < HISTORY_CONNECTIONS; c++) {
        const history_seen *item = endpoints_next(&p->ends, s->history, p->at, c);
        if (item && ((has_room(s, p, item) && explain_taken(s, p, c, endpoints_take)) ||
                     explain_taken(s, p, c, endpoints_break)))
            return true;
    }
    return false;
}

static bool explain_observed(search *s, place p)
{
    const history_seen *seen = &s->history->seen[p.at];
    if (seen->quiet && !endpoints_are_quiet(&p.ends, s->history, p.at))
        return false;
    if (seen->sent && !aphi_is_signal(seen->message) &&
        count_waiting_requests(s, &p, seen->connection) >= buffer_of(s))
        return false;
    if (!seen->quiet && !endpoints_observe(&p.ends, seen))
        return false;
    p.at++;
    bool at_once = s->env == ENUMERATE_SYNC && endpoints_next(&p.ends, s->history, p.at, seen->connection);
    if (!at_once)
        return explain(s, p);
    return explain_taken(s, &p, seen->connection, endpoints_take) ||
           explain_taken(s, &p, seen->connection, endpoints_break);
}

static aph_value value_of(const place *p)
{
    aph_value ends = aph_array(0, NULL);
    for (int64_t c = 1; c < HISTORY_CONNECTIONS; c++)
        ends = aph_push(ends, aph_int(p->ends.taken[c] * 4 + p->ends.closed[c] * 2 + p->ends.left[c]));
    return APH_ARRAY_OF(aph_int((int64_t)p->at), ends, p->ends.server.state, p->ends.server.answers,
                        p->ends.server.mail);
}

static bool explain(search *s, place p)
{
    if (p.at > s->reached)
        s->reached = p.at;
    if (p.at == s->history->count)
        return true;
    return wordset_add(&s->failed, value_of(&p)) && (explain_observed(s, p) || explain_by_any(s, &p));
}

enumerated enumerate_connections(const subject *s, const history *h, enumerate_env env)
{
    search x = {.subject = s, .history = h, .env = env};
    picks o = {0};
    bool explained = false;
    assert(env != ENUMERATE_UDP);
    do {
        place p = {0};
        explained = concrete_begin(&p.ends.server, s, picks_next_digit, &o) && explain(&x, p);
    } while (!explained && picks_advance(&o));
    wordset_deinit(&x.failed);
    return (enumerated){explained, x.reached};
}
