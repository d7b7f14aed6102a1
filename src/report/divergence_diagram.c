/* SPDX-License-Identifier: Apache-2.0
 *
 * divergence_diagram.c - a space-time diagram in text of the point where model and program diverge.
 *
 * Idea:       a row is an array of columns, each with one character: first the lanes are drawn, then the event over
 *             them. A synchronous message is drawn in the row of its receive; its send has no row.
 * Cost:       rows times lanes. */
#include "report/divergence_diagram.h"

#include "base/memory.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { MARGIN = 4, LANE_LEAST = 5 };

typedef struct glyphs {
    const char *line, *solid, *dashed, *right, *left, *sent, *event, *from_left, *from_right, *corner, *mark, *cross;
} glyphs;

static const glyphs unicode = {"│", "─", "╌", "▶", "◀", "●", "○", "├", "┤", "╰─", "✗", "┼"};
static const glyphs ascii = {"|", "-", ".", ">", "<", "*", "o", "+", "+", "`-", "x", "+"};

typedef struct drawing {
    aphi_buffer *out;
    const aphi_layout *cast;
    const aphi_difference *d;
    const aphi_terminal *terminal;
    const glyphs *g;
    aphi_races races;
    bool *shown;            /* of each event */
    bool lane[APHI_LAYOUT_THREADS_MAX];
    size_t middle[APHI_LAYOUT_THREADS_MAX]; /* the column of each lane */
    size_t width;
    const char **row;
} drawing;

/* ---- texts ------------------------------------------------------------------------------------------------------- */

/* Appends an event as text: "receive py m from L2". */
static void put_event_text(aphi_buffer *out, const aphi_layout *c, const aphi_recorded_event *e)
{
    static const char *const names[] = {"send", "receive", "local event"};
    if (e->op == APHI_ALTS_LOCAL)
        aphi_buffer_format(out, "%s %s", names[e->op], c->labels[e->label]);
    else
        aphi_buffer_format(out, "%s%s %s %s %s %s", e->sync ? "synchronous " : "", names[e->op],
                           c->ports[e->port].name, c->labels[e->label], e->op == APHI_ALTS_SEND ? "to" : "from",
                           c->threads[e->peer.thread]);
}

void aphi_divergence_diagram_rivals(aphi_buffer *out, const aphi_layout *c, const aphi_race_set *r)
{
    for (size_t i = 0; i < r->count; i++) {
        const aphi_race_message *x = &r->items[i];
        aphi_buffer_format(out, "%s%s %s from %s", i ? ", " : "", c->ports[x->port].name, c->labels[x->label],
                           c->threads[x->send.thread]);
        if (x->send.index)
            aphi_buffer_format(out, ":%" PRIu32, x->send.index);
    }
    if (!r->count)
        aphi_buffer_str(out, "nothing");
}

static void put_place(const drawing *w, aphi_event_id at)
{
    aphi_buffer_str(w->out, w->cast->threads[at.thread]);
    if (at.index)
        aphi_buffer_format(w->out, ":%" PRIu32, at.index);
}

static void put_words(const drawing *w, const aphi_recorded_event *e)
{
    const aphi_layout *c = w->cast;
    if (e->op == APHI_ALTS_RECEIVE) {
        put_place(w, e->peer);
        aphi_buffer_str(w->out, e->sync ? " passes" : "'s message");
        aphi_buffer_format(w->out, " %s %s %s ", c->ports[e->port].name, c->labels[e->label],
                           e->sync ? "to" : "reaches");
        put_place(w, e->id);
    } else {
        put_place(w, e->id);
        if (e->op == APHI_ALTS_LOCAL)
            aphi_buffer_format(w->out, " %s", c->labels[e->label]);
        else
            aphi_buffer_format(w->out, " %s %s %s to %s", e->sync ? "passes" : "sends", c->ports[e->port].name,
                               c->labels[e->label], c->threads[e->peer.thread]);
    }
}

/* ---- choice of rows ---------------------------------------------------------------------------------------------- */

/* Selects the causal past of an event. If the event did not happen, selects the past of its thread. */
static void show_past(drawing *w, aphi_event_id at)
{
    const aphi_recording *r = &w->d->run;
    size_t threads = w->cast->thread_count, found = SIZE_MAX;
    for (size_t i = 0; i < r->event_count; i++)
        if (r->events[i].id.thread == at.thread && r->events[i].id.index <= at.index)
            found = i;
    for (size_t i = 0; i < r->event_count && found != SIZE_MAX; i++)
        if (w->races.clocks[found * threads + r->events[i].id.thread] >= r->events[i].id.index)
            w->shown[i] = true;
}

static void choose_rows(drawing *w, size_t rows)
{
    const aphi_difference *d = w->d;
    const aphi_recording *r = &d->run;
    aphi_races_find(w->cast, r, &w->races);
    show_past(w, d->id);
    for (size_t i = 0; i < d->model.count; i++)
        show_past(w, d->model.items[i].send);
    for (size_t i = 0; i < d->program.count; i++)
        show_past(w, d->program.items[i].send);
    size_t left_out = 0, rows_left = rows;
    for (size_t i = r->event_count; i-- > 0;) {
        /* A synchronous send is drawn with its receive. */
        bool elsewhere = r->events[i].op == APHI_ALTS_SEND && r->events[i].sync && d->local_thread < 0;
        bool wanted = (w->shown[i] || !d->id.index) && !elsewhere;
        w->shown[i] = wanted && rows_left;
        rows_left -= w->shown[i];
        left_out += !w->shown[i] && !elsewhere;
    }
    if (left_out)
        aphi_buffer_format(w->out, "  (%zu event%s omitted: unrelated or too early)\n", left_out,
                           left_out == 1 ? "" : "s");
}

static void place_lanes(drawing *w)
{
    const aphi_recording *r = &w->d->run;
    size_t at = MARGIN, lane = LANE_LEAST;
    if (w->d->id.index)
        w->lane[w->d->id.thread] = true;
    for (size_t i = 0; i < r->event_count; i++)
        if (w->shown[i]) {
            w->lane[r->events[i].id.thread] = true;
            if (r->events[i].op != APHI_ALTS_LOCAL)
                w->lane[r->events[i].peer.thread] = true;
        }
    for (size_t i = 0; i < w->d->program.count; i++)
        w->lane[w->d->program.items[i].send.thread] = true;
    for (size_t i = 0; i < w->cast->thread_count; i++)
        lane = w->lane[i] ? aphi_larger_of(lane, strlen(w->cast->threads[i]) + 2) : lane;
    for (size_t i = 0; i < w->cast->thread_count; i++)
        if (w->lane[i]) {
            w->middle[i] = at + lane / 2;
            at += lane;
        }
    w->width = at;
    w->row = aphi_alloc((at + 1) * sizeof *w->row);
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

static void clear_row(drawing *w)
{
    for (size_t i = 0; i < w->width; i++)
        w->row[i] = " ";
    for (size_t i = 0; i < w->cast->thread_count; i++)
        if (w->lane[i])
            w->row[w->middle[i]] = w->g->line;
}

static void put_row(const drawing *w)
{
    for (size_t i = 0; i < w->width; i++)
        aphi_buffer_str(w->out, w->row[i]);
    aphi_buffer_byte(w->out, ' ');
}

static void draw_arrow(drawing *w, unsigned from, unsigned to, bool sync)
{
    size_t a = w->middle[from], b = w->middle[to], low = a < b ? a : b, high = a < b ? b : a;
    const char *shaft = sync ? w->g->solid : w->g->dashed;
    for (size_t i = low + 1; i < high; i++)
        w->row[i] = w->row[i] == w->g->line ? w->g->cross : shaft;
    w->row[a] = a < b ? w->g->from_left : w->g->from_right;
    if (a < b)
        w->row[b - 1] = w->g->right;
    else if (a > b)
        w->row[b + 1] = w->g->left;
}

static void draw_event(drawing *w, const aphi_recorded_event *e, bool marked)
{
    clear_row(w);
    if (marked)
        w->row[1] = w->g->mark;
    if (e->op == APHI_ALTS_LOCAL)
        w->row[w->middle[e->id.thread]] = w->g->event;
    else if (e->op == APHI_ALTS_RECEIVE)
        draw_arrow(w, e->peer.thread, e->id.thread, e->sync);
    else if (w->d->local_thread >= 0) /* for a thread that runs alone, the driver receives immediately */
        draw_arrow(w, e->id.thread, e->peer.thread, e->sync);
    else
        w->row[w->middle[e->id.thread]] = w->g->sent;
    aphi_buffer_str(w->out, marked ? aphi_terminal_ink(w->terminal, APHI_INK_ALARM) : "");
    put_row(w);
    put_words(w, e);
    aphi_buffer_str(w->out, marked ? aphi_terminal_ink(w->terminal, APHI_INK_NONE) : "");
    aphi_buffer_byte(w->out, '\n');
}

/* Begins a remark attached to a lane; the lanes to its right are not drawn. */
static void begin_remark(drawing *w, unsigned thread, const char *side)
{
    clear_row(w);
    for (size_t i = 0; i < w->middle[thread]; i++)
        aphi_buffer_str(w->out, w->row[i]);
    aphi_buffer_format(w->out, "%s in the %s", w->g->corner, side);
}

static void remark_races(drawing *w, const char *side, const aphi_race_set *r)
{
    begin_remark(w, w->d->id.thread, side);
    aphi_buffer_str(w->out, r->count ? ", it could have received instead: " : ", it could have received nothing else");
    if (r->count)
        aphi_divergence_diagram_rivals(w->out, w->cast, r);
    aphi_buffer_byte(w->out, '\n');
}

/* Draws an event that only the model or only the program has. */
static void remark_event(drawing *w)
{
    const aphi_difference *d = w->d;
    clear_row(w);
    w->row[1] = w->row[w->middle[d->id.thread]] = w->g->mark;
    put_row(w);
    put_place(w, d->id);
    aphi_buffer_byte(w->out, '\n');
    begin_remark(w, d->id.thread, "model: ");
    if (d->expected)
        put_event_text(w->out, w->cast, d->expected);
    else
        aphi_buffer_str(w->out, "no more events");
    aphi_buffer_byte(w->out, '\n');
    begin_remark(w, d->id.thread, "program: ");
    const char *does = strstr(d->detail, ", the program ");
    aphi_buffer_format(w->out, "it %s\n", does ? does + strlen(", the program ") : "does not reach it");
}

static void draw_names(const drawing *w)
{
    size_t at = 0;
    for (size_t i = 0; i < w->cast->thread_count; i++) {
        size_t n = strlen(w->cast->threads[i]);
        if (!w->lane[i])
            continue;
        size_t start = w->middle[i] - (n - 1) / 2;
        aphi_buffer_format(w->out, "%*s%s", start > at ? (int)(start - at) : 0, "", w->cast->threads[i]);
        at = aphi_larger_of(at, start) + n;
    }
    aphi_buffer_byte(w->out, '\n');
}

void aphi_divergence_diagram_draw(aphi_buffer *out, const aphi_layout *cast, const aphi_difference *d,
                                  const aphi_terminal *t, size_t rows)
{
    drawing w = {.out = out, .cast = cast, .d = d, .terminal = t, .g = t->unicode ? &unicode : &ascii};
    bool found = false;
    w.shown = aphi_alloc_zero((d->run.event_count + 1) * sizeof *w.shown);
    choose_rows(&w, rows);
    place_lanes(&w);
    draw_names(&w);
    for (size_t i = 0; i < d->run.event_count; i++) {
        bool marked = d->id.index && aphi_event_id_equal(d->run.events[i].id, d->id);
        if (!w.shown[i])
            continue;
        draw_event(&w, &d->run.events[i], marked);
        found |= marked;
        if (marked && (d->violation == APHI_VIOLATION_RACE_MISSING || d->violation == APHI_VIOLATION_RACE_EXTRA)) {
            remark_races(&w, "model", &d->model);
            remark_races(&w, "program", &d->program);
        }
    }
    if (d->id.index && !found)
        remark_event(&w);
    aphi_races_free(&w.races);
    free(w.shown);
    free(w.row);
}
