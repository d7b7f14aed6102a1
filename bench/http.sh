#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# http.sh - messages per second of `antiphon test http` against each installed web server, with the oracle
# and without (--no-check), over 50 connections with up to HTTP_PIPELINE (8) requests in flight on each.
#
# Prints medians of HTTP_RUNS (5) alternating runs of HTTP_MESSAGES (100,000) messages, each with a fresh server and its
# known violations waived; incomplete runs are reported. The last column is the speed with the oracle relative to the
# speed without it: the median over pairs of consecutive runs, since the speed of a machine varies. The files of the
# servers are in memory if possible; TMPDIR names another folder. lighttpd is measured without its stat cache, because
# a bug in the cache would end its runs at once.
#
# usage: bench/http.sh [SERVER]...    SERVER: apache, nginx, lighttpd-uncached or web; default: all
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
antiphon=${ANTIPHON:-$root/build/antiphon}
runs=${HTTP_RUNS:-5}
messages=${HTTP_MESSAGES:-100000}
pipeline=${HTTP_PIPELINE:-8}
[ -n "${TMPDIR:-}" ] || [ ! -w /dev/shm ] || export TMPDIR=/dev/shm
folder=$(mktemp -d)
server=
trap '[ -z "$server" ] || kill "$server"; rm -rf "$folder"' EXIT

waivers() {
    local names= one
    case $1 in
    apache) names='if-none-match-strong weak-tag-ends-list head-range if-unmodified-since-now if-unmodified-since-range-ignored
        if-unmodified-since-beside-if-match if-modified-since-beside-if-none-match if-none-match-beside-others
        if-match-beside-star epoch-is-no-date' ;;
    nginx) names='conditional-writes-ignored head-range if-unmodified-since-beside-if-match
        if-modified-since-beside-if-none-match 405-without-allow last-modified-ahead' ;;
    lighttpd-uncached) names='if-match-read-ignored if-unmodified-since-read-ignored if-unmodified-since-beside-if-match
        if-none-match-strong last-modified-ahead' ;;
    esac
    for one in $names; do echo --waive "$one"; done
}

# The server is started before the test, so that there is a single run.
start() {
    : >"$folder/port" # no address of the last server
    "$antiphon" subject "$1" >"$folder/port" 2>"$folder/error" &
    server=$!
    until grep -q listening "$folder/port"; do
        kill -0 "$server" 2>"$folder/gone" || { server=; return 1; }
        sleep 0.01
    done
}

stop() {
    kill "$server"
    wait "$server" || true
    server=
}

# rate SERVER SEED OPTION...
rate() {
    local name=$1 seed=$2
    shift 2
    rm -rf "$folder/.antiphon"
    # shellcheck disable=SC2046
    "$antiphon" test http --target "$(sed 's/.* on //' "$folder/port")" --folder "$folder/.antiphon" --connections 50 \
        --pipeline "$pipeline" --patience 10 --messages "$messages" --time 600 --seed "$seed" --json $(waivers "$name") "$@" >"$folder/out" || true
    grep -qE '^{"verdict":"(pass|vacuous)"' "$folder/out" || sed 's/^{"verdict":"\([a-z]*\)".*/  not whole: \1/' "$folder/out" >&2
    sed -n 's/.*"messages":\([0-9]*\).*"seconds":\([0-9.]*\).*/\1 \2/p' "$folder/out" | awk '{ printf "%.0f\n", $1 / $2 }'
}

median() { sort -n | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }

printf '%17s %16s %16s %7s\n' server 'with the oracle' 'without' share
[ $# -gt 0 ] || set -- apache nginx lighttpd-uncached web
for name; do
    : >"$folder/with"
    : >"$folder/without"
    for ((i = 1; i <= runs; i++)); do
        for how in with without; do
            start "$name" || { echo "$name: $(head -1 "$folder/error")"; continue 3; }
            rate "$name" "$i" $([ $how = with ] || echo --no-check) >>"$folder/$how"
            stop
        done
    done
    share=$(paste "$folder/with" "$folder/without" | awk '{ printf "%.1f\n", 100 * $1 / $2 }' | median)
    printf '%17s %14s/s %14s/s %6s%%\n' "$name" "$(median <"$folder/with")" "$(median <"$folder/without")" "$share"
done
