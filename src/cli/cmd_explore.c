/* SPDX-License-Identifier: Apache-2.0
 *
 * cmd_explore.c - antiphon explore PROGRAM: run a message-passing program in every order of its messages. */
#include "cli/commands.h"

#include "base/clock.h"
#include "base/file.h"
#include "cli/interrupt.h"
#include "cli/shared_options.h"
#include "execute/program_campaign.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

typedef struct explore {
    aphi_program_campaign_options campaign;
    const char *list;
    int64_t time_ns;
    bool json;
} explore;

static const aphi_option options[] = {
    APHI_JOBS(explore, campaign.jobs, 1, "run N programs in parallel (default: 1)"),
    APHI_TEXT(explore, list, "list", "FILE", "write the sequences, one JSON object per line; - is standard output"),
    APHI_FLAG(explore, campaign.races, "races",
              "with --list: add the race set of each receive and a vector timestamp of each event"),
    APHI_NUMBER(explore, campaign.random, "random", "N", 1, UINT32_MAX, "run N times with random choices instead"),
    APHI_NUMBER(explore, campaign.seed, "seed", "N", 1, UINT32_MAX,
                "seed for the first random run; each run increments it (default: 1)"),
    APHI_FLAG(explore, campaign.twice, "twice", "with --random: replay each run and compare"),
    APHI_TEXT(explore, campaign.replay, "replay", "FILE",
              "replay the sequences in FILE instead; the runs must be the same"),
    APHI_TEXT(explore, campaign.prefix, "prefix", "FILE", "replay the sequences in FILE, then continue freely"),
    APHI_NUMBER(explore, campaign.limit, "limit", "N", 1, UINT64_MAX, "stop after N sequences"),
    APHI_DURATION(explore, time_ns, "run-time", "MS", APHI_MS_NS, APHI_MS_NS, 86400 * (uint64_t)APHI_SECOND_NS,
                  "time limit for a run, in milliseconds; a longer run counts as endless (default: 10000)"),
    APHI_NUMBER(explore, campaign.events_max, "events", "N", 1, 200000,
                "maximum number of events in a run; a longer run counts as endless (default: 100000)"),
    APHI_JSON_OPTION(explore, json),
    {0}};

/* Returns an exit code, or a negative number to continue. */
static int check_options(const aphi_program_campaign_options *o)
{
    if ((o->random > 0) + (o->replay != NULL) + (o->prefix != NULL) > 1)
        return aphi_usage("--random, --replay, --prefix: give only one of them");
    if (o->jobs > 1 && (o->random || o->replay || o->prefix))
        return aphi_usage("--jobs: not with --random, --replay or --prefix");
    if (o->twice && !o->random)
        return aphi_usage("--twice: only with --random");
    return -1;
}

static const struct {
    const char *name;
    int exit_code;
} outcomes[] = {
    [APHI_PROGRAM_PASS] = {"pass", APHI_EXIT_PASS},
    [APHI_PROGRAM_DEADLOCK] = {"deadlock", APHI_EXIT_DEADLOCK},
    [APHI_PROGRAM_DIVERGED] = {"diverged", APHI_EXIT_DIVERGED},
    [APHI_PROGRAM_ENDLESS] = {"endless", APHI_EXIT_ENDLESS},
    [APHI_PROGRAM_CRASHED] = {"crashed", APHI_EXIT_CRASHED},
    [APHI_PROGRAM_BAD_SEQUENCE] = {"error", APHI_EXIT_SEQUENCE},
    [APHI_PROGRAM_NO_PROGRAM] = {"error", APHI_EXIT_PROGRAM},
    [APHI_PROGRAM_INTERRUPTED] = {"interrupted", APHI_EXIT_INTERRUPTED},
};

static void print_json(const char *program, const aphi_program_campaign *c, double seconds)
{
    aph_value v = aph_record("program", aph_str(program), "verdict", aph_str(outcomes[c->outcome].name), "exit",
                             aph_int(outcomes[c->outcome].exit_code), "sequences",
                             aph_int((int64_t)c->stats.sequences), "deadlocks", aph_int((int64_t)c->stats.deadlocks),
                             "runs", aph_int((int64_t)c->stats.runs), "blocked", aph_int((int64_t)c->stats.blocked),
                             "complete", aph_bool(c->complete), "milliseconds", aph_int((int64_t)(seconds * 1e3)));
    if (*c->detail)
        v = aph_put(v, "detail", aph_str(c->detail));
    aph_json_write(stdout, v);
    fputc('\n', stdout);
}

static void print_summary(const explore *x, const char *program, const aphi_program_campaign *c, double seconds)
{
    const aphi_program_campaign_options *o = &x->campaign;
    const aphi_program_explore_stats *s = &c->stats;
    bool all = c->complete && !o->random && !o->replay && !o->prefix;
    if (*c->detail)
        aphi_complain("%s: %s", program, c->detail);
    fprintf(o->list == stdout ? stderr : stdout,
            "%s  %s: %s%" PRIu64 " sequence%s, %" PRIu64 " with a deadlock; %" PRIu64 " run%s, %" PRIu64
            " of them blocked, in %.2f s\n", outcomes[c->outcome].name, program, all ? "all " : "", s->sequences,
            s->sequences == 1 ? "" : "s", s->deadlocks, s->runs, s->runs == 1 ? "" : "s", s->blocked, seconds);
}

/* Closes the list before the summary is printed. */
static int close_list(const explore *x, int code)
{
    FILE *list = x->campaign.list;
    bool written = !list || (!ferror(list) && !fflush(list));
    if (list && list != stdout && fclose(list))
        written = false;
    if (!written)
        aphi_complain("%s cannot be written: %s", x->list, strerror(errno));
    return written ? code : APHI_EXIT_WRITE;
}

static FILE *open_list(const char *path)
{
    int fd = strcmp(path, "-") ? aphi_file_open(path) : STDOUT_FILENO;
    return fd < 0 ? NULL : fd == STDOUT_FILENO ? stdout : fdopen(fd, "w");
}

static int run_campaign(explore *x)
{
    aphi_program_campaign_options *o = &x->campaign;
    if (x->list && !(o->list = open_list(x->list))) {
        aphi_complain("%s cannot be written: %s", x->list, strerror(errno));
        return APHI_EXIT_WRITE;
    }
    o->time_ms = (uint64_t)(x->time_ns / APHI_MS_NS);
    o->stop = &aphi_interrupted;
    aphi_interrupt_watch(NULL);
    int64_t begun = aphi_clock_ns();
    aphi_program_campaign c = aphi_program_campaign_run(o);
    double seconds = (double)(aphi_clock_ns() - begun) * 1e-9;
    int code = close_list(x, outcomes[c.outcome].exit_code);
    if (!c.started)
        aphi_complain("%s", c.detail);
    else if (x->json)
        print_json(o->words[0], &c, seconds);
    else
        print_summary(x, o->words[0], &c, seconds);
    return aphi_written(code);
}

static int explore_command(int count, char **words)
{
    explore x = {.campaign = {.seed = 1, .events_max = 100000}, .time_ns = 10 * APHI_SECOND_NS};
    int code = aphi_options_read(&aphi_command_explore, &x, &count, words);
    if (code < 0)
        code = check_options(&x.campaign);
    x.campaign.words = words;
    return code < 0 ? run_campaign(&x) : code;
}

const aphi_command aphi_command_explore = {
    .name = "explore",
    .summary = "run a message-passing program in every order of its messages",
    .operands = "PROGRAM [ARGUMENT]...",
    .description = "Run PROGRAM, which uses libantiphon-threads, once for each partially ordered sequence of its "
                   "messages: two sequences differ if a receive takes a different message. With --random, run it with "
                   "random choices instead; with --replay or --prefix, replay sequences from a file.",
    .exit_codes = "0 all runs ended, 2 usage, 4 not written, 5 interrupted, 70 the program cannot be started or does "
                  "not use the library, 71 a sequence cannot be read, 72 it cannot be followed, 73 deadlock, 74 a "
                  "run does not terminate, 75 a run crashed.",
    .options = options, .operands_min = 1, .operands_max = -1, .runs_program = true, .run = explore_command};
