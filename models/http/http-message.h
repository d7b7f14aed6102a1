/* SPDX-License-Identifier: Apache-2.0
 *
 * http-message.h - requests and responses of HTTP/1.1 as values. docs/http.md says what they look like. */
#ifndef APHI_HTTP_MESSAGE_H
#define APHI_HTTP_MESSAGE_H

#include "syntax.h"

#include <antiphon/antiphon.h>

/* Of both sides. What the RFCs forbid is malformed, with the clause. */
extern const aph_codec aphi_http_codec;

/* Fields that say how the message is sent: not part of the value. */
bool aphi_http_is_framing(aph_side side, aphi_span name);
/* Fields whose value is a date, and so an integer. */
bool aphi_http_is_date(aphi_span name);
/* Fields of a response that have a place of their own; `date` is not among them. */
bool aphi_http_is_kept(aphi_span name);

/* Of a message that was printed: is its length the last line of its head? *n is then where that line begins. */
bool aphi_http_has_length(aphi_span printed, size_t *n);
/* What stands in place of the length, then, and the body in chunks. */
void aphi_http_put_chunks(aph_sink *out, aphi_span body);

/* The encode of aphi_http_codec: printer.c. */
bool aphi_http_print(const aph_codec *codec, aph_side side, aph_value message, aph_sink *out);

#endif
