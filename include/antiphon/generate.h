/* SPDX-License-Identifier: Apache-2.0
 *
 * generate.h - generators of requests: J-expressions that refer to earlier messages.
 *
 * A generator returns a J-expression: a message with holes. A hole consists of the label of an earlier message, a path
 * into that message, and a function. It is filled when the request is sent, so a script can be shrunk and replayed
 * although the server chooses different values each time. Requests have the labels 1, 3, 5, ...; the response to
 * request n has n + 1.
 *
 * In JSON a hole is {"$": [LABEL, PATH, "function"]}; PATH is an array of field names and of indices from 0.
 * If the message or the path does not exist, another array element is used, or else another message that has the path.
 */
#ifndef ANTIPHON_GENERATE_H
#define ANTIPHON_GENERATE_H

#include <antiphon/value.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct aph_gen aph_gen; /* one call of a generator */

/* ---- random choices ---------------------------------------------------------------------------------------------- */

uint64_t aph_gen_below(aph_gen *g, uint64_t n);         /* uniform in 0 .. n-1; n > 0 */
/* Returns an index with probability proportional to its weight: aph_gen_weighted(g, 90, 10) returns 0 in 90% of
 * calls. */
#define aph_gen_weighted(g, ...) \
    aph_gen_weighted_(g, sizeof((const unsigned[]){__VA_ARGS__}) / sizeof(unsigned), (const unsigned[]){__VA_ARGS__})
size_t aph_gen_weighted_(aph_gen *g, size_t n, const unsigned *weights);
/* Returns one of the values. If the request should relate to an earlier one (aph_gen_wish), values in the fields of
 * that request are preferred. Use this function for keys. */
#define aph_gen_oneof(g, ...) \
    aph_gen_oneof_(g, sizeof((aph_value[]){__VA_ARGS__}) / sizeof(aph_value), (aph_value[]){__VA_ARGS__})
aph_value aph_gen_oneof_(aph_gen *g, size_t n, const aph_value *values);

/* ---- the run so far ---------------------------------------------------------------------------------------------- */

/* Returns the state of the model in the current explanation, which may contain symbols; APH_NIL if the state is
 * unknown. */
aph_value aph_gen_state(aph_gen *g);
/* Gets the i-th latest labelled message, from 0. Returns false if it is no longer stored. */
bool aph_gen_seen(aph_gen *g, size_t i, int64_t *label, aph_value *message);
int64_t aph_gen_connection(aph_gen *g);                 /* the connection of this request */
size_t aph_gen_connections(aph_gen *g);                 /* number of connections in the run */
/* Returns an earlier request that this one should relate to, for example by using the same key; APH_NIL if there is
 * none. */
aph_value aph_gen_wish(aph_gen *g);
uint64_t aph_gen_number(aph_gen *g);                    /* number of this request, from 0; for unique values */

/* ---- holes ------------------------------------------------------------------------------------------------------- */

/* aph_hole(4, APH_ARRAY_OF(aph_str("tag")), "id") */
aph_value aph_hole(int64_t label, aph_value path, const char *function);
/* Returns a hole that refers to a response with a value at the path, preferably late and not an empty string;
 * APH_NIL if there is none. */
aph_value aph_gen_hole(aph_gen *g, aph_value path, const char *function);

/* Writes a shape (aph_model.shape) without quotation marks: APH_SHAPE([{"f": "get", "key": {"one of": ["a", "b"]}}]) */
#define APH_SHAPE(...) #__VA_ARGS__
/* Does the same, but expands macros in the shape first, such as #define KEY {"one of": ["a", "b"]}. Also expands true
 * and false, which <stdbool.h> defines as 1 and 0. */
#define APH_SHAPE_WITH_MACROS(...) APH_SHAPE(__VA_ARGS__)

/* A function that holes can use, in addition to "id". It must return a value for any argument. */
typedef struct aph_function {
    const char *name;
    aph_value (*apply)(aph_value v);
} aph_function;

#ifdef __cplusplus
}
#endif
#endif
