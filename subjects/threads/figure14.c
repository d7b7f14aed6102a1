/* SPDX-License-Identifier: Apache-2.0
 *
 * figure14.c - a thread that answers, then takes two concurrent messages in either order.
 *
 * After figure 14 of Carver and Lei, "Stateless techniques for generating global and local test oracles": the model of
 * L2 takes p1, answers on p3, takes p1, then p2. This program selects between p1 and p2 after the answer. A test of L2
 * alone detects this by the race set of its third event: the second message on p1 is concurrent with the one on p2. */
#include <antiphon/threads.h>

static aph_thread_port *p1, *p2, *p3;

static void first(aph_thread *self, void *argument)
{
    (void)argument;
    aph_thread_send_sync(self, p1, "m", aph_payload_number(1));
    aph_thread_receive(self, p3);
    aph_thread_send_sync(self, p1, "m", aph_payload_number(2));
}

static void second(aph_thread *self, void *argument)
{
    (void)argument;
    aph_thread_receive(self, p1);
    aph_thread_send_sync(self, p3, "m", aph_payload_number(3));
    aph_choice choices[] = {{.port = p1}, {.port = p2}};
    aph_message m = aph_thread_select(self, choices, 2);
    choices[m.choice].closed = true;
    aph_thread_select(self, choices, 2);
}

static void third(aph_thread *self, void *argument)
{
    (void)argument;
    aph_thread_send_sync(self, p2, "m", aph_payload_number(4));
}

int main(void)
{
    aph_threads *group = aph_threads_open();
    aph_thread *l1 = aph_threads_add(group, "L1", first, NULL);
    aph_thread *l2 = aph_threads_add(group, "L2", second, NULL);
    aph_threads_add(group, "L3", third, NULL);
    p1 = aph_threads_port(group, "p1", l2, APH_THREAD_FIFO_PAIR, 0);
    p2 = aph_threads_port(group, "p2", l2, APH_THREAD_FIFO_PAIR, 0);
    p3 = aph_threads_port(group, "p3", l1, APH_THREAD_FIFO_PAIR, 0);
    aph_threads_run(group);
    aph_threads_close(group);
    return 0;
}
