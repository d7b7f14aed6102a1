/* SPDX-License-Identifier: Apache-2.0
 *
 * trace.h - readers of recorded histories, observation by observation.
 *
 * Four formats (docs/traces.md) are converted to one stream of requests, as they were sent, and their ends, as they
 * were observed. A trace is read through a buffer of constant size; memory grows only with the open requests and with
 * the Jepsen processes that crashed. Read next: lookahead.h, which adds the end of each request to the request.
 */
#ifndef APHI_TRACE_H
#define APHI_TRACE_H

#include <antiphon/check.h>

typedef enum aphi_observation_kind {
    APHI_SENT,     /* message is the request */
    APHI_RECEIVED, /* message is the response */
    APHI_LOST,     /* no response will arrive; the request may be taken at any later time, or never */
    APHI_UNDONE,   /* the request had no effect and no response; ignore both observations */
    APHI_NOTE,     /* message is a remark, not an observation of the server */
    APHI_QUIET,    /* silence: all that was sent was received, and all that the server sent has arrived */
} aphi_observation_kind;

#define APHI_NO_NUMBER UINT64_MAX

/* An APHI_UNDONE follows its request by fewer observations than this. A later one is returned as APHI_LOST, to bound
 * the memory of readers. */
#define APHI_TRACE_REACH 65536

typedef struct aphi_observation {
    aphi_observation_kind kind;
    int64_t connection; /* negative after the crash of a Jepsen process, which then counts as a new connection */
    int64_t process;    /* as in the file */
    aph_value message;
    uint64_t number;    /* of this observation in the trace, from 0 */
    uint64_t ends;      /* the number of the request that this ends; APHI_NO_NUMBER if none, or unknown */
    uint64_t line;
} aphi_observation;

/* Errors in a trace: name and meaning. */
#define APHI_TRACE_FAULTS(X) \
    X(NONE, "no error") \
    X(IO, "the file cannot be read") \
    X(FORMAT, "the format is not recognized") \
    X(MALFORMED, "the text is malformed") \
    X(TRUNCATED, "the file ends too early") \
    X(ORPHAN, "a response without a request") \
    X(OVERLAP, "a process has two operations at once") \
    X(RANGE, "an integer beyond 64 bits") \
    X(FRACTION, "a number that is not an integer") \
    X(NUL, "a raw NUL byte") \
    X(TYPE, "an unknown type of operation") \
    X(LONG, "a line or form is too long") \
    X(ORDER, "times that run backwards") \
    X(DEEP, "values are nested too deeply") \
    X(MEMORY, "the memory limit was reached")

typedef enum aphi_trace_fault {
#define X(name, text) APHI_TRACE_##name,
    APHI_TRACE_FAULTS(X)
#undef X
} aphi_trace_fault;

typedef struct aphi_trace_error {
    aphi_trace_fault fault;
    const char *file;       /* as opened, "stdin" for "-"; valid as long as the trace */
    uint64_t line, column;  /* from 1, the column in bytes; 0 if the error has no position */
    char message[320];      /* problem and remedy */
} aphi_trace_error;

typedef struct aphi_trace_options {
    aph_trace_format format;
    const aph_model *model; /* for its jepsen hook and its promise rpc; may be NULL; must outlive the trace */
    size_t buffer;          /* bytes per read; 0: 1 MiB */
    size_t form_max;        /* bytes of the longest line or form; 0: 64 MiB */
    bool ignore_times;      /* accept times and indices that run backwards */
    bool ignore_quiet;      /* return each silence as a note */
} aphi_trace_options;

typedef struct aphi_trace aphi_trace;

/* Never returns NULL: if opening fails, the first aphi_trace_next reports the error. options may be NULL. */
aphi_trace *aphi_trace_open(const char *path, const aphi_trace_options *options); /* "-": standard input */
/* The bytes must outlive the trace. */
aphi_trace *aphi_trace_open_memory(const void *bytes, size_t n, const aphi_trace_options *options);
void aphi_trace_close(aphi_trace *t);

/* Returns 1 with the next observation, 0 at the end, -1 on an error and in all later calls. The message is not
 * protected from aph_collect, except while its request is open. */
int aphi_trace_next(aphi_trace *t, aphi_observation *o);

const aphi_trace_error *aphi_trace_error_of(const aphi_trace *t);
const char *aphi_trace_fault_name(aphi_trace_fault fault); /* "MALFORMED" */
/* The format; APH_FORMAT_AUTO until the first aphi_trace_next has recognized it. */
aph_trace_format aphi_trace_format_of(const aphi_trace *t);

/* Returns true if the request of each end is known. This always holds in Jepsen's formats. In jsonl, the k-th response
 * on a connection belongs to its k-th request, unless there is a model that does not promise rpc. */
bool aphi_trace_paired(const aphi_trace *t);
/* Returns true if a line that was read has a time or an index, so that a later line may prove that the lines are not in
 * chronological order. */
bool aphi_trace_timed(const aphi_trace *t);

#endif
