/* SPDX-License-Identifier: Apache-2.0
 *
 * exit_codes.c - the exit codes of results. */
#include "cli/exit_codes.h"

aphi_exit aphi_exit_of_check(const aph_check_result *r)
{
    static const aphi_exit by_error[] = {
        [APH_CHECK_OPTIONS] = APHI_EXIT_USAGE,
        [APH_CHECK_TRACE_IO] = APHI_EXIT_TRACE_IO,
        [APH_CHECK_TRACE_FORMAT] = APHI_EXIT_TRACE_FORMAT,
        [APH_CHECK_TRACE_MALFORMED] = APHI_EXIT_TRACE_MALFORMED,
        [APH_CHECK_TRACE_TRUNCATED] = APHI_EXIT_TRACE_TRUNCATED,
        [APH_CHECK_TRACE_ORPHAN] = APHI_EXIT_TRACE_ORPHAN,
        [APH_CHECK_TRACE_OVERLAP] = APHI_EXIT_TRACE_OVERLAP,
        [APH_CHECK_TRACE_RANGE] = APHI_EXIT_TRACE_RANGE,
        [APH_CHECK_TRACE_FRACTION] = APHI_EXIT_TRACE_FRACTION,
        [APH_CHECK_TRACE_NUL] = APHI_EXIT_TRACE_NUL,
        [APH_CHECK_TRACE_TYPE] = APHI_EXIT_TRACE_TYPE,
        [APH_CHECK_TRACE_LONG] = APHI_EXIT_TRACE_LONG,
        [APH_CHECK_TRACE_REQUEST] = APHI_EXIT_TRACE_REQUEST,
        [APH_CHECK_TRACE_EMPTY] = APHI_EXIT_TRACE_EMPTY,
        [APH_CHECK_TRACE_ORDER] = APHI_EXIT_TRACE_ORDER,
        [APH_CHECK_TRACE_DEEP] = APHI_EXIT_TRACE_DEEP,
        [APH_CHECK_MODEL_CRASH] = APHI_EXIT_MODEL_CRASH,
        [APH_CHECK_MODEL_STUCK] = APHI_EXIT_MODEL_STUCK,
        [APH_CHECK_MODEL_IMPURE] = APHI_EXIT_MODEL_IMPURE,
        [APH_CHECK_MODEL_PROMISE] = APHI_EXIT_MODEL_PROMISE,
        [APH_CHECK_MODEL_CALL] = APHI_EXIT_MODEL_CALL,
        [APH_CHECK_MODEL_CODEC] = APHI_EXIT_MODEL_CODEC};
    switch (r->verdict) {
    case APH_CHECK_PASS: return r->explanation && !r->explanation_holds ? APHI_EXIT_REPLAY : APHI_EXIT_PASS;
    case APH_CHECK_VACUOUS: return r->explanation && !r->explanation_holds ? APHI_EXIT_REPLAY : APHI_EXIT_VACUOUS;
    case APH_CHECK_FAIL: return APHI_EXIT_FAIL;
    case APH_CHECK_UNKNOWN: return r->limit == APH_LIMIT_STOPPED ? APHI_EXIT_INTERRUPTED : APHI_EXIT_UNKNOWN;
    case APH_CHECK_ERROR: break;
    }
    return by_error[r->error];
}

aphi_exit aphi_exit_of_campaign(const aphi_campaign *c)
{
    static const aphi_exit by_outcome[] = {
        [APHI_RUN_PASS] = APHI_EXIT_PASS,           [APHI_RUN_FAIL] = APHI_EXIT_FAIL,
        [APHI_RUN_UNKNOWN] = APHI_EXIT_UNKNOWN,     [APHI_RUN_STARVED] = APHI_EXIT_STARVED,
        [APHI_RUN_DEAD] = APHI_EXIT_DEAD,           [APHI_RUN_MALFORMED] = APHI_EXIT_MALFORMED,
        [APHI_RUN_VACUOUS] = APHI_EXIT_VACUOUS,     [APHI_RUN_STOPPED] = APHI_EXIT_INTERRUPTED};
    static const aphi_exit by_fault[] = {
        [APH_FAULT_NONE] = APHI_EXIT_WRITE,         [APH_FAULT_REQUEST] = APHI_EXIT_MODEL_GENERATE,
        [APH_FAULT_CRASH] = APHI_EXIT_MODEL_CRASH,  [APH_FAULT_STUCK] = APHI_EXIT_MODEL_STUCK,
        [APH_FAULT_IMPURE] = APHI_EXIT_MODEL_IMPURE, [APH_FAULT_PROMISE] = APHI_EXIT_MODEL_PROMISE,
        [APH_FAULT_CALL] = APHI_EXIT_MODEL_CALL,    [APH_FAULT_CODEC] = APHI_EXIT_MODEL_CODEC};
    if (c->outcome != APHI_RUN_TROUBLE)
        return by_outcome[c->outcome];
    if (c->bad_script)
        return APHI_EXIT_SCRIPT;
    if (c->run && c->run->unable)
        return APHI_EXIT_NETWORK;
    return c->locked ? APHI_EXIT_FOLDER : c->unstarted ? APHI_EXIT_SUBJECT : by_fault[c->fault];
}

aphi_exit aphi_exit_of_load_error(const aph_load_error *e)
{
    static const aphi_exit by_fault[] = {
        [APH_LOAD_NO_SUCH] = APHI_EXIT_MODEL_NO_SUCH,   [APH_LOAD_UNREADABLE] = APHI_EXIT_MODEL_UNREADABLE,
        [APH_LOAD_SYNTAX] = APHI_EXIT_MODEL_SYNTAX,     [APH_LOAD_COMPILE] = APHI_EXIT_MODEL_COMPILE,
        [APH_LOAD_SETUP] = APHI_EXIT_MODEL_SETUP,       [APH_LOAD_LIBRARY] = APHI_EXIT_MODEL_LOAD,
        [APH_LOAD_NO_MODEL] = APHI_EXIT_MODEL_NO_MAIN,  [APH_LOAD_VERSION] = APHI_EXIT_MODEL_VERSION};
    return by_fault[e->fault];
}

aphi_exit aphi_exit_of_preset(aphi_preset_status status)
{
    static const aphi_exit by_status[] = {[APHI_PRESET_READY] = APHI_EXIT_PASS,
                                          [APHI_PRESET_UNKNOWN] = APHI_EXIT_USAGE,
                                          [APHI_PRESET_MISSING] = APHI_EXIT_SUBJECT};
    return by_status[status];
}
