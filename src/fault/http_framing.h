/* SPDX-License-Identifier: Apache-2.0
 *
 * http_framing.h - the boundaries of HTTP/1.1 messages in a stream of bytes, and the content of their heads.
 *
 * Made for a proxy: the concatenated pieces are the stream, byte for byte, and no input is rejected. After bytes that
 *                   are not HTTP/1.1, all pieces are opaque. */
#ifndef APHI_FAULT_HTTP_FRAMING_H
#define APHI_FAULT_HTTP_FRAMING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum aphi_piece_kind {
    APHI_PIECE_MORE,      /* not a piece yet: more bytes are needed */
    APHI_PIECE_BLANK,     /* line ends before a head */
    APHI_PIECE_HEAD,      /* a head with its empty line; call aphi_http_framing_body next */
    APHI_PIECE_DATA,      /* bytes of a body */
    APHI_PIECE_CHUNK,     /* the line before a chunk, which has `size` bytes */
    APHI_PIECE_CHUNK_END, /* the line end after a chunk */
    APHI_PIECE_LAST,      /* the line of the last chunk */
    APHI_PIECE_TRAILER,   /* a line after the last chunk; the final one is empty */
    APHI_PIECE_END,       /* the end of the message; has no bytes */
    APHI_PIECE_OPAQUE,
} aphi_piece_kind;

typedef struct aphi_piece {
    aphi_piece_kind kind;
    size_t n; /* bytes */
    uint64_t size;
} aphi_piece;

typedef enum aphi_http_framing_state {
    APHI_FRAMING_HEAD,
    APHI_FRAMING_LENGTH,
    APHI_FRAMING_CHUNK,
    APHI_FRAMING_CHUNK_DATA,
    APHI_FRAMING_CHUNK_END,
    APHI_FRAMING_TRAILER,
    APHI_FRAMING_UNTIL_END,
    APHI_FRAMING_OVER, /* the message is complete, but APHI_PIECE_END is still to be returned */
    APHI_FRAMING_OPAQUE,
} aphi_http_framing_state;

/* Initialize it to {0}. */
typedef struct aphi_http_framing {
    aphi_http_framing_state state;
    uint64_t left;  /* bytes left of the body or of the chunk */
    size_t scanned; /* bytes already searched for the end of a line or head */
} aphi_http_framing;

/* Returns the next piece of these bytes, which follow the previous piece. If `ended` is set, no more bytes follow, and
 * an incomplete piece is opaque. */
aphi_piece aphi_http_framing_next(aphi_http_framing *s, const char *bytes, size_t n, bool ended);

typedef enum aphi_body { APHI_BODY_NONE, APHI_BODY_LENGTH, APHI_BODY_CHUNKED, APHI_BODY_UNTIL_END } aphi_body;

/* The content of a head; the strings point into the head. */
typedef struct aphi_head {
    const char *bytes;
    size_t n, start_n;            /* sizes of the head and of its first line with its line end */
    const char *method, *target;  /* of a request */
    size_t method_n, target_n;
    int status;                   /* of a response; 0: a request */
    aphi_body body;
    uint64_t length;
    bool opaque;                  /* the following bytes are not known to be HTTP/1.1 */
    bool closes;                  /* the last message of its connection */
    bool expects;                 /* the client waits for 100 Continue */
} aphi_head;

typedef struct aphi_field {
    const char *line, *name, *value;
    size_t line_n, name_n, value_n; /* line_n includes the line end and continuation lines */
} aphi_field;

/* For a response, `method` is the method of its request: 'H' for HEAD, 'C' for CONNECT, 0 for any other. */
void aphi_head_read(aphi_head *h, const char *bytes, size_t n, bool response, char method);
/* Reads the field at *at, which starts as start_n, and advances. Returns false at the end of the head. */
bool aphi_head_field(const aphi_head *h, size_t *at, aphi_field *f);
bool aphi_field_is(const aphi_field *f, const char *name);
bool aphi_method_is(const aphi_head *h, const char *method);
/* Call this after the piece that is this head. */
void aphi_http_framing_body(aphi_http_framing *s, const aphi_head *h);

#endif
