/* SPDX-License-Identifier: Apache-2.0
 *
 * fuzz_prog.c - any input yields a Prog program, or an error with a position and a message. */
#include "models/prog.h"

#include <assert.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    aph_prog_error error = {0};
    aph_model *model = aph_prog_read((const char *)data, size, "fuzz", &error);

    assert(model || (error.line >= 1 && error.column >= 1 && strlen(error.message) > 0));
    aph_prog_free(model);
    return 0;
}
