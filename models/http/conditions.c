/* SPDX-License-Identifier: Apache-2.0
 *
 * conditions.c - conditional requests: RFC 9110 13.
 *
 * Idea:       conditions are evaluated in the order of 13.2.2. If-Match takes precedence over If-Unmodified-Since, and
 *             If-None-Match over If-Modified-Since. Known deviations of real servers are waivers, each at the point of
 *             deviation. */
#include "resource.h"

typedef enum comparison { STRONG, WEAK } comparison;

static bool is_weak(aph_value tag) { return !aph_is_str(tag) && aph_truth(aph_field(tag, "weak")); }

static aph_value opaque_of(aph_value tag) { return aph_is_str(tag) ? tag : aph_field(tag, "opaque"); }

static bool same_tag(aph *m, aph_value requested, aphi_http_resource *r, comparison how, const char *name)
{
    if (how == STRONG)
        return !is_weak(requested) && aphi_http_is_strong_tag(m, r, opaque_of(requested), name);
    aph_value opaque = aphi_http_opaque(m, r);
    aph_clause(m, "RFC 9110 13.1.2");
    return opaque && aph_decide(m, aph_eq(opaque_of(requested), opaque), name);
}

/* In a strong comparison, a weak tag does not match, but later tags in the list may. */
static bool ends_list(aph *m, aph_value requested, size_t i)
{
    return i + 1 < aph_count(requested) && is_weak(aph_at(requested, i)) && aph_waive(m, "weak-tag-ends-list");
}

/* Returns true if the current tag is in the list; "*" matches any resource. */
static bool matches(aph *m, aph_value requested, aphi_http_resource *r, comparison how, const char *name)
{
    if (!r->body)
        return false;
    if (aph_is_str(requested))
        return true;
    for (size_t i = 0; i < aph_count(requested); i++) {
        if (same_tag(m, aph_at(requested, i), r, how, name))
            return true;
        if (how == STRONG && ends_list(m, requested, i))
            return false;
    }
    return false;
}

static bool modified_since(aph *m, aph_value since, aphi_http_resource *r, const char *name)
{
    aph_value modified = aphi_http_modified(m, r, false);
    return modified && aph_decide(m, aph_lt(since, modified), name);
}

/* ---- If-Match and If-Unmodified-Since ---------------------------------------------------------------------------- */

/* Without a resource there is no date to compare: the RFC allows ignoring the condition or letting it fail. */
static bool unmodified_since(aph *m, aph_value request, aph_value since, aphi_http_resource *r)
{
    bool reads = aphi_http_only_reads(request);
    if (reads && aph_waive(m, "if-unmodified-since-read-ignored"))
        return true;
    if (reads && aph_field(request, "range") && aph_waive(m, "if-unmodified-since-range-ignored"))
        return true;
    if (since == aph_int(0) && aph_waive(m, "epoch-is-no-date"))
        return true;
    if (!reads && aph_waive(m, "if-unmodified-since-now"))
        return false;
    aph_clause(m, "RFC 9110 13.1.4");
    if (!r->body)
        return aph_either(m, "If-Unmodified-Since holds for a missing resource",
                          "If-Unmodified-Since fails for a missing resource") == 0;
    return !modified_since(m, since, r, "modified after If-Unmodified-Since");
}

/* Returns true for If-None-Match: * on a missing resource. */
static bool creates_resource(aph_value request, const aphi_http_resource *r)
{
    return !r->body && aph_str_is(aph_field(request, "if-none-match"), "*");
}

static bool precondition_holds(aph *m, aph_value request, aphi_http_resource *r)
{
    aph_value if_match = aph_field(request, "if-match"), since = aph_field(request, "if-unmodified-since");
    if (!if_match)
        return !since || unmodified_since(m, request, since, r);
    if (aphi_http_only_reads(request) && aph_waive(m, "if-match-read-ignored"))
        return true;
    if (creates_resource(request, r) && aph_waive(m, "if-match-beside-star"))
        return true;
    if (!matches(m, if_match, r, STRONG, "If-Match matches"))
        return false;
    if (since && aph_waive(m, "if-unmodified-since-beside-if-match"))
        return unmodified_since(m, request, since, r);
    aph_clause(m, since ? "RFC 9110 13.1.4" : "RFC 9110 13.1.1");
    aph_either(m, "If-Match holds");
    return true;
}

/* ---- If-None-Match and If-Modified-Since ------------------------------------------------------------------------- */

/* Returns true if a matching If-None-Match is ignored because of another condition (waivers). */
static bool is_overridden(aph *m, aph_value request)
{
    if (!aphi_http_only_reads(request))
        return false;
    if (aph_field(request, "if-modified-since") && aph_waive(m, "if-modified-since-beside-if-none-match"))
        return true;
    return (aph_field(request, "if-unmodified-since") || aph_field(request, "if-range")) &&
           aph_waive(m, "if-none-match-beside-others");
}

/* Returns true if a tag matches only weakly and the server compares strongly (waiver). */
static bool fails_strongly(aph *m, aph_value request, aph_value tags, aphi_http_resource *r)
{
    bool weakly = aph_is_str(tags) || (aphi_http_only_reads(request) && !aph_field(request, "range"));
    return !weakly && aph_waive(m, "if-none-match-strong") &&
           !matches(m, tags, r, STRONG, "If-None-Match matches strongly");
}

static bool is_known(aph *m, aph_value request, aphi_http_resource *r)
{
    aph_value if_none_match = aph_field(request, "if-none-match"), since = aph_field(request, "if-modified-since");
    bool reads = aphi_http_only_reads(request);
    if (if_none_match) {
        if (matches(m, if_none_match, r, WEAK, "If-None-Match matches") &&
            !fails_strongly(m, request, if_none_match, r))
            return !is_overridden(m, request);
        aph_clause(m, since ? "RFC 9110 13.1.3" : "RFC 9110 13.1.2");
        aph_either(m, "If-None-Match holds");
        return false;
    }
    if (!since || !reads || !aphi_http_modified(m, r, false))
        return false;
    aph_clause(m, "RFC 9110 13.1.3");
    if (modified_since(m, since, r, "modified after If-Modified-Since"))
        return false;
    aph_clause(m, "RFC 9110 13.1.3");
    return aph_either(m, "If-Modified-Since is honoured", "If-Modified-Since is ignored") == 0;
}

static bool has_condition(aph_value request)
{
    return aph_field(request, "if-match") || aph_field(request, "if-none-match") ||
           aph_field(request, "if-unmodified-since") || aph_field(request, "if-modified-since");
}

static aphi_http_outcome outcome_of(aph *m, aph_value request, aphi_http_resource *r)
{
    if (!precondition_holds(m, request, r))
        return APHI_HTTP_FAILS;
    return is_known(m, request, r) ? APHI_HTTP_KNOWN : APHI_HTTP_HOLDS;
}

/* If conditions of writes may be ignored, a successful write reveals nothing about the tag or the date. The condition
 * is evaluated only if both are known. */
static aphi_http_outcome outcome_if_ignorable(aph *m, aph_value request, aphi_http_resource *r)
{
    aphi_http_resource before = *r;
    bool done = aph_either_foretold(m, "status", APH_VALUES(APH_ANY, aph_int(412)), "a conditional write is done",
                                    "a conditional write is not done") == 0;
    if (done && (!r->tag || !r->modified))
        return APHI_HTTP_HOLDS;
    aphi_http_outcome outcome = outcome_of(m, request, r);
    if (done ? outcome != APHI_HTTP_HOLDS && !aph_waive(m, "conditional-writes-ignored") : outcome == APHI_HTTP_HOLDS)
        aph_never(m);
    if (!done)
        return outcome;
    *r = before;
    return APHI_HTTP_HOLDS;
}

aphi_http_outcome aphi_http_evaluate(aph *m, aph_value request, aphi_http_resource *r)
{
    if (!has_condition(request))
        return APHI_HTTP_HOLDS;
    bool evaluated = aphi_http_only_reads(request) || !aph_is_allowed(m, "conditional-writes-ignored");
    aphi_http_outcome outcome = evaluated ? outcome_of(m, request, r) : outcome_if_ignorable(m, request, r);
    if (outcome == APHI_HTTP_FAILS)
        aph_clause(m, aph_field(request, "if-match") ? "RFC 9110 13.1.1" : "RFC 9110 13.1.4");
    else if (outcome == APHI_HTTP_KNOWN)
        aph_clause(m, aph_field(request, "if-none-match") ? "RFC 9110 13.1.2" : "RFC 9110 13.1.3");
    return outcome;
}

/* ---- If-Range ---------------------------------------------------------------------------------------------------- */

bool aphi_http_may_give_part(aph *m, aph_value request, aphi_http_resource *r)
{
    aph_value if_range = aph_field(request, "if-range");
    if (!if_range)
        return true;
    aph_clause(m, "RFC 9110 13.1.5");
    if (aph_is_int(if_range)) {
        aph_value modified = aphi_http_modified(m, r, false);
        return modified && aph_decide(m, aph_eq(modified, if_range), "If-Range date matches");
    }
    return same_tag(m, if_range, r, STRONG, "If-Range tag matches");
}
