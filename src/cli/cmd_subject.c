/* SPDX-License-Identifier: Apache-2.0
 *
 * cmd_subject.c - antiphon subject: start a server as antiphon test --subject does, for manual use.
 *
 * The first line on stdout is "listening on HOST:PORT", as for antiphon serve. */
#include "base/clock.h"
#include "base/memory.h"
#include "base/plain_text.h"
#include "cli/commands.h"
#include "cli/exit_codes.h"
#include "cli/interrupt.h"
#include "subject/presets.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <stdlib.h>

enum { POLL_S = 1 }; /* needed for daemons, whose exit sends this process no SIGCHLD */

typedef struct launch {
    aphi_subject_options subject;
    uint64_t resets;
} launch;

static const aphi_option options[] = {
    APHI_TEXT(launch, subject.output, "output", "FILE", "write the output of the server to FILE"),
    APHI_NUMBER(launch, resets, "resets", "N", 1, 1000000, "restart the server N times, print the times, and exit"),
    {0}};

/* ---- running ----------------------------------------------------------------------------------------------------- */

static int print_address(const aphi_subject *s)
{
    socklen_t size;
    const struct sockaddr_in *at = (const struct sockaddr_in *)aphi_subject_address(s, &size);
    char host[INET_ADDRSTRLEN];
    printf("listening on %s:%u\n", inet_ntop(AF_INET, &at->sin_addr, host, sizeof host), (unsigned)ntohs(at->sin_port));
    return aphi_written(APHI_EXIT_PASS);
}

static int report_end(aphi_subject *s, const char *name, const char *how)
{
    char tail[600];
    aphi_subject_tail(s, tail, sizeof tail);
    aphi_complain("%s %s", name, how);
    if (*tail)
        aphi_print(stderr, "last output:\n%s\n", tail);
    return APHI_EXIT_DEAD;
}

/* Runs until a signal arrives or the server ends. */
static int keep_running(aphi_subject *s, const char *name)
{
    char how[200];
    sigset_t child;
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    sigprocmask(SIG_BLOCK, &child, NULL);
    while (!aphi_interrupted) {
        if (aphi_subject_look(s, how, sizeof how) == APHI_SUBJECT_EXITED)
            return report_end(s, name, how);
        sigtimedwait(&child, NULL, &(struct timespec){.tv_sec = POLL_S});
    }
    return APHI_EXIT_PASS;
}

/* ---- how long a reset takes -------------------------------------------------------------------------------------- */

static int by_size(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static int measure_resets(aphi_subject *s, uint64_t resets)
{
    char error[2048];
    int64_t *took = aphi_alloc(resets * sizeof *took);
    uint64_t n = 0;
    bool failed = false;
    while (n < resets && !failed && !aphi_interrupted) {
        int64_t start = aphi_clock_ns();
        failed = !aphi_subject_reset(s, error, sizeof error);
        took[n] = aphi_clock_ns() - start;
        n += !failed;
    }
    failed &= !aphi_interrupted;
    if (failed) {
        aphi_complain("%s", error);
    } else if (n > 0) {
        qsort(took, n, sizeof *took, by_size);
        printf("%" PRIu64 " resets, in ms: median %.1f, minimum %.1f, maximum %.1f\n", n, (double)took[n / 2] / 1e6,
               (double)took[0] / 1e6, (double)took[n - 1] / 1e6);
    }
    free(took);
    return failed ? APHI_EXIT_SUBJECT : aphi_written(APHI_EXIT_PASS);
}

/* ---- the command ------------------------------------------------------------------------------------------------- */

static int run_subject(const launch *l)
{
    char error[2048];
    aphi_interrupt_watch(NULL);
    aphi_subject *s = aphi_subject_open(&l->subject, error, sizeof error);
    int code = APHI_EXIT_SUBJECT;
    if (!s || (!aphi_subject_reset(s, error, sizeof error) && !aphi_interrupted))
        aphi_complain("%s", error);
    else if (aphi_interrupted)
        code = APHI_EXIT_PASS;
    else if (l->resets > 0)
        code = measure_resets(s, l->resets);
    else if (!(code = print_address(s)))
        code = keep_running(s, l->subject.name);
    aphi_subject_close(s);
    return code;
}

static int subject_command(int count, char **words)
{
    char error[512];
    launch l = {.subject.stop = &aphi_interrupted};
    aphi_preset_made made = {0};
    int code = aphi_options_read(&aphi_command_subject, &l, &count, words);
    if (code >= 0)
        return code;
    if (count == 0) {
        aphi_preset_list();
        return aphi_written(APHI_EXIT_PASS);
    }
    code = (int)aphi_exit_of_preset(
        aphi_preset_make(words[0], APHI_PRESET_CONNECTIONS, &made, &l.subject, error, sizeof error));
    if (code)
        aphi_complain("%s", error);
    else
        code = run_subject(&l);
    aphi_preset_free(&made);
    return code;
}

const aphi_command aphi_command_subject = {
    .name = "subject",
    .summary = "start a known server, or list the known servers",
    .operands = "[NAME]",
    .description = "Start the server NAME as antiphon test --subject NAME does: on a free port of 127.0.0.1, with "
                   "its configuration and documents in a temporary folder that is removed at the end. It runs until "
                   "SIGINT, SIGTERM or SIGHUP. The first line of output is \"listening on HOST:PORT\". Without NAME, "
                   "list the servers and the paths of their programs.",
    .exit_codes = "0 stopped by a signal, 2 usage, 9 the server exited, 51 it cannot be started.",
    .options = options, .operands_max = 1, .run = subject_command};
