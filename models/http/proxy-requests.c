/* SPDX-License-Identifier: Apache-2.0
 *
 * proxy-requests.c - generation of requests through a proxy, and of the origin server's responses.
 *
 * Idea:       The target of a request determines the response: each letter stands for a feature. So a script gets the
 *             same responses each time, and shrinking can remove features. Most requests have a unique mark; the others
 *             can be matched only by their responses, which all differ. */
#include "proxy.h"

#include <stdio.h>

/* ---- the origin server ------------------------------------------------------------------------------------------- */

static const char letters[] = "cdehklnrtvwx";

/* Returns true if the path of the request has the letter. */
static bool wants(aph_value request, char letter)
{
    aph_value target = aph_field(request, "target");
    size_t n = 0;
    const char *path = aph_is_str(target) ? aph_bytes_of(&target, &n) : "";
    const char *query = memchr(path, '?', n);
    return memchr(path, letter, query ? (size_t)(query - path) : n) != NULL;
}

/* Each body differs, so a response that reaches another client, or comes from another origin, shows. */
static aph_value response_body(int64_t origin, aph_value request, uint64_t number)
{
    aph_value body = aph_strf(origin ? "answer %llu of origin %lld" : "answer %llu", (unsigned long long)number,
                              (long long)origin);
    if (aph_str_is(aph_field(request, "method"), "HEAD") || wants(request, 'n'))
        return aph_str("");
    for (int i = 0; i < 10 && wants(request, 'l'); i++)
        body = aph_concat(body, body);
    return body;
}

static aph_value response_fields(aph_value request, int status, uint64_t number)
{
    aph_value fields = aph_object(), n = aph_strf("%llu", (unsigned long long)number);
    if (wants(request, 'x'))
        fields = aph_put(fields, "x-answer", n);
    if (wants(request, 't') || wants(request, 'w'))
        fields = aph_put(fields, "etag", aph_concat(aph_str(wants(request, 'w') ? "W/\"" : "\""),
                                                    aph_concat(n, aph_str("\""))));
    if (wants(request, 'd'))
        fields = aph_put(fields, "last-modified", aph_int(1500000000 + (int64_t)(number % 1000)));
    if (status == 302)
        fields = aph_put(fields, "location", aph_str("http://elsewhere.example/%7e?a=b"));
    return status == 200 ? aph_put(fields, "content-type", aph_str("text/plain; charset=\"X-Y\"")) : fields;
}

aph_value aphi_proxy_respond(aph_value request, uint64_t number) { return aphi_proxy_respond_at(0, request, number); }

/* Returns the response; sometimes the connection is closed instead. */
aph_value aphi_proxy_respond_at(int64_t origin, aph_value request, uint64_t number)
{
    if (wants(request, 'z'))
        return aph_bool(false);
    int status = wants(request, 'n') ? 204 : wants(request, 'e') ? 404 : wants(request, 'r') ? 302 : 200;
    aph_value response = aph_record("status", aph_int(status), "fields", response_fields(request, status, number),
                                "body", response_body(origin, request, number));
    if (wants(request, 'k'))
        response = aph_put(response, "date", aph_int(1600000000 + (int64_t)(number % 1000)));
    if (wants(request, 'v'))
        response = aph_put(response, "via",
                           APH_ARRAY_OF(aph_record("protocol", aph_str("1.0"), "by", aph_str("upstream"))));
    if (wants(request, 'h'))
        response = aph_put(response, "hop", aph_record("x-hop", aph_str("answered")));
    if (wants(request, 'c') && aph_count(aph_field(response, "body")))
        response = aph_put(response, "chunked", aph_bool(true));
    return response;
}

/* ---- clients ----------------------------------------------------------------------------------------------------- */

static aph_value gen_target(aph_gen *g, bool options)
{
    static const char *const odd[] = {"/./a/../b", "//a//b", "/%41%7e%2f", "/?", "/a;b=c,!$&'()*+=:@~",
                                      "/a?b=%2f/../c?d"};
    char path[8] = "/";
    size_t n = 1;
    if (options && aph_gen_below(g, 2) == 0)
        return aph_str("");
    if (aph_gen_weighted(g, 40, 1) == 1)
        return aph_str("/z");
    if (aph_gen_weighted(g, 9, 1) == 1)
        return aph_str(odd[aph_gen_below(g, sizeof odd / sizeof *odd)]);
    for (size_t more = aph_gen_weighted(g, 3, 4, 2, 1); more > 0; more--)
        path[n++] = letters[aph_gen_below(g, sizeof letters - 1)];
    return aph_bytes(path, n);
}

static aph_value gen_fields(aph_gen *g)
{
    aph_value fields = aph_object();
    if (aph_gen_weighted(g, 5, 1) == 0)
        fields = aph_put(fields, "x-mark", aph_strf("%llu", (unsigned long long)aph_gen_number(g)));
    switch (aph_gen_weighted(g, 10, 1, 1, 1, 1, 1)) {
    case 1: return aph_put(fields, "accept", aph_str("text/*;q=0.3, */*"));
    case 2: return aph_put(fields, "cookie", aph_str("a=b; c=\"d\""));
    case 3: return aph_put(fields, "if-none-match", aph_str("W/\"x\", \"y\""));
    case 4: return aph_put(fields, "authorization", aph_str("Basic YTpi"));
    case 5: return aph_put(fields, "user-agent", aph_str("antiphon (x, y)"));
    default: return fields;
    }
}

/* Hop-by-hop fields. */
static aph_value gen_hop(aph_gen *g)
{
    switch (aph_gen_weighted(g, 1, 1, 1)) {
    case 0: return aph_record("te", aph_str("trailers"));
    case 1: return aph_record("x-hop", aph_str("asked"), "te", aph_str("trailers"));
    default: return aph_record("x-hop", aph_str("asked"));
    }
}

static aph_value with_body(aph_gen *g, aph_value request)
{
    aph_value body = aph_strf("body %llu", (unsigned long long)aph_gen_number(g));
    for (int i = 0; i < 10 && i < 11 * (int)aph_gen_weighted(g, 200, 1); i++)
        body = aph_concat(body, body);
    request = aph_put(request, "body", aph_gen_weighted(g, 9, 1) == 0 ? body : aph_str(""));
    return aph_gen_weighted(g, 4, 1) == 1 ? aph_put(request, "chunked", aph_bool(true)) : request;
}

/* Host should equal the target's host, but the target counts (RFC 9112 3.2.2). */
static aph_value gen_host(aph_gen *g, aph_value to)
{
    switch (aph_gen_weighted(g, 24, 2, 1)) {
    case 1: return aph_str("other.example");
    case 2: return aphi_http_origin_name(aph_gen_below(g, APHI_PROXY_ORIGINS));
    default: return to;
    }
}

aph_value aphi_proxy_generate(aph_gen *g)
{
    static const char *const methods[] = {"GET", "PUT", "POST", "HEAD", "DELETE", "OPTIONS"};
    size_t which = aph_gen_weighted(g, 20, 8, 8, 5, 4, 3);
    bool options = which == 5;
    aph_value to = aphi_http_origin_name(aph_gen_weighted(g, 2, 1, 1));
    aph_value request = aph_record("method", aph_str(methods[which]), "to", to, "target", gen_target(g, options),
                                   "fields", gen_fields(g), "host", gen_host(g, to));
    if (aph_gen_weighted(g, 6, 1) == 1)
        request = aph_put(request, "via", APH_ARRAY_OF(aph_record("protocol", aph_str("1.0"), "by", aph_str("fred"))));
    if (aph_gen_weighted(g, 5, 1) == 1)
        request = aph_put(request, "hop", gen_hop(g));
    if (options && aph_gen_below(g, 2) == 0)
        request = aph_put(request, "max-forwards", aph_int((int64_t)aph_gen_below(g, 3)));
    return which == 1 || which == 2 ? with_body(g, request) : request;
}
