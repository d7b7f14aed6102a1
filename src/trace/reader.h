/* SPDX-License-Identifier: Apache-2.0
 *
 * reader.h - what the readers of the formats share; private to src/trace.
 *
 * A reader takes text from the source, one line or form at a time, and makes at most one observation of it.
 */
#ifndef APHI_READER_H
#define APHI_READER_H

#include "trace/edn.h"
#include "trace/open_requests.h"
#include "trace/source.h"

/* Returns 1 with an observation, 0 at the end, -1 on an error. */
typedef int aphi_reader(aphi_trace *t, aphi_observation *o);

struct aphi_trace {
    char *file;
    aphi_source source;
    aphi_trace_error error;
    aph_trace_format format;
    const aph_model *model;
    aphi_reader *read;
    bool over;             /* the end was reached, or an error */
    aphi_open_requests lanes;
    int64_t connections;   /* made for processes that went on after a crash: -1, -2, ... */
    uint64_t number;       /* of the next observation */
    aphi_edn edn;
    char bracket;          /* what closes the vector or array that holds the operations; 0: none is open */
    bool closed;           /* that array was closed: nothing may follow */
    uint64_t objects;      /* of JSON text that were read */
};

aphi_reader aphi_read_jsonl, aphi_read_log, aphi_read_edn, aphi_read_json;

/* Sets the error, unless one is set, and returns -1. where is in the window of the source, or NULL. */
int aphi_trace_fail(aphi_trace *t, aphi_trace_fault fault, const char *where, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* The same, with what a parser found. */
int aphi_trace_fail_cursor(aphi_trace *t, const aphi_cursor *c);
/* The same, for a source that gave neither bytes nor the end. */
int aphi_trace_fail_source(aphi_trace *t, aphi_source_status status);
/* After c starved: 1 if the window is wider now, or else whole, and parsing is to be done again; -1 on an error. */
int aphi_trace_widen(aphi_trace *t);
aphi_cursor aphi_trace_cursor(const aphi_trace *t);

/* The next line that is not blank, as a cursor that ends with it. 1, 0 at the end, -1 on an error. After its use, call
 * aphi_source_line_done with the cursor's end. */
int aphi_trace_line(aphi_trace *t, aphi_cursor *c, bool *complete);

#endif
