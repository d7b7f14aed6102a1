/* SPDX-License-Identifier: Apache-2.0
 *
 * mutation_report.c - the mutants of a C source and the verdicts on them; see mutation_report.h. */
#include "mutate/mutation_report.h"

#include <string.h>

/* Survivors that are listed as equivalent have their own column. */
enum { LISTED = APHI_MUTANT_SURVIVED + 1, COLUMNS };

/* Names of the table's columns and of JSON fields. */
static const char *const names[COLUMNS] = {
    [APHI_MUTANT_NONE] = "not run",        [APHI_MUTANT_BROKEN] = "broken", [APHI_MUTANT_SAME] = "equivalent",
    [APHI_MUTANT_DUPLICATE] = "duplicate", [APHI_MUTANT_KILLED] = "killed", [APHI_MUTANT_TIMED_OUT] = "timed out",
    [APHI_MUTANT_SURVIVED] = "survived",   [LISTED] = "listed",
};

static size_t column_of(const aphi_mutation_report *r, size_t i)
{
    aphi_mutant_outcome outcome = r->verdicts[i].outcome;
    return outcome == APHI_MUTANT_SURVIVED && r->reasons[i] ? LISTED : outcome;
}

static bool is_listed_killed(const aphi_mutation_report *r, size_t i)
{
    size_t column = column_of(r, i);
    return r->reasons[i] && (column == APHI_MUTANT_KILLED || column == APHI_MUTANT_TIMED_OUT);
}

aphi_mutation_counts aphi_mutation_report_count(const aphi_mutation_report *r)
{
    aphi_mutation_counts counts = {0};
    for (size_t i = 0; i < r->mutants->n; i++) {
        if (!r->selected[i])
            continue;
        size_t column = column_of(r, i);
        counts.survived += column == APHI_MUTANT_SURVIVED;
        counts.listed_killed += is_listed_killed(r, i);
        counts.tested += column >= APHI_MUTANT_KILLED;
    }
    return counts;
}

/* ---- text -------------------------------------------------------------------------------------------------------- */

static void add_mutant(const aphi_mutation_report *r, aphi_buffer *out, size_t i)
{
    const aphi_mutant *m = &r->mutants->items[i];
    aphi_buffer_format(out, "%5zu  %s:%u:%u  ", m->number, r->path, m->line, m->column);
    aphi_mutant_identity(out, m);
    aphi_buffer_byte(out, '\n');
}

void aphi_mutation_report_list(const aphi_mutation_report *r, aphi_buffer *out)
{
    for (size_t i = 0; i < r->mutants->n; i++)
        if (r->selected[i])
            add_mutant(r, out, i);
}

static void add_survivors(const aphi_mutation_report *r, aphi_buffer *out)
{
    for (size_t i = 0; i < r->mutants->n; i++) {
        if (!r->selected[i] || (column_of(r, i) != APHI_MUTANT_SURVIVED && !is_listed_killed(r, i)))
            continue;
        aphi_buffer_str(out, is_listed_killed(r, i) ? "listed as equivalent, but killed:\n" : "survived:\n");
        add_mutant(r, out, i);
        aphi_mutant_diff(out, r->text, r->size, r->path, &r->mutants->items[i]);
        aphi_buffer_byte(out, '\n');
    }
}

static size_t sum_of(const size_t counts[COLUMNS])
{
    size_t sum = 0;
    for (size_t k = 0; k < COLUMNS; k++)
        sum += counts[k];
    return sum;
}

static void add_row(aphi_buffer *out, const char *name, const size_t counts[COLUMNS])
{
    aphi_buffer_format(out, "%-11s %8zu", name, sum_of(counts));
    for (size_t k = APHI_MUTANT_BROKEN; k < COLUMNS; k++)
        aphi_buffer_format(out, " %*zu", (int)strlen(names[k]) > 8 ? (int)strlen(names[k]) : 8, counts[k]);
    aphi_buffer_byte(out, '\n');
}

static void count_columns(const aphi_mutation_report *r, size_t by_operator[APHI_OPERATOR_COUNT][COLUMNS],
                          size_t all[COLUMNS])
{
    for (size_t i = 0; i < r->mutants->n; i++) {
        if (!r->selected[i])
            continue;
        by_operator[r->mutants->items[i].operator][column_of(r, i)]++;
        all[column_of(r, i)]++;
    }
}

void aphi_mutation_report_write(const aphi_mutation_report *r, aphi_buffer *out)
{
    size_t by_operator[APHI_OPERATOR_COUNT][COLUMNS] = {0}, all[COLUMNS] = {0};
    count_columns(r, by_operator, all);
    add_survivors(r, out);
    aphi_buffer_format(out, "%-11s %8s", "", "mutants");
    for (size_t k = APHI_MUTANT_BROKEN; k < COLUMNS; k++)
        aphi_buffer_format(out, " %8s", names[k]);
    aphi_buffer_byte(out, '\n');
    for (size_t o = 0; o < APHI_OPERATOR_COUNT; o++)
        if (sum_of(by_operator[o]) > 0)
            add_row(out, aphi_operator_name((aphi_operator)o), by_operator[o]);
    add_row(out, "all", all);
    if (all[APHI_MUTANT_NONE] > 0)
        aphi_buffer_format(out, "%zu were not run\n", all[APHI_MUTANT_NONE]);
}

/* ---- JSON: the keys of an object are sorted ---------------------------------------------------------------------- */

/* Appends the name in quotes, with _ for spaces. */
static void add_json_name(aphi_buffer *out, const char *name)
{
    aphi_buffer_byte(out, '"');
    for (; *name; name++)
        aphi_buffer_byte(out, *name == ' ' ? '_' : *name);
    aphi_buffer_byte(out, '"');
}

static void add_json_key(aphi_buffer *out, const char *key)
{
    if (out->data[out->n - 1] != '{')
        aphi_buffer_byte(out, ',');
    add_json_name(out, key);
    aphi_buffer_byte(out, ':');
}

static void add_json_string(aphi_buffer *out, const char *key, const char *text)
{
    add_json_key(out, key);
    aphi_buffer_json_string(out, text, strlen(text));
}

static void add_json_number(aphi_buffer *out, const char *key, size_t number)
{
    add_json_key(out, key);
    aphi_buffer_int(out, (int64_t)number);
}

static void add_json_mutant(const aphi_mutation_report *r, aphi_buffer *out, size_t i)
{
    const aphi_mutant *m = &r->mutants->items[i];
    aphi_buffer identity = {0};
    aphi_mutant_identity(&identity, m);
    aphi_buffer_byte(out, '{');
    add_json_string(out, "after", m->after);
    add_json_string(out, "before", m->before);
    add_json_number(out, "column", m->column);
    if (r->verdicts) {
        add_json_key(out, "fate");
        add_json_name(out, names[column_of(r, i)]);
    }
    add_json_string(out, "function", m->function);
    add_json_string(out, "identity", aphi_buffer_text(&identity));
    add_json_number(out, "line", m->line);
    add_json_number(out, "number", m->number);
    if (r->verdicts && r->verdicts[i].outcome == APHI_MUTANT_DUPLICATE)
        add_json_number(out, "of", r->verdicts[i].duplicate_of);
    add_json_string(out, "operator", aphi_operator_name(m->operator));
    if (r->verdicts && r->reasons[i])
        add_json_string(out, "reason", r->reasons[i]);
    aphi_buffer_byte(out, '}');
    aphi_buffer_free(&identity);
}

static void add_json_counts(const aphi_mutation_report *r, aphi_buffer *out)
{
    static const size_t sorted[COLUMNS] = {APHI_MUTANT_BROKEN, APHI_MUTANT_DUPLICATE, APHI_MUTANT_SAME,
                                           APHI_MUTANT_KILLED, LISTED, APHI_MUTANT_NONE,
                                           APHI_MUTANT_SURVIVED, APHI_MUTANT_TIMED_OUT};
    size_t by_operator[APHI_OPERATOR_COUNT][COLUMNS] = {0}, all[COLUMNS] = {0};
    count_columns(r, by_operator, all);
    add_json_key(out, "counts");
    aphi_buffer_byte(out, '{');
    for (size_t k = 0; k < COLUMNS; k++)
        add_json_number(out, names[sorted[k]], all[sorted[k]]);
    aphi_buffer_byte(out, '}');
}

void aphi_mutation_report_json(const aphi_mutation_report *r, aphi_buffer *out)
{
    bool first = true;
    aphi_buffer_byte(out, '{');
    if (r->verdicts)
        add_json_counts(r, out);
    add_json_key(out, "mutants");
    aphi_buffer_byte(out, '[');
    for (size_t i = 0; i < r->mutants->n; i++) {
        if (!r->selected[i])
            continue;
        aphi_buffer_str(out, first ? "" : ",");
        first = false;
        add_json_mutant(r, out, i);
    }
    aphi_buffer_byte(out, ']');
    add_json_string(out, "source", r->path);
    aphi_buffer_str(out, "}\n");
}
