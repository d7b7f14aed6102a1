/* SPDX-License-Identifier: Apache-2.0
 *
 * ports.h - ports of this machine, listening sockets, and addresses of targets. */
#ifndef APHI_SUBJECT_PORTS_H
#define APHI_SUBJECT_PORTS_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>

/* Returns the port if a socket can be bound to it on 127.0.0.1, else 0. If port is 0, returns a free port. */
in_port_t aphi_port_free(in_port_t port, bool datagrams);
/* Returns the inode of the socket that receives packets for 127.0.0.1 at the port; 0 if there is none. Sends
 * nothing. */
uint32_t aphi_port_listener(in_port_t port, bool datagrams);
/* Returns true if the process has this socket open; false if it may not be inspected. */
bool aphi_port_is_held_by(uint32_t socket, pid_t pid);
bool aphi_port_connects(in_port_t port);
/* An address at which the tester takes the place of a server that the subject calls; see model.h. */
typedef struct aphi_origin {
    int fd;        /* a listening socket on 127.0.0.1 */
    unsigned port; /* the port that the subject connects to: that of the socket, or of a proxy in front of it */
} aphi_origin;
/* Listens on 127.0.0.1 at *port; if *port is 0, at a free port, which is stored in *port. The socket does not block.
 * Returns -1 with a message on failure. */
int aphi_port_listen(unsigned *port, char *error, size_t size);
/* Accepts a connection, as a socket that does not block and sends small messages at once. Returns -1 with errno if no
 * connection is waiting, or if aphi_port_is_exhausted. */
int aphi_port_accept(int listener);
/* Returns true if the errno means that descriptors or memory for sockets are exhausted. */
bool aphi_port_is_exhausted(int error);
/* Returns true if the errno means that this machine has no route or no address of the family. */
bool aphi_port_has_no_network(int error);
/* Returns false with a message if 127.0.0.1 cannot be reached. */
bool aphi_port_check_loopback(char *error, size_t size);
/* Raises the limit on open descriptors to `need`, as far as allowed. */
void aphi_port_raise_limit(size_t need);
/* Returns false with a message if the text is not HOST:PORT, [V6]:PORT or unix:PATH. Looks nothing up. */
bool aphi_port_is_address(const char *target, bool datagrams, char *error, size_t size);
/* Resolves such a text. Returns false with a message. */
bool aphi_port_resolve(const char *target, bool datagrams, struct sockaddr_storage *address, socklen_t *address_size,
                       char *error, size_t size);
/* Connects a socket that does not block; *connecting: it is not connected yet. Returns false with errno. */
bool aphi_port_connect(int fd, const struct sockaddr *address, socklen_t size, bool *connecting);

#endif
