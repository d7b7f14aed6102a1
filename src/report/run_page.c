/* SPDX-License-Identifier: Apache-2.0
 *
 * run_page.c - a self-contained HTML page of a run, with a space-time diagram.
 *
 * Idea:       the page is a fixed skeleton, style and script (page.css, run_page.js), and one block of JSON with the
 *             data of the run. The script draws the data.
 * Safety:     1. The block escapes every character that could end it or begin markup: < > & ' and the line separators
 *                U+2028 and U+2029. Server data cannot leave the block.
 *             2. The script adds data to the document as text only.
 *             3. The content security policy allows only this style and this script, by hash, and no requests.
 * Size:       each part of the block has a byte budget, measured on the output; the sum is below APHI_RUN_PAGE_BYTES.
 *             Most of the block is the list of messages: each distinct text once, truncated, and a dozen bytes per
 *             message; 100,000 small messages fit. The list is filled with a few messages after the failing one, then
 *             backwards from it. Messages near the failing one are also stored in full.
 * Cost:       linear in the number of events, all of which are counted for the strip above the diagram. */
#include "report/run_page.h"

#include "base/intern.h"
#include "base/memory.h"
#include "report/message_text.h"
#include "report/utf8.h"

#include "page.h"

#include <stdlib.h>
#include <string.h>

enum {
    LIST_BYTES = 1300000,
    LIST_MAX = 400000,    /* number of messages; more would never fit */
    LIST_LATER = 500,     /* messages after the failing one */
    TEXT_BYTES = 120,     /* maximum per message in the list */
    FULL_BYTES = 200000,
    FULL_EACH = 12000,
    FULL_AROUND = 40,     /* messages before and after the failing one stored in full */
    ALLOWED_BYTES = 80000,
    STATE_BYTES = 4000,
    ORDER_MAX = 200,
    SCRIPT_BYTES = 100000,
    BRANCH_BYTES = 60000,
    FACT_BYTES = 20000,
    WAIT_BYTES = 30000,
    NAME_BYTES = 300,
    TITLE_BYTES = 2000,
    DUMP_BYTES = 1024,
    BUCKETS = 200,
};

/* ---- JSON in a script element ------------------------------------------------------------------------------------ */

/* Direction marks and control characters become the text \u202e; newlines are kept. */
static void put_point(aphi_buffer *out, uint32_t p)
{
    if (p == '\n' || p == '<' || p == '>' || p == '&' || p == '\'') {
        aphi_buffer_format(out, "\\u%04x", (unsigned)p);
    } else if (aphi_utf8_is_command(p)) {
        aphi_buffer_format(out, "\\\\u%04x", (unsigned)p);
    } else {
        if (p == '"' || p == '\\')
            aphi_buffer_byte(out, '\\');
        aphi_utf8_add(out, p);
    }
}

/* Writes bytes as a JSON string; bytes that are not UTF-8 become the text \xff. Reads up to about `limit` bytes. */
static void put_bytes(aphi_buffer *out, const char *bytes, size_t n, size_t limit)
{
    aphi_buffer_byte(out, '"');
    for (size_t at = 0, length; at < n && at < limit; at += length) {
        uint32_t p;
        length = aphi_utf8_next(bytes + at, n - at, &p);
        if (p == APHI_UTF8_INVALID)
            aphi_buffer_format(out, "\\\\x%02x", (unsigned char)bytes[at]);
        else
            put_point(out, p);
    }
    aphi_buffer_str(out, n > limit ? "…\"" : "\"");
}

/* Writes the scratch buffer as a string and clears it. */
static void put_scratch(aphi_buffer *out, aphi_buffer *scratch)
{
    put_bytes(out, scratch->data, scratch->n, SIZE_MAX);
    scratch->n = 0;
}

/* Writes a string unquoted, any other value as JSON text. */
static void put_plain(aphi_buffer *out, aphi_buffer *scratch, aph_value v, size_t limit)
{
    if (aph_is_str(v)) {
        size_t n;
        const char *bytes = aph_bytes_of(&v, &n);
        put_bytes(out, bytes, n, limit);
    } else {
        aphi_message_json(scratch, v, limit);
        put_scratch(out, scratch);
    }
}

static void put_member(aphi_buffer *out, const char *name, const char *text)
{
    aphi_buffer_format(out, "\"%s\":", name);
    if (text)
        put_bytes(out, text, strlen(text), TITLE_BYTES);
    else
        aphi_buffer_str(out, "null");
    aphi_buffer_byte(out, ',');
}

static void put_base36(aphi_buffer *out, int64_t number)
{
    char digits[16];
    size_t n = 0;
    uint64_t left = number < 0 ? 0 - (uint64_t)number : (uint64_t)number;
    do
        digits[n++] = "0123456789abcdefghijklmnopqrstuvwxyz"[left % 36];
    while (left /= 36);
    if (number < 0)
        aphi_buffer_byte(out, '-');
    while (n)
        aphi_buffer_byte(out, digits[--n]);
}

/* ---- the list of messages ---------------------------------------------------------------------------------------- */

typedef struct list {
    const aphi_run_diagram *t;
    aphi_intern keys;   /* of the distinct texts: message and kind */
    size_t first, end;  /* range of the listed events */
    size_t base;        /* the event of places[0] */
    uint32_t *places;   /* the text of each event */
    aphi_buffer texts, scratch;
    size_t bytes;       /* used, including texts */
} list;

/* Sent and received messages share their texts. */
static uint32_t kind_of(const aphi_run_event *m)
{
    return m->kind == APHI_RUN_EVENT_RECEIVED ? APHI_RUN_EVENT_SENT : m->kind;
}

static uint32_t text_place(list *l, const aphi_run_event *m)
{
    uintptr_t key[] = {(uintptr_t)m->message, kind_of(m)};
    size_t before = l->texts.n, known = l->keys.count;
    uint32_t place = aphi_intern_number(&l->keys, key, sizeof key);
    if (place == known) {
        aphi_buffer_str(&l->texts, before ? "," : "");
        aphi_run_event_text(&l->scratch, m, l->t->words, TEXT_BYTES);
        put_scratch(&l->texts, &l->scratch);
        l->bytes += l->texts.n - before;
    }
    return place;
}

static int64_t microseconds(const aphi_run_event *m)
{
    return m->at_ns / 1000;
}

/* Writes the record of event i; decode() in run_page.js describes it. Numbers are differences from the previous record,
 * or from 0 in the first. */
static void put_record(const list *l, size_t i, bool is_first, aphi_buffer *out)
{
    static const char letters[] = "srlmcdq";
    const aphi_run_event *m = &l->t->events[i], *before = is_first ? NULL : m - 1;
    aphi_buffer_byte(out, letters[m->kind]);
    put_base36(out, m->connection);
    aphi_buffer_byte(out, ',');
    put_base36(out, (int64_t)((uint64_t)m->label - (uint64_t)(before ? before->label : 0)));
    aphi_buffer_byte(out, ',');
    put_base36(out, before ? microseconds(m) - microseconds(before) : 0);
    aphi_buffer_byte(out, ',');
    put_base36(out, l->places[i - l->base]);
}

/* Adds event i to the list. */
static void list_event(list *l, size_t i)
{
    l->places[i - l->base] = text_place(l, &l->t->events[i]);
    put_record(l, i, i == 0, &l->scratch);
    l->bytes += l->scratch.n + 1;
    l->scratch.n = 0;
}

static void list_open(list *l, const aphi_run_diagram *t)
{
    size_t middle = t->failing < t->count ? t->failing + 1 : t->count;
    size_t later = t->count - middle < LIST_LATER ? t->count - middle : LIST_LATER;
    size_t earlier = middle < LIST_MAX ? middle : LIST_MAX;
    *l = (list){.t = t, .base = middle - earlier};
    l->places = aphi_alloc((earlier + later + 1) * sizeof *l->places);
    if (t->failing < t->count)
        list_event(l, t->failing); /* always listed */
    for (l->end = middle; l->end < middle + later && l->bytes < LIST_BYTES / 4; l->end++)
        list_event(l, l->end);
    for (l->first = middle; l->first > l->base && l->bytes < LIST_BYTES; l->first--)
        list_event(l, l->first - 1);
}

static void list_close(list *l)
{
    aphi_intern_free(&l->keys);
    free(l->places);
    aphi_buffer_free(&l->texts);
    aphi_buffer_free(&l->scratch);
}

/* ---- messages in full -------------------------------------------------------------------------------------------- */

/* Hex dump, eight bytes per line. */
static void put_hex_dump(aphi_buffer *out, aph_value v)
{
    size_t n, shown;
    const unsigned char *bytes = (const unsigned char *)aph_bytes_of(&v, &n);
    shown = n < DUMP_BYTES ? n : DUMP_BYTES;
    for (size_t at = 0; at < shown; at += 8) {
        aphi_buffer_format(out, "%04zx ", at);
        for (size_t i = at; i < at + 8; i++)
            if (i < shown)
                aphi_buffer_format(out, " %02x", bytes[i]);
            else
                aphi_buffer_str(out, "   ");
        aphi_buffer_str(out, "  ");
        for (size_t i = at; i < shown && i < at + 8; i++)
            aphi_buffer_byte(out, bytes[i] >= ' ' && bytes[i] < 0x7f ? (char)bytes[i] : '.');
        aphi_buffer_byte(out, '\n');
    }
    aphi_report_count(out, n);
    aphi_buffer_str(out, shown < n ? " bytes…" : " bytes");
}

/* Appends the full message of an event. Returns false if its text in the list is complete. */
static bool full_text(aphi_buffer *out, const aphi_run_event *m, aph_words *words)
{
    if (m->kind == APHI_RUN_EVENT_MALFORMED && aph_is_str(m->message)) {
        put_hex_dump(out, m->message);
        return true;
    }
    if (m->kind != APHI_RUN_EVENT_SENT && m->kind != APHI_RUN_EVENT_RECEIVED)
        return false;
    aphi_message_json(out, m->message, FULL_EACH);
    return words || out->n > TEXT_BYTES || aph_is_str(aph_field(m->message, "f"));
}

static void put_full(aphi_buffer *out, list *l)
{
    const aphi_run_diagram *t = l->t;
    size_t middle = t->failing < t->count ? t->failing : t->count, stop = out->n + FULL_BYTES;
    bool *done = aphi_alloc_zero(l->keys.count + 1), any = false;
    aphi_buffer_str(out, "\"full\":{");
    for (size_t away = 0; away <= FULL_AROUND && out->n < stop; away++) {
        for (int side = 0; side < 2 && out->n < stop; side++) {
            size_t i = side ? middle + away : middle - away; /* a negative index wraps around and is out of range */
            if (i < l->first || i >= l->end || done[l->places[i - l->base]])
                continue;
            done[l->places[i - l->base]] = true;
            l->scratch.n = 0;
            if (!full_text(&l->scratch, &t->events[i], t->words))
                continue;
            aphi_buffer_format(out, "%s\"%u\":", any ? "," : "", l->places[i - l->base]);
            put_scratch(out, &l->scratch);
            any = true;
        }
    }
    l->scratch.n = 0;
    aphi_buffer_str(out, "},\n");
    free(done);
}

static void put_rows(aphi_buffer *out, list *l)
{
    aphi_buffer_format(out, "\"began\":%lld,\"rows\":\"",
                       l->first < l->end ? (long long)microseconds(&l->t->events[l->first]) : 0);
    for (size_t i = l->first; i < l->end; i++) {
        aphi_buffer_str(out, i > l->first ? ";" : "");
        put_record(l, i, i == l->first, out);
    }
    aphi_buffer_str(out, "\",\n\"texts\":[");
    aphi_buffer_add(out, l->texts.data, l->texts.n);
    aphi_buffer_str(out, "],\n");
}

/* Writes the number of messages in each direction, in each of BUCKETS time slices. */
static void put_density(aphi_buffer *out, const aphi_run_diagram *t)
{
    uint64_t counts[2][BUCKETS] = {0};
    int64_t low = t->count ? microseconds(&t->events[0]) : 0;
    int64_t high = t->count ? microseconds(&t->events[t->count - 1]) : 0, width = (high - low) / BUCKETS + 1;
    for (size_t i = 0; i < t->count; i++) {
        int64_t b = (microseconds(&t->events[i]) - low) / width;
        b = b < 0 ? 0 : b >= BUCKETS ? BUCKETS - 1 : b;
        counts[!aphi_run_event_is_outward(&t->events[i])][b]++;
    }
    aphi_buffer_format(out, "\"density\":{\"from_us\":%lld,\"to_us\":%lld", (long long)low,
                       (long long)(low + width * BUCKETS));
    for (int way = 0; way < 2; way++) {
        aphi_buffer_format(out, ",\"%s\":[", way ? "in" : "out");
        for (size_t b = 0; b < BUCKETS; b++)
            aphi_buffer_format(out, "%s%llu", b ? "," : "", (unsigned long long)counts[way][b]);
        aphi_buffer_byte(out, ']');
    }
    aphi_buffer_str(out, "},\n");
}

/* ---- other data -------------------------------------------------------------------------------------------------- */

/* Makes names readable: "seconds_to_reject" becomes "seconds to reject"; "check_ns" becomes "check", a duration. */
static void put_fact(aphi_buffer *out, aphi_buffer *scratch, aph_value name, aph_value v)
{
    size_t n;
    const char *bytes = aph_bytes_of(&name, &n);
    bool lasts = n > 3 && !memcmp(bytes + n - 3, "_ns", 3) && aph_is_int(v);
    aphi_buffer_add(scratch, bytes, lasts ? n - 3 : n);
    for (size_t i = 0; i < scratch->n; i++)
        if (scratch->data[i] == '_')
            scratch->data[i] = ' ';
    aphi_buffer_byte(out, '[');
    put_scratch(out, scratch);
    aphi_buffer_byte(out, ',');
    if (lasts) {
        aphi_report_duration(scratch, aph_int_of(v));
        put_scratch(out, scratch);
    } else {
        put_plain(out, scratch, v, NAME_BYTES);
    }
    aphi_buffer_byte(out, ']');
}

static void put_facts(aphi_buffer *out, aphi_buffer *scratch, const aphi_run_diagram *t)
{
    aph_value name, v;
    size_t stop = out->n + FACT_BYTES;
    aphi_buffer_str(out, "\"facts\":[");
    if (t->ns > 0)
        put_fact(out, scratch, aph_str("took_ns"), aph_int(t->ns));
    for (size_t i = 0; out->n < stop && aph_pair_at(t->run, i, &name, &v); i++) {
        aphi_buffer_str(out, i || t->ns > 0 ? "," : "");
        put_fact(out, scratch, name, v);
    }
    aphi_buffer_str(out, "],\n");
}

static void put_allowed_one(aphi_buffer *out, aphi_buffer *scratch, aph_value a, aph_words *words)
{
    aph_value clauses = aph_field(a, "clauses"), order = aph_field(a, "order");
    size_t n = aph_count(order), from = n > ORDER_MAX ? n - ORDER_MAX : 0;
    aphi_buffer_str(out, "{\"answer\":");
    aphi_message_origin(scratch, a);
    aphi_message_words(scratch, aph_field(a, "answer"), words, STATE_BYTES);
    put_scratch(out, scratch);
    aphi_buffer_str(out, ",\"clauses\":[");
    for (size_t i = 0; i < aph_count(clauses) && i < ORDER_MAX; i++) {
        aphi_buffer_str(out, i ? "," : "");
        put_plain(out, scratch, aph_at(clauses, i), NAME_BYTES);
    }
    aphi_buffer_str(out, "],\"state\":");
    if (aph_has(a, aph_str("state"))) {
        aphi_message_json(scratch, aph_field(a, "state"), STATE_BYTES);
        put_scratch(out, scratch);
    } else {
        aphi_buffer_str(out, "null");
    }
    aphi_buffer_str(out, ",\"given\":");
    aphi_message_given(scratch, aph_field(a, "given"), STATE_BYTES);
    put_scratch(out, scratch);
    aphi_buffer_str(out, ",\"order\":[");
    const char *comma = "";
    for (size_t i = from; i < n; i++)
        if (aph_is_int(aph_at(order, i))) {
            aphi_buffer_format(out, "%s%lld", comma, (long long)aph_int_of(aph_at(order, i)));
            comma = ",";
        }
    aphi_buffer_str(out, "]}");
}

static void put_allowed(aphi_buffer *out, aphi_buffer *scratch, aph_value allowed, aph_words *words)
{
    size_t i = 0, n = aph_count(allowed), stop = out->n + ALLOWED_BYTES;
    aphi_buffer_str(out, "\"allowed\":[");
    for (; i < n && out->n < stop; i++) {
        aphi_buffer_str(out, i ? "," : "");
        put_allowed_one(out, scratch, aph_at(allowed, i), words);
    }
    aphi_buffer_format(out, "],\"allowed_more\":%zu,\"unknowns\":\"%s\",\n", n - i,
                       aphi_message_has_unknown(allowed) ? APHI_MESSAGE_UNKNOWNS "." : "");
}

static void put_branches(aphi_buffer *out, aph_value branches)
{
    aph_value name, times;
    size_t i = 0, stop = out->n + BRANCH_BYTES, n;
    aphi_buffer_str(out, "\"branches\":[");
    for (; out->n < stop && aph_pair_at(branches, i, &name, &times); i++) {
        const char *bytes = aph_bytes_of(&name, &n);
        aphi_buffer_str(out, i ? ",[" : "[");
        put_bytes(out, bytes, n, NAME_BYTES);
        aphi_buffer_format(out, ",%lld]", aph_is_int(times) ? (long long)aph_int_of(times) : 0);
    }
    aphi_buffer_format(out, "],\"branches_more\":%zu,\n",
                       aph_kind_of(branches) == APH_OBJECT ? aph_count(branches) - i : 0);
}

static void put_script(aphi_buffer *out, aphi_buffer *scratch, aph_value script)
{
    size_t i = 0, n = aph_count(script), stop = out->n + SCRIPT_BYTES;
    aphi_buffer_str(out, "\"script\":[");
    for (; i < n && out->n < stop; i++) {
        size_t bytes;
        char *text = aph_json_text(aph_at(script, i), &bytes);
        aphi_buffer_str(out, i ? "," : "");
        put_bytes(out, text, bytes, STATE_BYTES);
        free(text);
    }
    aphi_buffer_format(out, "],\"script_more\":%zu,\n\"waits\":{", n - i);
    bool any = false;
    stop = out->n + WAIT_BYTES;
    for (i = 0; i < n && out->n < stop; i++) {
        aph_value action = aph_at(script, i), label = aph_field(action, "label");
        if (!aph_is_int(label) || !aphi_action_wait_text(scratch, action))
            continue;
        aphi_buffer_format(out, "%s\"%lld\":", any ? "," : "", (long long)aph_int_of(label));
        put_scratch(out, scratch);
        any = true;
    }
    aphi_buffer_str(out, "},\n");
}

static void put_drawing(aphi_buffer *out, aphi_buffer *scratch, const aphi_run_diagram *t)
{
    aphi_run_diagram_draw(scratch, t, &(aphi_terminal){.unicode = true, .columns = 110}, FULL_AROUND);
    aphi_buffer_str(out, "\"text\":");
    put_scratch(out, scratch);
}

static void put_data(aphi_buffer *out, const aphi_run_diagram *t)
{
    list l;
    list_open(&l, t);
    aphi_buffer_byte(out, '{');
    put_member(out, "title", t->title);
    put_member(out, "verdict", t->verdict);
    put_member(out, "headline", t->headline);
    put_member(out, "replay", t->replay);
    aphi_buffer_format(out, "\n\"count\":%zu,\"earlier\":%llu,\"first\":%zu,\"failing\":%lld,\n", t->count,
                       (unsigned long long)t->earlier, l.first, t->failing < t->count ? (long long)t->failing : -1LL);
    put_facts(out, &l.scratch, t);
    put_allowed(out, &l.scratch, t->allowed, t->words);
    put_branches(out, t->branches);
    put_script(out, &l.scratch, t->script);
    put_density(out, t);
    put_full(out, &l);
    put_rows(out, &l);
    put_drawing(out, &l.scratch, t);
    aphi_buffer_str(out, "}");
    list_close(&l);
}

/* ---- the page ---------------------------------------------------------------------------------------------------- */

bool aphi_run_page_write(FILE *out, const aphi_run_diagram *t)
{
    aphi_buffer page = {0};
    aphi_buffer_str(&page,
                    "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
                    "script-src 'sha256-" RUN_PAGE_JS_HASH "'; style-src 'sha256-" PAGE_CSS_HASH "'; "
                    "base-uri 'none'; form-action 'none'\">\n"
                    "<meta name=\"referrer\" content=\"no-referrer\">\n"
                    "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
                    "<title>Antiphon: a run</title>\n<style>");
    aphi_buffer_add(&page, page_css, sizeof page_css);
    aphi_buffer_str(&page, "</style>\n</head>\n<body>\n"
                           "<noscript>This page needs JavaScript. The script is part of the page.</noscript>\n"
                           "<script type=\"application/json\" id=\"data\">");
    put_data(&page, t);
    aphi_buffer_str(&page, "</script>\n<script>");
    aphi_buffer_add(&page, run_page_js, sizeof run_page_js);
    aphi_buffer_str(&page, "</script>\n</body>\n</html>\n");
    bool written = fwrite(page.data, 1, page.n, out) == page.n && !fflush(out);
    aphi_buffer_free(&page);
    return written;
}
