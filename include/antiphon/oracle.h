/* SPDX-License-Identifier: Apache-2.0
 *
 * oracle.h - decide, observation by observation, whether a model can explain what was seen of a server.
 *
 * The oracle sees what a tester sees: requests as they are sent, answers as they arrive. It keeps explanations: orders
 *                                     in
 * which the server may have taken the requests, with a value for everything that it may have chosen inside.
 */
#ifndef ANTIPHON_ORACLE_H
#define ANTIPHON_ORACLE_H

#include <antiphon/model.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What a run or a history comes to. Each has an exit code of its own. */
typedef enum aph_verdict {
    APH_PASS,     /* some explanation is left */
    APH_FAIL,     /* none is */
    APH_UNKNOWN,  /* a limit was hit before either was certain */
} aph_verdict;

const char *aph_verdict_name(aph_verdict v);

typedef enum aph_limit {
    APH_LIMIT_NONE,
    APH_LIMIT_TIME,
    APH_LIMIT_MEMORY,
    APH_LIMIT_SOLVER, /* Z3 could not decide in its time */
    APH_LIMIT_WINDOW, /* nothing explains it any more, but explanations had been given up to save memory: ask again with
                       * options.patient */
    APH_LIMIT_STOPPED, /* the caller stopped the check (check.h) */
} aph_limit;

/* What was wrong with the model or its input, when a function returns false. */
typedef enum aph_fault {
    APH_FAULT_NONE,
    APH_FAULT_REQUEST,   /* the model does not know the request */
    APH_FAULT_ANSWER,    /* an answer on a connection on which nothing was asked */
    APH_FAULT_CRASH,     /* the model crashed */
    APH_FAULT_STUCK,     /* a step of the model does not end */
    APH_FAULT_IMPURE,    /* the model is not a function of its state and its answers */
    APH_FAULT_PROMISE,   /* the model broke a promise: rpc, part, reads */
    APH_FAULT_CALL,      /* the model made a call that means nothing: a decision on what is no condition */
} aph_fault;

typedef struct aph_oracle_options {
    const char *environment;  /* "tcp" (default), "tcp:N", "sync" or "udp": docs/environments.md */
    bool whole;               /* one state, parts not taken apart (the default of the oracle; a splitter is above it) */
    bool ignore_promises;            /* use none of the model's promises */
    bool order;               /* keep the order found, for explanations, however long the history */
    bool patient;             /* give no explanation up untried, whatever memory that takes */
    int64_t time_ms;          /* wall clock, from the first observation; 0: none */
    size_t memory;            /* bytes; 0: none */
    int64_t solver_ms;        /* for one question to Z3; 0: 1000 */
} aph_oracle_options;

typedef struct aph_oracle aph_oracle;
typedef struct aph_oracle_stats {
    uint64_t requests, answers;
    uint64_t configurations;     /* visited */
    uint64_t steps;              /* model steps run */
    uint64_t solver_calls;       /* questions to Z3 */
    size_t window;               /* observations remembered now */
    size_t bytes;                /* memory of the oracle and of the values */
} aph_oracle_stats;

/* The model must outlive the oracle. Returns NULL, with a message, if an option is unknown. */
aph_oracle *aph_oracle_open(const aph_model *model, const aph_oracle_options *options, char *error, size_t error_size);
void aph_oracle_close(aph_oracle *o);

/* Connections from this number on are ones that the server opened to us. */
#define APH_ACCEPTED ((int64_t)1 << 32)

/* What is known, when a request is sent, of its end. A recorded history knows; a live tester does not. */
typedef enum aph_future {
    APH_FUTURE_OPEN,   /* nothing is known */
    APH_FUTURE_ANSWER, /* it will be answered, and how */
    APH_FUTURE_NEVER,  /* no answer will be seen; it may be taken or not, in its connection's order */
    APH_FUTURE_LOST,   /* no answer will be seen; it may be taken at any time or not, and nothing waits behind it */
} aph_future;

typedef struct aph_lookahead {
    aph_future future;
    aph_value answer;  /* with APH_FUTURE_ANSWER: this will be it */
    uint64_t order;    /* and of two answers, the one with the smaller number will come first */
    bool alone;        /* no other request will be sent on its connection before its end */
    /* Where the history shows what the request did, numbered as `order` is. What is tried first depends on these, no
     * verdict does. */
    uint64_t shown;    /* the first answer with a value that this request was the first to mention; 0: none is known */
    uint64_t sought;   /* and the sending of the last request that is answered with such a value */
} aph_lookahead;

/* Observations. Each returns the verdict so far; after APH_FAIL or APH_UNKNOWN, or a fault, no more can be added. Each
 * may collect (aph_collect): values that the caller holds on to must be reachable from a root of its own.
 * known may be NULL: nothing is. *request, if wanted, receives a number to speak of the request later. */
aph_verdict aph_oracle_sent(aph_oracle *o, int64_t connection, aph_value message, const aph_lookahead *known,
                            uint64_t *request);
aph_verdict aph_oracle_received(aph_oracle *o, int64_t connection, aph_value message);
/* The answer to this request will not come: it may have been taken at any time since, or never. */
aph_verdict aph_oracle_lost(aph_oracle *o, uint64_t request);

aph_fault aph_oracle_fault(const aph_oracle *o, const char **message);
aph_limit aph_oracle_limit(const aph_oracle *o);
aph_oracle_stats aph_oracle_stats_of(const aph_oracle *o);

#ifdef __cplusplus
}
#endif
#endif
