/* SPDX-License-Identifier: Apache-2.0
 *
 * fuzz_proxy.c - any input decodes to the same proxy messages or errors for any segmentation; decoded messages that can
 * be printed survive printing and decoding.
 *
 * The first byte selects the side and the request; the second selects the number of bytes per read. */
#include "codec/codec_internal.h"
#include "models/http/proxy.h"

#include <assert.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char here[] = "127.0.0.1:80";
static const char *const origins[] = {here, "127.0.0.1:81", "127.0.0.1:82", NULL};

/* The result of one segmentation. */
typedef struct reading {
    aph_wire wire;
    size_t start, arrived;
} reading;

static aph_decoded next(reading *r, const uint8_t *data, size_t size, size_t chunk)
{
    for (;;) {
        r->wire.bytes = data + r->start;
        r->wire.count = r->arrived - r->start;
        r->wire.ended = r->arrived == size;
        aph_decoded result = aph_decode(&aphi_proxy_wire, &r->wire);
        if (result != APH_MORE || r->wire.ended)
            return result;
        r->arrived = size - r->arrived < chunk ? size : r->arrived + chunk;
    }
}

static void print_again(const aph_wire *read)
{
    aphi_buffer out = {0};
    if (aphi_encode_at(&aphi_proxy_wire, origins, read->side, read->message, &out)) {
        aph_wire w = {.side = read->side, .asked = read->asked, .here = here, .origins = origins,
                      .bytes = (const unsigned char *)out.data, .count = out.n};
        assert(aph_decode(&aphi_proxy_wire, &w) == APH_DECODED && w.used == out.n && w.message == read->message);
    }
    aphi_buffer_free(&out);
}

static void read_messages(aph_wire wire, const uint8_t *data, size_t size, size_t chunk)
{
    reading whole = {.wire = wire, .arrived = size}, cut = {.wire = wire};
    aph_decoded result;
    do {
        result = next(&whole, data, size, size);
        assert(next(&cut, data, size, chunk) == result);
        if (result == APH_DECODED) {
            assert(whole.wire.message == cut.wire.message && whole.wire.used == cut.wire.used);
            print_again(&whole.wire);
            whole.start += whole.wire.used;
            cut.start += cut.wire.used;
        } else if (result == APH_MALFORMED) {
            assert(whole.wire.at == cut.wire.at && strcmp(whole.wire.why, cut.wire.why) == 0);
        }
    } while (result == APH_DECODED);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2)
        return 0;
    size_t chunk = data[1] % 16 + 1;
    aph_wire wire = {.side = data[0] % 3 == 0 ? APH_TO_SERVER : APH_FROM_SERVER, .here = here, .origins = origins};
    if (data[0] % 3)
        wire.asked = aph_record("method", aph_str(data[0] % 3 == 1 ? "GET" : "HEAD"));
    read_messages(wire, data + 2, size - 2, chunk);
    aph_collect();
    return 0;
}
