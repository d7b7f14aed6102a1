/* SPDX-License-Identifier: Apache-2.0
 *
 * networks.h - the networks of docs/testing.md as programs. Oracles have faster ways to decide for them.
 *
 * Each can also be loaded from its file: --env models/networks/tcp.c. In the library, which contains all of them, they
 * have names, and do not end with APH_NETWORK. A copy of a file needs this header and queues.h beside it. */
#ifndef APH_NETWORKS_H
#define APH_NETWORKS_H

#include <antiphon/network.h>

#ifdef APH_NETWORKS_INSIDE
#define NETWORK(name) const aph_network aph_network_##name
#define LOADABLE
extern const aph_network aph_network_tcp;
extern const aph_network aph_network_tcp_buffered; /* tcp:N; its data is a pointer to N, a size_t */
extern const aph_network aph_network_sync;
extern const aph_network aph_network_udp;
#else
#define NETWORK(name) static const aph_network network
#define LOADABLE APH_NETWORK(network)
#endif

#endif
