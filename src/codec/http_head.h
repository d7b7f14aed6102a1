/* SPDX-License-Identifier: Apache-2.0
 *
 * http_head.h - the head of a message: the start line and the fields. */
#ifndef APHI_CODEC_HTTP_HEAD_H
#define APHI_CODEC_HTTP_HEAD_H

#include "codec/http_syntax.h"

#include <antiphon/codec.h>

enum {
    APHI_HTTP_HEAD_MAX = 64 << 10,    /* bytes before the body, including informational responses */
    APHI_HTTP_TRAILER_MAX = 16 << 10, /* bytes of the trailer section */
    APHI_HTTP_BLANK_MAX = 8,          /* bytes of empty lines before a request */
};

typedef struct aphi_http_line {
    aphi_span name;  /* in lower case */
    aphi_span value; /* trimmed; each fold is one space */
    size_t at;       /* offset of the value on the wire */
} aphi_http_line;

typedef struct aphi_http_head {
    size_t end;                   /* offset of the body */
    aphi_span method, target;     /* of a request */
    int status;                   /* of a response; 0 in a request */
    int minor;                    /* of the version, HTTP/1.minor */
    aphi_http_line *lines;
    size_t count;
    /* Storage for small heads. */
    aphi_http_line few[48];
    char little[2048];
    char *text;
} aphi_http_head;

/* Allocates memory for free(). Stops the process if it fails. */
void *aphi_http_allocate(size_t bytes);

/* Reports an error at a byte. Returns APH_MALFORMED. */
aph_decoded aphi_http_wrong(aph_wire *w, size_t at, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* Reports that the message exceeds a limit of this reader, which is not an error of the RFC. */
aph_decoded aphi_http_beyond(aph_wire *w, size_t at, const char *part, size_t limit);
/* Returns APH_MORE or, after the end of the connection, reports an incomplete message. */
aph_decoded aphi_http_more(aph_wire *w, const char *part);

/* Checks the complete lines, up to the empty line that ends the head of a message that is not informational. Progress
 * is kept in w->scanned (even), so that each byte is read a bounded number of times. Returns APH_DECODED if the head is
 * complete. */
aph_decoded aphi_http_head_check(aph_wire *w);
/* Reads a checked head. The result points into the bytes of the wire. */
void aphi_http_head_read(const aph_wire *w, aphi_http_head *head);
void aphi_http_head_free(aphi_http_head *head);

/* Checks the trailer section at `from`. Returns APH_DECODED and sets *end if it is complete. */
aph_decoded aphi_http_trailer_check(aph_wire *w, size_t from, size_t *end);

#endif
