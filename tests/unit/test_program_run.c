/* SPDX-License-Identifier: Apache-2.0
 *
 * test_program_run.c - controlled runs: single threads, exclusions, and programs that end or send garbage. */
#include "execute/program_run.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TIME_MS = 30000, EVENTS_MAX = 400 };

static char error[600], path[600];

static aphi_program *start_program(const char *name, const char *argument)
{
    const char *folder = getenv("ANTIPHON_SUBJECTS");
    if (!folder)
        fail_msg("ANTIPHON_SUBJECTS is not set");
    snprintf(path, sizeof path, "%s/%s", folder, name);
    aphi_program *p = aphi_program_open((char *[]){path, (char *)argument, NULL}, TIME_MS, error, sizeof error);
    if (!p)
        fail_msg("%s", error);
    return p;
}

static void run_program(aphi_program *p, const aphi_program_run_options *options, aphi_recording *r)
{
    if (!aphi_program_run(p, options, r, error, sizeof error))
        fail_msg("%s", error);
}

/* Copies the events of one thread. */
static size_t events_of(const aphi_recording *r, size_t thread, aphi_recorded_event *events)
{
    size_t n = 0;
    for (size_t i = 0; i < r->event_count; i++)
        if (r->events[i].id.thread == thread)
            events[n++] = r->events[i];
    return n;
}

static size_t samples_of(const aphi_recording *r, aphi_run_payload *samples)
{
    size_t n = 0;
    for (size_t i = 0; i < r->event_count; i++)
        if (r->events[i].op == APHI_ALTS_RECEIVE) {
            samples[n] = (aphi_run_payload){.port = r->events[i].port, .label = r->events[i].label};
            memcpy(samples[n++].payload, r->events[i].payload, sizeof samples->payload);
        }
    return n;
}

/* ---- single threads ---------------------------------------------------------------------------------------------- */

static void run_each_thread_alone(aphi_program *p, const aphi_recording *whole)
{
    aphi_recorded_event events[EVENTS_MAX];
    aphi_run_payload samples[EVENTS_MAX];
    aphi_recording r = {0};
    aphi_program_run_options o = aphi_program_run_options_default(0, TIME_MS);
    o.replay = true;
    o.forced = events;
    o.samples = samples;
    o.sample_count = samples_of(whole, samples);
    for (size_t thread = 0; thread < aphi_program_layout(p)->thread_count; thread++) {
        o.local_thread = (int)thread;
        o.forced_count = events_of(whole, thread, events);
        run_program(p, &o, &r);
        assert_int_equal(r.end, APHI_RECORDING_ENDED);
        assert_int_equal(r.event_count, o.forced_count);
        for (size_t i = 0; i < r.event_count; i++) {
            assert_int_equal(r.events[i].op, events[i].op);
            assert_int_equal(r.events[i].label, events[i].label);
            assert_int_equal(r.events[i].open_count, events[i].open_count);
        }
    }
    aphi_recording_free(&r);
}

static void test_alone(void **state)
{
    aphi_recording whole = {0};
    (void)state;
    for (int i = 0; i < 2; i++) {
        aphi_program *p = i ? start_program("dp", "3") : start_program("dme", "3");
        for (uint64_t seed = 1; seed <= 3; seed++) {
            aphi_program_run_options o = aphi_program_run_options_default(seed, TIME_MS);
            run_program(p, &o, &whole);
            assert_int_equal(whole.end, APHI_RECORDING_ENDED);
            run_each_thread_alone(p, &whole);
        }
        aphi_program_close(p);
    }
    aphi_recording_free(&whole);
}

/* A single thread with too few forced events, or with wrong ones. */
static void test_alone_wrong(void **state)
{
    aphi_program *p = start_program("figure14", NULL);
    aphi_recording whole = {0}, r = {0};
    aphi_recorded_event events[EVENTS_MAX];
    aphi_program_run_options o = aphi_program_run_options_default(1, TIME_MS);
    (void)state;
    run_program(p, &o, &whole);
    o.local_thread = (int)aphi_layout_thread_named(aphi_program_layout(p), "L2");
    o.replay = true;
    o.forced = events;
    o.forced_count = events_of(&whole, (size_t)o.local_thread, events);
    assert_int_equal(o.forced_count, 4);
    run_program(p, &o, &r);
    assert_int_equal(r.end, APHI_RECORDING_ENDED);
    assert_int_equal(r.events[2].open_count, 2); /* the model has one */

    o.forced_count = 1; /* then the thread sends synchronously */
    run_program(p, &o, &r);
    assert_int_equal(r.end, APHI_RECORDING_DIVERGED);
    assert_non_null(strstr(r.detail, "extra event: thread L2, event 2"));

    o.forced_count = 2; /* then the thread waits, which is not an event */
    run_program(p, &o, &r);
    assert_int_equal(r.end, APHI_RECORDING_DEADLOCK);
    assert_int_equal(r.thread_ends[o.local_thread].status, APHI_THREAD_RECEIVING);
    assert_int_equal(r.thread_ends[o.local_thread].open_count, 2);

    o.forced_count = 4;
    events[1].label = aphi_layout_label(aphi_program_layout(p), "other");
    run_program(p, &o, &r);
    assert_int_equal(r.end, APHI_RECORDING_DIVERGED);
    assert_non_null(strstr(r.detail, "missing event: thread L2, event 2"));
    aphi_recording_free(&whole);
    aphi_recording_free(&r);
    aphi_program_close(p);
}

/* ---- exclusions -------------------------------------------------------------------------------------------------- */

static void test_exclusions(void **state)
{
    aphi_program *p = start_program("figure3", NULL);
    aphi_recording r = {0};
    aphi_run_exclusion excluded[2] = {{.thread = 2, .send = {0, 1}}, {.thread = 2, .send = {1, 1}}};
    aphi_program_run_options o = aphi_program_run_options_default(0, TIME_MS);
    (void)state;
    run_program(p, &o, &r);
    assert_int_equal(r.events[1].op, APHI_ALTS_RECEIVE);
    assert_int_equal(r.events[1].peer.thread, 0);
    assert_int_equal(r.events[1].available_count, 2);

    o.excluded = excluded;
    o.excluded_count = 1; /* excluded for the first receive only; the second may take the message */
    run_program(p, &o, &r);
    assert_int_equal(r.end, APHI_RECORDING_ENDED);
    assert_int_equal(r.events[1].peer.thread, 1);
    assert_int_equal(r.events[3].peer.thread, 0);

    o.excluded_count = 2;
    run_program(p, &o, &r);
    assert_int_equal(r.end, APHI_RECORDING_BLOCKED);
    assert_int_equal(r.event_count, 0);
    aphi_recording_free(&r);
    aphi_program_close(p);
}

/* ---- bad programs ------------------------------------------------------------------------------------------------ */

static void test_ended_program(void **state)
{
    char *words[] = {"sh", "-c", "printf 'antiphon-threads 1\\nthread A\\nready\\n' >&${ANTIPHON_THREADS#*,}", NULL};
    aphi_program *p = aphi_program_open(words, TIME_MS, error, sizeof error);
    aphi_recording r = {0};
    aphi_program_run_options o = aphi_program_run_options_default(1, TIME_MS);
    (void)state;
    assert_non_null(p);
    assert_false(aphi_program_run(p, &o, &r, error, sizeof error));
    assert_non_null(strstr(error, "exited between two runs"));
    aphi_program_close(p);
    aphi_recording_free(&r);
}

/* Unknown lines are reported. */
static void test_bad_layout(void **state)
{
    static const char *const lines[] = {"hello", "antiphon-threads 2", "antiphon-threads 1\\nport 0 pair 0 p",
                                        "antiphon-threads 1\\nthread A\\nport 0 lifo 0 p", ""};
    (void)state;
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        char command[300];
        snprintf(command, sizeof command, "printf '%s\\n' >&${ANTIPHON_THREADS#*,}", lines[i]);
        assert_null(aphi_program_open((char *[]){"sh", "-c", command, NULL}, TIME_MS, error, sizeof error));
        assert_non_null(strstr(error, "writes an unknown line"));
    }
}

static void test_bad_recording(void **state)
{
    static const char *const lines[] = {"nonsense", "outcome odd 0 x", "e 0 s 0 1 7 a 0 0 00", "e 9 l 0 1 0 a 0 0 00",
                                          "o 0 a", "a 0 1 0 a 0", "w 3 ended 0 -", "w 0 sits 0 -",
                                          "outcome diverged 1 x", "outcome diverged -1 x"};
    aphi_recording r = {0};
    (void)state;
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        char command[400];
        snprintf(command, sizeof command, "printf 'antiphon-threads 1\\nthread A\\nready\\n%s\\ndone\\n' >&"
                 "${ANTIPHON_THREADS#*,}; read line <&${ANTIPHON_THREADS%%,*}", lines[i]);
        char *words[] = {"bash", "-c", command, NULL};
        aphi_program *p = aphi_program_open(words, TIME_MS, error, sizeof error);
        aphi_program_run_options o = aphi_program_run_options_default(1, TIME_MS);
        assert_non_null(p);
        assert_false(aphi_program_run(p, &o, &r, error, sizeof error));
        assert_non_null(strstr(error, "writes an unknown line"));
        aphi_program_close(p);
    }
    aphi_recording_free(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_alone),         cmocka_unit_test(test_alone_wrong), cmocka_unit_test(test_exclusions),
        cmocka_unit_test(test_ended_program), cmocka_unit_test(test_bad_layout),  cmocka_unit_test(test_bad_recording),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
