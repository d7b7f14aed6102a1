/* SPDX-License-Identifier: Apache-2.0
 *
 * swimlanes.c - rows of a space-time diagram, and its drawing for a terminal.
 *
 * Idea:       the next row is the first ready event, in the order of the lanes. A send is ready when its receive is
 *             next in its lane, so most messages take one row. Only if no event is ready, a send is drawn alone, and
 *             its receive later. Lanes are on the left and texts on the right, so texts never hide arrows.
 * Invariants: 1. rows go down in each lane, from a send to its receive, and from `after` to the event
 *             2. every event is in exactly one row
 * Cost:       rows times lanes. */
#include "report/swimlanes.h"

#include "base/memory.h"
#include "report/text_line.h"
#include "report/utf8.h"

#include <assert.h>
#include <string.h>

enum { STEP_MIN = 4, STEP_MAX = 14, TEXT_MIN = 24, LABEL_COLUMNS = 200 };

/* ---- rows -------------------------------------------------------------------------------------------------------- */

typedef struct order {
    const aphi_swimlanes *s;
    size_t *next;  /* per lane: the index of its next event, or count */
    size_t *later; /* per event: the next event of its lane */
    bool *done;
} order;

static bool is_done(const order *o, size_t event)
{
    return event >= o->s->count || o->done[event];
}

/* Returns true if the event is next in its lane and its `after` is done; ignores its partner. */
static bool is_next(const order *o, size_t event)
{
    const aphi_swimlanes_event *e = &o->s->events[event];
    return o->next[e->lane] == event && is_done(o, e->after);
}

/* Returns true if the event can be drawn now, a send together with its receive. */
static bool is_ready(const order *o, size_t event, aphi_swimlanes_row *row)
{
    const aphi_swimlanes_event *e = &o->s->events[event];
    *row = (aphi_swimlanes_row){.event = event, .receive = APHI_SWIMLANES_NONE};
    if (!is_next(o, event))
        return false;
    if (e->kind == APHI_ALTS_LOCAL || e->partner >= o->s->count)
        return true;
    if (e->kind == APHI_ALTS_RECEIVE)
        return o->done[e->partner];
    row->receive = e->partner;
    return !o->done[e->partner] && is_next(o, e->partner);
}

static bool is_ready_alone(const order *o, size_t event, aphi_swimlanes_row *row)
{
    const aphi_swimlanes_event *e = &o->s->events[event];
    *row = (aphi_swimlanes_row){.event = event, .receive = APHI_SWIMLANES_NONE};
    return is_next(o, event) && e->kind == APHI_ALTS_SEND && !e->sync;
}

static bool is_left(const order *o, size_t event, aphi_swimlanes_row *row)
{
    *row = (aphi_swimlanes_row){.event = event, .receive = APHI_SWIMLANES_NONE};
    return o->next[o->s->events[event].lane] == event;
}

static bool find_row(const order *o, aphi_swimlanes_row *row,
                 bool (*fits)(const order *o, size_t event, aphi_swimlanes_row *row))
{
    for (size_t lane = 0; lane < o->s->lane_count; lane++)
        if (o->next[lane] < o->s->count && fits(o, o->next[lane], row))
            return true;
    return false;
}

/* Returns the mark of the send or of the receive; unchanged only if both are. */
static aphi_swimlanes_mark mark_of(const aphi_swimlanes *s, const aphi_swimlanes_row *row)
{
    aphi_swimlanes_mark a = s->events[row->event].mark;
    aphi_swimlanes_mark b = row->receive != APHI_SWIMLANES_NONE ? s->events[row->receive].mark : a;
    if (a == APHI_SWIMLANES_SAME || b == APHI_SWIMLANES_SAME)
        return a == APHI_SWIMLANES_SAME ? b : a;
    return a > b ? a : b;
}

/* Adds an event to the last row. */
static void mark_done(order *o, aphi_swimlanes_rows *r, size_t event)
{
    if (event >= o->s->count)
        return;
    size_t lane = o->s->events[event].lane;
    o->done[event] = true;
    o->next[lane] = o->later[event];
    r->row_of[event] = r->count;
    r->end[lane] = r->count + 1;
}

aphi_swimlanes_rows aphi_swimlanes_order(const aphi_swimlanes *s)
{
    aphi_swimlanes_rows r = {.rows = aphi_alloc((s->count + 1) * sizeof *r.rows),
                             .row_of = aphi_alloc((s->count + 1) * sizeof *r.row_of),
                             .end = aphi_alloc_zero((s->lane_count + 1) * sizeof *r.end)};
    order o = {.s = s, .next = aphi_alloc((s->lane_count + 1) * sizeof *o.next),
               .later = aphi_alloc((s->count + 1) * sizeof *o.later), .done = aphi_alloc_zero(s->count + 1)};
    for (size_t lane = 0; lane < s->lane_count; lane++)
        o.next[lane] = s->count;
    for (size_t i = s->count; i-- > 0;) {
        assert(s->events[i].lane < s->lane_count);
        o.later[i] = o.next[s->events[i].lane];
        o.next[s->events[i].lane] = i;
    }
    for (aphi_swimlanes_row *row = r.rows;
         find_row(&o, row, is_ready) || find_row(&o, row, is_ready_alone) || find_row(&o, row, is_left); row++) {
        row->mark = mark_of(s, row);
        mark_done(&o, &r, row->event);
        mark_done(&o, &r, row->receive);
        r.count++;
    }
    APHI_FREE_ALL(o.next, o.later, o.done);
    return r;
}

void aphi_swimlanes_rows_free(aphi_swimlanes_rows *r)
{
    APHI_FREE_ALL(r->rows, r->row_of, r->end);
}

/* ---- the terminal ------------------------------------------------------------------------------------------------ */

typedef struct drawing {
    const aphi_swimlanes *s;
    const aphi_terminal *t;
    aphi_buffer *out;
    aphi_swimlanes_rows r;
    size_t gutter, step, text;
    aphi_text_line line;
} drawing;

static size_t lane_column(const drawing *d, size_t lane)
{
    return d->gutter + 1 + lane * d->step + d->step / 2;
}

static uint32_t glyph(const drawing *d, uint32_t unicode, char ascii)
{
    return d->t->unicode ? unicode : (uint32_t)(unsigned char)ascii;
}

static aphi_ink ink_of(aphi_swimlanes_mark mark)
{
    switch (mark) {
    case APHI_SWIMLANES_SAME: return APHI_INK_DIM;
    case APHI_SWIMLANES_CHANGED: return APHI_INK_YELLOW;
    case APHI_SWIMLANES_WRONG: return APHI_INK_ALARM;
    default: return APHI_INK_NONE;
    }
}

/* Draws the lanes that have not ended at the row; blocked lanes continue to the end. */
static void draw_lanes(drawing *d, size_t row)
{
    for (size_t lane = 0; lane < d->s->lane_count; lane++) {
        bool waits = d->s->ends && d->s->ends[lane];
        if (row < d->r.end[lane])
            aphi_text_line_put(&d->line, lane_column(d, lane), glyph(d, 0x2502, '|'), APHI_INK_DIM);
        else if (waits)
            aphi_text_line_put(&d->line, lane_column(d, lane), glyph(d, 0x2506, ':'), APHI_INK_DIM);
    }
}

static void draw_arrow(drawing *d, size_t from, size_t to, bool late, aphi_ink ink)
{
    size_t a = lane_column(d, from), b = lane_column(d, to), low = a < b ? a : b, high = a < b ? b : a;
    for (size_t x = low + 1; x < high; x++) {
        bool crosses = !aphi_text_line_blank(&d->line, x, x + 1);
        uint32_t line = late ? glyph(d, 0x2504, '.') : glyph(d, 0x2500, '-');
        aphi_text_line_put(&d->line, x, crosses ? glyph(d, 0x253c, '+') : line, ink);
    }
    aphi_text_line_put(&d->line, a, a < b ? glyph(d, 0x251c, '+') : glyph(d, 0x2524, '+'), ink);
    aphi_text_line_put(&d->line, a < b ? b - 1 : b + 1, a < b ? glyph(d, 0x25b6, '>') : glyph(d, 0x25c0, '<'), ink);
}

static void draw_shape(drawing *d, const aphi_swimlanes_row *row, aphi_ink ink)
{
    const aphi_swimlanes_event *e = &d->s->events[row->event];
    if (row->receive != APHI_SWIMLANES_NONE)
        draw_arrow(d, e->lane, d->s->events[row->receive].lane, false, ink);
    else if (e->kind == APHI_ALTS_RECEIVE && e->partner < d->s->count)
        draw_arrow(d, d->s->events[e->partner].lane, e->lane, true, ink);
    else
        aphi_text_line_put(&d->line, lane_column(d, e->lane),
                       e->kind == APHI_ALTS_LOCAL ? glyph(d, 0x25cb, 'o') : glyph(d, 0x25cf, '*'), ink);
}

/* Appends clean text of up to `columns` columns. */
static void put_clean(const drawing *d, const char *text, size_t columns, aphi_buffer *out)
{
    aphi_buffer clean = {0};
    aphi_utf8_clean(&clean, text, d->t->unicode);
    aphi_utf8_cut_middle(out, aphi_buffer_text(&clean), columns, d->t->unicode);
    aphi_buffer_free(&clean);
}

/* Appends the text of a row: label, row of the other end, notes. */
static void put_row_text(const drawing *d, const aphi_swimlanes_row *row, aphi_buffer *out)
{
    const aphi_swimlanes *s = d->s;
    const aphi_swimlanes_event *e = &s->events[row->event];
    const char *more = row->receive != APHI_SWIMLANES_NONE ? s->events[row->receive].note : NULL;
    put_clean(d, e->label, LABEL_COLUMNS, out);
    if (row->receive == APHI_SWIMLANES_NONE && e->kind == APHI_ALTS_SEND && e->partner >= s->count)
        aphi_buffer_str(out, " (never received)");
    else if (row->receive == APHI_SWIMLANES_NONE && e->kind == APHI_ALTS_SEND)
        aphi_buffer_format(out, " (received in %zu)", d->r.row_of[e->partner] + 1);
    else if (e->kind == APHI_ALTS_RECEIVE && e->partner < s->count)
        aphi_buffer_format(out, " (sent in %zu)", d->r.row_of[e->partner] + 1);
    for (int i = 0; i < 2; i++, e = NULL) {
        const char *note = e ? e->note : more;
        if (note) {
            aphi_buffer_str(out, "; ");
            aphi_utf8_clean(out, note, d->t->unicode);
        }
    }
}

static void draw_row(drawing *d, size_t i)
{
    const aphi_swimlanes_row *row = &d->r.rows[i];
    aphi_ink ink = ink_of(row->mark);
    aphi_buffer words = {0}, number = {0};
    size_t room = d->t->columns > d->text + TEXT_MIN ? d->t->columns - d->text : TEXT_MIN;
    draw_lanes(d, i);
    draw_shape(d, row, ink);
    if (row->mark == APHI_SWIMLANES_CHANGED)
        aphi_text_line_put(&d->line, 0, glyph(d, 0x2260, '~'), ink);
    if (row->mark == APHI_SWIMLANES_WRONG)
        aphi_text_line_put(&d->line, 0, glyph(d, 0x2717, 'X'), ink);
    aphi_buffer_format(&number, "%zu", i + 1);
    aphi_text_line_bytes(&d->line, d->gutter - number.n, number.data, number.n, APHI_INK_DIM);
    put_row_text(d, row, &words);
    for (const char *at = aphi_buffer_text(&words);;) {
        size_t n = aphi_utf8_wrap(at, strlen(at), room);
        aphi_text_line_bytes(&d->line, d->text, at, n, ink);
        aphi_text_line_flush(&d->line, d->out, d->t);
        at += n + strspn(at + n, " ");
        if (!*at)
            break;
        draw_lanes(d, i + 1);
    }
    aphi_buffer_free(&words);
    aphi_buffer_free(&number);
}

static void draw_names(drawing *d)
{
    for (size_t lane = 0; lane < d->s->lane_count; lane++) {
        aphi_buffer name = {0};
        put_clean(d, d->s->lanes[lane], d->step - 1, &name);
        size_t x = lane_column(d, lane) - aphi_utf8_columns(aphi_buffer_text(&name)) / 2;
        aphi_text_line_text(&d->line, x, name.data, APHI_INK_BOLD);
        aphi_buffer_free(&name);
    }
    aphi_text_line_flush(&d->line, d->out, d->t);
}

static void lay_out(drawing *d)
{
    const aphi_swimlanes *s = d->s;
    size_t widest = 2, digits = 1;
    d->r = aphi_swimlanes_order(s);
    for (size_t n = d->r.count; n >= 10; n /= 10)
        digits++;
    for (size_t lane = 0; lane < s->lane_count; lane++)
        widest = aphi_larger_of(widest, aphi_utf8_columns(s->lanes[lane]));
    d->gutter = 2 + digits;
    size_t most = d->t->columns > d->gutter + TEXT_MIN ? d->t->columns - d->gutter - TEXT_MIN : 0;
    most /= s->lane_count ? s->lane_count : 1;
    d->step = widest + 2 < STEP_MAX ? widest + 2 : STEP_MAX;
    d->step = d->step > most ? most : d->step;
    d->step = d->step < STEP_MIN ? STEP_MIN : d->step < 6 && most >= 6 ? 6 : d->step;
    d->text = d->gutter + 1 + s->lane_count * d->step + 2;
}

void aphi_swimlanes_draw(aphi_buffer *out, const aphi_swimlanes *s, const aphi_terminal *t)
{
    drawing d = {.s = s, .t = t, .out = out};
    lay_out(&d);
    if (s->title)
        aphi_terminal_line(out, t, APHI_INK_BOLD, "", s->title);
    draw_names(&d);
    for (size_t i = 0; i < d.r.count; i++)
        draw_row(&d, i);
    for (size_t lane = 0; s->ends && lane < s->lane_count; lane++)
        if (s->ends[lane])
            aphi_terminal_line(out, t, APHI_INK_NONE, "  ", s->ends[lane]);
    if (s->remark)
        aphi_terminal_line(out, t, APHI_INK_DIM, "  ", s->remark);
    aphi_text_line_deinit(&d.line);
    aphi_swimlanes_rows_free(&d.r);
}
