#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# fault_injection.sh - antiphon fault: each kind changes exactly the described bytes and forwards all others unchanged.
#
# The same bytes are sent to a server that returns the received request, directly and through the fault proxy; the responses
# must differ in exactly the injected fault.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"

find_python
echo_server="$python -S $ANTIPHON_ROOT/tests/support/http_echo_server.py"
client="$python -S $ANTIPHON_ROOT/tests/support/tcp_client.py"
proxy=

# start ARGUMENT...: starts antiphon fault on a free port and sets $port.
start() {
    title="fault $*"
    : >"$dir/out"
    "$ANTIPHON" fault "$@" >"$dir/out" 2>"$dir/err" </dev/null &
    proxy=$!
    wait_listening $proxy
}

# ended CODE: waits until the proxy exits with that code.
ended() {
    wait $proxy
    code=$?
    if [ $code -ne "$1" ]; then fail "exit code $code, not $1"; fi
}

stop() {
    kill -TERM $proxy
    ended 0
}

same() {
    if [ "$1" != "$2" ]; then
        fail 'unexpected output:'
        diff <(printf '%s\n' "$2" | cat -A) <(printf '%s\n' "$1" | cat -A) | head -20
    fi
}

# A proxy without faults, which starts and stops the server itself.
start --run "$echo_server {port}" --break nothing
behind=$proxy
direct=$port
trap 'kill $behind 2>/dev/null; wait $behind; rm -rf "$dir"' EXIT

# request LINE...: prints the lines and an empty line, each with CRLF.
request() { printf '%s\r\n' "$@" ''; }

# breaks KIND EXPRESSION [OPTION]...: expects that the responses to $dir/requests are the direct ones, edited by sed with
# the expression.
# $mask hides dates and other parts that differ between runs.
breaks() {
    local kind=$1 edit=$2
    shift 2
    $client "$direct" <"$dir/requests" | sed -z -E "$edit;$mask" >"$dir/expected"
    start --target "127.0.0.1:$direct" --break "$kind" --seed 5 "$@"
    $client "$port" <"$dir/requests" | sed -z -E "$mask" >"$dir/got"
    stop
    if ! cmp -s "$dir/expected" "$dir/got"; then
        fail 'the responses do not differ in exactly the fault'
        diff <(cat -A "$dir/expected") <(cat -A "$dir/got") | head -20
    fi
    check 'the faults are not counted' grep -qE '[1-9][0-9]* candidates? for the fault, [1-9][0-9]* injected$' "$dir/out"
}
dates='s/Date: [^\r]*GMT/Date: NOW/g'
mask=$dates

# ---- requests --------------------------------------------------------------------------------------------------------

# Requests that each kind affects, and others, pipelined.
{
    request 'GET /a HTTP/1.1' 'Host: h' 'If-None-Match: "x", W/"y" , "z"'
    request 'PUT /b?q=1 HTTP/1.1' 'Host: h' 'if-match:W/"x",  "y", W/"z"' 'Content-Length: 5'
    printf hello
    request 'POST /c HTTP/1.1' 'Host: h' 'Transfer-Encoding: chunked' 'X-Last: 1'
    printf '3;a=b\r\nabc\r\n1\r\nd\r\n0\r\nT: v\r\n\r\n'
    request 'HEAD /d HTTP/1.1' 'Host: h'
    request 'DELETE /e HTTP/1.1' 'Host: h' 'If-None-Match: W/"y"'
    request 'GET /f HTTP/1.1' 'Host: h' 'If-Match: *'
} >"$dir/requests"

# The responses contain the requests, so their lengths also change.
mask="$dates;"'s/Content-Length: [0-9]+\r\n\r\n(GET|PUT|POST|DELETE)/Content-Length: N\r\n\r\n\1/g'

empty='HTTP\/1.1 200 OK\r\nDate: NOW\r\nContent-Length: 0\r\n\r\n'
none='HTTP\/1.1 204 No Content\r\nDate: NOW\r\n\r\n'
answer='HTTP\/1.1 200 Mirror\r\nETag: "e"\r\nContent-Length: [0-9]+\r\n\r\n'

breaks put-as-get 's/PUT (\/b[^\n]*\n[^\n]*\n[^\n]*\n)Content-Length: 5\r\n\r\nhello/GET \1\r\n/'
breaks wrong-path 's/PUT \/b/PUT \/b-other/;s/POST \/c/POST \/c-other/;s/DELETE \/e/DELETE \/e-other/'
breaks drop-if-match 's/(I|i)f-(m|M)atch:[^\n]*\n//g'
breaks drop-field:X-LAST 's/X-Last: 1\r\n//'
breaks weaken-if-match 's/W\/"x",  "y", W\/"z"/"x",  "y", "z"/'
breaks strip-weak-if-none-match 's/"x", W\/"y" , "z"/"x", "z"/;s/If-None-Match: W\/"y"\r\n//'
breaks first-tag 's/"x", W\/"y" , "z"/"x"/;s/W\/"x",  "y", W\/"z"/W\/"x"/'
breaks skip-write:DELETE "s/${answer}DELETE[^\v]*W\/\"y\"\r\n\r\n/$none/"
breaks drop-request-body 's/Content-Length: 5\r\n\r\nhello/Content-Length: 0\r\n\r\n/
    s/Transfer-Encoding: chunked\r\nX-Last: 1\r\n\r\n3;a=b\r\nabc\r\n1\r\nd\r\n0\r\nT: v\r\n\r\n/X-Last: 1\r\nContent-Length: 0\r\n\r\n/'
breaks drop-byte:request 's/Content-Length: 5\r\n\r\nhello/Content-Length: 4\r\n\r\nello/;s/3;a=b\r\nabc/2;a=b\r\nbc/'
# The added letter is random.
plain=$mask
mask+=';s/hello[a-z]/helloL/;s/\r\n1\r\n[a-z](\r\n0)/\r\n1\r\nL\1/'
breaks add-byte:request 's/Content-Length: 5\r\n\r\nhello/Content-Length: 6\r\n\r\nhelloL/;s/d\r\n0\r\nT/d\r\n1\r\nL\r\n0\r\nT/'
mask=$plain

# One bit of one tag in each request with a condition.
$client "$direct" <"$dir/requests" >"$dir/expected"
start --target "127.0.0.1:$direct" --break flip-tag-bit --seed 5
$client "$port" <"$dir/requests" >"$dir/got"
stop
check 'not exactly one flipped bit in a tag of each request' "$python" -S - "$dir/expected" "$dir/got" <<'END'
import re, sys
a, b = (open(name, 'rb').read() for name in sys.argv[1:])
assert len(a) == len(b)
at = [i for i in range(len(a)) if a[i] != b[i]]
assert len(at) == 3, at
assert all(bin(a[i] ^ b[i]).count('1') == 1 for i in at)
tags = [range(*m.span(1)) for m in re.finditer(rb'(?<=")(\w)(?=")', a)]
assert all(any(i in tag for tag in tags) and a[i:i + 1] in b'xyz' for i in at)
END

# The proxy itself responds, in order with the server's responses.
breaks early-return "s/$answer(GET|PUT|POST|DELETE)[^\v]*/$empty/;s/^/$empty$empty$empty$empty$empty/"
breaks skip-write "s/${answer}PUT[^\v]*hello/$none/;s/${answer}POST[^\v]*T: v\r\n\r\n/$none/
    s/${answer}DELETE[^\v]*W\/\"y\"\r\n\r\n/$none/"

# The server receives the request; the client receives neither its response nor later ones.
breaks empty-output 's/^(.*)HTTP\/1.1 200 Mirror\r\nETag: "e"\r\nContent-Length: [^\v]*POST[^\v]*$/\1/' --every 3
same "$(grep -c Mirror "$dir/got")" 2

# ---- responses -------------------------------------------------------------------------------------------------------

mask=$dates
{
    for status in 200 412 304 404 204 200; do request "GET /status/$status HTTP/1.1" 'Host: h'; done
    request 'GET /chunked HTTP/1.1' 'Host: h'
    request 'GET /ones HTTP/1.1' 'Host: h'
    request 'HEAD /status/412 HTTP/1.1' 'Host: h'
    request 'HEAD /status/304 HTTP/1.1' 'Host: h'
    request 'GET /until-end HTTP/1.1' 'Host: h'
} >"$dir/requests"

breaks 412-as-204 's/412 Mirror\r\nETag: "e"\r\nContent-Length: 11\r\n\r\n(status 412\n)?/204 No Content\r\nETag: "e"\r\n\r\n/g'
breaks 200-as-412 's/200 Mirror/412 Precondition Failed/g'
breaks 304-as-200 's/304 Mirror\r\nETag: "e"\r\n/200 OK\r\nETag: "e"\r\nContent-Length: 0\r\n/
    s/304 Mirror/200 OK/' # the second response is to a HEAD request
breaks 404-as-200 's/404 Mirror/200 OK/'
breaks 204-as-507 's/204 Mirror\r\nETag: "e"\r\n/507 \r\nETag: "e"\r\nContent-Length: 0\r\n/'
breaks wrong-field-name 's/ETag/XTag/g'
breaks wrong-field-name:etag 's/ETag/XTag/g'
breaks drop-answer-field:etag 's/ETag: "e"\r\n//g'
breaks drop-response-body 's/Content-Length: 11\r\n\r\nstatus ...\n/Content-Length: 0\r\n\r\n/g
    s/Transfer-Encoding: chunked\r\n\r\n5.*T: v\r\n/Content-Length: 0\r\n/
    s/Transfer-Encoding: chunked\r\n\r\n1.*b\r\n0\r\n/Content-Length: 0\r\n/
    s/\r\n\r\nto the end/\r\nContent-Length: 0\r\n\r\n/'
breaks drop-byte 's/Content-Length: 11\r\n\r\nstatus/Content-Length: 10\r\n\r\ntatus/g;s/5\r\nhello/4\r\nello/
    s/1\r\na\r\n//;s/to the end/o the end/'
mask+=';s/(status ...\n|to the end)[a-z]/\1L/g;s/(\r\n1\r\n)[a-z](\r\n0)/\1L\2/g'
breaks add-byte 's/Content-Length: 11(\r\n\r\nstatus ...\n)/Content-Length: 12\1L/g;s/\r\n0\r\n/\r\n1\r\nL\r\n0\r\n/g;s/to the end/&L/'
mask=$dates

# Every third affected message is changed, not every third message.
breaks 200-as-412 's/200 Mirror/412 Precondition Failed/3' --every 3
out '5 candidates for the fault, 1 injected'
# The seed determines random choices.
letters() {
    start --target "127.0.0.1:$direct" --break add-byte --seed "$1"
    $client "$port" <"$dir/requests"
    stop
}
letters 1 >"$dir/first"
letters 1 >"$dir/second"
letters 2 >"$dir/third"
check 'the same seed gives other output' cmp "$dir/first" "$dir/second"
check 'another seed gives the same output' test "$(cat "$dir/first")" != "$(cat "$dir/third")"

# Two waiting clients get each other's response; a single client gets its own.
start --target "127.0.0.1:$direct" --break wrong-client
request 'GET /pair/a HTTP/1.1' 'Host: h' | $client "$port" >"$dir/a" &
first=$!
request 'GET /pair/b HTTP/1.1' 'Host: h' | $client "$port" >"$dir/b"
wait $first
same "$(tail -n 1 "$dir/a") $(tail -n 1 "$dir/b")" '/pair/b /pair/a'
request 'GET /status/404 HTTP/1.1' 'Host: h' | $client "$port" >"$dir/a"
same "$(tail -n 1 "$dir/a")" 'status 404'
stop
out '1 candidate for the fault, 1 injected'

# through KIND REQUEST-LINE...: writes the responses to these pipelined requests to $dir/got.
through() {
    start --target "127.0.0.1:$direct" --break "$1"
    shift
    for line; do request "$line" 'Host: h'; done | $client "$port" >"$dir/got"
    stop
}
# The response to HEAD has a body.
through head-as-get 'HEAD /status/404 HTTP/1.1' 'GET /status/200 HTTP/1.1'
same "$(grep -a '^status' "$dir/got")" $'status 404\nstatus 200'
out '1 candidate for the fault, 1 injected'
# The second response overtakes the first, and the fourth overtakes the third; the last keeps its position.
through wrong-order 'GET /status/201 HTTP/1.1' 'GET /status/202 HTTP/1.1' 'GET /status/203 HTTP/1.1' \
    'GET /status/404 HTTP/1.1' 'GET /status/405 HTTP/1.1'
same "$(grep -a '^status' "$dir/got" | tr -dc '0-9 \n')" $' 202\n 201\n 404\n 203\n 405'
# Each target keeps its first tag.
through stale-tag 'GET /counted/a HTTP/1.1' 'GET /counted/b HTTP/1.1' 'GET /counted/a HTTP/1.1' 'GET /counted/b HTTP/1.1'
tags=$(sed -n 's/^ETag: "\([0-9]*\)".*/\1/p' "$dir/got" | tr '\n' ' ')
same "$tags" "$(echo "$tags" | awk '{ print $1, $2, $1, $2, "" }')"
check 'not two tags' [ "$(echo "$tags" | tr ' ' '\n' | sort -u | grep -c .)" -eq 2 ]
out '2 candidates for the fault, 2 injected'

# ---- bytes -----------------------------------------------------------------------------------------------------------

request 'GET /status/200 HTTP/1.1' 'Host: h' >"$dir/requests"
$client "$direct" <"$dir/requests" >"$dir/expected"
# bytes KIND [SECONDS]: writes the response to $dir/got. SECONDS is the time limit for its end.
bytes() {
    start --target "127.0.0.1:$direct" --break "$1" --seed 5
    $client "$port" "${2:-$hang_s}" <"$dir/requests" >"$dir/got"
    stop
    check 'the faults are not counted' grep -qE '[1-9][0-9]* candidates? for the fault, [1-9][0-9]* injected$' "$dir/out"
}
begin=$(date +%s%3N)
bytes delay:300
check 'the response is not delayed' [ $(($(date +%s%3N) - begin)) -ge 300 ]
check 'the response is incomplete' cmp "$dir/expected" "$dir/got"
bytes one-byte
check 'the response is incomplete' cmp "$dir/expected" "$dir/got"
bytes reset
same "$(cat "$dir/got")" '(reset)'
bytes half-close
same "$(cat "$dir/got")" ''
bytes silence 0.5
same "$(cat "$dir/got")" '(silence)'
bytes garbage
same "$(wc -c <"$dir/got")" "$(wc -c <"$dir/expected")"
if cmp -s "$dir/got" "$dir/expected"; then fail 'the response is unchanged'; fi
# Data sent after a half-close still arrives.
start --target "127.0.0.1:$direct" --break half-close
check 'a client cannot send after a half-close' "$python" -S - "$port" <<'END'
import socket, sys
with socket.create_connection(("127.0.0.1", int(sys.argv[1]))) as s:
    s.settimeout(200)
    s.sendall(b"GET /status/200 HTTP/1.1\r\n\r\n")
    assert s.recv(100) == b""
    for i in range(10):
        s.sendall(b"GET /status/200 HTTP/1.1\r\n\r\n")
END
stop

# ---- unaffected messages ---------------------------------------------------------------------------------------------

# Large bodies in both directions, chunks of all sizes, a thousand pipelined requests, bare line feeds, bytes that are not
# HTTP.
"$python" -S - >"$dir/requests" <<'END'
import random, sys
out, r = sys.stdout.buffer, random.Random(1)
def chunked(n):
    while n:
        size = min(n, r.choice([1, 2, 15, 16, 1000, 100000]))
        yield b"%X\r\n" % size + r.randbytes(size) + b"\r\n"
        n -= size
    yield b"0\r\nTrailer: x\r\n\r\n"
for i in range(1000):
    out.write(b"GET /%d HTTP/1.1\r\nHost: h\r\nLong: %s\r\n\r\n" % (i, b"v" * r.randrange(200)))
out.write(b"PUT /big HTTP/1.1\r\nContent-Length: 5000000\r\n\r\n" + r.randbytes(5000000))
out.write(b"PUT /chunks HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n" + b"".join(chunked(3000000)))
out.write(b"GET /bare HTTP/1.1\nHost: h\n\nGET /folded HTTP/1.1\r\nA: b\r\n  c\r\n\r\n\r\n\r\nGET /after-blank HTTP/1.1\r\n\r\n")
out.write(b"PUT /expects HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\nabc")
out.write(b"GET /long HTTP/1.1\r\nLong: " + b"v" * 100000 + b"\r\n\r\nno HTTP at all\r\n\r\n")
END
$client "$direct" <"$dir/requests" >"$dir/expected"
check 'the responses are too small' [ "$(wc -c <"$dir/expected")" -gt 8000000 ]
check 'the last request has no response' test "$(tail -c 18 "$dir/expected")" = $'no HTTP at all\r\n\r'
for kind in 599-as-598 drop-field:no-such-field nothing; do
    start --target "127.0.0.1:$direct" --break $kind
    $client "$port" <"$dir/requests" >"$dir/got"
    stop
    check "$kind changes bytes" cmp "$dir/expected" "$dir/got"
done

# The proxy stops reading from clients that do not read; it serves others.
start --target "127.0.0.1:$direct" --break 599-as-598
check 'the proxy buffers too much for clients that do not read' "$python" -S - "$port" $proxy "$(sanitized && echo 400000 || echo 20000)" <<'END'
import re, socket, sys
clients = []
for i in range(10):
    s = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
    s.settimeout(0.2)
    clients.append(s)
    try:
        for _ in range(2000):
            s.sendall(b"PUT /x HTTP/1.1\r\nContent-Length: 50000\r\n\r\n" + b"x" * 50000)
        sys.exit("everything was accepted")
    except TimeoutError:
        pass
resident = int(re.search(r"VmRSS:\s*(\d+)", open(f"/proc/{sys.argv[2]}/status").read())[1])
assert resident < int(sys.argv[3]), resident
END
request 'GET /status/404 HTTP/1.1' | $client "$port" >"$dir/got"
same "$(tail -n 1 "$dir/got")" 'status 404'
# Hundreds of connections; each is closed after its client has left.
check 'not all of hundreds of connections are served and closed' "$python" -S - "$port" $proxy <<'END'
import os, socket, sys, time
clients = [socket.create_connection(("127.0.0.1", int(sys.argv[1]))) for _ in range(300)]
for s in clients:
    s.sendall(b"GET /status/200 HTTP/1.1\r\n\r\n")
for s in clients:
    s.settimeout(200)
    assert s.recv(1000).endswith(b"status 200\n")
    s.close()
until = time.monotonic() + 200
while len(os.listdir(f"/proc/{sys.argv[2]}/fd")) > 12:
    assert time.monotonic() < until, "connections are left"
    time.sleep(0.02)
END
stop

# ---- the target ------------------------------------------------------------------------------------------------------

# If no server listens at the target, a client gets a reset, and the proxy prints the reason.
start --target 127.0.0.1:1 --break nothing
same "$(request 'GET / HTTP/1.1' | $client "$port")" '(reset)'
stop
err 'cannot connect to the target: Connection refused'

# The proxy ends with its target, even with open connections, and prints how the target exited.
start --run "$python -S -c 'import socket, sys
s = socket.create_server((\"127.0.0.1\", {port})).accept()[0]
s.recv(1); s.sendall(b\"bye\"); print(\"last words\"); sys.exit(3)'" --break nothing
same "$(printf x | $client "$port")" bye
ended 9
err 'the server exited with status 3'
err 'last words'

# No process is left after SIGTERM, after SIGKILL, or if the proxy is the subject of a test that is killed.
process_of() { pgrep -f "[h]ttp_echo_server.py [0-9]* $1$$"; }
ends() {
    if ! wait_until has_ended "$1"; then
        fail "the target, process $1, is still running"
        kill -9 "$1"
    fi
}
start --run "$echo_server {target} ended$$" --break nothing
target=$(process_of ended) || fail 'the target does not run'
stop
ends "$target"
start --run "$echo_server {port} killed$$" --break nothing
target=$(process_of killed) || fail 'the target does not run'
kill -KILL $proxy
wait $proxy 2>/dev/null
ends "$target"

# find_target: finds the process of the swap server behind a proxy that a test has started.
ln -s "$ANTIPHON_SUBJECTS/swap" "$dir/sw$$"
find_target() { wait_until pgrep -x "sw$$"; }
title='test, killed, of a subject behind fault'
"$ANTIPHON" test swap --time 0 --connections 1 --folder "$dir/killed" --run \
    "$ANTIPHON fault --listen {port} --break nothing --run '$dir/sw$$ {target}'" >"$dir/out" 2>"$dir/err" </dev/null &
tester=$!
target=$(find_target | head -n 1)
check 'the target does not run' test -n "$target"
kill -KILL $tester
wait $tester 2>/dev/null
ends "$target"
for target in $(pgrep -x "sw$$"); do ends "$target"; done

# The proxy as the subject of a test: a missing response, bytes that are not a message, and no fault.
swap="$ANTIPHON fault --listen {port} --run '$ANTIPHON_SUBJECTS/swap {target}'"
mkdir "$dir/folder"
run 0 test swap --run "$swap --break nothing" --folder "$dir/folder" --messages 500 --seed 1
run 8 test swap --run "$swap --break silence --every 20" --folder "$dir/folder" --messages 500 --seed 1 --no-shrink
run 9 test swap --run "$swap --break reset --every 20" --folder "$dir/folder" --messages 500 --seed 1 --no-shrink
run 1 test swap --run "$swap --break garbage --every 20 --seed 1" --folder "$dir/folder" --messages 500 --seed 1 --no-shrink
run 0 test swap --run "$swap --break one-byte" --folder "$dir/folder" --messages 500 --seed 1
run 0 test swap --run "$swap --break delay:5ms --every 10" --folder "$dir/folder" --messages 500 --seed 1

# ---- command lines ---------------------------------------------------------------------------------------------------

run 0 fault --list
for kind in put-as-get early-return 412-as-204 200-as-412 304-as-200 404-as-200 drop-if-match weaken-if-match \
    strip-weak-if-none-match flip-tag-bit first-tag head-as-get wrong-order stale-tag add-byte drop-byte wrong-path skip-write \
    empty-output drop-request-body drop-response-body wrong-field-name drop-answer-field wrong-client delay reset half-close one-byte garbage silence; do
    check "$kind is not listed" grep -q "^$kind  *[A-Za-z]" "$dir/out"
done
run 0 fault --help
out 'usage: antiphon fault'
run 2 fault
err 'no server; give'
run 2 fault --target 127.0.0.1:1
err 'no fault; give --break'
run 2 fault --target 127.0.0.1:1 --run 'x {port}' --break reset
err 'only one of them'
run 2 fault --target 127.0.0.1:1 --break nonsense
err 'unknown kind; antiphon fault --list'
for wrong in delay delay: delay:x delay:0 delay:5x delay:-5 reset:1 drop-field drop-field: drop-field:a,b add-byte:x 100-as-200 \
    skip-write: skip-write:GET first-tag:x 200-as-200 200-as-600 2000-as-20 drop-field:content-length ''; do
    run 2 fault --target 127.0.0.1:1 --break "$wrong"
    err "--break $wrong"
done
run 2 fault --target 127.0.0.1:1 --break reset --every 0
run 2 fault --target 127.0.0.1:1 --break reset --every x
run 2 fault --target 127.0.0.1:1 --break reset --seed x
run 2 fault --target 127.0.0.1:1 --break reset --listen 65536
run 2 fault --target 127.0.0.1:1 --break reset --output x
run 2 fault --target 127.0.0.1:1 --break reset extra
run 2 fault --nonsense
run 2 fault --break
run 2 fault --target nonsense --break reset
err 'nonsense: not HOST:PORT'
run 51 fault --run 'exit 3' --break reset
err 'no {port} in the command'
run 51 fault --run 'exit 3; # {port}' --break reset
err 'exited with status 3'
run 53 fault --target 127.0.0.1:1 --break reset --listen "$direct"
err "127.0.0.1:$direct: cannot listen"
title='fault >/dev/full'
"$ANTIPHON" fault --target 127.0.0.1:1 --break reset >/dev/full 2>"$dir/err"
same $? 4

finish
