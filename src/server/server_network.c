/* SPDX-License-Identifier: Apache-2.0
 *
 * server_network.c - a TCP server behind a user's network, which stands between the sockets and the model.
 *
 * Idea:       Each action of a client is a packet that the network is offered at once. At random times, the network
 *             chooses: a packet that it emits is taken by the model, or written to a socket.
 *
 *      read -> decode -> incoming -> [network] -> model -> outgoing -> [network] -> encode -> write
 *
 * Invariants: 1. packets of the clients are offered in the order in which their sockets became readable; a connection
 *                is accepted after the other sockets were read. Only the socket's own order is certain
 *             2. bytes for a client are written in the order in which the network emitted them
 *             3. the network runs until it has nothing to emit, or until it is idle (aph_network.idle)
 *             4. after a close, a client's packets are offered until it has closed its side, too
 *             5. without aph_model.connections, the connection of a client that has closed its side is closed when the
 *                network rests
 * Cost:       one read and one write for each packet; the network's step.
 * Read next:  network_simulator.c, docs/networks.md */
#include "server/network_simulator.h"
#include "server/server_internal.h"

#include "base/memory.h"
#include "codec/codec_internal.h"
#include "subject/ports.h"
#include "value/heap.h"

#include <antiphon/oracle.h>

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <sys/socket.h>

enum {
    READ_BYTES = 64 << 10,
    READS_AT_ONCE = 256,
    OUT_BUSY = 1 << 20,     /* unwritten bytes at which a client is no longer read */
    OUT_MAX = 64 << 20,     /* unwritten bytes at which its connection is reset */
};

typedef struct client {
    aphi_watch watch;
    int64_t number;
    aphi_buffer in, out;
    size_t in_start, scanned, out_start;
    bool at_end;            /* the client has closed its side */
    bool ended;             /* the network was offered the end, or a message was malformed */
    bool closing, shut;     /* to be closed after the unwritten bytes; the server's side is closed */
    bool blocked;           /* the socket accepts no more bytes now */
} client;

struct aphi_server_network {
    aphi_network_simulator network;
    client **clients;       /* by number */
    size_t count, capacity;
    int64_t number;         /* of the latest client */
    aph_value closed;       /* object: the connections that the model has closed */
    aph_value addressed;    /* object: other connections than those of clients on which the model has sent */
    bool accepting;         /* a client connects */
    bool active;            /* the network may emit without absorbing */
    bool has_absorbed;      /* the network has absorbed a packet */
    bool timed;             /* a timer is set */
    bool has_ended;         /* a client has closed its side since the network rested */
    bool warned;
    char buffer[READ_BYTES];
};

static void flush(aphi_server *s, client *c);

/* ---- clients ----------------------------------------------------------------------------------------------------- */

/* Returns the index of the first client with this number or a larger one. */
static size_t index_of(const aphi_server_network *n, int64_t number)
{
    size_t low = 0, high = n->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (n->clients[middle]->number < number)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static client *client_numbered(const aphi_server_network *n, int64_t number)
{
    size_t i = index_of(n, number);
    return i < n->count && n->clients[i]->number == number ? n->clients[i] : NULL;
}

static void drop_client(aphi_server *s, client *c)
{
    aphi_server_network *n = s->network;
    size_t i = index_of(n, c->number);
    memmove(n->clients + i, n->clients + i + 1, (--n->count - i) * sizeof *n->clients);
    aphi_event_loop_close_watch(&s->loop, &c->watch);
    aphi_buffer_free(&c->in);
    aphi_buffer_free(&c->out);
    free(c);
    aphi_event_loop_watch(&s->loop, &s->listener, EPOLLIN); /* a descriptor is free again */
}

static void reset_client(aphi_server *s, client *c)
{
    setsockopt(c->watch.fd, SOL_SOCKET, SO_LINGER, &(struct linger){.l_onoff = 1}, sizeof(struct linger));
    drop_client(s, c);
}

static void update_interest(aphi_server *s, client *c)
{
    bool reads = !c->at_end && (!c->ended || c->shut) && c->out.n - c->out_start <= OUT_BUSY;
    aphi_event_loop_watch(&s->loop, &c->watch, (reads ? EPOLLIN : 0u) | (c->blocked ? EPOLLOUT : 0u));
}

/* ---- from the clients -------------------------------------------------------------------------------------------- */

static void offer(aphi_server *s, int64_t from, aph_value message)
{
    aphi_network_simulator_offer(&s->network->network, (aph_packet){true, from, message});
}

static void offer_end(aphi_server *s, client *c, aph_value signal)
{
    if (s->model->connections && !c->ended)
        offer(s, c->number, signal);
    c->ended = true;
    s->network->has_ended = true;
}

static void break_client(aphi_server *s, client *c)
{
    offer_end(s, c, APH_BROKEN);
    drop_client(s, c);
}

static void decode_requests(aphi_server *s, client *c)
{
    aph_wire w = {.side = APH_TO_SERVER, .ended = c->at_end, .scanned = c->scanned};
    aph_decoded result = APH_DECODED;
    while (result == APH_DECODED) {
        w.count = c->in.n - c->in_start;
        w.bytes = w.count ? (const unsigned char *)c->in.data + c->in_start : NULL;
        result = aph_decode(s->model->codec, &w);
        if (result == APH_DECODED) {
            c->in_start += w.used;
            offer(s, c->number, w.message);
        }
    }
    c->scanned = w.scanned;
    memmove(c->in.data, c->in.data + c->in_start, c->in.n - c->in_start);
    c->in.n -= c->in_start;
    c->in_start = 0;
    if (result == APH_MALFORMED) {
        aphi_server_warn_malformed(s, c->number, &w);
        offer_end(s, c, c->at_end ? APH_CLOSED : APH_BROKEN);
    }
}

static void add_bytes(aphi_server *s, client *c, size_t n)
{
    if (c->ended)
        return;
    aphi_buffer_add(&c->in, s->network->buffer, n);
    decode_requests(s, c);
}

static void end_client(aphi_server *s, client *c)
{
    c->at_end = true;
    if (!c->ended && c->in.n)
        decode_requests(s, c);
    offer_end(s, c, APH_CLOSED);
}

/* Reads all that has arrived. Returns false if the client is dropped. */
static bool read_client(aphi_server *s, client *c)
{
    for (int i = 0; i < READS_AT_ONCE && !c->at_end; i++) {
        ssize_t n = recv(c->watch.fd, s->network->buffer, READ_BYTES, MSG_DONTWAIT);
        if (n > 0) {
            add_bytes(s, c, (size_t)n);
        } else if (n == 0) {
            end_client(s, c);
        } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
            break;
        } else if (errno != EINTR) {
            break_client(s, c);
            return false;
        }
    }
    return true;
}

static void client_ready(void *server, void *data, uint32_t events)
{
    aphi_server *s = server;
    client *c = data;
    if (s->failed)
        return;
    if (events & EPOLLOUT)
        c->blocked = false;
    if ((events & (EPOLLIN | EPOLLHUP | EPOLLERR)) && !read_client(s, c))
        return;
    if (events & EPOLLERR)
        break_client(s, c);
    else
        flush(s, c);
}

void aphi_server_network_accept(void *server, void *data, uint32_t events)
{
    (void)data, (void)events;
    aphi_server *s = server;
    s->network->accepting = true;
}

/* One in each round: earlier messages of other clients are read before. */
static void accept_client(aphi_server *s)
{
    aphi_server_network *n = s->network;
    int fd = aphi_port_accept(s->listener.fd);
    n->accepting = false;
    if (fd < 0 && aphi_port_is_exhausted(errno)) {
        aphi_server_warn(s, "cannot accept more connections now: %s", strerror(errno));
        aphi_event_loop_watch(&s->loop, &s->listener, 0);
    }
    if (fd < 0)
        return;
    client *c = aphi_alloc_zero(sizeof *c);
    c->number = ++n->number;
    c->watch = (aphi_watch){.fd = fd, .ready = client_ready, .data = c};
    APHI_PUSH(n->clients, n->count, n->capacity, c);
    if (!aphi_event_loop_watch(&s->loop, &c->watch, EPOLLIN)) {
        aphi_server_warn(s, "cannot watch a connection: %s", strerror(errno));
        drop_client(s, c);
        return;
    }
    s->stats.connections++;
    if (s->model->connections)
        offer(s, c->number, APH_OPENED);
}

/* ---- to the clients ---------------------------------------------------------------------------------------------- */

static void fail_by_network(aphi_server *s, aphi_simulated_fault fault, const char *why)
{
    s->failed = true;
    s->outcome = APHI_SERVE_FAULT;
    s->simulator.fault = fault;
    snprintf(s->error, sizeof s->error, "network %s: %s", s->options.network->name, why);
}

/* Writes as much as the socket accepts, and closes it if both sides have ended. May drop the client. */
static void flush(aphi_server *s, client *c)
{
    while (c->out_start < c->out.n && !c->blocked) {
        ssize_t n = send(c->watch.fd, c->out.data + c->out_start, c->out.n - c->out_start,
                         MSG_DONTWAIT | MSG_NOSIGNAL);
        if (n >= 0) {
            c->out_start += (size_t)n;
        } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
            c->blocked = true;
        } else if (errno != EINTR) {
            break_client(s, c);
            return;
        }
    }
    if (c->out_start == c->out.n)
        c->out_start = c->out.n = 0;
    if (c->closing && !c->shut && !c->out.n) {
        shutdown(c->watch.fd, SHUT_WR);
        c->shut = true;
    }
    if (c->shut && c->at_end)
        drop_client(s, c);
    else
        update_interest(s, c);
}

static void close_client(aphi_server *s, client *c)
{
    c->closing = true;
    flush(s, c);
}

static void send_message(aphi_server *s, client *c, aph_value message)
{
    char why[APHI_ENCODE_WHY], text[400], all[480];
    if (!aphi_encode_why(s->model->codec, NULL, APH_FROM_SERVER, message, &c->out, why)) {
        aphi_encode_describe(text, sizeof text, why, message);
        snprintf(all, sizeof all, "it delivers a value that the model's codec cannot encode: %s", text);
        fail_by_network(s, APHI_SIMULATED_UNSENT, all);
        return;
    }
    s->stats.answers++;
    if (c->out.n - c->out_start <= OUT_MAX) {
        flush(s, c);
        return;
    }
    aphi_server_warn(s, "connection %" PRId64 ": closed: the client does not read its responses", c->number);
    offer_end(s, c, APH_BROKEN);
    reset_client(s, c);
}

/* A network may use other connections than those of the clients, but only to the server. */
static bool has_connection(const aphi_server_network *n, const aph_packet *p)
{
    int64_t first = p->to_server ? 0 : 1, last = p->to_server ? APH_ACCEPTED - 1 : n->number;
    return (p->connection >= first && p->connection <= last) || aph_has(n->addressed, aph_int(p->connection));
}

static void refuse_packet(aphi_server *s, int64_t connection)
{
    char why[100];
    snprintf(why, sizeof why, "it delivers a packet on connection %" PRId64 ", which does not exist", connection);
    fail_by_network(s, APHI_SIMULATED_MISCALLED, why);
}

static void deliver_to_client(aphi_server *s, aph_packet p)
{
    client *c = client_numbered(s->network, p.connection);
    if (!c || c->closing)
        return;
    if (p.message == APH_CLOSED)
        close_client(s, c);
    else if (p.message == APH_BROKEN)
        reset_client(s, c);
    else if (!aphi_is_signal(p.message))
        send_message(s, c, p.message);
}

/* ---- the model --------------------------------------------------------------------------------------------------- */

void aphi_server_network_deliver(aphi_server *s)
{
    aphi_server_network *n = s->network;
    for (size_t i = 0; i < s->simulator.sent_count; i++) {
        const aphi_simulated_sent *sent = &s->simulator.sent[i];
        aph_value to = aph_int(sent->to);
        if (aph_has(n->closed, to))
            continue;
        if (sent->to < 1 || sent->to > n->number)
            n->addressed = aph_set(n->addressed, to, aph_bool(true));
        aphi_network_simulator_offer(&n->network, (aph_packet){false, sent->to, sent->message});
        if (sent->message == APH_CLOSED)
            n->closed = aph_set(n->closed, to, aph_bool(true));
    }
}

static void refuse_request(aphi_server *s, int64_t connection)
{
    client *c = client_numbered(s->network, connection);
    if (c)
        offer_end(s, c, APH_BROKEN);
}

/* Returns false if the model cannot take the packet now. */
static bool deliver_to_model(aphi_server *s, aph_packet p)
{
    if ((aphi_is_signal(p.message) && !s->model->connections) || aph_has(s->network->closed, aph_int(p.connection)))
        return true;
    switch (aphi_server_take(s, p.connection, p.message == APH_LEFT ? APH_CLOSED : p.message)) {
    case APHI_SIMULATED_TAKEN: aphi_server_network_deliver(s); return true;
    case APHI_SIMULATED_NOT_NOW: aphi_network_simulator_undo(&s->network->network); return false;
    case APHI_SIMULATED_UNKNOWN: refuse_request(s, p.connection); return true;
    case APHI_SIMULATED_FAULT: break;
    }
    return true;
}

/* ---- the network ------------------------------------------------------------------------------------------------- */

typedef enum acted { ACTED, HELD, WAITS } acted; /* held: the model cannot take the packet now */

static acted act(aphi_server *s)
{
    aphi_server_network *n = s->network;
    aph_packet p;
    switch (aphi_network_simulator_act(&n->network)) {
    case APHI_NETWORK_ABSORBED: n->active = n->has_absorbed = true; return ACTED;
    case APHI_NETWORK_EMITTED:
        p = n->network.emitted;
        if (!has_connection(n, &p)) {
            refuse_packet(s, p.connection);
            break;
        }
        if (p.to_server)
            return deliver_to_model(s, p) ? ACTED : HELD;
        deliver_to_client(s, p);
        return ACTED;
    case APHI_NETWORK_WAITS: return WAITS;
    case APHI_NETWORK_FAULT: fail_by_network(s, n->network.fault, n->network.why); break;
    }
    return WAITS;
}

static bool is_offered(const aphi_server_network *n)
{
    return aph_count(n->network.incoming) || aph_count(n->network.outgoing);
}

/* An idle network, such as one that loses packets, may rest although it could emit more. Before the first packet there
 * is nothing to lose, so a network that never absorbs is found at once. */
static bool may_rest(aphi_server *s)
{
    aphi_server_network *n = s->network;
    aph_value after;
    if (!n->has_absorbed || !aphi_network_simulator_is_idle(&n->network, &after) ||
        aphi_choice_chance(&s->choice, 3, 4))
        return false;
    if (after != n->network.at.state)
        aphi_network_simulator_set_state(&n->network, after);
    return true;
}

/* Forgets the connections whose sockets are closed, too, if nothing is in flight: no packet of them can follow. */
static void forget_closed(aphi_server_network *n)
{
    aph_value closed = aph_object();
    if (is_offered(n) || n->network.at.state != n->network.model.initial(&n->network.model))
        return;
    for (size_t i = 0; i < n->count; i++)
        if (aph_has(n->closed, aph_int(n->clients[i]->number)))
            closed = aph_set(closed, aph_int(n->clients[i]->number), aph_bool(true));
    n->closed = closed;
}

/* Closes the connections of clients that will receive nothing more. */
static void close_ended(aphi_server *s)
{
    aphi_server_network *n = s->network;
    n->has_ended = false;
    for (size_t i = n->count; i-- > 0;) {
        client *c = n->clients[i];
        if (c->ended && !c->closing && (!s->model->connections || !c->at_end))
            close_client(s, c);
    }
}

static void rest(aphi_server *s)
{
    s->network->active = false;
    forget_closed(s->network);
}

void aphi_server_network_timer(void *server, const aphi_timer *due)
{
    (void)due;
    aphi_server *s = server;
    acted latest = ACTED;
    s->network->timed = false;
    while (!s->failed && latest == ACTED) {
        if (may_rest(s) || (latest = act(s)) == WAITS)
            rest(s);
        if (!s->network->active || aphi_choice_chance(&s->choice, 1, 8))
            return;
    }
}

/* Lets the network absorb all that it can. */
static void absorb_offered(aphi_server *s)
{
    aphi_server_network *n = s->network;
    acted latest = ACTED;
    while (!s->failed && is_offered(n) && latest == ACTED)
        latest = act(s);
    if (s->failed || latest != WAITS || n->warned)
        return;
    aphi_server_warn(s, "network %s: no choice absorbs a packet, which waits (printed once)", s->options.network->name);
    n->warned = true;
}

void aphi_server_network_settle(aphi_server *s)
{
    aphi_server_network *n = s->network;
    if (n->accepting)
        accept_client(s);
    absorb_offered(s);
    if (s->failed)
        return;
    if (n->active && !n->timed) {
        n->timed = true;
        aphi_timer_heap_add(&s->loop.timers, (aphi_timer){.ns = aphi_server_delayed_ns(s)});
    }
    if (!n->active && n->has_ended)
        close_ended(s);
}

/* ---- open and close ---------------------------------------------------------------------------------------------- */

aphi_server_network *aphi_server_network_open(aphi_server *s)
{
    aphi_server_network *n = aphi_alloc_zero(sizeof *n);
    aphi_port_raise_limit(SIZE_MAX);
    aphi_network_simulator_open(&n->network, s->options.network, &s->simulator, s->options.seed + 1);
    n->closed = n->addressed = aph_object();
    n->active = true; /* a network may emit first */
    return n;
}

void aphi_server_network_close(aphi_server *s)
{
    aphi_server_network *n = s->network;
    while (n->count)
        drop_client(s, n->clients[n->count - 1]);
    aphi_network_simulator_close(&n->network);
    free(n->clients);
    free(n);
}

void aphi_server_network_mark(aphi_server *s)
{
    aph_mark(s->network->closed);
    aph_mark(s->network->addressed);
}
