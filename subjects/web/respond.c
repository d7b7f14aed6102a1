/* SPDX-License-Identifier: Apache-2.0
 *
 * respond.c - execution of requests and their responses.
 *
 * Idea:       a request passes these checks in order; the first that fails determines the response:
 *
 *                 is it valid                    400, 413, 414, 417, 431, 501, 505
 *                 is the method supported        501, 405
 *                 can its content be stored      400, 411, 413, 415, 507
 *                 does the resource exist        404
 *                 its conditions                 304, 400, 412
 *                 the method itself              200, 201, 204, 206, 416
 *
 * Conditions are evaluated after 404, since they are ignored if the response without them is not a success (RFC 9110,
 *             section 13.2.1). */
#include "respond.h"

#include "condition.h"
#include "date.h"
#include "mutant.h"
#include "store.h"

#include <ctype.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

/* A response to be printed. */
typedef struct answer {
    int status;
    const char *content;    /* of the response, even for HEAD */
    size_t length;
    const char *type;       /* of the content; NULL: unknown or none */
    const resource *shown;  /* the resource whose validators are sent, or NULL */
    bool dated;             /* the response has Last-Modified */
    bool partial;           /* the response has Content-Range, made from: */
    size_t first, complete; /* the first byte of the part, and the length of the whole */
} answer;

static const struct {
    int status;
    const char *phrase;
} phrases[] = {
    {200, "OK"},
    {201, "Created"},
    {204, "No Content"},
    {206, "Partial Content"},
    {304, "Not Modified"},
    {400, "Bad Request"},
    {404, "Not Found"},
    {405, "Method Not Allowed"},
    {411, "Length Required"},
    {412, "Precondition Failed"},
    {413, "Content Too Large"},
    {414, "URI Too Long"},
    {415, "Unsupported Media Type"},
    {416, "Range Not Satisfiable"},
    {417, "Expectation Failed"},
    {431, "Request Header Fields Too Large"},
    {501, "Not Implemented"},
    {505, "HTTP Version Not Supported"},
    {507, "Insufficient Storage"},
};

static const char *phrase_of(int status)
{
    for (size_t i = 0; i < sizeof phrases / sizeof *phrases; i++)
        if (phrases[i].status == status)
            return phrases[i].phrase;
    return "";
}

/* ---- printing ---------------------------------------------------------------------------------------------------- */

static void print_date(buffer *out, const char *name, time_t seconds)
{
    char text[DATE_SIZE];
    date_print(seconds, text);
    buffer_print(out, "%s: %s\r\n", name, text);
}

static void print_range(buffer *out, const answer *a)
{
    if (a->status == 416)
        buffer_print(out, "Content-Range: bytes */%zu\r\n", a->complete);
    else if (a->partial)
        buffer_print(out, "Content-Range: bytes %zu-%zu/%zu\r\n", a->first, a->first + a->length - 1, a->complete);
}

static void print_head(buffer *out, const answer *a, bool close)
{
    buffer_print(out, "HTTP/1.1 %d %s\r\n", a->status, phrase_of(a->status));
    print_date(out, "Date", store_now());
    if (a->shown)
        buffer_print(out, "ETag: %s\r\n", a->shown->tag);
    if (a->shown && a->dated)
        print_date(out, "Last-Modified", a->shown->modified);
    print_range(out, a);
    if (a->status == 405)
        buffer_print(out, "Allow: GET, HEAD, PUT, POST, DELETE\r\n");
    if (a->type && *a->type)
        buffer_print(out, "Content-Type: %s\r\n", a->type);
    if (a->status != 204 && a->status != 304)
        buffer_print(out, "Content-Length: %zu\r\n", a->length);
    buffer_print(out, close ? "Connection: close\r\n\r\n" : "\r\n");
}

/* Returns an error response, which has a text body. */
static answer error_of(int status, const char *words)
{
    return (answer){.status = status, .content = words, .length = strlen(words), .type = "text/plain"};
}

/* ---- GET and HEAD ------------------------------------------------------------------------------------------------ */

/* Parses the number at *text and moves *text past it; saturates. */
static size_t number_at(const char **text)
{
    size_t n = 0;
    for (; isdigit((unsigned char)**text); ++*text)
        n = n < SIZE_MAX / 100 ? n * 10 + (size_t)(**text - '0') : SIZE_MAX / 100;
    return n;
}

typedef enum ranged { WHOLE, PART, NONE } ranged;

/* Parses one range: "bytes=1-2", "bytes=1-", "bytes=-2". Several ranges, and other units, select the whole. */
static ranged read_range(const char *text, size_t size, size_t *first, size_t *length)
{
    if (strncasecmp(text, "bytes=", 6))
        return WHOLE;
    text += 6 + strspn(text + 6, " \t");
    bool has_first = isdigit((unsigned char)*text), has_last;
    *first = number_at(&text);
    if (*text++ != '-')
        return WHOLE;
    has_last = isdigit((unsigned char)*text);
    size_t last = number_at(&text);
    if (*text || (!has_first && !has_last) || (has_first && has_last && last < *first))
        return WHOLE;
    if (!has_first) { /* bytes from the end; empty content has no ranges, so all of it is sent */
        *length = last < size ? last : size;
        *first = size - *length;
        return !last ? NONE : size ? PART : WHOLE;
    }
    if (*first >= size)
        return NONE;
    *length = (has_last && last < size ? last + 1 : size) - *first;
    return PART;
}

static answer get(const request *q, const resource *r)
{
    answer a = {.status = 200, .content = buffer_head(&r->content), .length = buffer_size(&r->content), .shown = r,
                .dated = true, .complete = buffer_size(&r->content), .type = r->type};
    if (q->method != GET || !q->field[RANGE] || !condition_ranges(q, r))
        return a;
    switch (read_range(q->field[RANGE], a.complete, &a.first, &a.length)) {
    case NONE: {
        answer none = error_of(416, "the range begins after the end");
        none.complete = a.complete;
        return none;
    }
    case PART:
        a.status = 206;
        a.partial = true;
        a.content += a.first;
        a.dated = !q->field[IF_RANGE]; /* section 15.3.7: with If-Range the client has the other fields */
        a.type = a.dated ? a.type : NULL;
        break;
    default:
        break;
    }
    return a;
}

/* ---- PUT, POST and DELETE ---------------------------------------------------------------------------------------- */

static answer put(const request *q, resource *r)
{
    static unsigned replaced;
    bool created = !r;
    if (created)
        r = store_add(q->path);
    /* mutant 17, stale tag: the replacement by a PUT keeps the tag */
    if (PICK(17, true, created))
        store_renew_tag(r);
    /* mutant 14, write skipped: a PUT changes the validators, but not the content */
    if (PICK(14, true, false)) {
        store_clear(r);
        store_append(r, buffer_head(&q->content), buffer_size(&q->content));
        store_set_type(r, q->field[CONTENT_TYPE]);
    }
    store_touch(r);
    /* Both statuses are correct; clients get them alternately. */
    return (answer){.status = created ? 201 : replaced++ % 2 ? 200 : 204, .content = "", .shown = r, .dated = true};
}

static answer post(const request *q, resource *r)
{
    bool created = !r;
    if (!r) {
        r = store_add(q->path);
        store_set_type(r, q->field[CONTENT_TYPE]);
    }
    store_append(r, buffer_head(&q->content), buffer_size(&q->content));
    store_renew_tag(r);
    store_touch(r);
    return (answer){.status = created ? 201 : 200, .content = "", .shown = r, .dated = true};
}

static answer delete(resource *r)
{
    /* mutant 16, DELETE does nothing: the resource stays */
    if (PICK(16, true, false))
        store_remove(r);
    return (answer){.status = 204, .content = ""};
}

/* ---- the checks -------------------------------------------------------------------------------------------------- */

/* Returns the error status of a PUT or POST that does not depend on its conditions, or 0. */
static int refusal(request *q, const resource *r)
{
    size_t size = buffer_size(&q->content), before = r && q->method == POST ? buffer_size(&r->content) : 0;
    if (!q->framed) {
        q->close = true; /* a body that follows must not be read as the next request */
        return 411;
    }
    if (q->field[CONTENT_RANGE])
        return 400; /* RFC 9110, section 14.4: a part must not be stored as the whole */
    if (q->field[CONTENT_ENCODING] && strcasecmp(q->field[CONTENT_ENCODING], "identity"))
        return 415;
    return before + size > CONTENT_MAX ? 413 : store_has_room(q->path, size) ? 0 : 507;
}

static answer perform(const request *q, resource *r)
{
    switch (q->method) {
    case PUT:
        return put(q, r);
    case POST:
        return post(q, r);
    case DELETE:
        return delete(r);
    default:
        return get(q, r);
    }
}

static answer unmodified(const request *q, const resource *r)
{
    /* mutant 5, 200 for 304: unchanged content is sent again */
    return PICK(5, ((answer){.status = 304, .content = "", .shown = r}), get(q, r));
}

static answer judge_and_perform(const request *q, resource *r)
{
    switch (condition_judge(q, r)) {
    case FAILS:
        /* mutant 3, 200 for 412: a condition fails, nothing is done, and the status is 200 */
        return error_of(PICK(3, 412, 200), "a condition of the request does not hold");
    case UNMODIFIED:
        return unmodified(q, r);
    case ILL_FORMED:
        return error_of(400, "a condition of the request is not a list of entity tags");
    default:
        break;
    }
    /* mutant 4, 412 for 200: a GET whose conditions hold returns 412 */
    if (PICK(4, false, q->method == GET && condition_any(q)))
        return error_of(412, "a condition of the request does not hold");
    return perform(q, r);
}

/* Chooses the path to write; only mutant 13 changes it. */
static void choose_path(request *q)
{
    /* mutant 13, wrong path: a PUT writes to a path that differs in one bit of its last byte */
    if (PICK(13, false, q->method == PUT))
        q->path[strlen(q->path) - 1] ^= 1;
}

static answer answer_to(request *q)
{
    if (q->phase == FAULTY)
        return error_of(q->status, q->why);
    if (q->method == FOREIGN)
        return error_of(501, "unknown method");
    if (q->method == REFUSED)
        return error_of(405, "method not allowed");
    choose_path(q);
    resource *r = store_find(q->path);
    int refused = q->method == PUT || q->method == POST ? refusal(q, r) : 0;
    if (refused)
        return error_of(refused, "this content cannot be stored");
    /* mutant 1, PUT as GET: a PUT reads */
    if (PICK(1, false, q->method == PUT))
        q->method = GET;
    if (!r && q->method != PUT && q->method != POST)
        /* mutant 6, 404 skipped: a missing resource is empty */
        return PICK(6, error_of(404, "no such resource"), ((answer){.status = 200, .content = ""}));
    return judge_and_perform(q, r);
}

/* Returns the number of additional bytes in the response to a GET: 0 except in some mutants. */
static size_t spoil(const request *q, answer *a)
{
    if (q->method != GET || a->status != 200)
        return 0;
    /* mutant 12, byte dropped: the content of a GET lacks its last byte */
    if (PICK(12, false, a->length > 0))
        a->length--;
    /* mutant 15, empty output: the content of a GET is empty */
    if (PICK(15, false, true))
        a->length = 0;
    /* mutant 11, byte added: the content of a GET is a byte longer */
    return PICK(11, 0, 1);
}

void respond(request *q, buffer *out)
{
    answer a = answer_to(q);
    size_t added = spoil(q, &a);
    a.length += added;
    print_head(out, &a, q->close);
    /* mutant 19, HEAD with a body: HEAD is handled like GET */
    if (q->method != HEAD || PICK(19, false, true)) {
        buffer_put(out, a.content, a.length - added);
        buffer_put(out, "+", added);
    }
}
