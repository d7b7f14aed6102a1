/* SPDX-License-Identifier: Apache-2.0
 *
 * subprocess.c - a shell command with a time limit that leaves no process behind.
 *
 * Idea:       a watcher process starts the command in a process group and adopts orphans (PR_SET_CHILD_SUBREAPER). So
 *             each descendant of the command eventually becomes a child of the watcher, whatever its process group or
 *             session, and waitpid fails with ECHILD when none is left.
 * Invariants: 1. the watcher signals only processes that it has not reaped, whose ids cannot have been reused
 *             2. a watcher whose parent has ended cancels its command (PR_SET_PDEATHSIG)
 * Cost:       none while the command runs: the watcher sleeps until a signal or the time limit. */
#include "mutate/subprocess.h"

#include "base/clock.h"
#include "base/process.h"

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
#define ORPHAN_NS (200 * MS)    /* time for processes that outlive the shell */

typedef struct watch {
    pid_t shell; /* leader of the process group; 0: reaped */
    sigset_t signals; /* the signals for which the watcher waits */
    aphi_subprocess_end end;
    bool childless;
} watch;

static bool start_command(watch *w, const aphi_subprocess *job)
{
    const char *old = getenv("CPATH");
    char *includes = NULL;
    aphi_process shell;
    int out = job->output ? open(job->output, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600) : APHI_PROCESS_NULL;
    if (job->output && out < 0)
        return false;
    if (job->includes && asprintf(&includes, "CPATH=%s%s%s", job->includes, old && *old ? ":" : "", old ? old : "") < 0)
        return false;
    bool started = aphi_process_start(&shell, &(aphi_process_options){.command = job->command, .variable = includes,
                                                                      .in = APHI_PROCESS_NULL, .out = out, .err = out,
                                                                      .own_group = true});
    w->shell = started ? shell.pid : 0;
    return started;
}

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

/* Waits for a signal, at most until the given time. Returns true if the signal cancels the command. */
static bool wait_until(watch *w, int64_t until)
{
    int64_t left = until - aphi_clock_ns();
    if (left < 0)
        left = 0;
    int number = sigtimedwait(&w->signals, NULL, &(struct timespec){left / (1000 * MS), left % (1000 * MS)});
    reap_children(w);
    return number > 0 && number != SIGCHLD;
}

/* Ends all descendants; returns when none is left. */
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
        aphi_process_kill_children(NULL);
        wait_until(w, aphi_clock_ns() + 5 * MS);
    }
}

static _Noreturn void run_watcher(watch *w, const aphi_subprocess *job, pid_t parent)
{
    int64_t until = aphi_clock_ns() + job->limit_ns;
    setpgid(0, 0);
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent || !start_command(w, job))
        _exit(1);
    while (w->shell > 0 && !w->end.cancelled && aphi_clock_ns() < until)
        w->end.cancelled = wait_until(w, until);
    w->end.timed_out = w->shell > 0 && !w->end.cancelled;
    end_descendants(w);
    *job->end = w->end;
    _exit(0);
}

pid_t aphi_subprocess_start(const aphi_subprocess *job)
{
    sigset_t old;
    watch w = {0};
    pid_t parent = getpid();
    *job->end = (aphi_subprocess_end){0};
    sigemptyset(&w.signals);
    for (size_t i = 0; i < 4; i++)
        sigaddset(&w.signals, (const int[]){SIGCHLD, SIGTERM, SIGINT, SIGHUP}[i]);
    sigprocmask(SIG_BLOCK, &w.signals, &old); /* blocked until the watcher waits for them */
    pid_t pid = fork();
    if (pid == 0)
        run_watcher(&w, job, parent);
    sigprocmask(SIG_SETMASK, &old, NULL);
    return pid;
}
