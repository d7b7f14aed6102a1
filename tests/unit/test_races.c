/* SPDX-License-Identifier: Apache-2.0
 *
 * test_races.c - race sets of small recordings, by hand; and recordings as JSON and back. */
#include "execute/recording.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { A, B, R, THREADS }; /* two that send, and one that receives */

static aphi_layout cast;
static aphi_recording recording;
static uint32_t counts[THREADS];

static void begin(aphi_layout_medium medium, uint32_t capacity)
{
    static const char *const names[] = {"A", "B", "R"};
    aphi_layout_free(&cast);
    aphi_recording_clear(&recording);
    memset(counts, 0, sizeof counts);
    for (int i = 0; i < THREADS; i++)
        aphi_layout_add_thread(&cast, names[i]);
    aphi_layout_add_port(&cast, "p", R, medium, capacity);
    aphi_layout_add_port(&cast, "q", R, medium, capacity);
    aphi_layout_add_port(&cast, "b", B, medium, capacity);
    aphi_layout_label(&cast, "*");
}

static aphi_recorded_event *add(aphi_recorded_op did, uint16_t thread, uint16_t port, const char *label)
{
    recording.events = realloc(recording.events, (recording.event_count + 1) * sizeof *recording.events);
    recording.event_capacity = recording.event_count + 1;
    aphi_recorded_event *e = &recording.events[recording.event_count++];
    *e = (aphi_recorded_event){.op = did, .id = {thread, ++counts[thread]}, .port = port,
                      .label = aphi_layout_label(&cast, label), .peer = {cast.ports[port].owner, 0}};
    return e;
}

static aphi_event_id send(uint16_t thread, uint16_t port, const char *label)
{
    return add(APHI_RECORDED_SEND, thread, port, label)->id;
}

/* The receive of a send, open to its port, and to another one if it is not the same. */
static aphi_event_id receive(aphi_event_id from, uint16_t port, uint16_t other, const char *label)
{
    uint16_t owner = cast.ports[port].owner;
    aphi_recorded_event *e = add(APHI_RECORDED_RECEIVE, owner, port, label);
    aphi_open_item open[] = {{port, APHI_LABEL_ANY}, {other, APHI_LABEL_ANY}};
    e->peer = from;
    e->open = (uint32_t)recording.open_item_count;
    e->open_count = port == other ? 1 : 2;
    recording.open_items = realloc(recording.open_items, (recording.open_item_count + 2) * sizeof *recording.open_items);
    recording.open_item_capacity = recording.open_item_count + 2;
    memcpy(recording.open_items + recording.open_item_count, open, sizeof open);
    recording.open_item_count += e->open_count;
    for (size_t i = 0; i < recording.event_count; i++)
        if (recording.events[i].id.thread == from.thread && recording.events[i].id.index == from.index)
            recording.events[i].peer = e->id;
    return e->id;
}

/* A synchronous message, taken at once. */
static void pass(uint16_t thread, uint16_t port, uint16_t other, const char *label)
{
    aphi_event_id s = send(thread, port, label);
    recording.events[recording.event_count - 1].sync = true;
    receive(s, port, other, label);
    recording.events[recording.event_count - 1].sync = true;
}

/* The race set of the n-th receive of R, as text. */
static const char *races(uint32_t n)
{
    static char text[200];
    aphi_races found = {0};
    aphi_races_find(&cast, &recording, &found);
    *text = 0;
    for (size_t i = 0; i < recording.event_count; i++)
        if (recording.events[i].id.thread == R && recording.events[i].id.index == n)
            for (uint32_t k = found.first[i]; k < found.first[i + 1]; k++)
                snprintf(text + strlen(text), sizeof text - strlen(text), "%s%u ", cast.threads[found.sends[k].thread],
                         found.sends[k].index);
    aphi_races_free(&found);
    return text;
}

/* Of each sender, only what comes first; of the one that was taken from, nothing. */
static void test_pair(void **state)
{
    (void)state;
    begin(APHI_LAYOUT_PAIR, 0);
    aphi_event_id a1 = send(A, 0, "m"), a2 = send(A, 0, "m"), b1 = send(B, 0, "m");
    send(B, 0, "m");
    receive(a1, 0, 0, "m");
    receive(a2, 0, 0, "m");
    receive(b1, 0, 0, "m");
    assert_string_equal(races(1), "B1 ");
    assert_string_equal(races(2), "B1 ");
    assert_string_equal(races(3), "");
}

static void test_unordered(void **state)
{
    (void)state;
    begin(APHI_LAYOUT_UNORDERED, 0);
    aphi_event_id a1 = send(A, 0, "m");
    send(A, 0, "m");
    send(B, 0, "m");
    receive(a1, 0, 0, "m");
    assert_string_equal(races(1), "A2 B1 ");
}

/* With room for one, the second is sent only when the first is received: no race, whatever the medium. */
static void test_room(void **state)
{
    (void)state;
    begin(APHI_LAYOUT_UNORDERED, 1);
    aphi_event_id a1 = send(A, 0, "m");
    receive(a1, 0, 0, "m");
    receive(send(A, 0, "m"), 0, 0, "m");
    assert_string_equal(races(1), "");
}

/* B sends after it heard of A: where a port is one queue, A's comes first; where each pair has one, it need not. */
static void test_causes(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        begin(i ? APHI_LAYOUT_PORT : APHI_LAYOUT_PAIR, 0);
        aphi_event_id a1 = send(A, 0, "m"), a2 = send(A, 2, "m");
        receive(a2, 2, 2, "m");
        aphi_event_id b2 = send(B, 0, "m");
        receive(a1, 0, 0, "m");
        receive(b2, 0, 0, "m");
        assert_string_equal(races(1), i ? "" : "B2 ");
    }
}

/* What a receive caused cannot have been taken by it. */
static void test_effect(void **state)
{
    (void)state;
    begin(APHI_LAYOUT_PAIR, 0);
    receive(send(A, 0, "m"), 0, 0, "m");
    receive(send(R, 2, "m"), 2, 2, "m");
    receive(send(B, 0, "m"), 0, 0, "m");
    assert_string_equal(races(1), "");
}

static void test_open(void **state)
{
    (void)state;
    for (uint16_t other = 0; other < 2; other++) {
        begin(APHI_LAYOUT_PAIR, 0);
        aphi_event_id a1 = send(A, 0, "m");
        send(B, 1, "m");
        receive(a1, 0, other, "m");
        assert_string_equal(races(1), other ? "B1 " : "");
    }
}

/* A synchronous pair is one event of both: what counts is what the sender did before. One that waits counts, too. */
static void test_sync(void **state)
{
    (void)state;
    begin(APHI_LAYOUT_PAIR, 0);
    pass(A, 0, 0, "m");
    pass(B, 0, 0, "m");
    assert_string_equal(races(1), "B1 ");
    assert_string_equal(races(2), "");

    begin(APHI_LAYOUT_PAIR, 0);
    pass(A, 0, 0, "m");
    assert_string_equal(races(1), "");
    recording.thread_ends[B] = (aphi_thread_end){.status = APHI_THREAD_SENDING, .port = 0,
                                             .label = aphi_layout_label(&cast, "m")};
    assert_string_equal(races(1), "B1 ");
    recording.thread_ends[B].status = APHI_THREAD_RECEIVING;
    assert_string_equal(races(1), "");
}

/* ---- JSON -------------------------------------------------------------------------------------------------------- */

static void test_json(void **state)
{
    aphi_recording again = {0};
    aphi_buffer text = {0};
    aph_value v;
    aph_json_error json;
    char error[300];
    (void)state;
    begin(APHI_LAYOUT_PAIR, 0);
    pass(A, 0, 1, "quoted\"\\");
    receive(send(B, 1, "m"), 1, 1, "m");
    add(APHI_RECORDED_LOCAL, R, 0, "enter");
    send(A, 0, "lost");
    recording.end = APHI_RECORDING_DEADLOCK;
    aphi_recording_write(&cast, &recording, NULL, 7, &text);
    assert_non_null(strstr(aphi_buffer_text(&text), "{\"sequence\":7,\"deadlock\":true,\"threads\":{\"A\":[{"));
    assert_non_null(strstr(text.data, "{\"op\":\"local\",\"label\":\"enter\"}"));
    assert_non_null(strstr(text.data, "\"port\":\"p\",\"label\":\"lost\",\"peer\":\"R\"}"));
    assert_true(aph_json_read(text.data, text.n, &v, &json));
    if (!aphi_recording_read(&cast, v, &again, error, sizeof error))
        fail_msg("%s", error);
    assert_int_equal(again.end, APHI_RECORDING_DEADLOCK);
    assert_true(aphi_recording_equal(&cast, &recording, &again));
    again.events[0].label = APHI_LABEL_ANY;
    assert_false(aphi_recording_equal(&cast, &recording, &again));
    aphi_buffer_free(&text);
    aphi_recording_free(&again);
}

static int finish(void **state)
{
    (void)state;
    aphi_layout_free(&cast);
    aphi_recording_free(&recording);
    aph_heap_close();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pair),   cmocka_unit_test(test_unordered), cmocka_unit_test(test_room),
        cmocka_unit_test(test_causes), cmocka_unit_test(test_effect),    cmocka_unit_test(test_open),
        cmocka_unit_test(test_sync),   cmocka_unit_test(test_json),
    };
    return cmocka_run_group_tests(tests, NULL, finish);
}
