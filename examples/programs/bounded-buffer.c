/* SPDX-License-Identifier: Apache-2.0
 *
 * bounded-buffer.c - a model of a bounded buffer with selective wait; the program is subjects/threads/buffer.c.
 *
 *     antiphon conform examples/programs/bounded-buffer.c build/subjects/buffer
 *
 * Two producers put two items each, a consumer gets all of them, the buffer has room for two. Requests to the buffer
 * are synchronous and guarded; it sends the oldest item by an asynchronous message. */
#include <antiphon/antiphon.h>

enum { P1, P2, C, B, COMPONENTS };
enum { DEPOSIT, WITHDRAW, TAKEN, PORTS };
enum { PRODUCERS = 2, ITEMS = 2, ROOM = 2, ALL = PRODUCERS * ITEMS };

static aph_value of(const char *what, int64_t producer)
{
    return APH_ARRAY_OF(aph_str(what), aph_int(producer));
}

static void producer(aph *m, aph_value *state)
{
    int number = *(const int *)aph_data(m);
    (void)state;
    for (int i = 0; i < ITEMS; i++)
        aph_pass(m, DEPOSIT, of("put", number));
    aph_halt(m);
}

static void consumer(aph *m, aph_value *state)
{
    (void)state;
    for (int i = 0; i < ALL; i++) {
        aph_pass(m, WITHDRAW, aph_str("get"));
        aph_take(m, TAKEN, APH_ARRAY_OF(of("item", 1), of("item", 2)));
    }
    aph_halt(m);
}

/* The state is {kept: producers of the items in the buffer, oldest first; given: number of items delivered}. */
static void buffer(aph *m, aph_value *state)
{
    aph_value kept = aph_field(*state, "kept"), gone = aph_field(*state, "given");
    kept = kept ? kept : aph_array(0, NULL);
    int64_t given = gone ? aph_int_of(gone) : 0, count = (int64_t)aph_count(kept);
    if (given == ALL)
        aph_halt(m);
    bool room = count < ROOM && given + count < ALL;
    aph_alternative ways[] = {
        {.port = DEPOSIT, .label = of("put", 1), .open = room},
        {.port = DEPOSIT, .label = of("put", 2), .open = room},
        {.port = WITHDRAW, .label = aph_str("get"), .open = count > 0},
    };
    int way = aph_select(m, 3, ways);
    if (way < 2) {
        kept = aph_push(kept, aph_int(way + 1));
    } else {
        aph_post(m, TAKEN, of("item", aph_int_of(aph_at(kept, 0))));
        kept = aph_slice(kept, 1, aph_count(kept) - 1);
        given++;
    }
    *state = aph_put(aph_put(*state, "kept", kept), "given", aph_int(given));
}

static const int numbers[] = {1, 2};

static const aph_component components[COMPONENTS] = {
    [P1] = {.name = "P1", .step = producer, .data = &numbers[0]},
    [P2] = {.name = "P2", .step = producer, .data = &numbers[1]},
    [C] = {.name = "C", .step = consumer},
    [B] = {.name = "B", .step = buffer},
};

static const aph_port ports[PORTS] = {
    [DEPOSIT] = {.name = "deposit", .owner = B},
    [WITHDRAW] = {.name = "withdraw", .owner = B},
    [TAKEN] = {.name = "taken", .owner = C},
};

static const aph_program bounded_buffer = {
    .name = "bounded-buffer",
    .summary = "a bounded buffer between two producers and a consumer",
    .components = components,
    .ports = ports,
    .component_count = COMPONENTS,
    .port_count = PORTS,
};

APH_PROGRAM(bounded_buffer)
