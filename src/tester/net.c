/* SPDX-License-Identifier: Apache-2.0
 *
 * net.c - connections to a subject.
 *
 * Idea:       epoll, edge by edge what the kernel says: a tester must see a reset as a reset, half a message as half a
 *             message, and a byte at the moment when it may act on it. Outboxes are written at the head of a turn, so
 *             the caller can put its trace on disk between posting and writing.
 * Invariants: 1. a connection has a socket from the first turn after a post until it ended or was hung up
 *             2. an inbox holds less than a codec's limit and one read; all of them, less than INBOXES_MAX and one read
 *             3. a channel whose outbox is not empty is listed in `filled`; one that is listed may have become empty
 *             4. one that is hung up with a filled outbox is no connection's any more, only `filled` knows it: what is
 *                posted on that connection next goes over a socket of its own
 * Cost:       a turn is one epoll_wait, a read for each readable socket, a write for each filled outbox. */
#include "tester/net.h"

#include <antiphon/oracle.h>

#include "base/buffer.h"
#include "base/clock.h"
#include "base/memory.h"
#include "codec/codec_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <arpa/inet.h>
#include <netinet/in.h>
#include <linux/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

enum {
    READ_SIZE = 65536,
    READS_IN_TURN = 16,     /* of one connection: one that floods us does not keep the others waiting */
    EVENTS = 256,
    CALLS_IN_TURN = 64,
    CALLS_IN_ALL = 1 << 18, /* in one run, many times what its messages could be carried on */
    CHUNK_PAUSE = 100000,   /* nanoseconds between two writes of a message that goes in pieces */
    CHUNKS = 3,             /* pieces of a message before the rest goes at once: what could be learnt was learnt */
    SHOWN = 256,            /* bytes of what is malformed */
    INBOX_KEPT = 32 << 10,  /* bytes of room of one that is empty */
};

static const size_t INBOXES_MAX = (size_t)256 << 20; /* bytes, of all connections together */

typedef struct channel {
    int64_t connection;
    int fd;                 /* -1: not open */
    bool connecting, listed;
    bool leaving;           /* invariant 4 */
    bool heard;             /* bytes have come */
    bool broken;            /* a write was told of a reset, and so no read will be */
    uint32_t events;        /* that epoll watches */
    char *inbox;
    size_t in_head, in_tail, in_capacity;
    size_t scanned;         /* by the codec, of the message at in_head */
    aphi_buffer outbox;     /* of datagrams, each after its length in four bytes */
    size_t out_head;
    uint32_t chunk;         /* from piecewise_begin to piecewise_end the outbox goes in pieces of this */
    size_t piecewise_begin, piecewise_end;
    int64_t not_before;     /* the next piece */
} channel;

struct aphi_net {
    const aph_codec *codec;
    struct sockaddr_storage address;
    socklen_t address_size;
    bool datagrams;
    aphi_listener listener;
    int poll;
    channel **channels;     /* by connection: small numbers, dense */
    size_t channel_count;
    channel **accepted;     /* the same, from APH_ACCEPTED */
    size_t accepted_count, accepted_capacity;
    size_t calls;           /* of those, that are open */
    int caller;             /* socket that others call us on; -1: none */
    char here[32];          /* its address, as the codec is told; empty: none */
    channel **filled;          /* outboxes to be written */
    size_t filled_count, filled_capacity;
    size_t open;
    size_t inboxes;         /* bytes that they have room for, all together */
    int arrivals;           /* in this turn */
    bool heard;             /* bytes, in this turn */
    unsigned char *read_buffer;
};

/* ---- opening and closing ----------------------------------------------------------------------------------------- */

aphi_net *aphi_net_open(const aph_codec *codec, const struct sockaddr *address, socklen_t size, bool datagrams,
                        const aphi_listener *listener, char *error, size_t error_size)
{
    int poll = epoll_create1(EPOLL_CLOEXEC);
    if (poll < 0) {
        snprintf(error, error_size, "no descriptor for the network: %s", strerror(errno));
        return NULL;
    }
    aphi_net *n = aphi_alloc_zero(sizeof *n);
    n->codec = codec;
    memcpy(&n->address, address, size);
    n->address_size = size;
    n->datagrams = datagrams;
    n->listener = *listener;
    n->poll = poll;
    n->caller = -1;
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

static void shut(aphi_net *n, channel *l)
{
    if (l->fd < 0)
        return;
    close(l->fd);
    l->fd = -1;
    n->open--;
    if (l->connection >= APH_ACCEPTED) /* it never comes back */
        n->calls--;
    if (l->connection >= APH_ACCEPTED || l->in_capacity > INBOX_KEPT)
        free_inbox(n, l);
    l->connecting = l->broken = false;
    l->in_head = l->in_tail = l->scanned = 0;
    l->outbox.n = l->out_head = l->piecewise_begin = l->piecewise_end = 0;
    l->not_before = 0;
}

static void drop(aphi_net *n, channel *l)
{
    if (!l)
        return;
    shut(n, l);
    free_inbox(n, l);
    aphi_buffer_free(&l->outbox);
    free(l);
}

void aphi_net_close(aphi_net *n)
{
    if (!n)
        return;
    for (size_t i = 0; i < n->filled_count; i++)
        if (n->filled[i]->leaving)
            drop(n, n->filled[i]);
    for (size_t i = 0; i < n->channel_count; i++)
        drop(n, n->channels[i]);
    for (size_t i = 0; i < n->accepted_count; i++)
        drop(n, n->accepted[i]);
    close(n->poll);
    free(n->channels);
    free(n->accepted);
    free(n->filled);
    free(n->read_buffer);
    free(n);
}

size_t aphi_net_connections(const aphi_net *n)
{
    return n->open;
}

static channel *channel_of(aphi_net *n, int64_t connection)
{
    size_t i = (size_t)connection;
    if (connection >= APH_ACCEPTED)
        return n->accepted[connection - APH_ACCEPTED];
    if (i >= n->channel_count) {
        size_t count = n->channel_count ? n->channel_count : 16;
        while (count <= i)
            count *= 2;
        n->channels = aphi_realloc(n->channels, count * sizeof *n->channels);
        memset(n->channels + n->channel_count, 0, (count - n->channel_count) * sizeof *n->channels);
        n->channel_count = count;
    }
    if (!n->channels[i]) {
        n->channels[i] = aphi_alloc_zero(sizeof **n->channels);
        *n->channels[i] = (channel){.connection = connection, .fd = -1};
    }
    return n->channels[i];
}

bool aphi_arrival_says(const aphi_arrival *a)
{
    bool ends = a->kind == APHI_ARRIVED_END || a->kind == APHI_ARRIVED_RESET;
    return a->kind != APHI_ARRIVED_CALL && !(ends && a->connection >= APH_ACCEPTED);
}

static void tell(aphi_net *n, const aphi_arrival *a)
{
    n->arrivals += aphi_arrival_says(a);
    n->listener.arrived(n->listener.context, a);
}

static void tell_end(aphi_net *n, channel *l, aphi_arrival_kind kind, const char *why)
{
    shut(n, l);
    if (!l->leaving)
        tell(n, &(aphi_arrival){.kind = kind, .connection = l->connection, .why = why});
}

static void watch(aphi_net *n, channel *l, uint32_t events)
{
    if (l->events == events)
        return;
    struct epoll_event e = {.events = events, .data.ptr = l};
    epoll_ctl(n->poll, l->events ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, l->fd, &e);
    l->events = events;
}

/* Whose fault is it that there is no connection? */
static aphi_arrival_kind refusal(int failure)
{
    switch (failure) {
    case EMFILE: case ENFILE: case ENOBUFS: case ENOMEM: case EADDRNOTAVAIL: case EAGAIN: case EPERM: case EACCES:
        return APHI_ARRIVED_UNABLE;
    default: return APHI_ARRIVED_REFUSED;
    }
}

static bool dial(aphi_net *n, channel *l)
{
    int one = 1;
    int fd = socket(n->address.ss_family, (n->datagrams ? SOCK_DGRAM : SOCK_STREAM) | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0) {
        tell_end(n, l, refusal(errno), strerror(errno));
        return false;
    }
    if (!n->datagrams)
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    l->fd = fd;
    l->events = 0;
    n->open++;
    int status;
    do
        status = connect(fd, (struct sockaddr *)&n->address, n->address_size);
    while (status < 0 && errno == EINTR);
    if (status < 0 && errno != EINPROGRESS) {
        tell_end(n, l, refusal(errno), strerror(errno));
        return false;
    }
    l->connecting = status < 0;
    watch(n, l, EPOLLIN | EPOLLRDHUP | (l->connecting ? EPOLLOUT : 0u));
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

static const char *here_of(const aphi_net *n)
{
    return *n->here ? n->here : NULL;
}

bool aphi_net_post(aphi_net *n, int64_t connection, aph_value message, uint32_t chunk)
{
    channel *l = channel_of(n, connection);
    if (connection >= APH_ACCEPTED && (!l || l->fd < 0))
        return true; /* nobody is there to hear it */
    size_t before = l->outbox.n;
    uint32_t bytes = 0;
    if (n->datagrams)
        aphi_buffer_add(&l->outbox, &bytes, sizeof bytes);
    aph_side side = connection < APH_ACCEPTED ? APH_TO_SERVER : APH_FROM_SERVER;
    if (!aphi_encode_at(n->codec, here_of(n), side, message, &l->outbox)) {
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
        l->piecewise_begin = before;
        l->piecewise_end = before + (pieces < count ? pieces : count);
    }
    list_filled(n, l);
    return true;
}

bool aphi_net_idle(const aphi_net *n)
{
    return n->filled_count == 0;
}

void aphi_net_hang_up(aphi_net *n, int64_t connection)
{
    channel *l = channel_of(n, connection);
    if (!l)
        return;
    if (l->out_head == l->outbox.n) {
        shut(n, l);
        return;
    }
    l->leaving = true;
    *(connection < APH_ACCEPTED ? &n->channels[connection] : &n->accepted[connection - APH_ACCEPTED]) = NULL;
}

/* Where the queue of those who wait to be let in is full, the system believes that it is connected, and sends in vain:
 * who has sent something of which nothing was ever acknowledged, but the handshake, has not been let in either. */
bool aphi_net_is_dialing(const aphi_net *n, int64_t connection)
{
    size_t i = (size_t)connection;
    const channel *l = i < n->channel_count ? n->channels[i] : NULL;
    struct tcp_info info = {0};
    socklen_t size = sizeof info;
    if (!l || n->datagrams)
        return false;
    if (l->connecting || l->heard || getsockopt(l->fd, IPPROTO_TCP, TCP_INFO, &info, &size) != 0)
        return l->connecting;
    return info.tcpi_unacked > 0 && info.tcpi_bytes_acked <= 1;
}

bool aphi_net_heard(const aphi_net *n)
{
    return n->heard;
}

/* Writes at most so many bytes of the outbox; of datagrams, one. Negative with errno if the socket takes nothing. */
static ssize_t write_some(aphi_net *n, channel *l, size_t most)
{
    uint32_t bytes;
    if (!n->datagrams)
        return send(l->fd, l->outbox.data + l->out_head, most, MSG_NOSIGNAL);
    memcpy(&bytes, l->outbox.data + l->out_head, sizeof bytes);
    ssize_t written = send(l->fd, l->outbox.data + l->out_head + sizeof bytes, bytes, MSG_NOSIGNAL);
    return written < 0 ? written : written + (ssize_t)sizeof bytes;
}

/* Writes what the socket takes. True when the outbox is empty or the socket is gone. */
static bool empty_outbox(aphi_net *n, channel *l, int64_t now)
{
    if (l->out_head == l->outbox.n)
        return true;
    if (l->fd < 0 && (l->connection >= APH_ACCEPTED || !dial(n, l))) {
        l->outbox.n = l->out_head = l->piecewise_begin = l->piecewise_end = 0;
        return true;
    }
    while (!l->connecting && l->out_head < l->outbox.n) {
        size_t count = l->outbox.n - l->out_head;
        bool early = l->out_head < l->piecewise_begin, piece = !early && l->out_head < l->piecewise_end;
        if (now < l->not_before)
            return false;
        if (piece && count > l->chunk)
            count = l->chunk;
        else if (early)
            count = l->piecewise_begin - l->out_head;
        ssize_t written = write_some(n, l, count);
        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
            break;
        if (written < 0 && errno == ECONNREFUSED) { /* an earlier datagram was */
            tell_end(n, l, APHI_ARRIVED_REFUSED, strerror(errno));
            return true;
        }
        if (written < 0) {
            /* What it sent before it broke off is still to be read, and then how it ended is told. */
            l->broken = errno == ECONNRESET;
            l->outbox.n = l->out_head = l->piecewise_begin = l->piecewise_end = 0;
            l->not_before = 0;
            watch(n, l, EPOLLIN | EPOLLRDHUP);
            return true;
        }
        l->out_head += (size_t)written;
        l->not_before = piece && l->out_head < l->outbox.n ? now + CHUNK_PAUSE : 0;
    }
    if (l->out_head < l->outbox.n) {
        watch(n, l, EPOLLIN | EPOLLRDHUP | EPOLLOUT);
        return false;
    }
    l->outbox.n = l->out_head = l->piecewise_begin = l->piecewise_end = 0;
    watch(n, l, EPOLLIN | EPOLLRDHUP);
    return true;
}

static void empty_outboxes(aphi_net *n)
{
    size_t kept = 0;
    int64_t now = n->filled_count ? aphi_clock_ns() : 0;
    for (size_t i = 0; i < n->filled_count; i++) {
        channel *l = n->filled[i];
        l->listed = !empty_outbox(n, l, now);
        if (l->listed)
            n->filled[kept++] = l;
        else if (l->leaving)
            drop(n, l);
    }
    n->filled_count = kept;
}

/* ---- in ---------------------------------------------------------------------------------------------------------- */

static void malformed(aphi_net *n, channel *l, const aph_wire *wire)
{
    size_t from = wire->at > SHOWN / 2 ? wire->at - SHOWN / 2 : 0;
    size_t count = wire->count - from < SHOWN ? wire->count - from : SHOWN;
    aphi_arrival a = {.kind = APHI_ARRIVED_MALFORMED, .connection = l->connection, .at = wire->at - from,
                      .message = aph_bytes(wire->bytes + from, count), .why = wire->why};
    shut(n, l);
    if (!l->leaving)
        tell(n, &a);
}

/* Takes the messages that are complete. False if the connection is no more. */
static bool take_messages(aphi_net *n, channel *l, bool ended)
{
    while (l->fd >= 0 && l->in_head < l->in_tail) {
        bool ours = l->connection < APH_ACCEPTED;
        aph_wire wire = {.side = ours ? APH_FROM_SERVER : APH_TO_SERVER,
                         .bytes = (unsigned char *)l->inbox + l->in_head,
                         .count = l->in_tail - l->in_head,
                         .ended = ended,
                         .here = here_of(n),
                         .asked = ours ? n->listener.asked(n->listener.context, l->connection) : APH_NIL,
                         .scanned = l->scanned};
        aph_decoded decoded = n->datagrams ? aphi_decode_datagram(n->codec, &wire) : aph_decode(n->codec, &wire);
        l->scanned = wire.scanned;
        if (decoded == APH_MORE && ended) {
            decoded = APH_MALFORMED;
            wire.at = wire.count;
            snprintf(wire.why, sizeof wire.why, "the connection was closed in the middle of a message");
        }
        if (decoded == APH_MALFORMED) {
            if (wire.beyond)
                tell_end(n, l, APHI_ARRIVED_BEYOND, wire.why);
            else
                malformed(n, l, &wire);
            return false;
        }
        if (decoded == APH_MORE)
            break;
        l->in_head += wire.used;
        l->scanned = 0;
        if (!l->leaving)
            tell(n, &(aphi_arrival){.kind = APHI_ARRIVED_MESSAGE, .connection = l->connection,
                                    .message = wire.message, .last = wire.last});
    }
    if (l->in_head == l->in_tail) {
        l->in_head = l->in_tail = 0;
        if (l->in_capacity > INBOX_KEPT)
            free_inbox(n, l);
    }
    return l->fd >= 0;
}

static void keep(aphi_net *n, channel *l, const unsigned char *bytes, size_t count)
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

/* What came is acknowledged at once where more is owed: a server that sends its answers in small pieces may hold the
 * next one back until then, and the kernel would take forty milliseconds. */
static void acknowledge(aphi_net *n, const channel *l)
{
    int one = 1;
    if (!n->datagrams && l->connection < APH_ACCEPTED && n->listener.asked(n->listener.context, l->connection))
        setsockopt(l->fd, IPPROTO_TCP, TCP_QUICKACK, &one, sizeof one);
}

static void read_channel(aphi_net *n, channel *l)
{
    for (int i = 0; i < READS_IN_TURN && l->fd >= 0; i++) {
        ssize_t count = recv(l->fd, n->read_buffer, READ_SIZE, 0);
        if (count < 0 && errno == EINTR)
            continue;
        if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
            return;
        if (count == 0 && l->broken) {
            errno = ECONNRESET;
            count = -1;
        }
        if (count < 0) {
            tell_end(n, l, errno == ECONNREFUSED ? APHI_ARRIVED_REFUSED : APHI_ARRIVED_RESET, strerror(errno));
            return;
        }
        if (count == 0 && !n->datagrams) {
            if (take_messages(n, l, true))
                tell_end(n, l, APHI_ARRIVED_END, "it closed the connection");
            return;
        }
        n->heard = l->heard = true;
        keep(n, l, n->read_buffer, (size_t)count);
        if (n->inboxes > INBOXES_MAX) {
            tell_end(n, l, APHI_ARRIVED_BEYOND, "messages that are not complete take more than 256 MiB, all together");
            return;
        }
        if (!take_messages(n, l, false))
            return;
        if (count < READ_SIZE && !n->datagrams) {
            acknowledge(n, l);
            return;
        }
    }
}

static void take_call(aphi_net *n, int fd)
{
    int one = 1;
    channel *l = aphi_alloc_zero(sizeof *l);
    *l = (channel){.connection = APH_ACCEPTED + (int64_t)n->accepted_count, .fd = fd};
    APHI_RESERVE(n->accepted, n->accepted_capacity, n->accepted_count + 1);
    n->accepted[n->accepted_count++] = l;
    n->open++;
    n->calls++;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    watch(n, l, EPOLLIN | EPOLLRDHUP);
    tell(n, &(aphi_arrival){.kind = APHI_ARRIVED_CALL, .connection = l->connection});
}

/* No more calls are taken; those who still wait are not looked at, or they would wake us for ever. */
static void refuse_calls(aphi_net *n, aphi_arrival_kind kind, const char *why)
{
    epoll_ctl(n->poll, EPOLL_CTL_DEL, n->caller, NULL);
    tell(n, &(aphi_arrival){.kind = kind, .connection = APH_ACCEPTED + (int64_t)n->accepted_count, .why = why});
}

/* Whoever calls is let in, up to a limit. */
static void take_calls(aphi_net *n)
{
    char why[80];
    for (int i = 0; i < CALLS_IN_TURN; i++) {
        bool crowd = n->calls == APHI_NET_CALLS_MAX;
        if (crowd || n->accepted_count == CALLS_IN_ALL) {
            snprintf(why, sizeof why, "%d %s", crowd ? APHI_NET_CALLS_MAX : CALLS_IN_ALL,
                     crowd ? "at once" : "in one run");
            refuse_calls(n, APHI_ARRIVED_CROWD, why);
            return;
        }
        int fd = accept4(n->caller, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd >= 0) {
            take_call(n, fd);
        } else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
            refuse_calls(n, APHI_ARRIVED_UNABLE, strerror(errno));
            return;
        } else if (errno != ECONNABORTED && errno != EINTR) {
            return;
        }
    }
}

int aphi_net_caller(unsigned *port, char *error, size_t error_size)
{
    struct sockaddr_in here = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
                               .sin_port = htons((uint16_t)*port)};
    socklen_t size = sizeof here;
    int one = 1, fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd >= 0)
        setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (fd < 0 || bind(fd, (struct sockaddr *)&here, size) || listen(fd, SOMAXCONN) ||
        getsockname(fd, (struct sockaddr *)&here, &size)) {
        snprintf(error, error_size, "cannot listen on 127.0.0.1:%u: %s", *port, strerror(errno));
        if (fd >= 0)
            close(fd);
        return -1;
    }
    *port = ntohs(here.sin_port);
    return fd;
}

void aphi_net_listen(aphi_net *n, int listener, unsigned port)
{
    struct sockaddr_in here = {0};
    socklen_t size = sizeof here;
    if (!port && getsockname(listener, (struct sockaddr *)&here, &size) == 0)
        port = ntohs(here.sin_port);
    snprintf(n->here, sizeof n->here, "127.0.0.1:%u", port);
    struct epoll_event e = {.events = EPOLLIN};
    n->caller = listener;
    int fd; /* whoever called the run before is nobody's any more */
    while ((fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC)) >= 0)
        close(fd);
    epoll_ctl(n->poll, EPOLL_CTL_ADD, listener, &e);
}

/* A connection attempt is over. */
static bool connected(aphi_net *n, channel *l)
{
    int failure = 0;
    socklen_t size = sizeof failure;
    getsockopt(l->fd, SOL_SOCKET, SO_ERROR, &failure, &size);
    l->connecting = false;
    n->arrivals++; /* silence begins now, not when we knocked */
    if (!failure)
        return true;
    tell_end(n, l, refusal(failure), strerror(failure));
    return false;
}

int aphi_net_turn(aphi_net *n, int64_t wait_ns)
{
    struct epoll_event events[EVENTS];
    n->arrivals = 0;
    n->heard = false;
    empty_outboxes(n);
    if (n->arrivals)
        wait_ns = 0;
    for (size_t i = 0; i < n->filled_count; i++)
        if (n->filled[i]->not_before && wait_ns > CHUNK_PAUSE)
            wait_ns = CHUNK_PAUSE;
    struct timespec wait = {wait_ns / 1000000000, wait_ns % 1000000000};
    int count = epoll_pwait2(n->poll, events, EVENTS, &wait, NULL);
    if (count < 0)
        return errno == EINTR ? -1 : n->arrivals;
    for (int i = 0; i < count; i++) {
        channel *l = events[i].data.ptr;
        if (!l) {
            take_calls(n);
            continue;
        }
        if (l->fd < 0 || (l->connecting && !connected(n, l)))
            continue;
        if (events[i].events & (EPOLLIN | EPOLLRDHUP | EPOLLHUP | EPOLLERR))
            read_channel(n, l);
    }
    return n->arrivals;
}
