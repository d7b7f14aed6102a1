/* SPDX-License-Identifier: Apache-2.0
 *
 * proxy.h - what the parts of the proxy model know of each other. */
#ifndef APH_MODELS_HTTP_PROXY_H
#define APH_MODELS_HTTP_PROXY_H

#include <antiphon/antiphon.h>

extern const aph_model aph_model_http_proxy;

/* Messages of the model to bytes and back. */
extern const aph_codec aphi_proxy_wire;
/* And to what people read. */
aph_words aphi_proxy_words;

/* What clients send, and what the origin server answers. */
aph_value aphi_proxy_generate(aph_gen *g);
aph_value aphi_proxy_respond(aph_value request, uint64_t number);

#endif
