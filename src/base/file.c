/* SPDX-License-Identifier: Apache-2.0
 *
 * file.c - writing files as a whole, replacing files, and locks; see file.h. */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/buffer.h"
#include "base/memory.h"

enum { NAMES = 100 }; /* of temporary files, tried */

/* ---- whole files ------------------------------------------------------------------------------------------------- */

/* Opens a new file beside the path. Returns -1 with errno. */
static int open_temporary(aphi_file *f)
{
    int fd = -1;
    for (int i = 0; i < NAMES && fd < 0; i++) {
        aphi_buffer name = {0};
        aphi_buffer_format(&name, "%s.%d-%d.tmp", f->path, (int)getpid(), i);
        fd = open(aphi_buffer_text(&name), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
        if (fd >= 0)
            f->temporary = name.data;
        else
            aphi_buffer_free(&name);
        if (fd < 0 && errno != EEXIST)
            break;
    }
    return fd;
}

/* Devices and pipes are written at once, and also a file in a folder that does not allow new files. */
static int open_file(aphi_file *f)
{
    struct stat about;
    bool exists = stat(f->path, &about) == 0;
    if (exists && S_ISDIR(about.st_mode)) {
        errno = EISDIR;
        return -1;
    }
    if (exists && !S_ISREG(about.st_mode))
        return open(f->path, O_WRONLY | O_CLOEXEC);
    int fd = open_temporary(f);
    if (fd < 0 && exists && errno == EACCES)
        fd = open(f->path, O_WRONLY | O_TRUNC | O_NOFOLLOW | O_CLOEXEC);
    return fd;
}

static void free_names(aphi_file *f)
{
    free(f->path);
    free(f->temporary);
    *f = (aphi_file){0};
}

bool aphi_file_create(aphi_file *f, const char *path)
{
    *f = (aphi_file){.path = aphi_copy(path, strlen(path) + 1)};
    int fd = open_file(f), failure = errno;
    f->stream = fd >= 0 ? fdopen(fd, "w") : NULL;
    if (f->stream)
        return true;
    free_names(f);
    errno = failure;
    return false;
}

bool aphi_file_commit(aphi_file *f)
{
    bool written = !fflush(f->stream) && !ferror(f->stream);
    int failure = errno;
    if (fclose(f->stream) && written) {
        written = false;
        failure = errno;
    }
    if (written && f->temporary && rename(f->temporary, f->path)) {
        written = false;
        failure = errno;
    }
    if (!written && f->temporary)
        unlink(f->temporary);
    free_names(f);
    errno = failure;
    return written;
}

void aphi_file_discard(aphi_file *f)
{
    fclose(f->stream);
    if (f->temporary)
        unlink(f->temporary);
    free_names(f);
}

bool aphi_file_is_writable(const char *path)
{
    aphi_file file;
    bool created = aphi_file_create(&file, path);
    if (created)
        aphi_file_discard(&file);
    return created;
}

/* ---- files in a folder ------------------------------------------------------------------------------------------- */

int aphi_file_replace(const char *path)
{
    if (unlink(path) != 0 && errno != ENOENT)
        return -1;
    return open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
}

int aphi_file_open(const char *path)
{
    struct stat about;
    if (stat(path, &about) == 0 && !S_ISREG(about.st_mode))
        return open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0666);
    return fd < 0 && errno == ELOOP ? aphi_file_replace(path) : fd;
}

int aphi_file_lock(const char *path, pid_t *holder)
{
    char text[32] = "";
    *holder = 0;
    int fd = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (fd < 0)
        return -1;
    if (flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
        if (pread(fd, text, sizeof text - 1, 0) > 0)
            *holder = (pid_t)atoi(text);
        close(fd);
        errno = EWOULDBLOCK;
        return -1;
    }
    snprintf(text, sizeof text, "%d\n", (int)getpid()); /* for messages; some file systems have no locks */
    if (ftruncate(fd, 0) == 0 && pwrite(fd, text, strlen(text), 0) < 0)
        errno = 0;
    return fd;
}
