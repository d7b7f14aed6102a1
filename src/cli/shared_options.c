/* SPDX-License-Identifier: Apache-2.0
 *
 * shared_options.c - options and operands that several commands have. */
#include "cli/shared_options.h"

#include "cli/interrupt.h"
#include "env/env.h"
#include "fault/fault_kinds.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

const char *const aphi_colour_names[] = {"auto", "always", "never", NULL};
const char *const aphi_format_names[] = {"auto", "jsonl", "jepsen-log", "edn", "json", NULL};
const char *const aphi_environment_names[] = {"tcp", "sync", "udp", NULL};

int aphi_take_environment(void *field, const char *name, const char *value)
{
    *(const char **)field = value;
    return aphi_env_named(value, &(aphi_env){0}) ? 0
                                                 : aphi_usage("--%s %s: not one of " APHI_ENV_NAMES, name, value);
}

int aphi_take_network(void *field, const char *name, const char *value)
{
    *(const char **)field = value;
    return aph_network_is_file(value) || aphi_env_named(value, &(aphi_env){0})
               ? 0
               : aphi_usage("--%s %s: not one of " APHI_ENV_NAMES ", or a file: ./mine.c or ./mine.so", name, value);
}

int aphi_take_fault(void *field, const char *name, const char *value)
{
    char error[256];
    (void)name;
    *(const char **)field = value;
    return aphi_fault_parse(&(aphi_fault){0}, value, error, sizeof error) ? 0 : aphi_usage("%s", error);
}

int aphi_take_waiver(void *field, const char *name, const char *value)
{
    aphi_waived *w = field;
    if (!strcmp(value, "known")) {
        w->known = true;
        return 0;
    }
    if (w->count == sizeof w->names / sizeof *w->names)
        return aphi_usage("--%s: given more than %zu times", name, w->count);
    w->names[w->count++] = value;
    return 0;
}

static bool allow_waiver(aph_model *model, const char *name)
{
    uint64_t bit = aph_waiver_bit(model, name);
    model->waived |= bit;
    if (bit)
        return true;
    if (model->waivers && model->waivers[0].name)
        aphi_usage("--waive %s: no such waiver; antiphon models %s lists them", name, model->name);
    else
        aphi_usage("--waive %s: %s declares no waivers", name, model->name);
    return false;
}

bool aphi_waive_in(const aphi_waived *w, aph_model *model)
{
    for (size_t i = 0; i < w->count; i++)
        if (!allow_waiver(model, w->names[i]))
            return false;
    return true;
}

bool aphi_waive_by_name(const aphi_waived *w, aph_model *model)
{
    if (w->known)
        aphi_usage("--waive known: only for antiphon test --subject; name the waivers one by one");
    return !w->known && aphi_waive_in(w, model);
}

/* A signal while the model is compiled ends the command in the same way as later. */
int aphi_open_model(const char *text, aph_loaded_model *model)
{
    aph_load_error error;
    aphi_interrupt_watch(NULL);
    bool loaded = aph_model_load(text, model, &error);
    if (loaded && !aphi_interrupted)
        return APHI_EXIT_PASS;
    if (loaded)
        aph_model_unload(model);
    if (aphi_interrupted)
        return APHI_EXIT_INTERRUPTED;
    aphi_complain("%s", error.message);
    return (int)aphi_exit_of_load_error(&error);
}

int aphi_open_network(const char *environment, aph_loaded_network *network)
{
    aph_load_error error;
    *network = (aph_loaded_network){0};
    if (!aph_network_is_file(environment))
        return APHI_EXIT_PASS;
    aphi_interrupt_watch(NULL);
    bool loaded = aph_network_load(environment, network, &error);
    if (aphi_interrupted) {
        aph_network_unload(network);
        return APHI_EXIT_INTERRUPTED;
    }
    if (loaded)
        return APHI_EXIT_PASS;
    aphi_complain("%s", error.message);
    return (int)aphi_exit_of_load_error(&error);
}

const aph_model *aphi_mutant_named(const aph_model *model, const char *which)
{
    unsigned long long number = strtoull(which, NULL, 10), n = 0;
    for (const aph_model *const *m = model->mutants; m && *m; m++)
        if (++n == number || !strcmp((*m)->name, which))
            return *m;
    if (n == 0)
        aphi_usage("--mutate %s: %s declares no mutants", which, model->name);
    else
        aphi_usage("--mutate %s: %s has mutants 1 to %llu; antiphon models SPEC lists them", which, model->name, n);
    return NULL;
}

uint64_t aphi_random_seed(void)
{
    uint64_t seed;
    if (getrandom(&seed, sizeof seed, 0) < 0)
        seed = (uint64_t)getpid();
    return seed & 0xffffffff;
}
