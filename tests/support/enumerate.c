/* SPDX-License-Identifier: Apache-2.0
 *
 * enumerate.c - decision by exhaustive enumeration; see enumerate.h.
 *
 * Idea:       walk over the observations with a concrete server. A request may be taken once it was sent. At a response
 *             that the server has not sent yet, some request must be taken first: try each possible next request, with
 *             each path through the model. Taking a request earlier than needed adds no behaviour, so no request is
 *             taken while the server has unobserved messages, or between two sends. With losses or bounded buffers
 *             this does not hold: all requests that can be taken are tried before each observation.
 * Cost:       exponential. A configuration that failed is not tried again; there is no other optimization. */
#include "enumerate.h"

#include "concrete.h"
#include "enumerate_connections.h"
#include "picks.h"
#include "wordset.h"

#include <assert.h>
#include <string.h>

typedef struct search {
    const subject *subject;
    const history *history;
    enumerate_env env;
    wordset failed;
    size_t reached;
} search;

/* A configuration of the search. */
typedef struct place {
    concrete server;
    size_t at;
    uint8_t taken[HISTORY_CONNECTIONS]; /* number of requests taken from each connection */
    uint64_t copies;                    /* in unordered environments: how often each request was taken, two bits each */
} place;

/* ---- the search -------------------------------------------------------------------------------------------------- */

static bool explain(search *s, place p);

/* The first request on the connection that was sent before `at` and has not been taken. */
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
    picks o = {0};
    do {
        place next = *p;
        if (concrete_feed(&next.server, s->subject, request->connection, request->message, picks_next_digit, &o)) {
            next.taken[request->connection]++;
            if (explain(s, next))
                return true;
        }
    } while (picks_advance(&o));
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

/* ---- lost messages and bounded buffers --------------------------------------------------- */

static size_t buffer_of(const search *s)
{
    return s->env >= ENUMERATE_TCP_1 ? (size_t)(s->env - ENUMERATE_TCP_1) + 1 : 0;
}

static size_t count_unobserved(const place *p, int64_t connection)
{
    return aph_count(aph_get(p->server.mail, aph_int(connection)));
}

static size_t count_untaken(const search *s, const place *p, int64_t connection)
{
    size_t n = 0;
    for (size_t i = 0; i < p->at; i++)
        n += s->history->seen[i].sent && s->history->seen[i].connection == connection;
    return n - p->taken[connection];
}

static bool quiet_passes(const search *s, place *p)
{
    if (s->env == ENUMERATE_UDP) {
        p->server.mail = aph_object();
        for (size_t i = 0; i < p->at; i++)
            p->copies |= (uint64_t)2 << 2 * i;
        return true;
    }
    for (int64_t c = 1; c < HISTORY_CONNECTIONS; c++)
        if (count_unobserved(p, c) || count_untaken(s, p, c))
            return false;
    return true;
}

/* Returns true if the observation is possible in this configuration. */
static bool passes(const search *s, place *p)
{
    const history_seen *seen = &s->history->seen[p->at];
    aph_value said = aph_get(p->server.mail, aph_int(seen->connection));
    if (seen->quiet)
        return quiet_passes(s, p);
    if (seen->sent)
        return !buffer_of(s) || count_untaken(s, p, seen->connection) < buffer_of(s);
    if (s->env != ENUMERATE_UDP) {
        if (!aph_count(said) || aph_at(said, 0) != seen->message)
            return false;
        concrete_take_mail(&p->server, seen->connection);
        return true;
    }
    for (size_t i = 0; i < aph_count(said); i++)
        if (aph_at(said, i) == seen->message)
            return true;
    return false;
}

static bool explain_by_copy(search *s, const place *p)
{
    assert(p->at <= 32);
    for (size_t i = 0; i < p->at; i++) {
        place next = *p;
        next.copies += (uint64_t)1 << 2 * i;
        if (s->history->seen[i].sent && (p->copies >> 2 * i & 3) < 2 && explain_after(s, &next, &s->history->seen[i]))
            return true;
    }
    return false;
}

static bool explain_by_room(search *s, const place *p)
{
    for (int64_t c = 1; c < HISTORY_CONNECTIONS; c++) {
        const history_seen *request = next_request(s, p, c);
        if (request && (!buffer_of(s) || count_unobserved(p, c) < buffer_of(s)) && explain_after(s, p, request))
            return true;
    }
    return false;
}

static bool explain_unordered(search *s, const place *p)
{
    place next = *p;
    if (passes(s, &next)) {
        next.at++;
        if (explain(s, next))
            return true;
    }
    return s->env == ENUMERATE_UDP ? explain_by_copy(s, p) : explain_by_room(s, p);
}

static aph_value configuration_value(const search *s, const place *p)
{
    uint64_t taken = 0;
    for (int i = 0; i < HISTORY_CONNECTIONS; i++)
        taken = taken * 64 + p->taken[i];
    return APH_ARRAY_OF(aph_int((int64_t)p->at), aph_int((int64_t)(s->env == ENUMERATE_UDP ? p->copies : taken)),
                        p->server.state, p->server.answers, p->server.mail);
}

static bool explain(search *s, place p)
{
    if (p.at > s->reached)
        s->reached = p.at;
    if (p.at == s->history->count)
        return true;
    if (s->env >= ENUMERATE_UDP || s->history->seen[p.at].quiet)
        return wordset_add(&s->failed, configuration_value(s, &p)) && explain_unordered(s, &p);
    if (s->history->seen[p.at].sent)
        return explain_sent(s, p);
    return wordset_add(&s->failed, configuration_value(s, &p)) && explain_received(s, p);
}

enumerated enumerate(const subject *s, const history *h, enumerate_env env)
{
    if (s->model->connections)
        return enumerate_connections(s, h, env);
    search x = {.subject = s, .history = h, .env = env};
    picks o = {0};
    bool explained = false;
    do {
        place p = {0};
        explained = concrete_begin(&p.server, s, picks_next_digit, &o) && explain(&x, p);
    } while (!explained && picks_advance(&o));
    wordset_deinit(&x.failed);
    return (enumerated){explained, x.reached};
}
