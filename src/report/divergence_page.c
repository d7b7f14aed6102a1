/* SPDX-License-Identifier: Apache-2.0
 *
 * divergence_page.c - a pair of space-time diagrams that shows where model and program diverge.
 *
 * Idea:       both sides are lists of events, the forced sequence and the recorded one. Each becomes a diagram
 *             (swimlanes.h) with the same lanes. For a thread that ran alone, the driver's sends and receives are
 *             added, so that arrows can be drawn.
 * Cost:       quadratic in the events, to find partners. */
#include "report/divergence_diagram.h"

#include "base/memory.h"
#include "report/swimlanes.h"

#include <stdlib.h>
#include <string.h>

typedef struct side {
    const aphi_layout *cast;
    const aphi_difference *d;
    const aphi_recorded_event *events;
    size_t count;
    bool is_model;
    aphi_swimlanes_event *drawn;
    size_t drawn_count;
    size_t *place;        /* per event: its index in `drawn` */
    char *ends[APHI_LAYOUT_THREADS_MAX];
    char *remark;         /* about the differing event, if this side has the event */
} side;

/* ---- texts ------------------------------------------------------------------------------------------------------- */

static char *label_of(const side *s, const aphi_recorded_event *e)
{
    aphi_buffer out = {0};
    if (e->op != APHI_ALTS_LOCAL)
        aphi_buffer_format(&out, "%s ", s->cast->ports[e->port].name);
    aphi_buffer_str(&out, s->cast->labels[e->label]);
    return aphi_buffer_text(&out);
}

static bool is_differing(const side *s, const aphi_recorded_event *e)
{
    return s->d->id.index && aphi_event_id_equal(e->id, s->d->id);
}

/* Returns the note at the differing event. */
static char *note_of(const side *s)
{
    aphi_buffer out = {0};
    if (s->d->violation == APHI_VIOLATION_RACE_MISSING || s->d->violation == APHI_VIOLATION_RACE_EXTRA) {
        aphi_buffer_str(&out, "could have received instead: ");
        aphi_divergence_diagram_rivals(&out, s->cast, s->is_model ? &s->d->model : &s->d->program);
    } else {
        aphi_buffer_str(&out, s->is_model ? "the program does not do this" : "the model does not have this");
    }
    return aphi_buffer_text(&out);
}

static char *remark_of(const side *s, const char *note)
{
    aphi_buffer out = {0};
    aphi_buffer_format(&out, "%s, event %u: %s", s->cast->threads[s->d->id.thread], s->d->id.index, note);
    return aphi_buffer_text(&out);
}

/* Adds a remark below the lane if this side does not have the differing event. */
static void add_end(side *s)
{
    aphi_event_id at = s->d->id;
    aphi_buffer out = {0};
    if (!at.index || aphi_recorded_event_find(s->events, s->count, at))
        return;
    const char *does = strstr(s->d->detail, ", the program ");
    aphi_buffer_format(&out, "%s, event %u: ", s->cast->threads[at.thread], at.index);
    if (s->is_model)
        aphi_buffer_str(&out, "the model has no more events");
    else
        aphi_buffer_format(&out, "the program %s", does ? does + strlen(", the program ") : "does not reach it");
    s->ends[at.thread] = aphi_buffer_text(&out);
}

/* ---- the diagram ------------------------------------------------------------------------------------------------- */

static aphi_swimlanes_event *add_event(side *s, size_t lane, aphi_alts_op kind, const aphi_recorded_event *e)
{
    aphi_swimlanes_event *to = &s->drawn[s->drawn_count++];
    *to = (aphi_swimlanes_event){.lane = lane, .kind = kind, .partner = APHI_SWIMLANES_NONE,
                                 .after = APHI_SWIMLANES_NONE, .sync = e->op != APHI_ALTS_LOCAL && e->sync,
                                 .label = label_of(s, e)};
    return to;
}

/* Adds the driver's end of the message of the last event. */
static void add_driver(side *s, const aphi_recorded_event *e)
{
    bool sends = e->op == APHI_ALTS_SEND;
    size_t own = s->drawn_count - 1;
    add_event(s, e->peer.thread, sends ? APHI_ALTS_RECEIVE : APHI_ALTS_SEND, e)->partner = own;
    s->drawn[own].partner = s->drawn_count - 1;
}

static void add_events(side *s)
{
    for (size_t i = 0; i < s->count; i++) {
        const aphi_recorded_event *e = &s->events[i];
        s->place[i] = s->drawn_count;
        aphi_swimlanes_event *to = add_event(s, e->id.thread, e->op, e);
        if (is_differing(s, e)) {
            to->mark = APHI_SWIMLANES_WRONG;
            to->note = note_of(s);
            s->remark = remark_of(s, to->note);
        }
        if (s->d->local_thread >= 0 && e->op != APHI_ALTS_LOCAL)
            add_driver(s, e);
    }
    for (size_t i = 0; i < s->count && s->d->local_thread < 0; i++) {
        const aphi_recorded_event *e = &s->events[i], *peer = aphi_recorded_event_find(s->events, s->count, e->peer);
        if (e->op != APHI_ALTS_LOCAL && peer)
            s->drawn[s->place[i]].partner = s->place[peer - s->events];
    }
}

static aphi_swimlanes make_diagram(side *s)
{
    s->drawn = aphi_alloc((2 * s->count + 1) * sizeof *s->drawn);
    s->place = aphi_alloc((s->count + 1) * sizeof *s->place);
    add_events(s);
    add_end(s);
    return (aphi_swimlanes){.title = s->is_model ? "the model" : "the program",
                            .lanes = (const char *const *)s->cast->threads, .lane_count = s->cast->thread_count,
                            .events = s->drawn, .count = s->drawn_count, .ends = (const char *const *)s->ends,
                            .remark = s->remark};
}

static void side_deinit(side *s)
{
    for (size_t i = 0; i < s->drawn_count; i++) {
        free((char *)s->drawn[i].label);
        free((char *)s->drawn[i].note);
    }
    for (size_t i = 0; i < s->cast->thread_count; i++)
        free(s->ends[i]);
    APHI_FREE_ALL(s->remark, s->drawn, s->place);
}

void aphi_divergence_page_add(aphi_buffer *page, const aphi_layout *cast, const aphi_difference *d)
{
    side model = {.cast = cast, .d = d, .events = d->forced, .count = d->forced_count, .is_model = true};
    side program = {.cast = cast, .d = d, .events = d->run.events, .count = d->run.event_count};
    aphi_swimlanes left = make_diagram(&model), right = make_diagram(&program);
    aphi_swimlanes_page_pair(page, &left, &right);
    side_deinit(&model);
    side_deinit(&program);
}
