/* SPDX-License-Identifier: Apache-2.0
 *
 * text.h - a growing buffer for the text of heads and fields. */
#ifndef APHI_HTTP_TEXT_H
#define APHI_HTTP_TEXT_H

#include "syntax.h"

#include <antiphon/antiphon.h>

/* The bytes of a string value, which must outlive the span. */
static inline aphi_span aphi_span_of(const aph_value *v)
{
    aphi_span s;
    s.text = aph_bytes_of(v, &s.n);
    return s;
}

typedef struct aphi_http_text {
    char *data;
    size_t n, capacity;
    char little[1024]; /* storage for small texts */
} aphi_http_text;

void aphi_http_text_init(aphi_http_text *t);
void aphi_http_text_free(aphi_http_text *t);
void aphi_http_text_add(aphi_http_text *t, aphi_span s);
void aphi_http_text_add_str(aphi_http_text *t, const char *s);
/* Adds "name: value" and the end of the line. */
void aphi_http_text_add_line(aphi_http_text *t, aphi_span name, aphi_span value, const char *end);
/* Returns the text as a string value and frees the buffer. */
aph_value aphi_http_text_take(aphi_http_text *t);

#endif
