/* SPDX-License-Identifier: Apache-2.0
 *
 * philosophers.c - dp-N: N philosophers eat once each, with N forks; all messages are synchronous.
 *
 * Philosopher i has fork i to the left and fork i + 1 to the right. Number 0 takes the right one first, the others the
 * left one, so nobody waits for ever. Forks are given back in the order in which they were taken. */
#include "programs.h"

typedef struct seat {
    int number, size;
} seat;

static aph_value about(const char *what, int philosopher)
{
    return APH_ARRAY_OF(aph_str(what), aph_int(philosopher));
}

static void philosopher(aph *m, aph_value *state)
{
    const seat *at = aph_data(m);
    int left = at->number, right = (at->number + 1) % at->size;
    int first = at->number == 0 ? right : left, second = at->number == 0 ? left : right;
    (void)state;
    aph_pass(m, first, about("get", at->number));
    aph_pass(m, second, about("get", at->number));
    aph_pass(m, first, about("release", at->number));
    aph_pass(m, second, about("release", at->number));
    aph_halt(m);
}

/* The state is how often it was given back. */
static void a_fork(aph *m, aph_value *state)
{
    const seat *at = aph_data(m);
    int left_of = at->number, right_of = (at->number + at->size - 1) % at->size; /* who share it */
    int64_t given_back = aph_is_int(*state) ? aph_int_of(*state) : 0;
    if (given_back == 2)
        aph_halt(m);
    aph_value got = aph_take(m, at->number, APH_ARRAY_OF(about("get", left_of), about("get", right_of)));
    aph_take(m, at->number, APH_ARRAY_OF(about("release", (int)aph_int_of(aph_at(got, 1)))));
    *state = aph_int(given_back + 1);
}

static aph_program *make(int size)
{
    aph_program *p = aph_program_make(aph_family_dp.summary, 2 * size, size, "dp-%d", size);
    for (int i = 0; i < size; i++) {
        seat at = {.number = i, .size = size};
        aph_program_component(p, i, philosopher, &at, sizeof at, "P%d", i);
        aph_program_component(p, size + i, a_fork, &at, sizeof at, "F%d", i);
        aph_program_port(p, i, size + i, APH_FIFO_PAIR, 0, "fork%d", i);
    }
    return p;
}

const aph_family aph_family_dp = {
    .name = "dp",
    .summary = "dining philosophers: each eats once",
    .least = 2,
    .most = 30,
    .make = make,
};
