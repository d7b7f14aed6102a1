/* SPDX-License-Identifier: Apache-2.0
 *
 * partitions.c - one oracle for each part of the state.
 *
 * Idea:       requests of different parts are independent, and the pending requests of a connection are of one part, so
 *             a history is explained if and only if each part is (linearizability is local). Each part has its own
 *             oracle; all share the machine that runs the model.
 *             If an oracle has one configuration and no pending request, that configuration is its whole state. When
 *             there are many oracles, these are closed, and reopened for the next request.
 * Cost:       one lookup per observation. An open oracle takes about ten kilobytes, a closed one a hundred bytes. */
#include "oracle/partitions.h"

#include "base/clock.h"
#include "base/memory.h"
#include "solve/z3.h"
#include "tree/model_calls.h"
#include "tree/step_guard.h"
#include "value/heap.h"

#include <assert.h>
#include <stdlib.h>

enum {
    LIVE_FIRST = 256, /* open oracles before idle ones are closed */
    IDLE_BUDGET = 64, /* configurations visited to find out whether only one is left */
};

/* A connection. All its pending requests are of one part. */
typedef struct connection_state {
    int64_t connection;
    uint32_t partition, pending;
    bool used;
} connection_state;

struct aphi_partitions {
    const aph_model *model;
    aph_oracle_options options;
    aphi_machine *machine;
    bool rpc, split, tied;
    aphi_partition *partitions;
    size_t count, capacity;
    uint32_t *live;        /* partitions that have an oracle */
    size_t live_count, live_capacity, live_max;
    aph_oracle_stats closed; /* of closed oracles */
    uint32_t *index;       /* open addressing on parts: partition index plus 1 */
    size_t index_size;
    connection_state *connections;           /* open addressing on connections */
    size_t connection_capacity, connection_count;
    uint32_t rejecting;    /* index of the partition that did not pass; APHI_NONE: all pass */
    char error[200];
};

static void mark_partitions(void *context)
{
    aphi_partitions *p = context;
    for (size_t i = 0; i < p->count; i++) {
        aph_mark(p->partitions[i].part);
        if (p->partitions[i].idle)
            aphi_core_mark(&p->partitions[i].core);
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
    aphi_partitions *p = aphi_alloc_zero(sizeof *p);
    p->model = model;
    p->options = *options;
    p->options.time_ms = 0;
    p->split = aphi_partitions_apply(model, options);
    aphi_env env = {0};
    aphi_env_named(options->environment, &env);
    p->rpc = model->rpc && !options->ignore_promises && !env.lossy;
    p->machine = aphi_machine_open(model, p->rpc, env.lossy, options->solver_ms);
    p->index_size = p->connection_capacity = 16;
    p->index = aphi_alloc_zero(p->index_size * sizeof *p->index);
    p->connections = aphi_alloc_zero(p->connection_capacity * sizeof *p->connections);
    p->rejecting = APHI_NONE;
    p->live_max = LIVE_FIRST;
    aph_root_add(mark_partitions, p);
    aphi_guard_arm(model, options->time_ms ? aphi_clock_ns() + options->time_ms * 1000000 : 0, options->memory);
    /* Open one now, to report invalid options and a failing model. */
    aph_oracle *first = aphi_oracle_open_on(model, &p->options, p->machine, p->split, error, error_size);
    if (!first) {
        aphi_partitions_close(p);
        return NULL;
    }
    if (p->split) {
        aph_oracle_close(first);
    } else {
        APHI_PUSH(p->partitions, p->count, p->capacity, (aphi_partition){.oracle = first});
    }
    return p;
}

void aphi_partitions_close(aphi_partitions *p)
{
    if (!p)
        return;
    aphi_guard_disarm();
    aph_root_remove(mark_partitions, p);
    for (size_t i = 0; i < p->count; i++)
        aph_oracle_close(p->partitions[i].oracle);
    aphi_machine_close(p->machine);
    free(p->partitions);
    free(p->live);
    free(p->index);
    free(p->connections);
    free(p);
}

/* ---- lookup of partitions and connections ------------------------------------------------------------------------ */

static void grow_index(aphi_partitions *p)
{
    free(p->index);
    p->index_size *= 2;
    p->index = aphi_alloc_zero(p->index_size * sizeof *p->index);
    for (size_t i = 0; i < p->count; i++) {
        size_t at = aph_hash(p->partitions[i].part) & (p->index_size - 1);
        while (p->index[at])
            at = (at + 1) & (p->index_size - 1);
        p->index[at] = (uint32_t)i + 1;
    }
}

static void add_stats(aph_oracle_stats *all, const aph_oracle *o)
{
    all->requests += o->requests;
    all->answers += o->answers;
    all->configurations += o->configurations;
}

/* Closes the partition's oracle if no request is pending and one configuration is left. */
static bool close_if_idle(aphi_partitions *p, aphi_partition *partition)
{
    aph_oracle *o = partition->oracle;
    if (o->pending_count || o->verdict != APH_PASS)
        return false;
    if ((o->frame_count || o->root_next < o->root_count) &&
        (!aphi_search_find_all(o, IDLE_BUDGET) || o->root_count > 1))
        return false;
    partition->core = o->core;
    partition->dropped = o->dropped;
    add_stats(&p->closed, o);
    aph_oracle_close(o);
    partition->oracle = NULL;
    partition->idle = true;
    return true;
}

static void close_idle(aphi_partitions *p)
{
    size_t kept = 0;
    for (size_t i = 0; i < p->live_count; i++)
        if (!close_if_idle(p, &p->partitions[p->live[i]]))
            p->live[kept++] = p->live[i];
    p->live_count = kept;
    p->live_max = kept < LIVE_FIRST / 2 ? LIVE_FIRST : 2 * kept;
}

static void open_oracle(aphi_partitions *p, uint32_t partition)
{
    if (p->live_count >= p->live_max && !p->options.order)
        close_idle(p);
    aphi_partition *s = &p->partitions[partition];
    s->oracle = aphi_oracle_open_on(p->model, &p->options, p->machine, true, p->error, sizeof p->error);
    assert(s->oracle); /* aphi_partitions_open has opened one with the same options */
    if (s->idle)
        aphi_oracle_resume(s->oracle, &s->core, s->dropped);
    s->idle = false;
    APHI_PUSH(p->live, p->live_count, p->live_capacity, partition);
}

static uint32_t find_partition(aphi_partitions *p, aph_value part)
{
    size_t at = aph_hash(part) & (p->index_size - 1);
    for (; p->index[at]; at = (at + 1) & (p->index_size - 1))
        if (p->partitions[p->index[at] - 1].part == part) {
            uint32_t partition = p->index[at] - 1;
            if (!p->partitions[partition].oracle)
                open_oracle(p, partition);
            return partition;
        }
    APHI_PUSH(p->partitions, p->count, p->capacity, (aphi_partition){.part = part});
    open_oracle(p, (uint32_t)p->count - 1);
    p->index[at] = (uint32_t)p->count;
    if (p->count * 2 > p->index_size)
        grow_index(p);
    return (uint32_t)p->count - 1;
}

static connection_state *find_connection(aphi_partitions *p, int64_t connection)
{
    size_t at = aphi_mix((uint64_t)connection, 1) & (p->connection_capacity - 1);
    while (p->connections[at].used && p->connections[at].connection != connection)
        at = (at + 1) & (p->connection_capacity - 1);
    return &p->connections[at];
}

/* Idle connections are dropped when the table grows, so closed ones do not accumulate. */
static void grow_connections(aphi_partitions *p)
{
    connection_state *old = p->connections;
    size_t size = p->connection_capacity, busy = 0;
    for (size_t i = 0; i < size; i++)
        busy += old[i].used && old[i].pending;
    while (p->connection_capacity < 4 * (busy + 1))
        p->connection_capacity *= 2;
    p->connections = aphi_alloc_zero(p->connection_capacity * sizeof *p->connections);
    p->connection_count = busy;
    for (size_t i = 0; i < size; i++)
        if (old[i].used && old[i].pending)
            *find_connection(p, old[i].connection) = old[i];
    free(old);
}

static connection_state *get_connection(aphi_partitions *p, int64_t connection)
{
    connection_state *c = find_connection(p, connection);
    if (c->used)
        return c;
    if ((p->connection_count + 1) * 2 > p->connection_capacity) {
        grow_connections(p);
        c = find_connection(p, connection);
    }
    *c = (connection_state){.connection = connection, .used = true};
    p->connection_count++;
    return c;
}

/* ---- observations ------------------------------------------------------------------------------------------------ */

static bool accepts_events(const aphi_partitions *p, uint32_t partition)
{
    return !p->tied && (p->rejecting == APHI_NONE || p->rejecting == partition);
}

static aph_verdict verdict_of(const aphi_partitions *p)
{
    return p->rejecting == APHI_NONE ? APH_PASS : p->partitions[p->rejecting].oracle->verdict;
}

static aph_verdict record_verdict(aphi_partitions *p, uint32_t partition, aph_verdict verdict)
{
    if (verdict != APH_PASS && p->rejecting == APHI_NONE)
        p->rejecting = partition;
    return verdict_of(p);
}

aph_verdict aphi_partitions_sent(aphi_partitions *p, uint64_t line, int64_t connection, aph_value message,
                           const aph_lookahead *known)
{
    uint32_t partition = 0;
    if (p->split) {
        partition = find_partition(p, aphi_model_part(p->model, message));
        bool ends = !known || known->future != APH_FUTURE_LOST;
        connection_state *c = get_connection(p, connection);
        if (c->pending && c->partition != partition)
            p->tied = true;
        if (ends) {
            c->partition = partition;
            c->pending++;
        }
    }
    if (!accepts_events(p, partition))
        return verdict_of(p);
    aph_oracle *o = p->partitions[partition].oracle;
    o->line = line;
    return record_verdict(p, partition, aph_oracle_sent(o, connection, message, known, NULL));
}

/* Returns the partition that waits for the next response on the connection. */
static uint32_t end_oldest(aphi_partitions *p, int64_t connection)
{
    if (!p->split)
        return 0;
    connection_state *c = find_connection(p, connection);
    /* Any oracle reports this as a response without a request. */
    if (!c->used || !c->pending)
        return find_partition(p, p->count ? p->partitions[0].part : APH_NIL);
    c->pending--;
    return c->partition;
}

aph_verdict aphi_partitions_received(aphi_partitions *p, uint64_t line, int64_t connection, aph_value message)
{
    uint32_t partition = end_oldest(p, connection);
    if (!accepts_events(p, partition))
        return verdict_of(p);
    aph_oracle *o = p->partitions[partition].oracle;
    o->line = line;
    return record_verdict(p, partition, aph_oracle_received(o, connection, message));
}

aph_verdict aphi_partitions_lost(aphi_partitions *p, uint64_t line, int64_t connection, bool known_in_advance)
{
    if (known_in_advance && p->rpc)
        return verdict_of(p); /* without rpc, lookahead is not used */
    uint32_t partition = end_oldest(p, connection);
    if (!accepts_events(p, partition))
        return verdict_of(p);
    p->partitions[partition].oracle->line = line;
    return record_verdict(p, partition, aphi_oracle_lost_oldest(p->partitions[partition].oracle, connection));
}

aph_verdict aphi_partitions_quiet(aphi_partitions *p, uint64_t line)
{
    for (uint32_t i = 0; i < p->count && !p->tied && verdict_of(p) == APH_PASS; i++) {
        aph_oracle *o = p->partitions[i].oracle;
        if (!o)
            continue;
        o->line = line;
        record_verdict(p, i, aphi_oracle_quiet(o));
    }
    return verdict_of(p);
}

/* Only an rpc model has several partitions. */
void aphi_partitions_hold(aphi_partitions *p)
{
    if (!p->split)
        aphi_oracle_hold(p->partitions[0].oracle);
}

aph_verdict aphi_partitions_settle(aphi_partitions *p)
{
    return p->split ? verdict_of(p) : record_verdict(p, 0, aphi_oracle_settle(p->partitions[0].oracle));
}

aph_verdict aphi_partitions_may_be_quiet(aphi_partitions *p)
{
    aph_verdict verdict = verdict_of(p);
    for (size_t i = 0; i < p->count && verdict == APH_PASS; i++)
        if (p->partitions[i].oracle && (verdict = aphi_oracle_may_be_quiet(p->partitions[i].oracle)) != APH_PASS &&
            p->partitions[i].oracle->fault)
            p->rejecting = (uint32_t)i;
    return verdict;
}

aph_value aphi_partitions_due(const aphi_partitions *p)
{
    for (size_t i = 0; i < p->count; i++)
        if (p->partitions[i].oracle && p->partitions[i].oracle->due)
            return p->partitions[i].oracle->due;
    return APH_NIL;
}

void aphi_partitions_count_branches(aphi_partitions *p)
{
    aphi_machine_count_branches(p->machine);
}

aph_value aphi_partitions_branches(const aphi_partitions *p)
{
    return aphi_machine_branches(p->machine);
}

bool aphi_partitions_wants_more(const aphi_partitions *p)
{
    return p->rejecting != APHI_NONE && aphi_oracle_wants_more(p->partitions[p->rejecting].oracle);
}

/* ---- results ----------------------------------------------------------------------------------------------------- */

bool aphi_partitions_tell_apart(const aphi_partitions *p)
{
    return aphi_machine_tells_apart(p->machine);
}

bool aphi_partitions_are_tied(const aphi_partitions *p)
{
    return p->tied;
}

const aphi_partition *aphi_partitions_rejecting(const aphi_partitions *p)
{
    return p->rejecting == APHI_NONE ? NULL : &p->partitions[p->rejecting];
}

const aphi_partition *aphi_partitions_all(const aphi_partitions *p, size_t *n)
{
    *n = p->count;
    return p->partitions;
}

aph_oracle_stats aphi_partitions_stats(const aphi_partitions *p)
{
    aph_oracle_stats all = p->closed;
    all.steps = aphi_machine_steps(p->machine);
    all.solver_calls = aphi_z3_questions();
    all.bytes = aph_heap_bytes();
    for (size_t i = 0; i < p->count; i++) {
        const aph_oracle *o = p->partitions[i].oracle;
        if (!o)
            continue;
        add_stats(&all, o);
        all.window += o->event_count;
        all.bytes += aphi_search_bytes(o);
    }
    return all;
}
