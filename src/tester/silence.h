/* SPDX-License-Identifier: Apache-2.0
 *
 * silence.h - the time for which a subject has sent nothing, corrected for the load of the machine.
 *
 * A turn of the run loop counts for at most APHI_TICK_NS, however long the machine delayed it. While no processor is
 * idle, the subject may be waiting for one: then only a fraction of the time counts. A subject that sends parts of
 * messages, or opens connections to the tester, is not silent, but must eventually send a complete message.
 *
 * Unless the patience is fixed, a silence is suspicious after the patience, and too long after a limit that is several
 * seconds and a multiple of the longest silence that has ended: a pause must not be mistaken for a lost response. */
#ifndef APHI_TESTER_SILENCE_H
#define APHI_TESTER_SILENCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define APHI_TICK_NS INT64_C(10000000) /* the longest wait of a turn of the run loop */
#define APHI_SILENCE_BRIEF INT64_C(200000000) /* the least silence that is recorded */
#define APHI_IDLE_NS INT64_C(1000000)  /* the connections are idle after this silence if no request is outstanding */

enum { APHI_LATENCIES = 16 };

typedef struct aphi_silence {
    bool paired, lossy;         /* as in aphi_run_mode */
    bool is_fixed;              /* the patience is the limit */
    int64_t patience_ns;
    int64_t (*idle_clock)(void); /* idle time of all processors, in ns; negative if unknown */
    int64_t silent_ns;          /* without a byte, as counted */
    int64_t no_message_ns;      /* without a complete message on the tester's connections, while one is outstanding */
    bool got_message;           /* there was such a message in this turn */
    int64_t idle_ns, idle_since; /* idle_clock at some time of this silence, and that time; 0: it is still too short */
    int64_t longest_ns;         /* the longest silence that ended while a response was awaited */
    int64_t seen_ns;            /* the same in earlier runs */
    bool is_brief;              /* a brief silence is recorded, not only one that is too long */
    int64_t latencies[APHI_LATENCIES]; /* of the latest responses, a ring */
    size_t latency_count;
} aphi_silence;

/* Call it when a complete message has arrived on a connection that the tester opened. */
void aphi_silence_got_message(aphi_silence *s);
/* Call it when a request was sent. */
void aphi_silence_restart(aphi_silence *s);
/* Call it when a response has arrived this long after its request, unless the model allowed it to wait. */
void aphi_silence_got_response(aphi_silence *s, int64_t latency_ns);
/* Ends a turn that took this time. arrived: a message arrived, or a connection was accepted or dropped; bytes: any were
 * read; awaited: a response was awaited in this turn. */
void aphi_silence_count(aphi_silence *s, int64_t now, int64_t passed_ns, bool arrived, bool bytes, bool awaited);

/* Return the silence after which nothing more is expected to arrive, and whether it has lasted that long. */
int64_t aphi_silence_idle_after(const aphi_silence *s);
bool aphi_silence_is_idle(const aphi_silence *s, int64_t now);
bool aphi_silence_is_past_patience(const aphi_silence *s, int64_t now);
/* Returns true if the silence has lasted this long, corrected for the load. */
bool aphi_silence_has_lasted(const aphi_silence *s, int64_t now, int64_t ns);
/* Returns the longest silence that is allowed while a response is due. */
int64_t aphi_silence_limit(const aphi_silence *s);
/* Returns the silence after which everything that was sent has been received. */
int64_t aphi_silence_recorded_after(const aphi_silence *s);
bool aphi_silence_can_be_recorded(const aphi_silence *s, int64_t now);
/* Returns the time after which a request is late although other requests get responses. */
int64_t aphi_silence_late_after(const aphi_silence *s);
/* Returns the longest of the latest response times. */
int64_t aphi_silence_slowest(const aphi_silence *s);
/* Returns true if it is worth while to find out whether a response is due: most responses were faster. */
bool aphi_silence_is_unusual(const aphi_silence *s);
/* Return true if the subject is not silent but has sent no complete message for the patience, or for many times
 * that. */
bool aphi_silence_lacks_message(const aphi_silence *s);
bool aphi_silence_is_trickling(const aphi_silence *s);
/* Describes the missing message. called: the subject sent messages on connections that it opened. Returns text. */
const char *aphi_silence_describe(const aphi_silence *s, bool called, char *text, size_t size);

#endif
