/* SPDX-License-Identifier: Apache-2.0
 *
 * test_distributed.c - distributed search without MPI; ranks are threads that exchange messages in lists. */
#include "base/memory.h"
#include "models/programs.h"
#include "explore/distributed.h"
#include "alts/component_alts.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { RANKS_MAX = 5 };

/* ---- links ------------------------------------------------------------------------------------------------------- */

typedef struct message {
    int from;
    size_t n;
    void *bytes;
    struct message *next;
} message;

typedef struct network {
    pthread_mutex_t lock;
    message *first[RANKS_MAX], **last[RANKS_MAX];
    unsigned branches; /* number sent to ranks other than 0 */
} network;

typedef struct endpoint {
    network *network;
    aphi_link link;
} endpoint;

static void send_message(void *context, int to, const void *bytes, size_t n)
{
    endpoint *b = context;
    message *m = aphi_alloc(sizeof *m);
    *m = (message){.from = b->link.rank, .n = n, .bytes = aphi_copy(bytes, n)};
    pthread_mutex_lock(&b->network->lock);
    *b->network->last[to] = m;
    b->network->last[to] = &m->next;
    b->network->branches += to > 0 && *(const char *)bytes == 'B';
    pthread_mutex_unlock(&b->network->lock);
}

static bool receive_message(void *context, int *from, void **bytes, size_t *n)
{
    endpoint *b = context;
    int own = b->link.rank;
    pthread_mutex_lock(&b->network->lock);
    message *m = b->network->first[own];
    if (m) {
        b->network->first[own] = m->next;
        if (!m->next)
            b->network->last[own] = &b->network->first[own];
    }
    pthread_mutex_unlock(&b->network->lock);
    if (!m)
        return false;
    *from = m->from;
    *bytes = m->bytes;
    *n = m->n;
    free(m);
    return true;
}

static size_t nothing_unsent(void *context)
{
    (void)context;
    return 0;
}

/* ---- ranks ------------------------------------------------------------------------------------------------------- */

typedef struct rank {
    endpoint endpoint;
    aphi_parallel_options options;
    aphi_distributed *distributed;
    aphi_parallel_result result;
    pthread_t thread;
    uint64_t received;
    uint64_t sent;
} rank;

static bool count_data(void *context, const char *bytes, size_t n)
{
    rank *r = context;
    assert_int_equal(n, 5);
    assert_memory_equal(bytes, "hello", 5);
    r->received++;
    return true;
}

static bool send_hello(void *context, aphi_explorer *e)
{
    rank *r = context;
    (void)e;
    if (r->endpoint.link.rank) {
        aphi_distributed_send(r->distributed, "hello", 5);
        r->sent++;
    }
    return true;
}

static bool stop_at_once(void *context, aphi_explorer *e)
{
    (void)context;
    (void)e;
    return false;
}

static void *run_rank(void *argument)
{
    rank *r = argument;
    if (r->endpoint.link.rank == 0)
        aphi_distributed_announce_model(r->distributed, 7);
    else if (aphi_distributed_await_model(r->distributed) != 7)
        abort();
    r->result = aphi_distributed_search(r->distributed, &r->options);
    return NULL;
}

typedef struct process_group {
    aphi_alts alts;
    aphi_compiled_model model;
    network network;
    rank ranks[RANKS_MAX];
    int size;
} process_group;

static void open_group(process_group *g, const char *name, int size)
{
    char why[300] = "";
    memset(g, 0, sizeof *g);
    aph_program *program = aph_program_named(name);
    assert_true(aphi_component_alts(program, &g->alts, why, sizeof why));
    aph_program_free(program);
    assert_true(aphi_compiled_model_build(&g->model, &g->alts, why, sizeof why));
    g->size = size;
    pthread_mutex_init(&g->network.lock, NULL);
    for (int i = 0; i < size; i++) {
        rank *r = &g->ranks[i];
        g->network.last[i] = &g->network.first[i];
        r->endpoint = (endpoint){
            &g->network,
            {APHI_LINK_VERSION, i, size, &r->endpoint, send_message, receive_message, nothing_unsent, NULL, NULL}};
        r->options = (aphi_parallel_options){.model = &g->model, .jobs = i % 2 ? 2 : 1, .checkpoint_interval = 1000};
        r->distributed = aphi_distributed_open(&r->endpoint.link, count_data, r);
    }
}

/* Runs all ranks; returns the result of rank 0. */
static aphi_parallel_result run_group(process_group *g)
{
    for (int i = 0; i < g->size; i++)
        pthread_create(&g->ranks[i].thread, NULL, run_rank, &g->ranks[i]);
    for (int i = 0; i < g->size; i++)
        pthread_join(g->ranks[i].thread, NULL);
    return g->ranks[0].result;
}

static void close_group(process_group *g)
{
    for (int i = 0; i < g->size; i++) {
        int from;
        void *bytes;
        size_t n;
        while (receive_message(&g->ranks[i].endpoint, &from, &bytes, &n))
            free(bytes);
        aphi_distributed_close(g->ranks[i].distributed);
    }
    pthread_mutex_destroy(&g->network.lock);
    aphi_compiled_model_free(&g->model);
    aphi_alts_free(&g->alts);
}

/* ---- tests ------------------------------------------------------------------------------------------------------- */

static void each_sequence_once(void **state)
{
    (void)state;
    for (int size = 1; size <= RANKS_MAX; size++) {
        process_group g;
        open_group(&g, "dme-3", size);
        aphi_parallel_result result = run_group(&g);
        assert_int_equal(result.end, APHI_PARALLEL_DONE);
        assert_int_equal(result.stats.sequences, 4032);
        close_group(&g);
    }
}

/* The data of all visits reaches rank 0. */
static void data_reaches_rank_0(void **state)
{
    process_group g;
    (void)state;
    open_group(&g, "dme-3", 3);
    void *contexts[3][2];
    for (int i = 0; i < 3; i++) {
        contexts[i][0] = contexts[i][1] = &g.ranks[i];
        g.ranks[i].options.jobs = 1;
        g.ranks[i].options.visit = send_hello;
        g.ranks[i].options.contexts = contexts[i];
    }
    assert_int_equal(run_group(&g).stats.sequences, 4032);
    assert_int_equal(g.ranks[0].received, g.ranks[1].sent + g.ranks[2].sent);
    close_group(&g);
}

/* Frequent checkpoints neither lose nor repeat branches. */
static void checkpoints(void **state)
{
    char name[] = "/tmp/antiphon-test-XXXXXX";
    process_group g;
    (void)state;
    close(mkstemp(name));
    open_group(&g, "dme-4", 3);
    g.ranks[0].options.checkpoint = name;
    g.ranks[0].options.checkpoint_interval = 0;
    for (int i = 0; i < 3; i++)
        g.ranks[i].options.limit = 300000;
    aphi_parallel_result result = run_group(&g);
    assert_int_equal(result.end, APHI_PARALLEL_STOPPED);
    assert_in_range(result.stats.sequences, 300000, 5000000);
    /* Other ranks had work; otherwise this test is meaningless. */
    assert_true(g.network.branches > 0);
    close_group(&g);

    uint64_t before = result.stats.sequences;
    open_group(&g, "dme-4", 2);
    for (int i = 0; i < 2; i++)
        g.ranks[i].options.limit = 1000;
    g.ranks[0].options.checkpoint = name;
    g.ranks[0].options.resume = true;
    result = run_group(&g);
    assert_true(result.stats.sequences >= before + 1000);
    close_group(&g);
    unlink(name);
}

/* dme-3 has 4,032 sequences, no matter how often the search is stopped and resumed. */
static void resumed(void **state)
{
    char name[] = "/tmp/antiphon-test-XXXXXX";
    aphi_parallel_result result = {.end = APHI_PARALLEL_STOPPED};
    (void)state;
    close(mkstemp(name));
    for (int round = 0; result.end == APHI_PARALLEL_STOPPED; round++) {
        process_group g;
        assert_true(round < 5000);
        open_group(&g, "dme-3", 1 + round % 3);
        for (int i = 0; i < g.size; i++)
            g.ranks[i].options.limit = 500;
        g.ranks[0].options.checkpoint = name;
        g.ranks[0].options.resume = round > 0;
        result = run_group(&g);
        close_group(&g);
    }
    assert_int_equal(result.end, APHI_PARALLEL_DONE);
    assert_int_equal(result.stats.sequences, 4032);
    unlink(name);
}

/* A visit on any rank can stop the search. */
static void stopped_elsewhere(void **state)
{
    process_group g;
    (void)state;
    open_group(&g, "dme-4", 3);
    void *no_contexts[2] = {NULL, NULL};
    g.ranks[2].options.visit = stop_at_once;
    g.ranks[2].options.contexts = no_contexts;
    aphi_parallel_result result = run_group(&g);
    assert_int_equal(result.end, APHI_PARALLEL_STOPPED);
    assert_false(result.interrupted);
    close_group(&g);
}

static void interrupted_elsewhere(void **state)
{
    static const volatile sig_atomic_t now = 1;
    process_group g;
    (void)state;
    open_group(&g, "dme-4", 2);
    g.ranks[1].options.stop = &now;
    aphi_parallel_result result = run_group(&g);
    assert_int_equal(result.end, APHI_PARALLEL_STOPPED);
    assert_true(result.interrupted);
    close_group(&g);
}

/* If rank 0 cannot start, all ranks end. */
static void unreadable_checkpoint(void **state)
{
    process_group g;
    (void)state;
    open_group(&g, "dme-3", 3);
    g.ranks[0].options.checkpoint = "/no/such/file";
    g.ranks[0].options.resume = true;
    assert_int_equal(run_group(&g).end, APHI_PARALLEL_UNREADABLE);
    close_group(&g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_sequence_once),         cmocka_unit_test(data_reaches_rank_0),
        cmocka_unit_test(checkpoints),       cmocka_unit_test(resumed),
        cmocka_unit_test(stopped_elsewhere), cmocka_unit_test(interrupted_elsewhere),
        cmocka_unit_test(unreadable_checkpoint),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
