/* SPDX-License-Identifier: Apache-2.0
 *
 * difference.h - where a long message differs from the one that the model allows. */
#ifndef APHI_REPORT_DIFFERENCE_H
#define APHI_REPORT_DIFFERENCE_H

#include <antiphon/model.h>
#include "base/buffer.h"

/* If the texts of both messages, cut to `limit` bytes, are equal or have a long common beginning, appends the path of
 * the first member that differs, and the bytes around the first difference of two strings:
 *   first difference: body, byte 65535 (from 0): got "…cdef!0123…", expected "…cdef0123…"
 * Appends nothing otherwise, or if the messages differ only in unknowns. */
void aphi_difference(aphi_buffer *out, aph_value got, aph_value expected, aph_words *words, size_t limit);

#endif
