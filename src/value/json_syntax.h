/* SPDX-License-Identifier: Apache-2.0
 *
 * json_syntax.h - the grammar of JSON, without the limits of values. */
#ifndef APHI_VALUE_JSON_SYNTAX_H
#define APHI_VALUE_JSON_SYNTAX_H

#include <antiphon/value.h>

enum {
    APHI_MESSAGE_DEPTH = 256, /* levels of nesting in a message */
    APHI_JSON_DEPTH = 1024,   /* in other text, such as results, which contain messages */
};

/* Returns true if the text is one JSON value, of any depth and with any numbers. Otherwise, *at is the offset of the
 * first wrong byte. */
bool aphi_json_is_valid(const char *text, size_t n, size_t *at);
/* Moves *at past the number that starts there. Returns false at the first wrong byte. */
bool aphi_json_scan_number(const char *text, size_t n, size_t *at);

/* Like aph_json_read, for a message. *beyond: the text is JSON, but exceeds a limit of Antiphon, which *error names. */
bool aphi_json_read_message(const char *text, size_t n, aph_value *v, aph_json_error *error, bool *beyond);
/* The same. A number that is not an integer of 64 bits is read as {"number": TEXT}, where equal numbers have the same
 * text: 0.00125, 1.5e-7, 12.5, 1e21. */
bool aphi_json_read_with_numbers(const char *text, size_t n, aph_value *v, aph_json_error *error, bool *beyond);
/* Like aph_json_text. An object that stands for a number is written as this number. */
char *aphi_json_text_with_numbers(aph_value v, size_t *n);

#endif
