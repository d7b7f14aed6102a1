/* SPDX-License-Identifier: Apache-2.0
 *
 * request.c - incremental, strict parser of requests.
 *
 * Idea:       a state machine that advances with each complete line and with bytes of a body:
 *
 *                 REQUEST_LINE -> FIELD_LINES -+-> CONTENT -----------------------------------+-> COMPLETE
 *                                              +-> CHUNK_SIZE <-> CHUNK, CHUNK_END -> TRAILER -+
 *
 * A request that violates RFC 9112 is FAULTY: the response contains the reason, and the connection is closed, since the
 * start of the next request is unknown. Input that a server may tolerate, such as a bare LF, folded lines, or a length
 * beside a transfer coding, is refused to prevent request smuggling.
 * Invariants: 1. consumed bytes are never read again, bytes of an incomplete line at most twice
 *             2. up to HEAD_MAX and CONTENT_MAX bytes are kept, for any input
 * Not done:   trailers are checked and dropped; authorities are not checked, since the server has no name. */
#include "request.h"

#include <ctype.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const char *const names[FIELDS] = {
    [CONNECTION] = "connection",
    [CONTENT_ENCODING] = "content-encoding",
    [CONTENT_LENGTH] = "content-length",
    [CONTENT_RANGE] = "content-range",
    [CONTENT_TYPE] = "content-type",
    [EXPECT] = "expect",
    [HOST] = "host",
    [IF_MATCH] = "if-match",
    [IF_MODIFIED_SINCE] = "if-modified-since",
    [IF_NONE_MATCH] = "if-none-match",
    [IF_RANGE] = "if-range",
    [IF_UNMODIFIED_SINCE] = "if-unmodified-since",
    [RANGE] = "range",
    [TRANSFER_ENCODING] = "transfer-encoding",
};

static const struct {
    const char *name;
    method method;
} methods[] = {
    {"GET", GET},         {"HEAD", HEAD},       {"PUT", PUT},     {"POST", POST},     {"DELETE", DELETE},
    {"CONNECT", REFUSED}, {"OPTIONS", REFUSED}, {"TRACE", REFUSED}, {"PATCH", REFUSED},
};

static void fault(request *r, int status, const char *why)
{
    r->phase = FAULTY;
    r->status = status;
    r->why = why;
    r->close = true;
}

/* ---- characters -------------------------------------------------------------------------------------------------- */

static bool is_token_char(char c)
{
    return c && (isalnum((unsigned char)c) || strchr("!#$%&'*+-.^_`|~", c));
}

static bool is_value_char(char c)
{
    return c == '\t' || ((unsigned char)c >= ' ' && c != 0x7f);
}

/* Returns true if there is no control character. */
static bool is_graphic(const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if (text[i] == '\t' || !is_value_char(text[i]))
            return false;
    return true;
}

static bool is_unreserved(char c)
{
    return c && (isalnum((unsigned char)c) || strchr("-._~", c));
}

/* RFC 3986: characters that need no escape in a name or path. */
static bool is_plain(char c)
{
    return is_unreserved(c) || (c && strchr("!$&'()*+,;=", c));
}

static int hex(char c)
{
    return isdigit((unsigned char)c) ? c - '0' : isxdigit((unsigned char)c) ? tolower((unsigned char)c) - 'a' + 10 : -1;
}

/* Returns true for an escape such as "%41". */
static bool is_escape(const char *text)
{
    return text[0] == '%' && hex(text[1]) >= 0 && hex(text[2]) >= 0;
}

static void trim(char **from, char **to)
{
    while (*from < *to && (**from == ' ' || **from == '\t'))
        ++*from;
    while (*from < *to && ((*to)[-1] == ' ' || (*to)[-1] == '\t'))
        --*to;
}

/* ---- the request line -------------------------------------------------------------------------------------------- */

/* Skips a host and port; returns NULL if there is none. An empty host is accepted. */
static const char *skip_authority(const char *text)
{
    if (*text == '[') {
        text++;
        while (isxdigit((unsigned char)*text) || *text == ':' || *text == '.')
            text++;
        if (*text++ != ']')
            return NULL;
    }
    while (is_plain(*text) || is_escape(text))
        text += *text == '%' ? 3 : 1;
    if (*text == ':')
        do
            text++;
        while (isdigit((unsigned char)*text));
    return text;
}

/* Returns the path of "http://host/path" or "/path", or NULL for any other form. */
static const char *path_of(const char *target)
{
    static const char scheme[] = "http://";
    if (strncasecmp(target, scheme, sizeof scheme - 1))
        return *target == '/' ? target : NULL;
    const char *host = target + sizeof scheme - 1, *path = skip_authority(host);
    return path && path > host && *host != ':' && strchr("/?", *path) ? path : NULL;
}

/* Appends one character or escape of a path in normal form. */
static size_t normalize(const char *text, char **out)
{
    if (*text != '%') {
        *(*out)++ = *text;
        return 1;
    }
    char c = (char)(hex(text[1]) * 16 + hex(text[2]));
    if (is_unreserved(c))
        *(*out)++ = c;
    else
        *out += sprintf(*out, "%%%02X", (unsigned char)c);
    return 3;
}

static bool read_target(request *r, const char *target)
{
    const char *path = path_of(target);
    if (!path)
        return false;
    char *out = r->path = malloc(strlen(path) + 2);
    if (!out)
        out_of_memory();
    bool query = false, good = true;
    if (*path != '/')
        *out++ = '/';
    while (good && *path) {
        query = query || *path == '?';
        good = is_plain(*path) || is_escape(path) || strchr(query ? ":@/?" : ":@/", *path);
        path += good ? normalize(path, &out) : 0;
    }
    *out = 0;
    return good;
}

static bool read_method(request *r, const char *name)
{
    if (!*name)
        return false;
    for (const char *c = name; *c; c++)
        if (!is_token_char(*c))
            return false;
    r->method = FOREIGN;
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++)
        if (!strcmp(name, methods[i].name))
            r->method = methods[i].method;
    return true;
}

static bool read_version(request *r, const char *version)
{
    if (strncmp(version, "HTTP/", 5) || !isdigit((unsigned char)version[5]) || version[6] != '.'
        || !isdigit((unsigned char)version[7]) || version[8])
        return false;
    r->old = version[7] == '0';
    if (version[5] != '1')
        fault(r, 505, "this server speaks HTTP/1.1");
    return true;
}

static void read_request_line(request *r, char *line, size_t length)
{
    if (!length)
        return; /* section 2.2: empty lines before a request are ignored */
    char *target = memchr(line, ' ', length), *version = target ? strchr(target + 1, ' ') : NULL;
    if (!version || !is_graphic(line, length)) {
        fault(r, 400, "the request line is not: method, target, version");
        return;
    }
    *target++ = *version++ = 0;
    r->phase = FIELD_LINES;
    if (!read_method(r, line))
        fault(r, 400, "the method is not a token");
    else if (!read_version(r, version))
        fault(r, 400, "the version is not HTTP/1.1");
    else if (r->phase != FAULTY && r->method < REFUSED && !read_target(r, target))
        fault(r, 400, "the target is neither a path nor an http URI");
}

/* ---- fields ------------------------------------------------------------------------------------------------------ */

static void keep_field(request *r, field f, const char *value, size_t length)
{
    if ((f == HOST || f == CONTENT_LENGTH || f == CONTENT_TYPE) && r->field[f]) {
        fault(r, 400, "a field that may be there only once is there twice");
        return;
    }
    size_t before = r->field[f] ? strlen(r->field[f]) + 2 : 0;
    char *joined = realloc(r->field[f], before + length + 1);
    if (!joined)
        out_of_memory();
    if (before)
        memcpy(joined + before - 2, ", ", 2);
    memcpy(joined + before, value, length);
    joined[before + length] = 0;
    r->field[f] = joined;
}

/* Checks a field, and stores it if it is used. */
static void read_field(request *r, char *line, size_t length, bool keep)
{
    char *end = line + length, *name = line, *colon = line;
    while (colon < end && is_token_char(*colon))
        colon++;
    if (colon == line || *colon != ':') {
        fault(r, 400, "a field is not a name, directly followed by a colon");
        return;
    }
    char *value = colon + 1;
    for (char *c = value; c < end; c++)
        if (!is_value_char(*c)) {
            fault(r, 400, "the value of a field has a control character");
            return;
        }
    trim(&value, &end);
    *colon = 0;
    for (field f = 0; keep && f < FIELDS; f++)
        if (!strcasecmp(name, names[f]))
            keep_field(r, f, value, (size_t)(end - value));
}

bool request_lists(const char *list, const char *member)
{
    size_t length = strlen(member);
    while (list && *list) {
        list += strspn(list, ", \t");
        size_t size = strcspn(list, ",");
        const char *next = list + size;
        while (size && strchr(" \t", list[size - 1]))
            size--;
        if (size == length && !strncasecmp(list, member, length))
            return true;
        list = next;
    }
    return false;
}

/* ---- the length of the body: RFC 9112, section 6.3 --------------------------------------------------------------- */

static void expect_chunks(request *r)
{
    const char *codings = r->field[TRANSFER_ENCODING];
    const char *last = strrchr(codings, ',');
    last = last ? last + 1 + strspn(last + 1, " \t") : codings;
    if (r->old || r->field[CONTENT_LENGTH])
        fault(r, 400, "a transfer coding in HTTP/1.0, or beside a length");
    else if (strcasecmp(last, "chunked"))
        fault(r, 400, "the last transfer coding is not chunked");
    else if (strcasestr(codings, "chunked") != last)
        fault(r, 400, "chunked is there twice");
    else if (last != codings)
        fault(r, 501, "no transfer coding but chunked is implemented");
    else
        r->phase = CHUNK_SIZE;
    r->framed = true;
}

static void expect_length(request *r)
{
    const char *digits = r->field[CONTENT_LENGTH];
    if (!*digits || digits[strspn(digits, "0123456789")]) {
        fault(r, 400, "the length is not a number");
        return;
    }
    for (; isdigit((unsigned char)*digits) && r->left <= CONTENT_MAX; digits++)
        r->left = r->left * 10 + (size_t)(*digits - '0');
    if (r->left > CONTENT_MAX)
        fault(r, 413, "the body is too large");
    else
        r->phase = CONTENT;
    r->framed = true;
}

static void end_head(request *r)
{
    const char *host = r->field[HOST], *rest = host ? skip_authority(host) : NULL;
    r->close = r->old || request_lists(r->field[CONNECTION], "close");
    r->phase = COMPLETE;
    if (host ? !rest || *rest : !r->old)
        fault(r, 400, "there is no Host, or it is not a host");
    else if (r->field[TRANSFER_ENCODING])
        expect_chunks(r);
    else if (r->field[CONTENT_LENGTH])
        expect_length(r);
    if (r->phase == FAULTY || r->old || !r->field[EXPECT])
        return;
    if (strcasecmp(r->field[EXPECT], "100-continue"))
        fault(r, 417, "no expectation but 100-continue can be met");
    else
        r->awaits = r->phase == CHUNK_SIZE || r->left;
}

/* ---- chunks ------------------------------------------------------------------------------------------------------ */

static void read_chunk_size(request *r, const char *line, size_t length)
{
    size_t i = 0;
    r->left = 0;
    for (; i < length && hex(line[i]) >= 0 && r->left <= CONTENT_MAX; i++)
        r->left = r->left * 16 + (size_t)hex(line[i]);
    if (r->left + buffer_size(&r->content) > CONTENT_MAX) {
        fault(r, 413, "the body is too large");
        return;
    }
    size_t digits = i;
    while (digits && i < length && (line[i] == ' ' || line[i] == '\t'))
        i++;
    bool bad = !digits || (i < length ? line[i] != ';' : i > digits);
    for (; i < length; i++)
        bad = bad || !is_value_char(line[i]);
    if (bad)
        fault(r, 400, "the size of a chunk is not a number");
    else
        r->phase = r->left ? CHUNK : TRAILER;
}

/* ---- the machine ------------------------------------------------------------------------------------------------- */

static void use_line(request *r, char *line, size_t length)
{
    switch (r->phase) {
    case REQUEST_LINE:
        read_request_line(r, line, length);
        break;
    case CHUNK_SIZE:
        read_chunk_size(r, line, length);
        break;
    case CHUNK_END:
        r->phase = CHUNK_SIZE;
        break;
    default:
        if (length)
            read_field(r, line, length, r->phase == FIELD_LINES);
        else if (r->phase == FIELD_LINES)
            end_head(r);
        else
            r->phase = COMPLETE;
    }
}

/* Returns true if a line of this length, complete or not, exceeds a limit. */
static bool too_long(request *r, size_t bytes)
{
    if (r->phase == REQUEST_LINE && bytes > TARGET_MAX)
        fault(r, 414, "the request line is too long");
    else if (r->spent + bytes > HEAD_MAX)
        fault(r, 431, "the fields are too large");
    return r->phase == FAULTY;
}

/* Processes a complete line. Returns false if there is none. */
static bool take_line(request *r, buffer *in)
{
    size_t size = buffer_size(in);
    if (!size)
        return false;
    char *line = buffer_head(in), *end = memchr(line + r->scanned, '\n', size - r->scanned);
    size_t bytes = end ? (size_t)(end + 1 - line) : size;
    if (r->phase == CHUNK_END && memcmp(line, "\r\n", size < 2 ? size : 2))
        fault(r, 400, "a chunk is longer than its size");
    if (r->phase == FAULTY || too_long(r, bytes))
        return true;
    r->scanned = size;
    if (!end)
        return false;
    r->scanned = 0;
    if (end == line || end[-1] != '\r') {
        fault(r, 400, "a line does not end in CR LF");
        return true;
    }
    end[-1] = 0;
    /* Empty lines and chunk sizes do not count towards HEAD_MAX: there may be many. */
    size_t free_bytes = r->phase == CHUNK_SIZE ? strspn(line, "0123456789abcdefABCDEF") + 2 : 2;
    r->spent += bytes > free_bytes ? bytes - free_bytes : 0;
    use_line(r, line, (size_t)(end - 1 - line));
    buffer_take(in, bytes);
    return true;
}

static bool take_content(request *r, buffer *in)
{
    size_t size = buffer_size(in), count = size < r->left ? size : r->left;
    if (count) {
        buffer_put(&r->content, buffer_head(in), count);
        buffer_take(in, count);
    }
    r->left -= count;
    if (!r->left)
        r->phase = r->phase == CHUNK ? CHUNK_END : COMPLETE;
    return !r->left;
}

void request_read(request *r, buffer *in)
{
    while (r->phase < COMPLETE)
        if (!(r->phase == CONTENT || r->phase == CHUNK ? take_content(r, in) : take_line(r, in)))
            break;
    r->awaits = r->awaits && !buffer_size(in) && !buffer_size(&r->content);
}

void request_reset(request *r)
{
    free(r->path);
    for (field f = 0; f < FIELDS; f++)
        free(r->field[f]);
    buffer_free(&r->content);
    *r = (request){0};
}
