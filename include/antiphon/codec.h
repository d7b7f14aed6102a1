/* SPDX-License-Identifier: Apache-2.0
 *
 * codec.h - encoding and decoding of messages.
 *
 * A codec is strict: it rejects bytes that the protocol forbids, with a reason, and never repairs them. It is called
 * with all bytes that have arrived and are not yet decoded, and decodes one message per call. docs/writing-models.md
 * shows how to write one.
 */
#ifndef ANTIPHON_CODEC_H
#define ANTIPHON_CODEC_H

#include <antiphon/value.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum aph_side {
    APH_TO_SERVER,   /* requests */
    APH_FROM_SERVER, /* responses */
} aph_side;

typedef enum aph_decoded {
    APH_DECODED,   /* message and used are set */
    APH_MORE,      /* the bytes are an incomplete message */
    APH_MALFORMED, /* the bytes are not a message: at and why are set */
} aph_decoded;

/* The bytes that arrived on a connection, and the result of decoding them. */
typedef struct aph_wire {
    aph_side side;
    const unsigned char *bytes; /* not yet decoded */
    size_t count;
    bool ended;                 /* the sender has closed its side */
    aph_value asked;            /* APH_FROM_SERVER: the oldest pending request; APH_NIL if there is none */
    const char *here;           /* HOST:PORT at which the tester accepts connections; NULL if it does not */
    size_t scanned;             /* for the codec: 0 at the start of a message, then as decode left it */
    /* set by decode */
    size_t used;                /* bytes of the message; at least 1 */
    aph_value message;
    bool last;                  /* the message announces that nothing follows on this connection */
    size_t at;                  /* offset of the first wrong byte */
    bool beyond;                /* the message may be valid, but exceeds the size limit of Antiphon */
    char why[160];              /* the reason */
} aph_wire;

typedef struct aph_sink aph_sink; /* receives encoded bytes */
void aph_sink_put(aph_sink *out, const void *bytes, size_t n);
/* Returns HOST:PORT at which the tester accepts connections, or NULL if it does not, for messages that name it to the
 * subject. Messages as values do not contain it, so that a script can be replayed on another port. */
const char *aph_sink_here(const aph_sink *out);

typedef struct aph_codec {
    const char *name;
    size_t size;   /* parameter of the codec */
    size_t limit;  /* bytes of the longest message; longer ones are malformed. 0: longer than 16 MiB is not read */
    aph_decoded (*decode)(const struct aph_codec *codec, aph_wire *wire);
    /* Returns false, and puts nothing, if the value is not a message of the protocol. */
    bool (*encode)(const struct aph_codec *codec, aph_side side, aph_value message, aph_sink *out);
} aph_codec;

/* Calls decode, enforces the limit, and checks that decode sets aph_wire as specified. An end inside a message is
 * APH_MALFORMED; without bytes the result is APH_MORE, ended or not. After APH_MORE, call it again with the same bytes
 * plus the new ones and with `scanned` unchanged; after APH_DECODED, with the bytes after those used.
 * A NULL codec is aph_codec_json. */
aph_decoded aph_decode(const aph_codec *codec, aph_wire *wire);
/* Returns false if the value is not a message of the protocol, or too long. A NULL codec is aph_codec_json. */
bool aph_encode(const aph_codec *codec, aph_side side, aph_value message, aph_value *bytes);

/* One JSON value per line: the codec of a model without one. */
extern const aph_codec aph_codec_json;
/* One string per line, ended by \n or \r\n. */
extern const aph_codec aph_codec_lines;
/* Strings of exactly n bytes; strings after a big-endian length of n bytes:
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
