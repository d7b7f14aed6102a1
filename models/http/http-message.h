/* SPDX-License-Identifier: Apache-2.0
 *
 * http-message.h - requests and responses of HTTP/1.1 as values, as described in docs/http.md. */
#ifndef APHI_HTTP_MESSAGE_H
#define APHI_HTTP_MESSAGE_H

#include "codec/http_syntax.h"

#include <antiphon/antiphon.h>

/* The codec for both directions. Messages that the RFCs forbid are malformed; the error names the clause. */
extern const aph_codec aphi_http_codec;

/* Returns true for framing fields, which are not part of the value. */
bool aphi_http_is_framing(aph_side side, aphi_span name);
/* Returns true for fields whose value is a date, stored as an integer. */
bool aphi_http_is_date(aphi_span name);
/* Returns true for response fields that have their own member in the value, except `date`. */
bool aphi_http_is_kept(aphi_span name);

/* Returns true if Content-Length is the last line of the printed head; *n is the offset of that line. */
bool aphi_http_has_length(aphi_span printed, size_t *n);
/* Writes Transfer-Encoding in place of Content-Length, and the body in chunks. */
void aphi_http_put_chunks(aph_sink *out, aphi_span body);

/* The encode of aphi_http_codec: printer.c. */
bool aphi_http_print(const aph_codec *codec, aph_side side, aph_value message, aph_sink *out);

#endif
