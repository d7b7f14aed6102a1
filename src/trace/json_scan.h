/* SPDX-License-Identifier: Apache-2.0
 *
 * json_scan.h - find the parts of JSON text without making values of them.
 *
 * A trace's lines hold much that nobody asks for: times, labels, indices, numbers with fractions. The scanner checks
 * that text is JSON and gives the members that were asked for as slices; only those are read with aph_json_read.
 */
#ifndef APHI_JSONSCAN_H
#define APHI_JSONSCAN_H

#include "trace/source.h"

void aphi_json_blank(aphi_cursor *c);
/* Moves behind one value. With integers set, a number that is no 64-bit integer fails, with its own fault. */
bool aphi_json_skip(aphi_cursor *c, bool integers);
/* Moves behind one object and sets slices[i] to the text of the member names[i]; absent ones are left as they are. */
bool aphi_json_members(aphi_cursor *c, const char *const *names, aphi_slice *slices, size_t count);
/* Makes a value of a slice that was scanned before. */
bool aphi_json_build(aphi_cursor *c, aphi_slice s, aph_value *v);

#endif
