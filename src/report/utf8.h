/* SPDX-License-Identifier: Apache-2.0
 *
 * utf8.h - escaping, measuring and cutting of UTF-8 text.
 *
 * A column is a code point; wide and combining characters are too rare in histories to justify a table of widths. A
 * byte that is not UTF-8 counts as one column. */
#ifndef APHI_REPORT_UTF8_H
#define APHI_REPORT_UTF8_H

#include "base/buffer.h"
#include "base/plain_text.h"

#include <stdbool.h>
#include <stdint.h>

size_t aphi_utf8_columns(const char *text);
/* Returns the length in bytes of the first `columns` columns. */
size_t aphi_utf8_head(const char *text, size_t columns);
/* Returns the length in bytes of the first line of n bytes of text wrapped at `columns`, preferably at a blank. */
size_t aphi_utf8_wrap(const char *text, size_t n, size_t columns);

/* Appends text that is safe on a terminal: control characters and bytes that are not UTF-8 become U+FFFD. Without
 * unicode, arrows and similar characters are transliterated ("->") and other non-ASCII characters become '?'. */
void aphi_utf8_clean(aphi_buffer *out, const char *text, bool unicode);
/* Appends text that is safe in HTML, SVG and their attributes: control characters and direction marks are written like
 * \u202e, bytes that are not UTF-8 like \xff, and newlines as `newline`. Stops after `limit` bytes or slightly more,
 * with an ellipsis. */
void aphi_utf8_html(aphi_buffer *out, const char *bytes, size_t n, size_t limit, const char *newline);

/* Append up to `columns` columns of clean text; in longer text an ellipsis replaces the end, or the middle. */
void aphi_utf8_cut(aphi_buffer *out, const char *text, size_t columns, bool unicode);
void aphi_utf8_cut_middle(aphi_buffer *out, const char *text, size_t columns, bool unicode);

#endif
