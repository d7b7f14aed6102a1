/* SPDX-License-Identifier: Apache-2.0
 *
 * http.c - an HTTP/1.1 server of resources that are read, written and deleted: RFC 9110 with conditional requests.
 *
 *     {"method": "GET", "target": "/a"}                 {"status": 200, "tag": TAG, "modified": TIME, "body": "..."}
 *     {"method": "PUT", "target": "/a", "body": "..."}  {"status": 201, "body": ""}
 *
 * A request may have conditions: "if-match" and "if-none-match", an array of TAGs or "*"; "if-modified-since" and
 * "if-unmodified-since", a TIME; "if-range", a TAG or a TIME, with "range", [FIRST, LAST]. TAG is {"opaque": STRING,
 * "weak": BOOL}, or in a request a STRING, which is short for a strong one; TIME is in seconds. What is on the wire
 * besides is wire.c's affair.
 *
 * Idea:       All that the server may choose is a choice: which validators it has, whether it shows them, which of the
 *             statuses that fit. What a resource's validators are is decided as late as can be, when they are first
 *             shown or compared: so a wrong guess is found out at once. What was there before the test is not known
 *             until it shows either.
 * State:      by target, {"body": ..., "tag": TAG or false, "modified": TIME or false}, or false if there is nothing;
 *             and "before", an opaque tag that it cannot have.
 *             A field that is missing is not decided yet, a target that is missing not known. */
#include "http.h"

static aph_value none(void) { return aph_bool(false); }

static bool is_method(aph_value request, const char *name)
{
    return aph_str_is(aph_field(request, "method"), name);
}

static bool only_reads(aph_value request)
{
    return is_method(request, "GET") || is_method(request, "HEAD");
}

/* ---- what is there ----------------------------------------------------------------------------------------------- */

/* The resource, or APH_NIL if there is nothing. */
static aph_value look(aph *m, aph_value state, aph_value target)
{
    aph_value known = aph_get(state, target);
    if (known)
        return known == none() ? APH_NIL : known;
    if (aph_either(m, "nothing was there before", "something was there before") == 0)
        return APH_NIL;
    return aph_record("body", aph_choose(m, APH_STR, "what was there before"));
}

static aph_value kept(aph_value state, aph_value target, aph_value resource)
{
    return aph_set(state, target, resource ? resource : none());
}

/* A tag that a server really has can be written down; one that is not known yet is left to be found out. */
static aph_value choose_opaque(aph *m)
{
    aph_value opaque = aph_choose(m, APH_STR, "opaque tag");
    if (aph_is_str(opaque) && !aphi_http_is_opaque(opaque))
        aph_never(m);
    return opaque;
}

/* A strong tag is of one content only. Where the length is the same, servers that make tags of the length and of a time
 * in seconds are let off: within a second it shows nothing but how fast we are. */
static bool reuses(aph *m, aph_value tag, aph_value before)
{
    aph_clause(m, "RFC 9110 8.8.1");
    return aph_decide(m, aph_eq(aph_field(tag, "opaque"), before), "the strong tag of another content");
}

/* The current tag, or APH_NIL if it has none. A weak tag may become strong: a server that tells versions apart by
 * seconds cannot say at first whether it will. */
static aph_value tag_of(aph *m, aph_value *resource)
{
    aph_value tag = aph_field(*resource, "tag");
    if (!tag) {
        aph_clause(m, "RFC 9110 8.8.3");
        int made = aph_either(m, "strong tag", "weak tag", "no tag");
        tag = made == 2 ? none() : aph_record("opaque", choose_opaque(m), "weak", aph_bool(made == 1));
        aph_value before = aph_field(*resource, "before");
        if (made == 0 && before && reuses(m, tag, before))
            aph_never(m);
    } else if (tag != none() && aph_truth(aph_field(tag, "weak"))) {
        aph_clause(m, "RFC 9110 8.8.1");
        if (aph_either(m, "the weak tag stays", "the weak tag turns strong") == 1)
            tag = aph_put(tag, "weak", aph_bool(false));
    }
    *resource = aph_put(*resource, "tag", tag);
    return tag == none() ? APH_NIL : tag;
}

/* When it was modified, or APH_NIL if the server does not know. */
static aph_value modified_of(aph *m, aph_value *resource)
{
    aph_value modified = aph_field(*resource, "modified");
    if (!modified) {
        aph_clause(m, "RFC 9110 8.8.2");
        modified = aph_either(m, "modification date", "no modification date") == 1
                       ? none() : aph_choose_within(m, 0, APH_HTTP_TIME_MAX, "modified");
        *resource = aph_put(*resource, "modified", modified);
    }
    return modified == none() ? APH_NIL : modified;
}

/* ---- conditions -------------------------------------------------------------------------------------------------- */

typedef enum comparison { STRONG, WEAK } comparison;

static bool is_weak(aph_value tag) { return !aph_is_str(tag) && aph_truth(aph_field(tag, "weak")); }

static bool same_tag(aph *m, aph_value asked, aph_value tag, comparison how, const char *name)
{
    if (how == STRONG && (is_weak(asked) || is_weak(tag)))
        return false;
    aph_value opaque = aph_is_str(asked) ? asked : aph_field(asked, "opaque");
    aph_clause(m, how == STRONG ? "RFC 9110 13.1.1" : "RFC 9110 13.1.2");
    return aph_decide(m, aph_eq(opaque, aph_field(tag, "opaque")), name);
}

/* Where tags are compared strongly, a weak one is none that matches; but others may follow. */
static bool ends_list(aph *m, aph_value asked, size_t i)
{
    return i + 1 < aph_count(asked) && is_weak(aph_at(asked, i)) && aph_waive(m, "weak-tag-ends-list");
}

/* Is the current tag one of those? "*" is any. */
static bool matches(aph *m, aph_value asked, aph_value *resource, comparison how, const char *name)
{
    if (!*resource)
        return false;
    if (aph_is_str(asked))
        return true;
    aph_value tag = tag_of(m, resource);
    for (size_t i = 0; tag && i < aph_count(asked); i++) {
        if (same_tag(m, aph_at(asked, i), tag, how, name))
            return true;
        if (how == STRONG && ends_list(m, asked, i))
            return false;
    }
    return false;
}

static bool modified_since(aph *m, aph_value since, aph_value *resource, const char *name)
{
    aph_value modified = modified_of(m, resource);
    return modified && aph_decide(m, aph_lt(since, modified), name);
}

/* Where nothing is, there is no date to be compared: that the condition is ignored then, or fails, can both be read
 * from the RFC. */
static bool unmodified_since(aph *m, aph_value since, aph_value *resource)
{
    aph_clause(m, "RFC 9110 13.1.4");
    if (!*resource)
        return aph_either(m, "If-Unmodified-Since holds of nothing", "If-Unmodified-Since fails of nothing") == 0;
    return !modified_since(m, since, resource, "If-Unmodified-Since: it was modified");
}

/* False: the method must not be performed, and the answer is 412. */
static bool may_be_done(aph *m, aph_value request, aph_value *resource)
{
    aph_value if_match = aph_field(request, "if-match"), since = aph_field(request, "if-unmodified-since");
    if (if_match && only_reads(request) && aph_waive(m, "if-match-read-ignored"))
        return true;
    if (if_match)
        return matches(m, if_match, resource, STRONG, "If-Match: the tag matches");
    if (since && only_reads(request) && aph_waive(m, "if-unmodified-since-read-ignored"))
        return true;
    if (since && !only_reads(request) && aph_waive(m, "if-unmodified-since-now"))
        return false;
    return !since || unmodified_since(m, since, resource);
}

/* Does the client have it already? */
static bool is_known(aph *m, aph_value request, aph_value *resource)
{
    aph_value if_none_match = aph_field(request, "if-none-match"), since = aph_field(request, "if-modified-since");
    comparison how = WEAK;
    if (if_none_match) {
        if (!only_reads(request) && aph_waive(m, "if-none-match-strong"))
            how = STRONG;
        return matches(m, if_none_match, resource, how, "If-None-Match: the tag matches");
    }
    if (!since || !only_reads(request) || !modified_of(m, resource))
        return false;
    aph_clause(m, "RFC 9110 13.1.3");
    if (modified_since(m, since, resource, "If-Modified-Since: it was modified"))
        return false;
    aph_clause(m, "RFC 9110 13.1.3");
    return aph_either(m, "If-Modified-Since is regarded", "If-Modified-Since is disregarded") == 0;
}

/* In the order of RFC 9110 13.2.2; 0 if they hold. */
static int failed_condition(aph *m, aph_value request, aph_value *resource)
{
    if (!only_reads(request) && aph_waive(m, "conditional-writes-ignored"))
        return 0;
    if (!may_be_done(m, request, resource)) {
        aph_clause(m, aph_field(request, "if-match") ? "RFC 9110 13.1.1" : "RFC 9110 13.1.4");
        return 412;
    }
    if (is_known(m, request, resource)) {
        aph_clause(m, aph_field(request, "if-none-match") ? "RFC 9110 13.1.2" : "RFC 9110 13.1.3");
        return only_reads(request) ? 304 : 412;
    }
    return 0;
}

/* ---- answers ----------------------------------------------------------------------------------------------------- */

static aph_value answer(int status, aph_value body)
{
    return aph_record("status", aph_int(status), "body", body);
}

static aph_value any_body(aph *m) { return aph_choose(m, APH_STR, "any body"); }

/* What a request that failed is told is for people. */
static aph_value answer_failed(aph *m, aph_value request, int status)
{
    return answer(status, is_method(request, "HEAD") || status == 304 ? aph_str("") : any_body(m));
}

static aph_value with_tag(aph *m, aph_value said, aph_value *resource)
{
    aph_value tag = tag_of(m, resource);
    return tag ? aph_put(said, "tag", tag) : said;
}

static aph_value with_date(aph *m, aph_value said, aph_value *resource)
{
    aph_value modified = modified_of(m, resource);
    return modified ? aph_put(said, "modified", modified) : said;
}

static aph_value with_validators(aph *m, aph_value said, aph_value *resource)
{
    return with_date(m, with_tag(m, said, resource), resource);
}

/* Where a server may show them, and need not. That there are none to be shown is as good as not to show them. */
static aph_value perhaps_with_date(aph *m, aph_value said, aph_value *resource)
{
    if (aph_field(*resource, "modified") == none() ||
        aph_either(m, "no date is shown there", "the date is shown there") == 0)
        return said;
    aph_value modified = modified_of(m, resource);
    if (!modified)
        aph_never(m);
    return aph_put(said, "modified", modified);
}

static aph_value perhaps_with_validators(aph *m, aph_value said, aph_value *resource)
{
    if (aph_field(*resource, "tag") != none() && aph_either(m, "no tag is shown there", "the tag is shown there")) {
        aph_value tag = tag_of(m, resource);
        if (!tag)
            aph_never(m);
        said = aph_put(said, "tag", tag);
    }
    return perhaps_with_date(m, said, resource);
}

/* A range that is asked for may be given, if the client has the rest of this very version. */
static bool gives_range(aph *m, aph_value request, aph_value *resource)
{
    aph_value if_range = aph_field(request, "if-range");
    if (!aph_field(request, "range"))
        return false;
    aph_clause(m, "RFC 9110 14.2");
    if (!is_method(request, "GET") && !aph_waive(m, "head-range"))
        return false;
    aph_clause(m, "RFC 9110 13.1.5");
    if (if_range && aph_is_int(if_range)) {
        aph_value modified = modified_of(m, resource);
        if (!modified || !aph_decide(m, aph_eq(modified, if_range), "If-Range: the date matches"))
            return false;
    } else if (if_range) {
        aph_value tag = tag_of(m, resource);
        if (!tag || !same_tag(m, if_range, tag, STRONG, "If-Range: the tag matches"))
            return false;
    }
    aph_clause(m, "RFC 9110 14.2");
    return aph_either(m, "the range is given", "the range is ignored") == 0;
}

/* Of something that is not known, any part. */
static aph_value answer_some_range(aph *m, aph_value *resource)
{
    if (aph_either(m, "a part", "no part") == 0) {
        aph_value said = answer(206, any_body(m));
        return perhaps_with_date(m, with_tag(m, aph_put(said, "range", aph_choose(m, APH_STR, "any range")), resource),
                                 resource);
    }
    aph_value failed = answer(416, any_body(m));
    return aph_either(m, "416 tells the length", "416 does not") == 1
               ? failed : aph_put(failed, "range", aph_choose(m, APH_STR, "any range"));
}

static aph_value answer_range(aph *m, aph_value request, aph_value *resource)
{
    if (!aph_is_str(aph_field(*resource, "body")))
        return answer_some_range(m, resource);
    aph_value range = aph_field(request, "range"), body = aph_field(*resource, "body");
    int64_t first = aph_int_of(aph_at(range, 0)), last = aph_int_of(aph_at(range, 1)), n = (int64_t)aph_count(body);
    if (first >= n) {
        aph_clause(m, "RFC 9110 15.5.17");
        aph_value failed = answer(416, any_body(m));
        return aph_either(m, "416 tells the length", "416 does not") == 1
                   ? failed : aph_put(failed, "range", aph_strf("bytes */%lld", (long long)n));
    }
    last = last < n ? last : n - 1;
    size_t length = is_method(request, "HEAD") ? 0 : (size_t)(last - first + 1);
    aph_value said = answer(206, aph_substr(body, (size_t)first, length));
    said = aph_put(said, "range", aph_strf("bytes %lld-%lld/%lld", (long long)first, (long long)last, (long long)n));
    said = with_tag(m, said, resource);
    aph_clause(m, "RFC 9110 15.3.7");
    return aph_field(request, "if-range") ? perhaps_with_date(m, said, resource) : with_date(m, said, resource);
}

/* ---- methods ----------------------------------------------------------------------------------------------------- */

static aph_value read(aph *m, aph_value request, aph_value *resource)
{
    if (!*resource) {
        aph_clause(m, "RFC 9110 15.5.5");
        return answer_failed(m, request, 404);
    }
    int failed = failed_condition(m, request, resource);
    if (failed == 304) {
        aph_clause(m, "RFC 9110 15.4.5");
        return perhaps_with_date(m, with_tag(m, answer(304, aph_str("")), resource), resource);
    }
    if (failed)
        return perhaps_with_validators(m, answer_failed(m, request, failed), resource);
    if (gives_range(m, request, resource))
        return answer_range(m, request, resource);
    aph_value body = is_method(request, "HEAD") ? aph_str("") : aph_field(*resource, "body");
    return with_validators(m, answer(200, body), resource);
}

/* What is there after a write; "before" is the strong tag that content of another length had. One that was never shown
 * can have been any other, and is as good as none. */
static aph_value replaced(aph_value was, aph_value body)
{
    aph_value now = aph_record("body", body), tag = aph_field(was, "tag"), old = aph_field(was, "body");
    bool strong = tag && tag != none() && !aph_truth(aph_field(tag, "weak")) && aph_is_str(aph_field(tag, "opaque"));
    if (strong && aph_is_str(old) && aph_count(old) != aph_count(body))
        now = aph_put(now, "before", aph_field(tag, "opaque"));
    return now;
}

static aph_value write(aph *m, aph_value request, aph_value *resource)
{
    int failed = failed_condition(m, request, resource);
    if (failed)
        return answer_failed(m, request, failed);
    aph_value was = *resource;
    *resource = replaced(was, aph_field(request, "body"));
    aph_clause(m, "RFC 9110 9.3.4");
    aph_value said = !was ? answer(201, any_body(m))
                     : aph_either(m, "204 for what was replaced", "200 for what was replaced") == 0
                         ? answer(204, aph_str("")) : answer(200, any_body(m));
    return perhaps_with_validators(m, said, resource);
}

static aph_value delete(aph *m, aph_value request, aph_value *resource)
{
    if (!*resource) {
        aph_clause(m, "RFC 9110 13.2.1");
        return answer_failed(m, request, 404);
    }
    int failed = failed_condition(m, request, resource);
    if (failed)
        return answer_failed(m, request, failed);
    *resource = APH_NIL;
    aph_clause(m, "RFC 9110 9.3.5");
    return aph_either(m, "204 for what was deleted", "200 for what was deleted") == 0 ? answer(204, aph_str(""))
                                                                                    : answer(200, any_body(m));
}

/* What POST does is the server's own affair: nothing, or anything to this resource. */
static aph_value post(aph *m, bool *forgotten)
{
    aph_clause(m, "RFC 9110 9.3.3");
    if (aph_either(m, "POST is refused", "POST is done") == 0)
        return aph_record("status", aph_choose_within(m, 400, 499, "refusal"), "body", any_body(m));
    *forgotten = true;
    aph_value said = aph_record("status", aph_choose_within(m, 200, 299, "success"), "body", any_body(m));
    aph_value shown = aph_object();
    return perhaps_with_validators(m, said, &shown);
}

static const char *kind(aph_value request)
{
    static const char *const names[] = {"GET", "HEAD", "PUT", "POST", "DELETE"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (is_method(request, names[i]))
            return names[i];
    return "other";
}

/* One segment, of letters, digits and "-._~": what else a server makes of a path (a collection, a program) is not
 * described here. */
static bool is_resource(aph_value target)
{
    size_t n;
    const char *at = aph_is_str(target) ? aph_bytes_of(&target, &n) : "";
    if (*at != '/' || n < 2 || at[1] == '.')
        return false;
    for (size_t i = 1; i < n; i++)
        if (!strchr("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~", at[i]) || !at[i])
            return false;
    return true;
}

static aph_value serve(aph *m, aph_value request, aph_value *state)
{
    aph_value target = aph_field(request, "target"), said;
    bool forgotten = false;
    if (!is_resource(target))
        aph_unknown_request(m, "a request needs a \"target\" such as \"/a\", one segment of plain characters");
    bool writes = is_method(request, "PUT") || is_method(request, "POST");
    if (!strcmp(kind(request), "other"))
        aph_unknown_request(m, "this model knows the methods GET, HEAD, PUT, POST and DELETE");
    if (writes && !aph_is_str(aph_field(request, "body")))
        aph_unknown_request(m, "PUT and POST need a \"body\", a string");
    aph_value resource = look(m, *state, target);
    if (only_reads(request))
        said = read(m, request, &resource);
    else if (is_method(request, "PUT"))
        said = write(m, request, &resource);
    else if (is_method(request, "DELETE"))
        said = delete(m, request, &resource);
    else
        said = post(m, &forgotten);
    *state = forgotten ? aph_remove(*state, target) : kept(*state, target, resource);
    return said;
}

static void step(aph *m, aph_value *state)
{
    aph_request q = aph_recv(m);
    aph_send(m, q.from, serve(m, q.message, state));
}

static aph_value part(aph_value request) { return aph_field(request, "target"); }

/* Nothing in the RFC says that a write is done in one moment. */
static bool alone(aph_value request) { return !only_reads(request); }

/* ---- mutants ----------------------------------------------------------------------------------------------------- */

static void serve_as(aph *m, aph_value *state, aph_request q, aph_value request)
{
    aph_send(m, q.from, serve(m, request, state));
}

static aph_value without(aph_value request, const char *name) { return aph_remove(request, aph_str(name)); }

static void step_ignores_if_match(aph *m, aph_value *state)
{
    aph_request q = aph_recv(m);
    serve_as(m, state, q, without(q.message, "if-match"));
}

static void step_ignores_if_none_match(aph *m, aph_value *state)
{
    aph_request q = aph_recv(m);
    serve_as(m, state, q, without(q.message, "if-none-match"));
}

static void step_loses_writes(aph *m, aph_value *state)
{
    aph_request q = aph_recv(m);
    aph_value before = *state;
    serve_as(m, state, q, q.message);
    if (is_method(q.message, "PUT"))
        *state = before;
}

static void step_keeps_deleted(aph *m, aph_value *state)
{
    aph_request q = aph_recv(m);
    aph_value before = *state;
    serve_as(m, state, q, q.message);
    if (is_method(q.message, "DELETE"))
        *state = before;
}

static void step_adds_a_byte(aph *m, aph_value *state)
{
    aph_request q = aph_recv(m);
    aph_value said = serve(m, q.message, state), body = aph_field(said, "body");
    if (is_method(q.message, "GET") && aph_field(said, "status") == aph_int(200))
        said = aph_put(said, "body", aph_concat(body, aph_str("!")));
    aph_send(m, q.from, said);
}

#define MUTANT(name_, step_, summary_) \
    &(const aph_model){.version = APH_MODEL_VERSION, .rpc = true, .name = (name_), .step = (step_), \
                       .summary = (summary_), .codec = &aphi_http_wire}

static const aph_model *const mutants[] = {
    MUTANT("ignores-if-match", step_ignores_if_match, "If-Match is not looked at"),
    MUTANT("ignores-if-none-match", step_ignores_if_none_match, "If-None-Match is not looked at"),
    MUTANT("loses-writes", step_loses_writes, "PUT stores nothing"),
    MUTANT("keeps-deleted", step_keeps_deleted, "DELETE deletes nothing"),
    MUTANT("adds-a-byte", step_adds_a_byte, "GET answers a byte too many"),
    NULL,
};

/* ---- the model --------------------------------------------------------------------------------------------------- */

static const aph_waiver waivers[] = {
    APH_WAIVER("if-none-match-strong", "PUT and DELETE compare the tags of If-None-Match strongly (RFC 9110 13.1.2)"),
    APH_WAIVER("weak-tag-ends-list", "lists compared strongly are read up to their first weak tag (RFC 9110 13.1.1)"),
    APH_WAIVER("conditional-writes-ignored", "PUT and DELETE are done whatever their conditions say (RFC 9110 13.2.1)"),
    APH_WAIVER("head-range", "HEAD with Range is answered 206, as if it were GET (RFC 9110 14.2)"),
    APH_WAIVER("if-unmodified-since-now", "PUT and DELETE take the date of their resource for now (RFC 9110 13.1.4)"),
    APH_WAIVER("if-match-read-ignored", "GET and HEAD are done whatever If-Match says (RFC 9110 13.1.1)"),
    APH_WAIVER("if-unmodified-since-read-ignored",
               "GET and HEAD are done whatever If-Unmodified-Since says (RFC 9110 13.1.4)"),
    {0},
};

const aph_model aph_model_http = {
    .version = APH_MODEL_VERSION,
    .name = "http",
    .summary = "an HTTP/1.1 server of resources, with conditional requests (RFC 9110)",
    .step = step,
    .rpc = true,
    .part = part,
    .alone = alone,
    .kind = kind,
    .words = aphi_http_words,
    .codec = &aphi_http_wire,
    .generate = aphi_http_generate,
    .functions = aphi_http_functions,
    .waivers = waivers,
    .mutants = mutants,
    .closes = APH_CLOSES_SETTLED,
};
