/* SPDX-License-Identifier: Apache-2.0
 *
 * request.h - incremental, strict parser of requests (RFC 9112). */
#ifndef WEB_REQUEST_H
#define WEB_REQUEST_H

#include "buffer.h"

#include <stdbool.h>

enum {
    TARGET_MAX = 8 * 1024,     /* bytes of a request line: 414 beyond */
    HEAD_MAX = 16 * 1024,      /* of a head, with the chunk extensions and trailers of its body: 431 beyond */
    CONTENT_MAX = 1024 * 1024, /* of a body, and of a resource: 413 beyond */
};

typedef enum method {
    GET,
    HEAD,
    PUT,
    POST,
    DELETE,
    REFUSED, /* a known method that is not allowed */
    FOREIGN, /* an unknown method */
} method;

/* The fields that are used. */
typedef enum field {
    CONNECTION,
    CONTENT_ENCODING,
    CONTENT_LENGTH,
    CONTENT_RANGE,
    CONTENT_TYPE,
    EXPECT,
    HOST,
    IF_MATCH,
    IF_MODIFIED_SINCE,
    IF_NONE_MATCH,
    IF_RANGE,
    IF_UNMODIFIED_SINCE,
    RANGE,
    TRANSFER_ENCODING,
    FIELDS
} field;

typedef enum phase {
    REQUEST_LINE,
    FIELD_LINES,
    CONTENT,
    CHUNK_SIZE,
    CHUNK,
    CHUNK_END,
    TRAILER,
    COMPLETE,
    FAULTY
} phase;

typedef struct request {
    phase phase;
    method method;
    bool close;          /* this is the last request of the connection */
    bool framed;         /* it has a body, possibly empty */
    bool awaits;         /* the client waits for "100 Continue" before it sends the body */
    char *path;          /* with its query, normalized (RFC 9110, section 4.2.3) */
    char *field[FIELDS]; /* NULL if absent; several lines are joined by ", " */
    buffer content;
    int status;          /* of a FAULTY request: the status to send before closing */
    const char *why;

    bool old;            /* HTTP/1.0 */
    size_t scanned;      /* scanned bytes of the line */
    size_t spent;        /* bytes counted towards HEAD_MAX */
    size_t left;         /* missing bytes of the content or of the chunk */
} request;

/* Consumes input; the request is then complete or faulty, or needs more input. */
void request_read(request *r, buffer *in);

/* Resets the parser for the next request. */
void request_reset(request *r);

/* Returns true if the list has the member, ignoring case. */
bool request_lists(const char *list, const char *member);

#endif
