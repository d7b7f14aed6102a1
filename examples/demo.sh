#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# demo.sh - a demonstration of Antiphon: a correct server, a wrong one with its counterexample, and recorded histories.
#
# Every command must end with the expected exit code, so this is also a test. ANTIPHON is the program, ANTIPHON_SUBJECTS the
# folder of the swap servers, REPORT the page to write, FOLDER that of the traces. It takes about ten seconds.
set -eu
cd "$(dirname "$0")/.."
antiphon=${ANTIPHON:-build/antiphon}
subjects=${ANTIPHON_SUBJECTS:-build/subjects}
report=${REPORT:-build/demo-report.html}
scratch=${FOLDER:-build/demo-run} # the failing script stays there, for the command that reproduces it
rm -rf "$scratch"
mkdir -p "$scratch"

print_text() {
    echo
    echo "$1" | tr '\n' ' ' | fold -s -w 100 | sed 's/ *$//'
}

# expect CODE WORD...: prints the command, runs it, and checks its exit code.
expect() {
    local code=$1 got=0 word shown=
    shift
    for word; do
        case $word in *' '*) word="'$word'" ;; esac
        shown="$shown ${word//"$scratch/"/}"
    done
    printf '\n$ antiphon%s\n' "$shown"
    "$antiphon" "$@" 2>&1 || got=$?
    if [ "$got" -ne "$code" ]; then
        echo "demo: exit code $got; expected $code" >&2
        exit 1
    fi
    printf '(exit code %s)\n' "$got"
}

print_text '1. The swap server (subjects/swap/swap.c) answers each message with the one that it received before, from any client. The
built-in model "swap" describes this in a few lines of C. Antiphon derives a tester from it: it starts the server, talks to it
over ten connections at once, and searches for an order of the messages that explains the responses. The server is right:'
expect 0 test swap --time 5 --folder "$scratch/antiphon" --run "$subjects/swap {port}"

print_text '2. A mutant of it sends to all clients from one buffer. With two clients at the same time, one gets the response of the
other. Antiphon detects this and shrinks the failing run, each time against a fresh server, until it is locally minimal:'
expect 1 test swap --folder "$scratch/antiphon" --report "$report" --run "$subjects/swap-mutant-08 {port}"
echo
echo "A page with an interactive diagram: $(realpath "$report")"
if [ -n "${DISPLAY-}${WAYLAND_DISPLAY-}" ] && [ -t 1 ] && command -v xdg-open >/dev/null; then
    xdg-open "$report" >/dev/null 2>&1 &
fi

print_text '3. The failure is stored as a script, a line for each request. The next test of the server tries it first, and a replay runs
it alone: here against the correct server.'
script=$(echo "$scratch"/antiphon/*.script)
echo
cat "$script"
expect 0 replay --folder "$scratch/antiphon" --run "$subjects/swap {port}" "$script"

print_text '4. Antiphon also checks recorded histories. This is a register with five concurrent clients, in the format of a Jepsen log. The
model explains it.'
expect 0 check register examples/histories/five-clients.log

print_text '5. In this one, a client reads 2 after the change from 2 to 4 was confirmed to another client. No order gives that response.'
expect 1 check register examples/histories/stale-read.log

print_text '6. A server may choose values that its clients do not know. In the model examples/conditional-put.c it makes a tag for each
value; the tag is unknown until the server shows it. Here a put that required the tag "x" was refused, so the tag was not "x".
Then the server shows it, and it is "x".'
expect 1 check examples/conditional-put.c examples/conditional-put-bad.jsonl

print_text 'Next: docs/tutorial.md, from an empty folder to a bug in a small server; or antiphon init NAME, which writes a model to start
from.'
