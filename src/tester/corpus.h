/* SPDX-License-Identifier: Apache-2.0
 *
 * corpus.h - the folder of failing scripts, which the next campaign tries first. */
#ifndef APHI_TESTER_CORPUS_H
#define APHI_TESTER_CORPUS_H

#include "script/script.h"

#include <antiphon/model.h>

/* Writes the script as MODEL-HASH.script, with the hash of its content. Equal scripts are stored once, and others are
 * never overwritten. path receives the path. Returns false with a message on failure. */
bool aphi_corpus_save(const char *folder, const aphi_script *s, char *path, size_t path_size, char *error,
                      size_t error_size);

typedef struct aphi_corpus {
    char **paths; /* the latest first */
    size_t count;
} aphi_corpus;

/* Lists the scripts of a model. The list is empty if there is no such folder. Returns false with a message on
 * failure. */
bool aphi_corpus_list(const char *folder, const char *model, aphi_corpus *kept, char *error, size_t error_size);
/* Reads a script that the model can run. Returns false with a message. */
bool aphi_corpus_read(const char *path, const aph_model *model, aphi_script *s, char *error, size_t error_size);
void aphi_corpus_free(aphi_corpus *kept);

#endif
