/* SPDX-License-Identifier: Apache-2.0
 *
 * subject.c - the system under test: reached at an address, or started, watched, reset and stopped here.
 *
 * Idea:       A command runs as `sh -c COMMAND`, in its own process group. We are a subreaper: orphans of the group
 *             become our children, so waitpid(-group) reports exactly the remaining processes. All of them have a mark
 *             in their environment, which identifies processes that left the group (daemons with their own session).
 * Invariants: 1. A group is signalled only while it contains an unreaped child of ours, so its number is not reused.
 *             2. No process of a subject outlives us. kill_all is for signal handlers; after SIGKILL, another process,
 *                the reaper, kills the group and the marked processes, and removes the folder.
 *             3. Checking whether a subject listens opens no connection: its first connection is the tester's.
 * Cost:       A reset adds less than a millisecond to the time that the subject takes to stop and start. If a subject
 *             ignores SIGTERM once, it is later killed at once.
 * Not done:   PR_SET_PDEATHSIG, which affects only the shell, not its children. */
#include "subject/subject.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/buffer.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/process.h"
#include "subject/reaper.h"
#include "subject/workdir.h"
#include "subject/ports.h"

enum {
    SUBJECTS_MAX = 64,       /* at once */
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
    char mark[64]; /* "ANTIPHON_SUBJECT=..." */
    int output;    /* stdout and stderr of the subject */
    bool output_is_temporary;
    off_t output_start; /* size of the output at the latest start */
    const char *name;
    aphi_workdir workdir;
    size_t slot;   /* in groups */
    aphi_process process;
    bool ignores_sigterm;
    aphi_strays strays;
    aphi_reaper reaper;
};

static _Atomic pid_t groups[SUBJECTS_MAX]; /* of running subjects; -1: the slot is in use, no process is running */

/* ---- remaining processes ----------------------------------------------------------------------------------------- */

static void publish_group(aphi_subject *s)
{
    atomic_store(&groups[s->slot], s->process.pid ? s->process.pid : -1);
    if (s->reaper.leftovers)
        s->reaper.leftovers->group = s->process.pid;
}

/* Reaps ended processes. Returns true if a process is left in the group. */
static bool group_is_left(aphi_subject *s)
{
    bool left = s->process.pid && aphi_process_poll(&s->process);
    publish_group(s);
    return left;
}

static bool is_group_of_subject(pid_t group)
{
    for (size_t i = 0; i < SUBJECTS_MAX; i++)
        if (atomic_load(&groups[i]) == group)
            return true;
    return false;
}

/* Returns true for a zombie child of ours outside all groups of subjects. */
static bool is_dead_stray(const char *pid)
{
    char path[64], state = 0;
    int parent = 0, group = 0;
    aphi_buffer text = {0};
    snprintf(path, sizeof path, "/proc/%.20s/stat", pid);
    aphi_buffer_load(&text, path, SIZE_MAX);
    const char *after = strrchr(aphi_buffer_text(&text), ')'); /* the name before it may contain any character */
    bool read = after && sscanf(after + 1, " %c %d %d", &state, &parent, &group) == 3;
    aphi_buffer_free(&text);
    return read && state == 'Z' && parent == (int)getpid() && !is_group_of_subject(group);
}

/* Finds daemons that have already ended: they have no environment and thus no mark, but are zombie children of ours. */
static void find_dead_strays(const aphi_subject *s, aphi_strays *found)
{
    DIR *processes = opendir("/proc");
    if (!processes)
        return;
    for (struct dirent *entry; (entry = readdir(processes));) {
        pid_t pid = (pid_t)atoi(entry->d_name);
        if (pid > 0 && pid != s->reaper.pid && is_dead_stray(entry->d_name))
            aphi_stray_add(found, pid);
    }
    closedir(processes);
}

/* Reaps strays that are about to end. They become our children when their parents end. */
static void reap_strays(aphi_subject *s)
{
    int64_t pause = APHI_CLOCK_BACKOFF_NS, until = aphi_clock_ns() + 100 * MS;
    for (size_t i = 0; i < s->strays.count; i++) {
        int status;
        pid_t pid;
        while ((pid = waitpid(s->strays.pids[i], &status, WNOHANG)) == 0 && aphi_clock_ns() < until)
            aphi_clock_backoff(&pause);
        if (pid > 0)
            aphi_process_note(&s->process, pid, status);
    }
    s->strays.count = 0;
}

/* If a leader exits with 0 and other processes are left, it has gone into the background. */
static bool is_running(aphi_subject *s)
{
    if (group_is_left(s))
        return !(s->process.leader_ended && s->process.failed);
    if (!s->process.leader_ended || s->process.failed)
        return false;
    if (aphi_find_marked(s->mark, false, &s->strays) > 0)
        return true;
    find_dead_strays(s, &s->strays);
    reap_strays(s);
    return false;
}

static void kill_strays(aphi_subject *s)
{
    aphi_kill_marked(s->mark, &s->strays);
    reap_strays(s);
}

static void stop_subject(aphi_subject *s, int64_t grace_ms)
{
    bool in_background = s->process.leader_ended;
    if (!aphi_process_stop(&s->process, s->ignores_sigterm ? 0 : grace_ms * MS))
        s->ignores_sigterm = true;
    publish_group(s);
    if (in_background)
        kill_strays(s);
    aphi_workdir_remove(&s->workdir);
}

void aphi_subject_kill_all(void)
{
    for (size_t i = 0; i < SUBJECTS_MAX; i++) {
        pid_t group = atomic_load(&groups[i]);
        if (group > 0)
            kill(-group, SIGKILL);
    }
}

/* ---- ports ------------------------------------------------------------------------------------------------------- */

static in_port_t port_of(const aphi_subject *s) { return ntohs(((const struct sockaddr_in *)&s->address)->sin_port); }

typedef enum owner { SUBJECT, FOREIGN, UNKNOWN } owner;

/* Finds the owner of the socket: the subject (usually its first process), another process, or none, if the owner is not
 * visible or has just ended. */
static owner owner_of(const aphi_subject *s, uint32_t socket)
{
    if (aphi_port_is_held_by(socket, s->process.pid))
        return SUBJECT;
    DIR *processes = opendir("/proc");
    bool foreign = false, ours = false;
    for (struct dirent *entry; processes && !ours && (entry = readdir(processes));) {
        pid_t pid = (pid_t)atoi(entry->d_name);
        if (pid <= 0 || !aphi_port_is_held_by(socket, pid))
            continue;
        ours = getpgid(pid) == s->process.pid || aphi_is_marked(pid, s->mark);
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

static void read_tail(const aphi_subject *s, off_t from, char *text, size_t n)
{
    if (n == 0)
        return;
    struct stat about;
    ssize_t got = 0;
    if (s->output >= 0 && fstat(s->output, &about) == 0) {
        if (about.st_size - from > (off_t)(n - 1))
            from = about.st_size - (off_t)(n - 1);
        got = pread(s->output, text, n - 1, from);
    }
    text[got > 0 ? got : 0] = 0;
}

/* Writes the problem and the end of the output. Returns false. */
static bool fail_with_output(aphi_subject *s, char *error, size_t size, const char *what)
{
    char output[800];
    read_tail(s, s->output_start, output, sizeof output);
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
        if (!is_running(s))
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
    if (s->output_is_temporary && ftruncate(s->output, 0) != 0)
        return aphi_fail(error, size, "cannot truncate the output file of the subject: %s", strerror(errno));
    s->output_start = lseek(s->output, 0, SEEK_END);
    s->workdir.port = s->backend_port ? s->backend_port : port;
    if (!aphi_workdir_write(&s->workdir, error, size))
        return false;
    char *command = make_command(s);
    if (!command)
        return aphi_fail(error, size, "cannot create a temporary folder for {dir}: %s", strerror(errno));
    bool started = aphi_process_start(&s->process, &(aphi_process_options){
        .command = command, .variable = s->mark, .in = APHI_PROCESS_NULL, .out = s->output, .err = s->output,
        .own_group = true});
    free(command);
    if (!started)
        return aphi_fail(error, size, "sh: cannot be started: %s", strerror(errno));
    publish_group(s);
    *result = wait_until_listening(s);
    return true;
}

/* Returns true if another process has just taken the port. The port may be free again, but then the subject has
 * reported it. */
static bool port_was_taken(const aphi_subject *s)
{
    char output[800];
    read_tail(s, s->output_start, output, sizeof output);
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
        aphi_process_status_text(s->process.status, end, sizeof end);
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

static bool open_output(aphi_subject *s, const char *path, char *error, size_t size)
{
    if (path) {
        s->output = open(path, O_RDWR | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0666);
        return s->output >= 0 || aphi_fail(error, size, "%s: cannot be written: %s", path, strerror(errno));
    }
    FILE *file = tmpfile();
    s->output = file ? fcntl(fileno(file), F_DUPFD_CLOEXEC, 3) : -1;
    s->output_is_temporary = true;
    if (file)
        fclose(file);
    bool opened = s->output >= 0 && fcntl(s->output, F_SETFL, O_APPEND) == 0;
    return opened || aphi_fail(error, size, "cannot create a file for the subject's output: %s", strerror(errno));
}

static bool prepare(aphi_subject *s, const aphi_subject_options *options, char *error, size_t size)
{
    if (options->target)
        return aphi_port_resolve(options->target, s->datagrams, &s->address, &s->address_size, error, size);
    if (!options->files && !strstr(options->run, "{port}")) /* or a file contains it */
        return aphi_fail(error, size, "%s: no {port} in the command; it stands for the port to listen on",
                         options->run);
    if (!aphi_workdir_set_owner(&s->workdir, options->owner, error, size))
        return false;
    static _Atomic unsigned opened;
    snprintf(s->mark, sizeof s->mark, "ANTIPHON_SUBJECT=%d.%" PRId64 ".%u", (int)getpid(), aphi_clock_ns(), opened++);
    pid_t free_slot = 0;
    while (s->slot < SUBJECTS_MAX && !atomic_compare_exchange_strong(&groups[s->slot], &free_slot, -1)) {
        free_slot = 0;
        s->slot++;
    }
    if (s->slot == SUBJECTS_MAX)
        return aphi_fail(error, size, "more than %d subjects", SUBJECTS_MAX);
    s->run = aphi_copy(options->run, strlen(options->run) + 1);
    s->name = options->name ? options->name : s->run;
    s->before = options->before ? aphi_copy(options->before, strlen(options->before) + 1) : NULL;
    s->workdir.files = options->files;
    s->workdir.file_count = options->file_count;
    s->workdir.listen = options->listen;
    s->ignores_sigterm = options->abrupt;
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    if (!open_output(s, options->output, error, size))
        return false;
    if (!aphi_reaper_start(&s->reaper, s->mark))
        return aphi_fail(error, size, "cannot start the process that reaps the subject: %s", strerror(errno));
    s->workdir.leftovers = s->reaper.leftovers;
    return true;
}

aphi_subject *aphi_subject_open(const aphi_subject_options *options, char *error, size_t error_size)
{
    assert(!options->target != !options->run);
    aphi_subject *s = aphi_alloc_zero(sizeof *s);
    s->datagrams = options->datagrams;
    s->stop = options->stop;
    s->start_ms = options->start_ms > 0 ? options->start_ms : 10000;
    s->output = s->reaper.pipe = -1;
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
        kill_strays(s);
        aphi_reaper_stop(&s->reaper);
        atomic_store(&groups[s->slot], 0);
    }
    if (s->output >= 0)
        close(s->output);
    free(s->strays.pids);
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
    if (!is_running(s)) {
        aphi_process_status_text(s->process.status, message, size);
        return APHI_SUBJECT_EXITED;
    }
    if (!s->process.stopped)
        return APHI_SUBJECT_THERE;
    snprintf(message, size, "is stopped by a signal such as SIGSTOP");
    return APHI_SUBJECT_STOPPED;
}

void aphi_subject_tail(const aphi_subject *s, char *text, size_t n) { read_tail(s, 0, text, n); }
