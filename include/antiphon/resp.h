/* SPDX-License-Identifier: Apache-2.0
 *
 * resp.h - RESP2, the protocol of Redis, as values.
 *
 * A request is an array of strings: ["SET", "k", "v"]. A response is
 *     a string              a bulk string           $1 v
 *     an integer            an integer              :1
 *     null                  the null bulk string    $-1
 *     an array              an array of responses   *2 ...
 *     {"null": "array"}     the null array          *-1
 *     {"simple": "OK"}      a simple string         +OK
 *     {"error": "ERR ..."}  an error                -ERR ...
 */
#ifndef ANTIPHON_RESP_H
#define ANTIPHON_RESP_H

#include <antiphon/codec.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Requests may also be inline: words between spaces, in a line. Numbers and lengths may have leading zeros, as the
 * specification allows. */
extern const aph_codec aph_codec_resp;

/* The response OK, and a response {"error": text}. */
aph_value aph_resp_ok(void);
aph_value aph_resp_error(const char *text);
/* The null array. */
aph_value aph_resp_null_array(void);
/* Returns true if the first word of the request is the command, in upper or lower case: aph_resp_is(q, "SET"). */
bool aph_resp_is(aph_value request, const char *command);

/* For aph_model.words: PONG, 17, "abc", (nil), (nil array), (error) ERR ..., ["GET","k"]. */
aph_value aph_resp_words(aph_value message);

#ifdef __cplusplus
}
#endif
#endif
