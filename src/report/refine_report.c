/* SPDX-License-Identifier: Apache-2.0
 *
 * refine_report.c - the result of antiphon refine. */
#include "report/refine_report.h"

#include "base/file.h"
#include "base/memory.h"
#include "refine/refine_trace.h"
#include "report/run_diagram.h"

#include <stdlib.h>

bool aphi_refine_report_trace(const aphi_refine_report *r, const char *path)
{
    aph_value trace = r->outcome->result.trace;
    aphi_file out;
    if (!aphi_file_create(&out, path))
        return false;
    FILE *file = out.stream;
    aph_json_write(file, aph_record("antiphon", aph_int(1), "model", aph_str(r->bounds->options.spec->name)));
    fputc('\n', file);
    for (size_t i = 0; i < aph_count(trace); i++) {
        aph_json_write(file, aph_at(trace, i));
        fputc('\n', file);
    }
    return aphi_file_commit(&out);
}

aph_value aphi_refine_report_json(const aphi_refine_report *r)
{
    static const char *const verdicts[] = {[APHI_REFINES] = "pass", [APHI_REFINES_NOT] = "fail",
                                           [APHI_REFINES_VACUOUS] = "vacuous", [APHI_REFINES_UNKNOWN] = "unknown",
                                           [APHI_REFINES_FAULT] = "error"};
    const aphi_refinement *result = &r->outcome->result, *bounded = &r->outcome->bounded;
    const aphi_refine_options *o = &r->bounds->options;
    aph_value v = aph_record(
        "verdict", aph_str(verdicts[result->verdict]), "model", aph_str(r->name), "spec", aph_str(o->spec->name),
        "clients", aph_int((int64_t)r->outcome->clients), "messages", aph_int((int64_t)r->outcome->messages), "chunks",
        aph_int((int64_t)o->chunks), "states", aph_int((int64_t)bounded->states), "traces",
        aph_int((int64_t)bounded->traces), "schedules", aph_strf("%.0f", bounded->schedules), "random",
        aph_int((int64_t)r->outcome->random_passed), "seed", aph_strf("%llu", (unsigned long long)r->bounds->seed),
        "sampled", aph_bool(bounded->sampled), "milliseconds", aph_int(r->ns / 1000000), "exit", aph_int(r->exit_code));
    if (r->mutant)
        v = aph_put(v, "mutant", aph_str(o->model->name));
    if (result->why[0])
        v = aph_put(v, "why", aph_str(result->why));
    if (result->trace)
        v = aph_put(aph_put(v, "trace", result->trace), "failing", aph_int((int64_t)result->failing));
    return v;
}

/* Appends a number as 1,234,567, or from 1e9 on as 1.2e+12. */
static void put_schedules(aphi_buffer *out, double schedules)
{
    if (schedules < 1e9)
        aphi_report_count(out, (uint64_t)schedules);
    else
        aphi_buffer_format(out, "%.2g", schedules);
}

static void put_effort(aphi_buffer *out, const aphi_refine_report *r)
{
    const aphi_refine_deepening *b = r->bounds;
    const aphi_refinement *bounded = &r->outcome->bounded;
    aphi_buffer_format(out, "  up to %zu clients with %zu messages each", b->clients, b->messages);
    if (b->options.chunks > 1)
        aphi_buffer_format(out, ", each in up to %zu chunks", b->options.chunks);
    aphi_buffer_str(out, ": all ");
    put_schedules(out, bounded->schedules);
    aphi_buffer_str(out, " schedules, ");
    aphi_report_count(out, bounded->states);
    aphi_buffer_str(out, " states, ");
    aphi_report_count(out, bounded->traces);
    aphi_buffer_str(out, " different traces\n");
    if (b->clients * b->messages > 1)
        aphi_buffer_format(out, "  %d further sets of requests with %d messages: all schedules\n", APHI_REFINE_DRAWS,
                           APHI_REFINE_DRAWN_SIZE);
    if (r->outcome->random_passed)
        aphi_buffer_format(out, "  up to %zu clients with %zu messages each: %llu random schedules\n",
                           r->outcome->clients, r->outcome->messages, (unsigned long long)r->outcome->random_passed);
    if (bounded->sampled)
        aphi_buffer_str(out, "  a choice of the model has many values: only some were tried\n");
}

/* Of a search that has reached a limit, or was stopped. */
static void put_progress(aphi_buffer *out, const aphi_refine_report *r)
{
    const aphi_refinement *result = &r->outcome->result;
    aphi_buffer_str(out, "  reached ");
    aphi_report_counted(out, r->outcome->clients, "client");
    aphi_buffer_str(out, " with ");
    aphi_report_counted(out, r->outcome->messages, "message");
    aphi_buffer_str(out, " each: ");
    aphi_report_counted(out, result->states, "state");
    aphi_buffer_str(out, ", ");
    aphi_report_counted(out, result->traces, "different trace");
    aphi_buffer_str(out, "; fewer --clients or --messages need fewer states\n");
}

static void put_counterexample(aphi_buffer *out, const aphi_refine_report *r, const aphi_terminal *terminal)
{
    const aphi_refinement *result = &r->outcome->result;
    size_t n = aph_count(result->trace);
    aphi_run_event *events = aphi_alloc_zero((n + 1) * sizeof *events);
    for (size_t i = 0; i < n; i++) {
        aph_value line = aph_at(result->trace, i);
        aph_value message;
        bool sent = aphi_refine_line_sent(line, &message);
        events[i] = (aphi_run_event){.kind = sent ? APHI_RUN_EVENT_SENT : APHI_RUN_EVENT_RECEIVED,
                                     .at_ns = (int64_t)i * 1000000,
                                     .connection = aph_int_of(aph_field(line, "conn")),
                                     .message = message};
    }
    aphi_run_diagram diagram = {.title = r->name, .verdict = "fail", .events = events, .count = n,
                                .failing = result->failing, .allowed = result->allowed};
    aphi_run_diagram_draw(out, &diagram, terminal, 0);
    free(events);
}

void aphi_refine_report_text(aphi_buffer *out, const aphi_refine_report *r, const aphi_terminal *terminal)
{
    static const struct {
        const char *text;
        aphi_ink ink;
    } texts[] = {[APHI_REFINES] = {"refines", APHI_INK_GREEN}, [APHI_REFINES_NOT] = {"does not refine", APHI_INK_ALARM},
                 [APHI_REFINES_VACUOUS] = {"vacuously refines", APHI_INK_YELLOW},
                 [APHI_REFINES_UNKNOWN] = {"is not known to refine", APHI_INK_YELLOW},
                 [APHI_REFINES_FAULT] = {"cannot be compared with", APHI_INK_ALARM}};
    const aphi_refinement *result = &r->outcome->result;
    const aphi_refine_options *o = &r->bounds->options;
    aphi_buffer_format(out, "%s ", r->name);
    if (r->mutant)
        aphi_buffer_format(out, "with \"%s\" (%s) ", o->model->name, o->model->summary);
    aphi_terminal_paint(out, terminal, texts[result->verdict].ink, texts[result->verdict].text);
    aphi_buffer_format(out, " %s%s%s\n", o->spec->name, result->why[0] ? ": " : "", result->why);
    if (aphi_refine_passed(result))
        put_effort(out, r);
    else if (result->verdict == APHI_REFINES_UNKNOWN)
        put_progress(out, r);
    if (result->trace)
        put_counterexample(out, r, terminal);
}
