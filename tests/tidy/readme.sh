#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# readme.sh - the examples, console sessions and tables in the documents are up to date.
#
# A block of C after <!-- examples/FILE.c --> is that file from its first include on; a block of Python after
# <!-- examples/FILE.py --> is the whole file. After <!-- FILE NAME -->, a block is the function NAME; one of C ends with a line
# "}" and includes a comment of one line before it, one of Python has no empty lines. A console block
# that begins with "$ antiphon ..." has the output of that command, run at the top of the tree; times and numbers of
# configurations may differ. (tests/cli/tutorial.sh runs the blocks with another prompt.) The table after
# <!-- exit codes --> has the codes of exit_codes.h.
#
#   tests/tidy/readme.sh --refresh    update the blocks
set -eu
cd "$(dirname "$0")/../.."
export LC_ALL=C.UTF-8
unset COLUMNS
program=${ANTIPHON:-build/antiphon}
"$program" version >/dev/null # fail early without a program
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# updated FILE: prints the document with current blocks.
updated() {
    PROGRAM=$program awk '
    /^<!-- (examples|src|models)\/[^ ]*\.(c|py)( [a-z_]+)? -->$/ { example = $2; name = $3 }
    /^```(c|python)$/ && example {
        print
        c = $0 == "```c" && name != "-->"
        for (begun = $0 == "```python" && name == "-->"; (getline line < example) > 0;) {
            if (name == "-->" && line ~ /^#include/ || !c && index(line, "def " name "(") == 1) {
                begun = 1
            } else if (c && line ~ "^[a-z].*[ *]" name "\\(" && line !~ /;$/) {
                if (comment) print comment
                begun = 1
            } else if (!c && name != "-->" && line == "") {
                begun = 0
            }
            comment = line ~ /^\/\*.*\*\/$/ ? line : ""
            if (begun) print line
            if (c && line == "}") begun = 0
        }
        close(example)
        example = ""
        skipping = 1
        next
    }
    /^<!-- exit codes -->$/ {
        print
        print "| code | name | meaning |\n| ---: | --- | --- |"
        rows = "sed -nE \"s/^ *X\\(([A-Z_]+), ([0-9]+), .(.*).\\).*/| \\2 | \\1 | \\3 |/p\" src/cli/exit_codes.h"
        while ((rows | getline line) > 0) print line
        close(rows)
        table = 1
        next
    }
    table && /^\|/ { next }
    { table = 0 }
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

# masked FILE: prints the document without times and counts that differ between runs.
masked() {
    sed -E -e 's/[0-9.]+ (ns|us|ms|s)$/TIME/' -e 's/[0-9,]+ configurations?/CONFIGURATIONS/' "$1"
}

bad=0
blocks=0
for file in README.md docs/*.md subjects/*/README.md; do
    updated "$file" >"$scratch/new"
    masked "$file" >"$scratch/is"
    masked "$scratch/new" >"$scratch/should"
    if [ "${1-}" = --refresh ]; then
        cmp -s "$scratch/is" "$scratch/should" || cp "$scratch/new" "$file"
    elif ! diff -u "$scratch/is" "$scratch/should" >"$scratch/diff"; then
        echo "$file is out of date; tests/tidy/readme.sh --refresh updates it:"
        sed -n '3,40p' "$scratch/diff"
        bad=1
    fi
    blocks=$((blocks + $(grep -cE '^(<!-- (examples|src|models)/[^ ]*\.(c|py)( [a-z_]+)? -->|<!-- exit codes -->|```console)$' "$file" || true)))
done
if [ $bad -eq 0 ]; then echo "$blocks blocks are up to date"; fi
exit $bad
