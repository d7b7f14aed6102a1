/* SPDX-License-Identifier: Apache-2.0
 *
 * search.c - find an order in which the server may have taken the requests.
 *
 * Idea:       walk over the observations with one configuration. A request only joins those in flight. At an answer,
 *             its request must have been taken: if it was not, it is taken now, or after others in flight: a frame on
 *             the stack remembers what else could have been taken first. When nothing fits, go back to the last frame
 *             that may have to do with it and try its next. So a server that works in the order it answers is followed
 *             without search.
 * Picture:    observations  s1 s2 s3 a2 s4 a1 ...      s: a request is sent, a: its answer is seen
 *             frames                 |     |           at a2: take 2; or 1 then 2; or 3 then 2; ...
 * What keeps it small:
 *             1. no configuration is gone through twice at one observation (memo.c)
 *             2. a request that leaves the state alone is taken as soon as its known answer fits
 *             3. of requests that are interchangeable only the one that ends first is tried
 *             4. only requests that may influence the target, directly or through others, are tried before it
 *             5. what failed for a request of one part of the state is not mended by reordering another part
 * Invariants: 1. pending holds the requests in flight at `at`, soonest to end first
 *             2. a bit of `bits` is set only for a request in flight that has been taken; a slot serves another request
 *                only after the observation that ended the one before
 *             3. what is in the memo was refuted, for the part that is noted with it if that is known, or is being
 *                tried
 * Cost:       one look-up in the memo and one in the machine for an answer that fits at once. Exponential in the number
 *             of requests in flight at worst; the limits stop it.
 * Read next:  transition.c, memo.c, oracle.c; ../../tests/property for what it is compared with. */
#include "oracle/search.h"

#include "base/memory.h"
#include "tree/guard.h"
#include "value/heap.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { LIMITS_EVERY = 256, COLLECT_SLACK = 8u << 20 };

static void *copy(const void *p, size_t bytes)
{
    void *q = aphi_alloc(bytes ? bytes : 1);
    if (bytes)
        memcpy(q, p, bytes);
    return q;
}

/* ---- bits -------------------------------------------------------------------------------------------------------- */

static bool bit(const uint64_t *bits, uint32_t slot)
{
    return bits[slot / 64] >> (slot % 64) & 1;
}

static void set_bit(uint64_t *bits, uint32_t slot)
{
    bits[slot / 64] |= (uint64_t)1 << (slot % 64);
}

static void clear_bit(uint64_t *bits, uint32_t slot)
{
    bits[slot / 64] &= ~((uint64_t)1 << (slot % 64));
}

/* Rows of `from` words become rows of `to` words. */
static uint64_t *widened(uint64_t *rows, size_t count, size_t capacity_rows, size_t from, size_t to)
{
    uint64_t *wide = aphi_alloc_zero((capacity_rows ? capacity_rows : 1) * to * sizeof *wide);
    for (size_t i = 0; from && i < count; i++)
        memcpy(wide + i * to, rows + i * from, from * sizeof *wide);
    free(rows);
    return wide;
}

static void clear_memo(aph_oracle *o)
{
    for (size_t i = 0; i < o->frame_count; i++)
        o->frames[i].noted = false;
    aphi_memo_clear(&o->memo, o->words);
}

void aphi_search_widen(aph_oracle *o, size_t words)
{
    size_t was = o->words;
    o->used = widened(o->used, 1, 1, was, words);
    o->optional = widened(o->optional, 1, 1, was, words);
    o->bits = widened(o->bits, 1, 1, was, words);
    o->frame_bits = widened(o->frame_bits, o->frame_count, o->frame_capacity, was, words);
    o->frame_bits_capacity = o->frame_capacity * words;
    o->root_bits = widened(o->root_bits, o->root_count, o->root_capacity, was, words);
    o->root_bits_capacity = o->root_capacity * words;
    o->words = words;
    clear_memo(o);
}

/* ---- requests in flight ------------------------------------------------------------------------------------------ */

/* Of equal rank, the older: frames remember places in `pending`, so going back must bring the same order back. */
static bool ends_before(const aph_oracle *o, uint32_t a, uint32_t b)
{
    return o->ops[a].rank != o->ops[b].rank ? o->ops[a].rank < o->ops[b].rank : a < b;
}

static void pending_add(aph_oracle *o, uint32_t asked)
{
    APHI_RESERVE(o->pending, o->pending_capacity, o->pending_count + 1);
    size_t i = o->pending_count++;
    for (; i > 0 && ends_before(o, asked, o->pending[i - 1]); i--)
        o->pending[i] = o->pending[i - 1];
    o->pending[i] = asked;
}

static void pending_remove(aph_oracle *o, uint32_t asked)
{
    size_t i = 0;
    while (o->pending[i] != asked)
        i++;
    memmove(o->pending + i, o->pending + i + 1, (--o->pending_count - i) * sizeof *o->pending);
}

static bool over(const aph_oracle *o, const aphi_asked *a)
{
    return a->end_at < o->event_base + o->at;
}

static bool taken(const aph_oracle *o, const aphi_asked *a)
{
    return bit(o->bits, a->slot);
}

/* May the environment let this request reach the server now? */
static bool can_arrive(const aph_oracle *o, const aphi_asked *a)
{
    if (!o->env->fifo || a->before == APHI_NONE)
        return true;
    const aphi_asked *before = &o->ops[a->before];
    return over(o, before) || taken(o, before);
}

static bool is_optional(const aph_oracle *o, const aphi_asked *a)
{
    return a->future == APH_FUTURE_NEVER || a->future == APH_FUTURE_LOST || (a->lost && over(o, a));
}

/* An optional request that nothing waits behind: not to have taken it is never worse. */
static bool is_free(const aphi_asked *a)
{
    return a->future == APH_FUTURE_LOST || (a->future == APH_FUTURE_NEVER && a->alone);
}

/* ---- taking a request -------------------------------------------------------------------------------------------- */

static const aphi_after *feed(aph_oracle *o, const aphi_asked *a, size_t *n)
{
    aphi_fate fate = !o->rpc ? APHI_KEEP
                     : a->future == APH_FUTURE_ANSWER ? APHI_EXPECT
                     : is_optional(o, a) ? APHI_DROP : APHI_KEEP;
    /* An rpc model treats connections alike, so one number serves all unless mail has to find its way. */
    int64_t from = fate == APHI_KEEP ? a->connection : 0;
    const aphi_after *results = aphi_machine_feed(o->machine, &o->core, from, a->message, fate, a->answer, n);
    const char *message;
    aph_fault fault = aphi_machine_fault(o->machine, &message);
    if (fault && !o->fault) {
        o->fault = fault;
        o->fault_line = a->line;
        snprintf(o->message, sizeof o->message, "%s", message);
    }
    if (aphi_machine_out_of_time(o->machine))
        o->limit = APH_LIMIT_TIME;
    return results;
}

static void write_order(aph_oracle *o, uint64_t id, aph_value path)
{
    APHI_RESERVE(o->order, o->order_capacity, o->order_count + 1);
    o->order[o->order_count++] = (aphi_taken){id, path};
}

static void take(aph_oracle *o, const aphi_asked *a, const aphi_after *result)
{
    o->core = result->core;
    set_bit(o->bits, a->slot);
    write_order(o, a->id, result->path);
    o->configurations++;
}

/* Take a request that only reads, if its answer fits as things are. Wherever else it could be taken with that answer it
 * would change nothing there either, so nothing is lost. */
static void take_read(aph_oracle *o, const aphi_asked *a)
{
    size_t n;
    if (taken(o, a) || !can_arrive(o, a))
        return;
    const aphi_after *result = feed(o, a, &n);
    if (n == 1 && aphi_core_equal(&result->core, &o->core))
        take(o, a, result);
}

static void take_reads(aph_oracle *o, aph_value part)
{
    for (size_t i = 0; i < o->pending_count; i++) {
        const aphi_asked *a = &o->ops[o->pending[i]];
        if (a->reads && (!o->parts || a->part == part))
            take_read(o, a);
    }
}

/* ---- frames ------------------------------------------------------------------------------------------------------ */

static aphi_frame *top(aph_oracle *o)
{
    return &o->frames[o->frame_count - 1];
}

static void push_frame(aph_oracle *o, uint32_t target, aph_value part, bool only)
{
    APHI_RESERVE(o->frames, o->frame_capacity, o->frame_count + 1);
    APHI_RESERVE(o->frame_bits, o->frame_bits_capacity, o->frame_capacity * o->words);
    memcpy(o->frame_bits + o->frame_count * o->words, o->bits, o->words * sizeof *o->bits);
    o->frames[o->frame_count++] = (aphi_frame){.core = o->core, .at = o->at, .target = target, .only = only,
                                               .order_count = (uint32_t)o->order_count, .part = part};
}

/* Write the frame's configuration down: to come to it again would be to go round in a circle. The search must be at the
 * frame's observation. That is late enough: where the first try fits, as it mostly does, nothing is ever written. */
static void note_frame(aph_oracle *o, aphi_frame *f)
{
    if (f->noted)
        return;
    f->noted = true;
    f->memo = aphi_memo_add(&o->memo, f->at, &f->core, o->frame_bits + (size_t)(f - o->frames) * o->words, o->optional);
}

/* All that the frame could try has failed, for this reason: its configuration is refuted. */
static void refute_frame(aph_oracle *o, aph_value reason)
{
    note_frame(o, top(o));
    o->memo.entries[top(o)->memo].reason = reason;
    o->frame_count--;
}

/* What is in flight, and which of it is optional, depends on the observation alone: one step forward, one back. */
static void pass(aph_oracle *o)
{
    const aphi_seen_event *e = &o->events[o->at++];
    if (e->asked == APHI_NONE)
        return;
    const aphi_asked *a = &o->ops[e->asked];
    if (e->kind == APHI_SAW_REQUEST)
        pending_add(o, e->asked);
    else if (e->kind == APHI_SAW_ANSWER)
        pending_remove(o, e->asked);
    if (e->kind == APHI_SAW_LOSS || is_free(a))
        set_bit(o->optional, a->slot);
}

static void unpass(aph_oracle *o)
{
    const aphi_seen_event *e = &o->events[--o->at];
    if (e->asked == APHI_NONE)
        return;
    const aphi_asked *a = &o->ops[e->asked];
    if (e->kind == APHI_SAW_REQUEST)
        pending_remove(o, e->asked);
    else if (e->kind == APHI_SAW_ANSWER)
        pending_add(o, e->asked);
    if (e->kind == APHI_SAW_LOSS || is_free(a))
        clear_bit(o->optional, a->slot);
}

static void go_back(aph_oracle *o, uint32_t at)
{
    while (o->at > at)
        unpass(o);
}

static void restore(aph_oracle *o, const aphi_frame *f)
{
    o->core = f->core;
    o->order_count = f->order_count;
    memcpy(o->bits, o->frame_bits + (size_t)(f - o->frames) * o->words, o->words * sizeof *o->bits);
}

/* ---- which requests to try --------------------------------------------------------------------------------------- */

/* Is this the first of its kind in this round? Requests with one message, one known answer or none, are
 * interchangeable, and pending has the one that ends first first. The table forgets where two kinds share a place: that
 * costs only time. */
static bool first_of_kind(aph_oracle *o, uint32_t asked)
{
    const aphi_asked *a = &o->ops[asked];
    if (!o->rpc || a->future == APH_FUTURE_OPEN || (a->future != APH_FUTURE_LOST && !a->alone))
        return true;
    struct aphi_kind_seen *seen =
        &o->kinds[aphi_mix((uint64_t)(uintptr_t)a->message, (uint64_t)(uintptr_t)a->answer) % APHI_KINDS];
    const aphi_asked *b = &o->ops[seen->asked];
    if (seen->round == o->round && a->message == b->message && a->answer == b->answer && a->future == b->future &&
        (a->future != APH_FUTURE_ANSWER || b->rank < a->rank))
        return false;
    *seen = (struct aphi_kind_seen){o->round, asked};
    return true;
}

static bool influences(const aph_oracle *o, const aphi_asked *a, const aphi_asked *b)
{
    return a->connection == b->connection || !o->model->commute(a->message, b->message);
}

/* Mark what may influence the target through requests in flight that have not been taken. */
static void relate(aph_oracle *o, const aphi_frame *f)
{
    APHI_RESERVE(o->related, o->related_capacity, o->pending_count);
    if (o->pending_count)
        memset(o->related, 0, o->pending_count);
    for (bool grown = true; grown;) {
        grown = false;
        for (size_t i = 0; i < o->pending_count; i++) {
            const aphi_asked *a = &o->ops[o->pending[i]];
            bool hit = !o->related[i] && !taken(o, a) && influences(o, a, &o->ops[f->target]);
            for (size_t k = 0; !o->related[i] && !hit && !taken(o, a) && k < o->pending_count; k++)
                hit = o->related[k] && influences(o, a, &o->ops[o->pending[k]]);
            if (hit) {
                o->related[i] = 1;
                grown = true;
            }
        }
    }
}

static bool uses_commute(const aph_oracle *o, const aphi_frame *f)
{
    return o->model->commute && o->rpc && f->target != APHI_NONE;
}

/* Is the request at this place in `pending` worth trying before the target? */
static bool worth_trying(aph_oracle *o, const aphi_frame *f, size_t place)
{
    uint32_t asked = o->pending[place];
    const aphi_asked *a = &o->ops[asked];
    if (asked == f->target || taken(o, a) || !can_arrive(o, a))
        return false;
    if (o->parts && !o->pipelined && a->part != f->part)
        return false;
    if (uses_commute(o, f) && !o->related[place])
        return false;
    return first_of_kind(o, asked);
}

static bool has_more(aph_oracle *o, const aphi_frame *f, size_t place)
{
    for (; !f->only && place < o->pending_count; place++)
        if (worth_trying(o, f, place))
            return true;
    return false;
}

static void begin_trying(aph_oracle *o, const aphi_frame *f)
{
    o->round++;
    if (uses_commute(o, f))
        relate(o, f);
    if (f->target != APHI_NONE)
        first_of_kind(o, f->target);
    for (size_t i = 0; i + 1 < f->candidate && i < o->pending_count; i++)
        worth_trying(o, f, i);
}

/* Take the top frame's next possibility. Candidate 0 is the target, i > 0 the request at place i - 1 of `pending`. */
static bool try_next(aph_oracle *o)
{
    aphi_frame *f = top(o);
    begin_trying(o, f);
    bool resumed = f->result > 0;
    for (; f->candidate <= o->pending_count; f->candidate++, f->result = 0, resumed = false) {
        if (f->candidate == 0 && f->target == APHI_NONE)
            continue;
        if (f->candidate > 0 && (f->only || (!worth_trying(o, f, f->candidate - 1) && !resumed)))
            continue;
        const aphi_asked *a = &o->ops[f->candidate ? o->pending[f->candidate - 1] : f->target];
        if (f->candidate > 0)
            note_frame(o, f);
        if (f->candidate == 0 && !can_arrive(o, a))
            continue;
        size_t n;
        const aphi_after *results = feed(o, a, &n);
        if (o->fault || o->limit)
            return false;
        /* To take what changes nothing and is not asked for is no use, unless others wait behind it. */
        bool idle = is_free(a) || (a->lost && over(o, a));
        while (f->result < n) {
            const aphi_after *result = &results[f->result++];
            if (idle && !f->only && aphi_core_equal(&result->core, &o->core))
                continue;
            /* A frame that has nothing left is not worth keeping, unless for the reason of what failed before. */
            if (f->result == n && !f->tainted && !has_more(o, f, f->candidate))
                o->frame_count--;
            take(o, a, result);
            take_reads(o, a->part);
            return true;
        }
    }
    return false;
}

/* ---- going back -------------------------------------------------------------------------------------------------- */

static bool next_root(aph_oracle *o)
{
    if (o->root_next >= o->root_count)
        return false;
    size_t i = o->root_next++;
    go_back(o, 0);
    o->core = o->roots[i].core;
    o->past = o->roots[i].past;
    o->order_count = 0;
    if (o->roots[i].path)
        write_order(o, UINT64_MAX, o->roots[i].path);
    memcpy(o->bits, o->root_bits + i * o->words, o->words * sizeof *o->bits);
    return true;
}

/* The configuration at hand leads nowhere, because of a part of the state or for a reason unknown. Find another. */
static bool go_elsewhere(aph_oracle *o, aph_value reason)
{
    if (!o->parts || o->pipelined || o->exhaustive)
        reason = aphi_memo_any;
    while (o->frame_count && !o->fault && !o->limit) {
        aphi_frame *f = top(o);
        go_back(o, f->at);
        if (reason == aphi_memo_any || f->part == reason) {
            f->tainted |= reason == aphi_memo_any;
            restore(o, f);
            if (try_next(o))
                return true;
            reason = f->tainted ? aphi_memo_any : f->part;
        }
        refute_frame(o, reason);
    }
    return !o->fault && !o->limit && next_root(o);
}

/* Nothing but the target is in flight, and only one thing can come of it: there is no choice to remember. */
static bool goes_without_saying(aph_oracle *o, uint32_t target)
{
    size_t n;
    if (target == APHI_NONE || o->pending_count != 1 || !can_arrive(o, &o->ops[target]))
        return false;
    const aphi_after *result = feed(o, &o->ops[target], &n);
    if (n != 1)
        return false;
    take(o, &o->ops[target], result);
    return true;
}

static bool branch_out(aph_oracle *o, uint32_t target, bool only)
{
    if (goes_without_saying(o, target))
        return true;
    aph_value part = target == APHI_NONE ? APH_NIL : o->ops[target].part, reason;
    if (aphi_memo_seen(&o->memo, o->at, &o->core, o->bits, o->optional, &reason))
        return go_elsewhere(o, reason);
    push_frame(o, target, part, only);
    return try_next(o) || go_elsewhere(o, part);
}

/* ---- walking over the observations ------------------------------------------------------------------------------- */

static bool pass_request(aph_oracle *o, const aphi_seen_event *e)
{
    const aphi_asked *a = &o->ops[e->asked];
    if (o->env->immediate && !taken(o, a))
        return branch_out(o, e->asked, true);
    pass(o);
    if (a->reads)
        take_read(o, a);
    return true;
}

/* At a wildcard: write down what the explanation at hand would have answered. */
static void allow(aph_oracle *o, int64_t connection)
{
    aph_value answer = aph_at(aph_get(o->core.mail, aph_int(connection)), 0);
    for (size_t i = 0; i < o->allowed_count; i++)
        if (o->allowed[i].answer == answer)
            return;
    if (o->allowed_count == APHI_ALLOWED_MAX) {
        o->limit = APH_LIMIT_TIME;
        return;
    }
    if (!o->allowed)
        o->allowed = aphi_alloc(APHI_ALLOWED_MAX * sizeof *o->allowed);
    o->allowed[o->allowed_count++] = (aphi_allowed){
        .answer = answer, .state = o->core.state, .store = o->core.store,
        .order = copy(o->order, o->order_count * sizeof *o->order), .order_count = o->order_count};
}

static bool pass_answer(aph_oracle *o, const aphi_seen_event *e)
{
    const aphi_asked *a = e->asked == APHI_NONE ? NULL : &o->ops[e->asked];
    bool foreknown = a && a->future == APH_FUTURE_ANSWER;
    if (!o->rpc && aphi_mail_deaf(&o->core, e->connection)) {
        pass(o);
        return true;
    }
    if (foreknown ? !taken(o, a) : !aphi_mail_waits(&o->core, e->connection))
        return branch_out(o, e->asked, false);
    if (e->message == APHI_WILDCARD) {
        allow(o, e->connection);
        return go_elsewhere(o, aphi_memo_any);
    }
    if (!foreknown && !aphi_machine_match(o->machine, &o->core, e->connection, e->message))
        return go_elsewhere(o, a ? a->part : aphi_memo_any);
    if (a)
        clear_bit(o->bits, a->slot);
    pass(o);
    return true;
}

/* How many answers to older requests wait on the connection, before the answer to this one. */
static size_t place_in_mail(const aph_oracle *o, const aphi_asked *a)
{
    size_t place = 0;
    for (size_t i = 0; i < o->pending_count; i++) {
        const aphi_asked *b = &o->ops[o->pending[i]];
        place += b->connection == a->connection && b->id < a->id && b->future == APH_FUTURE_OPEN && taken(o, b) &&
                 !is_optional(o, b);
    }
    return place;
}

static bool pass_loss(aph_oracle *o, const aphi_seen_event *e)
{
    const aphi_asked *a = e->asked == APHI_NONE ? NULL : &o->ops[e->asked];
    if (!a)
        aphi_mail_deafen(&o->core, e->connection);
    else if (taken(o, a) && a->future == APH_FUTURE_OPEN && aphi_mail_waits(&o->core, a->connection))
        aphi_machine_discard(&o->core, a->connection, place_in_mail(o, a));
    pass(o);
    return true;
}

static bool within_limits(aph_oracle *o)
{
    if (aphi_guard_expired())
        o->limit = APH_LIMIT_TIME;
    else if (o->visit_max && o->configurations > o->visit_max)
        o->limit = APH_LIMIT_TIME;
    else if (o->options.memory && aphi_search_bytes(o) + aph_heap_bytes() > o->options.memory)
        o->limit = APH_LIMIT_MEMORY;
    return !o->limit;
}

static bool walk(aph_oracle *o)
{
    while (o->at < o->event_count) {
        if (o->configurations >= o->limits_at) {
            o->limits_at = o->configurations + LIMITS_EVERY;
            if (!within_limits(o) || (o->exhaustive && o->configurations > o->budget_end))
                return false;
            if (aph_heap_bytes() > 2 * aph_heap_bytes_kept() + COLLECT_SLACK)
                aph_collect();
        }
        if (o->at > o->deepest)
            o->deepest = o->at;
        const aphi_seen_event *e = &o->events[o->at];
        bool on = e->kind == APHI_SAW_REQUEST ? pass_request(o, e)
                  : e->kind == APHI_SAW_ANSWER ? pass_answer(o, e) : pass_loss(o, e);
        if (!on)
            return false;
    }
    return !o->fault && !o->limit;
}

void aphi_search_begin(aph_oracle *o)
{
    o->root_next = 0;
    next_root(o);
}

bool aphi_search(aph_oracle *o)
{
    return walk(o);
}

/* ---- forgetting -------------------------------------------------------------------------------------------------- */

void aphi_segment_drop(aphi_segment *s)
{
    while (s && --s->count == 0) {
        aphi_segment *older = s->older;
        free(s);
        s = older;
    }
}

static aphi_segment *segment_of(aph_oracle *o)
{
    if (!o->options.order)
        return NULL;
    aphi_segment *s = aphi_alloc(sizeof *s + o->order_count * sizeof *s->taken);
    *s = (aphi_segment){.older = o->past, .count = 1, .n = o->order_count};
    if (o->past)
        o->past->count++;
    if (o->order_count)
        memcpy(s->taken, o->order, o->order_count * sizeof *s->taken);
    return s;
}

typedef struct survivors {
    aphi_root *roots;
    uint64_t *bits;
    size_t count, capacity, bits_capacity;
} survivors;

static void add_survivor(aph_oracle *o, survivors *s)
{
    aph_value unused;
    if (aphi_memo_seen(&o->memo, o->event_count, &o->core, o->bits, o->optional, &unused))
        return;
    aphi_memo_add(&o->memo, o->event_count, &o->core, o->bits, o->optional);
    APHI_RESERVE(s->roots, s->capacity, s->count + 1);
    APHI_RESERVE(s->bits, s->bits_capacity, (s->count + 1) * o->words);
    memcpy(s->bits + s->count * o->words, o->bits, o->words * sizeof *o->bits);
    s->roots[s->count++] = (aphi_root){.core = o->core, .past = segment_of(o)};
}

static void free_survivors(survivors *s)
{
    for (size_t i = 0; i < s->count; i++)
        aphi_segment_drop(s->roots[i].past);
    free(s->roots);
    free(s->bits);
}

/* What an exhaustive search that gives up has to put back. */
typedef struct bookmark {
    aphi_core core;
    aphi_segment *past;
    size_t root_next, frame_count, order_count;
    aphi_frame *frames;
    uint64_t *frame_bits, *bits;
    aphi_taken *order;
} bookmark;

static bookmark place_bookmark(aph_oracle *o)
{
    return (bookmark){.core = o->core, .past = o->past, .root_next = o->root_next, .frame_count = o->frame_count,
                      .order_count = o->order_count,
                      .frames = copy(o->frames, o->frame_count * sizeof *o->frames),
                      .frame_bits = copy(o->frame_bits, o->frame_count * o->words * sizeof *o->bits),
                      .bits = copy(o->bits, o->words * sizeof *o->bits),
                      .order = copy(o->order, o->order_count * sizeof *o->order)};
}

/* Go forward again to the end of the window, only to have in flight what is. */
static void go_to_end(aph_oracle *o)
{
    while (o->at < o->event_count)
        pass(o);
}

static void return_to_bookmark(aph_oracle *o, const bookmark *b)
{
    go_to_end(o);
    o->core = b->core;
    o->past = b->past;
    o->root_next = b->root_next;
    o->frame_count = b->frame_count;
    o->order_count = b->order_count;
    memcpy(o->frames, b->frames, b->frame_count * sizeof *b->frames);
    memcpy(o->frame_bits, b->frame_bits, b->frame_count * o->words * sizeof *b->bits);
    memcpy(o->bits, b->bits, o->words * sizeof *b->bits);
    memcpy(o->order, b->order, b->order_count * sizeof *b->order);
    /* The memo now holds configurations that were not refuted. */
    clear_memo(o);
}

static void free_bookmark(bookmark *b)
{
    free(b->frames);
    free(b->frame_bits);
    free(b->bits);
    free(b->order);
}

/* Requests that every root has taken and that no answer will end are no longer in flight. */
static void settle_taken(aph_oracle *o, survivors *s)
{
    for (size_t i = 0; i < o->pending_count;) {
        const aphi_asked *a = &o->ops[o->pending[i]];
        bool everywhere = !o->rpc || is_optional(o, a);
        for (size_t k = 0; everywhere && k < s->count; k++)
            everywhere = bit(s->bits + k * o->words, a->slot);
        if (!everywhere) {
            i++;
            continue;
        }
        for (size_t k = 0; k < s->count; k++)
            clear_bit(s->bits + k * o->words, a->slot);
        clear_bit(o->used, a->slot);
        clear_bit(o->optional, a->slot);
        memmove(o->pending + i, o->pending + i + 1, (--o->pending_count - i) * sizeof *o->pending);
    }
}

static uint32_t rename_one(const uint32_t *renamed, uint32_t asked)
{
    return asked == APHI_NONE ? APHI_NONE : renamed[asked];
}

/* The first on the connection, from this one on, that is kept. */
static uint32_t first_kept(const aph_oracle *o, const uint32_t *renamed, uint32_t asked)
{
    while (asked != APHI_NONE && renamed[asked] == APHI_NONE)
        asked = o->lane_next[asked];
    return asked;
}

static void rename_lane(const aph_oracle *o, const uint32_t *renamed, struct aphi_lane *lane)
{
    uint32_t first = first_kept(o, renamed, lane->used ? lane->first : APHI_NONE), last = APHI_NONE;
    for (uint32_t i = first; i != APHI_NONE; i = first_kept(o, renamed, o->lane_next[i]))
        last = i;
    lane->first = rename_one(renamed, first);
    lane->last = rename_one(renamed, last);
}

/* Keep of the requests only those in `keep`, n of them, which get their place there as their new number. */
static void keep_requests(aph_oracle *o, const uint32_t *keep, size_t n)
{
    uint32_t *renamed = aphi_alloc((o->op_count ? o->op_count : 1) * sizeof *renamed);
    aphi_asked *ops = aphi_alloc((n ? n : 1) * sizeof *ops);
    uint32_t *lane_next = aphi_alloc((n ? n : 1) * sizeof *lane_next);
    memset(renamed, 255, o->op_count * sizeof *renamed);
    for (size_t i = 0; i < n; i++)
        renamed[keep[i]] = (uint32_t)i;
    for (size_t i = 0; i < n; i++) {
        ops[i] = o->ops[keep[i]];
        ops[i].before = rename_one(renamed, ops[i].before);
        lane_next[i] = rename_one(renamed, first_kept(o, renamed, o->lane_next[keep[i]]));
    }
    for (size_t i = 0; i < o->lane_size; i++)
        rename_lane(o, renamed, &o->lanes[i]);
    for (size_t i = 0; i < o->event_count; i++)
        o->events[i].asked = rename_one(renamed, o->events[i].asked);
    for (size_t i = 0; i < o->frame_count; i++)
        o->frames[i].target = rename_one(renamed, o->frames[i].target);
    for (size_t i = 0; i < o->pending_count; i++)
        o->pending[i] = renamed[o->pending[i]];
    free(o->ops);
    free(o->lane_next);
    free(renamed);
    o->ops = ops;
    o->lane_next = lane_next;
    o->op_count = o->op_capacity = o->lane_next_capacity = n;
}

void aphi_search_start_window(aph_oracle *o)
{
    o->at = o->deepest = 0;
    o->base_count = o->op_count;
    o->pending_count = 0;
    for (uint32_t i = 0; i < o->op_count; i++) {
        pending_add(o, i);
        if (is_free(&o->ops[i]))
            set_bit(o->optional, o->ops[i].slot);
    }
    clear_memo(o);
    aphi_search_begin(o);
}

static void begin_window(aph_oracle *o, survivors *s)
{
    settle_taken(o, s);
    o->event_base += o->event_count;
    o->event_count = 0;
    o->frame_count = 0;
    uint32_t *in_flight = copy(o->pending, o->pending_count * sizeof *in_flight);
    keep_requests(o, in_flight, o->pending_count);
    free(in_flight);
    for (size_t i = 0; i < o->root_count; i++)
        aphi_segment_drop(o->roots[i].past);
    free(o->roots);
    free(o->root_bits);
    o->roots = s->roots;
    o->root_bits = s->bits;
    o->root_count = s->count;
    o->root_capacity = s->capacity;
    o->root_bits_capacity = s->bits_capacity;
    aphi_search_start_window(o);
}

bool aphi_search_collect(aph_oracle *o, uint64_t budget)
{
    survivors s = {0};
    bookmark back = place_bookmark(o);
    o->exhaustive = true;
    o->budget_end = o->configurations + budget;
    add_survivor(o, &s);
    bool more = o->frame_count || o->root_next < o->root_count, complete = true;
    while (more && complete) {
        more = go_elsewhere(o, aphi_memo_any) && walk(o);
        if (more)
            add_survivor(o, &s);
        complete = o->configurations <= o->budget_end && !o->fault && !o->limit;
    }
    o->exhaustive = false;
    if (complete) {
        go_to_end(o);
        begin_window(o, &s);
    } else {
        free_survivors(&s);
        return_to_bookmark(o, &back);
    }
    free_bookmark(&back);
    return complete;
}

/* ---- letting go -------------------------------------------------------------------------------------------------- */

/* The requests in flight at the search's observation, then those sent since. */
static uint32_t *requests_since(const aph_oracle *o, size_t *n)
{
    uint32_t *list = aphi_alloc((o->op_count + 1) * sizeof *list);
    *n = o->pending_count;
    memcpy(list, o->pending, o->pending_count * sizeof *list);
    for (size_t i = o->at; i < o->event_count; i++)
        if (o->events[i].kind == APHI_SAW_REQUEST)
            list[(*n)++] = o->events[i].asked;
    return list;
}

/* The first n steps of the explanation at hand become its past, and this the only root. */
static void one_root(aph_oracle *o, const aphi_core *core, const uint64_t *bits, size_t n)
{
    size_t rest = o->order_count - n;
    o->order_count = n;
    aphi_segment *past = segment_of(o);
    for (size_t i = 0; i < o->root_count; i++)
        aphi_segment_drop(o->roots[i].past);
    o->roots[0] = (aphi_root){.core = *core, .past = past};
    memcpy(o->root_bits, bits, o->words * sizeof *bits);
    o->root_count = o->root_next = 1;
    o->past = past;
    o->order_count = rest;
    memmove(o->order, o->order + n, rest * sizeof *o->order);
}

/* Give up, untried, what the oldest frames could still try, and all before them. A failure will then not be certain. */
static void let_go(aph_oracle *o)
{
    aphi_core core = o->core;
    uint64_t *bits = copy(o->bits, o->words * sizeof *bits);
    size_t oldest = 0, n;
    while (oldest < o->frame_count && o->frames[oldest].at + APHI_WINDOW_MIN < o->event_count)
        oldest++;
    bool kept = oldest < o->frame_count;
    aphi_frame f =
        kept ? o->frames[oldest] : (aphi_frame){.core = core, .at = o->at, .order_count = (uint32_t)o->order_count};
    one_root(o, &f.core, kept ? o->frame_bits + oldest * o->words : bits, f.order_count);
    go_back(o, f.at);
    uint32_t *keep = requests_since(o, &n);
    o->base_count = o->pending_count;
    o->event_base += f.at;
    o->event_count -= f.at;
    memmove(o->events, o->events + f.at, o->event_count * sizeof *o->events);
    o->frame_count -= oldest;
    memmove(o->frames, o->frames + oldest, o->frame_count * sizeof *o->frames);
    memmove(o->frame_bits, o->frame_bits + oldest * o->words, o->frame_count * o->words * sizeof *o->frame_bits);
    for (size_t i = 0; i < o->frame_count; i++) {
        o->frames[i].at -= f.at;
        o->frames[i].order_count -= f.order_count;
    }
    keep_requests(o, keep, n);
    o->at = o->deepest = 0;
    go_to_end(o);
    clear_memo(o);
    o->core = core;
    memcpy(o->bits, bits, o->words * sizeof *bits);
    free(keep);
    free(bits);
    o->let_go = true;
}

/* Patience: find all configurations, where nothing is in flight if that comes, and if there are too many, later. */
static void forget_patiently(aph_oracle *o)
{
    if (o->foretold && o->event_count < 2 * o->window_max)
        return;
    uint64_t before = o->configurations;
    bool done = aphi_search_collect(o, 4 * o->event_count);
    /* What forgetting costs is not part of what the search visited. */
    o->configurations = before;
    o->window_max = done ? APHI_WINDOW_MIN : 2 * o->window_max;
}

void aphi_search_forget(aph_oracle *o)
{
    if (o->event_count < o->window_max)
        return;
    if (!o->frame_count && o->root_next == o->root_count)
        aphi_search_collect(o, 0);
    else if (o->options.patient)
        forget_patiently(o);
    else if (o->event_count >= 2 * o->window_max)
        let_go(o);
}

size_t aphi_search_bytes(const aph_oracle *o)
{
    return o->op_capacity * sizeof *o->ops + o->event_capacity * sizeof *o->events +
           o->frame_capacity * (sizeof *o->frames + o->words * sizeof *o->bits) + aphi_memo_bytes(&o->memo) +
           o->root_capacity * (sizeof *o->roots + o->words * sizeof *o->bits) + o->order_capacity * sizeof *o->order +
           aphi_machine_bytes(o->machine);
}
