/* SPDX-License-Identifier: Apache-2.0
 *
 * reaper.c - a process between us and a command.
 *
 * Idea:       The reaper is the parent of the command and a subreaper (PR_SET_CHILD_SUBREAPER): every descendant of the
 *             command becomes its child when the parent of that descendant ends, in any process group, session and
 *             environment. So it kills its children until it has none. It does the same when we end, even by SIGKILL:
 *             it waits for the end of our socket and of our process (another process may have inherited the socket).
 *             We are also a subreaper: if a command kills the reaper, its descendants become our children.
 * Invariants: 1. Only unreaped children are signalled, whose ids cannot have been reused; a group only while it
 *                contains such a child.
 *             2. While a reaper runs, all our children are reapers or orphans of a killed reaper.
 * Cost:       A request and its response cost two context switches. One reaper serves all starts of a subject, because
 *             fork copies the page tables of a heap that may be large later.
 * Not done:   Control groups and process namespaces, which need privileges. A process that another daemon starts on
 *             behalf of the command is not a descendant. */
#include "subject/reaper.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/memory.h"

enum {
    REAPERS_MAX = 256,
    RING = 1 << 16,         /* bytes of output in memory */
    COPY_MAX = 64 << 20,    /* size at which the file for the output is emptied */
    READS_IN_ROUND = 16,    /* of the output */
    REQUEST_MAX = 1 << 18,  /* with the command, which the system limits to half of this */
    KILL_MS = 10000,        /* after that, processes that cannot be killed are given up */
    CONTINUE_MS = 100,      /* a reaper that takes longer may be stopped */
    RESPONSE_MS = 2 * KILL_MS,
};

#define MS INT64_C(1000000)

struct aphi_reaper_page {
    atomic_bool has_folder;
    char folder[PATH_MAX];
    _Atomic uint64_t state;            /* see pack_state */
    _Atomic uint64_t printed, started; /* bytes of output: in total, and before the latest start */
    char ring[RING];
};

typedef enum request_kind { START, OBSERVE, STOP } request_kind;

typedef struct request { /* the command follows */
    request_kind kind;
    bool has_command;
    int64_t grace_ns;
} request;

typedef struct response {
    int failure; /* errno */
    bool by_sigterm;
} response;

enum { LINK, TESTER, CHILDREN, OUTPUT, ENDS };

typedef struct reaping { /* in the reaper */
    aphi_process_options options;
    struct pollfd ends[ENDS];
    int copy;
    off_t copied;
    aphi_reaper_page *page;
    aphi_process process; /* the leader and its group */
    aphi_process strays;  /* the other children */
    bool left;            /* any child */
    bool abandoned;       /* we have ended */
} reaping;

/* ---- state ------------------------------------------------------------------------------------------------------- */

enum { LEFT = 1 << 16, LEADER_ENDED = 1 << 17, STOPPED = 1 << 18, FAILED = 1 << 19, LEADER_SHIFT = 32 };

/* The end of a daemon counts only if no process is left; until then, its other processes may serve. */
static uint64_t pack_state(const reaping *r)
{
    const aphi_process *p = &r->process, *strays = &r->strays;
    bool by_stray = !r->left && !p->failed && strays->failed;
    bool stopped = p->stopped || (p->leader_ended && strays->stopped);
    return (uint64_t)(r->left ? p->pid : 0) << LEADER_SHIFT | (r->left ? LEFT : 0u) |
           (p->leader_ended ? LEADER_ENDED : 0u) | (stopped ? STOPPED : 0u) | (p->failed || by_stray ? FAILED : 0u) |
           ((unsigned)(by_stray ? strays->status : p->status) & 0xffff);
}

static aphi_reaper_state unpack_state(uint64_t packed)
{
    return (aphi_reaper_state){.leader = (pid_t)(packed >> LEADER_SHIFT), .left = packed & LEFT,
                               .leader_ended = packed & LEADER_ENDED, .stopped = packed & STOPPED,
                               .failed = packed & FAILED, .status = (int)(packed & 0xffff)};
}

/* ---- output ------------------------------------------------------------------------------------------------------ */

static void keep_output(aphi_reaper_page *page, const char *bytes, size_t n)
{
    size_t at = page->printed % RING, first = n < RING - at ? n : RING - at;
    memcpy(page->ring + at, bytes, first);
    memcpy(page->ring, bytes + first, n - first);
    page->printed += n;
}

static void copy_output(reaping *r, const char *bytes, size_t n)
{
    static const char note[] = "\n[antiphon: earlier output was removed]\n";
    struct stat about;
    r->copied += (off_t)aphi_write_all(r->copy, bytes, n);
    if (r->copied <= COPY_MAX)
        return;
    r->copied = 0;
    if (fstat(r->copy, &about) != 0 || !S_ISREG(about.st_mode) || ftruncate(r->copy, 0) != 0)
        return;
    aphi_write_all(r->copy, note, sizeof note - 1);
    aphi_write_all(r->copy, bytes, n);
}

static void read_output(reaping *r)
{
    char bytes[RING];
    for (int i = 0; i < READS_IN_ROUND && r->ends[OUTPUT].fd >= 0; i++) {
        ssize_t n = read(r->ends[OUTPUT].fd, bytes, sizeof bytes);
        if (n <= 0)
            return;
        keep_output(r->page, bytes, (size_t)n);
        if (r->copy >= 0)
            copy_output(r, bytes, (size_t)n);
    }
}

/* ---- children ---------------------------------------------------------------------------------------------------- */

static void note_end(reaping *r, pid_t pid, bool in_group)
{
    int status;
    if (waitpid(pid, &status, WNOHANG | WUNTRACED | WCONTINUED) == pid)
        aphi_process_note(in_group ? &r->process : &r->strays, pid, status);
}

static void reap_children(reaping *r)
{
    siginfo_t info;
    for (;;) {
        info.si_pid = 0;
        r->left = waitid(P_ALL, 0, &info, WEXITED | WSTOPPED | WCONTINUED | WNOHANG | WNOWAIT) == 0;
        if (!r->left || info.si_pid == 0)
            return;
        note_end(r, info.si_pid, getpgid(info.si_pid) == r->process.pid);
    }
}

static bool group_is_left(const reaping *r)
{
    siginfo_t info;
    return r->process.pid > 0 &&
           waitid(P_PGID, (id_t)r->process.pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0;
}

/* Output that precedes the state is read before. */
static void publish_state(reaping *r)
{
    read_output(r);
    r->page->state = pack_state(r);
}

/* Reads output and reaps children. Returns after an event or the time. */
static void wait_for_event(reaping *r, int timeout_ms)
{
    struct signalfd_siginfo info;
    if (poll(r->ends, ENDS, timeout_ms) <= 0)
        return;
    if (r->ends[TESTER].revents || r->ends[LINK].revents & (POLLHUP | POLLERR)) {
        r->abandoned = true;
        r->ends[TESTER].fd = r->ends[LINK].fd = -1;
    }
    if (r->ends[OUTPUT].revents)
        read_output(r);
    if (!r->ends[CHILDREN].revents)
        return;
    while (read(r->ends[CHILDREN].fd, &info, sizeof info) > 0)
        continue;
    reap_children(r);
    publish_state(r);
    if (!r->abandoned)
        kill(getppid(), SIGCHLD);
}

/* Returns true if no child is left. */
static bool kill_all(reaping *r, int64_t limit_ns)
{
    int64_t until = aphi_clock_ns() + limit_ns;
    for (reap_children(r); r->left && aphi_clock_ns() < until; reap_children(r)) {
        aphi_process_kill_children(NULL);
        wait_for_event(r, 1);
    }
    return !r->left;
}

static bool stop_all(reaping *r, int64_t grace_ns)
{
    reap_children(r);
    bool terminating = grace_ns > 0 && group_is_left(r);
    if (terminating) {
        kill(-r->process.pid, SIGTERM);
        kill(-r->process.pid, SIGCONT); /* a stopped process would not handle SIGTERM */
    }
    int64_t until = aphi_clock_ns() + grace_ns, left;
    while (terminating && group_is_left(r) && (left = until - aphi_clock_ns()) > 0 && !r->abandoned) {
        wait_for_event(r, (int)(left / MS) + 1);
        reap_children(r);
    }
    bool by_sigterm = !group_is_left(r);
    kill_all(r, KILL_MS * MS);
    r->process = r->strays = (aphi_process){0};
    return by_sigterm;
}

/* ---- requests ---------------------------------------------------------------------------------------------------- */

static int start_command(reaping *r, const char *command)
{
    aphi_process_options o = r->options;
    if (command) {
        o.command = command;
        o.argv = NULL;
    }
    read_output(r);
    r->page->started = r->page->printed;
    r->process = r->strays = (aphi_process){0};
    if (!aphi_process_start(&r->process, &o))
        return errno;
    r->left = true;
    for (const int *kept = r->options.kept; kept && *kept; kept++)
        close(*kept); /* so that the other ends observe the end of the command */
    r->options.kept = NULL;
    return 0;
}

static response perform_request(reaping *r, const request *q, const char *command)
{
    response done = {0};
    switch (q->kind) {
    case START: done.failure = start_command(r, q->has_command ? command : NULL); break;
    case OBSERVE: reap_children(r); break;
    case STOP: done.by_sigterm = stop_all(r, q->grace_ns); break;
    }
    publish_state(r);
    return done;
}

static void serve_tester(reaping *r)
{
    char *text = aphi_alloc(REQUEST_MAX + 1);
    request q;
    while (!r->abandoned) { /* also after a request */
        wait_for_event(r, -1);
        struct iovec parts[] = {{&q, sizeof q}, {text, REQUEST_MAX}};
        ssize_t n = r->ends[LINK].revents && !r->abandoned ? readv(r->ends[LINK].fd, parts, 2) : 0;
        if (n < (ssize_t)sizeof q)
            continue;
        text[(size_t)n - sizeof q] = 0;
        response done = perform_request(r, &q, text);
        send(r->ends[LINK].fd, &done, sizeof done, MSG_NOSIGNAL);
    }
    free(text);
}

/* ---- the process of the reaper ----------------------------------------------------------------------------------- */

static int compare_descriptors(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }

/* Stores the descriptors that the reaper or its children use, in ascending order. Returns their number. */
static size_t list_descriptors(const reaping *r, int *found, size_t most)
{
    const aphi_process_options *o = &r->options;
    const int own[] = {o->in, o->out, o->err, r->copy, r->ends[LINK].fd, r->ends[TESTER].fd, r->ends[OUTPUT].fd};
    size_t n = 0;
    for (; n < sizeof own / sizeof *own; n++)
        found[n] = own[n];
    for (const int *kept = o->kept; kept && *kept && n < most; kept++)
        found[n++] = *kept;
    qsort(found, n, sizeof *found, compare_descriptors);
    return n;
}

/* Closes the other inherited descriptors, such as our end of the socket. 0, 1 and 2 stay open, so that no file gets
 * these numbers. */
static void close_descriptors(const reaping *r)
{
    int kept[32], null = open("/dev/null", O_RDWR | O_CLOEXEC), next = 0;
    size_t n = list_descriptors(r, kept, sizeof kept / sizeof *kept);
    for (size_t i = 0; i <= n; i++) {
        int end = i < n ? kept[i] : INT_MAX;
        for (; next < end && next < 3; next++)
            dup2(null, next);
        if (next < end)
            close_range((unsigned)next, (unsigned)end - 1, 0);
        next = end >= next && end < INT_MAX ? end + 1 : next;
    }
}

static _Noreturn void run_reaper(reaping *r)
{
    sigset_t child;
    setpgid(0, 0); /* not a session: the scheduler would wake it later on a busy machine */
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    signal(SIGCHLD, SIG_DFL); /* if it were ignored, ended children would vanish */
    close_descriptors(r);
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    r->ends[CHILDREN].fd = signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK);
    serve_tester(r);
    while (!kill_all(r, KILL_MS * MS))
        continue;
    if (r->page->has_folder)
        aphi_remove_folder(r->page->folder);
    _exit(0);
}

/* ---- starting it ------------------------------------------------------------------------------------------------- */

static _Atomic pid_t reapers[REAPERS_MAX]; /* that are running */

static void register_reaper(pid_t from, pid_t to)
{
    for (size_t i = 0; i < REAPERS_MAX; i++) {
        pid_t expected = from;
        if (atomic_compare_exchange_strong(&reapers[i], &expected, to))
            return;
    }
}

/* Invariant 2. */
static bool is_orphan(pid_t child)
{
    for (size_t i = 0; i < REAPERS_MAX; i++)
        if (atomic_load(&reapers[i]) == child)
            return false;
    return true;
}

/* Forks with all signals blocked, so that no handler of ours runs in the reaper. */
static void fork_reaper(aphi_reaper *r, reaping *work)
{
    sigset_t all, mask;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &mask);
    r->pid = aphi_process_fork();
    if (r->pid == 0)
        run_reaper(work);
    int failure = errno;
    pthread_sigmask(SIG_SETMASK, &mask, NULL);
    if (r->pid > 0)
        register_reaper(0, r->pid);
    errno = failure;
}

/* Makes the pipe for the output. Returns false with errno. */
static bool open_output(reaping *work, int output[2])
{
    if (work->options.out != 0)
        return true;
    if (pipe2(output, O_CLOEXEC) != 0)
        return false;
    fcntl(output[0], F_SETFL, O_NONBLOCK);
    work->ends[OUTPUT].fd = output[0];
    work->options.out = work->options.err = output[1];
    return true;
}

static bool launch_reaper(aphi_reaper *r)
{
    int link[2] = {-1, -1}, output[2] = {-1, -1};
    int ourselves = (int)syscall(SYS_pidfd_open, getpid(), 0); /* -1 before Linux 5.3 */
    reaping work = {.options = r->options, .copy = r->copy, .page = r->page,
                    .ends = {{-1, POLLIN, 0}, {ourselves, POLLIN, 0}, {-1, POLLIN, 0}, {-1, POLLIN, 0}}};
    r->pid = -1;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, link) == 0 && open_output(&work, output)) {
        work.ends[LINK].fd = link[1];
        fork_reaper(r, &work);
    }
    int failure = errno, unused[] = {link[1], output[0], output[1], ourselves, r->pid > 0 ? -1 : link[0]};
    for (size_t i = 0; i < sizeof unused / sizeof *unused; i++)
        if (unused[i] >= 0)
            close(unused[i]);
    r->link = link[0];
    if (r->pid > 0)
        return true;
    r->pid = 0;
    errno = failure;
    return false;
}

bool aphi_reaper_open(aphi_reaper *r, const aphi_process_options *options, int copy)
{
    *r = (aphi_reaper){.options = *options, .copy = copy, .link = -1};
    r->options.own_group = r->options.dies_with_us = true;
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    void *shared = mmap(NULL, sizeof *r->page, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED)
        return false;
    r->page = shared;
    return launch_reaper(r);
}

/* ---- requests to it ---------------------------------------------------------------------------------------------- */

static void wait_for_reaper(aphi_reaper *r)
{
    close(r->link);
    while (waitpid(r->pid, NULL, 0) < 0 && errno == EINTR)
        continue;
    register_reaper(r->pid, 0);
    r->pid = 0;
}

/* Kills the processes of a reaper that was killed: they are our children now. */
static void end_orphans(void)
{
    int64_t pause = APHI_CLOCK_BACKOFF_NS, until = aphi_clock_ns() + KILL_MS * MS;
    pid_t killed;
    while ((killed = aphi_process_kill_children(is_orphan)) > 0 && aphi_clock_ns() < until) {
        while (waitpid(killed, NULL, WNOHANG) == 0 && aphi_clock_ns() < until)
            aphi_clock_backoff(&pause);
    }
}

static void handle_loss(aphi_reaper *r)
{
    kill(r->pid, SIGKILL);
    wait_for_reaper(r);
    end_orphans();
}

static bool has_ended(const aphi_reaper *r)
{
    siginfo_t info = {0};
    return waitid(P_PID, (id_t)r->pid, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid;
}

/* Receives the reaper's response. A subject may have stopped the reaper with SIGSTOP, so it is continued repeatedly.
 * Returns false if it was lost, even if a process that it started still holds its end of the socket, or if it does not
 * respond for much longer than grace_ns. */
static bool receive_response(aphi_reaper *r, int64_t grace_ns, response *received)
{
    int64_t until = aphi_clock_ns() + grace_ns + RESPONSE_MS * MS;
    struct pollfd link = {.fd = r->link, .events = POLLIN};
    while (poll(&link, 1, CONTINUE_MS) <= 0) {
        if (has_ended(r) || aphi_clock_ns() > until)
            return false;
        kill(r->pid, SIGCONT);
    }
    ssize_t n;
    while ((n = recv(r->link, received, sizeof *received, 0)) < 0 && errno == EINTR)
        continue;
    return n == sizeof *received;
}

static response ask_reaper(aphi_reaper *r, request q, const char *command)
{
    response done = {.failure = ECHILD, .by_sigterm = true};
    struct iovec parts[] = {{&q, sizeof q}, {(void *)command, command ? strlen(command) : 0}};
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};
    if (!r->pid)
        return done;
    q.has_command = command;
    ssize_t n;
    while ((n = sendmsg(r->link, &message, MSG_NOSIGNAL)) < 0 && errno == EINTR)
        continue;
    if (n < 0 && errno == EMSGSIZE)
        return (response){.failure = E2BIG};
    response received;
    if (n >= 0 && receive_response(r, q.grace_ns, &received))
        return received;
    handle_loss(r);
    return done;
}

bool aphi_reaper_start(aphi_reaper *r, const char *command)
{
    if (!r->pid && !launch_reaper(r))
        return false;
    errno = ask_reaper(r, (request){.kind = START}, command).failure;
    return errno == 0;
}

/* A request would take two context switches, and a start looks often. */
aphi_reaper_state aphi_reaper_look(aphi_reaper *r)
{
    if (r->pid && has_ended(r))
        handle_loss(r);
    return r->pid ? unpack_state(r->page->state) : (aphi_reaper_state){.lost = true, .failed = true,
                                                                       .leader_ended = true};
}

aphi_reaper_state aphi_reaper_observe(aphi_reaper *r)
{
    ask_reaper(r, (request){.kind = OBSERVE}, NULL);
    return aphi_reaper_look(r);
}

bool aphi_reaper_stop(aphi_reaper *r, int64_t grace_ns)
{
    return ask_reaper(r, (request){.kind = STOP, .grace_ns = grace_ns}, NULL).by_sigterm;
}

void aphi_reaper_close(aphi_reaper *r)
{
    if (r->pid > 0)
        aphi_reaper_stop(r, 0);
    if (r->pid > 0)
        wait_for_reaper(r);
    if (r->page)
        munmap(r->page, sizeof *r->page);
    r->page = NULL;
}

bool aphi_reaper_descends(const aphi_reaper *r, pid_t pid)
{
    while (pid > 1 && pid != r->pid)
        pid = aphi_process_parent(pid);
    return pid > 1;
}

/* ---- shared memory ----------------------------------------------------------------------------------------------- */

void aphi_reaper_tail(aphi_reaper *r, char *text, size_t n)
{
    if (n == 0)
        return;
    aphi_reaper_observe(r);
    uint64_t end = r->page->printed, at = r->page->started;
    size_t most = n - 1 < RING ? n - 1 : RING;
    if (end - at > most)
        at = end - most;
    while (at < end)
        *text++ = r->page->ring[at++ % RING];
    *text = 0;
}

void aphi_reaper_set_folder(aphi_reaper *r, const char *path)
{
    bool fits = path && strlen(path) < sizeof r->page->folder;
    r->page->has_folder = false;
    if (fits)
        strcpy(r->page->folder, path);
    r->page->has_folder = fits;
}

static int remove_entry(const char *path, const struct stat *about, int flag, struct FTW *where)
{
    (void)about, (void)flag, (void)where;
    remove(path);
    return 0;
}

void aphi_remove_folder(const char *path) { nftw(path, remove_entry, 16, FTW_DEPTH | FTW_PHYS); }
