/* SPDX-License-Identifier: Apache-2.0
 *
 * csource.c - words with their brackets matched; see csource.h. */
#include "mutate/csource.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

enum { CONDITIONALS_MAX = 256 };

/* ---- spelling ---------------------------------------------------------------------------------------------------- */

const aphi_ctoken *aphi_csource_token(const aphi_csource *s, size_t word)
{
    return &s->tokens.items[s->words[word]];
}

static bool spelled(const aphi_csource *s, size_t word, const char *spelling, size_t n)
{
    const aphi_ctoken *t = aphi_csource_token(s, word);
    return t->end - t->begin == n && !memcmp(s->text + t->begin, spelling, n);
}

static bool same_or_digraph(const aphi_csource *s, size_t word, const char *spelling, size_t n)
{
    static const struct {
        char means;
        const char *digraph;
    } digraphs[] = {{'[', "<:"}, {']', ":>"}, {'{', "<%"}, {'}', "%>"}};
    if (spelled(s, word, spelling, n))
        return true;
    for (size_t i = 0; i < sizeof digraphs / sizeof *digraphs; i++)
        if (n == 1 && *spelling == digraphs[i].means && spelled(s, word, digraphs[i].digraph, 2))
            return true;
    return false;
}

static bool can_be_spelled(const aphi_csource *s, size_t word)
{
    if (word >= s->n)
        return false;
    const aphi_ctoken *t = aphi_csource_token(s, word);
    return !t->spliced && t->kind != APHI_C_STRING && t->kind != APHI_C_CHARACTER;
}

bool aphi_csource_is(const aphi_csource *s, size_t word, const char *spelling)
{
    return can_be_spelled(s, word) && same_or_digraph(s, word, spelling, strlen(spelling));
}

bool aphi_csource_among(const aphi_csource *s, size_t word, const char *spellings)
{
    if (!can_be_spelled(s, word))
        return false;
    for (const char *at = spellings; *at;) {
        size_t n = strcspn(at, " ");
        if (same_or_digraph(s, word, at, n))
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
    return aphi_csource_is_kind(s, word, APHI_C_IDENTIFIER) && can_be_spelled(s, word) &&
           !aphi_csource_among(s, word, keywords);
}

bool aphi_csource_same(const aphi_csource *s, size_t a, size_t b)
{
    const aphi_ctoken *t = aphi_csource_token(s, b);
    return spelled(s, a, s->text + t->begin, t->end - t->begin);
}

bool aphi_csource_has_directive(const aphi_csource *s, size_t from, size_t to)
{
    for (size_t i = s->words[from]; to > from && i < s->words[to - 1]; i++)
        if (s->tokens.items[i].kind == APHI_C_DIRECTIVE)
            return true;
    return false;
}

/* ---- which parts count ------------------------------------------------------------------------------------------- */

typedef struct conditionals {
    struct {
        bool live, zero; /* this part counts; it is #if 0 */
    } open[CONDITIONALS_MAX];
    size_t n, beyond; /* beyond: those that are nested too deeply, of which all parts count */
} conditionals;

/* The name of a directive, and what is behind it. */
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

static void note_directive(conditionals *c, const aphi_csource *s, const aphi_ctoken *t)
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
        c->open[c->n++].live = !zero;
    } else if (n == 5 && !memcmp(name, "endif", n)) {
        if (c->beyond > 0)
            c->beyond--;
        else if (c->n > 0)
            c->n--;
    } else if (n >= 4 && !memcmp(name, "el", 2) && c->n > 0 && c->beyond == 0) {
        c->open[c->n - 1].live = c->open[c->n - 1].zero;
        c->open[c->n - 1].zero = false;
    }
}

static bool counts(const conditionals *c)
{
    for (size_t i = 0; i < c->n; i++)
        if (!c->open[i].live)
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
            note_directive(&c, s, t);
        else if (t->kind != APHI_C_SPACE && t->kind != APHI_C_COMMENT && counts(&c))
            s->words[s->n++] = i;
    }
}

/* ---- brackets ---------------------------------------------------------------------------------------------------- */

static bool wrong_bracket(const aphi_csource *s, size_t word, const char *message, aphi_cerror *error)
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
    bool fine = true;
    for (size_t i = 0; i < s->n && fine; i++) {
        s->match[i] = i;
        for (size_t k = 0; k < 6; k++) {
            if (!aphi_csource_is(s, i, pairs[k]))
                continue;
            if (k % 2 == 0) {
                open[depth++] = i;
            } else if (depth == 0 || !aphi_csource_is(s, open[depth - 1], pairs[k - 1])) {
                fine = wrong_bracket(s, i, "a bracket that closes nothing", error);
            } else {
                s->match[i] = open[--depth];
                s->match[open[depth]] = i;
            }
            break;
        }
    }
    if (fine && depth > 0)
        fine = wrong_bracket(s, open[depth - 1], "a bracket that is never closed", error);
    free(open);
    return fine;
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
