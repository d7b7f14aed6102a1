/* SPDX-License-Identifier: Apache-2.0
 *
 * mutants.c - the list of mutants, their identities, sources and diffs; see mutants.h. */
#include "mutate/mutants.h"

#include "base/memory.h"
#include "mutate/cparser.h"

#include <stdlib.h>
#include <string.h>

enum { SHOWN_MAX = 72, CONTEXT = 3 };

static const struct {
    const char *name, *summary;
} operators[] = {
#define X(name, text, summary) {text, summary},
    APHI_OPERATORS(X)
#undef X
};

const char *aphi_operator_name(aphi_operator o) { return operators[o].name; }
const char *aphi_operator_summary(aphi_operator o) { return operators[o].summary; }

/* ---- one mutant -------------------------------------------------------------------------------------------------- */

static size_t lines_in(const char *text, size_t n)
{
    size_t lines = 0;
    for (size_t i = 0; i < n; i++)
        lines += text[i] == '\n';
    return lines;
}

static void shorten(aphi_buffer *b)
{
    if (b->n <= SHOWN_MAX)
        return;
    size_t n = SHOWN_MAX - 3;
    while (n > 0 && ((unsigned char)b->data[n] & 0xc0) == 0x80) /* do not cut inside a character */
        n--;
    b->n = n;
    aphi_buffer_str(b, "...");
}

/* Returns the text on one line, with single spaces and no comments. The caller frees it. */
static char *one_line(const char *text, size_t n)
{
    aphi_ctokens tokens;
    aphi_cerror error;
    aphi_buffer b = {0};
    bool gap = false;
    if (aphi_ctokens_read(text, n, &tokens, &error)) {
        for (size_t i = 0; i < tokens.n && b.n <= SHOWN_MAX; i++) {
            const aphi_ctoken *t = &tokens.items[i];
            if (t->kind == APHI_C_SPACE || t->kind == APHI_C_COMMENT) {
                gap = true;
                continue;
            }
            if (gap && b.n > 0)
                aphi_buffer_byte(&b, ' ');
            gap = false;
            for (size_t k = t->begin; k < t->end; k++)
                aphi_buffer_byte(&b, text[k] == '\n' ? ' ' : text[k]);
        }
        aphi_ctokens_free(&tokens);
    }
    shorten(&b);
    return aphi_buffer_text(&b);
}

/* Returns true if the byte may merge with an adjacent operator. */
static bool may_merge(const aphi_csource *s, size_t at) { return at < s->size && strchr("+-*/%&|^<>=!", s->text[at]); }

/* Returns the replacement, with spaces where it may merge with neighbours, and as many lines as the replaced text. */
static char *pad_replacement(const aphi_csource *s, size_t begin, size_t end, const char *text)
{
    aphi_buffer b = {0};
    size_t n = strlen(text), lines = lines_in(s->text + begin, end - begin);
    bool merges = n == 0 || strchr("+-*/%&|^<>=!", text[n - 1]) || strchr("+-*/%&|^<>=!", text[0]);
    if (n == 0 || (merges && begin > 0 && may_merge(s, begin - 1)))
        aphi_buffer_byte(&b, ' ');
    aphi_buffer_str(&b, text);
    if (n > 0 && merges && may_merge(s, end))
        aphi_buffer_byte(&b, ' ');
    for (size_t i = lines_in(text, n); i < lines; i++)
        aphi_buffer_byte(&b, '\n');
    return aphi_buffer_text(&b);
}

void aphi_mutants_add(aphi_mutants *mutants, const aphi_csource *s, aphi_operator operator, const char *function,
                      size_t begin, size_t end, const char *text)
{
    APHI_RESERVE(mutants->items, mutants->capacity, mutants->n + 1);
    mutants->items[mutants->n++] = (aphi_mutant){
        .number = mutants->n, .operator = operator, .begin = begin, .end = end,
        .text = pad_replacement(s, begin, end, text),
        .before = one_line(s->text + begin, end - begin),
        .after = one_line(text, strlen(text)),
        .function = aphi_copy(function, strlen(function) + 1),
    };
}

static void free_one(aphi_mutant *m)
{
    free(m->text);
    free(m->before);
    free(m->after);
    free(m->function);
}

void aphi_mutants_free(aphi_mutants *mutants)
{
    for (size_t i = 0; i < mutants->n; i++)
        free_one(&mutants->items[i]);
    free(mutants->items);
    *mutants = (aphi_mutants){0};
}

/* ---- all mutants ------------------------------------------------------------------------------------------------- */

static int compare(size_t a, size_t b) { return (a > b) - (a < b); }

static int by_place(const void *left, const void *right)
{
    const aphi_mutant *a = left, *b = right;
    int order = compare(a->begin, b->begin);
    if (!order)
        order = compare(a->operator, b->operator);
    return order ? order : compare(a->number, b->number);
}

static int by_text(const aphi_mutant *a, const aphi_mutant *b)
{
    int order = compare(a->begin, b->begin);
    if (!order)
        order = compare(a->end, b->end);
    return order ? order : strcmp(a->text, b->text);
}

static int by_identity(const aphi_mutant *a, const aphi_mutant *b)
{
    int order = compare(a->operator, b->operator);
    if (!order)
        order = strcmp(a->function, b->function);
    if (!order)
        order = strcmp(a->before, b->before);
    return order ? order : strcmp(a->after, b->after);
}

typedef int mutant_order(const aphi_mutant *a, const aphi_mutant *b);

/* For qsort_r; equal mutants stay in the order of their numbers. */
static int compare_pointers(const void *left, const void *right, void *by)
{
    const aphi_mutant *a = *(aphi_mutant *const *)left, *b = *(aphi_mutant *const *)right;
    int order = (*(mutant_order **)by)(a, b);
    return order ? order : compare(a->number, b->number);
}

static void renumber(aphi_mutants *mutants)
{
    for (size_t i = 0; i < mutants->n; i++)
        mutants->items[i].number = i + 1;
}

static aphi_mutant **sorted_pointers(const aphi_mutants *mutants, mutant_order *order)
{
    aphi_mutant **all = aphi_alloc((mutants->n + 1) * sizeof *all);
    for (size_t i = 0; i < mutants->n; i++)
        all[i] = &mutants->items[i];
    if (mutants->n > 0)
        qsort_r(all, mutants->n, sizeof *all, compare_pointers, &order);
    return all;
}

/* Drops mutants that another operator has already produced. The list is sorted by place. */
static void drop_duplicates(aphi_mutants *mutants)
{
    aphi_mutant **all = sorted_pointers(mutants, by_text);
    for (size_t i = 1; i < mutants->n; i++)
        if (by_text(all[i - 1], all[i]) == 0)
            all[i]->number = 0;
    free(all);
    size_t kept = 0;
    for (size_t i = 0; i < mutants->n; i++) {
        if (mutants->items[i].number > 0)
            mutants->items[kept++] = mutants->items[i];
        else
            free_one(&mutants->items[i]);
    }
    mutants->n = kept;
}

static void count_occurrences(aphi_mutants *mutants)
{
    aphi_mutant **all = sorted_pointers(mutants, by_identity);
    for (size_t i = 0; i < mutants->n; i++)
        all[i]->occurrence = i > 0 && by_identity(all[i - 1], all[i]) == 0 ? all[i - 1]->occurrence + 1 : 1;
    free(all);
}

static void set_positions(aphi_mutants *mutants, const char *text)
{
    size_t at = 0, begin = 0;
    unsigned line = 1;
    for (size_t i = 0; i < mutants->n; i++) {
        for (; at < mutants->items[i].begin; at++) {
            if (text[at] == '\n') {
                line++;
                begin = at + 1;
            }
        }
        mutants->items[i].line = line;
        mutants->items[i].column = (unsigned)(at - begin) + 1;
    }
}

bool aphi_mutants_find(const char *text, size_t size, aphi_mutants *mutants, aphi_cerror *error)
{
    aphi_csource source;
    *mutants = (aphi_mutants){0};
    if (!aphi_csource_open(&source, text, size, error))
        return false;
    aphi_cparse_source(&source, mutants);
    aphi_csource_close(&source);
    if (mutants->n > 0)
        qsort(mutants->items, mutants->n, sizeof *mutants->items, by_place);
    renumber(mutants);
    drop_duplicates(mutants);
    renumber(mutants);
    count_occurrences(mutants);
    set_positions(mutants, text);
    return true;
}

/* ---- sources, diffs, identities ---------------------------------------------------------------------------------- */

void aphi_mutant_write(aphi_buffer *out, const char *text, size_t size, const aphi_mutant *m)
{
    if (!m) {
        aphi_buffer_add(out, text, size);
        return;
    }
    aphi_buffer_add(out, text, m->begin);
    aphi_buffer_str(out, m->text);
    aphi_buffer_add(out, text + m->end, size - m->end);
}

/* Appends lines, each after a sign. */
static void add_lines(aphi_buffer *out, char sign, const char *text, size_t begin, size_t end)
{
    while (begin < end) {
        const char *newline = memchr(text + begin, '\n', end - begin);
        size_t next = newline ? (size_t)(newline - text) + 1 : end;
        aphi_buffer_byte(out, sign);
        aphi_buffer_add(out, text + begin, next - begin);
        if (!newline)
            aphi_buffer_str(out, "\n\\ No newline at end of file\n");
        begin = next;
    }
}

static size_t line_end(const char *text, size_t size, size_t at)
{
    const char *newline = at < size ? memchr(text + at, '\n', size - at) : NULL;
    return newline ? (size_t)(newline - text) + 1 : size;
}

static size_t line_begin(const char *text, size_t at)
{
    while (at > 0 && text[at - 1] != '\n')
        at--;
    return at;
}

void aphi_mutant_diff(aphi_buffer *out, const char *text, size_t size, const char *path, const aphi_mutant *m)
{
    aphi_buffer mutated = {0};
    aphi_mutant_write(&mutated, text, size, m);
    size_t begin = line_begin(text, m->begin), end = line_end(text, size, m->end > m->begin ? m->end - 1 : m->end);
    size_t from = begin, to = end, before = 0;
    for (; before < CONTEXT && from > 0; before++)
        from = line_begin(text, from - 1);
    for (size_t i = 0; i < CONTEXT && to < size; i++)
        to = line_end(text, size, to);
    size_t lines = lines_in(text + from, to - from) + (to > from && text[to - 1] != '\n');
    aphi_buffer_format(out, "--- %s\n+++ %s\n@@ -%zu,%zu +%zu,%zu @@\n", path, path, m->line - before, lines,
                       m->line - before, lines);
    add_lines(out, ' ', text, from, begin);
    add_lines(out, '-', text, begin, end);
    add_lines(out, '+', aphi_buffer_text(&mutated), begin, end + mutated.n - size);
    add_lines(out, ' ', text, end, to);
    aphi_buffer_free(&mutated);
}

void aphi_mutant_add_quoted(aphi_buffer *out, const char *text)
{
    aphi_buffer_byte(out, '"');
    for (; *text; text++) {
        if (*text == '"' || *text == '\\')
            aphi_buffer_byte(out, '\\');
        aphi_buffer_byte(out, *text);
    }
    aphi_buffer_byte(out, '"');
}

void aphi_mutant_identity(aphi_buffer *out, const aphi_mutant *m)
{
    aphi_buffer_format(out, "%s %s ", aphi_operator_name(m->operator), m->function);
    aphi_mutant_add_quoted(out, m->before);
    aphi_buffer_byte(out, ' ');
    aphi_mutant_add_quoted(out, m->after);
    aphi_buffer_format(out, " %zu", m->occurrence);
}
