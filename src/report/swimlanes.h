/* SPDX-License-Identifier: Apache-2.0
 *
 * swimlanes.h - space-time diagrams of message-passing programs: a lane for each component, time runs down, an arrow
 * for each message.
 *
 *        P0    P1    F0
 *   1    ├─────┼────▶│    get
 *   2    │     ●     │    put (received in 4)
 *   3    ├─────┼────▶│    done
 * ≠ 4    │     ├┄┄┄┄▶│    put (sent in 2); before: done from P0
 *
 * A row is an event, or a send together with its receive if no other event must be between them. The caller passes the
 * events of each lane; the rows are computed so that time runs down in every lane and along every arrow. */
#ifndef APHI_REPORT_SWIMLANES_H
#define APHI_REPORT_SWIMLANES_H

#include "alts/alts.h"
#include "report/terminal.h"

#define APHI_SWIMLANES_NONE SIZE_MAX

typedef enum aphi_swimlanes_mark {
    APHI_SWIMLANES_PLAIN,
    APHI_SWIMLANES_SAME,    /* unchanged from the previous sequence: pale */
    APHI_SWIMLANES_CHANGED, /* different from the previous sequence */
    APHI_SWIMLANES_WRONG,   /* an error: red, with a cross */
} aphi_swimlanes_mark;

/* Texts may contain any bytes; they are cleaned. */
typedef struct aphi_swimlanes_event {
    size_t lane;
    aphi_alts_op kind;
    aphi_swimlanes_mark mark;
    size_t partner;    /* index in `events` of the other end of the message, or NONE */
    size_t after;      /* index of another event that happened before it, or NONE */
    bool sync;         /* the send and the receive are simultaneous */
    const char *label;
    const char *note;  /* a remark (race set, previous partner), or NULL */
} aphi_swimlanes_event;

typedef struct aphi_swimlanes {
    const char *title;
    const char *const *lanes;            /* names of the lanes */
    size_t lane_count;
    const aphi_swimlanes_event *events;  /* in order within each lane; lanes may be interleaved */
    size_t count;
    const char *const *ends;             /* per lane: a remark below it, or NULL if it ended; may be NULL */
    const char *remark;                  /* at the end, or NULL */
} aphi_swimlanes;

/* A row: one event, or a send with its receive. */
typedef struct aphi_swimlanes_row {
    size_t event;
    size_t receive; /* or NONE */
    aphi_swimlanes_mark mark;
} aphi_swimlanes_row;

typedef struct aphi_swimlanes_rows {
    aphi_swimlanes_row *rows; /* from top to bottom */
    size_t count;
    size_t *row_of;           /* of each event */
    size_t *end;              /* per lane: the row after its last event, or 0 */
} aphi_swimlanes_rows;

/* Computes the rows. A cycle of events, which cannot occur in a run, is broken at an arbitrary event. */
aphi_swimlanes_rows aphi_swimlanes_order(const aphi_swimlanes *s);
void aphi_swimlanes_rows_free(aphi_swimlanes_rows *r);

void aphi_swimlanes_draw(aphi_buffer *out, const aphi_swimlanes *s, const aphi_terminal *t);
/* Appends an svg element, styled by swimlanes.css. */
void aphi_swimlanes_svg(aphi_buffer *out, const aphi_swimlanes *s);

/* ---- a page of them ---------------------------------------------------------------------------------------------- */

/* One self-contained page: begin, then any number of diagrams, then end. The diagrams of a pair, such as a model's and
 * a program's, are side by side. */
void aphi_swimlanes_page_begin(aphi_buffer *out, const char *title, const char *lead);
void aphi_swimlanes_page_add(aphi_buffer *out, const aphi_swimlanes *s);
void aphi_swimlanes_page_pair(aphi_buffer *out, const aphi_swimlanes *left, const aphi_swimlanes *right);
void aphi_swimlanes_page_end(aphi_buffer *out);

#endif
