/* SPDX-License-Identifier: Apache-2.0
 *
 * server.c - a model as a server: the loop.
 *
 * Idea:       one thread waits for sockets and for the clock. A request that has arrived goes on the agenda, to be
 *             taken after a delay; what the model then sends goes on the agenda, to leave after another. The model
 *             itself takes one request at a time and no time at all: all concurrency is the environment's, as the
 *             oracle has it too.
 *
 *      bytes -> codec -> agenda -> actor (the model) -> agenda -> bytes
 *                        request          answer
 *
 * Invariants: 1. of one connection, requests are taken in the order in which they came, and answers leave in the order
 *                in which they were given (server_tcp.c); of datagrams nothing is promised (server_udp.c)
 *             2. values live while a root holds them: those of the actor, and requests not yet taken. Collecting is
 *                done between rounds only
 * Cost:       a read and a write for each connection and round, however many messages they hold.
 * Read next:  simulator.c, server_tcp.c, docs/serving.md */
#include "server/server.h"

#include "base/clock.h"
#include "base/memory.h"
#include "subject/ports.h"
#include "codec/codec_internal.h"
#include "server/server_internal.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

enum { EVENTS_AT_ONCE = 256, COMPLAINTS_MAX = 100, BACKLOG = 4096, RECONSIDER_MS = 1 };
static const size_t garbage_max = (size_t)2 << 20; /* bytes of values, so few that they stay in the cache */

/* ---- what parts of a server share -------------------------------------------------------------------------------- */

void aphi_server_complain(aphi_server *s, const char *format, ...)
{
    if (s->complaints > COMPLAINTS_MAX)
        return;
    if (s->complaints++ == COMPLAINTS_MAX) {
        fputs("antiphon: no more is said of what clients do wrong\n", stderr);
        return;
    }
    va_list args;
    va_start(args, format);
    fputs("antiphon: ", stderr);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    va_end(args);
}

void aphi_server_malformed(aphi_server *s, int64_t from, const aph_wire *w)
{
    size_t start = w->at > 20 ? w->at - 20 : 0, n = w->count - start < 40 ? w->count - start : 40;
    char *excerpt = aph_json_text(aph_bytes(w->bytes + start, n), NULL);
    aphi_server_complain(s, "connection %lld: malformed request: byte %zu: %s; the bytes from %zu on: %s",
                         (long long)from, w->at, w->why, start, excerpt);
    free(excerpt);
}

void aphi_server_fail(aphi_server *s, const char *what)
{
    s->failed = true;
    s->outcome = APHI_SERVE_FAILED;
    snprintf(s->error, sizeof s->error, "%s: %s", what, strerror(errno));
}

static void fault(aphi_server *s)
{
    s->failed = true;
    s->outcome = APHI_SERVE_FAULT;
    snprintf(s->error, sizeof s->error, "model %s: %s", s->model->name, s->actor.why);
}

aphi_simulated aphi_server_take(aphi_server *s, int64_t from, aph_value message)
{
    aphi_simulated act = aphi_simulator_take(&s->actor, from, message);
    if (act == APHI_SIMULATED_TAKEN) {
        s->changes++;
        s->stats.requests++;
    } else if (act == APHI_SIMULATED_UNKNOWN) {
        char *text = aph_json_text(message, NULL);
        aphi_server_complain(s, "connection %lld: the model does not know this request: %s: %.200s", (long long)from,
                             s->actor.why, text);
        free(text);
    } else if (act == APHI_SIMULATED_FAULT) {
        fault(s);
    }
    return act;
}

int64_t aphi_server_later(aphi_server *s)
{
    return s->now + aphi_delay(&s->choice, s->options.delay_ns);
}

/* ---- listening --------------------------------------------------------------------------------------------------- */

static bool watch(aphi_server *s, int fd, uint64_t which)
{
    struct epoll_event e = {.events = EPOLLIN, .data.u64 = which};
    return fd >= 0 && epoll_ctl(s->epoll, EPOLL_CTL_ADD, fd, &e) == 0;
}

static bool listen_at(aphi_server *s, const struct addrinfo *a)
{
    bool datagrams = s->options.through == APHI_SERVE_UDP;
    s->listener = socket(a->ai_family, a->ai_socktype | SOCK_NONBLOCK | SOCK_CLOEXEC, a->ai_protocol);
    if (s->listener < 0)
        return false;
    setsockopt(s->listener, SOL_SOCKET, SO_REUSEADDR, &(int){1}, sizeof(int));
    if (datagrams)
        setsockopt(s->listener, SOL_SOCKET, SO_RCVBUF, &(int){4 << 20}, sizeof(int));
    return bind(s->listener, a->ai_addr, a->ai_addrlen) == 0 && (datagrams || listen(s->listener, BACKLOG) == 0);
}

static void write_address(const struct sockaddr_storage *at, socklen_t size, char *text, size_t text_size)
{
    char host[64] = "?", port[8] = "?";
    getnameinfo((const struct sockaddr *)at, size, host, sizeof host, port, sizeof port,
                NI_NUMERICHOST | NI_NUMERICSERV);
    snprintf(text, text_size, at->ss_family == AF_INET6 ? "[%s]:%s" : "%s:%s", host, port);
}

static void learn_address(aphi_server *s)
{
    struct sockaddr_storage at;
    socklen_t size = sizeof at;
    getsockname(s->listener, (struct sockaddr *)&at, &size);
    write_address(&at, size, s->address, sizeof s->address);
}

/* Whom the model asks, if anybody. */
static bool learn_called(aphi_server *s, char *error, size_t error_size)
{
    if (!s->options.calls)
        return true;
    if (!aphi_port_resolve(s->options.calls, false, &s->called, &s->called_size, error, error_size))
        return false;
    write_address(&s->called, s->called_size, s->here, sizeof s->here);
    return true;
}

static bool listen_somewhere(aphi_server *s, char *error, size_t error_size)
{
    const char *host = s->options.host ? s->options.host : "127.0.0.1";
    char port[8];
    struct addrinfo hints = {.ai_flags = AI_PASSIVE | AI_NUMERICSERV,
                             .ai_socktype = s->options.through == APHI_SERVE_UDP ? SOCK_DGRAM : SOCK_STREAM};
    struct addrinfo *found = NULL;
    snprintf(port, sizeof port, "%u", s->options.port);
    int wrong = getaddrinfo(host, port, &hints, &found);
    if (wrong) {
        snprintf(error, error_size, "host %s: %s", host, gai_strerror(wrong));
        return false;
    }
    bool listening = false;
    for (const struct addrinfo *a = found; a && !listening; a = a->ai_next) {
        listening = listen_at(s, a);
        if (!listening && s->listener >= 0) {
            int why = errno;
            close(s->listener);
            s->listener = -1;
            errno = why;
        }
    }
    if (!listening)
        snprintf(error, error_size, "cannot listen on %s port %s: %s%s", host, port, strerror(errno),
                 errno == EADDRINUSE ? "; --port 0 takes one that is free" : "");
    else
        learn_address(s);
    freeaddrinfo(found);
    return listening;
}

/* ---- open and close ---------------------------------------------------------------------------------------------- */

static void mark(void *context)
{
    aphi_server *s = context;
    if (s->streams)
        aphi_server_tcp_mark(s);
    if (s->datagrams)
        aphi_server_udp_mark(s);
}

static bool open_descriptors(aphi_server *s, char *error, size_t error_size)
{
    s->epoll = epoll_create1(EPOLL_CLOEXEC);
    s->timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
    s->wake = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (!watch(s, s->timer, APHI_ON_TIMER) || !watch(s, s->wake, APHI_ON_WAKE)) {
        snprintf(error, error_size, "cannot wait for events: %s", strerror(errno));
        return false;
    }
    if (!listen_somewhere(s, error, error_size))
        return false;
    if (!watch(s, s->listener, APHI_ON_LISTENER)) {
        snprintf(error, error_size, "cannot wait for connections: %s", strerror(errno));
        return false;
    }
    return true;
}

aphi_server *aphi_server_open(const aph_model *model, const aphi_serve_options *options, char *error,
                              size_t error_size)
{
    aphi_server *s = aphi_alloc_zero(sizeof *s);
    s->model = model;
    s->options = *options;
    if (options->through == APHI_SERVE_SYNC)
        s->options.delay_ns = 0;
    s->choice = aphi_choice_seed(~options->seed);
    s->epoll = s->listener = s->timer = s->wake = -1;
    bool known = learn_called(s, error, error_size);
    aphi_simulator_open(&s->actor, model, *s->here ? s->here : NULL, options->seed);
    aph_root_add(mark, s);
    if (!known || !open_descriptors(s, error, error_size)) {
        aphi_server_close(s);
        return NULL;
    }
    if (options->through == APHI_SERVE_UDP)
        s->datagrams = aphi_server_udp_open(s);
    else
        s->streams = aphi_server_tcp_open(s);
    return s;
}

void aphi_server_close(aphi_server *s)
{
    if (s->streams)
        aphi_server_tcp_close(s);
    if (s->datagrams)
        aphi_server_udp_close(s);
    int descriptors[] = {s->epoll, s->listener, s->timer, s->wake};
    for (size_t i = 0; i < sizeof descriptors / sizeof *descriptors; i++)
        if (descriptors[i] >= 0)
            close(descriptors[i]);
    aph_root_remove(mark, s);
    aphi_simulator_close(&s->actor);
    aphi_timer_heap_deinit(&s->agenda);
    free(s);
}

const char *aphi_server_address(const aphi_server *s)
{
    return s->address;
}

aphi_simulated_fault aphi_server_fault(const aphi_server *s)
{
    return s->actor.fault;
}

aphi_serve_stats aphi_server_stats(const aphi_server *s)
{
    return s->stats;
}

void aphi_server_stop(aphi_server *s)
{
    int before = errno;
    s->stopping = 1;
    uint64_t one = 1;
    if (write(s->wake, &one, sizeof one) < 0) {
        /* It is full of earlier calls, which do as well. */
    }
    errno = before;
}

/* ---- the loop ---------------------------------------------------------------------------------------------------- */

/* So that waiting ends when something is due. */
static void set_timer(aphi_server *s)
{
    int64_t when = aphi_timer_heap_when(&s->agenda);
    if (when < 0)
        when = 0;
    if (when == s->timer_ns)
        return;
    struct itimerspec spec = {.it_value = {when / 1000000000, when % 1000000000}};
    if (timerfd_settime(s->timer, TFD_TIMER_ABSTIME, &spec, NULL))
        aphi_server_fail(s, "the timer cannot be set");
    s->timer_ns = when;
}

static void on_timer(aphi_server *s)
{
    uint64_t times;
    if (read(s->timer, &times, sizeof times) == sizeof times)
        s->timer_ns = 0;
}

static void handle(aphi_server *s, const struct epoll_event *e)
{
    switch (e->data.u64) {
    case APHI_ON_LISTENER:
        if (s->streams)
            aphi_server_tcp_accept(s);
        else
            aphi_server_udp_ready(s);
        break;
    case APHI_ON_TIMER: on_timer(s); break;
    case APHI_ON_WAKE: break;
    default: aphi_server_tcp_ready(s, e->data.u64, e->events); break;
    }
}

static void run_agenda(aphi_server *s)
{
    aphi_timer due;
    while (!s->failed && aphi_timer_heap_next(&s->agenda, s->now, &due)) {
        if (s->streams)
            aphi_server_tcp_due(s, &due);
        else
            aphi_server_udp_due(s, &due);
    }
}

static void collect(void)
{
    if (aph_heap_bytes() > 2 * aph_heap_bytes_kept() + garbage_max)
        aph_collect();
}

/* A model that could send may choose to wait for a request. If none comes, it is not held to that. */
static void reconsider(aphi_server *s)
{
    switch (aphi_simulator_reconsider(&s->actor)) {
    case APHI_SIMULATED_TAKEN:
        s->changes++;
        aphi_server_tcp_deliver(s);
        break;
    case APHI_SIMULATED_FAULT: fault(s); break;
    default: break;
    }
}

static void go_round(aphi_server *s)
{
    struct epoll_event events[EVENTS_AT_ONCE];
    bool chose = s->streams && aphi_simulator_may_reconsider(&s->actor);
    set_timer(s);
    int n = epoll_wait(s->epoll, events, EVENTS_AT_ONCE, chose ? RECONSIDER_MS : -1);
    if (n < 0 && errno != EINTR)
        aphi_server_fail(s, "cannot wait for events");
    s->now = aphi_clock_ns();
    for (int i = 0; i < n && !s->failed; i++)
        handle(s, &events[i]);
    if (n == 0)
        reconsider(s);
    run_agenda(s);
    if (s->streams && !s->failed)
        aphi_server_tcp_settle(s);
    if (!s->failed)
        collect();
}

aphi_served aphi_server_run(aphi_server *s, char *error, size_t error_size)
{
    s->now = aphi_clock_ns();
    if (aphi_simulator_begin(&s->actor) == APHI_SIMULATED_FAULT)
        fault(s);
    while (!s->failed && !s->stopping)
        go_round(s);
    if (s->stopping || !s->failed)
        return APHI_SERVED;
    snprintf(error, error_size, "%s", s->error);
    return s->outcome;
}
