/* SPDX-License-Identifier: Apache-2.0
 *
 * run.h - one run of the tester: actions, observations, verdict. */
#ifndef APHI_TESTER_RUN_H
#define APHI_TESTER_RUN_H

#include <antiphon/network.h>

#include <antiphon/oracle.h>
#include "script/script.h"
#include "subject/ports.h"
#include "subject/subject.h"
#include "tester/losses.h"
#include "trace/run_event.h"

#include <signal.h>

#define APHI_PATIENCE INT64_C(400000000) /* ns, the default */

#define APHI_RUN_VERDICTS(X) \
    X(PASS, "pass") \
    X(FAIL, "fail")           /* the model cannot explain the observations */ \
    X(UNKNOWN, "unknown")     /* a limit was reached first */ \
    X(STARVED, "starved")     /* the subject is silent although a response is due */ \
    X(DEAD, "dead")           /* the subject refused or dropped a connection, or exited */ \
    X(MALFORMED, "malformed") /* the subject sent bytes that are not a valid message */ \
    X(VACUOUS, "vacuous")     /* required branches were not reached */ \
    X(STOPPED, "stopped")     /* a signal stopped the tester */ \
    X(TROUBLE, "trouble")     /* an error in the model or in the tester; see why and fault */

typedef enum aphi_run_verdict {
#define X(name, text) APHI_RUN_##name,
    APHI_RUN_VERDICTS(X)
#undef X
} aphi_run_verdict;

const char *aphi_run_verdict_name(aphi_run_verdict o);
/* Returns true for fail, starved, dead and malformed. */
bool aphi_run_verdict_blames_subject(aphi_run_verdict verdict);
/* Like the above, for the name of a verdict as a string; false for any other value. */
bool aphi_run_verdict_name_blames_subject(aph_value name);

typedef struct aphi_run_facts {
    uint64_t requests, answers, losses;
    int64_t ns;
    uint64_t explanations;      /* explanations that the search holds */
    size_t branches, branches_reached;
} aphi_run_facts;

typedef struct aphi_run_options {
    const aph_model *model;
    const char *environment;     /* NULL: tcp */
    const aph_network *network;  /* if environment is a file; NULL: it is not */
    aphi_subject *subject;       /* started */
    const aphi_script *script;   /* NULL: actions are generated */
    uint64_t seed;
    size_t connections, depth;   /* limits of connections, and of requests in flight on each */
    size_t spares;               /* connections that may be used in place of those that the server lets wait */
    bool waits;                  /* the model lets requests wait for others; see model_habits.h */
    bool apart;                  /* no connection has requests of several partitions in flight: judging is faster */
    uint64_t messages;           /* messages sent and received before the run ends; 0: no limit */
    int64_t until_ns;            /* by the clock: a deadline for sending, and for a script; 0: none */
    bool may_be_cut;             /* for a script, too, until_ns is a deadline only for sending */
    int64_t most_ns;             /* the time after which a generated run sends nothing more; 0: no limit */
    /* The longest silence while a response is due. 0: it follows the response times; a silence of APHI_PATIENCE is
     * suspicious, and one of at least 5 s too long. */
    int64_t patience_ns;
    bool brief_silences;         /* record a brief silence; otherwise only one in which a due response is late */
    unsigned silences;           /* that a generated run waits for, at most */
    bool overrules_model;        /* the patience is also that of requests for which the model has another */
    int64_t silence_seen_ns;     /* the longest silence that ended in earlier runs */
    const aphi_origin *origins;  /* where the subject can open connections to the tester, for the whole run */
    size_t origin_count;
    int trace;                   /* descriptor of an empty file for the trace; -1: none */
    const char *trace_name;      /* for messages */
    aphi_max_losses max_losses;
    aphi_losses losses_before;   /* of earlier runs with this subject */
    uint64_t answers_before;
    bool no_check;               /* judge nothing, to measure the cost of judging */
    bool tell_apart;             /* as in aph_oracle_options */
    size_t memory;               /* for the oracle; 0: no limit */
    int64_t (*idle_ns)(void);    /* idle time of all processors; NULL: aphi_clock_idle_ns */
    const volatile sig_atomic_t *stop;
    void (*progress)(void *context, const aphi_run_facts *facts); /* about ten times a second; may be NULL */
    void *context;
} aphi_run_options;

typedef struct aphi_run {
    aphi_run_verdict outcome;
    aph_fault fault;             /* with TROUBLE: the error of the model, if any */
    char why[512];
    aphi_run_facts facts;
    size_t performed, actions;   /* of a script: the number of performed actions, and of all that a pass requires */
    bool cut;                    /* the deadline was reached before all actions of the script were performed */
    bool script_whole;           /* all actions are stored; false if there were too many */
    uint64_t events_before;      /* events that are no longer stored */
    int64_t rejected_event;      /* with FAIL: index in the events of the rejected observation; -1: not stored */
    bool unable;                 /* with TROUBLE: the system allows no connection */
    bool unreached;              /* with DEAD: no connection was ever accepted */
    bool doubtful;               /* with STARVED and DEAD: may be chance unless reproduced */
    bool losing;                 /* with DEAD: the subject lost more requests than allowed */
    aphi_losses losses;
    aph_value due;               /* with STARVED: the messages due in an explanation, an object of arrays by connection;
                                  * APH_NIL: unknown */
    uint64_t silences;           /* recorded as observations */
    int64_t recorded_ns;         /* the silence after which they were recorded, corrected for the load */
    int64_t silent_ns;           /* the time that they took */
    int64_t silence_ns;          /* the longest that ended while a response was awaited */
    int64_t response_ns;         /* the longest of the latest response times */
    int64_t suspected_ns;        /* with STARVED: the time since the silence was suspicious */
    bool too_hard;               /* with UNKNOWN: the run was too hard for the oracle; an easier one may pass */
    bool undecided;              /* with UNKNOWN: a check of the whole trace may decide */
    char incomplete[320];        /* with STARVED: describes the incomplete message that has arrived; "": none */
    int64_t incomplete_at;       /* its connection in the events */
    aphi_connection_counts connections;
    aph_value kinds;             /* by kind of request: [sent, answered] */
    aph_value lost_kinds;        /* by kind of request: the number of losses, if there are any */
    aph_value branches;          /* by name, how often they were taken; APH_NIL if there are none */
} aphi_run;

/* Performs the run. The values of the result are kept alive until aphi_run_free. */
aphi_run *aphi_run_execute(const aphi_run_options *options);
/* Return the performed actions (all of them if script_whole), and the latest events, oldest first. */
const aphi_script *aphi_run_script(const aphi_run *r);
const aphi_run_event *aphi_run_events(const aphi_run *r, size_t *n);
void aphi_run_free(aphi_run *r);

#endif
