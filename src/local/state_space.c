/* SPDX-License-Identifier: Apache-2.0
 *
 * state_space.c - states of a reduced model, and their steps.
 *
 * Every choice belongs to an agent, a component: a receiver chooses the message that it receives, and the owner of a
 * contended queue chooses the message that enters it next. All other sends are done immediately: they only add to bags
 * or to channels with one sender, which disables nothing. */
#include "local/state_space.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

/* ---- contents ---------------------------------------------------------------------------------------------------- */

/* Returns the number of sender codes in an entry: none, asynchronous senders, synchronous senders. */
static uint32_t sender_codes(const aphi_state_space *sp)
{
    return 2 * (uint32_t)sp->model.component_count + 1;
}

uint32_t aphi_state_space_entry(const aphi_state_space *sp, uint32_t channel, uint32_t class, size_t sender,
                                uint32_t mark)
{
    uint32_t knowing = sp->model.channels[channel].has_sender ? (uint32_t)sender + 1 : 0;
    return (class * sender_codes(sp) + knowing) * sp->mark_count + mark;
}

/* Returns the entry of a synchronous message in a contended queue. */
static uint32_t sync_entry(const aphi_state_space *sp, uint32_t channel, uint32_t class, size_t sender, uint32_t mark)
{
    return aphi_state_space_entry(sp, channel, class, sender + sp->model.component_count, mark);
}

uint32_t aphi_state_space_class(const aphi_state_space *sp, uint32_t entry)
{
    return entry / sp->mark_count / sender_codes(sp);
}

static uint16_t entry_sender(const aphi_state_space *sp, uint32_t entry, const aphi_reduced_channel *channel)
{
    return channel->has_sender ? (uint16_t)((entry / sp->mark_count % sender_codes(sp) - 1) % sp->model.component_count)
                               : channel->sender;
}

static bool is_sync_entry(const aphi_state_space *sp, uint32_t entry)
{
    return entry / sp->mark_count % sender_codes(sp) > sp->model.component_count;
}

const uint32_t *aphi_state_space_content(const aphi_state_space *sp, const uint32_t *v, uint32_t channel, size_t *count)
{
    size_t size;
    const uint32_t *entries = aphi_intern_key(&sp->contents[channel], v[sp->model.component_count + channel], &size);
    *count = size / sizeof *entries;
    return entries;
}

/* Copies the content to scratch, with room for one more entry. */
static uint32_t *copy_content(aphi_state_space *sp, const uint32_t *v, uint32_t channel, size_t *count)
{
    const uint32_t *entries = aphi_state_space_content(sp, v, channel, count);
    APHI_RESERVE(sp->scratch, sp->scratch_capacity, *count + 1);
    if (*count)
        memcpy(sp->scratch, entries, *count * sizeof *entries);
    return sp->scratch;
}

static void store_content(aphi_state_space *sp, uint32_t *v, uint32_t channel, size_t count)
{
    v[sp->model.component_count + channel] =
        aphi_intern_number(&sp->contents[channel], sp->scratch, count * sizeof *sp->scratch);
}

void aphi_state_space_put(aphi_state_space *sp, uint32_t *v, uint32_t channel, uint32_t entry)
{
    size_t n;
    uint32_t *e = copy_content(sp, v, channel, &n);
    size_t at = n;
    while (sp->model.channels[channel].bag && at > 0 && e[at - 1] > entry)
        at--;
    memmove(&e[at + 1], &e[at], (n - at) * sizeof *e);
    e[at] = entry;
    store_content(sp, v, channel, n + 1);
}

static void remove_entry(aphi_state_space *sp, uint32_t *v, uint32_t channel, uint32_t entry)
{
    size_t n, at = 0;
    uint32_t *e = copy_content(sp, v, channel, &n);
    while (e[at] != entry)
        at++;
    memmove(&e[at], &e[at + 1], (n - at - 1) * sizeof *e);
    store_content(sp, v, channel, n - 1);
}

static int by_number(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? -1 : x > y;
}

static void clear_marks(aphi_state_space *sp, uint32_t *v, uint32_t channel)
{
    size_t n;
    uint32_t *e = copy_content(sp, v, channel, &n);
    for (size_t i = 0; i < n; i++)
        e[i] &= ~1u;
    if (sp->model.channels[channel].bag)
        qsort(e, n, sizeof *e, by_number);
    store_content(sp, v, channel, n);
}

/* ---- bits of knowledge ------------------------------------------------------------------------------------------- */

static uint64_t known_set(const aphi_state_space *sp, const uint32_t *v)
{
    return v[sp->size - 2] | (uint64_t)v[sp->size - 1] << 32;
}

static void set_known_set(const aphi_state_space *sp, uint32_t *v, uint64_t mask)
{
    v[sp->size - 2] = (uint32_t)mask;
    v[sp->size - 1] = (uint32_t)(mask >> 32);
}

static void mark_knowing(const aphi_state_space *sp, uint32_t *v, uint64_t mask)
{
    if (sp->latest_order)
        set_known_set(sp, v, known_set(sp, v) | mask);
}

bool aphi_state_space_is_marked(const aphi_state_space *sp, const uint32_t *v, size_t c)
{
    return sp->latest_order && known_set(sp, v) >> c & 1;
}

/* ---- setup ------------------------------------------------------------------------------------------------------- */

static void list_labels(aphi_state_space *sp)
{
    const aphi_reduced_model *g = &sp->model;
    sp->label_of = aphi_alloc_zero((g->words * 64 + 1) * sizeof *sp->label_of);
    for (size_t c = 0; c < g->component_count; c++)
        for (uint32_t i = 0; i < g->components[c].first[g->components[c].states]; i++) {
            const aphi_reduced_move *m = &g->components[c].moves[i];
            if (m->port < g->port_count && g->ports[m->port].owner == g->target && c != g->target)
                sp->label_of[m->class] = m->label;
        }
}

aphi_reduced_status aphi_state_space_init(aphi_state_space *sp, const aphi_alts *a, size_t target, bool races)
{
    *sp = (aphi_state_space){.races = races};
    aphi_reduced_status status = aphi_reduced_model_build(&sp->model, a, target, races);
    sp->latest_order = races && !sp->model.contended;
    sp->has_history = races && sp->model.contended;
    sp->mark_count = sp->has_history ? APHI_CAUSAL_STAMPS : 2;
    sp->size = sp->model.component_count + sp->model.channel_count + 2;
    if (sp->has_history) {
        aphi_causal_history_open(&sp->history, &sp->model);
        sp->size += aphi_causal_history_size(&sp->history) - 2;
    }
    sp->contents = aphi_alloc_zero((sp->model.channel_count + 1) * sizeof *sp->contents);
    for (size_t i = 0; i < sp->model.channel_count; i++)
        aphi_intern_number(&sp->contents[i], "", 0);
    if (status == APHI_REDUCED_READY)
        list_labels(sp);
    return status;
}

void aphi_state_space_free(aphi_state_space *sp)
{
    for (size_t i = 0; i < sp->model.channel_count; i++)
        aphi_intern_free(&sp->contents[i]);
    APHI_FREE_ALL(sp->contents, sp->steps, sp->label_of, sp->scratch);
    if (sp->has_history)
        aphi_causal_history_close(&sp->history);
    aphi_reduced_model_free(&sp->model);
}

void aphi_state_space_initial(aphi_state_space *sp, uint32_t *v)
{
    memset(v, 0, sp->size * sizeof *v);
    for (size_t c = 0; c < sp->model.component_count; c++)
        v[c] = sp->model.components[c].initial;
    if (sp->latest_order)
        set_known_set(sp, v, UINT64_MAX);
    if (sp->has_history)
        aphi_causal_history_start(&sp->history, aphi_state_space_history(sp, v));
}

uint32_t *aphi_state_space_history(const aphi_state_space *sp, uint32_t *v)
{
    return v + sp->model.component_count + sp->model.channel_count;
}

/* ---- sends without a choice -------------------------------------------------------------------------------------- */

static const aphi_reduced_move *only_move(const aphi_state_space *sp, const uint32_t *v, size_t c)
{
    const aphi_reduced_component *component = &sp->model.components[c];
    return &component->moves[component->first[v[c]]];
}

static bool is_removed(const aphi_state_space *sp, const uint32_t *v, size_t c)
{
    return v[c] == sp->model.components[c].states;
}

static bool is_full(const aphi_state_space *sp, const uint32_t *v, const aphi_reduced_port *port, size_t c)
{
    if (port->capacity_of[c] == 0)
        return false;
    uint32_t channel = port->channel_of[c];
    size_t n, own = 0;
    const uint32_t *e = aphi_state_space_content(sp, v, channel, &n);
    for (size_t i = 0; i < n; i++)
        own += entry_sender(sp, e[i], &sp->model.channels[channel]) == c;
    return own >= port->capacity_of[c];
}

static bool has_capacity(const aphi_state_space *sp, const aphi_reduced_port *port)
{
    for (size_t c = 0; c < sp->model.component_count; c++)
        if (port->capacity_of[c])
            return true;
    return false;
}

/* The fields of a message that the history needs. */
static aphi_causal_message message_of(const aphi_state_space *sp, size_t sender, const aphi_reduced_move *m)
{
    size_t receiver = sp->model.ports[m->port].owner;
    bool involves_target = sender == sp->model.target || receiver == sp->model.target;
    return (aphi_causal_message){
        .sender = sender, .receiver = receiver, .port = m->port, .label = involves_target ? m->label : 0};
}

/* Returns true if the contended queue holds all messages that its owner can still receive: later ones are never
 * received. With a capacity, senders may wait for room, so the result is false. */
static bool is_saturated(const aphi_state_space *sp, const uint32_t *v, const aphi_reduced_port *port)
{
    size_t n;
    aphi_state_space_content(sp, v, port->channel, &n);
    return n >= port->receives_left[v[port->owner]] && !has_capacity(sp, port);
}

static uint32_t record_send(aphi_state_space *sp, uint32_t *v, size_t c, const aphi_reduced_move *m)
{
    aphi_causal_message message = message_of(sp, c, m);
    return aphi_causal_history_add_send(&sp->history, aphi_state_space_history(sp, v), &message);
}

static void enqueue(aphi_state_space *sp, uint32_t *v, const aphi_reduced_port *port, size_t c,
                    const aphi_reduced_move *m)
{
    uint32_t channel = port->channel_of[c];
    bool sync = sp->model.components[c].kind[v[c]] == APHI_REDUCED_SYNC;
    mark_knowing(sp, v, UINT64_C(1) << c);
    uint32_t mark = sync ? 0 : sp->has_history ? record_send(sp, v, c, m) : aphi_state_space_is_marked(sp, v, c);
    aphi_state_space_put(sp, v, channel, (sync ? sync_entry : aphi_state_space_entry)(sp, channel, m->class, c, mark));
}

void aphi_state_space_local_event(aphi_state_space *sp, uint32_t *v)
{
    const aphi_reduced_move *m = only_move(sp, v, sp->model.target);
    if (sp->has_history)
        aphi_causal_history_add_local(&sp->history, aphi_state_space_history(sp, v), m->label);
    v[sp->model.target] = m->target;
}

bool aphi_state_space_send(aphi_state_space *sp, uint32_t *v, size_t c)
{
    const aphi_reduced_move *m = only_move(sp, v, c);
    const aphi_reduced_port *port = &sp->model.ports[m->port];
    if (!is_removed(sp, v, port->owner) && !(port->contended && is_saturated(sp, v, port))) {
        if (port->contended || is_full(sp, v, port, c))
            return false;
        enqueue(sp, v, port, c, m);
    } else if (sp->has_history) {
        record_send(sp, v, c, m);
    }
    v[c] = m->target;
    return true;
}

bool aphi_state_space_forced_receive(const aphi_state_space *sp, const uint32_t *v, size_t c, aphi_space_step *step)
{
    const aphi_reduced_model *g = &sp->model;
    const aphi_reduced_component *component = &g->components[c];
    uint32_t first = component->first[v[c]], end = component->first[v[c] + 1];
    if (component->kind[v[c]] != APHI_REDUCED_RECEIVE)
        return false;
    const aphi_reduced_port *port = &g->ports[component->moves[first].port];
    if (port->has_sync || port->contended || port->channels != 1 || g->channels[port->channel].bag ||
        v[g->component_count + port->channel] == 0)
        return false;
    size_t n;
    uint32_t front = aphi_state_space_content(sp, v, port->channel, &n)[0], found = end;
    for (uint32_t i = first; i < end; i++) {
        if (component->moves[i].port != component->moves[first].port)
            return false;
        if (component->moves[i].class == aphi_state_space_class(sp, front))
            found = i;
    }
    *step = (aphi_space_step){.move = found, .entry = front, .channel = port->channel, .agent = (uint16_t)c,
                              .sender = g->channels[port->channel].sender, .allowed = true};
    return found < end;
}

/* ---- steps ------------------------------------------------------------------------------------------------------- */

void aphi_state_space_clear_marks(aphi_state_space *sp, uint32_t *v)
{
    set_known_set(sp, v, 0);
    for (size_t i = 0; i < sp->model.channel_count; i++)
        if (v[sp->model.component_count + i])
            clear_marks(sp, v, (uint32_t)i);
}

/* Drops the messages that the owner of contended queues can no longer receive. */
static void truncate_queues(aphi_state_space *sp, uint32_t *v, size_t owner)
{
    for (size_t p = 0; sp->model.contended && p < sp->model.port_count; p++) {
        const aphi_reduced_port *port = &sp->model.ports[p];
        size_t n;
        if (port->owner != owner || !port->contended || !is_saturated(sp, v, port))
            continue;
        copy_content(sp, v, port->channel, &n);
        store_content(sp, v, port->channel, port->receives_left[v[owner]]);
    }
}

static void record_receive(aphi_state_space *sp, uint32_t *v, const aphi_space_step *step,
                           const aphi_reduced_move *m)
{
    /* The move of the sender has the exact label; that of the receiver may have a merged one. */
    aphi_causal_message message = message_of(sp, step->sender, step->sync ? only_move(sp, v, step->sender) : m);
    uint32_t state = step->agent == sp->model.target ? v[step->agent] : 0;
    message.stamp = step->entry % sp->mark_count;
    (step->sync ? aphi_causal_history_add_sync
     : aphi_causal_history_add_receive)(&sp->history, aphi_state_space_history(sp, v), &message, state);
}

void aphi_state_space_apply(aphi_state_space *sp, uint32_t *v, const aphi_space_step *step)
{
    const aphi_reduced_move *m = &sp->model.components[step->enqueues ? step->sender : step->agent].moves[step->move];
    uint64_t knowing = UINT64_C(1) << step->agent;
    if (step->enqueues) {
        enqueue(sp, v, &sp->model.ports[m->port], step->sender, m);
        v[step->sender] = step->sync ? v[step->sender] : m->target;
        return;
    }
    if (sp->has_history)
        record_receive(sp, v, step, m);
    v[step->agent] = m->target;
    if (step->channel != APHI_REDUCED_NO_CHANNEL)
        remove_entry(sp, v, step->channel, step->entry);
    truncate_queues(sp, v, step->agent);
    if (step->sync) {
        v[step->sender] = only_move(sp, v, step->sender)->target;
        knowing |= UINT64_C(1) << step->sender;
    }
    if (sp->latest_order && step->agent == sp->model.target)
        aphi_state_space_clear_marks(sp, v);
    mark_knowing(sp, v, knowing);
}

static void add_step(aphi_state_space *sp, aphi_space_step step)
{
    APHI_PUSH(sp->steps, sp->step_count, sp->step_capacity, step);
    sp->enabled |= UINT64_C(1) << step.agent;
    if (step.allowed)
        sp->allowed |= UINT64_C(1) << step.agent;
}

/* Returns true if entry i of a bag equals the one before it, or differs only in a mark that has no effect. */
static bool is_repeated(const uint32_t *e, size_t i, bool knowing)
{
    return i > 0 && (knowing ? e[i] >> 1 == e[i - 1] >> 1 : e[i] == e[i - 1]);
}

/* Adds the steps that take the entry with one of the moves step.move .. end - 1, which are all on its port. */
static void list_entry_steps(aphi_state_space *sp, aphi_space_step step, uint32_t end)
{
    const aphi_reduced_move *moves = sp->model.components[step.agent].moves;
    uint32_t class = aphi_state_space_class(sp, step.entry);
    for (; step.move < end; step.move++)
        if (moves[step.move].class == class)
            add_step(sp, step);
}

static void list_channel_steps(aphi_state_space *sp, const uint32_t *v, aphi_space_step step, uint32_t end)
{
    const aphi_reduced_channel *channel = &sp->model.channels[step.channel];
    bool knowing = !sp->latest_order || aphi_state_space_is_marked(sp, v, step.agent);
    size_t n;
    const uint32_t *e = aphi_state_space_content(sp, v, step.channel, &n);
    for (size_t i = 0; i < (channel->bag ? n : n > 0); i++) {
        if (channel->bag && is_repeated(e, i, sp->latest_order && knowing))
            continue;
        step.entry = e[i];
        step.sender = entry_sender(sp, e[i], channel);
        step.allowed = knowing || e[i] % sp->mark_count;
        step.sync = is_sync_entry(sp, e[i]);
        step.duplicate = channel->bag && i + 1 < n && e[i] / sp->mark_count == e[i + 1] / sp->mark_count;
        list_entry_steps(sp, step, end);
    }
}

/* Returns true if an earlier message of c to an ordered port is still in transit. */
static bool has_earlier_message(const aphi_state_space *sp, const uint32_t *v, const aphi_reduced_port *port, size_t c)
{
    uint32_t channel = port->channel_of[c];
    if (!port->ordered || channel == APHI_REDUCED_NO_CHANNEL)
        return false;
    size_t n;
    const uint32_t *e = aphi_state_space_content(sp, v, channel, &n);
    for (size_t i = 0; i < n; i++)
        if (entry_sender(sp, e[i], &sp->model.channels[channel]) == c)
            return true;
    return false;
}

static void list_sync_steps(aphi_state_space *sp, const uint32_t *v, aphi_space_step step, const aphi_reduced_move *m)
{
    for (size_t c = 0; c < sp->model.component_count; c++) {
        const aphi_reduced_move *send = only_move(sp, v, c);
        if (sp->model.components[c].kind[v[c]] != APHI_REDUCED_SYNC || send->class != m->class ||
            has_earlier_message(sp, v, &sp->model.ports[m->port], c))
            continue;
        step.sender = (uint16_t)c;
        step.sync = true;
        step.allowed = !sp->latest_order || aphi_state_space_is_marked(sp, v, step.agent) ||
                       aphi_state_space_is_marked(sp, v, c);
        add_step(sp, step);
    }
}

/* Consecutive receives on one port are handled together: most channels are empty. */
static void list_receives(aphi_state_space *sp, const uint32_t *v, size_t agent)
{
    const aphi_reduced_component *component = &sp->model.components[agent];
    uint32_t end = component->first[v[agent] + 1], next;
    for (uint32_t i = component->first[v[agent]]; i < end; i = next) {
        const aphi_reduced_port *port = &sp->model.ports[component->moves[i].port];
        for (next = i + 1; next < end && component->moves[next].port == component->moves[i].port;)
            next++;
        aphi_space_step step = {.move = i, .agent = (uint16_t)agent, .channel = APHI_REDUCED_NO_CHANNEL};
        for (; port->has_sync && !port->contended && step.move < next; step.move++)
            list_sync_steps(sp, v, step, &component->moves[step.move]);
        step.move = i;
        for (uint32_t k = 0; k < port->channels; k++) {
            step.channel = port->channel + k;
            if (v[sp->model.component_count + step.channel])
                list_channel_steps(sp, v, step, next);
        }
    }
}

typedef struct availability {
    const aphi_state_space *sp;
    const uint32_t *v;
    const aphi_space_step *taken;
    aphi_race_candidate *found;
    size_t count, capacity;
} availability;

/* Adds the first message of a queue, or all messages of a bag. */
static void add_channel_messages(availability *a, uint32_t channel)
{
    const aphi_reduced_channel *c = &a->sp->model.channels[channel];
    bool is_taken = a->taken && a->taken->channel == channel;
    size_t n;
    const uint32_t *e = aphi_state_space_content(a->sp, a->v, channel, &n);
    for (size_t i = 0; i < (c->bag ? n : n > 0 && !is_taken); i++) {
        if (is_taken && e[i] == a->taken->entry) {
            is_taken = false;
            continue;
        }
        APHI_PUSH(a->found, a->count, a->capacity,
                  (aphi_race_candidate){c->port, a->sp->label_of[aphi_state_space_class(a->sp, e[i])],
                                        entry_sender(a->sp, e[i], c)});
    }
}

static void add_sync_messages(availability *a)
{
    const aphi_reduced_model *g = &a->sp->model;
    for (size_t c = 0; c < g->component_count; c++) {
        if (is_removed(a->sp, a->v, c) || g->components[c].kind[a->v[c]] != APHI_REDUCED_SYNC)
            continue;
        const aphi_reduced_move *m = only_move(a->sp, a->v, c);
        bool is_taken = a->taken && a->taken->sync && a->taken->sender == c;
        if (g->ports[m->port].owner == g->target && !is_taken &&
            !has_earlier_message(a->sp, a->v, &g->ports[m->port], c))
            APHI_PUSH(a->found, a->count, a->capacity, (aphi_race_candidate){m->port, m->label, (uint32_t)c});
    }
}

size_t aphi_state_space_available(const aphi_state_space *sp, const uint32_t *v, const aphi_space_step *taken,
                                  aphi_race_candidate **found)
{
    availability a = {.sp = sp, .v = v, .taken = taken};
    for (uint32_t i = 0; i < sp->model.channel_count; i++)
        if (sp->model.ports[sp->model.channels[i].port].owner == sp->model.target)
            add_channel_messages(&a, i);
    add_sync_messages(&a);
    *found = a.found;
    return a.count;
}

/* Returns true if the synchronous message of c is in the contended queue already. */
static bool is_queued(const aphi_state_space *sp, const uint32_t *v, const aphi_reduced_port *port, size_t c)
{
    size_t n;
    const uint32_t *e = aphi_state_space_content(sp, v, port->channel, &n);
    for (size_t i = 0; i < n; i++)
        if (is_sync_entry(sp, e[i]) && entry_sender(sp, e[i], &sp->model.channels[port->channel]) == c)
            return true;
    return false;
}

static void list_enqueues(aphi_state_space *sp, const uint32_t *v, size_t agent)
{
    for (size_t c = 0; c < sp->model.component_count; c++) {
        bool sync = sp->model.components[c].kind[v[c]] == APHI_REDUCED_SYNC;
        if (!sync && sp->model.components[c].kind[v[c]] != APHI_REDUCED_SEND)
            continue;
        const aphi_reduced_port *port = &sp->model.ports[only_move(sp, v, c)->port];
        if (port->contended && port->owner == agent && !is_saturated(sp, v, port) &&
            !(sync ? is_queued(sp, v, port, c) : is_full(sp, v, port, c)))
            add_step(sp, (aphi_space_step){.move = sp->model.components[c].first[v[c]], .agent = (uint16_t)agent,
                                           .sender = (uint16_t)c, .enqueues = true, .sync = sync, .allowed = true});
    }
}

void aphi_state_space_list_steps(aphi_state_space *sp, const uint32_t *v)
{
    sp->step_count = 0;
    sp->enabled = sp->allowed = 0;
    for (size_t c = 0; c < sp->model.component_count; c++) {
        sp->first_step[c] = (uint32_t)sp->step_count;
        if (is_removed(sp, v, c))
            continue;
        if (sp->model.components[c].kind[v[c]] == APHI_REDUCED_RECEIVE)
            list_receives(sp, v, c);
        if (sp->model.contended)
            list_enqueues(sp, v, c);
    }
    sp->first_step[sp->model.component_count] = (uint32_t)sp->step_count;
}

/* ---- relevance, and possible future steps ------------------------------------------------------------------------ */

void aphi_state_space_prune(aphi_state_space *sp, uint32_t *v, uint64_t also)
{
    const aphi_reduced_model *g = &sp->model;
    uint64_t relevant = UINT64_C(1) << g->target | also, before;
    do {
        before = relevant;
        for (size_t c = 0; c < g->component_count; c++)
            if (relevant >> c & 1)
                relevant |= g->components[c].needs[v[c]];
            else if (g->components[c].may_reach[v[c]] & relevant)
                relevant |= UINT64_C(1) << c;
    } while (relevant != before);
    for (size_t c = 0; c < g->component_count; c++)
        if (!(relevant >> c & 1) && !is_removed(sp, v, c)) {
            v[c] = g->components[c].states;
            if (sp->has_history)
                aphi_causal_history_clear_clock(&sp->history, aphi_state_space_history(sp, v), c);
        }
    for (size_t i = 0; i < g->channel_count; i++)
        if (!(relevant >> g->ports[g->channels[i].port].owner & 1))
            v[g->component_count + i] = 0;
    if (sp->latest_order)
        set_known_set(sp, v, known_set(sp, v) & relevant);
}

/* Returns true if sends of c to the port may add a choice of the owner. */
static bool may_add_choice(const aphi_state_space *sp, const uint32_t *v, const aphi_reduced_port *port, size_t c,
                           size_t owner)
{
    const aphi_reduced_model *g = &sp->model;
    uint32_t channel = port->channel_of[c];
    if (channel != APHI_REDUCED_NO_CHANNEL && v[g->component_count + channel] && !port->has_sync &&
        (!g->channels[channel].bag || (port->single_class && !sp->races)))
        return false;
    const uint64_t *may_send = &g->components[c].may_send[v[c] * g->words];
    const uint64_t *accepts = &g->components[owner].accepts[v[owner] * g->words];
    for (uint32_t i = port->word; i < port->word + port->words; i++)
        if (may_send[i] & accepts[i])
            return true;
    return false;
}

static uint64_t find_enablers(const aphi_state_space *sp, const uint32_t *v, size_t owner)
{
    const aphi_reduced_model *g = &sp->model;
    const aphi_reduced_component *component = &g->components[owner];
    uint64_t found = 0;
    for (size_t c = 0; sp->model.contended && c < g->component_count; c++)
        if (g->components[c].contends_for[v[c]] >> owner & 1)
            found |= UINT64_C(1) << c;
    if (component->kind[v[owner]] != APHI_REDUCED_RECEIVE)
        return found;
    for (uint32_t i = component->first[v[owner]]; i < component->first[v[owner] + 1]; i++) {
        if (i > component->first[v[owner]] && component->moves[i].port == component->moves[i - 1].port)
            continue;
        const aphi_reduced_port *port = &g->ports[component->moves[i].port];
        for (size_t c = 0; c < g->component_count; c++)
            if (g->components[c].may_reach[v[c]] >> owner & 1 && may_add_choice(sp, v, port, c, owner))
                found |= UINT64_C(1) << c;
    }
    return found;
}

void aphi_state_space_find_enablers(aphi_state_space *sp, const uint32_t *v)
{
    const aphi_reduced_model *g = &sp->model;
    for (size_t c = 0; c < g->component_count; c++) {
        uint8_t kind = g->components[c].kind[v[c]];
        sp->enablers[c] = find_enablers(sp, v, c);
        sp->waits_for[c] = 0;
        if (kind == APHI_REDUCED_SEND || kind == APHI_REDUCED_SYNC)
            sp->waits_for[c] = UINT64_C(1) << g->ports[only_move(sp, v, c)->port].owner;
    }
}

uint64_t aphi_state_space_movable(const aphi_state_space *sp, uint64_t from, uint64_t frozen)
{
    uint64_t movable = from & ~frozen, before;
    do {
        before = movable;
        for (size_t c = 0; c < sp->model.component_count; c++)
            if (!((movable | frozen) >> c & 1) && (sp->enablers[c] | sp->waits_for[c]) & movable)
                movable |= UINT64_C(1) << c;
    } while (movable != before);
    return movable;
}
