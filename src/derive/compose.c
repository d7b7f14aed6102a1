/* SPDX-License-Identifier: Apache-2.0
 *
 * compose.c - the server composed with the network, as seen by the tester (Li, "Testing by dualization", figures 4.6
 *             and 4.11).
 *
 * Idea:       the server runs first. When it receives and no packet waits for it, the network runs: it absorbs a packet
 *             of the server, or else one of the tester; it emits to the server or to the tester. The packets that the
 *             tester sends and observes are in the history, so a branch that does something else throws.
 * Picture:        history --sent-->  absorb  [network]  emit  --in-->   server
 *                 history <-received- emit              absorb <--out--
 * Beyond the paper:
 *             1. a connection has two ends that close: what arrives at a closed end has no effect
 *             2. the tester may observe silence
 *             3. a response may be lost by the recorder: its request travels on a separate connection */
#include "derive/derive_internal.h"

#include "tree/network_step.h"
#include "value/heap.h"

#include <inttypes.h>

enum {
    ALLOWED_MAX = APHI_ALLOWED_SHOWN,
    IDLE_MAX = 20000, /* events without a receive of the server, or without an absorbed packet */
    DELIVERED_MAX = 128, COPIES_MAX = 16, /* packets to the server after one observation: 128, and 16 for each before */
};

/* A lost request is not ordered with others of its connection: it travels as connection LOST + number. */
static const int64_t LOST = INT64_C(1) << 62;

/* ---- connections ------------------------------------------------------------------------------------------------- */

static bool has_passed(const aphi_int_map *map, int64_t connection, size_t at)
{
    const uint64_t *index = aphi_int_map_find(map, connection);
    return index && *index <= at;
}

/* Returns true if the client of the connection observes nothing more, or waits for no response to a lost request. */
static bool is_unobserved(const aphi_derivation *d, const aphi_branch *b, int64_t connection)
{
    return connection >= LOST || has_passed(&d->gone, connection, b->at) || has_passed(&d->ended, connection, b->at) ||
           has_passed(&d->deaf, connection, b->at);
}

static bool is_closed(const aphi_branch *b, int64_t connection)
{
    return aph_count(b->closed) && aph_has(b->closed, aph_int(connection));
}

static bool opened_by_server(int64_t connection)
{
    return connection >= APH_ACCEPTED && connection < LOST;
}

/* ---- observations (figure 4.6) ----------------------------------------------------------------------------------- */

/* A message that was received after a loss on its connection is not judged. */
static void skip_unjudged(const aphi_derivation *d, aphi_branch *b)
{
    while (b->at < d->seen_count && d->seen[b->at].kind == APHI_SEEN_RECEIVED &&
           has_passed(&d->deaf, d->seen[b->at].connection, b->at))
        b->at++;
}

/* Finds the connection on which the network absorbs the request at this index. Returns false if the server has not
 * opened it yet. */
static bool find_connection(const aphi_derivation *d, aphi_branch *b, size_t index, int64_t *connection)
{
    const aphi_seen *o = &d->seen[index];
    bool apart = o->lost || has_passed(&d->deaf, o->connection, index);
    *connection = apart ? LOST + (int64_t)index : o->connection;
    if (apart || !opened_by_server(o->connection))
        return true;
    aph_value name = aph_int(o->connection), own = aph_get(b->numbers, name);
    if (!own)
        return false;
    if (d->model.calls_apart)
        b->numbers = aph_remove(b->numbers, name);
    *connection = aph_int_of(own);
    return true;
}

/* The tester sends: FromObserver. */
static bool from_observer(aphi_derivation *d, aphi_branch *b)
{
    size_t index = b->at++;
    const aphi_seen *o = &d->seen[index];
    b->moved = true;
    if (o->lost) { /* it may never arrive */
        aphi_branch without = aphi_branch_fork(b);
        aphi_derivation_push(d, without);
    }
    int64_t connection;
    if (!find_connection(d, b, index, &connection))
        return false;
    b->idle = 0;
    d->stats.absorbed++;
    aphi_branch_answer(&b->network, aph_packet_value((aph_packet){true, connection, o->message}));
    return true;
}

/* The tester observes silence. */
static bool be_quiet(aphi_derivation *d, aphi_branch *b)
{
    aph_value before = aph_tree_state(b->network), state = before;
    bool idle = d->network->idle ? d->network->idle(&state) : state == d->network_model.initial(&d->network_model);
    if (!idle)
        return false;
    b->at++;
    b->moved = true;
    if (state != before) {
        aph_tree *lost = aphi_tree_replace(b->network, state, aph_array(0, NULL));
        aph_tree_drop(b->network);
        b->network = lost;
    }
    return true;
}

/* The tester observes a reset. The system of a server that has closed the connection can reset it, over any network;
 * messages in flight to the client are then lost. */
static bool be_reset(aphi_derivation *d, aphi_branch *b)
{
    const aphi_seen *o = &d->seen[b->at];
    if (o->message != APH_BROKEN || !is_closed(b, o->connection))
        return false;
    b->at++;
    b->moved = true;
    return true;
}

/* Returns false if the two must differ: the guard of figure 4.6, line 7. */
static bool guard(aphi_derivation *d, aphi_branch *b, aph_value said, aph_value seen)
{
    if (said == seen || aphi_is_signal(said) || aphi_is_signal(seen))
        return said == seen;
    return aphi_branch_assume(&d->solver, b, aph_eq(said, seen));
}

static bool is_taken(const aphi_branch *b, aph_value own)
{
    aph_value name, number;
    for (size_t i = 0; aph_pair_at(b->numbers, i, &name, &number); i++)
        if (number == own)
            return true;
    return false;
}

/* Returns true if the model's connection can be the observed one. The first message on a connection that the server
 * opened decides. */
static bool match_connection(const aphi_derivation *d, aphi_branch *b, int64_t own, int64_t observed)
{
    if (!opened_by_server(observed))
        return own == observed;
    aph_value name = aph_int(observed), known = aph_get(b->numbers, name);
    if (known || own >= 0)
        return known == aph_int(own);
    if (!d->model.calls_apart && is_taken(b, aph_int(own)))
        return false;
    b->numbers = aph_set(b->numbers, name, aph_int(own));
    return true;
}

/* Records a message that a branch allows in place of the first observation that no branch has explained. */
static void note_allowed(aphi_derivation *d, const aphi_branch *b, aph_value said)
{
    if (d->allowed_at < d->reached || !d->allowed)
        d->allowed = aph_array(0, NULL);
    d->allowed_at = d->reached;
    bool known = b->at != d->reached;
    for (size_t i = 0; i < aph_count(d->allowed) && !known; i++)
        known = aph_field(aph_at(d->allowed, i), "answer") == said;
    if (!known && aph_count(d->allowed) <= ALLOWED_MAX)
        d->allowed = aph_push(d->allowed, aph_record("answer", said, "state", aph_tree_state(b->server)));
}

/* Returns true if there is a next observation. The branch has explained all earlier ones: with `sync`, for example, the
 * server has taken the latest request. */
static bool has_next(aphi_derivation *d, aphi_branch *b)
{
    if (b->at > d->reached)
        d->reached = b->at;
    b->settled = b->at == d->seen_count;
    return !b->settled;
}

/* The tester receives: ToObserver and Guard. */
static bool to_observer(aphi_derivation *d, aphi_branch *b, aph_packet p)
{
    if (d->seen[b->at].kind != APHI_SEEN_RECEIVED)
        return false;
    const aphi_seen *o = &d->seen[b->at];
    if (!match_connection(d, b, p.connection, o->connection))
        return false;
    if (guard(d, b, p.message, o->message)) {
        b->at++;
        return true;
    }
    note_allowed(d, b, p.message);
    return false;
}

/* ---- the network (figure 4.11, step_net) ------------------------------------------------------------------------- */

static aph_value first_of(aph_value *buffer)
{
    aph_value first = aph_at(*buffer, 0);
    *buffer = aph_slice(*buffer, 1, aph_count(*buffer) - 1);
    return first;
}

/* Lines 7 to 12. */
static bool absorb(aphi_derivation *d, aphi_branch *b)
{
    if (aph_count(b->out)) {
        b->idle = 0;
        b->moved = true;
        d->stats.absorbed++;
        aphi_branch_answer(&b->network, first_of(&b->out));
        return true;
    }
    skip_unjudged(d, b);
    if (!has_next(d, b))
        return true;
    if (b->moved && !aphi_derivation_visit(d, b))
        return false;
    switch (d->seen[b->at].kind) {
    case APHI_SEEN_SENT: return from_observer(d, b);
    case APHI_SEEN_QUIET: return be_quiet(d, b);
    case APHI_SEEN_RECEIVED: break;
    }
    return be_reset(d, b);
}

/* A client that has closed both sides: the system of the server reports a close, or a reset if data was sent after it.
 * It reports a close only once. */
static void leave(aphi_derivation *d, aphi_branch *b, int64_t connection)
{
    aphi_branch broken = aphi_branch_fork(b);
    broken.in = aph_push(b->in, APH_ARRAY_OF(aph_int(connection), APH_BROKEN));
    aphi_derivation_push(d, broken);
    if (!aphi_int_map_find(&d->shut, connection))
        b->in = aph_push(b->in, APH_ARRAY_OF(aph_int(connection), APH_CLOSED));
}

static void deliver(aphi_derivation *d, aphi_branch *b, aph_packet p)
{
    bool lost = p.connection >= LOST;
    if (lost)
        p.connection = d->seen[p.connection - LOST].connection;
    if (is_closed(b, p.connection))
        return;
    b->muted = lost && d->model.rpc;
    if (p.message == APH_LEFT)
        leave(d, b, p.connection);
    else
        b->in = aph_push(b->in, APH_ARRAY_OF(aph_int(p.connection), p.message));
}

/* A network may use other connections than those of the clients, but only to the server. */
static bool has_connection(const aphi_derivation *d, const aphi_branch *b, const aph_packet *p)
{
    int64_t connection = p->connection;
    if (connection >= LOST)
        return connection - LOST < (int64_t)b->at && d->seen[connection - LOST].kind == APHI_SEEN_SENT;
    return has_passed(&d->used, connection, b->at) || aphi_int_map_find(&d->addressed, connection) ||
           (p->to_server && connection >= 0 && connection < APH_ACCEPTED);
}

/* Returns true if the network may deliver one more packet to the server before the next observation. A network that
 * copies packets can do so for ever, so branches with few deliveries are tried first. */
static bool may_deliver(aphi_derivation *d, aphi_branch *b)
{
    if (b->delivered_at != b->at)
        b->delivered = 0;
    b->delivered_at = b->at;
    d->copies |= b->delivered > 2 * b->at;
    if (b->delivered < d->delivered_max) {
        b->delivered++;
        return true;
    }
    if (b->delivered < DELIVERED_MAX + COPIES_MAX * b->at)
        aphi_derivation_defer(d, aphi_branch_fork(b));
    else
        d->unbounded = true;
    return false;
}

/* Lines 13 to 17. */
static bool emit(aphi_derivation *d, aphi_branch *b, aph_packet p)
{
    d->stats.emitted++;
    b->moved = true;
    if (!has_connection(d, b, &p)) {
        aphi_derivation_fail(d, APH_FAULT_CALL, "network %s: it delivers a packet on connection %" PRId64
                             ", which does not exist", d->network->name, p.connection);
        return false;
    }
    if (!p.to_server && !is_unobserved(d, b, p.connection)) {
        skip_unjudged(d, b);
        if (!has_next(d, b))
            return true;
        if (!to_observer(d, b, p))
            return false;
    }
    if (p.to_server && !may_deliver(d, b))
        return false;
    aphi_branch_answer(&b->network, APH_NIL);
    if (p.to_server)
        deliver(d, b, p);
    return true;
}

/* ---- branching (figure 4.6, lines 8 to 10) ----------------------------------------------------------------------- */

static aph_tree **same_tree(aphi_branch *to, const aphi_branch *from, aph_tree *const *tree)
{
    return tree == &from->server ? &to->server : &to->network;
}

/* A branch for each value of the condition that is possible: Unify. */
static bool decide(aphi_derivation *d, aphi_branch *b, aph_tree **tree, aph_value condition)
{
    aphi_branch other = aphi_branch_fork(b);
    if (aphi_branch_assume(&d->solver, &other, aph_not(condition))) {
        aphi_branch_answer(same_tree(&other, b, tree), aph_bool(false));
        aphi_derivation_push(d, other);
    } else {
        aphi_branch_drop(&other);
    }
    if (!aphi_branch_assume(&d->solver, b, condition))
        return false;
    aphi_branch_answer(tree, aph_bool(true));
    return true;
}

/* Or, with any number of alternatives. */
static bool either(aphi_derivation *d, aphi_branch *b, aph_tree **tree, size_t n)
{
    for (size_t i = n; i-- > 1;) {
        aphi_branch other = aphi_branch_fork(b);
        aphi_branch_answer(same_tree(&other, b, tree), aph_int((int64_t)i));
        aphi_derivation_push(d, other);
    }
    aphi_branch_answer(tree, aph_int(0));
    return true;
}

static bool is_outgoing(const aph_event *e)
{
    return e->kind == APH_EVENT_OTHER && e->name && !strcmp(e->name, APHI_EVENT_OUTGOING);
}

static bool step_network(aphi_derivation *d, aphi_branch *b)
{
    aph_event e = aph_tree_event(b->network);
    if (b->idle++ > IDLE_MAX) {
        aphi_derivation_fail(d, APH_FAULT_STUCK, "network %s: the step never absorbs a packet; call aph_absorb",
                             d->network->name);
        return false;
    }
    switch (e.kind) {
    case APH_EVENT_RECV: return absorb(d, b);
    case APH_EVENT_SEND: return emit(d, b, aph_packet_of(e.value));
    case APH_EVENT_EITHER:
        return (!b->moved || aphi_derivation_visit(d, b)) && either(d, b, &b->network, e.count);
    case APH_EVENT_CHOOSE: return aphi_branch_choose(&d->solver, b, &b->network, &e);
    case APH_EVENT_DECIDE: return decide(d, b, &b->network, e.value);
    case APH_EVENT_OTHER:
        if (!is_outgoing(&e))
            break;
        aphi_branch_answer(&b->network, aph_bool(aph_count(b->out) > 0));
        return true;
    case APH_EVENT_RETURN:
    case APH_EVENT_NEVER: return false;
    }
    aphi_derivation_fail(d, APH_FAULT_CALL, "network %s: the event %s is not for networks", d->network->name,
                         e.name ? e.name : "");
    return false;
}

/* ---- the server (figure 4.11, from line 23) ---------------------------------------------------------------------- */

/* Lines 29 and 30. A message must have a value even if it is not observed: t = t holds if t is well-typed and in
 * range. */
static bool send(aphi_derivation *d, aphi_branch *b, const aph_event *e)
{
    aph_value said = e->value;
    int64_t to = e->to;
    bool muted = b->muted;
    b->muted = false;
    *aphi_int_map_at(&d->addressed, to) = true;
    aphi_branch_answer(&b->server, APH_NIL);
    if (!muted && !is_closed(b, to) && !is_unobserved(d, b, to))
        b->out = aph_push(b->out, aph_packet_value((aph_packet){false, to, said}));
    if (said == APH_CLOSED)
        b->closed = aph_set(b->closed, aph_int(to), aph_bool(true));
    return !aph_is_symbolic(said) || aphi_branch_assume(&d->solver, b, aph_eq(said, said));
}

/* Lines 24 to 28. */
static bool receive(aphi_derivation *d, aphi_branch *b)
{
    b->moved |= aph_count(b->in) > 0;
    if (!aph_count(b->in))
        return step_network(d, b);
    b->idle = 0;
    b->received = first_of(&b->in);
    aphi_branch_answer(&b->server, b->received);
    return true;
}

bool aphi_compose(aphi_derivation *d, aphi_branch *b)
{
    aph_event e = aph_tree_event(b->server);
    if (e.kind != APH_EVENT_RECV && b->idle++ > IDLE_MAX) {
        aphi_derivation_fail(d, APH_FAULT_STUCK, "model %s: the step never receives", d->model.name);
        return false;
    }
    switch (e.kind) {
    case APH_EVENT_RECV: return receive(d, b);
    case APH_EVENT_SEND: return send(d, b, &e);
    case APH_EVENT_CHOOSE: return aphi_branch_choose(&d->solver, b, &b->server, &e);
    case APH_EVENT_DECIDE: return decide(d, b, &b->server, e.value);
    case APH_EVENT_EITHER: return either(d, b, &b->server, e.count);
    case APH_EVENT_OTHER:
        aphi_derivation_fail(d, APH_FAULT_CALL, "model %s: the event %s is not for servers", d->model.name,
                             e.name ? e.name : "");
        return false;
    case APH_EVENT_RETURN:
    case APH_EVENT_NEVER: break;
    }
    return false;
}
