/* SPDX-License-Identifier: Apache-2.0
 *
 * head.h - what comes before the body of a message: the start line and the fields. */
#ifndef APHI_HTTP_HEAD_H
#define APHI_HTTP_HEAD_H

#include "syntax.h"

#include <antiphon/antiphon.h>

enum {
    APHI_HTTP_HEAD_MAX = 64 << 10,    /* bytes of all before the body, informational responses included */
    APHI_HTTP_TRAILER_MAX = 16 << 10, /* bytes of the trailer section */
    APHI_HTTP_BLANK_MAX = 8,          /* bytes of empty lines before a request */
};

typedef struct aphi_http_line {
    aphi_span name;  /* in lower case */
    aphi_span value; /* trimmed, and each fold one space */
    size_t at;       /* where the value begins, on the wire */
} aphi_http_line;

typedef struct aphi_http_head {
    size_t end;                   /* where the body begins */
    aphi_span method, target;     /* of a request */
    int status;                   /* of a response; 0 in a request */
    int minor;                    /* of the version, HTTP/1.minor */
    aphi_http_line *lines;
    size_t count;
    /* Where lines and what they point to are kept, if there are not more. */
    aphi_http_line few[48];
    char little[2048];
    char *text;
} aphi_http_head;

/* Memory that free() frees; without it the program says so and stops. */
void *aphi_http_allocate(size_t bytes);

/* Says what is wrong with the message. */
aph_decoded aphi_http_wrong(aph_wire *w, size_t at, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* Says that the message is longer than is read here, which no clause forbids. */
aph_decoded aphi_http_beyond(aph_wire *w, size_t at, const char *what, size_t limit);
/* APH_MORE; after the end of the connection, what was not complete is wrong. */
aph_decoded aphi_http_more(aph_wire *w, const char *what);

/* Checks the lines that are complete, up to the empty one after the start line and the fields of a message that is not
 * informational. w->scanned, even, says how far that is done: each byte is looked at a bounded number of times.
 * APH_DECODED: there is a head, and it can be read. */
aph_decoded aphi_http_head_check(aph_wire *w);
/* A head that was found right. It points to the bytes of the wire. */
void aphi_http_head_read(const aph_wire *w, aphi_http_head *head);
void aphi_http_head_free(aphi_http_head *head);

/* Checks the trailer section at `from`. APH_DECODED: *end is where it ends. */
aph_decoded aphi_http_trailer_check(aph_wire *w, size_t from, size_t *end);

#endif
