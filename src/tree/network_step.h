/* SPDX-License-Identifier: Apache-2.0
 *
 * network_step.h - a network as a model; see network_step.c. */
#ifndef APHI_TREE_NETWORK_STEP_H
#define APHI_TREE_NETWORK_STEP_H

#include <antiphon/network.h>

/* aph_model.version of a model that aph_network_model has made; its data is the network. */
#define APHI_STEP_OF_NETWORK (-1)

#define APHI_EVENT_OUTGOING "outgoing" /* aph_has_outgoing; answered by a boolean */

#endif
