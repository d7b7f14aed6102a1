/* SPDX-License-Identifier: Apache-2.0
 *
 * cstatements.c - parsing of functions, blocks and statements, and their mutants; see cparser.h. */
#include "mutate/cparser.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static size_t parse_statement(aphi_cparser *p, size_t i, size_t end);

/* ---- text of the source ------------------------------------------------------------------------------------------ */

void aphi_cparse_add_mutant(aphi_cparser *p, aphi_operator operator, size_t from, size_t to, const char *text)
{
    size_t begin = aphi_csource_token(p->s, from)->begin, end = aphi_csource_token(p->s, to - 1)->end;
    if (end - begin != strlen(text) || memcmp(p->s->text + begin, text, end - begin) != 0)
        aphi_mutants_add(p->out, p->s, operator, p->function ? p->function : "-", begin, end, text);
}

void aphi_cparse_add_text(const aphi_cparser *p, size_t from, size_t to, aphi_buffer *out)
{
    size_t begin = aphi_csource_token(p->s, from)->begin;
    aphi_buffer_add(out, p->s->text + begin, aphi_csource_token(p->s, to - 1)->end - begin);
}

size_t aphi_cparse_find(const aphi_cparser *p, size_t from, size_t to, const char *spellings)
{
    for (size_t i = from; i < to; i++) {
        if (aphi_csource_among(p->s, i, spellings))
            return i;
        if (p->s->match[i] > i)
            i = p->s->match[i];
        else if (p->s->match[i] < i)
            return i < to ? i : to; /* the enclosing bracket ends here */
    }
    return to;
}

size_t aphi_cparse_find_colon(const aphi_cparser *p, size_t from, size_t to)
{
    size_t questions = 0;
    for (size_t i = from; (i = aphi_cparse_find(p, i, to, "? : ; ,")) < to; i++) {
        if (aphi_csource_is(p->s, i, ":") && questions-- == 0)
            return i;
        if (aphi_csource_is(p->s, i, "?"))
            questions++;
        else if (!aphi_csource_among(p->s, i, ": ,"))
            return to;
    }
    return to;
}

/* ---- mutants of statements --------------------------------------------------------------------------------------- */

static void mutate_delete(aphi_cparser *p, size_t from, size_t to)
{
    if (!aphi_csource_has_directive(p->s, from, to))
        aphi_cparse_add_mutant(p, APHI_OPERATOR_DELETE, from, to, ";");
}

/* Returns true if another operator makes the same mutant: single comparisons are exchanged, a single ! removed. */
static bool is_negated_elsewhere(const aphi_cparser *p, size_t from, size_t to)
{
    static const char binary[] = "&& || ? , = + - * / % & | ^ << >> += -= *= /= %= &= |= ^= <<= >>=";
    static const char relations[] = "< <= > >= == !=";
    if (aphi_csource_is(p->s, from, "!"))
        return aphi_cparse_find(p, from, to, binary) == to && aphi_cparse_find(p, from, to, relations) == to;
    size_t relation = aphi_cparse_find(p, from, to, relations);
    return relation < to && aphi_cparse_find(p, from, to, "&& || ? , = & | ^") == to &&
           aphi_cparse_find(p, relation + 1, to, relations) == to;
}

static void mutate_negate(aphi_cparser *p, aphi_operator operator, size_t from, size_t to)
{
    aphi_buffer text = {0};
    aphi_buffer_str(&text, "!(");
    aphi_cparse_add_text(p, from, to, &text);
    aphi_buffer_str(&text, ")");
    aphi_cparse_add_mutant(p, operator, from, to, aphi_buffer_text(&text));
    aphi_buffer_free(&text);
}

static void parse_condition(aphi_cparser *p, size_t from, size_t to, bool negate)
{
    if (from >= to)
        return;
    aphi_cparse_expression(p, from, to);
    if (negate && !is_negated_elsewhere(p, from, to) && !aphi_csource_has_directive(p->s, from, to))
        mutate_negate(p, APHI_OPERATOR_LOGICAL, from, to);
}

/* Adds braces, so that an else stays with its if. */
static void add_arm(const aphi_cparser *p, aphi_buffer *out, const size_t arm[2])
{
    bool block = aphi_csource_is(p->s, arm[0], "{") && p->s->match[arm[0]] == arm[1] - 1;
    bool label = aphi_csource_among(p->s, arm[0], "case default");
    aphi_buffer_str(out, block || label ? "" : "{ ");
    aphi_cparse_add_text(p, arm[0], arm[1], out);
    aphi_buffer_str(out, block || label ? "" : " }");
}

/* Exchanges two arms of an if, or two labels of a switch. The text between them stays. */
static void mutate_exchange_arms(aphi_cparser *p, const size_t first[2], const size_t second[2])
{
    aphi_buffer text = {0};
    if (second[0] >= second[1] || aphi_csource_has_directive(p->s, first[0], second[1]))
        return;
    add_arm(p, &text, second);
    size_t begin = aphi_csource_token(p->s, first[1] - 1)->end, until = aphi_csource_token(p->s, second[0])->begin;
    aphi_buffer_add(&text, p->s->text + begin, until - begin);
    add_arm(p, &text, first);
    aphi_cparse_add_mutant(p, APHI_OPERATOR_ARMS, first[0], second[1], aphi_buffer_text(&text));
    aphi_buffer_free(&text);
}

/* Exchanges adjacent labels of a switch, unless they label the same statement. */
static void mutate_cases(aphi_cparser *p, size_t from, size_t to)
{
    size_t before[2] = {SIZE_MAX, SIZE_MAX}; /* the previous label: its first word, and its colon */
    for (size_t i = from; (i = aphi_cparse_find(p, i, to, "case default")) < to; i++) {
        size_t label[2] = {i, aphi_cparse_find_colon(p, i, to)};
        if (label[1] >= to)
            return;
        if (before[0] != SIZE_MAX && before[1] + 1 < i)
            mutate_exchange_arms(p, before, label);
        memcpy(before, label, sizeof before);
        i = label[1];
    }
}

static void mutate_return(aphi_cparser *p, size_t from, size_t to)
{
    const char *type = p->returns ? p->returns : "void";
    bool is_bool = !strcmp(type, "bool") || !strcmp(type, "_Bool"), is_pointer = strchr(type, '*');
    if (!strcmp(type, "void") || aphi_csource_has_directive(p->s, from, to))
        return;
    aphi_cparse_add_mutant(p, APHI_OPERATOR_RETURN, from, to, is_bool ? "false" : "0");
    if (!is_pointer)
        aphi_cparse_add_mutant(p, APHI_OPERATOR_RETURN, from, to, is_bool ? "true" : "1");
    if (is_bool && !aphi_csource_among(p->s, from, "true false"))
        mutate_negate(p, APHI_OPERATOR_RETURN, from, to);
    else if (!is_bool && !is_pointer && !(to == from + 2 && aphi_csource_is(p->s, from, "-") &&
                                          aphi_csource_is(p->s, from + 1, "1")))
        aphi_cparse_add_mutant(p, APHI_OPERATOR_RETURN, from, to, "(-1)");
}

/* ---- statements: each function takes the first word and returns the word after the statement --------------------- */

/* Skips a statement that is not understood. */
static size_t skip_statement(const aphi_cparser *p, size_t i, size_t end)
{
    size_t semicolon = aphi_cparse_find(p, i, end, ";");
    return semicolon < end ? semicolon + 1 : end;
}

/* Parses the part of a statement after the bracket that closes its head; i is the first word of the statement. */
static size_t parse_body(aphi_cparser *p, size_t i, size_t close, size_t end)
{
    size_t after = parse_statement(p, close + 1, end);
    if (close + 1 < end)
        mutate_delete(p, i, after);
    return after;
}

static size_t parse_if(aphi_cparser *p, size_t i, size_t end)
{
    size_t close = p->s->match[i + 1], then = close + 1, after = parse_statement(p, then, end), otherwise = after;
    bool has_else = after < end && aphi_csource_is(p->s, after, "else");
    if (has_else)
        after = parse_statement(p, ++otherwise, end);
    parse_condition(p, i + 2, close, !has_else); /* with else, negation is the same as exchanging the arms */
    if (has_else)
        mutate_exchange_arms(p, (size_t[]){then, otherwise - 1}, (size_t[]){otherwise, after});
    if (then < end)
        mutate_delete(p, i, after);
    return after;
}

static size_t parse_while(aphi_cparser *p, size_t i, size_t end)
{
    size_t close = p->s->match[i + 1];
    parse_condition(p, i + 2, close, true);
    return parse_body(p, i, close, end);
}

static size_t parse_switch(aphi_cparser *p, size_t i, size_t end)
{
    size_t close = p->s->match[i + 1], body = close + 1;
    parse_condition(p, i + 2, close, false);
    if (body < end && aphi_csource_is(p->s, body, "{"))
        mutate_cases(p, body + 1, p->s->match[body]);
    return parse_body(p, i, close, end);
}

static size_t parse_do(aphi_cparser *p, size_t i, size_t end)
{
    size_t after = parse_statement(p, i + 1, end);
    if (!aphi_csource_is(p->s, after, "while") || !aphi_csource_is(p->s, after + 1, "("))
        return after;
    size_t close = p->s->match[after + 1];
    parse_condition(p, after + 2, close, true);
    if (close + 1 >= end || !aphi_csource_is(p->s, close + 1, ";"))
        return close + 1;
    mutate_delete(p, i, close + 2);
    return close + 2;
}

static size_t parse_for(aphi_cparser *p, size_t i, size_t end)
{
    size_t open = i + 1, close = p->s->match[open], scope = p->variable_count;
    size_t first = aphi_cparse_find(p, open + 1, close, ";"), second = aphi_cparse_find(p, first + 1, close, ";");
    if (first >= close || second >= close)
        return parse_statement(p, close + 1, end); /* possibly a macro */
    if (aphi_cparse_is_declaration(p, open + 1))
        aphi_cparse_declaration(p, open + 1, first + 1, APHI_C_BLOCK, NULL);
    else
        aphi_cparse_expression(p, open + 1, first);
    parse_condition(p, first + 1, second, true);
    aphi_cparse_expression(p, second + 1, close);
    size_t after = parse_body(p, i, close, end);
    aphi_cparse_leave_scope(p, scope);
    return after;
}

static size_t parse_return(aphi_cparser *p, size_t i, size_t end)
{
    size_t semicolon = aphi_cparse_find(p, i, end, ";");
    if (semicolon >= end || !aphi_csource_is(p->s, semicolon, ";"))
        return end;
    if (semicolon == i + 1) {
        mutate_delete(p, i, semicolon + 1);
    } else {
        aphi_cparse_expression(p, i + 1, semicolon);
        mutate_return(p, i + 1, semicolon);
    }
    return semicolon + 1;
}

/* Parses an expression, a jump, or a macro, which may look like a loop. */
static size_t parse_simple(aphi_cparser *p, size_t i, size_t end)
{
    const aphi_csource *s = p->s;
    if (aphi_csource_is_name(s, i) && aphi_csource_is(s, i + 1, "(") && aphi_csource_is(s, s->match[i + 1] + 1, "{")) {
        aphi_cparse_expression(p, i + 1, s->match[i + 1]);
        return parse_statement(p, s->match[i + 1] + 1, end);
    }
    size_t semicolon = aphi_cparse_find(p, i, end, ";");
    if (semicolon >= end || !aphi_csource_is(s, semicolon, ";"))
        return end;
    aphi_cparse_expression(p, i, semicolon);
    mutate_delete(p, i, semicolon + 1);
    return semicolon + 1;
}

/* Skips labels and attributes before a statement. */
static size_t skip_labels(aphi_cparser *p, size_t i, size_t end)
{
    const aphi_csource *s = p->s;
    while (i < end) {
        size_t colon = aphi_cparse_find_colon(p, i, end);
        if (aphi_csource_among(s, i, "case default") && colon < end) {
            aphi_cparse_expression(p, i + 1, colon);
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

static size_t parse_unlabelled(aphi_cparser *p, size_t i, size_t end)
{
    static const struct {
        const char *word;
        size_t (*read)(aphi_cparser *p, size_t i, size_t end);
    } kinds[] = {{"if", parse_if}, {"while", parse_while}, {"for", parse_for}, {"switch", parse_switch}};
    const aphi_csource *s = p->s;
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
        if (aphi_csource_is(s, i, kinds[k].word))
            return aphi_csource_is(s, i + 1, "(") ? kinds[k].read(p, i, end) : skip_statement(p, i, end);
    if (aphi_csource_is(s, i, "{")) {
        aphi_cparse_block(p, i + 1, s->match[i]);
        return s->match[i] + 1;
    }
    if (aphi_csource_is(s, i, ";"))
        return i + 1;
    if (aphi_csource_is(s, i, "do"))
        return parse_do(p, i, end);
    if (aphi_csource_is(s, i, "return"))
        return parse_return(p, i, end);
    if (aphi_csource_among(s, i, "asm __asm__ _Static_assert static_assert else case default"))
        return skip_statement(p, i, end);
    if (aphi_cparse_is_declaration(p, i))
        return aphi_cparse_declaration(p, i, end, APHI_C_BLOCK, NULL);
    return parse_simple(p, i, end);
}

static size_t parse_statement(aphi_cparser *p, size_t i, size_t end)
{
    i = skip_labels(p, i, end);
    if (i >= end || p->depth >= APHI_CPARSE_DEPTH_MAX)
        return end;
    p->depth++;
    size_t next = parse_unlabelled(p, i, end);
    p->depth--;
    return next;
}

void aphi_cparse_block(aphi_cparser *p, size_t from, size_t to)
{
    size_t scope = p->variable_count;
    while (from < to)
        from = parse_statement(p, from, to);
    aphi_cparse_leave_scope(p, scope);
}

/* ---- the source -------------------------------------------------------------------------------------------------- */

/* `body` is the opening brace. */
static void parse_function(aphi_cparser *p, const aphi_chead *head, size_t body)
{
    aphi_buffer name = {0};
    size_t scope = p->variable_count, close = p->s->match[head->parameters];
    aphi_cparse_add_text(p, head->name, head->name + 1, &name);
    p->function = aphi_buffer_text(&name);
    p->returns = head->returns;
    for (size_t i = head->parameters + 1; i < close;) {
        size_t comma = aphi_cparse_find(p, i, close, ",");
        if (i < comma)
            aphi_cparse_declaration(p, i, comma, APHI_C_PARAMETER, NULL);
        i = comma + 1;
    }
    aphi_cparse_block(p, body + 1, p->s->match[body]);
    aphi_cparse_leave_scope(p, scope);
    aphi_buffer_free(&name);
    p->function = p->returns = NULL;
}

void aphi_cparse_source(const aphi_csource *s, aphi_mutants *out)
{
    aphi_cparser p = {.s = s, .out = out};
    for (size_t i = 0; i < s->n;) {
        aphi_chead head;
        if (aphi_csource_among(s, i, "_Static_assert static_assert asm __asm__")) {
            i = skip_statement(&p, i, s->n);
            continue;
        }
        i = aphi_cparse_declaration(&p, i, s->n, APHI_C_FILE, &head);
        if (head.name != SIZE_MAX) {
            parse_function(&p, &head, i);
            i = s->match[i] + 1;
        }
        free(head.returns);
    }
    aphi_cparse_leave_scope(&p, 0);
    free(p.variables);
    for (size_t i = 0; i < p.fields.n; i++)
        free(p.fields.items[i].type);
    free(p.fields.items);
    free(p.enumerators.items);
    free(p.structs.items);
    free(p.types.items);
}
