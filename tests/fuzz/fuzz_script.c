/* SPDX-License-Identifier: Apache-2.0
 *
 * fuzz_script.c - any input yields a script or an error with a line number; a script that is written reads
 * back the same, and its holes can be filled from its messages. */
#include "json_mutator.h"

#include <assert.h>
#include <stdlib.h>
#include "script/expression.h"
#include "script/script.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void assert_same(const aphi_script *a, const aphi_script *b)
{
    assert(a->count == b->count && a->seed == b->seed);
    assert(strcmp(a->model, b->model) == 0 && strcmp(a->environment, b->environment) == 0);
    for (size_t i = 0; i < a->count; i++)
        assert(aphi_action_value(&a->actions[i]) == aphi_action_value(&b->actions[i]));
}

static void fill_all(const aphi_script *s)
{
    aphi_labelled *seen = aphi_labelled_open(16);
    for (size_t i = 0; i < s->count; i++) {
        const aphi_action *a = &s->actions[i];
        aph_value message = aphi_expression_fill(a->send, seen, NULL);
        assert(aphi_expression_newest(a->send) > 0 || message == a->send);
        aphi_labelled_add(seen, a->label, message);
        aphi_labelled_add(seen, a->label + 1, APH_ARRAY_OF(message, a->send));
    }
    aphi_labelled_close(seen);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    aphi_script s, again;
    char error[500] = "";
    if (!aphi_script_parse("fuzz", (const char *)data, size, &s, error, sizeof error)) {
        assert(strncmp(error, "fuzz:", 5) == 0 && error[5] >= '1' && error[5] <= '9' && !s.actions);
    } else {
        size_t n;
        char *text = aphi_script_text(&s, &n);
        assert(aphi_script_parse("again", text, n, &again, error, sizeof error));
        assert_same(&s, &again);
        fill_all(&s);
        free(text);
        aphi_script_free(&again);
        aphi_script_free(&s);
    }
    aph_collect();
    return 0;
}
