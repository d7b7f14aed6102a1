/* SPDX-License-Identifier: Apache-2.0
 *
 * reaper.h - processes that carry a mark in their environment, and a process that ends them if we are killed. */
#ifndef APHI_SUBJECT_REAPER_H
#define APHI_SUBJECT_REAPER_H

#include <limits.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Waits, ever longer: from 20 microseconds to one millisecond. */
void aphi_backoff(int64_t *ns);
#define APHI_BACKOFF_FIRST INT64_C(20000)

typedef struct aphi_strays { /* processes with the mark that are, or may become, our children in no group of ours */
    pid_t *pids;
    size_t count, capacity;
} aphi_strays;

void aphi_stray_add(aphi_strays *found, pid_t pid);
bool aphi_is_marked(pid_t pid, const char *mark);
/* How many processes carry the mark; they are killed if that is wanted. */
size_t aphi_marked(const char *mark, bool killing, aphi_strays *found);
/* Kills whoever carries the mark, until nobody does. */
void aphi_sweep(const char *mark, aphi_strays *found);
/* With all that is in it. */
void aphi_remove_folder(const char *path);

typedef struct aphi_leftovers { /* what the guardian finds if we are killed: memory that it shares with us */
    _Atomic pid_t group; /* 0: none */
    pid_t session;
    atomic_bool has_folder;
    char folder[PATH_MAX];
} aphi_leftovers;

typedef struct aphi_reaper {
    pid_t pid;
    int pipe; /* its end is ours alone; -1: none */
    aphi_leftovers *legacy;
} aphi_reaper;

/* False with errno. */
bool aphi_reaper_start(aphi_reaper *g, const char *mark);
void aphi_reaper_stop(aphi_reaper *g);

#endif
