#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# origins.sh - several origins: proxies that confuse origin servers or clients fail, live, replayed and in traces; a
# message at the wrong origin is a violation.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"

cd "$dir" || exit 1
find_python
forward() { echo "$python -S '$ANTIPHON_ROOT/tests/support/http_forward_proxy.py' {port} $1"; }

# ---- proxies ---------------------------------------------------------------------------------------------------------

# Three requests to two origin servers, one after another. Two of them show most mistakes (tools/mutants-http).
get() { echo "{\"label\":$1,\"conn\":$2,\"send\":{\"method\":\"GET\",\"to\":\"$3\",\"host\":\"$3\",\"target\":\"/x\",\"fields\":{}}$4}"; }
{
    echo '{"antiphon":1,"script":"http-proxy","environment":"tcp","seed":1}'
    get 1 0 here ''
    get 3 1 here-1 ',"wait":{"answer":2}'
    get 5 0 here-2 ',"wait":{"answer":4}'
} >three.script
run 0 replay --listen 0 --run "$(forward right)" three.script
for wrong in wrong-origin wrong-pool wrong-client wrong-host wrong-cache; do
    rm -rf .antiphon
    run 1 replay --listen 0 --run "$(forward $wrong)" three.script
    run 1 check http-proxy .antiphon/trace.jsonl
    rm -rf .antiphon
    run 1 test http-proxy --listen 0 --run "$(forward $wrong)" --patience 2 --no-shrink --seed 3 --json
    out '"verdict":"fail"'
done

# The report names the origin at which the message is allowed. The trace has the origin; the script has no ports.
rm -rf .antiphon
run 1 replay --listen 0 --run "$(forward wrong-pool)" three.script
out 'call 1 @0'
out 'expected at origin 1: GET /x'
check 'origin 0 in the trace' grep -q '"conn":4294967296,"recv"' .antiphon/trace.jsonl
run 0 test http-proxy --listen 0 --run "$(forward right)" --messages 400 --patience 2 --seed 5 --json
check 'no origin in the trace' grep -q '"conn":[0-9]*,"origin":2,"recv"' .antiphon/trace.jsonl
check 'a port in the trace' [ -z "$(grep -o '"\(to\|host\)":"127[^"]*"' .antiphon/trace.jsonl)" ]
run 0 check http-proxy .antiphon/trace.jsonl --explain
out 'the replay of the explanation holds'

# ---- traces ----------------------------------------------------------------------------------------------------------

get='{"method":"GET","to":"here-1","target":"/","host":"here-1","fields":{}}'
passed='{"method":"GET","target":"/","host":"here-1","fields":{},"via":[{"protocol":"1.1","by":"p"}],"more":"","body":""}'
# arrives CONNECTION: a request to here-1, and the call of the proxy on that connection.
arrives() { printf '%s\n' "{\"conn\":0,\"send\":$get}" "{$1,\"recv\":${2-$passed}}" >trace; }
arrives '"conn":4294967296,"origin":1'
run 0 check http-proxy trace
arrives '"conn":8589934592'
run 0 check http-proxy trace
run 0 explain http-proxy trace
out '"opened":{"8589934592":-72'
cp out explanation
run 0 explain http-proxy trace explanation
sed 's/"8589934592":-[0-9]*/"8589934592":-1/' explanation >moved
run 1 explain http-proxy trace moved
out 'has another origin in the model'
arrives '"conn":4294967296' # origin 0
run 1 check http-proxy trace
out 'expected at origin 1: '
arrives '"conn":4294967296,"origin":2'
run 1 check http-proxy trace
arrives '"conn":8589934592' "${passed/here-1/here}" # the wrong Host
run 1 check http-proxy trace
arrives '"conn":8589934592,"origin":2'
"$ANTIPHON" check http-proxy trace >out 2>err
err 'connection 8589934592 leads to origin 1; correct its number, or the origin'

# ---- another protocol ------------------------------------------------------------------------------------------------

# "1text" is forwarded as "text" to origin 1, which prefixes its responses.
cat >router.c <<'END'
#include <antiphon/antiphon.h>

static void step(aph *m, aph_value *state)
{
    aph_request q = aph_recv(m);
    (void)state;
    if (q.from < 0)
        aph_send(m, -1 - aph_without_origin(q.from), q.message);
    else
        aph_send(m, aph_to_origin(-1 - q.from, aph_str_is(aph_substr(q.message, 0, 1), "1")),
                 aph_substr(q.message, 1, aph_count(q.message) - 1));
}

static aph_value respond(aph_value message, uint64_t number)
{
    (void)number;
    return message;
}

static aph_value respond_at(int64_t origin, aph_value message, uint64_t number)
{
    (void)number;
    return aph_concat(aph_strf("%d:", (int)origin), message);
}

static aph_value generate(aph_gen *g)
{
    return aph_strf("%d%d", (int)aph_gen_below(g, 2), (int)aph_gen_below(g, 3));
}

static const aph_model router = {
    .version = APH_MODEL_VERSION,
    .name = "router",
    .summary = "forwards each request to one of two servers",
    .step = step,
    .codec = &aph_codec_lines,
    .generate = generate,
    .respond = respond,
    .respond_at = respond_at,
    .origins = 2,
    .answers = true,
};
APH_MODEL(router)
END
# routed OPTION...: tests the model, served, with these options.
routed() {
    local code=$1
    shift
    run "$code" test ./router.c --pipeline 1 --connections 3 --messages 200 --seed 1 --no-shrink --json "${listens[@]}" \
        --run "'$ANTIPHON' serve ./router.c --port {port} --seed 1 $*"
}
listens=(--listen 0)
routed 0 --calls '127.0.0.1:{listen:0}' --calls '127.0.0.1:{listen:1}'
out '"verdict":"pass"'
routed 0 --calls '127.0.0.1:{listen}' --calls '127.0.0.1:{listen:1}'
routed 1 --calls '127.0.0.1:{listen:1}' --calls '127.0.0.1:{listen:0}'
out '"verdict":"fail"'
listens=(--listen 0 --listen 0)
routed 0 --calls '127.0.0.1:{listen:0}' --calls '127.0.0.1:{listen:1}'

# ---- invalid command lines -------------------------------------------------------------------------------------------

listens=(--listen 0 --listen 0 --listen 0)
routed 2 --calls '127.0.0.1:{listen}'
err '--listen: given 3 times; router uses 2'
listens=(--listen 0)
routed 2 --calls '127.0.0.1:{listen:2}'
err '{listen:2} in the command; router uses the ports {listen:0} to {listen:1}'
listens=(--listen 65536)
routed 2 --calls '127.0.0.1:{listen}'
err '--listen 65536: not a port'
run 2 serve ./router.c --calls 127.0.0.1:1 --calls 127.0.0.1:2 --calls 127.0.0.1:3
err '--calls: given 3 times; router calls only 2'
run 2 test http-proxy --run 'true {port} {listen:1}'
err 'needs --listen PORT'
finish
