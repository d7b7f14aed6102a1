/* SPDX-License-Identifier: Apache-2.0
 *
 * fuzz_messages.c - each built-in model encodes any JSON value or rejects it; encoded bytes decode, and the decoded
 * message encodes to bytes that decode to the same message. The other functions of a model accept any value.
 *
 * The first line is the message; the second is another message. */
#include "json_mutator.h"

#include <antiphon/component.h>
#include <assert.h>
#include "codec/codec_internal.h"
#include "models/models.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char here[] = "127.0.0.1:80";
static const char *const origins[] = {here, "127.0.0.1:81", "127.0.0.1:82", NULL};

static bool encode(const aph_codec *codec, aph_side side, aph_value message, aphi_buffer *out)
{
    *out = (aphi_buffer){0};
    if (aphi_encode_at(codec, origins, side, message, out))
        return true;
    assert(out->n == 0);
    aphi_buffer_free(out);
    return false;
}

static aph_value decode(const aph_codec *codec, aph_wire w, aphi_buffer *bytes)
{
    w.bytes = (const unsigned char *)bytes->data;
    w.count = bytes->n;
    w.here = here;
    w.origins = origins;
    assert(aph_decode(codec, &w) == APH_DECODED && w.used == bytes->n);
    aphi_buffer_free(bytes);
    return w.message;
}

static void encode_and_decode(const aph_codec *codec, aph_wire w, aph_value message)
{
    aphi_buffer bytes;
    if (!encode(codec, w.side, message, &bytes))
        return;
    aph_value first = decode(codec, w, &bytes);
    if (encode(codec, w.side, first, &bytes))
        assert(decode(codec, w, &bytes) == first);
}

static void call_functions(const aph_model *model, aph_value message, aph_value other)
{
    for (const aph_function *f = model->functions; f && f->name; f++)
        f->apply(message);
    if (model->kind)
        assert(model->kind(message));
    if (model->words)
        model->words(message);
    if (model->alone)
        model->alone(message);
    if (model->part)
        model->part(message);
    if (model->commute)
        assert(model->commute(message, other) == model->commute(other, message));
    if (model->reads)
        model->reads(message, other);
    if (model->respond)
        model->respond(message, 7);
    for (int64_t origin = 0; model->respond_at && origin < model->origins; origin++)
        model->respond_at(origin, message, 7);
    if (model->jepsen)
        for (aph_jepsen end = APH_JEPSEN_OK; end <= APH_JEPSEN_FAIL; end++)
            model->jepsen(message, end, other, &(aph_value){0});
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    lines l;
    size_t n;
    const aph_model *const *models = aph_models(&n);
    if (!read_lines((const char *)data, size, &l))
        return 0;
    aph_value message = l.items[0], other = l.count > 1 ? l.items[1] : APH_NIL;
    aph_value request = aph_record("method", aph_str("GET"));
    for (size_t i = 0; i < n; i++) {
        const aph_codec *codec = models[i]->codec ? models[i]->codec : &aph_codec_json;
        encode_and_decode(codec, (aph_wire){.side = APH_TO_SERVER}, message);
        encode_and_decode(codec, (aph_wire){.side = APH_FROM_SERVER, .asked = request}, message);
        call_functions(models[i], message, other);
    }
    aph_collect();
    return 0;
}
