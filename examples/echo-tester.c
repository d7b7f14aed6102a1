/* SPDX-License-Identifier: Apache-2.0
 *
 * echo-tester.c - a tester derived from an echo server: the server as a tree, its observer, and the constraints.
 *
 *     cc -std=c17 echo-tester.c $(pkg-config --cflags --libs antiphon) -o echo-tester && ./echo-tester
 *
 * docs/derivation.md explains it next to the figures of Li, "Testing by dualization", chapter 4. */
#include <antiphon/model.h>

#include <stdlib.h>

/* ---- figure 4.3: echo -------------------------------------------------------------------------------------------- */

static aph_tree *send_back(void *context, aph_value request)
{
    (void)context;
    aph_event send = {.kind = APH_EVENT_SEND, .to = aph_int_of(aph_at(request, 0)), .value = aph_at(request, 1)};
    return aph_tree_trigger(&send);
}

static aph_tree *echo(void)
{
    aph_event recv = {.kind = APH_EVENT_RECV};
    aph_tree *once = aph_tree_trigger(&recv), *body = aph_tree_bind(once, send_back, NULL);
    aph_tree *server = aph_tree_forever(body);
    aph_tree_drop(once);
    aph_tree_drop(body);
    return server;
}

/* ---- figure 4.6: dualizing --------------------------------------------------------------------------------------- */

static aph_tree *observer_event(const char *name, aph_value value)
{
    aph_event e = {.kind = APH_EVENT_OTHER, .name = name, .value = value};
    return aph_tree_trigger(&e);
}

/* The continuation of ToObserver: the observed message must equal the message of the server. */
static aph_tree *guard(void *said, aph_value observed)
{
    return observer_event("Guard", APH_ARRAY_OF(*(aph_value *)said, observed));
}

static aph_tree *observe(void *context, const aph_event *e)
{
    aph_value *said = context;
    if (e->kind == APH_EVENT_RECV)
        return observer_event("FromObserver", APH_NIL);
    if (e->kind != APH_EVENT_SEND)
        return aph_tree_trigger(e);
    *said = e->value;
    aph_tree *received = observer_event("ToObserver", APH_NIL), *guarded = aph_tree_bind(received, guard, said);
    aph_tree_drop(received);
    return guarded;
}

/* ---- figure 4.8: constraints ------------------------------------------------------------------------------------- */

static aph_tree *with_state(void *state, aph_value answer)
{
    return aph_tree_return(APH_ARRAY_OF(*(aph_value *)state, answer));
}

/* The state is the number of guards. A guard that cannot hold throws: the tree waits for APH_EVENT_NEVER. */
static aph_tree *unify(void *context, const aph_event *e, aph_value guards)
{
    aph_value *state = context;
    if (e->kind == APH_EVENT_OTHER && !strcmp(e->name, "Guard")) {
        if (aph_at(e->value, 0) != aph_at(e->value, 1))
            return aph_tree_trigger(&(aph_event){.kind = APH_EVENT_NEVER});
        return aph_tree_return(APH_ARRAY_OF(aph_add(guards, aph_int(1)), APH_NIL));
    }
    *state = guards;
    aph_tree *event = aph_tree_trigger(e), *kept = aph_tree_bind(event, with_state, state);
    aph_tree_drop(event);
    return kept;
}

/* ---- running it -------------------------------------------------------------------------------------------------- */

static aph_tree *answered(aph_tree *t, aph_value answer)
{
    aph_event e = aph_tree_event(t);
    aph_tree *next = aph_tree_answer(t, answer);
    printf("%-12s ", e.name);
    aph_json_write(stdout, answer);
    printf("\n");
    aph_tree_drop(t);
    return next;
}

/* The tester sends "hello" on connection 1, and observes this response. */
static void run_tester(const char *response)
{
    aph_value said = APH_NIL, guards = APH_NIL;
    aph_tree *server = echo(), *observer = aph_tree_interpret(server, observe, &said);
    aph_tree *tester = aph_tree_interpret_state(observer, unify, aph_int(0), &guards);
    aph_tree_drop(server);
    aph_tree_drop(observer);
    tester = answered(tester, APH_ARRAY_OF(aph_int(1), aph_str("hello")));
    tester = answered(tester, aph_str(response));
    printf("%s\n", aph_tree_event(tester).kind == APH_EVENT_NEVER ? "throws" : "continues");
    aph_tree_drop(tester);
}

int main(void)
{
    run_tester("hello");
    run_tester("goodbye");
    aph_heap_close();
    return EXIT_SUCCESS;
}
