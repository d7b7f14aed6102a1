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
    EARLY_RUNS = 3,          /* with few connections */
    EARLY_PARTS = 8,         /* each takes at most this part of the time */
    LONG = 4096,             /* messages of a run that must be fast to judge */
    MESSAGES_OPENING = 2048, /* the last length if the model has connections: the server may notice an end late */
    MESSAGES_NETWORK = 150,  /* the last length over a user's network: packets in flight may stay there for long */
    FLIGHT_MAX = 16,         /* requests in flight if connections are pipelined: there are many orders */
    FLIGHT_NETWORK = 3,      /* the same over a user's network */
    SILENCE_PARTS = 5,       /* all silences take at most this part of the time, and SILENCES_NS more */
    WAITING_MAX = 6,         /* connections if requests wait for others: the orders in which they wait are many */
};

static const int64_t SLOW_NS = 100000000; /* for a response */
static const int64_t SILENCES_NS = 1000000000;

static uint64_t messages_left(const aphi_campaign_state *c)
{
    uint64_t done = c->result.requests + c->result.answers;
    return !c->options->messages ? UINT64_MAX : done < c->options->messages ? c->options->messages - done : 0;
}

bool aphi_campaign_is_over(const aphi_campaign_state *c)
{
    return !messages_left(c) || (c->until && aphi_clock_ns() >= c->until - c->response_ns);
}

/* Undecided runs had too much concurrency, so later runs have less. */
static size_t most_connections(const aphi_campaign_state *c)
{
    size_t most = c->options->connections;
    if (c->habits.waits && most > WAITING_MAX)
        most = WAITING_MAX;
    for (uint64_t i = 0; i < c->result.undecided && most > 1; i++)
        most = (most + 1) / 2;
    return most;
}

/* The first runs are small, unless the subject is so slow that there will be few runs. */
static bool is_early(const aphi_campaign_state *c)
{
    return c->result.runs < EARLY_RUNS && c->silence_ns < SLOW_NS && aphi_subject_is_ours(c->options->subject);
}

static void choose_width(aphi_campaign_state *c, aphi_run_options *run)
{
    const aphi_campaign_options *o = c->options;
    bool ours = aphi_subject_is_ours(o->subject), easy = run->messages > LONG && o->model->part && o->model->alone;
    /* A failure with few connections is faster to prove, since the end of each may be noticed at many times. */
    bool odd = c->result.runs % 2 == 1, early = is_early(c) || (o->model->connections && odd);
    bool deep = o->depth > 1 && (odd || (easy && !ours));
    size_t all = most_connections(c), few = o->model->connections ? 4 : 3, most = early && all > few ? few : all;
    deep &= !c->result.undecided && !c->habits.overtakes;
    run->connections = aphi_choice_chance(&c->choice, 1, 4) ? 1 + aphi_choice_below(&c->choice, most) : most;
    run->depth = deep ? 2 + aphi_choice_below(&c->choice, o->depth - 1) : 1;
    run->apart = run->messages > LONG;
    size_t flight = o->network ? FLIGHT_NETWORK : FLIGHT_MAX;
    /* If writes are alone in their partition, and partitions are judged separately, there are few orders. */
    if (run->depth > 1 && run->connections * run->depth > flight && !easy)
        run->connections = run->depth < flight ? flight / run->depth : 1;
    /* Connections on which requests wait are replaced by others. */
    if (!o->model->rpc || o->model->patience_ms)
        run->spares = all - run->connections;
}

/* Returns the number of silences of the next run: one, or none if the silences so far took long. */
static unsigned choose_silences(aphi_campaign_state *c)
{
    bool ours = aphi_subject_is_ours(c->options->subject), brief = ours && !c->full_silences;
    int64_t elapsed = ours ? aphi_clock_ns() - c->began : c->options->time_ns;
    int64_t each = brief ? APHI_SILENCE_BRIEF : aphi_campaign_patience(c, APHI_SILENCE_FULL);
    bool first = ours && !c->result.runs; /* it must be short */
    return c->options->model->connections && !first && c->silent_ns + each <= SILENCES_NS + elapsed / SILENCE_PARTS;
}

static uint64_t choose_length(const aphi_campaign_state *c)
{
    uint64_t length = MESSAGES_FIRST, left = messages_left(c);
    uint64_t last = c->options->network              ? MESSAGES_NETWORK
                    : c->options->model->connections ? MESSAGES_OPENING
                                                     : MESSAGES_LAST;
    for (uint64_t i = 0; i < c->result.runs && length < last; i++)
        length *= 3;
    if (length > last)
        length = last;
    /* A subject that cannot be reset gets a single run. */
    if (!aphi_subject_is_ours(c->options->subject))
        return left == UINT64_MAX ? 0 : left;
    return length < left ? length : left;
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
        how.silences = choose_silences(c);
        if (is_early(c)) /* a small run must not take long */
            how.most_ns = c->options->time_ns / EARLY_PARTS;
        aphi_run *run = aphi_campaign_run(c, &how, true);
        if (!run)
            return;
        if (is_unreachable(c, run)) {
            aphi_run_free(run);
            return;
        }
        aphi_campaign_count_run(c, run);
        aphi_campaign_keep_run(c, run);
        bool ours = aphi_subject_is_ours(c->options->subject); /* if not, it gets a single run */
        if ((run->outcome != APHI_RUN_PASS && aphi_campaign_judge_again(c) && !aphi_campaign_keep_undecided(c)) ||
            aphi_campaign_reject_pass(c) || !ours)
            return;
    }
}
