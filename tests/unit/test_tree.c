/* SPDX-License-Identifier: Apache-2.0
 *
 * test_tree.c - trees satisfy the laws of monads and of interpretation, up to observation.
 *
 * Two trees are the same if they wait for the same event and, down to a fixed depth, are the same after each tried
 * answer. The continuation of a random tree depends on all answers so far, so that a lost answer is detected. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/random_choice.h"
#include "models/models.h"
#include "tree/step.h"

/* ---- contexts, freed at the end of a test ------------------------------------------------------------------------ */

static void **pool;
static size_t pool_count, pool_capacity;

static void *pooled(const void *bytes, size_t n)
{
    void *p = malloc(n);
    memcpy(p, bytes, n);
    if (pool_count == pool_capacity) {
        pool_capacity = pool_capacity ? pool_capacity * 2 : 64;
        pool = realloc(pool, pool_capacity * sizeof *pool);
    }
    return pool[pool_count++] = p;
}
#define POOLED(type, ...) pooled(&(type){__VA_ARGS__}, sizeof(type))

static int fresh(void **unused)
{
    (void)unused;
    while (pool_count)
        free(pool[--pool_count]);
    free(pool);
    pool = NULL;
    pool_capacity = 0;
    aph_collect();
    size_t left = aph_heap_bytes(); /* a leaked tree would keep its values */
    aph_heap_close();
    return left != 0;
}

/* ---- sameness ---------------------------------------------------------------------------------------------------- */

static size_t observations;

/* Stores the i-th answer to try. Returns false if there is none. */
static bool try_answer(void *context, const aph_event *e, size_t i, aph_value *answer)
{
    (void)context;
    observations += i == 0;
    aph_value recv[] = {APH_ARRAY_OF(aph_int(1), aph_int(5)), APH_ARRAY_OF(aph_int(2), aph_int(-3))};
    aph_value strings[] = {aph_str(""), aph_str("a long string")};
    switch (e->kind) {
    case APH_EVENT_RECV: *answer = recv[i % 2]; return i < 2;
    case APH_EVENT_SEND: *answer = APH_NIL; return i < 1;
    case APH_EVENT_CHOOSE: *answer = e->sort == APH_STR ? strings[i % 2] : aph_int((int64_t)i * 7); return i < 2;
    case APH_EVENT_DECIDE: *answer = aph_bool(i == 0); return i < 2;
    case APH_EVENT_EITHER: *answer = aph_int((int64_t)i); return i < e->count;
    case APH_EVENT_OTHER: *answer = i ? aph_int(4) : APH_NIL; return i < 2;
    default: return false;
    }
}

static bool same(aph_tree *t, aph_tree *u, size_t depth)
{
    return aph_tree_equal_to(t, u, depth, try_answer, NULL);
}

/* Takes ownership of both trees. */
static void assert_same(aph_tree *t, aph_tree *u, size_t depth)
{
    assert_true(same(t, u, depth));
    aph_tree_drop(t);
    aph_tree_drop(u);
}

/* Takes ownership of t. */
static aph_tree *bind(aph_tree *t, aph_continue *next, void *context)
{
    aph_tree *bound = aph_tree_bind(t, next, context);
    aph_tree_drop(t);
    return bound;
}

static aph_tree *interpret(aph_tree *t, aph_handler *handler, void *context)
{
    aph_tree *seen = aph_tree_interpret(t, handler, context);
    aph_tree_drop(t);
    return seen;
}

/* ---- random trees ------------------------------------------------------------------------------------------------ */

typedef struct seed {
    uint64_t number;
    int depth;
} seed;

static aph_tree *random_tree(uint64_t number, int depth);

static aph_tree *random_after(void *context, aph_value answer)
{
    const seed *s = context;
    return random_tree(s->number * 31 + aph_hash(answer), s->depth);
}

static aph_event random_event(aphi_choice *c)
{
    static const char *const names[] = {"left", "middle", "right"};
    switch (aphi_choice_below(c, 6)) {
    case 0: return (aph_event){.kind = APH_EVENT_RECV};
    case 1: return (aph_event){.kind = APH_EVENT_SEND, .to = aphi_choice_within(c, 1, 3),
                                .value = aph_int(aphi_choice_within(c, 0, 9))};
    case 2: return (aph_event){.kind = APH_EVENT_CHOOSE, .sort = APH_STR, .name = "s"};
    case 3: return (aph_event){.kind = APH_EVENT_CHOOSE, .sort = APH_INT, .bounded = true, .low = 0, .high = 9};
    case 4: return (aph_event){.kind = APH_EVENT_EITHER, .count = 3, .names = names, .clause = "4.2"};
    default: return (aph_event){.kind = APH_EVENT_OTHER, .name = "p", .value = aph_int(aphi_choice_within(c, 0, 9))};
    }
}

static aph_tree *random_tree(uint64_t number, int depth)
{
    aphi_choice c = aphi_choice_seed(number);
    if (depth == 0 || aphi_choice_chance(&c, 1, 6))
        return aph_tree_return(aph_int((int64_t)(number % 1000)));
    aph_event e = random_event(&c);
    return bind(aph_tree_trigger(&e), random_after, POOLED(seed, aphi_choice_bits(&c), depth - 1));
}

/* ---- a model with an event of each kind -------------------------------------------------------------------------- */

static void every_event(aph *m, aph_value *state)
{
    aph_request q = aph_recv(m);
    aph_clause(m, "section 1");
    aph_value x = aph_choose_within(m, 3, 8, "x");
    bool small = aph_decide(m, aph_lt(x, aph_int(5)), "small");
    if (aph_either(m, "go on", "stop") == 1)
        aph_never(m);
    aph_send(m, q.from + (small ? 10 : 20), aph_choose(m, APH_STR, "s"));
    *state = aph_push(*state, aph_bool(small));
}

static aph_value nothing(const aph_model *model)
{
    (void)model;
    return aph_array(0, NULL);
}

static const aph_model eventful = {.version = APH_MODEL_VERSION, .name = "eventful", .step = every_event,
                                   .initial = nothing};

/* ---- the laws ---------------------------------------------------------------------------------------------------- */

static aph_tree *just_return(void *context, aph_value result)
{
    (void)context;
    return aph_tree_return(result);
}

static aph_tree *trigger_it(void *context, const aph_event *event)
{
    (void)context;
    return aph_tree_trigger(event);
}

static aph_tree *wrong_result(void *context, aph_value result)
{
    (void)context;
    return aph_tree_return(APH_ARRAY_OF(result));
}

static void test_sameness_can_fail(void **unused)
{
    (void)unused;
    unsigned told_apart = 0;
    for (uint64_t i = 0; i < 50; i++) {
        aph_tree *t = random_tree(i, 3), *u = bind(random_tree(i, 3), wrong_result, NULL);
        assert_false(same(t, u, 9));
        assert_true(same(t, t, 9));
        aph_tree *v = random_tree(i + 1, 3);
        told_apart += !same(t, v, 9);
        aph_tree_drop(t);
        aph_tree_drop(u);
        aph_tree_drop(v);
    }
    assert_true(told_apart > 40);
}

static void test_return_is_neutral(void **unused)
{
    (void)unused;
    for (uint64_t i = 0; i < 100; i++) {
        seed *s = POOLED(seed, i, 4);
        assert_same(bind(aph_tree_return(aph_int(7)), random_after, s), random_after(s, aph_int(7)), 9);
        assert_same(bind(random_tree(i, 4), just_return, NULL), random_tree(i, 4), 9);
    }
    assert_true(observations > 3000); /* the trees are not trivial */
}

typedef struct two {
    seed *f, *g;
} two;

static aph_tree *f_then_g(void *context, aph_value answer)
{
    two *both = context;
    return bind(random_after(both->f, answer), random_after, both->g);
}

static void test_bind_is_associative(void **unused)
{
    (void)unused;
    for (uint64_t i = 0; i < 100; i++) {
        seed *f = POOLED(seed, i + 1000, 2), *g = POOLED(seed, i + 2000, 2);
        aph_tree *one = bind(bind(random_tree(i, 2), random_after, f), random_after, g);
        assert_same(one, bind(random_tree(i, 2), f_then_g, POOLED(two, f, g)), 9);
    }
}

static void test_interpreting_by_trigger_changes_nothing(void **unused)
{
    (void)unused;
    for (uint64_t i = 0; i < 100; i++)
        assert_same(interpret(random_tree(i, 4), trigger_it, NULL), random_tree(i, 4), 9);
    assert_same(interpret(aph_tree_of(&eventful), trigger_it, NULL), aph_tree_of(&eventful), 9);
}

/* Each event is announced, some are answered at once, the others are performed. */
static aph_tree *then_trigger(void *context, aph_value unused)
{
    (void)unused;
    return aph_tree_trigger(context);
}

static aph_tree *announce(void *context, const aph_event *event)
{
    (void)context;
    if (event->kind == APH_EVENT_CHOOSE && event->sort == APH_INT)
        return aph_tree_return(aph_int(event->low));
    aph_event before = {.kind = APH_EVENT_OTHER, .name = "announce", .value = aph_int((int64_t)event->kind)};
    return bind(aph_tree_trigger(&before), then_trigger, pooled(event, sizeof *event));
}

static aph_tree *announced_after(void *context, aph_value answer)
{
    return interpret(random_after(context, answer), announce, NULL);
}

static void test_interpreting_a_bind(void **unused)
{
    (void)unused;
    for (uint64_t i = 0; i < 100; i++) {
        seed *f = POOLED(seed, i + 3000, 2);
        aph_tree *one = interpret(bind(random_tree(i, 2), random_after, f), announce, NULL);
        assert_same(one, bind(interpret(random_tree(i, 2), announce, NULL), announced_after, f), 9);
    }
}

static void test_interpreting_a_return(void **unused)
{
    (void)unused;
    assert_same(interpret(aph_tree_return(aph_int(3)), announce, NULL), aph_tree_return(aph_int(3)), 3);
}

/* ---- handlers with a state --------------------------------------------------------------------------------------- */

static aph_tree *interpret_state(aph_tree *t, aph_state_handler *handler, aph_value state, void *context)
{
    aph_tree *seen = aph_tree_interpret_state(t, handler, state, context);
    aph_tree_drop(t);
    return seen;
}

static aph_tree *with_state(void *context, aph_value answer)
{
    return aph_tree_return(APH_ARRAY_OF(*(aph_value *)context, answer));
}

/* Performs the event, and keeps the state. */
static aph_tree *keep_state(void *context, const aph_event *event, aph_value state)
{
    (void)context;
    return bind(aph_tree_trigger(event), with_state, POOLED(aph_value, state));
}

/* Answers choices of integers from a counter, and performs other events. */
static aph_tree *count_choices(void *context, const aph_event *event, aph_value state)
{
    if (event->kind != APH_EVENT_CHOOSE || event->sort != APH_INT)
        return keep_state(context, event, state);
    return aph_tree_return(APH_ARRAY_OF(aph_add(state, aph_int(1)), state));
}

static aph_tree *counted_after(void *context, aph_value pair)
{
    return interpret_state(random_after(context, aph_at(pair, 1)), count_choices, aph_at(pair, 0), NULL);
}

static void test_a_handler_that_keeps_its_state(void **unused)
{
    (void)unused;
    for (uint64_t i = 0; i < 100; i++) {
        aph_value *state = POOLED(aph_value, aph_int(5));
        assert_same(interpret_state(random_tree(i, 4), keep_state, *state, NULL),
                    bind(random_tree(i, 4), with_state, state), 9);
    }
}

static void test_the_state_passes_through_a_bind(void **unused)
{
    (void)unused;
    for (uint64_t i = 0; i < 100; i++) {
        seed *f = POOLED(seed, i + 4000, 2);
        aph_tree *one = interpret_state(bind(random_tree(i, 2), random_after, f), count_choices, aph_int(0), NULL);
        aph_tree *first = interpret_state(random_tree(i, 2), count_choices, aph_int(0), NULL);
        assert_same(one, bind(first, counted_after, f), 9);
    }
}

static void test_the_state_is_returned(void **unused)
{
    (void)unused;
    aph_tree *t = interpret_state(aph_tree_return(aph_int(3)), count_choices, aph_int(8), NULL);
    assert_ptr_equal(aph_tree_event(t).value, APH_ARRAY_OF(aph_int(8), aph_int(3)));
    aph_tree_drop(t);
}

/* ---- repetition -------------------------------------------------------------------------------------------------- */

static aph_tree *again(void *context, aph_value unused)
{
    (void)unused;
    return aph_tree_forever(context);
}

static void test_forever_repeats_a_tree(void **unused)
{
    (void)unused;
    unsigned repeated = 0;
    for (uint64_t i = 0; i < 100; i++) {
        aph_tree *t = random_tree(i, 2);
        if (aph_tree_event(t).kind != APH_EVENT_RETURN) {
            assert_same(aph_tree_forever(t), bind(aph_tree_keep(t), again, t), 7);
            aph_tree *twice = aph_tree_forever(t);
            assert_false(same(twice, t, 7)); /* t ends */
            aph_tree_drop(twice);
            repeated++;
        }
        aph_tree_drop(t);
    }
    assert_true(repeated > 50);
}

static void test_equality_without_answers(void **unused)
{
    (void)unused;
    aph_tree *t = aph_tree_of(&eventful), *u = aph_tree_of(&eventful);
    assert_true(aph_tree_equal_to(t, u, 99, NULL, NULL));
    static const char *const names[] = {"left", "right"};
    aph_event e = {.kind = APH_EVENT_EITHER, .count = 2, .names = names};
    aph_tree *left = aph_tree_trigger(&e), *right = bind(aph_tree_trigger(&e), wrong_result, NULL);
    assert_true(aph_tree_equal_to(left, right, 0, NULL, NULL));
    assert_false(aph_tree_equal_to(left, right, 1, NULL, NULL));
    aph_tree_drop(t);
    aph_tree_drop(u);
    aph_tree_drop(left);
    aph_tree_drop(right);
}

/* ---- acc and tee: Li, "Testing by dualization", section 4.1 ------------------------------------------------------ */

static void acc_step(aph *m, aph_value *sum)
{
    aph_request x = aph_recv(m);
    *sum = aph_add(*sum, x.message);
    aph_send(m, x.from, *sum);
}

static aph_value zero(const aph_model *model)
{
    (void)model;
    return aph_int(0);
}

static const aph_model acc = {.version = APH_MODEL_VERSION, .name = "acc", .step = acc_step, .initial = zero};

static aph_tree *print(const char *what, aph_value number)
{
    aph_event e = {.kind = APH_EVENT_OTHER, .name = "print",
                   .value = aph_strf("%s%lld", what, (long long)aph_int_of(number))};
    return aph_tree_trigger(&e);
}

static aph_tree *trigger(aph_event e)
{
    return aph_tree_trigger(&e);
}

static aph_tree *return_packet(void *context, aph_value unused)
{
    (void)unused;
    return aph_tree_return(*(aph_value *)context);
}

static aph_tree *print_in(void *context, aph_value packet)
{
    (void)context;
    return bind(print("IN", aph_at(packet, 1)), return_packet, POOLED(aph_value, packet));
}

static aph_tree *tee(void *context, const aph_event *event)
{
    (void)context;
    if (event->kind == APH_EVENT_RECV)
        return bind(aph_tree_trigger(event), print_in, NULL);
    assert_int_equal(event->kind, APH_EVENT_SEND);
    return bind(print("OUT", event->value), then_trigger, pooled(event, sizeof *event));
}

typedef struct acc_frame {
    int64_t sum, from, a;
} acc_frame;

static aph_tree *tee_acc(int64_t sum);

static aph_tree *after_send(void *context, aph_value unused)
{
    (void)unused;
    acc_frame *f = context;
    return tee_acc(f->a + f->sum);
}

static aph_tree *after_out(void *context, aph_value unused)
{
    (void)unused;
    acc_frame *f = context;
    aph_event send = {.kind = APH_EVENT_SEND, .to = f->from, .value = aph_int(f->a + f->sum)};
    return bind(trigger(send), after_send, f);
}

static aph_tree *after_in(void *context, aph_value unused)
{
    (void)unused;
    acc_frame *f = context;
    return bind(print("OUT", aph_int(f->a + f->sum)), after_out, f);
}

static aph_tree *after_recv(void *context, aph_value packet)
{
    acc_frame *f = context;
    acc_frame *g = POOLED(acc_frame, f->sum, aph_int_of(aph_at(packet, 0)), aph_int_of(aph_at(packet, 1)));
    return bind(print("IN", aph_at(packet, 1)), after_in, g);
}

static aph_tree *tee_acc(int64_t sum)
{
    return bind(trigger((aph_event){.kind = APH_EVENT_RECV}), after_recv, POOLED(acc_frame, sum, 0, 0));
}

static void test_tee_of_acc_is_tee_acc(void **unused)
{
    (void)unused;
    size_t before = observations;
    assert_same(interpret(aph_tree_of(&acc), tee, NULL), tee_acc(0), 14);
    assert_true(observations - before > 500);
    aph_tree *right = interpret(aph_tree_of(&acc), tee, NULL), *wrong = tee_acc(1);
    assert_true(same(right, wrong, 1)); /* both print the input ... */
    assert_false(same(right, wrong, 2)); /* ... but not the output */
    aph_tree_drop(right);
    aph_tree_drop(wrong);
}

/* ---- models as trees --------------------------------------------------------------------------------------------- */

static aph_value ask(int64_t from, aph_value message)
{
    return APH_ARRAY_OF(aph_int(from), message);
}

/* Takes ownership of t. */
static aph_tree *answered(aph_tree *t, aph_value answer)
{
    aph_tree *after = aph_tree_answer(t, answer);
    aph_tree_drop(t);
    return after;
}

static void test_a_tree_can_be_answered_twice(void **unused)
{
    (void)unused;
    aph_tree *t = aph_tree_of(&acc);
    aph_tree *five = aph_tree_answer(t, ask(1, aph_int(5))), *nine = aph_tree_answer(t, ask(2, aph_int(9)));
    assert_ptr_equal(aph_tree_event(five).value, aph_int(5));
    assert_ptr_equal(aph_tree_event(nine).value, aph_int(9));
    assert_int_equal(aph_tree_event(nine).to, 2);
    five = answered(answered(five, APH_NIL), ask(1, aph_int(1)));
    assert_ptr_equal(aph_tree_event(five).value, aph_int(6));
    assert_int_equal(aph_tree_event(t).kind, APH_EVENT_RECV); /* t is unchanged */
    assert_ptr_equal(aph_tree_state(t), aph_int(0));
    assert_ptr_equal(aph_tree_state(five), aph_int(5)); /* at the start of the step */
    aph_tree_drop(t);
    aph_tree_drop(five);
    aph_tree_drop(nine);
}

static void test_trees_are_roots(void **unused)
{
    (void)unused;
    aph_value long_text = aph_str("a value that no one else holds on to");
    aph_tree *t = answered(aph_tree_of(&aph_model_register),
                           ask(1, aph_record("f", aph_str("write"), "value", long_text)));
    t = answered(t, APH_NIL);
    aph_collect();
    t = answered(t, ask(1, aph_record("f", aph_str("read"))));
    assert_ptr_equal(aph_tree_event(t).value, aph_str("a value that no one else holds on to"));
    aph_tree_drop(t);
}

static void test_events_of_a_model(void **unused)
{
    (void)unused;
    aph_tree *t = answered(aph_tree_of(&eventful), ask(4, APH_NIL));
    aph_event e = aph_tree_event(t);
    assert_int_equal(e.kind, APH_EVENT_CHOOSE);
    assert_true(e.bounded && e.low == 3 && e.high == 8 && e.sort == APH_INT);
    assert_string_equal(e.name, "x");
    assert_string_equal(e.clause, "section 1");
    t = answered(t, aph_int(7));
    e = aph_tree_event(t);
    assert_int_equal(e.kind, APH_EVENT_DECIDE);
    assert_ptr_equal(e.value, aph_bool(false)); /* 7 < 5 */
    assert_null(e.clause);                      /* the clause belongs to the choice */
    t = answered(t, aph_bool(false));
    e = aph_tree_event(t);
    assert_int_equal(e.kind, APH_EVENT_EITHER);
    assert_int_equal(e.count, 2);
    assert_string_equal(e.names[1], "stop");
    aph_tree *never = aph_tree_answer(t, aph_int(1));
    assert_int_equal(aph_tree_event(never).kind, APH_EVENT_NEVER);
    aph_tree_drop(never);
    t = answered(t, aph_int(0));
    assert_int_equal(aph_tree_event(t).kind, APH_EVENT_CHOOSE);
    t = answered(t, aph_str("said"));
    assert_int_equal(aph_tree_event(t).kind, APH_EVENT_SEND);
    assert_int_equal(aph_tree_event(t).to, 24);
    assert_ptr_equal(aph_tree_event(t).value, aph_str("said"));
    assert_ptr_equal(aph_tree_state(t), aph_array(0, NULL));
    t = answered(t, APH_NIL);
    assert_int_equal(aph_tree_event(t).kind, APH_EVENT_RECV);
    assert_ptr_equal(aph_tree_state(t), APH_ARRAY_OF(aph_bool(false)));
    aph_tree_drop(t);
}

/* ---- impurity ---------------------------------------------------------------------------------------------------- */

static void fickle_step(aph *m, aph_value *state)
{
    static int runs;
    (void)state;
    if (runs++ == 0)
        aph_recv(m);
}

static void test_an_impure_model_is_rejected(void **unused)
{
    (void)unused;
    static const aph_model fickle = {.version = APH_MODEL_VERSION, .name = "fickle", .step = fickle_step};
    pid_t child = fork();
    if (child == 0) {
        if (!freopen("/dev/null", "w", stderr))
            _exit(3);
        signal(SIGABRT, SIG_DFL);
        aph_tree_answer(aph_tree_of(&fickle), APH_ARRAY_OF(aph_int(1), APH_NIL));
        _exit(0);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_sameness_can_fail, fresh, fresh),
        cmocka_unit_test_setup_teardown(test_return_is_neutral, fresh, fresh),
        cmocka_unit_test_setup_teardown(test_bind_is_associative, fresh, fresh),
        cmocka_unit_test_setup_teardown(test_interpreting_by_trigger_changes_nothing, fresh, fresh),
        cmocka_unit_test_setup_teardown(test_interpreting_a_bind, fresh, fresh),
        cmocka_unit_test_setup_teardown(test_interpreting_a_return, fresh, fresh),
        cmocka_unit_test_setup_teardown(test_equality_without_answers, fresh, fresh),
        cmocka_unit_test_setup_teardown(test_forever_repeats_a_tree, fresh, fresh),
        cmocka_unit_test_setup_teardown(test_the_state_is_returned, fresh, fresh),
        cmocka_unit_test_setup_teardown(test_the_state_passes_through_a_bind, fresh, fresh),
        cmocka_unit_test_setup_teardown(test_a_handler_that_keeps_its_state, fresh, fresh),
        cmocka_unit_test_setup_teardown(test_tee_of_acc_is_tee_acc, fresh, fresh),
        cmocka_unit_test_setup_teardown(test_a_tree_can_be_answered_twice, fresh, fresh),
        cmocka_unit_test_setup_teardown(test_trees_are_roots, fresh, fresh),
        cmocka_unit_test_setup_teardown(test_events_of_a_model, fresh, fresh),
        cmocka_unit_test_setup_teardown(test_an_impure_model_is_rejected, fresh, fresh),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
