/* SPDX-License-Identifier: Apache-2.0
 *
 * fuzz_explanation.c - any explanation of any trace holds or does not hold, with a reason; if it holds, the check of
 * the trace does not fail.
 *
 * The first byte selects the model; the first line is the explanation, and the others are the trace. */
#define JSON_PREFIX 1
#include "json_mutator.h"

#include <antiphon/check.h>
#include "memory_file.h"
#include "models/models.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void confirm(const aph_model *model, aph_value explanation, const char *trace, size_t size)
{
    memory_file file = memory_file_make("", 0, trace, size);
    aph_check_options options = {.oracle = {.time_ms = 50, .memory = 128 << 20}};
    aph_check_result *r = aph_check_explanation(model, file.path, &options, explanation);
    assert(r->verdict == APH_CHECK_PASS || *r->message);
    if (r->verdict == APH_CHECK_PASS) {
        aph_check_result *again = aph_check_memory(model, trace, size, &options);
        assert(again->verdict != APH_CHECK_FAIL);
        aph_check_result_free(again);
    }
    aph_check_result_free(r);
    memory_file_close(&file);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    size_t n;
    const aph_model *const *models = aph_models(&n);
    if (size < 1 || size > 4096)
        return 0;
    const char *text = (const char *)data + 1, *end = memchr(text, '\n', size - 1);
    aph_value explanation;
    if (end && aph_json_read(text, (size_t)(end - text), &explanation, NULL))
        confirm(models[data[0] % n], explanation, end + 1, size - 1 - (size_t)(end + 1 - text));
    aph_collect();
    return 0;
}
