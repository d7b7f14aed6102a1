/* SPDX-License-Identifier: Apache-2.0
 *
 * token.c - tdme: mutual exclusion for three users with a token; all messages are asynchronous.
 *
 * A user requests the token, receives it, enters and leaves its critical section, and releases the token. The
 * controller grants a free token to the user that has waited longest. */
#include "programs.h"

enum { USERS = 3, CONTROLLER = USERS };

static aph_value user_label(const char *name, int64_t user)
{
    return APH_ARRAY_OF(aph_str(name), aph_int(user));
}

static void user(aph *m, aph_value *state)
{
    int number = *(const int *)aph_data(m);
    (void)state;
    aph_post(m, CONTROLLER, user_label("request", number));
    aph_take(m, number, APH_ARRAY_OF(aph_str("token")));
    aph_note(m, "enter");
    aph_note(m, "leave");
    aph_post(m, CONTROLLER, user_label("release", number));
    aph_halt(m);
}

/* The state is {waiting: users in the order of their requests, holder: a user, asked: bits of users}. */
static int64_t int_field(aph_value state, const char *name)
{
    aph_value v = aph_get(state, aph_str(name));
    return v ? aph_int_of(v) : 0;
}

static aph_value waiting_users(aph_value state)
{
    aph_value v = aph_field(state, "waiting");
    return v ? v : aph_array(0, NULL);
}

static void add_request(aph_value *state, int64_t from)
{
    *state = aph_put(*state, "waiting", aph_push(waiting_users(*state), aph_int(from)));
    *state = aph_put(*state, "asked", aph_int(int_field(*state, "asked") | (int64_t)1 << from));
}

static void controller(aph *m, aph_value *state)
{
    aph_value waiting = waiting_users(*state), holder = aph_field(*state, "holder");
    if (!holder && aph_count(waiting)) {
        holder = aph_at(waiting, 0);
        aph_post(m, (int)aph_int_of(holder), aph_str("token"));
        *state = aph_put(*state, "waiting", aph_slice(waiting, 1, aph_count(waiting) - 1));
        *state = aph_put(*state, "holder", holder);
        return;
    }
    aph_value open = aph_array(0, NULL);
    for (int i = 0; i < USERS; i++)
        if (!(int_field(*state, "asked") >> i & 1))
            open = aph_push(open, user_label("request", i));
    if (holder)
        open = aph_push(open, user_label("release", aph_int_of(holder)));
    if (!aph_count(open))
        aph_halt(m);
    aph_value received = aph_take(m, CONTROLLER, open);
    if (aph_str_is(aph_at(received, 0), "request"))
        add_request(state, aph_int_of(aph_at(received, 1)));
    else
        *state = aph_remove(*state, aph_str("holder"));
}

static aph_program *make_program(int size)
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
    .summary = "mutual exclusion for three users with a token",
    .make = make_program,
};
