/* SPDX-License-Identifier: Apache-2.0
 *
 * process_link.h - messages between processes that search together, whatever carries them.
 *
 * A table of functions. One is made by a library of its own (src/mpi/mpilink.c), so that nobody who searches alone
 * loads MPI; tests make another. All calls are of one thread. */
#ifndef APHI_EXPLORE_PROCESS_LINK_H
#define APHI_EXPLORE_PROCESS_LINK_H

#include <stdbool.h>
#include <stddef.h>

#define APHI_LINK_VERSION 1

typedef struct aphi_link {
    unsigned version;
    int rank, size; /* this process, and how many there are; the one of rank 0 leads */
    void *context;  /* of the functions */
    /* Takes a copy and returns at once. Messages from one to another arrive in order. */
    void (*send)(void *context, int to, const void *bytes, size_t n);
    /* The next message that has come, if any: free() frees it. */
    bool (*receive)(void *context, int *from, void **bytes, size_t *n);
    size_t (*unsent)(void *context);           /* bytes that were not yet taken by whom they are for */
    void (*close)(void *context);              /* waits until all is sent and all others have closed, too */
    void (*abandon)(void *context, int code);  /* ends all processes; does not return */
} aphi_link;

/* What the library has: NULL if there is nobody to talk to. */
typedef const aphi_link *aphi_link_opener(void);
#define APHI_LINK_OPENER "aphi_link_open"

#endif
