/* SPDX-License-Identifier: Apache-2.0
 *
 * test_served.c - a model explains the traces of its own server, and rejects those of its mutants.
 *
 * A load client with many connections and pipelined requests records traces of `antiphon serve`, with delays;
 * `antiphon check` checks them. */
#include "load_client.h"
#include "models/models.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static char folder[] = "/tmp/served-XXXXXX";

static int make_folder(void **unused)
{
    (void)unused;
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **unused)
{
    (void)unused;
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    return system(command);
}

static int drop_heap(void **unused)
{
    (void)unused;
    aph_heap_close();
    return 0;
}

/* Serves the model or a mutant to a load client, and records the trace in a new file at `path`. */
static void record(const aph_model *model, const char *mutant, const char *delay, load_options how, unsigned seed,
                   char *path)
{
    char seed_text[16];
    const char *words[] = {model->name, "--seed", seed_text, "--delay", delay, mutant ? "--mutate" : NULL, mutant,
                           NULL};
    snprintf(seed_text, sizeof seed_text, "%u", seed);
    snprintf(path, 128, "%s/%s-%s-%u.jsonl", folder, model->name, mutant ? mutant : "right", seed);
    how.trace = fopen(path, "w");
    assert_non_null(how.trace);
    served s = served_start(words);
    load_client a = load_client_of(model, seed);
    bool good = load_client_run(&a, &s, &how);
    assert_int_equal(served_stop(&s), 0);
    assert_int_equal(fclose(how.trace), 0);
    assert_true(good);
    aph_heap_close();
}

/* The exit code of `antiphon check`. */
static int judged(const aph_model *model, const char *path)
{
    char command[512];
    snprintf(command, sizeof command, "\"$ANTIPHON\" check --quiet --time 40 %s '%s' >'%s.out' 2>&1", model->name, path,
             path);
    int status = system(command);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

/* The load client waits for a response to each request, and does not pass the request to the codec, which HTTP needs.
 * tests/cli/served_models.sh and http.sh test http with the tester itself. */
static bool is_supported(const aph_model *model) { return model->rpc && model != &aph_model_http; }

/* A queue has no partitions that could be checked separately, so it gets fewer concurrent requests. */
static load_options limit_concurrency(const aph_model *model, load_options how)
{
    if (model == &aph_model_queue && how.connections > 6)
        how.connections = 6;
    if (model == &aph_model_queue && how.depth > 1)
        how.depth = 1;
    return how;
}

/* Each model passes with short and long delays, and with few and many connections. */
static void test_models_pass(void **unused)
{
    (void)unused;
    static const struct {
        const char *delay;
        load_options how;
    } cases[] = {
        {"0", {.connections = 4, .depth = 2, .requests = 2000}},
        {"2", {.connections = 3, .depth = 3, .requests = 1000}},
        {"10", {.connections = 16, .depth = 1, .requests = 500}},
        {"5", {.connections = 100, .depth = 1, .requests = 1000}},
    };
    size_t n;
    const aph_model *const *models = aph_models(&n);
    for (size_t i = 0; i < n; i++)
        for (unsigned k = 0; is_supported(models[i]) && k < sizeof cases / sizeof *cases; k++) {
            char path[128];
            int code = 3;
            for (unsigned more = 0; code == 3 && more < 2; more++) { /* unknown is not a rejection */
                record(models[i], NULL, cases[k].delay, limit_concurrency(models[i], cases[k].how), 100 * k + 7 + more,
                       path);
                code = judged(models[i], path);
            }
            if (code)
                print_message("%s, delay %s: exit code %d\n", models[i]->name, cases[k].delay, code);
            assert_int_equal(code, 0);
        }
}

/* Every mutant is rejected within three runs with four connections, or within three with one. On a busy machine, most
 * requests of several connections are concurrent, which explains many violations of the order of responses; on one
 * connection, the verdict depends only on the seed. */
static void test_mutants_fail(void **unused)
{
    (void)unused;
    size_t n;
    const aph_model *const *models = aph_models(&n);
    for (size_t i = 0; i < n; i++) {
        unsigned mutants = 0;
        if (!is_supported(models[i]))
            continue;
        for (const aph_model *const *m = models[i]->mutants; m && *m; m++, mutants++) {
            int code = 0;
            for (unsigned seed = 1; seed <= 6 && code == 0; seed++) {
                char path[128];
                load_options how = {.connections = seed <= 3 ? 4 : 1, .depth = 1, .requests = 400};
                record(models[i], (*m)->name, "1", how, seed, path);
                code = judged(models[i], path);
            }
            if (code != 1)
                print_message("%s, mutant %s: exit code %d\n", models[i]->name, (*m)->name, code);
            assert_int_equal(code, 1);
        }
        assert_true(mutants >= 3);
    }
}

/* Datagrams are lost and duplicated; the received responses are correct. */
static void test_datagrams(void **unused)
{
    (void)unused;
    served s = served_start((const char *const[]){"swap", "--env", "udp", "--seed", "3", "--loss", "20", NULL});
    load_client a = load_client_of(&aph_model_swap, 3);
    assert_true(
        load_client_run(&a, &s, &(load_options){.connections = 8, .depth = 1, .requests = 500, .datagrams = true}));
    char line[128];
    kill(s.pid, SIGTERM);
    assert_non_null(fgets(line, sizeof line, s.out));
    assert_non_null(fgets(line, sizeof line, s.out));
    unsigned taken = 0, given = 0;
    assert_int_equal(sscanf(line, "%u requests taken, %u responses sent", &taken, &given), 2);
    assert_int_equal(served_stop(&s), 0);
    assert_in_range(taken, 350, 499); /* about four in five */
    assert_in_range(given, taken / 2, taken);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_models_pass, drop_heap),
        cmocka_unit_test_teardown(test_mutants_fail, drop_heap),
        cmocka_unit_test_teardown(test_datagrams, drop_heap),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
