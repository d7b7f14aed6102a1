#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# gateway.sh - the gateway in examples/gateway: the right one passes, the served model passes, and each planted bug is
# found. Messages have no port of the tester.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"

cd "$dir" || exit 1
find_python
gateway=$ANTIPHON_ROOT/examples/gateway model=$ANTIPHON_ROOT/examples/gateway/gateway.c
server="$python -S '$gateway/server.py' {port} {listen:0} {listen:1}"

run 0 test "$model" --listen 0 --run "$server" --messages 800 --seed 3
out 'pass'
check 'no name of an origin' grep -q '"host":"here-1"' .antiphon/trace.jsonl
check 'a port in the trace' [ -z "$(grep -o '"host":"[^h][^"]*"' .antiphon/trace.jsonl)" ]
check 'a header that was not named' [ -z "$(grep accept-encoding .antiphon/trace.jsonl)" ]
run 0 check "$model" .antiphon/trace.jsonl --explain
out 'the replay of the explanation holds'

run 0 test "$model" --listen 0 --messages 800 --seed 5 --folder served \
    --run "'$ANTIPHON' serve '$model' --port {port} --delay 0 --calls 127.0.0.1:{listen:0} --calls localhost:{listen:1}"
out 'pass'

for bug in wrong-origin wrong-client cached no-accept; do
    run 1 test "$model" --listen 0 --run "$server --bug $bug" --seed 3 --no-shrink --folder $bug
    out 'the model cannot explain the observations'
done
out 'expected GET /'

# A response of an origin that the codec cannot encode.
sed 's/aph_http_response(200, aph_record/aph_http_response(204, aph_record/' "$model" >wrong.c
run 44 test ./wrong.c --listen 0 --run "$server" --seed 3 --no-shrink --folder wrong
err 'cannot encode the response to a call: {"json":{"call":0,"origin":'
err 'json: a response with the status 204 has no body'

# The Host of the other origin.
cat >host.jsonl <<'END'
{"conn":0,"send":{"method":"GET","path":["users","a"]}}
{"conn":4294967296,"recv":{"method":"GET","path":["a"],"headers":{"host":"here-1"}}}
END
run 1 check "$model" host.jsonl
out 'expected GET /a {"host":"here"}'
sed 's/here-1/here/' host.jsonl >right.jsonl
run 0 check "$model" right.jsonl
finish
