/* SPDX-License-Identifier: Apache-2.0
 *
 * exit_codes.h - the exit codes of the program. One list has all codes, names and texts. */
#ifndef APHI_CLI_EXIT_CODES_H
#define APHI_CLI_EXIT_CODES_H

#include "subject/presets.h"
#include "tester/campaign.h"

#include <antiphon/check.h>

#define APHI_EXITS(X) \
    X(PASS, 0, "the model explains every history") \
    X(FAIL, 1, "the model does not explain a history") \
    X(USAGE, 2, "invalid command line") \
    X(UNKNOWN, 3, "a time, memory or solver limit was reached first") \
    X(WRITE, 4, "a result could not be written") \
    X(INTERRUPTED, 5, "stopped by a signal; the results so far were written") \
    X(REPLAY, 6, "an explanation does not hold: a bug in Antiphon; report it") \
    X(VACUOUS, 7, "the runs did not reach the behaviour to test, or a trace has no response") \
    X(STARVED, 8, "the subject does not respond to a pending request") \
    X(DEAD, 9, "the subject refuses connections, closes them, or has exited") \
    X(TRACE_IO, 10, "a trace cannot be read") \
    X(TRACE_FORMAT, 11, "a trace has an unknown format") \
    X(TRACE_MALFORMED, 12, "a trace is malformed") \
    X(TRACE_TRUNCATED, 13, "a trace is truncated") \
    X(TRACE_ORPHAN, 14, "a trace has a response without a request") \
    X(TRACE_OVERLAP, 15, "a process in a trace has two operations at once") \
    X(TRACE_RANGE, 16, "a trace has an integer beyond 64 bits") \
    X(TRACE_FRACTION, 17, "a trace has a number that is not an integer") \
    X(TRACE_NUL, 18, "a trace has a raw NUL byte") \
    X(TRACE_TYPE, 19, "a trace has an unknown type of operation") \
    X(TRACE_LONG, 20, "a line of a trace is too long") \
    X(TRACE_REQUEST, 21, "a trace has a request that the model does not know") \
    X(TRACE_EMPTY, 22, "a trace has no request: nothing was checked") \
    X(TRACE_ORDER, 23, "the times of a trace run backwards") \
    X(TRACE_DEEP, 24, "a trace has values that are nested too deeply") \
    X(MODEL_NO_SUCH, 30, "no such model") \
    X(MODEL_UNREADABLE, 31, "a model file cannot be read") \
    X(MODEL_SYNTAX, 32, "a program in Prog has an error") \
    X(MODEL_COMPILE, 33, "a model does not compile") \
    X(MODEL_SETUP, 34, "no compiler, no headers, or no writable folder for a compiled model") \
    X(MODEL_LOAD, 35, "a model cannot be loaded") \
    X(MODEL_NO_MAIN, 36, "a library has no model") \
    X(MODEL_VERSION, 37, "a model was compiled for another version") \
    X(MODEL_CRASH, 38, "a model crashed") \
    X(MODEL_STUCK, 39, "a step of a model does not end") \
    X(MODEL_IMPURE, 40, "a model is not a pure function of its state and its answers") \
    X(MODEL_PROMISE, 41, "a model breaks one of its promises") \
    X(MODEL_CALL, 42, "a model makes an invalid call") \
    X(MODEL_GENERATE, 43, "a model has no valid generator of requests") \
    X(MODEL_CODEC, 44, "a model sends a message that its codec cannot encode, or reads as another one") \
    X(MALFORMED, 50, "the subject sent bytes that are not a valid protocol message") \
    X(SUBJECT, 51, "the subject cannot be started or found") \
    X(SCRIPT, 52, "a script cannot be read or is malformed") \
    X(LISTEN, 53, "a server cannot listen or cannot continue") \
    X(FOLDER, 54, "another test uses the folder") \
    X(NETWORK, 55, "the system allows no connection: no network, port or descriptor") \
    X(PROGRAM_SYNTAX, 60, "a model of a message-passing program is malformed") \
    X(PROGRAM_MIXED, 61, "a state of a component mixes sends, receives and local events") \
    X(PROGRAM_AMBIGUOUS, 62, "a state of a component receives the same message in two ways") \
    X(PROGRAM_OPEN, 63, "a component uses a port of another component") \
    X(PROGRAM_CYCLIC, 64, "a component has a cycle, and --unroll was not given") \
    X(PROGRAM_LARGE, 65, "a model of a message-passing program is too large") \
    X(CHECKPOINT, 66, "a checkpoint cannot be read, or belongs to another model") \
    X(RANKS, 67, "mpirun processes cannot search together: one is silent, models differ, or MPI is missing") \
    X(PENDING, 68, "pending work exceeds the memory limit and cannot be kept in a file") \
    X(PROGRAM, 70, "a program cannot be started, or does not use the threads library") \
    X(SEQUENCE, 71, "a sequence cannot be read, or its threads or ports differ from those of the program") \
    X(DIVERGED, 72, "a program cannot follow a sequence") \
    X(DEADLOCK, 73, "a program deadlocks") \
    X(ENDLESS, 74, "a program does not terminate") \
    X(CRASHED, 75, "a program crashed or failed") \
    X(MISMATCH, 76, "a model and a program have different threads or ports") \
    X(SOURCE_IO, 80, "a C source cannot be read") \
    X(SOURCE_MALFORMED, 81, "a file is not C") \
    X(SOURCE_BUILD, 82, "an unmutated C source does not build") \
    X(SOURCE_TEST, 83, "an unmutated C source fails the test") \
    X(EQUIVALENTS, 84, "a list of equivalent mutants cannot be read, or is invalid")

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
