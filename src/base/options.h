/* SPDX-License-Identifier: Apache-2.0
 *
 * options.h - option tables of the commands, and the parser.
 *
 * Each command has one table, which drives parsing, --help, the manual page and shell completion. */
#ifndef APHI_BASE_OPTIONS_H
#define APHI_BASE_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

typedef enum aphi_option_kind {
    APHI_OPTION_FLAG,     /* bool */
    APHI_OPTION_TEXT,     /* const char * */
    APHI_OPTION_CHOICE,   /* an enum: the index in `choices` */
    APHI_OPTION_NUMBER,   /* an unsigned integer of 2, 4 or 8 bytes */
    APHI_OPTION_SIZE,     /* size_t, in bytes */
    APHI_OPTION_DURATION, /* int64_t, in nanoseconds */
    APHI_OPTION_CALL,     /* `take` stores the value */
} aphi_option_kind;

typedef struct aphi_option {
    const char *name;            /* without the dashes; NULL ends a table */
    char letter;                 /* of the short form, or 0 */
    aphi_option_kind kind;
    const char *argument;        /* its name in the help; NULL for flags */
    size_t at, size;             /* of the field in the command's options */
    uint64_t least, most;        /* limits of a number, a size in bytes or a duration in ns */
    int64_t bare_ns;             /* DURATION: unit of a number without a unit */
    const char *const *choices;  /* CHOICE: NULL-terminated. CALL: offered by completion only */
    /* CALL: returns 0, or APHI_OPTIONS_USAGE after it has printed a message. */
    int (*take)(void *field, const char *name, const char *value);
    /* Values that help and completion list: the i-th name with its meaning; NULL after the last. */
    const char *(*value_at)(size_t i, const char **meaning);
    size_t given;                /* 1 + offset of a bool that records that the option was given, or 0 */
    const char *help;
} aphi_option;

typedef struct aphi_command {
    const char *name, *summary;
    const char *operands;        /* as in the usage line, after [OPTION]... */
    const char *description;     /* paragraphs; a newline ends each but the last */
    const char *exit_codes;
    const aphi_option *options;
    int operands_min, operands_max; /* operands_max -1: no limit */
    bool runs_program;           /* options end at the first operand; the rest is the command line of a program */
    int (*run)(int count, char **words);
} aphi_command;

/* ---- rows of a table --------------------------------------------------------------------------------------------- */

#define APHI_FIELD(type, field) .at = offsetof(type, field), .size = sizeof(((type *)0)->field)
#define APHI_FLAG(type, field, option, text) \
    {.name = option, .kind = APHI_OPTION_FLAG, APHI_FIELD(type, field), .help = text}
#define APHI_TEXT(type, field, option, value, text) \
    {.name = option, .kind = APHI_OPTION_TEXT, .argument = value, APHI_FIELD(type, field), .help = text}
#define APHI_CHOICE(type, field, option, value, names, text) \
    {.name = option, .kind = APHI_OPTION_CHOICE, .argument = value, APHI_FIELD(type, field), .choices = names, \
     .help = text}
#define APHI_NUMBER(type, field, option, value, from, to, text) \
    {.name = option, .kind = APHI_OPTION_NUMBER, .argument = value, APHI_FIELD(type, field), .least = from, \
     .most = to, .help = text}
#define APHI_SIZE(type, field, option, from, text) \
    {.name = option, .kind = APHI_OPTION_SIZE, .argument = "MB", APHI_FIELD(type, field), .least = from, \
     .most = UINT64_C(1) << 50, .help = text}
#define APHI_DURATION(type, field, option, value, unit_ns, from, to, text) \
    {.name = option, .kind = APHI_OPTION_DURATION, .argument = value, APHI_FIELD(type, field), .bare_ns = unit_ns, \
     .least = from, .most = to, .help = text}
#define APHI_SECONDS(type, field, option, text) \
    APHI_DURATION(type, field, option, "DURATION", APHI_SECOND_NS, 0, 1000000000 * (uint64_t)APHI_SECOND_NS, text)
#define APHI_CALL(type, field, option, value, function, text) \
    {.name = option, .kind = APHI_OPTION_CALL, .argument = value, APHI_FIELD(type, field), .take = function, \
     .help = text}
#define APHI_JOBS(type, field, from, text) \
    {.name = "jobs", .letter = 'j', .kind = APHI_OPTION_NUMBER, .argument = "N", APHI_FIELD(type, field), \
     .least = from, .most = 256, .help = text}

#define APHI_MS_NS INT64_C(1000000)
#define APHI_SECOND_NS INT64_C(1000000000)

/* ---- parsing ----------------------------------------------------------------------------------------------------- */

/* Parses words[1] and up into the command's options. Returns a negative number if the command should run: words[0] and
 * up are then the *count operands, followed by NULL. Otherwise prints the help or an error message and returns the exit
 * code. */
int aphi_options_read(const aphi_command *command, void *options, int *count, char **words);

enum { APHI_OPTIONS_USAGE = 2, APHI_OPTIONS_UNWRITTEN = 4 };

/* Prints the help of a command, wrapped to the terminal. --help calls it. */
void aphi_options_help(const aphi_command *command, FILE *out);
/* Prints the section of a command in the manual page, as roff. The hidden option --print-manual calls it. */
void aphi_options_manual(const aphi_command *command, FILE *out);
void aphi_roff_entry(FILE *out, const char *tag, const char *text);
/* Prints text as roff; a newline begins a new paragraph. */
void aphi_roff_text(FILE *out, const char *text);
/* Prints a line for each option, for shell completion: its name, a tab, the words or "files" that may follow it, a tab,
 * and its help. The hidden option --print-completion calls it. */
void aphi_options_complete(const aphi_command *command, FILE *out);

/* Print "antiphon: " and a message on stderr. The first returns APHI_OPTIONS_USAGE. */
int aphi_usage(const char *format, ...) __attribute__((format(printf, 1, 2)));
void aphi_complain(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Flushes stdout. Returns the code, or APHI_OPTIONS_UNWRITTEN with a message if stdout could not be written. */
int aphi_written(int code);

/* ---- numbers and units ------------------------------------------------------------------------------------------- */

/* Accepts decimal digits only. Returns false if the text is not a number from least to most. */
bool aphi_parse_number(const char *text, uint64_t least, uint64_t most, uint64_t *value);
/* "20s", "500ms", "2m", "1h", "0.5"; a number without a unit is a multiple of bare_ns. Returns false if the text is not
 * a duration. */
bool aphi_parse_duration(const char *text, int64_t bare_ns, int64_t *ns);
/* "512K", "64M", "2G"; a number without a unit is in megabytes. Returns false if the text is not a size. */
bool aphi_parse_size(const char *text, uint64_t *bytes);

#endif
