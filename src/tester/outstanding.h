/* SPDX-License-Identifier: Apache-2.0
 *
 * outstanding.h - the requests of a run without a response: by connection, by label, by partition of the state. */
#ifndef APHI_TESTER_OUTSTANDING_H
#define APHI_TESTER_OUTSTANDING_H

#include <antiphon/value.h>

typedef struct aphi_outstanding_request {
    int64_t label;
    uint64_t number;   /* of its observation, by the live feed */
    int64_t sent_at;   /* ns, by the clock */
    int64_t rested_ns; /* the time since the latest response on its connection; -1: none, or another was outstanding */
    uint32_t kind;     /* by the log */
    aph_value message, part;
    bool alone;        /* no other request of its partition may be in flight on another connection */
    int64_t patience_ns; /* the time that the model allows for its response; 0: the default */
} aphi_outstanding_request;

/* A connection and its outstanding requests, oldest first. */
typedef struct aphi_peer {
    int64_t name;                 /* its number in the trace; a connection that is opened again gets a new one */
    bool is_named, was_open, was_answered;
    bool is_shut;                 /* half-closed by the tester */
    int64_t answered_at;          /* if was_answered: the time of the latest response */
    bool is_blocked;              /* the tester does not wait for its responses */
    aphi_outstanding_request *queue;
    size_t head, count, capacity; /* a ring; capacity is a power of two */
} aphi_peer;

/* Outstanding requests of a partition. Partitions whose hashes collide share one load, which may delay a request. */
typedef struct aphi_partition_load {
    uint32_t all, alone;
    int64_t latest; /* connection */
} aphi_partition_load;

typedef struct aphi_outstanding {
    aphi_peer *peers;
    uint32_t *in_flight;        /* by connection: outstanding requests */
    size_t peer_count;
    uint64_t count;             /* outstanding requests on all connections */
    uint64_t blocked;           /* the same on blocked connections */
    aphi_partition_load *loads; /* by the hash of the partition */
    int64_t *labels;            /* of outstanding requests, a hash table without chains */
    int64_t next_name;          /* for a connection that is opened again */
    bool any_closed;            /* a connection was closed; later messages on it are not observed */
} aphi_outstanding;

/* next_name: above the numbers of all connections that the run may use. */
void aphi_outstanding_open(aphi_outstanding *o, int64_t next_name);
void aphi_outstanding_close(aphi_outstanding *o);
void aphi_outstanding_mark(const aphi_outstanding *o);

/* Valid until the next call with a connection that was not used before. */
const aphi_peer *aphi_outstanding_peer(aphi_outstanding *o, int64_t connection);
/* The i-th request of the connection, oldest first. */
static inline const aphi_outstanding_request *aphi_outstanding_at(const aphi_peer *p, size_t i)
{
    return &p->queue[(p->head + i) & (p->capacity - 1)];
}
/* The number of the connection in the trace. */
int64_t aphi_outstanding_name(aphi_outstanding *o, int64_t connection);
aphi_partition_load *aphi_outstanding_load(const aphi_outstanding *o, aph_value part);
bool aphi_outstanding_has(const aphi_outstanding *o, int64_t label);
/* The number of requests that the tester waits for. */
static inline uint64_t aphi_outstanding_awaited(const aphi_outstanding *o) { return o->count - o->blocked; }

void aphi_outstanding_push(aphi_outstanding *o, int64_t connection, const aphi_outstanding_request *request);
/* Removes the oldest request of the connection; returns false if there is none. answered: it got a response. */
bool aphi_outstanding_pop(aphi_outstanding *o, int64_t connection, bool answered, aphi_outstanding_request *request);
/* Returns the rest of the connection, for a request that is sent now. */
int64_t aphi_outstanding_rested_ns(aphi_outstanding *o, int64_t connection, int64_t now);
void aphi_outstanding_note_response(aphi_outstanding *o, int64_t connection, int64_t now);
void aphi_outstanding_clear(aphi_outstanding *o);
/* Marks the connection as blocked, until a request is added to it or removed from it. Its requests are no longer found
 * by their labels. */
void aphi_outstanding_block(aphi_outstanding *o, int64_t connection);
/* Marks the connection as closed. The next request on it opens a new one. judged: the oracle has observed the end. */
void aphi_outstanding_retire(aphi_outstanding *o, int64_t connection, bool judged);
/* Marks the connection as half-closed by the tester. */
void aphi_outstanding_shut(aphi_outstanding *o, int64_t connection);

#endif
