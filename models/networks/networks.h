/* SPDX-License-Identifier: Apache-2.0
 *
 * networks.h - the networks of docs/testing.md as programs. Oracles have faster ways to decide for them. */
#ifndef APH_NETWORKS_H
#define APH_NETWORKS_H

#include <antiphon/network.h>

extern const aph_network aph_network_tcp;
extern const aph_network aph_network_tcp_buffered; /* tcp:N; its data is a pointer to N, a size_t */
extern const aph_network aph_network_sync;
extern const aph_network aph_network_udp;

#endif
