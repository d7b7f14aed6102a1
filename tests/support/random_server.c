/* SPDX-License-Identifier: Apache-2.0
 *
 * random_server.c - random small models with connections.
 *
 * Idea:       a server is a table: for each state and kind of item, the actions of the server and its next state. It
 *             keeps a list of its open connections, so that it can also send to and close the connections of other
 *             clients. The state is that of the server or, in half of the models, that of the connection. */
#include "random_server.h"

#include <stdio.h>
#include <stdlib.h>

enum { STATES = 3, ITEMS = 5, ACTIONS_MOST = 3 };

typedef enum action_kind {
    SEND_BACK, SEND_TO_FIRST, SEND_TO_ALL, CLOSE, CLOSE_FIRST, SEND_CHOSEN, MAYBE_SEND, ACTION_KINDS
} action_kind;

static const char *const action_names[ACTION_KINDS] = {"send", "send to first", "send to all", "close", "close first",
                                                       "send chosen", "maybe send"};
static const char *const item_names[ITEMS] = {"opened", "closed", "broken", "a", "b"};

typedef struct rule {
    struct { action_kind kind; int value; } actions[ACTIONS_MOST];
    size_t count;
    int next;
} rule;

static struct table {
    rule rules[STATES][ITEMS];
    bool by_connection;
} table;

/* ---- the model --------------------------------------------------------------------------------------------------- */

static size_t item_of(aph_value message)
{
    return message == APH_OPENED ? 0 : message == APH_CLOSED ? 1 : message == APH_BROKEN ? 2
           : aph_str_is(message, "a") ? 3 : 4;
}

static aph_value without(aph_value connections, int64_t connection)
{
    aph_value left = aph_array(0, NULL);
    for (size_t i = 0; i < aph_count(connections); i++)
        if (aph_int_of(aph_at(connections, i)) != connection)
            left = aph_push(left, aph_at(connections, i));
    return left;
}

static void perform(aph *m, aph_value *open, int64_t from, action_kind kind, int value)
{
    int64_t first = aph_count(*open) ? aph_int_of(aph_at(*open, 0)) : from;
    switch (kind) {
    case SEND_BACK: aph_send(m, from, aph_int(value)); break;
    case SEND_TO_FIRST: aph_send(m, first, aph_int(value)); break;
    case SEND_TO_ALL:
        for (size_t i = 0; i < aph_count(*open); i++)
            aph_send(m, aph_int_of(aph_at(*open, i)), aph_int(value));
        break;
    case CLOSE:
    case CLOSE_FIRST:
        first = kind == CLOSE ? from : first;
        aph_close(m, first);
        *open = without(*open, first);
        break;
    case SEND_CHOSEN: aph_send(m, from, aph_choose_within(m, 1, 2, "chosen")); break;
    default:
        if (aph_either(m, "sends", "sends nothing") == 0)
            aph_send(m, from, aph_int(value));
        break;
    }
}

static bool contains(aph_value connections, int64_t connection)
{
    return aph_count(without(connections, connection)) < aph_count(connections);
}

/* It depends on the promise that nothing is received from a connection after it was closed or broken. */
static void step(aph *m, aph_value *state)
{
    const struct table *t = aph_data(m);
    aph_request q = aph_recv(m);
    aph_value open = aph_field(*state, "open"), own = aph_field(*state, "own");
    aph_value key = t->by_connection ? aph_int(q.from) : aph_str("all"), current = aph_get(own, key);
    if (q.message != APH_OPENED && !contains(open, q.from))
        abort();
    const rule *r = &t->rules[current ? aph_int_of(current) : 0][item_of(q.message)];
    if (q.message == APH_OPENED)
        open = aph_push(open, aph_int(q.from));
    if (q.message == APH_BROKEN)
        open = without(open, q.from);
    for (size_t i = 0; i < r->count; i++)
        perform(m, &open, q.from, r->actions[i].kind, r->actions[i].value);
    *state = aph_record("open", open, "own", aph_set(own, key, aph_int(r->next)));
}

static aph_value nothing_open(const aph_model *model)
{
    (void)model;
    return aph_record("open", aph_array(0, NULL), "own", aph_object());
}

static const aph_model model = {.version = APH_MODEL_VERSION, .name = "random server", .summary = "a random table",
                                .step = step, .initial = nothing_open, .data = &table, .connections = true};

/* ---- a random table ---------------------------------------------------------------------------------------------- */

static void vary(aphi_choice *c)
{
    table.by_connection = aphi_choice_chance(c, 1, 2);
    for (size_t s = 0; s < STATES; s++)
        for (size_t i = 0; i < ITEMS; i++) {
            rule *r = &table.rules[s][i];
            r->count = aphi_choice_below(c, ACTIONS_MOST + 1);
            r->next = (int)aphi_choice_below(c, STATES);
            for (size_t a = 0; a < r->count; a++) {
                r->actions[a].kind = (action_kind)aphi_choice_below(c, ACTION_KINDS);
                r->actions[a].value = 1 + (int)aphi_choice_below(c, 2);
            }
        }
}

void random_server_print(void)
{
    printf("state of the %s\n", table.by_connection ? "connection" : "server");
    for (size_t s = 0; s < STATES; s++)
        for (size_t i = 0; i < ITEMS; i++) {
            const rule *r = &table.rules[s][i];
            printf("  %zu, %-6s -> %d:", s, item_names[i], r->next);
            for (size_t a = 0; a < r->count; a++)
                printf(" %s %d;", action_names[r->actions[a].kind], r->actions[a].value);
            printf("\n");
        }
}

static aph_value request(aphi_choice *c)
{
    return aph_str(aphi_choice_chance(c, 1, 2) ? "a" : "b");
}

static aph_value answer(aphi_choice *c)
{
    return aphi_choice_chance(c, 1, 6) ? APH_CLOSED : aph_int(aphi_choice_within(c, 1, 2));
}

const subject subject_random_server = {&model, NULL, request, answer, 8, vary};
