/* SPDX-License-Identifier: Apache-2.0
 *
 * fuzz_json.c - any input yields a value that survives writing and reading, or an error with a position. */
#include <antiphon/value.h>
#include <assert.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    aph_value v, again;
    aph_json_error error = {0};
    if (aph_json_read((const char *)data, size, &v, &error)) {
        size_t n;
        char *text = aph_json_text(v, &n);
        assert(strlen(text) == n);
        assert(aph_json_read(text, n, &again, &error) && again == v);
        free(text);
    } else {
        assert(error.offset <= size && strlen(error.message) > 0);
    }
    aph_collect();
    return 0;
}
