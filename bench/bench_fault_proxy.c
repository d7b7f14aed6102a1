/* SPDX-License-Identifier: Apache-2.0
 *
 * bench_fault_proxy.c - the cost of the fault proxy: requests per second, directly and through it.
 *
 * The server and the clients, with a thread for each connection, only send and count bytes, so that the proxy
 * dominates. The proxy runs in a separate process, once forwarding bytes (the fault kind `nothing`) and once parsing
 * messages (a fault for a status that does not occur). Results are medians of five alternating runs. */
#include "base/clock.h"
#include "fault/fault_proxy.h"

#include <assert.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { RUNS = 5, CLIENTS_MAX = 64, PLACES = 3 };

static const char request[] = "GET /some/path HTTP/1.1\r\nHost: 127.0.0.1\r\nIf-None-Match: \"x\"\r\n\r\n";

typedef struct load {
    const char *name;
    size_t clients, depth, rounds, body;
} load;

typedef struct client {
    in_port_t port;
    const load *load;
    size_t answer;
} client;

static char *answer_text;
static size_t answer_size;

/* ---- the server -------------------------------------------------------------------------------------------------- */

static void send_all(int fd, const char *bytes, size_t n)
{
    for (ssize_t sent; n > 0; bytes += sent, n -= (size_t)sent) {
        sent = send(fd, bytes, n, MSG_NOSIGNAL);
        assert(sent > 0);
    }
}

static void *serve(void *context)
{
    int fd = (int)(intptr_t)context;
    static _Thread_local char buffer[1 << 16];
    size_t left = 0; /* bytes missing from a partial request */
    for (ssize_t n; (n = recv(fd, buffer, sizeof buffer, 0)) > 0;)
        for (left += (size_t)n; left >= sizeof request - 1; left -= sizeof request - 1)
            send_all(fd, answer_text, answer_size);
    close(fd);
    return NULL;
}

static void *accept_all(void *context)
{
    for (;;) {
        int fd = accept((int)(intptr_t)context, NULL, NULL);
        pthread_t thread;
        assert(fd >= 0);
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
        assert(pthread_create(&thread, NULL, serve, (void *)(intptr_t)fd) == 0);
        pthread_detach(thread);
    }
    return NULL;
}

static struct sockaddr_in start_server(void)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t size = sizeof at;
    pthread_t thread;
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    assert(bind(fd, (struct sockaddr *)&at, size) == 0 && listen(fd, 512) == 0);
    assert(getsockname(fd, (struct sockaddr *)&at, &size) == 0);
    assert(pthread_create(&thread, NULL, accept_all, (void *)(intptr_t)fd) == 0);
    return at;
}

/* ---- the proxy --------------------------------------------------------------------------------------------------- */

static pid_t start_injector(const char *kind, const struct sockaddr_in *target, in_port_t *port)
{
    aphi_fault b;
    char error[256];
    assert(aphi_fault_parse(&b, kind, error, sizeof error));
    aphi_fault_proxy *r =
        aphi_fault_proxy_open(0, (const struct sockaddr *)target, sizeof *target, &b, error, sizeof error);
    assert(r);
    *port = aphi_fault_proxy_port(r);
    pid_t pid = fork();
    if (pid == 0)
        _exit(aphi_fault_proxy_run(r, error, sizeof error) ? 0 : 1);
    aphi_fault_proxy_close(r); /* the child process has its own copy */
    return pid;
}

/* ---- the clients ------------------------------------------------------------------------------------------------- */

static void *ask(void *context)
{
    const client *c = context;
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(c->port), .sin_addr = {htonl(INADDR_LOOPBACK)}};
    static _Thread_local char buffer[1 << 16];
    char batch[64 * sizeof request];
    size_t n = sizeof request - 1;
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    assert(connect(fd, (struct sockaddr *)&at, sizeof at) == 0 && c->load->depth <= 64);
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
    for (size_t i = 0; i < c->load->depth; i++)
        memcpy(batch + i * n, request, n);
    for (size_t i = 0; i < c->load->rounds; i++) {
        send_all(fd, batch, c->load->depth * n);
        for (size_t left = c->load->depth * c->answer; left;) {
            ssize_t got = recv(fd, buffer, sizeof buffer, 0);
            assert(got > 0 && (size_t)got <= left);
            left -= (size_t)got;
        }
    }
    close(fd);
    return NULL;
}

static double rate(const load *l, in_port_t port)
{
    pthread_t threads[CLIENTS_MAX];
    client c = {port, l, answer_size};
    int64_t begin = aphi_clock_ns();
    for (size_t i = 0; i < l->clients; i++)
        assert(pthread_create(&threads[i], NULL, ask, &c) == 0);
    for (size_t i = 0; i < l->clients; i++)
        pthread_join(threads[i], NULL);
    return (double)(l->clients * l->depth * l->rounds) * 1e9 / (double)(aphi_clock_ns() - begin);
}

static int by_size(const void *a, const void *b)
{
    const double *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

static void measure(const load *l, const in_port_t *ports)
{
    double rates[PLACES][RUNS];
    free(answer_text);
    answer_text = malloc(l->body + 100);
    assert(answer_text);
    answer_size = (size_t)sprintf(answer_text, "HTTP/1.1 200 OK\r\nContent-Length: %zu\r\n\r\n", l->body);
    memset(answer_text + answer_size, 'x', l->body);
    answer_size += l->body;
    for (int run = 0; run < RUNS; run++)
        for (int place = 0; place < PLACES; place++)
            rates[place][run] = rate(l, ports[place]);
    printf("%-32s", l->name);
    for (int place = 0; place < PLACES; place++) {
        qsort(rates[place], RUNS, sizeof rates[place][0], by_size);
        printf(" %10.0f/s", rates[place][RUNS / 2]);
    }
    putchar('\n');
    fflush(stdout);
}

int main(void)
{
    static const load loads[] = {{"50 connections, 16 in flight", 50, 16, 200, 100},
                                 {"1 connection, 1 in flight", 1, 1, 5000, 100},
                                 {"4 connections, answers of 1 MB", 4, 1, 25, 1000000}};
    in_port_t ports[PLACES];
    struct sockaddr_in server = start_server();
    ports[0] = ntohs(server.sin_port);
    pid_t bytes = start_injector("nothing", &server, &ports[1]);
    pid_t messages = start_injector("599-as-598", &server, &ports[2]);
    printf("%-32s %12s %12s %12s\n", "requests", "direct", "as bytes", "as messages");
    fflush(stdout);
    for (size_t i = 0; i < sizeof loads / sizeof *loads; i++)
        measure(&loads[i], ports);
    kill(bytes, SIGKILL);
    kill(messages, SIGKILL);
    waitpid(bytes, NULL, 0);
    waitpid(messages, NULL, 0);
    free(answer_text);
    return 0;
}
