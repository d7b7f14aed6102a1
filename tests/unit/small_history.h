/* SPDX-License-Identifier: Apache-2.0
 *
 * small_history.h - handwritten histories on one line: "1>w5 2>r 1<ok 2<5 3>r 3!".
 *
 * An event is a connection number, then > for a request, < for a response, or ! for a lost response, then the message:
 * JSON without blanks, or for registers w5 (write 5), r (read), c12 (compare with 1, set 2). ok means "ok". */
#ifndef TESTS_UNIT_SMALL_HISTORY_H
#define TESTS_UNIT_SMALL_HISTORY_H

#include "oracle/history.h"
#include "oracle/search.h"

#include <stdlib.h>
#include <string.h>

enum { SMALL_MAX = 256 };

typedef struct small_seen {
    char kind; /* one of ><! */
    int64_t connection;
    aph_value message;
    size_t other; /* index of the end of a request, or of the request that this ends; SIZE_MAX if none */
} small_seen;

typedef struct small_history {
    small_seen seen[SMALL_MAX];
    size_t count;
} small_history;

static inline aph_value small_digit(char c)
{
    return aph_int(c - '0');
}

static inline aph_value small_message(const char *text, size_t n)
{
    aph_value v;
    aph_json_error error;
    if (n == 2 && !memcmp(text, "ok", 2))
        return aph_str("ok");
    if (n == 1 && text[0] == 'r')
        return aph_record("f", aph_str("read"));
    if (n == 2 && text[0] == 'w')
        return aph_record("f", aph_str("write"), "value", small_digit(text[1]));
    if (n == 3 && text[0] == 'c')
        return aph_record("f", aph_str("cas"), "value", APH_ARRAY_OF(small_digit(text[1]), small_digit(text[2])));
    if (!aph_json_read(text, n, &v, &error))
        fail_msg("%.*s: %s", (int)n, text, error.message);
    return v;
}

static inline void small_add(small_history *h, small_seen s)
{
    s.other = SIZE_MAX;
    assert_true(h->count < SMALL_MAX);
    for (size_t i = 0; s.kind != '>' && i < h->count; i++)
        if (h->seen[i].kind == '>' && h->seen[i].connection == s.connection && h->seen[i].other == SIZE_MAX) {
            h->seen[i].other = h->count;
            s.other = i;
            break;
        }
    h->seen[h->count++] = s;
}

static inline small_history small_read(const char *text)
{
    small_history h = {.count = 0};
    while (*text) {
        char *end;
        small_seen s = {.connection = strtoll(text, &end, 10)};
        s.kind = *end++;
        assert_non_null(strchr("><!", s.kind));
        size_t n = strcspn(end, " ");
        s.message = s.kind == '!' ? APH_NIL : small_message(end, n);
        small_add(&h, s);
        text = end + n;
        text += strspn(text, " ");
    }
    return h;
}

static inline aph_lookahead small_foresight(const small_history *h, size_t i)
{
    size_t end = h->seen[i].other;
    if (end == SIZE_MAX || h->seen[end].kind == '!')
        return (aph_lookahead){.future = end == SIZE_MAX ? APH_FUTURE_NEVER : APH_FUTURE_LOST};
    return (aph_lookahead){.future = APH_FUTURE_ANSWER, .answer = h->seen[end].message, .order = end};
}

/* Feeds the i-th observation to the oracle, with or without lookahead. requests maps observations to their
 * request numbers. */
static inline aph_verdict small_feed(aph_oracle *o, const small_history *h, size_t i, bool foreseen, uint64_t *requests)
{
    const small_seen *s = &h->seen[i];
    aph_lookahead known = s->kind == '>' ? small_foresight(h, i) : (aph_lookahead){0};
    switch (s->kind) {
    case '>': return aph_oracle_sent(o, s->connection, s->message, foreseen ? &known : NULL, &requests[i]);
    case '<': return aph_oracle_received(o, s->connection, s->message);
    default: return aph_oracle_lost(o, requests[s->other]);
    }
}

static inline aph_oracle *small_open(const aph_model *model, const aph_oracle_options *options)
{
    char error[200] = "";
    aph_oracle *o = aph_oracle_open(model, options, error, sizeof error);
    if (!o)
        fail_msg("%s", error);
    return o;
}

static inline void small_mark(void *context)
{
    const small_history *h = context;
    for (size_t i = 0; i < h->count; i++)
        aph_mark(h->seen[i].message);
}

/* Feeds all observations; after a failure, continues while the oracle accepts more. Returns the number of observations
 * until the failure. */
static inline size_t small_feed_all(aph_oracle *o, small_history *h, bool foreseen)
{
    uint64_t requests[SMALL_MAX];
    size_t failed = SIZE_MAX;
    aph_root_add(small_mark, h);
    for (size_t i = 0; i < h->count; i++)
        if (small_feed(o, h, i, foreseen, requests) != APH_PASS && failed == SIZE_MAX)
            failed = i;
    aph_root_remove(small_mark, h);
    return failed;
}

/* Converts the history for explanations. The caller frees its events. */
static inline aphi_history small_as_history(const small_history *h)
{
    aphi_history out = {.paired = true};
    out.events = calloc(h->count + 1, sizeof *out.events);
    for (size_t i = 0; i < h->count; i++) {
        const small_seen *s = &h->seen[i];
        if (s->kind == '!')
            continue;
        bool lost = s->kind == '>' && (s->other == SIZE_MAX || h->seen[s->other].kind == '!');
        out.events[out.count++] = (aphi_history_event){.answer = s->kind == '<', .lost = lost,
            .connection = s->connection, .message = s->message, .number = i, .other = SIZE_MAX};
    }
    for (size_t i = 0; i < out.count; i++)
        for (size_t k = 0; k < out.count; k++)
            if (h->seen[out.events[i].number].other == out.events[k].number)
                out.events[i].other = k;
    return out;
}

#endif
