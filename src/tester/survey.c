/* SPDX-License-Identifier: Apache-2.0
 *
 * survey.c - the choices and the violations of one server, found by repeated tests.
 *
 * Idea:       the first test allows no waivers. A failure is shrunk, and its trace is checked again with each waiver of
 *             the model. A waiver that explains the failure is allowed from then on, so the next test can find others.
 *             The survey ends with a test that passes, or with a violation that no waiver explains.
 * Needed:     several waivers may explain one small trace. At the end, a waiver is revoked if the others explain all
 *             traces, and the server is tested once more. Each remaining waiver is needed: one of the traces fails
 *             without it.
 * Choices:    they are counted afterwards, in the explanation of one trace, so they do not slow down the tests. */
#include "tester/survey.h"

#include "tester/campaign.h"

#include <antiphon/check.h>

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
    ROUNDS_MAX = 24,   /* each ends with a finding, or a pass */
    CHECK_MS = 20000,
    SMALL = 5,         /* requests: for a larger finding, other seeds are tried */
    TRIES = 10,
    VALUES_SHOWN = 4,  /* values of an unknown; one with more is not listed */
    SHORT_MESSAGES = 500,
    SHORT_CONNECTIONS = 2,
    SAMPLE_CONNECTIONS = 10,
};
#define ROUND_NS INT64_C(8000000000) /* no further tries after that */
#define NONE SIZE_MAX

typedef struct survey {
    const aphi_survey_options *options;
    aph_model model;              /* with the waivers allowed so far */
    aph_value findings;           /* an array, in the order of their tests */
    aph_value last, best;         /* the last test, and the one with the smallest finding of this round */
    aph_value branches, choices;
    size_t waived_for[ROUNDS_MAX];       /* by finding: the waiver that went past it, or NONE */
    const aph_waiver *needs[ROUNDS_MAX]; /* by finding, at the end; NULL: no waiver explains it */
    uint64_t messages, runs;
    int64_t ns;
    unsigned rounds, tests, undecided; /* undecided: tests */
} survey;

static void mark_survey(void *context)
{
    const survey *q = context;
    const aph_value all[] = {q->findings, q->last, q->best, q->branches, q->choices};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        aph_mark(all[i]);
}

const char *aphi_survey_text(aph_value object, const char *name, char *text, size_t size)
{
    aph_value v = aph_field(object, name);
    size_t n = 0;
    const char *bytes = v && aph_is_str(v) ? aph_bytes_of(&v, &n) : "";
    snprintf(text, size, "%.*s", (int)n, bytes);
    return text;
}

int64_t aphi_survey_number(aph_value object, const char *name)
{
    aph_value v = aph_field(object, name);
    return v && aph_is_int(v) ? aph_int_of(v) : 0;
}

/* ---- one test ---------------------------------------------------------------------------------------------------- */

static bool is_verdict(aph_value found, const char *verdict)
{
    return aph_str_is(aph_field(found, "verdict"), verdict);
}

static bool is_violation(aph_value found)
{
    return aphi_run_verdict_name_blames_subject(aph_field(found, "verdict"));
}

static aph_value sum_of(aph_value a, aph_value b)
{
    aph_value name, count;
    for (size_t i = 0; b && aph_pair_at(b, i, &name, &count); i++) {
        aph_value before = aph_get(a, name);
        a = aph_set(a, name, aph_int(aph_int_of(count) + (before ? aph_int_of(before) : 0)));
    }
    return a;
}

/* Stores the result in q->last. Returns false to end the survey. */
static bool test_once(survey *q, uint64_t seed, bool is_short)
{
    const aphi_survey_options *o = q->options;
    char page[4200];
    snprintf(page, sizeof page, "%s/%u.html", o->folder, ++q->tests);
    aphi_survey_test test = {.model = &q->model, .folder = o->folder, .page = page, .seed = seed, .shrink = true,
                             .messages = is_short ? SHORT_MESSAGES : o->messages,
                             .connections = is_short ? SHORT_CONNECTIONS : o->connections};
    if (!o->test(o->context, &test, &q->last))
        return false;
    if (!is_violation(q->last))
        unlink(page);
    q->last = aph_put(q->last, "page", aph_strf("%s/%u.html", o->name, q->tests));
    q->messages += (uint64_t)aphi_survey_number(q->last, "messages");
    q->runs += (uint64_t)aphi_survey_number(q->last, "runs");
    q->ns += aphi_survey_number(q->last, "ns");
    q->branches = sum_of(q->branches, aph_field(q->last, "branches"));
    q->undecided += is_verdict(q->last, "unknown");
    return true;
}

/* A violation from a long run may stay large, and short runs with other seeds and few connections may find it too. If a
 * run could not be checked, another one may be. */
static bool needs_retry(aph_value found)
{
    return is_violation(found) ? aphi_survey_number(found, "requests") > SMALL : !is_verdict(found, "pass");
}

static bool is_better(aph_value found, aph_value than)
{
    if (!is_violation(than))
        return is_violation(found) || is_verdict(found, "pass");
    return is_violation(found) && aphi_survey_number(found, "requests") < aphi_survey_number(than, "requests");
}

static bool test_repeatedly(survey *q)
{
    int64_t begun = q->ns;
    uint64_t seed = q->options->seed;
    bool go_on = test_once(q, seed, false);
    q->best = q->last;
    for (unsigned i = 1; i < TRIES && go_on && needs_retry(q->best) && (i == 1 || q->ns - begun < ROUND_NS); i++) {
        go_on = test_once(q, seed + i, is_violation(q->best));
        if (go_on && is_better(q->last, q->best))
            q->best = q->last;
    }
    q->last = q->best;
    return go_on;
}

/* ---- waivers ----------------------------------------------------------------------------------------------------- */

static aph_check_result *check_trace(const survey *q, const char *trace, uint64_t waived, bool explain)
{
    aph_model model = q->model;
    aph_check_options options = {.oracle = {.environment = "tcp", .patient = true, .time_ms = CHECK_MS,
                                            .memory = (size_t)1024 << 20},
                                 .format = APH_FORMAT_JSONL, .explain = explain};
    model.waived = waived;
    return aph_check_file(&model, trace, &options);
}

static bool is_explained(const survey *q, aph_value finding, uint64_t waived)
{
    char trace[4096];
    aph_check_result *r = check_trace(q, aphi_survey_text(finding, "trace", trace, sizeof trace), waived, false);
    bool pass = r->verdict == APH_CHECK_PASS;
    aph_check_result_free(r);
    return pass;
}

static size_t waiver_count(const aph_model *m)
{
    size_t n = 0;
    while (m->waivers && m->waivers[n].name)
        n++;
    return n;
}

/* Allows the first waiver that explains the finding, and returns it; NONE if there is none. */
static size_t allow_waiver(survey *q, aph_value finding)
{
    for (size_t i = 0; is_verdict(finding, "fail") && i < waiver_count(&q->model); i++) {
        uint64_t more = q->model.waived | UINT64_C(1) << i;
        if (more != q->model.waived && is_explained(q, finding, more)) {
            q->model.waived = more;
            return i;
        }
    }
    return NONE;
}

static bool all_explained(const survey *q, uint64_t waived)
{
    for (size_t i = 0; i < aph_count(q->findings); i++)
        if (is_verdict(aph_at(q->findings, i), "fail") && !is_explained(q, aph_at(q->findings, i), waived))
            return false;
    return true;
}

/* Revokes the waivers that are not needed. Returns true if there were any. */
static bool drop_waivers(survey *q)
{
    uint64_t before = q->model.waived;
    for (size_t i = 0; i < waiver_count(&q->model); i++) {
        uint64_t fewer = q->model.waived & ~(UINT64_C(1) << i);
        if (fewer != q->model.waived && all_explained(q, fewer))
            q->model.waived = fewer;
    }
    return q->model.waived != before;
}

static bool needs_waiver(const survey *q, aph_value finding, size_t waiver)
{
    return waiver != NONE && (q->model.waived >> waiver & 1) && is_explained(q, finding, q->model.waived) &&
           !is_explained(q, finding, q->model.waived & ~(UINT64_C(1) << waiver));
}

/* Returns the waiver that the finding needs, or NULL. The waiver that was allowed for it is tried first, because a
 * large finding may also need earlier waivers. */
static const aph_waiver *waiver_of(const survey *q, aph_value finding, size_t waived_for)
{
    if (!is_verdict(finding, "fail"))
        return NULL;
    if (needs_waiver(q, finding, waived_for))
        return &q->model.waivers[waived_for];
    for (size_t i = 0; i < waiver_count(&q->model); i++)
        if (needs_waiver(q, finding, i))
            return &q->model.waivers[i];
    return NULL;
}

/* ---- findings ---------------------------------------------------------------------------------------------------- */

static bool is_among(aph_value names, aph_value name)
{
    for (size_t i = 0; names && i < aph_count(names); i++)
        if (aph_at(names, i) == name)
            return true;
    return false;
}

/* Returns the clauses that all allowed responses share; other clauses only distinguish the responses. If there are
 * none, returns the clauses of the first response. */
static aph_value clauses_of(aph_value finding)
{
    aph_value allowed = aph_field(aph_field(finding, "evidence"), "allowed"), common = aph_array(0, NULL);
    aph_value first = allowed && aph_count(allowed) ? aph_field(aph_at(allowed, 0), "clauses") : APH_NIL;
    for (size_t i = 0; first && i < aph_count(first); i++) {
        bool always = true;
        for (size_t k = 1; k < aph_count(allowed); k++)
            always &= is_among(aph_field(aph_at(allowed, k), "clauses"), aph_at(first, i));
        if (always)
            common = aph_push(common, aph_at(first, i));
    }
    return aph_count(common) || !first ? common : first;
}

/* The summary of a waiver ends with its clause, in brackets. */
static aph_value clauses_of_waiver(const aph_waiver *w)
{
    const char *open = strrchr(w->summary, '('), *close = open ? strchr(open, ')') : NULL;
    return close ? APH_ARRAY_OF(aph_bytes(open + 1, (size_t)(close - open - 1))) : aph_array(0, NULL);
}

static aph_value shown_fields(aph_value finding, const aph_waiver *w)
{
    static const char *const kept[] = {"verdict", "why", "reject_ns", "shrink_ns", "requests", "reproduced",
                                       "confirmed", "minimal", "picture", "replay", "page"};
    aph_value slim = aph_record("clauses", w ? clauses_of_waiver(w) : clauses_of(finding));
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
        if (aph_field(finding, kept[i]))
            slim = aph_put(slim, kept[i], aph_field(finding, kept[i]));
    return w ? aph_put(aph_put(slim, "waiver", aph_str(w->name)), "summary", aph_str(w->summary)) : slim;
}

/* Of several findings with the same waiver, keeps the smallest. */
static aph_value findings_of(const survey *q)
{
    aph_value all = aph_array(0, NULL);
    for (size_t i = 0; i < aph_count(q->findings); i++) {
        aph_value one = shown_fields(aph_at(q->findings, i), q->needs[i]), next = aph_array(0, NULL);
        aph_value waiver = aph_field(one, "waiver");
        for (size_t k = 0; k < aph_count(all); k++) {
            aph_value other = aph_at(all, k);
            bool same = waiver && aph_field(other, "waiver") == waiver;
            if (same && aphi_survey_number(other, "requests") <= aphi_survey_number(one, "requests"))
                one = APH_NIL;
            if (!same || !one)
                next = aph_push(next, other);
        }
        all = one ? aph_push(next, one) : next;
    }
    return all;
}

/* ---- choices ----------------------------------------------------------------------------------------------------- */

static bool is_waiver(const aph_model *m, aph_value alternative)
{
    for (size_t i = 0; i < waiver_count(m); i++)
        if (aph_str_is(alternative, m->waivers[i].alternatives[0]) ||
            aph_str_is(alternative, m->waivers[i].alternatives[1]))
            return true;
    return false;
}

static aph_value with_way(aph_value ways, aph_value way)
{
    for (size_t i = 0; i < aph_count(ways); i++) {
        aph_value known = aph_at(ways, i);
        if (aph_at(known, 0) == aph_at(way, 0)) {
            int64_t n = aph_int_of(aph_at(known, 1)) + aph_int_of(aph_at(way, 1));
            return aph_replace(ways, i, APH_ARRAY_OF(aph_at(way, 0), aph_int(n)));
        }
    }
    return aph_push(ways, way);
}

/* Adds the counts of a place, by the name of its first alternative: places in the model with the same first alternative
 * are one choice. */
static aph_value with_ways(aph_value choices, aph_value place)
{
    aph_value ways = aph_field(place, "ways"), name = aph_at(aph_at(ways, 0), 0), known = aph_get(choices, name);
    aph_value sums = known ? aph_field(known, "ways") : aph_array(0, NULL);
    for (size_t i = 0; i < aph_count(ways); i++)
        sums = with_way(sums, aph_at(ways, i));
    return aph_set(choices, name, aph_put(known ? known : place, "ways", sums));
}

/* Counts the values of an unknown. An unknown with few values, such as the status of a refusal, is listed. */
static aph_value with_values(aph_value unknowns, aph_value named)
{
    aph_value name = aph_field(named, "choice"), v = aph_field(named, "value");
    if (!name || !aph_is_str(name) || !v || !aph_is_int(v))
        return unknowns;
    aph_value known = aph_get(unknowns, name), counts = known ? aph_field(known, "counts") : aph_object();
    aph_value text = aph_strf("%lld", (long long)aph_int_of(v)), n = aph_get(counts, text);
    if (aph_count(counts) <= VALUES_SHOWN)
        counts = aph_set(counts, text, aph_int(1 + (n ? aph_int_of(n) : 0)));
    return aph_set(unknowns, name, aph_put(known ? known : named, "counts", counts));
}

static aph_value ways_from(aph_value unknown, aph_value name)
{
    aph_value ways = aph_array(0, NULL), text, n;
    for (size_t i = 0; aph_pair_at(aph_field(unknown, "counts"), i, &text, &n); i++)
        ways = aph_push(ways, APH_ARRAY_OF(aph_concat(name, aph_concat(aph_str(": "), text)), n));
    aph_value clause = aph_field(unknown, "clause"), one = aph_record("ways", ways);
    return clause ? aph_put(one, "clause", clause) : one;
}

static bool is_alternative(aph_value choices, aph_value name)
{
    aph_value first, choice;
    for (size_t i = 0; aph_pair_at(choices, i, &first, &choice); i++) {
        aph_value ways = aph_field(choice, "ways");
        for (size_t k = 0; k < aph_count(ways); k++)
            if (aph_at(aph_at(ways, k), 0) == name)
                return true;
    }
    return false;
}

/* Collects the choices in the explanation of a trace, partition by partition. */
static aph_value choices_in(const aph_model *m, aph_value parts)
{
    aph_value choices = aph_object(), unknowns = aph_object(), all = aph_array(0, NULL), name, one;
    for (size_t i = 0; i < aph_count(parts); i++) {
        aph_value places = aph_field(aph_at(parts, i), "ways"), named = aph_field(aph_at(parts, i), "named");
        for (size_t k = 0; places && k < aph_count(places); k++)
            if (!is_waiver(m, aph_at(aph_at(aph_field(aph_at(places, k), "ways"), 0), 0)))
                choices = with_ways(choices, aph_at(places, k));
        for (size_t k = 0; named && k < aph_count(named); k++)
            unknowns = with_values(unknowns, aph_at(named, k));
    }
    for (size_t i = 0; aph_pair_at(choices, i, &name, &one); i++)
        all = aph_push(all, one);
    for (size_t i = 0; aph_pair_at(unknowns, i, &name, &one); i++)
        if (aph_count(aph_field(one, "counts")) <= VALUES_SHOWN && !is_alternative(choices, name) &&
            !is_waiver(m, name))
            all = aph_push(all, ways_from(one, name));
    return all;
}

/* Returns false if the trace has no explanation, or none in time. */
static bool find_choices(survey *q, aph_value passed)
{
    char trace[4096];
    aphi_survey_text(passed, "trace", trace, sizeof trace);
    aph_check_result *r = check_trace(q, trace, q->model.waived, true);
    bool found = r->explanation;
    if (found)
        q->choices = aph_record("choices", choices_in(&q->model, r->explanation), "observations",
                                aph_int((int64_t)r->observations));
    aph_check_result_free(r);
    return found;
}

/* A server that fails may still pass short runs if all waivers are allowed. Each has a folder without failing
 * scripts. */
static bool sample_choices(survey *q)
{
    static const uint64_t lengths[] = {1600, 800, 400, 400, 200, 200, 100, 100, 50, 50};
    const aphi_survey_options *o = q->options;
    uint64_t waived = q->model.waived, all = waiver_count(&q->model);
    bool go_on = true;
    q->model.waived = all ? UINT64_MAX >> (64 - all) : 0;
    for (unsigned i = 0; i < sizeof lengths / sizeof *lengths && !q->choices && go_on; i++) {
        char folder[4200];
        snprintf(folder, sizeof folder, "%s/sample-%u", o->folder, i + 1);
        aphi_survey_test test = {.model = &q->model, .folder = folder, .seed = o->seed + i, .messages = lengths[i],
                                 .connections = SAMPLE_CONNECTIONS};
        aph_value found = APH_NIL;
        go_on = o->test(o->context, &test, &found);
        if (go_on && is_verdict(found, "pass"))
            find_choices(q, found);
    }
    q->model.waived = waived;
    return go_on;
}

/* ---- the survey -------------------------------------------------------------------------------------------------- */

/* Returns false if no waiver explains the finding. */
static bool keep_finding(survey *q)
{
    size_t i = aph_count(q->findings);
    q->findings = aph_push(q->findings, q->last);
    q->waived_for[i] = allow_waiver(q, q->last);
    const aph_waiver *waiver = q->waived_for[i] == NONE ? NULL : &q->model.waivers[q->waived_for[i]];
    if (q->options->found)
        q->options->found(q->options->context, q->last, waiver);
    return waiver;
}

/* Tests until a test passes, or no waiver explains a violation. */
static bool find_violations(survey *q)
{
    while (q->rounds++ < ROUNDS_MAX) {
        if (!test_repeatedly(q))
            return false;
        if (is_violation(q->last) ? !keep_finding(q) : !is_verdict(q->last, "pass") || !drop_waivers(q))
            return true;
    }
    return true;
}

static aph_value never_reached(aph_value branches)
{
    aph_value all = aph_array(0, NULL), name, count;
    for (size_t i = 0; aph_pair_at(branches, i, &name, &count); i++)
        if (count == aph_int(0))
            all = aph_push(all, name);
    return all;
}

static aph_value names_of_waived(const aph_model *m)
{
    aph_value all = aph_array(0, NULL);
    for (size_t i = 0; i < waiver_count(m); i++)
        if (m->waived >> i & 1)
            all = aph_push(all, aph_str(m->waivers[i].name));
    return all;
}

static aph_value result_of(const survey *q)
{
    aph_value r = aph_record("verdict", aph_field(q->last, "verdict"), "why", aph_field(q->last, "why"), "passed",
                             is_verdict(q->last, "pass") ? aph_field(q->last, "messages") : aph_int(0));
    r = aph_put(r, "messages", aph_int((int64_t)q->messages));
    r = aph_put(r, "runs", aph_int((int64_t)q->runs));
    r = aph_put(r, "ns", aph_int(q->ns));
    r = aph_put(r, "undecided", aph_int((int64_t)q->undecided));
    r = aph_put(r, "waived", names_of_waived(&q->model));
    r = aph_put(r, "findings", findings_of(q));
    r = aph_put(r, "never", never_reached(q->branches));
    if (q->choices)
        r = aph_put(aph_put(r, "choices", aph_field(q->choices, "choices")), "observations",
                    aph_field(q->choices, "observations"));
    return r;
}

bool aphi_survey_run(const aphi_survey_options *options, aph_value *result)
{
    survey q = {.options = options, .model = *options->model, .findings = aph_array(0, NULL), .branches = aph_object()};
    aph_root_add(mark_survey, &q);
    bool go_on = find_violations(&q);
    if (go_on && !(is_verdict(q.last, "pass") && find_choices(&q, q.last)))
        go_on = sample_choices(&q);
    if (go_on) {
        /* Checking may reclaim unmarked values, so it comes before any value is made from the findings. */
        for (size_t i = 0; i < aph_count(q.findings); i++)
            q.needs[i] = waiver_of(&q, aph_at(q.findings, i), q.waived_for[i]);
        *result = result_of(&q);
    }
    aph_root_remove(mark_survey, &q);
    return go_on;
}
