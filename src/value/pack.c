/* SPDX-License-Identifier: Apache-2.0
 *
 * pack.c - serialization of values outside the heap.
 *
 * Idea:       values in the heap are marked at each collection and occupy the intern table. The log of a run is rarely
 *             read again; stored as bytes, it costs only its size.
 * Picture:    one byte for the kind, then: a scalar's word; a string's length (4 bytes) and bytes; an array's length
 *             and items; an object's length and alternating keys and items. */
#include "value/pack.h"

#include "base/memory.h"
#include "value/heap.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { FEW = 8 };

static char *reserve(aphi_buffer *b, size_t n)
{
    APHI_RESERVE(b->data, b->capacity, b->n + n);
    b->n += n;
    return b->data + b->n - n;
}

static char *pack_kind(aphi_buffer *b, aph_kind kind, size_t n)
{
    char *to = reserve(b, 1 + n);
    *to = (char)kind;
    return to + 1;
}

static void pack_length(aphi_buffer *b, aph_kind kind, uint32_t length)
{
    memcpy(pack_kind(b, kind, sizeof length), &length, sizeof length);
}

static void pack_string(aphi_buffer *b, aph_value v)
{
    size_t n;
    const char *bytes = aph_bytes_of(&v, &n);
    pack_length(b, APH_STR, (uint32_t)n);
    if (n)
        memcpy(reserve(b, n), bytes, n);
}

static bool pack_pair(void *context, aph_value key, aph_value item)
{
    pack_string(context, key);
    aphi_pack(context, item);
    return true;
}

void aphi_pack(aphi_buffer *b, aph_value v)
{
    aph_kind kind = aph_kind_of(v);
    int64_t word;
    switch (kind) {
    case APH_NULL: pack_kind(b, kind, 0); return;
    case APH_BOOL: *pack_kind(b, kind, 1) = aph_truth(v); return;
    case APH_INT:
        word = aph_int_of(v);
        memcpy(pack_kind(b, kind, sizeof word), &word, sizeof word);
        return;
    case APH_SIGNAL:
        word = (int64_t)(uintptr_t)v;
        memcpy(pack_kind(b, kind, sizeof word), &word, sizeof word);
        return;
    case APH_STR: pack_string(b, v); return;
    case APH_ARRAY:
        pack_length(b, kind, (uint32_t)aph_count(v));
        for (size_t i = 0; i < aph_count(v); i++)
            aphi_pack(b, aph_at(v, i));
        return;
    case APH_OBJECT:
        pack_length(b, kind, (uint32_t)aph_count(v));
        aphi_pairs(v, pack_pair, b);
        return;
    default: assert(!"a value without unknowns");
    }
}

static void unpack_bytes(const char **at, void *to, size_t n)
{
    memcpy(to, *at, n);
    *at += n;
}

static uint32_t unpack_length(const char **at)
{
    uint32_t length;
    unpack_bytes(at, &length, sizeof length);
    return length;
}

static aph_value unpack_string(const char **at)
{
    uint32_t n = unpack_length(at);
    *at += n;
    return aph_bytes(*at - n, n);
}

static aph_value unpack_array(const char **at)
{
    aph_value few[FEW] = {0};
    uint32_t n = unpack_length(at);
    aph_value *items = n <= FEW ? few : aphi_alloc(n * sizeof *items);
    for (uint32_t i = 0; i < n; i++)
        items[i] = aphi_unpack(at);
    aph_value array = aph_array(n, items);
    if (items != few)
        free(items);
    return array;
}

static aph_value unpack_object(const char **at)
{
    aph_value few[2 * FEW] = {0};
    uint32_t n = unpack_length(at);
    aph_value *pairs = n <= FEW ? few : aphi_alloc(2 * (size_t)n * sizeof *pairs);
    for (uint32_t i = 0; i < 2 * n; i++)
        pairs[i] = aphi_unpack(at);
    aph_value object = aphi_object_of(n, pairs);
    if (pairs != few)
        free(pairs);
    return object;
}

aph_value aphi_unpack(const char **at)
{
    int64_t word;
    switch ((aph_kind)*(*at)++) {
    case APH_BOOL: return aph_bool(*(*at)++);
    case APH_INT: unpack_bytes(at, &word, sizeof word); return aph_int(word);
    case APH_SIGNAL: unpack_bytes(at, &word, sizeof word); return (aph_value)(uintptr_t)word;
    case APH_STR: return unpack_string(at);
    case APH_ARRAY: return unpack_array(at);
    case APH_OBJECT: return unpack_object(at);
    default: return APH_NIL;
    }
}
