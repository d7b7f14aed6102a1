/* SPDX-License-Identifier: Apache-2.0
 *
 * cexpressions.c - mutants of expressions, token by token; see cparser.h.
 *
 * There is no expression tree. The preceding word decides whether + is binary. If that word closes a bracket that may
 * be a cast or an operand, the operator is not mutated. */
#include "mutate/cparser.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char relational[] = "< <= > >= == !=";
static const char *const arithmetic[] = {"+ - * / %",         "& | ^",    "<< >>", "++ --",
                                         "+= -= *= /= %=", "&= |= ^=", "<<= >>="};

/* ---- operands ---------------------------------------------------------------------------------------------------- */

typedef enum ternary { NO, YES, MAYBE } ternary;

/* Returns whether the bracket contains a type. */
static ternary holds_type(const aphi_cparser *p, size_t open)
{
    const aphi_csource *s = p->s;
    size_t first = open + 1, close = s->match[open], last = close - 1;
    if (first == close)
        return NO;
    if (!aphi_csource_is_name(s, first))
        return aphi_cparse_is_declaration(p, first) ? YES : NO;
    if (aphi_cparse_find_variable(p, first) || aphi_cparse_is_enumerator(p, first))
        return NO;
    if (aphi_csource_is(s, last, "*"))
        return YES;
    if (first != last)
        return NO;
    const aphi_ctoken *t = aphi_csource_token(s, first);
    if (aphi_cparse_is_type(p, first) || (t->end - t->begin > 2 && !memcmp(s->text + t->end - 2, "_t", 2)) ||
        aphi_csource_among(s, close + 1, "{ ! ~") || aphi_csource_is_name(s, close + 1) ||
        aphi_csource_is_kind(s, close + 1, APHI_C_NUMBER))
        return YES;
    return MAYBE;
}

/* Returns whether the bracket is a cast or the type of a compound literal. */
static ternary is_cast(const aphi_cparser *p, size_t open)
{
    const aphi_csource *s = p->s;
    if (open > 0 && (aphi_csource_is_name(s, open - 1) || aphi_csource_among(s, open - 1, ") ]")))
        return NO;
    return holds_type(p, open);
}

/* Returns whether an operand ends with this word. */
static ternary ends_operand(const aphi_cparser *p, size_t i)
{
    const aphi_csource *s = p->s;
    while (i > 0 && aphi_csource_among(s, i, "++ --"))
        i--;
    if (aphi_csource_is(s, i, ")")) {
        size_t open = s->match[i];
        if (open > 0 && aphi_csource_among(s, open - 1, "if while for switch"))
            return NO;
        if (open > 0 && aphi_csource_among(s, open - 1, "sizeof _Alignof alignof"))
            return YES;
        ternary cast = is_cast(p, open);
        return cast == YES ? NO : cast == NO ? YES : MAYBE;
    }
    if (aphi_csource_is(s, i, "}"))
        return MAYBE; /* closes a compound literal if a type precedes it */
    return aphi_csource_is_name(s, i) || aphi_csource_is(s, i, "]") || aphi_csource_among(s, i, "true false") ||
           aphi_csource_is_kind(s, i, APHI_C_NUMBER) || aphi_csource_is_kind(s, i, APHI_C_STRING) ||
           aphi_csource_is_kind(s, i, APHI_C_CHARACTER);
}

/* ---- operators --------------------------------------------------------------------------------------------------- */

/* Replaces the word with each of the others. */
static void mutate_exchange(aphi_cparser *p, aphi_operator operator, size_t i, const char *others)
{
    for (const char *at = others; *at;) {
        char other[8] = "";
        size_t n = strcspn(at, " ");
        memcpy(other, at, n);
        if (!aphi_csource_is(p->s, i, other))
            aphi_cparse_add_mutant(p, operator, i, i + 1, other);
        at += n + (at[n] == ' ');
    }
}

static void mutate_operator(aphi_cparser *p, size_t from, size_t i)
{
    const aphi_csource *s = p->s;
    bool unary_or_binary = aphi_csource_among(s, i, "+ - * &");
    if (unary_or_binary && (i == from || ends_operand(p, i - 1) != YES))
        return;
    if (aphi_csource_among(s, i, relational))
        mutate_exchange(p, APHI_OPERATOR_RELATIONAL, i, relational);
    else if (aphi_csource_among(s, i, "&& ||"))
        mutate_exchange(p, APHI_OPERATOR_LOGICAL, i, "&& ||");
    else if (aphi_csource_is(s, i, "!"))
        aphi_cparse_add_mutant(p, APHI_OPERATOR_LOGICAL, i, i + 1, "");
    for (size_t k = 0; k < sizeof arithmetic / sizeof *arithmetic; k++)
        if (aphi_csource_among(s, i, arithmetic[k]))
            mutate_exchange(p, APHI_OPERATOR_ARITHMETIC, i, arithmetic[k]);
}

static void add_arm(const aphi_cparser *p, aphi_buffer *out, size_t from, size_t to)
{
    bool parenthesize = aphi_cparse_find(p, from, to, ", = += -= *= /= %= &= |= ^= <<= >>=") < to;
    aphi_buffer_str(out, parenthesize ? "(" : "");
    aphi_cparse_add_text(p, from, to, out);
    aphi_buffer_str(out, parenthesize ? ")" : "");
}

static void mutate_conditional(aphi_cparser *p, size_t i, size_t to)
{
    size_t colon = aphi_cparse_find_colon(p, i + 1, to);
    if (colon >= to || colon == i + 1)
        return;
    size_t comma = aphi_cparse_find(p, colon + 1, to, ", ;"), second = aphi_cparse_find_colon(p, colon + 1, comma);
    size_t end = second < comma ? second : comma;
    if (end == colon + 1 || aphi_csource_has_directive(p->s, i, end))
        return;
    aphi_buffer text = {0};
    add_arm(p, &text, colon + 1, end);
    aphi_buffer_str(&text, " : ");
    add_arm(p, &text, i + 1, colon);
    aphi_cparse_add_mutant(p, APHI_OPERATOR_ARMS, i + 1, end, aphi_buffer_text(&text));
    aphi_buffer_free(&text);
}

/* ---- constants --------------------------------------------------------------------------------------------------- */

static void add_constant(aphi_cparser *p, size_t i, bool negative, unsigned long long value, int base,
                         const char *suffix)
{
    char text[64];
    const char *format = base == 16 ? "0x%llx%s" : base == 8 && value > 0 ? "0%llo%s" : "%llu%s";
    int n = snprintf(text, sizeof text, negative ? "(-%llu%s)" : format, value, suffix);
    if (n > 0 && (size_t)n < sizeof text)
        aphi_cparse_add_mutant(p, APHI_OPERATOR_CONSTANT, i, i + 1, text);
}

static void mutate_number(aphi_cparser *p, size_t i)
{
    const aphi_ctoken *t = aphi_csource_token(p->s, i);
    char text[64], *end;
    size_t n = t->end - t->begin;
    if (n >= sizeof text || t->spliced)
        return;
    memcpy(text, p->s->text + t->begin, n);
    text[n] = '\0';
    int base = text[0] != '0' ? 10 : text[1] == 'x' || text[1] == 'X' ? 16 : 8;
    errno = 0;
    unsigned long long value = strtoull(text, &end, base);
    if (errno || end == text || strspn(end, "uUlL") != strlen(end))
        return; /* a floating constant, or an unknown suffix */
    if (value != 0)
        add_constant(p, i, false, 0, 10, end);
    if (value != 1)
        add_constant(p, i, false, 1, 10, end);
    add_constant(p, i, true, 1, 10, end);
    if (value > 0 && value + 1 > value)
        add_constant(p, i, false, value + 1, base, end);
    if (value > 2)
        add_constant(p, i, false, value - 1, base, end);
}

/* ---- names ------------------------------------------------------------------------------------------------------- */

static void replace_word(aphi_cparser *p, aphi_operator operator, size_t i, size_t other)
{
    aphi_buffer text = {0};
    aphi_cparse_add_text(p, other, other + 1, &text);
    aphi_cparse_add_mutant(p, operator, i, i + 1, aphi_buffer_text(&text));
    aphi_buffer_free(&text);
}

static void mutate_variable(aphi_cparser *p, size_t i)
{
    const aphi_cvariable *v = aphi_cparse_find_variable(p, i);
    if (!v || !v->type)
        return;
    for (size_t k = 0; k < p->variable_count; k++) {
        const aphi_cvariable *other = &p->variables[k];
        if (other->type && other->local == v->local && !strcmp(other->type, v->type) &&
            !aphi_csource_same(p->s, other->word, i) && aphi_cparse_find_variable(p, other->word) == other)
            replace_word(p, APHI_OPERATOR_VARIABLE, i, other->word);
    }
}

/* Returns the group of fields of the struct in a type, possibly a pointer or an array; 0 if unknown or ambiguous. */
static size_t group_of_type(const aphi_cparser *p, const char *type)
{
    static const char *const prefixes[] = {"const ", "struct ", "union "};
    size_t found = 0;
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
        if (!strncmp(type, prefixes[i], strlen(prefixes[i])))
            type += strlen(prefixes[i]);
    size_t n = strcspn(type, " *[");
    for (size_t i = 0; i < p->structs.n; i++) {
        const aphi_ctoken *t = aphi_csource_token(p->s, p->structs.items[i].word);
        if (t->end - t->begin != n || memcmp(p->s->text + t->begin, type, n) != 0)
            continue;
        if (found && found != p->structs.items[i].group)
            return 0;
        found = p->structs.items[i].group;
    }
    return found;
}

/* Returns the group of the field at i if it belongs to a variable or to an element of an array variable; else 0. */
static size_t group_of_field(const aphi_cparser *p, size_t from, size_t i)
{
    size_t base = i - 2;
    if (base < from || base >= i)
        return 0;
    while (base > from && aphi_csource_is(p->s, base, "]") && p->s->match[base] > from)
        base = p->s->match[base] - 1;
    if (!aphi_csource_is_name(p->s, base) || (base > from && aphi_csource_among(p->s, base - 1, ". ->")))
        return 0;
    const aphi_cvariable *v = aphi_cparse_find_variable(p, base);
    return v && v->type ? group_of_type(p, v->type) : 0;
}

/* Returns the member with that name, in the group if it is not 0; NULL if there is none or it is ambiguous. */
static const aphi_cmember *find_member(const aphi_cparser *p, const aphi_cmembers *all, size_t i, size_t group)
{
    const aphi_cmember *found = NULL;
    for (size_t k = 0; k < all->n; k++) {
        const aphi_cmember *m = &all->items[k];
        if (!aphi_csource_same(p->s, m->word, i) || (group && m->group != group))
            continue;
        if (found)
            return NULL;
        found = m;
    }
    return found;
}

static void mutate_member(aphi_cparser *p, aphi_operator operator, size_t i, size_t group, const aphi_cmembers *all)
{
    const aphi_cmember *is = find_member(p, all, i, group);
    for (size_t k = 0; is && k < all->n; k++) {
        const aphi_cmember *m = &all->items[k];
        bool same_type = is->type ? m->type && !strcmp(is->type, m->type) : operator == APHI_OPERATOR_ENUMERATOR;
        if (m != is && m->group == is->group && same_type)
            replace_word(p, operator, i, m->word);
    }
}

static void mutate_name(aphi_cparser *p, size_t from, size_t i)
{
    const aphi_csource *s = p->s;
    bool selected = i > from && aphi_csource_among(s, i - 1, ". ->");
    bool designator = selected && i - 1 > from && aphi_csource_among(s, i - 2, "{ ,");
    if (selected && !designator)
        mutate_member(p, APHI_OPERATOR_FIELD, i, group_of_field(p, from, i), &p->fields);
    if (selected || (i > from && aphi_csource_among(s, i - 1, "sizeof goto")))
        return;
    if (aphi_cparse_find_variable(p, i))
        mutate_variable(p, i);
    else if (!aphi_csource_is(s, i + 1, "("))
        mutate_member(p, APHI_OPERATOR_ENUMERATOR, i, 0, &p->enumerators);
}

/* ---- expressions ------------------------------------------------------------------------------------------------- */

/* Returns the closing word of a bracket that contains no expression; else i. */
static size_t skip_bracket(aphi_cparser *p, size_t i)
{
    const aphi_csource *s = p->s;
    if (!aphi_csource_is(s, i, "("))
        return i;
    if (aphi_csource_is(s, i + 1, "{")) { /* statements inside an expression */
        aphi_cparse_block(p, i + 2, s->match[i + 1]);
        return s->match[i];
    }
    bool of_type = i > 0 && aphi_csource_among(s, i - 1, "sizeof _Alignof alignof typeof __typeof__ __attribute__");
    return (of_type ? holds_type(p, i) : is_cast(p, i)) == YES ? s->match[i] : i;
}

void aphi_cparse_expression(aphi_cparser *p, size_t from, size_t to)
{
    const aphi_csource *s = p->s;
    if (to > s->n)
        to = s->n;
    for (size_t i = from; i < to; i++) {
        size_t close = skip_bracket(p, i);
        if (close != i) {
            i = close;
            continue;
        }
        if (aphi_csource_is_kind(s, i, APHI_C_NUMBER))
            mutate_number(p, i);
        else if (aphi_csource_among(s, i, "true false"))
            mutate_exchange(p, APHI_OPERATOR_CONSTANT, i, "true false");
        else if (aphi_csource_is_name(s, i))
            mutate_name(p, from, i);
        else if (aphi_csource_is(s, i, "?"))
            mutate_conditional(p, i, to);
        else if (aphi_csource_is_kind(s, i, APHI_C_PUNCTUATOR))
            mutate_operator(p, from, i);
    }
}
