/* SPDX-License-Identifier: Apache-2.0
 *
 * date.c - parsing and printing of HTTP dates.
 *
 *     Sun, 06 Nov 1994 08:49:37 GMT        IMF-fixdate: the form that is written
 *     Sunday, 06-Nov-94 08:49:37 GMT       obsolete: RFC 850
 *     Sun Nov  6 08:49:37 1994             obsolete: asctime
 *
 * Idea:       a pattern for each form. D is a digit, _ a space or a digit, and @ a name: @d a day, @D a long day, @m a
 *             month. Other characters match themselves. Adjacent digits are a number; there are five numbers. The day
 *             of the week is not compared with the date, for robustness. */
#include "date.h"

#include <ctype.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static const char *const days[] = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat", NULL};
static const char *const long_days[] = {"Sunday",   "Monday", "Tuesday",  "Wednesday",
                                        "Thursday", "Friday", "Saturday", NULL};
static const char *const months[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul",
                                     "Aug", "Sep", "Oct", "Nov", "Dec", NULL};

void date_print(time_t seconds, char text[DATE_SIZE])
{
    struct tm t;
    gmtime_r(&seconds, &t);
    snprintf(text, DATE_SIZE, "%s, %02u %s %04u %02u:%02u:%02u GMT", days[t.tm_wday], t.tm_mday & 31u, months[t.tm_mon],
             (unsigned)(t.tm_year + 1900) % 10000, t.tm_hour & 31u, t.tm_min & 63u, t.tm_sec & 63u);
}

/* Returns the index of the name at *text, or -1; moves *text past the name. */
static int name_at(const char *const *list, const char **text)
{
    for (int i = 0; list[i]; i++) {
        size_t length = strlen(list[i]);
        if (!strncmp(*text, list[i], length)) {
            *text += length;
            return i;
        }
    }
    return -1;
}

/* Parses the month and the numbers of a text with a pattern. */
static bool match(const char *pattern, const char *text, int *month, int number[5])
{
    int count = -1;
    for (bool digits = false; *pattern; pattern++) {
        bool digit = *pattern == 'D' || *pattern == '_';
        if (digit && !digits)
            number[++count] = 0;
        digits = digit;
        if (*pattern == '@') {
            char which = *++pattern;
            int found = name_at(which == 'd' ? days : which == 'D' ? long_days : months, &text);
            if (found < 0)
                return false;
            if (which == 'm')
                *month = found;
        } else if (digit && isdigit((unsigned char)*text)) {
            number[count] = number[count] * 10 + (*text++ - '0');
        } else if (*text++ != (*pattern == '_' ? ' ' : *pattern) || *pattern == 'D') {
            return false;
        }
    }
    return !*text;
}

static int days_of(int month, int year)
{
    static const int lengths[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    return lengths[month] + (month == 1 && leap);
}

static bool make(int year, int month, int day, const int clock[3], time_t *seconds)
{
    if (day < 1 || day > days_of(month, year) || clock[0] > 23 || clock[1] > 59 || clock[2] > 60)
        return false;
    struct tm t = {.tm_year = year - 1900, .tm_mon = month, .tm_mday = day,
                   .tm_hour = clock[0], .tm_min = clock[1], .tm_sec = clock[2]};
    *seconds = timegm(&t);
    return true;
}

/* Returns the latest year with these two digits that is at most 50 years ahead. */
static int full_year(int two, time_t now)
{
    struct tm t;
    gmtime_r(&now, &t);
    int latest = t.tm_year + 1900 + 50;
    return latest - (latest - two) % 100;
}

bool date_read(const char *text, time_t now, time_t *seconds)
{
    int month = 0, n[5];
    if (match("@d, DD @m DDDD DD:DD:DD GMT", text, &month, n))
        return make(n[1], month, n[0], n + 2, seconds);
    if (match("@D, DD-@m-DD DD:DD:DD GMT", text, &month, n))
        return make(full_year(n[1], now), month, n[0], n + 2, seconds);
    if (match("@d @m _D DD:DD:DD DDDD", text, &month, n))
        return make(n[4], month, n[0], n + 1, seconds);
    return false;
}
