/* SPDX-License-Identifier: Apache-2.0
 *
 * fuzz_resp.c - RESP, lines with CRLF and length prefixes: any input decodes to the same messages or errors for any
 * segmentation; decoded messages survive encoding and decoding.
 *
 * The first byte selects the codec and the side; the second selects the number of bytes per read. */
#include "decode_twice.h"

#include <antiphon/resp.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const aph_codec little = APH_CODEC_PREFIXED_LITTLE(2), json = APH_CODEC_PREFIXED_JSON(1);
static const aph_codec json_little = APH_CODEC_PREFIXED_JSON_LITTLE(4);
static const aph_codec numbers = APH_CODEC_JSON(.numbers = true);
static const aph_codec *const others[] = {&aph_codec_crlf, &little, &json, &json_little, &numbers};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2)
        return 0;
    size_t chunk = data[1] % 16 + 1, most = SIZE_MAX;
    const aph_codec *codec = data[0] % 9 < 5 ? others[data[0] % 9] : &aph_codec_resp;
    if (codec == &json)
        most = 16; /* a string of 255 bytes can become longer, with escapes */
    aph_side side = data[0] % 2 ? APH_TO_SERVER : APH_FROM_SERVER;
    decode_twice(codec, (aph_wire){.side = side}, data + 2, size - 2, chunk, most);
    aph_collect();
    return 0;
}
