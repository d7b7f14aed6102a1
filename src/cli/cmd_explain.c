/* SPDX-License-Identifier: Apache-2.0
 *
 * cmd_explain.c - antiphon explain SPEC TRACE [EXPLANATION]: find an explanation, or see whether one holds.
 *
 * Idea:       to see whether it holds, the trace is read again and the explanation replayed on the model
 *             (../oracle/replay.c): no search and no solver is involved, so whoever doubts those can still believe it.
 *             */
#include "cli/commands.h"

#include "base/buffer.h"
#include "check/history_capture.h"
#include "check/check_trace.h"
#include "check/exit_guard.h"
#include "report/check_report.h"
#include "check/model_loader.h"
#include "cli/waive_option.h"
#include "env/env.h"
#include "oracle/replay.h"

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

static int find(const aph_model *model, const char *file, const aphi_check_options *options)
{
    aph_value result = aphi_check_trace(model, file, options);
    aph_value explanation = aph_field(result, "explanation");
    if (explanation) {
        aph_json_write(stdout, explanation);
        fputc('\n', stdout);
        bool holds = aph_str_is(aph_field(result, "replay"), "holds");
        if (!holds)
            fputs("antiphon: this explanation does not hold: please report this as a bug\n", stderr);
        return fflush(stdout) ? APHI_EXIT_WRITE : holds ? APHI_EXIT_PASS : APHI_EXIT_UNKNOWN;
    }
    aphi_buffer out = {0};
    aphi_terminal terminal = aphi_terminal_of(stderr, APHI_COLOUR_AUTO);
    aphi_check_report_detail(&out, result, model->words, &terminal);
    fwrite(out.data ? out.data : "", 1, out.n, stderr);
    aphi_buffer_free(&out);
    return (int)aph_int_of(aph_field(result, "exit"));
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

static aph_value part_of(aph_value explanation, aph_value part)
{
    for (size_t i = 0; i < aph_count(explanation); i++)
        if (aph_field(aph_at(explanation, i), "part") == part)
            return aph_at(explanation, i);
    return APH_NIL;
}

static int replay_parts(const aph_model *model, const aphi_history_capture *all, aph_value explanation)
{
    for (size_t i = 0; i < all->count; i++) {
        char why[200];
        aph_value part = part_of(explanation, all->parts[i].part);
        if (part && aphi_replay(model, &all->parts[i].history, part, why, sizeof why))
            continue;
        char *name = aph_json_text(all->parts[i].part, NULL);
        printf("does not hold: %s%s%s%s\n", all->parts[i].part ? "part " : "", all->parts[i].part ? name : "",
               all->parts[i].part ? ": " : "", part ? why : "it is not explained");
        free(name);
        return APHI_EXIT_FAIL;
    }
    printf("holds\n");
    return APHI_EXIT_PASS;
}

static int confirm(const aph_model *model, const char *file, const aphi_check_options *options, const char *path)
{
    aph_model its = aphi_model_in(model, options->oracle.environment);
    aph_value explanation;
    int status, code;
    if (!read_explanation(path, &explanation, &code))
        return code;
    aphi_trace *trace = aphi_trace_open(file, &(aphi_trace_options){.format = options->format, .model = &its});
    aphi_lookahead *ahead = aphi_lookahead_open(trace);
    aphi_history_capture all;
    aphi_lookahead_event o;
    aphi_history_capture_init(&all, &its, options->oracle.environment,
                              aph_has(aph_at(explanation, 0), aph_str("part")));
    while ((status = aphi_lookahead_next(ahead, &o)) > 0)
        aphi_history_capture_add(&all, &o, aphi_trace_paired(trace));
    if (status < 0) {
        const aphi_trace_error *e = aphi_trace_error_of(trace);
        fprintf(stderr, "%s:%llu:%llu: %s\n", file, (unsigned long long)e->line, (unsigned long long)e->column,
                e->message);
        code = APHI_EXIT_TRACE_IO + (int)(e->fault - APHI_TRACE_IO);
    } else {
        code = replay_parts(&its, &all, explanation);
    }
    aphi_history_capture_deinit(&all);
    aphi_lookahead_close(ahead);
    aphi_trace_close(trace);
    return code;
}

static int run(aphi_check_options *options, const aphi_waived *waived, int count, char **words)
{
    aphi_loaded_model spec;
    aphi_model_loader_error error;
    if (!aphi_model_loader_open(words[0], &spec, &error)) {
        fprintf(stderr, "antiphon: %s\n", error.message);
        return APHI_EXIT_MODEL_NO_SUCH + (int)error.fault;
    }
    if (!options->oracle.environment)
        options->oracle.environment = spec.kind == APHI_LOADER_PROG ? "sync" : "tcp";
    aph_model model = *spec.model;
    int code = APHI_EXIT_USAGE;
    if (aphi_waive_by_name(waived, &model)) {
        aphi_exit_guard_forbid(true);
        code = count == 3 ? confirm(&model, words[1], options, words[2]) : find(&model, words[1], options);
        aphi_exit_guard_forbid(false);
    }
    aphi_model_loader_close(&spec);
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
    aphi_check_options options = {.explain = true};
    aphi_waived waived = {0};
    int option;
    optind = 1;
    opterr = 0;
    while ((option = getopt_long(count, words, "h", known, NULL)) != -1)
        switch (option) {
        case 'f':
            if (!aphi_trace_format_named(optarg, &options.format))
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
