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
    APH_MORE,      /* the bytes are the beginning of a message */
    APH_MALFORMED, /* the bytes are not a valid message; at and why are set */
} aph_decoded;

/* The bytes that arrived on a connection, and the result of decoding them. */
typedef struct aph_wire {
    aph_side side;
    const unsigned char *bytes; /* not yet decoded */
    size_t count;
    bool ended;                 /* the sender has closed its side */
    aph_value asked;            /* APH_FROM_SERVER: the oldest pending request; APH_NIL if there is none */
    const char *here;           /* HOST:PORT of origin 0 (model.h); NULL if the tester accepts no connections */
    size_t scanned;             /* for the codec: 0 at the start of a message, then preserved between calls */
    /* set by decode */
    size_t used;                /* length of the message in bytes; at least 1 */
    aph_value message;
    bool last;                  /* the message announces that it is the last one on this connection */
    size_t at;                  /* offset of the first wrong byte */
    bool beyond;                /* the message may be valid, but exceeds a limit of Antiphon, which `why` names */
    char why[160];              /* the reason */
    const char *const *origins; /* HOST:PORT of each origin, then NULL; NULL if there are none. Not set by decode */
    int64_t origin;             /* of a connection that the subject opened. Not set by decode */
} aph_wire;

typedef struct aph_sink aph_sink; /* receives encoded bytes */
void aph_sink_put(aph_sink *out, const void *bytes, size_t n);
/* Returns the HOST:PORT at which the tester accepts connections for an origin (model.h), or NULL if there is no such
 * origin, for messages that pass this address to the subject. Message values contain the number of an origin and never
 * its address, so a script can be replayed on other ports. */
const char *aph_sink_origin(const aph_sink *out, size_t origin);
const char *aph_sink_here(const aph_sink *out); /* the same for origin 0 */
/* For an encoder that rejects a message: gives the reason, with the path of the wrong member, such as "headers.ETag: a
 * name must be in lower case". The first reason counts. Returns false. */
bool aph_sink_refuse(aph_sink *out, const char *format, ...) __attribute__((format(printf, 2, 3)));

typedef struct aph_codec {
    const char *name;
    size_t size;   /* a parameter, such as the length of a message */
    size_t limit;  /* longest message in bytes; longer ones are malformed. 0: only Antiphon's limit, 16 MiB */
    aph_decoded (*decode)(const struct aph_codec *codec, aph_wire *wire);
    /* Returns false and writes nothing if the value is not a valid protocol message; aph_sink_refuse gives the
     * reason. */
    bool (*encode)(const struct aph_codec *codec, aph_side side, aph_value message, aph_sink *out);
    const void *data; /* a parameter, such as the headers that a codec of HTTP keeps */
    /* For codecs of JSON: a number that is not an integer of 64 bits is read as {"number": "1.5"} and written as the
     * number 1.5. Equal numbers have equal texts; docs/writing-models.md describes them. */
    bool numbers;
} aph_codec;

/* Calls decode, enforces the limit, and checks that decode sets aph_wire as specified. Returns APH_MALFORMED if the
 * connection ended inside a message, and APH_MORE if there are no bytes, even if the connection ended. After APH_MORE,
 * call it again with the same bytes plus the new ones and with `scanned` unchanged. After APH_DECODED, call it with the
 * bytes that follow the message. A NULL codec is aph_codec_json. */
aph_decoded aph_decode(const aph_codec *codec, aph_wire *wire);
/* Returns false if the value is not a valid protocol message or is too long. A NULL codec is aph_codec_json. */
bool aph_encode(const aph_codec *codec, aph_side side, aph_value message, aph_value *bytes);
/* Returns true if the message is the same after it was encoded and decoded. Otherwise writes to `why`, of `size` bytes:
 * "cannot encode it: REASON", "rejects its bytes: REASON", or "reads it as VALUE". request: the request to which the
 * message is the response, or APH_NIL. */
bool aph_reads_back(const aph_codec *codec, aph_side side, aph_value request, aph_value message, char *why,
                    size_t size);

/* One JSON value per line; the default codec of a model. */
extern const aph_codec aph_codec_json;
/* One string per line, ended by \n or \r\n. */
extern const aph_codec aph_codec_lines;
/* One string per line, ended by \r\n; a \r or \n alone is malformed. */
extern const aph_codec aph_codec_crlf;
/* FIXED: strings of exactly n bytes. PREFIXED: strings preceded by their length, an integer of n bytes from 1 to 8, the
 * most significant byte first. PREFIXED_JSON: JSON texts preceded by their length. LITTLE: the least significant byte
 * of the length comes first. JSON: as aph_codec_json. In all but FIXED, other members of the codec may follow:
 *     static const aph_codec codec = APH_CODEC_FIXED(3);
 *     static const aph_codec codec = APH_CODEC_PREFIXED_JSON(4, .limit = 65536, .numbers = true);
 *     static const aph_codec codec = APH_CODEC_JSON(.numbers = true); */
#define APH_CODEC_FIXED(n) {.name = "fixed", .size = (n), .decode = aph_decode_fixed, .encode = aph_encode_fixed}
aph_decoded aph_decode_fixed(const aph_codec *codec, aph_wire *wire);
bool aph_encode_fixed(const aph_codec *codec, aph_side side, aph_value message, aph_sink *out);
#define APH_CODEC_JSON(...) {.name = "json", .decode = aph_decode_json, .encode = aph_encode_json, __VA_ARGS__}
aph_decoded aph_decode_json(const aph_codec *codec, aph_wire *wire);
bool aph_encode_json(const aph_codec *codec, aph_side side, aph_value message, aph_sink *out);
#define APH_CODEC_PREFIXED(...) \
    {.name = "prefixed", .decode = aph_decode_prefixed, .encode = aph_encode_prefixed, .size = __VA_ARGS__}
aph_decoded aph_decode_prefixed(const aph_codec *codec, aph_wire *wire);
bool aph_encode_prefixed(const aph_codec *codec, aph_side side, aph_value message, aph_sink *out);
#define APH_CODEC_PREFIXED_LITTLE(...) \
    {.name = "prefixed", .decode = aph_decode_prefixed_little, .encode = aph_encode_prefixed_little, \
     .size = __VA_ARGS__}
aph_decoded aph_decode_prefixed_little(const aph_codec *codec, aph_wire *wire);
bool aph_encode_prefixed_little(const aph_codec *codec, aph_side side, aph_value message, aph_sink *out);
#define APH_CODEC_PREFIXED_JSON(...) \
    {.name = "prefixed-json", .decode = aph_decode_prefixed_json, .encode = aph_encode_prefixed_json, \
     .size = __VA_ARGS__}
aph_decoded aph_decode_prefixed_json(const aph_codec *codec, aph_wire *wire);
bool aph_encode_prefixed_json(const aph_codec *codec, aph_side side, aph_value message, aph_sink *out);
#define APH_CODEC_PREFIXED_JSON_LITTLE(...) \
    {.name = "prefixed-json", .decode = aph_decode_prefixed_json_little, .encode = aph_encode_prefixed_json_little, \
     .size = __VA_ARGS__}
aph_decoded aph_decode_prefixed_json_little(const aph_codec *codec, aph_wire *wire);
bool aph_encode_prefixed_json_little(const aph_codec *codec, aph_side side, aph_value message, aph_sink *out);

#ifdef __cplusplus
}
#endif
#endif
