/* SPDX-License-Identifier: Apache-2.0
 *
 * timeline.h - what there is to tell of a run, whoever tells it: the terminal or a page. */
#ifndef APHI_REPORT_TIMELINE_H
#define APHI_REPORT_TIMELINE_H

#include <antiphon/value.h>
#include "report/terminal.h"

typedef enum aphi_moment_kind {
    APHI_MOMENT_SENT,      /* from the tester to the subject */
    APHI_MOMENT_RECEIVED,
    APHI_MOMENT_LOST,      /* the answer to `label` never came */
    APHI_MOMENT_MALFORMED, /* bytes that are no message: message is a string */
    APHI_MOMENT_CLOSED,    /* by the tester */
    APHI_MOMENT_DROPPED,   /* by the subject; message says how: "closed", "reset" */
} aphi_moment_kind;

typedef struct aphi_moment {
    aphi_moment_kind kind;
    int64_t at_ns;      /* since the run began */
    int64_t connection;
    int64_t label;      /* 0 if it has none */
    aph_value message;
} aphi_moment;

typedef struct aphi_timeline {
    const char *title;         /* "swap at 127.0.0.1:4711" */
    aph_value run;             /* facts by name, as in --json: verdict, messages, seconds, seed, ... */
    const char *verdict;       /* "fail" */
    const char *headline;      /* one sentence: why */
    const aphi_moment *moments;
    size_t count;
    size_t failing;            /* place of the moment that nothing explains; SIZE_MAX: none */
    /* What would have been allowed there: an array of {"answer": ..., "clauses": [...], "state": ..., "order": [labels]}
     * for the explanations that were alive; APH_NIL if there are none. */
    aph_value allowed;
    aph_value branches;        /* name -> times reached, 0 for never; APH_NIL if not known */
    aph_value script;          /* array of actions, the shrunk script; APH_NIL if none */
    const char *replay;        /* the command that runs it again, or NULL */
} aphi_timeline;

/* A space-time diagram in text: one column for the tester's side of each connection and one for the subject, time
 * downwards, an arrow for each message, the failing one marked; at most `rows` messages, those that matter. */
void aphi_timeline_draw(aphi_buffer *out, const aphi_timeline *t, const aphi_terminal *terminal, size_t rows);

#endif
