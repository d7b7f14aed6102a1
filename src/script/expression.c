/* SPDX-License-Identifier: Apache-2.0
 *
 * expression.c - J-expressions: messages with holes that earlier messages fill.
 *
 * Idea:       section 5.3.2 of Li, "Testing by dualization". A hole is {"$": [LABEL, PATH, "function"]}: the function
 *             of the value at the path in the message with that label. Evaluation is loose. If an array element is
 *             missing or lacks the rest of the path, the nearest element that has it is used. If the message is missing
 *             or lacks the path, the latest message of the same side that has the path is used (requests have odd
 *             labels, responses even ones), then the latest of the other side. The result depends only on the messages.
 * Picture:    labelled messages form a ring, numbered by arrival; messages whose labels share a bucket are chained,
 *             latest first. Overwritten messages are recognized by their number, so nothing is unlinked.
 *
 *                 bucket [label & mask] --> number 907 --> number 893 --> number 340 (too old: the chain ends)
 *
 * Cost:       a label is found in constant time. Filling walks the expression once, and copies only the parts with
 *             holes. If its message cannot fill a hole, every stored message may be visited.
 * Not done:   evaluating holes inside a value that fills a hole: the value is data. */
#include "script/expression.h"

#include <stdio.h>
#include <stdlib.h>
#include "base/memory.h"
#include "tree/model_calls.h"
#include "value/heap.h"

/* ---- labelled messages ------------------------------------------------------------------------------------------- */

typedef struct entry {
    int64_t label;
    aph_value message;
    uint64_t before; /* number of the previous one in its bucket; 0: none */
} entry;

struct aphi_labelled {
    entry *ring;      /* number n is at n & mask */
    uint64_t *bucket; /* number of the latest; 0: none */
    uint64_t mask;
    uint64_t count;   /* of all messages so far, numbered from 1 */
};

static bool is_kept(const aphi_labelled *l, uint64_t number) { return number != 0 && l->count - number <= l->mask; }

static void mark_labelled(void *context)
{
    const aphi_labelled *l = context;
    for (uint64_t n = l->count; is_kept(l, n); n--)
        aph_mark(l->ring[n & l->mask].message);
}

aphi_labelled *aphi_labelled_open(size_t capacity)
{
    size_t size = 16;
    while (size < capacity)
        size *= 2;
    aphi_labelled *l = aphi_alloc(sizeof *l);
    *l = (aphi_labelled){.mask = size - 1,
                         .ring = aphi_alloc_zero(size * sizeof *l->ring),
                         .bucket = aphi_alloc_zero(size * sizeof *l->bucket)};
    aph_root_add(mark_labelled, l);
    return l;
}

void aphi_labelled_close(aphi_labelled *l)
{
    if (!l)
        return;
    aph_root_remove(mark_labelled, l);
    free(l->ring);
    free(l->bucket);
    free(l);
}

void aphi_labelled_add(aphi_labelled *l, int64_t label, aph_value message)
{
    uint64_t *bucket = &l->bucket[(uint64_t)label & l->mask];
    l->ring[++l->count & l->mask] = (entry){.label = label, .message = message, .before = *bucket};
    *bucket = l->count;
}

bool aphi_labelled_latest(const aphi_labelled *l, size_t i, int64_t *label, aph_value *message)
{
    if (i >= l->count || !is_kept(l, l->count - i))
        return false;
    const entry *e = &l->ring[(l->count - i) & l->mask];
    *label = e->label;
    *message = e->message;
    return true;
}

const aph_value *aphi_labelled_find(const aphi_labelled *l, int64_t label)
{
    for (uint64_t n = l->bucket[(uint64_t)label & l->mask]; is_kept(l, n); n = l->ring[n & l->mask].before)
        if (l->ring[n & l->mask].label == label)
            return &l->ring[n & l->mask].message;
    return NULL;
}

/* ---- paths ------------------------------------------------------------------------------------------------------- */

bool aphi_path_is_path(aph_value v)
{
    if (aph_kind_of(v) != APH_ARRAY)
        return false;
    for (size_t i = 0; i < aph_count(v); i++) {
        aph_value part = aph_at(v, i);
        if (!aph_is_str(part) && !(aph_is_int(part) && aph_int_of(part) >= 0))
            return false;
    }
    return true;
}

static bool find_path(aph_value v, aph_value path, size_t at, aph_value *found);

static bool find_in_array(aph_value array, uint64_t index, aph_value path, size_t next, aph_value *found)
{
    size_t n = aph_count(array), wanted = index < n ? (size_t)index : n;
    if (wanted < n && find_path(aph_at(array, wanted), path, next, found))
        return true;
    for (size_t far = 1; far <= n; far++) {
        if (far <= wanted && find_path(aph_at(array, wanted - far), path, next, found))
            return true;
        if (far < n - wanted && find_path(aph_at(array, wanted + far), path, next, found))
            return true;
    }
    return false;
}

/* Follows the path from its part `at` on. */
static bool find_path(aph_value v, aph_value path, size_t at, aph_value *found)
{
    if (at == aph_count(path)) {
        *found = v;
        return true;
    }
    aph_value part = aph_at(path, at);
    if (aph_is_int(part))
        return aph_kind_of(v) == APH_ARRAY && find_in_array(v, (uint64_t)aph_int_of(part), path, at + 1, found);
    aph_value item = aph_get(v, part);
    return (item || (aph_kind_of(v) == APH_OBJECT && aph_has(v, part))) && find_path(item, path, at + 1, found);
}

bool aphi_path_find(aph_value message, aph_value path, aph_value *found) { return find_path(message, path, 0, found); }

/* ---- holes ------------------------------------------------------------------------------------------------------- */

aph_value aph_hole(int64_t label, aph_value path, const char *function)
{
    return aph_record("$", APH_ARRAY_OF(aph_int(label), path, aph_str(function)));
}

/* Returns true for a hole, well-formed or not. No other object may consist of only this field. */
static bool looks_like_hole(aph_value v)
{
    return aph_kind_of(v) == APH_OBJECT && aph_count(v) == 1 && aph_has(v, aph_str("$"));
}

bool aphi_expression_is_hole(aph_value v)
{
    if (!looks_like_hole(v))
        return false;
    aph_value parts = aph_field(v, "$");
    return aph_kind_of(parts) == APH_ARRAY && aph_count(parts) == 3 && aph_is_int(aph_at(parts, 0)) &&
           aph_int_of(aph_at(parts, 0)) > 0 && aphi_path_is_path(aph_at(parts, 1)) && aph_is_str(aph_at(parts, 2));
}

const aph_function *aphi_function_named(const aph_function *functions, aph_value name)
{
    for (const aph_function *f = functions; f && f->name; f++)
        if (aph_str_is(name, f->name))
            return f;
    return NULL;
}

/* Finds the path in the latest message of the side that has it, except the one with that label. */
static bool find_elsewhere(const aphi_labelled *seen, int64_t label, bool answers, aph_value path, aph_value *found)
{
    int64_t other;
    aph_value message;
    for (size_t i = 0; aphi_labelled_latest(seen, i, &other, &message); i++)
        if ((other % 2 == 0) == answers && other != label && aphi_path_find(message, path, found))
            return true;
    return false;
}

static aph_value fill_hole(aph_value hole, const aphi_labelled *seen, const aph_function *functions)
{
    aph_value parts = aph_field(hole, "$"), path = aph_at(parts, 1), found;
    int64_t label = aph_int_of(aph_at(parts, 0));
    const aph_value *message = aphi_labelled_find(seen, label);
    bool answers = label % 2 == 0;

    if (!(message && aphi_path_find(*message, path, &found)) && !find_elsewhere(seen, label, answers, path, &found) &&
        !find_elsewhere(seen, label, !answers, path, &found))
        return APH_NIL;
    const aph_function *f = aphi_function_named(functions, aph_at(parts, 2));
    return f ? aphi_model_apply(f, found) : found;
}

/* ---- expressions ------------------------------------------------------------------------------------------------- */

typedef struct filling {
    const aphi_labelled *seen;
    const aph_function *functions;
    aph_value made; /* the object so far */
} filling;

static bool fill_field(void *context, aph_value key, aph_value item)
{
    filling *f = context;
    if (aphi_is_node(item)) {
        aph_value filled = aphi_expression_fill(item, f->seen, f->functions);
        if (filled != item)
            f->made = aph_set(f->made, key, filled);
    }
    return true;
}

static aph_value fill_array(aph_value array, const aphi_labelled *seen, const aph_function *functions)
{
    size_t n = aph_count(array);
    aph_value *items = NULL;
    for (size_t i = 0; i < n; i++) {
        aph_value item = aph_at(array, i), filled = aphi_expression_fill(item, seen, functions);
        if (filled == item)
            continue;
        if (!items) {
            items = aphi_alloc(n * sizeof *items);
            for (size_t k = 0; k < n; k++)
                items[k] = aph_at(array, k);
        }
        items[i] = filled;
    }
    aph_value made = items ? aph_array(n, items) : array;
    free(items);
    return made;
}

aph_value aphi_expression_fill(aph_value v, const aphi_labelled *seen, const aph_function *functions)
{
    aph_kind kind = aphi_is_node(v) ? aph_kind_of(v) : APH_NULL;
    if (kind == APH_ARRAY)
        return fill_array(v, seen, functions);
    if (kind != APH_OBJECT)
        return v;
    if (aphi_expression_is_hole(v))
        return fill_hole(v, seen, functions);
    filling f = {.seen = seen, .functions = functions, .made = v};
    aphi_pairs(v, fill_field, &f);
    return f.made;
}

/* Called for each object that looks like a hole, until it returns false. */
typedef bool visit_hole(void *context, aph_value hole);

typedef struct walk {
    visit_hole *visit;
    void *context;
} walk;

static bool walk_holes(aph_value v, const walk *w);

static bool walk_field(void *context, aph_value key, aph_value item)
{
    (void)key;
    return walk_holes(item, context);
}

static bool walk_holes(aph_value v, const walk *w)
{
    aph_kind kind = aphi_is_node(v) ? aph_kind_of(v) : APH_NULL;
    if (looks_like_hole(v))
        return w->visit(w->context, v);
    if (kind == APH_OBJECT)
        return aphi_pairs(v, walk_field, (void *)w);
    bool on = true;
    for (size_t i = 0; kind == APH_ARRAY && on && i < aph_count(v); i++)
        on = walk_holes(aph_at(v, i), w);
    return on;
}

typedef struct checking {
    const aph_function *functions;
    bool any_function;
    char *error;
    size_t error_size;
} checking;

static bool check_hole(void *context, aph_value hole)
{
    const checking *c = context;
    aph_value name = aph_at(aph_field(hole, "$"), 2);
    bool formed = aphi_expression_is_hole(hole);
    if (formed && (c->any_function || aph_str_is(name, "id") || aphi_function_named(c->functions, name)))
        return true;
    char *text = aph_json_text(formed ? name : hole, NULL);
    if (formed)
        snprintf(c->error, c->error_size, "unknown function %.60s: the model does not define it", text);
    else
        snprintf(c->error, c->error_size, "%.80s is not a hole: use {\"$\": [LABEL, PATH, \"function\"]} with a label "
                 "from 1 and a path of names and indices", text);
    free(text);
    return false;
}

static bool check_expression(aph_value expression, checking c)
{
    if (aph_is_symbolic(expression)) {
        snprintf(c.error, c.error_size, "the message contains a symbol: only known values can be sent");
        return false;
    }
    return walk_holes(expression, &(walk){check_hole, &c});
}

bool aphi_expression_is_sound(aph_value expression, char *error, size_t error_size)
{
    return check_expression(expression, (checking){.any_function = true, .error = error, .error_size = error_size});
}

bool aphi_expression_check(aph_value expression, const aph_function *functions, char *error, size_t error_size)
{
    return check_expression(expression, (checking){.functions = functions, .error = error, .error_size = error_size});
}

static bool find_newest(void *context, aph_value hole)
{
    int64_t *newest = context;
    aph_value label = aph_at(aph_field(hole, "$"), 0);
    if (aph_is_int(label) && aph_int_of(label) > *newest)
        *newest = aph_int_of(label);
    return true;
}

int64_t aphi_expression_newest(aph_value expression)
{
    int64_t newest = 0;
    walk_holes(expression, &(walk){find_newest, &newest});
    return newest;
}
