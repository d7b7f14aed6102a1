/* SPDX-License-Identifier: Apache-2.0
 *
 * compare.c - comparison of the oracle with the slow deciders; see compare.h. */
#include "compare.h"

#include "base/clock.h"
#include "derived.h"
#include "endpoints.h"
#include "enumerate.h"
#include "oracle/explanation.h"
#include "oracle/replay.h"
#include "oracle/search.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* ---- how much ---------------------------------------------------------------------------------------------------- */

uint64_t compare_seed(void)
{
    const char *text = getenv("ANTIPHON_SEED");
    return text ? strtoull(text, NULL, 10) : 1;
}

#define FEWEST 500 /* with fewer cases, the shares of valid and invalid histories vary too much */

size_t compare_cases(size_t usual)
{
    const char *text = getenv("ANTIPHON_CASES");
#if defined(__SANITIZE_ADDRESS__)
    usual = usual > 10 * FEWEST ? usual / 10 : usual < FEWEST ? usual : FEWEST;
#endif
    return text ? usual * strtoull(text, NULL, 10) / 100 : usual;
}

bool compare_report(const char *name, const compare_count *count)
{
    printf("%s: %zu histories, %zu valid, %zu invalid; %zu verdicts of the oracle, %zu compared with the derivation\n",
           name, count->histories, count->valid, count->invalid, count->judged, count->slow);
    if (count->unprobed)
        printf("  %zu of %zu probes were too expensive\n", count->unprobed, count->probed);
    return count->valid * 10 >= count->histories && count->invalid * 10 >= count->histories &&
           count->unprobed * 100 <= count->probed;
}

/* ---- asking the oracle ------------------------------------------------------------------------------------------- */

/* In a paired history, the response to the request at i; h->count if there is none. */
static size_t answer_to(const history *h, size_t i)
{
    int64_t connection = h->seen[i].connection;
    size_t skip = 0;
    for (size_t k = 0; k < i; k++)
        skip += h->seen[k].sent && h->seen[k].connection == connection;
    for (size_t k = 0; k < h->count; k++)
        if (!h->seen[k].sent && !h->seen[k].quiet && h->seen[k].connection == connection && skip-- == 0)
            return k;
    return h->count;
}

/* Returns true if nothing is sent on the connection between the request at i and `end`. */
static bool is_alone_until(const history *h, size_t i, size_t end)
{
    for (size_t k = i + 1; k < end; k++)
        if (h->seen[k].sent && h->seen[k].connection == h->seen[i].connection)
            return false;
    return true;
}

/* Returns true if all earlier requests on the connection ended before the request at i was sent. */
static bool is_only_pending(const history *h, size_t i)
{
    for (size_t k = 0; k < i; k++)
        if (h->seen[k].sent && h->seen[k].connection == h->seen[i].connection && answer_to(h, k) > i)
            return false;
    return true;
}

/* Marks some requests that are alone on their connection as lost; for these, LOST and NEVER are equivalent. The hints
 * are random, because no verdict may depend on them. */
static aph_lookahead lookahead_of(const history *h, size_t i)
{
    size_t end = answer_to(h, i);
    aph_lookahead known = {.future = APH_FUTURE_NEVER, .alone = is_alone_until(h, i, end)};
    if (end < h->count) {
        known.future = APH_FUTURE_ANSWER;
        known.answer = h->seen[end].message;
        known.order = end;
    } else if (known.alone && is_only_pending(h, i) && i % 2 == 0) {
        known.future = APH_FUTURE_LOST;
    }
    known.shown = i * 7 % 11;
    known.sought = i * 5 % 13;
    return known;
}

static aph_verdict feed_sent(aph_oracle *o, const history *h, size_t i, compare_mode mode, bool rpc)
{
    aph_lookahead known = {.future = APH_FUTURE_OPEN};
    if (rpc && (mode == COMPARE_LOOKAHEAD || mode == COMPARE_TRIM))
        known = lookahead_of(h, i);
    return aph_oracle_sent(o, h->seen[i].connection, h->seen[i].message, &known, NULL);
}

/* Called after the observation at i. Reports the loss of a request that was sent up to 2 observations earlier. */
static aph_verdict feed_lost(aph_oracle *o, const history *h, size_t i)
{
    uint64_t request = 0;
    for (size_t k = 0; k <= i; k++) {
        if (!h->seen[k].sent)
            continue;
        if (k + k % 3 == i && answer_to(h, k) == h->count && is_alone_until(h, k, h->count))
            return aph_oracle_lost(o, request);
        request++;
    }
    return APH_PASS;
}

static void mark_history(void *context)
{
    const history *h = context;
    for (size_t i = 0; i < h->count; i++)
        aph_mark(h->seen[i].message);
}

/* Returns the history as the replay needs it. The caller frees the events. */
static aphi_history for_replay(const aph_oracle *o, const aph_model *model, const history *h, bool quiets)
{
    aphi_history all = {.paired = model->rpc && !o->env.lossy, .lossy = o->env.lossy, .buffer = o->env.buffer};
    size_t *at = calloc(h->count + 1, sizeof *at); /* indices among the events */
    all.events = calloc(h->count + 1, sizeof *all.events);
    assert(all.events && at);
    for (size_t i = 0; i < h->count; i++) {
        const history_seen *seen = &h->seen[i];
        at[i] = all.count;
        if (!seen->quiet || quiets)
            all.events[all.count++] = (aphi_history_event){
                .answer = !seen->sent && !seen->quiet, .quiet = seen->quiet,
                .connection = seen->quiet ? INT64_MIN : seen->connection, .message = seen->message, .number = i,
                .other = SIZE_MAX};
    }
    for (size_t i = 0; all.paired && i < h->count; i++) {
        size_t end = h->seen[i].sent ? answer_to(h, i) : h->count;
        if (end < h->count) {
            all.events[at[i]].other = at[end];
            all.events[at[end]].other = at[i];
        }
    }
    free(at);
    return all;
}

/* Returns true if the replay confirms the explanation of an accepted history. */
static bool explanation_holds(const aph_oracle *o, const aph_model *model, const history *h)
{
    aphi_history all = for_replay(o, model, h, true);
    char why[200] = "the solver gave up";
    aph_value explanation = aphi_explain(o, &all);
    bool holds = explanation && aphi_replay(model, &all, explanation, why, sizeof why);
    if (!holds)
        printf("the explanation does not hold: %s\n", why);
    free(all.events);
    return holds;
}

/* If the model explains the history without its quiet marks, the replay must not confirm this explanation for a history
 * that has none with them. */
static bool replay_rejects(const aph_model *model, const history *h, const char *environment)
{
    char error[200], why[200];
    aph_oracle_options options = {.environment = environment, .order = true, .solver_ms = 20000};
    aph_oracle *o = aph_oracle_open(model, &options, error, sizeof error);
    aph_verdict verdict = APH_PASS;
    aph_root_add(mark_history, (void *)h);
    for (size_t i = 0; i < h->count && verdict == APH_PASS; i++)
        if (!h->seen[i].quiet)
            verdict = h->seen[i].sent ? feed_sent(o, h, i, COMPARE_LIVE, model->rpc)
                                      : aph_oracle_received(o, h->seen[i].connection, h->seen[i].message);
    aphi_history all = for_replay(o, model, h, true), rest = for_replay(o, model, h, false);
    aph_value explanation = verdict == APH_PASS ? aphi_explain(o, &rest) : APH_NIL;
    bool rejects = !explanation || !aphi_replay(model, &all, explanation, why, sizeof why);
    free(all.events);
    free(rest.events);
    aph_root_remove(mark_history, (void *)h);
    aph_oracle_close(o);
    return rejects;
}

static judged judge_once(const aph_model *model, const history *h, const char *environment, compare_mode mode,
                         bool tell_apart, bool *repeat)
{
    char error[200];
    aph_oracle_options options = {.environment = environment,
                                  .ignore_promises = mode == COMPARE_IGNORE_PROMISES,
                                  .order = true,
                                  .tell_apart = tell_apart,
                                  .solver_ms = 20000};
    aph_oracle *o = aph_oracle_open(model, &options, error, sizeof error);
    assert(o);
    judged j = {APH_PASS, 0, APH_PASS};
    aph_root_add(mark_history, (void *)h);
    if (mode == COMPARE_HOLD)
        aphi_oracle_hold(o);
    for (; j.at < h->count; j.at++) {
        const history_seen *seen = &h->seen[j.at];
        j.verdict = seen->quiet  ? aphi_oracle_quiet(o)
                    : seen->sent ? feed_sent(o, h, j.at, mode, model->rpc)
                                 : aph_oracle_received(o, seen->connection, seen->message);
        if (j.verdict == APH_PASS && mode == COMPARE_LOST && model->rpc)
            j.verdict = feed_lost(o, h, j.at);
        if (j.verdict == APH_PASS && (mode == COMPARE_TRIM || mode == COMPARE_FORGET_LIVE))
            aphi_search_find_all(o, 1000000);
        if (j.verdict == APH_PASS && mode == COMPARE_PROBE)
            j.may_be_quiet = aphi_oracle_may_be_quiet(o);
        if (j.verdict != APH_PASS)
            break;
    }
    if (j.verdict == APH_PASS)
        j.verdict = aphi_oracle_settle(o);
    const char *message;
    if (aph_oracle_fault(o, &message))
        printf("%s\n", message);
    /* A lost request is no longer ordered before later requests, which the history cannot express. */
    if (j.verdict == APH_PASS && mode != COMPARE_LOST && !explanation_holds(o, model, h))
        j.verdict = APH_UNKNOWN;
    *repeat = aph_oracle_limit(o) == APH_LIMIT_WINDOW;
    aph_root_remove(mark_history, (void *)h);
    aph_oracle_close(o);
    return j;
}

judged compare_judge(const aph_model *model, const history *h, const char *environment, compare_mode mode)
{
    bool repeat;
    judged j = judge_once(model, h, environment, mode, false, &repeat);
    return repeat ? judge_once(model, h, environment, mode, true, &repeat) : j;
}

/* ---- comparing --------------------------------------------------------------------------------------------------- */

static const char *const mode_names[] = {"with lookahead", "live", "live, with losses", "without promises",
                                         "trimmed, with lookahead", "trimmed, live", "live, with probes",
                                         "several at a time"};

/* Without lookahead, the oracle must reject exactly when no explanation is left; with lookahead, it may reject
 * earlier. */
static bool agrees(judged j, enumerated e, compare_mode mode)
{
    if (j.verdict != (e.explained ? APH_PASS : APH_FAIL))
        return false;
    if (mode == COMPARE_HOLD)
        return true;
    return e.explained || (mode == COMPARE_LOOKAHEAD || mode == COMPARE_TRIM ? j.at <= e.reached : j.at == e.reached);
}

/* Returns true if the last probe has the verdict of the history with a quiet mark at its end. */
static bool probe_agrees(const subject *s, const history *h, enumerate_env env, judged j)
{
    history quiet = {0};
    history_copy(&quiet, h);
    history_add_quiet(&quiet);
    enumerated e = enumerate(s, &quiet, env);
    history_deinit(&quiet);
    return j.may_be_quiet == (e.explained ? APH_PASS : APH_FAIL);
}

static const char *const env_names[] = {[ENUMERATE_TCP] = "tcp", [ENUMERATE_SYNC] = "sync", [ENUMERATE_UDP] = "udp",
                                        [ENUMERATE_TCP_1] = "tcp:1", [ENUMERATE_TCP_2] = "tcp:2"};

static bool has_quiet(const history *h)
{
    for (size_t i = 0; i < h->count; i++)
        if (h->seen[i].quiet)
            return true;
    return false;
}

/* Returns true if the mode is meaningful for this history. An abandoned request has no response and occupies no
 * buffer. */
static bool is_meaningful(const subject *s, const history *h, enumerate_env env, compare_mode mode)
{
    if (mode == COMPARE_LIVE || mode == COMPARE_FORGET_LIVE)
        return true;
    if (mode == COMPARE_HOLD)
        return !s->model->rpc && env != ENUMERATE_UDP;
    if (mode == COMPARE_PROBE)
        return !s->model->rpc && env != ENUMERATE_UDP && has_quiet(h);
    if (!s->model->rpc || env == ENUMERATE_UDP)
        return false;
    return mode == COMPARE_IGNORE_PROMISES || (!has_quiet(h) && (mode != COMPARE_LOST || env < ENUMERATE_TCP_1));
}

static int compare_in(const subject *s, const history *h, enumerate_env env, enumerated e, compare_count *count)
{
    for (compare_mode mode = 0; mode < COMPARE_MODES; mode++) {
        if (!is_meaningful(s, h, env, mode))
            continue;
        judged j = compare_judge(s->model, h, env_names[env], mode);
        count->judged++;
        bool agreed = agrees(j, e, mode), probed = mode == COMPARE_PROBE && j.verdict == APH_PASS && h->count;
        bool expensive = probed && j.may_be_quiet == APH_UNKNOWN;
        count->probed += probed;
        count->unprobed += expensive;
        if (agreed && (!probed || expensive || probe_agrees(s, h, env, j)))
            continue;
        if (agreed)
            printf("the probe for quiet says %s\n", aph_verdict_name(j.may_be_quiet));
        printf("%s, %s, %s: the oracle says %s at observation %zu, enumeration %s at %zu\n", s->model->name,
               env_names[env], mode_names[mode], aph_verdict_name(j.verdict), j.at, e.explained ? "pass" : "fail",
               e.reached);
        return 1 + (int)mode + 10 * (int)j.verdict + 100 * (int)env;
    }
    if (e.explained || !has_quiet(h) || replay_rejects(s->model, h, env_names[env]))
        return 0;
    printf("%s, %s: the replay confirms an explanation that the quiet marks exclude\n", s->model->name, env_names[env]);
    return 2000;
}

/* Requests that are lost as in lookahead_of, where a loss changes no verdict. */
static uint64_t lost_requests(const subject *s, const history *h, enumerate_env env)
{
    uint64_t lost = 0;
    bool may_be_lost = s->model->rpc && (env == ENUMERATE_TCP || env == ENUMERATE_SYNC) && !has_quiet(h);
    for (size_t i = 0; may_be_lost && i < h->count && i < 64; i++)
        if (h->seen[i].sent && lookahead_of(h, i).future == APH_FUTURE_LOST)
            lost |= (uint64_t)1 << i;
    return lost;
}

static int compare_derived(const subject *s, const history *h, enumerate_env env, enumerated e, compare_count *count)
{
    bool live = h->count % 2;
    derived_options options = {.live = live, .lost = live ? 0 : lost_requests(s, h, env)};
    derived_result d = derived_decide_in(s, h, env_names[env], options);
    count->slow += d.verdict != DERIVED_GIVES_UP;
    if (d.verdict == DERIVED_GIVES_UP)
        return 0;
    bool same = (d.verdict == DERIVED_ACCEPTS) == e.explained && d.reached == e.reached;
    if (same && (!live || d.verdict == DERIVED_REJECTS || d.quiet == DERIVED_GIVES_UP || env == ENUMERATE_SYNC))
        return 0;
    judged probe = {.may_be_quiet = d.quiet == DERIVED_ACCEPTS ? APH_PASS : APH_FAIL};
    if (same && probe_agrees(s, h, env, probe))
        return 0;
    printf("%s, %s: the derivation says %s at observation %zu, enumeration %s at %zu%s\n", s->model->name,
           env_names[env], d.verdict == DERIVED_ACCEPTS ? "pass" : "fail", d.reached, e.explained ? "pass" : "fail",
           e.reached, same ? ", but they differ on silence" : "");
    return 1000 + (int)d.verdict + 10 * (int)env;
}

int compare_one(const subject *s, const history *h, bool slow, compare_count *count)
{
    enumerated e = enumerate(s, h, ENUMERATE_TCP);
    count->histories++;
    count->valid += e.explained;
    count->invalid += !e.explained;
    int difference = compare_in(s, h, ENUMERATE_TCP, e, count);
    if (!difference && slow)
        difference = compare_derived(s, h, ENUMERATE_TCP, e, count);
    if (difference || !(history_is_sequential(h) || s->model->connections))
        return difference;
    e = enumerate(s, h, ENUMERATE_SYNC);
    difference = compare_in(s, h, ENUMERATE_SYNC, e, count);
    return !difference && slow ? compare_derived(s, h, ENUMERATE_SYNC, e, count) : difference;
}

static int compare_one_in(const subject *s, const history *h, enumerate_env env, bool slow, compare_count *count)
{
    enumerated e = enumerate(s, h, env);
    count->histories++;
    count->valid += e.explained;
    count->invalid += !e.explained;
    int difference = compare_in(s, h, env, e, count);
    return !difference && slow ? compare_derived(s, h, env, e, count) : difference;
}

/* ENUMERATE_ENVS selects all environments of compare_one. */
static bool still_wrong(const subject *s, const history *h, enumerate_env env, int difference)
{
    compare_count unused = {0};
    if (s->model->rpc && env != ENUMERATE_UDP && !history_is_paired(h))
        return false;
    if (s->model->connections && !endpoints_allow(h))
        return false;
    if (env == ENUMERATE_ENVS)
        return compare_one(s, h, true, &unused) == difference;
    return compare_one_in(s, h, env, true, &unused) == difference;
}

/* Removes the observation at i; a request is removed with its response. */
static bool remove_event(const subject *s, history *h, size_t i, enumerate_env env, int difference)
{
    history smaller = {0};
    size_t end = h->seen[i].sent ? answer_to(h, i) : h->count;
    history_copy(&smaller, h);
    history_remove(&smaller, i);
    bool wrong = still_wrong(s, &smaller, env, difference);
    if (!wrong && end < h->count) {
        history_copy(&smaller, h);
        history_remove(&smaller, end);
        history_remove(&smaller, i);
        wrong = still_wrong(s, &smaller, env, difference);
    }
    if (wrong)
        history_copy(h, &smaller);
    history_deinit(&smaller);
    return wrong;
}

static void shrink_history(const subject *s, history *h, enumerate_env env, int difference)
{
    for (size_t i = 0; i < h->count;)
        i = remove_event(s, h, i, env, difference) ? 0 : i + 1;
}

static void make_history(history *h, const subject *s, history_shape shape, aphi_choice *c)
{
    if (s->vary)
        s->vary(c);
    history_make(h, s, shape, c);
    if (aphi_choice_chance(c, 3, 5))
        history_mutate(h, s, shape, c);
}

bool compare_many(const subject *s, size_t histories, unsigned slow)
{
    compare_count count = {0};
    history h = {0};
    int difference = 0;
    int64_t start = aphi_clock_ns();
    for (size_t i = 0; i < histories && !difference; i++) {
        aphi_choice c = aphi_choice_seed(compare_seed() * 1000003 + i);
        history_shape shape = history_random_shape(&c, s);
        if (i % 256 == 0)
            aph_collect();
        make_history(&h, s, shape, &c);
        difference = compare_one(s, &h, aphi_choice_chance(&c, slow, 100), &count);
    }
    if (difference) {
        shrink_history(s, &h, ENUMERATE_ENVS, difference);
        history_print(&h);
    }
    history_deinit(&h);
    bool enough = compare_report(s->model->name, &count);
    printf("  %.1f s\n", (double)(aphi_clock_ns() - start) / 1e9);
    return !difference && enough;
}

static history_shape shape_in(aphi_choice *c, const subject *s, enumerate_env env)
{
    history_shape shape = history_random_shape(c, s);
    shape.sequential = false;
    shape.pipelining = 1 + (unsigned)aphi_choice_below(c, 3);
    shape.quiets = aphi_choice_chance(c, 1, 2);
    shape.buffer = env >= ENUMERATE_TCP_1 ? (size_t)(env - ENUMERATE_TCP_1) + 1 : 0;
    shape.lossy = env == ENUMERATE_UDP;
    shape.paired &= !shape.lossy;
    /* Enumeration is slow with duplicates. */
    size_t most = (s->strings ? 2 : 3) + aphi_choice_chance(c, 1, 5);
    if (shape.lossy && shape.requests > most)
        shape.requests = most;
    return shape;
}

static history_shape crowded(aphi_choice *c, const subject *s, enumerate_env env)
{
    (void)env;
    return (history_shape){.requests = 7 + aphi_choice_below(c, 5),
                           .connections = 3 + (unsigned)aphi_choice_below(c, 3),
                           .pipelining = 2 + (unsigned)aphi_choice_below(c, 2),
                           .whole = aphi_choice_chance(c, 3, 4),
                           .paired = s->model->rpc};
}

enum { DERIVED_EVERY = 5 };

static bool compare_shaped(const subject *s, enumerate_env env, size_t histories,
                           history_shape (*random_shape)(aphi_choice *, const subject *, enumerate_env))
{
    compare_count count = {0};
    history h = {0};
    int difference = 0;
    int64_t start = aphi_clock_ns();
    for (size_t i = 0; i < histories && !difference; i++) {
        aphi_choice c = aphi_choice_seed(compare_seed() * 1000003 + i);
        history_shape shape = random_shape(&c, s, env);
        if (i % 256 == 0)
            aph_collect();
        make_history(&h, s, shape, &c);
        difference = compare_one_in(s, &h, env, i % DERIVED_EVERY == 0, &count);
    }
    if (difference) {
        shrink_history(s, &h, env, difference);
        history_print(&h);
    }
    history_deinit(&h);
    char name[80];
    snprintf(name, sizeof name, "%s, %s", s->model->name, env_names[env]);
    bool enough = compare_report(name, &count);
    printf("  %.1f s\n", (double)(aphi_clock_ns() - start) / 1e9);
    return !difference && enough;
}

bool compare_many_in(const subject *s, enumerate_env env, size_t histories)
{
    return compare_shaped(s, env, histories, shape_in);
}

bool compare_crowded(const subject *s, size_t histories)
{
    return compare_shaped(s, ENUMERATE_TCP, histories, crowded);
}
