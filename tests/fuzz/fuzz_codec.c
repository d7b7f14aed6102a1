/* SPDX-License-Identifier: Apache-2.0
 *
 * fuzz_codec.c - any input decodes to the same messages for any segmentation; decoded messages survive
 * encoding and decoding.
 *
 * The first byte selects the codec; the second selects the number of bytes per read. */
#include "codec/codec_internal.h"

#include <assert.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const aph_codec fixed3 = APH_CODEC_FIXED(3), prefixed1 = APH_CODEC_PREFIXED(1);
static const aph_codec prefixed2 = {.name = "prefixed", .size = 2, .limit = 300, .decode = aph_decode_prefixed,
                                    .encode = aph_encode_prefixed};
static const aph_codec *const codecs[] = {&aph_codec_json, &aph_codec_lines, &fixed3, &prefixed1, &prefixed2};
enum { CODECS = sizeof codecs / sizeof *codecs };

/* The result of one segmentation. */
typedef struct reading {
    aph_wire wire;
    size_t start, arrived;
} reading;

static aph_decoded next(const aph_codec *codec, reading *r, const uint8_t *data, size_t size, size_t chunk)
{
    for (;;) {
        r->wire.bytes = data + r->start;
        r->wire.count = r->arrived - r->start;
        r->wire.ended = r->arrived == size;
        aph_decoded result = aph_decode(codec, &r->wire);
        if (result != APH_MORE || r->wire.ended)
            return result;
        r->arrived = size - r->arrived < chunk ? size : r->arrived + chunk;
    }
}

static void encode_again(const aph_codec *codec, aph_value message)
{
    aphi_buffer out = {0};
    if (aphi_encode_at(codec, NULL, APH_TO_SERVER, message, &out)) {
        aph_wire w = {.bytes = (const unsigned char *)out.data, .count = out.n};
        assert(aph_decode(codec, &w) == APH_DECODED && w.used == out.n && w.message == message);
    } else {
        size_t n = aph_count(message); /* the string of a line that ends "\r\r\n" cannot be encoded */
        assert(codec == &aph_codec_lines && n && aph_bytes_of(&message, &n)[n - 1] == '\r');
    }
    aphi_buffer_free(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2)
        return 0;
    const aph_codec *codec = codecs[data[0] % CODECS];
    size_t chunk = data[1] % 16 + 1;
    data += 2;
    size -= 2;
    reading whole = {.arrived = size}, cut = {0};
    aph_decoded result;
    do {
        result = next(codec, &whole, data, size, size);
        assert(next(codec, &cut, data, size, chunk) == result);
        if (result == APH_DECODED) {
            assert(whole.wire.message == cut.wire.message && whole.wire.used == cut.wire.used);
            encode_again(codec, whole.wire.message);
            whole.start += whole.wire.used;
            cut.start += cut.wire.used;
        } else if (result == APH_MALFORMED) {
            assert(whole.wire.at == cut.wire.at && whole.wire.why[0]);
            assert(strcmp(whole.wire.why, cut.wire.why) == 0 && whole.start + whole.wire.at <= size);
        }
    } while (result == APH_DECODED);
    assert(result == APH_MALFORMED || whole.start == size);
    aph_collect();
    return 0;
}
