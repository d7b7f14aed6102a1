/* SPDX-License-Identifier: Apache-2.0
 *
 * keep.h - the folder of failing scripts, which are tried first on the next run. */
#ifndef APHI_HARNESS_KEEP_H
#define APHI_HARNESS_KEEP_H

#include "script/script.h"

/* folder: NULL stands for .antiphon in the current one. */

/* Writes the script as MODEL-HASH.script, the hash being that of its content: the same script is kept once, and another
 * one never overwritten. The folder is made if need be. path receives where it is. On failure says what to do. */
bool aphi_keep_save(const char *folder, const aphi_script *s, char *path, size_t path_size, char *error,
                    size_t error_size);

typedef struct aphi_kept {
    char **paths; /* the one saved last comes first */
    size_t count;
} aphi_kept;

/* The scripts of a model; none if there is no such folder. */
bool aphi_keep_list(const char *folder, const char *model, aphi_kept *kept, char *error, size_t error_size);
void aphi_keep_free(aphi_kept *kept);

#endif
