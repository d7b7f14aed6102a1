/* SPDX-License-Identifier: Apache-2.0
 *
 * mpilink.c - libantiphon-mpi: a link (src/explore/process_link.h) that is made of MPI.
 *
 * Idea:       the program loads this library when mpirun has started it. Nothing here ever waits, but for the end:
 *             sends are begun and looked after later, and a message is received only when it is there. So whoever
 *             searches can look in every few milliseconds, and no processor is spent on waiting.
 * Invariants: 1. the bytes of a send stay until MPI is done with them
 *             2. only one thread calls */
#include "explore/process_link.h"

#include <mpi.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { TAG = 1 };

typedef struct sending {
    MPI_Request request;
    void *bytes;
    size_t n;
    struct sending *next;
} sending;

static sending *pending;

/* Forgets the sends that are done. */
static void look_after(void)
{
    for (sending **at = &pending; *at;) {
        sending *s = *at;
        int done = 0;
        MPI_Test(&s->request, &done, MPI_STATUS_IGNORE);
        if (done) {
            *at = s->next;
            free(s->bytes);
            free(s);
        } else {
            at = &s->next;
        }
    }
}

static void send_bytes(void *context, int to, const void *bytes, size_t n)
{
    sending *s = malloc(sizeof *s);
    (void)context;
    if (!s || !(s->bytes = malloc(n + 1)) || n > INT32_MAX)
        abort();
    memcpy(s->bytes, bytes, n);
    s->n = n;
    s->next = pending;
    pending = s;
    MPI_Isend(s->bytes, (int)n, MPI_BYTE, to, TAG, MPI_COMM_WORLD, &s->request);
}

static bool receive_bytes(void *context, int *from, void **bytes, size_t *n)
{
    int there = 0, count = 0;
    MPI_Status status;
    (void)context;
    look_after();
    MPI_Iprobe(MPI_ANY_SOURCE, TAG, MPI_COMM_WORLD, &there, &status);
    if (!there)
        return false;
    MPI_Get_count(&status, MPI_BYTE, &count);
    *from = status.MPI_SOURCE;
    *n = (size_t)count;
    *bytes = malloc(*n + 1);
    if (!*bytes)
        abort();
    MPI_Recv(*bytes, count, MPI_BYTE, *from, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return true;
}

static size_t unsent(void *context)
{
    size_t n = 0;
    (void)context;
    for (const sending *s = pending; s; s = s->next)
        n += s->n;
    return n;
}

static void close_link(void *context)
{
    (void)context;
    while (pending)
        look_after();
    MPI_Finalize();
}

static void abandon(void *context, int code)
{
    (void)context;
    MPI_Abort(MPI_COMM_WORLD, code);
    abort();
}

__attribute__((visibility("default"))) aphi_link_opener aphi_link_open;

const aphi_link *aphi_link_open(void)
{
    static aphi_link link = {.version = APHI_LINK_VERSION, .send = send_bytes, .receive = receive_bytes,
                             .unsent = unsent, .close = close_link, .abandon = abandon};
    int level;
    if (MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &level) != MPI_SUCCESS || level < MPI_THREAD_FUNNELED)
        return NULL;
    MPI_Comm_rank(MPI_COMM_WORLD, &link.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &link.size);
    return &link;
}
