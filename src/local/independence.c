/* SPDX-License-Identifier: Apache-2.0
 *
 * independence.c - a game between two copies of a circle.
 *
 * Two copies start alike. The first has taken the step t in advance; the second does what it likes, and the first
 * does the same. What the first has sent and the second not yet is its lead, a list for each channel. The step may
 * be taken alone if, whatever the second does,
 *   1. the first can do it too, and what the second sends is what the lead begins with (so the lead is never behind);
 *   2. as long as the second has not taken t, it can always go on by itself: it takes t in every complete run;
 *   3. when it takes t, both are in the same place and the lead is empty.
 * After each choice both copies come to rest: steps inside of the circle that may be taken alone, by the same game in
 * the place then reached, are taken with it. Else a member that is busy with what t gave it could not follow. Since the
 * first copy may have done so before the second, it need not follow a step inside of the circle that it cannot take.
 *
 *     second   o --x--> o --y--> o --t--> o
 *              |        |        |       //     first: always where the second will be once it has taken t
 *     first    o --x--> o --y--> o  =====
 *
 * What the environment may send is taken as larger than it is: any message that a sender ever sends on a channel, as
 * often as the sender can still send there. Components are acyclic, so the game ends; results are remembered.
 * Cost: the places of a circle times its steps, at worst; the game is lost soon where it is lost. */
#include "local/independence.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

enum { CIRCLE_MAX = 4, PLACES_MAX = 1 << 21, VISIBLE = INT32_MAX };

typedef struct pair {
    uint32_t channel, entry;       /* VISIBLE: an event of the target */
} pair;

typedef struct circle_info {
    uint64_t members, reach;       /* reach: whom they ever send to */
    bool usable;
    uint32_t *inner, *outer;       /* channels to members: from members, from others */
    size_t inner_count, outer_count;
} circle_info;

typedef struct choice {
    uint32_t agent, channel, entry, sender;
} choice;

typedef struct result {
    uint32_t place, sent;          /* NOWHERE: it cannot be taken */
} result;

static const uint32_t NOWHERE = UINT32_MAX;

struct aphi_independence {
    aphi_local_state *y;
    circle_info *circles;               /* of each component; those of one circle are equal */
    pair **possible;               /* of each channel, what may ever enter it: entry and sender */
    size_t *possible_count;
    uint64_t **later; /* of each component and state, as in reduced_model.h: classes it may still receive */
    aphi_intern places, sent, taken, games, rough;
    result *results;               /* of each key in taken */
    result *rests;                 /* of each key in rough: where a place comes to rest */
    uint8_t *won;                  /* of each key in games */
    size_t result_capacity, won_capacity, rest_capacity;
    uint32_t nothing;              /* in sent: no message at all */
    uint32_t *v, *place;           /* scratch */
    pair *log;
    size_t log_count, log_capacity;
};

/* ---- circles ----------------------------------------------------------------------------------------------------- */

static uint64_t senders_of(const aphi_reduced_model *g, size_t port)
{
    uint64_t found = 0;
    for (size_t c = 0; c < g->part_count; c++)
        for (uint32_t s = 0; s < g->parts[c].states; s++) {
            uint8_t kind = g->parts[c].kind[s];
            if ((kind == APHI_REDUCED_SEND || kind == APHI_REDUCED_SYNC) &&
                g->parts[c].moves[g->parts[c].first[s]].port == port)
                found |= UINT64_C(1) << c;
        }
    return found;
}

/* A port with one sender joins it to the owner, as long as circles stay small. */
static void join(aphi_independence *k, uint64_t senders, size_t owner)
{
    if (__builtin_popcountll(senders) != 1)
        return;
    uint64_t both = k->circles[owner].members | k->circles[__builtin_ctzll(senders)].members;
    if (__builtin_popcountll(both) > CIRCLE_MAX)
        return;
    for (size_t c = 0; c < k->y->ground.part_count; c++)
        if (both >> c & 1)
            k->circles[c].members = both;
}

/* What crosses the border must be asynchronous and never wait; nobody may compete for a place in a queue. */
static void check_port(aphi_independence *k, const aphi_reduced_port *port, uint64_t senders)
{
    uint64_t inside = k->circles[port->owner].members;
    for (size_t c = 0; c < k->y->ground.part_count; c++) {
        bool crosses = senders >> c & 1 && !(inside >> c & 1);
        if (port->contended || (crosses && (port->synced || port->limit[c])))
            for (size_t i = 0; i < k->y->ground.part_count; i++)
                if (inside >> i & 1 || (senders >> c & 1 && k->circles[c].members >> i & 1))
                    k->circles[i].usable = false;
    }
}

static void list_channels(aphi_independence *k, circle_info *circle)
{
    const aphi_reduced_model *g = &k->y->ground;
    circle->inner = aphi_alloc((g->channel_count + 1) * sizeof *circle->inner);
    circle->outer = aphi_alloc((g->channel_count + 1) * sizeof *circle->outer);
    for (uint32_t i = 0; i < g->channel_count; i++) {
        const aphi_reduced_port *port = &g->ports[g->channels[i].port];
        if (!(circle->members >> port->owner & 1))
            continue;
        bool outside = false, inside = false;
        for (size_t c = 0; c < g->part_count; c++)
            if (port->by_sender[c] == i)
                *(circle->members >> c & 1 ? &inside : &outside) = true;
        if (inside && outside)
            circle->usable = false;       /* a bag that both fill */
        if (outside)
            circle->outer[circle->outer_count++] = i;
        else
            circle->inner[circle->inner_count++] = i;
    }
}

static void make_circles(aphi_independence *k)
{
    const aphi_reduced_model *g = &k->y->ground;
    k->circles = aphi_alloc_zero((g->part_count + 1) * sizeof *k->circles);
    uint64_t *senders = aphi_alloc((g->port_count + 1) * sizeof *senders);
    for (size_t c = 0; c < g->part_count; c++)
        k->circles[c] = (circle_info){.members = UINT64_C(1) << c, .usable = true};
    for (size_t p = 0; p < g->port_count; p++)
        join(k, senders[p] = senders_of(g, p), g->ports[p].owner);
    for (size_t p = 0; p < g->port_count; p++)
        check_port(k, &g->ports[p], senders[p]);
    for (size_t c = 0; c < g->part_count; c++) {
        list_channels(k, &k->circles[c]);
        for (size_t i = 0; i < g->part_count; i++)
            if (k->circles[c].members >> i & 1)
                k->circles[c].reach |= g->parts[i].reaches[g->parts[i].initial];
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
    k->possible[channel][k->possible_count[channel]++] = (pair){sender, entry};
}

static void list_possible(aphi_independence *k)
{
    const aphi_reduced_model *g = &k->y->ground;
    k->possible = aphi_alloc_zero((g->channel_count + 1) * sizeof *k->possible);
    k->possible_count = aphi_alloc_zero((g->channel_count + 1) * sizeof *k->possible_count);
    for (size_t c = 0; c < g->part_count; c++)
        for (uint32_t s = 0; s < g->parts[c].states; s++) {
            const aphi_reduced_move *m = &g->parts[c].moves[g->parts[c].first[s]];
            if (g->parts[c].kind[s] != APHI_REDUCED_SEND)
                continue;
            uint32_t channel = g->ports[m->port].by_sender[c];
            add_possible(k, channel, aphi_local_state_entry(k->y, channel, m->class, c, false), (uint32_t)c);
        }
}

/* Components are acyclic and small: rounds until nothing changes are soon over. */
static uint64_t *later_of(const aphi_reduced_model *g, const aphi_reduced_part *part)
{
    size_t size = ((size_t)part->states + 1) * g->words;
    uint64_t *later = aphi_alloc((size + 1) * sizeof *later);
    memcpy(later, part->accept, size * sizeof *later);
    for (bool again = true; again;) {
        again = false;
        for (uint32_t s = part->states; s-- > 0;)
            for (uint32_t i = part->first[s]; i < part->first[s + 1]; i++)
                for (size_t w = 0; w < g->words; w++) {
                    uint64_t more = later[part->moves[i].target * g->words + w] & ~later[s * g->words + w];
                    later[s * g->words + w] |= more;
                    again |= more != 0;
                }
    }
    return later;
}

static void list_later(aphi_independence *k)
{
    const aphi_reduced_model *g = &k->y->ground;
    k->later = aphi_alloc((g->part_count + 1) * sizeof *k->later);
    for (size_t c = 0; c < g->part_count; c++)
        k->later[c] = later_of(g, &g->parts[c]);
}

aphi_independence *aphi_independence_open(aphi_local_state *y)
{
    aphi_independence *k = aphi_alloc_zero(sizeof *k);
    k->y = y;
    k->v = aphi_alloc(y->size * sizeof *k->v);
    k->place = aphi_alloc((y->size + 3) * sizeof *k->place);
    k->nothing = aphi_intern_number(&k->sent, NULL, 0);
    make_circles(k);
    list_possible(k);
    list_later(k);
    return k;
}

void aphi_independence_close(aphi_independence *k)
{
    for (size_t c = 0; c < k->y->ground.part_count; c++) {
        free(k->circles[c].inner);
        free(k->circles[c].outer);
        free(k->later[c]);
    }
    for (size_t i = 0; i < k->y->ground.channel_count; i++)
        free(k->possible[i]);
    aphi_intern_free(&k->places);
    aphi_intern_free(&k->sent);
    aphi_intern_free(&k->taken);
    aphi_intern_free(&k->games);
    aphi_intern_free(&k->rough);
    void *all[] = {k->circles, k->possible, k->possible_count, k->later, k->results,
                   k->rests, k->won, k->v, k->place, k->log};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        free(all[i]);
    free(k);
}

/* ---- places: the states of members, what is between them, how much may still come from outside, and who is gone ---
 * */

/* Whether the owner, in that state, may ever receive something from the channel. */
static bool is_open(const aphi_independence *k, uint32_t channel, const uint32_t *v)
{
    const aphi_reduced_model *g = &k->y->ground;
    size_t owner = g->ports[g->channels[channel].port].owner;
    const uint64_t *later = &k->later[owner][v[owner] * g->words];
    for (size_t i = 0; i < k->possible_count[channel]; i++) {
        uint32_t class = aphi_local_state_class(k->y, k->possible[channel][i].entry);
        if (later[class / 64] >> class % 64 & 1)
            return true;
    }
    return false;
}

/* What cannot matter any more is left out. */
static uint32_t place_of(aphi_independence *k, const circle_info *circle, const uint32_t *v, const uint32_t *budgets,
                         uint64_t gone)
{
    size_t n = 0;
    uint64_t reach = 0;
    for (size_t c = 0; c < k->y->ground.part_count; c++)
        if (circle->members >> c & 1) {
            k->place[n++] = v[c];
            reach |= k->y->ground.parts[c].reaches[v[c]];
        }
    gone &= reach;
    for (size_t i = 0; i < circle->inner_count; i++)
        k->place[n++] = v[k->y->ground.part_count + circle->inner[i]];
    for (size_t i = 0; i < circle->outer_count; i++)
        k->place[n++] = budgets[i] && is_open(k, circle->outer[i], v) ? budgets[i] : 0;
    k->place[n++] = (uint32_t)gone;
    k->place[n++] = (uint32_t)(gone >> 32);
    k->place[n++] = (uint32_t)__builtin_ctzll(circle->members);
    return aphi_intern_number(&k->places, k->place, n * sizeof *k->place);
}

/* Writes a place into k->v, as if everybody else were gone; returns the budgets and after them the two words of those
 * who are, valid until a place is made. */
static const uint32_t *unfold_place(aphi_independence *k, const circle_info *circle, uint32_t place)
{
    const aphi_reduced_model *g = &k->y->ground;
    const uint32_t *p = aphi_intern_key(&k->places, place, NULL);
    memset(k->v, 0, k->y->size * sizeof *k->v);
    for (size_t c = 0; c < g->part_count; c++)
        k->v[c] = circle->members >> c & 1 ? *p++ : g->parts[c].states;
    for (size_t i = 0; i < circle->inner_count; i++)
        k->v[g->part_count + circle->inner[i]] = *p++;
    return p;
}

/* How many messages may still be taken from a channel. A bag has no order: what it gives need not be counted. */
static uint32_t budget_of(const aphi_independence *k, const uint32_t *v, uint32_t channel)
{
    const aphi_reduced_channel *c = &k->y->ground.channels[channel];
    if (!c->left)
        return 1;
    size_t n;
    aphi_local_state_content(k->y, v, channel, &n);
    return (uint32_t)n + c->left[v[c->sender]];
}

static uint32_t place_now(aphi_independence *k, const circle_info *circle, const uint32_t *v)
{
    uint32_t *budgets = aphi_alloc((circle->outer_count + 1) * sizeof *budgets);
    for (size_t i = 0; i < circle->outer_count; i++)
        budgets[i] = budget_of(k, v, circle->outer[i]);
    uint64_t gone = 0;
    for (size_t c = 0; c < k->y->ground.part_count; c++)
        if (circle->reach >> c & 1 && v[c] == k->y->ground.parts[c].states)
            gone |= UINT64_C(1) << c;
    uint32_t place = place_of(k, circle, v, budgets, gone & ~circle->members);
    free(budgets);
    return place;
}

/* ---- taking a choice in a place ---------------------------------------------------------------------------------- */

static void tell(aphi_independence *k, uint32_t channel, uint32_t entry)
{
    APHI_RESERVE(k->log, k->log_capacity, k->log_count + 1);
    size_t at = k->log_count++;
    for (; at > 0 && k->log[at - 1].channel > channel; at--)
        k->log[at] = k->log[at - 1];
    k->log[at] = (pair){channel, entry};
}

/* Makes the sends of a member as far as they go; false if there was none. What is sent to those who are gone is
 * nothing. */
static bool settle_member(aphi_independence *k, const circle_info *circle, size_t c, uint64_t gone)
{
    const aphi_reduced_model *g = &k->y->ground;
    const aphi_reduced_part *part = &g->parts[c];
    for (uint32_t start = k->v[c];;) {
        uint32_t first = part->first[k->v[c]];
        const aphi_reduced_move *m = &part->moves[first];
        uint8_t kind = part->kind[k->v[c]];
        if (kind == APHI_REDUCED_LOCAL) {
            k->v[c] = m->target;
        } else {
            if (kind != APHI_REDUCED_SEND || !aphi_local_state_send(k->y, k->v, c))
                return k->v[c] != start;
            const aphi_reduced_port *port = &g->ports[m->port];
            if (!((circle->members | gone) >> port->owner & 1))
                tell(k, port->by_sender[c], aphi_local_state_entry(k->y, port->by_sender[c], m->class, c, false));
        }
        if (c == g->target)
            tell(k, VISIBLE, first);
    }
}

/* Takes what a member receives from another one without a choice. */
static bool receive_forced(aphi_independence *k, const circle_info *circle, size_t c)
{
    aphi_local_state_step step;
    if (!aphi_local_state_forced(k->y, k->v, c, &step) || !(circle->members >> step.sender & 1))
        return false;
    if (c == k->y->ground.target)
        tell(k, VISIBLE, step.move);
    aphi_local_state_take(k->y, k->v, &step);
    return true;
}

static void settle(aphi_independence *k, const circle_info *circle, uint64_t gone)
{
    for (bool again = true; again;) {
        again = false;
        for (size_t c = 0; c < k->y->ground.part_count; c++)
            if (circle->members >> c & 1) {
                again |= settle_member(k, circle, c, gone);
                again |= receive_forced(k, circle, c);
            }
    }
}

static uint32_t port_of(const aphi_independence *k, const choice *x)
{
    const aphi_reduced_model *g = &k->y->ground;
    if (x->channel != APHI_REDUCED_NO_CHANNEL)
        return g->channels[x->channel].port;
    return g->parts[x->sender].moves[g->parts[x->sender].first[k->v[x->sender]]].port;
}

/* The move by which the agent takes the choice in k->v; NOWHERE if it cannot. The message is taken to be there. */
static uint32_t move_for(const aphi_independence *k, const choice *x)
{
    const aphi_reduced_part *part = &k->y->ground.parts[x->agent];
    uint32_t s = k->v[x->agent];
    if (part->kind[s] != APHI_REDUCED_RECEIVE)
        return NOWHERE;
    const aphi_reduced_part *sender = &k->y->ground.parts[x->sender];
    bool sync = x->channel == APHI_REDUCED_NO_CHANNEL;
    if (sync && sender->kind[k->v[x->sender]] != APHI_REDUCED_SYNC)
        return NOWHERE;
    uint32_t class =
        sync ? sender->moves[sender->first[k->v[x->sender]]].class : aphi_local_state_class(k->y, x->entry);
    uint32_t port = port_of(k, x);
    for (uint32_t i = part->first[s]; i < part->first[s + 1]; i++)
        if (part->moves[i].class == class && part->moves[i].port == port)
            return i;
    return NOWHERE;
}

/* Whether the choice is among the steps that the members have by themselves. */
static bool is_inner_step(aphi_independence *k, const choice *x)
{
    aphi_local_state_look(k->y, k->v);
    for (size_t i = 0; i < k->y->step_count; i++) {
        const aphi_local_state_step *s = &k->y->steps[i];
        bool sync = s->channel == APHI_REDUCED_NO_CHANNEL;
        if (s->agent == x->agent && s->channel == x->channel && (sync ? s->sender == x->sender : s->entry == x->entry))
            return true;
    }
    return false;
}

/* The index of an outer channel, or outer_count. */
static size_t outer_index(const circle_info *circle, uint32_t channel)
{
    size_t i = 0;
    while (i < circle->outer_count && circle->outer[i] != channel)
        i++;
    return i;
}

static result take_anew(aphi_independence *k, const circle_info *circle, uint32_t place, const choice *x)
{
    const uint32_t *from = unfold_place(k, circle, place);
    uint32_t *budgets = aphi_copy(from, (circle->outer_count + 2) * sizeof *budgets);
    uint64_t gone = from[circle->outer_count] | (uint64_t)from[circle->outer_count + 1] << 32;
    size_t outer = outer_index(circle, x->channel);
    result r = {NOWHERE, 0};
    uint32_t move = move_for(k, x);
    if (move != NOWHERE && (outer < circle->outer_count ? budgets[outer] > 0 : is_inner_step(k, x))) {
        if (outer < circle->outer_count) {
            budgets[outer] -= k->y->ground.channels[x->channel].left != NULL;
            aphi_local_state_put(k->y, k->v, x->channel, x->entry);
        }
        bool sync = x->channel == APHI_REDUCED_NO_CHANNEL;
        aphi_local_state_step step = {.move = move,
                                      .entry = x->entry,
                                      .channel = x->channel,
                                      .agent = (uint16_t)x->agent,
                                      .sender = (uint16_t)x->sender,
                                      .sync = sync};
        k->log_count = 0;
        if (x->agent == k->y->ground.target || (sync && x->sender == k->y->ground.target)) {
            tell(k, VISIBLE, move);
            tell(k, VISIBLE, x->sender * 2 + sync);
        }
        aphi_local_state_take(k->y, k->v, &step);
        settle(k, circle, gone);
        r.place = place_of(k, circle, k->v, budgets, gone);
        r.sent = aphi_intern_number(&k->sent, k->log, k->log_count * sizeof *k->log);
    }
    free(budgets);
    return r;
}

static result rest_of(aphi_independence *k, const circle_info *circle, result r);

static result take(aphi_independence *k, const circle_info *circle, uint32_t place, const choice *x)
{
    uint32_t key[5] = {place, x->agent, x->channel, x->entry, x->sender};
    size_t before = k->taken.count;
    uint32_t at = aphi_intern_number(&k->taken, key, sizeof key);
    if (at < before)
        return k->results[at];
    result r = rest_of(k, circle, take_anew(k, circle, place, x));
    APHI_RESERVE(k->results, k->result_capacity, k->taken.count);
    k->results[at] = r;
    return r;
}

/* ---- the game ---------------------------------------------------------------------------------------------------- */

/* What of lead and more, in this order for each channel, is left without what the other sent, which must come first. */
static uint32_t new_lead(aphi_independence *k, uint32_t lead, uint32_t more, uint32_t other)
{
    size_t sizes[3];
    const pair *l = aphi_intern_key(&k->sent, lead, &sizes[0]), *m = aphi_intern_key(&k->sent, more, &sizes[1]);
    k->log_count = 0;
    for (size_t i = 0; i < sizes[0] / sizeof *l; i++)
        tell(k, l[i].channel, l[i].entry);
    for (size_t i = 0; i < sizes[1] / sizeof *m; i++)
        tell(k, m[i].channel, m[i].entry);
    const pair *o = aphi_intern_key(&k->sent, other, &sizes[2]);
    size_t kept = 0, j = 0, count = sizes[2] / sizeof *o;
    for (size_t i = 0; i < k->log_count; i++) {
        if (j < count && o[j].channel == k->log[i].channel) {
            if (o[j].entry != k->log[i].entry)
                return NOWHERE;
            j++;
        } else {
            k->log[kept++] = k->log[i];
        }
    }
    return j < count ? NOWHERE : aphi_intern_number(&k->sent, k->log, kept * sizeof *k->log);
}

typedef struct game {
    aphi_independence *k;
    const circle_info *circle;
    choice t;
} game;

static bool play(game *q, uint32_t second, uint32_t first, uint32_t lead);

static bool same_choice(const choice *x, const choice *y)
{
    return x->agent == y->agent && x->channel == y->channel && x->entry == y->entry && x->sender == y->sender;
}

static bool is_inner(const game *q, const choice *x)
{
    return outer_index(q->circle, x->channel) == q->circle->outer_count;
}

/* Whether t comes from outside and from a bag: then a place does not tell whether it was taken. */
static bool is_from_bag(const game *q)
{
    return !is_inner(q, &q->t) && q->k->y->ground.channels[q->t.channel].bag;
}

/* The second copy makes the choice x. What goes on inside of the circle the first may have done before, on its way to
 * rest: then it stays. When both come to be alike, the second has taken t on its way to rest. */
static bool respond(game *q, uint32_t second, uint32_t first, uint32_t lead, const choice *x)
{
    result s = take(q->k, q->circle, second, x);
    if (s.place == NOWHERE)
        return true;
    if (same_choice(x, &q->t))
        return s.place == first && s.sent == lead;
    result f = take(q->k, q->circle, first, x);
    if (f.place == NOWHERE && is_inner(q, x))
        f = (result){first, q->k->nothing};
    if (f.place == NOWHERE)
        return false;
    uint32_t ahead = new_lead(q->k, lead, f.sent, s.sent);
    if (s.place == f.place && ahead == q->k->nothing && !is_from_bag(q))
        return true;
    return ahead != NOWHERE && play(q, s.place, f.place, ahead);
}

/* Adds what the environment may give to the place in k->v. What is behind t in its queue cannot come before t. */
static size_t list_outer(const game *q, const uint32_t *budgets, choice *all, size_t n)
{
    const aphi_reduced_model *g = &q->k->y->ground;
    for (size_t i = 0; i < q->circle->outer_count; i++) {
        uint32_t channel = q->circle->outer[i], owner = g->ports[g->channels[channel].port].owner;
        const uint64_t *accept = &g->parts[owner].accept[q->k->v[owner] * g->words];
        for (size_t j = 0; budgets[i] > 0 && j < q->k->possible_count[channel]; j++) {
            const pair *p = &q->k->possible[channel][j];
            uint32_t class = aphi_local_state_class(q->k->y, p->entry);
            bool is_t = channel == q->t.channel && p->entry == q->t.entry;
            bool behind = !is_t && channel == q->t.channel && !g->channels[channel].bag;
            if (!(accept[class / 64] >> class % 64 & 1) || behind)
                continue;
            all[n++] = is_t ? q->t : (choice){owner, channel, p->entry, p->channel};
        }
    }
    return n;
}

static size_t list_inner(const game *q, choice *all)
{
    aphi_local_state_look(q->k->y, q->k->v);
    for (size_t i = 0; i < q->k->y->step_count; i++) {
        const aphi_local_state_step *s = &q->k->y->steps[i];
        all[i] = (choice){s->agent, s->channel, s->entry, s->sender};
    }
    return q->k->y->step_count;
}

static size_t room_for_choices(const game *q)
{
    size_t n = q->k->y->ground.part_count * q->k->y->ground.part_count;
    for (size_t i = 0; i < q->circle->outer_count; i++)
        n += q->k->possible_count[q->circle->outer[i]];
    for (size_t i = 0; i < q->circle->inner_count; i++)
        n += q->k->possible_count[q->circle->inner[i]];
    return n;
}

static bool try_all(game *q, uint32_t second, uint32_t first, uint32_t lead)
{
    choice *all = aphi_alloc(room_for_choices(q) * sizeof *all);
    const uint32_t *budgets = unfold_place(q->k, q->circle, second);
    size_t inner = list_inner(q, all), n = list_outer(q, budgets, all, inner);
    bool good = inner > 0;
    for (size_t i = 0; i < n && !good; i++)
        good = same_choice(&all[i], &q->t);
    for (size_t i = 0; i < n && good; i++)
        good = respond(q, second, first, lead, &all[i]);
    free(all);
    return good;
}

static bool play(game *q, uint32_t second, uint32_t first, uint32_t lead)
{
    aphi_independence *k = q->k;
    uint32_t key[7] = {second, first, lead, q->t.agent, q->t.channel, q->t.entry, q->t.sender};
    size_t before = k->games.count;
    uint32_t at = aphi_intern_number(&k->games, key, sizeof key);
    if (at < before)
        return k->won[at];
    bool won = k->places.count < PLACES_MAX && try_all(q, second, first, lead);
    APHI_RESERVE(k->won, k->won_capacity, k->games.count);
    k->won[at] = won;
    return won;
}

/* An inner step of the place that may be taken alone, taken; a place of NOWHERE if there is none. */
static result rest_once(aphi_independence *k, const circle_info *circle, uint32_t place)
{
    game q = {.k = k, .circle = circle};
    choice *all = aphi_alloc(room_for_choices(&q) * sizeof *all);
    unfold_place(k, circle, place);
    size_t n = list_inner(&q, all);
    result r = {NOWHERE, 0};
    for (size_t i = 0; i < n && r.place == NOWHERE; i++) {
        q.t = all[i];
        r = take(k, circle, place, &q.t);
        if (r.place != NOWHERE && !play(&q, place, r.place, r.sent))
            r.place = NOWHERE;
    }
    free(all);
    return r;
}

/* Takes inner steps that may be taken alone, until there is none. What they lead to is at rest already. */
static result rest_of(aphi_independence *k, const circle_info *circle, result r)
{
    if (r.place == NOWHERE)
        return r;
    size_t before = k->rough.count;
    uint32_t at = aphi_intern_number(&k->rough, &r.place, sizeof r.place);
    if (at >= before) {
        result rest = rest_once(k, circle, r.place);
        APHI_RESERVE(k->rests, k->rest_capacity, k->rough.count);
        k->rests[at] = rest;
    }
    if (k->rests[at].place == NOWHERE)
        return r;
    return (result){k->rests[at].place, new_lead(k, r.sent, k->rests[at].sent, k->nothing)};
}

bool aphi_independence_alone(aphi_independence *k, const uint32_t *v, const aphi_local_state_step *step)
{
    const circle_info *circle = &k->circles[step->agent];
    if (!circle->usable || step->enters)
        return false;
    game q = {k, circle, {step->agent, step->channel, step->entry, step->sender}};
    uint32_t here = place_now(k, circle, v);
    result r = take(k, circle, here, &q.t);
    return r.place != NOWHERE && play(&q, here, r.place, r.sent);
}
