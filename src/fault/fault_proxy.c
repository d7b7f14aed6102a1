/* SPDX-License-Identifier: Apache-2.0
 *
 * fault_proxy.c - stands between clients and a target, passes on what they say, and breaks one thing in it.
 *
 * Idea:       Each connection of a client is a channel with one of its own to the target. Bytes are read into `in` of
 *             one side, cut into pieces (http_framing.c), and put into `out` of the other, broken or not (fault_kinds.c).
 *
 *      client.in -> requests -> target.out        target.in -> answers -> client.out
 *                       |                                         ^
 *                       +---- a note for each request, in order --+
 *
 *             The notes say how an answer is to be read (HEAD), and which requests the target never got: those are
 *             answered here, when it is their turn.
 * Invariants: 1. what is held of a channel is bounded: a side is not read while there is too much in its `in`, in the
 *                other's `out`, or among the notes
 *             2. ends and resets are passed on, after the bytes before them
 *             3. a channel that is gone is freed after the round: events of the round may still name it
 *             4. an event only says that it is worth trying: reading and writing say what is
 * Cost:       two copies of each byte, and a read and a write for what came in one piece. */
#include "fault/fault_proxy.h"

#include "base/clock.h"
#include "base/memory.h"
#include "base/timer_heap.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

enum {
    EVENTS_AT_ONCE = 256,
    ACCEPTS_AT_ONCE = 256,
    BACKLOG = 4096,
    READ_BYTES = 64 << 10,
    IN_MAX = 128 << 10,   /* more than the longest head */
    OUT_MAX = 256 << 10,
    KEEP_BYTES = 16 << 10, /* of a buffer that is empty */
    NOTES_MAX = 1024,
    LATE_MAX = 64 << 10, /* of an answer that is overtaken */
    COMPLAINTS_MAX = 20,
};
static const int64_t hold_ns = 20000000; /* an answer that is to be another's waits so long for another to wait, too */

static const int64_t silence_ns = 60000000000; /* for a client that has said all and waits: it may be gone */

typedef enum { WAKE, HELD, GIVE_UP } due_kind;

typedef struct note { /* of a request that has had no answer */
    char asked;       /* 'H': HEAD, 'C': CONNECT, 0: another */
    short answer;     /* it never arrived: this is its answer. 0: it did */
    bool mute;        /* in place of its answer comes an end */
    bool interim;     /* its client waits for 100 Continue, and the target does not know */
    bool closes;
    uint64_t target;  /* what was asked for */
} note;

typedef struct side {
    int fd;
    bool is_target;
    struct channel *of;
    uint32_t interest; /* what epoll was told */
    bool watched;
    aphi_buffer in, out;
    size_t in_start, out_start;
    bool connecting;
    bool at_end;  /* it has said all */
    bool failed;  /* and was reset, or could not be reached */
    bool deaf;    /* it takes no more: what is for it is thrown away */
    bool shut;    /* we have told it that there is no more */
    bool blocked; /* the system takes no more bytes now */
    bool slow;    /* one byte at a time */
} side;

typedef struct channel {
    uint64_t number;
    uint32_t slot;
    side client, target;
    aphi_http_framing asks, answers;
    aphi_fault_effect ask_fate, answer_fate;
    bool in_answer;    /* the head of an answer was passed on, and its end was not */
    bool interim_head; /* that answer is a 1xx: another follows */
    note *notes;       /* a ring */
    size_t first, count, capacity;
    bool mute;         /* the client hears nothing more */
    bool last;         /* no more requests are taken */
    bool over;         /* no more answers: when what is there was written, the channel ends */
    bool given_up;     /* the client hears nothing, and has said all */
    bool asleep;       /* answers wait for the clock */
    bool overtaken;    /* wrong-order: the answer that is passed on goes to `late`; what is there follows the next */
    aphi_buffer late;
    bool held, sent_on; /* wrong-client: the next answer waits for another; it has been decided on */
    bool dirty, gone;
    struct channel *next_gone;
} channel;

struct aphi_fault_proxy {
    int epoll, listener, wake;
    volatile bool stopping;
    bool listening; /* the listener is watched */
    bool draining;
    struct sockaddr_storage target;
    socklen_t target_size;
    uint16_t port;
    aphi_fault *breaks;
    bool of_bytes;
    channel **slots;
    size_t top, capacity;
    uint32_t *spare;
    size_t spare_count, spare_capacity;
    size_t channels;
    uint64_t number;
    channel **dirty;
    size_t dirty_count, dirty_capacity;
    channel *gone;
    aphi_timer_heap agenda;
    int complaints;
    aphi_fault_proxy_stats stats;
    char buffer[READ_BYTES];
};

static void complain(aphi_fault_proxy *r, const char *what, int why)
{
    if (r->complaints++ < COMPLAINTS_MAX)
        fprintf(stderr, "antiphon: %s: %s\n", what, strerror(why));
}

static void soil(aphi_fault_proxy *r, channel *l)
{
    if (l->dirty || l->gone)
        return;
    l->dirty = true;
    APHI_RESERVE(r->dirty, r->dirty_capacity, r->dirty_count + 1);
    r->dirty[r->dirty_count++] = l;
}

static void remind(aphi_fault_proxy *r, const channel *l, due_kind kind, int64_t ns)
{
    aphi_timer_heap_add(&r->agenda, (aphi_timer){.ns = aphi_clock_ns() + ns, .kind = kind, .owner = l->slot,
                                           .detail = l->number});
}

static size_t held_in(const side *s) { return s->in.n - s->in_start; }
static size_t held_out(const side *s) { return s->out.n - s->out_start; }

/* ---- opening and closing channels -------------------------------------------------------------------------------- */

static void watch_listener(aphi_fault_proxy *r, bool wanted)
{
    if (r->listening == wanted || (wanted && r->draining))
        return;
    struct epoll_event e = {.events = wanted ? EPOLLIN : 0, .data.ptr = &r->listener};
    epoll_ctl(r->epoll, EPOLL_CTL_MOD, r->listener, &e);
    r->listening = wanted;
}

static void close_side(side *s, bool reset)
{
    if (reset)
        setsockopt(s->fd, SOL_SOCKET, SO_LINGER, &(struct linger){1, 0}, sizeof(struct linger));
    close(s->fd);
    aphi_buffer_free(&s->in);
    aphi_buffer_free(&s->out);
}

/* reset: both sides see that it did not end as it should. */
static void drop(aphi_fault_proxy *r, channel *l, bool reset)
{
    close_side(&l->client, reset);
    close_side(&l->target, reset);
    l->gone = true;
    l->next_gone = r->gone;
    r->gone = l;
    r->slots[l->slot] = NULL;
    APHI_RESERVE(r->spare, r->spare_capacity, r->spare_count + 1);
    r->spare[r->spare_count++] = l->slot;
    r->channels--;
    watch_listener(r, true);
}

static void bury(aphi_fault_proxy *r)
{
    while (r->gone) {
        channel *l = r->gone;
        r->gone = l->next_gone;
        aphi_buffer_free(&l->late);
        free(l->notes);
        free(l);
    }
}

static void tell_epoll(aphi_fault_proxy *r, side *s, uint32_t interest)
{
    bool finished = s->at_end && (s->shut || s->deaf) && !held_out(s); /* or epoll would tell us so for ever */
    struct epoll_event e = {.events = interest, .data.ptr = s};
    if (finished && s->watched) {
        epoll_ctl(r->epoll, EPOLL_CTL_DEL, s->fd, NULL);
        s->watched = false;
    } else if (!finished && (!s->watched || s->interest != interest)) {
        epoll_ctl(r->epoll, s->watched ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, s->fd, &e);
        s->watched = true;
    }
    s->interest = interest;
}

static void place(aphi_fault_proxy *r, channel *l)
{
    if (r->spare_count) {
        l->slot = r->spare[--r->spare_count];
    } else {
        APHI_RESERVE(r->slots, r->capacity, r->top + 1);
        l->slot = (uint32_t)r->top++;
    }
    r->slots[l->slot] = l;
    l->number = ++r->number;
    r->channels++;
    r->stats.connections++;
}

static bool connect_target(aphi_fault_proxy *r, channel *l)
{
    side *t = &l->target;
    t->fd = socket(r->target.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (t->fd < 0)
        return false;
    setsockopt(t->fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
    if (connect(t->fd, (struct sockaddr *)&r->target, r->target_size) != 0) {
        t->connecting = errno == EINPROGRESS;
        if (!t->connecting) {
            complain(r, "the target cannot be reached", errno);
            t->failed = t->at_end = t->deaf = true;
        }
    }
    return true;
}

static void admit(aphi_fault_proxy *r, int fd)
{
    channel *l = aphi_alloc_zero(sizeof *l);
    l->client = (side){.fd = fd, .of = l};
    l->target = (side){.of = l, .is_target = true};
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
    if (!connect_target(r, l)) {
        complain(r, "no connection to the target for now", errno);
        close(fd);
        free(l);
        return;
    }
    if (r->of_bytes)
        l->asks.state = l->answers.state = APHI_FRAMING_OPAQUE;
    place(r, l);
    soil(r, l);
}

static void accept_all(aphi_fault_proxy *r)
{
    for (int i = 0; i < ACCEPTS_AT_ONCE; i++) {
        int fd = accept4(r->listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd >= 0) {
            admit(r, fd);
        } else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
            complain(r, "no more connections for now", errno);
            watch_listener(r, r->channels == 0);
            return;
        } else if (errno != ECONNABORTED && errno != EINTR) {
            return;
        }
    }
}

/* ---- notes ------------------------------------------------------------------------------------------------------- */

static note *first_note(channel *l) { return l->count ? &l->notes[l->first] : NULL; }

static void add_note(channel *l, note n)
{
    if (l->count == l->capacity) {
        size_t capacity = l->capacity ? 2 * l->capacity : 8;
        note *more = aphi_alloc(capacity * sizeof *more);
        for (size_t i = 0; i < l->count; i++)
            more[i] = l->notes[(l->first + i) % l->capacity];
        free(l->notes);
        l->notes = more;
        l->capacity = capacity;
        l->first = 0;
    }
    l->notes[(l->first + l->count++) % l->capacity] = n;
}

static void remove_note(channel *l)
{
    if (!l->count)
        return; /* an answer that nobody asked for */
    l->first = (l->first + 1) % l->capacity;
    l->count--;
}

static const char *method_of(const note *n) { return !n || !n->asked ? NULL : n->asked == 'H' ? "HEAD" : "CONNECT"; }

/* ---- requests ---------------------------------------------------------------------------------------------------- */

/* A number for a text: FNV-1a. */
static uint64_t number_of(const char *text, size_t n)
{
    uint64_t hash = UINT64_C(14695981039346656037);
    for (size_t i = 0; i < n; i++)
        hash = (hash ^ (unsigned char)text[i]) * UINT64_C(1099511628211);
    return hash;
}

static void take_request(aphi_fault_proxy *r, channel *l, const char *bytes, size_t n)
{
    aphi_head head;
    aphi_head_read(&head, bytes, n, false, NULL);
    aphi_http_framing_body(&l->asks, &head);
    l->ask_fate = aphi_fault_request(r->breaks, &head, &l->target.out);
    if (head.opaque)
        return;
    bool asks_head = aphi_method_is(&head, "HEAD") && !l->ask_fate.as_get;
    add_note(l, (note){.asked = asks_head ? 'H' : aphi_method_is(&head, "CONNECT") ? 'C' : 0,
                       .target = number_of(head.target, head.target_n),
                       .answer = (short)l->ask_fate.answer, .mute = l->ask_fate.mute, .closes = head.closes,
                       .interim = head.expects && l->ask_fate.swallow});
    l->last = l->ask_fate.mute || (l->ask_fate.answer && head.closes);
    r->stats.requests++;
}

static bool has_room_for_requests(const channel *l)
{
    return held_out(&l->target) < OUT_MAX && (l->count < NOTES_MAX || l->asks.state == APHI_FRAMING_OPAQUE) &&
           !(l->last && l->asks.state == APHI_FRAMING_HEAD);
}

/* Passes on what has come from the client, as far as there is room. Was there something? */
static bool pass_requests(aphi_fault_proxy *r, channel *l)
{
    side *from = &l->client;
    bool passed = false;
    if (l->answers.state == APHI_FRAMING_OPAQUE && l->asks.state == APHI_FRAMING_HEAD)
        l->asks.state = APHI_FRAMING_OPAQUE; /* another protocol (101, CONNECT), or none that we know */
    if (l->over)
        from->in_start = from->in.n;
    while (has_room_for_requests(l)) {
        const char *bytes = from->in.n ? from->in.data + from->in_start : "";
        aphi_piece p = aphi_http_framing_next(&l->asks, bytes, held_in(from), from->at_end);
        if (p.kind == APHI_PIECE_MORE)
            break;
        passed = true;
        if (p.kind == APHI_PIECE_HEAD)
            take_request(r, l, bytes, p.n);
        else
            aphi_fault_effect_pass(&l->ask_fate, &p, bytes, &l->target.out);
        if (p.kind == APHI_PIECE_END)
            l->ask_fate = (aphi_fault_effect){0};
        from->in_start += p.n;
    }
    return passed;
}

/* ---- the wrong client -------------------------------------------------------------------------------------------- */

/* The channels can change targets: then each gets as many answers as it waits for, of the shape that it expects. */
static bool can_swap(const channel *a, const channel *b)
{
    if (a == b || !a->count || a->count != b->count || b->in_answer || b->sent_on || b->target.at_end || b->over ||
        a->asks.state != APHI_FRAMING_HEAD || b->asks.state != APHI_FRAMING_HEAD ||
        b->answers.state != APHI_FRAMING_HEAD)
        return false;
    for (size_t i = 0; i < a->count; i++)
        if (a->notes[(a->first + i) % a->capacity].asked || b->notes[(b->first + i) % b->capacity].asked)
            return false;
    return true;
}

static channel *another_waiting(const aphi_fault_proxy *r, const channel *l)
{
    for (size_t i = 1; i <= r->top; i++) {
        channel *other = r->slots[(l->slot + i) % r->top];
        if (other && can_swap(l, other))
            return other;
    }
    return NULL;
}

/* Does anybody else wait for answers? */
static bool has_another(const aphi_fault_proxy *r, const channel *l)
{
    for (size_t i = 0; i < r->top; i++)
        if (r->slots[i] && r->slots[i] != l && r->slots[i]->count)
            return true;
    return false;
}

static void swap_targets(aphi_fault_proxy *r, channel *a, channel *b)
{
    side target = a->target;
    aphi_http_framing answers = a->answers;
    a->target = b->target;
    a->answers = b->answers;
    b->target = target;
    b->answers = answers;
    channel *both[] = {a, b};
    for (int i = 0; i < 2; i++) {
        both[i]->target.of = both[i];
        both[i]->target.interest = ~0u; /* epoll is to learn where it lies now */
        both[i]->sent_on = true;
        both[i]->held = false;
        soil(r, both[i]);
    }
}

/* May the answer that begins here be passed on now? */
static bool is_decided(aphi_fault_proxy *r, channel *l)
{
    if (r->breaks->kind != APHI_FAULT_WRONG_CLIENT || l->in_answer || l->sent_on || l->target.at_end)
        return true;
    channel *other = another_waiting(r, l);
    if (other) {
        l->sent_on = true;
        if (!aphi_fault_due(r->breaks))
            return true;
        swap_targets(r, l, other);
        return false;
    }
    l->sent_on = !has_another(r, l); /* nobody would get it but its client */
    if (l->sent_on)
        return true;
    if (!l->held)
        remind(r, l, HELD, hold_ns);
    l->held = true;
    return false;
}

/* ---- the wrong order --------------------------------------------------------------------------------------------- */

/* Can the answer with this head wait for the next? Somebody must have asked for that, and both must look as answers to
 * such requests do. */
static bool can_be_late(const channel *l, const aphi_head *head)
{
    if (l->count < 2 || l->late.n || head->opaque || head->closes || head->status < 200)
        return false;
    const note *second = &l->notes[(l->first + 1) % l->capacity];
    return !l->notes[l->first].asked && !second->asked && !l->notes[l->first].closes && !second->closes &&
           (head->body == APHI_BODY_NONE || (head->body == APHI_BODY_LENGTH && head->length < LATE_MAX));
}

static aphi_buffer *outlet(channel *l) { return l->overtaken ? &l->late : &l->client.out; }

/* What was overtaken follows. */
static void send_late(channel *l)
{
    if (l->late.n)
        aphi_buffer_add(&l->client.out, l->late.data, l->late.n);
    l->late.n = 0;
}

/* ---- answers ----------------------------------------------------------------------------------------------------- */

/* Requests that never arrived are answered when it is their turn. */
static bool answer_ourselves(channel *l)
{
    bool answered = false;
    for (note *n; !l->over && !l->in_answer && (n = first_note(l)) && (n->answer || n->interim); answered = true) {
        if (n->interim) {
            aphi_buffer_str(&l->client.out, "HTTP/1.1 100 Continue\r\n\r\n");
            n->interim = false;
            continue;
        }
        aphi_fault_empty_answer(n->answer, n->closes, &l->client.out);
        l->over = n->closes;
        remove_note(l);
    }
    return answered;
}

static void take_answer(aphi_fault_proxy *r, channel *l, const char *bytes, size_t n)
{
    aphi_head head;
    note *of = first_note(l);
    if (of && of->mute) {
        l->over = true;
        return;
    }
    aphi_head_read(&head, bytes, n, true, method_of(of));
    aphi_http_framing_body(&l->answers, &head);
    l->overtaken = r->breaks->kind == APHI_FAULT_WRONG_ORDER && can_be_late(l, &head) && aphi_fault_due(r->breaks);
    l->answer_fate = aphi_fault_answer(r->breaks, &head, of && of->asked == 'H', of ? of->target : 0, outlet(l));
    l->in_answer = true;
    l->interim_head = head.status && head.status < 200;
    r->stats.answers += !l->interim_head;
}

static void end_answer(channel *l)
{
    if (!l->interim_head)
        remove_note(l);
    if (!l->overtaken && !l->interim_head)
        send_late(l);
    l->in_answer = l->interim_head = l->sent_on = l->overtaken = false;
    l->answer_fate = (aphi_fault_effect){0};
}

static bool pass_answers(aphi_fault_proxy *r, channel *l)
{
    bool passed = false;
    while (!l->over && !l->asleep && held_out(&l->client) < OUT_MAX) {
        passed = answer_ourselves(l) || passed;
        side *from = &l->target;
        const char *bytes = from->in.n ? from->in.data + from->in_start : "";
        if (l->over || (held_in(from) && !is_decided(r, l)))
            break;
        aphi_piece p = aphi_http_framing_next(&l->answers, bytes, held_in(from), from->at_end);
        if (p.kind == APHI_PIECE_MORE)
            break;
        passed = true;
        if (p.kind == APHI_PIECE_HEAD)
            take_answer(r, l, bytes, p.n);
        else if (!l->mute)
            aphi_fault_effect_pass(&l->answer_fate, &p, bytes, outlet(l));
        if (p.kind == APHI_PIECE_END)
            end_answer(l);
        from->in_start += p.n;
    }
    if (l->target.at_end && !held_in(&l->target))
        send_late(l); /* the one that was to overtake it does not come */
    return passed;
}

/* ---- bytes, whatever they mean ----------------------------------------------------------------------------------- */

static void replace(aphi_fault_proxy *r, char *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++)
        bytes[i] = (char)aphi_choice_bits(&r->breaks->choice);
}

/* The target has said something: n bytes, the last in its `in`. False: the channel is gone. */
static bool break_bytes(aphi_fault_proxy *r, channel *l, size_t n)
{
    if (r->breaks->kind == APHI_FAULT_NOTHING || l->mute || !aphi_fault_due(r->breaks))
        return true;
    switch (r->breaks->kind) {
    case APHI_FAULT_RESET: drop(r, l, true); return false;
    case APHI_FAULT_HALF_CLOSE:
        l->mute = true;
        shutdown(l->client.fd, SHUT_WR);
        l->client.shut = true;
        return true;
    case APHI_FAULT_SILENCE: l->mute = true; return true;
    case APHI_FAULT_GARBAGE: replace(r, l->target.in.data + l->target.in.n - n, n); return true;
    case APHI_FAULT_ONE_BYTE: l->client.slow = true; return true;
    default: break;
    }
    l->asleep = true;
    remind(r, l, WAKE, r->breaks->delay_ns);
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

/* What is to go out does, as far as the system takes it. */
static void flush(side *s)
{
    while (held_out(s) && !s->blocked && !s->connecting && !s->deaf) {
        size_t n = s->slow ? 1 : held_out(s);
        ssize_t sent = send(s->fd, s->out.data + s->out_start, n, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (sent >= 0)
            s->out_start += (size_t)sent;
        else if (errno == EAGAIN || errno == EWOULDBLOCK)
            s->blocked = true;
        else if (errno != EINTR)
            s->deaf = true;
    }
    if (s->deaf)
        s->out_start = s->out.n;
    s->slow = s->slow && held_out(s);
    shrink_buffer(&s->out, &s->out_start);
}

static bool is_wanted(const channel *l, const side *s)
{
    if (s->at_end || s->connecting || held_in(s) >= IN_MAX)
        return false;
    if (s->is_target)
        return !l->asleep && held_out(&l->client) < OUT_MAX;
    return l->over || (held_out(&l->target) < OUT_MAX && l->count < NOTES_MAX);
}

static void read_side(aphi_fault_proxy *r, side *s)
{
    channel *l = s->of;
    ssize_t n = recv(s->fd, r->buffer, sizeof r->buffer, MSG_DONTWAIT);
    if (n > 0) {
        aphi_buffer_add(&s->in, r->buffer, (size_t)n);
        if (s->is_target && r->of_bytes && !break_bytes(r, l, (size_t)n))
            return;
    } else if (n == 0) {
        s->at_end = true;
    } else if (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR) {
        if (!s->is_target) {
            drop(r, l, true);
            return;
        }
        if (s->connecting)
            complain(r, "the target cannot be reached", errno);
        s->failed = s->at_end = s->deaf = true;
        s->connecting = false;
    }
    soil(r, l);
}

static void on_event(aphi_fault_proxy *r, side *s, uint32_t events)
{
    channel *l = s->of;
    if (l->gone)
        return;
    if (events & EPOLLOUT) {
        s->blocked = false;
        if (!(events & EPOLLERR))
            s->connecting = false;
        soil(r, l);
    }
    if ((events & EPOLLIN && is_wanted(l, s)) || events & (EPOLLERR | EPOLLHUP))
        read_side(r, s);
}

/* ---- settling ---------------------------------------------------------------------------------------------------- */

/* Passes on that a side has said all, when all was written. False: the channel is gone. */
static bool pass_ends(aphi_fault_proxy *r, channel *l)
{
    side *c = &l->client, *t = &l->target;
    if (c->at_end && !t->shut && !held_in(c) && !held_out(t) && !t->connecting) {
        shutdown(t->fd, SHUT_WR);
        t->shut = true;
    }
    bool said = (l->over || (t->at_end && !l->asleep && !held_in(t))) && !held_out(c);
    if (said && t->failed && !l->over && !l->mute) {
        drop(r, l, true);
        return false;
    }
    if (said && !c->shut && (!l->mute || l->over)) {
        shutdown(c->fd, SHUT_WR);
        c->shut = true;
    }
    bool asked = !held_out(t) && (!held_in(c) || !has_room_for_requests(l));
    bool done = c->at_end && (l->over || (asked && (t->at_end || l->mute)));
    if ((done && c->shut) || c->deaf) {
        drop(r, l, c->deaf);
        return false;
    }
    if (done && !l->given_up)
        remind(r, l, GIVE_UP, silence_ns);
    l->given_up = done;
    return true;
}

static void settle(aphi_fault_proxy *r, channel *l)
{
    bool more = true;
    while (more) {
        more = pass_requests(r, l);
        more = pass_answers(r, l) || more;
        flush(&l->target);
        flush(&l->client);
    }
    shrink_buffer(&l->client.in, &l->client.in_start);
    shrink_buffer(&l->target.in, &l->target.in_start);
    if (!pass_ends(r, l))
        return;
    side *sides[] = {&l->client, &l->target};
    for (int i = 0; i < 2; i++)
        tell_epoll(r, sides[i], (is_wanted(l, sides[i]) ? EPOLLIN : 0u) |
                                    (sides[i]->blocked || sides[i]->connecting ? EPOLLOUT : 0u));
}

static void settle_all(aphi_fault_proxy *r)
{
    while (r->dirty_count) { /* settling one may soil another */
        channel *l = r->dirty[--r->dirty_count];
        l->dirty = false;
        if (!l->gone)
            settle(r, l);
    }
    bury(r);
}

/* ---- the loop ---------------------------------------------------------------------------------------------------- */

static void run_agenda(aphi_fault_proxy *r)
{
    aphi_timer due;
    int64_t now = aphi_clock_ns();
    while (aphi_timer_heap_next(&r->agenda, now, &due)) {
        channel *l = r->slots[due.owner];
        if (!l || l->number != due.detail)
            continue;
        switch ((due_kind)due.kind) {
        case WAKE: l->asleep = false; break;
        case HELD:
            l->sent_on = l->sent_on || l->held;
            l->held = false;
            break;
        case GIVE_UP: drop(r, l, true); continue;
        }
        soil(r, l);
    }
}

/* Milliseconds until something is due or the time is up, rounded up; -1: for ever. */
static int patience(const aphi_fault_proxy *r, int64_t until)
{
    int64_t when = aphi_timer_heap_when(&r->agenda);
    if (when < 0 || (until && until < when))
        when = until ? until : -1;
    if (when < 0)
        return -1;
    int64_t left = when - aphi_clock_ns();
    return left <= 0 ? 0 : (int)((left + 999999) / 1000000);
}

static bool go_round(aphi_fault_proxy *r, int64_t until)
{
    struct epoll_event events[EVENTS_AT_ONCE];
    int n = epoll_wait(r->epoll, events, EVENTS_AT_ONCE, patience(r, until));
    if (n < 0 && errno != EINTR)
        return false;
    for (int i = 0; i < n; i++) {
        uint64_t count;
        if (events[i].data.ptr == &r->listener)
            accept_all(r);
        else if (events[i].data.ptr != &r->wake)
            on_event(r, events[i].data.ptr, events[i].events);
        else if (read(r->wake, &count, sizeof count) < 0)
            continue; /* somebody else has read it: it woke us all the same */
    }
    run_agenda(r);
    settle_all(r);
    return true;
}

bool aphi_fault_proxy_run(aphi_fault_proxy *r, char *error, size_t error_size)
{
    while (!r->stopping) {
        if (!go_round(r, 0)) {
            snprintf(error, error_size, "cannot wait for events: %s", strerror(errno));
            return false;
        }
    }
    r->stopping = false;
    return true;
}

void aphi_fault_proxy_drain(aphi_fault_proxy *r, int64_t ns)
{
    int64_t until = aphi_clock_ns() + ns;
    watch_listener(r, false);
    r->draining = true;
    while (r->channels && aphi_clock_ns() < until && go_round(r, until)) {
    }
}

void aphi_fault_proxy_stop(aphi_fault_proxy *r)
{
    int before = errno;
    uint64_t one = 1;
    r->stopping = true;
    if (write(r->wake, &one, sizeof one) < 0) {
        /* It is full of earlier calls, which do as well. */
    }
    errno = before;
}

/* ---- open and close ---------------------------------------------------------------------------------------------- */

static bool listen_at(aphi_fault_proxy *r, uint16_t port)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(port), .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t size = sizeof at;
    r->listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (r->listener < 0)
        return false;
    setsockopt(r->listener, SOL_SOCKET, SO_REUSEADDR, &(int){1}, sizeof(int));
    if (bind(r->listener, (struct sockaddr *)&at, size) || listen(r->listener, BACKLOG) ||
        getsockname(r->listener, (struct sockaddr *)&at, &size))
        return false;
    r->port = ntohs(at.sin_port);
    return true;
}

static bool watch(aphi_fault_proxy *r, int *fd)
{
    struct epoll_event e = {.events = EPOLLIN, .data.ptr = fd};
    return *fd >= 0 && epoll_ctl(r->epoll, EPOLL_CTL_ADD, *fd, &e) == 0;
}

/* Two descriptors for each connection. */
static void make_room(void)
{
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
        files.rlim_cur = files.rlim_max;
        setrlimit(RLIMIT_NOFILE, &files);
    }
}

aphi_fault_proxy *aphi_fault_proxy_open(uint16_t port, const struct sockaddr *target, socklen_t target_size,
                                        aphi_fault *b, char *error, size_t error_size)
{
    aphi_fault_proxy *r = aphi_alloc_zero(sizeof *r);
    memcpy(&r->target, target, target_size);
    r->target_size = target_size;
    r->breaks = b;
    r->of_bytes = aphi_fault_is_of_bytes(b);
    r->listener = -1;
    r->epoll = epoll_create1(EPOLL_CLOEXEC);
    r->wake = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    r->listening = true;
    make_room();
    if (!listen_at(r, port))
        snprintf(error, error_size, "cannot listen on 127.0.0.1 port %u: %s%s", port, strerror(errno),
                 errno == EADDRINUSE ? "; --listen 0 takes one that is free" : "");
    else if (!watch(r, &r->listener) || !watch(r, &r->wake))
        snprintf(error, error_size, "cannot wait for events: %s", strerror(errno));
    else
        return r;
    aphi_fault_proxy_close(r);
    return NULL;
}

void aphi_fault_proxy_close(aphi_fault_proxy *r)
{
    int descriptors[] = {r->epoll, r->listener, r->wake};
    for (size_t i = 0; i < r->top; i++)
        if (r->slots[i])
            drop(r, r->slots[i], true);
    bury(r);
    for (size_t i = 0; i < sizeof descriptors / sizeof *descriptors; i++)
        if (descriptors[i] >= 0)
            close(descriptors[i]);
    aphi_timer_heap_deinit(&r->agenda);
    free(r->slots);
    free(r->spare);
    free(r->dirty);
    free(r);
}

uint16_t aphi_fault_proxy_port(const aphi_fault_proxy *r) { return r->port; }

aphi_fault_proxy_stats aphi_fault_proxy_stats_of(const aphi_fault_proxy *r) { return r->stats; }
