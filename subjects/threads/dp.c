/* SPDX-License-Identifier: Apache-2.0
 *
 * dp.c - N philosophers with N forks eat once each; all messages are synchronous.
 *
 * dp [N]        N from 2 to 30; default: 3
 *
 * Philosopher i has fork i on the left and fork i + 1 on the right. Philosopher 0 takes the right fork first, the
 * others the left, so there is no deadlock. Forks are released in the order in which they were taken. */
#include <antiphon/threads.h>

#include <stdio.h>
#include <stdlib.h>

enum { SEATS_MAX = 30 };

static int seats = 3;
static aph_thread_port *forks[SEATS_MAX];

static void tell(aph_thread *self, int fork, const char *what, int philosopher)
{
    char label[APH_LABEL_MAX];
    snprintf(label, sizeof label, "%s(%d)", what, philosopher);
    aph_thread_send_sync(self, forks[fork], label, aph_payload_number(philosopher));
}

static void philosopher(aph_thread *self, void *argument)
{
    int number = *(int *)argument, left = number, right = (number + 1) % seats;
    int first = number == 0 ? right : left, second = number == 0 ? left : right;
    tell(self, first, "get", number);
    tell(self, second, "get", number);
    tell(self, first, "release", number);
    tell(self, second, "release", number);
}

static void a_fork(aph_thread *self, void *argument)
{
    int number = *(int *)argument;
    char left[APH_LABEL_MAX], right[APH_LABEL_MAX], release[APH_LABEL_MAX];
    snprintf(left, sizeof left, "get(%d)", number);
    snprintf(right, sizeof right, "get(%d)", (number + seats - 1) % seats);
    for (int i = 0; i < 2; i++) {
        aph_choice get[] = {{.port = forks[number], .label = left}, {.port = forks[number], .label = right}};
        aph_message m = aph_thread_select(self, get, 2);
        snprintf(release, sizeof release, "release(%d)", (int)m.payload.number);
        aph_thread_receive_label(self, forks[number], release);
    }
}

int main(int count, char **words)
{
    static int numbers[SEATS_MAX];
    char name[APH_LABEL_MAX];
    if (count > 1)
        seats = atoi(words[1]);
    if (seats < 2 || seats > SEATS_MAX) {
        fprintf(stderr, "usage: dp [N], N from 2 to %d\n", SEATS_MAX);
        return 2;
    }
    aph_threads *group = aph_threads_open();
    for (int i = 0; i < seats; i++) {
        numbers[i] = i;
        snprintf(name, sizeof name, "P%d", i);
        aph_threads_add(group, name, philosopher, &numbers[i]);
    }
    for (int i = 0; i < seats; i++) {
        snprintf(name, sizeof name, "F%d", i);
        aph_thread *owner = aph_threads_add(group, name, a_fork, &numbers[i]);
        snprintf(name, sizeof name, "fork%d", i);
        forks[i] = aph_threads_port(group, name, owner, APH_THREAD_FIFO_PAIR, 0);
    }
    aph_threads_run(group);
    aph_threads_close(group);
    return 0;
}
