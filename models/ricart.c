/* SPDX-License-Identifier: Apache-2.0
 *
 * ricart.c - dme-N: mutual exclusion of N processes with the Ricart-Agrawala algorithm; all messages are asynchronous.
 *
 * Process i has three components. D, its main program, gets a number from C, sends a request to all others, waits for
 * their replies, and enters. H, its helper, receives the requests of others and lets C decide. C, its coordinator,
 * defers requests that are later than its own until D has left. Numbers increase; of two equal numbers, that of the
 * lower process is earlier. */
#include "programs.h"

enum { D, H, C, COMPONENTS };                             /* components of a process */
enum { NUMBER, REPLIES, REQUESTS, ANSWER, INPUT, PORTS }; /* ports of a process: two of D, two of H, one of C */

typedef struct process {
    int number, size;
} process;

static int port_of(int number, int port)
{
    return number * PORTS + port;
}

static aph_value label(const char *name, int64_t number)
{
    return APH_ARRAY_OF(aph_str(name), aph_int(number));
}

static aph_value request(const char *name, int64_t number, int64_t from)
{
    return APH_ARRAY_OF(aph_str(name), aph_int(number), aph_int(from));
}

static int64_t field(aph_value state, const char *name)
{
    aph_value v = aph_get(state, aph_str(name));
    return v ? aph_int_of(v) : 0;
}

static aph_value set_field(aph_value state, const char *name, int64_t number)
{
    return aph_set(state, aph_str(name), aph_int(number));
}

/* ---- the main program -------------------------------------------------------------------------------------------- */

static void send_requests(aph *m, const process *self, aph_value number)
{
    for (int j = 0; j < self->size; j++)
        if (j != self->number)
            aph_post(m, port_of(j, REQUESTS), request("req", aph_int_of(number), self->number));
}

/* Receives one reply from each other process, in any order. */
static void take_reply(aph *m, const process *self, aph_value *state)
{
    int64_t replied = field(*state, "replied");
    aph_value open = aph_array(0, NULL);
    for (int j = 0; j < self->size; j++)
        if (j != self->number && !(replied >> j & 1))
            open = aph_push(open, label("rep", j));
    aph_value received = aph_take(m, port_of(self->number, REPLIES), open);
    *state = set_field(*state, "replied", replied | (int64_t)1 << aph_int_of(aph_at(received, 1)));
}

static void main_program(aph *m, aph_value *state)
{
    const process *self = aph_data(m);
    int64_t all = ((int64_t)1 << self->size) - 1 - ((int64_t)1 << self->number);
    if (!field(*state, "asked")) {
        aph_post(m, port_of(self->number, INPUT), aph_str("choose"));
        aph_value open = aph_array(0, NULL);
        for (int k = 1; k <= self->size; k++)
            open = aph_push(open, label("num", k));
        send_requests(m, self, aph_at(aph_take(m, port_of(self->number, NUMBER), open), 1));
        *state = set_field(*state, "asked", 1);
    } else if (field(*state, "replied") != all) {
        take_reply(m, self, state);
    } else {
        aph_note(m, "enter");
        aph_note(m, "leave");
        aph_post(m, port_of(self->number, INPUT), aph_str("reset"));
        aph_halt(m);
    }
}

/* ---- the helper -------------------------------------------------------------------------------------------------- */

/* Returns the labels of requests, with any number, from the processes that have not sent one. */
static aph_value open_requests(const process *self, const char *name, int64_t requested)
{
    aph_value open = aph_array(0, NULL);
    for (int j = 0; j < self->size; j++)
        for (int k = 1; k <= self->size && j != self->number && !(requested >> j & 1); k++)
            open = aph_push(open, request(name, k, j));
    return open;
}

static void helper(aph *m, aph_value *state)
{
    const process *self = aph_data(m);
    int64_t requested = field(*state, "requested");
    aph_value open = open_requests(self, "req", requested);
    if (!aph_count(open))
        aph_halt(m);
    aph_value received = aph_take(m, port_of(self->number, REQUESTS), open);
    int64_t number = aph_int_of(aph_at(received, 1)), from = aph_int_of(aph_at(received, 2));
    aph_post(m, port_of(self->number, INPUT), request("decide", number, from));
    aph_value answer = aph_take(m, port_of(self->number, ANSWER), APH_ARRAY_OF(aph_str("defer"), aph_str("reply")));
    if (aph_str_is(answer, "reply"))
        aph_post(m, port_of((int)from, REPLIES), label("rep", self->number));
    *state = set_field(*state, "requested", requested | (int64_t)1 << from);
}

/* ---- the coordinator --------------------------------------------------------------------------------------------- */

static aph_value handle_choose(aph *m, const process *self, aph_value state)
{
    int64_t number = field(state, "high") + 1;
    aph_post(m, port_of(self->number, NUMBER), label("num", number));
    return set_field(set_field(state, "number", number), "requesting", 1);
}

static aph_value handle_decide(aph *m, const process *self, aph_value state, int64_t number, int64_t from)
{
    int64_t own = field(state, "number");
    bool defer = field(state, "requesting") && (own < number || (own == number && self->number < from));
    aph_post(m, port_of(self->number, ANSWER), aph_str(defer ? "defer" : "reply"));
    if (defer)
        state = set_field(state, "deferred", field(state, "deferred") | (int64_t)1 << from);
    if (number > field(state, "high"))
        state = set_field(state, "high", number);
    return set_field(state, "requested", field(state, "requested") | (int64_t)1 << from);
}

static aph_value handle_reset(aph *m, const process *self, aph_value state)
{
    for (int j = 0; j < self->size; j++)
        if (field(state, "deferred") >> j & 1)
            aph_post(m, port_of(j, REPLIES), label("rep", self->number));
    return set_field(set_field(set_field(state, "requesting", 0), "deferred", 0), "reset", 1);
}

static void coordinator(aph *m, aph_value *state)
{
    const process *self = aph_data(m);
    aph_value open = open_requests(self, "decide", field(*state, "requested"));
    if (!field(*state, "number"))
        open = aph_push(open, aph_str("choose"));
    else if (!field(*state, "reset"))
        open = aph_push(open, aph_str("reset"));
    if (!aph_count(open))
        aph_halt(m);
    aph_value received = aph_take(m, port_of(self->number, INPUT), open);
    if (aph_str_is(received, "choose"))
        *state = handle_choose(m, self, *state);
    else if (aph_str_is(received, "reset"))
        *state = handle_reset(m, self, *state);
    else
        *state = handle_decide(m, self, *state, aph_int_of(aph_at(received, 1)), aph_int_of(aph_at(received, 2)));
}

/* ---- the program ------------------------------------------------------------------------------------------------- */

static aph_program *make_program(int size)
{
    static aph_step *const steps[COMPONENTS] = {[D] = main_program, [H] = helper, [C] = coordinator};
    static const int owners[PORTS] = {[NUMBER] = D, [REPLIES] = D, [REQUESTS] = H, [ANSWER] = H, [INPUT] = C};
    static const char *const names[PORTS] = {"num", "rep", "req", "answer", "input"};
    aph_program *p = aph_program_make(aph_family_dme.summary, COMPONENTS * size, PORTS * size, "dme-%d", size);
    for (int i = 0; i < size; i++) {
        process self = {.number = i, .size = size};
        for (int component = 0; component < COMPONENTS; component++)
            aph_program_component(p, i * COMPONENTS + component, steps[component], &self, sizeof self, "%c%d",
                                  "DHC"[component], i + 1);
        for (int port = 0; port < PORTS; port++)
            aph_program_port(p, port_of(i, port), i * COMPONENTS + owners[port], APH_FIFO_PAIR, 0, "%s%d", names[port],
                             i + 1);
    }
    return p;
}

const aph_family aph_family_dme = {
    .name = "dme",
    .summary = "distributed mutual exclusion for N processes (Ricart and Agrawala)",
    .least = 2,
    .most = 6,
    .make = make_program,
};
