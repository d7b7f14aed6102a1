/* SPDX-License-Identifier: Apache-2.0
 *
 * check_result.h - construction of results, and their transport between processes. */
#ifndef APHI_CHECK_CHECK_RESULT_H
#define APHI_CHECK_CHECK_RESULT_H

#include <antiphon/check.h>

/* Returns a pass with counts of 0. model may be NULL. The caller frees it with aph_check_result_free. */
aph_check_result *aphi_check_result_make(const char *file, const char *model);
void aphi_check_result_error(aph_check_result *r, aph_check_error error, const char *message);

/* Convert a result to a value that can be written as JSON, and back. unpack returns NULL if the value is not a packed
 * result. */
aph_value aphi_check_result_pack(const aph_check_result *r);
aph_check_result *aphi_check_result_unpack(aph_value packed);

#endif
