/* SPDX-License-Identifier: Apache-2.0
 *
 * component_alts.c - conversion of components written in C to transition systems.
 *
 * Idea:       run a component's step with each message that it can receive. A state of the graph is a point where the
 *             step waits. It consists of the component's state at the beginning of the step and the answers to its
 *             calls since then. Both are interned values, so states are compared as words.
 * Invariants: every state below `done` has all its moves; the others are queued
 * Cost:       one run of the step from its beginning for each state; ANSWERS_MAX bounds the quadratic case.
 * Read next:  component.h for the calls of a step; alts.c for the resulting model. */
#include "alts/component_alts.h"

#include "base/intern.h"
#include "base/memory.h"
#include "tree/component_events.h"
#include "tree/step_guard.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STATES_MAX = 4 << 20, ANSWERS_MAX = 10000, EMPTY_STEPS_MAX = 1000, NAME_MAX_BYTES = 200 };

static const size_t memory_max = (size_t)4 << 30;
static _Thread_local aphi_ending last_ending;

typedef struct unfolding {
    const aph_program *program;
    aphi_alts *alts;
    size_t component;
    aph_model model;
    aphi_intern states; /* each: the component's state at the beginning of the step, and the answers */
    uint32_t *from;     /* of the moves */
    aphi_alts_move *moves;
    size_t move_count, from_capacity, move_capacity;
    aph_event event;     /* where the run stopped */
    char *why;
    size_t why_size;
} unfolding;

static void mark_unfolding(void *context)
{
    unfolding *u = context;
    for (uint32_t i = 0; i < u->states.count; i++) {
        const aph_value *state = aphi_intern_key(&u->states, i, NULL);
        aph_mark(state[0]);
        aph_mark(state[1]);
    }
}

static uint32_t intern_state(unfolding *u, aph_value head, aph_value answers)
{
    aph_value state[] = {head, answers};
    return aphi_intern_number(&u->states, state, sizeof state);
}

/* ---- moves ------------------------------------------------------------------------------------------------------- */

static bool fail(unfolding *u, const char *what)
{
    snprintf(u->why, u->why_size, "component %s of %s: %s", u->program->components[u->component].name, u->program->name,
             what);
    return false;
}

/* Writes the text of a label; returns false if the value is not a label. */
static bool format_label(aph_value label, char *text, size_t size)
{
    aph_value head = aph_is_str(label) ? label : aph_at(label, 0);
    size_t n, used;
    if (!head || !aph_is_str(head))
        return false;
    const char *bytes = aph_bytes_of(&head, &n);
    used = (size_t)snprintf(text, size, "%.*s", (int)n, bytes);
    for (size_t i = 1; !aph_is_str(label) && i < aph_count(label) && used < size; i++) {
        if (!aph_is_int(aph_at(label, i)))
            return false;
        used += (size_t)snprintf(text + used, size - used, "%s%" PRId64 "%s", i == 1 ? "(" : ",",
                                 aph_int_of(aph_at(label, i)), i + 1 == aph_count(label) ? ")" : "");
    }
    return used > 0 && used < size;
}

static bool add_move(unfolding *u, uint32_t from, aphi_alts_op op, bool sync, int64_t port, aph_value label,
                     uint32_t target)
{
    char text[NAME_MAX_BYTES];
    if (op != APHI_ALTS_LOCAL && (port < 0 || port >= u->program->port_count))
        return fail(u, "it names a port that the program does not have");
    if (!format_label(label, text, sizeof text))
        return fail(u, "a label must be a string or an array of a string and integers, up to 199 bytes long");
    size_t number = aphi_alts_add_label(u->alts, text);
    if (number == SIZE_MAX)
        return fail(u, "there are too many labels");
    APHI_RESERVE(u->from, u->from_capacity, u->move_count + 1);
    APHI_RESERVE(u->moves, u->move_capacity, u->move_count + 1);
    u->from[u->move_count] = from;
    u->moves[u->move_count++] = (aphi_alts_move){.target = target, .port = (uint16_t)port, .label = (uint16_t)number,
                                                 .op = (uint8_t)op, .sync = sync};
    return true;
}

/* Runs the step from *head with the answers until it waits. A step that ends is started again. */
static bool run_until_waiting(unfolding *u, aph_value *head, aph_value *answers)
{
    for (int empty_steps = 0; empty_steps < EMPTY_STEPS_MAX; empty_steps++) {
        aphi_answers r = {.answers = *answers};
        aphi_ending ending = last_ending = aphi_step_replay(&u->model, head, &r);
        u->event = r.event;
        if (ending == APHI_LEFT)
            return true;
        if (ending != APHI_ENDED)
            return fail(u, ending == APHI_MISCALLED || ending == APHI_CRASHED ? aphi_step_reason()
                        : ending == APHI_NEVER ? "it calls aph_never, which a component must not call"
                        : "its step does not end");
        *answers = aph_array(0, NULL);
    }
    return fail(u, "its step returns repeatedly without an event; a finished component must call aph_halt");
}

/* Finds the state in which the step waits after one more answer. */
static bool run_with_answer(unfolding *u, aph_value head, aph_value answers, aph_value next_answer, uint32_t *target)
{
    if (aph_count(answers) >= ANSWERS_MAX) {
        last_ending = APHI_OUT_OF_TIME;
        return fail(u, "its step does not return; instead of looping, return: the component is run again");
    }
    answers = aph_push(answers, next_answer);
    if (!run_until_waiting(u, &head, &answers))
        return false;
    *target = intern_state(u, head, answers);
    return true;
}

static bool add_receives(unfolding *u, uint32_t state, aph_value head, aph_value answers, aph_value alternatives)
{
    for (size_t i = 0; i < aph_count(alternatives); i++) {
        aph_value alternative = aph_at(alternatives, i);
        uint32_t target;
        if (!run_with_answer(u, head, answers, aph_at(alternative, 2), &target) ||
            !add_move(u, state, APHI_ALTS_RECEIVE, false, aph_int_of(aph_at(alternative, 0)), aph_at(alternative, 1),
                      target))
            return false;
    }
    return true;
}

static bool add_moves_of(unfolding *u, uint32_t state, aph_value head, aph_value answers)
{
    aph_event e = u->event;
    uint32_t target;
    bool is_component_event = e.kind == APH_EVENT_OTHER;
    if (!is_component_event)
        return fail(u, "it makes a call that components must not make; component.h lists the allowed calls");
    if (!strcmp(e.name, APHI_EVENT_HALT))
        return true;
    if (!strcmp(e.name, APHI_EVENT_SELECT))
        return add_receives(u, state, head, answers, e.value);
    bool local = !strcmp(e.name, APHI_EVENT_NOTE);
    return run_with_answer(u, head, answers, aph_bool(true), &target) &&
           add_move(u, state, local ? APHI_ALTS_LOCAL : APHI_ALTS_SEND, !strcmp(e.name, APHI_EVENT_PASS), e.to, e.value,
                    target);
}

static bool unfold_states(unfolding *u)
{
    for (uint32_t done = 0; done < u->states.count; done++) {
        const aph_value *state = aphi_intern_key(&u->states, done, NULL);
        aph_value head = state[0], answers = state[1];
        if (!run_until_waiting(u, &head, &answers) || !add_moves_of(u, done, head, answers))
            return false;
        if (u->states.count > STATES_MAX)
            return fail(u, "it has too many states; bound its counters");
    }
    return true;
}

static bool unfold_component(const aph_program *program, aphi_alts *a, size_t component, char *why, size_t size)
{
    const aph_component *c = &program->components[component];
    unfolding u = {.program = program, .alts = a, .component = component, .why = why, .why_size = size,
                   .model = {.version = APH_MODEL_VERSION, .name = c->name, .step = c->step, .data = c->data}};
    aph_root_add(mark_unfolding, &u);
    aph_value head = c->initial ? c->initial(c->data) : aph_object(), answers = aph_array(0, NULL);
    aphi_guard_arm(&u.model, 0, memory_max);
    bool done = run_until_waiting(&u, &head, &answers);
    if (done) {
        intern_state(&u, head, answers);
        done = unfold_states(&u);
    }
    aphi_guard_disarm();
    if (done)
        aphi_alts_fill(a, component, 0, (uint32_t)u.states.count, u.move_count, u.from, u.moves);
    aph_root_remove(mark_unfolding, &u);
    aphi_intern_free(&u.states);
    free(u.from);
    free(u.moves);
    return done;
}

aphi_ending aphi_component_alts_ending(void)
{
    return last_ending;
}

bool aphi_component_alts(const aph_program *program, aphi_alts *a, char *why, size_t size)
{
    static const aphi_medium mediums[] = {[APH_FIFO_PAIR] = APHI_MEDIUM_PAIR, [APH_FIFO_PORT] = APHI_MEDIUM_PORT,
                                          [APH_UNORDERED] = APHI_MEDIUM_UNORDERED};
    aphi_alts_init(a, program->name);
    for (int i = 0; i < program->component_count; i++)
        aphi_alts_add_component(a, program->components[i].name);
    for (int i = 0; i < program->port_count; i++) {
        const aph_port *p = &program->ports[i];
        aphi_alts_add_port(a, p->name, (size_t)p->owner, mediums[p->medium], (uint32_t)p->capacity);
    }
    for (size_t i = 0; i < a->component_count; i++)
        if (!unfold_component(program, a, i, why, size))
            return false;
    return true;
}
