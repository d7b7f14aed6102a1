#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# web.sh - the web server as a subject: right by curl, and byte by byte (tests/support/webclient.py), hostile
# clients included; and each of its mutants answers one short sequence of requests in its own wrong way.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh" || exit 1
: "${ANTIPHON_SUBJECTS:?names the folder of the subjects}"
web=$ANTIPHON_SUBJECTS/web

find_python
command -v curl >/dev/null || { echo 'this test needs curl'; exit 1; }
server=
trap 'if [ -n "$server" ]; then kill -9 $server; fi; rm -rf "$dir"' EXIT
port=$((20000 + RANDOM % 20000))

# begin PROGRAM: it listens on a free port, the next one that it can have, as $server and $port.
begin() {
    local i
    for ((port++; ; port++)); do
        "$1" $port >"$dir/out" 2>"$dir/err" &
        server=$!
        for ((i = 0; i < 1000; i++)); do
            if ! kill -0 $server 2>/dev/null; then continue 2; fi
            if (exec 3<>/dev/tcp/127.0.0.1/$port) 2>/dev/null; then return; fi
            sleep 0.01
        done
        kill -9 $server
    done
}

# end: it ends when it is told to, and has nothing to complain about.
end() {
    kill -TERM $server
    wait $server
    check "it ends with code $? on SIGTERM" [ $? -eq 0 ]
    quiet_err
    server=
}

client() { "$python" -S "$ANTIPHON_ROOT/tests/support/webclient.py" $port "$@" >"$dir/client" 2>&1; }

# ---- mutants ---------------------------------------------------------------------------------------------------------

mutants=$(sed -n 's|^ */\* mutant \([0-9]*\),.*|\1|p' "$ANTIPHON_ROOT"/subjects/web/*.c | sort -n)
title=web
check "the sources mark twenty mutants: $mutants" [ "$(echo "$mutants" | tr '\n' ' ')" = "$(seq 20 | tr '\n' ' ')" ]
for mutant in $mutants; do
    title="web, the sequence of mutant $mutant"
    begin "$web"
    check 'the right server differs' client mutant "$mutant" right
    if [ -s "$dir/client" ]; then cat "$dir/client"; fi
    end
    title="web-mutant-$(printf %02d "$mutant")"
    begin "$ANTIPHON_SUBJECTS/$title"
    check 'it is not wrong as it should be' client mutant "$mutant" wrong
    if [ -s "$dir/client" ]; then cat "$dir/client"; fi
    end
done

# ---- the right one ---------------------------------------------------------------------------------------------------

# It may have 256 MiB of contents, the pieces that came in one round, and its own; the address sanitizer takes more.
title='web, byte by byte'
begin "$web"
check 'the right server is wrong' client right $server "$(if sanitized; then echo 2000; else echo 400; fi)"
grep -v ' s$' "$dir/client"

# ---- by a client that others wrote -----------------------------------------------------------------------------------

# ask CODES ARGUMENT...: asks for /curl; the body is in $dir/body, the head in $dir/head.
ask() {
    local expected=$1 seen
    shift
    title="web: curl $*"
    seen=$(curl -s --max-time 60 -o "$dir/body" -D "$dir/head" -w '%{http_code}' "$@" http://127.0.0.1:$port/curl)
    if ! [[ " $expected " = *" $seen "* ]]; then fail "status $seen, not $expected"; fi
}

head -c 300000 /dev/urandom >"$dir/data"
ask 404
ask 201 -T "$dir/data"
ask 200
check 'what was written is not what is read' cmp -s "$dir/data" "$dir/body"
tag=$(sed -n 's/^ETag: \(.*\)\r$/\1/p' "$dir/head")
ask 304 -H "If-None-Match: $tag"
ask 412 -T - -H 'If-None-Match: *' <"$dir/data"
ask 412 -X DELETE -H 'If-Match: "none"'
ask 206 -r 1000-1999
check 'a part' cmp -s <(tail -c +1001 "$dir/data" | head -c 1000) "$dir/body"
ask '200 204' -T - -H 'Expect: 100-continue' <"$dir/data"
ask 200 --data-binary tail
ask 200
check 'what was appended is not there' cmp -s <(cat "$dir/data" <(printf tail)) "$dir/body"
ask 200 -I
ask 204 -X DELETE
ask 404

# ---- the program by itself -------------------------------------------------------------------------------------------

title=web
"$web" $port >"$dir/out2" 2>"$dir/err2"
check 'a port that is taken' [ $? -eq 1 ]
check 'a port that is taken, and it does not say so' grep -q 'web: bind: Address already in use' "$dir/err2"
end
for port in '' 0 70000 80x; do
    # shellcheck disable=SC2086 # no port is no argument
    "$web" $port >"$dir/out" 2>"$dir/err"
    check "the port '$port' is not refused" [ $? -eq 2 ]
    err 'usage: web PORT'
done

finish
