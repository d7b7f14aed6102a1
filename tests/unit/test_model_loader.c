/* SPDX-License-Identifier: Apache-2.0
 *
 * test_model_loader.c - loading models: names, programs, sources, libraries; the cache; each error. */
#include "check/model_loader.c" /* for their static functions */
#include "check/shared_object.c"

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <sys/wait.h>

#include <cmocka.h>

static const char model_text[] = "#include <antiphon/model.h>\n"
                                 "static void step(aph *m, aph_value *s) {\n"
                                 "    aph_request q = aph_recv(m); (void)s;\n"
                                 "    aph_send(m, q.from, q.message);\n"
                                 "}\n"
                                 "static const aph_model echo = {\n"
                                 "    .version = APH_MODEL_VERSION, .name = \"echo\", .step = step,\n"
                                 "};\n"
                                 "APH_MODEL(echo)\n";

/* ---- a scratch directory ----------------------------------------------------------------------------------------- */

static char root[PATH_MAX]; /* folder of the sources */
static char scratch[64];

static char *path_of(const char *name)
{
    static char paths[64][PATH_MAX]; /* more paths than any test uses */
    static unsigned next;
    char *path = paths[next++ % 64];
    snprintf(path, PATH_MAX, "%s/%s", scratch, name);
    return path;
}

static const char *write_file(const char *name, const char *text)
{
    const char *path = path_of(name);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
    return path;
}

static void remove_all(const char *directory)
{
    DIR *d = opendir(directory);
    assert_non_null(d);
    for (struct dirent *e; (e = readdir(d));) {
        char path[PATH_MAX];
        if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, ".."))
            continue;
        snprintf(path, sizeof path, "%s/%s", directory, e->d_name);
        if (unlink(path) < 0)
            remove_all(path);
    }
    closedir(d);
    rmdir(directory);
}

/* Returns the number of libraries in the cache. */
static int cached(void)
{
    int n = 0;
    DIR *d = opendir(path_of("cache/antiphon"));
    if (!d)
        return 0;
    for (struct dirent *e; (e = readdir(d));) {
        if (e->d_name[0] == '.')
            continue;
        assert_true(ends_with(e->d_name, ".so"));
        n++;
    }
    closedir(d);
    return n;
}

static int set_up(void **unused)
{
    (void)unused;
    char include[PATH_MAX + 16];
    strcpy(scratch, "/tmp/test_model_loader-XXXXXX");
    snprintf(include, sizeof include, "%s/include", root);
    if (!mkdtemp(scratch))
        return -1;
    mkdir(path_of("cache"), 0700);
    mkdir(path_of("tmp"), 0700);
    setenv("XDG_CACHE_HOME", path_of("cache"), 1);
    setenv("TMPDIR", path_of("tmp"), 1);
    setenv("ANTIPHON_INCLUDE", include, 1);
    unsetenv("CC");
    return 0;
}

static int tear_down(void **unused)
{
    (void)unused;
    assert_int_equal(rmdir(path_of("tmp")), 0); /* the folder is empty */
    remove_all(scratch);
    aph_heap_close();
    return 0;
}

static void opens(const char *text, aph_model_source kind, const char *name)
{
    aph_loaded_model spec;
    aph_load_error error = {0};
    if (!aph_model_load(text, &spec, &error))
        fail_msg("%s", error.message);
    assert_int_equal(spec.source, kind);
    assert_string_equal(spec.model->name, name);
    aph_model_unload(&spec);
}

static void check_failure(bool opened, const aph_loaded_model *spec, const aph_load_error *error,
                          aph_load_fault fault, const char *hint)
{
    assert_false(opened);
    assert_null(spec->model);
    if (error->fault != fault || !strstr(error->message, hint))
        fail_msg("fault %d, expected %d with '%s': %s", error->fault, fault, hint, error->message);
}

static void fails(const char *text, aph_load_fault fault, const char *hint)
{
    aph_loaded_model spec;
    aph_load_error error = {0};
    check_failure(aph_model_load(text, &spec, &error), &spec, &error, fault, hint);
}

/* Like fails, but discards the compiler's messages. */
static void fails_quietly(const char *text, aph_load_fault fault, const char *hint)
{
    aph_loaded_model spec;
    aph_load_error error = {0};
    int kept = dup(STDERR_FILENO), nowhere = open("/dev/null", O_WRONLY);
    dup2(nowhere, STDERR_FILENO);
    bool opened = aph_model_load(text, &spec, &error);
    dup2(kept, STDERR_FILENO);
    close(kept);
    close(nowhere);
    check_failure(opened, &spec, &error, fault, hint);
}

/* ---- names and programs ------------------------------------------------------------------------------------------ */

static void test_names(void **unused)
{
    (void)unused;
    opens("register", APH_MODEL_BUILTIN, "register");
    opens("etag-kv", APH_MODEL_BUILTIN, "etag-kv");
    fails("regsiter", APH_LOAD_NO_SUCH, "did you mean 'register'?");
    fails("ques", APH_LOAD_NO_SUCH, "did you mean 'queue'?");
    fails("raft-consensus", APH_LOAD_NO_SUCH, "register, kv, swap, swap-connections, swap-impl, queue, etag-kv");
    fails("", APH_LOAD_NO_SUCH, "no model named ''");
    fails("mine.txt", APH_LOAD_NO_SUCH, "./mine.prog");
    aph_load_error error;
    fail_no_such("raft-consensus", &error);
    assert_null(strstr(error.message, "did you mean"));
}

static void test_prog(void **unused)
{
    (void)unused;
    char path[PATH_MAX + 32];
    snprintf(path, sizeof path, "%s/examples/prog/cmp-rst.prog", root);
    opens(path, APH_MODEL_PROG, "cmp-rst");
    opens(write_file("a.b.prog", "return"), APH_MODEL_PROG, "a.b");
    fails(write_file("bad.prog", "!1 := 0;\n!2 = 0;\n"), APH_LOAD_SYNTAX, "bad.prog:2:4: expected ':=', found '='");
    fails(write_file("empty.prog", ""), APH_LOAD_SYNTAX, "empty.prog:1:1: ");
    fails(path_of("none.prog"), APH_LOAD_UNREADABLE, "No such file");
    fails(strcat(path_of(""), "x.prog"), APH_LOAD_UNREADABLE, "cannot read");
}

/* ---- models in C ------------------------------------------------------------------------------------------------- */

static void test_examples(void **unused)
{
    (void)unused;
    char path[PATH_MAX + 32];
    snprintf(path, sizeof path, "%s/examples/kv.c", root);
    opens(path, APH_MODEL_C, "kv");
    snprintf(path, sizeof path, "%s/examples/conditional-put.c", root);
    opens(path, APH_MODEL_C, "conditional-put");
}

static void test_cache(void **unused)
{
    (void)unused;
    const char *path = write_file("echo.c", model_text);
    opens(path, APH_MODEL_C, "echo");
    assert_int_equal(cached(), 1);
    setenv("CC", "cc -DUNUSED", 1); /* other options use another cache entry */
    opens(path, APH_MODEL_C, "echo");
    assert_int_equal(cached(), 2);
    unsetenv("CC");
    opens(path, APH_MODEL_C, "echo");
    assert_int_equal(cached(), 2);
}

static void test_cache_tracks_headers(void **unused)
{
    (void)unused;
    write_file("name.h", "#define NAME \"before\"\n");
    const char *path = write_file("named.c", "#include \"name.h\"\n"
                                             "#include <antiphon/model.h>\n"
                                             "static void step(aph *m, aph_value *s) { (void)s; aph_recv(m); }\n"
                                             "static const aph_model m = {.version = 1, .name = NAME, .step = step};\n"
                                             "APH_MODEL(m)\n");
    opens(path, APH_MODEL_C, "before");
    write_file("name.h", "#define NAME \"after\"\n");
    opens(path, APH_MODEL_C, "after");
}

static void test_broken_cache(void **unused)
{
    (void)unused;
    const char *path = write_file("echo.c", model_text);
    opens(path, APH_MODEL_C, "echo");
    DIR *d = opendir(path_of("cache/antiphon"));
    for (struct dirent *e; (e = readdir(d));)
        if (e->d_name[0] != '.') {
            char entry[300];
            snprintf(entry, sizeof entry, "cache/antiphon/%s", e->d_name);
            unlink(path_of(entry));
            write_file(entry, "cut short");
        }
    closedir(d);
    opens(path, APH_MODEL_C, "echo");
    assert_int_equal(cached(), 1);
}

/* A cache that is a link or writable by others is not used. */
static void test_hostile_cache(void **unused)
{
    (void)unused;
    const char *path = write_file("echo.c", model_text);
    mkdir(path_of("cache/antiphon"), 0700);
    chmod(path_of("cache/antiphon"), 0777);
    opens(path, APH_MODEL_C, "echo");
    assert_int_equal(cached(), 0);
    rmdir(path_of("cache/antiphon"));

    mkdir(path_of("elsewhere"), 0700);
    assert_int_equal(symlink("../elsewhere", path_of("cache/antiphon")), 0);
    opens(path, APH_MODEL_C, "echo");
    assert_int_equal(cached(), 0);
    unlink(path_of("cache/antiphon"));

    chmod(path_of("cache"), 0777);
    opens(path, APH_MODEL_C, "echo");
    assert_int_equal(cached(), 0);
    chmod(path_of("cache"), 0700);

    setenv("XDG_CACHE_HOME", "not/absolute", 1);
    unsetenv("HOME");
    opens(path, APH_MODEL_C, "echo");
}

static void test_no_cache_folder(void **unused)
{
    (void)unused;
    const char *path = write_file("echo.c", model_text);
    setenv("XDG_CACHE_HOME", "", 1);
    unsetenv("HOME");
    setenv("TMPDIR", path_of("none"), 1);
    fails(path, APH_LOAD_SETUP, "cannot create a directory");
}

static void test_concurrent_loads(void **unused)
{
    (void)unused;
    const char *path = write_file("echo.c", model_text);
    pid_t children[3];
    for (int i = 0; i < 3; i++) {
        children[i] = fork();
        if (children[i] == 0) {
            aph_loaded_model spec;
            aph_load_error error;
            bool ok = aph_model_load(path, &spec, &error);
            _exit(ok ? 0 : 1);
        }
    }
    for (int i = 0; i < 3; i++) {
        int status;
        waitpid(children[i], &status, 0);
        assert_int_equal(status, 0);
    }
    assert_int_equal(cached(), 1);
}

static void test_does_not_compile(void **unused)
{
    (void)unused;
    fails_quietly(write_file("bad.c", "int f( { }\n"), APH_LOAD_COMPILE, "bad.c does not compile");
    fails_quietly(write_file("lost.c", "#include <no/such/header.h>\n"), APH_LOAD_COMPILE,
                  "lost.c does not compile");
    assert_int_equal(cached(), 0);
    fails(path_of("none.c"), APH_LOAD_UNREADABLE, "No such file");
}

static void test_no_compiler(void **unused)
{
    (void)unused;
    const char *path = write_file("echo.c", model_text);
    setenv("CC", "no-such-compiler", 1);
    fails(path, APH_LOAD_SETUP, "no-such-compiler");
    setenv("CC", "  ", 1);
    fails(path, APH_LOAD_SETUP, "CC is blank");
    unsetenv("CC");
    setenv("ANTIPHON_INCLUDE", scratch, 1);
    fails(path, APH_LOAD_SETUP, "ANTIPHON_INCLUDE");
}

static void test_not_a_model(void **unused)
{
    (void)unused;
    fails(write_file("none.c", "int nothing;\n"), APH_LOAD_NO_MODEL, "APH_MODEL");
    fails(write_file("old.c", "#include <antiphon/model.h>\n"
                              "static const aph_model m = {.version = 77};\nAPH_MODEL(m)\n"),
          APH_LOAD_VERSION, "version 77");
    fails(write_file("empty.c", "#include <antiphon/model.h>\n"
                                "static const aph_model m = {.version = 1, .name = \"m\"};\nAPH_MODEL(m)\n"),
          APH_LOAD_NO_MODEL, "no .step");
    fails(write_file("undefined.c", "void missing(void);\nvoid f(void) { missing(); }\n"), APH_LOAD_LIBRARY, "missing");
}

/* ---- libraries --------------------------------------------------------------------------------------------------- */

static void test_library(void **unused)
{
    (void)unused;
    aph_load_error error;
    compilation c = {.of = &(aphi_object_source){.is_model = true}, .source = write_file("echo.c", model_text),
                     .include = find_include(&error)};
    char option[PATH_MAX + 2];
    snprintf(option, sizeof option, "-I%s", c.include);
    assert_true(find_compiler(&c, &error));
    add_argument(&c, &c.argc, "-fPIC");
    add_argument(&c, &c.argc, option);
    assert_true(compile_library(&c, scratch, path_of("echo.so"), &error));
    free(c.include);
    free(c.compiler);

    opens(path_of("echo.so"), APH_MODEL_LIBRARY, "echo");
    assert_int_equal(chdir(scratch), 0);
    opens("echo.so", APH_MODEL_LIBRARY, "echo"); /* from the current directory, not the system's library path */
    assert_int_equal(chdir(root), 0);
    fails(write_file("text.so", "not a library"), APH_LOAD_LIBRARY, "cannot load");
    fails(path_of("none.so"), APH_LOAD_UNREADABLE, "No such file");
}

int main(void)
{
    const char *told = getenv("ANTIPHON_ROOT");
    if (!realpath(told ? told : ".", root))
        return 1;
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_names),
        TEST(test_prog),
        TEST(test_examples),
        TEST(test_cache),
        TEST(test_cache_tracks_headers),
        TEST(test_broken_cache),
        TEST(test_hostile_cache),
        TEST(test_no_cache_folder),
        TEST(test_concurrent_loads),
        TEST(test_does_not_compile),
        TEST(test_no_compiler),
        TEST(test_not_a_model),
        TEST(test_library),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
