#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# stored_scripts.sh - scripts that failed before take at most half of --time. Those that are not repeated within that time are
# announced, and do not turn a pass into unknown; a failure that is observed before is one.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"

find_python
cd "$dir" || exit 1

# server.py PORT WRONG: echoes each line after 0.1 s, but the line WRONG as "wrong".
cat >server.py <<'END'
import socket
import sys
import threading
import time


def serve(connection):
    for line in connection.makefile("rb"):
        time.sleep(0.1)
        connection.sendall(b"wrong\n" if line.strip().decode() == sys.argv[2] else line)


listener = socket.create_server(("127.0.0.1", int(sys.argv[1])))
while True:
    threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()
END

cat >echo.c <<'END'
#include <antiphon/generate.h>
#include <antiphon/model.h>

static void step(aph *m, aph_value *state)
{
    aph_request q = aph_recv(m);
    (void)state;
    aph_send(m, q.from, q.message);
}

static const aph_model model = {
    .version = APH_MODEL_VERSION, .name = "echo", .summary = "an echo", .step = step, .rpc = true,
    .codec = &aph_codec_lines, .shape = APH_SHAPE(["a", "b"]),
};
APH_MODEL(model)
END

# Eight scripts of thirty requests: repeating all of them takes at least 70 s. Each begins with another request.
mkdir folder
for n in 1 2 3 4 5 6 7 8; do
    {
        echo '{"antiphon":1,"script":"echo","environment":"tcp","seed":1}'
        echo '{"label":1,"conn":0,"send":"first '$n'","wait":"quiet"}'
        for ((i = 3; i < 61; i += 2)); do echo '{"label":'$i',"conn":0,"send":"a","wait":"quiet"}'; done
    } >folder/echo-000000000000000$n.script
done
touch folder/echo-0000000000000001.script # it is tried first
cp -rp folder again

# A correct server passes: some observations of a script and those of generated runs were judged.
run 0 test ./echo.c --time 8 --run "'$python' server.py {port} none" --folder folder
out 'pass  echo'
err 'folder: the scripts that failed before may take half of --time; '
err ' of 8 were repeated completely; raise --time, or remove scripts'

# The violation is in the script that is repeated first, and is not generated.
run 1 test ./echo.c --time 8 --run "'$python' server.py {port} 'first 1'" --folder again --no-shrink
out '"first 1"'
no_err 'were repeated completely'
finish
