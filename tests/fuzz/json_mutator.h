/* SPDX-License-Identifier: Apache-2.0
 *
 * json_mutator.h - the mutator of fuzz targets whose input is JSON, one value per line.
 *
 * Mutations of bytes seldom leave a line valid. This mutator reads the lines after the first JSON_PREFIX bytes, and
 * duplicates, deletes or moves one, or replaces a value inside of it by another value of the input or by a common word.
 * Every fourth mutation, and each mutation of an input that is not JSON, changes bytes instead. */
#ifndef JSON_MUTATOR_H
#define JSON_MUTATOR_H

#include <stdlib.h>
#include <string.h>
#include "base/buffer.h"
#include "base/random_choice.h"
#include <antiphon/value.h>

#ifndef JSON_PREFIX
#define JSON_PREFIX 0
#endif
enum { LINES_MAX = 64 };

typedef struct lines {
    aph_value items[LINES_MAX + 1]; /* room for one more */
    size_t count;
} lines;

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t most);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed);

static bool read_lines(const char *text, size_t n, lines *l)
{
    l->count = 0;
    while (n && l->count < LINES_MAX) {
        const char *end = memchr(text, '\n', n);
        size_t length = end ? (size_t)(end - text) : n;
        if (length && !aph_json_read(text, length, &l->items[l->count++], NULL))
            return false;
        length += end != NULL;
        text += length;
        n -= length;
    }
    return l->count > 0;
}

static aph_value common_word(aphi_choice *c)
{
    static const char *const words[] = {
        "null", "true", "false", "0", "1", "-1", "9223372036854775807", "-9223372036854775808", "[]", "{}",
        "\"\"", "[1,2]", "\"a\"", "\"f\"", "\"read\"", "\"write\"", "\"cas\"", "\"get\"", "\"put\"",
        "\"append\"", "\"enqueue\"", "\"dequeue\"", "\"key\"", "\"value\"", "\"GET\"", "\"PUT\"", "\"HEAD\"",
        "\"DELETE\"", "\"target\"", "\"/a\"", "\"*\"", "\"if-match\"", "\"if-none-match\"",
        "\"if-modified-since\"", "\"range\"", "\"if-range\"", "{\"opaque\":\"x\",\"weak\":true}", "200", "304",
        "412", "206", "416", "\"body\"", "\"tag\"", "\"via\"", "[{\"protocol\":\"1.1\",\"by\":\"p\"}]",
        "\"more\"", "{\"$\":[2,[\"tag\"],\"id\"]}", "\"a long string, more than seven bytes\"", "\"\\u0000\"",
        "\"\\udc80\"", "\"\\u001b[2J\"",
    };
    const char *word = words[aphi_choice_below(c, sizeof words / sizeof *words)];
    aph_value v = APH_NIL;
    aph_json_read(word, strlen(word), &v, NULL);
    return v;
}

/* A value inside of the value. */
static aph_value pick_inside(aphi_choice *c, aph_value v)
{
    aph_value key, item = v;
    while (aph_kind_of(v) >= APH_ARRAY && aph_count(v) && aphi_choice_chance(c, 3, 4)) {
        size_t i = aphi_choice_below(c, aph_count(v));
        v = aph_pair_at(v, i, &key, &item) ? item : aph_at(v, i);
    }
    return v;
}

static aph_value pick_value(aphi_choice *c, const lines *l)
{
    return aphi_choice_chance(c, 1, 2) ? common_word(c) : pick_inside(c, l->items[aphi_choice_below(c, l->count)]);
}

static aph_value edit(aphi_choice *c, const lines *l, aph_value v)
{
    aph_value key, item, other = pick_value(c, l);
    bool object = aph_kind_of(v) == APH_OBJECT;
    if ((!object && aph_kind_of(v) != APH_ARRAY) || aphi_choice_chance(c, 1, 6))
        return other;
    if (!aph_count(v) || aphi_choice_chance(c, 1, 6))
        return object ? aph_set(v, aph_is_str(other) ? other : aph_str("value"), pick_value(c, l)) : aph_push(v, other);
    size_t i = aphi_choice_below(c, aph_count(v));
    if (!object)
        return aph_replace(v, i, edit(c, l, aph_at(v, i)));
    aph_pair_at(v, i, &key, &item);
    return aphi_choice_chance(c, 1, 6) ? aph_remove(v, key) : aph_set(v, key, edit(c, l, item));
}

static void edit_lines(aphi_choice *c, lines *l)
{
    size_t from = aphi_choice_below(c, l->count), to = aphi_choice_below(c, l->count);
    aph_value line = l->items[from];
    switch (aphi_choice_below(c, 6)) {
    case 0: /* duplicate */
        if (l->count == LINES_MAX)
            return;
        memmove(l->items + to + 1, l->items + to, (l->count++ - to) * sizeof line);
        l->items[to] = line;
        break;
    case 1: /* delete */
        memmove(l->items + from, l->items + from + 1, (--l->count - from) * sizeof line);
        break;
    case 2:
        l->items[from] = l->items[to];
        l->items[to] = line;
        break;
    default: l->items[from] = edit(c, l, line);
    }
}

static size_t write_lines(const lines *l, uint8_t *data, size_t most)
{
    size_t used = 0, n;
    for (size_t i = 0; i < l->count; i++) {
        char *text = aph_json_text(l->items[i], &n);
        if (n + 1 <= most - used) {
            memcpy(data + used, text, n);
            data[used + n] = '\n';
            used += n + 1;
        }
        free(text);
    }
    return used;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed)
{
    static lines l;
    aphi_choice c = aphi_choice_seed(seed);
    if (size <= JSON_PREFIX || aphi_choice_chance(&c, 1, 4) ||
        !read_lines((const char *)data + JSON_PREFIX, size - JSON_PREFIX, &l))
        return LLVMFuzzerMutate(data, size, most);
    if (JSON_PREFIX && aphi_choice_chance(&c, 1, 16))
        data[0] = (uint8_t)aphi_choice_bits(&c);
    for (uint64_t edits = 1 + aphi_choice_below(&c, 3); edits && l.count; edits--)
        edit_lines(&c, &l);
    size = JSON_PREFIX + write_lines(&l, data + JSON_PREFIX, most - JSON_PREFIX);
    aph_collect();
    return size;
}

#endif
