/* SPDX-License-Identifier: Apache-2.0
 *
 * fault_proxy.c - a proxy that injects one kind of fault into the traffic between clients and a target.
 *
 * Idea:       Each client connection is a channel with its own connection to the target. Bytes are read into `in` of
 *             one side, cut into pieces (http_framing.c), and appended to `out` of the other side, changed or unchanged
 *             (fault_kinds.c).
 *
 *      client.in -> requests -> target.out        target.in -> responses -> client.out
 *                       |                                          ^
 *                       +-------- pending requests, in order ------+
 *
 * A pending request determines how its response is framed (HEAD). If the request was not forwarded, the proxy itself
 * responds when the request is first in the list.
 * Invariants: 1. the memory of a channel is bounded: a side is not read while its `in`, the other's `out`, or the list
 *                of pending requests is full
 *             2. half-closes and resets are forwarded after all preceding bytes
 *             3. events are hints: the result of a read or a write decides
 *             4. after each event, its channel is settled: all bytes for which there is room are forwarded
 * Cost:       each byte is copied twice; bytes that arrive together share one read and one write. */
#include "fault/fault_proxy.h"

#include "base/clock.h"
#include "base/event_loop.h"
#include "base/memory.h"
#include "subject/ports.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    ACCEPTS_AT_ONCE = 256,
    READ_BYTES = 64 << 10,
    IN_MAX = 128 << 10,    /* more than the longest head */
    OUT_MAX = 256 << 10,
    KEEP_BYTES = 16 << 10, /* capacity that an empty buffer keeps */
    PENDING_MAX = 1024,
    LATE_MAX = 64 << 10,   /* body of a response that is overtaken */
    WARNINGS_MAX = 20,
};
static const int64_t hold_ns = 20000000;       /* wrong-client: time a response waits for another client */
static const int64_t silence_ns = 60000000000; /* time limit of a silenced client that has half-closed */

typedef enum { DELAY_OVER, HOLD_OVER, SILENCE_OVER } timer_kind;

typedef struct pending { /* a request without a response */
    char method;      /* 'H': HEAD, 'C': CONNECT, 0: another */
    short status;     /* not 0: not forwarded; the proxy responds with this status */
    bool close;       /* the connection is closed instead of the response */
    bool interim;     /* the client waits for 100 Continue, which the target will not send */
    bool closes;      /* the last request of its connection */
    uint64_t target;  /* a number for the request target */
} pending;

typedef struct side {
    aphi_watch watch;
    bool is_target;
    struct channel *channel;
    aphi_buffer in, out;
    size_t in_start, out_start;
    bool connecting;
    bool at_end;       /* the peer has half-closed */
    bool failed;       /* the connection was reset or could not be opened */
    bool write_failed; /* bytes for it are discarded */
    bool shut;         /* we have half-closed */
    bool blocked;      /* the socket accepts no more bytes now */
    bool slow;         /* one byte per write */
} side;

typedef struct channel {
    uint64_t number;    /* identifies the channel in timers: the number of connections when it was added */
    size_t index;       /* in channels */
    side client, *target;
    aphi_http_framing request_framing, response_framing;
    aphi_fault_effect request_effect, response_effect;
    bool in_response;   /* the head of a response was forwarded, but not yet its end */
    bool interim_head;  /* that response is a 1xx; another one follows */
    pending *pending;   /* from first to end */
    size_t first, end, capacity;
    bool silenced;      /* the client receives nothing more */
    bool last;          /* no more requests are taken */
    bool over;          /* no more responses; the channel is closed once its output is written */
    bool waits_silenced; /* silenced, and the client has half-closed; a timer is running */
    bool delayed;       /* responses wait for a timer */
    bool overtaken;     /* wrong-order: this response is appended to `late`, which follows the next response */
    aphi_buffer late;
    bool held, decided; /* wrong-client: the next response waits for another client; its client is decided */
} channel;

struct aphi_fault_proxy {
    aphi_event_loop loop;
    aphi_watch listener;
    bool draining;
    struct sockaddr_storage target;
    socklen_t target_size;
    unsigned port;
    aphi_fault *fault;
    bool bytewise;
    channel **channels;
    size_t count, capacity;
    int warnings;
    aphi_fault_proxy_stats stats;
    char buffer[READ_BYTES];
};

static void side_ready(void *proxy, void *data, uint32_t events);
static void settle_channel(aphi_fault_proxy *p, channel *l);

static void warn(aphi_fault_proxy *p, const char *what, int why)
{
    if (p->warnings++ < WARNINGS_MAX)
        fprintf(stderr, "antiphon: %s: %s\n", what, strerror(why));
}

static void start_timer(aphi_fault_proxy *p, const channel *l, timer_kind kind, int64_t ns)
{
    aphi_timer_heap_add(&p->loop.timers,
                        (aphi_timer){.ns = aphi_clock_ns() + ns, .kind = kind, .detail = l->number});
}

static size_t unread(const side *s) { return s->in.n - s->in_start; }
static size_t unwritten(const side *s) { return s->out.n - s->out_start; }
static size_t pending_count(const channel *l) { return l->end - l->first; }

/* ---- opening and closing channels -------------------------------------------------------------------------------- */

static void set_accepting(aphi_fault_proxy *p, bool accepting)
{
    aphi_event_loop_watch(&p->loop, &p->listener, accepting && !p->draining ? EPOLLIN : 0);
}

static void close_side(aphi_fault_proxy *p, side *s, bool reset)
{
    if (reset)
        setsockopt(s->watch.fd, SOL_SOCKET, SO_LINGER, &(struct linger){1, 0}, sizeof(struct linger));
    aphi_event_loop_close_watch(&p->loop, &s->watch);
    aphi_buffer_free(&s->in);
    aphi_buffer_free(&s->out);
}

static void free_channel(channel *l)
{
    aphi_buffer_free(&l->late);
    free(l->pending);
    free(l->target);
    free(l);
}

/* If `reset` is set, both sides get a reset instead of a half-close. */
static void close_channel(aphi_fault_proxy *p, channel *l, bool reset)
{
    close_side(p, &l->client, reset);
    close_side(p, l->target, reset);
    channel *last = p->channels[--p->count];
    last->index = l->index;
    p->channels[l->index] = last;
    set_accepting(p, true);
    free_channel(l);
}

static bool connect_target(aphi_fault_proxy *p, side *t)
{
    t->watch.fd = socket(p->target.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (t->watch.fd < 0)
        return false;
    if (!aphi_port_connect(t->watch.fd, (struct sockaddr *)&p->target, p->target_size, &t->connecting)) {
        warn(p, "cannot connect to the target", errno);
        t->failed = t->at_end = t->write_failed = true;
    }
    return true;
}

static void init_side(side *s, channel *l, int fd)
{
    *s = (side){.watch = {.fd = fd, .ready = side_ready, .data = s}, .channel = l};
}

static void add_channel(aphi_fault_proxy *p, int fd)
{
    channel *l = aphi_alloc_zero(sizeof *l);
    l->target = aphi_alloc(sizeof *l->target);
    init_side(&l->client, l, fd);
    init_side(l->target, l, -1);
    l->target->is_target = true;
    if (!connect_target(p, l->target)) {
        warn(p, "cannot connect to the target now", errno);
        close(fd);
        free_channel(l);
        return;
    }
    if (p->bytewise)
        l->request_framing.state = l->response_framing.state = APHI_FRAMING_OPAQUE;
    APHI_RESERVE(p->channels, p->capacity, p->count + 1);
    l->number = ++p->stats.connections;
    l->index = p->count;
    p->channels[p->count++] = l;
    settle_channel(p, l);
}

static void accept_ready(void *proxy, void *data, uint32_t events)
{
    (void)data, (void)events;
    aphi_fault_proxy *p = proxy;
    for (int i = 0; i < ACCEPTS_AT_ONCE; i++) {
        int fd = aphi_port_accept(p->listener.fd);
        if (fd < 0 && aphi_port_is_exhausted(errno)) {
            warn(p, "cannot accept more connections now", errno);
            set_accepting(p, p->count == 0);
        }
        if (fd < 0)
            return;
        add_channel(p, fd);
    }
}

/* ---- pending requests -------------------------------------------------------------------------------------------- */

static pending *first_pending(channel *l) { return pending_count(l) ? &l->pending[l->first] : NULL; }

static void remove_pending(channel *l)
{
    if (!pending_count(l))
        return; /* a response without a request */
    l->first++;
    if (l->first < l->end && l->first < PENDING_MAX)
        return;
    memmove(l->pending, l->pending + l->first, pending_count(l) * sizeof *l->pending);
    l->end -= l->first;
    l->first = 0;
}

/* ---- requests ---------------------------------------------------------------------------------------------------- */

/* FNV-1a. */
static uint64_t hash_text(const char *text, size_t n)
{
    uint64_t hash = UINT64_C(14695981039346656037);
    for (size_t i = 0; i < n; i++)
        hash = (hash ^ (unsigned char)text[i]) * UINT64_C(1099511628211);
    return hash;
}

static void forward_request_head(aphi_fault_proxy *p, channel *l, const char *bytes, size_t n)
{
    aphi_head head;
    aphi_head_read(&head, bytes, n, false, 0);
    aphi_http_framing_body(&l->request_framing, &head);
    aphi_fault_effect effect = l->request_effect = aphi_fault_head(p->fault, &head, false, 0, &l->target->out);
    if (head.opaque)
        return;
    bool is_head = aphi_method_is(&head, "HEAD") && !effect.as_get;
    pending request = {.method = is_head ? 'H' : aphi_method_is(&head, "CONNECT") ? 'C' : 0,
                       .target = hash_text(head.target, head.target_n), .status = (short)effect.status,
                       .close = effect.close, .closes = head.closes, .interim = head.expects && effect.drop_body};
    APHI_PUSH(l->pending, l->end, l->capacity, request);
    l->last = effect.close || (effect.status && head.closes);
    p->stats.requests++;
}

static bool has_room_for_requests(const channel *l)
{
    return unwritten(l->target) < OUT_MAX &&
           (pending_count(l) < PENDING_MAX || l->request_framing.state == APHI_FRAMING_OPAQUE) &&
           !(l->last && l->request_framing.state == APHI_FRAMING_HEAD);
}

/* Forwards bytes from the client while there is room. Returns true if any were forwarded. */
static bool forward_requests(aphi_fault_proxy *p, channel *l)
{
    side *from = &l->client;
    bool forwarded = false;
    if (l->response_framing.state == APHI_FRAMING_OPAQUE && l->request_framing.state == APHI_FRAMING_HEAD)
        l->request_framing.state = APHI_FRAMING_OPAQUE; /* another protocol (101, CONNECT), or an unknown one */
    if (l->over)
        from->in_start = from->in.n;
    while (has_room_for_requests(l)) {
        const char *bytes = from->in.n ? from->in.data + from->in_start : "";
        aphi_piece piece = aphi_http_framing_next(&l->request_framing, bytes, unread(from), from->at_end);
        if (piece.kind == APHI_PIECE_MORE)
            break;
        forwarded = true;
        if (piece.kind == APHI_PIECE_HEAD)
            forward_request_head(p, l, bytes, piece.n);
        else
            aphi_fault_effect_apply(&l->request_effect, &piece, bytes, &l->target->out);
        if (piece.kind == APHI_PIECE_END)
            l->request_effect = (aphi_fault_effect){0};
        from->in_start += piece.n;
    }
    return forwarded;
}

/* ---- wrong-client ------------------------------------------------------------------------------------------------ */

/* Returns true if the channels may exchange targets: each then receives as many responses as it has pending requests,
 * with the expected framing. */
static bool can_swap(const channel *a, const channel *b)
{
    size_t count = pending_count(a);
    if (!count || count != pending_count(b) || b->in_response || b->decided || b->target->at_end || b->over ||
        a->request_framing.state != APHI_FRAMING_HEAD || b->request_framing.state != APHI_FRAMING_HEAD ||
        b->response_framing.state != APHI_FRAMING_HEAD)
        return false;
    for (size_t i = 0; i < count; i++)
        if (a->pending[a->first + i].method || b->pending[b->first + i].method)
            return false;
    return true;
}

static channel *find_swap(const aphi_fault_proxy *p, const channel *l)
{
    for (size_t i = 1; i < p->count; i++) {
        channel *other = p->channels[(l->index + i) % p->count];
        if (can_swap(l, other))
            return other;
    }
    return NULL;
}

static bool other_client_waits(const aphi_fault_proxy *p, const channel *l)
{
    for (size_t i = 0; i < p->count; i++)
        if (p->channels[i] != l && pending_count(p->channels[i]))
            return true;
    return false;
}

static void swap_targets(channel *a, channel *b)
{
    side *target = a->target;
    aphi_http_framing framing = a->response_framing;
    a->target = b->target;
    a->response_framing = b->response_framing;
    b->target = target;
    b->response_framing = framing;
    channel *both[] = {a, b};
    for (int i = 0; i < 2; i++) {
        both[i]->target->channel = both[i];
        both[i]->decided = true;
        both[i]->held = false;
    }
}

/* Returns true if the response that begins here may be forwarded now. Otherwise it waits or has a new target. */
static bool decide_client(aphi_fault_proxy *p, channel *l)
{
    if (p->fault->kind != APHI_FAULT_WRONG_CLIENT || l->in_response || l->decided || l->target->at_end)
        return true;
    channel *other = find_swap(p, l);
    if (other) {
        l->decided = true;
        if (!aphi_fault_due(p->fault))
            return true;
        swap_targets(l, other);
        settle_channel(p, other); /* may close `other`, but does not change l, which is decided */
        return false;
    }
    l->decided = !other_client_waits(p, l);
    if (l->decided)
        return true;
    if (!l->held)
        start_timer(p, l, HOLD_OVER, hold_ns);
    l->held = true;
    return false;
}

/* ---- wrong-order ------------------------------------------------------------------------------------------------- */

/* Returns true if the response with this head may follow the next one. The next one must be pending, and the framing of
 * both must not depend on their requests. */
static bool can_be_late(const channel *l, const aphi_head *head)
{
    if (pending_count(l) < 2 || l->late.n || head->opaque || head->closes || head->status < 200)
        return false;
    const pending *first = &l->pending[l->first], *second = first + 1;
    return !first->method && !second->method && !first->closes && !second->closes &&
           (head->body == APHI_BODY_NONE || (head->body == APHI_BODY_LENGTH && head->length < LATE_MAX));
}

static aphi_buffer *response_output(channel *l) { return l->overtaken ? &l->late : &l->client.out; }

static void append_late(channel *l)
{
    if (l->late.n)
        aphi_buffer_add(&l->client.out, l->late.data, l->late.n);
    l->late.n = 0;
}

/* ---- responses --------------------------------------------------------------------------------------------------- */

/* Responds to the unforwarded requests at the front of the pending list. Returns true if there were any. */
static bool respond_locally(channel *l)
{
    bool responded = false;
    for (pending *r; !l->over && !l->in_response && (r = first_pending(l)) && (r->status || r->interim);
         responded = true) {
        if (r->interim) {
            aphi_buffer_str(&l->client.out, "HTTP/1.1 100 Continue\r\n\r\n");
            r->interim = false;
            continue;
        }
        aphi_fault_empty_response(r->status, r->closes, &l->client.out);
        l->over = r->closes;
        remove_pending(l);
    }
    return responded;
}

static void forward_response_head(aphi_fault_proxy *p, channel *l, const char *bytes, size_t n)
{
    aphi_head head;
    pending *request = first_pending(l);
    if (request && request->close) {
        l->over = true;
        return;
    }
    aphi_head_read(&head, bytes, n, true, request ? request->method : 0);
    aphi_http_framing_body(&l->response_framing, &head);
    l->overtaken = p->fault->kind == APHI_FAULT_WRONG_ORDER && can_be_late(l, &head) && aphi_fault_due(p->fault);
    l->response_effect = aphi_fault_head(p->fault, &head, request && request->method == 'H',
                                         request ? request->target : 0, response_output(l));
    l->in_response = true;
    l->interim_head = head.status && head.status < 200;
    p->stats.answers += !l->interim_head;
}

static void end_response(channel *l)
{
    if (!l->interim_head)
        remove_pending(l);
    if (!l->overtaken && !l->interim_head)
        append_late(l);
    l->in_response = l->interim_head = l->decided = l->overtaken = false;
    l->response_effect = (aphi_fault_effect){0};
}

static bool forward_responses(aphi_fault_proxy *p, channel *l)
{
    bool forwarded = false;
    while (!l->over && !l->delayed && unwritten(&l->client) < OUT_MAX) {
        forwarded = respond_locally(l) || forwarded;
        if (l->over)
            break;
        if (unread(l->target) && !decide_client(p, l)) {
            if (l->decided)
                continue; /* with its new target */
            break;
        }
        side *from = l->target;
        const char *bytes = from->in.n ? from->in.data + from->in_start : "";
        aphi_piece piece = aphi_http_framing_next(&l->response_framing, bytes, unread(from), from->at_end);
        if (piece.kind == APHI_PIECE_MORE)
            break;
        forwarded = true;
        if (piece.kind == APHI_PIECE_HEAD)
            forward_response_head(p, l, bytes, piece.n);
        else if (!l->silenced)
            aphi_fault_effect_apply(&l->response_effect, &piece, bytes, response_output(l));
        if (piece.kind == APHI_PIECE_END)
            end_response(l);
        from->in_start += piece.n;
    }
    if (l->target->at_end && !unread(l->target))
        append_late(l); /* no other response will overtake the late one */
    return forwarded;
}

/* ---- faults of bytes --------------------------------------------------------------------------------------------- */

/* Handles n bytes from the target, the last n in its `in`. Returns false if the channel was closed. */
static bool inject_bytewise(aphi_fault_proxy *p, channel *l, size_t n)
{
    aphi_buffer *in = &l->target->in;
    if (p->fault->kind == APHI_FAULT_NOTHING || l->silenced || !aphi_fault_due(p->fault))
        return true;
    switch (p->fault->kind) {
    case APHI_FAULT_RESET: close_channel(p, l, true); return false;
    case APHI_FAULT_HALF_CLOSE:
        l->silenced = l->client.shut = true;
        shutdown(l->client.watch.fd, SHUT_WR);
        return true;
    case APHI_FAULT_SILENCE: l->silenced = true; return true;
    case APHI_FAULT_GARBAGE:
        for (size_t i = in->n - n; i < in->n; i++)
            in->data[i] = (char)aphi_choice_bits(&p->fault->choice);
        return true;
    case APHI_FAULT_ONE_BYTE: l->client.slow = true; return true;
    default: break;
    }
    l->delayed = true;
    start_timer(p, l, DELAY_OVER, p->fault->delay_ns);
    return true;
}

/* ---- reading and writing ----------------------------------------------------------------------------------------- */

static void shrink_buffer(aphi_buffer *b, size_t *start)
{
    if (*start == b->n) {
        b->n = *start = 0;
        if (b->capacity > KEEP_BYTES)
            aphi_buffer_free(b);
    } else if (*start > READ_BYTES) {
        memmove(b->data, b->data + *start, b->n - *start);
        b->n -= *start;
        *start = 0;
    }
}

/* Writes as much as the socket accepts. */
static void flush(side *s)
{
    while (unwritten(s) && !s->blocked && !s->connecting && !s->write_failed) {
        size_t n = s->slow ? 1 : unwritten(s);
        ssize_t sent = send(s->watch.fd, s->out.data + s->out_start, n, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (sent >= 0)
            s->out_start += (size_t)sent;
        else if (errno == EAGAIN || errno == EWOULDBLOCK)
            s->blocked = true;
        else if (errno != EINTR)
            s->write_failed = true;
    }
    if (s->write_failed)
        s->out_start = s->out.n;
    s->slow = s->slow && unwritten(s);
    shrink_buffer(&s->out, &s->out_start);
}

static bool may_read(const channel *l, const side *s)
{
    if (s->at_end || s->connecting || unread(s) >= IN_MAX)
        return false;
    if (s->is_target)
        return !l->delayed && unwritten(&l->client) < OUT_MAX;
    return l->over || (unwritten(l->target) < OUT_MAX && pending_count(l) < PENDING_MAX);
}

/* Returns false if the channel was closed. */
static bool read_side(aphi_fault_proxy *p, side *s)
{
    channel *l = s->channel;
    ssize_t n = recv(s->watch.fd, p->buffer, sizeof p->buffer, MSG_DONTWAIT);
    if (n > 0) {
        aphi_buffer_add(&s->in, p->buffer, (size_t)n);
        return !s->is_target || !p->bytewise || inject_bytewise(p, l, (size_t)n);
    }
    if (n == 0) {
        s->at_end = true;
    } else if (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR) {
        if (!s->is_target) {
            close_channel(p, l, true);
            return false;
        }
        if (s->connecting)
            warn(p, "cannot connect to the target", errno);
        s->failed = s->at_end = s->write_failed = true;
        s->connecting = false;
    }
    return true;
}

static void side_ready(void *proxy, void *data, uint32_t events)
{
    aphi_fault_proxy *p = proxy;
    side *s = data;
    if (events & EPOLLOUT) {
        s->blocked = false;
        if (!(events & EPOLLERR))
            s->connecting = false;
    }
    bool reads = (events & EPOLLIN && may_read(s->channel, s)) || events & (EPOLLERR | EPOLLHUP);
    if (!reads || read_side(p, s))
        settle_channel(p, s->channel);
}

/* ---- settling ---------------------------------------------------------------------------------------------------- */

/* Forwards a half-close once the output is flushed. Returns false if the channel was closed. */
static bool forward_ends(aphi_fault_proxy *p, channel *l)
{
    side *c = &l->client, *t = l->target;
    if (c->at_end && !t->shut && !unread(c) && !unwritten(t) && !t->connecting) {
        shutdown(t->watch.fd, SHUT_WR);
        t->shut = true;
    }
    bool responded = (l->over || (t->at_end && !l->delayed && !unread(t))) && !unwritten(c);
    if (responded && t->failed && !l->over && !l->silenced) {
        close_channel(p, l, true);
        return false;
    }
    if (responded && !c->shut && (!l->silenced || l->over)) {
        shutdown(c->watch.fd, SHUT_WR);
        c->shut = true;
    }
    bool requested = !unwritten(t) && (!unread(c) || !has_room_for_requests(l));
    bool done = c->at_end && (l->over || (requested && (t->at_end || l->silenced)));
    if ((done && c->shut) || c->write_failed) {
        close_channel(p, l, c->write_failed);
        return false;
    }
    if (done && !l->waits_silenced)
        start_timer(p, l, SILENCE_OVER, silence_ns);
    l->waits_silenced = done;
    return true;
}

static void update_interest(aphi_fault_proxy *p, side *s)
{
    bool finished = s->at_end && (s->shut || s->write_failed) && !unwritten(s);
    if (finished) /* otherwise epoll would report EPOLLHUP forever */
        aphi_event_loop_unwatch(&p->loop, &s->watch);
    else
        aphi_event_loop_watch(&p->loop, &s->watch, (may_read(s->channel, s) ? EPOLLIN : 0u) |
                                                       (s->blocked || s->connecting ? EPOLLOUT : 0u));
}

static void settle_channel(aphi_fault_proxy *p, channel *l)
{
    bool more = true;
    while (more) {
        more = forward_requests(p, l);
        more = forward_responses(p, l) || more;
        flush(l->target);
        flush(&l->client);
    }
    shrink_buffer(&l->client.in, &l->client.in_start);
    shrink_buffer(&l->target->in, &l->target->in_start);
    if (!forward_ends(p, l))
        return;
    update_interest(p, &l->client);
    update_interest(p, l->target);
}

/* ---- rounds ------------------------------------------------------------------------------------------------------ */

static void timer_due(void *proxy, const aphi_timer *due)
{
    aphi_fault_proxy *p = proxy;
    size_t i = 0;
    while (i < p->count && p->channels[i]->number != due->detail)
        i++;
    if (i == p->count)
        return; /* closed */
    channel *l = p->channels[i];
    switch ((timer_kind)due->kind) {
    case DELAY_OVER: l->delayed = false; break;
    case HOLD_OVER:
        l->decided = l->decided || l->held;
        l->held = false;
        break;
    case SILENCE_OVER: close_channel(p, l, true); return;
    }
    settle_channel(p, l);
}

/* Returns false with errno if waiting failed. */
static bool run_round(aphi_fault_proxy *p, int64_t timeout_ns)
{
    return aphi_event_loop_run_once(&p->loop, timeout_ns) >= 0 || errno == EINTR;
}

bool aphi_fault_proxy_run(aphi_fault_proxy *p, char *error, size_t error_size)
{
    while (!p->loop.stopping) {
        if (!run_round(p, -1)) {
            snprintf(error, error_size, "cannot wait for events: %s", strerror(errno));
            return false;
        }
    }
    p->loop.stopping = 0;
    return true;
}

void aphi_fault_proxy_drain(aphi_fault_proxy *p, int64_t ns)
{
    int64_t until = aphi_clock_ns() + ns, left = ns;
    p->draining = true;
    set_accepting(p, false);
    while (p->count && left > 0 && run_round(p, left))
        left = until - aphi_clock_ns();
}

void aphi_fault_proxy_stop(aphi_fault_proxy *p)
{
    aphi_event_loop_stop(&p->loop);
}

/* ---- open and close ---------------------------------------------------------------------------------------------- */

aphi_fault_proxy *aphi_fault_proxy_open(uint16_t port, const struct sockaddr *target, socklen_t target_size,
                                        aphi_fault *fault, char *error, size_t error_size)
{
    aphi_fault_proxy *p = aphi_alloc_zero(sizeof *p);
    memcpy(&p->target, target, target_size);
    p->target_size = target_size;
    p->fault = fault;
    p->bytewise = aphi_fault_is_bytewise(fault);
    p->port = port;
    p->loop.timer = timer_due;
    aphi_port_raise_limit(SIZE_MAX);
    p->listener = (aphi_watch){.fd = aphi_port_listen(&p->port, error, error_size), .ready = accept_ready};
    if (p->listener.fd >= 0) {
        if (aphi_event_loop_open(&p->loop, p) && aphi_event_loop_watch(&p->loop, &p->listener, EPOLLIN))
            return p;
        snprintf(error, error_size, "cannot wait for events: %s", strerror(errno));
    }
    aphi_fault_proxy_close(p);
    return NULL;
}

void aphi_fault_proxy_close(aphi_fault_proxy *p)
{
    while (p->count)
        close_channel(p, p->channels[p->count - 1], true);
    aphi_event_loop_close_watch(&p->loop, &p->listener);
    aphi_event_loop_close(&p->loop);
    free(p->channels);
    free(p);
}

uint16_t aphi_fault_proxy_port(const aphi_fault_proxy *p) { return (uint16_t)p->port; }

aphi_fault_proxy_stats aphi_fault_proxy_stats_of(const aphi_fault_proxy *p) { return p->stats; }
