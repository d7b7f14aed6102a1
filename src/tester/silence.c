/* SPDX-License-Identifier: Apache-2.0
 *
 * silence.c - the time for which a subject has sent nothing; see silence.h. */
#include "tester/silence.h"

#include <stdio.h>

static const int64_t IDLE_UNPAIRED_NS = 20000000; /* as APHI_IDLE_NS, if it is unknown which requests are outstanding */
enum {
    PATIENCES_TRICKLING = 25, /* patiences without a complete message, while bytes arrive */
    LOADED_PATIENCE = 4,      /* silence counts in full after this multiple of the time, even on a loaded machine; */
    LOADED_IDLE = 16,         /* the same for the short time after which the connections are idle */
};

void aphi_silence_got_message(aphi_silence *s) { s->got_message = true; }
void aphi_silence_restart(aphi_silence *s) { s->silent_ns = s->no_message_ns = 0; }

void aphi_silence_count(aphi_silence *s, int64_t now, int64_t passed_ns, bool arrived, bool bytes, bool outstanding)
{
    bool accepted = arrived && !bytes; /* or dropped; both begin a new silence */
    if (arrived && outstanding && s->silent_ns > s->longest_ns)
        s->longest_ns = s->silent_ns;
    s->silent_ns = arrived || bytes ? 0 : s->silent_ns + passed_ns;
    bool is_restarted = s->got_message || accepted || (s->paired && !outstanding);
    s->no_message_ns = is_restarted ? 0 : s->no_message_ns + passed_ns;
    s->got_message = false;
    bool is_long = s->silent_ns >= (s->paired ? APHI_TICK_NS : APHI_IDLE_NS); /* reading idle_clock is slow */
    if (is_long && !s->idle_since)
        s->idle_ns = s->idle_clock();
    s->idle_since = !is_long ? 0 : s->idle_since ? s->idle_since : now;
}

/* For a lossy network, this is the patience: the subject would be blamed for a response that is declared lost too
 * early. */
int64_t aphi_silence_idle_after(const aphi_silence *s)
{
    return s->paired ? APHI_IDLE_NS : s->lossy ? s->patience_ns : IDLE_UNPAIRED_NS;
}

/* loaded: after this multiple of ns, silence counts in full although no processor was idle. */
static bool has_lasted(const aphi_silence *s, int64_t now, int64_t ns, int loaded)
{
    if (s->silent_ns < ns || s->silent_ns >= ns * loaded || !s->idle_since || s->idle_ns < 0)
        return s->silent_ns >= ns;
    int64_t passed = now - s->idle_since, idle = s->idle_clock() - s->idle_ns;
    double share = passed <= 0 || idle <= 0 ? 0 : (double)idle / (double)passed;
    return (double)s->silent_ns * (share > 1 ? 1 : share) >= (double)ns;
}

bool aphi_silence_is_idle(const aphi_silence *s, int64_t now)
{
    return has_lasted(s, now, aphi_silence_idle_after(s), s->paired ? 1 : s->lossy ? LOADED_PATIENCE : LOADED_IDLE);
}

bool aphi_silence_is_past_patience(const aphi_silence *s, int64_t now)
{
    return has_lasted(s, now, s->patience_ns, LOADED_PATIENCE);
}

bool aphi_silence_lacks_message(const aphi_silence *s)
{
    return s->silent_ns < s->no_message_ns && s->no_message_ns >= s->patience_ns;
}

bool aphi_silence_is_trickling(const aphi_silence *s)
{
    return aphi_silence_lacks_message(s) && s->no_message_ns >= PATIENCES_TRICKLING * s->patience_ns;
}

const char *aphi_silence_describe(const aphi_silence *s, bool called, char *text, size_t size)
{
    double seconds = (double)s->no_message_ns / 1e9;
    if (called)
        snprintf(text, size, "no response in %.1f s, although the subject sends requests", seconds);
    else
        snprintf(text, size, "no complete message in %.1f s, although bytes arrive", seconds);
    return text;
}
