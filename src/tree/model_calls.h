/* SPDX-License-Identifier: Apache-2.0
 *
 * model_calls.h - calls of the functions of a model other than its step, guarded (step_guard.h). Each expects that the
 * model has the function, unless noted; if it fails, the result is false, APH_NIL or 0. */
#ifndef APHI_TREE_MODEL_CALLS_H
#define APHI_TREE_MODEL_CALLS_H

#include <antiphon/model.h>

/* Returns the state before the first step, also if the model does not define it. */
aph_value aphi_model_initial(const aph_model *model);
aph_value aphi_model_part(const aph_model *model, aph_value request);
bool aphi_model_commute(const aph_model *model, aph_value a, aph_value b);
bool aphi_model_reads(const aph_model *model, aph_value request, aph_value answer);
bool aphi_model_alone(const aph_model *model, aph_value request);
bool aphi_model_jepsen(const aph_model *model, aph_value request, aph_jepsen end, aph_value value, aph_value *answer);
aph_value aphi_model_generate(const aph_model *model, aph_gen *g);
/* Returns NULL instead of a string if the function fails. */
const char *aphi_model_kind(const aph_model *model, aph_value request);
int64_t aphi_model_patience_ms(const aph_model *model, aph_value request);
aph_value aphi_model_draw(const aph_model *model, const char *name, uint64_t random);
aph_value aphi_model_preamble(const aph_model *model, const aph_preamble *p);
/* Calls respond_at, or respond if the model does not define it. */
aph_value aphi_model_respond(const aph_model *model, int64_t origin, aph_value message, uint64_t number);
aph_value aphi_model_words(aph_words *words, aph_value message);
aph_value aphi_model_apply(const aph_function *f, aph_value v);
/* Returns APH_MORE if the function fails. */
aph_decoded aphi_model_decode(const aph_codec *codec, aph_wire *wire);
bool aphi_model_encode(const aph_codec *codec, aph_side side, aph_value message, aph_sink *out);

#endif
