/* SPDX-License-Identifier: Apache-2.0
 *
 * http_uri.h - paths, queries and forms as values (RFC 3986 3.3 and 3.4, application/x-www-form-urlencoded). */
#ifndef APHI_CODEC_HTTP_URI_H
#define APHI_CODEC_HTTP_URI_H

#include "base/buffer.h"
#include "codec/http_text.h"

/* Reads "/a/b" as ["a", "b"], and "/" as []. Returns false if the text does not begin with a slash or has an invalid
 * percent-encoding. */
bool aphi_http_path_parse(aphi_span text, aph_value *path);
/* Reads "a=1&b=2" as {"a": "1", "b": "2"}; an empty query is APH_NIL. If it returns false, *at is the offset of the
 * first wrong byte. */
bool aphi_http_query_parse(aphi_span text, aph_value *query, size_t *at);
/* Reads "/a/b?c=1" as {"path": ["a", "b"], "query": {"c": "1"}}. Returns APH_NIL for another form of a target. */
aph_value aphi_http_origin_form_parse(aphi_span target);
/* Reads a reference to a resource: {"path": ..., "query": ...}, with "origin" if it is absolute. Any other text is
 * returned as a string. */
aph_value aphi_http_reference_parse(aphi_span text);

/* Append the text. Return false if the value cannot be read back. Where `numbers` is set, a part may also be an
 * integer, which is read back as a string. */
bool aphi_http_path_print(aphi_buffer *out, aph_value path, bool numbers);
bool aphi_http_query_print(aphi_buffer *out, aph_value query, bool numbers);
bool aphi_http_reference_print(aphi_buffer *out, aph_value reference);

/* The bytes of a string, or the decimal text of an integer, which is written to `digits`. Returns false for another
 * value. */
bool aphi_http_scalar(const aph_value *v, bool numbers, char digits[APHI_DECIMAL_MAX], aphi_span *text);

#endif
