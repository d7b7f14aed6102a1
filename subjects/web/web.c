/* SPDX-License-Identifier: Apache-2.0
 *
 * web.c - the web server: resources in memory, HTTP/1.1, conditional requests and ranges.
 *
 *     web PORT        listens on 127.0.0.1, until SIGTERM or SIGINT
 *
 * Any path is a resource, once somebody has written to it. GET and HEAD read it; GET also single byte ranges. PUT
 * creates it (201) or replaces it (200 or 204 in turn). POST appends the body to it (200), or creates it with the body
 * (201), both with an empty body in the answer. DELETE removes it (204). Every representation has a Last-Modified and
 * an ETag, every second of them weak.
 *
 * Idea:       one process that never waits but in poll. Each connection has bytes that came (in), a request that they
 *             are read into, and bytes that go (out):
 *
 *                 socket -> in -> request -> respond: all that clients share -> out -> socket
 *
 *             Requests are taken one after the other, so pipelined ones are answered in their order. While much waits
 *             in out, nothing more is taken or received: who does not read his answers waits for himself.
 *             Each round of poll gives every connection that is ready one chance to receive, to be answered and to
 *             send, so that no client waits for another one that is slow.
 * Invariants: 1. the first entries of poll are for signals and for new clients; entry FIRST + i is of connection i
 *             2. a connection that is closing takes no request; when its answers are out it is half closed, and what
 *                still comes is thrown away: closed at once, it might be reset before the client has read them
 * Cost:       clients may be idle as long as they like. When there is no place for a new one, the one that was idle for
 *             longest goes; when the buffers of all have more than MEMORY_MAX bytes, the one of those that hold much.
 * Read next:  request.c, respond.c, condition.c, store.c
 *
 * Mutants:    -DMUTANT=1 to -DMUTANT=20 build servers that are wrong, to test testers with. Each is marked by a comment
 *             that begins with "mutant", and PICK(n, right, wrong) is what mutant n has wrong. They are of the kinds
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
    WAITING_MAX = 64 * 1024,        /* answers wait: no request is taken */
    IDLE_ROOM = 4 * 1024,           /* memory that an empty buffer may keep */
    DRAINED_MAX = 16 * 1024 * 1024, /* thrown away, of a client that goes on sending */
    MEMORY_MAX = 256 * 1024 * 1024, /* of all buffers, and so of all contents */
};
enum { SIGNALS, LISTENER, FIRST }; /* entries of poll */

typedef struct connection {
    int socket;
    bool ended;      /* the client will send no more */
    bool closing;    /* the last answer is in out */
    bool half;       /* and it is out: half closed */
    bool unfinished; /* there may be a whole request in in */
    bool deleted;
    uint64_t used;   /* the round in which it was ready last */
    size_t drained;  /* bytes */
    buffer in, out;
    request request;
} connection;

static connection connections[CONNECTIONS_MAX];
static size_t count;
static struct pollfd polled[FIRST + CONNECTIONS_MAX];
static uint64_t rounds;

/* ---- one connection ---------------------------------------------------------------------------------------------- */

static bool for_now(int error)
{
    return error == EAGAIN || error == EWOULDBLOCK || error == EINTR;
}

static bool receives(const connection *c)
{
    return !c->ended && (c->half || (!c->closing && buffer_size(&c->out) < WAITING_MAX));
}

static size_t holds(const connection *c)
{
    return c->in.room + c->out.room + c->request.content.room;
}

/* Of those that hold so much memory, the one that was idle for longest is to go; false if there is none. */
static bool drop_idlest(size_t least)
{
    connection *idlest = NULL;
    for (connection *c = connections; c < connections + count; c++)
        if (!c->deleted && holds(c) >= least && (!idlest || c->used < idlest->used))
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
        c->deleted = !for_now(errno);
    else if (n == 0)
        c->ended = true;
    else if (c->half)
        c->deleted = (c->drained += (size_t)n) > DRAINED_MAX;
    else
        buffer_put(&c->in, chunk, (size_t)n);
    if (buffers_hold() > MEMORY_MAX)
        drop_idlest(CHUNK_BYTES);
}

static void answer(connection *c)
{
    /* mutant 18, wrong order: an answer overtakes those of its connection that have not been sent */
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

/* Takes and answers requests, until there is no whole one, or much to be sent. */
static void take_requests(connection *c)
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
        answer(c);
    }
}

static void transmit(connection *c)
{
    ssize_t n = send(c->socket, buffer_head(&c->out), buffer_size(&c->out), MSG_NOSIGNAL);
    if (n >= 0)
        buffer_take(&c->out, (size_t)n);
    else
        c->deleted = !for_now(errno);
}

static void give_back(buffer *b)
{
    if (!buffer_size(b) && b->room > IDLE_ROOM)
        buffer_free(b);
}

/* When all is out: is there still something to come? */
static void wind_up(connection *c)
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
    take_requests(c);
    if (!c->deleted && buffer_size(&c->out))
        transmit(c);
    if (!buffer_size(&c->out))
        wind_up(c);
    give_back(&c->in);
    give_back(&c->out);
}

/* It has work, though nothing comes or goes. */
static bool can_go_on(const connection *c)
{
    return c->unfinished && !c->closing && !buffer_size(&c->out);
}

/* ---- all of them ------------------------------------------------------------------------------------------------- */

/* The last one moves into the place of one that has left. */
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

static bool make_place(void)
{
    bool dropped = drop_idlest(0);
    remove_deleted();
    return dropped;
}

static void accept_clients(int listener)
{
    for (int i = 0; i < BACKLOG; i++) {
        if (count == CONNECTIONS_MAX)
            make_place();
        int client = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (client < 0 && (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) && make_place())
            continue;
        if (client < 0)
            return;
        /* An answer is not to wait for the acknowledgement of the one before. */
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
        busy = busy || can_go_on(c);
    }
    while (poll(polled, FIRST + count, busy ? 0 : -1) < 0)
        if (errno != EINTR && errno != EAGAIN)
            return false;
    rounds++;
    return true;
}

/* Until a signal ends it: 0; 1 if poll does not work. */
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
            if (!connections[i].deleted && (polled[FIRST + i].revents || can_go_on(&connections[i])))
                on_ready(&connections[i]);
        remove_deleted();
        if (polled[LISTENER].revents)
            accept_clients(listener);
    }
}

/* ---- beginning and end ------------------------------------------------------------------------------------------- */

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

/* The signals that end us, as something that poll can wait for: a server that always has work sees them, too. */
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

/* Each client takes a file; by default a process may often open no more than 1,024. */
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
