/* SPDX-License-Identifier: Apache-2.0
 *
 * wide.h - counts that do not fit into 64 bits. */
#ifndef APHI_REACH_WIDE_H
#define APHI_REACH_WIDE_H

__extension__ typedef unsigned __int128 aphi_wide;

enum { APHI_WIDE_TEXT = 40 }; /* bytes that any of them takes, in decimal, with its end */

/* Writes it in decimal; returns text. */
char *aphi_wide_text(aphi_wide number, char text[APHI_WIDE_TEXT]);

#endif
