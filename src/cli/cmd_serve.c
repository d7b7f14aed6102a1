/* SPDX-License-Identifier: Apache-2.0
 *
 * cmd_serve.c - antiphon serve: run a model as a server.
 *
 * The first line on stdout is "listening on HOST:PORT", printed when the server accepts connections. */
#include "server/server.h"

#include "cli/exit_guard.h"
#include "cli/commands.h"
#include "cli/interrupt.h"
#include "cli/shared_options.h"
#include "report/terminal.h"

typedef struct serve {
    aphi_serve_options server;
    const char *mutate, *environment;
    bool delayed, lossy; /* --delay was given; --loss or --duplicate was given */
} serve;

static int take_calls(void *field, const char *name, const char *value)
{
    aphi_serve_options *o = field;
    if (o->call_count == APH_ORIGINS_MAX)
        return aphi_usage("--%s: given more than %d times", name, APH_ORIGINS_MAX);
    o->calls[o->call_count++] = value;
    return 0;
}

static int take_served_through(void *field, const char *name, const char *value)
{
    *(const char **)field = value;
    for (const char *const *known = aphi_environment_names; *known; known++)
        if (!strcmp(*known, value))
            return 0;
    return aph_network_is_file(value)
               ? 0
               : aphi_usage("--%s %s: not one of tcp, sync, udp, or a file: ./mine.c or ./mine.so", name, value);
}

static const aphi_option options[] = {
    APHI_NUMBER(serve, server.port, "port", "PORT", 0, 65535,
                "listen on this port (default: 0, any free port; it is printed)"),
    APHI_TEXT(serve, server.host, "host", "HOST", "listen on this address (default: 127.0.0.1)"),
    APHI_NUMBER(serve, server.seed, "seed", "N", 0, UINT64_MAX,
                "seed for the random choices (default: random; it is printed)"),
    {.name = "env", .kind = APHI_OPTION_CALL, .argument = "ENV", APHI_FIELD(serve, environment),
     .choices = aphi_environment_names, .take = take_served_through,
     .help = "tcp (default): messages on a connection keep their order and are delayed randomly; sync: each request is "
             "taken and answered at once; udp: datagrams are lost, duplicated and reordered; ./mine.c: a network "
             "with random choices (see docs/networks.md)"},
    {.name = "delay", .kind = APHI_OPTION_DURATION, .argument = "MS", APHI_FIELD(serve, server.delay_ns),
     .bare_ns = APHI_MS_NS, .most = 600 * (uint64_t)APHI_SECOND_NS, .given = 1 + offsetof(serve, delayed),
     .help = "mean delay of requests and of responses, in milliseconds (default: 1)"},
    {.name = "loss", .kind = APHI_OPTION_NUMBER, .argument = "PERCENT", APHI_FIELD(serve, server.loss), .most = 100,
     .given = 1 + offsetof(serve, lossy),
     .help = "with --env udp: lose PERCENT of the datagrams, each way (default: 5)"},
    {.name = "duplicate", .kind = APHI_OPTION_NUMBER, .argument = "PERCENT", APHI_FIELD(serve, server.duplicate),
     .most = 100, .given = 1 + offsetof(serve, lossy),
     .help = "with --env udp: duplicate PERCENT of the datagrams, each way (default: 5)"},
    APHI_CALL(serve, server, "calls", "ADDRESS", take_calls,
              "the server that a model of a proxy calls: HOST:PORT, [V6]:PORT or unix:PATH; repeat it for each origin"),
    APHI_TEXT(serve, mutate, "mutate", "MUTANT",
              "serve an incorrect variant, by number or name (see antiphon models SPEC)"),
    {0}};

/* ---- combinations of options ------------------------------------------------------------------------------------- */

static aphi_served_through through_named(const char *environment)
{
    aphi_served_through through = APHI_SERVE_TCP;
    for (size_t i = 0; aphi_environment_names[i]; i++)
        if (!strcmp(aphi_environment_names[i], environment))
            through = (aphi_served_through)i;
    return through;
}

/* Returns an exit code, or a negative number to continue. */
static int check_options(const serve *s)
{
    if (s->lossy && s->server.through != APHI_SERVE_UDP)
        return aphi_usage("--loss, --duplicate: only with --env udp; connections lose nothing");
    if (s->delayed && s->server.through == APHI_SERVE_SYNC)
        return aphi_usage("--delay: not with --env sync, which has no delays");
    return -1;
}

static int check_calls(const serve *s, const aph_model *model)
{
    unsigned origins = model->origins ? model->origins : 1;
    if (model->respond && !s->server.call_count)
        return aphi_usage("%s: models a server that calls others; give their address with --calls HOST:PORT",
                          model->name);
    if (!model->respond && s->server.call_count)
        return aphi_usage("--calls: only for models of servers that call others; %s is not one", model->name);
    if (s->server.call_count > origins)
        return aphi_usage("--calls: given %u times; %s calls only %u", s->server.call_count, model->name, origins);
    if (model->respond && s->server.network)
        return aphi_usage("%s: calls other servers; --env %s is not possible", model->name, s->environment);
    if (model->respond && s->server.through == APHI_SERVE_UDP)
        return aphi_usage("%s: calls other servers over connections; --env udp is not possible", model->name);
    return 0;
}

/* ---- serving ----------------------------------------------------------------------------------------------------- */

static aphi_server *serving; /* for the signal handler */

static void stop_server(void)
{
    aphi_server_stop(serving);
}

static int print_address(const serve *s, const aph_model *model)
{
    printf("listening on %s\n", aphi_server_address(serving));
    printf("%s, environment %s, seed %llu\n", model->name, s->environment, (unsigned long long)s->server.seed);
    return aphi_written(APHI_EXIT_PASS);
}

static int print_totals(void)
{
    aphi_serve_stats stats = aphi_server_stats(serving);
    aphi_buffer text = {0};
    aphi_report_count(&text, stats.requests);
    aphi_buffer_str(&text, " requests taken, ");
    aphi_report_count(&text, stats.answers);
    aphi_buffer_str(&text, " responses sent, ");
    aphi_report_count(&text, stats.connections);
    aphi_buffer_str(&text, " connections");
    puts(aphi_buffer_text(&text));
    aphi_buffer_free(&text);
    return aphi_written(APHI_EXIT_PASS);
}

/* Serves until a signal arrives or the model fails. */
static int serve_requests(void)
{
    static const int codes[] = {
        [APHI_SIMULATED_CRASHED] = APHI_EXIT_MODEL_CRASH, [APHI_SIMULATED_STUCK] = APHI_EXIT_MODEL_STUCK,
        [APHI_SIMULATED_IMPURE] = APHI_EXIT_MODEL_IMPURE, [APHI_SIMULATED_UNSENT] = APHI_EXIT_MODEL_CODEC,
        [APHI_SIMULATED_FULL] = APHI_EXIT_MODEL_STUCK,   [APHI_SIMULATED_MISCALLED] = APHI_EXIT_MODEL_CALL};
    char error[512];
    aphi_exit_guard_forbid(true);
    aphi_served served = aphi_server_run(serving, error, sizeof error);
    aphi_exit_guard_forbid(false);
    if (served == APHI_SERVED)
        return print_totals();
    aphi_complain("%s", error);
    return served == APHI_SERVE_FAULT ? codes[aphi_server_fault(serving)] : APHI_EXIT_LISTEN;
}

static int run_server(serve *s, const aph_model *model)
{
    char error[512];
    serving = aphi_server_open(model, &s->server, error, sizeof error);
    if (!serving) {
        aphi_complain("%s", error);
        return APHI_EXIT_LISTEN;
    }
    aphi_interrupt_watch(stop_server);
    if (aphi_interrupted) /* before */
        stop_server();
    int code = print_address(s, model);
    if (!code)
        code = serve_requests();
    aphi_interrupt_watch(NULL);
    aphi_server_close(serving);
    return code;
}

static int serve_model(serve *s, const aph_loaded_model *spec, const aph_loaded_network *network)
{
    s->server.network = network->network;
    const aph_model *model = s->mutate ? aphi_mutant_named(spec->model, s->mutate) : spec->model;
    int code = model ? check_calls(s, spec->model) : APHI_EXIT_USAGE;
    return code ? code : run_server(s, model);
}

static int serve_command(int count, char **words)
{
    serve s = {.environment = "tcp",
               .server = {.delay_ns = APHI_MS_NS, .loss = 5, .duplicate = 5, .seed = aphi_random_seed()}};
    aph_loaded_model spec;
    aph_loaded_network network;
    int code = aphi_options_read(&aphi_command_serve, &s, &count, words);
    s.server.through = through_named(s.environment);
    if (code < 0)
        code = check_options(&s);
    if (code >= 0 || (code = aphi_open_model(words[0], &spec)))
        return code;
    if ((code = aphi_open_network(s.environment, &network))) {
        aph_model_unload(&spec);
        return code;
    }
    code = serve_model(&s, &spec, &network);
    aph_network_unload(&network);
    aph_model_unload(&spec);
    return code;
}

const aphi_command aphi_command_serve = {
    .name = "serve",
    .summary = "run a model as a server",
    .operands = "SPEC",
    .description = "Run the model SPEC as a server until SIGINT or SIGTERM. Choices that the model leaves open are "
                   "random, and messages are delayed randomly, so that the server shows the behaviours that the model "
                   "allows. SPEC is a built-in model (see antiphon models), ./mine.c, ./mine.so or ./mine.prog.\n"
                   "The first line of output is \"listening on HOST:PORT\".",
    .exit_codes = "0 stopped by a signal, 2 usage, 53 cannot listen; 30 to 44 an error in the model.",
    .options = options, .operands_min = 1, .operands_max = 1, .run = serve_command};
