/* SPDX-License-Identifier: Apache-2.0
 *
 * subprocess.h - a command of the shell that has limited time and leaves nothing behind. */
#ifndef APHI_MUTATE_SUBPROCESS_H
#define APHI_MUTATE_SUBPROCESS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

typedef struct aphi_subprocess_end {
    bool known;     /* it was seen to end, and how */
    bool timed_out, called_off;
    int status;     /* as waitpid gives it, if neither */
} aphi_subprocess_end;

typedef struct aphi_subprocess {
    const char *command;
    const char *output;   /* a file for what it prints; NULL: nowhere */
    const char *includes; /* a folder where compilers look for headers, too; NULL: none */
    int64_t limit_ns;
    aphi_subprocess_end *end; /* in memory that is shared with children */
} aphi_subprocess;

/* Starts it. What is returned is the process that watches over it: when that has ended, so has all that the command has
 * started, and *end is written; SIGTERM calls it off. Below 0: there is no process, and errno. */
pid_t aphi_subprocess_start(const aphi_subprocess *job);

#endif
