/* SPDX-License-Identifier: Apache-2.0
 *
 * fuzz_http.c - any input decodes to the same HTTP messages or errors for any segmentation; decoded messages survive
 * printing and decoding; dates survive printing and parsing.
 *
 * The first byte selects the side and the request, or a date; the second selects the number of bytes per read. */
#include "codec/codec_internal.h"
#include "codec/http_dates.h"
#include "models/http/http-message.h"

#include <assert.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

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
        aph_decoded result = aph_decode(&aphi_http_codec, &r->wire);
        if (result != APH_MORE || r->wire.ended)
            return result;
        r->arrived = size - r->arrived < chunk ? size : r->arrived + chunk;
    }
}

static void print_again(const aph_wire *read)
{
    aphi_buffer out = {0};
    bool printed = aphi_encode_at(&aphi_http_codec, NULL, read->side, read->message, &out);
    assert(printed || read->used > 32768); /* printed lines are slightly longer and may exceed the limit */
    if (printed) {
        aph_wire w = {.side = read->side, .asked = read->asked, .bytes = (const unsigned char *)out.data,
                      .count = out.n};
        assert(aph_decode(&aphi_http_codec, &w) == APH_DECODED && w.used == out.n && w.message == read->message);
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
            assert(whole.wire.at == cut.wire.at && whole.wire.why[0] && whole.start + whole.wire.at <= size);
            assert(strcmp(whole.wire.why, cut.wire.why) == 0);
        }
    } while (result == APH_DECODED);
    assert(result == APH_MALFORMED || whole.start == size);
}

static void read_date(const uint8_t *data, size_t size)
{
    int64_t seconds, again, now = 1700000000;
    char text[APHI_HTTP_DATE_SIZE + 1];
    if (!aphi_http_date_read((const char *)data, size, now, &seconds))
        return;
    assert(aphi_http_date_write(seconds, text));
    assert(aphi_http_date_read(text, APHI_HTTP_DATE_SIZE, now, &again) && again == seconds);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const methods[] = {"GET", "HEAD", "CONNECT"};
    if (size < 2)
        return 0;
    unsigned kind = data[0] % 5;
    size_t chunk = data[1] % 16 + 1;
    if (kind == 4)
        read_date(data + 2, size - 2);
    else if (kind == 3)
        read_messages((aph_wire){.side = APH_TO_SERVER}, data + 2, size - 2, chunk);
    else
        read_messages((aph_wire){.side = APH_FROM_SERVER, .asked = aph_record("method", aph_str(methods[kind]))},
                      data + 2, size - 2, chunk);
    aph_collect();
    return 0;
}
