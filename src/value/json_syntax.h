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

#endif
