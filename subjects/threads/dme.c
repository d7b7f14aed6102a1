/* SPDX-License-Identifier: Apache-2.0
 *
 * dme.c - mutual exclusion of N processes with the Ricart-Agrawala algorithm; all messages are asynchronous.
 *
 * dme [N]        N from 2 to 6; default: 3
 *
 * Process i has three threads. D, its main program, gets a number from C, sends a request to all others, and enters
 * when all have replied. H, its helper, receives the requests of others and lets C decide. C, its coordinator, defers
 * requests later than its own until D has left. Numbers increase; of two equal numbers, that of the lower process is
 * earlier. */
#include <antiphon/threads.h>

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SIZE_MOST = 6 };

typedef struct process {
    int number;
    aph_thread_port *num, *rep, *req, *answer, *input;
} process;

static int size = 3;
static process processes[SIZE_MOST];
static atomic_int inside;

/* The payload of a request. */
static aph_payload numbers(int32_t number, int32_t from)
{
    return aph_payload_number((int64_t)number << 32 | from);
}
static int number_in(const aph_message *m) { return (int)(m->payload.number >> 32); }
static int process_in(const aph_message *m) { return (int)(m->payload.number & 0x7fffffff); }

static void reply_to(aph_thread *self, int other, int own)
{
    char label[APH_LABEL_MAX];
    snprintf(label, sizeof label, "rep(%d)", own);
    aph_thread_send(self, processes[other].rep, label, aph_payload_number(own));
}

/* ---- the main program -------------------------------------------------------------------------------------------- */

static void critical_section(aph_thread *self)
{
    aph_thread_event(self, "enter");
    if (atomic_fetch_add(&inside, 1) != 0)
        abort(); /* two processes are in the critical section */
    atomic_fetch_sub(&inside, 1);
    aph_thread_event(self, "leave");
}

static void main_program(aph_thread *self, void *argument)
{
    const process *p = argument;
    char label[APH_LABEL_MAX];
    aph_thread_send(self, p->input, "choose", aph_payload_number(0));
    int number = (int)aph_thread_receive(self, p->num).payload.number;
    for (int j = 0; j < size; j++)
        if (j != p->number) {
            snprintf(label, sizeof label, "req(%d,%d)", number, p->number);
            aph_thread_send(self, processes[j].req, label, numbers(number, p->number));
        }
    for (int replies = 0; replies < size - 1; replies++)
        aph_thread_receive(self, p->rep);
    critical_section(self);
    aph_thread_send(self, p->input, "reset", aph_payload_number(0));
}

/* ---- the helper -------------------------------------------------------------------------------------------------- */

static void helper(aph_thread *self, void *argument)
{
    const process *p = argument;
    char label[APH_LABEL_MAX];
    for (int heard = 0; heard < size - 1; heard++) {
        aph_message m = aph_thread_receive(self, p->req);
        snprintf(label, sizeof label, "decide(%d,%d)", number_in(&m), process_in(&m));
        aph_thread_send(self, p->input, label, m.payload);
        aph_message answer = aph_thread_receive(self, p->answer);
        if (!strcmp(answer.label, "reply"))
            reply_to(self, process_in(&m), p->number);
    }
}

/* ---- the coordinator --------------------------------------------------------------------------------------------- */

typedef struct knowledge {
    int number, high;
    bool requesting, deferred[SIZE_MOST];
} knowledge;

static void choose(aph_thread *self, const process *p, knowledge *k)
{
    char label[APH_LABEL_MAX];
    k->requesting = true;
    k->number = k->high + 1;
    snprintf(label, sizeof label, "num(%d)", k->number);
    aph_thread_send(self, p->num, label, aph_payload_number(k->number));
}

static void decide(aph_thread *self, const process *p, knowledge *k, int number, int from)
{
    bool defer = k->requesting && (k->number < number || (k->number == number && p->number < from));
    if (number > k->high)
        k->high = number;
    if (defer)
        k->deferred[from] = true;
    aph_thread_send(self, p->answer, defer ? "defer" : "reply", aph_payload_number(0));
}

static void reset(aph_thread *self, const process *p, knowledge *k)
{
    k->requesting = false;
    for (int j = 0; j < size; j++)
        if (k->deferred[j]) {
            k->deferred[j] = false;
            reply_to(self, j, p->number);
        }
}

static void coordinator(aph_thread *self, void *argument)
{
    const process *p = argument;
    knowledge k = {0};
    for (int i = 0; i < size + 1; i++) {
        aph_message m = aph_thread_receive(self, p->input);
        if (!strcmp(m.label, "choose"))
            choose(self, p, &k);
        else if (!strcmp(m.label, "reset"))
            reset(self, p, &k);
        else
            decide(self, p, &k, number_in(&m), process_in(&m));
    }
}

/* ---- all of it --------------------------------------------------------------------------------------------------- */

static aph_thread *add(aph_threads *group, char part, aph_body *body, process *p)
{
    char name[APH_LABEL_MAX];
    snprintf(name, sizeof name, "%c%d", part, p->number + 1);
    return aph_threads_add(group, name, body, p);
}

static aph_thread_port *port(aph_threads *group, const char *what, aph_thread *owner, const process *p)
{
    char name[APH_LABEL_MAX];
    snprintf(name, sizeof name, "%s%d", what, p->number + 1);
    return aph_threads_port(group, name, owner, APH_THREAD_FIFO_PAIR, 0);
}

static void set_up(aph_threads *group)
{
    for (int i = 0; i < size; i++) {
        process *p = &processes[i];
        p->number = i;
        aph_thread *d = add(group, 'D', main_program, p);
        aph_thread *h = add(group, 'H', helper, p);
        aph_thread *c = add(group, 'C', coordinator, p);
        p->num = port(group, "num", d, p);
        p->rep = port(group, "rep", d, p);
        p->req = port(group, "req", h, p);
        p->answer = port(group, "answer", h, p);
        p->input = port(group, "input", c, p);
    }
}

int main(int count, char **words)
{
    if (count > 1)
        size = atoi(words[1]);
    if (size < 2 || size > SIZE_MOST) {
        fprintf(stderr, "usage: dme [N], N from 2 to %d\n", SIZE_MOST);
        return 2;
    }
    aph_threads *group = aph_threads_open();
    set_up(group);
    aph_threads_run(group);
    aph_threads_close(group);
    return 0;
}
