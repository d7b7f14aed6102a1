/* SPDX-License-Identifier: Apache-2.0
 *
 * network.h - a network between clients and a server, as a small nondeterministic C program.
 *
 * A network is a step, as a model is (model.h): a C function that is called repeatedly and is a pure function of *state
 * and of the values that the calls below return. It absorbs packets and emits some of them. A packet that it absorbs is
 * the next one that the server has sent, or else the next one that a client sends. A packet that it emits reaches the
 * server, or is observed by a client. A network that keeps the order of all packets, and delivers them at any time:
 *
 *     static void step(aph *m, aph_value *buffer)
 *     {
 *         if (aph_count(*buffer) && aph_pick(m, 2) == 0) {
 *             aph_emit(m, aph_packet_of(aph_at(*buffer, 0)));
 *             *buffer = aph_slice(*buffer, 1, aph_count(*buffer) - 1);
 *         } else {
 *             *buffer = aph_packets_add(m, *buffer, aph_absorb(m));
 *         }
 *     }
 *
 * The verdict of a check is valid for this network: a history fails if no sequence of picks explains it. So a network
 * must allow everything that the real network does.
 */
#ifndef ANTIPHON_NETWORK_H
#define ANTIPHON_NETWORK_H

#include <antiphon/model.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct aph_packet {
    bool to_server;            /* from a client to the server; otherwise from the server to a client */
    aph_connection connection;
    /* A message. If the server sent it, it may contain symbols. With aph_model.connections, it may also be APH_OPENED,
     * APH_CLOSED, APH_BROKEN, or APH_LEFT to the server, which then receives APH_CLOSED or APH_BROKEN. */
    aph_value message;
} aph_packet;

/* ---- events of a step -------------------------------------------------------------------------------------------- */

/* Returns the next packet of the server if it has sent one, otherwise the next packet that a client sends. A network
 * can delay the packets of the server by absorbing later. It cannot delay a client, which is observed when it sends: a
 * branch that does not absorb at that moment is abandoned. */
aph_packet aph_absorb(aph *m);
/* Delivers a packet: to the server, which receives it before the next event of the network, or to a client, which
 * observes it now. A packet for an end of a connection that is closed has no effect. The packet may be changed or made
 * by the network. The connection must be one of a client, or one on which the server has sent; to the server, it may
 * also be another number from 0 below 2^32 (not in `refine`). */
void aph_emit(aph *m, aph_packet packet);
/* A free choice of a number below n, which must not be 0. Smaller numbers are tried first. */
size_t aph_pick(aph *m, size_t n);
/* Returns true if the server has sent a packet that was not absorbed yet: the next aph_absorb returns it. */
bool aph_has_outgoing(aph *m);
/* A packet as an array [to_server, connection, message], for the state, and back. */
aph_value aph_packet_value(aph_packet packet);
aph_packet aph_packet_of(aph_value value);
/* For a state that is an array of packet values, oldest first: returns the indices of those that have no older packet
 * in the same direction of the same connection, as an array of integers. */
aph_value aph_packets_oldest(aph_value packets);
aph_value aph_packets_remove(aph_value packets, size_t at); /* the array without this one */
/* Adds an absorbed packet. If a client leaves a connection or resets it, the latest of its packets that are in flight
 * may be lost, as over TCP: this is a free choice. The server then receives APH_BROKEN; or nothing, if the opening is
 * lost. */
aph_value aph_packets_add(aph *m, aph_value packets, aph_packet packet);
/* aph_never abandons the branch: the network cannot behave in this way. aph_data returns aph_network.data. aph_choose
 * and aph_decide are allowed, too, for a network that changes messages. */

/* ---- a network --------------------------------------------------------------------------------------------------- */

#define APH_NETWORK_VERSION 1

typedef struct aph_network {
    int version;             /* APH_NETWORK_VERSION */
    const char *name;
    const char *summary;     /* one line */
    aph_step *step;
    aph_value (*initial)(const struct aph_network *network); /* the first state; NULL: the empty array */
    const void *data;        /* for aph_data */
    /* Returns true if the clients may observe a long silence in this state, because nothing is in flight that must
     * arrive. It may change the state, such as to lose all packets. NULL: only in the first state. */
    bool (*idle)(aph_value *state);
} aph_network;

/* Put APH_NETWORK(my_network) at the end of a source file to make it loadable (aph_network_load in check.h). */
#define APH_NETWORK(network) \
    const size_t aph_network_size = sizeof(aph_network); /* later versions of the structure may be larger */ \
    const aph_network *aph_network_main(void) { return &(network); }

/* Returns the network as a model for aph_tree_of and aph_tree_at, whose tree absorbs and emits: a receive is answered
 * by a packet value, the value of a send is a packet value, and a pick is a choice among `count` alternatives without
 * names. aph_has_outgoing is the event APH_EVENT_OTHER named "outgoing", answered by a boolean. The network must
 * outlive the model. */
aph_model aph_network_model(const aph_network *network);

#ifdef __cplusplus
}
#endif
#endif
