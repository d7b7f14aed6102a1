/* SPDX-License-Identifier: Apache-2.0
 *
 * resource.c - a resource of an HTTP server: its content and validators.
 *
 * Idea:       Validators are chosen as late as possible, when they are first sent or compared, so that a wrong guess is
 *             refuted immediately. Content from before the test is unknown until a response contains it.
 * State:      by target, a resource; or false or {"past": ...} if there is none; or {"unknown": true, "past": ...}. A
 *             target that is absent from the state is unknown. */
#include "resource.h"

#include "http-model.h"

enum { PAST = 3 }; /* number of replaced contents whose strong tags are remembered */

bool aphi_http_only_reads(aph_value request)
{
    return aphi_http_is_method(request, "GET") || aphi_http_is_method(request, "HEAD");
}

/* ---- the resource at a target ------------------------------------------------------------------------------------ */

/* A deletion with the response 202 may happen at any later time. */
static bool is_deleted_by_now(aph *m, const aphi_http_resource *r)
{
    if (!r->leaving)
        return false;
    aph_clause(m, "RFC 9110 9.3.5");
    return aph_either(m, "the accepted deletion is pending", "the accepted deletion is done") == 1;
}

static aphi_http_resource resource_of(aph_value known)
{
    if (!known || known == aphi_http_none())
        return (aphi_http_resource){0};
    return (aphi_http_resource){aph_field(known, "body"), aph_field(known, "tag"), aph_field(known, "modified"),
                                aph_field(known, "past"), aph_field(known, "leaving"), aph_field(known, "unseen")};
}

static aphi_http_resource guess_resource(aph *m, aph_value past)
{
    if (aph_either(m, "the target was empty before", "the target had content before") == 0)
        return (aphi_http_resource){.past = past};
    return (aphi_http_resource){.body = aph_choose(m, APH_STR, "content before the test"), .past = past,
                                .unseen = aph_bool(true)};
}

aphi_http_resource aphi_http_look(aph *m, aph_value state, aph_value target)
{
    aph_value known = aph_get(state, target);
    aphi_http_resource r = resource_of(known);
    if (!known || (!r.body && r.past && aph_field(known, "unknown")))
        return guess_resource(m, r.past);
    return is_deleted_by_now(m, &r) ? (aphi_http_resource){.past = r.past} : r;
}

aph_value aphi_http_keep(aph_value state, aph_value target, const aphi_http_resource *r)
{
    const void *const all[] = {"body", r->body, "leaving", r->leaving, "modified", r->modified,
                               "past", r->past, "tag",     r->tag,     "unseen",   r->unseen};
    const void *pairs[sizeof all / sizeof *all];
    size_t n = 0;
    for (size_t i = 0; i < sizeof all / sizeof *all; i += 2)
        if (all[i + 1]) {
            pairs[n++] = all[i];
            pairs[n++] = all[i + 1];
        }
    return aph_set(state, target, n ? aph_record_(pairs, n) : aphi_http_none());
}

/* ---- validators -------------------------------------------------------------------------------------------------- */

/* A concrete tag must have valid characters; a symbolic one is resolved later. */
static aph_value choose_opaque(aph *m, bool shown)
{
    aph_value opaque = aph_choose_shown(m, APH_STR, shown ? "tag.opaque" : NULL, "opaque tag");
    if (aph_is_str(opaque) && !aphi_http_is_opaque(opaque))
        aph_never(m);
    return opaque;
}

/* A strong tag belongs to one content. A repeated tag is accepted for content of the same length: many servers derive
 * tags from the length and a time in seconds, and repeat them for writes within a second. */
static bool is_reused(aph *m, aph_value opaque, const aphi_http_resource *r)
{
    aph_value past = r->past, body = r->body, again = APH_NIL;
    for (size_t i = 0; aphi_http_is_seen(r) && i < aph_count(past); i++) {
        aph_value one = aph_at(past, i);
        if (one == aphi_http_none() || aph_field(one, "length") == aph_int((int64_t)aph_count(body)))
            continue;
        aph_value same = aph_eq(opaque, aph_field(one, "opaque"));
        again = again ? aph_or(again, same) : same;
    }
    if (!again)
        return false;
    aph_clause(m, "RFC 9110 8.8.1");
    return aph_decide(m, again, "strong tag of other content");
}

/* ---- tags -------------------------------------------------------------------------------------------------------- */

static aph_value tag_of(aph_value opaque, bool weak) { return aph_record("opaque", opaque, "weak", aph_bool(weak)); }

/* A weak tag may become strong: a server with timestamps in seconds marks a tag as weak during the first second. A weak
 * or open tag can therefore be strong whenever that matters. */
static bool is_open(aph_value tag) { return !aph_field(tag, "weak"); }
static bool is_strong(aph_value tag) { return aph_field(tag, "weak") == aph_bool(false); }

/* Chooses an undecided or open tag for a response. */
static aph_value decide_tag(aph *m, const aphi_http_resource *r)
{
    aph_value tag = r->tag;
    aph_value opaque = tag ? aph_field(tag, "opaque") : aph_symbol(APH_STR, 0);
    const aph_value *made = APH_VALUES(tag_of(opaque, false), tag_of(opaque, true), APH_NIL);
    aph_clause(m, "RFC 9110 8.8.3");
    int how = tag ? aph_either_foretold(m, "tag", made, "strong tag", "weak tag")
                  : aph_either_foretold(m, "tag", made, "strong tag", "weak tag", "no tag");
    if (how == 2)
        return aphi_http_none();
    opaque = tag ? opaque : choose_opaque(m, true);
    if (how == 0 && is_reused(m, opaque, r))
        aph_never(m);
    return tag_of(opaque, how == 1);
}

static aph_value keep_or_strengthen(aph *m, aph_value tag)
{
    aph_value strong = aph_put(tag, "weak", aph_bool(false));
    aph_clause(m, "RFC 9110 8.8.1");
    return aph_either_foretold(m, "tag", APH_VALUES(tag, strong), "the weak tag stays weak",
                               "the weak tag becomes strong") ? strong : tag;
}

aph_value aphi_http_show_tag(aph *m, aphi_http_resource *r)
{
    if (!r->tag || (r->tag != aphi_http_none() && is_open(r->tag)))
        r->tag = decide_tag(m, r);
    else if (r->tag != aphi_http_none() && !is_strong(r->tag))
        r->tag = keep_or_strengthen(m, r->tag);
    aph_value shown = r->tag == aphi_http_none() ? APH_NIL : r->tag;
    aph_foretell(m, "tag", shown);
    return shown;
}

aph_value aphi_http_opaque(aph *m, aphi_http_resource *r)
{
    if (!r->tag) {
        aph_clause(m, "RFC 9110 8.8.3");
        r->tag = aph_either(m, "some tag", "no tag") == 0 ? aph_record("opaque", choose_opaque(m, false))
                                                          : aphi_http_none();
    }
    return r->tag == aphi_http_none() ? APH_NIL : aph_field(r->tag, "opaque");
}

/* The opaque part matches; chooses whether the tag is strong. */
static bool turns_strong(aph *m, aph_value tag)
{
    aph_clause(m, is_open(tag) ? "RFC 9110 8.8.3" : "RFC 9110 8.8.1");
    return is_open(tag) ? aph_either(m, "strong tag", "weak tag") == 0
                        : aph_either(m, "the weak tag stays weak", "the weak tag becomes strong") == 1;
}

/* A tag that does not match is not changed: for an undecided tag, a mismatch has the same effect as a weak tag. */
static bool is_strong_tag(aph *m, const aphi_http_resource *r, aph_value requested, const char *name)
{
    aph_value tag = r->tag;
    if (tag == aphi_http_none())
        return false;
    aph_value opaque = tag ? aph_field(tag, "opaque") : choose_opaque(m, false);
    aph_clause(m, "RFC 9110 13.1.1");
    if (!aph_decide(m, aph_eq(requested, opaque), name) || (tag && !is_strong(tag) && !turns_strong(m, tag)))
        return false;
    if ((!tag || is_open(tag)) && is_reused(m, requested, r))
        aph_never(m);
    return true;
}

bool aphi_http_is_strong_tag(aph *m, aphi_http_resource *r, aph_value requested, const char *name)
{
    if (!is_strong_tag(m, r, requested, name))
        return false;
    r->tag = tag_of(requested, false);
    return true;
}

/* ---- dates ------------------------------------------------------------------------------------------------------- */

aph_value aphi_http_modified(aph *m, aphi_http_resource *r, bool shown)
{
    if (!r->modified) {
        aph_clause(m, "RFC 9110 8.8.2");
        int has_none = aph_either_foretold(m, "modified", shown ? APH_VALUES(APH_SOME, APH_NIL)
                                                                : APH_VALUES(APH_ANY, APH_ANY),
                                           "modification date", "no modification date");
        const char *field = shown ? "modified" : NULL;
        r->modified = has_none ? aphi_http_none()
                               : aph_choose_within_shown(m, 0, APH_HTTP_TIME_MAX, field, "modified");
    }
    aph_value known = r->modified == aphi_http_none() ? APH_NIL : r->modified;
    if (shown)
        aph_foretell(m, "modified", known);
    return known;
}

/* ---- writes ------------------------------------------------------------------------------------------------------ */

/* Returns the strong tag of a resource with known content, if a response contained the tag. A tag that was never
 * observed constrains nothing. */
static aph_value past_entry(const aphi_http_resource *r)
{
    if (!r->tag || r->tag == aphi_http_none() || !is_strong(r->tag) || !aph_is_str(aph_field(r->tag, "opaque")) ||
        !aphi_http_is_seen(r))
        return APH_NIL;
    return aph_record("opaque", aph_field(r->tag, "opaque"), "length", aph_int((int64_t)aph_count(r->body)));
}

/* Every replaced content takes a place, even one with an unknown tag: the server remembers tags that it never sent, and
 * must remember at least as many as the model. */
static aph_value push_past(aph_value past, aph_value one)
{
    size_t n = aph_count(past);
    if (!one && !n)
        return past;
    aph_value last = n ? aph_slice(past, n < PAST ? 0 : 1, n < PAST ? n : PAST - 1) : aph_array(0, NULL);
    bool any = one;
    for (size_t i = 0; i < aph_count(last); i++)
        any |= aph_at(last, i) != aphi_http_none();
    return any ? aph_push(last, one ? one : aphi_http_none()) : APH_NIL;
}

void aphi_http_replace(aphi_http_resource *r, aph_value body)
{
    aph_value past = r->body ? push_past(r->past, past_entry(r)) : r->past;
    *r = (aphi_http_resource){.body = body, .past = past, .leaving = body ? r->leaving : APH_NIL};
}

aph_value aphi_http_forget(aph_value state, aph_value target)
{
    aphi_http_resource r = resource_of(aph_get(state, target));
    aphi_http_replace(&r, APH_NIL);
    return r.past ? aph_set(state, target, aph_record("past", r.past, "unknown", aph_bool(true)))
                  : aph_remove(state, target);
}
