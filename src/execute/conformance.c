/* SPDX-License-Identifier: Apache-2.0
 *
 * conformance.c - conformance tests with the SR-sequences of the model, all threads together.
 *
 * Idea:       a sequence is forced on the program: each receive takes the same message as in the model. If the program
 *             reaches the same end through the same events, it has this sequence, too. The race set of a receive has
 *             the messages that it could have taken instead. If the race sets of model and program are always equal,
 *             the program has no other sequences: such a sequence would differ from the model's at some receive, and
 *             its message would be in the race set of that receive.
 *
 *                 the model's    P1 --m--> P3   race {}          missing event or race: M <= CP fails
 *                 the program's  P1 --m--> P3   race {P2:1}      extra event or race: CP <= M fails
 *
 * Extra:      an extra event ends a run before the rest of the sequence is tested. So the sequence is forced again, now
 *             as a prefix.
 * Cost:       one run of the program for each sequence.
 * After:      Carver and Lei, "Stateless techniques for generating global and local test oracles", figure 11. */
#include "execute/conformance.h"

#include "base/error.h"
#include "base/memory.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- mapping ----------------------------------------------------------------------------------------------------- */

enum { LABEL_MAX_BYTES = 31 };

static bool map_threads(aphi_conformance *c, char *error, size_t size)
{
    const aphi_alts *a = c->model->alts;
    const aphi_layout *layout = aphi_program_layout(c->program);
    for (size_t i = 0; i < a->component_count; i++) {
        size_t thread = aphi_layout_thread_named(layout, a->components[i].name);
        if (thread == SIZE_MAX)
            return aphi_fail(error, size, "the model has a component %s, but the program has no thread of that name",
                             a->components[i].name);
        c->threads[i] = (uint16_t)thread;
    }
    for (size_t i = 0; i < layout->thread_count; i++)
        if (aphi_alts_component_named(a, layout->threads[i]) == SIZE_MAX)
            return aphi_fail(error, size, "the program has a thread %s, but the model has no component of that name",
                             layout->threads[i]);
    return true;
}

static bool map_port(aphi_conformance *c, size_t i, bool same, char *error, size_t size)
{
    static const char *const mediums[] = {"fifo-pair", "fifo-port", "unordered"};
    const aphi_alts_port *port = &c->model->alts->ports[i];
    const aphi_layout *layout = aphi_program_layout(c->program);
    size_t number = aphi_layout_port_named(layout, port->name);
    if (number == SIZE_MAX)
        return aphi_fail(error, size, "the model has a port %s, but the program has none of that name", port->name);
    const aphi_alts_port *other = &layout->ports[number];
    if (other->owner != c->threads[port->owner])
        return aphi_fail(error, size, "port %s belongs to %s in the model, but to %s in the program", port->name,
                         c->model->alts->components[port->owner].name, layout->threads[other->owner]);
    if (same && (other->medium != port->medium || other->capacity != port->capacity))
        return aphi_fail(error, size,
                         "port %s is %s with capacity %" PRIu32 " in the model, %s with capacity %" PRIu32
                         " in the program (0: no limit); single threads can be tested only if ports are the same",
                         port->name, mediums[port->medium], port->capacity, mediums[other->medium], other->capacity);
    c->ports[i] = (uint16_t)number;
    return true;
}

static bool map_ports(aphi_conformance *c, bool same, char *error, size_t size)
{
    const aphi_alts *a = c->model->alts;
    const aphi_layout *layout = aphi_program_layout(c->program);
    for (size_t i = 0; i < a->port_count; i++)
        if (!map_port(c, i, same, error, size))
            return false;
    for (size_t i = 0; i < layout->port_count; i++)
        if (aphi_alts_port_named(a, layout->ports[i].name) == SIZE_MAX)
            return aphi_fail(error, size, "the program has a port %s, but the model has none of that name",
                             layout->ports[i].name);
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
        if (!n || label[n] || n > LABEL_MAX_BYTES || !strcmp(label, "*"))
            return aphi_fail(error, size, "the model has the label \"%.60s\"; labels of programs are 1 to %d printable "
                             "characters without blanks, and not *", label, LABEL_MAX_BYTES);
        c->labels[i] = aphi_layout_label(aphi_program_layout(c->program), label);
    }
    return true;
}

bool aphi_conformance_open(aphi_conformance *c, const aphi_compiled_model *model, aphi_program *program,
                           bool same_ports, char *error, size_t size)
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
    APHI_FREE_ALL(d->forced, d->model.items, d->program.items);
}

void aphi_conformance_close(aphi_conformance *c)
{
    APHI_FREE_ALL(c->threads, c->ports, c->labels, c->forced, c->model_races.items, c->program_races.items);
    free_difference(&c->missing);
    free_difference(&c->extra);
    aphi_recording_free(&c->recording);
    aphi_races_free(&c->races);
    *c = (aphi_conformance){0};
}

/* ---- runs -------------------------------------------------------------------------------------------------------- */

bool aphi_conformance_run(aphi_conformance *c, bool replay, uint64_t seed)
{
    aphi_program_run_options o = aphi_program_run_options_default(seed, c->time_ms);
    o.events_max = c->events_max;
    o.replay = replay;
    o.forced = c->forced;
    o.forced_count = c->forced_count;
    c->runs++;
    c->program_lost = !aphi_program_run(c->program, &o, &c->recording, c->error, sizeof c->error);
    return !c->program_lost;
}

static aphi_race_set copy_race_set(const aphi_race_set *r)
{
    aphi_race_set copy = {.count = r->count, .capacity = r->count + 1};
    copy.items = aphi_alloc(copy.capacity * sizeof *copy.items);
    if (r->count)
        memcpy(copy.items, r->items, r->count * sizeof *r->items);
    return copy;
}

void aphi_conformance_report(aphi_conformance *c, aphi_violation violation, int local_thread, aphi_event_id id,
                             const char *detail)
{
    aphi_difference *d = aphi_violation_is_missing(violation) ? &c->missing : &c->extra;
    if (d->violation)
        return;
    *d = (aphi_difference){.violation = violation, .local_thread = local_thread, .sequence = c->sequence, .id = id,
                           .run = c->recording};
    snprintf(d->detail, sizeof d->detail, "%s", detail); /* may point into the recording */
    c->recording = (aphi_recording){0};
    d->forced = aphi_copy(c->forced, c->forced_count * sizeof *c->forced);
    d->forced_count = c->forced_count;
    d->expected = aphi_recorded_event_find(d->forced, d->forced_count, id);
    if (violation == APHI_VIOLATION_RACE_MISSING || violation == APHI_VIOLATION_RACE_EXTRA) {
        d->model = copy_race_set(&c->model_races);
        d->program = copy_race_set(&c->program_races);
    }
}

/* ---- race sets --------------------------------------------------------------------------------------------------- */

static int by_message(const void *a, const void *b)
{
    const aphi_race_message *x = a, *y = b;
    if (x->send.thread != y->send.thread)
        return x->send.thread < y->send.thread ? -1 : 1;
    if (x->send.index != y->send.index)
        return x->send.index < y->send.index ? -1 : 1;
    if (x->port != y->port)
        return x->port < y->port ? -1 : 1;
    return x->label < y->label ? -1 : x->label > y->label;
}

void aphi_race_set_add(aphi_race_set *r, aphi_race_message message)
{
    APHI_PUSH(r->items, r->count, r->capacity, message);
}

static bool has_message(const aphi_race_set *r, const aphi_race_message *message)
{
    for (size_t i = 0; i < r->count; i++)
        if (!by_message(&r->items[i], message))
            return true;
    return false;
}

static bool contains(const aphi_race_set *a, const aphi_race_set *b)
{
    for (size_t i = 0; i < b->count; i++)
        if (!has_message(a, &b->items[i]))
            return false;
    return true;
}

static void sort_race_set(aphi_race_set *r)
{
    if (r->count)
        qsort(r->items, r->count, sizeof *r->items, by_message);
}

bool aphi_conformance_compare_races(aphi_conformance *c, int local_thread, aphi_event_id id)
{
    bool missing = !contains(&c->program_races, &c->model_races), extra = !contains(&c->model_races, &c->program_races);
    if (!missing && !extra)
        return true;
    sort_race_set(&c->model_races);
    sort_race_set(&c->program_races);
    if (missing)
        aphi_conformance_report(c, APHI_VIOLATION_RACE_MISSING, local_thread, id,
                                "the race set of the model has more messages");
    else
        aphi_conformance_report(c, APHI_VIOLATION_RACE_EXTRA, local_thread, id,
                                "the race set of the program has more messages");
    return false;
}

/* ---- all threads together ---------------------------------------------------------------------------------------- */

void aphi_conformance_force(aphi_conformance *c, const aphi_sequence *s)
{
    c->forced_count = 0;
    for (unsigned t = 0; t < c->model->thread_count; t++)
        for (uint32_t i = s->first[t]; i < s->first[t + 1]; i++) {
            const aphi_event *e = &s->events[i];
            aphi_recorded_event r = {.op = (aphi_alts_op)e->op, .id = {c->threads[t], i - s->first[t] + 1},
                                     .label = c->labels[e->label]};
            if (e->op != APHI_ALTS_LOCAL) {
                r.sync = e->sync;
                r.port = c->ports[e->port];
                r.peer = (aphi_event_id){c->threads[e->peer], e->matched ? e->peer_index + 1u : 0};
            }
            APHI_PUSH(c->forced, c->forced_count, c->forced_capacity, r);
        }
}

/* Returns the id of the event after the thread's last recorded one. */
static aphi_event_id next_event_of(const aphi_recording *r, unsigned thread)
{
    aphi_event_id id = {(uint16_t)thread, 1};
    for (size_t i = 0; i < r->event_count; i++)
        id.index += r->events[i].id.thread == thread;
    return id;
}

/* Reports a missing or an extra event of a thread. */
static void check_divergence(aphi_conformance *c)
{
    aphi_event_id id = next_event_of(&c->recording, (unsigned)c->recording.number);
    bool extra = !aphi_recorded_event_find(c->forced, c->forced_count, id);
    aphi_conformance_report(c, extra ? APHI_VIOLATION_EXTRA : APHI_VIOLATION_MISSING, -1, id, c->recording.detail);
    if (!extra || !aphi_conformance_run(c, false, 0) || c->recording.end != APHI_RECORDING_DIVERGED)
        return;
    id = next_event_of(&c->recording, (unsigned)c->recording.number);
    aphi_conformance_report(c, APHI_VIOLATION_MISSING, -1, id, c->recording.detail);
}

/* Compares a thread at the end of a deadlock with the state of its component. */
static aphi_violation compare_thread_end(const aphi_conformance *c, const aphi_compiled_state *end,
                                         const aphi_thread_end *s)
{
    bool sends = s->status == APHI_THREAD_SENDING || s->status == APHI_THREAD_PORT_FULL;
    switch (end->kind) {
    case APHI_COMPILED_TERMINAL: return s->status == APHI_THREAD_ENDED ? APHI_VIOLATION_NONE : APHI_VIOLATION_STUCK;
    case APHI_COMPILED_RECEIVE:
        return s->status == APHI_THREAD_RECEIVING ? APHI_VIOLATION_NONE
               : s->status == APHI_THREAD_ENDED ? APHI_VIOLATION_ENDS : APHI_VIOLATION_WAITS;
    default:
        if (s->status == APHI_THREAD_ENDED)
            return APHI_VIOLATION_ENDS;
        return sends && s->port == c->ports[c->model->channels[end->channel].port] && s->label == c->labels[end->label]
                && (s->status == APHI_THREAD_SENDING) == (end->kind == APHI_COMPILED_PASS)
            ? APHI_VIOLATION_NONE : APHI_VIOLATION_WAITS;
    }
}

/* Returns true if each thread ends or waits as its component does. */
static bool compare_thread_ends(aphi_conformance *c, const aphi_sequence *s)
{
    for (unsigned t = 0; t < c->model->thread_count; t++) {
        const aphi_compiled_state *end = &c->model->states[s->end_states[t]];
        aphi_violation b = compare_thread_end(c, end, &c->recording.thread_ends[c->threads[t]]);
        if (b) {
            aphi_conformance_report(c, b, -1, (aphi_event_id){c->threads[t], s->first[t + 1] - s->first[t] + 1},
                                    c->recording.detail);
            return false;
        }
    }
    return true;
}

/* Returns true if the program followed the sequence to its end. */
static bool compare_end(aphi_conformance *c, const aphi_sequence *s)
{
    const char *detail = c->recording.detail;
    switch (c->recording.end) {
    case APHI_RECORDING_ENDED:
        if (s->deadlock)
            aphi_conformance_report(c, APHI_VIOLATION_ENDS, -1, (aphi_event_id){0}, "the model waits forever there");
        return !s->deadlock;
    case APHI_RECORDING_DEADLOCK:
        if (!s->deadlock)
            aphi_conformance_report(c, APHI_VIOLATION_STUCK, -1, (aphi_event_id){0}, detail);
        return s->deadlock && compare_thread_ends(c, s);
    case APHI_RECORDING_ENDLESS:
        aphi_conformance_report(c, APHI_VIOLATION_ENDLESS, -1, (aphi_event_id){0}, detail);
        return false;
    case APHI_RECORDING_DIVERGED: check_divergence(c); return false;
    default: aphi_conformance_report(c, APHI_VIOLATION_CRASHED, -1, (aphi_event_id){0}, detail); return false;
    }
}

/* Returns the message of a send. A send that still waits at the end is not an event yet. */
static aphi_race_message recorded_message(const aphi_recording *r, aphi_event_id send)
{
    const aphi_recorded_event *e = aphi_recorded_event_find(r->events, r->event_count, send);
    const aphi_thread_end *s = &r->thread_ends[send.thread];
    return (aphi_race_message){send, e ? e->port : s->port, e ? e->label : s->label};
}

static aphi_race_message model_message(const aphi_conformance *c, const aphi_sequence *s, uint32_t race)
{
    const aphi_compiled_state *from = aphi_sequence_race_state(s, race);
    return (aphi_race_message){{c->threads[race >> 16], (race & 0xffff) + 1},
                               c->ports[c->model->channels[from->channel].port],
                               c->labels[from->label]};
}

static bool compare_receive(aphi_conformance *c, aphi_sequence *s, unsigned thread, uint32_t index)
{
    aphi_event_id id = {c->threads[thread], index + 1};
    const aphi_recorded_event *recorded = aphi_recorded_event_find(c->recording.events, c->recording.event_count, id);
    if (!recorded) {
        aphi_conformance_report(c, APHI_VIOLATION_MISSING, -1, id, "the program has not recorded the event");
        return false;
    }
    size_t event = (size_t)(recorded - c->recording.events);
    aphi_sequence_find_race_set(s, thread, index);
    c->model_races.count = c->program_races.count = 0;
    for (size_t i = 0; i < s->race_count; i++)
        aphi_race_set_add(&c->model_races, model_message(c, s, s->races[i]));
    for (uint32_t i = c->races.first[event]; i < c->races.first[event + 1]; i++)
        aphi_race_set_add(&c->program_races, recorded_message(&c->recording, c->races.sends[i]));
    return aphi_conformance_compare_races(c, -1, id);
}

static void compare_races(aphi_conformance *c, aphi_sequence *s)
{
    aphi_races_find(aphi_program_layout(c->program), &c->recording, &c->races);
    for (unsigned t = 0; t < c->model->thread_count; t++)
        for (uint32_t i = s->first[t]; i < s->first[t + 1]; i++)
            if (s->events[i].op == APHI_ALTS_RECEIVE && !compare_receive(c, s, t, i - s->first[t]))
                return;
}

bool aphi_conformance_test(aphi_conformance *c, aphi_sequence *s)
{
    c->tests++;
    c->sequence++;
    aphi_conformance_force(c, s);
    if (!aphi_conformance_run(c, true, 0))
        return false;
    if (compare_end(c, s))
        compare_races(c, s);
    return !c->program_lost && !c->missing.violation;
}
