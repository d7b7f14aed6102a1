/* SPDX-License-Identifier: Apache-2.0
 *
 * conditional-put.c - the server of Li, "Testing by dualization", figure 4.5: conditional PUT with If-Match.
 *
 *     {"f": "put", "key": k, "value": v, "if_match": TAG}    answers "ok" or "precondition failed"
 *     {"f": "get", "key": k}                                 answers {"value": v, "tag": TAG}
 *
 * "if_match" is optional. A tag is a string that the server chooses when it stores a value; "" means no tag. */
#include <antiphon/model.h>

/* Returns the tag of a new value: any string, or no tag. */
static aph_value new_tag(aph *m)
{
    if (aph_either(m, "a tag", "no tag") == 0)
        return aph_choose(m, APH_STR, "tag");
    return aph_str("");
}

/* Returns whether If-Match holds. A value without a tag never matches. */
static bool matches(aph *m, aph_value asked, aph_value tag)
{
    aph_clause(m, "RFC 9110 13.1.1");
    return aph_decide(m, aph_and(aph_ne(tag, aph_str("")), aph_eq(tag, asked)), "If-Match holds");
}

static void server(aph *m, aph_value *state)
{
    aph_request q = aph_recv(m);
    aph_value f = aph_field(q.message, "f"), k = aph_field(q.message, "key"), t = aph_field(q.message, "if_match");
    aph_value resource = aph_get(*state, k);

    if (!resource)
        resource = aph_record("value", aph_str(""), "tag", aph_str(""));

    if (t && !matches(m, t, aph_field(resource, "tag"))) {
        aph_send(m, q.from, aph_str("precondition failed"));
    } else if (aph_str_is(f, "put")) {
        aph_value tag = new_tag(m);
        *state = aph_set(*state, k, aph_record("value", aph_field(q.message, "value"), "tag", tag));
        aph_send(m, q.from, aph_str("ok"));
    } else if (aph_str_is(f, "get")) {
        aph_send(m, q.from, resource);
    } else {
        aph_unknown_request(m, "expected get or put");
    }
}

static const aph_model conditional_put = {
    .version = APH_MODEL_VERSION,
    .name = "conditional-put",
    .summary = "PUT under If-Match, figure 4.5",
    .step = server,
    .rpc = true,
};

APH_MODEL(conditional_put)
