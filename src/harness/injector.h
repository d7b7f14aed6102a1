/* SPDX-License-Identifier: Apache-2.0
 *
 * injector.h - stands between clients and a target, passes on what they say, and breaks one thing in it. */
#ifndef APHI_HARNESS_INJECTOR_H
#define APHI_HARNESS_INJECTOR_H

#include "harness/breaks.h"

#include <sys/socket.h>

typedef struct aphi_injector aphi_injector;

typedef struct aphi_injector_stats {
    uint64_t connections, requests, answers; /* messages are not counted if it is bytes that are broken */
} aphi_injector_stats;

/* Listens on 127.0.0.1, on any free port for 0. The break is the caller's, and counts what it met. NULL with a
 * message. */
aphi_injector *aphi_injector_open(uint16_t port, const struct sockaddr *target, socklen_t target_size, aphi_break *b,
                                  char *error, size_t error_size);
uint16_t aphi_injector_port(const aphi_injector *r);
/* Passes on until it is stopped. False with a message: it cannot go on. */
bool aphi_injector_run(aphi_injector *r, char *error, size_t error_size);
/* Passes on what is on its way, for at most so long, and admits no new connections. */
void aphi_injector_drain(aphi_injector *r, int64_t ns);
/* For signal handlers: aphi_injector_run returns. It can be called again. */
void aphi_injector_stop(aphi_injector *r);
aphi_injector_stats aphi_injector_stats_of(const aphi_injector *r);
void aphi_injector_close(aphi_injector *r);

#endif
