/* SPDX-License-Identifier: Apache-2.0
 *
 * main.c - which command? */
#include "cli/commands.h"
#include "cli/exit_codes.h"
#include "solve/z3.h"

#include <antiphon/value.h>

#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef APHI_VERSION
#define APHI_VERSION "0.1.0"
#endif

static const struct command {
    const char *name;
    int (*run)(int count, char **words);
    const char *summary;
} commands[] = {
    {"check", aphi_command_check, "can a model explain these recorded histories?"},
    {"explain", aphi_command_explain, "find an explanation, or confirm one by replaying it on the model"},
    {"test", aphi_command_test, "does a running server behave as a model allows?"},
    {"survey", aphi_command_survey, "what does a server choose, and what does it break? A page for each"},
    {"replay", aphi_command_replay, "run a script of antiphon test again"},
    {"init", aphi_command_init, "begin a model of your own"},
    {"models", aphi_command_models, "list the built-in models, or the mutants of one"},
    {"refine", aphi_command_refine, "does one model's behaviour across the network stay within another's?"},
    {"reach", aphi_command_reach, "visit every partially ordered run of a message-passing program, once"},
    {"serve", aphi_command_serve, "run a model as a server"},
    {"subject", aphi_command_subject, "start a server that Antiphon knows how to test, or list them"},
    {"fault", aphi_command_fault, "stand before a server and break one thing in what passes"},
    {"mutate", aphi_command_mutate, "mutation testing of a C source"},
    {"explore", aphi_command_explore, "run a message-passing program in every order of its messages"},
    {"conform", aphi_command_conform, "does a message-passing program do what its model says, and nothing else?"},
};
enum { COMMANDS = sizeof commands / sizeof *commands };

int aphi_usage(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fputs("antiphon: ", stderr);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    va_end(args);
    return APHI_EXIT_USAGE;
}

bool aphi_is_number(const char *text, uint64_t least, uint64_t most, uint64_t *value)
{
    char *end;
    errno = 0;
    *value = strtoull(text, &end, 10);
    return *text >= '0' && *text <= '9' && !*end && !errno && *value >= least && *value <= most;
}

int aphi_take_number(const char *name, uint64_t least, uint64_t most, uint64_t *value)
{
    if (aphi_is_number(optarg, least, most, value))
        return 0;
    return aphi_usage("--%s %s: a number from %llu to %llu, please", name, optarg, (unsigned long long)least,
                      (unsigned long long)most);
}

static void help(FILE *out)
{
    fputs("antiphon - does a networked or concurrent system do what its protocol says?\n\n"
          "usage: antiphon COMMAND ...\n\n", out);
    for (int i = 0; i < COMMANDS; i++)
        fprintf(out, "  %-10s %s\n", commands[i].name, commands[i].summary);
    fputs("  help       this, or with a command, its own help\n"
          "  version    print the version\n\n"
          "exit codes:\n", out);
#define X(name, code, text) fprintf(out, "  %3d  %s\n", code, text);
    APHI_EXITS(X)
#undef X
}

static int run(int count, char **words)
{
    for (int i = 0; i < COMMANDS; i++)
        if (!strcmp(words[0], commands[i].name))
            return commands[i].run(count, words);
    return aphi_usage("there is no command %s; see antiphon help", words[0]);
}

int main(int count, char **words)
{
    int code = APHI_EXIT_PASS;
    if (count < 2) {
        help(stderr);
        return APHI_EXIT_USAGE;
    }
    if (!strcmp(words[1], "version") || !strcmp(words[1], "--version")) {
        puts("antiphon " APHI_VERSION);
    } else if (!strcmp(words[1], "help") || !strcmp(words[1], "--help") || !strcmp(words[1], "-h")) {
        if (count > 2)
            code = run(2, (char *[]){words[2], "--help", NULL});
        else
            help(stdout);
    } else {
        code = run(count - 1, words + 1);
    }
    aphi_z3_close();
    aph_heap_close();
    return code;
}
