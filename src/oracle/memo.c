/* SPDX-License-Identifier: Apache-2.0
 *
 * memo.c - the refuted configurations of a search.
 *
 * Idea:       a chained hash table, keyed by the configuration without its optional requests. A request without a
 *             response need not be taken at all. If two configurations differ only in such requests, the one that took
 *             fewer has every continuation of the other, so the other need not be visited. */
#include "oracle/memo.h"

#include "base/memory.h"
#include "value/heap.h"

#include <stdlib.h>
#include <string.h>

static uint64_t hash_configuration(uint64_t at, const aphi_core *c, const uint64_t *taken, const uint64_t *optional,
                                   size_t words)
{
    uint64_t h = aphi_mix(at, (uint64_t)(uintptr_t)c->state);
    h = aphi_mix(h ^ (uint64_t)(uintptr_t)c->store,
                 (uint64_t)(uintptr_t)c->outbox ^ (uint64_t)(uintptr_t)c->answers << 1);
    for (size_t i = 0; i < words; i++)
        h = aphi_mix(h, taken[i] & ~optional[i]);
    return h;
}

static bool subsumes(const uint64_t *here, const uint64_t *there, const uint64_t *optional, size_t words)
{
    for (size_t i = 0; i < words; i++)
        if ((here[i] & ~optional[i]) != (there[i] & ~optional[i]) || (here[i] & ~there[i]))
            return false;
    return true;
}

static void grow_buckets(aphi_memo *m)
{
    m->bucket_count = m->bucket_count ? m->bucket_count * 4 : 16;
    free(m->buckets);
    m->buckets = aphi_alloc_zero(m->bucket_count * sizeof *m->buckets);
    for (size_t i = 0; i < m->count; i++) {
        uint32_t *bucket = &m->buckets[m->entries[i].hash & (m->bucket_count - 1)];
        m->entries[i].next = *bucket;
        *bucket = (uint32_t)i + 1;
    }
}

bool aphi_memo_seen(const aphi_memo *m, uint64_t at, const aphi_core *core, const uint64_t *taken,
                    const uint64_t *optional, aphi_parts *reason)
{
    if (!m->count)
        return false;
    uint64_t hash = hash_configuration(at, core, taken, optional, m->words);
    for (uint32_t i = m->buckets[hash & (m->bucket_count - 1)]; i; i = m->entries[i - 1].next) {
        const aphi_memo_entry *e = &m->entries[i - 1];
        if (e->hash == hash && e->at == at && aphi_core_equal(&e->core, core) &&
            subsumes(m->bits + (i - 1) * m->words, taken, optional, m->words)) {
            *reason = e->reason;
            return true;
        }
    }
    return false;
}

uint32_t aphi_memo_add(aphi_memo *m, uint64_t at, const aphi_core *core, const uint64_t *taken,
                       const uint64_t *optional)
{
    if (m->count >= m->bucket_count)
        grow_buckets(m);
    uint64_t hash = hash_configuration(at, core, taken, optional, m->words);
    uint32_t *bucket = &m->buckets[hash & (m->bucket_count - 1)];
    APHI_RESERVE(m->entries, m->capacity, m->count + 1);
    APHI_RESERVE(m->bits, m->bits_capacity, (m->count + 1) * m->words);
    memcpy(m->bits + m->count * m->words, taken, m->words * sizeof *taken);
    m->entries[m->count] = (aphi_memo_entry){*core, at, hash, *bucket, APHI_ANY_PART};
    *bucket = (uint32_t)++m->count;
    return *bucket - 1;
}

void aphi_memo_clear(aphi_memo *m, size_t words)
{
    /* Clearing a large table costs more than allocating a new one. */
    if (m->bucket_count > 4096 && m->count < m->bucket_count / 64) {
        free(m->buckets);
        m->buckets = NULL;
        m->bucket_count = 0;
    } else if (m->count && m->bucket_count) {
        memset(m->buckets, 0, m->bucket_count * sizeof *m->buckets);
    }
    m->count = 0;
    m->words = words;
}

void aphi_memo_deinit(aphi_memo *m)
{
    free(m->entries);
    free(m->bits);
    free(m->buckets);
}

size_t aphi_memo_bytes(const aphi_memo *m)
{
    return m->capacity * sizeof *m->entries + m->bits_capacity * sizeof *m->bits + m->bucket_count * sizeof *m->buckets;
}
