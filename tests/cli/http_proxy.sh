#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# http_proxy.sh - the model http-proxy: a correct but unusual proxy passes, wrong ones fail. Apache fails for known
# violations, passes if these are waived, and fails with a fault on either side.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"

cd "$dir" || exit 1
find_python
forward() { echo "$python -S '$ANTIPHON_ROOT/tests/support/http_forward_proxy.py' {port} $1"; }

# ---- a test proxy ----------------------------------------------------------------------------------------------------

run 0 test http-proxy --listen 0 --run "$(forward right)" --messages 3000 --patience 2 --seed 1 --json
out '"verdict":"pass"'
# The correct proxy reuses connections and repeats requests.
out '"the proxy retries"'
# The saved trace has the same verdict, even without promises.
run 0 check http-proxy .antiphon/trace.jsonl --explain
out 'the replay of the explanation holds'
head -300 .antiphon/trace.jsonl >begin.jsonl
run 0 check http-proxy begin.jsonl --ignore-promises
for wrong in hop via again host slash forwards body client; do
    rm -rf .antiphon
    run 1 test http-proxy --listen 0 --run "$(forward $wrong)" --patience 2 --no-shrink --seed 1 --json
    out '"verdict":"fail"'
done

# A run ends even if a proxy repeats requests endlessly and is never silent.
rm -rf .antiphon
cat >hangs.script <<'END'
{"antiphon":1,"script":"http-proxy","environment":"tcp","seed":1}
{"label":1,"conn":0,"send":{"method":"GET","to":"here","target":"/z","host":"here","fields":{}}}
END
run 8 replay --listen 0 --run "$(forward forever)" --patience 0.1 hangs.script
out 'although the subject sends requests'

run 2 test http-proxy --target 127.0.0.1:1
err 'http-proxy: models a server that calls others; the tester takes their place on --listen PORT'

# ---- matching calls --------------------------------------------------------------------------------------------------

# With two equal requests, only the responses show which upstream call belongs to which request.
get='{"method":"GET","to":"here","target":"/","host":"here","fields":{}}'
passed='{"method":"GET","target":"/","host":"here","fields":{},"via":[{"protocol":"1.1","by":"p"}],"more":"","body":""}'
said() { echo "{\"status\":200,\"fields\":{},\"date\":7,\"body\":\"$1\"${2-}}"; }
back() { said "$1" ',"via":[{"protocol":"1.1","by":"p"}],"more":"x: y\n"'; }
crossed() {
    printf '%s\n' "{\"conn\":0,\"send\":$get}" "{\"conn\":1,\"send\":$get}" "{\"conn\":4294967296,\"recv\":$passed}" \
        "{\"conn\":4294967297,\"recv\":$passed}" "{\"conn\":4294967297,\"send\":$(said one)}" \
        "{\"conn\":4294967296,\"send\":$(said two)}" "{\"conn\":0,\"recv\":$(back "$1")}" "{\"conn\":1,\"recv\":$(back "$2")}"
}
crossed one two >trace
run 0 check http-proxy trace
run 0 check http-proxy trace --ignore-promises
crossed two one >trace
run 0 check http-proxy trace
run 0 explain http-proxy trace
cp out explanation
run 0 explain http-proxy trace explanation
# Another assignment of the calls is rejected.
sed 's/"4294967296":\([-0-9]*\),"4294967297":\([-0-9]*\)/"4294967296":\2,"4294967297":\1/' explanation >swapped
run 1 explain http-proxy trace swapped
out 'the response of the model differs from the observed one'
sed 's/"4294967296":[-0-9]*,//' explanation >fewer
run 1 explain http-proxy trace fewer
sed 's/"choices":\[/&"p",/' explanation >more
run 1 explain http-proxy trace more
sed 's/\("choices":\[[^]]*\)\]/\1,0]/' explanation >more
run 1 explain http-proxy trace more
out 'more choices than the model makes'
crossed one one >trace
run 1 check http-proxy trace
run 1 check http-proxy trace --ignore-promises

# A call without a request; a changed date; an added date.
printf '%s\n' "{\"conn\":4294967296,\"recv\":$passed}" >trace
run 1 check http-proxy trace
answered() {
    printf '%s\n' "{\"conn\":0,\"send\":$get}" "{\"conn\":4294967296,\"recv\":$passed}" "{\"conn\":4294967296,\"send\":$1}" \
        "{\"conn\":0,\"recv\":$(back x)}"
}
answered '{"status":200,"fields":{},"body":"x"}' >trace
run 0 check http-proxy trace
answered '{"status":200,"fields":{},"date":8,"body":"x"}' >trace
run 1 check http-proxy trace

# A pipelined request waits for the response to an unsafe one before it, but not for a safe one.
behind() {
    printf '%s\n' "{\"conn\":0,\"send\":${get/GET/$1}}" "{\"conn\":0,\"send\":${get/'"/"'/'"/2"'}}" \
        "{\"conn\":4294967296,\"recv\":${passed/'"/"'/'"/2"'}}" "{\"conn\":4294967297,\"recv\":${passed/GET/$1}}"
}
behind GET >trace
run 0 check http-proxy trace
behind DELETE >trace
run 1 check http-proxy trace

printf '%s\n' '{"conn":0,"send":{"method":"BREW","to":"here","target":"/","host":"here"}}' >trace
run 21 check http-proxy trace
err 'unknown method; expected GET'

# ---- Apache ----------------------------------------------------------------------------------------------------------

rm -rf .antiphon
run 1 test http-proxy --subject apache-proxy --seed 1
out ' 1 request in '
out 'OPTIONS *  Host: here'
rm -rf .antiphon
run 0 test http-proxy --subject apache-proxy --waive options-slash --messages 3000 --connections 20 --seed 1 --json
out '"verdict":"pass"'
run 1 check http-proxy .antiphon/trace.jsonl
run 0 check http-proxy .antiphon/trace.jsonl --waive options-slash
# The fault proxy without a fault changes no verdict.
run 0 test http-proxy --subject apache-proxy --waive options-slash --messages 1000 --seed 1 --fault-upstream nothing
for kind in drop-field:via drop-request-body drop-response-body drop-byte:request wrong-field-name wrong-path \
    drop-answer-field:connection wrong-client empty-output; do
    rm -rf .antiphon
    "$ANTIPHON" test http-proxy --subject apache-proxy --waive options-slash "${budgets[@]}" --no-shrink --seed 1 --json \
        --fault-upstream $kind >found
    check "$kind is not rejected" grep -q '"verdict":"\(fail\|malformed\|dead\|starved\)"' found
done
# A complete test: the failure is shrunk and replayed.
rm -rf .antiphon
run 1 test http-proxy --subject apache-proxy --waive options-slash --seed 1 --fault-upstream drop-response-body
out ' 1 request in '
out '--fault-upstream drop-response-body'
run 1 replay --listen 0 --fault-upstream drop-response-body --subject apache-proxy .antiphon/*.script
run 0 replay --listen 0 --subject apache-proxy .antiphon/*.script

# ---- invalid command lines -------------------------------------------------------------------------------------------

run 2 test http-proxy --subject apache-proxy --fault-upstream no-such-thing
err 'unknown kind'
run 2 test kv --run 'true {port}' --fault-upstream nothing
err '--fault-upstream: the subject does not call the tester'
run 2 serve http-proxy
err 'give their address with --calls HOST:PORT'
run 2 serve kv --calls 127.0.0.1:1
err 'kv is not one'
run 53 serve http-proxy --calls nowhere
err 'nowhere: not HOST:PORT'
finish
