/* SPDX-License-Identifier: Apache-2.0
 *
 * net.h - connections to a subject: messages out, whatever comes back in, all on one loop that never blocks. */
#ifndef APHI_TESTER_NET_H
#define APHI_TESTER_NET_H

#include <antiphon/codec.h>

#include <sys/socket.h>

enum { APHI_NET_CALLS_MAX = 4096 }; /* connections that the subject has opened to us, at once */

typedef enum aphi_arrival_kind {
    APHI_ARRIVED_MESSAGE,
    APHI_ARRIVED_MALFORMED, /* bytes that are no message; message holds them as a string, cut to 256 */
    APHI_ARRIVED_BEYOND,    /* more than we keep of a message, or of all that are not complete; why says what */
    APHI_ARRIVED_CALL,      /* it opened a connection to us */
    APHI_ARRIVED_END,       /* the subject closed the connection, between messages */
    APHI_ARRIVED_RESET,     /* it broke it off */
    APHI_ARRIVED_REFUSED,   /* it did not let us in; why says how */
    APHI_ARRIVED_CROWD,     /* it opened more connections to us than we take, and no more are; why says how many */
    APHI_ARRIVED_UNABLE,    /* we have no descriptor, port or right to connect; why says what */
} aphi_arrival_kind;

typedef struct aphi_arrival {
    aphi_arrival_kind kind;
    int64_t connection;
    aph_value message;
    bool last;       /* of APHI_ARRIVED_MESSAGE: nothing follows on this connection */
    size_t at;       /* of APHI_ARRIVED_MALFORMED: the byte that is wrong */
    const char *why; /* valid during the call */
} aphi_arrival;

/* Does it say something? A connection that comes or goes by itself, opened by the subject, does not. */
bool aphi_arrival_says(const aphi_arrival *a);

/* Whom to tell. Everything that has arrived is told in one go, in the order in which it was read. */
typedef struct aphi_listener {
    void *context;
    void (*arrived)(void *context, const aphi_arrival *a);
    aph_value (*asked)(void *context, int64_t connection); /* the oldest request without an answer, or APH_NIL */
} aphi_listener;

typedef struct aphi_net aphi_net;

/* datagrams: UDP, a message is a datagram. NULL with a message if there is no descriptor left. */
aphi_net *aphi_net_open(const aph_codec *codec, const struct sockaddr *address, socklen_t size, bool datagrams,
                        const aphi_listener *listener, char *error, size_t error_size);
void aphi_net_close(aphi_net *n);
/* Accepts connections on a socket of aphi_port_listen, which stays the caller's. They are numbered from APH_ACCEPTED;
 * bytes received on them are requests of the subject, bytes posted to them are responses. Connections that wait already
 * belong to an earlier run and are closed. port: the one that the subject calls, for the codec; 0: that of the socket. */
void aphi_net_listen(aphi_net *n, int listener, unsigned port);

/* Puts a message in the outbox of a connection, which is opened if it is not open. chunk: bytes in one write, with a
 * pause between writes; 0: all. False: the codec has no bytes for it. */
bool aphi_net_post(aphi_net *n, int64_t connection, aph_value message, uint32_t chunk);
/* Is everything that was posted written? */
bool aphi_net_idle(const aphi_net *n);
/* Is it being opened, and nobody has let us in yet? */
bool aphi_net_is_dialing(const aphi_net *n, int64_t connection);
/* The tester is done with the connection: its outbox is still written, what comes after is not told. What is posted
 * next opens it anew. */
void aphi_net_hang_up(aphi_net *n, int64_t connection);
/* Writes what can be written, then waits at most so long for something to arrive, and tells it. Returns how many
 * arrivals there were that say something, negative if it was interrupted by a signal. */
int aphi_net_turn(aphi_net *n, int64_t wait_ns);
bool aphi_net_heard(const aphi_net *n); /* did bytes arrive in the last turn, if only a part of a message? */
size_t aphi_net_connections(const aphi_net *n); /* that are open */

#endif
