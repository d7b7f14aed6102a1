/* SPDX-License-Identifier: Apache-2.0
 *
 * prog.h - the language Prog of Li, "Testing by dualization" (chapters 2 and 3): a server of integers in a few lines.
 *
 *     # compare and reset
 *     if !1 <= !2 then !1 := 0; return
 *     else !1 := 1; !2 := !0; return
 *
 * docs/writing-models.md has the syntax and semantics. A program is read into a model, which works like any
 * other. Its traces are those of the paper, queries answered one at a time, so the environment for them is normally
 * "sync"; under "tcp" the same program is a server of concurrent clients. */
#ifndef APH_PROG_H
#define APH_PROG_H

#include <antiphon/model.h>

typedef struct aph_prog_error {
    int line, column; /* from 1; columns count bytes */
    char message[120];
} aph_prog_error;

/* Reads a program from n bytes of text. The name, which is copied, becomes the model's. The result is freed with
 * aph_prog_free; NULL if there is an error. Stops the process if there is no memory. */
aph_model *aph_prog_read(const char *text, size_t n, const char *name, aph_prog_error *error);
void aph_prog_free(aph_model *model);

#endif
