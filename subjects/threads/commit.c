/* SPDX-License-Identifier: Apache-2.0
 *
 * commit.c - two-phase commit of N participants; messages are asynchronous.
 *
 * commit [N]        N from 1 to 6; default: 2
 *
 * The coordinator T sends prepare to each participant R, collects their votes, sends the outcome to all, and waits for
 * their acks. A user U may cancel at the first participant, which votes no if the cancel comes before prepare. */
#include <antiphon/threads.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 6 };

static int size = 2;
static aph_thread_port *work[MOST], *outcome[MOST], *votes, *acks;

static void send(aph_thread *self, aph_thread_port *to, const char *what, int number)
{
    char label[APH_LABEL_MAX];
    snprintf(label, sizeof label, "%s(%d)", what, number);
    aph_thread_send(self, to, label, aph_payload_number(number));
}

static void coordinator(aph_thread *self, void *argument)
{
    bool commit = true;
    (void)argument;
    for (int i = 0; i < size; i++)
        aph_thread_send(self, work[i], "prepare", aph_payload_number(0));
    for (int i = 0; i < size; i++)
        if (!strncmp(aph_thread_receive(self, votes).label, "no", 2))
            commit = false;
    for (int i = 0; i < size; i++)
        aph_thread_send(self, outcome[i], commit ? "commit" : "abort", aph_payload_number(0));
    for (int i = 0; i < size; i++)
        aph_thread_receive(self, acks);
}

static void participant(aph_thread *self, void *argument)
{
    int number = *(int *)argument;
    bool cancelled = false, asked = false;
    for (int i = 0; i < (number == 1 ? 2 : 1); i++) {
        aph_message m = aph_thread_receive(self, work[number - 1]);
        if (!strcmp(m.label, "prepare")) {
            send(self, votes, cancelled ? "no" : "yes", number);
            asked = true;
        } else {
            cancelled = !asked;
        }
    }
    aph_message m = aph_thread_receive(self, outcome[number - 1]);
    if (!strcmp(m.label, "commit") && cancelled)
        abort(); /* the participants disagree */
    aph_thread_event(self, !strcmp(m.label, "commit") ? "committed" : "aborted");
    send(self, acks, "ack", number);
}

static void user(aph_thread *self, void *argument)
{
    (void)argument;
    aph_thread_send(self, work[0], "cancel", aph_payload_number(0));
}

int main(int count, char **words)
{
    static int numbers[MOST];
    char name[APH_LABEL_MAX];
    if (count > 1)
        size = atoi(words[1]);
    if (size < 1 || size > MOST) {
        fprintf(stderr, "usage: commit [N], N from 1 to %d\n", MOST);
        return 2;
    }
    aph_threads *group = aph_threads_open();
    aph_thread *t = aph_threads_add(group, "T", coordinator, NULL);
    votes = aph_threads_port(group, "votes", t, APH_THREAD_FIFO_PAIR, 0);
    acks = aph_threads_port(group, "acks", t, APH_THREAD_FIFO_PAIR, 0);
    for (int i = 0; i < size; i++) {
        numbers[i] = i + 1;
        snprintf(name, sizeof name, "R%d", i + 1);
        aph_thread *r = aph_threads_add(group, name, participant, &numbers[i]);
        snprintf(name, sizeof name, "work%d", i + 1);
        work[i] = aph_threads_port(group, name, r, APH_THREAD_FIFO_PAIR, 0);
        snprintf(name, sizeof name, "outcome%d", i + 1);
        outcome[i] = aph_threads_port(group, name, r, APH_THREAD_FIFO_PAIR, 0);
    }
    aph_threads_add(group, "U", user, NULL);
    aph_threads_run(group);
    aph_threads_close(group);
    return 0;
}
