/* SPDX-License-Identifier: Apache-2.0
 *
 * fault_kinds.c - the ways in which a injector breaks what passes it.
 *
 * Idea:       A head is copied line by line, and an editor says for each field what stands in its place. What is not
 *             edited is copied byte for byte. What becomes of the body is decided with the head (aphi_fault_effect), so that
 *             bodies pass in pieces and nothing is kept of them: a byte is dropped at the front and added at the end.
 * Invariants: 1. a broken message is well-formed: its length or its chunks say what its body has
 *             2. a message counts as one that could be broken only if breaking it changes its bytes
 * Read next:  fault_proxy.c, docs/fault.md */
#include "fault/fault_kinds.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

/* ---- names ------------------------------------------------------------------------------------------------------- */

typedef enum { NO_ARGUMENT, SIDE, FIELD, FIELD_OR_ANY, METHOD, MILLISECONDS } argument;

static const struct named {
    const char *name;
    aphi_fault_kind kind;
    argument takes;
    const char *field;
    const char *line;
} kinds[] = {
    {"put-as-get", APHI_FAULT_PUT_AS_GET, NO_ARGUMENT, NULL, "a PUT arrives as a GET without a body"},
    {"early-return", APHI_FAULT_EARLY_RETURN, NO_ARGUMENT, NULL,
     "a request is answered with an empty 200, and does not arrive"},
    {"412-as-204", APHI_FAULT_STATUS, NO_ARGUMENT, NULL, "the status 412 becomes 204; so for any two, FROM-as-TO"},
    {"200-as-412", APHI_FAULT_STATUS, NO_ARGUMENT, NULL, "the status 200 becomes 412"},
    {"304-as-200", APHI_FAULT_STATUS, NO_ARGUMENT, NULL, "the status 304 becomes 200, with an empty body"},
    {"404-as-200", APHI_FAULT_STATUS, NO_ARGUMENT, NULL, "the status 404 becomes 200"},
    {"drop-if-match", APHI_FAULT_DROP_FIELD, NO_ARGUMENT, "if-match", "a request loses its If-Match"},
    {"drop-field", APHI_FAULT_DROP_FIELD, FIELD, NULL, "drop-field:NAME: a request loses this field"},
    {"weaken-if-match", APHI_FAULT_WEAKEN_IF_MATCH, NO_ARGUMENT, NULL,
     "If-Match loses each W/: a weak tag matches a strong one"},
    {"strip-weak-if-none-match", APHI_FAULT_STRIP_WEAK, NO_ARGUMENT, NULL,
     "If-None-Match loses its weak tags: they match nothing"},
    {"flip-tag-bit", APHI_FAULT_FLIP_TAG_BIT, NO_ARGUMENT, NULL,
     "a bit of a tag in If-Match or If-None-Match is flipped"},
    {"first-tag", APHI_FAULT_FIRST_TAG, NO_ARGUMENT, NULL,
     "a list of tags in If-Match or If-None-Match loses all but its first"},
    {"head-as-get", APHI_FAULT_HEAD_AS_GET, NO_ARGUMENT, NULL, "a HEAD arrives as a GET: its answer has a body"},
    {"add-byte", APHI_FAULT_ADD_BYTE, SIDE, NULL,
     "a byte is added to the body of an answer; add-byte:request: of a request"},
    {"drop-byte", APHI_FAULT_DROP_BYTE, SIDE, NULL,
     "the body of an answer loses its first byte; drop-byte:request: of a request"},
    {"wrong-path", APHI_FAULT_WRONG_PATH, NO_ARGUMENT, NULL, "a PUT, POST, PATCH or DELETE goes to another path"},
    {"skip-write", APHI_FAULT_SKIP_WRITE, METHOD, NULL,
     "a PUT, POST, PATCH or DELETE is answered with 204, and does not arrive; skip-write:METHOD: only this"},
    {"empty-output", APHI_FAULT_EMPTY_OUTPUT, NO_ARGUMENT, NULL,
     "a request arrives, but in place of its answer the connection is closed"},
    {"drop-request-body", APHI_FAULT_REQUEST_BODY, NO_ARGUMENT, NULL, "a request arrives with an empty body"},
    {"drop-response-body", APHI_FAULT_ANSWER_BODY, NO_ARGUMENT, NULL, "an answer arrives with an empty body"},
    {"wrong-field-name", APHI_FAULT_FIELD_NAME, FIELD_OR_ANY, NULL,
     "a field of an answer gets another name; wrong-field-name:NAME: this one"},
    {"drop-answer-field", APHI_FAULT_DROP_ANSWER_FIELD, FIELD, NULL,
     "drop-answer-field:NAME: an answer loses this field"},
    {"wrong-client", APHI_FAULT_WRONG_CLIENT, NO_ARGUMENT, NULL, "two clients that wait get each other's answer"},
    {"wrong-order", APHI_FAULT_WRONG_ORDER, NO_ARGUMENT, NULL,
     "of two answers that a connection waits for, the second comes first"},
    {"stale-tag", APHI_FAULT_STALE_TAG, NO_ARGUMENT, NULL, "an answer shows the first strong tag that its target had"},
    {"delay", APHI_FAULT_DELAY, MILLISECONDS, NULL, "delay:MS: what the target says comes so many milliseconds later"},
    {"reset", APHI_FAULT_RESET, NO_ARGUMENT, NULL, "when the target says something, the connection is reset"},
    {"half-close", APHI_FAULT_HALF_CLOSE, NO_ARGUMENT, NULL,
     "when the target says something, the client gets an end in its place; what it sends still arrives"},
    {"one-byte", APHI_FAULT_ONE_BYTE, NO_ARGUMENT, NULL, "what the target says comes one byte at a time"},
    {"garbage", APHI_FAULT_GARBAGE, NO_ARGUMENT, NULL, "what the target says is replaced by as many random bytes"},
    {"silence", APHI_FAULT_SILENCE, NO_ARGUMENT, NULL,
     "when the target says something, the client no longer hears anything"},
    {"nothing", APHI_FAULT_NOTHING, NO_ARGUMENT, NULL, "all passes as it is"},
};
enum { KINDS = sizeof kinds / sizeof *kinds };

const char *aphi_fault_line(size_t i, const char **name)
{
    if (i >= KINDS)
        return NULL;
    *name = kinds[i].name;
    return kinds[i].line;
}

static bool fail(char *error, size_t size, const char *text, const char *why)
{
    snprintf(error, size, "--break %s: %s", text, why);
    return false;
}

/* FROM-as-TO. */
static bool parse_status(aphi_fault *b, const char *text)
{
    if (strlen(text) != 10 || strspn(text, "0123456789") != 3 || memcmp(text + 3, "-as-", 4) != 0 ||
        strspn(text + 7, "0123456789") != 3)
        return false;
    b->kind = APHI_FAULT_STATUS;
    b->from = atoi(text);
    b->to = atoi(text + 7);
    return true;
}

static bool is_token(const char *text)
{
    return *text && strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789!#$%&'*+-.^_`|~") ==
                        strlen(text);
}

static bool parse_argument(aphi_fault *b, argument takes, const char *text, const char *given, char *error, size_t size)
{
    char *end;
    switch (takes) {
    case NO_ARGUMENT: return !given || fail(error, size, text, "this kind takes no argument");
    case SIDE:
        b->requests = given && !strcmp(given, "request");
        return !given || b->requests || !strcmp(given, "answer") ||
               fail(error, size, text, "of what? there are request and answer");
    case FIELD:
    case FIELD_OR_ANY:
        b->field = given;
        if (!given)
            return takes == FIELD_OR_ANY || fail(error, size, text, "which field? its name follows a colon");
        if (!strcasecmp(given, "content-length") || !strcasecmp(given, "transfer-encoding"))
            return fail(error, size, text, "without that field nobody knows where a message ends; take another");
        return is_token(given) || fail(error, size, text, "that is no name of a field");
    case METHOD:
        b->method = given;
        return !given || !strcmp(given, "PUT") || !strcmp(given, "POST") || !strcmp(given, "PATCH") ||
               !strcmp(given, "DELETE") || fail(error, size, text, "of what? there are PUT, POST, PATCH and DELETE");
    case MILLISECONDS: {
        unsigned long ms = given && *given >= '0' && *given <= '9' ? strtoul(given, &end, 10) : 0;
        b->delay_ns = (int64_t)ms * 1000000;
        return (given && ms > 0 && ms <= 600000 && !*end) ||
               fail(error, size, text, "how long? milliseconds, 1 to 600000, follow a colon");
    }
    }
    return false;
}

bool aphi_fault_parse(aphi_fault *b, const char *text, char *error, size_t size)
{
    *b = (aphi_fault){.every = 1};
    if (parse_status(b, text)) {
        if (b->from < 200 || b->from > 599 || b->to < 200 || b->to > 599 || b->from == b->to)
            return fail(error, size, text, "two different status codes from 200 to 599 are wanted");
        return true;
    }
    size_t n = strcspn(text, ":");
    for (size_t i = 0; i < KINDS; i++)
        if (kinds[i].kind != APHI_FAULT_STATUS && !strncmp(kinds[i].name, text, n) && !kinds[i].name[n]) {
            b->kind = kinds[i].kind;
            bool good = parse_argument(b, kinds[i].takes, text, text[n] ? text + n + 1 : NULL, error, size);
            if (kinds[i].field)
                b->field = kinds[i].field;
            return good;
        }
    return fail(error, size, text, "there is no such kind; antiphon fault --list names them");
}

bool aphi_fault_is_of_bytes(const aphi_fault *b)
{
    return b->kind == APHI_FAULT_NOTHING || b->kind >= APHI_FAULT_DELAY;
}

bool aphi_fault_due(aphi_fault *b)
{
    bool due = ++b->met % b->every == 0;
    b->broken += due;
    return due;
}

/* ---- copying a head ---------------------------------------------------------------------------------------------- */

/* Puts what stands in place of the field. */
typedef void (*editor)(aphi_fault *b, const aphi_field *f, aphi_buffer *out);

static void keep(const aphi_field *f, aphi_buffer *out) { aphi_buffer_add(out, f->line, f->line_n); }

static void copy(const aphi_head *h, aphi_buffer *out) { aphi_buffer_add(out, h->bytes, h->n); }

/* The fields, edited, then more of them, then the end of the head. */
static void copy_fields(aphi_fault *b, const aphi_head *h, editor edit, const char *more, aphi_buffer *out)
{
    aphi_field f;
    size_t at = h->start_n;
    while (aphi_head_field(h, &at, &f))
        edit(b, &f, out);
    aphi_buffer_str(out, more);
    aphi_buffer_add(out, h->bytes + at, h->n - at);
}

static void copy_start(const aphi_head *h, aphi_buffer *out) { aphi_buffer_add(out, h->bytes, h->start_n); }

static void without_framing(aphi_fault *b, const aphi_field *f, aphi_buffer *out)
{
    (void)b;
    if (!aphi_field_is(f, "content-length") && !aphi_field_is(f, "transfer-encoding") && !aphi_field_is(f, "trailer") &&
        !aphi_field_is(f, "expect"))
        keep(f, out);
}

static const aphi_field *find(const aphi_head *h, const char *name, aphi_field *f)
{
    for (size_t at = h->start_n; aphi_head_field(h, &at, f);)
        if (aphi_field_is(f, name))
            return f;
    return NULL;
}

static bool has_body(const aphi_head *h)
{
    return h->body != APHI_BODY_NONE && (h->body != APHI_BODY_LENGTH || h->length);
}

/* ---- bytes of bodies --------------------------------------------------------------------------------------------- */

static void with_other_length(aphi_fault *b, const aphi_field *f, aphi_buffer *out)
{
    if (!aphi_field_is(f, "content-length")) {
        keep(f, out);
        return;
    }
    uint64_t length = strtoull(f->value, NULL, 10);
    aphi_buffer_add(out, f->line, (size_t)(f->value - f->line));
    aphi_buffer_format(out, "%llu", (unsigned long long)(b->kind == APHI_FAULT_ADD_BYTE ? length + 1 : length - 1));
    const char *rest = f->value + f->value_n;
    aphi_buffer_add(out, rest, (size_t)(f->line + f->line_n - rest));
}

static bool changes_a_byte(const aphi_fault *b, const aphi_head *h)
{
    bool of_it = b->requests == !h->status;
    return of_it && ((b->kind == APHI_FAULT_ADD_BYTE && h->body != APHI_BODY_NONE) ||
                     (b->kind == APHI_FAULT_DROP_BYTE && has_body(h)));
}

static aphi_fault_effect change_a_byte(aphi_fault *b, const aphi_head *h, aphi_buffer *out)
{
    aphi_fault_effect fate = {.drop = b->kind == APHI_FAULT_DROP_BYTE, .add = b->kind == APHI_FAULT_ADD_BYTE,
                      .added = (char)('a' + aphi_choice_below(&b->choice, 26))};
    copy_start(h, out);
    if (h->body == APHI_BODY_LENGTH)
        copy_fields(b, h, with_other_length, "", out);
    else
        aphi_buffer_add(out, h->bytes + h->start_n, h->n - h->start_n);
    return fate;
}

/* The line before a chunk that loses a byte. */
static void shorten_chunk(aphi_fault_effect *fate, const aphi_piece *p, const char *line, aphi_buffer *out)
{
    fate->skip_chunk = p->size == 1;
    if (fate->skip_chunk)
        return;
    size_t digits = strspn(line, "0123456789abcdefABCDEF");
    aphi_buffer_format(out, "%llx", (unsigned long long)p->size - 1);
    aphi_buffer_add(out, line + digits, p->n - digits);
}

void aphi_fault_effect_pass(aphi_fault_effect *fate, const aphi_piece *p, const char *bytes, aphi_buffer *out)
{
    bool front = p->kind == APHI_PIECE_DATA && fate->drop;
    if (fate->swallow)
        return;
    if (p->kind == APHI_PIECE_CHUNK && fate->drop) {
        shorten_chunk(fate, p, bytes, out);
        return;
    }
    if (p->kind == APHI_PIECE_CHUNK_END && fate->skip_chunk) {
        fate->skip_chunk = false;
        return;
    }
    if (p->kind == APHI_PIECE_LAST && fate->add)
        aphi_buffer_format(out, "1\r\n%c\r\n", fate->added);
    else if (p->kind == APHI_PIECE_END && fate->add)
        aphi_buffer_byte(out, fate->added);
    fate->add = fate->add && p->kind != APHI_PIECE_LAST;
    fate->drop = fate->drop && !front;
    aphi_buffer_add(out, bytes + front, p->n - front);
}

/* ---- tags -------------------------------------------------------------------------------------------------------- */

typedef struct tag {
    const char *begin, *opaque, *end; /* begin: of W/ or the quote; opaque: after it; end: after the last quote */
    bool weak;
} tag;

/* The tag at or after *at. */
static bool next_tag(const aphi_field *f, const char **at, tag *t)
{
    const char *stop = f->value + f->value_n;
    const char *quote = *at < stop ? memchr(*at, '"', (size_t)(stop - *at)) : NULL;
    const char *last = quote ? memchr(quote + 1, '"', (size_t)(stop - quote - 1)) : NULL;
    if (!last)
        return false;
    t->weak = quote - *at >= 2 && quote[-2] == 'W' && quote[-1] == '/';
    t->begin = t->weak ? quote - 2 : quote;
    t->opaque = quote + 1;
    t->end = *at = last + 1;
    return true;
}

static bool has_weak(const aphi_field *f)
{
    tag t;
    const char *at = f->value;
    while (next_tag(f, &at, &t))
        if (t.weak)
            return true;
    return false;
}

static bool has_weak_in(const aphi_head *h, const char *name)
{
    aphi_field f;
    for (size_t at = h->start_n; aphi_head_field(h, &at, &f);)
        if (aphi_field_is(&f, name) && has_weak(&f))
            return true;
    return false;
}

static void with_strong_tags(aphi_fault *b, const aphi_field *f, aphi_buffer *out)
{
    (void)b;
    const char *at = f->value, *copied = f->line;
    tag t;
    while (aphi_field_is(f, "if-match") && next_tag(f, &at, &t))
        if (t.weak) {
            aphi_buffer_add(out, copied, (size_t)(t.begin - copied));
            copied = t.begin + 2;
        }
    aphi_buffer_add(out, copied, (size_t)(f->line + f->line_n - copied));
}

static void without_weak_tags(aphi_fault *b, const aphi_field *f, aphi_buffer *out)
{
    (void)b;
    const char *at = f->value;
    size_t strong = 0;
    tag t;
    if (!aphi_field_is(f, "if-none-match") || !has_weak(f)) {
        keep(f, out);
        return;
    }
    while (next_tag(f, &at, &t)) {
        if (t.weak)
            continue;
        if (strong++ == 0)
            aphi_buffer_add(out, f->line, (size_t)(f->value - f->line));
        else
            aphi_buffer_str(out, ", ");
        aphi_buffer_add(out, t.begin, (size_t)(t.end - t.begin));
    }
    if (strong)
        aphi_buffer_str(out, "\r\n");
}

static bool is_condition(const aphi_field *f)
{
    return aphi_field_is(f, "if-match") || aphi_field_is(f, "if-none-match");
}

static bool is_list(const aphi_field *f)
{
    tag t;
    const char *at = f->value;
    return is_condition(f) && next_tag(f, &at, &t) && next_tag(f, &at, &t);
}

static bool has_list(const aphi_head *h)
{
    aphi_field f;
    for (size_t at = h->start_n; aphi_head_field(h, &at, &f);)
        if (is_list(&f))
            return true;
    return false;
}

static void with_first_tag(aphi_fault *b, const aphi_field *f, aphi_buffer *out)
{
    (void)b;
    tag t;
    const char *at = f->value;
    if (!is_list(f) || !next_tag(f, &at, &t)) {
        keep(f, out);
        return;
    }
    aphi_buffer_add(out, f->line, (size_t)(t.end - f->line));
    aphi_buffer_str(out, "\r\n");
}

/* The k-th byte of all tags in the conditions of a head; NULL: there are not so many. */
static const char *tag_byte(const aphi_head *h, uint64_t k)
{
    aphi_field f;
    tag t;
    for (size_t at = h->start_n; aphi_head_field(h, &at, &f);) {
        const char *in = f.value;
        while (is_condition(&f) && next_tag(&f, &in, &t)) {
            uint64_t n = (uint64_t)(t.end - 1 - t.opaque);
            if (k < n)
                return t.opaque + k;
            k -= n;
        }
    }
    return NULL;
}

/* Flips a bit so that the byte may still stand in a tag: not a quote, not a control character. */
static void flip(aphi_fault *b, const aphi_head *h, uint64_t bytes, aphi_buffer *out)
{
    const char *at = tag_byte(h, aphi_choice_below(&b->choice, bytes));
    unsigned char flipped;
    do
        flipped = (unsigned char)*at ^ (unsigned char)(1u << aphi_choice_below(&b->choice, 8));
    while (flipped <= ' ' || flipped == '"' || flipped == 0x7f);
    size_t before = (size_t)(at - h->bytes);
    aphi_buffer_add(out, h->bytes, before);
    aphi_buffer_byte(out, (char)flipped);
    aphi_buffer_add(out, at + 1, h->n - before - 1);
}

static uint64_t tag_bytes(const aphi_head *h)
{
    uint64_t n = 0;
    while (tag_byte(h, n))
        n++;
    return n;
}

/* ---- requests ---------------------------------------------------------------------------------------------------- */

static bool is_write(const aphi_head *h)
{
    return aphi_method_is(h, "PUT") || aphi_method_is(h, "POST") || aphi_method_is(h, "DELETE") ||
           aphi_method_is(h, "PATCH");
}

static bool concerns_request(const aphi_fault *b, const aphi_head *h)
{
    aphi_field f;
    switch (b->kind) {
    case APHI_FAULT_PUT_AS_GET: return aphi_method_is(h, "PUT");
    case APHI_FAULT_EARLY_RETURN:
    case APHI_FAULT_EMPTY_OUTPUT: return true;
    case APHI_FAULT_DROP_FIELD: return find(h, b->field, &f) != NULL;
    case APHI_FAULT_WEAKEN_IF_MATCH: return has_weak_in(h, "if-match");
    case APHI_FAULT_STRIP_WEAK: return has_weak_in(h, "if-none-match");
    case APHI_FAULT_FLIP_TAG_BIT: return tag_byte(h, 0) != NULL;
    case APHI_FAULT_WRONG_PATH: return is_write(h) && h->target[0] != '*';
    case APHI_FAULT_SKIP_WRITE: return b->method ? aphi_method_is(h, b->method) : is_write(h);
    case APHI_FAULT_FIRST_TAG: return has_list(h);
    case APHI_FAULT_HEAD_AS_GET: return aphi_method_is(h, "HEAD");
    case APHI_FAULT_REQUEST_BODY: return has_body(h);
    case APHI_FAULT_ADD_BYTE:
    case APHI_FAULT_DROP_BYTE: return changes_a_byte(b, h);
    default: return false;
    }
}

static void without_field(aphi_fault *b, const aphi_field *f, aphi_buffer *out)
{
    if (!aphi_field_is(f, b->field))
        keep(f, out);
}

static void move(const aphi_head *h, aphi_buffer *out)
{
    const char *query = memchr(h->target, '?', h->target_n), *end = query ? query : h->target + h->target_n;
    size_t before = (size_t)(end - h->bytes);
    aphi_buffer_add(out, h->bytes, before);
    aphi_buffer_str(out, "-other");
    aphi_buffer_add(out, end, h->n - before);
}

static aphi_fault_effect break_request(aphi_fault *b, const aphi_head *h, aphi_buffer *out)
{
    aphi_fault_effect fate = {0};
    switch (b->kind) {
    case APHI_FAULT_PUT_AS_GET:
        fate.swallow = true;
        aphi_buffer_str(out, "GET");
        aphi_buffer_add(out, h->bytes + h->method_n, h->start_n - h->method_n);
        copy_fields(b, h, without_framing, "", out);
        return fate;
    case APHI_FAULT_HEAD_AS_GET:
        fate.as_get = true;
        aphi_buffer_str(out, "GET");
        aphi_buffer_add(out, h->bytes + h->method_n, h->n - h->method_n);
        return fate;
    case APHI_FAULT_FIRST_TAG: copy_start(h, out); copy_fields(b, h, with_first_tag, "", out); return fate;
    case APHI_FAULT_EARLY_RETURN: return (aphi_fault_effect){.answer = 200, .swallow = true};
    case APHI_FAULT_SKIP_WRITE: return (aphi_fault_effect){.answer = 204, .swallow = true};
    case APHI_FAULT_EMPTY_OUTPUT: fate.mute = true; break;
    case APHI_FAULT_FLIP_TAG_BIT: flip(b, h, tag_bytes(h), out); return fate;
    case APHI_FAULT_WRONG_PATH: move(h, out); return fate;
    case APHI_FAULT_DROP_FIELD: copy_start(h, out); copy_fields(b, h, without_field, "", out); return fate;
    case APHI_FAULT_WEAKEN_IF_MATCH: copy_start(h, out); copy_fields(b, h, with_strong_tags, "", out); return fate;
    case APHI_FAULT_STRIP_WEAK: copy_start(h, out); copy_fields(b, h, without_weak_tags, "", out); return fate;
    case APHI_FAULT_REQUEST_BODY:
        fate.swallow = true;
        copy_start(h, out);
        copy_fields(b, h, without_framing, "Content-Length: 0\r\n", out);
        return fate;
    case APHI_FAULT_ADD_BYTE:
    case APHI_FAULT_DROP_BYTE: return change_a_byte(b, h, out);
    default: break;
    }
    copy(h, out);
    return fate;
}

aphi_fault_effect aphi_fault_request(aphi_fault *b, const aphi_head *h, aphi_buffer *out)
{
    if (!h->opaque && concerns_request(b, h) && aphi_fault_due(b))
        return break_request(b, h, out);
    copy(h, out);
    return (aphi_fault_effect){0};
}

/* ---- answers ----------------------------------------------------------------------------------------------------- */

static const char *reason(int status)
{
    static const struct {
        int status;
        const char *reason;
    } reasons[] = {{200, "OK"}, {201, "Created"}, {204, "No Content"}, {304, "Not Modified"}, {400, "Bad Request"},
                   {403, "Forbidden"}, {404, "Not Found"}, {405, "Method Not Allowed"}, {412, "Precondition Failed"},
                   {500, "Internal Server Error"}};
    for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++)
        if (reasons[i].status == status)
            return reasons[i].reason;
    return ""; /* the standard lets it be empty */
}

/* What says how a message is framed, or is about this connection only, or says nothing of the resource. */
static bool is_of_the_way(const aphi_field *f)
{
    static const char *const names[] = {"content-length", "transfer-encoding", "connection", "keep-alive", "trailer",
                                        "te", "upgrade", "host", "date", "server", "via"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (aphi_field_is(f, names[i]))
            return true;
    return false;
}

/* The fields that may be renamed: how many, or which is the k-th. */
static size_t renamable(const aphi_fault *b, const aphi_head *h, size_t k, const char **line)
{
    aphi_field f;
    size_t n = 0;
    for (size_t at = h->start_n; aphi_head_field(h, &at, &f);)
        if (f.name_n && (b->field ? aphi_field_is(&f, b->field) : !is_of_the_way(&f)) && n++ == k)
            *line = f.line;
    return n;
}

static void rename_field(aphi_fault *b, const aphi_head *h, aphi_buffer *out)
{
    const char *line = h->bytes;
    renamable(b, h, aphi_choice_below(&b->choice, renamable(b, h, SIZE_MAX, &line)), &line);
    size_t before = (size_t)(line - h->bytes);
    aphi_buffer_add(out, h->bytes, before);
    aphi_buffer_byte(out, *line == 'X' || *line == 'x' ? 'Y' : 'X');
    aphi_buffer_add(out, line + 1, h->n - before - 1);
}

/* The tag that a target had first; NULL: it is not known. */
static aphi_first_tag *first_tag(aphi_fault *b, uint64_t target)
{
    for (size_t i = 0; i < b->tag_count; i++)
        if (b->tags[i].target == target)
            return &b->tags[i];
    return NULL;
}

/* Remembers it, if it is strong; a weak one may stay the same as it is. */
static void note_tag(aphi_fault *b, uint64_t target, const aphi_field *etag)
{
    if (b->tag_count == APHI_FAULT_TAGS || etag->value_n >= APHI_FAULT_TAG_BYTES || etag->value[0] != '"')
        return;
    aphi_first_tag *first = &b->tags[b->tag_count++];
    first->target = target;
    memcpy(first->text, etag->value, etag->value_n);
    first->text[etag->value_n] = 0;
}

/* Does the answer show a tag that is not the first of its target? */
static bool shows_new_tag(aphi_fault *b, const aphi_head *h, uint64_t target)
{
    aphi_field etag;
    if (!find(h, "etag", &etag) || !etag.value_n)
        return false;
    const aphi_first_tag *first = first_tag(b, target);
    if (!first)
        note_tag(b, target, &etag);
    return first && (strlen(first->text) != etag.value_n || memcmp(first->text, etag.value, etag.value_n) != 0);
}

static void show_first_tag(aphi_fault *b, const aphi_head *h, uint64_t target, aphi_buffer *out)
{
    aphi_field etag;
    find(h, "etag", &etag);
    size_t before = (size_t)(etag.value - h->bytes), after = before + etag.value_n;
    aphi_buffer_add(out, h->bytes, before);
    aphi_buffer_str(out, first_tag(b, target)->text);
    aphi_buffer_add(out, h->bytes + after, h->n - after);
}

static bool concerns_answer(aphi_fault *b, const aphi_head *h, uint64_t target)
{
    const char *line;
    aphi_field f;
    switch (b->kind) {
    case APHI_FAULT_DROP_ANSWER_FIELD: return find(h, b->field, &f) != NULL;
    case APHI_FAULT_STATUS: return h->status == b->from;
    case APHI_FAULT_ANSWER_BODY: return has_body(h);
    case APHI_FAULT_FIELD_NAME: return renamable(b, h, SIZE_MAX, &line) > 0;
    case APHI_FAULT_STALE_TAG: return shows_new_tag(b, h, target);
    case APHI_FAULT_ADD_BYTE:
    case APHI_FAULT_DROP_BYTE: return changes_a_byte(b, h);
    default: return false;
    }
}

static aphi_fault_effect change_status(aphi_fault *b, const aphi_head *h, bool to_head, aphi_buffer *out)
{
    bool had_none = b->from == 204 || b->from == 304, has_none = b->to == 204 || b->to == 304;
    aphi_fault_effect fate = {.swallow = has_none};
    size_t version = strcspn(h->bytes, " ");
    aphi_buffer_add(out, h->bytes, version);
    aphi_buffer_format(out, " %d %s\r\n", b->to, reason(b->to));
    if (has_none || (had_none && !to_head))
        copy_fields(b, h, without_framing, has_none ? "" : "Content-Length: 0\r\n", out);
    else
        aphi_buffer_add(out, h->bytes + h->start_n, h->n - h->start_n);
    return fate;
}

aphi_fault_effect aphi_fault_answer(aphi_fault *b, const aphi_head *h, bool to_head, uint64_t target, aphi_buffer *out)
{
    if (h->opaque || h->status < 200 || !concerns_answer(b, h, target) || !aphi_fault_due(b)) {
        copy(h, out);
        return (aphi_fault_effect){0};
    }
    switch (b->kind) {
    case APHI_FAULT_STATUS: return change_status(b, h, to_head, out);
    case APHI_FAULT_FIELD_NAME: rename_field(b, h, out); return (aphi_fault_effect){0};
    case APHI_FAULT_DROP_ANSWER_FIELD:
        copy_start(h, out);
        copy_fields(b, h, without_field, "", out);
        return (aphi_fault_effect){0};
    case APHI_FAULT_STALE_TAG: show_first_tag(b, h, target, out); return (aphi_fault_effect){0};
    case APHI_FAULT_ANSWER_BODY:
        copy_start(h, out);
        copy_fields(b, h, without_framing, "Content-Length: 0\r\n", out);
        return (aphi_fault_effect){.swallow = true};
    default: return change_a_byte(b, h, out);
    }
}

void aphi_fault_empty_answer(int status, bool closes, aphi_buffer *out)
{
    char date[64];
    time_t now = time(NULL);
    struct tm parts;
    strftime(date, sizeof date, "%a, %d %b %Y %H:%M:%S GMT", gmtime_r(&now, &parts));
    aphi_buffer_format(out, "HTTP/1.1 %d %s\r\nDate: %s\r\n%s%s\r\n", status, reason(status), date,
                       status == 204 ? "" : "Content-Length: 0\r\n", closes ? "Connection: close\r\n" : "");
}
