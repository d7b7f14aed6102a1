/* SPDX-License-Identifier: Apache-2.0
 *
 * fault_kinds.c - the kinds of faults that the proxy injects.
 *
 * Idea:       A head is copied line by line, and an editor writes the replacement of each field; all other bytes are
 *             copied unchanged. The effect on the body is determined when the head is read (aphi_fault_effect). So
 *             bodies are forwarded in pieces, without being stored: a byte is dropped at the front or added at the end.
 * Invariants: 1. a faulty message is well-formed: its length or its chunks agree with its body
 *             2. a message is counted as a candidate only if the fault changes its bytes
 * Read next:  fault_proxy.c, docs/serving.md */
#include "fault/fault_kinds.h"

#include "base/options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

/* ---- names ------------------------------------------------------------------------------------------------------- */

typedef enum { NO_ARGUMENT, SIDE, FIELD, FIELD_OR_ANY, METHOD, DURATION } argument;

static const struct named {
    const char *name, *line;
    aphi_fault_kind kind;
    argument takes;
    const char *field;
} kinds[] = {
    {"put-as-get", "forward a PUT as a GET without a body", .kind = APHI_FAULT_PUT_AS_GET},
    {"early-return", "respond to a request with an empty 200 instead of forwarding it",
     .kind = APHI_FAULT_EARLY_RETURN},
    {"412-as-204", "replace status 412 with 204; FROM-as-TO: any two from 200 to 599", .kind = APHI_FAULT_STATUS},
    {"200-as-412", "replace status 200 with 412", .kind = APHI_FAULT_STATUS},
    {"304-as-200", "replace status 304 with 200 and an empty body", .kind = APHI_FAULT_STATUS},
    {"404-as-200", "replace status 404 with 200", .kind = APHI_FAULT_STATUS},
    {"drop-if-match", "drop If-Match from a request", .kind = APHI_FAULT_DROP_FIELD, .field = "if-match"},
    {"drop-field", "drop-field:NAME: drop field NAME from a request", .kind = APHI_FAULT_DROP_FIELD, .takes = FIELD},
    {"weaken-if-match", "drop each W/ in If-Match: a weak tag matches a strong one",
     .kind = APHI_FAULT_WEAKEN_IF_MATCH},
    {"strip-weak-if-none-match", "drop the weak tags of If-None-Match: they match nothing",
     .kind = APHI_FAULT_STRIP_WEAK},
    {"flip-tag-bit", "flip a bit of a tag in If-Match or If-None-Match", .kind = APHI_FAULT_FLIP_TAG_BIT},
    {"first-tag", "drop all tags but the first of a list in If-Match or If-None-Match", .kind = APHI_FAULT_FIRST_TAG},
    {"head-as-get", "forward a HEAD as a GET: its response has a body", .kind = APHI_FAULT_HEAD_AS_GET},
    {"add-byte", "add a byte to the body of a response; add-byte:request: of a request",
     .kind = APHI_FAULT_ADD_BYTE, .takes = SIDE},
    {"drop-byte", "drop the first byte of the body of a response; drop-byte:request: of a request",
     .kind = APHI_FAULT_DROP_BYTE, .takes = SIDE},
    {"wrong-path", "forward a PUT, POST, PATCH or DELETE with another path", .kind = APHI_FAULT_WRONG_PATH},
    {"skip-write",
     "respond to a PUT, POST, PATCH or DELETE with 204 instead of forwarding it; skip-write:METHOD: only METHOD",
     .kind = APHI_FAULT_SKIP_WRITE, .takes = METHOD},
    {"empty-output", "forward a request, and close the connection instead of forwarding the response",
     .kind = APHI_FAULT_EMPTY_OUTPUT},
    {"drop-request-body", "forward a request with an empty body", .kind = APHI_FAULT_REQUEST_BODY},
    {"drop-response-body", "forward a response with an empty body", .kind = APHI_FAULT_RESPONSE_BODY},
    {"wrong-field-name", "rename a field of a response; wrong-field-name:NAME: field NAME",
     .kind = APHI_FAULT_FIELD_NAME, .takes = FIELD_OR_ANY},
    {"drop-answer-field", "drop-answer-field:NAME: drop field NAME from a response",
     .kind = APHI_FAULT_DROP_RESPONSE_FIELD, .takes = FIELD},
    {"wrong-client", "swap the responses of two waiting clients", .kind = APHI_FAULT_WRONG_CLIENT},
    {"wrong-order", "swap two pipelined responses on a connection", .kind = APHI_FAULT_WRONG_ORDER},
    {"stale-tag", "replace the ETag of a response with the first strong tag of its target",
     .kind = APHI_FAULT_STALE_TAG},
    {"delay", "delay:MS: delay responses by MS milliseconds; or delay:2s", .kind = APHI_FAULT_DELAY, .takes = DURATION},
    {"reset", "reset the connection when the target sends bytes", .kind = APHI_FAULT_RESET},
    {"half-close", "half-close the connection to the client when the target sends bytes; keep forwarding requests",
     .kind = APHI_FAULT_HALF_CLOSE},
    {"one-byte", "forward responses one byte at a time", .kind = APHI_FAULT_ONE_BYTE},
    {"garbage", "replace responses with random bytes of the same length", .kind = APHI_FAULT_GARBAGE},
    {"silence", "forward nothing to the client once the target has sent bytes",
     .kind = APHI_FAULT_SILENCE},
    {"nothing", "forward all bytes unchanged", .kind = APHI_FAULT_NOTHING},
};
enum { KINDS = sizeof kinds / sizeof *kinds };

const char *aphi_fault_line(size_t i, const char **name)
{
    if (i >= KINDS)
        return NULL;
    *name = kinds[i].name;
    return kinds[i].line;
}

static bool reject(char *error, size_t size, const char *text, const char *why)
{
    snprintf(error, size, "--break %s: %s", text, why);
    return false;
}

/* Parses FROM-as-TO. */
static bool parse_status(aphi_fault *fault, const char *text)
{
    if (strlen(text) != 10 || strspn(text, "0123456789") != 3 || memcmp(text + 3, "-as-", 4) != 0 ||
        strspn(text + 7, "0123456789") != 3)
        return false;
    fault->kind = APHI_FAULT_STATUS;
    fault->from = atoi(text);
    fault->to = atoi(text + 7);
    return true;
}

static bool is_token(const char *text)
{
    return *text && strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789!#$%&'*+-.^_`|~") ==
                        strlen(text);
}

static bool parse_argument(aphi_fault *fault, argument takes, const char *text, const char *given, char *error,
                           size_t size)
{
    switch (takes) {
    case NO_ARGUMENT: return !given || reject(error, size, text, "this kind takes no argument");
    case SIDE:
        fault->requests = given && !strcmp(given, "request");
        return !given || fault->requests || !strcmp(given, "answer") ||
               reject(error, size, text, "expected :request or :answer");
    case FIELD:
    case FIELD_OR_ANY:
        fault->field = given;
        if (!given)
            return takes == FIELD_OR_ANY || reject(error, size, text, "expected a field name after a colon");
        if (!strcasecmp(given, "content-length") || !strcasecmp(given, "transfer-encoding"))
            return reject(error, size, text, "this field frames the message and cannot be changed");
        return is_token(given) || reject(error, size, text, "not a field name");
    case METHOD:
        fault->method = given;
        return !given || !strcmp(given, "PUT") || !strcmp(given, "POST") || !strcmp(given, "PATCH") ||
               !strcmp(given, "DELETE") || reject(error, size, text, "expected PUT, POST, PATCH or DELETE");
    case DURATION:
        return (given && aphi_parse_duration(given, APHI_MS_NS, &fault->delay_ns) && fault->delay_ns > 0 &&
                fault->delay_ns <= 600 * APHI_SECOND_NS) ||
               reject(error, size, text, "expected a duration up to 600s after a colon: milliseconds, or 500ms, 2s");
    }
    return false;
}

bool aphi_fault_parse(aphi_fault *fault, const char *text, char *error, size_t size)
{
    *fault = (aphi_fault){.every = 1};
    if (parse_status(fault, text)) {
        if (fault->from < 200 || fault->from > 599 || fault->to < 200 || fault->to > 599 || fault->from == fault->to)
            return reject(error, size, text, "expected two different status codes from 200 to 599");
        return true;
    }
    size_t n = strcspn(text, ":");
    for (size_t i = 0; i < KINDS; i++)
        if (kinds[i].kind != APHI_FAULT_STATUS && !strncmp(kinds[i].name, text, n) && !kinds[i].name[n]) {
            fault->kind = kinds[i].kind;
            fault->field = kinds[i].field;
            fault->requests = kinds[i].kind < APHI_FAULT_STATUS;
            return parse_argument(fault, kinds[i].takes, text, text[n] ? text + n + 1 : NULL, error, size);
        }
    return reject(error, size, text, "unknown kind; antiphon fault --list lists them");
}

bool aphi_fault_is_bytewise(const aphi_fault *fault)
{
    return fault->kind == APHI_FAULT_NOTHING || fault->kind >= APHI_FAULT_DELAY;
}

bool aphi_fault_due(aphi_fault *fault)
{
    bool due = ++fault->met % fault->every == 0;
    fault->broken += due;
    return due;
}

/* ---- copying a head ---------------------------------------------------------------------------------------------- */

/* Writes the replacement of the field. */
typedef void (*editor)(aphi_fault *fault, const aphi_field *f, aphi_buffer *out);

static void copy_field(const aphi_field *f, aphi_buffer *out) { aphi_buffer_add(out, f->line, f->line_n); }

static void copy_head(const aphi_head *h, aphi_buffer *out) { aphi_buffer_add(out, h->bytes, h->n); }

/* Writes the edited fields, `more` fields, and the end of the head. */
static void edit_fields(aphi_fault *fault, const aphi_head *h, editor edit, const char *more, aphi_buffer *out)
{
    aphi_field f;
    size_t at = h->start_n;
    while (aphi_head_field(h, &at, &f))
        edit(fault, &f, out);
    aphi_buffer_str(out, more);
    aphi_buffer_add(out, h->bytes + at, h->n - at);
}

/* Copies the first line, then does the same as edit_fields. */
static void edit_head(aphi_fault *fault, const aphi_head *h, editor edit, const char *more, aphi_buffer *out)
{
    aphi_buffer_add(out, h->bytes, h->start_n);
    edit_fields(fault, h, edit, more, out);
}

/* Copies the head and replaces the n bytes at `at`, which points into it, with the text. */
static void replace_bytes(const aphi_head *h, const char *at, size_t n, const char *text, aphi_buffer *out)
{
    size_t before = (size_t)(at - h->bytes);
    aphi_buffer_add(out, h->bytes, before);
    aphi_buffer_str(out, text);
    aphi_buffer_add(out, at + n, h->n - before - n);
}

static void without_framing(aphi_fault *fault, const aphi_field *f, aphi_buffer *out)
{
    (void)fault;
    if (!aphi_field_is(f, "content-length") && !aphi_field_is(f, "transfer-encoding") && !aphi_field_is(f, "trailer") &&
        !aphi_field_is(f, "expect"))
        copy_field(f, out);
}

static const aphi_field *find_field(const aphi_head *h, const char *name, aphi_field *f)
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

static void with_other_length(aphi_fault *fault, const aphi_field *f, aphi_buffer *out)
{
    if (!aphi_field_is(f, "content-length")) {
        copy_field(f, out);
        return;
    }
    uint64_t length = strtoull(f->value, NULL, 10);
    aphi_buffer_add(out, f->line, (size_t)(f->value - f->line));
    aphi_buffer_format(out, "%llu", (unsigned long long)(fault->kind == APHI_FAULT_ADD_BYTE ? length + 1 : length - 1));
    const char *rest = f->value + f->value_n;
    aphi_buffer_add(out, rest, (size_t)(f->line + f->line_n - rest));
}

static aphi_fault_effect change_a_byte(aphi_fault *fault, const aphi_head *h, aphi_buffer *out)
{
    aphi_fault_effect effect = {.drop_byte = fault->kind == APHI_FAULT_DROP_BYTE,
                                .add_byte = fault->kind == APHI_FAULT_ADD_BYTE,
                                .byte = (char)('a' + aphi_choice_below(&fault->choice, 26))};
    if (h->body == APHI_BODY_LENGTH)
        edit_head(fault, h, with_other_length, "", out);
    else
        copy_head(h, out);
    return effect;
}

/* Writes the size line of a chunk that loses its first byte. */
static void shorten_chunk(aphi_fault_effect *effect, const aphi_piece *p, const char *line, aphi_buffer *out)
{
    effect->skip_chunk = p->size == 1;
    if (effect->skip_chunk)
        return;
    size_t digits = strspn(line, "0123456789abcdefABCDEF");
    aphi_buffer_format(out, "%llx", (unsigned long long)p->size - 1);
    aphi_buffer_add(out, line + digits, p->n - digits);
}

void aphi_fault_effect_apply(aphi_fault_effect *effect, const aphi_piece *p, const char *bytes, aphi_buffer *out)
{
    bool front = p->kind == APHI_PIECE_DATA && effect->drop_byte;
    if (effect->drop_body)
        return;
    if (p->kind == APHI_PIECE_CHUNK && effect->drop_byte) {
        shorten_chunk(effect, p, bytes, out);
        return;
    }
    if (p->kind == APHI_PIECE_CHUNK_END && effect->skip_chunk) {
        effect->skip_chunk = false;
        return;
    }
    if (p->kind == APHI_PIECE_LAST && effect->add_byte)
        aphi_buffer_format(out, "1\r\n%c\r\n", effect->byte);
    else if (p->kind == APHI_PIECE_END && effect->add_byte)
        aphi_buffer_byte(out, effect->byte);
    effect->add_byte = effect->add_byte && p->kind != APHI_PIECE_LAST;
    effect->drop_byte = effect->drop_byte && !front;
    aphi_buffer_add(out, bytes + front, p->n - front);
}

/* ---- tags -------------------------------------------------------------------------------------------------------- */

typedef struct tag {
    const char *begin, *opaque, *end; /* at W/ or the quote; after the first quote; after the last quote */
    bool weak;
} tag;

/* Finds the tag at or after *at. */
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

static void with_strong_tags(aphi_fault *fault, const aphi_field *f, aphi_buffer *out)
{
    (void)fault;
    const char *at = f->value, *copied = f->line;
    tag t;
    while (aphi_field_is(f, "if-match") && next_tag(f, &at, &t))
        if (t.weak) {
            aphi_buffer_add(out, copied, (size_t)(t.begin - copied));
            copied = t.begin + 2;
        }
    aphi_buffer_add(out, copied, (size_t)(f->line + f->line_n - copied));
}

static void without_weak_tags(aphi_fault *fault, const aphi_field *f, aphi_buffer *out)
{
    (void)fault;
    const char *at = f->value;
    size_t strong = 0;
    tag t;
    if (!aphi_field_is(f, "if-none-match") || !has_weak(f)) {
        copy_field(f, out);
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

static void with_first_tag(aphi_fault *fault, const aphi_field *f, aphi_buffer *out)
{
    (void)fault;
    tag t;
    const char *at = f->value;
    if (!is_list(f) || !next_tag(f, &at, &t)) {
        copy_field(f, out);
        return;
    }
    aphi_buffer_add(out, f->line, (size_t)(t.end - f->line));
    aphi_buffer_str(out, "\r\n");
}

/* Returns the k-th byte of the tags in the conditions of a head, or NULL if there are fewer. */
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

/* Flips a bit such that the byte is still valid in a tag: neither a quote nor a control character. */
static void flip_tag_bit(aphi_fault *fault, const aphi_head *h, uint64_t bytes, aphi_buffer *out)
{
    const char *at = tag_byte(h, aphi_choice_below(&fault->choice, bytes));
    unsigned char flipped;
    do
        flipped = (unsigned char)*at ^ (unsigned char)(1u << aphi_choice_below(&fault->choice, 8));
    while (flipped <= ' ' || flipped == '"' || flipped == 0x7f);
    replace_bytes(h, at, 1, (char[]){(char)flipped, 0}, out);
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

static void without_field(aphi_fault *fault, const aphi_field *f, aphi_buffer *out)
{
    if (!aphi_field_is(f, fault->field))
        copy_field(f, out);
}

static void change_path(const aphi_head *h, aphi_buffer *out)
{
    const char *query = memchr(h->target, '?', h->target_n);
    replace_bytes(h, query ? query : h->target + h->target_n, 0, "-other", out);
}

/* ---- responses --------------------------------------------------------------------------------------------------- */

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
    return ""; /* the standard allows an empty reason phrase */
}

/* Returns true for a field about the framing, the connection or the server, not about the resource. */
static bool is_transport_field(const aphi_field *f)
{
    static const char *const names[] = {"content-length", "transfer-encoding", "connection", "keep-alive", "trailer",
                                        "te", "upgrade", "host", "date", "server", "via"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (aphi_field_is(f, names[i]))
            return true;
    return false;
}

/* Returns the number of fields that may be renamed; *line is set to the k-th. */
static size_t renamable_fields(const aphi_fault *fault, const aphi_head *h, size_t k, const char **line)
{
    aphi_field f;
    size_t n = 0;
    for (size_t at = h->start_n; aphi_head_field(h, &at, &f);)
        if (f.name_n && (fault->field ? aphi_field_is(&f, fault->field) : !is_transport_field(&f)) && n++ == k)
            *line = f.line;
    return n;
}

static void rename_field(aphi_fault *fault, const aphi_head *h, aphi_buffer *out)
{
    const char *line = h->bytes;
    renamable_fields(fault, h, aphi_choice_below(&fault->choice, renamable_fields(fault, h, SIZE_MAX, &line)), &line);
    replace_bytes(h, line, 1, *line == 'X' || *line == 'x' ? "Y" : "X", out);
}

/* Returns the first tag of a target, or NULL if it is unknown. */
static aphi_first_tag *first_tag(aphi_fault *fault, uint64_t target)
{
    for (size_t i = 0; i < fault->tag_count; i++)
        if (fault->tags[i].target == target)
            return &fault->tags[i];
    return NULL;
}

/* Stores a strong tag. A weak tag is ignored: it may stay the same when the content changes. */
static void store_first_tag(aphi_fault *fault, uint64_t target, const aphi_field *etag)
{
    if (fault->tag_count == APHI_FAULT_TAGS || etag->value_n >= APHI_FAULT_TAG_BYTES || etag->value[0] != '"')
        return;
    aphi_first_tag *first = &fault->tags[fault->tag_count++];
    first->target = target;
    memcpy(first->text, etag->value, etag->value_n);
    first->text[etag->value_n] = 0;
}

/* Returns true if the response has a tag other than the first one of its target. */
static bool has_new_tag(aphi_fault *fault, const aphi_head *h, uint64_t target)
{
    aphi_field etag;
    if (!find_field(h, "etag", &etag) || !etag.value_n)
        return false;
    const aphi_first_tag *first = first_tag(fault, target);
    if (!first)
        store_first_tag(fault, target, &etag);
    return first && (strlen(first->text) != etag.value_n || memcmp(first->text, etag.value, etag.value_n) != 0);
}

static void write_first_tag(aphi_fault *fault, const aphi_head *h, uint64_t target, aphi_buffer *out)
{
    aphi_field etag;
    find_field(h, "etag", &etag);
    replace_bytes(h, etag.value, etag.value_n, first_tag(fault, target)->text, out);
}

static aphi_fault_effect change_status(aphi_fault *fault, const aphi_head *h, bool to_head, aphi_buffer *out)
{
    bool had_none = fault->from == 204 || fault->from == 304, has_none = fault->to == 204 || fault->to == 304;
    aphi_fault_effect effect = {.drop_body = has_none};
    size_t version = strcspn(h->bytes, " ");
    aphi_buffer_add(out, h->bytes, version);
    aphi_buffer_format(out, " %d %s\r\n", fault->to, reason(fault->to));
    if (has_none || (had_none && !to_head))
        edit_fields(fault, h, without_framing, has_none ? "" : "Content-Length: 0\r\n", out);
    else
        aphi_buffer_add(out, h->bytes + h->start_n, h->n - h->start_n);
    return effect;
}

/* ---- heads ------------------------------------------------------------------------------------------------------- */

/* Returns true if the fault would change this message. It is a request or a response, as the fault requires. */
static bool is_candidate(aphi_fault *fault, const aphi_head *h, uint64_t target)
{
    const char *line;
    aphi_field f;
    switch (fault->kind) {
    case APHI_FAULT_EARLY_RETURN:
    case APHI_FAULT_EMPTY_OUTPUT: return true;
    case APHI_FAULT_PUT_AS_GET: return aphi_method_is(h, "PUT");
    case APHI_FAULT_HEAD_AS_GET: return aphi_method_is(h, "HEAD");
    case APHI_FAULT_SKIP_WRITE: return fault->method ? aphi_method_is(h, fault->method) : is_write(h);
    case APHI_FAULT_WRONG_PATH: return is_write(h) && h->target[0] != '*';
    case APHI_FAULT_DROP_FIELD:
    case APHI_FAULT_DROP_RESPONSE_FIELD: return find_field(h, fault->field, &f) != NULL;
    case APHI_FAULT_WEAKEN_IF_MATCH: return has_weak_in(h, "if-match");
    case APHI_FAULT_STRIP_WEAK: return has_weak_in(h, "if-none-match");
    case APHI_FAULT_FLIP_TAG_BIT: return tag_byte(h, 0) != NULL;
    case APHI_FAULT_FIRST_TAG: return has_list(h);
    case APHI_FAULT_STATUS: return h->status == fault->from;
    case APHI_FAULT_FIELD_NAME: return renamable_fields(fault, h, SIZE_MAX, &line) > 0;
    case APHI_FAULT_STALE_TAG: return has_new_tag(fault, h, target);
    case APHI_FAULT_REQUEST_BODY:
    case APHI_FAULT_RESPONSE_BODY:
    case APHI_FAULT_DROP_BYTE: return has_body(h);
    case APHI_FAULT_ADD_BYTE: return h->body != APHI_BODY_NONE;
    default: return false;
    }
}

static aphi_fault_effect inject(aphi_fault *fault, const aphi_head *h, bool to_head, uint64_t target, aphi_buffer *out)
{
    aphi_fault_effect effect = {0};
    switch (fault->kind) {
    case APHI_FAULT_EARLY_RETURN: return (aphi_fault_effect){.status = 200, .drop_body = true};
    case APHI_FAULT_SKIP_WRITE: return (aphi_fault_effect){.status = 204, .drop_body = true};
    case APHI_FAULT_EMPTY_OUTPUT:
        effect.close = true;
        copy_head(h, out);
        break;
    case APHI_FAULT_PUT_AS_GET:
        effect.drop_body = true;
        aphi_buffer_str(out, "GET");
        aphi_buffer_add(out, h->bytes + h->method_n, h->start_n - h->method_n);
        edit_fields(fault, h, without_framing, "", out);
        break;
    case APHI_FAULT_HEAD_AS_GET:
        effect.as_get = true;
        replace_bytes(h, h->bytes, h->method_n, "GET", out);
        break;
    case APHI_FAULT_WRONG_PATH: change_path(h, out); break;
    case APHI_FAULT_DROP_FIELD:
    case APHI_FAULT_DROP_RESPONSE_FIELD: edit_head(fault, h, without_field, "", out); break;
    case APHI_FAULT_WEAKEN_IF_MATCH: edit_head(fault, h, with_strong_tags, "", out); break;
    case APHI_FAULT_STRIP_WEAK: edit_head(fault, h, without_weak_tags, "", out); break;
    case APHI_FAULT_FLIP_TAG_BIT: flip_tag_bit(fault, h, tag_bytes(h), out); break;
    case APHI_FAULT_FIRST_TAG: edit_head(fault, h, with_first_tag, "", out); break;
    case APHI_FAULT_STATUS: return change_status(fault, h, to_head, out);
    case APHI_FAULT_FIELD_NAME: rename_field(fault, h, out); break;
    case APHI_FAULT_STALE_TAG: write_first_tag(fault, h, target, out); break;
    case APHI_FAULT_REQUEST_BODY:
    case APHI_FAULT_RESPONSE_BODY:
        effect.drop_body = true;
        edit_head(fault, h, without_framing, "Content-Length: 0\r\n", out);
        break;
    default: return change_a_byte(fault, h, out);
    }
    return effect;
}

aphi_fault_effect aphi_fault_head(aphi_fault *fault, const aphi_head *h, bool to_head, uint64_t target,
                                  aphi_buffer *out)
{
    bool has_side = fault->requests ? !h->status : h->status >= 200;
    if (has_side && !h->opaque && is_candidate(fault, h, target) && aphi_fault_due(fault))
        return inject(fault, h, to_head, target, out);
    copy_head(h, out);
    return (aphi_fault_effect){0};
}

void aphi_fault_empty_response(int status, bool closes, aphi_buffer *out)
{
    char date[64];
    time_t now = time(NULL);
    struct tm parts;
    strftime(date, sizeof date, "%a, %d %b %Y %H:%M:%S GMT", gmtime_r(&now, &parts));
    aphi_buffer_format(out, "HTTP/1.1 %d %s\r\nDate: %s\r\n%s%s\r\n", status, reason(status), date,
                       status == 204 ? "" : "Content-Length: 0\r\n", closes ? "Connection: close\r\n" : "");
}
