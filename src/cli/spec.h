/* SPDX-License-Identifier: Apache-2.0
 *
 * spec.h - from what the user wrote for SPEC to a model.
 *
 *     register        the name of a built-in model
 *     ./mine.c        a model in C, compiled with the system's compiler; compiled again only when its text changed
 *     ./mine.so       a model that was compiled before
 *     ./mine.prog     a program in Prog
 */
#ifndef APHI_CLI_SPEC_H
#define APHI_CLI_SPEC_H

#include <antiphon/model.h>

typedef enum aphi_spec_kind { APHI_SPEC_BUILTIN, APHI_SPEC_C, APHI_SPEC_LIBRARY, APHI_SPEC_PROG } aphi_spec_kind;

typedef struct aphi_spec {
    const aph_model *model; /* valid until aphi_spec_close */
    aphi_spec_kind kind;
    void *library;          /* of dlopen */
    aph_model *prog;
} aphi_spec;

typedef enum aphi_spec_fault {
    APHI_SPEC_NO_SUCH,     /* neither a built-in model nor a kind of file that we know */
    APHI_SPEC_UNREADABLE,  /* the file cannot be read */
    APHI_SPEC_SYNTAX,      /* a program in Prog with an error */
    APHI_SPEC_COMPILE,     /* the compiler did not accept it; it has said why on stderr */
    APHI_SPEC_SETUP,       /* no compiler, no headers, no place for the result */
    APHI_SPEC_LOAD,        /* not a library that can be loaded here */
    APHI_SPEC_NO_MAIN,     /* no aph_model_main in it, or no model from that */
    APHI_SPEC_VERSION,     /* made for another version of Antiphon */
} aphi_spec_fault;

typedef struct aphi_spec_error {
    aphi_spec_fault fault;
    char message[1024];    /* complete, for people; no newline at its end */
} aphi_spec_error;

/* On success *spec is to be closed. On failure *error says why, and there is nothing to close. */
bool aphi_spec_open(const char *text, aphi_spec *spec, aphi_spec_error *error);
/* The model must no longer be in use, nor a tree made from it. */
void aphi_spec_close(aphi_spec *spec);

#endif
