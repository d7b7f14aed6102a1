/* SPDX-License-Identifier: Apache-2.0
 *
 * run_log.c - what happened in a run and what was done; see run_log.h.
 *
 * Idea:       a struct, and behind it its message, packed: so a long run keeps nothing in the heap of values.
 * Cost:       some hundred bytes a message, of so many of the last moments and of all actions. */
#include "tester/run_log.h"

#include "base/memory.h"
#include "value/pack.h"

#include <stdlib.h>
#include <string.h>

enum { HALF = 1 << 16 }; /* moments */

typedef struct entry {
    aphi_run_event moment;
    uint64_t number;
} entry;

void aphi_run_log_free(aphi_run_log *d)
{
    aphi_buffer_free(&d->older);
    aphi_buffer_free(&d->newer);
    aphi_buffer_free(&d->actions);
    *d = (aphi_run_log){0};
}

static void turn_over(aphi_run_log *d)
{
    aphi_buffer oldest = d->older;
    d->before += d->older_count;
    d->older = d->newer;
    d->older_count = d->newer_count;
    d->newer = oldest;
    d->newer.n = d->newer_count = 0;
}

void aphi_run_log_note(aphi_run_log *d, const aphi_run_event *m, uint64_t number)
{
    if (d->newer_count == HALF)
        turn_over(d);
    entry e = {*m, number};
    aphi_buffer_add(&d->newer, &e, sizeof e);
    aphi_pack(&d->newer, m->message);
    d->newer_count++;
}

uint64_t aphi_run_log_count(const aphi_run_log *d)
{
    return d->before + d->older_count + d->newer_count;
}

static void read_half(const aphi_buffer *b, size_t n, aphi_run_event *moments, uint64_t number, aphi_run_event **found)
{
    const char *at = b->data;
    for (size_t i = 0; i < n; i++) {
        entry e;
        memcpy(&e, at, sizeof e);
        at += sizeof e;
        moments[i] = e.moment;
        moments[i].message = aphi_unpack(&at);
        if (e.number == number)
            *found = &moments[i];
    }
}

aphi_run_event *aphi_run_log_moments(const aphi_run_log *d, uint64_t number, size_t *n, int64_t *place)
{
    *n = d->older_count + d->newer_count;
    aphi_run_event *moments = aphi_alloc((*n ? *n : 1) * sizeof *moments), *found = NULL;
    read_half(&d->older, d->older_count, moments, number, &found);
    read_half(&d->newer, d->newer_count, moments + d->older_count, number, &found);
    *place = found ? found - moments : -1;
    return moments;
}

void aphi_run_log_act(aphi_run_log *d, const aphi_action *a)
{
    aphi_buffer_add(&d->actions, a, sizeof *a);
    aphi_pack(&d->actions, a->send);
    d->action_count++;
}

void aphi_run_log_script(const aphi_run_log *d, aphi_script *s)
{
    const char *at = d->actions.data;
    for (size_t i = 0; i < d->action_count; i++) {
        aphi_action a;
        memcpy(&a, at, sizeof a);
        at += sizeof a;
        a.send = aphi_unpack(&at);
        aphi_script_add(s, &a);
    }
}
