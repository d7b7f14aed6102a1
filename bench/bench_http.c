/* SPDX-License-Identifier: Apache-2.0
 *
 * bench_http.c - HTTP messages decoded and encoded per second.
 *
 * Measures the most frequent messages of a test: a conditional PUT, a GET, and their responses, with a length and in
 * chunks. Each is decoded at once and byte by byte, and encoded. Each message has different content, since creating
 * a value that is already interned is faster. */
#include "base/clock.h"
#include "codec/codec_internal.h"
#include "models/http/http-message.h"

#include <stdlib.h>

enum { DIFFERENT = 1000 };
static const int64_t measure_ns = 300000000;

typedef struct kind {
    const char *name;
    aph_side side;
    const char *format; /* a printf format with one number of six digits */
} kind;

#define HEAD "HTTP/1.1 200 OK\r\nDate: Tue, 14 Nov 2023 22:13:21 GMT\r\nServer: Apache/2.4.57 (Debian)\r\n" \
             "Last-Modified: Tue, 14 Nov 2023 22:13:20 GMT\r\nETag: \"%06d-60a1b2c3d4e5f\"\r\nAccept-Ranges: bytes\r\n"
static const kind kinds[] = {
    {"GET", APH_TO_SERVER, "GET /%06d HTTP/1.1\r\nHost: antiphon\r\n\r\n"},
    {"PUT, If-Match", APH_TO_SERVER,
     "PUT /a HTTP/1.1\r\nHost: antiphon\r\nIf-Match: \"%06d-60a1b2c3d4e5f\"\r\nContent-Length: 10\r\n\r\n0123456789"},
    {"204", APH_FROM_SERVER,
     "HTTP/1.1 204 No Content\r\nDate: Tue, 14 Nov 2023 22:13:21 GMT\r\nServer: Apache/%06d\r\n\r\n"},
    {"200, length", APH_FROM_SERVER, HEAD "Content-Length: 10\r\nConnection: Keep-Alive\r\n\r\n0123456789"},
    {"200, chunked", APH_FROM_SERVER, HEAD "Transfer-Encoding: chunked\r\n\r\n5\r\n01234\r\n5\r\n56789\r\n0\r\n\r\n"},
};

static void decode(const aph_wire *from, size_t chunk, aph_value *message)
{
    aph_wire w = *from;
    aph_decoded result = APH_MORE;
    for (w.count = 0; result == APH_MORE && w.count < from->count;) {
        w.count = from->count - w.count < chunk ? from->count : w.count + chunk;
        result = aph_decode(&aphi_http_codec, &w);
    }
    if (result != APH_DECODED || w.used != from->count) {
        fprintf(stderr, "bench_http: %.*s\n%s\n", (int)w.count, (const char *)w.bytes, w.why);
        exit(1);
    }
    *message = w.message;
}

/* Returns messages per second, decoded `chunk` bytes at a time, or encoded if `chunk` is 0. */
static double measure(const kind *k, size_t chunk)
{
    char text[1024];
    aphi_buffer out = {0};
    int64_t spent = 0;
    uint64_t count = 0;
    for (; spent < measure_ns; count += DIFFERENT) {
        aph_value messages[DIFFERENT];
        aph_collect(); /* the tester does this occasionally; not measured */
        int64_t began = aphi_clock_ns();
        for (size_t i = 0; i < DIFFERENT; i++) {
            aph_wire w = {.side = k->side, .bytes = (const unsigned char *)text};
            w.count = (size_t)snprintf(text, sizeof text, k->format, (int)i);
            decode(&w, chunk ? chunk : w.count, &messages[i]);
        }
        if (!chunk)
            began = aphi_clock_ns();
        for (size_t i = 0; i < DIFFERENT && !chunk; i++, out.n = 0)
            aphi_encode_at(&aphi_http_codec, NULL, k->side, messages[i], &out);
        spent += aphi_clock_ns() - began;
    }
    aphi_buffer_free(&out);
    return (double)count / ((double)spent / 1e9);
}

int main(void)
{
    puts("messages of HTTP a second\n\n"
         "message         bytes       read  a byte at a time    printed");
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        printf("%-14s  %5d  %9.0f  %16.0f  %9.0f\n", kinds[i].name, snprintf(NULL, 0, kinds[i].format, 1),
               measure(&kinds[i], 4096), measure(&kinds[i], 1), measure(&kinds[i], 0));
    aph_heap_close();
    return 0;
}
