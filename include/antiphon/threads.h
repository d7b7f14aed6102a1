/* SPDX-License-Identifier: Apache-2.0
 *
 * threads.h - threads that communicate only by messages; Antiphon can record, replay and explore their runs.
 *
 * A program opens a group, adds its threads and ports, and runs the group. Started on its own, it runs on POSIX threads
 * with a queue for each port. Started by `antiphon explore` or `antiphon conform`, it runs under control: Antiphon
 * decides which message each receive takes (docs/threads.md). For replay to work, the behaviour of a thread must depend
 * only on its argument and on the messages that it received, not on shared variables, time or random numbers.
 *
 * A wrong call, such as a receive from the port of another thread, prints a message to stderr and aborts.
 *
 *     static aph_thread_port *inbox;
 *     static void producer(aph_thread *self, void *argument)
 *     {
 *         aph_thread_send(self, inbox, "item", aph_payload_number(42));
 *     }
 *     static void consumer(aph_thread *self, void *argument)
 *     {
 *         aph_message m = aph_thread_receive(self, inbox);
 *     }
 *     int main(void)
 *     {
 *         aph_threads *group = aph_threads_open();
 *         aph_threads_add(group, "producer", producer, NULL);
 *         inbox = aph_threads_port(group, "inbox", aph_threads_add(group, "consumer", consumer, NULL),
 *                                  APH_THREAD_FIFO_PAIR, 0);
 *         aph_threads_run(group);
 *         aph_threads_close(group);
 *     }
 */
#ifndef ANTIPHON_THREADS_H
#define ANTIPHON_THREADS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Names and labels are 1 to APH_LABEL_MAX - 1 printable ASCII characters without blanks. They are copied. */
enum { APH_LABEL_MAX = 32, APH_THREADS_MAX = 64, APH_PORTS_MAX = 4096, APH_CHOICES_MAX = 64 };

typedef struct aph_threads aph_threads;
typedef struct aph_thread aph_thread;
typedef struct aph_thread_port aph_thread_port;

/* The order in which a port delivers its messages. */
typedef enum aph_thread_medium {
    APH_THREAD_FIFO_PAIR, /* for each sender, in the order of its sends */
    APH_THREAD_FIFO_PORT, /* in the order of all sends; receives cannot select a label */
    APH_THREAD_UNORDERED, /* in any order */
} aph_thread_medium;

/* The content of a message. A pointer is valid in all threads of a run, but not in another run. */
typedef union aph_payload {
    int64_t number;
    void *pointer;
    unsigned char bytes[16];
} aph_payload;

typedef struct aph_message {
    char label[APH_LABEL_MAX];
    aph_payload payload;
    const aph_thread *sender;
    unsigned choice; /* index of the choice of aph_thread_select, otherwise 0 */
    bool sync;       /* sent by aph_thread_send_sync */
} aph_message;

/* An alternative in a selective receive. */
typedef struct aph_choice {
    aph_thread_port *port;
    const char *label; /* receive only messages with this label; NULL: any label */
    bool closed;       /* the guard is false, so this choice is ignored */
} aph_choice;

typedef void aph_body(aph_thread *self, void *argument);

/* ---- groups ------------------------------------------------------------------------------------------------------ */

aph_threads *aph_threads_open(void);
/* Adds a thread that runs body(self, argument) when the group runs. Thread names must be unique. */
aph_thread *aph_threads_add(aph_threads *group, const char *name, aph_body *body, void *argument);
/* Adds a port. Only the owner receives from it, and only other threads send to it. Port names must be unique. Each
 * sender may have up to `capacity` messages in transit to the port; further sends wait. 0: no limit. */
aph_thread_port *aph_threads_port(aph_threads *group, const char *name, aph_thread *owner, aph_thread_medium medium,
                                  unsigned capacity);
/* Runs all threads and returns when all have ended. A group runs once. Under control, the process forks here for each
 * run, and this function returns in the forked process. Do all setup that the runs share before this call, and start no
 * other threads before it. */
void aph_threads_run(aph_threads *group);
/* Frees the group with its threads and ports. */
void aph_threads_close(aph_threads *group);
/* Returns true in a run under control. */
bool aph_threads_controlled(const aph_threads *group);

/* ---- inside a thread; self is the calling thread ----------------------------------------------------------------- */

const char *aph_thread_name(const aph_thread *thread);
/* Sends asynchronously: returns at once, or when the port has room. */
void aph_thread_send(aph_thread *self, aph_thread_port *to, const char *label, aph_payload payload);
/* Sends synchronously: returns when the message is received. */
void aph_thread_send_sync(aph_thread *self, aph_thread_port *to, const char *label, aph_payload payload);
/* Waits for a message with any label. */
aph_message aph_thread_receive(aph_thread *self, aph_thread_port *from);
/* Waits for a message with this label. */
aph_message aph_thread_receive_label(aph_thread *self, aph_thread_port *from, const char *label);
/* Waits for a message that matches one of up to APH_CHOICES_MAX choices, and sets message.choice to its index. At least
 * one choice must be open. Open choices must not overlap: two with the same port need different labels. */
aph_message aph_thread_select(aph_thread *self, const aph_choice *choices, size_t count);
/* Records a local event of the thread. Without control, this does nothing. */
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
