/* SPDX-License-Identifier: Apache-2.0
 *
 * fuzz_web.c - any input yields the same requests or faults with a reason for any segmentation; every
 * request gets a response. */
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "subjects/web/respond.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Reads the next request from *data in pieces, and moves *data past the consumed bytes. */
static void read_in_pieces(request *r, buffer *in, const uint8_t **data, const uint8_t *end, size_t piece)
{
    request_read(r, in);
    while (r->phase < COMPLETE && *data < end) {
        size_t left = (size_t)(end - *data), count = left < piece ? left : piece;
        buffer_put(in, *data, count);
        *data += count;
        request_read(r, in);
    }
}

static void compare(const request *a, const request *b)
{
    assert(a->phase == b->phase);
    if (a->phase < COMPLETE)
        return;
    assert(a->method == b->method && a->close == b->close && a->framed == b->framed && a->status == b->status);
    assert(a->phase != FAULTY || (a->close && a->status >= 400 && strcmp(a->why, b->why) == 0));
    assert(!a->path == !b->path && (!a->path || strcmp(a->path, b->path) == 0));
    for (field f = 0; f < FIELDS; f++)
        assert(!a->field[f] == !b->field[f] && (!a->field[f] || strcmp(a->field[f], b->field[f]) == 0));
    size_t size = buffer_size(&a->content);
    assert(size == buffer_size(&b->content));
    assert(!size || memcmp(buffer_head(&a->content), buffer_head(&b->content), size) == 0);
}

static void answer(request *r)
{
    buffer out = {0};
    respond(r, &out);
    assert(buffer_size(&out) > 15 && memcmp(buffer_head(&out), "HTTP/1.1 ", 9) == 0);
    buffer_put(&out, "", 1);
    assert(strstr(buffer_head(&out), "\r\n\r\n"));
    buffer_free(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    size_t piece = size ? data[0] % 8 + 1 : 1;
    const uint8_t *end = data + size, *whole_at = data, *cut_at = data;
    request whole = {0}, cut = {0};
    buffer whole_in = {0}, cut_in = {0};
    bool more;
    do {
        read_in_pieces(&whole, &whole_in, &whole_at, end, size);
        read_in_pieces(&cut, &cut_in, &cut_at, end, piece);
        compare(&whole, &cut);
        if (whole.phase >= COMPLETE)
            answer(&whole);
        more = whole.phase >= COMPLETE && !cut.close;
        request_reset(&whole);
        request_reset(&cut);
    } while (more);
    buffer_free(&whole_in);
    buffer_free(&cut_in);
    return 0;
}
