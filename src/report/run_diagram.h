/* SPDX-License-Identifier: Apache-2.0
 *
 * run_diagram.h - the facts of a run, and a space-time diagram of it in text. */
#ifndef APHI_REPORT_RUN_DIAGRAM_H
#define APHI_REPORT_RUN_DIAGRAM_H

#include <antiphon/model.h>
#include "report/terminal.h"
#include "trace/run_event.h"

#define APHI_RUN_DIAGRAM_NONE SIZE_MAX

/* The data that the terminal, page and JUnit reports share. Texts may contain any bytes; values may be APH_NIL. */
typedef struct aphi_run_diagram {
    const char *title;         /* "swap at 127.0.0.1:4711" */
    aph_value run;             /* facts by name, as in --json: messages, seed, ...; *_ns are durations */
    const char *verdict;       /* "fail" */
    const char *headline;      /* the reason in one sentence, or NULL */
    int64_t ns;                /* duration of the run */
    int64_t total_ns;          /* duration of the campaign */
    const aphi_run_event *events;
    size_t count;
    uint64_t earlier;          /* number of events before the given ones */
    size_t failing;            /* index of the event without an explanation, or APHI_RUN_DIAGRAM_NONE */
    /* The responses allowed at that event, an object for each explanation of the earlier events:
     * {"answer": ..., "clauses": [...], "state": ..., "given": [conditions on its unknowns], "order": [labels]}.
     * Each field may be absent. */
    aph_value allowed;
    aph_value branches;        /* name -> number of times reached */
    aph_value script;          /* the shrunk script, an array of actions as on disk; its waits are drawn */
    const char *replay;        /* the command that reproduces the run, or NULL */
    aph_words *words;          /* the model's formatting of messages; NULL: JSON */
    const char *incomplete;    /* an incomplete response that has arrived on connection incomplete_at; NULL: none */
    int64_t incomplete_at;
} aphi_run_diagram;

/* Draws a space-time diagram in text: a vertical line for each connection and one for the subject; time runs down; each
 * message is an arrow.
 *
 *       ms  conn 0  conn 1                           subject
 *    0.000    ├───────┼─── #1 put "a" 1 ───────────────▶│
 *    0.120    │◀──────┼─── #2 "ok" ────────────────────┤
 *    0.310    │       ├─── #3 get "a" ────────────────▶│
 *  ✗ 0.420    │       │◀── #4 0 ───────────────────────┤
 *             │       ╰─── expected 1 (RFC 9110 13.1.2)
 *
 * Draws up to `rows` messages (0: 30): the failing one, its request, and the last ones before it. A run of a few
 * messages is drawn to its end. */
void aphi_run_diagram_draw(aphi_buffer *out, const aphi_run_diagram *t, const aphi_terminal *terminal, size_t rows);

/* Appends the report of a run that did not pass: the headline, the diagram, the responses that the model allows, and
 * the command that reproduces the run. Appends nothing for a pass. */
void aphi_run_diagram_report(aphi_buffer *out, const aphi_run_diagram *t, const aphi_terminal *terminal);

/* ---- parts, for other reports ------------------------------------------------------------------------------------ */

/* Appends a short text of an event, without its label, of up to about `limit` bytes. */
void aphi_run_event_text(aphi_buffer *out, const aphi_run_event *m, aph_words *words, size_t limit);
bool aphi_run_event_is_outward(const aphi_run_event *m); /* from the tester to the subject */
/* Appends the condition of a wait: "response #2", "quiet", "silence", "a pause of 500 us". Returns false if there is
 * none. */
bool aphi_action_wait_text(aphi_buffer *out, aph_value action);

#endif
