/* SPDX-License-Identifier: Apache-2.0
 *
 * odd_models.h - subjects to compare deciders on: the built-in models, and models made to reach what those do not. */
#ifndef TESTS_SUPPORT_PECULIAR_H
#define TESTS_SUPPORT_PECULIAR_H

#include "histories.h"

extern const subject subject_register, subject_kv, subject_swap, subject_queue, subject_etag_kv;

extern const subject subject_relay;    /* answers on another connection than it was asked on */
extern const subject subject_lock;     /* answers when the lock is free: several receives in one step */
extern const subject subject_greeter;  /* speaks first */
extern const subject subject_chatty;   /* answers some requests twice and some not at all, as it likes */
extern const subject subject_fickle;   /* free choices, an unknown initial state; keeps the promise rpc */
extern const subject subject_counters; /* promises commute */
extern const subject subject_dice;     /* bounded choices and sums of them, symbolic conditions */

#endif
