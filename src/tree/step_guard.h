/* SPDX-License-Identifier: Apache-2.0
 *
 * step_guard.h - protection from a model's step: deadlines, memory limits and crashes. */
#ifndef APHI_TREE_STEP_GUARD_H
#define APHI_TREE_STEP_GUARD_H

#include <antiphon/oracle.h>

#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

/* Until disarmed, a step of this thread is abandoned when the clock reaches deadline_ns (0: no deadline), when values
 * take more than `memory` bytes (0: no limit), when it is stuck, or when it crashes. Arming again replaces the
 * limits. */
void aphi_guard_arm(const aph_model *model, int64_t deadline_ns, size_t memory);
/* Until the guard is armed again, steps of this model are abandoned, too; for the step of a network. */
void aphi_guard_include(const aph_model *network);
/* Until the guard is armed again, the deadline also counts as passed when this thread has used ns of CPU time. */
void aphi_guard_limit_cpu(int64_t ns);
/* The CPU time after which a step is stuck. It is also stuck after APHI_GUARD_LOADED times as long by the clock: on a
 * busy machine, a thread waits for a processor most of the time. */
extern int64_t aphi_guard_step_ns;
enum { APHI_GUARD_LOADED = 20 };
void aphi_guard_disarm(void);
bool aphi_guard_expired(void); /* the deadline has passed, or a step is stuck */
bool aphi_guard_stuck(void);
bool aphi_guard_overfull(void); /* a step was abandoned because it used too much memory */
/* Makes all deadlines of all threads count as passed until aphi_guard_resume. May be called from a signal handler. */
void aphi_guard_call_off(void);
void aphi_guard_resume(void);

/* Makes the deadlines of this thread count as passed within 10 ms after *stop becomes nonzero. NULL: no flag. */
void aphi_guard_watch(const volatile sig_atomic_t *stop);
/* Returns true if the flag is set, or after aphi_guard_call_off. For waits, which do not end at a deadline. */
bool aphi_guard_stopped(void);

/* The target of the jump that abandons a step, and the reason. */
typedef struct aphi_guarded {
    sigjmp_buf escape;
    const char *crash; /* description of a crash */
    const char *call;  /* the name of the function, if it is not the step */
    bool has_ended;    /* the function has returned */
    struct aphi_guarded *outer;
} aphi_guarded;

void aphi_guard_enter(aphi_guarded *g);
void aphi_guard_leave(aphi_guarded *g);
/* Abandons the running step, if there is one, as a crash does. The text is not copied. */
void aphi_guard_crash(const char *what);

/* For a call of another function of a model, such as .generate: leave it with aphi_guard_end_call; see model_calls.c. A
 * function that crashes or does not end is a fault of the model, which is kept, and after it aphi_guard_begin_call
 * returns false: no function is to be called. The guard need not be armed; its deadline and memory limit do not apply.
 * Within a step, the step is guarded. */
bool aphi_guard_begin_call(aphi_guarded *g, const char *name, void (*function)(void));
void aphi_guard_end_call(aphi_guarded *g);
/* Returns the fault of such a call in this thread, with a message. APH_FAULT_NONE: there was none. */
aph_fault aphi_guard_call_fault(const char **message);
void aphi_guard_forget_call_fault(void);

enum { APHI_ESCAPE_TIME = 100, APHI_ESCAPE_CRASH };

#endif
