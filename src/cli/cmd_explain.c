/* SPDX-License-Identifier: Apache-2.0
 *
 * cmd_explain.c - antiphon explain SPEC TRACE [EXPLANATION]: find an explanation of a trace, or confirm one.
 *
 * Idea:       to confirm an explanation, the trace is read again and the explanation is replayed on the model
 *             (src/oracle/replay.c), without the search and the solver. */
#include "cli/commands.h"

#include "base/plain_text.h"
#include "cli/exit_guard.h"
#include "cli/interrupt.h"
#include "cli/shared_options.h"
#include "report/check_report.h"

#include <errno.h>
#include <string.h>

typedef struct explain {
    aph_check_options check;
    aphi_waived waived;
} explain;

static const aphi_option explain_options[] = {
    APHI_FORMAT_OPTION(explain, check.format),
    APHI_IGNORE_TIMES_OPTION(explain, check.ignore_times),
    APHI_ENVIRONMENT_OPTION(explain, check.oracle.environment,
                            "network between clients and server: tcp (default), tcp:N, sync (default for .prog), udp"),
    APHI_FLAG(explain, check.oracle.whole, "whole",
              "do not split the state into partitions: one order of all requests"),
    APHI_CALL(explain, waived, "waive", "NAME", aphi_take_waiver,
              "allow a known violation that antiphon models SPEC lists; may be repeated"),
    {0}};

static int find_explanation(const aph_model *model, const char *file, const aph_check_options *options)
{
    aph_check_result *r = aph_check_file(model, file, options);
    int code = (int)aphi_exit_of_check(r);
    if (r->explanation) {
        aph_json_write(stdout, r->explanation);
        fputc('\n', stdout);
        if (!r->explanation_holds)
            aphi_complain("this explanation does not hold: a bug in Antiphon; report it");
        code = fflush(stdout) ? APHI_EXIT_WRITE : r->explanation_holds ? APHI_EXIT_PASS : APHI_EXIT_UNKNOWN;
    } else {
        aphi_buffer out = {0};
        aphi_terminal terminal = aphi_terminal_of(stderr, APHI_COLOUR_AUTO);
        aphi_check_report_detail(&out, r, model->words, &terminal);
        fwrite(out.data ? out.data : "", 1, out.n, stderr);
        aphi_buffer_free(&out);
    }
    aph_check_result_free(r);
    return code;
}

/* ---- confirming -------------------------------------------------------------------------------------------------- */

static bool read_explanation(const char *path, aph_value *explanation, int *code)
{
    aphi_buffer text = {0};
    aph_json_error error;
    if (!aphi_buffer_load(&text, path, SIZE_MAX)) {
        aphi_complain("%s: cannot be read: %s", path, strerror(errno));
        *code = APHI_EXIT_TRACE_IO;
        return false;
    }
    bool ok = aph_json_read(text.data ? text.data : "", text.n, explanation, &error);
    if (!ok)
        aphi_complain("%s: byte %zu: %s", path, error.offset + 1, error.message);
    *code = APHI_EXIT_TRACE_MALFORMED;
    aphi_buffer_free(&text);
    return ok;
}

static int confirm_explanation(const aph_model *model, const char *file, const aph_check_options *options,
                               const char *path)
{
    aph_value explanation;
    int code;
    if (!read_explanation(path, &explanation, &code))
        return code;
    aph_check_result *r = aph_check_explanation(model, file, options, explanation);
    if (r->verdict == APH_CHECK_ERROR)
        aphi_print(stderr, "%s:%llu:%llu: %s\n", file, (unsigned long long)r->line, (unsigned long long)r->column,
                   r->message);
    else
        aphi_print(stdout, "%s%s\n", r->verdict == APH_CHECK_PASS ? "holds" : "does not hold: ", r->message);
    code = (int)aphi_exit_of_check(r);
    aph_check_result_free(r);
    return code;
}

static int explain_command(int count, char **words)
{
    explain x = {.check.explain = true};
    aph_loaded_model spec;
    int code = aphi_options_read(&aphi_command_explain, &x, &count, words);
    if (code >= 0 || (code = aphi_open_model(words[0], &spec)))
        return code;
    if (!x.check.oracle.environment)
        x.check.oracle.environment = spec.environment;
    aph_model model = *spec.model;
    aphi_interrupt_watch(NULL);
    x.check.stop = &aphi_interrupted;
    code = APHI_EXIT_USAGE;
    if (aphi_waive_by_name(&x.waived, &model)) {
        aphi_exit_guard_forbid(true);
        code = count == 3 ? confirm_explanation(&model, words[1], &x.check, words[2])
                          : find_explanation(&model, words[1], &x.check);
        aphi_exit_guard_forbid(false);
    }
    aph_model_unload(&spec);
    return aphi_interrupted && code == APHI_EXIT_UNKNOWN ? APHI_EXIT_INTERRUPTED : code;
}

const aphi_command aphi_command_explain = {
    .name = "explain",
    .summary = "find an explanation of a trace, or confirm one by replay",
    .operands = "SPEC TRACE [EXPLANATION]",
    .description = "Without EXPLANATION: find an explanation and print it as JSON: for each partition of the state the "
                   "order in which the server takes the requests (numbers of observations, from 0) and the value of "
                   "each of its choices.\n"
                   "With EXPLANATION, a file with such JSON: replay it on the model and print whether it holds. The "
                   "replayer is independent of the search and of the solver.",
    .exit_codes = "0 explained, or it holds; 1 no explanation, or it does not hold; otherwise as for antiphon check.",
    .options = explain_options, .operands_min = 2, .operands_max = 3, .run = explain_command};
