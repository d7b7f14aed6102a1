/* SPDX-License-Identifier: Apache-2.0
 *
 * http_text.h - a growing buffer for the text of heads and fields, and checks of their parts. */
#ifndef APHI_CODEC_HTTP_TEXT_H
#define APHI_CODEC_HTTP_TEXT_H

#include "codec/http_syntax.h"

#include <antiphon/codec.h>

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

bool aphi_http_is_method(aphi_span s); /* a token */
bool aphi_http_is_name(aphi_span s);   /* of a field, in lower case */
bool aphi_http_is_value(aphi_span s);  /* of a field: text without blanks at its ends */

#endif
