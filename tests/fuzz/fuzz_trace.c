/* SPDX-License-Identifier: Apache-2.0
 *
 * fuzz_trace.c - any input yields a trace in JSON, native or from Jepsen, or an error with a position.
 *
 * The first byte selects the format and the size of the small window.
 */
#include "read_twice.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const aph_trace_format formats[] = {APH_FORMAT_JSONL, APH_FORMAT_JSON, APH_FORMAT_AUTO};
    if (size == 0)
        return 0;
    aphi_trace_options options = {.format = formats[data[0] % 3]};
    read_twice(data + 1, size - 1, options, 1 + data[0] / 3);
    foresee(data + 1, size - 1, options);
    aph_collect();
    return 0;
}
