/* SPDX-License-Identifier: Apache-2.0
 *
 * expression.h - J-expressions: messages with holes that earlier messages fill. */
#ifndef APHI_SCRIPT_EXPRESSION_H
#define APHI_SCRIPT_EXPRESSION_H

#include <antiphon/generate.h>

/* Messages by label: the last ones of a run. Holds values; is a root by itself. */
typedef struct aphi_labelled aphi_labelled;

aphi_labelled *aphi_labelled_open(size_t capacity); /* remembers at least so many of the latest messages */
void aphi_labelled_close(aphi_labelled *l);
/* Of two messages with the same label the later counts. */
void aphi_labelled_add(aphi_labelled *l, int64_t label, aph_value message);
/* The i-th latest; false beyond. */
bool aphi_labelled_latest(const aphi_labelled *l, size_t i, int64_t *label, aph_value *message);
bool aphi_labelled_has(const aphi_labelled *l, int64_t label);
aph_value aphi_labelled_get(const aphi_labelled *l, int64_t label); /* APH_NIL if it is not there */

/* What lies at the path; where an array has not that element, or the element has not the rest of the path, the nearest
 * other one that has it serves. False if none has. */
bool aphi_path_find(aph_value message, aph_value path, aph_value *found);
/* Is it an array of strings and of integers that are not negative? */
bool aphi_path_is_path(aph_value v);

/* The message that the expression comes to. functions: beside "id"; NULL or ended by one without a name. A hole that
 * nothing fills comes to null. Never fails; does not collect. */
aph_value aphi_expression_fill(aph_value expression, const aphi_labelled *seen, const aph_function *functions);
bool aphi_expression_is_hole(aph_value v);
/* Can it be sent: nothing symbolic, and every hole well-formed? On failure says what is wrong. */
bool aphi_expression_is_sound(aph_value expression, char *error, size_t error_size);
/* The same, and every function is known. */
bool aphi_expression_check(aph_value expression, const aph_function *functions, char *error, size_t error_size);
/* The label of the newest message that the expression refers to; 0 if it has no hole. */
int64_t aphi_expression_newest(aph_value expression);

#endif
