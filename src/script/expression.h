/* SPDX-License-Identifier: Apache-2.0
 *
 * expression.h - J-expressions: messages with holes that earlier messages fill. */
#ifndef APHI_SCRIPT_EXPRESSION_H
#define APHI_SCRIPT_EXPRESSION_H

#include <antiphon/generate.h>

/* The latest messages of a run, by label. Their values are kept alive. */
typedef struct aphi_labelled aphi_labelled;

aphi_labelled *aphi_labelled_open(size_t capacity); /* keeps at least this number of the latest messages */
void aphi_labelled_close(aphi_labelled *l);
/* A later message with the same label replaces the earlier one. */
void aphi_labelled_add(aphi_labelled *l, int64_t label, aph_value message);
/* Gets the i-th latest message, from 0. Returns false if there are fewer. */
bool aphi_labelled_latest(const aphi_labelled *l, size_t i, int64_t *label, aph_value *message);
const aph_value *aphi_labelled_find(const aphi_labelled *l, int64_t label); /* NULL if it is absent */

/* Finds the value at the path. If an array element is missing or lacks the rest of the path, the nearest element that
 * has it is used. Returns false if there is no value. */
bool aphi_path_find(aph_value message, aph_value path, aph_value *found);
/* Returns true for an array of strings and non-negative integers. */
bool aphi_path_is_path(aph_value v);

/* Returns NULL for "id" and for unknown functions. */
const aph_function *aphi_function_named(const aph_function *functions, aph_value name);
/* Evaluates the expression to a message. functions: the functions besides "id", ended by one without a name; may be
 * NULL. A hole that cannot be filled becomes null. Never fails; does not collect. */
aph_value aphi_expression_fill(aph_value expression, const aphi_labelled *seen, const aph_function *functions);
bool aphi_expression_is_hole(aph_value v);
/* Returns false with a message if the expression has symbols or malformed holes. */
bool aphi_expression_is_sound(aph_value expression, char *error, size_t error_size);
/* Returns false with a message if the expression uses an unknown function. */
bool aphi_expression_check(aph_value expression, const aph_function *functions, char *error, size_t error_size);
/* Returns the label of the newest message that the expression refers to; 0 if it has no hole. */
int64_t aphi_expression_newest(aph_value expression);

#endif
