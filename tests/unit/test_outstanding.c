/* SPDX-License-Identifier: Apache-2.0
 *
 * test_outstanding.c - outstanding requests keep their messages, in the order of their connections. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tester/outstanding.h"

static void mark(void *context) { aphi_outstanding_mark(context); }

/* The messages and parts of many requests survive a collection. */
static void test_messages_are_roots(void **unused)
{
    (void)unused;
    enum { N = 300, CONNECTIONS = 7 };
    aphi_outstanding o;
    aphi_outstanding_open(&o, 100);
    aph_root_add(mark, &o);
    for (int64_t i = 0; i < N; i++)
        aphi_outstanding_push(&o, i % CONNECTIONS, &(aphi_outstanding_request){
            .label = 2 * i + 1, .message = aph_strf("message number %lld", (long long)i),
            .part = aph_strf("part number %lld", (long long)i)});
    aph_collect();
    for (int64_t i = 0; i < 10 * N; i++) /* would reuse the memory of reclaimed values */
        aph_strf("another value %lld", (long long)i);
    for (int64_t i = 0; i < N; i++) {
        aphi_outstanding_request r;
        assert_true(aphi_outstanding_pop(&o, i % CONNECTIONS, true, &r));
        assert_int_equal(r.label, 2 * i + 1);
        assert_ptr_equal(r.message, aph_strf("message number %lld", (long long)i));
        assert_ptr_equal(r.part, aph_strf("part number %lld", (long long)i));
    }
    aphi_outstanding_request none;
    assert_false(aphi_outstanding_pop(&o, 0, true, &none));
    assert_int_equal(o.count, 0);
    aph_root_remove(mark, &o);
    aphi_outstanding_close(&o);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_messages_are_roots)};
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    aph_heap_close();
    return failed;
}
