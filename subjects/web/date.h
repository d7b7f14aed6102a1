/* SPDX-License-Identifier: Apache-2.0
 *
 * date.h - HTTP dates (RFC 9110, section 5.6.7) as seconds since 1970. */
#ifndef WEB_DATE_H
#define WEB_DATE_H

#include <stdbool.h>
#include <time.h>

enum { DATE_SIZE = 32 }; /* 29 characters and some spare room */

/* Prints an IMF-fixdate. */
void date_print(time_t seconds, char text[DATE_SIZE]);

/* Parses any of the three forms that a recipient must accept. Returns false for other text, including lists. The
 * current time determines the century of a year of two digits. */
bool date_read(const char *text, time_t now, time_t *seconds);

#endif
