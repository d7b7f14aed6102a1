/* SPDX-License-Identifier: Apache-2.0
 *
 * error.c - error messages; see error.h. */
#include "base/error.h"

#include <stdarg.h>
#include <stdio.h>

bool aphi_fail(char *error, size_t size, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(error, size, format, arguments);
    va_end(arguments);
    return false;
}
