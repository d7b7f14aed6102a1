/* SPDX-License-Identifier: Apache-2.0
 *
 * csource.h - the tokens of a C source that a parser looks at: words, with their brackets matched.
 *
 * Spaces, comments and preprocessor lines are no words. Of #if ... #else ... #endif the first part alone counts, or, of
 * #if 0, the second: the parts need not be C together. Words are numbered from 0; a number that is not below `n` is a
 * word that is nothing, so a parser may look ahead without care. */
#ifndef APHI_MUTATE_CSOURCE_H
#define APHI_MUTATE_CSOURCE_H

#include "mutate/ctokens.h"

typedef struct aphi_csource {
    const char *text; /* the caller's; it must stay */
    size_t size;
    aphi_ctokens tokens;
    size_t *words; /* which token each is */
    size_t *match; /* of a bracket: the word with the other one; of others: themselves */
    size_t n;
} aphi_csource;

/* False: it is no C, or a bracket has no other; there is nothing to be closed. */
bool aphi_csource_open(aphi_csource *s, const char *text, size_t size, aphi_cerror *error);
void aphi_csource_close(aphi_csource *s);

const aphi_ctoken *aphi_csource_token(const aphi_csource *s, size_t word);
/* Is it spelled like this? Never true of strings, characters and words with a line's end inside. Digraphs are spelled
 * like what they stand for. */
bool aphi_csource_is(const aphi_csource *s, size_t word, const char *spelling);
/* Is it one of those, which are separated by single spaces? */
bool aphi_csource_among(const aphi_csource *s, size_t word, const char *spellings);
bool aphi_csource_is_kind(const aphi_csource *s, size_t word, aphi_ctoken_kind kind);
/* An identifier that is no keyword. */
bool aphi_csource_is_name(const aphi_csource *s, size_t word);
bool aphi_csource_same(const aphi_csource *s, size_t a, size_t b);
/* Is a preprocessor line between the first of these words and the one before the second? */
bool aphi_csource_has_directive(const aphi_csource *s, size_t from, size_t to);

#endif
