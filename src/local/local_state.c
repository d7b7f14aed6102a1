/* SPDX-License-Identifier: Apache-2.0
 *
 * local_state.c - the steps of local_state.h.
 *
 * Every choice belongs to an agent, which is a component: to the receiver what it receives, synchronous or not; to
 * the owner of a contended queue who enters it next, or stands in line there. All other sends are no choice and are
 * made at once: they only add to channels of their own, or to bags, which takes nothing from anybody. */
#include "local/local_state.h"

#include "base/memory.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* ---- contents ---------------------------------------------------------------------------------------------------- */

/* What may follow the class in an entry: nobody, or one of the senders. */
static uint32_t whos(const aphi_local_state *y)
{
    return 2 * (uint32_t)y->ground.part_count + 1;
}

uint32_t aphi_local_state_entry(const aphi_local_state *y, uint32_t channel, uint32_t class, size_t sender,
                                uint32_t mark)
{
    uint32_t who = y->ground.channels[channel].named ? (uint32_t)sender + 1 : 0;
    return (class * whos(y) + who) * y->marks + mark;
}

/* The same of one that stands in line: it is as if each component were two senders. */
static uint32_t entry_in_line(const aphi_local_state *y, uint32_t channel, uint32_t class, size_t sender, uint32_t mark)
{
    return aphi_local_state_entry(y, channel, class, sender + y->ground.part_count, mark);
}

uint32_t aphi_local_state_class(const aphi_local_state *y, uint32_t entry)
{
    return entry / y->marks / whos(y);
}

static uint16_t entry_sender(const aphi_local_state *y, uint32_t entry, const aphi_reduced_channel *channel)
{
    return channel->named ? (uint16_t)((entry / y->marks % whos(y) - 1) % y->ground.part_count) : channel->sender;
}

static bool is_in_line(const aphi_local_state *y, uint32_t entry)
{
    return entry / y->marks % whos(y) > y->ground.part_count;
}

const uint32_t *aphi_local_state_content(const aphi_local_state *y, const uint32_t *v, uint32_t channel, size_t *count)
{
    size_t size;
    const uint32_t *entries = aphi_intern_key(&y->contents[channel], v[y->ground.part_count + channel], &size);
    *count = size / sizeof *entries;
    return entries;
}

/* A copy of the content with room for one more. */
static uint32_t *edit(aphi_local_state *y, const uint32_t *v, uint32_t channel, size_t *count)
{
    const uint32_t *entries = aphi_local_state_content(y, v, channel, count);
    APHI_RESERVE(y->scratch, y->scratch_capacity, *count + 1);
    if (*count)
        memcpy(y->scratch, entries, *count * sizeof *entries);
    return y->scratch;
}

static void store(aphi_local_state *y, uint32_t *v, uint32_t channel, size_t count)
{
    v[y->ground.part_count + channel] =
        aphi_intern_number(&y->contents[channel], y->scratch, count * sizeof *y->scratch);
}

void aphi_local_state_put(aphi_local_state *y, uint32_t *v, uint32_t channel, uint32_t entry)
{
    size_t n;
    uint32_t *e = edit(y, v, channel, &n);
    size_t at = n;
    while (y->ground.channels[channel].bag && at > 0 && e[at - 1] > entry)
        at--;
    memmove(&e[at + 1], &e[at], (n - at) * sizeof *e);
    e[at] = entry;
    store(y, v, channel, n + 1);
}

static void take_out(aphi_local_state *y, uint32_t *v, uint32_t channel, uint32_t entry)
{
    size_t n, at = 0;
    uint32_t *e = edit(y, v, channel, &n);
    while (e[at] != entry)
        at++;
    memmove(&e[at], &e[at + 1], (n - at - 1) * sizeof *e);
    store(y, v, channel, n - 1);
}

static int by_number(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? -1 : x > y;
}

static void forget_in_channel(aphi_local_state *y, uint32_t *v, uint32_t channel)
{
    size_t n;
    uint32_t *e = edit(y, v, channel, &n);
    for (size_t i = 0; i < n; i++)
        e[i] &= ~1u;
    if (y->ground.channels[channel].bag)
        qsort(e, n, sizeof *e, by_number);
    store(y, v, channel, n);
}

/* ---- who knows --------------------------------------------------------------------------------------------------- */

static uint64_t known(const aphi_local_state *y, const uint32_t *v)
{
    return v[y->size - 2] | (uint64_t)v[y->size - 1] << 32;
}

static void set_known(const aphi_local_state *y, uint32_t *v, uint64_t mask)
{
    v[y->size - 2] = (uint32_t)mask;
    v[y->size - 1] = (uint32_t)(mask >> 32);
}

static void learn(const aphi_local_state *y, uint32_t *v, uint64_t mask)
{
    if (y->late)
        set_known(y, v, known(y, v) | mask);
}

static bool knows(const aphi_local_state *y, const uint32_t *v, size_t c)
{
    return y->late && known(y, v) >> c & 1;
}

/* ---- making and freeing ------------------------------------------------------------------------------------------ */

aphi_reduced_status aphi_local_state_init(aphi_local_state *y, const aphi_alts *a, size_t target, bool races)
{
    *y = (aphi_local_state){.races = races};
    aphi_reduced_status status = aphi_reduced_make(&y->ground, a, target, races);
    y->late = races && !y->ground.contended;
    y->dated = races && y->ground.contended;
    y->marks = y->dated ? APHI_CAUSAL_STAMPS : 2;
    y->size = y->ground.part_count + y->ground.channel_count + 2;
    if (y->dated) {
        aphi_causal_open(&y->past, &y->ground);
        y->size += aphi_causal_size(&y->past) - 2;
    }
    y->contents = aphi_alloc_zero((y->ground.channel_count + 1) * sizeof *y->contents);
    for (size_t i = 0; i < y->ground.channel_count; i++)
        aphi_intern_number(&y->contents[i], "", 0);
    return status;
}

void aphi_local_state_free(aphi_local_state *y)
{
    for (size_t i = 0; i < y->ground.channel_count; i++)
        aphi_intern_free(&y->contents[i]);
    free(y->contents);
    free(y->steps);
    free(y->scratch);
    if (y->dated)
        aphi_causal_close(&y->past);
    aphi_reduced_free(&y->ground);
}

void aphi_local_state_start(aphi_local_state *y, uint32_t *v)
{
    memset(v, 0, y->size * sizeof *v);
    for (size_t c = 0; c < y->ground.part_count; c++)
        v[c] = y->ground.parts[c].initial;
    if (y->late)
        set_known(y, v, UINT64_MAX);
    if (y->dated)
        aphi_causal_start(&y->past, aphi_local_state_past(y, v));
}

uint32_t *aphi_local_state_past(const aphi_local_state *y, uint32_t *v)
{
    return v + y->ground.part_count + y->ground.channel_count;
}

/* ---- sends that are no choice ------------------------------------------------------------------------------------ */

static const aphi_reduced_move *only_move(const aphi_local_state *y, const uint32_t *v, size_t c)
{
    const aphi_reduced_part *part = &y->ground.parts[c];
    return &part->moves[part->first[v[c]]];
}

static bool gone(const aphi_local_state *y, const uint32_t *v, size_t c)
{
    return v[c] == y->ground.parts[c].states;
}

static bool full(const aphi_local_state *y, const uint32_t *v, const aphi_reduced_port *port, size_t c)
{
    if (port->limit[c] == 0)
        return false;
    uint32_t channel = port->by_sender[c];
    size_t n, own = 0;
    const uint32_t *e = aphi_local_state_content(y, v, channel, &n);
    for (size_t i = 0; i < n; i++)
        own += entry_sender(y, e[i], &y->ground.channels[channel]) == c;
    return own >= port->limit[c];
}

static bool short_of_room(const aphi_local_state *y, const aphi_reduced_port *port)
{
    for (size_t c = 0; c < y->ground.part_count; c++)
        if (port->limit[c])
            return true;
    return false;
}

/* What matters of a message for the past. */
static aphi_causal_message message_of(const aphi_local_state *y, size_t sender, const aphi_reduced_move *m)
{
    size_t receiver = y->ground.ports[m->port].owner;
    bool seen = sender == y->ground.target || receiver == y->ground.target;
    return (aphi_causal_message){.sender = sender, .receiver = receiver, .port = m->port, .label = seen ? m->label : 0};
}

/* Whether the contended queue holds all that its owner can still receive from it: what enters now is never seen. Where
 * room is short, somebody may still have to wait for it, and the queue is kept as it is. */
static bool closed(const aphi_local_state *y, const uint32_t *v, const aphi_reduced_port *port)
{
    size_t n;
    aphi_local_state_content(y, v, port->channel, &n);
    return n >= port->takes[v[port->owner]] && !short_of_room(y, port);
}

static uint32_t send_dated(aphi_local_state *y, uint32_t *v, size_t c, const aphi_reduced_move *m)
{
    aphi_causal_message message = message_of(y, c, m);
    return aphi_causal_send(&y->past, aphi_local_state_past(y, v), &message);
}

static void enter(aphi_local_state *y, uint32_t *v, const aphi_reduced_port *port, size_t c, const aphi_reduced_move *m)
{
    uint32_t channel = port->by_sender[c];
    bool sync = y->ground.parts[c].kind[v[c]] == APHI_REDUCED_SYNC;
    learn(y, v, UINT64_C(1) << c);
    uint32_t mark = sync ? 0 : y->dated ? send_dated(y, v, c, m) : knows(y, v, c);
    aphi_local_state_put(y, v, channel, (sync ? entry_in_line : aphi_local_state_entry)(y, channel, m->class, c, mark));
}

void aphi_local_state_local(aphi_local_state *y, uint32_t *v)
{
    const aphi_reduced_move *m = only_move(y, v, y->ground.target);
    if (y->dated)
        aphi_causal_local(&y->past, aphi_local_state_past(y, v), m->label);
    v[y->ground.target] = m->target;
}

bool aphi_local_state_send(aphi_local_state *y, uint32_t *v, size_t c)
{
    const aphi_reduced_move *m = only_move(y, v, c);
    const aphi_reduced_port *port = &y->ground.ports[m->port];
    if (!gone(y, v, port->owner) && !(port->contended && closed(y, v, port))) {
        if (port->contended || full(y, v, port, c))
            return false;
        enter(y, v, port, c, m);
    } else if (y->dated) {
        send_dated(y, v, c, m);
    }
    v[c] = m->target;
    return true;
}

bool aphi_local_state_forced(const aphi_local_state *y, const uint32_t *v, size_t c, aphi_local_state_step *step)
{
    const aphi_reduced_model *g = &y->ground;
    const aphi_reduced_part *part = &g->parts[c];
    uint32_t first = part->first[v[c]], end = part->first[v[c] + 1];
    if (part->kind[v[c]] != APHI_REDUCED_RECEIVE)
        return false;
    const aphi_reduced_port *port = &g->ports[part->moves[first].port];
    if (port->synced || port->contended || port->channels != 1 || g->channels[port->channel].bag ||
        v[g->part_count + port->channel] == 0)
        return false;
    size_t n;
    uint32_t head = aphi_local_state_content(y, v, port->channel, &n)[0], found = end;
    for (uint32_t i = first; i < end; i++) {
        if (part->moves[i].port != part->moves[first].port)
            return false;
        if (part->moves[i].class == aphi_local_state_class(y, head))
            found = i;
    }
    *step = (aphi_local_state_step){.move = found, .entry = head, .channel = port->channel, .agent = (uint16_t)c,
                                .sender = g->channels[port->channel].sender, .allowed = true};
    return found < end;
}

/* ---- steps ------------------------------------------------------------------------------------------------------- */

static void forget(aphi_local_state *y, uint32_t *v)
{
    set_known(y, v, 0);
    for (size_t i = 0; i < y->ground.channel_count; i++)
        if (v[y->ground.part_count + i])
            forget_in_channel(y, v, (uint32_t)i);
}

/* What the owner of contended queues has no time left to receive is dropped. */
static void close_queues(aphi_local_state *y, uint32_t *v, size_t owner)
{
    for (size_t p = 0; y->ground.contended && p < y->ground.port_count; p++) {
        const aphi_reduced_port *port = &y->ground.ports[p];
        size_t n;
        if (port->owner != owner || !port->contended || !closed(y, v, port))
            continue;
        edit(y, v, port->channel, &n);
        store(y, v, port->channel, port->takes[v[owner]]);
    }
}

static void receive_dated(aphi_local_state *y, uint32_t *v, const aphi_local_state_step *step,
                          const aphi_reduced_move *m)
{
    /* The receiver may not tell apart what the sender does. */
    aphi_causal_message message = message_of(y, step->sender, step->sync ? only_move(y, v, step->sender) : m);
    uint32_t state = step->agent == y->ground.target ? v[step->agent] : 0;
    message.stamp = step->entry % y->marks;
    (step->sync ? aphi_causal_pass : aphi_causal_receive)(&y->past, aphi_local_state_past(y, v), &message, state);
}

void aphi_local_state_take(aphi_local_state *y, uint32_t *v, const aphi_local_state_step *step)
{
    const aphi_reduced_move *m = &y->ground.parts[step->enters ? step->sender : step->agent].moves[step->move];
    uint64_t who = UINT64_C(1) << step->agent;
    if (step->enters) {
        enter(y, v, &y->ground.ports[m->port], step->sender, m);
        v[step->sender] = step->sync ? v[step->sender] : m->target;
        return;
    }
    if (y->dated)
        receive_dated(y, v, step, m);
    v[step->agent] = m->target;
    if (step->channel != APHI_REDUCED_NO_CHANNEL)
        take_out(y, v, step->channel, step->entry);
    close_queues(y, v, step->agent);
    if (step->sync) {
        v[step->sender] = only_move(y, v, step->sender)->target;
        who |= UINT64_C(1) << step->sender;
    }
    if (y->late && step->agent == y->ground.target)
        forget(y, v);
    learn(y, v, who);
}

static void add_step(aphi_local_state *y, aphi_local_state_step step)
{
    APHI_RESERVE(y->steps, y->step_capacity, y->step_count + 1);
    y->steps[y->step_count++] = step;
    y->enabled |= UINT64_C(1) << step.agent;
    if (step.allowed)
        y->allowed |= UINT64_C(1) << step.agent;
}

/* Whether entry i of a bag is like the one before it: of the same class and sender, and nothing hangs on which is
 * taken. */
static bool repeats(const uint32_t *e, size_t i, bool knowing)
{
    return i > 0 && (knowing ? e[i] >> 1 == e[i - 1] >> 1 : e[i] == e[i - 1]);
}

/* Adds the steps that take the entry by one of the moves from step.move up to `end`, which are all on its port. */
static void look_at_entry(aphi_local_state *y, aphi_local_state_step step, uint32_t end)
{
    const aphi_reduced_move *moves = y->ground.parts[step.agent].moves;
    uint32_t class = aphi_local_state_class(y, step.entry);
    for (; step.move < end; step.move++)
        if (moves[step.move].class == class)
            add_step(y, step);
}

static void look_at_channel(aphi_local_state *y, const uint32_t *v, aphi_local_state_step step, uint32_t end)
{
    const aphi_reduced_channel *channel = &y->ground.channels[step.channel];
    bool knowing = !y->late || knows(y, v, step.agent);
    size_t n;
    const uint32_t *e = aphi_local_state_content(y, v, step.channel, &n);
    for (size_t i = 0; i < (channel->bag ? n : n > 0); i++) {
        if (channel->bag && repeats(e, i, y->late && knowing))
            continue;
        step.entry = e[i];
        step.sender = entry_sender(y, e[i], channel);
        step.allowed = knowing || e[i] % y->marks;
        step.sync = is_in_line(y, e[i]);
        step.twin = channel->bag && i + 1 < n && e[i] / y->marks == e[i + 1] / y->marks;
        look_at_entry(y, step, end);
    }
}

/* Whether something that c sent to the port before is still in transit there. */
static bool behind_own(const aphi_local_state *y, const uint32_t *v, const aphi_reduced_port *port, size_t c)
{
    uint32_t channel = port->by_sender[c];
    if (!port->ordered || channel == APHI_REDUCED_NO_CHANNEL)
        return false;
    size_t n;
    const uint32_t *e = aphi_local_state_content(y, v, channel, &n);
    for (size_t i = 0; i < n; i++)
        if (entry_sender(y, e[i], &y->ground.channels[channel]) == c)
            return true;
    return false;
}

static void look_at_waiting(aphi_local_state *y, const uint32_t *v, aphi_local_state_step step, const aphi_reduced_move *m)
{
    for (size_t c = 0; c < y->ground.part_count; c++) {
        const aphi_reduced_move *send = only_move(y, v, c);
        if (y->ground.parts[c].kind[v[c]] != APHI_REDUCED_SYNC || send->class != m->class ||
            behind_own(y, v, &y->ground.ports[m->port], c))
            continue;
        step.sender = (uint16_t)c;
        step.sync = true;
        step.allowed = !y->late || knows(y, v, step.agent) || knows(y, v, c);
        add_step(y, step);
    }
}

/* The receives of a state, those that follow each other on one port together: most channels are empty. */
static void look_at_receives(aphi_local_state *y, const uint32_t *v, size_t agent)
{
    const aphi_reduced_part *part = &y->ground.parts[agent];
    uint32_t end = part->first[v[agent] + 1], next;
    for (uint32_t i = part->first[v[agent]]; i < end; i = next) {
        const aphi_reduced_port *port = &y->ground.ports[part->moves[i].port];
        for (next = i + 1; next < end && part->moves[next].port == part->moves[i].port;)
            next++;
        aphi_local_state_step step = {.move = i, .agent = (uint16_t)agent, .channel = APHI_REDUCED_NO_CHANNEL};
        for (; port->synced && !port->contended && step.move < next; step.move++)
            look_at_waiting(y, v, step, &part->moves[step.move]);
        step.move = i;
        for (uint32_t k = 0; k < port->channels; k++) {
            step.channel = port->channel + k;
            if (v[y->ground.part_count + step.channel])
                look_at_channel(y, v, step, next);
        }
    }
}

/* Whether c, about to send synchronously to the contended port, is in the line already. */
static bool stands(const aphi_local_state *y, const uint32_t *v, const aphi_reduced_port *port, size_t c)
{
    size_t n;
    const uint32_t *e = aphi_local_state_content(y, v, port->channel, &n);
    for (size_t i = 0; i < n; i++)
        if (is_in_line(y, e[i]) && entry_sender(y, e[i], &y->ground.channels[port->channel]) == c)
            return true;
    return false;
}

static void look_at_entries(aphi_local_state *y, const uint32_t *v, size_t agent)
{
    for (size_t c = 0; c < y->ground.part_count; c++) {
        bool sync = y->ground.parts[c].kind[v[c]] == APHI_REDUCED_SYNC;
        if (!sync && y->ground.parts[c].kind[v[c]] != APHI_REDUCED_SEND)
            continue;
        const aphi_reduced_port *port = &y->ground.ports[only_move(y, v, c)->port];
        if (port->contended && port->owner == agent && !closed(y, v, port) &&
            !(sync ? stands(y, v, port, c) : full(y, v, port, c)))
            add_step(y, (aphi_local_state_step){.move = y->ground.parts[c].first[v[c]], .agent = (uint16_t)agent,
                                    .sender = (uint16_t)c, .enters = true, .sync = sync, .allowed = true});
    }
}

void aphi_local_state_look(aphi_local_state *y, const uint32_t *v)
{
    y->step_count = 0;
    y->enabled = y->allowed = 0;
    for (size_t c = 0; c < y->ground.part_count; c++) {
        y->first_step[c] = (uint32_t)y->step_count;
        if (gone(y, v, c))
            continue;
        if (y->ground.parts[c].kind[v[c]] == APHI_REDUCED_RECEIVE)
            look_at_receives(y, v, c);
        if (y->ground.contended)
            look_at_entries(y, v, c);
    }
    y->first_step[y->ground.part_count] = (uint32_t)y->step_count;
}

/* ---- what matters, and what may still come ----------------------------------------------------------------------- */

void aphi_local_state_prune(aphi_local_state *y, uint32_t *v, uint64_t also)
{
    const aphi_reduced_model *g = &y->ground;
    uint64_t matter = UINT64_C(1) << g->target | also, before;
    do {
        before = matter;
        for (size_t c = 0; c < g->part_count; c++)
            if (matter >> c & 1)
                matter |= g->parts[c].needs[v[c]];
            else if (g->parts[c].reaches[v[c]] & matter)
                matter |= UINT64_C(1) << c;
    } while (matter != before);
    for (size_t c = 0; c < g->part_count; c++)
        if (!(matter >> c & 1) && !gone(y, v, c)) {
            v[c] = g->parts[c].states;
            if (y->dated)
                aphi_causal_forget(&y->past, aphi_local_state_past(y, v), c);
        }
    for (size_t i = 0; i < g->channel_count; i++)
        if (!(matter >> g->ports[g->channels[i].port].owner & 1))
            v[g->part_count + i] = 0;
    if (y->late)
        set_known(y, v, known(y, v) & matter);
}

/* Whether what c may still send to the port gives the owner a choice that it has not now. */
static bool feeds(const aphi_local_state *y, const uint32_t *v, const aphi_reduced_port *port, size_t c, size_t owner)
{
    const aphi_reduced_model *g = &y->ground;
    uint32_t channel = port->by_sender[c];
    if (channel != APHI_REDUCED_NO_CHANNEL && v[g->part_count + channel] && !port->synced &&
        (!g->channels[channel].bag || (port->plain && !y->races)))
        return false;
    const uint64_t *future = &g->parts[c].future[v[c] * g->words];
    const uint64_t *accept = &g->parts[owner].accept[v[owner] * g->words];
    for (uint32_t i = port->word; i < port->word + port->words; i++)
        if (future[i] & accept[i])
            return true;
    return false;
}

static uint64_t feeders(const aphi_local_state *y, const uint32_t *v, size_t owner)
{
    const aphi_reduced_model *g = &y->ground;
    const aphi_reduced_part *part = &g->parts[owner];
    uint64_t found = 0;
    for (size_t c = 0; y->ground.contended && c < g->part_count; c++)
        if (g->parts[c].contends[v[c]] >> owner & 1)
            found |= UINT64_C(1) << c;
    if (part->kind[v[owner]] != APHI_REDUCED_RECEIVE)
        return found;
    for (uint32_t i = part->first[v[owner]]; i < part->first[v[owner] + 1]; i++) {
        if (i > part->first[v[owner]] && part->moves[i].port == part->moves[i - 1].port)
            continue;
        const aphi_reduced_port *port = &g->ports[part->moves[i].port];
        for (size_t c = 0; c < g->part_count; c++)
            if (g->parts[c].reaches[v[c]] >> owner & 1 && feeds(y, v, port, c, owner))
                found |= UINT64_C(1) << c;
    }
    return found;
}

void aphi_local_state_prospects(aphi_local_state *y, const uint32_t *v)
{
    const aphi_reduced_model *g = &y->ground;
    for (size_t c = 0; c < g->part_count; c++) {
        uint8_t kind = g->parts[c].kind[v[c]];
        y->fed_by[c] = feeders(y, v, c);
        y->waits_for[c] = 0;
        if (kind == APHI_REDUCED_SEND || kind == APHI_REDUCED_SYNC)
            y->waits_for[c] = UINT64_C(1) << g->ports[only_move(y, v, c)->port].owner;
    }
}

uint64_t aphi_local_state_movable(const aphi_local_state *y, uint64_t from, uint64_t still)
{
    uint64_t movable = from & ~still, before;
    do {
        before = movable;
        for (size_t c = 0; c < y->ground.part_count; c++)
            if (!((movable | still) >> c & 1) && (y->fed_by[c] | y->waits_for[c]) & movable)
                movable |= UINT64_C(1) << c;
    } while (movable != before);
    return movable;
}
