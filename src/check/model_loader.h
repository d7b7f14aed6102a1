/* SPDX-License-Identifier: Apache-2.0
 *
 * model_loader.h - from what the user wrote for SPEC to a model.
 *
 *     register        the name of a built-in model
 *     ./mine.c        a model in C, compiled with the system's compiler; compiled again only when its text changed
 *     ./mine.so       a model that was compiled before
 *     ./mine.prog     a program in Prog
 */
#ifndef APHI_CHECK_MODEL_LOADER_H
#define APHI_CHECK_MODEL_LOADER_H

#include <antiphon/model.h>

typedef enum aphi_model_loader_kind {
    APHI_LOADER_BUILTIN,
    APHI_LOADER_C,
    APHI_LOADER_LIBRARY,
    APHI_LOADER_PROG
} aphi_model_loader_kind;

typedef struct aphi_loaded_model {
    const aph_model *model; /* valid until aphi_model_loader_close */
    aphi_model_loader_kind kind;
    void *library;          /* of dlopen */
    aph_model *prog;
} aphi_loaded_model;

typedef enum aphi_model_loader_fault {
    APHI_LOADER_NO_SUCH,     /* neither a built-in model nor a kind of file that we know */
    APHI_LOADER_UNREADABLE,  /* the file cannot be read */
    APHI_LOADER_SYNTAX,      /* a program in Prog with an error */
    APHI_LOADER_COMPILE,     /* the compiler did not accept it; it has said why on stderr */
    APHI_LOADER_SETUP,       /* no compiler, no headers, no place for the result */
    APHI_LOADER_LOAD,        /* not a library that can be loaded here */
    APHI_LOADER_NO_MAIN,     /* no aph_model_main in it, or no model from that */
    APHI_LOADER_VERSION,     /* made for another version of Antiphon */
} aphi_model_loader_fault;

typedef struct aphi_model_loader_error {
    aphi_model_loader_fault fault;
    char message[1024];    /* complete, for people; no newline at its end */
} aphi_model_loader_error;

/* On success *spec is to be closed. On failure *error says why, and there is nothing to close. */
bool aphi_model_loader_open(const char *text, aphi_loaded_model *spec, aphi_model_loader_error *error);
/* The model must no longer be in use, nor a tree made from it. */
void aphi_model_loader_close(aphi_loaded_model *spec);

#endif
