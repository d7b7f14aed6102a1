/* SPDX-License-Identifier: Apache-2.0
 *
 * error.h - error messages. */
#ifndef APHI_BASE_ERROR_H
#define APHI_BASE_ERROR_H

#include <stdbool.h>
#include <stddef.h>

/* Formats the message. Returns false. */
bool aphi_fail(char *error, size_t size, const char *format, ...) __attribute__((format(printf, 3, 4)));

#endif
