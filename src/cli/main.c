/* SPDX-License-Identifier: Apache-2.0
 *
 * main.c - dispatch to a command. */
#include "cli/commands.h"

#include "base/memory.h"
#include "cli/exit_codes.h"
#include "solve/z3.h"
#include "tree/step_guard.h"

#include <antiphon/value.h>

#include <signal.h>
#include <string.h>

#ifndef APHI_VERSION
#define APHI_VERSION "0.1.0"
#endif

static const aphi_command *const commands[] = {
    &aphi_command_check,   &aphi_command_explain, &aphi_command_test,   &aphi_command_survey, &aphi_command_replay,
    &aphi_command_init,    &aphi_command_models,  &aphi_command_refine, &aphi_command_reach,  &aphi_command_serve,
    &aphi_command_subject, &aphi_command_fault,   &aphi_command_mutate, &aphi_command_explore, &aphi_command_conform,
    NULL};

static void print_overview(FILE *out)
{
    fputs("antiphon - model-based testing of servers and message-passing programs\n\n"
          "usage: antiphon COMMAND ...\n\n", out);
    for (const aphi_command *const *c = commands; *c; c++)
        fprintf(out, "  %-10s %s\n", (*c)->name, (*c)->summary);
    fputs("  help       print this text, or the help of a command\n"
          "  version    print the version\n\n"
          "exit codes:\n", out);
#define X(name, code, text) fprintf(out, "  %3d  %s\n", code, text);
    APHI_EXITS(X)
#undef X
}

static const aphi_command *command_named(const char *name)
{
    for (const aphi_command *const *c = commands; *c; c++)
        if (!strcmp(name, (*c)->name))
            return *c;
    aphi_usage("%s: no such command; see antiphon help", name);
    return NULL;
}

/* Handles help [COMMAND]. The word --man prints the manual page; --help is the same as no word. */
static int print_help(int count, char **words)
{
    const aphi_command *command = NULL;
    if (count > 0 && (!strcmp(words[0], "--help") || !strcmp(words[0], "-h")))
        count = 0;
    if (count > 0 && !strcmp(words[0], "--man")) {
        aphi_manual_write(commands, APHI_VERSION, stdout);
        return aphi_written(APHI_EXIT_PASS);
    }
    if (count > 0 && (command = command_named(words[0])))
        return command->run(2, (char *[]){words[0], "--help", NULL});
    if (count > 0)
        return APHI_EXIT_USAGE;
    print_overview(stdout);
    return aphi_written(APHI_EXIT_PASS);
}

static int run_command(int count, char **words)
{
    if (!strcmp(words[0], "version") || !strcmp(words[0], "--version")) {
        puts("antiphon " APHI_VERSION);
        return aphi_written(APHI_EXIT_PASS);
    }
    if (!strcmp(words[0], "help") || !strcmp(words[0], "--help") || !strcmp(words[0], "-h"))
        return print_help(count - 1, words + 1);
    const aphi_command *command = command_named(words[0]);
    return command ? command->run(count, words) : APHI_EXIT_USAGE;
}

/* ---- lack of memory ---------------------------------------------------------------------------------------------- */

enum { CRASHES = 3 };
static struct crash {
    int number;
    struct sigaction old;
} crashes[CRASHES] = {{.number = SIGSEGV}, {.number = SIGBUS}, {.number = SIGABRT}};

/* Called if memory is exhausted. */
static void flush_output(void *context)
{
    (void)context;
    fflush(stdout);
}

/* A crash inside the solver is a lack of memory. Any other crash gets the default action of its signal. */
static void on_crash(int number, siginfo_t *info, void *context)
{
    (void)context;
    if (aphi_z3_is_running())
        aphi_memory_exhausted("the solver crashed, usually because an allocation failed");
    for (int i = 0; i < CRASHES; i++)
        if (crashes[i].number == number)
            sigaction(number, &crashes[i].old, NULL);
    if (info->si_code <= 0) /* sent by a process; otherwise, the instruction is repeated */
        raise(number);
}

static void watch_crashes(void)
{
    struct sigaction action = {.sa_sigaction = on_crash, .sa_flags = SA_SIGINFO};
    sigemptyset(&action.sa_mask);
    for (int i = 0; i < CRASHES; i++)
        sigaction(crashes[i].number, &action, &crashes[i].old);
}

/* A function of the model, such as .words, failed after the result was known. */
static int add_call_fault(int code)
{
    const char *message;
    aph_fault fault = aphi_guard_call_fault(&message);
    if (!fault || code == APHI_EXIT_MODEL_CRASH || code == APHI_EXIT_MODEL_STUCK)
        return code;
    aphi_complain("the model: %s", message);
    return fault == APH_FAULT_CRASH ? APHI_EXIT_MODEL_CRASH : APHI_EXIT_MODEL_STUCK;
}

int main(int count, char **words)
{
    if (count < 2) {
        print_overview(stderr);
        return APHI_EXIT_USAGE;
    }
    aphi_memory_set_exit(APHI_EXIT_UNKNOWN);
    aphi_rescue_add(&(aphi_rescue){.save = flush_output});
    watch_crashes();
    int code = add_call_fault(run_command(count - 1, words + 1));
    aphi_z3_close();
    aph_heap_close();
    return code;
}
