/* SPDX-License-Identifier: Apache-2.0
 *
 * test_races.c - race sets of small handwritten recordings; recordings survive writing as JSON and reading. */
#include "execute/recording.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { A, B, R, THREADS }; /* two senders and a receiver */

static aphi_layout layout;
static aphi_recording recording;
static uint32_t counts[THREADS];

static void begin_recording(aphi_medium medium, uint32_t capacity)
{
    static const char *const names[] = {"A", "B", "R"};
    aphi_layout_free(&layout);
    aphi_recording_clear(&recording);
    memset(counts, 0, sizeof counts);
    for (int i = 0; i < THREADS; i++)
        aphi_layout_add_thread(&layout, names[i]);
    aphi_layout_add_port(&layout, "p", R, medium, capacity);
    aphi_layout_add_port(&layout, "q", R, medium, capacity);
    aphi_layout_add_port(&layout, "b", B, medium, capacity);
    aphi_layout_label(&layout, "*");
}

static aphi_recorded_event *add_event(aphi_alts_op op, uint16_t thread, uint16_t port, const char *label)
{
    recording.events = realloc(recording.events, (recording.event_count + 1) * sizeof *recording.events);
    recording.event_capacity = recording.event_count + 1;
    aphi_recorded_event *e = &recording.events[recording.event_count++];
    *e = (aphi_recorded_event){.op = op, .id = {thread, ++counts[thread]}, .port = port,
                               .label = aphi_layout_label(&layout, label), .peer = {layout.ports[port].owner, 0}};
    return e;
}

static aphi_event_id add_send(uint16_t thread, uint16_t port, const char *label)
{
    return add_event(APHI_ALTS_SEND, thread, port, label)->id;
}

/* Adds the receive of a send. Its open list has the port of the send and, if different, the other port. */
static aphi_event_id add_receive(aphi_event_id from, uint16_t port, uint16_t other, const char *label)
{
    uint16_t owner = layout.ports[port].owner;
    aphi_recorded_event *e = add_event(APHI_ALTS_RECEIVE, owner, port, label);
    aphi_open_item open[] = {{port, APHI_LABEL_ANY}, {other, APHI_LABEL_ANY}};
    e->peer = from;
    e->open = (uint32_t)recording.open_item_count;
    e->open_count = port == other ? 1 : 2;
    recording.open_items =
        realloc(recording.open_items, (recording.open_item_count + 2) * sizeof *recording.open_items);
    recording.open_item_capacity = recording.open_item_count + 2;
    memcpy(recording.open_items + recording.open_item_count, open, sizeof open);
    recording.open_item_count += e->open_count;
    for (size_t i = 0; i < recording.event_count; i++)
        if (recording.events[i].id.thread == from.thread && recording.events[i].id.index == from.index)
            recording.events[i].peer = e->id;
    return e->id;
}

static void add_sync_pair(uint16_t thread, uint16_t port, uint16_t other, const char *label)
{
    aphi_event_id s = add_send(thread, port, label);
    recording.events[recording.event_count - 1].sync = true;
    add_receive(s, port, other, label);
    recording.events[recording.event_count - 1].sync = true;
}

/* Returns the race set of event n of R as text. */
static const char *race_set_text(uint32_t n)
{
    static char text[200];
    aphi_races found = {0};
    aphi_races_find(&layout, &recording, &found);
    *text = 0;
    for (size_t i = 0; i < recording.event_count; i++)
        if (recording.events[i].id.thread == R && recording.events[i].id.index == n)
            for (uint32_t k = found.first[i]; k < found.first[i + 1]; k++)
                snprintf(text + strlen(text), sizeof text - strlen(text), "%s%u ",
                         layout.threads[found.sends[k].thread], found.sends[k].index);
    aphi_races_free(&found);
    return text;
}

/* Only the first message of each other sender races. */
static void test_pair(void **state)
{
    (void)state;
    begin_recording(APHI_MEDIUM_PAIR, 0);
    aphi_event_id a1 = add_send(A, 0, "m"), a2 = add_send(A, 0, "m"), b1 = add_send(B, 0, "m");
    add_send(B, 0, "m");
    add_receive(a1, 0, 0, "m");
    add_receive(a2, 0, 0, "m");
    add_receive(b1, 0, 0, "m");
    assert_string_equal(race_set_text(1), "B1 ");
    assert_string_equal(race_set_text(2), "B1 ");
    assert_string_equal(race_set_text(3), "");
}

static void test_unordered(void **state)
{
    (void)state;
    begin_recording(APHI_MEDIUM_UNORDERED, 0);
    aphi_event_id a1 = add_send(A, 0, "m");
    add_send(A, 0, "m");
    add_send(B, 0, "m");
    add_receive(a1, 0, 0, "m");
    assert_string_equal(race_set_text(1), "A2 B1 ");
}

/* With capacity 1, the second send waits for the first receive, so there is no race on any medium. */
static void test_capacity(void **state)
{
    (void)state;
    begin_recording(APHI_MEDIUM_UNORDERED, 1);
    aphi_event_id a1 = add_send(A, 0, "m");
    add_receive(a1, 0, 0, "m");
    add_receive(add_send(A, 0, "m"), 0, 0, "m");
    assert_string_equal(race_set_text(1), "");
}

/* B sends after it received a message from A. In a shared queue, A's earlier send comes first; with a queue per sender,
 * it may not. */
static void test_causes(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        begin_recording(i ? APHI_MEDIUM_PORT : APHI_MEDIUM_PAIR, 0);
        aphi_event_id a1 = add_send(A, 0, "m"), a2 = add_send(A, 2, "m");
        add_receive(a2, 2, 2, "m");
        aphi_event_id b2 = add_send(B, 0, "m");
        add_receive(a1, 0, 0, "m");
        add_receive(b2, 0, 0, "m");
        assert_string_equal(race_set_text(1), i ? "" : "B2 ");
    }
}

/* A receive does not race with a send that it caused. */
static void test_effect(void **state)
{
    (void)state;
    begin_recording(APHI_MEDIUM_PAIR, 0);
    add_receive(add_send(A, 0, "m"), 0, 0, "m");
    add_receive(add_send(R, 2, "m"), 2, 2, "m");
    add_receive(add_send(B, 0, "m"), 0, 0, "m");
    assert_string_equal(race_set_text(1), "");
}

static void test_open(void **state)
{
    (void)state;
    for (uint16_t other = 0; other < 2; other++) {
        begin_recording(APHI_MEDIUM_PAIR, 0);
        aphi_event_id a1 = add_send(A, 0, "m");
        add_send(B, 1, "m");
        add_receive(a1, 0, other, "m");
        assert_string_equal(race_set_text(1), other ? "B1 " : "");
    }
}

/* A synchronous send and its receive are one event, so only earlier events of the sender count. A waiting send also
 * races. */
static void test_sync(void **state)
{
    (void)state;
    begin_recording(APHI_MEDIUM_PAIR, 0);
    add_sync_pair(A, 0, 0, "m");
    add_sync_pair(B, 0, 0, "m");
    assert_string_equal(race_set_text(1), "B1 ");
    assert_string_equal(race_set_text(2), "");

    begin_recording(APHI_MEDIUM_PAIR, 0);
    add_sync_pair(A, 0, 0, "m");
    assert_string_equal(race_set_text(1), "");
    recording.thread_ends[B] = (aphi_thread_end){.status = APHI_THREAD_SENDING, .port = 0,
                                                 .label = aphi_layout_label(&layout, "m")};
    assert_string_equal(race_set_text(1), "B1 ");
    recording.thread_ends[B].status = APHI_THREAD_RECEIVING;
    assert_string_equal(race_set_text(1), "");
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
    begin_recording(APHI_MEDIUM_PAIR, 0);
    add_sync_pair(A, 0, 1, "quoted\"\\");
    add_receive(add_send(B, 1, "m"), 1, 1, "m");
    add_event(APHI_ALTS_LOCAL, R, 0, "enter");
    add_send(A, 0, "lost");
    recording.end = APHI_RECORDING_DEADLOCK;
    aphi_recording_write(&layout, &recording, NULL, 7, &text);
    assert_non_null(strstr(aphi_buffer_text(&text), "{\"sequence\":7,\"deadlock\":true,\"threads\":{\"A\":[{"));
    assert_non_null(strstr(text.data, "{\"op\":\"local\",\"label\":\"enter\"}"));
    assert_non_null(strstr(text.data, "\"port\":\"p\",\"label\":\"lost\",\"peer\":\"R\"}"));
    assert_true(aph_json_read(text.data, text.n, &v, &json));
    if (!aphi_recording_read(&layout, v, &again, error, sizeof error))
        fail_msg("%s", error);
    assert_int_equal(again.end, APHI_RECORDING_DEADLOCK);
    assert_true(aphi_recording_equal(&layout, &recording, &again));
    again.events[0].label = APHI_LABEL_ANY;
    assert_false(aphi_recording_equal(&layout, &recording, &again));
    aphi_buffer_free(&text);
    aphi_recording_free(&again);
}

static int free_all(void **state)
{
    (void)state;
    aphi_layout_free(&layout);
    aphi_recording_free(&recording);
    aph_heap_close();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pair),   cmocka_unit_test(test_unordered), cmocka_unit_test(test_capacity),
        cmocka_unit_test(test_causes), cmocka_unit_test(test_effect),    cmocka_unit_test(test_open),
        cmocka_unit_test(test_sync),   cmocka_unit_test(test_json),
    };
    return cmocka_run_group_tests(tests, NULL, free_all);
}
