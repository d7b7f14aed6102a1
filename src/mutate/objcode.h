/* SPDX-License-Identifier: Apache-2.0
 *
 * objcode.h - what a compiler made of a source, as far as it can be told when it runs. */
#ifndef APHI_MUTATE_OBJCODE_H
#define APHI_MUTATE_OBJCODE_H

#include "base/buffer.h"

#include <stdbool.h>
#include <stdint.h>

/* Of an ELF file, the sections that are there when it runs, without notes, among which is the build id; of an object
 * file also its symbols and relocations, but not those of debug information. Of any other file all. False: it cannot be
 * read. */
bool aphi_objcode_read(const char *path, aphi_buffer *out);
uint64_t aphi_objcode_hash(const aphi_buffer *code);

#endif
