/* SPDX-License-Identifier: Apache-2.0
 *
 * model_habits.h - whether a model lets requests wait for other requests, and whether it knows a request, found out by
 * running it.
 *
 * A server may answer a request only when another client sends one, as a queue with a blocking pop does. Its model
 * sends the response in a later step. Most such models do not describe further requests on a connection that waits:
 * they would answer them at once, but a server that serves each connection in order does not. */
#ifndef APHI_TESTER_MODEL_HABITS_H
#define APHI_TESTER_MODEL_HABITS_H

#include <antiphon/model.h>

typedef struct aphi_model_habits {
    bool waits;      /* some responses are sent in the step of a later request; no request gets several */
    bool overtakes;  /* a request is answered although an earlier one on its connection waits */
} aphi_model_habits;

/* Runs the model on some hundred generated requests. Returns no habits for an rpc model, or if a step fails. */
aphi_model_habits aphi_model_habits_find(const aph_model *model);

/* Returns false if the model calls aph_unknown_request when it receives the request first on a connection. */
bool aphi_model_habits_knows(const aph_model *model, aph_value request);

#endif
