/* SPDX-License-Identifier: Apache-2.0
 *
 * http_uri.c - paths, queries and forms as values.
 *
 * Idea:       a path is an array of its decoded parts, a query an object of decoded names and values. So a part that
 *             the server chose, such as an id, is a separate value.
 * Invariants: a value that was read is printed as a text that is read as the same value. The text can differ: %61 is
 *             printed as a, and a query is sorted by name.
 * Cost:       linear, and sorting the names of a query */
#include "codec/http_uri.h"

#include "base/memory.h"
#include "codec/http_fields.h"

#include <stdlib.h>

/* ---- percent-encoding -------------------------------------------------------------------------------------------- */

/* Decodes the text. In a query, a plus is a space. Returns false with the offset of a wrong percent sign in *at. */
static bool decode(aphi_span s, bool query, aph_value *v, size_t *at)
{
    char little[256], *to = s.n <= sizeof little ? little : aphi_alloc(s.n);
    size_t n = 0, i = 0;
    bool right = true;
    for (; i < s.n && right; i++) {
        int high = s.text[i] == '%' && i + 2 < s.n ? aphi_hex_of((unsigned char)s.text[i + 1]) : -1;
        int low = high >= 0 ? aphi_hex_of((unsigned char)s.text[i + 2]) : -1;
        right = s.text[i] != '%' || low >= 0;
        *at = i;
        to[n++] = low >= 0 ? (char)(high * 16 + low) : query && s.text[i] == '+' ? ' ' : s.text[i];
        i += low >= 0 ? 2 : 0;
    }
    *v = right ? aph_bytes(to, n) : APH_NIL;
    if (to != little)
        free(to);
    return right;
}

static void encode(aphi_buffer *out, aphi_span s, const char *plain)
{
    static const char hex[] = "0123456789ABCDEF";
    for (size_t i = 0; i < s.n; i++) {
        unsigned char c = (unsigned char)s.text[i];
        if (aphi_is_alpha(c) || aphi_is_digit(c) || (c && strchr(plain, c))) {
            aphi_buffer_byte(out, (char)c);
        } else {
            char three[] = {'%', hex[c >> 4], hex[c & 15]};
            aphi_buffer_add(out, three, sizeof three);
        }
    }
}

bool aphi_http_scalar(const aph_value *v, bool numbers, char digits[APHI_DECIMAL_MAX], aphi_span *text)
{
    if (aph_is_str(*v)) {
        *text = aphi_span_of(v);
        return true;
    }
    if (!numbers || !aph_is_int(*v))
        return false;
    *text = (aphi_span){digits, aphi_decimal(digits, aph_int_of(*v))};
    return true;
}

/* ---- splitting --------------------------------------------------------------------------------------------------- */

/* Takes the text up to the separator from *rest. Returns false at the end. */
static bool next_part(aphi_span *rest, char separator, aphi_span *part)
{
    if (!rest->text)
        return false;
    const char *end = rest->n ? memchr(rest->text, separator, rest->n) : NULL;
    size_t n = end ? (size_t)(end - rest->text) : rest->n;
    *part = (aphi_span){rest->text, n};
    *rest = end ? (aphi_span){end + 1, rest->n - n - 1} : (aphi_span){NULL, 0};
    return true;
}

bool aphi_http_path_parse(aphi_span text, aph_value *path)
{
    aph_value *parts = NULL, one;
    size_t count = 0, capacity = 0, at;
    bool right = text.n && *text.text == '/';
    aphi_span rest = text.n > 1 ? (aphi_span){text.text + 1, text.n - 1} : (aphi_span){NULL, 0}, part;
    while (right && next_part(&rest, '/', &part)) {
        right = decode(part, false, &one, &at);
        APHI_PUSH(parts, count, capacity, one);
    }
    *path = right ? aph_array(count, parts) : APH_NIL;
    free(parts);
    return right;
}

static bool parse_pair(aphi_span text, aphi_http_pairs *pairs, size_t *at)
{
    const char *equals = text.n ? memchr(text.text, '=', text.n) : NULL;
    size_t n = equals ? (size_t)(equals - text.text) : text.n, value = equals ? n + 1 : n;
    aph_value name, item;
    if (!decode((aphi_span){text.text, n}, true, &name, at))
        return false;
    if (!decode((aphi_span){text.text + value, text.n - value}, true, &item, at)) {
        *at += value;
        return false;
    }
    if (text.n)
        aphi_http_pairs_add(pairs, name, item);
    return true;
}

bool aphi_http_query_parse(aphi_span text, aph_value *query, size_t *at)
{
    aphi_http_pairs pairs = {0};
    aphi_span rest = text, part;
    bool right = true;
    while (right && next_part(&rest, '&', &part)) {
        right = parse_pair(part, &pairs, at);
        if (!right)
            *at += (size_t)(part.text - text.text);
    }
    *query = aphi_http_pairs_take(&pairs);
    return right;
}

/* ---- printing ---------------------------------------------------------------------------------------------------- */

bool aphi_http_path_print(aphi_buffer *out, aph_value path, bool numbers)
{
    char digits[APHI_DECIMAL_MAX];
    size_t count = aph_count(path);
    if (aph_kind_of(path) != APH_ARRAY || (count == 1 && aph_str_is(aph_at(path, 0), "")))
        return false; /* [""] would be read as [] */
    if (count == 0)
        aphi_buffer_byte(out, '/');
    for (size_t i = 0; i < count; i++) {
        aph_value part = aph_at(path, i);
        aphi_span text;
        if (!aphi_http_scalar(&part, numbers, digits, &text))
            return false;
        aphi_buffer_byte(out, '/');
        encode(out, text, "-._~!$&'()*+,;=:@");
    }
    return true;
}

typedef struct query_printing {
    aphi_buffer *out;
    bool numbers, begun;
} query_printing;

static bool print_pair(void *context, aph_value name, aph_value item)
{
    static const char plain[] = "-._~";
    query_printing *p = context;
    char digits[APHI_DECIMAL_MAX];
    aphi_span text;
    if (!aphi_http_scalar(&item, p->numbers, digits, &text))
        return false;
    if (p->begun)
        aphi_buffer_byte(p->out, '&');
    encode(p->out, aphi_span_of(&name), plain);
    aphi_buffer_byte(p->out, '=');
    encode(p->out, text, plain);
    return p->begun = true;
}

bool aphi_http_query_print(aphi_buffer *out, aph_value query, bool numbers)
{
    return aphi_http_pairs_each(query, print_pair, &(query_printing){out, numbers, false});
}

/* ---- references -------------------------------------------------------------------------------------------------- */

/* The length of "http://host:port" at the beginning of the text; 0 if it has none. */
static size_t origin_length(aphi_span s)
{
    static const char *const schemes[] = {"http://", "https://"};
    for (size_t k = 0; k < 2; k++) {
        size_t n = strlen(schemes[k]), end = n;
        if (s.n <= n || memcmp(s.text, schemes[k], n) != 0)
            continue;
        while (end < s.n && !strchr("/?#", s.text[end]))
            end++;
        return end > n && aphi_http_host((aphi_span){s.text + n, end - n}) == end - n ? end : 0;
    }
    return 0;
}

aph_value aphi_http_origin_form_parse(aphi_span s)
{
    const char *mark = s.n ? memchr(s.text, '?', s.n) : NULL;
    aphi_span path = {s.text, mark ? (size_t)(mark - s.text) : s.n};
    aph_value parts, query = APH_NIL;
    size_t at;
    if (!aphi_http_path_parse(path, &parts) ||
        (mark && !aphi_http_query_parse((aphi_span){mark + 1, s.n - path.n - 1}, &query, &at)))
        return APH_NIL;
    return query ? aph_record("path", parts, "query", query) : aph_record("path", parts);
}

/* "//host" is a reference to another host. */
aph_value aphi_http_reference_parse(aphi_span s)
{
    size_t origin = origin_length(s);
    aphi_span rest = {s.text + origin, s.n - origin};
    bool other_host = !origin && rest.n > 1 && memcmp(rest.text, "//", 2) == 0;
    bool valid = !other_host && aphi_http_target((aphi_span){"GET", 3}, rest) == rest.n;
    aph_value reference = valid ? aphi_http_origin_form_parse(rest) : APH_NIL;
    if (!reference)
        return aph_bytes(s.text, s.n);
    return origin ? aph_put(reference, "origin", aph_bytes(s.text, origin)) : reference;
}

bool aphi_http_reference_print(aphi_buffer *out, aph_value r)
{
    aph_value origin = aph_field(r, "origin"), query = aph_field(r, "query");
    size_t from = out->n;
    if (aph_is_str(r)) {
        aphi_buffer_add(out, aphi_span_of(&r).text, aphi_span_of(&r).n);
    } else {
        if (aph_is_str(origin))
            aphi_buffer_add(out, aphi_span_of(&origin).text, aphi_span_of(&origin).n);
        if (!aphi_http_path_print(out, aph_field(r, "path"), false))
            return false;
        if (query)
            aphi_buffer_byte(out, '?');
        if (!aphi_http_query_print(out, query, false))
            return false;
    }
    return aphi_http_reference_parse((aphi_span){out->data ? out->data + from : "", out->n - from}) == r;
}
