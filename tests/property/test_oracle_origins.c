/* SPDX-License-Identifier: Apache-2.0
 *
 * test_oracle_origins.c - on random small histories of a server that calls two origins, the oracle's verdict equals
 * that of a decider that tries every assignment of the observed connections to the clients' requests. */
#include "oracle/search.h"

#include "base/random_choice.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

enum { ROUNDS = 20000, REQUESTS_MAX = 3, EVENTS_MAX = 4 * REQUESTS_MAX, TEXTS = 2, ORIGINS = 2 };

/* {"text": T, "at": ORIGIN} sends T to the origin, and returns its response. Connections are numbered by client. */
static void step(aph *m, aph_value *state)
{
    (void)state;
    aph_request q = aph_recv(m);
    if (q.from < 0)
        aph_send(m, -1 - aph_without_origin(q.from), q.message);
    else
        aph_send(m, aph_to_origin(-1 - q.from, aph_int_of(aph_field(q.message, "at"))), aph_field(q.message, "text"));
}

static const aph_model plain = {.version = APH_MODEL_VERSION, .name = "router", .step = step};
static const aph_model eager = {
    .version = APH_MODEL_VERSION, .name = "router", .step = step, .eager = true, .calls_apart = true};

/* The only request of a client, a call that the server made, the response to it, or one to a client. */
typedef enum event_kind { ASKED, CALLED, RETURNED, ANSWERED } event_kind;
typedef struct event {
    event_kind kind;
    int64_t who;  /* the client; of a call, its number */
    int64_t text; /* of a request or a call; of a response, the number of the call that it was sent to */
    int64_t at;   /* the origin */
} event;

typedef struct history {
    event events[EVENTS_MAX];
    size_t count;
    int64_t calls;
} history;

/* ---- the slow decider -------------------------------------------------------------------------------------------- */

/* Returns true if call `call` at event i may be that of the client, whose request came before. */
static bool is_call_of(const history *h, size_t i, int64_t client)
{
    for (size_t k = 0; k < i; k++)
        if (h->events[k].kind == ASKED && h->events[k].who == client)
            return h->events[k].text == h->events[i].text && h->events[k].at == h->events[i].at;
    return false;
}

/* callers: the client of each call so far. */
static bool is_explained(const history *h, size_t i, int64_t *callers, int64_t called, unsigned used)
{
    if (i == h->count)
        return true;
    const event *e = &h->events[i];
    if (e->kind == ANSWERED && callers[e->text] != e->who)
        return false;
    if (e->kind != CALLED)
        return is_explained(h, i + 1, callers, called, used);
    for (int64_t client = 0; client < REQUESTS_MAX; client++) {
        callers[called] = client;
        if (!(used >> client & 1) && is_call_of(h, i, client) &&
            is_explained(h, i + 1, callers, called + 1, used | 1u << client))
            return true;
    }
    return false;
}

/* ---- random histories -------------------------------------------------------------------------------------------- */

static void add(history *h, event e) { h->events[h->count++] = e; }

static int64_t below(aphi_choice *c, uint64_t n) { return (int64_t)aphi_choice_below(c, n); }

/* Mostly that of a request. */
static event random_call(aphi_choice *c, const history *h)
{
    event e = {CALLED, h->calls, below(c, TEXTS), below(c, ORIGINS)};
    const event *copied = &h->events[below(c, h->count)];
    if (copied->kind == ASKED && !aphi_choice_chance(c, 1, 6))
        e.text = copied->text, e.at = copied->at;
    return e;
}

/* Each client sends one request; the text or the origin of calls may be wrong, and the client of responses. */
static history random_history(aphi_choice *c)
{
    history h = {0};
    int64_t asked = 0, returned = 0, clients = 1 + below(c, REQUESTS_MAX);
    unsigned answered = 0, given = 0;
    for (int turns = 0; turns < 24; turns++) {
        int64_t client = below(c, REQUESTS_MAX), call = below(c, REQUESTS_MAX);
        switch (below(c, 4)) {
        case ASKED:
            if (asked < clients)
                add(&h, (event){ASKED, asked++, below(c, TEXTS), below(c, ORIGINS)});
            break;
        case CALLED:
            if (h.calls < asked) {
                add(&h, random_call(c, &h));
                h.calls++;
            }
            break;
        case RETURNED:
            if (returned < h.calls)
                add(&h, (event){RETURNED, returned, returned, 0}), returned++;
            break;
        default:
            if (call < returned && client < asked && !(answered >> client & 1) && !(given >> call & 1)) {
                add(&h, (event){ANSWERED, client, call, 0});
                answered |= 1u << client;
                given |= 1u << call;
            }
        }
    }
    return h;
}

static int64_t connection_of(const history *h, int64_t call)
{
    for (size_t i = 0; i < h->count; i++)
        if (h->events[i].kind == CALLED && h->events[i].who == call)
            return (h->events[i].at + 1) * APH_ACCEPTED + call;
    return 0;
}

static aph_verdict verdict_of(const aph_model *model, const history *h)
{
    char error[100];
    aph_oracle *o = aph_oracle_open(model, &(aph_oracle_options){0}, error, sizeof error);
    aph_verdict verdict = APH_PASS;
    for (size_t i = 0; i < h->count && verdict == APH_PASS; i++) {
        const event *e = &h->events[i];
        switch (e->kind) {
        case ASKED:
            verdict = aph_oracle_sent(o, e->who, aph_record("text", aph_int(e->text), "at", aph_int(e->at)), NULL,
                                      NULL);
            break;
        case CALLED: verdict = aph_oracle_received(o, connection_of(h, e->who), aph_int(e->text)); break;
        case RETURNED: verdict = aph_oracle_sent(o, connection_of(h, e->who), aph_int(100 + e->who), NULL, NULL); break;
        case ANSWERED: verdict = aph_oracle_received(o, e->who, aph_int(100 + e->text)); break;
        }
    }
    aph_oracle_close(o);
    return verdict;
}

static void test_assignments(void **unused)
{
    (void)unused;
    aphi_choice c = aphi_choice_seed(18);
    size_t passes = 0, fails = 0;
    for (int i = 0; i < ROUNDS; i++) {
        history h = random_history(&c);
        int64_t callers[REQUESTS_MAX];
        bool explained = is_explained(&h, 0, callers, 0, 0);
        passes += explained && h.calls > 1;
        fails += !explained;
        assert_int_equal(verdict_of(&plain, &h), explained ? APH_PASS : APH_FAIL);
        assert_int_equal(verdict_of(&eager, &h), explained ? APH_PASS : APH_FAIL);
        aph_collect();
    }
    printf("%zu explained with several calls, %zu not\n", passes, fails);
    assert_true(passes > ROUNDS / 50 && fails > ROUNDS / 10);
    aph_heap_close();
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_assignments)};
    return cmocka_run_group_tests_name("oracle, origins", tests, NULL, NULL);
}
