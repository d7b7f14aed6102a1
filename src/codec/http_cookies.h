/* SPDX-License-Identifier: Apache-2.0
 *
 * http_cookies.h - the fields Cookie and Set-Cookie as values (RFC 6265). */
#ifndef APHI_CODEC_HTTP_COOKIES_H
#define APHI_CODEC_HTTP_COOKIES_H

#include "base/buffer.h"
#include "codec/http_fields.h"

/* Reads Cookie: {"a": "1", "b": "2"}. */
aph_decoded aphi_http_cookie_read(aph_wire *w, aphi_http_group g, aph_value *cookies);
/* Reads the lines of Set-Cookie: the values of the cookies, and their attributes, {"a": {"path": "/", "secure": true}}.
 * Cookies without attributes are not in *attributes, which is APH_NIL if no cookie has any. */
aph_decoded aphi_http_set_cookie_read(aph_wire *w, aphi_http_group g, aph_value *cookies, aph_value *attributes);

/* Append the lines. Return false if the value cannot be read back. In requests, a value may also be an integer, which
 * is read back as a string. */
bool aphi_http_cookie_print(aphi_buffer *out, aph_value cookies);
bool aphi_http_set_cookie_print(aphi_buffer *out, aph_value cookies, aph_value attributes);

#endif
