/* SPDX-License-Identifier: Apache-2.0
 *
 * history_diagram.c - drawing of a concurrent history: a lane for each client, time from left to right.
 *
 * Idea:       choose the operations; rank their events by time; give each operation a row among those of its client, so
 *             that no two in a row overlap; split the ranks into bands that fit the terminal; place the events of a
 *             band from left to right, each as far left as the labels allow; print the rows.
 * Invariants: 1. In a band, columns increase with ranks, and by two from a return to the next call, so that operations
 *                that do not overlap are drawn apart.
 *             2. An operation is drawn, with its label, in the bands that contain its call or its return. A line below
 *                a band names the operations that are open during all of it.
 * Cost:       up to APHI_HISTORY_DIAGRAM_MAX operations are laid out; quadratic algorithms are fast enough.
 * Read next:  tests/unit/test_history_diagram.c, for sample drawings. */
#include "report/history_diagram.h"

#include "base/memory.h"
#include "report/text_line.h"
#include "report/utf8.h"

#include <stdlib.h>
#include <string.h>

#define EVENTS_MAX (2 * APHI_HISTORY_DIAGRAM_MAX)
#define INDENT 2
#define COLUMNS_MAX 160 /* longer lines are hard to follow */
#define LANES_MIN 24
#define LABEL_MIN 16 /* with its box, it must be narrower than LANES_MIN */
#define NOWHERE SIZE_MAX

typedef struct operation {
    const aphi_history_diagram_operation *given;
    char *label;       /* cleaned, and shortened to fit a band */
    size_t width;      /* of the whole box */
    size_t call, end;  /* ranks; end: NOWHERE if the return is not drawn */
    size_t row;
} operation;

typedef struct event {
    uint64_t when;
    operation *of;
    bool is_end;
} event;

typedef struct row {
    int64_t client;
    bool first;        /* of its client */
    size_t last;       /* the rank of the last return in the row */
} row;

typedef struct drawing {
    const aphi_history_diagram *given;
    const aphi_terminal *terminal;
    aphi_buffer *out;
    operation operations[APHI_HISTORY_DIAGRAM_MAX];
    size_t n;
    event events[EVENTS_MAX];
    size_t event_count;
    row rows[APHI_HISTORY_DIAGRAM_MAX];
    size_t row_count;
    size_t gutter;     /* columns left of the lanes */
    size_t columns;    /* of the lanes */
    uint64_t earlier, later;
    uint64_t decided;  /* return of the violated operation; later returns are not drawn */
    size_t x[EVENTS_MAX]; /* columns of the events of the current band */
    size_t from, to;      /* ranks of the current band, both inclusive */
    size_t right;         /* the column after the last one of the band */
} drawing;

/* ---- choice of operations ---------------------------------------------------------------------------------------- */

/* Returns the violated operation (the last one called, if there are several), or NULL. */
static const aphi_history_diagram_operation *violated_of(const aphi_history_diagram *d)
{
    const aphi_history_diagram_operation *found = NULL;
    for (size_t i = 0; i < d->n; i++)
        if (d->operations[i].mark == APHI_HISTORY_DIAGRAM_VIOLATED && (!found || d->operations[i].call > found->call))
            found = &d->operations[i];
    return found;
}

typedef struct candidate {
    const aphi_history_diagram_operation *operation;
    int worth;
    uint64_t distance;
} candidate;

static candidate candidate_of(const aphi_history_diagram_operation *o, const aphi_history_diagram_operation *violated)
{
    candidate c = {o, 0, UINT64_MAX - o->call};
    if (o->mark != APHI_HISTORY_DIAGRAM_PLAIN)
        c.worth = o->mark == APHI_HISTORY_DIAGRAM_VIOLATED ? 4 : 3;
    else if (violated && o->call > violated->end)
        c.worth = -1; /* called after the violation */
    else if (violated && o->call < violated->end && o->end > violated->call)
        c.worth = o->end == APHI_HISTORY_DIAGRAM_NEVER && o->call < violated->call ? 1 : 2;
    else if (violated && o->call < violated->call)
        c.worth = 1;
    return c;
}

static int by_worth(const void *a, const void *b)
{
    const candidate *p = a, *q = b;
    if (p->worth != q->worth)
        return p->worth > q->worth ? -1 : 1;
    return (p->distance > q->distance) - (p->distance < q->distance);
}

static int by_client_and_call(const void *a, const void *b)
{
    const aphi_history_diagram_operation *p = ((const operation *)a)->given, *q = ((const operation *)b)->given;
    if (p->client != q->client)
        return p->client < q->client ? -1 : 1;
    return (p->call > q->call) - (p->call < q->call);
}

static void choose_operations(drawing *d)
{
    const aphi_history_diagram *given = d->given;
    const aphi_history_diagram_operation *violated = violated_of(given);
    candidate *all = aphi_alloc(given->n * sizeof *all + 1);
    for (size_t i = 0; i < given->n; i++)
        all[i] = candidate_of(&given->operations[i], violated);
    qsort(all, given->n, sizeof *all, by_worth);
    for (; d->n < given->n && d->n < APHI_HISTORY_DIAGRAM_MAX && all[d->n].worth >= 0; d->n++)
        d->operations[d->n] = (operation){.given = all[d->n].operation};
    d->decided = violated ? violated->end : APHI_HISTORY_DIAGRAM_NEVER;
    d->earlier = given->earlier;
    d->later = given->later;
    for (size_t i = d->n; i < given->n; i++) {
        bool after = violated && all[i].operation->call > violated->call;
        *(after ? &d->later : &d->earlier) += 1;
    }
    free(all);
    qsort(d->operations, d->n, sizeof *d->operations, by_client_and_call);
}

/* ---- labels, ranks, rows ----------------------------------------------------------------------------------------- */

static const char *mark_of(const drawing *d, aphi_history_diagram_mark mark)
{
    bool unicode = d->terminal->unicode;
    switch (mark) {
    case APHI_HISTORY_DIAGRAM_VIOLATED: return unicode ? "✗ " : "X ";
    case APHI_HISTORY_DIAGRAM_RELATED: return unicode ? "• " : "* ";
    default: return "";
    }
}

/* The columns of a box besides its label: "├─ " and " ─┤", or " ─ ?". */
static size_t frame_of(const operation *o)
{
    return o->given->end == APHI_HISTORY_DIAGRAM_NEVER ? 7 : 6;
}

static void make_label(const drawing *d, operation *o)
{
    aphi_buffer clean = {0}, shown = {0};
    aphi_buffer_str(&clean, mark_of(d, o->given->mark));
    aphi_utf8_clean(&clean, o->given->label, d->terminal->unicode);
    size_t most = d->columns - frame_of(o);
    if (o->given->mark != APHI_HISTORY_DIAGRAM_VIOLATED) /* leaves room for overlapping operations */
        most = most * 2 / 5 < LABEL_MIN ? LABEL_MIN : most * 2 / 5;
    aphi_utf8_cut_middle(&shown, aphi_buffer_text(&clean), most, d->terminal->unicode);
    o->label = aphi_buffer_text(&shown); /* freed with the drawing */
    o->width = aphi_utf8_columns(o->label) + frame_of(o);
    aphi_buffer_free(&clean);
}

static int by_time(const void *a, const void *b)
{
    const event *p = a, *q = b;
    if (p->when != q->when)
        return p->when < q->when ? -1 : 1;
    return (int)p->is_end - (int)q->is_end;
}

static void rank_events(drawing *d)
{
    for (size_t i = 0; i < d->n; i++) {
        operation *o = &d->operations[i];
        o->end = NOWHERE;
        d->events[d->event_count++] = (event){o->given->call, o, false};
        if (o->given->end != APHI_HISTORY_DIAGRAM_NEVER && o->given->end <= d->decided)
            d->events[d->event_count++] = (event){o->given->end, o, true};
    }
    qsort(d->events, d->event_count, sizeof *d->events, by_time);
    for (size_t i = 0; i < d->event_count; i++) {
        operation *o = d->events[i].of;
        *(d->events[i].is_end ? &o->end : &o->call) = i;
    }
}

/* The operations are sorted by client, then by call. */
static void assign_rows(drawing *d)
{
    size_t first = 0; /* row of the current client */
    for (size_t i = 0; i < d->n; i++) {
        operation *o = &d->operations[i];
        if (!i || d->operations[i - 1].given->client != o->given->client)
            first = d->row_count;
        size_t r = first;
        while (r < d->row_count && (d->rows[r].last == NOWHERE || d->rows[r].last > o->call))
            r++;
        if (r == d->row_count)
            d->rows[d->row_count++] = (row){.client = o->given->client, .first = r == first};
        d->rows[r].last = o->end;
        o->row = r;
    }
}

static const char *lane_of(const drawing *d)
{
    return d->given->lane ? d->given->lane : "client";
}

static size_t lane_text(const drawing *d, int64_t client, char *text, size_t size)
{
    int n = client == APHI_HISTORY_DIAGRAM_ALL ? snprintf(text, size, "all")
                                               : snprintf(text, size, "%s %lld", lane_of(d), (long long)client);
    return (size_t)n;
}

static void measure_gutter(drawing *d)
{
    size_t name = strlen("line");
    for (size_t i = 0; i < d->n; i++)
        name = aphi_larger_of(name, lane_text(d, d->operations[i].given->client, NULL, 0));
    size_t columns = d->terminal->columns > COLUMNS_MAX ? COLUMNS_MAX : d->terminal->columns;
    d->gutter = INDENT + name + 2;
    /* On a very narrow terminal, lines become longer than the terminal. */
    d->columns = columns > d->gutter + LANES_MIN ? columns - d->gutter : LANES_MIN;
}

/* ---- bands ------------------------------------------------------------------------------------------------------- */

static size_t start_column(const drawing *d, const operation *o, size_t from)
{
    return o->call < from ? 0 : d->x[o->call];
}

/* The leftmost possible column of event r in a band that begins with rank `from`. */
static size_t place_event(const drawing *d, size_t from, size_t r)
{
    const event *e = &d->events[r];
    size_t x = 0;
    if (r > from)
        x = d->x[r - 1] + (d->events[r - 1].is_end && !e->is_end ? 2 : 1);
    return e->is_end ? aphi_larger_of(x, start_column(d, e->of, from) + e->of->width - 1) : x;
}

/* Places the ranks from..to. Returns the width of the band, including the labels of operations that remain open. */
static size_t lay_out_band(drawing *d, size_t from, size_t to)
{
    for (size_t r = from; r <= to; r++)
        d->x[r] = place_event(d, from, r);
    size_t right = d->x[to] + 1;
    for (size_t r = from; r <= to; r++) {
        const operation *o = d->events[r].of;
        right = o->end > to ? aphi_larger_of(right, d->x[r] + o->width) : right;
    }
    return right;
}

/* Returns the number of operations that are open after rank r and whose return is drawn. */
static size_t count_open(const drawing *d, size_t r)
{
    size_t open = 0;
    for (size_t i = 0; i < d->n; i++)
        open += d->operations[i].call <= r && d->operations[i].end > r && d->operations[i].end != NOWHERE;
    return open;
}

/* Returns the first rank of the band that ends with rank `to`. Takes as many ranks as fit, but once two thirds of the
 * columns are used, prefers a rank where few operations are open. */
static size_t band_before(drawing *d, size_t to)
{
    size_t best = to, least = SIZE_MAX;
    for (size_t from = to + 1; from-- > 0;) {
        size_t right = lay_out_band(d, from, to);
        if (right > d->columns && from < to)
            break;
        bool roomy = right < d->columns * 2 / 3;
        size_t open = from ? count_open(d, from - 1) : 0;
        if (roomy || open <= least) {
            best = from;
            least = roomy ? SIZE_MAX : open;
        }
    }
    return best;
}

/* Splits from the last event backwards: a short band is then the first one, and the violation is at the end. */
static size_t cut_bands(drawing *d, size_t *firsts)
{
    size_t n = 0;
    for (size_t end = d->event_count; end; end = firsts[n++])
        firsts[n] = band_before(d, end - 1);
    return n;
}

/* ---- boxes ------------------------------------------------------------------------------------------------------- */

static bool in_band(const drawing *d, size_t r)
{
    return r >= d->from && r <= d->to;
}

static bool is_drawn(const drawing *d, const operation *o)
{
    return in_band(d, o->call) || in_band(d, o->end);
}

/* The characters of boxes. */
typedef struct glyphs {
    uint32_t left, right, bar, onwards, never;
    uint32_t corner_left, corner_right;
} glyphs;

static glyphs glyphs_of(const drawing *d)
{
    static const glyphs unicode = {0x251c, 0x2524, 0x2500, 0x00bb, '?', 0x2570, 0x256f};
    static const glyphs ascii = {'|', '|', '-', '>', '?', '\'', '\''};
    return d->terminal->unicode ? unicode : ascii;
}

static aphi_ink frame_ink(aphi_history_diagram_mark mark)
{
    if (mark == APHI_HISTORY_DIAGRAM_PLAIN)
        return APHI_INK_DIM;
    return mark == APHI_HISTORY_DIAGRAM_VIOLATED ? APHI_INK_ALARM : APHI_INK_YELLOW;
}

static aphi_ink label_ink(aphi_history_diagram_mark mark)
{
    return mark == APHI_HISTORY_DIAGRAM_PLAIN ? APHI_INK_NONE : frame_ink(mark);
}

/* The column after the operation's last one in this band. */
static size_t end_column(const drawing *d, const operation *o)
{
    return in_band(d, o->end) ? d->x[o->end] + 1 : d->right;
}

static void draw_box(const drawing *d, aphi_text_line *l, const operation *o)
{
    glyphs g = glyphs_of(d);
    aphi_ink ink = frame_ink(o->given->mark);
    bool never = o->given->end == APHI_HISTORY_DIAGRAM_NEVER;
    size_t x = d->gutter + start_column(d, o, d->from), last = d->gutter + end_column(d, o) - 1;
    aphi_text_line_put(l, x, o->call < d->from ? g.onwards : g.left, ink);
    aphi_text_line_put(l, x + 1, g.bar, ink);
    size_t after = aphi_text_line_text(l, x + 3, o->label, label_ink(o->given->mark)) + 1;
    for (size_t i = after; i < last; i++)
        if (!never || i == after || (last - i) % 2 == 0)
            aphi_text_line_put(l, i, g.bar, ink);
    aphi_text_line_put(l, last, never ? g.never : in_band(d, o->end) ? g.right : g.onwards, ink);
}

/* ---- expected result --------------------------------------------------------------------------------------------- */

/* The width of the longest line. */
static size_t widest_line(const char *text)
{
    size_t most = 0;
    while (*text) {
        size_t bytes = strcspn(text, "\n"), columns = 0;
        for (size_t i = 0; i < bytes; i++)
            columns += ((unsigned char)text[i] & 0xc0) != 0x80;
        most = columns > most ? columns : most;
        text += bytes + (text[bytes] == '\n');
    }
    return most;
}

/* Attaches the text below the box: to the right of its left edge if it fits there, else to the left of its right edge
 * if it fits there, else wrapped, on the right if at least half of the columns are there. */
static void draw_expected(const drawing *d, aphi_text_line *l, const operation *o, const char *text)
{
    glyphs g = glyphs_of(d);
    size_t left = d->gutter + start_column(d, o, d->from), right = d->gutter + end_column(d, o) - 1;
    size_t columns = d->gutter + d->columns, width = widest_line(text);
    size_t room_right = columns > left + 3 ? columns - left - 3 : 1, room_left = right - INDENT - 2;
    bool rightwards = width <= room_right || (width > room_left && room_right >= columns / 2);
    size_t room = rightwards ? room_right : room_left;
    size_t start = rightwards ? left + 3 : width <= room ? right - 2 - width : INDENT;
    for (bool first = true; *text; first = false) {
        size_t bytes = aphi_utf8_wrap(text, strcspn(text, "\n"), room);
        size_t x = aphi_text_line_bytes(l, start, text, bytes, APHI_INK_RED);
        if (first && rightwards) {
            aphi_text_line_put(l, left, g.corner_left, APHI_INK_ALARM);
            aphi_text_line_put(l, left + 1, g.bar, APHI_INK_ALARM);
        } else if (first) {
            for (aphi_text_line_put(l, x++, 0, APHI_INK_NONE); x < right; x++)
                aphi_text_line_put(l, x, g.bar, APHI_INK_ALARM);
            aphi_text_line_put(l, right, g.corner_right, APHI_INK_ALARM);
        }
        aphi_text_line_flush(l, d->out, d->terminal);
        text += bytes;
        text += *text == '\n' ? 1 : strspn(text, " ");
    }
}

/* ---- drawing of bands -------------------------------------------------------------------------------------------- */

/* Draws the line numbers of the calls where there is room, first that of the violated operation. */
static void draw_ruler(const drawing *d, aphi_text_line *l)
{
    bool any = false;
    for (int pass = 0; pass < 2; pass++) {
        for (size_t r = d->from; r <= d->to; r++) {
            const operation *o = d->events[r].of;
            if (d->events[r].is_end || !o->given->line ||
                (o->given->mark == APHI_HISTORY_DIAGRAM_VIOLATED) != (pass == 0))
                continue;
            char number[32];
            size_t n = (size_t)snprintf(number, sizeof number, "%llu", (unsigned long long)o->given->line);
            size_t x = d->gutter + d->x[r];
            if (aphi_text_line_blank(l, x - 1, x + n + 1))
                aphi_text_line_text(l, x, number, pass ? APHI_INK_DIM : APHI_INK_RED);
            any = true;
        }
    }
    if (any) {
        aphi_text_line_text(l, INDENT, "line", APHI_INK_DIM);
        aphi_text_line_flush(l, d->out, d->terminal);
    }
}

static void draw_name(const drawing *d, aphi_text_line *l, const row *r)
{
    char name[80];
    lane_text(d, r->client, name, sizeof name);
    aphi_text_line_text(l, INDENT, name, APHI_INK_NONE);
}

/* Returns true if the expected result is drawn in this band: the one that contains the return. */
static bool is_explained_here(const drawing *d, const operation *o)
{
    return o->given->mark == APHI_HISTORY_DIAGRAM_VIOLATED && (o->end == NOWHERE || in_band(d, o->end));
}

/* The first row of a client that is not empty shows its name. Returns true once it is shown. */
static bool draw_row(const drawing *d, aphi_text_line *l, size_t r, bool named, const char *expected)
{
    const operation *violated = NULL;
    for (size_t i = 0; i < d->n; i++) {
        const operation *o = &d->operations[i];
        if (o->row != r || !is_drawn(d, o))
            continue;
        draw_box(d, l, o);
        if (is_explained_here(d, o))
            violated = o;
    }
    if (!l->n)
        return named;
    if (!named)
        draw_name(d, l, &d->rows[r]);
    aphi_text_line_flush(l, d->out, d->terminal);
    if (violated && expected)
        draw_expected(d, l, violated, expected);
    return true;
}

/* Lists the operations that are open during the whole band. */
static void draw_open(const drawing *d)
{
    aphi_buffer names = {0}, text = {0};
    for (size_t i = 0; i < d->n; i++) {
        const operation *o = &d->operations[i];
        if (o->call < d->from && o->end > d->to)
            aphi_buffer_format(&names, "%s%s (%lld)", names.n ? ", " : "", o->label, (long long)o->given->client);
    }
    if (names.n) {
        aphi_buffer_str(&text, "still open: ");
        aphi_utf8_cut(&text, aphi_buffer_text(&names), d->gutter + d->columns - INDENT - text.n, d->terminal->unicode);
        aphi_buffer_format(d->out, "%*s", INDENT, "");
        aphi_terminal_line(d->out, d->terminal, APHI_INK_DIM, "", aphi_buffer_text(&text));
    }
    aphi_buffer_free(&names);
    aphi_buffer_free(&text);
}

static void draw_band(const drawing *d, const char *expected)
{
    aphi_text_line l = {0};
    draw_ruler(d, &l);
    bool named = false;
    for (size_t r = 0; r < d->row_count; r++)
        named = draw_row(d, &l, r, named && !d->rows[r].first, expected);
    draw_open(d);
    aphi_text_line_deinit(&l);
}

/* ---- the whole drawing ------------------------------------------------------------------------------------------- */

static void draw_elision(const drawing *d, uint64_t count, const char *noun)
{
    if (!count)
        return;
    aphi_buffer text = {0};
    aphi_report_counted(&text, count, noun);
    aphi_buffer_format(d->out, "%*s", INDENT, "");
    aphi_terminal_line(d->out, d->terminal, APHI_INK_DIM, "… ", aphi_buffer_text(&text));
    aphi_buffer_free(&text);
}

static void draw_legend(const drawing *d)
{
    bool any = false;
    for (size_t i = 0; i < d->n; i++)
        any = any || d->operations[i].given->mark == APHI_HISTORY_DIAGRAM_RELATED;
    if (!any || !d->given->related)
        return;
    aphi_buffer_format(d->out, "%*s", INDENT, "");
    aphi_terminal_line(d->out, d->terminal, APHI_INK_YELLOW, mark_of(d, APHI_HISTORY_DIAGRAM_RELATED),
                       d->given->related);
}

/* Cleans text, keeping its newlines. */
static char *clean_lines(const char *text, bool unicode)
{
    aphi_buffer clean = {0}, one = {0};
    while (*text) {
        size_t bytes = strcspn(text, "\n");
        one.n = 0;
        aphi_buffer_add(&one, text, bytes);
        aphi_utf8_clean(&clean, aphi_buffer_text(&one), unicode);
        text += bytes;
        if (*text == '\n' && *++text)
            aphi_buffer_byte(&clean, '\n');
    }
    aphi_buffer_free(&one);
    return aphi_buffer_text(&clean);
}

void aphi_history_diagram_draw(aphi_buffer *out, const aphi_history_diagram *given, const aphi_terminal *t)
{
    drawing d = {.given = given, .terminal = t, .out = out};
    char *expected = given->expected ? clean_lines(given->expected, t->unicode) : NULL;
    choose_operations(&d);
    measure_gutter(&d);
    for (size_t i = 0; i < d.n; i++)
        make_label(&d, &d.operations[i]);
    rank_events(&d);
    assign_rows(&d);
    if (given->caption)
        aphi_terminal_line(out, t, APHI_INK_BOLD, "", given->caption);
    draw_elision(&d, d.earlier, "earlier operation");
    size_t firsts[EVENTS_MAX];
    for (size_t left = cut_bands(&d, firsts); left--;) {
        if (firsts[left])
            aphi_buffer_byte(out, '\n');
        d.from = firsts[left];
        d.to = (left ? firsts[left - 1] : d.event_count) - 1;
        d.right = lay_out_band(&d, d.from, d.to);
        draw_band(&d, expected);
    }
    draw_elision(&d, d.later, "later operation");
    draw_legend(&d);
    for (size_t i = 0; i < d.n; i++)
        free(d.operations[i].label);
    free(expected);
}
