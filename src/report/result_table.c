/* SPDX-License-Identifier: Apache-2.0
 *
 * result_table.c - a table of results, one row for each file.
 *
 * Idea: format all cells first to get the column widths. File names get the remaining width; the middle of a longer
 *       name is cut. */
#include "report/result_table.h"

#include "base/memory.h"
#include "report/utf8.h"

#include <stdlib.h>
#include <string.h>

#define GAP 2
#define FILE_MIN 12

enum { VERDICT, PATH, OPERATIONS, CONFIGURATIONS, TIME, COLUMNS };

static const char *const titles[COLUMNS] = {"verdict", "file", "operations", "configurations", "time"};

static const char *outcome_name(aphi_outcome o)
{
    static const char *const names[APHI_OUTCOMES] = {"pass", "fail", "unknown", "error", "vacuous"};
    return names[o];
}

static aphi_ink outcome_ink(aphi_outcome o)
{
    static const aphi_ink inks[APHI_OUTCOMES] = {APHI_INK_GREEN, APHI_INK_ALARM, APHI_INK_YELLOW, APHI_INK_RED,
                                                  APHI_INK_YELLOW};
    return inks[o];
}

/* ---- cells ------------------------------------------------------------------------------------------------------- */

typedef struct entry {
    aphi_buffer cells[COLUMNS];
    aphi_outcome outcome;
} entry;

typedef struct table {
    entry *entries;
    size_t n;
    size_t widths[COLUMNS];
} table;

static void add_entry(table *t, const aphi_result *r, bool unicode)
{
    entry *e = &t->entries[t->n++];
    *e = (entry){.outcome = r->outcome};
    aphi_buffer_str(&e->cells[VERDICT], outcome_name(r->outcome));
    aphi_utf8_clean(&e->cells[PATH], r->file, unicode);
    aphi_report_count(&e->cells[OPERATIONS], r->operations);
    aphi_report_count(&e->cells[CONFIGURATIONS], r->configurations);
    aphi_report_duration(&e->cells[TIME], r->time_ns);
    for (size_t i = 0; i < COLUMNS; i++)
        t->widths[i] = aphi_larger_of(t->widths[i], aphi_utf8_columns(aphi_buffer_text(&e->cells[i])));
}

static void table_deinit(table *t)
{
    for (size_t i = 0; i < t->n; i++)
        for (size_t j = 0; j < COLUMNS; j++)
            aphi_buffer_free(&t->entries[i].cells[j]);
    free(t->entries);
}

/* Gives the file column the width that the other columns leave. */
static void fit_widths(table *t, size_t columns)
{
    size_t others = 0;
    for (size_t i = 0; i < COLUMNS; i++) {
        t->widths[i] = aphi_larger_of(t->widths[i], strlen(titles[i]));
        others += i == PATH ? 0 : t->widths[i] + GAP;
    }
    size_t left = columns > others + FILE_MIN ? columns - others : FILE_MIN;
    if (t->widths[PATH] > left)
        t->widths[PATH] = left;
}

/* ---- lines ------------------------------------------------------------------------------------------------------- */

static void pad(aphi_buffer *out, size_t columns)
{
    aphi_buffer_format(out, "%*s", (int)columns, "");
}

/* Writes a cell: words are aligned left, numbers right. */
static void write_cell(aphi_buffer *out, const table *t, size_t column, const char *text, aphi_ink ink,
                       const aphi_terminal *terminal)
{
    aphi_buffer cut = {0};
    aphi_utf8_cut_middle(&cut, text, t->widths[column], terminal->unicode);
    size_t rest = t->widths[column] - aphi_utf8_columns(aphi_buffer_text(&cut));
    if (column >= OPERATIONS)
        pad(out, rest);
    aphi_terminal_paint(out, terminal, ink, aphi_buffer_text(&cut));
    if (column < OPERATIONS)
        pad(out, rest);
    if (column + 1 < COLUMNS)
        pad(out, GAP);
    else
        aphi_buffer_byte(out, '\n');
    aphi_buffer_free(&cut);
}

static void write_rows(aphi_buffer *out, const table *t, const aphi_terminal *terminal)
{
    for (size_t i = 0; i < COLUMNS; i++)
        write_cell(out, t, i, titles[i], APHI_INK_DIM, terminal);
    for (size_t i = 0; i < t->n; i++) {
        const entry *e = &t->entries[i];
        for (size_t j = 0; j < COLUMNS; j++)
            write_cell(out, t, j, e->cells[j].data, j == VERDICT ? outcome_ink(e->outcome) : APHI_INK_NONE, terminal);
    }
}

static void write_work(aphi_buffer *out, uint64_t operations, uint64_t configurations, int64_t ns)
{
    aphi_report_counted(out, operations, "operation");
    aphi_buffer_str(out, ", ");
    aphi_report_counted(out, configurations, "configuration");
    aphi_buffer_str(out, ", ");
    aphi_report_duration(out, ns);
    aphi_buffer_byte(out, '\n');
}

static void write_totals(aphi_buffer *out, const aphi_result *results, size_t n, const aphi_terminal *t)
{
    size_t of[APHI_OUTCOMES] = {0};
    uint64_t operations = 0, configurations = 0;
    int64_t ns = 0;
    for (size_t i = 0; i < n; i++) {
        of[results[i].outcome]++;
        operations += results[i].operations;
        configurations += results[i].configurations;
        ns += results[i].time_ns;
    }
    aphi_report_counted(out, n, "file");
    aphi_buffer_str(out, ": ");
    bool any = false;
    for (size_t i = 0; i < APHI_OUTCOMES; i++) {
        if (!of[i])
            continue;
        aphi_buffer text = {0};
        aphi_report_count(&text, of[i]);
        aphi_buffer_format(&text, " %s", outcome_name((aphi_outcome)i));
        aphi_buffer_str(out, any ? ", " : "");
        aphi_terminal_paint(out, t, outcome_ink((aphi_outcome)i), aphi_buffer_text(&text));
        aphi_buffer_free(&text);
        any = true;
    }
    aphi_buffer_str(out, "; ");
    write_work(out, operations, configurations, ns);
}

static void write_single(aphi_buffer *out, const aphi_result *r, const aphi_terminal *t)
{
    aphi_terminal_paint(out, t, outcome_ink(r->outcome), outcome_name(r->outcome));
    pad(out, GAP);
    aphi_utf8_clean(out, r->file, t->unicode);
    aphi_buffer_str(out, ": ");
    write_work(out, r->operations, r->configurations, r->time_ns);
}

void aphi_table_write(aphi_buffer *out, const aphi_result *results, size_t n, bool all, const aphi_terminal *t)
{
    if (n == 0)
        return;
    if (n == 1) {
        write_single(out, results, t);
        return;
    }
    table shown = {.entries = aphi_alloc(n * sizeof *shown.entries)};
    for (size_t i = 0; i < n; i++)
        if (all || n <= APHI_TABLE_ROWS || results[i].outcome != APHI_OUTCOME_PASS)
            add_entry(&shown, &results[i], t->unicode);
    fit_widths(&shown, t->columns);
    if (shown.n)
        write_rows(out, &shown, t);
    write_totals(out, results, n, t);
    table_deinit(&shown);
}
