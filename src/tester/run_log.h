/* SPDX-License-Identifier: Apache-2.0
 *
 * run_log.h - what happened in a run and what was done, packed: written at every message, and mostly never read. */
#ifndef APHI_TESTER_RUN_LOG_H
#define APHI_TESTER_RUN_LOG_H

#include "base/buffer.h"
#include "script/script.h"
#include "trace/run_event.h"

typedef struct aphi_run_log {
    aphi_buffer older, newer;   /* the last moments, in two halves: the older one goes when the newer one is full */
    size_t older_count, newer_count;
    uint64_t before;            /* moments that are no longer there */
    aphi_buffer actions;
    size_t action_count;
} aphi_run_log;

void aphi_run_log_free(aphi_run_log *d);

/* number: the caller's own, to find it by. */
void aphi_run_log_note(aphi_run_log *d, const aphi_run_event *m, uint64_t number);
uint64_t aphi_run_log_count(const aphi_run_log *d); /* of all moments, also those that are gone */
/* The moments that are left, oldest first; malloc'ed. Whoever has them marks their values. *place is that of the newest
 * one with this number, or -1. */
aphi_run_event *aphi_run_log_moments(const aphi_run_log *d, uint64_t number, size_t *n, int64_t *place);

void aphi_run_log_act(aphi_run_log *d, const aphi_action *a);
/* Adds all actions to the script. */
void aphi_run_log_script(const aphi_run_log *d, aphi_script *s);

#endif
