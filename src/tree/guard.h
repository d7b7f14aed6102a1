/* SPDX-License-Identifier: Apache-2.0
 *
 * guard.h - keep a model's step from taking us down with it: a deadline and crashes, from inside the step. */
#ifndef APHI_TREE_GUARD_H
#define APHI_TREE_GUARD_H

#include <antiphon/model.h>

#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

/* From now on until disarmed, this thread's steps are left when the clock reaches deadline_ns (0: no deadline), when
 * values take more than `memory` bytes (0: no limit), when one of them has run for five seconds, or when they crash.
 * Arming again moves the limits. */
void aphi_guard_arm(const aph_model *model, int64_t deadline_ns, size_t memory);
void aphi_guard_disarm(void);
bool aphi_guard_expired(void); /* the deadline has passed, or a step is stuck */
bool aphi_guard_stuck(void);
bool aphi_guard_overfull(void); /* a step was left for the memory that it took */
/* Every deadline of every thread has passed, now and until aphi_guard_resume. May be called from a signal handler. */
void aphi_guard_call_off(void);
void aphi_guard_resume(void);

/* This thread's deadlines also count as passed while *stop is not 0; NULL: no such flag. */
void aphi_guard_watch(const volatile sig_atomic_t *stop);

/* Around a step: where to jump, and why the jump came. */
typedef struct aphi_guarded {
    sigjmp_buf escape;
    const char *crash; /* what happened, if it was a crash */
    struct aphi_guarded *outer;
} aphi_guarded;

void aphi_guard_enter(aphi_guarded *g);
void aphi_guard_leave(aphi_guarded *g);
/* Leaves the step that runs, if one does, as a crash would. what must stay. */
void aphi_guard_crash(const char *what);

enum { APHI_ESCAPE_TIME = 100, APHI_ESCAPE_CRASH };

#endif
