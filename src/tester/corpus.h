/* SPDX-License-Identifier: Apache-2.0
 *
 * corpus.h - the folder of failing scripts, which are tried first on the next run. */
#ifndef APHI_TESTER_CORPUS_H
#define APHI_TESTER_CORPUS_H

#include "script/script.h"

/* folder: NULL stands for .antiphon in the current one. */

/* Writes the script as MODEL-HASH.script, the hash being that of its content: the same script is kept once, and another
 * one never overwritten. The folder is made if need be. path receives where it is. On failure says what to do. */
bool aphi_corpus_save(const char *folder, const aphi_script *s, char *path, size_t path_size, char *error,
                    size_t error_size);

typedef struct aphi_corpus_entry {
    char **paths; /* the one saved last comes first */
    size_t count;
} aphi_corpus_entry;

/* The scripts of a model; none if there is no such folder. */
bool aphi_corpus_list(const char *folder, const char *model, aphi_corpus_entry *kept, char *error, size_t error_size);
void aphi_corpus_free(aphi_corpus_entry *kept);

#endif
