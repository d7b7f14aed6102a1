/* SPDX-License-Identifier: Apache-2.0
 *
 * ctokens.h - the tokens of a C source, which cover all of its bytes.
 *
 * Spaces, comments and preprocessor directives are tokens, too: the concatenated texts of all tokens are the source. A
 * directive, including its continuation lines, is one token. Macros are not expanded. */
#ifndef APHI_MUTATE_CTOKENS_H
#define APHI_MUTATE_CTOKENS_H

#include <stdbool.h>
#include <stddef.h>

typedef enum aphi_ctoken_kind {
    APHI_C_SPACE,      /* with newlines and line splices */
    APHI_C_COMMENT,
    APHI_C_DIRECTIVE,  /* without its newline */
    APHI_C_IDENTIFIER, /* and keywords */
    APHI_C_NUMBER,
    APHI_C_CHARACTER,  /* with its prefix, like strings */
    APHI_C_STRING,
    APHI_C_PUNCTUATOR,
} aphi_ctoken_kind;

typedef struct aphi_ctoken {
    aphi_ctoken_kind kind;
    size_t begin, end;     /* bytes of the source */
    unsigned line, column; /* from 1, in bytes */
    bool spliced;          /* contains a line splice, so its bytes differ from its spelling */
} aphi_ctoken;

typedef struct aphi_ctokens {
    aphi_ctoken *items;
    size_t n, capacity;
} aphi_ctokens;

typedef struct aphi_cerror {
    unsigned line, column;
    const char *message;
} aphi_cerror;

/* Returns false with an error and no tokens if the text is not C. */
bool aphi_ctokens_read(const char *text, size_t n, aphi_ctokens *tokens, aphi_cerror *error);
void aphi_ctokens_free(aphi_ctokens *tokens);

#endif
