#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# check_limits.sh - antiphon check with several jobs, time and memory limits, and signals.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"

line() { printf '{"conn":%s,"%s":%s}\n' "$1" "$2" "$3"; }
read_after_write() {
    line 1 send "{\"f\":\"write\",\"value\":$1}"
    line 1 recv '"ok"'
    line 2 send '{"f":"read"}'
    line 2 recv "$2"
}
# Every order of these appends gives another state, and none gives the value that is read.
exponential() {
    for i in {1..18}; do line "$i" send "{\"f\":\"append\",\"key\":\"k\",\"value\":\"<$i>\"}"; done
    for i in {1..18}; do line "$i" recv '"ok"'; done
    line 99 send '{"f":"get","key":"k"}'
    line 99 recv '"not from these"'
}

files=()
for i in {1..12}; do
    read_after_write "$i" $((i % 4 ? i : 0)) >"$dir/h$i"
    files+=("$dir/h$i")
done
echo nonsense >"$dir/h7"
verdicts() { sed -n 's|.*"file":"\([^"]*\)".*"verdict":"\([a-z]*\)".*|\1 \2|p' "$dir/out" | LC_ALL=C sort; }
run 1 check --json register "${files[@]}"
verdicts >"$dir/one"
check 'not twelve verdicts' [ "$(wc -l <"$dir/one")" -eq 12 ]
run 1 check -j 2 register "${files[@]}" <&- # the pipe of a worker gets the number 0
for jobs in 2 5 40 0; do
    run 1 check --json -j $jobs register "${files[@]}"
    verdicts >"$dir/many"
    check "-j $jobs differs" cmp -s "$dir/one" "$dir/many"
done

# The tables agree except for times, and list the files in order.
table() { "$ANTIPHON" check --verbose --color never "$@" register "${files[@]}" 2>/dev/null | awk '/h[0-9]/ {print $1, $2, $3}' |
    grep -E '^(pass|fail|error) ' >"$dir/table"; }
title='--verbose'
table
cp "$dir/table" "$dir/one"
check 'no table' [ "$(wc -l <"$dir/one")" -ge 12 ]
table -j 3
# Details are printed when each check ends; the table is sorted.
check 'the table of -j 3 differs' [ "$(tail -12 "$dir/one")" = "$(tail -12 "$dir/table")" ]

# The report of a failure does not depend on the worker, even with unknown values of the server.
{
    line 1 send '{"f":"put","key":"k","value":1}'
    line 1 recv '{"code":201}'
    line 1 send '{"f":"get","key":"k"}'
    line 1 recv '{"code":500}'
} >"$dir/unknowns"
run 1 check etag-kv "$dir/unknowns" "$dir/unknowns"
grep -vE '^(fail|verdict) |^2 files' "$dir/out" >"$dir/one"
run 1 check -j 2 etag-kv "$dir/unknowns" "$dir/unknowns"
grep -vE '^(fail|verdict) |^2 files' "$dir/out" >"$dir/many"
check 'the report of -j 2 differs' cmp -s "$dir/one" "$dir/many"

# At a limit, the verdict is unknown.
exponential >"$dir/exponential"
run 3 check --time 0.3 kv "$dir/exponential"
out unknown
out '--time'
run 3 check --memory 30 kv "$dir/exponential"
out '--memory'
run 3 check --time 0.3 --json kv "$dir/exponential"
out '"limit":"time"'
out '"verdict":"unknown"'
run 1 check --time 2 kv "$dir/exponential" "$dir/exponential" "$ANTIPHON_ROOT/examples/kv-bad.jsonl"

# interrupted SIGNAL LINES ARGUMENT...: interrupts the program after it has printed that many lines.
interrupted() {
    local signal=$1 lines=$2 pid
    shift 2
    title="$* and $signal"
    : >"$dir/out"
    "$ANTIPHON" "$@" >"$dir/out" 2>"$dir/err" </dev/null &
    pid=$!
    has_lines() { [ "$(wc -l <"$dir/out")" -ge "$lines" ]; }
    wait_until has_lines
    wait_until catches_sigint $pid
    kill -s "$signal" $pid
    wait_until has_ended $pid || kill -KILL $pid
    wait $pid 2>/dev/null
    code=$?
    if [ $code -ne 5 ]; then fail "exit code $code, not 5"; fi
    err interrupted
}
short=("$dir/keys" "$ANTIPHON_ROOT/examples/kv-bad.jsonl")
line 1 send '{"f":"put","key":"k","value":"x"}' >"$dir/keys"
interrupted INT 2 check --json kv "${short[@]}" "$dir/exponential" "$dir/exponential"
err '2 of 4'
check 'not two results' [ "$(wc -l <"$dir/out")" -eq 2 ]
interrupted TERM 2 check --json -j 2 kv "${short[@]}" "$dir/exponential" "$dir/exponential"
err '2 of 4'
check 'not two results' [ "$(wc -l <"$dir/out")" -eq 2 ]
interrupted INT 0 check kv "$dir/exponential"
err '0 of 1'
no_out pass
interrupted INT 1 check kv "${short[@]}" "$dir/exponential"
out '2 files'
interrupted INT 2 check --json -j 2 --junit "$dir/junit.xml" kv "${short[@]}" "$dir/exponential"
check 'not two results in the JUnit file' grep -q '<testsuites [^>]*tests="2"' "$dir/junit.xml"

# A signal while the program waits for input.
mkfifo "$dir/pipe"
sleep 600 >"$dir/pipe" &
writer=$!
interrupted INT 0 check register "$dir/pipe"
kill $writer
wait $writer 2>/dev/null
finish
