#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# tutorial.sh - docs/tutorial.md is true: its commands, run one after the other in an empty folder with its files, end and
# say what it shows.
#
# A live run differs each time: numbers are masked, and pictures and the orders of explanations are not compared.
# tests/tidy/readme.sh compares the files that it shows with those used here.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"

command -v python3 >/dev/null || exit 77
tutorial=$ANTIPHON_ROOT/docs/tutorial.md
mkdir "$dir/shop" "$dir/bin"
cd "$dir/shop" || exit 1
cp "$ANTIPHON_ROOT"/examples/tutorial/{server.py,shop.c} .
# Not by way of a wrapper that takes its time at each start.
ln -s "$(python3 -c 'import sys; print(sys.executable)')" "$dir/bin/python3"
PATH=$dir/bin:$(dirname "$ANTIPHON"):$PATH

# stable FILE: what is the same in every run.
stable() {
    grep -v -e '[│├╰┊⋮]' -e '^    [^a]' -e '^       ' "$1" | sed -E \
        -e 's/(at #[^:]*: then ).*/\1THIS, now THAT/' \
        -e 's/^(shrunk to [0-9]+ request).*/\1/' -e 's/-[0-9a-f]{16}\.script/-HASH.script/' \
        -e 's/[0-9][0-9,.]* (ns|us|ms|s)\b/TIME/' -e 's/[0-9][0-9,]*/N/g' -e 's/(message|run)s?\b/\1/g'
}

# once: runs $command, and says whether it came to what the document shows; if not, $dir/diff has the difference.
once() {
    eval "$command" >"$dir/out" 2>"$dir/err" </dev/null
    code=$?
    stable "$dir/out" >"$dir/is"
    diff -u "$dir/should" "$dir/is" >"$dir/diff"
}

ran=0
# try: runs $command, of which the document shows $dir/shown. A failure that depends on who comes first may hide from
# shrinking, where others take the processors; then it is looked for anew, as a reader would.
try() {
    local expected=0 more=2
    ran=$((ran + 1))
    title=${command#antiphon }
    case $(head -n 1 "$dir/shown") in fail*) expected=1 ;; esac
    stable "$dir/shown" >"$dir/should"
    until once || [ $more -eq 0 ] || [[ $command != 'antiphon test'* ]]; do
        more=$((more - 1))
        rm -rf .antiphon
    done
    if [ $code -ne $expected ]; then fail "exit code $code, not $expected"; fi
    if [ -s "$dir/diff" ]; then
        fail 'it does not say what the tutorial shows'
        sed -n '3,30p' "$dir/diff"
    fi
    if [ $expected -eq 1 ]; then out 'expected'; fi
}

command=
while IFS= read -r line; do
    case $line in
    'shop$ '*) command=${line#'shop$ '}; : >"$dir/shown" ;;
    '```') if [ -n "$command" ]; then try; fi; command= ;;
    '<!-- examples/tutorial/server-fixed.py change -->') cp "$ANTIPHON_ROOT/examples/tutorial/server-fixed.py" server.py ;;
    *) if [ -n "$command" ]; then printf '%s\n' "$line" >>"$dir/shown"; fi ;;
    esac
done <"$tutorial"
title='the tutorial'
check 'it has commands' [ $ran -ge 5 ]
check 'it left a report' [ -s report.html ]
check 'it left one script' [ "$(find .antiphon -name '*.script' | wc -l)" -eq 1 ]
finish
