/* SPDX-License-Identifier: Apache-2.0
 *
 * codec_internal.h - codecs for the tester and the server: limits, encoding into buffers, datagrams. */
#ifndef APHI_CODEC_CODEC_INTERNAL_H
#define APHI_CODEC_CODEC_INTERNAL_H

#include <antiphon/codec.h>

#include "base/buffer.h"

enum { APHI_ENCODE_WHY = 200 };

struct aph_sink {
    aphi_buffer *out;
    const char *const *origins; /* as in aph_wire */
    char *why;                  /* the reason of a rejection, of APHI_ENCODE_WHY bytes; NULL: not wanted */
};

/* Appends the message to out. Returns false, without changing out, if it is not a valid protocol message or is too
 * long. A NULL codec means JSON lines. origins: as in aph_wire. */
bool aphi_encode_at(const aph_codec *codec, const char *const *origins, aph_side side, aph_value message,
                    aphi_buffer *out);
/* The same. If it returns false, `why` has the reason, or is empty. */
bool aphi_encode_why(const aph_codec *codec, const char *const *origins, aph_side side, aph_value message,
                     aphi_buffer *out, char why[APHI_ENCODE_WHY]);
/* Like aph_encode. If it returns false, `why` has the reason, or is empty; NULL: not wanted. */
bool aphi_encode_value(const aph_codec *codec, aph_side side, aph_value message, aph_value *bytes,
                       char why[APHI_ENCODE_WHY]);
/* Writes to `text` a message that the codec cannot encode, shortened, and the reason, which may be empty:
 * "{...}: REASON". */
void aphi_encode_describe(char *text, size_t size, const char *why, aph_value message);
/* The kind of a value in a message: "a string". */
const char *aphi_codec_kind(aph_value v);
/* Returns true if JSON can contain the value: it has no symbols, no terms, no signals, and at most `levels` levels of
 * nesting. */
bool aphi_codec_is_data(aph_value v, unsigned levels);
/* Read and write JSON as the codec does (aph_codec.numbers). */
bool aphi_codec_read_json(const aph_codec *codec, const char *text, size_t n, aph_value *v, aph_json_error *error,
                          bool *beyond);
char *aphi_codec_json_text(const aph_codec *codec, aph_value v, size_t *n);
/* For encoders: rejects a value that is not such data, nested at most `levels` deep. member: its path and ": ", or
 * "". */
bool aphi_codec_require_data(aph_sink *out, const char *member, aph_value v, unsigned levels);
/* For encoders: rejects a value that is not a string. */
bool aphi_codec_require_string(aph_sink *out, aph_value v);
/* Decodes a datagram, which must be exactly one message. Never returns APH_MORE. */
aph_decoded aphi_decode_datagram(const aph_codec *codec, aph_wire *wire);

#endif
