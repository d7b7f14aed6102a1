/* SPDX-License-Identifier: Apache-2.0
 *
 * figure4.c - a thread that receives from two others, one of which first waits for a third.
 *
 * After figure 4 of Carver and Lei, "Stateless techniques for generating global and local test oracles". */
#include <antiphon/threads.h>

static aph_thread_port *p2, *p3;

static void first(aph_thread *self, void *argument)
{
    (void)argument;
    aph_thread_send_sync(self, p2, "m", aph_payload_number(1));
}

static void second(aph_thread *self, void *argument)
{
    (void)argument;
    aph_thread_receive(self, p2);
    aph_thread_send_sync(self, p3, "m", aph_payload_number(2));
}

static void third(aph_thread *self, void *argument)
{
    (void)argument;
    aph_thread_receive(self, p3);
    aph_thread_receive(self, p3);
}

static void fourth(aph_thread *self, void *argument)
{
    (void)argument;
    aph_thread_send_sync(self, p3, "m", aph_payload_number(3));
}

int main(void)
{
    aph_threads *group = aph_threads_open();
    aph_threads_add(group, "T1", first, NULL);
    aph_thread *t2 = aph_threads_add(group, "T2", second, NULL);
    aph_thread *t3 = aph_threads_add(group, "T3", third, NULL);
    aph_threads_add(group, "T4", fourth, NULL);
    p2 = aph_threads_port(group, "p2", t2, APH_THREAD_FIFO_PAIR, 0);
    p3 = aph_threads_port(group, "p3", t3, APH_THREAD_FIFO_PAIR, 0);
    aph_threads_run(group);
    aph_threads_close(group);
    return 0;
}
