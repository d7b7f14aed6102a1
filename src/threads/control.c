/* SPDX-License-Identifier: Apache-2.0
 *
 * control.c - who receives what, decided in one place.
 *
 * Idea:       What a thread does next depends only on what it received. So asynchronous sends and local events happen
 *             when threads come to them, and only receives are decided: a thread that comes to one waits. When all
 *             wait, the last of them decides for all: first what is forced; when nothing forced is left, by the seed.
 *             Then all that can be sent is there to choose from, and no choice depends on how fast threads run.
 *
 *                 threads:   run --- receive, synchronous send, no room ---> wait
 *                             ^                                                |
 *                             +---- a message is matched: decide() <---- all wait
 *
 * Invariants: 1. All is under one lock. `running` counts threads that do not wait; decide() runs when it is 0.
 *             2. A free receive happens only after all that is forced: nobody takes a message meant for another.
 *             3. Tape order is a total order of what happened that respects causes.
 * One queue a port: which of two sends comes first in the queue of a FIFO_PORT port is decided when one of them is
 *             received: then it came before all others that are there. Such decisions are causes, too. A message can be
 *             received if none that is still there must have come before it, by causes and decisions: then some order
 *             of sends explains all queues. A synchronous message stands in line, too: it enters the queue before the
 *             send is done.
 * Cost:       A receive costs two context switches. A look at a queue is quadratic in its length, and for FIFO_PORT
 *             linear in the length of the tape for each pair, or worse where decisions went against the order of sends.
 * Not done:   deciding while threads run: it would be faster, but the seed would not determine the run. */
#include "control.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

typedef struct note { /* a message that was sent, and not received */
    struct note *next;
    aph_message message;
    uint32_t index;  /* of the send among its thread's events */
    uint32_t taped;  /* where the send is on the tape, from 1; not of a synchronous one */
} note;

typedef struct slot {
    pthread_cond_t granted;
    bool go;
    uint32_t index;  /* events so far */
    size_t forced;   /* of them forced */
    uint32_t last;   /* its last event on the tape, from 1; 0: none */
    const aph_choice *choices;
    size_t count;
    aph_message *message;
    const aph_thread_port *port; /* that it sends to, waiting */
} slot;

typedef struct backlink { /* what was before an event: places on the tape, from 1; 0: nothing */
    uint32_t previous; /* of its thread */
    uint32_t partner;  /* the send of a receive; also the other half of a synchronous pair */
    uint32_t ahead;    /* of a send that left a FIFO_PORT port: what left before it */
    uint32_t room;     /* of a send to such a port: the receive that made room for it */
} backlink;

typedef struct match {
    unsigned thread;
    const aph_thread_port *port;
    note *note;
    unsigned choice;
} match;

struct aphi_control {
    pthread_mutex_t lock;
    aph_threads *group;
    const aphi_order *order;
    aphi_tape *tape;
    unsigned running;
    uint64_t random;
    slot slots[APH_THREADS_MAX];
    note *queues[APH_PORTS_MAX];
    uint32_t left_last[APH_PORTS_MAX]; /* the send that left a FIFO_PORT port last, on the tape */
    backlink links[APHI_TAPE_EVENTS + 1];
    bool reached[APHI_TAPE_EVENTS + 1]; /* for one look: events that follow, */
    bool entered[APHI_TAPE_EVENTS + 1]; /* and sends that enter their queue only then */
};

/* ---- the end of a run -------------------------------------------------------------------------------------------- */

static const char *const op_names[] = {"send", "receive", "local event"};

/* Nothing of the process is tidied up: threads wait for ever, and a sanitizer would call the others leaked. */
static _Noreturn void end_process(void)
{
    for (;;)
        syscall(SYS_exit_group, 0);
}

static void tape_item(aphi_tape *t, const aphi_item *item)
{
    if (t->item_count == APHI_TAPE_ITEMS) {
        t->outcome = APHI_OUTCOME_ENDLESS;
        snprintf(t->detail, sizeof t->detail, "the tape is full");
        end_process();
    }
    t->items[t->item_count++] = *item;
}

static uint32_t tape_open(aphi_tape *t, const aph_choice *choices, size_t count, uint32_t *first)
{
    uint32_t n = 0;
    *first = t->item_count;
    for (size_t i = 0; i < count; i++)
        if (!choices[i].closed) {
            aphi_item item = {.port = choices[i].port->number};
            aphi_threads_copy_label(item.label, choices[i].label ? choices[i].label : "*");
            tape_item(t, &item);
            n++;
        }
    return n;
}

static void tape_waiting(aphi_control *c)
{
    for (unsigned i = 0; i < c->group->thread_count; i++) {
        aphi_waiting *w = &c->tape->waiting[i];
        const slot *s = &c->slots[i];
        if (w->state == APHI_RECEIVES)
            w->open_count = tape_open(c->tape, s->choices, s->count, &w->open);
    }
}

/* Ends this process, and with it the run. */
static _Noreturn void leave(aphi_control *c, aphi_outcome outcome, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static _Noreturn void leave(aphi_control *c, aphi_outcome outcome, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(c->tape->detail, sizeof c->tape->detail, format, arguments);
    va_end(arguments);
    tape_waiting(c);
    c->tape->outcome = outcome;
    end_process();
}

static const char *thread_name(const aphi_control *c, unsigned number) { return c->group->threads[number]->name; }
static const char *port_name(const aphi_control *c, unsigned number) { return c->group->ports[number]->name; }

/* What the program does, where another event is forced, or none. */
static _Noreturn void diverge(aphi_control *c, unsigned thread, const aphi_forced *f, const char *does)
{
    const char *name = thread_name(c, thread);
    unsigned index = c->slots[thread].index + 1;
    c->tape->diverged = thread;
    if (!f)
        leave(c, APHI_OUTCOME_DIVERGED, "extra event: thread %s, event %u: the sequence has ended here, the program %s",
              name, index, does);
    if (f->op == APHI_LOCAL)
        leave(c, APHI_OUTCOME_DIVERGED,
              "missing event: thread %s, event %u: the sequence has local event %s, the program %s", name, index,
              f->label, does);
    leave(c, APHI_OUTCOME_DIVERGED,
          "missing event: thread %s, event %u: the sequence has %s %s %s %s %s, the program %s", name, index,
          op_names[f->op], port_name(c, f->port), f->label, f->op == APHI_SEND ? "to" : "from",
          thread_name(c, f->peer.thread), does);
}

/* ---- the tape ---------------------------------------------------------------------------------------------------- */

static aphi_taped *tape_event(aphi_control *c, unsigned thread, aphi_op op, const char *label, bool free)
{
    aphi_tape *t = c->tape;
    if (t->event_count >= c->order->events_max)
        leave(c, APHI_OUTCOME_ENDLESS, "more than %u events", t->event_count);
    aphi_taped *e = &t->events[t->event_count];
    *e = (aphi_taped){.op = op, .thread = thread, .free = free};
    aphi_threads_copy_label(e->label, label);
    t->event_count++;
    c->links[t->event_count] = (backlink){.previous = c->slots[thread].last};
    c->slots[thread].last = t->event_count;
    return e;
}

static const aphi_forced *next_forced(const aphi_control *c, unsigned thread)
{
    const aphi_orders *o = &c->order->threads[thread];
    size_t at = c->slots[thread].forced;
    return at < o->forced_count ? &o->forced[at] : NULL;
}

/* The thread has one event more. */
static void advance(aphi_control *c, unsigned thread)
{
    slot *s = &c->slots[thread];
    if (next_forced(c, thread))
        s->forced++;
    s->index++;
}

static void tape_send(aphi_control *c, unsigned thread, const aph_thread_port *to, const aph_message *m,
                      uint32_t peer_index)
{
    aphi_taped *e = tape_event(c, thread, APHI_SEND, m->label, !next_forced(c, thread));
    e->sync = m->sync;
    e->port = to->number;
    e->peer = (aphi_ref){to->owner->number, peer_index};
    e->payload = m->payload;
    advance(c, thread);
}

/* ---- who may take what ------------------------------------------------------------------------------------------- */

/* What must have come before a send in the queue of its port. */
static uint32_t ahead_of(const aphi_control *c, uint32_t place)
{
    const aphi_taped *e = &c->tape->events[place - 1];
    if (e->op != APHI_SEND || c->group->ports[e->port]->medium != APH_THREAD_FIFO_PORT)
        return 0;
    return e->peer.index ? c->links[place].ahead : c->left_last[e->port];
}

/* The receive without which there would be no room for one more message of the sender; 0: there is room. */
static uint32_t room_for(const aphi_control *c, const aph_thread *sender, const aph_thread_port *to)
{
    uint32_t place = 0, sent = 0, received = 0;
    for (uint32_t i = 0; i < c->tape->event_count; i++) {
        const aphi_taped *e = &c->tape->events[i];
        sent += e->op == APHI_SEND && !e->sync && e->port == to->number && e->thread == sender->number;
    }
    for (uint32_t i = 0; i < c->tape->event_count && received + to->capacity < sent + 1; i++) {
        const aphi_taped *e = &c->tape->events[i];
        if (e->op == APHI_RECEIVE && !e->sync && e->port == to->number && e->peer.thread == sender->number) {
            received++;
            place = i + 1;
        }
    }
    return place;
}

static bool reach(aphi_control *c, uint32_t i)
{
    const backlink *l = &c->links[i];
    bool entered = c->reached[l->previous] || c->reached[l->room] || c->entered[ahead_of(c, i)];
    bool reached = entered || c->reached[l->partner];
    bool more = (entered && !c->entered[i]) || (reached && !c->reached[i]);
    c->entered[i] |= entered;
    c->reached[i] |= reached;
    return more;
}

/* Must a, of those that are in the port, have come before b? Not a synchronous one: nothing follows from it yet. */
static bool precedes(aphi_control *c, const note *a, const note *b, const aph_thread_port *p)
{
    bool more = true;
    size_t size = (c->tape->event_count + 1) * sizeof *c->reached;
    if (a->message.sync)
        return false;
    memset(c->reached, 0, size);
    memset(c->entered, 0, size);
    c->reached[a->taped] = c->entered[a->taped] = true;
    while (more) {
        more = false;
        for (uint32_t i = 1; i <= c->tape->event_count; i++)
            more |= reach(c, i);
    }
    if (!b->message.sync)
        return c->entered[b->taped];
    return c->reached[c->slots[b->message.sender->number].last] || c->entered[c->left_last[p->number]];
}

static bool deliverable(aphi_control *c, const aph_thread_port *p, const note *n)
{
    if (p->medium == APH_THREAD_UNORDERED)
        return true;
    for (const note *before = c->queues[p->number]; before != n; before = before->next)
        if (before->message.sender == n->message.sender)
            return false;
    if (p->medium == APH_THREAD_FIFO_PAIR)
        return true;
    /* All others, as decisions may go against the order in which they were taped. */
    for (const note *other = c->queues[p->number]; other; other = other->next)
        if (other != n && precedes(c, other, n, p))
            return false;
    return true;
}

static bool is_excluded(const aphi_control *c, unsigned thread, const note *n)
{
    const aphi_orders *o = &c->order->threads[thread];
    if (c->slots[thread].index != o->forced_count)
        return false;
    for (size_t i = 0; i < o->excluded_count; i++)
        if (o->excluded[i].thread == n->message.sender->number && o->excluded[i].index == n->index)
            return true;
    return false;
}

/* All matches of a waiting thread, up to so many; *excluded counts those that are excluded beside. */
static size_t matches_of(aphi_control *c, unsigned thread, match *found, size_t most, size_t *excluded)
{
    const slot *s = &c->slots[thread];
    size_t n = 0;
    if (c->tape->waiting[thread].state != APHI_RECEIVES)
        return 0;
    for (size_t i = 0; i < s->count; i++) {
        const aph_thread_port *p = s->choices[i].port;
        for (note *m = c->queues[p->number]; m && n < most; m = m->next) {
            if (!aphi_threads_accepts(&s->choices[i], p, m->message.label)
                || !deliverable(c, p, m))
                continue;
            if (is_excluded(c, thread, m))
                ++*excluded;
            else
                found[n++] = (match){.thread = thread, .port = p, .note = m, .choice = (unsigned)i};
        }
    }
    return n;
}

/* ---- matching ---------------------------------------------------------------------------------------------------- */

static void release(aphi_control *c, unsigned thread)
{
    c->tape->waiting[thread].state = APHI_RUNS;
    c->slots[thread].go = true;
    c->running++;
    pthread_cond_signal(&c->slots[thread].granted);
}

static void unlink_note(note **queue, const note *n)
{
    while (*queue != n)
        queue = &(*queue)->next;
    *queue = n->next;
}

static void tape_receive(aphi_control *c, const match *m, const match *others, size_t count)
{
    slot *s = &c->slots[m->thread];
    aphi_taped *e = tape_event(c, m->thread, APHI_RECEIVE, m->note->message.label, !next_forced(c, m->thread));
    e->sync = m->note->message.sync;
    e->port = m->port->number;
    e->peer = (aphi_ref){m->note->message.sender->number, m->note->index};
    e->payload = m->note->message.payload;
    e->open_count = tape_open(c->tape, s->choices, s->count, &e->open);
    e->available = c->tape->item_count;
    for (size_t i = 0; i < count; i++)
        if (others[i].thread == m->thread) {
            const aph_message *message = &others[i].note->message;
            aphi_item item = {.port = others[i].port->number, .sync = message->sync};
            item.send = (aphi_ref){message->sender->number, others[i].note->index};
            memcpy(item.label, message->label, sizeof item.label);
            tape_item(c->tape, &item);
            e->available_count++;
        }
    advance(c, m->thread);
}

/* The last event on the tape is this receive. */
static void link_pair(aphi_control *c, const match *m)
{
    uint32_t receive = c->tape->event_count, send = m->note->message.sync ? receive - 1 : m->note->taped;
    c->links[receive].partner = send;
    if (m->note->message.sync)
        c->links[send].partner = receive;
    c->links[send].ahead = c->left_last[m->port->number];
    c->left_last[m->port->number] = send;
}

/* The thread takes the message; both sides go on. Others: all that could have been done instead. */
static void grant(aphi_control *c, const match *m, const match *others, size_t count)
{
    slot *s = &c->slots[m->thread];
    const aph_message *message = &m->note->message;
    unsigned sender = message->sender->number;
    if (message->sync)
        tape_send(c, sender, m->port, message, s->index + 1);
    else
        c->tape->events[m->note->taped - 1].peer.index = s->index + 1;
    tape_receive(c, m, others, count);
    link_pair(c, m);
    *s->message = *message;
    s->message->choice = m->choice;
    release(c, m->thread);
    if (message->sync) {
        release(c, sender);
    } else if (c->tape->waiting[sender].state == APHI_LACKS_ROOM && c->slots[sender].port == m->port) {
        release(c, sender);
    }
    unlink_note(&c->queues[m->port->number], m->note);
    free(m->note);
}

/* ---- deciding ---------------------------------------------------------------------------------------------------- */

enum { MATCHES_MAX = 4096 };

static bool prefix_is_done(const aphi_control *c)
{
    for (unsigned i = 0; i < c->group->thread_count; i++)
        if (next_forced(c, i))
            return false;
    return true;
}

/* The receive that is forced on this thread, if its message is there. */
static bool grant_forced(aphi_control *c, unsigned thread)
{
    const aphi_forced *f = next_forced(c, thread);
    const slot *s = &c->slots[thread];
    if (!f || f->op != APHI_RECEIVE || c->tape->waiting[thread].state != APHI_RECEIVES)
        return false;
    const aph_thread_port *p = c->group->ports[f->port];
    for (note *n = c->queues[f->port]; n; n = n->next) {
        if (n->message.sender->number != f->peer.thread || (f->peer.index && f->peer.index != n->index)
            || strcmp(n->message.label, f->label) || !deliverable(c, p, n))
            continue;
        match m = {.thread = thread, .port = p, .note = n};
        while (!aphi_threads_accepts(&s->choices[m.choice], p, f->label))
            m.choice++;
        grant(c, &m, NULL, 0);
        return true;
    }
    return false;
}

static _Noreturn void forced_is_missing(aphi_control *c)
{
    static const char *const does[] = {
        [APHI_RUNS] = "runs",
        [APHI_RECEIVES] = "waits for a message, and this one is not there",
        [APHI_SENDS] = "waits until its message is received",
        [APHI_LACKS_ROOM] = "waits for room at a port",
        [APHI_HAS_ENDED] = "has ended",
        [APHI_ABSENT] = "does not run",
    };
    unsigned i = 0;
    while (!next_forced(c, i))
        i++;
    diverge(c, i, next_forced(c, i), does[c->tape->waiting[i].state]);
}

static uint64_t draw(aphi_control *c, uint64_t below)
{
    uint64_t z = c->random += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return (z ^ z >> 31) % below;
}

/* " port label" for each choice that is open. */
static void add_choices(char *text, size_t size, const aph_choice *choices, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        size_t n = strlen(text);
        if (!choices[i].closed)
            snprintf(text + n, size - n, " %s %s", choices[i].port->name, choices[i].label ? choices[i].label : "*");
    }
}

static _Noreturn void deadlock(aphi_control *c)
{
    char text[sizeof c->tape->detail] = "";
    for (unsigned i = 0; i < c->group->thread_count; i++) {
        const aphi_waiting *w = &c->tape->waiting[i];
        const slot *s = &c->slots[i];
        size_t n = strlen(text);
        if (w->state >= APHI_HAS_ENDED)
            continue;
        snprintf(text + n, sizeof text - n, "%s%s waits to %s", n ? "; " : "", thread_name(c, i),
                 w->state == APHI_RECEIVES ? "receive" : "send");
        n = strlen(text);
        if (w->state == APHI_RECEIVES)
            add_choices(text, sizeof text, s->choices, s->count);
        else
            snprintf(text + n, sizeof text - n, " %s %s", s->port->name, w->label);
    }
    leave(c, APHI_OUTCOME_DEADLOCK, "%s", text);
}

/* Queues are in the order in which threads came to send, which differs from run to run; the seed must not see that. */
static int by_sender(const void *a, const void *b)
{
    const match *x = a, *y = b;
    unsigned from_x = x->note->message.sender->number, from_y = y->note->message.sender->number;
    if (x->thread != y->thread)
        return x->thread < y->thread ? -1 : 1;
    if (x->choice != y->choice)
        return x->choice < y->choice ? -1 : 1;
    if (from_x != from_y)
        return from_x < from_y ? -1 : 1;
    return (x->note->index > y->note->index) - (x->note->index < y->note->index);
}

static void decide_freely(aphi_control *c)
{
    static match found[MATCHES_MAX]; /* under the lock */
    size_t count = 0, excluded = 0;
    for (unsigned i = 0; i < c->group->thread_count; i++)
        count += matches_of(c, i, found + count, MATCHES_MAX - count, &excluded);
    if (count == MATCHES_MAX)
        aphi_threads_die("there are %d messages to choose from, too many to be controlled", MATCHES_MAX);
    qsort(found, count, sizeof *found, by_sender);
    if (count) {
        match m = found[c->order->seed ? draw(c, count) : 0];
        if (c->order->whole) {
            char does[128];
            snprintf(does, sizeof does, "can receive %s %s from %s", m.port->name, m.note->message.label,
                     m.note->message.sender->name);
            diverge(c, m.thread, NULL, does);
        }
        grant(c, &m, found, count);
    } else if (excluded) {
        leave(c, APHI_OUTCOME_BLOCKED, "what is left to receive is excluded");
    } else {
        deadlock(c);
    }
}

static bool all_ended(const aphi_control *c)
{
    for (unsigned i = 0; i < c->group->thread_count; i++)
        if (c->tape->waiting[i].state < APHI_HAS_ENDED)
            return false;
    return true;
}

/* Nobody runs: let somebody go on, or end the run. */
static void decide(aphi_control *c)
{
    if (!prefix_is_done(c)) {
        for (unsigned i = 0; i < c->group->thread_count && !c->running; i++)
            grant_forced(c, i);
        if (!c->running)
            forced_is_missing(c);
    } else if (!all_ended(c)) {
        decide_freely(c);
    }
}

/* The thread waits in this state until it is released. */
static void pause_in(aphi_control *c, aph_thread *self, aphi_state state)
{
    slot *s = &c->slots[self->number];
    c->tape->waiting[self->number].state = state;
    if (--c->running == 0)
        decide(c);
    while (!s->go)
        pthread_cond_wait(&s->granted, &c->lock);
    s->go = false;
}

/* ---- what threads do --------------------------------------------------------------------------------------------- */

static void check_label(const aph_thread *self, const char *label)
{
    size_t n = 0;
    while (n < APH_LABEL_MAX && label[n] > ' ' && label[n] < 127)
        n++;
    if (n == 0 || n == APH_LABEL_MAX || label[n] || !strcmp(label, "*"))
        aphi_threads_die("thread %s: the label \"%.40s\" is not 1 to %d printable characters without blanks, or is *",
                         self->name, label, APH_LABEL_MAX - 1);
}

static void check_forced(aphi_control *c, const aph_thread *self, aphi_op op, const aph_thread_port *port,
                         const char *label, bool sync)
{
    const aphi_forced *f = next_forced(c, self->number);
    char does[128];
    if (f && f->op == op && !strcmp(f->label, label) && (!port || (f->port == port->number && f->sync == sync)))
        return;
    if (!f && (!c->order->whole || (sync && c->order->alone < 0)))
        return;
    snprintf(does, sizeof does, "has %s%s %s%s%s", sync ? "synchronous " : "", op_names[op], port ? port->name : "",
             port ? " " : "", label);
    diverge(c, self->number, f, does);
}

static note *put_note(aphi_control *c, const aph_thread *self, const aph_thread_port *to, const aph_message *m)
{
    note *n = malloc(sizeof *n);
    if (!n)
        aphi_threads_die("out of memory");
    *n = (note){.message = *m, .index = c->slots[self->number].index + m->sync, .taped = c->tape->event_count};
    note **end = &c->queues[to->number];
    while (*end)
        end = &(*end)->next;
    return *end = n;
}

static bool has_room(const aphi_control *c, const aph_thread *self, const aph_thread_port *to)
{
    unsigned n = 0;
    for (const note *m = c->queues[to->number]; m; m = m->next)
        n += m->message.sender == self;
    return !to->capacity || n < to->capacity;
}

void aphi_control_send(aph_thread *self, aph_thread_port *to, const char *label, aph_payload payload, bool sync)
{
    aphi_control *c = self->group->control;
    aph_message m = {.payload = payload, .sender = self, .sync = sync};
    check_label(self, label);
    aphi_threads_copy_label(m.label, label);
    pthread_mutex_lock(&c->lock);
    /* One that waits for room has not happened: in a replay it may be there at the end. */
    bool waits = c->order->alone < 0 && !sync && !has_room(c, self, to);
    if (!waits || next_forced(c, self->number))
        check_forced(c, self, APHI_SEND, to, label, sync);
    c->slots[self->number].port = to;
    aphi_threads_copy_label(c->tape->waiting[self->number].label, label);
    c->tape->waiting[self->number].port = to->number;
    if (c->order->alone >= 0) {
        tape_send(c, self->number, to, &m, 0);
    } else if (sync) {
        put_note(c, self, to, &m);
        pause_in(c, self, APHI_SENDS);
    } else {
        while (!has_room(c, self, to))
            pause_in(c, self, APHI_LACKS_ROOM);
        if (waits)
            check_forced(c, self, APHI_SEND, to, label, sync);
        uint32_t room = to->capacity && to->medium == APH_THREAD_FIFO_PORT ? room_for(c, self, to) : 0;
        tape_send(c, self->number, to, &m, 0);
        c->links[c->tape->event_count].room = room;
        put_note(c, self, to, &m);
    }
    pthread_mutex_unlock(&c->lock);
}

/* What is forced must be among what the thread waits for. */
static void check_receive(aphi_control *c, const aph_thread *self, const aph_choice *choices, size_t count)
{
    const aphi_forced *f = next_forced(c, self->number);
    char does[200] = "receives";
    if (!f)
        return;
    for (size_t i = 0; i < count; i++)
        if (f->op == APHI_RECEIVE && aphi_threads_accepts(&choices[i], c->group->ports[f->port], f->label))
            return;
    add_choices(does, sizeof does, choices, count);
    diverge(c, self->number, f, does);
}

/* A thread that is run alone receives what its sequence says. */
static bool receive_alone(aphi_control *c, aph_thread *self, aph_message *m)
{
    const aphi_forced *f = next_forced(c, self->number);
    slot *s = &c->slots[self->number];
    if (!f)
        return false;
    *m = (aph_message){.sender = c->group->threads[f->peer.thread], .sync = f->sync};
    memcpy(m->label, f->label, sizeof m->label);
    for (size_t i = 0; i < c->order->sample_count; i++)
        if (c->order->samples[i].port == f->port && !strcmp(c->order->samples[i].label, f->label))
            m->payload = c->order->samples[i].payload;
    while (!aphi_threads_accepts(&s->choices[m->choice], c->group->ports[f->port], f->label))
        m->choice++;
    note n = {.message = *m, .index = f->peer.index};
    tape_receive(c, &(match){.thread = self->number, .port = c->group->ports[f->port], .note = &n}, NULL, 0);
    return true;
}

void aphi_control_select(aph_thread *self, const aph_choice *choices, size_t count, aph_message *m)
{
    aphi_control *c = self->group->control;
    slot *s = &c->slots[self->number];
    pthread_mutex_lock(&c->lock);
    check_receive(c, self, choices, count);
    s->choices = choices;
    s->count = count;
    s->message = m;
    if (c->order->alone < 0 || !receive_alone(c, self, m))
        pause_in(c, self, APHI_RECEIVES);
    pthread_mutex_unlock(&c->lock);
}

void aphi_control_event(aph_thread *self, const char *label)
{
    aphi_control *c = self->group->control;
    check_label(self, label);
    pthread_mutex_lock(&c->lock);
    check_forced(c, self, APHI_LOCAL, NULL, label, false);
    tape_event(c, self->number, APHI_LOCAL, label, !next_forced(c, self->number));
    advance(c, self->number);
    pthread_mutex_unlock(&c->lock);
}

void aphi_control_end(aph_thread *self)
{
    aphi_control *c = self->group->control;
    pthread_mutex_lock(&c->lock);
    const aphi_forced *f = next_forced(c, self->number);
    if (f)
        diverge(c, self->number, f, "ends");
    c->tape->waiting[self->number].state = APHI_HAS_ENDED;
    if (--c->running == 0)
        decide(c);
    pthread_mutex_unlock(&c->lock);
}

/* ---- a run ------------------------------------------------------------------------------------------------------- */

aphi_control *aphi_control_open(aph_threads *g, const aphi_order *order, aphi_tape *tape)
{
    aphi_control *c = calloc(1, sizeof *c);
    if (!c)
        aphi_threads_die("out of memory");
    pthread_mutex_init(&c->lock, NULL);
    c->group = g;
    c->order = order;
    c->tape = tape;
    c->random = order->seed;
    for (unsigned i = 0; i < g->thread_count; i++) {
        pthread_cond_init(&c->slots[i].granted, NULL);
        bool runs = order->alone < 0 || (unsigned)order->alone == i;
        tape->waiting[i].state = runs ? APHI_RUNS : APHI_ABSENT;
        c->running += runs;
    }
    return c;
}

void aphi_control_close(aphi_control *c)
{
    if (!c)
        return;
    for (size_t i = 0; i < APH_PORTS_MAX; i++)
        while (c->queues[i]) {
            note *n = c->queues[i];
            c->queues[i] = n->next;
            free(n);
        }
    free(c);
}

bool aphi_control_takes_part(const aph_thread *t)
{
    int alone = t->group->control->order->alone;
    return alone < 0 || (unsigned)alone == t->number;
}

void aphi_control_finish(aphi_control *c)
{
    c->tape->outcome = APHI_OUTCOME_ENDED;
}
