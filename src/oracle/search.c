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
 *             5. what failed for some parts of the state is not mended by reordering what concerns none of them
 *             6. what later answers show to come first is tried first, and what leads to the target is
 *             7. explanations that take few of the requests that were lost are tried first
 * Invariants: 1. pending holds the requests in flight at `at`, soonest to end first
 *             2. a bit of `bits` is set only for a request in flight that has been taken; a slot serves another request
 *                only after the observation that ended the one before
 *             3. what is in the memo was refuted, for the part that is noted with it if that is known, or is being
 *                tried
 * Cost:       one look-up in the memo and one in the machine for an answer that fits at once. Exponential in the number
 *             of requests in flight at worst; the limits stop it.
 * Read next:  transition.c, memo.c, oracle.c; ../../tests/property for what it is compared with. */
#include "oracle/pending.h"

#include "base/memory.h"
#include "tree/guard.h"
#include "value/heap.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum {
    SETBACKS_FEW = 24,
    WAY_MIN = 3,    /* requests in flight; WAY_MANY where there were few setbacks */
    WAY_MANY = 8,
    WAY_NEAR = 4,
    WAY_CALM = 256,
    LIMITS_EVERY = 256,
};

/* ---- taking a request -------------------------------------------------------------------------------------------- */

static APHI_COLD void note_trouble(aph_oracle *o, const aphi_request *a)
{
    const char *message;
    aph_fault fault = aphi_machine_fault(o->machine, &message);
    if (fault && !o->fault) {
        o->fault = fault;
        o->fault_line = a->line;
        snprintf(o->message, sizeof o->message, "%s", message);
    }
    if (aphi_machine_out_of_time(o->machine))
        o->limit = aphi_guard_overfull() ? APH_LIMIT_MEMORY : APH_LIMIT_TIME;
}

static const aphi_successor *feed(aph_oracle *o, const aphi_request *a, size_t *n)
{
    if (a->quiet) {
        *n = 1;
        o->same = (aphi_successor){.core = o->core};
        return &o->same;
    }
    if (a->delivery)
        return a->connection < APH_ACCEPTED
                   ? aphi_machine_deliver(o->machine, &o->core, a->connection, a->message, n)
                   : aphi_machine_accept(o->machine, &o->core, a->connection, a->message, n);
    aphi_fate fate = !o->rpc ? APHI_KEEP
                     : a->future == APH_FUTURE_ANSWER ? APHI_EXPECT
                     : aphi_is_optional(o, a) ? APHI_DROP : APHI_KEEP;
    /* An rpc model treats connections alike, so one number serves all unless mail has to find its way. */
    int64_t from = fate == APHI_KEEP ? a->connection : 0;
    aphi_core core = o->core;
    if (from >= APH_ACCEPTED) {
        from = aphi_mail_opened(&o->core, from);
        *n = 0;
        if (!from)
            return NULL; /* the server has not opened it yet */
        if (o->model->calls_apart)
            aphi_mail_hang_up(&core, a->connection);
    }
    const aphi_successor *results = aphi_machine_feed(o->machine, &core, from, a->message, fate, a->answer, n);
    if (aphi_machine_fault(o->machine, NULL) || aphi_machine_out_of_time(o->machine))
        note_trouble(o, a);
    return results;
}

static void write_order(aph_oracle *o, uint64_t id, aph_value path)
{
    APHI_GROW(o, o->order, o->order_capacity, o->order_count + 1);
    o->order[o->order_count++] = (aphi_taken){id, path};
}

static void take(aph_oracle *o, const aphi_request *a, const aphi_successor *result)
{
    o->core = result->core;
    aphi_set_bit(o->bits, a->slot);
    if (!a->delivery)
        write_order(o, a->id, result->path);
    else if (a->connection >= APH_ACCEPTED)
        write_order(o, APHI_OPENED, APH_ARRAY_OF(aph_int(a->connection),
                                                 aph_int(aphi_mail_opened(&o->core, a->connection))));
    o->configurations++;
}

/* Take a request that only reads, if its answer fits as things are and changes nothing. Wherever else it could be taken
 * with that answer, what comes after it could come without it, so nothing is lost. */
static void take_read(aph_oracle *o, const aphi_request *a)
{
    size_t n;
    if (aphi_is_taken(o, a) || !aphi_can_arrive(o, a))
        return;
    const aphi_successor *result = feed(o, a, &n);
    if (n == 1 && aphi_core_equal(&result->core, &o->core))
        take(o, a, result);
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

static aphi_frame *top(aph_oracle *o)
{
    return &o->frames[o->frame_count - 1];
}

static void push_frame(aph_oracle *o, uint32_t target, aph_value part, bool only)
{
    APHI_GROW(o, o->frames, o->frame_capacity, o->frame_count + 1);
    APHI_GROW(o, o->frame_bits, o->frame_bits_capacity, o->frame_capacity * o->words);
    aphi_copy_bits(o->frame_bits + o->frame_count * o->words, o->bits, o->words);
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
static void refute_frame(aph_oracle *o, aphi_parts reason)
{
    note_frame(o, top(o));
    o->memo.entries[top(o)->memo].reason = reason;
    o->frame_count--;
}

static void restore(aph_oracle *o, const aphi_frame *f)
{
    o->core = f->core;
    o->order_count = f->order_count;
    aphi_copy_bits(o->bits, o->frame_bits + (size_t)(f - o->frames) * o->words, o->words);
}

/* ---- lost requests ----------------------------------------------------------------------------------------------- */

/* A request that was lost may have been taken at any time since, or never, and nothing tells. */
static bool may_be_anywhere(const aph_oracle *o, const aphi_request *a)
{
    return (aphi_is_free(a) || (a->lost && aphi_over(o, a))) && a->shown == UINT64_MAX;
}

static size_t count_lost_taken(const aph_oracle *o, const uint64_t *bits)
{
    size_t n = 0;
    for (size_t i = 0; i < o->pending_count; i++) {
        const aphi_request *a = &o->ops[o->pending[i]];
        n += aphi_bit(bits, a->slot) && may_be_anywhere(o, a);
    }
    return n;
}

/* To take some of the lost requests would mend almost anything that went wrong for another reason, in a great many
 * ways, so at first none may be taken; when all else has failed, one, then two, four and so on. How many were taken
 * shows in `bits`, so what is in the memo was refuted with at least as many left to take. */
static bool hold_back(aph_oracle *o, const aphi_request *a)
{
    if (o->lost_taken < o->lost_max || !may_be_anywhere(o, a))
        return false;
    o->held_back = true;
    return true;
}

/* All has failed with as few: begin again with more. */
static bool begin_with_more(aph_oracle *o)
{
    if (!o->held_back)
        return false;
    o->held_back = false;
    o->lost_max = o->lost_max ? 2 * o->lost_max : 1;
    aphi_search_clear(o);
    o->root_next = 0;
    return aphi_search_next_root(o);
}

/* With patience all explanations are looked for sooner or later; where messages get lost, most requests are. */
static size_t least_lost(const aph_oracle *o)
{
    size_t most = o->rpc && !o->options.patient ? 0 : SIZE_MAX;
    for (size_t i = 0; i < o->root_count && most != SIZE_MAX; i++) {
        size_t n = count_lost_taken(o, o->root_bits + i * o->words);
        most = n > most ? n : most;
    }
    return most;
}

/* ---- which requests to try --------------------------------------------------------------------------------------- */

/* Is this the first of its kind in this round? Requests with one message, one known answer or none, are
 * interchangeable, and pending has the one that ends first first. The table forgets where two kinds share a place: that
 * costs only time. */
static bool first_of_kind(aph_oracle *o, uint32_t asked)
{
    const aphi_request *a = &o->ops[asked];
    if (a->delivery || a->future == APH_FUTURE_OPEN || (a->future != APH_FUTURE_LOST && !a->alone))
        return true;
    struct aphi_kind_seen *seen =
        &o->kinds[aphi_mix((uint64_t)(uintptr_t)a->message, (uint64_t)(uintptr_t)a->answer) % APHI_KINDS];
    const aphi_request *b = &o->ops[seen->asked];
    if (seen->round == o->round && a->message == b->message && a->answer == b->answer && a->future == b->future &&
        (o->rpc || a->connection == b->connection) && (a->future != APH_FUTURE_ANSWER || b->rank < a->rank))
        return false;
    *seen = (struct aphi_kind_seen){o->round, asked};
    return true;
}

/* Can it make a difference to b whether a is taken before it? */
static bool influences(const aph_oracle *o, const aphi_request *a, const aphi_request *b)
{
    return (a->connection == b->connection && a->id < b->id) ||
           (a->part == b->part && !(o->model->commute && o->model->commute(a->message, b->message)));
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

/* Are there requests that cannot make a difference to the target? */
static bool relates(const aph_oracle *o, const aphi_frame *f)
{
    return (o->model->commute || (o->parts && o->pipelined)) && o->rpc && f->target != APHI_NONE;
}

/* Do parts tell causes apart? Not where a full buffer makes everything on its connection wait. */
static bool has_causes(const aph_oracle *o)
{
    return o->parts && !(o->pipelined && o->env.buffer) && !o->exhaustive;
}

static aphi_parts bit_of(const aph_oracle *o, aph_value part)
{
    return has_causes(o) ? (aphi_parts)1 << (aphi_mix((uint64_t)(uintptr_t)part, 0) >> 58) : APHI_ANY_PART;
}

/* The part of the target, and those of requests that may have to be taken before it or before those. */
static aphi_parts concerns_of(const aph_oracle *o, const aphi_frame *f)
{
    if (f->target == APHI_NONE)
        return APHI_ANY_PART;
    aphi_parts all = bit_of(o, f->part);
    for (size_t i = 0; o->pipelined && relates(o, f) && i < o->pending_count; i++)
        if (o->related[i])
            all |= bit_of(o, o->ops[o->pending[i]].part);
    return all;
}

/* Is the request at this place in `pending` worth trying before the target? */
static bool worth_trying(aph_oracle *o, const aphi_frame *f, size_t place)
{
    uint32_t asked = o->pending[place];
    const aphi_request *a = &o->ops[asked];
    if (asked == f->target || aphi_is_taken(o, a) || !aphi_can_arrive(o, a))
        return false;
    if (o->parts && !o->pipelined && a->part != f->part)
        return false;
    if (relates(o, f) && !o->related[place])
        return false;
    return !hold_back(o, a) && first_of_kind(o, asked);
}

/* First comes the target, then the likely one, or the other way round, then the others as they stand. */
ptrdiff_t aphi_search_place(const aphi_frame *f, size_t k)
{
    if (k < 2 && f->eager)
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
    return !f->only && worth_trying(o, f, (size_t)place);
}

static bool has_more(aph_oracle *o, const aphi_frame *f)
{
    for (size_t k = (size_t)f->candidate + 1; k <= o->pending_count; k++)
        if (is_candidate(o, f, k))
            return true;
    return false;
}

/* Does the target come to the same thing whether or not a was taken right before it? */
static bool hides(aph_oracle *o, const aphi_request *target, const aphi_request *a)
{
    aphi_core core = o->core;
    size_t n;
    const aphi_successor *results = feed(o, target, &n);
    if (n != 1)
        return false;
    aphi_core without = results[0].core;
    results = feed(o, a, &n);
    if (n != 1)
        return false;
    o->core = results[0].core;
    results = feed(o, target, &n);
    o->core = core;
    return n == 1 && aphi_core_equal(&results[0].core, &without);
}

/* Do later answers suggest that a was taken before b? What shows a ends before something that shows b begins; or, if b
 * overwrites a, even a itself does. */
static bool precedes(aph_oracle *o, const aphi_request *a, const aphi_request *b)
{
    bool before = a->shown < b->sought, behind = b->shown < a->sought;
    if (before || behind)
        return before && !behind;
    return a->rank < b->sought && b->rank >= a->sought && hides(o, b, a);
}

/* The place in pending of a request that should be taken before b; pending_count if there is none. */
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

/* Later answers may tell that another request comes before b, and yet another before that: the place, plus 1, of the
 * first of them; `otherwise` if there is none. */
static uint32_t first_before(aph_oracle *o, const aphi_request *b, uint32_t otherwise)
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

/* Guesses cost runs of the model: they are worth it where the search had to go back now and then. */
static bool has_setbacks(const aph_oracle *o)
{
    return o->setbacks >= SETBACKS_FEW;
}

static void find_eager(aph_oracle *o, aphi_frame *f)
{
    if (!has_setbacks(o))
        return;
    if (f->target != APHI_NONE && !f->only)
        f->likely = first_before(o, &o->ops[f->target], 0);
    f->eager = f->likely > 0;
}

/* ---- from here to the target ------------------------------------------------------------------------------------- */

/* Note a core that can be reached, if it is new; `place` is the first request on the way to it. */
static void reach(aph_oracle *o, const aphi_core *core, uint32_t place)
{
    for (size_t i = 0; i < o->reached_count; i++)
        if (aphi_core_equal(&o->reached[i].core, core))
            return;
    APHI_RESERVE(o->reached, o->reached_capacity, o->reached_count + 1);
    o->reached[o->reached_count++] = (struct aphi_reached){*core, place};
}

/* Does the target fit one of the cores from the i-th on? Then *place is the first step to it. */
static bool fits_any(aph_oracle *o, size_t i, const aphi_request *target, uint32_t *place)
{
    size_t n = 0;
    for (; i < o->reached_count && !n; i++) {
        o->core = o->reached[i].core;
        *place = o->reached[i].place;
        feed(o, target, &n);
    }
    return n > 0;
}

/* From the core that was reached i-th, take each request of the part that has not been taken. Some of them may have to
 * wait for others, which may change nothing: so each counts as if it could arrive. True if the target fits then. */
static bool reach_from(aph_oracle *o, size_t i, const aphi_request *target, uint32_t *first)
{
    o->round++;
    for (uint32_t place = 0; place < o->pending_count && !o->fault && !o->limit; place++) {
        const aphi_request *a = &o->ops[o->pending[place]];
        size_t n, before = o->reached_count;
        if (a == target || aphi_is_taken(o, a) || (o->parts && a->part != target->part) ||
            hold_back(o, a) || !first_of_kind(o, o->pending[place]))
            continue;
        o->core = o->reached[i].core;
        const aphi_successor *results = feed(o, a, &n);
        for (size_t k = 0; k < n; k++)
            reach(o, &results[k].core, i ? o->reached[i].place : place);
        if (fits_any(o, before, target, first))
            return true;
    }
    return false;
}

/* If the target does not fit as things are, look for the shortest way to a core that it fits: its first step is the one
 * to try first. To go deep with the others, of which there may be many, would take for ever. Each request may be taken
 * again and again on these ways, so if none leads to the target, none does. False if that is so. */
static bool find_way(aph_oracle *o, aphi_frame *f)
{
    const aphi_request *target = f->target == APHI_NONE || f->only ? NULL : &o->ops[f->target];
    /* Mostly it is a step or two away. More is worth it when the search does not get on. */
    bool calm = o->configurations - o->calm_since < WAY_CALM;
    size_t least = !calm ? 0 : has_setbacks(o) ? WAY_MIN : WAY_MANY;
    if (!target || f->likely || target->future != APH_FUTURE_ANSWER || o->pending_count < least)
        return true;
    const aphi_core core = o->core;
    uint32_t place;
    size_t i = 0;
    o->reached_count = 0;
    reach(o, &core, 0);
    if (fits_any(o, 0, target, &place))
        return true;
    size_t most = calm ? WAY_NEAR : 2 * o->pending_count;
    bool found = false;
    while (!found && i < o->reached_count && i < most)
        found = reach_from(o, i++, target, &place);
    o->core = core;
    if (found)
        f->likely = first_before(o, &o->ops[o->pending[place]], place + 1);
    else if (i < o->reached_count && !calm)
        o->calm_since = o->configurations;
    return found || i < o->reached_count || o->fault || o->limit;
}

static void begin_trying(aph_oracle *o, aphi_frame *f)
{
    o->round++;
    o->lost_taken = o->lost_max == SIZE_MAX ? 0 : count_lost_taken(o, o->bits);
    if (relates(o, f))
        relate(o, f);
    f->concerns = concerns_of(o, f);
    if (f->target != APHI_NONE)
        first_of_kind(o, f->target);
    for (size_t k = 0; k < f->candidate && k <= o->pending_count; k++)
        is_candidate(o, f, k);
}

static bool is_one_part(aphi_parts parts)
{
    return (parts & (parts - 1)) == 0;
}

/* A frame that has nothing left is not worth keeping. But if what is of one part had to wait for another, then what
 * fails later for the one fails for the other, too. */
static void drop_frame(aph_oracle *o)
{
    aphi_parts parts = top(o)->concerns | top(o)->reason;
    if (--o->frame_count && !is_one_part(parts))
        top(o)->passed |= parts;
}

/* How many requests are in flight that have not been taken. */
static size_t count_untaken(const aph_oracle *o)
{
    size_t n = o->pending_count;
    for (size_t i = 0; i < o->words; i++)
        for (uint64_t taken = o->bits[i]; taken; taken &= taken - 1)
            n--;
    return n;
}

/* The target was taken, and with it all that is in flight: requests that only read, and change nothing. To take one of
 * them before the target is no use: without it, what comes after can come as well, and behind the target it fits. */
static bool all_is_read(const aph_oracle *o, const aphi_request *a, bool target)
{
    return target && a->reads && !o->env.buffer && count_untaken(o) == 0;
}

/* Take the top frame's next possibility. */
static bool try_next(aph_oracle *o)
{
    aphi_frame *f = top(o);
    begin_trying(o, f);
    bool resumed = f->result > 0;
    for (; f->candidate <= o->pending_count; f->candidate++, f->result = 0, resumed = false) {
        if (f->candidate == 1 && f->result == 0) {
            if (!find_way(o, f))
                return false;
            begin_trying(o, f);
        }
        if (!is_candidate(o, f, f->candidate) && !resumed)
            continue;
        ptrdiff_t place = aphi_search_place(f, f->candidate);
        const aphi_request *a = &o->ops[place == APHI_TARGET ? f->target : o->pending[place]];
        if (place != APHI_TARGET)
            note_frame(o, f);
        size_t n;
        const aphi_successor *results = feed(o, a, &n);
        if (o->fault || o->limit)
            return false;
        /* To take what changes nothing and is not asked for is no use, unless others wait behind it. */
        bool idle = aphi_is_free(a) || (a->lost && aphi_over(o, a));
        while (f->result < n) {
            const aphi_successor *result = &results[f->result++];
            if (idle && !f->only && aphi_core_equal(&result->core, &o->core))
                continue;
            f->passed = 0;
            /* What is in the memo waits for the reason why it failed. */
            bool last = f->result == n && !(f->noted && o->pipelined), spent = last && !has_more(o, f);
            if (spent)
                drop_frame(o);
            take(o, a, result);
            take_reads(o, a->part);
            if (!spent && all_is_read(o, a, place == APHI_TARGET)) {
                f->only = true;
                if (last)
                    drop_frame(o);
            }
            return true;
        }
    }
    return false;
}

/* ---- going back -------------------------------------------------------------------------------------------------- */

bool aphi_search_next_root(aph_oracle *o)
{
    if (o->root_next >= o->root_count)
        return false;
    size_t i = o->root_next++;
    aphi_pending_back(o, 0);
    o->core = o->roots[i].core;
    o->past = o->roots[i].past;
    o->order_count = 0;
    if (o->roots[i].path)
        write_order(o, APHI_BEGUN, o->roots[i].path);
    memcpy(o->bits, o->root_bits + i * o->words, o->words * sizeof *o->bits);
    return true;
}

bool aphi_search_backtrack(aph_oracle *o, aphi_parts reason)
{
    if (!has_causes(o))
        reason = APHI_ANY_PART;
    o->setbacks++;
    while (o->frame_count && !o->fault && !o->limit) {
        aphi_frame *f = top(o);
        aphi_pending_back(o, f->at);
        if (reason & f->passed)
            reason |= f->passed;
        if (reason & f->concerns) {
            f->reason |= reason;
            restore(o, f);
            if (try_next(o))
                return true;
            reason = f->reason | f->concerns;
        }
        refute_frame(o, reason);
    }
    return !o->fault && !o->limit && (aphi_search_next_root(o) || begin_with_more(o));
}

/* How many results the target has if nothing else could be taken, the only one in *result; else SIZE_MAX. */
static size_t without_choice(aph_oracle *o, uint32_t target, const aphi_successor **result)
{
    size_t n;
    if (target == APHI_NONE || o->ops[target].delivery || count_untaken(o) != 1 ||
        !aphi_can_arrive(o, &o->ops[target]))
        return SIZE_MAX;
    *result = feed(o, &o->ops[target], &n);
    return n;
}

/* Take the target, or others and then the target. Where there is no choice, no frame is needed; and nothing is to be
 * remembered, unless what else can be tried may come to the same configuration. */
static bool branch_out(aph_oracle *o, uint32_t target, bool only)
{
    const aphi_successor *result = NULL;
    size_t n = without_choice(o, target, &result);
    bool alone = !o->frame_count && o->root_next == o->root_count;
    aph_value part = target == APHI_NONE ? APH_NIL : o->ops[target].part;
    aphi_parts reason;
    if (n == 0)
        return aphi_search_backtrack(o, bit_of(o, part));
    if (!(n == 1 && alone) && aphi_memo_seen(&o->memo, o->at, &o->core, o->bits, o->optional, &reason))
        return aphi_search_backtrack(o, reason);
    if (n == 1) {
        if (!alone)
            aphi_memo_add(&o->memo, o->at, &o->core, o->bits, o->optional);
        take(o, &o->ops[target], result);
        return true;
    }
    push_frame(o, target, part, only);
    find_eager(o, top(o));
    return try_next(o) || aphi_search_backtrack(o, top(o)->concerns);
}

/* ---- walking over the observations ------------------------------------------------------------------------------- */

static bool pass_request(aph_oracle *o, const aphi_observed_event *e)
{
    const aphi_request *a = &o->ops[e->asked];
    if ((o->env.immediate || o->eager) && !aphi_is_taken(o, a))
        return branch_out(o, e->asked, true);
    if (o->env.buffer && aphi_pending_crowded(o, a->connection) != APHI_NONE)
        return branch_out(o, aphi_pending_crowded(o, a->connection), false);
    aphi_pending_pass(o);
    if (a->reads)
        take_read(o, a);
    return true;
}

/* At a wildcard: write down that the explanation at hand would have answered this. */
static void allow(aph_oracle *o, aph_value answer)
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
        .root = o->root_next - 1};
}

/* Where messages overtake each other, anything that was said, or that is said when more requests are taken. */
static bool allow_whatever_was_said(aph_oracle *o, int64_t connection)
{
    aph_value said = aphi_mail_for(o->machine, &o->core, connection);
    for (size_t i = 0; i < aph_count(said); i++)
        allow(o, aph_at(said, i));
    return branch_out(o, APHI_NONE, false);
}

static bool pass_answer(aph_oracle *o, const aphi_observed_event *e)
{
    const aphi_request *a = e->asked == APHI_NONE ? NULL : &o->ops[e->asked];
    bool foreknown = a && (a->future == APH_FUTURE_ANSWER || a->delivery);
    if (!o->rpc && aphi_mail_deaf(&o->core, e->connection)) {
        aphi_pending_pass(o);
        return true;
    }
    if (e->message == APHI_WILDCARD && aphi_is_delivery(o, e->asked))
        return allow_whatever_was_said(o, e->connection);
    if (foreknown ? !aphi_is_taken(o, a) : !aphi_mail_waits(&o->core, e->connection))
        return branch_out(o, e->asked, false);
    if (e->message == APHI_WILDCARD) {
        allow(o, aph_at(aph_get(o->core.mail, aph_int(e->connection)), 0));
        return aphi_search_backtrack(o, APHI_ANY_PART);
    }
    if (!foreknown && !aphi_machine_match(o->machine, &o->core, e->connection, e->message))
        return aphi_search_backtrack(o, a ? bit_of(o, a->part) : APHI_ANY_PART);
    if (a)
        aphi_clear_bit(o->bits, a->slot);
    aphi_pending_pass(o);
    return true;
}

/* How many answers to older requests wait on the connection, before the answer to this one. */
static size_t place_in_mail(const aph_oracle *o, const aphi_request *a)
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
    const aphi_request *a = e->asked == APHI_NONE ? NULL : &o->ops[e->asked];
    if (!a)
        aphi_mail_deafen(&o->core, e->connection);
    else if (aphi_is_taken(o, a) && a->future == APH_FUTURE_OPEN && aphi_mail_waits(&o->core, a->connection))
        aphi_machine_discard(&o->core, a->connection, place_in_mail(o, a));
    aphi_pending_pass(o);
    return true;
}

/* What was in flight is gone. Some of it may have been taken before; what was said of it will not be seen. */
static bool pass_quiet_lossy(aph_oracle *o, const aphi_observed_event *e)
{
    const aphi_request *a = &o->ops[e->asked];
    aphi_mail_forget(&o->core);
    if (!aphi_is_taken(o, a))
        return branch_out(o, e->asked, false);
    aphi_clear_bit(o->bits, a->slot);
    for (size_t i = 0; i < o->pending_count; i++)
        aphi_set_bit(o->bits, o->ops[o->pending[i]].slot);
    aphi_pending_pass(o);
    return true;
}

/* Every request must have been taken, and all that was said have been seen. */
static bool pass_quiet(aph_oracle *o, const aphi_observed_event *e)
{
    if (o->env.lossy)
        return pass_quiet_lossy(o, e);
    if (aphi_mail_waits_anywhere(&o->core))
        return aphi_search_backtrack(o, APHI_ANY_PART);
    for (size_t i = 0; i < o->pending_count; i++) {
        const aphi_request *a = &o->ops[o->pending[i]];
        if (!aphi_is_taken(o, a) && !aphi_is_optional(o, a) && !aphi_is_given_up(o, a))
            return branch_out(o, APHI_NONE, false);
    }
    aphi_pending_pass(o);
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

/* Now and then: look at the limits, and at the heap. */
static APHI_COLD bool may_go_on(aph_oracle *o)
{
    o->limits_at = o->configurations + LIMITS_EVERY;
    if (!within_limits(o) || (o->exhaustive && o->configurations > o->budget_end))
        return false;
    if (aphi_heap_is_full())
        aph_collect();
    return true;
}

bool aphi_search(aph_oracle *o)
{
    while (o->at < o->event_count) {
        if (o->configurations >= o->limits_at && !may_go_on(o))
            return false;
        if (o->at > o->deepest) {
            o->deepest = o->at;
            o->calm_since = o->configurations;
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

void aphi_search_begin(aph_oracle *o)
{
    o->root_next = 0;
    o->held_back = false;
    o->lost_max = least_lost(o);
    aphi_search_next_root(o);
}

/* ---- memory ------------------------------------------------------------------------------------------------------ */

/* Rows of `from` words become rows of `to` words. */
static uint64_t *widened(aph_oracle *o, uint64_t *rows, size_t count, size_t capacity_rows, size_t to)
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
        o->frames[i].noted = false;
    aphi_memo_clear(&o->memo, o->words);
}

void aphi_search_widen(aph_oracle *o, size_t words)
{
    o->used = widened(o, o->used, 1, 1, words);
    o->optional = widened(o, o->optional, 1, 1, words);
    o->bits = widened(o, o->bits, 1, 1, words);
    o->frame_bits = widened(o, o->frame_bits, o->frame_count, o->frame_capacity, words);
    o->frame_bits_capacity = o->frame_capacity * words;
    o->root_bits = widened(o, o->root_bits, o->root_count, o->root_capacity, words);
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
