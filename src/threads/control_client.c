/* SPDX-License-Identifier: Apache-2.0
 *
 * control_client.c - the controlled program's side of the protocol with antiphon.
 *
 * Idea:       the environment variable ANTIPHON_THREADS=IN,OUT names the descriptors of two pipes. The process forks
 *             for each request; the child runs the threads and logs events in shared memory. So a run costs a fork, not
 *             a program start, and a crash, hang or deadlock ends only one run.
 * Protocol:   lines of ASCII. Threads and ports are numbered in the order in which they were added.
 *
 *            program:    antiphon-threads 1 / thread NAME / port OWNER MEDIUM CAPACITY NAME / ready
 *           antiphon:    run SEED MS EVENTS REPLAY THREAD, then any number of
 *                            f THREAD OP SYNC PORT LABEL PEER INDEX     a forced event; OP s, r, l
 *                            x THREAD PEER INDEX                        an excluded send
 *                            m PORT LABEL HEX                           a payload
 *                        go
 *            program:    outcome NAME NUMBER DETAIL                     NUMBER: a signal, an exit code, a thread
 *                        e THREAD OP SYNC FREE PORT LABEL PEER INDEX HEX, and after a receive
 *                            o PORT LABEL                               an item of its OpenList
 *                            a PEER INDEX PORT LABEL SYNC               available to a free receive
 *                        w THREAD STATE PORT LABEL, and o lines         status at the end
 *                        done
 * Invariants: 1. the child does not use the pipes. 2. no child outlives its parent or its time limit */
#include "threads_internal.h"

#include "control.h"
#include "coroutines.h"

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
    aphi_event_log *log;
    aphi_run_request request;
} runner;

bool aphi_runner_wanted(void)
{
    const char *text = getenv(VARIABLE);
    return text && *text;
}

static void *reserve(void *array, size_t count, size_t *capacity, size_t size)
{
    if (count < *capacity)
        return array;
    *capacity = *capacity ? *capacity * 2 : 64;
    void *more = realloc(array, *capacity * size);
    if (!more)
        aphi_threads_abort("out of memory");
    return more;
}

/* ---- requests ---------------------------------------------------------------------------------------------------- */

static _Noreturn void fail_protocol(const char *line)
{
    aphi_threads_abort("unknown line from antiphon: %s; antiphon and this library must have the same version", line);
}

/* Reads a number and the blank after it; sscanf would take a large part of the time of a run. */
static unsigned next_number(const char *line, const char **at)
{
    char *end;
    unsigned long number = strtoul(*at, &end, 10);
    if (end == *at || number > UINT32_MAX || (*end && *end != ' ' && *end != '\n'))
        fail_protocol(line);
    *at = end + (*end == ' ');
    return (unsigned)number;
}

static void parse_forced(runner *r, const char *line)
{
    aphi_forced_event f = {0};
    const char *at = line + 2;
    unsigned thread = next_number(line, &at);
    char op = *at;
    at += op ? 2 : 0;
    unsigned sync = next_number(line, &at);
    f.port = next_number(line, &at);
    size_t n = strcspn(at, " \n");
    memcpy(f.label, at, n < sizeof f.label ? n : 0);
    at += n + (at[n] == ' ');
    f.peer.thread = next_number(line, &at);
    f.peer.index = next_number(line, &at);
    if (thread >= r->group->thread_count || (op != 'l' && f.port >= r->group->port_count) || n >= sizeof f.label ||
        f.peer.thread >= r->group->thread_count)
        fail_protocol(line);
    f.op = op == 's' ? APHI_SEND : op == 'r' ? APHI_RECEIVE : APHI_LOCAL;
    f.sync = sync;
    aphi_thread_request *o = &r->request.threads[thread];
    o->forced = reserve(o->forced, o->forced_count, &o->forced_capacity, sizeof f);
    o->forced[o->forced_count++] = f;
}

static void parse_excluded(runner *r, const char *line)
{
    aphi_event_ref x;
    const char *at = line + 2;
    unsigned thread = next_number(line, &at);
    x.thread = next_number(line, &at);
    x.index = next_number(line, &at);
    if (thread >= r->group->thread_count)
        fail_protocol(line);
    aphi_thread_request *o = &r->request.threads[thread];
    o->excluded = reserve(o->excluded, o->excluded_count, &o->excluded_capacity, sizeof x);
    o->excluded[o->excluded_count++] = x;
}

static void parse_sample(runner *r, const char *line)
{
    aphi_payload_sample s = {0};
    char hex[2 * sizeof s.payload.bytes + 1];
    if (sscanf(line, "m %u %31s %32s", &s.port, s.label, hex) != 3 || strlen(hex) != sizeof hex - 1)
        fail_protocol(line);
    for (size_t i = 0; i < sizeof s.payload.bytes; i++)
        if (sscanf(hex + 2 * i, "%2hhx", &s.payload.bytes[i]) != 1)
            fail_protocol(line);
    r->request.samples = reserve(r->request.samples, r->request.sample_count, &r->request.sample_capacity, sizeof s);
    r->request.samples[r->request.sample_count++] = s;
}

static void parse_run(runner *r, const char *line)
{
    aphi_run_request *o = &r->request;
    unsigned replay;
    if (sscanf(line, "run %" SCNu64 " %" SCNu64 " %" SCNu64 " %u %d", &o->seed, &o->time_ms, &o->events_max, &replay,
               &o->local_thread) != 5
        || o->local_thread >= (int)r->group->thread_count)
        fail_protocol(line);
    o->replay = replay;
    if (o->events_max > APHI_LOG_EVENTS_MAX)
        o->events_max = APHI_LOG_EVENTS_MAX;
    o->sample_count = 0;
    for (int i = 0; i < APH_THREADS_MAX; i++)
        o->threads[i].forced_count = o->threads[i].excluded_count = 0;
}

/* Returns false at the end of the input. */
static bool read_request(runner *r)
{
    char line[256];
    while (fgets(line, sizeof line, r->in)) {
        switch (line[0]) {
        case 'r': parse_run(r, line); break;
        case 'f': parse_forced(r, line); break;
        case 'x': parse_excluded(r, line); break;
        case 'm': parse_sample(r, line); break;
        case 'g': return true;
        default: fail_protocol(line);
        }
    }
    return false;
}

/* ---- recordings -------------------------------------------------------------------------------------------------- */

static const char *const mediums[] = {"pair", "port", "unordered"};
static const char *const states[] = {"runs", "receives", "sends", "room", "ended", "absent"};
static const char *const outcomes[] = {"none", "ended", "deadlock", "blocked", "diverged", "endless"};

static void write_layout(runner *r)
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

static void write_open_items(runner *r, uint32_t first, uint32_t count)
{
    for (uint32_t i = first; i < first + count; i++)
        fprintf(r->out, "o %u %s\n", r->log->items[i].port, r->log->items[i].label);
}

static void write_event(runner *r, const aphi_logged_event *e)
{
    fprintf(r->out, "e %u %c %d %d %u %s %u %" PRIu32 " ", e->thread, "srl"[e->op], e->sync, e->free, e->port,
            e->label, e->peer.thread, e->peer.index);
    for (size_t i = 0; i < sizeof e->payload.bytes; i++) {
        fputc("0123456789abcdef"[e->payload.bytes[i] >> 4], r->out);
        fputc("0123456789abcdef"[e->payload.bytes[i] & 15], r->out);
    }
    fputc('\n', r->out);
    write_open_items(r, e->open, e->open_count);
    for (uint32_t i = e->available; i < e->available + e->available_count; i++) {
        const aphi_log_item *a = &r->log->items[i];
        fprintf(r->out, "a %u %" PRIu32 " %u %s %d\n", a->send.thread, a->send.index, a->port, a->label, a->sync);
    }
}

static void write_outcome(runner *r, bool timed_out, int status)
{
    const aphi_event_log *t = r->log;
    if (timed_out)
        fprintf(r->out, "outcome endless 0 the run did not end within %" PRIu64 " ms\n", r->request.time_ms);
    else if (WIFSIGNALED(status))
        fprintf(r->out, "outcome crash %d %s\n", WTERMSIG(status), strsignal(WTERMSIG(status)));
    else if (WEXITSTATUS(status))
        fprintf(r->out, "outcome failed %d the program exited with code %d\n", WEXITSTATUS(status),
                WEXITSTATUS(status));
    else if (t->outcome == APHI_OUTCOME_NONE)
        fprintf(r->out, "outcome failed 0 the program exited before its threads did\n");
    else
        fprintf(r->out, "outcome %s %u %s\n", outcomes[t->outcome], t->diverged_thread, t->detail);
}

static void write_recording(runner *r, bool timed_out, int status)
{
    const aphi_event_log *t = r->log;
    write_outcome(r, timed_out, status);
    for (uint32_t i = 0; i < t->event_count; i++)
        write_event(r, &t->events[i]);
    for (unsigned i = 0; i < r->group->thread_count; i++) {
        const aphi_thread_wait *w = &t->waiting[i];
        fprintf(r->out, "w %u %s %u %s\n", i, states[w->state], w->port, *w->label ? w->label : "-");
        write_open_items(r, w->open, w->open_count);
    }
    fputs("done\n", r->out);
    fflush(r->out);
}

/* ---- running ----------------------------------------------------------------------------------------------------- */

/* Waits for the end of a run. Returns true if the run exceeded its time limit and was killed. */
static bool wait_for_child(pid_t child, uint64_t time_ms, int *status)
{
    int fd = (int)syscall(SYS_pidfd_open, child, 0);
    bool timed_out = false;
    if (fd >= 0) {
        struct pollfd p = {.fd = fd, .events = POLLIN};
        int n;
        while ((n = poll(&p, 1, (int)time_ms)) < 0 && errno == EINTR)
            continue;
        timed_out = n == 0;
        close(fd);
    }
    if (timed_out)
        kill(child, SIGKILL);
    while (waitpid(child, status, 0) < 0 && errno == EINTR)
        continue;
    return timed_out;
}

static void clear_log(aphi_event_log *t)
{
    t->outcome = APHI_OUTCOME_NONE;
    t->diverged_thread = 0;
    t->detail[0] = 0;
    t->event_count = t->item_count = 0;
    memset(t->waiting, 0, sizeof t->waiting);
}

/* Returns true in the child. */
static bool run_child(runner *r)
{
    int status = 0;
    clear_log(r->log);
    fflush(NULL);
    pid_t parent = getpid(), child = fork();
    if (child < 0)
        aphi_threads_abort("fork failed: %s", strerror(errno));
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent)
            _exit(0);
        close(fileno(r->in));
        close(fileno(r->out));
        return true;
    }
    bool timed_out = wait_for_child(child, r->request.time_ms, &status);
    write_recording(r, timed_out, status);
    return false;
}

void aphi_runner_serve(aph_threads *g)
{
    static runner r; /* used until the process ends */
    int in, out;
    if (sscanf(getenv(VARIABLE), "%d,%d", &in, &out) != 2 || fcntl(in, F_SETFD, FD_CLOEXEC) < 0
        || fcntl(out, F_SETFD, FD_CLOEXEC) < 0)
        aphi_threads_abort(VARIABLE "=%s does not name two open files; only antiphon may set this variable",
                           getenv(VARIABLE));
    unsetenv(VARIABLE);
    signal(SIGPIPE, SIG_DFL);
    r.group = g;
    r.in = fdopen(in, "r");
    r.out = fdopen(out, "w");
    r.log = mmap(NULL, sizeof *r.log, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (!r.in || !r.out || r.log == MAP_FAILED)
        aphi_threads_abort("out of memory");
    aphi_coroutines_reserve(g->thread_count);
    write_layout(&r);
    while (read_request(&r))
        if (run_child(&r)) {
            g->control = aphi_control_open(g, &r.request, r.log);
            return;
        }
    _exit(0);
}
