/* SPDX-License-Identifier: Apache-2.0
 *
 * http_cookies.c - the fields Cookie and Set-Cookie as values.
 *
 * Idea:       a cookie has the same form in both directions: its name is a member of an object, and its value a string.
 *             So a request can send the value that a response set, and a model can put a symbol in its place.
 *             Attributes are separate, since most models do not describe them.
 * Tolerated:  values with bytes that RFC 6265 4.1.1 advises against, which recipients accept (5.2): anything but a
 *             semicolon, without blanks at the ends. Quotation marks belong to the value. Dates are read as user agents
 *             read them (5.1.1); text that they ignore stays a string. */
#include "codec/http_cookies.h"

#include "codec/http_dates.h"
#include "codec/http_text.h"
#include "codec/http_uri.h"

#include <antiphon/http.h>

/* ---- reading ----------------------------------------------------------------------------------------------------- */

/* Takes the text up to a semicolon from *rest, trimmed. Returns false at the end. */
static bool next_part(aphi_span *rest, aphi_span *part)
{
    if (!rest->text)
        return false;
    const char *end = rest->n ? memchr(rest->text, ';', rest->n) : NULL;
    size_t n = end ? (size_t)(end - rest->text) : rest->n;
    *part = aphi_trim((aphi_span){rest->text, n});
    *rest = end ? (aphi_span){end + 1, rest->n - n - 1} : (aphi_span){NULL, 0};
    return true;
}

/* Splits "name=value". Returns false if it has no equals sign; then the whole text is the name. */
static bool split(aphi_span part, aphi_span *name, aphi_span *value)
{
    const char *equals = part.n ? memchr(part.text, '=', part.n) : NULL;
    size_t n = equals ? (size_t)(equals - part.text) : part.n;
    *name = aphi_trim((aphi_span){part.text, n});
    *value = equals ? aphi_trim((aphi_span){equals + 1, part.n - n - 1}) : (aphi_span){"", 0};
    return equals;
}

static aph_value str_of(aphi_span s) { return aph_bytes(s.text, s.n); }

aph_decoded aphi_http_cookie_read(aph_wire *w, aphi_http_group g, aph_value *cookies)
{
    aphi_http_pairs pairs = {0};
    aphi_span rest = g.lines[0]->value, part, name, value;
    bool right = g.count == 1;
    while (right && next_part(&rest, &part)) {
        right = split(part, &name, &value) && aphi_http_is_method(name);
        if (right)
            aphi_http_pairs_add(&pairs, str_of(name), str_of(value));
    }
    *cookies = aphi_http_pairs_take(&pairs);
    if (g.count > 1)
        return aphi_http_wrong(w, g.lines[1]->at, "RFC 6265 5.4: more than one Cookie");
    return right ? APH_DECODED
                 : aphi_http_wrong(w, g.lines[0]->at, "RFC 6265 4.2.1: Cookie is not a list of names and values");
}

static aph_value attribute_value(aphi_span name, aphi_span value)
{
    int64_t seconds;
    aph_value text = str_of(value);
    if (aphi_span_is(name, "expires") && aphi_http_cookie_date_read(value.text, value.n, &seconds))
        return aph_int(seconds);
    aph_value number = aphi_span_is(name, "max-age") ? aph_http_number(text) : APH_NIL;
    return number ? number : text;
}

static bool read_attribute(aphi_span part, aph_value *attributes)
{
    aphi_span name, value;
    char lower[64];
    bool has_value = split(part, &name, &value);
    if (part.n == 0)
        return true;
    if (name.n > sizeof lower || !aphi_http_is_method(name))
        return false;
    for (size_t i = 0; i < name.n; i++)
        lower[i] = aphi_lower(name.text[i]);
    name.text = lower;
    aph_value v = has_value ? attribute_value(name, value) : aph_bool(true);
    *attributes = aph_set(*attributes, str_of(name), v);
    return true;
}

static aph_decoded read_line(aph_wire *w, const aphi_http_line *l, aphi_http_pairs *values, aphi_http_pairs *attributes)
{
    aphi_span rest = l->value, part, name, value;
    aph_value all = aph_object();
    next_part(&rest, &part);
    if (!split(part, &name, &value) || !aphi_http_is_method(name))
        return aphi_http_wrong(w, l->at, "RFC 6265 4.1.1: Set-Cookie does not begin with a name and an equals sign");
    while (next_part(&rest, &part))
        if (!read_attribute(part, &all))
            return aphi_http_wrong(w, l->at, "RFC 6265 4.1.1: invalid attribute in Set-Cookie");
    aphi_http_pairs_add(values, str_of(name), str_of(value));
    aphi_http_pairs_add(attributes, str_of(name), all);
    return APH_DECODED;
}

/* Removes the cookies without attributes. */
static aph_value with_attributes(aph_value all)
{
    aph_value name, item, kept = aph_object();
    for (size_t i = 0; aph_pair_at(all, i, &name, &item); i++) {
        bool any = aph_kind_of(item) == APH_OBJECT && aph_count(item);
        for (size_t k = 0; aph_kind_of(item) == APH_ARRAY && k < aph_count(item); k++)
            any |= aph_count(aph_at(item, k)) > 0;
        if (any)
            kept = aph_set(kept, name, item);
    }
    return aph_count(kept) ? kept : APH_NIL;
}

aph_decoded aphi_http_set_cookie_read(aph_wire *w, aphi_http_group g, aph_value *cookies, aph_value *attributes)
{
    aphi_http_pairs values = {0}, all = {0};
    aph_decoded result = APH_DECODED;
    for (size_t i = 0; i < g.count && result == APH_DECODED; i++)
        result = read_line(w, g.lines[i], &values, &all);
    *cookies = aphi_http_pairs_take(&values);
    *attributes = with_attributes(aphi_http_pairs_take(&all));
    return result;
}

/* ---- printing ---------------------------------------------------------------------------------------------------- */

static bool is_cookie_value(aphi_span s)
{
    return aphi_http_is_value(s) && !(s.n && memchr(s.text, ';', s.n));
}

typedef struct cookie_printing {
    aphi_buffer *out;
    bool numbers;          /* a value may be an integer */
    const char *separator; /* before the next cookie */
} cookie_printing;

static bool print_cookie(void *context, aph_value name, aph_value item)
{
    cookie_printing *p = context;
    char digits[APHI_DECIMAL_MAX];
    aphi_span text, key = aphi_span_of(&name);
    if (!aphi_http_scalar(&item, p->numbers, digits, &text) || !aphi_http_is_method(key) || !is_cookie_value(text))
        return false;
    aphi_buffer_str(p->out, p->separator);
    aphi_buffer_add(p->out, key.text, key.n);
    aphi_buffer_byte(p->out, '=');
    aphi_buffer_add(p->out, text.text, text.n);
    p->separator = "; ";
    return true;
}

bool aphi_http_cookie_print(aphi_buffer *out, aph_value cookies)
{
    cookie_printing p = {out, true, "Cookie: "};
    size_t before = out->n;
    if (!aphi_http_pairs_each(cookies, print_cookie, &p))
        return false;
    if (out->n > before)
        aphi_buffer_str(out, "\r\n");
    return true;
}

static bool print_attribute(aphi_buffer *out, aph_value name, aph_value item)
{
    char date[APHI_HTTP_DATE_SIZE + 1], digits[APHI_DECIMAL_MAX];
    aphi_span key = aphi_span_of(&name), text;
    bool is_date = aphi_span_is(key, "expires") && aph_is_int(item);
    if (key.n > 64 || !aphi_http_is_name(key))
        return false;
    aphi_buffer_str(out, "; ");
    aphi_buffer_add(out, key.text, key.n);
    if (aph_truth(item))
        return true;
    if (is_date && !aphi_http_date_write(aph_int_of(item), date))
        return false;
    if (is_date)
        text = (aphi_span){date, APHI_HTTP_DATE_SIZE};
    else if (!aphi_http_scalar(&item, aphi_span_is(key, "max-age"), digits, &text))
        return false;
    aphi_buffer_byte(out, '=');
    aphi_buffer_add(out, text.text, text.n);
    return is_cookie_value(text) && attribute_value(key, text) == item;
}

static bool print_attributes(aphi_buffer *out, aph_value attributes)
{
    aph_value name, item;
    if (attributes != APH_NIL && aph_kind_of(attributes) != APH_OBJECT)
        return false;
    for (size_t i = 0; aph_pair_at(attributes, i, &name, &item); i++)
        if (!print_attribute(out, name, item))
            return false;
    aphi_buffer_str(out, "\r\n");
    return true;
}

static bool print_line(aphi_buffer *out, aph_value name, aph_value value, aph_value attributes)
{
    cookie_printing p = {out, false, "Set-Cookie: "};
    return print_cookie(&p, name, value) && print_attributes(out, attributes);
}

/* Prints all cookies with this name. */
static bool print_lines(aphi_buffer *out, aph_value name, aph_value value, aph_value attributes)
{
    size_t n = aph_count(value);
    if (aph_kind_of(value) != APH_ARRAY)
        return print_line(out, name, value, attributes);
    if (n < 2 || (attributes && (aph_kind_of(attributes) != APH_ARRAY || aph_count(attributes) != n)))
        return false;
    for (size_t i = 0; i < n; i++) {
        aph_value own = attributes ? aph_at(attributes, i) : aph_object();
        if (own == APH_NIL || !print_line(out, name, aph_at(value, i), own))
            return false;
    }
    return true;
}

bool aphi_http_set_cookie_print(aphi_buffer *out, aph_value cookies, aph_value attributes)
{
    aph_value name, item;
    if ((cookies && aph_kind_of(cookies) != APH_OBJECT) || (attributes && aph_kind_of(attributes) != APH_OBJECT) ||
        with_attributes(attributes) != attributes)
        return false;
    for (size_t i = 0; aph_pair_at(attributes, i, &name, &item); i++)
        if (!aph_has(cookies, name))
            return false;
    for (size_t i = 0; aph_pair_at(cookies, i, &name, &item); i++)
        if (!print_lines(out, name, item, aph_get(attributes, name)))
            return false;
    return true;
}
