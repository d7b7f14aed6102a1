/* SPDX-License-Identifier: Apache-2.0
 *
 * control.c - central scheduling of a controlled run.
 *
 * Idea:       the next events of a thread depend only on the messages that it received. So asynchronous sends and local
 *             events happen when threads reach them, and only receives are scheduled: a thread that reaches one waits.
 *             When all threads wait, the last one schedules the next receive: first the forced events, then choices
 *             drawn from the seed. At that time all possible messages have arrived. Threads are coroutines
 *             (coroutines.c): a thread runs until it waits or ends, then the next one that is ready.
 *
 *                 threads:   run --- receive, synchronous send, no room ---> wait
 *                             ^                                                |
 *                             +---- a message is matched: schedule_next() <-- all wait
 *
 * Invariants: 1. schedule_next() runs when no thread is `running`: all but the current one of these are ready. The lock
 *                is for the thread sanitizer, which takes coroutines for threads
 *             2. a free receive happens only after all forced events, so it cannot take a message meant for another
 *             3. the log is in a causal order
 * FIFO_PORT:  the order of sends in the queue of such a port is fixed when a message is received: it precedes all
 *             others in the queue. This order adds causes. A message can be received if no other message in the queue
 *             must precede it: then some order of sends explains all queues. A synchronous message is in the queue,
 *             too: it enters before its send is done.
 * Cost:       a switch of coroutines per receive. Matching is quadratic in the length of a queue; for FIFO_PORT, each
 *             pair of messages also costs a pass over the log, or more if receives reversed the order of sends. */
#include "control.h"

#include "coroutines.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

typedef struct queued_message { /* a message in transit */
    struct queued_message *next;
    aph_message message;
    uint32_t index;     /* index of the send within its thread */
    uint32_t log_index; /* for an asynchronous send: its index in the log, from 1 */
} queued_message;

typedef struct thread_slot {
    uint32_t index;              /* number of the thread's events */
    size_t forced;               /* number of forced events done */
    uint32_t last_event;         /* in the log, from 1; 0: none */
    const aph_choice *choices;
    size_t count;
    aph_message *message;
    const aph_thread_port *port; /* of a waiting send */
} thread_slot;

typedef struct causes { /* direct predecessors of an event: indices in the log, from 1; 0: none */
    uint32_t previous;     /* in its thread */
    uint32_t partner;      /* the send of a receive; also the other event of a synchronous pair */
    uint32_t predecessor;  /* of a send received from a FIFO_PORT port: the send received before it */
    uint32_t room_receive; /* for a send to such a port: the receive that freed its room */
} causes;

typedef struct match {
    unsigned thread;
    const aph_thread_port *port;
    queued_message *queued;
    unsigned choice;
} match;

struct aphi_control {
    pthread_mutex_t lock;
    aph_threads *group;
    const aphi_run_request *request;
    aphi_event_log *log;
    unsigned running;
    unsigned ready[APH_THREADS_MAX]; /* a ring: running threads in the order in which they continue */
    unsigned first_ready, ready_count;
    uint64_t random;
    thread_slot slots[APH_THREADS_MAX];
    queued_message *queues[APH_PORTS_MAX];
    uint32_t last_received[APH_PORTS_MAX]; /* by FIFO_PORT port: the send received last, in the log */
    causes causes_of[APHI_LOG_EVENTS_MAX + 1];
    bool reached[APHI_LOG_EVENTS_MAX + 1]; /* scratch of precedes(): events that follow */
    bool entered[APHI_LOG_EVENTS_MAX + 1]; /* scratch of precedes(): sends that enter their queue later */
};

/* ---- the end of a run -------------------------------------------------------------------------------------------- */

static const char *const op_names[] = {"send", "receive", "local event"};

/* Exits without cleanup: other threads still wait, and a leak checker would report their memory. */
static _Noreturn void end_process(void)
{
    for (;;)
        syscall(SYS_exit_group, 0);
}

static void log_item(aphi_event_log *t, const aphi_log_item *item)
{
    if (t->item_count == APHI_LOG_ITEMS_MAX) {
        t->outcome = APHI_OUTCOME_ENDLESS;
        snprintf(t->detail, sizeof t->detail, "the event log is full");
        end_process();
    }
    t->items[t->item_count++] = *item;
}

static uint32_t log_open_items(aphi_event_log *t, const aph_choice *choices, size_t count, uint32_t *first)
{
    uint32_t n = 0;
    *first = t->item_count;
    for (size_t i = 0; i < count; i++)
        if (!choices[i].closed) {
            aphi_log_item item = {.port = choices[i].port->number};
            aphi_threads_copy_label(item.label, choices[i].label ? choices[i].label : "*");
            log_item(t, &item);
            n++;
        }
    return n;
}

static void log_waiting(aphi_control *c)
{
    for (unsigned i = 0; i < c->group->thread_count; i++) {
        aphi_thread_wait *w = &c->log->waiting[i];
        const thread_slot *s = &c->slots[i];
        if (w->state == APHI_WAIT_RECEIVE)
            w->open_count = log_open_items(c->log, s->choices, s->count, &w->open);
    }
}

/* Ends the run and this process. */
static _Noreturn void end_run(aphi_control *c, aphi_outcome outcome, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static _Noreturn void end_run(aphi_control *c, aphi_outcome outcome, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(c->log->detail, sizeof c->log->detail, format, arguments);
    va_end(arguments);
    log_waiting(c);
    c->log->outcome = outcome;
    end_process();
}

static const char *thread_name(const aphi_control *c, unsigned number) { return c->group->threads[number]->name; }
static const char *port_name(const aphi_control *c, unsigned number) { return c->group->ports[number]->name; }

/* Ends the run, because the program does `action` instead of the forced event f, or after all of them (NULL). */
static _Noreturn void report_divergence(aphi_control *c, unsigned thread, const aphi_forced_event *f,
                                        const char *action)
{
    const char *name = thread_name(c, thread);
    unsigned index = c->slots[thread].index + 1;
    c->log->diverged_thread = thread;
    if (!f)
        end_run(c, APHI_OUTCOME_DIVERGED,
                "extra event: thread %s, event %u: the sequence has ended here, the program %s", name, index, action);
    if (f->op == APHI_LOCAL)
        end_run(c, APHI_OUTCOME_DIVERGED,
                "missing event: thread %s, event %u: the sequence has local event %s, the program %s", name, index,
                f->label, action);
    end_run(c, APHI_OUTCOME_DIVERGED,
            "missing event: thread %s, event %u: the sequence has %s %s %s %s %s, the program %s", name, index,
            op_names[f->op], port_name(c, f->port), f->label, f->op == APHI_SEND ? "to" : "from",
            thread_name(c, f->peer.thread), action);
}

/* ---- the log ----------------------------------------------------------------------------------------------------- */

static aphi_logged_event *log_event(aphi_control *c, unsigned thread, aphi_op op, const char *label, bool free)
{
    aphi_event_log *t = c->log;
    if (t->event_count >= c->request->events_max)
        end_run(c, APHI_OUTCOME_ENDLESS, "more than %u events", t->event_count);
    aphi_logged_event *e = &t->events[t->event_count];
    *e = (aphi_logged_event){.op = op, .thread = thread, .free = free};
    aphi_threads_copy_label(e->label, label);
    t->event_count++;
    c->causes_of[t->event_count] = (causes){.previous = c->slots[thread].last_event};
    c->slots[thread].last_event = t->event_count;
    return e;
}

static const aphi_forced_event *next_forced(const aphi_control *c, unsigned thread)
{
    const aphi_thread_request *o = &c->request->threads[thread];
    size_t at = c->slots[thread].forced;
    return at < o->forced_count ? &o->forced[at] : NULL;
}

static void count_event(aphi_control *c, unsigned thread)
{
    thread_slot *s = &c->slots[thread];
    if (next_forced(c, thread))
        s->forced++;
    s->index++;
}

static void log_send(aphi_control *c, unsigned thread, const aph_thread_port *to, const aph_message *m,
                     uint32_t peer_index)
{
    aphi_logged_event *e = log_event(c, thread, APHI_SEND, m->label, !next_forced(c, thread));
    e->sync = m->sync;
    e->port = to->number;
    e->peer = (aphi_event_ref){to->owner->number, peer_index};
    e->payload = m->payload;
    count_event(c, thread);
}

/* ---- possible receives ------------------------------------------------------------------------------------------- */

/* Returns the send that must directly precede a send in the queue of its port. */
static uint32_t predecessor_of(const aphi_control *c, uint32_t event)
{
    const aphi_logged_event *e = &c->log->events[event - 1];
    if (e->op != APHI_SEND || c->group->ports[e->port]->medium != APH_THREAD_FIFO_PORT)
        return 0;
    return e->peer.index ? c->causes_of[event].predecessor : c->last_received[e->port];
}

/* Returns the receive that freed room for the sender's next message, or 0 if there was room before. */
static uint32_t find_room_receive(const aphi_control *c, const aph_thread *sender, const aph_thread_port *to)
{
    uint32_t event = 0, sent = 0, received = 0;
    for (uint32_t i = 0; i < c->log->event_count; i++) {
        const aphi_logged_event *e = &c->log->events[i];
        sent += e->op == APHI_SEND && !e->sync && e->port == to->number && e->thread == sender->number;
    }
    for (uint32_t i = 0; i < c->log->event_count && received + to->capacity < sent + 1; i++) {
        const aphi_logged_event *e = &c->log->events[i];
        if (e->op == APHI_RECEIVE && !e->sync && e->port == to->number && e->peer.thread == sender->number) {
            received++;
            event = i + 1;
        }
    }
    return event;
}

static bool propagate_order(aphi_control *c, uint32_t i)
{
    const causes *l = &c->causes_of[i];
    bool entered = c->reached[l->previous] || c->reached[l->room_receive] || c->entered[predecessor_of(c, i)];
    bool reached = entered || c->reached[l->partner];
    bool more = (entered && !c->entered[i]) || (reached && !c->reached[i]);
    c->entered[i] |= entered;
    c->reached[i] |= reached;
    return more;
}

/* Returns true if a must precede b in the queue of the port. A synchronous a precedes nothing yet. */
static bool precedes(aphi_control *c, const queued_message *a, const queued_message *b, const aph_thread_port *p)
{
    bool more = true;
    size_t size = (c->log->event_count + 1) * sizeof *c->reached;
    if (a->message.sync)
        return false;
    memset(c->reached, 0, size);
    memset(c->entered, 0, size);
    c->reached[a->log_index] = c->entered[a->log_index] = true;
    while (more) {
        more = false;
        for (uint32_t i = 1; i <= c->log->event_count; i++)
            more |= propagate_order(c, i);
    }
    if (!b->message.sync)
        return c->entered[b->log_index];
    return c->reached[c->slots[b->message.sender->number].last_event] || c->entered[c->last_received[p->number]];
}

static bool is_deliverable(aphi_control *c, const aph_thread_port *p, const queued_message *n)
{
    if (p->medium == APH_THREAD_UNORDERED)
        return true;
    for (const queued_message *before = c->queues[p->number]; before != n; before = before->next)
        if (before->message.sender == n->message.sender)
            return false;
    if (p->medium == APH_THREAD_FIFO_PAIR)
        return true;
    /* Checks all messages, not only earlier ones: receives may have reversed the order of the log. */
    for (const queued_message *other = c->queues[p->number]; other; other = other->next)
        if (other != n && precedes(c, other, n, p))
            return false;
    return true;
}

static bool is_excluded(const aphi_control *c, unsigned thread, const queued_message *n)
{
    const aphi_thread_request *o = &c->request->threads[thread];
    if (c->slots[thread].index != o->forced_count)
        return false;
    for (size_t i = 0; i < o->excluded_count; i++)
        if (o->excluded[i].thread == n->message.sender->number && o->excluded[i].index == n->index)
            return true;
    return false;
}

/* Lists up to max matches of a waiting thread; adds the number of excluded ones to *excluded. */
static size_t list_matches(aphi_control *c, unsigned thread, match *found, size_t max, size_t *excluded)
{
    const thread_slot *s = &c->slots[thread];
    size_t n = 0;
    if (c->log->waiting[thread].state != APHI_WAIT_RECEIVE)
        return 0;
    for (size_t i = 0; i < s->count; i++) {
        const aph_thread_port *p = s->choices[i].port;
        for (queued_message *m = c->queues[p->number]; m && n < max; m = m->next) {
            if (!aphi_threads_accepts(&s->choices[i], p, m->message.label)
                || !is_deliverable(c, p, m))
                continue;
            if (is_excluded(c, thread, m))
                ++*excluded;
            else
                found[n++] = (match){.thread = thread, .port = p, .queued = m, .choice = (unsigned)i};
        }
    }
    return n;
}

/* ---- matching ---------------------------------------------------------------------------------------------------- */

static void add_ready(aphi_control *c, unsigned thread)
{
    c->ready[(c->first_ready + c->ready_count++) % APH_THREADS_MAX] = thread;
}

static void resume_thread(aphi_control *c, unsigned thread)
{
    c->log->waiting[thread].state = APHI_WAIT_NONE;
    c->running++;
    add_ready(c, thread);
}

/* Continues with the next thread that is ready, or with the caller of aphi_control_run when all threads have ended. */
static void switch_to_next(aphi_control *c, unsigned self)
{
    int next = APHI_COROUTINE_MAIN;
    if (c->ready_count) {
        next = (int)c->ready[c->first_ready];
        c->first_ready = (c->first_ready + 1) % APH_THREADS_MAX;
        c->ready_count--;
    }
    if (next == (int)self)
        return;
    pthread_mutex_unlock(&c->lock);
    aphi_coroutines_switch(next);
    pthread_mutex_lock(&c->lock);
}

static void remove_queued(queued_message **queue, const queued_message *n)
{
    while (*queue != n)
        queue = &(*queue)->next;
    *queue = n->next;
}

static void log_receive(aphi_control *c, const match *m, const match *others, size_t count)
{
    thread_slot *s = &c->slots[m->thread];
    aphi_logged_event *e = log_event(c, m->thread, APHI_RECEIVE, m->queued->message.label, !next_forced(c, m->thread));
    e->sync = m->queued->message.sync;
    e->port = m->port->number;
    e->peer = (aphi_event_ref){m->queued->message.sender->number, m->queued->index};
    e->payload = m->queued->message.payload;
    e->open_count = log_open_items(c->log, s->choices, s->count, &e->open);
    e->available = c->log->item_count;
    for (size_t i = 0; i < count; i++)
        if (others[i].thread == m->thread) {
            const aph_message *message = &others[i].queued->message;
            aphi_log_item item = {.port = others[i].port->number, .sync = message->sync};
            item.send = (aphi_event_ref){message->sender->number, others[i].queued->index};
            memcpy(item.label, message->label, sizeof item.label);
            log_item(c->log, &item);
            e->available_count++;
        }
    count_event(c, m->thread);
}

/* Sets the causes of a receive, the last event of the log, and of its send. */
static void link_receive(aphi_control *c, const match *m)
{
    uint32_t receive = c->log->event_count, send = m->queued->message.sync ? receive - 1 : m->queued->log_index;
    c->causes_of[receive].partner = send;
    if (m->queued->message.sync)
        c->causes_of[send].partner = receive;
    c->causes_of[send].predecessor = c->last_received[m->port->number];
    c->last_received[m->port->number] = send;
}

/* Delivers the message and resumes both threads. `others` has all possible matches. */
static void deliver_match(aphi_control *c, const match *m, const match *others, size_t count)
{
    thread_slot *s = &c->slots[m->thread];
    const aph_message *message = &m->queued->message;
    unsigned sender = message->sender->number;
    if (message->sync)
        log_send(c, sender, m->port, message, s->index + 1);
    else
        c->log->events[m->queued->log_index - 1].peer.index = s->index + 1;
    log_receive(c, m, others, count);
    link_receive(c, m);
    *s->message = *message;
    s->message->choice = m->choice;
    resume_thread(c, m->thread);
    if (message->sync) {
        resume_thread(c, sender);
    } else if (c->log->waiting[sender].state == APHI_WAIT_ROOM && c->slots[sender].port == m->port) {
        resume_thread(c, sender);
    }
    remove_queued(&c->queues[m->port->number], m->queued);
    free(m->queued);
}

/* ---- scheduling -------------------------------------------------------------------------------------------------- */

enum { MATCHES_MAX = 4096 };

static bool forced_events_done(const aphi_control *c)
{
    for (unsigned i = 0; i < c->group->thread_count; i++)
        if (next_forced(c, i))
            return false;
    return true;
}

/* Performs the forced receive of this thread, if its message is available. */
static bool deliver_forced(aphi_control *c, unsigned thread)
{
    const aphi_forced_event *f = next_forced(c, thread);
    const thread_slot *s = &c->slots[thread];
    if (!f || f->op != APHI_RECEIVE || c->log->waiting[thread].state != APHI_WAIT_RECEIVE)
        return false;
    const aph_thread_port *p = c->group->ports[f->port];
    for (queued_message *n = c->queues[f->port]; n; n = n->next) {
        if (n->message.sender->number != f->peer.thread || (f->peer.index && f->peer.index != n->index)
            || strcmp(n->message.label, f->label) || !is_deliverable(c, p, n))
            continue;
        match m = {.thread = thread, .port = p, .queued = n};
        while (!aphi_threads_accepts(&s->choices[m.choice], p, f->label))
            m.choice++;
        deliver_match(c, &m, NULL, 0);
        return true;
    }
    return false;
}

static _Noreturn void report_missing_event(aphi_control *c)
{
    static const char *const action[] = {
        [APHI_WAIT_NONE] = "runs",
        [APHI_WAIT_RECEIVE] = "waits for a message, but this one is not available",
        [APHI_WAIT_SYNC_SEND] = "waits until its message is received",
        [APHI_WAIT_ROOM] = "waits for room at a port",
        [APHI_WAIT_ENDED] = "has ended",
        [APHI_WAIT_ABSENT] = "does not run",
    };
    unsigned i = 0;
    while (!next_forced(c, i))
        i++;
    report_divergence(c, i, next_forced(c, i), action[c->log->waiting[i].state]);
}

static uint64_t random_below(aphi_control *c, uint64_t below)
{
    uint64_t z = c->random += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return (z ^ z >> 31) % below;
}

/* Appends " port label" for each open choice. */
static void append_choices(char *text, size_t size, const aph_choice *choices, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        size_t n = strlen(text);
        if (!choices[i].closed)
            snprintf(text + n, size - n, " %s %s", choices[i].port->name, choices[i].label ? choices[i].label : "*");
    }
}

static _Noreturn void report_deadlock(aphi_control *c)
{
    char text[sizeof c->log->detail] = "";
    for (unsigned i = 0; i < c->group->thread_count; i++) {
        const aphi_thread_wait *w = &c->log->waiting[i];
        const thread_slot *s = &c->slots[i];
        size_t n = strlen(text);
        if (w->state >= APHI_WAIT_ENDED)
            continue;
        snprintf(text + n, sizeof text - n, "%s%s waits to %s", n ? "; " : "", thread_name(c, i),
                 w->state == APHI_WAIT_RECEIVE ? "receive" : "send");
        n = strlen(text);
        if (w->state == APHI_WAIT_RECEIVE)
            append_choices(text, sizeof text, s->choices, s->count);
        else
            snprintf(text + n, sizeof text - n, " %s %s", s->port->name, w->label);
    }
    end_run(c, APHI_OUTCOME_DEADLOCK, "%s", text);
}

/* Queues are in sending order, which varies between runs; the effect of the seed must not depend on it. */
static int by_receiver_and_sender(const void *a, const void *b)
{
    const match *x = a, *y = b;
    unsigned from_x = x->queued->message.sender->number, from_y = y->queued->message.sender->number;
    if (x->thread != y->thread)
        return x->thread < y->thread ? -1 : 1;
    if (x->choice != y->choice)
        return x->choice < y->choice ? -1 : 1;
    if (from_x != from_y)
        return from_x < from_y ? -1 : 1;
    return (x->queued->index > y->queued->index) - (x->queued->index < y->queued->index);
}

static void schedule_free(aphi_control *c)
{
    static match found[MATCHES_MAX]; /* guarded by the lock */
    size_t count = 0, excluded = 0;
    for (unsigned i = 0; i < c->group->thread_count; i++)
        count += list_matches(c, i, found + count, MATCHES_MAX - count, &excluded);
    if (count == MATCHES_MAX)
        aphi_threads_abort("more than %d messages to choose from", MATCHES_MAX);
    qsort(found, count, sizeof *found, by_receiver_and_sender);
    if (count) {
        match m = found[c->request->seed ? random_below(c, count) : 0];
        if (c->request->replay) {
            char action[128];
            snprintf(action, sizeof action, "can receive %s %s from %s", m.port->name, m.queued->message.label,
                     m.queued->message.sender->name);
            report_divergence(c, m.thread, NULL, action);
        }
        deliver_match(c, &m, found, count);
    } else if (excluded) {
        end_run(c, APHI_OUTCOME_BLOCKED, "only excluded messages can be received");
    } else {
        report_deadlock(c);
    }
}

static bool all_ended(const aphi_control *c)
{
    for (unsigned i = 0; i < c->group->thread_count; i++)
        if (c->log->waiting[i].state < APHI_WAIT_ENDED)
            return false;
    return true;
}

/* Called when no thread runs: resumes one, or ends the run. */
static void schedule_next(aphi_control *c)
{
    if (!forced_events_done(c)) {
        for (unsigned i = 0; i < c->group->thread_count && !c->running; i++)
            deliver_forced(c, i);
        if (!c->running)
            report_missing_event(c);
    } else if (!all_ended(c)) {
        schedule_free(c);
    }
}

/* Waits in this state until the thread is resumed. */
static void wait_in(aphi_control *c, aph_thread *self, aphi_wait_state state)
{
    c->log->waiting[self->number].state = state;
    if (--c->running == 0)
        schedule_next(c);
    switch_to_next(c, self->number);
}

/* ---- operations -------------------------------------------------------------------------------------------------- */

static void check_label(const aph_thread *self, const char *label)
{
    size_t n = 0;
    while (n < APH_LABEL_MAX && label[n] > ' ' && label[n] < 127)
        n++;
    if (n == 0 || n == APH_LABEL_MAX || label[n] || !strcmp(label, "*"))
        aphi_threads_abort(
            "thread %s: the label \"%.40s\" must be 1 to %d printable characters without blanks, and not *", self->name,
            label, APH_LABEL_MAX - 1);
}

static void check_forced(aphi_control *c, const aph_thread *self, aphi_op op, const aph_thread_port *port,
                         const char *label, bool sync)
{
    const aphi_forced_event *f = next_forced(c, self->number);
    char action[128];
    if (f && f->op == op && !strcmp(f->label, label) && (!port || (f->port == port->number && f->sync == sync)))
        return;
    if (!f && (!c->request->replay || (sync && c->request->local_thread < 0)))
        return;
    snprintf(action, sizeof action, "has %s%s %s%s%s", sync ? "synchronous " : "", op_names[op], port ? port->name : "",
             port ? " " : "", label);
    report_divergence(c, self->number, f, action);
}

static queued_message *enqueue_message(aphi_control *c, const aph_thread *self, const aph_thread_port *to,
                                       const aph_message *m)
{
    queued_message *n = malloc(sizeof *n);
    if (!n)
        aphi_threads_abort("out of memory");
    *n = (queued_message){.message = *m, .index = c->slots[self->number].index + m->sync,
                          .log_index = c->log->event_count};
    queued_message **end = &c->queues[to->number];
    while (*end)
        end = &(*end)->next;
    return *end = n;
}

static bool has_room(const aphi_control *c, const aph_thread *self, const aph_thread_port *to)
{
    unsigned n = 0;
    for (const queued_message *m = c->queues[to->number]; m; m = m->next)
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
    /* A send that waits for room is not an event yet, so it is allowed at the end of a replay. */
    bool waits = c->request->local_thread < 0 && !sync && !has_room(c, self, to);
    if (!waits || next_forced(c, self->number))
        check_forced(c, self, APHI_SEND, to, label, sync);
    c->slots[self->number].port = to;
    aphi_threads_copy_label(c->log->waiting[self->number].label, label);
    c->log->waiting[self->number].port = to->number;
    if (c->request->local_thread >= 0) {
        log_send(c, self->number, to, &m, 0);
    } else if (sync) {
        enqueue_message(c, self, to, &m);
        wait_in(c, self, APHI_WAIT_SYNC_SEND);
    } else {
        while (!has_room(c, self, to))
            wait_in(c, self, APHI_WAIT_ROOM);
        if (waits)
            check_forced(c, self, APHI_SEND, to, label, sync);
        uint32_t room_receive = to->capacity && to->medium == APH_THREAD_FIFO_PORT ? find_room_receive(c, self, to) : 0;
        log_send(c, self->number, to, &m, 0);
        c->causes_of[c->log->event_count].room_receive = room_receive;
        enqueue_message(c, self, to, &m);
    }
    pthread_mutex_unlock(&c->lock);
}

/* Ends the run if the thread is not open to its forced receive. */
static void check_receive(aphi_control *c, const aph_thread *self, const aph_choice *choices, size_t count)
{
    const aphi_forced_event *f = next_forced(c, self->number);
    char action[200] = "receives";
    if (!f)
        return;
    for (size_t i = 0; i < count; i++)
        if (f->op == APHI_RECEIVE && aphi_threads_accepts(&choices[i], c->group->ports[f->port], f->label))
            return;
    append_choices(action, sizeof action, choices, count);
    report_divergence(c, self->number, f, action);
}

/* Supplies the forced message to a thread that runs alone. */
static bool receive_local(aphi_control *c, aph_thread *self, aph_message *m)
{
    const aphi_forced_event *f = next_forced(c, self->number);
    thread_slot *s = &c->slots[self->number];
    if (!f)
        return false;
    *m = (aph_message){.sender = c->group->threads[f->peer.thread], .sync = f->sync};
    memcpy(m->label, f->label, sizeof m->label);
    for (size_t i = 0; i < c->request->sample_count; i++)
        if (c->request->samples[i].port == f->port && !strcmp(c->request->samples[i].label, f->label))
            m->payload = c->request->samples[i].payload;
    while (!aphi_threads_accepts(&s->choices[m->choice], c->group->ports[f->port], f->label))
        m->choice++;
    queued_message n = {.message = *m, .index = f->peer.index};
    log_receive(c, &(match){.thread = self->number, .port = c->group->ports[f->port], .queued = &n}, NULL, 0);
    return true;
}

void aphi_control_select(aph_thread *self, const aph_choice *choices, size_t count, aph_message *m)
{
    aphi_control *c = self->group->control;
    thread_slot *s = &c->slots[self->number];
    pthread_mutex_lock(&c->lock);
    check_receive(c, self, choices, count);
    s->choices = choices;
    s->count = count;
    s->message = m;
    if (c->request->local_thread < 0 || !receive_local(c, self, m))
        wait_in(c, self, APHI_WAIT_RECEIVE);
    pthread_mutex_unlock(&c->lock);
}

void aphi_control_event(aph_thread *self, const char *label)
{
    aphi_control *c = self->group->control;
    check_label(self, label);
    pthread_mutex_lock(&c->lock);
    check_forced(c, self, APHI_LOCAL, NULL, label, false);
    log_event(c, self->number, APHI_LOCAL, label, !next_forced(c, self->number));
    count_event(c, self->number);
    pthread_mutex_unlock(&c->lock);
}

static void end_thread(aph_thread *self)
{
    aphi_control *c = self->group->control;
    pthread_mutex_lock(&c->lock);
    const aphi_forced_event *f = next_forced(c, self->number);
    if (f)
        report_divergence(c, self->number, f, "ends");
    c->log->waiting[self->number].state = APHI_WAIT_ENDED;
    if (--c->running == 0)
        schedule_next(c);
    switch_to_next(c, self->number);
}

/* ---- setup ------------------------------------------------------------------------------------------------------- */

aphi_control *aphi_control_open(aph_threads *g, const aphi_run_request *request, aphi_event_log *log)
{
    aphi_control *c = calloc(1, sizeof *c);
    if (!c)
        aphi_threads_abort("out of memory");
    pthread_mutex_init(&c->lock, NULL);
    c->group = g;
    c->request = request;
    c->log = log;
    c->random = request->seed;
    for (unsigned i = 0; i < g->thread_count; i++) {
        bool runs = request->local_thread < 0 || (unsigned)request->local_thread == i;
        log->waiting[i].state = APHI_WAIT_ABSENT;
        if (runs)
            resume_thread(c, i);
    }
    return c;
}

void aphi_control_close(aphi_control *c)
{
    if (!c)
        return;
    for (size_t i = 0; i < APH_PORTS_MAX; i++)
        while (c->queues[i]) {
            queued_message *n = c->queues[i];
            c->queues[i] = n->next;
            free(n);
        }
    free(c);
}

static void run_body(void *argument)
{
    aph_thread *self = argument;
    self->body(self, self->argument);
    end_thread(self);
}

void aphi_control_run(aphi_control *c)
{
    const aph_threads *g = c->group;
    for (unsigned i = 0; i < g->thread_count; i++)
        if (c->log->waiting[i].state != APHI_WAIT_ABSENT)
            aphi_coroutines_make(i, run_body, g->threads[i]);
    pthread_mutex_lock(&c->lock);
    if (c->ready_count)
        switch_to_next(c, UINT_MAX);
    pthread_mutex_unlock(&c->lock);
    for (unsigned i = 0; i < g->thread_count; i++)
        if (c->log->waiting[i].state != APHI_WAIT_ABSENT)
            aphi_coroutines_drop(i);
    c->log->outcome = APHI_OUTCOME_ENDED;
}
