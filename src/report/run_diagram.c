/* SPDX-License-Identifier: Apache-2.0
 *
 * run_diagram.c - a space-time diagram in text: participants are vertical lines, messages are arrows.
 *
 * Idea:       the connections are close together on the left, and the subject is on the right. Every arrow crosses the
 *             gap between them and has its label there. So labels are aligned, and the number of connections hardly
 *             affects their width. Connections that do not fit even with narrow headings are drawn as one line, and a
 *             column names the connection of each message.
 * Invariants: no line is wider than the terminal, unless the terminal is narrower than COLUMNS_MIN.
 * Cost:       up to `rows` messages are laid out; the others are only counted.
 * Read next:  tests/unit/test_run_diagram.c, for sample drawings. */
#include "report/run_diagram.h"

#include <antiphon/oracle.h>

#include "base/memory.h"
#include "report/difference.h"
#include "report/text_line.h"
#include "report/message_text.h"
#include "report/utf8.h"

#include <stdlib.h>
#include <string.h>

enum {
    ROWS_DEFAULT = 30,
    ROWS_WHOLE = 12,   /* if there are no more messages, all are drawn, not only those up to the failing one */
    INDENT = 2,
    COLUMNS_MAX = 120, /* longer lines are hard to follow */
    COLUMNS_MIN = 48,
    GAP_MIN = 26,      /* for a label and its arrow */
    GAP_WISH = 40,     /* below this width, shorten headings before labels */
    LEAD = 5,          /* from the last connection to the labels */
    TRAIL = 4,         /* from the end of the longest label to the subject */
    LABEL_BYTES = 1000,
    ALLOWED_SHOWN = 8,
    ALLOWED_DRAWN = 3, /* allowed responses drawn in the diagram */
    ORDER_SHOWN = 30,
    STATE_BYTES = 120,
    NAMES_SHOWN = 12,
    NAME_COLUMNS = 8,  /* "expected" */
    REMARK_COLUMNS = 24, /* a remark with less room may cross the subject's line */
};
#define PAUSE_NS INT64_C(100000000) /* longer gaps without a message are shown */

typedef struct lane {
    int64_t connection;
    size_t x;
    bool closed;
} lane;

typedef struct glyphs {
    uint32_t line, leave, arrive, cross, bar, dash, head_right, head_left, corner, wait, pause;
} glyphs;

typedef struct drawing {
    const aphi_run_diagram *given;
    const aphi_terminal *terminal;
    aphi_buffer *out;
    glyphs g;
    size_t *chosen; /* indices of events, increasing */
    size_t n;
    lane *lanes;
    size_t lane_count;
    bool has_origins; /* there are calls to several origins, and headings contain them */
    bool merged;      /* one line for all connections */
    bool numbers;     /* headings are only numbers */
    size_t time_width, gutter, name_width;
    size_t label_x, subject_x, columns;
} drawing;

/* ---- texts of events --------------------------------------------------------------------------------------------- */

bool aphi_run_event_is_outward(const aphi_run_event *m)
{
    return m->kind == APHI_RUN_EVENT_SENT || m->kind == APHI_RUN_EVENT_CLOSED;
}

static void drop_text(aphi_buffer *out, aph_value how, size_t limit)
{
    if (aph_str_is(how, "closed")) {
        aphi_buffer_str(out, "closes the connection");
    } else if (aph_str_is(how, "reset")) {
        aphi_buffer_str(out, "resets the connection");
    } else {
        aphi_buffer_str(out, "drops the connection: ");
        aphi_message_words(out, how, NULL, limit);
    }
}

void aphi_run_event_text(aphi_buffer *out, const aphi_run_event *m, aph_words *words, size_t limit)
{
    switch (m->kind) {
    case APHI_RUN_EVENT_SENT:
    case APHI_RUN_EVENT_RECEIVED: aphi_message_words(out, m->message, words, limit); break;
    case APHI_RUN_EVENT_LOST: aphi_buffer_str(out, "never arrived"); break;
    case APHI_RUN_EVENT_MALFORMED:
        aphi_buffer_str(out, "malformed: ");
        aphi_message_json(out, m->message, limit);
        break;
    case APHI_RUN_EVENT_CLOSED: aphi_buffer_str(out, "closes the connection"); break;
    case APHI_RUN_EVENT_DROPPED: drop_text(out, m->message, limit); break;
    case APHI_RUN_EVENT_QUIET: aphi_buffer_str(out, "silence: all messages have arrived"); break;
    }
}

bool aphi_action_wait_text(aphi_buffer *out, aph_value action)
{
    aph_value wait = aph_field(action, "wait"), answer = aph_field(wait, "answer"), pause = aph_field(wait, "pause_us");
    if (aph_str_is(wait, "quiet") || aph_str_is(wait, "silence")) {
        aphi_buffer_str(out, aph_str_is(wait, "quiet") ? "quiet" : "silence");
    } else if (aph_is_int(answer)) {
        aphi_buffer_format(out, "response #%lld", (long long)aph_int_of(answer));
    } else if (aph_is_int(pause)) {
        aphi_buffer_str(out, "a pause of ");
        aphi_report_duration(out, aph_int_of(pause) * 1000);
    } else {
        return false;
    }
    return true;
}

/* Returns the request of response i, or APHI_RUN_DIAGRAM_NONE. */
static size_t request_of(const aphi_run_diagram *t, size_t i)
{
    for (size_t j = i; j-- > 0;)
        if (t->events[j].label == t->events[i].label - 1)
            return j;
    return APHI_RUN_DIAGRAM_NONE;
}

/* Appends the condition for which the script's action with the label waits. Returns false if there is none. */
static bool wait_text(const aphi_run_diagram *t, int64_t label, aphi_buffer *out)
{
    for (size_t i = 0; label > 0 && i < aph_count(t->script); i++) {
        aph_value action = aph_at(t->script, i);
        if (aph_field(action, "label") == aph_int(label))
            return aphi_action_wait_text(out, action);
    }
    return false;
}

static void add_clauses(aphi_buffer *out, aph_value clauses)
{
    for (size_t i = 0; i < aph_count(clauses); i++) {
        aphi_buffer_str(out, i ? ", " : " (");
        aphi_message_plain(out, aph_at(clauses, i), LABEL_BYTES);
    }
    aphi_buffer_str(out, aph_count(clauses) ? ")" : "");
}

static void allowed_text(aphi_buffer *out, aph_value allowed, aph_words *words)
{
    aphi_message_origin(out, allowed);
    aphi_message_words(out, aph_field(allowed, "answer"), words, LABEL_BYTES);
    add_clauses(out, aph_field(allowed, "clauses"));
}

/* ---- choice of events -------------------------------------------------------------------------------------------- */

/* Chooses the events up to the failing one. */
static void choose_events(drawing *d, size_t rows)
{
    const aphi_run_diagram *t = d->given;
    size_t end = t->failing < t->count ? t->failing + 1 : t->count, request = APHI_RUN_DIAGRAM_NONE;
    rows = rows ? rows : ROWS_DEFAULT;
    if (t->count <= ROWS_WHOLE && t->count <= rows)
        end = t->count;
    size_t from = end > rows ? end - rows : 0;
    if (t->failing < t->count && t->events[t->failing].label > 0 && t->events[t->failing].label % 2 == 0)
        request = request_of(t, t->failing);
    d->chosen = aphi_alloc((end - from + 1) * sizeof *d->chosen);
    if (request < from) {
        d->chosen[d->n++] = request;
        from += end - from > 1;
    }
    while (from < end)
        d->chosen[d->n++] = from++;
}

static const aphi_run_event *event_at(const drawing *d, size_t i)
{
    return &d->given->events[d->chosen[i]];
}

static bool is_failing(const drawing *d, size_t i)
{
    return d->chosen[i] == d->given->failing;
}

/* Returns the time since the previous row, or 0 if events in between are omitted. */
static int64_t passed_before(const drawing *d, size_t i)
{
    return i && d->chosen[i - 1] + 1 == d->chosen[i] ? event_at(d, i)->at_ns - event_at(d, i - 1)->at_ns : 0;
}

/* Appends the condition for which row i waited and the time since the previous row, if any. Returns true on a wait. */
static bool wait_remark(const drawing *d, size_t i, aphi_buffer *text)
{
    const aphi_run_event *m = event_at(d, i);
    int64_t passed = passed_before(d, i);
    aphi_buffer_str(text, "waits for ");
    bool waits = aphi_run_event_is_outward(m) && wait_text(d->given, m->label, text);
    text->n = waits ? text->n : 0;
    if (passed >= PAUSE_NS) {
        aphi_buffer_str(text, waits ? ": " : "");
        aphi_report_duration(text, passed);
        aphi_buffer_str(text, waits ? "" : " without a message");
    }
    return waits;
}

static size_t lane_of(const drawing *d, int64_t connection)
{
    size_t i = 0;
    while (i < d->lane_count && d->lanes[i].connection != connection)
        i++;
    return i;
}

static int by_connection(const void *a, const void *b)
{
    const lane *p = a, *q = b;
    return (p->connection > q->connection) - (p->connection < q->connection);
}

static void find_lanes(drawing *d)
{
    d->lanes = aphi_alloc((d->n + 1) * sizeof *d->lanes);
    for (size_t i = 0; i < d->n; i++)
        if (lane_of(d, event_at(d, i)->connection) == d->lane_count)
            d->lanes[d->lane_count++] = (lane){.connection = event_at(d, i)->connection};
    qsort(d->lanes, d->lane_count, sizeof *d->lanes, by_connection);
    d->has_origins = d->lane_count && aph_origin_of(d->lanes[d->lane_count - 1].connection) > 0;
    for (size_t i = 0; i < aph_count(d->given->allowed); i++)
        d->has_origins |= aph_has(aph_at(d->given->allowed, i), aph_str("origin"));
}

/* ---- layout ------------------------------------------------------------------------------------------------------ */

static char *label_of(const drawing *d, size_t i)
{
    const aphi_run_event *m = event_at(d, i);
    aphi_buffer text = {0}, clean = {0};
    if (m->label)
        aphi_buffer_format(&text, "#%lld ", (long long)m->label);
    aphi_run_event_text(&text, m, d->given->words, LABEL_BYTES);
    aphi_utf8_clean(&clean, aphi_buffer_text(&text), d->terminal->unicode);
    aphi_buffer_free(&text);
    return aphi_buffer_text(&clean);
}

static size_t time_text(char *out, size_t size, int64_t ns)
{
    long long us = (long long)(ns < 0 ? 0 : ns) / 1000;
    return (size_t)snprintf(out, size, "%lld.%03lld", us / 1000, us % 1000);
}

static size_t name_text(const drawing *d, char *out, size_t size, int64_t connection)
{
    long long call = connection % APH_ACCEPTED, origin = aph_origin_of(connection);
    if (connection >= APH_ACCEPTED && !d->has_origins)
        return (size_t)snprintf(out, size, "call %lld", call);
    if (connection >= APH_ACCEPTED)
        return (size_t)snprintf(out, size, "call %lld @%lld", call, origin);
    return (size_t)snprintf(out, size, d->numbers ? "%lld" : "conn %lld", (long long)connection);
}

static size_t widest_name(const drawing *d)
{
    char name[32];
    size_t most = 0;
    for (size_t i = 0; i < d->lane_count; i++)
        most = aphi_larger_of(most, name_text(d, name, sizeof name, d->lanes[i].connection));
    return most;
}

/* The column of the last lane, for a spacing of the lanes. */
static size_t last_lane_x(const drawing *d, size_t spacing)
{
    return d->gutter + d->name_width / 2 + (d->lane_count ? d->lane_count - 1 : 0) * spacing;
}

/* Tries full headings, then only numbers, then one line for all connections. Returns the spacing of the lanes. */
static size_t space_lanes(drawing *d, size_t widest)
{
    size_t wish = LEAD + (widest < GAP_WISH ? widest : GAP_WISH) + TRAIL + 4;
    for (int narrow = 0; narrow < 2; narrow++) {
        d->numbers = narrow;
        d->name_width = widest_name(d);
        size_t spacing = d->name_width + 2, gap = narrow || wish < GAP_MIN ? GAP_MIN : wish;
        if (last_lane_x(d, spacing) + gap <= d->columns)
            return spacing;
    }
    d->merged = true;
    d->numbers = false;
    d->name_width = widest_name(d);
    d->gutter += d->name_width + 2;
    return 0;
}

/* Returns the width of the texts of row i in the gap. */
static size_t gap_width(const drawing *d, size_t i)
{
    aphi_buffer text = {0};
    char *label = label_of(d, i);
    size_t widest = aphi_utf8_columns(label) + 2 * is_failing(d, i);
    wait_remark(d, i, &text);
    for (size_t k = 0;; k++) {
        widest = aphi_larger_of(widest, aphi_utf8_columns(aphi_buffer_text(&text)));
        if (!is_failing(d, i) || k == aph_count(d->given->allowed))
            break;
        text.n = 0;
        aphi_buffer_format(&text, "%*s", NAME_COLUMNS + 1, "");
        allowed_text(&text, aph_at(d->given->allowed, k), d->given->words);
    }
    free(label);
    aphi_buffer_free(&text);
    return widest;
}

static void lay_out(drawing *d)
{
    char text[48];
    size_t columns = d->terminal->columns, widest = 0;
    d->columns = columns < COLUMNS_MIN ? COLUMNS_MIN : columns > COLUMNS_MAX ? COLUMNS_MAX : columns;
    d->time_width = 2;
    for (size_t i = 0; i < d->n; i++) {
        d->time_width = aphi_larger_of(d->time_width, time_text(text, sizeof text, event_at(d, i)->at_ns));
        widest = aphi_larger_of(widest, gap_width(d, i));
    }
    d->gutter = INDENT + 2 + d->time_width + 2;
    size_t spacing = space_lanes(d, widest), last = d->merged ? d->gutter : last_lane_x(d, spacing);
    for (size_t i = 0; i < d->lane_count; i++)
        d->lanes[i].x = d->merged ? d->gutter : d->gutter + d->name_width / 2 + i * spacing;
    d->label_x = last + LEAD;
    /* The heading "subject" is centred on the last line and needs columns to its right. */
    size_t least = last + GAP_MIN - 4, most = d->columns - 4;
    d->subject_x = d->label_x + widest + TRAIL;
    d->subject_x = d->subject_x < least ? least : d->subject_x > most ? most : d->subject_x;
}

/* ---- lines ------------------------------------------------------------------------------------------------------- */

static glyphs glyphs_of(const aphi_terminal *t)
{
    static const glyphs unicode = {0x2502, 0x251c, 0x2524, 0x253c, 0x2500, 0x2504, 0x25b6, 0x25c0, 0x2570, 0x250a,
                                   0x22ee};
    static const glyphs ascii = {'|', '|', '|', '+', '-', '.', '>', '<', '\'', ':', ':'};
    return t->unicode ? unicode : ascii;
}

/* Draws the lines of all participants with the character. */
static void put_lines(const drawing *d, aphi_text_line *l, uint32_t point)
{
    for (size_t i = 0; i < d->lane_count; i++)
        if (!d->lanes[i].closed || d->merged)
            aphi_text_line_put(l, d->lanes[i].x, point, APHI_INK_DIM);
    aphi_text_line_put(l, d->subject_x, point, APHI_INK_DIM);
}

/* Draws a horizontal line in the columns from..to - 1, with crossings at other lines. */
static void put_across(const drawing *d, aphi_text_line *l, size_t from, size_t to, uint32_t bar, aphi_ink ink)
{
    for (size_t x = from; x < to; x++)
        aphi_text_line_put(l, x, aphi_text_line_blank(l, x, x + 1) ? bar : d->g.cross, ink);
}

static size_t put_clean(const drawing *d, aphi_text_line *l, size_t x, const char *text, size_t end, aphi_ink ink)
{
    aphi_buffer clean = {0}, cut = {0};
    aphi_utf8_clean(&clean, text, d->terminal->unicode);
    aphi_utf8_cut(&cut, aphi_buffer_text(&clean), end > x ? end - x : 0, d->terminal->unicode);
    x = aphi_text_line_text(l, x, aphi_buffer_text(&cut), ink);
    aphi_buffer_free(&clean);
    aphi_buffer_free(&cut);
    return x;
}

static void draw_heading(const drawing *d, aphi_text_line *l)
{
    char name[32];
    size_t end = 0;
    aphi_text_line_text(l, INDENT + d->time_width, "ms", APHI_INK_DIM);
    for (size_t i = 0; i < d->lane_count && !d->merged; i++) {
        size_t n = name_text(d, name, sizeof name, d->lanes[i].connection);
        aphi_text_line_text(l, d->lanes[i].x - n / 2, name, APHI_INK_BOLD);
        end = d->lanes[i].x - n / 2 + n + 1;
    }
    if (d->merged)
        aphi_text_line_text(l, d->gutter - 3, "tester", APHI_INK_BOLD);
    else if (d->numbers)
        aphi_text_line_text(l, aphi_larger_of(d->label_x - LEAD + 4, end), "connections", APHI_INK_DIM);
    aphi_text_line_text(l, d->subject_x - 3, "subject", APHI_INK_BOLD);
    aphi_text_line_flush(l, d->out, d->terminal);
    put_lines(d, l, d->g.line);
    aphi_text_line_flush(l, d->out, d->terminal);
}

static void draw_elision(const drawing *d, aphi_text_line *l, uint64_t count, const char *noun)
{
    if (!count)
        return;
    aphi_buffer text = {0};
    aphi_buffer_str(&text, "… ");
    aphi_report_counted(&text, count, noun);
    put_lines(d, l, d->g.pause);
    put_clean(d, l, d->label_x, aphi_buffer_text(&text), d->columns, APHI_INK_DIM);
    aphi_text_line_flush(l, d->out, d->terminal);
    aphi_buffer_free(&text);
}

/* Draws a row for the wait between row i and the previous one, if there was a wait. */
static void draw_wait(const drawing *d, aphi_text_line *l, size_t i)
{
    const aphi_run_event *m = event_at(d, i);
    aphi_buffer text = {0};
    bool waits = wait_remark(d, i, &text);
    if (text.n) {
        put_lines(d, l, passed_before(d, i) >= PAUSE_NS ? d->g.pause : d->g.line);
        if (waits)
            aphi_text_line_put(l, d->lanes[lane_of(d, m->connection)].x, d->g.wait, APHI_INK_NONE);
        put_clean(d, l, d->label_x, aphi_buffer_text(&text), d->subject_x, APHI_INK_DIM);
        aphi_text_line_flush(l, d->out, d->terminal);
    }
    aphi_buffer_free(&text);
}

/* ---- arrows ------------------------------------------------------------------------------------------------------ */

static aphi_ink frame_ink(const drawing *d, size_t i)
{
    return is_failing(d, i) ? APHI_INK_ALARM : APHI_INK_DIM;
}

static void draw_gutter(const drawing *d, aphi_text_line *l, size_t i)
{
    char text[48];
    size_t n = time_text(text, sizeof text, event_at(d, i)->at_ns);
    if (is_failing(d, i))
        aphi_text_line_text(l, INDENT, d->terminal->unicode ? "✗" : "X", APHI_INK_ALARM);
    aphi_text_line_text(l, INDENT + 2 + d->time_width - n, text, APHI_INK_DIM);
    if (d->merged && event_at(d, i)->kind != APHI_RUN_EVENT_QUIET) {
        n = name_text(d, text, sizeof text, event_at(d, i)->connection);
        aphi_text_line_text(l, d->gutter - 2 - n, text, is_failing(d, i) ? APHI_INK_ALARM : APHI_INK_NONE);
    }
}

/* Draws the arrow and its label. Returns true if the label was cut. */
static bool draw_arrow(const drawing *d, aphi_text_line *l, size_t i)
{
    const aphi_run_event *m = event_at(d, i);
    aphi_ink ink = frame_ink(d, i);
    size_t x = d->lanes[lane_of(d, m->connection)].x;
    bool outward = aphi_run_event_is_outward(m), lost = m->kind == APHI_RUN_EVENT_LOST;
    uint32_t bar = lost ? d->g.dash : d->g.bar;
    put_across(d, l, x + 1, d->label_x - 1, bar, ink);
    aphi_text_line_put(l, x, outward ? d->g.leave : d->g.line, ink);
    if (!outward)
        aphi_text_line_put(l, x + 1, lost ? '?' : d->g.head_left, ink);
    char *label = label_of(d, i);
    size_t from = d->label_x, room = d->subject_x - TRAIL + 1;
    if (is_failing(d, i))
        from = aphi_text_line_text(l, from, d->terminal->unicode ? "✗ " : "X ", ink);
    bool cut = from + aphi_utf8_columns(label) > room;
    size_t after = put_clean(d, l, from, label, room, is_failing(d, i) ? ink : APHI_INK_NONE);
    put_across(d, l, after + 1, d->subject_x, bar, ink);
    if (outward)
        aphi_text_line_put(l, d->subject_x - 1, d->g.head_right, ink);
    aphi_text_line_put(l, d->subject_x, outward ? d->g.line : d->g.arrive, ink);
    free(label);
    return cut;
}

/* Returns false: the label is short. */
static bool draw_silence(const drawing *d, aphi_text_line *l, size_t i)
{
    char *label = label_of(d, i);
    put_clean(d, l, d->label_x, label, d->subject_x, frame_ink(d, i));
    free(label);
    return false;
}

/* ---- expected response ------------------------------------------------------------------------------------------- */

/* The length in bytes of the first line when text is wrapped at `columns`, at a blank in its second half. */
static size_t wrap_bytes(const char *text, size_t columns)
{
    size_t most = aphi_utf8_head(text, columns), n = aphi_utf8_wrap(text, strlen(text), columns);
    return n < most / 2 ? most : n;
}

/* Draws a wrapped remark below the failing arrow; the first one is attached to the connection's line. */
static void draw_remark(const drawing *d, aphi_text_line *l, size_t i, const char *name, const char *text,
                        bool *attached)
{
    aphi_buffer clean = {0};
    aphi_utf8_clean(&clean, text, d->terminal->unicode);
    size_t x = d->lanes[lane_of(d, event_at(d, i)->connection)].x, from = d->label_x + NAME_COLUMNS + 1;
    size_t edge = d->subject_x > from + REMARK_COLUMNS ? d->subject_x - 1 : d->columns;
    for (const char *at = aphi_buffer_text(&clean); *at; name = "") {
        size_t bytes = wrap_bytes(at, edge > from ? edge - from : 1), name_x = from - 1 - strlen(name);
        put_lines(d, l, d->g.line);
        aphi_text_line_put(l, x, *attached ? 0 : d->g.corner, APHI_INK_ALARM);
        if (!*attached)
            put_across(d, l, x + 1, name_x - 1, d->g.bar, APHI_INK_ALARM);
        aphi_text_line_text(l, name_x, name, APHI_INK_NONE);
        aphi_text_line_put(l, d->subject_x, 0, APHI_INK_NONE); /* the remark may cross this line */
        if (aphi_text_line_bytes(l, from, at, bytes, APHI_INK_RED) < d->subject_x)
            aphi_text_line_put(l, d->subject_x, d->g.line, APHI_INK_DIM);
        aphi_text_line_flush(l, d->out, d->terminal);
        *attached = true;
        at += bytes;
        at += strspn(at, " ");
    }
    aphi_buffer_free(&clean);
}

/* Returns true if an earlier entry has the same response and clauses. */
static bool is_repeated(aph_value allowed, size_t i)
{
    aph_value a = aph_at(allowed, i);
    for (size_t j = 0; j < i; j++)
        if (aph_field(aph_at(allowed, j), "answer") == aph_field(a, "answer")
            && aph_field(aph_at(allowed, j), "clauses") == aph_field(a, "clauses"))
            return true;
    return false;
}

/* Returns true if the fields that both responses have are equal or symbolic. */
static bool is_compatible(aph_value a, aph_value b)
{
    aph_value key, item;
    if (aph_kind_of(a) != APH_OBJECT || aph_kind_of(b) != APH_OBJECT)
        return a == b;
    for (size_t i = 0; aph_pair_at(a, i, &key, &item); i++) {
        aph_value other = aph_get(b, key);
        if (other && item != other && !aph_is_symbolic(item) && !aph_is_symbolic(other))
            return false;
    }
    return true;
}

/* Returns true if the response is compatible with that of an earlier entry. */
static bool is_variant(aph_value allowed, size_t i)
{
    aph_value answer = aph_field(aph_at(allowed, i), "answer");
    for (size_t j = 0; j < i; j++)
        if (is_compatible(aph_field(aph_at(allowed, j), "answer"), answer))
            return true;
    return false;
}

static void draw_allowed(const drawing *d, aphi_text_line *l, size_t i, bool *attached)
{
    aph_value allowed = d->given->allowed;
    size_t shown = 0, n = aph_count(allowed), variants = 0;
    for (size_t k = 0; k < n; k++) {
        if (is_variant(allowed, k)) {
            variants += !is_repeated(allowed, k);
            continue;
        }
        if (shown == ALLOWED_DRAWN) {
            draw_remark(d, l, i, "or", "others, see below", attached);
            return;
        }
        aphi_buffer text = {0};
        allowed_text(&text, aph_at(allowed, k), d->given->words);
        draw_remark(d, l, i, shown++ ? "or" : "expected", aphi_buffer_text(&text), attached);
        aphi_buffer_free(&text);
    }
    if (variants)
        draw_remark(d, l, i, "or", variants == 1 ? "a variant, see below" : "variants of it, see below", attached);
}

static void draw_expected(const drawing *d, aphi_text_line *l, size_t i, bool cut)
{
    const aphi_run_event *m = event_at(d, i);
    bool attached = false;
    if (cut) {
        aphi_buffer text = {0};
        aphi_run_event_text(&text, m, d->given->words, LABEL_BYTES);
        draw_remark(d, l, i, aphi_run_event_is_outward(m) ? "sent" : "got", aphi_buffer_text(&text), &attached);
        aphi_buffer_free(&text);
    }
    bool begun = d->given->incomplete && m->connection == d->given->incomplete_at;
    if (m->kind == APHI_RUN_EVENT_SENT)
        draw_remark(d, l, i, "got", begun ? d->given->incomplete : "no response", &attached);
    draw_allowed(d, l, i, &attached);
    if (!attached && m->kind == APHI_RUN_EVENT_MALFORMED)
        draw_remark(d, l, i, "expected", "a message", &attached);
    else if (!attached && m->kind == APHI_RUN_EVENT_DROPPED)
        draw_remark(d, l, i, "expected", "the connection to stay open", &attached);
    else if (!attached && m->kind == APHI_RUN_EVENT_QUIET)
        draw_remark(d, l, i, "expected", "a message that is due", &attached);
    else if (!attached)
        draw_remark(d, l, i, "expected", "a message that the model allows", &attached);
}

/* ---- the whole diagram ------------------------------------------------------------------------------------------- */

static void draw_row(const drawing *d, aphi_text_line *l, size_t i)
{
    lane *at = &d->lanes[lane_of(d, event_at(d, i)->connection)];
    aphi_run_event_kind kind = event_at(d, i)->kind;
    bool silent = kind == APHI_RUN_EVENT_QUIET;
    at->closed &= silent; /* otherwise, the connection is used again */
    draw_wait(d, l, i);
    put_lines(d, l, d->g.line);
    draw_gutter(d, l, i);
    bool cut = silent ? draw_silence(d, l, i) : draw_arrow(d, l, i);
    aphi_text_line_flush(l, d->out, d->terminal);
    if (is_failing(d, i))
        draw_expected(d, l, i, cut);
    at->closed |= kind == APHI_RUN_EVENT_CLOSED || kind == APHI_RUN_EVENT_DROPPED;
}

void aphi_run_diagram_draw(aphi_buffer *out, const aphi_run_diagram *t, const aphi_terminal *terminal, size_t rows)
{
    drawing d = {.given = t, .terminal = terminal, .out = out, .g = glyphs_of(terminal)};
    aphi_text_line l = {0};
    choose_events(&d, rows);
    find_lanes(&d);
    if (d.n) {
        lay_out(&d);
        draw_heading(&d, &l);
        draw_elision(&d, &l, t->earlier + d.chosen[0], "earlier message");
        for (size_t i = 0; i < d.n; i++) {
            if (i)
                draw_elision(&d, &l, d.chosen[i] - d.chosen[i - 1] - 1, "message");
            draw_row(&d, &l, i);
        }
        draw_elision(&d, &l, t->count - 1 - d.chosen[d.n - 1], "later message");
    }
    aphi_text_line_deinit(&l);
    free(d.chosen);
    free(d.lanes);
}

/* ---- the report of a run ----------------------------------------------------------------------------------------- */

static void add_order(aphi_buffer *out, aph_value order)
{
    size_t n = aph_count(order), from = n > ORDER_SHOWN ? n - ORDER_SHOWN : 0;
    aphi_buffer_str(out, from ? "… " : "");
    for (size_t i = from; i < n; i++) {
        aphi_buffer_str(out, i > from ? ", #" : "#");
        aphi_message_json(out, aph_at(order, i), LABEL_BYTES);
    }
}

/* Appends the line, wrapped and indented. */
static void report_wrapped(aphi_buffer *out, aphi_buffer *line, size_t indent, const aphi_terminal *t)
{
    aphi_buffer clean = {0};
    aphi_utf8_clean(&clean, aphi_buffer_text(line), t->unicode);
    for (const char *at = aphi_buffer_text(&clean); *at; indent = 6) {
        size_t bytes = wrap_bytes(at, (t->columns < COLUMNS_MAX ? t->columns : COLUMNS_MAX) - indent);
        aphi_buffer_format(out, "%*s%.*s\n", (int)indent, "", (int)bytes, at);
        at += bytes;
        at += strspn(at, " ");
    }
    aphi_buffer_free(&clean);
    aphi_buffer_free(line);
}

/* Appends where the failing message differs from a long one that is allowed. */
static void report_difference(aphi_buffer *out, const aphi_run_diagram *t, aph_value a, const aphi_terminal *terminal)
{
    const aphi_run_event *failing = t->failing < t->count ? &t->events[t->failing] : NULL;
    aphi_buffer line = {0};
    if (failing && failing->kind == APHI_RUN_EVENT_RECEIVED)
        aphi_difference(&line, failing->message, aph_field(a, "answer"), t->words, LABEL_BYTES);
    report_wrapped(out, &line, 6, terminal);
}

static void report_allowed_response(aphi_buffer *out, aph_value a, aph_words *words, const aphi_terminal *t)
{
    aphi_buffer line = {0};
    aphi_message_origin(&line, a);
    aphi_message_words(&line, aph_field(a, "answer"), words, STATE_BYTES);
    add_clauses(&line, aph_field(a, "clauses"));
    if (aph_has(a, aph_str("state"))) {
        aphi_buffer_str(&line, ", in state ");
        aphi_message_json(&line, aph_field(a, "state"), STATE_BYTES);
    }
    if (aph_count(aph_field(a, "given"))) {
        aphi_buffer_str(&line, ", where ");
        aphi_message_given(&line, aph_field(a, "given"), STATE_BYTES);
    }
    if (aph_has(a, aph_str("unreadable"))) {
        aphi_buffer_str(&line, ", but the model's codec ");
        aphi_message_plain(&line, aph_field(a, "unreadable"), STATE_BYTES);
    }
    if (aph_count(aph_field(a, "order"))) {
        aphi_buffer_str(&line, ", if the requests were applied in the order ");
        add_order(&line, aph_field(a, "order"));
    }
    report_wrapped(out, &line, 4, t);
}

static void report_allowed(aphi_buffer *out, const aphi_run_diagram *t, const aphi_terminal *terminal)
{
    size_t n = aph_count(t->allowed);
    if (!n)
        return;
    aphi_buffer_str(out, "\n  The model allows instead:\n");
    for (size_t i = 0; i < n && i < ALLOWED_SHOWN; i++) {
        report_allowed_response(out, aph_at(t->allowed, i), t->words, terminal);
        report_difference(out, t, aph_at(t->allowed, i), terminal);
    }
    if (n > ALLOWED_SHOWN)
        aphi_buffer_format(out, "    and %zu more\n", n - ALLOWED_SHOWN);
    if (aphi_message_has_unknown(t->allowed))
        aphi_buffer_str(out, "  Here " APHI_MESSAGE_UNKNOWNS ".\n");
}

static void report_unreached(aphi_buffer *out, const aphi_run_diagram *t, const aphi_terminal *terminal)
{
    aph_value name, times;
    aphi_buffer names = {0};
    size_t n = 0;
    for (size_t i = 0; aph_pair_at(t->branches, i, &name, &times); i++) {
        if (times != aph_int(0) || n++ >= NAMES_SHOWN)
            continue;
        aphi_buffer_str(&names, names.n ? ", " : "");
        aphi_message_plain(&names, name, STATE_BYTES);
    }
    if (n) {
        aphi_buffer_str(out, "\n  Never reached: ");
        aphi_terminal_paint(out, terminal, APHI_INK_YELLOW, aphi_buffer_text(&names));
        if (n > NAMES_SHOWN)
            aphi_buffer_format(out, " and %zu more", n - NAMES_SHOWN);
        aphi_buffer_byte(out, '\n');
    }
    aphi_buffer_free(&names);
}

void aphi_run_diagram_report(aphi_buffer *out, const aphi_run_diagram *t, const aphi_terminal *terminal)
{
    if (!strcmp(t->verdict, "pass"))
        return;
    aphi_terminal_paint(out, terminal, APHI_INK_ALARM, t->verdict);
    aphi_buffer_str(out, ": ");
    aphi_terminal_paint(out, terminal, APHI_INK_BOLD, t->headline ? t->headline : t->title);
    aphi_buffer_str(out, "\n\n");
    aphi_run_diagram_draw(out, t, terminal, 0);
    report_allowed(out, t, terminal);
    if (!strcmp(t->verdict, "vacuous"))
        report_unreached(out, t, terminal);
    if (t->replay) {
        aphi_buffer_str(out, "\n  To reproduce:\n    ");
        aphi_buffer_str(out, aphi_terminal_ink(terminal, APHI_INK_BOLD));
        aphi_buffer_str(out, t->replay); /* its quotes leave nothing that commands a terminal */
        aphi_buffer_str(out, aphi_terminal_ink(terminal, APHI_INK_NONE));
        aphi_buffer_byte(out, '\n');
    }
}
