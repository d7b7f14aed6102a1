/* SPDX-License-Identifier: Apache-2.0
 *
 * evidence.c - the first unexplained observation of a failed history, and the responses allowed in its place.
 *
 * Idea:       an oracle that knows responses in advance may fail before the blamed observation. A binary search over
 *             prefixes of the window finds the shortest prefix without an explanation, assuming that later responses
 *             never arrive. Its last observation is the blamed one. A wildcard then replaces that observation, and the
 *             responses of all explanations of the prefix are collected.
 * Invariants: 1. monotonicity: a prefix of an explained history is explained
 *             2. a probe starts from the roots of the failed oracle's window, with the requests pending there */
#include "oracle/evidence.h"

#include "base/memory.h"
#include "oracle/connections.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* For each request of the window, the index of its response; APHI_NONE if there is none. */
static uint32_t *find_answers(const aph_oracle *o)
{
    uint32_t *answered = aphi_alloc((o->op_count ? o->op_count : 1) * sizeof *answered);
    memset(answered, 255, o->op_count * sizeof *answered);
    for (size_t i = 0; i < o->event_count; i++)
        if (o->events[i].kind == APHI_OBSERVED_ANSWER && o->events[i].request != APHI_NONE)
            answered[o->events[i].request] = (uint32_t)i;
    return answered;
}

static aph_lookahead lookahead_of(const aph_oracle *o, const uint32_t *answered, uint32_t request, size_t length,
                             uint32_t open)
{
    if (!o->rpc || request == open)
        return (aph_lookahead){.future = APH_FUTURE_OPEN};
    if (answered[request] != APHI_NONE && answered[request] < length)
        return (aph_lookahead){.future = APH_FUTURE_ANSWER, .answer = o->events[answered[request]].message,
                               .order = answered[request], .alone = o->ops[request].alone};
    bool lost = o->ops[request].future == APH_FUTURE_LOST || o->ops[request].lost;
    return (aph_lookahead){.future = lost ? APH_FUTURE_LOST : APH_FUTURE_NEVER, .alone = o->ops[request].alone};
}

/* Requests that were pending at the start of the window keep their slots, to which the bits of the roots refer. */
static void copy_base(const aph_oracle *o, aph_oracle *probe, const uint32_t *answered, size_t length, uint32_t open)
{
    aphi_search_widen(probe, o->words);
    for (uint32_t i = 0; i < o->base_count; i++) {
        const aphi_request *from = &o->ops[i];
        aph_lookahead known = lookahead_of(o, answered, i, length, open);
        uint32_t request = aphi_oracle_add_request(probe, from->connection, from->message, &known);
        aphi_request *to = &probe->ops[request];
        probe->used[to->slot / 64] &= ~((uint64_t)1 << (to->slot % 64));
        to->id = from->id;
        to->duplicate = from->duplicate;
        to->line = from->line;
        to->slot = from->slot;
    }
    for (uint32_t i = 0; i < o->base_count; i++)
        probe->used[probe->ops[i].slot / 64] |= (uint64_t)1 << (probe->ops[i].slot % 64);
}

static void copy_roots(const aph_oracle *o, aph_oracle *probe)
{
    APHI_GROW(probe, probe->roots, probe->root_capacity, o->root_count);
    APHI_GROW(probe, probe->root_bits, probe->root_bits_capacity, o->root_count * o->words);
    probe->root_count = o->root_count;
    for (size_t i = 0; i < o->root_count; i++)
        probe->roots[i] = (aphi_root){.core = o->roots[i].core, .path = o->roots[i].path};
    memcpy(probe->root_bits, o->root_bits, o->root_count * o->words * sizeof *o->root_bits);
    aphi_search_start_window(probe);
}

static void replay_event(const aph_oracle *o, aph_oracle *probe, const uint32_t *answered, size_t i, size_t length,
                    uint32_t open)
{
    const aphi_observed_event *e = &o->events[i];
    probe->line = e->line;
    if (e->kind == APHI_OBSERVED_REQUEST && o->ops[e->request].duplicate) {
        return; /* the probe adds it */
    } else if (e->kind == APHI_OBSERVED_REQUEST) {
        aph_lookahead known = lookahead_of(o, answered, e->request, length, open);
        uint64_t id = o->ops[e->request].id;
        probe->requests = id;
        aph_oracle_sent(probe, e->connection, o->ops[e->request].message, &known, NULL);
    } else if (e->kind == APHI_OBSERVED_ANSWER) {
        aph_oracle_received(probe, e->connection, e->message);
    } else if (e->kind == APHI_OBSERVED_QUIET) {
        aphi_oracle_observe_quiet(probe);
    }
}

/* An oracle over the first `length` observations. The response to the request `open` is not known in advance. Returns
 * NULL if the model does not start, because the time of the check is up. */
static aph_oracle *open_probe(const aph_oracle *o, size_t length, uint32_t open, uint64_t visits)
{
    char error[8];
    aph_oracle_options options = o->options;
    options.time_ms = 0;
    options.order = false;
    options.tell_apart = o->tells_apart;
    aph_oracle *probe = aphi_oracle_open_on(o->model, &options, NULL, !o->parts, error, sizeof error);
    if (!probe)
        return NULL;
    uint32_t *answered = find_answers(o);
    probe->visit_max = visits;
    probe->window_max = SIZE_MAX;
    aphi_connections_copy(o, probe);
    copy_base(o, probe, answered, length, open);
    copy_roots(o, probe);
    probe->idle_trim_at = SIZE_MAX;
    for (size_t i = 0; i < length && probe->verdict == APH_PASS; i++)
        replay_event(o, probe, answered, i, length, open);
    free(answered);
    return probe;
}

static aph_verdict check_prefix(const aph_oracle *o, size_t length, uint64_t visits)
{
    aph_oracle *probe = open_probe(o, length, APHI_NONE, visits);
    aph_verdict verdict = probe ? probe->verdict : APH_UNKNOWN;
    aph_oracle_close(probe);
    return verdict;
}

/* Finds the last observation of the shortest prefix without an explanation. Returns false if a limit was reached. */
static bool find_event(const aph_oracle *o, uint64_t visits, size_t *event)
{
    size_t good = 0, bad = o->event_count;
    while (bad - good > 1) {
        size_t middle = good + (bad - good) / 2;
        aph_verdict verdict = check_prefix(o, middle, visits);
        if (verdict == APH_UNKNOWN)
            return false;
        *(verdict == APH_PASS ? &good : &bad) = middle;
    }
    *event = good;
    return o->events[good].kind == APHI_OBSERVED_ANSWER || o->events[good].kind == APHI_OBSERVED_QUIET;
}

aphi_evidence aphi_evidence_open(const aph_oracle *o, uint64_t visits)
{
    aphi_evidence e = {0};
    assert(o->verdict == APH_FAIL);
    if (!o->event_count || !find_event(o, visits, &e.event))
        return e;
    e.found = true;
    const aphi_observed_event *blamed = &o->events[e.event];
    if (blamed->kind == APHI_OBSERVED_QUIET) /* the message that is due differs between explanations */
        return e;
    e.probe = open_probe(o, e.event, blamed->request, visits);
    if (!e.probe || e.probe->verdict != APH_PASS)
        return e;
    e.probe->exhaustive = true;
    e.probe->budget_end = UINT64_MAX;
    e.probe->unexplained = blamed->connection < APH_ACCEPTED ? APH_NIL : blamed->message;
    aph_oracle_received(e.probe, blamed->connection, APHI_WILDCARD);
    e.all_allowed = !e.probe->limit;
    return e;
}

void aphi_evidence_close(aphi_evidence *e)
{
    aph_oracle_close(e->probe);
    e->probe = NULL;
}
