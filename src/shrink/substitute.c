/* SPDX-License-Identifier: Apache-2.0
 *
 * substitute.c - removal of a request while another changes, and replacement of values by simpler ones.
 *
 *     PUT /a, GET /a                  ->   GET /old     a resource that exists already needs no PUT
 *     PUT, PUT, GET if not its tag    ->   PUT, GET if not its tag made weak
 *     PUT, GET if older than it       ->   GET if it has a tag that it cannot have
 *
 * Idea:       Some requests are needed only because of the values in others. So one request is removed, and a field of
 *             the others, such as the target or the method, gets another value that is frequent in the model's
 *             requests. Equal values in several requests are replaced together. Or a hole gets another function, and
 *             perhaps all requests get the same value in some field. If two requests remain, one may also get a new
 *             field. If one remains, two of its fields may change, or one field may be replaced by another that never
 *             occurs with it, or its kind may change and it gets a new field.
 * Invariants: 1. Every step removes an action, or makes a value simpler by aphi_is_simpler, the order of simplify.c, so
 *                the steps end. As there, steps are numbered, so that no values are held while a candidate runs.
 *             2. No request gets a combination of fields that the model's requests never have, such as a DELETE with a
 *                body, which would fail for another reason.
 * Cost:       100 to 300 candidates for two to four actions, with one run each; none for more actions, or if the script
 *             fails only sometimes. */
#include "shrink/shrink_internal.h"

#include "script/expression.h"
#include "script/simplify.h"

enum { ACTIONS_MAX = 4, FEW = 2, PASSES_MAX = 2 };

/* Returns APH_NIL if there is no such field, or no message. */
static aph_value field_of(aph_value send, aph_value field)
{
    return aph_kind_of(send) == APH_OBJECT ? aph_get(send, field) : APH_NIL;
}

/* Returns the fields of requests with this value in this field. */
static aph_value compatible_fields(aph_value values, aph_value field, aph_value value)
{
    aph_value others = aph_get(values, field);
    for (size_t k = 0; k < aph_count(others); k++)
        if (aph_at(aph_at(others, k), 0) == value)
            return aph_at(aph_at(others, k), 1);
    return APH_NIL;
}

/* Returns true if requests with this value never have one of the fields of `send`. */
static bool is_incompatible(aph_value send, aph_value values, aph_value field, aph_value value)
{
    aph_value compatible = compatible_fields(values, field, value), other, ignored;
    for (size_t i = 0; compatible && aph_pair_at(send, i, &other, &ignored); i++)
        if (!aph_has(compatible, other))
            return true;
    return false;
}

/* Returns true if the model could generate the requests. The first one cannot have holes. */
static bool is_plausible(const aphi_script *c, aph_value values)
{
    aph_value field, value;
    if (c->actions[0].send && aphi_expression_newest(c->actions[0].send) != 0)
        return false;
    for (size_t i = 0; i < c->count; i++)
        for (size_t f = 0; aph_kind_of(c->actions[i].send) == APH_OBJECT &&
                           aph_pair_at(c->actions[i].send, f, &field, &value); f++)
            if (is_incompatible(c->actions[i].send, values, field, value))
                return false;
    return true;
}

static bool is_first_with(const aphi_script *c, size_t i, aph_value field)
{
    for (size_t k = 0; k < i; k++)
        if (field_of(c->actions[k].send, field) == field_of(c->actions[i].send, field))
            return false;
    return true;
}

/* Sets the field, in all messages with the same value there; if there is no such field, in this message only. */
static void set_field(aphi_script *c, size_t i, aph_value field, aph_value value)
{
    aph_value before = field_of(c->actions[i].send, field);
    for (size_t k = i; k < c->count; k++) {
        aph_value *send = &c->actions[k].send;
        if (k == i || (before && field_of(*send, field) == before))
            *send = aph_set(*send, field, value);
    }
}

static aph_value simplest_value(aph_value others)
{
    aph_value best = APH_NIL;
    for (size_t k = 0; k < aph_count(others); k++) {
        aph_value value = aph_at(aph_at(others, k), 0);
        if (!best || aphi_is_simpler(value, best))
            best = value;
    }
    return best;
}

typedef enum substitution {
    OTHER_VALUE,
    SIMPLER_VALUE,
    ANY_FIELD, /* another value, or a new field */
    NEW_FIELD, /* with the simplest of its frequent values */
} substitution;

/* Makes the n-th substitution in the i-th action; decrements *n by the number of those skipped. */
static bool substitute_at(aphi_script *c, aph_value values, size_t i, substitution how, size_t *n)
{
    aph_value field, others;
    for (size_t f = 0; aph_pair_at(values, f, &field, &others); f++) {
        aph_value before = field_of(c->actions[i].send, field);
        if (before ? how == NEW_FIELD || !is_first_with(c, i, field) : how != ANY_FIELD && how != NEW_FIELD)
            continue;
        for (size_t k = 0; k < aph_count(others); k++) {
            aph_value value = aph_at(aph_at(others, k), 0);
            if (value == before || (how == SIMPLER_VALUE && !aphi_is_simpler(value, before)) ||
                (how == NEW_FIELD && value != simplest_value(others)) || (*n)-- > 0)
                continue;
            set_field(c, i, field, value);
            return true;
        }
    }
    return false;
}

/* Makes the n-th substitution in the candidate. Returns false if there are fewer. */
static bool substitute_one(aphi_script *c, aph_value values, substitution how, size_t n)
{
    for (size_t i = 0; i < c->count; i++)
        if (aph_kind_of(c->actions[i].send) == APH_OBJECT && substitute_at(c, values, i, how, &n))
            return true;
    return false;
}

static bool all_have(const aphi_script *c, aph_value field, aph_value value)
{
    for (size_t i = 0; i < c->count; i++)
        if (value ? field_of(c->actions[i].send, field) != value : !field_of(c->actions[i].send, field))
            return false;
    return true;
}

/* Sets a field that all requests have to the same value in all of them, in the n-th way. */
static bool unify_field(aphi_script *c, aph_value values, size_t n)
{
    aph_value field, others;
    for (size_t f = 0; aph_pair_at(values, f, &field, &others); f++) {
        for (size_t k = 0; all_have(c, field, APH_NIL) && k < aph_count(others); k++) {
            aph_value value = aph_at(aph_at(others, k), 0);
            if (all_have(c, field, value) || n-- > 0)
                continue;
            for (size_t i = 0; i < c->count; i++)
                c->actions[i].send = aph_set(c->actions[i].send, field, value);
            return true;
        }
    }
    return false;
}

/* Gives a hole another function, in the n-th way. */
static bool set_function(aphi_script *c, const aph_function *functions, size_t n)
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

/* Returns true if there are requests without this field. */
static bool is_optional(aph_value values, aph_value field)
{
    aph_value ignored, others;
    for (size_t f = 0; aph_pair_at(values, f, &ignored, &others); f++)
        for (size_t k = 0; k < aph_count(others); k++)
            if (!aph_has(aph_at(aph_at(others, k), 1), field))
                return true;
    return false;
}

/* Returns the only field of the message that is not in `compatible`; APH_NIL if there is none, or several. */
static aph_value only_incompatible_field(aph_value send, aph_value compatible)
{
    aph_value field, ignored, removed = APH_NIL;
    for (size_t i = 0; aph_pair_at(send, i, &field, &ignored); i++) {
        if (aph_has(compatible, field))
            continue;
        if (removed)
            return APH_NIL;
        removed = field;
    }
    return removed;
}

/* Replaces a field of the message with another that never occurs with it, in the n-th way. */
static bool replace_field(aph_value *send, aph_value values, size_t n)
{
    aph_value field, others;
    for (size_t f = 0; aph_pair_at(values, f, &field, &others); f++) {
        for (size_t k = 0; !aph_has(*send, field) && k < aph_count(others); k++) {
            aph_value removed = only_incompatible_field(*send, aph_at(aph_at(others, k), 1));
            if (!removed || !is_optional(values, removed) || n-- > 0)
                continue;
            *send = aph_set(aph_remove(*send, removed), field, aph_at(aph_at(others, k), 0));
            return true;
        }
    }
    return false;
}

/* The result of the change (n, k) of some kind, made in a candidate with one action fewer. */
typedef enum change { CHANGED, NO_SUCH_K, NO_SUCH_N } change;
typedef change change_at(aphi_script *c, const aphi_shrink_options *o, size_t n, size_t k);

static change change_field(aphi_script *c, const aphi_shrink_options *o, size_t n, size_t k)
{
    if (k)
        return NO_SUCH_K;
    return substitute_one(c, o->values, c->count <= FEW ? ANY_FIELD : OTHER_VALUE, n) ? CHANGED : NO_SUCH_N;
}

/* Gives a hole another function; then also unifies a field. */
static change change_function(aphi_script *c, const aphi_shrink_options *o, size_t n, size_t k)
{
    if (!o->functions || !set_function(c, o->functions, n))
        return NO_SUCH_N;
    return !k || unify_field(c, o->values, k - 1) ? CHANGED : NO_SUCH_K;
}

/* Changes two fields of the remaining request. */
static change change_two_fields(aphi_script *c, const aphi_shrink_options *o, size_t n, size_t k)
{
    if (!substitute_one(c, o->values, OTHER_VALUE, n))
        return NO_SUCH_N;
    return substitute_one(c, o->values, OTHER_VALUE, k) ? CHANGED : NO_SUCH_K;
}

/* Replaces a field of the remaining request with another field; then also changes a value. */
static change exchange_field(aphi_script *c, const aphi_shrink_options *o, size_t n, size_t k)
{
    aph_value *send = &c->actions[0].send;
    if (aph_kind_of(*send) != APH_OBJECT || !replace_field(send, o->values, n))
        return NO_SUCH_N;
    return !k || substitute_one(c, o->values, OTHER_VALUE, k - 1) ? CHANGED : NO_SUCH_K;
}

/* Returns true if the messages differ in a field that determines the possible others, such as the method. */
static bool is_of_another_kind(aph_value values, aph_value send, aph_value before)
{
    aph_value field, value;
    for (size_t f = 0; aph_pair_at(send, f, &field, &value); f++) {
        aph_value other = field_of(before, field);
        if (value != other && compatible_fields(values, field, value) != compatible_fields(values, field, other))
            return true;
    }
    return false;
}

/* Changes the kind of the remaining request, and adds a field. */
static change change_kind(aphi_script *c, const aphi_shrink_options *o, size_t n, size_t k)
{
    aph_value *send = &c->actions[0].send, before = *send;
    if (!substitute_one(c, o->values, OTHER_VALUE, n))
        return NO_SUCH_N;
    return is_of_another_kind(o->values, *send, before) && substitute_one(c, o->values, NEW_FIELD, k) ? CHANGED
                                                                                                      : NO_SUCH_K;
}

static bool may_continue(const aphi_shrink_runner *s) { return !s->over && !s->must_fall_back; }

/* Removes the i-th action and makes a change, until the model could generate the candidate, and it fails. */
static bool remove_and_change(aphi_shrink_runner *s, size_t i, change_at *change_candidate)
{
    bool removed[ACTIONS_MAX] = {false};
    removed[i] = true;
    for (size_t n = 0, k = 0; may_continue(s);) {
        aphi_script_edit_without(s, removed);
        change made = change_candidate(&s->candidate, s->options, n, k);
        if (made == NO_SUCH_N)
            return false;
        if (made == CHANGED && is_plausible(&s->candidate, s->options->values) && aphi_shrink_runner_fails(s)) {
            aphi_shrink_runner_report(s, "removed one of %zu actions and changed another", s->best.count + 1);
            return true;
        }
        n += made == NO_SUCH_K;
        k = made == NO_SUCH_K ? 0 : k + 1;
    }
    return false;
}

static bool remove_any(aphi_shrink_runner *s)
{
    for (size_t i = 0; i < s->best.count && s->best.count > 1; i++)
        if (remove_and_change(s, i, change_field))
            return true;
    for (size_t i = 0; i < s->best.count && s->best.count > 1; i++)
        if (remove_and_change(s, i, change_function))
            return true;
    return s->best.count == 2 &&
           (remove_and_change(s, 0, exchange_field) || remove_and_change(s, 1, exchange_field) ||
            remove_and_change(s, 0, change_kind) || remove_and_change(s, 1, change_kind) ||
            remove_and_change(s, 0, change_two_fields));
}

static bool is_worthwhile(const aphi_shrink_runner *s)
{
    return s->options->values && s->best.count <= ACTIONS_MAX &&
           aphi_shrink_runner_tries(s, APHI_MISSED) <= PASSES_MAX && may_continue(s);
}

bool aphi_substitute_request(aphi_shrink_runner *s)
{
    bool taken = false;
    while (is_worthwhile(s) && remove_any(s))
        taken = true;
    return taken;
}

bool aphi_substitute_simpler(aphi_shrink_runner *s)
{
    bool taken = false;
    for (size_t n = 0; is_worthwhile(s);) {
        aphi_script_edit_copy(s);
        if (!substitute_one(&s->candidate, s->options->values, SIMPLER_VALUE, n))
            break;
        bool failed = is_plausible(&s->candidate, s->options->values) &&
                      aphi_shrink_runner_fails_simpler(s, "replaced a value with a simpler one");
        taken = taken || failed;
        n = failed ? 0 : n + 1;
    }
    return taken;
}
