/* SPDX-License-Identifier: Apache-2.0
 *
 * oracle.c - the public interface of the oracle: observations in, a verdict out.
 *
 * Idea:       each observation is appended to the window, the search (search.c) advances over it, and the window is
 *             trimmed from time to time (window_trim.c). */
#include "oracle/pending.h"

#include "base/clock.h"
#include "base/memory.h"
#include "oracle/connections.h"
#include "solve/z3.h"
#include "tree/model_calls.h"
#include "tree/step.h"
#include "tree/step_guard.h"
#include "value/heap.h"

#include <stdio.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum {
    DRAIN_BUDGET = 5000,   /* configurations visited to find all that are left when a lossy network is quiet */
    QUIET_BUDGET = 50000,  /* the same for another network: a silence is rare, and takes longer than this */
    WINDOW_QUIET = 64,     /* observations: before silence, a shorter window is kept for the evidence */
    AFTERMATH_MAX = 20000, /* observations recorded after a failure */
    HELD_MAX = 256,        /* observations */
};

const char *aph_verdict_name(aph_verdict v)
{
    static const char *const names[] = {"pass", "fail", "unknown"};
    return names[v];
}

/* ---- opening and closing ----------------------------------------------------------------------------------------- */

static void mark_oracle(void *context)
{
    aph_oracle *o = context;
    aphi_core_mark(&o->core);
    aph_mark(o->due);
    for (size_t i = 0; i < o->op_count; i++) {
        aph_mark(o->ops[i].message);
        aph_mark(o->ops[i].answer);
        aph_mark(o->ops[i].part);
    }
    for (size_t i = 0; i < o->event_count; i++)
        if (o->events[i].message != APHI_WILDCARD)
            aph_mark(o->events[i].message);
    aphi_frames_mark(o->frame_count, o->frames);
    for (size_t i = 0; i < o->memo.count; i++)
        aphi_core_mark(&o->memo.entries[i].core);
    for (size_t i = 0; i < o->root_count; i++) {
        aphi_core_mark(&o->roots[i].core);
        aph_mark(o->roots[i].path);
        aphi_segment_mark(o->roots[i].past);
    }
    aphi_taken_mark(o->order_count, o->order);
    for (size_t i = 0; i < o->allowed_count; i++) {
        aph_mark(o->allowed[i].answer);
        aph_mark(o->allowed[i].state);
        aph_mark(o->allowed[i].store);
        aphi_taken_mark(o->allowed[i].order_count, o->allowed[i].order);
    }
    if (o->finding_all)
        aphi_search_find_all_mark(o->finding_all);
}

static bool start_model(aph_oracle *o)
{
    size_t n;
    const aphi_successor *results = aphi_machine_start(o->machine, &n);
    const char *message;
    o->fault = aphi_machine_fault(o->machine, &message);
    o->limit = o->fault ? APH_LIMIT_NONE : aphi_machine_limit(o->machine);
    if (o->limit) { /* there is no root: no observation is accepted */
        o->verdict = APH_UNKNOWN;
        snprintf(o->message, sizeof o->message, "%s", message);
        return true;
    }
    if (o->fault || !n) {
        snprintf(o->message, sizeof o->message, "%s", o->fault ? message : "the model has no initial configuration");
        return false;
    }
    APHI_GROW(o, o->roots, o->root_capacity, n);
    APHI_GROW(o, o->root_bits, o->root_bits_capacity, n * o->words);
    memset(o->root_bits, 0, n * o->words * sizeof *o->root_bits);
    for (size_t i = 0; i < n; i++)
        o->roots[i] = (aphi_root){.core = results[i].core, .path = results[i].path};
    o->root_count = n;
    aphi_search_begin(o);
    return true;
}

static bool is_inline(const aph_oracle *o, const void *p)
{
    return (uintptr_t)p - (uintptr_t)&o->inline_arrays < sizeof o->inline_arrays;
}

void aphi_oracle_grow(aph_oracle *o, void **p, size_t *capacity, size_t need, size_t size)
{
    void *out = NULL;
    if (is_inline(o, *p)) {
        size_t n = 0;
        aphi_reserve(&out, &n, need > 4 * *capacity ? need : 4 * *capacity, size);
        memcpy(out, *p, *capacity * size);
        *p = out;
        *capacity = n;
    } else {
        aphi_reserve(p, capacity, need, size);
    }
}

void aphi_oracle_free(aph_oracle *o, void *p)
{
    if (!is_inline(o, p))
        free(p);
}

/* All arrays point to inline storage; rows of bits have one word. */
static aph_oracle *alloc_oracle(void)
{
    aph_oracle *o = aphi_alloc(sizeof *o);
    aphi_inline_arrays *f = &o->inline_arrays;
    memset(o, 0, offsetof(aph_oracle, inline_arrays));
    memset(f->queues, 0, sizeof f->queues);
    f->root_bits = f->used = f->optional = f->bits = 0;
#define USE_INLINE(array, capacity, in) (o->array = (in), o->capacity = sizeof(in) / sizeof *(in))
    USE_INLINE(ops, op_capacity, f->ops);
    USE_INLINE(events, event_capacity, f->events);
    USE_INLINE(pending, pending_capacity, f->pending);
    USE_INLINE(order, order_capacity, f->order);
    USE_INLINE(frames, frame_capacity, f->frames);
    USE_INLINE(frame_bits, frame_bits_capacity, f->frame_bits);
    USE_INLINE(queues, queue_capacity, f->queues);
#undef USE_INLINE
    o->roots = &f->root;
    o->root_bits = &f->root_bits;
    o->root_capacity = o->root_bits_capacity = 1;
    o->used = &f->used;
    o->optional = &f->optional;
    o->bits = &f->bits;
    o->words = o->memo.words = 1;
    return o;
}

aph_oracle *aph_oracle_open(const aph_model *model, const aph_oracle_options *options, char *error, size_t error_size)
{
    return aphi_oracle_open_on(model, options, NULL, false, error, error_size);
}

aph_oracle *aphi_oracle_open_on(const aph_model *model, const aph_oracle_options *options, aphi_machine *machine,
                                bool one_part, char *error, size_t error_size)
{
    aphi_env env;
    if (!aphi_env_named(options->environment, &env)) {
        snprintf(error, error_size, "environment %s: unknown; use " APHI_ENV_NAMES, options->environment);
        return NULL;
    }
    if (aphi_model_contradiction(model)) {
        snprintf(error, error_size, "%s", aphi_model_contradiction(model));
        return NULL;
    }
    aph_oracle *o = alloc_oracle();
    o->connections = model->connections && !env.lossy;
    o->model = model;
    o->options = *options;
    o->env = env;
    o->rpc = model->rpc && !options->ignore_promises && !env.lossy;
    o->eager = model->eager && !o->rpc && !options->ignore_promises && !env.lossy && !env.buffer;
    o->parts = model->part && o->rpc && !one_part;
    o->window_max = APHI_WINDOW_MIN;
    o->idle_trim_at = APHI_WINDOW_IDLE;
    o->own_machine = !machine;
    o->machine = machine ? machine : aphi_machine_open(model, o->rpc, env.lossy, options->solver_ms);
    if (options->tell_apart)
        aphi_machine_tell_apart(o->machine);
    o->tells_apart = aphi_machine_tells_apart(o->machine);
    aph_root_add(mark_oracle, o);
    if (!start_model(o)) {
        snprintf(error, error_size, "%s", o->message);
        aph_oracle_close(o);
        return NULL;
    }
    return o;
}

void aphi_oracle_resume(aph_oracle *o, const aphi_core *core, bool dropped)
{
    o->roots[0] = (aphi_root){.core = *core};
    o->root_count = 1;
    o->dropped = dropped;
    aphi_search_begin(o);
}

void aph_oracle_close(aph_oracle *o)
{
    if (!o)
        return;
    aph_root_remove(mark_oracle, o);
    if (o->armed)
        aphi_guard_disarm();
    for (size_t i = 0; i < o->root_count; i++)
        aphi_segment_drop(o->roots[i].past);
    if (o->own_machine)
        aphi_machine_close(o->machine);
    for (size_t i = 0; i < o->allowed_count; i++)
        free(o->allowed[i].order);
    free(o->allowed);
    aphi_memo_deinit(&o->memo);
    aphi_connections_deinit(o);
    free(o->related);
    free(o->reached);
    void *const arrays[] = {o->ops,     o->events, o->used,   o->optional,   o->bits,  o->queues,
                            o->pending, o->order,  o->frames, o->frame_bits, o->roots, o->root_bits};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
        aphi_oracle_free(o, arrays[i]);
    free(o);
}

/* ---- requests of a connection ------------------------------------------------------------------------------------ */

static aphi_request_queue *find_queue(aph_oracle *o, int64_t connection)
{
    size_t at = aphi_mix((uint64_t)connection, 1) & (o->queue_capacity - 1);
    while (o->queues[at].used && o->queues[at].connection != connection)
        at = (at + 1) & (o->queue_capacity - 1);
    return &o->queues[at];
}

static aphi_request_queue *get_queue(aph_oracle *o, int64_t connection)
{
    aphi_request_queue *queue = find_queue(o, connection);
    if (queue->used)
        return queue;
    if ((o->queue_count + 1) * 2 > o->queue_capacity) {
        aphi_request_queue *old = o->queues;
        size_t size = o->queue_capacity;
        /* Empty queues are dropped, so closed connections do not accumulate. */
        size_t busy = 0;
        for (size_t i = 0; i < size; i++)
            busy += old[i].used && old[i].first != APHI_NONE;
        while (o->queue_capacity < 4 * (busy + 1))
            o->queue_capacity *= 2;
        o->queues = aphi_alloc_zero(o->queue_capacity * sizeof *o->queues);
        o->queue_count = 0;
        for (size_t i = 0; i < size; i++)
            if (old[i].used && old[i].first != APHI_NONE) {
                *find_queue(o, old[i].connection) = old[i];
                o->queue_count++;
            }
        aphi_oracle_free(o, old);
        queue = find_queue(o, connection);
    }
    *queue = (aphi_request_queue){.connection = connection, .first = APHI_NONE, .last = APHI_NONE, .used = true};
    o->queue_count++;
    return queue;
}

static void link_to_last(aph_oracle *o, const aphi_request_queue *queue, uint32_t index)
{
    o->ops[index].previous = queue->last;
    o->pipelined = true;
}

static void push_request(aph_oracle *o, int64_t connection, uint32_t index)
{
    aphi_request_queue *queue = get_queue(o, connection);
    if (queue->first == APHI_NONE) {
        queue->first = index;
    } else {
        o->ops[queue->last].next = index;
        link_to_last(o, queue, index);
    }
    queue->last = index;
}

/* A request without a response is not in the queue of requests that wait for one, but arrives after them. */
static void follow_queue(aph_oracle *o, int64_t connection, uint32_t index)
{
    aphi_request_queue *queue = find_queue(o, connection);
    if (queue->used && queue->first != APHI_NONE)
        link_to_last(o, queue, index);
}

static void remove_request(aph_oracle *o, int64_t connection, uint32_t index)
{
    aphi_request_queue *queue = find_queue(o, connection);
    if (!queue->used || queue->first == APHI_NONE)
        return;
    if (queue->first == index) {
        queue->first = o->ops[index].next;
        return;
    }
    for (uint32_t i = queue->first; i != APHI_NONE; i = o->ops[i].next)
        if (o->ops[i].next == index) {
            o->ops[i].next = o->ops[index].next;
            if (queue->last == index)
                queue->last = i;
            return;
        }
}

static uint32_t allocate_slot(aph_oracle *o)
{
    for (size_t i = 0; i < o->words; i++)
        if (~o->used[i]) {
            uint32_t slot = (uint32_t)(i * 64) + (uint32_t)__builtin_ctzll(~o->used[i]);
            aphi_set_bit(o->used, slot);
            return slot;
        }
    aphi_search_widen(o, o->words * 2);
    return allocate_slot(o);
}

static void add_event(aph_oracle *o, aphi_observed kind, uint32_t request, int64_t connection, aph_value message)
{
    APHI_GROW(o, o->events, o->event_capacity, o->event_count + 1);
    o->events[o->event_count++] = (aphi_observed_event){kind, request, connection, message, o->line};
}

static void arm_guard(aph_oracle *o)
{
    if (o->armed || !o->own_machine)
        return;
    o->armed = true;
    aphi_guard_arm(o->model, o->options.time_ms ? aphi_clock_ns() + o->options.time_ms * 1000000 : 0,
                   o->options.memory);
}

bool aphi_oracle_wants_more(const aph_oracle *o)
{
    return o->verdict == APH_FAIL && o->known_answers && o->event_count - o->deepest < AFTERMATH_MAX;
}

static bool accepts_events(const aph_oracle *o)
{
    return o->verdict == APH_PASS || aphi_oracle_wants_more(o);
}

/* No explanation was found. */
static APHI_COLD aph_verdict reject(aph_oracle *o)
{
    if (!o->fault && !o->limit && aphi_machine_undecided(o->machine))
        o->limit = APH_LIMIT_SOLVER;
    if (!o->fault && !o->limit && o->dropped)
        o->limit = APH_LIMIT_WINDOW;
    o->verdict = o->fault || o->limit ? APH_UNKNOWN : APH_FAIL;
    return o->verdict;
}

void aphi_oracle_hold(aph_oracle *o) { o->held = !o->rpc && o->env.fifo; }

aph_verdict aphi_oracle_settle(aph_oracle *o)
{
    if (o->verdict != APH_PASS)
        return o->verdict;
    if (!aphi_search(o))
        return reject(o);
    if (o->event_count >= o->idle_trim_at && !o->pending_count)
        aphi_search_trim_idle(o);
    else if (o->event_count >= o->window_max)
        aphi_search_trim_window(o);
    return aphi_search_is_outdated(o) && !aphi_search(o) ? reject(o) : o->verdict;
}

static aph_verdict advance(aph_oracle *o)
{
    return o->held && o->event_count - o->at < HELD_MAX ? o->verdict : aphi_oracle_settle(o);
}

/* ---- observations ------------------------------------------------------------------------------------------------ */

uint32_t aphi_oracle_add_request(aph_oracle *o, int64_t connection, aph_value message, const aph_lookahead *known)
{
    aph_future future = o->env.lossy ? APH_FUTURE_LOST : known && o->rpc ? known->future : APH_FUTURE_OPEN;
    aph_value answer = future == APH_FUTURE_ANSWER ? known->answer : APH_NIL;
    uint64_t rank = future == APH_FUTURE_ANSWER ? known->order
                    : future == APH_FUTURE_OPEN ? UINT64_MAX - 1
                                                : UINT64_MAX;
    APHI_GROW(o, o->ops, o->op_capacity, o->op_count + 1);
    uint32_t index = (uint32_t)o->op_count++;
    uint32_t slot = allocate_slot(o);
    o->ops[index] = (aphi_request){.id = o->requests++,
                                 .connection = connection,
                                 .message = message,
                                 .answer = answer,
                                 .end_at = UINT64_MAX,
                                 .part = o->parts ? aphi_model_part(o->model, message) : APH_NIL,
                                 .rank = rank,
                                 .shown = known && o->rpc && known->shown ? known->shown : UINT64_MAX,
                                 .sought = known && o->rpc ? known->sought : 0,
                                 .slot = slot,
                                 .alone = known && known->alone,
                                 .previous = APHI_NONE,
                                 .next = APHI_NONE,
                                 .future = future,
                                 .line = o->line,
                                 .signal = aphi_is_signal(message),
                                 .reads = o->rpc && future == APH_FUTURE_ANSWER && o->model->reads &&
                                          aphi_model_reads(o->model, message, answer)};
    o->known_answers += future == APH_FUTURE_ANSWER;
    if (future != APH_FUTURE_LOST)
        push_request(o, connection, index);
    else
        follow_queue(o, connection, index);
    return index;
}

/* A request that may be lost may also arrive twice. */
static void add_duplicate(aph_oracle *o, int64_t connection, aph_value message, uint64_t id)
{
    uint32_t index = aphi_oracle_add_request(o, connection, message, NULL);
    o->requests--;
    o->ops[index].id = id;
    o->ops[index].duplicate = true;
    add_event(o, APHI_OBSERVED_REQUEST, index, connection, APH_NIL);
}

/* Adds a delivery: without message order, the observed message can be any that was sent; on a connection that the
 * server opened, any that it sent on a connection of its own. message may be a wildcard. */
static uint32_t add_delivery(aph_oracle *o, int64_t connection, aph_value message, bool quiet)
{
    APHI_GROW(o, o->ops, o->op_capacity, o->op_count + 1);
    uint32_t index = (uint32_t)o->op_count++;
    o->ops[index] = (aphi_request){.id = UINT64_MAX,
                                   .connection = connection,
                                   .line = o->line,
                                   .slot = allocate_slot(o),
                                   .message = message == APHI_WILDCARD ? APH_NIL : message,
                                   .previous = APHI_NONE,
                                   .next = APHI_NONE,
                                   .delivery = true,
                                   .quiet = quiet,
                                   .end_at = o->event_base + o->event_count};
    aphi_clear_bit(o->used, o->ops[index].slot);
    return index;
}

static APHI_COLD aph_verdict reject_answer(aph_oracle *o, int64_t connection, const char *what)
{
    o->fault = APH_FAULT_ANSWER;
    o->fault_line = o->line;
    snprintf(o->message, sizeof o->message, "connection %lld: %s", (long long)connection, what);
    return o->verdict = APH_UNKNOWN;
}

aph_verdict aph_oracle_sent(aph_oracle *o, int64_t connection, aph_value message, const aph_lookahead *known,
                            uint64_t *request)
{
    if (!accepts_events(o))
        return o->verdict;
    arm_guard(o);
    const char *wrong = o->connections ? aphi_connections_sent(o, connection, message) : NULL;
    if (wrong)
        return reject_answer(o, connection, wrong);
    if (!o->connections && aphi_is_signal(message))
        return o->verdict; /* the model does not receive it, or the environment has no connections */
    uint32_t index = aphi_oracle_add_request(o, connection, message, known);
    if (request)
        *request = o->ops[index].id;
    add_event(o, APHI_OBSERVED_REQUEST, index, connection, APH_NIL);
    if (o->env.lossy)
        add_duplicate(o, connection, message, o->ops[index].id);
    return advance(o);
}

aph_verdict aph_oracle_received(aph_oracle *o, int64_t connection, aph_value message)
{
    if (!accepts_events(o))
        return o->verdict;
    arm_guard(o);
    const char *wrong = o->connections ? aphi_connections_received(o, connection, message) : NULL;
    if (wrong)
        return reject_answer(o, connection, wrong);
    if (!o->connections && aphi_is_signal(message))
        return o->verdict;
    o->answers++;
    uint32_t index = APHI_NONE;
    if (o->rpc) {
        aphi_request_queue *queue = find_queue(o, connection);
        if (!queue->used || queue->first == APHI_NONE)
            return reject_answer(o, connection, "response without a request");
        index = queue->first;
        queue->first = o->ops[index].next;
        aphi_request *a = &o->ops[index];
        if (a->future == APH_FUTURE_NEVER || (a->future == APH_FUTURE_ANSWER && a->answer != message))
            return reject_answer(o, connection, "the response differs from the one known in advance");
        o->known_answers -= a->future == APH_FUTURE_ANSWER;
        a->end_at = o->event_base + o->event_count;
        aphi_clear_bit(o->used, a->slot);
    } else if (o->env.lossy || connection >= APH_ACCEPTED) {
        index = add_delivery(o, connection, message, false);
    }
    add_event(o, APHI_OBSERVED_ANSWER, index, connection, message);
    return advance(o);
}

/* Without rpc it is unknown which response is lost, so further messages on the connection are ignored. */
static aph_verdict lose_connection(aph_oracle *o, int64_t connection)
{
    if (o->connections)
        return aphi_connections_is_over(o, connection) ? o->verdict
                                                       : aph_oracle_sent(o, connection, APH_LEFT, NULL, NULL);
    /* The lost request is also unknown, so no pending request constrains later ones. */
    for (size_t i = 0; i < o->op_count; i++)
        if (o->ops[i].connection == connection && o->ops[i].end_at == UINT64_MAX)
            o->ops[i].end_at = o->event_base + o->event_count;
    add_event(o, APHI_OBSERVED_LOSS, APHI_NONE, connection, APH_NIL);
    return advance(o);
}

/* Returns a request without a response, or APHI_NONE. The model is rpc. */
static uint32_t find_unanswered(const aph_oracle *o)
{
    for (size_t i = 0; i < o->queue_capacity; i++)
        if (o->queues[i].used && o->queues[i].first != APHI_NONE)
            return o->queues[i].first;
    return APHI_NONE;
}

/* If all requests have responses, all explanations have taken them, so the search learns nothing. */
static aph_verdict require_responses(aph_oracle *o)
{
    uint32_t request = find_unanswered(o);
    if (request == APHI_NONE)
        return o->verdict;
    add_event(o, APHI_OBSERVED_QUIET, request, o->ops[request].connection, APH_NIL);
    return o->verdict = APH_FAIL;
}

aph_verdict aphi_oracle_observe_quiet(aph_oracle *o)
{
    if (o->verdict != APH_PASS)
        return o->verdict;
    o->due = APH_NIL;
    arm_guard(o);
    if (o->rpc)
        return require_responses(o);
    uint32_t index = o->env.lossy ? add_delivery(o, 0, APH_NIL, true) : APHI_NONE;
    add_event(o, APHI_OBSERVED_QUIET, index, 0, APH_NIL);
    return aphi_oracle_settle(o);
}

aph_verdict aphi_oracle_quiet(aph_oracle *o)
{
    aph_verdict verdict = aphi_oracle_observe_quiet(o);
    bool trims = o->env.lossy || (!o->rpc && o->event_count >= WINDOW_QUIET);
    if (verdict == APH_PASS && trims && aphi_search_find_all(o, o->env.lossy ? DRAIN_BUDGET : QUIET_BUDGET)) {
        o->quiet_line = o->line;
        o->quiet_base = o->event_base;
    }
    return verdict;
}

aph_verdict aphi_oracle_lost_oldest(aph_oracle *o, int64_t connection)
{
    if (!accepts_events(o) || o->env.lossy)
        return o->verdict; /* in a lossy environment, a loss proves nothing */
    if (!o->rpc)
        return lose_connection(o, connection);
    aphi_request_queue *queue = find_queue(o, connection);
    return queue->used && queue->first != APHI_NONE ? aph_oracle_lost(o, o->ops[queue->first].id) : o->verdict;
}

aph_verdict aph_oracle_lost(aph_oracle *o, uint64_t request)
{
    if (!accepts_events(o))
        return o->verdict;
    for (uint32_t i = (uint32_t)o->op_count; i-- > 0;) {
        aphi_request *a = &o->ops[i];
        if (a->id != request || a->future != APH_FUTURE_OPEN || a->lost)
            continue;
        if (o->connections)
            return lose_connection(o, a->connection);
        a->lost = true;
        a->end_at = o->event_base + o->event_count;
        if (!o->rpc)
            return lose_connection(o, a->connection);
        remove_request(o, a->connection, i);
        add_event(o, APHI_OBSERVED_LOSS, i, a->connection, APH_NIL);
        return advance(o);
    }
    return o->verdict;
}

/* ---- results ----------------------------------------------------------------------------------------------------- */

aph_fault aph_oracle_fault(const aph_oracle *o, const char **message)
{
    if (message)
        *message = o->message;
    return o->fault;
}

aph_limit aph_oracle_limit(const aph_oracle *o)
{
    return o->limit;
}

aph_oracle_stats aph_oracle_stats_of(const aph_oracle *o)
{
    return (aph_oracle_stats){.requests = o->requests, .answers = o->answers, .configurations = o->configurations,
                              .steps = aphi_machine_steps(o->machine), .solver_calls = aphi_z3_questions(),
                              .window = o->event_count, .bytes = aphi_search_bytes(o) + aph_heap_bytes()};
}

aphi_taken *aphi_oracle_order(const aph_oracle *o, size_t *n)
{
    size_t all = o->order_count;
    for (const aphi_segment *s = o->past; s; s = s->older)
        all += s->n;
    aphi_taken *order = aphi_alloc((all ? all : 1) * sizeof *order);
    *n = all;
    all -= o->order_count;
    if (o->order_count)
        memcpy(order + all, o->order, o->order_count * sizeof *order);
    for (const aphi_segment *s = o->past; s; s = s->older) {
        all -= s->n;
        if (s->n)
            memcpy(order + all, s->taken, s->n * sizeof *order);
    }
    return order;
}
