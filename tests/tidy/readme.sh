#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# readme.sh - what the documents show is what there is.
#
# A block of C after <!-- examples/FILE.c --> is that file from its first include on; one of Python after
# <!-- examples/FILE.py --> is the whole file, and after <!-- examples/FILE.py NAME --> its function NAME. A console block
# that begins with "$ antiphon ..." holds what that command prints, run at the top of the tree; times and numbers of
# configurations may differ. (What tests/cli/tutorial.sh runs has another prompt.)
#
#   tests/tidy/readme.sh --refresh    write the blocks anew
set -eu
cd "$(dirname "$0")/../.."
export LC_ALL=C.UTF-8
unset COLUMNS
program=${ANTIPHON:-build/antiphon}
"$program" version >/dev/null # or there is nothing to compare with
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# made_anew FILE: the document with its blocks as they should be.
made_anew() {
    PROGRAM=$program awk '
    /^<!-- examples\/[^ ]*\.(c|py)( [a-z]+)? -->$/ { example = $2; name = $3 }
    /^```(c|python)$/ && example {
        print
        for (begun = $0 == "```python" && name == "-->"; (getline line < example) > 0;) {
            if (line ~ /^#include/ || index(line, "def " name "(") == 1) begun = 1
            else if (name != "-->" && line == "") begun = 0
            if (begun) print line
        }
        close(example)
        example = ""
        skipping = 1
        next
    }
    /^```console$/ { console = NR }
    /^\$ antiphon / && console && NR == console + 1 {
        print
        command = "\"$PROGRAM\"" substr($0, length("$ antiphon") + 1) " 2>&1"
        while ((command | getline line) > 0) print line
        close(command)
        skipping = 1
        next
    }
    /^```$/ { skipping = 0 }
    !skipping' "$1"
}

# What differs from run to run.
masked() {
    sed -E -e 's/[0-9.]+ (ns|us|ms|s)$/TIME/' -e 's/[0-9,]+ configurations?/CONFIGURATIONS/' "$1"
}

bad=0
blocks=0
for file in README.md docs/*.md; do
    made_anew "$file" >"$scratch/new"
    masked "$file" >"$scratch/is"
    masked "$scratch/new" >"$scratch/should"
    if [ "${1-}" = --refresh ]; then
        cmp -s "$scratch/is" "$scratch/should" || cp "$scratch/new" "$file"
    elif ! diff -u "$scratch/is" "$scratch/should" >"$scratch/diff"; then
        echo "$file shows what is not so (tests/tidy/readme.sh --refresh mends it):"
        sed -n '3,40p' "$scratch/diff"
        bad=1
    fi
    blocks=$((blocks + $(grep -cE '^(<!-- examples/[^ ]*\.(c|py)( [a-z]+)? -->|```console)$' "$file" || true)))
done
if [ $bad -eq 0 ]; then echo "$blocks blocks show what there is"; fi
exit $bad
