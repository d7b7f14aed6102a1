/* SPDX-License-Identifier: Apache-2.0
 *
 * diary.h - what happened in a run and what was done, packed: written at every message, and mostly never read. */
#ifndef APHI_HARNESS_DIARY_H
#define APHI_HARNESS_DIARY_H

#include "base/buffer.h"
#include "script/script.h"
#include "trace/run_event.h"

typedef struct aphi_diary {
    aphi_buffer older, newer;   /* the last moments, in two halves: the older one goes when the newer one is full */
    size_t older_count, newer_count;
    uint64_t before;            /* moments that are no longer there */
    aphi_buffer actions;
    size_t action_count;
} aphi_diary;

void aphi_diary_free(aphi_diary *d);

/* number: the caller's own, to find it by. */
void aphi_diary_note(aphi_diary *d, const aphi_run_event *m, uint64_t number);
uint64_t aphi_diary_count(const aphi_diary *d); /* of all moments, also those that are gone */
/* The moments that are left, oldest first; malloc'ed. Whoever has them marks their values. *place is that of the newest
 * one with this number, or -1. */
aphi_run_event *aphi_diary_moments(const aphi_diary *d, uint64_t number, size_t *n, int64_t *place);

void aphi_diary_act(aphi_diary *d, const aphi_action *a);
/* Adds all actions to the script. */
void aphi_diary_script(const aphi_diary *d, aphi_script *s);

#endif
