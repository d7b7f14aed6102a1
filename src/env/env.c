/* SPDX-License-Identifier: Apache-2.0
 *
 * env.c - environments by name. */
#include "env/env.h"

#include <stdlib.h>
#include <string.h>

bool aphi_env_named(const char *name, aphi_env *env)
{
    *env = (aphi_env){.fifo = true};
    if (!name || !strcmp(name, "tcp"))
        return true;
    if (!strcmp(name, "sync"))
        return env->immediate = true;
    if (!strcmp(name, "udp")) {
        *env = (aphi_env){.lossy = true};
        return true;
    }
    if (strncmp(name, "tcp:", 4) || name[4] < '1' || name[4] > '9')
        return false;
    char *end;
    env->buffer = strtoul(name + 4, &end, 10);
    return !*end && env->buffer <= 1u << 20;
}
