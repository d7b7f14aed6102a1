/* SPDX-License-Identifier: Apache-2.0
 *
 * reaper.h - a process that starts a command, adopts all its descendants, and leaves none of them. */
#ifndef APHI_SUBJECT_REAPER_H
#define APHI_SUBJECT_REAPER_H

#include "base/process.h"

typedef struct aphi_reaper_page aphi_reaper_page;

typedef struct aphi_reaper {
    aphi_process_options options; /* of each start; its pointers must stay valid */
    int copy;                     /* a file for the output, or -1 */
    pid_t pid;                    /* 0: not running */
    int link;
    aphi_reaper_page *page;       /* memory that we share with it */
} aphi_reaper;

typedef struct aphi_reaper_state {
    pid_t leader;      /* the process that was started; 0: none is left */
    bool left;         /* the leader or one of its descendants */
    bool leader_ended;
    bool stopped;      /* by a signal such as SIGSTOP */
    bool failed;       /* `status` belongs to the first process that failed */
    int status;        /* of the latest process that ended, as waitpid stores it */
    bool lost;         /* the reaper was killed; then all its processes have been killed */
} aphi_reaper_state;

/* Starts the reaper. options: own_group is implied; if options->out is 0, the reaper reads stdout and stderr, keeps the
 * end of them, and writes them to `copy`, unless that is -1. A regular file is emptied when it becomes large.
 * The reaper inherits the descriptors in the options; those in options->kept are for the first start only. Returns
 * false with errno. */
bool aphi_reaper_open(aphi_reaper *r, const aphi_process_options *options, int copy);
/* Ends all processes at once, and the reaper. */
void aphi_reaper_close(aphi_reaper *r);
/* Starts the command with sh; NULL: the argv of the options. No process may be left. Returns false with errno. */
bool aphi_reaper_start(aphi_reaper *r, const char *command);
/* Returns the state that the reaper observed last. After each change, it sends SIGCHLD to us. */
aphi_reaper_state aphi_reaper_look(aphi_reaper *r);
/* The same, after the reaper has observed everything that has happened. */
aphi_reaper_state aphi_reaper_observe(aphi_reaper *r);
/* Stops the process group of the leader with SIGTERM, and after grace_ns (0: at once) all processes with SIGKILL.
 * Returns true if SIGTERM sufficed for the group. */
bool aphi_reaper_stop(aphi_reaper *r, int64_t grace_ns);
bool aphi_reaper_descends(const aphi_reaper *r, pid_t pid); /* true for the processes that it adopts */

/* Copies the end of the output since the latest start: up to n - 1 bytes and a NUL. */
void aphi_reaper_tail(aphi_reaper *r, char *text, size_t n);
/* The folder is removed if we are killed; NULL: none. */
void aphi_reaper_set_folder(aphi_reaper *r, const char *path);
void aphi_remove_folder(const char *path);

#endif
