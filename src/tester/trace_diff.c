/* SPDX-License-Identifier: Apache-2.0
 *
 * trace_diff.c - the first difference between two runs; see trace_diff.h.
 *
 * Idea:       messages are compared by label, in the order of the earlier run. A server may generate tags or send the
 *             time, so a value that first occurs in a response may have another name in each run, if the names
 *             correspond one to one. Only strings, and integers as large as times, are names. */
#include "tester/trace_diff.h"

#include "base/buffer.h"

#include <stdio.h>
#include <stdlib.h>

static const aphi_run_event *event_with_label(const aphi_run *run, int64_t label)
{
    size_t n;
    const aphi_run_event *events = aphi_run_events(run, &n);
    for (size_t i = 0; i < n; i++)
        if (events[i].label == label && events[i].kind <= APHI_RUN_EVENT_RECEIVED)
            return &events[i];
    return NULL;
}

#define NAME_LEAST 1000000 /* smaller integers are statuses, counts and the like */

typedef struct names {
    aph_value now, then;     /* maps of names: then to now, and now to then */
    uint64_t renamed;
} names;

static bool is_name(aph_value v)
{
    return aph_is_str(v) ? aph_count(v) > 0 : aph_is_int(v) && aph_int_of(v) >= NAME_LEAST;
}

/* Returns true if the names correspond. A new name of a response, but not of a request, may differ. */
static bool is_same(names *n, aph_value then, aph_value now, bool sent)
{
    aph_value key = APH_ARRAY_OF(then), back = APH_ARRAY_OF(now), known = aph_get(n->now, key);
    if (known || aph_get(n->then, back))
        return known == now && aph_get(n->then, back) == then;
    if (then != now && (sent || aph_kind_of(then) != aph_kind_of(now) || !is_name(then) || !is_name(now)))
        return false;
    n->renamed += then != now;
    n->now = aph_set(n->now, key, now);
    n->then = aph_set(n->then, back, then);
    return true;
}

static bool are_alike(names *n, aph_value then, aph_value now, bool sent)
{
    aph_kind kind = aph_kind_of(then);
    aph_value key, item;
    bool alike = kind == aph_kind_of(now) && aph_count(then) == aph_count(now);
    if (kind == APH_OBJECT)
        for (size_t i = 0; alike && aph_pair_at(then, i, &key, &item); i++)
            alike = aph_has(now, key) && are_alike(n, item, aph_get(now, key), sent);
    else if (kind == APH_ARRAY)
        for (size_t i = 0; alike && i < aph_count(then); i++)
            alike = are_alike(n, aph_at(then, i), aph_at(now, i), sent);
    else
        return is_same(n, then, now, sent);
    return alike;
}

/* Returns true if the message of the line differs. */
static bool differs(names *known, aph_value line, const aphi_run *run, aphi_divergence *d)
{
    aph_value label = aph_field(line, "label");
    bool sent = aph_has(line, aph_str("send"));
    if (!aph_is_int(label) || (!sent && !aph_has(line, aph_str("recv"))))
        return false;
    const aphi_run_event *m = event_with_label(run, aph_int_of(label));
    aph_value then = aph_field(line, sent ? "send" : "recv");
    if (m && are_alike(known, then, m->message, sent))
        return false;
    *d = (aphi_divergence){.found = true, .label = aph_int_of(label), .then = then, .now = m ? m->message : APH_NIL,
                           .missing = !m};
    return true;
}

bool aphi_trace_diff(const char *trace, const aphi_run *run, aphi_divergence *d)
{
    FILE *in = fopen(trace, "r");
    char *text = NULL;
    size_t capacity = 0;
    ssize_t n;
    names known = {aph_object(), aph_object(), 0};
    *d = (aphi_divergence){0};
    if (!in)
        return false;
    while (!d->found && (n = aphi_read_line(&text, &capacity, in)) > 0) {
        aph_value line;
        aph_json_error error;
        if (aph_json_read(text, (size_t)n, &line, &error))
            differs(&known, line, run, d);
    }
    d->renamed = known.renamed;
    free(text);
    fclose(in);
    return true;
}
