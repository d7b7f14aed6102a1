/* SPDX-License-Identifier: Apache-2.0
 *
 * campaign.c - test a subject; see campaign.h.
 *
 * Idea:       scripts that failed before come first, then runs that are short at first, so that what is easily found is
 *             found in a moment and has little to be shrunk, then longer and longer ones. Each begins with a fresh
 *             subject, if it is ours to start. Few connections and many, one request at a time and several take turns.
 *             What fails is shrunk.
 * Invariants: the trace on disk is that of the run in the result: a run that may yet be thrown away has its trace in a
 *             file beside it. */
#include "tester/campaign.h"

#include "base/choice.h"
#include "base/clock.h"
#include "base/memory.h"
#include "generate/generator.h"
#include "tester/corpus.h"
#include "shrink/reorder.h"
#include "tree/guard.h"
#include "value/heap.h"

#include <antiphon/check.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    MESSAGES_FIRST = 48,
    MESSAGES_LAST = 1 << 17,
    LONG = 4096,             /* messages of a run that had better be judged fast */
    FLIGHT_MAX = 16,         /* requests in flight where several go on one connection: their orders are many */
    AGAIN_TRIES = 60,        /* runs of a script that failed, until it fails again */
    AGAIN_TRIES_STOPPED = 5, /* the same if somebody waits for us to end */
    UNDECIDED_MAX = 4,       /* runs */
    KEPT_TRIES = 3,
    DOUBT_RUNS = 10,         /* in which what may have been chance is to happen again */
    LAST_PATIENCES = 8,      /* for the run that confirms a small script, when the time is up */
    CHECK_MS_MAX = 30000,    /* for checking the trace of a run */
    CHECK_MS_MIN = 1000,     /* the same at the start of a campaign, and when its time is up */
};
#define LAST "trace.jsonl"        /* in the folder: the trace of the run in the result */
#define AGAIN "trace.again.jsonl" /* and of one that may take its place */
static const int64_t SHRINKING = 30000000000; /* unless another time is given for it */
static const int64_t PATIENCE_SHRINKING = 60000000; /* a silent subject is shrunk with less patience, */
static const int64_t PATIENCE_SURE = 2000000000;    /* and rejected with more: it may be slow every time */

typedef struct campaign {
    aphi_campaign result;
    const aphi_campaign_options *options;
    int64_t began, until;    /* until: of runs that look for a failure; then of those that make it small */
    aphi_choice choice;
    FILE *log;               /* of the steps of shrinking, or NULL */
    aphi_run_verdict wanted;     /* what a shrunk script must come to */
    aph_value values;        /* what requests often say, while shrinking */
    bool deaf;               /* a signal stops no run any more: the last ones are short, and what they show is wanted */
    unsigned again_runs;     /* of the script that was last run again */
    int64_t patience_ns;     /* since a silence ended after all; 0: as the options say */
    char slow[512];          /* what that was */
    char hindered[512];      /* what kept a candidate from being tried, such as a full disk */
} campaign;

static void say(campaign *c, const char *text)
{
    if (c->options->audience.note)
        c->options->audience.note(c->options->audience.context, text);
}

static bool is_stopped(const campaign *c)
{
    return c->options->stop && *c->options->stop;
}

static void trouble(campaign *c, const char *what)
{
    c->result.outcome = APHI_RUN_TROUBLE;
    snprintf(c->result.why, sizeof c->result.why, "%s", what);
}

/* ---- one run ----------------------------------------------------------------------------------------------------- */

static void forward_progress(void *context, const aphi_run_facts *facts)
{
    campaign *c = context;
    aphi_run_facts all = *facts;
    all.requests += c->result.requests;
    all.answers += c->result.answers;
    all.ns = aphi_clock_ns() - c->began;
    if (c->options->audience.progress)
        c->options->audience.progress(c->options->audience.context, c->result.runs, &all);
}

/* A run on a fresh subject. NULL if the subject does not start: the result says why. */
static aphi_run *fresh_run(campaign *c, const aphi_run_options *how, bool traced)
{
    const aphi_campaign_options *o = c->options;
    aphi_run_options options = *how;
    char error[512];
    if (!aphi_subject_reset(o->subject, error, sizeof error)) {
        c->result.unstarted = true;
        trouble(c, error);
        if (is_stopped(c))
            c->result.outcome = APHI_RUN_STOPPED;
        return NULL;
    }
    options.trace = -1;
    options.trace_name = c->result.trace;
    if (traced) {
        options.trace = open(c->result.trace, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
        if (options.trace < 0) {
            snprintf(error, sizeof error, "%.300s cannot be written: %s; choose another --folder", c->result.trace,
                     strerror(errno));
            trouble(c, error);
            return NULL;
        }
    }
    aphi_run *run = aphi_run_go(&options);
    if (traced && close(options.trace) != 0 && run->outcome != APHI_RUN_TROUBLE) {
        run->outcome = APHI_RUN_TROUBLE; /* some file systems say so only now */
        snprintf(run->why, sizeof run->why, "%.300s cannot be written: %s", c->result.trace, strerror(errno));
    }
    return run;
}

static aphi_run_options plain(const campaign *c)
{
    const aphi_campaign_options *o = c->options;
    return (aphi_run_options){.model = o->model, .environment = o->environment, .subject = o->subject, .seed = o->seed,
                              .connections = o->connections, .depth = o->depth,
                              .patience_ns = c->patience_ns ? c->patience_ns : o->patience_ns,
                              .memory = o->memory, .blind = o->blind, .stop = c->deaf ? NULL : o->stop,
                              .caller = o->caller,
                              .called = o->called,
                              .progress = forward_progress, .context = (void *)c};
}

/* A silence that is to happen again must last, unless we were told how long one may. */
static void be_sure(const campaign *c, aphi_run_options *how, aphi_run_verdict wanted)
{
    if (wanted == APHI_RUN_STARVED && !c->options->patience_ns)
        how->patience_ns = PATIENCE_SURE;
}

static aph_value sum_of(aph_value a, aph_value b)
{
    if (aph_kind_of(b) != APH_ARRAY)
        return aph_int((a ? aph_int_of(a) : 0) + aph_int_of(b));
    aph_value sums[2];
    for (size_t i = 0; i < 2; i++)
        sums[i] = sum_of(a ? aph_at(a, i) : APH_NIL, aph_at(b, i));
    return aph_array(2, sums);
}

static aph_value added(aph_value all, aph_value more)
{
    aph_value key, item;
    for (size_t i = 0; more && aph_pair_at(more, i, &key, &item); i++)
        all = aph_set(all ? all : aph_object(), key, sum_of(aph_get(all ? all : aph_object(), key), item));
    return all;
}

/* The run becomes the campaign's last one. */
static void keep_run(campaign *c, aphi_run *run)
{
    aphi_run_free(c->result.run);
    c->result.run = run;
    c->result.outcome = run->outcome;
    c->result.fault = run->fault;
    snprintf(c->result.why, sizeof c->result.why, "%s", run->why);
}

static void count_run(campaign *c, const aphi_run *run)
{
    c->result.runs++;
    c->result.requests += run->facts.requests;
    c->result.answers += run->facts.answers;
    c->result.kinds = added(c->result.kinds, run->kinds);
    c->result.branches = added(c->result.branches, run->branches);
}

/* ---- runs that are made up --------------------------------------------------------------------------------------- */

static uint64_t messages_left(const campaign *c)
{
    uint64_t done = c->result.requests + c->result.answers;
    return !c->options->messages ? UINT64_MAX : done < c->options->messages ? c->options->messages - done : 0;
}

static bool is_over(const campaign *c)
{
    return !messages_left(c) || (c->until && aphi_clock_ns() >= c->until);
}

static void choose_width(campaign *c, aphi_run_options *run)
{
    const aphi_campaign_options *o = c->options;
    bool ours = aphi_subject_is_ours(o->subject), easy = run->messages > LONG && o->model->part && o->model->alone;
    bool early = c->result.runs < 3 && ours, deep = o->depth > 1 && (c->result.runs % 2 == 1 || (easy && !ours));
    size_t most = early && o->connections > 3 ? 3 : o->connections;
    /* What could not be judged had too much going on at once. */
    for (uint64_t i = 0; i < c->result.undecided && most > 1; i++, deep = false)
        most = (most + 1) / 2;
    run->connections = aphi_choice_chance(&c->choice, 1, 4) ? 1 + aphi_choice_below(&c->choice, most) : most;
    run->depth = deep ? 2 + aphi_choice_below(&c->choice, o->depth - 1) : 1;
    run->apart = run->messages > LONG;
    /* Where writes are alone with their part, and parts are judged for themselves, there are few orders. */
    if (run->depth > 1 && run->connections * run->depth > FLIGHT_MAX && !easy)
        run->connections = run->depth < FLIGHT_MAX ? FLIGHT_MAX / run->depth : 1;
}

static uint64_t choose_length(const campaign *c)
{
    uint64_t length = MESSAGES_FIRST, left = messages_left(c);
    for (uint64_t i = 0; i < c->result.runs && length < MESSAGES_LAST; i++)
        length *= 3;
    if (length > MESSAGES_LAST)
        length = MESSAGES_LAST;
    /* What cannot be reset is not asked to begin again. */
    if (!aphi_subject_is_ours(c->options->subject))
        return left == UINT64_MAX ? 0 : left;
    return length < left ? length : left;
}

/* A trace that is hard to check must not take most of the campaign's time. */
static int64_t check_time_ms(const campaign *c)
{
    int64_t spent_ms = (aphi_clock_ns() - c->began) / 1000000;
    int64_t left_ms = c->options->time_ns ? c->options->time_ns / 1000000 - spent_ms : CHECK_MS_MAX;
    int64_t ms = left_ms < spent_ms ? left_ms : spent_ms;
    return ms < CHECK_MS_MIN ? CHECK_MS_MIN : ms < CHECK_MS_MAX ? ms : CHECK_MS_MAX;
}

/* Checks the trace as a whole, if the run could not decide. */
static aphi_run_verdict verdict_of_trace(campaign *c, const aphi_run *run)
{
    static const aphi_run_verdict verdicts[] = {[APH_CHECK_PASS] = APHI_RUN_PASS, [APH_CHECK_FAIL] = APHI_RUN_FAIL,
                                                [APH_CHECK_UNKNOWN] = APHI_RUN_UNKNOWN,
                                                [APH_CHECK_ERROR] = APHI_RUN_UNKNOWN};
    const aphi_campaign_options *o = c->options;
    if (run->outcome != APHI_RUN_UNKNOWN || !run->undecided)
        return run->outcome;
    aph_check_options options = {.oracle = {.environment = o->environment, .memory = o->memory,
                                            .time_ms = check_time_ms(c)},
                                 .format = APH_FORMAT_JSONL, .stop = c->deaf ? NULL : o->stop};
    aph_check_result *r = aph_check_file(o->model, c->result.trace, &options);
    aphi_run_verdict verdict = verdicts[r->verdict];
    aph_check_result_free(r);
    return verdict;
}

/* False: go on with the next run. */
static bool judge_again(campaign *c)
{
    aphi_run *run = c->result.run;
    aphi_run_verdict before = run->outcome;
    c->result.outcome = verdict_of_trace(c, run);
    if (before == APHI_RUN_UNKNOWN && c->result.outcome == APHI_RUN_FAIL) {
        run->outcome = APHI_RUN_FAIL;
        snprintf(c->result.why, sizeof c->result.why, "nothing that the model allows explains what was seen");
    } else if (c->result.outcome == APHI_RUN_PASS) {
        snprintf(c->result.why, sizeof c->result.why, "everything that was seen is explained");
    }
    return c->result.outcome != APHI_RUN_PASS;
}

/* The trace of the n-th run that could not be judged in time, from 1. */
static void name_undecided(const campaign *c, unsigned n, char name[FILENAME_MAX])
{
    snprintf(name, FILENAME_MAX, "%s/undecided-%u.jsonl", c->options->folder, n);
}

/* A run that is too hard to judge says nothing of the subject: a few of them are made up for by easier ones. Its trace
 * is there for whoever has more time. */
static bool goes_on(campaign *c)
{
    char name[FILENAME_MAX];
    if (c->result.outcome != APHI_RUN_UNKNOWN || !c->result.run->too_hard ||
        !aphi_subject_is_ours(c->options->subject) || c->result.undecided++ >= UNDECIDED_MAX)
        return false;
    name_undecided(c, (unsigned)c->result.undecided, name);
    if (rename(c->result.trace, name) != 0)
        say(c, "the trace of a run that could not be judged in time is not kept: it cannot be renamed");
    return true;
}

static void unlink_undecided(const campaign *c)
{
    char name[FILENAME_MAX];
    for (unsigned n = 1; n <= UNDECIDED_MAX; n++) {
        name_undecided(c, n, name);
        unlink(name);
    }
}

/* Nothing was tested if there is nothing at the address. */
static bool is_nowhere(campaign *c, const aphi_run *run)
{
    bool nowhere = run->outcome == APHI_RUN_DEAD && run->unreached && c->result.runs == 0 &&
                   !aphi_subject_is_ours(c->options->subject);
    if (nowhere) {
        c->result.unstarted = true;
        trouble(c, run->why);
    }
    return nowhere;
}

/* Scripts that were kept may have used up what there is. */
static void make_up_runs(campaign *c)
{
    while (!is_over(c)) {
        aphi_run_options how = plain(c);
        how.seed = aphi_choice_bits(&c->choice) >> 1;
        how.messages = choose_length(c);
        how.until_ns = c->until;
        choose_width(c, &how);
        aphi_run *run = fresh_run(c, &how, true);
        if (!run)
            return;
        if (is_nowhere(c, run)) {
            aphi_run_free(run);
            return;
        }
        count_run(c, run);
        keep_run(c, run);
        if (run->outcome != APHI_RUN_PASS && judge_again(c) && !goes_on(c))
            return;
    }
}

/* ---- scripts ----------------------------------------------------------------------------------------------------- */

/* Runs the script, at most so often, until it comes to a failure; the last run is kept. */
static bool fails_again(campaign *c, const aphi_script *script, unsigned tries, bool counted)
{
    c->again_runs = 0;
    for (unsigned i = 0; i < tries; i++) {
        aphi_run_options how = plain(c);
        how.script = script;
        how.seed = script->seed;
        how.until_ns = c->until;
        be_sure(c, &how, c->wanted);
        aphi_run *run = fresh_run(c, &how, true);
        if (!run)
            return false;
        c->again_runs++;
        if (counted)
            count_run(c, run);
        keep_run(c, run);
        if (c->result.outcome == APHI_RUN_UNKNOWN)
            judge_again(c);
        if (aphi_run_verdict_blames_subject(c->result.outcome) && (c->wanted == APHI_RUN_PASS || c->result.outcome == c->wanted))
            return true;
        if (run->outcome == APHI_RUN_STOPPED || run->outcome == APHI_RUN_TROUBLE ||
            (c->until && aphi_clock_ns() >= c->until))
            return false;
    }
    return false;
}

/* Another run would come to the same. */
static bool is_hopeless(const campaign *c)
{
    return c->result.outcome == APHI_RUN_STOPPED ||
           (c->result.outcome == APHI_RUN_TROUBLE && c->result.fault == APH_FAULT_NONE);
}

static bool try_kept_scripts(campaign *c)
{
    aphi_corpus_entry kept;
    char error[512];
    bool failed = false;
    if (!aphi_subject_is_ours(c->options->subject) || c->options->blind)
        return false;
    if (!aphi_corpus_list(c->options->folder, c->options->model->name, &kept, error, sizeof error))
        return false;
    for (size_t i = 0; i < kept.count && !failed && !is_hopeless(c); i++) {
        aphi_script script;
        if (!aphi_script_read(kept.paths[i], &script, error, sizeof error)) {
            say(c, error);
            continue;
        }
        if (!strcmp(script.environment, c->options->environment ? c->options->environment : "tcp"))
            failed = fails_again(c, &script, KEPT_TRIES, true);
        if (failed)
            snprintf(c->result.script, sizeof c->result.script, "%s", kept.paths[i]);
        aphi_script_free(&script);
    }
    aphi_corpus_free(&kept);
    return c->result.again = failed;
}

/* ---- shrinking --------------------------------------------------------------------------------------------------- */

static int try_once(campaign *c, const aphi_script *candidate)
{
    aphi_run_options how = plain(c);
    how.script = candidate;
    how.seed = candidate->seed;
    how.progress = NULL;
    how.until_ns = c->until;
    if (!c->options->patience_ns)
        how.patience_ns = PATIENCE_SHRINKING;
    if (is_stopped(c))
        return -1;
    aphi_run *run = fresh_run(c, &how, true); /* the trace decides, if the run cannot */
    if (!run)
        return -1;
    aphi_run_verdict outcome = verdict_of_trace(c, run);
    bool given_up = outcome == APHI_RUN_UNKNOWN && aphi_clock_ns() >= c->until; /* tells nothing, as a full disk */
    bool able = !given_up && (outcome != APHI_RUN_TROUBLE || run->fault != APH_FAULT_NONE);
    int taken = !able ? -1 : outcome == c->wanted ? (int)aphi_run_script(run)->count : 0;
    if (!able && !given_up)
        memcpy(c->hindered, run->why, sizeof c->hindered);
    aphi_run_free(run);
    return taken;
}

/* What is not reset may have failed for what another candidate left there: it has to fail for what it leaves itself. */
static int try_candidate(void *context, const aphi_script *candidate)
{
    campaign *c = context;
    int taken = try_once(c, candidate);
    return taken > 0 && !aphi_subject_is_ours(c->options->subject) ? try_once(c, candidate) : taken;
}

/* First the order of the answers. */
static aphi_script reorder(void *context, unsigned n)
{
    campaign *c = context;
    size_t count;
    const aphi_run_event *moments = aphi_run_events(c->result.run, &count);
    return aphi_reorder(aphi_run_script(c->result.run), moments, count, n ? &c->choice : NULL);
}

static void forward_step(void *context, const char *what, const aphi_script *best)
{
    campaign *c = context;
    if (c->log)
        fprintf(c->log, "%9.3f s  %4zu actions  %s\n", (double)(aphi_clock_ns() - c->began) / 1e9, best->count, what);
    if (c->options->audience.shrinking)
        c->options->audience.shrinking(c->options->audience.context, what, best);
}

/* A model that knows nothing of what was before the run explains any beginning. */
static bool can_begin_again(const campaign *c)
{
    const aph_model *m = c->options->model;
    return aphi_subject_is_ours(c->options->subject) || m->begins_anywhere ||
           (m->initial && aph_is_symbolic(m->initial(m)));
}

static void name_trace(campaign *c, const char *name)
{
    snprintf(c->result.trace, sizeof c->result.trace, "%s/%s", c->options->folder, name);
}

static void unlink_again(campaign *c)
{
    name_trace(c, AGAIN);
    unlink(c->result.trace);
    name_trace(c, LAST);
}

static int64_t shrinking_ns(const campaign *c)
{
    return c->options->shrink_ns ? c->options->shrink_ns : SHRINKING;
}

/* The small script is to fail once more, with a trace. If it does not, the run that failed first stays the result. */
static bool confirm(campaign *c, const aphi_script *small, const aphi_campaign *before)
{
    aphi_campaign *r = &c->result;
    char trace[sizeof r->trace];
    bool stopped = is_stopped(c);
    if (stopped) {
        c->deaf = true;
        aphi_guard_resume();
    }
    r->run = NULL;
    aphi_run_options how = {.patience_ns = c->options->patience_ns ? c->options->patience_ns : APHI_PATIENCE};
    be_sure(c, &how, c->wanted);
    int64_t least = aphi_clock_ns() + LAST_PATIENCES * how.patience_ns;
    c->until = least > c->until ? least : c->until;
    unsigned tries = c->wanted == APHI_RUN_STARVED ? DOUBT_RUNS : AGAIN_TRIES;
    bool failed = fails_again(c, small, stopped ? AGAIN_TRIES_STOPPED : tries, false);
    memcpy(trace, r->trace, sizeof trace);
    name_trace(c, LAST);
    if (failed && !rename(trace, r->trace)) {
        if (!r->confirmed) {
            r->reproduced = 1;
            r->confirmed = c->again_runs;
        }
        aphi_run_free(before->run);
        return true;
    }
    if (r->outcome == APHI_RUN_TROUBLE)
        say(c, r->why);
    aphi_run_free(r->run);
    r->run = before->run;
    return false;
}

typedef enum recurrence {
    RECURS,
    IS_OTHERWISE,
    IS_OVER, /* the silence was there, and was over after all */
    IS_CUT,  /* the run could not be made, or its time was up: it tells nothing */
} recurrence;

/* What does its script come to once more? Nothing of this run is kept. */
static recurrence happens_again(campaign *c)
{
    aphi_campaign before = c->result;
    aphi_run_options how = plain(c);
    how.script = aphi_run_script(before.run);
    how.seed = how.script->seed;
    how.progress = NULL;
    be_sure(c, &how, before.outcome);
    int64_t least = aphi_clock_ns() + LAST_PATIENCES * (how.patience_ns ? how.patience_ns : APHI_PATIENCE);
    how.until_ns = least > c->until ? least : c->until;
    aphi_run *run = fresh_run(c, &how, false);
    bool starved = before.outcome == APHI_RUN_STARVED;
    recurrence what = !run || run->outcome == APHI_RUN_TROUBLE ||
                              (run->outcome == APHI_RUN_UNKNOWN && aphi_clock_ns() >= how.until_ns)
                          ? IS_CUT
                      : run->outcome == before.outcome                    ? RECURS
                      : starved && run->silence_ns >= APHI_PATIENCE ? IS_OVER
                                                                          : IS_OTHERWISE;
    aphi_run_free(run);
    c->result = before;
    return what;
}

/* A subject may have been slow, this once, or a request crossed the close of its connection, and the system broke it
 * off: what never happens again is no proof. */
static void settle_doubt(campaign *c)
{
    aphi_campaign *r = &c->result;
    bool starved = r->outcome == APHI_RUN_STARVED;
    if (!r->run->doubtful || (!starved && (r->outcome != APHI_RUN_DEAD || r->again)) || r->shrunk || r->presumed ||
        !r->run->script_whole || c->options->script)
        return;
    uint64_t runs = r->shrink_runs;
    c->until = aphi_clock_ns() + shrinking_ns(c);
    recurrence what = IS_OTHERWISE;
    while (runs < DOUBT_RUNS && what == IS_OTHERWISE && !is_stopped(c) && (!runs || aphi_clock_ns() < c->until)) {
        what = happens_again(c);
        if (what == RECURS)
            return;
        runs += what != IS_CUT;
    }
    if (is_stopped(c) || !runs) /* what was seen stands */
        return;
    r->outcome = APHI_RUN_UNKNOWN;
    size_t n = strlen(r->why);
    snprintf(r->why + n, sizeof r->why - n, starved
             ? "; but in %llu more runs of the same script it was: it may have been slow, and --patience gives it more "
               "time"
             : "; but in %llu more runs of the same script it was not so: a connection that is closed while a request "
               "is on its way is broken off by the system", (unsigned long long)runs);
}

static int64_t end_of_time(const campaign *c)
{
    return c->options->time_ns ? c->began + c->options->time_ns : 0;
}

/* A silence that never happened again tells nothing of the rest: with more patience the search for a failure goes on,
 * once. If it finds none, there is still that silence. */
static bool goes_on_after_silence(campaign *c)
{
    aphi_campaign *r = &c->result;
    c->until = end_of_time(c);
    if (r->outcome != APHI_RUN_UNKNOWN || r->run->outcome != APHI_RUN_STARVED || c->options->patience_ns ||
        c->patience_ns || !aphi_subject_is_ours(c->options->subject) || is_over(c))
        return false;
    memcpy(c->slow, r->why, sizeof c->slow);
    c->patience_ns = PATIENCE_SURE;
    c->wanted = APHI_RUN_PASS;
    r->reproduced = r->confirmed = 0;
    r->shrink_runs = r->shrink_ns = 0;
    r->actions = 0;
    return true;
}

static void remember_silence(campaign *c)
{
    if (!*c->slow || c->result.outcome != APHI_RUN_PASS)
        return;
    c->result.outcome = APHI_RUN_UNKNOWN;
    memcpy(c->result.why, c->slow, sizeof c->slow);
}

static void shrink(campaign *c)
{
    aphi_campaign *r = &c->result;
    if (r->presumed) {
        say(c, "the target cannot be reset, so the run is not shrunk; with --run it would be");
        return;
    }
    if (!r->run->script_whole) {
        say(c, "the run was too long to be had again, so it is not shrunk");
        return;
    }
    int64_t began = aphi_clock_ns();
    aphi_campaign before = *r;
    r->actions = aphi_run_script(r->run)->count;
    c->until = began + shrinking_ns(c);
    char log[sizeof r->trace];
    snprintf(log, sizeof log, "%.4000s/shrink.log", c->options->folder);
    c->log = fopen(log, "w"); /* without it, nothing is lost but the log */
    c->wanted = r->outcome;
    name_trace(c, AGAIN);
    bool seen_whole = !r->run->events_before;
    c->values = aphi_generator_values(c->options->model);
    aphi_shrunk small = aphi_shrink(aphi_run_script(r->run), try_candidate,
                                    &(aphi_shrink_options){.reorder = seen_whole ? reorder : NULL,
                                                           .budget_ns = shrinking_ns(c), .step = forward_step,
                                                           .context = c, .values = c->values,
                                                           .functions = c->options->model->functions});
    if (c->log)
        fclose(c->log);
    r->reproduced = small.reproduced;
    r->confirmed = small.confirmed;
    r->shrink_runs = small.runs;
    r->minimal = small.minimal;
    bool worth = small.reproduced || (small.failed && !small.confirmed); /* the time may have been up before */
    r->shrunk = (worth || is_stopped(c)) && confirm(c, &small.script, &before);
    if (!r->shrunk) {
        unlink_again(c);
        r->outcome = before.outcome;
        r->fault = before.fault;
        r->unstarted = false;
        memcpy(r->why, before.why, sizeof r->why);
        if (*c->hindered)
            say(c, c->hindered);
        say(c, *c->hindered ? "so the failure could not be made smaller"
             : is_stopped(c) ? "shrinking was stopped by a signal, and the failure did not happen again"
             : !small.failed && small.ns >= shrinking_ns(c)
                 ? "there was no time to see the failure happen again; --shrink-time gives it more"
             : aphi_subject_is_ours(c->options->subject)
                 ? "the failure did not happen again in any run of its script"
                 : "the failure did not happen twice in a row; the target cannot be reset, and with --run it would be");
    }
    aphi_script_free(&small.script);
    r->shrink_ns = aphi_clock_ns() - began;
}

/* The trace goes beside the script, so that whoever runs it again can compare. */
static void keep_trace(campaign *c)
{
    char path[sizeof c->result.trace];
    int n = snprintf(path, sizeof path, "%s.trace", c->result.script);
    if (n < (int)sizeof path && !rename(c->result.trace, path))
        memcpy(c->result.trace, path, sizeof path);
}

static void keep_script(campaign *c)
{
    char error[512];
    if (!c->result.run->script_whole)
        return;
    if (aphi_corpus_save(c->options->folder, aphi_run_script(c->result.run), c->result.script, sizeof c->result.script,
                       error, sizeof error)) {
        keep_trace(c);
    } else {
        c->result.script[0] = 0;
        say(c, error);
    }
}

/* ---- all of it --------------------------------------------------------------------------------------------------- */

/* Each of these kinds, the keys of an object, must have been answered. */
static void demand_kinds(aphi_campaign *r, aph_value kinds)
{
    aph_value kind, ignored;
    for (size_t i = 0; aph_pair_at(kinds, i, &kind, &ignored); i++) {
        aph_value counts = aph_get(r->kinds, kind);
        if (counts && aph_int_of(aph_at(counts, 1)))
            continue;
        char *name = aph_json_text(kind, NULL);
        r->outcome = APHI_RUN_VACUOUS;
        snprintf(r->why, sizeof r->why, "no request of the kind %.200s was %s", name, counts ? "answered" : "sent");
        free(name);
    }
}

static bool is_reached(const aphi_campaign *r, aph_value name)
{
    aph_value times = r->branches ? aph_get(r->branches, name) : APH_NIL;
    aph_value counts = r->kinds ? aph_get(r->kinds, name) : APH_NIL;
    return (times && aph_int_of(times)) || (counts && aph_int_of(aph_at(counts, 1)));
}

/* Below the floors a pass says nothing. */
static void look_at_floors(campaign *c)
{
    aphi_campaign *r = &c->result;
    const char *const *floors = c->options->model->floors;
    if (r->outcome != APHI_RUN_PASS || (c->options->script && c->options->script->count))
        return;
    if (!r->answers) {
        r->outcome = APHI_RUN_VACUOUS;
        snprintf(r->why, sizeof r->why, "no request was answered at all");
    }
    if (!floors) {
        demand_kinds(r, r->kinds);
        demand_kinds(r, aphi_generator_kinds(c->options->model));
    }
    for (; floors && *floors && !c->options->blind; floors++) { /* who judges nothing takes no branch */
        if (is_reached(r, aph_str(*floors)))
            continue;
        r->outcome = APHI_RUN_VACUOUS;
        snprintf(r->why, sizeof r->why, "the run never came to \"%.200s\"", *floors);
    }
}

static void mark_campaign(void *context)
{
    campaign *c = context;
    aph_mark(c->result.kinds);
    aph_mark(c->result.branches);
    aph_mark(c->values);
}

static bool prepare_folder(campaign *c)
{
    char error[512];
    const char *folder = c->options->folder;
    if (mkdir(folder, 0777) < 0 && errno != EEXIST) {
        snprintf(error, sizeof error, "the folder %.300s cannot be made: %s", folder, strerror(errno));
        trouble(c, error);
        return false;
    }
    name_trace(c, LAST);
    unlink_undecided(c);
    return true;
}

/* What failed is made small, if it is no chance. */
static void settle(campaign *c)
{
    aphi_campaign *r = &c->result;
    r->reject_ns = aphi_clock_ns() - c->began;
    if (!r->run)
        return;
    bool starved = r->outcome == APHI_RUN_STARVED;
    if (starved) /* first: to shrink what was only slow takes long, and comes to nothing */
        settle_doubt(c);
    if (aphi_run_verdict_blames_subject(r->outcome) && c->options->shrink)
        shrink(c);
    if (aphi_run_verdict_blames_subject(r->outcome) && !starved)
        settle_doubt(c);
}

aphi_campaign *aphi_campaign_go(const aphi_campaign_options *options)
{
    campaign *c = aphi_alloc_zero(sizeof *c);
    c->options = options;
    c->choice = aphi_choice_seed(options->seed);
    c->began = aphi_clock_ns();
    c->until = end_of_time(c);
    c->wanted = APHI_RUN_PASS;
    aph_root_add(mark_campaign, c);
    aphi_campaign *r = &c->result;
    r->presumed = !can_begin_again(c);
    if (prepare_folder(c)) {
        if (options->script)
            fails_again(c, options->script, 1, true);
        else if (!try_kept_scripts(c) && !is_hopeless(c))
            make_up_runs(c);
        settle(c);
        while (r->run && goes_on_after_silence(c)) {
            make_up_runs(c);
            settle(c);
        }
        remember_silence(c);
        if (r->run && aphi_run_verdict_blames_subject(r->outcome) && !options->script)
            keep_script(c);
        if (r->run)
            look_at_floors(c);
    }
    r->ns = aphi_clock_ns() - c->began;
    return r;
}

void aphi_campaign_free(aphi_campaign *result)
{
    if (!result)
        return;
    campaign *c = (campaign *)result; /* its first member */
    aph_root_remove(mark_campaign, c);
    aphi_run_free(result->run);
    free(c);
}
