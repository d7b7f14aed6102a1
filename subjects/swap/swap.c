/* SPDX-License-Identifier: Apache-2.0
 *
 * swap.c - the swap server: stores the last message, and responds to each message with the previous one.
 *
 *     swap PORT        listens on 127.0.0.1, until SIGTERM or SIGINT
 *
 * A message has three bytes; the initial one is "000". Messages are received and sent in chunks of any size.
 *
 * Idea:       a single process waits only in poll. Each connection is a state machine with two buffers:
 *
 *                 RECVING --- the request is complete: swap it for the stored one -> SENDING
 *                    ^                                                                  |
 *                    +------------------ the whole response is sent --------------------+
 *
 *             Each round of poll lets every ready connection receive or send once, so that no client waits for a slow
 *             one. Clients share only the stored message, which the swap exchanges atomically.
 * Invariants: 1. RECVING: received < MESSAGE bytes of the next request have arrived. SENDING: sent < MESSAGE bytes of
 *                the response were sent
 *             2. the first entries of poll are for signals and new clients; entry FIRST + i is for connection i
 *             3. input after an unanswered request stays in the socket buffer
 * Cost:       a few dozen bytes per connection; a round is linear in the number of connections.
 *
 * Mutants:    -DMUTANT=1 to -DMUTANT=12 build faulty servers, to test testers. Each is marked by a comment that begins
 *             with "mutant"; PICK(n, right, wrong) selects the wrong code of mutant n. The mutants are of the kinds
 *             that Koh et al. planted in their server ("From C to interaction trees", CPP 2019, section 6). */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#ifndef MUTANT
#define MUTANT 0
#endif
#define PICK(n, right, wrong) (MUTANT == (n) ? (wrong) : (right))

enum { MESSAGE = 3, CONNECTIONS_MAX = 4096, BACKLOG = 1024 };
enum { SIGNALS, LISTENER, FIRST }; /* entries of poll */

typedef enum state { RECVING, SENDING, DELETED } state;

typedef struct connection {
    int socket;
    state state;
    size_t received, sent;             /* bytes */
    unsigned char request[MESSAGE + 1];
    unsigned char answer[MESSAGE + 1]; /* the extra byte keeps mutants inside the bounds */
} connection;

static connection connections[CONNECTIONS_MAX];
static size_t count;
static struct pollfd polled[FIRST + CONNECTIONS_MAX];
/* mutant 1, bad initialisation: the initial message is zero bytes, not digits */
static unsigned char kept[MESSAGE] = {PICK(1, '0', 0), PICK(1, '0', 0), PICK(1, '0', 0)};
static bool full; /* no descriptor is left for another client until one leaves */

/* ---- one connection ---------------------------------------------------------------------------------------------- */

/* mutant 7, buffer error: all connections receive into the buffer of the first */
static unsigned char *request_of(connection *c)
{
    return PICK(7, c, connections)->request;
}

/* mutant 8, buffer error: all connections send from the buffer of the first */
static unsigned char *answer_of(connection *c)
{
    return PICK(8, c, connections)->answer;
}

/* Returns the number of missing bytes of the request. */
static size_t lacking(const connection *c)
{
    /* mutant 3, off by one: a request is complete with two bytes */
    return PICK(3, MESSAGE, MESSAGE - 1) - c->received;
}

/* Receives up to the end of the request. Returns the number of bytes, 0 if there are none yet, or -1 at the end. */
static ssize_t receive(connection *c)
{
    size_t room = lacking(c);
    /* mutant 5, pointer error: a chunk is stored at the head of the buffer, not after the earlier ones */
    ssize_t n = recv(c->socket, request_of(c) + PICK(5, c->received, 0), room, 0);
    if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR))
        return 0;
    if (n <= 0)
        return -1; /* closed or reset by the client */
    /* mutant 9, wrong return value: a chunk counts as the whole request */
    /* mutant 10, wrong return value: success is 1 for any number of bytes; then the server waits silently */
    return PICK(9, PICK(10, n, 1), (ssize_t)room);
}

/* Sends the rest of the response. Returns the number of bytes, 0 if none can be sent now, or -1 if it is closed. */
static ssize_t transmit(connection *c)
{
    /* mutant 4, off by one: the response is a byte too long */
    size_t rest = PICK(4, MESSAGE, MESSAGE + 1) - c->sent;
    /* mutant 6, pointer error: the response is sent to the first connection */
    ssize_t n = send(PICK(6, c, connections)->socket, answer_of(c) + c->sent, rest, MSG_NOSIGNAL);
    if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR))
        return 0;
    return n; /* -1: EPIPE, ECONNRESET */
}

static void swap(connection *c)
{
    memcpy(answer_of(c), kept, MESSAGE);
    memcpy(kept, request_of(c), MESSAGE);
    c->sent = 0;
    c->state = SENDING;
}

static void on_readable(connection *c)
{
    ssize_t n = receive(c);
    if (n < 0) {
        c->state = DELETED;
        return;
    }
    c->received += (size_t)n;
    /* mutant 11, wrong state transition: to SENDING after the first chunk */
    if (PICK(11, !lacking(c), n > 0))
        swap(c);
}

static void on_writable(connection *c)
{
    ssize_t n = transmit(c);
    if (n < 0) {
        c->state = DELETED;
        return;
    }
    c->sent += (size_t)n;
    if (c->sent < MESSAGE)
        return;
    /* mutant 2, bad initialisation: the next request starts with the byte count of the last one */
    c->received = PICK(2, 0, c->received);
    /* mutant 12, wrong state transition: after its response a connection stays SENDING, and is never read */
    c->state = PICK(12, RECVING, SENDING);
}

/* ---- all connections --------------------------------------------------------------------------------------------- */

static void accept_clients(int listener)
{
    while (count < CONNECTIONS_MAX) {
        int client = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (client < 0) {
            full = errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM;
            return;
        }
        /* A response must not wait for the acknowledgement of the previous one. */
        setsockopt(client, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
        connections[count++] = (connection){.socket = client, .state = RECVING};
    }
}

/* Moves the last connection into the place of each removed one. */
static void remove_deleted(void)
{
    for (size_t i = 0; i < count;) {
        if (connections[i].state != DELETED) {
            i++;
            continue;
        }
        close(connections[i].socket);
        connections[i] = connections[--count];
        full = false;
    }
}

static bool wait_for_work(int signals, int listener)
{
    polled[SIGNALS] = (struct pollfd){.fd = signals, .events = POLLIN};
    polled[LISTENER] = (struct pollfd){.fd = listener, .events = count < CONNECTIONS_MAX && !full ? POLLIN : 0};
    for (size_t i = 0; i < count; i++)
        polled[FIRST + i] = (struct pollfd){.fd = connections[i].socket,
                                            .events = connections[i].state == RECVING ? POLLIN : POLLOUT};
    while (poll(polled, FIRST + count, -1) < 0)
        if (errno != EINTR && errno != EAGAIN)
            return false;
    return true;
}

/* Returns 0 after a signal, or 1 if poll fails. */
static int serve(int signals, int listener)
{
    for (;;) {
        if (!wait_for_work(signals, listener)) {
            perror("swap: poll");
            return 1;
        }
        if (polled[SIGNALS].revents)
            return 0;
        for (size_t i = 0; i < count; i++) {
            connection *c = &connections[i];
            if (!polled[FIRST + i].revents)
                continue; /* errors are handled by receive and transmit */
            if (c->state == RECVING)
                on_readable(c);
            else
                on_writable(c);
        }
        remove_deleted();
        if (polled[LISTENER].revents)
            accept_clients(listener);
    }
}

/* ---- start ------------------------------------------------------------------------------------------------------- */

static int fail(const char *what)
{
    fprintf(stderr, "swap: %s: %s\n", what, strerror(errno));
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
        fputs("usage: swap PORT\n", stderr);
        return 2;
    }
    allow_many_files();
    int signals = catch_signals(), listener = listen_on((uint16_t)port);
    return signals < 0 || listener < 0 ? 1 : serve(signals, listener);
}
