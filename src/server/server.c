/* SPDX-License-Identifier: Apache-2.0
 *
 * server.c - a model as a server: opening, rounds of the event loop, and closing.
 *
 * Idea:       One thread waits for sockets and timers. A received request becomes a timer, and the model takes it after
 *             a delay; each message that the model sends becomes another timer, and is written after another delay. The
 *             model takes one request at a time, instantaneously: all concurrency is in the environment.
 *
 *      bytes -> codec -> timer -> simulator (the model) -> timer -> bytes
 *                        request                response
 *
 * Invariants: 1. requests on one connection are taken in arrival order, and responses are written in the order in which
 *                the model sent them (server_tcp.c); datagrams have no order (server_udp.c);
 *                a user's network is the C program between the sockets and the model (server_network.c)
 *             2. the simulator and the untaken requests are roots; garbage is collected between rounds
 * Cost:       one read and one write per connection and round, regardless of the number of messages.
 * Read next:  simulator.c, server_tcp.c, docs/serving.md */
#include "server/server.h"

#include "base/memory.h"
#include "base/plain_text.h"
#include "subject/ports.h"
#include "server/server_internal.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

enum { WARNINGS_MAX = 100, RECONSIDER_NS = 1000000 };
static const size_t garbage_max = (size_t)2 << 20; /* bytes of values: small enough for the cache */

/* ---- shared by the parts of a server ----------------------------------------------------------------------------- */

void aphi_server_warn(aphi_server *s, const char *format, ...)
{
    if (s->warnings > WARNINGS_MAX)
        return;
    if (s->warnings++ == WARNINGS_MAX) {
        fputs("antiphon: further warnings about clients are not printed\n", stderr);
        return;
    }
    va_list args;
    va_start(args, format);
    fputs("antiphon: ", stderr);
    aphi_print_args(stderr, format, args);
    fputc('\n', stderr);
    va_end(args);
}

void aphi_server_warn_malformed(aphi_server *s, int64_t from, const aph_wire *w)
{
    size_t start = w->at > 20 ? w->at - 20 : 0, n = w->count - start < 40 ? w->count - start : 40;
    char *excerpt = aph_json_text(aph_bytes(w->bytes + start, n), NULL);
    aphi_server_warn(s, "connection %lld: malformed request: byte %zu: %s; the bytes from %zu on: %s",
                     (long long)from, w->at, w->why, start, excerpt);
    free(excerpt);
}

void aphi_server_fail(aphi_server *s, const char *what)
{
    s->failed = true;
    s->outcome = APHI_SERVE_FAILED;
    snprintf(s->error, sizeof s->error, "%s: %s", what, strerror(errno));
}

static void fail_by_model(aphi_server *s)
{
    s->failed = true;
    s->outcome = APHI_SERVE_FAULT;
    snprintf(s->error, sizeof s->error, "model %s: %s", s->model->name, s->simulator.why);
}

aphi_simulated aphi_server_take(aphi_server *s, int64_t from, aph_value message)
{
    aphi_simulated result = aphi_simulator_take(&s->simulator, from, message);
    if (result == APHI_SIMULATED_TAKEN) {
        s->changes++;
        s->stats.requests++;
    } else if (result == APHI_SIMULATED_UNKNOWN) {
        char *text = aph_json_text(message, NULL);
        aphi_server_warn(s, "connection %lld: the model does not know this request: %s: %.200s", (long long)from,
                         s->simulator.why, text);
        free(text);
    } else if (result == APHI_SIMULATED_FAULT) {
        fail_by_model(s);
    }
    return result;
}

int64_t aphi_server_delayed_ns(aphi_server *s)
{
    return s->loop.now_ns + aphi_delay(&s->choice, s->options.delay_ns);
}

/* ---- listening --------------------------------------------------------------------------------------------------- */

/* Returns a socket, or -1 with errno. */
static int listen_at(const struct addrinfo *a)
{
    bool datagrams = a->ai_socktype == SOCK_DGRAM;
    int fd = socket(a->ai_family, a->ai_socktype | SOCK_NONBLOCK | SOCK_CLOEXEC, a->ai_protocol);
    if (fd < 0)
        return -1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &(int){1}, sizeof(int));
    if (datagrams)
        setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &(int){4 << 20}, sizeof(int));
    if (bind(fd, a->ai_addr, a->ai_addrlen) == 0 && (datagrams || listen(fd, SOMAXCONN) == 0))
        return fd;
    int failure = errno;
    close(fd);
    errno = failure;
    return -1;
}

static void format_address(const struct sockaddr_storage *at, socklen_t size, char *text, size_t text_size)
{
    char host[64] = "?", port[8] = "?";
    getnameinfo((const struct sockaddr *)at, size, host, sizeof host, port, sizeof port,
                NI_NUMERICHOST | NI_NUMERICSERV);
    snprintf(text, text_size, at->ss_family == AF_INET6 ? "[%s]:%s" : "%s:%s", host, port);
}

static bool resolve_origins(aphi_server *s, char *error, size_t error_size)
{
    for (unsigned i = 0; i < s->options.call_count; i++) {
        aphi_server_origin *o = &s->origins[i];
        if (!aphi_port_resolve(s->options.calls[i], false, &o->at, &o->size, error, error_size))
            return false;
        format_address(&o->at, o->size, o->text, sizeof o->text);
        s->origin_texts[i] = o->text;
    }
    return true;
}

const char *const *aphi_server_origins(const aphi_server *s) { return s->options.call_count ? s->origin_texts : NULL; }

/* Listens on the first address of the host that can be bound. */
static bool open_listener(aphi_server *s, char *error, size_t error_size)
{
    const char *host = s->options.host ? s->options.host : "127.0.0.1";
    char port[8];
    struct addrinfo hints = {.ai_flags = AI_PASSIVE | AI_NUMERICSERV,
                             .ai_socktype = s->options.through == APHI_SERVE_UDP ? SOCK_DGRAM : SOCK_STREAM};
    struct addrinfo *found = NULL;
    struct sockaddr_storage at;
    socklen_t size = sizeof at;
    snprintf(port, sizeof port, "%u", s->options.port);
    int unknown = getaddrinfo(host, port, &hints, &found);
    if (unknown) {
        snprintf(error, error_size, "host %s: %s", host, gai_strerror(unknown));
        return false;
    }
    for (const struct addrinfo *a = found; a && s->listener.fd < 0; a = a->ai_next)
        s->listener.fd = listen_at(a);
    int failure = errno;
    freeaddrinfo(found);
    if (s->listener.fd < 0) {
        snprintf(error, error_size, "%s:%s: cannot listen: %s%s", host, port, strerror(failure),
                 failure == EADDRINUSE ? "; --port 0 selects a free port" : "");
        return false;
    }
    getsockname(s->listener.fd, (struct sockaddr *)&at, &size);
    format_address(&at, size, s->address, sizeof s->address);
    return true;
}

/* ---- open and close ---------------------------------------------------------------------------------------------- */

static void mark(void *context)
{
    aphi_server *s = context;
    if (s->tcp)
        aphi_server_tcp_mark(s);
    if (s->udp)
        aphi_server_udp_mark(s);
    if (s->network)
        aphi_server_network_mark(s);
}

static void set_callbacks(aphi_server *s)
{
    bool datagrams = s->options.through == APHI_SERVE_UDP;
    s->listener = (aphi_watch){.fd = -1, .ready = datagrams ? aphi_server_udp_ready : aphi_server_tcp_accept};
    s->loop.timer = datagrams ? aphi_server_udp_timer : aphi_server_tcp_timer;
    if (s->options.network) {
        s->listener.ready = aphi_server_network_accept;
        s->loop.timer = aphi_server_network_timer;
    }
}

static bool open_descriptors(aphi_server *s, char *error, size_t error_size)
{
    set_callbacks(s);
    bool opened = aphi_event_loop_open(&s->loop, s);
    if (opened && !open_listener(s, error, error_size))
        return false;
    if (!opened || !aphi_event_loop_watch(&s->loop, &s->listener, EPOLLIN)) {
        snprintf(error, error_size, "cannot wait for events: %s", strerror(errno));
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
    s->listener.fd = -1;
    bool resolved = resolve_origins(s, error, error_size);
    aphi_simulator_open(&s->simulator, model, aphi_server_origins(s), options->seed);
    aph_root_add(mark, s);
    if (!resolved || !open_descriptors(s, error, error_size)) {
        aphi_server_close(s);
        return NULL;
    }
    if (options->network)
        s->network = aphi_server_network_open(s);
    else if (options->through == APHI_SERVE_UDP)
        s->udp = aphi_server_udp_open();
    else
        s->tcp = aphi_server_tcp_open();
    return s;
}

void aphi_server_close(aphi_server *s)
{
    if (s->tcp)
        aphi_server_tcp_close(s);
    if (s->udp)
        aphi_server_udp_close(s);
    if (s->network)
        aphi_server_network_close(s);
    aphi_event_loop_close_watch(&s->loop, &s->listener);
    aphi_event_loop_close(&s->loop);
    aph_root_remove(mark, s);
    aphi_simulator_close(&s->simulator);
    free(s);
}

const char *aphi_server_address(const aphi_server *s)
{
    return s->address;
}

aphi_simulated_fault aphi_server_fault(const aphi_server *s)
{
    return s->simulator.fault;
}

aphi_serve_stats aphi_server_stats(const aphi_server *s)
{
    return s->stats;
}

void aphi_server_stop(aphi_server *s)
{
    aphi_event_loop_stop(&s->loop);
}

/* ---- rounds ------------------------------------------------------------------------------------------------------ */

/* A model may choose to wait for a request instead of sending. If no request comes, it may choose again. */
static void reconsider(aphi_server *s)
{
    aphi_simulated result = aphi_simulator_reconsider(&s->simulator);
    if (result == APHI_SIMULATED_FAULT)
        fail_by_model(s);
    if (result != APHI_SIMULATED_TAKEN)
        return;
    s->changes++;
    if (s->network)
        aphi_server_network_deliver(s);
    else
        aphi_server_tcp_deliver(s);
}

static void run_round(aphi_server *s)
{
    bool may_reconsider = !s->udp && aphi_simulator_may_reconsider(&s->simulator);
    int calls = aphi_event_loop_run_once(&s->loop, may_reconsider ? RECONSIDER_NS : -1);
    if (calls < 0 && errno != EINTR)
        aphi_server_fail(s, "cannot wait for events");
    if (calls == 0 && may_reconsider)
        reconsider(s);
    if (s->tcp && !s->failed)
        aphi_server_tcp_settle(s);
    if (s->network && !s->failed)
        aphi_server_network_settle(s);
    if (!s->failed && aphi_simulator_lost_call(&s->simulator))
        fail_by_model(s);
    if (!s->failed && aph_heap_bytes() > 2 * aph_heap_bytes_kept() + garbage_max)
        aph_collect();
}

aphi_served aphi_server_run(aphi_server *s, char *error, size_t error_size)
{
    if (aphi_simulator_begin(&s->simulator) == APHI_SIMULATED_FAULT)
        fail_by_model(s);
    else if (s->network)
        aphi_server_network_settle(s);
    if (!s->failed && aphi_simulator_lost_call(&s->simulator))
        fail_by_model(s);
    while (!s->failed && !s->loop.stopping)
        run_round(s);
    if (s->loop.stopping || !s->failed)
        return APHI_SERVED;
    snprintf(error, error_size, "%s", s->error);
    return s->outcome;
}
