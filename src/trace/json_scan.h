/* SPDX-License-Identifier: Apache-2.0
 *
 * json_scan.h - a scanner that finds members of JSON text without building values.
 *
 * The lines of a trace have many members that are not used: times, labels, indices, fractions. The scanner checks that
 * the text is JSON and returns the wanted members as slices; only those are converted with aph_json_read.
 */
#ifndef APHI_TRACE_JSON_SCAN_H
#define APHI_TRACE_JSON_SCAN_H

#include "trace/byte_source.h"

void aphi_json_blank(aphi_cursor *c);
/* Moves past one value. With `integers`, a number that is not a 64-bit integer is reported as a separate fault. */
bool aphi_json_skip(aphi_cursor *c, bool integers);
/* Moves past one object and sets slices[i] to the text of the member names[i]; slices of absent members are
 * unchanged. */
bool aphi_json_members(aphi_cursor *c, const char *const *names, aphi_slice *slices, size_t count);
/* Converts a scanned slice to a value. */
bool aphi_json_build(aphi_cursor *c, aphi_slice s, aph_value *v);

#endif
