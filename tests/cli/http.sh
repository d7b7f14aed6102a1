#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# http.sh - the model http: the web server of subjects/ passes and its mutants fail; Apache, nginx and lighttpd fail for
# known violations and pass if these are waived; the model does not reject itself.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh" || exit 1
: "${ANTIPHON_SUBJECTS:?names the folder of the subjects}"

cd "$dir" || exit 1
run 0 test http --run "'$ANTIPHON' serve http --port {port} --delay 0.2" --messages 3000 --seed 1
run 0 test http --subject web --messages 5000 --connections 20 --seed 1
run 0 check http .antiphon/trace.jsonl

# Correct but unusual servers pass; a server that only responds 503 does not.
find_python
odd="$python -S '$ANTIPHON_ROOT/tests/support/odd_http_server.py' {port}"
run 0 test http --run "$odd odd" --patience 10 --messages 2000 --seed 1
run 0 test http --run "$odd read-only" --patience 10 --messages 1000 --seed 1
run 7 test http --run "$odd busy" --patience 10 --messages 200 --seed 1
out 'never reached "content is read"'

for mutant in "$ANTIPHON_SUBJECTS"/web-mutant-[0-9][0-9]; do
    rm -rf .antiphon
    "$ANTIPHON" test http --run "'$mutant' {port}" "${budgets[@]}" --no-shrink --seed 1 --json >found
    check "$(basename "$mutant") is not rejected" grep -q '"verdict":"\(fail\|malformed\)"' found
done

# A known weak tag matches in If-None-Match, even for a write, so 412 is required.
rm -rf .antiphon
others=(--waive weak-tag-ends-list --waive head-range --waive if-unmodified-since-now --waive if-unmodified-since-beside-if-match
    --waive if-modified-since-beside-if-none-match --waive if-none-match-beside-others --waive if-match-beside-star
    --waive epoch-is-no-date --waive if-unmodified-since-range-ignored)
run 1 test http --subject apache --seed 1 "${others[@]}"
out 'If-None-Match: '
out 'W/"'
out 'expected 412'
rm -rf .antiphon
run 0 test http --subject apache --messages 3000 --seed 1 --waive known --json
out '"if-none-match-strong":"needed"'
run 1 check http .antiphon/trace.jsonl
run 0 check http .antiphon/trace.jsonl --waive if-none-match-strong "${others[@]}"

# A server that writes although the condition is false.
rm -rf .antiphon
run 1 test http --subject nginx --seed 1
out 'expected 412'
out '--waive conditional-writes-ignored would allow it: PUT and DELETE ignore conditions (RFC 9110 13.2.1)'
rm -rf .antiphon
run 0 test http --subject nginx --messages 3000 --seed 1 --waive known --waive if-unmodified-since-now
out 'waiver if-unmodified-since-now: not needed'
no_out 'waiver head-range: not needed'

# If a server is not restarted, its previous state is not a failure, and failures are shrunk.
"$ANTIPHON" subject nginx >out 2>err &
server=$!
wait_listening $server
target=127.0.0.1:$port
known=(--waive conditional-writes-ignored --waive head-range --waive if-unmodified-since-beside-if-match
    --waive if-modified-since-beside-if-none-match --waive last-modified-ahead)
for seed in 1 2 3; do
    rm -rf .antiphon
    run 1 test http --target "$target" --seed $seed --patience 10 "${known[@]}"
    out 'shrunk to 1 request'
    out '405-without-allow would allow it'
    no_out 'this assumes'
    run 0 test http --target "$target" --seed $seed --patience 10 --messages 1000 "${known[@]}" --waive 405-without-allow
done
kill $server
wait $server

# A passing server fails with an injected fault, and the script reproduces the failure.
for server in apache nginx; do
    for kind in skip-write stale-tag head-as-get; do
        rm -rf .antiphon
        title="test http --subject $server --break $kind"
        "$ANTIPHON" test http "${budgets[@]}" --subject $server --break $kind --seed 1 --no-shrink --json >out 2>err
        check 'the faulty server is not rejected' grep -q '"verdict":"\(fail\|malformed\)"' out
        check 'the fault is not in the result' grep -q "\"break\":\"$kind\"" out
    done
    run 0 test http --subject $server --break nothing --messages 600 --pipeline 1 --seed 1
done
rm -rf .antiphon
run 1 test http --subject nginx --break put-as-get --seed 1
out 'broken: put-as-get'
out "antiphon replay --subject 'nginx' --break put-as-get"
run 1 replay --subject nginx --break put-as-get .antiphon/*.script
run 0 replay --subject nginx --break nothing .antiphon/*.script
# --break also applies to --run.
rm -rf .antiphon
run 1 test http --run "'$ANTIPHON_SUBJECTS/web' {port}" --break drop-byte --seed 1 --no-shrink

rm -rf .antiphon
run 1 test http --subject lighttpd --seed 1 --no-shrink
run 0 test http --subject lighttpd-uncached --seed 1 --waive known --patience 10 --messages 5000

# Values that are not requests of this model are rejected, in traces and in scripts.
exchange() { printf '%s\n' "{\"conn\":0,\"send\":{\"method\":\"GET\",\"target\":\"/a\",$1}}" '{"conn":0,"recv":{"status":200,"body":"x"}}'; }
for wrong in '"range":["a","b"]' '"range":[-9223372036854775808,9223372036854775807]' '"range":[2,1]' '"if-match":7' \
    '"if-none-match":[]' '"if-none-match":[{}]' '"if-modified-since":"x"' '"if-unmodified-since":-1' '"if-range":[1]'; do
    exchange "$wrong" >wrong.jsonl
    run 21 check http wrong.jsonl
done
exchange '"if-none-match":[{"opaque":"x","weak":true}]' >right.jsonl
run 0 check http right.jsonl
printf '%s\n' '{"antiphon":1,"script":"http","environment":"tcp","seed":1}' \
    '{"label":1,"conn":0,"send":{"method":"GET","target":"/a","range":["x","y"]}}' >wrong.script
run 43 replay --subject web wrong.script
err 'request 1'

run 2 test http --subject apache-proxy
err 'does not model that; use http-proxy'
run 2 test http-proxy --subject apache
err 'use apache-proxy'
run 2 test http --subject web --waive no-such-thing
err 'no such waiver; antiphon models http lists them'
run 2 test kv --subject web --waive x
err 'kv declares no waivers'
run 2 test http --target 127.0.0.1:1 --break skip-write
err 'use antiphon fault'
run 2 test http --subject web --break nonsense
err 'unknown kind'
run 2 test kv --run 'x {port}' --env udp --break reset
err 'not with --env udp'
run 2 test http --run 'x {port}' --waive known
err '--waive known: only with --subject'
run 2 check http .antiphon/trace.jsonl --waive known
err 'name the waivers one by one'
run 0 models http
out 'if-none-match-strong'
finish
