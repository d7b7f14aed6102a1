/* SPDX-License-Identifier: Apache-2.0
 *
 * test_threads.c - uncontrolled runs of the threads library: order, capacity, labels and guards. */
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

enum { SENDERS = 3, MESSAGES = 3000, CAPACITY = 4 };

static aph_thread_port *port, *second;
static atomic_int sent[SENDERS], received[SENDERS];
static atomic_int failures;

static void check(bool holds) { atomic_fetch_add(&failures, !holds); }

/* Runs a group of senders and one receiver. */
static void run_group(aph_body *sender, aph_body *receiver, aph_thread_medium medium, unsigned capacity)
{
    static int numbers[SENDERS];
    char name[APH_LABEL_MAX];
    aph_threads *group = aph_threads_open();
    atomic_store(&failures, 0);
    for (int i = 0; i < SENDERS; i++) {
        numbers[i] = i;
        atomic_store(&sent[i], 0);
        atomic_store(&received[i], 0);
        snprintf(name, sizeof name, "S%d", i);
        aph_threads_add(group, name, sender, &numbers[i]);
    }
    aph_thread *r = aph_threads_add(group, "R", receiver, NULL);
    port = aph_threads_port(group, "port", r, medium, capacity);
    second = aph_threads_port(group, "second", r, medium, capacity);
    assert_false(aph_threads_controlled(group));
    aph_threads_run(group);
    aph_threads_close(group);
    assert_int_equal(atomic_load(&failures), 0);
    for (int i = 0; i < SENDERS; i++)
        assert_int_equal(atomic_load(&received[i]), MESSAGES);
}

/* Every third message is synchronous; when its send returns, all earlier messages have been received. */
static void send_numbers(aph_thread *self, void *argument)
{
    int number = *(int *)argument;
    for (int i = 0; i < MESSAGES; i++) {
        aph_payload p = aph_payload_number((int64_t)number << 32 | i);
        if (i % 3 == 2) {
            aph_thread_send_sync(self, port, "sync", p);
            check(atomic_load(&received[number]) >= i); /* this message was received, but may not be counted yet */
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
        check(aph_thread_name(m.sender)[1] - '0' == from);
        check(m.sync == (number % 3 == 2) && !strcmp(m.label, m.sync ? "sync" : "m"));
        check(number == atomic_fetch_add(&received[from], 1));
    }
}

static void test_order(void **state)
{
    (void)state;
    run_group(send_numbers, receive_in_order, APH_THREAD_FIFO_PAIR, 0);
    run_group(send_numbers, receive_in_order, APH_THREAD_FIFO_PORT, 0);
    run_group(send_numbers, receive_in_order, APH_THREAD_FIFO_PAIR, 1);
}

/* A sender is never ahead by more than the capacity and the message that it is sending. */
static void send_within_capacity(aph_thread *self, void *argument)
{
    int number = *(int *)argument;
    for (int i = 0; i < MESSAGES; i++) {
        aph_thread_send(self, port, "m", aph_payload_number(number));
        check(atomic_fetch_add(&sent[number], 1) + 1 - atomic_load(&received[number]) <= CAPACITY + 1);
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

static void test_capacity(void **state)
{
    (void)state;
    run_group(send_within_capacity, receive_slowly, APH_THREAD_FIFO_PAIR, CAPACITY);
    run_group(send_within_capacity, receive_slowly, APH_THREAD_UNORDERED, CAPACITY);
}

/* ---- labels and guards ------------------------------------------------------------------------------------------- */

static void send_two_kinds(aph_thread *self, void *argument)
{
    int number = *(int *)argument;
    for (int i = 0; i < MESSAGES; i++)
        aph_thread_send(self, i % 2 ? second : port, i % 4 < 2 ? "a" : "b", aph_payload_number(number));
}

/* Receives one label on one port and any label on the other, with changing guards. */
static void receive_by_choice(aph_thread *self, void *argument)
{
    int remaining[2][2]; /* by port and label */
    (void)argument;
    for (int i = 0; i < 4; i++)
        remaining[i / 2][i % 2] = SENDERS * MESSAGES / 4;
    for (int i = 0; i < SENDERS * MESSAGES; i++) {
        bool a = remaining[0][0] && (i % 2 || !remaining[0][1]);
        aph_choice choices[] = {
            {.port = port, .label = a ? "a" : "b", .closed = !remaining[0][a ? 0 : 1]},
            {.port = second, .closed = i % 5 == 0 && (remaining[0][0] || remaining[0][1])},
        };
        aph_message m = aph_thread_select(self, choices, 2);
        check(!choices[m.choice].closed && (!choices[m.choice].label || !strcmp(m.label, choices[m.choice].label)));
        check(remaining[m.choice][m.label[0] - 'a']-- > 0);
        atomic_fetch_add(&received[m.payload.number], 1);
    }
}

static void test_choices(void **state)
{
    (void)state;
    run_group(send_two_kinds, receive_by_choice, APH_THREAD_UNORDERED, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_order),
        cmocka_unit_test(test_capacity),
        cmocka_unit_test(test_choices),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
