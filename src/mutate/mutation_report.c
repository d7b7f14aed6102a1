/* SPDX-License-Identifier: Apache-2.0
 *
 * mutation_report.c - what became of the mutants of a C source; see mutation_report.h. */
#include "mutate/mutation_report.h"

#include "base/memory.h"

#include <antiphon/value.h>

#include <stdlib.h>
#include <string.h>

enum { FATES = APHI_MUTANT_SURVIVED + 1, LISTED = FATES, COLUMNS };

/* As columns of the table, and in JSON. */
static const char *const names[COLUMNS] = {
    [APHI_MUTANT_NONE] = "not run",        [APHI_MUTANT_BROKEN] = "broken", [APHI_MUTANT_SAME] = "equivalent",
    [APHI_MUTANT_DUPLICATE] = "duplicate", [APHI_MUTANT_KILLED] = "killed", [APHI_MUTANT_TIMED_OUT] = "timed out",
    [APHI_MUTANT_SURVIVED] = "survived",   [LISTED] = "listed",
};

/* A survivor that is listed is a fate of its own. */
static size_t fate_of(const aphi_mutation_report *f, size_t i)
{
    aphi_mutant_outcome fate = f->verdicts[i].fate;
    return fate == APHI_MUTANT_SURVIVED && f->reasons[i] ? LISTED : fate;
}

static bool is_wrong(const aphi_mutation_report *f, size_t i)
{
    size_t fate = fate_of(f, i);
    return f->reasons[i] && (fate == APHI_MUTANT_KILLED || fate == APHI_MUTANT_TIMED_OUT);
}

aphi_mutation_report_sum aphi_mutation_report_sum_of(const aphi_mutation_report *f)
{
    aphi_mutation_report_sum sum = {0};
    for (size_t i = 0; i < f->mutants->n; i++) {
        if (!f->chosen[i])
            continue;
        size_t fate = fate_of(f, i);
        sum.survived += fate == APHI_MUTANT_SURVIVED;
        sum.wrong += is_wrong(f, i);
        sum.tested += fate >= APHI_MUTANT_KILLED;
    }
    return sum;
}

/* ---- text -------------------------------------------------------------------------------------------------------- */

static void add_mutant(const aphi_mutation_report *f, aphi_buffer *out, size_t i)
{
    const aphi_mutant *m = &f->mutants->items[i];
    aphi_buffer_format(out, "%5zu  %s:%u:%u  ", m->number, f->path, m->line, m->column);
    aphi_mutant_identity(out, m);
    aphi_buffer_byte(out, '\n');
}

void aphi_mutation_report_list(const aphi_mutation_report *f, aphi_buffer *out)
{
    for (size_t i = 0; i < f->mutants->n; i++)
        if (f->chosen[i])
            add_mutant(f, out, i);
}

static void add_survivors(const aphi_mutation_report *f, aphi_buffer *out)
{
    for (size_t i = 0; i < f->mutants->n; i++) {
        if (!f->chosen[i] || (fate_of(f, i) != APHI_MUTANT_SURVIVED && !is_wrong(f, i)))
            continue;
        aphi_buffer_str(out, is_wrong(f, i) ? "listed as equivalent, but killed:\n" : "survived:\n");
        add_mutant(f, out, i);
        aphi_mutant_diff(out, f->text, f->size, f->path, &f->mutants->items[i]);
        aphi_buffer_byte(out, '\n');
    }
}

static void add_row(aphi_buffer *out, const char *name, const size_t counts[COLUMNS])
{
    size_t all = 0;
    for (size_t k = 0; k < COLUMNS; k++)
        all += counts[k];
    aphi_buffer_format(out, "%-11s %8zu", name, all);
    for (size_t k = APHI_MUTANT_BROKEN; k < COLUMNS; k++)
        aphi_buffer_format(out, " %*zu", (int)strlen(names[k]) > 8 ? (int)strlen(names[k]) : 8, counts[k]);
    aphi_buffer_byte(out, '\n');
}

static void count(const aphi_mutation_report *f, size_t by_operator[APHI_OPERATOR_COUNT][COLUMNS], size_t all[COLUMNS])
{
    for (size_t i = 0; i < f->mutants->n; i++) {
        if (!f->chosen[i])
            continue;
        by_operator[f->mutants->items[i].operator][fate_of(f, i)]++;
        all[fate_of(f, i)]++;
    }
}

static bool is_empty(const size_t counts[COLUMNS])
{
    for (size_t k = 0; k < COLUMNS; k++)
        if (counts[k] > 0)
            return false;
    return true;
}

void aphi_mutation_report_write(const aphi_mutation_report *f, aphi_buffer *out)
{
    size_t by_operator[APHI_OPERATOR_COUNT][COLUMNS] = {0}, all[COLUMNS] = {0};
    count(f, by_operator, all);
    add_survivors(f, out);
    aphi_buffer_format(out, "%-11s %8s", "", "mutants");
    for (size_t k = APHI_MUTANT_BROKEN; k < COLUMNS; k++)
        aphi_buffer_format(out, " %8s", names[k]);
    aphi_buffer_byte(out, '\n');
    for (size_t o = 0; o < APHI_OPERATOR_COUNT; o++)
        if (!is_empty(by_operator[o]))
            add_row(out, aphi_operator_name((aphi_operator)o), by_operator[o]);
    add_row(out, "all", all);
    if (all[APHI_MUTANT_NONE] > 0)
        aphi_buffer_format(out, "%zu were not run\n", all[APHI_MUTANT_NONE]);
}

/* ---- JSON -------------------------------------------------------------------------------------------------------- */

static aph_value key(const char *name)
{
    aphi_buffer text = {0};
    for (; *name; name++)
        aphi_buffer_byte(&text, *name == ' ' ? '_' : *name);
    aph_value v = aph_str(aphi_buffer_text(&text));
    aphi_buffer_free(&text);
    return v;
}

static aph_value mutant_value(const aphi_mutation_report *f, size_t i)
{
    const aphi_mutant *m = &f->mutants->items[i];
    aphi_buffer identity = {0};
    aphi_mutant_identity(&identity, m);
    aph_value v = aph_put(aph_object(), "number", aph_int((int64_t)m->number));
    v = aph_put(v, "operator", aph_str(aphi_operator_name(m->operator)));
    v = aph_put(v, "line", aph_int(m->line));
    v = aph_put(v, "column", aph_int(m->column));
    v = aph_put(v, "function", aph_str(m->function));
    v = aph_put(v, "before", aph_str(m->before));
    v = aph_put(v, "after", aph_str(m->after));
    v = aph_put(v, "identity", aph_str(aphi_buffer_text(&identity)));
    aphi_buffer_free(&identity);
    if (!f->verdicts)
        return v;
    v = aph_put(v, "fate", key(names[fate_of(f, i)]));
    if (f->verdicts[i].fate == APHI_MUTANT_DUPLICATE)
        v = aph_put(v, "of", aph_int((int64_t)f->verdicts[i].twin));
    if (f->reasons[i])
        v = aph_put(v, "reason", aph_str(f->reasons[i]));
    return v;
}

void aphi_mutation_report_json(const aphi_mutation_report *f, aphi_buffer *out)
{
    size_t by_operator[APHI_OPERATOR_COUNT][COLUMNS] = {0}, all[COLUMNS] = {0};
    aph_value *list = aphi_alloc((f->mutants->n + 1) * sizeof *list), counts = aph_object();
    size_t n = 0;
    for (size_t i = 0; i < f->mutants->n; i++)
        if (f->chosen[i])
            list[n++] = mutant_value(f, i);
    aph_value v = aph_put(aph_put(aph_object(), "source", aph_str(f->path)), "mutants", aph_array(n, list));
    free(list);
    if (f->verdicts) {
        count(f, by_operator, all);
        for (size_t k = 0; k < COLUMNS; k++)
            counts = aph_set(counts, key(names[k]), aph_int((int64_t)all[k]));
        v = aph_put(v, "counts", counts);
    }
    char *text = aph_json_text(v, NULL);
    aphi_buffer_str(out, text);
    aphi_buffer_byte(out, '\n');
    free(text);
}
