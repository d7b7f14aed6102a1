/* SPDX-License-Identifier: Apache-2.0
 *
 * exchange.c - one request less, if another one says something else.
 *
 *     PUT /a, GET /a   ->   GET /old          what was written for the GET is not needed where something is already
 *
 * Idea:       Some requests are there only because of what others happen to say. So one is removed, and what is left
 *             says what the model's own requests often say in that field: another target or method. The same value in
 *             several requests is one thing that they speak of, and is exchanged in all of them. A request that is left
 *             alone may also say one thing more, or two things otherwise.
 * Invariants: 1. Every step has one action less, so they end. As in simplify.c, the steps are numbered: nobody holds
 *             values while a candidate runs.
 *             2. No request comes about with two fields of which the one never says this beside the other, such as a
 *             DELETE with a body: what a subject makes of that is another story.
 * Cost:       About a hundred candidates for two to four actions, one run each; none for more, or where chance has a
 *             say. */
#include "harness/exchange.h"

#include <stdlib.h>
#include "base/memory.h"
#include "harness/candidate.h"
#include "harness/expression.h"

enum { ACTIONS_MAX = 4, PASSES_MAX = 2 };

/* What a field says in a message; APH_NIL: there is no such field, or no message. */
static aph_value said(aph_value send, aph_value field)
{
    return aph_kind_of(send) == APH_OBJECT ? aph_get(send, field) : APH_NIL;
}

/* Does a request that says so never have one of the fields that this one has? */
static bool clashes(aph_value send, aph_value others, aph_value value)
{
    aph_value field, ignored;
    for (size_t k = 0; k < aph_count(others); k++)
        for (size_t i = 0; aph_at(aph_at(others, k), 0) == value && aph_pair_at(send, i, &field, &ignored); i++)
            if (!aph_has(aph_at(aph_at(others, k), 1), field))
                return true;
    return false;
}

/* Nor is there anything yet that would fill a hole in the first. */
static bool is_usual(const aphi_script *c, aph_value values)
{
    aph_value field, value;
    if (c->actions[0].send && aphi_expression_newest(c->actions[0].send) != 0)
        return false;
    for (size_t i = 0; i < c->count; i++)
        for (size_t f = 0; aph_kind_of(c->actions[i].send) == APH_OBJECT &&
                           aph_pair_at(c->actions[i].send, f, &field, &value); f++)
            if (clashes(c->actions[i].send, aph_get(values, field), value))
                return false;
    return true;
}

static bool is_first_to_say(const aphi_script *c, size_t i, aph_value field)
{
    for (size_t k = 0; k < i; k++)
        if (said(c->actions[k].send, field) == said(c->actions[i].send, field))
            return false;
    return true;
}

/* In all messages that say the same there. */
static void say_otherwise(aphi_script *c, size_t i, aph_value field, aph_value value)
{
    aph_value before = said(c->actions[i].send, field);
    for (size_t k = i; k < c->count; k++) {
        aph_value *send = &c->actions[k].send;
        if (aph_kind_of(*send) == APH_OBJECT && said(*send, field) == before)
            *send = aph_set(*send, field, value);
    }
}

/* The n-th exchange of what the i-th action says; counts *n down by those that there are. */
static bool exchange_at(aphi_script *c, aph_value values, size_t i, bool adds, size_t *n)
{
    aph_value field, others;
    for (size_t f = 0; aph_pair_at(values, f, &field, &others); f++) {
        aph_value before = said(c->actions[i].send, field);
        if ((!before && !adds) || !is_first_to_say(c, i, field))
            continue;
        for (size_t k = 0; k < aph_count(others); k++) {
            aph_value value = aph_at(aph_at(others, k), 0);
            if (value == before || (*n)-- > 0)
                continue;
            say_otherwise(c, i, field, value);
            return true;
        }
    }
    return false;
}

/* The n-th exchange in the candidate; false if it has not so many. */
static bool exchange_one(aphi_script *c, aph_value values, bool adds, size_t n)
{
    for (size_t i = 0; i < c->count; i++)
        if (aph_kind_of(c->actions[i].send) == APH_OBJECT && exchange_at(c, values, i, adds, &n))
            return true;
    return false;
}

static void remove_action(aphi_trial *s, size_t i)
{
    bool removed[ACTIONS_MAX] = {false};
    removed[i] = true;
    aphi_candidate_without(s, removed);
}

static bool tell_taken(aphi_trial *s)
{
    aphi_trial_tell(s, "removed one of %zu actions, and another one says something else", s->best.count + 1);
    return true;
}

static bool removes_with_one(aphi_trial *s, size_t i)
{
    for (size_t n = 0; !s->over && !s->fell; n++) {
        remove_action(s, i);
        if (!exchange_one(&s->candidate, s->options->values, s->candidate.count == 1, n))
            return false;
        if (is_usual(&s->candidate, s->options->values) && aphi_trial_fails(s))
            return tell_taken(s);
    }
    return false;
}

/* Of the request that is left, two things at once. */
static bool removes_with_two(aphi_trial *s, size_t i)
{
    for (size_t a = 0; !s->over && !s->fell; a++) {
        for (size_t b = 0; !s->over && !s->fell; b++) {
            remove_action(s, i);
            if (!exchange_one(&s->candidate, s->options->values, false, a))
                return false;
            if (!exchange_one(&s->candidate, s->options->values, false, b))
                break;
            if (is_usual(&s->candidate, s->options->values) && aphi_trial_fails(s))
                return tell_taken(s);
        }
    }
    return false;
}

static bool removes_any(aphi_trial *s)
{
    for (size_t i = 0; i < s->best.count && s->best.count > 1; i++)
        if (removes_with_one(s, i))
            return true;
    return s->best.count == 2 && removes_with_two(s, 0);
}

bool aphi_exchange(aphi_trial *s)
{
    bool taken = false;
    while (s->options->values && s->best.count <= ACTIONS_MAX && aphi_trial_tries(s, APHI_MISSED) <= PASSES_MAX &&
           !s->over && removes_any(s))
        taken = true;
    return taken;
}
