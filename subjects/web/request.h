/* SPDX-License-Identifier: Apache-2.0
 *
 * request.h - requests as they come in: RFC 9112, strictly. */
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
    REFUSED, /* a method that we know and do not allow */
    FOREIGN, /* one that we do not know */
} method;

/* The fields that mean something to us. */
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
    bool close;          /* no request follows on this connection */
    bool framed;         /* it has a body, be it an empty one */
    bool awaits;         /* nothing of its body will come before "100 Continue" */
    char *path;          /* with its query; equivalent ones are equal (RFC 9110, section 4.2.3) */
    char *field[FIELDS]; /* NULL if it is not there; several lines are joined by ", " */
    buffer content;
    int status;          /* of one that is FAULTY: what to answer, before the connection is closed */
    const char *why;

    bool old;            /* HTTP/1.0 */
    size_t scanned;      /* bytes of the line that have been looked at */
    size_t spent;        /* of HEAD_MAX */
    size_t left;         /* bytes of the content, or of the chunk, that have not come */
} request;

/* Takes what it can from the bytes that came; the request is then complete or faulty, or needs more. */
void request_read(request *r, buffer *in);

/* Ready for the next one. */
void request_reset(request *r);

/* The list has this member, in any case of letters. */
bool request_lists(const char *list, const char *member);

#endif
