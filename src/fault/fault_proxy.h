/* SPDX-License-Identifier: Apache-2.0
 *
 * fault_proxy.h - a proxy that injects one kind of fault into the traffic between clients and a target. */
#ifndef APHI_FAULT_FAULT_PROXY_H
#define APHI_FAULT_FAULT_PROXY_H

#include "fault/fault_kinds.h"

#include <sys/socket.h>

typedef struct aphi_fault_proxy aphi_fault_proxy;

typedef struct aphi_fault_proxy_stats {
    uint64_t connections, requests, answers; /* messages are not counted for faults of bytes */
} aphi_fault_proxy_stats;

/* Listens on 127.0.0.1, for 0 on a free port. The fault is owned by the caller, and counts its candidates. Returns NULL
 * with a message if it cannot. */
aphi_fault_proxy *aphi_fault_proxy_open(uint16_t port, const struct sockaddr *target, socklen_t target_size,
                                        aphi_fault *fault, char *error, size_t error_size);
uint16_t aphi_fault_proxy_port(const aphi_fault_proxy *p);
/* Forwards until it is stopped. Returns false with a message if it cannot continue. */
bool aphi_fault_proxy_run(aphi_fault_proxy *p, char *error, size_t error_size);
/* Forwards the bytes in transit, for up to ns, and accepts no more connections. */
void aphi_fault_proxy_drain(aphi_fault_proxy *p, int64_t ns);
/* For signal handlers: aphi_fault_proxy_run returns. It can be called again. */
void aphi_fault_proxy_stop(aphi_fault_proxy *p);
aphi_fault_proxy_stats aphi_fault_proxy_stats_of(const aphi_fault_proxy *p);
void aphi_fault_proxy_close(aphi_fault_proxy *p);

#endif
