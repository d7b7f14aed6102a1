#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# rest.sh - the REST application in examples/rest: the right one passes, each planted bug is found, and the model is
# served. Set REST_RUNS to test each bug that often and shrink it to its known size, and REST_MESSAGES for a longer pass:
# `make mutants-rest` does.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"

command -v python3 >/dev/null || exit 77
runs=${REST_RUNS:-1} messages=${REST_MESSAGES:-1500}
model=$ANTIPHON_ROOT/examples/rest/rest.c
cd "$dir" || exit 1
# The interpreter itself: python3 may be a wrapper script that starts slowly.
ln -s "$(python3 -c 'import sys; print(sys.executable)')" "$dir/python3"
server="'$dir/python3' -S '$ANTIPHON_ROOT/examples/rest/server.py' {port}"

check 'the model is longer than 119 lines' [ "$(wc -l <"$model")" -le 119 ]

run 0 test "$model" --run "$server" --messages "$messages" --time 3600 --seed 3 --folder right
out 'pass'

# bug NAME SIZE: the bug is found, and shrunk to that number of requests if there is time.
bug() {
    local i shrink=(--no-shrink)
    if [ "$runs" -gt 1 ]; then shrink=(--shrink-time 600); fi
    for ((i = 1; i <= runs; i++)); do
        rm -rf folder
        run 1 test "$model" --run "$server --bug $1" --seed $((17 * i)) --folder folder --time 3600 "${shrink[@]}"
        out 'the model cannot explain the observations'
        if [ "$runs" -gt 1 ]; then
            check "not $2 requests" grep -qE "(shrunk to|not shrunk below) $2 requests" "$dir/out"
        fi
    done
}
bug session-survives-logout 3
bug id-reused 4
bug foreign-item 4
bug lost-update 3

# The served model is accepted. Its messages cross the codec twice.
run 0 test "$model" --run "'$ANTIPHON' serve '$model' --port {port} --delay 0" --messages 2000 --seed 5 --folder served
out 'pass'

# A trace, with values instead of bytes.
cat >bad.jsonl <<'END'
{"conn":1,"send":{"method":"POST","path":["login"],"json":{"user":"ann","password":"apple"}}}
{"conn":1,"recv":{"status":200,"json":{"user":"ann"},"cookies":{"session":"x"}}}
{"conn":2,"send":{"method":"POST","path":["login"],"json":{"user":"bob","password":"berry"}}}
{"conn":2,"recv":{"status":200,"json":{"user":"bob"},"cookies":{"session":"x"}}}
END
run 1 check "$model" bad.jsonl
out 'bad.jsonl:4: no explanation for this response: POST /login'
head -n 3 bad.jsonl >good.jsonl
run 0 check "$model" good.jsonl

# A request that the codec cannot encode is reported, and nothing is sent.
sed 's/"path": \["cart"\]/"path": "cart"/' "$model" >wrong.c
run 43 test ./wrong.c --run "'$ANTIPHON' serve '$model' --port {port} --delay 0" --messages 2000 --no-shrink
err "the model's codec cannot encode it"
err 'path: must be an array of strings, not a string'
finish
