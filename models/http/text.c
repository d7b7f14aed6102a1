/* SPDX-License-Identifier: Apache-2.0
 *
 * text.c - a growing buffer for the text of heads and fields; see text.h. */
#include "text.h"

#include "head.h"

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
