/* SPDX-License-Identifier: Apache-2.0
 *
 * sketch.h - sequences of a model drawn one after the other, each compared with the one before. */
#ifndef APHI_CLI_SKETCH_H
#define APHI_CLI_SKETCH_H

#include "explore/sequence.h"

typedef struct aphi_sketch aphi_sketch;

/* Draws on stdout, if `draws`; on a page, if it has a name. */
aphi_sketch *aphi_sketch_open(const aphi_compiled_model *plan, bool draws, const char *page);
/* wrong: what is wrong with the sequence, or NULL; label: local events that have to do with it, or SIZE_MAX. */
void aphi_sketch_add(aphi_sketch *k, aphi_sequence *s, const char *wrong, size_t label);
/* Writes the page, with a sentence about all sequences. False: it could not; errno says why. */
bool aphi_sketch_close(aphi_sketch *k, const char *lead);

#endif
