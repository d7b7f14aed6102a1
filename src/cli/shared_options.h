/* SPDX-License-Identifier: Apache-2.0
 *
 * shared_options.h - options and operands that several commands have. */
#ifndef APHI_CLI_SHARED_OPTIONS_H
#define APHI_CLI_SHARED_OPTIONS_H

#include "base/options.h"
#include "cli/exit_codes.h"

/* The values of options, in the order of aphi_colour and aphi_trace_format. */
extern const char *const aphi_colour_names[], *const aphi_format_names[], *const aphi_environment_names[];

#define APHI_COLOUR_OPTION(type, field) \
    APHI_CHOICE(type, field, "color", "WHEN", aphi_colour_names, "auto (default), always or never")
#define APHI_FORMAT_OPTION(type, field) \
    APHI_CHOICE(type, field, "format", "FORMAT", aphi_format_names, "auto (default), jsonl, jepsen-log, edn or json")
#define APHI_IGNORE_TIMES_OPTION(type, field) \
    APHI_FLAG(type, field, "ignore-times", "trust the order of the lines, even if their times run backwards")
#define APHI_ENVIRONMENT_OPTION(type, field, text) \
    {.name = "env", .kind = APHI_OPTION_CALL, .argument = "ENV", APHI_FIELD(type, field), \
     .choices = aphi_environment_names, .take = aphi_take_environment, .help = text}
/* An environment or a file with a network. */
#define APHI_NETWORK_OPTION(type, field, text) \
    {.name = "env", .kind = APHI_OPTION_CALL, .argument = "ENV", APHI_FIELD(type, field), \
     .choices = aphi_environment_names, .take = aphi_take_network, .help = text}
#define APHI_JSON_OPTION(type, field) APHI_FLAG(type, field, "json", "print one JSON object")

/* Takes the name of an environment into a const char *. */
int aphi_take_environment(void *field, const char *name, const char *value);
/* Also takes the name of a file with a network. */
int aphi_take_network(void *field, const char *name, const char *value);
/* Takes a fault, in the syntax of aphi_fault_parse, into a const char *. */
int aphi_take_fault(void *field, const char *name, const char *value);

/* --waive NAME, repeated */
typedef struct aphi_waived {
    const char *names[64];
    size_t count;
    bool known;     /* --waive known: all known violations of the subject */
} aphi_waived;

int aphi_take_waiver(void *field, const char *name, const char *value);
/* Allows the waived violations in the model. Returns false with a message on stderr if the model lacks one. */
bool aphi_waive_in(const aphi_waived *w, aph_model *model);
/* Like aphi_waive_in, for commands without a subject: rejects --waive known. */
bool aphi_waive_by_name(const aphi_waived *w, aph_model *model);

/* Loads the model that an operand names. Returns 0, or the exit code after a message on stderr. */
int aphi_open_model(const char *text, aph_loaded_model *model);
/* Loads the network if the environment is a file; otherwise network->network is NULL. Returns 0 or an exit code. */
int aphi_open_network(const char *environment, aph_loaded_network *network);
/* --mutate: a mutant by number or name. Returns NULL with a message on stderr if the model has none of that name. */
const aph_model *aphi_mutant_named(const aph_model *model, const char *which);
/* Returns a random seed that is short enough to type. */
uint64_t aphi_random_seed(void);

#endif
