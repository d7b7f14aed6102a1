#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# upstream.sh - subjects that open connections to the tester: a correct relay and a wrong one.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"

cd "$dir" || exit 1
find_python
relay="$python -S '$ANTIPHON_ROOT/tests/support/line_relay.py' {port} {listen}"
model=$ANTIPHON_ROOT/examples/relay.c

run 0 test "$model" --listen 0 --run "$relay" --messages 40 --connections 3 --pipeline 1 --patience 0.3 --seed 1 --json
out '"verdict":"pass"'
# The saved trace has the same verdict.
run 0 check "$model" .antiphon/trace.jsonl --explain
out 'the replay of the explanation holds'
# Upstream connections have separate numbers.
check 'no upstream connection' grep -q '"conn":4294967296,"recv"' .antiphon/trace.jsonl

run 1 test "$model" --listen 0 --run "$relay wrong" --messages 40 --connections 3 --pipeline 1 --patience 0.3 --seed 1 --no-shrink
out 'the model cannot explain the observations'
out 'call 0'

# Two requests are reordered upstream; their contents show which upstream connection belongs to which request.
cat >crossed.jsonl <<'END'
{"conn":0,"send":"a"}
{"conn":1,"send":"b"}
{"conn":4294967296,"recv":"b"}
{"conn":4294967296,"send":"for b"}
{"conn":4294967297,"recv":"a"}
{"conn":4294967297,"send":"for a"}
{"conn":0,"recv":"for a"}
{"conn":1,"recv":"for b"}
END
run 0 check "$model" crossed.jsonl
run 0 explain "$model" crossed.jsonl
out '"opened":{"4294967296":'
cp out explanation
run 0 explain "$model" crossed.jsonl explanation
sed 's/"4294967296":\([-0-9]*\),"4294967297":[-0-9]*/"4294967296":\1,"4294967297":\1/' explanation >wrong
run 1 explain "$model" crossed.jsonl wrong
out 'two connections that the server opened have the same number'
sed 's/"4294967296":-/"4294967296":/' explanation >wrong
run 1 explain "$model" crossed.jsonl wrong
out 'has no number in the model'
sed 's/"conn":0,"recv":"for a"/"conn":0,"recv":"for b"/' crossed.jsonl >wrong.jsonl
run 1 check "$model" wrong.jsonl
# An upstream request without a client request.
printf '%s\n' '{"conn":0,"send":"a"}' '{"conn":4294967296,"recv":"c"}' >unsolicited.jsonl
run 1 check "$model" unsolicited.jsonl

# A served model also opens upstream connections.
run 0 test "$model" --listen 0 --run "'$ANTIPHON' serve '$model' --port {port} --calls 127.0.0.1:{listen} --seed 1" \
    --messages 40 --connections 3 --pipeline 1 --patience 0.3 --seed 1 --json
out '"verdict":"pass"'

run 2 test "$model" --listen 70000 --run "$relay" --messages 10
err '--listen 70000'
finish
