/* SPDX-License-Identifier: Apache-2.0
 *
 * connections.h - the openings and ends of connections, for a model that receives them (aph_model.connections). */
#ifndef APHI_ORACLE_CONNECTIONS_H
#define APHI_ORACLE_CONNECTIONS_H

#include "oracle/search.h"

/* Add an observation to the state of its connection. Return NULL, or the reason why it cannot follow the earlier
 * ones. */
const char *aphi_connections_sent(aph_oracle *o, int64_t connection, aph_value message);
const char *aphi_connections_received(aph_oracle *o, int64_t connection, aph_value message);
/* Copies the connections at the start of the window to another oracle over the same window. */
void aphi_connections_copy(const aph_oracle *o, aph_oracle *probe);
/* Returns true if the client sends nothing more on the connection. */
bool aphi_connections_is_over(const aph_oracle *o, int64_t connection);

/* Returns true if a request cannot be taken, because the server has closed its connection. */
bool aphi_connections_discards(const aph_oracle *o, const aphi_request *a);
/* To be called when the configuration or the observation has changed. Messages to clients that have left are dropped
 * from the outbox, and the pending requests of connections that the server has closed count as taken. */
void aphi_connections_settle(aph_oracle *o);

/* Returns the results of the opening or end of a connection, like aphi_machine_feed. */
const aphi_successor *aphi_connections_run(aph_oracle *o, const aphi_request *a, size_t *n);
/* Returns true if the result of aphi_connections_run is that of a broken connection: the requests on it that were not
 * taken are lost. */
bool aphi_connections_breaks(const aph_oracle *o, const aphi_request *a, const aphi_successor *result);
/* Returns true if the model does not receive this result: the connection breaks before the server takes its opening, or
 * the client had closed its side before. */
bool aphi_connections_is_unnoticed(const aph_oracle *o, const aphi_request *a, const aphi_successor *result);
/* Counts the requests that are pending on the connection and were sent before this one as taken. */
void aphi_connections_lose_earlier(aph_oracle *o, const aphi_request *a);

void aphi_connections_deinit(aph_oracle *o);

#endif
