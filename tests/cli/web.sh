#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# web.sh - the web server in subjects/: correct responses to curl and to a byte-level client (tests/support/webclient.py),
# also to hostile clients; each mutant gives a wrong response to a short sequence of requests. shellcheck
# source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh" || exit 1
: "${ANTIPHON_SUBJECTS:?names the folder of the subjects}"
web=$ANTIPHON_SUBJECTS/web

find_python
command -v curl >/dev/null || { echo 'this test needs curl'; exit 1; }
server=
trap 'if [ -n "$server" ]; then kill -9 $server; fi; rm -rf "$dir"' EXIT
port=$((20000 + RANDOM % 20000))

# begin PROGRAM: starts the server on the next free port and sets $server and $port.
begin() {
    accepts_or_ended() { has_ended $server || (exec 3<>/dev/tcp/127.0.0.1/$port) 2>/dev/null; }
    for ((port++; ; port++)); do
        "$1" $port >"$dir/out" 2>"$dir/err" &
        server=$!
        wait_until accepts_or_ended
        if ! has_ended $server; then return; fi
    done
}

# end: sends SIGTERM; expects that the server ends without a message.
end() {
    kill -TERM $server
    wait $server
    check "the server exits with $? on SIGTERM" [ $? -eq 0 ]
    quiet_err
    server=
}

client() { "$python" -S "$ANTIPHON_ROOT/tests/support/webclient.py" $port "$@" >"$dir/client" 2>&1; }

# ---- mutants ---------------------------------------------------------------------------------------------------------

mutants=$(sed -n 's|^ */\* mutant \([0-9]*\),.*|\1|p' "$ANTIPHON_ROOT"/subjects/web/*.c | sort -n)
title=web
check "the sources do not mark twenty mutants: $mutants" [ "$(echo "$mutants" | tr '\n' ' ')" = "$(seq 20 | tr '\n' ' ')" ]
for mutant in $mutants; do
    title="web, the sequence of mutant $mutant"
    begin "$web"
    check 'the correct server differs' client mutant "$mutant" right
    if [ -s "$dir/client" ]; then cat "$dir/client"; fi
    end
    title="web-mutant-$(printf %02d "$mutant")"
    begin "$ANTIPHON_SUBJECTS/$title"
    check 'the mutant does not respond as expected' client mutant "$mutant" wrong
    if [ -s "$dir/client" ]; then cat "$dir/client"; fi
    end
done

# ---- the correct server ----------------------------------------------------------------------------------------------

# The memory limit in MB: 256 MiB of contents, received data, and overhead; the address sanitizer needs more.
title='web, byte by byte'
begin "$web"
check 'the correct server is wrong' client right $server "$(if sanitized; then echo 2000; else echo 400; fi)"
grep -v ' s$' "$dir/client"

# ---- curl ------------------------------------------------------------------------------------------------------------

# get CODES ARGUMENT...: requests /curl, and writes the body to $dir/body and the head to $dir/head.
get() {
    local expected=$1 status
    shift
    title="web: curl $*"
    status=$(curl -s --max-time $hang_s -o "$dir/body" -D "$dir/head" -w '%{http_code}' "$@" http://127.0.0.1:$port/curl)
    if ! [[ " $expected " = *" $status "* ]]; then fail "status $status, not $expected"; fi
}

head -c 300000 /dev/urandom >"$dir/data"
get 404
get 201 -T "$dir/data"
get 200
check 'a different body than was written' cmp -s "$dir/data" "$dir/body"
tag=$(sed -n 's/^ETag: \(.*\)\r$/\1/p' "$dir/head")
get 304 -H "If-None-Match: $tag"
get 412 -T - -H 'If-None-Match: *' <"$dir/data"
get 412 -X DELETE -H 'If-Match: "none"'
get 206 -r 1000-1999
check 'the requested part differs' cmp -s <(tail -c +1001 "$dir/data" | head -c 1000) "$dir/body"
get '200 204' -T - -H 'Expect: 100-continue' <"$dir/data"
get 200 --data-binary tail
get 200
check 'a different body than was appended' cmp -s <(cat "$dir/data" <(printf tail)) "$dir/body"
get 200 -I
get 204 -X DELETE
get 404

# ---- the program itself ----------------------------------------------------------------------------------------------

title=web
"$web" $port >"$dir/out2" 2>"$dir/err2"
check 'a taken port has the wrong exit code' [ $? -eq 1 ]
check 'no message about a taken port' grep -q 'web: bind: Address already in use' "$dir/err2"
end
for port in '' 0 70000 80x; do
    # shellcheck disable=SC2086 # no port is no argument
    "$web" $port >"$dir/out" 2>"$dir/err"
    check "the port '$port' is not rejected" [ $? -eq 2 ]
    err 'usage: web PORT'
done

finish
