/* SPDX-License-Identifier: Apache-2.0
 *
 * run.c - one run of the tester.
 *
 * Idea:       a loop of four parts: act (actions whose wait is over), put the trace on disk, one turn of the network,
 *             tell the oracle. The actions come from a script or from a generator; either way they are written down
 *             as a script, so that every run can be had again.
 * Silence:    time counts as silence only while we look: a tick of the loop counts for at most ten milliseconds however
 *             long the machine made us wait, and not at all while the subject has work to do. Whoever sends a part of a
 *             message is not silent, but must come to its end some time. Where nobody lets us in, the kernel asks again
 *             after one second and after three: a subject that is merely slow to accept is not blamed before that.
 * Aside:      where some requests are to be alone with their part of the state, an action of a busy stretch that has to
 *             wait, for an answer or because it would meet another, waits aside, and those behind it go on: else few
 *             requests would be in flight. Or it joins the one that it would meet, on its connection. Those that would
 *             meet keep their order. What was aside gets a new label when it is performed, for labels rise in a script.
 * Read next:  witness.h, net.h, generator.h */
#include "harness/run.h"

#include "base/buffer.h"
#include "base/choice.h"
#include "base/clock.h"
#include "base/memory.h"
#include "env/env.h"
#include "harness/expression.h"
#include "harness/generator.h"
#include "harness/net.h"
#include "harness/witness.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
    ACTIONS_IN_TURN = 256,
    MOMENTS_MAX = 1 << 17,     /* kept for reports; a power of two */
    SCRIPT_MAX = 1 << 17,      /* actions that a script may have */
    REMEMBERED = 1024,         /* labelled messages */
    WAITED = 1 << 16,          /* labels whose answer can be waited for; a power of two */
    KINDS_MAX = 64,
    COLLECT_SLACK = 32 << 20,
    LOSSY_FLIGHT = 4,          /* requests between two silences, where each may be lost or come twice, in any order */
    STATE_EVERY = 64,          /* requests between two looks at the model's state; more, where that has many parts */
    HELD_MAX = 8,              /* calls that wait for an answer while others come */
    ASIDE_MAX = 64,            /* actions that wait while others go on */
    CROWDS = 1 << 12,          /* a power of two */
};
static const int64_t TICK = 10000000;         /* nanoseconds */
static const int64_t QUIET = 1000000;         /* silence that counts as quiet if nothing is owed */
static const int64_t QUIET_UNPAIRED = 20000000; /* or if it is not known what is owed */
static const int64_t HOLD = 500000;             /* nothing came for so long: those that wait are answered */
static const int64_t SHOW_EVERY = 100000000;
static const int64_t COUNT_EVERY = 500000000; /* branches, in a long run; in a short one sooner, for the generator */
static const int64_t PATIENCE = 400000000;
static const int64_t PATIENCE_DIALING = 4000000000;
enum {
    PATIENCES_TRICKLING = 25,  /* without a whole message, while bytes come */
    PATIENCES_LATE = 4,        /* for a request while others are answered */
    PATIENCE_PARTS_DYING = 4,  /* this part of it, for the end of a process to be seen after that of its connections */
};

typedef struct asked {
    int64_t label;
    uint64_t number;   /* by the witness */
    int64_t at;
    uint32_t kind;
    aph_value message, part;
    bool alone;
} asked;

/* One end of a connection: the requests on it that have no answer, oldest first. */
typedef struct peer {
    int64_t name;      /* its number in the trace: a connection that is opened again is another one */
    bool is_named, was_open, was_answered;
    asked *queue;
    size_t head, count, capacity; /* capacity: a power of two */
} peer;

/* Requests in flight on a part of the state. Parts whose hashes agree share one: a request may wait a little longer. */
typedef struct crowd {
    uint32_t all, alone;
    int64_t latest; /* connection */
} crowd;

/* An action that waits while others go on, and what it is about. */
typedef struct aside {
    aphi_action action;
    aph_value part;
    bool alone;
} aside;

/* A call that has its answer coming. */
typedef struct held {
    int64_t connection, name;
    aph_value answer;
} held;

typedef struct kind {
    aph_value name;
    uint64_t sent, answered;
} kind;

typedef struct run {
    aphi_run result;
    const aphi_run_options *options;
    const aph_model *model;
    bool paired, datagrams, solo;
    size_t buffer;          /* messages that a connection is believed to hold each way; 0: any number */
    aphi_net *net;
    aphi_witness *witness;
    aphi_generator *generator;
    aphi_labelled *labelled;
    int64_t began, now;

    peer *peers;
    uint32_t *in_flight;    /* by connection: requests without an answer */
    size_t peer_count;
    uint64_t owed;          /* in all */
    crowd *crowds;          /* by the hash of the part, if the model says what is to be alone */
    aside aside[ASIDE_MAX]; /* oldest first */
    size_t aside_count;
    int64_t last_label;     /* of an action that was performed */
    int64_t *waited;        /* labels of requests without an answer, by label modulo WAITED */

    aphi_action action;     /* the next */
    bool has_action, over;  /* over: there will be no more */
    size_t script_at;
    int64_t acted_at;
    int64_t silent;         /* nanoseconds without a byte, as counted */
    int64_t wordless;       /* and without a message */
    bool ended;             /* the result is there */
    int64_t next_name;      /* for a connection that is opened again */
    uint64_t called;        /* messages on connections that the subject opened */
    int64_t call;           /* the last of them, as a connection, if the model takes each as one of its own */
    held held[HELD_MAX];
    size_t held_count;
    aphi_choice choice;     /* which calls wait */
    bool left;              /* a connection was closed: what would have come on it is not seen */
    uint64_t drained;       /* moments when a lossy network was last seen quiet */
    uint32_t since_quiet;   /* requests sent since */

    aphi_moment *moments;   /* ring */
    uint64_t moment_count;
    uint64_t *numbers;      /* by place in the ring: number of the observation, plus 1; 0: not told */
    kind kinds[KINDS_MAX];
    uint32_t kind_count;
    aph_value state;
    uint64_t state_at;
    aphi_buffer trace;
    off_t trace_size;       /* on disk */
    bool trace_failed;
    int64_t looked_at, shown_at, count_at;
    bool awake;             /* the clock was read since the last wait */
} run;

const char *aphi_finding_name(aphi_finding o)
{
    static const char *const names[] = {
#define X(name, text) text,
        APHI_FINDINGS(X)
#undef X
    };
    return names[o];
}

/* ---- the end ----------------------------------------------------------------------------------------------------- */

__attribute__((format(printf, 3, 4))) static void end(run *r, aphi_finding outcome, const char *format, ...)
{
    if (r->ended)
        return;
    r->ended = true;
    r->result.outcome = outcome;
    va_list args;
    va_start(args, format);
    vsnprintf(r->result.why, sizeof r->result.why, format, args);
    va_end(args);
}

static void end_by_fault(run *r, aph_fault fault, const char *message, int64_t connection)
{
    if (fault == APH_FAULT_ANSWER) {
        end(r, APHI_FINDING_FAIL, "an answer on connection %lld, on which nothing was asked", (long long)connection);
        return;
    }
    end(r, APHI_FINDING_TROUBLE, "%s", message);
    r->result.fault = fault;
}

static uint64_t first_moment(const run *r)
{
    return r->moment_count > MOMENTS_MAX ? r->moment_count - MOMENTS_MAX : 0;
}

static void blame(run *r)
{
    uint64_t number = aphi_witness_last(r->witness) + 1, first = first_moment(r);
    for (uint64_t i = r->moment_count; i-- > first;)
        if (r->numbers[i & (MOMENTS_MAX - 1)] == number) {
            r->result.blamed = (int64_t)(i - first);
            return;
        }
}

static void end_by_verdict(run *r, aph_verdict verdict)
{
    const aphi_seat *seat = aphi_jury_dissenter(aphi_witness_jury(r->witness));
    const char *message = "";
    aph_fault fault = seat && seat->oracle ? aph_oracle_fault(seat->oracle, &message) : APH_FAULT_NONE;
    aph_limit limit = seat && seat->oracle ? aph_oracle_limit(seat->oracle) : APH_LIMIT_NONE;
    blame(r);
    if (fault) {
        uint64_t place = (first_moment(r) + (uint64_t)r->result.blamed) & (MOMENTS_MAX - 1);
        int64_t connection = r->result.blamed >= 0 ? r->moments[place].connection : -1;
        end_by_fault(r, fault, message, connection);
    } else if (verdict == APH_FAIL) {
        end(r, APHI_FINDING_FAIL, "nothing that the model allows explains what was seen");
    } else {
        r->result.undecided = limit == APH_LIMIT_WINDOW || limit == APH_LIMIT_TIME;
        end(r, APHI_FINDING_UNKNOWN, limit == APH_LIMIT_MEMORY   ? "the oracle's memory is used up"
                                     : limit == APH_LIMIT_SOLVER ? "the solver could not decide in its time"
                                     : limit == APH_LIMIT_WINDOW ? "explanations had been given up to save memory"
                                                                 : "the oracle took too long");
    }
}

static bool is_stopped(const run *r)
{
    return r->options->stop && *r->options->stop;
}

/* Tell the oracle, and hear what it says. */
static void judge(run *r, bool all)
{
    if (!r->witness || r->ended)
        return;
    aph_verdict verdict = aphi_witness_tell(r->witness, r->now, all);
    if (verdict == APH_UNKNOWN && is_stopped(r))
        end(r, APHI_FINDING_STOPPED, "stopped by a signal");
    else if (verdict != APH_PASS)
        end_by_verdict(r, verdict);
}

/* The subject went wrong in a way that ends the run, unless what it did before is explained by nothing. */
#define END_AFTER_JUDGING(r, outcome, ...) \
    do { \
        judge(r, true); \
        end(r, outcome, __VA_ARGS__); \
    } while (0)

static int64_t patience_of(const run *r)
{
    return r->options->patience_ns ? r->options->patience_ns : PATIENCE;
}

/* Is the subject's process no more? Its connections may be seen to end a moment before it does. */
static bool has_exited(run *r, bool soon, char *how, size_t size)
{
    int64_t until = aphi_clock_ns() + (soon ? patience_of(r) / PATIENCE_PARTS_DYING : 0);
    while (aphi_subject_look(r->options->subject, how, size) != APHI_SUBJECT_EXITED) {
        if (aphi_clock_ns() >= until || !aphi_subject_is_ours(r->options->subject))
            return false;
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
    return true;
}

static void end_dead(run *r, const char *what)
{
    char how[160];
    if (r->ended)
        return;
    if (has_exited(r, *what, how, sizeof how))
        END_AFTER_JUDGING(r, APHI_FINDING_DEAD, "the subject %s", how);
    else
        END_AFTER_JUDGING(r, APHI_FINDING_DEAD, "%s", what);
}

static int64_t name_of(run *r, int64_t connection);

/* ---- writing down ------------------------------------------------------------------------------------------------ */

static void note_moment(run *r, aphi_moment_kind what, int64_t connection, int64_t label, aph_value message,
                        uint64_t number)
{
    static const char *const words[] = {"send", "recv", "lost", "malformed", "closed", "dropped"};
    uint64_t place = r->moment_count++ & (MOMENTS_MAX - 1);
    connection = name_of(r, connection);
    r->moments[place] = (aphi_moment){what, r->now - r->began, connection, label, message};
    r->numbers[place] = number + 1;
    if (r->options->trace < 0)
        return;
    bool told = what <= APHI_MOMENT_LOST;
    aphi_buffer_format(&r->trace, told ? "{\"conn\":%lld," : "{\"note\":{\"conn\":%lld,", (long long)connection);
    if (label)
        aphi_buffer_format(&r->trace, "\"label\":%lld,", (long long)label);
    aphi_buffer_format(&r->trace, "\"%s\":", words[what]);
    if (what == APHI_MOMENT_LOST || what == APHI_MOMENT_CLOSED) {
        aphi_buffer_str(&r->trace, "true");
    } else {
        size_t n;
        char *text = aph_json_text(message, &n);
        aphi_buffer_add(&r->trace, text, n);
        free(text);
    }
    aphi_buffer_format(&r->trace, "%s,\"time\":%lld}\n", told ? "" : "}", (long long)((r->now - r->began) / 1000));
}

/* A verdict without its trace could not be checked by anybody: whatever the run came to, this is what is told. */
static void give_trace_up(run *r, size_t written, int failure)
{
    while (written && r->trace.data[written - 1] != '\n')
        written--;
    r->trace_failed = true;
    r->ended = false;
    r->result.fault = APH_FAULT_NONE;
    bool cut = !ftruncate(r->options->trace, r->trace_size + (off_t)written);
    end(r, APHI_FINDING_TROUBLE, "%.300s cannot be written: %s; make room, or choose another --folder%s",
        r->options->trace_name, strerror(failure), cut ? "" : " (its last line may be torn)");
}

static void put_trace_on_disk(run *r)
{
    size_t at = 0;
    while (at < r->trace.n && !r->trace_failed) {
        ssize_t written = write(r->options->trace, r->trace.data + at, r->trace.n - at);
        if (written < 0 && errno != EINTR)
            give_trace_up(r, at, errno);
        else if (written > 0)
            at += (size_t)written;
    }
    r->trace_size += (off_t)at;
    r->trace.n = 0;
}

static uint32_t kind_of(run *r, aph_value request)
{
    aph_value name = aphi_request_kind(r->model, request);
    uint32_t i = 0;
    while (i < r->kind_count && r->kinds[i].name != name)
        i++;
    if (i == r->kind_count && i < KINDS_MAX - 1)
        r->kinds[r->kind_count++] = (kind){.name = name};
    return i;
}

/* ---- peers ------------------------------------------------------------------------------------------------------- */

static peer *peer_of(run *r, int64_t connection)
{
    size_t need = (size_t)connection + 1;
    if (need > r->peer_count) {
        size_t count = r->peer_count ? r->peer_count : 16;
        while (count < need)
            count *= 2;
        r->peers = aphi_realloc(r->peers, count * sizeof *r->peers);
        r->in_flight = aphi_realloc(r->in_flight, count * sizeof *r->in_flight);
        memset(r->peers + r->peer_count, 0, (count - r->peer_count) * sizeof *r->peers);
        memset(r->in_flight + r->peer_count, 0, (count - r->peer_count) * sizeof *r->in_flight);
        r->peer_count = count;
    }
    return &r->peers[connection];
}

static int64_t name_of(run *r, int64_t connection)
{
    if (connection >= APH_ACCEPTED)
        return r->model->calls_apart ? r->call : connection;
    peer *p = peer_of(r, connection);
    if (!p->is_named) {
        p->name = p->was_open ? r->next_name++ : connection;
        p->is_named = p->was_open = true;
    }
    return p->name;
}

/* It is closed. If it is used again, it is opened again. */
static void retire(run *r, int64_t connection)
{
    peer *p = peer_of(r, connection);
    p->is_named = p->was_answered = false;
    r->left = true;
}

static crowd *crowd_of(const run *r, aph_value part)
{
    return &r->crowds[aph_hash(part) & (CROWDS - 1)];
}

static void push_asked(run *r, int64_t connection, asked a)
{
    peer *p = peer_of(r, connection);
    if (p->count == p->capacity) {
        size_t capacity = p->capacity ? 2 * p->capacity : 8;
        asked *queue = aphi_alloc(capacity * sizeof *queue);
        for (size_t i = 0; i < p->count; i++)
            queue[i] = p->queue[(p->head + i) & (p->capacity - 1)];
        free(p->queue);
        p->queue = queue;
        p->head = 0;
        p->capacity = capacity;
    }
    p->queue[(p->head + p->count++) & (p->capacity - 1)] = a;
    r->in_flight[connection]++;
    r->owed++;
    crowd_of(r, a.part)->all++;
    crowd_of(r, a.part)->alone += a.alone;
    crowd_of(r, a.part)->latest = connection;
    r->waited[(uint64_t)a.label / 2 & (WAITED - 1)] = a.label;
}

static bool pop_asked(run *r, int64_t connection, asked *a)
{
    peer *p = peer_of(r, connection);
    if (!p->count)
        return false;
    *a = p->queue[p->head];
    p->head = (p->head + 1) & (p->capacity - 1);
    p->count--;
    r->in_flight[connection]--;
    r->owed--;
    crowd_of(r, a->part)->all--;
    crowd_of(r, a->part)->alone -= a->alone;
    int64_t *slot = &r->waited[(uint64_t)a->label / 2 & (WAITED - 1)];
    if (*slot == a->label)
        *slot = 0;
    return true;
}

/* What is still open on the connection will not be answered. */
static void lose_asked(run *r, int64_t connection)
{
    asked a;
    while (pop_asked(r, connection, &a)) {
        uint64_t number = r->witness ? aphi_witness_lost(r->witness, name_of(r, connection), a.number) : 0;
        note_moment(r, APHI_MOMENT_LOST, connection, a.label + 1, APH_NIL, number);
    }
}

/* We are done with the connection. */
static void part(run *r, int64_t connection)
{
    note_moment(r, APHI_MOMENT_CLOSED, connection, 0, APH_NIL, UINT64_MAX);
    aphi_net_hang_up(r->net, connection);
    lose_asked(r, connection);
    retire(r, connection);
}

/* ---- arrivals ---------------------------------------------------------------------------------------------------- */

static aph_value oldest_asked(void *context, int64_t connection)
{
    run *r = context;
    const peer *p = peer_of(r, connection);
    return p->count ? p->queue[p->head].message : APH_NIL;
}

static uint64_t tell_received(run *r, const aphi_arrival *a, uint64_t request)
{
    return r->witness ? aphi_witness_received(r->witness, name_of(r, a->connection), a->message, request) : 0;
}

static void arrived_message(run *r, const aphi_arrival *a)
{
    asked q = {.number = APHI_NO_REQUEST};
    bool answer = pop_asked(r, a->connection, &q);
    int64_t label = answer ? q.label + 1 : 0;
    peer_of(r, a->connection)->was_answered = true;
    if (answer)
        r->kinds[q.kind].answered++;
    r->result.facts.answers++;
    if (label)
        aphi_labelled_add(r->labelled, label, a->message);
    uint64_t number = tell_received(r, a, q.number);
    note_moment(r, APHI_MOMENT_RECEIVED, a->connection, label, a->message, number);
    if (a->last)
        part(r, a->connection);
}

static void answer_call(run *r, held call)
{
    r->call = call.name;
    if (call.answer == aph_bool(false)) {
        aphi_net_hang_up(r->net, call.connection);
    } else if (!aphi_net_post(r->net, call.connection, call.answer, 0)) {
        end(r, APHI_FINDING_TROUBLE, "the model's answer to a call has no bytes in its codec");
        return;
    }
    uint64_t number = r->witness ? aphi_witness_sent(r->witness, name_of(r, call.connection), call.answer, r->now) : 0;
    note_moment(r, APHI_MOMENT_SENT, call.connection, 0, call.answer, number);
}

/* One of those that wait, not always the one that waits longest; of one connection, which has an order, that one. */
static void answer_held(run *r)
{
    size_t i = (size_t)aphi_choice_below(&r->choice, r->held_count), k = 0;
    while (r->held[k].connection != r->held[i].connection)
        k++;
    held call = r->held[k];
    memmove(r->held + k, r->held + k + 1, (--r->held_count - k) * sizeof *r->held);
    answer_call(r, call);
}

static bool is_held(const run *r, int64_t connection)
{
    for (size_t i = 0; i < r->held_count; i++)
        if (r->held[i].connection == connection)
            return true;
    return false;
}

/* On a connection that the subject opened we are the server: the model says what it answers. Some wait, so that the
 * subject has several at a time and is not answered in the order in which it asked. */
static void arrived_call(run *r, const aphi_arrival *a)
{
    r->call = APH_ACCEPTED + (int64_t)r->called;
    uint64_t number = tell_received(r, a, APHI_NO_REQUEST);
    note_moment(r, APHI_MOMENT_RECEIVED, a->connection, 0, a->message, number);
    if (!r->model->respond)
        return;
    held call = {a->connection, r->call, r->model->respond(a->message, r->called++)};
    if (!r->model->calls_apart || (!is_held(r, a->connection) && aphi_choice_chance(&r->choice, 1, 2))) {
        answer_call(r, call);
        return;
    }
    if (r->held_count == HELD_MAX)
        answer_held(r);
    r->held[r->held_count++] = call;
}

static void arrived_end(run *r, const aphi_arrival *a, const char *word)
{
    if (a->connection >= APH_ACCEPTED) {
        if (!r->model->calls_apart)
            note_moment(r, APHI_MOMENT_DROPPED, a->connection, 0, aph_str(word), UINT64_MAX);
        return;
    }
    bool owes = peer_of(r, a->connection)->count > 0, answered = peer_of(r, a->connection)->was_answered;
    note_moment(r, APHI_MOMENT_DROPPED, a->connection, 0, aph_str(word), UINT64_MAX);
    lose_asked(r, a->connection);
    retire(r, a->connection);
    /* A request may have crossed the close; then the system breaks the connection off. */
    if (r->model->closes == APH_CLOSES_SETTLED && a->kind != APHI_ARRIVED_REFUSED && (!owes || answered))
        return;
    char what[256];
    bool refused = a->kind == APHI_ARRIVED_REFUSED;
    r->result.unreached = refused && !r->result.facts.answers && !r->datagrams;
    snprintf(what, sizeof what, "connection %lld: %s%s%s", (long long)a->connection,
             refused && !r->datagrams ? "the subject did not let us in: " : "", a->why,
             !refused && owes                             ? ", and an answer was owed on it"
             : refused && !r->result.facts.answers        ? "; is it there, at this address?"
                                                          : "");
    end_dead(r, what);
}

static void arrived(void *context, const aphi_arrival *a)
{
    run *r = context;
    if (aphi_arrival_says(a))
        r->wordless = 0;
    if (r->ended)
        return;
    if (!r->awake) { /* the wait is over: what arrives with this is of now, not of when the wait began */
        r->awake = true;
        r->now = aphi_clock_ns();
    }
    switch (a->kind) {
    case APHI_ARRIVED_CALL: break;
    case APHI_ARRIVED_MESSAGE:
        if (a->connection < APH_ACCEPTED)
            arrived_message(r, a);
        else
            arrived_call(r, a);
        break;
    case APHI_ARRIVED_MALFORMED:
        r->call = APH_ACCEPTED + (int64_t)r->called;
        note_moment(r, APHI_MOMENT_MALFORMED, a->connection, 0, a->message, UINT64_MAX);
        END_AFTER_JUDGING(r, APHI_FINDING_MALFORMED, "connection %lld: what came is not a message: %s",
                          (long long)a->connection, a->why);
        break;
    case APHI_ARRIVED_END: arrived_end(r, a, "closed"); break;
    case APHI_ARRIVED_RESET: arrived_end(r, a, "reset"); break;
    case APHI_ARRIVED_REFUSED: arrived_end(r, a, "refused"); break;
    case APHI_ARRIVED_CROWD:
        end(r, APHI_FINDING_UNKNOWN, "the subject has opened more connections to us than we take: %s", a->why);
        break;
    case APHI_ARRIVED_UNABLE:
        if (a->connection >= APH_ACCEPTED)
            end(r, APHI_FINDING_TROUBLE, "a connection that the subject opens to us cannot be taken: %s; allow more "
                "open files (ulimit -n)", a->why);
        else
            end(r, APHI_FINDING_TROUBLE, "connection %lld cannot be opened from here: %s; use fewer --connections, or "
                "allow more open files (ulimit -n)", (long long)a->connection, a->why);
        break;
    }
}

/* ---- actions ----------------------------------------------------------------------------------------------------- */

/* What has not come in this time does not come. A lossy network is given as long as one that owes an answer: what it
 * was too early to call lost would be blamed on the subject. */
static int64_t silence_of(const run *r)
{
    int64_t patience = r->options->patience_ns ? r->options->patience_ns : PATIENCE;
    return r->paired ? QUIET : r->datagrams ? patience : QUIET_UNPAIRED;
}

static bool is_quiet(const run *r)
{
    return (!r->paired || !r->owed) && r->silent >= silence_of(r);
}

static bool is_aside(const run *r, int64_t label)
{
    for (size_t i = 0; i < r->aside_count; i++)
        if (r->aside[i].action.label == label)
            return true;
    return false;
}

static bool is_answered(const run *r, int64_t label)
{
    return r->waited[(uint64_t)label / 2 & (WAITED - 1)] != label && !is_aside(r, label);
}

static bool wait_is_over(run *r, const aphi_action *a)
{
    switch (a->wait) {
    case APHI_WAIT_NOTHING: return true;
    case APHI_WAIT_ANSWER: return is_answered(r, a->waits_for - 1);
    case APHI_WAIT_QUIET: return is_quiet(r);
    case APHI_WAIT_PAUSE: return r->now - r->acted_at >= a->waits_for * 1000;
    }
    return true;
}

/* Would the request meet one of its part that is in flight on another connection, though one of them is to be alone? */
static bool would_meet(run *r, const aside *a)
{
    const crowd *c = crowd_of(r, a->part);
    const peer *p = peer_of(r, a->action.connection);
    crowd others = *c;
    for (size_t k = 0; others.all && k < p->count; k++) {
        const asked *q = &p->queue[(p->head + k) & (p->capacity - 1)];
        if (crowd_of(r, q->part) == c) {
            others.all--;
            others.alone -= q->alone;
        }
    }
    return a->alone ? others.all : others.alone;
}

/* Has it to stay behind one of the first n that are aside? */
static bool is_behind(const run *r, const aside *a, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (r->aside[i].part == a->part && (r->aside[i].alone || a->alone))
            return true;
    return false;
}

/* The generator keeps parts apart and closes what is idle by what is in flight: it does not see what is aside. */
static bool is_out_of_place(run *r, const aside *a)
{
    const peer *p = peer_of(r, a->action.connection);
    if (!p->count || r->options->script)
        return false;
    return !a->action.send ||
           (r->options->apart && p->queue[(p->head + p->count - 1) & (p->capacity - 1)].part != a->part);
}

/* What the action is about, as of now, for it may have holes. */
static aside look_at_action(const run *r, const aphi_action *a)
{
    const aph_model *m = r->model;
    if (!m->alone || !a->send)
        return (aside){.action = *a};
    aph_value message = aphi_expression_fill(a->send, r->labelled, m->functions);
    return (aside){.action = *a, .part = m->part ? m->part(message) : APH_NIL, .alone = m->alone(message)};
}

/* n: those aside that are before it. */
static bool is_held_up(run *r, const aside *a, size_t n)
{
    return r->model->alone &&
           (is_out_of_place(r, a) || (a->action.send && (is_behind(r, a, n) || would_meet(r, a))));
}

static bool has_room(run *r, const aphi_action *a)
{
    size_t flight = r->datagrams ? LOSSY_FLIGHT : r->paired ? 0 : r->solo ? 1 : r->buffer;
    if ((r->solo && r->owed) || (flight && r->since_quiet >= flight))
        return false;
    peer_of(r, a->connection);
    /* The system's own buffers are larger than any N, so that to send more would prove nothing. */
    if (r->buffer && r->in_flight[a->connection] >= r->buffer)
        return false;
    return r->options->script || r->in_flight[a->connection] < r->options->depth;
}

/* The state of some explanation, as far as it is one value: objects of several parts are put together. */
static aph_value look_at_state(run *r)
{
    size_t n;
    const aphi_seat *seats = aphi_jury_seats(aphi_witness_jury(r->witness), &n);
    aph_value all = APH_NIL;
    r->state_at = r->result.facts.requests + STATE_EVERY + 16 * n;
    for (size_t i = 0; i < n; i++) {
        aph_value state = seats[i].oracle ? seats[i].oracle->core.state : seats[i].core.state, key, item;
        if (!all || aph_kind_of(state) != APH_OBJECT) {
            all = state;
            continue;
        }
        for (size_t k = 0; aph_pair_at(state, k, &key, &item); k++)
            all = aph_set(all, key, item);
    }
    return all;
}

static bool next_action(run *r)
{
    const aphi_run_options *o = r->options;
    if (r->has_action)
        return true;
    if (r->over)
        return false;
    if (o->script) {
        if (r->script_at == o->script->count) {
            r->over = true;
            return false;
        }
        r->action = o->script->actions[r->script_at++];
        return r->has_action = true;
    }
    uint64_t to_come = r->owed + 2 * r->aside_count;
    if (o->messages && r->result.facts.requests + r->result.facts.answers + to_come >= o->messages) {
        r->over = true;
        return false;
    }
    if (r->owed >= o->connections * o->depth)
        return false;
    if (r->witness && r->result.facts.requests >= r->state_at)
        r->state = look_at_state(r);
    peer_of(r, (int64_t)o->connections);
    r->action = aphi_generator_next(r->generator, &(aphi_knowledge){.state = r->state, .seen = r->labelled,
                                                                    .in_flight = r->in_flight,
                                                                    .connections = o->connections,
                                                                    .branches = r->result.branches});
    if (!r->action.label) {
        end(r, APHI_FINDING_TROUBLE, "%s", aphi_generator_error(r->generator));
        r->result.fault = APH_FAULT_REQUEST;
        return false;
    }
    return r->has_action = true;
}

static void write_down_action(run *r, const aphi_action *a)
{
    if (r->result.script.count == SCRIPT_MAX) {
        r->result.script_whole = false;
        return;
    }
    aphi_script_add(&r->result.script, a);
}

/* What a script sends must mean something to the model: else its end would say nothing of the subject. */
static bool is_meaningful(run *r, const aphi_action *a, aph_value message)
{
    const char *why;
    if (!r->options->script || !r->witness ||
        aphi_witness_knows(r->witness, name_of(r, a->connection), message, r->now, &why))
        return true;
    end(r, APHI_FINDING_TROUBLE, "request %lld: %s", (long long)a->label, why);
    r->result.fault = APH_FAULT_REQUEST;
    return false;
}

static void send_message(run *r, const aphi_action *a)
{
    aph_value message = aphi_expression_fill(a->send, r->labelled, r->model->functions);
    if (!is_meaningful(r, a, message))
        return;
    if (!aphi_net_post(r->net, a->connection, message, a->chunk)) {
        char *text = aph_json_text(message, NULL);
        if (!r->options->script)
            end(r, APHI_FINDING_TROUBLE, "the model's generator made a request that its codec has no bytes for: %.200s",
                text);
        free(text);
        return;
    }
    uint32_t what = kind_of(r, message);
    r->kinds[what].sent++;
    r->result.facts.requests++;
    r->since_quiet++;
    if (!r->paired)
        r->silent = 0; /* what was sent just now may still be answered */
    aphi_labelled_add(r->labelled, a->label, message);
    uint64_t number = r->witness ? aphi_witness_sent(r->witness, name_of(r, a->connection), message, r->now) : 0;
    const aph_model *m = r->model;
    push_asked(r, a->connection,
               (asked){.label = a->label, .number = number, .at = r->now, .kind = what, .message = message,
                       .part = m->alone && m->part ? m->part(message) : APH_NIL,
                       .alone = m->alone && m->alone(message)});
    note_moment(r, APHI_MOMENT_SENT, a->connection, a->label, message, number);
}

static void rename_wait(aphi_action *a, int64_t old, int64_t label)
{
    if (a->wait == APHI_WAIT_ANSWER && a->waits_for == old + 1)
        a->waits_for = label + 1;
}

/* Labels rise in a script, also where one action came to be performed after a later one. */
static void keep_labels_rising(run *r, aphi_action *a)
{
    if (a->label < r->last_label) {
        int64_t old = a->label;
        a->label = aphi_generator_rename(r->generator, a->connection, old);
        rename_wait(&r->action, old, a->label);
        for (size_t i = 0; i < r->aside_count; i++)
            rename_wait(&r->aside[i].action, old, a->label);
    }
    r->last_label = a->label;
}

static void perform(run *r, aphi_action *a)
{
    keep_labels_rising(r, a);
    write_down_action(r, a);
    if (a->send) {
        send_message(r, a);
    } else {
        part(r, a->connection);
    }
    r->acted_at = r->now;
}

/* What those aside are about is looked at again only when they may go: that costs more. */
static void perform_aside(run *r)
{
    size_t kept = 0;
    for (size_t i = 0; i < r->aside_count; i++) {
        aside a = r->aside[i];
        bool goes = !r->ended && wait_is_over(r, &a.action) && has_room(r, &a.action) && !is_held_up(r, &a, kept);
        if (goes) {
            a = look_at_action(r, &a.action);
            goes = !is_held_up(r, &a, kept);
        }
        if (goes)
            perform(r, &a.action);
        r->aside[kept] = a;
        kept += !goes;
    }
    r->aside_count = kept;
}

/* Whoever waits in a calm stretch is there to see what it waits for. */
static bool may_wait_aside(run *r)
{
    const aphi_action *a = &r->action;
    return r->model->alone && r->paired && !r->solo && !r->buffer && r->generator && r->aside_count < ASIDE_MAX &&
           (wait_is_over(r, a) || a->wait == APHI_WAIT_ANSWER) && !aphi_generator_is_calm(r->generator);
}

/* On the connection where its part is in flight it meets nobody, and where parts are kept apart that is what is to be
 * in flight there. */
static void join_its_part(run *r, aside *a)
{
    aside joined = *a;
    if (!r->options->apart || !a->action.send || !r->generator || aphi_generator_is_calm(r->generator))
        return;
    joined.action.connection = crowd_of(r, a->part)->latest;
    if (has_room(r, &joined.action) && !is_held_up(r, &joined, r->aside_count))
        *a = joined;
}

/* False: it has to wait where it is, and so have all behind it. */
static bool perform_or_set_aside(run *r)
{
    bool ready = wait_is_over(r, &r->action) && has_room(r, &r->action);
    if (!ready && !may_wait_aside(r))
        return false;
    aside a = look_at_action(r, &r->action);
    if (ready && is_held_up(r, &a, r->aside_count))
        join_its_part(r, &a);
    bool goes = ready && !is_held_up(r, &a, r->aside_count);
    if (!goes && !may_wait_aside(r))
        return false;
    r->has_action = false;
    if (goes) {
        perform(r, &a.action);
        return true;
    }
    if (a.action.wait != APHI_WAIT_ANSWER) /* its pause is over, and is no longer one since the latest action */
        a.action.wait = APHI_WAIT_NOTHING;
    r->aside[r->aside_count++] = a;
    return true;
}

/* Every action whose time has come. */
static void act(run *r)
{
    perform_aside(r);
    for (int i = 0; i < ACTIONS_IN_TURN && !r->ended && next_action(r); i++)
        if (!perform_or_set_aside(r))
            return;
}

/* ---- silence ----------------------------------------------------------------------------------------------------- */

/* A request has waited far longer than silence may last, though others were answered. */
static bool one_is_late(run *r)
{
    for (size_t i = 0; r->paired && i < r->peer_count; i++)
        if (r->peers[i].count && r->now - r->peers[i].queue[r->peers[i].head].at > PATIENCES_LATE * patience_of(r))
            return true;
    return false;
}

/* The oldest request without an answer, on a connection that somebody accepted if there is one; its label, or 0. */
static int64_t oldest_owed(const run *r, int64_t *connection)
{
    int64_t label = 0;
    bool let_in = false;
    for (size_t i = 0; i < r->peer_count; i++) {
        const peer *p = &r->peers[i];
        bool in = p->count && !aphi_net_is_dialing(r->net, (int64_t)i);
        if (!p->count || (let_in && !in) || (label && let_in == in && p->queue[p->head].label > label))
            continue;
        let_in = in;
        *connection = (int64_t)i;
        label = p->queue[p->head].label;
    }
    return label;
}

static void end_starved(run *r)
{
    char how[160], more[200] = "";
    aphi_subject_state state = aphi_subject_look(r->options->subject, how, sizeof how);
    if (state == APHI_SUBJECT_EXITED) {
        end_dead(r, "");
        return;
    }
    int64_t connection = -1, label = oldest_owed(r, &connection);
    if (state == APHI_SUBJECT_STOPPED)
        snprintf(more, sizeof more, "; the subject %s", how);
    else if (label && aphi_net_is_dialing(r->net, connection))
        snprintf(more, sizeof more, ": nobody accepted the connection in %.1f s", (double)r->silent / 1e9);
    else if (r->silent < r->wordless)
        snprintf(more, sizeof more, ": there was no whole message in %.1f s, though bytes came",
                 (double)r->wordless / 1e9);
    else if (!aphi_net_idle(r->net))
        snprintf(more, sizeof more, ", and the subject does not read what is sent to it");
    if (label)
        END_AFTER_JUDGING(r, APHI_FINDING_STARVED, "request %lld on connection %lld was not answered in %.1f s%s",
                          (long long)label, (long long)connection, (double)patience_of(r) / 1e9, more);
    else
        END_AFTER_JUDGING(r, APHI_FINDING_STARVED, "the subject owes something in every explanation, and is silent%s",
                          more);
}

/* Nothing more is to be done, and nothing more is to come. */
static void end_quietly(run *r)
{
    judge(r, true);
    if (!r->ended && r->witness && !r->model->rpc && !r->datagrams && !r->left) {
        aph_verdict verdict = aphi_witness_quiet(r->witness);
        if (verdict == APH_FAIL)
            end(r, APHI_FINDING_STARVED, "the subject owes something in every explanation, and is silent");
        else if (verdict != APH_PASS)
            end_by_verdict(r, verdict);
    }
    end(r, APHI_FINDING_PASS, "everything that was seen is explained");
}

/* Where answers are not of one request each, nobody knows what is owed; after a silence, nothing. */
static void call_it_even(run *r)
{
    asked a;
    for (size_t i = 0; r->owed && i < r->peer_count; i++)
        while (pop_asked(r, (int64_t)i, &a))
            continue;
    if (!r->datagrams)
        r->since_quiet = 0;
    if (!r->datagrams || !r->witness || r->drained == r->moment_count)
        return;
    judge(r, true);
    r->drained = r->moment_count;
    r->since_quiet = 0;
    if (!r->ended && aphi_witness_quiet(r->witness) != APH_PASS)
        end_by_verdict(r, APH_UNKNOWN);
}

/* It owes us something, if only to read, and nothing has come for longer than that may last. */
static bool is_starved(const run *r)
{
    int64_t patience = patience_of(r), connection = 0;
    if (!(r->paired && r->owed) && aphi_net_idle(r->net))
        return false;
    if (r->silent < patience)
        return r->wordless >= PATIENCES_TRICKLING * patience;
    bool dialing = oldest_owed(r, &connection) && aphi_net_is_dialing(r->net, connection);
    return !dialing || r->silent >= PATIENCE_DIALING;
}

static void listen_to_silence(run *r)
{
    char how[160];
    if (!r->paired && r->silent >= silence_of(r))
        call_it_even(r);
    /* Where nobody knows what is owed, only patience tells that nothing more will come. */
    if (r->over && !r->has_action && !r->aside_count && aphi_net_idle(r->net) &&
        (r->paired ? !r->owed : r->silent >= (r->datagrams ? silence_of(r) : patience_of(r))))
        end_quietly(r);
    if (r->ended || r->silent < TICK)
        return;
    if (has_exited(r, false, how, sizeof how))
        end_dead(r, "");
    else if (is_starved(r))
        end_starved(r);
}

/* ---- the loop ---------------------------------------------------------------------------------------------------- */

static int64_t time_to_wait(run *r)
{
    if (r->held_count)
        return HOLD;
    if (r->has_action && r->action.wait == APHI_WAIT_PAUSE) {
        int64_t left = r->action.waits_for * 1000 - (r->now - r->acted_at);
        return left <= 0 || left > TICK ? TICK : left; /* it is over: the action waits for something else */
    }
    if (r->has_action && r->action.wait == APHI_WAIT_QUIET)
        return QUIET;
    if (!r->paired && r->silent < silence_of(r))
        return QUIET;
    return TICK;
}

static void count_branches(run *r)
{
    aph_value name, count;
    aphi_run_facts *facts = &r->result.facts;
    r->result.branches = aphi_jury_branches(aphi_witness_jury(r->witness));
    facts->branches = facts->branches_reached = 0;
    for (size_t i = 0; aph_pair_at(r->result.branches, i, &name, &count); i++) {
        facts->branches++;
        facts->branches_reached += aph_int_of(count) > 0;
    }
}

/* Each frame that the search could go back to stands for explanations that have not been tried. */
static void count_explanations(run *r)
{
    size_t n;
    const aphi_seat *seats = aphi_jury_seats(aphi_witness_jury(r->witness), &n);
    r->result.facts.explanations = 1;
    for (size_t i = 0; i < n; i++)
        if (seats[i].oracle)
            r->result.facts.explanations += seats[i].oracle->frame_count;
}

static void show(run *r)
{
    r->result.facts.ns = r->now - r->began;
    if (r->witness && (r->ended || r->now >= r->count_at)) {
        int64_t part = r->result.facts.ns / 16; /* so that it costs a part of the run only */
        r->count_at = r->now + (part < COUNT_EVERY ? part : COUNT_EVERY);
        count_branches(r);
        count_explanations(r);
    }
    if (r->options->progress && r->now - r->shown_at > SHOW_EVERY) {
        r->shown_at = r->now;
        r->options->progress(r->options->context, &r->result.facts);
    }
}

static void look_at_limits(run *r)
{
    const aphi_run_options *o = r->options;
    if (is_stopped(r))
        END_AFTER_JUDGING(r, APHI_FINDING_STOPPED, "stopped by a signal");
    if ((o->until_ns && r->now >= o->until_ns && !o->script) || (!r->over && one_is_late(r))) {
        r->over = true;
        r->has_action = false;
        r->aside_count = 0;
    }
    if (!r->witness && aph_heap_bytes() > 2 * aph_heap_bytes_kept() + COLLECT_SLACK)
        aph_collect();
}

static void turn(run *r)
{
    int64_t before = r->now;
    act(r);
    put_trace_on_disk(r);
    if (r->ended)
        return;
    r->awake = false;
    int arrivals = aphi_net_turn(r->net, time_to_wait(r));
    r->now = aphi_clock_ns();
    int64_t passed = r->now - before < TICK ? r->now - before : TICK;
    r->silent = arrivals > 0 || aphi_net_heard(r->net) ? 0 : r->silent + passed;
    r->wordless = arrivals > 0 ? 0 : r->wordless + passed;
    while (r->held_count && arrivals == 0 && !r->ended)
        answer_held(r);
    put_trace_on_disk(r);
    judge(r, false);
    listen_to_silence(r);
    if (r->now - r->looked_at > TICK) {
        r->looked_at = r->now;
        look_at_limits(r);
        show(r);
    }
}

/* ---- beginning and ending ---------------------------------------------------------------------------------------- */

static void mark_run(void *context)
{
    run *r = context;
    uint64_t n = r->moment_count < MOMENTS_MAX ? r->moment_count : MOMENTS_MAX;
    for (uint64_t i = 0; r->moments && i < n; i++)
        aph_mark(r->moments[i].message);
    for (size_t i = 0; i < r->result.moment_count; i++)
        aph_mark(r->result.moments[i].message);
    for (size_t i = 0; i < r->peer_count; i++)
        for (size_t k = 0; k < r->peers[i].count; k++)
            aph_mark(r->peers[i].queue[(r->peers[i].head + k) & (r->peers[i].capacity - 1)].message);
    for (uint32_t i = 0; i < r->kind_count; i++)
        aph_mark(r->kinds[i].name);
    for (size_t i = 0; i < r->held_count; i++)
        aph_mark(r->held[i].answer);
    for (size_t i = 0; i < r->aside_count; i++) {
        aph_mark(r->aside[i].action.send);
        aph_mark(r->aside[i].part);
    }
    aph_mark(r->state);
    aph_mark(r->result.kinds);
    aph_mark(r->result.branches);
    if (r->has_action)
        aph_mark(r->action.send);
    if (r->options && r->options->script)
        aphi_script_mark(r->options->script);
    aphi_script_mark(&r->result.script);
}

static bool open_oracle(run *r, const char *environment)
{
    const aphi_run_options *o = r->options;
    char error[300];
    if (o->blind)
        return true;
    /* Where a connection has requests of several parts in flight, its order ties them together. */
    aph_oracle_options judging = {.environment = environment, .memory = o->memory,
                                  .whole = o->script || (o->depth > 1 && !o->apart)};
    r->witness = aphi_witness_open(r->model, &judging, r->paired && r->model->rpc, error, sizeof error);
    if (!r->witness) {
        end(r, APHI_FINDING_TROUBLE, "%s", error);
        return false;
    }
    aphi_jury_count_branches(aphi_witness_jury(r->witness));
    return true;
}

static bool open_generator(run *r)
{
    const aphi_run_options *o = r->options;
    char error[300];
    if (o->script)
        return true;
    r->generator = aphi_generator_open(r->model, o->seed, o->connections, o->depth, error, sizeof error);
    if (!r->generator) {
        end(r, APHI_FINDING_TROUBLE, "%s", error);
        r->result.fault = APH_FAULT_REQUEST;
        return false;
    }
    if (o->apart)
        aphi_generator_keep_apart(r->generator);
    return true;
}

static bool begin(run *r)
{
    const aphi_run_options *o = r->options;
    const char *environment = o->environment ? o->environment : "tcp";
    char error[300];
    socklen_t size;
    const struct sockaddr *address = aphi_subject_address(o->subject, &size);
    aphi_env env = {0};
    aphi_env_named(environment, &env);
    r->datagrams = env.lossy;
    r->solo = env.immediate;
    r->buffer = env.buffer;
    r->paired = (r->model->rpc || r->model->answers) && !r->datagrams;
    r->net = aphi_net_open(r->model->codec, address, size, r->datagrams,
                           &(aphi_listener){r, arrived, oldest_asked}, error, sizeof error);
    if (!r->net) {
        end(r, APHI_FINDING_TROUBLE, "%s", error);
        return false;
    }
    if (o->caller)
        aphi_net_listen(r->net, o->caller, o->called);
    if (!open_oracle(r, environment) || !open_generator(r))
        return false;
    snprintf(r->result.script.model, sizeof r->result.script.model, "%s", r->model->name);
    snprintf(r->result.script.environment, sizeof r->result.script.environment, "%s", environment);
    r->result.script.seed = o->seed;
    aphi_buffer_format(&r->trace, "{\"antiphon\":1,\"model\":\"%s\",\"environment\":\"%s\",\"seed\":%llu}\n",
                       r->model->name, environment, (unsigned long long)o->seed);
    if (o->trace < 0)
        r->trace.n = 0;
    return true;
}

static void tell_kinds(run *r)
{
    r->result.kinds = aph_object();
    for (uint32_t i = 0; i < r->kind_count; i++)
        r->result.kinds = aph_set(r->result.kinds, r->kinds[i].name,
                                  APH_ARRAY_OF(aph_int((int64_t)r->kinds[i].sent),
                                               aph_int((int64_t)r->kinds[i].answered)));
}

static void tell_moments(run *r)
{
    uint64_t first = first_moment(r), n = r->moment_count - first;
    aphi_moment *moments = aphi_alloc((n ? n : 1) * sizeof *moments);
    for (uint64_t i = 0; i < n; i++)
        moments[i] = r->moments[(first + i) & (MOMENTS_MAX - 1)];
    r->result.moments = moments;
    r->result.moment_count = n;
    r->result.moments_before = first;
}

aphi_run *aphi_run_go(const aphi_run_options *options)
{
    run *r = aphi_alloc_zero(sizeof *r);
    r->options = options;
    r->model = options->model;
    r->result.blamed = -1;
    r->result.script_whole = true;
    r->moments = aphi_alloc(MOMENTS_MAX * sizeof *r->moments);
    r->numbers = aphi_alloc(MOMENTS_MAX * sizeof *r->numbers);
    r->waited = aphi_alloc_zero(WAITED * sizeof *r->waited);
    r->crowds = aphi_alloc_zero(CROWDS * sizeof *r->crowds);
    r->labelled = aphi_labelled_open(REMEMBERED);
    r->next_name = (int64_t)options->connections;
    r->choice = aphi_choice_seed(options->seed);
    for (size_t i = 0; options->script && i < options->script->count; i++)
        if (options->script->actions[i].connection >= r->next_name)
            r->next_name = options->script->actions[i].connection + 1;
    r->began = r->now = r->acted_at = aphi_clock_ns();
    aph_root_add(mark_run, r);
    if (begin(r))
        while (!r->ended)
            turn(r);
    put_trace_on_disk(r);
    show(r);
    tell_kinds(r);
    tell_moments(r);
    aphi_net_close(r->net);
    aphi_witness_close(r->witness);
    aphi_generator_close(r->generator);
    aphi_labelled_close(r->labelled);
    for (size_t i = 0; i < r->peer_count; i++)
        free(r->peers[i].queue);
    free(r->peers);
    free(r->in_flight);
    free(r->waited);
    free(r->crowds);
    free(r->moments);
    free(r->numbers);
    r->moments = NULL;
    r->options = NULL;
    r->peer_count = r->held_count = r->aside_count = 0;
    r->has_action = false;
    aphi_buffer_free(&r->trace);
    return &r->result;
}

void aphi_run_free(aphi_run *result)
{
    if (!result)
        return;
    run *r = (run *)result; /* its first member */
    aph_root_remove(mark_run, r);
    aphi_script_free(&r->result.script);
    free(r->result.moments);
    free(r);
}
