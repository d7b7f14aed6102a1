/* SPDX-License-Identifier: Apache-2.0
 *
 * reaper.h - processes with a mark in their environment, and a process that kills them if we are killed. */
#ifndef APHI_SUBJECT_REAPER_H
#define APHI_SUBJECT_REAPER_H

#include <limits.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

typedef struct aphi_strays { /* marked processes that are, or may become, our children outside our groups */
    pid_t *pids;
    size_t count, capacity;
} aphi_strays;

void aphi_stray_add(aphi_strays *found, pid_t pid);
/* mark: NAME=VALUE. */
bool aphi_is_marked(pid_t pid, const char *mark);
/* Adds the marked processes to *found, and kills them if `killing`. Returns their number. */
size_t aphi_find_marked(const char *mark, bool killing, aphi_strays *found);
/* Kills the marked processes until none is left, for up to a second. */
void aphi_kill_marked(const char *mark, aphi_strays *found);
void aphi_remove_folder(const char *path);

typedef struct aphi_leftovers { /* the reaper's work if we are killed: memory that it shares with us */
    _Atomic pid_t group; /* 0: none */
    pid_t session;
    atomic_bool has_folder;
    char folder[PATH_MAX];
} aphi_leftovers;

typedef struct aphi_reaper {
    pid_t pid;
    int pipe; /* no other process has this end; -1: none */
    aphi_leftovers *leftovers;
} aphi_reaper;

/* Starts the process. Returns false with errno. */
bool aphi_reaper_start(aphi_reaper *r, const char *mark);
void aphi_reaper_stop(aphi_reaper *r);

#endif
