/* SPDX-License-Identifier: Apache-2.0
 *
 * cmd_explain.c - antiphon explain SPEC TRACE [EXPLANATION]: find an explanation, or see whether one holds.
 *
 * Idea:       to see whether it holds, the trace is read again and the explanation replayed on the model
 *             (../oracle/replay.c): no search and no solver is involved, so whoever doubts those can still believe it.
 *             */
#include "cli/commands.h"

#include "base/buffer.h"
#include "cli/exit_codes.h"
#include "cli/exit_guard.h"
#include "report/check_report.h"
#include <antiphon/check.h>
#include "cli/waive_option.h"
#include "env/env.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void help(void)
{
    fputs("usage: antiphon explain [OPTION]... SPEC TRACE [EXPLANATION]\n\n"
          "Without EXPLANATION: find one, and print it as JSON: for each part of the state the order in which the "
          "server took\n"
          "the requests (numbers of observations, from 0) and what each of its choices was.\n"
          "With EXPLANATION, a file with such JSON: replay it on the model and say whether it holds. The replayer is a "
          "small\n"
          "program of its own that searches nothing and solves nothing.\n\n"
          "  --format FORMAT   auto (default), jsonl, jepsen-log, edn or json\n"
          "  --env ENV         tcp (default; sync for .prog), tcp:N, sync or udp\n"
          "  --whole           keep the state in one piece: one order over all requests\n"
          "  --waive NAME      allow a known violation, one of those that antiphon models SPEC lists\n"
          "  --help            this\n\n"
          "exit codes: 0 explained, or it holds; 1 nothing explains it, or it does not hold; else as for antiphon "
          "check.\n",
          stdout);
}

static int find_explanation(const aph_model *model, const char *file, const aph_check_options *options)
{
    aph_check_result *r = aph_check_file(model, file, options);
    int code = (int)aphi_exit_of_check(r);
    if (r->explanation) {
        aph_json_write(stdout, r->explanation);
        fputc('\n', stdout);
        if (!r->explanation_holds)
            fputs("antiphon: this explanation does not hold: please report this as a bug\n", stderr);
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

/* ---- does it hold? ----------------------------------------------------------------------------------------------- */

static bool read_explanation(const char *path, aph_value *explanation, int *code)
{
    aphi_buffer text = {0};
    aph_json_error error;
    FILE *file = fopen(path, "r");
    if (!file) {
        fprintf(stderr, "antiphon: %s: %s\n", path, strerror(errno));
        *code = APHI_EXIT_TRACE_IO;
        return false;
    }
    aphi_buffer_read(&text, file, SIZE_MAX);
    fclose(file);
    bool ok = aph_json_read(text.data ? text.data : "", text.n, explanation, &error);
    if (!ok)
        fprintf(stderr, "antiphon: %s: byte %zu: %s\n", path, error.offset + 1, error.message);
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
        fprintf(stderr, "%s:%llu:%llu: %s\n", file, (unsigned long long)r->line, (unsigned long long)r->column,
                r->message);
    else
        printf("%s%s\n", r->verdict == APH_CHECK_PASS ? "holds" : "does not hold: ", r->message);
    code = (int)aphi_exit_of_check(r);
    aph_check_result_free(r);
    return code;
}

static int run(aph_check_options *options, const aphi_waived *waived, int count, char **words)
{
    aph_loaded_model spec;
    aph_load_error error;
    if (!aph_model_load(words[0], &spec, &error)) {
        fprintf(stderr, "antiphon: %s\n", error.message);
        return (int)aphi_exit_of_load_error(&error);
    }
    if (!options->oracle.environment)
        options->oracle.environment = spec.environment;
    aph_model model = *spec.model;
    int code = APHI_EXIT_USAGE;
    if (aphi_waive_by_name(waived, &model)) {
        aphi_exit_guard_forbid(true);
        code = count == 3 ? confirm_explanation(&model, words[1], options, words[2])
                          : find_explanation(&model, words[1], options);
        aphi_exit_guard_forbid(false);
    }
    aph_model_unload(&spec);
    return code;
}

int aphi_command_explain(int count, char **words)
{
    static const struct option known[] = {{"format", required_argument, NULL, 'f'},
                                          {"env", required_argument, NULL, 'e'},
                                          {"whole", no_argument, NULL, 'w'},
                                          {"waive", required_argument, NULL, 'v'},
                                          {"help", no_argument, NULL, 'h'},
                                          {NULL, 0, NULL, 0}};
    aph_check_options options = {.explain = true};
    aphi_waived waived = {0};
    int option;
    optind = 1;
    opterr = 0;
    while ((option = getopt_long(count, words, "h", known, NULL)) != -1)
        switch (option) {
        case 'f':
            if (!aph_trace_format_named(optarg, &options.format))
                return aphi_usage("--format %s: there are auto, jsonl, jepsen-log, edn and json", optarg);
            break;
        case 'e':
            if (!aphi_env_named(optarg, &(aphi_env){0}))
                return aphi_usage("--env %s: there are " APHI_ENV_NAMES, optarg);
            options.oracle.environment = optarg;
            break;
        case 'w': options.oracle.whole = true; break;
        case 'v':
            if (aphi_waive_add(&waived, optarg))
                return APHI_EXIT_USAGE;
            break;
        case 'h': help(); return APHI_EXIT_PASS;
        default: return aphi_usage("%s: not understood; see antiphon explain --help", words[optind - 1]);
        }
    if (count - optind < 2 || count - optind > 3)
        return aphi_usage("explain takes a model, a trace and perhaps an explanation; see antiphon explain --help");
    return run(&options, &waived, count - optind, words + optind);
}
