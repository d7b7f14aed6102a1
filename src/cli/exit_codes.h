/* SPDX-License-Identifier: Apache-2.0
 *
 * exit_codes.h - the exit codes of the program. One list has codes, names and texts. */
#ifndef APHI_CLI_EXIT_CODES_H
#define APHI_CLI_EXIT_CODES_H

#include "subject/presets.h"
#include "tester/campaign.h"

#include <antiphon/check.h>

#define APHI_EXITS(X) \
    X(PASS, 0, "every history is explained") \
    X(FAIL, 1, "some history is explained by nothing the model allows") \
    X(USAGE, 2, "the command line is not understood") \
    X(UNKNOWN, 3, "a limit of time, memory or the solver was hit before either was certain") \
    X(WRITE, 4, "a result could not be written") \
    X(INTERRUPTED, 5, "stopped by a signal; the results so far were written") \
    X(REPLAY, 6, "an explanation that was found does not hold: a bug of Antiphon, please report it") \
    X(VACUOUS, 7, "a run did not reach what it was meant to test") \
    X(STARVED, 8, "the subject owes an answer and has gone quiet") \
    X(DEAD, 9, "the subject refused us, dropped us, or is no more") \
    X(TRACE_IO, 10, "a trace cannot be read") \
    X(TRACE_FORMAT, 11, "the format of a trace is not known") \
    X(TRACE_MALFORMED, 12, "a trace is malformed") \
    X(TRACE_TRUNCATED, 13, "a trace ends too early") \
    X(TRACE_ORPHAN, 14, "a trace has an answer without a request") \
    X(TRACE_OVERLAP, 15, "in a trace a process does two things at once") \
    X(TRACE_RANGE, 16, "a trace has an integer beyond 64 bits") \
    X(TRACE_FRACTION, 17, "a trace has a number that is not an integer") \
    X(TRACE_NUL, 18, "a trace has a raw NUL byte") \
    X(TRACE_TYPE, 19, "a trace has an unknown type of operation") \
    X(TRACE_LONG, 20, "a line of a trace is too long") \
    X(TRACE_REQUEST, 21, "a trace has a request that the model does not know") \
    X(TRACE_EMPTY, 22, "a trace holds no request: nothing was checked") \
    X(MODEL_NO_SUCH, 30, "there is no such model") \
    X(MODEL_UNREADABLE, 31, "the file of a model cannot be read") \
    X(MODEL_SYNTAX, 32, "a program in Prog has an error") \
    X(MODEL_COMPILE, 33, "a model does not compile") \
    X(MODEL_SETUP, 34, "there is no compiler, no headers, or no place for the result") \
    X(MODEL_LOAD, 35, "a model cannot be loaded") \
    X(MODEL_NO_MAIN, 36, "a library holds no model") \
    X(MODEL_VERSION, 37, "a model was made for another version") \
    X(MODEL_CRASH, 38, "a model crashed") \
    X(MODEL_STUCK, 39, "a step of a model does not end") \
    X(MODEL_IMPURE, 40, "a model is not a pure function of its state and its answers") \
    X(MODEL_PROMISE, 41, "a model breaks a promise that it made") \
    X(MODEL_CALL, 42, "a model makes a call that means nothing") \
    X(MODEL_GENERATE, 43, "a model does not say what to send, or says it wrongly") \
    X(MODEL_CODEC, 44, "a model sends what is no message of its codec") \
    X(MALFORMED, 50, "the subject sent bytes that are no message of the protocol") \
    X(SUBJECT, 51, "the subject cannot be started or found") \
    X(SCRIPT, 52, "a script cannot be read, or is malformed") \
    X(LISTEN, 53, "a server cannot listen, or not go on") \
    X(PROGRAM_SYNTAX, 60, "a model of a message-passing program is malformed") \
    X(PROGRAM_MIXED, 61, "a state of a component mixes sends, receives or local events") \
    X(PROGRAM_AMBIGUOUS, 62, "a state of a component receives the same message in two ways") \
    X(PROGRAM_OPEN, 63, "a component uses a port that is not its to use") \
    X(PROGRAM_CYCLIC, 64, "a component can go in circles, and no bound was given") \
    X(PROGRAM_LARGE, 65, "a model of a message-passing program is too large") \
    X(CHECKPOINT, 66, "a checkpoint cannot be read, or is of another model") \
    X(RANKS, 67, "processes that search together cannot: one is silent, has another model, or MPI is missing") \
    X(PENDING, 68, "what is pending is more than memory may hold, and cannot be kept in a file") \
    X(PROGRAM, 70, "a program cannot be started, or does not use the threads library") \
    X(SEQUENCE, 71, "a sequence cannot be read, or has other threads and ports than the program") \
    X(DIVERGED, 72, "a program cannot follow a sequence: events are missing, extra or others") \
    X(DEADLOCK, 73, "threads of a program wait for ever") \
    X(ENDLESS, 74, "a program does not terminate") \
    X(CRASHED, 75, "a program crashed, or ended with an error") \
    X(MISMATCH, 76, "a model and a program do not have the same threads and ports") \
    X(SOURCE_IO, 80, "a C source cannot be read") \
    X(SOURCE_MALFORMED, 81, "a C source is none") \
    X(SOURCE_BUILD, 82, "a C source does not build even as it is") \
    X(SOURCE_TEST, 83, "a program fails its own test even as it is") \
    X(EQUIVALENTS, 84, "a list of equivalent mutants cannot be read, is malformed, or names none")

typedef enum aphi_exit {
#define X(name, code, text) APHI_EXIT_##name = code,
    APHI_EXITS(X)
#undef X
} aphi_exit;

aphi_exit aphi_exit_of_check(const aph_check_result *r);
aphi_exit aphi_exit_of_campaign(const aphi_campaign *c);
aphi_exit aphi_exit_of_load_error(const aph_load_error *e);
aphi_exit aphi_exit_of_preset(aphi_preset_status status);

#endif
