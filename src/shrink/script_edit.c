/* SPDX-License-Identifier: Apache-2.0
 *
 * script_edit.c - candidates derived from the best script.
 *
 * Invariants: When actions are removed, the others still wait for the same events or for earlier ones: otherwise a
 *             script that fails only in some order of requests and responses would rarely shrink. */
#include "shrink/shrink_internal.h"

#include <stdlib.h>
#include "base/memory.h"
#include "script/expression.h"

static void begin_candidate(aphi_shrink_runner *s)
{
    aphi_script *c = &s->candidate;
    memcpy(c->model, s->best.model, sizeof c->model);
    memcpy(c->environment, s->best.environment, sizeof c->environment);
    c->seed = s->best.seed;
    c->count = 0;
}

void aphi_script_edit_set(aphi_shrink_runner *s, const aphi_script *from)
{
    begin_candidate(s);
    for (size_t i = 0; i < from->count; i++)
        aphi_script_add(&s->candidate, &from->actions[i]);
}

void aphi_script_edit_copy(aphi_shrink_runner *s) { aphi_script_edit_set(s, &s->best); }

void aphi_script_edit_without(aphi_shrink_runner *s, const bool *removed)
{
    begin_candidate(s);
    const aphi_script *b = &s->best;
    int64_t *kept_before = aphi_alloc((b->count + 1) * sizeof *kept_before); /* label of the last kept request, or 0 */
    aphi_action inherited = {.wait = APHI_WAIT_NOTHING};                     /* wait of the actions just removed */
    int64_t kept = 0;
    for (size_t i = 0; i < b->count; i++) {
        aphi_action a = b->actions[i];
        size_t request = a.wait == APHI_WAIT_ANSWER ? aphi_script_index(b, a.waits_for) : b->count;
        kept_before[i] = kept;
        if (request < i && removed[request]) {
            a.wait = kept_before[request] ? APHI_WAIT_ANSWER : APHI_WAIT_NOTHING;
            a.waits_for = kept_before[request] ? kept_before[request] + 1 : 0;
        }
        if (a.wait == APHI_WAIT_NOTHING) {
            a.wait = inherited.wait;
            a.waits_for = inherited.waits_for;
        }
        inherited = removed[i] ? a : (aphi_action){.wait = APHI_WAIT_NOTHING};
        if (removed[i])
            continue;
        aphi_script_add(&s->candidate, &a);
        if (a.send != APH_NIL)
            kept = a.label;
    }
    free(kept_before);
}

void aphi_script_edit_wait_for_each(aphi_script *c)
{
    int64_t last = 0;
    for (size_t i = 0; i < c->count; i++) {
        aphi_action *a = &c->actions[i];
        if (a->wait != APHI_WAIT_SILENCE) { /* which includes the wait for a response */
            a->wait = last ? APHI_WAIT_ANSWER : APHI_WAIT_NOTHING;
            a->waits_for = last ? last + 1 : 0;
        }
        if (a->send != APH_NIL)
            last = a->label;
    }
}

void aphi_script_edit_wait_for_holes(aphi_script *c)
{
    for (size_t i = 0; i < c->count; i++) {
        aphi_action *a = &c->actions[i];
        int64_t label = a->send == APH_NIL ? 0 : aphi_expression_newest(a->send);
        if (a->wait != APHI_WAIT_NOTHING || label == 0 || label % 2 != 0)
            continue;
        a->wait = APHI_WAIT_ANSWER;
        a->waits_for = label;
    }
}

size_t aphi_script_edit_connections(const aphi_script *script, int64_t **numbers)
{
    size_t n = 0, capacity = 0;
    int64_t *all = NULL;
    for (size_t i = 0; i < script->count; i++) {
        size_t k = 0;
        while (k < n && all[k] != script->actions[i].connection)
            k++;
        if (k < n)
            continue;
        APHI_RESERVE(all, capacity, n + 1);
        all[n++] = script->actions[i].connection;
    }
    *numbers = all;
    return n;
}
