/* SPDX-License-Identifier: Apache-2.0
 *
 * generator_api.h - one call of a generator, seen from inside. */
#ifndef APHI_GENERATE_GENERATOR_API_H
#define APHI_GENERATE_GENERATOR_API_H

#include "generate/generator.h"
#include "generate/weights.h"

struct aph_gen {
    aphi_choice choice;
    const aphi_knowledge *known; /* during a call */
    int64_t connection;
    uint64_t number;
    aphi_weights taste;
    aph_value wish;              /* a request: one that has to do with it is wanted; APH_NIL: any */
};

/* A hole for some message of a side, answers or requests, latest ones more likely, that has something at that path;
 * APH_NIL if none has. */
aph_value aphi_gen_hole(aph_gen *g, bool answers, aph_value path, const char *function);

#endif
