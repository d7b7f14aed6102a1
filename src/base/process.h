/* SPDX-License-Identifier: Apache-2.0
 *
 * process.h - child processes: starting, watching and stopping them. */
#ifndef APHI_BASE_PROCESS_H
#define APHI_BASE_PROCESS_H

#include "base/buffer.h"

#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>

enum { APHI_PROCESS_NULL = -1 }; /* /dev/null */

typedef struct aphi_process_options {
    const char *command;   /* for /bin/sh -c; alternatively: */
    char *const *argv;     /* a program, found as execvp does, and its arguments; ends with NULL */
    const char *directory; /* to start in; NULL: ours */
    const char *variable;  /* NAME=VALUE, added to our environment or replacing NAME; may be NULL */
    int in, out, err;      /* descriptors for 0, 1 and 2; 0: ours; APHI_PROCESS_NULL */
    const int *kept;       /* further inherited descriptors, ended by 0; NULL: none */
    bool own_group;        /* it leads a process group, with an empty signal mask and default signal actions */
    bool dies_with_us;     /* it is killed when the thread that started it ends */
} aphi_process_options;

/* A child; with own_group, all processes of its group that are or become our children. All zero: none. */
typedef struct aphi_process {
    pid_t pid;             /* 0: not started, or all have ended and are reaped */
    bool own_group;
    bool leader_ended;     /* the started process itself has ended */
    bool stopped;          /* stopped by a signal such as SIGSTOP */
    bool failed;           /* `status` belongs to the first process that failed */
    int status;            /* of the latest process that ended, as waitpid stores it */
} aphi_process;

/* Starts a child. It inherits only the descriptors in the options. Returns false with errno if it cannot be started, or
 * if exec fails. */
bool aphi_process_start(aphi_process *p, const aphi_process_options *options);
/* Reaps the processes that have ended. Returns true if any process is left. Does not block. */
bool aphi_process_poll(aphi_process *p);
/* Waits until no process is left, for at most timeout_ns (negative: no limit). Returns false after the timeout. */
bool aphi_process_wait(aphi_process *p, int64_t timeout_ns);
/* Stops all processes with SIGTERM, and with SIGKILL after grace_ns (0: at once). Returns true if SIGTERM sufficed. */
bool aphi_process_stop(aphi_process *p, int64_t grace_ns);
/* Records the status of a process that was reaped by the caller. */
void aphi_process_note(aphi_process *p, pid_t pid, int status);

/* Returns the parent of a process; -1 if it is unknown. */
pid_t aphi_process_parent(pid_t pid);
/* Kills our children, including adopted ones, for which `wanted` (NULL: all) returns true. Returns one of them, or
 * 0. */
pid_t aphi_process_kill_children(bool (*wanted)(pid_t child));

/* "exited with status 3", "was killed by SIGSEGV". */
void aphi_process_status_text(int status, char *text, size_t size);
/* Runs a child to its end. Appends its stdout to out, unless out is NULL. Returns its exit status, or -1: with errno if
 * it could not be started, or with errno 0 if it was killed. */
int aphi_process_run(const aphi_process_options *options, aphi_buffer *out);
/* Stores the path of this program, or "" if it is not known, and returns path. */
char *aphi_process_self(char path[PATH_MAX]);
/* fork, for a child that does not exec. stdio is flushed before. */
pid_t aphi_process_fork(void);

#endif
