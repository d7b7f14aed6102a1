/* SPDX-License-Identifier: Apache-2.0
 *
 * utf8.h - text that is to be shown: made safe, measured and cut.
 *
 * A column is a code point: wide and combining characters are rare in histories, and a table of them would be larger
 * than the harm. Bytes that are not UTF-8 count as a column each.
 */
#ifndef APHI_REPORT_UTF8_H
#define APHI_REPORT_UTF8_H

#include "base/buffer.h"

#include <stdbool.h>
#include <stdint.h>

/* The code point at the head of n > 0 bytes, and how many bytes it takes; 0 if they are not UTF-8 (overlong forms and
 * surrogates are not). */
size_t aphi_utf8_next(const char *bytes, size_t n, uint32_t *point);
void aphi_utf8_add(aphi_buffer *out, uint32_t point);
size_t aphi_utf8_columns(const char *text);

/* Would whoever shows it obey it, or show nothing? Control characters, separators of lines, what turns the direction of
 * writing. */
bool aphi_utf8_is_command(uint32_t point);

/* Text that no terminal obeys: control characters and bytes that are not UTF-8 become U+FFFD, or '?' where only ASCII
 * may be shown; there, arrows and the like are spelt ("->"), and what else is not ASCII becomes '?'. */
void aphi_utf8_clean(aphi_buffer *out, const char *text, bool unicode);

/* At most `columns` of clean text; if that is too little, an ellipsis stands for its end, or for its middle. */
void aphi_utf8_cut(aphi_buffer *out, const char *text, size_t columns, bool unicode);
void aphi_utf8_cut_middle(aphi_buffer *out, const char *text, size_t columns, bool unicode);

#endif
