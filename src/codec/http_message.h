/* SPDX-License-Identifier: Apache-2.0
 *
 * http_message.h - declarations shared by the two halves of aph_codec_http. */
#ifndef APHI_CODEC_HTTP_MESSAGE_H
#define APHI_CODEC_HTTP_MESSAGE_H

#include "codec/http_syntax.h"

#include <antiphon/http.h>

#define APHI_HTTP_HOST "antiphon" /* the Host of a request that has none */

/* Levels of nesting in a body of JSON: one less than in a message, which contains it. */
enum { APHI_HTTP_JSON_DEPTH = 255 };

/* The content types that the codec reads as values. */
typedef enum aphi_http_content {
    APHI_HTTP_TEXT,       /* any other: the body is a string */
    APHI_HTTP_JSON,       /* application/json */
    APHI_HTTP_LIKE_JSON,  /* a type that ends in +json */
    APHI_HTTP_FORM,       /* application/x-www-form-urlencoded; in requests only */
} aphi_http_content;

aphi_http_content aphi_http_content_of(aph_side side, aphi_span type);
/* Returns true for fields that are never members of "headers": the codec writes them, or they have their own place. */
bool aphi_http_is_apart(aph_side side, aphi_span name);
/* Returns true if the codec keeps the header. */
bool aphi_http_is_seen(const aph_http_kept *kept, aph_side side, aphi_span name);
/* Returns true for the headers whose value is a reference to a resource. */
bool aphi_http_is_reference(aphi_span name);

#endif
