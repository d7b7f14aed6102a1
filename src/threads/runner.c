/* SPDX-License-Identifier: Apache-2.0
 *
 * runner.c - talks to antiphon, and starts a process for each run that it orders.
 *
 * Idea:       The environment (ANTIPHON_THREADS=IN,OUT) names two pipes. The process never runs its threads itself: for
 *             each order it forks, and the child runs, taping into memory that both share. So a run costs a fork, not
 *             the start of a program, and one that crashes, hangs or waits for ever is a run with a bad outcome.
 * Words:      all in lines of ASCII, threads and ports by number in the order in which they were added.
 *
 *                 we:    antiphon-threads 1 / thread NAME / port OWNER MEDIUM CAPACITY NAME / ready
 *                 it:    run SEED MS EVENTS WHOLE ALONE, then of any number
 *                            f THREAD OP SYNC PORT LABEL PEER INDEX     a forced event; OP s, r, l
 *                            x THREAD PEER INDEX                        a send that is excluded
 *                            m PORT LABEL HEX                           what a message carries
 *                        go
 *                 we:    outcome NAME NUMBER DETAIL                     NUMBER: a signal, an exit code, a thread
 *                        e THREAD OP SYNC FREE PORT LABEL PEER INDEX HEX, and after a receive
 *                            o PORT LABEL                               it was open to
 *                            a PEER INDEX PORT LABEL SYNC               available to a free one
 *                        w THREAD STATE PORT LABEL, and o lines         where threads are at the end
 *                        done
 * Invariants: 1. The child writes to neither pipe. 2. No child outlives us, nor its time. */
#include "runner.h"

#include "control.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define VARIABLE "ANTIPHON_THREADS"

typedef struct runner {
    aph_threads *group;
    FILE *in, *out;
    aphi_tape *tape;
    aphi_order order;
} runner;

bool aphi_runner_wanted(void)
{
    const char *text = getenv(VARIABLE);
    return text && *text;
}

static void *grown(void *array, size_t count, size_t *capacity, size_t size)
{
    if (count < *capacity)
        return array;
    *capacity = *capacity ? *capacity * 2 : 64;
    void *more = realloc(array, *capacity * size);
    if (!more)
        aphi_threads_die("out of memory");
    return more;
}

/* ---- reading an order -------------------------------------------------------------------------------------------- */

static _Noreturn void misunderstood(const char *line)
{
    aphi_threads_die("antiphon and this library do not understand each other: %s", line);
}

static void take_forced(runner *r, const char *line)
{
    aphi_forced f = {0};
    unsigned thread, sync;
    char op;
    if (sscanf(line, "f %u %c %u %u %31s %u %" SCNu32, &thread, &op, &sync, &f.port, f.label, &f.peer.thread,
               &f.peer.index) != 7
        || thread >= r->group->thread_count || (op != 'l' && f.port >= r->group->port_count)
        || f.peer.thread >= r->group->thread_count)
        misunderstood(line);
    f.op = op == 's' ? APHI_SEND : op == 'r' ? APHI_RECEIVE : APHI_LOCAL;
    f.sync = sync;
    aphi_orders *o = &r->order.threads[thread];
    o->forced = grown(o->forced, o->forced_count, &o->forced_capacity, sizeof f);
    o->forced[o->forced_count++] = f;
}

static void take_excluded(runner *r, const char *line)
{
    aphi_ref x;
    unsigned thread;
    if (sscanf(line, "x %u %u %" SCNu32, &thread, &x.thread, &x.index) != 3 || thread >= r->group->thread_count)
        misunderstood(line);
    aphi_orders *o = &r->order.threads[thread];
    o->excluded = grown(o->excluded, o->excluded_count, &o->excluded_capacity, sizeof x);
    o->excluded[o->excluded_count++] = x;
}

static void take_sample(runner *r, const char *line)
{
    aphi_sample s = {0};
    char hex[2 * sizeof s.payload.bytes + 1];
    if (sscanf(line, "m %u %31s %32s", &s.port, s.label, hex) != 3 || strlen(hex) != sizeof hex - 1)
        misunderstood(line);
    for (size_t i = 0; i < sizeof s.payload.bytes; i++)
        if (sscanf(hex + 2 * i, "%2hhx", &s.payload.bytes[i]) != 1)
            misunderstood(line);
    r->order.samples = grown(r->order.samples, r->order.sample_count, &r->order.sample_capacity, sizeof s);
    r->order.samples[r->order.sample_count++] = s;
}

static void take_run(runner *r, const char *line)
{
    aphi_order *o = &r->order;
    unsigned whole;
    if (sscanf(line, "run %" SCNu64 " %" SCNu64 " %" SCNu64 " %u %d", &o->seed, &o->time_ms, &o->events_max, &whole,
               &o->alone) != 5
        || o->alone >= (int)r->group->thread_count)
        misunderstood(line);
    o->whole = whole;
    if (o->events_max > APHI_TAPE_EVENTS)
        o->events_max = APHI_TAPE_EVENTS;
    o->sample_count = 0;
    for (int i = 0; i < APH_THREADS_MAX; i++)
        o->threads[i].forced_count = o->threads[i].excluded_count = 0;
}

/* False: there are no more. */
static bool read_order(runner *r)
{
    char line[256];
    while (fgets(line, sizeof line, r->in)) {
        switch (line[0]) {
        case 'r': take_run(r, line); break;
        case 'f': take_forced(r, line); break;
        case 'x': take_excluded(r, line); break;
        case 'm': take_sample(r, line); break;
        case 'g': return true;
        default: misunderstood(line);
        }
    }
    return false;
}

/* ---- reporting --------------------------------------------------------------------------------------------------- */

static const char *const mediums[] = {"pair", "port", "unordered"};
static const char *const states[] = {"runs", "receives", "sends", "room", "ended", "absent"};
static const char *const outcomes[] = {"none", "ended", "deadlock", "blocked", "diverged", "endless"};

static void introduce(runner *r)
{
    fputs("antiphon-threads 1\n", r->out);
    for (unsigned i = 0; i < r->group->thread_count; i++)
        fprintf(r->out, "thread %s\n", r->group->threads[i]->name);
    for (unsigned i = 0; i < r->group->port_count; i++) {
        const aph_thread_port *p = r->group->ports[i];
        fprintf(r->out, "port %u %s %u %s\n", p->owner->number, mediums[p->medium], p->capacity, p->name);
    }
    fputs("ready\n", r->out);
    fflush(r->out);
}

static void report_open(runner *r, uint32_t first, uint32_t count)
{
    for (uint32_t i = first; i < first + count; i++)
        fprintf(r->out, "o %u %s\n", r->tape->items[i].port, r->tape->items[i].label);
}

static void report_event(runner *r, const aphi_taped *e)
{
    fprintf(r->out, "e %u %c %d %d %u %s %u %" PRIu32 " ", e->thread, "srl"[e->op], e->sync, e->free, e->port,
            e->label, e->peer.thread, e->peer.index);
    for (size_t i = 0; i < sizeof e->payload.bytes; i++) {
        fputc("0123456789abcdef"[e->payload.bytes[i] >> 4], r->out);
        fputc("0123456789abcdef"[e->payload.bytes[i] & 15], r->out);
    }
    fputc('\n', r->out);
    report_open(r, e->open, e->open_count);
    for (uint32_t i = e->available; i < e->available + e->available_count; i++) {
        const aphi_item *a = &r->tape->items[i];
        fprintf(r->out, "a %u %" PRIu32 " %u %s %d\n", a->send.thread, a->send.index, a->port, a->label, a->sync);
    }
}

static void report_outcome(runner *r, bool late, int status)
{
    const aphi_tape *t = r->tape;
    if (late)
        fprintf(r->out, "outcome endless 0 it did not end within %" PRIu64 " ms\n", r->order.time_ms);
    else if (WIFSIGNALED(status))
        fprintf(r->out, "outcome crash %d %s\n", WTERMSIG(status), strsignal(WTERMSIG(status)));
    else if (WEXITSTATUS(status))
        fprintf(r->out, "outcome failed %d the program ended with exit code %d\n", WEXITSTATUS(status),
                WEXITSTATUS(status));
    else if (t->outcome == APHI_OUTCOME_NONE)
        fprintf(r->out, "outcome failed 0 the program ended before its threads did\n");
    else
        fprintf(r->out, "outcome %s %u %s\n", outcomes[t->outcome], t->diverged, t->detail);
}

static void report(runner *r, bool late, int status)
{
    const aphi_tape *t = r->tape;
    report_outcome(r, late, status);
    for (uint32_t i = 0; i < t->event_count; i++)
        report_event(r, &t->events[i]);
    for (unsigned i = 0; i < r->group->thread_count; i++) {
        const aphi_waiting *w = &t->waiting[i];
        fprintf(r->out, "w %u %s %u %s\n", i, states[w->state], w->port, *w->label ? w->label : "-");
        report_open(r, w->open, w->open_count);
    }
    fputs("done\n", r->out);
    fflush(r->out);
}

/* ---- running ----------------------------------------------------------------------------------------------------- */

/* Waits for the end of a run; true if it had to be ended. */
static bool wait_for(pid_t child, uint64_t time_ms, int *status)
{
    int fd = (int)syscall(SYS_pidfd_open, child, 0);
    bool late = false;
    if (fd >= 0) {
        struct pollfd p = {.fd = fd, .events = POLLIN};
        int n;
        while ((n = poll(&p, 1, (int)time_ms)) < 0 && errno == EINTR)
            continue;
        late = n == 0;
        close(fd);
    }
    if (late)
        kill(child, SIGKILL);
    while (waitpid(child, status, 0) < 0 && errno == EINTR)
        continue;
    return late;
}

static void clear_tape(aphi_tape *t)
{
    t->outcome = APHI_OUTCOME_NONE;
    t->diverged = 0;
    t->detail[0] = 0;
    t->event_count = t->item_count = 0;
    memset(t->waiting, 0, sizeof t->waiting);
}

/* True in the child. */
static bool run_one(runner *r)
{
    int status = 0;
    clear_tape(r->tape);
    fflush(NULL);
    pid_t parent = getpid(), child = fork();
    if (child < 0)
        aphi_threads_die("no process for a run: %s", strerror(errno));
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent)
            _exit(0);
        close(fileno(r->in));
        close(fileno(r->out));
        return true;
    }
    bool late = wait_for(child, r->order.time_ms, &status);
    report(r, late, status);
    return false;
}

void aphi_runner_serve(aph_threads *g)
{
    static runner r; /* it lives as long as the process */
    int in, out;
    if (sscanf(getenv(VARIABLE), "%d,%d", &in, &out) != 2 || fcntl(in, F_SETFD, FD_CLOEXEC) < 0
        || fcntl(out, F_SETFD, FD_CLOEXEC) < 0)
        aphi_threads_die(VARIABLE "=%s does not name two open files: it is for antiphon alone to set",
                         getenv(VARIABLE));
    unsetenv(VARIABLE);
    signal(SIGPIPE, SIG_DFL);
    r.group = g;
    r.in = fdopen(in, "r");
    r.out = fdopen(out, "w");
    r.tape = mmap(NULL, sizeof *r.tape, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (!r.in || !r.out || r.tape == MAP_FAILED)
        aphi_threads_die("no memory to be controlled with");
    introduce(&r);
    while (read_order(&r))
        if (run_one(&r)) {
            g->control = aphi_control_open(g, &r.order, r.tape);
            return;
        }
    _exit(0);
}
