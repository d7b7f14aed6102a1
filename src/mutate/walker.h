/* SPDX-License-Identifier: Apache-2.0
 *
 * walker.h - a walk through a C source, what it has seen on its way, and the mutants that it finds.
 *
 *     cstatement.c   functions, blocks, statements: what can be left out, negated or exchanged
 *     cdeclare.c     declarations: which names are there, and of which types
 *     cexpress.c     expressions, token by token
 *
 * The walk is light: it knows no types but by their words, and expands no macro. What it does not understand it skips:
 * there may be a mutant less, or one that does not compile, but never one whose change is another than it says. */
#ifndef APHI_MUTATE_WALKER_H
#define APHI_MUTATE_WALKER_H

#include "mutate/mutants.h"

typedef struct aphi_cvariable {
    size_t word; /* where it is declared: its name */
    char *type;  /* NULL: not understood; hides others, but takes no one's place */
    bool local;
} aphi_cvariable;

/* A field of a struct, or an enumerator. */
typedef struct aphi_cmember {
    size_t word, group;
    char *type; /* of a field; NULL: not understood */
} aphi_cmember;

typedef struct aphi_walker {
    const aphi_csource *s;
    aphi_mutants *out;
    aphi_cvariable *variables; /* those that are in scope, the innermost last */
    size_t variable_count, variable_capacity;
    aphi_cmember *fields, *enumerators;
    size_t field_count, field_capacity, enumerator_count, enumerator_capacity, groups;
    aphi_cmember *structs; /* the words that name the groups of fields: tags, and types that are defined with them */
    size_t struct_count, struct_capacity;
    size_t *types; /* words that were seen to name a type */
    size_t type_count, type_capacity;
    char *function, *returns; /* the one that we are in, and the type that it returns; NULL: in none */
    unsigned depth;           /* of statements and declarations */
} aphi_walker;

enum { APHI_WALK_DEPTH = 200 }; /* nested deeper than that, it is not looked at */

typedef enum aphi_cplace { APHI_C_FILE, APHI_C_BLOCK, APHI_C_STRUCT, APHI_C_PARAMETER } aphi_cplace;

/* A function's head that a declaration ends with, before its body; name is SIZE_MAX if there is none. */
typedef struct aphi_chead {
    size_t name, parameters; /* words: its name, and the bracket that opens the list */
    char *returns;           /* the walker frees it if nobody takes it */
} aphi_chead;

void aphi_walk_source(const aphi_csource *s, aphi_mutants *out);
/* The words of a block, without its brackets. */
void aphi_walk_block(aphi_walker *w, size_t from, size_t to);
void aphi_walk_expression(aphi_walker *w, size_t from, size_t to);

/* Does a declaration begin here? */
bool aphi_walk_is_declaration(const aphi_walker *w, size_t i);
/* Reads one; the word behind it, or where it was understood no longer, which is behind i. */
size_t aphi_walk_declaration(aphi_walker *w, size_t i, size_t end, aphi_cplace place, aphi_chead *head);

/* The innermost variable with this name; NULL: none. */
const aphi_cvariable *aphi_walk_variable(const aphi_walker *w, size_t word);
bool aphi_walk_is_type(const aphi_walker *w, size_t word);
bool aphi_walk_is_enumerator(const aphi_walker *w, size_t word);
/* The variables that were declared since there were so many go out of scope. */
void aphi_walk_leave(aphi_walker *w, size_t variable_count);

/* The words from `from` up to the one before `to` are replaced. */
void aphi_walk_found(aphi_walker *w, aphi_operator operator, size_t from, size_t to, const char *text);
/* The bytes of these words and of what is between them. */
void aphi_walk_text(const aphi_walker *w, size_t from, size_t to, aphi_buffer *out);
/* The first of these words, which are separated by spaces, outside of brackets; `to` if there is none. */
size_t aphi_walk_next(const aphi_walker *w, size_t from, size_t to, const char *spellings);
/* As above, the : that ends a label or the first arm of ?:. */
size_t aphi_walk_colon(const aphi_walker *w, size_t from, size_t to);

#endif
