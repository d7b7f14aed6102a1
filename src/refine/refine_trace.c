/* SPDX-License-Identifier: Apache-2.0
 *
 * refine_trace.c - the trace of a schedule: the observations of its clients.
 *
 * Invariants: 1. an entry without a message is a response that is not complete
 *             2. with reductions, adjacent entries of one kind on different connections are sorted by client */
#include "refine/refine_trace.h"

#include "base/memory.h"
#include "refine/refine_space.h"
#include "value/heap.h"

#include <assert.h>
#include <stdlib.h>

int64_t aphi_refine_entry_kind(aph_value entry)
{
    return aph_int_of(aph_at(entry, 0));
}

size_t aphi_refine_entry_client(aph_value entry)
{
    return (size_t)aph_int_of(aph_at(entry, 1));
}

aph_value aphi_refine_entry_message(aph_value entry)
{
    return aph_at(entry, 2);
}

bool aphi_refine_entry_complete(aph_value entry)
{
    return aph_count(entry) == 3;
}

aph_value aphi_refine_entry(int64_t kind, size_t client, aph_value message)
{
    return APH_ARRAY_OF(aph_int(kind), aph_int((int64_t)client), message);
}

static bool is_message(aph_value entry, int64_t kind, size_t client)
{
    return aphi_refine_entry_kind(entry) == kind && aphi_refine_entry_client(entry) == client &&
           !aphi_is_signal(aphi_refine_entry_message(entry));
}

static aph_value insert_entry(aph_value trace, size_t at, aph_value entry)
{
    size_t n = aph_count(trace);
    if (at == n)
        return aph_push(trace, entry);
    aph_value *items = aphi_alloc((n + 1) * sizeof *items);
    for (size_t i = 0; i <= n; i++)
        items[i] = i == at ? entry : aph_at(trace, i - (i > at));
    trace = aph_array(n + 1, items);
    free(items);
    return trace;
}

aph_value aphi_refine_trace_add(aph_value trace, aph_value entry, bool sorted)
{
    size_t at = aph_count(trace);
    while (sorted && at > 0 && aphi_refine_entry_kind(aph_at(trace, at - 1)) == aphi_refine_entry_kind(entry) &&
           aphi_refine_entry_client(aph_at(trace, at - 1)) > aphi_refine_entry_client(entry))
        at--;
    return insert_entry(trace, at, entry);
}

aph_value aphi_refine_trace_complete(aph_value trace, size_t client, aph_value message)
{
    for (size_t i = aph_count(trace); i-- > 0;)
        if (!aphi_refine_entry_complete(aph_at(trace, i)) && aphi_refine_entry_client(aph_at(trace, i)) == client)
            return aph_replace(trace, i, aphi_refine_entry(APHI_REFINE_RECEIVED, client, message));
    assert(!"a response ends before it has begun");
    return trace;
}

aph_value aphi_refine_trace_drop_incomplete(aph_value trace, size_t client)
{
    size_t n = aph_count(trace);
    for (size_t i = n; i-- > 0;)
        if (!aphi_refine_entry_complete(aph_at(trace, i)) && aphi_refine_entry_client(aph_at(trace, i)) == client) {
            aph_value result = aph_slice(trace, 0, i);
            for (size_t k = i + 1; k < n; k++)
                result = aph_push(result, aph_at(trace, k));
            return result;
        }
    return trace;
}

bool aphi_refine_trace_request(aph_value trace, size_t client, bool begun, aph_value *request)
{
    size_t responses = 0;
    for (size_t i = 0; i < aph_count(trace); i++) {
        aph_value e = aph_at(trace, i);
        responses += is_message(e, APHI_REFINE_RECEIVED, client) && (begun || aphi_refine_entry_complete(e));
    }
    for (size_t i = 0; i < aph_count(trace); i++)
        if (is_message(aph_at(trace, i), APHI_REFINE_SENT, client) && responses-- == 0) {
            *request = aphi_refine_entry_message(aph_at(trace, i));
            return true;
        }
    *request = APH_NIL;
    return false;
}

size_t aphi_refine_trace_responses(aph_value trace, bool ends)
{
    size_t n = 0;
    for (size_t i = 0; i < aph_count(trace); i++) {
        aph_value e = aph_at(trace, i);
        n += aphi_refine_entry_kind(e) == APHI_REFINE_RECEIVED && aphi_refine_entry_complete(e) &&
             (ends || !aphi_is_signal(aphi_refine_entry_message(e)));
    }
    return n;
}

/* ---- as lines ---------------------------------------------------------------------------------------------------- */

static const struct signal_line {
    int64_t kind;
    aph_value message;
    const char *key;
} signal_lines[] = {
    {APHI_REFINE_SENT, APH_OPENED, "open"},       {APHI_REFINE_SENT, APH_CLOSED, "shut"},
    {APHI_REFINE_SENT, APH_LEFT, "close"},        {APHI_REFINE_SENT, APH_BROKEN, "abort"},
    {APHI_REFINE_RECEIVED, APH_CLOSED, "closed"}, {APHI_REFINE_RECEIVED, APH_BROKEN, "reset"},
};

static aph_value make_line(aph_value entry)
{
    aph_value connection = aph_int((int64_t)aphi_refine_entry_client(entry) + 1);
    aph_value message = aphi_refine_entry_message(entry);
    int64_t kind = aphi_refine_entry_kind(entry);
    for (size_t i = 0; aphi_is_signal(message) && i < sizeof signal_lines / sizeof *signal_lines; i++)
        if (signal_lines[i].kind == kind && signal_lines[i].message == message)
            return aph_record("conn", connection, signal_lines[i].key, aph_bool(true));
    return aph_record("conn", connection, kind == APHI_REFINE_SENT ? "send" : "recv", message);
}

aph_value aphi_refine_trace_lines(aph_value trace)
{
    aph_value lines = aph_array(0, NULL);
    for (size_t i = 0; i < aph_count(trace); i++)
        if (aphi_refine_entry_complete(aph_at(trace, i)))
            lines = aph_push(lines, make_line(aph_at(trace, i)));
    return lines;
}

bool aphi_refine_line_sent(aph_value line, aph_value *message)
{
    for (size_t i = 0; i < sizeof signal_lines / sizeof *signal_lines; i++)
        if (aph_has(line, aph_str(signal_lines[i].key))) {
            *message = signal_lines[i].message;
            return signal_lines[i].kind == APHI_REFINE_SENT;
        }
    bool sent = aph_has(line, aph_str("send"));
    *message = aph_field(line, sent ? "send" : "recv");
    return sent;
}
