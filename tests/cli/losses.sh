#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# losses.sh - a server that escapes judgement by closing connections instead of responding, and tests that judge nothing or
# too little, do not pass. tests/cli/no_false_rejects.sh has servers that may close.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"

cd "$dir" || exit 1
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
    .shape = APH_SHAPE([{"weight": 30, "of": {"f": "echo", "x": {"fresh": "int"}}}, {"f": "last", "x": 7}]),
    .closes = APH_CLOSES_SETTLED};
APH_MODEL(echo)
END
find_python

# against CODE HABIT [OPTION]...: tests swallowing_server.py with that habit.
against() {
    local expected=$1 habit=$2
    shift 2
    rm -rf .antiphon
    run "$expected" test ./echo.c --messages 400 --seed 1 "$@" \
        --run "$python -S $ANTIPHON_ROOT/tests/support/swallowing_server.py {port} $habit"
}

# Half of the requests are lost, by an end of the connection, a reset, or a half-close.
for habit in second second-reset second-half; do
    against 9 $habit
    out 'requests were lost: the subject closed their connections instead of responding'
    out ' losses, '
    out 'lost: #'
    out 'never arrived'
    no_err 'not shrunk'
done
script=$(echo .antiphon/*.script)
check 'the script is not kept' [ -s "$script" ]
run 9 replay --run "$python -S $ANTIPHON_ROOT/tests/support/swallowing_server.py {port} second" "$script" ./echo.c
against 9 second --json --junit losses.xml --report losses.html
out '"lost":[{"conn":'
out '"lost_kinds":{"echo":'
check 'no losses in JSON' grep -qE '"losses":[0-9]{2,},"messages_per_second":[1-9]' "$dir/out"
for file in losses.xml losses.html; do
    check "no counts in $file" grep -qE '(losses|losses&quot;)\W+[0-9]{2,}' $file
done
# The limit may be a number or a percentage.
against 0 second --messages 200 --max-losses 100%
out ' losses, '
against 9 second --messages 120 --max-losses 3
against 2 second --max-losses 5x
err '5x is neither a number nor a percentage'
against 2 second --max-losses 101%
# A rare loss is allowed.
against 0 rare --messages 300
# Few requests are lost, but all of a kind.
against 9 kind --messages 8000 --connections 3
out 'last x=7'

# Nothing was judged, or too little.
rm -rf .antiphon
right="$ANTIPHON serve ./echo.c --port {port}"
run 7 test ./echo.c --no-check --messages 200 --seed 1 --run "$right"
out 'nothing was judged'
no_out 'explain'
run 7 test ./echo.c --messages 200 --seed 1 --min-responses 150 --run "$right"
out 'fewer than the 150 of --min-responses'
run 0 test ./echo.c --messages 200 --seed 1 --min-responses 90 --run "$right"
check 'no counts' grep -qE '^[0-9]+ requests, [0-9]+ responses, 0 losses, [0-9,]+/s$' "$dir/out"

# Traces without a response: requests that are unanswered, lost, or of unknown outcome.
echo '{"conn":0,"send":{"f":"write","value":1}}
{"conn":1,"send":{"f":"read"}}
{"conn":0,"lost":true}' >lost.jsonl
echo '0 :invoke :write 1
1 :invoke :read nil
2 :invoke :write 2
1 :info :read nil
2 :fail :write 2' >unknown.log
echo '{:process 0 :type :invoke :f :write :value 1} {:process 0 :type :info :f :write :value 1}' >unknown.edn
echo '0 :invoke :write 1
0 :ok :write 1' >pass.log
for file in lost.jsonl unknown.log unknown.edn; do
    run 7 check register $file --json
    out '"responses":0,'
    out '"verdict":"vacuous"'
done
for option in --whole --explain --ignore-promises --env=udp; do
    run 7 check register unknown.log $option
    out 'no request has a response, so nothing was checked'
    out 'vacuous  unknown.log'
done
run 7 check register pass.log lost.jsonl --jobs 2 --junit check.xml
out '2 files: 1 pass, 1 vacuous'
check 'not in JUnit' grep -q '<error type="vacuous"' check.xml
run 0 check register pass.log --json
out '"responses":1,'
finish
