/* SPDX-License-Identifier: Apache-2.0
 *
 * network_simulator.c - runs a user's network with concrete packets; all choices are drawn at random.
 *
 * Idea:       An attempt runs the network until it absorbs or emits one packet, and then looks ahead to its next event
 *             that is not a choice. If it ends in never before that, it has no effect, and other choices are drawn.
 *             Choices after the packet are drawn again by the next attempt, unless the step has ended: a network that
 *             chose to wait for a packet that does not come chooses again.
 * Invariants: 1. a failed attempt changes nothing but the state of the random generator
 *             2. while a packet of a client waits, the network absorbs, if it can: a client is observed when it sends
 * Cost:       one or two runs of the step for each packet absorbed or emitted.
 * Read next:  server_network.c, simulator.c */
#include "server/network_simulator.h"

#include "tree/network_step.h"
#include "tree/step.h"
#include "tree/step_guard.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum {
    DRAWS_MAX = 256,        /* attempts for an action */
    STEPS_MAX = 10000,      /* without a packet, in one attempt */
    EVENTS_MAX = 20000,     /* the same */
    CREDIT_MIN = 20000,     /* emissions without an absorption */
    COPIES_MAX = 16,        /* emissions for each absorbed packet */
};
enum { KIND, ANSWER }; /* of an element of `answers` */

typedef struct attempt {
    aphi_network_simulator *network;
    aphi_network_place at;
    aph_value incoming, outgoing;
    aph_value kept;         /* the answers up to the action; APH_NIL before it */
    bool absorbs_only;      /* it must not emit */
    bool emitted, chose;
    size_t replayed;        /* events in this run of the step */
    size_t events;
    enum { AT_EVENT, AT_RECEIVE, AT_NEVER, AT_FAULT } stop; /* why the step was left */
} attempt;

static bool leave_step(attempt *t, int stop)
{
    t->stop = stop;
    return false;
}

static aphi_network_action set_fault(aphi_network_simulator *n, aphi_simulated_fault fault, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static aphi_network_action set_fault(aphi_network_simulator *n, aphi_simulated_fault fault, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    n->fault = fault;
    vsnprintf(n->why, sizeof n->why, format, args);
    va_end(args);
    return APHI_NETWORK_FAULT;
}

static bool leave_with_fault(attempt *t, aphi_simulated_fault fault, const char *why)
{
    set_fault(t->network, fault, "%s", why);
    return leave_step(t, AT_FAULT);
}

/* ---- events ------------------------------------------------------------------------------------------------------ */

static aph_value take_first(aph_value *packets)
{
    aph_value first = aph_at(*packets, 0);
    *packets = aph_slice(*packets, 1, aph_count(*packets) - 1);
    return first;
}

static bool absorb(attempt *t, aph_value *answer)
{
    if (!aph_count(t->outgoing) && !aph_count(t->incoming))
        return leave_step(t, AT_RECEIVE);
    *answer = take_first(aph_count(t->outgoing) ? &t->outgoing : &t->incoming);
    return true;
}

static bool emit(attempt *t, aph_value packet)
{
    if (t->absorbs_only)
        return leave_step(t, AT_NEVER);
    t->emitted = true;
    t->network->emitted = aph_packet_of(packet);
    return true;
}

static bool answer_new(attempt *t, const aph_event *e, aph_value *answer)
{
    aphi_network_simulator *n = t->network;
    bool is_packet = e->kind == APH_EVENT_RECV || e->kind == APH_EVENT_SEND || e->kind == APH_EVENT_OTHER;
    if (t->kept && is_packet)
        return leave_step(t, AT_EVENT);
    if (t->events++ == EVENTS_MAX)
        return leave_with_fault(t, APHI_SIMULATED_STUCK, "the step never absorbs a packet; call aph_absorb");
    switch (e->kind) {
    case APH_EVENT_RECV: return absorb(t, answer);
    case APH_EVENT_SEND: return emit(t, e->value);
    case APH_EVENT_EITHER:
        t->chose = true;
        *answer = aph_int((int64_t)aphi_choice_below(&n->choice, e->count));
        return true;
    case APH_EVENT_CHOOSE:
    case APH_EVENT_DECIDE:
        t->chose = true;
        return aphi_simulator_draw(n->server, e, answer) || leave_step(t, AT_NEVER);
    case APH_EVENT_OTHER:
        *answer = aph_bool(aph_count(t->outgoing) > 0);
        return (e->name && !strcmp(e->name, APHI_EVENT_OUTGOING)) || leave_step(t, AT_NEVER);
    default: return leave_step(t, AT_NEVER);
    }
}

static bool replay_answer(attempt *t, const aph_event *e, aph_value *answer)
{
    aph_value known = aph_at(t->at.answers, t->replayed++);
    *answer = aph_at(known, ANSWER);
    return aph_at(known, KIND) == aph_int(e->kind) ||
           leave_with_fault(t, APHI_SIMULATED_IMPURE, "a step is not a pure function of its state and its answers");
}

static bool answer_event(void *context, const aph_event *e, aph_value *answer)
{
    attempt *t = context;
    if (t->replayed < aph_count(t->at.answers))
        return replay_answer(t, e, answer);
    if (!answer_new(t, e, answer))
        return false;
    t->at.answers = aph_push(t->at.answers, APH_ARRAY_OF(aph_int(e->kind), *answer));
    t->replayed++;
    if (e->kind == APH_EVENT_RECV || e->kind == APH_EVENT_SEND)
        t->kept = t->at.answers;
    return true;
}

/* ---- attempts ---------------------------------------------------------------------------------------------------- */

static aphi_network_action commit(attempt *t)
{
    aphi_network_simulator *n = t->network;
    n->before = n->at;
    n->at = (aphi_network_place){.state = t->at.state, .answers = t->kept};
    n->incoming = t->incoming;
    n->outgoing = t->outgoing;
    if (!t->emitted) {
        n->credit = (n->credit > CREDIT_MIN ? n->credit : CREDIT_MIN) + COPIES_MAX;
        return APHI_NETWORK_ABSORBED;
    }
    if (!n->credit)
        return set_fault(n, APHI_SIMULATED_STUCK, "the step never absorbs a packet; call aph_absorb");
    n->credit--;
    return APHI_NETWORK_EMITTED;
}

static aphi_network_action leave_attempt(attempt *t)
{
    switch (t->stop) {
    case AT_EVENT: return commit(t);
    case AT_FAULT: return APHI_NETWORK_FAULT;
    default: return APHI_NETWORK_WAITS;
    }
}

static aphi_network_action attempt_once(attempt *t)
{
    aphi_network_simulator *n = t->network;
    for (unsigned steps = 0; steps < STEPS_MAX; steps++) {
        t->replayed = 0;
        switch (aphi_step_run(&n->model, &t->at.state, answer_event, t)) {
        case APHI_ENDED:
            t->at.answers = aph_array(0, NULL);
            if (t->kept) {
                t->kept = t->at.answers;
                return commit(t);
            }
            break;
        case APHI_LEFT: return leave_attempt(t);
        case APHI_NEVER: t->stop = AT_NEVER; return APHI_NETWORK_WAITS;
        case APHI_OUT_OF_TIME:
            return aphi_guard_overfull() ? set_fault(n, APHI_SIMULATED_FULL, "its values need more than 4 GiB")
                                         : set_fault(n, APHI_SIMULATED_STUCK, "a step does not end");
        default: return set_fault(n, APHI_SIMULATED_CRASHED, "%s", aphi_step_reason());
        }
    }
    return set_fault(n, APHI_SIMULATED_STUCK, t->chose ? "the step never absorbs a packet; call aph_absorb"
                                                       : "the step ends again and again without an event");
}

/* Without a choice, another attempt would be the same. */
static aphi_network_action attempt_repeatedly(aphi_network_simulator *n, bool absorbs_only)
{
    aphi_network_action result = APHI_NETWORK_WAITS;
    bool chose = true;
    for (unsigned i = 0; i < DRAWS_MAX && chose && result == APHI_NETWORK_WAITS; i++) {
        attempt t = {.network = n, .at = n->at, .incoming = n->incoming, .outgoing = n->outgoing,
                     .absorbs_only = absorbs_only};
        result = attempt_once(&t);
        chose = t.chose;
    }
    return result;
}

aphi_network_action aphi_network_simulator_act(aphi_network_simulator *n)
{
    aphi_network_action result = APHI_NETWORK_WAITS;
    if (aph_count(n->incoming))
        result = attempt_repeatedly(n, true);
    return result == APHI_NETWORK_WAITS ? attempt_repeatedly(n, false) : result;
}

/* ---- the simulator ----------------------------------------------------------------------------------------------- */

static void mark(void *context)
{
    aphi_network_simulator *n = context;
    aph_mark(n->at.state);
    aph_mark(n->at.answers);
    aph_mark(n->incoming);
    aph_mark(n->outgoing);
}

void aphi_network_simulator_open(aphi_network_simulator *n, const aph_network *network, aphi_simulator *server,
                                 uint64_t seed)
{
    *n = (aphi_network_simulator){.network = network, .model = aph_network_model(network), .server = server,
                                  .choice = aphi_choice_seed(seed), .credit = CREDIT_MIN};
    n->incoming = n->outgoing = aph_array(0, NULL);
    aphi_network_simulator_set_state(n, n->model.initial(&n->model));
    aph_root_add(mark, n);
    aphi_guard_include(&n->model);
}

void aphi_network_simulator_close(aphi_network_simulator *n)
{
    aph_root_remove(mark, n);
}

void aphi_network_simulator_offer(aphi_network_simulator *n, aph_packet p)
{
    aph_value *to = p.to_server ? &n->incoming : &n->outgoing;
    *to = aph_push(*to, aph_packet_value(p));
}

void aphi_network_simulator_undo(aphi_network_simulator *n)
{
    n->at = n->before;
    n->credit++;
}

void aphi_network_simulator_set_state(aphi_network_simulator *n, aph_value state)
{
    n->at = (aphi_network_place){.state = state, .answers = aph_array(0, NULL)};
}

bool aphi_network_simulator_is_idle(const aphi_network_simulator *n, aph_value *after)
{
    *after = n->at.state;
    bool within_step = aph_count(n->at.answers) > 0; /* it may hold a packet that it has absorbed */
    if (within_step || aph_count(n->incoming) || aph_count(n->outgoing))
        return false;
    return n->network->idle ? n->network->idle(after) : *after == n->model.initial(&n->model);
}
