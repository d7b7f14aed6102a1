/* SPDX-License-Identifier: Apache-2.0
 *
 * subprocess.c - a shell command with a time limit that leaves no process behind; see subprocess.h.
 *
 * Idea:       a watcher process starts the command in a process group and adopts orphans (PR_SET_CHILD_SUBREAPER).
 *             Each descendant of the command thus becomes the watcher's child, in any process group or session, and
 *             waitpid fails with ECHILD when none is left.
 * Invariants: 1. the watcher signals only processes that it has not reaped, so that a process id is not reused
 *             2. a watcher whose parent has ended cancels its command (PR_SET_PDEATHSIG)
 * Cost:       none while the command runs: the watcher sleeps until a signal or the time limit. */
#include "mutate/subprocess.h"

#include "base/clock.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MS INT64_C(1000000)
#define TERMINATE_NS (500 * MS) /* from SIGTERM to SIGKILL */
#define ORPHAN_NS (200 * MS)    /* for processes that outlive the shell */

typedef struct watch {
    const aphi_subprocess *job;
    pid_t shell; /* leader of the process group; 0: reaped */
    aphi_subprocess_end end;
    bool childless;
} watch;

static void set_watcher_signals(sigset_t *set)
{
    sigemptyset(set);
    sigaddset(set, SIGCHLD);
    sigaddset(set, SIGTERM);
    sigaddset(set, SIGINT);
    sigaddset(set, SIGHUP);
}

/* ---- the command ------------------------------------------------------------------------------------------------- */

static void add_includes(const char *folder)
{
    const char *old = getenv("CPATH");
    char *both;
    if (asprintf(&both, "%s%s%s", folder, old && *old ? ":" : "", old ? old : "") >= 0)
        setenv("CPATH", both, 1);
}

static _Noreturn void exec_command(const aphi_subprocess *job)
{
    sigset_t none;
    sigemptyset(&none);
    setpgid(0, 0);
    int in = open("/dev/null", O_RDONLY);
    int out = open(job->output ? job->output : "/dev/null", O_WRONLY | O_CREAT | O_APPEND, 0600);
    if (in < 0 || out < 0 || dup2(in, 0) < 0 || dup2(out, 1) < 0 || dup2(out, 2) < 0)
        _exit(126);
    if (job->includes)
        add_includes(job->includes);
    for (int number = 1; number < NSIG; number++)
        signal(number, SIG_DFL);
    sigprocmask(SIG_SETMASK, &none, NULL);
    execl("/bin/sh", "sh", "-c", job->command, (char *)NULL);
    _exit(127);
}

/* ---- watching ---------------------------------------------------------------------------------------------------- */

static void reap_children(watch *w)
{
    int status;
    pid_t pid;
    while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
        if (pid != w->shell)
            continue;
        w->shell = 0;
        w->end.known = true;
        w->end.status = status;
    }
    w->childless = pid < 0 && errno == ECHILD;
}

/* Waits for a signal, until that time at most. */
static void wait_until(watch *w, int64_t until)
{
    sigset_t set;
    set_watcher_signals(&set);
    int64_t left = until - aphi_clock_ns();
    if (left < 0)
        left = 0;
    int number = sigtimedwait(&set, NULL, &(struct timespec){left / (1000 * MS), left % (1000 * MS)});
    if (number > 0 && number != SIGCHLD)
        w->end.cancelled = true;
    reap_children(w);
}

/* The parent of a process, by the name of its folder in /proc; -1: unknown. */
static pid_t parent_of(const char *name)
{
    char path[300], line[512];
    int parent = -1;
    if (name[0] < '1' || name[0] > '9')
        return -1;
    snprintf(path, sizeof path, "/proc/%s/stat", name);
    FILE *stat = fopen(path, "re");
    /* The command name, in brackets, may contain brackets. */
    const char *after = stat && fgets(line, sizeof line, stat) ? strrchr(line, ')') : NULL;
    if (after && sscanf(after, ") %*c %d", &parent) != 1)
        parent = -1;
    if (stat)
        fclose(stat);
    return parent;
}

static void kill_children(void)
{
    DIR *all = opendir("/proc");
    for (struct dirent *entry; all && (entry = readdir(all));)
        if (parent_of(entry->d_name) == getpid())
            kill((pid_t)strtol(entry->d_name, NULL, 10), SIGKILL);
    if (all)
        closedir(all);
}

/* Returns when no descendant is left. */
static void end_descendants(watch *w)
{
    if (w->shell > 0)
        kill(-w->shell, SIGTERM);
    int64_t until = aphi_clock_ns() + (w->shell > 0 ? TERMINATE_NS : ORPHAN_NS);
    while (!w->childless && aphi_clock_ns() < until)
        wait_until(w, until);
    while (!w->childless) {
        if (w->shell > 0)
            kill(-w->shell, SIGKILL);
        kill_children();
        wait_until(w, aphi_clock_ns() + 5 * MS);
    }
}

static _Noreturn void run_watcher(const aphi_subprocess *job, pid_t parent)
{
    watch w = {.job = job};
    sigset_t set;
    int64_t until = aphi_clock_ns() + job->limit_ns;
    setpgid(0, 0);
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent)
        _exit(1);
    set_watcher_signals(&set);
    w.shell = fork();
    if (w.shell == 0)
        exec_command(job);
    if (w.shell < 0)
        _exit(1);
    setpgid(w.shell, w.shell); /* parent and child both set it: either may run first */
    while (w.shell > 0 && !w.end.cancelled && aphi_clock_ns() < until)
        wait_until(&w, until);
    bool timed_out = w.shell > 0 && !w.end.cancelled;
    bool cancelled = w.end.cancelled;
    end_descendants(&w);
    w.end.timed_out = timed_out;
    w.end.cancelled = cancelled;
    *job->end = w.end;
    _exit(0);
}

pid_t aphi_subprocess_start(const aphi_subprocess *job)
{
    sigset_t set, old;
    pid_t parent = getpid();
    *job->end = (aphi_subprocess_end){0};
    set_watcher_signals(&set);
    sigprocmask(SIG_BLOCK, &set, &old); /* until the watcher waits for them */
    pid_t pid = fork();
    if (pid == 0)
        run_watcher(job, parent);
    sigprocmask(SIG_SETMASK, &old, NULL);
    return pid;
}
