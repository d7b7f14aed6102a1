/* SPDX-License-Identifier: Apache-2.0
 *
 * fuzz_codec_http.c - aph_codec_http: any input decodes to the same messages or errors for any segmentation; decoded
 * messages survive encoding and decoding. Any other value is encoded or rejected.
 *
 * The first byte selects the side and the request, or JSON, and the origins; the second selects the number of bytes per
 * read. */
#include "decode_twice.h"

#include <antiphon/http.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const seen[] = {"location", "set-cookie", NULL};
static const aph_codec some_headers = APH_CODEC_HTTP(seen, .numbers = true);
static const char *const origins[] = {"127.0.0.1:80", "127.0.0.1:81", NULL};

/* Encodes any value. A response is read back as it was; in a request, an integer becomes its text. */
static void encode_any(const uint8_t *data, size_t size, aph_side side)
{
    aph_value v, bytes;
    aph_json_error error;
    if (!aph_json_read((const char *)data, size, &v, &error) || !aph_encode(&aph_codec_http, side, v, &bytes))
        return;
    size_t n;
    const char *text = aph_bytes_of(&bytes, &n);
    aph_wire w = {.side = side, .bytes = (const unsigned char *)text, .count = n};
    assert(aph_decode(&aph_codec_http, &w) == APH_DECODED && w.used == n);
    encode_again(&aph_codec_http, &w, 32768);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    enum { MOST = 16384 }; /* percent-encoding can make a head three times as long */
    static const char *const methods[] = {"GET", "HEAD", "CONNECT"};
    if (size < 2)
        return 0;
    unsigned kind = data[0] % 6;
    const aph_codec *codec = data[0] & 64 ? &some_headers : &aph_codec_http;
    const char *const *named = data[0] & 32 ? origins : NULL;
    const char *here = named ? origins[0] : NULL;
    size_t chunk = data[1] % 16 + 1;
    if (kind >= 4)
        encode_any(data + 2, size - 2, kind == 4 ? APH_TO_SERVER : APH_FROM_SERVER);
    else if (kind == 3)
        decode_twice(codec, (aph_wire){.side = APH_TO_SERVER, .here = here, .origins = named}, data + 2, size - 2,
                     chunk, MOST);
    else
        decode_twice(codec,
                     (aph_wire){.side = APH_FROM_SERVER, .asked = aph_record("method", aph_str(methods[kind])),
                                .here = here, .origins = named},
                     data + 2, size - 2, chunk, MOST);
    aph_collect();
    return 0;
}
