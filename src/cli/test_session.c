/* SPDX-License-Identifier: Apache-2.0
 *
 * test_session.c - one test of a subject: start it, run a campaign, report. */
#include "cli/test_session.h"

#include "base/clock.h"
#include "base/file.h"
#include "check/waivers.h"
#include "cli/interrupt.h"
#include "base/options.h"
#include "base/plain_text.h"
#include "fault/upstream_fault.h"
#include "subject/ports.h"
#include "subject/presets.h"
#include "tester/net.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct session {
    aphi_test_session_options options;
    aphi_preset_made preset;
    aphi_buffer fault_command; /* starts the fault proxy of --break */
    aphi_origin origins[APH_ORIGINS_MAX];
    size_t origin_count;
    aphi_subject *upstream[APH_ORIGINS_MAX]; /* the fault proxies of --fault-upstream, by origin */
    aphi_subject *subject;
    bool shrinking;
} session;

aphi_test_session_options aphi_test_session_defaults(const aphi_script *script)
{
    return (aphi_test_session_options){
        .campaign = {.connections = 10, .depth = 3, .folder = ".antiphon", .shrink = !script, .script = script,
                     .memory = (size_t)1024 << 20, .seed = (uint64_t)aphi_clock_ns() % 1000000000},
        .report = {.terminal = aphi_terminal_of(stdout, APHI_COLOUR_AUTO)}};
}

/* ---- progress ---------------------------------------------------------------------------------------------------- */

static void show_progress(void *context, uint64_t runs, const aphi_run_facts *facts)
{
    const session *s = context;
    int64_t limit_ns = s->options.campaign.time_ns;
    (void)runs;
    aphi_progress_live(&(aphi_live){.messages = facts->requests + facts->answers,
                                    .explanations = facts->explanations,
                                    .reached = facts->branches_reached, .branches = facts->branches,
                                    .left_ns = limit_ns ? limit_ns - facts->ns : -1});
}

static void show_shrinking(void *context, const char *step, const aphi_script *best)
{
    session *s = context;
    (void)step;
    if (!s->shrinking) {
        aphi_progress_end();
        aphi_progress_begin("shrinking: actions left:", 0);
        s->shrinking = true;
    }
    aphi_progress_at(best->count);
}

static void show_note(void *context, const char *text)
{
    (void)context;
    aphi_progress_hide();
    aphi_complain("%s", text);
}

/* ---- setting up -------------------------------------------------------------------------------------------------- */

/* Checks early that a report can be written: a campaign may take hours. */
static bool can_write(const char *path)
{
    bool writable = !path || aphi_file_is_writable(path);
    if (!writable)
        aphi_complain("%s cannot be written: %s", path, strerror(errno));
    return writable;
}

static aphi_exit open_preset(session *s)
{
    aphi_test_session_options *o = &s->options;
    char error[512];
    size_t connections = o->campaign.script ? APHI_PRESET_CONNECTIONS : o->campaign.connections;
    aphi_exit code = aphi_exit_of_preset(
        aphi_preset_make(o->preset, connections, &s->preset, &o->subject, error, sizeof error));
    if (code) {
        aphi_complain("%s", error);
        return code;
    }
    if (s->preset.calls && !o->model.respond)
        return aphi_usage("--subject %s: calls other servers, and %s does not model that; use http-proxy", o->preset,
                          o->model.name);
    if (!s->preset.calls && o->model.respond)
        return aphi_usage("--subject %s: calls no other servers, and %s models that; use apache-proxy", o->preset,
                          o->model.name);
    o->listens |= s->preset.calls;
    if (o->waive_known || o->fault || o->fault_upstream)
        o->report.known = aphi_waive_known(s->preset.known, &o->model);
    return APHI_EXIT_PASS;
}

/* Returns false if a placeholder {listen:I} in the command names no origin; *number is then I. */
static bool names_origins(const char *command, size_t count, unsigned long *number)
{
    static const char begin[] = "{listen:";
    for (const char *at = command; at && (at = strstr(at, begin)); at++) {
        char *end;
        *number = strtoul(at + sizeof begin - 1, &end, 10);
        if (*end == '}' && *number >= count)
            return false;
    }
    return true;
}

/* Returns 0, or an exit code after a message. *count: the number of origins. */
static aphi_exit count_origins(const session *s, size_t *count)
{
    const aphi_test_session_options *o = &s->options;
    unsigned long number;
    *count = 0;
    if (o->model.respond && !o->listens)
        return aphi_usage("%s: models a server that calls others; the tester takes their place on --listen PORT (0: "
                          "any free port; {listen} in the command is replaced by it)", o->model.name);
    if (o->fault_upstream && !o->listens)
        return aphi_usage("--fault-upstream: the subject does not call the tester; use --listen PORT");
    if (!o->listens)
        return APHI_EXIT_PASS;
    *count = o->model.respond && o->model.origins ? o->model.origins : 1;
    if (o->listen.count > *count)
        return aphi_usage("--listen: given %zu times; %s uses %zu", o->listen.count, o->model.name, *count);
    if (!names_origins(o->subject.run, *count, &number))
        return aphi_usage("--run: {listen:%lu} in the command; %s uses the ports {listen:0} to {listen:%zu}", number,
                          o->model.name, *count - 1);
    return APHI_EXIT_PASS;
}

/* Listens at origin i, with a fault proxy in front of it if there is to be one. */
static bool open_origin(session *s, size_t i)
{
    const aphi_test_session_options *o = &s->options;
    aphi_origin *origin = &s->origins[i];
    char error[512];
    unsigned port = i < o->listen.count ? o->listen.ports[i] : 0;
    origin->fd = aphi_port_listen(&port, error, sizeof error);
    origin->port = port;
    s->origin_count += origin->fd >= 0;
    if (origin->fd >= 0 && o->fault_upstream)
        s->upstream[i] = aphi_upstream_fault_open(o->fault_upstream, port, o->campaign.seed, &origin->port, error,
                                                  sizeof error);
    if (origin->fd >= 0 && (s->upstream[i] || !o->fault_upstream))
        return true;
    aphi_complain("%s", error);
    return false;
}

static aphi_exit open_origins(session *s)
{
    size_t count;
    aphi_exit code = count_origins(s, &count);
    for (size_t i = 0; !code && i < count; i++)
        code = open_origin(s, i) ? APHI_EXIT_PASS : APHI_EXIT_LISTEN;
    s->options.campaign.origins = s->options.subject.origins = s->origins;
    s->options.campaign.origin_count = s->options.subject.origin_count = s->origin_count;
    return code;
}

static aphi_exit open_subject(session *s)
{
    aphi_test_session_options *o = &s->options;
    char error[512];
    o->subject.datagrams = o->campaign.environment && !strcmp(o->campaign.environment, "udp");
    o->subject.stop = &aphi_interrupted;
    if (o->subject.run && !aphi_port_check_loopback(error, sizeof error)) {
        aphi_complain("%s", error);
        return APHI_EXIT_NETWORK;
    }
    s->subject = aphi_subject_open(&o->subject, error, sizeof error);
    if (s->subject)
        return APHI_EXIT_PASS;
    aphi_complain("%s", error);
    return APHI_EXIT_SUBJECT;
}

static void close_session(session *s)
{
    aphi_subject_close(s->subject);
    for (size_t i = 0; i < s->origin_count; i++) {
        aphi_subject_close(s->upstream[i]);
        close(s->origins[i].fd);
    }
    aphi_preset_free(&s->preset);
    aphi_buffer_free(&s->fault_command);
}

/* ---- running ----------------------------------------------------------------------------------------------------- */

static void describe_run(session *s)
{
    aphi_test_session_options *o = &s->options;
    aphi_test_report_options *r = &o->report;
    r->model = o->campaign.model = &o->model;
    r->spec = o->spec;
    r->subject = o->preset ? o->preset : o->subject.run ? o->subject.run : o->subject.target;
    r->command = o->preset ? "--subject" : o->subject.run ? "--run" : "--target";
    r->folder = o->campaign.folder;
    r->environment = o->campaign.environment ? o->campaign.environment : "tcp";
    r->seed = o->campaign.seed;
    r->listens = o->listens;
    r->fault = o->fault;
    r->fault_upstream = o->fault_upstream;
}

static void print_output_tail(session *s)
{
    char tail[600];
    aphi_subject_tail(s->subject, tail, sizeof tail);
    if (*tail && !s->options.report.json)
        aphi_print(stderr, "last output of the subject:\n%s\n", tail);
}

static aphi_campaign *run_campaign(session *s)
{
    aphi_campaign_options *c = &s->options.campaign;
    aphi_port_raise_limit(c->connections + (s->options.listens ? APHI_NET_CALLS_MAX : 0) + 64);
    c->subject = s->subject;
    c->stop = &aphi_interrupted;
    c->callbacks = (aphi_campaign_callbacks){s, show_progress, show_shrinking, show_note};
    aphi_progress_begin(s->options.spec, 0);
    aphi_campaign *campaign = aphi_campaign_execute(c);
    aphi_progress_end();
    if (campaign->outcome == APHI_RUN_DEAD || campaign->outcome == APHI_RUN_STARVED)
        print_output_tail(s);
    return campaign;
}

aphi_exit aphi_test_session_run(const aphi_test_session_options *options)
{
    session s = {.options = *options};
    aphi_campaign *campaign = NULL;
    aphi_exit code = options->preset ? open_preset(&s) : APHI_EXIT_PASS;
    if (!code && !(can_write(options->report.report) && can_write(options->report.junit)))
        code = APHI_EXIT_WRITE;
    if (options->fault) {
        aphi_fault_command(&s.fault_command, "{target}", options->fault, options->campaign.seed);
        aphi_buffer_str(&s.fault_command, " >/dev/null");
        s.options.subject.before = aphi_buffer_text(&s.fault_command);
    }
    if (!code)
        code = open_origins(&s);
    if (!code)
        code = open_subject(&s);
    if (!code) {
        describe_run(&s);
        campaign = run_campaign(&s);
    }
    close_session(&s);
    if (campaign) {
        code = aphi_test_report_write(campaign, &s.options.report) ? aphi_exit_of_campaign(campaign) : APHI_EXIT_WRITE;
        aphi_campaign_free(campaign);
    }
    return code;
}
