/* SPDX-License-Identifier: Apache-2.0
 *
 * http_helpers.c - functions for models of web applications; see antiphon/http.h. */
#include "codec/http_origins.h"
#include "codec/http_uri.h"

#include <antiphon/http.h>
#include <antiphon/model.h>

/* Takes the next part of a route from *rest. Returns false at the end. */
static bool next_part(const char **rest, aphi_span *part)
{
    if (**rest != '/')
        return false;
    part->text = *rest + 1;
    part->n = strcspn(part->text, "/");
    *rest = part->text + part->n;
    return true;
}

static bool is_text(aph_value v, aphi_span text) { return v == aph_bytes(text.text, text.n); }

/* The text of a part, which is an integer if a hole was filled with one. */
static aph_value part_text(aph_value part)
{
    return aph_is_int(part) ? aph_strf("%lld", (long long)aph_int_of(part)) : part;
}

bool aph_http_route(aph_value request, const char *route, aph_value *parts)
{
    aph_value path = aph_field(request, "path");
    size_t method = strcspn(route, " "), i = 0, found = 0;
    const char *rest = route + method + (route[method] == ' ');
    aphi_span part;
    rest += strcmp(rest, "/") == 0; /* the path without parts */
    if (!is_text(aph_field(request, "method"), (aphi_span){route, method}) || aph_kind_of(path) != APH_ARRAY)
        return false;
    for (; next_part(&rest, &part); i++) {
        if (i == aph_count(path))
            return false;
        aph_value text = part_text(aph_at(path, i));
        if (aphi_span_is(part, "{}"))
            parts[found++] = text;
        else if (!is_text(text, part))
            return false;
    }
    return i == aph_count(path);
}

aph_value aph_http_cookie(aph_value message, const char *name)
{
    return aph_field(aph_field(message, "cookies"), name);
}

aph_value aph_http_response(int status, aph_value json)
{
    aph_value response = aph_record("status", aph_int(status));
    return json ? aph_put(response, "json", json) : response;
}

aph_value aph_http_number(aph_value v)
{
    if (!aph_is_str(v))
        return aph_is_int(v) ? v : APH_NIL;
    aphi_span s = aphi_span_of(&v);
    size_t sign = s.n && *s.text == '-';
    int64_t number = 0;
    if (s.n == sign)
        return APH_NIL;
    for (size_t i = sign; i < s.n; i++) {
        int digit = s.text[i] - '0';
        if (!aphi_is_digit((unsigned char)s.text[i]) || __builtin_mul_overflow(number, 10, &number) ||
            __builtin_add_overflow(number, sign ? -digit : digit, &number))
            return APH_NIL;
    }
    return s.text[sign] != '0' || s.n == 1 ? aph_int(number) : APH_NIL;
}

bool aph_http_path_read(aph_value text, aph_value *path)
{
    return aph_is_str(text) && aphi_http_path_parse(aphi_span_of(&text), path);
}

bool aph_http_query_read(aph_value text, aph_value *query)
{
    size_t at;
    if (!aph_is_str(text) || !aphi_http_query_parse(aphi_span_of(&text), query, &at))
        return false;
    *query = *query ? *query : aph_object();
    return true;
}

aph_value aph_http_origin(int64_t origin)
{
    return origin >= 0 && origin < APH_ORIGINS_MAX ? aphi_http_origin_name((size_t)origin) : APH_NIL;
}

/* ---- words ------------------------------------------------------------------------------------------------------- */

/* The text of "PUT /items/17?full=1", or the parts as JSON if one of them is unknown. */
static aph_value request_line(aph_value request)
{
    aphi_buffer line = {0};
    aph_value method = aph_field(request, "method"), query = aph_field(request, "query"), text = APH_NIL;
    if (aph_is_str(method))
        aphi_buffer_add(&line, aphi_span_of(&method).text, aphi_span_of(&method).n);
    aphi_buffer_byte(&line, ' ');
    bool valid = aphi_http_path_print(&line, aph_field(request, "path"), true);
    if (aph_count(query))
        aphi_buffer_byte(&line, '?');
    if (valid && aphi_http_query_print(&line, query, true))
        text = aph_bytes(line.data, line.n);
    aphi_buffer_free(&line);
    return text;
}

static aph_value add_word(aph_value words, aph_value word)
{
    return aph_push(aph_count(words) ? aph_push(words, aph_str(" ")) : words, word);
}

aph_value aph_http_words(aph_value message)
{
    static const char *const parts[] = {"query", "target", "headers", "json", "form", "body"};
    aph_value status = aph_field(message, "status"), line = request_line(message), words = aph_array(0, NULL);
    aph_value name, item;
    bool is_line = !status && line;
    words = add_word(words, status ? status : is_line ? line : aph_field(message, "method"));
    if (!status && !is_line)
        words = add_word(words, aph_field(message, "path"));
    for (size_t i = is_line; i < sizeof parts / sizeof *parts; i++)
        if (aph_has(message, aph_str(parts[i])))
            words = add_word(words, aph_field(message, parts[i]));
    for (size_t i = 0; aph_pair_at(aph_field(message, "cookies"), i, &name, &item); i++)
        words = aph_push(add_word(words, aph_concat(name, aph_str("="))), item);
    return words;
}
