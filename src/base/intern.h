/* SPDX-License-Identifier: Apache-2.0
 *
 * intern.h - a table that gives each string of bytes a number: the first 0, the next that is new 1, and so on. */
#ifndef APHI_BASE_INTERN_H
#define APHI_BASE_INTERN_H

#include <stddef.h>
#include <stdint.h>

typedef struct aphi_intern {
    unsigned char *bytes;
    size_t *start;                 /* count + 1 of them, once there is one: key i is bytes[start[i]] .. start[i + 1] */
    uint32_t *slots;               /* number + 1; 0 is free */
    size_t count, used, byte_capacity, start_capacity, slot_count;
} aphi_intern;                      /* all zero is an empty one */

void aphi_intern_free(aphi_intern *t);
/* The number of the key, which is added if it is new: then the answer is what count was. */
uint32_t aphi_intern_number(aphi_intern *t, const void *key, size_t size);
/* The key of that number, and its size if that is not NULL. It is valid until a key is added. */
const void *aphi_intern_key(const aphi_intern *t, uint32_t number, size_t *size);

#endif
