/* SPDX-License-Identifier: Apache-2.0
 *
 * network_loader.c - networks by name, and networks compiled from C or loaded as shared objects. */
#include <antiphon/check.h>

#include "base/memory.h"
#include "check/shared_object.h"
#include "env/env.h"
#include "models/networks/networks.h"

#include <dlfcn.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- networks by name -------------------------------------------------------------------------------------------- */

/* The network tcp:N, with its name and size. */
typedef struct buffered {
    aph_network network;
    size_t room;
    char name[32];
} buffered;

static aph_network *copy_network(aph_network network)
{
    return aphi_copy(&network, sizeof network);
}

static aph_network *make_buffered(const char *name, size_t room)
{
    buffered *b = aphi_alloc_zero(sizeof *b);
    *b = (buffered){.network = aph_network_tcp_buffered, .room = room};
    strncpy(b->name, name, sizeof b->name - 1);
    b->network.name = b->name;
    b->network.data = &b->room;
    return &b->network;
}

static bool open_named(const char *name, aph_loaded_network *loaded)
{
    aphi_env env;
    if (!aphi_env_named(name, &env))
        return false;
    loaded->copy = env.buffer      ? make_buffered(name, env.buffer)
                   : env.immediate ? copy_network(aph_network_sync)
                   : env.lossy     ? copy_network(aph_network_udp)
                                   : copy_network(aph_network_tcp);
    return true;
}

/* ---- networks in files ------------------------------------------------------------------------------------------- */

/* dlsym returns an object pointer, which POSIX allows to be read as a function pointer. */
typedef const aph_network *network_main(void);
static network_main *find_main(void *object)
{
    network_main *f;
    void *symbol = dlsym(object, "aph_network_main");
    memcpy(&f, &symbol, sizeof f);
    return f;
}

static bool check_network(const aph_network *network, void *object, const char *shown, aph_load_error *error)
{
    if (!network)
        return aphi_load_fail(error, APH_LOAD_NO_MODEL, "%s: no network%s; end the file with APH_NETWORK(the_network)",
                              shown, dlsym(object, "aph_model_main") ? ", but a model" : "");
    if (network->version != APH_NETWORK_VERSION)
        return aphi_load_fail(error, APH_LOAD_VERSION,
                              "%s: written for network version %d, not %d; set .version = APH_NETWORK_VERSION and "
                              "compile it again", shown, network->version, APH_NETWORK_VERSION);
    if (!network->name || !network->step)
        return aphi_load_fail(error, APH_LOAD_NO_MODEL, "%s: the network has no %s", shown,
                              network->name ? ".step" : ".name");
    return true;
}

/* A network that was compiled with an earlier header has fewer fields; those that it lacks are zero. */
static void take_network(aph_loaded_network *loaded, const aph_network *network)
{
    const size_t *known = dlsym(loaded->library, "aph_network_size");
    size_t size = known && *known < sizeof *network ? *known : sizeof *network;
    loaded->copy = aphi_alloc_zero(sizeof *loaded->copy);
    memcpy(loaded->copy, network, size);
}

static bool open_object(void *context, const char *path, const char *shown, aph_load_error *error)
{
    aph_loaded_network *loaded = context;
    loaded->library = aphi_object_open(path, shown, error);
    if (!loaded->library)
        return false;
    network_main *get = find_main(loaded->library);
    const aph_network *network = get ? get() : NULL;
    if (check_network(network, loaded->library, shown, error)) {
        take_network(loaded, network);
        return true;
    }
    dlclose(loaded->library);
    loaded->library = NULL;
    return false;
}

static bool ends_with(const char *text, const char *end)
{
    size_t n = strlen(text), m = strlen(end);
    return n > m && !strcmp(text + n - m, end);
}

bool aph_network_is_file(const char *spec)
{
    return spec && (ends_with(spec, ".c") || ends_with(spec, ".so"));
}

static bool open_spec(const char *spec, aph_loaded_network *loaded, aph_load_error *error)
{
    if (ends_with(spec, ".c"))
        return aphi_object_compile(&(aphi_object_source){spec, false, open_object, loaded}, error);
    if (ends_with(spec, ".so"))
        return access(spec, R_OK) == 0 ? open_object(loaded, spec, spec, error)
                                       : aphi_load_fail_unreadable(spec, error);
    return open_named(spec, loaded) ||
           aphi_load_fail(error, APH_LOAD_NO_SUCH, "no network named '%s'; use " APHI_ENV_NAMES
                          ", or a file: ./mine.c or ./mine.so", spec);
}

bool aph_network_load(const char *spec, aph_loaded_network *loaded, aph_load_error *error)
{
    *loaded = (aph_loaded_network){0};
    bool ok = open_spec(spec ? spec : "tcp", loaded, error);
    loaded->network = loaded->copy;
    return ok;
}

void aph_network_unload(aph_loaded_network *loaded)
{
    free(loaded->copy);
    if (loaded->library)
        dlclose(loaded->library);
    *loaded = (aph_loaded_network){0};
}
