#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# serve.sh - antiphon serve: responses, invalid clients, invalid models, memory, and exit codes.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"

server=

# start ARGUMENT...: starts antiphon serve on a free port and sets $port.
start() {
    title="serve $*"
    : >"$dir/out"
    "$ANTIPHON" serve "$@" >"$dir/out" 2>"$dir/err" </dev/null &
    server=$!
    wait_listening $server
}

# prints TEXT: waits until the server has printed the text to stderr.
prints() { check "stderr never has: $1" wait_until grep -qF -e "$1" "$dir/err"; }

# ended CODE: waits until the server exits with that code.
ended() {
    wait $server
    code=$?
    if [ $code -ne "$1" ]; then fail "exit code $code, not $1"; fi
}

# stop [SIGNAL]: sends the signal and expects exit code 0.
stop() {
    kill -"${1:-TERM}" $server
    ended 0
}

# exchange TEXT...: sends the lines on one connection and prints one response line for each, or fewer if the server closes.
exchange() {
    exec 3<>/dev/tcp/127.0.0.1/"$port" || return
    printf '%s\n' "$@" >&3
    timeout $hang_s head -n $# <&3
    exec 3>&-
}

same() {
    if [ "$1" != "$2" ]; then fail "got: $1, not: $2"; fi
}

# Responses arrive in order; the state survives the connection.
start kv --seed 7
same "$(exchange '{"f":"put","key":"a","value":"x"}' '{"f":"append","key":"a","value":"y"}' '{"f":"get","key":"a"}')" \
    $'"ok"\n"ok"\n"xy"'
same "$(exchange '{"f":"get","key":"a"}')" '"xy"'
# A request that arrives one byte at a time.
exec 3<>/dev/tcp/127.0.0.1/"$port"
text='{"f":"get","key":"a"}'
for ((i = 0; i < ${#text}; i++)); do printf '%s' "${text:i:1}" >&3; done
printf '\n' >&3
same "$(timeout $hang_s head -n 1 <&3)" '"xy"'
exec 3>&-
# An invalid request closes its connection, after earlier responses; other connections are not affected.
same "$(exchange '{"f":"get","key":"a"}' '{"f":' '{"f":"get","key":"a"}')" '"xy"'
err 'malformed request: byte 5'
same "$(exchange '{"f":"pop"}')" ''
err 'the model does not know this request: unknown "f"'
same "$(exchange '{"f":"get","key":"a"}')" '"xy"'
# A truncated message.
exec 3<>/dev/tcp/127.0.0.1/"$port"
printf '{"f":"get"' >&3
exec 3>&-
prints 'the input ends in the middle of a message'
stop
out 'kv, environment tcp, seed 7'
out 'connections'
check 'the counts differ' grep -q '^7 requests taken, 7 responses sent' "$dir/out"

# SIGINT ends the server. Two servers cannot share a given port.
start kv --port 0
"$ANTIPHON" serve kv --port "$port" >"$dir/out2" 2>"$dir/err2"
same $? 53
grep -q '127.0.0.1:[0-9]*: cannot listen' "$dir/err2" || fail 'no message about a taken port'
# A shell starts background jobs with SIGINT ignored, but the program handles it.
stop INT

# With sequential requests, the same seed gives the same responses, and another seed gives others.
responses() {
    start etag-kv --env sync --seed "$1"
    for i in 1 2 3 4 5 6 7 8; do
        exchange "{\"f\":\"put\",\"key\":\"a\",\"value\":$i}" '{"f":"get","key":"a"}'
    done
    stop
}
responses 1 >"$dir/first"
responses 1 >"$dir/second"
responses 2 >"$dir/third"
check 'the same seed gives other responses' cmp "$dir/first" "$dir/second"
check 'another seed gives the same responses' test "$(cat "$dir/first")" != "$(cat "$dir/third")"

# A request and its response take about twice the mean delay; there are no delays in sync.
start swap --delay 200 --seed 1
begin=$(milliseconds)
exec 3<>/dev/tcp/127.0.0.1/"$port"
printf abcdefghi >&3
same "$(timeout $hang_s head -c 9 <&3)" 000abcdef
exec 3>&-
check 'there were no delays' [ $(($(milliseconds) - begin)) -ge 100 ]
stop

# Mutants, by name and by number.
start swap --mutate echo
exec 3<>/dev/tcp/127.0.0.1/"$port"
printf abcdef >&3
same "$(timeout $hang_s head -c 6 <&3)" abcdef
exec 3>&-
stop
start kv --mutate 2 --env sync
same "$(exchange '{"f":"put","key":"a","value":"x"}' '{"f":"delete","key":"a"}' '{"f":"get","key":"a"}')" $'"ok"\n"ok"\n"x"'
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
err 'not one of tcp, sync, udp, or a file'
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

# Models with several responses, none, two receives in a step, and aph_never.
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
same "$(exchange '"twice"' '"nothing"')" $'1\n2'
same "$(exchange '"lucky"')" '"lucky"'
exec 4<>/dev/tcp/127.0.0.1/"$port"
printf '"with"\n' >&4
# "me" is the first message of a step and gets no response; "with" may arrive later.
exec 5<>/dev/tcp/127.0.0.1/"$port"
answer=
until read -r -t 0.2 answer <&4; do printf '"me"\n' >&5; done
exec 5>&-
same "$answer" '"me"'
printf '"blocked"\n' >&4
prints 'waits until the state changes'
same "$(exchange '"free"')" '"done"'
same "$(timeout $hang_s head -n 1 <&4)" '"free"'
exec 4>&-
stop

# Invalid models end the server, each with its exit code.
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
err 'model wrong: invalid memory access (SIGSEGV)'
wrong 38 'if (!zero) exit(0); aph_send(m, q.from, q.message);'
wrong 39 'for (volatile long i = 0;; i++) ; aph_send(m, q.from, q.message);'
err 'a step does not end'
wrong 44 'aph_send(m, q.from, aph_str("four"));' '.codec = &three'
err 'its codec, fixed, cannot encode: "four": must have 3 bytes, not 4'

# An endless step does not delay a signal; the exit code is 0, not that of a stuck step.
cat >"$dir/loops.c" <<'END'
#include <antiphon/model.h>
#include <stdio.h>
static void step(aph *m, aph_value *state)
{
    (void)state;
    aph_recv(m);
    fprintf(stderr, "the step loops\n");
    for (volatile long i = 0;; i++)
        ;
}
static const aph_model model = {.version = APH_MODEL_VERSION, .name = "loops", .step = step};
APH_MODEL(model)
END
start "$dir/loops.c" --delay 0
exec 3<>/dev/tcp/127.0.0.1/"$port"
printf '1\n' >&3
prints 'the step loops'
stop
exec 3>&-

# The server stops reading from a client that does not read; it serves others, even after that client has left.
start kv --delay 0
value=$(printf '%01000d' 0)
exec 4<>/dev/tcp/127.0.0.1/"$port"
printf '{"f":"put","key":"big","value":"%s"}\n' "$value" >&4
(yes '{"f":"get","key":"big"}' | timeout 2 head -c 50000000 >&4) 2>/dev/null
same "$(exchange '{"f":"get","key":"big"}')" "\"$value\""
resident=$(awk '/VmRSS/ { print $2 }' /proc/$server/status)
if ! sanitized; then check "the server uses $resident kB" [ "$resident" -lt 60000 ]; fi
exec 4>&-
same "$(exchange '{"f":"get","key":"big"}')" "\"$value\""
stop

# Behind a network, too, a model receives nothing from a connection that it has closed.
cat >"$dir/counter.c" <<'END'
#include <antiphon/model.h>
static aph_value zero(const aph_model *m) { (void)m; return aph_int(0); }
static void step(aph *m, aph_value *count)
{
    aph_request q = aph_recv(m);
    if (aph_str_is(q.message, "quit"))
        aph_close(m, q.from);
    else if (aph_str_is(q.message, "get"))
        aph_send(m, q.from, *count);
    else if (aph_str_is(q.message, "add"))
        *count = aph_int(aph_int_of(*count) + 1);
}
static const aph_model counter = {
    .version = APH_MODEL_VERSION, .name = "counter", .step = step, .initial = zero, .connections = true,
};
APH_MODEL(counter)
END
start "$dir/counter.c" --env "$ANTIPHON_ROOT/examples/networks/one-upstream.c" --delay 0
for i in 1 2 3 4 5; do
    exec 3<>/dev/tcp/127.0.0.1/"$port"
    printf '"quit"\n' >&3
    same "$(timeout $hang_s cat <&3)" ''
    same "$(exchange '"get"')" 0 # the network is at rest
    printf '"add"\n' >&3
    same "$(exchange '"get"')" 0
    exec 3>&-
done
stop

# A network that delivers on a connection that does not exist.
cat >"$dir/astray.c" <<'END'
#include <antiphon/network.h>
static void step(aph *m, aph_value *state)
{
    (void)state;
    aph_packet p = aph_absorb(m);
    if (!p.to_server)
        p.connection++;
    aph_emit(m, p);
}
static const aph_network network = {.version = APH_NETWORK_VERSION, .name = "astray", .step = step};
APH_NETWORK(network)
END
# A packet that was absorbed is emitted with any seed.
for seed in 1 2 3 4 5; do
    start kv --env "$dir/astray.c" --delay 0 --seed $seed
    same "$(exchange '{"f":"get","key":"a"}')" ''
    ended 42
    err 'network astray: it delivers a packet on connection 2, which does not exist'
done

# Datagrams.
start swap --env udp --loss 0 --duplicate 0 --seed 1
exec 3<>/dev/udp/127.0.0.1/"$port"
printf abc >&3
same "$(timeout $hang_s dd bs=100 count=1 <&3 2>/dev/null)" 000
printf abcd >&3
printf def >&3
same "$(timeout $hang_s dd bs=100 count=1 <&3 2>/dev/null)" abc
exec 3>&-
err '1 bytes follow the message'
stop
start swap --env udp --loss 100
exec 3<>/dev/udp/127.0.0.1/"$port"
printf abc >&3
same "$(timeout 1 dd bs=100 count=1 <&3 2>/dev/null)" ''
exec 3>&-
stop

# Standard output is not writable.
title='serve kv >/dev/full'
"$ANTIPHON" serve kv >/dev/full 2>"$dir/err"
same $? 4

finish
