/* SPDX-License-Identifier: Apache-2.0
 *
 * fault_kinds.h - the ways in which a injector breaks what passes it. Each breaks one thing and leaves all else as it is. */
#ifndef APHI_FAULT_FAULT_KINDS_H
#define APHI_FAULT_FAULT_KINDS_H

#include "base/buffer.h"
#include "base/choice.h"
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
    /* answers */
    APHI_FAULT_STATUS,
    APHI_FAULT_ANSWER_BODY,
    APHI_FAULT_FIELD_NAME,
    APHI_FAULT_DROP_ANSWER_FIELD,
    APHI_FAULT_WRONG_CLIENT,
    APHI_FAULT_WRONG_ORDER,
    APHI_FAULT_STALE_TAG,
    /* one or the other */
    APHI_FAULT_ADD_BYTE,
    APHI_FAULT_DROP_BYTE,
    /* bytes, whatever they mean */
    APHI_FAULT_DELAY,
    APHI_FAULT_RESET,
    APHI_FAULT_HALF_CLOSE,
    APHI_FAULT_ONE_BYTE,
    APHI_FAULT_GARBAGE,
    APHI_FAULT_SILENCE,
} aphi_fault_kind;

enum { APHI_FAULT_TAGS = 64, APHI_FAULT_TAG_BYTES = 120 };

/* STALE_TAG: the strong tag that a target had first. */
typedef struct aphi_first_tag {
    uint64_t target;
    char text[APHI_FAULT_TAG_BYTES];
} aphi_first_tag;

typedef struct aphi_fault {
    aphi_fault_kind kind;
    int from, to;          /* STATUS */
    bool requests;         /* ADD_BYTE, DROP_BYTE: of requests, not of answers */
    const char *method;    /* SKIP_WRITE: only of this; NULL: any. It lies there, too */
    aphi_first_tag tags[APHI_FAULT_TAGS];
    size_t tag_count;
    const char *field;     /* what is dropped or named wrongly; NULL: any. It lies in the text that was parsed */
    int64_t delay_ns;
    uint64_t every;        /* each so many-th is broken */
    aphi_choice choice;
    uint64_t met, broken;  /* so many could be broken; so many were */
} aphi_fault;

/* The kind and its argument from KIND[:ARG]; every and choice are the caller's to set. False with a message. */
bool aphi_fault_parse(aphi_fault *b, const char *text, char *error, size_t error_size);
/* One line for each kind: its name, and what it does. NULL after the last. */
const char *aphi_fault_line(size_t i, const char **name);
/* Does it concern bytes, and not messages? */
bool aphi_fault_is_of_bytes(const aphi_fault *b);
/* It could be broken: will it be? */
bool aphi_fault_due(aphi_fault *b);

/* What becomes of a message after its head. */
typedef struct aphi_fault_effect {
    bool swallow;       /* of its body nothing is passed on */
    bool drop, add;     /* a byte of it; `added` is the one to add */
    char added;
    bool skip_chunk;    /* in the middle of a chunk that has become empty */
    int answer;         /* a request is not passed on at all, and gets an empty answer with this status; 0: it is */
    bool as_get;        /* a HEAD went as GET, and is answered like one */
    bool mute;          /* its answer is not passed on: the connection is closed in its place */
} aphi_fault_effect;

/* Puts the head into out, broken or as it is. */
aphi_fault_effect aphi_fault_request(aphi_fault *b, const aphi_head *head, aphi_buffer *out);
/* target: a number for the target that was asked for, another for each. */
aphi_fault_effect aphi_fault_answer(aphi_fault *b, const aphi_head *head, bool to_head, uint64_t target,
                                    aphi_buffer *out);
/* Puts a piece after the head into out, as its fate is. */
void aphi_fault_effect_pass(aphi_fault_effect *fate, const aphi_piece *p, const char *bytes, aphi_buffer *out);
/* An answer without a body. */
void aphi_fault_empty_answer(int status, bool closes, aphi_buffer *out);

#endif
