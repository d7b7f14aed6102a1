/* SPDX-License-Identifier: Apache-2.0
 *
 * subprocess.h - a shell command with a time limit that leaves no process behind. */
#ifndef APHI_MUTATE_SUBPROCESS_H
#define APHI_MUTATE_SUBPROCESS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

typedef struct aphi_subprocess_end {
    bool known;     /* the watcher recorded the end */
    bool timed_out, cancelled;
    int status;     /* status from waitpid in all other cases */
} aphi_subprocess_end;

typedef struct aphi_subprocess {
    const char *command;
    const char *output;   /* file for its output; NULL: discard it */
    const char *includes; /* an additional folder for compilers to search for headers; NULL: none */
    int64_t limit_ns;
    aphi_subprocess_end *end; /* in memory shared with child processes */
} aphi_subprocess;

/* Starts the command. Returns the process id of its watcher; once the watcher has ended, all processes of the command
 * have ended and *end is set. SIGTERM to the watcher cancels the command. Returns a negative number and sets errno if
 * no process can be started. */
pid_t aphi_subprocess_start(const aphi_subprocess *job);

#endif
