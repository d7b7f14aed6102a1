#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# slow_servers.sh - servers that respond late, or only after a request of another client: correct ones pass, and a
# response that never arrives is found. The tests take time, but little work, so they run concurrently.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"

find_python
examples=$ANTIPHON_ROOT/examples
sed 's/\.answers = true,//' "$examples/blocking-queue.c" >"$dir/unpaired.c"

# begin NAME CODE MODEL SUBJECT OPTION...: tests the subject in the background.
begin() {
    local name=$1 model=$3 subject=$4
    echo "$2" >"$dir/$name.expected"
    shift 4
    {
        "$ANTIPHON" test "$model" --run "$python -S $ANTIPHON_ROOT/tests/support/$subject" --folder "$dir/$name" \
            --seed 1 --json --no-shrink "${budgets[@]}" "$@" >"$dir/$name.out" 2>"$dir/$name.err"
        echo $? >"$dir/$name.code"
    } &
}

slow=slow_kv_server.py queue=blocking_queue.py
# The response times exceed a patience of 0.4 s; with --patience 0.4, such a server is rejected.
begin slow 0 kv "$slow {port} parallel 450" --messages 30
begin serial 0 kv "$slow {port} serial 250" --messages 30
begin jitter 0 kv "$slow {port} jitter 600" --messages 40
begin pause 0 kv "$slow {port} pause 3000" --messages 60
begin one-slow 0 kv "$slow {port} slow-get 2500" --messages 48
begin impatient 8 kv "$slow {port} parallel 5000" --messages 30 --patience 0.2
begin swallows 8 kv "$slow {port} pause 0 30" --messages 200
begin slow-swallows 8 kv "$slow {port} serial 250 9" --messages 100 --connections 1 --patience 1.5

# A server that notices the ends of connections late is not rejected because of a brief silence.
begin late-ends 0 "$examples/connections/limit.c" "late_limit_server.py {port} 700" --connections 3 --messages 1200 --time 30

# Requests that wait for others are not due.
begin queue 0 "$examples/blocking-queue.c" "$queue {port} right" --messages 1500
begin unpaired 0 "$dir/unpaired.c" "$queue {port} right" --messages 1000
begin alone 0 "$examples/blocking-queue.c" "$queue {port} right" --messages 150 --connections 2
for mutant in gives-up doubles newest; do
    begin $mutant 1 "$examples/blocking-queue.c" "$queue {port} $mutant"
done
begin forgets 8 "$examples/blocking-queue.c" "$queue {port} forgets" --patience 1
begin loses 8 "$examples/blocking-queue.c" "$queue {port} loses" --patience 1
wait

for expected in "$dir"/*.expected; do
    name=$(basename "$expected" .expected)
    title="test, $name"
    mv "$dir/$name.out" "$dir/out"
    mv "$dir/$name.err" "$dir/err"
    code=$(cat "$dir/$name.code")
    check "exit code $code, not $(cat "$expected")" [ "$code" -eq "$(cat "$expected")" ]
done
finish
