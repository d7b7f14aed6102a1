/* SPDX-License-Identifier: Apache-2.0
 *
 * http_head.c - start lines and fields, checked line by line as they arrive, and read when complete.
 *
 * Idea:       a line is checked once, when it is complete. The previous line determines the kind of a line: a start
 *             line is first or follows an empty line, which ends an informational response or precedes a request. The
 *             only state is the offset of the next line.
 * Invariants: 1. the first wrong line is reported, at the same byte for any segmentation of the input
 *             2. after aphi_http_head_check, reading cannot fail
 * Tolerated:  LF for CRLF, empty lines before a request, folded lines in responses, an empty reason phrase.
 * Not done:   the lenient start lines of RFC 9112 3 and 4, with several blanks for one space: senders must not write
 *             them, and differences in reading them enable request smuggling.
 * Read next:  http_frame.c, http_decode.c */
#include "codec/http_head.h"

#include <stdarg.h>
#include <stdlib.h>

aph_decoded aphi_http_wrong(aph_wire *w, size_t at, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(w->why, sizeof w->why, format, args);
    va_end(args);
    w->at = at;
    return APH_MALFORMED;
}

aph_decoded aphi_http_beyond(aph_wire *w, size_t at, const char *part, size_t limit)
{
    w->beyond = true;
    return aphi_http_wrong(w, at, "%s of more than %zu bytes", part, limit);
}

aph_decoded aphi_http_more(aph_wire *w, const char *part)
{
    return w->ended ? aphi_http_wrong(w, w->count, "RFC 9112 8: the connection ends in %s", part) : APH_MORE;
}

/* ---- boundaries of lines and heads ------------------------------------------------------------------------------- */

/* Returns the line that ends at `lf`, without its line ending. */
static aphi_span line_between(const aph_wire *w, size_t from, size_t lf)
{
    size_t to = lf > from && w->bytes[lf - 1] == '\r' ? lf - 1 : lf;
    return (aphi_span){(const char *)w->bytes + from, to - from};
}

static size_t line_start(const aph_wire *w, size_t inside)
{
    const unsigned char *lf = memrchr(w->bytes, '\n', inside);
    return lf ? (size_t)(lf - w->bytes) + 1 : 0;
}

/* Returns true if the line at the offset is a start line: at the beginning, and after an empty line. */
static bool starts_head(const aph_wire *w, size_t from)
{
    const unsigned char *b = w->bytes;
    if (from < 2 || b[from - 2] == '\n')
        return true;
    return b[from - 2] == '\r' && (from == 2 || b[from - 3] == '\n');
}

/* Returns the offset of the start line of the head that has a line at `from`. */
static size_t start_of_head(const aph_wire *w, size_t from)
{
    while (!starts_head(w, from))
        from = line_start(w, from - 1);
    return from;
}

static int status_at(const aph_wire *w, size_t start)
{
    const unsigned char *digits = w->bytes + start + strlen("HTTP/1.1 ");
    return (digits[0] - '0') * 100 + (digits[1] - '0') * 10 + (digits[2] - '0');
}

/* RFC 9110 15.2: any number of informational responses may precede the final one; 101 is final. */
static bool is_informational(const aph_wire *w, size_t start)
{
    if (w->side == APH_TO_SERVER)
        return false;
    int status = status_at(w, start);
    return status < 200 && status != 101;
}

/* ---- start lines ------------------------------------------------------------------------------------------------- */

/* Checks that the bytes from `at` to `to` begin with HTTP/1. and a digit. */
static aph_decoded check_version(aph_wire *w, size_t at, size_t to)
{
    static const char version[] = "HTTP/1.";
    const unsigned char *b = w->bytes;
    for (size_t i = 0; i < sizeof version; i++) {
        if (at + i < to && (version[i] ? b[at + i] == version[i] : aphi_is_digit(b[at + i])))
            continue;
        if (i == strlen("HTTP/") && at + i < to && aphi_is_digit(b[at + i]))
            return aphi_http_wrong(w, at + i, "RFC 9112 2.3: HTTP major version %c instead of 1", b[at + i]);
        return aphi_http_wrong(w, at + i, "RFC 9112 2.3: expected HTTP/1.1");
    }
    return APH_DECODED;
}

static aph_decoded check_status(aph_wire *w, size_t at, size_t to)
{
    const unsigned char *b = w->bytes;
    for (size_t i = at; i < at + 3; i++)
        if (i >= to || !aphi_is_digit(b[i]))
            return aphi_http_wrong(w, i, "RFC 9112 4: a status must have three digits");
    if (b[at] < '1' || b[at] > '5')
        return aphi_http_wrong(w, at, "RFC 9110 15: a status must be a number from 100 to 599");
    if (at + 3 == to || b[at + 3] != ' ')
        return aphi_http_wrong(w, at + 3, "RFC 9112 4: expected a space after the status, even without a reason");
    return APH_DECODED;
}

static aph_decoded check_status_line(aph_wire *w, size_t from, size_t to)
{
    enum { VERSION = 8 };
    aph_decoded result = check_version(w, from, to);
    if (result != APH_DECODED)
        return result;
    if (from + VERSION == to || w->bytes[from + VERSION] != ' ')
        return aphi_http_wrong(w, from + VERSION, "RFC 9112 4: expected a space after the version");
    result = check_status(w, from + VERSION + 1, to);
    for (size_t i = from + VERSION + 4; result == APH_DECODED && i < to; i++)
        if (!aphi_is_text(w->bytes[i]))
            return aphi_http_wrong(w, i, "RFC 9112 4: invalid byte %d in a reason phrase", w->bytes[i]);
    return result;
}

static aphi_span token_at(aphi_span s)
{
    size_t n = 0;
    while (n < s.n && aphi_is_token((unsigned char)s.text[n]))
        n++;
    return (aphi_span){s.text, n};
}

static aphi_span word_at(aphi_span s)
{
    const char *space = s.n ? memchr(s.text, ' ', s.n) : NULL;
    return (aphi_span){s.text, space ? (size_t)(space - s.text) : s.n};
}

static aphi_span after(aphi_span s, size_t n)
{
    return (aphi_span){s.text + n, s.n - n};
}

static aph_decoded check_request_line(aph_wire *w, size_t from, aphi_span line)
{
    aphi_span method = token_at(line);
    if (method.n == 0 || method.n == line.n || line.text[method.n] != ' ')
        return aphi_http_wrong(w, from + method.n, "RFC 9112 3.1: expected a method and a space");
    aphi_span target = word_at(after(line, method.n + 1));
    size_t at = method.n + 1, right = aphi_http_target(method, target);
    if (target.n == 0 || right < target.n)
        return aphi_http_wrong(w, from + at + right, "RFC 9112 3.2: invalid target for %.*s",
                               (int)(method.n < 20 ? method.n : 20), method.text);
    at += target.n;
    if (at == line.n)
        return aphi_http_wrong(w, from + at, "RFC 9112 3: expected a space and the version after the target");
    aph_decoded result = check_version(w, from + at + 1, from + line.n);
    if (result == APH_DECODED && at + 1 + strlen("HTTP/1.1") < line.n)
        return aphi_http_wrong(w, from + at + 9, "RFC 9112 3: expected the end of the line after the version");
    return result;
}

/* ---- fields ------------------------------------------------------------------------------------------------------ */

static aph_decoded check_text(aph_wire *w, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++) {
        if (aphi_is_text(w->bytes[i]))
            continue;
        if (w->bytes[i] == '\r')
            return aphi_http_wrong(w, i, "RFC 9112 2.2: a CR without LF in a field's value");
        return aphi_http_wrong(w, i, "RFC 9110 5.5: invalid byte %d in a field's value", w->bytes[i]);
    }
    return APH_DECODED;
}

static aph_decoded check_field(aph_wire *w, size_t from, aphi_span line)
{
    size_t n = token_at(line).n;
    if (n < line.n && n && line.text[n] == ':')
        return check_text(w, from + n + 1, from + line.n);
    if (n < line.n && n && aphi_is_blank((unsigned char)line.text[n]))
        return aphi_http_wrong(w, from + n, "RFC 9112 5.1: blank between a field name and the colon");
    return aphi_http_wrong(w, from + n, "RFC 9112 5: expected a field name (a token) and a colon");
}

/* A line that begins with a blank continues the previous field. */
static aph_decoded check_fold(aph_wire *w, size_t from, aphi_span line, bool first)
{
    if (first)
        return aphi_http_wrong(w, from, "RFC 9112 2.2: a blank before the first field");
    if (w->side == APH_TO_SERVER)
        return aphi_http_wrong(w, from, "RFC 9112 5.2: a folded line in a request");
    return check_text(w, from, from + line.n);
}

static bool is_fold(aphi_span line)
{
    return line.n && aphi_is_blank((unsigned char)line.text[0]);
}

/* ---- line by line ------------------------------------------------------------------------------------------------ */

/* An empty line: before a request it is ignored, after a head it is the end. */
static aph_decoded check_empty(aph_wire *w, size_t from)
{
    if (!starts_head(w, from))
        return is_informational(w, start_of_head(w, from)) ? APH_MORE : APH_DECODED;
    if (w->side == APH_FROM_SERVER)
        return aphi_http_wrong(w, from, "RFC 9112 4: empty line instead of a status line");
    if (from >= APHI_HTTP_BLANK_MAX)
        return aphi_http_wrong(w, from, "RFC 9112 2.2: too many empty lines before a request");
    return APH_MORE;
}

/* Returns APH_DECODED if this is the last line of the head. */
static aph_decoded check_line(aph_wire *w, size_t from, aphi_span line)
{
    aph_decoded result;
    if (line.n == 0)
        return check_empty(w, from);
    if (starts_head(w, from))
        result = w->side == APH_TO_SERVER ? check_request_line(w, from, line)
                                          : check_status_line(w, from, from + line.n);
    else if (is_fold(line))
        result = check_fold(w, from, line, starts_head(w, line_start(w, from - 1)));
    else
        result = check_field(w, from, line);
    return result == APH_DECODED ? APH_MORE : result;
}

/* Checks the beginning before the line is complete: another protocol may never end the line. */
static aph_decoded check_beginning(aph_wire *w)
{
    static const char beginning[] = "HTTP/1.";
    size_t n = w->count < strlen(beginning) ? w->count : strlen(beginning);
    if (w->side == APH_TO_SERVER || memcmp(w->bytes, beginning, n) == 0 || w->bytes[0] == '\r' || w->bytes[0] == '\n')
        return APH_MORE;
    return check_version(w, 0, w->count);
}

aph_decoded aphi_http_head_check(aph_wire *w)
{
    size_t limit = w->count < APHI_HTTP_HEAD_MAX ? w->count : APHI_HTTP_HEAD_MAX, at = w->scanned;
    aph_decoded result = check_beginning(w);
    const unsigned char *lf;
    bool known = at == 0; /* a line begins at `at` */
    while (result == APH_MORE && (lf = memchr(w->bytes + at, '\n', limit - at))) {
        size_t end = (size_t)(lf - w->bytes), from = known ? at : line_start(w, end);
        result = check_line(w, from, line_between(w, from, end));
        at = end + 1;
        known = true;
    }
    if (result != APH_MORE)
        return result;
    if (limit == APHI_HTTP_HEAD_MAX)
        return aphi_http_beyond(w, limit, "a head", APHI_HTTP_HEAD_MAX);
    w->scanned = limit & ~(size_t)1; /* even; one byte or line may be read twice */
    return aphi_http_more(w, "the middle of a start line or of the fields");
}

aph_decoded aphi_http_trailer_check(aph_wire *w, size_t from, size_t *end)
{
    size_t left = w->count - from, start = from;
    size_t limit = from + (left < APHI_HTTP_TRAILER_MAX ? left : APHI_HTTP_TRAILER_MAX);
    const unsigned char *lf;
    while ((lf = memchr(w->bytes + from, '\n', limit - from))) {
        aphi_span line = line_between(w, from, (size_t)(lf - w->bytes));
        *end = (size_t)(lf - w->bytes) + 1;
        if (line.n == 0)
            return APH_DECODED;
        aph_decoded result = is_fold(line) ? check_fold(w, from, line, from == start) : check_field(w, from, line);
        if (result != APH_DECODED)
            return result;
        from = *end;
    }
    if (limit - start == APHI_HTTP_TRAILER_MAX)
        return aphi_http_beyond(w, limit, "trailers", APHI_HTTP_TRAILER_MAX);
    return aphi_http_more(w, "the middle of the trailers");
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

/* Returns the next line and moves *at past it. */
static aphi_span next_line(const aph_wire *w, size_t *at)
{
    const unsigned char *lf = memchr(w->bytes + *at, '\n', w->count - *at);
    aphi_span line = line_between(w, *at, (size_t)(lf - w->bytes));
    *at = (size_t)(lf - w->bytes) + 1;
    return line;
}

/* Skips empty lines and informational responses. */
static size_t skip_to_head(const aph_wire *w)
{
    size_t at = 0;
    while (w->bytes[at] == '\r' || w->bytes[at] == '\n')
        at++;
    while (is_informational(w, at))
        while (next_line(w, &at).n)
            ;
    return at;
}

static void read_start(const aph_wire *w, aphi_http_head *h, size_t at, aphi_span line)
{
    h->method = h->target = (aphi_span){"", 0};
    h->status = w->side == APH_FROM_SERVER ? status_at(w, at) : 0;
    if (w->side == APH_FROM_SERVER) {
        h->minor = line.text[strlen("HTTP/1.")] - '0';
        return;
    }
    h->method = token_at(line);
    h->target = word_at(after(line, h->method.n + 1));
    h->minor = line.text[line.n - 1] - '0';
}

void *aphi_http_allocate(size_t bytes)
{
    return aph_allocate(bytes);
}

/* Allocates room for the lines of a head and for rewritten text, which is never longer than the original. */
static void make_room(const aph_wire *w, aphi_http_head *h, size_t at)
{
    size_t count = 0, end = at;
    while (next_line(w, &end).n)
        count++;
    h->end = end;
    h->lines = count <= sizeof h->few / sizeof *h->few ? h->few : aphi_http_allocate(count * sizeof *h->lines);
    h->text = end - at <= sizeof h->little ? h->little : aphi_http_allocate(end - at);
    h->count = 0;
}

/* Appends a folded line. The value so far is at `to`, or on the wire if it was not folded yet. */
static void unfold(aphi_span *value, aphi_span line, char **to)
{
    aphi_span rest = aphi_trim(line);
    if (value->text + value->n != *to) {
        if (value->n)
            memcpy(*to, value->text, value->n);
        value->text = *to;
        *to += value->n;
    }
    if (rest.n && value->n) {
        *(*to)++ = ' ';
        value->n++;
    }
    if (rest.n)
        memcpy(*to, rest.text, rest.n);
    *to += rest.n;
    value->n += rest.n;
}

static void read_field(const aph_wire *w, aphi_http_line *l, aphi_span line, char **to)
{
    l->name = (aphi_span){*to, token_at(line).n};
    for (size_t i = 0; i < l->name.n; i++)
        *(*to)++ = aphi_lower(line.text[i]);
    l->value = aphi_trim(after(line, l->name.n + 1));
    l->at = (size_t)(l->value.text - (const char *)w->bytes);
}

void aphi_http_head_read(const aph_wire *w, aphi_http_head *h)
{
    size_t at = skip_to_head(w), start = at;
    aphi_span line = next_line(w, &at);
    read_start(w, h, start, line);
    make_room(w, h, at);
    char *to = h->text;
    while ((line = next_line(w, &at)).n) {
        if (is_fold(line))
            unfold(&h->lines[h->count - 1].value, line, &to);
        else
            read_field(w, &h->lines[h->count++], line, &to);
    }
}

void aphi_http_head_free(aphi_http_head *h)
{
    if (h->lines != h->few)
        free(h->lines);
    if (h->text != h->little)
        free(h->text);
}
