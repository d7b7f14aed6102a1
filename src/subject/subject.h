/* SPDX-License-Identifier: Apache-2.0
 *
 * subject.h - the system under test: how to reach it, and if it is ours to start, how to start, reset and stop it. */
#ifndef APHI_SUBJECT_SUBJECT_H
#define APHI_SUBJECT_SUBJECT_H

#include <netinet/in.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

typedef struct aphi_subject aphi_subject;

typedef struct aphi_subject_file {
    const char *name; /* in {dir} */
    const char *text; /* with {port} and {dir}, as in the command; NULL: it is a folder */
    size_t size;      /* of bytes that are written as they are; 0: it is a text */
    bool old;         /* it was written a day ago, as far as its date tells */
} aphi_subject_file;

typedef struct aphi_subject_options {
    const char *target;   /* HOST:PORT, [V6]:PORT; one of target and run is given */
    const char *run;      /* a command for sh; {port} stands for a free port on 127.0.0.1, {dir} for an empty folder */
    const char *before;   /* a command that stands before it, started with it: {port} is where the tester connects,
                           * {target} what {port} stands for in run and files; may be NULL */
    const char *output;   /* file that keeps what a command prints; NULL: a temporary one */
    unsigned listen;      /* the port that {listen} stands for in the command: the tester listens there; 0: none */
    bool datagrams;       /* it listens for UDP: then there is nothing to wait for but the socket being bound */
    int64_t start_ms;     /* how long it may take until it listens; 0: 10,000 */
    const char *name;     /* what messages call it; NULL: the command */
    const aphi_subject_file *files; /* written into {dir} before each start; they outlive the subject */
    size_t file_count;
    const char *owner;    /* the user to whom {dir} and the files are given, if we are root; NULL: they stay ours */
    bool abrupt;          /* it has nothing to lose: it is not asked to end, but killed */
    const volatile sig_atomic_t *stop; /* set by a signal: it is waited for at most a second; may be NULL */
} aphi_subject_options;

typedef enum aphi_subject_state {
    APHI_SUBJECT_THERE,
    APHI_SUBJECT_EXITED,   /* by itself; status is wait's */
    APHI_SUBJECT_STOPPED,  /* by a signal such as SIGSTOP */
} aphi_subject_state;

/* NULL with a message: the target is not understood. Starts nothing yet. */
aphi_subject *aphi_subject_open(const aphi_subject_options *options, char *error, size_t error_size);
/* Stops it: its whole process group, first politely, after 500 ms by force; waits for it; removes its folder. */
void aphi_subject_close(aphi_subject *s);
/* A fresh one: a command is stopped if it runs, and started on a new port with an empty folder; returns when it accepts
 * connections. A target is left as it is. False with a message (exited at once with what output, not there in time). */
bool aphi_subject_reset(aphi_subject *s, char *error, size_t error_size);
bool aphi_subject_is_ours(const aphi_subject *s); /* it can be reset */
const struct sockaddr *aphi_subject_address(const aphi_subject *s, socklen_t *size);
/* Does not block. message, if it is not there: "exited with status 3", "was killed by SIGSEGV", ... */
aphi_subject_state aphi_subject_look(aphi_subject *s, char *message, size_t size);
/* The last bytes that it printed, at most n; NUL-terminated. */
void aphi_subject_tail(const aphi_subject *s, char *text, size_t n);
/* To be called from a signal handler, if Antiphon is about to be ended: kills every subject there is. */
void aphi_subject_kill_all(void);

#endif
