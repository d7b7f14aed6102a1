#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# tutorial.sh - the commands of docs/tutorial.md, run in order in a folder with its files, print the documented output.
#
# Live runs differ, so numbers are masked, and diagrams and the orders of explanations are not compared.
# tests/tidy/readme.sh compares the files in the document with those used here.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"

command -v python3 >/dev/null || exit 77
tutorial=$ANTIPHON_ROOT/docs/tutorial.md
mkdir "$dir/shop" "$dir/bin"
cd "$dir/shop" || exit 1
cp "$ANTIPHON_ROOT"/examples/tutorial/{server.py,shop.c} .
# The interpreter itself: python3 may be a wrapper script that starts slowly.
ln -s "$(python3 -c 'import sys; print(sys.executable)')" "$dir/bin/python3"
PATH=$dir/bin:$(dirname "$ANTIPHON"):$PATH

# stable FILE: prints the parts that are the same in every run.
stable() {
    grep -v -e '[│├╰┊⋮]' -e '^    [^a]' -e '^       ' "$1" | sed -E \
        -e 's/(at #[^:]*: then ).*/\1THIS, now THAT/' \
        -e 's/^(shrunk to [0-9]+ request).*/\1/' -e 's/-[0-9a-f]{16}\.script/-HASH.script/' \
        -e 's/[0-9][0-9,.]* (ns|us|ms|s)\b/TIME/' -e 's/[0-9][0-9,]*/N/g' -e 's/(message|run)s?\b/\1/g'
}

# run_once: runs $command; succeeds if it prints the documented output. $dir/diff has the difference.
run_once() {
    eval "$command" >"$dir/out" 2>"$dir/err" </dev/null
    code=$?
    stable "$dir/out" >"$dir/is"
    diff -u "$dir/should" "$dir/is" >"$dir/diff"
}

ran=0
# try: runs $command, with the documented output in $dir/shown. A failure that depends on a race may not be reproducible on a
# busy machine; then the command is repeated, as a reader would do.
try() {
    local expected=0 more=9
    ran=$((ran + 1))
    title=${command#antiphon }
    case $(head -n 1 "$dir/shown") in fail*) expected=1 ;; esac
    stable "$dir/shown" >"$dir/should"
    until run_once || [ $more -eq 0 ] || [[ $command != 'antiphon test'* ]]; do
        more=$((more - 1))
        rm -rf .antiphon
    done
    if [ $code -ne $expected ]; then fail "exit code $code, not $expected"; fi
    if [ -s "$dir/diff" ]; then
        fail 'the output differs from the tutorial'
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
check 'too few commands' [ $ran -ge 5 ]
check 'no report' [ -s report.html ]
check 'not one script' [ "$(find .antiphon -name '*.script' | wc -l)" -eq 1 ]
finish
