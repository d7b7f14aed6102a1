#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# explore.sh - antiphon explore: programs on the threads library in every order, replays, and failing programs.
. "$ANTIPHON_ROOT/tests/cli/lib.sh"
: "${ANTIPHON_SUBJECTS:?names the folder of the programs under test}"
cd "$ANTIPHON_SUBJECTS" || exit 1

# number NAME: prints that number from the JSON output.
number() { sed -n "s/.*\"$1\":\([0-9]*\).*/\1/p" "$dir/out"; }

# orders WANTED PROGRAM...: expects that the program has WANTED orders, each found once.
orders() {
    local wanted=$1
    shift
    run 0 explore --json --list "$dir/list" "./$@"
    check "$(number sequences) orders, not $wanted" [ "$(number sequences)" = "$wanted" ]
    sed 's/"sequence":[0-9]*,//' "$dir/list" | sort -u >"$dir/different"
    check 'an order was found twice' [ "$(wc -l <"$dir/different")" = "$wanted" ]
}

# ---- every order, once ---------------------------------------------------------------------------------------------

orders 2 dp 2
orders 6 dp 3
orders 14 dp 4
orders 30 dp 5
orders 30 tdme
orders 6 dme 2
if ! sanitized; then orders 4032 dme 3; fi # half a minute with sanitizers
orders 48 buffer
orders 6 buffer 3 1 1
orders 8 commit 2
orders 72 commit 3
orders 2 figure3
orders 2 figure4
orders 1 figure5
orders 2 figure6
orders 2 figure8
orders 4 figure9
orders 4 figure12
orders 2 figure14

# Random programs have as many orders and deadlocks as brute force finds. Every seventh program, from number 5, has small
# queues that all senders share.
for n in $(seq 1 40) 318 357 884 2195 $(seq 5 7 180); do
    wanted=$(./scramble "$n" count)
    "$ANTIPHON" explore --json ./scramble "$n" >"$dir/out" 2>"$dir/err"
    title="explore scramble $n"
    check "$(number sequences) $(number deadlocks), not $wanted" [ "$(number sequences) $(number deadlocks)" = "$wanted" ]
done

# ---- in parallel ---------------------------------------------------------------------------------------------------

# Several programs find the same sequences; only their order differs.
sequences() { "$ANTIPHON" explore -j "$1" --races --list - "${@:2}" 2>>"$dir/err" | sed 's/"sequence":[0-9]*,//' | sort; }
for program in 'dp 5' tdme 'commit 3' 'buffer 3 1 1' figure9 'scramble 318' 'scramble 2195' 'scramble 33'; do
    # shellcheck disable=SC2086 # a program and its arguments
    sequences 1 ./$program >"$dir/one"
    # shellcheck disable=SC2086
    sequences 3 ./$program >"$dir/three"
    title="explore -j 3 $program"
    check 'other sequences' cmp -s "$dir/one" "$dir/three"
    check 'no sequences' [ -s "$dir/one" ]
done
for n in 5 12 19 26 40 47 54; do
    wanted=$(./scramble "$n" count)
    "$ANTIPHON" explore --json -j 4 ./scramble "$n" >"$dir/out" 2>"$dir/err"
    title="explore -j 4 scramble $n"
    check "$(number sequences) $(number deadlocks), not $wanted" [ "$(number sequences) $(number deadlocks)" = "$wanted" ]
done
run 75 explore -j 3 ./wrong crash
run 73 explore -j 3 ./wrong deadlock
run 0 explore -j 3 --limit 7 ./dp 5
out ' 7 sequences'
run 2 explore -j 2 --random 5 ./dp 5
err 'not with --random'

# ---- threads are separate ------------------------------------------------------------------------------------------

# Threads do not share thread-local variables, and all variables are fresh in each run.
cat >"$dir/own.c" <<'END'
#include <antiphon/threads.h>
#include <stdio.h>
static aph_thread_port *port;
static _Thread_local int own = 10;
static int runs;
static void count(aph_thread *self, void *argument)
{
    char label[16];
    (void)argument;
    for (int i = 0; i < 2; i++) {
        snprintf(label, sizeof label, "n%d-%d", own++, runs);
        aph_thread_send_sync(self, port, label, aph_payload_number(0));
    }
}
static void collect(aph_thread *self, void *argument)
{
    (void)argument;
    runs++;
    for (int i = 0; i < 4; i++)
        aph_thread_receive(self, port), own += 100;
}
int main(void)
{
    aph_threads *group = aph_threads_open();
    aph_thread *c = aph_threads_add(group, "C", collect, NULL);
    aph_threads_add(group, "A", count, NULL);
    aph_threads_add(group, "B", count, NULL);
    port = aph_threads_port(group, "port", c, APH_THREAD_FIFO_PAIR, 0);
    aph_threads_run(group);
    aph_threads_close(group);
}
END
sanitize=
if sanitized; then sanitize=-fsanitize=address,undefined; fi
cc -std=gnu17 $sanitize -I"$ANTIPHON_ROOT/include" "$dir/own.c" "$ANTIPHON_THREADS_LIBRARY" -pthread -o "$dir/own" || fail cc
run 0 explore --json --list "$dir/list" "$dir/own"
check "$(number sequences) sequences, not 6" [ "$(number sequences)" -eq 6 ]
check 'other labels' [ "$(grep -o '"label":"n[^"]*"' "$dir/list" | sort -u | tr -d '\n')" = '"label":"n10-1""label":"n11-1"' ]

# ---- race sets -----------------------------------------------------------------------------------------------------

# The open list of the second receive has one more port than in the model, so its race set has one more send.
run 0 explore --races --list - ./figure12
out '"peer":"L2","peer_index":1,"open":[["p1","*"],["p2","*"]],"race":[["L3",1]],"clock":[1,1,0,2]}'
run 0 explore --races --list - ./figure14
out '"peer":"L1","peer_index":3,"open":[["p1","*"],["p2","*"]],"race":[["L3",1]],"clock":[3,3,0]}'
run 0 explore --races --list - ./figure3
out '"peer":"L1","peer_index":1,"open":[["px","*"],["py","*"]],"race":[["L2",1]],"clock":[1,0,1]}'
run 0 explore --races --list - ./figure5
no_out '"race":[["'

# ---- random runs and replays ---------------------------------------------------------------------------------------

for program in 'dp 5' tdme 'dme 3' buffer 'commit 3' 'scramble 884' 'scramble 6'; do
    # shellcheck disable=SC2086 # a program and its argument
    "$ANTIPHON" explore --random 40 --twice ./$program >"$dir/out" 2>"$dir/err"
    code=$?
    title="explore --twice $program"
    check "exit code $code" [ $code -eq 0 -o $code -eq 73 ]
    out '40 sequences'
done
run 0 explore --random 5 --seed 9 --list "$dir/first" ./dme 3
run 0 explore --random 5 --seed 9 --list "$dir/second" ./dme 3
check 'the same seed gives other runs' cmp -s "$dir/first" "$dir/second"
run 0 explore --random 5 --seed 10 --list "$dir/second" ./dme 3
check 'other seeds give the same runs' [ "$(sort -u "$dir/first" "$dir/second" | wc -l)" -gt 5 ]
run 0 explore --replay "$dir/first" --list "$dir/second" ./dme 3
out '5 sequences'
sed 's/"sequence":[0-9]*,//' "$dir/first" >"$dir/a"
sed 's/"sequence":[0-9]*,//' "$dir/second" >"$dir/b"
check 'a replay differs from the recording' cmp -s "$dir/a" "$dir/b"

# A replayed prefix: U1 comes first, then any order follows.
cat >"$dir/prefix" <<'JSON'
{"threads":{"U1":[{"op":"send","sync":false,"port":"controller","label":"request(1)","peer":"C"}],"C":[{"op":"receive","sync":false,"port":"controller","label":"request(1)","peer":"U1","peer_index":1}]}}
JSON
for seed in 1 2 3; do
    run 0 explore --prefix "$dir/prefix" --seed $seed --list - ./tdme
    out '"C":[{"op":"receive","sync":false,"port":"controller","label":"request(1)","peer":"U1","peer_index":1,'
done

# ---- programs that diverge -----------------------------------------------------------------------------------------

run 0 explore --list "$dir/two" ./wrong send 2 m
run 72 explore --replay "$dir/two" ./wrong send 3 m
err ':1: cannot follow: extra event: thread A, event 3'
run 72 explore --replay "$dir/two" ./wrong send 1 m
err 'missing event: thread A, event 2: the sequence has send to_b m to B, the program ends'
run 72 explore --replay "$dir/two" ./wrong send 2 n
err 'the program has send to_b n'
run 72 explore --replay "$dir/two" ./wrong short 2
err 'missing event: thread B, event 2'
run 0 explore --list "$dir/short" ./wrong short 2
run 72 explore --replay "$dir/short" ./wrong send 2 m
err 'extra event: thread B, event 2: the sequence has ended here, the program can receive to_b m from A'
run 73 explore --list "$dir/dead" ./wrong deadlock
run 72 explore --replay "$dir/dead" ./wrong send 1
printf '{"threads":{}}\n' >"$dir/nothing"
run 72 explore --replay "$dir/nothing" ./wrong deadlock
err 'missing termination'
run 72 explore --random 2 --twice ./wrong fickle "$dir/fickle"
err 'local event odd'

# ---- failing programs ----------------------------------------------------------------------------------------------

run 73 explore ./wrong deadlock
err 'deadlock: A waits to receive to_a *; B waits to receive to_b *'
run 73 explore ./wrong maybe
out 'all 2 sequences, 1 with a deadlock'
run 75 explore ./wrong crash
err 'crashed: Aborted'
run 75 explore ./wrong fail
err 'exited with code 3'
run 75 explore ./wrong leave
err 'exited before its threads did'
run 75 explore ./wrong theft
err 'thread A receives from port to_b, which belongs to B'
run 74 explore --run-time 300 ./wrong spin
err 'did not end within 300 ms'
run 74 explore --events 500 ./wrong chatter
err 'more than 500 events'
run 74 explore --events 20000 ./wrong chatter
err 'more than 20000 events'
run 0 explore ./wrong send 5000 m
out 'all 1 sequence,'
run 70 explore true
err 'link it with libantiphon-threads'
run 70 explore --run-time 100 sleep 100
err 'did not run its threads within'
run 70 explore ./no-such-program
err 'No such file'

# A failing random run prints its seed, which reproduces the failure.
run 73 explore --random 20 --seed 1 ./wrong maybe
seed=$(sed -n 's/.*(--random 1 --seed \([0-9]*\)): B waits to receive to_b never.*/\1/p' "$dir/err")
run 73 explore --random 1 --seed "${seed:-0}" ./wrong maybe
err 'B waits to receive to_b never'

# ---- invalid sequences ---------------------------------------------------------------------------------------------

# rejects TEXT MESSAGE: a file with that line is rejected with that message.
rejects() {
    printf '%s\n' "$1" >"$dir/bad"
    run 71 explore --replay "$dir/bad" ./wrong send 1
    err "$2"
}
rejects '{"threads":' 'bad:1: not JSON'
rejects '{"sequence":1}' 'not a sequence'
rejects '{"deadlock":3,"threads":{}}' 'deadlock is neither'
rejects '{"threads":{"Z":[]}}' 'no thread Z'
rejects '{"threads":{"A":{}}}' 'not an array'
rejects '{"threads":{"A":[{}]}}' 'thread A, event 1: missing op'
rejects '{"threads":{"A":[{"op":"push","label":"m"}]}}' 'op is not send'
rejects '{"threads":{"A":[{"op":"local","label":"a b"}]}}' 'without blanks'
rejects '{"threads":{"A":[{"op":"send","label":"m"}]}}' 'missing port'
rejects '{"threads":{"A":[{"op":"send","label":"m","port":"q"}]}}' 'no port of that name'
rejects '{"threads":{"A":[{"op":"send","label":"m","port":"to_b"}]}}' 'missing peer'
rejects '{"threads":{"A":[{"op":"send","label":"m","port":"to_b","peer":"Q"}]}}' 'name of the peer'
rejects '{"threads":{"A":[{"op":"send","label":"m","port":"to_b","peer":"B"}]}}' 'sync is neither'
rejects '{"threads":{"A":[{"op":"send","label":"m","port":"to_b","peer":"C","sync":true}]}}' 'belongs to another'
rejects '{"threads":{"B":[{"op":"receive","label":"m","port":"to_b","peer":"A","sync":true,"peer_index":0}]}}' 'from 1'
: >"$dir/empty"
run 71 explore --replay "$dir/empty" ./wrong send 1
err 'no sequences'
run 71 explore --replay "$dir/no-such" ./wrong send 1
err 'No such file'

# ---- the command line ----------------------------------------------------------------------------------------------

run 2 explore
err 'too few operands'
run 2 explore --random 0 ./tdme
err '--random 0: not a whole number from 1'
run 2 explore --twice ./tdme
err '--twice: only with --random'
run 2 explore --random 3 --replay "$dir/two" ./tdme
err 'only one of'
run 2 explore --frob ./tdme
err '--frob: no such option'
run 2 explore --list
err '--list: FILE is missing'
run 4 explore --list "$dir/no/such/folder" ./tdme
run 0 explore --limit 7 ./tdme
out '7 sequences, 0'
run 0 explore --help
out 'usage: antiphon explore'

# Programs run without control.
for program in 'dp 5' tdme 'dme 4' buffer 'commit 3' figure3 figure4 figure5 figure6 figure8 figure9 figure12 figure14; do
    # shellcheck disable=SC2086
    timeout $hang_s ./$program >"$dir/out" 2>"$dir/err"
    code=$?
    title="(without control) $program"
    check "exit code $code" [ $code -eq 0 ]
done

finish
