#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# exports.sh - the shared library exports exactly the symbols in exports.txt, which include all functions that the headers
# declare. The program also exports them, for the models that it loads. The threads library has a separate header and list.
#
#   tests/tidy/exports.sh --refresh    write both lists from the libraries of the build directory
set -eu
export LC_ALL=C
cd "$(dirname "$0")/../.."
library=${ANTIPHON_LIBRARY:-build/libantiphon.so}
threads=${ANTIPHON_THREADS_LIBRARY:-build/libantiphon-threads.so}
program=${ANTIPHON:-build/antiphon}
expected=tests/tidy/exports.txt
expected_threads=tests/tidy/exports-threads.txt
header_threads=include/antiphon/threads.h
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

exported() {
    nm -D --defined-only "$1" | awk '{ sub(/@.*/, "", $3); print $3 }' | sort -u
}

# A declaration starts in the first column, and its function is the first name before a parenthesis.
declared() {
    sed 's|/\*.*\*/||' "$@" | awk '
        /^[A-Za-z_]/ && !/^(typedef|static|extern "C"|struct|enum)/ && match($0, /aph_[a-z0-9_]+\(/) {
            print substr($0, RSTART, RLENGTH - 1)
        }' | sort -u
}

exported "$library" >"$scratch/library"
exported "$threads" >"$scratch/threads"
if [ "${1-}" = --refresh ]; then
    cp "$scratch/library" $expected
    cp "$scratch/threads" $expected_threads
    echo "$expected: $(wc -l <$expected) symbols; $expected_threads: $(wc -l <$expected_threads)"
    exit
fi

bad=0
# complain TITLE FILE: reports the differences in FILE, if there are any.
complain() {
    if [ -s "$2" ]; then
        echo "$1:"
        sed 's/^/    /' "$2"
        bad=1
    fi
}

exported "$program" >"$scratch/program"
# shellcheck disable=SC2046 # one word a header
declared $(ls include/antiphon/*.h | grep -vx $header_threads) >"$scratch/headers"
sort -u $expected >"$scratch/expected"

if [ ! -s "$scratch/headers" ]; then
    echo 'the headers declare nothing'
    bad=1
fi
comm -23 "$scratch/expected" "$scratch/library" >"$scratch/gone"
complain "in exports.txt, but not in the library" "$scratch/gone"
comm -13 "$scratch/expected" "$scratch/library" >"$scratch/new"
complain "in the library, but not in exports.txt (tests/tidy/exports.sh --refresh adds them)" "$scratch/new"
comm -23 "$scratch/headers" "$scratch/library" >"$scratch/missing"
complain "declared in include/, but not in the library" "$scratch/missing"
comm -23 "$scratch/expected" "$scratch/program" >"$scratch/hidden"
complain "not exported by the program, so a model that it loads cannot call them" "$scratch/hidden"
grep -v '^aph_' "$scratch/library" >"$scratch/private" || true
complain "exported without the public prefix" "$scratch/private"

comm -3 $expected_threads "$scratch/threads" >"$scratch/differ"
complain "only in $expected_threads (left) or only in the threads library (right)" "$scratch/differ"
declared $header_threads >"$scratch/headers"
comm -3 "$scratch/headers" "$scratch/threads" >"$scratch/differ"
complain "only in $header_threads (left) or only in the threads library (right)" "$scratch/differ"

if [ $bad -eq 0 ]; then echo "$(wc -l <"$scratch/expected") symbols"; fi
exit $bad
