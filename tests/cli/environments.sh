#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# environments.sh - the environments udp and tcp:N: recorded traces, and the tester against served models and their mutants, over
# datagrams that are lost, duplicated and reordered, and over connections that buffer two messages.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"

# Recorded traces with a duplicated response and with reordered responses. With tcp, there is one response too many.
printf '%s\n' '{"conn":1,"send":{"f":"write","value":1}}' '{"conn":1,"send":{"f":"read"}}' '{"conn":1,"recv":1}' \
    '{"conn":1,"recv":"ok"}' '{"conn":1,"recv":1}' >"$dir/trace"
run 0 check --env udp register "$dir/trace"
run 0 check --env udp --explain register "$dir/trace"
run 0 explain --env udp register "$dir/trace"
cp "$dir/out" "$dir/explanation"
run 0 explain --env udp register "$dir/trace" "$dir/explanation"
out holds
run 1 check register "$dir/trace"
printf '%s\n' '{"conn":1,"recv":2}' >>"$dir/trace"
run 1 check --env udp register "$dir/trace"
out '2'

# The server takes a request twice.
printf '%s\n' '{"conn":1,"send":1}' '{"conn":1,"recv":"000"}' '{"conn":1,"recv":1}' >"$dir/twice"
run 0 check --env udp --explain swap "$dir/twice"

# If connections buffer one message, the third request cannot be sent before the first two are taken, and the response
# to the second does not fit into the buffer.
printf '%s\n' '{"conn":1,"send":1}' '{"conn":1,"send":2}' '{"conn":1,"send":3}' >"$dir/full"
run 0 check --env tcp:2 --explain swap "$dir/full"
run 1 check --env tcp:1 swap "$dir/full"
run 2 check --env tcp:0 swap "$dir/full"
err 'tcp:N'

# test_served CODE ENV MODEL SERVE-OPTION...: tests a served model; expects CODE. Datagrams count as lost after $patience
# seconds of silence.
test_served() {
    local expected=$1 env=$2 model=$3
    shift 3
    title="test $model --env $env: serve $*"
    "$ANTIPHON" test "$model" --env "$env" "${limits[@]}" --patience "$patience" --seed "${seed:-1}" --no-shrink --folder "$dir/tests" \
        --run "$ANTIPHON serve $model --port {port} --env ${env%%:*} $*" >"$dir/out" 2>"$dir/err" </dev/null
    code=$?
    [ $code -eq "$expected" ]
}

# The model itself is never rejected. In two seconds, some kinds of requests may get no response, so exit code 7 is accepted,
# too.
passes() {
    patience=0.4 limits=(--time 2)
    test_served 0 "$@" || [ $code -eq 7 ] || fail "exit code $code, not 0 or 7"
}

# A mutant is rejected with at least one of a few seeds, because a loss may explain a wrong response.
rejected() {
    patience=0.05 limits=("${budgets[@]}" --messages 500)
    for seed in 1 2 3 4 5 6; do
        test_served 1 "$@" && return
    done
    fail 'no seed rejects the mutant'
}

# With --no-check, requests are still sent after each idle time of the network.
run 7 test register --env udp --no-check --messages 24 --time 20 --patience 0.1 --seed 1 --folder "$dir/tests" \
    --run "$ANTIPHON serve register --port {port} --env udp --loss 0 --duplicate 0"
check 'only the first requests are sent' grep -q ': 2[0-9] messages' "$dir/out"

for model in register kv swap queue etag-kv; do
    passes udp $model --loss 10 --duplicate 10
    passes tcp:2 $model
done
while read -r model first second; do
    rejected udp "$model" --mutate "$first"
    rejected tcp:2 "$model" --mutate "$first"
    rejected tcp:2 "$model" --mutate "$second"
    # A dropped value looks like a lost request, and a duplicated value like a duplicated request.
    [ "$model" = queue ] || rejected udp "$model" --mutate "$second"
done <<END
register 1 3
kv 1 5
swap 2 4
queue stack forgets
etag-kv 2 5
END

finish
