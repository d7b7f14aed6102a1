#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# connection_servers.sh - the servers of examples/connections pass, each faulty variant is rejected, opens and closes are
# shrunk; faults of preambles and of models with connections have clear messages.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"

find_python
examples=$ANTIPHON_ROOT/examples/connections
servers="$python -S $examples/servers.py"
folder=$dir/folder

# live CODE SERVER FAULT OPTION...: tests a server of the examples.
live() {
    local expected=$1 server=$2 fault=$3
    shift 3
    rm -rf "$folder"
    run "$expected" test "$examples/$server.c" --run "$servers $server {port} $fault" --folder "$folder" "$@"
}

# ---- right and faulty servers ----------------------------------------------------------------------------------------

for server in greeter limit chat login session; do
    live 0 $server '' --seed 1 --messages 600
    check 'the ends of connections are not counted' grep -qE \
        '^[1-9][0-9]* connections: [0-9]+ half-closed, [0-9]+ closed and [0-9]+ aborted by the tester, [0-9]+ closed and [0-9]+ reset by the subject$' \
        "$dir/out"
    for fault in $($servers $server); do
        rm -rf "$folder"
        title="test $server, $fault"
        "$ANTIPHON" test "$examples/$server.c" --run "$servers $server {port} $fault" --folder "$folder" --time 100 --patience 2 \
            --seed 1 --no-shrink >"$dir/out" 2>"$dir/err"
        code=$?
        # Where the server lacks a message that is due, the verdict is starved (8) or, if another one follows, fail (1).
        if [ $code -ne 1 ] && [ $code -ne 8 ]; then fail "exit code $code, not 1 or 8"; fi
    done
done

live 0 greeter '' --seed 1 --messages 600 --json
# The counts are those of the traces of all runs; the last trace has its share of them.
check 'wrong counts of connections' "$python" -S - "$dir/out" <<'END'
import json, sys
counts = json.load(open(sys.argv[1]))['connections']
assert list(counts) and counts['opened'] > 0, counts
assert counts['closed_by_server'] + counts['reset_by_server'] + counts['closed'] + counts['aborted'] <= counts['opened'], counts
assert all(counts[end] > 0 for end in ('half_closed', 'closed', 'aborted', 'closed_by_server')), counts
END

# ---- shrinking, and the script -----------------------------------------------------------------------------------------

live 1 greeter omits-bye --seed 2
out 'shrunk to 1 request'
out 'opens'
script=$(find "$folder" -name '*.script')
run 1 replay "$script" "$examples/greeter.c" --run "$servers greeter {port} omits-bye"
trace=$(find "$folder" -name '*.trace' | head -1)
run 1 check "$examples/greeter.c" "$trace"

# ---- traces ------------------------------------------------------------------------------------------------------------

# judge CODE MODEL LINE...: checks a trace.
judge() {
    local expected=$1 model=$2
    shift 2
    printf '%s\n' "$@" >"$dir/trace.jsonl"
    run "$expected" check "$examples/$model.c" "$dir/trace.jsonl"
}

judge 0 greeter '{"conn":1,"open":true}' '{"conn":1,"recv":"hello"}' '{"conn":1,"shut":true}' '{"conn":1,"recv":"bye"}' \
    '{"conn":1,"closed":true}'
judge 0 greeter '{"conn":1,"open":true}' '{"conn":1,"send":"ping"}' '{"conn":1,"recv":"hello"}' '{"conn":1,"abort":true}'
judge 1 greeter '{"conn":1,"open":true}' '{"conn":1,"recv":"hello"}' '{"conn":1,"shut":true}' '{"conn":1,"closed":true}'
# A reset can lose messages, but only after the server has closed.
judge 0 greeter '{"conn":1,"open":true}' '{"conn":1,"send":"quit"}' '{"conn":1,"send":"ping"}' '{"conn":1,"reset":true}'
judge 1 greeter '{"conn":1,"open":true}' '{"conn":1,"send":"ping"}' '{"conn":1,"reset":true}'
# A client that has left is still a member until the server notices; then it is not.
judge 0 limit '{"conn":1,"open":true}' '{"conn":1,"recv":"welcome"}' '{"conn":1,"close":true}' '{"conn":2,"open":true}' \
    '{"conn":2,"recv":"welcome"}' '{"conn":2,"send":"count"}' '{"conn":2,"send":"count"}' '{"conn":2,"recv":2}' '{"conn":2,"recv":1}'
judge 1 limit '{"conn":1,"open":true}' '{"conn":1,"recv":"welcome"}' '{"conn":1,"close":true}' '{"conn":2,"open":true}' \
    '{"conn":2,"recv":"welcome"}' '{"conn":2,"send":"count"}' '{"conn":2,"send":"count"}' '{"conn":2,"recv":1}' '{"conn":2,"recv":2}'
# A connection whose first line is an end was opened before it.
for end in shut close abort; do
    judge 7 greeter "{\"conn\":1,\"$end\":true}"
    judge 0 greeter "{\"conn\":1,\"$end\":true}" '{"conn":2,"send":"ping"}' '{"conn":2,"recv":"hello"}'
    run 0 check --derive "$examples/greeter.c" "$dir/trace.jsonl"
done
judge 1 greeter '{"conn":1,"closed":true}'
judge 1 greeter '{"conn":1,"reset":true}'
# After a silence, the server has noticed it. Another decider agrees, and an explanation is confirmed.
left=('{"conn":1,"open":true}' '{"conn":1,"recv":"welcome"}' '{"conn":1,"abort":true}')
counted=('{"conn":2,"open":true}' '{"conn":2,"recv":"welcome"}' '{"conn":2,"send":"count"}')
for option in --explain --derive; do
    judge 0 limit "${left[@]}" "${counted[@]}" '{"conn":2,"recv":2}'
    run 0 check $option "$examples/limit.c" "$dir/trace.jsonl"
    judge 0 limit "${left[@]}" '{"quiet":true}' "${counted[@]}" '{"conn":2,"recv":1}' '{"quiet":true}'
    run 0 check $option "$examples/limit.c" "$dir/trace.jsonl"
    judge 1 limit "${left[@]}" '{"quiet":true}' "${counted[@]}" '{"conn":2,"recv":2}'
    run 1 check $option "$examples/limit.c" "$dir/trace.jsonl"
    out 'silence'
    judge 1 limit "${left[@]}" "${counted[@]}" '{"quiet":true}' '{"conn":2,"recv":1}'
    run 1 check $option "$examples/limit.c" "$dir/trace.jsonl"
    out 'trace.jsonl:7: no explanation for this silence: every explanation has a pending message'
done
# If a model promises a response for each request, all requests have one.
printf '%s\n' '{"conn":1,"send":{"f":"put","key":"a","value":"x"}}' '{"quiet":true}' '{"conn":1,"recv":"ok"}' >"$dir/trace.jsonl"
for option in --whole --ignore-promises --derive; do
    run 1 check $option kv "$dir/trace.jsonl"
    out 'trace.jsonl:2: no explanation for this silence'
done
run 1 check --json kv "$dir/trace.jsonl"
out '"quiet":true'
printf '%s\n' '{"conn":1,"send":{"f":"put","key":"a","value":"x"}}' '{"conn":1,"recv":"ok"}' '{"quiet":true}' >"$dir/trace.jsonl"
run 0 check --explain kv "$dir/trace.jsonl"
# Nothing may follow an end, and a connection is opened once.
judge 14 greeter '{"conn":1,"open":true}' '{"conn":1,"close":true}' '{"conn":1,"recv":"hello"}'
judge 14 greeter '{"conn":1,"open":true}' '{"conn":1,"open":true}'
err 'opened twice'

# ---- faults of models --------------------------------------------------------------------------------------------------

# model NAME FIELDS STEP: writes a model.
model() {
    printf '%s\n' '#include <antiphon/model.h>' 'static void step(aph *m, aph_value *state)' '{' '    (void)state;' "    $3" '}' \
        "${4-}" 'static const aph_model model = {.version = APH_MODEL_VERSION, .name = "'"$1"'", .summary = "a test",' \
        '    .step = step, .shape = "[\"ping\"]", '"$2"'};' 'APH_MODEL(model)' >"$dir/$1.c"
}

model promises '.connections = true, .rpc = true' 'aph_request q = aph_recv(m); aph_send(m, q.from, q.message);'
run 36 serve "$dir/promises.c" --port 0
err 'a model with .connections cannot use the promises'
model closes '' 'aph_request q = aph_recv(m); aph_close(m, q.from);'
printf '%s\n' '{"conn":1,"send":"ping"}' '{"conn":1,"recv":"x"}' >"$dir/trace.jsonl"
run 42 check "$dir/closes.c" "$dir/trace.jsonl"
err 'the model does not set .connections'
model deaf '.connections = true' 'aph_send(m, 1, aph_str("x"));'
run 38 check "$dir/deaf.c" "$dir/trace.jsonl"
err 'the step never receives'

# ---- resets ------------------------------------------------------------------------------------------------------------

# A server may refuse a connection by a reset if the model may close it at once; the tester does not take it for dead.
cat >"$dir/resets.py" <<'END'
import socket, struct, sys, threading
listener = socket.create_server(('127.0.0.1', int(sys.argv[1])), backlog=128)
def serve(peer):
    try:
        while data := peer.recv(4096): peer.sendall(data)
    except OSError: pass
    peer.close()
number = 0
while True:
    peer, _ = listener.accept()
    number += 1
    if number % 2:
        threading.Thread(target=serve, args=(peer,), daemon=True).start()
    else:
        peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack('ii', 1, 0))
        peer.close()
END
# refuses NAME CONDITION: a model that refuses a connection under the condition and otherwise echoes.
refuses() {
    model "$1" '.connections = true, .codec = &aph_codec_lines' 'aph_request q = aph_recv(m);
    if (q.message == APH_OPENED ? '"$2"' : q.message == APH_CLOSED || q.message == APH_BROKEN) aph_close(m, q.from);
    else if (q.message != APH_OPENED) aph_send(m, q.from, q.message);'
}
refuses sometimes 'aph_either(m, "serves", "refuses")'
refuses never 'false'
rm -rf "$folder"
run 0 test "$dir/sometimes.c" --run "$python -S $dir/resets.py {port}" --folder "$folder" --seed 1 --messages 1000
run 1 test "$dir/never.c" --run "$python -S $dir/resets.py {port}" --folder "$folder" --seed 1 --messages 1000
out 'the model cannot explain the observations'

# ---- requests that the model never receives ----------------------------------------------------------------------------

# A request on a connection that the model has closed is not simplified to one that the model does not know.
cat >"$dir/busy.py" <<'END'
import socket, sys, threading
listener = socket.create_server(('127.0.0.1', int(sys.argv[1])), backlog=128)
def serve(peer):
    try:
        peer.sendall(b'busy\n')
        if peer.recv(4096): peer.sendall(b'again\n')
        while peer.recv(4096): pass
    except OSError: pass
    peer.close()
while True:
    threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()
END
model busy '.connections = true, .codec = &aph_codec_lines, .preamble = preamble' 'aph_request q = aph_recv(m);
    if (q.message == APH_OPENED) { aph_send(m, q.from, aph_str("busy")); aph_close(m, q.from); }
    else if (q.message != APH_CLOSED && q.message != APH_BROKEN && !aph_str_is(q.message, "ping"))
        aph_unknown_request(m, "ping");' \
    'static aph_value preamble(const aph_preamble *p) { return p->step ? APH_NIL : APH_AWAIT; }'
rm -rf "$folder"
run 1 test "$dir/busy.c" --run "$python -S $dir/busy.py {port}" --folder "$folder" --seed 1
out '"again"'
out '"ping"'
no_out '""'

# ---- preambles ---------------------------------------------------------------------------------------------------------

model refused '.connections = true, .preamble = preamble' 'aph_request q = aph_recv(m); if (aph_str_is(q.message, "login")) aph_close(m, q.from);' \
    'static aph_value preamble(const aph_preamble *p) { return p->step ? APH_NIL : aph_str("login"); }'
rm -rf "$folder"
run 9 test "$dir/refused.c" --run "$ANTIPHON serve $dir/refused.c --port {port}" --folder "$folder" --seed 1 --no-shrink
out '32 connections in a row ended before the preamble of the model was complete'
script=$(find "$folder" -name '*.script')
run 9 replay "$script" "$dir/refused.c" --run "$ANTIPHON serve $dir/refused.c --port {port}"
model endless '.preamble = preamble' 'aph_request q = aph_recv(m); aph_send(m, q.from, q.message);' \
    'static aph_value preamble(const aph_preamble *p) { (void)p; return aph_str("login"); }'
rm -rf "$folder"
run 41 test "$dir/endless.c" --run "$ANTIPHON serve $dir/endless.c --port {port}" --folder "$folder" --seed 1 --no-shrink
err 'the preamble of the model has more than 1000 steps'
rm -rf "$folder"
run 38 test "$dir/deaf.c" --run "$servers greeter {port}" --folder "$folder" --seed 1 --no-shrink
err 'model deaf: the step never receives'
model unanswered '.connections = true, .preamble = preamble' 'aph_request q = aph_recv(m); (void)q;' \
    'static aph_value preamble(const aph_preamble *p) { return p->step ? APH_NIL : aph_str("login"); }'
rm -rf "$folder"
run 41 test "$dir/unanswered.c" --run "$ANTIPHON serve $dir/unanswered.c --port {port}" --folder "$folder" --seed 1 --patience 1 --no-shrink
err 'the preamble of the model waits for a message that the model does not send'
# The opening is an action, so that a failure during the preamble is confirmed and shrunk.
begins='static aph_value preamble(const aph_preamble *p) { return p->step ? APH_NIL : aph_str("ping"); }'
echoes='aph_request q = aph_recv(m); if (q.message == APH_CLOSED || q.message == APH_BROKEN) aph_close(m, q.from);
    else if (q.message != APH_OPENED) aph_send(m, q.from, q.message);'
model echo '.connections = true, .preamble = preamble' "$echoes" "$begins"
model silent '.connections = true' 'aph_request q = aph_recv(m); if (q.message == APH_CLOSED || q.message == APH_BROKEN) aph_close(m, q.from);'
model denies '.connections = true' 'aph_request q = aph_recv(m); if (q.message == APH_CLOSED || q.message == APH_BROKEN) aph_close(m, q.from);
    else if (q.message != APH_OPENED) aph_send(m, q.from, aph_str("no"));'
rm -rf "$folder"
run 0 test "$dir/echo.c" --run "$ANTIPHON serve $dir/echo.c --port {port}" --folder "$folder" --seed 1 --messages 500
rm -rf "$folder"
run 8 test "$dir/echo.c" --run "$ANTIPHON serve $dir/silent.c --port {port}" --folder "$folder" --seed 1 --patience 1 --no-shrink
run 8 replay "$(find "$folder" -name '*.script')" "$dir/echo.c" --run "$ANTIPHON serve $dir/silent.c --port {port}" --patience 1
# The request is marked, not the opening of the connection, and the message that is due is named.
out '✗ "ping"'
out 'expected "ping"'
no_out '✗ opens'
no_out 'later message'
rm -rf "$folder"
run 1 test "$dir/echo.c" --run "$ANTIPHON serve $dir/denies.c --port {port}" --folder "$folder" --seed 1
out 'reproduced in 10 of 10 runs'
run 1 replay "$(find "$folder" -name '*.script')" "$dir/echo.c" --run "$ANTIPHON serve $dir/denies.c --port {port}"
# A preamble that waits for a greeting, which the model never sends.
model awaits '.connections = true, .preamble = preamble' "$echoes" \
    'static aph_value preamble(const aph_preamble *p) { return p->step ? APH_NIL : APH_AWAIT; }'
model awaits-rpc '.rpc = true, .preamble = preamble' 'aph_request q = aph_recv(m); aph_send(m, q.from, q.message);' \
    'static aph_value preamble(const aph_preamble *p) { return p->step ? APH_NIL : APH_AWAIT; }'
for name in awaits awaits-rpc; do
    rm -rf "$folder"
    run 41 test "$dir/$name.c" --run "$ANTIPHON serve $dir/$name.c --port {port}" --folder "$folder" --seed 1 --time 2
    err 'the preamble of the model waits for a message that the model does not send'
done

finish
