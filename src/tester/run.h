/* SPDX-License-Identifier: Apache-2.0
 *
 * run.h - one run of the tester: act, observe, judge. */
#ifndef APHI_TESTER_RUN_H
#define APHI_TESTER_RUN_H

#include <antiphon/oracle.h>
#include "script/script.h"
#include "subject/subject.h"
#include "trace/run_event.h"

#include <signal.h>

#define APHI_PATIENCE INT64_C(400000000) /* nanoseconds, unless another one is given */

#define APHI_RUN_VERDICTS(X) \
    X(PASS, "pass") \
    X(FAIL, "fail")           /* nothing that the model allows explains what was seen */ \
    X(UNKNOWN, "unknown")     /* a limit was hit before that was certain */ \
    X(STARVED, "starved")     /* it owes an answer and has gone quiet */ \
    X(DEAD, "dead")           /* it refused us, dropped us, or is no more */ \
    X(MALFORMED, "malformed") /* it sent bytes that are no message */ \
    X(VACUOUS, "vacuous")     /* the run did not reach what it was meant to test */ \
    X(STOPPED, "stopped")     /* by a signal to us */ \
    X(TROUBLE, "trouble")     /* with the model or with our own doing: see why and fault */

typedef enum aphi_run_verdict {
#define X(name, text) APHI_RUN_##name,
    APHI_RUN_VERDICTS(X)
#undef X
} aphi_run_verdict;

const char *aphi_run_verdict_name(aphi_run_verdict o);
/* Is the subject at fault: fail, starved, dead or malformed? */
bool aphi_run_verdict_blames_subject(aphi_run_verdict verdict);
/* The same for the name of a verdict, a string; false for any other value. */
bool aphi_run_verdict_name_blames_subject(aph_value name);

/* How far a run is. */
typedef struct aphi_run_facts {
    uint64_t requests, answers;
    int64_t ns;
    uint64_t explanations;      /* alive, as far as they were tried */
    size_t branches, branches_reached;
} aphi_run_facts;

typedef struct aphi_run_options {
    const aph_model *model;
    const char *environment;     /* NULL: tcp */
    aphi_subject *subject;       /* which must be there */
    const aphi_script *script;   /* what to do; NULL: made up as it goes */
    uint64_t seed;
    size_t connections, depth;   /* at most so many, and so many requests in flight on one */
    bool apart;                  /* no connection has requests of several parts in flight: they are judged faster */
    uint64_t messages;           /* sent and received, then it ends; 0: no limit */
    int64_t until_ns;            /* by the clock: then nothing more is sent, and a script is given up; 0: no limit */
    int64_t patience_ns;         /* how long it may owe an answer and be silent; 0: APHI_PATIENCE */
    int caller;                  /* socket on which the subject may call us; 0: none */
    unsigned called;             /* the port at which it is to do so; 0: that of the socket */
    int trace;                   /* descriptor of an empty file that gets the trace; -1: none */
    const char *trace_name;      /* for messages */
    bool blind;                  /* judge nothing: to measure what judging costs */
    size_t memory;               /* for the oracle; 0: no limit */
    int64_t (*idle_ns)(void);    /* of the processors, added up; NULL: aphi_clock_idle_ns */
    const volatile sig_atomic_t *stop;
    void (*progress)(void *context, const aphi_run_facts *facts); /* now and then; may be NULL */
    void *context;
} aphi_run_options;

typedef struct aphi_run {
    aphi_run_verdict outcome;
    aph_fault fault;             /* with TROUBLE, if the model is to blame */
    char why[512];
    aphi_run_facts facts;
    bool script_whole;           /* else it got too long to be had again */
    uint64_t events_before;      /* events that are no longer stored */
    int64_t rejected_event;      /* with FAIL: index in the events of the rejected observation; -1: not stored */
    bool unreached;              /* with DEAD: no connection was ever let in */
    bool doubtful;               /* with STARVED and DEAD: chance may be to blame, if it does not happen again */
    int64_t silence_ns;          /* the longest that ended while something was owed */
    bool too_hard;               /* with UNKNOWN: for the oracle; an easier run may do */
    bool undecided;              /* with UNKNOWN: whoever has the whole trace may know more */
    aph_value kinds;             /* by kind of request: [sent, answered] */
    aph_value branches;          /* by name, how often; APH_NIL if there are none */
} aphi_run;

/* Values in a run are kept alive until aphi_run_free. */
aphi_run *aphi_run_go(const aphi_run_options *options);
/* The performed actions, all of them if script_whole; and the latest events, oldest first. */
const aphi_script *aphi_run_script(const aphi_run *r);
const aphi_run_event *aphi_run_events(const aphi_run *r, size_t *n);
void aphi_run_free(aphi_run *r);

#endif
