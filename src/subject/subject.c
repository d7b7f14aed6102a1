/* SPDX-License-Identifier: Apache-2.0
 *
 * subject.c - the system under test: reached at an address, or started, watched, reset and stopped here.
 *
 * Idea:       A command runs as `sh -c COMMAND`, the leader of a process group of its own. We are the reaper of what
 *             its children leave behind, so whoever is in the group becomes our child in the end, and waitpid(-group)
 *             knows exactly who is left. All of them carry a mark in their environment; what left the group (a daemon
 *             with a session of its own) is found by it.
 * Invariants: 1. A group is only signalled while an unreaped child of ours is in it: its number cannot be another's.
 *             2. Nothing of a subject outlives us. kill_all is for signal handlers; where there is no time for one
 *                (SIGKILL), a guardian, a process that waits for the end of ours, ends the group, sweeps by the mark
 *                and removes the folder.
 *             3. Looking whether it listens does not connect: the first connection that a subject sees is the tester's.
 * Cost:       A reset takes what the subject takes to start and end, and less than a millisecond beside: nothing sleeps
 *             for longer than that. A subject that ignores SIGTERM is waited for once, and killed at once from then on.
 * Not done:   PR_SET_PDEATHSIG: it reaches only the shell, not what the shell started. */
#include "subject/subject.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "base/buffer.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/memory.h"
#include "subject/reaper.h"
#include "subject/workdir.h"
#include "subject/ports.h"

enum {
    SUBJECTS_MAX = 64,      /* at once */
    STOP_CLOSE_MS = 500,    /* for a polite end, when it is the last */
    STOP_RESET_MS = 100,    /* and between two runs */
    START_STOPPED_MS = 1000, /* to start if we are to end: a last run may be wanted */
    CONNECT_AFTER_MS = 300, /* until then the kernel is asked for its socket */
    ANOTHERS_AFTER_MS = 2000, /* until then it must be the subject's own */
    PORTS = 5,              /* to be tried if others take them in between */
};
#define MS INT64_C(1000000)

extern char **environ;

struct aphi_subject {
    char *run; /* NULL: a target */
    char *before;     /* NULL: the tester connects to what run starts */
    in_port_t behind; /* if not: the port of that */
    bool datagrams;
    int64_t start_ms;
    const volatile sig_atomic_t *stop;
    struct sockaddr_storage address;
    socklen_t address_size;
    char mark[64]; /* "ANTIPHON_SUBJECT=..." */
    int output;    /* all that it prints */
    bool output_is_temporary;
    off_t printed; /* before it was last started */
    const char *name;
    aphi_workdir outfit;
    size_t slot;   /* in groups */
    pid_t group;   /* 0: not started, or all of it is gone */
    bool leader_ended, stopped, impolite;
    bool failed; /* status is a bad one: later ones do not count */
    int status;  /* of the last that ended */
    aphi_strays strays;
    aphi_reaper guardian;
};

static _Atomic pid_t groups[SUBJECTS_MAX]; /* of running subjects; -1: the slot is taken, nothing runs */

/* ---- who is left, and how the others ended ----------------------------------------------------------------------- */

static bool is_bad(int status) { return !(WIFEXITED(status) && WEXITSTATUS(status) == 0); }

static void note(aphi_subject *s, pid_t pid, int status)
{
    if (WIFSTOPPED(status)) {
        s->stopped = true;
    } else if (WIFCONTINUED(status)) {
        s->stopped = false;
    } else {
        if (pid == s->group)
            s->leader_ended = true;
        if (!s->failed)
            s->status = status;
        s->failed = s->failed || is_bad(status);
    }
}

/* Takes note of all that happened in the group. Is a process left in it? */
static bool group_is_there(aphi_subject *s)
{
    if (s->group == 0)
        return false;
    for (;;) {
        int status;
        pid_t pid = waitpid(-s->group, &status, WNOHANG | WUNTRACED | WCONTINUED);
        if (pid == 0)
            return true;
        if (pid < 0 && errno == EINTR)
            continue;
        if (pid < 0)
            break;
        note(s, pid, status);
    }
    atomic_store(&groups[s->slot], -1);
    s->guardian.legacy->group = 0;
    s->group = 0;
    return false;
}

static bool is_of_a_group(pid_t group)
{
    for (size_t i = 0; i < SUBJECTS_MAX; i++)
        if (atomic_load(&groups[i]) == group)
            return true;
    return false;
}

/* Is it a child of ours that has ended, and of no group of ours? */
static bool is_dead_stray(const char *pid)
{
    char path[64], text[512];
    snprintf(path, sizeof path, "/proc/%.20s/stat", pid);
    FILE *stat = fopen(path, "re");
    size_t n = stat ? fread(text, 1, sizeof text - 1, stat) : 0;
    text[n] = 0;
    if (stat)
        fclose(stat);
    const char *after = strrchr(text, ')'); /* the name before it may hold anything */
    char state;
    int parent, group;
    return after && sscanf(after + 1, " %c %d %d", &state, &parent, &group) == 3 && state == 'Z' &&
           parent == (int)getpid() && !is_of_a_group(group);
}

/* A daemon that ended before anybody looked no longer shows its mark, but waits to be buried. */
static void find_dead_strays(const aphi_subject *s, aphi_strays *found)
{
    DIR *processes = opendir("/proc");
    if (!processes)
        return;
    for (struct dirent *entry; (entry = readdir(processes));) {
        pid_t pid = (pid_t)atoi(entry->d_name);
        if (pid > 0 && pid != s->guardian.pid && is_dead_stray(entry->d_name))
            aphi_stray_add(found, pid);
    }
    closedir(processes);
}

/* Waits for strays that are about to end: they are our children once their parents are gone. */
static void bury_strays(aphi_subject *s)
{
    int64_t pause = APHI_BACKOFF_FIRST, until = aphi_clock_ns() + 100 * MS;
    for (size_t i = 0; i < s->strays.count; i++) {
        int status;
        pid_t buried;
        while ((buried = waitpid(s->strays.pids[i], &status, WNOHANG)) == 0 && aphi_clock_ns() < until)
            aphi_backoff(&pause);
        if (buried > 0)
            note(s, buried, status);
    }
    s->strays.count = 0;
}

/* A leader that ends well has gone into the background, if somebody is left. */
static bool is_there(aphi_subject *s)
{
    if (group_is_there(s))
        return !(s->leader_ended && s->failed);
    if (!s->leader_ended || s->failed)
        return false;
    if (aphi_marked(s->mark, false, &s->strays) > 0)
        return true;
    find_dead_strays(s, &s->strays);
    bury_strays(s);
    return false;
}

static bool group_ends_within(aphi_subject *s, int64_t ns)
{
    int64_t pause = APHI_BACKOFF_FIRST, until = aphi_clock_ns() + ns;
    while (group_is_there(s)) {
        if (aphi_clock_ns() >= until)
            return false;
        aphi_backoff(&pause);
    }
    return true;
}

static void sweep_strays(aphi_subject *s)
{
    aphi_sweep(s->mark, &s->strays);
    bury_strays(s);
}

static void stop(aphi_subject *s, int64_t polite_ms)
{
    bool in_background = s->leader_ended;
    if (group_is_there(s) && !s->impolite) {
        kill(-s->group, SIGTERM);
        kill(-s->group, SIGCONT); /* what is stopped would not notice */
        s->impolite = !group_ends_within(s, polite_ms * MS);
    }
    if (group_is_there(s)) {
        kill(-s->group, SIGKILL);
        group_ends_within(s, 10000 * MS);
    }
    if (in_background)
        sweep_strays(s);
    aphi_workdir_remove(&s->outfit);
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

typedef enum holder { OURS, ANOTHER, NOBODY } holder;

/* Who has the socket: the subject (mostly in its first process), another, or nobody whom we can see; he may just have
 * ended. */
static holder holder_of(const aphi_subject *s, uint32_t socket)
{
    if (aphi_port_is_held_by(socket, s->group))
        return OURS;
    DIR *processes = opendir("/proc");
    bool anothers = false, ours = false;
    for (struct dirent *entry; processes && !ours && (entry = readdir(processes));) {
        pid_t pid = (pid_t)atoi(entry->d_name);
        if (pid <= 0 || !aphi_port_is_held_by(socket, pid))
            continue;
        ours = getpgid(pid) == s->group || aphi_is_marked(pid, s->mark);
        anothers = true;
    }
    if (processes)
        closedir(processes);
    return ours ? OURS : anothers ? ANOTHER : NOBODY;
}

/* Whoever took the port just before the subject could is not what is to be tested: the subject is about to end. If it
 * does not, the other may listen on its behalf (a container's port is held by a helper of the system's). What the
 * kernel does not tell (a socket in a container's network, a kernel without this) shows if one connects. Datagrams show
 * nothing. */
static bool listens_at(const aphi_subject *s, in_port_t port, int64_t waited)
{
    uint32_t socket = aphi_port_listener(port, s->datagrams);
    holder who = socket ? holder_of(s, socket) : NOBODY;
    if (who == NOBODY)
        return waited > CONNECT_AFTER_MS * MS && (s->datagrams ? socket != 0 : aphi_port_connects(port));
    return who == OURS || waited > ANOTHERS_AFTER_MS * MS;
}

static bool listens(const aphi_subject *s, int64_t waited)
{
    return (!s->behind || listens_at(s, s->behind, waited)) && listens_at(s, port_of(s), waited);
}

/* ---- starting ---------------------------------------------------------------------------------------------------- */

/* One program with its arguments: then no shell needs to stay for it, and its end and its stops are seen as they
 * are. What stands in single quotes is a word, whatever it is. */
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

/* Adds what stands before, with {port} and {target} filled in; it goes on in the background. When it ends, as it does
 * if somebody else has taken its port, so does the subject: nobody would get there. */
static void put_before(const aphi_subject *s, aphi_buffer *out)
{
    aphi_buffer_str(out, "(");
    for (const char *c = s->before; *c;) {
        bool port = !strncmp(c, "{port}", 6), target = !strncmp(c, "{target}", 8);
        if (port || target)
            aphi_buffer_format(out, "%u", (unsigned)(port ? port_of(s) : s->behind));
        else
            aphi_buffer_byte(out, *c);
        c += port ? 6 : target ? 8 : 1;
    }
    aphi_buffer_str(out, "; kill -KILL $$) & ");
}

/* NULL: the folder could not be made. */
static char *command_line(aphi_subject *s)
{
    aphi_buffer text = {0};
    if (s->before)
        put_before(s, &text);
    if (is_simple(s->run))
        aphi_buffer_str(&text, "exec ");
    if (aphi_workdir_fill(&s->outfit, s->run, &text))
        return aphi_buffer_text(&text);
    aphi_buffer_free(&text);
    return NULL;
}

/* Our environment and the mark. The array is the caller's to free, its strings are not. */
static char **marked_environment(aphi_subject *s)
{
    size_t n = 0;
    while (environ[n])
        n++;
    char **copy = aphi_alloc((n + 2) * sizeof *copy);
    size_t kept = 0;
    for (size_t i = 0; i < n; i++) {
        if (strncmp(environ[i], "ANTIPHON_SUBJECT=", 17) != 0)
            copy[kept++] = environ[i];
    }
    copy[kept++] = s->mark;
    copy[kept] = NULL;
    return copy;
}

/* 0, or an errno. */
static int spawn(aphi_subject *s, char *command)
{
    posix_spawn_file_actions_t files;
    posix_spawnattr_t how;
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&files, s->output, 1);
    posix_spawn_file_actions_adddup2(&files, s->output, 2);
    posix_spawn_file_actions_addclosefrom_np(&files, 3);
    posix_spawnattr_init(&how);
    posix_spawnattr_setflags(&how, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    posix_spawnattr_setpgroup(&how, 0);
    posix_spawnattr_setsigmask(&how, &none);
    posix_spawnattr_setsigdefault(&how, &all); /* SIGPIPE, which we ignore, is the subject's own affair */
    char **variables = marked_environment(s);
    pid_t pid;
    int failed = posix_spawn(&pid, "/bin/sh", &files, &how, (char *[]){"sh", "-c", command, NULL}, variables);
    free(variables);
    posix_spawnattr_destroy(&how);
    posix_spawn_file_actions_destroy(&files);
    if (!failed) {
        s->group = pid;
        atomic_store(&groups[s->slot], pid);
        s->guardian.legacy->group = pid;
    }
    return failed;
}

static void say_end(int status, char *text, size_t size)
{
    if (WIFSIGNALED(status)) {
        const char *name = sigabbrev_np(WTERMSIG(status));
        snprintf(text, size, "was killed by SIG%s", name ? name : "?");
        return;
    }
    int code = WEXITSTATUS(status);
    const char *name = code > 128 ? sigabbrev_np(code - 128) : NULL; /* what sh makes of a signal */
    if (name)
        snprintf(text, size, "exited with status %d (SIG%s)", code, name);
    else if (code == 127)
        snprintf(text, size, "exited with status 127 (command not found)");
    else
        snprintf(text, size, "exited with status %d", code);
}

static void tail_from(const aphi_subject *s, off_t from, char *text, size_t n)
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

/* What is wrong, and what it printed last. */
static bool say(aphi_subject *s, char *error, size_t size, const char *what)
{
    char output[800];
    tail_from(s, s->printed, output, sizeof output);
    size_t n = strlen(output);
    while (n > 0 && (output[n - 1] == '\n' || output[n - 1] == ' '))
        output[--n] = 0;
    if (n == 0)
        return aphi_fail(error, size, "%s; it printed nothing: %s", what, s->name);
    return aphi_fail(error, size, "%s: %s\nit printed:\n%s", what, s->name, output);
}

typedef enum { LISTENS, ENDED, LATE, CALLED_OFF } outcome;

static outcome wait_until_it_listens(aphi_subject *s)
{
    int64_t pause = APHI_BACKOFF_FIRST, start = aphi_clock_ns(), now = start;
    for (; now - start < s->start_ms * MS; now = aphi_clock_ns()) {
        if (listens(s, now - start))
            return LISTENS;
        if (!is_there(s))
            return ENDED;
        if (s->stop && *s->stop && now - start > START_STOPPED_MS * MS)
            return CALLED_OFF;
        aphi_backoff(&pause);
    }
    return LATE;
}

/* Free ports for it and for what stands before it. The first; 0 if there are none. */
static in_port_t find_ports(aphi_subject *s)
{
    in_port_t port = aphi_port_free(0, s->datagrams);
    for (s->behind = port; s->before && s->behind && s->behind == port;)
        s->behind = aphi_port_free(0, s->datagrams);
    if (!s->behind)
        return 0;
    if (!s->before)
        s->behind = 0;
    return port;
}

static bool start_once(aphi_subject *s, outcome *came, char *error, size_t size)
{
    in_port_t port = find_ports(s);
    if (port == 0)
        return aphi_fail(error, size, "no free port on 127.0.0.1: %s", strerror(errno));
    *(struct sockaddr_in *)&s->address =
        (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons(port), .sin_addr = {htonl(INADDR_LOOPBACK)}};
    s->address_size = sizeof(struct sockaddr_in);
    s->leader_ended = s->stopped = s->failed = false;
    s->status = 0;
    if (s->output_is_temporary && ftruncate(s->output, 0) != 0) {
        return aphi_fail(error, size, "the file for what the subject prints cannot be emptied: %s", strerror(errno));
    }
    s->printed = lseek(s->output, 0, SEEK_END);
    s->outfit.port = s->behind ? s->behind : port;
    if (!aphi_workdir_write(&s->outfit, error, size))
        return false;
    char *command = command_line(s);
    if (!command)
        return aphi_fail(error, size, "no temporary folder for {dir}: %s", strerror(errno));
    int failed = spawn(s, command);
    free(command);
    if (failed)
        return aphi_fail(error, size, "sh cannot be started: %s", strerror(failed));
    *came = wait_until_it_listens(s);
    return true;
}

/* Has somebody else taken its port, just now? It may be free again, but then the subject has said so. */
static bool was_taken(const aphi_subject *s)
{
    char output[800];
    tail_from(s, s->printed, output, sizeof output);
    return !aphi_port_free(port_of(s), s->datagrams) || strstr(output, "ddress already in use") ||
           strstr(output, "EADDRINUSE");
}

static bool start(aphi_subject *s, char *error, size_t size)
{
    char what[200], end[80];
    outcome came = ENDED;
    for (int i = 0; i < PORTS; i++) {
        if (!start_once(s, &came, error, size))
            return false;
        if (came == LISTENS)
            return true;
        if (came != ENDED || !was_taken(s))
            break;
        stop(s, 0);
    }
    if (came == CALLED_OFF) {
        snprintf(what, sizeof what, "stopped by a signal before the subject listened on 127.0.0.1:%u",
                 (unsigned)port_of(s));
    } else if (came == LATE) {
        snprintf(what, sizeof what, "the subject runs, but after %" PRId64 " ms nothing listens on 127.0.0.1:%u%s",
                 s->start_ms, (unsigned)port_of(s), s->datagrams ? " (UDP)" : "");
    } else {
        say_end(s->status, end, sizeof end);
        snprintf(what, sizeof what, "the subject %s before it listened on 127.0.0.1:%u", end, (unsigned)port_of(s));
    }
    say(s, error, size, what);
    stop(s, 0);
    return false;
}

bool aphi_subject_reset(aphi_subject *s, char *error, size_t size)
{
    if (!s->run)
        return true;
    stop(s, STOP_RESET_MS);
    return start(s, error, size);
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
    return opened || aphi_fail(error, size, "no temporary file for what the subject prints: %s", strerror(errno));
}

static bool prepare(aphi_subject *s, const aphi_subject_options *options, char *error, size_t size)
{
    if (options->target)
        return aphi_port_resolve(options->target, s->datagrams, &s->address, &s->address_size, error, size);
    if (!options->files && !strstr(options->run, "{port}")) { /* files say it, if there are any */
        return aphi_fail(error, size, "the command does not say {port}, which stands for the port to listen on: %s",
                    options->run);
    }
    if (!aphi_workdir_for(&s->outfit, options->owner, error, size))
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
    s->outfit.files = options->files;
    s->outfit.file_count = options->file_count;
    s->outfit.listen = options->listen;
    s->impolite = options->abrupt;
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    if (!open_output(s, options->output, error, size))
        return false;
    if (!aphi_reaper_start(&s->guardian, s->mark))
        return aphi_fail(error, size, "no process to guard the subject: %s", strerror(errno));
    s->outfit.legacy = s->guardian.legacy;
    return true;
}

aphi_subject *aphi_subject_open(const aphi_subject_options *options, char *error, size_t error_size)
{
    assert(!options->target != !options->run);
    aphi_subject *s = aphi_alloc_zero(sizeof *s);
    s->datagrams = options->datagrams;
    s->stop = options->stop;
    s->start_ms = options->start_ms > 0 ? options->start_ms : 10000;
    s->output = s->guardian.pipe = -1;
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
        stop(s, STOP_CLOSE_MS);
        sweep_strays(s);
        aphi_reaper_stop(&s->guardian);
        atomic_store(&groups[s->slot], 0);
    }
    if (s->output >= 0)
        close(s->output);
    free(s->strays.pids);
    free(s->run);
    free(s->before);
    free(s);
}

/* ---- looking ----------------------------------------------------------------------------------------------------- */

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
    if (!is_there(s)) {
        say_end(s->status, message, size);
        return APHI_SUBJECT_EXITED;
    }
    if (!s->stopped)
        return APHI_SUBJECT_THERE;
    snprintf(message, size, "is stopped by a signal (SIGSTOP or one like it)");
    return APHI_SUBJECT_STOPPED;
}

void aphi_subject_tail(const aphi_subject *s, char *text, size_t n) { tail_from(s, 0, text, n); }
