/* SPDX-License-Identifier: Apache-2.0
 *
 * cmd_survey.c - antiphon survey SPEC: what does a server choose, and which clauses does it break? A page for each server.
 *
 * Idea:       test it with nothing waived. What is found is made small, and its trace is judged again with each waiver
 *             of the model: one that explains it is waived from then on, and the next test goes past it. That ends when
 *             a test passes, or with a violation that no waiver explains. Each test is one of `antiphon test`.
 * Needed:     one small trace may be explained by several waivers. In the end, those without which all traces are still
 *             explained by the others are taken back, and the server is tested once more. So a waiver that is left is
 *             needed: one of the traces that are shown fails without it.
 * Choices:    counted in the explanation of one run, afterwards, from its trace: testing is no slower for them.
 * Files:      DIR/NAME.html and DIR/NAME.json for each server, in DIR/NAME its scripts, traces and the pages of its
 *             findings; DIR/index.html is made of all NAME.json that are there, also of earlier surveys. */
#include "cli/commands.h"

#include "base/buffer.h"
#include "cli/exit_codes.h"
#include "subject/presets.h"
#include <antiphon/check.h>
#include "report/survey_page.h"

#include <dirent.h>
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
    SERVERS_MAX = 32,
    ROUNDS_MAX = 24,   /* of one server: each ends with a finding, or a pass */
    JUDGE_MS = 20000,
    SMALL = 5,         /* requests: a finding with more is looked for again, with other seeds */
    TRIES = 10,
    VALUES_SHOWN = 4,  /* different values of an unknown; of one with more, they tell nothing */
    PAGE_MAX = 1 << 24,
};
#define ROUND_NS INT64_C(8000000000) /* no further tries after so long */
#define NONE SIZE_MAX

typedef struct server {
    const char *option, *subject; /* "--subject" or "--run", and what follows it */
    char name[64];                /* of its files */
    char folder[4096];
} server;

typedef struct survey {
    const char *text;             /* SPEC */
    aph_loaded_model spec;
    server servers[SERVERS_MAX];
    size_t count;
    const char *folder, *messages, *time, *shrink_time, *connections, *pipeline;
    uint64_t seed;
} survey;

/* One server, while it is looked at. */
typedef struct inquiry {
    const survey *survey;
    const server *server;
    aph_model model;              /* with what is waived so far */
    aph_value findings;           /* an array, in the order in which they were found */
    aph_value last, best;         /* what the last test came to, and the smallest of this round */
    aph_value branches, choices, result;
    size_t waived_for[ROUNDS_MAX];       /* by finding: the waiver that went past it, or NONE */
    const aph_waiver *needs[ROUNDS_MAX]; /* by finding, in the end; NULL: no waiver explains it */
    uint64_t messages, runs;
    int64_t ns;
    unsigned rounds, tests;
} inquiry;

static void mark_inquiry(void *context)
{
    const inquiry *q = context;
    const aph_value all[] = {q->findings, q->last, q->best, q->branches, q->choices, q->result};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        aph_mark(all[i]);
}

static const char *text_in(aph_value object, const char *name, char *text, size_t size)
{
    aph_value v = aph_field(object, name);
    size_t n = 0;
    const char *bytes = v && aph_is_str(v) ? aph_bytes_of(&v, &n) : "";
    snprintf(text, size, "%.*s", (int)n, bytes);
    return text;
}

static int64_t number_in(aph_value object, const char *name)
{
    aph_value v = aph_field(object, name);
    return v && aph_is_int(v) ? aph_int_of(v) : 0;
}

/* ---- one test ---------------------------------------------------------------------------------------------------- */

/* The words of `antiphon test`. */
typedef struct command {
    char *words[32 + 2 * 64]; /* --waive for each of 64 waivers */
    int count;
} command;

static void say(command *c, const char *word)
{
    c->words[c->count++] = (char *)(uintptr_t)word;
}

static void say_two(command *c, const char *option, const char *value)
{
    say(c, option);
    say(c, value);
}

static command test_command(const inquiry *q, const char *folder)
{
    const survey *s = q->survey;
    command c = {.count = 0};
    say_two(&c, "test", s->text);
    say_two(&c, q->server->option, q->server->subject);
    say_two(&c, "--folder", folder);
    say_two(&c, "--pipeline", s->pipeline);
    return c;
}

/* One after the other as words, so that --waive is given as a user would. */
static void say_waived(command *c, const aph_model *m)
{
    for (size_t i = 0; m->waivers && m->waivers[i].name; i++)
        if (m->waived >> i & 1)
            say_two(c, "--waive", m->waivers[i].name);
}

static bool is_verdict(aph_value found, const char *verdict)
{
    return aph_str_is(aph_field(found, "verdict"), verdict);
}

static bool is_against(aph_value found)
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

/* Negative: q->last is what came of it; else an exit code. */
static int test_with(inquiry *q, uint64_t seed, bool is_short)
{
    command c = test_command(q, q->server->folder);
    char page[4200], number[32];
    snprintf(page, sizeof page, "%s/%u.html", q->server->folder, ++q->tests);
    snprintf(number, sizeof number, "%llu", (unsigned long long)seed);
    say_two(&c, "--messages", is_short ? "500" : q->survey->messages);
    say_two(&c, "--connections", is_short ? "2" : q->survey->connections);
    say_two(&c, "--time", q->survey->time);
    say_two(&c, "--shrink-time", q->survey->shrink_time);
    say_two(&c, "--seed", number);
    say_two(&c, "--report", page);
    say_waived(&c, &q->model);
    int code = aphi_test_quietly(c.count, c.words, &q->last);
    if (!q->last || code == APHI_EXIT_INTERRUPTED || code == APHI_EXIT_WRITE || is_verdict(q->last, "trouble"))
        return code;
    if (!is_against(q->last))
        unlink(page); /* it would show only the last moments of a long run */
    q->last = aph_put(q->last, "page", aph_strf("%s/%u.html", q->server->name, q->tests));
    q->messages += (uint64_t)number_in(q->last, "messages");
    q->runs += (uint64_t)number_in(q->last, "runs");
    q->ns += number_in(q->last, "ns");
    q->branches = sum_of(q->branches, aph_field(q->last, "branches"));
    return -1;
}

/* A violation that was met in a long run may stay large; short runs with other seeds and few connections may meet it,
 * too. And a run that could not be judged may be followed by one that can. */
static bool is_poor(aph_value found)
{
    return is_against(found) ? number_in(found, "requests") > SMALL : !is_verdict(found, "pass");
}

static bool is_better(aph_value found, aph_value than)
{
    if (!is_against(than))
        return is_against(found) || is_verdict(found, "pass");
    return is_against(found) && number_in(found, "requests") < number_in(than, "requests");
}

static int test_once(inquiry *q)
{
    int64_t begun = q->ns;
    int code = test_with(q, q->survey->seed, false);
    q->best = q->last;
    for (unsigned i = 1; i < TRIES && code < 0 && is_poor(q->best) && (i == 1 || q->ns - begun < ROUND_NS); i++) {
        code = test_with(q, q->survey->seed + i, is_against(q->best));
        if (code < 0 && is_better(q->last, q->best))
            q->best = q->last;
    }
    q->last = q->best;
    return code;
}

/* ---- waivers ----------------------------------------------------------------------------------------------------- */

static aph_check_result *judged(const inquiry *q, const char *trace, uint64_t waived, bool explain)
{
    aph_model model = q->model;
    aph_check_options options = {.oracle = {.environment = "tcp", .patient = true, .time_ms = JUDGE_MS,
                                            .memory = (size_t)1024 << 20},
                                 .format = APH_FORMAT_JSONL, .explain = explain};
    model.waived = waived;
    return aph_check_file(&model, trace, &options);
}

static bool explained(const inquiry *q, aph_value finding, uint64_t waived)
{
    char trace[4096];
    aph_check_result *r = judged(q, text_in(finding, "trace", trace, sizeof trace), waived, false);
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

/* Waives what explains the finding, with what is waived already, and says which. NONE: nothing does. */
static size_t waive(inquiry *q, aph_value finding)
{
    for (size_t i = 0; is_verdict(finding, "fail") && i < waiver_count(&q->model); i++) {
        uint64_t more = q->model.waived | UINT64_C(1) << i;
        if (more != q->model.waived && explained(q, finding, more)) {
            q->model.waived = more;
            return i;
        }
    }
    return NONE;
}

static bool all_explained(const inquiry *q, uint64_t waived)
{
    for (size_t i = 0; i < aph_count(q->findings); i++)
        if (is_verdict(aph_at(q->findings, i), "fail") && !explained(q, aph_at(q->findings, i), waived))
            return false;
    return true;
}

/* Takes back what the others explain as well. True if something was. */
static bool take_back(inquiry *q)
{
    uint64_t before = q->model.waived;
    for (size_t i = 0; i < waiver_count(&q->model); i++) {
        uint64_t fewer = q->model.waived & ~(UINT64_C(1) << i);
        if (fewer != q->model.waived && all_explained(q, fewer))
            q->model.waived = fewer;
    }
    return q->model.waived != before;
}

static bool needs(const inquiry *q, aph_value finding, size_t waiver)
{
    return waiver != NONE && (q->model.waived >> waiver & 1) && explained(q, finding, q->model.waived) &&
           !explained(q, finding, q->model.waived & ~(UINT64_C(1) << waiver));
}

/* The waiver that the finding needs, or NULL: rather the one that was waived for it, as a large finding may need those
 * of earlier ones, too. */
static const aph_waiver *waiver_of(const inquiry *q, aph_value finding, size_t waived_for)
{
    if (!is_verdict(finding, "fail"))
        return NULL;
    if (needs(q, finding, waived_for))
        return &q->model.waivers[waived_for];
    for (size_t i = 0; i < waiver_count(&q->model); i++)
        if (needs(q, finding, i))
            return &q->model.waivers[i];
    return NULL;
}

/* Judging may reclaim what nobody marks, so this comes before anything is made of the findings. */
static void find_needs(inquiry *q)
{
    for (size_t i = 0; i < aph_count(q->findings); i++)
        q->needs[i] = waiver_of(q, aph_at(q->findings, i), q->waived_for[i]);
}

/* ---- findings ---------------------------------------------------------------------------------------------------- */

static bool is_among(aph_value names, aph_value name)
{
    for (size_t i = 0; names && i < aph_count(names); i++)
        if (aph_at(names, i) == name)
            return true;
    return false;
}

/* Those of the first answer that was allowed, as far as they led to all: the others say which answer it is. If none led
 * to all, those of the first. */
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

/* What a waiver is about ends its summary, in brackets. */
static aph_value clauses_of_waiver(const aph_waiver *w)
{
    const char *open = strrchr(w->summary, '('), *close = open ? strchr(open, ')') : NULL;
    return close ? APH_ARRAY_OF(aph_bytes(open + 1, (size_t)(close - open - 1))) : aph_array(0, NULL);
}

/* As it is kept: what a page shows, and no more. */
static aph_value slimmed(aph_value finding, const aph_waiver *w)
{
    static const char *const kept[] = {"verdict", "why", "reject_ns", "shrink_ns", "requests", "reproduced",
                                       "confirmed", "minimal", "picture", "replay", "page"};
    aph_value slim = aph_record("clauses", w ? clauses_of_waiver(w) : clauses_of(finding));
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
        if (aph_field(finding, kept[i]))
            slim = aph_put(slim, kept[i], aph_field(finding, kept[i]));
    return w ? aph_put(aph_put(slim, "waiver", aph_str(w->name)), "summary", aph_str(w->summary)) : slim;
}

/* Of several that one waiver explains, the smallest is shown. */
static aph_value findings_of(const inquiry *q)
{
    aph_value all = aph_array(0, NULL);
    for (size_t i = 0; i < aph_count(q->findings); i++) {
        aph_value one = slimmed(aph_at(q->findings, i), q->needs[i]), next = aph_array(0, NULL);
        aph_value waiver = aph_field(one, "waiver");
        for (size_t k = 0; k < aph_count(all); k++) {
            aph_value other = aph_at(all, k);
            bool same = waiver && aph_field(other, "waiver") == waiver;
            if (same && number_in(other, "requests") <= number_in(one, "requests"))
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

/* One way more, or as often again. */
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

/* Adds up, by the name of the first alternative: places in the model that choose alike are one choice, also if one has
 * an alternative more. */
static aph_value with_ways(aph_value choices, aph_value place)
{
    aph_value ways = aph_field(place, "ways"), name = aph_at(aph_at(ways, 0), 0), known = aph_get(choices, name);
    aph_value sums = known ? aph_field(known, "ways") : aph_array(0, NULL);
    for (size_t i = 0; i < aph_count(ways); i++)
        sums = with_way(sums, aph_at(ways, i));
    return aph_set(choices, name, aph_put(known ? known : place, "ways", sums));
}

/* An unknown that was only ever a few numbers is worth telling: the status of a refusal, say. */
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

/* Of the explanation of a run, part by part. */
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

/* False if nothing explains the trace, or not in time. */
static bool find_choices(inquiry *q, aph_value passed)
{
    char trace[4096];
    text_in(passed, "trace", trace, sizeof trace);
    aph_check_result *r = judged(q, trace, q->model.waived, true);
    bool explained = r->explanation;
    if (explained)
        q->choices = aph_record("choices", choices_in(&q->model, r->explanation), "observations",
                                aph_int((int64_t)r->observations));
    aph_check_result_free(r);
    return explained;
}

/* A server that does not pass may still have short runs without a violation, if all that can be waived is. */
static int sample_choices(inquiry *q)
{
    static const char *const lengths[] = {"1600", "800", "400", "400", "200", "200", "100", "100", "50", "50"};
    uint64_t waived = q->model.waived, all = waiver_count(&q->model);
    int code = -1;
    q->model.waived = all ? UINT64_MAX >> (64 - all) : 0;
    for (unsigned i = 0; i < sizeof lengths / sizeof *lengths && !q->choices && code < 0; i++) {
        char folder[4200], seed[32]; /* a folder where no script is that failed */
        snprintf(folder, sizeof folder, "%s/sample-%u", q->server->folder, i + 1);
        snprintf(seed, sizeof seed, "%llu", (unsigned long long)q->survey->seed + i);
        command c = test_command(q, folder);
        aph_value found;
        say_two(&c, "--messages", lengths[i]);
        say_two(&c, "--seed", seed);
        say_two(&c, "--time", q->survey->time);
        say(&c, "--no-shrink");
        say_waived(&c, &q->model);
        if (aphi_test_quietly(c.count, c.words, &found) == APHI_EXIT_INTERRUPTED)
            code = APHI_EXIT_INTERRUPTED;
        else if (found && is_verdict(found, "pass"))
            find_choices(q, found);
    }
    q->model.waived = waived;
    return code;
}

/* ---- one server -------------------------------------------------------------------------------------------------- */

static void tell_round(const inquiry *q, const aph_value finding, const aph_waiver *w)
{
    char why[600];
    printf("%-10s %s after %.2f s, %lld requests: %s%s%s\n", q->server->name,
           text_in(finding, "verdict", (char[32]){0}, 32), (double)number_in(finding, "reject_ns") / 1e9,
           (long long)number_in(finding, "requests"), w ? w->name : text_in(finding, "why", why, sizeof why),
           w ? ": " : "", w ? w->summary : "");
    fflush(stdout);
}

/* False if nothing can be waived for it. */
static bool keep_finding(inquiry *q)
{
    size_t i = aph_count(q->findings);
    q->findings = aph_push(q->findings, q->last);
    q->waived_for[i] = waive(q, q->last);
    tell_round(q, q->last, q->waived_for[i] == NONE ? NULL : &q->model.waivers[q->waived_for[i]]);
    return q->waived_for[i] != NONE;
}

/* Tests until nothing is found, or nothing can be waived. Negative, or an exit code. */
static int find_all(inquiry *q)
{
    while (q->rounds++ < ROUNDS_MAX) {
        int code = test_once(q);
        if (code >= 0)
            return code;
        if (is_against(q->last)) {
            if (!keep_finding(q))
                return -1;
        } else if (!is_verdict(q->last, "pass") || !take_back(q)) {
            return -1;
        }
    }
    return -1;
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

static aph_value result_of(const inquiry *q)
{
    char version[200], now[40];
    time_t seconds = time(NULL);
    strftime(now, sizeof now, "%Y-%m-%d %H:%M UTC", gmtime(&seconds));
    version[0] = 0;
    if (!strcmp(q->server->option, "--subject"))
        aphi_preset_version(q->server->subject, version, sizeof version);
    aph_value r = aph_record("survey", aph_int(1), "name", aph_str(q->server->name), "subject",
                             aph_str(q->server->subject), "model", aph_str(q->model.name), "version", aph_str(version),
                             "when", aph_str(now), "verdict", aph_field(q->last, "verdict"), "why",
                             aph_field(q->last, "why"), "passed",
                             is_verdict(q->last, "pass") ? aph_field(q->last, "messages") : aph_int(0));
    r = aph_put(r, "messages", aph_int((int64_t)q->messages));
    r = aph_put(r, "runs", aph_int((int64_t)q->runs));
    r = aph_put(r, "ns", aph_int(q->ns));
    r = aph_put(r, "waived", names_of_waived(&q->model));
    r = aph_put(r, "findings", findings_of(q));
    r = aph_put(r, "never", never_reached(q->branches));
    if (q->choices)
        r = aph_put(aph_put(r, "choices", aph_field(q->choices, "choices")), "observations",
                    aph_field(q->choices, "observations"));
    return r;
}

/* ---- files ------------------------------------------------------------------------------------------------------- */

static bool made_folder(const char *path)
{
    if (mkdir(path, 0777) == 0 || errno == EEXIST)
        return true;
    fprintf(stderr, "antiphon: %s cannot be made: %s\n", path, strerror(errno));
    return false;
}

static bool made_folders(const char *path)
{
    char part[4096];
    for (size_t i = 1; path[i] && i < sizeof part; i++)
        if (path[i] == '/') {
            snprintf(part, sizeof part, "%.*s", (int)i, path);
            if (!made_folder(part))
                return false;
        }
    return made_folder(path);
}

static bool write_file(const char *folder, const char *name, const char *ending, const aphi_buffer *text)
{
    char path[4400];
    snprintf(path, sizeof path, "%s/%s%s", folder, name, ending);
    FILE *out = fopen(path, "w");
    bool fine = out && fwrite(text->data, 1, text->n, out) == text->n;
    fine &= out && !fclose(out);
    if (!fine)
        fprintf(stderr, "antiphon: %s cannot be written: %s\n", path, strerror(errno));
    return fine;
}

static bool write_server(const inquiry *q)
{
    const char *folder = q->survey->folder, *name = q->server->name;
    aphi_buffer page = {0}, json = {0};
    size_t n;
    char *text = aph_json_text(q->result, &n);
    aphi_buffer_add(&json, text, n);
    aphi_buffer_byte(&json, '\n');
    aphi_survey_page_write(&page, q->result);
    bool fine = write_file(folder, name, ".html", &page) && write_file(folder, name, ".json", &json);
    free(text);
    aphi_buffer_free(&page);
    aphi_buffer_free(&json);
    return fine;
}

/* A result of this or an earlier survey; APH_NIL if it is none. */
static aph_value read_result(const char *folder, const char *name)
{
    char path[4400];
    aph_value v = APH_NIL;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *in = fopen(path, "r");
    aphi_buffer text = {0};
    if (in) {
        aphi_buffer_read(&text, in, PAGE_MAX);
        fclose(in);
    }
    if (!text.n || !aph_json_read(text.data, text.n, &v, NULL) || aph_field(v, "survey") != aph_int(1))
        v = APH_NIL;
    aphi_buffer_free(&text);
    return v;
}

static int is_result(const struct dirent *entry)
{
    size_t n = strlen(entry->d_name);
    return n > 5 && !strcmp(entry->d_name + n - 5, ".json");
}

static bool write_index(const survey *s)
{
    struct dirent **entries;
    int n = scandir(s->folder, &entries, is_result, alphasort);
    aph_value all = aph_array(0, NULL);
    for (int i = 0; i < n; i++) {
        aph_value one = read_result(s->folder, entries[i]->d_name);
        if (one)
            all = aph_push(all, one);
        free(entries[i]);
    }
    if (n >= 0)
        free(entries);
    aphi_buffer page = {0};
    aphi_survey_page_index(&page, all);
    bool fine = write_file(s->folder, "index", ".html", &page);
    aphi_buffer_free(&page);
    return fine;
}

/* ---- all of it --------------------------------------------------------------------------------------------------- */

static void tell_server(const inquiry *q)
{
    char verdict[32];
    printf("%-10s %s after %llu messages in %.1f s; %zu known violations waived, %zu branches not reached\n",
           q->server->name, text_in(q->last, "verdict", verdict, sizeof verdict), (unsigned long long)q->messages,
           (double)q->ns / 1e9, aph_count(aph_field(q->result, "waived")), aph_count(aph_field(q->result, "never")));
    fflush(stdout);
}

static int inquire(const survey *s, const server *which)
{
    inquiry q = {.survey = s, .server = which, .model = *s->spec.model, .findings = aph_array(0, NULL),
                 .branches = aph_object()};
    aph_root_add(mark_inquiry, &q);
    int code = made_folders(which->folder) ? find_all(&q) : APHI_EXIT_WRITE;
    if (code < 0 && !(is_verdict(q.last, "pass") && find_choices(&q, q.last)))
        code = sample_choices(&q);
    if (code < 0) {
        find_needs(&q);
        q.result = result_of(&q);
        tell_server(&q);
        code = write_server(&q) ? APHI_EXIT_PASS : APHI_EXIT_WRITE;
    }
    aph_root_remove(mark_inquiry, &q);
    return code;
}

static int look_at_all(survey *s)
{
    int code = 0;
    for (size_t i = 0; i < s->count && !code; i++)
        code = inquire(s, &s->servers[i]);
    if (code != APHI_EXIT_WRITE && !write_index(s)) /* of those that there are, if one could not be looked at */
        code = code ? code : APHI_EXIT_WRITE;
    if (!code)
        printf("see %s/index.html\n", s->folder);
    return code;
}

enum { SUBJECT = 256, RUN, OUT, MESSAGES, TIME, SHRINK_TIME, SEED, CONNECTIONS, PIPELINE, HELP };

static const struct option known[] = {
    {"subject", required_argument, NULL, SUBJECT},   {"run", required_argument, NULL, RUN},
    {"out", required_argument, NULL, OUT},           {"messages", required_argument, NULL, MESSAGES},
    {"time", required_argument, NULL, TIME},         {"shrink-time", required_argument, NULL, SHRINK_TIME},
    {"seed", required_argument, NULL, SEED},         {"connections", required_argument, NULL, CONNECTIONS},
    {"pipeline", required_argument, NULL, PIPELINE}, {"help", no_argument, NULL, HELP},
    {NULL, 0, NULL, 0}};

static void help(void)
{
    fputs("usage: antiphon survey [OPTION]... SPEC\n\n"
          "What does a server choose where the model SPEC lets it, which clauses does it break, and what was not\n"
          "reached? Tests each server again and again: what is found is made small and, if the model has a waiver\n"
          "that explains it, waived. Writes a page for each server and an index of all.\n\n"
          "  --subject NAME      a server that Antiphon knows; as often as wanted\n"
          "  --run COMMAND       a server to start with sh, as for antiphon test; as often as wanted\n"
          "  --out DIR           where the pages go (default: survey)\n"
          "  --messages N        a server passes after so many without a violation (default: 20000)\n"
          "  --time SECONDS      or after so long (default: 10)\n"
          "  --shrink-time S     make a violation small for at most so long (default: 30)\n"
          "  --connections N     at most so many at once (default: 10)\n"
          "  --pipeline N        at most so many requests in flight on one (default: 1)\n"
          "  --seed N            what chance decides (default: 1)\n"
          "  --help              this\n\n"
          "exit codes: 0 the pages were written, whatever they say; 4 they could not be; 5 interrupted; 51 no "
          "subject.\n",
          stdout);
}

/* 0, or an exit code with a message. */
static int add_server(survey *s, const char *option, const char *subject)
{
    if (s->count == SERVERS_MAX)
        return aphi_usage("at most %d servers at once", SERVERS_MAX);
    server *new = &s->servers[s->count++];
    *new = (server){.option = option, .subject = subject};
    if (!strcmp(option, "--subject") && strlen(subject) < sizeof new->name && !strchr(subject, '/'))
        snprintf(new->name, sizeof new->name, "%s", subject);
    else
        snprintf(new->name, sizeof new->name, "server-%zu", s->count);
    return 0;
}

static int apply(survey *s, int option)
{
    switch (option) {
    case SUBJECT: return add_server(s, "--subject", optarg);
    case RUN: return add_server(s, "--run", optarg);
    case OUT: s->folder = optarg; return *optarg ? 0 : aphi_usage("--out: a folder is wanted");
    case MESSAGES: s->messages = optarg; return 0;
    case TIME: s->time = optarg; return 0;
    case SHRINK_TIME: s->shrink_time = optarg; return 0;
    case SEED: return aphi_take_number("seed", 0, UINT64_MAX, &s->seed);
    case CONNECTIONS: s->connections = optarg; return 0;
    default: s->pipeline = optarg; return 0;
    }
}

/* Negative: go on; else the exit code. */
static int read_options(survey *s, int count, char **words)
{
    int option, code;
    optind = 1;
    opterr = 0;
    while ((option = getopt_long(count, words, "h", known, NULL)) != -1) {
        if (option == HELP || option == 'h') {
            help();
            return APHI_EXIT_PASS;
        }
        if (option == '?')
            return aphi_usage("%s: not understood; see antiphon survey --help", words[optind - 1]);
        if ((code = apply(s, option)))
            return code;
    }
    if (count - optind != 1)
        return aphi_usage("survey takes one model; see antiphon survey --help");
    if (!s->count)
        return aphi_usage("which servers? --subject NAME or --run COMMAND is wanted, at least once");
    s->text = words[optind];
    for (size_t i = 0; i < s->count; i++)
        snprintf(s->servers[i].folder, sizeof s->servers[i].folder, "%s/%s", s->folder, s->servers[i].name);
    return -1;
}

int aphi_command_survey(int count, char **words)
{
    survey s = {.folder = "survey", .messages = "20000", .time = "10", .shrink_time = "30", .seed = 1,
                .connections = "10", .pipeline = "1"};
    aph_load_error error;
    int code = read_options(&s, count, words);
    if (code >= 0)
        return code;
    if (!aph_model_load(s.text, &s.spec, &error)) {
        fprintf(stderr, "antiphon: %s\n", error.message);
        return (int)aphi_exit_of_load_error(&error);
    }
    code = look_at_all(&s);
    aph_model_unload(&s.spec);
    return code;
}
