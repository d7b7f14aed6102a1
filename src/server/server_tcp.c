/* SPDX-License-Identifier: Apache-2.0
 *
 * server_tcp.c - a server of connections: bytes come in pieces, and what goes out may have to wait.
 *
 * Idea:       of a stream's bytes, in: those not decoded yet; inbox: requests not taken yet, of which the first `due`
 *             have had their delay; out: answers, of which those up to `released` have had theirs.
 *
 *      read -> in -> decode -> inbox -> (delay) -> model -> out -> (delay) -> write
 *
 * Invariants: 1. a request is never due before the one that came before it, nor an answer before the one given before
 *             2. a stream whose client does not read is not read either, and its requests are not taken: what it holds
 *                is bounded, unless a model sends to it unasked; then it is closed
 *             3. a stream that has ended (its client said so, or sent what is no request) is closed when its requests
 *                were taken and its answers written, not before
 *             4. a number of a stream is never used again; its lowest bits are its slot, so that it is found at once. A
 *                number whose slot is taken is passed over
 * Calls:      where the model asks others, we open a stream: what comes on it is for the connection of the model's own
 *             that it stands for. Where calls are apart (model.h), a stream that has had its answer is used for another
 *             call. If it ends without an answer, the model receives false.
 * Cost:       constant for a message, but for the agenda, and for finding one of the streams that we opened. */
#include "server/server_internal.h"

#include "base/memory.h"
#include "codec/codec_internal.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    SLOTS_MAX = 65536,
    ACCEPTS_AT_ONCE = 256,
    READ_BYTES = 64 << 10,
    KEEP_BYTES = 16 << 10,  /* of a buffer that is empty */
    INBOX_MAX = 1024,       /* requests of a stream that wait */
    OUT_BUSY = 1 << 20,     /* bytes that wait to be written, before nothing more is taken */
    OUT_MAX = 64 << 20,     /* before it is closed */
    CALLS_FEW = 32,         /* streams of ours that are opened although another one could be used again */
};
static const int64_t linger_ns = 1000000000; /* for a client to see its last answers, when we close */

typedef enum due_kind { REQUEST, ANSWER, LINGERED } due_kind;

typedef struct stream {
    int fd;                  /* -1: it is gone */
    int64_t number;
    struct stream *next_spare;
    bool calls;              /* we opened it; then: */
    struct stream *next_call;
    int64_t own;             /* the model's connection that it stands for; 0: none now */
    aph_value asked;         /* on it; APH_NIL once it was answered */
    uint32_t interest;       /* what epoll was told */
    aphi_buffer in, out;
    size_t in_start, scanned;
    size_t out_start, released;
    aph_value inbox[INBOX_MAX]; /* a ring */
    size_t first, count, due;
    int64_t request_ns, answer_ns; /* when the latest of each is due */
    bool at_end;             /* the client sends no more */
    bool ended;              /* no more requests come: all that the client sent was decoded, or it sent what is none */
    bool shut;               /* nor answers: it waits for the client to close */
    bool blocked;            /* the system takes no more bytes now */
    bool dirty;              /* on the list of those to settle */
    uint64_t refused_at;     /* the model could not take its first request; 1 + changes then. 0: it was not refused */
} stream;

struct aphi_server_tcp {
    stream *slots[SLOTS_MAX];
    uint32_t top;            /* no slot from here on was ever used */
    size_t count;            /* of streams */
    int64_t number;          /* of the latest */
    stream *spare;
    stream *calls;           /* those that we opened */
    size_t call_count;
    uint32_t *dirty;         /* slots */
    size_t dirty_count, dirty_capacity;
    size_t refused;          /* streams whose first request the model could not take */
    bool told_refusal;
    bool full;               /* the listener is not watched: there are no more descriptors */
    char buffer[READ_BYTES];
};

static uint32_t slot_of(int64_t number)
{
    return (uint32_t)number & (SLOTS_MAX - 1);
}

static stream *stream_numbered(const aphi_server_tcp *t, int64_t number)
{
    stream *c = number > 0 ? t->slots[slot_of(number)] : NULL;
    return c && c->number == number ? c : NULL;
}

static uint64_t epoll_name(const stream *c)
{
    return APHI_ON_STREAM + (uint64_t)c->number;
}

static bool is_busy(const stream *c)
{
    return c->out.n - c->out_start > OUT_BUSY;
}

/* ---- opening and closing ----------------------------------------------------------------------------------------- */

aphi_server_tcp *aphi_server_tcp_open(aphi_server *s)
{
    (void)s;
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur < files.rlim_max) {
        files.rlim_cur = files.rlim_max;
        setrlimit(RLIMIT_NOFILE, &files);
    }
    return aphi_alloc_zero(sizeof(aphi_server_tcp));
}

static void watch_listener(aphi_server *s, bool on)
{
    s->streams->full = !on;
    struct epoll_event e = {.events = on ? EPOLLIN : 0, .data.u64 = APHI_ON_LISTENER};
    epoll_ctl(s->epoll, EPOLL_CTL_MOD, s->listener, &e);
}

/* What was c may still be looked at, until the next is admitted. */
static void drop(aphi_server *s, stream *c)
{
    aphi_server_tcp *t = s->streams;
    stream **link = &t->calls;
    while (c->calls && *link != c)
        link = &(*link)->next_call;
    if (c->calls) {
        *link = c->next_call;
        t->call_count--;
    }
    close(c->fd);
    c->fd = -1;
    t->refused -= c->refused_at != 0;
    aphi_buffer_free(&c->in);
    aphi_buffer_free(&c->out);
    t->slots[slot_of(c->number)] = NULL;
    t->count--;
    c->next_spare = t->spare;
    t->spare = c;
    if (t->full)
        watch_listener(s, true);
}

void aphi_server_tcp_close(aphi_server *s)
{
    aphi_server_tcp *t = s->streams;
    for (uint32_t i = 0; i < t->top; i++)
        if (t->slots[i])
            drop(s, t->slots[i]);
    while (t->spare) {
        stream *c = t->spare;
        t->spare = c->next_spare;
        free(c);
    }
    free(t->dirty);
    free(t);
}

void aphi_server_tcp_mark(aphi_server *s)
{
    aphi_server_tcp *t = s->streams;
    for (uint32_t i = 0; i < t->top; i++) {
        stream *c = t->slots[i];
        for (size_t k = 0; c && k < c->count; k++)
            aph_mark(c->inbox[(c->first + k) % INBOX_MAX]);
        if (c)
            aph_mark(c->asked);
    }
}

/* NULL if there are too many. */
static stream *fresh(aphi_server_tcp *t)
{
    if (t->count == SLOTS_MAX)
        return NULL;
    do
        t->number++;
    while (t->slots[slot_of(t->number)]);
    stream *c = t->spare;
    if (c) {
        t->spare = c->next_spare;
        memset(c, 0, sizeof *c);
    } else {
        c = aphi_alloc_zero(sizeof *c);
    }
    uint32_t slot = slot_of(t->number);
    if (slot >= t->top)
        t->top = slot + 1;
    c->number = t->number;
    t->count++;
    return t->slots[slot] = c;
}

/* NULL: it was closed. */
static stream *admit(aphi_server *s, int fd)
{
    stream *c = fresh(s->streams);
    if (!c) {
        close(fd);
        aphi_server_complain(s, "there are %d connections already: one more was closed", SLOTS_MAX);
        return NULL;
    }
    c->fd = fd;
    c->interest = EPOLLIN;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int)); /* we put messages together ourselves */
    struct epoll_event e = {.events = EPOLLIN, .data.u64 = epoll_name(c)};
    if (epoll_ctl(s->epoll, EPOLL_CTL_ADD, fd, &e)) {
        aphi_server_complain(s, "a connection cannot be watched: %s", strerror(errno));
        drop(s, c);
        return NULL;
    }
    return c;
}

void aphi_server_tcp_accept(aphi_server *s)
{
    for (int i = 0; i < ACCEPTS_AT_ONCE; i++) {
        int fd = accept4(s->listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd >= 0) {
            s->stats.connections += admit(s, fd) != NULL;
        } else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
            aphi_server_complain(s, "no more connections for now: %s", strerror(errno));
            watch_listener(s, false);
            return;
        } else if (errno != ECONNABORTED && errno != EINTR) {
            return;
        }
    }
}

/* ---- what is to be settled --------------------------------------------------------------------------------------- */

static void soil(aphi_server *s, stream *c)
{
    aphi_server_tcp *t = s->streams;
    if (c->dirty)
        return;
    c->dirty = true;
    APHI_RESERVE(t->dirty, t->dirty_capacity, t->dirty_count + 1);
    t->dirty[t->dirty_count++] = slot_of(c->number);
}

static void tell_epoll(aphi_server *s, stream *c)
{
    bool reads = c->shut || (!c->at_end && !c->ended && c->count < INBOX_MAX && !is_busy(c));
    uint32_t interest = (reads ? EPOLLIN : 0u) | (c->blocked ? EPOLLOUT : 0u);
    if (interest == c->interest)
        return;
    c->interest = interest;
    struct epoll_event e = {.events = interest, .data.u64 = epoll_name(c)};
    epoll_ctl(s->epoll, EPOLL_CTL_MOD, c->fd, &e);
}

/* No more requests of this stream: those that came before count. */
static void end(aphi_server *s, stream *c)
{
    c->ended = true;
    aphi_buffer_free(&c->in);
    c->in_start = c->scanned = 0;
    soil(s, c);
}

/* ---- calls ------------------------------------------------------------------------------------------------------- */

/* The stream for a call of the model's: that of its connection, if it has one; or one that is free; or a new one. */
static stream *find_call(aphi_server *s, int64_t own)
{
    aphi_server_tcp *t = s->streams;
    stream *idle = NULL;
    for (stream *c = t->calls; c; c = c->next_call) {
        if (c->own == own)
            return c;
        if (!c->own && !c->at_end && !c->ended)
            idle = c;
    }
    return t->call_count < CALLS_FEW && aphi_choice_chance(&s->choice, 1, 4) ? NULL : idle;
}

static stream *open_call(aphi_server *s)
{
    aphi_server_tcp *t = s->streams;
    int fd = socket(s->called.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0) {
        aphi_server_fail(s, "no socket to ask others");
        return NULL;
    }
    stream *c = admit(s, fd);
    if (!c)
        return NULL;
    c->calls = true;
    c->next_call = t->calls;
    t->calls = c;
    t->call_count++;
    if (connect(fd, (const struct sockaddr *)&s->called, s->called_size) && errno != EINPROGRESS)
        c->at_end = true; /* nobody is there: as if it had hung up */
    c->blocked = !c->at_end;
    soil(s, c);
    return c;
}

static stream *stream_to_ask(aphi_server *s, int64_t own)
{
    stream *c = find_call(s, own);
    if (!c)
        c = open_call(s);
    if (c)
        c->own = own;
    return c;
}

/* ---- answers ----------------------------------------------------------------------------------------------------- */

static void deliver(aphi_server *s, const aphi_simulated_sent *sent)
{
    stream *c = sent->to < 0 ? stream_to_ask(s, sent->to) : stream_numbered(s->streams, sent->to);
    if (c && c->calls)
        c->asked = sent->message;
    if (!c || c->shut)
        return; /* it is gone: what is sent to it is lost */
    if (c->out.n - c->out_start + sent->n > OUT_MAX) {
        aphi_server_complain(s, "connection %lld: it does not read what it is sent; closed", (long long)c->number);
        drop(s, c);
        return;
    }
    aphi_buffer_add(&c->out, s->actor.bytes.data + sent->at, sent->n);
    s->stats.answers++;
    if (!s->options.delay_ns) {
        c->released = c->out.n;
        soil(s, c);
        return;
    }
    int64_t when = aphi_server_later(s);
    c->answer_ns = when > c->answer_ns ? when : c->answer_ns;
    aphi_timer_heap_add(&s->agenda,
                        (aphi_timer){.ns = c->answer_ns, .kind = ANSWER, .owner = c->number, .detail = sent->n});
}

/* What may go out goes out, as far as the system takes it. False: the stream is gone. */
static bool flush(aphi_server *s, stream *c)
{
    while (c->out_start < c->released && !c->blocked) {
        ssize_t n = send(c->fd, c->out.data + c->out_start, c->released - c->out_start, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (n >= 0) {
            c->out_start += (size_t)n;
        } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
            c->blocked = true;
        } else if (errno == EINTR) {
            continue;
        } else if (c->calls) {
            c->out.n = c->released = c->out_start; /* that it is no more shows when it is read */
        } else {
            drop(s, c);
            return false;
        }
    }
    if (c->out_start && (c->out_start == c->out.n || c->out_start > OUT_BUSY)) {
        memmove(c->out.data, c->out.data + c->out_start, c->out.n - c->out_start);
        c->out.n -= c->out_start;
        c->released -= c->out_start;
        c->out_start = 0;
        if (!c->out.n && c->out.capacity > KEEP_BYTES)
            aphi_buffer_free(&c->out);
    }
    return true;
}

/* ---- requests ---------------------------------------------------------------------------------------------------- */

static void arrived(aphi_server *s, stream *c, aph_value message)
{
    c->inbox[(c->first + c->count++) % INBOX_MAX] = message;
    if (!s->options.delay_ns) {
        c->due++;
        return;
    }
    int64_t when = aphi_server_later(s);
    c->request_ns = when > c->request_ns ? when : c->request_ns;
    aphi_timer_heap_add(&s->agenda, (aphi_timer){.ns = c->request_ns, .kind = REQUEST, .owner = c->number});
}

/* Decodes what is there, as far as there is room for requests. */
static void decode(aphi_server *s, stream *c)
{
    aph_wire w = {.side = c->calls ? APH_FROM_SERVER : APH_TO_SERVER, .ended = c->at_end, .scanned = c->scanned,
                  .asked = c->asked, .here = *s->here ? s->here : NULL};
    aph_decoded result = APH_DECODED;
    while (result == APH_DECODED && c->count < INBOX_MAX) {
        w.count = c->in.n - c->in_start;
        w.bytes = w.count ? (const unsigned char *)c->in.data + c->in_start : NULL;
        result = aph_decode(s->model->codec, &w);
        if (result == APH_DECODED) {
            c->in_start += w.used;
            arrived(s, c, w.message);
        }
    }
    c->scanned = w.scanned;
    if (c->asked && !c->count && (result == APH_MALFORMED || c->at_end))
        arrived(s, c, aph_bool(false));
    if (result == APH_MALFORMED) {
        aphi_server_malformed(s, c->number, &w);
        end(s, c);
    } else if (result == APH_MORE && c->at_end) {
        end(s, c);
    } else if (c->in_start == c->in.n) {
        c->in.n = c->in_start = 0;
        if (c->in.capacity > KEEP_BYTES)
            aphi_buffer_free(&c->in);
    }
}

static void remove_first(aphi_server *s, stream *c)
{
    c->first = (c->first + 1) % INBOX_MAX;
    c->count--;
    c->due--;
    s->streams->refused -= c->refused_at != 0;
    c->refused_at = 0;
}

static void refuse(aphi_server *s, stream *c)
{
    s->streams->refused += !c->refused_at;
    if (!s->streams->told_refusal)
        aphi_server_complain(s, "connection %lld: nothing that the model may choose leads on from its request, which "
                                "waits until the state has changed; this is not told again", (long long)c->number);
    s->streams->told_refusal = true;
    c->refused_at = s->changes + 1;
}

static bool can_take(const aphi_server *s, const stream *c)
{
    return c->due && !is_busy(c) && c->refused_at != s->changes + 1;
}

void aphi_server_tcp_deliver(aphi_server *s)
{
    for (size_t i = 0; i < s->actor.sent_count; i++)
        deliver(s, &s->actor.sent[i]);
}

/* Lets the model take the requests that are due. False: the stream is gone, or the server ends. */
static bool take(aphi_server *s, stream *c)
{
    while (can_take(s, c)) {
        int64_t from = c->calls ? c->own : c->number;
        switch (aphi_server_take(s, from, c->inbox[c->first])) {
        case APHI_SIMULATED_TAKEN:
            remove_first(s, c);
            c->own = s->model->calls_apart ? 0 : c->own;
            c->asked = APH_NIL;
            break;
        case APHI_SIMULATED_NOT_NOW: refuse(s, c); return true;
        case APHI_SIMULATED_UNKNOWN:
            remove_first(s, c);
            c->count = c->due = 0;
            end(s, c);
            return true;
        case APHI_SIMULATED_FAULT: return false;
        }
        aphi_server_tcp_deliver(s);
        if (c->fd < 0)
            return false;
    }
    return true;
}

/* Decodes and takes until there is nothing more to decode, or no room. */
static bool work(aphi_server *s, stream *c)
{
    for (;;) {
        size_t before = c->in_start;
        if (!c->ended && (c->at_end || c->in.n > c->in_start))
            decode(s, c);
        if (!take(s, c))
            return false;
        if (c->ended || c->count == INBOX_MAX || c->in.n == c->in_start || c->in_start == before)
            return true;
    }
}

/* ---- events ------------------------------------------------------------------------------------------------------ */

static void hang_up(aphi_server *s, stream *c)
{
    shutdown(c->fd, SHUT_WR);
    c->shut = true;
    aphi_timer_heap_add(&s->agenda, (aphi_timer){.ns = s->now + linger_ns, .kind = LINGERED, .owner = c->number});
}

/* It is no more. On one of ours, the model is told so. */
static void break_off(aphi_server *s, stream *c)
{
    if (!c->calls) {
        drop(s, c);
        return;
    }
    epoll_ctl(s->epoll, EPOLL_CTL_DEL, c->fd, NULL);
    c->at_end = true;
    c->out_start = c->released = c->out.n = 0;
    soil(s, c);
}

static void on_readable(aphi_server *s, stream *c)
{
    aphi_server_tcp *t = s->streams;
    ssize_t n = recv(c->fd, t->buffer, sizeof t->buffer, MSG_DONTWAIT);
    if (n < 0) {
        if (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR)
            break_off(s, c);
    } else if (c->shut) {
        if (n == 0)
            drop(s, c);
    } else if (n == 0) {
        c->at_end = true;
        soil(s, c);
    } else {
        if (c->in_start) {
            memmove(c->in.data, c->in.data + c->in_start, c->in.n - c->in_start);
            c->in.n -= c->in_start;
            c->in_start = 0;
        }
        aphi_buffer_add(&c->in, t->buffer, (size_t)n);
        soil(s, c);
    }
}

void aphi_server_tcp_ready(aphi_server *s, uint64_t which, uint32_t events)
{
    stream *c = stream_numbered(s->streams, (int64_t)(which - APHI_ON_STREAM));
    if (!c)
        return;
    if (events & EPOLLERR) {
        break_off(s, c);
        return;
    }
    if (events & EPOLLOUT) {
        c->blocked = false;
        soil(s, c);
    }
    if (events & (EPOLLIN | EPOLLHUP))
        on_readable(s, c);
}

void aphi_server_tcp_due(aphi_server *s, const aphi_timer *due)
{
    stream *c = stream_numbered(s->streams, due->owner);
    if (!c)
        return;
    switch ((due_kind)due->kind) {
    case REQUEST:
        if (c->due < c->count) /* or it was thrown away with one before it */
            c->due++;
        take(s, c);
        break;
    case ANSWER: /* what was to go out may be gone, if the stream was broken off */
        c->released = c->released + due->detail < c->out.n ? c->released + due->detail : c->out.n;
        break;
    case LINGERED: drop(s, c); return;
    }
    if (!s->failed && c->fd >= 0)
        soil(s, c);
}

static void settle(aphi_server *s, stream *c)
{
    do {
        if (!work(s, c) || !flush(s, c))
            return;
    } while (can_take(s, c));
    if (c->ended && !c->shut && !c->count && !c->out.n) {
        if (c->calls || recv(c->fd, s->streams->buffer, 1, MSG_DONTWAIT | MSG_PEEK) == 0) {
            drop(s, c); /* the client has ended too */
            return;
        }
        hang_up(s, c);
    }
    tell_epoll(s, c);
}

/* What the model could not take, it may take now that the state has changed. */
static void try_refused(aphi_server *s)
{
    aphi_server_tcp *t = s->streams;
    for (uint32_t i = 0; t->refused && i < t->top; i++)
        if (t->slots[i] && t->slots[i]->refused_at && t->slots[i]->refused_at != s->changes + 1)
            soil(s, t->slots[i]);
}

void aphi_server_tcp_settle(aphi_server *s)
{
    aphi_server_tcp *t = s->streams;
    do {
        /* Settling one may soil another, to which the model sends. */
        while (t->dirty_count && !s->failed) {
            stream *c = t->slots[t->dirty[--t->dirty_count]];
            if (!c)
                continue; /* gone since */
            settle(s, c);
            c->dirty = false;
        }
        try_refused(s);
    } while (t->dirty_count && !s->failed);
}
