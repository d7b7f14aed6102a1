/* SPDX-License-Identifier: Apache-2.0
 *
 * uint128.c - 128-bit counts. */
#include "base/uint128.h"

#include <string.h>

char *aphi_uint128_text(aphi_uint128 number, char text[APHI_UINT128_TEXT])
{
    char *p = text + APHI_UINT128_TEXT;
    *--p = '\0';
    do
        *--p = (char)('0' + (int)(number % 10));
    while ((number /= 10) != 0);
    return memmove(text, p, (size_t)(text + APHI_UINT128_TEXT - p));
}
