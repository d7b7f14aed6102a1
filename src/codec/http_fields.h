/* SPDX-License-Identifier: Apache-2.0
 *
 * http_fields.h - lines with the same name as one field, and names with values as an object. */
#ifndef APHI_CODEC_HTTP_FIELDS_H
#define APHI_CODEC_HTTP_FIELDS_H

#include "codec/http_head.h"

/* Lines with the same name, in their order. */
typedef struct aphi_http_group {
    const aphi_http_line *const *lines;
    size_t count;
} aphi_http_group;

/* Sorts pointers to lines of one array by name, and lines with the same name by their order; for qsort. */
int aphi_http_by_name(const void *a, const void *b);
/* Returns the group at the beginning of sorted lines. */
aphi_http_group aphi_http_group_at(const aphi_http_line *const *lines, size_t count);
/* Joins the values of the lines (RFC 9110 5.3). */
aph_value aphi_http_join(aphi_http_group g);

/* Names with values, in their order. A name may occur more than once. */
typedef struct aphi_http_pairs {
    struct aphi_http_pair *items;
    size_t count, capacity;
} aphi_http_pairs;

void aphi_http_pairs_add(aphi_http_pairs *p, aph_value name, aph_value item);
/* Returns the object of the pairs, and frees them; APH_NIL if there are none. The items of a name that occurs more than
 * once become an array. */
aph_value aphi_http_pairs_take(aphi_http_pairs *p);

/* Calls `write` for each item of an object that aphi_http_pairs_take can return. A null stands for no item. Returns
 * false if the value is not such an object, or if `write` returns false. */
typedef bool aphi_http_write_pair(void *context, aph_value name, aph_value item);
bool aphi_http_pairs_each(aph_value object, aphi_http_write_pair *write, void *context);

#endif
