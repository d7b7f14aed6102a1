#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# demo.sh - what Antiphon does, in one screen after another: verdicts, evidence, a model of one's own, explanations.
#
# Every command must end with the exit code that is expected of it, so this is a test as well. ANTIPHON is the program.
set -eu
cd "$(dirname "$0")/.."
antiphon=${ANTIPHON:-build/antiphon}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

say() {
    echo
    echo "$1" | tr '\n' ' ' | fold -s -w 100
    echo
}

# expect CODE WORD...: show the command, run it, and see that it ends with that code.
expect() {
    local code=$1 got=0
    shift
    printf '\n$ antiphon %s\n' "${*//"$scratch/"/}"
    "$antiphon" "$@" 2>&1 || got=$?
    if [ "$got" -ne "$code" ]; then
        echo "demo: that should have ended with exit code $code, not $got" >&2
        exit 1
    fi
    printf '(exit code %s)\n' "$got"
}

say '1. A register with five clients at once, recorded in the style of a Jepsen log. The built-in model "register" explains
it: there is an order of the operations that gives these answers.'
expect 0 check register examples/histories/five-clients.log

say '2. Another recording of such a register. A client reads 2 after the change from 2 to 4 was confirmed to another client.
No order gives that answer.'
expect 1 check register examples/histories/stale-read.log

say '3. A model of your own is a C file. examples/kv.c is a key-value server, with its state in one value:'
echo
sed -n '/^static void server/,/^}/p' examples/kv.c

say 'Two clients put different values at the same time, so either may win, and the first history below is fine. In the second
the clients disagree about who has won.'
expect 0 check examples/kv.c examples/kv-good.jsonl
expect 1 check examples/kv.c examples/kv-bad.jsonl

say '4. A server may choose things that its clients do not know. In examples/conditional-put.c it makes a tag for each value;
the model says aph_choose, and the tag is an unknown until the server shows it. In this history a put with the tag "x" was
refused, so the tag was not "x". Then the server shows it, and it is "x".'
expect 1 check examples/conditional-put.c examples/conditional-put-bad.jsonl

say '5. A pass can be checked too. The explanation is an order of the requests (as numbers of observations) and a value for
each choice.'
expect 0 explain examples/conditional-put.c examples/conditional-put-good.jsonl
"$antiphon" explain examples/conditional-put.c examples/conditional-put-good.jsonl >"$scratch/explanation.json"

say 'A replay confirms it: it runs the model on these requests in this order, and searches and solves nothing.'
expect 0 explain examples/conditional-put.c examples/conditional-put-good.jsonl "$scratch/explanation.json"

say 'With another tag in place of "y" it is no explanation any more:'
sed 's/"y"/"z"/' "$scratch/explanation.json" >"$scratch/changed.json"
expect 1 explain examples/conditional-put.c examples/conditional-put-good.jsonl "$scratch/changed.json"

say 'Next: docs/writing-models.md to write a model, docs/trace-format.md to bring a recording of your own.'
