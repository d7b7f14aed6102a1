/* SPDX-License-Identifier: Apache-2.0
 *
 * run_log.h - the record of a run: its trace file, latest events, actions, and counts of requests by kind.
 *
 * Events and actions are written at every message and rarely read: they are stored packed. */
#ifndef APHI_TESTER_RUN_LOG_H
#define APHI_TESTER_RUN_LOG_H

#include "base/buffer.h"
#include "base/memory.h"
#include "script/script.h"
#include "trace/run_event.h"

#include <sys/types.h>

enum { APHI_KINDS_MAX = 64 };

typedef struct aphi_kind_count {
    aph_value name;
    uint64_t sent, answered, lost;
} aphi_kind_count;

typedef struct aphi_run_log {
    aphi_buffer older, newer;   /* the latest events, in two halves; a full newer half replaces the older one */
    size_t older_count, newer_count;
    uint64_t discarded;         /* events that are no longer stored */
    int64_t latest_connection;  /* of the latest event */
    aphi_buffer actions;
    size_t action_count;
    bool actions_cut;           /* there were too many actions to store them all */

    uint64_t requests, responses;
    aphi_connection_counts connections;
    aphi_kind_count kinds[APHI_KINDS_MAX];
    uint32_t kind_count;

    bool traced, trace_failed;
    int trace_fd;
    const char *trace_name;
    aphi_buffer trace;          /* lines that are not yet in the file */
    off_t trace_size;           /* of the file */
    aphi_rescue rescue;         /* writes the lines if memory is exhausted */

    aphi_script script;         /* of aphi_run_log_script */
    aphi_run_event *events;     /* of aphi_run_log_events */
    size_t event_count;
    uint64_t events_at;         /* aphi_run_log_count when they were unpacked */
} aphi_run_log;

/* trace_fd: an empty file; negative: none. trace_name is for messages, and is borrowed until the last flush. */
void aphi_run_log_open(aphi_run_log *log, const char *model, const char *environment, uint64_t seed, int trace_fd,
                       const char *trace_name);
void aphi_run_log_free(aphi_run_log *log);
void aphi_run_log_mark(const aphi_run_log *log);

/* Stores the event and formats its line of the trace. number: that of the observation, or UINT64_MAX if it is none. */
void aphi_run_log_event(aphi_run_log *log, const aphi_run_event *e, uint64_t number);
/* Returns the number of all events, including the discarded ones. */
uint64_t aphi_run_log_count(const aphi_run_log *log);
/* Returns the stored events, oldest first, valid until the next call; they are unpacked at the first call. */
const aphi_run_event *aphi_run_log_events(aphi_run_log *log, size_t *n);
/* Returns the index in aphi_run_log_events of the newest event with that number, or -1. */
int64_t aphi_run_log_find(const aphi_run_log *log, uint64_t number, int64_t *connection);
/* Writes the formatted lines to the file. Returns false with a message the first time that this fails; then the file
 * ends with a complete line, and nothing more is written. */
bool aphi_run_log_flush(aphi_run_log *log, char *error, size_t error_size);

void aphi_run_log_action(aphi_run_log *log, const aphi_action *a);
/* Returns the stored actions as a script, valid until the next call; they are unpacked at the first call. */
const aphi_script *aphi_run_log_script(aphi_run_log *log);

/* Counts a request; returns its kind for aphi_run_log_response. */
uint32_t aphi_run_log_request(aphi_run_log *log, aph_value kind);
/* kind: UINT32_MAX: it responds to no request. */
void aphi_run_log_response(aphi_run_log *log, uint32_t kind);
/* Counts a loss (losses.h) of a request of this kind. */
void aphi_run_log_loss(aphi_run_log *log, uint32_t kind);
/* Return an object: by kind of request, [sent, answered]; by kind of lost request, their number. */
aph_value aphi_run_log_kinds(const aphi_run_log *log);
aph_value aphi_run_log_lost_kinds(const aphi_run_log *log);

#endif
