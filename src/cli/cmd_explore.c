/* SPDX-License-Identifier: Apache-2.0
 *
 * cmd_explore.c - antiphon explore PROGRAM: every order in which the threads of a program can exchange their messages.
 *
 * Without more, all orders are run, each once. With --random, some; with --replay and --prefix, those of a file. */
#include "cli/commands.h"

#include "base/clock.h"
#include "base/memory.h"
#include "cli/interrupt.h"
#include "cli/shared_options.h"
#include "execute/program_explore.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

typedef struct exploration {
    aphi_program *program;
    const char *name;
    const char *list, *replay, *prefix;
    FILE *listed;
    uint64_t random, seed, limit, events_max;
    int64_t time_ns;
    uint64_t seed_now; /* of the last random run */
    bool races, twice, json;
    aphi_program_explore_stats stats;
    bool complete;
    int code;
    char trouble[600]; /* what the first bad run came to */
    aphi_recording recording, again, given;
    aphi_races found;
    aphi_buffer line;
} exploration;

static const aphi_option options[] = {
    APHI_TEXT(exploration, list, "list", "FILE", "write the sequences, one JSON object per line; - is standard output"),
    APHI_FLAG(exploration, races, "races",
              "with --list: add the race set of each receive and a vector timestamp of each event"),
    APHI_NUMBER(exploration, random, "random", "N", 1, UINT32_MAX, "make N runs with random choices instead"),
    APHI_NUMBER(exploration, seed, "seed", "N", 1, UINT32_MAX,
                "seed of the first random run; each run increments it (default: 1)"),
    APHI_FLAG(exploration, twice, "twice", "with --random: replay each run and compare"),
    APHI_TEXT(exploration, replay, "replay", "FILE", "replay the sequences of FILE instead; the runs must be the same"),
    APHI_TEXT(exploration, prefix, "prefix", "FILE", "replay the sequences of FILE, then continue freely"),
    APHI_NUMBER(exploration, limit, "limit", "N", 1, UINT64_MAX, "stop after N sequences"),
    APHI_DURATION(exploration, time_ns, "run-time", "MS", APHI_MS_NS, APHI_MS_NS, 86400 * (uint64_t)APHI_SECOND_NS,
                  "time limit of a run, in milliseconds; a longer run does not terminate (default: 10000)"),
    APHI_NUMBER(exploration, events_max, "events", "N", 1, 200000,
                "limit of events; a run with more does not terminate (default: 100000)"),
    APHI_JSON_OPTION(exploration, json),
    {0}};

/* Negative: go on; else the exit code. */
static int check_options(const exploration *x)
{
    if ((x->random > 0) + (x->replay != NULL) + (x->prefix != NULL) > 1)
        return aphi_usage("--random, --replay, --prefix: give only one of them");
    if (x->twice && !x->random)
        return aphi_usage("--twice: only with --random");
    return -1;
}

/* ---- what runs come to ------------------------------------------------------------------------------------------- */

static aphi_program_run_options order_of(const exploration *x, uint64_t seed)
{
    aphi_program_run_options o = aphi_program_run_options_default(seed, (uint64_t)(x->time_ns / APHI_MS_NS));
    o.events_max = x->events_max;
    return o;
}

/* The first trouble decides, but for a deadlock, which any other takes precedence over. */
static void trouble(exploration *x, int code, const char *kind, const aphi_recording *r)
{
    if (x->code && (x->code != APHI_EXIT_DEADLOCK || code == APHI_EXIT_DEADLOCK))
        return;
    x->code = code;
    if (x->random)
        snprintf(x->trouble, sizeof x->trouble, "%s (--random 1 --seed %" PRIu64 "): %s", kind, x->seed_now, r->detail);
    else
        snprintf(x->trouble, sizeof x->trouble, "%s: %s", kind, r->detail);
}

static void weigh(exploration *x, const aphi_recording *r)
{
    switch (r->end) {
    case APHI_RECORDING_DEADLOCK: trouble(x, APHI_EXIT_DEADLOCK, "deadlock", r); break;
    case APHI_RECORDING_DIVERGED: trouble(x, APHI_EXIT_DIVERGED, "cannot follow", r); break;
    case APHI_RECORDING_ENDLESS: trouble(x, APHI_EXIT_ENDLESS, "does not terminate", r); break;
    case APHI_RECORDING_CRASHED: trouble(x, APHI_EXIT_CRASHED, "crashed", r); break;
    case APHI_RECORDING_FAILED: trouble(x, APHI_EXIT_CRASHED, "failed", r); break;
    default: break;
    }
}

static void write_line(exploration *x, const aphi_recording *r, const aphi_races *races)
{
    x->line.n = 0;
    aphi_recording_write(aphi_program_layout(x->program), r, x->races ? races : NULL, x->stats.sequences, &x->line);
    aphi_buffer_byte(&x->line, '\n');
    fwrite(x->line.data, 1, x->line.n, x->listed);
}

static void list(exploration *x, const aphi_recording *r)
{
    if (!x->listed)
        return;
    if (x->races)
        aphi_races_find(aphi_program_layout(x->program), r, &x->found);
    write_line(x, r, &x->found);
}

static void lost(exploration *x, const char *error)
{
    if (aphi_interrupted)
        return;
    x->code = APHI_EXIT_PROGRAM;
    snprintf(x->trouble, sizeof x->trouble, "%s", error);
}

/* ---- all orders -------------------------------------------------------------------------------------------------- */

static bool visit(void *context, const aphi_recording *r, const aphi_races *races)
{
    exploration *x = context;
    weigh(x, r);
    if (x->listed)
        write_line(x, r, races);
    bool sequence = r->end == APHI_RECORDING_ENDED || r->end == APHI_RECORDING_DEADLOCK;
    return sequence && !aphi_interrupted && (!x->limit || x->stats.sequences < x->limit);
}

static void run_all(exploration *x)
{
    char error[512];
    aphi_program_run_options limits = order_of(x, 0);
    switch (aphi_program_explore(x->program, &limits, visit, x, &x->stats, error, sizeof error)) {
    case APHI_PROGRAM_EXPLORED: x->complete = true; break;
    case APHI_PROGRAM_LOST: lost(x, error); break;
    default: break;
    }
}

/* ---- some runs --------------------------------------------------------------------------------------------------- */

/* One run, counted; false: there is no going on. */
static bool run_one(exploration *x, const aphi_program_run_options *o)
{
    char error[512];
    if (!aphi_program_run(x->program, o, &x->recording, error, sizeof error)) {
        lost(x, error);
        return false;
    }
    x->stats.runs++;
    if (x->recording.end == APHI_RECORDING_ENDED || x->recording.end == APHI_RECORDING_DEADLOCK)
        x->stats.sequences++;
    x->stats.deadlocks += x->recording.end == APHI_RECORDING_DEADLOCK;
    return true;
}

/* Does the recording come out the same if it is forced? */
static bool replay(exploration *x, const aphi_recording *r)
{
    char error[512];
    aphi_program_run_options o = order_of(x, 0);
    o.replay = true;
    o.forced = r->events;
    o.forced_count = r->event_count;
    if (!aphi_program_run(x->program, &o, &x->again, error, sizeof error)) {
        lost(x, error);
        return false;
    }
    bool same = x->again.end == r->end && aphi_recording_equal(aphi_program_layout(x->program), r, &x->again);
    if (!same && x->again.end == r->end)
        snprintf(x->again.detail, sizeof x->again.detail, "the replay has other events");
    if (!same && x->again.end == APHI_RECORDING_ENDED)
        snprintf(x->again.detail, sizeof x->again.detail, "the sequence ends with a deadlock, the program does not");
    if (!same && x->again.end == APHI_RECORDING_DEADLOCK)
        snprintf(x->again.detail, sizeof x->again.detail,
                 "missing termination: the program is in a deadlock where the sequence ends");
    if (!same && (x->again.end == APHI_RECORDING_ENDED || x->again.end == APHI_RECORDING_DEADLOCK))
        x->again.end = APHI_RECORDING_DIVERGED;
    if (!same)
        weigh(x, &x->again);
    return same;
}

static void run_random(exploration *x)
{
    for (uint64_t i = 0; i < x->random && !aphi_interrupted; i++) {
        x->seed_now = x->seed + i;
        aphi_program_run_options o = order_of(x, x->seed_now);
        if (!run_one(x, &o))
            return;
        weigh(x, &x->recording);
        list(x, &x->recording);
        bool sequence = x->recording.end == APHI_RECORDING_ENDED || x->recording.end == APHI_RECORDING_DEADLOCK;
        if (!sequence || (x->twice && !replay(x, &x->recording)))
            return;
    }
    x->complete = !aphi_interrupted;
}

/* ---- runs of a file ---------------------------------------------------------------------------------------------- */

/* One line of a file; false: there is no going on. */
static bool follow(exploration *x)
{
    aphi_program_run_options o = order_of(x, x->seed);
    o.forced = x->given.events;
    o.forced_count = x->given.event_count;
    o.replay = x->replay != NULL;
    if (x->replay) {
        x->stats.runs++;
        bool same = replay(x, &x->given);
        x->stats.sequences += same;
        if (same)
            list(x, &x->again);
        return same;
    }
    if (!run_one(x, &o))
        return false;
    weigh(x, &x->recording);
    list(x, &x->recording);
    return x->recording.end == APHI_RECORDING_ENDED || x->recording.end == APHI_RECORDING_DEADLOCK;
}

static bool follow_line(exploration *x, const char *file, uint64_t number, const char *text, size_t n)
{
    char error[300];
    aph_json_error json;
    aph_value v;
    if (!aph_json_read(text, n, &v, &json)) {
        snprintf(x->trouble, sizeof x->trouble, "%s:%" PRIu64 ": not JSON, at byte %zu: %s", file, number, json.offset,
                 json.message);
    } else if (!aphi_recording_read(aphi_program_layout(x->program), v, &x->given, error, sizeof error)) {
        snprintf(x->trouble, sizeof x->trouble, "%s:%" PRIu64 ": %s", file, number, error);
    } else {
        aph_collect();
        if (follow(x))
            return true;
        char at[600];
        snprintf(at, sizeof at, "%.60s:%" PRIu64 ": %.500s", file, number, x->trouble);
        memcpy(x->trouble, at, sizeof x->trouble);
        return false;
    }
    x->code = APHI_EXIT_SEQUENCE;
    return false;
}

static void run_file(exploration *x, const char *file)
{
    char *text = NULL;
    size_t capacity = 0;
    ssize_t n;
    uint64_t number = 0;
    FILE *in = fopen(file, "r");
    if (!in) {
        x->code = APHI_EXIT_SEQUENCE;
        snprintf(x->trouble, sizeof x->trouble, "%s: %s", file, strerror(errno));
        return;
    }
    bool fine = true;
    while (fine && !aphi_interrupted && (!x->limit || number < x->limit) && (n = getline(&text, &capacity, in)) > 0)
        fine = follow_line(x, file, ++number, text, (size_t)n);
    if (fine && !number) {
        x->code = APHI_EXIT_SEQUENCE;
        snprintf(x->trouble, sizeof x->trouble, "%s: it holds no sequence", file);
    }
    x->complete = fine && number && !aphi_interrupted;
    free(text);
    fclose(in);
}

/* ---- telling ----------------------------------------------------------------------------------------------------- */

static const char *verdict(const exploration *x)
{
    switch (x->code) {
    case APHI_EXIT_PASS: return "pass";
    case APHI_EXIT_DEADLOCK: return "deadlock";
    case APHI_EXIT_DIVERGED: return "diverged";
    case APHI_EXIT_ENDLESS: return "endless";
    case APHI_EXIT_CRASHED: return "crashed";
    case APHI_EXIT_INTERRUPTED: return "interrupted";
    default: return "error";
    }
}

static void tell_json(const exploration *x, double seconds)
{
    aph_value v = aph_record("program", aph_str(x->name), "verdict", aph_str(verdict(x)), "exit", aph_int(x->code),
                             "sequences", aph_int((int64_t)x->stats.sequences), "deadlocks",
                             aph_int((int64_t)x->stats.deadlocks), "runs", aph_int((int64_t)x->stats.runs), "blocked",
                             aph_int((int64_t)x->stats.blocked), "complete", aph_bool(x->complete), "milliseconds",
                             aph_int((int64_t)(seconds * 1e3)));
    if (*x->trouble)
        v = aph_put(v, "detail", aph_str(x->trouble));
    aph_json_write(stdout, v);
    fputc('\n', stdout);
}

static void tell(const exploration *x, double seconds)
{
    FILE *out = x->listed == stdout ? stderr : stdout;
    if (*x->trouble)
        fprintf(stderr, "antiphon: %s: %s\n", x->name, x->trouble);
    fprintf(out, "%s  %s: %" PRIu64 " sequence%s%s, %" PRIu64 " with a deadlock; %" PRIu64 " run%s, %" PRIu64
            " of them blocked, in %.2f s\n", verdict(x), x->name, x->stats.sequences,
            x->stats.sequences == 1 ? "" : "s",
            x->complete && !x->random && !x->replay && !x->prefix ? ", all there are" : "", x->stats.deadlocks,
            x->stats.runs, x->stats.runs == 1 ? "" : "s", x->stats.blocked, seconds);
}

static bool open_list(exploration *x)
{
    if (!x->list)
        return true;
    x->listed = strcmp(x->list, "-") ? fopen(x->list, "w") : stdout;
    if (!x->listed)
        fprintf(stderr, "antiphon: %s: %s\n", x->list, strerror(errno));
    return x->listed;
}

static bool close_list(exploration *x)
{
    if (!x->listed)
        return true;
    bool fine = !ferror(x->listed) && !fflush(x->listed);
    if (x->listed != stdout && fclose(x->listed))
        fine = false;
    if (!fine)
        fprintf(stderr, "antiphon: %s: not written\n", x->list);
    return fine;
}

static void explore(exploration *x)
{
    aphi_interrupt_watch(NULL);
    if (x->random)
        run_random(x);
    else if (x->replay || x->prefix)
        run_file(x, x->replay ? x->replay : x->prefix);
    else
        run_all(x);
    if (aphi_interrupted && !x->code)
        x->code = APHI_EXIT_INTERRUPTED;
}

static int explore_command(int count, char **words)
{
    exploration x = {.seed = 1, .time_ns = 10 * APHI_SECOND_NS, .events_max = 100000};
    char error[512];
    int code = aphi_options_read(&aphi_command_explore, &x, &count, words);
    if (code < 0)
        code = check_options(&x);
    if (code >= 0)
        return code;
    x.name = words[0];
    int64_t begun = aphi_clock_ns();
    x.program = aphi_program_open(words, (uint64_t)(x.time_ns / APHI_MS_NS), error, sizeof error);
    if (!x.program) {
        aphi_complain("%s", error);
        return APHI_EXIT_PROGRAM;
    }
    aphi_program_set_stop(x.program, &aphi_interrupted);
    if (!open_list(&x)) {
        aphi_program_close(x.program);
        return APHI_EXIT_WRITE;
    }
    explore(&x);
    double seconds = (double)(aphi_clock_ns() - begun) * 1e-9;
    bool written = close_list(&x);
    if (x.json)
        tell_json(&x, seconds);
    else
        tell(&x, seconds);
    aphi_program_close(x.program);
    aphi_recording_free(&x.recording);
    aphi_recording_free(&x.again);
    aphi_recording_free(&x.given);
    aphi_races_free(&x.found);
    aphi_buffer_free(&x.line);
    return written ? x.code : APHI_EXIT_WRITE;
}

const aphi_command aphi_command_explore = {
    .name = "explore",
    .summary = "run a message-passing program in every order of its messages",
    .operands = "PROGRAM [ARGUMENT]...",
    .description = "Run PROGRAM, which uses libantiphon-threads, once for each partially ordered sequence of its "
                   "messages: two sequences differ if some receive takes another message. With --random, make random "
                   "runs instead; with --replay or --prefix, replay sequences of a file.",
    .exit_codes = "0 all runs ended, 2 usage, 4 not written, 5 interrupted, 70 the program cannot be started or does "
                  "not use the library, 71 a sequence cannot be read, 72 it cannot be followed, 73 deadlock, 74 a "
                  "run does not terminate, 75 a run crashed.",
    .options = options, .operands_min = 1, .operands_max = -1, .runs_program = true, .run = explore_command};
