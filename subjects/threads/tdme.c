/* SPDX-License-Identifier: Apache-2.0
 *
 * tdme.c - mutual exclusion for three users with a token; all messages are asynchronous.
 *
 * A user requests the token, receives it, enters and leaves its critical section, and releases the token. The
 * controller grants a free token to the user that has waited longest. */
#include <antiphon/threads.h>

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { USERS = 3 };

static aph_thread_port *controller_port, *token_ports[USERS];
static atomic_int inside;

static void tell(aph_thread *self, const char *what, int user)
{
    char label[APH_LABEL_MAX];
    snprintf(label, sizeof label, "%s(%d)", what, user);
    aph_thread_send(self, controller_port, label, aph_payload_number(user));
}

static void user(aph_thread *self, void *argument)
{
    int number = *(int *)argument;
    tell(self, "request", number);
    aph_thread_receive_label(self, token_ports[number], "token");
    aph_thread_event(self, "enter");
    if (atomic_fetch_add(&inside, 1) != 0)
        abort(); /* two users are in the critical section */
    atomic_fetch_sub(&inside, 1);
    aph_thread_event(self, "leave");
    tell(self, "release", number);
}

static void controller(aph_thread *self, void *argument)
{
    int waiting[USERS], first = 0, count = 0, given_back = 0;
    bool held = false;
    (void)argument;
    while (given_back < USERS) {
        if (!held && first < count) {
            aph_thread_send(self, token_ports[waiting[first++]], "token", aph_payload_number(0));
            held = true;
        }
        aph_message m = aph_thread_receive(self, controller_port);
        if (!strncmp(m.label, "request", strlen("request"))) {
            waiting[count++] = (int)m.payload.number;
        } else {
            held = false;
            given_back++;
        }
    }
}

int main(void)
{
    static int numbers[USERS];
    aph_thread *users[USERS];
    char name[APH_LABEL_MAX];
    aph_threads *group = aph_threads_open();
    for (int i = 0; i < USERS; i++) {
        numbers[i] = i;
        snprintf(name, sizeof name, "U%d", i);
        users[i] = aph_threads_add(group, name, user, &numbers[i]);
        snprintf(name, sizeof name, "token%d", i);
        token_ports[i] = aph_threads_port(group, name, users[i], APH_THREAD_FIFO_PAIR, 0);
    }
    aph_thread *c = aph_threads_add(group, "C", controller, NULL);
    controller_port = aph_threads_port(group, "controller", c, APH_THREAD_FIFO_PAIR, 0);
    aph_threads_run(group);
    aph_threads_close(group);
    return 0;
}
