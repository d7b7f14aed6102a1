/* SPDX-License-Identifier: Apache-2.0
 *
 * subject.h - the system under test: its address, and starting, resetting and stopping it. */
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
    const char *text; /* with {port}, {dir} and {listen}, as in the command; NULL: a folder */
    size_t size;      /* if not 0, the text has this number of bytes and no placeholders */
    bool old;         /* its date is a day ago */
} aphi_subject_file;

typedef struct aphi_subject_options {
    const char *target;   /* HOST:PORT, [V6]:PORT or unix:PATH; either target or run is given */
    const char *run;      /* a command for sh; {port} stands for a free port on 127.0.0.1, {dir} for an empty folder */
    const char *before;   /* a proxy command, started in front of the subject: {port} is the port for the tester,
                           * {target} the port that {port} stands for in run and files; may be NULL */
    const char *output;   /* file for the output of the command; NULL: only its end is kept, in memory */
    const struct aphi_origin *origins; /* their ports are {listen:0}, {listen:1}, ... in the command and the files, and
                           * the first is {listen}; they must outlive the subject */
    size_t origin_count;
    bool datagrams;       /* UDP: it is ready when its socket is bound */
    int64_t start_ms;     /* time limit until it listens; 0: 10,000 */
    const char *name;     /* for messages; NULL: the command */
    const aphi_subject_file *files; /* written into {dir} before each start; must outlive the subject */
    size_t file_count;
    const char *owner;    /* the owner of {dir} and the files if we are root; NULL: root */
    bool abrupt;          /* stop it with SIGKILL, without SIGTERM */
    const volatile sig_atomic_t *stop; /* set by a signal handler: then a start may take only a second; may be NULL */
} aphi_subject_options;

typedef enum aphi_subject_state {
    APHI_SUBJECT_THERE,
    APHI_SUBJECT_EXITED,   /* by itself */
    APHI_SUBJECT_STOPPED,  /* by a signal such as SIGSTOP */
} aphi_subject_state;

/* Starts nothing yet. Returns NULL with a message if the options are wrong or resources are missing. */
aphi_subject *aphi_subject_open(const aphi_subject_options *options, char *error, size_t error_size);
/* Stops its process group with SIGTERM, and all its processes with SIGKILL after 500 ms; waits for them; removes its
 * folder. */
void aphi_subject_close(aphi_subject *s);
/* Stops a command if it is running, and starts it on a new port with an empty folder; returns when it listens. Does not
 * affect a target. Returns false with a message that includes the output of the command if it ended or did not listen
 * in time. */
bool aphi_subject_reset(aphi_subject *s, char *error, size_t error_size);
bool aphi_subject_is_ours(const aphi_subject *s); /* it can be reset */
const struct sockaddr *aphi_subject_address(const aphi_subject *s, socklen_t *size);
/* Does not block. Unless it is running, sets message: "exited with status 3", "was killed by SIGSEGV", ... */
aphi_subject_state aphi_subject_look(aphi_subject *s, char *message, size_t size);
/* Copies the end of its output since the latest start: up to n - 1 bytes and a NUL. */
void aphi_subject_tail(aphi_subject *s, char *text, size_t n);

#endif
