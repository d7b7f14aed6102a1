/* SPDX-License-Identifier: Apache-2.0
 *
 * known_equivalents.c - the list of equivalent mutants; see mutants.h. */
#include "mutate/mutants.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

/* Returns the end of a quoted text, or NULL if there is none. */
static const char *skip_quoted(const char *at)
{
    if (*at++ != '"')
        return NULL;
    for (; *at && *at != '"'; at++)
        if (*at == '\\' && !*++at)
            return NULL;
    return *at == '"' ? at + 1 : NULL;
}

/* Returns the colon after an identity; NULL if the line does not begin with one. */
static const char *skip_identity(const char *line)
{
    const char *at = line;
    for (int words = 0; words < 2; words++) { /* operator and function */
        size_t n = strcspn(at, " \"");
        if (n == 0 || at[n] != ' ')
            return NULL;
        at += n + 1;
    }
    for (int texts = 0; texts < 2; texts++) {
        at = skip_quoted(at);
        if (!at || *at++ != ' ')
            return NULL;
    }
    size_t digits = strspn(at, "0123456789");
    return digits > 0 && at[digits] == ':' ? at + digits : NULL;
}

static size_t index_of(const aphi_mutants *mutants, const char *identity, size_t n)
{
    size_t found = mutants->n;
    for (size_t i = 0; i < mutants->n && found == mutants->n; i++) {
        aphi_buffer is = {0};
        aphi_mutant_identity(&is, &mutants->items[i]);
        if (is.n == n && !memcmp(is.data, identity, n))
            found = i;
        aphi_buffer_free(&is);
    }
    return found;
}

/* Returns NULL, or an error message. */
static const char *read_line(const char *line, const aphi_mutants *mutants, char **reasons)
{
    const char *colon = skip_identity(line);
    if (!colon)
        return "not an identity, a colon and a reason; antiphon mutate prints identities";
    const char *reason = colon + 1 + strspn(colon + 1, " \t");
    if (!*reason)
        return "no reason after the colon";
    size_t i = index_of(mutants, line, (size_t)(colon - line));
    if (i == mutants->n)
        return "unknown mutant; the source may have changed";
    if (reasons[i])
        return "mutant listed twice";
    reasons[i] = aphi_copy(reason, strlen(reason) + 1);
    return NULL;
}

bool aphi_known_equivalents_read(const char *path, const char *text, size_t size, const aphi_mutants *mutants,
                                 char **reasons, aphi_buffer *error)
{
    size_t number = 0;
    const char *wrong = NULL;
    memset(reasons, 0, mutants->n * sizeof *reasons);
    for (const char *at = text, *end = text + size; at < end && !wrong; number++) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        size_t n = (size_t)((newline ? newline : end) - at);
        char *line = aphi_copy(at, n + 1); /* text[size] is NUL */
        line[n] = '\0';
        if (memchr(line, '\0', n))
            wrong = "NUL byte";
        else if (*line && *line != '#')
            wrong = read_line(line, mutants, reasons);
        free(line);
        at += n + 1;
    }
    if (!wrong)
        return true;
    aphi_buffer_format(error, "%s:%zu: %s", path, number, wrong);
    for (size_t i = 0; i < mutants->n; i++) {
        free(reasons[i]);
        reasons[i] = NULL;
    }
    return false;
}
