/* SPDX-License-Identifier: Apache-2.0
 *
 * figure8.c - two threads send to a third, which replies to each.
 *
 * After figure 8 of Carver and Lei, "Stateless techniques for generating global and local test oracles". */
#include <antiphon/threads.h>

#include <stdbool.h>
#include <string.h>

static aph_thread_port *p1, *p2, *p3;

static void first(aph_thread *self, void *argument)
{
    (void)argument;
    aph_thread_send(self, p2, "from-T1", aph_payload_number(1));
    aph_thread_receive(self, p1);
}

static void second(aph_thread *self, void *argument)
{
    (void)argument;
    for (int i = 0; i < 2; i++) {
        aph_message m = aph_thread_receive(self, p2);
        bool is_first = strcmp(m.label, "from-T1") == 0;
        aph_thread_send(self, is_first ? p1 : p3, "reply", aph_payload_number(3));
    }
}

static void third(aph_thread *self, void *argument)
{
    (void)argument;
    aph_thread_send(self, p2, "from-T3", aph_payload_number(2));
    aph_thread_receive(self, p3);
}

int main(void)
{
    aph_threads *group = aph_threads_open();
    aph_thread *t1 = aph_threads_add(group, "T1", first, NULL);
    aph_thread *t2 = aph_threads_add(group, "T2", second, NULL);
    aph_thread *t3 = aph_threads_add(group, "T3", third, NULL);
    p1 = aph_threads_port(group, "p1", t1, APH_THREAD_FIFO_PAIR, 0);
    p2 = aph_threads_port(group, "p2", t2, APH_THREAD_FIFO_PAIR, 0);
    p3 = aph_threads_port(group, "p3", t3, APH_THREAD_FIFO_PAIR, 0);
    aph_threads_run(group);
    aph_threads_close(group);
    return 0;
}
