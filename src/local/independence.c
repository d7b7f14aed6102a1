/* SPDX-License-Identifier: Apache-2.0
 *
 * independence.c - independence of a step, decided by a simulation game between two copies of a cluster.
 *
 * Idea:       both copies start in the same state. The first takes the step t in advance. The second makes any choice,
 *             and the first makes the same choice. The messages that the first has sent and the second has not are the
 *             lead, a list for each channel. The step is independent if, for all choices of the second,
 *             1. the first can make the same choice, and the second sends the messages at the beginning of the lead
 *             2. until the second takes t, it can always continue by itself: it takes t in every complete run
 *             3. when it takes t, both are in the same state and the lead is empty
 *             After each choice both copies run to rest: they take all inner steps that are independent, by the same
 *             game. Otherwise a member that is busy with a message of t could not follow. The first copy may run to
 *             rest earlier, so it need not match an inner step that it cannot take.
 *
 *                 second   o --x--> o --y--> o --t--> o
 *                          |        |        |       //     first: always in the state of the second after t
 *                 first    o --x--> o --y--> o  =====
 *
 *             The environment is overapproximated: it may send any message that a sender ever sends on a channel, while
 *             that sender has sends left. Components are acyclic, so the game ends; results are memoized.
 * Races:      the copies also have marks: what depends on the target's last receive (sequence_search.c). The target is
 *             in no cluster. A choice needs a marked message or member, and the messages of the lead have their marks.
 *             The environment may clear all marks of both copies at any time, as when the target receives. So a step is
 *             independent only if it does not change which messages depend on which receives. If the second copy has
 *             not taken t when the marks are cleared, and no marked message can reach the cluster any more, it can
 *             never take t: there is no such run. The messages that may be marked after a receive of the target are
 *             overapproximated (phases).
 * Cost:       at most the states of a cluster times its steps; a lost game usually ends early. */
#include "local/state_space.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

enum { CLUSTER_MAX = 4, STATES_MAX = 1 << 21, VISIBLE = INT32_MAX };

typedef struct channel_entry {
    uint32_t channel, entry;       /* VISIBLE: an event of the target */
} channel_entry;

typedef struct cluster_info {
    uint64_t members, receivers; /* receivers: components to which they ever send */
    bool usable;
    uint32_t *inner, *outer;     /* channels to members: from members, from the environment */
    size_t inner_count, outer_count;
} cluster_info;

typedef struct choice {
    uint32_t agent, channel, entry, sender;
} choice;

typedef struct result {
    uint32_t state, sent;          /* state NONE: the choice is not enabled */
} result;

static const uint32_t NONE = UINT32_MAX;

struct aphi_independence {
    aphi_state_space *space;
    cluster_info *clusters;   /* by component; equal for all members */
    uint32_t *phase_of;       /* with races, by state of the target: number in `phases` */
    aphi_intern phases;       /* sets of classes */
    channel_entry **possible; /* by channel: all entries that may ever enter it; their field `channel` is the sender */
    size_t *possible_count;
    uint64_t **may_receive;   /* by component and state: classes that it may still receive */
    aphi_intern states, sent, taken, games, unrested;
    result *results;          /* by key of taken */
    result *rested;           /* by key of unrested: the state at rest */
    uint8_t *won;             /* by key of games */
    size_t result_capacity, won_capacity, rested_capacity;
    uint32_t nothing;         /* number in `sent` of the empty list */
    uint32_t *v, *state;      /* scratch */
    channel_entry *log;
    size_t log_count, log_capacity;
};

/* ---- clusters ---------------------------------------------------------------------------------------------------- */

static uint64_t senders_of(const aphi_reduced_model *g, size_t port)
{
    uint64_t found = 0;
    for (size_t c = 0; c < g->component_count; c++)
        for (uint32_t s = 0; s < g->components[c].states; s++) {
            uint8_t kind = g->components[c].kind[s];
            if ((kind == APHI_REDUCED_SEND || kind == APHI_REDUCED_SYNC) &&
                g->components[c].moves[g->components[c].first[s]].port == port)
                found |= UINT64_C(1) << c;
        }
    return found;
}

/* Merges the clusters of a port's only sender and its owner, unless the result is too large. */
static void merge_clusters(aphi_independence *k, uint64_t senders, size_t owner)
{
    if (__builtin_popcountll(senders) != 1)
        return;
    uint64_t both = k->clusters[owner].members | k->clusters[__builtin_ctzll(senders)].members;
    bool with_target = k->space->races && both >> k->space->model.target & 1;
    if (__builtin_popcountll(both) > CLUSTER_MAX || with_target)
        return;
    for (size_t c = 0; c < k->space->model.component_count; c++)
        if (both >> c & 1)
            k->clusters[c].members = both;
}

/* Marks a cluster unusable if a send from outside is synchronous or may wait, or a queue is contended. */
static void check_port(aphi_independence *k, const aphi_reduced_port *port, uint64_t senders)
{
    uint64_t inside = k->clusters[port->owner].members;
    for (size_t c = 0; c < k->space->model.component_count; c++) {
        bool crosses = senders >> c & 1 && !(inside >> c & 1);
        if (port->contended || (crosses && (port->has_sync || port->capacity_of[c])))
            for (size_t i = 0; i < k->space->model.component_count; i++)
                if (inside >> i & 1 || (senders >> c & 1 && k->clusters[c].members >> i & 1))
                    k->clusters[i].usable = false;
    }
}

static void list_channels(aphi_independence *k, cluster_info *cluster)
{
    const aphi_reduced_model *g = &k->space->model;
    cluster->inner = aphi_alloc((g->channel_count + 1) * sizeof *cluster->inner);
    cluster->outer = aphi_alloc((g->channel_count + 1) * sizeof *cluster->outer);
    for (uint32_t i = 0; i < g->channel_count; i++) {
        const aphi_reduced_port *port = &g->ports[g->channels[i].port];
        if (!(cluster->members >> port->owner & 1))
            continue;
        bool outside = false, inside = false;
        for (size_t c = 0; c < g->component_count; c++)
            if (port->channel_of[c] == i)
                *(cluster->members >> c & 1 ? &inside : &outside) = true;
        if (inside && outside)
            cluster->usable = false;       /* the bag is filled from inside and outside */
        if (outside)
            cluster->outer[cluster->outer_count++] = i;
        else
            cluster->inner[cluster->inner_count++] = i;
    }
}

static void make_clusters(aphi_independence *k)
{
    const aphi_reduced_model *g = &k->space->model;
    k->clusters = aphi_alloc_zero((g->component_count + 1) * sizeof *k->clusters);
    uint64_t *senders = aphi_alloc((g->port_count + 1) * sizeof *senders);
    for (size_t c = 0; c < g->component_count; c++)
        k->clusters[c] = (cluster_info){.members = UINT64_C(1) << c, .usable = !k->space->races || c != g->target};
    for (size_t p = 0; p < g->port_count; p++)
        merge_clusters(k, senders[p] = senders_of(g, p), g->ports[p].owner);
    for (size_t p = 0; p < g->port_count; p++)
        check_port(k, &g->ports[p], senders[p]);
    for (size_t c = 0; c < g->component_count; c++) {
        list_channels(k, &k->clusters[c]);
        for (size_t i = 0; i < g->component_count; i++)
            if (k->clusters[c].members >> i & 1)
                k->clusters[c].receivers |= g->components[i].may_reach[g->components[i].initial];
    }
    free(senders);
}

static void add_possible(aphi_independence *k, uint32_t channel, uint32_t entry, uint32_t sender)
{
    size_t n = k->possible_count[channel];
    for (size_t i = 0; i < n; i++)
        if (k->possible[channel][i].entry == entry)
            return;
    k->possible[channel] = aphi_realloc(k->possible[channel], (n + 1) * sizeof **k->possible);
    k->possible[channel][k->possible_count[channel]++] = (channel_entry){sender, entry};
}

static void list_possible(aphi_independence *k)
{
    const aphi_reduced_model *g = &k->space->model;
    k->possible = aphi_alloc_zero((g->channel_count + 1) * sizeof *k->possible);
    k->possible_count = aphi_alloc_zero((g->channel_count + 1) * sizeof *k->possible_count);
    for (size_t c = 0; c < g->component_count; c++)
        for (uint32_t s = 0; s < g->components[c].states; s++) {
            const aphi_reduced_move *m = &g->components[c].moves[g->components[c].first[s]];
            if (g->components[c].kind[s] != APHI_REDUCED_SEND)
                continue;
            uint32_t channel = g->ports[m->port].channel_of[c];
            add_possible(k, channel, aphi_state_space_entry(k->space, channel, m->class, c, false), (uint32_t)c);
        }
}

/* Computes a fixpoint; components are acyclic and small, so there are few rounds. */
static uint64_t *may_receive_of(const aphi_reduced_model *g, const aphi_reduced_component *comp)
{
    size_t size = ((size_t)comp->states + 1) * g->words;
    uint64_t *may_receive = aphi_alloc((size + 1) * sizeof *may_receive);
    memcpy(may_receive, comp->accepts, size * sizeof *may_receive);
    for (bool again = true; again;) {
        again = false;
        for (uint32_t s = comp->states; s-- > 0;)
            for (uint32_t i = comp->first[s]; i < comp->first[s + 1]; i++)
                for (size_t w = 0; w < g->words; w++) {
                    uint64_t more = may_receive[comp->moves[i].target * g->words + w] & ~may_receive[s * g->words + w];
                    may_receive[s * g->words + w] |= more;
                    again |= more != 0;
                }
    }
    return may_receive;
}

static void list_may_receive(aphi_independence *k)
{
    const aphi_reduced_model *g = &k->space->model;
    k->may_receive = aphi_alloc((g->component_count + 1) * sizeof *k->may_receive);
    for (size_t c = 0; c < g->component_count; c++)
        k->may_receive[c] = may_receive_of(g, &g->components[c]);
}

/* ---- phases: which messages may depend on the target's next receive ---------------------------------------------- */

static bool add_classes(const aphi_reduced_model *g, uint64_t *set, const uint64_t *more)
{
    bool any = false;
    for (size_t w = 0; w < g->words; w++) {
        any |= (more[w] & ~set[w]) != 0;
        set[w] |= more[w];
    }
    return any;
}

/* Adds the classes that a component may send after it has received one of the set. */
static bool add_consequences(const aphi_reduced_model *g, const aphi_reduced_component *c, uint64_t *set)
{
    bool any = false;
    for (uint32_t s = 0; s < c->states; s++)
        for (uint32_t i = c->first[s]; c->kind[s] == APHI_REDUCED_RECEIVE && i < c->first[s + 1]; i++)
            if (set[c->moves[i].class / 64] >> c->moves[i].class % 64 & 1)
                any |= add_classes(g, set, &c->may_send[c->moves[i].target * g->words]);
    return any;
}

/* Computes the classes of messages that may depend on a receive that the target makes in this state or later. */
static void find_phase(const aphi_reduced_model *g, uint32_t state, uint64_t *set)
{
    const aphi_reduced_component *target = &g->components[g->target];
    memset(set, 0, g->words * sizeof *set);
    if (target->kind[state] != APHI_REDUCED_RECEIVE)
        add_classes(g, set, &target->may_send[state * g->words]);
    else
        for (uint32_t i = target->first[state]; i < target->first[state + 1]; i++)
            add_classes(g, set, &target->may_send[target->moves[i].target * g->words]);
    for (bool again = true; again;) {
        again = false;
        for (size_t c = 0; c < g->component_count; c++)
            if (c != g->target)
                again |= add_consequences(g, &g->components[c], set);
    }
}

/* A synchronous sender depends on its receiver, and so does one that waits for capacity: there, any message may. */
static bool has_waiting_senders(const aphi_reduced_model *g)
{
    for (size_t p = 0; p < g->port_count; p++) {
        if (g->ports[p].has_sync)
            return true;
        for (size_t c = 0; c < g->component_count; c++)
            if (g->ports[p].capacity_of[c])
                return true;
    }
    return false;
}

static void list_phases(aphi_independence *k)
{
    const aphi_reduced_model *g = &k->space->model;
    const aphi_reduced_component *target = &g->components[g->target];
    uint64_t *set = aphi_alloc((g->words + 1) * sizeof *set);
    bool any = has_waiting_senders(g);
    k->phase_of = aphi_alloc((target->states + 1) * sizeof *k->phase_of);
    for (uint32_t s = 0; s <= target->states; s++) {
        if (any)
            memset(set, 0xff, g->words * sizeof *set);
        else
            find_phase(g, s, set);
        k->phase_of[s] = aphi_intern_number(&k->phases, set, g->words * sizeof *set);
    }
    free(set);
}

aphi_independence *aphi_independence_open(aphi_state_space *space)
{
    aphi_independence *k = aphi_alloc_zero(sizeof *k);
    k->space = space;
    k->v = aphi_alloc(space->size * sizeof *k->v);
    k->state = aphi_alloc((space->size + 6) * sizeof *k->state);
    k->nothing = aphi_intern_number(&k->sent, NULL, 0);
    make_clusters(k);
    list_possible(k);
    list_may_receive(k);
    if (space->races)
        list_phases(k);
    return k;
}

void aphi_independence_close(aphi_independence *k)
{
    for (size_t c = 0; c < k->space->model.component_count; c++) {
        APHI_FREE_ALL(k->clusters[c].inner, k->clusters[c].outer, k->may_receive[c]);
    }
    for (size_t i = 0; i < k->space->model.channel_count; i++)
        free(k->possible[i]);
    aphi_intern_free(&k->states);
    aphi_intern_free(&k->sent);
    aphi_intern_free(&k->taken);
    aphi_intern_free(&k->games);
    aphi_intern_free(&k->unrested);
    aphi_intern_free(&k->phases);
    APHI_FREE_ALL(k->phase_of, k->clusters, k->possible, k->possible_count, k->may_receive, k->results, k->rested,
                  k->won, k->v, k->state, k->log, k);
}

/* ---- cluster states: member states, inner channels, budgets of the environment, removed components, phase, marks */

/* Returns true if the owner may still receive from the channel. */
static bool is_open(const aphi_independence *k, uint32_t channel, const uint32_t *v)
{
    const aphi_reduced_model *g = &k->space->model;
    size_t owner = g->ports[g->channels[channel].port].owner;
    const uint64_t *may_receive = &k->may_receive[owner][v[owner] * g->words];
    for (size_t i = 0; i < k->possible_count[channel]; i++) {
        uint32_t class = aphi_state_space_class(k->space, k->possible[channel][i].entry);
        if (may_receive[class / 64] >> class % 64 & 1)
            return true;
    }
    return false;
}

/* Interns a cluster state, without irrelevant budgets and removed components. */
static uint32_t intern_state(aphi_independence *k, const cluster_info *cluster, const uint32_t *v,
                             const uint32_t *budgets, uint64_t removed, uint32_t phase)
{
    size_t n = 0;
    uint64_t receivers = 0;
    for (size_t c = 0; c < k->space->model.component_count; c++)
        if (cluster->members >> c & 1) {
            k->state[n++] = v[c];
            receivers |= k->space->model.components[c].may_reach[v[c]];
        }
    removed &= receivers;
    for (size_t i = 0; i < cluster->inner_count; i++)
        k->state[n++] = v[k->space->model.component_count + cluster->inner[i]];
    for (size_t i = 0; i < cluster->outer_count; i++)
        k->state[n++] = budgets[i] && is_open(k, cluster->outer[i], v) ? budgets[i] : 0;
    k->state[n++] = (uint32_t)removed;
    k->state[n++] = (uint32_t)(removed >> 32);
    k->state[n++] = phase;
    for (size_t c = 0; c < 2; c++)
        k->state[n++] = v[k->space->size - 2 + c] & (uint32_t)(cluster->members >> 32 * c);
    k->state[n++] = (uint32_t)__builtin_ctzll(cluster->members);
    return aphi_intern_number(&k->states, k->state, n * sizeof *k->state);
}

/* Loads a cluster state into k->v, with all other components removed. Returns the budgets, followed by two words of
 * removed components and the phase; valid until a state is interned. */
static const uint32_t *load_state(aphi_independence *k, const cluster_info *cluster, uint32_t state)
{
    const aphi_reduced_model *g = &k->space->model;
    const uint32_t *p = aphi_intern_key(&k->states, state, NULL);
    memset(k->v, 0, k->space->size * sizeof *k->v);
    for (size_t c = 0; c < g->component_count; c++)
        k->v[c] = cluster->members >> c & 1 ? *p++ : g->components[c].states;
    for (size_t i = 0; i < cluster->inner_count; i++)
        k->v[g->component_count + cluster->inner[i]] = *p++;
    for (size_t i = 0; i < 2; i++)
        k->v[k->space->size - 2 + i] = p[cluster->outer_count + 3 + i];
    return p;
}

/* Returns the number of messages that may still be taken from a channel. A bag needs no count. */
static uint32_t message_budget(const aphi_independence *k, const uint32_t *v, uint32_t channel)
{
    const aphi_reduced_channel *c = &k->space->model.channels[channel];
    if (!c->sends_left)
        return 1;
    size_t n;
    aphi_state_space_content(k->space, v, channel, &n);
    return (uint32_t)n + c->sends_left[v[c->sender]];
}

static uint32_t current_state(aphi_independence *k, const cluster_info *cluster, const uint32_t *v)
{
    uint32_t *budgets = aphi_alloc((cluster->outer_count + 1) * sizeof *budgets);
    for (size_t i = 0; i < cluster->outer_count; i++)
        budgets[i] = message_budget(k, v, cluster->outer[i]);
    uint64_t removed = 0;
    for (size_t c = 0; c < k->space->model.component_count; c++)
        if (cluster->receivers >> c & 1 && v[c] == k->space->model.components[c].states)
            removed |= UINT64_C(1) << c;
    uint32_t phase = k->space->races ? k->phase_of[v[k->space->model.target]] * 2 : 0;
    uint32_t state = intern_state(k, cluster, v, budgets, removed & ~cluster->members, phase);
    free(budgets);
    return state;
}

/* ---- choices ----------------------------------------------------------------------------------------------------- */

static void log_send(aphi_independence *k, uint32_t channel, uint32_t entry)
{
    APHI_RESERVE(k->log, k->log_capacity, k->log_count + 1);
    size_t at = k->log_count++;
    for (; at > 0 && k->log[at - 1].channel > channel; at--)
        k->log[at] = k->log[at - 1];
    k->log[at] = (channel_entry){channel, entry};
}

/* Performs the sends of a member until it waits. Returns false if there were none. Drops sends to removed ones. */
static bool settle_member(aphi_independence *k, const cluster_info *cluster, size_t c, uint64_t removed)
{
    const aphi_reduced_model *g = &k->space->model;
    const aphi_reduced_component *comp = &g->components[c];
    for (uint32_t start = k->v[c];;) {
        uint32_t first = comp->first[k->v[c]];
        const aphi_reduced_move *m = &comp->moves[first];
        uint8_t kind = comp->kind[k->v[c]];
        if (kind == APHI_REDUCED_LOCAL) {
            k->v[c] = m->target;
        } else {
            if (kind != APHI_REDUCED_SEND || !aphi_state_space_send(k->space, k->v, c))
                return k->v[c] != start;
            const aphi_reduced_port *port = &g->ports[m->port];
            if (!((cluster->members | removed) >> port->owner & 1))
                log_send(k, port->channel_of[c],
                         aphi_state_space_entry(k->space, port->channel_of[c], m->class, c, k->space->races));
        }
        if (c == g->target)
            log_send(k, VISIBLE, first);
    }
}

/* Takes a forced receive from another member. With races, it may have to wait for a mark. */
static bool receive_forced(aphi_independence *k, const cluster_info *cluster, size_t c)
{
    aphi_space_step step;
    if (k->space->races || !aphi_state_space_forced_receive(k->space, k->v, c, &step) ||
        !(cluster->members >> step.sender & 1))
        return false;
    if (c == k->space->model.target)
        log_send(k, VISIBLE, step.move);
    aphi_state_space_apply(k->space, k->v, &step);
    return true;
}

static void settle_members(aphi_independence *k, const cluster_info *cluster, uint64_t removed)
{
    for (bool again = true; again;) {
        again = false;
        for (size_t c = 0; c < k->space->model.component_count; c++)
            if (cluster->members >> c & 1) {
                again |= settle_member(k, cluster, c, removed);
                again |= receive_forced(k, cluster, c);
            }
    }
}

static uint32_t choice_port(const aphi_independence *k, const choice *x)
{
    const aphi_reduced_model *g = &k->space->model;
    if (x->channel != APHI_REDUCED_NO_CHANNEL)
        return g->channels[x->channel].port;
    return g->components[x->sender].moves[g->components[x->sender].first[k->v[x->sender]]].port;
}

/* Returns the move by which the agent makes the choice in k->v, or NONE. Assumes that the message is available. */
static uint32_t find_move(const aphi_independence *k, const choice *x)
{
    const aphi_reduced_component *comp = &k->space->model.components[x->agent];
    uint32_t s = k->v[x->agent];
    if (comp->kind[s] != APHI_REDUCED_RECEIVE)
        return NONE;
    const aphi_reduced_component *sender = &k->space->model.components[x->sender];
    bool sync = x->channel == APHI_REDUCED_NO_CHANNEL;
    if (sync && sender->kind[k->v[x->sender]] != APHI_REDUCED_SYNC)
        return NONE;
    uint32_t class =
        sync ? sender->moves[sender->first[k->v[x->sender]]].class : aphi_state_space_class(k->space, x->entry);
    uint32_t port = choice_port(k, x);
    for (uint32_t i = comp->first[s]; i < comp->first[s + 1]; i++)
        if (comp->moves[i].class == class && comp->moves[i].port == port)
            return i;
    return NONE;
}

static bool is_same_choice(const choice *x, const choice *y)
{
    return x->agent == y->agent && x->channel == y->channel && x->entry == y->entry && x->sender == y->sender;
}

/* Returns true if the choice is an enabled step within the cluster, and allowed. */
static bool is_inner_step(aphi_independence *k, const choice *x)
{
    aphi_state_space_list_steps(k->space, k->v);
    for (size_t i = 0; i < k->space->step_count; i++) {
        const aphi_space_step *s = &k->space->steps[i];
        bool sync = s->channel == APHI_REDUCED_NO_CHANNEL;
        if (s->agent == x->agent && s->channel == x->channel && (sync ? s->sender == x->sender : s->entry == x->entry))
            return s->allowed;
    }
    return false;
}

/* Returns true if a message from outside may be received in k->v: it or its receiver is marked. */
static bool is_allowed(const aphi_independence *k, const choice *x)
{
    return !k->space->races || aphi_state_space_is_marked(k->space, k->v, x->agent) || x->entry % 2;
}

/* Returns the index of an outer channel, or outer_count. */
static size_t outer_index(const cluster_info *cluster, uint32_t channel)
{
    size_t i = 0;
    while (i < cluster->outer_count && cluster->outer[i] != channel)
        i++;
    return i;
}

static result compute_step(aphi_independence *k, const cluster_info *cluster, uint32_t state, const choice *x)
{
    const uint32_t *from = load_state(k, cluster, state);
    uint32_t *budgets = aphi_copy(from, (cluster->outer_count + 3) * sizeof *budgets);
    uint64_t removed = from[cluster->outer_count] | (uint64_t)from[cluster->outer_count + 1] << 32;
    size_t outer = outer_index(cluster, x->channel);
    result r = {NONE, 0};
    uint32_t move = find_move(k, x);
    if (move != NONE &&
        (outer < cluster->outer_count ? budgets[outer] > 0 && is_allowed(k, x) : is_inner_step(k, x))) {
        if (outer < cluster->outer_count) {
            budgets[outer] -= k->space->model.channels[x->channel].sends_left != NULL;
            aphi_state_space_put(k->space, k->v, x->channel, x->entry);
        }
        bool sync = x->channel == APHI_REDUCED_NO_CHANNEL;
        aphi_space_step step = {.move = move, .entry = x->entry, .channel = x->channel, .agent = (uint16_t)x->agent,
                                .sender = (uint16_t)x->sender, .sync = sync};
        k->log_count = 0;
        if (x->agent == k->space->model.target || (sync && x->sender == k->space->model.target)) {
            log_send(k, VISIBLE, move);
            log_send(k, VISIBLE, x->sender * 2 + sync);
        }
        aphi_state_space_apply(k->space, k->v, &step);
        settle_members(k, cluster, removed);
        r.state = intern_state(k, cluster, k->v, budgets, removed, budgets[cluster->outer_count + 2]);
        r.sent = aphi_intern_number(&k->sent, k->log, k->log_count * sizeof *k->log);
    }
    free(budgets);
    return r;
}

static result run_to_rest(aphi_independence *k, const cluster_info *cluster, result r);

static result take_choice(aphi_independence *k, const cluster_info *cluster, uint32_t state, const choice *x)
{
    uint32_t key[5] = {state, x->agent, x->channel, x->entry, x->sender};
    size_t before = k->taken.count;
    uint32_t at = aphi_intern_number(&k->taken, key, sizeof key);
    if (at < before)
        return k->results[at];
    result r = run_to_rest(k, cluster, compute_step(k, cluster, state, x));
    APHI_RESERVE(k->results, k->result_capacity, k->taken.count);
    k->results[at] = r;
    return r;
}

/* ---- the game ---------------------------------------------------------------------------------------------------- */

/* Appends `more` to the lead, channel by channel, and removes `other` from its beginning; NONE if that fails. */
static uint32_t new_lead(aphi_independence *k, uint32_t lead, uint32_t more, uint32_t other)
{
    size_t sizes[3];
    const channel_entry *l = aphi_intern_key(&k->sent, lead, &sizes[0]),
                        *m = aphi_intern_key(&k->sent, more, &sizes[1]);
    k->log_count = 0;
    for (size_t i = 0; i < sizes[0] / sizeof *l; i++)
        log_send(k, l[i].channel, l[i].entry);
    for (size_t i = 0; i < sizes[1] / sizeof *m; i++)
        log_send(k, m[i].channel, m[i].entry);
    const channel_entry *o = aphi_intern_key(&k->sent, other, &sizes[2]);
    size_t kept = 0, j = 0, count = sizes[2] / sizeof *o;
    for (size_t i = 0; i < k->log_count; i++) {
        if (j < count && o[j].channel == k->log[i].channel) {
            if (o[j].entry != k->log[i].entry)
                return NONE;
            j++;
        } else {
            k->log[kept++] = k->log[i];
        }
    }
    return j < count ? NONE : aphi_intern_number(&k->sent, k->log, kept * sizeof *k->log);
}

typedef struct game {
    aphi_independence *k;
    const cluster_info *cluster;
    choice t;
} game;

static bool play_game(game *q, uint32_t second, uint32_t first, uint32_t lead);

/* Returns the state after a receive of the target: nothing depends on it yet. */
static uint32_t clear_state(aphi_independence *k, const cluster_info *cluster, uint32_t state)
{
    const uint32_t *from = load_state(k, cluster, state);
    uint32_t *budgets = aphi_copy(from, (cluster->outer_count + 3) * sizeof *budgets);
    uint64_t removed = from[cluster->outer_count] | (uint64_t)from[cluster->outer_count + 1] << 32;
    aphi_state_space_clear_marks(k->space, k->v);
    uint32_t cleared = intern_state(k, cluster, k->v, budgets, removed, budgets[cluster->outer_count + 2] | 1);
    free(budgets);
    return cleared;
}

static uint32_t clear_lead(aphi_independence *k, uint32_t lead)
{
    size_t size;
    const channel_entry *l = aphi_intern_key(&k->sent, lead, &size);
    k->log_count = 0;
    for (size_t i = 0; i < size / sizeof *l; i++)
        log_send(k, l[i].channel, l[i].entry & ~1u);
    return aphi_intern_number(&k->sent, k->log, k->log_count * sizeof *k->log);
}

/* With races, the target may receive: all marks are cleared. */
static bool match_clear(game *q, uint32_t second, uint32_t first, uint32_t lead)
{
    game after = *q;
    after.t.entry &= ~1u;
    uint32_t s = clear_state(q->k, q->cluster, second), f = clear_state(q->k, q->cluster, first);
    uint32_t cleared = clear_lead(q->k, lead);
    return (s == second && f == first && cleared == lead) || play_game(&after, s, f, cleared);
}

static bool is_inner(const game *q, const choice *x)
{
    return outer_index(q->cluster, x->channel) == q->cluster->outer_count;
}

/* Returns true if t takes its message from an outer bag: then a state does not show whether t was taken. */
static bool is_from_bag(const game *q)
{
    return !is_inner(q, &q->t) && q->k->space->model.channels[q->t.channel].bag;
}

/* The second copy makes the choice x. If x is an inner step that the first has already taken on its way to rest, the
 * first does nothing. If both reach the same state, the second has taken t on its way to rest. */
static bool match_choice(game *q, uint32_t second, uint32_t first, uint32_t lead, const choice *x)
{
    result s = take_choice(q->k, q->cluster, second, x);
    if (s.state == NONE)
        return true;
    if (is_same_choice(x, &q->t))
        return s.state == first && s.sent == lead;
    result f = take_choice(q->k, q->cluster, first, x);
    if (f.state == NONE && is_inner(q, x))
        f = (result){first, q->k->nothing};
    if (f.state == NONE)
        return false;
    uint32_t new = new_lead(q->k, lead, f.sent, s.sent);
    if (s.state == f.state && new == q->k->nothing && !is_from_bag(q))
        return true;
    return new != NONE && play_game(q, s.state, f.state, new);
}

/* Returns true if a message of the class may be marked: in a later phase, only if it can depend on the target. */
static bool may_depend(const aphi_independence *k, uint32_t phase, uint32_t class)
{
    const uint64_t *set = aphi_intern_key(&k->phases, phase / 2, NULL);
    return !(phase & 1) || set[class / 64] >> class % 64 & 1;
}

/* Adds the messages that the environment may offer in k->v. Messages behind that of t in its queue cannot precede t. */
static size_t list_outer_choices(const game *q, const uint32_t *budgets, choice *all, size_t n)
{
    const aphi_reduced_model *g = &q->k->space->model;
    uint32_t races = q->k->space->races, phase = budgets[q->cluster->outer_count + 2];
    for (size_t i = 0; i < q->cluster->outer_count; i++) {
        uint32_t channel = q->cluster->outer[i], owner = g->ports[g->channels[channel].port].owner;
        const uint64_t *accepts = &g->components[owner].accepts[q->k->v[owner] * g->words];
        for (size_t j = 0; budgets[i] > 0 && j < q->k->possible_count[channel]; j++) {
            const channel_entry *p = &q->k->possible[channel][j];
            uint32_t class = aphi_state_space_class(q->k->space, p->entry);
            bool is_t = channel == q->t.channel && (p->entry | races) == (q->t.entry | races);
            bool behind = !is_t && channel == q->t.channel && !g->channels[channel].bag;
            if (!(accepts[class / 64] >> class % 64 & 1) || behind)
                continue;
            all[n++] = is_t ? q->t : (choice){owner, channel, p->entry, p->channel};
            if (races && !is_t && may_depend(q->k, phase, class))
                all[n++] = (choice){owner, channel, p->entry | 1, p->channel};
        }
    }
    return n;
}

static size_t list_inner_choices(const game *q, choice *all)
{
    aphi_state_space_list_steps(q->k->space, q->k->v);
    for (size_t i = 0; i < q->k->space->step_count; i++) {
        const aphi_space_step *s = &q->k->space->steps[i];
        all[i] = (choice){s->agent, s->channel, s->entry, s->sender};
    }
    return q->k->space->step_count;
}

static size_t max_choices(const game *q)
{
    size_t n = q->k->space->model.component_count * q->k->space->model.component_count;
    for (size_t i = 0; i < q->cluster->outer_count; i++)
        n += 2 * q->k->possible_count[q->cluster->outer[i]];
    for (size_t i = 0; i < q->cluster->inner_count; i++)
        n += 2 * q->k->possible_count[q->cluster->inner[i]];
    return n;
}

static bool try_choices(game *q, uint32_t second, uint32_t first, uint32_t lead)
{
    choice *all = aphi_alloc(max_choices(q) * sizeof *all);
    const uint32_t *budgets = load_state(q->k, q->cluster, second);
    size_t inner = list_inner_choices(q, all), n = list_outer_choices(q, budgets, all, inner);
    bool matched = inner > 0;
    for (size_t i = 0; i < n && !matched; i++)
        matched = is_same_choice(&all[i], &q->t);
    for (size_t i = 0; i < n && matched; i++)
        matched = match_choice(q, second, first, lead, &all[i]);
    free(all);
    if (matched && q->k->space->races)
        matched = match_clear(q, second, first, lead);
    return matched;
}

static bool play_game(game *q, uint32_t second, uint32_t first, uint32_t lead)
{
    aphi_independence *k = q->k;
    uint32_t key[7] = {second, first, lead, q->t.agent, q->t.channel, q->t.entry, q->t.sender};
    size_t before = k->games.count;
    uint32_t at = aphi_intern_number(&k->games, key, sizeof key);
    if (at < before)
        return k->won[at];
    bool won = k->states.count < STATES_MAX && try_choices(q, second, first, lead);
    APHI_RESERVE(k->won, k->won_capacity, k->games.count);
    k->won[at] = won;
    return won;
}

/* Takes an independent inner step; the resulting state is NONE if there is none. */
static result take_independent_step(aphi_independence *k, const cluster_info *cluster, uint32_t state)
{
    game q = {.k = k, .cluster = cluster};
    choice *all = aphi_alloc(max_choices(&q) * sizeof *all);
    load_state(k, cluster, state);
    size_t n = list_inner_choices(&q, all);
    result r = {NONE, 0};
    for (size_t i = 0; i < n && r.state == NONE; i++) {
        q.t = all[i];
        r = take_choice(k, cluster, state, &q.t);
        if (r.state != NONE && !play_game(&q, state, r.state, r.sent))
            r.state = NONE;
    }
    free(all);
    return r;
}

/* Takes independent inner steps until there are none. */
static result run_to_rest(aphi_independence *k, const cluster_info *cluster, result r)
{
    if (r.state == NONE)
        return r;
    size_t before = k->unrested.count;
    uint32_t at = aphi_intern_number(&k->unrested, &r.state, sizeof r.state);
    if (at >= before) {
        result rest = take_independent_step(k, cluster, r.state);
        APHI_RESERVE(k->rested, k->rested_capacity, k->unrested.count);
        k->rested[at] = rest;
    }
    if (k->rested[at].state == NONE)
        return r;
    return (result){k->rested[at].state, new_lead(k, r.sent, k->rested[at].sent, k->nothing)};
}

/* Returns true if no other message in the same bag, now or later, is like that of the step. */
static bool is_unique(const aphi_independence *k, const uint32_t *v, const aphi_space_step *step)
{
    const aphi_reduced_model *g = &k->space->model;
    if (step->channel == APHI_REDUCED_NO_CHANNEL || !g->channels[step->channel].bag)
        return true;
    const aphi_reduced_port *port = &g->ports[g->channels[step->channel].port];
    uint32_t class = aphi_state_space_class(k->space, step->entry);
    size_t n, equal = 0;
    const uint32_t *entries = aphi_state_space_content(k->space, v, step->channel, &n);
    for (size_t i = 0; i < n; i++)
        equal += (entries[i] | 1) == (step->entry | 1);
    for (size_t c = 0; c < g->component_count; c++)
        if (port->channel_of[c] == step->channel && (!g->channels[step->channel].has_sender || c == step->sender) &&
            g->components[c].may_send[v[c] * g->words + class / 64] >> class % 64 & 1)
            equal++;
    return equal == 1;
}

bool aphi_independence_check(aphi_independence *k, const uint32_t *v, const aphi_space_step *step)
{
    const cluster_info *cluster = &k->clusters[step->agent];
    if (!cluster->usable || step->enqueues)
        return false;
    game q = {k, cluster, {step->agent, step->channel, step->entry, step->sender}};
    if (k->space->races && !is_unique(k, v, step))
        return false;
    uint32_t now = current_state(k, cluster, v);
    result r = take_choice(k, cluster, now, &q.t);
    return r.state != NONE && play_game(&q, now, r.state, r.sent);
}
