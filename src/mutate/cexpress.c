/* SPDX-License-Identifier: Apache-2.0
 *
 * cexpress.c - mutants of expressions, token by token; see walker.h.
 *
 * There is no tree of expressions: that + stands between two operands is seen from the word before it. Where that word
 * closes a bracket which may be a cast as well as an operand, nothing is changed. */
#include "mutate/walker.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char relational[] = "< <= > >= == !=";
static const char *const arithmetic[] = {"+ - * / %",         "& | ^",    "<< >>", "++ --",
                                         "+= -= *= /= %=", "&= |= ^=", "<<= >>="};

/* ---- operands ---------------------------------------------------------------------------------------------------- */

typedef enum answer { NO, YES, MAYBE } answer;

/* Does the bracket hold a type? */
static answer holds_type(const aphi_walker *w, size_t open)
{
    const aphi_csource *s = w->s;
    size_t first = open + 1, close = s->match[open], last = close - 1;
    if (first == close)
        return NO;
    if (!aphi_csource_is_name(s, first))
        return aphi_walk_is_declaration(w, first) ? YES : NO;
    if (aphi_walk_variable(w, first) || aphi_walk_is_enumerator(w, first))
        return NO;
    if (aphi_csource_is(s, last, "*"))
        return YES;
    if (first != last)
        return NO;
    const aphi_ctoken *t = aphi_csource_token(s, first);
    if (aphi_walk_is_type(w, first) || (t->end - t->begin > 2 && !memcmp(s->text + t->end - 2, "_t", 2)) ||
        aphi_csource_among(s, close + 1, "{ ! ~") || aphi_csource_is_name(s, close + 1) ||
        aphi_csource_is_kind(s, close + 1, APHI_C_NUMBER))
        return YES;
    return MAYBE;
}

/* Is the bracket a cast's, or the type of a literal? */
static answer is_cast(const aphi_walker *w, size_t open)
{
    const aphi_csource *s = w->s;
    if (open > 0 && (aphi_csource_is_name(s, open - 1) || aphi_csource_among(s, open - 1, ") ]")))
        return NO;
    return holds_type(w, open);
}

/* Does an operand end with this word? */
static answer ends_operand(const aphi_walker *w, size_t i)
{
    const aphi_csource *s = w->s;
    while (i > 0 && aphi_csource_among(s, i, "++ --"))
        i--;
    if (aphi_csource_is(s, i, ")")) {
        size_t open = s->match[i];
        if (open > 0 && aphi_csource_among(s, open - 1, "if while for switch"))
            return NO;
        if (open > 0 && aphi_csource_among(s, open - 1, "sizeof _Alignof alignof"))
            return YES;
        answer cast = is_cast(w, open);
        return cast == YES ? NO : cast == NO ? YES : MAYBE;
    }
    if (aphi_csource_is(s, i, "}"))
        return MAYBE; /* of a literal, if its type is before it */
    return aphi_csource_is_name(s, i) || aphi_csource_is(s, i, "]") || aphi_csource_among(s, i, "true false") ||
           aphi_csource_is_kind(s, i, APHI_C_NUMBER) || aphi_csource_is_kind(s, i, APHI_C_STRING) ||
           aphi_csource_is_kind(s, i, APHI_C_CHARACTER);
}

/* ---- operators --------------------------------------------------------------------------------------------------- */

/* Each of the others. */
static void exchange(aphi_walker *w, aphi_operator operator, size_t i, const char *others)
{
    for (const char *at = others; *at;) {
        char other[8] = "";
        size_t n = strcspn(at, " ");
        memcpy(other, at, n);
        if (!aphi_csource_is(w->s, i, other))
            aphi_walk_found(w, operator, i, i + 1, other);
        at += n + (at[n] == ' ');
    }
}

static void operator_at(aphi_walker *w, size_t from, size_t i)
{
    const aphi_csource *s = w->s;
    bool either = aphi_csource_among(s, i, "+ - * &"); /* with one operand or with two */
    if (either && (i == from || ends_operand(w, i - 1) != YES))
        return;
    if (aphi_csource_among(s, i, relational))
        exchange(w, APHI_OPERATOR_RELATIONAL, i, relational);
    else if (aphi_csource_among(s, i, "&& ||"))
        exchange(w, APHI_OPERATOR_LOGICAL, i, "&& ||");
    else if (aphi_csource_is(s, i, "!"))
        aphi_walk_found(w, APHI_OPERATOR_LOGICAL, i, i + 1, "");
    for (size_t k = 0; k < sizeof arithmetic / sizeof *arithmetic; k++)
        if (aphi_csource_among(s, i, arithmetic[k]))
            exchange(w, APHI_OPERATOR_ARITHMETIC, i, arithmetic[k]);
}

static void add_arm(const aphi_walker *w, aphi_buffer *out, size_t from, size_t to)
{
    bool loose = aphi_walk_next(w, from, to, ", = += -= *= /= %= &= |= ^= <<= >>=") < to;
    aphi_buffer_str(out, loose ? "(" : "");
    aphi_walk_text(w, from, to, out);
    aphi_buffer_str(out, loose ? ")" : "");
}

static void question(aphi_walker *w, size_t i, size_t to)
{
    size_t colon = aphi_walk_colon(w, i + 1, to);
    if (colon >= to || colon == i + 1)
        return;
    size_t comma = aphi_walk_next(w, colon + 1, to, ", ;"), second = aphi_walk_colon(w, colon + 1, comma);
    size_t end = second < comma ? second : comma;
    if (end == colon + 1 || aphi_csource_has_directive(w->s, i, end))
        return;
    aphi_buffer text = {0};
    add_arm(w, &text, colon + 1, end);
    aphi_buffer_str(&text, " : ");
    add_arm(w, &text, i + 1, colon);
    aphi_walk_found(w, APHI_OPERATOR_ARMS, i + 1, end, aphi_buffer_text(&text));
    aphi_buffer_free(&text);
}

/* ---- constants --------------------------------------------------------------------------------------------------- */

static void constant(aphi_walker *w, size_t i, bool negative, unsigned long long value, int base, const char *suffix)
{
    char text[64];
    const char *format = base == 16 ? "0x%llx%s" : base == 8 && value > 0 ? "0%llo%s" : "%llu%s";
    int n = snprintf(text, sizeof text, negative ? "(-%llu%s)" : format, value, suffix);
    if (n > 0 && (size_t)n < sizeof text)
        aphi_walk_found(w, APHI_OPERATOR_CONSTANT, i, i + 1, text);
}

static void number(aphi_walker *w, size_t i)
{
    const aphi_ctoken *t = aphi_csource_token(w->s, i);
    char text[64], *end;
    size_t n = t->end - t->begin;
    if (n >= sizeof text || t->spliced)
        return;
    memcpy(text, w->s->text + t->begin, n);
    text[n] = '\0';
    int base = text[0] != '0' ? 10 : text[1] == 'x' || text[1] == 'X' ? 16 : 8;
    errno = 0;
    unsigned long long value = strtoull(text, &end, base);
    if (errno || end == text || strspn(end, "uUlL") != strlen(end))
        return; /* a fraction, or none that we know */
    if (value != 0)
        constant(w, i, false, 0, 10, end);
    if (value != 1)
        constant(w, i, false, 1, 10, end);
    constant(w, i, true, 1, 10, end);
    if (value > 0 && value + 1 > value)
        constant(w, i, false, value + 1, base, end);
    if (value > 2)
        constant(w, i, false, value - 1, base, end);
}

/* ---- names ------------------------------------------------------------------------------------------------------- */

static void found_word(aphi_walker *w, aphi_operator operator, size_t i, size_t other)
{
    aphi_buffer text = {0};
    aphi_walk_text(w, other, other + 1, &text);
    aphi_walk_found(w, operator, i, i + 1, aphi_buffer_text(&text));
    aphi_buffer_free(&text);
}

static void variable(aphi_walker *w, size_t i)
{
    const aphi_cvariable *v = aphi_walk_variable(w, i);
    if (!v || !v->type)
        return;
    for (size_t k = 0; k < w->variable_count; k++) {
        const aphi_cvariable *other = &w->variables[k];
        if (other->type && other->local == v->local && !strcmp(other->type, v->type) &&
            !aphi_csource_same(w->s, other->word, i) && aphi_walk_variable(w, other->word) == other)
            found_word(w, APHI_OPERATOR_VARIABLE, i, other->word);
    }
}

/* The group of fields of a struct that a variable is, points to or has many of, by its type; 0: not known. */
static size_t group_of_type(const aphi_walker *w, const char *type)
{
    static const char *const before[] = {"const ", "struct ", "union "};
    size_t found = 0;
    for (size_t i = 0; i < sizeof before / sizeof *before; i++)
        if (!strncmp(type, before[i], strlen(before[i])))
            type += strlen(before[i]);
    size_t n = strcspn(type, " *[");
    for (size_t i = 0; i < w->struct_count; i++) {
        const aphi_ctoken *t = aphi_csource_token(w->s, w->structs[i].word);
        if (t->end - t->begin != n || memcmp(w->s->text + t->begin, type, n) != 0)
            continue;
        if (found && found != w->structs[i].group)
            return 0;
        found = w->structs[i].group;
    }
    return found;
}

/* The same of the field at i, if what it is selected from is a plain variable, or an element of one. */
static size_t group_selected(const aphi_walker *w, size_t from, size_t i)
{
    size_t base = i - 2;
    if (base < from || base >= i)
        return 0;
    while (base > from && aphi_csource_is(w->s, base, "]") && w->s->match[base] > from)
        base = w->s->match[base] - 1;
    if (!aphi_csource_is_name(w->s, base) || (base > from && aphi_csource_among(w->s, base - 1, ". ->")))
        return 0;
    const aphi_cvariable *v = aphi_walk_variable(w, base);
    return v && v->type ? group_of_type(w, v->type) : 0;
}

/* The member of that name, in that group if it is not 0; NULL: there is none, or it is not clear which. */
static const aphi_cmember *member(const aphi_walker *w, const aphi_cmember *all, size_t n, size_t i, size_t group)
{
    const aphi_cmember *found = NULL;
    for (size_t k = 0; k < n; k++) {
        if (!aphi_csource_same(w->s, all[k].word, i) || (group && all[k].group != group))
            continue;
        if (found)
            return NULL;
        found = &all[k];
    }
    return found;
}

static void exchange_members(aphi_walker *w, aphi_operator operator, size_t i, size_t group, const aphi_cmember *all,
                             size_t n)
{
    const aphi_cmember *is = member(w, all, n, i, group);
    for (size_t k = 0; is && k < n; k++) {
        bool same_type = is->type ? all[k].type && !strcmp(is->type, all[k].type)
                                  : operator == APHI_OPERATOR_ENUMERATOR;
        if (&all[k] != is && all[k].group == is->group && same_type)
            found_word(w, operator, i, all[k].word);
    }
}

static void name(aphi_walker *w, size_t from, size_t i)
{
    const aphi_csource *s = w->s;
    bool selected = i > from && aphi_csource_among(s, i - 1, ". ->");
    bool designator = selected && i - 1 > from && aphi_csource_among(s, i - 2, "{ ,");
    if (selected && !designator)
        exchange_members(w, APHI_OPERATOR_FIELD, i, group_selected(w, from, i), w->fields, w->field_count);
    if (selected || (i > from && aphi_csource_among(s, i - 1, "sizeof goto")))
        return;
    if (aphi_walk_variable(w, i))
        variable(w, i);
    else if (!aphi_csource_is(s, i + 1, "("))
        exchange_members(w, APHI_OPERATOR_ENUMERATOR, i, 0, w->enumerators, w->enumerator_count);
}

/* ---- all of it --------------------------------------------------------------------------------------------------- */

/* A bracket whose inside is no expression: the word that closes it; else i. */
static size_t past_other(aphi_walker *w, size_t i)
{
    const aphi_csource *s = w->s;
    if (!aphi_csource_is(s, i, "("))
        return i;
    if (aphi_csource_is(s, i + 1, "{")) { /* statements inside an expression */
        aphi_walk_block(w, i + 2, s->match[i + 1]);
        return s->match[i];
    }
    bool of_type = i > 0 && aphi_csource_among(s, i - 1, "sizeof _Alignof alignof typeof __typeof__ __attribute__");
    return (of_type ? holds_type(w, i) : is_cast(w, i)) == YES ? s->match[i] : i;
}

void aphi_walk_expression(aphi_walker *w, size_t from, size_t to)
{
    const aphi_csource *s = w->s;
    if (to > s->n)
        to = s->n;
    for (size_t i = from; i < to; i++) {
        size_t other = past_other(w, i);
        if (other != i) {
            i = other;
            continue;
        }
        if (aphi_csource_is_kind(s, i, APHI_C_NUMBER))
            number(w, i);
        else if (aphi_csource_among(s, i, "true false"))
            exchange(w, APHI_OPERATOR_CONSTANT, i, "true false");
        else if (aphi_csource_is_name(s, i))
            name(w, from, i);
        else if (aphi_csource_is(s, i, "?"))
            question(w, i, to);
        else if (aphi_csource_is_kind(s, i, APHI_C_PUNCTUATOR))
            operator_at(w, from, i);
    }
}
