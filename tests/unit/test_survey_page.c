/* SPDX-License-Identifier: Apache-2.0
 *
 * test_survey_page.c - the pages of a survey: their content, and the escaping of data.
 *
 *   test_survey_page FOLDER    write sample pages for tests/cli/survey.sh, which opens them in a browser */
#include "report/survey_page.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static aph_value json(const char *text)
{
    aph_value v;
    assert_true(aph_json_read(text, strlen(text), &v, NULL));
    return v;
}

static aph_value plain(void)
{
    return json("{\"survey\":1,\"name\":\"apache\",\"subject\":\"apache\",\"model\":\"http\","
                "\"version\":\"Apache/2.4\","
                "\"when\":\"2026-01-02\",\"verdict\":\"pass\",\"messages\":20038,\"runs\":9,\"ns\":4800000000,"
                "\"undecided\":2,"
                "\"passed\":20000,\"waived\":[\"head-range\"],\"observations\":2500,"
                "\"findings\":[{\"verdict\":\"fail\",\"why\":\"nothing explains it\",\"waiver\":\"head-range\","
                "\"summary\":\"HEAD is answered 206\",\"picture\":\"a\\n  b\",\"replay\":\"antiphon replay x\","
                "\"page\":\"apache/1.html\",\"clauses\":[\"RFC 9110 14.2\"],\"requests\":2,\"reject_ns\":1000000,"
                "\"shrink_ns\":2000000,\"reproduced\":10,\"confirmed\":10,\"minimal\":true}],"
                "\"choices\":[{\"clause\":\"RFC 9110 8.8.3\",\"ways\":[[\"strong tag\",199],[\"weak tag\",1],"
                "[\"no tag\",0]]},{\"ways\":[[\"not asked\",0]]}],\"never\":[\"a branch\"]}");
}

#define EVIL \
    "<script>alert(1)</script><img src=http://evil.invalid/x onerror=alert(1)>\\\" onclick=\\\"x' \\u202e\\u0000"

static aph_value hostile(void)
{
    return json("{\"survey\":1,\"name\":\"" EVIL "\",\"subject\":\"" EVIL "\",\"version\":\"" EVIL
                "\",\"verdict\":\"" EVIL
                "\",\"why\":\"" EVIL "\",\"when\":\"" EVIL "\",\"model\":\"" EVIL "\",\"waived\":[\"" EVIL "\",7],"
                "\"findings\":[{\"why\":\"" EVIL "\",\"waiver\":\"" EVIL "\",\"summary\":\"" EVIL
                "\",\"picture\":\"" EVIL
                "\",\"replay\":\"" EVIL "\",\"page\":\"javascript:alert(1)\",\"clauses\":[\"" EVIL "\",null]},"
                "{\"page\":\"../up.html\"},{\"page\":\"//evil.invalid\"},{\"page\":\"a/..//b\"},7],"
                "\"choices\":[{\"clause\":\"" EVIL "\",\"ways\":[[\"" EVIL "\",3],[\"negative\",-3],7]},{\"ways\":7}],"
                "\"never\":[\"" EVIL "\",{}],\"messages\":-1,\"ns\":\"x\"}");
}

static bool contains(const aphi_buffer *page, const char *text)
{
    return memmem(page->data, page->n, text, strlen(text)) != NULL;
}

static void test_page(void **state)
{
    (void)state;
    aphi_buffer page = {0};
    aphi_survey_page_write(&page, plain());
    static const char *const expected[] = {
        "<h1>apache</h1>", "Apache/2.4", "with 1 known violation waived", "HEAD is answered 206", "a\n  b</pre>",
        "--waive head-range", "<a href=\"apache/1.html\">", "reproduced in 10 of 10 runs", "99 % · 199", "1 % · 1",
        "never</span>",
        "RFC 9110 8.8.3", "<li>a branch</li>", "20,038 messages in 9 runs", "; 2 tests without a verdict",
        "antiphon replay x"};
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++)
        if (!contains(&page, expected[i]))
            fail_msg("the page does not say: %s", expected[i]);
    assert_false(contains(&page, "not asked")); /* a choice that was never made is not listed */
    aphi_buffer_free(&page);
}

static void test_nothing_known(void **state)
{
    (void)state;
    static const char *const values[] = {"{}", "7", "[]",
                                         "{\"findings\":{},\"choices\":{},\"never\":{},\"waived\":{}}"};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        aphi_buffer page = {0};
        aphi_survey_page_write(&page, json(values[i]));
        assert_true(contains(&page, "None found"));
        assert_true(contains(&page, "</html>"));
        aphi_buffer_free(&page);
    }
}

static void expect_inert(const aphi_buffer *page)
{
    static const char *const forbidden[] = {"<script", "<img", "\" onclick", "' ", "href=\"javascript", "href=\"..",
                                            "href=\"//", "\xe2\x80\xae", "href=\"a/"};
    const char *body = memmem(page->data, page->n, "</head>", 7);
    assert_non_null(body);
    size_t n = page->n - (size_t)(body - page->data);
    for (size_t i = 0; i < sizeof forbidden / sizeof *forbidden; i++)
        if (memmem(body, n, forbidden[i], strlen(forbidden[i])))
            fail_msg("the page has: %s", forbidden[i]);
    assert_non_null(memmem(body, n, "&lt;script&gt;", 14)); /* the markup is shown as text */
    assert_null(memchr(page->data, 0, page->n));
}

static void test_hostile(void **state)
{
    (void)state;
    aphi_buffer page = {0}, index = {0};
    aphi_survey_page_write(&page, hostile());
    expect_inert(&page);
    aphi_survey_page_index(&index, APH_ARRAY_OF(hostile(), plain()));
    expect_inert(&index);
    assert_true(contains(&index, "<a href=\"apache.html\">apache</a>"));
    aphi_buffer_free(&page);
    aphi_buffer_free(&index);
}

static void write_page(const char *folder, const char *name, const aphi_buffer *page)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *out = fopen(path, "w");
    if (!out || fwrite(page->data, 1, page->n, out) != page->n || fclose(out))
        abort();
}

static int write_pages(const char *folder)
{
    aphi_buffer page = {0}, evil = {0}, index = {0};
    aphi_survey_page_write(&page, plain());
    aphi_survey_page_write(&evil, hostile());
    aphi_survey_page_index(&index, APH_ARRAY_OF(hostile(), plain()));
    write_page(folder, "plain.html", &page);
    write_page(folder, "hostile.html", &evil);
    write_page(folder, "index.html", &index);
    aphi_buffer_free(&page);
    aphi_buffer_free(&evil);
    aphi_buffer_free(&index);
    aph_heap_close();
    return 0;
}

int main(int count, char **words)
{
    if (count > 1)
        return write_pages(words[1]);
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_page), cmocka_unit_test(test_nothing_known),
                                       cmocka_unit_test(test_hostile)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
