/* SPDX-License-Identifier: Apache-2.0
 *
 * network_simulator.h - runs a user's network, which absorbs and emits packets; all choices are drawn at random. */
#ifndef APHI_SERVER_NETWORK_SIMULATOR_H
#define APHI_SERVER_NETWORK_SIMULATOR_H

#include <antiphon/network.h>

#include "server/simulator.h"

typedef enum aphi_network_action {
    APHI_NETWORK_ABSORBED,
    APHI_NETWORK_EMITTED, /* see `emitted` */
    APHI_NETWORK_WAITS,   /* all drawn choices lead to an aph_absorb without a packet, or to never */
    APHI_NETWORK_FAULT,   /* see `fault` and `why` */
} aphi_network_action;

/* Where the network is: the state at the head of a step, and [kind, answer] of each event since then. */
typedef struct aphi_network_place {
    aph_value state, answers;
} aphi_network_place;

/* The caller only reads the fields. */
typedef struct aphi_network_simulator {
    const aph_network *network;
    aph_model model;           /* of the network */
    aphi_simulator *server;    /* draws the values of aph_choose */
    aphi_choice choice;
    aphi_network_place at, before; /* now; before the latest action */
    aph_value incoming, outgoing;  /* arrays: packets of clients and of the server that were not absorbed */
    aph_packet emitted;
    uint64_t credit;           /* number of emissions after which the step counts as one that never absorbs */
    aphi_simulated_fault fault;
    char why[256];
} aphi_network_simulator;

/* The server's simulator is open, and stays open. The network must outlive n, which adds itself as a root. */
void aphi_network_simulator_open(aphi_network_simulator *n, const aph_network *network, aphi_simulator *server,
                                 uint64_t seed);
void aphi_network_simulator_close(aphi_network_simulator *n);
/* Adds a packet that the network can absorb. */
void aphi_network_simulator_offer(aphi_network_simulator *n, aph_packet p);
/* Runs the network until it absorbs a packet or emits one. Does not collect garbage. */
aphi_network_action aphi_network_simulator_act(aphi_network_simulator *n);
/* Takes back the latest action, which was an emission. */
void aphi_network_simulator_undo(aphi_network_simulator *n);
/* Returns true if clients may observe silence now; *after is the state of the network then. */
bool aphi_network_simulator_is_idle(const aphi_network_simulator *n, aph_value *after);
/* Continues from the head of a step. */
void aphi_network_simulator_set_state(aphi_network_simulator *n, aph_value state);

#endif
