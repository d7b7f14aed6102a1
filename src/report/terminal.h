/* SPDX-License-Identifier: Apache-2.0
 *
 * terminal.h - what can be shown where: colours, characters, columns; and a line that tells how far a long work is. */
#ifndef APHI_REPORT_TERMINAL_H
#define APHI_REPORT_TERMINAL_H

#include "base/buffer.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

typedef enum aphi_colour { APHI_COLOUR_AUTO, APHI_COLOUR_ALWAYS, APHI_COLOUR_NEVER } aphi_colour;

/* What a writer of reports must know. A plain struct: a test fills it in. */
typedef struct aphi_terminal {
    bool interactive; /* a person looks at it as it is written */
    bool colour;
    bool unicode;     /* or else only ASCII is written */
    size_t columns;
} aphi_terminal;

/* "auto", "always", "never". */
bool aphi_colour_named(const char *name, aphi_colour *colour);

/* Colours: with AUTO, on a terminal that is not dumb, unless NO_COLOR is set and not empty.
 * Characters: UTF-8 if LC_ALL, LC_CTYPE or LANG, the first of them that is set, names it.
 * Columns: of the terminal; if there is none, COLUMNS; else 100. Never less than 40. */
aphi_terminal aphi_terminal_of(FILE *stream, aphi_colour colour);

typedef enum aphi_ink {
    APHI_INK_NONE, /* ends any other */
    APHI_INK_RED,
    APHI_INK_GREEN,
    APHI_INK_YELLOW,
    APHI_INK_DIM,
    APHI_INK_BOLD,
    APHI_INK_ALARM, /* red and bold */
} aphi_ink;

/* What to write to change to that ink: "" where there are no colours. */
const char *aphi_terminal_ink(const aphi_terminal *t, aphi_ink ink);
void aphi_terminal_paint(aphi_buffer *out, const aphi_terminal *t, aphi_ink ink, const char *text);

/* Counts with separators, 1,234,567; durations of three digits, "12.3 ms", or "4 min 05 s". */
void aphi_report_count(aphi_buffer *out, uint64_t count);
void aphi_report_duration(aphi_buffer *out, int64_t ns);

/* ---- progress ------------------------------------------------------------------------------------------------------
 *
 * One line on stderr, if that is a terminal, from one second after the beginning: work that is soon done shows nothing.
 * There is one line, so there is one progress: all calls are of one thread. aphi_progress_at may be called in the
 * innermost loop: the clock is read only as often as the line could change. */

/* total 0: it is not known. `what` must stay until the end. */
void aphi_progress_begin(const char *what, uint64_t total);
void aphi_progress_at(uint64_t done);
/* Takes the line away, so that something else can be written; the next aphi_progress_at may bring it back. */
void aphi_progress_hide(void);
void aphi_progress_end(void);

/* How a live run goes. */
typedef struct aphi_live {
    uint64_t messages;
    uint64_t rate;            /* messages a second, just now; aphi_progress_live finds it itself */
    uint64_t explanations;    /* alive */
    size_t reached, branches; /* of the model; branches 0: it names none */
    int64_t left_ns;          /* time to the end; negative: not known */
} aphi_live;

/* As aphi_progress_at, for a live run. */
void aphi_progress_live(const aphi_live *live);

/* The line of a live run, without its end:
 *     swap at 127.0.0.1:4711  12,345 messages  8,120/s  3 explanations  branches 5/7  12 s left
 * Where it is too narrow, the title is shortened, then parts are left out, the least important first. */
void aphi_live_text(aphi_buffer *out, const aphi_terminal *t, const char *what, const aphi_live *live);

/* The line, without its end. */
void aphi_progress_text(aphi_buffer *out, const aphi_terminal *t, const char *what, uint64_t done, uint64_t total,
                        int64_t ns);

#endif
