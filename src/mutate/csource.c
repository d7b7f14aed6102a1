/* SPDX-License-Identifier: Apache-2.0
 *
 * csource.c - the words of a C source, with their brackets matched; see csource.h. */
#include "mutate/csource.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

enum { CONDITIONALS_MAX = 256 };

/* ---- spelling ---------------------------------------------------------------------------------------------------- */

const aphi_ctoken *aphi_csource_token(const aphi_csource *s, size_t word) { return &s->tokens.items[s->words[word]]; }

static bool has_bytes(const aphi_csource *s, size_t word, const char *spelling, size_t n)
{
    const aphi_ctoken *t = aphi_csource_token(s, word);
    return t->end - t->begin == n && !memcmp(s->text + t->begin, spelling, n);
}

static bool is_spelled(const aphi_csource *s, size_t word, const char *spelling, size_t n)
{
    static const struct {
        char means;
        const char *digraph;
    } digraphs[] = {{'[', "<:"}, {']', ":>"}, {'{', "<%"}, {'}', "%>"}};
    if (has_bytes(s, word, spelling, n))
        return true;
    for (size_t i = 0; i < sizeof digraphs / sizeof *digraphs; i++)
        if (n == 1 && *spelling == digraphs[i].means && has_bytes(s, word, digraphs[i].digraph, 2))
            return true;
    return false;
}

static bool has_spelling(const aphi_csource *s, size_t word)
{
    if (word >= s->n)
        return false;
    const aphi_ctoken *t = aphi_csource_token(s, word);
    return !t->spliced && t->kind != APHI_C_STRING && t->kind != APHI_C_CHARACTER;
}

bool aphi_csource_is(const aphi_csource *s, size_t word, const char *spelling)
{
    return has_spelling(s, word) && is_spelled(s, word, spelling, strlen(spelling));
}

bool aphi_csource_among(const aphi_csource *s, size_t word, const char *spellings)
{
    if (!has_spelling(s, word))
        return false;
    for (const char *at = spellings; *at;) {
        size_t n = strcspn(at, " ");
        if (is_spelled(s, word, at, n))
            return true;
        at += n + (at[n] == ' ');
    }
    return false;
}

bool aphi_csource_is_kind(const aphi_csource *s, size_t word, aphi_ctoken_kind kind)
{
    return word < s->n && aphi_csource_token(s, word)->kind == kind;
}

bool aphi_csource_is_name(const aphi_csource *s, size_t word)
{
    static const char keywords[] =
        "auto break case char const continue default do double else enum extern float for goto if inline int long "
        "register restrict return short signed sizeof static struct switch typedef union unsigned void volatile while "
        "_Alignas _Alignof _Atomic _Bool _Complex _Generic _Imaginary _Noreturn _Static_assert _Thread_local "
        "static_assert alignof alignas typeof __typeof__ __attribute__ __extension__ __inline __inline__ asm __asm__ "
        "__volatile__ thread_local bool true false _Pragma __thread nullptr constexpr";
    return aphi_csource_is_kind(s, word, APHI_C_IDENTIFIER) && has_spelling(s, word) &&
           !aphi_csource_among(s, word, keywords);
}

bool aphi_csource_same(const aphi_csource *s, size_t a, size_t b)
{
    const aphi_ctoken *t = aphi_csource_token(s, b);
    return has_bytes(s, a, s->text + t->begin, t->end - t->begin);
}

bool aphi_csource_has_directive(const aphi_csource *s, size_t from, size_t to)
{
    for (size_t i = s->words[from]; to > from && i < s->words[to - 1]; i++)
        if (s->tokens.items[i].kind == APHI_C_DIRECTIVE)
            return true;
    return false;
}

/* ---- conditional compilation ------------------------------------------------------------------------------------- */

typedef struct conditionals {
    struct {
        bool active, zero; /* this part is read; it belongs to #if 0 */
    } open[CONDITIONALS_MAX];
    size_t n, beyond; /* beyond: number of open #ifs nested too deeply; all their parts are read */
} conditionals;

/* Returns the name of a directive; *rest is the text after it. */
static const char *directive_name(const aphi_csource *s, const aphi_ctoken *t, size_t *n, const char **rest)
{
    const char *at = s->text + t->begin, *end = s->text + t->end;
    while (at < end && strchr("#%: \t", *at))
        at++;
    const char *name = at;
    while (at < end && *at >= 'a' && *at <= 'z')
        at++;
    *n = (size_t)(at - name);
    while (at < end && (*at == ' ' || *at == '\t'))
        at++;
    *rest = at;
    return name;
}

static void track_conditional(conditionals *c, const aphi_csource *s, const aphi_ctoken *t)
{
    size_t n;
    const char *rest, *name = directive_name(s, t, &n, &rest), *end = s->text + t->end;
    if (n >= 2 && !memcmp(name, "if", 2)) {
        bool zero = n == 2 && rest < end && *rest == '0' && (rest + 1 == end || strchr(" \t\r/", rest[1]));
        if (c->n == CONDITIONALS_MAX) {
            c->beyond++;
            return;
        }
        c->open[c->n].zero = zero;
        c->open[c->n++].active = !zero;
    } else if (n == 5 && !memcmp(name, "endif", n)) {
        if (c->beyond > 0)
            c->beyond--;
        else if (c->n > 0)
            c->n--;
    } else if (n >= 4 && !memcmp(name, "el", 2) && c->n > 0 && c->beyond == 0) {
        c->open[c->n - 1].active = c->open[c->n - 1].zero;
        c->open[c->n - 1].zero = false;
    }
}

static bool is_active(const conditionals *c)
{
    for (size_t i = 0; i < c->n; i++)
        if (!c->open[i].active)
            return false;
    return true;
}

static void select_words(aphi_csource *s)
{
    conditionals c = {0};
    s->words = aphi_alloc((s->tokens.n + 1) * sizeof *s->words);
    for (size_t i = 0; i < s->tokens.n; i++) {
        const aphi_ctoken *t = &s->tokens.items[i];
        if (t->kind == APHI_C_DIRECTIVE)
            track_conditional(&c, s, t);
        else if (t->kind != APHI_C_SPACE && t->kind != APHI_C_COMMENT && is_active(&c))
            s->words[s->n++] = i;
    }
}

/* ---- brackets ---------------------------------------------------------------------------------------------------- */

static bool bracket_error(const aphi_csource *s, size_t word, const char *message, aphi_cerror *error)
{
    const aphi_ctoken *t = aphi_csource_token(s, word);
    *error = (aphi_cerror){t->line, t->column, message};
    return false;
}

static bool match_brackets(aphi_csource *s, aphi_cerror *error)
{
    static const char *const pairs[] = {"(", ")", "[", "]", "{", "}"};
    s->match = aphi_alloc((s->n + 1) * sizeof *s->match);
    size_t *open = aphi_alloc((s->n + 1) * sizeof *open), depth = 0;
    bool matched = true;
    for (size_t i = 0; i < s->n && matched; i++) {
        s->match[i] = i;
        for (size_t k = 0; k < 6; k++) {
            if (!aphi_csource_is(s, i, pairs[k]))
                continue;
            if (k % 2 == 0) {
                open[depth++] = i;
            } else if (depth == 0 || !aphi_csource_is(s, open[depth - 1], pairs[k - 1])) {
                matched = bracket_error(s, i, "closing bracket without an opening one", error);
            } else {
                s->match[i] = open[--depth];
                s->match[open[depth]] = i;
            }
            break;
        }
    }
    if (matched && depth > 0)
        matched = bracket_error(s, open[depth - 1], "unclosed bracket", error);
    free(open);
    return matched;
}

bool aphi_csource_open(aphi_csource *s, const char *text, size_t size, aphi_cerror *error)
{
    *s = (aphi_csource){.text = text, .size = size};
    if (!aphi_ctokens_read(text, size, &s->tokens, error))
        return false;
    select_words(s);
    if (match_brackets(s, error))
        return true;
    aphi_csource_close(s);
    return false;
}

void aphi_csource_close(aphi_csource *s)
{
    aphi_ctokens_free(&s->tokens);
    free(s->words);
    free(s->match);
    *s = (aphi_csource){0};
}
