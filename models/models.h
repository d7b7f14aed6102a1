/* SPDX-License-Identifier: Apache-2.0
 *
 * models.h - the built-in models. */
#ifndef APH_MODELS_H
#define APH_MODELS_H

#include <antiphon/model.h>

/* A mutant: a faulty server for `antiphon serve --mutate`. Its only promise is rpc; the arguments set the fields that
 * it shares with its model, such as .initial and .codec. */
#define APH_MUTANT(...) &(const aph_model){.version = APH_MODEL_VERSION, .rpc = true, __VA_ARGS__}

/* Returns true in about one of n calls. */
static inline bool aph_one_in(aph *m, int n)
{
    return aph_decide(m, aph_eq(aph_choose_within(m, 1, n, "luck"), aph_int(1)), "bad luck");
}

extern const aph_model aph_model_register;
extern const aph_model aph_model_kv;
extern const aph_model aph_model_swap;
extern const aph_model aph_model_swap_connections;
extern const aph_model aph_model_swap_impl;
extern const aph_model aph_model_queue;
extern const aph_model aph_model_etag_kv;
extern const aph_model aph_model_http;
extern const aph_model aph_model_http_proxy;

/* All built-in models in listing order; sets *n to their number. */
const aph_model *const *aph_models(size_t *n);
/* Returns the model with the name, or NULL. */
const aph_model *aph_model_named(const char *name);

#endif
