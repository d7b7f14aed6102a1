/* SPDX-License-Identifier: Apache-2.0
 *
 * oracle.h - decide, observation by observation, whether a model explains the behaviour of a server.
 *
 * The oracle gets the observations of a tester: requests as they are sent, responses as they arrive. It searches for
 * explanations: an order in which the server may have taken the requests, with a value for each internal choice of the
 * server. check.h feeds whole traces to it.
 */
#ifndef ANTIPHON_ORACLE_H
#define ANTIPHON_ORACLE_H

#include <antiphon/model.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum aph_verdict {
    APH_PASS,     /* an explanation exists */
    APH_FAIL,     /* none exists */
    APH_UNKNOWN,  /* a limit was reached first, or a fault stopped the search */
} aph_verdict;

const char *aph_verdict_name(aph_verdict v); /* "pass" */

typedef enum aph_limit {
    APH_LIMIT_NONE,
    APH_LIMIT_TIME,
    APH_LIMIT_MEMORY,
    APH_LIMIT_SOLVER,  /* Z3 did not decide within solver_ms */
    APH_LIMIT_WINDOW,  /* no explanation is left, but some were dropped to save memory; repeat with options.patient */
    APH_LIMIT_STOPPED, /* the caller stopped the check (check.h) */
} aph_limit;

/* A fault of the model or of its input. */
typedef enum aph_fault {
    APH_FAULT_NONE,
    APH_FAULT_REQUEST,   /* the model does not know the request */
    APH_FAULT_ANSWER,    /* a response on a connection without a pending request */
    APH_FAULT_CRASH,     /* the model crashed */
    APH_FAULT_STUCK,     /* a step of the model does not end */
    APH_FAULT_IMPURE,    /* the model is not a function of its state and of the answers to its events */
    APH_FAULT_PROMISE,   /* the model broke a promise: rpc, part, reads */
    APH_FAULT_CALL,      /* an invalid call, such as a decision on a value that is not a condition */
} aph_fault;

typedef struct aph_oracle_options {
    const char *environment;  /* "tcp" (default), "tcp:N", "sync" or "udp"; see docs/testing.md */
    bool whole;               /* do not split the state into parts. A single oracle never does; check.h does */
    bool ignore_promises;     /* use none of the model's promises */
    bool order;               /* keep the order of all requests, for explanations; memory grows with the history */
    bool patient;             /* never drop an explanation untried; memory may grow without bound */
    int64_t time_ms;          /* wall clock, from the first observation; 0: no limit */
    size_t memory;            /* bytes; 0: no limit */
    int64_t solver_ms;        /* for each query to Z3; 0: 1000 */
} aph_oracle_options;

typedef struct aph_oracle aph_oracle;
typedef struct aph_oracle_stats {
    uint64_t requests, answers;
    uint64_t configurations;     /* visited */
    uint64_t steps;              /* of the model */
    uint64_t solver_calls;       /* queries to Z3 */
    size_t window;               /* observations in memory */
    size_t bytes;                /* memory of the oracle and of all values of the thread */
} aph_oracle_stats;

/* The model must outlive the oracle. Returns NULL and writes a message if an option is invalid, or if the model fails
 * before its first request. */
aph_oracle *aph_oracle_open(const aph_model *model, const aph_oracle_options *options, char *error, size_t error_size);
void aph_oracle_close(aph_oracle *o);

/* Connections that the server opened to the tester are numbered from here. */
#define APH_ACCEPTED ((int64_t)1 << 32)

/* The end of a request, as known when it is sent. A recorded history knows it; a live tester does not. */
typedef enum aph_future {
    APH_FUTURE_OPEN,   /* unknown */
    APH_FUTURE_ANSWER, /* the response is known */
    APH_FUTURE_NEVER,  /* no response; the server may take the request in its connection's order, or never */
    APH_FUTURE_LOST,   /* no response; the server may take it at any time or never, and later requests do not wait */
} aph_future;

typedef struct aph_lookahead {
    aph_future future;
    aph_value answer;  /* with APH_FUTURE_ANSWER: the response */
    uint64_t order;    /* with APH_FUTURE_ANSWER: responses arrive in the order of these numbers */
    bool alone;        /* its connection sends no other request before its end */
    /* Hints, numbered like `order`: they change the order of the search, never the verdict. */
    uint64_t shown;    /* the first response with a value that this request was the first to mention; 0: unknown */
    uint64_t sought;   /* the sending of the last request whose response has such a value */
} aph_lookahead;

/* Each observation returns the verdict so far. After APH_FAIL or APH_UNKNOWN no more can be added. Each may reclaim
 * values (aph_collect): values of the caller must be reachable from a root.
 * known may be NULL: nothing is known. *request, if request is not NULL, receives a number for aph_oracle_lost. */
aph_verdict aph_oracle_sent(aph_oracle *o, int64_t connection, aph_value message, const aph_lookahead *known,
                            uint64_t *request);
aph_verdict aph_oracle_received(aph_oracle *o, int64_t connection, aph_value message);
/* No response to this request will be observed: the server may have taken it at any time since, or never. */
aph_verdict aph_oracle_lost(aph_oracle *o, uint64_t request);

/* *message is valid until the oracle is closed. */
aph_fault aph_oracle_fault(const aph_oracle *o, const char **message);
aph_limit aph_oracle_limit(const aph_oracle *o);
aph_oracle_stats aph_oracle_stats_of(const aph_oracle *o);

#ifdef __cplusplus
}
#endif
#endif
