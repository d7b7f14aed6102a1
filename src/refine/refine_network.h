/* SPDX-License-Identifier: Apache-2.0
 *
 * refine_network.h - a user's network between the clients and the model. */
#ifndef APHI_REFINE_REFINE_NETWORK_H
#define APHI_REFINE_REFINE_NETWORK_H

#include "refine/refine_clients.h"

/* Sets the first state of the network. Returns false, with a flaw, if it fails before its first event. */
bool aphi_refine_network_open(aphi_refine_space *g, aphi_refine_state *s);
/* The model sends bytes, or APH_CLOSED: each message that is complete becomes a packet. */
void aphi_refine_network_send(aphi_refine_space *g, aphi_refine_state *s, size_t client, aph_value bytes);
/* Pushes the successors of a state in which the model receives: the next event of the network. */
void aphi_refine_network_expand(aphi_refine_space *g, const aphi_refine_state *s);

#endif
