/* SPDX-License-Identifier: Apache-2.0
 *
 * proxy.h - declarations shared by the parts of the proxy model. */
#ifndef APH_MODELS_HTTP_PROXY_H
#define APH_MODELS_HTTP_PROXY_H

#include <antiphon/antiphon.h>

extern const aph_model aph_model_http_proxy;

/* The codec between messages of the model and bytes. */
extern const aph_codec aphi_proxy_wire;
/* Messages as readable text. */
aph_words aphi_proxy_words;

/* Generation of requests and of the origin server's responses. */
aph_value aphi_proxy_generate(aph_gen *g);
aph_value aphi_proxy_respond(aph_value request, uint64_t number);

#endif
