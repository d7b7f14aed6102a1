/* SPDX-License-Identifier: Apache-2.0
 *
 * figure12.c - three threads send to a fourth, which is open to one port more than it should be.
 *
 * After figure 12 of Carver and Lei, "Stateless techniques for generating global and local test oracles": the model of
 * L4 takes two messages on p1, then one on p2. This program selects from both ports after the first message. The race
 * set of its second receive shows the difference. */
#include <antiphon/threads.h>

static aph_thread_port *p1, *p2;

static void sender(aph_thread *self, void *port)
{
    aph_thread_send_sync(self, *(aph_thread_port **)port, "m", aph_payload_number(0));
}

static void receiver(aph_thread *self, void *argument)
{
    (void)argument;
    aph_thread_receive(self, p1);
    aph_choice choices[] = {{.port = p1}, {.port = p2}};
    aph_message m = aph_thread_select(self, choices, 2);
    choices[m.choice].closed = true;
    aph_thread_select(self, choices, 2);
}

int main(void)
{
    aph_threads *group = aph_threads_open();
    aph_threads_add(group, "L1", sender, &p1);
    aph_threads_add(group, "L2", sender, &p1);
    aph_threads_add(group, "L3", sender, &p2);
    aph_thread *fourth = aph_threads_add(group, "L4", receiver, NULL);
    p1 = aph_threads_port(group, "p1", fourth, APH_THREAD_FIFO_PAIR, 0);
    p2 = aph_threads_port(group, "p2", fourth, APH_THREAD_FIFO_PAIR, 0);
    aph_threads_run(group);
    aph_threads_close(group);
    return 0;
}
