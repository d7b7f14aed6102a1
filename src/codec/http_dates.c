/* SPDX-License-Identifier: Apache-2.0
 *
 * http_dates.c - strict parsing of the three date forms of RFC 9110 5.6.7, and printing of the first; lenient parsing
 * of the dates in cookies.
 *
 * Idea:       each form is a pattern with strptime's letters, interpreted by a small parser. strptime itself is not
 *             used: it depends on the locale, skips spaces and accepts a wrong day of the week.
 * Invariants: 1. a printed date parses as the same second
 *             2. a leap second is the first second of the next minute, as in POSIX, except at the end of the year 9999
 *             3. a date that was read can be printed
 * Read next:  tests/unit/test_http_dates.c */
#include "codec/http_dates.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

static const char *const days[] = {"Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"};
static const char *const months[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                     "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
static const char *const forms[] = {"%a, %d %b %Y %H:%M:%S GMT", "%A, %d-%b-%y %H:%M:%S GMT", "%a %b %e %H:%M:%S %Y"};
enum { DAY = 86400 };

typedef struct date {
    int weekday, day, month, year, hour, minute, second; /* month from 1 */
    bool short_year;
} date;

/* ---- the calendar ------------------------------------------------------------------------------------------------ */

static bool is_leap(int64_t year)
{
    return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
}

static int days_in(int month, int64_t year)
{
    static const int length[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    return month == 2 && is_leap(year) ? 29 : length[month - 1];
}

/* Returns the days from 1 January 1970 to 1 January of a year >= 0. */
static int64_t days_before(int64_t year)
{
    int64_t leaps = year ? (year - 1) / 4 - (year - 1) / 100 + (year - 1) / 400 + 1 : 0;
    return year * 365 + leaps - 719528;
}

static int64_t day_number(const date *d)
{
    int64_t number = days_before(d->year) + d->day - 1;
    for (int month = 1; month < d->month; month++)
        number += days_in(month, d->year);
    return number;
}

/* Returns the date of a day in or after the year 0. */
static date date_of(int64_t number)
{
    date d = {.weekday = (int)(((number + 4) % 7 + 7) % 7), .month = 1};
    int64_t year = (number + 719528) / 366;
    while (days_before(year + 1) <= number)
        year++;
    int left = (int)(number - days_before(year));
    while (left >= days_in(d.month, year))
        left -= days_in(d.month++, year);
    d.year = (int)year;
    d.day = left + 1;
    return d;
}

/* ---- printing ---------------------------------------------------------------------------------------------------- */

bool aphi_http_date_write(int64_t seconds, char text[APHI_HTTP_DATE_SIZE + 1])
{
    if (seconds < days_before(0) * DAY || seconds >= days_before(10000) * DAY)
        return false;
    int64_t number = seconds / DAY - (seconds % DAY < 0);
    int left = (int)(seconds - number * DAY);
    date d = date_of(number);
    char long_enough[96];
    snprintf(long_enough, sizeof long_enough, "%.3s, %02d %s %04d %02d:%02d:%02d GMT", days[d.weekday], d.day,
             months[d.month - 1], d.year, left / 3600, left / 60 % 60, left % 60);
    memcpy(text, long_enough, APHI_HTTP_DATE_SIZE);
    text[APHI_HTTP_DATE_SIZE] = '\0';
    return true;
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

typedef struct reader {
    const char *at, *end;
} reader;

static bool parse_text(reader *r, const char *text, size_t n)
{
    if ((size_t)(r->end - r->at) < n || memcmp(r->at, text, n) != 0)
        return false;
    r->at += n;
    return true;
}

static bool parse_number(reader *r, int digits, int *number)
{
    if (r->end - r->at < digits)
        return false;
    *number = 0;
    for (; digits; digits--, r->at++) {
        if (*r->at < '0' || *r->at > '9')
            return false;
        *number = *number * 10 + (*r->at - '0');
    }
    return true;
}

/* Parses one of the names, or its first n bytes if n > 0, and sets its index. */
static bool parse_name(reader *r, const char *const *names, int count, size_t n, int *index)
{
    for (*index = 0; *index < count; ++*index)
        if (parse_text(r, names[*index], n ? n : strlen(names[*index])))
            return true;
    return false;
}

static bool parse_part(reader *r, char letter, date *d)
{
    switch (letter) {
    case 'a': return parse_name(r, days, 7, 3, &d->weekday);
    case 'A': return parse_name(r, days, 7, 0, &d->weekday);
    case 'b': return parse_name(r, months, 12, 0, &d->month) && ++d->month;
    case 'd': return parse_number(r, 2, &d->day);
    case 'e': return parse_text(r, " ", 1) ? parse_number(r, 1, &d->day) : parse_number(r, 2, &d->day);
    case 'H': return parse_number(r, 2, &d->hour);
    case 'M': return parse_number(r, 2, &d->minute);
    case 'S': return parse_number(r, 2, &d->second);
    case 'y': return d->short_year = true, parse_number(r, 2, &d->year);
    default: return parse_number(r, 4, &d->year);
    }
}

static bool parse_form(reader r, const char *form, date *d)
{
    *d = (date){0};
    for (; *form; form++)
        if (!(*form == '%' ? parse_part(&r, *++form, d) : parse_text(&r, form, 1)))
            return false;
    return r.at == r.end;
}

static bool exists(const date *d)
{
    return d->day >= 1 && d->day <= days_in(d->month, d->year) && d->hour <= 23 && d->minute <= 59 && d->second <= 60;
}

static int64_t seconds_of(const date *d)
{
    int64_t seconds = day_number(d) * DAY + d->hour * 3600 + d->minute * 60 + d->second, end = days_before(10000) * DAY;
    return seconds < end ? seconds : end - 1;
}

/* RFC 9110 5.6.7: a date more than 50 years ahead is in the last century. Compares whole dates, not only years. */
static void complete_year(date *d, int64_t now)
{
    date ahead = date_of(now / DAY - (now % DAY < 0));
    int later = d->month != ahead.month ? d->month - ahead.month : d->day - ahead.day;
    ahead.year += 50;
    d->year += ahead.year / 100 * 100;
    if (d->year > ahead.year || (d->year == ahead.year && later > 0))
        d->year -= 100;
}

bool aphi_http_date_read(const char *text, size_t n, int64_t now, int64_t *seconds)
{
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        date d;
        if (!parse_form((reader){text, text + n}, forms[i], &d))
            continue;
        if (d.short_year)
            complete_year(&d, now);
        if (!exists(&d) || date_of(day_number(&d)).weekday != d.weekday)
            return false;
        *seconds = seconds_of(&d);
        return true;
    }
    return false;
}

/* ---- dates in cookies -------------------------------------------------------------------------------------------- */

static bool is_delimiter(char c)
{
    return c == '\t' || (c >= ' ' && c <= '/') || (c >= ';' && c <= '@') || (c >= '[' && c <= '`') ||
           (c >= '{' && c <= '~');
}

/* Parses a number of `low` to `high` digits that is not followed by a digit. */
static bool parse_digits(reader *r, int low, int high, int *number)
{
    int count = 0;
    *number = 0;
    for (; r->at < r->end && *r->at >= '0' && *r->at <= '9' && count <= high; count++, r->at++)
        *number = *number * 10 + (*r->at - '0');
    return count >= low && count <= high;
}

static bool parse_clock(reader r, date *d)
{
    return parse_digits(&r, 1, 2, &d->hour) && parse_text(&r, ":", 1) && parse_digits(&r, 1, 2, &d->minute) &&
           parse_text(&r, ":", 1) && parse_digits(&r, 1, 2, &d->second);
}

static bool parse_day(reader r, date *d) { return parse_digits(&r, 1, 2, &d->day); }

static bool parse_month(reader r, date *d)
{
    for (d->month = 1; d->month <= 12; d->month++)
        if (r.end - r.at >= 3 && strncasecmp(r.at, months[d->month - 1], 3) == 0)
            return true;
    return false;
}

static bool parse_year(reader r, date *d) { return parse_digits(&r, 2, 4, &d->year); }

/* Gives the token to the first part that is still missing and has this form. found: a bit for each part. */
static void take_token(reader token, date *d, unsigned *found)
{
    static bool (*const parts[])(reader r, date *d) = {parse_clock, parse_day, parse_month, parse_year};
    for (unsigned i = 0; i < 4; i++) {
        if (*found & 1u << i || !parts[i](token, d))
            continue;
        *found |= 1u << i;
        return;
    }
}

bool aphi_http_cookie_date_read(const char *text, size_t n, int64_t *seconds)
{
    date d = {0};
    unsigned found = 0;
    for (const char *end = text + n, *at = text, *next; at < end; at = next + 1) {
        for (next = at; next < end && !is_delimiter(*next); next++)
            ;
        take_token((reader){at, next}, &d, &found);
    }
    if (found != 15)
        return false;
    d.year += d.year >= 100 ? 0 : d.year >= 70 ? 1900 : 2000;
    if (d.year < 1601 || d.second > 59 || !exists(&d))
        return false;
    *seconds = seconds_of(&d);
    return true;
}
