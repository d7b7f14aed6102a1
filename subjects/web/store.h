/* SPDX-License-Identifier: Apache-2.0
 *
 * store.h - the resources, in memory, with the validators of their representations. */
#ifndef WEB_STORE_H
#define WEB_STORE_H

#include "buffer.h"

#include <stdbool.h>
#include <time.h>

enum { STORE_MAX = 64 * 1024 * 1024, TAG_SIZE = 40 };

typedef struct resource {
    char *path;
    char *type; /* of its content, from the client; or NULL */
    buffer content;
    char tag[TAG_SIZE]; /* as in ETag: W/"..." or "..." */
    time_t modified;
    bool twice; /* it changed more than once in the second of its last change */
} resource;

/* Returns the time in seconds; it never goes back. */
time_t store_now(void);

/* Returns NULL if there is no such resource. */
resource *store_find(const char *path);

/* Returns true if there is room for a resource with the path and for `bytes` more bytes. */
bool store_has_room(const char *path, size_t bytes);

/* Creates an empty resource; the path must not exist. */
resource *store_add(const char *path);

void store_remove(resource *r);

/* Sets the type of the content. */
void store_set_type(resource *r, const char *type);

/* Appends to the content, or clears it. Does not change the validators. */
void store_append(resource *r, const void *bytes, size_t count);
void store_clear(resource *r);

/* Sets the modification time to now. */
void store_touch(resource *r);

/* Sets a new tag, which was never used before. */
void store_renew_tag(resource *r);

#endif
