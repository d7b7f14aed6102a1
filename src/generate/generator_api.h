/* SPDX-License-Identifier: Apache-2.0
 *
 * generator_api.h - the context of one call of a generator. */
#ifndef APHI_GENERATE_GENERATOR_API_H
#define APHI_GENERATE_GENERATOR_API_H

#include "generate/generator.h"
#include "generate/weights.h"

struct aph_gen {
    aphi_choice choice;
    const aphi_knowledge *known; /* during a call */
    int64_t connection;
    uint64_t number;
    aphi_weights weights;
    aph_value wish;              /* the request that the next one should relate to; APH_NIL: none */
};

/* Returns a hole that refers to a response (or, if `answers` is false, a request) with a value at the path, preferably
 * a late one, and preferably not an empty string of a response. Returns APH_NIL if there is none. */
aph_value aphi_gen_hole(aph_gen *g, bool answers, aph_value path, const char *function);

#endif
