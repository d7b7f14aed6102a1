/* SPDX-License-Identifier: Apache-2.0
 *
 * oracle.h - decide, observation by observation, whether a model explains the behaviour of a server.
 *
 * The oracle gets the observations of a tester: requests as they are sent, responses as they arrive. It searches for
 * explanations. An explanation is an order in which the server may have taken the requests, with a value for each
 * internal choice of the server. check.h feeds whole traces to it.
 */
#ifndef ANTIPHON_ORACLE_H
#define ANTIPHON_ORACLE_H

#include <antiphon/model.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum aph_verdict {
    APH_PASS,     /* an explanation exists */
    APH_FAIL,     /* no explanation exists */
    APH_UNKNOWN,  /* a limit was reached first, or a fault stopped the search */
} aph_verdict;

const char *aph_verdict_name(aph_verdict v); /* "pass" */

typedef enum aph_limit {
    APH_LIMIT_NONE,
    APH_LIMIT_TIME,
    APH_LIMIT_MEMORY,
    APH_LIMIT_SOLVER,  /* Z3 did not decide within solver_ms */
    APH_LIMIT_WINDOW,  /* no explanation is left, but some were dropped to save memory; or the model was found late to
                        * distinguish connections; repeat with options.patient and options.tell_apart */
    APH_LIMIT_STOPPED, /* the caller stopped the check (check.h) */
    APH_LIMIT_BRANCHES, /* a step of the model has too many branches */
} aph_limit;

/* A fault of the model or of its input. */
typedef enum aph_fault {
    APH_FAULT_NONE,
    APH_FAULT_REQUEST,   /* the model does not know the request */
    APH_FAULT_ANSWER,    /* a response on a connection without a pending request */
    APH_FAULT_CRASH,     /* the model crashed */
    APH_FAULT_STUCK,     /* a step of the model does not end */
    APH_FAULT_IMPURE,    /* the model is not a function of its state and of the answers to its events */
    APH_FAULT_PROMISE,   /* the model broke a promise: rpc, part or reads */
    APH_FAULT_CALL,      /* an invalid call, such as a decision on a value that is not a condition */
    APH_FAULT_CODEC,     /* the model sends a message that its codec cannot encode, or reads as another message */
} aph_fault;

typedef struct aph_oracle_options {
    const char *environment;  /* "tcp" (default), "tcp:N", "sync" or "udp"; see docs/testing.md */
    bool whole;               /* do not split the state into parts, as check.h does by default */
    bool ignore_promises;     /* use none of the model's promises */
    bool order;               /* keep the order of all requests, for explanations; memory grows with the history */
    bool patient;             /* never drop an explanation untried; memory may grow without bound */
    int64_t time_ms;          /* wall clock, from the first observation; 0: no limit */
    size_t memory;            /* bytes; 0: no limit */
    int64_t solver_ms;        /* for each query to Z3; 0: 1000 */
    bool tell_apart;          /* the model distinguishes connections; otherwise the oracle finds out */
} aph_oracle_options;

typedef struct aph_oracle aph_oracle;
typedef struct aph_oracle_stats {
    uint64_t requests, answers;
    uint64_t configurations;     /* configurations visited */
    uint64_t steps;              /* steps of the model that were run */
    uint64_t solver_calls;       /* queries to Z3 */
    size_t window;               /* observations in memory */
    size_t bytes;                /* memory of the oracle and of all values of the thread */
} aph_oracle_stats;

/* The model must outlive the oracle. Returns NULL and writes a message to error if an option is invalid or the model
 * fails before its first request. */
aph_oracle *aph_oracle_open(const aph_model *model, const aph_oracle_options *options, char *error, size_t error_size);
void aph_oracle_close(aph_oracle *o);

/* Connections that the server opened to the tester are numbered from here; those to origin i (model.h) from
 * (i + 1) * APH_ACCEPTED. A connection of the model is matched only with connections to its own origin. */
#define APH_ACCEPTED ((int64_t)1 << 32)

/* The outcome of a request, as far as it is known when the request is sent. A live tester does not know it. */
typedef enum aph_future {
    APH_FUTURE_OPEN,   /* unknown */
    APH_FUTURE_ANSWER, /* the response is known */
    APH_FUTURE_NEVER,  /* no response; the server may take the request in its connection's order, or never */
    APH_FUTURE_LOST,   /* no response; the server may take it at any time or never, before or after later requests */
} aph_future;

typedef struct aph_lookahead {
    aph_future future;
    aph_value answer;  /* with APH_FUTURE_ANSWER: the response */
    uint64_t order;    /* with APH_FUTURE_ANSWER: responses arrive in the order of these numbers */
    bool alone;        /* no other request is sent on its connection before it ends */
    /* Hints, numbered like `order`. They affect the order of the search, never the verdict. */
    uint64_t shown;    /* the first response with a value that this request was the first to mention; 0: unknown */
    uint64_t sought;   /* when the last request was sent whose response has such a value */
} aph_lookahead;

/* These functions add an observation and return the verdict so far. After APH_FAIL or APH_UNKNOWN no observation can be
 * added. They may call aph_collect, so the caller's values must be reachable from a root. If nothing is known about the
 * outcome, known may be NULL. If request is not NULL, *request is set to a number for aph_oracle_lost. */
aph_verdict aph_oracle_sent(aph_oracle *o, int64_t connection, aph_value message, const aph_lookahead *known,
                            uint64_t *request);
aph_verdict aph_oracle_received(aph_oracle *o, int64_t connection, aph_value message);
/* Adds the observation that no response to this request will arrive. The server may take the request at any time, or
 * never. */
aph_verdict aph_oracle_lost(aph_oracle *o, uint64_t request);

/* Returns the fault and sets *message, which is valid until the oracle is closed. With APH_LIMIT_BRANCHES, there is no
 * fault, and the message describes the step. */
aph_fault aph_oracle_fault(const aph_oracle *o, const char **message);
aph_limit aph_oracle_limit(const aph_oracle *o);
aph_oracle_stats aph_oracle_stats_of(const aph_oracle *o);

#ifdef __cplusplus
}
#endif
#endif
