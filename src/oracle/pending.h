/* SPDX-License-Identifier: Apache-2.0
 *
 * pending.h - the requests in flight at an observation: which there are, which have been taken, which may be. */
#ifndef APHI_ORACLE_PENDING_H
#define APHI_ORACLE_PENDING_H

#include "oracle/search.h"

static inline bool aphi_bit(const uint64_t *bits, uint32_t slot)
{
    return bits[slot / 64] >> (slot % 64) & 1;
}

static inline void aphi_set_bit(uint64_t *bits, uint32_t slot)
{
    bits[slot / 64] |= (uint64_t)1 << (slot % 64);
}

static inline void aphi_clear_bit(uint64_t *bits, uint32_t slot)
{
    bits[slot / 64] &= ~((uint64_t)1 << (slot % 64));
}

/* Rows of bits are a word or two: copied here sooner than memcpy is called. */
static inline void aphi_copy_bits(uint64_t *to, const uint64_t *from, size_t words)
{
    for (size_t i = 0; i < words; i++)
        to[i] = from[i];
}

static inline bool aphi_is_delivery(const aph_oracle *o, uint32_t asked)
{
    return asked != APHI_NONE && o->ops[asked].delivery;
}

/* How many messages of the server a connection holds: what it said that was not seen. */
size_t aphi_pending_held(const aph_oracle *o, int64_t connection);
/* The oldest request that the connection still holds, if there are as many as it may hold; APHI_NONE if not. */
uint32_t aphi_pending_crowded(const aph_oracle *o, int64_t connection);

/* Did its end come before the observation that the search is at? */
static inline bool aphi_over(const aph_oracle *o, const aphi_request *a)
{
    return a->end_at < o->event_base + o->at;
}

static inline bool aphi_is_taken(const aph_oracle *o, const aphi_request *a)
{
    return aphi_bit(o->bits, a->slot);
}

/* Its client does not wait for it any more, so it holds no place on its connection. */
static inline bool aphi_is_given_up(const aph_oracle *o, const aphi_request *a)
{
    return a->future == APH_FUTURE_LOST || aphi_over(o, a);
}

/* May the environment let this request reach the server now? */
static inline bool aphi_can_arrive(const aph_oracle *o, const aphi_request *a)
{
    if (o->env.buffer && !aphi_is_given_up(o, a) && aphi_pending_held(o, a->connection) >= o->env.buffer)
        return false;
    if (!o->env.fifo || a->before == APHI_NONE)
        return true;
    const aphi_request *before = &o->ops[a->before];
    return aphi_over(o, before) || aphi_is_taken(o, before);
}

static inline bool aphi_is_optional(const aph_oracle *o, const aphi_request *a)
{
    return a->future == APH_FUTURE_NEVER || a->future == APH_FUTURE_LOST || (a->lost && aphi_over(o, a));
}

/* An optional request that nothing waits behind: not to have taken it is never worse. */
static inline bool aphi_is_free(const aphi_request *a)
{
    return a->future == APH_FUTURE_LOST || (a->future == APH_FUTURE_NEVER && a->alone);
}

/* What is in flight, and which of it is free, depends on the observation alone: one step forward, or back to an earlier
 * one, or forward to the end of the window. */
void aphi_pending_pass(aph_oracle *o);
void aphi_pending_back(aph_oracle *o, uint32_t at);
void aphi_pending_end(aph_oracle *o);
/* All of o->ops are in flight: a window begins. */
void aphi_pending_begin(aph_oracle *o);

#endif
