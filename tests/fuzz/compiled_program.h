/* SPDX-License-Identifier: Apache-2.0
 *
 * compiled_program.h - a built-in program, compiled once, for fuzz targets. */
#ifndef COMPILED_PROGRAM_H
#define COMPILED_PROGRAM_H

#include <assert.h>
#include "alts/component_alts.h"
#include "explore/compiled_model.h"
#include "models/programs.h"

static const aphi_compiled_model *compile_once(const char *name)
{
    static aphi_compiled_model model;
    static aphi_alts a;
    static bool built;
    if (!built) {
        char why[300];
        aph_program *program = aph_program_named(name);
        built = aphi_component_alts(program, &a, why, sizeof why) &&
                aphi_compiled_model_build(&model, &a, why, sizeof why);
        assert(built);
        aph_program_free(program);
    }
    return &model;
}

#endif
