/* SPDX-License-Identifier: Apache-2.0
 *
 * store.c - the resources in memory.
 *
 * Idea:       a balanced tree, sorted by path (tsearch), so that no set of paths makes it slow. A tag consists of the
 *             start time of the server and the number of the change, so it is not reused after a DELETE or a restart.
 *             Every second tag is weak, so that clients get both kinds.
 * Cost:       up to STORE_MAX bytes; each resource counts RESOURCE_COST in addition to its path and content. */
#include "store.h"

#include <search.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RESOURCE_COST = 512 };

static void *root;        /* of the tree */
static size_t count;      /* resources */
static size_t held;       /* bytes of their contents */
static time_t now;
static time_t removed_at; /* time of the last removal */
static uint64_t changes;
static uint32_t birth;    /* milliseconds; the first part of all tags */

time_t store_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t); /* time() may lag behind other clocks by a second */
    if (!birth)
        birth = (uint32_t)((uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000) | 1;
    now = t.tv_sec > now ? t.tv_sec : now;
    return now;
}

static int compare(const void *a, const void *b)
{
    return strcmp(((const resource *)a)->path, ((const resource *)b)->path);
}

resource *store_find(const char *path)
{
    resource key = {.path = (char *)(uintptr_t)path};
    void *node = tfind(&key, &root, compare);
    return node ? *(resource **)node : NULL;
}

bool store_has_room(const char *path, size_t bytes)
{
    return held + count * RESOURCE_COST + strlen(path) + bytes <= STORE_MAX;
}

static void *need(void *memory)
{
    if (!memory)
        out_of_memory();
    return memory;
}

resource *store_add(const char *path)
{
    resource *r = need(calloc(1, sizeof *r));
    r->path = need(strdup(path));
    need(tsearch(r, &root, compare));
    count++;
    /* An earlier resource may have been removed in this second. */
    r->modified = removed_at;
    return r;
}

void store_remove(resource *r)
{
    tdelete(r, &root, compare);
    count--;
    removed_at = store_now();
    store_clear(r);
    free(r->type);
    free(r->path);
    free(r);
}

void store_set_type(resource *r, const char *type)
{
    free(r->type);
    r->type = type ? need(strdup(type)) : NULL;
}

void store_append(resource *r, const void *bytes, size_t size)
{
    buffer_put(&r->content, bytes, size);
    held += size;
}

void store_clear(resource *r)
{
    held -= buffer_size(&r->content);
    buffer_free(&r->content);
}

void store_touch(resource *r)
{
    r->twice = r->modified == store_now();
    r->modified = now;
}

void store_renew_tag(resource *r)
{
    changes++;
    snprintf(r->tag, sizeof r->tag, "%s\"%08x-%llx\"", changes % 2 ? "" : "W/", (unsigned)birth,
             (unsigned long long)changes);
}
