/* SPDX-License-Identifier: Apache-2.0
 *
 * wrong.c - threads with faults; the first argument selects the fault.
 *
 *     wrong send N LABEL      no fault: thread A sends N messages with that label, and B receives N
 *     wrong short N           B receives one message fewer than A sends
 *     wrong deadlock          each thread waits for the other
 *     wrong maybe             a deadlock if A's message comes before C's
 *     wrong spin              a thread computes forever
 *     wrong chatter           threads send messages forever
 *     wrong crash             a thread aborts, after its first message
 *     wrong fail              the program ends with exit code 3
 *     wrong leave             a thread ends the program
 *     wrong theft             a thread receives from another's port
 *     wrong fickle FILE       depends on FILE and changes it, so replays differ */
#include <antiphon/threads.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *way = "send", *word = "m";
static int number = 1;
static aph_thread_port *to_a, *to_b;

static bool is(const char *name) { return !strcmp(way, name); }

static void say(aph_thread *self, aph_thread_port *to, const char *label)
{
    aph_thread_send(self, to, label, aph_payload_number(0));
}

/* Returns the number of earlier calls by all processes. */
static int times_called(const char *file)
{
    int times = 0;
    FILE *f = fopen(file, "r");
    if (f) {
        if (fscanf(f, "%d", &times) != 1)
            times = 0;
        fclose(f);
    }
    if ((f = fopen(file, "w"))) {
        fprintf(f, "%d\n", times + 1);
        fclose(f);
    }
    return times;
}

static void a(aph_thread *self, void *argument)
{
    (void)argument;
    if (is("deadlock"))
        aph_thread_receive(self, to_a);
    if (is("theft"))
        aph_thread_receive(self, to_b);
    if (is("fickle") && times_called(word) % 2)
        aph_thread_event(self, "odd");
    for (volatile bool on = is("spin"); on;)
        continue;
    for (int i = 0; i < number || is("chatter"); i++) {
        say(self, to_b, word[0] == '/' ? "m" : word);
        if (is("chatter"))
            aph_thread_receive(self, to_a);
    }
}

static void b(aph_thread *self, void *argument)
{
    (void)argument;
    if (is("deadlock"))
        aph_thread_receive(self, to_b);
    for (int i = 0; i < number - is("short") || is("chatter"); i++) {
        aph_message m = aph_thread_receive(self, to_b);
        if (is("maybe") && !strcmp(m.label, "m"))
            aph_thread_receive_label(self, to_b, "never");
        if (is("crash"))
            abort();
        if (is("leave"))
            exit(0);
        if (is("chatter"))
            say(self, to_a, "m");
    }
}

static void c(aph_thread *self, void *argument)
{
    (void)argument;
    if (is("maybe"))
        say(self, to_b, "n");
}

int main(int count, char **words)
{
    if (count > 1)
        way = words[1];
    if (is("fickle") && count > 2)
        word = words[2];
    else if (count > 2)
        number = atoi(words[2]);
    if (count > 3)
        word = words[3];
    aph_threads *group = aph_threads_open();
    aph_thread *thread_a = aph_threads_add(group, "A", a, NULL);
    aph_thread *thread_b = aph_threads_add(group, "B", b, NULL);
    aph_threads_add(group, "C", c, NULL);
    to_a = aph_threads_port(group, "to_a", thread_a, APH_THREAD_FIFO_PAIR, 0);
    to_b = aph_threads_port(group, "to_b", thread_b, APH_THREAD_FIFO_PAIR, 0);
    aph_threads_run(group);
    aph_threads_close(group);
    return is("fail") ? 3 : 0;
}
