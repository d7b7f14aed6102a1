#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# incomplete_responses.sh - a server that sends only the beginning of a response: the verdict shows the bytes that arrived, on the
# connection of the request, and does not claim that nothing came.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"

find_python
cd "$dir" || exit 1

# server.py PORT KIND: answers the second request, and each later one, with an incomplete message, or with nothing.
cat >server.py <<'END'
import socket
import sys
import threading

responses = {"resp": b"$9\r\nhello\r\n", "long": b"$900000\r\n" + b"x" * 50 + b"\xff\r\n", "silent": b"", "dripping": b"$99999\r\n"}
count = 0


def serve(connection):
    global count
    while connection.recv(65536):
        count += 1
        if count == 1:
            connection.sendall(b"$5\r\nhello\r\n")
            continue
        connection.sendall(responses[sys.argv[2]])
        while sys.argv[2] == "dripping":
            connection.sendall(b"x")
            threading.Event().wait(0.02)
    connection.close()


listener = socket.create_server(("127.0.0.1", int(sys.argv[1])))
while True:
    threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()
END

# model NAME PROMISE: writes NAME.c.
model() {
    cat >"$1.c" <<END
#include <antiphon/generate.h>
#include <antiphon/model.h>
#include <antiphon/resp.h>

static void step(aph *m, aph_value *state)
{
    aph_request q = aph_recv(m);
    (void)state;
    aph_send(m, q.from, aph_str("hello"));
}

static const aph_model model = {
    .version = APH_MODEL_VERSION, .name = "$1", .summary = "a greeting", .step = step, $2
    .codec = &aph_codec_resp, .shape = APH_SHAPE([["GET", "a"], ["GET", "b"]]),
};
APH_MODEL(model)
END
}
model paired '.rpc = true,'
model unpaired ''

# starved MODEL KIND: tests the server, which must be rejected. The patience is far shorter than the silence.
starved() {
    run 8 test "./$1.c" --run "'$python' server.py {port} $2" --connections 1 --patience 300ms --no-shrink --seed 1 --folder "$1-$2"
}

starved paired resp
out 'on connection 0: no complete response within 0.3 s, but the beginning of a message, 11 bytes: "$9\r\nhello\r\n"; 1 request outstanding'
out 'got the beginning of a message, 11 bytes: "$9\r\nhello\r\n"'
no_out 'no response'
starved paired long
out 'the beginning of a message, 62 bytes: "$900000\r\n'
out 'xxxxx"...'
starved paired dripping
out 'no complete response within 0.3 s, but the beginning of a message'
starved paired silent
out 'on connection 0: no response within 0.3 s; 1 request outstanding'
out 'got no response'
no_out 'the beginning of a message'
starved unpaired long
out 'no complete message, but every explanation has a pending response; connection 0 has the beginning of a message, '
no_out 'no response'
finish
