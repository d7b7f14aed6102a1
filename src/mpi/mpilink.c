/* SPDX-License-Identifier: Apache-2.0
 *
 * mpilink.c - libantiphon-mpi: the link of src/explore/process_link.h over MPI.
 *
 * Idea:       antiphon loads this library if mpirun started the process. No call blocks except close: sends are
 *             asynchronous and freed later, and a message is received only when it has arrived. The search polls every
 *             few milliseconds, so waiting uses no processor time.
 * Invariants: 1. the bytes of a send are kept until MPI is done with them
 *             2. one thread makes all calls */
#include "explore/process_link.h"

#include <mpi.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { MESSAGE_TAG = 1 };

typedef struct pending_send {
    MPI_Request request;
    void *bytes;
    size_t n;
    struct pending_send *next;
} pending_send;

static pending_send *pending_sends;

/* Frees the sends that are done. */
static void free_done_sends(void)
{
    for (pending_send **at = &pending_sends; *at;) {
        pending_send *s = *at;
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
    pending_send *s = malloc(sizeof *s);
    (void)context;
    if (!s || !(s->bytes = malloc(n + 1)) || n > INT32_MAX)
        abort();
    memcpy(s->bytes, bytes, n);
    s->n = n;
    s->next = pending_sends;
    pending_sends = s;
    MPI_Isend(s->bytes, (int)n, MPI_BYTE, to, MESSAGE_TAG, MPI_COMM_WORLD, &s->request);
}

static bool receive_bytes(void *context, int *from, void **bytes, size_t *n)
{
    int arrived = 0, count = 0;
    MPI_Status status;
    (void)context;
    free_done_sends();
    MPI_Iprobe(MPI_ANY_SOURCE, MESSAGE_TAG, MPI_COMM_WORLD, &arrived, &status);
    if (!arrived)
        return false;
    MPI_Get_count(&status, MPI_BYTE, &count);
    *from = status.MPI_SOURCE;
    *n = (size_t)count;
    *bytes = malloc(*n + 1);
    if (!*bytes)
        abort();
    MPI_Recv(*bytes, count, MPI_BYTE, *from, MESSAGE_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return true;
}

static size_t unsent(void *context)
{
    size_t n = 0;
    (void)context;
    for (const pending_send *s = pending_sends; s; s = s->next)
        n += s->n;
    return n;
}

static void close_link(void *context)
{
    (void)context;
    while (pending_sends)
        free_done_sends();
    MPI_Finalize();
}

static void abort_all(void *context, int code)
{
    (void)context;
    MPI_Abort(MPI_COMM_WORLD, code);
    abort();
}

__attribute__((visibility("default"))) aphi_link_opener aphi_link_open;

const aphi_link *aphi_link_open(void)
{
    static aphi_link link = {.version = APHI_LINK_VERSION, .send = send_bytes, .receive = receive_bytes,
                             .unsent = unsent, .close = close_link, .abandon = abort_all};
    int level;
    if (MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &level) != MPI_SUCCESS || level < MPI_THREAD_FUNNELED)
        return NULL;
    MPI_Comm_rank(MPI_COMM_WORLD, &link.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &link.size);
    return &link;
}
