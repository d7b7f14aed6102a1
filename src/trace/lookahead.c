/* SPDX-License-Identifier: Apache-2.0
 *
 * lookahead.c - reading ahead in a trace; see lookahead.h.
 *
 * Idea:       observations are numbered: the slot of a request in the ring is its number modulo the size of the ring,
 *             so the request of an end is found without a search. The ring starts small and doubles when it is full. A
 *             hash table maps each value to the request that mentioned it first, for the hints of aph_lookahead.
 * Invariants: 1. the slots [head, tail) are filled, and 0 <= tail - head <= size <= SIZE_LAST
 *             2. a request in [head, tail) is settled if and only if its end was read
 *             3. an APHI_UNDONE finds its request in the ring, since SIZE_LAST is APHI_TRACE_REACH
 * Cost:       constant per observation; up to 65,536 slots. The ring grows beyond HORIZON only while a request waits
 *             for an end that is far away.
 */
#include "trace/lookahead.h"

#include <assert.h>
#include <stdlib.h>
#include "base/memory.h"
#include "value/heap.h"

enum { LASTS = 1024, ORIGINS = 4096, PROBES = 8, SIZE_FIRST = 64, SIZE_LAST = APHI_TRACE_REACH }; /* powers of two */
enum { HORIZON = 4096, LEAVES_MAX = 32 }; /* observations read ahead for hints; values examined in each */

typedef struct slot {
    aphi_lookahead_event event;
    bool settled; /* its end is known, or will never be known */
    bool undone;  /* the request had no effect, and is not returned */
} slot;

/* The first request with a value. */
typedef struct origin {
    uint64_t hash;    /* of the value; a collision only makes the search slower */
    uint64_t request; /* its number */
    uint64_t touched; /* the last observation with the value, plus 1 */
} origin;

/* The latest request on a connection. */
typedef struct last {
    int64_t connection;
    uint64_t number;
} last;

struct aphi_lookahead {
    aphi_trace *trace;
    uint64_t head, tail; /* numbers of observations */
    int status;          /* of the last aphi_trace_next; after the end or an error, nothing more is read */
    slot *slots;
    uint64_t size;       /* a power of two */
    uint64_t quiet;      /* the last silence, plus 1; 0: none yet */
    last lasts[LASTS];   /* by connection; collisions evict */
    origin origins[ORIGINS]; /* by value; collisions evict */
};

static last *last_of(aphi_lookahead *a, int64_t connection)
{
    return &a->lasts[(uint64_t)connection % LASTS];
}

/* Returns true if it is known that nothing was sent on its connection since then. */
static bool is_last(aphi_lookahead *a, const aphi_observation *request)
{
    const last *l = last_of(a, request->connection);
    return l->connection == request->connection && l->number == request->number;
}

static slot *slot_at(aphi_lookahead *a, uint64_t number)
{
    return &a->slots[number & (a->size - 1)];
}

static void mark_ring(void *context)
{
    aphi_lookahead *a = context;
    for (uint64_t i = a->head; i < a->tail; i++) {
        aph_mark(slot_at(a, i)->event.seen.message);
        aph_mark(slot_at(a, i)->event.answer);
    }
}

aphi_lookahead *aphi_lookahead_open(aphi_trace *t)
{
    aphi_lookahead *a = aphi_alloc(sizeof *a);
    *a = (aphi_lookahead){.trace = t, .status = 1, .size = SIZE_FIRST};
    a->slots = aphi_alloc(SIZE_FIRST * sizeof *a->slots);
    aph_root_add(mark_ring, a);
    return a;
}

void aphi_lookahead_close(aphi_lookahead *a)
{
    if (!a)
        return;
    aph_root_remove(mark_ring, a);
    free(a->slots);
    free(a);
}

static void grow_ring(aphi_lookahead *a)
{
    slot *slots = aphi_alloc(2 * a->size * sizeof *slots);
    for (uint64_t i = a->head; i < a->tail; i++)
        slots[i & (2 * a->size - 1)] = *slot_at(a, i);
    free(a->slots);
    a->slots = slots;
    a->size *= 2;
}

/* A request that is lost after a silence was received before it, but no response was sent. */
static aph_future future_of(const aphi_lookahead *a, const aphi_observation *end)
{
    return end->kind == APHI_RECEIVED ? APH_FUTURE_ANSWER : a->quiet > end->ends ? APH_FUTURE_NEVER : APH_FUTURE_LOST;
}

/* Stores the end in the slot of its request, if that is still in the ring. */
static void settle_request(aphi_lookahead *a, slot *end)
{
    const aphi_observation *o = &end->event.seen;
    end->undone = o->kind == APHI_UNDONE;
    if (o->ends == APHI_NO_NUMBER || o->ends < a->head || !aphi_trace_paired(a->trace)) {
        assert(!end->undone);
        return;
    }
    slot *request = slot_at(a, o->ends);
    request->settled = true;
    request->undone = end->undone;
    request->event.future = future_of(a, o);
    request->event.alone = is_last(a, &request->event.seen);
    end->event.foretold = true;
    request->event.answer = o->kind == APHI_RECEIVED ? o->message : APH_NIL;
    request->event.order = o->number;
}

/* Returns the entry of the value, or a free one; NULL if there is neither. */
static origin *find_origin(aphi_lookahead *a, uint64_t hash)
{
    origin *empty = NULL;
    for (uint64_t i = 0; i < PROBES; i++) {
        origin *o = &a->origins[(hash + i) & (ORIGINS - 1)];
        if (o->touched > a->head && o->hash == hash)
            return o;
        if (!empty && o->touched <= a->head)
            empty = o;
    }
    return empty;
}

/* Records that a request has this value. Only the first such request becomes its origin. */
static void record_request_value(aphi_lookahead *a, origin *o, uint64_t hash, uint64_t number)
{
    if (o->touched <= a->head)
        *o = (origin){hash, number, 0};
    o->touched = number + 1;
}

static void record_response_value(aphi_lookahead *a, origin *o, const aphi_observation *answer)
{
    if (o->touched <= a->head)
        return;
    o->touched = answer->number + 1;
    if (o->request < a->head || o->request == answer->ends)
        return;
    aphi_lookahead_event *first = &slot_at(a, o->request)->event;
    if (!first->shown)
        first->shown = answer->number;
    if (first->sought < answer->ends)
        first->sought = answer->ends;
}

/* Examines up to `left` strings and integers in v. Returns the remaining number. */
static int examine_value(aphi_lookahead *a, const aphi_observation *seen, aph_value v, int left)
{
    aph_kind kind = aph_kind_of(v);
    aph_value key, item;
    if (kind == APH_ARRAY)
        for (size_t i = 0; i < aph_count(v) && left > 0; i++)
            left = examine_value(a, seen, aph_at(v, i), left);
    else if (kind == APH_OBJECT)
        for (size_t i = 0; left > 0 && aph_pair_at(v, i, &key, &item); i++)
            left = examine_value(a, seen, item, left);
    if (kind != APH_INT && kind != APH_STR)
        return left;
    uint64_t hash = aph_hash(v);
    origin *o = find_origin(a, hash);
    if (o && seen->kind == APHI_SENT)
        record_request_value(a, o, hash, seen->number);
    else if (o)
        record_response_value(a, o, seen);
    return left - 1;
}

static void read_next(aphi_lookahead *a)
{
    if (a->tail - a->head == a->size)
        grow_ring(a);
    slot *s = slot_at(a, a->tail);
    *s = (slot){0};
    a->status = aphi_trace_next(a->trace, &s->event.seen);
    if (a->status <= 0)
        return;
    assert(s->event.seen.number == a->tail);
    s->settled = s->event.seen.kind != APHI_SENT || !aphi_trace_paired(a->trace);
    a->tail++;
    if (s->event.seen.kind == APHI_QUIET)
        a->quiet = a->tail;
    if (s->event.seen.kind == APHI_SENT)
        *last_of(a, s->event.seen.connection) = (last){s->event.seen.connection, s->event.seen.number};
    settle_request(a, s);
    if (s->event.seen.kind == APHI_SENT || s->event.foretold)
        examine_value(a, &s->event.seen, s->event.seen.message, LEAVES_MAX);
}

/* Returns true if more must be read for the request at the head. */
static bool wants_more(aphi_lookahead *a)
{
    if (a->status <= 0 || a->tail - a->head >= SIZE_LAST || aphi_heap_is_tight())
        return false;
    return !slot_at(a, a->head)->settled || (a->tail - a->head < HORIZON && aphi_trace_paired(a->trace));
}

int aphi_lookahead_next(aphi_lookahead *a, aphi_lookahead_event *o)
{
    slot *s;
    do {
        if (a->head == a->tail && a->status > 0)
            read_next(a);
        if (a->head == a->tail)
            return a->status;
        while (wants_more(a))
            read_next(a);
        s = slot_at(a, a->head++);
    } while (s->undone);
    if (!s->settled && a->status == 0) {
        s->event.future = APH_FUTURE_NEVER;
        s->event.alone = is_last(a, &s->event.seen);
    }
    *o = s->event;
    return 1;
}
