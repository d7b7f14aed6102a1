/* SPDX-License-Identifier: Apache-2.0
 *
 * oracle_feed.c - observations on their way to the oracle; see oracle_feed.h.
 *
 * Idea:       a ring indexed by the number of the observation, so that the request of an end is found without a search.
 * Invariants: the slots [head, tail) are filled; the observations before head were fed.
 * Cost:       constant for each observation, excluding the work of the oracle. */
#include "tester/oracle_feed.h"

#include "base/clock.h"
#include "base/memory.h"
#include "derive/derivation.h"
#include "tree/model_calls.h"
#include "tree/step_guard.h"
#include "tree/step.h"

#include <stdlib.h>

enum { SIZE_FIRST = 1024, SIZE_LAST = 65536, CLOCK_EVERY = 16 /* observations */, BRANCHES_MAX = 200000 };
static const int64_t LATE_NS = 100000000;        /* a request waits here at most this long for its end */
static const int64_t ORACLE_MAX_NS = 1000000000; /* CPU time of the oracle for a few observations */

typedef enum kind { SENT, RECEIVED, LOST, SILENCE } kind;

typedef struct slot {
    kind kind;
    bool settled;         /* for a request: its end is known */
    bool foretold;        /* for an end: its request was fed with it as lookahead */
    bool alone;
    aph_future future;
    int64_t connection;
    aph_value message, answer;
    uint64_t order;
    int64_t at;
} slot;

struct aphi_oracle_feed {
    const aph_model *model;
    aphi_partitions *partitions;
    aphi_derivation *derivation; /* with a network, in place of the partitions */
    aph_model network;
    size_t memory;
    bool paired;
    aph_verdict verdict;
    int64_t armed_at;
    slot *slots;
    uint64_t size, head, tail;
    uint64_t *newest;     /* by connection: its newest request, plus 1 */
    size_t newest_capacity;
};

size_t aphi_oracle_feed_waiting(const aphi_oracle_feed *w) { return (size_t)(w->tail - w->head); }

uint64_t aphi_oracle_feed_last(const aphi_oracle_feed *w)
{
    if (w->derivation)
        return aphi_derivation_line(w->derivation);
    const aphi_partition *rejecting = aphi_partitions_rejecting(w->partitions);
    if (rejecting && rejecting->oracle->held && rejecting->oracle->event_count)
        return rejecting->oracle->events[rejecting->oracle->deepest].line;
    return w->head ? w->head - 1 : 0;
}

aphi_partitions *aphi_oracle_feed_partitions(aphi_oracle_feed *w) { return w->partitions; }

aph_fault aphi_oracle_feed_fault(const aphi_oracle_feed *w, const char **message)
{
    *message = "";
    if (w->derivation)
        return aphi_derivation_fault(w->derivation, message);
    const aphi_partition *rejecting = aphi_partitions_rejecting(w->partitions);
    return rejecting && rejecting->oracle ? aph_oracle_fault(rejecting->oracle, message) : APH_FAULT_NONE;
}

aph_limit aphi_oracle_feed_limit(const aphi_oracle_feed *w)
{
    if (w->derivation)
        return aphi_derivation_limit(w->derivation);
    const aphi_partition *rejecting = aphi_partitions_rejecting(w->partitions);
    return rejecting && rejecting->oracle ? aph_oracle_limit(rejecting->oracle) : APH_LIMIT_NONE;
}

aph_value aphi_oracle_feed_state(const aphi_oracle_feed *w) { return aphi_derivation_state(w->derivation); }

static slot *slot_at(const aphi_oracle_feed *w, uint64_t number) { return &w->slots[number & (w->size - 1)]; }

static void mark_slots(void *context)
{
    const aphi_oracle_feed *w = context;
    for (uint64_t i = w->head; i < w->tail; i++) {
        aph_mark(slot_at(w, i)->message);
        aph_mark(slot_at(w, i)->answer);
    }
}

static bool open_decider(aphi_oracle_feed *w, const aph_network *network, const aph_oracle_options *options,
                         char *error, size_t error_size)
{
    if (network) {
        w->network = aph_network_model(network);
        w->derivation = aphi_derivation_open(w->model, network,
                                             &(aphi_derivation_options){.branches = BRANCHES_MAX, .unguarded = true,
                                                                        .memory = options->memory});
        return true;
    }
    w->partitions = aphi_partitions_open(w->model, options, error, error_size);
    if (w->partitions)
        aphi_partitions_hold(w->partitions);
    return w->partitions;
}

aphi_oracle_feed *aphi_oracle_feed_open(const aph_model *model, const aph_network *network,
                                        const aph_oracle_options *options, bool paired, char *error, size_t error_size)
{
    aphi_oracle_feed *w = aphi_alloc_zero(sizeof *w);
    w->model = model;
    if (!open_decider(w, network, options, error, error_size)) {
        free(w);
        return NULL;
    }
    w->memory = options->memory;
    w->paired = paired;
    w->size = SIZE_FIRST;
    w->slots = aphi_alloc(w->size * sizeof *w->slots);
    aph_root_add(mark_slots, w);
    return w;
}

void aphi_oracle_feed_close(aphi_oracle_feed *w)
{
    if (!w)
        return;
    aph_root_remove(mark_slots, w);
    if (w->derivation)
        aphi_guard_disarm();
    aphi_derivation_close(w->derivation);
    aphi_partitions_close(w->partitions);
    free(w->slots);
    free(w->newest);
    free(w);
}

/* ---- observations ------------------------------------------------------------------------------------------------ */

static void grow_ring(aphi_oracle_feed *w)
{
    slot *slots = aphi_alloc(2 * w->size * sizeof *slots);
    for (uint64_t i = w->head; i < w->tail; i++)
        slots[i & (2 * w->size - 1)] = *slot_at(w, i);
    free(w->slots);
    w->slots = slots;
    w->size *= 2;
}

static uint64_t add_slot(aphi_oracle_feed *w, slot s)
{
    if (w->tail - w->head == w->size)
        grow_ring(w);
    *slot_at(w, w->tail) = s;
    return w->tail++;
}

static uint64_t *newest_of(aphi_oracle_feed *w, int64_t connection)
{
    size_t had = w->newest_capacity, need = (size_t)connection + 1;
    APHI_RESERVE(w->newest, w->newest_capacity, need);
    for (size_t i = had; i < w->newest_capacity; i++)
        w->newest[i] = 0;
    return &w->newest[connection];
}

uint64_t aphi_oracle_feed_sent(aphi_oracle_feed *w, int64_t connection, aph_value message, int64_t now)
{
    uint64_t number = add_slot(w, (slot){.kind = SENT, .settled = !w->paired, .connection = connection,
                                         .message = message, .future = APH_FUTURE_OPEN, .at = now});
    if (w->paired)
        *newest_of(w, connection) = number + 1;
    return number;
}

/* Stores the end of a request. Returns false if the request was fed already. */
static bool settle_request(aphi_oracle_feed *w, uint64_t request, aph_future future, aph_value answer, uint64_t order)
{
    if (!w->paired || request == APHI_NO_REQUEST || request < w->head)
        return false;
    slot *s = slot_at(w, request);
    s->settled = true;
    s->future = future;
    s->answer = answer;
    s->order = order;
    s->alone = *newest_of(w, s->connection) == request + 1;
    return true;
}

uint64_t aphi_oracle_feed_received(aphi_oracle_feed *w, int64_t connection, aph_value message, uint64_t request)
{
    bool foretold = settle_request(w, request, APH_FUTURE_ANSWER, message, w->tail);
    return add_slot(w, (slot){.kind = RECEIVED, .settled = true, .foretold = foretold, .connection = connection,
                              .message = message});
}

uint64_t aphi_oracle_feed_lost(aphi_oracle_feed *w, int64_t connection, uint64_t request)
{
    bool foretold = settle_request(w, request, APH_FUTURE_LOST, APH_NIL, w->tail);
    return add_slot(w, (slot){.kind = LOST, .settled = true, .foretold = foretold, .connection = connection});
}

uint64_t aphi_oracle_feed_silence(aphi_oracle_feed *w)
{
    return add_slot(w, (slot){.kind = SILENCE, .settled = true});
}

static bool answers_nothing(void *context, const aph_event *event, aph_value *answer)
{
    (void)context, (void)event, (void)answer;
    return false;
}

static void arm_guard(const aphi_oracle_feed *w, int64_t now)
{
    aphi_guard_arm(w->model, now + APHI_GUARD_LOADED * ORACLE_MAX_NS, w->memory);
    aphi_guard_limit_cpu(ORACLE_MAX_NS);
    if (w->derivation)
        aphi_guard_include(&w->network);
}

bool aphi_oracle_feed_knows(aphi_oracle_feed *w, int64_t connection, aph_value message, int64_t now, const char **why)
{
    const aph_model *m = w->model;
    aph_value state = aphi_model_initial(m);
    aph_request request = {connection, message};
    bool waiting = true;
    arm_guard(w, now);
    aphi_ending ending = aphi_step_feed(m, &state, &request, &waiting, APH_NIL, answers_nothing, NULL);
    *why = aphi_step_reason();
    return ending != APHI_UNKNOWN_REQUEST;
}

/* ---- feeding the oracle ------------------------------------------------------------------------------------------ */

/* The observations are decided together (settle). */
static void derive_slot(aphi_oracle_feed *w, uint64_t number, const slot *s)
{
    switch (s->kind) {
    case SENT: aphi_derivation_sent(w->derivation, number, s->connection, s->message); break;
    case RECEIVED: aphi_derivation_received(w->derivation, number, s->connection, s->message); break;
    case LOST: aphi_derivation_lose_connection(w->derivation, number, s->connection); break;
    case SILENCE: aphi_derivation_quiet(w->derivation, number); break;
    }
}

static aph_verdict settle(aphi_oracle_feed *w)
{
    return w->derivation ? aphi_derivation_decide(w->derivation) : aphi_partitions_settle(w->partitions);
}

static aph_verdict feed_slot(aphi_oracle_feed *w, uint64_t number, const slot *s)
{
    aph_lookahead known = {.future = s->future, .answer = s->answer, .order = s->order, .alone = s->alone};
    if (w->derivation) {
        derive_slot(w, number, s);
        return w->verdict;
    }
    switch (s->kind) {
    case SENT: return aphi_partitions_sent(w->partitions, number, s->connection, s->message, &known);
    case RECEIVED: return aphi_partitions_received(w->partitions, number, s->connection, s->message);
    case LOST: return aphi_partitions_lost(w->partitions, number, s->connection, s->foretold);
    case SILENCE: return aphi_partitions_quiet(w->partitions, number);
    }
    return w->verdict;
}

/* Restarts the time limit of the oracle, but not every time, because this takes a few system calls. */
static void restart_limit(aphi_oracle_feed *w, int64_t now)
{
    if (now - w->armed_at <= ORACLE_MAX_NS / 10)
        return;
    w->armed_at = now;
    arm_guard(w, now);
}

bool aphi_oracle_feed_is_ready(const aphi_oracle_feed *w, int64_t now)
{
    if (w->head == w->tail || w->verdict != APH_PASS)
        return false;
    const slot *s = slot_at(w, w->head);
    return s->settled || now - s->at >= LATE_NS || w->tail - w->head >= SIZE_LAST;
}

static void feed_next(aphi_oracle_feed *w)
{
    slot s = *slot_at(w, w->head);
    if (w->head % CLOCK_EVERY == 0)
        restart_limit(w, aphi_clock_ns());
    /* The slot stays in the ring, and its values reachable, until the oracle returns. */
    w->verdict = feed_slot(w, w->head, &s);
    w->head++;
}

aph_verdict aphi_oracle_feed_advance(aphi_oracle_feed *w, int64_t now, uint64_t most)
{
    if (w->head < w->tail)
        restart_limit(w, now);
    for (uint64_t i = 0; i < most && aphi_oracle_feed_is_ready(w, now); i++)
        feed_next(w);
    return w->verdict = settle(w);
}

aph_verdict aphi_oracle_feed_advance_all(aphi_oracle_feed *w, int64_t now)
{
    if (w->head < w->tail)
        restart_limit(w, now);
    while (w->head < w->tail && w->verdict == APH_PASS)
        feed_next(w);
    return w->verdict = settle(w);
}

aph_verdict aphi_oracle_feed_may_be_quiet(aphi_oracle_feed *w, int64_t now)
{
    restart_limit(w, now);
    if (w->verdict != APH_PASS)
        return w->verdict;
    return w->derivation ? aphi_derivation_may_be_quiet(w->derivation) : aphi_partitions_may_be_quiet(w->partitions);
}

aph_verdict aphi_oracle_feed_quiet(aphi_oracle_feed *w, int64_t now)
{
    restart_limit(w, now);
    if (w->verdict != APH_PASS)
        return w->verdict;
    return w->derivation ? aphi_derivation_may_be_quiet(w->derivation)
                         : aphi_partitions_quiet(w->partitions, w->tail);
}
