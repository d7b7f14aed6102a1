/* SPDX-License-Identifier: Apache-2.0
 *
 * net.h - connections to a subject on one event loop: sending messages, and receiving messages and ends. */
#ifndef APHI_TESTER_NET_H
#define APHI_TESTER_NET_H

#include <antiphon/codec.h>

#include "subject/ports.h"

#include <sys/socket.h>

enum { APHI_NET_CALLS_MAX = 4096 }; /* open connections from the subject */

typedef enum aphi_arrival_kind {
    APHI_ARRIVED_MESSAGE,
    APHI_ARRIVED_MALFORMED, /* message: the bytes as a string, cut to 256 */
    APHI_ARRIVED_TOO_LARGE, /* a message exceeds a limit of Antiphon, or all incomplete messages together do; see why */
    APHI_ARRIVED_CALL,      /* the subject opened a connection to us */
    APHI_ARRIVED_END,       /* the subject closed the connection, between messages */
    APHI_ARRIVED_RESET,     /* the subject reset it */
    APHI_ARRIVED_REFUSED,   /* the subject refused it; see why */
    APHI_ARRIVED_TOO_MANY,  /* too many connections from the subject; no more are accepted. why: the number */
    APHI_ARRIVED_UNABLE,    /* no descriptor, port or permission to connect; see why */
} aphi_arrival_kind;

typedef struct aphi_arrival {
    aphi_arrival_kind kind;
    int64_t connection;
    aph_value message;
    bool last;       /* APHI_ARRIVED_MESSAGE: the last on this connection */
    size_t at;       /* APHI_ARRIVED_MALFORMED, _TOO_LARGE: the index of the wrong byte */
    const char *why; /* valid during the call */
} aphi_arrival;

/* Returns true if the arrival ends a silence. The start or end of a connection from the subject does not. */
bool aphi_arrival_ends_silence(const aphi_arrival *a);

/* Callbacks of aphi_net_run_once, called in the order of reading. */
typedef struct aphi_net_callbacks {
    void *context;
    void (*arrived)(void *context, const aphi_arrival *a);
    aph_value (*asked)(void *context, int64_t connection); /* the oldest request without a response, or APH_NIL */
} aphi_net_callbacks;

typedef struct aphi_net aphi_net;

/* datagrams: UDP, each message is a datagram. Returns NULL with a message if no descriptor is left. */
aphi_net *aphi_net_open(const aph_codec *codec, const struct sockaddr *address, socklen_t size, bool datagrams,
                        const aphi_net_callbacks *callbacks, char *error, size_t error_size);
void aphi_net_close(aphi_net *n);
/* Accepts connections at up to APH_ORIGINS_MAX origins, whose sockets the caller still owns. Call it once. The k-th of
 * all connections has the number k plus (i + 1) * APH_ACCEPTED, where i is its origin. Bytes received on them are
 * requests of the subject, bytes posted to them are responses. Connections that are already waiting belong to an
 * earlier run and are closed. */
void aphi_net_listen(aphi_net *n, const aphi_origin *origins, size_t count);

/* Appends a message to the outbox of a connection, which the next round opens if necessary. chunk: bytes per write,
 * with a pause between writes; 0: all. Returns false if the codec cannot encode the message. */
bool aphi_net_post(aphi_net *n, int64_t connection, aph_value message, uint32_t chunk);
/* The reason why the codec could not encode the latest message that was not posted; may be empty. */
const char *aphi_net_refusal(const aphi_net *n);
/* Opens the connection in the next round, even if no message is posted. */
void aphi_net_open_connection(aphi_net *n, int64_t connection);
/* Closes our side of the connection once its outbox is written; arrivals are still reported. */
void aphi_net_half_close(aphi_net *n, int64_t connection);
/* Resets the connection at once; its outbox is dropped, and arrivals are no longer reported. */
void aphi_net_abort_connection(aphi_net *n, int64_t connection);
bool aphi_net_idle(const aphi_net *n);
/* Returns true if the connection is being opened and is not accepted yet. */
bool aphi_net_is_connecting(const aphi_net *n, int64_t connection);
/* Returns the bytes of an incomplete message that has arrived on a connection of the tester, valid until the next
 * round. *count is 0 if there are none. */
const char *aphi_net_incomplete(const aphi_net *n, int64_t connection, size_t *count);
/* Closes the connection once its outbox is written; arrivals are no longer reported. A post opens it again. */
void aphi_net_close_connection(aphi_net *n, int64_t connection);
/* Writes outboxes, then waits up to wait_ns for arrivals and reports them. Returns the number of arrivals that end a
 * silence; -1 if a signal interrupted the wait. */
int aphi_net_run_once(aphi_net *n, int64_t wait_ns);
bool aphi_net_received(const aphi_net *n); /* true if bytes arrived in the latest round */
size_t aphi_net_connections(const aphi_net *n); /* the number of open ones */

#endif
