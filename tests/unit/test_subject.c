/* SPDX-License-Identifier: Apache-2.0
 *
 * test_subject.c - subjects with various behaviour are started, observed and reset, and leave nothing behind. */
#include "subject/subject.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <arpa/inet.h>
#include <cmocka.h>
#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/buffer.h"
#include "base/clock.h"

#define MS INT64_C(1000000)

static char error[2000];
static char server[300]; /* the path of this program, which serves with --serve */
static char token[64];   /* on the command line of every subject */

/* ---- the subject that most tests use: this program, called with what it is to do --------------------------------- */

static int listen_on(int port, int type)
{
    struct sockaddr_in at = {
        .sin_family = AF_INET, .sin_port = htons((in_port_t)port), .sin_addr = {htonl(INADDR_LOOPBACK)}};
    int fd = socket(AF_INET, type, 0);
    if (bind(fd, (struct sockaddr *)&at, sizeof at) != 0) {
        perror("bind");
        exit(3);
    }
    if (type == SOCK_STREAM)
        listen(fd, 100);
    return fd;
}

/* Replaces itself repeatedly by a child in another session, so that its process id is soon outdated; for at most a
 * minute, in case that nothing ends it. */
static void keep_forking(void)
{
    if (fork() != 0)
        return;
    for (int64_t until = aphi_clock_ns() + 60000 * MS; aphi_clock_ns() < until; setsid())
        if (fork() != 0)
            _exit(0);
    _exit(0);
}

/* Becomes 64 processes in different sessions, without environment, that ignore SIGTERM or are stopped. */
static void multiply(void)
{
    if (fork() != 0)
        return;
    clearenv();
    signal(SIGTERM, SIG_IGN);
    for (int i = 0; i < 6; i++) {
        fork();
        setsid();
    }
    if (getpid() % 2)
        raise(SIGSTOP);
    for (alarm(60);;)
        pause();
}

/* Sends on each connection the number of earlier connections, so that a probe would be detected. */
static int serve(int argc, char **argv)
{
    const char *how = argc > 4 ? argv[4] : "";
    if (strstr(how, "deaf"))
        signal(SIGTERM, SIG_IGN);
    if (strstr(how, "daemon") && daemon(1, 1) != 0)
        return 9;
    if (strstr(how, "wiped")) /* as nginx does to change its process title */
        for (char **e = environ; *e; e++)
            memset(*e, 0, strlen(*e));
    if (strstr(how, "worker") && fork() == 0)
        for (;;)
            pause();
    if (strstr(how, "chain"))
        keep_forking();
    if (strstr(how, "many"))
        multiply();
    if (strstr(how, "orphans") && kill(getppid(), SIGKILL) != 0)
        return 9;
    if (strstr(how, "late"))
        usleep(100000);
    if (strstr(how, "chatter"))
        printf("listening on %s\n", argv[2]), fflush(stdout);
    if (strstr(how, "flood") && fork() == 0)
        for (unsigned long i = 0; printf("%lu lines of output that does not end\n", i) > 0; i++) {
        }
    int fd = listen_on(atoi(argv[2]), strstr(how, "udp") ? SOCK_DGRAM : SOCK_STREAM);
    for (unsigned char n = 0;; n++) {
        int peer = accept(fd, NULL, NULL);
        if (peer < 0)
            pause();
        unsigned char request = 0;
        if (read(peer, &request, 1) == 1 && request == 'x')
            abort();
        if (write(peer, &n, 1) != 1)
            return 4;
        close(peer);
    }
}

/* ---- helpers ----------------------------------------------------------------------------------------------------- */

static char *command(const char *how)
{
    static char text[600];
    snprintf(text, sizeof text, "%s --serve {port} %s %s", server, token, how);
    return text;
}

static aphi_subject *open_run(const char *run)
{
    aphi_subject *s = aphi_subject_open(&(aphi_subject_options){.run = run, .start_ms = 3000}, error, sizeof error);
    if (!s)
        fail_msg("%s", error);
    return s;
}

static void reset(aphi_subject *s)
{
    if (!aphi_subject_reset(s, error, sizeof error))
        fail_msg("%s", error);
}

/* Sends a byte. Returns the byte of the response, or -1. */
static int exchange_byte(const aphi_subject *s, char request)
{
    socklen_t size;
    const struct sockaddr *at = aphi_subject_address(s, &size);
    int fd = socket(at->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    unsigned char answer;
    bool answered = connect(fd, at, size) == 0 && write(fd, &request, 1) == 1 && read(fd, &answer, 1) == 1;
    close(fd);
    return answered ? answer : -1;
}

static aphi_subject_state look_until_not_there(aphi_subject *s, char *message, size_t size)
{
    aphi_subject_state state = APHI_SUBJECT_THERE;
    for (int i = 0; i < 60000 && state == APHI_SUBJECT_THERE; i++) {
        state = aphi_subject_look(s, message, size);
        usleep(1000);
    }
    return state;
}

/* Returns the number of processes with the token of this test in their arguments. *pid, if not NULL, is set to one of
 * them. */
static int subjects_alive(pid_t *pid)
{
    DIR *all = opendir("/proc");
    int n = 0;
    for (struct dirent *e; (e = readdir(all));) {
        char path[300], line[1000];
        if (e->d_name[0] < '1' || e->d_name[0] > '9')
            continue;
        snprintf(path, sizeof path, "/proc/%s/cmdline", e->d_name);
        FILE *in = fopen(path, "r");
        size_t got = in ? fread(line, 1, sizeof line, in) : 0;
        if (in)
            fclose(in);
        if (got == 0 || !memmem(line, got, token, strlen(token)))
            continue;
        n++;
        if (pid)
            *pid = (pid_t)atoi(e->d_name);
    }
    closedir(all);
    return n;
}

/* Waits until n processes are left: a daemon can respond before its parent has exited. */
static void expect_alive(int n)
{
    for (int i = 0; i < 30000 && subjects_alive(NULL) > n; i++)
        usleep(1000);
    assert_int_equal(subjects_alive(NULL), n);
}

static int before(void **unused)
{
    (void)unused;
    static int n;
    snprintf(token, sizeof token, "subject-of-test-%d-%d", (int)getpid(), n++);
    return 0;
}

/* Fails if a process is left, even a zombie. */
static int after(void **unused)
{
    (void)unused;
    for (int i = 0; i < 30000 && subjects_alive(NULL) > 0; i++)
        usleep(1000);
    return subjects_alive(NULL) > 0 || waitpid(-1, NULL, WNOHANG) >= 0 ? -1 : 0;
}

/* ---- tests ------------------------------------------------------------------------------------------------------- */

static void test_starts_and_resets(void **unused)
{
    (void)unused;
    aphi_subject *s = open_run(command("chatter"));
    assert_true(aphi_subject_is_ours(s));
    reset(s);
    assert_int_equal(exchange_byte(s, 'a'), 0); /* no earlier connection */
    assert_int_equal(exchange_byte(s, 'a'), 1);
    char text[100];
    aphi_subject_tail(s, text, sizeof text);
    assert_non_null(strstr(text, "listening on "));
    aphi_subject_tail(s, text, 4);
    assert_int_equal(strlen(text), 3);
    assert_int_equal(aphi_subject_look(s, text, sizeof text), APHI_SUBJECT_THERE);
    reset(s);
    assert_int_equal(exchange_byte(s, 'a'), 0);
    assert_int_equal(subjects_alive(NULL), 1);
    aphi_subject_close(s);
}

static int by_size(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static void test_resets_are_fast(void **unused)
{
    (void)unused;
    enum { N = 51 };
    int64_t took[N];
    aphi_subject *s = open_run(command(""));
    reset(s);
    for (int i = 0; i < N; i++) {
        int64_t start = aphi_clock_ns();
        reset(s);
        took[i] = aphi_clock_ns() - start;
        assert_int_equal(exchange_byte(s, 'a'), 0);
    }
    aphi_subject_close(s);
    qsort(took, N, sizeof *took, by_size);
    print_message("a reset: median %.2f ms, longest %.2f ms\n", (double)took[N / 2] / MS, (double)took[N - 1] / MS);
    assert_true(took[0] < 50 * MS); /* usually about 3 ms; only the fastest counts, because the machine may be busy */
}

static void test_ignores_sigterm(void **unused)
{
    (void)unused;
    aphi_subject *s = open_run(command("deaf"));
    reset(s);
    reset(s); /* learns that SIGTERM is ignored */
    int64_t least = INT64_MAX; /* only the fastest counts, because the machine may be busy */
    for (int i = 0; i < 20 && least >= 95 * MS; i++) {
        int64_t start = aphi_clock_ns();
        reset(s);
        int64_t took = aphi_clock_ns() - start;
        least = took < least ? took : least;
    }
    assert_true(least < 95 * MS);
    aphi_subject_close(s);
}

static void test_workers_are_stopped(void **unused)
{
    (void)unused;
    aphi_subject *s = open_run(command("worker"));
    reset(s);
    assert_int_equal(subjects_alive(NULL), 2);
    reset(s);
    assert_int_equal(subjects_alive(NULL), 2);
    aphi_subject_close(s);
}

static void test_behind_a_shell(void **unused)
{
    (void)unused;
    char text[700];
    snprintf(text, sizeof text, "true && %s; exit $?", command(""));
    aphi_subject *s = open_run(text);
    reset(s);
    assert_int_equal(exchange_byte(s, 'a'), 0);
    assert_int_equal(exchange_byte(s, 'x'), -1);
    assert_int_equal(look_until_not_there(s, text, sizeof text), APHI_SUBJECT_EXITED);
    assert_string_equal(text, "exited with status 134 (SIGABRT)");
    aphi_subject_close(s);
}

static void test_into_the_background(void **unused)
{
    (void)unused;
    char text[700];
    snprintf(text, sizeof text, "%s &", command("late"));
    aphi_subject *s = open_run(text);
    for (int i = 0; i < 2; i++) {
        reset(s);
        assert_int_equal(exchange_byte(s, 'a'), 0);
        assert_int_equal(aphi_subject_look(s, text, sizeof text), APHI_SUBJECT_THERE);
    }
    exchange_byte(s, 'x');
    assert_int_equal(look_until_not_there(s, text, sizeof text), APHI_SUBJECT_EXITED);
    assert_string_equal(text, "was killed by SIGABRT");
    aphi_subject_close(s);
}

static void test_a_daemon(void **unused)
{
    (void)unused;
    char text[200];
    aphi_subject *s = open_run(command("daemon-worker"));
    for (int i = 0; i < 2; i++) {
        reset(s);
        assert_int_equal(exchange_byte(s, 'a'), 0);
        assert_int_equal(aphi_subject_look(s, text, sizeof text), APHI_SUBJECT_THERE);
        expect_alive(2);
    }
    aphi_subject_close(s);
    s = open_run(command("daemon"));
    reset(s);
    assert_int_equal(aphi_subject_look(s, text, sizeof text), APHI_SUBJECT_THERE);
    exchange_byte(s, 'x');
    assert_int_equal(look_until_not_there(s, text, sizeof text), APHI_SUBJECT_EXITED);
    assert_string_equal(text, "was killed by SIGABRT");
    aphi_subject_close(s);
}

static void leaves_nothing(const char *run)
{
    aphi_subject *s = open_run(run);
    for (int i = 0; i < 3; i++)
        reset(s);
    assert_int_equal(exchange_byte(s, 'a'), 0);
    aphi_subject_close(s);
    assert_int_equal(subjects_alive(NULL), 0);
}

static void test_hidden_processes(void **unused)
{
    (void)unused;
    char text[900];
    static const char *const ways[] = {"setsid env -i %s & wait", "setsid -f env -i %s", "(env -i setsid %s &) & wait",
                                       "(setsid env -i %s & exec sleep 1) & exit 0"};
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        snprintf(text, sizeof text, ways[i], command("wiped,worker"));
        leaves_nothing(text);
    }
    leaves_nothing(command("many"));
    leaves_nothing(command("chain"));
    leaves_nothing(command("daemon,many,chain"));
}

/* Two subjects at once: stopping one does not affect the other. */
static void test_two_subjects(void **unused)
{
    (void)unused;
    char text[200];
    aphi_subject *one = open_run(command("daemon,wiped,many")), *two = open_run(command("daemon,wiped,worker"));
    reset(one);
    reset(two);
    aphi_subject_close(one);
    assert_int_equal(exchange_byte(two, 'a'), 0);
    assert_int_equal(aphi_subject_look(two, text, sizeof text), APHI_SUBJECT_THERE);
    expect_alive(2);
    aphi_subject_close(two);
}

/* The subject kills the reaper: its processes become our children and are killed. */
static void test_killed_reaper(void **unused)
{
    (void)unused;
    char text[200];
    aphi_subject *other = open_run(command("daemon,wiped")), *s = open_run(command("many,orphans"));
    reset(other);
    for (int i = 0; i < 2; i++) {
        if (aphi_subject_reset(s, error, sizeof error)) /* it may listen before the loss is noticed */
            assert_int_equal(look_until_not_there(s, text, sizeof text), APHI_SUBJECT_EXITED);
        else
            assert_non_null(strstr(error, "killed the process that watches it"));
        expect_alive(1);
    }
    aphi_subject_close(s);
    assert_int_equal(exchange_byte(other, 'a'), 0);
    aphi_subject_close(other);
}

/* The output of a subject that prints without end takes no space, except the last 64 KB; a file is emptied. */
static void test_endless_output(void **unused)
{
    (void)unused;
    char text[1000], path[64];
    struct stat about = {0};
    off_t largest = 0;
    snprintf(path, sizeof path, "/tmp/test_subject.%d", (int)getpid());
    aphi_subject *s =
        aphi_subject_open(&(aphi_subject_options){.run = command("flood"), .output = path}, error, sizeof error);
    assert_non_null(s);
    reset(s);
    do { /* until it shrinks */
        largest = about.st_size > largest ? about.st_size : largest;
        assert_int_equal(stat(path, &about), 0);
        usleep(1000);
    } while (about.st_size >= largest && largest <= 80 << 20);
    aphi_subject_tail(s, text, sizeof text);
    aphi_subject_close(s);
    unlink(path);
    assert_true(largest <= 80 << 20);
    assert_int_equal(strlen(text), sizeof text - 1);
    assert_non_null(strstr(text, "lines of output that does not end\n"));
}

static void test_crash_and_stop(void **unused)
{
    (void)unused;
    char text[200];
    pid_t pid = 0;
    aphi_subject *s = open_run(command(""));
    reset(s);
    assert_int_equal(subjects_alive(&pid), 1);
    kill(pid, SIGSTOP);
    assert_int_equal(look_until_not_there(s, text, sizeof text), APHI_SUBJECT_STOPPED);
    assert_int_equal(aphi_subject_look(s, text, sizeof text), APHI_SUBJECT_STOPPED);
    reset(s); /* a stopped subject does not delay the reset */
    assert_int_equal(aphi_subject_look(s, text, sizeof text), APHI_SUBJECT_THERE);
    exchange_byte(s, 'x');
    assert_int_equal(look_until_not_there(s, text, sizeof text), APHI_SUBJECT_EXITED);
    assert_string_equal(text, "was killed by SIGABRT");
    reset(s);
    assert_int_equal(exchange_byte(s, 'a'), 0);
    assert_int_equal(subjects_alive(&pid), 1);
    kill(pid, SIGKILL);
    assert_int_equal(look_until_not_there(s, text, sizeof text), APHI_SUBJECT_EXITED);
    assert_string_equal(text, "was killed by SIGKILL");
    aphi_subject_close(s);
}

static void does_not_start(const char *run, int64_t start_ms, const char *says, const char *says_too)
{
    aphi_subject *s = aphi_subject_open(&(aphi_subject_options){.run = run, .start_ms = start_ms}, error, sizeof error);
    assert_non_null(s);
    assert_false(aphi_subject_reset(s, error, sizeof error));
    if (!strstr(error, says) || !strstr(error, says_too))
        fail_msg("%s", error);
    aphi_subject_close(s);
}

static void test_start_failures(void **unused)
{
    (void)unused;
    does_not_start("no-such-server {port}", 3000, "command not found", "no-such-server: not found");
    does_not_start("echo sorry {port}; exit 7", 3000, "exited with status 7 before it listened", "it printed:\nsorry");
    does_not_start("true {port}", 3000, "exited with status 0", "it printed nothing");
    does_not_start("echo here; exec sleep 100 # {port}", 50, "after 50 ms nothing listens on 127.0.0.1:", "here");
    does_not_start("kill -9 $$ # {port}", 3000, "killed by SIGKILL", "");
}

static void test_a_fixed_port_that_is_taken(void **unused)
{
    (void)unused;
    int taken = listen_on(0, SOCK_STREAM);
    struct sockaddr_in at;
    socklen_t size = sizeof at;
    getsockname(taken, (struct sockaddr *)&at, &size);
    char text[600];
    snprintf(text, sizeof text, "%s --serve %d %s # {port}", server, ntohs(at.sin_port), token);
    does_not_start(text, 3000, "exited with status 3", "Address already in use");
    close(taken);
}

/* The command that runs before the subject finds its port taken, and is started again with another port. */
static void test_before_command_with_a_taken_port(void **unused)
{
    (void)unused;
    char mark[] = "/tmp/antiphon-test-before-XXXXXX", before[900];
    close(mkstemp(mark));
    snprintf(before, sizeof before, "sh -c 'if rm %s; then echo Address already in use; exit 3; fi 2>/dev/null; "
             "exec %s --serve {port} %s'", mark, server, token);
    aphi_subject_options options = {.run = command(""), .before = before, .start_ms = 3000};
    aphi_subject *s = aphi_subject_open(&options, error, sizeof error);
    assert_non_null(s);
    reset(s);
    assert_int_equal(access(mark, F_OK), -1);
    assert_int_equal(exchange_byte(s, 'a'), 0);
    aphi_subject_close(s);
}

static void test_datagrams(void **unused)
{
    (void)unused;
    char text[100];
    aphi_subject *s = aphi_subject_open(
        &(aphi_subject_options){.run = command("udp-late"), .datagrams = true, .start_ms = 3000}, error, sizeof error);
    reset(s);
    reset(s);
    assert_int_equal(aphi_subject_look(s, text, sizeof text), APHI_SUBJECT_THERE);
    aphi_subject_close(s);
}

static void test_folder_and_output(void **unused)
{
    (void)unused;
    char run[800], text[400], path[64];
    snprintf(path, sizeof path, "/tmp/test_subject.%d", (int)getpid());
    snprintf(run, sizeof run, "ls -a {dir} | wc -l; touch {dir}/file; mkdir -p {dir}/a/b; echo dir={dir}; exec %s",
             command(""));
    aphi_subject *s = aphi_subject_open(&(aphi_subject_options){.run = run, .output = path}, error, sizeof error);
    assert_non_null(s);
    reset(s);
    aphi_subject_tail(s, text, sizeof text);
    char *folder = strstr(text, "dir=") + 4;
    *strchr(folder, '\n') = 0;
    assert_int_equal(atoi(text), 2);
    assert_int_equal(access(folder, F_OK), 0);
    reset(s);
    assert_int_not_equal(access(folder, F_OK), 0);
    aphi_subject_close(s);
    aphi_buffer all = {0};
    assert_true(aphi_buffer_load(&all, path, SIZE_MAX));
    char *first = strstr(aphi_buffer_text(&all), "dir=");
    assert_non_null(first);
    assert_non_null(strstr(first + 1, "dir=")); /* the output of both runs is kept */
    aphi_buffer_free(&all);
    unlink(path);
    assert_null(aphi_subject_open(&(aphi_subject_options){.run = run, .output = "/no/such"}, error, sizeof error));
    assert_non_null(strstr(error, "/no/such"));
}

static void test_files(void **unused)
{
    (void)unused;
    char run[800], text[1000], expected[100];
    const aphi_subject_file files[] = {{.name = "documents"},
                                       {.name = "conf", .text = "port {port} of {dir}/documents {other}\n"}};
    snprintf(run, sizeof run, "stat -c %%U {dir} {dir}/documents {dir}/conf; cat {dir}/conf; echo dir={dir}; exec %s",
             command("{port}"));
    aphi_subject_options options = {.run = run, .files = files, .file_count = 2, .owner = "nobody"};
    aphi_subject *s = aphi_subject_open(&options, error, sizeof error);
    assert_non_null(s);
    for (int i = 0; i < 2; i++) {
        reset(s);
        aphi_subject_tail(s, text, sizeof text);
        char *folder = strstr(text, "dir=") + 4;
        socklen_t size;
        const struct sockaddr_in *at = (const struct sockaddr_in *)aphi_subject_address(s, &size);
        folder[strcspn(folder, "\n")] = 0;
        snprintf(expected, sizeof expected, "port %u of %.60s/documents {other}\n", ntohs(at->sin_port), folder);
        assert_non_null(strstr(text, expected));
        assert_int_equal(!strncmp(text, "nobody\nnobody\nnobody\n", 21), geteuid() == 0);
    }
    aphi_subject_close(s);
    options.owner = "no-such-user";
    s = aphi_subject_open(&options, error, sizeof error);
    assert_int_equal(s == NULL, geteuid() == 0);
    aphi_subject_close(s);
}

/* Expects that the subject fails to start if TMPDIR is a folder with this name and mode. */
static void does_not_start_in(const char *name, mode_t mode, const char *owner, const char *says)
{
    const aphi_subject_file files[] = {{.name = "conf", .text = "{port}"}};
    char base[] = "/tmp/test_subject.XXXXXX", folder[100];
    assert_non_null(mkdtemp(base));
    assert_int_equal(chmod(base, 0755), 0);
    snprintf(folder, sizeof folder, "%s/%s", base, name);
    assert_int_equal(mkdir(folder, mode), 0);
    aphi_subject_options options = {.run = command(""), .files = files, .file_count = 1, .owner = owner};
    aphi_subject *s = aphi_subject_open(&options, error, sizeof error);
    assert_non_null(s);
    setenv("TMPDIR", folder, 1);
    bool started = aphi_subject_reset(s, error, sizeof error);
    unsetenv("TMPDIR");
    aphi_subject_close(s);
    assert_int_equal(rmdir(folder), 0); /* no file is left */
    assert_int_equal(rmdir(base), 0);
    assert_false(started);
    assert_non_null(strstr(error, says));
}

static void test_unusable_temporary_folders(void **unused)
{
    (void)unused;
    does_not_start_in("a\"b", 0755, NULL, "TMPDIR");
    if (geteuid() == 0)
        does_not_start_in("closed", 0700, "nobody", "cannot enter");
}

/* Returns true if the subject gets SIGTERM before SIGKILL. */
static bool gets_sigterm(bool abrupt)
{
    char run[800], path[64], text[100] = "";
    snprintf(path, sizeof path, "/tmp/test_subject.%d", (int)getpid());
    snprintf(run, sizeof run, "trap 'echo sigterm; exit' TERM; %s & wait", command(""));
    aphi_subject *s =
        aphi_subject_open(&(aphi_subject_options){.run = run, .output = path, .abrupt = abrupt}, error, sizeof error);
    assert_non_null(s);
    reset(s);
    aphi_subject_close(s);
    FILE *in = fopen(path, "r");
    assert_non_null(in);
    text[fread(text, 1, sizeof text - 1, in)] = 0;
    fclose(in);
    unlink(path);
    return strstr(text, "sigterm");
}

static void test_abrupt(void **unused)
{
    (void)unused;
    assert_true(gets_sigterm(false));
    assert_false(gets_sigterm(true));
}

static int entries_of(const char *folder)
{
    DIR *all = opendir(folder);
    assert_non_null(all);
    int n = 0;
    while (readdir(all))
        n++;
    closedir(all);
    return n - 2;
}

/* After Antiphon is killed by SIGKILL, the reaper stops the subject and removes its folder. stopping: Antiphon waits
 * for the end of the subject. */
static void guarded(const char *how, bool stopping)
{
    char base[] = "/tmp/test_subject.XXXXXX";
    assert_non_null(mkdtemp(base));
    setenv("TMPDIR", base, 1);
    int ready[2];
    assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
    pid_t pid = fork(), bystander; /* the bystander inherits all descriptors and lives longer */
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        aphi_subject *s = aphi_subject_open(&(aphi_subject_options){.run = command(how)}, error, sizeof error);
        bool started = s && aphi_subject_reset(s, error, sizeof error);
        bystander = fork();
        if (bystander == 0)
            alarm(60);
        else if (write(ready[1], started ? "y" : "n", 1) != 1 ||
                 write(ready[1], &bystander, sizeof bystander) != sizeof bystander)
            _exit(1);
        if (bystander != 0 && stopping)
            aphi_subject_close(s);
        pause();
        _exit(1);
    }
    unsetenv("TMPDIR");
    char started;
    assert_int_equal(read(ready[0], &started, 1), 1);
    assert_int_equal(started, 'y');
    assert_int_equal(read(ready[0], &bystander, sizeof bystander), sizeof bystander);
    if (stopping) {
        usleep(50000);
    } else {
        expect_alive(2);
        assert_int_equal(entries_of(base), 1);
    }
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    for (int i = 0; i < 30000 && (subjects_alive(NULL) > 0 || entries_of(base) > 0); i++)
        usleep(1000);
    assert_int_equal(kill(bystander, SIGKILL), 0);
    assert_int_equal(subjects_alive(NULL), 0);
    assert_int_equal(rmdir(base), 0);
    close(ready[0]), close(ready[1]);
    /* Orphans are our children if an earlier test made this process their reaper. */
    for (int i = 0; i < 30000 && waitpid(-1, NULL, WNOHANG) >= 0; i++)
        usleep(1000);
}

static void test_guarded(void **unused)
{
    (void)unused;
    guarded("worker {dir}", false);
    guarded("worker,wiped {dir}", false);
    guarded("daemon,wiped,worker {dir}", false);
    guarded("deaf,worker {dir}", true);
}

static void does_not_open(const char *target, const char *says)
{
    assert_null(aphi_subject_open(&(aphi_subject_options){.target = target}, error, sizeof error));
    if (!strstr(error, says))
        fail_msg("%s", error);
}

static void test_targets(void **unused)
{
    (void)unused;
    socklen_t size;
    aphi_subject *s = aphi_subject_open(&(aphi_subject_options){.target = "127.0.0.1:7"}, error, sizeof error);
    const struct sockaddr_in *at = (const struct sockaddr_in *)aphi_subject_address(s, &size);
    assert_int_equal(at->sin_family, AF_INET);
    assert_int_equal(ntohs(at->sin_port), 7);
    assert_int_equal(size, sizeof *at);
    assert_false(aphi_subject_is_ours(s));
    assert_true(aphi_subject_reset(s, error, sizeof error));
    assert_int_equal(aphi_subject_look(s, error, sizeof error), APHI_SUBJECT_THERE);
    aphi_subject_close(s);
    s = aphi_subject_open(&(aphi_subject_options){.target = "[::1]:65535"}, error, sizeof error);
    assert_int_equal(aphi_subject_address(s, &size)->sa_family, AF_INET6);
    aphi_subject_close(s);
    does_not_open("localhost", "not HOST:PORT");
    does_not_open("localhost:", "port");
    does_not_open(":80", "not HOST:PORT");
    does_not_open("localhost:0", "1 to 65535");
    does_not_open("localhost:65536", "1 to 65535");
    does_not_open("localhost:80x", "1 to 65535");
    does_not_open("::1:80", "[V6]:PORT");
    does_not_open("[::1]80", "[V6]:PORT");
    does_not_open("no such host:80", "unknown host");
    assert_null(aphi_subject_open(&(aphi_subject_options){.run = "server 8080"}, error, sizeof error));
    assert_non_null(strstr(error, "{port}"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, before, after)

int main(int argc, char **argv)
{
    if (argc > 2 && !strcmp(argv[1], "--serve"))
        return serve(argc, argv);
    ssize_t n = readlink("/proc/self/exe", server, sizeof server - 1);
    if (n < 0)
        return 1;
    setenv("ASAN_OPTIONS", "detect_leaks=0:handle_abort=0", 0);
    const struct CMUnitTest tests[] = {
        TEST(test_starts_and_resets),
        TEST(test_resets_are_fast),
        TEST(test_ignores_sigterm),
        TEST(test_workers_are_stopped),
        TEST(test_behind_a_shell),
        TEST(test_into_the_background),
        TEST(test_a_daemon),
        TEST(test_hidden_processes),
        TEST(test_two_subjects),
        TEST(test_killed_reaper),
        TEST(test_endless_output),
        TEST(test_crash_and_stop),
        TEST(test_start_failures),
        TEST(test_a_fixed_port_that_is_taken),
        TEST(test_before_command_with_a_taken_port),
        TEST(test_datagrams),
        TEST(test_folder_and_output),
        TEST(test_files),
        TEST(test_unusable_temporary_folders),
        TEST(test_abrupt),
        TEST(test_guarded),
        TEST(test_targets),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
