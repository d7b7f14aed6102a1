/* SPDX-License-Identifier: Apache-2.0
 *
 * http-model.h - declarations shared by the parts of the HTTP model. */
#ifndef APH_MODELS_HTTP_MODEL_H
#define APH_MODELS_HTTP_MODEL_H

#include <antiphon/antiphon.h>

#define APH_HTTP_TIME_MAX INT64_C(253402300799) /* the last second of the year 9999 */

extern const aph_model aph_model_http;

/* The codec between messages of the model and bytes. */
extern const aph_codec aphi_http_wire;
/* Returns true if the string is valid between the quotes of an entity tag. */
bool aphi_http_is_opaque(aph_value v);

/* Messages as readable text. */
aph_words aphi_http_words;

/* Generation of requests. */
aph_value aphi_http_generate(aph_gen *g);
extern const aph_function aphi_http_functions[];

#endif
