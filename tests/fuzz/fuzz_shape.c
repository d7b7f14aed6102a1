/* SPDX-License-Identifier: Apache-2.0
 *
 * fuzz_shape.c - any text yields a shape that draws encodable requests, or an error with a message. */
#include "json_mutator.h"

#include <assert.h>
#include <stdlib.h>
#include "base/memory.h"
#include "generate/generator_api.h"
#include "generate/request_shape.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void draw_some(aphi_request_shape *shape)
{
    aphi_labelled *seen = aphi_labelled_open(16);
    aphi_knowledge known = {.seen = seen};
    aph_gen g = {.known = &known, .choice = aphi_choice_seed(1)};
    char error[300];
    for (int64_t label = 1; label < 16; label += 2) {
        aphi_weights_begin(&g.weights);
        aph_value request = aphi_request_shape_draw(shape, &g);
        aphi_weights_use(&g.weights);
        assert(aphi_expression_is_sound(request, error, sizeof error));
        aphi_labelled_add(seen, label, aphi_expression_fill(request, seen, NULL));
        aphi_labelled_add(seen, label + 1, request);
        g.wish = request;
    }
    aphi_labelled_close(seen);
    aphi_weights_deinit(&g.weights);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char error[300] = "";
    char *text = aphi_alloc(size + 1);
    if (size)
        memcpy(text, data, size);
    text[size] = 0;
    aphi_request_shape *shape = aphi_request_shape_open(text, NULL, 1, error, sizeof error);
    assert(shape || strncmp(error, "shape", 5) == 0);
    if (shape)
        draw_some(shape);
    aphi_request_shape_close(shape);
    free(text);
    aph_collect();
    return 0;
}
