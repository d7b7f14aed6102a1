/* SPDX-License-Identifier: Apache-2.0
 *
 * window_trim.c - trimming of the window, to bound memory for long histories.
 *
 * Idea:       a new window can start when all configurations that are left are known: they become its roots. If the
 *             search has no frames, there is exactly one. Otherwise the search continues as if each configuration that
 *             reaches the end had failed; if there are too many, a bookmark restores the search. Without
 *             options.patient the oldest frames are dropped instead. If no explanation is left later, the verdict is
 *             unknown, and the caller can repeat the check patiently.
 * Invariants: 1. a window depends on the past only through its roots and the requests pending at them
 *             2. after drop_oldest, a failure is not certain
 * Cost:       drop_oldest is linear in the window, once per window. Finding all configurations is exponential in the
 *             worst case, within a budget. */
#include "oracle/pending.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

enum {
    IDLE_BUDGET = 32,     /* configurations visited to find out whether only one is left */
    QUIET_BUDGET = 2000,  /* the same, whether the server may be quiet */
};

void aphi_segment_drop(aphi_segment *s)
{
    while (s && --s->count == 0) {
        aphi_segment *older = s->older;
        free(s);
        s = older;
    }
}

void aphi_taken_mark(size_t n, const aphi_taken *taken)
{
    for (size_t i = 0; i < n; i++)
        aph_mark(taken[i].path);
}

void aphi_segment_mark(const aphi_segment *s)
{
    for (; s; s = s->older)
        aphi_taken_mark(s->n, s->taken);
}

void aphi_frames_mark(size_t n, const aphi_frame *frames)
{
    for (size_t i = 0; i < n; i++) {
        aphi_core_mark(&frames[i].core);
        aph_mark(frames[i].part);
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
    aphi_parts unused;
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

/* The state of a search, to be restored if an exhaustive search gives up. */
typedef struct bookmark {
    aphi_core core;
    aphi_segment *past;
    size_t root_next, frame_count, order_count, lost_max;
    bool skipped_lost;
    aphi_frame *frames;
    uint64_t *frame_bits, *bits;
    aphi_taken *order;
} bookmark;

static bookmark save_bookmark(aph_oracle *o)
{
    return (bookmark){.core = o->core, .past = o->past, .root_next = o->root_next, .frame_count = o->frame_count,
                      .order_count = o->order_count, .lost_max = o->lost_max, .skipped_lost = o->skipped_lost,
                      .frames = aphi_copy(o->frames, o->frame_count * sizeof *o->frames),
                      .frame_bits = aphi_copy(o->frame_bits, o->frame_count * o->words * sizeof *o->bits),
                      .bits = aphi_copy(o->bits, o->words * sizeof *o->bits),
                      .order = aphi_copy(o->order, o->order_count * sizeof *o->order)};
}

static void restore_bookmark(aph_oracle *o, const bookmark *b)
{
    aphi_pending_advance_to_end(o);
    o->core = b->core;
    o->past = b->past;
    o->root_next = b->root_next;
    o->frame_count = b->frame_count;
    o->order_count = b->order_count;
    o->lost_max = b->lost_max;
    o->skipped_lost = b->skipped_lost;
    memcpy(o->frames, b->frames, b->frame_count * sizeof *b->frames);
    memcpy(o->frame_bits, b->frame_bits, b->frame_count * o->words * sizeof *b->bits);
    memcpy(o->bits, b->bits, o->words * sizeof *b->bits);
    memcpy(o->order, b->order, b->order_count * sizeof *b->order);
    /* The memo contains configurations that were not refuted. */
    aphi_search_clear(o);
}

static void free_bookmark(bookmark *b)
{
    free(b->frames);
    free(b->frame_bits);
    free(b->bits);
    free(b->order);
}

/* Returns true if nothing can depend on the request once it is taken. Its response may still occupy a place in the
 * buffer. */
static bool is_settled(const aph_oracle *o, const aphi_request *a)
{
    return !o->rpc || (aphi_is_optional(o, a) && (!o->env.buffer || aphi_is_abandoned(o, a)));
}

static size_t count_roots_taking(const aph_oracle *o, const survivors *s, const aphi_request *a)
{
    size_t n = 0;
    for (size_t k = 0; k < s->count; k++)
        n += aphi_bit(s->bits + k * o->words, a->slot);
    return n;
}

/* Removes pending requests that each root has taken and that no response will end. If explanations were dropped anyway,
 * also removes requests that were lost before the window and that no root has taken: they would accumulate. */
static void remove_settled(aph_oracle *o, survivors *s)
{
    for (size_t i = 0; i < o->pending_count;) {
        const aphi_request *a = &o->ops[o->pending[i]];
        size_t takers = is_settled(o, a) ? count_roots_taking(o, s, a) : SIZE_MAX;
        bool old = o->dropped && o->rpc && o->pending[i] < o->base_count;
        if (takers != s->count && !(takers == 0 && old)) {
            i++;
            continue;
        }
        for (size_t k = 0; k < s->count; k++)
            aphi_clear_bit(s->bits + k * o->words, a->slot);
        aphi_clear_bit(o->used, a->slot);
        aphi_clear_bit(o->optional, a->slot);
        memmove(o->pending + i, o->pending + i + 1, (--o->pending_count - i) * sizeof *o->pending);
    }
}

static uint32_t renamed_index(const uint32_t *renamed, uint32_t request)
{
    return request == APHI_NONE ? APHI_NONE : renamed[request];
}

/* Returns the first kept request on the connection, starting with this one. */
static uint32_t first_kept(const aph_oracle *o, const uint32_t *renamed, uint32_t request)
{
    while (request != APHI_NONE && renamed[request] == APHI_NONE)
        request = o->ops[request].next;
    return request;
}

static void rename_queue(const aph_oracle *o, const uint32_t *renamed, aphi_request_queue *queue)
{
    uint32_t first = first_kept(o, renamed, queue->used ? queue->first : APHI_NONE), last = APHI_NONE;
    for (uint32_t i = first; i != APHI_NONE; i = first_kept(o, renamed, o->ops[i].next))
        last = i;
    queue->first = renamed_index(renamed, first);
    queue->last = renamed_index(renamed, last);
}

/* Keeps only the n requests in `keep`; their places there become their new indices. */
static void keep_requests(aph_oracle *o, const uint32_t *keep, size_t n)
{
    uint32_t *renamed = aphi_alloc((o->op_count ? o->op_count : 1) * sizeof *renamed);
    aphi_request *ops = aphi_alloc((n ? n : 1) * sizeof *ops);
    memset(renamed, 255, o->op_count * sizeof *renamed);
    for (size_t i = 0; i < n; i++)
        renamed[keep[i]] = (uint32_t)i;
    for (size_t i = 0; i < n; i++) {
        ops[i] = o->ops[keep[i]];
        ops[i].previous = renamed_index(renamed, ops[i].previous);
        ops[i].next = renamed_index(renamed, first_kept(o, renamed, ops[i].next));
    }
    for (size_t i = 0; i < o->queue_capacity; i++)
        rename_queue(o, renamed, &o->queues[i]);
    for (size_t i = 0; i < o->event_count; i++)
        o->events[i].request = renamed_index(renamed, o->events[i].request);
    for (size_t i = 0; i < o->frame_count; i++)
        o->frames[i].target = renamed_index(renamed, o->frames[i].target);
    for (size_t i = 0; i < o->pending_count; i++)
        o->pending[i] = renamed[o->pending[i]];
    aphi_oracle_free(o, o->ops);
    free(renamed);
    o->ops = ops;
    o->op_count = o->op_capacity = n;
}

void aphi_search_start_window(aph_oracle *o)
{
    o->at = o->deepest = 0;
    o->base_count = o->op_count;
    o->idle_trim_at = APHI_WINDOW_IDLE;
    aphi_pending_begin(o);
    aphi_search_clear(o);
    aphi_search_begin(o);
}

static void begin_window(aph_oracle *o, survivors *s)
{
    remove_settled(o, s);
    o->trimmed_alike |= o->skipped_alike && o->pending_count;
    o->skipped_alike = false;
    o->event_base += o->event_count;
    o->event_count = 0;
    o->frame_count = 0;
    uint32_t *pending = aphi_copy(o->pending, o->pending_count * sizeof *pending);
    keep_requests(o, pending, o->pending_count);
    free(pending);
    for (size_t i = 0; i < o->root_count; i++)
        aphi_segment_drop(o->roots[i].past);
    aphi_oracle_free(o, o->roots);
    aphi_oracle_free(o, o->root_bits);
    o->roots = s->roots;
    o->root_bits = s->bits;
    o->root_count = s->count;
    o->root_capacity = s->capacity;
    o->root_bits_capacity = s->bits_capacity;
    aphi_search_start_window(o);
}

/* Removes the limit on lost requests, and restarts the search if candidates were skipped because of it. */
static bool skip_nothing(aph_oracle *o)
{
    o->lost_max = SIZE_MAX;
    if (!o->skipped_lost)
        return true;
    o->skipped_lost = false;
    o->frame_count = 0;
    o->root_next = 0;
    aphi_search_clear(o);
    return aphi_search_next_root(o) && aphi_search(o);
}

struct aphi_find_all {
    survivors found;
    bookmark back;
};

void aphi_search_find_all_mark(const struct aphi_find_all *c)
{
    for (size_t i = 0; i < c->found.count; i++) {
        aphi_core_mark(&c->found.roots[i].core);
        aphi_segment_mark(c->found.roots[i].past);
    }
    aphi_core_mark(&c->back.core);
    aphi_frames_mark(c->back.frame_count, c->back.frames);
    aphi_taken_mark(c->back.order_count, c->back.order);
}

bool aphi_search_find_all(aph_oracle *o, uint64_t budget)
{
    struct aphi_find_all c = {.back = save_bookmark(o)};
    o->finding_all = &c;
    o->exhaustive = true;
    o->budget_end = o->configurations + budget;
    bool complete = !budget || (skip_nothing(o) && !aphi_search_is_outdated(o));
    if (complete)
        add_survivor(o, &c.found);
    bool more = o->frame_count || o->root_next < o->root_count;
    while (more && complete) {
        more = aphi_search_backtrack(o, APHI_ANY_PART) && aphi_search(o);
        if (more)
            add_survivor(o, &c.found);
        complete = o->configurations <= o->budget_end && !o->fault && !o->limit && !aphi_search_is_outdated(o);
    }
    o->exhaustive = false;
    o->finding_all = NULL;
    if (complete) {
        o->dropped |= o->skipped_lost;
        aphi_pending_advance_to_end(o);
        begin_window(o, &c.found);
    } else {
        free_survivors(&c.found);
        restore_bookmark(o, &c.back);
    }
    free_bookmark(&c.back);
    return complete;
}

/* ---- is the server quiet? ---------------------------------------------------------------------------------------- */

static void remove_quiet_mark(aph_oracle *o, const bookmark *back)
{
    aphi_pending_rewind(o, (uint32_t)--o->event_count);
    if (o->deepest > o->event_count)
        o->deepest = (uint32_t)o->event_count;
    restore_bookmark(o, back);
}

/* A message is due only if each configuration is refuted, so the configurations are found once, and only few
 * observations are searched again at the next probe. */
static void trim_before_probe(aph_oracle *o)
{
    uint64_t before = o->configurations;
    if (o->event_count >= o->idle_trim_at && !aphi_search_find_all(o, 4 * o->event_count + QUIET_BUDGET))
        o->idle_trim_at = 2 * o->event_count;
    o->configurations = o->progress_at = before;
}

/* The search never runs a request without a response. A step that sends none breaks the promise rpc. */
static aph_verdict try_pending(aph_oracle *o)
{
    for (size_t i = 0; i < o->pending_count && !o->fault; i++) {
        const aphi_request *a = &o->ops[o->pending[i]];
        const char *message;
        size_t n;
        if (aphi_is_taken(o, a))
            continue;
        aphi_machine_feed(o->machine, &o->core, a->connection, a->message, APHI_KEEP, APH_NIL, &n);
        o->fault = aphi_machine_fault(o->machine, &message);
        if (!o->fault)
            continue;
        o->fault_line = a->line;
        snprintf(o->message, sizeof o->message, "%s", message);
        o->verdict = APH_UNKNOWN;
    }
    return o->verdict;
}

/* Searches over a temporary quiet mark. Configurations that the mark refutes remain possible without it, so the search
 * is restored afterwards. */
aph_verdict aphi_oracle_may_be_quiet(aph_oracle *o)
{
    if (aphi_oracle_settle(o) != APH_PASS || o->env.lossy)
        return o->verdict;
    if (o->rpc)
        return try_pending(o);
    trim_before_probe(o);
    struct aphi_find_all c = {.back = save_bookmark(o)};
    size_t window_max = o->window_max, idle_trim_at = o->idle_trim_at;
    uint64_t visit_max = o->visit_max, visited = o->configurations;
    o->finding_all = &c;
    o->window_max = o->idle_trim_at = SIZE_MAX;
    o->visit_max = o->limits_at = visited + QUIET_BUDGET;
    aph_verdict verdict = aphi_oracle_observe_quiet(o);
    remove_quiet_mark(o, &c.back);
    o->finding_all = NULL;
    o->window_max = window_max;
    o->idle_trim_at = idle_trim_at;
    o->visit_max = visit_max;
    o->configurations = o->progress_at = o->limits_at = visited; /* does not count as visits of the search */
    if (!o->fault) {
        o->verdict = APH_PASS;
        o->limit = APH_LIMIT_NONE;
    }
    free_bookmark(&c.back);
    return verdict;
}

/* ---- dropping frames --------------------------------------------------------------------------------------------- */

/* Returns the requests pending at the current observation, then those sent since then. */
static uint32_t *requests_since(const aph_oracle *o, size_t *n)
{
    uint32_t *list = aphi_alloc((o->op_count + 1) * sizeof *list);
    *n = o->pending_count;
    memcpy(list, o->pending, o->pending_count * sizeof *list);
    for (size_t i = o->at; i < o->event_count; i++)
        if (o->events[i].kind == APHI_OBSERVED_REQUEST || aphi_is_delivery(o, o->events[i].request))
            list[(*n)++] = o->events[i].request;
    return list;
}

/* Makes this configuration the only root, with the first n steps of the current explanation as its past. */
static void set_single_root(aph_oracle *o, const aphi_core *core, const uint64_t *bits, size_t n)
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

/* Marks the pending requests that the root has taken and that nothing in the window ends. Returns false if there are
 * none. */
static bool find_settled(const aph_oracle *o, bool *settled)
{
    bool any = false;
    for (size_t i = 0; i < o->pending_count; i++) {
        const aphi_request *a = &o->ops[o->pending[i]];
        settled[o->pending[i]] = is_settled(o, a) && aphi_bit(o->root_bits, a->slot);
    }
    for (size_t i = o->at; i < o->event_count; i++)
        if (o->events[i].request != APHI_NONE)
            settled[o->events[i].request] = false;
    for (size_t i = 0; i < o->pending_count; i++)
        any |= settled[o->pending[i]];
    return any;
}

/* Adjusts the frame's places in pending to the removal of the settled requests. The search is at the frame. */
static void shift_places(const aph_oracle *o, aphi_frame *f, const bool *settled)
{
    uint32_t tried = 0, before = 0;
    for (size_t k = 0; k < f->candidate && k <= o->pending_count; k++) {
        ptrdiff_t place = aphi_search_place(f, k);
        tried += place != APHI_TARGET && settled[o->pending[place]];
    }
    for (size_t i = 0; i + 1 < f->likely; i++)
        before += settled[o->pending[i]];
    f->candidate -= tried;
    f->likely -= before;
}

/* Like remove_settled, but keeps the frames from `oldest` on; the search is at the first of them. `bits` belong to the
 * configuration at the end of the window. */
static void remove_settled_below(aph_oracle *o, size_t oldest, uint64_t *bits)
{
    bool *settled = aphi_alloc_zero((o->op_count + 1) * sizeof *settled);
    uint32_t at = o->at;
    if (find_settled(o, settled)) {
        for (size_t i = oldest; i < o->frame_count; i++) {
            while (o->at < o->frames[i].at)
                aphi_pending_advance(o);
            shift_places(o, &o->frames[i], settled);
        }
        aphi_pending_rewind(o, at);
        size_t kept = 0;
        for (size_t i = 0; i < o->pending_count; i++) {
            uint32_t slot = o->ops[o->pending[i]].slot;
            if (!settled[o->pending[i]]) {
                o->pending[kept++] = o->pending[i];
                continue;
            }
            for (size_t k = oldest; k < o->frame_count; k++)
                aphi_clear_bit(o->frame_bits + k * o->words, slot);
            aphi_clear_bit(o->root_bits, slot);
            aphi_clear_bit(bits, slot);
            aphi_clear_bit(o->used, slot);
            aphi_clear_bit(o->optional, slot);
        }
        o->pending_count = kept;
    }
    free(settled);
}

/* Drops the oldest frames with their untried candidates. A failure is then not certain. */
static void drop_oldest(aph_oracle *o)
{
    aphi_core core = o->core;
    uint64_t *bits = aphi_copy(o->bits, o->words * sizeof *bits);
    size_t oldest = 0, n;
    while (oldest < o->frame_count && o->frames[oldest].at + APHI_WINDOW_MIN < o->event_count)
        oldest++;
    bool kept = oldest < o->frame_count;
    aphi_frame f =
        kept ? o->frames[oldest] : (aphi_frame){.core = core, .at = o->at, .order_count = (uint32_t)o->order_count};
    set_single_root(o, &f.core, kept ? o->frame_bits + oldest * o->words : bits, f.order_count);
    aphi_pending_rewind(o, f.at);
    remove_settled_below(o, oldest, bits);
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
    aphi_pending_advance_to_end(o);
    aphi_search_clear(o);
    o->core = core;
    memcpy(o->bits, bits, o->words * sizeof *bits);
    free(keep);
    free(bits);
    o->dropped = true;
}

/* Finds all configurations, once no known response is outstanding. If there are too many, retries later. */
static void trim_patiently(aph_oracle *o)
{
    if (o->known_answers && o->event_count < 2 * o->window_max)
        return;
    uint64_t before = o->configurations;
    bool done = aphi_search_find_all(o, 4 * o->event_count);
    /* Trimming does not count as visits of the search. */
    o->configurations = before;
    o->window_max = done ? APHI_WINDOW_MIN : 2 * o->window_max;
}

/* Only one configuration is left: nothing is moved or allocated. */
static void start_from_single(aph_oracle *o)
{
    set_single_root(o, &o->core, o->bits, o->order_count);
    o->event_base += o->event_count;
    o->event_count = o->op_count = 0;
    aphi_search_start_window(o);
}

void aphi_search_trim_idle(aph_oracle *o)
{
    if (!o->frame_count && o->root_next == o->root_count) {
        start_from_single(o);
        return;
    }
    uint64_t before = o->configurations; /* trimming does not count as visits */
    if (!aphi_search_find_all(o, IDLE_BUDGET))
        o->idle_trim_at = 2 * o->event_count;
    o->configurations = o->progress_at = before;
}

void aphi_search_trim_window(aph_oracle *o)
{
    if (!o->frame_count && o->root_next == o->root_count)
        aphi_search_find_all(o, 0);
    else if (o->options.patient)
        trim_patiently(o);
    else if (o->event_count >= 2 * o->window_max)
        drop_oldest(o);
}

