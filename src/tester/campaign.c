/* SPDX-License-Identifier: Apache-2.0
 *
 * campaign.c - the test of a subject; see campaign.h.
 *
 * Idea:       scripts that failed before are run first, then generated scripts. Each run begins with a fresh subject,
 *             if the tester can start it. A failing script is shrunk.
 * Invariants: the trace on disk belongs to the run in the result; a run that may be discarded writes its trace to
 *             another file.
 * Read next:  campaign_internal.h, campaign_generate.c, campaign_shrink.c, campaign_confirm.c */
#include "tester/campaign_internal.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/memory.h"
#include "generate/generator.h"
#include "tester/corpus.h"
#include "tree/model_calls.h"
#include "value/heap.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    KEPT_TRIES = 3,    /* runs of a script that failed before */
    KEPT_PARTS = 2,    /* scripts that failed before take at most this part of the time */
    SENT_OFTEN = 20,   /* requests of a kind of which one must get a response */
};

int64_t aphi_campaign_deadline(const aphi_campaign_state *c)
{
    return c->options->time_ns ? c->began + c->options->time_ns + c->lent_ns : 0;
}

/* Returns true if another run would end in the same way. */
static bool is_hopeless(const aphi_campaign_state *c)
{
    return c->result.outcome == APHI_RUN_STOPPED ||
           (c->result.outcome == APHI_RUN_TROUBLE && c->result.fault == APH_FAULT_NONE);
}

/* A script that cannot be run would silently no longer be tested. */
static bool read_kept_script(aphi_campaign_state *c, const char *path, aphi_script *script)
{
    char error[512], why[700];
    if (aphi_corpus_read(path, c->options->model, script, error, sizeof error))
        return true;
    c->result.bad_script = true;
    snprintf(why, sizeof why, "%s; restore or remove this script", error);
    aphi_campaign_trouble(c, why);
    return false;
}

/* Lists the scripts and reads all of them, before the first is run. */
static bool check_kept_scripts(aphi_campaign_state *c, aphi_corpus *kept)
{
    char error[512];
    aphi_script script;
    bool valid = aphi_corpus_list(c->options->folder, c->options->model->name, kept, error, sizeof error);
    if (!valid) {
        c->result.bad_script = true;
        aphi_campaign_trouble(c, error);
    }
    for (size_t i = 0; i < kept->count && valid; i++) {
        valid = read_kept_script(c, kept->paths[i], &script);
        if (valid)
            aphi_script_free(&script);
    }
    return valid;
}

static bool is_time_up(const aphi_campaign_state *c)
{
    return (c->result.run && c->result.run->cut) || (c->until && aphi_clock_ns() >= c->until);
}

/* A pass is then about the scripts that were repeated, and about generated runs. */
static void note_unrepeated(const aphi_campaign_state *c, size_t repeated, size_t count)
{
    char text[700];
    snprintf(text, sizeof text, "%.300s: the scripts that failed before may take half of --time; %zu of %zu were "
             "repeated completely; raise --time, or remove scripts", c->options->folder, repeated, count);
    aphi_campaign_note(c, text);
}

/* Repeats a script, unless it is for another environment. Returns true if it fails. */
static bool repeat_kept_script(aphi_campaign_state *c, const char *path)
{
    aphi_script script;
    bool failed = false;
    if (!read_kept_script(c, path, &script))
        return false;
    if (!strcmp(script.environment, c->options->environment ? c->options->environment : "tcp"))
        failed = aphi_campaign_repeat(c, &script, KEPT_TRIES, true);
    if (failed)
        snprintf(c->result.script, sizeof c->result.script, "%s", path);
    aphi_script_free(&script);
    return failed;
}

static bool repeat_kept_scripts(aphi_campaign_state *c)
{
    aphi_corpus kept;
    bool failed = false;
    size_t repeated = 0;
    if (!aphi_subject_is_ours(c->options->subject) || c->options->no_check)
        return false;
    bool valid = check_kept_scripts(c, &kept);
    c->until = c->options->time_ns ? c->began + c->options->time_ns / KEPT_PARTS : 0;
    for (size_t i = 0; i < kept.count && valid && !failed && !is_hopeless(c) && !is_time_up(c); i++) {
        failed = repeat_kept_script(c, kept.paths[i]);
        valid = !c->result.bad_script;
        repeated += !is_time_up(c);
    }
    if (repeated < kept.count && is_time_up(c) && valid && !failed && !is_hopeless(c))
        note_unrepeated(c, repeated, kept.count);
    c->until = aphi_campaign_deadline(c);
    aphi_corpus_free(&kept);
    return c->result.from_corpus = failed;
}

/* Returns false if the subject may begin in a state that the model does not know. */
static bool has_known_start(const aphi_campaign_state *c)
{
    const aph_model *m = c->options->model;
    return aphi_subject_is_ours(c->options->subject) || m->begins_anywhere ||
           (m->initial && aph_is_symbolic(aphi_model_initial(m)));
}

/* Moves the trace next to the script, for comparison with later runs. */
static void keep_trace(aphi_campaign_state *c)
{
    char path[sizeof c->result.trace];
    int n = snprintf(path, sizeof path, "%s.trace", c->result.script);
    if (n < (int)sizeof path && !rename(c->result.trace, path))
        memcpy(c->result.trace, path, sizeof path);
}

static void keep_script(aphi_campaign_state *c)
{
    char error[512];
    if (!c->result.run->script_whole)
        return;
    if (aphi_run_script(c->result.run)->count == 0)
        return; /* a run that ended in its preamble: there is nothing to repeat */
    if (aphi_corpus_save(c->options->folder, aphi_run_script(c->result.run), c->result.script, sizeof c->result.script,
                         error, sizeof error)) {
        keep_trace(c);
    } else {
        c->result.script[0] = 0;
        aphi_campaign_note(c, error);
    }
}

/* ---- vacuous campaigns ------------------------------------------------------------------------------------------- */

/* Requires a response to each of these kinds of requests, the keys of an object. */
static void require_kinds(aphi_campaign *r, aph_value kinds)
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

/* A campaign must receive and judge responses. */
static void require_responses(aphi_campaign_state *c)
{
    aphi_campaign *r = &c->result;
    uint64_t least = c->options->min_answers;
    if (r->answers && r->answers >= least && !c->options->no_check)
        return;
    r->outcome = APHI_RUN_VACUOUS;
    if (c->options->no_check)
        snprintf(r->why, sizeof r->why, "nothing was judged: --no-check");
    else if (r->answers)
        snprintf(r->why, sizeof r->why, "%llu responses, fewer than the %llu of --min-responses; test longer",
                 (unsigned long long)r->answers, (unsigned long long)least);
    else
        snprintf(r->why, sizeof r->why, "no request was answered");
}

/* Requires a response to each kind of request that was sent often, if each request gets a response. */
static void require_answered_kinds(aphi_campaign_state *c)
{
    const aph_model *m = c->options->model;
    aph_value often = aph_object(), kind, counts;
    for (size_t i = 0; (m->rpc || m->answers) && aph_pair_at(c->result.kinds, i, &kind, &counts); i++)
        if (aph_int_of(aph_at(counts, 0)) >= SENT_OFTEN)
            often = aph_set(often, kind, counts);
    require_kinds(&c->result, often);
}

/* A pass is vacuous if the campaign did not reach the required branches and kinds. */
static void check_floors(aphi_campaign_state *c)
{
    aphi_campaign *r = &c->result;
    const char *const *floors = c->options->model->floors;
    if (r->outcome != APHI_RUN_PASS)
        return;
    require_responses(c);
    if (c->options->script && c->options->script->count)
        return;
    require_answered_kinds(c);
    if (!floors) {
        require_kinds(r, r->kinds);
        require_kinds(r, aphi_generator_kinds(c->options->model));
    }
    for (; floors && *floors && !c->options->no_check; floors++) { /* without judging, branches are not counted */
        if (is_reached(r, aph_str(*floors)))
            continue;
        r->outcome = APHI_RUN_VACUOUS;
        snprintf(r->why, sizeof r->why, "the campaign never reached \"%.200s\"", *floors);
    }
}

/* ---- losses ------------------------------------------------------------------------------------------------------ */

static void end_losing(aphi_campaign *r, uint64_t losses, uint64_t requests, aph_value kind)
{
    char *name = kind ? aph_json_text(kind, NULL) : NULL;
    r->outcome = APHI_RUN_DEAD;
    r->losing = true;
    snprintf(r->why, sizeof r->why, "%llu of %llu requests%s%.200s were lost: the subject closed their connections "
             "instead of responding; --max-losses allows more", (unsigned long long)losses,
             (unsigned long long)requests, name ? " of the kind " : "", name ? name : "");
    free(name);
}

/* Rejects a subject that loses too many requests of all runs, or by default more than half of the requests of a
 * kind. */
static void check_losses(aphi_campaign_state *c)
{
    aphi_campaign *r = &c->result;
    const aphi_max_losses *limit = &c->options->max_losses, half = {APHI_LOSSES_PERCENT, 50};
    aph_value kind, lost;
    if (r->outcome != APHI_RUN_PASS)
        return;
    if (aphi_losses_exceed(limit, r->losses, r->requests))
        end_losing(r, r->losses, r->requests, APH_NIL);
    for (size_t i = 0; limit->unit == APHI_LOSSES_DEFAULT && !r->losing && aph_pair_at(r->lost_kinds, i, &kind, &lost);
         i++) {
        uint64_t losses = (uint64_t)aph_int_of(lost);
        uint64_t sent = losses + (uint64_t)aph_int_of(aph_at(aph_get(r->kinds, kind), 1)); /* without excused ones */
        if (aphi_losses_exceed(&half, losses, sent))
            end_losing(r, losses, sent, kind);
    }
}

/* ---- the campaign ------------------------------------------------------------------------------------------------ */

static void mark_campaign(void *context)
{
    aphi_campaign_state *c = context;
    aph_mark(c->result.kinds);
    aph_mark(c->result.branches);
    aph_mark(c->result.lost_kinds);
    aph_mark(c->result.lost);
    aph_mark(c->result.excused.shown);
    aph_mark(c->values);
}

/* Two campaigns would write to the same traces. */
static bool lock_folder(aphi_campaign_state *c)
{
    char path[sizeof c->result.trace], error[512];
    pid_t holder;
    snprintf(path, sizeof path, "%.4000s/" APHI_LOCK_FILE, c->options->folder);
    c->lock = aphi_file_lock(path, &holder);
    if (c->lock >= 0)
        return true;
    c->result.locked = errno == EWOULDBLOCK;
    if (c->result.locked)
        snprintf(error, sizeof error, "%.300s: another test uses this folder (process %d); wait until it ends, or give "
                 "another --folder", c->options->folder, (int)holder);
    else
        snprintf(error, sizeof error, "%.300s: cannot be locked: %s; choose another --folder", path, strerror(errno));
    aphi_campaign_trouble(c, error);
    return false;
}

static bool prepare_folder(aphi_campaign_state *c)
{
    char error[512];
    const char *folder = c->options->folder;
    if (mkdir(folder, 0777) < 0 && errno != EEXIST) {
        snprintf(error, sizeof error, "%.300s: cannot create the folder: %s", folder, strerror(errno));
        aphi_campaign_trouble(c, error);
        return false;
    }
    aphi_campaign_name_trace(c, APHI_TRACE_FILE);
    if (!lock_folder(c))
        return false;
    aphi_campaign_unlink_undecided(c);
    return true;
}

/* Shrinks a failure, unless it was chance. */
static void settle_failure(aphi_campaign_state *c)
{
    aphi_campaign *r = &c->result;
    r->reject_ns = aphi_clock_ns() - c->began - (r->run ? r->run->suspected_ns : 0);
    if (!r->run)
        return;
    r->needs_silence = aphi_campaign_needs_silence(c);
    bool starved = r->outcome == APHI_RUN_STARVED || r->needs_silence;
    if (r->needs_silence)
        aphi_campaign_name_silence(r);
    if (starved) /* first, because shrinking a run that was only slow takes long and is useless */
        aphi_campaign_settle_doubt(c);
    if (aphi_run_verdict_blames_subject(r->outcome) && c->options->shrink && !r->run->losing)
        aphi_campaign_shrink(c);
    if (aphi_run_verdict_blames_subject(r->outcome) && !starved)
        aphi_campaign_settle_doubt(c);
    if (r->shrunk && aphi_campaign_needs_silence(c))
        aphi_campaign_name_silence(r);
}

aphi_campaign *aphi_campaign_execute(const aphi_campaign_options *options)
{
    aphi_campaign_state *c = aphi_alloc_zero(sizeof *c);
    c->options = options;
    c->lock = -1;
    c->choice = aphi_choice_seed(options->seed);
    c->began = aphi_clock_ns();
    c->until = aphi_campaign_deadline(c);
    c->wanted = APHI_RUN_PASS;
    aph_root_add(mark_campaign, c);
    aphi_campaign *r = &c->result;
    r->presumed = !has_known_start(c);
    c->habits = aphi_model_habits_find(options->model);
    if (prepare_folder(c)) {
        if (options->script)
            aphi_campaign_repeat(c, options->script, 1, true);
        else if (!repeat_kept_scripts(c) && !is_hopeless(c))
            aphi_campaign_generate(c);
        settle_failure(c);
        while (r->run && aphi_campaign_continue_after_silence(c)) {
            aphi_campaign_generate(c);
            settle_failure(c);
        }
        aphi_campaign_recall_silence(c);
        if (aphi_campaign_judge_undecided(c))
            settle_failure(c);
        aphi_campaign_doubt_pass(c);
        check_losses(c);
        /* A script of one run cannot reproduce the losses of all runs. */
        if (r->run && aphi_run_verdict_blames_subject(r->outcome) && !options->script && r->losing == r->run->losing)
            keep_script(c);
        if (r->run)
            check_floors(c);
    }
    r->ns = aphi_clock_ns() - c->began;
    return r;
}

void aphi_campaign_free(aphi_campaign *result)
{
    if (!result)
        return;
    aphi_campaign_state *c = (aphi_campaign_state *)result; /* its first member */
    aph_root_remove(mark_campaign, c);
    aphi_run_free(result->run);
    aphi_campaign_free_undecided(c);
    if (c->lock >= 0)
        close(c->lock);
    free(c);
}
