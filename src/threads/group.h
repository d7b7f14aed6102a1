/* SPDX-License-Identifier: Apache-2.0
 *
 * group.h - what the files of the threads library know of each other: groups, threads, ports.
 *
 * threads.c is the public face and all that runs without control; control.c decides under control; runner.c talks to
 * antiphon and starts a process for each run. This library stands alone: it includes nothing of the others. */
#ifndef APHI_THREADS_GROUP_H
#define APHI_THREADS_GROUP_H

#include <antiphon/threads.h>

#include <pthread.h>

typedef struct aphi_control aphi_control;

struct aph_thread {
    aph_threads *group;
    char name[APH_LABEL_MAX];
    unsigned number;
    aph_body *body;
    void *argument;
    pthread_t id;
    /* Without control. The lock guards all ports of the thread, so that a selective wait takes one lock. */
    pthread_mutex_t lock;
    pthread_cond_t arrived;  /* the owner waits for a message */
    pthread_cond_t left;     /* senders wait until a message is received */
    bool waiting;
    unsigned senders_waiting;
};

struct aph_thread_port {
    aph_thread *owner;
    char name[APH_LABEL_MAX];
    unsigned number;
    unsigned capacity;
    aph_thread_medium medium;
    /* Without control: a ring of messages in the order in which they came, size a power of two. */
    aph_message *ring;
    size_t first, count, size;
    unsigned *in_transit; /* by sender; only if there is a capacity */
    uint64_t *sync_left;  /* by sender: synchronous messages that were received, ever */
};

struct aph_threads {
    aph_thread *threads[APH_THREADS_MAX];
    aph_thread_port *ports[APH_PORTS_MAX];
    unsigned thread_count, port_count;
    bool ran;
    aphi_control *control; /* NULL: without */
};

/* Says what is wrong with the program, and aborts. */
_Noreturn void aphi_threads_die(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Starts the threads, and waits for their end. */
void aphi_threads_start(aph_threads *group);
/* Copies a label; one that is too long is a bug of the program. */
void aphi_threads_copy_label(char to[APH_LABEL_MAX], const char *label);
/* Does the choice take this message, looked at alone? */
bool aphi_threads_accepts(const aph_choice *choice, const aph_thread_port *port, const char *label);

#endif
