/* SPDX-License-Identifier: Apache-2.0
 *
 * cmd_serve.c - antiphon serve: a model as a server.
 *
 * The first line on stdout is "listening on HOST:PORT", at once: whoever started it then knows where, and that it
 * does. */
#include "server/server.h"

#include "cli/commands.h"
#include "cli/exit_codes.h"
#include "cli/exit_guard.h"
#include "cli/model_mutant.h"
#include <antiphon/check.h>
#include "report/terminal.h"
#include "tree/guard.h"

#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/random.h>
#include <unistd.h>

typedef struct serve {
    aphi_serve_options server;
    const char *mutate;
    bool delayed, lossy; /* such options were given */
} serve;

enum { PORT = 256, HOST, SEED, DELAY, MUTATE, ENV, LOSS, DUPLICATE, CALLS, HELP };

static const struct option options[] = {
    {"port", required_argument, NULL, PORT},     {"host", required_argument, NULL, HOST},
    {"seed", required_argument, NULL, SEED},     {"delay", required_argument, NULL, DELAY},
    {"mutate", required_argument, NULL, MUTATE}, {"env", required_argument, NULL, ENV},
    {"loss", required_argument, NULL, LOSS},     {"duplicate", required_argument, NULL, DUPLICATE},
    {"calls", required_argument, NULL, CALLS},   {"help", no_argument, NULL, HELP},
    {NULL, 0, NULL, 0}};

static void help(void)
{
    fputs("usage: antiphon serve [OPTION]... SPEC\n\n"
          "Runs the model SPEC as a server, until it is interrupted. What the model leaves open is drawn at random,\n"
          "and messages take random times, so that the server shows what the model allows. SPEC is a built-in model\n"
          "(see antiphon models), ./mine.c, ./mine.so or ./mine.prog.\n\n"
          "  --port N          listen on this port (default: 0, any that is free; it is printed)\n"
          "  --host HOST       listen on this address (default: 127.0.0.1)\n"
          "  --seed N          of all that is random (default: another each time; it is printed)\n"
          "  --env ENV         tcp (default): connections keep their order, all else takes any time; sync: each\n"
          "                    request is taken and answered at once; udp: datagrams, lost, doubled and out of order\n"
          "  --delay MS        the mean of the delays of requests and of answers, in milliseconds (default: 1)\n"
          "  --loss PERCENT    of datagrams, each way (default: 5)\n"
          "  --duplicate PERCENT   the same, of those that arrive twice\n"
          "  --calls HOST:PORT where those are whom the model asks, if it is of a server that asks others\n"
          "  --mutate MUTANT   serve a wrong variant of the model, by number or name (see antiphon models SPEC)\n"
          "  --help            this\n\n"
          "exit codes: 0 interrupted by SIGINT or SIGTERM, 2 usage, 53 cannot listen; 30 and up, something wrong with\n"
          "a model. antiphon help lists all.\n",
          stdout);
}

/* ---- the command line -------------------------------------------------------------------------------------------- */

static int take_environment(serve *s)
{
    static const char *const names[] = {"tcp", "sync", "udp"};
    for (int i = 0; i < 3; i++)
        if (!strcmp(optarg, names[i])) {
            s->server.through = (aphi_served_through)i;
            return 0;
        }
    return aphi_usage("--env %s: there are tcp, sync and udp", optarg);
}

static int take_delay(serve *s)
{
    char *end;
    errno = 0;
    double ms = strtod(optarg, &end);
    if (end == optarg || *end || errno || !(ms >= 0 && ms <= 600000))
        return aphi_usage("--delay %s: milliseconds, please, up to ten minutes", optarg);
    s->server.delay_ns = (int64_t)(ms * 1e6);
    s->delayed = true;
    return 0;
}

/* 0 if the option is fine, else an exit code. */
static int apply(serve *s, int option)
{
    uint64_t value;
    switch (option) {
    case PORT:
        if (!aphi_is_number(optarg, 0, 65535, &value))
            return aphi_usage("--port %s: a number up to 65535, please", optarg);
        s->server.port = (uint16_t)value;
        return 0;
    case HOST: s->server.host = optarg; return 0;
    case SEED:
        return aphi_take_number("seed", 0, UINT64_MAX, &s->server.seed);
    case DELAY: return take_delay(s);
    case MUTATE: s->mutate = optarg; return 0;
    case CALLS: s->server.calls = optarg; return 0;
    case ENV: return take_environment(s);
    case LOSS:
    case DUPLICATE:
        if (!aphi_is_number(optarg, 0, 100, &value))
            return aphi_usage("%s: a number up to 100, please", optarg);
        *(option == LOSS ? &s->server.loss : &s->server.duplicate) = (unsigned)value;
        s->lossy = true;
        return 0;
    default: return APHI_EXIT_USAGE;
    }
}

/* Options that say nothing together. */
static int compare(const serve *s)
{
    if (s->lossy && s->server.through != APHI_SERVE_UDP)
        return aphi_usage("--loss and --duplicate are for --env udp: connections lose nothing");
    if (s->delayed && s->server.through == APHI_SERVE_SYNC)
        return aphi_usage("--delay is not for --env sync: there nothing is delayed");
    return 0;
}

static int check_calls(const serve *s, const aph_model *model)
{
    if (model->respond && !s->server.calls)
        return aphi_usage("%s is of a server that asks others: --calls HOST:PORT says where they are", model->name);
    if (!model->respond && s->server.calls)
        return aphi_usage("--calls is for models of servers that ask others, and %s is not one", model->name);
    if (model->respond && s->server.through == APHI_SERVE_UDP)
        return aphi_usage("%s asks others over connections, not with datagrams", model->name);
    return 0;
}

/* ---- serving ----------------------------------------------------------------------------------------------------- */

static aphi_server *serving; /* for the handler */

static void on_interrupt(int number)
{
    (void)number;
    aphi_server_stop(serving);
    aphi_guard_call_off(); /* a step that does not end must not hold us up */
}

static void catch_interrupts(void)
{
    struct sigaction action = {.sa_handler = on_interrupt};
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
}

static bool announce(const serve *s, const aph_model *model)
{
    static const char *const through[] = {"tcp", "sync", "udp"};
    printf("listening on %s\n", aphi_server_address(serving));
    printf("%s, environment %s, seed %llu\n", model->name, through[s->server.through],
           (unsigned long long)s->server.seed);
    return fflush(stdout) == 0;
}

static bool sum_up(void)
{
    aphi_serve_stats stats = aphi_server_stats(serving);
    aphi_buffer text = {0};
    aphi_report_count(&text, stats.requests);
    aphi_buffer_str(&text, " requests taken, ");
    aphi_report_count(&text, stats.answers);
    aphi_buffer_str(&text, " answers given, ");
    aphi_report_count(&text, stats.connections);
    aphi_buffer_str(&text, " connections");
    puts(aphi_buffer_text(&text));
    aphi_buffer_free(&text);
    return fflush(stdout) == 0;
}

static int exit_of_fault(aphi_simulated_fault fault)
{
    switch (fault) {
    case APHI_SIMULATED_CRASHED: return APHI_EXIT_MODEL_CRASH;
    case APHI_SIMULATED_IMPURE: return APHI_EXIT_MODEL_IMPURE;
    case APHI_SIMULATED_UNSENT: return APHI_EXIT_MODEL_CODEC;
    case APHI_SIMULATED_STUCK:
    case APHI_SIMULATED_FULL: break;
    }
    return APHI_EXIT_MODEL_STUCK;
}

static int unwritable(void)
{
    fprintf(stderr, "antiphon: stdout cannot be written: %s\n", strerror(errno));
    return APHI_EXIT_WRITE;
}

static int run(serve *s, const aph_model *model)
{
    char error[512];
    serving = aphi_server_open(model, &s->server, error, sizeof error);
    if (!serving) {
        fprintf(stderr, "antiphon: %s\n", error);
        return APHI_EXIT_LISTEN;
    }
    catch_interrupts();
    int code = APHI_EXIT_PASS;
    if (!announce(s, model)) {
        code = unwritable();
    } else {
        aphi_exit_guard_forbid(true);
        aphi_served served = aphi_server_run(serving, error, sizeof error);
        aphi_exit_guard_forbid(false);
        if (served == APHI_SERVED)
            code = sum_up() ? APHI_EXIT_PASS : unwritable();
        else
            fprintf(stderr, "antiphon: %s\n", error);
        if (served == APHI_SERVE_FAULT)
            code = exit_of_fault(aphi_server_fault(serving));
        else if (served == APHI_SERVE_FAILED)
            code = APHI_EXIT_LISTEN;
    }
    signal(SIGINT, SIG_IGN);
    signal(SIGTERM, SIG_IGN);
    aphi_server_close(serving);
    return code;
}

int aphi_command_serve(int count, char **words)
{
    serve s = {.server = {.delay_ns = 1000000, .loss = 5, .duplicate = 5}};
    int option;
    optind = 1;
    opterr = 0;
    if (getrandom(&s.server.seed, sizeof s.server.seed, 0) < 0)
        s.server.seed = (uint64_t)getpid();
    s.server.seed &= 0xffffffff; /* short enough to be typed */
    while ((option = getopt_long(count, words, ":h", options, NULL)) != -1) {
        if (option == HELP || option == 'h') {
            help();
            return APHI_EXIT_PASS;
        }
        if (option == ':')
            return aphi_usage("%s needs a value; see antiphon serve --help", words[optind - 1]);
        if (option == '?')
            return aphi_usage("there is no option %s; see antiphon serve --help", words[optind - 1]);
        if (apply(&s, option))
            return APHI_EXIT_USAGE;
    }
    if (compare(&s))
        return APHI_EXIT_USAGE;
    if (count - optind != 1)
        return aphi_usage("serve needs one model; see antiphon serve --help");
    aph_loaded_model spec;
    aph_load_error error;
    if (!aph_model_load(words[optind], &spec, &error)) {
        fprintf(stderr, "antiphon: %s\n", error.message);
        return (int)aphi_exit_of_load_error(&error);
    }
    const aph_model *model = s.mutate ? aphi_mutant_named(spec.model, s.mutate) : spec.model;
    int code = model ? check_calls(&s, spec.model) : APHI_EXIT_USAGE;
    if (!code)
        code = run(&s, model);
    aph_model_unload(&spec);
    return code;
}
