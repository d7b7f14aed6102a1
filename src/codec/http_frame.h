/* SPDX-License-Identifier: Apache-2.0
 *
 * http_frame.h - the length of a message (RFC 9112 6 and 7). */
#ifndef APHI_CODEC_HTTP_FRAME_H
#define APHI_CODEC_HTTP_FRAME_H

#include "codec/http_head.h"

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

/* Determines the framing of the message with this head. Returns APH_DECODED, or APH_MALFORMED if it is wrong or the
 * message would exceed `limit` bytes. */
aph_decoded aphi_http_frame_of(aph_wire *w, const aphi_http_head *head, size_t limit, aphi_http_framing *f);
/* Finds the end of the message. Returns APH_DECODED and sets w->used if it is complete. Keeps its progress in
 * w->scanned (odd). */
aph_decoded aphi_http_body_check(aph_wire *w, const aphi_http_head *head, size_t limit, const aphi_http_framing *f);
/* The body of a complete message. */
aph_value aphi_http_body_read(const aph_wire *w, const aphi_http_head *head, const aphi_http_framing *f);

#endif
