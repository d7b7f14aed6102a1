/* SPDX-License-Identifier: Apache-2.0
 *
 * shared_object.c - models and networks in C, compiled to shared objects.
 *
 * Idea:       a C source becomes a shared object in the user's cache. Its file name is a hash of the preprocessed text
 *             (and thus of every included header), the compiler, the compiler's options, and the version of the header.
 * Invariants: 1. An object is renamed into the cache when it is complete: readers never see a partial file, and
 *                concurrent runs do not interfere with each other.
 *             2. Nothing is loaded from a directory that others can write to. If there is no private cache, the source
 *                is compiled in a new private directory, which is removed before the code runs.
 * Cost:       the preprocessor for each load of a C source (about 10 ms), and the compiler if the text is new.
 * Not done:   a hash of the source alone, without the preprocessor: a changed header would go unnoticed, and a stale
 *             model would give wrong verdicts. */
#include "check/shared_object.h"

#include "base/buffer.h"
#include "base/memory.h"
#include "base/process.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char built_in_anchor; /* an address in the library */

/* ---- errors ------------------------------------------------------------------------------------------------------ */

bool aphi_load_fail(aph_load_error *error, aph_load_fault fault, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(error->message, sizeof error->message, format, args);
    va_end(args);
    error->fault = fault;
    return false;
}

bool aphi_load_fail_unreadable(const char *path, aph_load_error *error)
{
    return aphi_load_fail(error, APH_LOAD_UNREADABLE, "cannot read %s: %s", path, strerror(errno));
}

/* dlerror names a file in the cache; the message names the source and a remedy. */
static void fail_load(const char *shown, aph_load_error *error)
{
    static const char missing[] = "undefined symbol: ";
    const char *why = dlerror(), *name = strstr(why, missing);
    if (!name) {
        aphi_load_fail(error, APH_LOAD_LIBRARY, "cannot load %s: %s", shown, why);
        return;
    }
    name += strlen(missing);
    int n = (int)strcspn(name, " ,(\n");
    aphi_load_fail(error, APH_LOAD_LIBRARY, "%s uses '%.*s', which is defined neither there nor in antiphon\n%s",
                shown, n, name,
                strncmp(name, "aph_", 4)
                    ? "define it in the model, or correct the name; if a library defines it, compile the model with "
                      "that library and pass the .so"
                    : "correct the name: <antiphon/model.h> and <antiphon/value.h> declare the functions for models");
}

void *aphi_object_open(const char *path, const char *shown, aph_load_error *error)
{
    char *file = aphi_alloc(strlen(path) + 3); /* dlopen searches the system directories for a bare name */
    sprintf(file, "%s%s", strchr(path, '/') ? "" : "./", path);
    void *object = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    free(file);
    if (!object)
        fail_load(shown, error);
    return object;
}

/* ---- directories ------------------------------------------------------------------------------------------------- */

static void cut_file_name(char *path)
{
    char *slash = strrchr(path, '/');
    if (slash)
        *slash = '\0';
}

static void find_self(char program[PATH_MAX], char library[PATH_MAX])
{
    Dl_info self;
    aphi_process_self(program);
    if (!dladdr(&built_in_anchor, &self) || !realpath(self.dli_fname, library))
        strcpy(library, program);
    cut_file_name(program);
    cut_file_name(library);
}

/* Returns the directory that contains antiphon/model.h, which the caller frees: $ANTIPHON_INCLUDE, or one next to the
 * directory of the program or the library (PREFIX/bin, PREFIX/lib, build), or next to its parent (build/plain). */
static char *find_include(aph_load_error *error)
{
    char program[PATH_MAX], library[PATH_MAX];
    const char *variable = getenv("ANTIPHON_INCLUDE");
    bool given = variable && *variable;
    find_self(program, library);
    const char *const places[][2] = {{given ? variable : program, given ? "" : "/../include"},
                                     {program, "/../../include"},
                                     {library, "/../include"},
                                     {library, "/../../include"}};
    aphi_buffer b = {0};
    for (size_t i = 0; i < (given ? 1 : sizeof places / sizeof *places); i++) {
        b.n = 0;
        aphi_buffer_format(&b, "%s%s/antiphon/model.h", places[i][0], places[i][1]);
        if (access(aphi_buffer_text(&b), R_OK) == 0) {
            b.data[b.n - strlen("/antiphon/model.h")] = '\0';
            return b.data;
        }
    }
    aphi_load_fail(error, APH_LOAD_SETUP,
         "antiphon/model.h: not found in %s%s; set ANTIPHON_INCLUDE to the directory that contains antiphon/",
         places[0][0], places[0][1]);
    aphi_buffer_free(&b);
    return NULL;
}

/* Returns true for a directory, not a link to one, that only this user can write to. */
static bool is_private(const char *directory)
{
    struct stat s;
    return lstat(directory, &s) == 0 && S_ISDIR(s.st_mode) && s.st_uid == geteuid() &&
           !(s.st_mode & (S_IWGRP | S_IWOTH));
}

/* Returns true if other users cannot rename its entries. */
static bool is_safe_parent(const char *directory)
{
    struct stat s;
    return stat(directory, &s) == 0 && (s.st_uid == geteuid() || s.st_uid == 0) &&
           (!(s.st_mode & (S_IWGRP | S_IWOTH)) || (s.st_mode & S_ISVTX));
}

/* Creates $XDG_CACHE_HOME/antiphon or ~/.cache/antiphon if needed. Returns NULL if that fails or it is not private. */
static char *find_cache(void)
{
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    aphi_buffer b = {0};
    if (cache && cache[0] == '/')
        aphi_buffer_str(&b, cache);
    else if (home && home[0] == '/')
        aphi_buffer_format(&b, "%s/.cache", home);
    else
        return NULL;
    mkdir(aphi_buffer_text(&b), 0700);
    bool safe = is_safe_parent(b.data);
    aphi_buffer_str(&b, "/antiphon");
    if (safe)
        mkdir(aphi_buffer_text(&b), 0700);
    if (safe && is_private(b.data) && access(b.data, W_OK | X_OK) == 0)
        return b.data;
    aphi_buffer_free(&b);
    return NULL;
}

static char *make_scratch(aph_load_error *error)
{
    const char *place = getenv("TMPDIR");
    aphi_buffer b = {0};
    aphi_buffer_format(&b, "%s/antiphon-XXXXXX", place && *place ? place : "/tmp");
    if (mkdtemp(aphi_buffer_text(&b)))
        return b.data;
    aphi_load_fail(error, APH_LOAD_SETUP,
                   "%s: cannot create a directory to compile in: %s; set TMPDIR to another place", b.data,
                   strerror(errno));
    aphi_buffer_free(&b);
    return NULL;
}

/* ---- compiling --------------------------------------------------------------------------------------------------- */

enum { ARGS_MAX = 64 };

typedef struct compilation {
    const aphi_object_source *of;
    const char *source; /* with ./ before a name that starts with a minus sign */
    char *compiler;     /* $CC split into words */
    char *include;
    char *argv[ARGS_MAX];
    int argc;           /* arguments that all calls have in common */
} compilation;

/* $CC may be more than one word: "ccache gcc". */
static bool find_compiler(compilation *c, aph_load_error *error)
{
    const char *cc = getenv("CC");
    char *rest = NULL;
    aphi_buffer b = {0};
    aphi_buffer_str(&b, cc && *cc ? cc : "cc");
    c->compiler = aphi_buffer_text(&b);
    for (char *word = strtok_r(c->compiler, " \t", &rest); word; word = strtok_r(NULL, " \t", &rest)) {
        if (c->argc == ARGS_MAX / 2)
            return aphi_load_fail(error, APH_LOAD_SETUP, "CC: more than %d words", ARGS_MAX / 2);
        c->argv[c->argc++] = word;
    }
    return c->argc > 0 || aphi_load_fail(error, APH_LOAD_SETUP, "CC is blank; set it to a C compiler, or unset it");
}

static void add_argument(compilation *c, int *argc, const char *word)
{
    c->argv[(*argc)++] = (char *)word; /* exec does not write to it */
    c->argv[*argc] = NULL;
}

/* Runs the compiler with our stderr. Appends its stdout to *out, unless out is NULL. */
static bool run_compiler(compilation *c, aphi_buffer *out, aph_load_error *error)
{
    int status = aphi_process_run(&(aphi_process_options){.argv = c->argv}, out);
    if (status < 0 || status == 127)
        return aphi_load_fail(error, APH_LOAD_SETUP, "cannot run the C compiler '%s'%s%s; set CC to another",
                              c->argv[0], status < 0 && errno ? ": " : "", status < 0 && errno ? strerror(errno) : "");
    return status == 0 || aphi_load_fail(error, APH_LOAD_COMPILE, "%s does not compile", c->source);
}

static bool cache_key(compilation *c, uint64_t *key, aph_load_error *error)
{
    aphi_buffer text = {0};
    int argc = c->argc;
    add_argument(c, &argc, "-w"); /* the compilation prints the warnings */
    add_argument(c, &argc, "-E");
    add_argument(c, &argc, c->source);
    bool ok = run_compiler(c, &text, error);
    for (int i = 0; ok && i < c->argc; i++)
        aphi_buffer_add(&text, c->argv[i], strlen(c->argv[i]) + 1);
    aphi_buffer_format(&text, "%d %d", APH_MODEL_VERSION, c->of->is_model ? 0 : APH_NETWORK_VERSION);
    *key = aph_hash(aph_bytes(text.data, text.n));
    aphi_buffer_free(&text);
    return ok;
}

/* Returns true if the model uses the numbers of connections only as arguments of aph_send. */
static bool ignores_connections(compilation *c)
{
    int argc = c->argc;
    add_argument(c, &argc, "-w");
    add_argument(c, &argc, "-fsyntax-only");
    add_argument(c, &argc, "-DAPH_OPAQUE_CONNECTIONS");
    add_argument(c, &argc, c->source);
    return aphi_process_run(&(aphi_process_options){.argv = c->argv, .err = APHI_PROCESS_NULL}, NULL) == 0;
}

static void sync_file(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd >= 0) {
        fsync(fd);
        close(fd);
    }
}

static bool compile_library(compilation *c, const char *directory, const char *target, aph_load_error *error)
{
    aphi_buffer temporary = {0};
    bool ignores = c->of->is_model && ignores_connections(c);
    int argc = c->argc;
    aphi_buffer_format(&temporary, "%s/new-XXXXXX", directory);
    int fd = mkstemp(aphi_buffer_text(&temporary));
    bool ok = fd >= 0 || aphi_load_fail(error, APH_LOAD_SETUP, "cannot write to %s: %s", directory, strerror(errno));
    if (ok) {
        close(fd);
        if (ignores)
            add_argument(c, &argc, "-DAPH_IGNORES_CONNECTIONS");
        add_argument(c, &argc, "-shared");
        add_argument(c, &argc, "-o");
        add_argument(c, &argc, temporary.data);
        add_argument(c, &argc, c->source);
        ok = run_compiler(c, NULL, error);
        if (ok) {
            sync_file(temporary.data); /* a power failure must not leave the name without the content */
            ok = rename(temporary.data, target) == 0 ||
                 aphi_load_fail(error, APH_LOAD_SETUP, "cannot write %s: %s", target, strerror(errno));
        }
        if (!ok)
            unlink(temporary.data);
    }
    aphi_buffer_free(&temporary);
    return ok;
}

/* Loads the library from the cache, after compiling it if it is missing or cannot be loaded. */
static bool open_cached(compilation *c, const char *directory, const char *target, aph_load_error *error)
{
    const aphi_object_source *s = c->of;
    if (access(target, R_OK) == 0 && s->open(s->context, target, s->path, error))
        return true;
    return compile_library(c, directory, target, error) && s->open(s->context, target, s->path, error);
}

static bool build_and_open(compilation *c, aph_load_error *error)
{
    uint64_t key;
    if (!cache_key(c, &key, error))
        return false;
    char *cache = find_cache(), *directory = cache ? cache : make_scratch(error);
    if (!directory)
        return false;
    aphi_buffer target = {0};
    aphi_buffer_format(&target, "%s/%016" PRIx64 ".so", directory, key);
    bool ok = open_cached(c, directory, aphi_buffer_text(&target), error);
    if (!cache) { /* the loaded library stays mapped */
        unlink(target.data);
        rmdir(directory);
    }
    free(directory);
    aphi_buffer_free(&target);
    return ok;
}

bool aphi_object_compile(const aphi_object_source *of, aph_load_error *error)
{
    compilation c = {.of = of};
    if (access(of->path, R_OK) < 0)
        return aphi_load_fail_unreadable(of->path, error);
    aphi_buffer source = {0}, include = {0};
    aphi_buffer_format(&source, "%s%s", of->path[0] == '-' ? "./" : "", of->path);
    c.source = aphi_buffer_text(&source);
    c.include = find_include(error);
    bool ok = c.include && find_compiler(&c, error);
    if (ok) {
        aphi_buffer_format(&include, "-I%s", c.include);
        add_argument(&c, &c.argc, "-std=c17");
        add_argument(&c, &c.argc, "-O2");
        add_argument(&c, &c.argc, "-fPIC");
        add_argument(&c, &c.argc, aphi_buffer_text(&include));
        ok = build_and_open(&c, error);
    }
    free(c.include);
    free(c.compiler);
    aphi_buffer_free(&include);
    aphi_buffer_free(&source);
    return ok;
}
