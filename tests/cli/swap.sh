#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# swap.sh - the swap server as a subject: it passes with 1 to 1,000 connections, and its mutants fail; the implementation
# model passes as a server. Also tests the program itself: chunks, signals, invalid arguments.
. "$ANTIPHON_ROOT/tests/cli/lib.sh"
: "${ANTIPHON_SUBJECTS:?names the folder of the subjects}"
swap=$ANTIPHON_SUBJECTS/swap

# once CODE PROGRAM OPTION...: tests a program with the model swap, in a new folder.
once() {
    local code=$1 program=$2
    shift 2
    rm -rf "$dir/folder"
    run "$code" test swap --run "$program {port}" --folder "$dir/folder" --seed 1 --json "$@"
}

for connections in 1 10 1000; do
    once 0 "$swap" --messages 3000 --connections $connections
    out '"verdict":"pass"'
done

# Connections that open, half-close, close and break at any time. One mutant of it.
rm -rf "$dir/folder"
run 0 test swap-connections --run "$swap {port}" --folder "$dir/folder" --seed 1 --json --messages 2000
out '"verdict":"pass"'
rm -rf "$dir/folder"
run 1 test swap-connections --run "$ANTIPHON_SUBJECTS/swap-mutant-05 {port}" --folder "$dir/folder" --seed 1 --no-shrink

# Mutants with a wrong response, a closed connection, and silence.
once 1 "$ANTIPHON_SUBJECTS/swap-mutant-01" --no-shrink
out '"verdict":"fail"'
once 9 "$ANTIPHON_SUBJECTS/swap-mutant-02" --no-shrink
out '"verdict":"dead"'
once 8 "$ANTIPHON_SUBJECTS/swap-mutant-12" --no-shrink
out '"verdict":"starved"'
# Also if --time is shorter than it takes to establish a silence.
once 8 "$ANTIPHON_SUBJECTS/swap-mutant-10" --time 1 --shrink-time 1
out '"verdict":"starved"'

# Kept scripts are tried first, and are the only runs if they use up all messages.
once 1 "$ANTIPHON_SUBJECTS/swap-mutant-01"
run 0 test swap --run "$swap {port}" --folder "$dir/folder" --seed 1 --json --messages 1
out '"verdict":"pass"'
messages=$(sed -n 's/.*"messages":\([0-9]*\),.*/\1/p' "$dir/out")
check "$messages messages are too many" [ "$messages" -lt 100 ]

# A script that sends nothing is vacuous.
echo '{"antiphon":1,"script":"swap"}' >"$dir/nothing.script"
run 7 replay --run "$swap {port}" --folder "$dir/folder" "$dir/nothing.script"
out 'vacuous'

# The implementation model, served, is a swap server; a mutant of it is not.
once 0 "$ANTIPHON serve swap-impl --seed 1 --port" --messages 300 --connections 3
once 1 "$ANTIPHON serve swap-impl --seed 1 --mutate echo --port" --no-shrink
for seed in 1 4; do
    rm -rf "$dir/folder"
    run 0 test swap-connections --run "$ANTIPHON serve swap-impl --seed $seed --port {port}" --folder "$dir/folder" --seed 1 \
        --json --messages 200 --connections 3 --no-shrink
done

# ---- the program itself ----------------------------------------------------------------------------------------------

title=swap
"$swap" >"$dir/out" 2>"$dir/err"
check 'no usage message without a port' [ $? -eq 2 ]
err 'usage: swap PORT'
"$swap" 70000 >"$dir/out" 2>"$dir/err"
check 'an invalid port is accepted' [ $? -eq 2 ]

# Tries ports until the server can listen.
for ((port = 20000 + RANDOM % 20000; ; port++)); do
    "$swap" $port >"$dir/out" 2>"$dir/err" &
    server=$!
    accepts_or_ended() { has_ended $server || (exec 3<>/dev/tcp/127.0.0.1/$port) 2>/dev/null; }
    check 'the server does not listen' wait_until accepts_or_ended
    if ! has_ended $server; then break; fi
done
exec 3<>/dev/tcp/127.0.0.1/$port 4<>/dev/tcp/127.0.0.1/$port
printf a >&3
printf xyz >&4
read -r -N 3 -t $hang_s first <&4
printf bc >&3
read -r -N 3 -t $hang_s second <&3
check "chunks of one, all of the other: $first, $second" [ "$first$second" = 000xyz ]
"$swap" $port >"$dir/out" 2>"$dir/err"
check 'a taken port is not reported' [ $? -eq 1 ]
err 'bind: Address already in use'
exec 4>&-
kill -TERM $server
wait $server
check 'the server does not end cleanly on SIGTERM' [ $? -eq 0 ]
exec 3>&-

finish
