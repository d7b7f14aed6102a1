/* SPDX-License-Identifier: Apache-2.0
 *
 * lookahead.c - read a trace ahead, so that each request comes with its end; see lookahead.h.
 *
 * Idea:       observations are numbered, so the slot of a request in the ring is its number modulo the ring's size,
 *             and an end finds its request without a search. The ring begins small and doubles when it is full.
 *             A table of values says which request mentioned one first, so that an answer with it finds that one.
 * Invariants: 1. the slots [head, tail) are filled, and 0 <= tail - head <= size <= SIZE_LAST
 *             2. the future of a request in [head, tail) is settled exactly if its end was pulled
 *             3. an APHI_UNDONE finds its request in the ring, since SIZE_LAST is APHI_TRACE_REACH
 * Cost:       constant for each observation; at most 65,536 slots. The ring grows beyond HORIZON only while a request
 *             waits for an end that is far away.
 */
#include "trace/lookahead.h"

#include <assert.h>
#include <stdlib.h>
#include "base/memory.h"

enum { LASTS = 1024, ORIGINS = 4096, PROBES = 8, SIZE_FIRST = 64, SIZE_LAST = APHI_TRACE_REACH }; /* powers of two */
enum { HORIZON = 4096, LEAVES_MAX = 32 }; /* observations read ahead to see what is shown; values looked at in each */

typedef struct slot {
    aphi_lookahead_event foreseen;
    bool settled; /* nothing more will be known of its end */
    bool undone;  /* to be left out */
} slot;

/* The request that brought a value. */
typedef struct origin {
    uint64_t hash;    /* of the value, which stands for it: a mistake costs the search time, nothing else */
    uint64_t request; /* its number */
    uint64_t touched; /* the last observation that had the value, plus 1 */
} origin;

/* The newest request of a connection. */
typedef struct last {
    int64_t connection;
    uint64_t number;
} last;

struct aphi_lookahead {
    aphi_trace *trace;
    uint64_t head, tail; /* numbers of observations */
    int status;          /* of the last pull: at the end, or an error, nothing more is pulled */
    slot *slots;
    uint64_t size;       /* a power of two */
    last lasts[LASTS];   /* by connection; one that shares its place with another may be forgotten */
    origin origins[ORIGINS]; /* by value; the same */
};

static last *last_of(aphi_lookahead *f, int64_t connection)
{
    return &f->lasts[(uint64_t)connection % LASTS];
}

/* Is it known that nothing was sent on its connection since? */
static bool is_last(aphi_lookahead *f, const aphi_observation *request)
{
    const last *l = last_of(f, request->connection);
    return l->connection == request->connection && l->number == request->number;
}

static slot *slot_at(aphi_lookahead *f, uint64_t number)
{
    return &f->slots[number & (f->size - 1)];
}

static void mark(void *context)
{
    aphi_lookahead *f = context;
    for (uint64_t i = f->head; i < f->tail; i++) {
        aph_mark(slot_at(f, i)->foreseen.seen.message);
        aph_mark(slot_at(f, i)->foreseen.answer);
    }
}

aphi_lookahead *aphi_lookahead_open(aphi_trace *t)
{
    aphi_lookahead *f = aphi_alloc(sizeof *f);
    *f = (aphi_lookahead){.trace = t, .status = 1, .size = SIZE_FIRST};
    f->slots = aphi_alloc(SIZE_FIRST * sizeof *f->slots);
    aph_root_add(mark, f);
    return f;
}

void aphi_lookahead_close(aphi_lookahead *f)
{
    if (!f)
        return;
    aph_root_remove(mark, f);
    free(f->slots);
    free(f);
}

static void grow(aphi_lookahead *f)
{
    slot *slots = aphi_alloc(2 * f->size * sizeof *slots);
    for (uint64_t i = f->head; i < f->tail; i++)
        slots[i & (2 * f->size - 1)] = *slot_at(f, i);
    free(f->slots);
    f->slots = slots;
    f->size *= 2;
}

/* Tells a request, if it is still here, how it ended. */
static void settle(aphi_lookahead *f, slot *end)
{
    const aphi_observation *o = &end->foreseen.seen;
    end->undone = o->kind == APHI_UNDONE;
    if (o->ends == APHI_NO_NUMBER || o->ends < f->head || !aphi_trace_paired(f->trace)) {
        assert(!end->undone);
        return;
    }
    slot *request = slot_at(f, o->ends);
    request->settled = true;
    request->undone = end->undone;
    request->foreseen.future = o->kind == APHI_RECEIVED ? APH_FUTURE_ANSWER : APH_FUTURE_LOST;
    request->foreseen.alone = is_last(f, &request->foreseen.seen);
    end->foreseen.foretold = true;
    request->foreseen.answer = o->kind == APHI_RECEIVED ? o->message : APH_NIL;
    request->foreseen.order = o->number;
}

/* Where the value is, or may be put; NULL if there is no room. */
static origin *origin_of(aphi_lookahead *f, uint64_t hash)
{
    origin *room = NULL;
    for (uint64_t i = 0; i < PROBES; i++) {
        origin *o = &f->origins[(hash + i) & (ORIGINS - 1)];
        if (o->touched > f->head && o->hash == hash)
            return o;
        if (!room && o->touched <= f->head)
            room = o;
    }
    return room;
}

/* A request has this value. Who mentions one first brings it; later mentions are of what is known. */
static void bring(aphi_lookahead *f, origin *o, uint64_t hash, uint64_t number)
{
    if (o->touched <= f->head)
        *o = (origin){hash, number, 0};
    o->touched = number + 1;
}

/* An answer has this value. */
static void reveal(aphi_lookahead *f, origin *o, const aphi_observation *answer)
{
    if (o->touched <= f->head)
        return;
    o->touched = answer->number + 1;
    if (o->request < f->head || o->request == answer->ends)
        return;
    aphi_lookahead_event *brought = &slot_at(f, o->request)->foreseen;
    if (!brought->shown)
        brought->shown = answer->number;
    if (brought->sought < answer->ends)
        brought->sought = answer->ends;
}

/* Look at the strings and integers in v, at most `left` of them; returns how many are left then. */
static int look_at(aphi_lookahead *f, const aphi_observation *seen, aph_value v, int left)
{
    aph_kind kind = aph_kind_of(v);
    aph_value key, item;
    if (kind == APH_ARRAY)
        for (size_t i = 0; i < aph_count(v) && left > 0; i++)
            left = look_at(f, seen, aph_at(v, i), left);
    else if (kind == APH_OBJECT)
        for (size_t i = 0; left > 0 && aph_pair_at(v, i, &key, &item); i++)
            left = look_at(f, seen, item, left);
    if (kind != APH_INT && kind != APH_STR)
        return left;
    uint64_t hash = aph_hash(v);
    origin *o = origin_of(f, hash);
    if (o && seen->kind == APHI_SENT)
        bring(f, o, hash, seen->number);
    else if (o)
        reveal(f, o, seen);
    return left - 1;
}

static void pull(aphi_lookahead *f)
{
    if (f->tail - f->head == f->size)
        grow(f);
    slot *s = slot_at(f, f->tail);
    f->status = aphi_trace_next(f->trace, &s->foreseen.seen);
    if (f->status <= 0)
        return;
    assert(s->foreseen.seen.number == f->tail);
    s->foreseen.future = APH_FUTURE_OPEN;
    s->foreseen.answer = APH_NIL;
    s->foreseen.order = 0;
    s->foreseen.shown = s->foreseen.sought = 0;
    s->foreseen.alone = s->foreseen.foretold = false;
    s->settled = s->foreseen.seen.kind != APHI_SENT || !aphi_trace_paired(f->trace);
    s->undone = false;
    f->tail++;
    if (s->foreseen.seen.kind == APHI_SENT)
        *last_of(f, s->foreseen.seen.connection) = (last){s->foreseen.seen.connection, s->foreseen.seen.number};
    settle(f, s);
    if (s->foreseen.seen.kind == APHI_SENT || s->foreseen.foretold)
        look_at(f, &s->foreseen.seen, s->foreseen.seen.message, LEAVES_MAX);
}

/* Is more to be learned of the request at the head? */
static bool wants_more(aphi_lookahead *f)
{
    if (f->status <= 0 || f->tail - f->head >= SIZE_LAST)
        return false;
    return !slot_at(f, f->head)->settled || (f->tail - f->head < HORIZON && aphi_trace_paired(f->trace));
}

int aphi_lookahead_next(aphi_lookahead *f, aphi_lookahead_event *o)
{
    slot *s;
    do {
        if (f->head == f->tail && f->status > 0)
            pull(f);
        if (f->head == f->tail)
            return f->status;
        while (wants_more(f))
            pull(f);
        s = slot_at(f, f->head++);
    } while (s->undone);
    if (!s->settled && f->status == 0) {
        s->foreseen.future = APH_FUTURE_NEVER;
        s->foreseen.alone = is_last(f, &s->foreseen.seen);
    }
    *o = s->foreseen;
    return 1;
}
