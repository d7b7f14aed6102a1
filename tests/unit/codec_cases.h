/* SPDX-License-Identifier: Apache-2.0
 *
 * codec_cases.h - cases of codecs: bytes that arrive in pieces, at an unreadable page, and the messages they become. */
#ifndef APH_TESTS_CODEC_CASES_H
#define APH_TESTS_CODEC_CASES_H

#include "codec/codec_internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

/* The direction of the cases, and the request to which responses belong. */
static aph_side decoded_side = APH_TO_SERVER;
static aph_value decoded_request;

static inline int drop_heap(void **unused)
{
    (void)unused;
    aph_heap_close();
    return 0;
}

/* Places the bytes at the end of a page, so that a read past the end crashes. */
typedef struct edge {
    unsigned char *pages, *bytes;
    size_t size;
} edge;

__attribute__((noinline)) static edge edge_make(const void *bytes, size_t n)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE), size = (n / page + 2) * page;
    edge e = {.size = size};
    e.pages = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(e.pages != MAP_FAILED);
    assert_int_equal(mprotect(e.pages + size - page, page, PROT_NONE), 0);
    e.bytes = e.pages + size - page - n;
    if (n)
        memcpy(e.bytes, bytes, n);
    return e;
}

static inline void edge_free(edge *e)
{
    munmap(e->pages, e->size);
}

/* Returns all messages as a JSON array; an error is "!AT WHY". `chunk` bytes arrive at a time. */
static inline char *decode_all(const aph_codec *codec, const void *bytes, size_t n, bool ended, size_t chunk)
{
    aph_value all = aph_array(0, NULL);
    size_t start = 0, arrived = 0;
    aph_wire w = {.side = decoded_side, .asked = decoded_request};
    aph_decoded result;
    for (;;) {
        edge e = edge_make((const char *)bytes + start, arrived - start);
        w.bytes = e.bytes;
        w.count = arrived - start;
        w.ended = ended && arrived == n;
        result = aph_decode(codec, &w);
        edge_free(&e);
        if (result == APH_DECODED) {
            all = aph_push(all, w.message);
            start += w.used;
        } else if (result == APH_MALFORMED) {
            all = aph_push(all, aph_strf("!%zu %s", start + w.at, w.why));
            break;
        } else if (arrived == n) {
            break;
        } else {
            arrived = n - arrived < chunk ? n : arrived + chunk;
        }
    }
    return aph_json_text(all, NULL);
}

static inline void expect_bytes(const aph_codec *codec, const void *bytes, size_t n, bool ended, const char *expected)
{
    static const size_t chunks[] = {SIZE_MAX, 1, 2, 3, 7};
    for (size_t i = 0; i < sizeof chunks / sizeof *chunks; i++) {
        char *got = decode_all(codec, bytes, n, ended, chunks[i]);
        assert_string_equal(got, expected);
        free(got);
    }
}

static inline void expect(const aph_codec *codec, const char *text, const char *expected)
{
    expect_bytes(codec, text, strlen(text), true, expected);
}

/* Returns the encoded message, or NULL if it cannot be encoded. */
static inline char *encoded(const aph_codec *codec, aph_value message, size_t *n)
{
    aphi_buffer out = {0};
    aphi_buffer_str(&out, "before");
    bool ok = aphi_encode_at(codec, NULL, decoded_side, message, &out);
    assert_memory_equal(out.data, "before", 6);
    if (!ok)
        assert_int_equal(out.n, 6);
    *n = out.n - 6;
    char *copy = NULL;
    if (ok) {
        copy = malloc(*n + 1);
        memcpy(copy, out.data + 6, *n);
        copy[*n] = '\0';
    }
    aphi_buffer_free(&out);
    return copy;
}

static inline void expect_encoded(const aph_codec *codec, aph_value message, const void *expected, size_t expected_n)
{
    size_t n;
    char *bytes = encoded(codec, message, &n);
    assert_non_null(bytes);
    assert_int_equal(n, expected_n);
    assert_memory_equal(bytes, expected, n);
    aph_wire w = {.side = decoded_side, .asked = decoded_request, .bytes = (const unsigned char *)bytes, .count = n};
    assert_int_equal(aph_decode(codec, &w), APH_DECODED);
    assert_int_equal(w.used, n);
    assert_ptr_equal(w.message, message);
    free(bytes);
}

/* The codec rejects the message for this reason; NULL: for any. */
static inline void expect_reason(const aph_codec *codec, aph_value message, const char *reason)
{
    aphi_buffer out = {0};
    char why[APHI_ENCODE_WHY];
    assert_false(aphi_encode_why(codec, NULL, decoded_side, message, &out, why));
    assert_int_equal(out.n, 0);
    assert_string_not_equal(why, "");
    if (reason)
        assert_string_equal(why, reason);
    aphi_buffer_free(&out);
}

static inline void expect_refused(const aph_codec *codec, aph_value message)
{
    size_t n;
    assert_null(encoded(codec, message, &n));
    expect_reason(codec, message, NULL);
}

#endif
