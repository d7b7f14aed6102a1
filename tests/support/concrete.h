/* SPDX-License-Identifier: Apache-2.0
 *
 * concrete.h - concrete runs of a model: a callback makes each choice.
 *
 * The server takes one request at a time and runs until it receives again. Sent messages are queued per connection. */
#ifndef TESTS_SUPPORT_CONCRETE_H
#define TESTS_SUPPORT_CONCRETE_H

#include "histories.h"

/* A model between two requests. All fields are interned values, so equal servers have equal words. */
typedef struct concrete {
    aph_value state;       /* at the start of the step */
    aph_value answers;     /* to the events of the current step */
    aph_value mail;        /* object: connection -> array of sent, unobserved messages */
} concrete;

/* Returns an index below n. */
typedef size_t concrete_pick(void *context, size_t n);

/* Picks the initial unknowns and runs the server to its first receive. Returns false if the picks are invalid, that is,
 * lead to aph_never or a division by zero. */
bool concrete_begin(concrete *x, const subject *s, concrete_pick *pick, void *context);
/* Takes a request and runs to the next receive. Returns false if the picks are invalid; then *x is unchanged. */
bool concrete_feed(concrete *x, const subject *s, int64_t from, aph_value message, concrete_pick *pick, void *context);
/* Stores the oldest queued message for the connection. Returns false if there is none. */
bool concrete_mail(const concrete *x, int64_t connection, aph_value *message);
void concrete_take_mail(concrete *x, int64_t connection);

/* The number of values for a choice of the given sort, and the i-th value. */
size_t concrete_values(const subject *s, aph_kind sort, bool bounded, int64_t low, int64_t high);
aph_value concrete_value(const subject *s, aph_kind sort, bool bounded, int64_t low, size_t i);

#endif
