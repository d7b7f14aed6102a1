/* SPDX-License-Identifier: Apache-2.0
 *
 * figure3.c - two threads send to a third, which takes their messages in either order.
 *
 * After figure 3 of Carver and Lei, "Stateless techniques for generating global and local test oracles": its model
 * takes the message on py first. So this program can do everything that the model allows, but not vice versa. */
#include <antiphon/threads.h>

static aph_thread_port *px, *py;

static void to_x(aph_thread *self, void *argument)
{
    (void)argument;
    aph_thread_send_sync(self, px, "m", aph_payload_number(1));
}

static void to_y(aph_thread *self, void *argument)
{
    (void)argument;
    aph_thread_send_sync(self, py, "m", aph_payload_number(2));
}

static void either(aph_thread *self, void *argument)
{
    (void)argument;
    aph_choice choices[] = {{.port = px}, {.port = py}};
    aph_message m = aph_thread_select(self, choices, 2);
    choices[m.choice].closed = true;
    aph_thread_select(self, choices, 2);
}

int main(void)
{
    aph_threads *group = aph_threads_open();
    aph_threads_add(group, "L1", to_x, NULL);
    aph_threads_add(group, "L2", to_y, NULL);
    aph_thread *third = aph_threads_add(group, "L3", either, NULL);
    px = aph_threads_port(group, "px", third, APH_THREAD_FIFO_PAIR, 0);
    py = aph_threads_port(group, "py", third, APH_THREAD_FIFO_PAIR, 0);
    aph_threads_run(group);
    aph_threads_close(group);
    return 0;
}
