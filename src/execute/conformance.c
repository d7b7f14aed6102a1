/* SPDX-License-Identifier: Apache-2.0
 *
 * conformance.c - a program tested with the sequences of its model, all threads together.
 *
 * Idea:       A sequence is forced on the program: each receive takes the message that it takes in the model. If the
 *             program comes to the same end by the same events, the sequence is its, too. What else the program could
 *             have done there shows in the race sets: of each receive, the messages that it could have taken instead.
 *             If both sides always agree in these, there is no sequence of the program that the model does not have:
 *             it would leave those of the model at some receive, and would be seen there.
 *
 *                 the model's    P1 --m--> P3   race {}          an event too few, or a rival too few: M <= CP fails
 *                 the program's  P1 --m--> P3   race {P2:1}      one too many: CP <= M fails
 *
 * Extra:      An event too many stops a run, and leaves it open whether the rest of the sequence can be done. It is
 *             then forced once more, as a beginning only.
 * Cost:       a run of the program for each sequence.
 * After:      Carver and Lei, "Stateless techniques for generating global and local test oracles", figure 11. */
#include "execute/conformance.h"

#include "base/memory.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* ---- who is who -------------------------------------------------------------------------------------------------- */

enum { LABEL_LONGEST = 31 };

static bool differ(char *error, size_t size, const char *format, ...) __attribute__((format(printf, 3, 4)));
static bool differ(char *error, size_t size, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(error, size, format, arguments);
    va_end(arguments);
    return false;
}

static bool map_threads(aphi_conformance *c, char *error, size_t size)
{
    const aphi_alts *a = c->model->alts;
    const aphi_cast *cast = aphi_program_cast(c->program);
    for (size_t i = 0; i < a->component_count; i++) {
        size_t thread = aphi_cast_thread_named(cast, a->components[i].name);
        if (thread == SIZE_MAX)
            return differ(error, size, "the model has a component %s, the program has no thread of that name",
                          a->components[i].name);
        c->threads[i] = (uint16_t)thread;
    }
    for (size_t i = 0; i < cast->thread_count; i++)
        if (aphi_alts_component_named(a, cast->threads[i]) == SIZE_MAX)
            return differ(error, size, "the program has a thread %s, the model has no component of that name",
                          cast->threads[i]);
    return true;
}

static bool map_port(aphi_conformance *c, size_t i, bool same, char *error, size_t size)
{
    static const char *const mediums[] = {"fifo-pair", "fifo-port", "unordered"};
    const aphi_alts_port *port = &c->model->alts->ports[i];
    const aphi_cast *cast = aphi_program_cast(c->program);
    size_t number = aphi_cast_port_named(cast, port->name);
    if (number == SIZE_MAX)
        return differ(error, size, "the model has a port %s, the program has none of that name", port->name);
    const aphi_cast_port *other = &cast->ports[number];
    if (other->owner != c->threads[port->owner])
        return differ(error, size, "port %s belongs to %s in the model, to %s in the program", port->name,
                      c->model->alts->components[port->owner].name, cast->threads[other->owner]);
    if (same && ((unsigned)other->medium != (unsigned)port->medium || other->capacity != port->capacity))
        return differ(error, size,
                      "port %s is %s with capacity %" PRIu32 " in the model, %s with capacity %" PRIu32
                      " in the program (0: no limit); threads can be tested alone only if ports are the same",
                      port->name, mediums[port->medium], port->capacity, mediums[other->medium], other->capacity);
    c->ports[i] = (uint16_t)number;
    return true;
}

static bool map_ports(aphi_conformance *c, bool same, char *error, size_t size)
{
    const aphi_alts *a = c->model->alts;
    const aphi_cast *cast = aphi_program_cast(c->program);
    for (size_t i = 0; i < a->port_count; i++)
        if (!map_port(c, i, same, error, size))
            return false;
    for (size_t i = 0; i < cast->port_count; i++)
        if (aphi_alts_port_named(a, cast->ports[i].name) == SIZE_MAX)
            return differ(error, size, "the program has a port %s, the model has none of that name",
                          cast->ports[i].name);
    return true;
}

static bool map_labels(aphi_conformance *c, char *error, size_t size)
{
    const aphi_alts *a = c->model->alts;
    for (size_t i = 0; i < a->label_count; i++) {
        const char *label = a->labels[i];
        size_t n = 0;
        while (label[n] > ' ' && label[n] < 127)
            n++;
        if (!n || label[n] || n > LABEL_LONGEST || !strcmp(label, "*"))
            return differ(error, size, "the model has the label \"%.60s\": those of programs are 1 to %d printable "
                          "characters without blanks, and not *", label, LABEL_LONGEST);
        c->labels[i] = aphi_cast_label(aphi_program_cast(c->program), label);
    }
    return true;
}

bool aphi_conformance_open(aphi_conformance *c, const aphi_compiled_model *model, aphi_program *program, bool same_ports,
                          char *error, size_t size)
{
    const aphi_alts *a = model->alts;
    *c = (aphi_conformance){.model = model, .program = program, .time_ms = 10000, .events_max = 100000};
    c->threads = aphi_alloc_zero((a->component_count + 1) * sizeof *c->threads);
    c->ports = aphi_alloc_zero((a->port_count + 1) * sizeof *c->ports);
    c->labels = aphi_alloc_zero((a->label_count + 1) * sizeof *c->labels);
    if (map_threads(c, error, size) && map_ports(c, same_ports, error, size) && map_labels(c, error, size))
        return true;
    aphi_conformance_close(c);
    return false;
}

static void free_difference(aphi_difference *d)
{
    aphi_recording_free(&d->run);
    free(d->forced);
    free(d->model.items);
    free(d->program.items);
}

void aphi_conformance_close(aphi_conformance *c)
{
    free(c->threads);
    free(c->ports);
    free(c->labels);
    free(c->forced);
    free(c->of_model.items);
    free(c->of_program.items);
    free_difference(&c->lack);
    free_difference(&c->surplus);
    aphi_recording_free(&c->recording);
    aphi_races_free(&c->races);
    *c = (aphi_conformance){0};
}

/* ---- runs -------------------------------------------------------------------------------------------------------- */

bool aphi_conformance_run(aphi_conformance *c, bool whole, uint64_t seed)
{
    aphi_program_order o = aphi_program_freely(seed, c->time_ms);
    o.events_max = c->events_max;
    o.whole = whole;
    o.forced = c->forced;
    o.forced_count = c->forced_count;
    c->runs++;
    c->lost = !aphi_program_run(c->program, &o, &c->recording, c->error, sizeof c->error);
    return !c->lost;
}

static aphi_rivals rivals_copy(const aphi_rivals *r)
{
    aphi_rivals copy = {.count = r->count, .capacity = r->count + 1};
    copy.items = aphi_alloc(copy.capacity * sizeof *copy.items);
    if (r->count)
        memcpy(copy.items, r->items, r->count * sizeof *r->items);
    return copy;
}

void aphi_conformance_differ(aphi_conformance *c, aphi_breach breach, int alone, aphi_place at, const char *detail)
{
    aphi_difference *d = aphi_breach_is_lack(breach) ? &c->lack : &c->surplus;
    if (d->breach)
        return;
    *d = (aphi_difference){.breach = breach, .alone = alone, .sequence = c->sequence, .at = at, .run = c->recording};
    c->recording = (aphi_recording){0};
    d->forced = aphi_copy(c->forced, c->forced_count * sizeof *c->forced);
    d->forced_count = c->forced_count;
    snprintf(d->detail, sizeof d->detail, "%s", detail);
    for (size_t i = 0; i < c->forced_count; i++)
        if (c->forced[i].at.thread == at.thread && c->forced[i].at.index == at.index) {
            d->expects = true;
            d->expected = c->forced[i];
        }
    if (breach == APHI_BREACH_FEWER || breach == APHI_BREACH_MORE) {
        d->model = rivals_copy(&c->of_model);
        d->program = rivals_copy(&c->of_program);
    }
}

/* ---- race sets --------------------------------------------------------------------------------------------------- */

static int by_rival(const void *a, const void *b)
{
    const aphi_rival *x = a, *y = b;
    if (x->send.thread != y->send.thread)
        return x->send.thread < y->send.thread ? -1 : 1;
    if (x->send.index != y->send.index)
        return x->send.index < y->send.index ? -1 : 1;
    if (x->port != y->port)
        return x->port < y->port ? -1 : 1;
    return x->label < y->label ? -1 : x->label > y->label;
}

void aphi_rivals_add(aphi_rivals *r, aphi_rival rival)
{
    APHI_RESERVE(r->items, r->capacity, r->count + 1);
    r->items[r->count++] = rival;
}

bool aphi_rivals_have(const aphi_rivals *r, const aphi_rival *rival)
{
    for (size_t i = 0; i < r->count; i++)
        if (!by_rival(&r->items[i], rival))
            return true;
    return false;
}

static bool contains(const aphi_rivals *a, const aphi_rivals *b)
{
    for (size_t i = 0; i < b->count; i++)
        if (!aphi_rivals_have(a, &b->items[i]))
            return false;
    return true;
}

static void sort(aphi_rivals *r)
{
    if (r->count)
        qsort(r->items, r->count, sizeof *r->items, by_rival);
}

bool aphi_conformance_compare(aphi_conformance *c, int alone, aphi_place at)
{
    bool fewer = !contains(&c->of_program, &c->of_model), more = !contains(&c->of_model, &c->of_program);
    if (!fewer && !more)
        return true;
    sort(&c->of_model);
    sort(&c->of_program);
    if (fewer)
        aphi_conformance_differ(c, APHI_BREACH_FEWER, alone, at, "in the model it could have taken more");
    else
        aphi_conformance_differ(c, APHI_BREACH_MORE, alone, at, "in the program it could have taken more");
    return false;
}

/* ---- all threads together ---------------------------------------------------------------------------------------- */

void aphi_conformance_force(aphi_conformance *c, const aphi_sequence *s)
{
    c->forced_count = 0;
    for (unsigned t = 0; t < c->model->thread_count; t++)
        for (uint32_t i = s->first[t]; i < s->first[t + 1]; i++) {
            const aphi_event *e = &s->events[i];
            aphi_recorded r = {.did = (aphi_did)e->op, .at = {c->threads[t], i - s->first[t] + 1},
                               .label = c->labels[e->label]};
            if (e->op != APHI_ALTS_LOCAL) {
                r.sync = e->sync;
                r.port = c->ports[e->port];
                r.peer = (aphi_place){c->threads[e->peer], e->matched ? e->peer_index + 1u : 0};
            }
            APHI_RESERVE(c->forced, c->forced_capacity, c->forced_count + 1);
            c->forced[c->forced_count++] = r;
        }
}

/* The event after the last that the thread has recorded. */
static aphi_place next_of(const aphi_recording *r, unsigned thread)
{
    aphi_place at = {(uint16_t)thread, 1};
    for (size_t i = 0; i < r->event_count; i++)
        at.index += r->events[i].at.thread == thread;
    return at;
}

/* Somebody has an event too many, or one too few. */
static void judge_diverged(aphi_conformance *c)
{
    aphi_place at = next_of(&c->recording, (unsigned)c->recording.number);
    char detail[sizeof c->recording.detail];
    memcpy(detail, c->recording.detail, sizeof detail);
    bool extra = true;
    for (size_t i = 0; i < c->forced_count; i++)
        if (c->forced[i].at.thread == at.thread && c->forced[i].at.index == at.index)
            extra = false;
    aphi_conformance_differ(c, extra ? APHI_BREACH_EXTRA : APHI_BREACH_MISSING, -1, at, detail);
    if (!extra || !aphi_conformance_run(c, false, 0) || c->recording.end != APHI_RECORDING_DIVERGED)
        return;
    at = next_of(&c->recording, (unsigned)c->recording.number);
    memcpy(detail, c->recording.detail, sizeof detail);
    aphi_conformance_differ(c, APHI_BREACH_MISSING, -1, at, detail);
}

/* What a thread does at the end of a deadlock, compared with the state of its component. */
static aphi_breach judge_standing(const aphi_conformance *c, const aphi_compiled_state *end, const aphi_standing *s)
{
    bool sends = s->stand == APHI_STANDS_SENDING || s->stand == APHI_STANDS_WITHOUT_ROOM;
    switch (end->kind) {
    case APHI_COMPILED_TERMINAL: return s->stand == APHI_STANDS_ENDED ? APHI_BREACH_NONE : APHI_BREACH_STUCK;
    case APHI_COMPILED_RECEIVE:
        return s->stand == APHI_STANDS_RECEIVING ? APHI_BREACH_NONE
               : s->stand == APHI_STANDS_ENDED ? APHI_BREACH_ENDS : APHI_BREACH_WAITS;
    default:
        if (s->stand == APHI_STANDS_ENDED)
            return APHI_BREACH_ENDS;
        return sends && s->port == c->ports[c->model->channels[end->channel].port] && s->label == c->labels[end->label]
                && (s->stand == APHI_STANDS_SENDING) == (end->kind == APHI_COMPILED_PASS)
            ? APHI_BREACH_NONE : APHI_BREACH_WAITS;
    }
}

/* True if each thread ends, or waits, as its component does. */
static bool judge_standings(aphi_conformance *c, const aphi_sequence *s)
{
    char detail[sizeof c->recording.detail];
    memcpy(detail, c->recording.detail, sizeof detail);
    for (unsigned t = 0; t < c->model->thread_count; t++) {
        const aphi_compiled_state *end = &c->model->states[s->end_states[t]];
        aphi_breach b = judge_standing(c, end, &c->recording.standings[c->threads[t]]);
        if (b) {
            aphi_conformance_differ(c, b, -1, (aphi_place){c->threads[t], s->first[t + 1] - s->first[t] + 1}, detail);
            return false;
        }
    }
    return true;
}

/* True if the program did what the sequence says, up to its end. */
static bool judge_end(aphi_conformance *c, const aphi_sequence *s)
{
    char detail[sizeof c->recording.detail];
    memcpy(detail, c->recording.detail, sizeof detail);
    switch (c->recording.end) {
    case APHI_RECORDING_ENDED:
        if (s->deadlock)
            aphi_conformance_differ(c, APHI_BREACH_ENDS, -1, (aphi_place){0}, "the model waits for ever there");
        return !s->deadlock;
    case APHI_RECORDING_DEADLOCK:
        if (!s->deadlock)
            aphi_conformance_differ(c, APHI_BREACH_STUCK, -1, (aphi_place){0}, detail);
        return s->deadlock && judge_standings(c, s);
    case APHI_RECORDING_ENDLESS:
        aphi_conformance_differ(c, APHI_BREACH_ENDLESS, -1, (aphi_place){0}, detail);
        return false;
    case APHI_RECORDING_DIVERGED: judge_diverged(c); return false;
    default: aphi_conformance_differ(c, APHI_BREACH_CRASHED, -1, (aphi_place){0}, detail); return false;
    }
}

static const aphi_recorded *event_at(const aphi_recording *r, aphi_place at)
{
    for (size_t i = 0; i < r->event_count; i++)
        if (r->events[i].at.thread == at.thread && r->events[i].at.index == at.index)
            return &r->events[i];
    return NULL;
}

/* The message of a send; one that waits at the end is no event yet. */
static aphi_rival rival_of(const aphi_recording *r, aphi_place send)
{
    const aphi_recorded *e = event_at(r, send);
    const aphi_standing *s = &r->standings[send.thread];
    return (aphi_rival){send, e ? e->port : s->port, e ? e->label : s->label};
}

static aphi_rival rival_in_model(const aphi_conformance *c, const aphi_sequence *s, uint32_t race)
{
    const aphi_compiled_state *from = aphi_sequence_race_state(s, race);
    return (aphi_rival){{c->threads[race >> 16], (race & 0xffff) + 1}, c->ports[c->model->channels[from->channel].port],
                        c->labels[from->label]};
}

static bool compare_receive(aphi_conformance *c, aphi_sequence *s, unsigned thread, uint32_t index)
{
    aphi_place at = {c->threads[thread], index + 1};
    const aphi_recorded *done = event_at(&c->recording, at);
    if (!done) {
        aphi_conformance_differ(c, APHI_BREACH_MISSING, -1, at, "the program has not recorded it");
        return false;
    }
    size_t event = (size_t)(done - c->recording.events);
    aphi_sequence_find_race_set(s, thread, index);
    c->of_model.count = c->of_program.count = 0;
    for (size_t i = 0; i < s->race_count; i++)
        aphi_rivals_add(&c->of_model, rival_in_model(c, s, s->races[i]));
    for (uint32_t i = c->races.first[event]; i < c->races.first[event + 1]; i++)
        aphi_rivals_add(&c->of_program, rival_of(&c->recording, c->races.sends[i]));
    return aphi_conformance_compare(c, -1, at);
}

static void compare_races(aphi_conformance *c, aphi_sequence *s)
{
    aphi_races_find(aphi_program_cast(c->program), &c->recording, &c->races);
    for (unsigned t = 0; t < c->model->thread_count; t++)
        for (uint32_t i = s->first[t]; i < s->first[t + 1]; i++)
            if (s->events[i].op == APHI_ALTS_RECEIVE && !compare_receive(c, s, t, i - s->first[t]))
                return;
}

bool aphi_conformance_try(aphi_conformance *c, aphi_sequence *s)
{
    c->tests++;
    c->sequence++;
    aphi_conformance_force(c, s);
    if (!aphi_conformance_run(c, true, 0))
        return false;
    if (judge_end(c, s))
        compare_races(c, s);
    return !c->lost && !c->lack.breach;
}
