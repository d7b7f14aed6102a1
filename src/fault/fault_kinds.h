/* SPDX-License-Identifier: Apache-2.0
 *
 * fault_kinds.h - the kinds of faults that the proxy injects. Each changes one thing and nothing else. */
#ifndef APHI_FAULT_FAULT_KINDS_H
#define APHI_FAULT_FAULT_KINDS_H

#include "base/buffer.h"
#include "base/random_choice.h"
#include "fault/http_framing.h"

typedef enum aphi_fault_kind {
    APHI_FAULT_NOTHING,
    /* requests */
    APHI_FAULT_PUT_AS_GET,
    APHI_FAULT_EARLY_RETURN,
    APHI_FAULT_DROP_FIELD,
    APHI_FAULT_WEAKEN_IF_MATCH,
    APHI_FAULT_STRIP_WEAK,
    APHI_FAULT_FLIP_TAG_BIT,
    APHI_FAULT_WRONG_PATH,
    APHI_FAULT_SKIP_WRITE,
    APHI_FAULT_EMPTY_OUTPUT,
    APHI_FAULT_REQUEST_BODY,
    APHI_FAULT_FIRST_TAG,
    APHI_FAULT_HEAD_AS_GET,
    /* responses */
    APHI_FAULT_STATUS,
    APHI_FAULT_RESPONSE_BODY,
    APHI_FAULT_FIELD_NAME,
    APHI_FAULT_DROP_RESPONSE_FIELD,
    APHI_FAULT_WRONG_CLIENT,
    APHI_FAULT_WRONG_ORDER,
    APHI_FAULT_STALE_TAG,
    /* requests or responses, depending on `requests` */
    APHI_FAULT_ADD_BYTE,
    APHI_FAULT_DROP_BYTE,
    /* bytes of any protocol */
    APHI_FAULT_DELAY,
    APHI_FAULT_RESET,
    APHI_FAULT_HALF_CLOSE,
    APHI_FAULT_ONE_BYTE,
    APHI_FAULT_GARBAGE,
    APHI_FAULT_SILENCE,
} aphi_fault_kind;

enum { APHI_FAULT_TAGS = 64, APHI_FAULT_TAG_BYTES = 120 };

/* STALE_TAG: the first strong tag of a request target. */
typedef struct aphi_first_tag {
    uint64_t target;
    char text[APHI_FAULT_TAG_BYTES];
} aphi_first_tag;

typedef struct aphi_fault {
    aphi_fault_kind kind;
    int from, to;          /* STATUS */
    bool requests;         /* injected into requests, not into responses */
    const char *method;    /* SKIP_WRITE: only this method; NULL: any. Points into the parsed text */
    aphi_first_tag tags[APHI_FAULT_TAGS];
    size_t tag_count;
    const char *field;     /* the dropped or renamed field; NULL: any. Points into the parsed text */
    int64_t delay_ns;
    uint64_t every;        /* N: every N-th candidate is changed */
    aphi_choice choice;
    uint64_t met, broken;  /* number of candidates; number of changed ones */
} aphi_fault;

/* Parses KIND[:ARG]. The caller sets every and choice. Returns false with a message. */
bool aphi_fault_parse(aphi_fault *fault, const char *text, char *error, size_t error_size);
/* Returns the description of the i-th kind, with its name in *name; NULL after the last kind. */
const char *aphi_fault_line(size_t i, const char **name);
/* Returns true if the fault is injected into bytes, not into HTTP messages. */
bool aphi_fault_is_bytewise(const aphi_fault *fault);
/* Counts a candidate. Returns true if it must be changed. */
bool aphi_fault_due(aphi_fault *fault);

/* The effect of a fault on a message after its head. */
typedef struct aphi_fault_effect {
    bool drop_body;
    bool drop_byte, add_byte;
    char byte;          /* the byte to be added */
    bool skip_chunk;    /* inside a chunk that became empty */
    int status;         /* not 0: the request is not forwarded; the proxy sends an empty response with this status */
    bool as_get;        /* a HEAD was forwarded as GET, and its response has a body */
    bool close;         /* the connection is closed instead of the response */
} aphi_fault_effect;

/* Appends the head to out, changed or unchanged. For a response: `to_head` is true if the request was a HEAD, and
 * `target` is a number that identifies the request target. */
aphi_fault_effect aphi_fault_head(aphi_fault *fault, const aphi_head *head, bool to_head, uint64_t target,
                                  aphi_buffer *out);
/* Appends a piece after the head to out, changed by the effect. */
void aphi_fault_effect_apply(aphi_fault_effect *effect, const aphi_piece *p, const char *bytes, aphi_buffer *out);
/* Appends a response without a body. */
void aphi_fault_empty_response(int status, bool closes, aphi_buffer *out);

#endif
