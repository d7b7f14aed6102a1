/* SPDX-License-Identifier: Apache-2.0
 *
 * pending.h - the pending requests at an observation, and predicates on them. */
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

/* Faster than memcpy, because a row has one or two words. */
static inline void aphi_copy_bits(uint64_t *to, const uint64_t *from, size_t words)
{
    for (size_t i = 0; i < words; i++)
        to[i] = from[i];
}

static inline bool aphi_is_delivery(const aph_oracle *o, uint32_t request)
{
    return request != APHI_NONE && o->ops[request].delivery;
}

/* Returns the number of undelivered messages from the server on the connection. */
size_t aphi_pending_held(const aph_oracle *o, int64_t connection);
/* Returns the oldest untaken request on the connection if its buffer is full of them; else APHI_NONE. */
uint32_t aphi_pending_full_oldest(const aph_oracle *o, int64_t connection);

/* Returns true if the request ended before the current observation. */
static inline bool aphi_is_over(const aph_oracle *o, const aphi_request *a)
{
    return a->end_at < o->event_base + o->at;
}

static inline bool aphi_is_taken(const aph_oracle *o, const aphi_request *a)
{
    return aphi_bit(o->bits, a->slot);
}

/* Returns true if the client no longer waits for it, so that it occupies no place in the buffer of its connection. */
static inline bool aphi_is_abandoned(const aph_oracle *o, const aphi_request *a)
{
    return a->future == APH_FUTURE_LOST || aphi_is_over(o, a);
}

/* Returns true if the environment allows this request to reach the server now. */
static inline bool aphi_can_arrive(const aph_oracle *o, const aphi_request *a)
{
    if (o->env.buffer && !a->signal && !aphi_is_abandoned(o, a) && aphi_pending_held(o, a->connection) >= o->env.buffer)
        return false;
    if (!o->env.fifo || a->previous == APHI_NONE || a->message == APH_BROKEN || a->message == APH_LEFT)
        return true;
    const aphi_request *before = &o->ops[a->previous];
    return aphi_is_over(o, before) || aphi_is_taken(o, before);
}

static inline bool aphi_is_optional(const aph_oracle *o, const aphi_request *a)
{
    return a->future == APH_FUTURE_NEVER || a->future == APH_FUTURE_LOST || (a->lost && aphi_is_over(o, a));
}

/* Returns true if the request is optional and blocks no other: a configuration that has not taken it is never worse. */
static inline bool aphi_is_free(const aphi_request *a)
{
    return a->future == APH_FUTURE_LOST || (a->future == APH_FUTURE_NEVER && a->alone);
}

/* Move one observation forward, back to an earlier observation, or to the end of the window. The pending requests
 * depend only on the observation. */
void aphi_pending_advance(aph_oracle *o);
void aphi_pending_rewind(aph_oracle *o, uint32_t at);
void aphi_pending_advance_to_end(aph_oracle *o);
/* Starts a window in which all of o->ops are pending. */
void aphi_pending_begin(aph_oracle *o);

#endif
