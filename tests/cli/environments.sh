#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# environments.sh - environments other than tcp and sync: recorded traces, and the tester against served models and their mutants,
# over datagrams that are lost, doubled and overtake each other, and over connections that hold two messages.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"

# Recorded: the second answer is of the same request, or comes before the first; and there is one too many for tcp.
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

# A swap that was taken twice; three times is too often.
printf '%s\n' '{"conn":1,"send":1}' '{"conn":1,"recv":"000"}' '{"conn":1,"recv":1}' >"$dir/twice"
run 0 check --env udp --explain swap "$dir/twice"

# Connections that hold one message: the third request could not be sent before the first two were taken, and the answer
# to the second has no room.
printf '%s\n' '{"conn":1,"send":1}' '{"conn":1,"send":2}' '{"conn":1,"send":3}' >"$dir/full"
run 0 check --env tcp:2 --explain swap "$dir/full"
run 1 check --env tcp:1 swap "$dir/full"
run 2 check --env tcp:0 swap "$dir/full"
err 'tcp:N'

# tried CODE ENV MODEL SERVE-OPTION...: the tester against a served model. What is silent for $patience is lost; it has $time seconds.
tried() {
    local expected=$1 env=$2 model=$3
    shift 3
    told="test $model --env $env: serve $*"
    "$ANTIPHON" test "$model" --env "$env" --time "$time" --patience "$patience" --seed "${seed:-1}" --no-shrink --folder "$dir/tests" \
        --run "$ANTIPHON serve $model --port {port} --env ${env%%:*} $*" >"$dir/out" 2>"$dir/err" </dev/null
    code=$?
    [ $code -eq "$expected" ]
}

# What the model itself does is never rejected; in two seconds, not every kind of request needs to have been answered.
served() {
    patience=0.4 time=2
    tried 0 "$@" || [ $code -eq 7 ] || fault "exit code $code, not 0 or 7"
}

# A mutant is rejected, by one of a few seeds: what loss may explain, it explains.
rejected() {
    patience=0.05 time=12 # where others take the processors, silence takes long
    for seed in 1 2 3 4 5 6; do
        tried 1 "$@" && return
    done
    fault 'no seed rejects it'
}

# Without checking, too, requests are sent after each idle time of the network.
run 0 test register --env udp --no-check --messages 24 --time 20 --patience 0.1 --seed 1 --folder "$dir/tests" \
    --run "$ANTIPHON serve register --port {port} --env udp --loss 0 --duplicate 0"
check 'more than the first four requests are sent' grep -q ': 2[0-9] messages' "$dir/out"

for model in register kv swap queue etag-kv; do
    served udp $model --loss 10 --duplicate 10
    served tcp:2 $model
done
while read -r model first second; do
    rejected udp "$model" --mutate "$first"
    rejected tcp:2 "$model" --mutate "$first"
    rejected tcp:2 "$model" --mutate "$second"
    # A queue that forgets looks like a network that lost the request, one that duplicates like one that doubled it.
    [ "$model" = queue ] || rejected udp "$model" --mutate "$second"
done <<END
register 1 3
kv 1 5
swap 2 4
queue stack forgets
etag-kv 2 5
END

finish
