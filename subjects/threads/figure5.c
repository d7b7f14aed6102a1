/* SPDX-License-Identifier: Apache-2.0
 *
 * figure5.c - a thread accepts two messages in either order; another sends them in a fixed order.
 *
 * After figure 5 of Carver and Lei, "Stateless techniques for generating global and local test oracles": L2 alone may
 * begin with b, but together with L1 it never does. */
#include <antiphon/threads.h>

static aph_thread_port *a, *b;

static void sender(aph_thread *self, void *argument)
{
    (void)argument;
    aph_thread_send_sync(self, a, "a", aph_payload_number(1));
    aph_thread_send_sync(self, b, "b", aph_payload_number(2));
}

static void receiver(aph_thread *self, void *argument)
{
    (void)argument;
    aph_choice choices[] = {{.port = a, .label = "a"}, {.port = b, .label = "b"}};
    aph_message m = aph_thread_select(self, choices, 2);
    choices[m.choice].closed = true;
    aph_thread_select(self, choices, 2);
}

int main(void)
{
    aph_threads *group = aph_threads_open();
    aph_threads_add(group, "L1", sender, NULL);
    aph_thread *second = aph_threads_add(group, "L2", receiver, NULL);
    a = aph_threads_port(group, "a", second, APH_THREAD_FIFO_PAIR, 0);
    b = aph_threads_port(group, "b", second, APH_THREAD_FIFO_PAIR, 0);
    aph_threads_run(group);
    aph_threads_close(group);
    return 0;
}
