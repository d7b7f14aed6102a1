/* SPDX-License-Identifier: Apache-2.0
 *
 * model_loader.c - built-in models, programs in Prog, and models compiled from C or loaded as shared libraries.
 *
 * Read next: shared_object.c, which compiles a model in C. */
#include <antiphon/check.h>

#include "base/buffer.h"
#include "base/memory.h"
#include "check/shared_object.h"
#include "models/models.h"
#include "models/prog.h"
#include "tree/step.h"

#include <dlfcn.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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
    aphi_load_fail(error, APH_LOAD_NO_SUCH,
                   "no model named '%s'%s%s%s\nbuilt-in models: %s\n"
                   "a model of your own is a file: ./mine.c, ./mine.so or ./mine.prog",
                   text, near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "", aphi_buffer_text(&list));
    aphi_buffer_free(&list);
    return false;
}

/* ---- Prog -------------------------------------------------------------------------------------------------------- */

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
    bool ok = aphi_buffer_load(&text, path, SIZE_MAX) || aphi_load_fail_unreadable(path, error);
    if (ok) {
        char *name = stem(path);
        loaded->copy = aph_prog_read(text.data, text.n, name, &place);
        free(name);
        ok = loaded->copy ||
             aphi_load_fail(error, APH_LOAD_SYNTAX, "%s:%d:%d: %s", path, place.line, place.column, place.message);
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
    loaded->library = aphi_object_open(path, shown, error);
    if (!loaded->library)
        return false;
    model_main *get = find_main(loaded->library);
    const aph_model *model = get ? get() : NULL;
    if (!model)
        return aphi_load_fail(error, APH_LOAD_NO_MODEL, "%s: no model; end the file with APH_MODEL(the_model)", shown);
    if (model->version != APH_MODEL_VERSION)
        return aphi_load_fail(error, APH_LOAD_VERSION,
                    "%s: written for model version %d, not %d; set .version = APH_MODEL_VERSION and "
                    "compile it again",
                    shown, model->version, APH_MODEL_VERSION);
    if (!model->name || !model->step)
        return aphi_load_fail(error, APH_LOAD_NO_MODEL, "%s: the model has no %s", shown,
                              model->name ? ".step" : ".name");
    loaded->model = loaded->copy = copy_model(loaded->library, model);
    return !aphi_model_contradiction(loaded->model) ||
           aphi_load_fail(error, APH_LOAD_NO_MODEL, "%s: %s", shown, aphi_model_contradiction(loaded->model));
}

static bool open_compiled(void *context, const char *library, const char *shown, aph_load_error *error)
{
    aph_loaded_model *loaded = context;
    if (open_library(library, shown, loaded, error))
        return true;
    aph_model_unload(loaded);
    return false;
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
        return access(spec, R_OK) == 0 ? open_library(spec, spec, loaded, error)
                                       : aphi_load_fail_unreadable(spec, error);
    }
    if (ends_with(spec, ".c")) {
        loaded->source = APH_MODEL_C;
        return aphi_object_compile(&(aphi_object_source){spec, true, open_compiled, loaded}, error);
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
