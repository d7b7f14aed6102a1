/* SPDX-License-Identifier: Apache-2.0
 *
 * silence.c - the time for which a subject has sent nothing; see silence.h. */
#include "tester/silence.h"

#include <stdio.h>

static const int64_t IDLE_UNPAIRED_NS = 20000000; /* as APHI_IDLE_NS, if it is unknown which requests are outstanding */
enum {
    PATIENCES_TRICKLING = 25, /* patiences without a complete message, while bytes arrive */
    LOADED_PATIENCE = 4,      /* silence counts in full after this multiple of the time, even on a loaded machine; */
    LOADED_LIMIT = 2,         /* the same for a limit, which is longer, */
    LOADED_IDLE = 16,         /* and for the short time after which the connections are idle */
    PATIENCES_LATE = 4,       /* a fixed patience for a request while others get responses */
    LONGEST_MULTIPLE = 4,     /* the limit, in multiples of the longest silence that has ended */
    MEDIAN_MULTIPLE = 8,      /* a usual silence, in multiples of the median of the latest response times */
    LATE_MULTIPLE = 8,        /* a late request, in multiples of the longest of them */
};
static const int64_t LIMIT_MIN_NS = 5000000000, LIMIT_MAX_NS = 60000000000;

void aphi_silence_got_message(aphi_silence *s) { s->got_message = true; }
void aphi_silence_restart(aphi_silence *s) { s->silent_ns = s->no_message_ns = 0; }

void aphi_silence_got_response(aphi_silence *s, int64_t latency_ns)
{
    s->latencies[s->latency_count++ % APHI_LATENCIES] = latency_ns;
}

int64_t aphi_silence_slowest(const aphi_silence *s)
{
    int64_t slowest = 0;
    for (size_t i = 0; i < APHI_LATENCIES; i++)
        slowest = s->latencies[i] > slowest ? s->latencies[i] : slowest;
    return slowest;
}

void aphi_silence_count(aphi_silence *s, int64_t now, int64_t passed_ns, bool arrived, bool bytes, bool awaited)
{
    bool accepted = arrived && !bytes; /* or dropped; both begin a new silence */
    if (arrived && awaited && s->silent_ns + passed_ns > s->longest_ns)
        s->longest_ns = s->silent_ns + passed_ns;
    s->silent_ns = arrived || bytes ? 0 : s->silent_ns + passed_ns;
    bool is_restarted = s->got_message || accepted || (s->paired && !awaited);
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

bool aphi_silence_has_lasted(const aphi_silence *s, int64_t now, int64_t ns)
{
    return has_lasted(s, now, ns, s->is_fixed ? LOADED_PATIENCE : LOADED_LIMIT);
}

int64_t aphi_silence_limit(const aphi_silence *s)
{
    int64_t limit = LONGEST_MULTIPLE * (s->longest_ns > s->seen_ns ? s->longest_ns : s->seen_ns);
    if (s->is_fixed)
        return s->patience_ns;
    return limit < LIMIT_MIN_NS ? LIMIT_MIN_NS : limit < LIMIT_MAX_NS ? limit : LIMIT_MAX_NS;
}

int64_t aphi_silence_recorded_after(const aphi_silence *s)
{
    int64_t multiple = LONGEST_MULTIPLE * (s->longest_ns > s->seen_ns ? s->longest_ns : s->seen_ns);
    int64_t limit = aphi_silence_limit(s), brief = multiple > APHI_SILENCE_BRIEF ? multiple : APHI_SILENCE_BRIEF;
    return s->is_brief && brief < limit ? brief : limit;
}

bool aphi_silence_can_be_recorded(const aphi_silence *s, int64_t now)
{
    return has_lasted(s, now, aphi_silence_recorded_after(s),
                      s->is_fixed && !s->is_brief ? LOADED_PATIENCE : LOADED_LIMIT);
}

int64_t aphi_silence_late_after(const aphi_silence *s)
{
    int64_t limit = aphi_silence_limit(s), late = LATE_MULTIPLE * aphi_silence_slowest(s);
    if (s->is_fixed)
        return PATIENCES_LATE * s->patience_ns;
    return late < limit ? limit : late;
}

bool aphi_silence_is_unusual(const aphi_silence *s)
{
    if (s->silent_ns < APHI_IDLE_NS)
        return false;
    size_t n = s->latency_count < APHI_LATENCIES ? s->latency_count : APHI_LATENCIES, faster = 0;
    for (size_t i = 0; i < n; i++)
        faster += MEDIAN_MULTIPLE * s->latencies[i] <= s->silent_ns;
    return s->silent_ns >= IDLE_UNPAIRED_NS || 2 * faster > n;
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
