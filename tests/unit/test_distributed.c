/* SPDX-License-Identifier: Apache-2.0
 *
 * test_distributed.c - processes that search together, without MPI: ranks are threads here, and their link is a list each. */
#include "base/memory.h"
#include "models/programs.h"
#include "explore/distributed.h"
#include "alts/unfold.h"

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

typedef struct letter {
    int from;
    size_t n;
    void *bytes;
    struct letter *next;
} letter;

typedef struct post {
    pthread_mutex_t lock;
    letter *first[RANKS_MAX], **last[RANKS_MAX];
    unsigned branches; /* that were sent to ranks other than 0 */
} post;

typedef struct box {
    post *post;
    aphi_link link;
} box;

static void send_letter(void *context, int to, const void *bytes, size_t n)
{
    box *b = context;
    letter *l = aphi_alloc(sizeof *l);
    *l = (letter){.from = b->link.rank, .n = n, .bytes = aphi_copy(bytes, n)};
    pthread_mutex_lock(&b->post->lock);
    *b->post->last[to] = l;
    b->post->last[to] = &l->next;
    b->post->branches += to > 0 && *(const char *)bytes == 'B';
    pthread_mutex_unlock(&b->post->lock);
}

static bool receive_letter(void *context, int *from, void **bytes, size_t *n)
{
    box *b = context;
    int own = b->link.rank;
    pthread_mutex_lock(&b->post->lock);
    letter *l = b->post->first[own];
    if (l) {
        b->post->first[own] = l->next;
        if (!l->next)
            b->post->last[own] = &b->post->first[own];
    }
    pthread_mutex_unlock(&b->post->lock);
    if (!l)
        return false;
    *from = l->from;
    *bytes = l->bytes;
    *n = l->n;
    free(l);
    return true;
}

static size_t nothing_unsent(void *context)
{
    (void)context;
    return 0;
}

/* ---- a fleet ----------------------------------------------------------------------------------------------------- */

typedef struct rank {
    box box;
    aphi_parallel_options options;
    aphi_distributed *fleet;
    aphi_parallel_result result;
    pthread_t thread;
    uint64_t heard;
    uint64_t said;
} rank;

static bool hear(void *context, const char *bytes, size_t n)
{
    rank *r = context;
    assert_int_equal(n, 5);
    assert_memory_equal(bytes, "hello", 5);
    r->heard++;
    return true;
}

static bool say_hello(void *context, aphi_explorer *e)
{
    rank *r = context;
    (void)e;
    if (r->box.link.rank) {
        aphi_distributed_send(r->fleet, "hello", 5);
        r->said++;
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
    if (r->box.link.rank == 0)
        aphi_distributed_announce_model(r->fleet, 7);
    else if (aphi_distributed_await_model(r->fleet) != 7)
        abort();
    r->result = aphi_distributed_search(r->fleet, &r->options);
    return NULL;
}

typedef struct fleet {
    aphi_alts alts;
    aphi_compiled_model plan;
    post post;
    rank ranks[RANKS_MAX];
    int size;
} fleet;

static void open_fleet(fleet *f, const char *name, int size)
{
    char why[300] = "";
    memset(f, 0, sizeof *f);
    aph_program *program = aph_program_named(name);
    assert_true(aphi_unfold(program, &f->alts, why, sizeof why));
    aph_program_free(program);
    assert_true(aphi_compiled_model_build(&f->plan, &f->alts, why, sizeof why));
    f->size = size;
    pthread_mutex_init(&f->post.lock, NULL);
    for (int i = 0; i < size; i++) {
        rank *r = &f->ranks[i];
        f->post.last[i] = &f->post.first[i];
        r->box = (box){&f->post, {APHI_LINK_VERSION, i, size, &r->box, send_letter, receive_letter, nothing_unsent,
                                  NULL, NULL}};
        r->options = (aphi_parallel_options){.model = &f->plan, .jobs = i % 2 ? 2 : 1, .checkpoint_interval = 1000};
        r->fleet = aphi_distributed_open(&r->box.link, hear, r);
    }
}

/* All of it; the result of rank 0. */
static aphi_parallel_result sail(fleet *f)
{
    for (int i = 0; i < f->size; i++)
        pthread_create(&f->ranks[i].thread, NULL, run_rank, &f->ranks[i]);
    for (int i = 0; i < f->size; i++)
        pthread_join(f->ranks[i].thread, NULL);
    return f->ranks[0].result;
}

static void close_fleet(fleet *f)
{
    for (int i = 0; i < f->size; i++) {
        int from;
        void *bytes;
        size_t n;
        while (receive_letter(&f->ranks[i].box, &from, &bytes, &n))
            free(bytes);
        aphi_distributed_close(f->ranks[i].fleet);
    }
    pthread_mutex_destroy(&f->post.lock);
    aphi_compiled_model_free(&f->plan);
    aphi_alts_free(&f->alts);
}

/* ---- tests ------------------------------------------------------------------------------------------------------- */

static void each_once(void **state)
{
    (void)state;
    for (int size = 1; size <= RANKS_MAX; size++) {
        fleet f;
        open_fleet(&f, "dme-3", size);
        aphi_parallel_result result = sail(&f);
        assert_int_equal(result.end, APHI_PARALLEL_DONE);
        assert_int_equal(result.stats.sequences, 4032);
        close_fleet(&f);
    }
}

/* Whoever finds a sequence, it is heard of at rank 0. */
static void all_is_heard(void **state)
{
    fleet f;
    (void)state;
    open_fleet(&f, "dme-3", 3);
    void *contexts[3][2];
    for (int i = 0; i < 3; i++) {
        contexts[i][0] = contexts[i][1] = &f.ranks[i];
        f.ranks[i].options.jobs = 1;
        f.ranks[i].options.visit = say_hello;
        f.ranks[i].options.contexts = contexts[i];
    }
    assert_int_equal(sail(&f).stats.sequences, 4032);
    assert_int_equal(f.ranks[0].heard, f.ranks[1].said + f.ranks[2].said);
    close_fleet(&f);
}

/* Work is put down and taken up again and again; in the end there is no more and no less. */
static void checkpoints(void **state)
{
    char name[] = "/tmp/fleet-XXXXXX";
    fleet f;
    (void)state;
    close(mkstemp(name));
    open_fleet(&f, "dme-4", 3);
    f.ranks[0].options.checkpoint = name;
    f.ranks[0].options.checkpoint_interval = 0;
    for (int i = 0; i < 3; i++)
        f.ranks[i].options.limit = 300000;
    aphi_parallel_result result = sail(&f);
    assert_int_equal(result.end, APHI_PARALLEL_STOPPED);
    assert_in_range(result.stats.sequences, 300000, 5000000);
    /* Somebody else than rank 0 has worked, or this tests nothing. */
    assert_true(f.post.branches > 0);
    close_fleet(&f);

    uint64_t before = result.stats.sequences;
    open_fleet(&f, "dme-4", 2);
    for (int i = 0; i < 2; i++)
        f.ranks[i].options.limit = 1000;
    f.ranks[0].options.checkpoint = name;
    f.ranks[0].options.resume = true;
    result = sail(&f);
    assert_true(result.stats.sequences >= before + 1000);
    close_fleet(&f);
    unlink(name);
}

/* Cut at every limit and resumed, dme-3 still has its 4,032 sequences. */
static void resumed(void **state)
{
    char name[] = "/tmp/fleet-XXXXXX";
    aphi_parallel_result result = {.end = APHI_PARALLEL_STOPPED};
    (void)state;
    close(mkstemp(name));
    for (int round = 0; result.end == APHI_PARALLEL_STOPPED; round++) {
        fleet f;
        assert_true(round < 5000);
        open_fleet(&f, "dme-3", 1 + round % 3);
        for (int i = 0; i < f.size; i++)
            f.ranks[i].options.limit = 500;
        f.ranks[0].options.checkpoint = name;
        f.ranks[0].options.resume = round > 0;
        result = sail(&f);
        close_fleet(&f);
    }
    assert_int_equal(result.end, APHI_PARALLEL_DONE);
    assert_int_equal(result.stats.sequences, 4032);
    unlink(name);
}

/* A visit that has seen enough stops all, wherever it is. */
static void stopped_elsewhere(void **state)
{
    fleet f;
    (void)state;
    open_fleet(&f, "dme-4", 3);
    void *nobody[2] = {NULL, NULL};
    f.ranks[2].options.visit = stop_at_once;
    f.ranks[2].options.contexts = nobody;
    aphi_parallel_result result = sail(&f);
    assert_int_equal(result.end, APHI_PARALLEL_STOPPED);
    assert_false(result.interrupted);
    close_fleet(&f);
}

static void interrupted_elsewhere(void **state)
{
    static const volatile sig_atomic_t now = 1;
    fleet f;
    (void)state;
    open_fleet(&f, "dme-4", 2);
    f.ranks[1].options.stop = &now;
    aphi_parallel_result result = sail(&f);
    assert_int_equal(result.end, APHI_PARALLEL_STOPPED);
    assert_true(result.interrupted);
    close_fleet(&f);
}

/* Who cannot begin ends the others, too. */
static void unreadable(void **state)
{
    fleet f;
    (void)state;
    open_fleet(&f, "dme-3", 3);
    f.ranks[0].options.checkpoint = "/no/such/file";
    f.ranks[0].options.resume = true;
    assert_int_equal(sail(&f).end, APHI_PARALLEL_UNREADABLE);
    close_fleet(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_once),         cmocka_unit_test(all_is_heard),
        cmocka_unit_test(checkpoints),       cmocka_unit_test(resumed),
        cmocka_unit_test(stopped_elsewhere), cmocka_unit_test(interrupted_elsewhere),
        cmocka_unit_test(unreadable),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
