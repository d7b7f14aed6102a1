#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# subjects.sh - the servers of one word: each starts, can be written and read with conditions, keeps its connections, and
#               leaves neither a process nor a file behind, however it ends.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"

export no_proxy='*'
unset http_proxy HTTP_PROXY all_proxy ALL_PROXY
chmod 711 "$dir" # as root Apache is another user, who must come through
export TMPDIR=$dir/tmp
mkdir "$TMPDIR"
chmod 711 "$TMPDIR"
server=
port=

# start NAME [ARGUMENT...]: antiphon subject; the port is then in $port.
start() {
    told="subject $*"
    : >"$dir/out"
    "$ANTIPHON" subject "$@" >"$dir/out" 2>"$dir/err" </dev/null &
    server=$!
    local i=0
    while ! grep -q '^listening on ' "$dir/out"; do
        i=$((i + 1))
        if [ $i -gt 400 ] || ! kill -0 $server 2>/dev/null; then
            fault 'it does not listen'
            break
        fi
        sleep 0.05
    done
    port=$(sed -n 's/^listening on 127\.0\.0\.1:\([0-9]*\)$/\1/p' "$dir/out")
}

# ended CODE: it has ended, or is about to, with that code, and nothing is left of it.
ended() {
    wait $server 2>/dev/null
    code=$?
    if [ $code -ne "$1" ]; then fault "exit code $code, not $1"; fi
    local i=0
    while listens || [ -n "$(ls -A "$TMPDIR")" ]; do # the guardian of one that was killed needs a moment
        i=$((i + 1))
        if [ $i -gt 100 ]; then
            fault "left behind: $(listens && echo a server) $(ls -A "$TMPDIR")"
            break
        fi
        sleep 0.05
    done
}

listens() { (exec 3<>/dev/tcp/127.0.0.1/"$port") 2>/dev/null; }

# ask ARGUMENT... PATH: the status; the fields are then in $dir/fields, the body in $dir/body.
ask() {
    local path=${*: -1}
    curl -s -m 20 -o "$dir/body" -D "$dir/fields" -w '%{http_code}' "${@:1:$#-1}" "http://127.0.0.1:$port$path"
}

same() {
    if [ "$1" != "$2" ]; then fault "${3-got}: $1, not: $2"; fi
}

field() { sed -n "s/^$1: \(.*\)\r\$/\1/Ip" "$dir/fields"; }

# Writing, reading, conditions on reading: as the RFC has it, and the same for all.
uses() {
    local tag
    same "$(ask -T - /a <<<one)" 201 'a new document'
    same "$(ask /a)" 200 'reading'
    same "$(cat "$dir/body")" one 'the document'
    tag=$(field etag)
    check 'there is a tag' test -n "$tag"
    check 'there is a time' test -n "$(field last-modified)"
    same "$(ask -H "If-None-Match: $tag" /a)" 304 'reading what is known'
    same "$(ask -H 'If-None-Match: "other"' /a)" 200 'reading what is not'
    same "$(ask -T - /a <<<three)" 204 'writing again'
    same "$(ask /a)" 200 'reading again'
    same "$(cat "$dir/body")" three 'the document'
    same "$(ask -I /a)" 200 'HEAD'
    same "$(ask -X DELETE /a)" 204 'removing'
    same "$(ask /a)" 404 'reading what is gone'
}

# Four hundred connections at once, each with five hundred requests behind one another at the most; none may be closed.
cat >"$dir/crowd.py" <<'END'
import socket, sys
port = int(sys.argv[1])
request = b"GET /crowd HTTP/1.1\r\nHost: h\r\n\r\n"
def answers(s, n):
    seen = b""
    while seen.count(b"HTTP/1.1 404") < n:
        more = s.recv(65536)
        if not more:
            sys.exit("a connection was closed")
        seen += more
crowd = [socket.create_connection(("127.0.0.1", port), 20) for _ in range(400)]
for s in crowd:
    s.sendall(request)
for s in crowd:
    answers(s, 1)
for _ in range(50):
    crowd[0].sendall(request * 10)
    answers(crowd[0], 10)
for s in crowd:
    s.sendall(request)
    answers(s, 1)
END

# How each can be ended: asked, and killed.
for name in apache nginx lighttpd; do
    start $name --output "$dir/printed"
    uses
    check 'many connections' timeout 60 python3 "$dir/crowd.py" "$port"
    kill -INT $server
    ended 0
    start $name
    same "$(ask /a)" 404 'a fresh one'
    kill -KILL $server
    ended 137
    run 0 subject $name --resets 3
    out '3 resets, in ms: median '
done

# Writing with conditions, for those that look at them.
for name in apache lighttpd; do
    start $name
    same "$(ask -T - /b <<<one)" 201 'a new document'
    same "$(ask -T - -H 'If-None-Match: *' /b <<<two)" 412 'writing what must not be there'
    same "$(ask -T - -H 'If-Match: "other"' /b <<<two)" 412 'writing another version'
    same "$(ask -X DELETE -H 'If-Match: "other"' /b)" 412 'removing another version'
    same "$(ask /b)" 200 'reading'
    same "$(cat "$dir/body")" one 'the document'
    kill -TERM $server
    ended 0
done

# A proxy, with another server as the origin.
start nginx
origin=$server origin_port=$port
start apache-proxy
proxied() { curl -s -m 20 -D "$dir/fields" --noproxy '' -x "http://127.0.0.1:$port" "$@"; }
same "$(proxied -o /dev/null -w '%{http_code}' -T - "http://127.0.0.1:$origin_port/c" <<<one)" 201 'writing by proxy'
same "$(proxied "http://127.0.0.1:$origin_port/c")" one 'reading by proxy'
check 'it says that it was there' test -n "$(field via)"
kill -TERM $server
wait $server
same $? 0 'exit code of the proxy'
server=$origin port=$origin_port
kill -TERM $server
ended 0

# A server that ends by itself is told.
start lighttpd
same "$(ask -T - /a <<<one)" 201 'a new document'
for process in $(pgrep -P $server lighttpd); do kill -KILL "$process"; done
ended 9
err 'lighttpd was killed by SIGKILL'

# What is not there, and what is not understood.
run 0 subject
for name in apache apache-proxy nginx lighttpd lighttpd-uncached web; do out "$name"; done
run 2 subject iis
err 'iis: unknown subject; known: apache, apache-proxy, nginx, lighttpd, lighttpd-uncached and web'
run 2 subject nginx apache
run 2 subject nginx --resets 0
run 2 subject nginx --resets
run 2 subject --nonsense
mkdir "$dir/nothing"
export ANTIPHON_SERVERS=$dir/nothing
run 51 subject apache
err 'apt-get install apache2-bin'
run 51 subject nginx
err 'apt-get install nginx'
run 51 test kv --subject lighttpd
err 'apt-get install lighttpd'
run 0 subject
out 'not installed: package apache2-bin'
unset ANTIPHON_SERVERS
ANTIPHON_SUBJECTS=$dir/nothing run 51 subject web
err 'web: not built'
run 2 test kv --subject nginx --run 'x {port}'
err 'only one of'
run 2 test kv --subject nonsense
err 'nonsense: unknown subject'
run 51 subject nginx --output /no/such/file
err '/no/such/file'
chmod 700 "$TMPDIR"
if [ "$(id -u)" -eq 0 ]; then
    run 51 subject apache
    err 'may not enter'
fi
"$ANTIPHON" subject nginx >/dev/full 2>"$dir/err"
same $? 4 'exit code with a full disk'
same "$(ls -A "$TMPDIR")" '' 'left in the temporary folder'

# test starts them, too: they are no key-value servers, and say so in a language of their own.
run 50 test kv --subject nginx --time 5 --shrink-time 1 --folder "$dir/kept"
out "antiphon replay --subject 'nginx' $dir/kept/"
script=$(ls "$dir"/kept/*.script)
run 50 replay --subject nginx --folder "$dir/again" "$script"
same "$(ls -A "$TMPDIR")" '' 'left in the temporary folder'
finish
