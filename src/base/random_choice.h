/* SPDX-License-Identifier: Apache-2.0
 *
 * random_choice.h - the only source of random choices, seeded so that each run can be repeated. */
#ifndef APHI_BASE_RANDOM_CHOICE_H
#define APHI_BASE_RANDOM_CHOICE_H

#include <stdbool.h>
#include <stdint.h>

typedef struct aphi_choice {
    uint64_t state;
} aphi_choice;

static inline aphi_choice aphi_choice_seed(uint64_t seed)
{
    return (aphi_choice){seed};
}

/* splitmix64: one addition and two multiplications; passes the usual statistical tests with any seed. */
static inline uint64_t aphi_choice_bits(aphi_choice *c)
{
    uint64_t z = c->state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static inline uint64_t aphi_choice_below(aphi_choice *c, uint64_t n)
{
    return aphi_choice_bits(c) % n;
}

static inline int64_t aphi_choice_within(aphi_choice *c, int64_t low, int64_t high)
{
    uint64_t span = (uint64_t)high - (uint64_t)low + 1;
    return (int64_t)((uint64_t)low + (span ? aphi_choice_below(c, span) : aphi_choice_bits(c)));
}

static inline bool aphi_choice_chance(aphi_choice *c, unsigned in, unsigned of)
{
    return aphi_choice_below(c, of) < in;
}

#endif
