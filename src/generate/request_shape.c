/* SPDX-License-Identifier: Apache-2.0
 *
 * request_shape.c - requests described by JSON with variable parts.
 *
 * Idea:       an object with a reserved field is a form, such as {"one of": [...]}; other JSON stands for itself. The
 *             text is compiled to a tree, in which parts without forms are single values; a draw walks the tree.
 *             Choices among alternatives use the weights of the generator.
 * Invariants: (1) only fields of objects and items of arrays can be absent, so a draw always yields a request.
 *             (2) fresh strings step through all strings of their length: the step is coprime to their number, so no
 *                 string is repeated before all were used.
 * Cost:       a draw is linear in the request; opening is linear in the text. */
#include "generate/request_shape.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include "base/buffer.h"
#include "base/memory.h"
#include "generate/generator_api.h"
#include "value/heap.h"

typedef enum node_kind {
    JUST,
    OBJECT,
    ARRAY,
    ONE_OF,
    OPTIONAL,
    INTEGER,
    STRING,
    FRESH_INT,
    FRESH_STRING,
    HOLE,
} node_kind;

typedef struct node {
    struct node *next;       /* in the list of all nodes of the shape */
    node_kind kind;
    aph_value value;         /* JUST; HOLE: the path */
    const char *function;    /* HOLE: its name */
    bool answers;            /* HOLE: in a response */
    int64_t low, high;       /* INTEGER: limits; STRING, FRESH_STRING: of the length */
    uint64_t *fresh;         /* FRESH_INT: the latest; FRESH_STRING: the number of the latest */
    size_t count;
    aph_value *keys;         /* OBJECT */
    struct node **children;  /* HOLE: the "else", or none */
    aphi_weighted *options;    /* ONE_OF: by child; OPTIONAL: absent, present */
} node;

static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";

enum { LETTERS = sizeof letters - 1, FRESH_LENGTH = 4, FRESH_MAX = 10, LENGTH_MAX = 1 << 16, WEIGHT_MAX = 1000000 };

struct aphi_request_shape {
    node *root, *nodes;
    uint64_t fresh[1 + FRESH_MAX]; /* the latest: [0]: integer; [n]: string of length n */
};

/* ---- nodes ------------------------------------------------------------------------------------------------------- */

typedef struct reading {
    const aph_function *functions;
    aphi_request_shape *shape;
    aphi_buffer place; /* in the shape, such as [0].key */
    char *error;
    size_t error_size;
} reading;

static node *make_node(reading *r, node_kind kind, size_t count)
{
    node *n = aphi_alloc_zero(sizeof *n);
    *n = (node){.next = r->shape->nodes, .kind = kind, .count = count};
    r->shape->nodes = n;
    if (count)
        n->children = aphi_alloc_zero(count * sizeof *n->children);
    if (count && kind == OBJECT)
        n->keys = aphi_alloc_zero(count * sizeof *n->keys);
    return n;
}

static void add_options(node *n, size_t count)
{
    n->options = aphi_alloc_zero(count * sizeof *n->options);
    for (size_t i = 0; i < count; i++)
        n->options[i].weight = 1;
}

static void free_shape(aphi_request_shape *s)
{
    for (node *n = s->nodes, *next; n; n = next) {
        next = n->next;
        free(n->keys);
        free(n->children);
        free(n->options);
        free(n);
    }
    free(s);
}

static void mark_shape(void *context)
{
    for (const node *n = ((const aphi_request_shape *)context)->nodes; n; n = n->next) {
        aph_mark(n->value);
        for (size_t i = 0; n->keys && i < n->count; i++)
            aph_mark(n->keys[i]);
    }
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

__attribute__((format(printf, 2, 3))) static node *fail_shape(reading *r, const char *format, ...)
{
    char what[300];
    va_list args;
    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    snprintf(r->error, r->error_size, "shape%s%s: %s", r->place.n ? " at " : "", aphi_buffer_text(&r->place), what);
    return NULL;
}

static node *read_node(reading *r, aph_value v, bool may_be_absent);

/* Reads a part; the format describes its position within the enclosing part. */
__attribute__((format(printf, 4, 5))) static node *read_part(reading *r, aph_value v, bool may_be_absent,
                                                             const char *format, ...)
{
    char place[80];
    size_t before = r->place.n;
    va_list args;
    va_start(args, format);
    vsnprintf(place, sizeof place, format, args);
    va_end(args);
    aphi_buffer_str(&r->place, place);
    node *n = read_node(r, v, may_be_absent);
    r->place.n = before;
    return n;
}

/* Reads {"weight": n, "of": X}, or X alone, which has the weight 1. */
static bool read_weight(reading *r, aph_value *v, aphi_weighted *option)
{
    aph_value weight = aph_field(*v, "weight");
    if (!aph_has(*v, aph_str("weight")))
        return true;
    if (!aph_has(*v, aph_str("of")) || aph_count(*v) != 2 || !aph_is_int(weight) || aph_int_of(weight) < 1 ||
        aph_int_of(weight) > WEIGHT_MAX)
        return fail_shape(r, "expected {\"weight\": N, \"of\": SHAPE} with N from 1 to %d", WEIGHT_MAX);
    option->weight = (uint32_t)aph_int_of(weight);
    *v = aph_field(*v, "of");
    return true;
}

static node *read_alternatives(reading *r, aph_value list, bool may_be_absent)
{
    size_t count = aph_kind_of(list) == APH_ARRAY ? aph_count(list) : 0;
    if (count == 0)
        return fail_shape(r, "alternatives must be a non-empty array");
    node *n = make_node(r, ONE_OF, count);
    add_options(n, count);
    for (size_t i = 0; i < count; i++) {
        aph_value v = aph_at(list, i);
        if (!read_weight(r, &v, &n->options[i]) || !(n->children[i] = read_part(r, v, may_be_absent, "[%zu]", i)))
            return NULL;
    }
    return n;
}

/* Reads the alternatives of the whole shape, which are requests. */
static node *read_requests(reading *r, aph_value list)
{
    node *n = read_alternatives(r, list, false);
    for (size_t i = 0; n && i < n->count; i++)
        if (n->children[i]->kind == JUST && !n->children[i]->value)
            return fail_shape(r, "alternative %zu is null, which cannot be sent", i);
    return n;
}

static node *read_one_of(reading *r, aph_value form, bool may_be_absent)
{
    return read_alternatives(r, aph_field(form, "one of"), may_be_absent);
}

static node *make_just(reading *r, aph_value v)
{
    node *n = make_node(r, JUST, 0);
    n->value = v;
    return n;
}

static node *read_just(reading *r, aph_value form, bool may_be_absent)
{
    char why[200];
    aph_value v = aph_field(form, "just");
    (void)may_be_absent;
    return aphi_expression_check(v, r->functions, why, sizeof why) ? make_just(r, v) : fail_shape(r, "%s", why);
}

static node *read_optional(reading *r, aph_value form, bool may_be_absent)
{
    if (!may_be_absent)
        return fail_shape(r, "only a field of an object or an item of an array can be optional");
    node *n = make_node(r, OPTIONAL, 1);
    add_options(n, 2);
    n->children[0] = read_node(r, aph_field(form, "optional"), true);
    return n->children[0] ? n : NULL;
}

/* Reads [low, high], or one number for both if `single`. */
static bool read_limits(aph_value v, bool single, int64_t *low, int64_t *high)
{
    aph_value a = aph_at(v, 0), b = aph_at(v, 1);
    if (single && aph_is_int(v))
        a = b = v;
    else if (aph_kind_of(v) != APH_ARRAY || aph_count(v) != 2)
        return false;
    if (!aph_is_int(a) || !aph_is_int(b))
        return false;
    *low = aph_int_of(a);
    *high = aph_int_of(b);
    return *low <= *high;
}

static node *read_integer(reading *r, aph_value form, bool may_be_absent)
{
    node *n = make_node(r, INTEGER, 0);
    (void)may_be_absent;
    if (read_limits(aph_field(form, "int"), false, &n->low, &n->high))
        return n;
    return fail_shape(r, "\"int\" takes [LOW, HIGH], two integers in that order");
}

static node *read_string(reading *r, aph_value form, bool may_be_absent)
{
    node *n = make_node(r, STRING, 0);
    (void)may_be_absent;
    if (read_limits(aph_field(form, "string"), true, &n->low, &n->high) && n->low >= 0 && n->high <= LENGTH_MAX)
        return n;
    return fail_shape(r, "\"string\" takes a length, or [LOW, HIGH] for lengths from 0 to %d; for one of several "
                         "strings write {\"one of\": [...]}", LENGTH_MAX);
}

static node *read_fresh(reading *r, aph_value form, bool may_be_absent)
{
    aph_value what = aph_field(form, "fresh"), length = aph_field(form, "length");
    bool integer = aph_str_is(what, "int");
    (void)may_be_absent;
    if (!(integer && aph_count(form) == 1) && !aph_str_is(what, "string"))
        return fail_shape(r, "fresh values must be {\"fresh\": \"int\"}, {\"fresh\": \"string\"} or "
                             "{\"fresh\": \"string\", \"length\": N}");
    if (aph_has(form, aph_str("length")) &&
        (!aph_is_int(length) || aph_int_of(length) < 1 || aph_int_of(length) > FRESH_MAX))
        return fail_shape(r, "the length of a fresh string must be from 1 to %d", FRESH_MAX);
    node *n = make_node(r, integer ? FRESH_INT : FRESH_STRING, 0);
    n->low = n->high = length ? aph_int_of(length) : FRESH_LENGTH;
    n->fresh = &r->shape->fresh[integer ? 0 : n->low];
    return n;
}

static node *read_hole(reading *r, aph_value form, bool may_be_absent)
{
    bool answers = aph_has(form, aph_str("seen")), other = aph_has(form, aph_str("else"));
    const char *what = answers ? "seen" : "sent";
    aph_value path = aph_field(form, what), name = aph_field(form, "function");
    const aph_function *f = aphi_function_named(r->functions, name);
    bool is_identity = !aph_has(form, aph_str("function")) || aph_str_is(name, "id");
    if (!aphi_path_is_path(path))
        return fail_shape(r, "\"%s\" takes a path: an array of field names and of indices from 0", what);
    if (!f && !is_identity) {
        char *text = aph_json_text(name, NULL);
        fail_shape(r, "unknown function %.60s: the model does not define it", text);
        free(text);
        return NULL;
    }
    if (!other && !may_be_absent)
        return fail_shape(r, "missing \"else\", for the case that nothing was %s", what);
    node *n = make_node(r, HOLE, other);
    n->value = path;
    n->function = f ? f->name : "id";
    n->answers = answers;
    if (other)
        n->children[0] = read_part(r, aph_field(form, "else"), may_be_absent, ".else");
    return !other || n->children[0] ? n : NULL;
}

typedef struct form {
    const char *name;
    node *(*read)(reading *r, aph_value form, bool may_be_absent);
    const char *others[3]; /* other fields that it may have */
} form;

static const form forms[] = {
    {.name = "one of", .read = read_one_of},
    {.name = "just", .read = read_just},
    {.name = "optional", .read = read_optional},
    {.name = "int", .read = read_integer},
    {.name = "string", .read = read_string},
    {.name = "fresh", .read = read_fresh, .others = {"length"}},
    {.name = "seen", .read = read_hole, .others = {"function", "else"}},
    {.name = "sent", .read = read_hole, .others = {"function", "else"}},
};

static const form *form_of(aph_value object)
{
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
        if (aph_has(object, aph_str(forms[i].name)))
            return &forms[i];
    return NULL;
}

static bool has_only(const form *f, aph_value object)
{
    size_t known = 1;
    for (const char *const *other = f->others; *other; other++)
        known += aph_has(object, aph_str(*other));
    return known == aph_count(object);
}

/* Turns an object or array without forms into a value. */
static node *fold_constant(reading *r, node *n)
{
    aph_value made = n->kind == OBJECT ? aph_object() : aph_array(0, NULL);
    for (size_t i = 0; i < n->count; i++) {
        aph_value item = n->children[i]->value;
        if (n->children[i]->kind != JUST)
            return n;
        made = n->kind == OBJECT ? aph_set(made, n->keys[i], item) : aph_push(made, item);
    }
    return make_just(r, made);
}

/* Reads an array or an object without a form. */
static node *read_parts(reading *r, aph_value v, node_kind kind)
{
    node *n = make_node(r, kind, aph_count(v));
    for (size_t i = 0; i < n->count; i++) {
        aph_value item;
        size_t length;
        if (kind == ARRAY) {
            n->children[i] = read_part(r, aph_at(v, i), true, "[%zu]", i);
        } else {
            aph_pair_at(v, i, &n->keys[i], &item);
            const char *key = aph_bytes_of(&n->keys[i], &length);
            n->children[i] = read_part(r, item, true, "%s%.*s", r->place.n ? "." : "", (int)length, key);
        }
        if (!n->children[i])
            return NULL;
    }
    return fold_constant(r, n);
}

static node *read_node(reading *r, aph_value v, bool may_be_absent)
{
    aph_kind kind = aph_kind_of(v);
    if (kind == APH_ARRAY)
        return read_parts(r, v, ARRAY);
    if (kind == APH_OBJECT && aph_has(v, aph_str("weight")))
        return fail_shape(r, "only alternatives have weights; to send a field \"weight\" write {\"just\": ...}");
    const form *f = kind == APH_OBJECT ? form_of(v) : NULL;
    if (f && !has_only(f, v))
        return fail_shape(r, "\"%s\" cannot be combined with the other fields; to send a field of that name write "
                             "{\"just\": ...}", f->name);
    if (f)
        return f->read(r, v, may_be_absent);
    if (kind == APH_OBJECT && aph_has(v, aph_str("$")))
        return fail_shape(r, "in a shape, write a hole as {\"seen\": PATH} or {\"sent\": PATH}");
    return kind == APH_OBJECT ? read_parts(r, v, OBJECT) : make_just(r, v);
}

/* ---- drawing ----------------------------------------------------------------------------------------------------- */

static bool draw_node(node *n, aph_gen *g, aph_value wish, aph_value *v);

static aph_value draw_parts(node *n, aph_gen *g, aph_value wish)
{
    bool is_object = n->kind == OBJECT;
    aph_value made = is_object ? aph_object() : aph_array(0, NULL), item;
    for (size_t i = 0; i < n->count; i++)
        if (draw_node(n->children[i], g, is_object ? aph_get(wish, n->keys[i]) : APH_NIL, &item))
            made = is_object ? aph_set(made, n->keys[i], item) : aph_push(made, item);
    return made;
}

/* Prefers the alternative of the wish, with a probability of 3/4. */
static node *draw_alternative(node *n, aph_gen *g, aph_value wish)
{
    for (size_t i = 0; wish && i < n->count; i++)
        if (n->children[i]->kind == JUST && n->children[i]->value == wish && aphi_choice_chance(&g->choice, 3, 4)) {
            aphi_weights_draw(&g->weights, &n->options[i]);
            return n->children[i];
        }
    return n->children[aphi_weights_pick(&g->weights, n->options, n->count, &g->choice)];
}

/* Favours the limits, where many errors occur. */
static int64_t draw_integer(const node *n, aph_gen *g)
{
    switch (aph_gen_below(g, 16)) {
    case 0: return n->low;
    case 1: return n->high;
    default: return aphi_choice_within(&g->choice, n->low, n->high);
    }
}

static aph_value draw_string(const node *n, aph_gen *g)
{
    size_t length = (size_t)draw_integer(n, g);
    char *bytes = aphi_alloc(length + 1);
    for (size_t i = 0; i < length; i++)
        bytes[i] = letters[aph_gen_below(g, LETTERS)];
    aph_value v = aph_bytes(bytes, length);
    free(bytes);
    return v;
}

/* LETTERS is 2 * 31; the step is odd and not a multiple of 31, and near the golden ratio, so that successive strings
 * differ in all letters. */
static aph_value draw_fresh_string(node *n)
{
    uint64_t all = 1, step;
    char bytes[FRESH_MAX];
    for (int64_t i = 0; i < n->low; i++)
        all *= LETTERS;
    step = (uint64_t)((double)all * 0.6180339887) | 1;
    if (step % 31 == 0)
        step += 2;
    uint64_t rest = *n->fresh = (*n->fresh % all + step) % all;
    for (int64_t i = 0; i < n->low; i++) {
        bytes[i] = letters[rest % LETTERS];
        rest /= LETTERS;
    }
    return aph_bytes(bytes, (size_t)n->low);
}

/* Returns false if the part is absent. wish: this part of the wished request. */
static bool draw_node(node *n, aph_gen *g, aph_value wish, aph_value *v)
{
    switch (n->kind) {
    case JUST: *v = n->value; break;
    case OBJECT:
    case ARRAY: *v = draw_parts(n, g, wish); break;
    case ONE_OF: return draw_node(draw_alternative(n, g, wish), g, wish, v);
    case OPTIONAL:
        return aphi_weights_pick(&g->weights, n->options, 2, &g->choice) && draw_node(n->children[0], g, wish, v);
    case INTEGER: *v = aph_int(draw_integer(n, g)); break;
    case STRING: *v = draw_string(n, g); break;
    case FRESH_INT: *v = aph_int((int64_t)++*n->fresh); break;
    case FRESH_STRING: *v = draw_fresh_string(n); break;
    case HOLE:
        *v = aphi_gen_hole(g, n->answers, n->value, n->function);
        return *v || (n->count && draw_node(n->children[0], g, wish, v));
    }
    return true;
}

/* ---- shapes ------------------------------------------------------------------------------------------------------ */

static void format_json_error(const char *text, const aph_json_error *json, char *error, size_t error_size)
{
    size_t line = 1, column = 1;
    for (size_t i = 0; i < json->offset; i++) {
        line += text[i] == '\n';
        column = text[i] == '\n' ? 1 : column + 1;
    }
    snprintf(error, error_size, "shape, line %zu, column %zu: %s", line, column, json->message);
}

aphi_request_shape *aphi_request_shape_open(const char *text, const aph_function *functions, uint64_t seed, char *error,
                                            size_t error_size)
{
    aph_value v;
    aph_json_error json;
    if (!aph_json_read(text, strlen(text), &v, &json)) {
        format_json_error(text, &json, error, error_size);
        return NULL;
    }
    aphi_request_shape *s = aphi_alloc_zero(sizeof *s);
    aphi_choice c = aphi_choice_seed(seed);
    for (size_t i = 1; i <= FRESH_MAX; i++)
        s->fresh[i] = aphi_choice_bits(&c);
    reading r = {.functions = functions, .shape = s, .error = error, .error_size = error_size};
    s->root = read_requests(&r, v);
    aphi_buffer_free(&r.place);
    if (!s->root) {
        free_shape(s);
        return NULL;
    }
    aph_root_add(mark_shape, s);
    return s;
}

void aphi_request_shape_close(aphi_request_shape *s)
{
    if (!s)
        return;
    aph_root_remove(mark_shape, s);
    free_shape(s);
}

aph_value aphi_request_shape_draw(aphi_request_shape *s, aph_gen *g)
{
    aph_value v = APH_NIL;
    draw_node(s->root, g, g->wish, &v);
    return v;
}
