/* SPDX-License-Identifier: Apache-2.0
 *
 * framing.h - how long a message is (RFC 9112 6 and 7). */
#ifndef APHI_HTTP_FRAMING_H
#define APHI_HTTP_FRAMING_H

#include "head.h"

enum { APHI_HTTP_CHUNK_LINE_MAX = 4096 }; /* bytes of a chunk's size and extensions */

typedef enum aphi_http_frame {
    APHI_HTTP_NO_BODY,
    APHI_HTTP_LENGTH,
    APHI_HTTP_CHUNKED,
    APHI_HTTP_TO_THE_END, /* of the connection */
} aphi_http_frame;

typedef struct aphi_http_framing {
    aphi_http_frame frame;
    size_t length; /* of the body, for APHI_HTTP_LENGTH */
    bool close;    /* the sender closes the connection after this message */
} aphi_http_framing;

/* How the message after this head is framed; it has at most `limit` bytes with all. APH_DECODED, or APH_MALFORMED. */
aph_decoded aphi_http_frame_of(aph_wire *w, const aphi_http_head *head, size_t limit, aphi_http_framing *f);
/* Looks for the end of the message. APH_DECODED: w->used is set. w->scanned, odd, says how far this is. */
aph_decoded aphi_http_body_check(aph_wire *w, const aphi_http_head *head, size_t limit, const aphi_http_framing *f);
/* The body of a message whose end was found. */
aph_value aphi_http_body_read(const aph_wire *w, const aphi_http_head *head, const aphi_http_framing *f);

#endif
