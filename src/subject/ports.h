/* SPDX-License-Identifier: Apache-2.0
 *
 * ports.h - ports of this machine: which are free, and who listens; and the address of a target. */
#ifndef APHI_SUBJECT_PORTS_H
#define APHI_SUBJECT_PORTS_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>

/* Can a socket be bound to the port on the loopback address? 0: to any. The port, or 0 if it is taken. */
in_port_t aphi_port_free(in_port_t port, bool datagrams);
/* The socket, as the system numbers them, that would get what is sent to 127.0.0.1 at that port; 0 if there is none.
 * Nothing is sent. */
uint32_t aphi_port_listener(in_port_t port, bool datagrams);
/* Has the process that socket? False too if we may not know. */
bool aphi_port_is_held_by(uint32_t socket, pid_t pid);
bool aphi_port_connects(in_port_t port);
/* Listens on 127.0.0.1 at *port, or for 0 at a free port, which is stored in *port. The socket does not block. Returns
 * -1 with a message if it cannot. */
int aphi_port_listen(unsigned *port, char *error, size_t size);
/* Accepts a connection, as a socket that does not block and sends small messages at once. Returns -1 with errno: none
 * is waiting, or aphi_port_is_exhausted. */
int aphi_port_accept(int listener);
/* Does the errno mean that descriptors or memory for sockets are used up? */
bool aphi_port_is_exhausted(int error);
/* Raises the limit of open descriptors as far as allowed. */
void aphi_port_raise_limit(void);
/* HOST:PORT or [V6]:PORT. False with a message. */
bool aphi_port_resolve(const char *target, bool datagrams, struct sockaddr_storage *address, socklen_t *address_size,
                       char *error, size_t size);

#endif
