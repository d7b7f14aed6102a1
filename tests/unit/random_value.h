/* SPDX-License-Identifier: Apache-2.0
 *
 * random_value.h - random concrete values of every kind, from small domains, so that equal values are frequent. */
#ifndef TESTS_UNIT_RANDOM_VALUE_H
#define TESTS_UNIT_RANDOM_VALUE_H

#include <antiphon/value.h>

#include "base/random_choice.h"

static inline aph_value random_int(aphi_choice *c)
{
    static const int64_t borders[] = {0, 1, -1, ((int64_t)1 << 60) - 1, (int64_t)1 << 60, -((int64_t)1 << 60),
                                      -((int64_t)1 << 60) - 1, INT64_MAX, INT64_MIN};
    if (aphi_choice_chance(c, 1, 2))
        return aph_int(borders[aphi_choice_below(c, sizeof borders / sizeof *borders)]);
    return aph_int((int64_t)aphi_choice_bits(c) >> aphi_choice_below(c, 64));
}

static inline aph_value random_bytes(aphi_choice *c, size_t n_max)
{
    char bytes[64];
    size_t n = aphi_choice_below(c, n_max + 1);
    unsigned alphabet = aphi_choice_chance(c, 1, 2) ? 2 : 256;
    for (size_t i = 0; i < n; i++)
        bytes[i] = (char)(aphi_choice_below(c, alphabet) + (alphabet == 2 ? 'a' : 0));
    return aph_bytes(bytes, n);
}

static inline aph_value random_value(aphi_choice *c, unsigned depth)
{
    switch (aphi_choice_below(c, depth ? 7 : 4)) {
    case 0: return APH_NIL;
    case 1: return aph_bool(aphi_choice_chance(c, 1, 2));
    case 2: return random_int(c);
    case 3: return random_bytes(c, 12);
    case 4:
    case 5: {
        aph_value v = aph_array(0, NULL);
        for (uint64_t n = aphi_choice_below(c, 4); n; n--)
            v = aph_push(v, random_value(c, depth - 1));
        return v;
    }
    default: {
        aph_value v = aph_object();
        for (uint64_t n = aphi_choice_below(c, 12); n; n--)
            v = aph_set(v, random_bytes(c, 9), random_value(c, depth - 1));
        return v;
    }
    }
}

#endif
