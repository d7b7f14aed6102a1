/* SPDX-License-Identifier: Apache-2.0
 *
 * terminal.h - capabilities of the output terminal, and a progress line. */
#ifndef APHI_REPORT_TERMINAL_H
#define APHI_REPORT_TERMINAL_H

#include "base/buffer.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

typedef enum aphi_colour { APHI_COLOUR_AUTO, APHI_COLOUR_ALWAYS, APHI_COLOUR_NEVER } aphi_colour;

/* Capabilities of an output stream. Tests fill in the struct themselves. */
typedef struct aphi_terminal {
    bool interactive; /* the stream is a terminal */
    bool colour;
    bool unicode;     /* false: write ASCII only */
    size_t columns;
} aphi_terminal;

/* Colours: AUTO enables them on a terminal that is not dumb, unless NO_COLOR is set and not empty.
 * Characters: UTF-8 if the first of LC_ALL, LC_CTYPE and LANG that is set names it.
 * Columns: the width of the terminal, else COLUMNS, else 100; at least 40. */
aphi_terminal aphi_terminal_of(FILE *stream, aphi_colour colour);

typedef enum aphi_ink {
    APHI_INK_NONE, /* resets to plain text */
    APHI_INK_RED,
    APHI_INK_GREEN,
    APHI_INK_YELLOW,
    APHI_INK_DIM,
    APHI_INK_BOLD,
    APHI_INK_ALARM, /* red and bold */
} aphi_ink;

static inline size_t aphi_larger_of(size_t a, size_t b)
{
    return a > b ? a : b;
}

/* Returns the escape sequence of the ink, or "" without colours. */
const char *aphi_terminal_ink(const aphi_terminal *t, aphi_ink ink);
/* Append cleaned text (utf8.h); the `line` variant puts another text before it and a newline after it. */
void aphi_terminal_paint(aphi_buffer *out, const aphi_terminal *t, aphi_ink ink, const char *text);
void aphi_terminal_line(aphi_buffer *out, const aphi_terminal *t, aphi_ink ink, const char *before, const char *text);

/* Append 1,234,567 (with separators), "2 runs", and a duration of three digits, "12.3 ms" or "4 min 05 s". */
void aphi_report_digits(aphi_buffer *out, const char *digits);
void aphi_report_count(aphi_buffer *out, uint64_t count);
void aphi_report_counted(aphi_buffer *out, uint64_t count, const char *noun);
void aphi_report_duration(aphi_buffer *out, int64_t ns);

/* ---- progress ------------------------------------------------------------------------------------------------------
 *
 * One line on stderr, shown if stderr is a terminal and the work takes longer than a second. The state is global: call
 * these functions from one thread only. aphi_progress_at is cheap enough for inner loops: it rarely reads the clock. */

/* A `total` of 0 means unknown. `title` must live until aphi_progress_end. */
void aphi_progress_begin(const char *title, uint64_t total);
void aphi_progress_at(uint64_t done);
/* Erases the line so that other output can be written; the next aphi_progress_at may draw it again. */
void aphi_progress_hide(void);
void aphi_progress_end(void);

/* The state of a live run. */
typedef struct aphi_live {
    uint64_t messages;
    uint64_t rate;            /* messages per second; computed by aphi_progress_live */
    uint64_t explanations;    /* number of explanations that are still possible */
    size_t reached, branches; /* branches of the model: reached, all; 0: the model names none */
    int64_t left_ns;          /* remaining time; negative: unknown */
} aphi_live;

/* Like aphi_progress_at, for a live run. */
void aphi_progress_live(const aphi_live *live);

/* Appends the line of a live run, without a newline:
 *     swap at 127.0.0.1:4711  12,345 messages  8,120/s  3 explanations  branches 5/7  12 s left
 * On a narrow terminal the title is shortened, then parts are dropped, least important first. */
void aphi_live_text(aphi_buffer *out, const aphi_terminal *t, const char *title, const aphi_live *live);

/* Appends the progress line, without a newline. */
void aphi_progress_text(aphi_buffer *out, const aphi_terminal *t, const char *title, uint64_t done, uint64_t total,
                        int64_t ns);

#endif
