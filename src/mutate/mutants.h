/* SPDX-License-Identifier: Apache-2.0
 *
 * mutants.h - the mutants of a C source: each is the source with one piece of it replaced.
 *
 * They come in the order of the source, and at one place in the order of the operators, so a number means the same
 * mutant as long as the source is the same. What stays when lines are added elsewhere is the identity: the operator,
 * the function, what is replaced and by what, and which of those that are alike in all this it is. */
#ifndef APHI_MUTATE_MUTANTS_H
#define APHI_MUTATE_MUTANTS_H

#include "base/buffer.h"
#include "mutate/csource.h"

#define APHI_OPERATORS(X) \
    X(RELATIONAL, "relational", "< <= > >= == != for each other") \
    X(ARITHMETIC, "arithmetic", "+ - * / %, & | ^, << >>, ++ --, and the assignments with them") \
    X(LOGICAL, "logical", "&& for ||, conditions negated, ! left out") \
    X(CONSTANT, "constant", "integers to 0, 1, -1, one more and one less; true for false") \
    X(VARIABLE, "variable", "another variable of the same scope and type") \
    X(FIELD, "field", "another field of the same struct and type") \
    X(ENUMERATOR, "enumerator", "another name of the same enum") \
    X(DELETE, "delete", "a statement left out") \
    X(ARMS, "arms", "the arms of if and ?: exchanged, and the labels of neighbouring cases") \
    X(RETURN, "return", "0, 1, -1 or the opposite returned")

typedef enum aphi_operator {
#define X(name, text, what) APHI_OPERATOR_##name,
    APHI_OPERATORS(X)
#undef X
    APHI_OPERATOR_COUNT
} aphi_operator;

const char *aphi_operator_name(aphi_operator o);
const char *aphi_operator_what(aphi_operator o);

typedef struct aphi_mutant {
    size_t number; /* from 1 */
    aphi_operator operator;
    unsigned line, column;
    size_t begin, end;    /* the bytes that are replaced, */
    char *text;           /* and by what: as many lines */
    char *before, *after; /* the same on one line, shortened if it is long */
    char *function;       /* "-" outside of all */
    size_t occurrence;    /* from 1 */
} aphi_mutant;

typedef struct aphi_mutants {
    aphi_mutant *items;
    size_t n, capacity;
} aphi_mutants;

/* All there are. False: it is no C. To be freed, in both cases. */
bool aphi_mutants_find(const char *text, size_t size, aphi_mutants *mutants, aphi_cerror *error);
void aphi_mutants_free(aphi_mutants *mutants);

/* For whoever finds them: another one. They are numbered when all are there. */
void aphi_mutants_add(aphi_mutants *mutants, const aphi_csource *s, aphi_operator operator, const char *function,
                      size_t begin, size_t end, const char *text);

/* The source of a mutant; of NULL, as it is. */
void aphi_mutant_write(aphi_buffer *out, const char *text, size_t size, const aphi_mutant *m);
/* What it changes, as diff -u shows it, with `path` as the name of both files. */
void aphi_mutant_diff(aphi_buffer *out, const char *text, size_t size, const char *path, const aphi_mutant *m);
/* Its identity on one line:  relational main "<" "<=" 2 */
void aphi_mutant_identity(aphi_buffer *out, const aphi_mutant *m);

#endif
