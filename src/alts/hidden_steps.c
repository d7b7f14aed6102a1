/* SPDX-License-Identifier: Apache-2.0
 *
 * hidden_steps.c - removing the hidden steps of a behaviour. */
#include "alts/hidden_steps.h"

#include "base/memory.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static const uint32_t NONE = UINT32_MAX;

/* Sets next[s] to the state after the hidden step of s. */
static bool find_hidden(const uint32_t *from, const aphi_alts_move *moves, size_t count, uint32_t *next, char *why,
                        size_t size)
{
    for (size_t i = 0; i < count; i++)
        if (moves[i].port == APHI_ALTS_HIDDEN)
            next[from[i]] = moves[i].target;
    for (size_t i = 0; i < count; i++)
        if (next[from[i]] != NONE && (moves[i].port != APHI_ALTS_HIDDEN || moves[i].target != next[from[i]])) {
            snprintf(why, size, "a hidden step and another step leave state %" PRIu32 ": the choice would be internal, "
                     "and cannot be removed", from[i]);
            return false;
        }
    return true;
}

/* Follows the hidden steps from a state. Returns NONE if they form a cycle. */
static uint32_t state_after(const uint32_t *next, uint32_t states, uint32_t state)
{
    uint32_t steps = 0;
    while (next[state] != NONE && steps++ < states)
        state = next[state];
    return next[state] == NONE ? state : NONE;
}

static bool replace_states(const uint32_t *next, uint32_t states, uint32_t *initial, uint32_t *from,
                           aphi_alts_move *moves, size_t *count)
{
    size_t kept = 0;
    *initial = state_after(next, states, *initial);
    for (size_t i = 0; i < *count; i++) {
        if (moves[i].port == APHI_ALTS_HIDDEN)
            continue;
        moves[kept] = moves[i];
        moves[kept].target = state_after(next, states, moves[i].target);
        from[kept] = from[i];
        if (moves[kept++].target == NONE)
            return false;
    }
    *count = kept;
    return *initial != NONE;
}

bool aphi_alts_remove_hidden(uint32_t states, uint32_t *initial, uint32_t *from, aphi_alts_move *moves, size_t *count,
                             char *why, size_t size)
{
    uint32_t *next = aphi_alloc((states + 1) * sizeof *next);
    for (uint32_t i = 0; i < states; i++)
        next[i] = NONE;
    bool removed = find_hidden(from, moves, *count, next, why, size);
    if (removed && !replace_states(next, states, initial, from, moves, count)) {
        snprintf(why, size, "the hidden steps form a cycle");
        removed = false;
    }
    free(next);
    return removed;
}
