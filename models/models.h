/* SPDX-License-Identifier: Apache-2.0
 *
 * models.h - the models that Antiphon knows by name. */
#ifndef APH_MODELS_H
#define APH_MODELS_H

#include <antiphon/model.h>

/* A mutant: a server that is wrong, for `antiphon serve --mutate`. It makes no promise but rpc, and shares of its model
 * what is given: .initial, .codec. */
#define APH_MUTANT(...) &(const aph_model){.version = APH_MODEL_VERSION, .rpc = true, __VA_ARGS__}

/* True about one time in n. */
static inline bool aph_one_in(aph *m, int n)
{
    return aph_decide(m, aph_eq(aph_choose_within(m, 1, n, "luck"), aph_int(1)), "bad luck");
}

extern const aph_model aph_model_register;
extern const aph_model aph_model_kv;
extern const aph_model aph_model_swap;
extern const aph_model aph_model_swap_impl;
extern const aph_model aph_model_queue;
extern const aph_model aph_model_etag_kv;
extern const aph_model aph_model_http;
extern const aph_model aph_model_http_proxy;

/* All of them, in the order in which they are listed to people; *n receives how many. */
const aph_model *const *aph_models(size_t *n);
/* The one of that name, or NULL. */
const aph_model *aph_model_named(const char *name);

#endif
