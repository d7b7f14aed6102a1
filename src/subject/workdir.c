/* SPDX-License-Identifier: Apache-2.0
 *
 * workdir.c - the folder and the files of a subject; see workdir.h. */
#include "subject/workdir.h"

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "base/error.h"
#include "base/memory.h"

/* Sees to it that the folder is there. Its path is absolute: servers change their directory. */
static bool make_folder(aphi_workdir *o)
{
    if (o->folder)
        return true;
    const char *base = getenv("TMPDIR");
    aphi_buffer path = {0};
    aphi_buffer_format(&path, "%s/antiphon-XXXXXX", base && *base ? base : "/tmp");
    if (mkdtemp(aphi_buffer_text(&path)))
        o->folder = realpath(path.data, NULL);
    aphi_buffer_free(&path);
    if (o->folder && strlen(o->folder) < sizeof o->legacy->folder) {
        strcpy(o->legacy->folder, o->folder);
        o->legacy->has_folder = true;
    }
    return o->folder;
}

bool aphi_workdir_fill(aphi_workdir *o, const char *text, aphi_buffer *out)
{
    for (const char *c = text; *c;) {
        if (!strncmp(c, "{port}", 6)) {
            aphi_buffer_format(out, "%u", o->port);
            c += 6;
        } else if (o->listen && !strncmp(c, "{listen}", 8)) {
            aphi_buffer_format(out, "%u", o->listen);
            c += 8;
        } else if (!strncmp(c, "{dir}", 5)) {
            if (!make_folder(o))
                return false;
            aphi_buffer_str(out, o->folder);
            c += 5;
        } else {
            aphi_buffer_byte(out, *c++);
        }
    }
    return true;
}

static bool write_whole(const char *path, const char *text, size_t n)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    bool written = fd >= 0 && write(fd, text, n) == (ssize_t)n;
    return fd >= 0 && close(fd) == 0 && written;
}

static bool make_old(const char *path)
{
    time_t then = time(NULL) - 24 * 60 * 60;
    struct timespec dates[] = {{.tv_sec = then}, {.tv_sec = then}};
    return utimensat(AT_FDCWD, path, dates, 0) == 0;
}

static bool write_file(aphi_workdir *o, const aphi_subject_file *file, char *error, size_t size)
{
    aphi_buffer path = {0}, text = {0};
    aphi_buffer_format(&path, "%s/%s", o->folder, file->name);
    const char *name = aphi_buffer_text(&path);
    bool made = file->size   ? write_whole(name, file->text, file->size)
                : file->text ? aphi_workdir_fill(o, file->text, &text) && write_whole(name, text.data, text.n)
                             : mkdir(name, 0700) == 0;
    made = made && (!file->old || make_old(name));
    made = made && (!o->owned || chown(name, o->owner, o->group) == 0);
    if (!made)
        aphi_fail(error, size, "%s cannot be written: %s", name, strerror(errno));
    aphi_buffer_free(&path);
    aphi_buffer_free(&text);
    return made;
}

/* Can any user come to the folder? Its owner, who is not us, must. */
static bool is_reachable(const aphi_workdir *o, char *error, size_t size)
{
    for (const char *slash = o->folder + 1; (slash = strchr(slash, '/')); slash++) {
        struct stat about;
        char *above = aphi_copy(o->folder, (size_t)(slash - o->folder) + 1);
        above[slash - o->folder] = 0;
        bool open_to_all = stat(above, &about) == 0 && (about.st_mode & S_IXOTH);
        if (!open_to_all)
            aphi_fail(error, size, "the subject runs as another user, who may not enter %s: set TMPDIR to a folder "
                      "that all may enter, such as /tmp", above);
        free(above);
        if (!open_to_all)
            return false;
    }
    return true;
}

bool aphi_workdir_write(aphi_workdir *o, char *error, size_t size)
{
    if (o->file_count == 0)
        return true;
    if (!make_folder(o))
        return aphi_fail(error, size, "no temporary folder for {dir}: %s", strerror(errno));
    if (strpbrk(o->folder, "\"'\\$%{}*?[]\n"))
        return aphi_fail(error, size, "%s: such a path cannot be written into the configuration of a server; set "
                         "TMPDIR to a plainer one", o->folder);
    if (o->owned && chown(o->folder, o->owner, o->group) != 0)
        return aphi_fail(error, size, "%s cannot be given to the user of the subject: %s", o->folder, strerror(errno));
    if (o->owned && !is_reachable(o, error, size))
        return false;
    for (size_t i = 0; i < o->file_count; i++) {
        if (!write_file(o, &o->files[i], error, size))
            return false;
    }
    return true;
}

bool aphi_workdir_for(aphi_workdir *o, const char *user, char *error, size_t size)
{
    if (!user || geteuid() != 0)
        return true;
    const struct passwd *known = getpwnam(user);
    if (!known)
        return aphi_fail(error, size, "there is no user %s, as whom the subject would run", user);
    o->owned = true;
    o->owner = known->pw_uid;
    o->group = known->pw_gid;
    return true;
}

void aphi_workdir_remove(aphi_workdir *o)
{
    if (!o->folder)
        return;
    aphi_remove_folder(o->folder);
    o->legacy->has_folder = false;
    free(o->folder);
    o->folder = NULL;
}
