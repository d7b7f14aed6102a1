/* SPDX-License-Identifier: Apache-2.0
 *
 * codec_internal.h - codecs for the tester and the server: limits, encoding into buffers, datagrams. */
#ifndef APHI_CODEC_CODEC_INTERNAL_H
#define APHI_CODEC_CODEC_INTERNAL_H

#include <antiphon/codec.h>

#include "base/buffer.h"

struct aph_sink {
    aphi_buffer *out;
    const char *const *origins; /* as in aph_wire */
};

/* Appends the message to out. Returns false, without changing out, if it is not a valid protocol message or is too
 * long. A NULL codec means JSON lines. origins: as in aph_wire. */
bool aphi_encode_at(const aph_codec *codec, const char *const *origins, aph_side side, aph_value message,
                    aphi_buffer *out);
/* Returns true if JSON can contain the value: it has no symbols, no terms, no signals, and at most `levels` levels of
 * nesting. */
bool aphi_codec_is_data(aph_value v, unsigned levels);
/* Decodes a datagram, which must be exactly one message. Never returns APH_MORE. */
aph_decoded aphi_decode_datagram(const aph_codec *codec, aph_wire *wire);

#endif
