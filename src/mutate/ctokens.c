/* SPDX-License-Identifier: Apache-2.0
 *
 * ctokens.c - a C source as tokens; see ctokens.h.
 *
 * Idea:       the phases of translation 2 and 3 of the standard in one pass. A cursor gives the characters that are
 *             left when backslashes at the ends of lines are gone, while the bytes that a token spans are counted.
 * Invariants: 1. each token begins where the one before ends; the first at 0, the last ends with the source
 *             2. no token is empty
 * Cost:       linear.
 * Not done:   trigraphs, which compilers ignore unless asked; checking that a number is one: what begins as one and is
 *             none may be an argument of a macro, and is left to the compiler. */
#include "mutate/ctokens.h"

#include "base/memory.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

typedef struct lexer {
    const char *text;
    size_t n, at;
    unsigned line;
    size_t line_begin;
    bool fresh;   /* nothing but spaces and comments on this line so far: # would begin a directive */
    bool spliced; /* in the token that is being read */
    const char *wrong;
    size_t wrong_at; /* the byte that the error is about */
} lexer;

/* ---- characters -------------------------------------------------------------------------------------------------- */

/* How long the end of a line is that a backslash takes away, here; 0: there is none. */
static size_t splice_at(const lexer *l, size_t i)
{
    if (i + 1 >= l->n || l->text[i] != '\\')
        return 0;
    if (l->text[i + 1] == '\n')
        return 2;
    return i + 2 < l->n && l->text[i + 1] == '\r' && l->text[i + 2] == '\n' ? 3 : 0;
}

static size_t past_splices(const lexer *l, size_t i)
{
    for (size_t n; (n = splice_at(l, i));)
        i += n;
    return i;
}

/* The character that is `ahead` after the cursor; -1 behind the end. */
static int peek(const lexer *l, size_t ahead)
{
    size_t i = past_splices(l, l->at);
    for (; ahead > 0 && i < l->n; ahead--)
        i = past_splices(l, i + 1);
    return i < l->n ? (unsigned char)l->text[i] : -1;
}

static void skip(lexer *l, size_t count)
{
    for (; count > 0; count--) {
        size_t i = past_splices(l, l->at);
        if (i != l->at)
            l->spliced = true;
        l->at = i < l->n ? i + 1 : l->n;
    }
}

static bool is_letter(int c) { return c == '_' || c == '$' || c >= 0x80 || (c > 0 && isalpha(c)); }
static bool is_digit(int c) { return c >= '0' && c <= '9'; }
static bool is_blank(int c) { return c == ' ' || c == '\t' || c == '\f' || c == '\v' || c == '\r' || c == '\n'; }

static bool wrong(lexer *l, size_t at, const char *message)
{
    l->wrong = message;
    l->wrong_at = at;
    return false;
}

/* ---- each kind of token: true, and the cursor is behind it; or an error ------------------------------------------ */

static void space(lexer *l)
{
    for (;;) {
        size_t joined = splice_at(l, l->at);
        if (joined) {
            l->at += joined;
        } else if (l->at < l->n && is_blank(l->text[l->at])) {
            l->fresh |= l->text[l->at] == '\n';
            l->at++;
        } else {
            return;
        }
    }
}

static bool block_comment(lexer *l)
{
    size_t begin = l->at;
    skip(l, 2);
    while (peek(l, 0) >= 0) {
        if (peek(l, 0) == '*' && peek(l, 1) == '/') {
            skip(l, 2);
            return true;
        }
        skip(l, 1);
    }
    return wrong(l, begin, "a comment that does not end");
}

static void line_comment(lexer *l)
{
    while (peek(l, 0) >= 0 && peek(l, 0) != '\n')
        skip(l, 1);
}

/* From its first quote. */
static bool quoted(lexer *l, size_t begin)
{
    int quote = peek(l, 0);
    skip(l, 1);
    for (int c; (c = peek(l, 0)) != quote; skip(l, 1)) {
        if (c == '\\')
            skip(l, 1); /* what it is before, the loop skips; it is no end of a line, or both were gone */
        if (c == '\n' || c < 0)
            return wrong(l, begin, quote == '"' ? "a string that does not end on its line"
                                                : "a character that does not end on its line");
    }
    skip(l, 1);
    return true;
}

/* In a directive a lonely quote means nothing (#error don't), but what is between two of them hides comments. */
static void quote_in_directive(lexer *l)
{
    lexer before = *l;
    if (!quoted(l, l->at)) {
        *l = before;
        skip(l, 1);
    }
}

static bool directive(lexer *l)
{
    for (int c; (c = peek(l, 0)) >= 0 && c != '\n';) {
        if (c == '/' && peek(l, 1) == '/') {
            line_comment(l);
        } else if (c == '/' && peek(l, 1) == '*') {
            if (!block_comment(l))
                return false;
        } else if (c == '"' || c == '\'') {
            quote_in_directive(l);
        } else {
            skip(l, 1);
        }
    }
    return true;
}

static void number(lexer *l)
{
    for (int c; (c = peek(l, 0)) >= 0; skip(l, 1)) {
        int next = peek(l, 1);
        if (memchr("eEpP", c, 4) && (next == '+' || next == '-'))
            skip(l, 1);
        else if (!is_letter(c) && !is_digit(c) && c != '.')
            return;
    }
}

static bool is_prefix(const lexer *l, size_t begin)
{
    static const char *const prefixes[] = {"L", "u", "U", "u8"};
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
        if (l->at - begin == strlen(prefixes[i]) && !memcmp(l->text + begin, prefixes[i], l->at - begin))
            return true;
    return false;
}

static bool universal(const lexer *l) { return peek(l, 0) == '\\' && (peek(l, 1) == 'u' || peek(l, 1) == 'U'); }

/* An identifier, or what it is the prefix of. */
static bool word(lexer *l, aphi_ctoken_kind *kind)
{
    size_t begin = l->at;
    while (is_letter(peek(l, 0)) || is_digit(peek(l, 0)) || universal(l))
        skip(l, universal(l) ? 2 : 1);
    int c = peek(l, 0);
    *kind = APHI_C_IDENTIFIER;
    if ((c != '"' && c != '\'') || !is_prefix(l, begin))
        return true;
    *kind = c == '"' ? APHI_C_STRING : APHI_C_CHARACTER;
    return quoted(l, begin);
}

/* The longest comes first. */
static bool punctuator(lexer *l)
{
    static const char *const all[] = {
        "%:%:", "...", "<<=", ">>=", "->", "++", "--", "<<", ">>", "<=", ">=", "==", "!=", "&&", "||", "*=", "/=", "%=",
        "+=", "-=", "&=", "^=", "|=", "##", "<:", ":>", "<%", "%>", "%:", "[", "]", "(", ")", "{", "}", ".", "&",
        "*", "+", "-", "~", "!", "/", "%", "<", ">", "^", "|", "?", ":", ";", "=", ",", "#"};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        size_t n = 0;
        while (all[i][n] && peek(l, n) == all[i][n])
            n++;
        if (!all[i][n]) {
            skip(l, n);
            return true;
        }
    }
    return wrong(l, l->at, "a character that means nothing in C");
}

/* ---- the source -------------------------------------------------------------------------------------------------- */

static bool begins_directive(const lexer *l)
{
    return l->fresh && (peek(l, 0) == '#' || (peek(l, 0) == '%' && peek(l, 1) == ':'));
}

static bool token(lexer *l, aphi_ctoken_kind *kind)
{
    int c = peek(l, 0), next = peek(l, 1);
    if (splice_at(l, l->at) || is_blank((unsigned char)l->text[l->at])) {
        *kind = APHI_C_SPACE;
        space(l);
        return true;
    }
    if (c == '/' && (next == '/' || next == '*')) {
        *kind = APHI_C_COMMENT;
        if (next == '*')
            return block_comment(l);
        line_comment(l);
        return true;
    }
    if (begins_directive(l)) {
        *kind = APHI_C_DIRECTIVE;
        return directive(l);
    }
    l->fresh = false;
    if (is_digit(c) || (c == '.' && is_digit(next))) {
        *kind = APHI_C_NUMBER;
        number(l);
        return true;
    }
    if (is_letter(c) || universal(l))
        return word(l, kind);
    *kind = c == '"' ? APHI_C_STRING : c == '\'' ? APHI_C_CHARACTER : APHI_C_PUNCTUATOR;
    return c == '"' || c == '\'' ? quoted(l, l->at) : punctuator(l);
}

static void count_lines(lexer *l, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++) {
        if (l->text[i] == '\n') {
            l->line++;
            l->line_begin = i + 1;
        }
    }
}

static bool fail(lexer *l, aphi_ctokens *tokens, size_t counted, aphi_cerror *error)
{
    count_lines(l, counted, l->wrong_at);
    *error = (aphi_cerror){l->line, (unsigned)(l->wrong_at - l->line_begin) + 1, l->wrong};
    aphi_ctokens_free(tokens);
    return false;
}

bool aphi_ctokens_read(const char *text, size_t n, aphi_ctokens *tokens, aphi_cerror *error)
{
    lexer l = {.text = text, .n = n, .line = 1, .fresh = true};
    const char *nul = n > 0 ? memchr(text, '\0', n) : NULL; /* wherever it is: nobody means it */
    *tokens = (aphi_ctokens){0};
    if (nul) {
        wrong(&l, (size_t)(nul - text), "a NUL byte");
        return fail(&l, tokens, 0, error);
    }
    while (l.at < n) {
        aphi_ctoken t = {.begin = l.at, .line = l.line, .column = (unsigned)(l.at - l.line_begin) + 1};
        l.spliced = false;
        if (!token(&l, &t.kind))
            return fail(&l, tokens, t.begin, error);
        t.end = l.at;
        t.spliced = l.spliced;
        count_lines(&l, t.begin, t.end);
        APHI_RESERVE(tokens->items, tokens->capacity, tokens->n + 1);
        tokens->items[tokens->n++] = t;
    }
    return true;
}

void aphi_ctokens_free(aphi_ctokens *tokens)
{
    free(tokens->items);
    *tokens = (aphi_ctokens){0};
}
