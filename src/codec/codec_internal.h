/* SPDX-License-Identifier: Apache-2.0
 *
 * codec_internal.h - what the harness needs of codecs beyond <antiphon/codec.h>: where bytes go, and messages in datagrams. */
#ifndef APHI_CODEC_CODEC_INTERNAL_H
#define APHI_CODEC_CODEC_INTERNAL_H

#include <antiphon/codec.h>

#include "base/buffer.h"

struct aph_sink {
    aphi_buffer *out;
    const char *here;
};

/* The most bytes that a message may have. */
size_t aphi_codec_limit(const aph_codec *codec);
/* Puts the message after what is in out. False, and out is as it was: it is no message of the protocol, or too long. A
 * codec that is NULL is that of JSON lines, here and in aph_decode. */
bool aphi_encode(const aph_codec *codec, aph_side side, aph_value message, aphi_buffer *out);
/* The same of a tester that can be called at this address. */
bool aphi_encode_at(const aph_codec *codec, const char *here, aph_side side, aph_value message, aphi_buffer *out);
/* A datagram is one message: all bytes of the wire, to its end, neither more nor less. Never APH_MORE. */
aph_decoded aphi_decode_datagram(const aph_codec *codec, aph_wire *wire);

#endif
