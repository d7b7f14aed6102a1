/* SPDX-License-Identifier: Apache-2.0
 *
 * net.c - connections to a subject.
 *
 * Idea:       A tester must observe resets and partial messages as such, and read bytes only when it can act on them.
 *             Outboxes are written at the start of a round, so that the caller can write its trace to disk between
 *             posting a message and sending it.
 * Invariants: 1. a connection has a socket from the first round after a post until it has ended or was hung up
 *             2. an inbox holds less than the codec's limit plus one read; all inboxes hold less than INBOXES_MAX plus
 *                one read
 *             3. a channel whose outbox is not empty, or that is to be opened or half-closed, is listed in `filled`; a
 *                listed one may have become empty
 *             4. a channel that is hung up before its outbox is empty is detached: only `filled` refers to it, and the
 *                next message posted on its connection opens another socket
 * Cost:       a round is one wait, a read for each readable socket, and a write for each filled outbox. */
#include "tester/net.h"

#include <antiphon/oracle.h>

#include "base/buffer.h"
#include "base/clock.h"
#include "base/event_loop.h"
#include "base/memory.h"
#include "codec/codec_internal.h"
#include "subject/ports.h"

#include <errno.h>
#include <netinet/in.h>
#include <linux/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    READ_SIZE = 65536,
    READS_IN_ROUND = 16,       /* of one connection, for fairness between connections */
    ACCEPTS_IN_ROUND = 64,
    ACCEPTED_MAX = 1 << 18,   /* in one run; many times the number that its messages need */
    CHUNK_PAUSE = 100000,     /* nanoseconds between two writes of a message that is sent in pieces */
    CHUNKS = 3,               /* pieces of a message; the remaining bytes follow in one write */
    EXCERPT = 256,            /* bytes of a malformed message that are reported */
    INBOX_KEPT = 32 << 10,    /* capacity that an empty inbox keeps */
};

static const size_t INBOXES_MAX = (size_t)256 << 20; /* bytes, of all connections together */

typedef struct channel {
    int64_t connection;
    aphi_watch watch;       /* fd -1: not open */
    bool connecting, listed;
    bool opens, shuts;      /* to be opened in the next round; to be half-closed when its outbox is written */
    bool detached;          /* invariant 4 */
    bool received;          /* bytes have arrived */
    bool reset_was_seen;    /* by a write or the end of the connecting; no read will report the reset again */
    char *inbox;
    size_t in_head, in_tail, in_capacity;
    size_t scanned;         /* by the codec, of the message at in_head */
    aphi_buffer outbox;     /* datagrams: each after its length in four bytes */
    size_t out_head;
    uint32_t chunk;         /* outbox bytes from chunked_begin to chunked_end are written in pieces of this size */
    size_t chunked_begin, chunked_end;
    int64_t not_before;     /* time of the next piece; 0: at once */
} channel;

/* An origin: a listening socket, owned by the caller. */
typedef struct origin {
    aphi_watch watch;
    int64_t number;
    char address[32];       /* for the codec */
} origin;

struct aphi_net {
    const aph_codec *codec;
    struct sockaddr_storage address;
    socklen_t address_size;
    bool datagrams;
    aphi_net_callbacks callbacks;
    aphi_event_loop loop;
    channel **channels;     /* by connection: small numbers, dense */
    size_t channel_count;
    channel **accepted;     /* those of all origins, by the low half of their number */
    size_t accepted_count, accepted_capacity;
    size_t accepted_open;
    origin origins[APH_ORIGINS_MAX];
    size_t origin_count;
    const char *addresses[APH_ORIGINS_MAX + 1]; /* of the origins, then NULL */
    char refusal[APHI_ENCODE_WHY];
    channel **filled;       /* with an outbox to be written */
    size_t filled_count, filled_capacity;
    size_t open;
    size_t inboxes;         /* total capacity in bytes */
    int arrivals;           /* in this round */
    bool received;          /* bytes, in this round */
    unsigned char *read_buffer;
};

static void read_ready(void *net, void *data, uint32_t events);

/* ---- opening and closing ----------------------------------------------------------------------------------------- */

aphi_net *aphi_net_open(const aph_codec *codec, const struct sockaddr *address, socklen_t size, bool datagrams,
                        const aphi_net_callbacks *callbacks, char *error, size_t error_size)
{
    aphi_net *n = aphi_alloc_zero(sizeof *n);
    if (!aphi_event_loop_open(&n->loop, n)) {
        snprintf(error, error_size, "cannot create an event loop: %s", strerror(errno));
        free(n);
        return NULL;
    }
    n->codec = codec;
    memcpy(&n->address, address, size);
    n->address_size = size;
    n->datagrams = datagrams;
    n->callbacks = *callbacks;
    n->read_buffer = aphi_alloc(READ_SIZE);
    return n;
}

static void free_inbox(aphi_net *n, channel *l)
{
    n->inboxes -= l->in_capacity;
    free(l->inbox);
    l->inbox = NULL;
    l->in_capacity = 0;
}

static void reset_outbox(channel *l)
{
    l->outbox.n = l->out_head = l->chunked_begin = l->chunked_end = 0;
    l->not_before = 0;
}

static void close_socket(aphi_net *n, channel *l)
{
    if (l->watch.fd < 0)
        return;
    aphi_event_loop_close_watch(&n->loop, &l->watch);
    n->open--;
    if (l->connection >= APH_ACCEPTED) /* it is never opened again */
        n->accepted_open--;
    if (l->connection >= APH_ACCEPTED || l->in_capacity > INBOX_KEPT)
        free_inbox(n, l);
    l->connecting = l->reset_was_seen = l->opens = l->shuts = false;
    l->in_head = l->in_tail = l->scanned = 0;
    reset_outbox(l);
}

static void free_channel(aphi_net *n, channel *l)
{
    if (!l)
        return;
    close_socket(n, l);
    free_inbox(n, l);
    aphi_buffer_free(&l->outbox);
    free(l);
}

void aphi_net_close(aphi_net *n)
{
    if (!n)
        return;
    for (size_t i = 0; i < n->filled_count; i++)
        if (n->filled[i]->detached)
            free_channel(n, n->filled[i]);
    for (size_t i = 0; i < n->channel_count; i++)
        free_channel(n, n->channels[i]);
    for (size_t i = 0; i < n->accepted_count; i++)
        free_channel(n, n->accepted[i]);
    aphi_event_loop_close(&n->loop);
    free(n->channels);
    free(n->accepted);
    free(n->filled);
    free(n->read_buffer);
    free(n);
}

size_t aphi_net_connections(const aphi_net *n) { return n->open; }
bool aphi_net_idle(const aphi_net *n) { return n->filled_count == 0; }
bool aphi_net_received(const aphi_net *n) { return n->received; }

static channel *make_channel(int64_t connection, int fd)
{
    channel *l = aphi_alloc_zero(sizeof *l);
    *l = (channel){.connection = connection, .watch = {.fd = fd, .ready = read_ready, .data = l}};
    return l;
}

/* The place of an accepted connection in `accepted`. */
static size_t place_of(int64_t connection) { return (size_t)(connection % APH_ACCEPTED); }

static const char *const *origins_of(const aphi_net *n) { return n->origin_count ? n->addresses : NULL; }

static channel *channel_of(aphi_net *n, int64_t connection)
{
    size_t i = (size_t)connection;
    if (connection >= APH_ACCEPTED)
        return n->accepted[place_of(connection)];
    size_t had = n->channel_count;
    APHI_RESERVE(n->channels, n->channel_count, i + 1);
    if (n->channel_count > had)
        memset(n->channels + had, 0, (n->channel_count - had) * sizeof *n->channels);
    if (!n->channels[i])
        n->channels[i] = make_channel(connection, -1);
    return n->channels[i];
}

bool aphi_arrival_ends_silence(const aphi_arrival *a)
{
    bool ends = a->kind == APHI_ARRIVED_END || a->kind == APHI_ARRIVED_RESET;
    return a->kind != APHI_ARRIVED_CALL && !(ends && a->connection >= APH_ACCEPTED);
}

static void report_arrival(aphi_net *n, const aphi_arrival *a)
{
    n->arrivals += aphi_arrival_ends_silence(a);
    n->callbacks.arrived(n->callbacks.context, a);
}

static void report_end(aphi_net *n, channel *l, aphi_arrival_kind kind, const char *why)
{
    close_socket(n, l);
    if (!l->detached)
        report_arrival(n, &(aphi_arrival){.kind = kind, .connection = l->connection, .why = why});
}

/* Decides whether a connection failed because of this machine or because of the subject. */
static aphi_arrival_kind classify_refusal(int failure)
{
    bool ours = aphi_port_is_exhausted(failure) || aphi_port_has_no_network(failure) || failure == EAGAIN ||
                failure == EPERM || failure == EACCES;
    return ours ? APHI_ARRIVED_UNABLE : APHI_ARRIVED_REFUSED;
}

/* Returns true if the connection was open before the subject reset it; EPIPE: the subject had also closed it. A reset
 * instead of an opening is ECONNREFUSED. */
static bool was_open(int failure)
{
    return failure == ECONNRESET || failure == EPIPE;
}

static bool open_socket(aphi_net *n, channel *l)
{
    int fd = socket(n->address.ss_family, (n->datagrams ? SOCK_DGRAM : SOCK_STREAM) | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0) {
        report_end(n, l, classify_refusal(errno), strerror(errno));
        return false;
    }
    l->watch.fd = fd;
    n->open++;
    if (!aphi_port_connect(fd, (struct sockaddr *)&n->address, n->address_size, &l->connecting)) {
        report_end(n, l, was_open(errno) ? APHI_ARRIVED_RESET : classify_refusal(errno), strerror(errno));
        return false;
    }
    aphi_event_loop_watch(&n->loop, &l->watch, EPOLLIN | EPOLLRDHUP | (l->connecting ? EPOLLOUT : 0u));
    return true;
}

/* ---- out --------------------------------------------------------------------------------------------------------- */

static void list_filled(aphi_net *n, channel *l)
{
    if (l->listed)
        return;
    l->listed = true;
    APHI_RESERVE(n->filled, n->filled_capacity, n->filled_count + 1);
    n->filled[n->filled_count++] = l;
}

bool aphi_net_post(aphi_net *n, int64_t connection, aph_value message, uint32_t chunk)
{
    channel *l = channel_of(n, connection);
    if (connection >= APH_ACCEPTED && (!l || l->watch.fd < 0))
        return true; /* the subject has closed it */
    size_t before = l->outbox.n;
    uint32_t bytes = 0;
    if (n->datagrams)
        aphi_buffer_add(&l->outbox, &bytes, sizeof bytes);
    aph_side side = connection < APH_ACCEPTED ? APH_TO_SERVER : APH_FROM_SERVER;
    if (!aphi_encode_why(n->codec, origins_of(n), side, message, &l->outbox, n->refusal)) {
        l->outbox.n = before;
        return false;
    }
    if (n->datagrams) {
        bytes = (uint32_t)(l->outbox.n - before - sizeof bytes);
        memcpy(l->outbox.data + before, &bytes, sizeof bytes);
    }
    if (chunk && !n->datagrams) {
        size_t pieces = (size_t)CHUNKS * chunk, count = l->outbox.n - before;
        l->chunk = chunk;
        l->chunked_begin = before;
        l->chunked_end = before + (pieces < count ? pieces : count);
    }
    list_filled(n, l);
    return true;
}

const char *aphi_net_refusal(const aphi_net *n) { return n->refusal; }

void aphi_net_open_connection(aphi_net *n, int64_t connection)
{
    channel *l = channel_of(n, connection);
    l->opens = l->watch.fd < 0;
    list_filled(n, l);
}

void aphi_net_half_close(aphi_net *n, int64_t connection)
{
    channel *l = channel_of(n, connection);
    l->shuts = true;
    list_filled(n, l);
}

void aphi_net_abort_connection(aphi_net *n, int64_t connection)
{
    channel *l = channel_of(n, connection);
    struct linger reset = {.l_onoff = 1};
    if (l->watch.fd >= 0)
        setsockopt(l->watch.fd, SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
    close_socket(n, l);
    l->opens = l->shuts = false;
    reset_outbox(l);
}

static bool has_output(const channel *l)
{
    return l->out_head < l->outbox.n || l->opens || l->shuts || (l->detached && l->connecting);
}

void aphi_net_close_connection(aphi_net *n, int64_t connection)
{
    channel *l = channel_of(n, connection);
    if (!l)
        return;
    if (!has_output(l) && !l->connecting) {
        close_socket(n, l);
        return;
    }
    l->detached = true;
    list_filled(n, l);
    *(connection < APH_ACCEPTED ? &n->channels[connection] : &n->accepted[place_of(connection)]) = NULL;
}

const char *aphi_net_incomplete(const aphi_net *n, int64_t connection, size_t *count)
{
    size_t i = (size_t)connection;
    const channel *l = i < n->channel_count ? n->channels[i] : NULL;
    *count = l ? l->in_tail - l->in_head : 0;
    return *count ? l->inbox + l->in_head : "";
}

/* If the subject's accept queue is full, the kernel reports the socket as connected, but only the handshake is
 * acknowledged. */
bool aphi_net_is_connecting(const aphi_net *n, int64_t connection)
{
    size_t i = (size_t)connection;
    const channel *l = i < n->channel_count ? n->channels[i] : NULL;
    struct tcp_info info = {0};
    socklen_t size = sizeof info;
    if (!l || n->datagrams)
        return false;
    if (l->connecting || l->received || getsockopt(l->watch.fd, IPPROTO_TCP, TCP_INFO, &info, &size) != 0)
        return l->connecting;
    return info.tcpi_unacked > 0 && info.tcpi_bytes_acked <= 1;
}

/* Writes up to `most` bytes of the outbox, or one datagram. Returns a negative number with errno if nothing was
 * written. */
static ssize_t write_outbox(aphi_net *n, channel *l, size_t most)
{
    uint32_t bytes;
    if (!n->datagrams)
        return send(l->watch.fd, l->outbox.data + l->out_head, most, MSG_NOSIGNAL);
    memcpy(&bytes, l->outbox.data + l->out_head, sizeof bytes);
    ssize_t written = send(l->watch.fd, l->outbox.data + l->out_head + sizeof bytes, bytes, MSG_NOSIGNAL);
    return written < 0 ? written : written + (ssize_t)sizeof bytes;
}

/* Handles a reset or a broken pipe. Bytes that the subject sent before are still read, then the end is reported. */
static void abandon_outbox(aphi_net *n, channel *l)
{
    l->reset_was_seen |= errno == ECONNRESET;
    reset_outbox(l);
    aphi_event_loop_watch(&n->loop, &l->watch, EPOLLIN | EPOLLRDHUP);
}

/* Returns the number of bytes in the next write. *in_pieces: a pause follows the write. */
static size_t next_write_size(const channel *l, bool *in_pieces)
{
    size_t count = l->outbox.n - l->out_head;
    *in_pieces = l->out_head >= l->chunked_begin && l->out_head < l->chunked_end;
    if (*in_pieces)
        return count < l->chunk ? count : l->chunk;
    return l->out_head < l->chunked_begin ? l->chunked_begin - l->out_head : count;
}

/* Returns true when the outbox is empty or the socket is gone. */
static bool flush_outbox(aphi_net *n, channel *l, int64_t now)
{
    if (!has_output(l))
        return true;
    if (l->watch.fd < 0 && (l->connection >= APH_ACCEPTED || !open_socket(n, l))) {
        reset_outbox(l);
        l->opens = l->shuts = false;
        return true;
    }
    l->opens = false;
    while (!l->connecting && l->out_head < l->outbox.n) {
        bool in_pieces;
        size_t count = next_write_size(l, &in_pieces);
        if (now < l->not_before)
            return false;
        ssize_t written = write_outbox(n, l, count);
        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
            break;
        if (written < 0) {
            if (errno == ECONNREFUSED) /* caused by an earlier datagram */
                report_end(n, l, APHI_ARRIVED_REFUSED, strerror(errno));
            else
                abandon_outbox(n, l);
            return true;
        }
        l->out_head += (size_t)written;
        l->not_before = in_pieces && l->out_head < l->outbox.n ? now + CHUNK_PAUSE : 0;
    }
    bool empty = l->out_head == l->outbox.n;
    if (empty)
        reset_outbox(l);
    if (empty && l->shuts && !l->connecting) {
        shutdown(l->watch.fd, SHUT_WR);
        l->shuts = false;
    }
    bool writes = !empty || l->connecting;
    aphi_event_loop_watch(&n->loop, &l->watch, EPOLLIN | EPOLLRDHUP | (writes ? EPOLLOUT : 0u));
    return !has_output(l);
}

static void flush_outboxes(aphi_net *n)
{
    size_t kept = 0;
    int64_t now = n->filled_count ? aphi_clock_ns() : 0;
    for (size_t i = 0; i < n->filled_count; i++) {
        channel *l = n->filled[i];
        l->listed = !flush_outbox(n, l, now);
        if (l->listed)
            n->filled[kept++] = l;
        else if (l->detached)
            free_channel(n, l);
    }
    n->filled_count = kept;
}

/* ---- in ---------------------------------------------------------------------------------------------------------- */

/* kind: APHI_ARRIVED_MALFORMED or APHI_ARRIVED_TOO_LARGE. */
static void report_undecoded(aphi_net *n, channel *l, const aph_wire *wire, aphi_arrival_kind kind)
{
    size_t from = wire->at > EXCERPT / 2 ? wire->at - EXCERPT / 2 : 0;
    size_t count = wire->count - from < EXCERPT ? wire->count - from : EXCERPT;
    aphi_arrival a = {.kind = kind, .connection = l->connection, .at = wire->at - from,
                      .message = aph_bytes(wire->bytes + from, count), .why = wire->why};
    close_socket(n, l);
    if (!l->detached)
        report_arrival(n, &a);
}

/* Decodes and reports the complete messages. Returns false if the connection is closed. */
static bool decode_inbox(aphi_net *n, channel *l, bool ended)
{
    while (l->watch.fd >= 0 && l->in_head < l->in_tail) {
        bool ours = l->connection < APH_ACCEPTED;
        aph_wire wire = {.side = ours ? APH_FROM_SERVER : APH_TO_SERVER,
                         .bytes = (unsigned char *)l->inbox + l->in_head,
                         .count = l->in_tail - l->in_head,
                         .ended = ended,
                         .here = n->addresses[0],
                         .origins = origins_of(n),
                         .origin = ours ? 0 : aph_origin_of(l->connection),
                         .asked = ours ? n->callbacks.asked(n->callbacks.context, l->connection) : APH_NIL,
                         .scanned = l->scanned};
        aph_decoded decoded = n->datagrams ? aphi_decode_datagram(n->codec, &wire) : aph_decode(n->codec, &wire);
        l->scanned = wire.scanned;
        if (decoded == APH_MORE && ended) {
            decoded = APH_MALFORMED;
            wire.at = wire.count;
            snprintf(wire.why, sizeof wire.why, "the connection was closed in the middle of a message");
        }
        if (decoded == APH_MALFORMED) {
            report_undecoded(n, l, &wire, wire.beyond ? APHI_ARRIVED_TOO_LARGE : APHI_ARRIVED_MALFORMED);
            return false;
        }
        if (decoded == APH_MORE)
            break;
        l->in_head += wire.used;
        l->scanned = 0;
        if (!l->detached)
            report_arrival(n, &(aphi_arrival){.kind = APHI_ARRIVED_MESSAGE, .connection = l->connection,
                                              .message = wire.message, .last = wire.last});
    }
    if (l->in_head == l->in_tail) {
        l->in_head = l->in_tail = 0;
        if (l->in_capacity > INBOX_KEPT)
            free_inbox(n, l);
    }
    return l->watch.fd >= 0;
}

static void append_to_inbox(aphi_net *n, channel *l, const unsigned char *bytes, size_t count)
{
    if (l->in_head && l->in_tail + count > l->in_capacity) {
        memmove(l->inbox, l->inbox + l->in_head, l->in_tail - l->in_head);
        l->in_tail -= l->in_head;
        l->in_head = 0;
    }
    n->inboxes -= l->in_capacity;
    APHI_RESERVE(l->inbox, l->in_capacity, l->in_tail + count);
    n->inboxes += l->in_capacity;
    memcpy(l->inbox + l->in_tail, bytes, count);
    l->in_tail += count;
}

/* Acknowledges at once if a response is outstanding: a server that sends a response in small pieces may delay the next
 * piece until then (Nagle's algorithm), and the kernel would delay the acknowledgement by 40 ms. */
static void acknowledge(aphi_net *n, const channel *l)
{
    int one = 1;
    if (!n->datagrams && l->connection < APH_ACCEPTED && n->callbacks.asked(n->callbacks.context, l->connection))
        setsockopt(l->watch.fd, IPPROTO_TCP, TCP_QUICKACK, &one, sizeof one);
}

static void read_channel(aphi_net *n, channel *l)
{
    for (int i = 0; i < READS_IN_ROUND && l->watch.fd >= 0; i++) {
        ssize_t count = recv(l->watch.fd, n->read_buffer, READ_SIZE, 0);
        if (count < 0 && errno == EINTR)
            continue;
        if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
            return;
        if (count == 0 && l->reset_was_seen) {
            errno = ECONNRESET;
            count = -1;
        }
        if (count < 0) {
            report_end(n, l, errno == ECONNREFUSED ? APHI_ARRIVED_REFUSED : APHI_ARRIVED_RESET, strerror(errno));
            return;
        }
        if (count == 0 && !n->datagrams) {
            if (decode_inbox(n, l, true))
                report_end(n, l, APHI_ARRIVED_END, "it closed the connection");
            return;
        }
        n->received = l->received = true;
        append_to_inbox(n, l, n->read_buffer, (size_t)count);
        if (n->inboxes > INBOXES_MAX) {
            report_end(n, l, APHI_ARRIVED_TOO_LARGE, "incomplete messages take more than 256 MiB in total");
            return;
        }
        if (!decode_inbox(n, l, false))
            return;
        if (count < READ_SIZE && !n->datagrams) {
            acknowledge(n, l);
            return;
        }
    }
}

static int64_t next_accepted(const aphi_net *n, const origin *o)
{
    return (o->number + 1) * APH_ACCEPTED + (int64_t)n->accepted_count;
}

static void add_accepted(aphi_net *n, const origin *o, int fd)
{
    channel *l = make_channel(next_accepted(n, o), fd);
    APHI_RESERVE(n->accepted, n->accepted_capacity, n->accepted_count + 1);
    n->accepted[n->accepted_count++] = l;
    n->open++;
    n->accepted_open++;
    aphi_event_loop_watch(&n->loop, &l->watch, EPOLLIN | EPOLLRDHUP);
    report_arrival(n, &(aphi_arrival){.kind = APHI_ARRIVED_CALL, .connection = l->connection});
}

/* Stops accepting. The listening sockets are no longer watched, because they would always be ready. */
static void stop_accepting(aphi_net *n, const origin *o, aphi_arrival_kind kind, const char *why)
{
    for (size_t i = 0; i < n->origin_count; i++)
        aphi_event_loop_unwatch(&n->loop, &n->origins[i].watch);
    report_arrival(n, &(aphi_arrival){.kind = kind, .connection = next_accepted(n, o), .why = why});
}

static void accept_ready(void *net, void *data, uint32_t events)
{
    (void)events;
    aphi_net *n = net;
    const origin *o = data;
    char why[80];
    for (int i = 0; i < ACCEPTS_IN_ROUND; i++) {
        bool at_once = n->accepted_open == APHI_NET_CALLS_MAX;
        if (at_once || n->accepted_count == ACCEPTED_MAX) {
            snprintf(why, sizeof why, "%d %s", at_once ? APHI_NET_CALLS_MAX : ACCEPTED_MAX,
                     at_once ? "at once" : "in one run");
            stop_accepting(n, o, APHI_ARRIVED_TOO_MANY, why);
            return;
        }
        int fd = aphi_port_accept(o->watch.fd);
        if (fd < 0) {
            if (aphi_port_is_exhausted(errno))
                stop_accepting(n, o, APHI_ARRIVED_UNABLE, strerror(errno));
            return;
        }
        add_accepted(n, o, fd);
    }
}

static void add_origin(aphi_net *n, const aphi_origin *given)
{
    origin *o = &n->origins[n->origin_count];
    *o = (origin){.watch = {.fd = given->fd, .ready = accept_ready, .data = o}, .number = (int64_t)n->origin_count};
    snprintf(o->address, sizeof o->address, "127.0.0.1:%u", given->port);
    n->addresses[n->origin_count++] = o->address;
    int fd;
    while ((fd = aphi_port_accept(given->fd)) >= 0) /* left from an earlier run */
        close(fd);
    aphi_event_loop_watch(&n->loop, &o->watch, EPOLLIN);
}

void aphi_net_listen(aphi_net *n, const aphi_origin *origins, size_t count)
{
    for (size_t i = 0; i < count && i < APH_ORIGINS_MAX; i++)
        add_origin(n, &origins[i]);
}

/* Returns false if the connection attempt failed. Bytes that the subject sent before a reset are still read. */
static bool finish_connecting(aphi_net *n, channel *l)
{
    int failure = 0;
    socklen_t size = sizeof failure;
    getsockopt(l->watch.fd, SOL_SOCKET, SO_ERROR, &failure, &size);
    l->connecting = false;
    n->arrivals++; /* silence is counted from now on, not from the connection attempt */
    l->reset_was_seen = failure == ECONNRESET;
    if (!failure || was_open(failure))
        return true;
    report_end(n, l, classify_refusal(failure), strerror(failure));
    return false;
}

static void read_ready(void *net, void *data, uint32_t events)
{
    aphi_net *n = net;
    channel *l = data;
    if ((!l->connecting || finish_connecting(n, l)) && events & (EPOLLIN | EPOLLRDHUP | EPOLLHUP | EPOLLERR))
        read_channel(n, l);
}

int aphi_net_run_once(aphi_net *n, int64_t wait_ns)
{
    n->arrivals = 0;
    n->received = false;
    flush_outboxes(n);
    if (n->arrivals)
        wait_ns = 0;
    for (size_t i = 0; i < n->filled_count; i++)
        if (n->filled[i]->not_before && wait_ns > CHUNK_PAUSE)
            wait_ns = CHUNK_PAUSE;
    int calls = aphi_event_loop_run_once(&n->loop, wait_ns);
    return calls < 0 && errno == EINTR ? -1 : n->arrivals;
}
