/* SPDX-License-Identifier: Apache-2.0
 *
 * test_process.c - children: exec failures, statuses, redirection, groups, timeouts, and no leaked descriptors. */
#include "base/process.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"

#define MS INT64_C(1000000)

/* Stores the stdout of a command in `text` and returns its exit status. */
static int run_command(aphi_process_options options, char *text, size_t size)
{
    aphi_buffer out = {0};
    int status = aphi_process_run(&options, &out);
    snprintf(text, size, "%s", aphi_buffer_text(&out));
    aphi_buffer_free(&out);
    return status;
}

static void expect_output(aphi_process_options options, const char *expected)
{
    char text[256];
    assert_int_equal(run_command(options, text, sizeof text), 0);
    assert_string_equal(text, expected);
}

static void exec_failures_are_reported(void **state)
{
    (void)state;
    aphi_process p = {0};
    assert_false(aphi_process_start(&p, &(aphi_process_options){.argv = (char *[]){"/no/such/program", NULL}}));
    assert_int_equal(errno, ENOENT);
    assert_false(aphi_process_start(&p, &(aphi_process_options){.argv = (char *[]){"no-such-program", NULL}}));
    assert_int_equal(errno, ENOENT);
    assert_false(aphi_process_start(&p, &(aphi_process_options){.argv = (char *[]){"/dev/null", NULL}}));
    assert_int_equal(errno, EACCES);
    assert_false(aphi_process_start(&p, &(aphi_process_options){.command = "true", .directory = "/no/such"}));
    assert_int_equal(errno, ENOENT);
    assert_int_equal(p.pid, 0);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* no child is left */
    assert_int_equal(errno, ECHILD);
}

static void expect_end(const char *command, const char *text)
{
    aphi_process p = {0};
    char end[80];
    assert_true(aphi_process_start(&p, &(aphi_process_options){.command = command, .own_group = true}));
    assert_true(aphi_process_wait(&p, 10000 * MS));
    assert_true(p.leader_ended);
    assert_int_equal(p.pid, 0);
    aphi_process_status_text(p.status, end, sizeof end);
    assert_string_equal(end, text);
}

static void statuses_have_texts(void **state)
{
    (void)state;
    expect_end("exit 0", "exited with status 0");
    expect_end("exit 3", "exited with status 3");
    expect_end("exit 127", "exited with status 127 (command not found)");
    expect_end("exit 137", "exited with status 137 (SIGKILL)");
    expect_end("kill -SEGV $$", "was killed by SIGSEGV");
}

static void output_and_status_are_returned(void **state)
{
    (void)state;
    char text[64];
    aphi_process_options two_lines = {.command = "echo one; echo two; exit 5"};
    assert_int_equal(run_command(two_lines, text, sizeof text), 5);
    assert_string_equal(text, "one\ntwo\n");
    assert_int_equal(run_command((aphi_process_options){.command = "kill -9 $$"}, text, sizeof text), -1);
    assert_int_equal(errno, 0);
    assert_int_equal(run_command((aphi_process_options){.argv = (char *[]){"no-such", NULL}}, text, sizeof text), -1);
    assert_int_equal(errno, ENOENT);
    assert_int_equal(aphi_process_run(&(aphi_process_options){.command = "exit 4"}, NULL), 4);
}

static void directory_environment_and_redirection(void **state)
{
    (void)state;
    expect_output((aphi_process_options){.command = "pwd", .directory = "/usr"}, "/usr\n");
    setenv("TEST_PROCESS", "ours", 1);
    expect_output((aphi_process_options){.command = "echo $TEST_PROCESS"}, "ours\n");
    expect_output((aphi_process_options){.command = "echo $TEST_PROCESS $TEST_PROCESS_2",
                                         .variable = "TEST_PROCESS=replaced"}, "replaced\n");
    expect_output((aphi_process_options){.command = "env | grep -c ^TEST_PROCESS=", .variable = "TEST_PROCESS=x"},
                  "1\n");
    unsetenv("TEST_PROCESS");
    expect_output((aphi_process_options){.command = "cat; readlink /proc/self/fd/0", .in = APHI_PROCESS_NULL},
                  "/dev/null\n");
    expect_output((aphi_process_options){.command = "echo error >&2", .err = 1}, "error\n");
}

static void only_kept_descriptors_are_inherited(void **state)
{
    (void)state;
    static const char probe[] = "for fd in 20 21; do [ -e /proc/$$/fd/$fd ] && echo $fd; done; true";
    int first = fcntl(0, F_DUPFD, 20), second = fcntl(0, F_DUPFD, 21);
    assert_int_equal(first, 20);
    assert_int_equal(second, 21);
    expect_output((aphi_process_options){.command = probe}, "");
    expect_output((aphi_process_options){.command = probe, .kept = (int[]){second, 0}}, "21\n");
    close(first);
    close(second);
}

static int count_descriptors(void)
{
    int count = 0;
    for (int i = 0; i < 256; i++)
        count += fcntl(i, F_GETFD) >= 0;
    return count;
}

static void descriptors_do_not_leak(void **state)
{
    (void)state;
    int before = count_descriptors();
    char text[64];
    run_command((aphi_process_options){.command = "echo"}, text, sizeof text);
    run_command((aphi_process_options){.argv = (char *[]){"no-such", NULL}}, text, sizeof text);
    aphi_process_run(&(aphi_process_options){.command = "true", .in = APHI_PROCESS_NULL}, NULL);
    assert_int_equal(count_descriptors(), before);
}

static void on_signal(int number) { (void)number; }

/* Reads a set of signals from "NAME:HEX" in a text. glibc's own signals, 32 and 33, do not count: posix_spawn ignores
 * them in children. */
static uint64_t signal_set(const char *text, const char *name)
{
    const char *found = strstr(text, name);
    assert_non_null(found);
    return strtoull(found + strlen(name), NULL, 16) & ~(UINT64_C(3) << 31);
}

static uint64_t ignored_signals(void)
{
    uint64_t set = 0;
    struct sigaction action;
    for (int i = 1; i < NSIG; i++)
        if (sigaction(i, NULL, &action) == 0 && action.sa_handler == SIG_IGN)
            set |= UINT64_C(1) << (i - 1);
    return set;
}

static void signals_are_reset_for_a_group(void **state)
{
    (void)state;
    static const char command[] = "grep -E '^Sig(Blk|Ign)' /proc/self/status | tr '\\t\\n' ' '";
    struct sigaction caught = {.sa_handler = on_signal}, ignored = {.sa_handler = SIG_IGN}, before[2];
    sigset_t set, mask;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    sigprocmask(SIG_BLOCK, &set, &mask);
    sigaction(SIGINT, &caught, &before[0]);
    sigaction(SIGPIPE, &ignored, &before[1]);
    uint64_t inherited = ignored_signals();
    char group[128], other[128];
    run_command((aphi_process_options){.command = command, .own_group = true}, group, sizeof group);
    run_command((aphi_process_options){.command = command}, other, sizeof other);
    sigset_t now;
    sigprocmask(SIG_SETMASK, &mask, &now);
    sigaction(SIGINT, &before[0], NULL);
    sigaction(SIGPIPE, &before[1], NULL);
    assert_int_equal(signal_set(group, "SigBlk:"), 0);
    assert_int_equal(signal_set(group, "SigIgn:"), 0);
    assert_int_equal(signal_set(other, "SigBlk:"), UINT64_C(1) << (SIGUSR1 - 1));
    assert_int_equal(signal_set(other, "SigIgn:"), inherited);
    assert_true(inherited & UINT64_C(1) << (SIGPIPE - 1));
    assert_true(sigismember(&now, SIGUSR1)); /* this process's mask is unchanged */
    assert_false(sigismember(&now, SIGUSR2));
}

static void a_whole_group_is_killed_after_the_grace(void **state)
{
    (void)state;
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    aphi_process p = {0};
    /* Both processes ignore SIGTERM; the leader exits, but its child does not. */
    assert_true(aphi_process_start(&p, &(aphi_process_options){
        .command = "trap '' TERM; sleep 1000 & sleep 0.02", .own_group = true}));
    pid_t group = p.pid;
    assert_false(aphi_process_wait(&p, 100 * MS));
    assert_true(p.leader_ended);
    int64_t start = aphi_clock_ns();
    assert_false(aphi_process_stop(&p, 20 * MS));
    assert_true(aphi_clock_ns() - start >= 20 * MS);
    assert_int_equal(p.pid, 0);
    assert_int_equal(kill(-group, 0), -1);
    assert_int_equal(errno, ESRCH);
    assert_true(aphi_process_stop(&p, 20 * MS)); /* no process is left */
    prctl(PR_SET_CHILD_SUBREAPER, 0);
}

static void a_stopped_process_ends_by_sigterm(void **state)
{
    (void)state;
    aphi_process p = {0};
    assert_true(aphi_process_start(&p, &(aphi_process_options){.command = "kill -STOP $$", .own_group = true}));
    for (int i = 0; i < 60000 && !p.stopped; i++) {
        assert_true(aphi_process_poll(&p));
        usleep(1000);
    }
    assert_true(p.stopped);
    assert_true(aphi_process_stop(&p, 10000 * MS));
    assert_true(WIFSIGNALED(p.status) && WTERMSIG(p.status) == SIGTERM);
}

static void a_fork_flushes_first(void **state)
{
    (void)state;
    FILE *file = tmpfile();
    assert_non_null(file);
    fputs("once", file);
    pid_t pid = aphi_process_fork();
    if (pid == 0)
        exit(0); /* flushes again */
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    fflush(file);
    assert_int_equal(lseek(fileno(file), 0, SEEK_END), 4);
    fclose(file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exec_failures_are_reported),
        cmocka_unit_test(statuses_have_texts),
        cmocka_unit_test(output_and_status_are_returned),
        cmocka_unit_test(directory_environment_and_redirection),
        cmocka_unit_test(only_kept_descriptors_are_inherited),
        cmocka_unit_test(descriptors_do_not_leak),
        cmocka_unit_test(signals_are_reset_for_a_group),
        cmocka_unit_test(a_whole_group_is_killed_after_the_grace),
        cmocka_unit_test(a_stopped_process_ends_by_sigterm),
        cmocka_unit_test(a_fork_flushes_first),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
