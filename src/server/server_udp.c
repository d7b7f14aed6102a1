/* SPDX-License-Identifier: Apache-2.0
 *
 * server_udp.c - a datagram server; simulates loss, duplication and reordering in both directions.
 *
 * Idea:       Each copy of a datagram has its own timer. Each sending address is a connection; the two maps between
 *             addresses and connection numbers are values.
 * Invariants: memory is bounded: beyond PARCELS_MAX, datagrams are lost; beyond PEERS_MAX, all addresses are discarded,
 *             and an address that sends again becomes a new connection. A lossy environment allows both. */
#include "server/server_internal.h"

#include "base/memory.h"
#include "codec/codec_internal.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/socket.h>

enum { PARCELS_MAX = 65536, PEERS_MAX = 65536, DATAGRAM_MAX = 65536, READS_AT_ONCE = 256 };
enum { REQUEST, RESPONSE };

/* The environment duplicates a request at most once, and a response any number of times. */
static const int copies_max[] = {[REQUEST] = 2, [RESPONSE] = 4};

/* A datagram in transit. */
typedef struct parcel {
    int64_t peer;
    aph_value message; /* of a request */
    char *bytes;       /* of a response */
    size_t n;
    uint32_t next_free;
} parcel;

struct aphi_server_udp {
    aph_value numbers, addresses; /* objects: address -> number, number -> address */
    int64_t peers;
    parcel *parcels;
    size_t count, capacity;
    uint32_t free; /* index + 1 */
    unsigned char buffer[DATAGRAM_MAX];
};

aphi_server_udp *aphi_server_udp_open(void)
{
    aphi_server_udp *d = aphi_alloc_zero(sizeof *d);
    d->numbers = d->addresses = aph_object();
    return d;
}

void aphi_server_udp_close(aphi_server *s)
{
    aphi_server_udp *d = s->udp;
    for (size_t i = 0; i < d->count; i++)
        free(d->parcels[i].bytes);
    free(d->parcels);
    free(d);
}

void aphi_server_udp_mark(aphi_server *s)
{
    aphi_server_udp *d = s->udp;
    aph_mark(d->numbers);
    aph_mark(d->addresses);
    for (size_t i = 0; i < d->count; i++)
        aph_mark(d->parcels[i].message);
}

/* ---- the simulated network --------------------------------------------------------------------------------------- */

static uint32_t store_parcel(aphi_server_udp *d, parcel p)
{
    uint32_t i = d->free ? d->free - 1 : (uint32_t)d->count;
    if (d->free) {
        d->free = d->parcels[i].next_free;
    } else {
        APHI_RESERVE(d->parcels, d->capacity, d->count + 1);
        d->count++;
    }
    d->parcels[i] = p;
    return i;
}

/* Starts a timer for each copy: none if the datagram is lost, several if it is duplicated. */
static void post_parcel(aphi_server *s, uint32_t kind, parcel p)
{
    if (aphi_choice_chance(&s->choice, s->options.loss, 100))
        return;
    int copies = 1;
    while (copies < copies_max[kind] && aphi_choice_chance(&s->choice, s->options.duplicate, 100))
        copies++;
    for (; copies > 0 && (s->udp->free || s->udp->count < PARCELS_MAX); copies--) {
        parcel copy = p;
        if (p.bytes)
            copy.bytes = aphi_copy(p.bytes, p.n);
        aphi_timer_heap_add(&s->loop.timers, (aphi_timer){.ns = aphi_server_delayed_ns(s), .kind = kind,
                                                          .owner = store_parcel(s->udp, copy)});
    }
}

/* ---- peers ------------------------------------------------------------------------------------------------------- */

static int64_t peer_of(aphi_server_udp *d, const struct sockaddr_storage *from, socklen_t size)
{
    aph_value address = aph_bytes(from, size), number = aph_get(d->numbers, address);
    if (number)
        return aph_int_of(number);
    if (aph_count(d->numbers) >= PEERS_MAX)
        d->numbers = d->addresses = aph_object();
    number = aph_int(++d->peers);
    d->numbers = aph_set(d->numbers, address, number);
    d->addresses = aph_set(d->addresses, number, address);
    return d->peers;
}

/* ---- in ---------------------------------------------------------------------------------------------------------- */

static void receive_datagram(aphi_server *s, int64_t peer, size_t n)
{
    aph_wire w = {.side = APH_TO_SERVER, .bytes = s->udp->buffer, .count = n};
    if (aphi_decode_datagram(s->model->codec, &w) == APH_DECODED)
        post_parcel(s, REQUEST, (parcel){.peer = peer, .message = w.message});
    else
        aphi_server_warn_malformed(s, peer, &w);
}

void aphi_server_udp_ready(void *server, void *data, uint32_t events)
{
    (void)data, (void)events;
    aphi_server *s = server;
    aphi_server_udp *d = s->udp;
    for (int i = 0; i < READS_AT_ONCE; i++) {
        struct sockaddr_storage from;
        memset(&from, 0, sizeof from); /* its padding is part of the key */
        socklen_t size = sizeof from;
        ssize_t n = recvfrom(s->listener.fd, d->buffer, sizeof d->buffer, MSG_DONTWAIT, (struct sockaddr *)&from,
                             &size);
        if (n < 0)
            return; /* no datagram is waiting, or an earlier one caused an error */
        int64_t before = d->peers, peer = peer_of(d, &from, size);
        s->stats.connections += d->peers > before;
        receive_datagram(s, peer, (size_t)n);
    }
}

/* ---- out --------------------------------------------------------------------------------------------------------- */

static void take_request(aphi_server *s, const parcel *p)
{
    /* A request that the model cannot take now is lost; the environment allows this. */
    if (aphi_server_take(s, p->peer, p->message) != APHI_SIMULATED_TAKEN)
        return;
    for (size_t i = 0; i < s->simulator.sent_count; i++) {
        aphi_simulated_sent sent = s->simulator.sent[i];
        post_parcel(s, RESPONSE, (parcel){.peer = sent.to, .bytes = s->simulator.bytes.data + sent.at, .n = sent.n});
    }
}

static void send_response(aphi_server *s, const parcel *p)
{
    aph_value address = aph_get(s->udp->addresses, aph_int(p->peer));
    if (!address)
        return;
    size_t size;
    const char *to = aph_bytes_of(&address, &size);
    struct sockaddr_storage at;
    memcpy(&at, to, size);
    if (sendto(s->listener.fd, p->bytes, p->n, MSG_DONTWAIT | MSG_NOSIGNAL, (struct sockaddr *)&at,
               (socklen_t)size) >= 0)
        s->stats.answers++;
    else if (errno == EMSGSIZE)
        aphi_server_warn(s, "connection %lld: lost a response of %zu bytes, too long for a datagram",
                         (long long)p->peer, p->n);
}

void aphi_server_udp_timer(void *server, const aphi_timer *due)
{
    aphi_server *s = server;
    aphi_server_udp *d = s->udp;
    if (s->failed)
        return;
    parcel p = d->parcels[due->owner];
    d->parcels[due->owner] = (parcel){.next_free = d->free};
    d->free = (uint32_t)due->owner + 1;
    if (due->kind == REQUEST)
        take_request(s, &p);
    else
        send_response(s, &p);
    free(p.bytes);
}
