#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# demo.sh - what Antiphon does, in one screen after another: a server that passes, one that does not and why, and recorded
# histories.
#
# Every command must end with the exit code that is expected of it, so this is a test as well. ANTIPHON is the program,
# ANTIPHON_SUBJECTS the folder of the swap servers, REPORT the page that it writes. It takes about ten seconds.
set -eu
cd "$(dirname "$0")/.."
antiphon=${ANTIPHON:-build/antiphon}
subjects=${ANTIPHON_SUBJECTS:-build/subjects}
report=${REPORT:-build/demo-report.html}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

say() {
    echo
    echo "$1" | tr '\n' ' ' | fold -s -w 100 | sed 's/ *$//'
}

# expect CODE WORD...: show the command, run it, and see that it ends with that code.
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
        echo "demo: that should have ended with exit code $code, not $got" >&2
        exit 1
    fi
    printf '(exit code %s)\n' "$got"
}

say '1. The swap server (subjects/swap/swap.c) answers each message with the one that it got before, whoever sent that. The
built-in model "swap" says so in a few lines of C; Antiphon makes a tester of it. It starts the server, talks to it over ten
connections at once, and looks for an order in which the server may have taken the messages. The server is right:'
expect 0 test swap --time 5 --folder "$scratch/antiphon" --run "$subjects/swap {port}"

say '2. A mutant of it sends to all clients from one buffer. Two clients at the same time, and one of them gets what is meant for
the other. Antiphon notices, and makes the failing run smaller, each time against a fresh server, until no step makes it
smaller:'
expect 1 test swap --folder "$scratch/antiphon" --report "$report" --run "$subjects/swap-mutant-08 {port}"
echo
echo "The same as a page with an interactive diagram: $(realpath "$report")"
if [ -n "${DISPLAY-}${WAYLAND_DISPLAY-}" ] && [ -t 1 ] && command -v xdg-open >/dev/null; then
    xdg-open "$report" >/dev/null 2>&1 &
fi

say '3. What was found is kept as a script, a line for each request. The next test of the server tries it first, and a replay runs
it alone: here against the server that is right.'
script=$(echo "$scratch"/antiphon/*.script)
echo
cat "$script"
expect 0 replay --folder "$scratch/antiphon" --run "$subjects/swap {port}" "$script"

say '4. Recordings of servers can be judged, too. A register with five clients at once, in the style of a Jepsen log; the model
explains it.'
expect 0 check register examples/histories/five-clients.log

say '5. Another one. A client reads 2 after the change from 2 to 4 was confirmed to another client. No order gives that answer.'
expect 1 check register examples/histories/stale-read.log

say '6. A server may choose things that its clients do not know. In examples/conditional-put.c, a model of one'"'"'s own, it makes
a tag for each value; the tag is an unknown until the server shows it. Here a put with the tag "x" was refused, so the tag was
not "x". Then the server shows it, and it is "x".'
expect 1 check examples/conditional-put.c examples/conditional-put-bad.jsonl

say 'Next: docs/tutorial.md, from an empty folder to a bug in a small server; or antiphon init NAME, a model to start from.'
