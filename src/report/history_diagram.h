/* SPDX-License-Identifier: Apache-2.0
 *
 * history_diagram.h - draw a piece of a concurrent history: a lane for each client, time to the right.
 *
 *   line      12              14
 *   client 0  ├─ write 3 → ok ───┤
 *   client 1          ├─ ✗ read → 2 ─┤
 *                     ╰─ expected 3
 *
 * The columns are events, calls and returns in the order in which they were seen; they are as far apart as the labels
 * need. What is wider than the terminal goes on below, in another band.
 */
#ifndef APHI_REPORT_HISTORY_DIAGRAM_H
#define APHI_REPORT_HISTORY_DIAGRAM_H

#include "report/terminal.h"

#define APHI_HISTORY_DIAGRAM_NEVER UINT64_MAX /* the end of an operation that did not return */
#define APHI_HISTORY_DIAGRAM_MAX   40 /* as many operations are drawn; of the rest it is said how many there are */

typedef enum aphi_history_diagram_mark {
    APHI_HISTORY_DIAGRAM_PLAIN,
    APHI_HISTORY_DIAGRAM_VIOLATED, /* the one that cannot be explained */
    APHI_HISTORY_DIAGRAM_RELATED,  /* one that has to do with it */
} aphi_history_diagram_mark;

typedef struct aphi_history_diagram_operation {
    int64_t client;
    const char *label;  /* "write 3 → ok"; long ones lose their middle */
    uint64_t call, end; /* when, in any unit: only the order counts. No two events at once; call < end. */
    uint64_t line;      /* where the call is in the file, 0 if that is not known */
    aphi_history_diagram_mark mark;
} aphi_history_diagram_operation;

typedef struct aphi_history_diagram {
    const aphi_history_diagram_operation *operations; /* in any order */
    size_t n;
    const char *caption;    /* above all, or NULL */
    const char *expected;   /* lines below the violated operation, or NULL */
    const char *related;    /* what the mark on the related operations means, or NULL */
    const char *lane;       /* what a lane is, in ASCII; NULL: "client" */
    uint64_t earlier, later; /* operations that were not given, before and after those that were */
} aphi_history_diagram;

/* Draws to the end of out, up to the return of the violated operation: by then the case was decided.
 * Where there are more than APHI_HISTORY_DIAGRAM_MAX operations, those are drawn that are marked, then those that overlap the
 * violated one, then the last before it. */
void aphi_history_diagram_draw(aphi_buffer *out, const aphi_history_diagram *d, const aphi_terminal *t);

#endif
