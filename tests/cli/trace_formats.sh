#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# trace_formats.sh - a valid and an invalid history in every trace format; environments; lost responses.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"

# One client writes 1, then another reads $1.
jsonl() {
    printf '%s\n' '{"antiphon":1,"model":"register"}' '{"conn":1,"send":{"f":"write","value":1}}' '{"conn":1,"recv":"ok"}' \
        '{"note":"the network was cut here"}' '{"conn":2,"send":{"f":"read"}}' "{\"conn\":2,\"recv\":$1}"
}
jepsen_log() {
    printf 'INFO  jepsen.util - %s\n' '0 :invoke :write 1' '0 :ok :write 1' ':nemesis :info :start nil' \
        '1 :invoke :read nil' "1 :ok :read $1"
}
edn_lines() {
    printf '%s\n' '{:process 0, :type :invoke, :f :write, :value 1}' '{:process 0, :type :ok, :f :write, :value 1}' \
        '{:process 1, :type :invoke, :f :read, :value nil}' "{:process 1, :type :ok, :f :read, :value $1}"
}
edn_vector() {
    printf '%s\n' '[{:index 0, :time 10, :process 0, :type :invoke, :f :write, :value 1}' \
        ' {:index 1, :time 20, :process :nemesis, :type :info, :f :start-partition, :value [:n1 #{:n2 :n3}]}' \
        ' {:index 2, :time 30, :process 0, :type :ok, :f :write, :value 1}' \
        ' {:index 3, :time 40, :process 1, :type :invoke, :f :read, :value nil}' \
        " {:index 4, :time 50, :process 1, :type :ok, :f :read, :value $1}]"
}
json_lines() {
    printf '%s\n' '{"process":0,"type":"invoke","f":"write","value":1}' '{"process":0,"type":"ok","f":"write","value":1}' \
        '{"process":1,"type":"invoke","f":"read","value":null}' "{\"process\":1,\"type\":\"ok\",\"f\":\"read\",\"value\":$1}"
}
json_array() {
    printf '[%s,\n%s,\n%s,\n%s]\n' '{"process":0,"type":":invoke","f":"write","value":1}' \
        '{"process":0,"type":":ok","f":"write","value":1}' '{"process":1,"type":"invoke","f":"read"}' \
        "{\"process\":1,\"type\":\"ok\",\"f\":\"read\",\"value\":$1}"
}

# format NAME WRITER: checks traces whose format is detected, given by name, and read from standard input.
format() {
    $2 1 >"$dir/good"
    $2 2 >"$dir/bad"
    run 0 check register "$dir/good"
    out pass
    run 1 check register "$dir/bad"
    out fail
    out 'no explanation for this response: read → 2'
    run 0 check --format "$1" register "$dir/good"
    run 1 check --format "$1" register "$dir/bad"
    feed 0 "$dir/good" check register -
    feed 1 "$dir/bad" check register -
    run 0 check --json register "$dir/good"
    out "\"format\":\"$1\""
    out '"operations":2'
}
format jsonl jsonl
format jepsen-log jepsen_log
format edn edn_lines
format edn edn_vector
format json json_lines
format json json_array

# nil is a value like any other.
nil() {
    printf 'INFO  jepsen.util - %s\n' '0 :invoke :write 1' '0 :ok :write 1' '0 :invoke :write nil' '0 :ok :write nil' \
        '1 :invoke :read nil' "1 :ok :read $1"
}
nil nil >"$dir/good"
nil 1 >"$dir/bad"
run 0 check register "$dir/good"
run 1 check register "$dir/bad"

# --format overrides detection.
jsonl 1 >"$dir/ours"
run 12 check --format edn register "$dir/ours"

# With several files, a fail determines the exit code, then an error, then a pass.
jsonl 1 >"$dir/good"
jsonl 2 >"$dir/bad"
run 0 check register "$dir/good" "$dir/good"
run 1 check register "$dir/good" "$dir/bad" "$dir/missing"
run 10 check register "$dir/good" "$dir/missing"
err "$dir/missing"

# Environments and promises.
printf '%s\n' '{"conn":1,"send":{"f":"write","value":1}}' '{"conn":2,"send":{"f":"read"}}' '{"conn":1,"recv":"ok"}' \
    '{"conn":2,"recv":null}' >"$dir/race"
run 0 check register "$dir/race"
run 0 check --env tcp register "$dir/race"
run 1 check --env sync register "$dir/race"
for option in --whole --ignore-promises; do
    run 0 check $option register "$dir/good" "$dir/race"
    run 1 check $option register "$dir/bad"
done

# After a lost response, the request may or may not have been taken.
lost() {
    printf '%s\n' '{"conn":1,"send":{"f":"write","value":1}}' '{"conn":1,"lost":true}' '{"conn":2,"send":{"f":"read"}}' \
        "{\"conn\":2,\"recv\":$1}" >"$dir/lost"
}
for value in 1 null; do
    lost $value
    run 0 check register "$dir/lost"
    run 0 check --ignore-promises register "$dir/lost"
done
# A connection continues after a lost response; without promises it is unknown which response was lost.
printf '%s\n' '{"conn":1,"send":{"f":"put","key":"k","value":"a"}}' '{"conn":1,"lost":true}' \
    '{"conn":1,"send":{"f":"get","key":"k"}}' '{"conn":1,"recv":"a"}' >"$dir/on"
run 0 check kv "$dir/on"
run 0 check --ignore-promises kv "$dir/on"
# An explanation with a lost response on a pipelined connection also holds.
printf '%s\n' '{"conn":1,"send":{"f":"write","value":2}}' '{"conn":1,"send":{"f":"read"}}' '{"conn":1,"lost":true}' \
    '{"conn":1,"recv":null}' >"$dir/ahead"
run 0 check --explain register "$dir/ahead"
out 'holds'
lost 2
run 1 check register "$dir/lost"
run 1 check --ignore-promises register "$dir/lost"

# A connection with pending requests for two keys joins their partitions: the trace is checked again as a whole. A pipe
# cannot be read twice, and the rest of the pipe must not be mistaken for the trace.
joined() {
    printf '%s\n' '{"conn":1,"send":{"f":"put","key":"a","value":"x"}}' '{"conn":1,"send":{"f":"get","key":"b"}}' \
        '{"conn":1,"recv":"ok"}' "{\"conn\":1,\"recv\":\"$1\"}"
}
joined '' >"$dir/joined"
run 0 check kv "$dir/joined"
joined wrong >"$dir/joined"
run 1 check kv "$dir/joined"
feed 1 "$dir/joined" check --whole kv -
feed 10 "$dir/joined" check kv -
err --whole
run 10 check kv <(joined wrong)
run 1 check --whole kv <(joined wrong)

# A wrong response after a long history, from a file and from a pipe.
long() {
    awk 'BEGIN {
        for (i = 0; i < 20000; i++) {
            printf "{\"conn\":1,\"send\":{\"f\":\"write\",\"value\":%d}}\n{\"conn\":2,\"send\":{\"f\":\"read\"}}\n", i
            printf "{\"conn\":1,\"recv\":\"ok\"}\n{\"conn\":2,\"recv\":%d}\n", i
        }
        print "{\"conn\":2,\"send\":{\"f\":\"read\"}}\n{\"conn\":2,\"recv\":7}"
    }'
}
long >"$dir/long"
run 1 check register "$dir/long"
out "$dir/long:80002: no explanation for this response: read → 7"
feed 1 "$dir/long" check register -
run 1 check register <(long)
finish
