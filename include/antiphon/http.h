/* SPDX-License-Identifier: Apache-2.0
 *
 * http.h - HTTP/1.1 messages as values, for models of web applications.
 *
 * A request:  {"method": "PUT", "path": ["items", "17"], "query": {"full": "1"}, "headers": {"accept": "text/plain"},
 *              "cookies": {"session": "x7"}, "json": {"name": "cup"}}
 * A response: {"status": 200, "headers": {"etag": "\"a\""}, "cookies": {"session": "x7"}, "json": {"id": "17"}}
 *
 * Values that a server chooses are strings or integers of their own, so a model can put a symbol in their place: a part
 * of a path, a cookie, a member of a JSON body. docs/writing-models.md describes all fields.
 */
#ifndef ANTIPHON_HTTP_H
#define ANTIPHON_HTTP_H

#include <antiphon/codec.h>

#ifdef __cplusplus
extern "C" {
#endif

/* HTTP/1.1. Messages that the RFCs forbid are malformed; the error names the clause. A response contains all headers
 * but those of the framing, Date and Server. In `host`, `target`, `location` and `content-location`, the addresses of
 * the tester's origins are replaced by "here", "here-1", "here-2" and so on. */
extern const aph_codec aph_codec_http;
/* Does the same, but keeps only the named headers of responses. The names are in lower case; the last is NULL. A list
 * that is NULL keeps all. Other members of the codec may follow:
 *     static const char *const seen[] = {"location", NULL};
 *     static const aph_codec codec = APH_CODEC_HTTP(seen);
 *     static const aph_codec codec = APH_CODEC_HTTP(seen, .numbers = true); */
#define APH_CODEC_HTTP(...) {.name = "http", .decode = aph_decode_http, .encode = aph_encode_http, .data = __VA_ARGS__}
aph_decoded aph_decode_http(const aph_codec *codec, aph_wire *wire);
bool aph_encode_http(const aph_codec *codec, aph_side side, aph_value message, aph_sink *out);
/* The names of the headers that a codec keeps; NULL: all. */
typedef struct aph_http_kept {
    const char *const *of_responses;
    const char *const *of_requests; /* that it reads; requests with other headers can be written */
} aph_http_kept;
/* Does the same for both directions, for models of servers that call others:
 *     static const char *const none[] = {NULL}, *const passed[] = {"accept", NULL};
 *     static const aph_http_kept kept = {.of_responses = none, .of_requests = passed};
 *     static const aph_codec codec = APH_CODEC_HTTP_KEPT(&kept); */
#define APH_CODEC_HTTP_KEPT(...) \
    {.name = "http", .decode = aph_decode_http_kept, .encode = aph_encode_http_kept, .data = __VA_ARGS__}
aph_decoded aph_decode_http_kept(const aph_codec *codec, aph_wire *wire);
bool aph_encode_http_kept(const aph_codec *codec, aph_side side, aph_value message, aph_sink *out);

/* Returns true if the request has the method and the path of the route. In a route, {} is any part of the path:
 *     aph_http_route(request, "GET /items/{}", &id)
 * parts[i] is set to the i-th of these parts. If the route has none, parts may be NULL.
 *     A part can be empty, for instance if a hole is filled with an empty id: /items/ matches GET /items/{} and
 * GET /items/, but not GET /items. */
bool aph_http_route(aph_value request, const char *route, aph_value *parts);
/* Returns the cookie of a request or response; APH_NIL if it is absent. */
aph_value aph_http_cookie(aph_value message, const char *name);
/* Returns a response with a JSON body, or without a body if json is APH_NIL. */
aph_value aph_http_response(int status, aph_value json);
/* Returns the integer that v, a string, is the decimal text of, without leading zeros. Returns an integer unchanged,
 * and APH_NIL for anything else. For ids in paths, which are texts, although they are integers in JSON. */
aph_value aph_http_number(aph_value v);
/* Returns the name of the tester's origin, from 0 to APH_ORIGINS_MAX - 1, in messages: "here", "here-1",
 * ... Returns APH_NIL for another number. */
aph_value aph_http_origin(int64_t origin);
/* For aph_model.words: PUT /items/17 {"name":"cup"} session=x7 */
aph_value aph_http_words(aph_value message);
/* Split a text such as "/items/17" or "a=1&b=2" as the codec does. Return false if it is not valid. */
bool aph_http_path_read(aph_value text, aph_value *path);
bool aph_http_query_read(aph_value text, aph_value *query);

#ifdef __cplusplus
}
#endif
#endif
