/* SPDX-License-Identifier: Apache-2.0
 *
 * campaign_generate.c - the generated runs of a campaign: their lengths, connections and pipelining.
 *
 * Idea:       the first runs are short, so that an easy failure is found at once and needs little shrinking. Later runs
 *             become longer. Few and many connections alternate, and so do single and pipelined requests. */
#include "tester/campaign_internal.h"

#include "base/clock.h"

#include <unistd.h>

enum {
    MESSAGES_FIRST = 48,
    MESSAGES_LAST = 1 << 17,
    LONG = 4096,             /* messages of a run that must be fast to judge */
    FLIGHT_MAX = 16,         /* requests in flight if connections are pipelined: there are many orders */
};

static uint64_t messages_left(const aphi_campaign_state *c)
{
    uint64_t done = c->result.requests + c->result.answers;
    return !c->options->messages ? UINT64_MAX : done < c->options->messages ? c->options->messages - done : 0;
}

bool aphi_campaign_is_over(const aphi_campaign_state *c)
{
    return !messages_left(c) || (c->until && aphi_clock_ns() >= c->until);
}

static void choose_width(aphi_campaign_state *c, aphi_run_options *run)
{
    const aphi_campaign_options *o = c->options;
    bool ours = aphi_subject_is_ours(o->subject), easy = run->messages > LONG && o->model->part && o->model->alone;
    bool early = c->result.runs < 3 && ours, deep = o->depth > 1 && (c->result.runs % 2 == 1 || (easy && !ours));
    size_t most = early && o->connections > 3 ? 3 : o->connections;
    /* Undecided runs had too much concurrency, so later runs have less. */
    for (uint64_t i = 0; i < c->result.undecided && most > 1; i++, deep = false)
        most = (most + 1) / 2;
    run->connections = aphi_choice_chance(&c->choice, 1, 4) ? 1 + aphi_choice_below(&c->choice, most) : most;
    run->depth = deep ? 2 + aphi_choice_below(&c->choice, o->depth - 1) : 1;
    run->apart = run->messages > LONG;
    /* If writes are alone in their partition, and partitions are judged separately, there are few orders. */
    if (run->depth > 1 && run->connections * run->depth > FLIGHT_MAX && !easy)
        run->connections = run->depth < FLIGHT_MAX ? FLIGHT_MAX / run->depth : 1;
}

static uint64_t choose_length(const aphi_campaign_state *c)
{
    uint64_t length = MESSAGES_FIRST, left = messages_left(c);
    for (uint64_t i = 0; i < c->result.runs && length < MESSAGES_LAST; i++)
        length *= 3;
    if (length > MESSAGES_LAST)
        length = MESSAGES_LAST;
    /* A subject that cannot be reset gets a single run. */
    if (!aphi_subject_is_ours(c->options->subject))
        return left == UINT64_MAX ? 0 : left;
    return length < left ? length : left;
}

/* Names the trace of the n-th undecided run, from 1. */
static void name_undecided(const aphi_campaign_state *c, unsigned n, char name[FILENAME_MAX])
{
    snprintf(name, FILENAME_MAX, "%s/undecided-%u.jsonl", c->options->folder, n);
}

/* A few runs that are too hard to judge are replaced by easier ones. Their traces are kept for a check without limits.
 * Returns false if the campaign ends. */
static bool keep_undecided(aphi_campaign_state *c)
{
    char name[FILENAME_MAX];
    if (c->result.outcome != APHI_RUN_UNKNOWN || !c->result.run->too_hard ||
        !aphi_subject_is_ours(c->options->subject) || c->result.undecided++ >= APHI_UNDECIDED_MAX)
        return false;
    name_undecided(c, (unsigned)c->result.undecided, name);
    if (rename(c->result.trace, name) != 0)
        aphi_campaign_note(c, "the trace of an undecided run is not kept: it cannot be renamed");
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

/* Returns true if there is no server at the address: nothing was tested. */
static bool is_unreachable(aphi_campaign_state *c, const aphi_run *run)
{
    bool unreachable = run->outcome == APHI_RUN_DEAD && run->unreached && c->result.runs == 0 &&
                   !aphi_subject_is_ours(c->options->subject);
    if (unreachable) {
        c->result.unstarted = true;
        aphi_campaign_trouble(c, run->why);
    }
    return unreachable;
}

void aphi_campaign_generate(aphi_campaign_state *c)
{
    while (!aphi_campaign_is_over(c)) {
        aphi_run_options how = aphi_campaign_run_options(c);
        how.seed = aphi_choice_bits(&c->choice) >> 1;
        how.messages = choose_length(c);
        choose_width(c, &how);
        aphi_run *run = aphi_campaign_run(c, &how, true);
        if (!run)
            return;
        if (is_unreachable(c, run)) {
            aphi_run_free(run);
            return;
        }
        aphi_campaign_count_run(c, run);
        aphi_campaign_keep_run(c, run);
        if (run->outcome != APHI_RUN_PASS && aphi_campaign_judge_again(c) && !keep_undecided(c))
            return;
    }
}
