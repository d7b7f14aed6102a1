/* SPDX-License-Identifier: Apache-2.0
 *
 * concrete.h - run a model with nothing symbolic: whatever it may choose, somebody picks.
 *
 * The server is fed one request at a time and runs on until it wants another; what it sends waits, by connection. */
#ifndef TESTS_SUPPORT_CONCRETE_H
#define TESTS_SUPPORT_CONCRETE_H

#include "histories.h"

/* A model between two requests. All of it is values, so equal servers are equal words. */
typedef struct concrete {
    aph_value state;       /* at the head of the step */
    aph_value answers;     /* to its events since */
    aph_value mail;        /* object: connection -> array of messages sent and not yet seen */
} concrete;

/* One of n alternatives, by number. */
typedef size_t concrete_pick(void *context, size_t n);

/* The server before its first request: its initial unknowns are picked, and it runs to its first receive. False if what
 * was picked is not to be: the model said never, or divided by zero. */
bool concrete_begin(concrete *x, const subject *s, concrete_pick *pick, void *context);
/* Take a request and run to the next receive. False as above; *x is then as it was. */
bool concrete_feed(concrete *x, const subject *s, int64_t from, aph_value message, concrete_pick *pick, void *context);
/* The oldest message that waits for the connection; false if there is none. */
bool concrete_mail(const concrete *x, int64_t connection, aph_value *message);
void concrete_take_mail(concrete *x, int64_t connection);

/* How many values a choice of that sort has, and the i-th. */
size_t concrete_values(const subject *s, aph_kind sort, bool bounded, int64_t low, int64_t high);
aph_value concrete_value(const subject *s, aph_kind sort, bool bounded, int64_t low, size_t i);

#endif
