/* SPDX-License-Identifier: Apache-2.0
 *
 * cmd_fault.c - antiphon fault: stand before a server, and break one thing in what passes.
 *
 * The first line on stdout is "listening on 127.0.0.1:PORT". With --run the target is started first, so that
 * whoever waits for the port finds a server behind it, and it ends with us, as we end with it. */
#include "cli/commands.h"
#include "cli/exit_codes.h"
#include "fault/fault_proxy.h"
#include "subject/subject.h"
#include "report/terminal.h"

#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

typedef struct faulty {
    aphi_subject_options target;
    aphi_fault breaks;
    const char *what;  /* --break */
    uint16_t port;
    uint64_t every, seed;
} faulty;

enum { LISTEN = 256, TARGET, RUN, OUTPUT, BREAK, EVERY, SEED, LIST, HELP };

static const struct option options[] = {
    {"listen", required_argument, NULL, LISTEN}, {"target", required_argument, NULL, TARGET},
    {"run", required_argument, NULL, RUN},       {"output", required_argument, NULL, OUTPUT},
    {"break", required_argument, NULL, BREAK},   {"every", required_argument, NULL, EVERY},
    {"seed", required_argument, NULL, SEED},     {"list", no_argument, NULL, LIST},
    {"help", no_argument, NULL, HELP},           {NULL, 0, NULL, 0}};

static void help(void)
{
    fputs("usage: antiphon fault [OPTION]... --break KIND[:ARG] --target HOST:PORT | --run COMMAND\n\n"
          "Listens on 127.0.0.1, passes each connection on to the target, and breaks one thing in the HTTP/1.1\n"
          "messages, or in the bytes, that pass; all else passes byte for byte. Ends when it is interrupted, or the\n"
          "command ends.\n\n"
          "  --break KIND[:ARG]  what to break; see --list\n"
          "  --list              name the kinds\n"
          "  --every N           break each N-th message that it concerns (default: 1, all of them)\n"
          "  --seed N            of all that is random (default: another each time; it is printed)\n"
          "  --listen PORT       listen on this port (default: 0, any that is free; it is printed)\n"
          "  --target HOST:PORT  a server that runs already\n"
          "  --run COMMAND       start the server with sh; {port} is a free port on 127.0.0.1, {dir} an empty folder.\n"
          "                      {target} is {port}, too: in a command inside the command of antiphon test, which has\n"
          "                      a {port} of its own\n"
          "  --output FILE       keep what the command prints\n"
          "  --help              this\n\n"
          "exit codes: 0 interrupted by SIGINT or SIGTERM, 2 usage, 9 the command has ended, 51 the server cannot be\n"
          "started or found, 53 cannot listen. antiphon help lists all.\n",
          stdout);
}

/* ---- the command line -------------------------------------------------------------------------------------------- */

static int list(void)
{
    const char *name, *line;
    for (size_t i = 0; (line = aphi_fault_line(i, &name)); i++)
        printf("%-25s %s\n", name, line);
    return fflush(stdout) == 0 ? APHI_EXIT_PASS : APHI_EXIT_WRITE;
}

/* 0 if the option is fine, else an exit code. */
static int apply(faulty *f, int option)
{
    uint64_t port;
    switch (option) {
    case LISTEN:
        if (!aphi_is_number(optarg, 0, 65535, &port))
            return aphi_usage("--listen %s: a port, please: a number up to 65535", optarg);
        f->port = (uint16_t)port;
        return 0;
    case TARGET: f->target.target = optarg; return 0;
    case RUN: f->target.run = optarg; return 0;
    case OUTPUT: f->target.output = optarg; return 0;
    case BREAK: f->what = optarg; return 0;
    case EVERY: return aphi_take_number("every", 1, UINT64_MAX, &f->every);
    case SEED: return aphi_take_number("seed", 0, UINT64_MAX, &f->seed);
    default: return APHI_EXIT_USAGE;
    }
}

/* Negative: go on; else the exit code. */
static int read_options(faulty *f, int count, char **words)
{
    int option;
    optind = 1;
    opterr = 0;
    while ((option = getopt_long(count, words, ":h", options, NULL)) != -1) {
        if (option == HELP || option == 'h') {
            help();
            return APHI_EXIT_PASS;
        }
        if (option == LIST)
            return list();
        if (option == ':')
            return aphi_usage("%s needs a value; see antiphon fault --help", words[optind - 1]);
        if (option == '?')
            return aphi_usage("there is no option %s; see antiphon fault --help", words[optind - 1]);
        if (apply(f, option))
            return APHI_EXIT_USAGE;
    }
    if (optind < count)
        return aphi_usage("%s: fault takes options only; see antiphon fault --help", words[optind]);
    return -1;
}

/* The same for what the options say together. */
static int compare(faulty *f)
{
    char error[256];
    if (f->target.target && f->target.run)
        return aphi_usage("--target is a server that runs already, --run one to be started: only one of them");
    if (!f->target.target && !f->target.run)
        return aphi_usage("where is the server? one of --target HOST:PORT and --run COMMAND is wanted");
    if (f->target.output && !f->target.run)
        return aphi_usage("--output is for --run: only of a command is it known what it prints");
    if (!f->what)
        return aphi_usage("what is to be broken? --break KIND says it, and antiphon fault --list names the kinds");
    if (!aphi_fault_parse(&f->breaks, f->what, error, sizeof error))
        return aphi_usage("%s", error);
    f->breaks.every = f->every;
    f->breaks.choice = aphi_choice_seed(f->seed);
    return -1;
}

/* The command with {port} for {target}; to be freed. */
static char *with_port(const char *command)
{
    aphi_buffer text = {0};
    for (const char *at; (at = strstr(command, "{target}")); command = at + strlen("{target}")) {
        aphi_buffer_add(&text, command, (size_t)(at - command));
        aphi_buffer_str(&text, "{port}");
    }
    aphi_buffer_str(&text, command);
    return aphi_buffer_text(&text);
}

/* ---- signals ----------------------------------------------------------------------------------------------------- */

static aphi_fault_proxy *injector; /* for the handlers */
static volatile sig_atomic_t stopped;

/* The first asks to end in order; with the second the target is killed and so are we. */
static void on_interrupt(int number)
{
    if (stopped) {
        aphi_subject_kill_all();
        signal(number, SIG_DFL);
        raise(number);
    }
    stopped = 1;
    if (injector)
        aphi_fault_proxy_stop(injector);
}

static void on_child(int number)
{
    (void)number;
    if (injector)
        aphi_fault_proxy_stop(injector); /* it looks who has ended, and goes on if it is nobody that matters */
}

static void handle(int number, void (*handler)(int))
{
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART};
    sigemptyset(&action.sa_mask);
    sigaction(number, &action, NULL);
}

static void watch_signals(void)
{
    handle(SIGINT, on_interrupt);
    handle(SIGTERM, on_interrupt);
    handle(SIGHUP, on_interrupt);
    handle(SIGCHLD, on_child);
    signal(SIGPIPE, SIG_IGN);
}

/* ---- passing on -------------------------------------------------------------------------------------------------- */

static int unwritable(void)
{
    fprintf(stderr, "antiphon: stdout cannot be written: %s\n", strerror(errno));
    return APHI_EXIT_WRITE;
}

static bool announce(const faulty *f)
{
    printf("listening on 127.0.0.1:%u\n", aphi_fault_proxy_port(injector));
    printf("before %s, breaks %s, every %llu, seed %llu\n", f->target.run ? f->target.run : f->target.target, f->what,
           (unsigned long long)f->every, (unsigned long long)f->seed);
    return fflush(stdout) == 0;
}

static bool sum_up(const faulty *f)
{
    aphi_fault_proxy_stats stats = aphi_fault_proxy_stats_of(injector);
    aphi_buffer text = {0};
    const struct {
        uint64_t n;
        const char *of, *ones;
    } counts[] = {{stats.connections, " connections, ", " connection, "}, {stats.requests, " requests, ", " request, "},
                  {stats.answers, " answers; ", " answer; "}, {f->breaks.met, " could be broken, ", NULL},
                  {f->breaks.broken, " were", NULL}};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        aphi_report_count(&text, counts[i].n);
        aphi_buffer_str(&text, counts[i].n == 1 && counts[i].ones ? counts[i].ones : counts[i].of);
    }
    puts(aphi_buffer_text(&text));
    aphi_buffer_free(&text);
    return fflush(stdout) == 0;
}

static int tell_end(aphi_subject *target, const char *how)
{
    char printed[800];
    aphi_subject_tail(target, printed, sizeof printed);
    fprintf(stderr, "antiphon: the server behind %s%s%s\n", how, *printed ? "; it printed last:\n" : "", printed);
    return APHI_EXIT_DEAD;
}

/* Until we are interrupted or the target ends. */
static int pass_on(aphi_subject *target)
{
    char message[256];
    while (!stopped) {
        if (aphi_subject_look(target, message, sizeof message) == APHI_SUBJECT_EXITED) {
            aphi_fault_proxy_drain(injector, INT64_C(200000000)); /* its last words */
            return tell_end(target, message);
        }
        if (!aphi_fault_proxy_run(injector, message, sizeof message)) {
            fprintf(stderr, "antiphon: %s\n", message);
            return APHI_EXIT_LISTEN;
        }
    }
    return APHI_EXIT_PASS;
}

static int stand_before(faulty *f, aphi_subject *target)
{
    char error[1200];
    if (!aphi_subject_reset(target, error, sizeof error)) {
        fprintf(stderr, "antiphon: %s\n", error);
        return stopped ? APHI_EXIT_PASS : APHI_EXIT_SUBJECT;
    }
    socklen_t size;
    const struct sockaddr *address = aphi_subject_address(target, &size);
    injector = aphi_fault_proxy_open(f->port, address, size, &f->breaks, error, sizeof error);
    if (!injector) {
        fprintf(stderr, "antiphon: %s\n", error);
        return APHI_EXIT_LISTEN;
    }
    int code = announce(f) ? pass_on(target) : unwritable();
    if (code == APHI_EXIT_PASS && !sum_up(f))
        code = unwritable();
    handle(SIGCHLD, SIG_DFL);
    aphi_fault_proxy *closing = injector;
    injector = NULL;
    aphi_fault_proxy_close(closing);
    return code;
}

static int run(faulty *f)
{
    char error[1200];
    char *command = f->target.run ? with_port(f->target.run) : NULL;
    aphi_subject_options options_of_target = f->target;
    options_of_target.run = command;
    options_of_target.stop = &stopped;
    stopped = 0;
    watch_signals();
    aphi_subject *target = aphi_subject_open(&options_of_target, error, sizeof error);
    int code = APHI_EXIT_SUBJECT;
    if (target)
        code = stand_before(f, target);
    else
        fprintf(stderr, "antiphon: %s\n", error);
    aphi_subject_close(target);
    free(command);
    return code;
}

int aphi_command_fault(int count, char **words)
{
    faulty f = {.every = 1};
    if (getrandom(&f.seed, sizeof f.seed, 0) < 0)
        f.seed = (uint64_t)getpid();
    f.seed &= 0xffffffff; /* short enough to be typed */
    int code = read_options(&f, count, words);
    if (code < 0)
        code = compare(&f);
    return code < 0 ? run(&f) : code;
}
