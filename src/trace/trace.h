/* SPDX-License-Identifier: Apache-2.0
 *
 * trace.h - read recorded histories, observation by observation.
 *
 * Four formats (docs/traces.md) come out as one stream: requests as they were sent, and their ends as they were
 * seen. A trace is read through a buffer of constant size; memory grows only with the requests that are open and with
 * the Jepsen processes that crashed.
 * Read next: lookahead.h, which tells each request its end in advance.
 */
#ifndef APHI_TRACE_H
#define APHI_TRACE_H

#include <antiphon/check.h>

typedef enum aphi_observation_kind {
    APHI_SENT,     /* message is the request */
    APHI_RECEIVED, /* message is the answer */
    APHI_LOST,     /* the answer will never come; the request may have been taken at any time since, or never */
    APHI_UNDONE,   /* the request was not taken and told nothing: both it and this are to be forgotten */
    APHI_NOTE,     /* message is a remark that says nothing of the server */
} aphi_observation_kind;

#define APHI_NO_NUMBER UINT64_MAX
#define APHI_NO_TIME (-1)

/* An APHI_UNDONE is at most this many observations after its request; a later one is given as APHI_LOST, on the grounds
 * that nobody remembers that far. */
#define APHI_TRACE_REACH 65536

typedef struct aphi_observation {
    aphi_observation_kind kind;
    int64_t connection; /* negative where a Jepsen process went on after a crash: it then counts as a new connection */
    int64_t process;    /* as the file has it */
    aph_value message;
    uint64_t number;    /* of this observation in the trace, from 0 */
    uint64_t ends;      /* the number of the request that this ends; APHI_NO_NUMBER if not an end, or not known */
    uint64_t line;
    int64_t time;       /* as recorded, or APHI_NO_TIME */
} aphi_observation;

/* What can be wrong with a trace: name, and what it means. */
#define APHI_TRACE_FAULTS(X) \
    X(NONE, "nothing is wrong") \
    X(IO, "the file cannot be read") \
    X(FORMAT, "the format is not known") \
    X(MALFORMED, "the text is malformed") \
    X(TRUNCATED, "the file ends too early") \
    X(ORPHAN, "an answer without a request") \
    X(OVERLAP, "a process does two things at once") \
    X(RANGE, "an integer beyond 64 bits") \
    X(FRACTION, "a number that is not an integer") \
    X(NUL, "a raw NUL byte") \
    X(TYPE, "an unknown type of operation") \
    X(LONG, "a line or form is too long")

typedef enum aphi_trace_fault {
#define X(name, text) APHI_TRACE_##name,
    APHI_TRACE_FAULTS(X)
#undef X
} aphi_trace_fault;

typedef struct aphi_trace_error {
    aphi_trace_fault fault;
    const char *file;       /* as opened, "stdin" for "-"; lives as long as the trace */
    uint64_t line, column;  /* from 1, the column in bytes; 0 if the error has no place */
    char message[320];      /* what is wrong, and what to do */
} aphi_trace_error;

typedef struct aphi_trace_options {
    aph_trace_format format;
    const aph_model *model; /* for its jepsen hook and its promise rpc; may be NULL; must outlive the trace */
    size_t buffer;          /* bytes read at once; 0: 1 MiB */
    size_t form_max;        /* the longest line or form; 0: 64 MiB */
} aphi_trace_options;

typedef struct aphi_trace aphi_trace;

/* Never return NULL: what went wrong on opening is told by the first aphi_trace_next. options may be NULL. */
aphi_trace *aphi_trace_open(const char *path, const aphi_trace_options *options); /* "-": standard input */
/* The bytes must outlive the trace. */
aphi_trace *aphi_trace_open_memory(const void *bytes, size_t n, const aphi_trace_options *options);
void aphi_trace_close(aphi_trace *t);

/* The next observation: 1; 0 at the end; -1 on an error, and from then on.
 * The message is not protected from aph_collect, except while its request is open. */
int aphi_trace_next(aphi_trace *t, aphi_observation *o);

const aphi_trace_error *aphi_trace_error_of(const aphi_trace *t);
const char *aphi_trace_fault_name(aphi_trace_fault fault); /* "MALFORMED" */
/* The format, which is APH_FORMAT_AUTO until the first aphi_trace_next has told it. */
aph_trace_format aphi_trace_format_of(const aphi_trace *t);

/* Is each end known to be the end of one request? Always in Jepsen's formats; in ours, the k-th answer on a connection
 * is of its k-th request unless the model makes no promise (rpc) to answer each request once. */
bool aphi_trace_paired(const aphi_trace *t);

#endif
