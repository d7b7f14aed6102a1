#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# subjects.sh - antiphon subject: each known server starts, handles conditional requests and many connections, and leaves
#               neither a process nor a file behind, however it ends.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"

find_python
export no_proxy='*'
unset http_proxy HTTP_PROXY all_proxy ALL_PROXY
chmod 711 "$dir" # as root, Apache runs as another user that needs access
export TMPDIR=$dir/tmp
mkdir "$TMPDIR"
chmod 711 "$TMPDIR"
server=
port=

# start NAME [ARGUMENT...]: starts antiphon subject and sets $port.
start() {
    title="subject $*"
    : >"$dir/out"
    "$ANTIPHON" subject "$@" >"$dir/out" 2>"$dir/err" </dev/null &
    server=$!
    wait_listening $server
}

# ended CODE: waits until the command exits with that code and leaves nothing behind.
ended() {
    wait $server 2>/dev/null
    code=$?
    if [ $code -ne "$1" ]; then fail "exit code $code, not $1"; fi
    # If the command was killed, another process cleans up.
    wait_until nothing_is_left || fail "left behind: $(listens && echo a server) $(ls -A "$TMPDIR")"
}

nothing_is_left() { ! listens && [ -z "$(ls -A "$TMPDIR")" ]; }
listens() { (exec 3<>/dev/tcp/127.0.0.1/"$port") 2>/dev/null; }

# http ARGUMENT... PATH: prints the status, and writes the fields to $dir/fields and the body to $dir/body.
http() {
    local path=${*: -1}
    curl -s -m $hang_s -o "$dir/body" -D "$dir/fields" -w '%{http_code}' "${@:1:$#-1}" "http://127.0.0.1:$port$path"
}

same() {
    if [ "$1" != "$2" ]; then fail "${3-got}: $1, not: $2"; fi
}

field() { sed -n "s/^$1: \(.*\)\r\$/\1/Ip" "$dir/fields"; }

# Writes, reads and conditional reads, which all servers support.
writes_and_reads() {
    local tag
    same "$(http -T - /a <<<one)" 201 'a new document'
    same "$(http /a)" 200 'reading'
    same "$(cat "$dir/body")" one 'the document'
    tag=$(field etag)
    check 'the response has no tag' test -n "$tag"
    check 'the response has no Last-Modified' test -n "$(field last-modified)"
    same "$(http -H "If-None-Match: $tag" /a)" 304 'reading with a matching tag'
    same "$(http -H 'If-None-Match: "other"' /a)" 200 'reading with another tag'
    same "$(http -T - /a <<<three)" 204 'writing again'
    same "$(http /a)" 200 'reading again'
    same "$(cat "$dir/body")" three 'the document'
    same "$(http -I /a)" 200 'HEAD'
    same "$(http -X DELETE /a)" 204 'removing'
    same "$(http /a)" 404 'reading a removed document'
}

# 400 connections, up to 500 sequential requests on one; none may be closed.
cat >"$dir/connections.py" <<'END'
import socket, sys
port = int(sys.argv[1])
request = b"GET /missing HTTP/1.1\r\nHost: h\r\n\r\n"
def read_responses(s, n):
    seen = b""
    while seen.count(b"HTTP/1.1 404") < n:
        more = s.recv(65536)
        if not more:
            sys.exit("a connection was closed")
        seen += more
clients = [socket.create_connection(("127.0.0.1", port), 200) for _ in range(400)]
for s in clients:
    s.sendall(request)
for s in clients:
    read_responses(s, 1)
for _ in range(50):
    clients[0].sendall(request * 10)
    read_responses(clients[0], 10)
for s in clients:
    s.sendall(request)
    read_responses(s, 1)
END

# Servers end after SIGINT and after SIGKILL.
for name in apache nginx lighttpd; do
    start $name --output "$dir/printed"
    writes_and_reads
    check 'many connections are not served' timeout $hang_s "$python" -S "$dir/connections.py" "$port"
    kill -INT $server
    ended 0
    start $name
    same "$(http /a)" 404 'a fresh one'
    kill -KILL $server
    ended 137
    run 0 subject $name --resets 3
    out '3 resets, in ms: median '
done

# Conditional writes, for the servers that support them.
for name in apache lighttpd; do
    start $name
    same "$(http -T - /b <<<one)" 201 'a new document'
    same "$(http -T - -H 'If-None-Match: *' /b <<<two)" 412 'writing a document that exists'
    same "$(http -T - -H 'If-Match: "other"' /b <<<two)" 412 'writing another version'
    same "$(http -X DELETE -H 'If-Match: "other"' /b)" 412 'removing another version'
    same "$(http /b)" 200 'reading'
    same "$(cat "$dir/body")" one 'the document'
    kill -TERM $server
    ended 0
done

# A proxy, with another server as the origin.
start nginx
origin=$server origin_port=$port
start apache-proxy
proxied() { curl -s -m $hang_s -D "$dir/fields" --noproxy '' -x "http://127.0.0.1:$port" "$@"; }
same "$(proxied -o /dev/null -w '%{http_code}' -T - "http://127.0.0.1:$origin_port/c" <<<one)" 201 'writing by proxy'
same "$(proxied "http://127.0.0.1:$origin_port/c")" one 'reading by proxy'
check 'the response has no Via' test -n "$(field via)"
kill -TERM $server
wait $server
same $? 0 'exit code of the proxy'
server=$origin port=$origin_port
kill -TERM $server
ended 0

# A server that exits on its own is reported.
start lighttpd
same "$(http -T - /a <<<one)" 201 'a new document'
for process in $(pgrep -P "$(pgrep -P $server)" lighttpd); do kill -KILL "$process"; done
ended 9
err 'lighttpd was killed by SIGKILL'

# Missing programs and invalid arguments.
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
    err 'cannot enter'
fi
"$ANTIPHON" subject nginx >/dev/full 2>"$dir/err"
same $? 4 'exit code with a full disk'
same "$(ls -A "$TMPDIR")" '' 'left in the temporary folder'

# antiphon test also starts the servers, which are not key-value servers.
run 50 test kv --subject nginx --folder "$dir/kept"
out "antiphon replay --subject 'nginx' $dir/kept/"
script=$(ls "$dir"/kept/*.script)
run 50 replay --subject nginx --folder "$dir/again" "$script"
same "$(ls -A "$TMPDIR")" '' 'left in the temporary folder'
finish
