/* SPDX-License-Identifier: Apache-2.0
 *
 * program_run.c - a program on the threads library, started under control.
 *
 * Idea:       Two pipes, named in ANTIPHON_THREADS; src/threads/runner.c lists the words that are spoken. The program
 *             times its runs itself; should it not answer, a grace later it is killed, with all of its process group.
 * Invariants: 1. What the program writes is not trusted: numbers are checked against the cast.
 *             2. Nothing outlives aphi_program_close; if we are killed, the program is, too. */
#include "execute/program_run.h"

#include "base/clock.h"
#include "base/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { GRACE_MS = 10000, LINE = 1024, LOOK_MS = 100 /* between two looks at *stop */ };

struct aphi_program {
    pid_t pid;
    int to, from;
    char buffer[1 << 16];
    size_t at, end;
    aphi_cast cast;
    aphi_buffer order;
    const volatile sig_atomic_t *stop; /* or NULL */
};

static bool fail(char *error, size_t size, const char *format, ...) __attribute__((format(printf, 3, 4)));
static bool fail(char *error, size_t size, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(error, size, format, arguments);
    va_end(arguments);
    return false;
}

/* ---- reading lines ----------------------------------------------------------------------------------------------- */

typedef enum heard { HEARD_LINE, HEARD_END, HEARD_NOTHING } heard;

static heard fill(aphi_program *p, int64_t deadline_ns)
{
    for (;;) {
        int64_t left = (deadline_ns - aphi_clock_ns()) / 1000000;
        struct pollfd wait = {.fd = p->from, .events = POLLIN};
        if (p->stop && *p->stop)
            return HEARD_NOTHING;
        int n = left <= 0 ? 0 : poll(&wait, 1, left > LOOK_MS ? LOOK_MS : (int)left);
        if (n < 0 && errno == EINTR)
            continue;
        if (n == 0 && left <= 0)
            return HEARD_NOTHING;
        if (n == 0)
            continue;
        ssize_t got = read(p->from, p->buffer, sizeof p->buffer);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return HEARD_END;
        p->at = 0;
        p->end = (size_t)got;
        return HEARD_LINE;
    }
}

/* A line without its end; one that is too long is cut. */
static heard hear(aphi_program *p, char line[LINE], int64_t deadline_ns)
{
    size_t n = 0;
    for (;;) {
        if (p->at == p->end) {
            heard h = fill(p, deadline_ns);
            if (h != HEARD_LINE)
                return h;
        }
        char c = p->buffer[p->at++];
        if (c == '\n')
            break;
        if (n < LINE - 1)
            line[n++] = c;
    }
    line[n] = 0;
    return HEARD_LINE;
}

/* ---- starting ---------------------------------------------------------------------------------------------------- */

static _Noreturn void become(char *const *words, int in, int out, int told)
{
    char variable[64];
    int nothing = open("/dev/null", O_RDONLY);
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    dup2(nothing, 0);
    dup2(2, 1);
    fcntl(in, F_SETFD, 0);
    fcntl(out, F_SETFD, 0);
    snprintf(variable, sizeof variable, "%d,%d", in, out);
    setenv("ANTIPHON_THREADS", variable, 1);
    execvp(words[0], words);
    int number = errno;
    if (write(told, &number, sizeof number) < 0)
        _exit(126);
    _exit(127);
}

/* The error of exec, 0 if it went well. */
static int exec_error(int fd)
{
    int number = 0;
    ssize_t n;
    while ((n = read(fd, &number, sizeof number)) < 0 && errno == EINTR)
        continue;
    close(fd);
    return n == sizeof number ? number : 0;
}

static bool start(aphi_program *p, char *const *words, char *error, size_t size)
{
    int to[2], from[2], told[2];
    if (pipe2(to, O_CLOEXEC) < 0 || pipe2(from, O_CLOEXEC) < 0 || pipe2(told, O_CLOEXEC) < 0)
        return fail(error, size, "no pipe to %s: %s", words[0], strerror(errno));
    fflush(NULL);
    p->pid = fork();
    if (p->pid == 0)
        become(words, to[0], from[1], told[1]);
    close(to[0]);
    close(from[1]);
    close(told[1]);
    p->to = to[1];
    p->from = from[0];
    if (p->pid < 0)
        return fail(error, size, "%s cannot be started: %s", words[0], strerror(errno));
    setpgid(p->pid, p->pid);
    int number = exec_error(told[0]);
    if (number)
        return fail(error, size, "%s cannot be started: %s", words[0], strerror(number));
    return true;
}

static bool take_port(aphi_cast *c, const char *line)
{
    static const char *const mediums[] = {"pair", "port", "unordered"};
    unsigned owner;
    uint32_t capacity;
    char medium[16], name[64];
    if (sscanf(line, "port %u %15s %" SCNu32 " %63s", &owner, medium, &capacity, name) != 4 || owner >= c->thread_count)
        return false;
    for (unsigned i = 0; i < 3; i++)
        if (!strcmp(medium, mediums[i])) {
            aphi_cast_add_port(c, name, (uint16_t)owner, (aphi_cast_medium)i, capacity);
            return true;
        }
    return false;
}

static bool meet(aphi_program *p, const char *name, uint64_t time_ms, char *error, size_t size)
{
    static const char hint[] = "is it linked with libantiphon-threads, and does it call aph_threads_run?";
    char line[LINE];
    int64_t deadline = aphi_clock_ns() + (int64_t)(time_ms + GRACE_MS / 10) * 1000000;
    bool first = true;
    for (;; first = false) {
        switch (hear(p, line, deadline)) {
        case HEARD_END: return fail(error, size, "%s ended before it ran its threads: %s", name, hint);
        case HEARD_NOTHING: return fail(error, size, "%s did not run its threads within %" PRIu64 " ms: %s", name,
                                        time_ms + GRACE_MS / 10, hint);
        default: break;
        }
        bool understood = first ? !strcmp(line, "antiphon-threads 1") : true;
        if (!first && !strcmp(line, "ready"))
            return true;
        if (!first && !strncmp(line, "thread ", 7) && p->cast.thread_count < APHI_CAST_THREADS_MAX)
            aphi_cast_add_thread(&p->cast, line + 7);
        else if (!first)
            understood = take_port(&p->cast, line);
        if (!understood)
            return fail(error, size, "%s says what is not understood: %.200s", name, line);
    }
}

aphi_program *aphi_program_open(char *const *words, uint64_t time_ms, char *error, size_t size)
{
    aphi_program *p = aphi_alloc_zero(sizeof *p);
    p->pid = p->to = p->from = -1;
    if (start(p, words, error, size) && meet(p, words[0], time_ms, error, size)) {
        aphi_cast_label(&p->cast, "*");
        return p;
    }
    aphi_program_close(p);
    return NULL;
}

void aphi_program_close(aphi_program *p)
{
    if (!p)
        return;
    if (p->to >= 0)
        close(p->to);
    if (p->from >= 0)
        close(p->from);
    if (p->pid > 0) {
        kill(-p->pid, SIGKILL);
        while (waitpid(p->pid, NULL, 0) < 0 && errno == EINTR)
            continue;
    }
    aphi_cast_free(&p->cast);
    aphi_buffer_free(&p->order);
    free(p);
}

aphi_cast *aphi_program_cast(aphi_program *p)
{
    return &p->cast;
}

/* ---- ordering ---------------------------------------------------------------------------------------------------- */

aphi_program_order aphi_program_freely(uint64_t seed, uint64_t time_ms)
{
    return (aphi_program_order){.seed = seed, .time_ms = time_ms, .events_max = 100000, .alone = -1};
}

static void write_order(aphi_program *p, const aphi_program_order *o)
{
    aphi_buffer *b = &p->order;
    b->n = 0;
    aphi_buffer_format(b, "run %" PRIu64 " %" PRIu64 " %" PRIu64 " %d %d\n", o->seed, o->time_ms, o->events_max,
                       o->whole, o->alone);
    for (size_t i = 0; i < o->forced_count; i++) {
        const aphi_recorded *e = &o->forced[i];
        aphi_buffer_format(b, "f %u %c %d %u %s %u %" PRIu32 "\n", e->at.thread, "srl"[e->did], e->sync, e->port,
                           p->cast.labels[e->label], e->peer.thread, e->peer.index);
    }
    for (size_t i = 0; i < o->excluded_count; i++)
        aphi_buffer_format(b, "x %u %u %" PRIu32 "\n", o->excluded[i].thread, o->excluded[i].send.thread,
                           o->excluded[i].send.index);
    for (size_t i = 0; i < o->sample_count; i++) {
        aphi_buffer_format(b, "m %u %s ", o->samples[i].port, p->cast.labels[o->samples[i].label]);
        for (size_t k = 0; k < sizeof o->samples[i].payload; k++)
            aphi_buffer_format(b, "%02x", o->samples[i].payload[k]);
        aphi_buffer_byte(b, '\n');
    }
    aphi_buffer_str(b, "go\n");
}

static bool send_order(aphi_program *p, const aphi_program_order *o)
{
    struct sigaction quiet = {.sa_handler = SIG_IGN}, before;
    write_order(p, o);
    sigaction(SIGPIPE, &quiet, &before);
    bool sent = true;
    for (size_t at = 0; at < p->order.n && sent;) {
        ssize_t n = write(p->to, p->order.data + at, p->order.n - at);
        if (n > 0)
            at += (size_t)n;
        else
            sent = n < 0 && errno == EINTR;
    }
    sigaction(SIGPIPE, &before, NULL);
    return sent;
}

/* ---- what came of it --------------------------------------------------------------------------------------------- */

static bool take_outcome(const aphi_program *p, aphi_recording *r, const char *line)
{
    static const struct {
        const char *name;
        aphi_recording_end end;
    } ends[] = {
        {"ended", APHI_RECORDING_ENDED},       {"deadlock", APHI_RECORDING_DEADLOCK},
        {"blocked", APHI_RECORDING_BLOCKED},   {"diverged", APHI_RECORDING_DIVERGED},
        {"endless", APHI_RECORDING_ENDLESS},   {"crash", APHI_RECORDING_CRASHED},
        {"failed", APHI_RECORDING_FAILED},
    };
    char name[16];
    int detail = 0;
    if (sscanf(line, "outcome %15s %d %n", name, &r->number, &detail) != 2 || !detail)
        return false;
    snprintf(r->detail, sizeof r->detail, "%.*s", (int)sizeof r->detail - 1, line + detail);
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        if (!strcmp(name, ends[i].name)) {
            r->end = ends[i].end;
            return r->end != APHI_RECORDING_DIVERGED || (size_t)r->number < p->cast.thread_count;
        }
    return false;
}

static bool take_payload(unsigned char payload[16], const char *hex)
{
    for (int i = 0; i < 16; i++)
        if (sscanf(hex + 2 * i, "%2hhx", &payload[i]) != 1)
            return false;
    return true;
}

static bool take_event(aphi_program *p, aphi_recording *r, uint32_t *counts, const char *line)
{
    static const char ops[] = "srl";
    unsigned thread, sync, free, port, peer;
    uint32_t index;
    char op, label[64], hex[64];
    if (sscanf(line, "e %u %c %u %u %u %63s %u %" SCNu32 " %63s", &thread, &op, &sync, &free, &port, label, &peer,
               &index, hex) != 9
        || thread >= p->cast.thread_count || peer >= p->cast.thread_count || !strchr(ops, op) || strlen(hex) != 32
        || (op != 'l' && port >= p->cast.port_count))
        return false;
    APHI_RESERVE(r->events, r->event_capacity, r->event_count + 1);
    aphi_recorded *e = &r->events[r->event_count++];
    *e = (aphi_recorded){
        .did = (aphi_did)(strchr(ops, op) - ops),
        .sync = sync,
        .free = free,
        .at = {(uint16_t)thread, ++counts[thread]},
        .port = (uint16_t)port,
        .label = aphi_cast_label(&p->cast, label),
        .peer = {(uint16_t)peer, index},
        .open = (uint32_t)r->opening_count,
        .available = (uint32_t)r->option_count,
    };
    return take_payload(e->payload, hex);
}

static bool take_opening(aphi_program *p, aphi_recording *r, uint32_t *count, const char *line)
{
    unsigned port;
    char label[64];
    if (!count || sscanf(line, "o %u %63s", &port, label) != 2 || port >= p->cast.port_count)
        return false;
    APHI_RESERVE(r->openings, r->opening_capacity, r->opening_count + 1);
    r->openings[r->opening_count++] = (aphi_opening){(uint16_t)port, aphi_cast_label(&p->cast, label)};
    ++*count;
    return true;
}

static bool take_available(aphi_program *p, aphi_recording *r, const char *line)
{
    unsigned thread;
    unsigned port, sync;
    uint32_t index;
    char label[64];
    if (!r->event_count || sscanf(line, "a %u %" SCNu32 " %u %63s %u", &thread, &index, &port, label, &sync) != 5
        || thread >= p->cast.thread_count || port >= p->cast.port_count)
        return false;
    APHI_RESERVE(r->options, r->option_capacity, r->option_count + 1);
    r->options[r->option_count++] =
        (aphi_available){{(uint16_t)thread, index}, (uint16_t)port, aphi_cast_label(&p->cast, label), sync};
    r->events[r->event_count - 1].available_count++;
    return true;
}

static aphi_standing *take_standing(aphi_program *p, aphi_recording *r, const char *line)
{
    static const char *const names[] = {"runs", "receives", "sends", "room", "ended", "absent"};
    unsigned thread, port;
    char name[16], label[64];
    if (sscanf(line, "w %u %15s %u %63s", &thread, name, &port, label) != 4 || thread >= p->cast.thread_count)
        return NULL;
    aphi_standing *s = &r->standings[thread];
    *s = (aphi_standing){.port = (uint16_t)port, .label = aphi_cast_label(&p->cast, label),
                         .open = (uint32_t)r->opening_count};
    for (unsigned i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcmp(name, names[i])) {
            s->stand = (aphi_stand)i;
            return s;
        }
    return NULL;
}

static bool take_answer(aphi_program *p, aphi_recording *r, int64_t deadline_ns, char *error, size_t size)
{
    char line[LINE];
    uint32_t counts[APHI_CAST_THREADS_MAX] = {0}, *open = NULL;
    aphi_recording_clear(r);
    for (;;) {
        switch (hear(p, line, deadline_ns)) {
        case HEARD_END: return fail(error, size, "the program ended between two runs");
        case HEARD_NOTHING: return fail(error, size, "the program does not answer");
        default: break;
        }
        bool understood;
        aphi_standing *s;
        switch (line[0]) {
        case 'o':
            understood = line[1] == 'u' ? take_outcome(p, r, line) : take_opening(p, r, open, line);
            break;
        case 'e':
            understood = take_event(p, r, counts, line);
            open = understood ? &r->events[r->event_count - 1].open_count : NULL;
            break;
        case 'a': understood = take_available(p, r, line); break;
        case 'w':
            understood = (s = take_standing(p, r, line));
            open = s ? &s->open_count : NULL;
            break;
        case 'd': return true;
        default: understood = false;
        }
        if (!understood)
            return fail(error, size, "the program says what is not understood: %.200s", line);
    }
}

void aphi_program_heed(aphi_program *p, const volatile sig_atomic_t *stop)
{
    p->stop = stop;
}

bool aphi_program_run(aphi_program *p, const aphi_program_order *order, aphi_recording *r, char *error,
                         size_t size)
{
    if (!send_order(p, order))
        return fail(error, size, "the program ended between two runs");
    return take_answer(p, r, aphi_clock_ns() + (int64_t)(order->time_ms + GRACE_MS) * 1000000, error, size);
}
