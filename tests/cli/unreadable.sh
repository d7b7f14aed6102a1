#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# unreadable.sh - models that send messages which their codec cannot read: an error of the model, not of the server. A
# failure remains one if the model allows another message, a message with an unknown, or if the trace has messages of
# another codec.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"

cd "$dir" || exit 1
find_python

# model NAME STATEMENTS [FIELDS]: a model of a web application with one header, Location.
model() {
    cat >"$1.c" <<END
#include <antiphon/http.h>
#include <antiphon/model.h>
static const char *const names[] = {"location", NULL};
static const aph_codec codec = APH_CODEC_HTTP(names);
static void step(aph *m, aph_value *state)
{
    aph_request q = aph_recv(m);
    (void)state;
    $2
}
static aph_value respond(aph_value q, uint64_t number) { (void)q, (void)number; return aph_http_response(204, APH_NIL); }
static const aph_model model = {.version = APH_MODEL_VERSION, .name = "$1", .step = step, .words = aph_http_words,
    .codec = &codec, .shape = APH_SHAPE([{"method": "GET", "path": ["a"]}]), ${3-.rpc = true}};
APH_MODEL(model)
static void unused(void) __attribute__((unused));
static void unused(void) { (void)respond; }
END
}
send() { echo "aph_value v; aph_json_error e; aph_json_read(text, sizeof text - 1, &v, &e); aph_send(m, q.from, v);"; }
text() { printf 'static const char text[] = "%s"; %s' "${1//\"/\\\"}" "$(send)"; }
trace() { printf '%s\n' '{"conn":1,"send":{"method":"GET","path":["a"]}}' "{\"conn\":1,\"recv\":$1}" >trace; }

# The server is correct; the model cannot be satisfied.
model body "$(text '{"status":204,"json":{"a":1}}')"
trace '{"status":204}'
run 44 check ./body.c trace
err 'trace:2: model body: it sends {"json":{"a":1},"status":204}; its codec, http, cannot encode it: json: a response with the status 204 has no body'
model header "$(text '{"status":200,"headers":{"ETag":"x"}}')"
trace '{"status":200}'
run 44 check ./header.c trace
err 'cannot encode it: headers.ETag: a name must be in lower case'
model location "$(text '{"status":302,"headers":{"location":"/there"}}')"
trace '{"status":302,"headers":{"location":{"path":["there"]}}}'
run 44 check ./location.c trace
err 'headers.location: this string is read as {"path":["there"]}; use that'
model other "$(text '{"status":200,"headers":{"etag":"x"}}')"
trace '{"status":200}'
run 44 check ./other.c trace
err 'headers.etag: not among the names that the codec keeps'
model empty "$(text '{"status":200,"headers":{}}')"
run 44 check ./empty.c trace
err 'it sends {"headers":{},"status":200}; its codec, http, reads it as {"status":200}'
run 44 check ./empty.c trace --json
out '"verdict":"error"'
run 44 check ./empty.c trace --derive
run 44 check ./empty.c trace trace --jobs 2
# A promise is judged first; without promises, the result is the same.
model free "$(text '{"status":200,"headers":{}}')" '.answers = true'
run 44 check ./free.c trace

# The request that the model forwards has a path that is read as another.
model path 'aph_send(m, -1 - q.from, aph_record("method", aph_str("GET"), "path", APH_ARRAY_OF(aph_str(""))));' \
    '.respond = respond, .answers = true'
printf '%s\n' '{"conn":1,"send":{"method":"GET","path":["a"]}}' \
    '{"conn":4294967296,"recv":{"method":"GET","path":[]}}' >call
run 44 check ./path.c call
err 'path: [""] would be read as [], the path /'

# Another allowed response can be read: the failure is that of the server, with a note.
model either "if (aph_either(m, \"a\", \"b\")) { aph_send(m, q.from, aph_http_response(404, APH_NIL)); return; }
    $(text '{"status":200,"headers":{}}')"
trace '{"status":200}'
run 1 check ./either.c trace
out "but the model's codec reads it as {\"status\":200}"
model right 'aph_send(m, q.from, aph_http_response(404, APH_NIL));'
run 1 check ./right.c trace
no_out 'but the model'
# A message with an unknown is not tested.
model unknown 'aph_send(m, q.from, aph_record("status", aph_int(204), "json", aph_choose(m, APH_STR, "id")));'
run 1 check ./unknown.c trace
# Values that did not cross the codec.
model values 'aph_send(m, q.from, aph_str("ok"));'
trace '"no"'
run 1 check ./values.c trace

# The same in a test, whose verdict does not depend on promises.
cat >server.py <<'END'
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()
    def log_message(self, *_): pass
ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
END
for name in empty free; do
    run 44 test ./$name.c --run "'$python' -S server.py {port}" --seed 1 --folder $name
    err "model $name: it sends {\"headers\":{},\"status\":200}; its codec, http, reads it as {\"status\":200}"
    check 'a script of a correct server was kept' [ -z "$(find $name -name '*.script')" ]
done
run 1 test ./either.c --run "'$python' -S server.py {port}" --seed 1 --folder either
out "but the model's codec reads it as"
finish
