/* SPDX-License-Identifier: Apache-2.0
 *
 * test_models.c - the built-in models: responses, rejected requests, and promises. */
#include "models/models.h"
#include "tree/step.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* ---- one step, with its choices given ---------------------------------------------------------------------------- */

typedef struct script {
    aph_value request;
    const char *pick;      /* the branch of an aph_either, by name */
    aph_value chosen;      /* the value for an aph_choose */
    aph_value answer;      /* the sent message */
    size_t sent;
    const char *clause;    /* clause of the last decision or choice that has one */
} script;

static bool act(void *context, const aph_event *event, aph_value *answer)
{
    script *s = context;
    if (event->clause)
        s->clause = event->clause;
    switch (event->kind) {
    case APH_EVENT_RECV: *answer = APH_ARRAY_OF(aph_int(7), s->request); return true;
    case APH_EVENT_CHOOSE: *answer = s->chosen; return true;
    case APH_EVENT_DECIDE: *answer = event->value; return aph_kind_of(event->value) == APH_BOOL;
    case APH_EVENT_EITHER:
        for (size_t i = 0; i < event->count; i++)
            if (s->pick && !strcmp(event->names[i], s->pick))
                *answer = aph_int((int64_t)i);
        return *answer != APH_NIL;
    case APH_EVENT_SEND:
        assert_int_equal(event->to, 7);
        s->answer = event->value;
        s->sent++;
        return true;
    default: return false;
    }
}

static aph_value json(const char *text)
{
    aph_value v;
    aph_json_error error;
    assert_true(aph_json_read(text, strlen(text), &v, &error));
    return v;
}

static aph_value initial(const aph_model *model)
{
    return model->initial ? model->initial(model) : aph_object();
}

/* The request must get this response, and the promises must hold. */
static void step_with(const aph_model *model, aph_value *state, const char *request, script s, const char *answer)
{
    aph_value before = *state;
    s.request = json(request);
    assert_int_equal(aphi_step_run(model, state, act, &s), APHI_ENDED);
    char *got = aph_json_text(s.answer, NULL), *expected = aph_json_text(json(answer), NULL);
    assert_string_equal(got, expected);
    free(got);
    free(expected);
    if (model->rpc)
        assert_int_equal(s.sent, 1);
    if (model->reads && model->reads(s.request, s.answer))
        assert_ptr_equal(*state, before);
}

static void respond(const aph_model *model, aph_value *state, const char *request, const char *answer)
{
    step_with(model, state, request, (script){0}, answer);
}

static void rejects(const aph_model *model, const char *request, const char *hint)
{
    aph_value state = initial(model), before = state;
    script s = {.request = json(request)};
    assert_int_equal(aphi_step_run(model, &state, act, &s), APHI_UNKNOWN_REQUEST);
    assert_ptr_equal(state, before);
    assert_non_null(strstr(aphi_step_reason(), hint));
}

static int drop_heap(void **unused)
{
    (void)unused;
    aph_heap_close();
    return 0;
}

/* ---- each model -------------------------------------------------------------------------------------------------- */

static void test_register(void **unused)
{
    (void)unused;
    const aph_model *m = &aph_model_register;
    aph_value s = initial(m);
    respond(m, &s, "{\"f\":\"read\"}", "null");
    respond(m, &s, "{\"f\":\"cas\",\"value\":[1,2]}", "false");
    respond(m, &s, "{\"f\":\"cas\",\"value\":[null,2]}", "true");
    respond(m, &s, "{\"f\":\"read\",\"value\":null}", "2");
    respond(m, &s, "{\"f\":\"write\",\"value\":3}", "\"ok\"");
    respond(m, &s, "{\"f\":\"cas\",\"value\":[3,null]}", "true");
    assert_ptr_equal(s, initial(m)); /* null is the initial value */
    respond(m, &s, "{\"f\":\"write\",\"value\":5}", "\"ok\"");
    respond(m, &s, "{\"f\":\"write\",\"value\":null}", "\"ok\"");
    assert_ptr_equal(s, initial(m));
    respond(m, &s, "{\"f\":\"write\",\"value\":5}", "\"ok\"");
    respond(m, &s, "{\"f\":\"write\"}", "\"ok\"");
    assert_ptr_equal(s, initial(m));
    rejects(m, "{\"f\":\"swap\"}", "\"read\", \"write\" or \"cas\"");
    rejects(m, "5", "unknown");
    rejects(m, "{\"f\":\"cas\",\"value\":[1]}", "[old, new]");
    rejects(m, "{\"f\":\"cas\"}", "[old, new]");
    rejects(m, "{\"f\":\"read\",\"key\":[1]}", "key");
}

static void test_registers_by_key(void **unused)
{
    (void)unused;
    const aph_model *m = &aph_model_register;
    aph_value s = initial(m);
    respond(m, &s, "{\"f\":\"write\",\"key\":1,\"value\":\"a\"}", "\"ok\"");
    respond(m, &s, "{\"f\":\"write\",\"value\":\"b\"}", "\"ok\"");
    respond(m, &s, "{\"f\":\"read\",\"key\":\"1\"}", "\"a\"");
    respond(m, &s, "{\"f\":\"read\",\"key\":\"\"}", "\"b\"");
    respond(m, &s, "{\"f\":\"read\",\"key\":2}", "null");
    /* All requests to one register are in one partition. */
    assert_ptr_equal(m->part(json("{\"f\":\"read\",\"key\":1}")), m->part(json("{\"f\":\"read\",\"key\":\"1\"}")));
    assert_ptr_equal(m->part(json("{\"f\":\"read\"}")), m->part(json("{\"f\":\"read\",\"key\":\"\"}")));
    assert_ptr_not_equal(m->part(json("{\"f\":\"read\"}")), m->part(json("{\"f\":\"read\",\"key\":2}")));
}

static void test_register_jepsen(void **unused)
{
    (void)unused;
    bool (*end)(aph_value, aph_jepsen, aph_value, aph_value *) = aph_model_register.jepsen;
    aph_value read = json("{\"f\":\"read\"}"), write = json("{\"f\":\"write\",\"value\":1}");
    aph_value cas = json("{\"f\":\"cas\",\"value\":[1,2]}"), pair = json("[1,2]"), late = aph_str("timed-out"), a;

    assert_true(end(read, APH_JEPSEN_OK, aph_int(4), &a) && a == aph_int(4));
    assert_true(end(read, APH_JEPSEN_OK, APH_NIL, &a) && a == APH_NIL);
    assert_true(end(write, APH_JEPSEN_OK, aph_int(1), &a) && aph_str_is(a, "ok"));
    assert_true(end(cas, APH_JEPSEN_OK, pair, &a) && a == aph_bool(true));
    assert_true(end(cas, APH_JEPSEN_FAIL, pair, &a) && a == aph_bool(false));
    assert_false(end(cas, APH_JEPSEN_FAIL, late, &a));
    assert_false(end(read, APH_JEPSEN_FAIL, late, &a));
    assert_false(end(write, APH_JEPSEN_FAIL, aph_int(1), &a));
}

static void test_kv(void **unused)
{
    (void)unused;
    const aph_model *m = &aph_model_kv;
    aph_value s = initial(m), a;
    respond(m, &s, "{\"f\":\"get\",\"key\":\"k\"}", "\"\"");
    respond(m, &s, "{\"f\":\"append\",\"key\":\"k\",\"value\":\"x\"}", "\"ok\"");
    respond(m, &s, "{\"f\":\"append\",\"key\":\"k\",\"value\":\"yz\"}", "\"ok\"");
    respond(m, &s, "{\"f\":\"get\",\"key\":\"k\",\"value\":null}", "\"xyz\"");
    respond(m, &s, "{\"f\":\"get\",\"key\":\"other\"}", "\"\"");
    respond(m, &s, "{\"f\":\"put\",\"key\":\"k\",\"value\":\"w\"}", "\"ok\"");
    respond(m, &s, "{\"f\":\"get\",\"key\":\"k\"}", "\"w\"");
    respond(m, &s, "{\"f\":\"delete\",\"key\":\"k\"}", "\"ok\"");
    assert_ptr_equal(s, initial(m));
    respond(m, &s, "{\"f\":\"put\",\"key\":\"k\",\"value\":\"w\"}", "\"ok\"");
    respond(m, &s, "{\"f\":\"put\",\"key\":\"k\",\"value\":\"\"}", "\"ok\"");
    assert_ptr_equal(s, initial(m));
    rejects(m, "{\"f\":\"incr\",\"key\":\"k\"}", "\"append\"");
    rejects(m, "{\"f\":\"get\"}", "\"key\"");
    rejects(m, "{\"f\":\"get\",\"key\":1}", "\"key\"");
    rejects(m, "{\"f\":\"put\",\"key\":\"k\"}", "\"value\"");

    aph_value get = json("{\"f\":\"get\",\"key\":\"k\"}"), put = json("{\"f\":\"put\",\"key\":\"k\",\"value\":\"w\"}");
    assert_true(m->jepsen(get, APH_JEPSEN_OK, aph_str("v"), &a) && aph_str_is(a, "v"));
    assert_true(m->jepsen(get, APH_JEPSEN_OK, APH_NIL, &a) && aph_str_is(a, ""));
    assert_true(m->jepsen(put, APH_JEPSEN_OK, aph_str("w"), &a) && aph_str_is(a, "ok"));
    assert_false(m->jepsen(put, APH_JEPSEN_FAIL, aph_str("w"), &a));
}

/* The left side of figure 2 in the paper. */
static void test_swap(void **unused)
{
    (void)unused;
    const aph_model *m = &aph_model_swap;
    aph_value s = initial(m);
    respond(m, &s, "\"abc\"", "\"000\"");
    respond(m, &s, "\"def\"", "\"abc\"");
    respond(m, &s, "12", "\"def\"");
    respond(m, &s, "\"ghi\"", "12");
    rejects(m, "{\"f\":\"swap\"}", "string or an integer");
    rejects(m, "null", "string or an integer");
}

static void test_queue(void **unused)
{
    (void)unused;
    const aph_model *m = &aph_model_queue;
    aph_value s = initial(m);
    respond(m, &s, "{\"f\":\"dequeue\"}", "null");
    respond(m, &s, "{\"f\":\"enqueue\",\"value\":1}", "\"ok\"");
    respond(m, &s, "{\"f\":\"enqueue\",\"value\":\"two\"}", "\"ok\"");
    respond(m, &s, "{\"f\":\"dequeue\"}", "1");
    respond(m, &s, "{\"f\":\"dequeue\"}", "\"two\"");
    assert_ptr_equal(s, initial(m));
    respond(m, &s, "{\"f\":\"dequeue\"}", "null");
    rejects(m, "{\"f\":\"enqueue\"}", "other than null");
    rejects(m, "{\"f\":\"enqueue\",\"value\":null}", "other than null");
    rejects(m, "{\"f\":\"peek\"}", "\"dequeue\"");
}

#define TAG(opaque, weak) "{\"opaque\":\"" opaque "\",\"weak\":" weak "}"
#define GET_IF(tag) "{\"f\":\"get\",\"key\":\"k\",\"if_none_match\":" tag "}"
#define PUT_IF(value, tag) "{\"f\":\"put\",\"key\":\"k\",\"value\":" value ",\"if_match\":" tag "}"

static const char put_1[] = "{\"f\":\"put\",\"key\":\"k\",\"value\":1}", get_k[] = "{\"f\":\"get\",\"key\":\"k\"}";

static void test_etag_strong(void **unused)
{
    (void)unused;
    const aph_model *m = &aph_model_etag_kv;
    aph_value s = initial(m);
    script strong = {.pick = "strong tag", .chosen = aph_str("a")}, none = {.pick = "no tag"};

    respond(m, &s, get_k, "{\"code\":404}");
    respond(m, &s, GET_IF(TAG("a", "false")), "{\"code\":404}");
    respond(m, &s, PUT_IF("1", TAG("a", "false")), "{\"code\":412}");
    assert_ptr_equal(s, initial(m));
    step_with(m, &s, put_1, strong, "{\"code\":201}");
    respond(m, &s, get_k, "{\"code\":200,\"value\":1,\"tag\":" TAG("a", "false") "}");
    respond(m, &s, GET_IF(TAG("a", "false")), "{\"code\":304,\"tag\":" TAG("a", "false") "}");
    respond(m, &s, GET_IF(TAG("a", "true")), "{\"code\":304,\"tag\":" TAG("a", "false") "}");
    respond(m, &s, GET_IF(TAG("b", "false")), "{\"code\":200,\"value\":1,\"tag\":" TAG("a", "false") "}");
    respond(m, &s, PUT_IF("2", TAG("b", "false")), "{\"code\":412}");
    respond(m, &s, PUT_IF("2", TAG("a", "true")), "{\"code\":412}");
    step_with(m, &s, PUT_IF("2", TAG("a", "false")), none, "{\"code\":204}");
    respond(m, &s, get_k, "{\"code\":200,\"value\":2}");
    respond(m, &s, PUT_IF("3", TAG("a", "false")), "{\"code\":412}"); /* there is no tag to match */
}

static void test_etag_weak(void **unused)
{
    (void)unused;
    const aph_model *m = &aph_model_etag_kv;
    aph_value s = initial(m);
    step_with(m, &s, put_1, (script){.pick = "weak tag", .chosen = aph_str("a")}, "{\"code\":201}");
    respond(m, &s, GET_IF(TAG("a", "true")), "{\"code\":304,\"tag\":" TAG("a", "true") "}");
    respond(m, &s, GET_IF(TAG("a", "false")), "{\"code\":304,\"tag\":" TAG("a", "true") "}");
    respond(m, &s, PUT_IF("2", TAG("a", "true")), "{\"code\":412}"); /* a weak tag matches nothing, not even itself */
    respond(m, &s, PUT_IF("2", TAG("a", "false")), "{\"code\":412}");
}

/* A condition on an unobserved tag stays symbolic and keeps its clause. */
static void test_etag_symbolic(void **unused)
{
    (void)unused;
    const aph_model *m = &aph_model_etag_kv;
    aph_value s = initial(m);
    step_with(m, &s, put_1, (script){.pick = "strong tag", .chosen = aph_symbol(APH_STR, 0)}, "{\"code\":201}");
    script asked = {.request = json(PUT_IF("2", TAG("a", "false")))};
    assert_int_equal(aphi_step_run(m, &s, act, &asked), APHI_LEFT);
    assert_string_equal(asked.clause, "RFC 9110 13.1.1");
    asked.request = json(GET_IF(TAG("a", "false")));
    assert_int_equal(aphi_step_run(m, &s, act, &asked), APHI_LEFT);
    assert_string_equal(asked.clause, "RFC 9110 13.1.2");
}

static void test_etag_refuses(void **unused)
{
    (void)unused;
    const aph_model *m = &aph_model_etag_kv;
    rejects(m, "{\"f\":\"head\",\"key\":\"k\"}", "\"get\" or \"put\"");
    rejects(m, "{\"f\":\"get\"}", "\"key\"");
    rejects(m, "{\"f\":\"put\",\"key\":\"k\"}", "\"value\"");
    rejects(m, GET_IF("\"a\""), "a tag must be");
    rejects(m, PUT_IF("1", "{\"opaque\":\"a\"}"), "a tag must be");
}

/* ---- the list ---------------------------------------------------------------------------------------------------- */

static void test_registry(void **unused)
{
    (void)unused;
    size_t n;
    const aph_model *const *models = aph_models(&n);
    assert_int_equal(n, 9);
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(models[i]->version, APH_MODEL_VERSION);
        assert_non_null(models[i]->summary);
        assert_ptr_equal(aph_model_named(models[i]->name), models[i]);
    }
    assert_null(aph_model_named("no such"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_register),      cmocka_unit_test(test_registers_by_key),
        cmocka_unit_test(test_register_jepsen), cmocka_unit_test(test_kv),
        cmocka_unit_test(test_swap),          cmocka_unit_test(test_queue),
        cmocka_unit_test(test_etag_strong),   cmocka_unit_test(test_etag_weak),
        cmocka_unit_test(test_etag_symbolic), cmocka_unit_test(test_etag_refuses),
        cmocka_unit_test(test_registry),
    };
    return cmocka_run_group_tests(tests, NULL, drop_heap);
}
