/* SPDX-License-Identifier: Apache-2.0
 *
 * reach_count.c - antiphon reach --count: the number of sequences, without visiting them. */
#include "cli/reach_count.h"

#include "base/clock.h"
#include "cli/exit_codes.h"
#include "explore/counting.h"
#include "report/terminal.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { PARTS = 1000000 };

static void show_progress(double share)
{
    aphi_progress_at((uint64_t)(share * PARTS));
}

static void tell_json(const aphi_alts *alts, const aphi_sequence_count *c, int64_t ns)
{
    char sequences[APHI_UINT128_TEXT], deadlocks[APHI_UINT128_TEXT];
    bool complete = !c->stopped && !c->overflow;
    printf("{\"model\":\"%s\",\"complete\":%s", alts->name, complete ? "true" : "false");
    if (complete)
        printf(",\"po\":%s,\"deadlocks\":%s", aphi_uint128_text(c->sequences, sequences),
               aphi_uint128_text(c->deadlocks, deadlocks));
    printf(",\"situations\":%zu,\"seconds\":%.6f}\n", c->states, (double)ns / 1e9);
}

/* In groups of three digits. */
static void put_wide(aphi_buffer *out, aphi_uint128 number)
{
    char text[APHI_UINT128_TEXT];
    size_t n = strlen(aphi_uint128_text(number, text));
    for (size_t i = 0; i < n; i++) {
        if (i && (n - i) % 3 == 0)
            aphi_buffer_byte(out, ',');
        aphi_buffer_byte(out, text[i]);
    }
}

static void tell_text(const aphi_alts *alts, const aphi_sequence_count *c, int64_t ns)
{
    aphi_buffer out = {0};
    aphi_buffer_format(&out, "%s: ", alts->name);
    if (c->too_large) {
        aphi_buffer_str(&out, "more memory is needed to count the sequences, --memory MB allows it");
    } else if (c->stopped) {
        aphi_buffer_str(&out, "interrupted before all sequences were counted");
    } else if (c->overflow) {
        aphi_buffer_str(&out, "more sequences than 128 bits hold");
    } else {
        put_wide(&out, c->sequences);
        aphi_buffer_str(&out, c->sequences == 1 ? " sequence, " : " sequences, ");
        put_wide(&out, c->deadlocks);
        aphi_buffer_format(&out, " of them deadlock%s", c->deadlocks == 1 ? "s" : "");
    }
    aphi_buffer_str(&out, "; ");
    aphi_report_count(&out, c->states);
    aphi_buffer_format(&out, " situation%s, in ", c->states == 1 ? "" : "s");
    aphi_report_duration(&out, ns);
    aphi_buffer_byte(&out, '\n');
    fwrite(out.data, 1, out.n, stdout);
    aphi_buffer_free(&out);
}

int aphi_count(const aphi_alts *alts, size_t bytes, bool json, const volatile sig_atomic_t *stop)
{
    aphi_compiled_model plan;
    char why[300];
    if (!aphi_compiled_model_build(&plan, alts, why, sizeof why)) {
        fprintf(stderr, "antiphon: %s: %s\n", alts->name, why);
        return APHI_EXIT_PROGRAM_LARGE;
    }
    int64_t begun = aphi_clock_ns();
    aphi_progress_begin("counting, in parts of a million", PARTS);
    aphi_sequence_count counted = aphi_count_sequences(&plan, bytes, stop, show_progress);
    aphi_progress_end();
    int64_t ns = aphi_clock_ns() - begun;
    aphi_compiled_model_free(&plan);
    if (json)
        tell_json(alts, &counted, ns);
    else
        tell_text(alts, &counted, ns);
    if (fflush(stdout) || ferror(stdout)) {
        fprintf(stderr, "antiphon: the result could not be written: %s\n", strerror(errno));
        return APHI_EXIT_WRITE;
    }
    if (counted.stopped && !counted.too_large)
        return APHI_EXIT_INTERRUPTED;
    return counted.overflow || counted.too_large ? APHI_EXIT_UNKNOWN : APHI_EXIT_PASS;
}
