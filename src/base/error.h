/* SPDX-License-Identifier: Apache-2.0
 *
 * error.h - to say what the world did wrong. */
#ifndef APHI_BASE_ERROR_H
#define APHI_BASE_ERROR_H

#include <stdbool.h>
#include <stddef.h>

/* False, with a message. */
bool aphi_fail(char *error, size_t size, const char *format, ...) __attribute__((format(printf, 3, 4)));

#endif
