/* SPDX-License-Identifier: Apache-2.0
 *
 * memo.h - the refuted configurations of a search, which it does not visit again. */
#ifndef APHI_ORACLE_MEMO_H
#define APHI_ORACLE_MEMO_H

#include "oracle/transition.h"

/* A set of parts of the state, one bit each; parts that share a bit are not distinguished. */
typedef uint64_t aphi_parts;
#define APHI_ANY_PART UINT64_MAX

typedef struct aphi_memo_entry {
    aphi_core core;
    uint64_t at, hash;
    uint32_t next;     /* in its bucket, plus 1 */
    aphi_parts reason; /* the parts that caused the failure */
} aphi_memo_entry;

typedef struct aphi_memo {
    aphi_memo_entry *entries;
    uint64_t *bits;          /* `words` per entry */
    size_t count, capacity, bits_capacity, words;
    uint32_t *buckets;
    size_t bucket_count;
} aphi_memo;

/* Returns true if a refuted configuration at this observation subsumes the given one: it is equal, except that it took
 * a subset of the optional requests. *reason is set to its reason. */
bool aphi_memo_seen(const aphi_memo *m, uint64_t at, const aphi_core *core, const uint64_t *taken,
                    const uint64_t *optional, aphi_parts *reason);
/* Returns the index of the new entry, with the reason APHI_ANY_PART. */
uint32_t aphi_memo_add(aphi_memo *m, uint64_t at, const aphi_core *core, const uint64_t *taken,
                       const uint64_t *optional);
void aphi_memo_clear(aphi_memo *m, size_t words);
void aphi_memo_deinit(aphi_memo *m);
size_t aphi_memo_bytes(const aphi_memo *m);

#endif
