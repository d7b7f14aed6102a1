/* SPDX-License-Identifier: Apache-2.0
 *
 * cmd_subject.c - antiphon subject: a server as antiphon test --subject starts it, to be looked at by hand.
 *
 * The first line on stdout is "listening on HOST:PORT", as that of antiphon serve. The signals that we wait for are
 * blocked and taken one by one: what happens between two looks at the server is not lost. */
#include "base/clock.h"
#include "base/memory.h"
#include "cli/commands.h"
#include "cli/exit_codes.h"
#include "subject/presets.h"

#include <arpa/inet.h>
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OUTPUT = 256, RESETS, HELP };
enum { LOOK_S = 1 }; /* a server in the background ends without a signal to us */

static const struct option known[] = {{"output", required_argument, NULL, OUTPUT},
                                      {"resets", required_argument, NULL, RESETS},
                                      {"help", no_argument, NULL, HELP},
                                      {NULL, 0, NULL, 0}};

static void help(void)
{
    fputs("usage: antiphon subject [OPTION]... [NAME]\n\n"
          "Starts the server NAME as antiphon test --subject NAME does: on a free port of 127.0.0.1, with a\n"
          "configuration and documents in a temporary folder, and nothing else on this machine touched. Prints its\n"
          "address, and keeps it running until it is interrupted; then all of it is removed. Without NAME, lists the\n"
          "servers and where they are.\n\n"
          "  --output FILE     keep what the server prints\n"
          "  --resets N        stop it and start it anew N times, print how long that took, and end\n"
          "  --help            this\n\n"
          "exit codes: 0 interrupted by SIGINT, SIGTERM or SIGHUP, 2 usage, 9 the server ended by itself, 51 it\n"
          "cannot be started. antiphon help lists all.\n",
          stdout);
}

static int unwritable(void)
{
    fprintf(stderr, "antiphon: stdout cannot be written: %s\n", strerror(errno));
    return APHI_EXIT_WRITE;
}

/* ---- running ----------------------------------------------------------------------------------------------------- */

static bool announce(const aphi_subject *s)
{
    socklen_t size;
    const struct sockaddr_in *at = (const struct sockaddr_in *)aphi_subject_address(s, &size);
    char host[INET_ADDRSTRLEN];
    printf("listening on %s:%u\n", inet_ntop(AF_INET, &at->sin_addr, host, sizeof host), (unsigned)ntohs(at->sin_port));
    return fflush(stdout) == 0;
}

static int tell_end(aphi_subject *s, const char *name, const char *how)
{
    char tail[600];
    aphi_subject_tail(s, tail, sizeof tail);
    fprintf(stderr, "antiphon: %s %s\n", name, how);
    if (*tail)
        fprintf(stderr, "the last that it printed:\n%s\n", tail);
    return APHI_EXIT_DEAD;
}

static int keep_running(aphi_subject *s, const char *name, const sigset_t *signals)
{
    char how[200];
    for (;;) {
        int got = sigtimedwait(signals, NULL, &(struct timespec){.tv_sec = LOOK_S});
        if (got > 0 && got != SIGCHLD)
            return APHI_EXIT_PASS;
        if (aphi_subject_look(s, how, sizeof how) == APHI_SUBJECT_EXITED)
            return tell_end(s, name, how);
    }
}

/* ---- how long a reset takes -------------------------------------------------------------------------------------- */

static int by_size(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static int measure(aphi_subject *s, uint64_t resets, const sigset_t *signals)
{
    char error[2048];
    int64_t *took = aphi_alloc(resets * sizeof *took);
    uint64_t n = 0;
    int code = APHI_EXIT_PASS;
    sigset_t ends = *signals;
    sigdelset(&ends, SIGCHLD);
    while (n < resets && sigtimedwait(&ends, NULL, &(struct timespec){0}) < 0) {
        int64_t start = aphi_clock_ns();
        if (!aphi_subject_reset(s, error, sizeof error)) {
            fprintf(stderr, "antiphon: %s\n", error);
            code = APHI_EXIT_SUBJECT;
            break;
        }
        took[n++] = aphi_clock_ns() - start;
    }
    if (code == APHI_EXIT_PASS && n > 0) {
        qsort(took, n, sizeof *took, by_size);
        printf("%" PRIu64 " resets, in ms: median %.1f, least %.1f, most %.1f\n", n, (double)took[n / 2] / 1e6,
               (double)took[0] / 1e6, (double)took[n - 1] / 1e6);
        if (fflush(stdout) != 0)
            code = unwritable();
    }
    free(took);
    return code;
}

/* ---- all of it --------------------------------------------------------------------------------------------------- */

static void block(sigset_t *signals)
{
    sigemptyset(signals);
    sigaddset(signals, SIGINT);
    sigaddset(signals, SIGTERM);
    sigaddset(signals, SIGHUP);
    sigaddset(signals, SIGCHLD);
    sigprocmask(SIG_BLOCK, signals, NULL);
    signal(SIGPIPE, SIG_IGN);
}

static int launch(const aphi_subject_options *options, uint64_t resets)
{
    char error[2048];
    sigset_t signals;
    block(&signals);
    aphi_subject *s = aphi_subject_open(options, error, sizeof error);
    if (!s || !aphi_subject_reset(s, error, sizeof error)) {
        fprintf(stderr, "antiphon: %s\n", error);
        aphi_subject_close(s);
        return APHI_EXIT_SUBJECT;
    }
    int code;
    if (resets > 0)
        code = measure(s, resets, &signals);
    else if (!announce(s))
        code = unwritable();
    else
        code = keep_running(s, options->name, &signals);
    aphi_subject_close(s);
    return code;
}

int aphi_command_subject(int count, char **words)
{
    aphi_subject_options options = {0};
    uint64_t resets = 0;
    int option;
    optind = 1;
    opterr = 0;
    while ((option = getopt_long(count, words, ":h", known, NULL)) != -1) {
        switch (option) {
        case OUTPUT: options.output = optarg; break;
        case RESETS:
            if (!aphi_is_number(optarg, 1, 1000000, &resets))
                return aphi_usage("--resets %s: a number from 1 to 1000000, please", optarg);
            break;
        case HELP:
        case 'h': help(); return APHI_EXIT_PASS;
        case ':': return aphi_usage("%s needs a value; see antiphon subject --help", words[optind - 1]);
        default: return aphi_usage("there is no option %s; see antiphon subject --help", words[optind - 1]);
        }
    }
    if (count - optind > 1)
        return aphi_usage("subject takes one name; see antiphon subject --help");
    if (count == optind) {
        aphi_preset_list();
        return fflush(stdout) == 0 ? APHI_EXIT_PASS : unwritable();
    }
    char error[512];
    aphi_preset_made made = {0};
    int code =
        (int)aphi_exit_of_preset(aphi_preset_make(words[optind], APHI_PRESET_CONNECTIONS, &made, &options, error,
                                                  sizeof error));
    if (code)
        fprintf(stderr, "antiphon: %s\n", error);
    else
        code = launch(&options, resets);
    aphi_preset_free(&made);
    return code;
}
