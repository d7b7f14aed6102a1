/* SPDX-License-Identifier: Apache-2.0
 *
 * reader.h - the interface between trace.c and the readers of the trace formats; private to src/trace.
 *
 * A reader reads one line or form at a time from the source, and converts it to at most one observation.
 */
#ifndef APHI_TRACE_READER_H
#define APHI_TRACE_READER_H

#include "base/int_map.h"
#include "trace/edn.h"
#include "trace/open_requests.h"
#include "trace/byte_source.h"

/* Returns 1 with an observation, 0 at the end, -1 on an error. */
typedef int aphi_reader(aphi_trace *t, aphi_observation *o);

/* The latest time or index of an observation. */
typedef struct aphi_latest {
    long double number; /* exact for 64-bit integers */
    uint64_t line;      /* 0: none yet */
} aphi_latest;

struct aphi_trace {
    char *file;
    aphi_byte_source source;
    aphi_trace_error error;
    aph_trace_format format;
    const aph_model *model;
    aphi_reader *read;
    bool over;             /* the end was reached */
    aphi_open_requests open_requests;
    int64_t connections;   /* created for processes that continued after a crash: -1, -2, ... */
    uint64_t number;       /* of the next observation */
    aphi_edn edn;
    char bracket;          /* closes the vector or array of operations; 0: none is open */
    bool closed;           /* the array was closed, so nothing may follow */
    uint64_t objects;      /* number of JSON objects read */
    bool ignore_times, ignore_quiet;
    aphi_latest time, index;
    aphi_int_map opened;   /* connections, if the model has connections */
    aphi_observation held; /* returned after the opening of its connection, if has_held */
    bool has_held;
    bool has_loss;         /* a request was lost, of a model without connections */
};

aphi_reader aphi_read_jsonl, aphi_read_log, aphi_read_edn, aphi_read_json;

/* Sets the error, unless one is set, and returns -1. where points into the window of the source, or is NULL. */
int aphi_trace_fail(aphi_trace *t, aphi_trace_fault fault, const char *where, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* Like aphi_trace_fail, with the error of a parser. */
int aphi_trace_fail_cursor(aphi_trace *t, const aphi_cursor *c);
/* Call it after a cursor starved. Returns 1 if the window is wider or complete, so that the form can be parsed again;
 * -1 on an error. */
int aphi_trace_widen(aphi_trace *t);
aphi_cursor aphi_trace_cursor(const aphi_trace *t);
/* Fails if the time or index of an observation is below the latest one. Other text than a number is ignored. */
int aphi_trace_check_order(aphi_trace *t, aphi_latest *latest, aphi_slice text, const char *name);

/* Returns 1 with a cursor over the next line that is not blank, 0 at the end, -1 on an error. Afterwards, call
 * aphi_byte_source_line_done with the cursor's end. */
int aphi_trace_line(aphi_trace *t, aphi_cursor *c, bool *complete);

#endif
