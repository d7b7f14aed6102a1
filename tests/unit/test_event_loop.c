/* SPDX-License-Identifier: Apache-2.0
 *
 * test_event_loop.c - readiness, interest, removal during a round, timers, timeouts and stopping. */
#include "base/event_loop.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/clock.h"

enum { PIPES = 3, MS = 1000000 };

typedef struct fixture {
    aphi_event_loop loop;
    aphi_watch watches[PIPES]; /* the reading ends */
    int ends[PIPES];           /* the writing ends */
    int ready[PIPES];
    uint32_t events;
    bool removes_others, closes_others;
    uint32_t timers[8];
    size_t timer_count;
    aphi_timer again; /* added by the first timer */
} fixture;

static void pipe_ready(void *context, void *data, uint32_t events)
{
    fixture *f = context;
    size_t i = (size_t)((aphi_watch *)data - f->watches);
    f->ready[i]++;
    f->events = events;
    for (size_t k = 0; k < PIPES; k++)
        if (k != i && f->removes_others)
            aphi_event_loop_unwatch(&f->loop, &f->watches[k]);
        else if (k != i && f->closes_others)
            aphi_event_loop_close_watch(&f->loop, &f->watches[k]);
}

static void timer_due(void *context, const aphi_timer *due)
{
    fixture *f = context;
    f->timers[f->timer_count++] = due->kind;
    if (f->again.kind)
        aphi_timer_heap_add(&f->loop.timers, f->again);
    f->again.kind = 0;
}

static int set_up(void **state)
{
    static fixture f;
    f = (fixture){.loop.timer = timer_due};
    if (!aphi_event_loop_open(&f.loop, &f))
        return -1;
    for (int i = 0; i < PIPES; i++) {
        int ends[2];
        if (pipe2(ends, O_CLOEXEC | O_NONBLOCK))
            return -1;
        f.watches[i] = (aphi_watch){.fd = ends[0], .ready = pipe_ready, .data = &f.watches[i]};
        f.ends[i] = ends[1];
        if (!aphi_event_loop_watch(&f.loop, &f.watches[i], EPOLLIN))
            return -1;
    }
    *state = &f;
    return 0;
}

static int tear_down(void **state)
{
    fixture *f = *state;
    for (int i = 0; i < PIPES; i++) {
        aphi_event_loop_close_watch(&f->loop, &f->watches[i]);
        close(f->ends[i]);
    }
    aphi_event_loop_close(&f->loop);
    return 0;
}

static void fill(fixture *f, int i)
{
    assert_int_equal(write(f->ends[i], "x", 1), 1);
}

static void readiness_is_level_triggered(void **state)
{
    fixture *f = *state;
    assert_int_equal(aphi_event_loop_run_once(&f->loop, 0), 0);
    fill(f, 1);
    assert_int_equal(aphi_event_loop_run_once(&f->loop, -1), 1);
    assert_int_equal(aphi_event_loop_run_once(&f->loop, -1), 1); /* the byte is still unread */
    assert_int_equal(f->ready[1], 2);
    assert_int_equal(f->ready[0] + f->ready[2], 0);
    assert_int_equal(f->events, EPOLLIN);
}

static void interest_can_be_changed(void **state)
{
    fixture *f = *state;
    fill(f, 0);
    assert_true(aphi_event_loop_watch(&f->loop, &f->watches[0], 0));
    assert_int_equal(aphi_event_loop_run_once(&f->loop, 0), 0);
    assert_true(aphi_event_loop_watch(&f->loop, &f->watches[0], EPOLLIN));
    assert_true(aphi_event_loop_watch(&f->loop, &f->watches[0], EPOLLIN));
    assert_int_equal(aphi_event_loop_run_once(&f->loop, 0), 1);
    aphi_event_loop_unwatch(&f->loop, &f->watches[0]);
    aphi_event_loop_unwatch(&f->loop, &f->watches[0]);
    assert_int_equal(aphi_event_loop_run_once(&f->loop, 0), 0);
    assert_true(aphi_event_loop_watch(&f->loop, &f->watches[0], EPOLLIN));
    assert_int_equal(aphi_event_loop_run_once(&f->loop, 0), 1);
}

static void removed_watches_are_not_called_in_the_same_round(void **state)
{
    fixture *f = *state;
    for (int i = 0; i < PIPES; i++)
        fill(f, i);
    f->removes_others = true;
    assert_int_equal(aphi_event_loop_run_once(&f->loop, 0), 1);
    f->removes_others = false;
    for (int i = 0; i < PIPES; i++)
        assert_true(aphi_event_loop_watch(&f->loop, &f->watches[i], EPOLLIN));
    assert_int_equal(aphi_event_loop_run_once(&f->loop, 0), PIPES);
    f->closes_others = true;
    assert_int_equal(aphi_event_loop_run_once(&f->loop, 0), 1);
    int open = 0;
    for (int i = 0; i < PIPES; i++)
        open += f->watches[i].fd >= 0;
    assert_int_equal(open, 1);
}

static void a_bad_descriptor_cannot_be_watched(void **state)
{
    fixture *f = *state;
    aphi_watch bad = {.fd = 1 << 20, .ready = pipe_ready};
    assert_false(aphi_event_loop_watch(&f->loop, &bad, EPOLLIN));
    assert_int_equal(errno, EBADF);
    assert_false(bad.registered);
}

static void timers_are_due_in_order(void **state)
{
    fixture *f = *state;
    int64_t now = aphi_clock_ns();
    f->again = (aphi_timer){.ns = now, .kind = 4};
    aphi_timer_heap_add(&f->loop.timers, (aphi_timer){.ns = now + 20 * MS, .kind = 3});
    aphi_timer_heap_add(&f->loop.timers, (aphi_timer){.ns = now - 2, .kind = 1});
    aphi_timer_heap_add(&f->loop.timers, (aphi_timer){.ns = now - 1, .kind = 2});
    assert_int_equal(aphi_event_loop_run_once(&f->loop, -1), 3); /* timers 1, 2, and 4, which timer 1 added */
    assert_int_equal(aphi_event_loop_run_once(&f->loop, -1), 1);
    assert_true(aphi_clock_ns() >= now + 20 * MS);
    assert_true(f->loop.now_ns >= now + 20 * MS);
    static const uint32_t expected[] = {1, 2, 4, 3};
    assert_int_equal(f->timer_count, 4);
    assert_memory_equal(f->timers, expected, sizeof expected);
}

static void a_wait_ends_at_its_timeout(void **state)
{
    fixture *f = *state;
    int64_t start = aphi_clock_ns();
    aphi_timer_heap_add(&f->loop.timers, (aphi_timer){.ns = start + INT64_C(3600000) * MS, .kind = 1});
    assert_int_equal(aphi_event_loop_run_once(&f->loop, 3 * MS), 0);
    assert_true(aphi_clock_ns() - start >= 3 * MS);
}

static aphi_event_loop *stopped_by_signal;

static void on_alarm(int number)
{
    (void)number;
    if (stopped_by_signal)
        aphi_event_loop_stop(stopped_by_signal);
}

static void a_signal_interrupts_the_wait(void **state)
{
    fixture *f = *state;
    struct sigaction action = {.sa_handler = on_alarm}, before;
    sigaction(SIGALRM, &action, &before);
    struct itimerval soon = {.it_value.tv_usec = 5000};
    stopped_by_signal = NULL;
    setitimer(ITIMER_REAL, &soon, NULL);
    assert_int_equal(aphi_event_loop_run_once(&f->loop, -1), -1);
    assert_int_equal(errno, EINTR);
    assert_false(f->loop.stopping);
    stopped_by_signal = &f->loop;
    setitimer(ITIMER_REAL, &soon, NULL);
    while (!f->loop.stopping)
        aphi_event_loop_run_once(&f->loop, -1);
    sigaction(SIGALRM, &before, NULL);
}

static void stopping_before_the_wait_ends_it(void **state)
{
    fixture *f = *state;
    aphi_event_loop_stop(&f->loop);
    aphi_event_loop_stop(&f->loop);
    assert_int_equal(aphi_event_loop_run_once(&f->loop, -1), 0);
    assert_true(f->loop.stopping);
    f->loop.stopping = 0;
    assert_int_equal(aphi_event_loop_run_once(&f->loop, 0), 0);
}

static void opening_fails_without_descriptors(void **state)
{
    (void)state;
    aphi_event_loop loop = {0};
    struct rlimit before, none;
    getrlimit(RLIMIT_NOFILE, &before);
    none = (struct rlimit){.rlim_cur = 0, .rlim_max = before.rlim_max};
    setrlimit(RLIMIT_NOFILE, &none);
    bool opened = aphi_event_loop_open(&loop, &loop);
    int failure = errno;
    setrlimit(RLIMIT_NOFILE, &before);
    assert_false(opened);
    assert_int_equal(failure, EMFILE);
    aphi_event_loop_close(&loop);
}

#define WITH_LOOP(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_LOOP(readiness_is_level_triggered),
        WITH_LOOP(interest_can_be_changed),
        WITH_LOOP(removed_watches_are_not_called_in_the_same_round),
        WITH_LOOP(a_bad_descriptor_cannot_be_watched),
        WITH_LOOP(timers_are_due_in_order),
        WITH_LOOP(a_wait_ends_at_its_timeout),
        WITH_LOOP(a_signal_interrupts_the_wait),
        WITH_LOOP(stopping_before_the_wait_ends_it),
        cmocka_unit_test(opening_fails_without_descriptors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
