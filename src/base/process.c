/* SPDX-License-Identifier: Apache-2.0
 *
 * process.c - child processes by vfork and exec.
 *
 * Idea:       use vfork, since fork copies the page tables of a heap that may be large. All memory that the child needs
 *             is allocated before; the child only makes system calls. It reports the errno of exec on a pipe that exec
 *             closes.
 * Invariants: 1. signals are blocked from before vfork until the child has reset its handlers: a handler must not run
 *                in the child, which shares our memory
 *             2. while pid is not 0, a process of the group is unreaped, so the number is not reused
 * Not done:   posix_spawn, which cannot set PR_SET_PDEATHSIG. */
#include "base/process.h"

#include "base/clock.h"
#include "base/memory.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/* ---- in the child ------------------------------------------------------------------------------------------------ */

static bool redirect(int from, int to)
{
    if (from == 0)
        return true;
    if (from == APHI_PROCESS_NULL)
        from = open("/dev/null", (to == 0 ? O_RDONLY : O_WRONLY) | O_CLOEXEC);
    if (from < 0)
        return false;
    return from == to ? fcntl(to, F_SETFD, 0) == 0 : dup2(from, to) == to;
}

static void reset_signals(bool ignored_too)
{
    struct sigaction action;
    for (int i = 1; i < NSIG; i++)
        if (sigaction(i, NULL, &action) == 0 && (ignored_too || action.sa_handler != SIG_IGN))
            signal(i, SIG_DFL);
}

static _Noreturn void run_child(const aphi_process_options *o, char *const *argv, char **environment,
                                const sigset_t *mask, int report)
{
    sigset_t none;
    sigemptyset(&none);
    reset_signals(o->own_group);
    if (o->own_group)
        setpgid(0, 0);
    if (o->dies_with_us)
        prctl(PR_SET_PDEATHSIG, SIGKILL);
    close_range(3, ~0u, CLOSE_RANGE_CLOEXEC);
    for (const int *fd = o->kept; fd && *fd; fd++)
        fcntl(*fd, F_SETFD, 0);
    if ((!o->directory || chdir(o->directory) == 0) && redirect(o->in, 0) && redirect(o->out, 1) &&
        redirect(o->err, 2)) {
        sigprocmask(SIG_SETMASK, o->own_group ? &none : mask, NULL);
        execvpe(o->command ? "/bin/sh" : argv[0], argv, environment);
    }
    int failure = errno;
    _exit(write(report, &failure, sizeof failure) < 0 ? 126 : 127);
}

/* ---- starting ---------------------------------------------------------------------------------------------------- */

/* Returns our environment plus the variable. The caller frees the array, but not its strings. */
static char **make_environment(const char *variable)
{
    size_t count = 0, kept = 0, name = variable ? strcspn(variable, "=") + 1 : 0;
    while (environ[count])
        count++;
    char **copy = aphi_alloc((count + 2) * sizeof *copy);
    for (size_t i = 0; i < count; i++)
        if (!variable || strncmp(environ[i], variable, name) != 0)
            copy[kept++] = environ[i];
    if (variable)
        copy[kept++] = (char *)variable; /* exec does not write to it */
    copy[kept] = NULL;
    return copy;
}

static pid_t spawn(const aphi_process_options *o, char *const *argv, char **environment, const sigset_t *mask,
                   int report)
{
    pid_t pid = vfork();
    if (pid == 0)
        run_child(o, argv, environment, mask, report);
    return pid;
}

/* Reads the errno of a failed exec; 0 if exec has closed the pipe. */
static int read_failure(int report)
{
    int failure = 0;
    while (read(report, &failure, sizeof failure) < 0 && errno == EINTR)
        continue;
    return failure;
}

bool aphi_process_start(aphi_process *p, const aphi_process_options *o)
{
    char *shell[] = {"sh", "-c", (char *)o->command, NULL};
    int report[2];
    sigset_t all, mask;
    if (pipe2(report, O_CLOEXEC) != 0)
        return false;
    char **environment = make_environment(o->variable);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &mask);
    pid_t pid = spawn(o, o->command ? shell : o->argv, environment, &mask, report[1]);
    int failure = pid < 0 ? errno : 0;
    pthread_sigmask(SIG_SETMASK, &mask, NULL);
    free(environment);
    close(report[1]);
    if (pid > 0 && (failure = read_failure(report[0])) != 0)
        while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
            continue;
    close(report[0]);
    if (!failure)
        *p = (aphi_process){.pid = pid, .own_group = o->own_group};
    errno = failure;
    return !failure;
}

char *aphi_process_self(char path[PATH_MAX])
{
    ssize_t n = readlink("/proc/self/exe", path, PATH_MAX - 1);
    path[n > 0 ? n : 0] = 0;
    return path;
}

pid_t aphi_process_fork(void)
{
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0)
        aphi_rescue_remove_all();
    return pid;
}

/* ---- watching and ending ----------------------------------------------------------------------------------------- */

void aphi_process_note(aphi_process *p, pid_t pid, int status)
{
    if (WIFSTOPPED(status)) {
        p->stopped = true;
    } else if (WIFCONTINUED(status)) {
        p->stopped = false;
    } else {
        p->leader_ended = p->leader_ended || pid == p->pid;
        if (!p->failed)
            p->status = status;
        p->failed = p->failed || !WIFEXITED(status) || WEXITSTATUS(status) != 0;
    }
}

/* Returns true if a process is left, which is possible only with WNOHANG. */
static bool reap(aphi_process *p, int flags)
{
    while (p->pid) {
        int status;
        pid_t pid = waitpid(p->own_group ? -p->pid : p->pid, &status, flags);
        if (pid == 0)
            return true;
        if (pid > 0)
            aphi_process_note(p, pid, status);
        else if (errno != EINTR)
            p->pid = 0; /* ECHILD */
    }
    return false;
}

bool aphi_process_poll(aphi_process *p)
{
    return reap(p, WNOHANG | WUNTRACED | WCONTINUED);
}

bool aphi_process_wait(aphi_process *p, int64_t timeout_ns)
{
    if (timeout_ns < 0)
        return !reap(p, 0);
    int64_t pause = APHI_CLOCK_BACKOFF_NS, until = aphi_clock_ns() + timeout_ns;
    while (aphi_process_poll(p)) {
        if (aphi_clock_ns() >= until)
            return false;
        aphi_clock_backoff(&pause);
    }
    return true;
}

bool aphi_process_stop(aphi_process *p, int64_t grace_ns)
{
    if (!aphi_process_poll(p))
        return true;
    pid_t target = p->own_group ? -p->pid : p->pid;
    if (grace_ns > 0) {
        kill(target, SIGTERM);
        kill(target, SIGCONT); /* a stopped process would not handle SIGTERM */
        if (aphi_process_wait(p, grace_ns))
            return true;
    }
    kill(target, SIGKILL);
    aphi_process_wait(p, INT64_C(10000000000));
    return false;
}

/* ---- descendants ------------------------------------------------------------------------------------------------- */

pid_t aphi_process_parent(pid_t pid)
{
    char path[64];
    aphi_buffer stat = {0};
    int parent = -1;
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    aphi_buffer_load(&stat, path, SIZE_MAX); /* loads nothing if the process has ended */
    const char *after = strrchr(aphi_buffer_text(&stat), ')'); /* the name before it may contain any character */
    if (after && sscanf(after, ") %*c %d", &parent) != 1)
        parent = -1;
    aphi_buffer_free(&stat);
    return parent;
}

/* Appends the numbers of all processes whose parent we are. */
static void list_children_slowly(aphi_buffer *list)
{
    DIR *all = opendir("/proc");
    for (struct dirent *entry; all && (entry = readdir(all));)
        if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9' && aphi_process_parent(atoi(entry->d_name)) == getpid())
            aphi_buffer_format(list, "%s ", entry->d_name);
    if (all)
        closedir(all);
}

/* The file of the kernel is read in microseconds, so that a process that forks and ends at once is met alive. It lists
 * the children of our first thread, which adopts. Some kernels do not have it. */
pid_t aphi_process_kill_children(bool (*wanted)(pid_t child))
{
    aphi_buffer list = {0};
    char path[64];
    pid_t killed = 0;
    snprintf(path, sizeof path, "/proc/self/task/%d/children", (int)getpid());
    if (!aphi_buffer_load(&list, path, SIZE_MAX))
        list_children_slowly(&list);
    char *at = aphi_buffer_text(&list), *end;
    for (long pid; (pid = strtol(at, &end, 10)) > 0; at = end) {
        if (wanted && !wanted((pid_t)pid))
            continue;
        kill((pid_t)pid, SIGKILL);
        killed = (pid_t)pid;
    }
    aphi_buffer_free(&list);
    return killed;
}

void aphi_process_status_text(int status, char *text, size_t size)
{
    if (WIFSIGNALED(status)) {
        const char *name = sigabbrev_np(WTERMSIG(status));
        snprintf(text, size, "was killed by SIG%s", name ? name : "?");
        return;
    }
    int code = WEXITSTATUS(status);
    const char *name = code > 128 ? sigabbrev_np(code - 128) : NULL; /* as sh reports a signal */
    if (name)
        snprintf(text, size, "exited with status %d (SIG%s)", code, name);
    else
        snprintf(text, size, "exited with status %d%s", code, code == 127 ? " (command not found)" : "");
}

int aphi_process_run(const aphi_process_options *options, aphi_buffer *out)
{
    int ends[2] = {-1, -1};
    aphi_process p = {0};
    aphi_process_options piped = *options;
    if (out && pipe2(ends, O_CLOEXEC) != 0)
        return -1;
    if (out)
        piped.out = ends[1];
    bool started = aphi_process_start(&p, &piped);
    int failure = errno;
    if (out) {
        close(ends[1]);
        aphi_buffer_read_fd(out, ends[0], SIZE_MAX);
        close(ends[0]);
    }
    aphi_process_wait(&p, -1);
    errno = failure;
    return started && WIFEXITED(p.status) ? WEXITSTATUS(p.status) : -1;
}
