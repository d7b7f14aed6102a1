/* SPDX-License-Identifier: Apache-2.0
 *
 * http_origins.h - the names of the tester's origins in messages.
 *
 * The tester listens on a port for each origin (model.h). Messages name the origins "here", "here-1", "here-2" and so
 * on, and never contain their addresses, so a script can be replayed on other ports. */
#ifndef APHI_CODEC_HTTP_ORIGINS_H
#define APHI_CODEC_HTTP_ORIGINS_H

#include "codec/http_text.h"

aph_value aphi_http_origin_name(size_t origin);
/* Returns the number of the origin with that name, or -1. */
int64_t aphi_http_origin_named(aph_value host);
/* Convert the address of an origin to its name, and back. Other hosts are unchanged. */
aph_value aphi_http_host_read(const aph_wire *w, aphi_span host);
aph_value aphi_http_host_text(const aph_sink *out, aph_value host);
/* Like aphi_http_host_read; also recognizes the address with the host localhost. */
aph_value aphi_http_local_host_read(const aph_wire *w, aphi_span host);
/* Splits http://HOST[:PORT]REST. Returns false for another form. */
bool aphi_http_absolute_split(aphi_span uri, aphi_span *authority, aphi_span *rest);
/* Convert the address in a URI that begins with http://ADDRESS, as aphi_http_local_host_read and aphi_http_host_text
 * do. Other texts are unchanged. */
aph_value aphi_http_uri_read(const aph_wire *w, aphi_span uri);
aph_value aphi_http_uri_text(const aph_sink *out, aphi_span uri);

#endif
