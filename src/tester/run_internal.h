/* SPDX-License-Identifier: Apache-2.0
 *
 * run_internal.h - the state of a run, composed of parts; each part is written by one file only. */
#ifndef APHI_TESTER_RUN_INTERNAL_H
#define APHI_TESTER_RUN_INTERNAL_H

#include "base/random_choice.h"
#include "generate/generator.h"
#include "script/expression.h"
#include "tester/oracle_feed.h"
#include "tester/net.h"
#include "tester/outstanding.h"
#include "tester/run.h"
#include "tester/run_log.h"
#include "tester/silence.h"

enum {
    APHI_HELD_CALLS_MAX = 8, /* calls whose response is delayed */
    APHI_DEFERRED_MAX = 64,  /* actions */
};

/* Fixed for the run by the model and the environment. */
typedef struct aphi_run_mode {
    bool paired;      /* the k-th response on a connection belongs to its k-th request */
    bool lossy;       /* datagrams */
    bool immediate;   /* one request at a time */
    size_t buffer;    /* messages that a connection can hold in each direction; 0: unlimited */
} aphi_run_mode;

/* An action that waits while later ones are performed, and the partition that its request concerns. */
typedef struct aphi_deferred_action {
    aphi_action action;
    aph_value part;
    bool alone;
} aphi_deferred_action;

/* run_send.c */
typedef struct aphi_sending {
    aphi_generator *generator;  /* NULL: the actions come from a script */
    aphi_action next;
    bool has_next;
    bool is_over;               /* there are no actions after `next` */
    size_t script_at, performed; /* actions */
    int64_t acted_at;
    int64_t last_label;         /* of a performed action */
    aphi_deferred_action deferred[APHI_DEFERRED_MAX]; /* oldest first */
    size_t deferred_count;
    uint32_t since_idle;        /* requests sent since the connections were last idle */
    int64_t calm_since;         /* begin of a calm phase; 0: the phase is busy */
    aph_value state;            /* of the model in some explanation, for the generator */
    uint64_t state_due;         /* requests after which it is read again */
    bool is_silent;             /* the silence for which the next action waits was recorded */
    bool is_resting;            /* an action waits until its connection has rested; see losses.h */
} aphi_sending;

/* run_receive.c */
typedef struct aphi_receiving {
    uint64_t broken_off;        /* connections that ended before their first response, with several requests */
    aphi_losses losses;
} aphi_receiving;

/* The preamble on a connection; see aph_model.preamble. */
typedef struct aphi_preamble {
    bool is_active;
    uint64_t step;              /* of the message that was sent last */
    uint64_t number;            /* counts the preambles of the run */
} aphi_preamble;

/* run_connections.c */
typedef struct aphi_preambles {
    aphi_preamble *all;         /* by connection */
    size_t count;
    aph_value earlier;          /* the last message that completed a preamble, or APH_NIL */
    uint64_t begun;             /* preambles */
    uint64_t failures;          /* in a row: connections that ended before their preamble was complete */
} aphi_preambles;

/* A call: a request on a connection that the subject opened. The model provides the response. */
typedef struct aphi_held_call {
    int64_t connection, name;
    aph_value response;
} aphi_held_call;

/* run_upstream.c */
typedef struct aphi_calls {
    uint64_t count;
    int64_t current;            /* number of the latest call in the trace, if each call is a connection there */
    aphi_held_call held[APHI_HELD_CALLS_MAX];
    size_t held_count;
    aphi_choice choice;         /* chooses the calls that are held, and their order */
} aphi_calls;

/* run_judge.c */
typedef struct aphi_judging {
    aphi_oracle_feed *feed;     /* NULL: nothing is judged */
    int64_t judged_at;
    uint64_t drained;           /* number of events when a lossy network was last judged idle */
    uint64_t probed;            /* number of events, plus 1, when the oracle was last probed for quiet */
    aph_verdict quiet;          /* the result */
    uint64_t silences;          /* recorded as observations */
    int64_t silent_ns;          /* the time that they took */
    int64_t count_due;          /* time of the next count of: */
    aph_value branches;         /* by name, how often they were taken */
    size_t branch_count, branches_reached;
    uint64_t explanations;
    int64_t rejected_event;     /* index in the events of the log, plus 1; 0: none */
    bool too_hard, undecided;   /* see aphi_run */
    char gave_up[320];          /* why the oracle gave up although the run continues; "": it did not */
} aphi_judging;

/* run_stop.c */
typedef struct aphi_ending {
    bool ended;
    aphi_run_verdict outcome;
    aph_fault fault;
    char why[512];
    bool doubtful, unreached, unable, losing; /* see aphi_run */
    int64_t suspected_ns;       /* see aphi_run */
} aphi_ending;

typedef struct aphi_run_state {
    aphi_run result;            /* this part and the next ones: run.c */
    const aphi_run_options *options;
    const aph_model *model;
    aphi_run_mode mode;
    aphi_net *net;
    aphi_labelled *labelled;
    int64_t began, now;
    bool now_is_fresh;          /* the clock was read since the last wait */
    int64_t checked_at, shown_at;

    aphi_outstanding outstanding;
    aphi_silence silence;
    aphi_run_log log;
    aphi_sending sending;
    aphi_receiving receiving;
    aphi_preambles preambles;
    aphi_calls calls;
    aphi_judging judging;
    aphi_ending ending;
} aphi_run_state;

/* ---- run.c ------------------------------------------------------------------------------------------------------- */

/* Reads the clock, once in each turn. */
void aphi_run_refresh_now(aphi_run_state *r);
/* Records an event. number: that of the observation, or UINT64_MAX if it is none. */
void aphi_run_note(aphi_run_state *r, aphi_run_event_kind kind, int64_t connection, int64_t label, aph_value message,
                   uint64_t number);

/* ---- run_send.c -------------------------------------------------------------------------------------------------- */

bool aphi_run_open_generator(aphi_run_state *r);
void aphi_run_close_generator(aphi_run_state *r);
void aphi_run_send(aphi_run_state *r);
/* Sends a message at once. label: 0 for a message of a preamble. */
void aphi_run_send_message(aphi_run_state *r, int64_t connection, int64_t label, aph_value message, uint32_t chunk);
/* Lets the generator open the connection again. */
void aphi_run_note_end(aphi_run_state *r, int64_t connection);
bool aphi_run_has_sent_all(const aphi_run_state *r);
void aphi_run_stop_sending(aphi_run_state *r);
/* Call it when the connections are idle, so that requests may be sent again. */
void aphi_run_send_after_idle(aphi_run_state *r);
/* Waits no longer for the responses on this connection, and sends no generated requests on it before they arrive. */
void aphi_run_block(aphi_run_state *r, int64_t connection);
/* Call it when a response has arrived on the connection. */
void aphi_run_unblock(aphi_run_state *r, int64_t connection);

/* ---- run_receive.c ----------------------------------------------------------------------------------------------- */

/* For aphi_net_callbacks. */
void aphi_run_arrived(void *context, const aphi_arrival *a);
aph_value aphi_run_oldest_request(void *context, int64_t connection);
/* Closes a connection of the tester. Its outstanding requests are lost. */
void aphi_run_close_connection(aphi_run_state *r, int64_t connection);

/* Returns true if requests are sent alone, on rested connections. */
bool aphi_run_is_careful(const aphi_run_state *r);

/* ---- run_connections.c ------------------------------------------------------------------------------------------- */

/* Opens the connection, unless it is open. */
void aphi_run_open_connection(aphi_run_state *r, int64_t connection);
/* Ends a connection of the tester, if it is open. signal: APH_CLOSED (our side), APH_LEFT (both) or APH_BROKEN. */
void aphi_run_end_connection(aphi_run_state *r, int64_t connection, aph_value signal);
/* Records that the subject has ended the connection. signal: APH_CLOSED or APH_BROKEN. */
void aphi_run_connection_ended(aphi_run_state *r, int64_t connection, aph_value signal);
/* Begins the preamble if a message is to be sent on a connection that is not open. Returns true if the connection is
 * ready for the message. */
bool aphi_run_prepare_connection(aphi_run_state *r, int64_t connection);
/* Returns true if a preamble must be performed before a message is sent on the connection, and has not begun. */
bool aphi_run_needs_preamble(aphi_run_state *r, int64_t connection);
/* Call it when a message has arrived on the connection. */
void aphi_run_continue_preamble(aphi_run_state *r, int64_t connection, aph_value message);
/* Returns true if a preamble waits for a message; on that connection, or on any. */
bool aphi_run_is_in_preamble_on(aphi_run_state *r, int64_t connection);
bool aphi_run_is_in_preamble(const aphi_run_state *r);
/* Call it when the connection has ended. */
void aphi_run_abandon_preamble(aphi_run_state *r, int64_t connection);
void aphi_run_close_preambles(aphi_run_state *r);

/* ---- run_upstream.c ---------------------------------------------------------------------------------------------- */

void aphi_run_open_calls(aphi_run_state *r);
/* Returns the number in the trace of a connection that the subject opened. */
int64_t aphi_run_call_name(const aphi_run_state *r, int64_t connection);
/* Begins the next call, even if its bytes are not a message. */
void aphi_run_begin_call(aphi_run_state *r, int64_t connection);
void aphi_run_receive_call(aphi_run_state *r, const aphi_arrival *a);
void aphi_run_answer_held_call(aphi_run_state *r);

/* ---- run_judge.c ------------------------------------------------------------------------------------------------- */

bool aphi_run_open_oracle(aphi_run_state *r, const char *environment);
void aphi_run_close_oracle(aphi_run_state *r);
/* Feeds the oracle the observations that are ready, if this is due, or a few of them if nothing arrives. */
void aphi_run_judge_some(aphi_run_state *r, bool nothing_arrives);
/* Feeds the oracle all observations. */
void aphi_run_judge_all(aphi_run_state *r);
/* Records silence as an observation: nothing is in flight. */
void aphi_run_judge_silence(aphi_run_state *r);
/* Judges an idle lossy network: the messages in flight are lost. Returns false if there was no event since the last
 * call. */
bool aphi_run_judge_drained(aphi_run_state *r);
/* After a silence: ends the run if the model promises rpc, but would not respond to a pending request either. Returns
 * true if the run has ended. */
bool aphi_run_breaks_rpc(aphi_run_state *r);
/* Judges the run when nothing more will arrive. Returns false if every explanation has a pending response. May end the
 * run. */
bool aphi_run_judge_complete(aphi_run_state *r);
/* Returns APH_FAIL if a response is due in every explanation, APH_PASS if not, APH_UNKNOWN if this is too expensive to
 * decide. The result is kept until the next event. May end the run. */
aph_verdict aphi_run_probe_quiet(aphi_run_state *r);
/* Counts branches and explanations, if this is due. */
void aphi_run_count_coverage(aphi_run_state *r);
/* Returns the model's state in some explanation. The objects of several partitions are merged. */
aph_value aphi_run_explained_state(const aphi_run_state *r, size_t *partitions);

/* ---- run_stop.c -------------------------------------------------------------------------------------------------- */

/* Ends the run, unless it has already ended. fault: set for an error in the model. */
void aphi_run_end_with(aphi_run_state *r, aphi_run_verdict outcome, aph_fault fault, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
#define aphi_run_end(r, outcome, ...) aphi_run_end_with(r, outcome, APH_FAULT_NONE, __VA_ARGS__)
#define aphi_run_end_fault(r, fault, ...) aphi_run_end_with(r, APHI_RUN_TROUBLE, fault, __VA_ARGS__)
/* Ends the run, and replaces any other end, because a verdict cannot be checked without its trace. */
void aphi_run_end_untraced(aphi_run_state *r, const char *why);
/* Ends the run with the exit of the subject's process, if it has exited, otherwise with `why`. */
void aphi_run_end_dead(aphi_run_state *r, const char *why, bool doubtful, bool unreached);
/* Ends the run if there are at least that many losses, and more than the options allow. */
void aphi_run_check_losses(aphi_run_state *r, uint64_t least);
/* Returns true if nothing more is expected to arrive. With connections, the model decides. */
bool aphi_run_is_quiet(aphi_run_state *r);
/* Returns true after a silence in which the subject has received everything that was sent, if nothing is due in some
 * explanation. Records it, unless the oracle cannot decide. */
bool aphi_run_records_silence(aphi_run_state *r);
bool aphi_run_is_stopped(const aphi_run_state *r);
/* Ends the run if nothing more is to come, or the subject was silent for too long. */
void aphi_run_check_silence(aphi_run_state *r);
/* Returns true if a request has waited too long while others got responses. */
bool aphi_run_has_late_request(const aphi_run_state *r);

/* Ends the run because of the subject, unless the oracle rejects the observations before that. */
#define APHI_JUDGE_AND_END(r, outcome, ...) \
    do { \
        aphi_run_judge_all(r); \
        aphi_run_end(r, outcome, __VA_ARGS__); \
    } while (0)

#endif
