/* SPDX-License-Identifier: Apache-2.0
 *
 * dates.h - the dates of HTTP as seconds since 1970. */
#ifndef APHI_HTTP_DATES_H
#define APHI_HTTP_DATES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { APHI_HTTP_DATE_SIZE = 29 }; /* of "Sun, 06 Nov 1994 08:49:37 GMT" */

/* The IMF-fixdate of a moment, and a NUL. False, and nothing is written: its year does not have four digits. */
bool aphi_http_date_write(int64_t seconds, char text[APHI_HTTP_DATE_SIZE + 1]);

/* A date in one of the three forms of RFC 9110 5.6.7, and nothing else. A year of two digits is the last one that is
 * at most 50 years after `now`. False, and nothing is written: it is none, or there is no such day, or it is another
 * day of the week. */
bool aphi_http_date_read(const char *text, size_t n, int64_t now, int64_t *seconds);

#endif
