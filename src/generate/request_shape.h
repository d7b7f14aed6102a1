/* SPDX-License-Identifier: Apache-2.0
 *
 * request_shape.h - requests described by JSON with variable parts (docs/writing-models.md). */
#ifndef APHI_GENERATE_REQUEST_SHAPE_H
#define APHI_GENERATE_REQUEST_SHAPE_H

#include <antiphon/generate.h>

typedef struct aphi_request_shape aphi_request_shape;

/* functions: as in a model; seed: for fresh strings. The values of the shape are kept alive. Returns NULL with a
 * message if the text is invalid. */
aphi_request_shape *aphi_request_shape_open(const char *text, const aph_function *functions, uint64_t seed, char *error,
                                            size_t error_size);
void aphi_request_shape_close(aphi_request_shape *s);
/* Returns a request, a J-expression. Choices use the weights of the generator. */
aph_value aphi_request_shape_draw(aphi_request_shape *s, aph_gen *g);

#endif
