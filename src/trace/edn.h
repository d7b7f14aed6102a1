/* SPDX-License-Identifier: Apache-2.0
 *
 * edn.h - a reader of EDN, Clojure's data notation.
 *
 * Keywords and symbols become strings without the colon, nil becomes null, lists, vectors and sets become arrays (a set
 * in the order of aph_compare), maps objects, characters strings; tags are dropped. Comments and discarded forms are
 * skipped. A number that is not a 64-bit integer is an error only in a form that is converted to a value.
 */
#ifndef APHI_TRACE_EDN_H
#define APHI_TRACE_EDN_H

#include "base/buffer.h"
#include "trace/byte_source.h"

/* Storage for building values, reused for each form. Initially all zero. */
typedef struct aphi_edn {
    aph_value *stack; /* items of open collections */
    size_t stack_count, stack_capacity;
    size_t size_before; /* of the heap, when the form began */
    aphi_buffer text; /* a string with its escapes resolved */
} aphi_edn;

void aphi_edn_deinit(aphi_edn *e);
/* Moves over blanks, commas, comments and discarded forms. */
bool aphi_edn_blank(aphi_cursor *c);
bool aphi_edn_skip(aphi_cursor *c);
/* Moves past one map, which may be tagged, and sets slices[i] to the text of the member whose key is the keyword or
 * string names[i]; slices of absent members are unchanged. */
bool aphi_edn_members(aphi_cursor *c, const char *const *names, aphi_slice *slices, size_t count);
/* Converts the form at c to a value and moves past it. */
bool aphi_edn_build(aphi_edn *e, aphi_cursor *c, aph_value *v);

#endif
