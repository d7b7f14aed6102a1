/* SPDX-License-Identifier: Apache-2.0
 *
 * requests.c - generation of requests to an HTTP server.
 *
 * Idea:       There are few targets, so that requests interact. Conditions use tags and dates of earlier responses:
 *             unchanged, weakened, strengthened or changed, alone and in lists; usually from the same target, and
 *             usually ones that can still match. Some targets are rarely or never written: they may have content from
 *             before the test, whose tags differ from those of new content if the server uses times in seconds. Several
 *             conditions of one request use the same response, so that some hold and some do not. This reveals the
 *             order in which they are evaluated. */
#include "http-model.h"

enum {
    FEW = 10,    /* connections */
    SEARCHED = 256, /* latest messages searched for a validator */
    WRITTEN_MAX = 8,  /* maximum number of targets tracked as written later */
    LONG = 4 << 10, VERY_LONG = 40 << 10, /* bytes of a body, at most */
};

/* ---- functions for holes ----------------------------------------------------------------------------------------- */

static aph_value weakened(aph_value tag)
{
    return aph_has(tag, aph_str("weak")) ? aph_put(tag, "weak", aph_bool(true)) : tag;
}

static aph_value strengthened(aph_value tag)
{
    return aph_has(tag, aph_str("weak")) ? aph_put(tag, "weak", aph_bool(false)) : tag;
}

/* Changes the last byte of a tag: the smallest difference. */
static aph_value changed(aph_value tag)
{
    aph_value opaque = aph_field(tag, "opaque");
    size_t n = aph_is_str(opaque) ? aph_count(opaque) : 0;
    if (!n)
        return tag;
    const char *bytes = aph_bytes_of(&opaque, &n);
    char last = bytes[n - 1] == 'x' ? 'y' : 'x';
    return aph_put(tag, "opaque", aph_concat(aph_substr(opaque, 0, n - 1), aph_bytes(&last, 1)));
}

static aph_value earlier(aph_value time)
{
    return aph_is_int(time) && aph_int_of(time) > 0 ? aph_int(aph_int_of(time) - 1) : time;
}

static aph_value later(aph_value time)
{
    return aph_is_int(time) && aph_int_of(time) < APH_HTTP_TIME_MAX ? aph_int(aph_int_of(time) + 1) : time;
}

const aph_function aphi_http_functions[] = {
    {"weakened", weakened}, {"strengthened", strengthened}, {"changed", changed}, {"earlier", earlier},
    {"later", later},       {0},
};

/* ---- parts of requests ------------------------------------------------------------------------------------------- */

static bool is_old(aph_value target) { return aph_str_is(target, "/old") || aph_str_is(target, "/older"); }

/* A write is the only open request of its target, so more connections need more targets. */
static aph_value gen_target(aph_gen *g, bool writes)
{
    aph_value wished = aph_field(aph_gen_wish(g), "target");
    bool follows = wished && !(writes && aph_str_is(wished, "/older"));
    uint64_t connections = aph_gen_connections(g), many = connections > FEW ? 4 * connections : 0;
    switch (writes ? aph_gen_weighted(g, 192, 8, 1) : aph_gen_weighted(g, 18, 1, 6)) {
    case 1: return aph_strf("/nobody-wrote-%llu", (unsigned long long)aph_gen_below(g, 4));
    case 2: return aph_str(writes || aph_gen_below(g, 2) ? "/old" : "/older");
    default: break;
    }
    if (follows && aph_gen_weighted(g, 3, 1) == 0)
        return wished;
    uint64_t which = aph_gen_below(g, 3 + many);
    return which < 3 ? aph_strf("/%c", (int)('a' + which)) : aph_strf("/many-%llu", (unsigned long long)which);
}

/* Cycles through all byte values, in an order that differs from body to body. */
static aph_value gen_bytes(aph_gen *g, size_t most)
{
    unsigned char bytes[VERY_LONG];
    size_t n = 1 + aph_gen_below(g, most), step = 1 + 2 * aph_gen_below(g, 128);
    for (size_t i = 0; i < n; i++)
        bytes[i] = (unsigned char)(aph_gen_number(g) + i * step + i / 256);
    return aph_bytes(bytes, n);
}

/* Returns a body: usually a unique one, to identify the write; sometimes a repeated one, rarely a long one. */
static aph_value gen_body(aph_gen *g)
{
    switch (aph_gen_weighted(g, 800, 200, 100, 40, 20, 1)) {
    case 0: return aph_strf("body %llu", (unsigned long long)aph_gen_number(g));
    case 1: return aph_str("again");
    case 2: return aph_str("");
    case 3: return gen_bytes(g, 16);
    case 4: return gen_bytes(g, LONG);
    default: return gen_bytes(g, VERY_LONG);
    }
}

static aph_value with_body(aph_gen *g, aph_value request)
{
    request = aph_put(request, "body", gen_body(g));
    switch (aph_gen_weighted(g, 30, 2, 1)) {
    case 1: return aph_put(request, "chunked", aph_bool(true));
    case 2: return aph_put(request, "expect", aph_bool(true));
    default: return request;
    }
}

/* ---- validators of earlier responses ----------------------------------------------------------------------------- */

typedef struct shown {
    int64_t label;
    aph_value target;           /* of the request; APH_NIL: forgotten */
    aph_value written[WRITTEN_MAX];  /* targets written by later requests */
    size_t written_count;
} shown;

static bool is_written(const shown *s, aph_value target)
{
    for (size_t i = 0; i < s->written_count; i++)
        if (s->written[i] == target)
            return true;
    return false;
}

static void track_write(shown *s, aph_value request)
{
    aph_value target = aph_field(request, "target"), method = aph_field(request, "method");
    bool reads = aph_str_is(method, "GET") || aph_str_is(method, "HEAD");
    if (!reads && s->written_count < WRITTEN_MAX && !is_written(s, target))
        s->written[s->written_count++] = target;
}

/* Returns the target of the request with the label; searches backwards from the i-th latest message. */
static aph_value target_of(aph_gen *g, size_t i, int64_t request)
{
    int64_t label;
    aph_value message;
    for (; aph_gen_seen(g, i, &label, &message); i++)
        if (label == request)
            return aph_field(message, "target");
    return APH_NIL;
}

/* Chooses a response that has the field, preferring late ones. With `matching`, chooses only a response without a later
 * write to its target and, for a strong comparison, with a strong tag. */
static bool gen_answer(aph_gen *g, const char *field, bool strong, bool matching, shown *s)
{
    int64_t label;
    aph_value message, value;
    for (size_t i = 0; i < SEARCHED && aph_gen_seen(g, i, &label, &message); i++) {
        if (label % 2)
            track_write(s, message);
        if (label % 2 || !(value = aph_field(message, field)) ||
            (matching && strong && aph_truth(aph_field(value, "weak"))))
            continue;
        aph_value target = target_of(g, i, label - 1);
        if (matching && is_written(s, target))
            continue;
        s->label = label;
        s->target = target;
        if (aph_gen_below(g, 2) == 0)
            break;
    }
    return s->label != 0;
}

/* Returns a hole for the field of a response; usually sets *target to the target of its request. */
static aph_value gen_shown(aph_gen *g, const char *field, bool strong, const char *function, aph_value *target)
{
    shown s = {0};
    bool matching = aph_gen_weighted(g, 3, 1) == 0 && gen_answer(g, field, strong, true, &s);
    if (!matching && !gen_answer(g, field, strong, false, &s))
        return APH_NIL;
    if (s.target && aph_gen_weighted(g, 8, 1) == 0)
        *target = s.target;
    return aph_hole(s.label, APH_ARRAY_OF(aph_str(field)), function);
}

/* ---- conditions -------------------------------------------------------------------------------------------------- */

static aph_value gen_tag(aph_gen *g, bool strong, aph_value *target)
{
    static const char *const names[] = {"id", "weakened", "strengthened", "changed"};
    size_t name = strong ? aph_gen_weighted(g, 4, 4, 2, 1) : aph_gen_weighted(g, 6, 4, 2, 1);
    aph_value hole = gen_shown(g, "tag", strong, names[name], target);
    return hole ? hole : aph_record("opaque", aph_str("guess"), "weak", aph_bool(aph_gen_below(g, 2)));
}

/* Returns a list of tags, some of which match. */
static aph_value gen_tags(aph_gen *g, bool strong, aph_value *target)
{
    aph_value tags[3];
    size_t n = 1 + aph_gen_weighted(g, 6, 3, 1);
    if (aph_gen_weighted(g, 9, 1) == 1)
        return aph_str("*");
    for (size_t i = 0; i < n; i++) {
        aph_value other = n > 1 && aph_gen_below(g, 3) == 0 ? gen_shown(g, "tag", false, "changed", target) : APH_NIL;
        tags[i] = other ? other : gen_tag(g, strong, target);
    }
    return aph_array(n, tags);
}

static aph_value gen_time(aph_gen *g, aph_value *target)
{
    static const char *const names[] = {"id", "earlier", "later"};
    aph_value hole = gen_shown(g, "modified", false, names[aph_gen_weighted(g, 3, 2, 1)], target);
    return hole ? hole : aph_int(1000000000);
}

static aph_value with_range(aph_gen *g, aph_value request, aph_value *target)
{
    int64_t first = (int64_t)aph_gen_below(g, aph_gen_weighted(g, 15, 1) == 0 ? 8 : LONG);
    int64_t last = first + (int64_t)aph_gen_below(g, 8);
    request = aph_put(request, "range", APH_ARRAY_OF(aph_int(first), aph_int(last)));
    switch (aph_gen_weighted(g, 2, 2, 1)) {
    case 1: return aph_put(request, "if-range", gen_tag(g, true, target));
    case 2: return aph_put(request, "if-range", gen_time(g, target));
    default: return request;
    }
}

/* Returns one condition made from the response with the label. */
static aph_value gen_condition_of(aph_gen *g, int64_t label, char letter)
{
    static const char *const tags[] = {"id", "changed", "weakened"}, *const times[] = {"id", "earlier", "later"};
    bool tag = letter == 'm' || letter == 'n';
    if (tag && aph_gen_weighted(g, 9, 1) == 1)
        return aph_str("*");
    aph_value hole = tag ? aph_hole(label, APH_ARRAY_OF(aph_str("tag")), tags[aph_gen_weighted(g, 4, 2, 1)])
                         : aph_hole(label, APH_ARRAY_OF(aph_str("modified")), times[aph_gen_weighted(g, 1, 1, 1)]);
    return tag ? APH_ARRAY_OF(hole) : hole;
}

/* Several conditions built from one response: If-(m)atch, If-(n)one-match, If-(u)nmodified-since,
 * If-modified-(s)ince, and a (r)ange. */
static aph_value with_several(aph_gen *g, aph_value request, bool reads, aph_value *target)
{
    static const char *const together[] = {"mu", "mn", "un", "ns", "mnus", "ms", "us", "nr", "mr", "nur"};
    static const char *const names[] = {"mif-match", "nif-none-match", "uif-unmodified-since", "sif-modified-since"};
    shown s = {0};
    const char *letters = together[aph_gen_below(g, reads ? 10 : 6)];
    if (!gen_answer(g, "tag", true, true, &s) && !gen_answer(g, "tag", false, false, &s))
        return request;
    *target = s.target ? s.target : *target;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strchr(letters, *names[i]))
            request = aph_put(request, names[i] + 1, gen_condition_of(g, s.label, *names[i]));
    return strchr(letters, 'r') ? with_range(g, request, target) : request;
}

static aph_value with_condition(aph_gen *g, const char *method, aph_value request, aph_value *target)
{
    bool get = !strcmp(method, "GET"), head = !strcmp(method, "HEAD");
    switch (get    ? aph_gen_weighted(g, 14, 12, 10, 2, 4, 4, 3)
            : head ? aph_gen_weighted(g, 36, 8, 10, 2, 4, 1, 3)
                   : aph_gen_weighted(g, 12, 8, 12, 4, 0, 0, 2)) {
    case 1: return aph_put(request, "if-match", gen_tags(g, true, target));
    case 2: return aph_put(request, "if-none-match", gen_tags(g, false, target));
    case 3: return aph_put(request, "if-unmodified-since", gen_time(g, target));
    case 4: return aph_put(request, "if-modified-since", gen_time(g, target));
    case 5: return with_range(g, request, target);
    case 6: return with_several(g, request, get || head, target);
    default: return request;
    }
}

aph_value aphi_http_generate(aph_gen *g)
{
    static const char *const methods[] = {"GET", "PUT", "DELETE", "HEAD", "POST"};
    size_t which = aph_gen_weighted(g, 20, 20, 4, 3, 1);
    bool writes = which != 0 && which != 3;
    aph_value target = gen_target(g, writes), request = aph_record("method", aph_str(methods[which]));
    aph_value drawn = target;
    if (which != 4 || aph_gen_weighted(g, 3, 1) == 1)
        request = with_condition(g, methods[which], request, &target);
    if (writes && is_old(target) && (aph_str_is(target, "/older") || aph_gen_weighted(g, 63, 1) == 0))
        target = drawn; /* content is old only until the first write */
    request = aph_put(request, "target", target);
    return which == 1 || which == 4 ? with_body(g, request) : request;
}
