/* SPDX-License-Identifier: Apache-2.0
 *
 * subject.c - the system under test: reached at an address, or started, watched, reset and stopped here.
 *
 * Idea:       A command runs as `sh -c COMMAND` under its own reaper, which adopts all its descendants; see reaper.h.
 * Invariants: 1. No process of a subject outlives a reset, or us.
 *             2. Checking whether a subject listens opens no connection: its first connection is the tester's.
 * Cost:       A reset adds less than a millisecond to the time that the subject takes to stop and start. If a subject
 *             ignores SIGTERM once, it is later killed at once. */
#include "subject/subject.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/buffer.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/process.h"
#include "subject/reaper.h"
#include "subject/workdir.h"
#include "subject/ports.h"

enum {
    STOP_CLOSE_MS = 500,     /* between SIGTERM and SIGKILL at the end */
    STOP_RESET_MS = 100,     /* the same between two runs */
    START_STOPPED_MS = 1000, /* time to start after a stop was requested: a last run may be wanted */
    CONNECT_AFTER_MS = 300,  /* until then, only the kernel is queried for a listening socket */
    FOREIGN_AFTER_MS = 2000, /* until then, the socket must be the subject's own */
    PORTS = 5,               /* tried if other processes take them first */
};
#define MS INT64_C(1000000)

struct aphi_subject {
    char *run; /* NULL: a target */
    char *before;           /* NULL: the tester connects to the subject itself */
    in_port_t backend_port; /* with `before`: the subject's own port; else 0 */
    bool datagrams;
    int64_t start_ms;
    const volatile sig_atomic_t *stop;
    struct sockaddr_storage address;
    socklen_t address_size;
    int output;    /* --output; -1: none */
    const char *name;
    aphi_workdir workdir;
    bool ignores_sigterm;
    aphi_reaper reaper;
    aphi_reaper_state state;
};

/* ---- its processes ----------------------------------------------------------------------------------------------- */

/* If a leader exits with 0 and other processes are left, it has gone into the background. */
static bool is_running(aphi_subject *s, aphi_reaper_state state)
{
    s->state = state;
    return state.left && !(state.leader_ended && state.failed);
}

static void describe_end(const aphi_subject *s, char *text, size_t size)
{
    if (s->state.lost)
        snprintf(text, size, "killed the process that watches it");
    else
        aphi_process_status_text(s->state.status, text, size);
}

static void stop_subject(aphi_subject *s, int64_t grace_ms)
{
    if (!aphi_reaper_stop(&s->reaper, s->ignores_sigterm ? 0 : grace_ms * MS))
        s->ignores_sigterm = true;
    aphi_workdir_remove(&s->workdir);
}

/* ---- ports ------------------------------------------------------------------------------------------------------- */

static in_port_t port_of(const aphi_subject *s) { return ntohs(((const struct sockaddr_in *)&s->address)->sin_port); }

typedef enum owner { SUBJECT, FOREIGN, UNKNOWN } owner;

/* Finds the owner of the socket: the subject (usually its first process), another process, or none, if the owner is not
 * visible or has just ended. */
static owner owner_of(const aphi_subject *s, uint32_t socket)
{
    if (aphi_port_is_held_by(socket, s->state.leader))
        return SUBJECT;
    DIR *processes = opendir("/proc");
    bool foreign = false, ours = false;
    for (struct dirent *entry; processes && !ours && (entry = readdir(processes));) {
        pid_t pid = (pid_t)atoi(entry->d_name);
        if (pid <= 0 || !aphi_port_is_held_by(socket, pid))
            continue;
        ours = aphi_reaper_descends(&s->reaper, pid);
        foreign = true;
    }
    if (processes)
        closedir(processes);
    return ours ? SUBJECT : foreign ? FOREIGN : UNKNOWN;
}

/* If another process took the port just before the subject, the subject is about to end. If it does not end, the other
 * process may listen on its behalf (such as a helper for the port of a container). If the kernel reports no socket (it
 * is in the network of a container, or there is no sock_diag), a connection shows whether the subject listens. For
 * datagrams there is no such test. */
static bool listens_at(const aphi_subject *s, in_port_t port, int64_t waited)
{
    uint32_t socket = aphi_port_listener(port, s->datagrams);
    owner of = socket ? owner_of(s, socket) : UNKNOWN;
    if (of == UNKNOWN)
        return waited > CONNECT_AFTER_MS * MS && (s->datagrams ? socket != 0 : aphi_port_connects(port));
    return of == SUBJECT || waited > FOREIGN_AFTER_MS * MS;
}

static bool listens(const aphi_subject *s, int64_t waited)
{
    return (!s->backend_port || listens_at(s, s->backend_port, waited)) && listens_at(s, port_of(s), waited);
}

/* ---- starting ---------------------------------------------------------------------------------------------------- */

/* Returns true for one program with its arguments: sh execs it, so we observe its exit and its stops directly. Text in
 * single quotes is a word. */
static bool is_simple(const char *command)
{
    size_t word = strcspn(command, " ");
    if (memchr(command, '=', word) || command[0] == ' ' || command[0] == '!' || !strncmp(command, "exec ", 5))
        return false;
    for (const char *c = command; *c; c++) {
        const char *end = *c == '\'' ? strchr(c + 1, '\'') : NULL;
        if (end)
            c = end;
        else if (strchr(";&|()<>`#\n\'", *c))
            return false;
    }
    return true;
}

/* Appends the command of `before` with {port} and {target} replaced, as a background job. When that job ends, for
 * instance because its port is taken, the subject is killed, since it is no longer reachable. */
static void append_before(const aphi_subject *s, aphi_buffer *out)
{
    char port[8], target[8];
    snprintf(port, sizeof port, "%u", (unsigned)port_of(s));
    snprintf(target, sizeof target, "%u", (unsigned)s->backend_port);
    aphi_buffer_str(out, "(");
    aphi_buffer_expand(out, s->before, strlen(s->before),
                       (const char *const[][2]){{"{port}", port}, {"{target}", target}, {NULL}});
    aphi_buffer_str(out, "; kill -KILL $$) & ");
}

/* Returns NULL with errno if the folder cannot be created. */
static char *make_command(aphi_subject *s)
{
    aphi_buffer text = {0};
    if (s->before)
        append_before(s, &text);
    if (is_simple(s->run))
        aphi_buffer_str(&text, "exec ");
    if (aphi_workdir_expand(&s->workdir, s->run, &text))
        return aphi_buffer_text(&text);
    aphi_buffer_free(&text);
    return NULL;
}

/* Writes the problem and the end of the output. Returns false. */
static bool fail_with_output(aphi_subject *s, char *error, size_t size, const char *what)
{
    char output[800];
    aphi_reaper_tail(&s->reaper, output, sizeof output);
    size_t n = strlen(output);
    while (n > 0 && (output[n - 1] == '\n' || output[n - 1] == ' '))
        output[--n] = 0;
    if (n == 0)
        return aphi_fail(error, size, "%s; it printed nothing: %s", what, s->name);
    return aphi_fail(error, size, "%s: %s\nit printed:\n%s", what, s->name, output);
}

typedef enum { LISTENS, ENDED, LATE, STOPPED } outcome;

static outcome wait_until_listening(aphi_subject *s)
{
    int64_t pause = APHI_CLOCK_BACKOFF_NS, start = aphi_clock_ns(), now = start;
    for (; now - start < s->start_ms * MS; now = aphi_clock_ns()) {
        if (listens(s, now - start))
            return LISTENS;
        if (!is_running(s, aphi_reaper_look(&s->reaper)))
            return ENDED;
        if (s->stop && *s->stop && now - start > START_STOPPED_MS * MS)
            return STOPPED;
        aphi_clock_backoff(&pause);
    }
    return LATE;
}

/* Returns a free port, and finds another one for the backend if there is a `before`. Returns 0 if there is none. */
static in_port_t find_ports(aphi_subject *s)
{
    in_port_t port = aphi_port_free(0, s->datagrams);
    s->backend_port = 0;
    if (!s->before)
        return port;
    do
        s->backend_port = aphi_port_free(0, s->datagrams);
    while (s->backend_port && s->backend_port == port);
    return s->backend_port ? port : 0;
}

static bool start_once(aphi_subject *s, outcome *result, char *error, size_t size)
{
    in_port_t port = find_ports(s);
    if (port == 0)
        return aphi_fail(error, size, "no free port on 127.0.0.1: %s", strerror(errno));
    *(struct sockaddr_in *)&s->address =
        (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons(port), .sin_addr = {htonl(INADDR_LOOPBACK)}};
    s->address_size = sizeof(struct sockaddr_in);
    s->workdir.port = s->backend_port ? s->backend_port : port;
    if (!aphi_workdir_write(&s->workdir, error, size))
        return false;
    char *command = make_command(s);
    if (!command)
        return aphi_fail(error, size, "cannot create a temporary folder for {dir}: %s", strerror(errno));
    bool started = aphi_reaper_start(&s->reaper, command);
    int failure = errno;
    free(command);
    if (!started && failure == ECHILD) { /* the command has already killed the reaper */
        is_running(s, aphi_reaper_look(&s->reaper));
        *result = ENDED;
        return true;
    }
    if (!started)
        return aphi_fail(error, size, "sh: cannot be started: %s", strerror(failure));
    *result = wait_until_listening(s);
    return true;
}

/* Returns true if another process has just taken the port. The port may be free again, but then the subject has
 * reported it. */
static bool port_was_taken(aphi_subject *s)
{
    char output[800];
    aphi_reaper_tail(&s->reaper, output, sizeof output);
    return !aphi_port_free(port_of(s), s->datagrams) || strstr(output, "ddress already in use") ||
           strstr(output, "EADDRINUSE");
}

static bool start_subject(aphi_subject *s, char *error, size_t size)
{
    char what[200], end[80];
    outcome result = ENDED;
    for (int i = 0; i < PORTS; i++) {
        if (!start_once(s, &result, error, size))
            return false;
        if (result == LISTENS)
            return true;
        if (result != ENDED || !port_was_taken(s))
            break;
        stop_subject(s, 0);
    }
    if (result == STOPPED) {
        snprintf(what, sizeof what, "stopped by a signal before the subject listened on 127.0.0.1:%u",
                 (unsigned)port_of(s));
    } else if (result == LATE) {
        snprintf(what, sizeof what, "the subject runs, but after %" PRId64 " ms nothing listens on 127.0.0.1:%u%s",
                 s->start_ms, (unsigned)port_of(s), s->datagrams ? " (UDP)" : "");
    } else {
        describe_end(s, end, sizeof end);
        snprintf(what, sizeof what, "the subject %s before it listened on 127.0.0.1:%u", end, (unsigned)port_of(s));
    }
    fail_with_output(s, error, size, what);
    stop_subject(s, 0);
    return false;
}

bool aphi_subject_reset(aphi_subject *s, char *error, size_t size)
{
    if (!s->run)
        return true;
    stop_subject(s, STOP_RESET_MS);
    return start_subject(s, error, size);
}

/* ---- opening ----------------------------------------------------------------------------------------------------- */

static bool prepare(aphi_subject *s, const aphi_subject_options *options, char *error, size_t size)
{
    if (options->target)
        return aphi_port_resolve(options->target, s->datagrams, &s->address, &s->address_size, error, size);
    if (!options->files && !strstr(options->run, "{port}")) /* or a file contains it */
        return aphi_fail(error, size, "%s: no {port} in the command; it stands for the port to listen on",
                         options->run);
    if (!aphi_workdir_set_owner(&s->workdir, options->owner, error, size))
        return false;
    s->run = aphi_copy(options->run, strlen(options->run) + 1);
    s->name = options->name ? options->name : s->run;
    s->before = options->before ? aphi_copy(options->before, strlen(options->before) + 1) : NULL;
    s->workdir.files = options->files;
    s->workdir.file_count = options->file_count;
    s->workdir.origins = options->origins;
    s->workdir.origin_count = options->origin_count;
    s->ignores_sigterm = options->abrupt;
    if (options->output)
        s->output = aphi_file_open(options->output);
    if (options->output && s->output < 0)
        return aphi_fail(error, size, "%s: cannot be written: %s", options->output, strerror(errno));
    if (!aphi_reaper_open(&s->reaper, &(aphi_process_options){.in = APHI_PROCESS_NULL}, s->output))
        return aphi_fail(error, size, "cannot start the process that watches the subject: %s", strerror(errno));
    s->workdir.reaper = &s->reaper;
    return true;
}

aphi_subject *aphi_subject_open(const aphi_subject_options *options, char *error, size_t error_size)
{
    assert(!options->target != !options->run);
    aphi_subject *s = aphi_alloc_zero(sizeof *s);
    s->datagrams = options->datagrams;
    s->stop = options->stop;
    s->start_ms = options->start_ms > 0 ? options->start_ms : 10000;
    s->output = -1;
    if (prepare(s, options, error, error_size))
        return s;
    aphi_subject_close(s);
    return NULL;
}

void aphi_subject_close(aphi_subject *s)
{
    if (!s)
        return;
    if (s->run) {
        stop_subject(s, STOP_CLOSE_MS);
        aphi_reaper_close(&s->reaper);
    }
    if (s->output >= 0)
        close(s->output);
    free(s->run);
    free(s->before);
    free(s);
}

/* ---- state ------------------------------------------------------------------------------------------------------- */

bool aphi_subject_is_ours(const aphi_subject *s) { return s->run != NULL; }

const struct sockaddr *aphi_subject_address(const aphi_subject *s, socklen_t *size)
{
    *size = s->address_size;
    return (const struct sockaddr *)&s->address;
}

aphi_subject_state aphi_subject_look(aphi_subject *s, char *message, size_t size)
{
    if (size > 0)
        message[0] = 0;
    if (!s->run)
        return APHI_SUBJECT_THERE;
    if (!is_running(s, aphi_reaper_observe(&s->reaper))) {
        describe_end(s, message, size);
        return APHI_SUBJECT_EXITED;
    }
    if (!s->state.stopped)
        return APHI_SUBJECT_THERE;
    snprintf(message, size, "is stopped by a signal such as SIGSTOP");
    return APHI_SUBJECT_STOPPED;
}

void aphi_subject_tail(aphi_subject *s, char *text, size_t n)
{
    if (s->run)
        aphi_reaper_tail(&s->reaper, text, n);
    else if (n > 0)
        *text = 0;
}
