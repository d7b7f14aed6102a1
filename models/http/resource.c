/* SPDX-License-Identifier: Apache-2.0
 *
 * resource.c - what is at a target of an HTTP server: its content and its validators.
 *
 * Idea:       What the validators are is decided as late as can be, when they are first shown or compared: so a wrong
 *             guess is found out at once. What was there before the test is not known until it shows either.
 * State:      by target, a resource; or false or {"past": ...}, if there is nothing; or {"unknown": true, "past": ...}.
 *             A target that is missing is not known. */
#include "resource.h"

#include "http.h"

enum { PAST = 3 }; /* contents that were replaced and of which the strong tags are remembered */

static aph_value none(void) { return aph_bool(false); }

bool aphi_http_only_reads(aph_value request)
{
    return aphi_http_is_method(request, "GET") || aphi_http_is_method(request, "HEAD");
}

bool aphi_http_has_no(aph_value resource, const char *validator) { return aph_field(resource, validator) == none(); }

/* ---- what is there ----------------------------------------------------------------------------------------------- */

static aph_value with_past(aph_value resource, aph_value past)
{
    return past ? aph_put(resource, "past", past) : resource;
}

/* Who said 202 to a DELETE deletes it when he likes. */
static bool has_left(aph *m, aph_value resource)
{
    if (!aph_field(resource, "leaving"))
        return false;
    aph_clause(m, "RFC 9110 9.3.5");
    return aph_either(m, "what is to be deleted is still there", "what is to be deleted is gone") == 1;
}

aph_value aphi_http_look(aph *m, aph_value state, aph_value target, aph_value *past)
{
    aph_value known = aph_get(state, target);
    *past = known && known != none() ? aph_field(known, "past") : APH_NIL;
    if (known && !aph_field(known, "unknown"))
        return !aph_field(known, "body") || has_left(m, known) ? APH_NIL : known;
    if (aph_either(m, "nothing was there before", "something was there before") == 0)
        return APH_NIL;
    return with_past(aph_record("body", aph_choose(m, APH_STR, "what was there before")), *past);
}

aph_value aphi_http_keep(aph_value state, aph_value target, aph_value resource, aph_value past)
{
    return aph_set(state, target, resource ? resource : past ? aph_record("past", past) : none());
}

/* ---- validators -------------------------------------------------------------------------------------------------- */

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
static bool is_used_again(aph *m, aph_value opaque, aph_value resource)
{
    aph_value past = aph_field(resource, "past"), body = aph_field(resource, "body"), again = aph_bool(false);
    for (size_t i = 0; aph_is_str(body) && i < aph_count(past); i++) {
        aph_value one = aph_at(past, i);
        if (one != none() && aph_field(one, "length") != aph_int((int64_t)aph_count(body)))
            again = aph_or(again, aph_eq(opaque, aph_field(one, "opaque")));
    }
    if (again == aph_bool(false))
        return false;
    aph_clause(m, "RFC 9110 8.8.1");
    return aph_decide(m, again, "the strong tag of another content");
}

/* What is shown, or that it is not, is in the answer. */
static void foretell(aph *m, bool shown, const char *validator, aph_value v)
{
    if (shown)
        aph_foretell(m, validator, v == none() ? APH_NIL : v);
}

static aph_value choose_tag(aph *m, aph_value resource, bool shown)
{
    aph_value some = aph_symbol(APH_STR, 0);
    aph_clause(m, "RFC 9110 8.8.3");
    int made = aph_either_foretold(m, "tag",
                                   shown ? APH_VALUES(aph_record("opaque", some, "weak", aph_bool(false)),
                                                      aph_record("opaque", some, "weak", aph_bool(true)), APH_NIL)
                                         : APH_VALUES(APH_ANY, APH_ANY, APH_ANY),
                                   "strong tag", "weak tag", "no tag");
    aph_value tag = made == 2 ? none() : aph_record("opaque", choose_opaque(m), "weak", aph_bool(made == 1));
    foretell(m, shown, "tag", tag);
    if (made == 0 && is_used_again(m, aph_field(tag, "opaque"), resource))
        aph_never(m);
    return tag;
}

/* A weak tag may become strong: a server that tells versions apart by seconds cannot say at first whether it will. */
aph_value aphi_http_tag(aph *m, aph_value *resource, bool shown)
{
    aph_value tag = aph_field(*resource, "tag");
    if (!tag) {
        tag = choose_tag(m, *resource, shown);
    } else if (tag != none() && aph_truth(aph_field(tag, "weak"))) {
        aph_value strong = aph_put(tag, "weak", aph_bool(false));
        aph_clause(m, "RFC 9110 8.8.1");
        if (aph_either_foretold(m, "tag", shown ? APH_VALUES(tag, strong) : APH_VALUES(APH_ANY, APH_ANY),
                                "the weak tag stays", "the weak tag turns strong") == 1)
            tag = strong;
    }
    foretell(m, shown, "tag", tag);
    *resource = aph_put(*resource, "tag", tag);
    return tag == none() ? APH_NIL : tag;
}

aph_value aphi_http_modified(aph *m, aph_value *resource, bool shown)
{
    aph_value modified = aph_field(*resource, "modified");
    if (!modified) {
        aph_clause(m, "RFC 9110 8.8.2");
        int has_none = aph_either_foretold(m, "modified", shown ? APH_VALUES(APH_SOME, APH_NIL)
                                                                : APH_VALUES(APH_ANY, APH_ANY),
                                           "modification date", "no modification date");
        modified = has_none ? none() : aph_choose_within(m, 0, APH_HTTP_TIME_MAX, "modified");
        *resource = aph_put(*resource, "modified", modified);
    }
    foretell(m, shown, "modified", modified);
    return modified == none() ? APH_NIL : modified;
}

/* The strong tag that the resource has been seen with, if its content is known: one that was never shown can have been
 * any other, and is as good as none. */
static aph_value to_be_remembered(aph_value resource)
{
    aph_value tag = aph_field(resource, "tag"), body = aph_field(resource, "body");
    if (!tag || tag == none() || aph_truth(aph_field(tag, "weak")) || !aph_is_str(aph_field(tag, "opaque")) ||
        !aph_is_str(body))
        return APH_NIL;
    return aph_record("opaque", aph_field(tag, "opaque"), "length", aph_int((int64_t)aph_count(body)));
}

/* ---- writes ------------------------------------------------------------------------------------------------------ */

/* What was replaced moves on whether its tag is known or not: a server knows tags that it never showed, and it must not
 * forget sooner than we do. */
static aph_value remember(aph_value past, aph_value one)
{
    size_t n = aph_count(past);
    if (!one && !n)
        return past;
    aph_value last = n ? aph_slice(past, n < PAST ? 0 : 1, n < PAST ? n : PAST - 1) : aph_array(0, NULL);
    bool any = one;
    for (size_t i = 0; i < aph_count(last); i++)
        any |= aph_at(last, i) != none();
    return any ? aph_push(last, one ? one : none()) : APH_NIL;
}

aph_value aphi_http_replace(aph_value was, aph_value body, aph_value *past)
{
    aph_value leaving = aph_field(was, "leaving");
    if (was)
        *past = remember(*past, to_be_remembered(was));
    aph_value now = body ? with_past(aph_record("body", body), *past) : APH_NIL;
    return now && leaving ? aph_put(now, "leaving", leaving) : now;
}

aph_value aphi_http_forget(aph_value state, aph_value target)
{
    aph_value known = aph_get(state, target), past = known ? aph_field(known, "past") : APH_NIL;
    if (known && aph_field(known, "body"))
        aphi_http_replace(known, APH_NIL, &past);
    return past ? aph_set(state, target, aph_record("past", past, "unknown", aph_bool(true)))
                : aph_remove(state, target);
}
