/* SPDX-License-Identifier: Apache-2.0
 *
 * proxy-wire.c - conversion between messages of the proxy model and protocol messages.
 *
 *     {"method": "PUT", "to": "here", "target": "/a", "host": "here", "fields": {"x-mark": "7"}, "body": "..."}
 *     {"status": 200, "fields": {"etag": "\"x\""}, "via": [{"protocol": "1.1", "by": "p"}], "date": TIME,
 *      "more": "...", "body": "..."}
 *
 * Idea:       http-message.c handles framing and fields. This file groups fields by the duty of a proxy: fields to
 *             forward unchanged ("fields": the names that the tester sends), the path so far ("via"), and all others
 *             ("more", a line each), which a proxy may add. Hop-by-hop fields and those named by Connection are
 *             dropped. If a client receives a response without Via, the proxy itself made it: all of its fields are in
 *             "more".
 * Hosts:      "here", "here-1" and "here-2" are the origin servers (http_origins.h). A target with "to" is in absolute
 *             form.
 * To send:    "hop": fields that Connection names; "chunked": true: a body in chunks. Neither appears in decoded
 *             messages.
 * Read next:  proxy.c, http-message.c */
#include "proxy.h"

#include "codec/http_dates.h"
#include "codec/http_head.h"
#include "http-message.h"
#include "codec/http_text.h"

#include <stdlib.h>
#include <time.h>

enum { NAMES_MAX = 16, FORWARDS_DIGITS_MAX = 9 };

static const char *const known_in_requests[] = {
    "accept", "authorization", "content-type", "cookie", "if-match", "if-modified-since", "if-none-match",
    "if-unmodified-since", "max-forwards", "range", "te", "user-agent", "x-hop", "x-mark", NULL,
};
static const char *const known_in_responses[] = {
    "content-range", "content-type", "etag", "last-modified", "location", "x-answer", "x-hop", NULL,
};

static bool is_one_of(aphi_span name, const char *const *names)
{
    for (; *names; names++)
        if (aphi_span_is(name, *names))
            return true;
    return false;
}

static aph_value str_of(aphi_span s) { return aph_bytes(s.text, s.n); }

/* ---- Via --------------------------------------------------------------------------------------------------------- */

/* The length of the first member of the list: up to a comma outside comments. */
static size_t member_end(aphi_span s)
{
    size_t depth = 0, i = 0;
    for (; i < s.n && (depth || s.text[i] != ','); i++) {
        if (depth && s.text[i] == '\\' && i + 1 < s.n)
            i++;
        else if (s.text[i] == '(')
            depth++;
        else if (s.text[i] == ')' && depth)
            depth--;
    }
    return i;
}

/* A token, or two with a slash between them. */
static bool is_protocol(aphi_span s)
{
    size_t slashes = 0;
    for (size_t i = 0; i < s.n; i++) {
        if (s.text[i] == '/' ? slashes++ || i == 0 || i + 1 == s.n : !aphi_is_token((unsigned char)s.text[i]))
            return false;
    }
    return s.n > 0;
}

/* Parses protocol and name; a comment belongs to the name. "HTTP/" is optional. */
static bool read_member(aphi_span s, aph_value *member)
{
    size_t n = 0;
    while (n < s.n && !aphi_is_blank((unsigned char)s.text[n]))
        n++;
    aphi_span protocol = {s.text, n}, by = aphi_trim((aphi_span){s.text + n, s.n - n});
    if (!is_protocol(protocol))
        return false;
    if (protocol.n > 5 && !memcmp(protocol.text, "HTTP/", 5))
        protocol = (aphi_span){protocol.text + 5, protocol.n - 5};
    *member = aph_record("protocol", str_of(protocol), "by", str_of(by));
    return by.n > 0;
}

static bool read_members(aphi_span s, aph_value *members, size_t *count)
{
    while (s.n) {
        size_t n = member_end(s);
        aphi_span one = aphi_trim((aphi_span){s.text, n});
        if (one.n && !read_member(one, &members[(*count)++]))
            return false;
        n += n < s.n;
        s = (aphi_span){s.text + n, s.n - n};
    }
    return true;
}

/* Members are separated by commas. */
static bool read_via(aph_value text, aph_value *via)
{
    aphi_span s = text ? aphi_span_of(&text) : (aphi_span){"", 0};
    aph_value *members = aphi_http_allocate((s.n / 2 + 1) * sizeof *members);
    size_t count = 0;
    bool right = read_members(s, members, &count);
    *via = aph_array(count, members);
    free(members);
    return right;
}

/* Returns APH_NIL if the value is not a Via, which reads back the same. */
static aph_value via_text(aph_value via)
{
    aphi_http_text all;
    aphi_http_text_init(&all);
    bool right = true;
    for (size_t i = 0; right && i < aph_count(via); i++) {
        aph_value protocol = aph_field(aph_at(via, i), "protocol"), by = aph_field(aph_at(via, i), "by");
        right = aph_is_str(protocol) && aph_is_str(by);
        if (!right)
            break;
        aphi_http_text_add_str(&all, i ? ", " : "");
        aphi_http_text_add(&all, aphi_span_of(&protocol));
        aphi_http_text_add_str(&all, " ");
        aphi_http_text_add(&all, aphi_span_of(&by));
    }
    aph_value text = aphi_http_text_take(&all), again;
    return right && read_via(text, &again) && again == via ? text : APH_NIL;
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

/* The names in Connection, which are hop-by-hop fields. */
typedef struct hops {
    aphi_span names[NAMES_MAX];
    size_t count;
} hops;

static void add_hops(hops *h, aphi_span list)
{
    while (list.n && h->count < NAMES_MAX) {
        const char *comma = memchr(list.text, ',', list.n);
        size_t n = comma ? (size_t)(comma - list.text) : list.n;
        aphi_span name = aphi_trim((aphi_span){list.text, n});
        if (name.n)
            h->names[h->count++] = name;
        n += comma != NULL;
        list = (aphi_span){list.text + n, list.n - n};
    }
}

static bool same_name(aphi_span lower, aphi_span name)
{
    size_t i = 0;
    while (i < name.n && i < lower.n && lower.text[i] == aphi_lower(name.text[i]))
        i++;
    return i == name.n && i == lower.n;
}

/* Returns true if the field is hop-by-hop or stored elsewhere in the value. */
static bool is_dropped(aph_side side, const hops *h, aphi_span name)
{
    static const char *const out[] = {"via", "keep-alive", "proxy-connection", "trailer", NULL};
    if (aphi_http_is_framing(side, name) || is_one_of(name, out) ||
        aphi_span_is(name, side == APH_TO_SERVER ? "host" : "date"))
        return true;
    for (size_t i = 0; i < h->count; i++)
        if (same_name(name, h->names[i]))
            return true;
    return false;
}

/* A date is an integer in a request, and a text in a line. */
static void add_value(aphi_http_text *more, aphi_span name, aph_value value)
{
    char date[APHI_HTTP_DATE_SIZE + 1] = "";
    if (aph_is_int(value))
        aphi_http_date_write(aph_int_of(value), date);
    aphi_span text = aph_is_str(value) ? aphi_span_of(&value) : (aphi_span){date, strlen(date)};
    aphi_http_text_add_line(more, name, text, "\n");
}

/* Splits the fields of a request into the names that the tester sends and the others. */
static void split_request(const aph_wire *w, const hops *h, aph_value *fields, aphi_http_text *more)
{
    aph_value read = aph_field(w->message, "fields"), key, value;
    for (size_t i = 0; aph_pair_at(read, i, &key, &value); i++) {
        aphi_span name = aphi_span_of(&key);
        if (is_dropped(APH_TO_SERVER, h, name))
            continue;
        if (is_one_of(name, known_in_requests))
            *fields = aph_set(*fields, key, value);
        else
            add_value(more, name, value);
    }
}

/* Joins the values of the field from line i on. */
static aph_value join_lines(const aphi_http_head *head, size_t i)
{
    aphi_http_text all;
    aphi_span name = head->lines[i].name;
    aphi_http_text_init(&all);
    aphi_http_text_add(&all, head->lines[i].value);
    while (++i < head->count)
        if (head->lines[i].name.n == name.n && !memcmp(head->lines[i].name.text, name.text, name.n)) {
            aphi_http_text_add_str(&all, ", ");
            aphi_http_text_add(&all, head->lines[i].value);
        }
    return aphi_http_text_take(&all);
}

/* Does the same for a response, whose other fields keep their order. */
static void split_response(const aph_wire *w, const hops *h, const aphi_http_head *head, bool own, aph_value *fields,
                           aphi_http_text *more)
{
    aph_value read = aph_field(w->message, "fields");
    for (size_t i = 0; i < head->count; i++) {
        aphi_span name = head->lines[i].name;
        if (is_dropped(APH_FROM_SERVER, h, name))
            continue;
        aph_value key = str_of(name), kept = aph_get(read, key);
        if (own || !is_one_of(name, known_in_responses))
            aphi_http_text_add_line(more, name, head->lines[i].value, "\n");
        else if (!aph_has(*fields, key))
            *fields = aph_set(*fields, key, kept ? kept : join_lines(head, i));
    }
}

static void split_fields(const aph_wire *w, bool own, aph_value *fields, aph_value *more)
{
    hops h = {.count = 0};
    aphi_http_head head;
    aphi_http_text lines;
    aphi_http_head_read(w, &head);
    aphi_http_text_init(&lines);
    *fields = aph_object();
    for (size_t i = 0; i < head.count; i++)
        if (aphi_span_is(head.lines[i].name, "connection"))
            add_hops(&h, head.lines[i].value);
    if (w->side == APH_TO_SERVER)
        split_request(w, &h, fields, &lines);
    else
        split_response(w, &h, &head, own, fields, &lines);
    *more = aphi_http_text_take(&lines);
    aphi_http_head_free(&head);
}

/* Max-Forwards as a number, or APH_NIL if it is absent or invalid. */
static aph_value forwards_of(aph_value text)
{
    size_t n = 0;
    const char *digits = aph_is_str(text) ? aph_bytes_of(&text, &n) : "";
    int64_t number = 0;
    if (!n || n > FORWARDS_DIGITS_MAX)
        return APH_NIL;
    for (size_t i = 0; i < n; i++) {
        if (!aphi_is_digit((unsigned char)digits[i]))
            return APH_NIL;
        number = 10 * number + (digits[i] - '0');
    }
    return aph_int(number);
}

static aph_value read_request(const aph_wire *w, aph_value fields, aph_value more)
{
    aph_value got = w->message, target = aph_field(got, "target"), host = aph_field(aph_field(got, "fields"), "host");
    aph_value body = aph_field(got, "body"), forwards = forwards_of(aph_field(fields, "max-forwards"));
    if (forwards)
        fields = aph_remove(fields, aph_str("max-forwards"));
    aphi_span all = aphi_span_of(&target), authority, rest;
    bool absolute = aphi_http_absolute_split(all, &authority, &rest);
    aph_value message = aph_record("method", aph_field(got, "method"), "target", absolute ? str_of(rest) : target,
                                   "host", aphi_http_host_read(w, aphi_span_of(&host)), "fields", fields,
                                   "body", body ? body : aph_str(""));
    if (absolute)
        message = aph_put(message, "to", aphi_http_host_read(w, authority));
    return aph_put(forwards ? aph_put(message, "max-forwards", forwards) : message, "more", more);
}

static aph_value read_response(const aph_wire *w, aph_value fields, aph_value more)
{
    aph_value got = w->message;
    return aph_record("status", aph_field(got, "status"), "fields", fields, "date", aph_field(got, "date"),
                      "more", more, "body", aph_field(got, "body"));
}

/* A request in origin form was sent by the proxy, so its response is from the origin server, with or without Via. */
static bool is_sent_by_proxy(aph_value request)
{
    return request && aph_field(request, "target") && !aph_field(request, "to");
}

static aph_decoded decode(const aph_codec *codec, aph_wire *w)
{
    (void)codec;
    aph_decoded result = aphi_http_codec.decode(&aphi_http_codec, w);
    if (result != APH_DECODED)
        return result;
    aph_value fields, more, via;
    if (!read_via(aph_field(aph_field(w->message, "fields"), "via"), &via))
        return aphi_http_wrong(w, 0, "RFC 9110 7.6.3: a member of Via must be a protocol and a name");
    split_fields(w, !aph_count(via) && !is_sent_by_proxy(w->asked), &fields, &more);
    w->last = aph_truth(aph_field(w->message, "close"));
    w->message = w->side == APH_TO_SERVER ? read_request(w, fields, more) : read_response(w, fields, more);
    w->message = aph_put(w->message, "via", via);
    return APH_DECODED;
}

/* ---- writing ----------------------------------------------------------------------------------------------------- */

/* Adds all of `some` to *fields. Returns false if they are not fields. */
static bool add_fields(aph_value *fields, aph_value some)
{
    aph_value name, value;
    if (some != APH_NIL && aph_kind_of(some) != APH_OBJECT)
        return false;
    for (size_t i = 0; aph_pair_at(some, i, &name, &value); i++)
        *fields = aph_set(*fields, name, value);
    return true;
}

static bool add_via(aph_value *fields, aph_value via)
{
    if (!aph_count(via))
        return true;
    aph_value text = via_text(via);
    *fields = aph_put(*fields, "via", text ? text : aph_bool(false));
    return text != APH_NIL;
}

/* The value of a field in the message of the codec, which stores a date as an integer. */
static aph_value parse_value(aphi_span name, aphi_span value)
{
    int64_t seconds;
    bool date = aphi_http_is_date(name) && aphi_http_date_read(value.text, value.n, (int64_t)time(NULL), &seconds);
    return date ? aph_int(seconds) : str_of(value);
}

/* Adds the lines of "more" as fields. */
static bool add_more(aph_value *fields, aph_value more)
{
    if (!aph_is_str(more))
        return more == APH_NIL;
    for (aphi_span rest = aphi_span_of(&more); rest.n;) {
        const char *end = memchr(rest.text, '\n', rest.n), *colon = memchr(rest.text, ':', rest.n);
        if (!end || !colon || end - colon < 2 || colon[1] != ' ')
            return false;
        aphi_span name = {rest.text, (size_t)(colon - rest.text)}, value = {colon + 2, (size_t)(end - colon) - 2};
        *fields = aph_set(*fields, str_of(name), parse_value(name, value));
        rest = (aphi_span){end + 1, rest.n - (size_t)(end + 1 - rest.text)};
    }
    return true;
}

static aph_value make_request(const aph_sink *out, aph_value m)
{
    aph_value to = aph_field(m, "to"), target = aph_field(m, "target"), body = aph_field(m, "body");
    aph_value forwards = aph_field(m, "max-forwards"), host = aph_field(m, "host"), fields = aph_object();
    if (!aph_is_str(target) || (to && !aph_is_str(to)) || !aph_is_str(host) || (forwards && !aph_is_int(forwards)) ||
        !add_fields(&fields, aph_field(m, "fields")) || !add_fields(&fields, aph_field(m, "hop")) ||
        !add_more(&fields, aph_field(m, "more")) || !add_via(&fields, aph_field(m, "via")))
        return APH_NIL;
    if (forwards)
        fields = aph_put(fields, "max-forwards", aph_strf("%lld", (long long)aph_int_of(forwards)));
    fields = aph_put(fields, "host", aphi_http_host_text(out, host));
    if (to)
        target = aph_concat(aph_str("http://"), aph_concat(aphi_http_host_text(out, to), target));
    aph_value method = aph_field(m, "method"), sent = aph_record("method", method, "target", target, "fields", fields);
    bool has_body = aph_count(body) || aph_str_is(method, "PUT") || aph_str_is(method, "POST");
    return has_body ? aph_put(sent, "body", body ? body : aph_str("")) : sent;
}

/* Fields of a response without a member of their own become lines. */
static bool add_lines(aph_value some, aph_value *fields, aphi_http_text *more)
{
    aph_value key, value;
    if (some != APH_NIL && aph_kind_of(some) != APH_OBJECT)
        return false;
    for (size_t i = 0; aph_pair_at(some, i, &key, &value); i++) {
        aphi_span name = aphi_span_of(&key);
        if (aphi_http_is_kept(name))
            *fields = aph_set(*fields, key, value);
        else if (aph_is_str(value))
            aphi_http_text_add_line(more, name, aphi_span_of(&value), "\n");
        else
            return false;
    }
    return true;
}

static aph_value make_response(aph_value m)
{
    aph_value fields = aph_object(), more = aph_field(m, "more"), date = aph_field(m, "date");
    if (more && !aph_is_str(more))
        return APH_NIL;
    aphi_http_text lines;
    aphi_http_text_init(&lines);
    if (more)
        aphi_http_text_add(&lines, aphi_span_of(&more));
    bool right = add_lines(aph_field(m, "fields"), &fields, &lines) &&
                 add_lines(aph_field(m, "hop"), &fields, &lines) && add_via(&fields, aph_field(m, "via"));
    more = aphi_http_text_take(&lines);
    if (!right)
        return APH_NIL;
    return aph_record("status", aph_field(m, "status"), "fields", fields, "date", date ? date : aph_int(-1),
                      "more", more, "body", aph_field(m, "body") ? aph_field(m, "body") : aph_str(""));
}

static void put_str(aph_sink *out, const char *text) { aph_sink_put(out, text, strlen(text)); }

static void put_connection(aph_sink *out, aph_value hop)
{
    aph_value name, value;
    for (size_t i = 0; aph_pair_at(hop, i, &name, &value); i++) {
        aphi_span s = aphi_span_of(&name);
        put_str(out, i ? ", " : "Connection: ");
        aph_sink_put(out, s.text, s.n);
    }
    if (aph_count(hop))
        put_str(out, "\r\n");
}

/* Writes the printed message, with Connection and chunks if the message requests them. */
static void put_printed(aph_sink *out, aphi_span all, aph_value m)
{
    const char *end = memmem(all.text, all.n, "\r\n\r\n", 4);
    size_t head = (size_t)(end + 2 - all.text), kept = head;
    bool chunked = aph_truth(aph_field(m, "chunked")) && aphi_http_has_length(all, &kept);
    aph_sink_put(out, all.text, kept);
    put_connection(out, aph_field(m, "hop"));
    aphi_span rest = {all.text + head, all.n - head};
    if (chunked)
        aphi_http_put_chunks(out, (aphi_span){rest.text + 2, rest.n - 2});
    else
        aph_sink_put(out, rest.text, rest.n);
}

static bool encode(const aph_codec *codec, aph_side side, aph_value m, aph_sink *out)
{
    (void)codec;
    aph_value sent = aph_kind_of(m) != APH_OBJECT ? APH_NIL
                     : side == APH_TO_SERVER      ? make_request(out, m) : make_response(m);
    aph_value printed;
    if (!sent || !aph_encode(&aphi_http_codec, side, sent, &printed))
        return false;
    put_printed(out, aphi_span_of(&printed), m);
    return true;
}

const aph_codec aphi_proxy_wire = {.name = "http-proxy", .decode = decode, .encode = encode};
