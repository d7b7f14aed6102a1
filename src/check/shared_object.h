/* SPDX-License-Identifier: Apache-2.0
 *
 * shared_object.h - models and networks in C, compiled to shared objects; see shared_object.c. */
#ifndef APHI_CHECK_SHARED_OBJECT_H
#define APHI_CHECK_SHARED_OBJECT_H

#include <antiphon/check.h>

/* Opens a compiled object; on failure, it releases all that it has opened. shown: the path of the source. */
typedef bool aphi_object_opener(void *context, const char *object, const char *shown, aph_load_error *error);

typedef struct aphi_object_source {
    const char *path;
    bool is_model;      /* otherwise a network */
    aphi_object_opener *open;
    void *context;
} aphi_object_source;

/* Compiles a C source unless it is in the cache, and opens the result. */
bool aphi_object_compile(const aphi_object_source *of, aph_load_error *error);
/* Calls dlopen. Returns NULL and sets *error on failure. shown: the path for messages. */
void *aphi_object_open(const char *path, const char *shown, aph_load_error *error);

/* Set *error and return false. */
bool aphi_load_fail(aph_load_error *error, aph_load_fault fault, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
bool aphi_load_fail_unreadable(const char *path, aph_load_error *error); /* by errno */

#endif
