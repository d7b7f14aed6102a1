/* SPDX-License-Identifier: Apache-2.0
 *
 * run_internal.h - what run.c, run_send.c, run_receive.c, run_stop.c and outstanding.c share: the inside of a run. */
#ifndef APHI_TESTER_RUN_INTERNAL_H
#define APHI_TESTER_RUN_INTERNAL_H

#include "base/buffer.h"
#include "base/choice.h"
#include "tester/run_log.h"
#include "script/expression.h"
#include "generate/generator.h"
#include "tester/net.h"
#include "tester/run.h"
#include "tester/live_feed.h"

enum {
    APHI_WAITED = 1 << 16,      /* labels whose answer can be waited for; a power of two */
    APHI_KINDS_MAX = 64,
    APHI_HELD_MAX = 8,          /* calls that wait for an answer while others come */
    APHI_ASIDE_MAX = 64,        /* actions that wait while others go on */
    APHI_CROWDS = 1 << 12,      /* a power of two */
};
#define APHI_TICK  INT64_C(10000000) /* nanoseconds; a turn of the loop waits for at most so long */
#define APHI_QUIET INT64_C(1000000)  /* silence that counts as quiet if nothing is owed */

typedef struct aphi_question {
    int64_t label;
    uint64_t number;   /* by the feed */
    int64_t at;
    uint32_t kind;
    aph_value message, part;
    bool alone;
} aphi_question;

/* One end of a connection: the requests on it that have no answer, oldest first. */
typedef struct aphi_peer {
    int64_t name;      /* its number in the trace: a connection that is opened again is another one */
    bool is_named, was_open, was_answered;
    aphi_question *queue;
    size_t head, count, capacity; /* capacity: a power of two */
} aphi_peer;

/* Requests in flight on a part of the state. Parts whose hashes agree share one: a request may wait a little longer. */
typedef struct aphi_crowd {
    uint32_t all, alone;
    int64_t latest; /* connection */
} aphi_crowd;

/* An action that waits while others go on, and what it is about. */
typedef struct aphi_aside {
    aphi_action action;
    aph_value part;
    bool alone;
} aphi_aside;

/* A call that has its answer coming. */
typedef struct aphi_held {
    int64_t connection, name;
    aph_value answer;
} aphi_held;

typedef struct aphi_kind {
    aph_value name;
    uint64_t sent, answered;
} aphi_kind;

typedef struct aphi_run_state {
    aphi_run result;
    const aphi_run_options *options;
    const aph_model *model;
    bool paired, datagrams, solo;
    size_t buffer;          /* messages that a connection is believed to hold each way; 0: any number */
    aphi_net *net;
    aphi_live_feed *feed;
    aphi_generator *generator;
    aphi_labelled *labelled;
    int64_t began, now;

    aphi_peer *peers;
    uint32_t *in_flight;    /* by connection: requests without an answer */
    size_t peer_count;
    uint64_t owed;          /* in all */
    aphi_crowd *crowds;     /* by the hash of the part, if the model says what is to be alone */
    aphi_aside aside[APHI_ASIDE_MAX]; /* oldest first */
    size_t aside_count;
    int64_t last_label;     /* of an action that was performed */
    int64_t *waited;        /* labels of requests without an answer, by label modulo APHI_WAITED */

    aphi_action action;     /* the next */
    bool has_action, over;  /* over: there will be no more */
    size_t script_at;
    int64_t acted_at;
    int64_t silent;         /* nanoseconds without a byte, as counted */
    int64_t wordless;       /* and without a message on a connection of ours, while one is owed */
    bool spoke;             /* there was such a message in this turn */
    int64_t idle, idle_at;  /* idle time of the processors at a moment of this silence; 0: it is still too short */
    bool ended;             /* the result is there */
    int64_t next_name;      /* for a connection that is opened again */
    uint64_t called;        /* messages on connections that the subject opened */
    int64_t call;           /* the last of them, as a connection, if the model takes each as one of its own */
    aphi_held held[APHI_HELD_MAX];
    size_t held_count;
    aphi_choice choice;     /* which calls wait */
    uint64_t broken_off;    /* connections, before their first answer, with several requests on them */
    uint64_t dropped;       /* requests that were on their way when their connection was closed */
    bool left;              /* a connection was closed: what would have come on it is not seen */
    uint64_t drained;       /* moments when a lossy network was last seen quiet */
    uint32_t since_quiet;   /* requests sent since */

    aphi_run_log log;       /* the numbers of its moments are those of observations */
    aphi_script script;     /* and moments: as they were in the log, for who asks when the run is over */
    aphi_run_event *moments;
    size_t moment_count;
    aphi_kind kinds[APHI_KINDS_MAX];
    uint32_t kind_count;
    aph_value state;
    uint64_t state_at;
    aphi_buffer trace;
    off_t trace_size;       /* on disk */
    bool trace_failed;
    int64_t looked_at, shown_at, count_at, judged_at;
    bool awake;             /* the clock was read since the last wait */
} aphi_run_state;

/* ---- outstanding.c: what was sent, what came, and what is owed -------------------------------------------------------- */

/* A line of the trace, and a moment of the report. number: of the observation; UINT64_MAX: the oracle is not told. */
void aphi_outstanding_note(aphi_run_state *r, aphi_run_event_kind what, int64_t connection, int64_t label,
                           aph_value message, uint64_t number);
/* Puts on disk what was noted. */
void aphi_outstanding_write(aphi_run_state *r);
/* Its place in kinds. */
uint32_t aphi_outstanding_kind(aphi_run_state *r, aph_value request);
aphi_peer *aphi_outstanding_peer(aphi_run_state *r, int64_t connection);
/* The connection as the trace has it. */
int64_t aphi_outstanding_name(aphi_run_state *r, int64_t connection);
aphi_crowd *aphi_outstanding_crowd(const aphi_run_state *r, aph_value part);
void aphi_outstanding_push(aphi_run_state *r, int64_t connection, aphi_question a);
/* The oldest request of the connection is settled; false if there is none. */
bool aphi_outstanding_pop(aphi_run_state *r, int64_t connection, aphi_question *a);
/* What is still open on the connection will not be answered. */
void aphi_outstanding_lose(aphi_run_state *r, int64_t connection);
/* It is closed. If it is used again, it is opened again. */
void aphi_outstanding_retire(aphi_run_state *r, int64_t connection);
/* We are done with the connection. */
void aphi_outstanding_part(aphi_run_state *r, int64_t connection);

/* ---- run_send.c ---------------------------------------------------------------------------------------------------- */

/* Every action whose time has come. */
void aphi_run_act(aphi_run_state *r);

/* ---- run_receive.c: for aphi_listener -------------------------------------------------------------------------------- */

void aphi_run_arrived(void *context, const aphi_arrival *a);
aph_value aphi_run_asked(void *context, int64_t connection);
/* One of the calls that wait for an answer gets it. */
void aphi_run_answer_held(aphi_run_state *r);

/* ---- run_stop.c ---------------------------------------------------------------------------------------------------- */

/* The first end counts. */
void aphi_run_end(aphi_run_state *r, aphi_run_verdict outcome, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* The subject is no more, if it is one of ours; or what says what it did, and whether that may have been chance. */
void aphi_run_end_dead(aphi_run_state *r, const char *what, bool doubtful);
/* Tell the oracle what it can be told of by now, at most so many observations, and hear what it says; or all. */
void aphi_run_judge(aphi_run_state *r, uint64_t most);
void aphi_run_judge_all(aphi_run_state *r);
bool aphi_run_is_stopped(const aphi_run_state *r);
/* How long it may owe an answer and be silent. */
int64_t aphi_run_patience(const aphi_run_state *r);
/* What has not come in this time does not come; and has it been silent for so long? */
int64_t aphi_run_silence(const aphi_run_state *r);
bool aphi_run_is_silent(const aphi_run_state *r);
/* The turn is over: did something arrive, and were bytes heard? */
void aphi_run_count_silence(aphi_run_state *r, int64_t passed, bool arrived, bool heard);
/* It is not silent, but has said no word for longer than silence may last; and how to say that. */
bool aphi_run_is_wordless(const aphi_run_state *r);
const char *aphi_run_wordless(const aphi_run_state *r, char *text, size_t size);
/* A request has waited far longer than silence may last, though others were answered. */
bool aphi_run_one_is_late(aphi_run_state *r);
/* Ends the run, if nothing more is to come or it is too long that nothing came. */
void aphi_run_listen_to_silence(aphi_run_state *r);

/* The subject went wrong in a way that ends the run, unless what it did before is explained by nothing. */
#define APHI_JUDGE_AND_END(r, outcome, ...) \
    do { \
        aphi_run_judge_all(r); \
        aphi_run_end(r, outcome, __VA_ARGS__); \
    } while (0)

#endif
