/* SPDX-License-Identifier: Apache-2.0
 *
 * pack.h - serialization of values outside the heap, for data that is kept but rarely read. */
#ifndef APHI_VALUE_PACK_H
#define APHI_VALUE_PACK_H

#include "base/buffer.h"

#include <antiphon/value.h>

/* Appends the value, which must not contain symbols. The bytes are valid in this process only. */
void aphi_pack(aphi_buffer *b, aph_value v);
/* Reads the packed value at *at, and moves *at past it. */
aph_value aphi_unpack(const char **at);

#endif
