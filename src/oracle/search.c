/* SPDX-License-Identifier: Apache-2.0
 *
 * search.c - the search for an order in which the server may have taken the requests.
 *
 * Idea:       the search walks over the observations with one configuration. A sent request becomes pending. At a
 *             response, its request must have been taken. If it was not, it is taken now, or after other pending
 *             requests, and a frame on the stack records which requests could be taken first. When nothing fits, the
 *             search backtracks to the last frame that may have caused the failure and tries its next candidate. If the
 *             server takes requests in the order of its responses, no backtracking is needed.
 * Picture:    observations  s1 s2 s3 a2 s4 a1 ...      s: a request is sent, a: its response is observed
 *             frames                 |     |           at a2: take 2; or 1 then 2; or 3 then 2; ...
 * What keeps it small:
 *             1. no configuration is visited twice at one observation (memo.c)
 *             2. a request that leaves the state unchanged is taken as soon as its known response fits
 *             3. of interchangeable requests only the one that ends first is tried
 *             4. before the target, only requests that may influence it, directly or through others, are tried
 *             5. a failure in some parts of the state is not repaired by reordering requests of other parts
 *             6. requests that later responses show to be early, or that are on a path to the target, are tried first
 *             7. explanations that take few lost requests are tried first
 * Invariants: 1. `pending` holds the requests pending at `at`, in the order of their expected ends
 *             2. a bit of `bits` is set only for a pending request that has been taken; a slot is reused only after the
 *                observation that ended its request
 *             3. each configuration in the memo is refuted, for the parts in its `reason` if they are known, or is
 *                being tried
 * Cost:       one lookup in the memo and one in the machine for a response that fits at once. Exponential in the number
 *             of pending requests in the worst case; the limits stop it.
 * Read next:  transition.c, memo.c, oracle.c; ../../tests/property for the tests against other decision procedures. */
#include "oracle/pending.h"

#include "base/memory.h"
#include "oracle/connections.h"
#include "tree/model_calls.h"
#include "tree/step_guard.h"
#include "value/heap.h"

#include <string.h>

enum {
    BACKTRACKS_FEW = 24,
    PATH_PENDING_MIN = 3,    /* requests in flight; PATH_PENDING_MANY as long as there were few backtracks */
    PATH_PENDING_MANY = 8,
    PATH_CORES_NEAR = 4,
    PATH_PROGRESS = 256,
    LIMITS_EVERY = 256,
    RESPONSES_AHEAD = 256,   /* observations */
    COMPARED_MAX = 64,       /* connections whose responses are compared */
};

/* ---- taking a request -------------------------------------------------------------------------------------------- */

static APHI_COLD void record_fault(aph_oracle *o, const aphi_request *a)
{
    const char *message;
    aph_fault fault = aphi_machine_fault(o->machine, &message);
    if (fault && !o->fault) {
        o->fault = fault;
        o->fault_line = a->line;
        snprintf(o->message, sizeof o->message, "%s", message);
    }
    if (aphi_machine_out_of_time(o->machine))
        o->limit = aphi_machine_limit(o->machine);
    if (o->limit == APH_LIMIT_BRANCHES)
        snprintf(o->message, sizeof o->message, "%s", message);
}

static const aphi_successor *run_request(aph_oracle *o, const aphi_request *a, size_t *n)
{
    if (a->quiet) {
        *n = 1;
        o->unchanged = (aphi_successor){.core = o->core};
        return &o->unchanged;
    }
    if (a->delivery)
        return a->connection < APH_ACCEPTED
                   ? aphi_machine_deliver(o->machine, &o->core, a->connection, a->message, n)
                   : aphi_machine_accept(o->machine, &o->core, a->connection, a->message, n);
    aphi_send_mode mode = !o->rpc ? APHI_KEEP
                     : a->future == APH_FUTURE_ANSWER ? APHI_EXPECT
                     : aphi_is_optional(o, a) ? APHI_DROP : APHI_KEEP;
    int64_t from = a->connection;
    aphi_core core = o->core;
    if (o->connections && aphi_connections_discards(o, a)) {
        *n = 0; /* a guess leads behind the close of the connection */
        return NULL;
    }
    if (from >= APH_ACCEPTED && !o->rpc) {
        from = aphi_outbox_own_number(&o->core, from);
        *n = 0;
        if (!from)
            return NULL; /* the server has not opened it yet */
        if (o->model->calls_apart)
            aphi_outbox_close(&core, a->connection);
    }
    const aphi_successor *results =
        a->signal ? aphi_connections_run(o, a, n)
                  : aphi_machine_feed(o->machine, &core, from, a->message, mode, a->answer, n);
    if (aphi_machine_fault(o->machine, NULL) || aphi_machine_out_of_time(o->machine))
        record_fault(o, a);
    return results;
}

static void append_order(aph_oracle *o, uint64_t id, aph_value path)
{
    APHI_GROW(o, o->order, o->order_capacity, o->order_count + 1);
    o->order[o->order_count++] = (aphi_taken){id, path};
}

/* An end that the server does not notice is not a step of the model. */
static void take_signal(aph_oracle *o, const aphi_request *a, const aphi_successor *result)
{
    bool breaks = aphi_connections_breaks(o, a, result), unnoticed = aphi_connections_is_unnoticed(o, a, result);
    if (breaks)
        aphi_connections_lose_earlier(o, a);
    if (!unnoticed)
        append_order(o, a->id | (breaks ? APHI_TAKEN_BROKEN : 0), result->path);
}

static void take_request(aph_oracle *o, const aphi_request *a, const aphi_successor *result)
{
    if (a->signal)
        take_signal(o, a, result);
    o->core = result->core;
    aphi_set_bit(o->bits, a->slot);
    if (o->connections)
        aphi_connections_settle(o);
    if (!a->delivery && !a->signal)
        append_order(o, a->id, result->path);
    else if (a->delivery && a->connection >= APH_ACCEPTED)
        append_order(o, APHI_ACCEPTED, APH_ARRAY_OF(aph_int(a->connection),
                                                   aph_int(aphi_outbox_own_number(&o->core, a->connection))));
    o->configurations++;
}

/* Takes a read if its response fits the current state and leaves it unchanged. No explanation is lost: wherever else
 * the read could be taken, the rest of the history is possible without it. */
static void take_read(aph_oracle *o, const aphi_request *a)
{
    size_t n;
    if (aphi_is_taken(o, a) || !aphi_can_arrive(o, a))
        return;
    const aphi_successor *result = run_request(o, a, &n);
    if (n == 1 && aphi_core_equal(&result->core, &o->core))
        take_request(o, a, result);
}

static void take_reads(aph_oracle *o, aph_value part)
{
    for (size_t i = 0; i < o->pending_count; i++) {
        const aphi_request *a = &o->ops[o->pending[i]];
        if (a->reads && (!o->parts || a->part == part))
            take_read(o, a);
    }
}

/* ---- frames ------------------------------------------------------------------------------------------------------ */

static aphi_frame *top_frame(aph_oracle *o)
{
    return &o->frames[o->frame_count - 1];
}

static void push_frame(aph_oracle *o, uint32_t target, aph_value part, bool target_only)
{
    APHI_GROW(o, o->frames, o->frame_capacity, o->frame_count + 1);
    APHI_GROW(o, o->frame_bits, o->frame_bits_capacity, o->frame_capacity * o->words);
    aphi_copy_bits(o->frame_bits + o->frame_count * o->words, o->bits, o->words);
    o->frames[o->frame_count++] = (aphi_frame){.core = o->core,
                                               .at = o->at,
                                               .target = target,
                                               .target_only = target_only,
                                               .order_count = (uint32_t)o->order_count,
                                               .part = part};
}

/* Adds the frame's configuration to the memo, so that the search does not return to it. The search must be at the
 * frame's observation. This is called late, when a second candidate or a second result is tried: usually the first one
 * fits, and nothing is memoized. */
static void memoize_frame(aph_oracle *o, aphi_frame *f)
{
    if (f->memoized)
        return;
    f->memoized = true;
    f->memo = aphi_memo_add(&o->memo, f->at, &f->core, o->frame_bits + (size_t)(f - o->frames) * o->words, o->optional);
}

/* All candidates of the frame have failed for this reason, so its configuration is refuted. */
static void refute_frame(aph_oracle *o, aphi_parts reason)
{
    memoize_frame(o, top_frame(o));
    o->memo.entries[top_frame(o)->memo].reason = reason;
    o->frame_count--;
}

static void restore_frame(aph_oracle *o, const aphi_frame *f)
{
    o->core = f->core;
    o->order_count = f->order_count;
    aphi_copy_bits(o->bits, o->frame_bits + (size_t)(f - o->frames) * o->words, o->words);
}

/* ---- lost requests ----------------------------------------------------------------------------------------------- */

/* Returns true for a lost request that may have been taken at any time or never, and that no later response shows. */
static bool is_unplaced_loss(const aph_oracle *o, const aphi_request *a)
{
    return (aphi_is_free(a) || (a->lost && aphi_is_over(o, a))) && a->shown == UINT64_MAX;
}

static size_t count_lost_taken(const aph_oracle *o, const uint64_t *bits)
{
    size_t n = 0;
    for (size_t i = 0; i < o->pending_count; i++) {
        const aphi_request *a = &o->ops[o->pending[i]];
        n += aphi_bit(bits, a->slot) && is_unplaced_loss(o, a);
    }
    return n;
}

/* Taking lost requests can repair almost any failure in very many ways, even if it has another cause. So none may be
 * taken at first; if everything else has failed, one may be taken, then two, four and so on. `bits` determines the
 * number taken, so each configuration in the memo was refuted with at least as many left to take. */
static bool skip_lost(aph_oracle *o, const aphi_request *a)
{
    if (o->lost_taken < o->lost_max || !is_unplaced_loss(o, a))
        return false;
    o->skipped_lost = true;
    return true;
}

/* The search has failed with this number of lost requests: restarts it with more. */
static bool restart_with_more_lost(aph_oracle *o)
{
    if (!o->skipped_lost)
        return false;
    o->skipped_lost = false;
    o->lost_max = o->lost_max ? 2 * o->lost_max : 1;
    aphi_search_clear(o);
    o->root_next = 0;
    return aphi_search_next_root(o);
}

/* There is no limit for a patient search, which visits all explanations anyway, or in a lossy environment, where most
 * requests are lost. */
static size_t initial_lost_max(const aph_oracle *o)
{
    size_t most = o->rpc && !o->options.patient ? 0 : SIZE_MAX;
    for (size_t i = 0; i < o->root_count && most != SIZE_MAX; i++) {
        size_t n = count_lost_taken(o, o->root_bits + i * o->words);
        most = n > most ? n : most;
    }
    return most;
}

/* ---- which requests to try --------------------------------------------------------------------------------------- */

/* Returns true for the first request of its kind in this round. Requests with the same message and the same known
 * response, or none, are interchangeable, also on different connections if the model does not distinguish these; the
 * one that ends first comes first in pending. Two kinds with the same hash evict each other, which costs only time. */
static bool first_of_kind(aph_oracle *o, uint32_t request)
{
    const aphi_request *a = &o->ops[request];
    if (a->delivery || a->future == APH_FUTURE_OPEN || (a->future != APH_FUTURE_LOST && !a->alone))
        return true;
    struct aphi_kind_seen *seen =
        &o->kinds[aphi_mix((uint64_t)(uintptr_t)a->message, (uint64_t)(uintptr_t)a->answer) % APHI_KINDS];
    const aphi_request *b = &o->ops[seen->request];
    if (seen->round == o->round && a->message == b->message && a->answer == b->answer && a->future == b->future &&
        ((o->rpc && !o->tells_apart) || a->connection == b->connection) &&
        (a->future != APH_FUTURE_ANSWER || b->rank < a->rank)) {
        o->skipped_alike |= a->connection != b->connection;
        return false;
    }
    *seen = (struct aphi_kind_seen){o->round, request};
    return true;
}

/* Returns true if the effect of b may depend on whether a is taken before it. */
static bool influences(const aph_oracle *o, const aphi_request *a, const aphi_request *b)
{
    return (a->connection == b->connection && a->id < b->id) ||
           (a->part == b->part && !(o->model->commute && aphi_model_commute(o->model, a->message, b->message)));
}

/* Marks the pending requests that may influence the target, directly or through others that have not been taken. */
static void mark_related(aph_oracle *o, const aphi_frame *f)
{
    APHI_RESERVE(o->related, o->related_capacity, o->pending_count);
    if (o->pending_count)
        memset(o->related, 0, o->pending_count);
    for (bool grown = true; grown;) {
        grown = false;
        for (size_t i = 0; i < o->pending_count; i++) {
            const aphi_request *a = &o->ops[o->pending[i]];
            bool hit = !o->related[i] && !aphi_is_taken(o, a) && influences(o, a, &o->ops[f->target]);
            for (size_t k = 0; !o->related[i] && !hit && !aphi_is_taken(o, a) && k < o->pending_count; k++)
                hit = o->related[k] && influences(o, a, &o->ops[o->pending[k]]);
            if (hit) {
                o->related[i] = 1;
                grown = true;
            }
        }
    }
}

/* Returns true if some requests may not influence the target. */
static bool has_unrelated(const aph_oracle *o, const aphi_frame *f)
{
    return (o->model->commute || (o->parts && o->pipelined)) && o->rpc && f->target != APHI_NONE;
}

/* Returns true if failures in different parts have different causes. This does not hold if a full buffer blocks a whole
 * connection. */
static bool separates_causes(const aph_oracle *o)
{
    return o->parts && !(o->pipelined && o->env.buffer) && !o->exhaustive;
}

static aphi_parts part_bit(const aph_oracle *o, aph_value part)
{
    return separates_causes(o) ? (aphi_parts)1 << (aphi_mix((uint64_t)(uintptr_t)part, 0) >> 58) : APHI_ANY_PART;
}

/* Returns the parts of the target and of all requests that may have to be taken before it. */
static aphi_parts concerned_parts(const aph_oracle *o, const aphi_frame *f)
{
    if (f->target == APHI_NONE)
        return APHI_ANY_PART;
    aphi_parts all = part_bit(o, f->part);
    for (size_t i = 0; o->pipelined && has_unrelated(o, f) && i < o->pending_count; i++)
        if (o->related[i])
            all |= part_bit(o, o->ops[o->pending[i]].part);
    return all;
}

/* Returns true if the request at this place in `pending` is worth trying before the target. */
static bool worth_trying(aph_oracle *o, const aphi_frame *f, size_t place)
{
    uint32_t request = o->pending[place];
    const aphi_request *a = &o->ops[request];
    if (request == f->target || aphi_is_taken(o, a) || !aphi_can_arrive(o, a))
        return false;
    if (o->parts && !o->pipelined && a->part != f->part)
        return false;
    if (has_unrelated(o, f) && !o->related[place])
        return false;
    return !skip_lost(o, a) && first_of_kind(o, request);
}

/* The target and the likely request come first, in either order, then the others in the order of pending. */
ptrdiff_t aphi_search_place(const aphi_frame *f, size_t k)
{
    if (k < 2 && f->likely_first)
        k = 1 - k;
    if (k == 0)
        return APHI_TARGET;
    if (!f->likely)
        return (ptrdiff_t)k - 1;
    return (ptrdiff_t)(k == 1 ? f->likely - 1 : k - 1 < f->likely ? k - 2 : k - 1);
}

static bool is_candidate(aph_oracle *o, const aphi_frame *f, size_t k)
{
    ptrdiff_t place = aphi_search_place(f, k);
    if (place == APHI_TARGET)
        return f->target != APHI_NONE && aphi_can_arrive(o, &o->ops[f->target]);
    return !f->target_only && worth_trying(o, f, (size_t)place);
}

static bool has_more_candidates(aph_oracle *o, const aphi_frame *f)
{
    for (size_t k = (size_t)f->candidate + 1; k <= o->pending_count; k++)
        if (is_candidate(o, f, k))
            return true;
    return false;
}

/* Returns true if the target has the same result whether or not a is taken right before it. */
static bool overwrites(aph_oracle *o, const aphi_request *target, const aphi_request *a)
{
    aphi_core core = o->core;
    size_t n;
    const aphi_successor *results = run_request(o, target, &n);
    if (n != 1)
        return false;
    aphi_core alone_core = results[0].core;
    results = run_request(o, a, &n);
    if (n != 1)
        return false;
    o->core = results[0].core;
    results = run_request(o, target, &n);
    o->core = core;
    return n == 1 && aphi_core_equal(&results[0].core, &alone_core);
}

/* Returns true if later responses suggest that a was taken before b: a response shows a value of a before a request is
 * sent whose response shows a value of b; or b overwrites a, and a itself ends before that request. */
static bool precedes(aph_oracle *o, const aphi_request *a, const aphi_request *b)
{
    bool before = a->shown < b->sought, behind = b->shown < a->sought;
    if (before || behind)
        return before && !behind;
    return a->rank < b->sought && b->rank >= a->sought && overwrites(o, b, a);
}

/* Returns the place in pending of a request that should be taken before b; pending_count if there is none. */
static size_t find_preceding(aph_oracle *o, const aphi_request *b)
{
    size_t place = 0;
    for (; place < o->pending_count; place++) {
        const aphi_request *a = &o->ops[o->pending[place]];
        if (a != b && !a->reads && !aphi_is_taken(o, a) && aphi_can_arrive(o, a) && a->part == b->part &&
            precedes(o, a, b))
            break;
    }
    return place;
}

/* Follows find_preceding from b to a request without a predecessor. Returns its place plus 1; `otherwise` if b has no
 * predecessor. */
static uint32_t first_predecessor(aph_oracle *o, const aphi_request *b, uint32_t otherwise)
{
    for (size_t steps = 0; steps < o->pending_count && b->sought; steps++) {
        size_t place = find_preceding(o, b);
        if (place == o->pending_count)
            break;
        otherwise = (uint32_t)place + 1;
        b = &o->ops[o->pending[place]];
    }
    return otherwise;
}

/* The messages for a connection in an outbox, and how many of them were compared with later responses. */
typedef struct compared_queue {
    int64_t connection;
    aph_value queue;
    size_t place;
} compared_queue;

static size_t count_undelivered(const aphi_core *core)
{
    aph_value name, queue;
    size_t n = 0;
    for (size_t i = 0; aph_pair_at(core->outbox, i, &name, &queue); i++)
        n += aph_kind_of(queue) == APH_ARRAY ? aph_count(queue) : 0;
    return n;
}

/* Returns the entry of the connection, or NULL if there are too many. */
static compared_queue *find_compared(compared_queue *all, size_t *n, const aphi_core *core, int64_t connection)
{
    size_t i = 0;
    while (i < *n && all[i].connection != connection)
        i++;
    if (i == COMPARED_MAX)
        return NULL;
    if (i == *n) {
        aph_value queue = aph_get(core->outbox, aph_int(connection));
        all[(*n)++] = (compared_queue){connection, aph_kind_of(queue) == APH_ARRAY ? queue : APH_NIL, 0};
    }
    return &all[i];
}

/* Without rpc: returns true if a message that the server has sent differs from the response that was observed in its
 * place. This refutes most wrong orders at once, not only when the search arrives at that response. */
static bool contradicts_responses(const aph_oracle *o, const aphi_core *core)
{
    if (o->rpc || !o->env.fifo || core->outbox == o->core.outbox || !core->outbox)
        return false;
    compared_queue all[COMPARED_MAX];
    size_t n = 0, left = count_undelivered(core);
    size_t end = o->at + RESPONSES_AHEAD < o->event_count ? o->at + RESPONSES_AHEAD : o->event_count;
    for (size_t i = o->at; i < end && left; i++) {
        const aphi_observed_event *e = &o->events[i];
        if (e->kind == APHI_OBSERVED_LOSS || e->message == APH_BROKEN)
            return false;
        if (e->kind != APHI_OBSERVED_ANSWER || e->connection >= APH_ACCEPTED || e->message == APHI_WILDCARD)
            continue;
        compared_queue *q = find_compared(all, &n, core, e->connection);
        if (!q)
            return false;
        aph_value sent = aph_at(q->queue, q->place++);
        bool compared = q->place <= aph_count(q->queue);
        left -= compared;
        if (compared && sent != e->message && !aph_is_symbolic(sent))
            return true;
    }
    return false;
}

/* Guesses run the model, so they pay off only if the search backtracks occasionally. */
static bool backtracks_often(const aph_oracle *o)
{
    return o->backtracks >= BACKTRACKS_FEW;
}

/* Returns the place in pending, plus 1, of the next request to take on this connection; 0 if there is none. */
static uint32_t find_on_connection(const aph_oracle *o, int64_t connection)
{
    for (uint32_t i = 0; i < o->pending_count; i++) {
        const aphi_request *a = &o->ops[o->pending[i]];
        if (a->connection == connection && !aphi_is_taken(o, a) && aphi_can_arrive(o, a))
            return i + 1;
    }
    return 0;
}

/* Returns true if the server may send the observed message next on its connection once it has taken the request. */
static bool leads_to_response(aph_oracle *o, const aphi_request *a, const aphi_observed_event *e)
{
    size_t n;
    bool leads = false;
    const aphi_successor *results = run_request(o, a, &n);
    for (size_t i = 0; i < n && !leads; i++) {
        aph_value first = aph_at(aph_get(results[i].core.outbox, aph_int(e->connection)), 0);
        leads = first && (first == e->message || aph_is_symbolic(first)) &&
                !contradicts_responses(o, &results[i].core);
    }
    return leads;
}

/* Returns true if the request leads to the response after the one before it, which can be taken now. */
static bool leads_after_previous(aph_oracle *o, const aphi_request *a, const aphi_observed_event *e)
{
    const aphi_request *previous = a->previous == APHI_NONE ? NULL : &o->ops[a->previous];
    size_t n;
    if (!previous || aphi_is_taken(o, previous) || !aphi_can_arrive(o, previous))
        return false;
    const aphi_core core = o->core;
    const aphi_successor *results = run_request(o, previous, &n);
    if (n) {
        o->core = results[0].core;
        aphi_set_bit(o->bits, previous->slot);
    }
    bool leads = n && leads_to_response(o, a, e);
    aphi_clear_bit(o->bits, previous->slot);
    o->core = core;
    return leads;
}

/* Returns true if the server sends nothing when it takes the request. */
static bool sends_nothing(aph_oracle *o, const aphi_request *a)
{
    size_t n;
    const aphi_successor *results = run_request(o, a, &n);
    return n && results[0].core.outbox == o->core.outbox;
}

static uint32_t place_of(const aph_oracle *o, uint32_t request)
{
    uint32_t place = 0;
    while (o->pending[place] != request)
        place++;
    return place;
}

/* Returns the place in pending, plus 1, of the request to take next if the response is to be sent soon. own: that of
 * the next request on its connection; 0: none. */
static uint32_t find_leading(aph_oracle *o, const aphi_observed_event *e, uint32_t own)
{
    if (own && leads_to_response(o, &o->ops[o->pending[own - 1]], e))
        return own;
    for (uint32_t i = 0; i < o->pending_count && !o->fault && !o->limit; i++) {
        const aphi_request *a = &o->ops[o->pending[i]];
        if (aphi_is_taken(o, a))
            continue;
        if (!aphi_can_arrive(o, a) ? leads_after_previous(o, a, e) : leads_to_response(o, a, e))
            return 1 + (aphi_can_arrive(o, a) ? i : place_of(o, a->previous));
    }
    return own && sends_nothing(o, &o->ops[o->pending[own - 1]]) ? own : 0;
}

/* Without rpc, a response is most likely that to a request on its connection, or to one that leads to it. */
static void guess_likely(aph_oracle *o, aphi_frame *f)
{
    const aphi_observed_event *e = &o->events[f->at];
    bool leads = f->target == APHI_NONE && e->kind == APHI_OBSERVED_ANSWER && !o->rpc;
    if (leads)
        f->likely = find_on_connection(o, e->connection);
    if (leads && o->connections && e->message != APHI_WILDCARD && e->connection < APH_ACCEPTED)
        f->likely = find_leading(o, e, f->likely);
    if (!backtracks_often(o))
        return;
    if (f->target != APHI_NONE && !f->target_only)
        f->likely = first_predecessor(o, &o->ops[f->target], 0);
    f->likely_first = f->likely > 0;
}

/* ---- paths to the target ----------------------------------------------------------------------------------------- */

/* Adds a reachable core if it is new; `place` is the first request on the path to it. */
static void add_reached(aph_oracle *o, const aphi_core *core, uint32_t place)
{
    for (size_t i = 0; i < o->reached_count; i++)
        if (aphi_core_equal(&o->reached[i].core, core))
            return;
    APHI_PUSH(o->reached, o->reached_count, o->reached_capacity, (struct aphi_reached){*core, place});
}

/* Returns true if the target fits the i-th core or a later one, and sets *place to the first request on the path to
 * that core. */
static bool fits_any(aph_oracle *o, size_t i, const aphi_request *target, uint32_t *place)
{
    size_t n = 0;
    for (; i < o->reached_count && !n; i++) {
        o->core = o->reached[i].core;
        *place = o->reached[i].place;
        run_request(o, target, &n);
    }
    return n > 0;
}

/* Takes each untaken request of the part from the i-th core. The order on connections is ignored, since a request may
 * wait for one that changes nothing. Returns true if the target fits a new core. */
static bool expand_reached(aph_oracle *o, size_t i, const aphi_request *target, uint32_t *first)
{
    o->round++;
    for (uint32_t place = 0; place < o->pending_count && !o->fault && !o->limit; place++) {
        const aphi_request *a = &o->ops[o->pending[place]];
        size_t n, before = o->reached_count;
        if (a == target || aphi_is_taken(o, a) || (o->parts && a->part != target->part) ||
            skip_lost(o, a) || !first_of_kind(o, o->pending[place]))
            continue;
        o->core = o->reached[i].core;
        const aphi_successor *results = run_request(o, a, &n);
        for (size_t k = 0; k < n; k++)
            add_reached(o, &results[k].core, i ? o->reached[i].place : place);
        if (fits_any(o, before, target, first))
            return true;
    }
    return false;
}

/* If the target does not fit the current core, finds a shortest path to a core that it fits. The first request on the
 * path is tried first; depth-first search would take too long to find it. A request may occur several times on a path,
 * so if there is no path, no order leads to the target. Returns false in that case. */
static bool find_path(aph_oracle *o, aphi_frame *f)
{
    const aphi_request *target = f->target == APHI_NONE || f->target_only ? NULL : &o->ops[f->target];
    /* The core is usually a step or two away. A longer search pays off only if the main search makes no progress. */
    bool progressing = o->configurations - o->progress_at < PATH_PROGRESS;
    size_t least = !progressing ? 0 : backtracks_often(o) ? PATH_PENDING_MIN : PATH_PENDING_MANY;
    if (!target || f->likely || target->future != APH_FUTURE_ANSWER || o->pending_count < least)
        return true;
    const aphi_core core = o->core;
    uint32_t place;
    size_t i = 0;
    o->reached_count = 0;
    add_reached(o, &core, 0);
    if (fits_any(o, 0, target, &place))
        return true;
    size_t most = progressing ? PATH_CORES_NEAR : 2 * o->pending_count;
    bool found = false;
    while (!found && i < o->reached_count && i < most)
        found = expand_reached(o, i++, target, &place);
    o->core = core;
    if (found)
        f->likely = first_predecessor(o, &o->ops[o->pending[place]], place + 1);
    else if (i < o->reached_count && !progressing)
        o->progress_at = o->configurations;
    return found || i < o->reached_count || o->fault || o->limit;
}

static void prepare_candidates(aph_oracle *o, aphi_frame *f)
{
    o->round++;
    o->lost_taken = o->lost_max == SIZE_MAX ? 0 : count_lost_taken(o, o->bits);
    if (has_unrelated(o, f))
        mark_related(o, f);
    f->concerns = concerned_parts(o, f);
    if (f->target != APHI_NONE)
        first_of_kind(o, f->target);
    for (size_t k = 0; k < f->candidate && k <= o->pending_count; k++)
        is_candidate(o, f, k);
}

static bool is_one_part(aphi_parts parts)
{
    return (parts & (parts - 1)) == 0;
}

/* Pops a frame without further candidates. If it made one part wait for another, a later failure of the one is also a
 * failure of the other. */
static void drop_frame(aph_oracle *o)
{
    aphi_parts parts = top_frame(o)->concerns | top_frame(o)->reason;
    if (--o->frame_count && !is_one_part(parts))
        top_frame(o)->dropped_parts |= parts;
}

static size_t count_untaken(const aph_oracle *o)
{
    size_t n = o->pending_count;
    for (size_t i = 0; i < o->words; i++)
        for (uint64_t taken = o->bits[i]; taken; taken &= taken - 1)
            n--;
    return n;
}

/* Returns true if the target and all other pending requests were taken as reads. Taking one of them before the target
 * is then useless: it fits after the target, and the rest of the history does not depend on it. */
static bool all_are_reads(const aph_oracle *o, const aphi_request *a, bool target)
{
    return target && a->reads && !o->env.buffer && count_untaken(o) == 0;
}

/* Takes the opening or end of a connection at once, as servers usually do, or else leaves it pending. */
static bool try_early(aph_oracle *o, aphi_frame *f)
{
    const aphi_request *a = &o->ops[f->target];
    size_t n;
    const aphi_successor *results = run_request(o, a, &n);
    if (o->fault || o->limit || f->result > n)
        return false;
    if (f->result)
        memoize_frame(o, f);
    while (f->result < n) {
        const aphi_successor *result = &results[f->result++];
        if (contradicts_responses(o, &result->core))
            continue;
        take_request(o, a, result);
        return true;
    }
    f->result++;
    o->left_pending = o->at + 1;
    if (!f->memoized)
        drop_frame(o);
    return true;
}

/* Takes the next candidate of the top frame. Returns false if none is left. */
static bool try_candidate(aph_oracle *o)
{
    aphi_frame *f = top_frame(o);
    if (f->early)
        return try_early(o, f);
    prepare_candidates(o, f);
    bool resumed = f->result > 0;
    for (; f->candidate <= o->pending_count; f->candidate++, f->result = 0, resumed = false) {
        if (f->candidate == 1 && f->result == 0) {
            if (!find_path(o, f))
                return false;
            prepare_candidates(o, f);
        }
        if (!is_candidate(o, f, f->candidate) && !resumed)
            continue;
        ptrdiff_t place = aphi_search_place(f, f->candidate);
        const aphi_request *a = &o->ops[place == APHI_TARGET ? f->target : o->pending[place]];
        if (place != APHI_TARGET || f->result)
            memoize_frame(o, f);
        size_t n;
        const aphi_successor *results = run_request(o, a, &n);
        if (o->fault || o->limit)
            return false;
        /* An optional request that changes nothing is useless, unless others wait for it. */
        bool useless = aphi_is_free(a) || (a->lost && aphi_is_over(o, a));
        while (f->result < n) {
            const aphi_successor *result = &results[f->result++];
            if ((useless && !f->target_only && aphi_core_equal(&result->core, &o->core)) ||
                contradicts_responses(o, &result->core))
                continue;
            f->dropped_parts = 0;
            /* A memoized frame is kept until its reason is known. */
            bool last = f->result == n && !(f->memoized && o->pipelined), spent = last && !has_more_candidates(o, f);
            if (spent)
                drop_frame(o);
            take_request(o, a, result);
            take_reads(o, a->part);
            if (!spent && all_are_reads(o, a, place == APHI_TARGET)) {
                f->target_only = true;
                if (last)
                    drop_frame(o);
            }
            return true;
        }
    }
    return false;
}

/* ---- backtracking ------------------------------------------------------------------------------------------------ */

bool aphi_search_next_root(aph_oracle *o)
{
    if (o->root_next >= o->root_count)
        return false;
    size_t i = o->root_next++;
    aphi_pending_rewind(o, 0);
    o->core = o->roots[i].core;
    o->past = o->roots[i].past;
    o->order_count = 0;
    if (o->roots[i].path)
        append_order(o, APHI_BEGUN, o->roots[i].path);
    memcpy(o->bits, o->root_bits + i * o->words, o->words * sizeof *o->bits);
    return true;
}

bool aphi_search_backtrack(aph_oracle *o, aphi_parts reason)
{
    if (!separates_causes(o))
        reason = APHI_ANY_PART;
    o->backtracks++;
    while (o->frame_count && !o->fault && !o->limit) {
        aphi_frame *f = top_frame(o);
        aphi_pending_rewind(o, f->at);
        if (reason & f->dropped_parts)
            reason |= f->dropped_parts;
        if (reason & f->concerns) {
            f->reason |= reason;
            restore_frame(o, f);
            if (try_candidate(o))
                return true;
            reason = f->reason | f->concerns;
        }
        refute_frame(o, reason);
    }
    return !o->fault && !o->limit && (aphi_search_next_root(o) || restart_with_more_lost(o));
}

/* Returns the number of results of the target if no other request can be taken, with the first in *result; otherwise
 * SIZE_MAX. */
static size_t count_forced_results(aph_oracle *o, uint32_t target, const aphi_successor **result)
{
    size_t n;
    if (target == APHI_NONE || o->ops[target].delivery || count_untaken(o) != 1 ||
        !aphi_can_arrive(o, &o->ops[target]))
        return SIZE_MAX;
    *result = run_request(o, &o->ops[target], &n);
    return n;
}

/* Takes the target, possibly after other requests. If there is no choice, no frame is needed, and nothing is memoized
 * unless another branch may lead to the same configuration. */
static bool take_or_branch(aph_oracle *o, uint32_t target, bool target_only)
{
    const aphi_successor *result = NULL;
    size_t n = count_forced_results(o, target, &result);
    bool alone = !o->frame_count && o->root_next == o->root_count;
    aph_value part = target == APHI_NONE ? APH_NIL : o->ops[target].part;
    aphi_parts reason;
    if (n == 0)
        return aphi_search_backtrack(o, part_bit(o, part));
    if (!(n == 1 && alone) && aphi_memo_seen(&o->memo, o->at, &o->core, o->bits, o->optional, &reason))
        return aphi_search_backtrack(o, reason);
    if (n == 1) {
        if (!alone)
            aphi_memo_add(&o->memo, o->at, &o->core, o->bits, o->optional);
        take_request(o, &o->ops[target], result);
        return true;
    }
    push_frame(o, target, part, target_only);
    guess_likely(o, top_frame(o));
    return try_candidate(o) || aphi_search_backtrack(o, top_frame(o)->concerns);
}

/* Every explanation is also found if the request is left pending, so this affects only the order of the search. It
 * keeps openings and ends that no response shows from accumulating. */
static bool take_early(aph_oracle *o, uint32_t request)
{
    aphi_parts reason;
    if (aphi_memo_seen(&o->memo, o->at, &o->core, o->bits, o->optional, &reason))
        return aphi_search_backtrack(o, reason);
    push_frame(o, request, APH_NIL, true);
    top_frame(o)->early = true;
    top_frame(o)->concerns = APHI_ANY_PART;
    return try_candidate(o) || aphi_search_backtrack(o, APHI_ANY_PART);
}

/* Systems accept connections in the order in which they were opened. */
static bool waits_for_opening(const aph_oracle *o, const aphi_request *a)
{
    for (size_t i = o->pending_count; i-- > 0 && a->message == APH_OPENED;) {
        const aphi_request *b = &o->ops[o->pending[i]];
        if (b->message == APH_OPENED && !aphi_is_taken(o, b))
            return true;
    }
    return false;
}

static bool is_early(aph_oracle *o, const aphi_request *a)
{
    const aphi_request *previous = a->previous == APHI_NONE ? NULL : &o->ops[a->previous];
    bool left_pending = o->left_pending == o->at + 1;
    o->left_pending = 0;
    return a->signal && !left_pending && !aphi_is_taken(o, a) && !o->exhaustive && !waits_for_opening(o, a) &&
           (!previous || aphi_is_taken(o, previous) || aphi_is_over(o, previous));
}

/* ---- walking over the observations ------------------------------------------------------------------------------- */

static bool pass_request(aph_oracle *o, const aphi_observed_event *e)
{
    const aphi_request *a = &o->ops[e->request];
    if (o->connections && aphi_connections_discards(o, a))
        aphi_set_bit(o->bits, a->slot);
    if ((o->env.immediate || o->eager) && !aphi_is_taken(o, a))
        return take_or_branch(o, e->request, true);
    if (is_early(o, a))
        return take_early(o, e->request);
    if (o->env.buffer && !a->signal && aphi_pending_full_oldest(o, a->connection) != APHI_NONE)
        return take_or_branch(o, aphi_pending_full_oldest(o, a->connection), false);
    aphi_pending_advance(o);
    if (o->connections)
        aphi_connections_settle(o);
    if (a->reads)
        take_read(o, a);
    return true;
}

/* At a wildcard: records the response of the current explanation. */
static void record_allowed(aph_oracle *o, aph_value answer, int64_t origin)
{
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
        .order = aphi_copy(o->order, o->order_count * sizeof *o->order), .order_count = o->order_count,
        .root = o->root_next - 1, .origin = origin};
}

/* Records the other origins of the model at which the unexplained message is allowed. */
static void allow_elsewhere(aph_oracle *o, int64_t connection)
{
    for (int64_t i = 0; o->unexplained && i < o->model->origins; i++) {
        size_t n = 0;
        int64_t there = connection + (i - aph_origin_of(connection)) * APH_ACCEPTED;
        if (there != connection)
            aphi_machine_accept(o->machine, &o->core, there, o->unexplained, &n);
        if (n)
            record_allowed(o, o->unexplained, i);
    }
}

/* Without message order: allows each message in the outbox, and each message that is sent when more requests are
 * taken. */
static bool allow_undelivered(aph_oracle *o, int64_t connection)
{
    aph_value sent = aphi_outbox_candidates(o->machine, &o->core, connection);
    for (size_t i = 0; i < aph_count(sent); i++)
        record_allowed(o, aph_at(sent, i), -1);
    allow_elsewhere(o, connection);
    return take_or_branch(o, APHI_NONE, false);
}

/* A reset is the server's close, possibly after messages that were lost. */
static bool pass_reset(aph_oracle *o, const aphi_observed_event *e)
{
    if (!aphi_outbox_is_closed(&o->core, e->connection))
        return take_or_branch(o, APHI_NONE, false);
    aphi_outbox_drop(&o->core, e->connection);
    aphi_pending_advance(o);
    return true;
}

static bool pass_answer(aph_oracle *o, const aphi_observed_event *e)
{
    if (e->message == APH_BROKEN)
        return pass_reset(o, e);
    const aphi_request *a = e->request == APHI_NONE ? NULL : &o->ops[e->request];
    bool known = a && (a->future == APH_FUTURE_ANSWER || a->delivery);
    if (!o->rpc && aphi_outbox_is_ignored(&o->core, e->connection)) {
        aphi_pending_advance(o);
        return true;
    }
    if (e->message == APHI_WILDCARD && aphi_is_delivery(o, e->request))
        return allow_undelivered(o, e->connection);
    if (known ? !aphi_is_taken(o, a) : !aphi_outbox_has(&o->core, e->connection))
        return take_or_branch(o, e->request, false);
    if (e->message == APHI_WILDCARD) {
        record_allowed(o, aph_at(aph_get(o->core.outbox, aph_int(e->connection)), 0), -1);
        return aphi_search_backtrack(o, APHI_ANY_PART);
    }
    if (!known && !aphi_machine_match(o->machine, &o->core, e->connection, e->message))
        return aphi_search_backtrack(o, a ? part_bit(o, a->part) : APHI_ANY_PART);
    if (a)
        aphi_clear_bit(o->bits, a->slot);
    aphi_pending_advance(o);
    return true;
}

/* The number of undelivered responses on the connection before the response to this request. */
static size_t place_in_outbox(const aph_oracle *o, const aphi_request *a)
{
    size_t place = 0;
    for (size_t i = 0; i < o->pending_count; i++) {
        const aphi_request *b = &o->ops[o->pending[i]];
        place += b->connection == a->connection && b->id < a->id && b->future == APH_FUTURE_OPEN &&
                 aphi_is_taken(o, b) && !aphi_is_optional(o, b);
    }
    return place;
}

static bool pass_loss(aph_oracle *o, const aphi_observed_event *e)
{
    const aphi_request *a = e->request == APHI_NONE ? NULL : &o->ops[e->request];
    if (!a)
        aphi_outbox_ignore(&o->core, e->connection);
    else if (aphi_is_taken(o, a) && a->future == APH_FUTURE_OPEN && aphi_outbox_has(&o->core, a->connection))
        aphi_machine_discard(&o->core, a->connection, place_in_outbox(o, a));
    aphi_pending_advance(o);
    return true;
}

/* All messages in flight are lost. Requests may have been taken before, but their responses will not be observed. */
static bool pass_quiet_lossy(aph_oracle *o, const aphi_observed_event *e)
{
    const aphi_request *a = &o->ops[e->request];
    aphi_outbox_clear(&o->core);
    if (!aphi_is_taken(o, a))
        return take_or_branch(o, e->request, false);
    aphi_clear_bit(o->bits, a->slot);
    for (size_t i = 0; i < o->pending_count; i++)
        aphi_set_bit(o->bits, o->ops[o->pending[i]].slot);
    aphi_pending_advance(o);
    return true;
}

static size_t count_due(aph_value outbox)
{
    aph_value name, queue;
    size_t n = 0;
    for (size_t i = 0; aph_pair_at(outbox, i, &name, &queue); i++)
        n += aph_kind_of(queue) == APH_ARRAY ? aph_count(queue) : 0;
    return n;
}

static void keep_due(aph_oracle *o)
{
    if (!o->due || count_due(o->core.outbox) < count_due(o->due))
        o->due = o->core.outbox;
}

/* Each request must have been taken, and each message of the server observed. */
static bool pass_quiet(aph_oracle *o, const aphi_observed_event *e)
{
    if (o->env.lossy)
        return pass_quiet_lossy(o, e);
    if (aphi_outbox_has_any(&o->core)) {
        keep_due(o);
        return aphi_search_backtrack(o, APHI_ANY_PART);
    }
    for (size_t i = 0; i < o->pending_count; i++) {
        const aphi_request *a = &o->ops[o->pending[i]];
        if (!aphi_is_taken(o, a) && !aphi_is_optional(o, a) && !aphi_is_abandoned(o, a))
            return take_or_branch(o, APHI_NONE, false);
    }
    aphi_pending_advance(o);
    return true;
}

static bool uses_too_much(const aph_oracle *o)
{
    return aphi_search_bytes(o) + aphi_heap_size() > o->options.memory;
}

static bool within_limits(aph_oracle *o)
{
    if (aphi_guard_expired())
        o->limit = APH_LIMIT_TIME;
    else if (o->visit_max && o->configurations > o->visit_max)
        o->limit = APH_LIMIT_TIME;
    else if (o->options.memory && uses_too_much(o))
        o->limit = APH_LIMIT_MEMORY;
    return !o->limit;
}

/* Checks the limits, and reclaims values if the heap is full. */
static APHI_COLD bool check_limits(aph_oracle *o)
{
    o->limits_at = o->configurations + LIMITS_EVERY;
    if (o->options.memory && uses_too_much(o)) /* perhaps because of values that are no longer used */
        aph_collect();
    if (!within_limits(o) || (o->exhaustive && o->configurations > o->budget_end))
        return false;
    if (aphi_heap_is_full())
        aph_collect();
    return true;
}

static bool walk_window(aph_oracle *o)
{
    while (o->at < o->event_count) {
        if (o->configurations >= o->limits_at && !check_limits(o))
            return false;
        if (o->at > o->deepest) {
            o->deepest = o->at;
            o->progress_at = o->configurations;
        }
        const aphi_observed_event *e = &o->events[o->at];
        bool on = e->kind == APHI_OBSERVED_REQUEST  ? pass_request(o, e)
                  : e->kind == APHI_OBSERVED_ANSWER ? pass_answer(o, e)
                  : e->kind == APHI_OBSERVED_LOSS   ? pass_loss(o, e) : pass_quiet(o, e);
        if (!on)
            return false;
    }
    return !o->fault && !o->limit;
}

bool aphi_search_is_outdated(const aph_oracle *o)
{
    return o->rpc && !o->tells_apart && aphi_machine_tells_apart(o->machine);
}

/* The model was found to distinguish connections. The search begins again at the start of the window, since requests on
 * different connections were interchanged. Results in earlier windows hold on their own connections. */
static APHI_COLD bool restart_window(aph_oracle *o)
{
    o->tells_apart = true;
    if (o->fault || o->limit)
        return false;
    o->dropped |= o->trimmed_alike;
    o->frame_count = 0;
    aphi_search_clear(o);
    aphi_search_begin(o);
    return true;
}

bool aphi_search(aph_oracle *o)
{
    bool found = walk_window(o);
    if (aphi_search_is_outdated(o) && !o->finding_all)
        found = restart_window(o) && walk_window(o);
    return found;
}

void aphi_search_begin(aph_oracle *o)
{
    o->root_next = 0;
    o->skipped_lost = false;
    o->lost_max = initial_lost_max(o);
    aphi_search_next_root(o);
}

/* ---- memory ------------------------------------------------------------------------------------------------------ */

/* Copies rows of o->words words to rows of `to` words. */
static uint64_t *widen_rows(aph_oracle *o, uint64_t *rows, size_t count, size_t capacity_rows, size_t to)
{
    uint64_t *wide = aphi_alloc_zero((capacity_rows ? capacity_rows : 1) * to * sizeof *wide);
    for (size_t i = 0; i < count; i++)
        memcpy(wide + i * to, rows + i * o->words, o->words * sizeof *wide);
    aphi_oracle_free(o, rows);
    return wide;
}

void aphi_search_clear(aph_oracle *o)
{
    for (size_t i = 0; i < o->frame_count; i++)
        o->frames[i].memoized = false;
    aphi_memo_clear(&o->memo, o->words);
}

void aphi_search_widen(aph_oracle *o, size_t words)
{
    o->used = widen_rows(o, o->used, 1, 1, words);
    o->optional = widen_rows(o, o->optional, 1, 1, words);
    o->bits = widen_rows(o, o->bits, 1, 1, words);
    o->frame_bits = widen_rows(o, o->frame_bits, o->frame_count, o->frame_capacity, words);
    o->frame_bits_capacity = o->frame_capacity * words;
    o->root_bits = widen_rows(o, o->root_bits, o->root_count, o->root_capacity, words);
    o->root_bits_capacity = o->root_capacity * words;
    o->words = words;
    aphi_search_clear(o);
}

size_t aphi_search_bytes(const aph_oracle *o)
{
    return o->op_capacity * sizeof *o->ops + o->event_capacity * sizeof *o->events +
           o->frame_capacity * (sizeof *o->frames + o->words * sizeof *o->bits) + aphi_memo_bytes(&o->memo) +
           o->root_capacity * (sizeof *o->roots + o->words * sizeof *o->bits) + o->order_capacity * sizeof *o->order +
           aphi_machine_bytes(o->machine);
}
