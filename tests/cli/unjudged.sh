#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# unjudged.sh - runs that cannot be judged while they run: they are judged from their traces, and without a verdict for
# each run, a campaign does not pass.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
find_python

# The response selects the work of the step: with "wide", more branches than can be run; with "slow", CPU time that a live
# run does not have.
cat >"$dir/echo.c" <<'END'
#include <antiphon/model.h>
#include <time.h>
static void step(aph *m, aph_value *state)
{
    static const char *const kinds[] = {"usual", "wide", "slow"};
    aph_request q = aph_recv(m);
    int kind = aph_either_foretold(m, "kind", APH_VALUES(aph_str("usual"), aph_str("wide"), aph_str("slow")), "usual",
                                   "wide", "slow");
    while (kind == 1 && aph_either(m, "again", "done") == 0)
        ;
    for (clock_t begun = clock(); kind == 2 && clock() - begun < 11 * CLOCKS_PER_SEC / 10;)
        ;
    (void)state;
    aph_send(m, q.from, aph_record("kind", aph_str(kinds[kind]), "echo", aph_field(q.message, "n")));
}
static const aph_model model = {.version = APH_MODEL_VERSION, .name = "echo", .step = step, .rpc = true,
    .shape = APH_SHAPE([{"n": {"fresh": "int"}}])};
APH_MODEL(model)
END

# server.py PORT KIND ECHO: the third response of the first process has this kind, and this echo if it is not "right".
cat >"$dir/server.py" <<'END'
import json, os, socket, socketserver, sys
count, first = 0, False
try:
    os.close(os.open(sys.argv[4], os.O_CREAT | os.O_EXCL))
    first = True
except FileExistsError:
    pass
class Peer(socketserver.StreamRequestHandler):
    def handle(self):
        global count
        for line in self.rfile:
            count += 1
            answer = {'kind': 'usual', 'echo': json.loads(line)['n']}
            if first and count == 3:
                answer['kind'] = sys.argv[2]
                answer['echo'] = answer['echo'] if sys.argv[3] == 'right' else -1
            self.wfile.write((json.dumps(answer) + '\n').encode())
class Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = daemon_threads = True
    request_queue_size = 100
Server(('127.0.0.1', int(sys.argv[1])), Peer).serve_forever()
END

# campaign CODE KIND ECHO: tests the server; the folder is $dir/KIND.
campaign() {
    run "$1" test --json --seed 1 --messages 600 --no-shrink --folder "$dir/$2" \
        --run "$python $dir/server.py {port} $2 $3 $dir/$2.first" "$dir/echo.c"
}

campaign 3 wide right
out '"verdict":"unknown"'
out '"undecided":1'
out 'runs could not be judged: a step has too many branches'
run 3 check "$dir/echo.c" "$dir/wide/undecided-1.jsonl"

campaign 1 slow wrong
out '"verdict":"fail"'
out '"undecided":0'
out '"observed":{"echo":-1,"kind":"slow"}'

# A kept script of which one run cannot be judged.
rm "$dir/wide.first"
{
    echo '{"antiphon":1,"script":"echo","environment":"tcp","seed":1}'
    for i in 1 3 5 7; do echo '{"label":'$i',"conn":0,"send":{"n":'$i'},"wait":"quiet"}'; done
} >"$dir/wide/echo-0123456789abcdef.script"
campaign 3 wide right
out 'a script that failed before could not be judged: a step has too many branches'
out '"undecided":0'

# Without time for a run, nothing was tested.
run 3 test --time 0.000001 --folder "$dir/none" --run "$python $dir/server.py {port} usual right $dir/none.first" \
    "$dir/echo.c"
out 'the time was up before the first run'

finish
