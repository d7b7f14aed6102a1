/* SPDX-License-Identifier: Apache-2.0
 *
 * cstatement.c - functions, blocks and statements, and their mutants; see walker.h. */
#include "mutate/walker.h"

#include "base/memory.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static size_t statement(aphi_walker *w, size_t i, size_t end);

/* ---- pieces of the source ---------------------------------------------------------------------------------------- */

void aphi_walk_found(aphi_walker *w, aphi_operator operator, size_t from, size_t to, const char *text)
{
    size_t begin = aphi_csource_token(w->s, from)->begin, end = aphi_csource_token(w->s, to - 1)->end;
    if (end - begin != strlen(text) || memcmp(w->s->text + begin, text, end - begin) != 0)
        aphi_mutants_add(w->out, w->s, operator, w->function ? w->function : "-", begin, end, text);
}

void aphi_walk_text(const aphi_walker *w, size_t from, size_t to, aphi_buffer *out)
{
    size_t begin = aphi_csource_token(w->s, from)->begin;
    aphi_buffer_add(out, w->s->text + begin, aphi_csource_token(w->s, to - 1)->end - begin);
}

size_t aphi_walk_next(const aphi_walker *w, size_t from, size_t to, const char *spellings)
{
    for (size_t i = from; i < to; i++) {
        if (aphi_csource_among(w->s, i, spellings))
            return i;
        if (w->s->match[i] > i)
            i = w->s->match[i];
        else if (w->s->match[i] < i)
            return i < to ? i : to; /* the bracket around ends here */
    }
    return to;
}

size_t aphi_walk_colon(const aphi_walker *w, size_t from, size_t to)
{
    size_t questions = 0;
    for (size_t i = from; (i = aphi_walk_next(w, i, to, "? : ; ,")) < to; i++) {
        if (aphi_csource_is(w->s, i, ":") && questions-- == 0)
            return i;
        if (aphi_csource_is(w->s, i, "?"))
            questions++;
        else if (!aphi_csource_among(w->s, i, ": ,"))
            return to;
    }
    return to;
}

/* ---- mutants of statements --------------------------------------------------------------------------------------- */

static void deleted(aphi_walker *w, size_t from, size_t to)
{
    if (!aphi_csource_has_directive(w->s, from, to))
        aphi_walk_found(w, APHI_OPERATOR_DELETE, from, to, ";");
}

/* Would another mutant say the same? A single comparison is turned round by its operator, a single ! is left out. */
static bool is_negated_elsewhere(const aphi_walker *w, size_t from, size_t to)
{
    static const char binary[] = "&& || ? , = + - * / % & | ^ << >> += -= *= /= %= &= |= ^= <<= >>=";
    static const char relations[] = "< <= > >= == !=";
    if (aphi_csource_is(w->s, from, "!"))
        return aphi_walk_next(w, from, to, binary) == to && aphi_walk_next(w, from, to, relations) == to;
    size_t relation = aphi_walk_next(w, from, to, relations);
    return relation < to && aphi_walk_next(w, from, to, "&& || ? , = & | ^") == to &&
           aphi_walk_next(w, relation + 1, to, relations) == to;
}

static void negated(aphi_walker *w, aphi_operator operator, size_t from, size_t to)
{
    aphi_buffer text = {0};
    aphi_buffer_str(&text, "!(");
    aphi_walk_text(w, from, to, &text);
    aphi_buffer_str(&text, ")");
    aphi_walk_found(w, operator, from, to, aphi_buffer_text(&text));
    aphi_buffer_free(&text);
}

static void condition(aphi_walker *w, size_t from, size_t to, bool negate)
{
    if (from >= to)
        return;
    aphi_walk_expression(w, from, to);
    if (negate && !is_negated_elsewhere(w, from, to) && !aphi_csource_has_directive(w->s, from, to))
        negated(w, APHI_OPERATOR_LOGICAL, from, to);
}

/* In braces, so that an else stays with its if. */
static void add_arm(const aphi_walker *w, aphi_buffer *out, size_t from, size_t to)
{
    bool block = aphi_csource_is(w->s, from, "{") && w->s->match[from] == to - 1;
    aphi_buffer_str(out, block ? "" : "{ ");
    aphi_walk_text(w, from, to, out);
    aphi_buffer_str(out, block ? "" : " }");
}

static void exchanged(aphi_walker *w, size_t first, size_t second, size_t end)
{
    aphi_buffer text = {0};
    if (second >= end || aphi_csource_has_directive(w->s, first, end))
        return;
    add_arm(w, &text, second, end);
    /* What was between them, which is else with the space around it, stays between them. */
    size_t begin = aphi_csource_token(w->s, second - 2)->end, until = aphi_csource_token(w->s, second)->begin;
    aphi_buffer_add(&text, w->s->text + begin, until - begin);
    add_arm(w, &text, first, second - 1);
    aphi_walk_found(w, APHI_OPERATOR_ARMS, first, end, aphi_buffer_text(&text));
    aphi_buffer_free(&text);
}

static void exchange_labels(aphi_walker *w, const size_t first[2], const size_t second[2])
{
    aphi_buffer text = {0};
    if (aphi_csource_has_directive(w->s, first[0], second[1]))
        return;
    aphi_walk_text(w, second[0], second[1], &text);
    size_t begin = aphi_csource_token(w->s, first[1] - 1)->end, until = aphi_csource_token(w->s, second[0])->begin;
    aphi_buffer_add(&text, w->s->text + begin, until - begin);
    aphi_walk_text(w, first[0], first[1], &text);
    aphi_walk_found(w, APHI_OPERATOR_ARMS, first[0], second[1], aphi_buffer_text(&text));
    aphi_buffer_free(&text);
}

/* Neighbouring labels of a switch, unless they are of one arm. */
static void cases(aphi_walker *w, size_t from, size_t to)
{
    size_t before[2] = {SIZE_MAX, SIZE_MAX}; /* the last label: its first word, and its colon */
    for (size_t i = from; (i = aphi_walk_next(w, i, to, "case default")) < to; i++) {
        size_t label[2] = {i, aphi_walk_colon(w, i, to)};
        if (label[1] >= to)
            return;
        if (before[0] != SIZE_MAX && before[1] + 1 < i)
            exchange_labels(w, before, label);
        memcpy(before, label, sizeof before);
        i = label[1];
    }
}

static void returned(aphi_walker *w, size_t from, size_t to)
{
    const char *type = w->returns ? w->returns : "void";
    bool is_bool = !strcmp(type, "bool") || !strcmp(type, "_Bool"), is_pointer = strchr(type, '*');
    if (!strcmp(type, "void") || aphi_csource_has_directive(w->s, from, to))
        return;
    aphi_walk_found(w, APHI_OPERATOR_RETURN, from, to, is_bool ? "false" : "0");
    if (!is_pointer)
        aphi_walk_found(w, APHI_OPERATOR_RETURN, from, to, is_bool ? "true" : "1");
    if (is_bool && !aphi_csource_among(w->s, from, "true false"))
        negated(w, APHI_OPERATOR_RETURN, from, to);
    else if (!is_bool && !is_pointer && !(to == from + 2 && aphi_csource_is(w->s, from, "-") &&
                                          aphi_csource_is(w->s, from + 1, "1")))
        aphi_walk_found(w, APHI_OPERATOR_RETURN, from, to, "(-1)");
}

/* ---- statements: each function begins at its first word, and returns the word behind it -------------------------- */

/* What is not understood: up to its end, and nothing in it is changed. */
static size_t skipped(const aphi_walker *w, size_t i, size_t end)
{
    size_t semicolon = aphi_walk_next(w, i, end, ";");
    return semicolon < end ? semicolon + 1 : end;
}

static size_t if_statement(aphi_walker *w, size_t i, size_t end)
{
    size_t close = w->s->match[i + 1], then = close + 1, after = statement(w, then, end), otherwise = after;
    bool has_else = after < end && aphi_csource_is(w->s, after, "else");
    if (has_else)
        after = statement(w, ++otherwise, end);
    condition(w, i + 2, close, !has_else); /* with else, to negate it is to exchange the arms */
    if (has_else)
        exchanged(w, then, otherwise, after);
    if (then < end)
        deleted(w, i, after);
    return after;
}

static size_t while_statement(aphi_walker *w, size_t i, size_t end)
{
    size_t close = w->s->match[i + 1];
    condition(w, i + 2, close, true);
    size_t after = statement(w, close + 1, end);
    if (close + 1 < end)
        deleted(w, i, after);
    return after;
}

static size_t switch_statement(aphi_walker *w, size_t i, size_t end)
{
    size_t close = w->s->match[i + 1], body = close + 1;
    condition(w, i + 2, close, false);
    size_t after = statement(w, body, end);
    if (body < end && aphi_csource_is(w->s, body, "{"))
        cases(w, body + 1, w->s->match[body]);
    if (body < end)
        deleted(w, i, after);
    return after;
}

static size_t do_statement(aphi_walker *w, size_t i, size_t end)
{
    size_t after = statement(w, i + 1, end);
    if (!aphi_csource_is(w->s, after, "while") || !aphi_csource_is(w->s, after + 1, "("))
        return after;
    size_t close = w->s->match[after + 1];
    condition(w, after + 2, close, true);
    if (close + 1 >= end || !aphi_csource_is(w->s, close + 1, ";"))
        return close + 1;
    deleted(w, i, close + 2);
    return close + 2;
}

static size_t for_statement(aphi_walker *w, size_t i, size_t end)
{
    aphi_chead none;
    size_t open = i + 1, close = w->s->match[open], scope = w->variable_count;
    size_t first = aphi_walk_next(w, open + 1, close, ";"), second = aphi_walk_next(w, first + 1, close, ";");
    if (first >= close || second >= close)
        return statement(w, close + 1, end); /* a macro, perhaps */
    if (aphi_walk_is_declaration(w, open + 1))
        aphi_walk_declaration(w, open + 1, first + 1, APHI_C_BLOCK, &none);
    else
        aphi_walk_expression(w, open + 1, first);
    condition(w, first + 1, second, true);
    aphi_walk_expression(w, second + 1, close);
    size_t after = statement(w, close + 1, end);
    aphi_walk_leave(w, scope);
    if (close + 1 < end)
        deleted(w, i, after);
    return after;
}

static size_t return_statement(aphi_walker *w, size_t i, size_t end)
{
    size_t semicolon = aphi_walk_next(w, i, end, ";");
    if (semicolon >= end || !aphi_csource_is(w->s, semicolon, ";"))
        return end;
    if (semicolon == i + 1) {
        deleted(w, i, semicolon + 1);
    } else {
        aphi_walk_expression(w, i + 1, semicolon);
        returned(w, i + 1, semicolon);
    }
    return semicolon + 1;
}

/* An expression, a jump, or the use of a macro that looks like a loop or like nothing. */
static size_t simple_statement(aphi_walker *w, size_t i, size_t end)
{
    const aphi_csource *s = w->s;
    if (aphi_csource_is_name(s, i) && aphi_csource_is(s, i + 1, "(") && aphi_csource_is(s, s->match[i + 1] + 1, "{")) {
        aphi_walk_expression(w, i + 1, s->match[i + 1]);
        return statement(w, s->match[i + 1] + 1, end);
    }
    size_t semicolon = aphi_walk_next(w, i, end, ";");
    if (semicolon >= end || !aphi_csource_is(s, semicolon, ";"))
        return end;
    aphi_walk_expression(w, i, semicolon);
    deleted(w, i, semicolon + 1);
    return semicolon + 1;
}

/* Labels and attributes before a statement. */
static size_t past_labels(aphi_walker *w, size_t i, size_t end)
{
    const aphi_csource *s = w->s;
    while (i < end) {
        size_t colon = aphi_walk_colon(w, i, end);
        if (aphi_csource_among(s, i, "case default") && colon < end) {
            aphi_walk_expression(w, i + 1, colon);
            i = colon + 1;
        } else if (aphi_csource_is_name(s, i) && aphi_csource_is(s, i + 1, ":")) {
            i += 2;
        } else if (aphi_csource_among(s, i, "_Pragma __attribute__") && aphi_csource_is(s, i + 1, "(")) {
            i = s->match[i + 1] + 1;
        } else if (aphi_csource_is(s, i, "[") && aphi_csource_is(s, i + 1, "[")) {
            i = s->match[i] + 1;
        } else {
            break;
        }
    }
    return i;
}

static size_t begun_statement(aphi_walker *w, size_t i, size_t end)
{
    static const struct {
        const char *word;
        size_t (*read)(aphi_walker *w, size_t i, size_t end);
    } kinds[] = {{"if", if_statement}, {"while", while_statement}, {"for", for_statement},
                 {"switch", switch_statement}};
    aphi_chead none;
    const aphi_csource *s = w->s;
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
        if (aphi_csource_is(s, i, kinds[k].word))
            return aphi_csource_is(s, i + 1, "(") ? kinds[k].read(w, i, end) : skipped(w, i, end);
    if (aphi_csource_is(s, i, "{")) {
        aphi_walk_block(w, i + 1, s->match[i]);
        return s->match[i] + 1;
    }
    if (aphi_csource_is(s, i, ";"))
        return i + 1;
    if (aphi_csource_is(s, i, "do"))
        return do_statement(w, i, end);
    if (aphi_csource_is(s, i, "return"))
        return return_statement(w, i, end);
    if (aphi_csource_among(s, i, "asm __asm__ _Static_assert static_assert else case default"))
        return skipped(w, i, end);
    if (aphi_walk_is_declaration(w, i))
        return aphi_walk_declaration(w, i, end, APHI_C_BLOCK, &none);
    return simple_statement(w, i, end);
}

static size_t statement(aphi_walker *w, size_t i, size_t end)
{
    i = past_labels(w, i, end);
    if (i >= end)
        return end;
    if (w->depth >= APHI_WALK_DEPTH)
        return end;
    w->depth++;
    size_t next = begun_statement(w, i, end);
    w->depth--;
    return next;
}

void aphi_walk_block(aphi_walker *w, size_t from, size_t to)
{
    size_t scope = w->variable_count;
    while (from < to)
        from = statement(w, from, to);
    aphi_walk_leave(w, scope);
}

/* ---- the source -------------------------------------------------------------------------------------------------- */

/* Its body is the block that begins with this word. */
static void function(aphi_walker *w, const aphi_chead *head, size_t body)
{
    aphi_buffer called = {0};
    aphi_chead none;
    size_t scope = w->variable_count, close = w->s->match[head->parameters];
    aphi_walk_text(w, head->name, head->name + 1, &called);
    w->function = aphi_buffer_text(&called);
    w->returns = head->returns;
    for (size_t i = head->parameters + 1; i < close;) {
        size_t comma = aphi_walk_next(w, i, close, ",");
        if (i < comma)
            aphi_walk_declaration(w, i, comma, APHI_C_PARAMETER, &none);
        i = comma + 1;
    }
    aphi_walk_block(w, body + 1, w->s->match[body]);
    aphi_walk_leave(w, scope);
    aphi_buffer_free(&called);
    w->function = w->returns = NULL;
}

void aphi_walk_source(const aphi_csource *s, aphi_mutants *out)
{
    aphi_walker w = {.s = s, .out = out};
    for (size_t i = 0; i < s->n;) {
        aphi_chead head;
        if (aphi_csource_among(s, i, "_Static_assert static_assert asm __asm__")) {
            i = skipped(&w, i, s->n);
            continue;
        }
        i = aphi_walk_declaration(&w, i, s->n, APHI_C_FILE, &head);
        if (head.name != SIZE_MAX) {
            function(&w, &head, i);
            i = s->match[i] + 1;
        }
        free(head.returns);
    }
    aphi_walk_leave(&w, 0);
    free(w.variables);
    for (size_t i = 0; i < w.field_count; i++)
        free(w.fields[i].type);
    free(w.fields);
    free(w.enumerators);
    free(w.structs);
    free(w.types);
}
