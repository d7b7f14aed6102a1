#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# check_limits.sh - several traces at a time, limits, and being told to stop.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"

line() { printf '{"conn":%s,"%s":%s}\n' "$1" "$2" "$3"; }
read_after_write() {
    line 1 send "{\"f\":\"write\",\"value\":$1}"
    line 1 recv '"ok"'
    line 2 send '{"f":"read"}'
    line 2 recv "$2"
}
# Every order of so many appends is another state, and none is what is read in the end.
hopeless() {
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
for jobs in 2 5 40 0; do
    run 1 check --json -j $jobs register "${files[@]}"
    verdicts >"$dir/many"
    check "-j $jobs differs" cmp -s "$dir/one" "$dir/many"
done

# The table says the same, but for the times; in the order of the files.
table() { "$ANTIPHON" check --verbose --color never "$@" register "${files[@]}" 2>/dev/null | awk '/h[0-9]/ {print $1, $2, $3}' |
    grep -E '^(pass|fail|error) ' >"$dir/table"; }
told='--verbose'
table
cp "$dir/table" "$dir/one"
check 'no table' [ "$(wc -l <"$dir/one")" -ge 12 ]
table -j 3
# Details come as traces end, the rows of the table do not.
check 'the table of -j 3 differs' [ "$(tail -12 "$dir/one")" = "$(tail -12 "$dir/table")" ]

# What is shown of a failure does not depend on who judged it, unknowns of the server included.
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
check 'what -j 2 shows differs' cmp -s "$dir/one" "$dir/many"

# Limits. A verdict that is not certain is none.
hopeless >"$dir/hopeless"
run 3 check --time 0.3 kv "$dir/hopeless"
out unknown
out '--time'
run 3 check --memory 30 kv "$dir/hopeless"
out '--memory'
run 3 check --time 0.3 --json kv "$dir/hopeless"
out '"limit":"time"'
out '"verdict":"unknown"'
run 1 check --time 0.3 kv "$dir/hopeless" "$dir/hopeless" "$ANTIPHON_ROOT/examples/kv-bad.jsonl"

# interrupted SIGNAL LINES ARGUMENT...: started, and stopped by the signal when it has printed so many lines.
interrupted() {
    local signal=$1 lines=$2 pid begin=$SECONDS
    shift 2
    told="$* and $signal"
    "$ANTIPHON" "$@" >"$dir/out" 2>"$dir/err" </dev/null &
    pid=$!
    while [ "$(wc -l <"$dir/out")" -lt "$lines" ] && [ $((SECONDS - begin)) -lt 20 ]; do sleep 0.05; done
    sleep 0.3
    begin=$SECONDS
    # Again and again: on a busy machine the first may come before there is anyone to listen.
    while kill -s "$signal" $pid 2>/dev/null && [ $((SECONDS - begin)) -lt 15 ]; do sleep 0.1; done
    kill -KILL $pid 2>/dev/null # should it not listen, the test must still end
    wait $pid 2>/dev/null
    code=$?
    if [ $code -ne 5 ]; then fault "exit code $code, not 5"; fi
    err interrupted
}
quick=("$ANTIPHON_ROOT/examples/kv-bad.jsonl" "$dir/keys")
line 1 send '{"f":"put","key":"k","value":"x"}' >"$dir/keys"
interrupted INT 2 check --json kv "${quick[@]}" "$dir/hopeless" "$dir/hopeless"
err '2 of 4'
check 'not two results' [ "$(wc -l <"$dir/out")" -eq 2 ]
interrupted TERM 2 check --json -j 2 kv "${quick[@]}" "$dir/hopeless" "$dir/hopeless"
err '2 of 4'
check 'not two results' [ "$(wc -l <"$dir/out")" -eq 2 ]
interrupted INT 0 check kv "$dir/hopeless"
err '0 of 1'
no_out pass
interrupted INT 0 check -j 2 --junit "$dir/junit.xml" kv "${quick[@]}" "$dir/hopeless"
out '2 files'
check 'no JUnit file' grep -q '<testsuite' "$dir/junit.xml"

# Also while it waits for input.
mkfifo "$dir/pipe"
sleep 30 >"$dir/pipe" &
writer=$!
interrupted INT 0 check register "$dir/pipe"
kill $writer
wait $writer 2>/dev/null
finish
