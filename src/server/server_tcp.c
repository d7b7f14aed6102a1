/* SPDX-License-Identifier: Apache-2.0
 *
 * server_tcp.c - a TCP server: byte streams, delays, and flow control.
 *
 * Idea:       A stream has three queues: `in` holds bytes to be decoded; `inbox` holds decoded requests, the first
 *             `due` of which have waited out their delay; `out` holds responses, of which the first `released` bytes
 *             may be written.
 *
 *      read -> in -> decode -> inbox -> (delay) -> model -> out -> (delay) -> write
 *
 * Invariants: 1. requests of a stream become due in arrival order, and responses in sending order
 *             2. if a client does not read, its stream is not read, and its requests are not taken. This bounds the
 *                memory of a stream. If the model sends without a request, the stream is closed at OUT_MAX
 *             3. after the client's half-close or a malformed request, a stream is closed once its requests are taken
 *                and its responses are written
 *             4. stream numbers are never reused. The lowest bits of a number are the slot; numbers whose slot is in
 *                use are skipped
 * Connections: If the model receives the openings and ends of connections, they are requests in the inbox. Such a model
 *             closes its streams itself. A reset overtakes some of the requests that were not taken.
 * Upstream:   If the model calls other servers, the server opens streams to them. Each such stream represents a
 *             connection that the model opened. If calls are independent (calls_apart in model.h), a stream is reused
 *             after its response. If a stream ends without a response, the model receives false.
 * Cost:       constant per message, apart from the timer heap and the search among upstream streams. */
#include "server/server_internal.h"

#include "base/memory.h"
#include "subject/ports.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    SLOTS_MAX = 65536,
    ACCEPTS_AT_ONCE = 256,
    READ_BYTES = 64 << 10,
    KEEP_BYTES = 16 << 10,  /* capacity that an empty buffer keeps */
    INBOX_MAX = 1024,       /* untaken requests of a stream */
    OUT_BUSY = 1 << 20,     /* unwritten bytes at which no more requests are taken */
    OUT_MAX = 64 << 20,     /* unwritten bytes at which the stream is closed */
    UPSTREAM_FEW = 32,      /* below this number, a new upstream stream is sometimes opened although one is idle */
};
static const int64_t linger_ns = 1000000000; /* time for a client to read its last responses before the close */

typedef enum timer_kind { REQUEST, RESPONSE, LINGERED } timer_kind;

typedef struct stream {
    aphi_watch watch;        /* fd -1: closed */
    int64_t number;
    struct stream *next_spare;
    bool upstream;           /* opened by the server; the next four fields apply */
    int64_t origin;          /* the server to which it leads */
    struct stream *next_upstream;
    int64_t own;             /* the model's connection that uses the stream; 0: none now */
    aph_value asked;         /* the request sent on the stream; APH_NIL after the response */
    bool broken;             /* the stream was reset and is no longer watched */
    aphi_buffer in, out;
    size_t in_start, scanned;
    size_t out_start, released;
    aph_value inbox[INBOX_MAX]; /* a ring */
    size_t first, count, due;
    int64_t request_ns, response_ns; /* when the latest request and response are due */
    bool is_open;            /* the model has taken its opening */
    bool closing;            /* the model has closed it */
    bool at_end;             /* the client has half-closed */
    bool ended;              /* no more requests: all bytes are decoded, or a request was malformed */
    bool shut;               /* no more responses either: waits for the client to close */
    bool blocked;            /* the socket accepts no more bytes now */
    bool dirty;              /* listed for settling */
    uint64_t refused_at;     /* if the model could not take the first request: 1 + `changes` at that time; else 0 */
} stream;

struct aphi_server_tcp {
    stream *slots[SLOTS_MAX];
    uint32_t top;            /* slots from this one on were never used */
    size_t count;            /* of streams */
    int64_t number;          /* of the latest stream */
    stream *spare;
    stream *upstreams;
    size_t upstream_count;
    uint32_t *dirty;         /* slots */
    size_t dirty_count, dirty_capacity;
    size_t refused;          /* streams whose first request the model could not take */
    bool warned_of_refusal;
    char buffer[READ_BYTES];
};

static void stream_ready(void *server, void *data, uint32_t events);
static void add_request(aphi_server *s, stream *c, aph_value message);
static void mark_dirty(aphi_server *s, stream *c);

static uint32_t slot_of(int64_t number)
{
    return (uint32_t)number & (SLOTS_MAX - 1);
}

static stream *stream_numbered(const aphi_server_tcp *t, int64_t number)
{
    stream *c = number > 0 ? t->slots[slot_of(number)] : NULL;
    return c && c->number == number ? c : NULL;
}

static bool is_busy(const stream *c)
{
    return c->out.n - c->out_start > OUT_BUSY;
}

/* ---- opening and closing ----------------------------------------------------------------------------------------- */

aphi_server_tcp *aphi_server_tcp_open(void)
{
    aphi_port_raise_limit(SIZE_MAX);
    return aphi_alloc_zero(sizeof(aphi_server_tcp));
}

static void unlink_upstream(aphi_server_tcp *t, stream *c)
{
    stream **link = &t->upstreams;
    while (*link != c)
        link = &(*link)->next_upstream;
    *link = c->next_upstream;
    t->upstream_count--;
}

/* Closes the stream. Its memory stays valid until the next stream is added. */
static void drop_stream(aphi_server *s, stream *c)
{
    aphi_server_tcp *t = s->tcp;
    c->count = c->due = 0;
    if (c->upstream)
        unlink_upstream(t, c);
    aphi_event_loop_close_watch(&s->loop, &c->watch);
    t->refused -= c->refused_at != 0;
    aphi_buffer_free(&c->in);
    aphi_buffer_free(&c->out);
    t->slots[slot_of(c->number)] = NULL;
    t->count--;
    c->next_spare = t->spare;
    t->spare = c;
    aphi_event_loop_watch(&s->loop, &s->listener, EPOLLIN); /* a descriptor is free again */
}

void aphi_server_tcp_close(aphi_server *s)
{
    aphi_server_tcp *t = s->tcp;
    for (uint32_t i = 0; i < t->top; i++)
        if (t->slots[i])
            drop_stream(s, t->slots[i]);
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
    aphi_server_tcp *t = s->tcp;
    for (uint32_t i = 0; i < t->top; i++) {
        stream *c = t->slots[i];
        for (size_t k = 0; c && k < c->count; k++)
            aph_mark(c->inbox[(c->first + k) % INBOX_MAX]);
        if (c)
            aph_mark(c->asked);
    }
}

/* Returns NULL if there are too many streams. */
static stream *allocate_stream(aphi_server_tcp *t)
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

/* Adds a stream for the socket. On failure, prints a warning, closes the socket and returns NULL. */
static stream *add_stream(aphi_server *s, int fd)
{
    stream *c = allocate_stream(s->tcp);
    if (!c) {
        close(fd);
        aphi_server_warn(s, "more than %d connections; one was closed", SLOTS_MAX);
        return NULL;
    }
    c->watch = (aphi_watch){.fd = fd, .ready = stream_ready, .data = c};
    if (!aphi_event_loop_watch(&s->loop, &c->watch, EPOLLIN)) {
        aphi_server_warn(s, "cannot watch a connection: %s", strerror(errno));
        drop_stream(s, c);
        return NULL;
    }
    return c;
}

void aphi_server_tcp_accept(void *server, void *data, uint32_t events)
{
    (void)data, (void)events;
    aphi_server *s = server;
    for (int i = 0; i < ACCEPTS_AT_ONCE && !s->failed; i++) {
        int fd = aphi_port_accept(s->listener.fd);
        if (fd < 0 && aphi_port_is_exhausted(errno)) {
            aphi_server_warn(s, "cannot accept more connections now: %s", strerror(errno));
            aphi_event_loop_watch(&s->loop, &s->listener, 0);
        }
        if (fd < 0)
            return;
        stream *c = add_stream(s, fd);
        s->stats.connections += c != NULL;
        if (c && s->model->connections) {
            add_request(s, c, APH_OPENED);
            mark_dirty(s, c);
        }
    }
}

/* ---- streams to be settled --------------------------------------------------------------------------------------- */

static void mark_dirty(aphi_server *s, stream *c)
{
    aphi_server_tcp *t = s->tcp;
    if (c->dirty)
        return;
    c->dirty = true;
    APHI_PUSH(t->dirty, t->dirty_count, t->dirty_capacity, slot_of(c->number));
}

static void update_interest(aphi_server *s, stream *c)
{
    bool reads = c->shut || (!c->at_end && !c->ended && c->count < INBOX_MAX && !is_busy(c));
    if (!c->broken)
        aphi_event_loop_watch(&s->loop, &c->watch, (reads ? EPOLLIN : 0u) | (c->blocked ? EPOLLOUT : 0u));
}

/* Accepts no more requests on this stream; the model still takes the requests in the inbox. */
static void end_requests(aphi_server *s, stream *c)
{
    c->ended = true;
    aphi_buffer_free(&c->in);
    c->in_start = c->scanned = 0;
    mark_dirty(s, c);
}

/* ---- upstream ---------------------------------------------------------------------------------------------------- */

/* Returns the stream of the model's connection, or an idle stream, or NULL if a stream must be opened. */
static stream *find_upstream(aphi_server *s, int64_t own)
{
    aphi_server_tcp *t = s->tcp;
    stream *idle = NULL;
    for (stream *c = t->upstreams; c; c = c->next_upstream) {
        if (c->own == own)
            return c;
        if (!c->own && !c->at_end && !c->ended && c->origin == aph_origin_of(own))
            idle = c;
    }
    return t->upstream_count < UPSTREAM_FEW && aphi_choice_chance(&s->choice, 1, 4) ? NULL : idle;
}

static stream *open_upstream(aphi_server *s, int64_t origin)
{
    aphi_server_tcp *t = s->tcp;
    const aphi_server_origin *o = &s->origins[origin];
    if (origin >= s->options.call_count) {
        aphi_server_warn(s, "a message to origin %lld was dropped, because --calls gives no address for it",
                         (long long)origin);
        return NULL;
    }
    int fd = socket(o->at.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0) {
        aphi_server_fail(s, "cannot create a socket for an upstream connection");
        return NULL;
    }
    bool connecting;
    stream *c = add_stream(s, fd);
    if (!c)
        return NULL;
    c->upstream = true;
    c->origin = origin;
    c->next_upstream = t->upstreams;
    t->upstreams = c;
    t->upstream_count++;
    if (!aphi_port_connect(fd, (const struct sockaddr *)&o->at, o->size, &connecting))
        c->at_end = true; /* treated as a connection that was closed at once */
    c->blocked = !c->at_end;
    mark_dirty(s, c);
    return c;
}

static stream *upstream_for(aphi_server *s, int64_t own)
{
    stream *c = find_upstream(s, own);
    if (!c)
        c = open_upstream(s, aph_origin_of(own));
    if (c)
        c->own = own;
    return c;
}

/* ---- responses --------------------------------------------------------------------------------------------------- */

static void discard_requests(aphi_server *s, stream *c)
{
    c->count = c->due = 0;
    s->tcp->refused -= c->refused_at != 0;
    c->refused_at = 0;
}

/* The model is to receive the break of the stream, unless it has received another end. Requests that were not taken may
 * be lost. */
static void add_break(aphi_server *s, stream *c)
{
    bool had_end = c->ended, loses = aphi_choice_chance(&s->choice, 1, 2) || c->count == INBOX_MAX;
    end_requests(s, c);
    if ((loses && !c->is_open) || (had_end && !c->count)) {
        drop_stream(s, c);
        return;
    }
    if (loses)
        discard_requests(s, c);
    if (had_end && c->count) /* the last one is the other end */
        c->inbox[(c->first + c->count - 1) % INBOX_MAX] = APH_BROKEN;
    else
        add_request(s, c, APH_BROKEN);
}

/* Handles a reset stream. If it is an upstream stream, or the model has connections, the model is informed. Returns
 * false if the stream was closed. */
static bool end_reset_stream(aphi_server *s, stream *c)
{
    bool informs = s->model->connections && !c->closing && !c->shut;
    if (!c->upstream && !informs) {
        drop_stream(s, c);
        return false;
    }
    aphi_event_loop_unwatch(&s->loop, &c->watch);
    c->at_end = c->broken = true;
    c->out_start = c->released = c->out.n = 0;
    mark_dirty(s, c);
    if (!c->upstream)
        add_break(s, c);
    return c->watch.fd >= 0;
}

/* The model has closed the stream: it receives nothing more from it. */
static void close_by_model(aphi_server *s, stream *c)
{
    c->closing = true;
    discard_requests(s, c);
    end_requests(s, c);
}

static void queue_response(aphi_server *s, const aphi_simulated_sent *sent)
{
    stream *c = sent->to < 0 ? upstream_for(s, sent->to) : stream_numbered(s->tcp, sent->to);
    if (c && c->upstream)
        c->asked = sent->message;
    if (!c || c->shut || c->closing || (c->broken && !c->upstream))
        return; /* closed: messages to it are lost */
    if (sent->message == APH_CLOSED) {
        close_by_model(s, c);
        return;
    }
    if (c->out.n - c->out_start + sent->n > OUT_MAX) {
        aphi_server_warn(s, "connection %lld: closed: the client does not read its responses", (long long)c->number);
        end_reset_stream(s, c);
        return;
    }
    aphi_buffer_add(&c->out, s->simulator.bytes.data + sent->at, sent->n);
    s->stats.answers++;
    if (!s->options.delay_ns) {
        c->released = c->out.n;
        mark_dirty(s, c);
        return;
    }
    int64_t when = aphi_server_delayed_ns(s);
    c->response_ns = when > c->response_ns ? when : c->response_ns;
    aphi_timer_heap_add(&s->loop.timers,
                        (aphi_timer){.ns = c->response_ns, .kind = RESPONSE, .owner = c->number, .detail = sent->n});
}

/* Writes the released bytes, as far as the socket accepts them. Returns false if the stream was closed. */
static bool flush(aphi_server *s, stream *c)
{
    while (c->out_start < c->released && !c->blocked) {
        ssize_t n = send(c->watch.fd, c->out.data + c->out_start, c->released - c->out_start,
                         MSG_DONTWAIT | MSG_NOSIGNAL);
        if (n >= 0) {
            c->out_start += (size_t)n;
        } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
            c->blocked = true;
        } else if (errno == EINTR) {
            continue;
        } else if (c->upstream) {
            c->out.n = c->released = c->out_start; /* the next read reports its end */
        } else {
            return end_reset_stream(s, c);
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

static void add_request(aphi_server *s, stream *c, aph_value message)
{
    c->inbox[(c->first + c->count++) % INBOX_MAX] = message;
    if (!s->options.delay_ns) {
        c->due++;
        return;
    }
    int64_t when = aphi_server_delayed_ns(s);
    c->request_ns = when > c->request_ns ? when : c->request_ns;
    aphi_timer_heap_add(&s->loop.timers, (aphi_timer){.ns = c->request_ns, .kind = REQUEST, .owner = c->number});
}

/* Decodes requests until the inbox is full. */
static void decode_requests(aphi_server *s, stream *c)
{
    aph_wire w = {.side = c->upstream ? APH_FROM_SERVER : APH_TO_SERVER, .ended = c->at_end, .scanned = c->scanned,
                  .asked = c->asked, .here = s->origin_texts[0], .origins = aphi_server_origins(s),
                  .origin = c->origin};
    aph_decoded result = APH_DECODED;
    while (result == APH_DECODED && c->count < INBOX_MAX) {
        w.count = c->in.n - c->in_start;
        w.bytes = w.count ? (const unsigned char *)c->in.data + c->in_start : NULL;
        result = aph_decode(s->model->codec, &w);
        if (result == APH_DECODED) {
            c->in_start += w.used;
            add_request(s, c, w.message);
        }
    }
    c->scanned = w.scanned;
    if (c->asked && !c->count && (result == APH_MALFORMED || c->at_end))
        add_request(s, c, aph_bool(false));
    bool signals = s->model->connections && !c->upstream;
    if (result == APH_MALFORMED) {
        aphi_server_warn_malformed(s, c->number, &w);
        end_requests(s, c);
        if (signals)
            add_request(s, c, c->at_end ? APH_CLOSED : APH_BROKEN);
    } else if (result == APH_MORE && c->at_end) {
        end_requests(s, c);
        if (signals)
            add_request(s, c, APH_CLOSED);
    } else if (c->in_start == c->in.n) {
        c->in.n = c->in_start = 0;
        if (c->in.capacity > KEEP_BYTES)
            aphi_buffer_free(&c->in);
    }
}

static void remove_first_request(aphi_server *s, stream *c)
{
    c->first = (c->first + 1) % INBOX_MAX;
    c->count--;
    c->due--;
    s->tcp->refused -= c->refused_at != 0;
    c->refused_at = 0;
}

static void note_refusal(aphi_server *s, stream *c)
{
    s->tcp->refused += !c->refused_at;
    if (!s->tcp->warned_of_refusal)
        aphi_server_warn(s, "connection %lld: no choice of the model takes its request, which waits until the state "
                            "changes (printed once)", (long long)c->number);
    s->tcp->warned_of_refusal = true;
    c->refused_at = s->changes + 1;
}

static bool can_take(const aphi_server *s, const stream *c)
{
    return c->due && !is_busy(c) && c->refused_at != s->changes + 1;
}

void aphi_server_tcp_deliver(aphi_server *s)
{
    for (size_t i = 0; i < s->simulator.sent_count; i++)
        queue_response(s, &s->simulator.sent[i]);
}

static void finish_request(aphi_server *s, stream *c)
{
    c->is_open |= c->inbox[c->first] == APH_OPENED;
    remove_first_request(s, c);
    c->own = s->model->calls_apart ? 0 : c->own;
    c->asked = APH_NIL;
}

/* Lets the model take the requests that are due. Returns false if the stream was closed or the server ends. */
static bool take_requests(aphi_server *s, stream *c)
{
    while (can_take(s, c)) {
        int64_t from = c->upstream ? c->own : c->number;
        bool breaks = c->inbox[c->first] == APH_BROKEN;
        switch (aphi_server_take(s, from, c->inbox[c->first])) {
        case APHI_SIMULATED_TAKEN: finish_request(s, c); break;
        case APHI_SIMULATED_NOT_NOW: note_refusal(s, c); return true;
        case APHI_SIMULATED_UNKNOWN:
            discard_requests(s, c);
            end_requests(s, c);
            if (s->model->connections)
                add_request(s, c, APH_BROKEN);
            return true;
        case APHI_SIMULATED_FAULT: return false;
        }
        aphi_server_tcp_deliver(s);
        if (breaks && c->watch.fd >= 0)
            drop_stream(s, c);
        if (c->watch.fd < 0)
            return false;
    }
    return true;
}

/* Decodes and takes requests until no complete one is left, or the inbox is full. Returns as take_requests does. */
static bool process_requests(aphi_server *s, stream *c)
{
    for (;;) {
        size_t before = c->in_start;
        if (!c->ended && (c->at_end || c->in.n > c->in_start))
            decode_requests(s, c);
        if (!take_requests(s, c))
            return false;
        if (c->ended || c->count == INBOX_MAX || c->in.n == c->in_start || c->in_start == before)
            return true;
    }
}

/* ---- events ------------------------------------------------------------------------------------------------------ */

static void half_close(aphi_server *s, stream *c)
{
    shutdown(c->watch.fd, SHUT_WR);
    c->shut = true;
    aphi_timer_heap_add(&s->loop.timers,
                        (aphi_timer){.ns = s->loop.now_ns + linger_ns, .kind = LINGERED, .owner = c->number});
}

static void read_stream(aphi_server *s, stream *c)
{
    aphi_server_tcp *t = s->tcp;
    ssize_t n = recv(c->watch.fd, t->buffer, sizeof t->buffer, MSG_DONTWAIT);
    if (n < 0) {
        if (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR)
            end_reset_stream(s, c);
    } else if (c->shut) {
        if (n == 0)
            drop_stream(s, c);
    } else if (n == 0) {
        c->at_end = true;
        mark_dirty(s, c);
    } else {
        if (c->in_start) {
            memmove(c->in.data, c->in.data + c->in_start, c->in.n - c->in_start);
            c->in.n -= c->in_start;
            c->in_start = 0;
        }
        aphi_buffer_add(&c->in, t->buffer, (size_t)n);
        mark_dirty(s, c);
    }
}

static void stream_ready(void *server, void *data, uint32_t events)
{
    aphi_server *s = server;
    stream *c = data;
    if (s->failed)
        return;
    if (events & EPOLLERR) {
        end_reset_stream(s, c);
        return;
    }
    if (events & EPOLLOUT) {
        c->blocked = false;
        mark_dirty(s, c);
    }
    if (events & (EPOLLIN | EPOLLHUP))
        read_stream(s, c);
}

void aphi_server_tcp_timer(void *server, const aphi_timer *due)
{
    aphi_server *s = server;
    stream *c = stream_numbered(s->tcp, due->owner);
    if (!c || s->failed)
        return;
    switch ((timer_kind)due->kind) {
    case REQUEST:
        if (c->due < c->count) /* otherwise the request was discarded after an unknown one */
            c->due++;
        take_requests(s, c);
        break;
    case RESPONSE: /* `out` is shorter if the stream was reset */
        c->released = c->released + due->detail < c->out.n ? c->released + due->detail : c->out.n;
        break;
    case LINGERED: drop_stream(s, c); return;
    }
    if (!s->failed && c->watch.fd >= 0)
        mark_dirty(s, c);
}

static void settle_stream(aphi_server *s, stream *c)
{
    do {
        if (!process_requests(s, c) || !flush(s, c))
            return;
    } while (can_take(s, c));
    bool is_over = c->closing || (c->ended && (c->upstream || !s->model->connections));
    if (is_over && !c->shut && !c->count && !c->out.n) {
        if (c->upstream || recv(c->watch.fd, s->tcp->buffer, 1, MSG_DONTWAIT | MSG_PEEK) == 0) {
            drop_stream(s, c); /* both sides have ended */
            return;
        }
        half_close(s, c);
    }
    update_interest(s, c);
}

/* The model may take a refused request now that its state has changed. */
static void retry_refused(aphi_server *s)
{
    aphi_server_tcp *t = s->tcp;
    for (uint32_t i = 0; t->refused && i < t->top; i++)
        if (t->slots[i] && t->slots[i]->refused_at && t->slots[i]->refused_at != s->changes + 1)
            mark_dirty(s, t->slots[i]);
}

void aphi_server_tcp_settle(aphi_server *s)
{
    aphi_server_tcp *t = s->tcp;
    do {
        /* Settling a stream makes others dirty if the model sends to them. */
        while (t->dirty_count && !s->failed) {
            stream *c = t->slots[t->dirty[--t->dirty_count]];
            if (!c)
                continue; /* closed since */
            settle_stream(s, c);
            c->dirty = false;
        }
        retry_refused(s);
    } while (t->dirty_count && !s->failed);
}
