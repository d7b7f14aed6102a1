/* SPDX-License-Identifier: Apache-2.0
 *
 * bench_threads.c - the cost of a message in the threads library without control, compared with a plain queue.
 *
 * One thread sends, another receives, with a bounded number of messages in transit. The plain queue is a ring with a
 * mutex and two condition variables; its messages have a number and two words. Both measurements alternate many times,
 * and the best time of each counts, to reduce the influence of other load. Requests with replies are measured, too. */
#include "base/clock.h"

#include <antiphon/threads.h>

#include <pthread.h>
#include <stdio.h>
#include <string.h>

enum { MESSAGES = 200000, ROUNDS = 15, TURNS = 20000 };

/* ---- a plain queue ----------------------------------------------------------------------------------------------- */

enum { ROOM_MOST = 1024 };

typedef struct plain_message {
    int kind;
    int64_t words[2];
} plain_message;

typedef struct plain_queue {
    pthread_mutex_t lock;
    pthread_cond_t not_empty, not_full;
    plain_message ring[ROOM_MOST];
    size_t first, count, room;
} plain_queue;

static void plain_send(plain_queue *q, const plain_message *m)
{
    pthread_mutex_lock(&q->lock);
    while (q->count == q->room)
        pthread_cond_wait(&q->not_full, &q->lock);
    q->ring[(q->first + q->count++) % ROOM_MOST] = *m;
    pthread_mutex_unlock(&q->lock);
    pthread_cond_signal(&q->not_empty);
}

static plain_message plain_receive(plain_queue *q)
{
    pthread_mutex_lock(&q->lock);
    while (!q->count)
        pthread_cond_wait(&q->not_empty, &q->lock);
    plain_message m = q->ring[q->first];
    q->first = (q->first + 1) % ROOM_MOST;
    q->count--;
    pthread_mutex_unlock(&q->lock);
    pthread_cond_signal(&q->not_full);
    return m;
}

static plain_queue there, back;
static volatile int64_t sum;
static int messages;
static bool answered;

static void *plain_sender(void *argument)
{
    for (int i = 0; i < messages; i++) {
        plain_send(&there, &(plain_message){.kind = 1, .words = {i}});
        if (answered)
            plain_receive(&back);
    }
    return argument;
}

static void *plain_receiver(void *argument)
{
    for (int i = 0; i < messages; i++) {
        plain_message m = plain_receive(&there);
        sum += m.words[0];
        if (answered)
            plain_send(&back, &m);
    }
    return argument;
}

static void run_plain(unsigned room)
{
    plain_queue empty = {.lock = PTHREAD_MUTEX_INITIALIZER, .not_empty = PTHREAD_COND_INITIALIZER,
                         .not_full = PTHREAD_COND_INITIALIZER, .room = room};
    pthread_t threads[2];
    memcpy(&there, &empty, sizeof there);
    memcpy(&back, &empty, sizeof back);
    pthread_create(&threads[0], NULL, plain_sender, NULL);
    pthread_create(&threads[1], NULL, plain_receiver, NULL);
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL);
}

/* ---- the library ------------------------------------------------------------------------------------------------- */

static aph_thread_port *port_there, *port_back;

static void sender(aph_thread *self, void *argument)
{
    (void)argument;
    for (int i = 0; i < messages; i++) {
        aph_thread_send(self, port_there, "number", aph_payload_number(i));
        if (answered)
            aph_thread_receive(self, port_back);
    }
}

static void receiver(aph_thread *self, void *argument)
{
    (void)argument;
    for (int i = 0; i < messages; i++) {
        sum += aph_thread_receive(self, port_there).payload.number;
        if (answered)
            aph_thread_send(self, port_back, "number", aph_payload_number(i));
    }
}

static void run_library(unsigned room)
{
    aph_threads *group = aph_threads_open();
    aph_thread *s = aph_threads_add(group, "sender", sender, NULL);
    aph_thread *r = aph_threads_add(group, "receiver", receiver, NULL);
    port_there = aph_threads_port(group, "there", r, APH_THREAD_FIFO_PAIR, room);
    port_back = aph_threads_port(group, "back", s, APH_THREAD_FIFO_PAIR, room);
    aph_threads_run(group);
    aph_threads_close(group);
}

/* ---- both -------------------------------------------------------------------------------------------------------- */

static double nanoseconds(void (*run)(unsigned room), unsigned room)
{
    int64_t begun = aphi_clock_ns();
    run(room);
    return (double)(aphi_clock_ns() - begun) / messages;
}

static void compare(const char *what, unsigned room, int n, bool with_answers)
{
    double plain = 1e18, library = 1e18;
    messages = n;
    answered = with_answers;
    for (int i = 0; i < ROUNDS; i++) {
        double p = nanoseconds(run_plain, room), l = nanoseconds(run_library, room);
        plain = p < plain ? p : plain;
        library = l < library ? l : library;
    }
    printf("%-28s plain queue %8.1f ns   threads library %8.1f ns   ratio %.2f\n", what, plain, library,
           library / plain);
}

int main(void)
{
    compare("a message, room for 1024", 1024, MESSAGES, false);
    compare("a message, room for 64", 64, MESSAGES, false);
    compare("a message, room for 1", 1, TURNS, false);
    compare("question and answer", 64, TURNS, true);
    return 0;
}
