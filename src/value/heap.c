/* SPDX-License-Identifier: Apache-2.0
 *
 * heap.c - interned nodes of values, reclaimed by mark and sweep.
 *
 * Idea:       a hash table of all nodes; a node is looked up before it is created. Hashes depend on content only, so
 *             orders by hash are the same in every run. Nodes of up to 256 bytes are allocated from chunks, by size
 *             class.
 * Invariants: 1. two nodes of equal shape, detail and slots are one node
 *             2. a node's slots contain older values of the same heap: the graph has no cycles
 *             3. only aph_collect and aph_heap_close free nodes
 * Cost:       one probe to create a node; a collection visits every node once, in memory order within a chunk. The
 *             table exceeds the processor's caches, so a small cache of recent nodes is probed first. An entry stores
 *             16 bits of the hash next to the address, so non-matching nodes are rarely read.
 * Not done:   reference counting: model authors would have to do it, and would make mistakes.
 * Read next: object.c, the only shape with internal structure. */
#include "value/heap.h"

#include "base/memory.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum {
    GRAIN = 16, CLASSES = 17, CHUNK = 1 << 14,
    FREE = 2,              /* the mark of a free node */
    FIRST_ENTRIES = 4096, RECENT = 2048, ADDRESS_BITS = 48,
    AHEAD = 16,            /* entries whose nodes are prefetched */
    SLACK = 4 << 20,       /* bytes: collecting more often costs more than better caching saves */
};

typedef struct chunk {
    struct chunk *next;
    size_t class;
    _Alignas(16) char bytes[];
} chunk;

/* A node that is too large for a chunk. The list keeps it visible to leak checkers, which cannot read the table's
 * entries. */
typedef struct large {
    struct large *next, **link;
    _Alignas(16) char bytes[];
} large;

typedef struct root {
    aph_root *mark;
    void *context;
} root;

typedef struct heap {
    uint64_t *table;       /* open addressing by hash; an entry is an address below the first bits of the hash;
                            * 0: empty */
    struct recent {
        uint64_t hash;
        struct aph_node *node; /* a node in the table, or NULL */
    } *recent;             /* RECENT of them, by hash */
    size_t entries, nodes, bytes, bytes_kept;
    struct aph_node *free_list[CLASSES];
    chunk *chunks;
    large *large;
    uint8_t epoch;         /* nodes with this epoch are marked */
    root *roots;
    size_t root_count, root_capacity;
    aph_value *marking;    /* stack of a collection */
    size_t marking_count, marking_capacity;
} heap;

static _Thread_local heap the_heap;
_Thread_local void (*aphi_heap_watch)(void);
_Thread_local size_t aphi_heap_limit;

static size_t node_bytes(size_t slot_bytes)
{
    return (offsetof(struct aph_node, slot) + slot_bytes + GRAIN - 1) / GRAIN * GRAIN;
}

static struct aph_node *node_of(chunk *c, size_t i)
{
    return (struct aph_node *)(void *)(c->bytes + i * c->class * GRAIN);
}

static void set_free(heap *h, struct aph_node *node, size_t class)
{
    node->mark = FREE;
    node->next = h->free_list[class];
    h->free_list[class] = node;
}

/* The first node of the chunk is first in the list, so that consecutive allocations are adjacent. */
static void add_chunk(heap *h, size_t class)
{
    chunk *c = aphi_alloc(sizeof *c + CHUNK);
    *c = (chunk){.next = h->chunks, .class = class};
    h->chunks = c;
    for (size_t i = CHUNK / (class * GRAIN); i-- > 0;)
        set_free(h, node_of(c, i), class);
}

static struct aph_node *alloc_large(heap *h, size_t bytes)
{
    large *l = aphi_alloc(sizeof *l + bytes);
    *l = (large){.next = h->large, .link = &h->large};
    if (l->next)
        l->next->link = &l->next;
    h->large = l;
    return (struct aph_node *)(void *)l->bytes;
}

static void free_large(large *l)
{
    *l->link = l->next;
    if (l->next)
        l->next->link = l->link;
    free(l);
}

static struct aph_node *node_alloc(heap *h, size_t slot_bytes)
{
    size_t bytes = node_bytes(slot_bytes), class = bytes / GRAIN;
    struct aph_node *node;
    if ((class >= CLASSES || !h->free_list[class]) && aphi_heap_watch)
        aphi_heap_watch();
    if (class >= CLASSES) {
        node = alloc_large(h, bytes);
    } else {
        if (!h->free_list[class])
            add_chunk(h, class);
        node = h->free_list[class];
        h->free_list[class] = node->next;
    }
    h->bytes += bytes;
    h->nodes++;
    return node;
}

static size_t slot_bytes_of(const struct aph_node *node)
{
    switch ((aphi_shape)node->shape) {
    case APHI_LONG_STR: return node->count;
    case APHI_BIG_INT:
    case APHI_SYM: return sizeof node->slot[0];
    default: return aphi_slots_of(node) * sizeof node->slot[0];
    }
}

/* ---- the table --------------------------------------------------------------------------------------------------- */

static struct aph_node *node_in(uint64_t entry)
{
    return (struct aph_node *)(uintptr_t)(entry & (((uint64_t)1 << ADDRESS_BITS) - 1));
}

static uint64_t entry_of(const struct aph_node *node)
{
    assert((uint64_t)(uintptr_t)node >> ADDRESS_BITS == 0);
    return node->hash >> ADDRESS_BITS << ADDRESS_BITS | (uint64_t)(uintptr_t)node;
}

static void insert_entry(heap *h, const struct aph_node *node)
{
    size_t at = node->hash & (h->entries - 1);
    while (h->table[at])
        at = (at + 1) & (h->entries - 1);
    h->table[at] = entry_of(node);
}

static void fetch_ahead(const uint64_t *table, size_t entries, size_t i)
{
    if (i + AHEAD < entries && table[i + AHEAD])
        __builtin_prefetch(node_in(table[i + AHEAD]));
}

static void set_entries(heap *h, size_t entries)
{
    uint64_t *before = h->table;
    size_t had = h->entries;
    h->entries = entries;
    h->table = aphi_alloc_zero(entries * sizeof *h->table);
    for (size_t i = 0; i < had; i++) {
        fetch_ahead(before, had, i);
        if (before[i])
            insert_entry(h, node_in(before[i]));
    }
    free(before);
    if (!h->recent)
        h->recent = aphi_alloc_zero(RECENT * sizeof *h->recent);
}

/* Nodes are small, and usually equal if their hashes are equal: comparing a few words here is faster than memcmp. */
static inline bool same_bytes(const void *a, const void *b, size_t n)
{
    if (n > 64 || n % 8)
        return !memcmp(a, b, n);
    for (size_t i = 0; i < n; i += 8) {
        uint64_t x, y;
        memcpy(&x, (const char *)a + i, 8);
        memcpy(&y, (const char *)b + i, 8);
        if (x != y)
            return false;
    }
    return true;
}

typedef struct content {
    uint64_t hash;
    aphi_shape shape;
    uint8_t detail;
    uint32_t count;
    const void *slots;
    size_t slot_bytes;
} content;

static inline bool has_content(const struct aph_node *node, const content *c)
{
    return node->hash == c->hash && node->shape == c->shape && node->detail == c->detail && node->count == c->count &&
           same_bytes(node->slot, c->slots, c->slot_bytes);
}

static struct aph_node *make_node(heap *h, const content *c, uint64_t symbols)
{
    struct aph_node *node = node_alloc(h, c->slot_bytes);
    node->hash = c->hash;
    node->symbols = symbols;
    node->count = c->count;
    node->shape = (uint8_t)c->shape;
    node->detail = c->detail;
    node->mark = h->epoch;
    if (c->slot_bytes)
        memcpy(node->slot, c->slots, c->slot_bytes);
    return node;
}

/* Returns the node with this content, which is created if it does not exist. */
static struct aph_node *find_or_make(heap *h, const content *c, uint64_t symbols)
{
    size_t at = c->hash & (h->entries - 1);
    for (; h->table[at]; at = (at + 1) & (h->entries - 1))
        if (h->table[at] >> ADDRESS_BITS == c->hash >> ADDRESS_BITS && has_content(node_in(h->table[at]), c))
            return node_in(h->table[at]);
    struct aph_node *node = make_node(h, c, symbols);
    h->table[at] = entry_of(node);
    return node;
}

static aph_value intern(aphi_shape shape, uint8_t detail, uint32_t count, const void *slots, size_t slot_bytes,
                        uint64_t hash, uint64_t symbols)
{
    heap *h = &the_heap;
    content c = {hash, shape, detail, count, slots, slot_bytes};
    if (2 * h->nodes >= h->entries)
        set_entries(h, h->entries ? h->entries * 2 : FIRST_ENTRIES);
    struct recent *recent = &h->recent[hash >> 32 & (RECENT - 1)];
    if (recent->hash == hash && recent->node && has_content(recent->node, &c))
        return recent->node;
    *recent = (struct recent){hash, find_or_make(h, &c, symbols)};
    return recent->node;
}

static bool slots_are_values(aphi_shape shape)
{
    return shape == APHI_ITEMS || shape == APHI_PAIRS || shape == APHI_BRANCH || shape == APHI_OPERATION;
}

aph_value aphi_node_intern(aphi_shape shape, uint8_t detail, uint32_t count, size_t slots, const union aphi_slot *slot)
{
    uint64_t hash = aphi_mix((uint64_t)shape << 8 | detail, count), symbols = 0;
    if (slots_are_values(shape)) {
        for (size_t i = 0; i < slots; i++) {
            hash = aphi_mix(hash, aph_hash(slot[i].v));
            symbols |= aphi_symbols(slot[i].v);
        }
    } else {
        hash = aphi_mix(hash, slot[0].bits);
        if (shape == APHI_SYM)
            symbols = (uint64_t)1 << (slot[0].bits & 63);
    }
    return intern(shape, detail, count, slot, slots * sizeof *slot, hash, symbols);
}

aph_value aphi_intern_str(const char *bytes, size_t n)
{
    if (n < 8)
        return aph_short_(bytes, n);
    assert(n <= UINT32_MAX);
    uint64_t hash = aphi_mix((uint64_t)APHI_LONG_STR << 8, n);
    size_t i = 0;
    uint64_t words[2];
    for (; i + 16 <= n; i += 16) {
        memcpy(words, bytes + i, 16);
        hash = aphi_mix(hash ^ words[0], words[1]);
    }
    words[0] = words[1] = 0;
    memcpy(words, bytes + i, n - i);
    return intern(APHI_LONG_STR, 0, (uint32_t)n, bytes, n, aphi_mix(hash ^ words[0], words[1]), 0);
}

/* ---- reclaiming -------------------------------------------------------------------------------------------------- */

void aph_root_add(aph_root *mark, void *context)
{
    heap *h = &the_heap;
    APHI_PUSH(h->roots, h->root_count, h->root_capacity, (root){mark, context});
}

void aph_root_remove(aph_root *mark, void *context)
{
    heap *h = &the_heap;
    for (size_t i = h->root_count; i-- > 0;)
        if (h->roots[i].mark == mark && h->roots[i].context == context) {
            h->roots[i] = h->roots[--h->root_count];
            return;
        }
}

static void mark_one(heap *h, aph_value v)
{
    struct aph_node *node = (struct aph_node *)(uintptr_t)v;
    if (!aphi_is_node(v) || node->mark == h->epoch)
        return;
    node->mark = h->epoch;
    if (!slots_are_values((aphi_shape)node->shape))
        return;
    APHI_PUSH(h->marking, h->marking_count, h->marking_capacity, v);
}

void aph_mark(aph_value v)
{
    heap *h = &the_heap;
    mark_one(h, v);
    while (h->marking_count) {
        aph_value parent = h->marking[--h->marking_count];
        for (size_t i = 0; i < aphi_slots_of(parent); i++)
            mark_one(h, parent->slot[i].v);
    }
}

/* Keeps the node if it is marked. Returns false if it is not. */
static bool keep_if_marked(heap *h, struct aph_node *node)
{
    if (node->mark != h->epoch)
        return false;
    insert_entry(h, node);
    h->bytes += node_bytes(slot_bytes_of(node));
    h->nodes++;
    return true;
}

static void sweep_chunk(heap *h, chunk *c)
{
    for (size_t i = CHUNK / (c->class * GRAIN); i-- > 0;)
        if (!keep_if_marked(h, node_of(c, i)))
            set_free(h, node_of(c, i), c->class);
}

static void sweep(heap *h)
{
    memset(h->table, 0, h->entries * sizeof *h->table);
    memset(h->recent, 0, RECENT * sizeof *h->recent);
    memset(h->free_list, 0, sizeof h->free_list);
    h->bytes = h->nodes = 0;
    for (chunk *c = h->chunks; c; c = c->next)
        sweep_chunk(h, c);
    for (large *l = h->large, *next; l; l = next) {
        next = l->next;
        if (!keep_if_marked(h, (struct aph_node *)(void *)l->bytes))
            free_large(l);
    }
}

static size_t bytes_at_next(const heap *h)
{
    return 2 * h->bytes_kept + SLACK;
}

/* Shrinks a table that became far too large, to make clearing it cheaper. */
static void shrink_table(heap *h)
{
    size_t nodes = bytes_at_next(h) / (2 * sizeof(struct aph_node)), entries = h->entries;
    while (entries > 8 * nodes)
        entries /= 2;
    if (entries < h->entries)
        set_entries(h, entries);
}

void aph_collect(void)
{
    heap *h = &the_heap;
    h->epoch ^= 1;
    for (size_t i = 0; i < h->root_count; i++)
        h->roots[i].mark(h->roots[i].context);
    if (h->entries)
        sweep(h);
    h->bytes_kept = h->bytes;
    shrink_table(h);
}

bool aphi_heap_is_full(void)
{
    return the_heap.bytes > bytes_at_next(&the_heap);
}

size_t aph_heap_bytes(void)
{
    return the_heap.bytes;
}

size_t aphi_heap_size(void)
{
    return the_heap.bytes + the_heap.entries * sizeof *the_heap.table;
}

bool aphi_heap_exceeds_limit(size_t size_before)
{
    return aphi_heap_limit && aphi_heap_size() - size_before + the_heap.bytes_kept > aphi_heap_limit;
}

bool aphi_heap_is_tight(void)
{
    return aphi_heap_limit && aphi_heap_size() > aphi_heap_limit / 2;
}

size_t aph_heap_bytes_kept(void)
{
    return the_heap.bytes_kept;
}

void *aph_allocate(size_t bytes)
{
    return aphi_alloc_zero(bytes ? bytes : 1);
}

void aph_heap_close(void)
{
    heap *h = &the_heap;
    for (large *l = h->large, *next; l; l = next) {
        next = l->next;
        free(l);
    }
    for (chunk *c = h->chunks, *next; c; c = next) {
        next = c->next;
        free(c);
    }
    free(h->table);
    free(h->recent);
    free(h->roots);
    free(h->marking);
    *h = (heap){0};
}
