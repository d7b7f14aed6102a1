/* SPDX-License-Identifier: Apache-2.0
 *
 * philosophers.c - dp-N: N philosophers with N forks eat once each; all messages are synchronous.
 *
 * Philosopher i has fork i on the left and fork i + 1 on the right. Philosopher 0 takes the right fork first, the
 * others the left, so there is no deadlock. Forks are released in the order in which they were taken. */
#include "programs.h"

typedef struct position {
    int number, size;
} position;

static aph_value label_of(const char *name, int philosopher)
{
    return APH_ARRAY_OF(aph_str(name), aph_int(philosopher));
}

static void philosopher(aph *m, aph_value *state)
{
    const position *p = aph_data(m);
    int left = p->number, right = (p->number + 1) % p->size;
    int first = p->number == 0 ? right : left, second = p->number == 0 ? left : right;
    (void)state;
    aph_pass(m, first, label_of("get", p->number));
    aph_pass(m, second, label_of("get", p->number));
    aph_pass(m, first, label_of("release", p->number));
    aph_pass(m, second, label_of("release", p->number));
    aph_halt(m);
}

/* The state is the number of releases. */
static void fork_component(aph *m, aph_value *state)
{
    const position *p = aph_data(m);
    int left_of = p->number, right_of = (p->number + p->size - 1) % p->size; /* philosophers */
    int64_t releases = aph_is_int(*state) ? aph_int_of(*state) : 0;
    if (releases == 2)
        aph_halt(m);
    aph_value got = aph_take(m, p->number, APH_ARRAY_OF(label_of("get", left_of), label_of("get", right_of)));
    aph_take(m, p->number, APH_ARRAY_OF(label_of("release", (int)aph_int_of(aph_at(got, 1)))));
    *state = aph_int(releases + 1);
}

static aph_program *make_program(int size)
{
    aph_program *program = aph_program_make(aph_family_dp.summary, 2 * size, size, "dp-%d", size);
    for (int i = 0; i < size; i++) {
        position p = {.number = i, .size = size};
        aph_program_component(program, i, philosopher, &p, sizeof p, "P%d", i);
        aph_program_component(program, size + i, fork_component, &p, sizeof p, "F%d", i);
        aph_program_port(program, i, size + i, APH_FIFO_PAIR, 0, "fork%d", i);
    }
    return program;
}

const aph_family aph_family_dp = {
    .name = "dp",
    .summary = "dining philosophers: each eats once",
    .least = 2,
    .most = 30,
    .make = make_program,
};
