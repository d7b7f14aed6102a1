/* SPDX-License-Identifier: Apache-2.0
 *
 * pack.h - values as bytes, outside of the heap: for much that is kept and hardly ever looked at. */
#ifndef APHI_VALUE_PACK_H
#define APHI_VALUE_PACK_H

#include "base/buffer.h"

#include <antiphon/value.h>

/* Appends the value, which has no unknowns, to the bytes. They mean something in this process only. */
void aphi_pack(aphi_buffer *b, aph_value v);
/* The value that was packed there; *at moves on behind it. */
aph_value aphi_unpack(const char **at);

#endif
