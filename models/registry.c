/* SPDX-License-Identifier: Apache-2.0
 *
 * registry.c - the list of built-in models. A new model is a file in this folder, a line here and a line in models.h.
 * */
#include "models.h"

#include <string.h>

static const aph_model *const models[] = {
    &aph_model_register,
    &aph_model_kv,
    &aph_model_swap,
    &aph_model_swap_connections,
    &aph_model_swap_impl,
    &aph_model_queue,
    &aph_model_etag_kv,
    &aph_model_http,
    &aph_model_http_proxy,
};

static const size_t count = sizeof models / sizeof *models;

const aph_model *const *aph_models(size_t *n)
{
    *n = count;
    return models;
}

const aph_model *aph_model_named(const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(models[i]->name, name) == 0)
            return models[i];
    return NULL;
}
