/* SPDX-License-Identifier: Apache-2.0
 *
 * campaign_undecided.c - runs that were too hard to judge.
 *
 * Idea:       a few such runs are replaced by easier ones, which may find a failure. At the end, their traces are
 *             judged with more time. If one is still undecided, the campaign does not pass. */
#include "tester/campaign_internal.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
    CHECK_ALL_MS_MAX = 30000, /* for judging all traces at the end */
    CHECK_MS_MIN = 5000,      /* for each */
};

/* Names the trace of the n-th undecided run, from 1. */
static void name_undecided(const aphi_campaign_state *c, unsigned n, char name[FILENAME_MAX])
{
    snprintf(name, FILENAME_MAX, "%s/undecided-%u.jsonl", c->options->folder, n);
}

bool aphi_campaign_keep_undecided(aphi_campaign_state *c)
{
    char name[FILENAME_MAX];
    aphi_campaign *r = &c->result;
    if (r->outcome != APHI_RUN_UNKNOWN || !r->run->too_hard || !aphi_subject_is_ours(c->options->subject) ||
        r->undecided++ >= APHI_UNDECIDED_MAX)
        return false;
    name_undecided(c, (unsigned)r->undecided, name);
    if (rename(r->trace, name) != 0)
        aphi_campaign_note(c, "the trace of an undecided run is not kept: it cannot be renamed");
    c->undecided_runs[c->undecided_count++] = r->run;
    r->run = NULL;
    return true;
}

void aphi_campaign_unlink_undecided(const aphi_campaign_state *c)
{
    char name[FILENAME_MAX];
    for (unsigned n = 1; n <= APHI_UNDECIDED_MAX; n++) {
        name_undecided(c, n, name);
        unlink(name);
    }
}

void aphi_campaign_free_undecided(aphi_campaign_state *c)
{
    for (size_t i = 0; i < c->undecided_count; i++)
        aphi_run_free(c->undecided_runs[i]);
    c->undecided_count = 0;
}

/* Makes the i-th undecided run the result, with its trace; the trace of a failure gets the usual name. */
static void adopt_run(aphi_campaign_state *c, size_t i, bool failed)
{
    char name[FILENAME_MAX];
    name_undecided(c, (unsigned)i + 1, name);
    aphi_campaign_keep_run(c, c->undecided_runs[i]);
    c->undecided_runs[i] = NULL;
    if (!failed || rename(name, c->result.trace) != 0)
        snprintf(c->result.trace, sizeof c->result.trace, "%s", name);
}

/* Judges the i-th undecided run. Returns true if it fails. */
static bool judge_run(aphi_campaign_state *c, size_t i)
{
    char name[FILENAME_MAX];
    name_undecided(c, (unsigned)i + 1, name);
    int64_t ms = aphi_campaign_spent_ms(c);
    ms = (ms < CHECK_ALL_MS_MAX ? ms : CHECK_ALL_MS_MAX) / (int64_t)c->undecided_count;
    aphi_run_verdict verdict =
        aphi_campaign_check_trace(c, c->undecided_runs[i], name, ms > CHECK_MS_MIN ? ms : CHECK_MS_MIN);
    c->result.undecided -= verdict != APHI_RUN_UNKNOWN;
    if (verdict == APHI_RUN_UNKNOWN)
        memcpy(c->undecided_why, c->undecided_runs[i]->why, sizeof c->undecided_why);
    return verdict == APHI_RUN_FAIL;
}

static void set_verdict(aphi_campaign *r, aphi_run_verdict verdict, const char *why)
{
    r->outcome = verdict;
    snprintf(r->why, sizeof r->why, "%.500s", why);
}

bool aphi_campaign_judge_undecided(aphi_campaign_state *c)
{
    aphi_campaign *r = &c->result;
    bool is_open = r->outcome == APHI_RUN_PASS || r->outcome == APHI_RUN_UNKNOWN;
    bool failed = false, was_last = !r->run && c->undecided_count;
    size_t i = 0;
    while (is_open && i < c->undecided_count && !failed && !aphi_campaign_is_stopped(c))
        failed = judge_run(c, i++);
    if (failed || was_last)
        adopt_run(c, failed ? i - 1 : c->undecided_count - 1, failed);
    if (failed) {
        r->run->outcome = APHI_RUN_FAIL;
        set_verdict(r, APHI_RUN_FAIL, "the model cannot explain the observations");
    } else if (was_last && !r->undecided) {
        set_verdict(r, APHI_RUN_PASS, "the model explains all observations");
    }
    aphi_campaign_free_undecided(c);
    return failed;
}

void aphi_campaign_doubt_pass(aphi_campaign_state *c)
{
    aphi_campaign *r = &c->result;
    char why[700];
    if (r->outcome != APHI_RUN_PASS || (r->run && !r->undecided && !*c->unjudged))
        return;
    snprintf(why, sizeof why, "%llu of %llu runs could not be judged: %s; the others pass",
             (unsigned long long)r->undecided, (unsigned long long)r->runs, c->undecided_why);
    if (aphi_campaign_is_stopped(c))
        set_verdict(r, APHI_RUN_STOPPED, "stopped by a signal");
    else if (!r->run)
        set_verdict(r, APHI_RUN_UNKNOWN, "the time was up before the first run");
    else
        set_verdict(r, APHI_RUN_UNKNOWN, *c->unjudged ? c->unjudged : why);
}
