/* SPDX-License-Identifier: Apache-2.0
 *
 * substitute.c - one request less, if another one says something else; and as many, if one says what is simpler.
 *
 *     PUT /a, GET /a                  ->   GET /old     what was written for the GET is not needed where something is
 *     PUT, PUT, GET if not its tag    ->   PUT, GET if not its tag made weak
 *     PUT, GET if older than it       ->   GET if it has a tag that it cannot have
 *
 * Idea:       Some requests are there only because of what others happen to say. So one is removed, and what is left
 *             says what the model's own requests often say in that field: another target or method. The same value in
 *             several requests is one thing that they speak of, and is exchanged in all of them. Or a hole is filled by
 *             another function, and perhaps all speak of another thing. If two are left, one may also say one thing
 *             more; if one is left, it may say two things otherwise, or one field stands for another that is never said
 *             beside it, or it is of another kind and has a field more.
 * Invariants: 1. Every step has one action less, or as many and what is said is simpler by aphi_is_simpler, the order
 *             that simplify.c follows: so they end. As there, the steps are numbered: nobody holds values while a
 *             candidate runs.
 *             2. No request comes about with two fields of which the one never says this beside the other, such as a
 *             DELETE with a body: what a subject makes of that is another story.
 * Cost:       One to three hundred candidates for two to four actions, one run each; none for more, or where chance has
 *             a say. */
#include "shrink/substitute.h"

#include <stdlib.h>
#include "base/memory.h"
#include "shrink/script_edit.h"
#include "script/expression.h"
#include "script/simplify.h"

enum { ACTIONS_MAX = 4, FEW = 2, PASSES_MAX = 2 };

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

/* In all messages that say the same there; one that says nothing there, by itself. */
static void say_otherwise(aphi_script *c, size_t i, aph_value field, aph_value value)
{
    aph_value before = said(c->actions[i].send, field);
    for (size_t k = i; k < c->count; k++) {
        aph_value *send = &c->actions[k].send;
        if (k == i || (before && said(*send, field) == before))
            *send = aph_set(*send, field, value);
    }
}

static aph_value simplest(aph_value others)
{
    aph_value best = APH_NIL;
    for (size_t k = 0; k < aph_count(others); k++) {
        aph_value value = aph_at(aph_at(others, k), 0);
        if (!best || aphi_is_simpler(value, best))
            best = value;
    }
    return best;
}

/* Another value; only if it is simpler; or a field more, too; or only that, with the simplest that it often says. */
typedef enum exchanging { OTHER, SIMPLER, ADDED, MORE } exchanging;

/* The n-th exchange of what the i-th action says; counts *n down by those that there are. */
static bool exchange_at(aphi_script *c, aph_value values, size_t i, exchanging how, size_t *n)
{
    aph_value field, others;
    for (size_t f = 0; aph_pair_at(values, f, &field, &others); f++) {
        aph_value before = said(c->actions[i].send, field);
        if (before ? how == MORE || !is_first_to_say(c, i, field) : how != ADDED && how != MORE)
            continue;
        for (size_t k = 0; k < aph_count(others); k++) {
            aph_value value = aph_at(aph_at(others, k), 0);
            if (value == before || (how == SIMPLER && !aphi_is_simpler(value, before)) ||
                (how == MORE && value != simplest(others)) || (*n)-- > 0)
                continue;
            say_otherwise(c, i, field, value);
            return true;
        }
    }
    return false;
}

/* The n-th exchange in the candidate; false if it has not so many. */
static bool exchange_one(aphi_script *c, aph_value values, exchanging how, size_t n)
{
    for (size_t i = 0; i < c->count; i++)
        if (aph_kind_of(c->actions[i].send) == APH_OBJECT && exchange_at(c, values, i, how, &n))
            return true;
    return false;
}

static bool all_say(const aphi_script *c, aph_value field, aph_value value)
{
    for (size_t i = 0; i < c->count; i++)
        if (value ? said(c->actions[i].send, field) != value : !said(c->actions[i].send, field))
            return false;
    return true;
}

/* The n-th way for all requests to say one and the same in a field that all have. */
static bool speak_of_one(aphi_script *c, aph_value values, size_t n)
{
    aph_value field, others;
    for (size_t f = 0; aph_pair_at(values, f, &field, &others); f++) {
        for (size_t k = 0; all_say(c, field, APH_NIL) && k < aph_count(others); k++) {
            aph_value value = aph_at(aph_at(others, k), 0);
            if (all_say(c, field, value) || n-- > 0)
                continue;
            for (size_t i = 0; i < c->count; i++)
                c->actions[i].send = aph_set(c->actions[i].send, field, value);
            return true;
        }
    }
    return false;
}

/* The n-th way to fill a hole by another function. */
static bool fill_otherwise(aphi_script *c, const aph_function *functions, size_t n)
{
    int64_t label;
    for (size_t i = 0; i < c->count; i++) {
        for (size_t h = 0; aphi_hole_at(c->actions[i].send, h, &label); h++) {
            for (const aph_function *f = functions; f->name; f++) {
                aph_value send = aphi_refill(c->actions[i].send, h, aph_str(f->name));
                if (send == c->actions[i].send || n-- > 0)
                    continue;
                c->actions[i].send = send;
                return true;
            }
        }
    }
    return false;
}

/* Are there requests without this field? */
static bool is_optional(aph_value values, aph_value field)
{
    aph_value ignored, others;
    for (size_t f = 0; aph_pair_at(values, f, &ignored, &others); f++)
        for (size_t k = 0; k < aph_count(others); k++)
            if (!aph_has(aph_at(aph_at(others, k), 1), field))
                return true;
    return false;
}

/* The only field of the message that is never said beside those; APH_NIL: there is none, or are several. */
static aph_value only_stranger(aph_value send, aph_value beside)
{
    aph_value field, ignored, stranger = APH_NIL;
    for (size_t i = 0; aph_pair_at(send, i, &field, &ignored); i++) {
        if (aph_has(beside, field))
            continue;
        if (stranger)
            return APH_NIL;
        stranger = field;
    }
    return stranger;
}

/* The n-th way for a field of the message to stand for another, which is never said beside it. */
static bool stand_in(aph_value *send, aph_value values, size_t n)
{
    aph_value field, others;
    for (size_t f = 0; aph_pair_at(values, f, &field, &others); f++) {
        for (size_t k = 0; !aph_has(*send, field) && k < aph_count(others); k++) {
            aph_value stranger = only_stranger(*send, aph_at(aph_at(others, k), 1));
            if (!stranger || !is_optional(values, stranger) || n-- > 0)
                continue;
            *send = aph_set(aph_remove(*send, stranger), field, aph_at(aph_at(others, k), 0));
            return true;
        }
    }
    return false;
}

static void remove_action(aphi_shrink_runner *s, size_t i)
{
    bool removed[ACTIONS_MAX] = {false};
    removed[i] = true;
    aphi_script_edit_without(s, removed);
}

static bool tell_taken(aphi_shrink_runner *s)
{
    aphi_shrink_runner_report(s, "removed one of %zu actions, and another one says something else", s->best.count + 1);
    return true;
}

/* Is the candidate one that the model's requests could make, and does it fail? */
static bool is_taken(aphi_shrink_runner *s)
{
    return is_usual(&s->candidate, s->options->values) && aphi_shrink_runner_fails(s) && tell_taken(s);
}

static bool goes_on(const aphi_shrink_runner *s) { return !s->over && !s->fell; }

static bool removes_with_one(aphi_shrink_runner *s, size_t i)
{
    for (size_t n = 0; goes_on(s); n++) {
        remove_action(s, i);
        if (!exchange_one(&s->candidate, s->options->values, s->candidate.count <= FEW ? ADDED : OTHER, n))
            return false;
        if (is_taken(s))
            return true;
    }
    return false;
}

/* Another function fills a hole; and if that is not enough, all speak of another thing as well. */
static bool removes_with_function(aphi_shrink_runner *s, size_t i)
{
    for (size_t n = 0; goes_on(s) && s->options->functions; n++) {
        for (size_t k = 0; goes_on(s); k++) {
            remove_action(s, i);
            if (!fill_otherwise(&s->candidate, s->options->functions, n))
                return false;
            if (k && !speak_of_one(&s->candidate, s->options->values, k - 1))
                break;
            if (is_taken(s))
                return true;
        }
    }
    return false;
}

/* Of the request that is left, two things at once. */
static bool removes_with_two(aphi_shrink_runner *s, size_t i)
{
    for (size_t a = 0; goes_on(s); a++) {
        for (size_t b = 0; goes_on(s); b++) {
            remove_action(s, i);
            if (!exchange_one(&s->candidate, s->options->values, OTHER, a))
                return false;
            if (!exchange_one(&s->candidate, s->options->values, OTHER, b))
                break;
            if (is_taken(s))
                return true;
        }
    }
    return false;
}

/* Of the request that is left, one field stands for another; and if that is not enough, it says something else as
 * well. */
static bool removes_with_stand_in(aphi_shrink_runner *s, size_t i)
{
    for (size_t n = 0; goes_on(s); n++) {
        for (size_t k = 0; goes_on(s); k++) {
            remove_action(s, i);
            aph_value *send = &s->candidate.actions[0].send;
            if (aph_kind_of(*send) != APH_OBJECT || !stand_in(send, s->options->values, n))
                return false;
            if (k && !exchange_one(&s->candidate, s->options->values, OTHER, k - 1))
                break;
            if (is_taken(s))
                return true;
        }
    }
    return false;
}

/* The fields that requests have which say this there. */
static aph_value company(aph_value values, aph_value field, aph_value value)
{
    aph_value others = aph_get(values, field);
    for (size_t k = 0; k < aph_count(others); k++)
        if (aph_at(aph_at(others, k), 0) == value)
            return aph_at(aph_at(others, k), 1);
    return APH_NIL;
}

/* Do the messages differ in a field that says which others there can be, such as the method? */
static bool is_of_another_kind(aph_value values, aph_value send, aph_value before)
{
    aph_value field, value;
    for (size_t f = 0; aph_pair_at(send, f, &field, &value); f++) {
        aph_value other = said(before, field);
        if (value != other && company(values, field, value) != company(values, field, other))
            return true;
    }
    return false;
}

/* The request that is left is of another kind, and has a field more. */
static bool removes_with_kind(aphi_shrink_runner *s, size_t i)
{
    aph_value values = s->options->values;
    for (size_t n = 0; goes_on(s); n++) {
        for (size_t k = 0; goes_on(s); k++) {
            remove_action(s, i);
            aph_value *send = &s->candidate.actions[0].send, before = *send;
            if (!exchange_one(&s->candidate, values, OTHER, n))
                return false;
            if (!is_of_another_kind(values, *send, before) || !exchange_one(&s->candidate, values, MORE, k))
                break;
            if (is_taken(s))
                return true;
        }
    }
    return false;
}

static bool removes_any(aphi_shrink_runner *s)
{
    for (size_t i = 0; i < s->best.count && s->best.count > 1; i++)
        if (removes_with_one(s, i))
            return true;
    for (size_t i = 0; i < s->best.count && s->best.count > 1; i++)
        if (removes_with_function(s, i))
            return true;
    return s->best.count == 2 &&
           (removes_with_stand_in(s, 0) || removes_with_stand_in(s, 1) || removes_with_kind(s, 0) ||
            removes_with_kind(s, 1) || removes_with_two(s, 0));
}

static bool is_worth_it(const aphi_shrink_runner *s)
{
    return s->options->values && s->best.count <= ACTIONS_MAX &&
           aphi_shrink_runner_tries(s, APHI_MISSED) <= PASSES_MAX && goes_on(s);
}

bool aphi_substitute_request(aphi_shrink_runner *s)
{
    bool taken = false;
    while (is_worth_it(s) && removes_any(s))
        taken = true;
    return taken;
}

bool aphi_substitute_simpler(aphi_shrink_runner *s)
{
    bool taken = false;
    for (size_t n = 0; is_worth_it(s);) {
        aphi_script_edit_copy(s);
        if (!exchange_one(&s->candidate, s->options->values, SIMPLER, n))
            break;
        bool failed = is_usual(&s->candidate, s->options->values) && aphi_shrink_runner_fails_simpler(s);
        if (failed)
            aphi_shrink_runner_report(s, "something simpler is said");
        taken = taken || failed;
        n = failed ? 0 : n + 1;
    }
    return taken;
}
