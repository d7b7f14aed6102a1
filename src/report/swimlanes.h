/* SPDX-License-Identifier: Apache-2.0
 *
 * swimlanes.h - draw what the components of a message-passing program did: a lane for each, time downwards, an arrow
 * for each message.
 *
 *        P0    P1    F0
 *   1    ├─────┼────▶│    get
 *   2    │     ●     │    put (taken in 4)
 *   3    ├─────┼────▶│    done
 * ≠ 4    │     ├┄┄┄┄▶│    put (sent in 2); before: done from P0
 *
 * A row is an event, or a send together with its receive, where nothing had to happen between them. Whoever draws
 * gives the events of each lane; the rows are found here, so that they go down in every lane and along every arrow. */
#ifndef APHI_REPORT_SWIMLANES_H
#define APHI_REPORT_SWIMLANES_H

#include "report/terminal.h"

#define APHI_SWIMLANES_NONE SIZE_MAX

typedef enum aphi_swimlanes_kind {
    APHI_SWIMLANES_SEND,
    APHI_SWIMLANES_RECEIVE,
    APHI_SWIMLANES_LOCAL,
} aphi_swimlanes_kind;

typedef enum aphi_swimlanes_mark {
    APHI_SWIMLANES_PLAIN,
    APHI_SWIMLANES_SAME,    /* as in the sequence that this one is compared with: drawn faintly */
    APHI_SWIMLANES_CHANGED, /* what was done differently there */
    APHI_SWIMLANES_WRONG,   /* what must not be: it is red, and has a cross */
} aphi_swimlanes_mark;

/* Texts may hold anything: they are made safe. */
typedef struct aphi_swimlanes_event {
    size_t lane;
    aphi_swimlanes_kind kind;
    aphi_swimlanes_mark mark;
    size_t partner;    /* the place in `events` of the other end of the message, or NONE: there is none */
    size_t after;      /* the place of one more event that was before it, or NONE */
    bool sync;         /* both ends are at one time */
    const char *label;
    const char *note;  /* more about it, in a few words, or NULL: its race set; what it took before */
} aphi_swimlanes_event;

typedef struct aphi_swimlanes {
    const char *title;
    const char *const *lanes;            /* their names */
    size_t lane_count;
    const aphi_swimlanes_event *events;  /* those of a lane in their order; lanes in any order, also mixed */
    size_t count;
    const char *const *ends;             /* what to say below each lane, or NULL for those that ended; or NULL */
    const char *remark;                  /* below all, or NULL */
} aphi_swimlanes;

/* A row: one event, or a send with its receive. */
typedef struct aphi_swimlanes_row {
    size_t event;
    size_t receive; /* or NONE */
} aphi_swimlanes_row;

/* Rows from the top to the bottom; free() frees them. Where events wait for each other in a circle, which no run does,
 * one of them is let go first. */
aphi_swimlanes_row *aphi_swimlanes_rows(const aphi_swimlanes *s, size_t *count);

/* For a terminal. */
void aphi_swimlanes_draw(aphi_buffer *out, const aphi_swimlanes *s, const aphi_terminal *t);
/* An svg element; its style is swimlanes.css. */
void aphi_swimlanes_svg(aphi_buffer *out, const aphi_swimlanes *s);

/* ---- a page of them ---------------------------------------------------------------------------------------------- */

/* One self-contained page: begin, then any number of pictures, then end. Pictures that are given as a pair, such as a
 * model's and a program's, stand side by side. */
void aphi_swimlanes_page_begin(aphi_buffer *out, const char *title, const char *lead);
void aphi_swimlanes_page_add(aphi_buffer *out, const aphi_swimlanes *s);
void aphi_swimlanes_page_pair(aphi_buffer *out, const aphi_swimlanes *left, const aphi_swimlanes *right);
void aphi_swimlanes_page_end(aphi_buffer *out);

#endif
