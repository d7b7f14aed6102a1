/* SPDX-License-Identifier: Apache-2.0
 *
 * oracle.c - the oracle as its users see it: observations in, a verdict out.
 *
 * Idea:       write each observation down in the window, let the search walk over it, and now and then forget what lies
 *             behind. All thinking is in search.c. */
#include "oracle/search.h"

#include "base/clock.h"
#include "base/memory.h"
#include "solve/z3.h"
#include "tree/guard.h"
#include "value/heap.h"

#include <assert.h>
#include <stdio.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum { DRAIN_BUDGET = 5000 };    /* configurations to find out what is left when a lossy network has gone quiet */
enum { AFTERMATH_MAX = 20000 }; /* observations written down after a failure */

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
    if (o->collecting)
        aphi_search_collecting_mark(o->collecting);
}

static bool begin(aph_oracle *o)
{
    size_t n;
    const aphi_successor *results = aphi_machine_start(o->machine, &n);
    const char *message;
    o->fault = aphi_machine_fault(o->machine, &message);
    if (o->fault || !n) {
        snprintf(o->message, sizeof o->message, "%s", o->fault ? message : "the model cannot even start");
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

static bool is_first(const aph_oracle *o, const void *p)
{
    return (uintptr_t)p - (uintptr_t)&o->first < sizeof o->first;
}

void aphi_oracle_grow(aph_oracle *o, void **p, size_t *capacity, size_t need, size_t size)
{
    void *out = NULL;
    if (is_first(o, *p)) {
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
    if (!is_first(o, p))
        free(p);
}

/* With all arrays where they begin; bits are of one word. */
static aph_oracle *alloc_oracle(void)
{
    aph_oracle *o = aphi_alloc(sizeof *o);
    aphi_first *f = &o->first;
    memset(o, 0, offsetof(aph_oracle, first));
    memset(f->lanes, 0, sizeof f->lanes);
    f->root_bits = f->used = f->optional = f->bits = 0;
#define BEGINS(array, capacity, in) (o->array = (in), o->capacity = sizeof(in) / sizeof *(in))
    BEGINS(ops, op_capacity, f->ops);
    BEGINS(events, event_capacity, f->events);
    BEGINS(pending, pending_capacity, f->pending);
    BEGINS(order, order_capacity, f->order);
    BEGINS(frames, frame_capacity, f->frames);
    BEGINS(frame_bits, frame_bits_capacity, f->frame_bits);
    BEGINS(lanes, lane_size, f->lanes);
#undef BEGINS
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
        snprintf(error, error_size, "there is no environment %s; there are " APHI_ENV_NAMES, options->environment);
        return NULL;
    }
    aph_oracle *o = alloc_oracle();
    o->model = model;
    o->options = *options;
    o->env = env;
    o->rpc = model->rpc && !options->ignore_promises && !env.lossy;
    o->eager = model->eager && !o->rpc && !options->ignore_promises && !env.lossy && !env.buffer;
    o->parts = model->part && o->rpc && !one_part;
    o->window_max = APHI_WINDOW_MIN;
    o->rest_at = APHI_WINDOW_REST;
    o->own_machine = !machine;
    o->machine = machine ? machine : aphi_machine_open(model, o->rpc, env.lossy, options->solver_ms);
    aph_root_add(mark_oracle, o);
    if (!begin(o)) {
        snprintf(error, error_size, "%s", o->message);
        aph_oracle_close(o);
        return NULL;
    }
    return o;
}

void aphi_oracle_resume(aph_oracle *o, const aphi_core *core, bool let_go)
{
    o->roots[0] = (aphi_root){.core = *core};
    o->root_count = 1;
    o->let_go = let_go;
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
    free(o->related);
    free(o->reached);
    void *const arrays[] = {o->ops, o->events, o->used, o->optional, o->bits, o->lanes, o->pending, o->order, o->frames,
                            o->frame_bits, o->roots, o->root_bits};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
        aphi_oracle_free(o, arrays[i]);
    free(o);
}

/* ---- bookkeeping of observations --------------------------------------------------------------------------------- */

static aphi_open_queue *lane_of(aph_oracle *o, int64_t connection)
{
    size_t at = aphi_mix((uint64_t)connection, 1) & (o->lane_size - 1);
    while (o->lanes[at].used && o->lanes[at].connection != connection)
        at = (at + 1) & (o->lane_size - 1);
    return &o->lanes[at];
}

static aphi_open_queue *make_lane(aph_oracle *o, int64_t connection)
{
    aphi_open_queue *lane = lane_of(o, connection);
    if (lane->used)
        return lane;
    if ((o->lane_count + 1) * 2 > o->lane_size) {
        aphi_open_queue *old = o->lanes;
        size_t size = o->lane_size;
        /* Empty lanes are left behind, so connections that come and go do not add up. */
        size_t busy = 0;
        for (size_t i = 0; i < size; i++)
            busy += old[i].used && old[i].first != APHI_NONE;
        while (o->lane_size < 4 * (busy + 1))
            o->lane_size *= 2;
        o->lanes = aphi_alloc_zero(o->lane_size * sizeof *o->lanes);
        o->lane_count = 0;
        for (size_t i = 0; i < size; i++)
            if (old[i].used && old[i].first != APHI_NONE) {
                *lane_of(o, old[i].connection) = old[i];
                o->lane_count++;
            }
        aphi_oracle_free(o, old);
        lane = lane_of(o, connection);
    }
    *lane = (aphi_open_queue){.connection = connection, .first = APHI_NONE, .last = APHI_NONE, .used = true};
    o->lane_count++;
    return lane;
}

static void link_to_last(aph_oracle *o, const aphi_open_queue *lane, uint32_t asked)
{
    o->ops[asked].before = lane->last;
    o->pipelined = true;
}

static void lane_push(aph_oracle *o, int64_t connection, uint32_t asked)
{
    aphi_open_queue *lane = make_lane(o, connection);
    if (lane->first == APHI_NONE) {
        lane->first = asked;
    } else {
        o->ops[lane->last].after = asked;
        link_to_last(o, lane, asked);
    }
    lane->last = asked;
}

/* A request without an answer has no place among those that wait for one, but arrives after them all the same. */
static void follow_lane(aph_oracle *o, int64_t connection, uint32_t asked)
{
    aphi_open_queue *lane = lane_of(o, connection);
    if (!lane->used || lane->first == APHI_NONE)
        return;
    link_to_last(o, lane, asked);
}

static void lane_remove(aph_oracle *o, int64_t connection, uint32_t asked)
{
    aphi_open_queue *lane = lane_of(o, connection);
    if (!lane->used || lane->first == APHI_NONE)
        return;
    if (lane->first == asked) {
        lane->first = o->ops[asked].after;
        return;
    }
    for (uint32_t i = lane->first; i != APHI_NONE; i = o->ops[i].after)
        if (o->ops[i].after == asked) {
            o->ops[i].after = o->ops[asked].after;
            if (lane->last == asked)
                lane->last = i;
            return;
        }
}

static void clear_used(aph_oracle *o, uint32_t slot)
{
    o->used[slot / 64] &= ~((uint64_t)1 << (slot % 64));
}

static uint32_t free_slot(aph_oracle *o)
{
    for (size_t i = 0; i < o->words; i++)
        if (~o->used[i]) {
            uint32_t slot = (uint32_t)(i * 64) + (uint32_t)__builtin_ctzll(~o->used[i]);
            o->used[i] |= (uint64_t)1 << (slot % 64);
            return slot;
        }
    aphi_search_widen(o, o->words * 2);
    return free_slot(o);
}

void aphi_oracle_note(aph_oracle *o, aphi_observed_event e)
{
    APHI_GROW(o, o->events, o->event_capacity, o->event_count + 1);
    e.line = o->line;
    o->events[o->event_count++] = e;
}

static void arm(aph_oracle *o)
{
    if (o->armed || !o->own_machine)
        return;
    o->armed = true;
    aphi_guard_arm(o->model, o->options.time_ms ? aphi_clock_ns() + o->options.time_ms * 1000000 : 0,
                   o->options.memory);
}

bool aphi_oracle_wants_more(const aph_oracle *o)
{
    return o->verdict == APH_FAIL && o->foretold && o->event_count - o->deepest < AFTERMATH_MAX;
}

static bool listens(const aph_oracle *o)
{
    return o->verdict == APH_PASS || aphi_oracle_wants_more(o);
}

/* The search found nothing. */
static APHI_COLD aph_verdict give_up(aph_oracle *o)
{
    if (!o->fault && !o->limit && aphi_machine_undecided(o->machine))
        o->limit = APH_LIMIT_SOLVER;
    if (!o->fault && !o->limit && o->let_go)
        o->limit = APH_LIMIT_WINDOW;
    o->verdict = o->fault || o->limit ? APH_UNKNOWN : APH_FAIL;
    return o->verdict;
}

static aph_verdict look(aph_oracle *o)
{
    if (o->verdict != APH_PASS)
        return o->verdict;
    if (!aphi_search(o))
        return give_up(o);
    if (o->event_count >= o->rest_at && !o->pending_count)
        aphi_search_rest(o);
    else if (o->event_count >= o->window_max)
        aphi_search_trim_window(o);
    return o->verdict;
}

/* ---- observations ------------------------------------------------------------------------------------------------ */

uint32_t aphi_oracle_ask(aph_oracle *o, int64_t connection, aph_value message, const aph_lookahead *known)
{
    aph_future future = o->env.lossy ? APH_FUTURE_LOST : known && o->rpc ? known->future : APH_FUTURE_OPEN;
    aph_value answer = future == APH_FUTURE_ANSWER ? known->answer : APH_NIL;
    uint64_t rank = future == APH_FUTURE_ANSWER ? known->order
                    : future == APH_FUTURE_OPEN ? UINT64_MAX - 1
                                                : UINT64_MAX;
    APHI_GROW(o, o->ops, o->op_capacity, o->op_count + 1);
    uint32_t asked = (uint32_t)o->op_count++;
    uint32_t slot = free_slot(o);
    o->ops[asked] = (aphi_request){.id = o->requests++,
                                 .connection = connection,
                                 .message = message,
                                 .answer = answer,
                                 .end_at = UINT64_MAX,
                                 .part = o->parts ? o->model->part(message) : APH_NIL,
                                 .rank = rank,
                                 .shown = known && o->rpc && known->shown ? known->shown : UINT64_MAX,
                                 .sought = known && o->rpc ? known->sought : 0,
                                 .slot = slot,
                                 .alone = known && known->alone,
                                 .before = APHI_NONE,
                                 .after = APHI_NONE,
                                 .future = future,
                                 .line = o->line,
                                 .reads = o->rpc && future == APH_FUTURE_ANSWER && o->model->reads &&
                                          o->model->reads(message, answer)};
    o->foretold += future == APH_FUTURE_ANSWER;
    if (future != APH_FUTURE_LOST)
        lane_push(o, connection, asked);
    else
        follow_lane(o, connection, asked);
    return asked;
}

/* What may be lost may also arrive twice. */
static void ask_again(aph_oracle *o, int64_t connection, aph_value message, uint64_t id)
{
    uint32_t asked = aphi_oracle_ask(o, connection, message, NULL);
    o->requests--;
    o->ops[asked].id = id;
    o->ops[asked].again = true;
    aphi_oracle_note(o, (aphi_observed_event){.kind = APHI_OBSERVED_REQUEST, .asked = asked, .connection = connection});
}

/* Where no order is kept, what was seen may be anything that was said; on a connection that the server opened, anything
 * that it said on some connection of its own. message may be a wildcard. */
static uint32_t ask_what_was_said(aph_oracle *o, int64_t connection, aph_value message, bool quiet)
{
    APHI_GROW(o, o->ops, o->op_capacity, o->op_count + 1);
    uint32_t asked = (uint32_t)o->op_count++;
    o->ops[asked] = (aphi_request){.id = UINT64_MAX, .connection = connection, .line = o->line, .slot = free_slot(o),
                                 .message = message == APHI_WILDCARD ? APH_NIL : message, .before = APHI_NONE,
                                 .after = APHI_NONE, .delivery = true, .quiet = quiet,
                                 .end_at = o->event_base + o->event_count};
    clear_used(o, o->ops[asked].slot);
    return asked;
}

aph_verdict aph_oracle_sent(aph_oracle *o, int64_t connection, aph_value message, const aph_lookahead *known,
                            uint64_t *request)
{
    if (!listens(o))
        return o->verdict;
    arm(o);
    uint32_t asked = aphi_oracle_ask(o, connection, message, known);
    if (request)
        *request = o->ops[asked].id;
    aphi_oracle_note(o, (aphi_observed_event){.kind = APHI_OBSERVED_REQUEST, .asked = asked, .connection = connection});
    if (o->env.lossy)
        ask_again(o, connection, message, o->ops[asked].id);
    return look(o);
}

static APHI_COLD aph_verdict bad_answer(aph_oracle *o, int64_t connection, const char *what)
{
    o->fault = APH_FAULT_ANSWER;
    o->fault_line = o->line;
    snprintf(o->message, sizeof o->message, "connection %lld: %s", (long long)connection, what);
    return o->verdict = APH_UNKNOWN;
}

aph_verdict aph_oracle_received(aph_oracle *o, int64_t connection, aph_value message)
{
    if (!listens(o))
        return o->verdict;
    arm(o);
    o->answers++;
    uint32_t asked = APHI_NONE;
    if (o->rpc) {
        aphi_open_queue *lane = lane_of(o, connection);
        if (!lane->used || lane->first == APHI_NONE)
            return bad_answer(o, connection, "an answer, but nothing was asked");
        asked = lane->first;
        lane->first = o->ops[asked].after;
        aphi_request *a = &o->ops[asked];
        if (a->future == APH_FUTURE_NEVER || (a->future == APH_FUTURE_ANSWER && a->answer != message))
            return bad_answer(o, connection, "the answer is not the one that was foretold");
        o->foretold -= a->future == APH_FUTURE_ANSWER;
        a->end_at = o->event_base + o->event_count;
        clear_used(o, a->slot);
    } else if (o->env.lossy || connection >= APH_ACCEPTED) {
        asked = ask_what_was_said(o, connection, message, false);
    }
    aphi_oracle_note(o, (aphi_observed_event){.kind = APHI_OBSERVED_ANSWER, .asked = asked, .connection = connection,
                                   .message = message});
    return look(o);
}

/* Without rpc nobody knows which answer is lost, so nothing more can be said of what comes on the connection. */
static aph_verdict lose_connection(aph_oracle *o, int64_t connection)
{
    /* Nor is it known which request it was, so none of those in flight binds what comes after it. */
    for (size_t i = 0; i < o->op_count; i++)
        if (o->ops[i].connection == connection && o->ops[i].end_at == UINT64_MAX)
            o->ops[i].end_at = o->event_base + o->event_count;
    aphi_oracle_note(o,
                     (aphi_observed_event){.kind = APHI_OBSERVED_LOSS, .asked = APHI_NONE, .connection = connection});
    return look(o);
}

aph_verdict aphi_oracle_silence(aph_oracle *o)
{
    if (o->verdict != APH_PASS)
        return o->verdict;
    uint32_t asked = o->env.lossy ? ask_what_was_said(o, 0, APH_NIL, true) : APHI_NONE;
    aphi_oracle_note(o, (aphi_observed_event){.kind = APHI_OBSERVED_QUIET, .asked = asked});
    return look(o);
}

aph_verdict aphi_oracle_quiet(aph_oracle *o)
{
    if (o->verdict != APH_PASS)
        return o->verdict;
    if (!o->rpc) {
        aph_verdict verdict = aphi_oracle_silence(o);
        if (o->env.lossy && verdict == APH_PASS)
            aphi_search_collect(o, DRAIN_BUDGET);
        return verdict;
    }
    for (size_t i = 0; i < o->lane_size; i++)
        if (o->lanes[i].used && o->lanes[i].first != APHI_NONE)
            return APH_FAIL;
    return APH_PASS;
}

aph_verdict aphi_oracle_lost_oldest(aph_oracle *o, int64_t connection)
{
    if (!listens(o) || o->env.lossy)
        return o->verdict; /* where anything may be lost that says nothing */
    if (!o->rpc)
        return lose_connection(o, connection);
    aphi_open_queue *lane = lane_of(o, connection);
    return lane->used && lane->first != APHI_NONE ? aph_oracle_lost(o, o->ops[lane->first].id) : o->verdict;
}

aph_verdict aph_oracle_lost(aph_oracle *o, uint64_t request)
{
    if (!listens(o))
        return o->verdict;
    for (uint32_t i = (uint32_t)o->op_count; i-- > 0;) {
        aphi_request *a = &o->ops[i];
        if (a->id != request || a->future != APH_FUTURE_OPEN || a->lost)
            continue;
        a->lost = true;
        a->end_at = o->event_base + o->event_count;
        if (!o->rpc)
            return lose_connection(o, a->connection);
        lane_remove(o, a->connection, i);
        aphi_oracle_note(o, (aphi_observed_event){.kind = APHI_OBSERVED_LOSS, .asked = i, .connection = a->connection});
        return look(o);
    }
    return o->verdict;
}

/* ---- asking ------------------------------------------------------------------------------------------------------ */

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
