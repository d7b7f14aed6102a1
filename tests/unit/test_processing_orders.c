/* SPDX-License-Identifier: Apache-2.0
 *
 * test_processing_orders.c - orders in which a subject may have processed requests. */
#include "shrink/shrink.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <stdlib.h>

static aphi_script script_of(const char *lines)
{
    aphi_script s;
    char error[200], *text;
    size_t n = strlen(lines) + 40;
    text = malloc(n);
    snprintf(text, n, "{\"antiphon\":1,\"script\":\"kv\"}\n%s", lines);
    assert_true(aphi_script_parse("test", text, strlen(text), &s, error, sizeof error));
    free(text);
    return s;
}

static aphi_run_event sent(int64_t connection, int64_t label)
{
    return (aphi_run_event){.kind = APHI_RUN_EVENT_SENT, .connection = connection, .label = label};
}

static aphi_run_event came(int64_t connection, int64_t label)
{
    return (aphi_run_event){.kind = APHI_RUN_EVENT_RECEIVED, .connection = connection, .label = label};
}

static void is_script(const aphi_script *s, const char *lines)
{
    char *text = aphi_script_text(s, NULL);
    assert_string_equal(strchr(text, '\n') + 1, lines);
    free(text);
}

/* Request 5 overtakes 1 and 3, and its connection is closed; the hole in 9 follows the message that it refers to. */
static void test_by_answers(void **state)
{
    (void)state;
    aphi_script s = script_of("{\"label\":1,\"conn\":0,\"send\":\"a\"}\n"
                              "{\"label\":3,\"conn\":1,\"send\":\"b\",\"wait\":{\"pause_us\":5}}\n"
                              "{\"label\":5,\"conn\":2,\"send\":\"c\"}\n"
                              "{\"label\":7,\"conn\":2,\"close\":true,\"wait\":{\"answer\":6}}\n"
                              "{\"label\":9,\"conn\":0,\"send\":{\"$\":[6,[],\"id\"]},\"wait\":{\"answer\":4}}\n");
    const aphi_run_event events[] = {sent(0, 1), sent(1, 3), sent(2, 5), came(2, 6), {.kind = APHI_RUN_EVENT_CLOSED},
                                   came(1, 4), sent(0, 9), came(0, 2)};
    aphi_script got = aphi_processing_orders(&s, events, sizeof events / sizeof *events, NULL);
    is_script(&got, "{\"label\":1,\"conn\":2,\"send\":\"c\"}\n"
                    "{\"label\":3,\"conn\":2,\"close\":true,\"wait\":{\"answer\":2}}\n"
                    "{\"label\":5,\"conn\":1,\"send\":\"b\",\"wait\":{\"pause_us\":5}}\n"
                    "{\"label\":7,\"conn\":0,\"send\":\"a\"}\n"
                    "{\"label\":9,\"conn\":0,\"send\":{\"$\":[2,[],\"id\"]},\"wait\":{\"answer\":6}}\n");
    aphi_script_free(&got);
    aphi_script_free(&s);
}

/* A request whose response arrived before another request was sent stays before it. The order on a connection is kept.
 * Overlapping requests occur in both orders. */
static void test_at_random(void **state)
{
    (void)state;
    aphi_script s = script_of("{\"label\":1,\"conn\":0,\"send\":1}\n{\"label\":3,\"conn\":1,\"send\":3}\n"
                              "{\"label\":5,\"conn\":0,\"send\":5}\n{\"label\":7,\"conn\":1,\"send\":7}\n");
    const aphi_run_event events[] = {sent(0, 1), sent(1, 3), sent(0, 5), came(0, 2),
                                      sent(1, 7), came(1, 4), came(0, 6)};
    bool before[8][8] = {{false}};
    aphi_choice choice = aphi_choice_seed(1);
    for (int round = 0; round < 200; round++) {
        aphi_script got = aphi_processing_orders(&s, events, sizeof events / sizeof *events, &choice);
        assert_int_equal(got.count, 4);
        for (size_t i = 0; i < 4; i++) {
            assert_int_equal(got.actions[i].label, 2 * i + 1);
            for (size_t k = 0; k < i; k++)
                before[aph_int_of(got.actions[k].send)][aph_int_of(got.actions[i].send)] = true;
        }
        aphi_script_free(&got);
    }
    assert_true(before[1][3] && before[3][1] && before[5][3] && before[3][5] && before[5][7] && before[7][5]);
    assert_true(before[1][5] && before[3][7] && before[1][7]);
    assert_false(before[5][1] || before[7][3] || before[7][1]);
    aphi_script_free(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_by_answers),
        cmocka_unit_test(test_at_random),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
