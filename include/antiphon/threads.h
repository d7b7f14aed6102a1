/* SPDX-License-Identifier: Apache-2.0
 *
 * threads.h - threads that talk only by messages, so that Antiphon can record, replay and explore what they do.
 *
 * A program opens a group, adds its threads and ports, and runs it. Started by itself, it runs on plain POSIX threads
 * with a queue for each port. Started by `antiphon explore`, each send and receive is under control (docs/threads.md).
 * What a thread does may depend on nothing but its argument and the messages that it received: else it has no replay.
 *
 * A wrong call, such as a receive from the port of another thread, is a bug of the program: it says so and aborts.
 */
#ifndef ANTIPHON_THREADS_H
#define ANTIPHON_THREADS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Names and labels: printable ASCII without blanks, at most APH_LABEL_MAX - 1 bytes. They are copied. */
enum { APH_LABEL_MAX = 32, APH_THREADS_MAX = 64, APH_PORTS_MAX = 4096, APH_CHOICES_MAX = 64 };

typedef struct aph_threads aph_threads;
typedef struct aph_thread aph_thread;
typedef struct aph_thread_port aph_thread_port;

typedef enum aph_thread_medium {
    APH_THREAD_FIFO_PAIR, /* first in, first out, for each sender on its own */
    APH_THREAD_FIFO_PORT, /* first in, first out, all senders in one queue; receives cannot ask for a label */
    APH_THREAD_UNORDERED, /* what comes next is anybody's choice */
} aph_thread_medium;

/* What a message carries beside its label. A pointer means the same in every thread, but nothing in another run. */
typedef union aph_payload {
    int64_t number;
    void *pointer;
    unsigned char bytes[16];
} aph_payload;

typedef struct aph_message {
    char label[APH_LABEL_MAX];
    aph_payload payload;
    const aph_thread *sender;
    unsigned choice; /* which one of aph_thread_select's, from 0 */
    bool sync;       /* its sender waited */
} aph_message;

/* One arm of a selective wait. */
typedef struct aph_choice {
    aph_thread_port *port;
    const char *label; /* only messages with this label; NULL: any */
    bool closed;       /* its guard is false: it does not take part */
} aph_choice;

typedef void aph_body(aph_thread *self, void *argument);

/* ---- a group ----------------------------------------------------------------------------------------------------- */

aph_threads *aph_threads_open(void);
/* Adds a thread, which begins with body(self, argument) when the group runs. Names are unique among threads. */
aph_thread *aph_threads_add(aph_threads *group, const char *name, aph_body *body, void *argument);
/* Adds a port; only its owner receives from it, only others send to it. Names are unique among ports. A sender that has
 * `capacity` messages in transit there waits with the next; 0: no limit. */
aph_thread_port *aph_threads_port(aph_threads *group, const char *name, aph_thread *owner, aph_thread_medium medium,
                                  unsigned capacity);
/* Starts all threads, and returns when all have ended. Once for each group. Under control it returns in a process of
 * its own for each run, so what is to be the same in all runs must have happened before, and no thread may run yet. */
void aph_threads_run(aph_threads *group);
/* Frees the group with its threads and ports. */
void aph_threads_close(aph_threads *group);
/* Is this process run under control? */
bool aph_threads_controlled(const aph_threads *group);

/* ---- inside a thread: self is the one that runs ------------------------------------------------------------------ */

const char *aph_thread_name(const aph_thread *thread);
/* Sends and goes on (asynchronous); waits only while the port has no room. */
void aph_thread_send(aph_thread *self, aph_thread_port *to, const char *label, aph_payload payload);
/* Sends and waits until the message is received (synchronous). */
void aph_thread_send_sync(aph_thread *self, aph_thread_port *to, const char *label, aph_payload payload);
/* Waits for a message, with any label, or with this one. */
aph_message aph_thread_receive(aph_thread *self, aph_thread_port *from);
aph_message aph_thread_receive_label(aph_thread *self, aph_thread_port *from, const char *label);
/* Waits for a message on one of up to APH_CHOICES_MAX choices. Open choices do not overlap: no two have the same port,
 * unless both have labels, and different ones. At least one is open. */
aph_message aph_thread_select(aph_thread *self, const aph_choice *choices, size_t count);
/* Something that a thread does on its own, to be seen in what is recorded. */
void aph_thread_event(aph_thread *self, const char *label);

static inline aph_payload aph_payload_number(int64_t number)
{
    aph_payload payload = {.bytes = {0}};
    payload.number = number;
    return payload;
}

#ifdef __cplusplus
}
#endif
#endif
