/* SPDX-License-Identifier: Apache-2.0
 *
 * http_dates.h - dates of HTTP and of cookies as seconds since 1970. */
#ifndef APHI_CODEC_HTTP_DATES_H
#define APHI_CODEC_HTTP_DATES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { APHI_HTTP_DATE_SIZE = 29 }; /* of "Sun, 06 Nov 1994 08:49:37 GMT" */

/* Writes the IMF-fixdate of a time, and a NUL. Returns false, and writes nothing, if its year does not have four
 * digits. */
bool aphi_http_date_write(int64_t seconds, char text[APHI_HTTP_DATE_SIZE + 1]);

/* Parses a date in one of the three forms of RFC 9110 5.6.7. A year of two digits is the latest one up to 50 years
 * after `now`. Returns false, and writes nothing, if the text is not a date, the day does not exist, or the day of the
 * week is wrong. */
bool aphi_http_date_read(const char *text, size_t n, int64_t now, int64_t *seconds);

/* Parses the date of a cookie as user agents do (RFC 6265 5.1.1): a time, a day, a month and a year in any order, with
 * other words between them. Years of two digits are from 1970 to 2069. Returns false, and writes
 * nothing, if the text is not such a date, the day does not exist, or the year is before 1601. */
bool aphi_http_cookie_date_read(const char *text, size_t n, int64_t *seconds);

#endif
