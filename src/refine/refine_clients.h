/* SPDX-License-Identifier: Apache-2.0
 *
 * refine_clients.h - the clients of a model: messages that they send and observe, both ends of their connections. */
#ifndef APHI_REFINE_REFINE_CLIENTS_H
#define APHI_REFINE_REFINE_CLIENTS_H

#include "refine/refine_space.h"

/* The fields of a client. */
enum {
    APHI_REFINE_NEXT,    /* number of its next request */
    APHI_REFINE_OFFSET,  /* bytes of that request sent so far */
    APHI_REFINE_CHUNKS,  /* chunks of that request sent so far */
    APHI_REFINE_TO,      /* chunks and signals in transit to the model, an array; unreduced only; see also
                          * refine_network.c */
    APHI_REFINE_UNREAD,  /* arrived bytes of an incomplete message */
    APHI_REFINE_FROM,    /* bytes in transit to the client, perhaps with APH_CLOSED at the end; unreduced only */
    APHI_REFINE_PARTIAL, /* received bytes of an incomplete response */
    APHI_REFINE_PHASE,   /* of the connection, for the client */
    APHI_REFINE_SERVED,  /* phase of the connection, for the model */
    APHI_REFINE_CLIENT_FIELDS
};

/* The phases of a connection, for one of its sides. */
enum {
    APHI_REFINE_UNOPENED, /* the model: not accepted */
    APHI_REFINE_OPEN,
    APHI_REFINE_SHUT,     /* the client has closed its side; the model: has received that */
    APHI_REFINE_OVER,     /* nothing more is sent or received */
};

typedef struct aphi_refine_state { /* an unpacked state */
    aph_value field[APHI_REFINE_FIELDS];
} aphi_refine_state;

aphi_refine_state aphi_refine_state_unpack(aph_value state);
void aphi_refine_state_push(aphi_refine_space *g, const aphi_refine_state *s);
aph_value aphi_refine_client(const aphi_refine_state *s, size_t client, size_t field);
size_t aphi_refine_client_count(const aphi_refine_state *s, size_t client, size_t field);
void aphi_refine_client_set(aphi_refine_state *s, size_t client, size_t field, aph_value v);
void aphi_refine_client_set_count(aphi_refine_state *s, size_t client, size_t field, size_t n);
/* The clients before the first event. */
aph_value aphi_refine_clients_open(const aphi_refine_space *g);

/* Records a fault of a model, or of the requests, unless a flaw is known. */
void aphi_refine_fault_set(aphi_refine_space *g, aph_fault fault, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Decodes bytes that reach the client, with the codec of the specification; or APH_CLOSED or APH_BROKEN: the server
 * closes the connection. */
void aphi_refine_client_receive(aphi_refine_space *g, aphi_refine_state *s, size_t client, aph_value bytes);

/* The server has sent bytes that are not the beginning of a message of the specification. */
void aphi_refine_malformed(aphi_refine_space *g, const aphi_refine_state *s, size_t client, aph_value bytes,
                           const aph_wire *wire);
/* The client observes the end of its connection: APH_CLOSED or APH_BROKEN. */
void aphi_refine_client_end(aphi_refine_space *g, aphi_refine_state *s, size_t client, aph_value end);

/* A chunk of the client, or an opening or an end, arrives at the model: pushes the state. */
void aphi_refine_take_chunk(aphi_refine_space *g, aphi_refine_state *s, size_t client, aph_value chunk);
void aphi_refine_take_signal(aphi_refine_space *g, aphi_refine_state *s, size_t client, aph_value signal);

/* Sets the range of possible lengths of the client's next chunk; 0 and 0 if there is none. */
void aphi_refine_client_lengths(const aphi_refine_space *g, const aphi_refine_state *s, size_t client, size_t *min,
                                size_t *max);
/* Sends the next n bytes of the client; returns them. */
aph_value aphi_refine_client_send(const aphi_refine_space *g, aphi_refine_state *s, size_t client, size_t n);
/* The client opens or ends its connection. */
void aphi_refine_client_signal(const aphi_refine_space *g, aphi_refine_state *s, size_t client, aph_value signal);

#endif
