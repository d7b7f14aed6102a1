/* SPDX-License-Identifier: Apache-2.0
 *
 * spacetime.h - draw what the components of a message-passing program did: a lane for each, time downwards, an arrow for
 * each message.
 *
 *        P0    P1    F0
 *   1    ├─────┼────▶│    get
 *   2    │     ●     │    put (taken in 4)
 *   3    ├─────┼────▶│    done
 * ≠ 4    │     ├┄┄┄┄▶│    put (sent in 2); before: done from P0
 *
 * A row is an event, or a send together with its receive, where nothing had to happen between them. Whoever draws
 * gives the events of each lane; the rows are found here, so that they go down in every lane and along every arrow. */
#ifndef APHI_REPORT_SPACETIME_H
#define APHI_REPORT_SPACETIME_H

#include "report/terminal.h"

#define APHI_SPACETIME_NONE SIZE_MAX

typedef enum aphi_spacetime_kind {
    APHI_SPACETIME_SEND,
    APHI_SPACETIME_RECEIVE,
    APHI_SPACETIME_LOCAL,
} aphi_spacetime_kind;

typedef enum aphi_spacetime_mark {
    APHI_SPACETIME_PLAIN,
    APHI_SPACETIME_SAME,    /* as in the sequence that this one is compared with: drawn faintly */
    APHI_SPACETIME_CHANGED, /* what was done differently there */
    APHI_SPACETIME_WRONG,   /* what must not be: it is red, and has a cross */
} aphi_spacetime_mark;

/* Texts may hold anything: they are made safe. */
typedef struct aphi_spacetime_event {
    size_t lane;
    aphi_spacetime_kind kind;
    aphi_spacetime_mark mark;
    size_t partner;    /* the place in `events` of the other end of the message, or NONE: there is none */
    size_t after;      /* the place of one more event that was before it, or NONE */
    bool sync;         /* both ends are at one time */
    const char *label;
    const char *note;  /* more about it, in a few words, or NULL: its race set; what it took before */
} aphi_spacetime_event;

typedef struct aphi_spacetime {
    const char *title;
    const char *const *lanes;            /* their names */
    size_t lane_count;
    const aphi_spacetime_event *events;  /* those of a lane in their order; lanes in any order, also mixed */
    size_t count;
    const char *const *ends;             /* what to say below each lane, or NULL for those that ended; or NULL */
    const char *remark;                  /* below all, or NULL */
} aphi_spacetime;

/* A row: one event, or a send with its receive. */
typedef struct aphi_spacetime_row {
    size_t event;
    size_t receive; /* or NONE */
} aphi_spacetime_row;

/* Rows from the top to the bottom; free() frees them. Where events wait for each other in a circle, which no run does,
 * one of them is let go first. */
aphi_spacetime_row *aphi_spacetime_rows(const aphi_spacetime *s, size_t *count);

/* For a terminal. */
void aphi_spacetime_draw(aphi_buffer *out, const aphi_spacetime *s, const aphi_terminal *t);
/* An svg element; its style is spacetime.css. */
void aphi_spacetime_svg(aphi_buffer *out, const aphi_spacetime *s);

/* ---- a page of them ---------------------------------------------------------------------------------------------- */

/* One self-contained page: begin, then any number of pictures, then end. Pictures that are given as a pair, such as a
 * model's and a program's, stand side by side. */
void aphi_spacetime_page_begin(aphi_buffer *out, const char *title, const char *lead);
void aphi_spacetime_page_add(aphi_buffer *out, const aphi_spacetime *s);
void aphi_spacetime_page_pair(aphi_buffer *out, const aphi_spacetime *left, const aphi_spacetime *right);
void aphi_spacetime_page_end(aphi_buffer *out);

#endif
