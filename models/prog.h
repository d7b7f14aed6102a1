/* SPDX-License-Identifier: Apache-2.0
 *
 * prog.h - the language Prog of Li, "Testing by dualization" (chapters 2 and 3), for small integer servers.
 *
 *     # compare and reset
 *     if !1 <= !2 then !1 := 0; return
 *     else !1 := 1; !2 := !0; return
 *
 * docs/writing-models.md describes syntax and semantics. A program becomes an ordinary model. As in the paper, its
 * traces have one request at a time, so the usual environment is "sync". Under "tcp" the program serves concurrent
 * clients. */
#ifndef APH_PROG_H
#define APH_PROG_H

#include <antiphon/model.h>

typedef struct aph_prog_error {
    int line, column; /* from 1; columns count bytes */
    char message[120];
} aph_prog_error;

/* Parses a program of n bytes. Copies the name, which becomes the name of the model. Returns a model to be freed with
 * aph_prog_free, or NULL on an error. Stops the process if memory is exhausted. */
aph_model *aph_prog_read(const char *text, size_t n, const char *name, aph_prog_error *error);
void aph_prog_free(aph_model *model);

#endif
