#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# shrinking.sh - the size of shrunk scripts and the time of shrinking, for bugs that need k requests in a known order with a tag
#                that the server chooses (the mutants of planted_bugs.c); SHRINKING_RUNS (20) campaigns for each k.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
antiphon=${ANTIPHON:-$root/build/antiphon}
runs=${SHRINKING_RUNS:-20}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

printf '%2s %10s %12s %22s %16s %12s %12s\n' k 'at most k' 'within 30 s' 'requests before, most' 'runs, median' 's, median' 's, most'
small=0 all=0
for k in 2 3 4 5 6; do
    : >"$folder/rows"
    for ((seed = 1; seed <= runs; seed++)); do
        rm -rf "$folder/.antiphon"
        "$antiphon" test "$root/bench/planted_bugs.c" --folder "$folder/.antiphon" --seed "$seed" --json \
            --run "'$antiphon' serve '$root/bench/planted_bugs.c' --port {port} --delay 0.05 --mutate needs-$k" >"$folder/out" || true
        requests=$(grep -o '"send":' "$folder/out" | wc -l)
        sed -n 's/.*"requests":\([0-9]*\),.*"seconds_shrinking":\([0-9.]*\),.*"shrink_runs":\([0-9]*\).*/\1 \2 \3/p' "$folder/out" |
            awk -v n="$requests" '{ print n, $1, $2, $3 }' >>"$folder/rows"
    done
    median() { sort -n | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] + 0 }'; }
    awk -v k=$k -v runs="$(awk '{ print $4 }' "$folder/rows" | median)" -v s="$(awk '{ print $3 }' "$folder/rows" | median)" '
        { all++; small += $1 <= k; quick += $3 < 30; if ($2 > before) before = $2; if ($3 > most) most = $3 }
        END { printf "%2d %6d/%-3d %8d/%-3d %22d %16d %12.2f %12.2f\n", k, small, all, quick, all, before, runs, s, most }
    ' "$folder/rows"
    small=$((small + $(awk -v k=$k '$1 <= k && $3 < 30' "$folder/rows" | wc -l)))
    all=$((all + runs))
done
echo "$small of $all shrunk to the least in 30 seconds"
