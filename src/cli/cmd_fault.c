/* SPDX-License-Identifier: Apache-2.0
 *
 * cmd_fault.c - antiphon fault: proxy a server and inject one fault into its traffic.
 *
 * The first line on stdout is "listening on 127.0.0.1:PORT", printed when the server started with --run listens. The
 * proxy and that server end together. */
#include "base/plain_text.h"
#include "cli/commands.h"
#include "cli/interrupt.h"
#include "cli/shared_options.h"
#include "fault/fault_proxy.h"
#include "subject/ports.h"
#include "subject/subject.h"
#include "report/terminal.h"

#include <string.h>

typedef struct proxying {
    aphi_subject_options target;
    aphi_fault fault;
    const char *kind;  /* --break */
    uint16_t port;
    uint64_t every, seed;
    bool list;
} proxying;

static const aphi_option options[] = {
    APHI_TEXT(proxying, kind, "break", "KIND[:ARG]", "the fault to inject; see --list"),
    APHI_FLAG(proxying, list, "list", "list the kinds of faults"),
    APHI_NUMBER(proxying, every, "every", "N", 1, UINT64_MAX,
                "inject the fault into every N-th message that it applies to (default: 1)"),
    APHI_NUMBER(proxying, seed, "seed", "N", 0, UINT64_MAX,
                "seed for the random choices (default: random; it is printed)"),
    APHI_NUMBER(proxying, port, "listen", "PORT", 0, 65535,
                "listen on this port (default: 0, any free port; it is printed)"),
    APHI_TEXT(proxying, target.target, "target", "ADDRESS",
              "proxy a server that is already running; ADDRESS is HOST:PORT, [V6]:PORT or unix:PATH"),
    APHI_TEXT(proxying, target.run, "run", "COMMAND",
              "start the server with sh; {port} is a free port on 127.0.0.1, {dir} an empty folder. {target} is the "
              "same as {port}, for use inside a command of antiphon test, which replaces {port} itself"),
    APHI_TEXT(proxying, target.output, "output", "FILE", "write the output of the server to FILE"),
    {0}};

/* ---- the command line -------------------------------------------------------------------------------------------- */

static int list_faults(void)
{
    const char *name, *line;
    for (size_t i = 0; (line = aphi_fault_line(i, &name)); i++)
        printf("%-25s %s\n", name, line);
    return aphi_written(APHI_EXIT_PASS);
}

/* Returns an exit code, or a negative number to continue. */
static int check_options(proxying *p)
{
    char error[256];
    if (p->target.target && p->target.run)
        return aphi_usage("--target, --run: give only one of them");
    if (!p->target.target && !p->target.run)
        return aphi_usage("no server; give --target ADDRESS or --run COMMAND");
    if (p->target.target && !aphi_port_is_address(p->target.target, false, error, sizeof error))
        return aphi_usage("--target %s", error);
    if (p->target.output && !p->target.run)
        return aphi_usage("--output: only with --run");
    if (!p->kind)
        return aphi_usage("no fault; give --break KIND, and see antiphon fault --list");
    if (!aphi_fault_parse(&p->fault, p->kind, error, sizeof error))
        return aphi_usage("%s", error);
    p->fault.every = p->every;
    p->fault.choice = aphi_choice_seed(p->seed);
    return -1;
}

/* ---- signals ----------------------------------------------------------------------------------------------------- */

static aphi_fault_proxy *proxy; /* for the signal handlers */

static void stop_proxy(void)
{
    if (proxy)
        aphi_fault_proxy_stop(proxy);
}

/* Makes the proxy return; pass_on then checks whether the server has exited. */
static void on_child(int number)
{
    (void)number;
    stop_proxy();
}

static void watch_signals(void)
{
    struct sigaction action = {.sa_handler = on_child, .sa_flags = SA_RESTART};
    sigemptyset(&action.sa_mask);
    sigaction(SIGCHLD, &action, NULL);
    aphi_interrupt_watch(stop_proxy);
}

/* ---- passing on -------------------------------------------------------------------------------------------------- */

static int print_address(const proxying *p)
{
    printf("listening on 127.0.0.1:%u\n", aphi_fault_proxy_port(proxy));
    aphi_print(stdout, "target %s; fault %s, every %llu, seed %llu\n",
               p->target.run ? p->target.run : p->target.target, p->kind, (unsigned long long)p->every,
               (unsigned long long)p->seed);
    return aphi_written(APHI_EXIT_PASS);
}

static int print_totals(const proxying *p)
{
    aphi_fault_proxy_stats stats = aphi_fault_proxy_stats_of(proxy);
    aphi_buffer text = {0};
    const struct {
        uint64_t n;
        const char *many, *one;
    } counts[] = {{stats.connections, " connections, ", " connection, "}, {stats.requests, " requests, ", " request, "},
                  {stats.answers, " responses; ", " response; "},
                  {p->fault.met, " candidates for the fault, ", " candidate for the fault, "},
                  {p->fault.broken, " injected", " injected"}};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        aphi_report_count(&text, counts[i].n);
        aphi_buffer_str(&text, counts[i].n == 1 ? counts[i].one : counts[i].many);
    }
    puts(aphi_buffer_text(&text));
    aphi_buffer_free(&text);
    return aphi_written(APHI_EXIT_PASS);
}

static int report_end(aphi_subject *target, const char *how)
{
    char printed[800];
    aphi_subject_tail(target, printed, sizeof printed);
    aphi_complain("the server %s%s%s", how, *printed ? "; its last output:\n" : "", printed);
    return APHI_EXIT_DEAD;
}

/* Runs until a signal arrives or the server ends. */
static int pass_on(aphi_subject *target)
{
    char message[256];
    while (!aphi_interrupted) {
        if (aphi_subject_look(target, message, sizeof message) == APHI_SUBJECT_EXITED) {
            aphi_fault_proxy_drain(proxy, 200 * APHI_MS_NS);
            return report_end(target, message);
        }
        if (!aphi_fault_proxy_run(proxy, message, sizeof message)) {
            aphi_complain("%s", message);
            return APHI_EXIT_LISTEN;
        }
    }
    return APHI_EXIT_PASS;
}

static int run_proxy(proxying *p, aphi_subject *target)
{
    char error[1200];
    if (!aphi_subject_reset(target, error, sizeof error)) {
        aphi_complain("%s", error);
        return aphi_interrupted ? APHI_EXIT_PASS : APHI_EXIT_SUBJECT;
    }
    socklen_t size;
    const struct sockaddr *address = aphi_subject_address(target, &size);
    proxy = aphi_fault_proxy_open(p->port, address, size, &p->fault, error, sizeof error);
    if (!proxy) {
        aphi_complain("%s", error);
        return APHI_EXIT_LISTEN;
    }
    int code = print_address(p);
    if (!code)
        code = pass_on(target);
    if (!code)
        code = print_totals(p);
    signal(SIGCHLD, SIG_DFL);
    aphi_fault_proxy *closing = proxy;
    proxy = NULL;
    aphi_fault_proxy_close(closing);
    return code;
}

static int start_target(proxying *p)
{
    char error[1200];
    aphi_buffer command = {0};
    aphi_subject_options started = p->target;
    if (started.run) {
        aphi_buffer_expand(&command, started.run, strlen(started.run),
                           (const char *const[][2]){{"{target}", "{port}"}, {NULL}});
        started.run = aphi_buffer_text(&command);
    }
    started.stop = &aphi_interrupted;
    watch_signals();
    aphi_subject *target = aphi_subject_open(&started, error, sizeof error);
    int code = APHI_EXIT_SUBJECT;
    if (target)
        code = run_proxy(p, target);
    else
        aphi_complain("%s", error);
    aphi_subject_close(target);
    aphi_buffer_free(&command);
    return code;
}

static int fault_command(int count, char **words)
{
    proxying p = {.every = 1, .seed = aphi_random_seed()};
    int code = aphi_options_read(&aphi_command_fault, &p, &count, words);
    if (code < 0 && p.list)
        return list_faults();
    if (code < 0)
        code = check_options(&p);
    return code < 0 ? start_target(&p) : code;
}

const aphi_command aphi_command_fault = {
    .name = "fault",
    .summary = "proxy a server and inject one fault into its traffic",
    .operands = "--break KIND[:ARG] --target ADDRESS | --run COMMAND",
    .description = "Listen on 127.0.0.1, forward each connection to the target, and inject one kind of fault into "
                   "the HTTP/1.1 messages, or into the bytes; all other bytes are forwarded unchanged. Stop on a "
                   "signal, or when the server started with --run exits. The first line of output is \"listening on "
                   "127.0.0.1:PORT\".",
    .exit_codes = "0 stopped by a signal, 2 usage, 9 the server exited, 51 it cannot be started or found, 53 cannot "
                  "listen.",
    .options = options, .run = fault_command};
