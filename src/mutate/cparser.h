/* SPDX-License-Identifier: Apache-2.0
 *
 * cparser.h - a light parser of C that finds mutants as it parses.
 *
 *     cstatements.c     functions, blocks, statements: deletion, negation, exchange
 *     cdeclarations.c   declarations: the names in scope and their types
 *     cexpressions.c    expressions, token by token
 *
 * The parser compares types by their spelling and does not expand macros. It skips code that it does not understand. So
 * a mutant may be missed or may not compile, but its change is always the described one. */
#ifndef APHI_MUTATE_CPARSER_H
#define APHI_MUTATE_CPARSER_H

#include "mutate/mutants.h"

typedef struct aphi_cvariable {
    size_t word; /* its name in its declaration */
    char *type;  /* NULL: not understood; the variable hides outer ones, but never replaces another */
    bool local;
} aphi_cvariable;

/* Fields of structs, enumerators, names of types. */
typedef struct aphi_cmember {
    size_t word, group;
    char *type; /* of a field; NULL: not understood */
} aphi_cmember;

typedef struct aphi_cmembers {
    aphi_cmember *items;
    size_t n, capacity;
} aphi_cmembers;

typedef struct aphi_cparser {
    const aphi_csource *s;
    aphi_mutants *out;
    aphi_cvariable *variables; /* in scope, the innermost last */
    size_t variable_count, variable_capacity;
    aphi_cmembers fields, enumerators, types;
    aphi_cmembers structs; /* names of groups of fields: tags, and typedef names defined with them */
    size_t groups, group;  /* number of groups; the group of the struct that is being parsed */
    char *function, *returns; /* the current function and its return type; NULL: none */
    unsigned depth;           /* of nested statements and declarations */
} aphi_cparser;

enum { APHI_CPARSE_DEPTH_MAX = 200 }; /* code that is nested deeper is skipped */

typedef enum aphi_cplace { APHI_C_FILE, APHI_C_BLOCK, APHI_C_STRUCT, APHI_C_PARAMETER } aphi_cplace;

/* The head of a function definition in a file, before its body; name is SIZE_MAX if there is none. */
typedef struct aphi_chead {
    size_t name, parameters; /* words: its name, and the opening bracket of the list */
    char *returns;           /* the caller frees it */
} aphi_chead;

void aphi_cparse_source(const aphi_csource *s, aphi_mutants *out);
/* Parses the words of a block, without its brackets. */
void aphi_cparse_block(aphi_cparser *p, size_t from, size_t to);
void aphi_cparse_expression(aphi_cparser *p, size_t from, size_t to);

/* Returns true if a declaration begins at i. */
bool aphi_cparse_is_declaration(const aphi_cparser *p, size_t i);
/* Parses a declaration; head may be NULL. Returns the word after the declaration, or after its understood part; always
 * above i. */
size_t aphi_cparse_declaration(aphi_cparser *p, size_t i, size_t end, aphi_cplace place, aphi_chead *head);

/* Returns the innermost variable with this name, or NULL. */
const aphi_cvariable *aphi_cparse_find_variable(const aphi_cparser *p, size_t word);
bool aphi_cparse_is_type(const aphi_cparser *p, size_t word);
bool aphi_cparse_is_enumerator(const aphi_cparser *p, size_t word);
/* Ends a scope: drops the variables from index variable_count on. */
void aphi_cparse_leave_scope(aphi_cparser *p, size_t variable_count);

/* Adds a mutant that replaces the words `from` to `to` - 1. */
void aphi_cparse_add_mutant(aphi_cparser *p, aphi_operator operator, size_t from, size_t to, const char *text);
/* Appends the source text of these words, with the spaces between them. */
void aphi_cparse_add_text(const aphi_cparser *p, size_t from, size_t to, aphi_buffer *out);
/* Returns the first word outside brackets with one of the spellings, which are separated by spaces; `to` if there is
 * none. */
size_t aphi_cparse_find(const aphi_cparser *p, size_t from, size_t to, const char *spellings);
/* Like aphi_cparse_find, for the : that ends a label or the first arm of ?:. */
size_t aphi_cparse_find_colon(const aphi_cparser *p, size_t from, size_t to);

#endif
