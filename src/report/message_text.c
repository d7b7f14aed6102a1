/* SPDX-License-Identifier: Apache-2.0
 *
 * message_text.c - messages as readable text.
 *
 * Invariants: a full writer drops all output; loops check has_room only to stop early. */
#include "report/message_text.h"

#include <antiphon/model.h>

#include "report/utf8.h"
#include "tree/model_calls.h"

#include <stdlib.h>

typedef struct writer {
    aphi_buffer *out;
    size_t end; /* the writer is full when out->n reaches this */
    bool full;
} writer;

static writer writer_of(aphi_buffer *out, size_t limit)
{
    return (writer){out, limit > SIZE_MAX - out->n ? SIZE_MAX : out->n + limit, false};
}

static bool has_room(writer *w)
{
    if (!w->full && w->out->n >= w->end) {
        aphi_buffer_str(w->out, "…");
        w->full = true;
    }
    return !w->full;
}

static void add_text(writer *w, const char *text)
{
    if (has_room(w))
        aphi_buffer_str(w->out, text);
}

/* ---- strings ----------------------------------------------------------------------------------------------------- */

static void add_point(aphi_buffer *out, uint32_t p, bool quoted)
{
    static const char named[] = "\b\f\n\r\t", names[] = "bfnrt";
    const char *at = p && p < 0x20 ? strchr(named, (int)p) : NULL;
    if (at)
        aphi_buffer_format(out, "\\%c", names[at - named]);
    else if (aphi_utf8_is_command(p))
        aphi_buffer_format(out, "\\u%04x", (unsigned)p);
    else if (p == '\\' || (p == '"' && quoted))
        aphi_buffer_format(out, "\\%c", (char)p);
    else
        aphi_utf8_add(out, p);
}

static void add_bytes(writer *w, const char *bytes, size_t n, bool quoted)
{
    uint32_t p;
    for (size_t at = 0, length; at < n && has_room(w); at += length) {
        length = aphi_utf8_next(bytes + at, n - at, &p);
        if (p == APHI_UTF8_INVALID)
            aphi_buffer_format(w->out, "\\x%02x", (unsigned char)bytes[at]);
        else
            add_point(w->out, p, quoted);
    }
}

static void add_str(writer *w, aph_value v, bool quoted)
{
    size_t n;
    const char *bytes = aph_bytes_of(&v, &n);
    add_text(w, quoted ? "\"" : "");
    add_bytes(w, bytes, n, quoted);
    add_text(w, quoted ? "\"" : "");
}

/* ---- values ------------------------------------------------------------------------------------------------------ */

static void add_json(writer *w, aph_value v);

static void add_infix(writer *w, aph_value operands, const char *name)
{
    add_text(w, "(");
    add_json(w, aph_at(operands, 0));
    add_text(w, " ");
    add_text(w, name);
    add_text(w, " ");
    add_json(w, aph_at(operands, 1));
    add_text(w, ")");
}

/* Writes a symbol, {"?": 0, "sort": "string"} in results, as ?0, and a term, {"=": [a, b]}, as a = b. Returns false
 * for any other value. */
static bool add_symbolic(writer *w, aph_value v)
{
    static const char *const infix[] = {"+", "-", "*", "/", "<", "<=", "=", "and", "or"};
    aph_value number = aph_field(v, "?"), name, operands;
    if (aph_is_int(number)) {
        char text[32];
        snprintf(text, sizeof text, "?%lld", (long long)aph_int_of(number));
        add_text(w, text);
        return true;
    }
    if (aph_count(v) != 1 || !aph_pair_at(v, 0, &name, &operands) || aph_kind_of(operands) != APH_ARRAY)
        return false;
    if (aph_str_is(name, "not") && aph_count(operands) == 1) {
        add_text(w, "not ");
        add_json(w, aph_at(operands, 0));
        return true;
    }
    for (size_t i = 0; i < sizeof infix / sizeof *infix; i++)
        if (aph_str_is(name, infix[i]) && aph_count(operands) == 2) {
            add_infix(w, operands, infix[i]);
            return true;
        }
    return false;
}

static void add_items(writer *w, aph_value v, bool is_array)
{
    aph_value key, item = APH_NIL;
    add_text(w, is_array ? "[" : "{");
    for (size_t i = 0; i < aph_count(v) && has_room(w); i++) {
        add_text(w, i ? "," : "");
        if (!is_array && aph_pair_at(v, i, &key, &item)) {
            add_str(w, key, true);
            add_text(w, ":");
        }
        add_json(w, is_array ? aph_at(v, i) : item);
    }
    add_text(w, is_array ? "]" : "}");
}

/* Results contain the opening or end of a connection as a string. Writes it as words, or returns false. */
static bool add_signal(writer *w, aph_value v)
{
    static const struct {
        aph_value signal;
        const char *text, *words;
    } signals[] = {{APH_OPENED, "<opened>", "opens"},
                   {APH_CLOSED, "<closed>", "closes its side"},
                   {APH_BROKEN, "<broken>", "resets"},
                   {APH_LEFT, "<left>", "closes"}};
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
        if (v == signals[i].signal || aph_str_is(v, signals[i].text)) {
            add_text(w, signals[i].words);
            return true;
        }
    return false;
}

static void add_json(writer *w, aph_value v)
{
    aph_kind kind = aph_kind_of(v);
    if (add_signal(w, v)) {
        return;
    } else if (kind == APH_STR) {
        add_str(w, v, true);
    } else if (kind == APH_ARRAY) {
        add_items(w, v, true);
    } else if (kind == APH_OBJECT) {
        if (!add_symbolic(w, v))
            add_items(w, v, false);
    } else {
        char *text = aph_json_text(v, NULL);
        add_text(w, text);
        free(text);
    }
}

/* ---- messages ---------------------------------------------------------------------------------------------------- */

void aphi_message_json(aphi_buffer *out, aph_value v, size_t limit)
{
    writer w = writer_of(out, limit);
    add_json(&w, v);
}

static void add_plain(writer *w, aph_value v)
{
    if (aph_is_str(v))
        add_str(w, v, false);
    else
        add_json(w, v);
}

void aphi_message_plain(aphi_buffer *out, aph_value v, size_t limit)
{
    writer w = writer_of(out, limit);
    add_plain(&w, v);
}

void aphi_message_given(aphi_buffer *out, aph_value given, size_t limit)
{
    writer w = writer_of(out, limit);
    for (size_t i = 0; i < aph_count(given) && has_room(&w); i++) {
        add_text(&w, i ? " and " : "");
        add_json(&w, aph_at(given, i));
    }
}

bool aphi_message_has_unknown(aph_value v)
{
    aph_kind kind = aph_kind_of(v);
    aph_value key, item = APH_NIL;
    bool found = aph_is_int(aph_field(v, "?"));
    for (size_t i = 0; (kind == APH_ARRAY || kind == APH_OBJECT) && i < aph_count(v) && !found; i++)
        found = aphi_message_has_unknown(kind == APH_ARRAY ? aph_at(v, i) : aph_pair_at(v, i, &key, &item) ? item : v);
    return found;
}

void aphi_message_words(aphi_buffer *out, aph_value v, aph_words *words, size_t limit)
{
    writer w = writer_of(out, limit);
    if (add_signal(&w, v))
        return;
    aph_value f = aph_field(v, "f"), pieces = words ? aphi_model_words(words, v) : APH_NIL, key, item;
    for (size_t i = 0; i < aph_count(pieces) && has_room(&w); i++)
        add_plain(&w, aph_at(pieces, i));
    if (pieces)
        return;
    if (!aph_is_str(f)) {
        add_json(&w, v);
        return;
    }
    add_str(&w, f, false);
    for (size_t i = 0; has_room(&w) && aph_pair_at(v, i, &key, &item); i++) {
        if (aph_str_is(key, "f"))
            continue;
        add_text(&w, " ");
        if (!aph_str_is(key, "key") && !aph_str_is(key, "value")) {
            add_str(&w, key, false);
            add_text(&w, "=");
        }
        add_json(&w, item);
    }
}

void aphi_message_origin(aphi_buffer *out, aph_value allowed)
{
    aph_value origin = aph_field(allowed, "origin");
    if (aph_is_int(origin))
        aphi_buffer_format(out, "at origin %lld: ", (long long)aph_int_of(origin));
}
