/* SPDX-License-Identifier: Apache-2.0
 *
 * http_text.c - a growing buffer for the text of heads and fields, and checks of their parts. */
#include "codec/http_text.h"

#include "codec/http_head.h"

#include <stdlib.h>

void aphi_http_text_init(aphi_http_text *t)
{
    t->data = t->little;
    t->n = 0;
    t->capacity = sizeof t->little;
}

void aphi_http_text_free(aphi_http_text *t)
{
    if (t->data != t->little)
        free(t->data);
}

void aphi_http_text_add(aphi_http_text *t, aphi_span s)
{
    if (s.n > t->capacity - t->n) {
        size_t capacity = 2 * (t->n + s.n);
        char *data = aphi_http_allocate(capacity);
        memcpy(data, t->data, t->n);
        aphi_http_text_free(t);
        t->data = data;
        t->capacity = capacity;
    }
    if (s.n)
        memcpy(t->data + t->n, s.text, s.n);
    t->n += s.n;
}

void aphi_http_text_add_str(aphi_http_text *t, const char *s)
{
    aphi_http_text_add(t, (aphi_span){s, strlen(s)});
}

void aphi_http_text_add_line(aphi_http_text *t, aphi_span name, aphi_span value, const char *end)
{
    aphi_http_text_add(t, name);
    aphi_http_text_add_str(t, ": ");
    aphi_http_text_add(t, value);
    aphi_http_text_add_str(t, end);
}

aph_value aphi_http_text_take(aphi_http_text *t)
{
    aph_value text = aph_bytes(t->data, t->n);
    aphi_http_text_free(t);
    return text;
}

/* ---- parts of a head --------------------------------------------------------------------------------------------- */

bool aphi_http_is_method(aphi_span s)
{
    for (size_t i = 0; i < s.n; i++)
        if (!aphi_is_token((unsigned char)s.text[i]))
            return false;
    return s.n > 0;
}

bool aphi_http_is_name(aphi_span s)
{
    for (size_t i = 0; i < s.n; i++)
        if (aphi_lower(s.text[i]) != s.text[i])
            return false;
    return aphi_http_is_method(s);
}

bool aphi_http_is_value(aphi_span s)
{
    for (size_t i = 0; i < s.n; i++)
        if (!aphi_is_text((unsigned char)s.text[i]))
            return false;
    return aphi_trim(s).n == s.n;
}
