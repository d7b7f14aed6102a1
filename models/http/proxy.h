/* SPDX-License-Identifier: Apache-2.0
 *
 * proxy.h - declarations shared by the parts of the proxy model. */
#ifndef APH_MODELS_HTTP_PROXY_H
#define APH_MODELS_HTTP_PROXY_H

#include <antiphon/antiphon.h>

#include "codec/http_origins.h"

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

/* Returns the number of the origin server with that name ("here", "here-1" or "here-2"), or -1. */
static inline int64_t aphi_proxy_origin_named(aph_value host)
{
    int64_t origin = aphi_http_origin_named(host);
    return origin < APHI_PROXY_ORIGINS ? origin : -1;
}

#endif
