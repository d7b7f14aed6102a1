/* SPDX-License-Identifier: Apache-2.0
 *
 * ports.h - ports of this machine: which are free, and who listens; and the address of a target. */
#ifndef APHI_HARNESS_PORTS_H
#define APHI_HARNESS_PORTS_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>

/* Can a socket be bound to the port on the loopback address? 0: to any. The port, or 0 if it is taken. */
in_port_t aphi_port_free(in_port_t port, bool datagrams);
/* Would somebody get what is sent to 127.0.0.1 at that port? Nothing is sent. */
bool aphi_port_listens(in_port_t port, bool datagrams);
bool aphi_port_connects(in_port_t port);
/* HOST:PORT or [V6]:PORT. False with a message. */
bool aphi_port_resolve(const char *target, bool datagrams, struct sockaddr_storage *address, socklen_t *address_size,
                       char *error, size_t size);

#endif
