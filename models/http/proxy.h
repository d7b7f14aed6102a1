/* SPDX-License-Identifier: Apache-2.0
 *
 * proxy.h - declarations shared by the parts of the proxy model. */
#ifndef APH_MODELS_HTTP_PROXY_H
#define APH_MODELS_HTTP_PROXY_H

#include <antiphon/antiphon.h>

#include "codec/http_text.h"

extern const aph_model aph_model_http_proxy;

/* The codec between messages of the model and bytes. */
extern const aph_codec aphi_proxy_wire;
/* Messages as readable text. */
aph_words aphi_proxy_words;

/* Generation of requests and of the origin servers' responses. */
aph_value aphi_proxy_generate(aph_gen *g);
aph_value aphi_proxy_respond(aph_value request, uint64_t number);
aph_value aphi_proxy_respond_at(int64_t origin, aph_value request, uint64_t number);

enum { APHI_PROXY_ORIGINS = 3 };

/* The name of an origin server in messages: "here", "here-1", ... */
aph_value aphi_proxy_origin_name(size_t origin);
/* Returns the origin with that name, or -1. */
int64_t aphi_proxy_origin_named(aph_value host);
/* Convert the address of an origin to its name, and back; other hosts are unchanged. */
aph_value aphi_proxy_host_read(const aph_wire *w, aphi_span host);
aph_value aphi_proxy_host_text(const aph_sink *out, aph_value host);

#endif
