/* SPDX-License-Identifier: Apache-2.0
 *
 * message_text.h - messages as readable text.
 *
 * The format is JSON with short symbols (?0) and infix terms. Control characters and direction marks are escaped as
 * \u001b, bytes that are not UTF-8 as \xff. The text is always one line of valid UTF-8, for any input. */
#ifndef APHI_REPORT_MESSAGE_TEXT_H
#define APHI_REPORT_MESSAGE_TEXT_H

#include <antiphon/model.h>
#include "base/buffer.h"

#define APHI_MESSAGE_WHOLE SIZE_MAX

/* Each function stops shortly after `limit` bytes and appends an ellipsis; its cost is bounded by the limit. */
void aphi_message_json(aphi_buffer *out, aph_value v, size_t limit);
/* Appends a request or response as the model's `words` format it; NULL: in short form, such as write 3, get "a". */
void aphi_message_words(aphi_buffer *out, aph_value v, aph_words *words, size_t limit);
/* Like aphi_message_json, but a string has no quotes. */
void aphi_message_plain(aphi_buffer *out, aph_value v, size_t limit);
/* Appends the conditions on the unknowns of an explanation, an array. */
void aphi_message_given(aphi_buffer *out, aph_value given, size_t limit);

/* A note to print once if the text contains an unknown. */
#define APHI_MESSAGE_UNKNOWNS "?0, ?1, ... stand for any values that the server may choose"
bool aphi_message_has_unknown(aph_value v);

/* Appends "at origin N: " if a response that the model allows is that of another origin. */
void aphi_message_origin(aphi_buffer *out, aph_value allowed);

#endif
