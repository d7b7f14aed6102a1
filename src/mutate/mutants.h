/* SPDX-License-Identifier: Apache-2.0
 *
 * mutants.h - the mutants of a C source: each is the source with one piece replaced.
 *
 * Mutants are numbered in source order, and at one place in the order of the operators. So a number denotes the same
 * mutant while the source is unchanged. The identity of a mutant does not change when lines are added elsewhere: it is
 * the operator, the function, the replaced text, the replacement, and an index among mutants that agree in these. */
#ifndef APHI_MUTATE_MUTANTS_H
#define APHI_MUTATE_MUTANTS_H

#include "base/buffer.h"
#include "mutate/csource.h"

#define APHI_OPERATORS(X) \
    X(RELATIONAL, "relational", "< <= > >= == != exchanged") \
    X(ARITHMETIC, "arithmetic", "+ - * / %, & | ^, << >>, ++ --, and the corresponding assignments") \
    X(LOGICAL, "logical", "&& and || exchanged, conditions negated, ! removed") \
    X(CONSTANT, "constant", "integers to 0, 1, -1, n + 1 and n - 1; true and false exchanged") \
    X(VARIABLE, "variable", "a variable replaced by another of the same scope and type") \
    X(FIELD, "field", "a field replaced by another of the same struct and type") \
    X(ENUMERATOR, "enumerator", "an enumerator replaced by another of the same enum") \
    X(DELETE, "delete", "a statement deleted") \
    X(ARMS, "arms", "the arms of if and ?: exchanged, and the labels of adjacent cases") \
    X(RETURN, "return", "0, 1, -1 or the negated value returned")

typedef enum aphi_operator {
#define X(name, text, summary) APHI_OPERATOR_##name,
    APHI_OPERATORS(X)
#undef X
    APHI_OPERATOR_COUNT
} aphi_operator;

const char *aphi_operator_name(aphi_operator o);
const char *aphi_operator_summary(aphi_operator o);

typedef struct aphi_mutant {
    size_t number; /* from 1 */
    aphi_operator operator;
    unsigned line, column;
    size_t begin, end;    /* the replaced bytes */
    char *text;           /* the replacement, with the same number of lines */
    char *before, *after; /* both on one line, shortened if long */
    char *function;       /* "-" outside functions */
    size_t occurrence;    /* from 1 */
} aphi_mutant;

typedef struct aphi_mutants {
    aphi_mutant *items;
    size_t n, capacity;
} aphi_mutants;

/* Finds all mutants. Returns false if the text is not C. The caller frees the list in both cases. */
bool aphi_mutants_find(const char *text, size_t size, aphi_mutants *mutants, aphi_cerror *error);
void aphi_mutants_free(aphi_mutants *mutants);

/* Appends a mutant; for the parser. aphi_mutants_find numbers them. */
void aphi_mutants_add(aphi_mutants *mutants, const aphi_csource *s, aphi_operator operator, const char *function,
                      size_t begin, size_t end, const char *text);

/* Appends the source of a mutant, or the original if the mutant is NULL. */
void aphi_mutant_write(aphi_buffer *out, const char *text, size_t size, const aphi_mutant *m);
/* Appends the change as a unified diff, with `path` as the name of both files. */
void aphi_mutant_diff(aphi_buffer *out, const char *text, size_t size, const char *path, const aphi_mutant *m);
/* Appends the text in quotes, with backslashes before quotes and backslashes. */
void aphi_mutant_add_quoted(aphi_buffer *out, const char *text);
/* Appends the identity on one line:  relational main "<" "<=" 2 */
void aphi_mutant_identity(aphi_buffer *out, const aphi_mutant *m);

/* Reads a list of mutants known to behave like the original (known_equivalents.c). A line is an identity, a colon and a
 * reason; empty lines and lines that begin with # are ignored:
 *
 *     relational main "<" "!=" 1: i increases by one, so it reaches the end
 *
 * text[size] is NUL. reasons[i] belongs to mutant i and is NULL if the mutant is not listed; the caller frees it. If a
 * line is invalid, returns false with an error that names the line; all reasons are NULL then. */
bool aphi_known_equivalents_read(const char *path, const char *text, size_t size, const aphi_mutants *mutants,
                                 char **reasons, aphi_buffer *error);

#endif
