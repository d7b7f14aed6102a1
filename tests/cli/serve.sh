#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# serve.sh - a model as a server: what it answers, what it does with clients that are wrong, how it ends.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"

server=

# start ARGUMENT...: antiphon serve, on a free port, which is then in $port.
start() {
    told="serve $*"
    : >"$dir/out"
    "$ANTIPHON" serve "$@" >"$dir/out" 2>"$dir/err" </dev/null &
    server=$!
    local i=0
    while ! grep -q '^listening on ' "$dir/out"; do
        i=$((i + 1))
        if [ $i -gt 200 ] || ! kill -0 $server 2>/dev/null; then
            fault 'it does not listen'
            break
        fi
        sleep 0.05
    done
    port=$(sed -n 's/^listening on .*:\([0-9]*\)$/\1/p' "$dir/out")
}

# ended CODE: the server ends by itself, with that exit code.
ended() {
    wait $server
    code=$?
    if [ $code -ne "$1" ]; then fault "exit code $code, not $1"; fi
}

# stop [SIGNAL]: the server is told to end, and does so with 0.
stop() {
    kill -"${1:-TERM}" $server
    ended 0
}

# ask TEXT...: sends the lines on one connection and prints what comes back until the server has said as many, or closes.
ask() {
    exec 3<>/dev/tcp/127.0.0.1/"$port" || return
    printf '%s\n' "$@" >&3
    timeout 10 head -n $# <&3
    exec 3>&-
}

same() {
    if [ "$1" != "$2" ]; then fault "got: $1, not: $2"; fi
}

# Each request gets its answer, in order; the state outlives the connection.
start kv --seed 7
same "$(ask '{"f":"put","key":"a","value":"x"}' '{"f":"append","key":"a","value":"y"}' '{"f":"get","key":"a"}')" \
    $'"ok"\n"ok"\n"xy"'
same "$(ask '{"f":"get","key":"a"}')" '"xy"'
# One byte at a time.
exec 3<>/dev/tcp/127.0.0.1/"$port"
text='{"f":"get","key":"a"}'
for ((i = 0; i < ${#text}; i++)); do printf '%s' "${text:i:1}" >&3; done
printf '\n' >&3
same "$(timeout 10 head -n 1 <&3)" '"xy"'
exec 3>&-
# What is wrong closes the connection, after the answers before it; others do not notice.
same "$(ask '{"f":"get","key":"a"}' '{"f":' '{"f":"get","key":"a"}')" '"xy"'
err 'malformed request: byte 5'
same "$(ask '{"f":"pop"}')" ''
err 'the model does not know this request: a kv server knows'
same "$(ask '{"f":"get","key":"a"}')" '"xy"'
# A message that is cut off.
exec 3<>/dev/tcp/127.0.0.1/"$port"
printf '{"f":"get"' >&3
exec 3>&-
sleep 0.3
err 'the input ends in the middle of a message'
stop
out 'kv, environment tcp, seed 7'
out 'connections'
check 'requests were counted' grep -q '^7 requests taken, 7 responses sent' "$dir/out"

# ^C too, and a port of one's own; two servers cannot share it.
start kv --port 0
"$ANTIPHON" serve kv --port "$port" >"$dir/out2" 2>"$dir/err2"
same $? 53
grep -q '127.0.0.1:[0-9]*: cannot listen' "$dir/err2" || fault 'a taken port is not told'
# In the background a shell ignores SIGINT for its children, but the program listens to it.
stop INT

# The same seed and requests one at a time give the same answers, another seed others.
answers() {
    start etag-kv --env sync --seed "$1"
    for i in 1 2 3 4 5 6 7 8; do
        ask "{\"f\":\"put\",\"key\":\"a\",\"value\":$i}" '{"f":"get","key":"a"}'
    done
    stop
}
answers 1 >"$dir/first"
answers 1 >"$dir/second"
answers 2 >"$dir/third"
check 'a seed gives the same again' cmp "$dir/first" "$dir/second"
check 'another seed gives something else' test "$(cat "$dir/first")" != "$(cat "$dir/third")"

# Delays: about twice the mean for a request and its answer; none in sync.
milliseconds() { date +%s%3N; }
start swap --delay 200 --seed 1
begin=$(milliseconds)
exec 3<>/dev/tcp/127.0.0.1/"$port"
printf abcdefghi >&3
same "$(timeout 20 head -c 9 <&3)" 000abcdef
exec 3>&-
check 'there were delays' [ $(($(milliseconds) - begin)) -ge 100 ]
stop

# Mutants, by name and by number.
start swap --mutate echo
exec 3<>/dev/tcp/127.0.0.1/"$port"
printf abcdef >&3
same "$(timeout 10 head -c 6 <&3)" abcdef
exec 3>&-
stop
start kv --mutate 2 --env sync
same "$(ask '{"f":"put","key":"a","value":"x"}' '{"f":"delete","key":"a"}' '{"f":"get","key":"a"}')" $'"ok"\n"ok"\n"x"'
stop
out 'delete-keeps, environment sync'
run 2 serve kv --mutate 99
err 'kv has mutants 1 to 5'
run 2 serve kv --mutate nonsense
run 0 models kv
out 'append-puts'
out '  2  delete-keeps'
run 30 models nothing
run 2 models kv queue

# Command lines.
run 2 serve
run 2 serve kv queue
run 2 serve kv --port 70000
run 2 serve kv --port x
run 2 serve kv --env tin
err 'not one of tcp, sync or udp'
run 2 serve kv --loss 5
run 2 serve kv --env sync --delay 5
run 2 serve kv --env udp --loss 101
run 2 serve kv --delay -1
run 2 serve kv --nonsense
run 30 serve nothing
run 53 serve kv --host no.such.host.invalid
err 'no.such.host.invalid'
run 0 serve --help
out 'usage: antiphon serve'

# Models of one's own: several answers, none, two receives in a step, never.
cat >"$dir/odd.c" <<'END'
#include <antiphon/model.h>
static void step(aph *m, aph_value *state)
{
    aph_request a = aph_recv(m);
    if (aph_str_is(a.message, "twice")) {
        aph_send(m, a.from, aph_int(1));
        aph_send(m, a.from, aph_int(2));
    } else if (aph_str_is(a.message, "with")) {
        aph_request b = aph_recv(m);
        aph_send(m, a.from, b.message);
    } else if (aph_str_is(a.message, "lucky")) {
        if (aph_either(m, "no", "nor this", "yes") < 2)
            aph_never(m);
        aph_send(m, a.from, aph_str("lucky"));
    } else if (aph_str_is(a.message, "blocked")) {
        if (!aph_truth(*state))
            aph_never(m);
        aph_send(m, a.from, aph_str("free"));
    } else if (aph_str_is(a.message, "free")) {
        *state = aph_bool(true);
        aph_send(m, a.from, aph_str("done"));
    }
}
static const aph_model model = {.version = APH_MODEL_VERSION, .name = "odd", .step = step};
APH_MODEL(model)
END
start "$dir/odd.c" --delay 0
same "$(ask '"twice"' '"nothing"')" $'1\n2'
same "$(ask '"lucky"')" '"lucky"'
exec 4<>/dev/tcp/127.0.0.1/"$port"
printf '"with"\n' >&4
sleep 0.2
same "$(ask '"me"' | head -n 1 & sleep 0.3; timeout 10 head -n 1 <&4)" '"me"'
printf '"blocked"\n' >&4
sleep 0.2
same "$(ask '"free"')" '"done"'
same "$(timeout 10 head -n 1 <&4)" '"free"'
exec 4>&-
stop
err 'waits until the state changes'

# Models that are wrong end the server, each with its exit code.
wrong() {
    cat >"$dir/wrong.c" <<END
#include <antiphon/model.h>
#include <stdlib.h>
static const aph_codec three = APH_CODEC_FIXED(3);
static volatile long zero;
static void step(aph *m, aph_value *state)
{
    (void)state, (void)zero, (void)three;
    aph_request q = aph_recv(m);
    $2
}
static const aph_model model = {.version = APH_MODEL_VERSION, .name = "wrong", .step = step, ${3-}};
APH_MODEL(model)
END
    start "$dir/wrong.c" --delay 0
    exec 3<>/dev/tcp/127.0.0.1/"$port"
    printf '"abc"\n' >&3
    ended "$1"
    exec 3>&-
}
wrong 38 '*(volatile int *)zero = 1; aph_send(m, q.from, q.message);'
err 'model wrong: a bad memory access (SIGSEGV)'
wrong 38 'if (!zero) exit(0); aph_send(m, q.from, q.message);'
wrong 39 'for (volatile long i = 0;; i++) ; aph_send(m, q.from, q.message);'
err 'a step does not end'
wrong 44 'aph_send(m, q.from, aph_str("four"));' '.codec = &three'
err 'no message of its codec, fixed: "four"'

# A step that does not end does not hold up an interrupt.
cat >"$dir/loops.c" <<'END'
#include <antiphon/model.h>
static void step(aph *m, aph_value *state)
{
    (void)state;
    aph_recv(m);
    for (volatile long i = 0;; i++)
        ;
}
static const aph_model model = {.version = APH_MODEL_VERSION, .name = "loops", .step = step};
APH_MODEL(model)
END
start "$dir/loops.c" --delay 0
exec 3<>/dev/tcp/127.0.0.1/"$port"
printf '1\n' >&3
sleep 0.5
begin=$SECONDS
stop
check 'it ends at once' [ $((SECONDS - begin)) -le 2 ]
exec 3>&-

# A client that sends and does not read is not read either, and others go on; when it leaves, all is well.
start kv --delay 0
value=$(printf '%01000d' 0)
exec 4<>/dev/tcp/127.0.0.1/"$port"
printf '{"f":"put","key":"big","value":"%s"}\n' "$value" >&4
(yes '{"f":"get","key":"big"}' | timeout 2 head -c 50000000 >&4) 2>/dev/null
same "$(ask '{"f":"get","key":"big"}')" "\"$value\""
resident=$(awk '/VmRSS/ { print $2 }' /proc/$server/status)
if ! sanitized; then check "it holds $resident kB" [ "$resident" -lt 60000 ]; fi
exec 4>&-
same "$(ask '{"f":"get","key":"big"}')" "\"$value\""
stop

# Datagrams.
start swap --env udp --loss 0 --duplicate 0 --seed 1
exec 3<>/dev/udp/127.0.0.1/"$port"
printf abc >&3
same "$(timeout 10 dd bs=100 count=1 <&3 2>/dev/null)" 000
printf abcd >&3
printf def >&3
same "$(timeout 10 dd bs=100 count=1 <&3 2>/dev/null)" abc
exec 3>&-
err '1 bytes follow the message'
stop
start swap --env udp --loss 100
exec 3<>/dev/udp/127.0.0.1/"$port"
printf abc >&3
same "$(timeout 1 dd bs=100 count=1 <&3 2>/dev/null)" ''
exec 3>&-
stop

# Standard output that cannot be written.
told='serve kv >/dev/full'
"$ANTIPHON" serve kv >/dev/full 2>"$dir/err"
same $? 4

finish
