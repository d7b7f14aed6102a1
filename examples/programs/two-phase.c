/* SPDX-License-Identifier: Apache-2.0
 *
 * two-phase.c - a model of two-phase commit with two participants; the program is subjects/threads/commit.c.
 *
 *     antiphon reach --deadlock-free examples/programs/two-phase.c
 *     antiphon conform examples/programs/two-phase.c build/subjects/commit 2
 *
 * The coordinator T sends prepare to each participant R, collects their votes, sends the outcome to all, and waits for
 * their acknowledgements. A user U may cancel at the first participant, which votes no if the cancel comes before
 * prepare. */
#include <antiphon/antiphon.h>

enum { T, R1, R2, U, COMPONENTS };
enum { VOTES, ACKS, WORK1, OUTCOME1, WORK2, OUTCOME2, PORTS };
enum { SIZE = 2 };

static aph_value of(const char *what, int64_t participant)
{
    return APH_ARRAY_OF(aph_str(what), aph_int(participant));
}

static int64_t number(aph_value state, const char *name)
{
    aph_value v = aph_field(state, name);
    return v ? aph_int_of(v) : 0;
}

/* Receives a message of a participant that is not in the set; *got is its sender. */
static aph_value take_from_each(aph *m, int port, int64_t received, const char *const *words, size_t count,
                                int64_t *got)
{
    aph_value open = aph_array(0, NULL);
    for (int i = 1; i <= SIZE; i++)
        for (size_t k = 0; k < count && !(received >> i & 1); k++)
            open = aph_push(open, of(words[k], i));
    aph_value message = aph_take(m, port, open);
    *got = aph_int_of(aph_at(message, 1));
    return aph_at(message, 0);
}

/* The state is {prepared, decided: 1 after these messages; votes, acks: sets of participants; no: 1 after a no}. */
static void coordinator(aph *m, aph_value *state)
{
    static const char *const votes[] = {"yes", "no"}, *const acks[] = {"ack"};
    int64_t all = (1 << (SIZE + 1)) - 2, voted = number(*state, "votes"), acked = number(*state, "acks"), from;
    if (!number(*state, "prepared")) {
        aph_post(m, WORK1, aph_str("prepare"));
        aph_post(m, WORK2, aph_str("prepare"));
        *state = aph_put(*state, "prepared", aph_int(1));
    } else if (voted != all) {
        aph_value vote = take_from_each(m, VOTES, voted, votes, 2, &from);
        *state = aph_put(*state, "votes", aph_int(voted | (int64_t)1 << from));
        if (aph_str_is(vote, "no"))
            *state = aph_put(*state, "no", aph_int(1));
    } else if (!number(*state, "decided")) {
        aph_value outcome = aph_str(number(*state, "no") ? "abort" : "commit");
        aph_post(m, OUTCOME1, outcome);
        aph_post(m, OUTCOME2, outcome);
        *state = aph_put(*state, "decided", aph_int(1));
    } else if (acked != all) {
        take_from_each(m, ACKS, acked, acks, 1, &from);
        *state = aph_put(*state, "acks", aph_int(acked | (int64_t)1 << from));
    } else {
        aph_halt(m);
    }
}

static void hear_outcome(aph *m, int port, int64_t participant)
{
    aph_value outcome = aph_take(m, port, APH_ARRAY_OF(aph_str("commit"), aph_str("abort")));
    aph_note(m, aph_str_is(outcome, "commit") ? "committed" : "aborted");
    aph_post(m, ACKS, of("ack", participant));
    aph_halt(m);
}

static void first_participant(aph *m, aph_value *state)
{
    aph_value first = aph_take(m, WORK1, APH_ARRAY_OF(aph_str("prepare"), aph_str("cancel")));
    (void)state;
    if (aph_str_is(first, "prepare")) {
        aph_post(m, VOTES, of("yes", 1));
        aph_take(m, WORK1, APH_ARRAY_OF(aph_str("cancel")));
    } else {
        aph_take(m, WORK1, APH_ARRAY_OF(aph_str("prepare")));
        aph_post(m, VOTES, of("no", 1));
    }
    hear_outcome(m, OUTCOME1, 1);
}

static void second_participant(aph *m, aph_value *state)
{
    (void)state;
    aph_take(m, WORK2, APH_ARRAY_OF(aph_str("prepare")));
    aph_post(m, VOTES, of("yes", 2));
    hear_outcome(m, OUTCOME2, 2);
}

static void user(aph *m, aph_value *state)
{
    (void)state;
    aph_post(m, WORK1, aph_str("cancel"));
    aph_halt(m);
}

static const aph_component components[COMPONENTS] = {
    [T] = {.name = "T", .step = coordinator},
    [R1] = {.name = "R1", .step = first_participant},
    [R2] = {.name = "R2", .step = second_participant},
    [U] = {.name = "U", .step = user},
};

static const aph_port ports[PORTS] = {
    [VOTES] = {.name = "votes", .owner = T},       [ACKS] = {.name = "acks", .owner = T},
    [WORK1] = {.name = "work1", .owner = R1},      [OUTCOME1] = {.name = "outcome1", .owner = R1},
    [WORK2] = {.name = "work2", .owner = R2},      [OUTCOME2] = {.name = "outcome2", .owner = R2},
};

static const aph_program two_phase = {
    .name = "two-phase",
    .summary = "two-phase commit with two participants, one of whom may be told to cancel",
    .components = components,
    .ports = ports,
    .component_count = COMPONENTS,
    .port_count = PORTS,
};

APH_PROGRAM(two_phase)
