/* SPDX-License-Identifier: Apache-2.0
 *
 * ctokens.c - the tokens of a C source; see ctokens.h.
 *
 * Idea:       performs translation phases 2 and 3 of the standard in one pass. A cursor skips line splices, but the
 *             bytes of a token include them.
 * Invariants: 1. the first token begins at 0, each other one at the end of its predecessor; the last ends the source
 *             2. no token is empty
 * Cost:       linear.
 * Not done:   trigraphs, which compilers ignore by default; validation of numbers, because an invalid one may be a
 *             macro argument. */
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
    bool at_line_start; /* only spaces and comments so far on this line: # begins a directive */
    bool spliced;       /* the current token contains a line splice */
    const char *error;
    size_t error_at; /* byte */
} lexer;

/* ---- characters -------------------------------------------------------------------------------------------------- */

/* Returns the length of the line splice at i, or 0. */
static size_t splice_length(const lexer *l, size_t i)
{
    if (i + 1 >= l->n || l->text[i] != '\\')
        return 0;
    if (l->text[i + 1] == '\n')
        return 2;
    return i + 2 < l->n && l->text[i + 1] == '\r' && l->text[i + 2] == '\n' ? 3 : 0;
}

static size_t skip_splices(const lexer *l, size_t i)
{
    for (size_t n; (n = splice_length(l, i));)
        i += n;
    return i;
}

/* Returns the character `ahead` characters after the cursor; -1 past the end. */
static int peek(const lexer *l, size_t ahead)
{
    size_t i = skip_splices(l, l->at);
    for (; ahead > 0 && i < l->n; ahead--)
        i = skip_splices(l, i + 1);
    return i < l->n ? (unsigned char)l->text[i] : -1;
}

static void advance(lexer *l, size_t count)
{
    for (; count > 0; count--) {
        size_t i = skip_splices(l, l->at);
        if (i != l->at)
            l->spliced = true;
        l->at = i < l->n ? i + 1 : l->n;
    }
}

static bool is_letter(int c) { return c == '_' || c == '$' || c >= 0x80 || (c > 0 && isalpha(c)); }
static bool is_digit(int c) { return c >= '0' && c <= '9'; }
static bool is_blank(int c) { return c == ' ' || c == '\t' || c == '\f' || c == '\v' || c == '\r' || c == '\n'; }

static bool set_error(lexer *l, size_t at, const char *message)
{
    l->error = message;
    l->error_at = at;
    return false;
}

/* ---- each kind of token: moves the cursor past it; false: an error ----------------------------------------------- */

static void lex_space(lexer *l)
{
    for (;;) {
        size_t joined = splice_length(l, l->at);
        if (joined) {
            l->at += joined;
        } else if (l->at < l->n && is_blank(l->text[l->at])) {
            l->at_line_start |= l->text[l->at] == '\n';
            l->at++;
        } else {
            return;
        }
    }
}

static bool lex_block_comment(lexer *l)
{
    size_t begin = l->at;
    advance(l, 2);
    while (peek(l, 0) >= 0) {
        if (peek(l, 0) == '*' && peek(l, 1) == '/') {
            advance(l, 2);
            return true;
        }
        advance(l, 1);
    }
    return set_error(l, begin, "unterminated comment");
}

static void lex_line_comment(lexer *l)
{
    while (peek(l, 0) >= 0 && peek(l, 0) != '\n')
        advance(l, 1);
}

/* Reads a literal from its opening quote. */
static bool lex_quoted(lexer *l, size_t begin)
{
    int quote = peek(l, 0);
    advance(l, 1);
    for (int c; (c = peek(l, 0)) != quote; advance(l, 1)) {
        if (c == '\\')
            advance(l, 1); /* the loop skips the escaped character, which is not a newline: splices are skipped */
        if (c == '\n' || c < 0)
            return set_error(l, begin, quote == '"' ? "unterminated string"
                                                : "unterminated character constant");
    }
    advance(l, 1);
    return true;
}

/* In a directive an unpaired quote is allowed (#error don't), but a pair of quotes hides comments. */
static void lex_directive_quote(lexer *l)
{
    lexer before = *l;
    if (!lex_quoted(l, l->at)) {
        *l = before;
        advance(l, 1);
    }
}

static bool lex_directive(lexer *l)
{
    for (int c; (c = peek(l, 0)) >= 0 && c != '\n';) {
        if (c == '/' && peek(l, 1) == '/') {
            lex_line_comment(l);
        } else if (c == '/' && peek(l, 1) == '*') {
            if (!lex_block_comment(l))
                return false;
        } else if (c == '"' || c == '\'') {
            lex_directive_quote(l);
        } else {
            advance(l, 1);
        }
    }
    return true;
}

static void lex_number(lexer *l)
{
    for (int c; (c = peek(l, 0)) >= 0; advance(l, 1)) {
        int next = peek(l, 1);
        if (memchr("eEpP", c, 4) && (next == '+' || next == '-'))
            advance(l, 1);
        else if (!is_letter(c) && !is_digit(c) && c != '.')
            return;
    }
}

static bool is_literal_prefix(const lexer *l, size_t begin)
{
    static const char *const prefixes[] = {"L", "u", "U", "u8"};
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
        if (l->at - begin == strlen(prefixes[i]) && !memcmp(l->text + begin, prefixes[i], l->at - begin))
            return true;
    return false;
}

static bool is_universal_name(const lexer *l) { return peek(l, 0) == '\\' && (peek(l, 1) == 'u' || peek(l, 1) == 'U'); }

/* Reads an identifier, or a literal with a prefix. */
static bool lex_word(lexer *l, aphi_ctoken_kind *kind)
{
    size_t begin = l->at;
    while (is_letter(peek(l, 0)) || is_digit(peek(l, 0)) || is_universal_name(l))
        advance(l, is_universal_name(l) ? 2 : 1);
    int c = peek(l, 0);
    *kind = APHI_C_IDENTIFIER;
    if ((c != '"' && c != '\'') || !is_literal_prefix(l, begin))
        return true;
    *kind = c == '"' ? APHI_C_STRING : APHI_C_CHARACTER;
    return lex_quoted(l, begin);
}

/* Tries the longest punctuators first. */
static bool lex_punctuator(lexer *l)
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
            advance(l, n);
            return true;
        }
    }
    return set_error(l, l->at, "invalid character");
}

/* ---- the source -------------------------------------------------------------------------------------------------- */

static bool lex_token(lexer *l, aphi_ctoken_kind *kind)
{
    int c = peek(l, 0), next = peek(l, 1);
    if (splice_length(l, l->at) || is_blank((unsigned char)l->text[l->at])) {
        *kind = APHI_C_SPACE;
        lex_space(l);
        return true;
    }
    if (c == '/' && (next == '/' || next == '*')) {
        *kind = APHI_C_COMMENT;
        if (next == '*')
            return lex_block_comment(l);
        lex_line_comment(l);
        return true;
    }
    if (l->at_line_start && (c == '#' || (c == '%' && next == ':'))) {
        *kind = APHI_C_DIRECTIVE;
        return lex_directive(l);
    }
    l->at_line_start = false;
    if (is_digit(c) || (c == '.' && is_digit(next))) {
        *kind = APHI_C_NUMBER;
        lex_number(l);
        return true;
    }
    if (is_letter(c) || is_universal_name(l))
        return lex_word(l, kind);
    *kind = c == '"' ? APHI_C_STRING : c == '\'' ? APHI_C_CHARACTER : APHI_C_PUNCTUATOR;
    return c == '"' || c == '\'' ? lex_quoted(l, l->at) : lex_punctuator(l);
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

static bool fail_at(lexer *l, aphi_ctokens *tokens, size_t counted, aphi_cerror *error)
{
    count_lines(l, counted, l->error_at);
    *error = (aphi_cerror){l->line, (unsigned)(l->error_at - l->line_begin) + 1, l->error};
    aphi_ctokens_free(tokens);
    return false;
}

bool aphi_ctokens_read(const char *text, size_t n, aphi_ctokens *tokens, aphi_cerror *error)
{
    lexer l = {.text = text, .n = n, .line = 1, .at_line_start = true};
    const char *nul = n > 0 ? memchr(text, '\0', n) : NULL;
    *tokens = (aphi_ctokens){0};
    if (nul) {
        set_error(&l, (size_t)(nul - text), "NUL byte");
        return fail_at(&l, tokens, 0, error);
    }
    while (l.at < n) {
        aphi_ctoken t = {.begin = l.at, .line = l.line, .column = (unsigned)(l.at - l.line_begin) + 1};
        l.spliced = false;
        if (!lex_token(&l, &t.kind))
            return fail_at(&l, tokens, t.begin, error);
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
