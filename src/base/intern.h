/* SPDX-License-Identifier: Apache-2.0
 *
 * intern.h - a table that numbers byte strings: the first is 0, the next new one is 1, and so on. */
#ifndef APHI_BASE_INTERN_H
#define APHI_BASE_INTERN_H

#include <stddef.h>
#include <stdint.h>

typedef struct aphi_intern {
    unsigned char *bytes;
    size_t *start;                 /* key i is bytes[start[i]] .. bytes[start[i + 1] - 1] */
    uint32_t *slots;               /* number + 1; 0: free */
    size_t count, used, byte_capacity, start_capacity, slot_count;
} aphi_intern;                     /* all zero: empty */

void aphi_intern_free(aphi_intern *t);
/* Returns the number of the key. A new key is added, and its number is the former count. */
uint32_t aphi_intern_number(aphi_intern *t, const void *key, size_t size);
/* Returns a key, and its size in *size if size is not NULL. It is valid until the next key is added. */
const void *aphi_intern_key(const aphi_intern *t, uint32_t number, size_t *size);

#endif
