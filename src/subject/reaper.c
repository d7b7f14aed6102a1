/* SPDX-License-Identifier: Apache-2.0
 *
 * reaper.c - marked processes, and the process that kills them if we are killed; see reaper.h. */
#include "subject/reaper.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/buffer.h"
#include "base/clock.h"
#include "base/memory.h"
#include "base/process.h"

/* ---- processes by their mark ------------------------------------------------------------------------------------- */

bool aphi_is_marked(pid_t pid, const char *mark)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/environ", (int)pid);
    aphi_buffer text = {0};
    aphi_buffer_load(&text, path, SIZE_MAX); /* nothing, if the process has ended */
    aphi_buffer_byte(&text, 0);
    bool found = false;
    for (size_t i = 0; i < text.n && !found; i += strlen(text.data + i) + 1)
        found = !strcmp(text.data + i, mark);
    aphi_buffer_free(&text);
    return found;
}

void aphi_stray_add(aphi_strays *found, pid_t pid)
{
    for (size_t i = 0; i < found->count; i++)
        if (found->pids[i] == pid)
            return;
    APHI_PUSH(found->pids, found->count, found->capacity, pid);
}

size_t aphi_find_marked(const char *mark, bool killing, aphi_strays *found)
{
    DIR *processes = opendir("/proc");
    if (!processes)
        return 0;
    size_t n = 0;
    for (struct dirent *entry; (entry = readdir(processes));) {
        pid_t pid = (pid_t)atoi(entry->d_name);
        if (pid <= 0 || !aphi_is_marked(pid, mark))
            continue;
        aphi_stray_add(found, pid);
        n++;
        if (killing)
            kill(pid, SIGKILL);
    }
    closedir(processes);
    return n;
}

void aphi_kill_marked(const char *mark, aphi_strays *found)
{
    int64_t pause = APHI_CLOCK_BACKOFF_NS, until = aphi_clock_ns() + 1000000000;
    while (aphi_find_marked(mark, true, found) > 0 && aphi_clock_ns() < until)
        aphi_clock_backoff(&pause);
}

/* ---- the reaper -------------------------------------------------------------------------------------------------- */

static int remove_entry(const char *path, const struct stat *about, int flag, struct FTW *where)
{
    (void)about, (void)flag, (void)where;
    remove(path);
    return 0;
}

void aphi_remove_folder(const char *path) { nftw(path, remove_entry, 16, FTW_DEPTH | FTW_PHYS); }

/* Kills the group if its leader still exists in our session; otherwise the number may have been reused. The mark alone
 * is not enough, because some servers (nginx) overwrite their environment with their title. */
static void kill_group(const aphi_leftovers *left)
{
    pid_t group = left->group;
    if (group > 0 && getpgid(group) == group && getsid(group) == left->session)
        kill(-group, SIGKILL);
}

/* Waits for the end of the pipe (the subject was closed) or of the parent (a pidfd: another process may have inherited
 * the pipe). */
static _Noreturn void run_reaper(int pipe_end, int ready, int parent, const char *mark, const aphi_leftovers *left)
{
    setsid(); /* signals from the terminal must not reach it */
    char *inherited = getenv("ANTIPHON_SUBJECT");
    if (inherited)
        *inherited = 'x'; /* if we are a subject ourselves, our mark must not cause the reaper to be killed with us */
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    close(ready);
    int high = parent < 0 ? -1 : fcntl(parent, F_DUPFD, 3);
    dup2(pipe_end, 0);
    if (high >= 0)
        dup2(high, 1);
    close_range(high >= 0 ? 2 : 1, ~0u, 0);
    struct pollfd ends[] = {{.fd = 0, .events = POLLIN}, {.fd = high >= 0 ? 1 : -1, .events = POLLIN}};
    while (poll(ends, 2, -1) <= 0) {
    }
    kill_group(left);
    aphi_kill_marked(mark, &(aphi_strays){0});
    if (left->has_folder)
        aphi_remove_folder(left->folder);
    _exit(0);
}

/* Waits until the reaper has left our session and removed our mark, so that it is not killed with us. It then closes
 * its end of this pipe. No subject is started before that. */
static void wait_until_ready(const int ready[2])
{
    char none;
    close(ready[1]);
    while (read(ready[0], &none, 1) < 0 && errno == EINTR) {
    }
    close(ready[0]);
}

bool aphi_reaper_start(aphi_reaper *r, const char *mark)
{
    int ends[2], ready[2];
    void *shared = mmap(NULL, sizeof *r->leftovers, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED)
        return false;
    r->leftovers = shared;
    r->leftovers->session = getsid(0);
    if (pipe2(ends, O_CLOEXEC) != 0)
        return false;
    if (pipe2(ready, O_CLOEXEC) != 0) {
        close(ends[0]);
        close(ends[1]);
        return false;
    }
    int ourselves = (int)syscall(SYS_pidfd_open, getpid(), 0); /* -1 before Linux 5.3 */
    r->pid = aphi_process_fork();
    if (r->pid == 0)
        run_reaper(ends[0], ready[1], ourselves, mark, r->leftovers);
    wait_until_ready(ready);
    close(ends[0]);
    if (ourselves >= 0)
        close(ourselves);
    r->pipe = ends[1];
    return r->pid > 0;
}

void aphi_reaper_stop(aphi_reaper *r)
{
    if (r->pipe >= 0)
        close(r->pipe);
    if (r->pid > 0)
        waitpid(r->pid, NULL, 0);
    if (r->leftovers)
        munmap(r->leftovers, sizeof *r->leftovers);
}
