/* SPDX-License-Identifier: Apache-2.0
 *
 * object.c - persistent maps from strings to values.
 *
 * Idea:       up to eight keys are stored as a sorted row of pairs, more as a treap: a search tree by key that is a
 *             heap by key hash. A set of keys has exactly one treap, so interning makes equal maps the same word, and
 *             an update copies one path.
 * Picture:            k5 (highest hash)
 *                    /  \
 *                  k2    k9
 * Invariants: 1. a whole treap has more than APHI_PAIRS_MAX keys; its subtrees may have fewer
 *             2. in a subtree, no key's hash is above its parent's (ties broken by the order of keys)
 * Cost:       expected logarithmic; a message, which has few keys, is one node. A large object that is read at once
 *             takes one node per pair: the pairs are sorted, and the treap is built bottom-up along its right spine.
 * Not done:   hash tries: smaller constants, but no key order for printing and comparing. */
#include "value/heap.h"

#include "base/buffer.h"
#include "base/compiler.h"
#include "base/memory.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { KEY, ITEM, SMALLER, LARGER };

static bool is_object(aph_value v)
{
    return aphi_is_node(v) && (v->shape == APHI_PAIRS || v->shape == APHI_BRANCH);
}

aph_value aph_object(void)
{
    return aphi_node_intern(APHI_PAIRS, 0, 0, 0, NULL);
}

aph_value aphi_key(aph_value v)
{
    if (aph_is_str(v))
        return v;
    if (aph_is_int(v)) {
        char digits[APHI_DECIMAL_MAX];
        return aph_bytes(digits, aphi_decimal(digits, aph_int_of(v)));
    }
    char *text = aph_json_text(v, NULL);
    aph_value key = aph_str(text);
    free(text);
    return key;
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

/* Returns the position of the key in a row of pairs, or the position at which to insert it. */
static size_t row_position(aph_value row, aph_value key, bool *found)
{
    for (size_t i = 0; i < row->count; i++) {
        aph_value here = row->slot[2 * i].v;
        if (here == key) {
            *found = true;
            return i;
        }
        if (aph_compare(here, key) > 0) {
            *found = false;
            return i;
        }
    }
    *found = false;
    return row->count;
}

static inline aph_value row_get(aph_value row, aph_value key)
{
    for (const union aphi_slot *s = row->slot, *end = s + 2 * (size_t)row->count; s < end; s += 2)
        if (s[0].v == key)
            return s[1].v;
    return APH_NIL;
}

/* ---- treaps ------------------------------------------------------------------------------------------------------ */

static uint32_t size_of(aph_value t)
{
    return t ? t->count : 0;
}

static aph_value branch(aph_value key, aph_value item, aph_value smaller, aph_value larger)
{
    union aphi_slot slot[4] = {{key}, {item}, {smaller}, {larger}};
    return aphi_node_intern(APHI_BRANCH, 0, size_of(smaller) + size_of(larger) + 1, 4, slot);
}

static bool outranks(aph_value a, aph_value b)
{
    uint64_t x = aph_hash(a), y = aph_hash(b);
    return x != y ? x > y : aph_compare(a, b) > 0;
}

/* Splits t into the keys below and above the key, which is not in t. */
static void split(aph_value t, aph_value key, aph_value *below, aph_value *above)
{
    if (!t) {
        *below = *above = APH_NIL;
        return;
    }
    aph_value rest;
    if (aph_compare(t->slot[KEY].v, key) < 0) {
        split(t->slot[LARGER].v, key, &rest, above);
        *below = branch(t->slot[KEY].v, t->slot[ITEM].v, t->slot[SMALLER].v, rest);
    } else {
        split(t->slot[SMALLER].v, key, below, &rest);
        *above = branch(t->slot[KEY].v, t->slot[ITEM].v, rest, t->slot[LARGER].v);
    }
}

static aph_value treap_get(aph_value t, aph_value key, bool *found)
{
    while (t) {
        if (t->slot[KEY].v == key) {
            *found = true;
            return t->slot[ITEM].v;
        }
        t = t->slot[aph_compare(key, t->slot[KEY].v) < 0 ? SMALLER : LARGER].v;
    }
    *found = false;
    return APH_NIL;
}

static aph_value treap_insert(aph_value t, aph_value key, aph_value item)
{
    if (!t || outranks(key, t->slot[KEY].v)) {
        aph_value below, above;
        split(t, key, &below, &above);
        return branch(key, item, below, above);
    }
    aph_value k = t->slot[KEY].v, i = t->slot[ITEM].v, smaller = t->slot[SMALLER].v, larger = t->slot[LARGER].v;
    if (aph_compare(key, k) < 0)
        return branch(k, i, treap_insert(smaller, key, item), larger);
    return branch(k, i, smaller, treap_insert(larger, key, item));
}

static aph_value treap_replace(aph_value t, aph_value key, aph_value item)
{
    aph_value k = t->slot[KEY].v, i = t->slot[ITEM].v, smaller = t->slot[SMALLER].v, larger = t->slot[LARGER].v;
    if (k == key)
        return branch(k, item, smaller, larger);
    if (aph_compare(key, k) < 0)
        return branch(k, i, treap_replace(smaller, key, item), larger);
    return branch(k, i, smaller, treap_replace(larger, key, item));
}

/* Joins two treaps; all keys of a are below those of b. */
static aph_value join(aph_value a, aph_value b)
{
    if (!a || !b)
        return a ? a : b;
    if (outranks(a->slot[KEY].v, b->slot[KEY].v))
        return branch(a->slot[KEY].v, a->slot[ITEM].v, a->slot[SMALLER].v, join(a->slot[LARGER].v, b));
    return branch(b->slot[KEY].v, b->slot[ITEM].v, join(a, b->slot[SMALLER].v), b->slot[LARGER].v);
}

static aph_value treap_remove(aph_value t, aph_value key)
{
    aph_value k = t->slot[KEY].v, i = t->slot[ITEM].v, smaller = t->slot[SMALLER].v, larger = t->slot[LARGER].v;
    if (k == key)
        return join(smaller, larger);
    if (aph_compare(key, k) < 0)
        return branch(k, i, treap_remove(smaller, key), larger);
    return branch(k, i, smaller, treap_remove(larger, key));
}

static aph_value treap_of_row(const union aphi_slot *pairs, size_t n)
{
    aph_value t = APH_NIL;
    for (size_t i = 0; i < n; i++)
        t = treap_insert(t, pairs[2 * i].v, pairs[2 * i + 1].v);
    return t;
}

static void treap_pairs(aph_value t, union aphi_slot **out)
{
    if (!t)
        return;
    treap_pairs(t->slot[SMALLER].v, out);
    (*out)[0].v = t->slot[KEY].v;
    (*out)[1].v = t->slot[ITEM].v;
    *out += 2;
    treap_pairs(t->slot[LARGER].v, out);
}

/* ---- objects ----------------------------------------------------------------------------------------------------- */

/* The slow path of aph_get: a key that is not a string, or a treap. */
static APHI_COLD aph_value get_slowly(aph_value object, aph_value key)
{
    bool found;
    if (!is_object(object))
        return APH_NIL;
    key = aphi_key(key);
    return object->shape == APHI_PAIRS ? row_get(object, key) : treap_get(object, key, &found);
}

aph_value aph_get(aph_value object, aph_value key)
{
    if (aphi_is_node(object) && object->shape == APHI_PAIRS && aphi_tag(key) == APHI_TAG_STR)
        return row_get(object, key);
    return get_slowly(object, key);
}

/* Compares a long name without interning it. */
aph_value aph_field_(aph_value object, const char *name, size_t n)
{
    if (n < 8 || !is_object(object) || object->shape != APHI_PAIRS)
        return aph_get(object, aph_bytes(name, n));
    for (size_t i = 0; i < object->count; i++) {
        aph_value key = object->slot[2 * i].v;
        if (aphi_is_node(key) && key->shape == APHI_LONG_STR && key->count == n && !memcmp(key->slot, name, n))
            return object->slot[2 * i + 1].v;
    }
    return APH_NIL;
}

bool aph_has(aph_value object, aph_value key)
{
    bool found = false;
    if (!is_object(object))
        return false;
    key = aphi_key(key);
    if (object->shape == APHI_PAIRS)
        row_position(object, key, &found);
    else
        treap_get(object, key, &found);
    return found;
}

static aph_value row_set(aph_value row, aph_value key, aph_value item)
{
    union aphi_slot slot[2 * (APHI_PAIRS_MAX + 1)];
    bool found;
    size_t at = row_position(row, key, &found), n = row->count;
    for (size_t i = 0; i < 2 * at; i++)
        slot[i] = row->slot[i];
    slot[2 * at].v = key;
    slot[2 * at + 1].v = item;
    for (size_t i = 2 * (at + found); i < 2 * n; i++)
        slot[i + (found ? 0 : 2)] = row->slot[i];
    n += !found;
    return n <= APHI_PAIRS_MAX ? aphi_node_intern(APHI_PAIRS, 0, (uint32_t)n, 2 * n, slot) : treap_of_row(slot, n);
}

aph_value aph_set(aph_value object, aph_value key, aph_value item)
{
    assert(is_object(object));
    key = aphi_key(key);
    if (object->shape == APHI_PAIRS)
        return row_set(object, key, item);
    bool found;
    aph_value was = treap_get(object, key, &found);
    if (!found)
        return treap_insert(object, key, item);
    return was == item ? object : treap_replace(object, key, item);
}

static aph_value row_remove(aph_value row, size_t at)
{
    union aphi_slot slot[2 * APHI_PAIRS_MAX];
    for (size_t i = 0; i < 2 * at; i++)
        slot[i] = row->slot[i];
    for (size_t i = 2 * (at + 1); i < 2 * row->count; i++)
        slot[i - 2] = row->slot[i];
    return aphi_node_intern(APHI_PAIRS, 0, row->count - 1, 2 * (row->count - 1), slot);
}

aph_value aph_remove(aph_value object, aph_value key)
{
    assert(is_object(object));
    bool found;
    key = aphi_key(key);
    if (object->shape == APHI_PAIRS) {
        size_t at = row_position(object, key, &found);
        return found ? row_remove(object, at) : object;
    }
    treap_get(object, key, &found);
    if (!found)
        return object;
    aph_value smaller = treap_remove(object, key);
    if (smaller->count > APHI_PAIRS_MAX)
        return smaller;
    union aphi_slot slot[2 * APHI_PAIRS_MAX], *end = slot;
    treap_pairs(smaller, &end);
    return aphi_node_intern(APHI_PAIRS, 0, smaller->count, 2 * smaller->count, slot);
}

bool aph_pair_at(aph_value object, size_t i, aph_value *key, aph_value *item)
{
    if (!is_object(object) || i >= object->count)
        return false;
    if (object->shape == APHI_PAIRS) {
        *key = object->slot[2 * i].v;
        *item = object->slot[2 * i + 1].v;
        return true;
    }
    aph_value t = object;
    for (size_t below; (below = size_of(t->slot[SMALLER].v)) != i;) {
        if (i < below) {
            t = t->slot[SMALLER].v;
        } else {
            i -= below + 1;
            t = t->slot[LARGER].v;
        }
    }
    *key = t->slot[KEY].v;
    *item = t->slot[ITEM].v;
    return true;
}

/* Sorts pairs by key, keeping the last of equal keys. Returns the number of remaining pairs. */
static size_t sort_row(union aphi_slot *pairs, size_t n)
{
    size_t kept = 0;
    for (size_t i = 0; i < n; i++) {
        union aphi_slot key = pairs[2 * i], item = pairs[2 * i + 1];
        size_t at = kept;
        while (at > 0 && aph_compare(pairs[2 * at - 2].v, key.v) > 0)
            at--;
        if (at > 0 && pairs[2 * at - 2].v == key.v) {
            pairs[2 * at - 1] = item;
            continue;
        }
        for (size_t k = 2 * kept; k > 2 * at; k--)
            pairs[k + 1] = pairs[k - 1];
        pairs[2 * at] = key;
        pairs[2 * at + 1] = item;
        kept++;
    }
    return kept;
}

/* ---- large objects ----------------------------------------------------------------------------------------------- */

typedef struct pair {
    aph_value key, item;
} pair;

static bool is_ascending(const pair *pairs, size_t n)
{
    for (size_t i = 1; i < n; i++)
        if (aph_compare(pairs[i - 1].key, pairs[i].key) >= 0)
            return false;
    return true;
}

/* Merges the sorted halves [0, middle) and [middle, n) of `from`. Of equal keys, those of the first half come first. */
static void merge_halves(const pair *from, size_t middle, size_t n, pair *to)
{
    size_t a = 0, b = middle;
    for (size_t i = 0; i < n; i++)
        to[i] = b == n || (a < middle && aph_compare(from[a].key, from[b].key) <= 0) ? from[a++] : from[b++];
}

/* Sorts by key; equal keys keep their order. `spare` has room for n pairs. */
static void sort_pairs(pair *pairs, size_t n, pair *spare)
{
    if (is_ascending(pairs, n))
        return;
    sort_pairs(pairs, n / 2, spare);
    sort_pairs(pairs + n / 2, n - n / 2, spare);
    merge_halves(pairs, n / 2, n, spare);
    memcpy(pairs, spare, n * sizeof *pairs);
}

/* Keeps the last of equal keys. Returns the number of remaining pairs. */
static size_t drop_duplicates(pair *pairs, size_t n)
{
    size_t kept = 0;
    for (size_t i = 0; i < n; i++) {
        if (kept && pairs[kept - 1].key == pairs[i].key)
            kept--;
        pairs[kept++] = pairs[i];
    }
    return kept;
}

/* A branch of the right spine whose larger subtree is not complete. */
typedef struct spine {
    pair at;
    aph_value smaller;
} spine;

/* Builds the treap of pairs with ascending keys. */
static aph_value treap_of_pairs(const pair *pairs, size_t n)
{
    spine *open = NULL, s;
    size_t count = 0, capacity = 0;
    aph_value below = APH_NIL;
    for (size_t i = 0; i <= n; i++) {
        for (below = APH_NIL; count && (i == n || outranks(pairs[i].key, open[count - 1].at.key));) {
            s = open[--count];
            below = branch(s.at.key, s.at.item, s.smaller, below);
        }
        if (i < n) {
            s = (spine){pairs[i], below};
            APHI_PUSH(open, count, capacity, s);
        }
    }
    free(open);
    return below;
}

static aph_value large_object_of(size_t n, pair *pairs)
{
    pair *spare = aphi_alloc(n * sizeof *spare);
    sort_pairs(pairs, n, spare);
    free(spare);
    n = drop_duplicates(pairs, n);
    return n <= APHI_PAIRS_MAX ? aphi_node_intern(APHI_PAIRS, 0, (uint32_t)n, 2 * n, (union aphi_slot *)(void *)pairs)
                               : treap_of_pairs(pairs, n);
}

aph_value aphi_object_of(size_t n, aph_value *pairs)
{
    union aphi_slot *slot = (union aphi_slot *)(void *)pairs;
    if (n > APHI_PAIRS_MAX)
        return large_object_of(n, (pair *)(void *)pairs);
    n = sort_row(slot, n);
    return aphi_node_intern(APHI_PAIRS, 0, (uint32_t)n, 2 * n, slot);
}

aph_value aph_record_(const void *const *pairs, size_t n)
{
    assert(n % 2 == 0 && n <= 64);
    aph_value slot[64];
    for (size_t i = 0; i < n; i += 2) {
        slot[i] = aph_str(pairs[i]);
        slot[i + 1] = pairs[i + 1];
    }
    return aphi_object_of(n / 2, slot);
}

static bool treap_visit(aph_value t, aphi_visit *visit, void *context)
{
    return !t || (treap_visit(t->slot[SMALLER].v, visit, context) && visit(context, t->slot[KEY].v, t->slot[ITEM].v) &&
                  treap_visit(t->slot[LARGER].v, visit, context));
}

bool aphi_pairs(aph_value object, aphi_visit *visit, void *context)
{
    if (object->shape == APHI_BRANCH)
        return treap_visit(object, visit, context);
    for (size_t i = 0; i < object->count; i++)
        if (!visit(context, object->slot[2 * i].v, object->slot[2 * i + 1].v))
            return false;
    return true;
}
