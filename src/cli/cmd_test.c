/* SPDX-License-Identifier: Apache-2.0
 *
 * cmd_test.c - antiphon test SPEC: does this running server behave as the model allows? And antiphon replay FILE: does this
 *          script still fail? */
#include "cli/commands.h"
#include "cli/exit_codes.h"

#include "base/clock.h"
#include "report/test_report.h"
#include "subject/presets.h"
#include "fault/upstream_fault.h"
#include <antiphon/check.h>
#include "check/waivers.h"
#include "cli/waive_option.h"
#include "env/env.h"
#include "fault/fault_kinds.h"
#include "tester/campaign.h"
#include "script/expression.h"
#include "subject/ports.h"
#include "tester/net.h"
#include "tree/guard.h"

#include <antiphon/oracle.h>

#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

typedef struct tester {
    bool replaying;
    aphi_subject_options subject;
    aphi_campaign_options campaign;
    aphi_test_report_options told;
    aph_loaded_model spec;
    aphi_script script;
    bool shrinking, listens;
    aph_model model;         /* the spec's, with what is waived */
    aphi_waived waived;
    const char *break_calls; /* --fault-upstream, or NULL */
    const char *breaks;      /* --break, or NULL */
    char *before;            /* the command that breaks it */
    const char *preset;      /* the name of a subject that we know, or NULL */
    aphi_preset_made server; /* what it is made of */
} tester;

enum {
    BREAK_CALLS = 512,
    TARGET = 256, RUN, SUBJECT, LISTEN, OUTPUT, ENV, TIME, MESSAGES, CONNECTIONS, PIPELINE, SEED, PATIENCE, MEMORY,
    FOLDER, NO_SHRINK, SHRINK_TIME, JSON, JUNIT, REPORT, COLOR, QUIET, BLIND, WAIVE, BREAK, HELP,
};

static const struct option known[] = {
    {"fault-upstream", required_argument, NULL, BREAK_CALLS},
    {"target", required_argument, NULL, TARGET},       {"run", required_argument, NULL, RUN},
    {"subject", required_argument, NULL, SUBJECT},     {"listen", required_argument, NULL, LISTEN},
    {"output", required_argument, NULL, OUTPUT},       {"env", required_argument, NULL, ENV},
    {"time", required_argument, NULL, TIME},           {"messages", required_argument, NULL, MESSAGES},
    {"connections", required_argument, NULL, CONNECTIONS}, {"pipeline", required_argument, NULL, PIPELINE},
    {"seed", required_argument, NULL, SEED},           {"patience", required_argument, NULL, PATIENCE},
    {"memory", required_argument, NULL, MEMORY},       {"folder", required_argument, NULL, FOLDER},
    {"no-shrink", no_argument, NULL, NO_SHRINK},       {"shrink-time", required_argument, NULL, SHRINK_TIME},
    {"json", no_argument, NULL, JSON},                 {"junit", required_argument, NULL, JUNIT},
    {"report", required_argument, NULL, REPORT},       {"color", required_argument, NULL, COLOR},
    {"quiet", no_argument, NULL, QUIET},               {"no-check", no_argument, NULL, BLIND},
    {"waive", required_argument, NULL, WAIVE},         {"break", required_argument, NULL, BREAK},
    {"help", no_argument, NULL, HELP},                 {NULL, 0, NULL, 0}};

static const char common_help[] =
    "  --target HOST:PORT  a subject that runs already\n"
    "  --run COMMAND       start the subject with sh; {port} is a free port on 127.0.0.1, {dir} an empty folder. "
    "It is\n"
    "                      started anew for each run, and stopped with all that it started\n"
    "  --subject NAME      start a server that Antiphon knows, in the same way: apache, nginx, ...; antiphon subject "
    "lists\n"
    "                      them\n"
    "  --listen PORT       accept connections that the subject opens to us, on 127.0.0.1; 0: any port that is free.\n"
    "                      {listen} in the command stands for it\n"
    "  --fault-upstream KIND  break one thing in what passes where the subject calls us; antiphon fault --list names "
    "the\n"
    "                      kinds. Implies --waive known\n"
    "  --output FILE       keep what the subject prints\n"
    "  --env ENV           what lies between: tcp (default), tcp:N, sync or udp\n"
    "  --waive NAME        allow a known violation, one of those that antiphon models SPEC lists; known: all that the\n"
    "                      server of --subject is known for\n"
    "  --break KIND[:ARG]  break one thing in what passes between us and the subject; antiphon fault --list names the\n"
    "                      kinds. Implies --waive known\n"
    "  --patience SECONDS  how long it may owe an answer and be silent (default: 0.4)\n"
    "  --memory MB         for the oracle (default: 1024; 0: any)\n"
    "  --folder DIR        for the trace and for scripts that failed (default: .antiphon)\n"
    "  --json              print one JSON object\n"
    "  --junit FILE        also write the result as JUnit XML\n"
    "  --report FILE       also write it as a page with a space-time diagram\n"
    "  --color WHEN        auto (default), always or never\n"
    "  --quiet             print nothing if it passes\n"
    "  --help              this\n\n"
    "exit codes: 0 pass, 1 fail, 3 unknown, 7 vacuous, 8 starved, 9 dead, 50 malformed, 51 no subject; antiphon help\n"
    "lists all.\n";

static void help(const tester *t)
{
    if (t->replaying)
        fputs("usage: antiphon replay [OPTION]... FILE [SPEC]\n\n"
              "Run a script again, such as one that antiphon test kept, and judge what comes of it. SPEC is the "
              "model if "
              "it is\n"
              "not built in.\n\n", stdout);
    else
        fputs("usage: antiphon test [OPTION]... SPEC\n\n"
              "Does a running server behave as the model SPEC allows? SPEC is a built-in model (see antiphon models), "
              "./mine.c or\n"
              "./mine.so. A run that nothing explains is shrunk to a small script that still fails.\n\n"
              "  --time SECONDS      test for so long (default: 10; 0: any)\n"
              "  --messages N        stop after so many messages, both ways (default: any)\n"
              "  --connections N     at most so many at once, 1 to 1000 (default: 10)\n"
              "  --pipeline N        at most so many requests in flight on one (default: 3)\n"
              "  --seed N            what chance decides (default: by the clock; it is told)\n"
              "  --no-shrink         leave a failing run as it is\n"
              "  --shrink-time S     shrink for at most so long (default: 30)\n"
              "  --no-check             judge nothing: to measure what judging costs\n", stdout);
    fputs(common_help, stdout);
}

/* ---- the command line -------------------------------------------------------------------------------------------- */

static bool number(const char *text, double least, double most, double *value)
{
    char *end;
    errno = 0;
    *value = strtod(text, &end);
    return end != text && !*end && !errno && *value >= least && *value <= most;
}

static int apply_number(tester *t, int option)
{
    static const struct range {
        int option;
        const char *name;
        double least, most;
    } ranges[] = {{LISTEN, "listen", 0, 65535},
                  {TIME, "time", 0, 1e7},
                  {MESSAGES, "messages", 0, 1e15},
                  {CONNECTIONS, "connections", 1, 1000},
                  {PIPELINE, "pipeline", 1, 1000}, {PATIENCE, "patience", 0.001, 3600}, {MEMORY, "memory", 0, 1e7},
                  {SHRINK_TIME, "shrink-time", 0.001, 1e6}};
    aphi_campaign_options *c = &t->campaign;
    double value = 0;
    for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++)
        if (ranges[i].option == option && !number(optarg, ranges[i].least, ranges[i].most, &value))
            return aphi_usage("--%s %s: a number from %g to %g is wanted", ranges[i].name, optarg, ranges[i].least,
                              ranges[i].most);
    switch (option) {
    case LISTEN:
        t->subject.listen = (unsigned)value;
        t->listens = true;
        break;
    case TIME: c->time_ns = (int64_t)(value * 1e9); break;
    case MESSAGES: c->messages = (uint64_t)value; break;
    case CONNECTIONS: c->connections = (size_t)value; break;
    case PIPELINE: c->depth = (size_t)value; break;
    case PATIENCE: c->patience_ns = (int64_t)(value * 1e9); break;
    case MEMORY: c->memory = (size_t)(value * 1048576); break;
    case SHRINK_TIME: c->shrink_ns = (int64_t)(value * 1e9); break;
    }
    return 0;
}

/* 0 if the option is fine, else an exit code. */
static int apply(tester *t, int option)
{
    aphi_colour colour;
    char error[256];
    switch (option) {
    case TARGET: t->subject.target = optarg; return 0;
    case RUN: t->subject.run = optarg; return 0;
    case SUBJECT: t->preset = optarg; return 0;
    case OUTPUT: t->subject.output = optarg; return 0;
    case ENV:
        t->campaign.environment = optarg;
        return aphi_env_named(optarg, &(aphi_env){0}) ? 0 : aphi_usage("--env %s: there are " APHI_ENV_NAMES, optarg);
    case SEED: return aphi_take_number("seed", 0, UINT64_MAX, &t->campaign.seed);
    case FOLDER: t->campaign.folder = optarg; return 0;
    case NO_SHRINK: t->campaign.shrink = false; return 0;
    case BLIND: t->campaign.blind = true; return 0;
    case JSON: t->told.json = true; return 0;
    case JUNIT: t->told.junit = optarg; return 0;
    case REPORT: t->told.report = optarg; return 0;
    case WAIVE: return aphi_waive_add(&t->waived, optarg);
    case BREAK_CALLS:
        t->break_calls = optarg;
        return aphi_fault_parse(&(aphi_fault){0}, optarg, error, sizeof error) ? 0 : aphi_usage("%s", error);
    case BREAK:
        t->breaks = optarg;
        return aphi_fault_parse(&(aphi_fault){0}, optarg, error, sizeof error) ? 0 : aphi_usage("%s", error);
    case QUIET: t->told.quiet = true; return 0;
    case COLOR:
        if (!aphi_colour_named(optarg, &colour))
            return aphi_usage("--color %s: there are auto, always and never", optarg);
        t->told.terminal = aphi_terminal_of(stdout, colour);
        return 0;
    default: return apply_number(t, option);
    }
}

static bool takes(const tester *t, int option)
{
    return !t->replaying || (option != TIME && option != MESSAGES && option != CONNECTIONS && option != PIPELINE &&
                             option != SEED && option != NO_SHRINK && option != SHRINK_TIME && option != BLIND);
}

/* The same for --break with the other options. */
static int check_break(const tester *t)
{
    if (t->subject.target)
        return aphi_usage("--break is for --run and --subject; for a target that runs already, there is antiphon "
                          "fault");
    if (t->campaign.environment && !strcmp(t->campaign.environment, "udp"))
        return aphi_usage("--break is for connections, not for datagrams");
    return -1;
}

/* Negative: go on; else the exit code. */
static int read_options(tester *t, int count, char **words)
{
    int option, code = 0;
    optind = 1;
    opterr = 0;
    while ((option = getopt_long(count, words, "h", known, NULL)) != -1) {
        if (option == HELP || option == 'h') {
            help(t);
            return APHI_EXIT_PASS;
        }
        if (option == '?' || !takes(t, option))
            return aphi_usage("%s: not understood; see antiphon %s --help", words[optind - 1], words[0]);
        if ((code = apply(t, option)))
            return code;
    }
    int rest = count - optind;
    if (rest < 1 || rest > (t->replaying ? 2 : 1))
        return aphi_usage(t->replaying ? "replay takes a script, and perhaps a model; see antiphon replay --help"
                                       : "test takes one model; see antiphon test --help");
    return -1;
}

/* Is it said who is tested, and once? Negative: yes; else the exit code. */
static int check_subject(const tester *t)
{
    if (t->subject.run && strstr(t->subject.run, "{listen}") && !t->listens)
        return aphi_usage("{listen} in the command stands for the port of --listen, which is not given");
    int ways = (t->subject.target != NULL) + (t->subject.run != NULL) + (t->preset != NULL);
    if (ways > 1)
        return aphi_usage("--target is a subject that runs already, --run and --subject are to be started: only one of "
                          "them");
    if (ways == 0)
        return aphi_usage("where is the subject? one of --target HOST:PORT, --run COMMAND and --subject NAME is "
                          "wanted");
    if (t->waived.known && !t->preset)
        return aphi_usage("--waive known is what the server of --subject is known for; of others name it: antiphon "
                          "models lists the waivers");
    return t->breaks ? check_break(t) : -1;
}

/* ---- signals ----------------------------------------------------------------------------------------------------- */

static volatile sig_atomic_t stopped;

/* The first asks to end in order; with the second the subject is killed and so are we. */
static void on_signal(int signal_number)
{
    if (stopped) {
        aphi_subject_kill_all();
        signal(signal_number, SIG_DFL);
        raise(signal_number);
    }
    stopped = 1;
    aphi_guard_call_off(); /* an oracle that thinks must not hold us up */
}

static void watch_signals(void)
{
    struct sigaction action = {.sa_handler = on_signal};
    stopped = 0;
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGHUP, &action, NULL);
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN); /* a file that grew beyond its limit is an error that write tells */
}

/* A descriptor for each connection, and some to spare. */
static void make_room_for(size_t connections)
{
    struct rlimit files;
    rlim_t need = connections + 64;
    if (getrlimit(RLIMIT_NOFILE, &files) != 0 || files.rlim_cur >= need)
        return;
    files.rlim_cur = need < files.rlim_max ? need : files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
}

/* ---- how it goes ------------------------------------------------------------------------------------------------- */

static void show_progress(void *context, uint64_t runs, const aphi_run_facts *facts)
{
    (void)runs;
    tester *t = context;
    aphi_progress_live(&(aphi_live){.messages = facts->requests + facts->answers,
                                    .explanations = facts->explanations,
                                    .reached = facts->branches_reached, .branches = facts->branches,
                                    .left_ns = t->campaign.time_ns ? t->campaign.time_ns - facts->ns : -1});
}

static void show_shrinking(void *context, const char *step, const aphi_script *best)
{
    (void)step;
    tester *t = context;
    if (!t->shrinking) {
        aphi_progress_end();
        aphi_progress_begin("shrinking: actions left:", 0);
        t->shrinking = true;
    }
    aphi_progress_at(best->count);
}

static void show_note(void *context, const char *text)
{
    (void)context;
    aphi_progress_hide();
    fprintf(stderr, "antiphon: %s\n", text);
}

/* ---- all of it --------------------------------------------------------------------------------------------------- */

static aphi_exit open_model(tester *t, const char *text)
{
    aph_load_error error;
    if (aph_model_load(text, &t->spec, &error)) {
        t->model = *t->spec.model;
        t->campaign.model = t->told.model = &t->model;
        t->told.spec = text;
        return aphi_waive_in(&t->waived, &t->model) ? APHI_EXIT_PASS : APHI_EXIT_USAGE;
    }
    fprintf(stderr, "antiphon: %s\n", error.message);
    return (int)aphi_exit_of_load_error(&error);
}

/* Better now than after a long campaign. */
static bool can_write(const char *path)
{
    FILE *file = path ? fopen(path, "a") : NULL;
    if (path && !file)
        fprintf(stderr, "antiphon: %s cannot be written: %s\n", path, strerror(errno));
    if (file)
        fclose(file);
    return !path || file;
}

/* A subject that we know becomes a command. One that calls needs somebody who listens. */
static aphi_exit make_preset(tester *t)
{
    char error[512];
    size_t connections = t->replaying ? APHI_PRESET_CONNECTIONS : t->campaign.connections;
    aphi_exit code = aphi_exit_of_preset(
        aphi_preset_make(t->preset, connections, &t->server, &t->subject, error, sizeof error));
    if (code)
        fprintf(stderr, "antiphon: %s\n", error);
    else if (t->server.calls && !t->model.respond)
        code = aphi_usage("%s asks other servers, and %s is no model of that; http-proxy is", t->preset, t->model.name);
    else if (!t->server.calls && t->model.respond)
        code = aphi_usage("%s asks no other servers, and %s is a model of that; apache-proxy does", t->preset,
                          t->model.name);
    t->listens = t->listens || t->server.calls;
    if (t->waived.known || t->breaks || t->break_calls)
        t->told.known = aphi_waive_known(t->server.known, &t->model);
    return code;
}

/* An injector stands before the subject. */
static void make_break(tester *t)
{
    aphi_buffer command = {0};
    char self[4096];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    self[n > 0 ? n : 0] = 0;
    aphi_quote(&command, self);
    aphi_buffer_str(&command, " fault --listen {port} --target 127.0.0.1:{target} --break ");
    aphi_quote(&command, t->breaks);
    aphi_buffer_format(&command, " --seed %llu >/dev/null", (unsigned long long)t->campaign.seed);
    t->subject.before = t->before = aphi_buffer_text(&command);
    t->told.breaks = t->breaks;
}

static void free_tester(tester *t)
{
    if (t->spec.model)
        aph_model_unload(&t->spec);
    aphi_script_free(&t->script);
    aphi_preset_free(&t->server);
    free(t->before);
}

static void say_where(tester *t)
{
    const aphi_subject_options *s = &t->subject;
    t->told.subject = t->preset ? t->preset : s->run ? s->run : s->target;
    t->told.command = t->preset ? "--subject" : s->run ? "--run" : "--target";
}

/* An injector stands where the subject calls us. */
static aphi_exit make_interceptor(tester *t, aphi_subject **between)
{
    char error[512];
    if (!t->listens)
        return aphi_usage("--fault-upstream is for subjects that call us; --listen says where");
    *between = aphi_upstream_fault_open(t->break_calls, t->subject.listen, t->campaign.seed, &t->campaign.called, error,
                                   sizeof error);
    if (*between)
        return APHI_EXIT_PASS;
    fprintf(stderr, "antiphon: %s\n", error);
    return APHI_EXIT_LISTEN;
}

static aphi_exit go(tester *t)
{
    char error[512];
    aphi_subject *between = NULL;
    if (t->model.respond && !t->listens)
        return aphi_usage("%s asks other servers, whom the tester plays: --listen PORT says where (0: any; {listen} in "
                          "the command stands for it)", t->model.name);
    if (!can_write(t->told.report) || !can_write(t->told.junit))
        return APHI_EXIT_WRITE;
    t->subject.datagrams = t->campaign.environment && !strcmp(t->campaign.environment, "udp");
    t->subject.stop = &stopped;
    t->campaign.caller = t->listens ? aphi_port_listen(&t->subject.listen, error, sizeof error) : 0;
    if (t->campaign.caller < 0) {
        fprintf(stderr, "antiphon: %s\n", error);
        return APHI_EXIT_LISTEN;
    }
    if (t->break_calls) {
        aphi_exit code = make_interceptor(t, &between);
        if (code)
            return code;
    }
    aphi_subject *subject = aphi_subject_open(&t->subject, error, sizeof error);
    if (!subject) {
        aphi_subject_close(between);
        fprintf(stderr, "antiphon: %s\n", error);
        return APHI_EXIT_SUBJECT;
    }
    watch_signals();
    make_room_for(t->campaign.connections + (t->listens ? APHI_NET_CALLS_MAX : 0));
    t->campaign.subject = subject;
    t->campaign.stop = &stopped;
    t->campaign.audience = (aphi_campaign_audience){t, show_progress, show_shrinking, show_note};
    say_where(t);
    t->told.environment = t->campaign.environment ? t->campaign.environment : "tcp";
    t->told.seed = t->campaign.seed;
    t->told.listens = t->listens;
    t->told.break_calls = t->break_calls;
    aphi_progress_begin(t->told.spec, 0);
    aphi_campaign *campaign = aphi_campaign_go(&t->campaign);
    aphi_progress_end();
    if (campaign->outcome == APHI_RUN_DEAD || campaign->outcome == APHI_RUN_STARVED) {
        char tail[600];
        aphi_subject_tail(subject, tail, sizeof tail);
        if (*tail && !t->told.json)
            fprintf(stderr, "the last that the subject printed:\n%s\n", tail);
    }
    aphi_subject_close(subject);
    aphi_subject_close(between);
    if (t->campaign.caller)
        close(t->campaign.caller);
    aphi_exit code = aphi_test_report_write(campaign, &t->told) ? aphi_exit_of_campaign(campaign) : APHI_EXIT_WRITE;
    aphi_campaign_free(campaign);
    return code;
}

static tester fresh_tester(bool replaying)
{
    return (tester){.replaying = replaying,
                    .campaign = {.connections = 10, .depth = 3, .folder = ".antiphon", .shrink = !replaying,
                                 .memory = (size_t)1024 << 20, .seed = (uint64_t)aphi_clock_ns() % 1000000000,
                                 .time_ns = -1},
                    .told = {.terminal = aphi_terminal_of(stdout, APHI_COLOUR_AUTO)}};
}

static int test(int count, char **words, aph_value *found)
{
    tester t = fresh_tester(false);
    t.told.found = found;
    int code = read_options(&t, count, words);
    if (code < 0)
        code = check_subject(&t);
    if (code >= 0)
        return code;
    if (t.campaign.time_ns < 0)
        t.campaign.time_ns = t.campaign.messages ? 0 : 10000000000;
    code = (int)open_model(&t, words[optind]);
    if (!code && t.preset)
        code = (int)make_preset(&t);
    if (t.breaks)
        make_break(&t);
    if (!code)
        code = (int)go(&t);
    free_tester(&t);
    return code;
}

int aphi_command_test(int count, char **words)
{
    return test(count, words, NULL);
}

int aphi_test_quietly(int count, char **words, aph_value *found)
{
    *found = APH_NIL;
    return test(count, words, found);
}

/* The reader does not know which functions the model has for holes. */
static aphi_exit check_script(const tester *t, const char *file)
{
    char error[300];
    for (size_t i = 0; i < t->script.count; i++) {
        const aphi_action *a = &t->script.actions[i];
        if (a->send && !aphi_expression_check(a->send, t->spec.model->functions, error, sizeof error)) {
            fprintf(stderr, "antiphon: %s: request %lld: %s\n", file, (long long)a->label, error);
            return APHI_EXIT_SCRIPT;
        }
    }
    return APHI_EXIT_PASS;
}

int aphi_command_replay(int count, char **words)
{
    char error[512];
    tester t = fresh_tester(true);
    int code = read_options(&t, count, words);
    if (code >= 0)
        return code;
    const char *file = words[optind], *spec = optind + 1 < count ? words[optind + 1] : t.script.model;
    if (!aphi_script_read(file, &t.script, error, sizeof error)) {
        fprintf(stderr, "antiphon: %s\n", error);
        return APHI_EXIT_SCRIPT;
    }
    code = check_subject(&t);
    if (code >= 0) {
        free_tester(&t);
        return code;
    }
    char recorded[4096];
    snprintf(recorded, sizeof recorded, "%s.trace", file);
    t.told.recorded = recorded;
    t.campaign.time_ns = 0;
    t.campaign.script = &t.script;
    t.campaign.seed = t.script.seed;
    if (!t.campaign.environment)
        t.campaign.environment = t.script.environment;
    code = (int)open_model(&t, spec);
    if (!code)
        code = (int)check_script(&t, file);
    if (!code && t.preset)
        code = (int)make_preset(&t);
    if (t.breaks)
        make_break(&t);
    if (!code)
        code = (int)go(&t);
    free_tester(&t);
    return code;
}
