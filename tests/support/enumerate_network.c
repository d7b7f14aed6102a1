/* SPDX-License-Identifier: Apache-2.0
 *
 * enumerate_network.c - decision by exhaustive enumeration over a network that is a program.
 *
 * Idea:       server and network are two programs that run in turns, with concrete values: the server as long as it has
 *             a packet to receive, otherwise the network. All sequences of picks are tried, one event after another. It
 *             has only the code that runs a step in common with the derivation: no trees, symbols or constraints.
 * Cost:       exponential. A configuration that failed is not tried again; there is no other optimization. */
#include "enumerate_network.h"

#include "concrete.h"
#include "picks.h"
#include "tree/network_step.h"
#include "tree/step.h"
#include "wordset.h"

/* A program that is suspended in a step. */
typedef struct program {
    const aph_model *model;
    aph_value state, answers; /* of the step, and to its events so far */
} program;

typedef struct place {
    program server, network;
    aph_value in, out; /* packets to and from the server */
    size_t at;
} place;

typedef struct search {
    const subject *subject;
    const history *history;
    const aph_network *network;
    wordset failed;
    size_t reached;
} search;

/* ---- one program ------------------------------------------------------------------------------------------------- */

typedef struct run {
    const subject *subject;
    picks *picks;
    aph_value answers;
    size_t replayed;
    aph_event event;   /* the first one that the other side must answer */
    bool waiting;
} run;

static bool pick_answer(run *r, const aph_event *e, aph_value *answer)
{
    switch (e->kind) {
    case APH_EVENT_EITHER: *answer = aph_int((int64_t)picks_next_digit(r->picks, e->count)); return true;
    case APH_EVENT_DECIDE: *answer = e->value; return aph_kind_of(e->value) == APH_BOOL;
    case APH_EVENT_CHOOSE: {
        size_t n = concrete_values(r->subject, e->sort, e->bounded, e->low, e->high);
        *answer = concrete_value(r->subject, e->sort, e->bounded, e->low, picks_next_digit(r->picks, n));
        return true;
    }
    default:
        r->event = *e;
        r->waiting = true;
        return false;
    }
}

static bool answer_event(void *context, const aph_event *e, aph_value *answer)
{
    run *r = context;
    if (r->replayed < aph_count(r->answers)) {
        *answer = aph_at(r->answers, r->replayed++);
        return true;
    }
    if (!pick_answer(r, e, answer))
        return false;
    r->answers = aph_push(r->answers, *answer);
    r->replayed++;
    return true;
}

/* Runs the program to its next event that is not a pick. Returns false if the branch is impossible. */
static bool run_program(const subject *s, program *p, picks *o, aph_event *event)
{
    run r = {.subject = s, .picks = o, .answers = p->answers};
    for (;;) {
        aphi_ending ending = aphi_step_run(p->model, &p->state, answer_event, &r);
        p->answers = r.answers;
        *event = r.event;
        if (ending != APHI_ENDED)
            return r.waiting;
        r.answers = aph_array(0, NULL);
        r.replayed = 0;
    }
}

static void answer(program *p, aph_value value)
{
    p->answers = aph_push(p->answers, value);
}

static aph_value take_first(aph_value *buffer)
{
    aph_value first = aph_at(*buffer, 0);
    *buffer = aph_slice(*buffer, 1, aph_count(*buffer) - 1);
    return first;
}

/* ---- the search -------------------------------------------------------------------------------------------------- */

static bool explain(search *s, place p);

static bool is_silent(const search *s, place *p)
{
    aph_value state = p->network.state;
    aph_model model = aph_network_model(s->network);
    if (s->network->idle ? !s->network->idle(&state) : state != model.initial(&model))
        return false;
    if (state != p->network.state)
        p->network = (program){p->network.model, state, aph_array(0, NULL)};
    p->at++;
    return true;
}

static bool absorb(search *s, place p)
{
    const history_seen *seen = &s->history->seen[p.at];
    if (aph_count(p.out)) {
        answer(&p.network, take_first(&p.out));
    } else if (seen->quiet) {
        if (!is_silent(s, &p))
            return false;
    } else {
        if (!seen->sent)
            return false;
        answer(&p.network, aph_packet_value((aph_packet){true, seen->connection, seen->message}));
        p.at++;
    }
    return explain(s, p);
}

static bool emit(search *s, place p, aph_packet packet)
{
    const history_seen *seen = &s->history->seen[p.at];
    answer(&p.network, APH_NIL);
    if (packet.to_server)
        p.in = aph_push(p.in, APH_ARRAY_OF(aph_int(packet.connection), packet.message));
    else if (seen->quiet || seen->sent || seen->connection != packet.connection || seen->message != packet.message)
        return false;
    else
        p.at++;
    return explain(s, p);
}

static bool step_network(search *s, const place *before)
{
    picks o = {0};
    do {
        place p = *before;
        aph_event e;
        if (!run_program(s->subject, &p.network, &o, &e))
            continue;
        if (e.kind == APH_EVENT_OTHER) {
            answer(&p.network, aph_bool(aph_count(p.out) > 0));
            if (explain(s, p))
                return true;
        } else if (e.kind == APH_EVENT_RECV ? absorb(s, p) : emit(s, p, aph_packet_of(e.value))) {
            return true;
        }
    } while (picks_advance(&o));
    return false;
}

static bool step_server(search *s, const place *before)
{
    picks o = {0};
    do {
        place p = *before;
        aph_event e;
        if (!run_program(s->subject, &p.server, &o, &e))
            continue;
        if (e.kind == APH_EVENT_RECV && !aph_count(p.in)) {
            if (step_network(s, &p))
                return true;
            continue;
        }
        if (e.kind == APH_EVENT_SEND)
            p.out = aph_push(p.out, aph_packet_value((aph_packet){false, e.to, e.value}));
        answer(&p.server, e.kind == APH_EVENT_SEND ? APH_NIL : take_first(&p.in));
        if (explain(s, p))
            return true;
    } while (picks_advance(&o));
    return false;
}

/* Returns false if the network must not have absorbed its latest packet. */
static bool can_continue(const search *s, const place *p)
{
    picks o = {0};
    bool can = false;
    do {
        program copy = p->network;
        aph_event e;
        can = run_program(s->subject, &copy, &o, &e);
    } while (!can && picks_advance(&o));
    return can;
}

static bool explain(search *s, place p)
{
    if (!can_continue(s, &p))
        return false;
    if (p.at > s->reached)
        s->reached = p.at;
    if (p.at == s->history->count)
        return true;
    aph_value name = APH_ARRAY_OF(p.server.state, p.server.answers, p.network.state, p.network.answers, p.in, p.out,
                                  aph_int((int64_t)p.at));
    return wordset_add(&s->failed, name) && step_server(s, &p);
}

enumerated enumerate_network(const subject *s, const history *h, const aph_network *network)
{
    aph_model model = aph_network_model(network);
    aph_value none = aph_array(0, NULL);
    search x = {.subject = s, .history = h, .network = network};
    place p = {.server = {s->model, s->model->initial ? s->model->initial(s->model) : aph_object(), none},
               .network = {&model, model.initial(&model), none}, .in = none, .out = none};
    bool explained = explain(&x, p);
    wordset_deinit(&x.failed);
    return (enumerated){explained, x.reached};
}
