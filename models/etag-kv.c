/* SPDX-License-Identifier: Apache-2.0
 *
 * etag-kv.c - a key-value server with entity tags and the conditional requests of HTTP (RFC 9110, section 13).
 *
 *     {"f": "get", "key": k}                 {"code": 200, "value": v, "tag": TAG}, or 404 if k was never put
 *       with "if_none_match": TAG            {"code": 304, "tag": TAG} if the current tag matches, weakly
 *     {"f": "put", "key": k, "value": v}     {"code": 201} if k is new, else {"code": 204}
 *       with "if_match": TAG                 {"code": 412}, nothing stored, unless the current tag matches, strongly
 *
 * TAG is {"opaque": STRING, "weak": BOOL}. At each put the server may create a tag or none, strong or weak, with any
 * opaque part; the tester learns the tag from a response. A value without a tag is returned without "tag", and matches
 * nothing.
 *
 * This is figure 4.5 of Li, "Testing by dualization", with GET. As in the paper, a new tag may be equal to an earlier
 * one. The state maps keys to {"value": v, "tag": TAG}, without "tag" if there is none. */
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

static bool matches_weakly(aph *m, aph_value requested, aph_value current)
{
    if (!current)
        return false;
    aph_clause(m, "RFC 9110 13.1.2");
    return same_opaque(m, requested, current, "If-None-Match: tags match");
}

static bool matches_strongly(aph *m, aph_value requested, aph_value current)
{
    if (!current || is_weak(requested) || is_weak(current))
        return false;
    aph_clause(m, "RFC 9110 13.1.1");
    return same_opaque(m, requested, current, "If-Match: tags match");
}

/* Returns a new tag for a put, or APH_NIL. */
static aph_value choose_tag(aph *m)
{
    aph_clause(m, "RFC 9110 8.8.3");
    int made = aph_either(m, "no tag", "strong tag", "weak tag");
    if (made == 0)
        return APH_NIL;
    return aph_record("opaque", aph_choose(m, APH_STR, "opaque tag"), "weak", aph_bool(made == 2));
}

static aph_value get(aph *m, aph_value resource, aph_value if_none_match)
{
    aph_value tag = aph_field(resource, "tag");

    if (!resource)
        return answer_code(404);
    if (if_none_match && matches_weakly(m, if_none_match, tag))
        return with_tag(answer_code(304), tag);
    return with_tag(aph_record("code", aph_int(200), "value", aph_field(resource, "value")), tag);
}

static aph_value put(aph *m, aph_value value, aph_value *resource, aph_value if_match)
{
    if (if_match && !matches_strongly(m, if_match, aph_field(*resource, "tag"))) {
        aph_clause(m, "RFC 9110 13.1.1");
        return answer_code(412);
    }
    aph_value answer = answer_code(*resource ? 204 : 201);
    *resource = with_tag(aph_record("value", value), choose_tag(m));
    return answer;
}

/* Returns the condition of the request: a tag, or APH_NIL if absent. */
static aph_value condition(aph *m, aph_value request, const char *name)
{
    aph_value tag = aph_field(request, name);
    aph_value opaque = aph_field(tag, "opaque"), weak = aph_field(tag, "weak");
    if (tag && !(aph_is_str(opaque) && aph_kind_of(weak) == APH_BOOL))
        aph_unknown_request(m, "a tag must be {\"opaque\": STRING, \"weak\": BOOL}");
    return tag;
}

/* Executes the request and returns the response. */
static aph_value serve(aph *m, aph_value request, aph_value *state)
{
    aph_value key = aph_field(request, "key");

    if (!is(request, "get") && !is(request, "put"))
        aph_unknown_request(m, "unknown \"f\"; expected \"get\" or \"put\"");
    if (!aph_is_str(key))
        aph_unknown_request(m, "a request needs a \"key\", a string");
    aph_value resource = aph_get(*state, key);
    if (is(request, "get"))
        return get(m, resource, condition(m, request, "if_none_match"));
    if (!aph_has(request, aph_str("value")))
        aph_unknown_request(m, "a put needs a \"value\"");
    aph_value answer = put(m, aph_field(request, "value"), &resource, condition(m, request, "if_match"));
    if (resource)
        *state = aph_set(*state, key, resource);
    return answer;
}

static void step(aph *m, aph_value *state)
{
    aph_request q = aph_recv(m);
    aph_send(m, q.from, serve(m, q.message, state));
}

static aph_value part(aph_value request)
{
    return aph_field(request, "key");
}

static bool reads(aph_value request, aph_value answer)
{
    return is(request, "get") || aph_field(answer, "code") == aph_int(412);
}

/* ---- generation -------------------------------------------------------------------------------------------------- */

/* Conditions use tags of earlier responses: unchanged, weakened, strengthened, or changed. */

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

/* Returns the key of the request with the label, if it is remembered. */
static aph_value key_of_request(aph_gen *g, int64_t request)
{
    int64_t label;
    aph_value message;
    for (size_t i = 0; aph_gen_seen(g, i, &label, &message); i++)
        if (label == request)
            return aph_field(message, "key");
    return APH_NIL;
}

/* Returns a tag and, in four of five cases, sets *key to its key. */
static aph_value gen_condition(aph_gen *g, aph_value *key)
{
    static const char *const names[] = {"id", "weakened", "strengthened", "changed"};
    const char *function = names[aph_gen_weighted(g, 6, 2, 2, 1)];
    aph_value hole = aph_gen_hole(g, APH_ARRAY_OF(aph_str("tag")), function);
    if (!hole)
        return aph_record("opaque", aph_str("guess"), "weak", aph_bool(aph_gen_below(g, 2)));
    aph_value requested = key_of_request(g, aph_int_of(aph_at(aph_field(hole, "$"), 0)) - 1);
    if (requested && aph_gen_weighted(g, 4, 1) == 0)
        *key = requested;
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

/* ---- mutants ----------------------------------------------------------------------------------------------------- */

static aph_value tag_at(aph_value state, aph_value request)
{
    return aph_field(aph_get(state, aph_field(request, "key")), "tag");
}

static void step_if_match_weak(aph *m, aph_value *state)
{
    aph_request q = aph_recv(m);
    aph_value request = q.message, tag = tag_at(*state, request), requested = aph_field(request, "if_match");
    if (requested && tag && same_opaque(m, requested, tag, "weak comparison"))
        request = aph_remove(request, aph_str("if_match"));
    aph_send(m, q.from, serve(m, request, state));
}

static void step_ignores_if_match(aph *m, aph_value *state)
{
    aph_request q = aph_recv(m);
    aph_value unconditional = is(q.message, "put") ? aph_remove(q.message, aph_str("if_match")) : q.message;
    aph_send(m, q.from, serve(m, unconditional, state));
}

static void step_ignores_if_none_match(aph *m, aph_value *state)
{
    aph_request q = aph_recv(m);
    aph_value unconditional = is(q.message, "get") ? aph_remove(q.message, aph_str("if_none_match")) : q.message;
    aph_send(m, q.from, serve(m, unconditional, state));
}

static void step_412_stores(aph *m, aph_value *state)
{
    aph_request q = aph_recv(m);
    aph_value answer = serve(m, q.message, state), key = aph_field(q.message, "key"), resource = aph_get(*state, key);
    if (answer == answer_code(412) && resource)
        *state = aph_set(*state, key, aph_put(resource, "value", aph_field(q.message, "value")));
    aph_send(m, q.from, answer);
}

static void step_304_always(aph *m, aph_value *state)
{
    aph_request q = aph_recv(m);
    aph_value answer = serve(m, q.message, state), tag = tag_at(*state, q.message);
    if (is(q.message, "get") && aph_field(q.message, "if_none_match") && tag)
        answer = with_tag(answer_code(304), tag);
    aph_send(m, q.from, answer);
}

static void step_tag_drifts(aph *m, aph_value *state)
{
    aph_request q = aph_recv(m);
    aph_value answer = serve(m, q.message, state), key = aph_field(q.message, "key"), tag = aph_field(answer, "tag");
    if (tag) {
        tag = aph_put(tag, "opaque", aph_choose(m, APH_STR, "another tag"));
        *state = aph_set(*state, key, aph_put(aph_get(*state, key), "tag", tag));
    }
    aph_send(m, q.from, answer);
}

static const aph_model *const mutants[] = {
    APH_MUTANT(.name = "if-match-weak", .step = step_if_match_weak,
               .summary = "If-Match compares weakly"),
    APH_MUTANT(.name = "ignores-if-match", .step = step_ignores_if_match,
               .summary = "put ignores If-Match"),
    APH_MUTANT(.name = "ignores-if-none-match", .step = step_ignores_if_none_match,
               .summary = "get ignores If-None-Match"),
    APH_MUTANT(.name = "412-stores", .step = step_412_stores,
               .summary = "a put that returns 412 stores its value"),
    APH_MUTANT(.name = "304-always", .step = step_304_always,
               .summary = "a get with If-None-Match always returns 304"),
    APH_MUTANT(.name = "tag-drifts", .step = step_tag_drifts,
               .summary = "a tag changes after it was returned"),
    NULL,
};

/* ---- the model --------------------------------------------------------------------------------------------------- */

const aph_model aph_model_etag_kv = {
    .version = APH_MODEL_VERSION,
    .name = "etag-kv",
    .summary = "a key-value server with entity tags and conditional get and put, as in HTTP",
    .step = step,
    .rpc = true,
    .ignores_connections = true,
    .part = part,
    .reads = reads,
    .generate = generate,
    .functions = functions,
    .mutants = mutants,
};
