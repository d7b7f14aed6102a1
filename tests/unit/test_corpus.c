/* SPDX-License-Identifier: Apache-2.0
 *
 * test_corpus.c - failing scripts are stored once, listed by model from the latest on, and never lost. */
#include "tester/corpus.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static char home[] = "/tmp/test_corpus.XXXXXX";
static char folder[100], error[300], path[300];

static aphi_script script(const char *model, int64_t value)
{
    aphi_script s = {.environment = "tcp"};
    snprintf(s.model, sizeof s.model, "%s", model);
    aphi_script_add(&s, &(aphi_action){.label = 1, .send = aph_int(value)});
    return s;
}

static void save(const char *model, int64_t value)
{
    aphi_script s = script(model, value);
    mkdir(folder, 0777);
    if (!aphi_corpus_save(folder, &s, path, sizeof path, error, sizeof error))
        fail_msg("%s", error);
    aphi_script_free(&s);
}

static aphi_corpus list(const char *model, size_t count)
{
    aphi_corpus kept;
    if (!aphi_corpus_list(folder, model, &kept, error, sizeof error))
        fail_msg("%s", error);
    assert_int_equal(kept.count, count);
    return kept;
}

static void is_old(const char *file, int64_t seconds)
{
    struct timespec times[2] = {{.tv_sec = 1000000 - seconds}, {.tv_sec = 1000000 - seconds}};
    assert_int_equal(utimensat(AT_FDCWD, file, times, 0), 0);
}

static void test_latest_first(void **unused)
{
    (void)unused;
    char first[300], second[300];
    aphi_corpus kept = list("kv", 0); /* there is no folder yet */
    aphi_corpus_free(&kept);
    save("kv", 1);
    strcpy(first, path);
    is_old(first, 20);
    save("kv", 2);
    strcpy(second, path);
    is_old(second, 10);
    save("kv-2", 3); /* another model */
    save("other", 3);
    kept = list("kv", 2);
    assert_string_equal(kept.paths[0], second);
    assert_string_equal(kept.paths[1], first);
    aphi_corpus_free(&kept);
    save("kv", 1); /* it failed again */
    assert_string_equal(path, first);
    kept = list("kv", 2);
    assert_string_equal(kept.paths[0], first);
    aphi_script read;
    assert_true(aphi_script_read(kept.paths[0], &read, error, sizeof error));
    assert_string_equal(read.model, "kv");
    assert_ptr_equal(read.actions[0].send, aph_int(1));
    aphi_script_free(&read);
    aphi_corpus_free(&kept);
}

static void test_does_not_overwrite(void **unused)
{
    (void)unused;
    char name[300];
    save("mine", 1);
    strcpy(name, path);
    FILE *out = fopen(path, "w");
    fputs("changed by hand\n", out);
    fclose(out);
    save("mine", 1);
    assert_string_not_equal(path, name);
    char line[50];
    FILE *in = fopen(name, "r");
    assert_non_null(fgets(line, sizeof line, in));
    fclose(in);
    assert_string_equal(line, "changed by hand\n");
    aphi_corpus kept = list("mine", 2);
    aphi_corpus_free(&kept);
}

static void test_names(void **unused)
{
    (void)unused;
    save("../../etc/x y", 1); /* the file stays in the folder */
    assert_memory_equal(path, folder, strlen(folder));
    assert_null(strchr(path + strlen(folder) + 1, '/'));
    aphi_corpus kept = list("../../etc/x y", 1);
    aphi_corpus_free(&kept);
    save("", 1);
    kept = list("", 1);
    aphi_corpus_free(&kept);
    close(open("other-0123456789abcdef.script.part", O_CREAT | O_CLOEXEC, 0666)); /* other files are not listed */
    kept = list("other", 1);
    aphi_corpus_free(&kept);
}

static void fails_to_save(const char *where, const char *says)
{
    aphi_script s = script("kv", 9);
    assert_false(aphi_corpus_save(where, &s, path, sizeof path, error, sizeof error));
    if (!strstr(error, where) || !strstr(error, says))
        fail_msg("%s", error);
    aphi_script_free(&s);
}

static void test_unusable_folders(void **unused)
{
    (void)unused;
    char file[200], closed[200];
    snprintf(file, sizeof file, "%s/file", home);
    close(open(file, O_CREAT | O_CLOEXEC, 0666));
    fails_to_save(file, "Not a directory");
    fails_to_save("/no/such/folder", "No such file");
    fails_to_save("/proc/antiphon", "");
    aphi_corpus kept;
    assert_false(aphi_corpus_list(file, "kv", &kept, error, sizeof error));
    assert_non_null(strstr(error, "cannot list"));
    aphi_corpus_free(&kept);
    if (geteuid() == 0)
        return; /* root has all permissions */
    snprintf(closed, sizeof closed, "%s/closed", home);
    mkdir(closed, 0555);
    fails_to_save(closed, "Permission denied");
    rmdir(closed);
}

/* A limit on the size of files simulates a full disk: the write fails, and no partial script is left. */
static void test_full_disk(void **unused)
{
    (void)unused;
    struct rlimit before_it, none = {0};
    getrlimit(RLIMIT_FSIZE, &before_it);
    none.rlim_max = before_it.rlim_max;
    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &none);
    aphi_script s = script("full", 1);
    bool saved = aphi_corpus_save(folder, &s, path, sizeof path, error, sizeof error);
    setrlimit(RLIMIT_FSIZE, &before_it);
    signal(SIGXFSZ, SIG_DFL);
    assert_false(saved);
    assert_non_null(strstr(error, "File too large"));
    assert_int_not_equal(access(path, F_OK), 0);
    aphi_corpus kept = list("full", 0);
    aphi_corpus_free(&kept);
    aphi_script_free(&s);
}

static int before(void **unused)
{
    (void)unused;
    if (!mkdtemp(home) || chdir(home) != 0)
        return -1;
    snprintf(folder, sizeof folder, "%s/kept", home);
    return 0;
}

static int after(void **unused)
{
    (void)unused;
    char command[200];
    snprintf(command, sizeof command, "rm -rf %s", home);
    aph_heap_close();
    return system(command);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_latest_first),    cmocka_unit_test(test_does_not_overwrite), cmocka_unit_test(test_names),
        cmocka_unit_test(test_unusable_folders), cmocka_unit_test(test_full_disk),
    };
    return cmocka_run_group_tests(tests, before, after);
}
