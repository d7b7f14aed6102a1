/* SPDX-License-Identifier: Apache-2.0
 *
 * value.h - immutable, interned, JSON-shaped data with symbolic holes.
 *
 * A value is one word. Null, booleans, integers below 2^60 and strings of up to seven bytes are stored in the word;
 * other values are pointers to interned nodes. Equal values share a node, so `a == b` tests equality. Values are not
 * freed individually. Each thread has its own heap, and `aph_collect` reclaims the nodes that no root reaches. No other
 * function of this header collects, so local variables need no protection. */
#ifndef ANTIPHON_VALUE_H
#define ANTIPHON_VALUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef const struct aph_node *aph_value;

typedef enum aph_kind {
    APH_NULL,
    APH_BOOL,
    APH_INT,
    APH_STR,
    APH_ARRAY,
    APH_OBJECT,
    APH_SYMBOL, /* an unknown: a sort and a number */
    APH_TERM,   /* an operation with at least one symbolic operand */
    APH_SIGNAL, /* not data: the opening or end of a connection (model.h) */
} aph_kind;

/* The operations of terms. All but the last two have two operands. */
typedef enum aph_op {
    APH_ADD,
    APH_SUB,
    APH_MUL,
    APH_DIV, /* rounds towards minus infinity; division by zero and overflow give APH_WRONG */
    APH_LT,
    APH_LE,
    APH_EQ,
    APH_AND,
    APH_OR,
    APH_NOT,   /* one operand */
    APH_WRONG, /* no operand: an undefined result; a decision on it has no outcome */
} aph_op;

#define APH_NIL ((aph_value)0)

/* ---- making ------------------------------------------------------------------------------------------------------ */

static inline aph_value aph_bool(bool b)
{
    return (aph_value)(uintptr_t)((uint64_t)b << 3 | 3);
}
aph_value aph_int(int64_t i);
aph_value aph_bytes(const void *bytes, size_t n);       /* any bytes, NUL included */
/* The word of a string of n < 8 bytes: length in bits 4 to 7, then the bytes, lowest first. For a literal, it is
 * computed at compile time, because all callers are inlined. */
#define APH_INLINE_ inline __attribute__((always_inline))
static APH_INLINE_ aph_value aph_short_(const char *bytes, size_t n)
{
    uint64_t word = (uint64_t)n << 4 | 2;
#define APH_BYTE_(i) (n > (i) ? (uint64_t)(unsigned char)bytes[i] << (8 * ((i) + 1)) : 0)
    word |= APH_BYTE_(0) | APH_BYTE_(1) | APH_BYTE_(2) | APH_BYTE_(3) | APH_BYTE_(4) | APH_BYTE_(5) | APH_BYTE_(6);
#undef APH_BYTE_
    return (aph_value)(uintptr_t)word;
}
static APH_INLINE_ aph_value aph_str(const char *text)       /* NUL-terminated */
{
    size_t n = strlen(text);
    return __builtin_constant_p(n) && n < 8 ? aph_short_(text, n) : aph_bytes(text, n);
}
aph_value aph_strf(const char *format, ...) __attribute__((format(printf, 1, 2)));
aph_value aph_array(size_t n, const aph_value *items);
#define APH_ARRAY_OF(...) \
    aph_array(sizeof((aph_value[]){__VA_ARGS__}) / sizeof(aph_value), (aph_value[]){__VA_ARGS__})
aph_value aph_object(void);                             /* the empty object */
/* aph_record("ok", v, "code", w): an object from names and values. */
#define aph_record(...)                                                                                                \
    aph_record_((const void *[]){__VA_ARGS__, NULL}, sizeof((const void *[]){__VA_ARGS__}) / sizeof(void *))
aph_value aph_record_(const void *const *pairs, size_t n);

/* ---- reading ----------------------------------------------------------------------------------------------------- */

aph_kind aph_kind_of(aph_value v);
bool aph_is_symbolic(aph_value v);                      /* true if v contains a symbol */
static inline bool aph_truth(aph_value v)               /* true if v is the boolean true */
{
    return v == aph_bool(true);
}
static inline bool aph_is_int(aph_value v)
{
    return ((uintptr_t)v & 7) == 1 || aph_kind_of(v) == APH_INT;
}
static inline bool aph_is_str(aph_value v)
{
    return ((uintptr_t)v & 7) == 2 || aph_kind_of(v) == APH_STR;
}
int64_t aph_int_of(aph_value v);                        /* v must be an integer */
/* The bytes of a string. The bytes of a short string are in *v, so v must outlive the result. */
const char *aph_bytes_of(const aph_value *v, size_t *n);
static APH_INLINE_ bool aph_str_is(aph_value v, const char *text) /* true if v is a string equal to text */
{
    return v == aph_str(text);
}
size_t aph_count(aph_value v);                          /* bytes of a string, items of an array or object, else 0 */
uint64_t aph_hash(aph_value v);                         /* depends on the content only; equal in all runs */
int aph_compare(aph_value a, aph_value b);              /* a total order: by kind, then content */

/* ---- strings ----------------------------------------------------------------------------------------------------- */

aph_value aph_concat(aph_value a, aph_value b);         /* both strings */
aph_value aph_substr(aph_value s, size_t from, size_t n);

/* ---- arrays ------------------------------------------------------------------------------------------------------ */

aph_value aph_at(aph_value array, size_t i);            /* APH_NIL if i is out of range */
aph_value aph_push(aph_value array, aph_value item);    /* linear in the length, like all array functions below */
aph_value aph_replace(aph_value array, size_t i, aph_value item);
aph_value aph_slice(aph_value array, size_t from, size_t n);

/* ---- objects ----------------------------------------------------------------------------------------------------- */
/* Keys are strings; any other value used as a key stands for its JSON text. All functions are logarithmic in the number
 * of keys. */

aph_value aph_get(aph_value object, aph_value key);     /* APH_NIL if absent, or if object is not an object */
aph_value aph_field_(aph_value object, const char *name, size_t n);
static APH_INLINE_ aph_value aph_field(aph_value object, const char *name) /* aph_get with a C string as the key */
{
    size_t n = strlen(name);
    return __builtin_constant_p(n) && n < 8 ? aph_get(object, aph_short_(name, n)) : aph_field_(object, name, n);
}
bool aph_has(aph_value object, aph_value key);
aph_value aph_set(aph_value object, aph_value key, aph_value item);
static APH_INLINE_ aph_value aph_put(aph_value object, const char *name, aph_value item)
{
    return aph_set(object, aph_str(name), item);
}
aph_value aph_remove(aph_value object, aph_value key);
/* Gets the i-th pair in key order (aph_compare). Returns false if i is out of range. */
bool aph_pair_at(aph_value object, size_t i, aph_value *key, aph_value *item);

/* ---- symbolic terms ---------------------------------------------------------------------------------------------- */

/* An unknown of sort APH_BOOL, APH_INT or APH_STR. */
aph_value aph_symbol(aph_kind sort, uint32_t number);
aph_kind aph_symbol_sort(aph_value v);
uint32_t aph_symbol_number(aph_value v);
/* Builds a term, or computes the result if both operands are concrete. Operands of a wrong kind, division by zero and
 * 64-bit overflow give the term APH_WRONG. Equality of arrays and objects becomes equality of their items. */
aph_value aph_term(aph_op op, aph_value a, aph_value b);
aph_op aph_term_op(aph_value v);
size_t aph_term_count(aph_value v);
aph_value aph_term_arg(aph_value v, size_t i);
aph_kind aph_sort_of(aph_value v);                      /* the sort of a symbol, a term or a scalar */

static inline aph_value aph_add(aph_value a, aph_value b) { return aph_term(APH_ADD, a, b); }
static inline aph_value aph_sub(aph_value a, aph_value b) { return aph_term(APH_SUB, a, b); }
static inline aph_value aph_mul(aph_value a, aph_value b) { return aph_term(APH_MUL, a, b); }
static inline aph_value aph_div(aph_value a, aph_value b) { return aph_term(APH_DIV, a, b); }
static inline aph_value aph_lt(aph_value a, aph_value b) { return aph_term(APH_LT, a, b); }
static inline aph_value aph_le(aph_value a, aph_value b) { return aph_term(APH_LE, a, b); }
static inline aph_value aph_eq(aph_value a, aph_value b) { return aph_term(APH_EQ, a, b); }
static inline aph_value aph_not(aph_value a) { return aph_term(APH_NOT, a, APH_NIL); }
static inline aph_value aph_ne(aph_value a, aph_value b) { return aph_not(aph_eq(a, b)); }
static inline aph_value aph_and(aph_value a, aph_value b) { return aph_term(APH_AND, a, b); }
static inline aph_value aph_or(aph_value a, aph_value b) { return aph_term(APH_OR, a, b); }

/* ---- JSON -------------------------------------------------------------------------------------------------------- */

typedef struct aph_json_error {
    size_t offset;      /* of the offending byte */
    char message[120];
} aph_json_error;

/* Reads one JSON text. Returns false and sets *error if it is invalid. Numbers must be 64-bit integers, also if written
 * as 1.0 or 1e3. String bytes that are not valid UTF-8 are kept, and written as \udcXX, which reads back as the byte
 * XX. Symbols are written as {"?": number, "sort": "int"} and terms as {"op": [operands]}; these are read back as plain
 * objects. */
bool aph_json_read(const char *text, size_t n, aph_value *v, aph_json_error *error);
void aph_json_write(FILE *out, aph_value v);
/* Returns the text, NUL-terminated; the caller frees it. Sets *n to its length if n is not NULL. */
char *aph_json_text(aph_value v, size_t *n);

/* ---- reclaiming -------------------------------------------------------------------------------------------------- */

/* A root function: called at each collection, it marks the values in use with aph_mark. */
typedef void aph_root(void *context);
void aph_root_add(aph_root *mark, void *context);
void aph_root_remove(aph_root *mark, void *context);
void aph_mark(aph_value v);
void aph_collect(void);
/* Return the size of all nodes in bytes, now and just after the last collection. */
size_t aph_heap_bytes(void);
size_t aph_heap_bytes_kept(void);
/* Returns cleared memory for free(). If memory is exhausted, it ends the process, as the creation of a value does. */
void *aph_allocate(size_t bytes);
/* Frees the calling thread's heap with all of its values. */
void aph_heap_close(void);

#ifdef __cplusplus
}
#endif
#endif
