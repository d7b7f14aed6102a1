/* SPDX-License-Identifier: Apache-2.0
 *
 * random_server.h - random small models with connections. */
#ifndef TESTS_SUPPORT_RANDOM_SERVER_H
#define TESTS_SUPPORT_RANDOM_SERVER_H

#include "histories.h"

/* Becomes another model for each history (subject.vary). */
extern const subject subject_random_server;

/* Prints the current model. */
void random_server_print(void);

#endif
