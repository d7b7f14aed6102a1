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
#include "harness/subject.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netdb.h>
#include <poll.h>
#include <pwd.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "base/buffer.h"
#include "base/clock.h"
#include "base/memory.h"

enum {
    SUBJECTS_MAX = 64,      /* at once */
    STOP_CLOSE_MS = 500,    /* for a polite end, when it is the last */
    STOP_RESET_MS = 100,    /* and between two runs */
    START_STOPPED_MS = 1000, /* to start if we are to end: a last run may be wanted */
    CONNECT_AFTER_MS = 300, /* until then the kernel is asked for its socket */
    PORTS = 5,              /* to be tried if others take them in between */
};
#define MS INT64_C(1000000)

extern char **environ;

typedef struct strays { /* processes with the mark that are, or may become, our children in no group of ours */
    pid_t *pids;
    size_t count, capacity;
} strays;

typedef struct legacy { /* what the guardian finds if we are killed: memory that it shares with us */
    _Atomic pid_t group; /* 0: none */
    pid_t session;
    atomic_bool has_folder;
    char folder[PATH_MAX];
} legacy;

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
    char *folder;  /* its {dir}, or NULL */
    const char *name;
    const aphi_subject_file *files;
    size_t file_count;
    bool owned; /* the folder is given to owner */
    uid_t owner;
    gid_t group_of_owner;
    unsigned listen;
    size_t slot;   /* in groups */
    pid_t group;   /* 0: not started, or all of it is gone */
    bool leader_ended, stopped, impolite;
    bool failed; /* status is a bad one: later ones do not count */
    int status;  /* of the last that ended */
    strays strays;
    pid_t guardian;
    int guardian_pipe; /* its end is ours alone; -1: none */
    legacy *legacy;
};

static _Atomic pid_t groups[SUBJECTS_MAX]; /* of running subjects; -1: the slot is taken, nothing runs */

static bool fail(char *error, size_t size, const char *format, ...) __attribute__((format(printf, 3, 4)));
static bool fail(char *error, size_t size, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(error, size, format, arguments);
    va_end(arguments);
    return false;
}

/* ---- waiting ----------------------------------------------------------------------------------------------------- */

/* Ever longer, from 20 microseconds to one millisecond. */
static void doze(int64_t *ns)
{
    struct timespec t = {.tv_nsec = *ns};
    nanosleep(&t, NULL);
    *ns = *ns * 3 / 2 < MS ? *ns * 3 / 2 : MS;
}
#define DOZE_FIRST INT64_C(20000)

/* ---- processes by their mark ------------------------------------------------------------------------------------- */

static bool has_mark(const char *pid, const char *mark)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%.20s/environ", pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    aphi_buffer text = {0};
    char piece[4096];
    for (ssize_t n; (n = read(fd, piece, sizeof piece)) > 0;)
        aphi_buffer_add(&text, piece, (size_t)n);
    close(fd);
    aphi_buffer_byte(&text, 0);
    bool found = false;
    for (size_t i = 0; i < text.n && !found; i += strlen(text.data + i) + 1)
        found = !strcmp(text.data + i, mark);
    aphi_buffer_free(&text);
    return found;
}

static void add_stray(strays *found, pid_t pid)
{
    for (size_t i = 0; i < found->count; i++) {
        if (found->pids[i] == pid)
            return;
    }
    APHI_RESERVE(found->pids, found->capacity, found->count + 1);
    found->pids[found->count++] = pid;
}

/* How many processes carry the mark; they are killed if that is wanted. */
static size_t marked(const char *mark, bool killing, strays *found)
{
    DIR *processes = opendir("/proc");
    if (!processes)
        return 0;
    size_t n = 0;
    for (struct dirent *entry; (entry = readdir(processes));) {
        if (entry->d_name[0] < '1' || entry->d_name[0] > '9' || !has_mark(entry->d_name, mark))
            continue;
        pid_t pid = (pid_t)atoi(entry->d_name);
        add_stray(found, pid);
        n++;
        if (killing)
            kill(pid, SIGKILL);
    }
    closedir(processes);
    return n;
}

/* Kills whoever carries the mark, until nobody does. */
static void sweep(const char *mark, strays *found)
{
    int64_t pause = DOZE_FIRST, until = aphi_clock_ns() + 1000 * MS;
    while (marked(mark, true, found) > 0 && aphi_clock_ns() < until)
        doze(&pause);
}

/* ---- the guardian ------------------------------------------------------------------------------------------------ */

static int remove_entry(const char *path, const struct stat *about, int flag, struct FTW *where)
{
    (void)about, (void)flag, (void)where;
    remove(path);
    return 0;
}

static void remove_folder(const char *path) { nftw(path, remove_entry, 16, FTW_DEPTH | FTW_PHYS); }

/* Ends the group, if its leader is there and of our session: the number may be another's by now. Some servers (nginx)
 * write their title over their environment, and so over the mark. */
static void end_group(const legacy *left)
{
    pid_t group = left->group;
    if (group > 0 && getpgid(group) == group && getsid(group) == left->session)
        kill(-group, SIGKILL);
}

/* The end of the pipe is the subject being closed; parent is a pidfd: whoever else has inherited the pipe, that we are
 * gone shows there. */
static void guard(int pipe_end, int parent, const char *mark, const legacy *left)
{
    setsid(); /* what is meant for our terminal's foreground is not meant for it */
    char *inherited = getenv("ANTIPHON_SUBJECT");
    if (inherited)
        *inherited = 'x'; /* if we are a subject ourselves, who sweeps by our mark must leave the guardian its work */
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    int high = parent < 0 ? -1 : fcntl(parent, F_DUPFD, 3);
    dup2(pipe_end, 0);
    if (high >= 0)
        dup2(high, 1);
    close_range(high >= 0 ? 2 : 1, ~0u, 0);
    struct pollfd ends[] = {{.fd = 0, .events = POLLIN}, {.fd = high >= 0 ? 1 : -1, .events = POLLIN}};
    while (poll(ends, 2, -1) <= 0) {
    }
    end_group(left);
    sweep(mark, &(strays){0});
    if (left->has_folder)
        remove_folder(left->folder);
    _exit(0);
}

static bool guardian_start(aphi_subject *s)
{
    int ends[2];
    void *shared = mmap(NULL, sizeof *s->legacy, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED)
        return false;
    s->legacy = shared;
    s->legacy->session = getsid(0);
    if (pipe2(ends, O_CLOEXEC) != 0)
        return false;
    int ourselves = (int)syscall(SYS_pidfd_open, getpid(), 0); /* -1 before Linux 5.3 */
    s->guardian = fork();
    if (s->guardian == 0)
        guard(ends[0], ourselves, s->mark, s->legacy);
    close(ends[0]);
    if (ourselves >= 0)
        close(ourselves);
    s->guardian_pipe = ends[1];
    return s->guardian > 0;
}

static void guardian_stop(aphi_subject *s)
{
    if (s->guardian_pipe >= 0)
        close(s->guardian_pipe);
    if (s->guardian > 0)
        waitpid(s->guardian, NULL, 0);
    if (s->legacy)
        munmap(s->legacy, sizeof *s->legacy);
}

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
    s->legacy->group = 0;
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
static void find_dead_strays(const aphi_subject *s, strays *found)
{
    DIR *processes = opendir("/proc");
    if (!processes)
        return;
    for (struct dirent *entry; (entry = readdir(processes));) {
        pid_t pid = (pid_t)atoi(entry->d_name);
        if (pid > 0 && pid != s->guardian && is_dead_stray(entry->d_name))
            add_stray(found, pid);
    }
    closedir(processes);
}

/* Waits for strays that are about to end: they are our children once their parents are gone. */
static void bury_strays(aphi_subject *s)
{
    int64_t pause = DOZE_FIRST, until = aphi_clock_ns() + 100 * MS;
    for (size_t i = 0; i < s->strays.count; i++) {
        int status;
        pid_t buried;
        while ((buried = waitpid(s->strays.pids[i], &status, WNOHANG)) == 0 && aphi_clock_ns() < until)
            doze(&pause);
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
    if (marked(s->mark, false, &s->strays) > 0)
        return true;
    find_dead_strays(s, &s->strays);
    bury_strays(s);
    return false;
}

static bool group_ends_within(aphi_subject *s, int64_t ns)
{
    int64_t pause = DOZE_FIRST, until = aphi_clock_ns() + ns;
    while (group_is_there(s)) {
        if (aphi_clock_ns() >= until)
            return false;
        doze(&pause);
    }
    return true;
}

static void sweep_strays(aphi_subject *s)
{
    sweep(s->mark, &s->strays);
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
    if (s->folder) {
        remove_folder(s->folder);
        s->legacy->has_folder = false;
        free(s->folder);
        s->folder = NULL;
    }
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

/* Binds a socket to the port on the loopback address; to a free one for 0. The port, or 0 if it is taken. */
static in_port_t bindable(in_port_t port, bool datagrams)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(port), .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t size = sizeof at;
    int fd = socket(AF_INET, (datagrams ? SOCK_DGRAM : SOCK_STREAM) | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return 0;
    bool bound = bind(fd, (struct sockaddr *)&at, size) == 0 && getsockname(fd, (struct sockaddr *)&at, &size) == 0;
    close(fd);
    return bound ? ntohs(at.sin_port) : 0;
}

/* Asks the kernel for the socket that would get what is sent to 127.0.0.1 at that port: the same lookup, without a
 * packet being sent. (The tables in /proc/net cost milliseconds: all connections are in them.) */
static bool has_listener(in_port_t port, bool datagrams)
{
    struct {
        struct nlmsghdr head;
        struct inet_diag_req_v2 question;
    } request = {
        .head = {.nlmsg_len = sizeof request, .nlmsg_type = SOCK_DIAG_BY_FAMILY, .nlmsg_flags = NLM_F_REQUEST},
        .question = {.sdiag_family = AF_INET,
                     .sdiag_protocol = datagrams ? IPPROTO_UDP : IPPROTO_TCP,
                     .idiag_states = ~0u,
                     /* which is ours and which the peer's differs between TCP and UDP: both are the same here */
                     .id = {.idiag_sport = htons(port),
                            .idiag_dport = htons(port),
                            .idiag_src = {htonl(INADDR_LOOPBACK)},
                            .idiag_dst = {htonl(INADDR_LOOPBACK)},
                            .idiag_cookie = {INET_DIAG_NOCOOKIE, INET_DIAG_NOCOOKIE}}}};
    union {
        struct nlmsghdr head;
        char room[1024];
    } answer;
    int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
    if (fd < 0)
        return false;
    bool found = send(fd, &request, sizeof request, 0) == sizeof request &&
                 recv(fd, &answer, sizeof answer, 0) >= (ssize_t)sizeof answer.head &&
                 answer.head.nlmsg_type == SOCK_DIAG_BY_FAMILY;
    close(fd);
    return found;
}

static bool connects(in_port_t port)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(port), .sin_addr = {htonl(INADDR_LOOPBACK)}};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool connected = fd >= 0 && connect(fd, (const struct sockaddr *)&at, sizeof at) == 0;
    if (fd >= 0)
        close(fd);
    return connected;
}

/* Late: what the kernel does not tell (a socket in a container's network, a kernel without this) shows if one connects.
 * Datagrams show nothing. */
static bool listens_at(const aphi_subject *s, in_port_t port, bool late)
{
    return has_listener(port, s->datagrams) || (late && !s->datagrams && connects(port));
}

static bool listens(const aphi_subject *s, bool late)
{
    return (!s->behind || listens_at(s, s->behind, late)) && listens_at(s, port_of(s), late);
}

/* ---- starting ---------------------------------------------------------------------------------------------------- */

/* One program with its arguments: then no shell needs to stay for it, and its end and its stops are seen as they
 * are. What stands in single quotes is a word, whatever it is. */
static bool is_simple(const char *command)
{
    size_t word = strcspn(command, " ");
    if (memchr(command, '=', word) || command[0] == ' ' || command[0] == '!')
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

/* Sees to it that the folder is there. Its path is absolute: servers change their directory. */
static bool make_folder(aphi_subject *s)
{
    if (s->folder)
        return true;
    const char *base = getenv("TMPDIR");
    aphi_buffer path = {0};
    aphi_buffer_format(&path, "%s/antiphon-XXXXXX", base && *base ? base : "/tmp");
    if (mkdtemp(aphi_buffer_text(&path)))
        s->folder = realpath(path.data, NULL);
    aphi_buffer_free(&path);
    if (s->folder && strlen(s->folder) < sizeof s->legacy->folder) {
        strcpy(s->legacy->folder, s->folder);
        s->legacy->has_folder = true;
    }
    return s->folder;
}

/* Adds what stands before, with {port} and {target} filled in; it goes on in the background. */
static void put_before(const aphi_subject *s, aphi_buffer *out)
{
    for (const char *c = s->before; *c;) {
        bool port = !strncmp(c, "{port}", 6), target = !strncmp(c, "{target}", 8);
        if (port || target)
            aphi_buffer_format(out, "%u", (unsigned)(port ? port_of(s) : s->behind));
        else
            aphi_buffer_byte(out, *c);
        c += port ? 6 : target ? 8 : 1;
    }
    aphi_buffer_str(out, " & ");
}

/* Adds the text with {port}, {listen} and {dir} filled in. False: there is no folder. */
static bool fill_in(aphi_subject *s, const char *text, aphi_buffer *out)
{
    for (const char *c = text; *c;) {
        if (!strncmp(c, "{port}", 6)) {
            aphi_buffer_format(out, "%u", (unsigned)(s->behind ? s->behind : port_of(s)));
            c += 6;
        } else if (s->listen && !strncmp(c, "{listen}", 8)) {
            aphi_buffer_format(out, "%u", s->listen);
            c += 8;
        } else if (!strncmp(c, "{dir}", 5)) {
            if (!make_folder(s))
                return false;
            aphi_buffer_str(out, s->folder);
            c += 5;
        } else {
            aphi_buffer_byte(out, *c++);
        }
    }
    return true;
}

/* NULL: the folder could not be made. */
static char *command_line(aphi_subject *s)
{
    aphi_buffer text = {0};
    if (s->before)
        put_before(s, &text);
    if (is_simple(s->run))
        aphi_buffer_str(&text, "exec ");
    if (fill_in(s, s->run, &text))
        return aphi_buffer_text(&text);
    aphi_buffer_free(&text);
    return NULL;
}

/* ---- its files --------------------------------------------------------------------------------------------------- */

static bool write_whole(const char *path, const char *text, size_t n)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    bool written = fd >= 0 && write(fd, text, n) == (ssize_t)n;
    return fd >= 0 && close(fd) == 0 && written;
}

static bool make_old(const char *path)
{
    time_t then = time(NULL) - 24 * 60 * 60;
    struct timespec dates[] = {{.tv_sec = then}, {.tv_sec = then}};
    return utimensat(AT_FDCWD, path, dates, 0) == 0;
}

static bool write_file(aphi_subject *s, const aphi_subject_file *file, char *error, size_t size)
{
    aphi_buffer path = {0}, text = {0};
    aphi_buffer_format(&path, "%s/%s", s->folder, file->name);
    const char *name = aphi_buffer_text(&path);
    bool made = file->text ? fill_in(s, file->text, &text) && write_whole(name, text.data, text.n)
                           : mkdir(name, 0700) == 0;
    made = made && (!file->old || make_old(name));
    made = made && (!s->owned || chown(name, s->owner, s->group_of_owner) == 0);
    if (!made)
        fail(error, size, "%s cannot be written: %s", name, strerror(errno));
    aphi_buffer_free(&path);
    aphi_buffer_free(&text);
    return made;
}

/* Can any user come to the folder? Its owner, who is not us, must. */
static bool is_reachable(const aphi_subject *s, char *error, size_t size)
{
    for (const char *slash = s->folder + 1; (slash = strchr(slash, '/')); slash++) {
        struct stat about;
        char *above = aphi_copy(s->folder, (size_t)(slash - s->folder) + 1);
        above[slash - s->folder] = 0;
        bool open_to_all = stat(above, &about) == 0 && (about.st_mode & S_IXOTH);
        if (!open_to_all)
            fail(error, size, "the subject runs as another user, who may not enter %s: set TMPDIR to a folder that all "
                 "may enter, such as /tmp", above);
        free(above);
        if (!open_to_all)
            return false;
    }
    return true;
}

static bool write_files(aphi_subject *s, char *error, size_t size)
{
    if (s->file_count == 0)
        return true;
    if (!make_folder(s))
        return fail(error, size, "no temporary folder for {dir}: %s", strerror(errno));
    if (strpbrk(s->folder, "\"'\\$%{}*?[]\n"))
        return fail(error, size, "%s: such a path cannot be written into the configuration of a server; set TMPDIR to "
                    "a plainer one", s->folder);
    if (s->owned && chown(s->folder, s->owner, s->group_of_owner) != 0)
        return fail(error, size, "%s cannot be given to the user of the subject: %s", s->folder, strerror(errno));
    if (s->owned && !is_reachable(s, error, size))
        return false;
    for (size_t i = 0; i < s->file_count; i++) {
        if (!write_file(s, &s->files[i], error, size))
            return false;
    }
    return true;
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
        s->legacy->group = pid;
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
        return fail(error, size, "%s; it printed nothing: %s", what, s->name);
    return fail(error, size, "%s: %s\nit printed:\n%s", what, s->name, output);
}

typedef enum { LISTENS, ENDED, LATE, CALLED_OFF } outcome;

static outcome wait_until_it_listens(aphi_subject *s)
{
    int64_t pause = DOZE_FIRST, start = aphi_clock_ns(), now = start;
    for (; now - start < s->start_ms * MS; now = aphi_clock_ns()) {
        if (listens(s, now - start > CONNECT_AFTER_MS * MS))
            return LISTENS;
        if (!is_there(s))
            return ENDED;
        if (s->stop && *s->stop && now - start > START_STOPPED_MS * MS)
            return CALLED_OFF;
        doze(&pause);
    }
    return LATE;
}

/* Free ports for it and for what stands before it. The first; 0 if there are none. */
static in_port_t find_ports(aphi_subject *s)
{
    in_port_t port = bindable(0, s->datagrams);
    for (s->behind = port; s->before && s->behind && s->behind == port;)
        s->behind = bindable(0, s->datagrams);
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
        return fail(error, size, "no free port on 127.0.0.1: %s", strerror(errno));
    *(struct sockaddr_in *)&s->address =
        (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons(port), .sin_addr = {htonl(INADDR_LOOPBACK)}};
    s->address_size = sizeof(struct sockaddr_in);
    s->leader_ended = s->stopped = s->failed = false;
    s->status = 0;
    if (s->output_is_temporary && ftruncate(s->output, 0) != 0) {
        return fail(error, size, "the file for what the subject prints cannot be emptied: %s", strerror(errno));
    }
    s->printed = lseek(s->output, 0, SEEK_END);
    if (!write_files(s, error, size))
        return false;
    char *command = command_line(s);
    if (!command)
        return fail(error, size, "no temporary folder for {dir}: %s", strerror(errno));
    int failed = spawn(s, command);
    free(command);
    if (failed)
        return fail(error, size, "sh cannot be started: %s", strerror(failed));
    *came = wait_until_it_listens(s);
    return true;
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
        bool taken = came == ENDED && bindable(port_of(s), s->datagrams) == 0; /* by somebody else, just now */
        if (!taken)
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

static bool resolve(aphi_subject *s, const char *target, char *error, size_t size)
{
    const char *colon = strrchr(target, ':');
    bool v6 = target[0] == '[';
    const char *end = v6 ? strchr(target, ']') : colon;
    if (!colon || !end || (v6 && end + 1 != colon) || (!v6 && memchr(target, ':', (size_t)(colon - target)))) {
        return fail(error, size, "%s is not HOST:PORT or [V6]:PORT", target);
    }
    char *host = aphi_copy(target + v6, (size_t)(end - target - v6) + 1);
    host[end - target - v6] = 0;
    char *rest;
    unsigned long port = strtoul(colon + 1, &rest, 10);
    if (colon[1] < '0' || colon[1] > '9' || *rest || port == 0 || port > 65535 || !*host) {
        free(host);
        return fail(error, size, "%s is not HOST:PORT with a port of 1 to 65535", target);
    }
    struct addrinfo wanted = {.ai_family = v6 ? AF_INET6 : AF_UNSPEC,
                              .ai_socktype = s->datagrams ? SOCK_DGRAM : SOCK_STREAM};
    struct addrinfo *found = NULL;
    int failed = getaddrinfo(host, colon + 1, &wanted, &found);
    if (failed) {
        fail(error, size, "%s: %s is not known: %s", target, host, gai_strerror(failed));
        free(host);
        return false;
    }
    free(host);
    memcpy(&s->address, found->ai_addr, found->ai_addrlen);
    s->address_size = found->ai_addrlen;
    freeaddrinfo(found);
    return true;
}

static bool open_output(aphi_subject *s, const char *path, char *error, size_t size)
{
    if (path) {
        s->output = open(path, O_RDWR | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0666);
        return s->output >= 0 || fail(error, size, "%s: cannot be written: %s", path, strerror(errno));
    }
    FILE *file = tmpfile();
    s->output = file ? fcntl(fileno(file), F_DUPFD_CLOEXEC, 3) : -1;
    s->output_is_temporary = true;
    if (file)
        fclose(file);
    bool opened = s->output >= 0 && fcntl(s->output, F_SETFL, O_APPEND) == 0;
    return opened || fail(error, size, "no temporary file for what the subject prints: %s", strerror(errno));
}

static bool find_owner(aphi_subject *s, const char *name, char *error, size_t size)
{
    if (!name || geteuid() != 0)
        return true;
    const struct passwd *user = getpwnam(name);
    if (!user)
        return fail(error, size, "there is no user %s, as whom the subject would run", name);
    s->owned = true;
    s->owner = user->pw_uid;
    s->group_of_owner = user->pw_gid;
    return true;
}

static bool prepare(aphi_subject *s, const aphi_subject_options *options, char *error, size_t size)
{
    if (options->target)
        return resolve(s, options->target, error, size);
    if (!options->files && !strstr(options->run, "{port}")) { /* files say it, if there are any */
        return fail(error, size, "the command does not say {port}, which stands for the port to listen on: %s",
                    options->run);
    }
    if (!find_owner(s, options->owner, error, size))
        return false;
    static _Atomic unsigned opened;
    snprintf(s->mark, sizeof s->mark, "ANTIPHON_SUBJECT=%d.%" PRId64 ".%u", (int)getpid(), aphi_clock_ns(), opened++);
    pid_t free_slot = 0;
    while (s->slot < SUBJECTS_MAX && !atomic_compare_exchange_strong(&groups[s->slot], &free_slot, -1)) {
        free_slot = 0;
        s->slot++;
    }
    if (s->slot == SUBJECTS_MAX)
        return fail(error, size, "more than %d subjects", SUBJECTS_MAX);
    s->run = aphi_copy(options->run, strlen(options->run) + 1);
    s->name = options->name ? options->name : s->run;
    s->before = options->before ? aphi_copy(options->before, strlen(options->before) + 1) : NULL;
    s->files = options->files;
    s->file_count = options->file_count;
    s->impolite = options->abrupt;
    s->listen = options->listen;
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    if (!open_output(s, options->output, error, size))
        return false;
    return guardian_start(s) || fail(error, size, "no process to guard the subject: %s", strerror(errno));
}

aphi_subject *aphi_subject_open(const aphi_subject_options *options, char *error, size_t error_size)
{
    assert(!options->target != !options->run);
    aphi_subject *s = aphi_alloc_zero(sizeof *s);
    s->datagrams = options->datagrams;
    s->stop = options->stop;
    s->start_ms = options->start_ms > 0 ? options->start_ms : 10000;
    s->output = s->guardian_pipe = -1;
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
        guardian_stop(s);
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
