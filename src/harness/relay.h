/* SPDX-License-Identifier: Apache-2.0
 *
 * relay.h - stands between clients and a target, passes on what they say, and breaks one thing in it. */
#ifndef APHI_HARNESS_RELAY_H
#define APHI_HARNESS_RELAY_H

#include "harness/breaks.h"

#include <sys/socket.h>

typedef struct aphi_relay aphi_relay;

typedef struct aphi_relay_stats {
    uint64_t connections, requests, answers; /* messages are not counted if it is bytes that are broken */
} aphi_relay_stats;

/* Listens on 127.0.0.1, on any free port for 0. The break is the caller's, and counts what it met. NULL with a message. */
aphi_relay *aphi_relay_open(uint16_t port, const struct sockaddr *target, socklen_t target_size, aphi_break *b,
                            char *error, size_t error_size);
uint16_t aphi_relay_port(const aphi_relay *r);
/* Passes on until it is stopped. False with a message: it cannot go on. */
bool aphi_relay_run(aphi_relay *r, char *error, size_t error_size);
/* Passes on what is on its way, for at most so long, and admits no new connections. */
void aphi_relay_drain(aphi_relay *r, int64_t ns);
/* For signal handlers: aphi_relay_run returns. It can be called again. */
void aphi_relay_stop(aphi_relay *r);
aphi_relay_stats aphi_relay_stats_of(const aphi_relay *r);
void aphi_relay_close(aphi_relay *r);

#endif
