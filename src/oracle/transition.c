/* SPDX-License-Identifier: Apache-2.0
 *
 * transition.c - all results that a model may have for one request.
 *
 * Idea:       the step is run once for each path through it. Sends and internal choices have one answer each, so they
 *             do not branch. A free choice or an undecided condition is recorded and takes its first possible answer;
 *             the next run takes the next answer. Results are in normal form and cached by their input: a search often
 *             returns to the same core, which then costs only a lookup.
 * Invariants: 1. the store of each result is satisfiable
 *             2. the results of one call are pairwise different
 *             3. symbols of a core are numbered from 0 without gaps
 * Cost:       a lookup, or (paths through the step) x (cost of the step).
 * Read next:  ../solve/store.h, search.c */
#include "oracle/transition.h"

#include "base/clock.h"
#include "base/memory.h"
#include "base/compiler.h"
#include "solve/store.h"
#include "tree/model_calls.h"
#include "tree/step_guard.h"
#include "tree/step.h"
#include "value/heap.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    CACHE_SIZE = 128,        /* small: a search returns to cores that it has just left */
    COMPARED_MAX = 64,       /* connections for which a cached step is known to be the same */
    IDLE_STEPS_MAX = 10000,  /* steps in a row without a receive */
    SENDS_MAX = 1 << 20,     /* in one step */
    PATHS_MAX = 1 << 18,     /* through one step; each is run */
    PATH_LENGTH_MAX = 1 << 16, /* branches on one path */
    RESULTS_MAX = 1 << 14,   /* of one step; each is compared with all others */
    CLOCK_EVERY = 256,       /* paths */
    SHOWN_BYTES = 80,          /* of the message and the state that a failed step was given */
    NAMES_CACHED = 1024,       /* slots of the caches for names */
};
static const int64_t STAND_IN = INT64_C(5928374650192837465); /* for the number of any connection */
static const int64_t PATHS_NS = 5000000000; /* CPU time for the paths through one step */

typedef struct key {
    const aphi_core *core;
    bool request;   /* false: only run to the first receive */
    aphi_send_mode mode;
    int64_t from;       /* STAND_IN or the connection */
    aph_value message, expected;
    int64_t connection; /* not part of the key */
} key;

typedef struct entry {
    key key;                 /* its core points to `core` */
    aphi_core core;
    uint64_t hash;
    uint32_t generation, count;
    uint64_t compared;       /* bit i: the step has the same results on connection i */
    aphi_successor one;      /* the only result, or the first */
    aphi_successor *many;    /* all, if there are several */
} entry;

typedef struct branch {
    uint32_t taken, count; /* alternatives: taken < count, unless all are excluded */
    uint64_t excluded;       /* bit i: alternative i, below 64, is not taken */
} branch;

/* A named alternative, or a named decision or its negation, and the number of results that took it. */
typedef struct outcome {
    const char *name;
    bool negated;
    uint64_t count;
} outcome;

typedef struct sent {
    int64_t to;
    aph_value message;
} sent;

/* A choice that the response of the step shows. */
typedef struct shown {
    const char *path;
    aph_value choice;
} shown;

struct aphi_machine {
    const aph_model *model;
    bool rpc, lossy;
    int64_t solver_ms;
    aph_fault fault;
    char message[APHI_FAULT_BYTES];
    bool undecided, out_of_time; /* out_of_time: a limit was reached */
    uint64_t paths;          /* run in this call */
    int64_t paths_begun;     /* CPU time */
    bool is_too_wide;        /* ... by the branches of a step */
    bool traced;             /* the run will be repeated to check purity */
    uint64_t trace;          /* hash of the events of the run */
    uint64_t steps;
    uint64_t lookups;

    bool tells_apart;        /* the model distinguishes connections */

    entry *cache;            /* direct-mapped; new entries replace old ones */
    uint32_t generation;     /* entries of other generations are empty */
    aphi_successor *results; /* of the current call */
    size_t result_count, result_capacity;

    /* one run of a step */
    const key *key;
    bool request_taken, at_receive;
    size_t replayed, replay_count; /* of key->core->answers */
    aph_value store;
    uint32_t fresh;
    aphi_bindings bindings;
    branch *branches;
    size_t branch_count, branch_capacity, branch_at;
    aph_value *log;           /* answers in this step, from which it is resumed after a receive */
    size_t log_count, log_capacity;
    aph_value *path;
    size_t path_count, path_capacity;
    sent *sends;
    size_t send_count, send_capacity;
    shown *shown;
    size_t shown_count, shown_capacity;

    bool counts;              /* count the outcomes */
    outcome *outcomes;
    size_t outcome_count, outcome_capacity;
    uint32_t cached_outcomes[NAMES_CACHED]; /* by the address of the name: index of the outcome plus 1; 0: empty */
    const char *const *listed_choices[NAMES_CACHED]; /* by address: choices whose alternatives are all in `ways` */
    uint32_t *taken_outcomes;           /* outcomes in this run */
    size_t taken_count, taken_capacity;
};

void aphi_core_mark(const aphi_core *c)
{
    aph_mark(c->state);
    aph_mark(c->answers);
    aph_mark(c->store);
    aph_mark(c->outbox);
}

/* ---- faults ------------------------------------------------------------------------------------------------------ */

static APHI_COLD void set_fault(aphi_machine *m, aph_fault fault, const char *what, aph_value about)
{
    if (m->fault)
        return;
    m->fault = fault;
    char *text = about ? aph_json_text(about, NULL) : NULL;
    snprintf(m->message, sizeof m->message, "%s%s%.160s", what, text ? ": " : "", text ? text : "");
    free(text);
}

aph_fault aphi_machine_fault(const aphi_machine *m, const char **message)
{
    if (message)
        *message = m->message;
    return m->fault;
}

bool aphi_machine_undecided(const aphi_machine *m)
{
    return m->undecided;
}

bool aphi_machine_out_of_time(const aphi_machine *m)
{
    return m->out_of_time;
}

aph_limit aphi_machine_limit(const aphi_machine *m)
{
    return m->is_too_wide ? APH_LIMIT_BRANCHES
           : !m->out_of_time ? APH_LIMIT_NONE
           : aphi_guard_overfull() ? APH_LIMIT_MEMORY : APH_LIMIT_TIME;
}

uint64_t aphi_machine_steps(const aphi_machine *m)
{
    return m->steps;
}

size_t aphi_machine_bytes(const aphi_machine *m)
{
    return CACHE_SIZE * sizeof *m->cache + m->result_capacity * sizeof *m->results;
}

/* ---- constraints during a run ------------------------------------------------------------------------------------ */

static bool assume(aphi_machine *m, aph_value condition)
{
    aph_value store;
    if (condition == aph_bool(true))
        return true;
    if (condition == aph_bool(false))
        return false;
    switch (aphi_store_assume(m->store, condition, m->solver_ms, &store, &m->bindings)) {
    case APHI_SAT: m->store = store; return true;
    case APHI_UNSAT: return false;
    case APHI_UNDECIDED: m->undecided = true; return false;
    }
    return false;
}

static bool is_satisfiable(aphi_machine *m, aph_value condition)
{
    aph_value store;
    aphi_bindings unused = {0};
    aphi_sat sat = aphi_store_assume(m->store, condition, m->solver_ms, &store, &unused);
    m->undecided |= sat == APHI_UNDECIDED;
    aphi_bindings_deinit(&unused);
    return sat == APHI_SAT;
}

static aph_value substitute_known(aphi_machine *m, aph_value v)
{
    return aphi_bindings_count(&m->bindings) && aphi_symbols(v) ? aphi_substitute(v, &m->bindings) : v;
}

/* ---- answering a step's events ----------------------------------------------------------------------------------- */

/* Moves `taken` to the next alternative that is not excluded. Returns false if there is none. */
static bool find_alternative(branch *b)
{
    while (b->taken < b->count && b->taken < 64 && (b->excluded >> b->taken & 1))
        b->taken++;
    return b->taken < b->count;
}

/* The step has too many paths to run, or results to compare, or never stops branching. Returns true. */
static APHI_COLD bool stop_branching(aphi_machine *m)
{
    char *text = m->key->request ? aph_json_text(m->key->message, NULL) : NULL;
    m->is_too_wide = m->out_of_time = true;
    snprintf(m->message, sizeof m->message, "a step has too many branches; it %s%.160s",
             text ? "begins with the request " : "begins before the first request", text ? text : "");
    free(text);
    return true;
}

/* If the branch is beyond those of the previous run, it is new, and the caller sets its excluded alternatives. Returns
 * NULL if the path has too many branches. */
static branch *next_branch(aphi_machine *m, uint32_t count, bool *is_new)
{
    *is_new = m->branch_at == m->branch_count;
    if (m->branch_at == PATH_LENGTH_MAX && stop_branching(m))
        return NULL;
    if (*is_new)
        APHI_PUSH(m->branches, m->branch_count, m->branch_capacity, (branch){.count = count});
    return &m->branches[m->branch_at++];
}

static APHI_COLD uint32_t add_outcome(aphi_machine *m, const char *name, bool negated)
{
    for (uint32_t i = 0; i < m->outcome_count; i++)
        if (m->outcomes[i].negated == negated && !strcmp(m->outcomes[i].name, name))
            return i;
    APHI_RESERVE(m->outcomes, m->outcome_capacity, m->outcome_count + 1);
    m->outcomes[m->outcome_count] = (outcome){name, negated, 0};
    return (uint32_t)m->outcome_count++;
}

static uint32_t find_outcome(aphi_machine *m, const char *name, bool negated)
{
    uint32_t *slot = &m->cached_outcomes[aphi_mix((uint64_t)(uintptr_t)name, negated) % NAMES_CACHED];
    if (!*slot || m->outcomes[*slot - 1].name != name || m->outcomes[*slot - 1].negated != negated)
        *slot = add_outcome(m, name, negated) + 1;
    return *slot - 1;
}

static void record_outcome(aphi_machine *m, const char *name, bool negated)
{
    APHI_PUSH(m->taken_outcomes, m->taken_count, m->taken_capacity, find_outcome(m, name, negated));
}

static void count_either(aphi_machine *m, const aph_event *event, uint32_t taken)
{
    const char *const **listed_choices =
        &m->listed_choices[aphi_mix((uint64_t)(uintptr_t)event->names, event->count) % NAMES_CACHED];
    for (uint32_t i = 0; *listed_choices != event->names && i < event->count; i++)
        find_outcome(m, event->names[i], false);
    *listed_choices = event->names;
    record_outcome(m, event->names[taken], false);
}

static void count_decide(aphi_machine *m, const aph_event *event, bool yes)
{
    find_outcome(m, event->name, yes);
    record_outcome(m, event->name, !yes);
}

static bool answer_either(aphi_machine *m, const aph_event *event, aph_value *answer)
{
    bool is_new;
    branch *b = next_branch(m, (uint32_t)event->count, &is_new);
    if (b && is_new)
        b->excluded = event->ruled_out;
    if (!b || !find_alternative(b))
        return false;
    *answer = aph_int(b->taken);
    if (m->counts)
        count_either(m, event, b->taken);
    APHI_PUSH(m->path, m->path_count, m->path_capacity, *answer);
    return true;
}

static bool answer_decide(aphi_machine *m, const aph_event *event, aph_value *answer)
{
    aph_value condition = substitute_known(m, event->value);
    if (aph_kind_of(condition) == APH_BOOL) {
        *answer = condition;
    } else {
        bool is_new;
        branch *b = next_branch(m, 2, &is_new);
        if (b && is_new)
            b->excluded = (is_satisfiable(m, condition) ? 0 : 1) | (is_satisfiable(m, aph_not(condition)) ? 0 : 2);
        if (!b || !find_alternative(b))
            return false;
        *answer = aph_bool(b->taken == 0);
        assume(m, b->taken == 0 ? condition : aph_not(condition));
    }
    if (m->counts && event->name)
        count_decide(m, event, aph_truth(*answer));
    APHI_PUSH(m->path, m->path_count, m->path_capacity, *answer);
    return true;
}

static aph_value part_of(aph_value v, const char *name, size_t n)
{
    size_t i = 0, digits = 0;
    if (aph_kind_of(v) != APH_ARRAY)
        return aph_field_(v, name, n);
    for (; digits < n && digits < 9 && name[digits] >= '0' && name[digits] <= '9'; digits++)
        i = i * 10 + (size_t)(name[digits] - '0');
    return digits == n && n ? aph_at(v, i) : APH_NIL;
}

/* Returns the value at a path of fields and of positions in arrays, separated by points, or APH_NIL. */
static aph_value value_at(aph_value response, const char *path)
{
    for (const char *point; (point = strchr(path, '.')); path = point + 1)
        response = part_of(response, path, (size_t)(point - path));
    return part_of(response, path, strlen(path));
}

static bool answer_choose(aphi_machine *m, const aph_event *event, aph_value *answer)
{
    if (event->shown && m->key->mode == APHI_EXPECT) {
        *answer = value_at(m->key->expected, event->shown);
        return aph_kind_of(*answer) == event->sort &&
               (!event->bounded || (aph_int_of(*answer) >= event->low && aph_int_of(*answer) <= event->high));
    }
    *answer = aph_symbol(event->sort, m->fresh++);
    if (event->shown)
        APHI_PUSH(m->shown, m->shown_count, m->shown_capacity, (shown){event->shown, *answer});
    return !event->bounded || (assume(m, aph_le(aph_int(event->low), *answer)) &&
                               assume(m, aph_le(substitute_known(m, *answer), aph_int(event->high))));
}

static bool answer_recv(aphi_machine *m, aph_value *answer)
{
    if (m->request_taken) {
        m->at_receive = true;
        return false;
    }
    m->request_taken = true;
    *answer = APH_ARRAY_OF(aph_int(m->key->from), m->key->message);
    return true;
}

static bool answer_send(aphi_machine *m, const aph_event *event)
{
    if (m->send_count == SENDS_MAX) {
        set_fault(m, APH_FAULT_STUCK, "the step sends more than a million messages", APH_NIL);
        return false;
    }
    APHI_PUSH(m->sends, m->send_count, m->send_capacity, (sent){event->to, event->value});
    return true;
}

static uint64_t hash_text(const char *text)
{
    return text ? aph_hash(aph_str(text)) : 0;
}

static void trace_event(aphi_machine *m, const aph_event *e)
{
    const uint64_t words[] = {e->kind, (uint64_t)e->to, (uint64_t)(uintptr_t)e->value, e->sort, e->bounded,
                              (uint64_t)e->low, (uint64_t)e->high, e->count, hash_text(e->name), hash_text(e->clause)};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        m->trace = aphi_mix(m->trace ^ words[i], i + 1);
}

static bool answer_event(void *context, const aph_event *event, aph_value *answer)
{
    aphi_machine *m = context;
    bool answered = false;
    if (m->traced)
        trace_event(m, event);
    if (m->replayed < m->replay_count) {
        *answer = aph_at(m->key->core->answers, m->replayed++);
        APHI_PUSH(m->log, m->log_count, m->log_capacity, *answer);
        return true;
    }
    *answer = APH_NIL;
    switch (event->kind) {
    case APH_EVENT_RECV: answered = answer_recv(m, answer); break;
    case APH_EVENT_SEND: answered = answer_send(m, event); break;
    case APH_EVENT_CHOOSE: answered = answer_choose(m, event, answer); break;
    case APH_EVENT_DECIDE: answered = answer_decide(m, event, answer); break;
    case APH_EVENT_EITHER: answered = answer_either(m, event, answer); break;
    case APH_EVENT_RETURN:
    case APH_EVENT_NEVER:
    case APH_EVENT_OTHER: break;
    }
    if (answered && !m->rpc)
        APHI_PUSH(m->log, m->log_count, m->log_capacity, *answer);
    return answered;
}

/* ---- one path through the step ----------------------------------------------------------------------------------- */

/* Paths that need the solver are slow, so their time is limited, too. */
static bool has_too_many_paths(aphi_machine *m)
{
    if (m->paths == CLOCK_EVERY)
        m->paths_begun = aphi_clock_cpu_ns();
    return m->paths >= PATHS_MAX || m->result_count >= RESULTS_MAX ||
           (m->paths % CLOCK_EVERY == 0 && aphi_clock_cpu_ns() - m->paths_begun > PATHS_NS);
}

/* Advances the last branch that has another alternative. Returns false if all paths have been run, or too many. */
static bool advance_branches(aphi_machine *m)
{
    m->branch_count = m->branch_at;
    m->paths++;
    while (m->branch_count) {
        branch *b = &m->branches[m->branch_count - 1];
        b->taken++;
        if (find_alternative(b))
            return !has_too_many_paths(m) || !stop_branching(m);
        m->branch_count--;
    }
    return false;
}

static void begin_run(aphi_machine *m, const key *k)
{
    m->key = k;
    m->request_taken = !k->request;
    m->at_receive = false;
    m->replay_count = k->core->answers ? aph_count(k->core->answers) : 0;
    m->replayed = m->log_count = m->path_count = m->send_count = m->shown_count = m->branch_at = m->taken_count = 0;
    m->store = k->core->store;
    m->fresh = k->core->fresh;
    if (aphi_bindings_count(&m->bindings))
        aphi_bindings_deinit(&m->bindings);
}

static aph_value append_message(aph_value outbox, int64_t to, aph_value message)
{
    aph_value queues = outbox ? outbox : aph_object(), name = aph_int(to), queue = aph_get(queues, name);
    if (queue == aph_bool(false) || (queue && aph_at(queue, aph_count(queue) - 1) == APH_CLOSED))
        return outbox;
    return aph_set(queues, name, queue ? aph_push(queue, message) : APH_ARRAY_OF(message));
}

/* Inserts the message into an unordered outbox in sorted order, unless it is already there. */
static aph_value insert_message(aph_value outbox, int64_t to, aph_value message)
{
    aph_value queues = outbox ? outbox : aph_object(), name = aph_int(to), queue = aph_get(queues, name);
    size_t n = aph_count(queue), place = 0;
    while (place < n && aph_compare(aph_at(queue, place), message) < 0)
        place++;
    if (place < n && aph_at(queue, place) == message)
        return outbox;
    aph_value all = aph_push(n ? aph_slice(queue, 0, place) : aph_array(0, NULL), message);
    for (; place < n; place++)
        all = aph_push(all, aph_at(queue, place));
    return aph_set(queues, name, all);
}

/* Returns false if no message of the step has the choice at its path. Without a message, the response comes later. */
static bool is_shown(aphi_machine *m, const shown *s)
{
    aph_value choice = substitute_known(m, s->choice);
    for (size_t i = 0; i < m->send_count; i++) {
        aph_value value = value_at(m->sends[i].message, s->path);
        if (value && substitute_known(m, value) == choice)
            return true;
    }
    return m->send_count == 0;
}

static bool shows_choices(aphi_machine *m)
{
    for (size_t i = 0; i < m->shown_count; i++)
        if (!is_shown(m, &m->shown[i])) {
            char text[160];
            snprintf(text, sizeof text, "aph_choose_shown(\"%.60s\"): the response does not have the choice there; "
                     "correct the path", m->shown[i].path);
            set_fault(m, APH_FAULT_CALL, text, m->sends[0].message);
            return false;
        }
    return true;
}

static bool store_sends(aphi_machine *m, aph_value *outbox)
{
    const key *k = m->key;
    if (m->rpc && (m->send_count != 1 || m->sends[0].to != k->from)) {
        set_fault(m, APH_FAULT_PROMISE, "the model promises rpc, but does not send one response to this request, on "
                                        "its connection", k->message);
        return false;
    }
    if (k->mode == APHI_EXPECT)
        return m->sends[0].message == k->expected ||
               assume(m, substitute_known(m, aph_eq(m->sends[0].message, k->expected)));
    if (!shows_choices(m))
        return false;
    for (size_t i = 0; i < m->send_count; i++) {
        aph_value message = m->sends[i].message;
        /* The message must have a value even if it is not observed: t = t means that t is well-typed and in range. */
        if (aph_is_symbolic(message) && !assume(m, substitute_known(m, aph_eq(message, message))))
            return false;
        if (k->mode == APHI_KEEP)
            *outbox = (m->lossy ? insert_message : append_message)(*outbox, m->sends[i].to, message);
    }
    return true;
}

static void add_result(aphi_machine *m, aphi_core core)
{
    for (size_t i = 0; i < m->taken_count; i++)
        m->outcomes[m->taken_outcomes[i]].count++;
    aph_value roots[3] = {substitute_known(m, core.state), substitute_known(m, core.answers),
                          substitute_known(m, core.outbox)};
    core.store = m->store;
    if (core.store || aphi_symbols(roots[0]) || aphi_symbols(roots[1]) || aphi_symbols(roots[2]))
        core.fresh = aphi_store_normalize(3, roots, &core.store);
    else
        core.fresh = 0;
    core.state = roots[0];
    core.answers = roots[1];
    core.outbox = roots[2];
    for (size_t i = 0; i < m->result_count; i++)
        if (aphi_core_equal(&m->results[i].core, &core))
            return;
    APHI_PUSH(m->results, m->result_count, m->result_capacity,
              (aphi_successor){core, m->path_count ? aph_array(m->path_count, m->path) : APH_NIL});
}

static void set_unknown_request(aphi_machine *m)
{
    char *asked = aph_json_text(m->key->message, NULL), text[sizeof m->message];
    snprintf(text, sizeof text, "%.160s: %s", asked, aphi_step_reason());
    set_fault(m, APH_FAULT_REQUEST, text, APH_NIL);
    free(asked);
}

/* Appends the message and the state that the failed step was given. */
static void describe_step(aphi_machine *m)
{
    const key *k = m->key;
    size_t n = strlen(m->message);
    char *state = aph_json_text(k->core->state, NULL), *text = NULL;
    if (m->request_taken && k->request && !aphi_is_signal(k->message))
        text = aph_json_text(k->message, NULL);
    const char *received = !m->request_taken || !k->request ? "no message"
                           : k->message == APH_OPENED ? "APH_OPENED"
                           : k->message == APH_CLOSED ? "APH_CLOSED"
                           : k->message == APH_BROKEN ? "APH_BROKEN" : text;
    n += (size_t)snprintf(m->message + n, sizeof m->message - n, "; the step received %.*s%s", SHOWN_BYTES, received,
                          strlen(received) > SHOWN_BYTES ? "..." : "");
    if (m->request_taken && k->request)
        n += (size_t)snprintf(m->message + n, sizeof m->message - n, " on connection %" PRId64, k->connection);
    snprintf(m->message + n, sizeof m->message - n, ", in the state %.*s%s", SHOWN_BYTES, state,
             strlen(state) > SHOWN_BYTES ? "..." : "");
    free(state);
    free(text);
}

static void set_fault_of_step(aphi_machine *m, aph_fault fault, const char *what)
{
    if (m->fault)
        return;
    set_fault(m, fault, what, APH_NIL);
    describe_step(m);
}

static APHI_COLD void set_step_fault(aphi_machine *m, aphi_ending ending)
{
    switch (ending) {
    case APHI_UNKNOWN_REQUEST: set_unknown_request(m); break;
    case APHI_MISCALLED: set_fault_of_step(m, APH_FAULT_CALL, aphi_step_reason()); break;
    case APHI_CRASHED: set_fault_of_step(m, APH_FAULT_CRASH, aphi_step_reason()); break;
    case APHI_OUT_OF_TIME:
        m->out_of_time = true;
        if (aphi_guard_stuck())
            set_fault_of_step(m, APH_FAULT_STUCK, "a step of the model does not end");
        break;
    default: break;
    }
}

/* If the path has no choice, a read cannot have fixed one, so it must leave the state unchanged. */
static bool check_reads(aphi_machine *m, const aphi_core *after)
{
    const key *k = m->key;
    if (k->mode != APHI_EXPECT || !m->model->reads || after->state == k->core->state || m->path_count ||
        !aphi_model_reads(m->model, k->message, k->expected) || aphi_symbols(after->state) ||
        aphi_symbols(k->core->state))
        return true;
    set_fault(m, APH_FAULT_PROMISE,
              "the model promises that this request with this response is a read, but it changed the state",
              APH_ARRAY_OF(k->message, k->expected));
    return false;
}

/* Runs to the end of an rpc step, or to the first receive after the request was taken, since a step may send before it
 * receives. */
static bool run_to_receive(aphi_machine *m, aphi_core *core)
{
    for (unsigned idle = 0; idle < IDLE_STEPS_MAX; idle++) {
        m->steps++;
        bool waiting = m->rpc && !m->request_taken;
        aph_request request = {m->key->from, m->key->message};
        aphi_ending ending = aphi_step_feed(m->model, &core->state, &request, &waiting, m->key->expected, answer_event,
                                            m);
        m->request_taken |= m->rpc && !waiting;
        if (ending == APHI_ENDED) {
            core->answers = APH_NIL;
            m->log_count = 0;
            if (m->rpc && m->request_taken)
                return true;
        } else if (m->at_receive && !m->rpc) {
            core->answers = m->log_count ? aph_array(m->log_count, m->log) : APH_NIL;
            return true;
        } else {
            if (m->at_receive)
                set_fault(m, APH_FAULT_PROMISE, "the model promises rpc, but receives twice in one step",
                          m->key->message);
            set_step_fault(m, ending);
            return false;
        }
    }
    set_fault(m, APH_FAULT_STUCK, "the step never receives", APH_NIL);
    return false;
}

/* Returns true if the latest result of a read leaves the core unchanged: it allows every behaviour of the other
 * results. */
static bool is_best(aphi_machine *m, const key *k)
{
    if (!m->rpc || k->mode != APHI_EXPECT || !m->model->reads || !m->result_count ||
        !aphi_core_equal(&m->results[m->result_count - 1].core, k->core) ||
        !aphi_model_reads(m->model, k->message, k->expected))
        return false;
    m->results[0] = m->results[m->result_count - 1];
    m->result_count = 1;
    return true;
}

static void run_all_paths(aphi_machine *m, const key *k)
{
    m->branch_count = m->result_count = 0;
    m->trace = m->paths = 0;
    do {
        aphi_core core = *k->core;
        begin_run(m, k);
        if (run_to_receive(m, &core) && store_sends(m, &core.outbox) && check_reads(m, &core))
            add_result(m, core);
    } while (!m->fault && !m->out_of_time && !is_best(m, k) && advance_branches(m));
}

/* Runs the step again: a pure model has the same events and the same results. */
static APHI_COLD void check_purity(aphi_machine *m, const key *k)
{
    size_t count = m->result_count;
    uint64_t trace = m->trace;
    aphi_successor *before = aphi_copy(m->results, count * sizeof *before);
    run_all_paths(m, k);
    bool same = m->result_count == count && m->trace == trace;
    for (size_t i = 0; same && i < count; i++)
        same = aphi_core_equal(&m->results[i].core, &before[i].core);
    free(before);
    /* A solver query may time out in only one of the two runs. */
    if (!same && !m->out_of_time && !m->undecided)
        set_fault(m, APH_FAULT_IMPURE,
                  "two runs of the same step differ: the model must be a pure function of its state and of the "
                  "answers to its events; the request was",
                  k->message);
}

static bool checks_purity(const aphi_machine *m)
{
#ifdef APHI_CHECK_PURITY
    return m->lookups > 0;
#else
    /* Checks the 1st, 2nd, 4th, 8th, ... miss: impure models are usually found early, at almost no cost. */
    return (m->lookups & (m->lookups - 1)) == 0;
#endif
}

/* ---- connections ------------------------------------------------------------------------------------------------- */

/* Most rpc models use the number of a connection only to respond on it. As long as this is so, the model gets a
 * stand-in for all numbers, and requests from different connections share their results. The compiler proves this for
 * many models (aph_model.ignores_connections). Otherwise each step is run again on its true connection before its
 * results are used there; if they differ, the model distinguishes connections. */

static uint64_t word_of(aph_value v)
{
    return (uint64_t)(uintptr_t)v;
}

static uint64_t connection_bit(int64_t connection)
{
    return connection >= 0 && connection < COMPARED_MAX ? UINT64_C(1) << connection : 0;
}

static bool holds_on_connection(const aphi_machine *m, const entry *e, const key *k)
{
    return k->from != STAND_IN || m->model->ignores_connections || e->key.connection == k->connection ||
           (e->compared & connection_bit(k->connection));
}

static void run_on_connection(aphi_machine *m, key *k)
{
    m->fault = APH_FAULT_NONE;
    k->from = k->connection;
    run_all_paths(m, k);
}

static bool are_same_results(const aphi_machine *m, const aphi_successor *results, size_t count)
{
    bool same = m->result_count == count;
    for (size_t i = 0; same && i < count; i++)
        same = m->results[i].path == results[i].path && aphi_core_equal(&m->results[i].core, &results[i].core);
    return same;
}

/* Runs the step again on its true connection. The results are those of the second run. k->from is the true connection
 * afterwards if the model distinguishes connections. */
static APHI_COLD void compare_on_connection(aphi_machine *m, key *k)
{
    size_t count = m->result_count;
    aph_fault fault = m->fault;
    aphi_successor *before = aphi_copy(m->results, count * sizeof *before);
    run_on_connection(m, k);
    if (m->fault == fault && (are_same_results(m, before, count) || m->out_of_time || m->undecided))
        k->from = STAND_IN;
    else
        m->tells_apart = true;
    free(before);
}

bool aphi_machine_tells_apart(const aphi_machine *m)
{
    return m->tells_apart;
}

void aphi_machine_tell_apart(aphi_machine *m)
{
    m->tells_apart = true;
}

/* ---- cache ------------------------------------------------------------------------------------------------------- */

static uint64_t hash_key(const key *k)
{
    uint64_t h = aphi_mix(word_of(k->core->state) ^ word_of(k->core->store) << 1,
                          word_of(k->message) ^ (uint64_t)k->from << 3 ^ (uint64_t)k->mode << 1 ^ k->request);
    return aphi_mix(h ^ word_of(k->expected), word_of(k->core->outbox) ^ word_of(k->core->answers) << 1);
}

static bool same_key(const key *a, const key *b)
{
    return aphi_core_equal(a->core, b->core) && a->request == b->request && a->mode == b->mode && a->from == b->from &&
           a->message == b->message && a->expected == b->expected;
}

static void store_entry(aphi_machine *m, entry *e, const key *k, uint64_t hash, uint64_t compared)
{
    free(e->many);
    e->many = NULL;
    e->core = *k->core;
    e->key = *k;
    e->key.core = &e->core;
    e->hash = hash;
    e->generation = m->generation;
    e->count = (uint32_t)m->result_count;
    e->compared = compared | connection_bit(k->connection);
    if (m->result_count)
        e->one = m->results[0];
    if (m->result_count > 1)
        e->many = aphi_copy(m->results, m->result_count * sizeof *e->many);
}

static void compute_successors(aphi_machine *m, key *k)
{
    m->lookups++;
    m->traced = checks_purity(m);
    run_all_paths(m, k);
    if (m->traced && !m->fault && !m->out_of_time)
        check_purity(m, k);
    if (k->from == STAND_IN && !m->model->ignores_connections && !m->out_of_time && m->fault != APH_FAULT_IMPURE)
        compare_on_connection(m, k);
    if (m->fault || m->out_of_time)
        m->result_count = 0;
}

static const aphi_successor *find_successors(aphi_machine *m, key *k, size_t *n)
{
    uint64_t hash = hash_key(k);
    entry *e = &m->cache[hash % CACHE_SIZE];
    bool found = e->generation == m->generation && e->hash == hash && same_key(&e->key, k);
    if (!found || !holds_on_connection(m, e, k)) {
        uint64_t compared = found ? e->compared : 0;
        int64_t from = k->from;
        compute_successors(m, k);
        if (k->from != from) {
            hash = hash_key(k);
            e = &m->cache[hash % CACHE_SIZE];
        }
        store_entry(m, e, k, hash, compared);
    }
    *n = e->count;
    return e->count > 1 ? e->many : &e->one;
}

/* A root that marks nothing: the cached values may be reclaimed, so the cache is emptied. */
static void empty_cache(void *context)
{
    aphi_machine *m = context;
    m->generation++;
}

aphi_machine *aphi_machine_open(const aph_model *model, bool rpc, bool lossy, int64_t solver_ms)
{
    aphi_machine *m = aphi_alloc_zero(sizeof *m);
    m->model = model;
    m->rpc = rpc;
    m->lossy = lossy;
    m->solver_ms = solver_ms ? solver_ms : 1000;
    m->cache = aphi_alloc_zero(CACHE_SIZE * sizeof *m->cache);
    m->generation = 1;
    aph_root_add(empty_cache, m);
    return m;
}

void aphi_machine_close(aphi_machine *m)
{
    aph_root_remove(empty_cache, m);
    for (size_t i = 0; i < CACHE_SIZE; i++)
        free(m->cache[i].many);
    free(m->cache);
    free(m->results);
    free(m->branches);
    free(m->log);
    free(m->path);
    free(m->sends);
    free(m->shown);
    free(m->outcomes);
    free(m->taken_outcomes);
    aphi_bindings_deinit(&m->bindings);
    free(m);
}

void aphi_machine_count_branches(aphi_machine *m)
{
    m->counts = true;
}

aph_value aphi_machine_branches(const aphi_machine *m)
{
    aph_value all = aph_object();
    for (size_t i = 0; i < m->outcome_count; i++) {
        const outcome *w = &m->outcomes[i];
        aph_value name = w->negated ? aph_strf("not %s", w->name) : aph_str(w->name);
        all = aph_set(all, name, aph_int((int64_t)w->count));
    }
    return all;
}

const aphi_successor *aphi_machine_start(aphi_machine *m, size_t *n)
{
    aph_value state = aphi_model_initial(m->model), store = APH_NIL;
    uint32_t fresh = aphi_symbols(state) ? aphi_store_normalize(1, &state, &store) : 0;
    aphi_core core = {.state = state, .fresh = fresh};
    key k = {.core = &core, .mode = APHI_KEEP};
    if (!m->rpc)
        return find_successors(m, &k, n);
    APHI_RESERVE(m->results, m->result_capacity, 1);
    m->results[0] = (aphi_successor){.core = core};
    *n = 1;
    return m->results;
}

const aphi_successor *aphi_machine_feed(aphi_machine *m, const aphi_core *core, int64_t from, aph_value message,
                                     aphi_send_mode mode, aph_value expected, size_t *n)
{
    bool stands_in = m->rpc && mode != APHI_KEEP && !m->tells_apart;
    key k = {.core = core, .request = true, .from = stands_in ? STAND_IN : from, .message = message, .mode = mode,
             .expected = mode == APHI_EXPECT ? expected : APH_NIL, .connection = from};
    return find_successors(m, &k, n);
}

/* Renumbers the symbols after some of them are no longer used. */
static void normalize_core(aphi_core *core)
{
    aph_value roots[3] = {core->state, core->answers, core->outbox};
    if (core->store || core->fresh)
        core->fresh = aphi_store_normalize(3, roots, &core->store);
    core->state = roots[0];
    core->answers = roots[1];
    core->outbox = roots[2];
}

/* ---- the outbox -------------------------------------------------------------------------------------------------- */

bool aphi_outbox_has(const aphi_core *core, int64_t connection)
{
    return core->outbox && aph_kind_of(aph_get(core->outbox, aph_int(connection))) == APH_ARRAY;
}

bool aphi_outbox_is_ignored(const aphi_core *core, int64_t connection)
{
    return core->outbox && aph_get(core->outbox, aph_int(connection)) == aph_bool(false);
}

void aphi_outbox_ignore(aphi_core *core, int64_t connection)
{
    core->outbox = aph_set(core->outbox ? core->outbox : aph_object(), aph_int(connection), aph_bool(false));
}

bool aphi_outbox_is_closed(const aphi_core *core, int64_t connection)
{
    aph_value queue = core->outbox ? aph_get(core->outbox, aph_int(connection)) : APH_NIL;
    return aph_kind_of(queue) == APH_ARRAY && aph_at(queue, aph_count(queue) - 1) == APH_CLOSED;
}

void aphi_outbox_drop(aphi_core *core, int64_t connection)
{
    core->outbox = aph_remove(core->outbox, aph_int(connection));
    if (!aph_count(core->outbox))
        core->outbox = APH_NIL;
    normalize_core(core);
}

int64_t aphi_outbox_connection(aph_value name)
{
    size_t n;
    const char *text = aph_bytes_of(&name, &n);
    int64_t connection = 0;
    for (size_t i = text[0] == '-'; i < n; i++)
        connection = connection * 10 + (text[i] - '0');
    return text[0] == '-' ? -connection : connection;
}

void aphi_machine_discard(aphi_core *core, int64_t connection, size_t place)
{
    aph_value outbox = core->outbox;
    aph_value name = aph_int(connection), queue = aph_get(outbox, name), left = aph_slice(queue, 0, place);
    for (size_t i = place + 1; i < aph_count(queue); i++)
        left = aph_push(left, aph_at(queue, i));
    outbox = aph_count(left) ? aph_set(outbox, name, left) : aph_remove(outbox, name);
    core->outbox = aph_count(outbox) ? outbox : APH_NIL;
}

static aph_value without_oldest(aph_value outbox, int64_t connection)
{
    aph_value name = aph_int(connection), queue = aph_get(outbox, name);
    if (aph_count(queue) > 1)
        return aph_set(outbox, name, aph_slice(queue, 1, aph_count(queue) - 1));
    outbox = aph_remove(outbox, name);
    return aph_count(outbox) ? outbox : APH_NIL;
}

bool aphi_machine_match(aphi_machine *m, aphi_core *core, int64_t connection, aph_value seen)
{
    aph_value sent_message = aph_at(aph_get(core->outbox, aph_int(connection)), 0);
    if (!aphi_symbols(sent_message)) {
        if (sent_message != seen)
            return false;
        core->outbox = without_oldest(core->outbox, connection);
        return true;
    }
    m->store = core->store;
    if (aphi_bindings_count(&m->bindings))
        aphi_bindings_deinit(&m->bindings);
    if (!assume(m, aph_eq(sent_message, seen)))
        return false;
    aph_value roots[3] = {substitute_known(m, core->state), substitute_known(m, core->answers),
                          substitute_known(m, without_oldest(core->outbox, connection))};
    core->store = m->store;
    core->fresh = aphi_store_normalize(3, roots, &core->store);
    core->state = roots[0];
    core->answers = roots[1];
    core->outbox = roots[2];
    return true;
}

/* ---- the outbox without order ------------------------------------------------------------------------------------ */

bool aphi_outbox_has_any(const aphi_core *core)
{
    aph_value connection, queue;
    for (size_t i = 0; core->outbox && aph_pair_at(core->outbox, i, &connection, &queue); i++)
        if (aph_kind_of(queue) == APH_ARRAY)
            return true;
    return false;
}

void aphi_outbox_clear(aphi_core *core)
{
    if (!core->outbox)
        return;
    core->outbox = APH_NIL;
    normalize_core(core);
}

const aphi_successor *aphi_machine_deliver(aphi_machine *m, const aphi_core *core, int64_t connection, aph_value seen,
                                       size_t *n)
{
    aph_value messages = aph_get(core->outbox, aph_int(connection));
    bool exactly = false;
    m->result_count = m->path_count = m->taken_count = 0;
    for (size_t i = 0; i < aph_count(messages); i++)
        exactly |= aph_at(messages, i) == seen;
    if (exactly) {
        /* An exact match constrains no symbol, so it allows every behaviour that the others allow. */
        APHI_PUSH(m->results, m->result_count, m->result_capacity, (aphi_successor){.core = *core});
    }
    for (size_t i = 0; !exactly && i < aph_count(messages); i++) {
        m->store = core->store;
        aphi_bindings_deinit(&m->bindings);
        if (aphi_symbols(aph_at(messages, i)) && assume(m, aph_eq(aph_at(messages, i), seen)))
            add_result(m, *core);
    }
    *n = m->result_count;
    return m->results;
}

/* ---- connections that the server opened -------------------------------------------------------------------------- */

/* The outbox also maps "=CONNECTION" to the model's number for a connection that the server opened. */
static aph_value accepted_name(int64_t connection)
{
    return aph_strf("=%lld", (long long)connection);
}

int64_t aphi_outbox_own_number(const aphi_core *core, int64_t connection)
{
    aph_value own = aph_get(core->outbox, accepted_name(connection));
    return aph_is_int(own) ? aph_int_of(own) : 0;
}

void aphi_outbox_close(aphi_core *core, int64_t connection)
{
    core->outbox = aph_remove(core->outbox, accepted_name(connection));
    if (!aph_count(core->outbox))
        core->outbox = APH_NIL;
}

/* Returns true if the entry is a queue of a connection that the model opened. Its number is stored in *own. */
static bool is_own_queue(aph_value name, aph_value queue, int64_t *own)
{
    size_t n;
    const char *text = aph_bytes_of(&name, &n);
    if (n < 2 || text[0] != '-' || aph_kind_of(queue) != APH_ARRAY)
        return false;
    *own = aphi_outbox_connection(name);
    return true;
}

/* Returns true if the model's connection is matched with one of the tester's. With separate calls, a queued one is
 * not. */
static bool is_matched(const aphi_machine *m, const aphi_core *core, int64_t own)
{
    aph_value name, item;
    if (m->model->calls_apart)
        return false;
    for (size_t i = 0; aph_pair_at(core->outbox, i, &name, &item); i++)
        if (item == aph_int(own))
            return true;
    return false;
}

/* Returns true if the model's connection `own` may be the tester's. own_number: that of the tester's connection if it
 * is matched, else 0. */
static bool may_be(const aphi_machine *m, const aphi_core *core, int64_t own, int64_t connection, int64_t own_number)
{
    if (own_number)
        return own == own_number;
    return aph_origin_of(own) == aph_origin_of(connection) && !is_matched(m, core, own);
}

/* Matches the observed message with the oldest message in the queue of the model's connection. */
static void accept_from(aphi_machine *m, const aphi_core *core, int64_t connection, int64_t own, aph_value seen)
{
    aphi_core after = *core;
    m->store = core->store;
    aphi_bindings_deinit(&m->bindings);
    if (!assume(m, aph_eq(aph_at(aph_get(core->outbox, aph_int(own)), 0), seen)))
        return;
    aph_value outbox = without_oldest(core->outbox, own);
    after.outbox = aph_set(outbox ? outbox : aph_object(), accepted_name(connection), aph_int(own));
    add_result(m, after);
}

const aphi_successor *aphi_machine_accept(aphi_machine *m, const aphi_core *core, int64_t connection, aph_value seen,
                                      size_t *n)
{
    int64_t own_number = aphi_outbox_own_number(core, connection), own;
    aph_value name, queue;
    m->result_count = m->path_count = m->taken_count = 0;
    for (size_t i = 0; core->outbox && aph_pair_at(core->outbox, i, &name, &queue); i++)
        if (is_own_queue(name, queue, &own) && may_be(m, core, own, connection, own_number))
            accept_from(m, core, connection, own, seen);
    *n = m->result_count;
    return m->results;
}

aph_value aphi_outbox_candidates(const aphi_machine *m, const aphi_core *core, int64_t connection)
{
    aph_value name, queue, messages = aph_array(0, NULL);
    int64_t own_number = aphi_outbox_own_number(core, connection), own;
    if (connection < APH_ACCEPTED)
        return aph_get(core->outbox, aph_int(connection));
    for (size_t i = 0; core->outbox && aph_pair_at(core->outbox, i, &name, &queue); i++)
        if (is_own_queue(name, queue, &own) && may_be(m, core, own, connection, own_number))
            messages = aph_push(messages, aph_at(queue, 0));
    return messages;
}
