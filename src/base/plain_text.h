/* SPDX-License-Identifier: Apache-2.0
 *
 * plain_text.h - text for terminals and shells.
 *
 * Messages contain bytes of subjects, traces and file names; none of them may command a terminal. */
#ifndef APHI_BASE_PLAIN_TEXT_H
#define APHI_BASE_PLAIN_TEXT_H

#include "base/buffer.h"

#include <stdarg.h>

/* Returns true for control characters, line separators and direction marks. */
bool aphi_utf8_is_command(uint32_t point);
/* Append or print text with bytes that are not UTF-8 written as \xff, and characters that command a terminal as \x1b or
 * \u202e, except for newlines and tabs. */
void aphi_buffer_escaped(aphi_buffer *out, const char *format, ...) __attribute__((format(printf, 2, 3)));
void aphi_print(FILE *out, const char *format, ...) __attribute__((format(printf, 2, 3)));
void aphi_print_args(FILE *out, const char *format, va_list args);

/* Append a word of a shell command that a POSIX shell reads as the text. The first always quotes it. */
void aphi_quote(aphi_buffer *out, const char *text);
void aphi_quote_word(aphi_buffer *out, const char *text);

#endif
