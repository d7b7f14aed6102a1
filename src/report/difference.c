/* SPDX-License-Identifier: Apache-2.0
 *
 * difference.c - where a long message differs from the one that the model allows.
 *
 * Idea:       a reader cannot find a wrong byte in two long texts, and a report cuts them. Both values are compared
 *             member by member, down to the first that differs. An unknown equals any value. */
#include "report/difference.h"

#include "report/message_text.h"

#include <stdio.h>
#include <string.h>

enum {
    ALIKE = 120,      /* bytes: longer equal beginnings are hard to compare */
    AROUND = 20,      /* bytes of a string before and after the difference */
    VALUE_BYTES = 80, /* of a value other than a string */
    DEPTH_MAX = 256,
};

/* The first difference: a path, and the values there. */
typedef struct difference {
    aphi_buffer path;
    aph_value got, expected;
    bool has_got, has_expected; /* false: the object or array has no such entry */
} difference;

static bool is_unknown(aph_value v) { return aph_is_symbolic(v) || aph_is_int(aph_field(v, "?")); }

static bool find(difference *d, aph_value got, aph_value expected, unsigned depth);

/* Compares an entry, whose path is that of the container and this name. */
static bool find_in(difference *d, const char *format, const char *name, aph_value got, bool has_got,
                    aph_value expected, bool has_expected, unsigned depth)
{
    size_t before = d->path.n;
    aphi_buffer_str(&d->path, *format == '.' && !before ? "" : *format == '.' ? "." : "[");
    aphi_buffer_str(&d->path, name);
    aphi_buffer_str(&d->path, *format == '.' ? "" : "]");
    if (has_got && has_expected && find(d, got, expected, depth))
        return true;
    if (has_got != has_expected) {
        d->got = got;
        d->expected = expected;
        d->has_got = has_got;
        d->has_expected = has_expected;
        return true;
    }
    d->path.n = before;
    return false;
}

static bool find_in_array(difference *d, aph_value got, aph_value expected, unsigned depth)
{
    size_t n = aph_count(got), m = aph_count(expected);
    for (size_t i = 0; i < n || i < m; i++) {
        char index[24];
        snprintf(index, sizeof index, "%zu", i);
        if (find_in(d, "[", index, aph_at(got, i), i < n, aph_at(expected, i), i < m, depth))
            return true;
    }
    return false;
}

static bool find_member(difference *d, aph_value name, aph_value got, aph_value expected, unsigned depth)
{
    aphi_buffer text = {0};
    aphi_message_plain(&text, name, VALUE_BYTES);
    bool found = find_in(d, ".", aphi_buffer_text(&text), aph_get(got, name), aph_has(got, name),
                         aph_get(expected, name), aph_has(expected, name), depth);
    aphi_buffer_free(&text);
    return found;
}

static bool find_in_object(difference *d, aph_value got, aph_value expected, unsigned depth)
{
    aph_value name, item;
    for (size_t i = 0; aph_pair_at(expected, i, &name, &item); i++)
        if (find_member(d, name, got, expected, depth))
            return true;
    for (size_t i = 0; aph_pair_at(got, i, &name, &item); i++)
        if (!aph_has(expected, name) && find_member(d, name, got, expected, depth))
            return true;
    return false;
}

static bool find(difference *d, aph_value got, aph_value expected, unsigned depth)
{
    aph_kind kind = aph_kind_of(got);
    if (got == expected || is_unknown(expected))
        return false;
    if (depth && kind == aph_kind_of(expected) && kind == APH_ARRAY)
        return find_in_array(d, got, expected, depth - 1);
    if (depth && kind == aph_kind_of(expected) && kind == APH_OBJECT)
        return find_in_object(d, got, expected, depth - 1);
    d->got = got;
    d->expected = expected;
    d->has_got = d->has_expected = true;
    return true;
}

/* ---- text -------------------------------------------------------------------------------------------------------- */

static size_t common_bytes(aph_value a, aph_value b)
{
    size_t n, m, i = 0;
    const char *x = aph_bytes_of(&a, &n), *y = aph_bytes_of(&b, &m);
    while (i < n && i < m && x[i] == y[i])
        i++;
    return i;
}

static void add_around(aphi_buffer *out, aph_value text, size_t at)
{
    size_t n = aph_count(text), from = at > AROUND ? at - AROUND : 0, end = n - at > AROUND ? at + AROUND : n;
    aphi_buffer quoted = {0};
    aphi_message_json(&quoted, aph_substr(text, from, end - from), APHI_MESSAGE_WHOLE);
    aphi_buffer_str(out, from ? "\"…" : "\"");
    aphi_buffer_add(out, quoted.data + 1, quoted.n - 2);
    aphi_buffer_str(out, end < n ? "…\"" : "\"");
    aphi_buffer_free(&quoted);
}

static void add_value(aphi_buffer *out, aph_value v, bool exists)
{
    if (exists)
        aphi_message_json(out, v, VALUE_BYTES);
    else
        aphi_buffer_str(out, "nothing");
}

static void add_difference(aphi_buffer *out, difference *d)
{
    bool strings = d->has_got && d->has_expected && aph_is_str(d->got) && aph_is_str(d->expected);
    size_t at = strings ? common_bytes(d->got, d->expected) : 0;
    aphi_buffer_format(out, "first difference: %s", d->path.n ? aphi_buffer_text(&d->path) : "the message");
    if (strings)
        aphi_buffer_format(out, ", byte %zu (from 0)", at);
    aphi_buffer_str(out, ": got ");
    strings ? add_around(out, d->got, at) : add_value(out, d->got, d->has_got);
    aphi_buffer_str(out, ", expected ");
    strings ? add_around(out, d->expected, at) : add_value(out, d->expected, d->has_expected);
}

/* Returns true if the texts are equal as far as they are shown, or on the first line. */
static bool are_alike(aph_value got, aph_value expected, aph_words *words, size_t limit)
{
    aphi_buffer a = {0}, b = {0};
    aphi_message_words(&a, got, words, limit);
    aphi_message_words(&b, expected, words, limit);
    size_t n = a.n < b.n ? a.n : b.n, i = 0;
    while (i < n && a.data[i] == b.data[i])
        i++;
    bool alike = i >= ALIKE || (i == a.n && i == b.n);
    aphi_buffer_free(&a);
    aphi_buffer_free(&b);
    return alike;
}

void aphi_difference(aphi_buffer *out, aph_value got, aph_value expected, aph_words *words, size_t limit)
{
    difference d = {.path = {0}};
    if (got != expected && are_alike(got, expected, words, limit) && find(&d, got, expected, DEPTH_MAX))
        add_difference(out, &d);
    aphi_buffer_free(&d.path);
}
