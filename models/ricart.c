/* SPDX-License-Identifier: Apache-2.0
 *
 * ricart.c - dme-N: mutual exclusion of N processes by the algorithm of Ricart and Agrawala; all messages are
 * asynchronous.
 *
 * Process i is three components. D, its main program, asks C for a number and all others for their leave, and enters.
 * H, its helper, takes the requests of others and asks C what to do. C, its coordinator, decides: a request that comes
 * later than its own is deferred until D has left. Numbers grow; of equal ones, the lower process is earlier. */
#include "programs.h"

enum { D, H, C, PARTS };                          /* components of a process */
enum { NUMBER, REPLIES, REQUESTS, ANSWER, INPUT, PORTS }; /* ports of a process: two of D, two of H, one of C */

typedef struct place {
    int number, size;
} place;

static int port_of(int process, int port)
{
    return process * PORTS + port;
}

static aph_value label(const char *what, int64_t number)
{
    return APH_ARRAY_OF(aph_str(what), aph_int(number));
}

static aph_value request(const char *what, int64_t number, int64_t process)
{
    return APH_ARRAY_OF(aph_str(what), aph_int(number), aph_int(process));
}

static int64_t field(aph_value state, const char *name)
{
    aph_value v = aph_get(state, aph_str(name));
    return v ? aph_int_of(v) : 0;
}

static aph_value with(aph_value state, const char *name, int64_t number)
{
    return aph_set(state, aph_str(name), aph_int(number));
}

/* ---- the main program -------------------------------------------------------------------------------------------- */

static void ask_others(aph *m, const place *at, aph_value number)
{
    for (int j = 0; j < at->size; j++)
        if (j != at->number)
            aph_post(m, port_of(j, REQUESTS), request("req", aph_int_of(number), at->number));
}

/* One reply of each other process, in any order. */
static void take_reply(aph *m, const place *at, aph_value *state)
{
    int64_t replied = field(*state, "replied");
    aph_value open = aph_array(0, NULL);
    for (int j = 0; j < at->size; j++)
        if (j != at->number && !(replied >> j & 1))
            open = aph_push(open, label("rep", j));
    aph_value got = aph_take(m, port_of(at->number, REPLIES), open);
    *state = with(*state, "replied", replied | (int64_t)1 << aph_int_of(aph_at(got, 1)));
}

static void main_program(aph *m, aph_value *state)
{
    const place *at = aph_data(m);
    int64_t all = ((int64_t)1 << at->size) - 1 - ((int64_t)1 << at->number);
    if (!field(*state, "asked")) {
        aph_post(m, port_of(at->number, INPUT), aph_str("choose"));
        aph_value open = aph_array(0, NULL);
        for (int k = 1; k <= at->size; k++)
            open = aph_push(open, label("num", k));
        ask_others(m, at, aph_at(aph_take(m, port_of(at->number, NUMBER), open), 1));
        *state = with(*state, "asked", 1);
    } else if (field(*state, "replied") != all) {
        take_reply(m, at, state);
    } else {
        aph_note(m, "enter");
        aph_note(m, "leave");
        aph_post(m, port_of(at->number, INPUT), aph_str("reset"));
        aph_halt(m);
    }
}

/* ---- the helper -------------------------------------------------------------------------------------------------- */

/* Requests with any number of those processes that have not been heard. */
static aph_value requests_of(const place *at, const char *what, int64_t heard)
{
    aph_value open = aph_array(0, NULL);
    for (int j = 0; j < at->size; j++)
        for (int k = 1; k <= at->size && j != at->number && !(heard >> j & 1); k++)
            open = aph_push(open, request(what, k, j));
    return open;
}

static void helper(aph *m, aph_value *state)
{
    const place *at = aph_data(m);
    int64_t heard = field(*state, "heard");
    aph_value open = requests_of(at, "req", heard);
    if (!aph_count(open))
        aph_halt(m);
    aph_value got = aph_take(m, port_of(at->number, REQUESTS), open);
    int64_t number = aph_int_of(aph_at(got, 1)), from = aph_int_of(aph_at(got, 2));
    aph_post(m, port_of(at->number, INPUT), request("decide", number, from));
    aph_value answer = aph_take(m, port_of(at->number, ANSWER), APH_ARRAY_OF(aph_str("defer"), aph_str("reply")));
    if (aph_str_is(answer, "reply"))
        aph_post(m, port_of((int)from, REPLIES), label("rep", at->number));
    *state = with(*state, "heard", heard | (int64_t)1 << from);
}

/* ---- the coordinator --------------------------------------------------------------------------------------------- */

static aph_value take_choose(aph *m, const place *at, aph_value state)
{
    int64_t number = field(state, "high") + 1;
    aph_post(m, port_of(at->number, NUMBER), label("num", number));
    return with(with(state, "number", number), "requesting", 1);
}

static aph_value take_decide(aph *m, const place *at, aph_value state, int64_t number, int64_t from)
{
    int64_t own = field(state, "number");
    bool defer = field(state, "requesting") && (own < number || (own == number && at->number < from));
    aph_post(m, port_of(at->number, ANSWER), aph_str(defer ? "defer" : "reply"));
    if (defer)
        state = with(state, "deferred", field(state, "deferred") | (int64_t)1 << from);
    if (number > field(state, "high"))
        state = with(state, "high", number);
    return with(state, "heard", field(state, "heard") | (int64_t)1 << from);
}

static aph_value take_reset(aph *m, const place *at, aph_value state)
{
    for (int j = 0; j < at->size; j++)
        if (field(state, "deferred") >> j & 1)
            aph_post(m, port_of(j, REPLIES), label("rep", at->number));
    return with(with(with(state, "requesting", 0), "deferred", 0), "reset", 1);
}

static void coordinator(aph *m, aph_value *state)
{
    const place *at = aph_data(m);
    aph_value open = requests_of(at, "decide", field(*state, "heard"));
    if (!field(*state, "number"))
        open = aph_push(open, aph_str("choose"));
    else if (!field(*state, "reset"))
        open = aph_push(open, aph_str("reset"));
    if (!aph_count(open))
        aph_halt(m);
    aph_value got = aph_take(m, port_of(at->number, INPUT), open);
    if (aph_str_is(got, "choose"))
        *state = take_choose(m, at, *state);
    else if (aph_str_is(got, "reset"))
        *state = take_reset(m, at, *state);
    else
        *state = take_decide(m, at, *state, aph_int_of(aph_at(got, 1)), aph_int_of(aph_at(got, 2)));
}

/* ---- all of it --------------------------------------------------------------------------------------------------- */

static aph_program *make(int size)
{
    static aph_step *const steps[PARTS] = {[D] = main_program, [H] = helper, [C] = coordinator};
    static const int owners[PORTS] = {[NUMBER] = D, [REPLIES] = D, [REQUESTS] = H, [ANSWER] = H, [INPUT] = C};
    static const char *const names[PORTS] = {"num", "rep", "req", "answer", "input"};
    aph_program *p = aph_program_make(aph_family_dme.summary, PARTS * size, PORTS * size, "dme-%d", size);
    for (int i = 0; i < size; i++) {
        place at = {.number = i, .size = size};
        for (int part = 0; part < PARTS; part++)
            aph_program_component(p, i * PARTS + part, steps[part], &at, sizeof at, "%c%d", "DHC"[part], i + 1);
        for (int port = 0; port < PORTS; port++)
            aph_program_port(p, port_of(i, port), i * PARTS + owners[port], APH_FIFO_PAIR, 0, "%s%d", names[port],
                             i + 1);
    }
    return p;
}

const aph_family aph_family_dme = {
    .name = "dme",
    .summary = "distributed mutual exclusion of N processes (Ricart and Agrawala)",
    .least = 2,
    .most = 6,
    .make = make,
};
