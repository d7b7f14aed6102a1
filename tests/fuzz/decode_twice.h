/* SPDX-License-Identifier: Apache-2.0
 *
 * decode_twice.h - checks for the fuzz targets of codecs: any segmentation gives the same messages and the same error;
 * a decoded message can be encoded, to bytes that decode to the same message. */
#ifndef DECODE_TWICE_H
#define DECODE_TWICE_H

#include "codec/codec_internal.h"

#include <assert.h>

/* The result of one segmentation. */
typedef struct reading {
    aph_wire wire;
    size_t start, arrived;
} reading;

static aph_decoded decode_next(const aph_codec *codec, reading *r, const uint8_t *data, size_t size, size_t chunk)
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

/* An encoded message may be slightly longer than its bytes were, so a message of more than `most` bytes may be
 * rejected. */
static void encode_again(const aph_codec *codec, const aph_wire *read, size_t most)
{
    aphi_buffer out = {0};
    bool encoded = aphi_encode_at(codec, read->origins, read->side, read->message, &out);
    assert(encoded || read->used > most);
    if (encoded) {
        aph_wire w = {.side = read->side, .asked = read->asked, .bytes = (const unsigned char *)out.data,
                      .count = out.n, .here = read->here, .origins = read->origins};
        assert(aph_decode(codec, &w) == APH_DECODED && w.used == out.n && w.message == read->message);
    }
    aphi_buffer_free(&out);
}

static void decode_twice(const aph_codec *codec, aph_wire wire, const uint8_t *data, size_t size, size_t chunk,
                         size_t most)
{
    reading whole = {.wire = wire, .arrived = size}, cut = {.wire = wire};
    aph_decoded result;
    do {
        result = decode_next(codec, &whole, data, size, size);
        assert(decode_next(codec, &cut, data, size, chunk) == result);
        if (result == APH_DECODED) {
            assert(whole.wire.message == cut.wire.message && whole.wire.used == cut.wire.used);
            encode_again(codec, &whole.wire, most);
            whole.start += whole.wire.used;
            cut.start += cut.wire.used;
        } else if (result == APH_MALFORMED) {
            assert(whole.wire.at == cut.wire.at && whole.wire.why[0] && whole.start + whole.wire.at <= size);
            assert(strcmp(whole.wire.why, cut.wire.why) == 0);
        }
    } while (result == APH_DECODED);
    assert(result == APH_MALFORMED || whole.start == size);
}

#endif
