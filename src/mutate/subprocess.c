/* SPDX-License-Identifier: Apache-2.0
 *
 * subprocess.c - a command of the shell that has limited time and leaves nothing behind; see subprocess.h.
 *
 * Idea:       a watcher, a process of its own, starts the command in a process group and adopts whatever loses its
 *             parent (PR_SET_CHILD_SUBREAPER): so all that comes of the command is the watcher's child sooner or
 *             later, whatever group or session it has moved to, and waitpid says when nothing is left.
 * Invariants: 1. only processes that the watcher has not reaped are signalled: a number cannot be another's
 *             2. a watcher whose own parent has ended calls its command off (PR_SET_PDEATHSIG)
 * Cost:       nothing while the command runs: the watcher sleeps until a signal or the end of the time. */
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
#define POLITE_NS (500 * MS) /* to end after SIGTERM, before SIGKILL */
#define STRAY_NS (200 * MS)  /* for what outlives a command that has ended itself */

typedef struct watch {
    const aphi_subprocess *job;
    pid_t leader; /* the shell; 0: reaped */
    aphi_subprocess_end end;
    bool alone; /* no child is left */
} watch;

static void signals_of_watcher(sigset_t *set)
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

static _Noreturn void become(const aphi_subprocess *job)
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

static void reap(watch *w)
{
    int status;
    pid_t pid;
    while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
        if (pid != w->leader)
            continue;
        w->leader = 0;
        w->end.known = true;
        w->end.status = status;
    }
    w->alone = pid < 0 && errno == ECHILD;
}

/* Until a signal, at most until then: is it time to end it all? */
static void wait_until(watch *w, int64_t until)
{
    sigset_t set;
    signals_of_watcher(&set);
    int64_t left = until - aphi_clock_ns();
    if (left < 0)
        left = 0;
    int number = sigtimedwait(&set, NULL, &(struct timespec){left / (1000 * MS), left % (1000 * MS)});
    if (number > 0 && number != SIGCHLD)
        w->end.called_off = true;
    reap(w);
}

/* The parent of a process, by the name of its folder; -1: there is none. */
static pid_t parent_of(const char *name)
{
    char path[300], line[512];
    int parent = -1;
    if (name[0] < '1' || name[0] > '9')
        return -1;
    snprintf(path, sizeof path, "/proc/%s/stat", name);
    FILE *stat = fopen(path, "re");
    const char *after = stat && fgets(line, sizeof line, stat) ? strrchr(line, ')') : NULL; /* its name may hold any */
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

/* Nothing is left when it returns. */
static void end_all(watch *w)
{
    if (w->leader > 0)
        kill(-w->leader, SIGTERM);
    int64_t until = aphi_clock_ns() + (w->leader > 0 ? POLITE_NS : STRAY_NS);
    while (!w->alone && aphi_clock_ns() < until)
        wait_until(w, until);
    while (!w->alone) {
        if (w->leader > 0)
            kill(-w->leader, SIGKILL);
        kill_children();
        wait_until(w, aphi_clock_ns() + 5 * MS);
    }
}

static _Noreturn void watch_over(const aphi_subprocess *job, pid_t parent)
{
    watch w = {.job = job};
    sigset_t set;
    int64_t until = aphi_clock_ns() + job->limit_ns;
    setpgid(0, 0);
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent)
        _exit(1);
    signals_of_watcher(&set);
    w.leader = fork();
    if (w.leader == 0)
        become(job);
    if (w.leader < 0)
        _exit(1);
    setpgid(w.leader, w.leader); /* whoever comes first */
    while (w.leader > 0 && !w.end.called_off && aphi_clock_ns() < until)
        wait_until(&w, until);
    bool timed_out = w.leader > 0 && !w.end.called_off;
    bool called_off = w.end.called_off;
    end_all(&w);
    w.end.timed_out = timed_out;
    w.end.called_off = called_off;
    *job->end = w.end;
    _exit(0);
}

pid_t aphi_subprocess_start(const aphi_subprocess *job)
{
    sigset_t set, old;
    pid_t parent = getpid();
    *job->end = (aphi_subprocess_end){0};
    signals_of_watcher(&set);
    sigprocmask(SIG_BLOCK, &set, &old); /* none may come before the watcher is ready for it */
    pid_t pid = fork();
    if (pid == 0)
        watch_over(job, parent);
    sigprocmask(SIG_SETMASK, &old, NULL);
    return pid;
}
