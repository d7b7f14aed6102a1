/* SPDX-License-Identifier: Apache-2.0
 *
 * wide.c - counts that do not fit into 64 bits. */
#include "reach/wide.h"

#include <string.h>

char *aphi_wide_text(aphi_wide number, char text[APHI_WIDE_TEXT])
{
    char *p = text + APHI_WIDE_TEXT;
    *--p = '\0';
    do
        *--p = (char)('0' + (int)(number % 10));
    while ((number /= 10) != 0);
    return memmove(text, p, (size_t)(text + APHI_WIDE_TEXT - p));
}
