#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# architecture.sh - docs/architecture.md follows the include order of tests/tidy/includes.sh.
#
# A walk has at most fifteen steps, each of which begins with a link to a file of src/; no step returns to a higher layer. The
# table lists every folder in include order, with those that stand alone at its end.
set -eu
cd "$(dirname "$0")/../.."

order=$(sed -n 's/.*split("\([a-z ]*\)", names, " ").*/\1/p' tests/tidy/includes.sh)
if [ -z "$order" ]; then echo 'includes.sh: no list of modules'; exit 1; fi
awk -v order="$order" '
function complain(why) {
    printf "%s:%d: %s\n", FILENAME, FNR, why
    bad = 1
}
BEGIN {
    count = split(order, names, " ")
    for (i = 1; i <= count; i++) {
        rank[names[i]] = i
        if (names[i] !~ /^(threads|mutate|mpi)$/) listed[++modules] = names[i]
    }
}
/^## / { above = count }
/^[0-9]+\. / {
    walked++
    if ($1 + 0 > 15) complain("a walk of more than fifteen steps")
    if (!match($0, /^[0-9]+\. \[src\/[a-z]+\//)) {
        complain("a step that does not begin with a file of src/")
        next
    }
    split($0, parts, "/")
    if (rank[parts[2]] > above) complain("a step that returns to a higher layer: " parts[2])
    above = rank[parts[2]]
}
/^\| \[src\/[a-z]+\]/ {
    split($0, parts, /[\/\]]/)
    folder = parts[2]
    seen[folder] = 1
    if (row < modules && listed[++row] != folder) complain(folder " is not the next folder in include order: " listed[row])
}
END {
    for (i = 1; i <= count; i++)
        if (!(names[i] in seen)) complain("no row for src/" names[i])
    if (!walked) complain("no walk")
    if (!bad) printf "%d steps, %d folders\n", walked, count
    exit bad
}' docs/architecture.md
