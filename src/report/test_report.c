/* SPDX-License-Identifier: Apache-2.0
 *
 * test_report.c - the report of a campaign.
 *
 * Idea:       the evidence of a failure comes from `antiphon check` on the trace of the run, so the live tester and a
 *             later check of the trace cannot differ. After its header, a trace has one line for each event, so a line
 *             number in the evidence identifies an event of the run. */
#include "report/test_report.h"

#include "base/buffer.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/plain_text.h"
#include "tester/trace_diff.h"
#include "check/waivers.h"
#include "oracle/transition.h"
#include "value/heap.h"
#include "report/run_page.h"
#include "report/junit.h"
#include "report/message_text.h"
#include "report/run_diagram.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MESSAGE_SHOWN = 60, PICTURE_COLUMNS = 110, LOSSES_SHOWN = 4 };

typedef struct report {
    const aphi_campaign *campaign;
    const aphi_test_report_options *options;
    aph_value evidence;       /* of a failure, or APH_NIL */
    aph_value run, allowed, script;
    aphi_run_diagram diagram;
    char title[300], headline[1500];
    aphi_buffer replay;
} report;

static void mark_report(void *context)
{
    const report *t = context;
    aph_mark(t->evidence);
    aph_mark(t->run);
    aph_mark(t->allowed);
    aph_mark(t->script);
}

/* ---- evidence ---------------------------------------------------------------------------------------------------- */

/* Loads the events of the run; if the run passed, only the page needs them. */
static void load_events(report *t)
{
    const aphi_campaign *c = t->campaign;
    if (!c->run || (c->outcome == APHI_RUN_PASS && !t->options->report))
        return;
    t->diagram.events = aphi_run_events(c->run, &t->diagram.count);
    t->diagram.earlier = c->run->events_before;
}

/* Returns the index of the event on a line of the trace, or APHI_RUN_DIAGRAM_NONE. */
static size_t event_of_line(const report *t, int64_t line)
{
    int64_t index = line - 2 - (int64_t)t->diagram.earlier;
    return index >= 0 && index < (int64_t)t->diagram.count ? (size_t)index : APHI_RUN_DIAGRAM_NONE;
}

static aph_value labels_of(const report *t, aph_value lines)
{
    aph_value labels = aph_array(0, NULL);
    for (size_t i = 0; lines && i < aph_count(lines); i++) {
        size_t index = event_of_line(t, aph_int_of(aph_at(lines, i)));
        int64_t label = index == APHI_RUN_DIAGRAM_NONE ? 0 : t->diagram.events[index].label;
        if (label) /* the tester's responses to requests from the subject have no label */
            labels = aph_push(labels, aph_int(label));
    }
    return labels;
}

static void find_evidence(report *t)
{
    aph_check_options options = {.oracle = {.environment = t->options->environment, .patient = true, .time_ms = 20000,
                                            .memory = (size_t)2048 << 20},
                                 .format = APH_FORMAT_JSONL, .network = t->options->network};
    if (t->campaign->outcome != APHI_RUN_FAIL)
        return;
    aph_check_result *r = aph_check_file(t->options->model, t->campaign->trace, &options);
    t->evidence = r->evidence;
    aph_check_result_free(r);
    aph_value allowed = t->evidence ? aph_field(t->evidence, "allowed") : APH_NIL;
    t->allowed = aph_array(0, NULL);
    for (size_t i = 0; allowed && i < aph_count(allowed); i++) {
        aph_value one = aph_at(allowed, i);
        t->allowed = aph_push(t->allowed, aph_put(one, "order", labels_of(t, aph_field(one, "order"))));
    }
}

static bool is_request(const aphi_run_event *e)
{
    return e->kind == APHI_RUN_EVENT_SENT && !aphi_is_signal(e->message);
}

static bool is_answered(const aphi_run_event *events, size_t n, size_t i)
{
    for (size_t k = i + 1; k < n; k++)
        if (events[k].kind == APHI_RUN_EVENT_RECEIVED && events[k].label == events[i].label + 1)
            return true;
    return false;
}

/* Returns the oldest request without a response. */
static size_t find_unanswered(const aphi_run_event *events, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (is_request(&events[i]) && !is_answered(events, n, i))
            return i;
    return APHI_RUN_DIAGRAM_NONE;
}

/* Returns the request that waits for the message due on the connection: its last one, or the opening if there is
 * none. */
static size_t find_waiting(const aphi_run_event *events, size_t n, int64_t connection)
{
    size_t opening = APHI_RUN_DIAGRAM_NONE;
    for (size_t i = n; i-- > 0;) {
        if (events[i].connection != connection)
            continue;
        if (is_request(&events[i]))
            return i;
        if (events[i].kind == APHI_RUN_EVENT_SENT && events[i].message == APH_OPENED)
            opening = i;
    }
    return opening;
}

/* Returns the request whose response is due in an explanation, or is missing. Sets the messages that are due. */
static size_t find_starving(report *t)
{
    const aphi_run_event *events = t->diagram.events;
    aph_value name, queue;
    size_t n = t->diagram.count;
    for (size_t i = 0; aph_pair_at(t->campaign->run->due, i, &name, &queue); i++) {
        if (aph_kind_of(queue) != APH_ARRAY || !aph_count(queue))
            continue;
        size_t found = find_waiting(events, n, aphi_outbox_connection(name));
        if (found == APHI_RUN_DIAGRAM_NONE)
            continue;
        aph_value due = aph_at(queue, 0);
        t->allowed = APH_ARRAY_OF(aph_record("answer", due == APH_CLOSED ? aph_str("<closed>") : due));
        return found;
    }
    return find_unanswered(events, n);
}

static size_t find_last_lost(const aphi_run_event *events, size_t n)
{
    for (size_t i = n; i-- > 0;)
        if (events[i].kind == APHI_RUN_EVENT_LOST)
            return i;
    return APHI_RUN_DIAGRAM_NONE;
}

static size_t find_failing(report *t)
{
    const aphi_run_event *events = t->diagram.events;
    size_t n = t->diagram.count;
    int64_t at_fault = t->campaign->run->rejected_event;
    if (t->evidence && aph_field(t->evidence, "line"))
        return event_of_line(t, aph_int_of(aph_field(t->evidence, "line")));
    if (t->campaign->losing)
        return find_last_lost(events, n);
    switch (t->campaign->outcome) {
    case APHI_RUN_FAIL: return at_fault >= 0 ? (size_t)at_fault : APHI_RUN_DIAGRAM_NONE;
    case APHI_RUN_DEAD:
    case APHI_RUN_MALFORMED:
        for (size_t i = n; i-- > 0;)
            if (events[i].kind == APHI_RUN_EVENT_DROPPED || events[i].kind == APHI_RUN_EVENT_MALFORMED)
                return i;
        return APHI_RUN_DIAGRAM_NONE;
    case APHI_RUN_STARVED: return find_starving(t);
    default: return APHI_RUN_DIAGRAM_NONE;
    }
}

/* Returns the time of the runs in the totals. */
static int64_t tested_ns(const aphi_campaign *c)
{
    return aphi_run_verdict_blames_subject(c->outcome) && c->reject_ns ? c->reject_ns : c->ns;
}

/* Returns the messages per second. */
static uint64_t rate_of(const aphi_campaign *c)
{
    int64_t ns = tested_ns(c);
    return ns > 0 ? (uint64_t)((double)(c->requests + c->answers) * 1e9 / (double)ns) : 0;
}

/* ---- the facts --------------------------------------------------------------------------------------------------- */

static aph_value script_value(const aphi_script *s)
{
    aph_value *actions = aphi_alloc((s->count + 1) * sizeof *actions);
    for (size_t i = 0; i < s->count; i++)
        actions[i] = aphi_action_value(&s->actions[i]);
    aph_value all = aph_array(s->count, actions);
    free(actions);
    return all;
}

static void add_option(aphi_buffer *out, const char *name, const char *value)
{
    if (!value)
        return;
    aphi_buffer_str(out, name);
    aphi_quote_word(out, value);
}

/* Sets the command that reproduces the run. */
static void fill_replay(report *t)
{
    const aphi_test_report_options *o = t->options;
    aphi_buffer *out = &t->replay;
    aphi_buffer_format(out, "antiphon replay %s%s%s ", o->listens ? "--listen 0 " : "",
                       o->ignore_promises ? "--ignore-promises " : "", o->command);
    aphi_quote(out, o->subject);
    add_option(out, " --fault-upstream ", o->fault_upstream);
    add_option(out, " --break ", o->fault);
    if (o->known && !o->fault && !o->fault_upstream)
        aphi_buffer_str(out, " --waive known");
    for (size_t i = 0; o->model->waivers && o->model->waivers[i].name; i++)
        if ((o->model->waived & ~o->known) >> i & 1)
            add_option(out, " --waive ", o->model->waivers[i].name);
    add_option(out, *t->campaign->script == '-' ? " ./" : " ", t->campaign->script); /* a path, not an option */
    add_option(out, " ", o->spec);
}

/* Sets the headline: the reason, and a waiver that would allow the violation. */
static void fill_headline(report *t)
{
    const aphi_campaign *c = t->campaign;
    aphi_buffer out = {0};
    aphi_buffer_str(&out, c->why);
    if (c->outcome == APHI_RUN_FAIL && !t->options->found && !t->options->json && !t->options->network)
        aphi_waive_hint(&out, t->options->model, c->trace, t->options->environment);
    snprintf(t->headline, sizeof t->headline, "%s", aphi_buffer_text(&out));
    aphi_buffer_free(&out);
}

static void fill_diagram(report *t)
{
    const aphi_campaign *c = t->campaign;
    const aphi_run *r = c->run;
    snprintf(t->title, sizeof t->title, "%s at %.200s%s%.60s", t->options->model->name, t->options->subject,
             t->options->fault ? ", broken: " : "", t->options->fault ? t->options->fault : "");
    fill_headline(t);
    if (*c->script)
        fill_replay(t);
    t->run = aph_record("model", aph_str(t->options->model->name), "subject", aph_str(t->options->subject),
                        "environment", aph_str(t->options->environment), "seed", aph_int((int64_t)t->options->seed),
                        "runs", aph_int((int64_t)c->runs), "messages", aph_int((int64_t)(c->requests + c->answers)),
                        "requests", aph_int((int64_t)c->requests), "responses", aph_int((int64_t)c->answers),
                        "losses", aph_int((int64_t)c->losses), "messages_per_second", aph_int((int64_t)rate_of(c)),
                        "total_ns", aph_int(c->ns));
    if (c->shrunk)
        t->run = aph_put(t->run, "reproduces", aph_strf("%u of %u", c->reproduced, c->confirmed));
    bool at_fault = aphi_run_verdict_blames_subject(c->outcome);
    size_t failing = r ? find_failing(t) : APHI_RUN_DIAGRAM_NONE;
    t->script = r && r->script_whole && at_fault ? script_value(aphi_run_script(r)) : APH_NIL;
    t->diagram = (aphi_run_diagram){.title = t->title, .run = t->run, .verdict = aphi_run_verdict_name(c->outcome),
                                  .headline = t->headline, .ns = r ? r->facts.ns : 0, .total_ns = c->ns,
                                  .events = t->diagram.events, .count = t->diagram.count,
                                  .earlier = t->diagram.earlier,
                                  .failing = failing, .allowed = t->allowed,
                                  .branches = c->branches, .script = t->script,
                                  .replay = t->replay.n ? aphi_buffer_text(&t->replay) : NULL,
                                  .words = t->options->model->words,
                                  .incomplete = r && *r->incomplete ? r->incomplete : NULL,
                                  .incomplete_at = r ? r->incomplete_at : 0};
}

/* Returns the waivers that the last run needs; APH_NIL if none is allowed, or the run did not pass. */
static aph_value needed_waivers(const report *t)
{
    const aphi_campaign *c = t->campaign;
    if (c->outcome != APHI_RUN_PASS || t->options->network)
        return APH_NIL;
    const aph_model *model = t->options->model;
    aphi_progress_begin("checking which waivers are needed", (uint64_t)__builtin_popcountll(model->waived));
    aph_value needs = aphi_waive_needs(model, c->trace, t->options->environment, aphi_progress_at);
    aphi_progress_end();
    return needs;
}

/* ---- as JSON ----------------------------------------------------------------------------------------------------- */

static void write_field(FILE *out, const char *name, aph_value v)
{
    fprintf(out, ",\"%s\":", name);
    aph_json_write(out, v);
}

static aph_value connections_value(const aphi_connection_counts *c)
{
    aph_value v = aph_object();
#define X(name) v = aph_put(v, #name, aph_int((int64_t)c->name));
    APHI_CONNECTION_COUNTS(X)
#undef X
    return v;
}

static void write_json(const report *t)
{
    const aphi_campaign *c = t->campaign;
    FILE *out = stdout;
    fprintf(out, "{\"verdict\":\"%s\"", aphi_run_verdict_name(c->outcome));
    write_field(out, "why", aph_str(c->why));
    write_field(out, "model", aph_str(t->options->model->name));
    write_field(out, "subject", aph_str(t->options->subject));
    if (t->options->fault)
        write_field(out, "break", aph_str(t->options->fault));
    write_field(out, "environment", aph_str(t->options->environment));
    fprintf(out, ",\"seed\":%llu,\"runs\":%llu,\"messages\":%llu,\"requests\":%llu,\"answers\":%llu",
            (unsigned long long)t->options->seed, (unsigned long long)c->runs,
            (unsigned long long)(c->requests + c->answers), (unsigned long long)c->requests,
            (unsigned long long)c->answers);
    fprintf(out, ",\"losses\":%llu,\"messages_per_second\":%llu", (unsigned long long)c->losses,
            (unsigned long long)rate_of(c));
    fprintf(out, ",\"undecided\":%llu,\"seconds\":%.6f", (unsigned long long)c->undecided, (double)c->ns / 1e9);
    if (aphi_run_verdict_blames_subject(c->outcome)) {
        fprintf(out, ",\"seconds_to_reject\":%.6f,\"seconds_shrinking\":%.6f", (double)c->reject_ns / 1e9,
                (double)c->shrink_ns / 1e9);
        if (t->script) {
            fprintf(out, ",\"counterexample\":{\"requests\":");
            aph_json_write(out, t->script);
            write_field(out, "script", *c->script ? aph_str(c->script) : aph_bool(false));
            write_field(out, "trace", aph_str(c->trace));
            fputc('}', out);
        }
        if (c->shrunk)
            fprintf(out, ",\"reproduces\":{\"times\":%u,\"of\":%u},\"minimal\":%s,\"shrink_runs\":%llu", c->reproduced,
                    c->confirmed, c->minimal ? "true" : "false", (unsigned long long)c->shrink_runs);
        if (t->evidence)
            write_field(out, "evidence", t->evidence);
    }
    aphi_divergence d = {0};
    if (t->options->recorded && c->run && aphi_trace_diff(t->options->recorded, c->run, &d))
        write_field(out, "diverges", d.found ? aph_record("label", aph_int(d.label), "then", d.then, "now", d.now)
                                       : aph_bool(false));
    if (t->options->model->connections)
        write_field(out, "connections", connections_value(&c->connections));
    if (c->kinds)
        write_field(out, "kinds", c->kinds);
    if (c->lost) {
        write_field(out, "lost", c->lost);
        write_field(out, "lost_kinds", c->lost_kinds);
    }
    if (c->branches)
        write_field(out, "branches", c->branches);
    aph_value waived = needed_waivers(t);
    if (waived)
        write_field(out, "waived", waived);
    fputs("}\n", out);
}

/* ---- as a value -------------------------------------------------------------------------------------------------- */

static aph_value draw_picture(const report *t)
{
    aphi_buffer text = {0};
    aphi_run_diagram_draw(&text, &t->diagram, &(aphi_terminal){.unicode = true, .columns = PICTURE_COLUMNS}, 0);
    aph_value picture = aph_bytes(text.data ? text.data : "", text.n);
    aphi_buffer_free(&text);
    return picture;
}

static aph_value add_failure(const report *t, aph_value v)
{
    const aphi_campaign *c = t->campaign;
    v = aph_put(v, "reject_ns", aph_int(c->reject_ns));
    v = aph_put(v, "shrink_ns", aph_int(c->shrink_ns));
    v = aph_put(v, "requests", aph_int((int64_t)aph_count(t->script)));
    v = aph_put(v, "script", aph_str(c->script));
    v = aph_put(v, "trace", aph_str(c->trace));
    if (c->shrunk) {
        v = aph_put(v, "reproduced", aph_int(c->reproduced));
        v = aph_put(v, "confirmed", aph_int(c->confirmed));
        v = aph_put(v, "minimal", aph_bool(c->minimal));
    }
    if (t->evidence)
        v = aph_put(v, "evidence", t->evidence);
    if (c->run)
        v = aph_put(v, "picture", draw_picture(t));
    return t->replay.n ? aph_put(v, "replay", aph_bytes(t->replay.data, t->replay.n)) : v;
}

static aph_value value_of(const report *t)
{
    const aphi_campaign *c = t->campaign;
    aph_value v = aph_record("verdict", aph_str(aphi_run_verdict_name(c->outcome)), "why", aph_str(c->why), "runs",
                             aph_int((int64_t)c->runs), "messages", aph_int((int64_t)(c->requests + c->answers)), "ns",
                             aph_int(c->ns), "trace", aph_str(c->trace), "losses", aph_int((int64_t)c->losses));
    if (c->branches)
        v = aph_put(v, "branches", c->branches);
    return aphi_run_verdict_blames_subject(c->outcome) ? add_failure(t, v) : v;
}

/* ---- as text ----------------------------------------------------------------------------------------------------- */

static void paint_verdict(aphi_buffer *out, const report *t)
{
    aphi_run_verdict o = t->campaign->outcome;
    aphi_ink ink = o == APHI_RUN_PASS ? APHI_INK_GREEN
                   : aphi_run_verdict_blames_subject(o) ? APHI_INK_ALARM : APHI_INK_YELLOW;
    aphi_terminal_paint(out, &t->options->terminal, ink, aphi_run_verdict_name(o));
}

static void add_unreached(aphi_buffer *out, const report *t)
{
    aph_value key, count;
    const char *before = "never reached: ";
    for (size_t i = 0; t->campaign->branches && aph_pair_at(t->campaign->branches, i, &key, &count); i++)
        if (aph_int_of(count) == 0) {
            size_t n;
            const char *name = aph_bytes_of(&key, &n);
            aphi_buffer_format(out, "%s%.*s", before, (int)n, name);
            before = ", ";
        }
    if (before[0] == ',')
        aphi_buffer_byte(out, '\n');
}

/* Shows which ends of connections the campaign has exercised. */
static void add_connections(aphi_buffer *out, const report *t)
{
    const aphi_connection_counts *c = &t->campaign->connections;
    const struct {
        uint64_t count;
        const char *text;
    } ends[] = {{c->half_closed, " half-closed, "}, {c->closed, " closed and "},
                {c->aborted, " aborted by the tester, "}, {c->closed_by_server, " closed and "},
                {c->reset_by_server, " reset by the subject\n"}};
    if (!t->options->model->connections)
        return;
    aphi_report_counted(out, c->opened, "connection");
    aphi_buffer_str(out, ": ");
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        aphi_report_count(out, ends[i].count);
        aphi_buffer_str(out, ends[i].text);
    }
}

static void add_counts(aphi_buffer *out, const aphi_campaign *c)
{
    aphi_report_counted(out, c->requests, "request");
    aphi_buffer_str(out, ", ");
    aphi_report_counted(out, c->answers, "response");
    aphi_buffer_str(out, ", ");
    aphi_report_count(out, c->losses);
    aphi_buffer_str(out, c->losses == 1 ? " loss, " : " losses, ");
    aphi_report_count(out, rate_of(c));
    aphi_buffer_str(out, "/s\n");
}

/* Lists a few of the requests that a losing subject swallowed. */
static void add_lost(aphi_buffer *out, const report *t)
{
    const aphi_campaign *c = t->campaign;
    if (!c->losing || !c->lost)
        return;
    size_t n = aph_count(c->lost), shown = n < LOSSES_SHOWN ? n : LOSSES_SHOWN;
    for (size_t i = 0; i < shown; i++) {
        aph_value one = aph_at(c->lost, i);
        aphi_buffer_format(out, "lost: #%lld on connection %lld: ", (long long)aph_int_of(aph_field(one, "label")),
                           (long long)aph_int_of(aph_field(one, "conn")));
        aphi_message_words(out, aph_field(one, "request"), t->options->model->words, MESSAGE_SHOWN);
        aphi_buffer_byte(out, '\n');
    }
    if (c->losses > shown)
        aphi_buffer_format(out, "and %llu more\n", (unsigned long long)(c->losses - shown));
}

static void add_shrinking(aphi_buffer *out, const report *t)
{
    const aphi_campaign *c = t->campaign;
    if (!c->shrunk)
        return;
    size_t count = aphi_run_script(c->run)->count;
    bool smaller = count < c->actions;
    aphi_buffer_str(out, smaller ? "shrunk to " : "not shrunk below ");
    aphi_report_counted(out, count, "request");
    aphi_buffer_str(out, " in ");
    aphi_report_duration(out, c->shrink_ns);
    aphi_buffer_str(out, " (");
    aphi_report_counted(out, c->shrink_runs, "run");
    aphi_buffer_format(out, "); reproduced in %u of %u runs; %s\n", c->reproduced, c->confirmed,
                       c->minimal ? "locally minimal" : "it may not be minimal");
    if (!strcmp(t->options->command, "--target"))
        aphi_buffer_str(out, "the target was not reset between runs; the script may depend on state they left\n");
}

/* Compares the run of a replayed script with the recorded one. */
static void add_divergence(aphi_buffer *out, const report *t)
{
    aphi_divergence d;
    if (!t->options->recorded || !t->campaign->run || !aphi_trace_diff(t->options->recorded, t->campaign->run, &d))
        return;
    if (!d.found) {
        aphi_buffer_str(out, "every message is as recorded");
        if (d.renamed) {
            aphi_buffer_str(out, ", except for ");
            aphi_report_counted(out, d.renamed, "value");
            aphi_buffer_str(out, " chosen by the subject");
        }
        aphi_buffer_byte(out, '\n');
        return;
    }
    aphi_buffer_format(out, "first difference from the recorded run at #%lld: then ", (long long)d.label);
    aphi_message_words(out, d.then, t->options->model->words, MESSAGE_SHOWN);
    aphi_buffer_str(out, ", now ");
    if (d.missing)
        aphi_buffer_str(out, "nothing");
    else
        aphi_message_words(out, d.now, t->options->model->words, MESSAGE_SHOWN);
    aphi_buffer_byte(out, '\n');
}

static void print_report(const report *t)
{
    const aphi_campaign *c = t->campaign;
    aphi_buffer out = {0};
    if (t->options->quiet && c->outcome == APHI_RUN_PASS)
        return;
    paint_verdict(&out, t);
    aphi_buffer_escaped(&out, "  %s: ", t->title);
    aphi_report_counted(&out, c->requests + c->answers, "message");
    aphi_buffer_str(&out, " in ");
    aphi_report_counted(&out, c->runs, "run");
    aphi_buffer_str(&out, ", ");
    aphi_report_duration(&out, tested_ns(c));
    aphi_buffer_format(&out, ", seed %llu\n", (unsigned long long)t->options->seed);
    add_counts(&out, c);
    add_connections(&out, t);
    add_lost(&out, t);
    if (c->undecided) {
        aphi_report_counted(&out, c->undecided, "run");
        aphi_buffer_str(&out, " could not be judged in time, so the test does not pass; later runs had less "
                              "concurrency; to judge without a limit: antiphon check ");
        if (strcmp(t->options->environment, "tcp") != 0) {
            add_option(&out, "--env ", t->options->environment);
            aphi_buffer_str(&out, " ");
        }
        add_option(&out, "", t->options->spec);
        add_option(&out, " ", t->options->folder);
        aphi_buffer_str(&out, "/undecided-*.jsonl\n");
    }
    add_shrinking(&out, t);
    add_divergence(&out, t);
    if (aphi_run_verdict_blames_subject(c->outcome) && c->run)
        aphi_run_diagram_report(&out, &t->diagram, &t->options->terminal);
    else if (c->outcome != APHI_RUN_PASS)
        aphi_buffer_escaped(&out, "%s\n", c->why);
    if (c->outcome == APHI_RUN_FAIL && c->presumed)
        aphi_buffer_str(&out, "this assumes that the target was in the model's initial state; if it was used before, "
                              "restart it, or pass its command with --run\n");
    if (c->outcome == APHI_RUN_PASS || c->outcome == APHI_RUN_VACUOUS)
        add_unreached(&out, t);
    aphi_waive_tell(&out, t->options->model, t->options->known, needed_waivers(t));
    fwrite(out.data ? out.data : "", 1, out.n, stdout);
    aphi_buffer_free(&out);
}

/* ---- files ------------------------------------------------------------------------------------------------------- */

static bool check_written(bool written, const char *path)
{
    if (!written)
        aphi_print(stderr, "antiphon: %s: cannot be written: %s\n", path, strerror(errno));
    return written;
}

static bool write_page(const report *t)
{
    const char *path = t->options->report;
    aphi_file out;
    if (!path)
        return true;
    if (!aphi_file_create(&out, path))
        return check_written(false, path);
    aphi_run_page_write(out.stream, &t->diagram); /* a failure is observed by commit */
    return check_written(aphi_file_commit(&out), path);
}

static bool write_junit(const report *t)
{
    const char *path = t->options->junit;
    aphi_buffer text = {0};
    char now[40];
    time_t seconds = time(NULL);
    if (!path)
        return true;
    strftime(now, sizeof now, "%Y-%m-%dT%H:%M:%S", gmtime(&seconds));
    aphi_junit_run(&text, "antiphon test", now, &t->diagram);
    bool written = check_written(aphi_buffer_save(&text, path), path);
    aphi_buffer_free(&text);
    return written;
}

static bool flush_stdout(void)
{
    if (!fflush(stdout) && !ferror(stdout))
        return true;
    fprintf(stderr, "antiphon: stdout: cannot be written: %s\n", strerror(errno));
    return false;
}

bool aphi_test_report_write(const aphi_campaign *c, const aphi_test_report_options *options)
{
    report t = {.campaign = c, .options = options};
    aph_root_add(mark_report, &t);
    load_events(&t);
    find_evidence(&t);
    fill_diagram(&t);
    if (options->found)
        *options->found = value_of(&t);
    if (options->json)
        write_json(&t);
    else if (c->outcome == APHI_RUN_TROUBLE)
        aphi_print(stderr, "antiphon: %s\n", c->why);
    else if (!options->found)
        print_report(&t);
    const bool ok[] = {write_page(&t), write_junit(&t), flush_stdout()};
    aph_root_remove(mark_report, &t);
    aphi_buffer_free(&t.replay);
    return ok[0] && ok[1] && ok[2];
}
