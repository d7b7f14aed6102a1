/* SPDX-License-Identifier: Apache-2.0
 *
 * edn.h - Clojure's data notation, as far as histories use it.
 *
 * Keywords and symbols read as strings without the colon, nil as null, lists, vectors and sets as arrays (a set in the
 * order of aph_compare), maps as objects, characters as strings; a tag says nothing and is dropped. Comments and
 * discarded forms are skipped. Numbers that are no 64-bit integers are wrong only in a form that is made into a value.
 */
#ifndef APHI_EDN_H
#define APHI_EDN_H

#include "base/buffer.h"
#include "trace/source.h"

/* What building values needs; kept from form to form so that it is allocated once. All zero at first. */
typedef struct aphi_edn {
    aph_value *stack; /* the items of collections that are being read */
    size_t stack_count, stack_capacity;
    aphi_buffer text; /* a string with its escapes resolved */
} aphi_edn;

void aphi_edn_deinit(aphi_edn *e);
/* Moves over blanks, commas, comments and discarded forms. */
bool aphi_edn_blank(aphi_cursor *c);
/* Moves behind one form. */
bool aphi_edn_skip(aphi_cursor *c);
/* Moves behind one map, which may be tagged, and sets slices[i] to the text of the member with the keyword or string
 * names[i] as its key; absent ones are left as they are. */
bool aphi_edn_members(aphi_cursor *c, const char *const *names, aphi_slice *slices, size_t count);
/* Reads the form at c into a value and moves behind it. */
bool aphi_edn_build(aphi_edn *e, aphi_cursor *c, aph_value *v);

#endif
