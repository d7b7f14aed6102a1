/* SPDX-License-Identifier: Apache-2.0
 *
 * swimlanes_page.c - space-time diagrams of programs on a self-contained page.
 *
 * Idea:       the diagram is as on the terminal (swimlanes.c), but arrows slant from the row of the send to the row of
 *             the receive. Each row has one event or one message, so labels never overlap.
 * Safety:     there is no script. Every text goes through add_text, which escapes characters that could begin or end
 *             markup, and direction marks. The content security policy allows the two styles by hash, and nothing else.
 *             */
#include "report/swimlanes.h"

#include "report/utf8.h"

#include "page.h"

#include <string.h>

enum {
    TOP = 44, ROW = 26, LEFT = 48, RIGHT = 24, LANE_MIN = 74, LANE_MAX = 170, DIGIT = 8, /* pixels */
    LABEL_MAX = 60, NAME_MAX = 20, NOTE_MAX = 300,                                       /* columns */
};

/* ---- text -------------------------------------------------------------------------------------------------------- */

/* Appends up to `most` characters of text. */
static void add_text(aphi_buffer *out, const char *text, size_t most)
{
    aphi_utf8_html(out, text, strlen(text), aphi_utf8_head(text, most), "\\u000a");
}

/* ---- layout ------------------------------------------------------------------------------------------------------ */

typedef struct picture {
    const aphi_swimlanes *s;
    aphi_swimlanes_rows r;
    size_t lane_width, width, height;
} picture;

static size_t shown_columns(const char *text, size_t most)
{
    size_t n = text ? aphi_utf8_columns(text) : 0;
    return n < most ? n : most + 1;
}

static size_t x_of(const picture *p, size_t event)
{
    return LEFT + p->s->events[event].lane * p->lane_width + p->lane_width / 2;
}

static size_t y_of(const picture *p, size_t event)
{
    return TOP + p->r.row_of[event] * ROW + ROW / 2;
}

static size_t notes_x(const picture *p)
{
    return LEFT + p->s->lane_count * p->lane_width + RIGHT;
}

static picture lay_out(const aphi_swimlanes *s)
{
    size_t label = 0, note = 0, name = 0;
    picture p = {.s = s, .r = aphi_swimlanes_order(s)};
    for (size_t i = 0; i < s->count; i++) {
        label = aphi_larger_of(label, shown_columns(s->events[i].label, LABEL_MAX));
        note = aphi_larger_of(note, shown_columns(s->events[i].note, NOTE_MAX));
    }
    for (size_t lane = 0; lane < s->lane_count; lane++)
        name = aphi_larger_of(name, shown_columns(s->lanes[lane], NAME_MAX));
    p.lane_width = aphi_larger_of(label, name) * DIGIT + 20;
    p.lane_width = p.lane_width < LANE_MIN ? LANE_MIN : p.lane_width > LANE_MAX ? LANE_MAX : p.lane_width;
    p.width = notes_x(&p) + aphi_larger_of(note, label) * DIGIT + RIGHT;
    p.height = TOP + p.r.count * ROW + ROW;
    return p;
}

/* ---- the picture ------------------------------------------------------------------------------------------------- */

static void add_line(aphi_buffer *out, const char *class, size_t x1, size_t y1, size_t x2, size_t y2)
{
    aphi_buffer_format(out, "<line class=\"%s\" x1=\"%zu\" y1=\"%zu\" x2=\"%zu\" y2=\"%zu\"/>", class, x1, y1, x2, y2);
}

static void add_lane(const picture *p, size_t lane, aphi_buffer *out)
{
    size_t x = LEFT + lane * p->lane_width + p->lane_width / 2, bottom = p->height - ROW / 2;
    size_t end = TOP + p->r.end[lane] * ROW;
    aphi_buffer_format(out, "<text class=\"name\" x=\"%zu\" y=\"%d\"><title>", x, TOP - 16);
    add_text(out, p->s->lanes[lane], NOTE_MAX);
    aphi_buffer_str(out, "</title>");
    add_text(out, p->s->lanes[lane], NAME_MAX);
    aphi_buffer_str(out, "</text>");
    add_line(out, "lane", x, TOP - 8, x, end);
    if (p->s->ends && p->s->ends[lane])
        add_line(out, "waits", x, end, x, bottom);
    aphi_buffer_byte(out, '\n');
}

/* Draws a line that ends before the receive, and a triangle as its head. The length is approximated without a square
 * root: the larger distance plus 0.4 of the smaller one. */
static void add_arrow(const picture *p, size_t send, size_t receive, aphi_buffer *out)
{
    double x1 = (double)x_of(p, send), y1 = (double)y_of(p, send), x2 = (double)x_of(p, receive);
    double y2 = (double)y_of(p, receive), dx = x2 - x1, dy = y2 - y1;
    double wide = dx < 0 ? -dx : dx, high = dy < 0 ? -dy : dy;
    double length = wide > high ? wide + high * 0.4 : high + wide * 0.4;
    length = length > 1 ? length : 1;
    dx /= length;
    dy /= length;
    aphi_buffer_format(out, "<path class=\"arrow\" d=\"M%.1f %.1fL%.1f %.1f\"/>", x1, y1, x2 - dx * 9, y2 - dy * 9);
    aphi_buffer_format(out, "<path class=\"head\" d=\"M%.1f %.1fL%.1f %.1fL%.1f %.1fZ\"/>", x2 - dx, y2 - dy,
                       x2 - dx * 11 - dy * 4.5, y2 - dy * 11 + dx * 4.5, x2 - dx * 11 + dy * 4.5,
                       y2 - dy * 11 - dx * 4.5);
}

static const char *class_of(aphi_swimlanes_mark mark)
{
    static const char *const names[] = {
        [APHI_SWIMLANES_PLAIN] = "event", [APHI_SWIMLANES_SAME] = "event same",
        [APHI_SWIMLANES_CHANGED] = "event changed", [APHI_SWIMLANES_WRONG] = "event wrong"};
    return names[mark];
}

/* Adds the label: above a horizontal arrow, else beside the end in this row. */
static void add_label(const picture *p, const aphi_swimlanes_row *row, aphi_buffer *out)
{
    const aphi_swimlanes_event *e = &p->s->events[row->event];
    bool rightwards = e->partner < p->s->count && p->s->events[e->partner].lane > e->lane;
    size_t x = x_of(p, row->event), y = y_of(p, row->event) + 4;
    const char *class = "label";
    if (row->receive != APHI_SWIMLANES_NONE) {
        /* The label of a long arrow is near the sender; other lanes have no events in this row. */
        size_t other = x_of(p, row->receive);
        x = other > x ? (x + (other - x < 2 * p->lane_width ? (other - x) / 2 : p->lane_width / 2))
                      : (x - (x - other < 2 * p->lane_width ? (x - other) / 2 : p->lane_width / 2));
        y -= 9;
        class = "label middle";
    } else if (rightwards && e->kind != APHI_ALTS_LOCAL) {
        x -= 10;
        class = "label left";
    } else {
        x += 10;
    }
    aphi_buffer_format(out, "<text class=\"%s\" x=\"%zu\" y=\"%zu\">", class, x, y);
    add_text(out, e->label, LABEL_MAX);
    aphi_buffer_str(out, "</text>");
}

static void add_title(const picture *p, size_t event, aphi_buffer *out)
{
    static const char *const verbs[] = {[APHI_ALTS_SEND] = " sends ", [APHI_ALTS_RECEIVE] = " receives ",
                                        [APHI_ALTS_LOCAL] = ": "};
    const aphi_swimlanes_event *e = &p->s->events[event];
    add_text(out, p->s->lanes[e->lane], NOTE_MAX);
    aphi_buffer_str(out, verbs[e->kind]);
    add_text(out, e->label, NOTE_MAX);
    if (e->partner < p->s->count) {
        aphi_buffer_str(out, e->kind == APHI_ALTS_SEND ? " to " : " from ");
        add_text(out, p->s->lanes[p->s->events[e->partner].lane], NOTE_MAX);
    } else if (e->kind == APHI_ALTS_SEND) {
        aphi_buffer_str(out, ", never received");
    }
}

static void add_notes(const picture *p, const aphi_swimlanes_row *row, aphi_buffer *out)
{
    const char *first = p->s->events[row->event].note;
    const char *second = row->receive != APHI_SWIMLANES_NONE ? p->s->events[row->receive].note : NULL;
    if (!first && !second)
        return;
    aphi_buffer_format(out, "<text class=\"note\" x=\"%zu\" y=\"%zu\">", notes_x(p), y_of(p, row->event) + 4);
    add_text(out, first ? first : "", NOTE_MAX);
    aphi_buffer_str(out, first && second ? "; " : "");
    add_text(out, second ? second : "", NOTE_MAX);
    aphi_buffer_str(out, "</text>");
}

static void add_row(const picture *p, size_t i, aphi_buffer *out)
{
    const aphi_swimlanes_row *row = &p->r.rows[i];
    const aphi_swimlanes_event *e = &p->s->events[row->event];
    size_t x = x_of(p, row->event), y = y_of(p, row->event);
    aphi_buffer_format(out, "<g class=\"%s\"><title>", class_of(row->mark));
    add_title(p, row->event, out);
    aphi_buffer_format(out, "</title><text class=\"row\" x=\"%d\" y=\"%zu\">%zu</text>", LEFT - 14, y + 4, i + 1);
    if (row->receive != APHI_SWIMLANES_NONE)
        add_arrow(p, row->event, row->receive, out);
    else if (e->kind == APHI_ALTS_RECEIVE && e->partner < p->s->count)
        add_arrow(p, e->partner, row->event, out);
    if (e->kind == APHI_ALTS_LOCAL)
        aphi_buffer_format(out, "<circle class=\"ring\" cx=\"%zu\" cy=\"%zu\" r=\"4.5\"/>", x, y);
    else if (row->receive == APHI_SWIMLANES_NONE)
        aphi_buffer_format(out, "<circle class=\"dot\" cx=\"%zu\" cy=\"%zu\" r=\"3.5\"/>", x, y);
    add_label(p, row, out);
    add_notes(p, row, out);
    aphi_buffer_str(out, "</g>\n");
}

void aphi_swimlanes_svg(aphi_buffer *out, const aphi_swimlanes *s)
{
    picture p = lay_out(s);
    aphi_buffer_format(out, "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%zu\" height=\"%zu\" "
                            "viewBox=\"0 0 %zu %zu\" role=\"img\">\n<title>", p.width, p.height, p.width, p.height);
    add_text(out, s->title ? s->title : "a sequence", NOTE_MAX);
    aphi_buffer_str(out, "</title>\n");
    for (size_t lane = 0; lane < s->lane_count; lane++)
        add_lane(&p, lane, out);
    for (size_t i = 0; i < p.r.count; i++)
        add_row(&p, i, out);
    aphi_buffer_str(out, "</svg>\n");
    aphi_swimlanes_rows_free(&p.r);
}

/* ---- the page ---------------------------------------------------------------------------------------------------- */

void aphi_swimlanes_page_begin(aphi_buffer *out, const char *title, const char *lead)
{
    aphi_buffer_str(out,
                    "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
                    "style-src 'sha256-" PAGE_CSS_HASH "' 'sha256-" SWIMLANES_CSS_HASH "'; "
                    "base-uri 'none'; form-action 'none'\">\n"
                    "<meta name=\"referrer\" content=\"no-referrer\">\n"
                    "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>");
    add_text(out, title, NOTE_MAX);
    aphi_buffer_str(out, "</title>\n<style>");
    aphi_buffer_add(out, page_css, sizeof page_css);
    aphi_buffer_str(out, "</style>\n<style>");
    aphi_buffer_add(out, swimlanes_css, sizeof swimlanes_css);
    aphi_buffer_str(out, "</style>\n</head>\n<body>\n<main>\n<h1>");
    add_text(out, title, NOTE_MAX);
    aphi_buffer_str(out, "</h1>\n<p class=\"headline\">");
    add_text(out, lead, SIZE_MAX);
    aphi_buffer_str(out, "</p>\n<p class=\"key faint\"><span>time runs down</span><span>\u25cf send or receive"
                         "</span><span>\u25cb local event</span><span>"
                         "<b class=\"changed\">\u2500\u25b6</b> changed from the previous sequence; "
                         "unchanged events are pale</span>"
                         "<span><b class=\"wrong\">\u2500\u25b6</b> wrong</span></p>\n");
}

void aphi_swimlanes_page_add(aphi_buffer *out, const aphi_swimlanes *s)
{
    aphi_buffer_str(out, "<section class=\"card\">\n<h2>");
    add_text(out, s->title ? s->title : "", NOTE_MAX);
    aphi_buffer_str(out, "</h2>\n");
    if (s->remark) {
        aphi_buffer_str(out, "<p>");
        add_text(out, s->remark, SIZE_MAX);
        aphi_buffer_str(out, "</p>\n");
    }
    aphi_buffer_str(out, "<div class=\"swimlanes\">\n");
    aphi_swimlanes_svg(out, s);
    aphi_buffer_str(out, "</div>\n");
    bool any = false;
    for (size_t lane = 0; s->ends && lane < s->lane_count; lane++) {
        if (!s->ends[lane])
            continue;
        aphi_buffer_str(out, any ? "<li>" : "<ul class=\"waiting\">\n<li>");
        add_text(out, s->ends[lane], NOTE_MAX);
        aphi_buffer_str(out, "</li>\n");
        any = true;
    }
    aphi_buffer_str(out, any ? "</ul>\n</section>\n" : "</section>\n");
}

void aphi_swimlanes_page_pair(aphi_buffer *out, const aphi_swimlanes *left, const aphi_swimlanes *right)
{
    aphi_buffer_str(out, "<div class=\"pair\">\n");
    aphi_swimlanes_page_add(out, left);
    aphi_swimlanes_page_add(out, right);
    aphi_buffer_str(out, "</div>\n");
}

void aphi_swimlanes_page_end(aphi_buffer *out)
{
    aphi_buffer_str(out, "</main>\n</body>\n</html>\n");
}
