/* SPDX-License-Identifier: Apache-2.0
 *
 * token.c - tdme: three users of one token, which a controller hands out; all messages are asynchronous.
 *
 * A user asks, gets the token, enters and leaves its critical section, and gives the token back. The controller grants
 * the token whenever it is free and somebody waits: to the one who has waited longest. */
#include "programs.h"

enum { USERS = 3, CONTROLLER = USERS };

static aph_value of_user(const char *what, int64_t user)
{
    return APH_ARRAY_OF(aph_str(what), aph_int(user));
}

static void user(aph *m, aph_value *state)
{
    int number = *(const int *)aph_data(m);
    (void)state;
    aph_post(m, CONTROLLER, of_user("request", number));
    aph_take(m, number, APH_ARRAY_OF(aph_str("token")));
    aph_note(m, "enter");
    aph_note(m, "leave");
    aph_post(m, CONTROLLER, of_user("release", number));
    aph_halt(m);
}

/* The state is {waiting: users in the order of their requests, holder: a user, asked: a set of users}. */
static int64_t number_in(aph_value state, const char *name)
{
    aph_value v = aph_get(state, aph_str(name));
    return v ? aph_int_of(v) : 0;
}

static aph_value waiting_in(aph_value state)
{
    aph_value v = aph_field(state, "waiting");
    return v ? v : aph_array(0, NULL);
}

static void take_request(aph_value *state, int64_t from)
{
    *state = aph_put(*state, "waiting", aph_push(waiting_in(*state), aph_int(from)));
    *state = aph_put(*state, "asked", aph_int(number_in(*state, "asked") | (int64_t)1 << from));
}

static void controller(aph *m, aph_value *state)
{
    aph_value waiting = waiting_in(*state), holder = aph_field(*state, "holder");
    if (!holder && aph_count(waiting)) {
        holder = aph_at(waiting, 0);
        aph_post(m, (int)aph_int_of(holder), aph_str("token"));
        *state = aph_put(*state, "waiting", aph_slice(waiting, 1, aph_count(waiting) - 1));
        *state = aph_put(*state, "holder", holder);
        return;
    }
    aph_value open = aph_array(0, NULL);
    for (int i = 0; i < USERS; i++)
        if (!(number_in(*state, "asked") >> i & 1))
            open = aph_push(open, of_user("request", i));
    if (holder)
        open = aph_push(open, of_user("release", aph_int_of(holder)));
    if (!aph_count(open))
        aph_halt(m);
    aph_value got = aph_take(m, CONTROLLER, open);
    if (aph_str_is(aph_at(got, 0), "request"))
        take_request(state, aph_int_of(aph_at(got, 1)));
    else
        *state = aph_remove(*state, aph_str("holder"));
}

static aph_program *make(int size)
{
    (void)size;
    aph_program *p = aph_program_make(aph_family_tdme.summary, USERS + 1, USERS + 1, "tdme");
    for (int i = 0; i < USERS; i++) {
        aph_program_component(p, i, user, &i, sizeof i, "U%d", i);
        aph_program_port(p, i, i, APH_FIFO_PAIR, 0, "token%d", i);
    }
    aph_program_component(p, CONTROLLER, controller, "", 1, "C");
    aph_program_port(p, CONTROLLER, CONTROLLER, APH_FIFO_PAIR, 0, "controller");
    return p;
}

const aph_family aph_family_tdme = {
    .name = "tdme",
    .summary = "mutual exclusion of three users by a token",
    .make = make,
};
