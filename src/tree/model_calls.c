/* SPDX-License-Identifier: Apache-2.0
 *
 * model_calls.c - guarded calls of the functions of a model; see model_calls.h. */
#include "tree/model_calls.h"

#include "tree/step_guard.h"

/* The value of `call`, or `otherwise` if the function fails. */
#define CALL(name, function, otherwise, call) \
    __extension__({ \
        aphi_guarded guarded_; \
        volatile __typeof__(otherwise) result_ = (otherwise); \
        if (aphi_guard_begin_call(&guarded_, name, (void (*)(void))(function)) && !sigsetjmp(guarded_.escape, 0)) \
            result_ = (call), guarded_.has_ended = true; \
        aphi_guard_end_call(&guarded_); \
        result_; \
    })

aph_value aphi_model_initial(const aph_model *model)
{
    return model->initial ? CALL(".initial", model->initial, APH_NIL, model->initial(model)) : aph_object();
}

aph_value aphi_model_part(const aph_model *model, aph_value request)
{
    return CALL(".part", model->part, APH_NIL, model->part(request));
}

bool aphi_model_commute(const aph_model *model, aph_value a, aph_value b)
{
    return CALL(".commute", model->commute, false, model->commute(a, b));
}

bool aphi_model_reads(const aph_model *model, aph_value request, aph_value answer)
{
    return CALL(".reads", model->reads, false, model->reads(request, answer));
}

bool aphi_model_alone(const aph_model *model, aph_value request)
{
    return CALL(".alone", model->alone, false, model->alone(request));
}

bool aphi_model_jepsen(const aph_model *model, aph_value request, aph_jepsen end, aph_value value, aph_value *answer)
{
    return CALL(".jepsen", model->jepsen, false, model->jepsen(request, end, value, answer));
}

aph_value aphi_model_generate(const aph_model *model, aph_gen *g)
{
    return CALL(".generate", model->generate, APH_NIL, model->generate(g));
}

const char *aphi_model_kind(const aph_model *model, aph_value request)
{
    return CALL(".kind", model->kind, (const char *)NULL, model->kind(request));
}

int64_t aphi_model_patience_ms(const aph_model *model, aph_value request)
{
    return CALL(".patience_ms", model->patience_ms, (int64_t)0, model->patience_ms(request));
}

aph_value aphi_model_draw(const aph_model *model, const char *name, uint64_t random)
{
    return CALL(".draw", model->draw, APH_NIL, model->draw(name, random));
}

aph_value aphi_model_preamble(const aph_model *model, const aph_preamble *p)
{
    return CALL(".preamble", model->preamble, APH_NIL, model->preamble(p));
}

aph_value aphi_model_respond(const aph_model *model, int64_t origin, aph_value message, uint64_t number)
{
    if (model->respond_at)
        return CALL(".respond_at", model->respond_at, APH_NIL, model->respond_at(origin, message, number));
    return CALL(".respond", model->respond, APH_NIL, model->respond(message, number));
}

aph_value aphi_model_words(aph_words *words, aph_value message)
{
    return CALL(".words", words, APH_NIL, words(message));
}

aph_value aphi_model_apply(const aph_function *f, aph_value v)
{
    return CALL(f->name, f->apply, APH_NIL, f->apply(v));
}

aph_decoded aphi_model_decode(const aph_codec *codec, aph_wire *wire)
{
    return CALL("the codec's decode", codec->decode, APH_MORE, codec->decode(codec, wire));
}

bool aphi_model_encode(const aph_codec *codec, aph_side side, aph_value message, aph_sink *out)
{
    return CALL("the codec's encode", codec->encode, false, codec->encode(codec, side, message, out));
}
