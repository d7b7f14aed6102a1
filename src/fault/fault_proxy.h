/* SPDX-License-Identifier: Apache-2.0
 *
 * fault_proxy.h - stands between clients and a target, passes on what they say, and breaks one thing in it. */
#ifndef APHI_FAULT_FAULT_PROXY_H
#define APHI_FAULT_FAULT_PROXY_H

#include "fault/fault_kinds.h"

#include <sys/socket.h>

typedef struct aphi_fault_proxy aphi_fault_proxy;

typedef struct aphi_fault_proxy_stats {
    uint64_t connections, requests, answers; /* messages are not counted if it is bytes that are broken */
} aphi_fault_proxy_stats;

/* Listens on 127.0.0.1, on any free port for 0. The break is the caller's, and counts what it met. NULL with a
 * message. */
aphi_fault_proxy *aphi_fault_proxy_open(uint16_t port, const struct sockaddr *target, socklen_t target_size,
                                        aphi_fault *b, char *error, size_t error_size);
uint16_t aphi_fault_proxy_port(const aphi_fault_proxy *r);
/* Passes on until it is stopped. False with a message: it cannot go on. */
bool aphi_fault_proxy_run(aphi_fault_proxy *r, char *error, size_t error_size);
/* Passes on what is on its way, for at most so long, and admits no new connections. */
void aphi_fault_proxy_drain(aphi_fault_proxy *r, int64_t ns);
/* For signal handlers: aphi_fault_proxy_run returns. It can be called again. */
void aphi_fault_proxy_stop(aphi_fault_proxy *r);
aphi_fault_proxy_stats aphi_fault_proxy_stats_of(const aphi_fault_proxy *r);
void aphi_fault_proxy_close(aphi_fault_proxy *r);

#endif
