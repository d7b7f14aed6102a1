/* SPDX-License-Identifier: Apache-2.0
 *
 * bench_serve.c - responses per second of `antiphon serve`.
 *
 * For each built-in model, a client writes prepared requests and counts responses, over 1, 10, 100 and 1,000
 * connections, each with pipelined requests. The server adds no delays, so that its own speed is measured. */
#include "load_client.h"
#include "base/clock.h"
#include "base/memory.h"
#include "codec/codec_internal.h"
#include "models/models.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

enum { DEPTH = 32, MADE = 4096 };
static const int64_t measure_ns = 1000000000;

typedef struct connection {
    size_t at;          /* position in the bytes of requests */
    unsigned in_flight;
    size_t partial;     /* received bytes of an incomplete response of fixed size */
} connection;

typedef struct load {
    const aph_model *model;
    aphi_buffer requests;
    size_t *ends;       /* end positions of blocks of DEPTH requests; the first is 0 */
    size_t blocks;
    struct pollfd *polls;
    connection *connections;
    unsigned count;
    uint64_t answers;
} load;

static void make_requests(load *l)
{
    load_client a = load_client_of(l->model, 1);
    a.keys = 100;
    l->blocks = MADE / DEPTH;
    l->ends = aphi_alloc((l->blocks + 1) * sizeof *l->ends);
    l->ends[0] = 0;
    for (size_t i = 0; i < l->blocks; i++) {
        for (int k = 0; k < DEPTH; k++, a.made++)
            aphi_encode_at(l->model->codec, NULL, APH_TO_SERVER, a.request(&a), &l->requests);
        l->ends[i + 1] = l->requests.n;
    }
}

static size_t answers_in(load *l, connection *c, const char *bytes, size_t n)
{
    size_t found = 0;
    if (l->model->codec) {
        found = (c->partial + n) / l->model->codec->size;
        c->partial = (c->partial + n) % l->model->codec->size;
        return found;
    }
    for (const char *end = bytes + n; (bytes = memchr(bytes, '\n', (size_t)(end - bytes))); bytes++)
        found++;
    return found;
}

/* Sends the next block if the connection has no requests in flight. */
static void turn(load *l, unsigned i)
{
    connection *c = &l->connections[i];
    char bytes[65536];
    if (l->polls[i].revents & POLLIN) {
        ssize_t n = recv(l->polls[i].fd, bytes, sizeof bytes, MSG_DONTWAIT);
        if (n <= 0 && errno != EAGAIN) {
            fprintf(stderr, "bench_serve: a connection was closed\n");
            exit(1);
        }
        size_t found = n > 0 ? answers_in(l, c, bytes, (size_t)n) : 0;
        l->answers += found;
        c->in_flight -= (unsigned)found;
    }
    if (c->in_flight == 0) {
        size_t from = l->ends[c->at], to = l->ends[c->at + 1];
        if (send(l->polls[i].fd, l->requests.data + from, to - from, MSG_NOSIGNAL) != (ssize_t)(to - from)) {
            perror("bench_serve: send");
            exit(1);
        }
        c->in_flight = DEPTH;
        c->at = (c->at + 1) % l->blocks;
    }
}

static void connect_all(load *l, const served *s)
{
    for (unsigned i = 0; i < l->count; i++) {
        l->polls[i] = (struct pollfd){.fd = socket(AF_INET, SOCK_STREAM, 0), .events = POLLIN};
        l->connections[i].at = i % l->blocks;
        if (connect(l->polls[i].fd, (const struct sockaddr *)&s->at, sizeof s->at)) {
            perror("bench_serve: connect");
            exit(1);
        }
    }
}

/* Returns responses per second. */
static double measure(const aph_model *model, unsigned connections)
{
    served s = served_start((const char *const[]){model->name, "--delay", "0", "--seed", "1", NULL});
    load l = {.model = model, .count = connections, .polls = aphi_alloc_zero(connections * sizeof *l.polls),
              .connections = aphi_alloc_zero(connections * sizeof *l.connections)};
    make_requests(&l);
    connect_all(&l, &s);
    int64_t began = aphi_clock_ns(), now = began;
    do {
        for (unsigned i = 0; i < l.count; i++)
            turn(&l, i);
        poll(l.polls, l.count, 1000);
        now = aphi_clock_ns();
    } while (now - began < measure_ns);
    for (unsigned i = 0; i < l.count; i++)
        close(l.polls[i].fd);
    served_stop(&s);
    free(l.polls);
    free(l.connections);
    free(l.ends);
    aphi_buffer_free(&l.requests);
    aph_heap_close();
    return (double)l.answers / ((double)(now - began) / 1e9);
}

int main(void)
{
    static const unsigned connections[] = {1, 10, 100, 1000};
    if (!getenv("ANTIPHON"))
        setenv("ANTIPHON", "build/antiphon", 1);
    size_t n;
    const aph_model *const *models = aph_models(&n);
    puts("answers a second, each connection with 32 requests in flight\n\n"
         "model       connections    answers/s");
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; !models[i]->respond && k < sizeof connections / sizeof *connections; k++)
            printf("%-10s  %11u  %11.0f\n", models[i]->name, connections[k], measure(models[i], connections[k]));
    return 0;
}
