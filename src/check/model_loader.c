/* SPDX-License-Identifier: Apache-2.0
 *
 * model_loader.c - built-in models, programs in Prog, and models compiled from C or loaded as shared libraries.
 *
 * Idea:       a model in C becomes a shared library in the user's cache. Its file name is a hash of the preprocessed
 *             text (and thus of every included header), the compiler, the compiler's options, and APH_MODEL_VERSION.
 * Invariants: 1. A library is renamed into the cache when it is complete: readers never see a partial file, and
 *                concurrent runs do not interfere with each other.
 *             2. Nothing is loaded from a directory that others can write to. If there is no private cache, the model
 *                is compiled in a new private directory, which is removed before the model runs.
 * Cost:       the preprocessor for each load of a model in C (about 10 ms), and the compiler if the text is new.
 * Not done:   a hash of the source alone, without the preprocessor: a changed header would go unnoticed, and a stale
 *             model would give wrong verdicts. */
#include <antiphon/check.h>

#include "base/buffer.h"
#include "base/memory.h"
#include "base/process.h"
#include "models/models.h"
#include "models/prog.h"
#include "tree/step.h"

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

__attribute__((format(printf, 3, 4))) static bool fail(aph_load_error *error, aph_load_fault fault,
                                                       const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(error->message, sizeof error->message, format, args);
    va_end(args);
    error->fault = fault;
    return false;
}

static bool ends_with(const char *text, const char *end)
{
    size_t n = strlen(text), m = strlen(end);
    return n > m && !strcmp(text + n - m, end);
}

/* ---- built-in models --------------------------------------------------------------------------------------------- */

/* Returns the edit distance of the first 32 bytes. */
static size_t edit_distance(const char *a, const char *b)
{
    enum { MAX = 32 };
    size_t n = strnlen(a, MAX), m = strnlen(b, MAX), row[MAX + 1];
    for (size_t j = 0; j <= m; j++)
        row[j] = j;
    for (size_t i = 1; i <= n; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= m; j++) {
            size_t change = diagonal + (a[i - 1] != b[j - 1]);
            size_t other = 1 + (row[j] < row[j - 1] ? row[j] : row[j - 1]);
            diagonal = row[j];
            row[j] = change < other ? change : other;
        }
    }
    return row[m];
}

static const char *nearest_name(const char *text)
{
    size_t n, best = strlen(text) / 3 + 2;
    const char *name = NULL;
    const aph_model *const *models = aph_models(&n);
    for (size_t i = 0; i < n; i++) {
        size_t d = edit_distance(text, models[i]->name);
        if (d < best) {
            best = d;
            name = models[i]->name;
        }
    }
    return name;
}

static bool fail_no_such(const char *text, aph_load_error *error)
{
    size_t n;
    const aph_model *const *models = aph_models(&n);
    const char *near = nearest_name(text);
    aphi_buffer list = {0};
    for (size_t i = 0; i < n; i++)
        aphi_buffer_format(&list, "%s%s", i ? ", " : "", models[i]->name);
    fail(error, APH_LOAD_NO_SUCH,
         "no model named '%s'%s%s%s\nbuilt-in models: %s\n"
         "a model of your own is a file: ./mine.c, ./mine.so or ./mine.prog",
         text, near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "", aphi_buffer_text(&list));
    aphi_buffer_free(&list);
    return false;
}

/* ---- Prog -------------------------------------------------------------------------------------------------------- */

static bool fail_unreadable(const char *path, aph_load_error *error)
{
    return fail(error, APH_LOAD_UNREADABLE, "cannot read %s: %s", path, strerror(errno));
}

/* The model in "dir/abs.prog" is called "abs". */
static char *stem(const char *path)
{
    const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
    size_t n = (size_t)(strrchr(base, '.') - base);
    char *name = aphi_copy(base, n + 1);
    name[n] = '\0';
    return name;
}

static bool open_prog(const char *path, aph_loaded_model *loaded, aph_load_error *error)
{
    aphi_buffer text = {0};
    aph_prog_error place;
    bool ok = aphi_buffer_load(&text, path, SIZE_MAX) || fail_unreadable(path, error);
    if (ok) {
        char *name = stem(path);
        loaded->copy = aph_prog_read(text.data, text.n, name, &place);
        free(name);
        ok = loaded->copy ||
             fail(error, APH_LOAD_SYNTAX, "%s:%d:%d: %s", path, place.line, place.column, place.message);
    }
    loaded->model = loaded->copy;
    aphi_buffer_free(&text);
    return ok;
}

/* ---- libraries --------------------------------------------------------------------------------------------------- */

/* dlsym returns an object pointer, which POSIX allows to be read as a function pointer. */
typedef const aph_model *model_main(void);
static model_main *find_main(void *library)
{
    model_main *f;
    void *symbol = dlsym(library, "aph_model_main");
    memcpy(&f, &symbol, sizeof f);
    return f;
}

/* dlerror names a file in the cache; the message names the source and a remedy. */
static bool fail_load(const char *shown, aph_load_error *error)
{
    static const char missing[] = "undefined symbol: ";
    const char *why = dlerror(), *name = strstr(why, missing);
    if (!name)
        return fail(error, APH_LOAD_LIBRARY, "cannot load %s: %s", shown, why);
    name += strlen(missing);
    int n = (int)strcspn(name, " ,(\n");
    return fail(error, APH_LOAD_LIBRARY, "%s uses '%.*s', which is defined neither there nor in antiphon\n%s", shown, n,
                name,
                strncmp(name, "aph_", 4)
                    ? "define it in the model, or correct the name; if a library defines it, compile the model with "
                      "that library and pass the .so"
                    : "correct the name: <antiphon/model.h> and <antiphon/value.h> declare the functions for models");
}

/* Copies the model. A library that was compiled with an earlier header has fewer fields; those that it lacks are
 * zero. */
static aph_model *copy_model(void *library, const aph_model *model)
{
    const size_t *known = dlsym(library, "aph_model_size");
    const bool *ignores_connections = dlsym(library, "aph_model_ignores_connections");
    size_t size = known ? *known : offsetof(aph_model, patience_ms);
    aph_model *copy = aphi_alloc_zero(sizeof *copy);
    memcpy(copy, model, size < sizeof *copy ? size : sizeof *copy);
    copy->ignores_connections = ignores_connections && *ignores_connections;
    return copy;
}

/* shown: the path given by the caller, for messages. */
static bool open_library(const char *path, const char *shown, aph_loaded_model *loaded, aph_load_error *error)
{
    char *file = aphi_alloc(strlen(path) + 3); /* dlopen searches the system directories for a bare name */
    sprintf(file, "%s%s", strchr(path, '/') ? "" : "./", path);
    loaded->library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    free(file);
    if (!loaded->library)
        return fail_load(shown, error);
    model_main *get = find_main(loaded->library);
    const aph_model *model = get ? get() : NULL;
    if (!model)
        return fail(error, APH_LOAD_NO_MODEL, "%s: no model; end the file with APH_MODEL(the_model)", shown);
    if (model->version != APH_MODEL_VERSION)
        return fail(error, APH_LOAD_VERSION,
                    "%s: written for model version %d, not %d; set .version = APH_MODEL_VERSION and "
                    "compile it again",
                    shown, model->version, APH_MODEL_VERSION);
    if (!model->name || !model->step)
        return fail(error, APH_LOAD_NO_MODEL, "%s: the model has no %s", shown, model->name ? ".step" : ".name");
    loaded->model = loaded->copy = copy_model(loaded->library, model);
    return !aphi_model_contradiction(loaded->model) ||
           fail(error, APH_LOAD_NO_MODEL, "%s: %s", shown, aphi_model_contradiction(loaded->model));
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
    fail(error, APH_LOAD_SETUP,
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
    fail(error, APH_LOAD_SETUP, "%s: cannot create a directory to compile in: %s; set TMPDIR to another place", b.data,
         strerror(errno));
    aphi_buffer_free(&b);
    return NULL;
}

/* ---- compiling --------------------------------------------------------------------------------------------------- */

enum { ARGS_MAX = 64 };

typedef struct compilation {
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
            return fail(error, APH_LOAD_SETUP, "CC: more than %d words", ARGS_MAX / 2);
        c->argv[c->argc++] = word;
    }
    return c->argc > 0 || fail(error, APH_LOAD_SETUP, "CC is blank; set it to a C compiler, or unset it");
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
        return fail(error, APH_LOAD_SETUP, "cannot run the C compiler '%s'%s%s; set CC to another", c->argv[0],
                    status < 0 && errno ? ": " : "", status < 0 && errno ? strerror(errno) : "");
    return status == 0 || fail(error, APH_LOAD_COMPILE, "%s does not compile", c->source);
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
    aphi_buffer_format(&text, "%d", APH_MODEL_VERSION);
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
    bool ignores = ignores_connections(c);
    int argc = c->argc;
    aphi_buffer_format(&temporary, "%s/new-XXXXXX", directory);
    int fd = mkstemp(aphi_buffer_text(&temporary));
    bool ok = fd >= 0 || fail(error, APH_LOAD_SETUP, "cannot write to %s: %s", directory, strerror(errno));
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
                 fail(error, APH_LOAD_SETUP, "cannot write %s: %s", target, strerror(errno));
        }
        if (!ok)
            unlink(temporary.data);
    }
    aphi_buffer_free(&temporary);
    return ok;
}

/* Loads the library from the cache, after compiling it if it is missing or cannot be loaded. */
static bool open_cached(compilation *c, const char *directory, const char *target, const char *shown,
                        aph_loaded_model *loaded, aph_load_error *error)
{
    if (access(target, R_OK) == 0) {
        if (open_library(target, shown, loaded, error))
            return true;
        aph_model_unload(loaded);
    }
    return compile_library(c, directory, target, error) && open_library(target, shown, loaded, error);
}

static bool build_and_open(compilation *c, const char *shown, aph_loaded_model *loaded, aph_load_error *error)
{
    uint64_t key;
    if (!cache_key(c, &key, error))
        return false;
    char *cache = find_cache(), *directory = cache ? cache : make_scratch(error);
    if (!directory)
        return false;
    aphi_buffer target = {0};
    aphi_buffer_format(&target, "%s/%016" PRIx64 ".so", directory, key);
    bool ok = open_cached(c, directory, aphi_buffer_text(&target), shown, loaded, error);
    if (!cache) { /* the loaded library stays mapped */
        unlink(target.data);
        rmdir(directory);
    }
    free(directory);
    aphi_buffer_free(&target);
    return ok;
}

static bool open_c(const char *path, aph_loaded_model *loaded, aph_load_error *error)
{
    compilation c = {0};
    if (access(path, R_OK) < 0)
        return fail_unreadable(path, error);
    aphi_buffer source = {0}, include = {0};
    aphi_buffer_format(&source, "%s%s", path[0] == '-' ? "./" : "", path);
    c.source = aphi_buffer_text(&source);
    c.include = find_include(error);
    bool ok = c.include && find_compiler(&c, error);
    if (ok) {
        aphi_buffer_format(&include, "-I%s", c.include);
        add_argument(&c, &c.argc, "-std=c17");
        add_argument(&c, &c.argc, "-O2");
        add_argument(&c, &c.argc, "-fPIC");
        add_argument(&c, &c.argc, aphi_buffer_text(&include));
        ok = build_and_open(&c, path, loaded, error);
    }
    free(c.include);
    free(c.compiler);
    aphi_buffer_free(&include);
    aphi_buffer_free(&source);
    return ok;
}

/* ---- any model --------------------------------------------------------------------------------------------------- */

static bool open_spec(const char *spec, aph_loaded_model *loaded, aph_load_error *error)
{
    loaded->model = aph_model_named(spec);
    loaded->source = APH_MODEL_BUILTIN;
    if (loaded->model)
        return true;
    if (ends_with(spec, ".prog")) {
        loaded->source = APH_MODEL_PROG;
        return open_prog(spec, loaded, error);
    }
    if (ends_with(spec, ".so")) {
        loaded->source = APH_MODEL_LIBRARY;
        return access(spec, R_OK) == 0 ? open_library(spec, spec, loaded, error) : fail_unreadable(spec, error);
    }
    if (ends_with(spec, ".c")) {
        loaded->source = APH_MODEL_C;
        return open_c(spec, loaded, error);
    }
    return fail_no_such(spec, error);
}

bool aph_model_load(const char *spec, aph_loaded_model *loaded, aph_load_error *error)
{
    *loaded = (aph_loaded_model){0};
    bool ok = open_spec(spec, loaded, error);
    loaded->environment = loaded->source == APH_MODEL_PROG ? "sync" : "tcp";
    if (!ok)
        aph_model_unload(loaded);
    return ok;
}

void aph_model_unload(aph_loaded_model *loaded)
{
    if (loaded->source == APH_MODEL_PROG)
        aph_prog_free(loaded->copy);
    else
        free(loaded->copy);
    if (loaded->library)
        dlclose(loaded->library);
    *loaded = (aph_loaded_model){.source = loaded->source};
}
