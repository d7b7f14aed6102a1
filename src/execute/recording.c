/* SPDX-License-Identifier: Apache-2.0
 *
 * recording.c - one run of a program, as arrays and as JSON.
 *
 * Read next:  races.c, the race sets of a recording. */
#include "execute/recording.h"

#include "base/error.h"
#include "base/memory.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- layout ------------------------------------------------------------------------------------------------------ */

static char *copy_string(const char *text)
{
    return aphi_copy(text, strlen(text) + 1);
}

void aphi_layout_free(aphi_layout *c)
{
    for (size_t i = 0; i < c->thread_count; i++)
        free(c->threads[i]);
    for (size_t i = 0; i < c->port_count; i++)
        free(c->ports[i].name);
    for (size_t i = 0; i < c->label_count; i++)
        free(c->labels[i]);
    APHI_FREE_ALL(c->threads, c->ports, c->labels);
    *c = (aphi_layout){0};
}

void aphi_layout_add_thread(aphi_layout *c, const char *name)
{
    APHI_PUSH(c->threads, c->thread_count, c->thread_capacity, copy_string(name));
}

void aphi_layout_add_port(aphi_layout *c, const char *name, uint16_t owner, aphi_medium medium,
                          uint32_t capacity)
{
    APHI_PUSH(c->ports, c->port_count, c->port_capacity,
              (aphi_alts_port){.name = copy_string(name), .owner = owner, .medium = medium, .capacity = capacity});
}

uint32_t aphi_layout_label(aphi_layout *c, const char *label)
{
    if (!c->label_count) {
        APHI_RESERVE(c->labels, c->label_capacity, 1);
        c->labels[c->label_count++] = copy_string("*");
    }
    for (size_t i = 0; i < c->label_count; i++)
        if (!strcmp(c->labels[i], label))
            return (uint32_t)i;
    APHI_RESERVE(c->labels, c->label_capacity, c->label_count + 1);
    c->labels[c->label_count] = copy_string(label);
    return (uint32_t)c->label_count++;
}

size_t aphi_layout_thread_named(const aphi_layout *c, const char *name)
{
    for (size_t i = 0; i < c->thread_count; i++)
        if (!strcmp(c->threads[i], name))
            return i;
    return SIZE_MAX;
}

size_t aphi_layout_port_named(const aphi_layout *c, const char *name)
{
    for (size_t i = 0; i < c->port_count; i++)
        if (!strcmp(c->ports[i].name, name))
            return i;
    return SIZE_MAX;
}

/* ---- recordings -------------------------------------------------------------------------------------------------- */

void aphi_recording_clear(aphi_recording *r)
{
    r->event_count = r->open_item_count = r->available_count = 0;
    r->end = APHI_RECORDING_ENDED;
    r->number = 0;
    r->detail[0] = 0;
    memset(r->thread_ends, 0, sizeof r->thread_ends);
}

void aphi_recording_free(aphi_recording *r)
{
    APHI_FREE_ALL(r->events, r->open_items, r->available);
    *r = (aphi_recording){0};
}

/* Returns the next event of a thread from *at on, or NULL, and moves *at past it. */
static const aphi_recorded_event *next_event_of(const aphi_recording *r, size_t thread, size_t *at)
{
    while (*at < r->event_count)
        if (r->events[(*at)++].id.thread == thread)
            return &r->events[*at - 1];
    return NULL;
}

const aphi_recorded_event *aphi_recorded_event_find(const aphi_recorded_event *events, size_t count, aphi_event_id id)
{
    for (size_t i = 0; i < count; i++)
        if (aphi_event_id_equal(events[i].id, id))
            return &events[i];
    return NULL;
}

static bool is_same_event(const aphi_recorded_event *a, const aphi_recorded_event *b)
{
    if (a->op != b->op || a->label != b->label)
        return false;
    return a->op == APHI_ALTS_LOCAL
        || (a->sync == b->sync && a->port == b->port && aphi_event_id_equal(a->peer, b->peer));
}

bool aphi_recording_equal(const aphi_layout *c, const aphi_recording *a, const aphi_recording *b)
{
    if (a->event_count != b->event_count)
        return false;
    for (size_t thread = 0; thread < c->thread_count; thread++) {
        size_t in_a = 0, in_b = 0;
        for (const aphi_recorded_event *e; (e = next_event_of(a, thread, &in_a));) {
            const aphi_recorded_event *f = next_event_of(b, thread, &in_b);
            if (!f || !is_same_event(e, f))
                return false;
        }
    }
    return true;
}

/* ---- writing ----------------------------------------------------------------------------------------------------- */

static void write_open(const aphi_layout *c, const aphi_recording *r, uint32_t first, uint32_t count, aphi_buffer *out)
{
    aphi_buffer_str(out, ",\"open\":[");
    for (uint32_t i = first; i < first + count; i++)
        aphi_alts_message_json(out, i == first, c->ports[r->open_items[i].port].name,
                               c->labels[r->open_items[i].label], NULL);
    aphi_buffer_byte(out, ']');
}

static void write_races(const aphi_layout *c, const aphi_races *races, size_t event, aphi_buffer *out)
{
    aphi_buffer_str(out, ",\"race\":[");
    for (uint32_t i = races->first[event]; i < races->first[event + 1]; i++) {
        aphi_buffer_str(out, i > races->first[event] ? ",[" : "[");
        aphi_buffer_json_text(out, c->threads[races->sends[i].thread]);
        aphi_buffer_format(out, ",%" PRIu32 "]", races->sends[i].index);
    }
    aphi_buffer_byte(out, ']');
}

static void write_clock(const aphi_layout *c, const aphi_races *races, size_t event, aphi_buffer *out)
{
    const uint32_t *clock = races->clocks + event * c->thread_count;
    aphi_buffer_str(out, ",\"clock\":");
    for (size_t i = 0; i < c->thread_count; i++)
        aphi_buffer_format(out, "%c%" PRIu32, i ? ',' : '[', clock[i]);
    aphi_buffer_byte(out, ']');
}

static void write_event(const aphi_layout *c, const aphi_recording *r, const aphi_races *races,
                        const aphi_recorded_event *e, aphi_buffer *out)
{
    bool local = e->op == APHI_ALTS_LOCAL;
    aphi_alts_event_json(out, e->op, e->sync, local ? "" : c->ports[e->port].name, c->labels[e->label],
                         local ? "" : c->threads[e->peer.thread]);
    if (!local && e->peer.index)
        aphi_buffer_format(out, ",\"peer_index\":%" PRIu32, e->peer.index);
    if (e->op == APHI_ALTS_RECEIVE) {
        write_open(c, r, e->open, e->open_count, out);
        if (races)
            write_races(c, races, (size_t)(e - r->events), out);
    }
    if (races)
        write_clock(c, races, (size_t)(e - r->events), out);
    aphi_buffer_byte(out, '}');
}

void aphi_recording_write(const aphi_layout *c, const aphi_recording *r, const aphi_races *races, uint64_t number,
                          aphi_buffer *out)
{
    aphi_buffer_format(out, "{\"sequence\":%" PRIu64 ",\"deadlock\":%s,\"threads\":{", number,
                       r->end == APHI_RECORDING_DEADLOCK ? "true" : "false");
    for (size_t thread = 0; thread < c->thread_count; thread++) {
        aphi_buffer_str(out, thread ? "," : "");
        aphi_buffer_json_text(out, c->threads[thread]);
        aphi_buffer_str(out, ":[");
        size_t at = 0;
        bool first = true;
        for (const aphi_recorded_event *e; (e = next_event_of(r, thread, &at)); first = false) {
            aphi_buffer_str(out, first ? "" : ",");
            write_event(c, r, races, e, out);
        }
        aphi_buffer_byte(out, ']');
    }
    aphi_buffer_str(out, "}}");
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

/* Copies a string, truncated; returns false if the value is not a string or has a NUL byte. */
static bool read_string(aph_value v, char *text, size_t size)
{
    size_t n;
    if (!v || aph_kind_of(v) != APH_STR)
        return false;
    const char *bytes = aph_bytes_of(&v, &n);
    n = n < size ? n : size - 1;
    memcpy(text, bytes, n);
    text[n] = 0;
    return strlen(text) == n;
}

typedef struct reader {
    aphi_layout *layout;
    aphi_recording *to;
    size_t thread;
    uint32_t index;
    char *error;
    size_t size;
} reader;

static bool fail_event(const reader *g, const char *what)
{
    return aphi_fail(g->error, g->size, "thread %s, event %u: %s", g->layout->threads[g->thread], g->index, what);
}

static bool read_peer(const reader *g, aph_value event, aphi_recorded_event *e)
{
    char text[64];
    aph_value sync = aph_field(event, "sync"), index = aph_field(event, "peer_index");
    if (!read_string(aph_field(event, "port"), text, sizeof text))
        return fail_event(g, "missing port");
    size_t port = aphi_layout_port_named(g->layout, text);
    if (port == SIZE_MAX)
        return fail_event(g, "the program has no port of that name");
    if (!read_string(aph_field(event, "peer"), text, sizeof text))
        return fail_event(g, "missing peer");
    size_t peer = aphi_layout_thread_named(g->layout, text);
    if (peer == SIZE_MAX)
        return fail_event(g, "the program has no thread with the name of the peer");
    if (!sync || aph_kind_of(sync) != APH_BOOL)
        return fail_event(g, "sync is neither true nor false");
    if (index && (!aph_is_int(index) || aph_int_of(index) < 1 || aph_int_of(index) > UINT32_MAX))
        return fail_event(g, "peer_index is not a number from 1");
    if (e->op == APHI_ALTS_RECEIVE ? g->layout->ports[port].owner != g->thread
        : g->layout->ports[port].owner != peer)
        return fail_event(g, "the port belongs to another thread");
    e->port = (uint16_t)port;
    e->sync = aph_truth(sync);
    e->peer = (aphi_event_id){(uint16_t)peer, index ? (uint32_t)aph_int_of(index) : 0};
    return true;
}

static bool read_event(const reader *g, aph_value event)
{
    char op[16], label[64];
    aphi_recorded_event e = {.id = {(uint16_t)g->thread, g->index}};
    if (!read_string(aph_field(event, "op"), op, sizeof op))
        return fail_event(g, "missing op");
    if (!read_string(aph_field(event, "label"), label, sizeof label) || !*label || strlen(label) > 31
        || strpbrk(label, " \t\r\n"))
        return fail_event(g, "the label is not 1 to 31 characters without blanks");
    e.label = aphi_layout_label(g->layout, label);
    if (!strcmp(op, "local"))
        e.op = APHI_ALTS_LOCAL;
    else if (!strcmp(op, "send"))
        e.op = APHI_ALTS_SEND;
    else if (!strcmp(op, "receive"))
        e.op = APHI_ALTS_RECEIVE;
    else
        return fail_event(g, "op is not send, receive or local");
    if (e.op != APHI_ALTS_LOCAL && !read_peer(g, event, &e))
        return false;
    APHI_PUSH(g->to->events, g->to->event_count, g->to->event_capacity, e);
    return true;
}

static bool read_thread(reader *g, const char *name, aph_value events)
{
    g->thread = aphi_layout_thread_named(g->layout, name);
    if (g->thread == SIZE_MAX)
        return aphi_fail(g->error, g->size, "the program has no thread %s", name);
    if (!events || aph_kind_of(events) != APH_ARRAY)
        return aphi_fail(g->error, g->size, "thread %s: its events are not an array", name);
    for (size_t i = 0; i < aph_count(events); i++) {
        g->index = (uint32_t)i + 1;
        if (!read_event(g, aph_at(events, i)))
            return false;
    }
    return true;
}

bool aphi_recording_read(aphi_layout *c, aph_value sequence, aphi_recording *r, char *error, size_t size)
{
    reader g = {.layout = c, .to = r, .error = error, .size = size};
    aph_value threads = aph_field(sequence, "threads");
    aphi_recording_clear(r);
    if (!threads || aph_kind_of(threads) != APH_OBJECT)
        return aphi_fail(error, size, "not a sequence: missing the object \"threads\"");
    aph_value deadlock = aph_field(sequence, "deadlock");
    if (deadlock && aph_kind_of(deadlock) != APH_BOOL)
        return aphi_fail(error, size, "deadlock is neither true nor false");
    r->end = aph_truth(deadlock) ? APHI_RECORDING_DEADLOCK : APHI_RECORDING_ENDED;
    for (size_t i = 0; i < aph_count(threads); i++) {
        aph_value key = APH_NIL, events = APH_NIL;
        char name[64];
        aph_pair_at(threads, i, &key, &events);
        if (!read_string(key, name, sizeof name))
            return aphi_fail(error, size, "a thread's name has a NUL byte");
        if (!read_thread(&g, name, events))
            return false;
    }
    return true;
}
