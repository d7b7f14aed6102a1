/* SPDX-License-Identifier: Apache-2.0
 *
 * wire.c - conversion between messages of the HTTP model and protocol messages.
 *
 * Idea:       http-message.c handles framing and fields; this file parses the fields that the model uses: tags, lists
 *             of tags, times and ranges. Other fields are dropped. "date" is present only if it is before "modified",
 *             and "allow" only with 405. */
#include "http-model.h"
#include "codec/http_dates.h"
#include "codec/http_head.h"
#include "http-message.h"
#include "codec/http_text.h"

#include <stdlib.h>

bool aphi_http_is_opaque(aph_value v)
{
    size_t n;
    const char *bytes = aph_bytes_of(&v, &n);
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)bytes[i];
        if (c <= ' ' || c == '"' || c == 0x7f)
            return false;
    }
    return true;
}

/* ---- texts of fields --------------------------------------------------------------------------------------------- */

typedef struct text {
    const char *at, *end;
} text;

static void skip_blanks(text *t)
{
    while (t->at < t->end && (*t->at == ' ' || *t->at == '\t'))
        t->at++;
}

static bool skip(text *t, const char *word)
{
    size_t n = strlen(word);
    if ((size_t)(t->end - t->at) < n || memcmp(t->at, word, n) != 0)
        return false;
    t->at += n;
    return true;
}

static bool read_tag(text *t, aph_value *tag)
{
    bool weak = skip(t, "W/");
    if (!skip(t, "\""))
        return false;
    const char *end = memchr(t->at, '"', (size_t)(t->end - t->at));
    if (!end)
        return false;
    aph_value opaque = aph_bytes(t->at, (size_t)(end - t->at));
    t->at = end + 1;
    *tag = aph_record("opaque", opaque, "weak", aph_bool(weak));
    return aphi_http_is_opaque(opaque);
}

/* Reads a list of tags. A tag has at least two bytes. */
static bool read_members(text *t, aph_value *found, size_t *n)
{
    while (t->at < t->end) {
        skip_blanks(t);
        if (skip(t, ",")) /* empty members are allowed */
            continue;
        if (!read_tag(t, &found[*n]))
            return false;
        ++*n;
        skip_blanks(t);
        if (t->at < t->end && !skip(t, ","))
            return false;
    }
    return true;
}

static bool read_tags(text *t, aph_value *tags)
{
    if (skip(t, "*")) {
        *tags = aph_str("*");
        return t->at == t->end;
    }
    aph_value *found = aphi_http_allocate((size_t)(t->end - t->at + 2) / 2 * sizeof *found);
    size_t n = 0;
    bool right = read_members(t, found, &n);
    *tags = aph_array(n, found);
    free(found);
    return right && n > 0;
}

static bool read_number(text *t, int64_t *n)
{
    const char *from = t->at;
    *n = 0;
    while (t->at < t->end && *t->at >= '0' && *t->at <= '9' && t->at - from < 18)
        *n = 10 * *n + (*t->at++ - '0');
    return t->at > from;
}

/* Parses FIRST-LAST in bytes; other forms are ignored, which servers may always do. */
static bool read_range(text *t, aph_value *range)
{
    int64_t first, last;
    if (!skip(t, "bytes=") || !read_number(t, &first) || !skip(t, "-") || !read_number(t, &last) || t->at != t->end ||
        last < first)
        return false;
    *range = APH_ARRAY_OF(aph_int(first), aph_int(last));
    return true;
}

static aph_value tag_text(aph_value tag)
{
    bool plain = aph_is_str(tag), weak = !plain && aph_truth(aph_field(tag, "weak"));
    aph_value quote = aph_str("\""), opaque = plain ? tag : aph_field(tag, "opaque");
    if (!aph_is_str(opaque) || !aphi_http_is_opaque(opaque))
        return APH_NIL;
    return aph_concat(aph_str(weak ? "W/\"" : "\""), aph_concat(opaque, quote));
}

static aph_value tags_text(aph_value tags)
{
    if (aph_str_is(tags, "*"))
        return tags;
    aphi_http_text all;
    aphi_http_text_init(&all);
    bool right = aph_kind_of(tags) == APH_ARRAY && aph_count(tags);
    for (size_t i = 0; right && i < aph_count(tags); i++) {
        aph_value one = tag_text(aph_at(tags, i));
        right = one != APH_NIL;
        aphi_http_text_add_str(&all, i ? ", " : "");
        if (right)
            aphi_http_text_add(&all, aphi_span_of(&one));
    }
    aph_value joined = aphi_http_text_take(&all);
    return right ? joined : APH_NIL;
}

static aph_value range_text(aph_value range)
{
    aph_value first = aph_at(range, 0), last = aph_at(range, 1);
    if (aph_count(range) != 2 || !aph_is_int(first) || !aph_is_int(last))
        return APH_NIL;
    return aph_strf("bytes=%lld-%lld", (long long)aph_int_of(first), (long long)aph_int_of(last));
}

/* ---- fields ------------------------------------------------------------------------------------------------------ */

typedef enum field_type { TAG, TAGS, TIME, RANGE, TAG_OR_TIME, TEXT } field_type;

typedef struct field_kind {
    const char *name, *field; /* names in the model and on the wire */
    field_type type;
    const char *clause; /* of RFC 9110 */
} field_kind;

static const field_kind request_fields[] = {
    {"if-match", "if-match", TAGS, "13.1.1"},
    {"if-none-match", "if-none-match", TAGS, "13.1.2"},
    {"if-modified-since", "if-modified-since", TIME, "13.1.3"},
    {"if-unmodified-since", "if-unmodified-since", TIME, "13.1.4"},
    {"range", "range", RANGE, "14.2"},
    {"if-range", "if-range", TAG_OR_TIME, "13.1.5"},
};
static const field_kind response_fields[] = {
    {"tag", "etag", TAG, "8.8.3"},
    {"modified", "last-modified", TIME, "8.8.2"},
    {"range", "content-range", TEXT, "14.4"},
};
#define COUNT(array) (sizeof(array) / sizeof *(array))

/* Parses a field. Returns false if it is invalid; sets *v to APH_NIL if it is to be ignored. */
static bool parse_field(const field_kind *k, aph_value field, aph_value *v)
{
    *v = field;
    if (k->type == TIME)
        return aph_is_int(field);
    if (!aph_is_str(field))
        return false;
    size_t n;
    const char *bytes = aph_bytes_of(&field, &n);
    text t = {bytes, bytes + n};
    int64_t time;
    switch (k->type) {
    case TAG: return read_tag(&t, v) && t.at == t.end;
    case TAGS: return read_tags(&t, v);
    case RANGE:
        if (!read_range(&t, v))
            *v = APH_NIL;
        return true;
    case TAG_OR_TIME:
        if (aphi_http_date_read(bytes, n, 0, &time)) {
            *v = aph_int(time);
            return true;
        }
        return read_tag(&t, v) && t.at == t.end;
    default: return true;
    }
}

/* Reverses parse_field; returns APH_NIL if the value has no textual form. */
static aph_value print_field(const field_kind *k, aph_value v)
{
    char date[APHI_HTTP_DATE_SIZE + 1];
    switch (k->type) {
    case TAG: return tag_text(v);
    case TAGS: return tags_text(v);
    case TIME: return aph_is_int(v) ? v : APH_NIL;
    case RANGE: return range_text(v);
    case TAG_OR_TIME:
        if (!aph_is_int(v))
            return tag_text(v);
        return aphi_http_date_write(aph_int_of(v), date) ? aph_str(date) : APH_NIL;
    default: return aph_is_str(v) ? v : APH_NIL;
    }
}

/* Validators of an error response or of a response to DELETE describe its own content, not the resource; Content-Range
 * is defined for 206 and 416 only (RFC 9110 8.8.3, 14.4). */
static bool is_about_resource(const aph_wire *w, const field_kind *k, aph_value status)
{
    if (w->side == APH_TO_SERVER)
        return true;
    int64_t number = aph_int_of(status);
    if (k->type == TEXT)
        return number == 206 || number == 416;
    return number == 304 || (number / 100 == 2 && !aph_str_is(aph_field(w->asked, "method"), "DELETE"));
}

/* Reports the error at the first byte of the field value. */
static void report_wrong(aph_wire *w, const field_kind *k)
{
    aphi_http_head head;
    aphi_http_head_read(w, &head);
    size_t i = 0;
    while (i + 1 < head.count && !aphi_span_is(head.lines[i].name, k->field))
        i++;
    aphi_http_wrong(w, head.lines[i].at, "RFC 9110 %s: invalid value of %s", k->clause, k->field);
    aphi_http_head_free(&head);
}

static bool parse_fields(aph_wire *w, const field_kind *all, size_t n, aph_value fields, aph_value *message)
{
    for (size_t i = 0; i < n; i++) {
        aph_value field = aph_field(fields, all[i].field), v;
        if (!field)
            continue;
        if (!parse_field(&all[i], field, &v)) {
            report_wrong(w, &all[i]);
            return false;
        }
        if (v && is_about_resource(w, &all[i], aph_field(*message, "status")))
            *message = aph_put(*message, all[i].name, v);
    }
    return true;
}

/* Returns true if the lines of other fields, each ended by "\n", contain the field. */
static bool has_line(aph_value more, const char *name)
{
    size_t n, length = strlen(name);
    const char *at = aph_bytes_of(&more, &n), *end = at + n, *line_end;
    for (; at < end && (line_end = memchr(at, '\n', (size_t)(end - at))); at = line_end + 1)
        if ((size_t)(line_end - at) > length && !memcmp(at, name, length) && at[length] == ':')
            return true;
    return false;
}

static bool parse_response(aph_wire *w, aph_value got, aph_value *message)
{
    if (!parse_fields(w, response_fields, COUNT(response_fields), aph_field(got, "fields"), message))
        return false;
    if (aph_field(got, "status") == aph_int(405) && has_line(aph_field(got, "more"), "allow"))
        *message = aph_put(*message, "allow", aph_bool(true));
    aph_value date = aph_field(got, "date"), modified = aph_field(*message, "modified");
    if (modified && aph_int_of(date) >= 0 && aph_int_of(date) < aph_int_of(modified))
        *message = aph_put(*message, "date", date);
    return true;
}

static bool print_fields(const field_kind *all, size_t n, aph_value message, aph_value *fields)
{
    *fields = aph_object();
    for (size_t i = 0; i < n; i++) {
        aph_value v = aph_field(message, all[i].name), field;
        if (!v)
            continue;
        field = print_field(&all[i], v);
        if (!field)
            return false;
        *fields = aph_put(*fields, all[i].field, field);
    }
    return true;
}

/* ---- messages ---------------------------------------------------------------------------------------------------- */

static aph_decoded decode(const aph_codec *codec, aph_wire *w)
{
    (void)codec;
    aph_decoded result = aphi_http_codec.decode(&aphi_http_codec, w);
    if (result != APH_DECODED)
        return result;
    aph_value got = w->message, fields = aph_field(got, "fields"), body = aph_field(got, "body"), message;
    bool valid;
    if (w->side == APH_TO_SERVER) {
        message = aph_record("method", aph_field(got, "method"), "target", aph_field(got, "target"));
        valid = parse_fields(w, request_fields, COUNT(request_fields), fields, &message);
    } else {
        message = aph_record("status", aph_field(got, "status"));
        valid = parse_response(w, got, &message);
    }
    w->message = body ? aph_put(message, "body", body) : message;
    w->last = aph_truth(aph_field(got, "close"));
    return valid ? APH_DECODED : APH_MALFORMED;
}

/* Encodes a message with a body in chunks. */
static bool put_chunked(aph_value sent, aph_sink *out)
{
    aph_value printed;
    if (!aph_encode(&aphi_http_codec, APH_TO_SERVER, sent, &printed))
        return false;
    aphi_span all;
    all.text = aph_bytes_of(&printed, &all.n);
    size_t kept, n = aph_count(aph_field(sent, "body"));
    if (!aphi_http_has_length(all, &kept)) {
        aph_sink_put(out, all.text, all.n);
        return true;
    }
    aph_sink_put(out, all.text, kept);
    aphi_http_put_chunks(out, (aphi_span){all.text + all.n - n, n});
    return true;
}

static bool encode(const aph_codec *codec, aph_side side, aph_value message, aph_sink *out)
{
    (void)codec;
    aph_value fields, body = aph_field(message, "body"), sent;
    if (aph_kind_of(message) != APH_OBJECT)
        return false;
    if (side == APH_TO_SERVER) {
        if (!print_fields(request_fields, COUNT(request_fields), message, &fields))
            return false;
        if (aph_truth(aph_field(message, "expect")))
            fields = aph_put(fields, "expect", aph_str("100-continue"));
        sent = aph_record("method", aph_field(message, "method"), "target", aph_field(message, "target"));
    } else {
        if (!print_fields(response_fields, COUNT(response_fields), message, &fields))
            return false;
        aph_value status = aph_field(message, "status"), date = aph_field(message, "date");
        sent = aph_record("status", status, "date", date ? date : aph_int(-1),
                          "more", aph_str(aph_field(message, "allow") ? "allow: GET, HEAD\n" : ""));
    }
    sent = aph_put(sent, "fields", fields);
    if (side == APH_TO_SERVER && body && aph_truth(aph_field(message, "chunked")))
        return put_chunked(aph_put(sent, "body", body), out);
    return aphi_http_codec.encode(&aphi_http_codec, side, body ? aph_put(sent, "body", body) : sent, out);
}

const aph_codec aphi_http_wire = {.name = "http", .decode = decode, .encode = encode};
