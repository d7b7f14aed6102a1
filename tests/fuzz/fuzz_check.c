/* SPDX-License-Identifier: Apache-2.0
 *
 * fuzz_check.c - any trace gets a verdict from any built-in model, in any format; the model never crashes; the
 * promises do not turn a pass into a fail, or a fail into a pass; the reports of the result can be written.
 *
 * The first byte selects the model. */
#define JSON_PREFIX 1
#include "json_mutator.h"

#include <antiphon/check.h>
#include <assert.h>
#include "models/models.h"
#include "report/check_report.h"
#include "report/junit.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void write_reports(const aph_model *model, const aph_check_result *r)
{
    static const aphi_terminal terminal = {.colour = true, .unicode = true, .columns = 80};
    aphi_buffer text = {0};
    aphi_check_report_detail(&text, r, model->words, &terminal);
    aphi_result row = aphi_check_report_row(r, model->words, true);
    aphi_junit_write(&text, model->name, NULL, &row, 1);
    aphi_check_report_row_free(&row);
    aphi_buffer_free(&text);
    aph_value v = aph_check_result_value(r);
    assert(aph_kind_of(v) == APH_OBJECT);
}

static aph_check_result *check(const aph_model *model, const uint8_t *data, size_t size, bool ignore_promises)
{
    aph_check_options options = {.oracle = {.time_ms = 50, .memory = 128 << 20, .ignore_promises = ignore_promises},
                                 .explain = !ignore_promises};
    aph_check_result *r = aph_check_memory(model, data, size, &options);
    assert(r->verdict != APH_CHECK_ERROR || (r->error < APH_CHECK_MODEL_CRASH && *r->message));
    assert(r->verdict != APH_CHECK_PASS || ignore_promises || r->explanation_holds);
    return r;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    size_t n;
    const aph_model *const *models = aph_models(&n);
    if (size < 1 || size > 4096)
        return 0;
    const aph_model *model = models[data[0] % n];
    aph_check_result *r = check(model, data + 1, size - 1, false), *slow = check(model, data + 1, size - 1, true);
    /* An unknown request may be found or not. */
    bool passed = r->verdict == APH_CHECK_PASS || slow->verdict == APH_CHECK_PASS;
    bool failed = r->verdict == APH_CHECK_FAIL || slow->verdict == APH_CHECK_FAIL;
    assert(!passed || !failed);
    write_reports(model, r);
    aph_check_result_free(slow);
    aph_check_result_free(r);
    aph_collect();
    return 0;
}
