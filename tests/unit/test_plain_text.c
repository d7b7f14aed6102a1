/* SPDX-License-Identifier: Apache-2.0
 *
 * test_plain_text.c - text for terminals has no commands, and a shell reads quoted words as they were. */
#include "base/plain_text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include "base/process.h"
#include "base/random_choice.h"

static void is_escaped(const char *text, const char *expected)
{
    aphi_buffer out = {0};
    aphi_buffer_escaped(&out, "%s", text);
    assert_string_equal(aphi_buffer_text(&out), expected);
    aphi_buffer_free(&out);
}

static void test_escapes(void **unused)
{
    (void)unused;
    is_escaped("plain, ä, 漢\n\tindented", "plain, ä, 漢\n\tindented");
    is_escaped("\33]0;title\a\33[2J", "\\x1b]0;title\\x07\\x1b[2J");
    is_escaped("\r\b\x7f", "\\x0d\\x08\\x7f");
    is_escaped("\xc2\x9b" "31m \xe2\x80\xae", "\\u009b31m \\u202e");
    is_escaped("\xff\xc3(\xed\xa0\x80", "\\xff\\xc3(\\xed\\xa0\\x80");
}

/* Returns true if no byte of the text commands a terminal. */
static bool is_harmless(const char *text)
{
    for (size_t n = strlen(text), at = 0; at < n;) {
        uint32_t point;
        at += aphi_utf8_next(text + at, n - at, &point);
        if (point != '\n' && point != '\t' && (point == APHI_UTF8_INVALID || aphi_utf8_is_command(point)))
            return false;
    }
    return true;
}

static void is_read_by_shell(const char *text)
{
    aphi_buffer command = {0}, printed = {0};
    aphi_buffer_str(&command, "printf '%s|%s.' ");
    aphi_quote(&command, text);
    aphi_buffer_byte(&command, ' ');
    aphi_quote_word(&command, text);
    assert_true(is_harmless(aphi_buffer_text(&command)));
    assert_int_equal(aphi_process_run(&(aphi_process_options){.command = command.data}, &printed), 0);
    aphi_buffer expected = {0};
    aphi_buffer_format(&expected, "%s|%s.", text, text);
    assert_string_equal(aphi_buffer_text(&printed), aphi_buffer_text(&expected));
    aphi_buffer_free(&command);
    aphi_buffer_free(&printed);
    aphi_buffer_free(&expected);
}

static void test_quotes(void **unused)
{
    (void)unused;
    static const char *const texts[] = {"", "word", "two words", "it's", "''", "'", "\"$HOME\" `id` \\ !x", "a\nb\n",
                                        "~", "*", "\33[1m", "\xff\xfe'\1'", "-x", "#", "ä", "{port}", "\xe2\x80\xae;"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        is_read_by_shell(texts[i]);
    aphi_choice choice = aphi_choice_seed(1);
    for (int i = 0; i < 50; i++) {
        char text[12] = "";
        for (size_t k = 0; k < sizeof text - 1; k++)
            text[k] = (char)(1 + aphi_choice_below(&choice, 255));
        is_read_by_shell(text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_escapes), cmocka_unit_test(test_quotes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
