/* SPDX-License-Identifier: Apache-2.0
 *
 * threads_internal.h - groups, threads and ports of the threads library, internal.
 *
 * threads.c has the public functions and uncontrolled runs; control.c schedules controlled runs; control_client.c
 * communicates with antiphon and forks a process for each run. This library includes no other module. */
#ifndef APHI_THREADS_THREADS_INTERNAL_H
#define APHI_THREADS_THREADS_INTERNAL_H

#include <antiphon/threads.h>

#include <pthread.h>

#include "threads_internal.h"

typedef struct aphi_control aphi_control;

struct aph_thread {
    aph_threads *group;
    char name[APH_LABEL_MAX];
    unsigned number;
    aph_body *body;
    void *argument;
    pthread_t id;
    /* Uncontrolled runs. The lock guards all ports of the thread, so that a selective wait takes one lock. */
    pthread_mutex_t lock;
    pthread_cond_t arrived;  /* signalled to the owner: a message has arrived */
    pthread_cond_t received; /* signalled to senders: a message was received */
    bool waiting;
    unsigned senders_waiting;
};

struct aph_thread_port {
    aph_thread *owner;
    char name[APH_LABEL_MAX];
    unsigned number;
    unsigned capacity;
    aph_thread_medium medium;
    /* Uncontrolled runs: a ring of messages in order of arrival; size is a power of two. */
    aph_message *ring;
    size_t first, count, size;
    unsigned *in_transit;    /* by sender, if there is a capacity */
    uint64_t *sync_received; /* by sender: number of its synchronous messages received so far */
};

struct aph_threads {
    aph_thread *threads[APH_THREADS_MAX];
    aph_thread_port *ports[APH_PORTS_MAX];
    unsigned thread_count, port_count;
    bool ran;
    aphi_control *control; /* NULL: uncontrolled */
};

/* Prints an error in the use of the library, and aborts. */
_Noreturn void aphi_threads_abort(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Copies a label; aborts if it is too long. */
void aphi_threads_copy_label(char to[APH_LABEL_MAX], const char *label);
/* Returns true if the choice is open to a message with this port and label. */
bool aphi_threads_accepts(const aph_choice *choice, const aph_thread_port *port, const char *label);

/* ---- controlled program's end of the protocol with antiphon ------------------------------------------------------ */

/* Returns true if antiphon started this process for controlled runs. */
bool aphi_runner_wanted(void);
/* Serves requests, then ends the process. Returns only in the forked process of a run, with the group controlled. */
void aphi_runner_serve(aph_threads *group);

#endif
