#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# throughput.sh - messages per second of `antiphon test` against the swap server, with the oracle and without
#                      (--no-check), over 1, 10, 100 and 1,000 connections with one request in flight on each; medians of
#                      THROUGHPUT_RUNS (5) alternating runs.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
antiphon=${ANTIPHON:-$root/build/antiphon}
runs=${THROUGHPUT_RUNS:-5}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

# rate CONNECTIONS MESSAGES SEED OPTION...
rate() {
    local connections=$1 messages=$2 seed=$3
    shift 3
    "$antiphon" test swap --run "$root/build/subjects/swap {port}" --folder "$folder/.antiphon" --pipeline 1 \
        --connections "$connections" --messages "$messages" --seed "$seed" --json "$@" |
        sed -n 's/.*"messages":\([0-9]*\).*"seconds":\([0-9.]*\).*/\1 \2/p' | awk '{ printf "%.0f\n", $1 / $2 }'
}

median() { sort -n | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }

printf '%11s %16s %16s %7s\n' connections 'with the oracle' 'without' share
for connections in 1 10 100 1000; do
    messages=$((connections < 10 ? 20000 : 100000))
    : >"$folder/with"
    : >"$folder/without"
    for ((i = 1; i <= runs; i++)); do
        rate $connections $messages "$i" >>"$folder/with"
        rate $connections $messages "$i" --no-check >>"$folder/without"
    done
    with=$(median <"$folder/with")
    without=$(median <"$folder/without")
    printf '%11s %14s/s %14s/s %6s%%\n' $connections "$with" "$without" $((100 * with / without))
done
