/* SPDX-License-Identifier: Apache-2.0
 *
 * test_oracle_sync.c - the oracle agrees with the set of all states of random models whose choices no response shows,
 * in the environment sync, and in tcp where at most one request is pending. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include <antiphon/oracle.h>

#include "base/random_choice.h"

enum { STATES = 4, KINDS = 3, WAYS = 2, ANSWERS = 2, CONNECTIONS = 3, LENGTH = 40, CASES = 1500 };

/* ---- the model --------------------------------------------------------------------------------------------------- */

typedef struct way {
    int next, answer;
} way;

static way table[STATES][KINDS][WAYS];

static void step(aph *m, aph_value *state)
{
    aph_request q = aph_recv(m);
    const way *ways = table[aph_int_of(aph_field(*state, "s"))][aph_int_of(q.message)];
    const way *w = &ways[aph_either(m, "one", "other")];
    *state = aph_record("s", aph_int(w->next));
    aph_send(m, q.from, aph_int(w->answer));
}

static aph_value initial(const aph_model *m)
{
    (void)m;
    return aph_record("s", aph_int(0));
}

static const aph_model model = {.version = APH_MODEL_VERSION, .name = "hidden", .step = step, .initial = initial,
                                .rpc = true};

static void draw_table(aphi_choice *c)
{
    for (int s = 0; s < STATES; s++)
        for (int k = 0; k < KINDS; k++) {
            int answer = (int)aphi_choice_below(c, ANSWERS); /* usually the same for all ways */
            for (int w = 0; w < WAYS; w++)
                table[s][k][w] = (way){(int)aphi_choice_below(c, STATES),
                                       aphi_choice_chance(c, 1, 4) ? (int)aphi_choice_below(c, ANSWERS) : answer};
        }
}

/* ---- all explanations: the states, with the responses that are due ----------------------------------------------- */

enum { DUE = ANSWERS + 1, SETS = STATES * DUE * DUE * DUE }; /* due: 0 for none, or the response plus 1 */
static const int places[CONNECTIONS] = {STATES, STATES * DUE, STATES * DUE * DUE};

static int due_of(int element, int connection) { return element / places[connection] % DUE; }

static void take_request(bool *all, int connection, int kind)
{
    bool after[SETS] = {false};
    for (int i = 0; i < SETS; i++)
        for (int w = 0; all[i] && w < WAYS; w++) {
            const way *taken = &table[i % STATES][kind][w];
            after[i - i % STATES + taken->next + places[connection] * (taken->answer + 1)] = true;
        }
    memcpy(all, after, sizeof after);
}

/* Returns false if no explanation is left. */
static bool see_response(bool *all, int connection, int answer)
{
    bool after[SETS] = {false}, any = false;
    for (int i = 0; i < SETS; i++)
        if (all[i] && due_of(i, connection) == answer + 1)
            any = after[i - places[connection] * (answer + 1)] = true;
    memcpy(all, after, sizeof after);
    return any;
}

/* ---- comparison -------------------------------------------------------------------------------------------------- */

typedef struct event {
    int connection, value;
    bool response;
} event;

/* Draws a history with up to `width` pending requests. Some responses are wrong. Returns the number of events that the
 * model explains. */
static int draw_history(aphi_choice *c, event *events, int width)
{
    bool all[SETS] = {true}, explained = true;
    bool pending[CONNECTIONS] = {false};
    int n = 0, explained_count = 0;
    for (; n < LENGTH; n++) {
        event e = {.connection = (int)aphi_choice_below(c, (uint64_t)width)};
        e.response = pending[e.connection];
        pending[e.connection] = !e.response;
        e.value = (int)aphi_choice_below(c, e.response ? ANSWERS : KINDS);
        bool copy[SETS];
        memcpy(copy, all, sizeof copy);
        if (e.response && !see_response(copy, e.connection, e.value) && !aphi_choice_chance(c, 1, 24))
            e.value = ANSWERS - 1 - e.value; /* so that most histories are long */
        events[n] = e;
        if (e.response)
            explained &= see_response(all, e.connection, e.value);
        else
            take_request(all, e.connection, e.value);
        explained_count += explained;
    }
    return explained_count;
}

static int feed_history(const event *events, const aph_oracle_options *options, bool foreseen)
{
    char error[200];
    aph_oracle *o = aph_oracle_open(&model, options, error, sizeof error);
    assert_non_null(o);
    int n = 0;
    for (aph_verdict verdict = APH_PASS; n < LENGTH; n++) {
        const event *e = &events[n];
        aph_lookahead known = {.future = APH_FUTURE_OPEN};
        for (int i = n + 1; foreseen && !e->response && i < LENGTH && known.future == APH_FUTURE_OPEN; i++)
            if (events[i].connection == e->connection)
                known = (aph_lookahead){.future = APH_FUTURE_ANSWER, .answer = aph_int(events[i].value),
                                        .order = (uint64_t)i};
        verdict = e->response ? aph_oracle_received(o, e->connection, aph_int(e->value))
                              : aph_oracle_sent(o, e->connection, aph_int(e->value), &known, NULL);
        if (verdict != APH_PASS) {
            assert_int_equal(verdict, APH_FAIL);
            break;
        }
    }
    aph_oracle_close(o);
    return n;
}

/* With lookahead, a failure may be found before its response. */
static void compare_all(const event *events, const char *environment, int explained)
{
    for (int mode = 0; mode < 8; mode++) {
        int n = feed_history(events, &(aph_oracle_options){.environment = environment, .ignore_promises = mode & 1,
                                                           .patient = mode & 2}, mode & 4);
        if (n == explained || ((mode & 4) && explained < LENGTH && n < explained))
            continue;
        for (int i = 0; i < LENGTH; i++)
            print_error("%d%c%d ", events[i].connection, events[i].response ? '<' : '>', events[i].value);
        fail_msg("%s, mode %d: %d events explained, not %d", environment, mode, n, explained);
    }
}

static void test_random_histories(void **unused)
{
    (void)unused;
    aphi_choice c = aphi_choice_seed(17);
    int failing = 0;
    event events[LENGTH];
    for (int i = 0; i < CASES; i++) {
        draw_table(&c);
        int width = 1 + (int)aphi_choice_below(&c, CONNECTIONS), explained = draw_history(&c, events, width);
        failing += explained < LENGTH;
        compare_all(events, "sync", explained);
        if (width == 1) {
            compare_all(events, "tcp", explained);
            compare_all(events, "tcp:1", explained);
        }
        if (i % 64 == 0)
            aph_collect();
    }
    assert_true(failing > CASES / 10 && failing < CASES * 9 / 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_random_histories)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
