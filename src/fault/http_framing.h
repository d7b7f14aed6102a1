/* SPDX-License-Identifier: Apache-2.0
 *
 * http_framing.h - where HTTP/1.1 messages begin and end in a stream of bytes, and what stands in their heads.
 *
 * For those that pass messages on: the pieces that it finds are the stream, byte for byte. It judges nothing. From
 * where it does not understand the stream, the rest is one opaque piece after the other. */
#ifndef APHI_FAULT_HTTP_FRAMING_H
#define APHI_FAULT_HTTP_FRAMING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum aphi_piece_kind {
    APHI_PIECE_MORE,      /* none yet: more bytes are needed */
    APHI_PIECE_BLANK,     /* line ends before a head */
    APHI_PIECE_HEAD,      /* a head with its empty line; aphi_http_framing_body is to be called next */
    APHI_PIECE_DATA,      /* of a body */
    APHI_PIECE_CHUNK,     /* the line before a chunk, which has `size` bytes */
    APHI_PIECE_CHUNK_END, /* the line end after it */
    APHI_PIECE_LAST,      /* the line of the last chunk */
    APHI_PIECE_TRAILER,   /* a line after it; the last is empty */
    APHI_PIECE_END,       /* of the message; no bytes */
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
    APHI_FRAMING_OVER, /* a message is, but it was not told yet */
    APHI_FRAMING_OPAQUE,
} aphi_http_framing_state;

/* Starts as {0}. */
typedef struct aphi_http_framing {
    aphi_http_framing_state state;
    uint64_t left;  /* bytes of the body or of the chunk */
    size_t scanned; /* bytes in which no end of a line or a head was found */
} aphi_http_framing;

/* The next piece of these bytes, which follow those of the piece before. ended: no more come. At the end, what is the
 * beginning of something is opaque. */
aphi_piece aphi_http_framing_next(aphi_http_framing *s, const char *bytes, size_t n, bool ended);

typedef enum aphi_body { APHI_BODY_NONE, APHI_BODY_LENGTH, APHI_BODY_CHUNKED, APHI_BODY_UNTIL_END } aphi_body;

/* What a head says; its texts lie in the head. */
typedef struct aphi_head {
    const char *bytes;
    size_t n, start_n;            /* start_n: of the first line, with its end */
    const char *method, *target;  /* of a request */
    size_t method_n, target_n;
    int status;                   /* of an answer; 0: a request */
    aphi_body body;
    uint64_t length;
    bool opaque;                  /* what follows is not to be understood */
    bool closes;                  /* the last message of its connection */
    bool expects;                 /* a client waits for 100 Continue */
} aphi_head;

typedef struct aphi_field {
    const char *line, *name, *value;
    size_t line_n, name_n, value_n; /* line_n: with its end, and with lines that continue it */
} aphi_field;

/* asked: the method of the request that an answer is to, or NULL. */
void aphi_head_read(aphi_head *h, const char *bytes, size_t n, bool answer, const char *asked);
/* The field at *at, which starts as start_n; false at the end of the head. */
bool aphi_head_field(const aphi_head *h, size_t *at, aphi_field *f);
bool aphi_field_is(const aphi_field *f, const char *name);
bool aphi_method_is(const aphi_head *h, const char *method);
/* The piece was a head, and this one. */
void aphi_http_framing_body(aphi_http_framing *s, const aphi_head *h);

#endif
