/* SPDX-License-Identifier: Apache-2.0
 *
 * connection_histories.h - small recorded histories of a model with connections. */
#ifndef TESTS_SUPPORT_CONNECTION_HISTORIES_H
#define TESTS_SUPPORT_CONNECTION_HISTORIES_H

#include "histories.h"

/* Like history_make. shape.connections is the number of clients; a client that has left begins again with a new
 * connection. shape.sequential: the server takes each item at once. */
void connection_history_make(history *h, const subject *s, history_shape shape, aphi_choice *c);
/* Changes the end of a connection to another one. */
void connection_history_change_end(history *h, aphi_choice *c);

#endif
