/* SPDX-License-Identifier: Apache-2.0
 *
 * processing_orders.c - orders in which the subject may have processed the requests of a run.
 *
 * Idea:       Overlapping requests can be reproduced without a race by sending them one at a time, in the order in
 *             which the subject processed them. That order is not observable, but each request was processed at some
 *             time between its sending and its response: a random time in between is drawn for each.
 * Invariants: A request comes after every request whose response fills one of its holes, because that response had
 *             already arrived. The order on a connection is kept. */
#include "shrink/shrink.h"

#include <stdlib.h>
#include "base/memory.h"
#include "script/simplify.h"

typedef struct place {
    size_t index;       /* in the original script */
    size_t sent, ended; /* events, from 1: the sending, and the response or loss */
    size_t turn;        /* drawn in between */
} place;

static int compare_turns(const void *a, const void *b)
{
    const place *p = a, *q = b;
    if (p->turn != q->turn)
        return p->turn < q->turn ? -1 : 1;
    return p->index < q->index ? -1 : p->index > q->index;
}

typedef struct new_labels {
    const aphi_script *script;
    const size_t *at; /* by index in the original script */
} new_labels;

static int64_t new_label(const void *context, int64_t label)
{
    const new_labels *n = context;
    size_t i = aphi_script_index(n->script, label);
    return i == n->script->count ? label : 2 * (int64_t)n->at[i] + 1 + (label % 2 == 0);
}

/* Close events are in the order of the script. */
static void find_closes(const aphi_script *script, const aphi_run_event *events, size_t count, place *places)
{
    for (size_t k = 0, i = 0; k < count; k++) {
        if (events[k].kind != APHI_RUN_EVENT_CLOSED)
            continue;
        while (i < script->count && script->actions[i].send != APH_NIL)
            i++;
        if (i < script->count)
            places[i].sent = places[i].ended = k + 1;
        i++;
    }
}

static void find_sends(const aphi_script *script, const aphi_run_event *events, size_t count, place *places)
{
    for (size_t k = 0; k < count; k++) {
        size_t i = events[k].label > 0 ? aphi_script_index(script, events[k].label) : script->count;
        if (i == script->count)
            continue;
        if (events[k].kind == APHI_RUN_EVENT_SENT)
            places[i].sent = k + 1;
        else
            places[i].ended = k + 1;
    }
    for (size_t i = 0; i < script->count; i++) {
        if (!places[i].sent) /* it was not sent, so it stays after the previous action */
            places[i].sent = places[i].ended = i ? places[i - 1].sent : 0;
        if (!places[i].ended)
            places[i].ended = count + 1;
    }
}

/* No request overtakes another on its connection. */
static void draw_turns(const aphi_script *script, aphi_choice *choice, place *places)
{
    for (size_t i = 0; i < script->count; i++) {
        place *p = &places[i];
        p->turn = choice ? p->sent + (size_t)aphi_choice_below(choice, p->ended - p->sent + 1) : p->ended;
        for (size_t k = i; choice && k-- > 0;) {
            if (script->actions[k].connection != script->actions[i].connection)
                continue;
            if (p->turn < places[k].turn)
                p->turn = places[k].turn;
            break;
        }
    }
}

aphi_script aphi_processing_orders(const aphi_script *script, const aphi_run_event *events, size_t count,
                                   aphi_choice *choice)
{
    aphi_script ordered = aphi_script_copy(script);
    place *places = aphi_alloc_zero((script->count + 1) * sizeof *places);
    size_t *at = aphi_alloc((script->count + 1) * sizeof *at);
    for (size_t i = 0; i < script->count; i++)
        places[i].index = i;
    find_closes(script, events, count, places);
    find_sends(script, events, count, places);
    draw_turns(script, choice, places);
    qsort(places, script->count, sizeof *places, compare_turns);
    for (size_t i = 0; i < script->count; i++)
        at[places[i].index] = i;
    for (size_t i = 0; i < script->count; i++) {
        aphi_action *a = &ordered.actions[i];
        *a = script->actions[places[i].index];
        new_labels n = {script, at};
        a->label = 2 * (int64_t)i + 1;
        if (a->send != APH_NIL)
            a->send = aphi_relabel(a->send, new_label, &n);
        if (a->wait == APHI_WAIT_ANSWER)
            a->waits_for = new_label(&n, a->waits_for);
    }
    free(places);
    free(at);
    return ordered;
}
