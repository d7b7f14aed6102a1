/* SPDX-License-Identifier: Apache-2.0
 *
 * memo.h - the configurations that a search has refuted, so that it goes into none twice. */
#ifndef APHI_ORACLE_MEMO_H
#define APHI_ORACLE_MEMO_H

#include "oracle/transition.h"

/* Parts of the state, a bit each; parts that share a bit count as one. */
typedef uint64_t aphi_parts;
#define APHI_ANY_PART UINT64_MAX

typedef struct aphi_memo_entry {
    aphi_core core;
    uint64_t at, hash;
    uint32_t next;    /* in its bucket, plus 1 */
    aphi_parts reason; /* it failed for what is in these, whatever is in the others */
} aphi_memo_entry;

typedef struct aphi_memo {
    aphi_memo_entry *entries;
    uint64_t *bits;          /* `words` a entry */
    size_t count, capacity, bits_capacity, words;
    uint32_t *buckets;
    size_t bucket_count;
} aphi_memo;

/* Is a configuration at least as good, at this observation, in the memo? If so, *reason is why.
 * At least as good: the same but for requests in `optional` (those that need never be taken), of which it took no
 *                   others. */
bool aphi_memo_seen(const aphi_memo *m, uint64_t at, const aphi_core *core, const uint64_t *taken,
                    const uint64_t *optional, aphi_parts *reason);
/* Returns the number of the entry, whose reason is APHI_ANY_PART for now. */
uint32_t aphi_memo_add(aphi_memo *m, uint64_t at, const aphi_core *core, const uint64_t *taken,
                       const uint64_t *optional);
void aphi_memo_clear(aphi_memo *m, size_t words);
void aphi_memo_deinit(aphi_memo *m);
size_t aphi_memo_bytes(const aphi_memo *m);

#endif
