/* SPDX-License-Identifier: Apache-2.0
 *
 * buffer.c - a bounded buffer between producers and a consumer.
 *
 * buffer [PRODUCERS [ITEMS [ROOM]]]        default: 2 producers of 2 items each, room for 2
 *
 * Producers and the consumer send to the buffer synchronously; its guards determine when it receives. The buffer sends
 * the oldest item in an asynchronous message. */
#include <antiphon/threads.h>

#include <stdio.h>
#include <stdlib.h>

enum { MOST = 8 };

static int producers = 2, items = 2, room = 2;
static aph_thread_port *deposit, *withdraw, *taken;

static void label_for(char label[APH_LABEL_MAX], const char *what, int number)
{
    snprintf(label, APH_LABEL_MAX, "%s(%d)", what, number);
}

static void producer(aph_thread *self, void *argument)
{
    int number = *(int *)argument;
    char label[APH_LABEL_MAX];
    label_for(label, "put", number);
    for (int i = 0; i < items; i++)
        aph_thread_send_sync(self, deposit, label, aph_payload_number(number));
}

static void consumer(aph_thread *self, void *argument)
{
    (void)argument;
    for (int i = 0; i < producers * items; i++) {
        aph_thread_send_sync(self, withdraw, "get", aph_payload_number(0));
        aph_thread_receive(self, taken);
    }
}

static void buffer(aph_thread *self, void *argument)
{
    int kept[MOST], first = 0, count = 0, given = 0;
    char label[APH_LABEL_MAX];
    (void)argument;
    while (given < producers * items) {
        aph_choice choices[] = {
            {.port = deposit, .closed = count == room || given + count == producers * items},
            {.port = withdraw, .label = "get", .closed = count == 0},
        };
        aph_message m = aph_thread_select(self, choices, 2);
        if (m.choice == 0) {
            kept[(first + count++) % room] = (int)m.payload.number;
        } else {
            label_for(label, "item", kept[first]);
            aph_thread_send(self, taken, label, aph_payload_number(kept[first]));
            first = (first + 1) % room;
            count--;
            given++;
        }
    }
}

int main(int count, char **words)
{
    static int numbers[MOST];
    int *settings[] = {&producers, &items, &room};
    char name[APH_LABEL_MAX];
    for (int i = 1; i < count && i <= 3; i++)
        *settings[i - 1] = atoi(words[i]);
    if (producers < 1 || producers > MOST || items < 1 || room < 1 || room > MOST) {
        fprintf(stderr, "usage: buffer [PRODUCERS [ITEMS [ROOM]]], producers and room from 1 to %d\n", MOST);
        return 2;
    }
    aph_threads *group = aph_threads_open();
    for (int i = 0; i < producers; i++) {
        numbers[i] = i + 1;
        snprintf(name, sizeof name, "P%d", i + 1);
        aph_threads_add(group, name, producer, &numbers[i]);
    }
    aph_thread *c = aph_threads_add(group, "C", consumer, NULL);
    aph_thread *b = aph_threads_add(group, "B", buffer, NULL);
    deposit = aph_threads_port(group, "deposit", b, APH_THREAD_FIFO_PAIR, 0);
    withdraw = aph_threads_port(group, "withdraw", b, APH_THREAD_FIFO_PAIR, 0);
    taken = aph_threads_port(group, "taken", c, APH_THREAD_FIFO_PAIR, 0);
    aph_threads_run(group);
    aph_threads_close(group);
    return 0;
}
