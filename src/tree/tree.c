/* SPDX-License-Identifier: Apache-2.0
 *
 * tree.c - interaction trees: suspended programs that can be answered many times.
 *
 * Idea:       a tree is a result (RETURN), one event (TRIGGER), a tree followed by a continuation (BIND), a tree under
 *             a handler (INTERPRET; with a state: FOLD), a tree that is repeated (FOREVER), or a model inside a step
 *             (MODEL: the state at the start of the step, and the answers since). Only aph_tree_event and
 *             aph_tree_answer depend on the kind.
 * Invariants: 1. no field of a tree changes after it is made, except its reference count
 *             2. each live tree is on one list, so that its values are roots
 * Not done:   freeing the contexts of continuations, which belong to the caller. */
#include "tree/tree.h"

#include "base/memory.h"
#include "base/plain_text.h"
#include "tree/model_calls.h"
#include "tree/step.h"
#include "tree/step_guard.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { IDLE_STEPS_MAX = 10000 }; /* steps in a row without an event */

typedef enum tree_kind { RETURN, TRIGGER, BIND, INTERPRET, FOLD, FOREVER, MODEL } tree_kind;

struct aph_tree {
    tree_kind kind;
    unsigned count; /* references */
    struct aph_tree *previous, *next_live;
    aph_value value;      /* RETURN: the result. MODEL: the state at the start of the step */
    aph_event event;      /* the event that it waits for; unused for RETURN */
    aph_tree *first;      /* BIND, INTERPRET, FOLD: the inner tree. FOREVER: the rest of this repetition */
    aph_tree *second;     /* INTERPRET, FOLD: the handler's tree for the event of first. FOREVER: the whole tree */
    aph_continue *next;   /* BIND */
    aph_handler *handler; /* INTERPRET */
    aph_state_handler *folder; /* FOLD */
    void *context;
    const aph_model *model;
    aph_value answers; /* MODEL: array */
    aphi_tree_fault *fault; /* MODEL: receives a fault of the model; NULL: a fault aborts */
};

static _Thread_local aph_tree *live;

static void mark_trees(void *context)
{
    (void)context;
    for (aph_tree *t = live; t; t = t->next_live) {
        aph_mark(t->value);
        aph_mark(t->answers);
        aph_mark(t->event.value);
    }
}

static aph_tree *make_tree(aph_tree like)
{
    aph_tree *t = aphi_alloc(sizeof *t);
    *t = like;
    t->count = 1;
    t->previous = NULL;
    t->next_live = live;
    if (live)
        live->previous = t;
    else
        aph_root_add(mark_trees, NULL);
    live = t;
    return t;
}

aph_tree *aph_tree_keep(aph_tree *t)
{
    t->count++;
    return t;
}

void aph_tree_drop(aph_tree *t)
{
    while (t && --t->count == 0) {
        if (t->previous)
            t->previous->next_live = t->next_live;
        else
            live = t->next_live;
        if (t->next_live)
            t->next_live->previous = t->previous;
        if (!live)
            aph_root_remove(mark_trees, NULL);
        aph_tree *first = t->first;
        aph_tree_drop(t->second);
        free(t);
        t = first;
    }
}

/* ---- a model inside a step --------------------------------------------------------------------------------------- */

static const aph_tree never = {.kind = TRIGGER, .event = {.kind = APH_EVENT_NEVER}};

static aph_fault fault_of(aphi_ending ending)
{
    switch (ending) {
    case APHI_UNKNOWN_REQUEST: return APH_FAULT_REQUEST;
    case APHI_MISCALLED: return APH_FAULT_CALL;
    case APHI_OUT_OF_TIME: return aphi_guard_stuck() ? APH_FAULT_STUCK : APH_FAULT_NONE;
    case APHI_ENDED: return APH_FAULT_IMPURE;
    default: return APH_FAULT_CRASH;
    }
}

/* Records the fault in *fault, and abandons the branch. */
static aph_tree *fail_model(const aph_model *model, aphi_tree_fault *fault, aph_fault kind, const char *what)
{
    if (!fault) {
        aphi_print(stderr, "antiphon: model %s: %s\n", model->name, what);
        abort();
    }
    if (!fault->model) {
        fault->model = model;
        fault->kind = kind;
        snprintf(fault->message, sizeof fault->message, "%s", what);
    }
    return make_tree(never);
}

static const char *what_of(aphi_ending ending)
{
    return ending == APHI_OUT_OF_TIME ? "a step does not end" : aphi_step_reason();
}

/* Runs the model to its next event, over any number of steps. */
static aph_tree *run_model(const aph_model *model, aph_value state, aph_value answers, aphi_tree_fault *fault)
{
    for (int idle = 0; idle < IDLE_STEPS_MAX; idle++) {
        aphi_answers r = {.answers = answers};
        aphi_ending ending = aphi_step_replay(model, &state, &r);
        switch (ending) {
        case APHI_LEFT:
            return make_tree((aph_tree){.kind = MODEL, .value = state, .answers = answers, .event = r.event,
                                        .model = model, .fault = fault});
        case APHI_NEVER: return make_tree(never);
        case APHI_ENDED:
            if (r.at < aph_count(answers))
                return fail_model(model, fault, APH_FAULT_IMPURE,
                                  "the step ended before it used its answers: it is not a pure function of them");
            answers = aph_array(0, NULL);
            break;
        default: return fail_model(model, fault, fault_of(ending), what_of(ending));
        }
    }
    return fail_model(model, fault, APH_FAULT_STUCK, "the step ends again and again without an event");
}

aph_tree *aphi_tree_resume(const aph_model *model, aph_value state, aph_value answers, aphi_tree_fault *fault)
{
    return run_model(model, state, answers, fault);
}

aph_tree *aphi_tree_replace(const aph_tree *t, aph_value state, aph_value answers)
{
    assert(t->kind == MODEL);
    return run_model(t->model, state, answers, t->fault);
}

aph_value aphi_tree_answers(const aph_tree *t)
{
    return t->kind == MODEL ? t->answers : APH_NIL;
}

aph_tree *aph_tree_at(const aph_model *model, aph_value state)
{
    return run_model(model, state, aph_array(0, NULL), NULL);
}

aph_tree *aph_tree_of(const aph_model *model)
{
    return aph_tree_at(model, aphi_model_initial(model));
}

aph_value aph_tree_state(aph_tree *t)
{
    return t->kind == MODEL ? t->value : APH_NIL;
}

/* ---- construction ------------------------------------------------------------------------------------------------ */

aph_tree *aph_tree_return(aph_value result)
{
    return make_tree((aph_tree){.kind = RETURN, .value = result});
}

aph_tree *aph_tree_trigger(const aph_event *event)
{
    assert(event->kind != APH_EVENT_RETURN);
    return make_tree((aph_tree){.kind = TRIGGER, .event = *event});
}

aph_tree *aph_tree_bind(aph_tree *t, aph_continue *next, void *context)
{
    aph_event event = aph_tree_event(t);
    if (event.kind == APH_EVENT_RETURN)
        return next(context, event.value);
    return make_tree(
        (aph_tree){.kind = BIND, .first = aph_tree_keep(t), .next = next, .context = context, .event = event});
}

/* Takes ownership of t and of `running`, the handler's tree for the event that t waits for. */
static aph_tree *interpret_tree(aph_tree *t, aph_tree *running, aph_handler *handler, void *context)
{
    for (;;) {
        aph_event event = aph_tree_event(running);
        if (event.kind != APH_EVENT_RETURN)
            return make_tree((aph_tree){.kind = INTERPRET, .first = t, .second = running, .handler = handler,
                                   .context = context, .event = event});
        aph_tree *after = aph_tree_answer(t, event.value);
        aph_tree_drop(t);
        aph_tree_drop(running);
        t = after;
        event = aph_tree_event(t);
        if (event.kind == APH_EVENT_RETURN)
            return t;
        running = handler(context, &event);
    }
}

aph_tree *aph_tree_interpret(aph_tree *t, aph_handler *handler, void *context)
{
    aph_event event = aph_tree_event(t);
    if (event.kind == APH_EVENT_RETURN)
        return aph_tree_keep(t);
    return interpret_tree(aph_tree_keep(t), handler(context, &event), handler, context);
}

/* Like interpret_tree; the result of `running` is [state, answer]. */
static aph_tree *fold_tree(aph_tree *t, aph_tree *running, aph_state_handler *folder, void *context)
{
    for (;;) {
        aph_event event = aph_tree_event(running);
        if (event.kind != APH_EVENT_RETURN)
            return make_tree((aph_tree){.kind = FOLD, .first = t, .second = running, .folder = folder,
                                        .context = context, .event = event});
        aph_value state = aph_at(event.value, 0);
        aph_tree *after = aph_tree_answer(t, aph_at(event.value, 1));
        aph_tree_drop(t);
        aph_tree_drop(running);
        t = after;
        event = aph_tree_event(t);
        if (event.kind == APH_EVENT_RETURN) {
            aph_tree_drop(t);
            return aph_tree_return(APH_ARRAY_OF(state, event.value));
        }
        running = folder(context, &event, state);
    }
}

aph_tree *aph_tree_interpret_state(aph_tree *t, aph_state_handler *handler, aph_value state, void *context)
{
    aph_event event = aph_tree_event(t);
    if (event.kind == APH_EVENT_RETURN)
        return aph_tree_return(APH_ARRAY_OF(state, event.value));
    return fold_tree(aph_tree_keep(t), handler(context, &event, state), handler, context);
}

/* Takes ownership of rest. */
static aph_tree *repeat_tree(aph_tree *rest, aph_tree *whole)
{
    if (aph_tree_event(rest).kind == APH_EVENT_RETURN) {
        aph_tree_drop(rest);
        rest = aph_tree_keep(whole);
    }
    return make_tree((aph_tree){.kind = FOREVER, .first = rest, .second = aph_tree_keep(whole),
                                .event = aph_tree_event(rest)});
}

aph_tree *aph_tree_forever(aph_tree *t)
{
    assert(aph_tree_event(t).kind != APH_EVENT_RETURN);
    return repeat_tree(aph_tree_keep(t), t);
}

/* ---- events and answers ------------------------------------------------------------------------------------------ */

aph_event aph_tree_event(aph_tree *t)
{
    if (t->kind == RETURN)
        return (aph_event){.kind = APH_EVENT_RETURN, .value = t->value};
    return t->event;
}

static aph_tree *bind_answer(aph_tree *t, aph_value answer)
{
    aph_tree *first = aph_tree_answer(t->first, answer), *bound = aph_tree_bind(first, t->next, t->context);
    aph_tree_drop(first);
    return bound;
}

aph_tree *aph_tree_answer(aph_tree *t, aph_value answer)
{
    switch (t->kind) {
    case TRIGGER:
        assert(t->event.kind != APH_EVENT_NEVER);
        return aph_tree_return(answer);
    case BIND: return bind_answer(t, answer);
    case INTERPRET:
        return interpret_tree(aph_tree_keep(t->first), aph_tree_answer(t->second, answer), t->handler, t->context);
    case FOLD:
        return fold_tree(aph_tree_keep(t->first), aph_tree_answer(t->second, answer), t->folder, t->context);
    case FOREVER: return repeat_tree(aph_tree_answer(t->first, answer), t->second);
    case MODEL: return run_model(t->model, t->value, aph_push(t->answers, answer), t->fault);
    case RETURN: break;
    }
    assert(!"a finished tree has no answer");
    return NULL;
}

/* ---- equality ---------------------------------------------------------------------------------------------------- */

static bool is_same_text(const char *a, const char *b)
{
    return a == b || (a && b && !strcmp(a, b));
}

static bool is_same_event(const aph_event *a, const aph_event *b)
{
    return a->kind == b->kind && a->to == b->to && a->value == b->value && a->sort == b->sort &&
           a->bounded == b->bounded && a->low == b->low && a->high == b->high && a->count == b->count &&
           is_same_text(a->name, b->name) && is_same_text(a->clause, b->clause);
}

/* The answers to events that have few. */
static bool answer_simply(void *context, const aph_event *e, size_t i, aph_value *answer)
{
    (void)context;
    switch (e->kind) {
    case APH_EVENT_SEND: *answer = APH_NIL; return i < 1;
    case APH_EVENT_DECIDE: *answer = aph_bool(i == 0); return i < 2;
    case APH_EVENT_EITHER: *answer = aph_int((int64_t)i); return i < e->count;
    default: return false;
    }
}

bool aph_tree_equal_to(aph_tree *a, aph_tree *b, size_t depth, aph_answer_at *answers, void *context)
{
    aph_event x = aph_tree_event(a), y = aph_tree_event(b);
    aph_value answer;
    bool equal = is_same_event(&x, &y);
    aph_answer_at *at = answers ? answers : answer_simply;
    for (size_t i = 0; equal && depth > 0 && at(context, &x, i, &answer); i++) {
        aph_tree *after_a = aph_tree_answer(a, answer), *after_b = aph_tree_answer(b, answer);
        equal = aph_tree_equal_to(after_a, after_b, depth - 1, answers, context);
        aph_tree_drop(after_a);
        aph_tree_drop(after_b);
    }
    return equal;
}
