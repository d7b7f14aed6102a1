/* SPDX-License-Identifier: Apache-2.0
 *
 * value.c - scalars, strings and arrays; hashing and the total order.
 *
 * Order: null < booleans < integers < strings (bytes) < arrays (length, then items) < objects (number of keys, then
 * pairs) < symbols (number) < terms < signals. */
#include "value/heap.h"

#include "base/memory.h"

#include <assert.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

static aph_value word(uint64_t bits)
{
    return (aph_value)(uintptr_t)bits;
}

static uint64_t bits_of(aph_value v)
{
    return (uint64_t)(uintptr_t)v;
}

aph_value aph_int(int64_t i)
{
    if (i >= -((int64_t)1 << 60) && i < (int64_t)1 << 60)
        return word((uint64_t)i << 3 | APHI_TAG_INT);
    return aphi_node_intern(APHI_BIG_INT, 0, 0, 1, &(union aphi_slot){.bits = (uint64_t)i});
}

aph_value aph_bytes(const void *bytes, size_t n)
{
    return aphi_intern_str(bytes, n);
}

aph_value aph_strf(const char *format, ...)
{
    char small[256];
    va_list args;
    va_start(args, format);
    int n = vsnprintf(small, sizeof small, format, args);
    va_end(args);
    assert(n >= 0);
    if ((size_t)n < sizeof small)
        return aphi_intern_str(small, (size_t)n);
    char *large = aphi_alloc((size_t)n + 1);
    va_start(args, format);
    vsnprintf(large, (size_t)n + 1, format, args);
    va_end(args);
    aph_value v = aphi_intern_str(large, (size_t)n);
    free(large);
    return v;
}

aph_value aph_array(size_t n, const aph_value *items)
{
    assert(n <= UINT32_MAX);
    return aphi_node_intern(APHI_ITEMS, 0, (uint32_t)n, n, (const union aphi_slot *)(const void *)items);
}

aph_value aph_symbol(aph_kind sort, uint32_t number)
{
    assert(sort == APH_BOOL || sort == APH_INT || sort == APH_STR);
    return aphi_node_intern(APHI_SYM, (uint8_t)sort, 0, 1, &(union aphi_slot){.bits = number});
}

aph_value aphi_node_term(aph_op op, size_t n, const aph_value *args)
{
    return aphi_node_intern(APHI_OPERATION, (uint8_t)op, (uint32_t)n, n, (const union aphi_slot *)(const void *)args);
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

aph_kind aph_kind_of(aph_value v)
{
    static const aph_kind by_shape[] = {[APHI_BIG_INT] = APH_INT,     [APHI_LONG_STR] = APH_STR,
                                        [APHI_ITEMS] = APH_ARRAY,     [APHI_PAIRS] = APH_OBJECT,
                                        [APHI_BRANCH] = APH_OBJECT,   [APHI_SYM] = APH_SYMBOL,
                                        [APHI_OPERATION] = APH_TERM};
    switch (aphi_tag(v)) {
    case APHI_TAG_INT: return APH_INT;
    case APHI_TAG_STR: return APH_STR;
    case APHI_TAG_BOOL: return APH_BOOL;
    case APHI_TAG_SIGNAL: return APH_SIGNAL;
    default: return v ? by_shape[v->shape] : APH_NULL;
    }
}

const char *aphi_signal_name(aph_value v)
{
    static const char *const names[] = {"", "opened", "closed", "broken", "left"};
    return names[bits_of(v) >> 3];
}

bool aph_is_symbolic(aph_value v)
{
    return aphi_symbols(v) != 0 || (aphi_is_node(v) && v->shape == APHI_OPERATION);
}

int64_t aph_int_of(aph_value v)
{
    if (aphi_tag(v) == APHI_TAG_INT)
        return (int64_t)bits_of(v) >> 3;
    assert(aph_is_int(v));
    return (int64_t)v->slot[0].bits;
}

const char *aph_bytes_of(const aph_value *v, size_t *n)
{
    if (aphi_tag(*v) == APHI_TAG_STR) {
        *n = bits_of(*v) >> 4 & 7;
        return (const char *)v + 1;
    }
    assert(aph_is_str(*v));
    *n = (*v)->count;
    return (const char *)(*v)->slot;
}

size_t aph_count(aph_value v)
{
    if (aphi_tag(v) == APHI_TAG_STR)
        return bits_of(v) >> 4 & 7;
    return aphi_is_node(v) && v->shape != APHI_SYM && v->shape != APHI_OPERATION ? v->count : 0;
}

uint64_t aph_hash(aph_value v)
{
    return aphi_is_node(v) ? v->hash : aphi_mix(bits_of(v), 0x9e3779b97f4a7c15u);
}

aph_kind aph_symbol_sort(aph_value v)
{
    assert(aph_kind_of(v) == APH_SYMBOL);
    return (aph_kind)v->detail;
}

uint32_t aph_symbol_number(aph_value v)
{
    assert(aph_kind_of(v) == APH_SYMBOL);
    return (uint32_t)v->slot[0].bits;
}

/* ---- the total order --------------------------------------------------------------------------------------------- */

static int compare_u64(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

static int compare_strings(aph_value a, aph_value b)
{
    if (aphi_tag(a) == APHI_TAG_STR && aphi_tag(b) == APHI_TAG_STR) {
        int by_bytes = compare_u64(__builtin_bswap64(bits_of(a) & ~(uint64_t)255),
                                   __builtin_bswap64(bits_of(b) & ~(uint64_t)255));
        return by_bytes ? by_bytes : compare_u64(bits_of(a), bits_of(b));
    }
    size_t n, m;
    const char *x = aph_bytes_of(&a, &n), *y = aph_bytes_of(&b, &m);
    int by_bytes = memcmp(x, y, n < m ? n : m);
    return by_bytes ? by_bytes : compare_u64(n, m);
}

static int compare_objects(aph_value a, aph_value b)
{
    for (size_t i = 0; i < a->count; i++) {
        aph_value key[2], item[2];
        aph_pair_at(a, i, &key[0], &item[0]);
        aph_pair_at(b, i, &key[1], &item[1]);
        int c = aph_compare(key[0], key[1]);
        if (!c)
            c = aph_compare(item[0], item[1]);
        if (c)
            return c;
    }
    return 0;
}

static int compare_slots(aph_value a, aph_value b)
{
    for (size_t i = 0; i < a->count; i++) {
        int c = aph_compare(a->slot[i].v, b->slot[i].v);
        if (c)
            return c;
    }
    return 0;
}

int aph_compare(aph_value a, aph_value b)
{
    if (a == b)
        return 0;
    aph_kind kind = aph_kind_of(a), other = aph_kind_of(b);
    if (kind != other)
        return kind < other ? -1 : 1;
    switch (kind) {
    case APH_NULL: return 0;
    case APH_BOOL:
    case APH_SIGNAL: return compare_u64(bits_of(a), bits_of(b));
    case APH_INT: return aph_int_of(a) < aph_int_of(b) ? -1 : 1;
    case APH_STR: return compare_strings(a, b);
    case APH_SYMBOL: {
        int by_number = compare_u64(a->slot[0].bits, b->slot[0].bits);
        return by_number ? by_number : compare_u64(a->detail, b->detail);
    }
    case APH_ARRAY:
    case APH_OBJECT:
    case APH_TERM: break;
    }
    if (a->count != b->count)
        return a->count < b->count ? -1 : 1;
    if (kind == APH_OBJECT)
        return compare_objects(a, b);
    if (kind == APH_TERM && a->detail != b->detail)
        return a->detail < b->detail ? -1 : 1;
    return compare_slots(a, b);
}

/* ---- strings and arrays ------------------------------------------------------------------------------------------ */

aph_value aph_concat(aph_value a, aph_value b)
{
    char small[512];
    size_t n, m;
    const char *x = aph_bytes_of(&a, &n), *y = aph_bytes_of(&b, &m);
    char *joined = n + m <= sizeof small ? small : aphi_alloc(n + m);
    memcpy(joined, x, n);
    memcpy(joined + n, y, m);
    aph_value v = aphi_intern_str(joined, n + m);
    if (joined != small)
        free(joined);
    return v;
}

aph_value aph_substr(aph_value s, size_t from, size_t n)
{
    size_t all;
    const char *bytes = aph_bytes_of(&s, &all);
    if (from > all)
        from = all;
    if (n > all - from)
        n = all - from;
    return aphi_intern_str(bytes + from, n);
}

static bool is_array(aph_value v)
{
    return aphi_is_node(v) && v->shape == APHI_ITEMS;
}

aph_value aph_at(aph_value array, size_t i)
{
    return is_array(array) && i < array->count ? array->slot[i].v : APH_NIL;
}

/* Returns the first `keep` items of the array followed by tail. */
static aph_value joined(aph_value array, size_t keep, size_t n, const aph_value *tail)
{
    aph_value small[32], *items = keep + n <= 32 ? small : aphi_alloc((keep + n) * sizeof *items);
    for (size_t i = 0; i < keep; i++)
        items[i] = array->slot[i].v;
    if (n)
        memcpy(items + keep, tail, n * sizeof *items);
    aph_value v = aph_array(keep + n, items);
    if (items != small)
        free(items);
    return v;
}

aph_value aph_push(aph_value array, aph_value item)
{
    assert(is_array(array));
    return joined(array, array->count, 1, &item);
}

aph_value aph_replace(aph_value array, size_t i, aph_value item)
{
    assert(is_array(array) && i < array->count);
    aph_value small[32], *items = array->count <= 32 ? small : aphi_alloc(array->count * sizeof *items);
    for (size_t k = 0; k < array->count; k++)
        items[k] = k == i ? item : array->slot[k].v;
    aph_value v = aph_array(array->count, items);
    if (items != small)
        free(items);
    return v;
}

aph_value aph_slice(aph_value array, size_t from, size_t n)
{
    assert(is_array(array));
    if (from > array->count)
        from = array->count;
    if (n > array->count - from)
        n = array->count - from;
    return aph_array(n, (const aph_value *)(const void *)(array->slot + from));
}
