/* SPDX-License-Identifier: Apache-2.0
 *
 * memory_file.h - a file in memory, for fuzz targets of functions that read a path. */
#ifndef MEMORY_FILE_H
#define MEMORY_FILE_H

#include <assert.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

typedef struct memory_file {
    int fd;
    char path[40];
} memory_file;

/* Makes a file with two pieces of content. */
static memory_file memory_file_make(const void *head, size_t head_size, const void *data, size_t size)
{
    memory_file f = {.fd = memfd_create("fuzz", MFD_CLOEXEC)};
    assert(f.fd >= 0 && write(f.fd, head, head_size) == (ssize_t)head_size && write(f.fd, data, size) == (ssize_t)size);
    snprintf(f.path, sizeof f.path, "/proc/self/fd/%d", f.fd);
    return f;
}

static void memory_file_close(const memory_file *f)
{
    close(f->fd);
}

#endif
