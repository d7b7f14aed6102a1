/* SPDX-License-Identifier: Apache-2.0
 *
 * program_campaign.c - runs of a program: all orders of its messages, random orders, or the sequences of a file. */
#include "execute/program_campaign.h"

#include "base/memory.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

typedef struct campaign {
    const aphi_program_campaign_options *options;
    aphi_program_campaign result;
    aphi_program *program;
    uint64_t seed;                             /* of the last random run */
    aphi_recording recording, again, given;    /* the run, its replay, and the sequence of a line of a file */
    aphi_races race_sets;
    aphi_buffer line;
} campaign;

static bool is_stopped(const campaign *x)
{
    return x->options->stop && *x->options->stop;
}

__attribute__((format(printf, 2, 3))) static void describe(campaign *x, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(x->result.detail, sizeof x->result.detail, format, args);
    va_end(args);
}

/* ---- outcomes ---------------------------------------------------------------------------------------------------- */

static aphi_program_run_options run_options(const campaign *x, uint64_t seed)
{
    aphi_program_run_options o = aphi_program_run_options_default(seed, x->options->time_ms);
    o.events_max = x->options->events_max;
    return o;
}

/* Keeps the first failure, except that any other failure replaces a deadlock. */
static void record_failure(campaign *x, aphi_program_outcome outcome, const char *kind, const aphi_recording *r)
{
    if (x->result.outcome && (x->result.outcome != APHI_PROGRAM_DEADLOCK || outcome == APHI_PROGRAM_DEADLOCK))
        return;
    x->result.outcome = outcome;
    if (x->options->random)
        describe(x, "%s (--random 1 --seed %" PRIu64 "): %s", kind, x->seed, r->detail);
    else
        describe(x, "%s: %s", kind, r->detail);
}

static void record_end(campaign *x, const aphi_recording *r)
{
    switch (r->end) {
    case APHI_RECORDING_DEADLOCK: record_failure(x, APHI_PROGRAM_DEADLOCK, "deadlock", r); break;
    case APHI_RECORDING_DIVERGED: record_failure(x, APHI_PROGRAM_DIVERGED, "cannot follow", r); break;
    case APHI_RECORDING_ENDLESS: record_failure(x, APHI_PROGRAM_ENDLESS, "does not terminate", r); break;
    case APHI_RECORDING_CRASHED: record_failure(x, APHI_PROGRAM_CRASHED, "crashed", r); break;
    case APHI_RECORDING_FAILED: record_failure(x, APHI_PROGRAM_CRASHED, "failed", r); break;
    default: break;
    }
}

static void record_loss(campaign *x, const char *error)
{
    if (is_stopped(x))
        return;
    x->result.outcome = APHI_PROGRAM_NO_PROGRAM;
    describe(x, "%s", error);
}

/* Returns true for a complete sequence. */
static bool is_sequence(const aphi_recording *r)
{
    return r->end == APHI_RECORDING_ENDED || r->end == APHI_RECORDING_DEADLOCK;
}

static void write_line(campaign *x, const aphi_layout *layout, const aphi_recording *r, const aphi_races *races)
{
    x->line.n = 0;
    aphi_recording_write(layout, r, x->options->races ? races : NULL,
                         x->result.stats.sequences, &x->line);
    aphi_buffer_byte(&x->line, '\n');
    fwrite(x->line.data, 1, x->line.n, x->options->list);
}

static void list_sequence(campaign *x, const aphi_recording *r)
{
    if (!x->options->list)
        return;
    const aphi_layout *layout = aphi_program_layout(x->program);
    if (x->options->races)
        aphi_races_find(layout, r, &x->race_sets);
    write_line(x, layout, r, &x->race_sets);
}

/* ---- all orders -------------------------------------------------------------------------------------------------- */

static bool take_run(void *context, const aphi_layout *layout, const aphi_recording *r, const aphi_races *races)
{
    campaign *x = context;
    record_end(x, r);
    if (x->options->list)
        write_line(x, layout, r, races);
    return is_sequence(r) && !is_stopped(x) && (!x->options->limit || x->result.stats.sequences < x->options->limit);
}

static void explore_with(campaign *x, aphi_program *const *programs, size_t count)
{
    char error[512];
    aphi_program_run_options limits = run_options(x, 0);
    switch (aphi_program_explore(programs, count, &limits, take_run, x, &x->result.stats, error, sizeof error)) {
    case APHI_PROGRAM_EXPLORED: x->result.complete = true; break;
    case APHI_PROGRAM_LOST: record_loss(x, error); break;
    default: break;
    }
}

/* Starts the program once for each job. */
static void run_all(campaign *x)
{
    const aphi_program_campaign_options *o = x->options;
    size_t jobs = o->jobs ? o->jobs : 1, count = 1;
    char error[512];
    aphi_program **programs = aphi_alloc(jobs * sizeof *programs);
    programs[0] = x->program;
    while (count < jobs && (programs[count] = aphi_program_open(o->words, o->time_ms, error, sizeof error)))
        aphi_program_set_stop(programs[count++], o->stop);
    if (count == jobs)
        explore_with(x, programs, count);
    else
        record_loss(x, error);
    while (count > 1)
        aphi_program_close(programs[--count]);
    free(programs);
}

/* ---- some runs --------------------------------------------------------------------------------------------------- */

/* Makes one run and counts it. Returns false if the program is lost. */
static bool run_one(campaign *x, const aphi_program_run_options *o)
{
    char error[512];
    if (!aphi_program_run(x->program, o, &x->recording, error, sizeof error)) {
        record_loss(x, error);
        return false;
    }
    x->result.stats.runs++;
    x->result.stats.sequences += is_sequence(&x->recording);
    x->result.stats.deadlocks += x->recording.end == APHI_RECORDING_DEADLOCK;
    return true;
}

/* Forces the events of the recording. Returns false if the run differs. */
static bool replay_run(campaign *x, const aphi_recording *r)
{
    char error[512];
    aphi_program_run_options o = run_options(x, 0);
    o.replay = true;
    o.forced = r->events;
    o.forced_count = r->event_count;
    if (!aphi_program_run(x->program, &o, &x->again, error, sizeof error)) {
        record_loss(x, error);
        return false;
    }
    if (x->again.end == r->end && aphi_recording_equal(aphi_program_layout(x->program), r, &x->again))
        return true;
    if (is_sequence(&x->again)) {
        snprintf(x->again.detail, sizeof x->again.detail, "%s",
                 x->again.end == r->end                  ? "the replay has different events"
                 : x->again.end == APHI_RECORDING_ENDED ? "the sequence ends with a deadlock, but the program does not"
                                                        : "missing termination: the program deadlocks where "
                                                          "the sequence ends");
        x->again.end = APHI_RECORDING_DIVERGED;
    }
    record_end(x, &x->again);
    return false;
}

static void run_random(campaign *x)
{
    for (uint64_t i = 0; i < x->options->random && !is_stopped(x); i++) {
        x->seed = x->options->seed + i;
        aphi_program_run_options o = run_options(x, x->seed);
        if (!run_one(x, &o))
            return;
        record_end(x, &x->recording);
        list_sequence(x, &x->recording);
        if (!is_sequence(&x->recording) || (x->options->twice && !replay_run(x, &x->recording)))
            return;
    }
    x->result.complete = !is_stopped(x);
}

/* ---- runs of a file ---------------------------------------------------------------------------------------------- */

/* Runs the sequence of the current line. Returns false to end the campaign. */
static bool follow_sequence(campaign *x)
{
    aphi_program_run_options o = run_options(x, x->options->seed);
    o.forced = x->given.events;
    o.forced_count = x->given.event_count;
    o.replay = x->options->replay != NULL;
    if (x->options->replay) {
        x->result.stats.runs++;
        bool same = replay_run(x, &x->given);
        x->result.stats.sequences += same;
        if (same)
            list_sequence(x, &x->again);
        return same;
    }
    if (!run_one(x, &o))
        return false;
    record_end(x, &x->recording);
    list_sequence(x, &x->recording);
    return is_sequence(&x->recording);
}

static bool follow_line(campaign *x, const char *file, uint64_t number, const char *text, size_t n)
{
    char error[300];
    aph_json_error json;
    aph_value v;
    if (!aph_json_read(text, n, &v, &json)) {
        describe(x, "%s:%" PRIu64 ": not JSON, at byte %zu: %s", file, number, json.offset,
                 json.message);
    } else if (!aphi_recording_read(aphi_program_layout(x->program), v, &x->given, error, sizeof error)) {
        describe(x, "%s:%" PRIu64 ": %s", file, number, error);
    } else {
        aph_collect();
        if (follow_sequence(x))
            return true;
        char at[600];
        snprintf(at, sizeof at, "%.60s:%" PRIu64 ": %.500s", file, number, x->result.detail);
        describe(x, "%s", at);
        return false;
    }
    x->result.outcome = APHI_PROGRAM_BAD_SEQUENCE;
    return false;
}

static void run_file(campaign *x, const char *file)
{
    char *text = NULL;
    size_t capacity = 0;
    ssize_t n;
    uint64_t number = 0, limit = x->options->limit ? x->options->limit : UINT64_MAX;
    FILE *in = fopen(file, "r");
    if (!in) {
        x->result.outcome = APHI_PROGRAM_BAD_SEQUENCE;
        describe(x, "%s: %s", file, strerror(errno));
        return;
    }
    bool valid = true;
    while (valid && !is_stopped(x) && number < limit && (n = aphi_read_line(&text, &capacity, in)) > 0)
        valid = follow_line(x, file, ++number, text, (size_t)n);
    if (valid && !number) {
        x->result.outcome = APHI_PROGRAM_BAD_SEQUENCE;
        describe(x, "%s: no sequences", file);
    }
    x->result.complete = valid && number && !is_stopped(x);
    free(text);
    fclose(in);
}

/* ---- the campaign ------------------------------------------------------------------------------------------------ */

static void run_program(campaign *x)
{
    const aphi_program_campaign_options *o = x->options;
    aphi_program_set_stop(x->program, o->stop);
    if (o->random)
        run_random(x);
    else if (o->replay || o->prefix)
        run_file(x, o->replay ? o->replay : o->prefix);
    else
        run_all(x);
    if (is_stopped(x) && !x->result.outcome)
        x->result.outcome = APHI_PROGRAM_INTERRUPTED;
    aphi_program_close(x->program);
    aphi_recording_free(&x->recording);
    aphi_recording_free(&x->again);
    aphi_recording_free(&x->given);
    aphi_races_free(&x->race_sets);
    aphi_buffer_free(&x->line);
}

aphi_program_campaign aphi_program_campaign_run(const aphi_program_campaign_options *options)
{
    campaign x = {.options = options};
    x.program = aphi_program_open(options->words, options->time_ms, x.result.detail, sizeof x.result.detail);
    x.result.started = x.program;
    if (x.program)
        run_program(&x);
    else
        x.result.outcome = APHI_PROGRAM_NO_PROGRAM;
    return x.result;
}
