/* SPDX-License-Identifier: Apache-2.0
 *
 * etag-kv.c - a key-value server with entity tags and the conditional requests of HTTP (RFC 9110, section 13).
 *
 *     {"f": "get", "key": k}                 {"code": 200, "value": v, "tag": TAG}, or 404 if k was never put
 *       with "if_none_match": TAG            {"code": 304, "tag": TAG} if the current tag matches, weakly
 *     {"f": "put", "key": k, "value": v}     {"code": 201} if k is new, else {"code": 204}
 *       with "if_match": TAG                 {"code": 412}, nothing stored, unless the current tag matches, strongly
 *
 * TAG is {"opaque": STRING, "weak": BOOL}. At each put the server is free to make a tag or none, strong or weak, with
 * any opaque part: the tester does not know it until the server shows it. A value without a tag is answered without
 * "tag", and matches nothing.
 *
 * This is figure 4.5 of Li, "Testing by dualization", with GET. As there, nothing forbids that a new tag is equal to an
 * earlier one. The state is, by key, {"value": v, "tag": TAG}, "tag" left out if there is none. */
#include "models.h"

static bool is(aph_value request, const char *f)
{
    return aph_str_is(aph_field(request, "f"), f);
}

static aph_value answer_code(int code)
{
    return aph_record("code", aph_int(code));
}

static aph_value with_tag(aph_value object, aph_value tag)
{
    return tag ? aph_put(object, "tag", tag) : object;
}

static bool is_weak(aph_value tag)
{
    return aph_truth(aph_field(tag, "weak"));
}

static bool same_opaque(aph *m, aph_value a, aph_value b, const char *name)
{
    return aph_decide(m, aph_eq(aph_field(a, "opaque"), aph_field(b, "opaque")), name);
}

static bool matches_weakly(aph *m, aph_value asked, aph_value current)
{
    if (!current)
        return false;
    aph_clause(m, "RFC 9110 13.1.2");
    return same_opaque(m, asked, current, "If-None-Match: tags match");
}

static bool matches_strongly(aph *m, aph_value asked, aph_value current)
{
    if (!current || is_weak(asked) || is_weak(current))
        return false;
    aph_clause(m, "RFC 9110 13.1.1");
    return same_opaque(m, asked, current, "If-Match: tags match");
}

/* A new tag for what was put, or APH_NIL. */
static aph_value choose_tag(aph *m)
{
    aph_clause(m, "RFC 9110 8.8.3");
    int made = aph_either(m, "no tag", "strong tag", "weak tag");
    if (made == 0)
        return APH_NIL;
    return aph_record("opaque", aph_choose(m, APH_STR, "opaque tag"), "weak", aph_bool(made == 2));
}

static void get(aph *m, aph_request q, aph_value resource, aph_value if_none_match)
{
    aph_value tag = aph_field(resource, "tag");

    if (!resource)
        aph_send(m, q.from, answer_code(404));
    else if (if_none_match && matches_weakly(m, if_none_match, tag))
        aph_send(m, q.from, with_tag(answer_code(304), tag));
    else
        aph_send(m, q.from, with_tag(aph_record("code", aph_int(200), "value", aph_field(resource, "value")), tag));
}

/* The resource after the put. */
static aph_value put(aph *m, aph_request q, aph_value resource, aph_value if_match)
{
    if (if_match && !matches_strongly(m, if_match, aph_field(resource, "tag"))) {
        aph_clause(m, "RFC 9110 13.1.1");
        aph_send(m, q.from, answer_code(412));
        return resource;
    }
    aph_value tag = choose_tag(m);
    aph_send(m, q.from, answer_code(resource ? 204 : 201));
    return with_tag(aph_record("value", aph_field(q.message, "value")), tag);
}

/* A condition is absent, or a tag. */
static aph_value condition(aph *m, aph_value request, const char *name)
{
    aph_value tag = aph_field(request, name);
    aph_value opaque = aph_field(tag, "opaque"), weak = aph_field(tag, "weak");
    if (tag && !(aph_is_str(opaque) && aph_kind_of(weak) == APH_BOOL))
        aph_unknown_request(m, "a tag is {\"opaque\": STRING, \"weak\": BOOL}");
    return tag;
}

static void step(aph *m, aph_value *state)
{
    aph_request q = aph_recv(m);
    aph_value key = aph_field(q.message, "key");

    if (!is(q.message, "get") && !is(q.message, "put"))
        aph_unknown_request(m, "an etag-kv server knows \"f\": \"get\" and \"put\"");
    if (!aph_is_str(key))
        aph_unknown_request(m, "a request needs a \"key\", a string");
    aph_value resource = aph_get(*state, key);
    if (is(q.message, "get")) {
        get(m, q, resource, condition(m, q.message, "if_none_match"));
    } else {
        if (!aph_has(q.message, aph_str("value")))
            aph_unknown_request(m, "a put needs a \"value\"");
        resource = put(m, q, resource, condition(m, q.message, "if_match"));
        if (resource)
            *state = aph_set(*state, key, resource);
    }
}

static aph_value part(aph_value request)
{
    return aph_field(request, "key");
}

static bool reads(aph_value request, aph_value answer)
{
    return is(request, "get") || aph_field(answer, "code") == aph_int(412);
}

/* ---- what to send ------------------------------------------------------------------------------------------------ */

/* Conditions are made of tags that the server showed: as they were, weakened, strengthened, or changed. */

static aph_value weakened(aph_value tag)
{
    return aph_has(tag, aph_str("weak")) ? aph_put(tag, "weak", aph_bool(true)) : tag;
}

static aph_value strengthened(aph_value tag)
{
    return aph_has(tag, aph_str("weak")) ? aph_put(tag, "weak", aph_bool(false)) : tag;
}

static aph_value changed(aph_value tag)
{
    aph_value opaque = aph_field(tag, "opaque");
    return aph_is_str(opaque) ? aph_put(tag, "opaque", aph_concat(opaque, aph_str("x"))) : tag;
}

static const aph_function functions[] = {
    {"weakened", weakened},
    {"strengthened", strengthened},
    {"changed", changed},
    {0},
};

static aph_value gen_key(aph_gen *g)
{
    return aph_gen_oneof(g, aph_str("a"), aph_str("b"), aph_str("c"));
}

/* The key of the request with that label, if it is remembered. */
static aph_value key_asked(aph_gen *g, int64_t request)
{
    int64_t label;
    aph_value message;
    for (size_t i = 0; aph_gen_seen(g, i, &label, &message); i++)
        if (label == request)
            return aph_field(message, "key");
    return APH_NIL;
}

/* A tag, and in four of five the key that it was shown for. */
static aph_value gen_condition(aph_gen *g, aph_value *key)
{
    static const char *const names[] = {"id", "weakened", "strengthened", "changed"};
    const char *function = names[aph_gen_weighted(g, 6, 2, 2, 1)];
    aph_value hole = aph_gen_hole(g, APH_ARRAY_OF(aph_str("tag")), function);
    if (!hole)
        return aph_record("opaque", aph_str("guess"), "weak", aph_bool(aph_gen_below(g, 2)));
    aph_value asked = key_asked(g, aph_int_of(aph_at(aph_field(hole, "$"), 0)) - 1);
    if (asked && aph_gen_weighted(g, 4, 1) == 0)
        *key = asked;
    return hole;
}

static aph_value generate(aph_gen *g)
{
    bool puts = aph_gen_weighted(g, 3, 2), conditional = aph_gen_weighted(g, 1, 1);
    aph_value key = gen_key(g), condition = conditional ? gen_condition(g, &key) : APH_NIL;
    aph_value request = aph_record("f", aph_str(puts ? "put" : "get"), "key", key);
    if (puts)
        request = aph_put(request, "value", aph_int((int64_t)aph_gen_number(g) + 1));
    return condition ? aph_put(request, puts ? "if_match" : "if_none_match", condition) : request;
}

const aph_model aph_model_etag_kv = {
    .version = APH_MODEL_VERSION,
    .name = "etag-kv",
    .summary = "a key-value server with entity tags and conditional get and put, as in HTTP",
    .step = step,
    .rpc = true,
    .part = part,
    .reads = reads,
    .generate = generate,
    .functions = functions,
};
