/* SPDX-License-Identifier: Apache-2.0
 *
 * run_diagram.h - what there is to tell of a run, whoever tells it: the terminal, a page, or JUnit. */
#ifndef APHI_REPORT_RUN_DIAGRAM_H
#define APHI_REPORT_RUN_DIAGRAM_H

#include <antiphon/model.h>
#include "report/terminal.h"
#include "trace/run_event.h"

#define APHI_RUN_DIAGRAM_NONE SIZE_MAX

/* Texts may hold anything; values that are APH_NIL say nothing. */
typedef struct aphi_run_diagram {
    const char *title;         /* "swap at 127.0.0.1:4711" */
    aph_value run;             /* facts by name, as in --json: messages, seed, ...; those named *_ns are durations */
    const char *verdict;       /* "fail" */
    const char *headline;      /* one sentence: why; or NULL */
    int64_t ns;                /* how long the run took */
    int64_t total_ns;          /* and all of the testing */
    const aphi_run_event *moments;
    size_t count;
    uint64_t earlier;          /* moments before those that are given */
    size_t failing;            /* place of the moment that nothing explains, or APHI_RUN_DIAGRAM_NONE */
    /* What would have been allowed there, an object for each explanation that was alive:
     * {"answer": ..., "clauses": [...], "state": ..., "given": [conditions on its unknowns], "order":
     * [labels]}. Each field may be absent. */
    aph_value allowed;
    aph_value branches;        /* name -> times reached, 0 for never */
    aph_value script;          /* array of actions as on disk: the shrunk script. Its waits are drawn. */
    const char *replay;        /* the command that runs it again, or NULL */
    aph_words *words;          /* how the model says a message; NULL: as JSON */
} aphi_run_diagram;

/* A space-time diagram in text: a line downwards for the tester's side of each connection, and one for the subject;
 * time goes downwards, each message is an arrow.
 *
 *       ms  conn 0  conn 1                           subject
 *    0.000    ├───────┼─── #1 put "a" 1 ───────────────▶│
 *    0.120    │◀──────┼─── #2 "ok" ────────────────────┤
 *    0.310    │       ├─── #3 get "a" ────────────────▶│
 *  ✗ 0.420    │       │◀── #4 0 ───────────────────────┤
 *             │       ╰─── expected 1 (RFC 9110 13.1.2)
 *
 * At most `rows` messages: the failing one, its request, and the last before it; 0: 30. */
void aphi_run_diagram_draw(aphi_buffer *out, const aphi_run_diagram *t, const aphi_terminal *terminal, size_t rows);

/* All there is to say at the end of a run that did not pass: the headline, the diagram, what the explanations that were
 * left would have allowed, and the command that runs it again. Of a pass: nothing. */
void aphi_run_diagram_tell(aphi_buffer *out, const aphi_run_diagram *t, const aphi_terminal *terminal);

/* ---- for those who tell ------------------------------------------------------------------------------------------ */

/* What happened, in a few words, without its label; at most about `limit` bytes. */
void aphi_run_event_text(aphi_buffer *out, const aphi_run_event *m, aph_words *words, size_t limit);
bool aphi_run_event_is_outward(const aphi_run_event *m); /* does it go from the tester to the subject? */
/* What an action of the script waits for: "the answer #2", "quiet", "a pause of 500 us". False if for nothing. */
bool aphi_action_wait_text(aphi_buffer *out, aph_value action);
/* The moment that answers, or asks, what moment i does, and APHI_RUN_DIAGRAM_NONE if there is none. */
size_t aphi_run_diagram_partner(const aphi_run_diagram *t, size_t i);

#endif
