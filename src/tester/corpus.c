/* SPDX-License-Identifier: Apache-2.0
 *
 * corpus.c - the folder of failing scripts.
 *
 * Idea:       A file name contains the model and a hash of the script, so no index is needed. The time of the file is
 *             the time of the latest failure: saving a script again moves it to the front.
 * Cost:       Listing reads every entry of the folder once. */
#include "tester/corpus.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/buffer.h"
#include "base/error.h"
#include "base/memory.h"

/* ---- names ------------------------------------------------------------------------------------------------------- */

/* Converts the name of a model for a file name: characters other than letters and digits become '_'. */
static void make_file_name(const char *model, char *name, size_t size)
{
    size_t n = 0;
    for (; model[n] && n + 1 < size; n++)
        name[n] = isalnum((unsigned char)model[n]) ? model[n] : '_';
    name[n] = 0;
    if (n == 0)
        snprintf(name, size, "script");
}

/* Returns true for MODEL-HASH.script and MODEL-HASH-N.script. */
static bool is_of_model(const char *file, const char *name)
{
    size_t n = strlen(name), length = strlen(file);
    return length >= n + 24 && !strncmp(file, name, n) && file[n] == '-' &&
           strspn(file + n + 1, "0123456789abcdef") == 16 && !strcmp(file + length - 7, ".script");
}

/* ---- saving ------------------------------------------------------------------------------------------------------ */

static bool has_text(const char *path, const char *text, size_t n)
{
    aphi_buffer found = {0};
    bool same = aphi_buffer_load(&found, path, n + 1) && found.n == n && (n == 0 || !memcmp(found.data, text, n));
    aphi_buffer_free(&found);
    return same;
}

bool aphi_corpus_save(const char *folder, const aphi_script *s, char *path, size_t path_size, char *error,
                      size_t error_size)
{
    char name[64];
    size_t n;
    make_file_name(s->model, name, sizeof name);
    char *text = aphi_script_text(s, &n);
    uint64_t hash = aphi_hash_bytes(text, n);
    bool kept = false;
    for (int i = 1; !kept; i++) {
        char number[16] = "";
        if (i > 1)
            snprintf(number, sizeof number, "-%d", i);
        snprintf(path, path_size, "%s/%s-%016" PRIx64 "%s.script", folder, name, hash, number);
        if (access(path, F_OK) != 0)
            break;
        kept = has_text(path, text, n);
    }
    free(text);
    if (!kept)
        return aphi_script_write(path, s, error, error_size);
    utimensat(AT_FDCWD, path, NULL, AT_SYMLINK_NOFOLLOW); /* moves it to the front; failure is harmless */
    return true;
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

bool aphi_corpus_read(const char *path, const aph_model *model, aphi_script *s, char *error, size_t error_size)
{
    struct stat about;
    if (lstat(path, &about) == 0 && !S_ISREG(about.st_mode))
        return aphi_fail(error, error_size, "%s: not a regular file; symbolic links are not followed", path);
    if (!aphi_script_read(path, s, error, error_size))
        return false;
    bool valid = s->count ? aphi_script_check(path, s, model->functions, error, error_size)
                          : aphi_fail(error, error_size, "%s: a script without actions", path);
    if (!valid)
        aphi_script_free(s);
    return valid;
}

/* ---- listing ----------------------------------------------------------------------------------------------------- */

typedef struct entry {
    char *path;
    struct timespec time;
} entry;

static int compare_entries(const void *a, const void *b)
{
    const entry *x = a, *y = b;
    if (x->time.tv_sec != y->time.tv_sec)
        return x->time.tv_sec > y->time.tv_sec ? -1 : 1;
    if (x->time.tv_nsec != y->time.tv_nsec)
        return x->time.tv_nsec > y->time.tv_nsec ? -1 : 1;
    return strcmp(x->path, y->path);
}

bool aphi_corpus_list(const char *folder, const char *model, aphi_corpus *kept, char *error, size_t error_size)
{
    *kept = (aphi_corpus){0};
    DIR *all = opendir(folder);
    if (!all && errno == ENOENT)
        return true;
    if (!all) {
        snprintf(error, error_size, "%s: cannot list the failing scripts: %s", folder, strerror(errno));
        return false;
    }
    char name[64];
    make_file_name(model, name, sizeof name);
    entry *entries = NULL;
    size_t count = 0, capacity = 0;
    for (struct dirent *d; (d = readdir(all));) {
        struct stat about;
        if (!is_of_model(d->d_name, name) || fstatat(dirfd(all), d->d_name, &about, AT_SYMLINK_NOFOLLOW) != 0)
            continue;
        aphi_buffer path = {0};
        aphi_buffer_format(&path, "%s/%s", folder, d->d_name);
        APHI_RESERVE(entries, capacity, count + 1);
        entries[count++] = (entry){aphi_buffer_text(&path), about.st_mtim};
    }
    closedir(all);
    if (count > 0)
        qsort(entries, count, sizeof *entries, compare_entries);
    kept->paths = aphi_alloc((count + 1) * sizeof *kept->paths);
    for (size_t i = 0; i < count; i++)
        kept->paths[kept->count++] = entries[i].path;
    free(entries);
    return true;
}

void aphi_corpus_free(aphi_corpus *kept)
{
    for (size_t i = 0; i < kept->count; i++)
        free(kept->paths[i]);
    free(kept->paths);
    *kept = (aphi_corpus){0};
}
