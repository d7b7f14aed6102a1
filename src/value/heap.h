/* SPDX-License-Identifier: Apache-2.0
 *
 * heap.h - the encoding of values in words, and the interned nodes.
 *
 *   ...000  null, or a pointer to a node          ...010  a string of up to 7 bytes: length in bits 4-7, bytes above
 *   ...001  an integer of 61 bits, above the tag  ...011  false (bit 3 clear) or true (bit 3 set)
 *   ...100  a signal: its number is above the tag
 */
#ifndef APHI_VALUE_HEAP_H
#define APHI_VALUE_HEAP_H

#include <antiphon/value.h>

enum { APHI_TAG_NODE = 0, APHI_TAG_INT = 1, APHI_TAG_STR = 2, APHI_TAG_BOOL = 3, APHI_TAG_SIGNAL = 4 };

/* The layout of a node's slots. Equal contents have the same shape. */
typedef enum aphi_shape {
    APHI_BIG_INT,     /* slot 0 is the integer */
    APHI_LONG_STR,    /* count bytes instead of slots */
    APHI_ITEMS,       /* array: count slots */
    APHI_PAIRS,       /* object of up to APHI_PAIRS_MAX keys: key, item, key, item, sorted */
    APHI_BRANCH,      /* larger object, a treap: key, item, smaller, larger; count of the whole subtree */
    APHI_SYM,         /* detail is the sort, slot 0 the number */
    APHI_OPERATION,   /* detail is the operation, count slots */
} aphi_shape;

enum { APHI_PAIRS_MAX = 8 };

struct aph_node {
    union {
        uint64_t hash;
        struct aph_node *next; /* the next free node */
    };
    uint64_t symbols;          /* Bloom mask of the contained symbols: bit number % 64 */
    uint32_t count;
    uint8_t shape, detail, mark;
    union aphi_slot {
        aph_value v;
        uint64_t bits;
    } slot[];
};

static inline unsigned aphi_tag(aph_value v)
{
    return (unsigned)((uintptr_t)v & 7);
}

static inline bool aphi_is_node(aph_value v)
{
    return v && aphi_tag(v) == APHI_TAG_NODE;
}

static inline bool aphi_is_signal(aph_value v)
{
    return aphi_tag(v) == APHI_TAG_SIGNAL;
}

static inline uint64_t aphi_mix(uint64_t a, uint64_t b)
{
    __extension__ unsigned __int128 r =
        (__extension__ (unsigned __int128)(a ^ 0x2d358dccaa6c78a5u)) * (b ^ 0x8bb84b93962eacc9u);
    return (uint64_t)r ^ (uint64_t)(r >> 64);
}

/* The Bloom mask; 0 if and only if v contains no symbol. */
static inline uint64_t aphi_symbols(aph_value v)
{
    return aphi_is_node(v) ? v->symbols : 0;
}

static inline size_t aphi_slots_of(aph_value v)
{
    switch ((aphi_shape)v->shape) {
    case APHI_ITEMS:
    case APHI_OPERATION: return v->count;
    case APHI_PAIRS: return 2 * (size_t)v->count;
    case APHI_BRANCH: return 4;
    case APHI_BIG_INT:
    case APHI_LONG_STR:
    case APHI_SYM: break;
    }
    return 0;
}

/* Called occasionally while values are created, at points where the heap is consistent. It may longjmp. */
extern _Thread_local void (*aphi_heap_watch)(void);

/* The limit of values in bytes, as set by --memory; 0: none. Text is not read into values beyond the limit. */
extern _Thread_local size_t aphi_heap_limit;
/* The bytes of values, and of the table of values, which takes 16 to 32 bytes for each. */
size_t aphi_heap_size(void);
/* Returns true if the values made since the heap had size_before, together with those kept by the last collection,
 * exceed the limit. */
bool aphi_heap_exceeds_limit(size_t size_before);
/* Returns true if values take more than half of the limit: do not read ahead. */
bool aphi_heap_is_tight(void);

/* Returns true if a collection is due: when the heap has doubled since the last one, so that the cost is amortized. */
bool aphi_heap_is_full(void);

aph_value aphi_node_intern(aphi_shape shape, uint8_t detail, uint32_t count, size_t slots, const union aphi_slot *slot);
aph_value aphi_intern_str(const char *bytes, size_t n);

/* The name of a signal: "opened", "closed", "broken" or "left". */
const char *aphi_signal_name(aph_value v);
aph_value aphi_node_term(aph_op op, size_t n, const aph_value *args);
static inline size_t aphi_node_count(aph_value v)
{
    return v->count;
}
static inline aph_value aphi_node_arg(aph_value v, size_t i)
{
    return v->slot[i].v;
}
static inline int aphi_node_op(aph_value v)
{
    return v->detail;
}

/* Returns v as a key: v itself if it is a string, else its JSON text. */
aph_value aphi_key(aph_value v);
/* An object of n pairs key, item, key, item. Keys are strings; the last of equal keys wins. Reorders pairs. */
aph_value aphi_object_of(size_t n, aph_value *pairs);
/* Calls visit for each pair in key order until visit returns false. */
typedef bool aphi_visit(void *context, aph_value key, aph_value item);
bool aphi_pairs(aph_value object, aphi_visit *visit, void *context);

#endif
