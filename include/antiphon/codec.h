/* SPDX-License-Identifier: Apache-2.0
 *
 * codec.h - messages as bytes on a connection, and back.
 *
 * A codec is strict: what the protocol does not allow is APH_MALFORMED, with the reason, never repaired. It is given
 * all bytes that have arrived and were not taken yet, as often as there are more, and takes one message at a time.
 * docs/codecs.md shows how to write one.
 */
#ifndef ANTIPHON_CODEC_H
#define ANTIPHON_CODEC_H

#include <antiphon/value.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum aph_side {
    APH_TO_SERVER,   /* requests */
    APH_FROM_SERVER, /* answers */
} aph_side;

typedef enum aph_decoded {
    APH_DECODED,   /* message and used are set */
    APH_MORE,      /* the bytes so far are the beginning of a message */
    APH_MALFORMED, /* they are not: at and why are set */
} aph_decoded;

/* What has arrived on a connection. */
typedef struct aph_wire {
    aph_side side;
    const unsigned char *bytes; /* that were not taken yet */
    size_t count;
    bool ended;                 /* no more will come */
    aph_value asked;            /* APH_FROM_SERVER: the oldest request without an answer; APH_NIL if there is none */
    const char *here;           /* HOST:PORT at which the tester listens for calls; NULL if it does not */
    size_t scanned;             /* for the codec: 0 at the beginning of a message, then as decode left it */
    /* what decode says */
    size_t used;                /* bytes that the message took; at least 1 */
    aph_value message;
    bool last;                  /* the sender says that nothing follows on this connection */
    size_t at;                  /* the first byte that is wrong */
    bool beyond;                /* what is wrong is only that it is longer than is read here: nobody is to blame */
    char why[160];
} aph_wire;

typedef struct aph_sink aph_sink; /* where encoded bytes go */
void aph_sink_put(aph_sink *out, const void *bytes, size_t n);
/* HOST:PORT at which the tester listens for calls; NULL if it does not: for messages that tell the subject whom to
 * call. Values are without it, so that a script means the same wherever it is run. */
const char *aph_sink_here(const aph_sink *out);

typedef struct aph_codec {
    const char *name;
    size_t size;   /* what the kind of codec makes of it */
    size_t limit;  /* a message of more bytes is malformed; 0: beyond 16 MiB is not read */
    aph_decoded (*decode)(const struct aph_codec *codec, aph_wire *wire);
    /* False: this is not a message of the protocol; nothing was put. */
    bool (*encode)(const struct aph_codec *codec, aph_side side, aph_value message, aph_sink *out);
} aph_codec;

/* decode with the limit in force, and with the promises of aph_wire checked. The end in the middle of a message is
 * APH_MALFORMED; without bytes it is APH_MORE, ended or not. After APH_MORE, call it again with the same bytes and
 * those that came since, scanned untouched; after APH_DECODED, with what follows the bytes used.
 * NULL: aph_codec_json. */
aph_decoded aph_decode(const aph_codec *codec, aph_wire *wire);
/* The bytes of a message, as a string. False: it is no message of the protocol, or too long. NULL: aph_codec_json. */
bool aph_encode(const aph_codec *codec, aph_side side, aph_value message, aph_value *bytes);

/* One JSON value a line. What a model without a codec speaks. */
extern const aph_codec aph_codec_json;
/* A string a line, ended by \n; a \r before it belongs to the end. */
extern const aph_codec aph_codec_lines;
/* Strings of exactly n bytes; strings after a length of n bytes, most significant first:
 *     static const aph_codec codec = APH_CODEC_FIXED(3); */
#define APH_CODEC_FIXED(n) {.name = "fixed", .size = (n), .decode = aph_decode_fixed, .encode = aph_encode_fixed}
#define APH_CODEC_PREFIXED(n) \
    {.name = "prefixed", .size = (n), .decode = aph_decode_prefixed, .encode = aph_encode_prefixed}
aph_decoded aph_decode_fixed(const aph_codec *codec, aph_wire *wire);
bool aph_encode_fixed(const aph_codec *codec, aph_side side, aph_value message, aph_sink *out);
aph_decoded aph_decode_prefixed(const aph_codec *codec, aph_wire *wire);
bool aph_encode_prefixed(const aph_codec *codec, aph_side side, aph_value message, aph_sink *out);

#ifdef __cplusplus
}
#endif
#endif
