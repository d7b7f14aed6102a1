/* SPDX-License-Identifier: Apache-2.0
 *
 * odd_models.h - subjects for the comparison of deciders: the built-in models, and models for the other cases. */
#ifndef TESTS_SUPPORT_PECULIAR_H
#define TESTS_SUPPORT_PECULIAR_H

#include "histories.h"

extern const subject subject_register, subject_kv, subject_swap, subject_queue, subject_etag_kv, subject_http,
    subject_swap_bytes;

extern const subject subject_relay;    /* responds on another connection */
extern const subject subject_lock;     /* responds when the lock is free; several receives in one step */
extern const subject subject_greeter;  /* sends before the first request */
extern const subject subject_chatty;   /* responds to some requests twice and to others never */
extern const subject subject_fickle;   /* free choices, an unknown initial state; keeps the promise rpc */
extern const subject subject_counters; /* keeps the promise commute */
extern const subject subject_dice;     /* bounded choices and sums of them, symbolic conditions */
extern const subject subject_sessions; /* looks at the connection of a request; keeps the promise rpc */

#endif
