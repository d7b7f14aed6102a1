/* SPDX-License-Identifier: Apache-2.0
 *
 * objcode.h - the parts of a compiled file that affect its behaviour at run time. */
#ifndef APHI_MUTATE_OBJCODE_H
#define APHI_MUTATE_OBJCODE_H

#include "base/buffer.h"

#include <stdbool.h>

/* Reads the loaded sections of an ELF file, except notes (one of which is the build id). From an object file, also
 * reads symbols and relocations, except those of debug information. From any other file, reads all bytes. Returns false
 * if the file cannot be read. */
bool aphi_objcode_read(const char *path, aphi_buffer *out);

#endif
