#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# no_false_rejects.sh - correct servers with unsolicited messages, closed connections or a short backlog are not rejected.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"

cd "$dir" || exit 1
cat >news.c <<'END'
#include <antiphon/antiphon.h>
static void step(aph *m, aph_value *state)
{
    aph_request q = aph_recv(m);
    aph_value f = aph_field(q.message, "f"), me = aph_int(q.from), key, to;
    if (!aph_str_is(f, "sub") && !aph_str_is(f, "unsub") && !aph_str_is(f, "pub"))
        aph_unknown_request(m, "sub, unsub or pub");
    if (aph_str_is(f, "sub"))
        *state = aph_set(*state, me, me);
    if (aph_str_is(f, "unsub"))
        *state = aph_remove(*state, me);
    for (size_t i = 0; aph_str_is(f, "pub") && aph_pair_at(*state, i, &key, &to); i++)
        aph_send(m, aph_int_of(to), aph_record("news", aph_field(q.message, "x")));
    aph_send(m, q.from, aph_str("ok"));
}
static const aph_model news = {
    .version = APH_MODEL_VERSION, .name = "news", .summary = "news for subscribers", .step = step,
    .shape = APH_SHAPE([{"f": "sub"}, {"f": "unsub"}, {"weight": 3, "of": {"f": "pub", "x": {"fresh": "int"}}}])};
APH_MODEL(news)
END
cat >echo.c <<'END'
#include <antiphon/antiphon.h>
static void step(aph *m, aph_value *state)
{
    aph_request q = aph_recv(m);
    (void)state;
    aph_send(m, q.from, aph_field(q.message, "x"));
}
static const aph_model echo = {
    .version = APH_MODEL_VERSION, .name = "echo", .summary = "says it again", .step = step, .rpc = true,
    .shape = APH_SHAPE([{"f": "echo", "x": {"fresh": "int"}}]), .closes = APH_CLOSES_SETTLED};
APH_MODEL(echo)
END
find_python
odd="$python -S '$ANTIPHON_ROOT/tests/support/odd_servers.py' {port}"

# A message to a subscriber that has closed its connection is not observed and not required.
cat >left.script <<'END'
{"antiphon":1,"script":"news","environment":"tcp","seed":1}
{"label":1,"conn":0,"send":{"f":"sub"}}
{"label":3,"conn":0,"close":true,"wait":{"answer":2}}
{"label":5,"conn":1,"send":{"f":"pub","x":1},"wait":"quiet"}
END
run 0 replay --run "$odd news" left.script ./news.c
run 0 replay --run "'$ANTIPHON' serve ./news.c --port {port} --delay 0.1" left.script ./news.c

# Unsolicited messages in environments with bounded buffers.
for env in sync tcp:1 tcp:3; do
    run 0 test ./news.c --env $env --connections 3 --messages 60 --seed 1 --run "$odd news"
done

# A request may cross the close of its connection.
run 0 test ./echo.c --connections 3 --messages 300 --seed 1 --run "$odd hangs-up"

# A request on a connection that is not yet accepted needs no response.
run 0 test ./echo.c --connections 60 --messages 300 --seed 1 --run "$odd full"

run 2 test ./echo.c --run "$odd news {listen}"
err '{listen}'
run 4 test ./echo.c --messages 10 --report /nowhere/page.html --run "$odd full"
err '/nowhere/page.html cannot be written'
finish
