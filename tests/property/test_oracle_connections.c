/* SPDX-License-Identifier: Apache-2.0
 *
 * test_oracle_connections.c - the oracle's verdicts on histories of rpc models that distinguish connections equal those
 * of the slow deciders. */
#include "tests/support/compare.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

/* How a model distinguishes connections. */
typedef enum manner {
    BY_NUMBER,    /* the number becomes a value */
    BY_TEXT,      /* it becomes part of a string */
} manner;

static aph_value name_of(aph *m, int64_t from)
{
    return *(const manner *)aph_data(m) == BY_NUMBER ? aph_int(from)
                                                     : aph_strf("the session of connection %lld", (long long)from);
}

static bool is(aph_value request, const char *f)
{
    return aph_str_is(aph_field(request, "f"), f);
}

/* The state of a key: a shared register, a register for each session, and the session that has the lock.
 *     {"f": "put", "value": v}, {"f": "get"}     write and read the shared register
 *     {"f": "keep", "value": v}, {"f": "recall"} write and read the register of the session
 *     {"f": "lock"}, {"f": "unlock"}             return true if the session gets, or had, the lock
 * Only the last four distinguish connections; "lock" only while another session has the lock. */
static aph_value run_request(aph *m, aph_value *one, aph_request q)
{
    aph_value value = aph_field(q.message, "value"), holder = aph_field(*one, "holder");
    if (is(q.message, "get"))
        return aph_field(*one, "shared");
    if (is(q.message, "put")) {
        *one = aph_put(*one, "shared", value);
        return aph_str("ok");
    }
    if (is(q.message, "lock") && holder)
        return aph_bool(holder == name_of(m, q.from));
    aph_value name = name_of(m, q.from), kept = aph_field(*one, "kept");
    if (is(q.message, "recall"))
        return aph_get(kept ? kept : aph_object(), name);
    if (is(q.message, "keep"))
        *one = aph_put(*one, "kept", aph_set(kept ? kept : aph_object(), name, value));
    else if (is(q.message, "lock"))
        *one = aph_put(*one, "holder", name);
    else if (holder == name)
        *one = aph_remove(*one, aph_str("holder"));
    else
        return aph_bool(false);
    return aph_bool(true);
}

static void step(aph *m, aph_value *state)
{
    aph_request q = aph_recv(m);
    aph_value key = aph_field(q.message, "key"), one = aph_get(*state, key);
    if (!one)
        one = aph_object();
    aph_value answer = run_request(m, &one, q);
    if (aph_count(one))
        *state = aph_set(*state, key, one);
    aph_send(m, q.from, answer);
}

static aph_value part(aph_value request)
{
    return aph_field(request, "key");
}

static bool reads(aph_value request, aph_value answer)
{
    (void)answer;
    return is(request, "get") || is(request, "recall");
}

static bool commute(aph_value a, aph_value b)
{
    return aph_field(a, "key") != aph_field(b, "key") || (is(a, "get") && is(b, "get"));
}

static const char *const names[] = {"put", "get", "keep", "recall", "recall", "lock", "unlock"};

static aph_value make_request(aphi_choice *c)
{
    aph_value f = aph_str(names[aphi_choice_below(c, sizeof names / sizeof *names)]);
    aph_value q = aph_record("f", f, "key", aph_int(aphi_choice_chance(c, 1, 4)));
    return is(q, "put") || is(q, "keep") ? aph_put(q, "value", aph_int(aphi_choice_within(c, 1, 2))) : q;
}

static aph_value make_answer(aphi_choice *c)
{
    uint64_t at = aphi_choice_below(c, 6);
    return at == 0 ? aph_str("ok") : at < 3 ? aph_bool(at == 1) : at == 3 ? APH_NIL : aph_int((int64_t)at - 3);
}

static void compare_manner(manner how, bool promises)
{
    aph_model model = {.version = APH_MODEL_VERSION, .name = promises ? "sessions, with promises" : "sessions",
                       .step = step, .data = &how, .rpc = true};
    if (promises) {
        model.part = part;
        model.reads = reads;
        model.commute = commute;
    }
    subject s = {&model, NULL, make_request, make_answer, 0, NULL};
    assert_true(compare_many(&s, compare_cases(600), 10));
    assert_true(compare_crowded(&s, compare_cases(100)));
}

static void same_verdicts_by_value(void **state)
{
    (void)state;
    for (manner how = BY_NUMBER; how <= BY_TEXT; how++)
        for (int promises = 0; promises < 2; promises++)
            compare_manner(how, promises);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(same_verdicts_by_value)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
