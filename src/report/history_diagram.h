/* SPDX-License-Identifier: Apache-2.0
 *
 * history_diagram.h - drawing of a concurrent history: a lane for each client, time from left to right.
 *
 *   line      12              14
 *   client 0  ├─ write 3 → ok ───┤
 *   client 1          ├─ ✗ read → 2 ─┤
 *                     ╰─ expected 3
 *
 * Columns are calls and returns in the order of observation, spaced as the labels require. A drawing wider than the
 * terminal continues below, in another band. */
#ifndef APHI_REPORT_HISTORY_DIAGRAM_H
#define APHI_REPORT_HISTORY_DIAGRAM_H

#include "report/terminal.h"

#define APHI_HISTORY_DIAGRAM_NEVER UINT64_MAX /* the end of an operation that did not return */
#define APHI_HISTORY_DIAGRAM_MAX   40 /* operations drawn; the others are only counted */
#define APHI_HISTORY_DIAGRAM_ALL   INT64_MIN /* the client of an operation that concerns all clients */

typedef enum aphi_history_diagram_mark {
    APHI_HISTORY_DIAGRAM_PLAIN,
    APHI_HISTORY_DIAGRAM_VIOLATED, /* cannot be explained */
    APHI_HISTORY_DIAGRAM_RELATED,  /* related to the violated one */
} aphi_history_diagram_mark;

typedef struct aphi_history_diagram_operation {
    int64_t client;
    const char *label;  /* "write 3 → ok"; the middle of a long label is cut */
    uint64_t call, end; /* distinct times in any unit; only their order matters; call < end */
    uint64_t line;      /* of the call in the file; 0: unknown */
    aphi_history_diagram_mark mark;
} aphi_history_diagram_operation;

typedef struct aphi_history_diagram {
    const aphi_history_diagram_operation *operations; /* in any order */
    size_t n;
    const char *caption;    /* first line, or NULL */
    const char *expected;   /* lines below the violated operation, or NULL */
    const char *related;    /* legend of the mark on related operations, or NULL */
    const char *lane;       /* the name of a lane, in ASCII; NULL: "client" */
    uint64_t earlier, later; /* operations before and after the given ones */
} aphi_history_diagram;

/* Appends the drawing to out. It ends at the return of the violated operation. If there are more than
 * APHI_HISTORY_DIAGRAM_MAX operations, it prefers marked ones, then overlapping ones, then the last ones. */
void aphi_history_diagram_draw(aphi_buffer *out, const aphi_history_diagram *d, const aphi_terminal *t);

#endif
