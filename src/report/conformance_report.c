/* SPDX-License-Identifier: Apache-2.0
 *
 * conformance_report.c - the result of antiphon conform. */
#include "report/conformance_report.h"

#include "report/divergence_diagram.h"
#include "report/swimlanes.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS_SHOWN = 40 };

static const struct {
    const char *name, *text;
} violations[] = {
    [APHI_VIOLATION_MISSING] = {"missing", "the program cannot do an event of the model"},
    [APHI_VIOLATION_ENDLESS] = {"endless", "the program does not terminate"},
    [APHI_VIOLATION_CRASHED] = {"crashed", "the program crashed or failed"},
    [APHI_VIOLATION_RACE_MISSING] = {"fewer", "a receive cannot take a message that the model's receive can take"},
    [APHI_VIOLATION_EXTRA] = {"extra", "the program continues where the model ends"},
    [APHI_VIOLATION_STUCK] = {"stuck", "the program waits forever where the model ends"},
    [APHI_VIOLATION_ENDS] = {"ends", "the program ends where the model waits forever"},
    [APHI_VIOLATION_WAITS] = {"waits", "the program waits for a different message than the model"},
    [APHI_VIOLATION_RACE_EXTRA] = {"more", "a receive can take a message that the model's receive cannot take"},
};

/* ---- text -------------------------------------------------------------------------------------------------------- */

/* Two lines: the violated relation and the reason; the sequence and the event. */
static void put_difference(aphi_buffer *out, const aphi_conformance_finding *f)
{
    const aphi_difference *d = f->difference;
    char *const *threads = f->layout->threads;
    aphi_buffer_format(out, "%s: %s\n  ", aphi_violation_is_missing(d->violation) ? "M <= CP fails" : "CP <= M fails",
                       violations[d->violation].text);
    if (d->local_thread >= 0)
        aphi_buffer_format(out, "thread %s alone, ", threads[d->local_thread]);
    if (d->sequence)
        aphi_buffer_format(out, "sequence %" PRIu64, d->sequence);
    else
        aphi_buffer_str(out, "the whole program, to capture messages");
    if (d->id.index)
        aphi_buffer_format(out, ", event %" PRIu32 " of %s", d->id.index, threads[d->id.thread]);
    aphi_buffer_format(out, ": %s\n", d->detail);
}

static void draw_difference(aphi_buffer *out, const aphi_conformance_finding *f, const aphi_terminal *terminal)
{
    if (!f->difference)
        return;
    aphi_buffer_byte(out, '\n');
    put_difference(out, f);
    aphi_buffer_byte(out, '\n');
    aphi_divergence_diagram_draw(out, f->layout, f->difference, terminal, ROWS_SHOWN);
    aphi_buffer_byte(out, '\n');
}

static void put_threads(aphi_buffer *out, const aphi_conformance_campaign *r)
{
    for (size_t i = 0; i < r->options.alts->component_count; i++) {
        const aphi_conformance_local_result *t = &r->threads[i];
        if (!t->by_events && !t->untested)
            continue;
        aphi_buffer_format(out, "  %s: %" PRIu64 " sequence%s by events", r->options.alts->components[i].name,
                           t->by_events, t->by_events == 1 ? "" : "s");
        if (t->by_races >= t->by_events) /* otherwise the tests were not finished */
            aphi_buffer_format(out, ", %" PRIu64 " with race sets", t->by_races);
        if (t->untested)
            aphi_buffer_format(out, "; %" PRIu64 " not tested to the end: no message %s was seen", t->untested,
                               t->unknown);
        aphi_buffer_byte(out, '\n');
    }
}

static void put_verdict(aphi_buffer *out, const aphi_conformance_campaign *r)
{
    static const char *const names[] = {"holds", "fails", "is not certain"};
    aphi_buffer_format(out, "%s and %s%s: M <= CP %s, M ~ CP %s\n", r->options.alts->name, r->options.words[0],
                       r->options.thread ? " (one thread)" : "", names[aphi_conformance_at_least(r)],
                       names[aphi_conformance_equivalent(r)]);
    aphi_buffer_format(out, "  %s", r->all_visited ? "" : "not all: ");
    aphi_report_counted(out, r->sequences, r->threads ? "local sequence" : "sequence");
    aphi_buffer_str(out, " of the model, ");
    aphi_report_counted(out, r->tests, "test");
    aphi_buffer_str(out, ", ");
    aphi_report_counted(out, r->runs, "run");
    aphi_buffer_str(out, ", in ");
    aphi_report_duration(out, r->ns);
    aphi_buffer_byte(out, '\n');
}

void aphi_conformance_report_text(aphi_buffer *out, const aphi_conformance_campaign *r, const aphi_terminal *terminal)
{
    draw_difference(out, &r->missing, terminal);
    draw_difference(out, &r->extra, terminal);
    put_verdict(out, r);
    if (r->threads)
        put_threads(out, r);
}

/* ---- page -------------------------------------------------------------------------------------------------------- */

static void put_page(aphi_buffer *page, const aphi_conformance_campaign *r)
{
    const aphi_conformance_finding *found[] = {&r->missing, &r->extra};
    aphi_buffer lead = {0};
    put_verdict(&lead, r);
    for (size_t i = 0; i < 2; i++)
        if (found[i]->difference) {
            aphi_buffer_byte(&lead, ' ');
            put_difference(&lead, found[i]);
        }
    char *line = aphi_buffer_text(&lead);
    for (char *at = line; (at = strchr(at, '\n'));)
        *at = at[1] ? ';' : '.';
    aphi_swimlanes_page_begin(page, r->options.alts->name, line);
    for (size_t i = 0; i < 2; i++)
        if (found[i]->difference)
            aphi_divergence_page_add(page, found[i]->layout, found[i]->difference);
    aphi_swimlanes_page_end(page);
    free(line);
}

bool aphi_conformance_report_page(const aphi_conformance_campaign *r, const char *path)
{
    aphi_buffer page = {0};
    put_page(&page, r);
    bool written = aphi_buffer_save(&page, path);
    aphi_buffer_free(&page);
    return written;
}

/* ---- JSON -------------------------------------------------------------------------------------------------------- */

static aph_value race_value(const aphi_layout *layout, const aphi_race_set *set)
{
    aph_value all = aph_array(0, NULL);
    for (size_t i = 0; i < set->count; i++) {
        const aphi_race_message *m = &set->items[i];
        all = aph_push(all, aph_record("thread", aph_str(layout->threads[m->send.thread]), "index",
                                       aph_int(m->send.index), "port", aph_str(layout->ports[m->port].name),
                                       "label", aph_str(layout->labels[m->label])));
    }
    return all;
}

static aph_value difference_value(const aphi_conformance_finding *f)
{
    const aphi_difference *d = f->difference;
    const aphi_layout *l = f->layout;
    aph_value v = aph_record("relation", aph_str(aphi_violation_is_missing(d->violation) ? "M <= CP" : "CP <= M"),
                             "breach", aph_str(violations[d->violation].name), "detail", aph_str(d->detail),
                             "sequence", aph_int((int64_t)d->sequence));
    if (d->local_thread >= 0)
        v = aph_put(v, "alone", aph_str(l->threads[d->local_thread]));
    if (d->id.index)
        v = aph_put(aph_put(v, "thread", aph_str(l->threads[d->id.thread])), "event", aph_int(d->id.index));
    if (d->violation == APHI_VIOLATION_RACE_MISSING || d->violation == APHI_VIOLATION_RACE_EXTRA)
        v = aph_put(aph_put(v, "model_race", race_value(l, &d->model)), "program_race", race_value(l, &d->program));
    aphi_buffer line = {0};
    aph_value run;
    aph_json_error error;
    aphi_recording_write(l, &d->run, NULL, d->sequence, &line);
    if (aph_json_read(line.data, line.n, &run, &error))
        v = aph_put(v, "run", aph_field(run, "threads"));
    aphi_buffer_free(&line);
    return v;
}

static aph_value threads_value(const aphi_conformance_campaign *r)
{
    aph_value all = aph_array(0, NULL);
    for (size_t i = 0; i < r->options.alts->component_count; i++)
        all = aph_push(all, aph_record("name", aph_str(r->options.alts->components[i].name), "by_events",
                                       aph_int((int64_t)r->threads[i].by_events), "by_races",
                                       aph_int((int64_t)r->threads[i].by_races), "untested",
                                       aph_int((int64_t)r->threads[i].untested)));
    return all;
}

aph_value aphi_conformance_report_json(const aphi_conformance_campaign *r, int exit_code)
{
    static const char *const names[] = {"holds", "fails", "unknown"};
    aph_value found = aph_array(0, NULL);
    if (r->missing.difference)
        found = aph_push(found, difference_value(&r->missing));
    if (r->extra.difference)
        found = aph_push(found, difference_value(&r->extra));
    aph_value v = aph_record("model", aph_str(r->options.alts->name), "program", aph_str(r->options.words[0]), "mode",
                             aph_str(r->threads ? "local" : "global"), "at_least",
                             aph_str(names[aphi_conformance_at_least(r)]), "equivalent",
                             aph_str(names[aphi_conformance_equivalent(r)]), "exit", aph_int(exit_code), "sequences",
                             aph_int((int64_t)r->sequences), "complete", aph_bool(r->all_visited), "tests",
                             aph_int((int64_t)r->tests), "runs", aph_int((int64_t)r->runs));
    v = aph_put(aph_put(v, "differences", found), "milliseconds", aph_int(r->ns / 1000000));
    return r->threads ? aph_put(v, "threads", threads_value(r)) : v;
}
