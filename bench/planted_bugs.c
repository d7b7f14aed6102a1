/* SPDX-License-Identifier: Apache-2.0
 *
 * planted_bugs.c - a model with bugs that need a few requests in a known order, to measure shrinking.
 *
 *     {"f": "open"}                    {"tag": T}, a string that the server chooses
 *     {"f": "use", "tag": T, "n": N}   "ok"
 *
 * Mutant k - 1 answers "boom" once one of its tags was used with n = 1, 2, ... k - 1, in that order, with any requests
 * in between. Exposing it needs k requests, all but the first with the tag that the server chose in that run. */
#include <antiphon/antiphon.h>

static bool is(aph_value request, const char *f)
{
    return aph_str_is(aph_field(request, "f"), f);
}

static void step(aph *m, aph_value *state)
{
    aph_request q = aph_recv(m);
    (void)state;
    if (is(q.message, "open"))
        aph_send(m, q.from, aph_record("tag", aph_choose(m, APH_STR, "tag")));
    else if (is(q.message, "use"))
        aph_send(m, q.from, aph_str("ok"));
    else
        aph_unknown_request(m, "it knows \"f\": \"open\" and \"use\"");
}

/* The state maps each tag to the last n that was used in order. */
static void wrong_step(aph *m, aph_value *state, int64_t k)
{
    aph_request q = aph_recv(m);
    if (is(q.message, "open")) {
        aph_value tag = aph_choose(m, APH_STR, "tag");
        *state = aph_set(*state, tag, aph_int(0));
        aph_send(m, q.from, aph_record("tag", tag));
        return;
    }
    aph_value tag = aph_field(q.message, "tag"), n = aph_field(q.message, "n");
    bool given = aph_is_str(tag) && aph_has(*state, tag);
    if (given && n == aph_int(aph_int_of(aph_get(*state, tag)) + 1))
        *state = aph_set(*state, tag, n);
    bool boom = given && aph_get(*state, tag) == aph_int(k - 1);
    aph_send(m, q.from, aph_str(boom ? "boom" : "ok"));
}

#define WRONG(k) \
    static void wrong_##k(aph *m, aph_value *state) { wrong_step(m, state, k); } \
    static const aph_model mutant_##k = {.version = APH_MODEL_VERSION, .name = "needs-" #k, .rpc = true, \
                                         .summary = "a bug that needs " #k " requests", .step = wrong_##k};
WRONG(2)
WRONG(3)
WRONG(4)
WRONG(5)
WRONG(6)

static const aph_model *const mutants[] = {&mutant_2, &mutant_3, &mutant_4, &mutant_5, &mutant_6, NULL};

static aph_value generate(aph_gen *g)
{
    aph_value tag = aph_gen_weighted(g, 1, 29) ? aph_gen_hole(g, APH_ARRAY_OF(aph_str("tag")), "id") : APH_NIL;
    if (!tag)
        return aph_record("f", aph_str("open"));
    return aph_record("f", aph_str("use"), "tag", tag, "n", aph_int(1 + (int64_t)aph_gen_below(g, 12)));
}

static const aph_model planted = {
    .version = APH_MODEL_VERSION,
    .name = "planted",
    .summary = "tags that the server makes up, and uses of them",
    .step = step,
    .rpc = true,
    .generate = generate,
    .mutants = mutants,
};
APH_MODEL(planted)
