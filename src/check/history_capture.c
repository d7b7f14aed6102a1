/* SPDX-License-Identifier: Apache-2.0
 *
 * history_capture.c - a whole trace in memory, split into parts like the check. */
#include "check/history_capture.h"

#include "base/memory.h"
#include "tree/model_calls.h"

#include <stdlib.h>
#include <string.h>

static void mark_histories(void *context)
{
    aphi_history_capture *h = context;
    for (size_t i = 0; i < h->count; i++) {
        aph_mark(h->parts[i].part);
        for (size_t k = 0; k < h->parts[i].history.count; k++)
            aph_mark(h->parts[i].history.events[k].message);
    }
}

void aphi_history_capture_init(aphi_history_capture *h, const aph_model *model, const char *environment, bool split)
{
    *h = (aphi_history_capture){.model = model, .split = split};
    aphi_env_named(environment, &h->env);
    aph_root_add(mark_histories, h);
}

void aphi_history_capture_deinit(aphi_history_capture *h)
{
    aph_root_remove(mark_histories, h);
    for (size_t i = 0; i < h->count; i++)
        free(h->parts[i].history.events);
    free(h->parts);
    free(h->open);
}

static size_t find_part(aphi_history_capture *h, aph_value message, bool paired)
{
    aph_value part = h->split ? aphi_model_part(h->model, message) : APH_NIL;
    for (size_t i = h->count; i-- > 0;)
        if (h->parts[i].part == part)
            return i;
    APHI_RESERVE(h->parts, h->capacity, h->count + 1);
    h->parts[h->count] = (aphi_partition_history){
        part, {.paired = paired && !h->env.lossy, .lossy = h->env.lossy, .buffer = h->env.buffer}};
    return h->count++;
}

static size_t add_event(aphi_history *h, aphi_history_event e)
{
    APHI_RESERVE(h->events, h->capacity, h->count + 1);
    h->events[h->count] = e;
    return h->count++;
}

static void add_request(aphi_history_capture *h, aphi_history_event e, bool paired)
{
    size_t part = find_part(h, e.message, paired), event = add_event(&h->parts[part].history, e);
    if (e.lost)
        return;
    APHI_PUSH(h->open, h->open_count, h->open_capacity, (struct aphi_open_request){e.connection, part, event});
}

/* Removes the oldest pending request of the connection. Returns false if there is none. */
static bool end_request(aphi_history_capture *h, int64_t connection, struct aphi_open_request *ended)
{
    for (size_t i = 0; i < h->open_count; i++)
        if (h->open[i].connection == connection) {
            *ended = h->open[i];
            memmove(h->open + i, h->open + i + 1, (--h->open_count - i) * sizeof *h->open);
            return true;
        }
    return false;
}

static void add_answer(aphi_history_capture *h, aphi_history_event e)
{
    struct aphi_open_request request = {0};
    bool known = end_request(h, e.connection, &request);
    if (!h->count && h->split)
        return;
    if (!h->count) /* a server without rpc may send before the first request */
        find_part(h, APH_NIL, false);
    aphi_history *history = &h->parts[request.part].history;
    bool pair = known && history->paired;
    e.other = pair ? request.event : SIZE_MAX;
    size_t event = add_event(history, e);
    if (pair)
        history->events[request.event].other = event;
}

/* It concerns the parts that have requests. */
static void add_quiet(aphi_history_capture *h, aphi_history_event e)
{
    for (size_t i = 0; i < h->count; i++)
        add_event(&h->parts[i].history, e);
}

void aphi_history_capture_add(aphi_history_capture *h, const aphi_lookahead_event *o, bool paired)
{
    aphi_history_event e = {.answer = o->seen.kind == APHI_RECEIVED,
                            .connection = o->seen.connection,
                            .message = o->seen.message,
                            .number = o->seen.number,
                            .line = o->seen.line,
                            .other = SIZE_MAX,
                            .lost = o->future == APH_FUTURE_LOST};
    struct aphi_open_request request;
    if (o->seen.kind == APHI_QUIET)
        add_quiet(h, (aphi_history_event){.quiet = true, .connection = INT64_MIN, .number = e.number, .line = e.line,
                                          .other = SIZE_MAX});
    else if (o->seen.kind == APHI_SENT)
        add_request(h, e, paired);
    else if (o->seen.kind == APHI_RECEIVED)
        add_answer(h, e);
    else if (o->seen.kind == APHI_LOST && !o->foretold && end_request(h, e.connection, &request))
        h->parts[request.part].history.events[request.event].lost = true;
}
