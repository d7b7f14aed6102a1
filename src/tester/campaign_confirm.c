/* SPDX-License-Identifier: Apache-2.0
 *
 * campaign_confirm.c - failures that may be due to chance: silence and dropped connections. */
#include "tester/campaign_internal.h"

#include "base/clock.h"

#include <string.h>

enum {
    CONFIRM_BRIEF_RUNS = 3, /* the same after a brief silence: it is weak evidence, and each run takes long */
    SILENCE_LOADED = 2,     /* on a loaded machine, a silence takes this many times as long */
};

typedef enum recurrence {
    REPRODUCED,
    CERTAIN,      /* the run failed in a way that is not due to chance */
    NOT_REPRODUCED,
    ENDED,        /* there was a silence again, but it ended */
    INCONCLUSIVE, /* the run was not possible, or ran out of time */
} recurrence;

/* Too many losses are reproduced by half as many, because their number varies. */
static bool is_reproduced(const aphi_run *run, const aphi_campaign *before)
{
    if (before->losing && run->outcome == APHI_RUN_PASS)
        return 2 * run->losses.count > before->run->losses.count;
    return run->outcome == before->outcome;
}

/* A lost response can cause such a failure, if the next response on its connection is taken for it. */
static bool is_certain(aphi_run_verdict verdict) { return verdict == APHI_RUN_FAIL || verdict == APHI_RUN_MALFORMED; }

int64_t aphi_campaign_silences_ns(const aphi_campaign_state *c, const aphi_script *script)
{
    int64_t n = 0;
    for (size_t i = 0; i < script->count; i++)
        n += script->actions[i].wait == APHI_WAIT_SILENCE;
    return n * SILENCE_LOADED * aphi_campaign_patience(c, APHI_SILENCE_FULL);
}

/* Runs the script of the failure again. The run is not kept. */
static recurrence repeat_failure(aphi_campaign_state *c)
{
    aphi_campaign before = c->result;
    aphi_run_options how = aphi_campaign_script_options(c, aphi_run_script(before.run));
    how.progress = NULL;
    aphi_campaign_raise_patience(c, &how, before.outcome);
    int64_t least = aphi_clock_ns() + APHI_CONFIRM_PATIENCES * (how.patience_ns ? how.patience_ns : APHI_PATIENCE) +
                    aphi_campaign_silences_ns(c, aphi_run_script(before.run));
    how.until_ns = least > c->until ? least : c->until;
    aphi_run *run = aphi_campaign_run(c, &how, false);
    bool starved = before.outcome == APHI_RUN_STARVED;
    bool failed = !run || run->outcome == APHI_RUN_TROUBLE ||
                  (run->outcome == APHI_RUN_UNKNOWN && aphi_clock_ns() >= how.until_ns);
    recurrence found = failed                                        ? INCONCLUSIVE
                       : is_reproduced(run, &before)                 ? REPRODUCED
                       : is_certain(run->outcome)                    ? CERTAIN
                       : starved && run->silence_ns >= APHI_PATIENCE ? ENDED
                                                                     : NOT_REPRODUCED;
    aphi_run_free(run);
    c->result = before;
    return found;
}

/* Makes a run of the same script with a certain failure the result. Returns false if there is none. */
static bool adopt_failure(aphi_campaign_state *c)
{
    aphi_script script = aphi_script_copy(aphi_run_script(c->result.run));
    c->wanted = APHI_RUN_FAIL;
    bool failed = aphi_campaign_repeat(c, &script, APHI_CONFIRM_RUNS, false) ||
                  aphi_run_verdict_blames_subject(c->result.outcome);
    aphi_script_free(&script);
    return failed;
}

/* Appends the reason why the failure proves nothing. */
static void explain_doubt(aphi_campaign *r, uint64_t runs)
{
    const char *reason = r->needs_silence ? ": the subject may have received a message "
                                            "later; --patience allows more time"
                         : r->outcome == APHI_RUN_STARVED ? ": the subject may be slow; --patience allows more time"
                         : r->losing                      ? ""
                         : ": the system resets a connection that is closed while a request is in flight";
    size_t n = strlen(r->why);
    snprintf(r->why + n, sizeof r->why - n, "; not reproduced in %llu more run%s of the same script%s",
             (unsigned long long)runs, runs == 1 ? "" : "s", reason);
}

void aphi_campaign_name_silence(aphi_campaign *r)
{
    snprintf(r->why, sizeof r->why, "the model cannot explain the observations if all messages had arrived after a "
             "silence of %.1f s", (double)r->run->recorded_ns / 1e9);
}

/* The subject may have been slow once, or a request may have crossed the close of its connection, which the system then
 * reset. If such a failure is not reproduced, it proves nothing. */
void aphi_campaign_settle_doubt(aphi_campaign_state *c)
{
    aphi_campaign *r = &c->result;
    bool doubtful = r->run->doubtful || r->needs_silence, silent = r->outcome == APHI_RUN_STARVED || r->needs_silence;
    if (!doubtful || (!silent && (r->outcome != APHI_RUN_DEAD || r->from_corpus)) || r->shrunk ||
        r->presumed || !r->run->script_whole || c->options->script)
        return;
    uint64_t runs = r->shrink_runs;
    int64_t began = aphi_clock_ns();
    c->until = aphi_clock_ns() + aphi_campaign_shrink_ns(c);
    recurrence found = NOT_REPRODUCED;
    bool was_brief = r->needs_silence && !c->full_silences &&
                     r->run->recorded_ns < aphi_campaign_patience(c, APHI_SILENCE_FULL);
    c->full_silences |= r->needs_silence;
    unsigned most = was_brief ? CONFIRM_BRIEF_RUNS : APHI_CONFIRM_RUNS;
    while (runs < most && found == NOT_REPRODUCED && !aphi_campaign_is_stopped(c) &&
           (!runs || aphi_clock_ns() < c->until)) {
        found = repeat_failure(c);
        if (found == REPRODUCED || (found == CERTAIN && adopt_failure(c)))
            return;
        runs += found != INCONCLUSIVE;
    }
    /* A brief silence proves nothing until it is repeated; another failure remains the result. */
    if ((aphi_campaign_is_stopped(c) || !runs) && !was_brief)
        return;
    c->lent_ns += was_brief ? aphi_clock_ns() - began : 0;
    explain_doubt(r, runs);
    r->outcome = APHI_RUN_UNKNOWN;
    c->was_brief = was_brief;
}

bool aphi_campaign_continue_after_silence(aphi_campaign_state *c)
{
    aphi_campaign *r = &c->result;
    c->until = aphi_campaign_deadline(c);
    bool silent = r->run->outcome == APHI_RUN_STARVED || r->needs_silence;
    bool once = !*c->slow && !c->options->patience_ns; /* a failure after a long silence may be skipped only once */
    if (r->outcome != APHI_RUN_UNKNOWN || !silent || (!once && !c->was_brief) ||
        !aphi_subject_is_ours(c->options->subject) || aphi_campaign_is_over(c))
        return false;
    if (!c->was_brief)
        memcpy(c->slow, r->why, sizeof c->slow);
    c->was_brief = false;
    r->needs_silence = false;
    c->wanted = APHI_RUN_PASS;
    r->reproduced = r->confirmed = 0;
    r->shrink_runs = r->shrink_ns = 0;
    r->actions = 0;
    return true;
}

void aphi_campaign_recall_silence(aphi_campaign_state *c)
{
    if (!*c->slow || c->result.outcome != APHI_RUN_PASS)
        return;
    c->result.outcome = APHI_RUN_UNKNOWN;
    memcpy(c->result.why, c->slow, sizeof c->slow);
}
