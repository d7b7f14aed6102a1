/* SPDX-License-Identifier: Apache-2.0
 *
 * ctokens.h - a C source as tokens, none of its bytes left out.
 *
 * Spaces, comments and preprocessor lines are tokens, too: the texts of all tokens, one behind the other, are the
 * source. A preprocessor line is one token, with the lines that a backslash joins to it. Nothing is expanded. */
#ifndef APHI_MUTATE_CTOKENS_H
#define APHI_MUTATE_CTOKENS_H

#include <stdbool.h>
#include <stddef.h>

typedef enum aphi_ctoken_kind {
    APHI_C_SPACE,      /* with ends of lines, and backslashes that join two */
    APHI_C_COMMENT,
    APHI_C_DIRECTIVE,  /* without the end of its line */
    APHI_C_IDENTIFIER, /* keywords, too */
    APHI_C_NUMBER,
    APHI_C_CHARACTER,  /* with its prefix, as strings */
    APHI_C_STRING,
    APHI_C_PUNCTUATOR,
} aphi_ctoken_kind;

typedef struct aphi_ctoken {
    aphi_ctoken_kind kind;
    size_t begin, end;     /* bytes of the source */
    unsigned line, column; /* from 1, in bytes */
    bool spliced;          /* a backslash at the end of a line is in it: its bytes are not its spelling */
} aphi_ctoken;

typedef struct aphi_ctokens {
    aphi_ctoken *items;
    size_t n, capacity;
} aphi_ctokens;

typedef struct aphi_cerror {
    unsigned line, column;
    const char *message;
} aphi_cerror;

/* False: it is no C; the error says where and why, and there are no tokens. */
bool aphi_ctokens_read(const char *text, size_t n, aphi_ctokens *tokens, aphi_cerror *error);
void aphi_ctokens_free(aphi_ctokens *tokens);

#endif
