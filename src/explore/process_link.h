/* SPDX-License-Identifier: Apache-2.0
 *
 * process_link.h - interface for messages between the processes of a distributed search.
 *
 * A table of functions. libantiphon-mpi (src/mpi/mpilink.c) implements it in a separate library, so that a search in
 * one process does not load MPI; tests have another implementation. One thread makes all calls. */
#ifndef APHI_EXPLORE_PROCESS_LINK_H
#define APHI_EXPLORE_PROCESS_LINK_H

#include <stdbool.h>
#include <stddef.h>

#define APHI_LINK_VERSION 1

typedef struct aphi_link {
    unsigned version;
    int rank, size;                           /* this process, and the number of processes; rank 0 leads */
    void *context;                            /* argument of the functions */
    /* Copies the message and returns at once. Messages between two processes arrive in order. */
    void (*send)(void *context, int to, const void *bytes, size_t n);
    /* Returns the next message that has arrived, malloc()ed. Returns false if there is none. */
    bool (*receive)(void *context, int *from, void **bytes, size_t *n);
    size_t (*unsent)(void *context);          /* bytes that the receivers have not taken yet */
    void (*close)(void *context);             /* waits until all messages are sent and all processes have closed */
    void (*abandon)(void *context, int code); /* ends all processes; does not return */
} aphi_link;

/* The entry point of the library; returns NULL if this is the only process. */
typedef const aphi_link *aphi_link_opener(void);
#define APHI_LINK_OPENER "aphi_link_open"

#endif
