/* SPDX-License-Identifier: Apache-2.0
 *
 * campaign_internal.h - the state of a campaign, shared by the files campaign*.c. */
#ifndef APHI_TESTER_CAMPAIGN_INTERNAL_H
#define APHI_TESTER_CAMPAIGN_INTERNAL_H

#include "base/random_choice.h"
#include "tester/campaign.h"
#include "tester/model_habits.h"
#include "tester/silence.h"

#include <stdio.h>

enum {
    APHI_CONFIRM_RUNS = 10,     /* runs of a script to reproduce a doubtful failure */
    APHI_CONFIRM_PATIENCES = 8, /* the least time of a confirming run, even after the deadline, in patiences */
    APHI_UNDECIDED_MAX = 4,     /* runs */
};
#define APHI_LOCK_FILE "lock"                    /* in the folder: locked during a campaign */
#define APHI_TRACE_FILE "trace.jsonl"            /* in the folder: the trace of the run in the result */
#define APHI_TRACE_FILE_NEXT "trace.again.jsonl" /* the trace of a run that may replace it */
#define APHI_SILENCE_FULL INT64_C(5000000000)    /* ns; the least silence that is too long while a response is due */
#define APHI_PATIENCE_SURE INT64_C(2000000000)   /* ns; the least silence that reproduces another */

typedef struct aphi_campaign_state {
    aphi_campaign result;
    const aphi_campaign_options *options;
    int64_t began, until;       /* until: the deadline of the current stage */
    aphi_choice choice;
    int lock;                   /* of the folder; -1: none */
    FILE *log;                  /* of the steps of shrinking, or NULL */
    aphi_run_verdict wanted;    /* the verdict that a repeated script must have; PASS: any failure */
    aph_value values;           /* frequent values of fields, while shrinking */
    bool ignores_stop;          /* signals no longer stop runs: the last runs are short, and their results are needed */
    bool tell_apart;            /* as in aph_oracle_options: found by a check of a trace */
    unsigned repeats;           /* runs of the script that was repeated last */
    aphi_model_habits habits;
    int64_t silence_ns;         /* the longest that ended in any run */
    bool full_silences;         /* a failure after a brief silence was repeated: later silences are longer */
    int64_t lent_ns;            /* the time of repeating failures after brief silences, which does not count */
    bool was_brief;             /* the latest failure that was not reproduced needs a brief silence */
    int64_t silent_ns;          /* the time of all recorded silences */
    int64_t response_ns;        /* the longest of the latest response times of the latest run */
    char slow[512];             /* why a run with a silence that was not reproduced ended; "": there was none */
    char run_error[512];        /* why a candidate could not be run, such as a full disk */
    bool skipped_candidate;     /* a candidate could not be judged */
    aphi_run *undecided_runs[APHI_UNDECIDED_MAX]; /* their traces are kept */
    size_t undecided_count;
    char undecided_why[512];    /* of the last one that stays undecided */
    char unjudged[512];         /* the script of the corpus that could not be judged; "": none */
} aphi_campaign_state;

/* ---- campaign_run.c: single runs --------------------------------------------------------------------------------- */

void aphi_campaign_note(const aphi_campaign_state *c, const char *text);
bool aphi_campaign_is_stopped(const aphi_campaign_state *c);
void aphi_campaign_trouble(aphi_campaign_state *c, const char *why);
void aphi_campaign_name_trace(aphi_campaign_state *c, const char *file);

aphi_run_options aphi_campaign_run_options(const aphi_campaign_state *c);
aphi_run_options aphi_campaign_script_options(const aphi_campaign_state *c, const aphi_script *script);
/* Returns at least this patience, more for a slow subject; that of the options if they have one. */
int64_t aphi_campaign_patience(const aphi_campaign_state *c, int64_t least);
/* Raises the patience: a silence that has to be reproduced must be long, unless the options limit it. */
void aphi_campaign_raise_patience(const aphi_campaign_state *c, aphi_run_options *options, aphi_run_verdict wanted);
/* Returns true if the model explains the run in the result, a failure, without the recorded silences. */
bool aphi_campaign_needs_silence(const aphi_campaign_state *c);
/* Runs a fresh subject. Returns NULL if it does not start; the result then has the reason. */
aphi_run *aphi_campaign_run(aphi_campaign_state *c, const aphi_run_options *options, bool traced);
/* Adds the run to the totals; makes it the result. */
void aphi_campaign_count_run(aphi_campaign_state *c, const aphi_run *run);
void aphi_campaign_keep_run(aphi_campaign_state *c, aphi_run *run);
int64_t aphi_campaign_spent_ms(const aphi_campaign_state *c);
/* Returns the verdict of the run, by checking its trace as a whole if the run could not decide, or if it failed and the
 * model makes promises. */
aphi_run_verdict aphi_campaign_check_trace(aphi_campaign_state *c, const aphi_run *run, const char *trace,
                                           int64_t time_ms);
/* The same for a run with the trace of the result. */
aphi_run_verdict aphi_campaign_verdict_of_trace(aphi_campaign_state *c, const aphi_run *run);
/* Judges the run in the result in the same way. Returns false if it passes. */
bool aphi_campaign_judge_again(aphi_campaign_state *c);
/* Now and then, checks the trace of a run that passed, which tests the promises of the model. Returns true if the run
 * is not a pass after all. */
bool aphi_campaign_reject_pass(aphi_campaign_state *c);
/* Runs the script until it has the wanted verdict, at most this many times; the last run becomes the result. counted:
 * the runs are part of the totals, and a script of the folder may be cut at the deadline. */
bool aphi_campaign_repeat(aphi_campaign_state *c, const aphi_script *script, unsigned tries, bool counted);

/* ---- campaign_generate.c ----------------------------------------------------------------------------------------- */

bool aphi_campaign_is_over(const aphi_campaign_state *c);
/* Generates runs until one fails or the budget is spent. */
void aphi_campaign_generate(aphi_campaign_state *c);

/* ---- campaign_undecided.c: runs that were too hard to judge ------------------------------------------------------ */

/* Keeps the run in the result and its trace, if it is undecided, and another one may be easier. Returns false if the
 * campaign ends. */
bool aphi_campaign_keep_undecided(aphi_campaign_state *c);
/* Judges the traces of undecided runs once more, if no failure was found. Returns true if one fails; it is then the
 * result. */
bool aphi_campaign_judge_undecided(aphi_campaign_state *c);
/* A campaign does not pass if some of its runs were not judged, or if there was none. */
void aphi_campaign_doubt_pass(aphi_campaign_state *c);
void aphi_campaign_unlink_undecided(const aphi_campaign_state *c);
void aphi_campaign_free_undecided(aphi_campaign_state *c);

/* ---- campaign_shrink.c ------------------------------------------------------------------------------------------- */

int64_t aphi_campaign_shrink_ns(const aphi_campaign_state *c);
void aphi_campaign_shrink(aphi_campaign_state *c);

/* ---- campaign_confirm.c: failures that may be chance ------------------------------------------------------------- */

/* Returns the time that the silences of a script take. */
int64_t aphi_campaign_silences_ns(const aphi_campaign_state *c, const aphi_script *script);
/* Sets the reason of a failure that needs silence. */
void aphi_campaign_name_silence(aphi_campaign *r);
/* Repeats the script of a doubtful failure; if no run reproduces it, the verdict becomes UNKNOWN. */
void aphi_campaign_settle_doubt(aphi_campaign_state *c);
/* After a silence that was not reproduced, continues, once. */
bool aphi_campaign_continue_after_silence(aphi_campaign_state *c);
/* If no failure was found since then, makes that silence the result. */
void aphi_campaign_recall_silence(aphi_campaign_state *c);

int64_t aphi_campaign_deadline(const aphi_campaign_state *c);

#endif
