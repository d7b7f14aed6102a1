/* SPDX-License-Identifier: Apache-2.0
 *
 * fault_proxy.h - a proxy that injects one kind of fault into the traffic between clients and a target. */
#ifndef APHI_FAULT_FAULT_PROXY_H
#define APHI_FAULT_FAULT_PROXY_H

#include "fault/fault_kinds.h"

#include <sys/socket.h>

typedef struct aphi_fault_proxy aphi_fault_proxy;

typedef struct aphi_fault_proxy_stats {
    uint64_t connections, requests, answers; /* byte faults do not count messages */
} aphi_fault_proxy_stats;

/* Listens on 127.0.0.1; port 0 selects a free port. The caller keeps the fault, which counts its candidates. Returns
 * NULL with a message on failure. */
aphi_fault_proxy *aphi_fault_proxy_open(uint16_t port, const struct sockaddr *target, socklen_t target_size,
                                        aphi_fault *fault, char *error, size_t error_size);
uint16_t aphi_fault_proxy_port(const aphi_fault_proxy *p);
/* Forwards until stopped. Returns false with a message if it cannot continue. */
bool aphi_fault_proxy_run(aphi_fault_proxy *p, char *error, size_t error_size);
/* Forwards the bytes in transit for up to ns nanoseconds. Accepts no more connections. */
void aphi_fault_proxy_drain(aphi_fault_proxy *p, int64_t ns);
/* Makes aphi_fault_proxy_run return. May be called from signal handlers, and repeatedly. */
void aphi_fault_proxy_stop(aphi_fault_proxy *p);
aphi_fault_proxy_stats aphi_fault_proxy_stats_of(const aphi_fault_proxy *p);
void aphi_fault_proxy_close(aphi_fault_proxy *p);

#endif
