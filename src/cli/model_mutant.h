/* SPDX-License-Identifier: Apache-2.0
 *
 * model_mutant.h - which of a model's mutants is meant? */
#ifndef APHI_CLI_MODEL_MUTANT_H
#define APHI_CLI_MODEL_MUTANT_H

#include <antiphon/model.h>

/* The mutant of that number, from 1, or of that name; NULL after saying on stderr which there are. */
const aph_model *aphi_mutant_named(const aph_model *model, const char *which);

#endif
