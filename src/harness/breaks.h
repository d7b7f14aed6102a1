/* SPDX-License-Identifier: Apache-2.0
 *
 * breaks.h - the ways in which a injector breaks what passes it. Each breaks one thing and leaves all else as it is. */
#ifndef APHI_HARNESS_BREAKS_H
#define APHI_HARNESS_BREAKS_H

#include "base/buffer.h"
#include "base/choice.h"
#include "harness/splitter.h"

typedef enum aphi_break_kind {
    APHI_BREAK_NOTHING,
    /* requests */
    APHI_BREAK_PUT_AS_GET,
    APHI_BREAK_EARLY_RETURN,
    APHI_BREAK_DROP_FIELD,
    APHI_BREAK_WEAKEN_IF_MATCH,
    APHI_BREAK_STRIP_WEAK,
    APHI_BREAK_FLIP_TAG_BIT,
    APHI_BREAK_WRONG_PATH,
    APHI_BREAK_SKIP_WRITE,
    APHI_BREAK_EMPTY_OUTPUT,
    APHI_BREAK_REQUEST_BODY,
    APHI_BREAK_FIRST_TAG,
    APHI_BREAK_HEAD_AS_GET,
    /* answers */
    APHI_BREAK_STATUS,
    APHI_BREAK_ANSWER_BODY,
    APHI_BREAK_FIELD_NAME,
    APHI_BREAK_DROP_ANSWER_FIELD,
    APHI_BREAK_WRONG_CLIENT,
    APHI_BREAK_WRONG_ORDER,
    APHI_BREAK_STALE_TAG,
    /* one or the other */
    APHI_BREAK_ADD_BYTE,
    APHI_BREAK_DROP_BYTE,
    /* bytes, whatever they mean */
    APHI_BREAK_DELAY,
    APHI_BREAK_RESET,
    APHI_BREAK_HALF_CLOSE,
    APHI_BREAK_ONE_BYTE,
    APHI_BREAK_GARBAGE,
    APHI_BREAK_SILENCE,
} aphi_break_kind;

enum { APHI_BREAK_TAGS = 64, APHI_BREAK_TAG_BYTES = 120 };

/* STALE_TAG: the strong tag that a target had first. */
typedef struct aphi_first_tag {
    uint64_t target;
    char text[APHI_BREAK_TAG_BYTES];
} aphi_first_tag;

typedef struct aphi_break {
    aphi_break_kind kind;
    int from, to;          /* STATUS */
    bool requests;         /* ADD_BYTE, DROP_BYTE: of requests, not of answers */
    const char *method;    /* SKIP_WRITE: only of this; NULL: any. It lies there, too */
    aphi_first_tag tags[APHI_BREAK_TAGS];
    size_t tag_count;
    const char *field;     /* what is dropped or named wrongly; NULL: any. It lies in the text that was parsed */
    int64_t delay_ns;
    uint64_t every;        /* each so many-th is broken */
    aphi_choice choice;
    uint64_t met, broken;  /* so many could be broken; so many were */
} aphi_break;

/* The kind and its argument from KIND[:ARG]; every and choice are the caller's to set. False with a message. */
bool aphi_break_parse(aphi_break *b, const char *text, char *error, size_t error_size);
/* One line for each kind: its name, and what it does. NULL after the last. */
const char *aphi_break_line(size_t i, const char **name);
/* Does it concern bytes, and not messages? */
bool aphi_break_is_of_bytes(const aphi_break *b);
/* It could be broken: will it be? */
bool aphi_break_due(aphi_break *b);

/* What becomes of a message after its head. */
typedef struct aphi_fate {
    bool swallow;       /* of its body nothing is passed on */
    bool drop, add;     /* a byte of it; `added` is the one to add */
    char added;
    bool skip_chunk;    /* in the middle of a chunk that has become empty */
    int answer;         /* a request is not passed on at all, and gets an empty answer with this status; 0: it is */
    bool as_get;        /* a HEAD went as GET, and is answered like one */
    bool mute;          /* its answer is not passed on: the connection is closed in its place */
} aphi_fate;

/* Puts the head into out, broken or as it is. */
aphi_fate aphi_break_request(aphi_break *b, const aphi_head *head, aphi_buffer *out);
/* target: a number for the target that was asked for, another for each. */
aphi_fate aphi_break_answer(aphi_break *b, const aphi_head *head, bool to_head, uint64_t target, aphi_buffer *out);
/* Puts a piece after the head into out, as its fate is. */
void aphi_fate_pass(aphi_fate *fate, const aphi_piece *p, const char *bytes, aphi_buffer *out);
/* An answer without a body. */
void aphi_break_empty_answer(int status, bool closes, aphi_buffer *out);

#endif
