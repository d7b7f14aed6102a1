/* SPDX-License-Identifier: Apache-2.0
 *
 * run_log.c - the record of a run; see run_log.h.
 *
 * Idea:       each entry is a struct followed by its packed message, so a long run keeps nothing in the heap of values.
 * Invariants: the trace file consists of complete lines, even if the disk is full.
 * Cost:       a few hundred bytes for each of the latest 2 * HALF events and for each action; at most about
 *             2 * HALF_BYTES and ACTIONS_BYTES, if messages are large. */
#include "tester/run_log.h"

#include <antiphon/model.h>

#include "base/memory.h"
#include "value/heap.h"
#include "value/pack.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    HALF = 1 << 16, /* events */
    HALF_BYTES = 32 << 20,
    HALF_BYTES_MIN = 1 << 20,
    ACTIONS_MAX = 1 << 17,
    ACTIONS_BYTES = 128 << 20,
};

typedef struct entry {
    aphi_run_event event;
    uint64_t number;
} entry;

/* Writes the complete lines of the trace. */
static void rescue_trace(void *context)
{
    aphi_run_log *log = context;
    char unused[2];
    while (log->trace.n && log->trace.data[log->trace.n - 1] != '\n')
        log->trace.n--;
    if (log->traced)
        aphi_run_log_flush(log, unused, sizeof unused);
}

void aphi_run_log_open(aphi_run_log *log, const char *model, const char *environment, uint64_t seed, int trace_fd,
                       const char *trace_name)
{
    snprintf(log->script.model, sizeof log->script.model, "%s", model);
    snprintf(log->script.environment, sizeof log->script.environment, "%s", environment);
    log->script.seed = seed;
    log->traced = trace_fd >= 0;
    log->trace_fd = trace_fd;
    log->trace_name = trace_name;
    log->rescue = (aphi_rescue){.save = rescue_trace, .context = log};
    aphi_rescue_add(&log->rescue);
    if (log->traced)
        aphi_buffer_format(&log->trace, "{\"antiphon\":1,\"model\":\"%s\",\"environment\":\"%s\",\"seed\":%llu}\n",
                           model, environment, (unsigned long long)seed);
}

void aphi_run_log_free(aphi_run_log *log)
{
    aphi_rescue_remove(&log->rescue);
    aphi_buffer_free(&log->older);
    aphi_buffer_free(&log->newer);
    aphi_buffer_free(&log->actions);
    aphi_buffer_free(&log->trace);
    aphi_script_free(&log->script);
    free(log->events);
    *log = (aphi_run_log){0};
}

void aphi_run_log_mark(const aphi_run_log *log)
{
    for (size_t i = 0; i < log->event_count; i++)
        aph_mark(log->events[i].message);
    for (uint32_t i = 0; i < log->kind_count; i++)
        aph_mark(log->kinds[i].name);
    aphi_script_mark(&log->script);
}

/* ---- events ------------------------------------------------------------------------------------------------------ */

static void discard_older_half(aphi_run_log *log)
{
    aphi_buffer oldest = log->older;
    log->discarded += log->older_count;
    log->older = log->newer;
    log->older_count = log->newer_count;
    log->newer = oldest;
    log->newer.n = log->newer_count = 0;
}

/* The size of a full half: a small part of --memory. */
static size_t half_bytes(void)
{
    size_t part = aphi_heap_limit / 32;
    return !aphi_heap_limit || part > HALF_BYTES ? HALF_BYTES : part < HALF_BYTES_MIN ? HALF_BYTES_MIN : part;
}

/* The key of the line for the opening or end of a connection. */
static const char *signal_word(const aphi_run_event *e)
{
    if (e->kind == APHI_RUN_EVENT_RECEIVED)
        return e->message == APH_CLOSED ? ",\"closed\":" : ",\"reset\":";
    return e->message == APH_OPENED   ? ",\"open\":"
           : e->message == APH_CLOSED ? ",\"shut\":"
           : e->message == APH_LEFT   ? ",\"close\":"
                                      : ",\"abort\":";
}

static void format_observed_line(aphi_buffer *out, const aphi_run_event *e)
{
    static const char *const words[] = {",\"send\":",      ",\"recv\":",   ",\"lost\":",
                                        ",\"malformed\":", ",\"closed\":", ",\"dropped\":"};
    bool observed = e->kind <= APHI_RUN_EVENT_LOST, signal = aphi_is_signal(e->message);
    aphi_buffer_str(out, observed ? "{\"conn\":" : "{\"note\":{\"conn\":");
    aphi_buffer_int(out, e->connection);
    if (aph_origin_of(e->connection) > 0) {
        aphi_buffer_str(out, ",\"origin\":");
        aphi_buffer_int(out, aph_origin_of(e->connection));
    }
    if (e->label) {
        aphi_buffer_str(out, ",\"label\":");
        aphi_buffer_int(out, e->label);
    }
    aphi_buffer_str(out, signal ? signal_word(e) : words[e->kind]);
    if (signal || e->kind == APHI_RUN_EVENT_LOST || e->kind == APHI_RUN_EVENT_CLOSED) {
        aphi_buffer_str(out, "true");
    } else {
        size_t n;
        char *text = aph_json_text(e->message, &n);
        aphi_buffer_add(out, text, n);
        free(text);
    }
    aphi_buffer_str(out, observed ? ",\"time\":" : "},\"time\":");
    aphi_buffer_int(out, e->at_ns / 1000);
    aphi_buffer_str(out, "}\n");
}

static void count_signal(aphi_connection_counts *c, const aphi_run_event *e)
{
    if (e->kind == APHI_RUN_EVENT_RECEIVED) {
        c->closed_by_server += e->message == APH_CLOSED;
        c->reset_by_server += e->message == APH_BROKEN;
    } else {
        c->opened += e->message == APH_OPENED;
        c->half_closed += e->message == APH_CLOSED;
        c->closed += e->message == APH_LEFT;
        c->aborted += e->message == APH_BROKEN;
    }
}

static void format_trace_line(aphi_buffer *out, const aphi_run_event *e)
{
    if (e->kind == APHI_RUN_EVENT_QUIET)
        aphi_buffer_format(out, "{\"quiet\":true,\"time\":%lld}\n", (long long)(e->at_ns / 1000));
    else
        format_observed_line(out, e);
}

void aphi_run_log_event(aphi_run_log *log, const aphi_run_event *e, uint64_t number)
{
    count_signal(&log->connections, e);
    if (log->newer_count == HALF || log->newer.n >= half_bytes())
        discard_older_half(log);
    entry stored = {*e, number};
    aphi_buffer_add(&log->newer, &stored, sizeof stored);
    aphi_pack(&log->newer, e->message);
    log->newer_count++;
    log->latest_connection = e->connection;
    if (log->traced)
        format_trace_line(&log->trace, e);
}

uint64_t aphi_run_log_count(const aphi_run_log *log) { return log->discarded + log->older_count + log->newer_count; }

static void unpack_half(const aphi_buffer *b, size_t n, aphi_run_event *events, uint64_t number, aphi_run_event **found)
{
    const char *at = b->data;
    for (size_t i = 0; i < n; i++) {
        entry e;
        memcpy(&e, at, sizeof e);
        at += sizeof e;
        events[i] = e.event;
        events[i].message = aphi_unpack(&at);
        if (e.number == number)
            *found = &events[i];
    }
}

/* malloc'ed. *found: the newest event with that number, or NULL. */
static aphi_run_event *unpack_events(const aphi_run_log *log, uint64_t number, aphi_run_event **found)
{
    aphi_run_event *events = aphi_alloc((log->older_count + log->newer_count + 1) * sizeof *events);
    *found = NULL;
    unpack_half(&log->older, log->older_count, events, number, found);
    unpack_half(&log->newer, log->newer_count, events + log->older_count, number, found);
    return events;
}

const aphi_run_event *aphi_run_log_events(aphi_run_log *log, size_t *n)
{
    aphi_run_event *unused;
    if (!log->events || log->events_at != aphi_run_log_count(log)) {
        free(log->events);
        log->events = unpack_events(log, UINT64_MAX, &unused);
        log->event_count = log->older_count + log->newer_count;
        log->events_at = aphi_run_log_count(log);
    }
    *n = log->event_count;
    return log->events;
}

int64_t aphi_run_log_find(const aphi_run_log *log, uint64_t number, int64_t *connection)
{
    aphi_run_event *found, *events = unpack_events(log, number, &found);
    int64_t place = found ? found - events : -1;
    *connection = found ? found->connection : -1;
    free(events);
    return place;
}

/* ---- the trace file ---------------------------------------------------------------------------------------------- */

/* written: bytes of the buffer that are in the file. */
static void give_up_trace(aphi_run_log *log, size_t written, char *error, size_t error_size)
{
    int failure = errno;
    while (written && log->trace.data[written - 1] != '\n')
        written--;
    log->trace_failed = true;
    bool cut = !ftruncate(log->trace_fd, log->trace_size + (off_t)written);
    snprintf(error, error_size, "%.300s: cannot be written: %s; free disk space or choose another --folder%s",
             log->trace_name, strerror(failure), cut ? "" : " (its last line may be incomplete)");
}

bool aphi_run_log_flush(aphi_run_log *log, char *error, size_t error_size)
{
    bool failed_before = log->trace_failed;
    size_t written = failed_before ? 0 : aphi_write_all(log->trace_fd, log->trace.data, log->trace.n);
    if (!failed_before && written < log->trace.n)
        give_up_trace(log, written, error, error_size);
    log->trace_size += (off_t)written;
    log->trace.n = 0;
    return failed_before || !log->trace_failed;
}

/* ---- actions ----------------------------------------------------------------------------------------------------- */

void aphi_run_log_action(aphi_run_log *log, const aphi_action *a)
{
    if (log->action_count == ACTIONS_MAX || log->actions.n >= ACTIONS_BYTES) {
        log->actions_cut = true;
        return;
    }
    aphi_buffer_add(&log->actions, a, sizeof *a);
    aphi_pack(&log->actions, a->send);
    log->action_count++;
}

const aphi_script *aphi_run_log_script(aphi_run_log *log)
{
    const char *at = log->actions.data;
    if (log->script.count == log->action_count)
        return &log->script;
    log->script.count = 0;
    for (size_t i = 0; i < log->action_count; i++) {
        aphi_action a;
        memcpy(&a, at, sizeof a);
        at += sizeof a;
        a.send = aphi_unpack(&at);
        aphi_script_add(&log->script, &a);
    }
    return &log->script;
}

/* ---- kinds of requests ------------------------------------------------------------------------------------------- */

uint32_t aphi_run_log_request(aphi_run_log *log, aph_value kind)
{
    uint32_t i = 0;
    log->requests++;
    while (i < log->kind_count && log->kinds[i].name != kind)
        i++;
    if (i == log->kind_count && i < APHI_KINDS_MAX - 1)
        log->kinds[log->kind_count++] = (aphi_kind_count){.name = kind};
    log->kinds[i].sent++;
    return i;
}

void aphi_run_log_response(aphi_run_log *log, uint32_t kind)
{
    log->responses++;
    if (kind != UINT32_MAX)
        log->kinds[kind].answered++;
}

void aphi_run_log_loss(aphi_run_log *log, uint32_t kind) { log->kinds[kind].lost++; }

aph_value aphi_run_log_kinds(const aphi_run_log *log)
{
    aph_value kinds = aph_object();
    for (uint32_t i = 0; i < log->kind_count; i++)
        kinds = aph_set(kinds, log->kinds[i].name,
                        APH_ARRAY_OF(aph_int((int64_t)log->kinds[i].sent), aph_int((int64_t)log->kinds[i].answered)));
    return kinds;
}

aph_value aphi_run_log_lost_kinds(const aphi_run_log *log)
{
    aph_value kinds = aph_object();
    for (uint32_t i = 0; i < log->kind_count; i++)
        if (log->kinds[i].lost)
            kinds = aph_set(kinds, log->kinds[i].name, aph_int((int64_t)log->kinds[i].lost));
    return kinds;
}
