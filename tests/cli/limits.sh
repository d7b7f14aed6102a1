#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# limits.sh - JSON that exceeds a limit of Antiphon is not a failure of the server; memory limits.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
find_python

# subject CODE KIND OPTION...: tests a server with such responses; each response has the same value.
subject() {
    local code=$1 kind=$2
    shift 2
    run "$code" test "$dir/any.c" "$@" --messages 20 --connections 2 --shrink-time 0.001 --folder "$dir/$kind" \
        --run "$python -S '$ANTIPHON_ROOT/tests/support/limit_server.py' {port} $kind"
}
cat >"$dir/any.c" <<'END'
#include <antiphon/model.h>
static void step(aph *m, aph_value *state)
{
    aph_request q = aph_recv(m);
    aph_send(m, q.from, aph_int(1));
}
static const aph_model any = {.version = APH_MODEL_VERSION, .name = "any", .summary = "returns 1", .step = step,
                              .rpc = true, .shape = "[{\"f\":\"read\"}]"};
APH_MODEL(any)
END
subject 0 whole
subject 3 fraction
out 'beyond a limit of Antiphon: a number that is not an integer of 64 bits, at "1.5]}'
out '.numbers, for fractions'
sed -e 's/.rpc = true,/&.codec = \&numbers,/' -e 's/^static void step/static const aph_codec numbers = APH_CODEC_JSON(.numbers = true);\n&/' \
    "$dir/any.c" >"$dir/numbers.c"
run 1 test "$dir/numbers.c" --messages 20 --no-shrink --folder "$dir/numbers" \
    --run "$python -S '$ANTIPHON_ROOT/tests/support/limit_server.py' {port} fraction"
out '{"number":"1.5"}'
subject 3 deep
out 'nested more than 256 levels deep'
subject 3 twice
out 'a name occurs twice'
subject 50 broken
out 'not JSON: unexpected text'

# A length prefix in the wrong byte order: malformed if the model has a limit, and otherwise beyond that of Antiphon.
cat >"$dir/order.py" <<'END'
import socketserver, struct, sys
class Handler(socketserver.StreamRequestHandler):
    def handle(self):
        while head := self.rfile.read(4):
            body = self.rfile.read(struct.unpack(">I", head)[0])
            self.wfile.write(struct.pack("<I", len(body)) + body)
class Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = daemon_threads = True
Server(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
END
# prefixed CODE PARAMETERS: tests the server with this codec.
prefixed() {
    cat >"$dir/prefixed.c" <<END
#include <antiphon/model.h>
static void step(aph *m, aph_value *state) { aph_request q = aph_recv(m); (void)state; aph_send(m, q.from, q.message); }
static const aph_codec codec = APH_CODEC_PREFIXED($2);
static const aph_model prefixed = {.version = APH_MODEL_VERSION, .name = "prefixed", .step = step, .rpc = true,
                                   .codec = &codec, .shape = "[\"four\"]"};
APH_MODEL(prefixed)
END
    run "$1" test "$dir/prefixed.c" --messages 20 --no-shrink --folder "$dir/prefixed-$1" \
        --run "$python -S '$dir/order.py' {port}"
}
prefixed 50 '4, .limit = 4096'
out 'a length of 67108864 (4 in the other byte order), but a message is limited to 4096 bytes'
prefixed 3 4
out 'give the model a codec that rejects such messages (.limit, for long ones)'

# Numbers that are too large are refused.
printf '%s\n' '{"antiphon":1,"script":"kv"}' '{"label":1,"conn":100000000,"send":{"f":"get","key":"a"}}' >"$dir/large.script"
run 52 replay --target 127.0.0.1:1 "$dir/large.script" kv
err 'large.script:2: "conn" must be an integer from 0 to 65535'
printf '%s\n' '{"conn":4294967296,"send":{"f":"get","key":"a"}}' '{"conn":4294967296,"recv":""}' >"$dir/large.jsonl"
run 12 check --ignore-promises kv "$dir/large.jsonl"

# Half a megabyte of JSON is read within the limit; the values do not exceed a smaller one.
subject 1 large
subject 3 large --memory 3
out '--memory'

# The same in traces.
items() { awk -v pair="$1" 'BEGIN { for (i = 0; i < 40000; i++) printf pair, i, i }'; }
printf '{"conn":1,"send":{"f":"write","value":{%s"":0}}}\n{"conn":1,"recv":"ok"}\n' "$(items '"key %d":%d,')" >"$dir/wide"
run 0 check register "$dir/wide"
run 3 check --memory 3 register "$dir/wide"
out 'memory limit reached at line 1 '
printf '{:process 1 :type :invoke :f :write :value {%s}}{:process 1 :type :ok :f :write}\n' "$(items '"key %d" %d ')" \
    >"$dir/wide"
run 0 check register "$dir/wide"
run 3 check --memory 3 register "$dir/wide"
finish
