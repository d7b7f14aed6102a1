/* SPDX-License-Identifier: Apache-2.0
 *
 * uint128.h - 128-bit counts. */
#ifndef APHI_BASE_UINT128_H
#define APHI_BASE_UINT128_H

__extension__ typedef unsigned __int128 aphi_uint128;

enum { APHI_UINT128_TEXT = 40 }; /* bytes of the longest decimal text with its NUL */

/* Writes the number in decimal. Returns text. */
char *aphi_uint128_text(aphi_uint128 number, char text[APHI_UINT128_TEXT]);

#endif
