/* SPDX-License-Identifier: Apache-2.0
 *
 * test_threads.c - the threads library without control: order, room, labels and guards hold while threads race. */
#include <antiphon/threads.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SENDERS = 3, MESSAGES = 3000, ROOM = 4 };

static aph_thread_port *port, *second;
static atomic_int sent[SENDERS], received[SENDERS];
static atomic_int faults;

static void expect(bool holds) { atomic_fetch_add(&faults, !holds); }

/* A group of senders and one receiver with a port. */
static void run(aph_body *sender, aph_body *receiver, aph_thread_medium medium, unsigned room)
{
    static int numbers[SENDERS];
    char name[APH_LABEL_MAX];
    aph_threads *group = aph_threads_open();
    atomic_store(&faults, 0);
    for (int i = 0; i < SENDERS; i++) {
        numbers[i] = i;
        atomic_store(&sent[i], 0);
        atomic_store(&received[i], 0);
        snprintf(name, sizeof name, "S%d", i);
        aph_threads_add(group, name, sender, &numbers[i]);
    }
    aph_thread *r = aph_threads_add(group, "R", receiver, NULL);
    port = aph_threads_port(group, "port", r, medium, room);
    second = aph_threads_port(group, "second", r, medium, room);
    assert_false(aph_threads_controlled(group));
    aph_threads_run(group);
    aph_threads_close(group);
    assert_int_equal(atomic_load(&faults), 0);
    for (int i = 0; i < SENDERS; i++)
        assert_int_equal(atomic_load(&received[i]), MESSAGES);
}

/* Every third message is synchronous: when it is sent, all before it were received. */
static void send_numbers(aph_thread *self, void *argument)
{
    int number = *(int *)argument;
    for (int i = 0; i < MESSAGES; i++) {
        aph_payload p = aph_payload_number((int64_t)number << 32 | i);
        if (i % 3 == 2) {
            aph_thread_send_sync(self, port, "sync", p);
            expect(atomic_load(&received[number]) >= i); /* this one is taken, but may not be counted yet */
        } else {
            aph_thread_send(self, port, "m", p);
        }
    }
}

static void receive_in_order(aph_thread *self, void *argument)
{
    (void)argument;
    for (int i = 0; i < SENDERS * MESSAGES; i++) {
        aph_message m = aph_thread_receive(self, port);
        int from = (int)(m.payload.number >> 32), number = (int)(m.payload.number & 0x7fffffff);
        expect(aph_thread_name(m.sender)[1] - '0' == from);
        expect(m.sync == (number % 3 == 2) && !strcmp(m.label, m.sync ? "sync" : "m"));
        expect(number == atomic_fetch_add(&received[from], 1));
    }
}

static void test_order(void **state)
{
    (void)state;
    run(send_numbers, receive_in_order, APH_THREAD_FIFO_PAIR, 0);
    run(send_numbers, receive_in_order, APH_THREAD_FIFO_PORT, 0);
    run(send_numbers, receive_in_order, APH_THREAD_FIFO_PAIR, 1);
}

/* No sender is ever more than the room, and the message that it is about to send, ahead. */
static void send_within_room(aph_thread *self, void *argument)
{
    int number = *(int *)argument;
    for (int i = 0; i < MESSAGES; i++) {
        aph_thread_send(self, port, "m", aph_payload_number(number));
        expect(atomic_fetch_add(&sent[number], 1) + 1 - atomic_load(&received[number]) <= ROOM + 1);
    }
}

static void receive_slowly(aph_thread *self, void *argument)
{
    (void)argument;
    for (int i = 0; i < SENDERS * MESSAGES; i++) {
        aph_message m = aph_thread_receive(self, port);
        atomic_fetch_add(&received[m.payload.number], 1);
    }
}

static void test_room(void **state)
{
    (void)state;
    run(send_within_room, receive_slowly, APH_THREAD_FIFO_PAIR, ROOM);
    run(send_within_room, receive_slowly, APH_THREAD_UNORDERED, ROOM);
}

/* ---- labels and guards ------------------------------------------------------------------------------------------- */

static void send_two_kinds(aph_thread *self, void *argument)
{
    int number = *(int *)argument;
    for (int i = 0; i < MESSAGES; i++)
        aph_thread_send(self, i % 2 ? second : port, i % 4 < 2 ? "a" : "b", aph_payload_number(number));
}

/* On one port a label, on the other any, open by turns. */
static void receive_by_choice(aph_thread *self, void *argument)
{
    int left[2][2]; /* by port and label */
    (void)argument;
    for (int i = 0; i < 4; i++)
        left[i / 2][i % 2] = SENDERS * MESSAGES / 4;
    for (int i = 0; i < SENDERS * MESSAGES; i++) {
        bool a = left[0][0] && (i % 2 || !left[0][1]);
        aph_choice choices[] = {
            {.port = port, .label = a ? "a" : "b", .closed = !left[0][a ? 0 : 1]},
            {.port = second, .closed = i % 5 == 0 && (left[0][0] || left[0][1])},
        };
        aph_message m = aph_thread_select(self, choices, 2);
        expect(!choices[m.choice].closed && (!choices[m.choice].label || !strcmp(m.label, choices[m.choice].label)));
        expect(left[m.choice][m.label[0] - 'a']-- > 0);
        atomic_fetch_add(&received[m.payload.number], 1);
    }
}

static void test_choices(void **state)
{
    (void)state;
    run(send_two_kinds, receive_by_choice, APH_THREAD_UNORDERED, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_order),
        cmocka_unit_test(test_room),
        cmocka_unit_test(test_choices),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
