/* SPDX-License-Identifier: Apache-2.0
 *
 * dualize.c - derive a tester from a model as in Li, "Testing by dualization", and run it on a recorded history.
 *
 * Idea:       the arrows of the paper's figure 4.1, each as a function or two here:
 *                 compose    (figure 4.11)  the server's tree and the network's, with buffers between them
 *                 tcp        (figure 4.9)   the network: absorbs packets, emits the oldest of some connection
 *                 observe    (figure 4.6)   a receive is a request from the tester, a send an observation and a guard
 *                 unify      (figure 4.8)   guards and branch conditions are constraints that must be solvable
 *                 backtrack  (figure 4.12)  branches are tried one after another
 *                 expect     (figure 4.13)  and each must match the observations
 * Differences from live testing:
 *             1. GenPacket is the recorded request: a branch that wants to send where the history has a response is
 *                dropped, as match_observe does with the branches that wait.
 *             2. `expect` instantiates each waiting branch with each observation, lazily. Here each branch has a place
 *                in the history instead, which is equivalent: the observations that it has not matched yet.
 *             3. No response is late: the history is complete. So nothing is postponed or retried, and a branch that
 *                reaches the end of the history accepts.
 *             4. A branch equal to a dropped one is dropped. Without this, the paper's list grows with all the times at
 *                which the network may have carried each packet.
 * Cost:       exponential; meant for histories of half a dozen requests. Gives up if there are too many branches. */
#include "dualize.h"

#include "base/memory.h"
#include "concrete.h"
#include "tests/support/brute.h"
#include "wordset.h"

#include <assert.h>
#include <stdlib.h>

enum { SYMBOLS_MOST = 16, THROWN_MOST = 1500 };

/* The unknowns of a branch: the first half of V in figure 4.8. */
typedef struct unknowns {
    struct {
        aph_kind sort;
        bool bounded;
        int64_t low, high;
    } of[SYMBOLS_MOST];
    uint32_t count;
} unknowns;

/* A state of the tester. Buffers are arrays of packets; a packet is [to server?, connection, message]. */
typedef struct branch {
    aph_tree *server;      /* srv */
    aph_value log;         /* the answers that led to `server`: equal logs, equal trees */
    aph_value buffer;      /* packets in the network */
    size_t pick;           /* number of oldest packets that pick_one has skipped */
    aph_value in, out;     /* bi and bo */
    unknowns xs;
    aph_value cs;          /* array of [term, value] that must be equal */
    size_t at;             /* number of matched observations */
} branch;

typedef struct tester {
    const subject *subject;
    const history *history;
    branch *others;
    size_t count, capacity;
    wordset thrown;
} tester;

/* ---- solvable ---------------------------------------------------------------------------------------------------- */

static int64_t last_symbol(aph_value v)
{
    int64_t last = -1;
    if (aph_kind_of(v) == APH_SYMBOL)
        return aph_symbol_number(v);
    for (size_t i = 0; aph_kind_of(v) == APH_TERM && i < aph_term_count(v); i++) {
        int64_t of_arg = last_symbol(aph_term_arg(v, i));
        last = of_arg > last ? of_arg : last;
    }
    return last;
}

static bool holds(aph_value constraint, size_t n, const aph_value *values)
{
    brute_meaning is = brute_meaning_of(aph_at(constraint, 0), 0, n, values);
    return is.kind != BRUTE_WRONG && brute_same(is, brute_of_value(aph_at(constraint, 1)));
}

/* Returns true if each constraint whose last unknown is `last` holds. All unknowns of these constraints have values. */
static bool all_hold(aph_value cs, int64_t last, size_t n, const aph_value *values)
{
    for (size_t i = 0; i < aph_count(cs); i++)
        if (last_symbol(aph_at(aph_at(cs, i), 0)) == last && !holds(aph_at(cs, i), n, values))
            return false;
    return true;
}

static bool solvable_from(const subject *s, const branch *b, uint32_t n, aph_value *values)
{
    if (!all_hold(b->cs, (int64_t)n - 1, n, values))
        return false;
    if (n == b->xs.count)
        return true;
    size_t count = concrete_values(s, b->xs.of[n].sort, b->xs.of[n].bounded, b->xs.of[n].low, b->xs.of[n].high);
    for (size_t i = 0; i < count; i++) {
        values[n] = concrete_value(s, b->xs.of[n].sort, b->xs.of[n].bounded, b->xs.of[n].low, i);
        if (solvable_from(s, b, n + 1, values))
            return true;
    }
    return false;
}

static bool solvable(const subject *s, const branch *b)
{
    aph_value values[SYMBOLS_MOST];
    return solvable_from(s, b, 0, values);
}

/* ---- constraints ------------------------------------------------------------------------------------------------- */

/* Adds the constraints that make the sent message equal to the observed one. Returns false if that is impossible. */
static bool unify_messages(branch *b, aph_value said, aph_value seen)
{
    aph_value key, item, other_key, other_item;
    if (said == seen)
        return true;
    if (aph_kind_of(said) == APH_SYMBOL || aph_kind_of(said) == APH_TERM) {
        b->cs = aph_push(b->cs, APH_ARRAY_OF(said, seen));
        return true;
    }
    if (aph_kind_of(said) != aph_kind_of(seen) || aph_count(said) != aph_count(seen))
        return false;
    bool same = aph_kind_of(said) == APH_ARRAY || aph_kind_of(said) == APH_OBJECT;
    for (size_t i = 0; same && i < aph_count(said); i++) {
        if (aph_kind_of(said) == APH_ARRAY)
            same = unify_messages(b, aph_at(said, i), aph_at(seen, i));
        else
            same = aph_pair_at(said, i, &key, &item) && aph_pair_at(seen, i, &other_key, &other_item) &&
                   key == other_key && unify_messages(b, item, other_item);
    }
    return same;
}

static bool guard(const subject *s, branch *b, aph_value said, aph_value seen)
{
    return unify_messages(b, said, seen) && solvable(s, b);
}

static bool unify(const subject *s, branch *b, aph_value condition, bool value)
{
    b->cs = aph_push(b->cs, APH_ARRAY_OF(condition, aph_bool(value)));
    return solvable(s, b);
}

/* Figure 4.8, line 8. */
static aph_value fresh(branch *b, aph_kind sort, bool bounded, int64_t low, int64_t high)
{
    assert(b->xs.count < SYMBOLS_MOST);
    b->xs.of[b->xs.count].sort = sort;
    b->xs.of[b->xs.count].bounded = bounded;
    b->xs.of[b->xs.count].low = low;
    b->xs.of[b->xs.count].high = high;
    return aph_symbol(sort, b->xs.count++);
}

/* ---- the list of branches ---------------------------------------------------------------------------------------- */

static branch forked(const branch *b)
{
    branch copy = *b;
    aph_tree_keep(copy.server);
    return copy;
}

static void drop(branch *b)
{
    aph_tree_drop(b->server);
}

/* Takes ownership of b. */
static void push(tester *t, branch b)
{
    APHI_RESERVE(t->others, t->capacity, t->count + 1);
    t->others[t->count++] = b;
}

static void answer_server(branch *b, aph_value answer)
{
    aph_tree *next = aph_tree_answer(b->server, answer);
    aph_tree_drop(b->server);
    b->server = next;
    b->log = aph_push(b->log, answer);
}

/* ---- the network ------------------------------------------------------------------------------------------------- */

static aph_value packet(bool to_server, int64_t connection, aph_value message)
{
    return APH_ARRAY_OF(aph_bool(to_server), aph_int(connection), message);
}

static bool same_connection(aph_value a, aph_value b)
{
    return aph_at(a, 0) == aph_at(b, 0) && aph_at(a, 1) == aph_at(b, 1);
}

static aph_value without(aph_value array, size_t i)
{
    aph_value left = aph_slice(array, 0, i);
    for (size_t k = i + 1; k < aph_count(array); k++)
        left = aph_push(left, aph_at(array, k));
    return left;
}

/* Figure 4.9, oldest_in_each_conn: the place in the buffer of the n-th packet that has none of its connection before
 * it. aph_count(buffer) if there are not so many. */
static size_t oldest_in_each_conn(aph_value buffer, size_t n)
{
    for (size_t i = 0; i < aph_count(buffer); i++) {
        bool oldest = true;
        for (size_t k = 0; k < i; k++)
            oldest &= !same_connection(aph_at(buffer, i), aph_at(buffer, k));
        if (oldest && n-- == 0)
            return i;
    }
    return aph_count(buffer);
}

/* ---- observations ------------------------------------------------------------------------------------------------ */

/* Figure 4.6, line 5 and figure 4.12, line 15: the tester sends. Returns false as in figure 4.13, line 9. */
static bool from_observer(tester *t, branch *b, aph_value *request)
{
    const history_seen *seen = &t->history->seen[b->at++];
    *request = packet(true, seen->connection, seen->message);
    return seen->sent;
}

/* Figure 4.6, lines 6 and 7, and figure 4.12, line 19: the tester observes a message, which must equal `said`. */
static bool to_observer(tester *t, branch *b, aph_value said)
{
    const history_seen *seen = &t->history->seen[b->at++];
    return !seen->sent && seen->connection == aph_int_of(aph_at(said, 1)) &&
           guard(t->subject, b, aph_at(said, 2), seen->message);
}

/* ---- composition ------------------------------------------------------------------------------------------------- */

/* Figure 4.11, lines 7 to 12. */
static bool absorb(tester *t, branch *b)
{
    aph_value absorbed;
    if (aph_count(b->out) > 0) {
        absorbed = aph_at(b->out, 0);
        b->out = without(b->out, 0);
    } else if (!from_observer(t, b, &absorbed)) {
        return false;
    }
    b->buffer = aph_push(b->buffer, absorbed);
    return true;
}

/* Figure 4.11, lines 13 to 17. */
static bool emit(tester *t, branch *b, size_t i)
{
    aph_value emitted = aph_at(b->buffer, i);
    b->buffer = without(b->buffer, i);
    if (!aph_truth(aph_at(emitted, 0)))
        return to_observer(t, b, emitted);
    b->in = aph_push(b->in, emitted);
    return true;
}

static aph_value name_of(const branch *b)
{
    return APH_ARRAY_OF(aph_int((int64_t)b->at), b->log, b->buffer, b->in, b->out, b->cs);
}

/* step_net of figure 4.11, with the network of figure 4.9: each `or` of pick_one continues with one branch and adds one
 * to the list. */
static bool step_net(tester *t, branch *b)
{
    if (b->pick == 0 && !wordset_add(&t->thrown, name_of(b)))
        return false;
    size_t i = oldest_in_each_conn(b->buffer, b->pick);
    if (i == aph_count(b->buffer)) {
        b->pick = 0;
        return absorb(t, b);
    }
    branch other = forked(b);
    other.pick++;
    push(t, other);
    b->pick = 0;
    return emit(t, b, i);
}

/* Figure 4.6, line 8: a branch for each value of the condition. */
static bool decide(tester *t, branch *b, aph_value condition)
{
    branch other = forked(b);
    if (unify(t->subject, &other, condition, false)) {
        answer_server(&other, aph_bool(false));
        push(t, other);
    } else {
        drop(&other);
    }
    if (!unify(t->subject, b, condition, true))
        return false;
    answer_server(b, aph_bool(true));
    return true;
}

/* `or`, with any number of alternatives. */
static void either(tester *t, branch *b, size_t n)
{
    for (size_t i = 1; i < n; i++) {
        branch other = forked(b);
        answer_server(&other, aph_int((int64_t)i));
        push(t, other);
    }
    answer_server(b, aph_int(0));
}

/* Figure 4.11, from line 23: the server runs first; the network runs when the server has nothing to take. Runs one
 * event. Returns false if the branch throws. */
static bool compose(tester *t, branch *b)
{
    aph_event e = aph_tree_event(b->server);
    switch (e.kind) {
    case APH_EVENT_RECV:
        if (aph_count(b->in) == 0)
            return step_net(t, b);
        answer_server(b, aph_slice(aph_at(b->in, 0), 1, 2));
        b->in = without(b->in, 0);
        return true;
    case APH_EVENT_SEND:
        b->out = aph_push(b->out, packet(false, e.to, e.value));
        answer_server(b, APH_NIL);
        return true;
    case APH_EVENT_CHOOSE: answer_server(b, fresh(b, e.sort, e.bounded, e.low, e.high)); return true;
    case APH_EVENT_DECIDE: return decide(t, b, e.value);
    case APH_EVENT_EITHER: either(t, b, e.count); return true;
    default: return false;
    }
}

/* ---- the tester -------------------------------------------------------------------------------------------------- */

/* Unknowns of the initial state are numbered from 0, in any order. */
static void declare(branch *b, aph_value v)
{
    aph_value key, item;
    if (aph_kind_of(v) == APH_SYMBOL) {
        uint32_t i = aph_symbol_number(v);
        assert(i < SYMBOLS_MOST);
        b->xs.of[i].sort = aph_symbol_sort(v);
        b->xs.count = i >= b->xs.count ? i + 1 : b->xs.count;
    }
    for (size_t i = 0; aph_kind_of(v) == APH_ARRAY && i < aph_count(v); i++)
        declare(b, aph_at(v, i));
    for (size_t i = 0; aph_kind_of(v) == APH_OBJECT && aph_pair_at(v, i, &key, &item); i++)
        declare(b, item);
}

static branch first_branch(const aph_model *model)
{
    aph_value none = aph_array(0, NULL);
    branch b = {.server = aph_tree_of(model), .log = none, .buffer = none, .in = none, .out = none, .cs = none};
    declare(&b, model->initial ? model->initial(model) : aph_object());
    return b;
}

/* Figure 4.12: runs a branch until it throws, then the next one, until none is left. */
static dualized backtrack(tester *t)
{
    while (t->count > 0) {
        if (t->thrown.count > THROWN_MOST)
            return DUALIZE_GIVES_UP;
        branch current = t->others[--t->count];
        bool thrown = false;
        while (!thrown && current.at < t->history->count)
            thrown = !compose(t, &current);
        drop(&current);
        if (!thrown)
            return DUALIZE_ACCEPTS;
    }
    return DUALIZE_REJECTS;
}

dualized dualize(const subject *s, const history *h)
{
    tester t = {.subject = s, .history = h};
    push(&t, first_branch(s->model));
    dualized verdict = backtrack(&t);
    while (t.count > 0)
        drop(&t.others[--t.count]);
    free(t.others);
    wordset_deinit(&t.thrown);
    return verdict;
}
