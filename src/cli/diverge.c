/* SPDX-License-Identifier: Apache-2.0
 *
 * diverge.c - where a run first differs; see diverge.h. Messages are compared by label, in the order of the earlier
 * run, since labels are what two runs of a script have in common. */
#include "cli/diverge.h"

#include <stdio.h>
#include <stdlib.h>

static const aphi_moment *moment_with(const aphi_run *run, int64_t label)
{
    for (size_t i = 0; i < run->moment_count; i++)
        if (run->moments[i].label == label && run->moments[i].kind <= APHI_MOMENT_RECEIVED)
            return &run->moments[i];
    return NULL;
}

/* Compares one line; true if it has a message that differs. */
static bool differs(aph_value line, const aphi_run *run, aphi_divergence *d)
{
    aph_value label = aph_field(line, "label");
    bool sent = aph_has(line, aph_str("send"));
    if (!aph_is_int(label) || (!sent && !aph_has(line, aph_str("recv"))))
        return false;
    const aphi_moment *m = moment_with(run, aph_int_of(label));
    aph_value then = aph_field(line, sent ? "send" : "recv");
    if (m && m->message == then)
        return false;
    *d = (aphi_divergence){.found = true, .label = aph_int_of(label), .then = then, .now = m ? m->message : APH_NIL,
                           .missing = !m};
    return true;
}

bool aphi_diverge(const char *trace, const aphi_run *run, aphi_divergence *d)
{
    FILE *in = fopen(trace, "r");
    char *text = NULL;
    size_t capacity = 0;
    ssize_t n;
    *d = (aphi_divergence){0};
    if (!in)
        return false;
    while (!d->found && (n = getline(&text, &capacity, in)) > 0) {
        aph_value line;
        aph_json_error error;
        if (aph_json_read(text, (size_t)n, &line, &error))
            differs(line, run, d);
    }
    free(text);
    fclose(in);
    return true;
}
