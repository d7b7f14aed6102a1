/* SPDX-License-Identifier: Apache-2.0
 *
 * shape.h - requests described as JSON with the places that vary (docs/writing-models.md). */
#ifndef APHI_GENERATE_SHAPE_H
#define APHI_GENERATE_SHAPE_H

#include <antiphon/generate.h>

typedef struct aphi_request_shape aphi_request_shape;

/* functions: as in a model; seed: where fresh strings begin. Holds values; is a root by itself. NULL with a message:
 * what is wrong, and where. */
aphi_request_shape *aphi_request_shape_open(const char *text, const aph_function *functions, uint64_t seed, char *error,
                                            size_t error_size);
void aphi_request_shape_close(aphi_request_shape *s);
/* A request: a J-expression. Its choices are drawn from the generator's taste. */
aph_value aphi_request_shape_draw(aphi_request_shape *s, aph_gen *g);

#endif
