/* SPDX-License-Identifier: Apache-2.0
 *
 * enumerate.c - decide by trying everything; see enumerate.h.
 *
 * Idea:       walk over the observations with a concrete server. A request that is sent may be taken from then on.
 *             When an answer is seen for which the server has nothing to show, some request must be taken first: try
 *             each that may come next, and for it each way through the model.
 *             To take a request later than one could, but before anything is seen that depends on it, shows nothing
 *             new; so nothing is taken while there is something to show, or while requests are only sent.
 * Cost:       exponential. A situation that failed once is not tried again; that is the only concession to time. */
#include "enumerate.h"

#include "concrete.h"
#include "wordset.h"

#include <assert.h>
#include <string.h>

enum { PICKS_MOST = 16 };

typedef struct search {
    const subject *subject;
    const history *history;
    enumerate_env env;
    wordset failed;
    size_t reached;
} search;

/* Where the search is. */
typedef struct place {
    concrete server;
    size_t at;
    uint8_t taken[HISTORY_CONNECTIONS]; /* requests of each connection that the server took */
} place;

/* ---- all ways to pick -------------------------------------------------------------------------------------------- */

/* A number with digits of various bases: what was picked, one after another. */
typedef struct odometer {
    size_t digit[PICKS_MOST], base[PICKS_MOST], count, at;
} odometer;

static size_t pick_digit(void *context, size_t n)
{
    odometer *o = context;
    if (o->at == o->count) {
        assert(o->count < PICKS_MOST);
        o->digit[o->count++] = 0;
    }
    o->base[o->at] = n;
    return o->digit[o->at++];
}

/* The next number; digits that were not asked for the last time are not there any more. */
static bool turn(odometer *o)
{
    for (o->count = o->at, o->at = 0; o->count > 0; o->count--)
        if (++o->digit[o->count - 1] < o->base[o->count - 1])
            return true;
    return false;
}

/* ---- the search -------------------------------------------------------------------------------------------------- */

static bool explain(search *s, place p);

/* The first request of the connection that was sent before `at` and not taken. */
static const history_seen *next_request(const search *s, const place *p, int64_t connection)
{
    unsigned skip = p->taken[connection];
    for (size_t i = 0; i < p->at; i++) {
        const history_seen *seen = &s->history->seen[i];
        if (seen->sent && seen->connection == connection && skip-- == 0)
            return seen;
    }
    return NULL;
}

static bool explain_after(search *s, const place *p, const history_seen *request)
{
    odometer o = {0};
    do {
        place next = *p;
        if (concrete_feed(&next.server, s->subject, request->connection, request->message, pick_digit, &o)) {
            next.taken[request->connection]++;
            if (explain(s, next))
                return true;
        }
    } while (turn(&o));
    return false;
}

static bool explain_sent(search *s, place p)
{
    const history_seen *seen = &s->history->seen[p.at++];
    return s->env == ENUMERATE_SYNC ? explain_after(s, &p, seen) : explain(s, p);
}

static bool explain_by_any(search *s, const place *p)
{
    for (int64_t c = 1; c < HISTORY_CONNECTIONS; c++) {
        const history_seen *request = next_request(s, p, c);
        if (request && explain_after(s, p, request))
            return true;
    }
    return false;
}

static bool explain_received(search *s, place p)
{
    const history_seen *seen = &s->history->seen[p.at];
    aph_value said;
    if (!concrete_mail(&p.server, seen->connection, &said))
        return explain_by_any(s, &p);
    if (said != seen->message)
        return false;
    concrete_take_mail(&p.server, seen->connection);
    p.at++;
    return explain(s, p);
}

static aph_value name_of(const place *p)
{
    uint64_t taken = 0;
    for (int i = 0; i < HISTORY_CONNECTIONS; i++)
        taken = taken * 64 + p->taken[i];
    return APH_ARRAY_OF(aph_int((int64_t)p->at), aph_int((int64_t)taken), p->server.state, p->server.answers,
                        p->server.mail);
}

static bool explain(search *s, place p)
{
    if (p.at > s->reached)
        s->reached = p.at;
    if (p.at == s->history->count)
        return true;
    if (s->history->seen[p.at].sent)
        return explain_sent(s, p);
    return wordset_add(&s->failed, name_of(&p)) && explain_received(s, p);
}

enumerated enumerate(const subject *s, const history *h, enumerate_env env)
{
    search x = {.subject = s, .history = h, .env = env};
    odometer o = {0};
    bool explained = false;
    do {
        place p = {0};
        explained = concrete_begin(&p.server, s, pick_digit, &o) && explain(&x, p);
    } while (!explained && turn(&o));
    wordset_deinit(&x.failed);
    return (enumerated){explained, x.reached};
}
