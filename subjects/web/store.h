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
    char *type; /* of its content, as the client said; NULL if it did not */
    buffer content;
    char tag[TAG_SIZE]; /* as in ETag: W/"..." or "..." */
    time_t modified;
    bool twice; /* it had another content in the second of its last change */
} resource;

/* The time, in seconds; it never goes back. */
time_t store_now(void);

/* NULL if there is none. */
resource *store_find(const char *path);

/* There is place for a resource with such a path and so many bytes more. */
bool store_has_room(const char *path, size_t bytes);

/* A new one, which is empty. There is none yet. */
resource *store_add(const char *path);

void store_remove(resource *r);

/* It is of this type from now on. */
void store_set_type(resource *r, const char *type);

/* Its content grows, or goes. The validators are those of the old one until they are changed, too. */
void store_append(resource *r, const void *bytes, size_t count);
void store_clear(resource *r);

/* Its content has changed: a time. */
void store_touch(resource *r);

/* And a tag, which no representation of anything ever had. */
void store_renew_tag(resource *r);

#endif
