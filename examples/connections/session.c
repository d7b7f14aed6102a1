/* SPDX-License-Identifier: Apache-2.0
 *
 * session.c - a server whose clients keep a session over several connections. The first message on a connection is
 * "hello", answered by a token that the server chooses, or the token of an earlier session. Then "set" stores a value
 * in the session, and "get" reads it. */
#include <antiphon/model.h>

/* Returns the number of the session with this token; the number of sessions if there is none. */
static size_t find_session(aph *m, aph_value sessions, aph_value token)
{
    size_t i = 0;
    while (i < aph_count(sessions) && !aph_decide(m, aph_eq(aph_at(aph_at(sessions, i), 0), token), "same token"))
        i++;
    return i;
}

/* Returns [number of the session, its token]; APH_NIL if the token is unknown. */
static aph_value begin_session(aph *m, aph_value *sessions, aph_value token)
{
    size_t count = aph_count(*sessions), i = count;
    if (token) {
        i = find_session(m, *sessions, token);
    } else {
        token = aph_choose(m, APH_STR, "token");
        if (find_session(m, *sessions, token) < count)
            aph_never(m); /* tokens are unique */
        *sessions = aph_push(*sessions, APH_ARRAY_OF(token, aph_int(0)));
    }
    return i < aph_count(*sessions) ? APH_ARRAY_OF(aph_int((int64_t)i), token) : APH_NIL;
}

static void step(aph *m, aph_value *state)
{
    aph_request q = aph_recv(m);
    aph_value client = aph_int(q.from), sessions = aph_field(*state, "sessions"), of = aph_field(*state, "of");
    aph_value number = aph_get(of, client), set = aph_field(q.message, "set");
    if (q.message == APH_CLOSED || q.message == APH_BROKEN) {
        of = aph_remove(of, client);
        aph_close(m, q.from);
    } else if (q.message != APH_OPENED && !number) {
        aph_value begun = begin_session(m, &sessions, aph_field(q.message, "token"));
        of = begun ? aph_set(of, client, aph_at(begun, 0)) : of;
        aph_send(m, q.from, begun ? aph_record("token", aph_at(begun, 1)) : aph_str("unknown token"));
    } else if (q.message != APH_OPENED) {
        size_t i = (size_t)aph_int_of(number);
        aph_value session = aph_at(sessions, i);
        aph_send(m, q.from, set ? aph_str("ok") : aph_at(session, 1));
        sessions = set ? aph_replace(sessions, i, aph_replace(session, 1, set)) : sessions;
    }
    *state = aph_record("sessions", sessions, "of", of);
}

static aph_value no_sessions(const aph_model *model)
{
    (void)model;
    return aph_record("sessions", aph_array(0, NULL), "of", aph_object());
}

static aph_value begin(const aph_preamble *p)
{
    if (p->step > 0)
        return APH_NIL;
    return p->earlier && p->number % 3 ? p->earlier : aph_str("hello"); /* the response to "hello" is {"token": ...} */
}

static const aph_model session = {
    .version = APH_MODEL_VERSION,
    .name = "session",
    .summary = "sessions that clients continue with a token",
    .step = step,
    .initial = no_sessions,
    .connections = true,
    .preamble = begin,
    .shape = "[{\"set\": {\"int\": [1, 9]}}, \"get\"]",
};

APH_MODEL(session)
