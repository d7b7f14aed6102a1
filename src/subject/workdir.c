/* SPDX-License-Identifier: Apache-2.0
 *
 * workdir.c - the folder and the files of a subject; see workdir.h. */
#include "subject/workdir.h"

#include <antiphon/model.h>

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

/* Makes the folder if it does not exist. Its path is absolute, because servers change their directory. */
static bool make_folder(aphi_workdir *d)
{
    if (d->folder)
        return true;
    const char *base = getenv("TMPDIR");
    aphi_buffer path = {0};
    aphi_buffer_format(&path, "%s/antiphon-XXXXXX", base && *base ? base : "/tmp");
    if (mkdtemp(aphi_buffer_text(&path)))
        d->folder = realpath(path.data, NULL);
    aphi_buffer_free(&path);
    aphi_reaper_set_folder(d->reaper, d->folder);
    return d->folder;
}

/* {listen} and {listen:I} */
typedef struct origin_names {
    char name[APH_ORIGINS_MAX][16], port[APH_ORIGINS_MAX][12];
} origin_names;

static size_t add_origins(const aphi_workdir *d, origin_names *n, const char *values[][2])
{
    size_t count = 0;
    for (size_t i = 0; i < d->origin_count && i < APH_ORIGINS_MAX; i++) {
        snprintf(n->name[i], sizeof n->name[i], "{listen:%zu}", i);
        snprintf(n->port[i], sizeof n->port[i], "%u", d->origins[i].port);
        values[count][0] = n->name[i];
        values[count++][1] = n->port[i];
    }
    if (count) {
        values[count][0] = "{listen}";
        values[count++][1] = n->port[0];
    }
    return count;
}

bool aphi_workdir_expand(aphi_workdir *d, const char *text, aphi_buffer *out)
{
    char port[12];
    const char *values[APH_ORIGINS_MAX + 4][2] = {0};
    origin_names names;
    if (strstr(text, "{dir}") && !make_folder(d))
        return false;
    snprintf(port, sizeof port, "%u", d->port);
    size_t n = add_origins(d, &names, values);
    values[n][0] = "{port}", values[n++][1] = port;
    values[n][0] = "{dir}", values[n++][1] = d->folder;
    aphi_buffer_expand(out, text, strlen(text), (const char *const(*)[2])values); /* C17 does not add the const */
    return true;
}

static bool write_bytes(const char *path, const char *text, size_t n)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    bool written = fd >= 0 && aphi_write_all(fd, text, n) == n;
    return fd >= 0 && close(fd) == 0 && written;
}

static bool date_back(const char *path)
{
    time_t then = time(NULL) - 24 * 60 * 60;
    struct timespec dates[] = {{.tv_sec = then}, {.tv_sec = then}};
    return utimensat(AT_FDCWD, path, dates, 0) == 0;
}

static bool write_file(aphi_workdir *d, const aphi_subject_file *file, char *error, size_t size)
{
    aphi_buffer path = {0}, text = {0};
    aphi_buffer_format(&path, "%s/%s", d->folder, file->name);
    const char *name = aphi_buffer_text(&path);
    bool made = file->size   ? write_bytes(name, file->text, file->size)
                : file->text ? aphi_workdir_expand(d, file->text, &text) && write_bytes(name, text.data, text.n)
                             : mkdir(name, 0700) == 0;
    made = made && (!file->old || date_back(name));
    made = made && (!d->owned || chown(name, d->owner, d->group) == 0);
    if (!made)
        aphi_fail(error, size, "%s: cannot be written: %s", name, strerror(errno));
    aphi_buffer_free(&path);
    aphi_buffer_free(&text);
    return made;
}

/* Returns true if all users can reach the folder, whose owner is another user. */
static bool is_reachable(const aphi_workdir *d, char *error, size_t size)
{
    for (const char *slash = d->folder + 1; (slash = strchr(slash, '/')); slash++) {
        struct stat about;
        char *above = aphi_copy(d->folder, (size_t)(slash - d->folder) + 1);
        above[slash - d->folder] = 0;
        bool open_to_all = stat(above, &about) == 0 && (about.st_mode & S_IXOTH);
        if (!open_to_all)
            aphi_fail(error, size, "%s: the user of the subject cannot enter it; set TMPDIR to a folder open to all "
                      "users, such as /tmp", above);
        free(above);
        if (!open_to_all)
            return false;
    }
    return true;
}

bool aphi_workdir_write(aphi_workdir *d, char *error, size_t size)
{
    if (d->file_count == 0)
        return true;
    if (!make_folder(d))
        return aphi_fail(error, size, "cannot create a temporary folder for {dir}: %s", strerror(errno));
    if (strpbrk(d->folder, "\"'\\$%{}*?[]\n"))
        return aphi_fail(error, size, "%s: special characters in the path break configuration files; set TMPDIR to a "
                         "path without them", d->folder);
    if (d->owned && chown(d->folder, d->owner, d->group) != 0)
        return aphi_fail(error, size, "%s: cannot be owned by the user of the subject: %s", d->folder, strerror(errno));
    if (d->owned && !is_reachable(d, error, size))
        return false;
    for (size_t i = 0; i < d->file_count; i++) {
        if (!write_file(d, &d->files[i], error, size))
            return false;
    }
    return true;
}

bool aphi_workdir_set_owner(aphi_workdir *d, const char *user, char *error, size_t size)
{
    if (!user || geteuid() != 0)
        return true;
    const struct passwd *entry = getpwnam(user);
    if (!entry)
        return aphi_fail(error, size, "%s: no such user; the subject would run as this user", user);
    d->owned = true;
    d->owner = entry->pw_uid;
    d->group = entry->pw_gid;
    return true;
}

void aphi_workdir_remove(aphi_workdir *d)
{
    if (!d->folder)
        return;
    aphi_remove_folder(d->folder);
    aphi_reaper_set_folder(d->reaper, NULL);
    free(d->folder);
    d->folder = NULL;
}
