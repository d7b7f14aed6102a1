/* SPDX-License-Identifier: Apache-2.0
 *
 * csource.h - the words of a C source: the tokens that a parser reads, with their brackets matched.
 *
 * Spaces, comments and directives are not words. Only the first part of #if ... #else ... #endif is read, or the second
 * part of #if 0, because both parts together need not be valid C. Words are numbered from 0. Every query returns false
 * for a number from `n` on, so a parser may look ahead without a check. */
#ifndef APHI_MUTATE_CSOURCE_H
#define APHI_MUTATE_CSOURCE_H

#include "mutate/ctokens.h"

typedef struct aphi_csource {
    const char *text; /* borrowed from the caller */
    size_t size;
    aphi_ctokens tokens;
    size_t *words; /* index of the token of each word */
    size_t *match; /* for a bracket: its partner; for any other word: the word itself */
    size_t n;
} aphi_csource;

/* Returns false if the text is not C or a bracket has no partner; then nothing needs to be closed. */
bool aphi_csource_open(aphi_csource *s, const char *text, size_t size, aphi_cerror *error);
void aphi_csource_close(aphi_csource *s);

const aphi_ctoken *aphi_csource_token(const aphi_csource *s, size_t word);
/* Compares the spelling. Always false for strings, characters and words with a line splice. A digraph is spelled like
 * the punctuator that it stands for. */
bool aphi_csource_is(const aphi_csource *s, size_t word, const char *spelling);
/* Like aphi_csource_is, for a list of spellings separated by single spaces. */
bool aphi_csource_among(const aphi_csource *s, size_t word, const char *spellings);
bool aphi_csource_is_kind(const aphi_csource *s, size_t word, aphi_ctoken_kind kind);
/* Returns true for an identifier that is not a keyword. */
bool aphi_csource_is_name(const aphi_csource *s, size_t word);
bool aphi_csource_same(const aphi_csource *s, size_t a, size_t b);
/* Returns true if a directive is between the words `from` and `to` - 1. */
bool aphi_csource_has_directive(const aphi_csource *s, size_t from, size_t to);

#endif
