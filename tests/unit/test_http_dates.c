/* SPDX-License-Identifier: Apache-2.0
 *
 * test_http_dates.c - HTTP dates: strict parsing of three forms, printing, years of two digits; dates in
 * cookies. */
#include "codec/http_dates.h"

#include "base/random_choice.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

static const int64_t now = 1792000000; /* 14 October 2026 */

static bool reads(const char *text, int64_t *seconds)
{
    return aphi_http_date_read(text, strlen(text), now, seconds);
}

static void the_three_forms_are_read(void **unused)
{
    (void)unused;
    static const char *const same[] = {"Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT",
                                       "Sun Nov  6 08:49:37 1994"};
    int64_t seconds;
    for (size_t i = 0; i < 3; i++) {
        assert_true(reads(same[i], &seconds));
        assert_int_equal(seconds, 784111777);
    }
    assert_true(reads("Wed Nov 16 08:49:37 1994", &seconds));
    assert_int_equal(seconds, 784111777 + 10 * 86400);
    assert_true(reads("Thu, 30 Jun 2016 23:59:60 GMT", &seconds));
    assert_int_equal(seconds, 1467331200);
    assert_true(reads("Thu, 29 Feb 2024 00:00:00 GMT", &seconds));
    assert_int_equal(seconds, 1709164800);
}

static void invalid_dates_are_rejected(void **unused)
{
    (void)unused;
    static const char *const wrong[] = {
        "", "Sun", "0", "Sun, 06 Nov 1994 08:49:37", "Sun, 06 Nov 1994 08:49:37 GMT ", " Sun, 06 Nov 1994 08:49:37 GMT",
        "Sun, 06 Nov 1994 08:49:37 UTC", "Sun, 06 Nov 1994 08:49:37 gmt", "sun, 06 Nov 1994 08:49:37 GMT",
        "Sun, 06 NOV 1994 08:49:37 GMT", "Sun, 6 Nov 1994 08:49:37 GMT", "Sun, 06  Nov 1994 08:49:37 GMT",
        "Sun,06 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 94 08:49:37 GMT", "Mon, 06 Nov 1994 08:49:37 GMT",
        "Sun, 00 Nov 1994 08:49:37 GMT", "Thu, 31 Nov 1994 08:49:37 GMT", "Wed, 29 Feb 2023 00:00:00 GMT",
        "Thu, 29 Feb 1900 00:00:00 GMT", "Sun, 06 Nov 1994 24:00:00 GMT", "Sun, 06 Nov 1994 08:60:00 GMT",
        "Sun, 06 Nov 1994 08:49:61 GMT", "Sun, 06 Nov 1994 8:49:37 GMT", "Sun, +6 Nov 1994 08:49:37 GMT",
        "Sunday, 06-Nov-1994 08:49:37 GMT", "Sun, 06-Nov-94 08:49:37 GMT", "Sunday, 06 Nov 94 08:49:37 GMT",
        "Sun Nov 6 08:49:37 1994", "Sun Nov 06 08:49:37 1994 GMT", "Sun Nov  6 08:49:37 94",
        "Sun Nov   6 08:49:37 1994",
        "Sun, 06 Nov 1994 08:49:37 GMT, Sun, 06 Nov 1994 08:49:37 GMT",
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        int64_t seconds = 7;
        if (reads(wrong[i], &seconds))
            fail_msg("'%s' was read as %lld", wrong[i], (long long)seconds);
        assert_int_equal(seconds, 7);
    }
}

static void two_digit_years_are_up_to_fifty_years_ahead(void **unused)
{
    (void)unused;
    int64_t seconds;
    /* `now` is a Wednesday, and so is the same date 50 years later. */
    assert_true(reads("Wednesday, 14-Oct-76 00:00:00 GMT", &seconds));
    assert_int_equal(seconds, 3369859200);
    assert_true(reads("Friday, 15-Oct-76 00:00:00 GMT", &seconds)); /* one day later: read as 1976, not 2076 */
    assert_int_equal(seconds, 214185600);
    assert_true(reads("Tuesday, 31-Dec-75 00:00:00 GMT", &seconds));
    assert_int_equal(seconds, 3344976000);
    assert_false(reads("Thursday, 15-Oct-76 00:00:00 GMT", &seconds)); /* the weekday in 2076 */
}

static void printed_dates_are_parsed(void **unused)
{
    (void)unused;
    aphi_choice c = aphi_choice_seed(1);
    char text[APHI_HTTP_DATE_SIZE + 1], other[64];
    static const int64_t first = -62167219200, last = 253402300799;
    for (int i = 0; i < 200000; i++) {
        int64_t seconds = first + (int64_t)aphi_choice_below(&c, (uint64_t)(last - first) + 1), back;
        assert_true(aphi_http_date_write(seconds, text));
        assert_true(aphi_http_date_read(text, strlen(text), now, &back));
        assert_int_equal(seconds, back);
        struct tm tm;
        time_t t = (time_t)seconds;
        gmtime_r(&t, &tm);
        if (tm.tm_year >= -900) { /* the C library does not pad years to four digits */
            strftime(other, sizeof other, "%a, %d %b %Y %H:%M:%S GMT", &tm);
            assert_string_equal(text, other);
        }
    }
}

static void years_have_four_digits(void **unused)
{
    (void)unused;
    char text[APHI_HTTP_DATE_SIZE + 1];
    assert_true(aphi_http_date_write(-62167219200, text));
    assert_string_equal(text, "Sat, 01 Jan 0000 00:00:00 GMT");
    assert_true(aphi_http_date_write(253402300799, text));
    assert_string_equal(text, "Fri, 31 Dec 9999 23:59:59 GMT");
    assert_true(aphi_http_date_write(-1, text));
    assert_string_equal(text, "Wed, 31 Dec 1969 23:59:59 GMT");
    assert_false(aphi_http_date_write(-62167219201, text));
    assert_false(aphi_http_date_write(253402300800, text));
    assert_false(aphi_http_date_write(INT64_MAX, text));
    assert_false(aphi_http_date_write(INT64_MIN, text));
    assert_string_equal(text, "Wed, 31 Dec 1969 23:59:59 GMT");
}

/* A leap second at the end of the last year with four digits cannot be written as the next second. */
static void every_date_that_is_read_can_be_written(void **unused)
{
    (void)unused;
    static const char last[] = "Fri, 31 Dec 9999 23:59:60 GMT";
    char text[APHI_HTTP_DATE_SIZE + 1];
    int64_t seconds;
    assert_true(aphi_http_date_read(last, sizeof last - 1, 0, &seconds));
    assert_true(aphi_http_date_write(seconds, text));
    assert_string_equal(text, "Fri, 31 Dec 9999 23:59:59 GMT");
}

/* RFC 6265 5.1.1. */
static void cookie_dates_are_read_as_by_user_agents(void **unused)
{
    (void)unused;
    static const struct { const char *text; int64_t seconds; } dates[] = {
        {"Sun, 06 Nov 1994 08:49:37 GMT", 784111777}, {"Sunday, 06-Nov-94 08:49:37 GMT", 784111777},
        {"Sun Nov  6 08:49:37 1994", 784111777}, {"Thu, 01-Jan-1970 00:00:00 GMT", 0},
        {"Thu, 01-Jan-70 00:00:01 GMT", 1}, {"Mon, 31-Dec-69 23:59:59 GMT", 3155759999},
        {"1 1 1970 0:0:0 JANUARY", 0}, {"0:0:0 1 JANUARY 1970", 0}, {"1970 jan 1 0:0:0", 0},
        {"01x janitor 1970y 00:00:00z", 0}, {"Sat, 1 Jan 1601 00:00:00", -11644473600},
        {"Fri, 31 Dec 9999 23:59:59 GMT", 253402300799}, {"1 2 Jan 2000 00:00:00 3 Feb 4:5:6", 946684800},
        {"~01/Jan;1970@00:00:00", 0},
    };
    for (size_t i = 0; i < sizeof dates / sizeof *dates; i++) {
        int64_t seconds = -2;
        if (!aphi_http_cookie_date_read(dates[i].text, strlen(dates[i].text), &seconds) ||
            seconds != dates[i].seconds)
            fail_msg("'%s' was read as %lld", dates[i].text, (long long)seconds);
    }
}

static void other_cookie_dates_are_rejected(void **unused)
{
    (void)unused;
    static const char *const wrong[] = {
        "", "0", "-1", "Session", "Thu, 01 Jan 1970", "Thu, 01 Jan 00:00:00 GMT", "01 1970 00:00:00",
        "Jan 1970 00:00:00", "01 Jan 1970 00:00", "01 Jan 1970 24:00:00", "01 Jan 1970 00:60:00",
        "01 Jan 1970 00:00:60", "01 Jan 1970 000:00:00", "30 Feb 1970 00:00:00", "00 Jan 1970 00:00:00",
        "32 Jan 1970 00:00:00", "01 Jan 1600 00:00:00", "01 Jan 100 00:00:00", "01 Jan 19700 00:00:00",
        "01 Jxn 1970 00:00:00", "01 Ja 1970 0:0:0", "01:Jan:1970:00:00:00",
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        int64_t seconds = 7;
        if (aphi_http_cookie_date_read(wrong[i], strlen(wrong[i]), &seconds))
            fail_msg("'%s' was read as %lld", wrong[i], (long long)seconds);
        assert_int_equal(seconds, 7);
    }
}

static void printed_dates_are_cookie_dates(void **unused)
{
    (void)unused;
    aphi_choice c = aphi_choice_seed(2);
    char text[APHI_HTTP_DATE_SIZE + 1];
    static const int64_t first = -11644473600, last = 253402300799;
    for (int i = 0; i < 100000; i++) {
        int64_t seconds = first + (int64_t)aphi_choice_below(&c, (uint64_t)(last - first) + 1), back;
        assert_true(aphi_http_date_write(seconds, text));
        assert_true(aphi_http_cookie_date_read(text, strlen(text), &back));
        assert_int_equal(seconds, back);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_three_forms_are_read),
        cmocka_unit_test(invalid_dates_are_rejected),
        cmocka_unit_test(two_digit_years_are_up_to_fifty_years_ahead),
        cmocka_unit_test(printed_dates_are_parsed),
        cmocka_unit_test(years_have_four_digits),
        cmocka_unit_test(every_date_that_is_read_can_be_written),
        cmocka_unit_test(cookie_dates_are_read_as_by_user_agents),
        cmocka_unit_test(other_cookie_dates_are_rejected),
        cmocka_unit_test(printed_dates_are_cookie_dates),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
