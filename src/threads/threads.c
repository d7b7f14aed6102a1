/* SPDX-License-Identifier: Apache-2.0
 *
 * threads.c - public functions of the threads library, and uncontrolled runs: queues under a lock.
 *
 * Idea:       each thread has one lock for all its ports, so that a selective wait over many ports takes one lock and
 *             waits on one condition. A message is copied into a ring with its label: 64 bytes.
 * Invariants: 1. only the owner takes messages from a ring, and only other threads add to it, under the owner's lock
 *             2. a condition is signalled only if a thread waits on it; the lock guards this information
 * Cost:       a send or a receive is one lock, one copy, and a signal if the other side waits. Taking a message from
 *             the middle of a ring moves the messages before it.
 * Read next:  control.c for the same operations in controlled runs. */
#include "control.h"
#include "threads_internal.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RING_FIRST = 16 };

_Noreturn void aphi_threads_abort(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fputs("antiphon-threads: ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    abort();
}

static void *allocate(size_t n, size_t size)
{
    void *memory = calloc(n, size);
    if (!memory)
        aphi_threads_abort("out of memory");
    return memory;
}

/* ---- groups ------------------------------------------------------------------------------------------------------ */

static void set_name(char name[APH_LABEL_MAX], const char *kind, const char *text)
{
    size_t n = strlen(text);
    bool valid = n > 0 && n < APH_LABEL_MAX;
    for (size_t i = 0; valid && i < n; i++)
        valid = text[i] > ' ' && text[i] < 127;
    if (!valid)
        aphi_threads_abort("the %s name \"%s\" must be 1 to %d printable characters without blanks", kind, text,
                           APH_LABEL_MAX - 1);
    memcpy(name, text, n + 1);
}

aph_threads *aph_threads_open(void)
{
    return allocate(1, sizeof(aph_threads));
}

aph_thread *aph_threads_add(aph_threads *g, const char *name, aph_body *body, void *argument)
{
    if (g->thread_count == APH_THREADS_MAX)
        aphi_threads_abort("thread %s: a group can have at most %d threads", name, APH_THREADS_MAX);
    for (unsigned i = 0; i < g->thread_count; i++)
        if (!strcmp(g->threads[i]->name, name))
            aphi_threads_abort("duplicate thread name %s", name);
    aph_thread *t = allocate(1, sizeof *t);
    set_name(t->name, "thread", name);
    t->group = g;
    t->body = body;
    t->argument = argument;
    t->number = g->thread_count;
    pthread_mutex_init(&t->lock, NULL);
    pthread_cond_init(&t->arrived, NULL);
    pthread_cond_init(&t->received, NULL);
    return g->threads[g->thread_count++] = t;
}

aph_thread_port *aph_threads_port(aph_threads *g, const char *name, aph_thread *owner, aph_thread_medium medium,
                                  unsigned capacity)
{
    if (g->port_count == APH_PORTS_MAX)
        aphi_threads_abort("port %s: a group can have at most %d ports", name, APH_PORTS_MAX);
    for (unsigned i = 0; i < g->port_count; i++)
        if (!strcmp(g->ports[i]->name, name))
            aphi_threads_abort("duplicate port name %s", name);
    aph_thread_port *p = allocate(1, sizeof *p);
    set_name(p->name, "port", name);
    p->owner = owner;
    p->medium = medium;
    p->capacity = capacity;
    p->number = g->port_count;
    p->size = RING_FIRST;
    p->ring = allocate(p->size, sizeof *p->ring);
    p->in_transit = allocate(APH_THREADS_MAX, sizeof *p->in_transit);
    p->sync_received = allocate(APH_THREADS_MAX, sizeof *p->sync_received);
    return g->ports[g->port_count++] = p;
}

void aph_threads_close(aph_threads *g)
{
    for (unsigned i = 0; i < g->port_count; i++) {
        free(g->ports[i]->ring);
        free(g->ports[i]->in_transit);
        free(g->ports[i]->sync_received);
        free(g->ports[i]);
    }
    for (unsigned i = 0; i < g->thread_count; i++) {
        pthread_mutex_destroy(&g->threads[i]->lock);
        pthread_cond_destroy(&g->threads[i]->arrived);
        pthread_cond_destroy(&g->threads[i]->received);
        free(g->threads[i]);
    }
    aphi_control_close(g->control);
    free(g);
}

bool aph_threads_controlled(const aph_threads *g) { return g->control; }
const char *aph_thread_name(const aph_thread *thread) { return thread->name; }

static void *thread_main(void *argument)
{
    aph_thread *self = argument;
    self->body(self, self->argument);
    return NULL;
}

static void run_threads(aph_threads *g)
{
    for (unsigned i = 0; i < g->thread_count; i++)
        if (pthread_create(&g->threads[i]->id, NULL, thread_main, g->threads[i]))
            aphi_threads_abort("thread %s cannot be started", g->threads[i]->name);
    for (unsigned i = 0; i < g->thread_count; i++)
        pthread_join(g->threads[i]->id, NULL);
}

void aph_threads_run(aph_threads *g)
{
    if (g->ran)
        aphi_threads_abort("a group can run only once");
    g->ran = true;
    if (aphi_runner_wanted())
        aphi_runner_serve(g); /* returns only in the forked process of a controlled run */
    if (g->control)
        aphi_control_run(g->control);
    else
        run_threads(g);
}

/* ---- sending ----------------------------------------------------------------------------------------------------- */

static void check_send(const aph_thread *self, const aph_thread_port *to)
{
    if (to->owner == self)
        aphi_threads_abort("thread %s sends to its own port %s", self->name, to->name);
}

static void grow_ring(aph_thread_port *p)
{
    aph_message *ring = allocate(p->size * 2, sizeof *ring);
    for (size_t i = 0; i < p->count; i++)
        ring[i] = p->ring[(p->first + i) & (p->size - 1)];
    free(p->ring);
    p->ring = ring;
    p->size *= 2;
    p->first = 0;
}

void aphi_threads_copy_label(char to[APH_LABEL_MAX], const char *label)
{
    size_t n = strnlen(label, APH_LABEL_MAX);
    if (n == APH_LABEL_MAX)
        aphi_threads_abort("the label %.*s... is longer than %d bytes", APH_LABEL_MAX, label,
                           APH_LABEL_MAX - 1);
    memcpy(to, label, n + 1);
}

/* The lock is held. */
static void append_message(aph_thread *self, aph_thread_port *to, const char *label, aph_payload payload, bool sync)
{
    if (to->count == to->size)
        grow_ring(to);
    aph_message *m = &to->ring[(to->first + to->count) & (to->size - 1)];
    aphi_threads_copy_label(m->label, label);
    m->payload = payload;
    m->sender = self;
    m->sync = sync;
    to->count++;
}

static void wait_for_receive(aph_thread *owner)
{
    owner->senders_waiting++;
    pthread_cond_wait(&owner->received, &owner->lock);
    owner->senders_waiting--;
}

void aph_thread_send(aph_thread *self, aph_thread_port *to, const char *label, aph_payload payload)
{
    check_send(self, to);
    if (self->group->control) {
        aphi_control_send(self, to, label, payload, false);
        return;
    }
    aph_thread *owner = to->owner;
    pthread_mutex_lock(&owner->lock);
    if (to->capacity) {
        while (to->in_transit[self->number] == to->capacity)
            wait_for_receive(owner);
        to->in_transit[self->number]++;
    }
    append_message(self, to, label, payload, false);
    bool wake = owner->waiting;
    owner->waiting = false;
    pthread_mutex_unlock(&owner->lock);
    if (wake)
        pthread_cond_signal(&owner->arrived);
}

void aph_thread_send_sync(aph_thread *self, aph_thread_port *to, const char *label, aph_payload payload)
{
    check_send(self, to);
    if (self->group->control) {
        aphi_control_send(self, to, label, payload, true);
        return;
    }
    aph_thread *owner = to->owner;
    pthread_mutex_lock(&owner->lock);
    append_message(self, to, label, payload, true);
    uint64_t before = to->sync_received[self->number];
    owner->waiting = false;
    pthread_cond_signal(&owner->arrived);
    while (to->sync_received[self->number] == before)
        wait_for_receive(owner);
    pthread_mutex_unlock(&owner->lock);
}

/* ---- receiving --------------------------------------------------------------------------------------------------- */

bool aphi_threads_accepts(const aph_choice *c, const aph_thread_port *port, const char *label)
{
    return !c->closed && c->port == port && (!c->label || !strcmp(c->label, label));
}

/* Returns true if the medium allows the i-th message of the ring to be received next. */
static bool is_deliverable(const aph_thread_port *p, size_t i)
{
    const aph_message *m = &p->ring[(p->first + i) & (p->size - 1)];
    if (p->medium != APH_THREAD_FIFO_PAIR)
        return p->medium == APH_THREAD_UNORDERED || i == 0;
    for (size_t k = 0; k < i; k++)
        if (p->ring[(p->first + k) & (p->size - 1)].sender == m->sender)
            return false;
    return true;
}

static void take_message(aph_thread_port *p, size_t i, aph_message *m)
{
    *m = p->ring[(p->first + i) & (p->size - 1)];
    for (; i > 0; i--)
        p->ring[(p->first + i) & (p->size - 1)] = p->ring[(p->first + i - 1) & (p->size - 1)];
    p->first = (p->first + 1) & (p->size - 1);
    p->count--;
    if (m->sync)
        p->sync_received[m->sender->number]++;
    else if (p->capacity)
        p->in_transit[m->sender->number]--;
}

static bool take_first(const aph_choice *choices, size_t count, aph_message *m)
{
    for (size_t c = 0; c < count; c++) {
        aph_thread_port *p = choices[c].port;
        if (choices[c].closed)
            continue;
        for (size_t i = 0; i < p->count; i++)
            if (aphi_threads_accepts(&choices[c], p, p->ring[(p->first + i) & (p->size - 1)].label)
                && is_deliverable(p, i)) {
                take_message(p, i, m);
                m->choice = (unsigned)c;
                return true;
            }
    }
    return false;
}

static void check_choices(const aph_thread *self, const aph_choice *choices, size_t count)
{
    bool open = false;
    if (count > APH_CHOICES_MAX)
        aphi_threads_abort("thread %s selects from more than %d choices", self->name, APH_CHOICES_MAX);
    for (size_t i = 0; i < count; i++) {
        if (choices[i].port->owner != self)
            aphi_threads_abort("thread %s receives from port %s, which belongs to %s", self->name,
                               choices[i].port->name, choices[i].port->owner->name);
        if (choices[i].label && choices[i].port->medium == APH_THREAD_FIFO_PORT)
            aphi_threads_abort("thread %s receives label %s from port %s, which is one FIFO queue; receive any label",
                               self->name, choices[i].label, choices[i].port->name);
        open |= !choices[i].closed;
        for (size_t k = 0; k < i; k++)
            if (!choices[i].closed && !choices[k].closed && choices[i].port == choices[k].port
                && (!choices[i].label || !choices[k].label || !strcmp(choices[i].label, choices[k].label)))
                aphi_threads_abort("thread %s has two overlapping open choices on port %s",
                                   self->name, choices[i].port->name);
    }
    if (!open)
        aphi_threads_abort("thread %s selects without an open choice", self->name);
}

aph_message aph_thread_select(aph_thread *self, const aph_choice *choices, size_t count)
{
    aph_message m;
    check_choices(self, choices, count);
    if (self->group->control) {
        aphi_control_select(self, choices, count, &m);
        return m;
    }
    pthread_mutex_lock(&self->lock);
    while (!take_first(choices, count, &m)) {
        self->waiting = true;
        pthread_cond_wait(&self->arrived, &self->lock);
    }
    self->waiting = false;
    bool wake = self->senders_waiting > 0;
    pthread_mutex_unlock(&self->lock);
    if (wake)
        pthread_cond_broadcast(&self->received);
    return m;
}

aph_message aph_thread_receive(aph_thread *self, aph_thread_port *from)
{
    return aph_thread_select(self, &(aph_choice){.port = from}, 1);
}

aph_message aph_thread_receive_label(aph_thread *self, aph_thread_port *from, const char *label)
{
    return aph_thread_select(self, &(aph_choice){.port = from, .label = label}, 1);
}

void aph_thread_event(aph_thread *self, const char *label)
{
    if (self->group->control)
        aphi_control_event(self, label);
}
