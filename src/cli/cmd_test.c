/* SPDX-License-Identifier: Apache-2.0
 *
 * cmd_test.c - antiphon test SPEC: test a live server against a model; antiphon replay FILE: run a script again. */
#include "cli/commands.h"

#include "check/promises.h"
#include "cli/interrupt.h"
#include "cli/shared_options.h"
#include "cli/test_session.h"
#include "subject/ports.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

typedef struct test {
    aphi_test_session_options session;
    aphi_waived waived;
    aphi_colour colour;
    bool no_shrink, ignore_promises;
} test;

#define S APHI_SECOND_NS
enum { TEST_ONLY = 9, CONNECTIONS = 10, CONNECTIONS_BEHIND_NETWORK = 2 };

/* Reads a limit of the losses: N or N%. */
static int take_max_losses(void *field, const char *name, const char *value)
{
    aphi_max_losses *limit = field;
    char *end;
    errno = 0;
    unsigned long long number = strtoull(value, &end, 10);
    bool percent = !strcmp(end, "%");
    if (errno || !isdigit((unsigned char)*value) || (*end && !percent) || (percent && number > 100))
        return aphi_usage("--%s: %s is neither a number nor a percentage; give, for instance, 50 or 5%%", name, value);
    *limit = (aphi_max_losses){percent ? APHI_LOSSES_PERCENT : APHI_LOSSES_COUNT, number};
    return 0;
}

static int take_listen(void *field, const char *name, const char *value)
{
    aphi_listen_ports *l = field;
    uint64_t port;
    if (!aphi_parse_number(value, 0, 65535, &port))
        return aphi_usage("--%s %s: not a port, 0 to 65535", name, value);
    if (l->count == APH_ORIGINS_MAX)
        return aphi_usage("--%s: given more than %d times", name, APH_ORIGINS_MAX);
    l->ports[l->count++] = (unsigned)port;
    return 0;
}

static const aphi_option options[] = {
    /* The first TEST_ONLY are not options of replay. */
    APHI_SECONDS(test, session.campaign.time_ns, "time", "stop after DURATION (default: 10s; 0: no limit)"),
    APHI_NUMBER(test, session.campaign.messages, "messages", "N", 0, 1000000000000000,
                "stop after N messages, sent and received (default: no limit)"),
    APHI_NUMBER(test, session.campaign.connections, "connections", "N", 1, 1000,
                "open up to N connections at once (default: 10; with --env ./mine.c: 2)"),
    APHI_NUMBER(test, session.campaign.depth, "pipeline", "N", 1, 1000,
                "keep up to N requests pending on a connection (default: 3)"),
    APHI_NUMBER(test, session.campaign.seed, "seed", "N", 0, UINT64_MAX,
                "seed for the random choices (default: from the clock; it is printed)"),
    APHI_FLAG(test, no_shrink, "no-shrink", "do not shrink a failing run"),
    APHI_DURATION(test, session.campaign.shrink_ns, "shrink-time", "DURATION", S, APHI_MS_NS, 1000000 * S,
                  "shrink for at most DURATION (default: 30s)"),
    APHI_FLAG(test, session.campaign.no_check, "no-check", "do not check responses (to measure the cost of checking)"),
    APHI_NUMBER(test, session.campaign.min_answers, "min-responses", "N", 0, 1000000000000000,
                "fewer responses make a pass vacuous (default: 1)"),
    APHI_TEXT(test, session.subject.target, "target", "ADDRESS",
              "test a server that is already running; ADDRESS is HOST:PORT, [V6]:PORT or unix:PATH"),
    APHI_TEXT(test, session.subject.run, "run", "COMMAND",
              "start the subject with sh for each run, and stop it with all its processes; {port} is a free port on "
              "127.0.0.1, {dir} an empty folder"),
    APHI_TEXT(test, session.preset, "subject", "NAME",
              "start a known server for each run: apache, nginx, ...; antiphon subject lists them"),
    {.name = "listen", .kind = APHI_OPTION_CALL, .argument = "PORT", APHI_FIELD(test, session.listen),
     .take = take_listen, .given = 1 + offsetof(test, session.listens),
     .help = "accept connections that the subject opens to the tester on 127.0.0.1 (0: any free port); {listen} in the "
             "command is replaced by the port. A model with several origins uses a port for each: repeat --listen to "
             "choose them, and use {listen:0}, {listen:1} and so on"},
    {.name = "break", .kind = APHI_OPTION_CALL, .argument = "KIND[:ARG]", APHI_FIELD(test, session.fault),
     .take = aphi_take_fault,
     .help = "inject a fault between tester and subject; antiphon fault --list lists the kinds; implies --waive known"},
    {.name = "fault-upstream", .kind = APHI_OPTION_CALL, .argument = "KIND[:ARG]",
     APHI_FIELD(test, session.fault_upstream), .take = aphi_take_fault,
     .help = "inject a fault into the connections that the subject opens to the tester; implies --waive known"},
    APHI_TEXT(test, session.subject.output, "output", "FILE", "write the output of the subject to FILE"),
    APHI_NETWORK_OPTION(test, session.campaign.environment,
                        "network between tester and subject: tcp (default), tcp:N, sync, udp, or ./mine.c"),
    APHI_CALL(test, waived, "waive", "NAME", aphi_take_waiver,
              "allow a known violation that antiphon models SPEC lists; known: all known violations of --subject; "
              "may be repeated"),
    APHI_DURATION(test, session.campaign.patience_ns, "patience", "DURATION", S, APHI_MS_NS, 3600 * S,
                  "silence after which a pending request counts as starved (default: 5s or more, following the "
                  "response times; 0.4s with udp)"),
    {.name = "max-losses", .kind = APHI_OPTION_CALL, .argument = "N|N%", APHI_FIELD(test, session.campaign.max_losses),
     .take = take_max_losses,
     .help = "more requests that are lost because the subject closes their connections make the verdict dead (default: "
             "5%; a percentage of the requests allows at least 20)"},
    APHI_SIZE(test, session.campaign.memory, "memory", 0, "memory limit for the oracle (default: 1024; 0: no limit)"),
    APHI_TEXT(test, session.campaign.folder, "folder", "DIR",
              "folder for the trace and failing scripts (default: .antiphon)"),
    APHI_JSON_OPTION(test, session.report.json),
    APHI_TEXT(test, session.report.junit, "junit", "FILE", "also write the result as JUnit XML"),
    APHI_TEXT(test, session.report.report, "report", "FILE", "also write a page with a space-time diagram"),
    APHI_COLOUR_OPTION(test, colour),
    APHI_FLAG(test, ignore_promises, "ignore-promises",
              "do not rely on the model's promises (rpc, part, reads, commute, eager); slower"),
    APHI_FLAG(test, session.report.quiet, "quiet", "print nothing if the test passes"),
    {0}};

/* ---- combinations of options ------------------------------------------------------------------------------------- */

/* Returns an exit code, or a negative number to continue. */
static int check_options(const test *t)
{
    const aphi_test_session_options *s = &t->session;
    char error[300];
    int subjects = (s->subject.target != NULL) + (s->subject.run != NULL) + (s->preset != NULL);
    if (s->subject.run && (strstr(s->subject.run, "{listen}") || strstr(s->subject.run, "{listen:")) &&
        !s->listens)
        return aphi_usage("--run: {listen} in the command needs --listen PORT");
    bool datagrams = s->campaign.environment && !strcmp(s->campaign.environment, "udp");
    if (s->subject.target && !aphi_port_is_address(s->subject.target, datagrams, error, sizeof error))
        return aphi_usage("--target %s", error);
    if (subjects > 1)
        return aphi_usage("--target, --run, --subject: give only one of them");
    if (subjects == 0)
        return aphi_usage("no subject; give --target ADDRESS, --run COMMAND or --subject NAME");
    if (t->waived.known && !s->preset)
        return aphi_usage("--waive known: only with --subject; name the waivers, which antiphon models lists");
    if (s->fault && s->subject.target)
        return aphi_usage("--break: only with --run or --subject; for a running server use antiphon fault");
    if (s->fault && s->campaign.environment && !strcmp(s->campaign.environment, "udp"))
        return aphi_usage("--break: not with --env udp; only connections can be broken");
    return -1;
}

static aph_model without_promises(const aph_model *model)
{
    aph_model copy = aphi_promises_drop(model, APHI_PROMISE_RPC | APHI_PROMISE_EAGER);
    copy.answers = false;
    return copy;
}

static int run_session(test *t, const aph_loaded_model *spec)
{
    t->session.model = t->ignore_promises ? aphi_promises_drop(spec->model, APHI_PROMISE_RPC | APHI_PROMISE_EAGER)
                                          : *spec->model; /* without rpc, the other promises are not used */
    t->session.report.ignore_promises = t->ignore_promises;
    t->session.waive_known = t->waived.known;
    if (!aphi_waive_in(&t->waived, &t->session.model))
        return APHI_EXIT_USAGE;
    if (t->colour)
        t->session.report.terminal = aphi_terminal_of(stdout, t->colour);
    aph_loaded_network network;
    int code = aphi_open_network(t->session.campaign.environment, &network);
    if (code)
        return code;
    t->session.campaign.network = t->session.report.network = network.network;
    if (network.network) /* it need not keep the order of responses, so they cannot be assigned to requests */
        t->session.model = without_promises(&t->session.model);
    if (!t->session.campaign.connections)
        t->session.campaign.connections = network.network ? CONNECTIONS_BEHIND_NETWORK : CONNECTIONS;
    aphi_interrupt_watch(NULL);
    code = (int)aphi_test_session_run(&t->session);
    aph_network_unload(&network);
    return code;
}

static int test_command(int count, char **words)
{
    test t = {.session = aphi_test_session_defaults(NULL)};
    aphi_campaign_options *campaign = &t.session.campaign;
    aph_loaded_model spec;
    campaign->time_ns = -1;
    campaign->connections = 0; /* unknown until the network is */
    int code = aphi_options_read(&aphi_command_test, &t, &count, words);
    if (code < 0)
        code = check_options(&t);
    if (code >= 0 || (code = aphi_open_model(words[0], &spec)))
        return code;
    if (campaign->time_ns < 0)
        campaign->time_ns = campaign->messages ? 0 : 10 * S;
    campaign->shrink = !t.no_shrink;
    t.session.spec = words[0];
    code = run_session(&t, &spec);
    aph_model_unload(&spec);
    return code;
}

/* ---- replay ------------------------------------------------------------------------------------------------------ */

static int replay_script(test *t, const aphi_script *script, const char *file)
{
    aph_loaded_model spec;
    char recorded[4096], error[600];
    snprintf(recorded, sizeof recorded, "%s.trace", file);
    t->session.report.recorded = recorded;
    t->session.campaign.seed = script->seed;
    if (!t->session.campaign.environment)
        t->session.campaign.environment = script->environment;
    int code = check_options(t);
    if (code >= 0)
        return code;
    if ((code = aphi_open_model(t->session.spec, &spec))) {
        if (t->session.spec == script->model)
            aphi_complain("%s: the model of this script is not built in; give its file after the script", file);
        return code;
    }
    if (aphi_script_check(file, script, spec.model->functions, error, sizeof error)) {
        code = run_session(t, &spec);
    } else {
        aphi_complain("%s", error);
        code = APHI_EXIT_SCRIPT;
    }
    aph_model_unload(&spec);
    return code;
}

/* Returns true for a script, by its name or its first byte: the operands of replay may come in either order. */
static bool is_script(const char *path)
{
    size_t n = strlen(path), end = sizeof ".script" - 1;
    if (n > end && !strcmp(path + n - end, ".script"))
        return true;
    FILE *file = fopen(path, "r");
    bool starts = file && fgetc(file) == '{';
    if (file)
        fclose(file);
    return starts;
}

static int replay_command(int count, char **words)
{
    char error[512];
    aphi_script script = {0};
    test t = {.session = aphi_test_session_defaults(&script)};
    int code = aphi_options_read(&aphi_command_replay, &t, &count, words);
    if (code >= 0)
        return code;
    if (count > 1 && !is_script(words[0]) && is_script(words[1])) {
        char *spec = words[0];
        words[0] = words[1];
        words[1] = spec;
    }
    if (!aphi_script_read(words[0], &script, error, sizeof error)) {
        aphi_complain("%s", error);
        return APHI_EXIT_SCRIPT;
    }
    t.session.spec = count > 1 ? words[1] : script.model;
    code = replay_script(&t, &script, words[0]);
    aphi_script_free(&script);
    return code;
}

#define EXIT_CODES \
    "0 pass, 1 fail, 2 usage, 3 unknown, 4 not written, 5 stopped, 7 vacuous, 8 starved, 9 dead, " \
    "50 malformed, 51 no subject, 52 malformed script, 54 the folder is in use, 55 no network."

const aphi_command aphi_command_test = {
    .name = "test",
    .summary = "test a live server against a model",
    .operands = "SPEC --run COMMAND | --subject NAME | --target ADDRESS",
    .description = "Test the subject, a live server, against the model SPEC: run after run, until one fails or the "
                   "time is up. SPEC is a built-in model (see antiphon models), ./mine.c or ./mine.so.\n"
                   "A failing run is shrunk to a small script that still fails, shown as a diagram, and kept in "
                   ".antiphon; the next test runs it first.",
    .exit_codes = EXIT_CODES, .options = options, .operands_min = 1, .operands_max = 1, .run = test_command};

const aphi_command aphi_command_replay = {
    .name = "replay",
    .summary = "run a script from antiphon test again",
    .operands = "FILE [SPEC]",
    .description = "Run the script FILE, such as one that antiphon test kept, and check the result. Reports the first "
                   "difference from the recorded run. SPEC is needed if the model is not built in; it may also come "
                   "first.",
    .exit_codes = EXIT_CODES, .options = options + TEST_ONLY, .operands_min = 1, .operands_max = 2,
    .run = replay_command};
