/* SPDX-License-Identifier: Apache-2.0
 *
 * message_text.h - a message as people read it.
 *
 * JSON, but symbols are short (?0) and terms are infix. What a terminal or a page would obey or could not show is
 * spelt: control characters and those that turn the direction of writing as \u001b, bytes that are not UTF-8 as \xff.
 * So the text is always valid UTF-8 in one line, whatever a server sent. */
#ifndef APHI_REPORT_MESSAGE_TEXT_H
#define APHI_REPORT_MESSAGE_TEXT_H

#include <antiphon/model.h>
#include "base/buffer.h"

#define APHI_MESSAGE_WHOLE SIZE_MAX

/* Each stops a little after `limit` bytes, with an ellipsis, and takes no longer for larger values. */
void aphi_message_json(aphi_buffer *out, aph_value v, size_t limit);
/* A request or an answer in the model's words, or, if it has none (NULL), in a few: write 3, get "a", {"code":200}. */
void aphi_message_words(aphi_buffer *out, aph_value v, aph_words *words, size_t limit);
/* n bytes that may be anything, without quotes. */
void aphi_message_bytes(aphi_buffer *out, const char *bytes, size_t n, size_t limit);
/* What is known of the unknowns of an explanation, an array of conditions. */
void aphi_message_given(aphi_buffer *out, aph_value given, size_t limit);

/* To be said once, if there is an unknown in what is shown. */
#define APHI_MESSAGE_UNKNOWNS "?0, ?1, ... stand for any values that the server may choose"
bool aphi_message_has_unknown(aph_value v);

#endif
