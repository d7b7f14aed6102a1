/* SPDX-License-Identifier: Apache-2.0
 *
 * web.c - the web server: resources in memory, HTTP/1.1, conditional requests and ranges.
 *
 *     web PORT        listens on 127.0.0.1, until SIGTERM or SIGINT
 *
 * Any path is a resource once it was written. GET and HEAD read it; GET also supports single byte ranges. PUT creates
 * it (201) or replaces it (200 and 204 alternately). POST appends the body (200), or creates the resource with it
 * (201), both with an empty response body. DELETE removes it (204). Every representation has a Last-Modified and an
 * ETag; every second tag is weak.
 *
 * Idea:       a single process waits only in poll. Each connection has received bytes (in), a request that is parsed
 *             from them, and bytes to send (out):
 *
 *                 socket -> in -> request -> respond: all shared state -> out -> socket
 *
 * Requests on a connection are handled one after another, so pipelined requests are answered in order. While
 *             out is long, nothing more is read: a client that does not read its responses delays only itself. Each
 *             round of poll lets every ready connection receive, be answered and send once, so that no client waits for
 *             a slow one.
 * Invariants: 1. the first entries of poll are for signals and new clients; entry FIRST + i is for connection i
 *             2. a closing connection accepts no request; after its responses are sent it is half-closed, and further
 *                input is discarded. An immediate close might reset the connection before the client has read the
 *                responses
 * Cost:       clients may be idle forever. If there is no room for a new connection, the longest idle one is closed. If
 *             all buffers exceed MEMORY_MAX bytes, the longest idle one with large buffers is closed.
 * Read next:  request.c, respond.c, condition.c, store.c
 *
 * Mutants:    -DMUTANT=1 to -DMUTANT=20 build faulty servers, to test testers. Each is marked by a comment that begins
 *             with "mutant"; PICK(n, right, wrong) selects the wrong code of mutant n. The mutants are of the kinds
 *             that Li planted in Apache ("Testing by Dualization", 2022). subjects/web/README.md lists them. */
#include "buffer.h"
#include "mutant.h"
#include "request.h"
#include "respond.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    CONNECTIONS_MAX = 4096,
    BACKLOG = 1024,
    CHUNK_BYTES = 64 * 1024,        /* received at once */
    WAITING_MAX = 64 * 1024,        /* unsent bytes above which no request is read */
    IDLE_ROOM = 4 * 1024,           /* capacity that an empty buffer may keep */
    DRAINED_MAX = 16 * 1024 * 1024, /* discarded input of a client that does not stop sending */
    MEMORY_MAX = 256 * 1024 * 1024, /* all buffers and contents */
};
enum { SIGNALS, LISTENER, FIRST }; /* entries of poll */

typedef struct connection {
    int socket;
    bool ended;      /* end of input */
    bool closing;    /* the last response is in out */
    bool half;       /* the last response was sent, and the connection is half-closed */
    bool unfinished; /* `in` may contain a whole request */
    bool deleted;
    uint64_t used;   /* the last round in which it was ready */
    size_t drained;  /* bytes */
    buffer in, out;
    request request;
} connection;

static connection connections[CONNECTIONS_MAX];
static size_t count;
static struct pollfd polled[FIRST + CONNECTIONS_MAX];
static uint64_t rounds;

/* ---- one connection ---------------------------------------------------------------------------------------------- */

static bool is_temporary(int error)
{
    return error == EAGAIN || error == EWOULDBLOCK || error == EINTR;
}

static bool receives(const connection *c)
{
    return !c->ended && (c->half || (!c->closing && buffer_size(&c->out) < WAITING_MAX));
}

static size_t memory_of(const connection *c)
{
    return c->in.room + c->out.room + c->request.content.room;
}

/* Drops the longest idle connection that uses at least this much memory. Returns false if there is none. */
static bool drop_idlest(size_t least)
{
    connection *idlest = NULL;
    for (connection *c = connections; c < connections + count; c++)
        if (!c->deleted && memory_of(c) >= least && (!idlest || c->used < idlest->used))
            idlest = c;
    if (idlest)
        idlest->deleted = true;
    return idlest != NULL;
}

static void receive(connection *c)
{
    static char chunk[CHUNK_BYTES];
    ssize_t n = recv(c->socket, chunk, sizeof chunk, 0);
    if (n < 0)
        c->deleted = !is_temporary(errno);
    else if (n == 0)
        c->ended = true;
    else if (c->half)
        c->deleted = (c->drained += (size_t)n) > DRAINED_MAX;
    else
        buffer_put(&c->in, chunk, (size_t)n);
    if (buffers_hold() > MEMORY_MAX)
        drop_idlest(CHUNK_BYTES);
}

static void respond_to_request(connection *c)
{
    /* mutant 18, wrong order: a response overtakes unsent ones of its connection */
    if (PICK(18, false, buffer_size(&c->out) && !c->out.from)) {
        buffer first = {0};
        respond(&c->request, &first);
        buffer_put(&first, buffer_head(&c->out), buffer_size(&c->out));
        buffer_free(&c->out);
        c->out = first;
    } else {
        respond(&c->request, &c->out);
    }
    c->closing = c->request.close;
    request_reset(&c->request);
}

/* Handles requests until there is no complete one, or much output is pending. */
static void handle_requests(connection *c)
{
    while (!c->closing && buffer_size(&c->out) < WAITING_MAX) {
        request_read(&c->request, &c->in);
        if (c->request.awaits) {
            buffer_print(&c->out, "HTTP/1.1 100 Continue\r\n\r\n");
            c->request.awaits = false;
        }
        c->unfinished = c->request.phase >= COMPLETE;
        if (!c->unfinished)
            return;
        respond_to_request(c);
    }
}

static void transmit(connection *c)
{
    ssize_t n = send(c->socket, buffer_head(&c->out), buffer_size(&c->out), MSG_NOSIGNAL);
    if (n >= 0)
        buffer_take(&c->out, (size_t)n);
    else
        c->deleted = !is_temporary(errno);
}

static void shrink_buffer(buffer *b)
{
    if (!buffer_size(b) && b->room > IDLE_ROOM)
        buffer_free(b);
}

/* Called when all output has been sent: half-closes or closes the connection if it ends. */
static void finish_if_ended(connection *c)
{
    if (c->closing && !c->half) {
        shutdown(c->socket, SHUT_WR);
        buffer_free(&c->in);
        c->half = true;
    }
    if (c->ended && (c->closing || !c->unfinished))
        c->deleted = true;
}

static void on_ready(connection *c)
{
    c->used = rounds;
    if (receives(c))
        receive(c);
    handle_requests(c);
    if (!c->deleted && buffer_size(&c->out))
        transmit(c);
    if (!buffer_size(&c->out))
        finish_if_ended(c);
    shrink_buffer(&c->in);
    shrink_buffer(&c->out);
}

/* Returns true if the connection has work without any I/O. */
static bool has_work(const connection *c)
{
    return c->unfinished && !c->closing && !buffer_size(&c->out);
}

/* ---- all connections --------------------------------------------------------------------------------------------- */

/* Moves the last connection into the place of each removed one. */
static void remove_deleted(void)
{
    for (size_t i = 0; i < count;) {
        connection *c = &connections[i];
        if (!c->deleted) {
            i++;
            continue;
        }
        close(c->socket);
        buffer_free(&c->in);
        buffer_free(&c->out);
        request_reset(&c->request);
        *c = connections[--count];
    }
}

static bool make_room(void)
{
    bool dropped = drop_idlest(0);
    remove_deleted();
    return dropped;
}

static void accept_clients(int listener)
{
    for (int i = 0; i < BACKLOG; i++) {
        if (count == CONNECTIONS_MAX)
            make_room();
        int client = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (client < 0 && (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) && make_room())
            continue;
        if (client < 0)
            return;
        /* A response must not wait for the acknowledgement of the previous one. */
        setsockopt(client, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
        connections[count++] = (connection){.socket = client, .used = rounds};
    }
}

static bool wait_for_work(int signals, int listener)
{
    bool busy = false;
    polled[SIGNALS] = (struct pollfd){.fd = signals, .events = POLLIN};
    polled[LISTENER] = (struct pollfd){.fd = listener, .events = POLLIN};
    for (size_t i = 0; i < count; i++) {
        const connection *c = &connections[i];
        short events = (receives(c) ? POLLIN : 0) | (buffer_size(&c->out) ? POLLOUT : 0);
        polled[FIRST + i] = (struct pollfd){.fd = c->socket, .events = events};
        busy = busy || has_work(c);
    }
    while (poll(polled, FIRST + count, busy ? 0 : -1) < 0)
        if (errno != EINTR && errno != EAGAIN)
            return false;
    rounds++;
    return true;
}

/* Returns 0 after a signal, or 1 if poll fails. */
static int serve(int signals, int listener)
{
    for (;;) {
        if (!wait_for_work(signals, listener)) {
            perror("web: poll");
            return 1;
        }
        if (polled[SIGNALS].revents)
            return 0;
        for (size_t i = 0; i < count; i++)
            if (!connections[i].deleted && (polled[FIRST + i].revents || has_work(&connections[i])))
                on_ready(&connections[i]);
        remove_deleted();
        if (polled[LISTENER].revents)
            accept_clients(listener);
    }
}

/* ---- start ------------------------------------------------------------------------------------------------------- */

static int fail(const char *what)
{
    fprintf(stderr, "web: %s: %s\n", what, strerror(errno));
    return -1;
}

static int listen_on(uint16_t port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (listener < 0)
        return fail("socket");
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &(int){1}, sizeof(int));
    if (bind(listener, (struct sockaddr *)&address, sizeof address))
        return fail("bind");
    return listen(listener, BACKLOG) ? fail("listen") : listener;
}

/* Returns a descriptor for the terminating signals, so that poll reports them even if the server is busy. */
static int catch_signals(void)
{
    sigset_t ours;
    sigemptyset(&ours);
    sigaddset(&ours, SIGTERM);
    sigaddset(&ours, SIGINT);
    sigprocmask(SIG_BLOCK, &ours, NULL);
    int signals = signalfd(-1, &ours, SFD_CLOEXEC);
    return signals < 0 ? fail("signalfd") : signals;
}

/* Each client needs a descriptor; the default limit is often 1,024. */
static void allow_many_files(void)
{
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files))
        return;
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
}

int main(int words, char **word)
{
    char *end = NULL;
    unsigned long port = words == 2 ? strtoul(word[1], &end, 10) : 0;
    if (port < 1 || port > 65535 || *end) {
        fputs("usage: web PORT        (1 to 65535)\n", stderr);
        return 2;
    }
    allow_many_files();
    int signals = catch_signals(), listener = listen_on((uint16_t)port);
    return signals < 0 || listener < 0 ? 1 : serve(signals, listener);
}
