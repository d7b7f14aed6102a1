/* SPDX-License-Identifier: Apache-2.0
 *
 * env.c - the environments that there are. */
#include "env/env.h"

#include <stddef.h>
#include <string.h>

static const aphi_env environments[] = {
    {.name = "tcp", .fifo = true},
    {.name = "sync", .immediate = true, .fifo = true},
};

const aphi_env *aphi_env_find(const char *name)
{
    for (size_t i = 0; i < sizeof environments / sizeof *environments; i++)
        if (!strcmp(environments[i].name, name))
            return &environments[i];
    return NULL;
}
