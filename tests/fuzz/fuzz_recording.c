/* SPDX-License-Identifier: Apache-2.0
 *
 * fuzz_recording.c - any JSON yields a sequence or an error with a message; a sequence that is written reads
 * back the same. */
#include "json_mutator.h"

#include <assert.h>
#include <stdlib.h>
#include "execute/recording.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void write_and_read(aphi_layout *layout, const aphi_recording *r)
{
    aphi_recording again = {0};
    aphi_buffer text = {0};
    char error[300];
    aph_value v;
    aph_json_error json;
    aphi_recording_write(layout, r, NULL, 1, &text);
    assert(aph_json_read(text.data, text.n, &v, &json));
    assert(aphi_recording_read(layout, v, &again, error, sizeof error));
    assert(again.end == r->end && aphi_recording_equal(layout, r, &again));
    aphi_recording_free(&again);
    aphi_buffer_free(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    aphi_layout layout = {0};
    aphi_recording r = {0};
    char error[300] = "";
    aph_value v;
    aph_json_error json;
    aphi_layout_add_thread(&layout, "A");
    aphi_layout_add_thread(&layout, "B");
    aphi_layout_add_port(&layout, "p", 1, APHI_MEDIUM_PAIR, 0);
    if (aph_json_read((const char *)data, size, &v, &json)) {
        if (aphi_recording_read(&layout, v, &r, error, sizeof error))
            write_and_read(&layout, &r);
        else
            assert(*error);
    }
    aphi_recording_free(&r);
    aphi_layout_free(&layout);
    aph_collect();
    return 0;
}
