/* SPDX-License-Identifier: Apache-2.0
 *
 * generate.h - what to send next: expressions that refer to what was seen.
 *
 * A generator returns a J-expression: a message with holes. A hole names an earlier message by its label, a path into
 * it and a function; it is filled when the message is sent. A run of a server that answers differently fills it
 * differently, so a run can be cut down and had again. Requests are labelled 1, 3, 5, ..., the answer to request n is
 * n + 1.
 *
 * As JSON a hole is {"$": [LABEL, PATH, "function"]}; PATH is an array of field names and of indices from 0.
 * Where the message is missing, or has not that path, any other element, then any other message that has it serves.
 */
#ifndef ANTIPHON_GENERATE_H
#define ANTIPHON_GENERATE_H

#include <antiphon/value.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct aph_gen aph_gen; /* one call of a generator: chance, and what is known by now */

/* ---- chance ------------------------------------------------------------------------------------------------------ */

uint64_t aph_gen_below(aph_gen *g, uint64_t n);         /* 0 .. n-1, evenly; n > 0 */
/* aph_gen_weighted(g, 90, 10): 0 nine times in ten, else 1. */
#define aph_gen_weighted(g, ...) \
    aph_gen_weighted_(g, sizeof((const unsigned[]){__VA_ARGS__}) / sizeof(unsigned), (const unsigned[]){__VA_ARGS__})
size_t aph_gen_weighted_(aph_gen *g, size_t n, const unsigned *weights);
/* One of the values given. Where a request is wanted that has to do with an earlier one, mostly one that is in a field
 * of it, if there is one: use it for keys and the like. */
#define aph_gen_oneof(g, ...) \
    aph_gen_oneof_(g, sizeof((aph_value[]){__VA_ARGS__}) / sizeof(aph_value), (aph_value[]){__VA_ARGS__})
aph_value aph_gen_oneof_(aph_gen *g, size_t n, const aph_value *values);

/* ---- what is known ----------------------------------------------------------------------------------------------- */

/* The model's state in an explanation that is alive; may hold symbols. APH_NIL if it is not known. */
aph_value aph_gen_state(aph_gen *g);
/* The i-th latest labelled message, from 0; false beyond those that are remembered (at least the last 256). */
bool aph_gen_seen(aph_gen *g, size_t i, int64_t *label, aph_value *message);
int64_t aph_gen_connection(aph_gen *g);                 /* on which it will be sent */
size_t aph_gen_connections(aph_gen *g);                 /* how many there are */
/* An earlier request that this one had better have to do with; APH_NIL: none. */
aph_value aph_gen_wish(aph_gen *g);
uint64_t aph_gen_number(aph_gen *g);                    /* of this request in the run, from 0: for values of its own */

/* ---- holes ------------------------------------------------------------------------------------------------------- */

/* aph_hole(4, APH_ARRAY_OF(aph_str("tag")), "id") */
aph_value aph_hole(int64_t label, aph_value path, const char *function);
/* A hole for some answer, latest ones more likely, that has something at that path; APH_NIL if none has. */
aph_value aph_gen_hole(aph_gen *g, aph_value path, const char *function);

/* A shape (aph_model.shape) without the quoting: APH_SHAPE([{"f": "get", "key": {"one of": ["a", "b"]}}]) */
#define APH_SHAPE(...) #__VA_ARGS__

/* A function for holes, beside "id". Of what it was not made for it makes what it likes. */
typedef struct aph_function {
    const char *name;
    aph_value (*apply)(aph_value v);
} aph_function;

#ifdef __cplusplus
}
#endif
#endif
