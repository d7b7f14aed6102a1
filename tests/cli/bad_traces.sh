#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# bad_traces.sh - every kind of invalid trace has its exit code, and a message with the position.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"

# bad CODE WHERE TEXT...: checks a trace with these lines; the message begins with FILE:WHERE:
bad() {
    local code=$1 where=$2
    shift 2
    printf '%b\n' "$@" >"$dir/trace"
    run "$code" check register "$dir/trace"
    err "$dir/trace:$where: "
    run "$code" check --json register "$dir/trace"
    out '"verdict":"error"'
    out "\"exit\":$code"
}

write='{"conn":1,"send":{"f":"write","value":1}}'

# Unreadable and empty files.
run 10 check register "$dir/missing"
err "$dir/missing"
run 10 check register "$dir"
err "$dir"
: >"$dir/unreadable"
if chmod 000 "$dir/unreadable" && ! [ -r "$dir/unreadable" ]; then run 10 check register "$dir/unreadable"; fi
: >"$dir/empty"
run 22 check --json register "$dir/empty"
out '"operations":0'
printf '\n\n  \n' >"$dir/blank"
run 22 check register "$dir/blank"

# Formats.
printf 'once upon a time\n' >"$dir/prose"
run 11 check register "$dir/prose"
err "$dir/prose"
run 2 check --format yaml register "$dir/prose"
err yaml
bad 11 1:13 '{"antiphon":2}' "$write"

# The jsonl format.
bad 12 2:1 "$write" 'nonsense'
bad 12 1:1 '{"conn":1}'
printf '%s\n%s' "$write" '{"conn":1,"re' >"$dir/cut"
run 13 check register "$dir/cut"
err "$dir/cut:2:"
bad 14 1:18 '{"conn":1,"recv":"ok"}'
bad 14 3:18 "$write" '{"conn":1,"recv":"ok"}' '{"conn":1,"recv":"ok"}'
bad 16 1:35 '{"conn":1,"send":{"f":"w","value":9223372036854775808}}'
bad 16 1:35 '{"conn":1,"send":{"f":"w","value":-9223372036854775809}}'
bad 17 1:35 '{"conn":1,"send":{"f":"w","value":1.5}}'
bad 17 1:35 '{"conn":1,"send":{"f":"w","value":1e-3}}'
printf '{"conn":1,"send":{"f":"\0"}}\n' >"$dir/nul"
run 18 check register "$dir/nul"
err "$dir/nul:1:24: "
printf '{"conn":1,"send":{"f":"write","value":9223372036854775807}}\n{"conn":1,"recv":"ok"}\n' >"$dir/largest"
run 0 check register "$dir/largest"

# Jepsen formats.
bad 14 1:1 '{:process 1, :type :ok, :f :read, :value 1}'
bad 15 2:1 '{:process 1, :type :invoke, :f :read}' '{:process 1, :type :invoke, :f :read}'
bad 19 1:20 '{:process 1, :type :maybe, :f :read}'
bad 16 1:46 '{:process 1, :type :invoke, :f :write :value 99999999999999999999}'
bad 17 1:46 '{:process 1, :type :invoke, :f :write :value 0.5}'
printf '{:process 1, :type :invoke' >"$dir/cut"
run 13 check register "$dir/cut"
printf '[{:process 1, :type :invoke, :f :read}' >"$dir/cut"
run 13 check register "$dir/cut"
printf 'INFO  jepsen.util - 0 :ok :read 3\n' >"$dir/log"
run 14 check register "$dir/log"

# Requests that the model does not know.
bad 21 1 '{"conn":1,"send":{"f":"pop"}}' '{"conn":1,"recv":"ok"}'
out '{\"f\":\"pop\"}: unknown'
bad 21 1 '{:process 1, :type :invoke, :f :pop}' '{:process 1, :type :ok, :f :pop, :value 1}'

# A violation before the damaged line is still reported.
printf '%s\n' "$write" '{"conn":1,"recv":"no"}' 'nonsense' >"$dir/both"
run 1 check register "$dir/both"

# A line of hundreds of megabytes is rejected before it is completely in memory.
{
    printf '{"conn":1,"send":"'
    head -c 400000000 /dev/zero | tr '\0' x
} 2>/dev/null | "$ANTIPHON" check --json register - >"$dir/out" 2>"$dir/err"
code=${PIPESTATUS[1]}
title='check --json register - < a long line'
if [ "$code" -ne 20 ]; then fail "exit code $code, not 20"; fi
resident=$(sed -n 's/.*"resident_kb":\([0-9]*\).*/\1/p' "$dir/out")
check 'no resident_kb in the output' [ -n "$resident" ]
if ! sanitized && [ "${resident:-999999}" -gt 250000 ]; then fail "the check used $resident kB"; fi

# Deep nesting is rejected before the stack overflows.
{
    printf '{"conn":1,"send":'
    head -c 1000000 /dev/zero | tr '\0' '['
    echo
} >"$dir/deep"
run 24 check register "$dir/deep"
err '256 levels'
head -c 1000000 /dev/zero | tr '\0' '[' >"$dir/deep"
run 12 check --format edn register "$dir/deep"

# Lines that are not in chronological order are not judged, even if the lines before them already fail: the log of one
# client follows that of another.
client() {
    printf '%s\n' "{\"conn\":1,\"send\":{\"f\":\"read\"},\"time\":$2}" "{\"conn\":1,\"recv\":5,\"time\":$3}"
    awk 'BEGIN { for (i = 0; i < 9000; i++) printf "{\"conn\":1,\"send\":{\"f\":\"read\"}}\n{\"conn\":1,\"recv\":5}\n" }'
    printf '%s\n' "{\"conn\":2,\"send\":{\"f\":\"write\",\"value\":5},\"time\":$1}" "{\"conn\":2,\"recv\":\"ok\",\"time\":$1}"
}
client 10 20 30 >"$dir/apart"
run 23 check register "$dir/apart"
err "$dir/apart:18003:49: the time is below that of line 2"
err '--ignore-times'
feed 23 "$dir/apart" check register -
run 1 check --ignore-times register "$dir/apart"
run 23 explain register "$dir/apart"
client 30 20 30 >"$dir/apart"
run 1 check register "$dir/apart"
finish
