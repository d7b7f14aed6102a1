/* SPDX-License-Identifier: Apache-2.0
 *
 * partitions.c - one oracle for each part of the state.
 *
 * Idea:       requests of different parts do not influence each other, and each connection has at most one in flight,
 *             so a history is explained if and only if its parts are (linearizability is local). Each part has an
 *             oracle of its own; all share the machine that runs the model.
 *             Where nothing is in flight and one configuration is left, an oracle knows nothing but that: when there
 *             are many, such oracles are closed, and opened again when something comes for them.
 * Cost:       one look-up for an observation. An oracle takes some ten kilobytes, a part at rest a hundred bytes. */
#include "oracle/partitions.h"

#include "base/clock.h"
#include "base/memory.h"
#include "solve/z3.h"
#include "tree/guard.h"
#include "value/heap.h"

#include <assert.h>
#include <stdlib.h>

enum { LIVE_FIRST = 256, REST_BUDGET = 64 }; /* oracles before it is worth closing some; configurations to find out */

/* A connection with requests in flight: all of them are of one part. */
typedef struct line {
    int64_t connection;
    uint32_t partition, in_flight;
    bool used;
} line;

struct aphi_partitions {
    const aph_model *model;
    aph_oracle_options options;
    aphi_machine *machine;
    bool rpc, apart, tied;
    aphi_partition *partitions;
    size_t seat_count, seat_capacity;
    uint32_t *live;        /* partitions that have an oracle */
    size_t live_count, live_capacity, live_max;
    aph_oracle_stats closed; /* of the oracles that are no more */
    uint32_t *index;       /* open addressing on parts: partition number plus 1 */
    size_t index_size;
    line *lines;           /* open addressing on connections */
    size_t line_size, line_count;
    uint32_t rejecting;    /* APHI_NONE: nobody */
    char error[200];
};

static void mark_parts(void *context)
{
    aphi_partitions *j = context;
    for (size_t i = 0; i < j->seat_count; i++) {
        aph_mark(j->partitions[i].part);
        if (j->partitions[i].rests)
            aphi_core_mark(&j->partitions[i].core);
    }
}

bool aphi_partitions_apply(const aph_model *model, const aph_oracle_options *options)
{
    aphi_env env;
    return model->part && model->rpc && !options->whole && !options->ignore_promises &&
           aphi_env_named(options->environment, &env) && !env.lossy && !env.buffer;
}

aphi_partitions *aphi_partitions_open(const aph_model *model, const aph_oracle_options *options, char *error,
                                      size_t error_size)
{
    aphi_partitions *j = aphi_alloc_zero(sizeof *j);
    j->model = model;
    j->options = *options;
    j->options.time_ms = 0;
    j->apart = aphi_partitions_apply(model, options);
    aphi_env env = {0};
    aphi_env_named(options->environment, &env);
    j->rpc = model->rpc && !options->ignore_promises && !env.lossy;
    j->machine = aphi_machine_open(model, j->rpc, env.lossy, options->solver_ms);
    j->index_size = j->line_size = 16;
    j->index = aphi_alloc_zero(j->index_size * sizeof *j->index);
    j->lines = aphi_alloc_zero(j->line_size * sizeof *j->lines);
    j->rejecting = APHI_NONE;
    j->live_max = LIVE_FIRST;
    aph_root_add(mark_parts, j);
    aphi_guard_arm(model, options->time_ms ? aphi_clock_ns() + options->time_ms * 1000000 : 0, options->memory);
    /* Open one now, to hear at once if the options or the model are no good. */
    aph_oracle *trial = aphi_oracle_open_on(model, &j->options, j->machine, j->apart, error, error_size);
    if (!trial) {
        aphi_partitions_close(j);
        return NULL;
    }
    if (j->apart) {
        aph_oracle_close(trial);
    } else {
        APHI_RESERVE(j->partitions, j->seat_capacity, 1);
        j->partitions[j->seat_count++] = (aphi_partition){.oracle = trial};
    }
    return j;
}

void aphi_partitions_close(aphi_partitions *j)
{
    if (!j)
        return;
    aphi_guard_disarm();
    aph_root_remove(mark_parts, j);
    for (size_t i = 0; i < j->seat_count; i++)
        aph_oracle_close(j->partitions[i].oracle);
    aphi_machine_close(j->machine);
    free(j->partitions);
    free(j->live);
    free(j->index);
    free(j->lines);
    free(j);
}

/* ---- who is concerned -------------------------------------------------------------------------------------------- */

static void grow_index(aphi_partitions *j)
{
    free(j->index);
    j->index_size *= 2;
    j->index = aphi_alloc_zero(j->index_size * sizeof *j->index);
    for (size_t i = 0; i < j->seat_count; i++) {
        size_t at = aph_hash(j->partitions[i].part) & (j->index_size - 1);
        while (j->index[at])
            at = (at + 1) & (j->index_size - 1);
        j->index[at] = (uint32_t)i + 1;
    }
}

static void count(aph_oracle_stats *all, const aph_oracle *o)
{
    all->requests += o->requests;
    all->answers += o->answers;
    all->configurations += o->configurations;
}

/* Close the partition's oracle if one configuration is all that it knows. */
static bool put_to_rest(aphi_partitions *j, aphi_partition *partition)
{
    aph_oracle *o = partition->oracle;
    if (o->pending_count || o->verdict != APH_PASS)
        return false;
    if ((o->frame_count || o->root_next < o->root_count) && (!aphi_search_collect(o, REST_BUDGET) || o->root_count > 1))
        return false;
    partition->core = o->core;
    partition->let_go = o->let_go;
    count(&j->closed, o);
    aph_oracle_close(o);
    partition->oracle = NULL;
    partition->rests = true;
    return true;
}

static void put_many_to_rest(aphi_partitions *j)
{
    size_t kept = 0;
    for (size_t i = 0; i < j->live_count; i++)
        if (!put_to_rest(j, &j->partitions[j->live[i]]))
            j->live[kept++] = j->live[i];
    j->live_count = kept;
    j->live_max = kept < LIVE_FIRST / 2 ? LIVE_FIRST : 2 * kept;
}

static void wake(aphi_partitions *j, uint32_t partition)
{
    if (j->live_count >= j->live_max && !j->options.order)
        put_many_to_rest(j);
    aphi_partition *s = &j->partitions[partition];
    s->oracle = aphi_oracle_open_on(j->model, &j->options, j->machine, true, j->error, sizeof j->error);
    assert(s->oracle); /* one could be opened when the partitions was */
    if (s->rests)
        aphi_oracle_resume(s->oracle, &s->core, s->let_go);
    s->rests = false;
    APHI_RESERVE(j->live, j->live_capacity, j->live_count + 1);
    j->live[j->live_count++] = partition;
}

static uint32_t seat_of(aphi_partitions *j, aph_value part)
{
    size_t at = aph_hash(part) & (j->index_size - 1);
    for (; j->index[at]; at = (at + 1) & (j->index_size - 1))
        if (j->partitions[j->index[at] - 1].part == part) {
            uint32_t partition = j->index[at] - 1;
            if (!j->partitions[partition].oracle)
                wake(j, partition);
            return partition;
        }
    APHI_RESERVE(j->partitions, j->seat_capacity, j->seat_count + 1);
    j->partitions[j->seat_count++] = (aphi_partition){.part = part};
    wake(j, (uint32_t)j->seat_count - 1);
    j->index[at] = (uint32_t)j->seat_count;
    if (j->seat_count * 2 > j->index_size)
        grow_index(j);
    return (uint32_t)j->seat_count - 1;
}

static line *find_line(aphi_partitions *j, int64_t connection)
{
    size_t at = aphi_mix((uint64_t)connection, 1) & (j->line_size - 1);
    while (j->lines[at].used && j->lines[at].connection != connection)
        at = (at + 1) & (j->line_size - 1);
    return &j->lines[at];
}

/* Idle lines are left behind when the table grows, so connections that come and go do not add up. */
static void grow_lines(aphi_partitions *j)
{
    line *old = j->lines;
    size_t size = j->line_size, busy = 0;
    for (size_t i = 0; i < size; i++)
        busy += old[i].used && old[i].in_flight;
    while (j->line_size < 4 * (busy + 1))
        j->line_size *= 2;
    j->lines = aphi_alloc_zero(j->line_size * sizeof *j->lines);
    j->line_count = busy;
    for (size_t i = 0; i < size; i++)
        if (old[i].used && old[i].in_flight)
            *find_line(j, old[i].connection) = old[i];
    free(old);
}

static line *line_of(aphi_partitions *j, int64_t connection)
{
    line *l = find_line(j, connection);
    if (l->used)
        return l;
    if ((j->line_count + 1) * 2 > j->line_size) {
        grow_lines(j);
        l = find_line(j, connection);
    }
    *l = (line){.connection = connection, .used = true};
    j->line_count++;
    return l;
}

/* ---- observations ------------------------------------------------------------------------------------------------ */

static aph_verdict heard(aphi_partitions *j, uint32_t partition, aph_verdict verdict)
{
    if (verdict != APH_PASS && j->rejecting == APHI_NONE)
        j->rejecting = partition;
    return j->rejecting == APHI_NONE ? APH_PASS : j->partitions[j->rejecting].oracle->verdict;
}

static bool listens(const aphi_partitions *j, uint32_t partition)
{
    return !j->tied && (j->rejecting == APHI_NONE || j->rejecting == partition);
}

static aph_verdict verdict_of(const aphi_partitions *j)
{
    return j->rejecting == APHI_NONE ? APH_PASS : j->partitions[j->rejecting].oracle->verdict;
}

aph_verdict aphi_partitions_sent(aphi_partitions *j, uint64_t line_number, int64_t connection, aph_value message,
                           const aph_lookahead *known)
{
    uint32_t partition = 0;
    if (j->apart) {
        partition = seat_of(j, j->model->part(message));
        bool ends = !known || known->future != APH_FUTURE_LOST;
        line *l = line_of(j, connection);
        if (l->in_flight && l->partition != partition)
            j->tied = true;
        if (ends) {
            l->partition = partition;
            l->in_flight++;
        }
    }
    if (!listens(j, partition))
        return verdict_of(j);
    aph_oracle *o = j->partitions[partition].oracle;
    o->line = line_number;
    return heard(j, partition, aph_oracle_sent(o, connection, message, known, NULL));
}

/* The oracle that waits for the connection's next answer. */
static uint32_t awaiting(aphi_partitions *j, int64_t connection)
{
    if (!j->apart)
        return 0;
    line *l = find_line(j, connection);
    /* Whoever hears it will say that nothing was asked. */
    if (!l->used || !l->in_flight)
        return seat_of(j, j->seat_count ? j->partitions[0].part : APH_NIL);
    l->in_flight--;
    return l->partition;
}

aph_verdict aphi_partitions_received(aphi_partitions *j, uint64_t line_number, int64_t connection, aph_value message)
{
    uint32_t partition = awaiting(j, connection);
    if (!listens(j, partition))
        return verdict_of(j);
    aph_oracle *o = j->partitions[partition].oracle;
    o->line = line_number;
    return heard(j, partition, aph_oracle_received(o, connection, message));
}

aph_verdict aphi_partitions_lost(aphi_partitions *j, uint64_t line_number, int64_t connection, bool foretold)
{
    if (foretold && j->rpc)
        return verdict_of(j); /* an oracle that does not trust the promise has not heard of it */
    uint32_t partition = awaiting(j, connection);
    if (!listens(j, partition))
        return verdict_of(j);
    j->partitions[partition].oracle->line = line_number;
    return heard(j, partition, aphi_oracle_lost_oldest(j->partitions[partition].oracle, connection));
}

aph_verdict aphi_partitions_quiet(aphi_partitions *j)
{
    aph_verdict verdict = verdict_of(j);
    for (size_t i = 0; i < j->seat_count && verdict == APH_PASS; i++)
        if (j->partitions[i].oracle)
            verdict = aphi_oracle_quiet(j->partitions[i].oracle);
    return verdict;
}

void aphi_partitions_count_branches(aphi_partitions *j)
{
    aphi_machine_count_branches(j->machine);
}

aph_value aphi_partitions_branches(const aphi_partitions *j)
{
    return aphi_machine_branches(j->machine);
}

bool aphi_partitions_wants_more(const aphi_partitions *j)
{
    return j->rejecting != APHI_NONE && aphi_oracle_wants_more(j->partitions[j->rejecting].oracle);
}

/* ---- asking ------------------------------------------------------------------------------------------------------ */

bool aphi_partitions_are_tied(const aphi_partitions *j)
{
    return j->tied;
}

const aphi_partition *aphi_partitions_rejecting(const aphi_partitions *j)
{
    return j->rejecting == APHI_NONE ? NULL : &j->partitions[j->rejecting];
}

const aphi_partition *aphi_partitions_all(const aphi_partitions *j, size_t *n)
{
    *n = j->seat_count;
    return j->partitions;
}

aph_oracle_stats aphi_partitions_stats(const aphi_partitions *j)
{
    aph_oracle_stats all = j->closed;
    all.steps = aphi_machine_steps(j->machine);
    all.solver_calls = aphi_z3_questions();
    all.bytes = aph_heap_bytes();
    for (size_t i = 0; i < j->seat_count; i++) {
        const aph_oracle *o = j->partitions[i].oracle;
        if (!o)
            continue;
        count(&all, o);
        all.window += o->event_count;
        all.bytes += aphi_search_bytes(o);
    }
    return all;
}
